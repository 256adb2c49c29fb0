/* See wide_toy.h. */
#include "tests/wide_toy.h"

#include <math.h>
#include <stdlib.h>

#include "tests/toy_data.h"

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

/* Of some twenty binary orders, so that most additions round. */
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

/* sum(l, i) of the partitions with the numbers i 2^l and on, where partition
 * `turn` has number 0. */
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
    /* The chunks go by trees that are turned, each further than the last. */
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

const strads_program wide_toy = {
    .size = sizeof(strads_program),
    .name = "wide",
    .shape = wide_shape,
    .begin = wide_begin,
    .end = free,
    .schedule = wide_schedule,
    .phases = &SUM,
    .n_phases = 1,
};
