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

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

strads_err sti_records_append(sti_buffer *buffer, uint32_t block,
                              size_t partial_bytes, uint32_t n_values,
                              sti_record *out)
{
    size_t at = buffer->size;
    size_t body = padded(partial_bytes) + sizeof(double) * n_values;
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
        .values = (double *)(void *)(partial + padded(partial_bytes)),
    };
    return STRADS_OK;
}

void sti_records_shrink(sti_buffer *buffer, const sti_record *last,
                        size_t partial_bytes)
{
    unsigned char *partial = (unsigned char *)last->partial;
    header h = {last->block, 0, partial_bytes};
    memcpy(partial - sizeof h, &h, sizeof h);
    buffer->size = (size_t)(partial - buffer->bytes) + padded(partial_bytes);
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
    if (h.partial_bytes > left || padded(h.partial_bytes) > left ||
        values > left - padded(h.partial_bytes))
        goto fail;
    unsigned char *partial = buffer->bytes + *at + sizeof h;
    *out = (sti_record){
        .block = h.block,
        .n_values = h.n_values,
        .partial_bytes = h.partial_bytes,
        .partial = (double *)(void *)partial,
        .values = (double *)(void *)(partial + padded(h.partial_bytes)),
    };
    *at += sizeof h + padded(h.partial_bytes) + values;
    return true;
fail:
    *err = strads_fail(STRADS_EPEER,
                       "a node sent records that end in the middle: it runs "
                       "another version or is broken");
    return false;
}

/* Shared totals. A partition's view is made anew for each dispatch, from the
 * committed totals and its own additions in their order: so it is the same
 * whatever came in between, and rounding does not pile up. */

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

static void add(double *restrict into, const double *restrict from, size_t n)
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

/* Adds the heads of two partials that have one. */
static void totals_merge(const sti_run *run, sti_buffer *into,
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

/* Totals are in front of a partial, blocks or records behind them. Only `into`
 * is written. */

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
    totals_merge(run, into, from);
    const size_t at = into->size, more = from->size - totals;
    strads_err err = sti_buffer_resize(into, at + more);
    if (!err && more)
        memcpy(into->bytes + at, from->bytes + totals, more);
    return err;
}

/* Numbers that are added up, totals and blocks alike. Other chunks of the same
 * partial may be on their way already. */
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
        return wrong_size(from, size);
    add((double *)(void *)(into->bytes + begin),
        (const double *)(const void *)from->bytes, size / sizeof(double));
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
        return wrong_size(from, into->size);
    totals_merge(run, into, from);
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        const size_t at = sti_totals_bytes(run) + d->partial_at[k];
        phase->merge_with(into->bytes + at, from->bytes + at,
                          sti_partial_bytes(run, d, k));
    }
    return STRADS_OK;
}

/* Versions of blocks. A table takes increments, so the coordinator remembers
 * each block's last words and commits the differences, which wrap around. */

enum { ROUND, SIZE, WORDS };

typedef struct kept {
    uint32_t n;     /* words, with those in front */
    uint64_t *word; /* [n] as the table has them */
} kept;

struct sti_versions {
    uint32_t table, blocks;
    kept block[];
};

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a block's version");
}

strads_err sti_versions_create(sti_run *run)
{
    if (!run->keep_versions || !run->program->payload)
        return STRADS_OK;
    uint32_t blocks = run->shape.blocks;
    run->versions = calloc(1, sizeof *run->versions + blocks * sizeof(kept));
    if (!run->versions)
        return no_memory();
    run->versions->blocks = blocks;
    const strads_table_spec spec = {
        .name = "block versions",
        .type = STRADS_I64,
        .rows = blocks,
        .cols = UINT32_C(1) << 30,
        .sparse = true,
    };
    return strads_store_create(run->store, &spec, &run->versions->table);
}

void sti_versions_free(sti_versions *v)
{
    for (uint32_t b = 0; v && b < v->blocks; b++)
        free(v->block[b].word);
    free(v);
}

/* ---- the holder -------------------------------------------------------- */

strads_err sti_versions_pack(const sti_ring_step *step, uint32_t n_blocks,
                             sti_buffer *records)
{
    if (!step->object || !step->payload)
        return STRADS_OK;
    sti_buffer *packed;
    strads_err err = sti_payload_pack(step, &packed);
    if (err)
        return err;
    sti_record record;
    err = sti_records_append(records, n_blocks + step->index, packed->size, 0,
                             &record);
    if (!err && packed->size)
        memcpy(record.partial, packed->bytes, packed->size);
    sti_object_drop(packed);
    return err;
}

