/* See static_toy.h. */
#include "tests/static_toy.h"

#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"

/* ---- what a partition and a block do to each other --------------------- */

static const uint64_t PRIME = 1000003;

static void meet(uint64_t *local, uint64_t *object, double *total,
                 double *value, uint32_t n, double *partial)
{
    uint64_t seen = 0;
    for (uint32_t k = 0; k < STATIC_TOY_TOTALS; k++)
        seen = seen * 7 + (uint64_t)total[k];
    *local = (*local * 31 + *object + seen) % PRIME;
    *object = (*object * 33 + *local) % PRIME;
    total[*local % STATIC_TOY_TOTALS] += (double)(*object % 11);
    for (uint32_t k = 0; k < n; k++)
        value[k] = (double)(((uint64_t)value[k] * 3 + *local) % PRIME);
    *partial += (double)(*object % 97);
}

static double tell(double told, uint64_t block, double partial,
                   const double *total)
{
    return (double)(((uint64_t)told * 5 + (block + 1) * (uint64_t)partial +
                     (uint64_t)total[0]) %
                    PRIME);
}

/* What an aggregate adds to total 1. */
static double preach(double told)
{
    return (double)((uint64_t)told % 13);
}

/* ---- the program ------------------------------------------------------- */

typedef struct toy_state {
    strads_cut *cut;
    static_toy_end end; /* all but the values */
} toy_state;

static strads_err toy_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)data;
    const static_toy_config *c = config;
    shape->parameters = STATIC_TOY_PARAMETERS;
    shape->totals = STATIC_TOY_TOTALS;
    if (c->blocks)
        shape->blocks = c->blocks;
    return STRADS_OK;
}

static strads_cut *cut_parameters(uint32_t blocks, uint32_t partitions)
{
    double weight[STATIC_TOY_PARAMETERS];
    strads_cut *cut = NULL;
    for (uint32_t j = 0; j < STATIC_TOY_PARAMETERS; j++)
        weight[j] = 1.0 / (1 + j);
    return strads_cut_deal(STATIC_TOY_PARAMETERS, weight, blocks, partitions,
                           &cut)
               ? NULL
               : cut;
}

static strads_err toy_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    toy_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->cut = cut_parameters(shape->blocks, shape->partitions);
    *state = s;
    TOY_CHECK(s->cut != NULL);
    return STRADS_OK;
}

static void toy_end(void *state)
{
    toy_state *s = state;
    strads_cut_free(s->cut);
    free(s);
}

static strads_err toy_open(const strads_task *task, void **local)
{
    uint64_t *l = malloc(sizeof *l);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *l = task->share->partition + 1;
    *local = l;
    return STRADS_OK;
}

static strads_err toy_schedule(strads_turn *turn)
{
    const toy_state *s = turn->state;
    if (turn->round > STATIC_TOY_LAPS)
        return strads_turn_stop(turn);
    return strads_turn_dispatch(turn, 0, s->cut->blocks, s->cut->block);
}

static strads_err toy_update(strads_task *task)
{
    uint64_t none = task->block.id;
    uint64_t *object = task->object ? task->object : &none;
    TOY_CHECK(task->total != NULL);
    TOY_CHECK(task->step < task->shape->partitions);
    meet(task->local, object, task->total, task->value, task->block.n,
         task->partial);
    return STRADS_OK;
}

static strads_err toy_aggregate(strads_commit *commit)
{
    toy_state *s = commit->state;
    s->end.told =
        tell(s->end.told, commit->block.id, commit->partial[0], commit->total);
    commit->total_change[1] = preach(s->end.told);
    return STRADS_OK;
}

static strads_err object_open(strads_task *task, void **object)
{
    uint64_t *o = malloc(sizeof *o);
    if (!o)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *o = task->block.id;
    *object = o;
    return STRADS_OK;
}

static strads_err object_pack(const void *object, strads_bytes *out)
{
    return strads_bytes_append(out, object, sizeof(uint64_t));
}

static strads_err object_unpack(const void *bytes, size_t size, void **object)
{
    TOY_CHECK(size == sizeof(uint64_t));
    uint64_t *o = malloc(sizeof *o);
    if (!o)
        return strads_fail(STRADS_ENOMEM, "no memory");
    memcpy(o, bytes, size);
    *object = o;
    return STRADS_OK;
}

static const strads_payload OBJECT = {.open = object_open,
                                      .close = free,
                                      .pack = object_pack,
                                      .unpack = object_unpack};

static const strads_phase WALK = {.name = "walk",
                                  .to = STRADS_TO_RING,
                                  .when = STRADS_WHEN_CALLED,
                                  .partial = toy_one_number,
                                  .update = toy_update,
                                  .aggregate = toy_aggregate};

static const strads_option OPTIONS[] = {
    STRADS_OPTION(U32, static_toy_config, blocks, "toy-blocks", NULL, NULL,
                  .max = 1000),
    STRADS_OPTION(U32, static_toy_config, objects, "toy-objects", NULL, NULL,
                  .max = 1),
    {.name = NULL},
};

