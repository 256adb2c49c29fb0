/* More schedulers must not cost rounds: neither the contents of a block nor the
 * choice of the next round's scheduler depends on their number. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "strads/engine.h"
#include "strads/program.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/sim_toy.h"
#include "tests/toy_data.h"

static const uint32_t several[] = {2, 3, 4, 8, 64};
#define N_SEVERAL (sizeof several / sizeof *several)

static const char *const year =
    STRADS_SOURCE_DIR "/data/sotu-tiny-year.train.svm";

static strads_data *read_data(const strads_program *program, const char *path)
{
    const strads_data_options options = {.size = sizeof options,
                                         .layout = program->layout,
                                         .split = program->split,
                                         .partitions = 4};
    strads_data *data = NULL;
    expect_ok(strads_data_read(path, &options, &data));
    return data;
}

static strads_engine_options options_of(uint32_t schedulers, uint32_t depth)
{
    return (strads_engine_options){.size = sizeof(strads_engine_options),
                                   .workers = 1,
                                   .partitions = 4,
                                   .schedulers = schedulers,
                                   .depth = depth,
                                   .deterministic = true,
                                   .max_rounds = 20000,
                                   .tolerance = 1e-6};
}

static strads_result *run(const strads_program *program, const void *config,
                          const strads_data *data, uint32_t schedulers,
                          uint32_t depth)
{
    const strads_engine_options options = options_of(schedulers, depth);
    strads_result *result = NULL;
    expect_ok(strads_run(program, config, data, &options, &result));
    cr_assert_eq(strads_result_end(result), STRADS_END_CONVERGED,
                 "%s: %u schedulers, depth %u", program->name, schedulers,
                 depth);
    return result;
}

static uint64_t rounds_of(const strads_result *result)
{
    return strads_result_progress(result)->round;
}

/* ---- a program ----------------------------------------------------------- */

/* Independent parameters, each moving to a place. Places are 4 times nearer
 * from each range of 8 to the next: min sum_j (place_j - w_j)^2. */
enum { PLACES = 64, A_RANGE = 8, START = 0, STEP = 1 };

typedef struct places {
    double left[PLACES];
} places;

static double place_of(uint32_t j)
{
    return pow(4, -(double)(j / A_RANGE));
}

TOY_SHAPE(places_shape, shape->parameters = PLACES, shape->block_max = 2)
TOY_SHAPE(gather_shape, shape->parameters = PLACES, shape->block_max = PLACES)

static strads_err places_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)config, (void)data, (void)shape;
    places *p = calloc(1, sizeof *p);
    if (!p)
        return strads_fail(STRADS_ENOMEM, "no memory");
    for (uint32_t j = 0; j < PLACES; j++)
        p->left[j] = place_of(j);
    *state = p;
    return STRADS_OK;
}

static strads_err places_look(strads_commit *commit)
{
    const places *p = commit->state;
    uint32_t all[PLACES];
    for (uint32_t j = 0; j < PLACES; j++)
        all[j] = j;
    strads_commit_prioritise(commit, PLACES, all, p->left);
    return STRADS_OK;
}

/* Asks for one block of all parameters that move. */
static strads_err gather_look(strads_commit *commit)
{
    const strads_err err = places_look(commit);
    return err ? err : strads_commit_route(commit, STEP, INFINITY);
}

/* Half of the way, so that no parameter finishes at once. */
static strads_err places_step(strads_commit *commit)
{
    places *p = commit->state;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        double *left = &p->left[strads_block_param(&commit->block, k)];
        commit->change[k] = *left / 2;
        *left /= 2;
    }
    return STRADS_OK;
}

static strads_err places_objective(void *state, strads_report *report)
{
    const places *p = state;
    report->objective = 0;
    for (uint32_t j = 0; j < PLACES; j++)
        report->objective += p->left[j] * p->left[j];
    report->gap = report->objective;
    return STRADS_OK;
}

#define PLACES_PHASES(look_)                 \
    {                                        \
        [START] = {.name = "look",           \
                   .when = STRADS_WHEN_REST, \
                   .to = STRADS_TO_NOBODY,   \
                   .aggregate = look_},      \
        [STEP] = {.name = "step",            \
                  .to = STRADS_TO_NOBODY,    \
                  .reports = true,           \
                  .aggregate = places_step}, \
    }

