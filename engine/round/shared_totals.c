/* Shared totals. A partition's view is made anew for each dispatch, from the
 * committed totals and its own additions in their order: so it is the same
 * whatever came in between, and rounding does not pile up. */
#include "engine/round/shared_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a partition's view ------------------------------------------------ */

strads_err sti_totals_open(const sti_run *run, sti_partition *part)
{
    size_t n = run->shape.totals;
    if (n == 0)
        return STRADS_OK;
    part->total = calloc(n, sizeof *part->total);
    part->added = calloc(n * sti_run_window(run), sizeof *part->added);
    return part->total && part->added
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for %zu totals", n);
}

void sti_totals_close(sti_partition *part)
{
    free(part->total);
    free(part->added);
    part->total = part->added = NULL;
}

static double *added_in(const sti_run *run, const sti_partition *part,
                        uint64_t seq)
{
    return part->added +
           (size_t)(seq % sti_run_window(run)) * run->shape.totals;
}

static void add(double *into, const double *from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        into[k] += from[k];
}

/* Until the dispatch ends, its place among `added` keeps the view as it was. */
void sti_totals_look(const sti_run *run, const sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    sti_partition *part = &run->partition[job->partition];
    if (!part->total || !d->totals)
        return;
    memcpy(part->total, d->totals, sti_totals_bytes(run));
    for (uint64_t seq = d->settled; seq < d->seq; seq++)
        add(part->total, added_in(run, part, seq), run->shape.totals);
    memcpy(added_in(run, part, d->seq), part->total, sti_totals_bytes(run));
}

void sti_totals_tell(const sti_run *run, const sti_worker_job *job)
{
    const sti_partition *part = &run->partition[job->partition];
    if (!part->total || !job->dispatch->totals)
        return;
    double *added = added_in(run, part, job->dispatch->seq);
    for (uint32_t k = 0; k < run->shape.totals; k++)
        added[k] = part->total[k] - added[k];
    memcpy(job->partial->bytes, added, sti_totals_bytes(run));
}

strads_err sti_totals_begin_records(const sti_run *run, sti_buffer *partial)
{
    partial->size = 0;
    strads_err err = sti_buffer_resize(partial, sti_totals_bytes(run));
    if (!err && partial->size)
        memset(partial->bytes, 0, partial->size);
    return err;
}

void sti_totals_merge(const sti_run *run, sti_buffer *into,
                      const sti_buffer *from)
{
    add((double *)(void *)into->bytes,
        (const double *)(const void *)from->bytes, run->shape.totals);
}

/* ---- the table --------------------------------------------------------- */

strads_err sti_totals_create(sti_run *run)
{
    if (run->shape.totals == 0)
        return STRADS_OK;
    const strads_table_spec spec = {
        .name = "shared totals",
        .type = STRADS_F64,
        .rows = 1,
        .cols = run->shape.totals,
    };
    return strads_store_create(run->store, &spec, &run->totals);
}

const double *sti_totals_now(const sti_run *run)
{
    return run->shape.totals ? strads_store_dense(run->store, run->totals)
                             : NULL;
}

strads_err sti_totals_add(sti_run *run, const double *added)
{
    bool moves = false;
    for (uint32_t k = 0; k < run->shape.totals; k++) {
        if (!isfinite(added[k]))
            return strads_fail(STRADS_EPROGRAM,
                               "program %s changes shared total %u by %g: it "
                               "diverges",
                               run->program->name, k, added[k]);
        moves = moves || added[k] != 0;
    }
    return moves ? strads_store_inc(run->store, run->totals, 1, &(uint32_t){0},
                                    added, NULL)
                 : STRADS_OK;
}

strads_err sti_totals_commit(sti_run *run, const sti_buffer *partial)
{
    if (run->shape.totals == 0)
        return STRADS_OK;
    if (partial->size < sti_totals_bytes(run))
        return strads_fail(STRADS_EPEER,
                           "a node sent a result of %zu bytes without its "
                           "totals: it runs another version or is broken",
                           partial->size);
    return sti_totals_add(run, (const double *)(const void *)partial->bytes);
}
