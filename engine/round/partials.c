/* Records in a buffer: a header of 16 bytes, the partial rounded up to 8, the
 * values. Every record starts at a multiple of 8. */
#include "engine/round/partials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/tree.h"

typedef struct header {
    uint32_t block;
    uint32_t n_values;
    uint64_t partial_bytes;
} header;

static size_t round_up_to_8(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

strads_err sti_records_append(sti_buffer *buffer, uint32_t block,
                              size_t partial_bytes, uint32_t n_values,
                              sti_record *out)
{
    size_t at = buffer->size;
    size_t body = round_up_to_8(partial_bytes) + sizeof(double) * n_values;
    strads_err err = sti_buffer_resize(buffer, at + sizeof(header) + body);
    if (err)
        return err;
    header h = {block, n_values, partial_bytes};
    memcpy(buffer->bytes + at, &h, sizeof h);
    unsigned char *partial = buffer->bytes + at + sizeof h;
    memset(partial, 0, body);
    *out = (sti_record){
        .block = block,
        .n_values = n_values,
        .partial_bytes = partial_bytes,
        .partial = (double *)(void *)partial,
        .values = (double *)(void *)(partial + round_up_to_8(partial_bytes)),
    };
    return STRADS_OK;
}

void sti_records_shrink(sti_buffer *buffer, const sti_record *last,
                        size_t partial_bytes)
{
    unsigned char *partial = (unsigned char *)last->partial;
    header h = {last->block, 0, partial_bytes};
    memcpy(partial - sizeof h, &h, sizeof h);
    buffer->size =
        (size_t)(partial - buffer->bytes) + round_up_to_8(partial_bytes);
}

bool sti_records_next(const sti_buffer *buffer, size_t *at, sti_record *out,
                      strads_err *err)
{
    *err = STRADS_OK;
    size_t left = buffer->size - *at;
    if (left == 0)
        return false;
    header h;
    if (left < sizeof h)
        goto fail;
    memcpy(&h, buffer->bytes + *at, sizeof h);
    left -= sizeof h;
    size_t values = sizeof(double) * h.n_values;
    if (h.partial_bytes > left || round_up_to_8(h.partial_bytes) > left ||
        values > left - round_up_to_8(h.partial_bytes))
        goto fail;
    unsigned char *partial = buffer->bytes + *at + sizeof h;
    *out = (sti_record){
        .block = h.block,
        .n_values = h.n_values,
        .partial_bytes = h.partial_bytes,
        .partial = (double *)(void *)partial,
        .values = (double *)(void *)(partial + round_up_to_8(h.partial_bytes)),
    };
    *at += sizeof h + round_up_to_8(h.partial_bytes) + values;
    return true;
fail:
    *err = strads_fail(STRADS_EPEER,
                       "a node sent records that end in the middle: it runs "
                       "another version or is broken");
    return false;
}

/* ---- shared totals: for each dispatch, a partition's view is computed from
 * the committed totals and its own additions in their order. So it does not
 * depend on what happened in between, and rounding errors do not accumulate. */

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

static double *additions_of(const sti_run *run, const sti_partition *part,
                            uint64_t seq)
{
    return part->added +
           (size_t)(seq % sti_run_window(run)) * run->shape.totals;
}

static void add_numbers_to(double *restrict into, const double *restrict from,
                           size_t n)
{
    for (size_t k = 0; k < n; k++)
        into[k] += from[k];
}

/* Until the dispatch ends, its entry of `added` holds the view at its start. */
void sti_totals_look(const sti_run *run, const sti_worker_job *job)
{
    const sti_dispatch *d = job->dispatch;
    sti_partition *part = &run->partition[job->partition];
    if (!part->total || !d->totals)
        return;
    memcpy(part->total, d->totals, sti_totals_bytes(run));
    for (uint64_t seq = d->settled; seq < d->seq; seq++)
        add_numbers_to(part->total, additions_of(run, part, seq),
                       run->shape.totals);
    memcpy(additions_of(run, part, d->seq), part->total, sti_totals_bytes(run));
}

void sti_totals_report(const sti_run *run, const sti_worker_job *job)
{
    const sti_partition *part = &run->partition[job->partition];
    if (!part->total || !job->dispatch->totals)
        return;
    double *added = additions_of(run, part, job->dispatch->seq);
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

/* Adds the heads of two partials. */
static void merge_totals(const sti_run *run, sti_buffer *into,
                         const sti_buffer *from)
{
    add_numbers_to((double *)(void *)into->bytes,
                   (const double *)(const void *)from->bytes,
                   run->shape.totals);
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

/* ---- merging: totals precede a partial's blocks or records; only `into` is
 * written */

static strads_err fail_size(const sti_buffer *from, size_t due)
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
        return fail_size(from, totals);
    merge_totals(run, into, from);
    const size_t at = into->size, more = from->size - totals;
    strads_err err = sti_buffer_resize(into, at + more);
    if (!err && more)
        memcpy(into->bytes + at, from->bytes + totals, more);
    return err;
}

/* Adds numbers, totals and blocks alike. Other chunks of the same partial may
 * have been sent already, so only this chunk is written. */
static strads_err add_numbers(const sti_run *run, const sti_dispatch *d,
                              uint32_t chunk, sti_buffer *into,
                              const sti_buffer *from)
{
    const sti_chunks chunks = sti_chunks_of(run, d);
    size_t begin = 0, size = into->size;
    if (chunks.n > 1) {
        begin = sti_chunks_begin(&chunks, chunk);
        size = sti_chunks_begin(&chunks, chunk + 1) - begin;
    }
    if (from->size != size)
        return fail_size(from, size);
    add_numbers_to((double *)(void *)(into->bytes + begin),
                   (const double *)(const void *)from->bytes,
                   size / sizeof(double));
    return STRADS_OK;
}

strads_err sti_merge(const sti_run *run, const sti_dispatch *d, uint32_t chunk,
                     sti_buffer *into, const sti_buffer *from)
{
    if (d->phase == STI_PHASE_PACK)
        return append_records(run, into, from);
    const strads_phase *phase = &run->phases[d->phase];
    if (sti_phase_keeps_records(phase))
        return append_records(run, into, from);
    if (phase->merge == STRADS_MERGE_SUM)
        return add_numbers(run, d, chunk, into, from);
    if (from->size != into->size)
        return fail_size(from, into->size);
    merge_totals(run, into, from);
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        const size_t at = sti_totals_bytes(run) + d->partial_at[k];
        phase->merge_with(into->bytes + at, from->bytes + at,
                          sti_partial_bytes(run, d, k));
    }
    return STRADS_OK;
}
