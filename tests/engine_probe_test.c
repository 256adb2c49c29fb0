/* PROBE values: the pairs that aggregates and policies receive must be the
 * Gram entries of the toy matrix. Its entries are small integers, so sums are
 * exact. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"

enum {
    ROWS = 23,
    COLS = 17,
    SIZE = 3,
    ROUNDS = 60,
    PER_REST = 7,
    PARTITIONS = 5
};

static double gram(uint32_t i, uint32_t j)
{
    double sum = 0;
    for (uint64_t r = 0; r < ROWS; r++)
        sum += toy_entry(r, i) * toy_entry(r, j);
    return sum;
}

static double dependency_of(uint32_t i, uint32_t j)
{
    double scale = gram(i, i) * gram(j, j);
    return scale > 0 ? fmin(fabs(gram(i, j)) / sqrt(scale), 1) : 0;
}

/* ---- a policy that compares probed pairs --------------------------------- */

typedef struct gram_policy {
    uint64_t next_id;
    uint32_t until_rest;
    bool compared; /* the blocks below were probed at its request */
    uint32_t param[2 * SIZE];
    strads_block block[2];
} gram_policy;

/* Number of known pairs that were compared. */
static atomic_uint compared;

static strads_err gram_open(const strads_policy_setup *setup, void **state)
{
    TOY_CHECK(setup->probes);
    TOY_CHECK(setup->parameters == COLS);
    gram_policy *p = calloc(1, sizeof *p);
    if (!p)
        return strads_fail(STRADS_ENOMEM, "no memory");
    p->next_id = STRADS_POLICY_BLOCK_IDS;
    *state = p;
    return STRADS_OK;
}

static void no_priorities(void *state, uint32_t n, const uint32_t *param,
                          const double *priority)
{
    (void)state, (void)n, (void)param, (void)priority;
}

static bool flies(const strads_choice_request *r, uint32_t param)
{
    for (uint32_t k = 0; k < r->n_in_flight; k++)
        for (uint32_t l = 0; l < r->in_flight[k].n; l++)
            if (strads_block_param(&r->in_flight[k], l) == param)
                return true;
    return false;
}

/* Draws up to two blocks of parameters that are not in flight. */
static void draw_blocks(gram_policy *p, const strads_choice_request *r)
{
    uint32_t n = 0;
    uint64_t first = strads_random_bits(1, 2, r->draw, 0);
    for (uint32_t k = 0; k < COLS && n < 2 * SIZE; k++) {
        uint32_t j = (uint32_t)((first + 5 * k) % COLS);
        if (!flies(r, j))
            p->param[n++] = j;
    }
    for (uint32_t b = 0; b < 2; b++)
        p->block[b] = (strads_block){.id = p->next_id++,
                                     .n = n >= (b + 1) * SIZE ? SIZE : 0,
                                     .param = p->param + b * SIZE};
}

static strads_err compare(const strads_choice_request *r, const strads_block *a,
                          const strads_block *b, bool known)
{
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++) {
            uint32_t i = strads_block_param(a, k), j = strads_block_param(b, l);
            double got = r->dependency(r->engine, i, j);
            TOY_CHECK(!known || !isnan(got));
            if (isnan(got))
                continue;
            TOY_CHECK(fabs(got - dependency_of(i, j)) < 1e-12);
            atomic_fetch_add(&compared, 1);
        }
    return STRADS_OK;
}

static strads_err gram_choose(void *state, const strads_choice_request *r,
                              strads_choice *choice)
{
    gram_policy *p = state;
    *choice = (strads_choice){.kind = STRADS_CHOOSE_PROBE};
    strads_err err = STRADS_OK;
    if (p->compared) {
        p->compared = false;
        err = compare(r, &p->block[0], &p->block[0], true);
        choice->kind = STRADS_CHOOSE_BLOCKS;
        choice->blocks = p->block;
        choice->n = p->block[1].n && r->want > 1 ? 2 : 1;
        return err;
    }
    if (++p->until_rest > PER_REST) {
        p->until_rest = 0;
        choice->kind = STRADS_CHOOSE_REST;
        return STRADS_OK;
    }
    draw_blocks(p, r);
    if (p->block[0].n == 0) {
        choice->kind = STRADS_CHOOSE_WAIT;
        return STRADS_OK;
    }
    p->compared = true;
    choice->block = choice->against = p->block[0];
    return compare(r, &p->block[0], &p->block[1], false);
}

static const strads_policy gram_policy_plugin = {
    .size = sizeof(strads_policy),
    .name = "gram",
    .open = gram_open,
    .close = free,
    .prioritise = no_priorities,
    .choose = gram_choose,
};

