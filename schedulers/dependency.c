/* Dependencies come from the engine, for pairs of parameters. A pair that
 * has not been probed is requested once, as part of two blocks. If the answer
 * still lacks it, the pair is assumed to be dependent: that is slow, but never
 * wrong.
 *
 * Two blocks are compared once. Their value is stored by their ids, in a hash
 * table with open addressing that is at most half full. Ids are never reused,
 * so pairs of dissolved blocks are never looked up. They stay until the table
 * is full at its largest size. Then the table is cleared, and blocks are
 * compared again on demand. */
#include "schedulers/dependency.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1 << 10, LAST_SIZE = 1 << 21 };

/* ---- the cache ---------------------------------------------------------- */

static uint64_t mix_bits(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* The place of the pair a < b, or the empty place for it. */
static sti_dependency_pair *find_pair(const sti_dependency *d, uint64_t a,
                                      uint64_t b)
{
    uint32_t mask = d->pairs_size - 1;
    uint32_t at = (uint32_t)mix_bits(mix_bits(a) + b) & mask;
    while (d->pair[at].b && (d->pair[at].a != a || d->pair[at].b != b))
        at = (at + 1) & mask;
    return &d->pair[at];
}

static strads_err reserve_pair(sti_dependency *d)
{
    if (d->n_pairs < d->pairs_size / 2)
        return STRADS_OK;
    if (d->pairs_size == LAST_SIZE) {
        memset(d->pair, 0, d->pairs_size * sizeof *d->pair);
        d->n_pairs = 0;
        return STRADS_OK;
    }
    sti_dependency_pair *old = d->pair;
    uint32_t old_size = d->pairs_size;
    uint32_t size = old_size ? 2 * old_size : FIRST_SIZE;
    sti_dependency_pair *pair = calloc(size, sizeof *pair);
    if (!pair)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to keep how %u pairs of blocks depend "
                           "on each other",
                           size / 2);
    d->pair = pair;
    d->pairs_size = size;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].b)
            *find_pair(d, old[i].a, old[i].b) = old[i];
    free(old);
    return STRADS_OK;
}

/* ---- probes ------------------------------------------------------------- */

void sti_dependency_begin(sti_dependency *d,
                          const strads_choice_request *request)
{
    d->request = request;
    d->missing = false;
}

void sti_dependency_discard_asked(sti_dependency *d)
{
    d->n_asked = 0;
}

void sti_dependency_close(sti_dependency *d)
{
    free(d->pair);
    free(d->asked);
}

static bool was_asked(const sti_dependency *d, uint64_t a, uint64_t b)
{
    for (uint32_t k = 0; k < d->n_asked; k++)
        if (d->asked[2 * (size_t)k] == a && d->asked[2 * (size_t)k + 1] == b)
            return true;
    return false;
}

static strads_err ask(sti_dependency *d, const strads_block *a,
                      const strads_block *b)
{
    if (d->n_asked == d->asked_size) {
        uint32_t size = d->asked_size ? 2 * d->asked_size : 32;
        uint64_t *asked = realloc(d->asked, 2 * sizeof *asked * size);
        if (!asked)
            return strads_fail(STRADS_ENOMEM, "no memory to ask for a probe");
        d->asked = asked;
        d->asked_size = size;
    }
    uint64_t *pair = d->asked + 2 * (size_t)d->n_asked;
    pair[0] = a->id;
    pair[1] = b->id;
    d->n_asked++;
    d->missing = true;
    d->ask = *a;
    d->about = *b;
    return STRADS_OK;
}

static double value_of(const sti_dependency *d, uint32_t i, uint32_t j)
{
    return d->request->dependency(d->request->engine, i, j);
}

/* True if a block's diagonal is known: pairs need it. */
static bool knows_diagonal(const sti_dependency *d, const strads_block *a)
{
    for (uint32_t k = 0; k < a->n; k++) {
        uint32_t i = strads_block_param(a, k);
        if (isnan(value_of(d, i, i)))
            return false;
    }
    return true;
}

/* Requests the missing pairs of two blocks, unless requested before. */
static strads_err ask_for(sti_dependency *d, const strads_block *a,
                          const strads_block *b)
{
    if (!was_asked(d, a->id, a->id) && !knows_diagonal(d, a))
        return ask(d, a, a);
    if (!was_asked(d, b->id, b->id) && !knows_diagonal(d, b))
        return ask(d, b, b);
    return was_asked(d, a->id, b->id) ? STRADS_OK : ask(d, a, b);
}

/* ---- comparisons -------------------------------------------------------- */

/* The strongest dependency between two blocks, or the first one found above
 * the threshold; NaN if none is above and a pair is unknown. */
static double compare_blocks(const sti_dependency *d, const strads_block *a,
                             const strads_block *b)
{
    double most = 0;
    bool unknown = false;
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++) {
            double value =
                value_of(d, strads_block_param(a, k), strads_block_param(b, l));
            unknown = unknown || isnan(value);
            most = value > most ? value : most;
            if (most > d->threshold)
                return most;
        }
    return unknown ? NAN : most;
}

strads_err sti_dependency_check(sti_dependency *d, const strads_block *a,
                                const strads_block *b, bool *depend)
{
    uint64_t low = a->id < b->id ? a->id : b->id;
    uint64_t high = a->id < b->id ? b->id : a->id;
    strads_err err = reserve_pair(d);
    if (err)
        return err;
    sti_dependency_pair *pair = find_pair(d, low, high);
    if (!pair->b) {
        double value = compare_blocks(d, a, b);
        if (isnan(value)) {
            *depend = true;
            return ask_for(d, a, b);
        }
        *pair = (sti_dependency_pair){.a = low, .b = high, .value = value};
        d->n_pairs++;
    }
    *depend = pair->value > d->threshold;
    return STRADS_OK;
}

strads_err sti_dependency_within(sti_dependency *d, const strads_block *pool,
                                 float *value)
{
    bool asked = was_asked(d, pool->id, pool->id);
    for (uint32_t k = 0; k < pool->n; k++)
        for (uint32_t l = 0; l <= k; l++) {
            double found = value_of(d, pool->param[k], pool->param[l]);
            if (isnan(found) && !asked)
                return ask(d, pool, pool);
            float known = isnan(found) ? 1.0f : (float)found;
            value[(size_t)k * pool->n + l] = known;
            value[(size_t)l * pool->n + k] = known;
        }
    return STRADS_OK;
}

strads_err sti_dependency_across(sti_dependency *d, const strads_block *pool,
                                 const strads_block *block, float *value)
{
    bool in_vain = false;
    for (uint32_t k = 0; k < pool->n; k++)
        for (uint32_t l = 0; l < block->n; l++) {
            double found =
                value_of(d, pool->param[k], strads_block_param(block, l));
            if (isnan(found) && !in_vain) {
                strads_err err = ask_for(d, pool, block);
                if (err || d->missing)
                    return err;
                in_vain = true;
            }
            float known = isnan(found) ? 1.0f : (float)found;
            value[k] = known > value[k] ? known : value[k];
        }
    return STRADS_OK;
}
