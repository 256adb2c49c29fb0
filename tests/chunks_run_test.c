/* Runs with chunked partials: results are bit-identical on threads, on nodes
 * and simulated, and round times do not grow with the number of workers. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sim_toy.h"
#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/sample.h"
#include "tests/toy_data.h"

/* ---- the program ------------------------------------------------------- */

/* The program's partials are wide enough for chunks, 8 with 8 partitions.
 * They are sums that depend on the order of additions. Each aggregate compares
 * them with a reduction tree of its own. */
enum { WIDE_TOY_PARAMETERS = 17001, WIDE_TOY_ROUNDS = 6, WIDE_TOY_TOTALS = 3 };

typedef struct wide_state {
    uint32_t partitions, done;
} wide_state;

TOY_SHAPE(wide_shape, shape->parameters = WIDE_TOY_PARAMETERS,
          shape->totals = WIDE_TOY_TOTALS)

static strads_err wide_begin(const void *config, const strads_data *data,
                             const strads_shape *shape, void **out)
{
    (void)config, (void)data;
    wide_state *state = calloc(1, sizeof *state);
    if (!state)
        return strads_fail(STRADS_ENOMEM, "no memory for a toy");
    state->partitions = shape->partitions;
    *out = state;
    return STRADS_OK;
}

/* Spans about twenty binary orders, so that most additions round. */
static double number(uint32_t partition, uint64_t round, uint32_t j)
{
    uint32_t h = partition * 2654435761U ^ j * 40503U ^ (uint32_t)round * 97U;
    h = (h ^ h >> 15) * 2246822519U;
    h ^= h >> 13;
    return ldexp((double)(h >> 4) - 134217728, (int)(h & 15) - 30);
}

static strads_err wide_update(strads_task *task)
{
    for (uint32_t j = 0; j < task->block.n; j++)
        task->partial[j] = number(task->share->partition, task->round, j);
    for (uint32_t k = 0; k < WIDE_TOY_TOTALS; k++)
        task->total[k] += task->share->partition + k;
    return STRADS_OK;
}

/* sum(l, i) of the partitions with the numbers from i 2^l on, where
 * partition `turn` has number 0. */
static double merged(const strads_commit *commit, uint32_t turn, uint32_t l,
                     uint32_t i, uint32_t j)
{
    const wide_state *state = commit->state;
    if (l == 0)
        return number((i + turn) % state->partitions, commit->round, j);
    const double left = merged(commit, turn, l - 1, 2 * i, j);
    if ((2 * (uint64_t)i + 1) << (l - 1) >= state->partitions)
        return left;
    return left + merged(commit, turn, l - 1, 2 * i + 1, j);
}

static strads_err check_totals(const strads_commit *commit, uint32_t rounds)
{
    const wide_state *state = commit->state;
    const double K = state->partitions;
    for (uint32_t k = 0; k < WIDE_TOY_TOTALS; k++)
        TOY_CHECK(commit->total[k] == rounds * (K * (K - 1) / 2 + K * k));
    return STRADS_OK;
}

static strads_err wide_aggregate(strads_commit *commit)
{
    wide_state *state = commit->state;
    uint32_t levels = 0;
    while (UINT32_C(1) << levels < state->partitions)
        levels++;
    /* Each chunk goes by a rotated copy of the tree, one step further than
     * the chunk before. */
    uint32_t turn = 0;
    for (uint32_t j = 0; j < commit->block.n; j++) {
        while (turn < state->partitions &&
               commit->partial[j] != merged(commit, turn, levels, 0, j))
            turn++;
        TOY_CHECK(turn < state->partitions);
        commit->change[j] = commit->partial[j];
    }
    return check_totals(commit, ++state->done);
}

static strads_err wide_schedule(strads_turn *turn)
{
    const wide_state *state = turn->state;
    const uint64_t sent = state->done + turn->in_flight;
    if (sent < WIDE_TOY_ROUNDS)
        return strads_turn_all(turn, 0);
    return turn->in_flight ? strads_turn_wait(turn) : strads_turn_stop(turn);
}

static const strads_phase SUM = {.name = "sum",
                                 .when = STRADS_WHEN_CALLED,
                                 .ignores_values = true,
                                 .update = wide_update,
                                 .aggregate = wide_aggregate};

static const strads_program wide_toy = {
    .size = sizeof(strads_program),
    .name = "wide",
    .shape = wide_shape,
    .begin = wide_begin,
    .end = free,
    .schedule = wide_schedule,
    .phases = &SUM,
    .n_phases = 1,
};

/* ---- bits -------------------------------------------------------------- */

static strads_result *on_threads(uint32_t partitions, uint32_t workers,
                                 uint32_t depth)
{
    strads_result *result =
        expect_run(&wide_toy, NULL,
                   (strads_engine_options){.workers = workers,
                                           .partitions = partitions,
                                           .depth = depth,
                                           .deterministic = true});
    cr_assert_eq(strads_result_progress(result)->round, WIDE_TOY_ROUNDS);
    return result;
}

static void expect_same(strads_result *result, const strads_result *first)
{
    cr_assert(toy_same_values(result, first), "other bits");
    strads_result_free(result);
}

Test(chunks_run, threads_give_the_same_bits_however_many)
{
    const uint32_t partitions[] = {5, 8, 11};
    for (uint32_t k = 0; k < 3; k++) {
        strads_result *first = on_threads(partitions[k], 1, 0);
        expect_same(on_threads(partitions[k], 2, 0), first);
        expect_same(on_threads(partitions[k], 4, 1), first);
        expect_same(on_threads(partitions[k], 5, 2), first);
        strads_result_free(first);
    }
}

