/* The static engine: for any plan, number of workers and runtime, a run is
 * bit-identical to a plain loop over the plan. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

/* ---- the program ------------------------------------------------------- */

/* Every number depends on the order in which each partition received its
 * blocks, on the partitions that each block visited before, and on the totals
 * at that time. */
enum {
    STATIC_TOY_PARAMETERS = 30,
    STATIC_TOY_TOTALS = 3,
    STATIC_TOY_LAPS = 4,
    STATIC_TOY_BLOCKS = 64 /* at most */
};

typedef struct static_toy_config {
    uint32_t blocks;  /* 0: the engine's default */
    uint32_t objects; /* blocks have an object */
} static_toy_config;

/* Results: table 0, and a number made of partials and totals. */
typedef struct static_toy_end {
    double value[STATIC_TOY_PARAMETERS];
    double told;
} static_toy_end;

/* The effect of a partition and a block on each other. */
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

/* The number that an aggregate adds to total 1. */
static double preach(double told)
{
    return (double)((uint64_t)told % 13);
}

typedef struct toy_state {
    strads_cut *cut;
    static_toy_end end; /* all results except the values */
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

/* The program for a config; its phases depend on it. */
static const strads_program *static_toy(const static_toy_config *config)
{
    static const strads_program programs[2] = {TOY_PROGRAM(NULL),
                                               TOY_PROGRAM(&OBJECT)};
    return &programs[config->objects];
}

static void static_toy_take(const strads_result *result, static_toy_end *end)
{
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    *end = ((const toy_state *)strads_result_state(result))->end;
    memcpy(end->value, value, sizeof end->value);
}

/* ---- the same in a loop -------------------------------------------------- */

enum { MOST = STATIC_TOY_BLOCKS };

typedef struct walker {
    uint64_t local[MOST], object[MOST];
    double value[MOST][STATIC_TOY_PARAMETERS], partial[MOST];
    /* By lap, from 1: the numbers that each partition added. */
    double added[STATIC_TOY_LAPS + 1][MOST][STATIC_TOY_TOTALS];
    double preached[STATIC_TOY_LAPS + 1];
    double view[MOST][STATIC_TOY_TOTALS], before[MOST][STATIC_TOY_TOTALS];
} walker;

/* The state at the start of lap `lap`: all earlier laps are applied. */
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

/* The oracle: the laps of the plan in a loop. */
static void static_toy_walk(const strads_plan *plan,
                            const static_toy_config *config,
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

/* A plan that is not a rotation: all blocks start at the last partition and
 * move down to the first, each one step behind the previous block. */
static strads_plan *static_toy_stairs(uint32_t partitions, uint32_t blocks)
{
    uint32_t K = partitions, B = blocks, steps = K + B - 1, n = 0;
    uint32_t *start = malloc(sizeof *start * ((size_t)steps * K + 1));
    uint32_t *block = malloc(sizeof *block * K * B);
    strads_plan *plan = NULL;
    for (uint32_t t = 0; start && block && t < steps; t++)
        for (uint32_t p = 0; p < K; p++) {
            uint32_t down = K - 1 - p; /* steps after the block's first step */
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

/* ---- runs -------------------------------------------------------------- */

static void expect_same(const strads_result *result, const static_toy_end *want,
                        const char *what)
{
    static_toy_end got;
    static_toy_take(result, &got);
    for (uint32_t j = 0; j < STATIC_TOY_PARAMETERS; j++)
        cr_assert_eq(got.value[j], want->value[j],
                     "%s: parameter %u is %g, "
                     "not %g",
                     what, j, got.value[j], want->value[j]);
    cr_assert_eq(got.told, want->told, "%s: totals or partials", what);
}

static strads_engine_options options_of(const strads_plan *plan, bool given,
                                        uint32_t workers, uint32_t depth)
{
    return (strads_engine_options){.workers = workers,
                                   .partitions = plan->partitions,
                                   .depth = depth,
                                   .plan_given = given ? plan : NULL};
}

/* Runs one plan, passed to the engine or (`given` false) made by the engine. */
static void run_it(const strads_plan *plan, bool given, uint32_t workers,
                   uint32_t depth, static_toy_config config)
{
    config.blocks = plan->blocks;
    char what[100];
    (void)snprintf(what, sizeof what, "K %u, B %u, %u workers, depth %u",
                   plan->partitions, plan->blocks, workers, depth);
    static_toy_end want;
    static_toy_walk(plan, &config, &want);
    strads_result *result = NULL;
    cr_assert_eq(toy_run_it(&(toy_run){.program = static_toy(&config),
                                       .config = &config,
                                       .options = options_of(plan, given,
                                                             workers, depth)},
                            &result),
                 STRADS_OK, "%s: %s", what, strads_error_text());
    expect_same(result, &want, what);
    strads_result_free(result);
}

static const uint32_t SIZES[][2] = {{1, 1}, {1, 5},  {2, 2},  {2, 4}, {3, 2},
                                    {4, 9}, {5, 10}, {5, 30}, {8, 3}};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES };

typedef enum plan_kind { ROTATION, WEIGHTED, STAIRS, NO_PLAN } plan_kind;

static strads_plan *make(plan_kind kind, uint32_t K, uint32_t B)
{
    strads_plan *plan = NULL;
    double weight[64];
    for (uint32_t b = 0; b < B; b++)
        weight[b] = 1 + b * b % 7;
    if (kind == STAIRS)
        plan = static_toy_stairs(K, B);
    else if (kind == WEIGHTED)
        cr_assert_eq(strads_plan_weighted(K, B, weight, NULL, &plan),
                     STRADS_OK);
    else
        cr_assert_eq(strads_plan_rotation(K, B, &plan), STRADS_OK);
    cr_assert_not_null(plan);
    return plan;
}

static void run_all(plan_kind kind, static_toy_config config)
{
    for (uint32_t s = 0; s < N_SIZES; s++) {
        strads_plan *plan = make(kind, SIZES[s][0], SIZES[s][1]);
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t depth = 0; depth <= 3; depth++)
                run_it(plan, kind != NO_PLAN, workers, depth, config);
        strads_plan_free(plan);
    }
}

static void run_ways(plan_kind kind)
{
    run_all(kind, (static_toy_config){.objects = 1});
    run_all(kind, (static_toy_config){.objects = 0});
}

Test(engine_static, without_a_plan_blocks_rotate_from_their_owners)
{
    run_ways(NO_PLAN);
}

Test(engine_static, a_rotation_gives_the_bits_of_a_loop)
{
    run_ways(ROTATION);
}

Test(engine_static, a_plan_by_work_gives_the_bits_of_a_loop)
{
    run_ways(WEIGHTED);
}

Test(engine_static, a_plan_by_hand_with_idle_entries_gives_the_bits_of_a_loop)
{
    run_ways(STAIRS);
}

Test(engine_static, so_it_does_in_virtual_time_with_messages_that_overtake)
{
    toy_simulate_from_now_on();
    run_ways(NO_PLAN);
    run_ways(WEIGHTED);
    run_ways(STAIRS);
}

static void run_on_nodes(const strads_plan *plan, bool given, uint32_t nodes,
                         uint32_t workers, uint32_t depth)
{
    const static_toy_config config = {.blocks = plan->blocks, .objects = 1};
    static_toy_end want;
    static_toy_walk(plan, &config, &want);
    team t = {.program = static_toy(&config),
              .config = &config,
              .options = options_of(plan, given, workers, depth),
              .nodes = nodes};
    for (uint32_t k = 0; k < nodes; k++)
        t.workers[k] = workers;
    strads_result *result = expect_team(&t);
    expect_same(result, &want, "nodes");
    strads_result_free(result);
}

Test(engine_static, nodes_receive_the_plan_and_give_the_same_bits)
{
    for (uint32_t kind = ROTATION; kind <= NO_PLAN; kind++)
        for (uint32_t s = 4; s < N_SIZES; s++) {
            strads_plan *plan = make(kind, SIZES[s][0], SIZES[s][1]);
            run_on_nodes(plan, kind != NO_PLAN, 2, 1, 0);
            run_on_nodes(plan, kind != NO_PLAN, 3, 1, 2);
            strads_plan_free(plan);
        }
    strads_plan *plan = make(WEIGHTED, 4, 9);
    run_on_nodes(plan, true, 2, 2, 1);
    strads_plan_free(plan);
}

/* ---- plans that do not fit --------------------------------------------- */

static void expect_refused(const strads_plan *plan, uint32_t partitions,
                           uint32_t blocks, const char *says)
{
    const static_toy_config config = {.blocks = blocks};
    strads_err err = toy_run_it(&(toy_run){.program = static_toy(&config),
                                           .config = &config,
                                           .options = {.partitions = partitions,
                                                       .plan_given = plan}},
                                NULL);
    cr_assert_eq(err, STRADS_EINVAL);
    cr_assert_str_eq(strads_error_text(), says);
}

Test(engine_static, a_plan_for_others_is_refused)
{
    strads_plan *plan = make(ROTATION, 3, 6);
    expect_refused(plan, 2, 6,
                   "the plan is for 3 partitions, the run has 2: give both "
                   "the same number");
    expect_refused(plan, 3, 5,
                   "the plan has 6 blocks, program static-toy makes 5: give a "
                   "plan for that many");
    strads_plan_free(plan);
}

Test(engine_static, the_blocks_that_are_preset_are_the_plans_or_two_each)
{
    const static_toy_config config = {0};
    strads_plan *plan = make(STAIRS, 3, 5);
    for (uint32_t given = 0; given < 2; given++) {
        strads_plan *twice = make(ROTATION, 3, 6);
        static_toy_end want;
        static_toy_walk(given ? plan : twice, &config, &want);
        strads_result *result = expect_run(static_toy(&config), &config,
                                           options_of(plan, given, 2, 0));
        expect_same(result, &want, "preset");
        strads_result_free(result);
        strads_plan_free(twice);
    }
    strads_plan_free(plan);
}
