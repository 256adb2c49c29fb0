/* Sub-blocks: with two blocks per partition and step, one is transferred
 * while the other is computed. Tested in virtual time, with given compute and
 * transfer costs, and over TCP, by the traces. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { PARAMETERS = 800 };

typedef struct carry_config {
    uint32_t laps, blocks, bytes; /* bytes: size of a parameter's object */
    uint32_t waits; /* partition 0 waits for partition 1, see carry_update */
} carry_config;

typedef struct carry_state {
    strads_cut *cut;
} carry_state;

static strads_err carry_shape(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)data;
    shape->parameters = PARAMETERS;
    shape->blocks = ((const carry_config *)config)->blocks;
    return STRADS_OK;
}

static strads_err carry_begin(const void *config, const strads_data *data,
                              const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    carry_state *s = calloc(1, sizeof *s);
    TOY_CHECK(s != NULL);
    *state = s;
    return strads_cut_deal(PARAMETERS, NULL, shape->blocks, shape->partitions,
                           &s->cut);
}

static void carry_end(void *state)
{
    strads_cut_free(((carry_state *)state)->cut);
    free(state);
}

static strads_err carry_schedule(strads_turn *turn)
{
    const carry_config *config = turn->config;
    const carry_state *s = turn->state;
    if (turn->round > config->laps)
        return strads_turn_stop(turn);
    return strads_turn_dispatch(turn, 0, s->cut->blocks, s->cut->block);
}

static size_t nothing(const strads_task *task)
{
    (void)task;
    return 0;
}

static atomic_bool taken_up, waited;

/* Block 0 is partition 0's first block and block 2 its second: block 0
 * reaches partition 1 while block 2 is computed. */
static strads_err carry_update(strads_task *task)
{
    const carry_config *config = task->config;
    uint32_t p = task->share->partition;
    if (!config->waits)
        return STRADS_OK;
    if (p == 1 && task->block.id == 0)
        atomic_store(&taken_up, true);
    if (p == 0 && task->block.id == 2 && task->step == 0) {
        const struct timespec little = {.tv_nsec = 100000};
        while (!atomic_load(&taken_up))
            (void)nanosleep(&little, NULL);
        atomic_store(&waited, true);
    }
    return STRADS_OK;
}

typedef struct luggage {
    size_t size;
    unsigned char *bytes;
} luggage;

static strads_err luggage_make(size_t size, void **object)
{
    luggage *l = malloc(sizeof *l);
    TOY_CHECK(l != NULL);
    *l = (luggage){size, calloc(size + 1, 1)};
    *object = l;
    return STRADS_OK;
}

static strads_err luggage_open(strads_task *task, void **object)
{
    const carry_config *config = task->config;
    return luggage_make((size_t)task->block.n * config->bytes, object);
}

static void luggage_close(void *object)
{
    luggage *l = object;
    free(l->bytes);
    free(l);
}

static strads_err luggage_pack(const void *object, strads_bytes *out)
{
    const luggage *l = object;
    return strads_bytes_append(out, l->bytes, l->size);
}

static strads_err luggage_unpack(const void *bytes, size_t size, void **object)
{
    (void)bytes;
    return luggage_make(size, object);
}

static const strads_payload LUGGAGE = {.open = luggage_open,
                                       .close = luggage_close,
                                       .pack = luggage_pack,
                                       .unpack = luggage_unpack};

static const strads_option OPTIONS[] = {
    STRADS_OPTION(U32, carry_config, laps, "laps", NULL, NULL),
    STRADS_OPTION(U32, carry_config, blocks, "carry-blocks", NULL, NULL),
    STRADS_OPTION(U32, carry_config, bytes, "carry-bytes", NULL, NULL),
    STRADS_OPTION(U32, carry_config, waits, "waits", NULL, NULL),
    {.name = NULL},
};

static const strads_phase CARRY = {.name = "carry",
                                   .to = STRADS_TO_RING,
                                   .when = STRADS_WHEN_CALLED,
                                   .ignores_values = true,
                                   .partial = nothing,
                                   .update = carry_update};

static const strads_program PROGRAM = {.size = sizeof(strads_program),
                                       .name = "carry",
                                       .options = OPTIONS,
                                       .config_size = sizeof(carry_config),
                                       .shape = carry_shape,
                                       .begin = carry_begin,
                                       .end = carry_end,
                                       .schedule = carry_schedule,
                                       .phases = &CARRY,
                                       .n_phases = 1,
                                       .payload = &LUGGAGE};

/* ---- virtual time ------------------------------------------------------ */

enum { K = 4, LAPS = 10, BYTES = 2000 };

static const double compute =
    1e-3; /* for all blocks of a partition in a step */

static char folder[] = "/tmp/strads-overlap-XXXXXX";
static char path[2][64];

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    for (int k = 0; k < 2; k++)
        (void)snprintf(path[k], sizeof path[k], "%s/%d.json", folder, k);
}

static void close_folder(void)
{
    for (int k = 0; k < 2; k++)
        (void)unlink(path[k]);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(engine_overlap, .init = open_folder, .fini = close_folder);

/* Virtual seconds for all laps. A partition holds `blocks / K` blocks in a
 * step, and they take `transfer` seconds to the next partition. */
static double makespan(uint32_t blocks, double transfer)
{
    const carry_config config = {.laps = LAPS,
                                 .blocks = blocks,
                                 .bytes = BYTES};
    strads_data *data = toy_data(&PROGRAM, 23, 17, K);
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = K,
                                           .depth = 1,
                                           .trace = path[0]};
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = K,
                                    .entry_cost =
                                        compute * K / (PARAMETERS / K),
                                    .bandwidth = (double)PARAMETERS / K *
                                                 BYTES / transfer};
    strads_result *result = NULL;
    strads_sim_outcome outcome;
    expect_ok(strads_simulate(&PROGRAM, &config, data, &options, &sim, &result,
                              &outcome));
    strads_result_free(result);
    strads_data_free(data);
    return outcome.makespan;
}

