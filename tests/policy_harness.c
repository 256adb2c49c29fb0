/* Checks the promises of strads/policy.h at every answer. */
#include "tests/policy_harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double told_dependency(const void *engine, uint32_t i, uint32_t j)
{
    const harness *h = engine;
    size_t n = h->setup.parameters;
    if (!h->probed[i * n + j] || !h->probed[i * n + i] || !h->probed[j * n + j])
        return NAN;
    return (double)h->setup.dependency[i * n + j];
}

static double true_dependency(const harness *h, uint32_t i, uint32_t j)
{
    size_t at = (size_t)i * h->setup.parameters + j;
    return h->setup.dependency ? (double)h->setup.dependency[at] : 0;
}

const char *harness_open(harness *h, const harness_setup *setup)
{
    memset(h, 0, sizeof *h);
    h->setup = *setup;
    harness_setup *s = &h->setup;
    s->policy = s->policy ? s->policy : "priority";
    s->threshold = s->threshold > 0 ? s->threshold : 0.1;
    s->work = s->work > 0 ? s->work : 8;
    s->block_max = s->block_max ? s->block_max : 16;
    s->want = s->want ? s->want : 1;
    size_t n = s->parameters;
    h->random = sti_random_stream(s->seed, 7, 0);
    h->weight = malloc(n * sizeof *h->weight);
    h->priority = malloc(n * sizeof *h->priority);
    h->probed = calloc(s->dependency ? n * n : 1, 1);
    h->flying = calloc(n, sizeof *h->flying);
    h->dispatched = calloc(n, sizeof *h->dispatched);
    for (size_t j = 0; j < n; j++) {
        h->weight[j] = s->weight ? s->weight[j] : 1;
        h->priority[j] = 1;
    }
    h->policy = strads_policy_find(s->policy);
    if (!h->policy)
        return "no such policy";
    strads_policy_setup open = {
        .parameters = n,
        .weight = h->weight,
        .block_max = s->block_max,
        .threshold = s->threshold,
        .probes = s->dependency != NULL,
        .seed = s->seed,
    };
    return h->policy->open(&open, &h->state) ? strads_error_text() : NULL;
}

harness harness_begin(harness_setup setup)
{
    harness h;
    must(harness_open(&h, &setup));
    return h;
}

void harness_close(harness *h)
{
    if (h->policy)
        h->policy->close(h->state);
    for (uint32_t k = 0; k < h->n_known; k++)
        free(h->known[k].param);
    free(h->known);
    free(h->in_flight);
    free(h->weight);
    free(h->priority);
    free(h->probed);
    free(h->flying);
    free(h->dispatched);
}

/* Compares a block with the copy made when its id was first seen. */
static const char *recognise(harness *h, const strads_block *block,
                             const harness_block **known)
{
    for (uint32_t k = 0; k < h->n_known; k++) {
        harness_block *old = &h->known[k];
        if (old->block.id != block->id)
            continue;
        if (old->block.n != block->n)
            return "a block's size changed under its id";
        for (uint32_t m = 0; m < block->n; m++)
            if (old->param[m] != strads_block_param(block, m))
                return "a block's members changed under its id";
        *known = old;
        return NULL;
    }
    if (h->n_known == h->known_size) {
        h->known_size = h->known_size ? 2 * h->known_size : 64;
        h->known = realloc(h->known, h->known_size * sizeof *h->known);
    }
    harness_block *fresh = &h->known[h->n_known++];
    fresh->param = malloc(block->n * sizeof *fresh->param);
    for (uint32_t m = 0; m < block->n; m++)
        fresh->param[m] = strads_block_param(block, m);
    fresh->block = *block;
    fresh->block.param = fresh->param;
    *known = fresh;
    return NULL;
}

static const char *check_block(const harness *h, const strads_block *block)
{
    if (block->id < STRADS_POLICY_BLOCK_IDS)
        return "a block's id is one of the program's";
    if (!block->n || block->n > h->setup.block_max)
        return "a block is empty or larger than block_max";
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t i = strads_block_param(block, k);
        if (i >= h->setup.parameters)
            return "a parameter that does not exist was chosen";
        if (h->flying[i])
            return "a parameter was chosen while it was in flight";
    }
    return NULL;
}

static const char *check_independence(const harness *h,
                                      const strads_block *block)
{
    for (uint32_t f = 0; f < h->n_in_flight; f++)
        for (uint32_t k = 0; k < block->n; k++)
            for (uint32_t l = 0; l < h->in_flight[f].n; l++)
                if (true_dependency(h, strads_block_param(block, k),
                                    strads_block_param(&h->in_flight[f], l)) >
                    h->setup.threshold)
                    return "two dependent parameters are in flight in "
                           "different blocks";
    return NULL;
}

static const char *launch(harness *h, const strads_block *block)
{
    const char *wrong = check_block(h, block);
    if (!wrong && !strcmp(h->setup.policy, "priority"))
        wrong = check_independence(h, block);
    const harness_block *known = NULL;
    if (!wrong)
        wrong = recognise(h, block, &known);
    if (wrong)
        return wrong;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t i = strads_block_param(block, k);
        if (h->flying[i]++)
            return "a parameter is in a block twice";
        h->dispatched[i]++;
        h->updates++;
    }
    if (h->n_in_flight == h->in_flight_size) {
        h->in_flight_size = h->in_flight_size ? 2 * h->in_flight_size : 16;
        h->in_flight =
            realloc(h->in_flight, h->in_flight_size * sizeof *h->in_flight);
    }
    h->in_flight[h->n_in_flight++] = known->block;
    h->blocks++;
    return NULL;
}

