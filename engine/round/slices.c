/* Numbers alone. Who holds a stretch's sum of a slice is found from above:
 * level by level the slice's number says whose stretch of those below, of those
 * that there are. */
#include "engine/round/slices.h"

#include "engine/round/shared_totals.h"

enum {
    LEVELS_PAIRED = 4, /* up to so many levels partitions meet in pairs */
    LEVELS_WIDE = 3,   /* of more partitions than these join */
    BYTES_BY_ROOT = 128
};

static bool may_be_cut(const sti_run *run, const sti_dispatch *d)
{
    if (d->phase >= run->n_phases || run->partitions < STI_SLICES_FROM)
        return false;
    const strads_phase *phase = &run->phases[d->phase];
    return phase->to == STRADS_TO_ALL && (phase->merge == STRADS_MERGE_SUM ||
                                          phase->merge == STRADS_MERGE_MAX);
}

/* Whether n slices are not too many for so many bytes. Of many partitions what
 * is small goes whole, as a hop less takes it there; n is 8 from 8 KB on, 16
 * from 32 KB, 32 from 128 KB, 64 from 512 KB. */
static bool may_be_so_many(uint32_t partitions, uint32_t n, size_t bytes)
{
    if (partitions <= UINT32_C(1) << LEVELS_PAIRED)
        return n <= bytes / STI_SLICE_BYTES;
    return bytes >= STI_SLICE_BYTES / 2 &&
           (size_t)n * n <= bytes / BYTES_BY_ROOT;
}

sti_slices sti_slices_of(const sti_run *run, const sti_dispatch *d)
{
    sti_slices slices = {.n = 1, .partitions = run->partitions};
    if (!may_be_cut(run, d))
        return slices;
    const size_t numbers = d->partial_at[d->n_blocks];
    slices.head = sti_totals_bytes(run);
    slices.bytes = slices.head + numbers;
    while (2 * slices.n <= STI_SLICES_MAX && 2 * slices.n <= run->partitions &&
           may_be_so_many(run->partitions, 2 * slices.n, numbers))
        slices.n *= 2;
    return slices;
}

size_t sti_slices_begin(const sti_slices *s, uint32_t slice)
{
    if (slice == 0)
        return 0;
    if (slice >= s->n)
        return s->bytes;
    const size_t at = s->head + (s->bytes - s->head) / s->n * slice;
    return (at + STI_SLICE_ALIGN - 1) / STI_SLICE_ALIGN * STI_SLICE_ALIGN;
}

/* ---- places ------------------------------------------------------------ */

/* Level l + 1 joins 2^bits[l] stretches of level l, the lower levels more. */
typedef struct levels {
    uint32_t n;
    uint32_t bits[LEVELS_PAIRED];
} levels;

static levels levels_of(uint32_t partitions)
{
    uint32_t all = 0;
    while ((uint64_t)1 << all < partitions)
        all++;
    levels of = {.n = all <= LEVELS_PAIRED ? all : LEVELS_WIDE};
    for (uint32_t l = 0; l < of.n; l++) {
        of.bits[l] = (all + of.n - l - 1) / (of.n - l);
        all -= of.bits[l];
    }
    return of;
}

/* Bits of a slice's number. */
static uint32_t bits(const sti_slices *s)
{
    return (uint32_t)__builtin_ctz(s->n);
}

/* Stretches of one level, of which one comes to be. */
typedef struct group {
    uint32_t first, bits; /* of a partition's number: which stretch of these */
    uint32_t at;          /* that of the partition in question */
    uint32_t size;        /* those that exist */
} group;

static group group_of(const sti_slices *s, const levels *of, uint32_t level,
                      uint32_t partition)
{
    group g = {.bits = of->bits[level]};
    for (uint32_t l = 0; l < level; l++)
        g.first += of->bits[l];
    const uint64_t most = (uint64_t)1 << g.bits, stretch = partition >> g.first;
    const uint64_t begin = stretch & ~(most - 1);
    const uint64_t left = ((s->partitions - 1) >> g.first) + 1 - begin;
    g.at = (uint32_t)(stretch - begin);
    g.size = (uint32_t)(left < most ? left : most);
    return g;
}

/* The stretch whose holder takes the others' sums in: by the slice's number,
 * from the first bit that no level below has looked at. */
static uint32_t taker(const sti_slices *s, uint32_t slice, const group *g)
{
    const uint32_t past = g->first % bits(s);
    const uint32_t turned = slice >> past | slice << (bits(s) - past);
    return (turned & (s->n - 1)) % g->size;
}

/* Who holds the stretch of level `level` that begins at `begin`. */
static uint32_t holder(const sti_slices *s, const levels *of, uint32_t slice,
                       uint32_t level, uint32_t begin)
{
    while (level-- > 0) {
        const group g = group_of(s, of, level, begin);
        begin += taker(s, slice, &g) << g.first;
    }
    return begin;
}

/* How many others' sums a partition has taken in where it holds a stretch. */
static uint32_t taken_in(const sti_slices *s, const levels *of, uint32_t level,
                         uint32_t partition)
{
    uint32_t n = 0;
    for (uint32_t l = 0; l < level; l++)
        n += group_of(s, of, l, partition).size - 1;
    return n;
}

/* Behind its own sum a taker adds the next stretch's and so on, round to the
 * one before it. */
static sti_place place_of_slice(const sti_slices *s, uint32_t slice,
                                uint32_t partition)
{
    const levels of = levels_of(s->partitions);
    sti_place place = {.parent = partition};
    uint32_t l = 0;
    for (; l < of.n; l++) {
        const group g = group_of(s, &of, l, partition);
        const uint32_t to = taker(s, slice, &g);
        if (to == g.at)
            continue;
        const uint32_t begin = ((partition >> g.first) - g.at + to) << g.first;
        place.parent = holder(s, &of, slice, l, begin);
        place.rank = taken_in(s, &of, l, place.parent) +
                     (g.at + g.size - to) % g.size - 1;
        break;
    }
    place.n_children = taken_in(s, &of, l, partition);
    return place;
}

sti_place sti_slices_place(const sti_slices *s, uint32_t slice,
                           uint32_t partition)
{
    if (s->n > 1)
        return place_of_slice(s, slice, partition);
    return sti_tree_climb(s->partitions, partition);
}

uint32_t sti_slices_children_max(uint32_t partitions)
{
    const levels of = levels_of(partitions);
    uint32_t most = 0;
    for (uint32_t l = 0; l < of.n; l++)
        most += (UINT32_C(1) << of.bits[l]) - 1;
    return most;
}

static uint32_t reverse(const sti_slices *s, uint32_t number)
{
    uint32_t reversed = 0;
    for (uint32_t b = 0; b < bits(s); b++)
        reversed = reversed << 1 | (number >> b & 1);
    return reversed;
}

/* Counted down in reverse order of bits, from all ones, a number's lowest bits
 * say whether partition and slice part at level 0, and so on. */
uint32_t sti_slices_turn(const sti_slices *s, uint32_t partition, uint32_t k)
{
    return (partition ^ ~reverse(s, k)) & (s->n - 1);
}

uint32_t sti_slices_when(const sti_slices *s, uint32_t partition,
                         uint32_t slice)
{
    return reverse(s, ~(partition ^ slice));
}