Test(engine_overlap, with_sub_blocks_a_lap_costs_the_longer_of_both_not_the_sum)
{
    const double transfers[] = {0.3e-3, 0.8e-3, 2e-3};
    for (int k = 0; k < 3; k++) {
        double transfer = transfers[k];
        double sum = LAPS * K * (compute + transfer);
        double longer = LAPS * K * fmax(compute, transfer);
        double whole = makespan(K, transfer);
        double halves = makespan(2 * K, transfer);
        cr_expect_gt(whole, 0.95 * sum, "%g s, %g", whole, sum);
        cr_expect_lt(whole, 1.1 * sum, "%g s, %g", whole, sum);
        cr_expect_gt(halves, longer, "%g s, %g", halves, longer);
        cr_expect_lt(halves, 1.12 * longer, "%g s, %g", halves, longer);
    }
}

/* ---- traces ------------------------------------------------------------ */

enum { ROOM = 4000, ROOM_TCP = 100 };

static int by_begin(const void *a, const void *b)
{
    const trace_span *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The share of transfer time during which the receiver computes. Computing
 * on other nodes does not count. */
static double hidden(const json_t *trace)
{
    static trace_span moved[ROOM], worked[ROOM];
    size_t n = trace_spans(trace, "transfer ring step", 100, moved, ROOM);
    size_t m = trace_spans(trace, "update carry", 0, worked, ROOM);
    double all = 0, covered = 0;
    for (size_t i = 0; i < n; i++) {
        all += moved[i].end - moved[i].begin;
        for (size_t j = 0; j < m; j++) {
            double both = fmin(moved[i].end, worked[j].end) -
                          fmax(moved[i].begin, worked[j].begin);
            if (worked[j].node == (moved[i].node + 1) % K && both > 0)
                covered += both;
        }
    }
    cr_assert_gt(all, 0);
    return covered / all;
}

Test(engine_overlap, the_simulations_trace_shows_transfers_hidden)
{
    (void)makespan(2 * K, 0.45e-3);
    json_t *trace = expect_trace(path[0]);
    cr_expect_gt(hidden(trace), 0.85); /* the final transfer home is not
                                        * hidden */
    json_decref(trace);
    (void)makespan(K, 0.45e-3);
    trace = expect_trace(path[0]);
    cr_expect_lt(hidden(trace), 0.1);
    json_decref(trace);
}

/* The dispatch of a lap goes to each node once and its record returns once,
 * as when partitions are opened and closed. All other messages are blocks, from
 * worker to worker and home at the end. So no step sends a message to the
 * coordinator, and there is no barrier. */
Test(engine_overlap, the_trace_shows_that_no_step_asks_the_coordinator)
{
    static trace_span sent[ROOM];
    for (uint32_t blocks = K; blocks <= 4 * K; blocks *= 2) {
        (void)makespan(blocks, 0.45e-3);
        json_t *trace = expect_trace(path[0]);
        const size_t down =
            trace_spans(trace, "transfer dispatch", 0, sent, ROOM);
        const size_t up = trace_spans(trace, "transfer partial", 0, sent, ROOM);
        const size_t all = trace_spans(trace, "transfer", 0, sent, ROOM);
        const size_t hops =
            trace_spans(trace, "transfer ring step", 0, sent, ROOM);
        cr_expect_eq(down, (LAPS + 2) * K, "%zu dispatches", down);
        cr_expect_eq(up, (LAPS + 2) * K, "%zu records", up);
        cr_expect_eq(hops, (size_t)LAPS * K * blocks, "%zu hops", hops);
        cr_expect_eq(all, hops + down + up, "%zu messages", all);
        for (size_t k = 0; k < hops; k++)
            cr_assert_lt(sent[k].node, K, "the coordinator sent a block");
        json_decref(trace);
    }
}

/* Engines of two processes, two blocks each. The update of partition 0's
 * second block lasts until partition 1 has received the first block. So the
 * first block is packed, sent, received and unpacked meanwhile. */
Test(engine_overlap, over_tcp_a_half_moves_while_the_other_is_computed)
{
    const carry_config config = {.laps = 1,
                                 .blocks = 4,
                                 .bytes = 5000,
                                 .waits = 1};
    team t = {.program = &PROGRAM,
              .config = &config,
              .options = {.partitions = 2},
              .nodes = 2,
              .trace = {path[0], path[1]}};
    strads_result_free(expect_team(&t));
    cr_assert(atomic_load(&waited));
    json_t *trace = expect_trace(path[0]);
    trace_span moved[ROOM_TCP], worked[ROOM_TCP];
    size_t n = trace_spans(trace, "transfer", 0, moved, ROOM_TCP);
    size_t m = trace_spans(trace, "update carry", 0, worked, ROOM_TCP);
    cr_assert_geq(m, 3);
    qsort(worked, m, sizeof *worked, by_begin);
    /* The spans are the updates, then the first block. The second update
     * lasts until partition 1 has the first block. */
    const trace_span *first = &worked[1], *second = &worked[2];
    size_t meanwhile = 0;
    for (size_t k = 0; k < n; k++)
        meanwhile += moved[k].end > first->end && moved[k].begin < second->end;
    cr_assert_gt(meanwhile, 0);
    json_decref(trace);
}
