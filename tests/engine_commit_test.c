/* What an aggregate may request from the engine: changes outside its block,
 * another phase for the policy's blocks, priorities. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

enum { ROWS = 23, COLS = 17, LOG_MAX = 128 };
enum { FIRST, SECOND, N_PHASES };

typedef struct diary {
    uint32_t n;
    uint32_t phase[LOG_MAX];
} diary;

TOY_BEGIN(log_begin, sizeof(diary))

static strads_err note(strads_commit *commit)
{
    diary *l = commit->state;
    TOY_CHECK(l->n < LOG_MAX);
    l->phase[l->n++] = commit->phase;
    return STRADS_OK;
}

/* After the second commit, the policy's blocks go to phase SECOND. */
static strads_err route_on(strads_commit *commit)
{
    const diary *l = commit->state;
    strads_err err = note(commit);
    if (!err && l->n == 2)
        err = strads_commit_route(commit, SECOND, 0);
    return err;
}

TOY_SHAPE(small_blocks, shape->block_max = 5)

static const strads_phase phases[N_PHASES] = {
    [FIRST] = {.name = "first",
               .update = toy_does_nothing,
               .aggregate = route_on},
    [SECOND] = {.name = "second",
                .update = toy_does_nothing,
                .aggregate = note},
};

static const strads_program program = {.size = sizeof(strads_program),
                                       .name = "commit-calls",
                                       .shape = small_blocks,
                                       .begin = log_begin,
                                       .end = free,
                                       .phases = phases,
                                       .n_phases = N_PHASES};

Test(engine_commit, blocks_go_where_they_are_routed)
{
    for (uint32_t depth = 0; depth <= 3; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            strads_result *result =
                expect_run(&program, NULL,
                           (strads_engine_options){.workers = workers,
                                                   .partitions = 5,
                                                   .depth = depth,
                                                   .policy_plugin =
                                                       &toy_sweep_policy,
                                                   .max_rounds = 60,
                                                   .deterministic = true});
            const diary *l = strads_result_state(result);
            cr_assert_eq(l->phase[0], FIRST);
            cr_assert_eq(l->phase[1], FIRST);
            uint32_t others = 0;
            for (uint32_t k = 2; k < l->n; k++)
                others += l->phase[k] == FIRST;
            cr_assert_leq(others, depth + 1, "the route was not taken");
            cr_assert_eq(l->phase[l->n - 1], SECOND);
            cr_assert_gt(l->n, 20);
            strads_result_free(result);
        }
}

/* ---- refused requests ---------------------------------------------------- */

static void refuse(const strads_program *p, strads_err want, const char *says)
{
    strads_err err = toy_run_it(&(toy_run){.program = p}, NULL);
    cr_assert_eq(err, want, "%d: %s", err, strads_error_text());
    expect_says(says);
}

Test(engine_commit, impossible_wishes_end_the_run)
{
    strads_phase own[N_PHASES];
    strads_program p = program;
    memcpy(own, phases, sizeof own);
    p.phases = own;
    own[SECOND].when = STRADS_WHEN_CALLED;
    refuse(&p, STRADS_EINVAL, "phase 1");
}

/* ---- changes outside the block, and priorities --------------------------- */

enum { MOVES = 40 };

/* Adds to a parameter that the policy did not choose, and after the first
 * sweep gives priority to parameter 11 only. */
static strads_err move_another(strads_commit *commit)
{
    diary *l = commit->state;
    uint32_t all[COLS];
    double none[COLS] = {[11] = 1};
    for (uint32_t j = 0; j < COLS; j++)
        all[j] = j;
    const uint32_t other[2] = {2, 2};
    const double step[2] = {1, 0.5};
    if (l->n == COLS)
        strads_commit_prioritise(commit, COLS, all, none);
    for (uint32_t k = 0; k < commit->block.n; k++) {
        commit->priority[k] =
            strads_block_param(&commit->block, k) == 11 ? 1 : 0;
        commit->change[k] = 1;
    }
    l->n += commit->block.n;
    strads_commit_count_updates(commit, 3); /* the engine does not see these */
    return strads_commit_also(commit, 2, other, step);
}

Test(engine_commit, changes_beside_the_block_are_in_the_same_commit)
{
    const strads_program p = {.size = sizeof p,
                              .name = "also",
                              .begin = log_begin,
                              .end = free,
                              .update = toy_does_nothing,
                              .aggregate = move_another};
    strads_result *result =
        expect_run(&p, NULL,
                   (strads_engine_options){.workers = 2, .max_rounds = MOVES});
    const strads_progress *progress = strads_result_progress(result);
    const diary *l = strads_result_state(result);
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    double sum = 0;
    for (uint32_t j = 0; j < n; j++)
        sum += value[j];
    double beside = 1.5 * (double)progress->round;
    cr_assert_eq(progress->updates_policy, l->n);
    cr_assert_eq(progress->updates_other, 5 * progress->round);
    cr_assert_eq(sum, l->n + beside);
    cr_assert_geq(value[2], beside);
    cr_assert_geq(value[11], MOVES / 2, "11 was urgent and moved %g times",
                  value[11]);
    strads_result_free(result);
}
