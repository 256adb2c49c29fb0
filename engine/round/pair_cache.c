/* Slots, tiles, and facts about pairs of blocks by their ids. Tiles hold the
 * lower triangle: slot(i) >= slot(j) after a swap. NaN marks a pair that was
 * not probed. */
#include "engine/round/pair_cache.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = 64, ALIGN_FROM = TILE / 2 };

/* Cached facts about two blocks; for a block with itself also the square. */
typedef struct entry {
    uint64_t a, b;
    bool used;
    bool compared;
    double strongest; /* dependency, once compared */
    double *square;
} entry;

struct sti_pairs {
    uint64_t parameters;
    uint32_t *slot; /* [parameters] 1 + slot; 0: none */
    uint32_t n_slots;
    double **tile; /* lower triangle of tiles */
    size_t n_tiles;
    entry *entries; /* open addressing, a power of two */
    size_t n_entries, cap_entries;
    size_t held, limit; /* bytes in tiles and squares */
};

strads_err sti_pairs_new(uint64_t parameters, size_t limit, sti_pairs **out)
{
    sti_pairs *pairs = calloc(1, sizeof *pairs);
    if (!pairs)
        goto fail;
    pairs->parameters = parameters;
    pairs->limit = limit;
    pairs->slot = calloc(parameters ? parameters : 1, sizeof *pairs->slot);
    if (!pairs->slot)
        goto fail;
    *out = pairs;
    return STRADS_OK;
fail:
    sti_pairs_free(pairs);
    return strads_fail(STRADS_ENOMEM,
                       "no memory to cache pairs of %llu parameters",
                       (unsigned long long)parameters);
}

static void drop_values(sti_pairs *pairs)
{
    for (size_t t = 0; t < pairs->n_tiles; t++)
        free(pairs->tile[t]);
    for (size_t e = 0; e < pairs->cap_entries; e++)
        free(pairs->entries[e].square);
    free(pairs->tile);
    free(pairs->entries);
    pairs->tile = NULL;
    pairs->entries = NULL;
    pairs->n_tiles = pairs->n_entries = pairs->cap_entries = 0;
    pairs->n_slots = 0;
    pairs->held = 0;
}

void sti_pairs_free(sti_pairs *pairs)
{
    if (!pairs)
        return;
    drop_values(pairs);
    free(pairs->slot);
    free(pairs);
}

void sti_pairs_trim(sti_pairs *pairs)
{
    if (pairs->held <= pairs->limit)
        return;
    drop_values(pairs);
    memset(pairs->slot, 0, sizeof *pairs->slot * pairs->parameters);
}

/* ---- tiles ------------------------------------------------------------- */

static size_t tile_place(uint32_t high, uint32_t low)
{
    size_t t = high / TILE;
    return t * (t + 1) / 2 + low / TILE;
}

static double *value_at(const sti_pairs *pairs, uint32_t s, uint32_t t)
{
    uint32_t high = s > t ? s : t;
    uint32_t low = s > t ? t : s;
    size_t place = tile_place(high, low);
    double *tile = place < pairs->n_tiles ? pairs->tile[place] : NULL;
    return tile ? &tile[(high % TILE) * TILE + low % TILE] : NULL;
}

static bool make_tile(sti_pairs *pairs, uint32_t s, uint32_t t)
{
    size_t place = tile_place(s > t ? s : t, s > t ? t : s);
    if (place >= pairs->n_tiles) {
        size_t n = place + 1 + place / 2;
        double **tile = realloc(pairs->tile, sizeof *tile * n);
        if (!tile)
            return false;
        memset(tile + pairs->n_tiles, 0, sizeof *tile * (n - pairs->n_tiles));
        pairs->tile = tile;
        pairs->n_tiles = n;
    }
    if (pairs->tile[place])
        return true;
    double *fresh = malloc(sizeof *fresh * TILE * TILE);
    if (!fresh)
        return false;
    for (size_t k = 0; k < (size_t)TILE * TILE; k++)
        fresh[k] = NAN;
    pairs->tile[place] = fresh;
    pairs->held += sizeof *fresh * TILE * TILE;
    return true;
}

/* Assigns slots to a block's parameters. A large new block starts at a tile
 * boundary, so that it fills whole tiles. */
static void give_slots(sti_pairs *pairs, const strads_block *block)
{
    uint32_t fresh = 0;
    for (uint32_t k = 0; k < block->n; k++)
        fresh += pairs->slot[strads_block_param(block, k)] == 0;
    if (fresh >= ALIGN_FROM)
        pairs->n_slots = (pairs->n_slots + TILE - 1) / TILE * TILE;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t *slot = &pairs->slot[strads_block_param(block, k)];
        if (*slot == 0)
            *slot = ++pairs->n_slots;
    }
}

strads_err sti_pairs_put(sti_pairs *pairs, const strads_block *a,
                         const strads_block *b, const double *value)
{
    give_slots(pairs, a);
    give_slots(pairs, b);
    for (uint32_t k = 0; k < a->n; k++) {
        uint32_t s = pairs->slot[strads_block_param(a, k)] - 1;
        for (uint32_t l = 0; l < b->n; l++) {
            uint32_t t = pairs->slot[strads_block_param(b, l)] - 1;
            double *at = value_at(pairs, s, t);
            if (!at) {
                if (!make_tile(pairs, s, t))
                    return strads_fail(STRADS_ENOMEM,
                                       "no memory for the dependencies of a "
                                       "block; use smaller blocks");
                at = value_at(pairs, s, t);
            }
            *at = value[(size_t)k * b->n + l];
        }
    }
    return STRADS_OK;
}