Test(chunks_run, a_rough_network_gives_the_bits_of_threads)
{
    strads_result *first = on_threads(11, 1, 0);
    const uint32_t nodes[] = {3, 11};
    for (uint32_t k = 0; k < 2; k++) {
        strads_data *data = toy_data(&wide_toy, 23, 17, 11);
        const strads_engine_options options = sim_toy_options(11, k);
        strads_sim_options sim = sim_toy_nodes(nodes[k]);
        sim.latency = 1e-5;
        sim.bandwidth = 1e9;
        sim.jitter = 10;
        strads_sim_outcome outcome;
        expect_same(sim_toy_simulate(&wide_toy, NULL, data, &options, &sim,
                                     &outcome),
                    first);
        /* Each chunk is a message. */
        cr_assert_gt(outcome.partials.messages, 3 * nodes[k] * WIDE_TOY_ROUNDS);
        strads_data_free(data);
    }
    strads_result_free(first);
}

Test(chunks_run, nodes_give_the_bits_of_threads)
{
    strads_result *first = on_threads(8, 1, 0);
    /* With 8 nodes, the updates of 200 KB per round are sent in pieces. */
    for (uint32_t nodes = 2; nodes <= 8; nodes += nodes < 4 ? 1 : 4) {
        team t = {.program = &wide_toy,
                  .options = {.partitions = 8,
                              .depth = nodes - 2,
                              .deterministic = true},
                  .nodes = nodes,
                  .workers = {1, 2, 1, 3}};
        if (nodes == 8)
            t.workers[1] = t.workers[3] = 1;
        expect_same(expect_team(&t), first);
    }
    strads_result_free(first);
}

/* ---- time -------------------------------------------------------------- */

enum { NUMBERS = 1 << 16, ROUNDS = 4 };

static size_t wide(const strads_task *task)
{
    (void)task;
    return NUMBERS;
}

static size_t wide_bytes(const strads_task *task)
{
    (void)task;
    return NUMBERS * sizeof(double);
}

static strads_err ones(strads_task *task)
{
    for (uint32_t k = 0; k < NUMBERS; k++)
        task->partial[k] = 1;
    return STRADS_OK;
}

static void add(void *into, const void *from, size_t bytes)
{
    double *a = into;
    const double *b = from;
    for (size_t k = 0; k < bytes / sizeof *a; k++)
        a[k] += b[k];
}

static strads_err count(strads_commit *commit)
{
    uint32_t *workers = commit->state;
    for (uint32_t k = 0; k < NUMBERS; k++)
        if (commit->partial[k] != *workers)
            return strads_fail(STRADS_EPROGRAM, "%g of %u partitions came",
                               commit->partial[k], *workers);
    return STRADS_OK;
}

static strads_err begin(const void *config, const strads_data *data,
                        const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    uint32_t *workers = malloc(sizeof *workers);
    if (!workers)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *workers = shape->partitions;
    *state = workers;
    return STRADS_OK;
}

static strads_err again(strads_turn *turn)
{
    if (turn->in_flight)
        return strads_turn_wait(turn);
    return strads_turn_all(turn, 0);
}

/* Time of a round on so many workers if only bytes take time, in units of
 * the time of one partial. */
static double partials_of(uint32_t workers, bool cut)
{
    strads_phase phase = {.name = "wide",
                          .when = STRADS_WHEN_CALLED,
                          .ignores_values = true,
                          .partial = wide,
                          .update = ones,
                          .aggregate = count};
    if (!cut) { /* the engine does not cut concatenated partials */
        phase.merge = STRADS_MERGE_OWN;
        phase.merge_with = add;
        phase.partial = wide_bytes;
    }
    const strads_program program = {.size = sizeof program,
                                    .name = "wide",
                                    .begin = begin,
                                    .end = free,
                                    .schedule = again,
                                    .phases = &phase,
                                    .n_phases = 1};
    strads_data *data = toy_data(&sim_toy_rounds, workers, 1, workers);
    strads_engine_options options = sim_toy_options(workers, 0);
    options.max_rounds = ROUNDS;
    strads_sim_options sim = sim_toy_nodes(workers);
    sim.bandwidth = 1e9;
    strads_sim_outcome outcome;
    strads_result *result =
        sim_toy_simulate(&program, NULL, data, &options, &sim, &outcome);
    cr_assert_eq(strads_result_progress(result)->round, ROUNDS);
    strads_result_free(result);
    strads_data_free(data);
    return outcome.makespan / ROUNDS * sim.bandwidth /
           (NUMBERS * sizeof(double));
}

/* With chunks, each partition sends and receives about one partial and the
 * coordinator receives one: about two in all, plus the waiting of chunks for
 * each other. Without chunks, the root has 12 children at 256 workers. */
Test(chunks_run, a_wide_round_takes_the_time_of_few_partials_at_256_workers)
{
    double least = INFINITY, most = 0;
    for (uint32_t workers = 8; workers <= 256; workers *= 2) {
        if (!sample_takes_next(1))
            continue;
        const double cut = partials_of(workers, true);
        const double whole = partials_of(workers, false);
        cr_log_info("%3u workers: %.2f partials, whole %.2f", workers, cut,
                    whole);
        least = cut < least ? cut : least;
        most = cut > most ? cut : most;
        cr_assert(cut < whole / 1.5);
        if (workers == 256)
            cr_assert(whole > 5 * cut, "%.2f of %.2f", cut, whole);
    }
    cr_assert(least > 1.75 && most < 2.5, "%.2f to %.2f", least, most);
}
