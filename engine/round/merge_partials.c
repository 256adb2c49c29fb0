/* Totals are in front of a partial, blocks or records behind them. Only `into`
 * is written. */
#include "engine/round/merge_partials.h"

#include <string.h>

#include "engine/round/shared_totals.h"
#include "engine/round/slices.h"

static strads_err wrong_size(const sti_buffer *from, size_t due)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a partial of %zu bytes where %zu were due: "
                       "it runs another version or other options",
                       from->size, due);
}

static strads_err append_records(const sti_run *run, sti_buffer *into,
                                 const sti_buffer *from)
{
    const size_t totals = sti_totals_bytes(run);
    if (from->size < totals)
        return wrong_size(from, totals);
    sti_totals_merge(run, into, from);
    const size_t at = into->size, more = from->size - totals;
    strads_err err = sti_buffer_resize(into, at + more);
    if (!err && more)
        memcpy(into->bytes + at, from->bytes + totals, more);
    return err;
}

strads_err sti_merge_partials(const sti_run *run, const sti_dispatch *d,
                              sti_buffer *into, const sti_buffer *from)
{
    const strads_phase *phase = &run->phases[d->phase];
    if (sti_phase_keeps_records(phase))
        return append_records(run, into, from);
    if (from->size != into->size)
        return wrong_size(from, into->size);
    sti_totals_merge(run, into, from);
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        const size_t at = sti_totals_bytes(run) + d->partial_at[k];
        sti_phase_merge(phase, into->bytes + at, from->bytes + at,
                        sti_partial_bytes(run, d, k));
    }
    return STRADS_OK;
}

/* Other slices of the same partial may be on their way already. */
strads_err sti_merge_slice(const sti_run *run, const sti_dispatch *d,
                           uint32_t slice, sti_buffer *into,
                           const sti_buffer *from)
{
    const sti_slices slices = sti_slices_of(run, d);
    const size_t begin = sti_slices_begin(&slices, slice);
    const size_t size = sti_slices_begin(&slices, slice + 1) - begin;
    const size_t totals = begin == 0 ? slices.head : 0;
    if (from->size != size)
        return wrong_size(from, size);
    if (begin == 0)
        sti_totals_merge(run, into, from);
    sti_phase_merge(&run->phases[d->phase], into->bytes + begin + totals,
                    from->bytes + totals, size - totals);
    return STRADS_OK;
}

/* The first one is a worker's, who only lends it. */
strads_err sti_merge_heads(const sti_run *run, const sti_dispatch *d,
                           uint32_t n, sti_buffer *const *heads,
                           sti_buffer **out)
{
    sti_buffer *sum;
    strads_err err = sti_buffer_copy(heads[0], &sum);
    if (err)
        return err;
    if (sti_phase_keeps_records(&run->phases[d->phase]) &&
        sum->size < sti_totals_bytes(run))
        err = wrong_size(sum, sti_totals_bytes(run));
    for (uint32_t k = 1; k < n && !err; k++)
        err = sti_merge_partials(run, d, sum, heads[k]);
    if (err)
        sti_object_drop(sum);
    else
        *out = sum;
    return err;
}
