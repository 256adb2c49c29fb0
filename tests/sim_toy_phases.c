/* Every kind of phase in one program, as a test of what runtimes carry between
 * nodes. Aggregates fail when a merge is not what it has to be. */
#include <stdlib.h>
#include <string.h>

#include "sim_toy.h"
#include "tests/toy_data.h"

enum { PHASE_RING, PHASE_OWNER, PHASE_CONCAT, PHASE_MAX, PHASE_OWN, PHASES };

typedef struct phases_state {
    const sim_toy_laps *config;
    uint32_t partitions;
    uint32_t laps, next;
} phases_state;

typedef struct phases_local {
    double told; /* of the last MAX phase */
} phases_local;

TOY_SHAPE(phases_shape, shape->parameters = 2 * (uint64_t)shape->partitions)

static strads_err phases_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)data;
    phases_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->config = config;
    s->partitions = shape->partitions;
    *state = s;
    return STRADS_OK;
}

TOY_OPEN(phases_open, sizeof(phases_local))

/* The RING phase has parameters 0 .. K - 1, OWNER K .. 2K - 1; each partition
 * owns one of each. */
static strads_err dispatch_owned(strads_turn *turn, uint32_t phase,
                                 uint32_t first)
{
    const phases_state *s = turn->state;
    strads_block *blocks = calloc(s->partitions, sizeof *blocks);
    if (!blocks)
        return strads_fail(STRADS_ENOMEM, "no memory");
    for (uint32_t p = 0; p < s->partitions; p++)
        blocks[p] = (strads_block){.id = first + p,
                                   .n = 1,
                                   .first = first + p,
                                   .owner = p};
    strads_err err = strads_turn_dispatch(turn, phase, s->partitions, blocks);
    free(blocks);
    return err;
}

static strads_err phases_schedule(strads_turn *turn)
{
    phases_state *s = turn->state;
    if (s->next == PHASES) {
        s->next = 0;
        s->laps++;
    }
    if (s->laps == s->config->laps)
        return strads_turn_stop(turn);
    if (s->next == PHASE_RING && turn->in_flight)
        return strads_turn_wait(turn); /* values are read when dispatched */
    if (s->next == PHASE_RING)
        return dispatch_owned(turn, s->next++, 0);
    if (s->next == PHASE_OWNER)
        return dispatch_owned(turn, s->next++, s->partitions);
    return strads_turn_all(turn, s->next++);
}

static strads_err ring_update(strads_task *task)
{
    const sim_toy_laps *config = task->config;
    if (config->fail_at && task->round / PHASES + 1 >= config->fail_at)
        return strads_fail(STRADS_EPROGRAM, "a ring that fails");
    uint64_t *hops = task->object;
    *task->value = *task->value / 2 + task->share->partition + 1;
    task->partial[0] = (double)++*hops;
    return STRADS_OK;
}

static strads_err ring_aggregate(strads_commit *commit)
{
    phases_state *s = commit->state;
    double k = s->partitions;
    double before = k * s->laps, sum = k * before + k * (k + 1) / 2;
    if (commit->partial[0] != sum)
        return strads_fail(STRADS_EPROGRAM, "hops add up to %g, not %g",
                           commit->partial[0], sum);
    return STRADS_OK;
}

static strads_err owner_update(strads_task *task)
{
    *task->value += task->share->partition + 1;
    return STRADS_OK;
}

static size_t up_to_16_bytes(const strads_task *task)
{
    (void)task;
    return 16;
}

static strads_err concat_update(strads_task *task)
{
    memset(task->partial, (int)(task->share->partition & 0xff), 4);
    task->partial_bytes = 4;
    return STRADS_OK;
}

static strads_err concat_aggregate(strads_commit *commit)
{
    const phases_state *s = commit->state;
    const unsigned char *bytes = (const unsigned char *)commit->partial;
    bool right = commit->partial_bytes == 4 * (size_t)s->partitions;
    for (uint32_t k = 0; right && k < 4 * s->partitions; k++)
        right = bytes[k] == (k / 4 & 0xff);
    return right ? STRADS_OK
                 : strads_fail(STRADS_EPROGRAM, "pieces out of order");
}

