/* What an aggregate may ask of the engine: changes beside its block, a probe,
 * another phase for the policy's blocks, priorities. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

enum { ROWS = 23, COLS = 17, LOG_MAX = 128 };
enum { BEGIN, PROBE, FIRST, SECOND, N_PHASES };

static const uint32_t LINES[] = {3, 1, 4};
static const uint32_t AGAINST[] = {15, 9};

typedef struct diary {
    uint32_t n;
    uint32_t phase[LOG_MAX];
    uint32_t probes; /* asked for and right */
} diary;

TOY_BEGIN(log_begin, sizeof(diary))

static strads_err note(strads_commit *commit)
{
    diary *l = commit->state;
    TOY_CHECK(l->n < LOG_MAX);
    l->phase[l->n++] = commit->phase;
    return STRADS_OK;
}

static double gram(uint32_t i, uint32_t j, strads_range rows)
{
    double sum = 0;
    for (uint64_t r = rows.begin; r < rows.end; r++)
        sum += toy_entry(r, i) * toy_entry(r, j);
    return sum;
}

static strads_err probe(strads_task *task)
{
    uint32_t m = task->against.n;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < m; l++)
            task->partial[k * m + l] =
                gram(strads_block_param(&task->block, k),
                     strads_block_param(&task->against, l), task->share->rows);
    return STRADS_OK;
}

static strads_err ask_for_probe(strads_commit *commit)
{
    strads_err err = strads_commit_probe(commit, 3, LINES, 2, AGAINST);
    return err ? err : note(commit);
}

/* Sees the pairs that were asked for, and those that the policy's blocks need
 * alike. */
static strads_err check_probe(strads_commit *commit)
{
    diary *l = commit->state;
    const strads_range all = {0, ROWS};
    uint32_t m = commit->against.n;
    for (uint32_t k = 0; k < commit->block.n; k++)
        for (uint32_t j = 0; j < m; j++)
            TOY_CHECK(commit->partial[k * m + j] ==
                      gram(strads_block_param(&commit->block, k),
                           strads_block_param(&commit->against, j), all));
    if (commit->block.n != 3 || m != 2)
        return STRADS_OK;
    TOY_CHECK(memcmp(commit->block.param, LINES, sizeof LINES) == 0);
    TOY_CHECK(memcmp(commit->against.param, AGAINST, sizeof AGAINST) == 0);
    l->probes++;
    return note(commit);
}

/* After the second one the policy's blocks go to SECOND, and a probe is asked
 * for in the middle of things. */
static strads_err route_on(strads_commit *commit)
{
    const diary *l = commit->state;
    strads_err err = note(commit);
    if (!err && l->n == 4)
        err = strads_commit_route(commit, SECOND, 0);
    if (!err && l->n == 4)
        err = strads_commit_probe(commit, 3, LINES, 2, AGAINST);
    return err;
}

TOY_SHAPE(small_blocks, shape->block_max = 5)

static const strads_phase phases[N_PHASES] = {
    [BEGIN] = {.name = "begin",
               .when = STRADS_WHEN_START,
               .update = toy_does_nothing,
               .aggregate = ask_for_probe},
    [PROBE] = {.name = "probe",
               .when = STRADS_WHEN_PROBE,
               .update = probe,
               .aggregate = check_probe},
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

Test(engine_commit, probes_that_are_asked_for_come_before_anything_else)
{
    for (uint32_t depth = 0; depth <= 3; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            strads_result *result = NULL;
            expect_ok(toy_run_it(&(toy_run){.program = &program,
                                            .options = {.workers = workers,
                                                        .partitions = 5,
                                                        .depth = depth,
                                                        .policy_plugin =
                                                            &toy_sweep_policy,
                                                        .max_rounds = 60,
                                                        .deterministic = true}},
                                 &result));
            const diary *l = strads_result_state(result);
            cr_assert_eq(l->probes, 2);
            cr_assert_eq(l->phase[0], BEGIN);
            cr_assert_eq(l->phase[1], PROBE);
            cr_assert_eq(l->phase[2], FIRST);
            cr_assert_eq(l->phase[3], FIRST);
            uint32_t others = 0;
            for (uint32_t k = 4; k < l->n; k++)
                others += l->phase[k] == FIRST;
            cr_assert_leq(others, depth + 1, "the route was not taken");
            cr_assert_eq(l->phase[l->n - 1], SECOND);
            cr_assert_gt(l->n, 20);
            strads_result_free(result);
        }
}

/* ---- what is refused --------------------------------------------------- */

static strads_err probe_nobody(strads_commit *commit)
{
    const uint32_t outside = COLS;
    return strads_commit_probe(commit, 3, LINES, 1, &outside);
}

static strads_err route_nowhere(strads_commit *commit)
{
    return strads_commit_route(commit, PROBE, 0);
}

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
    own[BEGIN].aggregate = probe_nobody;
    refuse(&p, STRADS_EINVAL, "parameter 17");
    own[BEGIN].aggregate = route_nowhere;
    refuse(&p, STRADS_EINVAL, "phase 1");
    own[BEGIN].aggregate = ask_for_probe;
    own[PROBE].when = STRADS_WHEN_CALLED;
    refuse(&p, STRADS_ESTATE, "without a PROBE phase");
}

/* ---- changes beside the block, and priorities -------------------------- */

enum { MOVES = 40 };

/* Adds to another parameter than the policy chose, and lets only parameter 11
 * be urgent after the first sweep. */
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
    l->probes += l->n > COLS;
    strads_commit_count_updates(commit,
                                3); /* of which the engine sees nothing */
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
    strads_result *result = NULL;
    expect_ok(
        toy_run_it(&(toy_run){.program = &p,
                              .options = {.workers = 2, .max_rounds = MOVES}},
                   &result));
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
