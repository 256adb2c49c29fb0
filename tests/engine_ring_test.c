/* RING phases: blocks that carry an object from partition to partition.
 * Every object logs its stations; the oracle is the same walk in a loop. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { PARAMETERS = 30, LAPS = 3, B_MAX = 16, STATIONS = 64 };

typedef struct counts {
    atomic_int opened, closed, alive_twice;
} counts;

typedef struct luggage {
    counts *counts;
    uint64_t block;
    uint32_t n;
    uint32_t station[STATIONS];
} luggage;

typedef struct ring_config {
    uint32_t blocks;
    bool has_objects, packs; /* unpack also makes objects */
    counts *counts;
    uint64_t fail_round; /* an update of that round fails */
    uint32_t *merged;    /* blocks with a correct merged partial */
} ring_config;

TOY_SHAPE(ring_shape, shape->parameters = PARAMETERS)

static uint32_t owner_of(uint32_t block, uint32_t partitions)
{
    return (block * 3 + 1) % partitions;
}

static strads_err ring_schedule(strads_turn *turn)
{
    const ring_config *config = turn->config;
    if (turn->round > LAPS)
        return strads_turn_stop(turn);
    strads_block blocks[B_MAX];
    for (uint32_t b = 0; b < config->blocks; b++) {
        uint32_t first = b * PARAMETERS / config->blocks;
        uint32_t end = (b + 1) * PARAMETERS / config->blocks;
        blocks[b] =
            (strads_block){.id = b,
                           .n = end - first,
                           .first = first,
                           .owner = owner_of(b, *(uint32_t *)turn->state)};
    }
    return strads_turn_dispatch(turn, 0, config->blocks, blocks);
}

/* ---- the object -------------------------------------------------------- */

static strads_err luggage_open(strads_task *task, void **object)
{
    const ring_config *config = task->config;
    TOY_CHECK(task->share->partition == task->block.owner);
    luggage *l = calloc(1, sizeof *l);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory");
    l->counts = config->counts;
    l->block = task->block.id;
    atomic_fetch_add(&l->counts->opened, 1);
    *object = l;
    return STRADS_OK;
}

static void luggage_close(void *object)
{
    luggage *l = object;
    atomic_fetch_add(&l->counts->closed, 1);
    free(l);
}

static strads_err luggage_pack(const void *object, strads_bytes *out)
{
    return strads_bytes_append(out, object, sizeof(luggage));
}

static strads_err luggage_unpack(const void *bytes, size_t size, void **object)
{
    TOY_CHECK(size == sizeof(luggage));
    luggage *l = malloc(size);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory");
    memcpy(l, bytes, size);
    atomic_fetch_add(&l->counts->opened, 1);
    *object = l;
    return STRADS_OK;
}

static const strads_payload LUGGAGE = {.open = luggage_open,
                                       .close = luggage_close,
                                       .pack = luggage_pack,
                                       .unpack = luggage_unpack};

/* ---- the walk ---------------------------------------------------------- */

static double moved(double value, uint32_t partition)
{
    return (double)(((uint64_t)value * 3 + partition + 1) % 1000003);
}

static strads_err write_diary(const strads_task *task)
{
    uint32_t K = task->share->partitions;
    luggage *l = task->object;
    TOY_CHECK(l != NULL);
    TOY_CHECK(l->block == task->block.id);
    TOY_CHECK(l->n == (task->round - 1) * K + task->step);
    TOY_CHECK(l->n < STATIONS);
    l->station[l->n++] = task->share->partition;
    if (l->n >= 2)
        TOY_CHECK(l->station[l->n - 1] == (l->station[l->n - 2] + 1) % K);
    return STRADS_OK;
}

static strads_err ring_update(strads_task *task)
{
    const ring_config *config = task->config;
    uint32_t p = task->share->partition;
    uint32_t K = task->share->partitions;
    TOY_CHECK(task->step == (p + K - task->block.owner) % K);
    if (config->has_objects) {
        strads_err err = write_diary(task);
        if (err)
            return err;
    } else {
        TOY_CHECK(task->object == NULL);
    }
    if (task->round == config->fail_round && task->step == K / 2 &&
        task->block.id == config->blocks / 2)
        return strads_fail(STRADS_EPROGRAM, "the ring broke at %u", p);
    for (uint32_t k = 0; k < task->block.n; k++)
        task->value[k] = moved(task->value[k], p);
    task->partial[0] = p + 1.0;
    task->partial[1] = 1;
    return STRADS_OK;
}