/* ---- the coordinator --------------------------------------------------- */

/* Makes space for n words; those that are new are 0 in the table. */
static strads_err grow(kept *k, size_t n)
{
    if (n <= k->n)
        return STRADS_OK;
    uint64_t *more = realloc(k->word, sizeof *more * n);
    if (!more)
        return no_memory();
    memset(more + k->n, 0, sizeof *more * (n - k->n));
    k->word = more;
    k->n = (uint32_t)n;
    return STRADS_OK;
}

/* The words that a version has: n of them, 0 behind. */
static uint64_t word_of(const sti_record *record, uint64_t round, uint32_t at)
{
    if (at == ROUND)
        return round;
    if (at == SIZE)
        return record->partial_bytes;
    uint64_t word = 0;
    size_t from = (size_t)(at - WORDS) * sizeof word;
    if (from < record->partial_bytes) {
        size_t left = record->partial_bytes - from;
        memcpy(&word,
               (const unsigned char *)(const void *)record->partial + from,
               left < sizeof word ? left : sizeof word);
    }
    return word;
}

/* What differs from the version before goes to the table, in one commit. */
static strads_err commit_words(sti_run *run, uint32_t row, kept *k,
                               const sti_record *record, uint64_t round)
{
    uint32_t *col = malloc(sizeof *col * k->n);
    uint64_t *delta = malloc(sizeof *delta * k->n);
    uint32_t n = 0;
    strads_err err = col && delta ? STRADS_OK : no_memory();
    for (uint32_t at = 0; !err && at < k->n; at++) {
        uint64_t word = word_of(record, round, at);
        if (word == k->word[at])
            continue;
        col[n] = at;
        delta[n++] = word - k->word[at];
        k->word[at] = word;
    }
    if (!err && n)
        err = strads_store_inc_sparse(run->store, run->versions->table, row, n,
                                      col, delta, NULL);
    free(col);
    free(delta);
    return err;
}

strads_err sti_versions_commit(sti_run *run, const sti_dispatch *d,
                               const sti_record *record)
{
    sti_versions *v = run->versions;
    uint32_t place = record->block - d->n_blocks;
    if (!v || !d->versions || record->block < d->n_blocks ||
        place >= d->n_blocks || d->blocks[place].id >= v->blocks)
        return strads_fail(STRADS_EPEER,
                           "a node sent a block's version that nobody asked "
                           "for: it runs another version or is broken");
    uint32_t row = (uint32_t)d->blocks[place].id;
    size_t words = WORDS + (record->partial_bytes + 7) / 8;
    if (words > UINT32_C(1) << 30)
        return strads_fail(STRADS_ELIMIT,
                           "block %u packs into %llu bytes, more than a "
                           "version may have",
                           row, (unsigned long long)record->partial_bytes);
    strads_err err = grow(&v->block[row], words);
    return err ? err : commit_words(run, row, &v->block[row], record, d->round);
}

/* ---- reading ----------------------------------------------------------- */

static strads_err take_words(uint32_t n, const uint32_t *col,
                             const uint64_t *word, uint64_t *round,
                             sti_buffer **out)
{
    uint64_t size = 0;
    *round = 0;
    for (uint32_t k = 0; k < n && col[k] < WORDS; k++)
        *(col[k] == ROUND ? round : &size) = word[k];
    if (*round == 0)
        return strads_fail(STRADS_EINVAL, "this block has no version yet");
    strads_err err = sti_buffer_new((size + 7) & ~UINT64_C(7), out);
    if (err)
        return err;
    memset((*out)->bytes, 0, (*out)->size);
    for (uint32_t k = 0; k < n; k++) {
        size_t at = (size_t)(col[k] - WORDS) * sizeof *word;
        if (col[k] >= WORDS && at < (*out)->size)
            memcpy((*out)->bytes + at, &word[k], sizeof *word);
    }
    (*out)->size = size;
    return STRADS_OK;
}

strads_err sti_versions_read(const strads_store *store, uint32_t block,
                             uint64_t *round, sti_buffer **out)
{
    uint32_t table, n;
    const uint32_t *col;
    const void *word;
    strads_snapshot *snapshot = NULL;
    strads_err err = strads_store_find(store, "block versions", &table);
    if (!err)
        err = strads_store_snapshot(store, table, &snapshot);
    if (!err)
        err = strads_snapshot_row(snapshot, block, &n, &col, &word);
    if (!err)
        err = take_words(n, col, word, round, out);
    strads_snapshot_free(snapshot);
    return err;
}
