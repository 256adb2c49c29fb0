/* Numbers alone. Who holds sum(l, i) of a slice is found from above: level by
 * level a bit of the slice's number says left or right, where there is a
 * right. */
#include "engine/round/slices.h"

#include "engine/round/shared_totals.h"

static bool may_be_cut(const sti_run *run, const sti_dispatch *d)
{
    if (d->phase >= run->n_phases || run->partitions < STI_SLICES_FROM)
        return false;
    const strads_phase *phase = &run->phases[d->phase];
    return phase->to == STRADS_TO_ALL && (phase->merge == STRADS_MERGE_SUM ||
                                          phase->merge == STRADS_MERGE_MAX);
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
           2 * slices.n <= numbers / STI_SLICE_BYTES)
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

/* Bits of a slice's number. */
static uint32_t bits(const sti_slices *s)
{
    return (uint32_t)__builtin_ctz(s->n);
}

/* Whether the right half's holder gets the sum of two halves of level l. */
static bool goes_right(const sti_slices *s, uint32_t slice, uint32_t l)
{
    return (slice >> l % bits(s)) & 1;
}

/* Whether there is a node i of level l. */
static bool exists(const sti_slices *s, uint32_t l, uint64_t i)
{
    return i << l < s->partitions;
}

/* Who holds sum(l, i). */
static uint32_t holder(const sti_slices *s, uint32_t slice, uint32_t l,
                       uint64_t i)
{
    while (l-- > 0)
        i = 2 * i + (goes_right(s, slice, l) && exists(s, l, 2 * i + 1));
    return (uint32_t)i;
}

/* How often who holds node i of level l has taken another's half in. */
static uint32_t taken_in(const sti_slices *s, uint32_t partition, uint32_t l)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < l; k++)
        n += exists(s, k, ((uint64_t)partition >> k) ^ 1);
    return n;
}

sti_place sti_slices_place(const sti_slices *s, uint32_t slice,
                           uint32_t partition)
{
    if (s->n == 1) {
        const sti_tree tree = sti_tree_of_partials(s->partitions);
        return sti_tree_find(&tree, partition);
    }
    sti_place place = {.parent = partition};
    uint32_t l = 0;
    for (; (uint64_t)1 << l < s->partitions; l++) {
        const uint64_t other = ((uint64_t)partition >> l) ^ 1;
        if (!exists(s, l, other) ||
            goes_right(s, slice, l) == (partition >> l & 1))
            continue;
        place.parent = holder(s, slice, l, other);
        place.rank = taken_in(s, place.parent, l);
        break;
    }
    place.n_children = taken_in(s, partition, l);
    return place;
}

static uint32_t reverse(const sti_slices *s, uint32_t number)
{
    uint32_t reversed = 0;
    for (uint32_t b = 0; b < bits(s); b++)
        reversed = reversed << 1 | (number >> b & 1);
    return reversed;
}

/* Counted down in reverse order of bits, from all ones, a number's lowest bit
 * says whether partition and slice part at level 0, and so on. */
uint32_t sti_slices_turn(const sti_slices *s, uint32_t partition, uint32_t k)
{
    return (partition ^ ~reverse(s, k)) & (s->n - 1);
}

uint32_t sti_slices_when(const sti_slices *s, uint32_t partition,
                         uint32_t slice)
{
    return reverse(s, ~(partition ^ slice));
}