static strads_err ring_aggregate(strads_commit *commit)
{
    const ring_config *config = commit->config;
    uint32_t K = *(uint32_t *)commit->state;
    TOY_CHECK(commit->partial_bytes == 2 * sizeof(double));
    TOY_CHECK(commit->partial[0] == K * (K + 1) / 2.0);
    TOY_CHECK(commit->partial[1] == K);
    ++*config->merged;
    return STRADS_OK;
}

static const strads_phase WALK = {.name = "walk",
                                  .to = STRADS_TO_RING,
                                  .when = STRADS_WHEN_CALLED,
                                  .partial = toy_two_numbers,
                                  .update = ring_update,
                                  .aggregate = ring_aggregate};

static strads_program ring_program(const ring_config *config)
{
    return (strads_program){.size = sizeof(strads_program),
                            .name = "ring",
                            .shape = ring_shape,
                            .begin = toy_begin_partitions,
                            .end = free,
                            .schedule = ring_schedule,
                            .payload = config->has_objects ? &LUGGAGE : NULL,
                            .phases = &WALK,
                            .n_phases = 1};
}

static void check_values(const strads_result *result, uint32_t K,
                         uint32_t blocks)
{
    const double *got = values_of(result);
    for (uint32_t b = 0; b < blocks; b++) {
        double want = 0;
        for (uint32_t hop = 0; hop < LAPS * K; hop++)
            want = moved(want, (owner_of(b, K) + hop) % K);
        uint32_t end = (b + 1) * PARAMETERS / blocks;
        for (uint32_t j = b * PARAMETERS / blocks; j < end; j++)
            cr_assert_eq(got[j], want, "K %u, %u blocks, parameter %u", K,
                         blocks, j);
    }
}

static void walk(uint32_t K, uint32_t workers, uint32_t depth,
                 ring_config config)
{
    counts counted = {0};
    uint32_t merged = 0;
    config.counts = &counted;
    config.merged = &merged;
    const strads_program program = ring_program(&config);
    strads_result *result = NULL;
    strads_err err = toy_run_it(&(toy_run){.program = &program,
                                           .config = &config,
                                           .options = {.workers = workers,
                                                       .partitions = K,
                                                       .depth = depth}},
                                &result);
    cr_assert_eq(atomic_load(&counted.opened), atomic_load(&counted.closed),
                 "%d objects were made, %d freed", atomic_load(&counted.opened),
                 atomic_load(&counted.closed));
    if (config.fail_round) {
        cr_assert_eq(err, STRADS_EPROGRAM);
        expect_says("the ring broke");
        return;
    }
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    cr_assert_eq(merged, LAPS * config.blocks);
    if (!config.packs)
        cr_assert_eq(atomic_load(&counted.opened),
                     config.has_objects ? (int)config.blocks : 0);
    check_values(result, K, config.blocks);
    strads_result_free(result);
}

static void walk_all(ring_config config)
{
    const uint32_t partitions[] = {1, 2, 3, 5, 8, 13};
    for (uint32_t k = 0; k < 6; k++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (config.blocks = 1; config.blocks <= B_MAX; config.blocks += 5)
                walk(partitions[k], workers, 0, config);
}

Test(engine_ring, a_block_visits_all_partitions_in_order_and_comes_home)
{
    walk_all((ring_config){.has_objects = true});
}

Test(engine_ring, values_travel_alone_without_a_payload)
{
    walk_all((ring_config){.has_objects = false});
}

Test(engine_ring, a_lap_begins_when_the_block_is_home_from_the_one_before)
{
    for (uint32_t depth = 1; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            walk(5, workers, depth,
                 (ring_config){.has_objects = true, .blocks = 7});
}

Test(engine_ring, objects_are_freed_when_a_lap_fails)
{
    for (uint32_t round = 1; round <= 2; round++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            walk(5, workers, 0,
                 (ring_config){.has_objects = true,
                               .blocks = 7,
                               .fail_round = round});
}

Test(engine_ring, between_nodes_a_block_is_packed_and_unpacked)
{
    toy_simulate_from_now_on();
    walk_all((ring_config){.has_objects = true, .packs = true});
    for (uint32_t depth = 0; depth <= 4; depth++)
        walk(5, 4, depth,
             (ring_config){.has_objects = true, .packs = true, .blocks = 7});
}

Test(engine_ring, between_nodes_objects_are_freed_when_a_lap_fails)
{
    toy_simulate_from_now_on();
    for (uint32_t round = 1; round <= 2; round++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            walk(5, workers, 1,
                 (ring_config){.has_objects = true,
                               .packs = true,
                               .blocks = 7,
                               .fail_round = round});
}