static size_t number_bytes(const strads_task *task)
{
    (void)task;
    return sizeof(double);
}

static strads_err max_update(strads_task *task)
{
    task->partial[0] = (double)task->round + task->share->partition;
    return STRADS_OK;
}

static strads_err max_aggregate(strads_commit *commit)
{
    const phases_state *s = commit->state;
    if (commit->partial[0] != (double)commit->round + s->partitions - 1)
        return strads_fail(STRADS_EPROGRAM, "%g is not the largest",
                           commit->partial[0]);
    return STRADS_OK;
}

static strads_err max_receive(strads_task *task)
{
    phases_local *local = task->local;
    if (task->partial[0] <= local->told)
        return strads_fail(STRADS_EPROGRAM, "results came out of order");
    local->told = task->partial[0];
    return STRADS_OK;
}

static strads_err own_update(strads_task *task)
{
    memset(task->partial, 1 << (task->share->partition % 8), 16);
    return STRADS_OK;
}

static void own_merge(void *into, const void *from, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++)
        ((unsigned char *)into)[k] |= ((const unsigned char *)from)[k];
}

static strads_err own_aggregate(strads_commit *commit)
{
    const phases_state *s = commit->state;
    unsigned all = s->partitions >= 8 ? 0xff : (1u << s->partitions) - 1;
    const unsigned char *bytes = (const unsigned char *)commit->partial;
    for (size_t k = 0; k < commit->partial_bytes; k++)
        if (bytes[k] != all)
            return strads_fail(STRADS_EPROGRAM, "bits %#x, not %#x", bytes[k],
                               all);
    return STRADS_OK;
}

static const strads_phase phases[PHASES] = {
    [PHASE_RING] = {.name = "ring",
                    .to = STRADS_TO_RING,
                    .when = STRADS_WHEN_CALLED,
                    .partial = toy_one_number,
                    .update = ring_update,
                    .aggregate = ring_aggregate},
    [PHASE_OWNER] = {.name = "owner",
                     .to = STRADS_TO_OWNER,
                     .when = STRADS_WHEN_CALLED,
                     .update = owner_update},
    [PHASE_CONCAT] = {.name = "concat",
                      .merge = STRADS_MERGE_CONCAT,
                      .when = STRADS_WHEN_CALLED,
                      .partial = up_to_16_bytes,
                      .update = concat_update,
                      .aggregate = concat_aggregate},
    [PHASE_MAX] = {.name = "max",
                   .merge = STRADS_MERGE_OWN,
                   .merge_with = toy_keep_larger,
                   .result = STRADS_RESULT_WORKERS,
                   .when = STRADS_WHEN_CALLED,
                   .partial = number_bytes,
                   .update = max_update,
                   .aggregate = max_aggregate,
                   .receive = max_receive},
    [PHASE_OWN] = {.name = "own",
                   .merge = STRADS_MERGE_OWN,
                   .when = STRADS_WHEN_CALLED,
                   .partial = up_to_16_bytes,
                   .update = own_update,
                   .merge_with = own_merge,
                   .aggregate = own_aggregate},
};

static const sim_toy_laps phases_defaults = {.laps = 3};

const strads_program sim_toy_phases = {
    .size = sizeof(strads_program),
    .name = "phases",
    .config_size = sizeof(sim_toy_laps),
    .defaults = &phases_defaults,
    .shape = phases_shape,
    .begin = phases_begin,
    .end = free,
    .open = phases_open,
    .close = free,
    .schedule = phases_schedule,
    .phases = phases,
    .n_phases = PHASES,
    .payload = &toy_counter,
};

double sim_toy_ring_value(uint32_t partition, uint32_t partitions,
                          uint32_t laps)
{
    double value = 0;
    for (uint32_t hop = 0; hop < laps * partitions; hop++)
        value = value / 2 + (partition + hop) % partitions + 1;
    return value;
}