double sti_pairs_get(const sti_pairs *pairs, uint32_t i, uint32_t j)
{
    uint32_t s = pairs->slot[i];
    uint32_t t = pairs->slot[j];
    if (!s || !t)
        return NAN;
    const double *at = value_at(pairs, s - 1, t - 1);
    return at ? *at : NAN;
}

double sti_pairs_dependency(const sti_pairs *pairs, uint32_t i, uint32_t j)
{
    double both = sti_pairs_get(pairs, i, j);
    double scale = sti_pairs_get(pairs, i, i) * sti_pairs_get(pairs, j, j);
    if (isnan(both) || isnan(scale))
        return NAN;
    if (!(scale > 0))
        return 0;
    double dependency = fabs(both) / sqrt(scale);
    return dependency < 1 ? dependency : 1;
}

/* ---- blocks by id ------------------------------------------------------ */

static size_t hash_pair(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^
                 (b + UINT64_C(0x7f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (size_t)(x ^ x >> 29);
}

static entry *find_entry(const entry *entries, size_t capacity, uint64_t a,
                         uint64_t b)
{
    size_t at = hash_pair(a, b) & (capacity - 1);
    while (entries[at].used && (entries[at].a != a || entries[at].b != b))
        at = (at + 1) & (capacity - 1);
    return (entry *)&entries[at];
}

static bool grow_entries(sti_pairs *pairs)
{
    size_t capacity = pairs->cap_entries ? 2 * pairs->cap_entries : 256;
    entry *entries = calloc(capacity, sizeof *entries);
    if (!entries)
        return false;
    for (size_t e = 0; e < pairs->cap_entries; e++) {
        const entry *old = &pairs->entries[e];
        if (old->used)
            *find_entry(entries, capacity, old->a, old->b) = *old;
    }
    free(pairs->entries);
    pairs->entries = entries;
    pairs->cap_entries = capacity;
    return true;
}

/* The entry of two ids, made if it is new; NULL without memory. */
static entry *entry_of(sti_pairs *pairs, uint64_t a, uint64_t b)
{
    if (2 * (pairs->n_entries + 1) > pairs->cap_entries && !grow_entries(pairs))
        return NULL;
    entry *e = find_entry(pairs->entries, pairs->cap_entries, a, b);
    if (!e->used) {
        *e = (entry){.a = a, .b = b, .used = true};
        pairs->n_entries++;
    }
    return e;
}

static bool is_known_pair(const sti_pairs *pairs, uint64_t a, uint64_t b)
{
    return pairs->cap_entries &&
           find_entry(pairs->entries, pairs->cap_entries, a, b)->used;
}

static bool are_all_known(const sti_pairs *pairs, const strads_block *a,
                          const strads_block *b)
{
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++)
            if (isnan(sti_pairs_get(pairs, strads_block_param(a, k),
                                    strads_block_param(b, l))))
                return false;
    return true;
}

bool sti_pairs_known(sti_pairs *pairs, const strads_block *a,
                     const strads_block *b)
{
    uint64_t low = a->id < b->id ? a->id : b->id;
    uint64_t high = a->id < b->id ? b->id : a->id;
    if (is_known_pair(pairs, low, high))
        return true;
    if (!are_all_known(pairs, a, b))
        return false;
    /* without memory, the next call compares again */
    (void)entry_of(pairs, low, high);
    return true;
}

static double compare_blocks(const sti_pairs *pairs, const strads_block *a,
                             const strads_block *b)
{
    double most = 0;
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++)
            most =
                fmax(most, sti_pairs_dependency(pairs, strads_block_param(a, k),
                                                strads_block_param(b, l)));
    return most;
}

double sti_pairs_strongest(sti_pairs *pairs, const strads_block *a,
                           const strads_block *b)
{
    uint64_t low = a->id < b->id ? a->id : b->id;
    uint64_t high = a->id < b->id ? b->id : a->id;
    entry *e = entry_of(pairs, low, high);
    if (!e)
        return compare_blocks(pairs, a, b);
    if (!e->compared)
        e->strongest = compare_blocks(pairs, a, b);
    e->compared = true;
    return e->strongest;
}

static double *gather_square(const sti_pairs *pairs, const strads_block *block)
{
    size_t n = block->n;
    double *square = malloc(sizeof *square * (n * n + 1));
    if (!square)
        return NULL;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t l = 0; l <= k; l++)
            square[k * n + l] = square[l * n + k] =
                sti_pairs_get(pairs, strads_block_param(block, k),
                              strads_block_param(block, l));
    return square;
}

const double *sti_pairs_square(sti_pairs *pairs, const strads_block *block)
{
    if (!sti_pairs_known(pairs, block, block))
        return NULL;
    entry *e = entry_of(pairs, block->id, block->id);
    if (!e)
        return NULL;
    if (!e->square) {
        e->square = gather_square(pairs, block);
        if (e->square)
            pairs->held += sizeof *e->square * block->n * block->n;
    }
    return e->square;
}