static const char *probe(harness *h, const strads_block *a,
                         const strads_block *b)
{
    size_t n = h->setup.parameters;
    bool fresh = false;
    if (!h->setup.dependency)
        return "a probe was asked for, but the program has none";
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++) {
            uint32_t i = strads_block_param(a, k);
            uint32_t j = strads_block_param(b, l);
            fresh = fresh || !h->probed[i * n + j];
            h->probed[i * n + j] = h->probed[j * n + i] = !h->setup.deaf;
        }
    h->probes++;
    return fresh ? NULL : "a probe was asked for whose values are all known";
}

static const char *check_rest(const harness *h)
{
    if (h->n_in_flight)
        return "the policy rests with blocks in flight";
    double sum = 0;
    for (uint32_t j = 0; j < h->setup.parameters; j++)
        sum += h->priority[j];
    if (!strcmp(h->setup.policy, "priority") &&
        sum > h->setup.rest * (1 + 1e-12))
        return "the policy rests though something moves";
    return NULL;
}

const char *harness_ask(harness *h)
{
    strads_choice_request request = {
        .want = h->setup.want,
        .work = h->setup.work,
        .draw = ++h->asked,
        .in_flight = h->in_flight,
        .n_in_flight = h->n_in_flight,
        .rest = h->setup.rest,
        .dependency = h->setup.dependency ? told_dependency : NULL,
        .engine = h,
    };
    if (h->policy->choose(h->state, &request, &h->last))
        return strads_error_text();
    const strads_choice *c = &h->last;
    switch (c->kind) {
    case STRADS_CHOOSE_BLOCKS:
        if (!c->n || c->n > h->setup.want)
            return "no blocks were chosen, or more than wanted";
        for (uint32_t k = 0; k < c->n; k++) {
            const char *wrong = launch(h, &c->blocks[k]);
            if (wrong)
                return wrong;
        }
        return NULL;
    case STRADS_CHOOSE_PROBE:
        return probe(h, &c->block, &c->against);
    case STRADS_CHOOSE_WAIT:
        h->waits++;
        return h->n_in_flight ? NULL : "the policy waits for nothing";
    case STRADS_CHOOSE_REST:
        h->rests++;
        return check_rest(h);
    }
    return "an answer of no known kind";
}

void harness_commit(harness *h, harness_next next)
{
    if (!h->n_in_flight)
        return;
    uint64_t at = sti_random_below(&h->random, h->n_in_flight);
    strads_block block = h->in_flight[at];
    h->in_flight[at] = h->in_flight[--h->n_in_flight];
    uint32_t param[4096];
    double priority[4096];
    for (uint32_t k = 0; k < block.n; k++) {
        uint32_t j = strads_block_param(&block, k);
        h->flying[j]--;
        h->priority[j] = next(h, j);
        param[k] = j;
        priority[k] = h->priority[j];
    }
    h->policy->prioritise(h->state, block.n, param, priority);
}

void harness_scan(harness *h, harness_next next)
{
    uint32_t n = h->setup.parameters;
    uint32_t *param = malloc(n * sizeof *param);
    for (uint32_t j = 0; j < n; j++) {
        param[j] = j;
        h->priority[j] = next(h, j);
    }
    h->policy->prioritise(h->state, n, param, h->priority);
    free(param);
}

const char *harness_play(harness *h, uint64_t steps, harness_next next)
{
    uint32_t most = (h->setup.depth + 1) * h->setup.want;
    while (steps-- > 0) {
        const char *wrong = harness_ask(h);
        if (wrong || h->last.kind == STRADS_CHOOSE_REST)
            return wrong;
        bool full = h->n_in_flight + h->setup.want > most ||
                    h->last.kind == STRADS_CHOOSE_WAIT;
        bool luck = sti_random_below(&h->random, 3) == 0;
        if (full || luck)
            harness_commit(h, next);
        while (h->n_in_flight + h->setup.want > most)
            harness_commit(h, next);
    }
    return NULL;
}

/* ---- inputs -------------------------------------------------------------- */

float *harness_dependency(uint32_t n, double dense, uint64_t seed)
{
    float *d = malloc((size_t)n * n * sizeof *d);
    sti_random r = sti_random_stream(seed, 1, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double u = sti_random_unit(&r);
            double v = sti_random_unit(&r);
            float value = (float)(u < dense ? 0.1 + 0.9 * v : 0.09 * v);
            d[i * n + j] = d[j * n + i] = i == j ? 1 : value;
        }
    return d;
}

float *harness_weights(uint32_t n, uint64_t seed)
{
    float *w = malloc(n * sizeof *w);
    sti_random r = sti_random_stream(seed, 2, 0);
    for (uint32_t j = 0; j < n; j++)
        w[j] = (float)floor(pow(sti_random_unit(&r), -0.5));
    return w;
}

double harness_decays(harness *h, uint32_t j)
{
    double p = h->priority[j] * sti_random_unit(&h->random) * 0.9;
    return p < 1e-6 ? 0 : p;
}

double harness_keeps(harness *h, uint32_t j)
{
    return h->priority[j];
}

double harness_one_moves(harness *h, uint32_t j)
{
    (void)h;
    return j == 7 ? 1 : 0;
}
