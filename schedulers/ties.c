/* Dependencies come from the engine, pair by pair. A pair that has not been
 * probed is asked for once, as one of two blocks; if the answer does not come
 * even then, the pair is taken to depend: that is slow, never wrong. Values
 * of pairs of blocks are cached until the engine's epoch changes. */
#include "schedulers/ties.h"

#include <math.h>
#include <stdlib.h>

void sti_ties_begin(sti_ties *t, const strads_choice_request *request)
{
    t->request = request;
    t->missing = false;
    if (t->epoch != request->epoch) {
        sti_tiecache_close(&t->cache);
        t->n_asked = 0;
        t->epoch = request->epoch;
    }
}

void sti_ties_forget_asked(sti_ties *t)
{
    t->n_asked = 0;
}

void sti_ties_close(sti_ties *t)
{
    sti_tiecache_close(&t->cache);
    free(t->asked);
}

static bool was_asked(const sti_ties *t, uint64_t a, uint64_t b)
{
    for (uint32_t k = 0; k < t->n_asked; k++)
        if (t->asked[2 * k] == a && t->asked[2 * k + 1] == b)
            return true;
    return false;
}

static strads_err ask(sti_ties *t, const strads_block *a, const strads_block *b)
{
    if (t->n_asked == t->asked_size) {
        uint32_t size = t->asked_size ? 2 * t->asked_size : 32;
        uint64_t *asked = realloc(t->asked, size * 2 * sizeof *asked);
        if (!asked)
            return strads_fail(STRADS_ENOMEM, "no memory to ask for a probe");
        t->asked = asked;
        t->asked_size = size;
    }
    t->asked[2 * t->n_asked] = a->id;
    t->asked[2 * t->n_asked + 1] = b->id;
    t->n_asked++;
    t->missing = true;
    t->ask = *a;
    t->about = *b;
    return STRADS_OK;
}

static double dependency(const sti_ties *t, uint32_t i, uint32_t j)
{
    return t->request->dependency(t->request->engine, i, j);
}

/* The strongest tie between two blocks, or the first found above the
 * threshold; NaN when there is none above and a pair is not known. */
static double compare(const sti_ties *t, const strads_block *a,
                      const strads_block *b)
{
    double most = 0;
    bool unknown = false;
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++) {
            double value = dependency(t, strads_block_param(a, k),
                                      strads_block_param(b, l));
            unknown = unknown || isnan(value);
            most = value > most ? value : most;
            if (most > t->threshold)
                return most;
        }
    return unknown ? NAN : most;
}

/* Whether a block's diagonal is known: no pair is without it. */
static bool knows_itself(const sti_ties *t, const strads_block *a)
{
    for (uint32_t k = 0; k < a->n; k++) {
        uint32_t i = strads_block_param(a, k);
        if (isnan(dependency(t, i, i)))
            return false;
    }
    return true;
}

/* Asks for what two blocks lack, unless it was asked for before. */
static strads_err ask_for(sti_ties *t, const strads_block *a,
                          const strads_block *b)
{
    if (!was_asked(t, a->id, a->id) && !knows_itself(t, a))
        return ask(t, a, a);
    if (!was_asked(t, b->id, b->id) && !knows_itself(t, b))
        return ask(t, b, b);
    return was_asked(t, a->id, b->id) ? STRADS_OK : ask(t, a, b);
}

strads_err sti_ties_depend(sti_ties *t, const strads_block *a,
                           const strads_block *b, bool *depend)
{
    double value = sti_tiecache_find(&t->cache, a->id, b->id);
    if (isnan(value)) {
        value = compare(t, a, b);
        if (isnan(value)) {
            *depend = true;
            return ask_for(t, a, b);
        }
        strads_err err = sti_tiecache_put(&t->cache, a->id, b->id, value);
        if (err)
            return err;
    }
    *depend = value > t->threshold;
    return STRADS_OK;
}

strads_err sti_ties_within(sti_ties *t, const strads_block *pool, float *tie)
{
    bool asked = was_asked(t, pool->id, pool->id);
    for (uint32_t k = 0; k < pool->n; k++) {
        for (uint32_t l = 0; l <= k; l++) {
            double value = dependency(t, pool->param[k], pool->param[l]);
            if (isnan(value) && !asked)
                return ask(t, pool, pool);
            float known = isnan(value) ? 1.0f : (float)value;
            tie[(size_t)k * pool->n + l] = known;
            tie[(size_t)l * pool->n + k] = known;
        }
    }
    return STRADS_OK;
}

strads_err sti_ties_across(sti_ties *t, const strads_block *pool,
                           const strads_block *block, float *tie)
{
    bool in_vain = false;
    for (uint32_t k = 0; k < pool->n; k++)
        for (uint32_t l = 0; l < block->n; l++) {
            double value =
                dependency(t, pool->param[k], strads_block_param(block, l));
            if (isnan(value) && !in_vain) {
                strads_err err = ask_for(t, pool, block);
                if (err || t->missing)
                    return err;
                in_vain = true;
            }
            float known = isnan(value) ? 1.0f : (float)value;
            tie[k] = known > tie[k] ? known : tie[k];
        }
    return STRADS_OK;
}