static const strads_phase places_phases[] = PLACES_PHASES(places_look),
                          gather_phases[] = PLACES_PHASES(gather_look);

static const strads_program places_program = {.size = sizeof places_program,
                                              .name = "places",
                                              .shape = places_shape,
                                              .begin = places_begin,
                                              .end = free,
                                              .phases = places_phases,
                                              .n_phases = 2,
                                              .objective = places_objective};

static const strads_program gather_program = {.size = sizeof gather_program,
                                              .name = "gather",
                                              .shape = gather_shape,
                                              .begin = places_begin,
                                              .end = free,
                                              .phases = gather_phases,
                                              .n_phases = 2,
                                              .objective = places_objective};

/* Allows only random differences. */
static void expect_as_many_rounds(const strads_program *program,
                                  const void *config, const strads_data *data)
{
    for (uint32_t depth = 0; depth <= 2; depth += 2) {
        strads_result *one = run(program, config, data, 1, depth);
        for (size_t k = 0; k < N_SEVERAL; k++) {
            strads_result *many = run(program, config, data, several[k], depth);
            cr_log_info("%s, depth %u: %llu rounds with %u schedulers, %llu "
                        "with one",
                        program->name, depth,
                        (unsigned long long)rounds_of(many), several[k],
                        (unsigned long long)rounds_of(one));
            cr_expect_leq(3 * rounds_of(many), 5 * rounds_of(one),
                          "%s, depth %u: %llu rounds with %u schedulers, %llu "
                          "with one",
                          program->name, depth,
                          (unsigned long long)rounds_of(many), several[k],
                          (unsigned long long)rounds_of(one));
            strads_result_free(many);
        }
        strads_result_free(one);
    }
}

Test(schedulers_rounds, one_block_of_all_takes_as_many_however_many_choose)
{
    strads_data *data = read_data(&gather_program, year);
    expect_as_many_rounds(&gather_program, NULL, data);
    strads_data_free(data);
}

/* ---- the same bits on any nodes ------------------------------------------ */

static void expect_same(const strads_result *a, const strads_result *b,
                        uint32_t schedulers, const char *where)
{
    cr_expect(toy_same_values(a, b), "%u schedulers: other bits %s", schedulers,
              where);
    cr_expect_eq(rounds_of(a), rounds_of(b), "%u schedulers: %s", schedulers,
                 where);
}

Test(schedulers_rounds, simulated_and_over_tcp_these_rounds_have_the_same_bits)
{
    strads_data *data = read_data(&gather_program, year);
    for (uint32_t schedulers = 2; schedulers <= 8; schedulers *= 2) {
        strads_result *alone = run(&gather_program, NULL, data, schedulers, 1);
        const strads_engine_options options = options_of(schedulers, 1);
        const strads_sim_options sim = sim_toy_nodes(3);
        strads_result *simulated =
            sim_toy_simulate(&gather_program, NULL, data, &options, &sim, NULL);
        expect_same(alone, simulated, schedulers, "simulated");
        strads_result_free(simulated);
        strads_result *spread = expect_team(&(team){.program = &gather_program,
                                                    .options = options,
                                                    .nodes = 2,
                                                    .path = year});
        expect_same(alone, spread, schedulers, "over TCP");
        strads_result_free(spread);
        strads_result_free(alone);
    }
    strads_data_free(data);
}

/* ---- full blocks --------------------------------------------------------- */

/* A block holds two, so a round belongs to one scheduler. */
Test(schedulers_rounds, rounds_go_where_there_is_something_left_to_gain)
{
    strads_data *data = toy_data(&sim_toy_rounds, 4, 1, 4);
    strads_result *one = run(&places_program, NULL, data, 1, 0);
    for (uint32_t schedulers = 2; schedulers <= 8; schedulers *= 2) {
        strads_result *many = run(&places_program, NULL, data, schedulers, 0);
        cr_log_info("%llu rounds with %u schedulers, %llu with one",
                    (unsigned long long)rounds_of(many), schedulers,
                    (unsigned long long)rounds_of(one));
        cr_expect_leq(2 * rounds_of(many), 3 * rounds_of(one),
                      "%llu rounds with %u schedulers, %llu with one",
                      (unsigned long long)rounds_of(many), schedulers,
                      (unsigned long long)rounds_of(one));
        strads_result_free(many);
    }
    strads_result_free(one);
    strads_data_free(data);
}