#define TOY_PROGRAM(what)                                             \
    {                                                                 \
        .size = sizeof(strads_program), .name = "static-toy",         \
        .options = OPTIONS, .config_size = sizeof(static_toy_config), \
        .shape = toy_shape, .begin = toy_begin, .end = toy_end,       \
        .open = toy_open, .close = free, .schedule = toy_schedule,    \
        .phases = &WALK, .n_phases = 1, .payload = (what)             \
    }

const strads_program *static_toy(const static_toy_config *config)
{
    static const strads_program programs[2] = {TOY_PROGRAM(NULL),
                                               TOY_PROGRAM(&OBJECT)};
    return &programs[config->objects];
}

void static_toy_take(const strads_result *result, static_toy_end *end)
{
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    *end = ((const toy_state *)strads_result_state(result))->end;
    memcpy(end->value, value, sizeof end->value);
}

/* ---- the same in a loop ------------------------------------------------ */

enum { MOST = STATIC_TOY_BLOCKS };

typedef struct walker {
    uint64_t local[MOST], object[MOST];
    double value[MOST][STATIC_TOY_PARAMETERS], partial[MOST];
    /* By lap, 1 and up: what each partition added. */
    double added[STATIC_TOY_LAPS + 1][MOST][STATIC_TOY_TOTALS];
    double preached[STATIC_TOY_LAPS + 1];
    double view[MOST][STATIC_TOY_TOTALS], before[MOST][STATIC_TOY_TOTALS];
} walker;

/* What lap `lap` begins with: all of the laps before it. */
static void look(walker *w, uint32_t K, uint32_t lap)
{
    memset(w->view, 0, sizeof w->view);
    for (uint32_t p = 0; p < K; p++)
        for (uint32_t l = 1; l < lap; l++)
            w->view[p][1] += w->preached[l];
    for (uint32_t p = 0; p < K; p++)
        for (uint32_t l = 1; l < lap; l++)
            for (uint32_t q = 0; q < K; q++)
                for (uint32_t k = 0; k < STATIC_TOY_TOTALS; k++)
                    w->view[p][k] += w->added[l][q][k];
    memcpy(w->before, w->view, sizeof w->view);
}

static void walk_lap(walker *w, const strads_plan *plan,
                     const static_toy_config *config, const strads_cut *cut)
{
    uint32_t K = plan->partitions;
    memset(w->partial, 0, sizeof w->partial);
    for (uint32_t t = 0; t < plan->steps; t++)
        for (uint32_t p = 0; p < K; p++)
            for (uint32_t e = plan->start[t * K + p];
                 e < plan->start[t * K + p + 1]; e++) {
                uint32_t b = plan->block[e];
                if (!config->objects)
                    w->object[b] = b;
                meet(&w->local[p], &w->object[b], w->view[p], w->value[b],
                     cut->block[b].n, &w->partial[b]);
            }
}

void static_toy_walk(const strads_plan *plan, const static_toy_config *config,
                     static_toy_end *end)
{
    uint32_t K = plan->partitions, B = plan->blocks;
    walker *w = calloc(1, sizeof *w);
    strads_cut *cut = cut_parameters(B, K);
    memset(end, 0, sizeof *end);
    for (uint32_t p = 0; w && p < K; p++)
        w->local[p] = p + 1;
    for (uint32_t b = 0; w && b < B; b++)
        w->object[b] = b;
    for (uint32_t lap = 1; w && cut && lap <= STATIC_TOY_LAPS; lap++) {
        look(w, K, lap);
        walk_lap(w, plan, config, cut);
        double total[STATIC_TOY_TOTALS] = {0};
        for (uint32_t p = 0; p < K; p++)
            for (uint32_t k = 0; k < STATIC_TOY_TOTALS; k++)
                w->added[lap][p][k] = w->view[p][k] - w->before[p][k];
        for (uint32_t l = 1; l <= lap; l++)
            for (uint32_t p = 0; p < K; p++)
                total[0] += w->added[l][p][0];
        for (uint32_t b = 0; b < B; b++) {
            end->told = tell(end->told, b, w->partial[b], total);
            w->preached[lap] += preach(end->told);
        }
    }
    for (uint32_t b = 0; w && cut && b < B; b++)
        for (uint32_t k = 0; k < cut->block[b].n; k++)
            end->value[cut->block[b].param[k]] = w->value[b][k];
    strads_cut_free(cut);
    free(w);
}

strads_plan *static_toy_stairs(uint32_t partitions, uint32_t blocks)
{
    uint32_t K = partitions, B = blocks, steps = K + B - 1, n = 0;
    uint32_t *start = malloc(sizeof *start * ((size_t)steps * K + 1));
    uint32_t *block = malloc(sizeof *block * K * B);
    strads_plan *plan = NULL;
    for (uint32_t t = 0; start && block && t < steps; t++)
        for (uint32_t p = 0; p < K; p++) {
            uint32_t down = K - 1 - p; /* steps after the block's own first */
            start[t * K + p] = n;
            if (t >= down && t - down < B)
                block[n++] = t - down;
        }
    if (start && block) {
        start[steps * K] = n;
        const strads_plan draft = {.partitions = K,
                                   .blocks = B,
                                   .steps = steps,
                                   .start = start,
                                   .block = block};
        if (strads_plan_new(&draft, &plan))
            plan = NULL;
    }
    free(start);
    free(block);
    return plan;
}
