/* See nodes_toy.h. Each partition keeps the parameters from `refresh` and uses
 * them in its computations. */
#include "tests/nodes_toy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"

enum { BLOCKS = 5, DIARY = 256, J = NODES_TOY_PARAMETERS };

atomic_int nodes_toy_packed, nodes_toy_unpacked, nodes_toy_alive;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a toy");
}

TOY_SHAPE(toy_shape, shape->parameters = J)

/* ---- the object -------------------------------------------------------- */

typedef struct luggage {
    uint32_t n;
    uint32_t station[DIARY];
} luggage;

static strads_err luggage_open(strads_task *task, void **object)
{
    (void)task;
    *object = calloc(1, sizeof(luggage));
    if (!*object)
        return no_memory();
    atomic_fetch_add(&nodes_toy_alive, 1);
    return STRADS_OK;
}

static void luggage_close(void *object)
{
    atomic_fetch_sub(&nodes_toy_alive, 1);
    free(object);
}

static strads_err luggage_pack(const void *object, strads_bytes *out)
{
    const luggage *l = object;
    atomic_fetch_add(&nodes_toy_packed, 1);
    return strads_bytes_append(out, l->station, sizeof *l->station * l->n);
}

static strads_err luggage_unpack(const void *bytes, size_t size, void **object)
{
    TOY_CHECK(size % sizeof(uint32_t) == 0 && size <= DIARY * sizeof(uint32_t));
    luggage *l = calloc(1, sizeof *l);
    if (!l)
        return no_memory();
    l->n = (uint32_t)(size / sizeof(uint32_t));
    memcpy(l->station, bytes, size);
    atomic_fetch_add(&nodes_toy_unpacked, 1);
    atomic_fetch_add(&nodes_toy_alive, 1);
    *object = l;
    return STRADS_OK;
}

static const strads_payload LUGGAGE = {.open = luggage_open,
                                       .close = luggage_close,
                                       .pack = luggage_pack,
                                       .unpack = luggage_unpack};

/* ---- partitions -------------------------------------------------------- */

TOY_OPEN(toy_open, J * sizeof(double))

static double draw(const strads_task *task, uint32_t k)
{
    uint64_t bits =
        strads_random_bits(task->seed, task->share->partition, task->round, k);
    return (double)(bits >> 40) / 16777216;
}

static strads_err walk(strads_task *task)
{
    uint32_t K = task->share->partitions;
    const nodes_toy_config *config = task->config;
    luggage *l = task->object;
    if (config->fails && task->round >= config->fails)
        return strads_fail(STRADS_EPROGRAM, "a ring that fails");
    TOY_CHECK(l != NULL && l->n < DIARY);
    l->station[l->n++] = task->share->partition;
    if (task->step)
        TOY_CHECK(l->station[l->n - 1] == (l->station[l->n - 2] + 1) % K);
    const double *known = task->local;
    for (uint32_t k = 0; k < task->block.n; k++)
        task->value[k] = 0.75 * task->value[k] +
                         0.125 * known[(task->block.first + 7) % J] +
                         draw(task, k);
    task->partial[0] = l->n;
    return STRADS_OK;
}

static strads_err own(strads_task *task)
{
    TOY_CHECK(task->share->partition == task->block.owner);
    for (uint32_t k = 0; k < task->block.n; k++)
        task->value[k] += draw(task, k) - 0.5;
    task->partial[0] = 1;
    return STRADS_OK;
}

/* Partition p lists p + 1 numbers. */
static size_t list_bytes(const strads_task *task)
{
    return sizeof(double) * task->shape->partitions;
}

static strads_err list(strads_task *task)
{
    const double *known = task->local;
    uint32_t n = task->share->partition + 1;
    for (uint32_t k = 0; k < n; k++)
        task->partial[k] = draw(task, k) + 0.25 * known[k % J];
    task->partial_bytes = sizeof(double) * n;
    return STRADS_OK;
}

static strads_err sum(strads_task *task)
{
    const double *known = task->local;
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = draw(task, k) - 0.25 * known[k];
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

enum { WALK, OWN, LIST, SUM, N_PHASES };

static strads_err toy_schedule(strads_turn *turn)
{
    if (turn->round > NODES_TOY_ROUNDS)
        return strads_turn_stop(turn);
    uint32_t phase = (uint32_t)(turn->round % N_PHASES);
    if (phase == LIST || phase == SUM)
        return strads_turn_all(turn, phase);
    uint32_t K = *(uint32_t *)turn->state;
    strads_block blocks[BLOCKS];
    for (uint32_t b = 0; b < BLOCKS; b++)
        blocks[b] =
            (strads_block){.id = b,
                           .n = J / BLOCKS,
                           .first = b * J / BLOCKS,
                           .owner = phase == WALK
                                        ? b % K
                                        : (uint32_t)((b + turn->round) % K)};
    return strads_turn_dispatch(turn, phase, BLOCKS, blocks);
}

/* Adds all listed numbers to the parameters, in order. */
static strads_err listed(strads_commit *commit)
{
    size_t n = commit->partial_bytes / sizeof(double);
    for (size_t k = 0; k < n; k++)
        commit->change[k % J] =
            0.5 * commit->change[k % J] + commit->partial[k] / (double)(k + 1);
    return STRADS_OK;
}

static strads_err summed(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = 0.125 * commit->partial[k];
    return STRADS_OK;
}

static const strads_phase PHASES[N_PHASES] = {
    [WALK] = {.name = "walk",
              .to = STRADS_TO_RING,
              .when = STRADS_WHEN_CALLED,
              .partial = toy_one_number,
              .update = walk},
    [OWN] = {.name = "own",
             .to = STRADS_TO_OWNER,
             .when = STRADS_WHEN_CALLED,
             .partial = toy_one_number,
             .update = own},
    [LIST] = {.name = "list",
              .merge = STRADS_MERGE_CONCAT,
              .when = STRADS_WHEN_CALLED,
              .partial = list_bytes,
              .update = list,
              .aggregate = listed},
    [SUM] = {.name = "sum",
             .when = STRADS_WHEN_CALLED,
             .update = sum,
             .aggregate = summed},
};

static const nodes_toy_config usual;

const strads_program nodes_toy = {
    .size = sizeof(strads_program),
    .name = "errands",
    .config_size = sizeof(nodes_toy_config),
    .defaults = &usual,
    .shape = toy_shape,
    .begin = toy_begin_partitions,
    .end = free,
    .open = toy_open,
    .close = free,
    .refresh = toy_replica_refresh,
    .schedule = toy_schedule,
    .phases = PHASES,
    .n_phases = N_PHASES,
    .payload = &LUGGAGE,
};

/* ---- the endless program ----------------------------------------------- */

static strads_err endless_update(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = 1;
    return STRADS_OK;
}

static strads_err endless_aggregate(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = commit->partial[k];
    return STRADS_OK;
}

static strads_err endless_objective(void *state, strads_report *report)
{
    (void)state;
    report->objective = 1;
    report->gap = 1;
    return STRADS_OK;
}

const strads_program nodes_toy_endless = {
    .size = sizeof(strads_program),
    .name = "endless",
    .update = endless_update,
    .aggregate = endless_aggregate,
    .objective = endless_objective,
};