/* ---- the program ------------------------------------------------------- */

enum { PAIRS, SOLVE, N_PHASES };

typedef struct gram_state {
    uint32_t solved, since; /* commits, and commits with others since the
                             * dispatch */
} gram_state;

TOY_BEGIN(gram_begin, sizeof(gram_state))

static strads_err probe(strads_task *task)
{
    uint32_t m = task->against.n;
    TOY_CHECK(task->value == NULL);
    TOY_CHECK(task->partial_bytes == task->block.n * m * sizeof(double));
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < m; l++)
            task->partial[k * m + l] =
                toy_column_product(&task->share->by_col,
                                   strads_block_param(&task->block, k),
                                   strads_block_param(&task->against, l));
    return STRADS_OK;
}

static strads_err count_one(strads_task *task)
{
    task->partial[0] = 1;
    return STRADS_OK;
}

static strads_err check_since(const strads_commit *commit)
{
    for (uint32_t s = 0; s < commit->n_since; s++)
        for (uint32_t l = 0; l < commit->since[s].n; l++)
            for (uint32_t k = 0; k < commit->block.n; k++) {
                uint32_t i = strads_block_param(&commit->block, k);
                uint32_t j = commit->since[s].param[l];
                TOY_CHECK(strads_commit_pair(commit, i, j) == gram(i, j));
            }
    return STRADS_OK;
}

static strads_err check_pairs(strads_commit *commit)
{
    gram_state *s = commit->state;
    uint32_t n = commit->block.n;
    TOY_CHECK(commit->partial[0] == PARTITIONS);
    const double *pairs = strads_commit_pairs(commit);
    TOY_CHECK(pairs != NULL);
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t l = 0; l < n; l++)
            TOY_CHECK(pairs[k * n + l] ==
                      gram(strads_block_param(&commit->block, k),
                           strads_block_param(&commit->block, l)));
    TOY_CHECK(isnan(strads_commit_pair(commit, COLS, 0)));
    for (uint32_t k = 0; k < n; k++)
        commit->change[k] = 1;
    s->solved++;
    s->since += commit->n_since > 0;
    return check_since(commit);
}

static const strads_phase gram_phases[N_PHASES] = {
    [PAIRS] = {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = probe},
    [SOLVE] = {.name = "solve",
               .partial = toy_one_number,
               .update = count_one,
               .aggregate = check_pairs},
};

static const strads_program gram_program = {.size = sizeof(strads_program),
                                            .name = "gram",
                                            .begin = gram_begin,
                                            .end = free,
                                            .phases = gram_phases,
                                            .n_phases = N_PHASES};

static void run(const strads_policy *policy, uint32_t depth, uint32_t workers,
                uint32_t blocks, bool deterministic)
{
    strads_result *result = NULL;
    strads_err err =
        toy_run_it(&(toy_run){.program = &gram_program,
                              .rows = ROWS,
                              .cols = COLS,
                              .options = {.workers = workers,
                                          .partitions = PARTITIONS,
                                          .policy_plugin = policy,
                                          .depth = depth,
                                          .blocks = blocks,
                                          .deterministic = deterministic,
                                          .max_rounds = ROUNDS * 2}},
                   &result);
    cr_assert_eq(err, STRADS_OK, "depth %u, W %u, %u blocks: %s", depth,
                 workers, blocks, strads_error_text());
    const gram_state *s = strads_result_state(result);
    cr_assert_gt(s->solved, 5);
    if (depth == 0 && blocks == 1)
        cr_assert_eq(s->since, 0);
    cr_assert_gt(strads_result_progress(result)->probes, 0);
    strads_result_free(result);
}

Test(engine_probe, aggregates_and_policies_receive_merged_pairs)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t blocks = 1; blocks <= 2; blocks++)
                run(&gram_policy_plugin, depth, workers, blocks,
                    depth % 2 == 0);
    cr_assert_gt(atomic_load(&compared), 0);
}

Test(engine_probe, the_built_in_policies_give_blocks_whose_pairs_are_known)
{
    for (const strads_policy *const *p = strads_policies(); *p; p++)
        for (uint32_t depth = 0; depth <= 4; depth += 2)
            run(*p, depth, 2, 1 + depth / 4, true);
}

Test(engine_probe, between_nodes_pairs_are_merged_alike)
{
    toy_simulate_from_now_on();
    for (uint32_t depth = 0; depth <= 4; depth++)
        run(&gram_policy_plugin, depth, 4, 2, depth % 2 == 0);
}
