/* Versions of blocks. A table takes increments, so the coordinator remembers
 * each block's last words and commits the differences, which wrap around. */
#include "engine/round/block_versions.h"

#include <stdlib.h>
#include <string.h>

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

strads_err sti_versions_pack(const sti_hop *hop, uint32_t n_blocks,
                             sti_buffer *records)
{
    if (!hop->object || !hop->payload)
        return STRADS_OK;
    sti_buffer *packed;
    strads_err err = sti_payload_pack(hop, &packed);
    if (err)
        return err;
    sti_record record;
    err = sti_records_append(records, n_blocks + hop->index, packed->size, 0,
                             &record);
    if (!err && packed->size)
        memcpy(record.partial, packed->bytes, packed->size);
    sti_object_drop(packed);
    return err;
}

/* ---- the coordinator --------------------------------------------------- */

/* Makes room for n words; those that are new are 0 in the table. */
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
