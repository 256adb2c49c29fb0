/* A shard in its journal: pushes behind a checkpoint, and how it comes back from
 * these (S2, S5).
 *
 * A checkpoint: the numbers of its head; the last number of each client; each
 * worker's clock; then the rows of each table, and of each snapshot of an exact
 * clock behind its table's. Rows are a head and values: the cells of a dense
 * table as they lie in memory, or of a sparse one the rows that hold columns, in
 * ascending order, each with its number, its count, its columns in the order of
 * their coming, and their cells. Everything starts at a multiple of 8, and is
 * held against what is there before anything is indexed by it. */
#include <stdlib.h>
#include <string.h>

#include "engine/store/shard_state.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tables go to the disk as they lie: strads needs a little-endian host"
#endif

enum { CHECKPOINT_VERSION = 2 };

typedef struct checkpoint_head {
    uint32_t version, shard, shards, clients, workers, tables;
} checkpoint_head;

typedef struct rows_head {
    uint32_t table, snapshots; /* its number; of the rows: how many follow */
    uint64_t clock;            /* of a snapshot; 0: the rows themselves */
    uint64_t lost;             /* of the rows: see sti_images */
    uint64_t rows, cols;
    uint32_t type, sparse;
    uint64_t version; /* of the table */
    uint64_t filled;  /* sparse: rows that hold columns */
} rows_head;

typedef struct sparse_head {
    uint32_t row, n;
} sparse_head;

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

/* ---- writing ----------------------------------------------------------- */

static strads_err put(sti_sink *sink, const void *bytes, size_t size)
{
    static const unsigned char zeros[8];
    strads_err err = size ? sink->put(sink, bytes, size) : STRADS_OK;
    const size_t rest = (size_t)padded(size) - size;
    return err || !rest ? err : sink->put(sink, zeros, rest);
}

static strads_err put_rows(sti_sink *sink, const sti_table *table,
                           rows_head head)
{
    head.rows = table->spec.rows;
    head.cols = table->spec.cols;
    head.type = (uint32_t)table->spec.type;
    head.sparse = table->sparse != NULL;
    head.version = atomic_load(&table->version);
    for (uint64_t r = 0; table->sparse && r < head.rows; r++)
        head.filled += table->sparse[r].n > 0;
    strads_err err = put(sink, &head, sizeof head);
    if (table->dense && !err)
        err = put(sink, table->dense, head.rows * table->row_bytes);
    for (uint64_t r = 0; table->sparse && !err && r < head.rows; r++) {
        const sti_sparse_row *row = &table->sparse[r];
        const sparse_head own = {.row = (uint32_t)r, .n = row->n};
        if (!row->n)
            continue;
        err = put(sink, &own, sizeof own);
        if (!err)
            err = put(sink, row->cols, row->n * sizeof *row->cols);
        if (!err)
            err = put(sink, row->values, row->n * table->cell);
    }
    return err;
}

static strads_err put_table(sti_sink *sink, const sti_shard *shard, uint32_t t)
{
    const sti_shard_table *table = &shard->tables[t];
    rows_head head = {.table = t, .lost = table->images.lost};
    for (uint32_t k = 0; k < STI_IMAGES_MAX; k++)
        head.snapshots += table->images.image[k].clock > 0;
    strads_err err = put_rows(sink, table->rows, head);
    for (uint32_t k = 0; !err && k < STI_IMAGES_MAX; k++)
        if (table->images.image[k].clock)
            err = put_rows(sink, table->images.image[k].table,
                           (rows_head){.table = t,
                                       .clock = table->images.image[k].clock});
    return err;
}

/* A sti_journal_state. */
static strads_err put_state(void *arg, sti_sink *sink)
{
    const sti_shard *shard = arg;
    const sti_shard_setup *setup = &shard->setup;
    const checkpoint_head head = {.version = CHECKPOINT_VERSION,
                                  .shard = setup->shard,
                                  .shards = setup->shards,
                                  .clients = setup->clients,
                                  .workers = setup->workers,
                                  .tables = setup->n_tables};
    strads_err err = put(sink, &head, sizeof head);
    for (uint32_t c = 0; !err && c < setup->clients; c++)
        err = put(sink, &shard->clients[c].applied, sizeof(uint64_t));
    for (uint32_t w = 0; !err && w < setup->workers; w++)
        err = put(sink, &shard->workers[w].clock, sizeof(uint64_t));
    for (uint32_t t = 0; !err && t < setup->n_tables; t++)
        err = put_table(sink, shard, t);
    return err;
}

strads_err sti_shard_shorten(sti_shard *shard)
{
    sti_journal *journal = shard->setup.journal;
    return sti_journal_is_long(journal)
               ? journal->ops->checkpoint(journal, put_state, shard)
               : STRADS_OK;
}

strads_err sti_shard_append(sti_shard *shard, const sti_taken_push *push)
{
    const sti_journal_record record = {.client = push->client,
                                       .worker = STI_NO_MARK,
                                       .number = push->number,
                                       .bytes = push->push->bytes,
                                       .size = push->push->size};
    sti_journal *journal = shard->setup.journal;
    return journal->ops->append(journal, &record, 1);
}

/* ---- coming back ------------------------------------------------------- */

static strads_err damaged(void)
{
    return strads_fail(STRADS_EFORMAT,
                       "the checkpoint of a shard is damaged: begin anew, or "
                       "put back a copy of the journal");
}

/* What has not been read yet. */
typedef struct rest {
    const unsigned char *at;
    uint64_t size;
} rest;

/* The next `size` bytes; NULL: there are fewer. */
static const void *take(rest *from, uint64_t size)
{
    const void *at = from->at;
    if (size > from->size || padded(size) > from->size)
        return NULL;
    from->at += padded(size);
    from->size -= padded(size);
    return at;
}

/* A row's columns, distinct and below the table's, and their cells. */
static strads_err take_sparse_row(rest *from, sti_table *table, uint64_t *next)
{
    const sparse_head *head = take(from, sizeof *head);
    const uint32_t *cols = head ? take(from, head->n * sizeof *cols) : NULL;
    const void *cells = cols ? take(from, head->n * table->cell) : NULL;
    if (!cells || head->row < *next || head->row >= table->spec.rows)
        return damaged();
    sti_sparse_row *row = &table->sparse[head->row];
    *next = (uint64_t)head->row + 1;
    for (uint32_t i = 0; i < head->n; i++) {
        uint32_t place = i;
        if (cols[i] >= table->spec.cols)
            return damaged();
        strads_err err = sti_sparse_row_place(row, cols[i], table->cell,
                                              table->budget, &place);
        if (err || place != i)
            return err ? err : damaged();
    }
    if (head->n)
        memcpy(row->values, cells, head->n * table->cell);
    return STRADS_OK;
}

/* Into a table that holds nothing yet. */
static strads_err take_rows(rest *from, const rows_head *head, sti_table *table)
{
    strads_err err = STRADS_OK;
    if (head->rows != table->spec.rows || head->cols != table->spec.cols ||
        head->type != (uint32_t)table->spec.type ||
        head->sparse != (table->sparse != NULL))
        return damaged();
    atomic_store(&table->version, head->version);
    if (table->dense) {
        const uint64_t bytes = head->rows * table->row_bytes;
        const void *cells = take(from, bytes);
        if (!cells)
            return damaged();
        memcpy(table->dense, cells, bytes);
        return STRADS_OK;
    }
    uint64_t next = 0;
    for (uint64_t k = 0; !err && k < head->filled; k++)
        err = take_sparse_row(from, table, &next);
    return err;
}

static strads_err take_table(rest *from, sti_shard *shard, uint32_t t)
{
    sti_shard_table *table = &shard->tables[t];
    const rows_head *head = take(from, sizeof *head);
    if (!head || head->table != t || head->clock ||
        head->snapshots > STI_IMAGES_MAX)
        return damaged();
    const uint32_t snapshots = head->snapshots;
    table->images.lost = head->lost;
    strads_err err = take_rows(from, head, table->rows);
    for (uint32_t k = 0; !err && k < snapshots; k++) {
        sti_image *image = &table->images.image[k];
        const strads_table_spec spec = table->rows->spec;
        head = take(from, sizeof *head);
        if (!head || head->table != t || !head->clock)
            return damaged();
        err = sti_table_open(&spec, &shard->store->budget, &image->table);
        if (err)
            return err;
        image->clock = head->clock;
        err = take_rows(from, head, image->table);
    }
    return err;
}

static strads_err take_checkpoint(void *arg, const void *bytes, uint64_t size)
{
    sti_shard *shard = arg;
    const sti_shard_setup *setup = &shard->setup;
    rest from = {.at = bytes, .size = size};
    const checkpoint_head *head = take(&from, sizeof *head);
    if (!head)
        return damaged();
    if (head->version != CHECKPOINT_VERSION || head->shard != setup->shard ||
        head->shards != setup->shards || head->clients != setup->clients ||
        head->workers != setup->workers || head->tables != setup->n_tables)
        return strads_fail(STRADS_EMISMATCH,
                           "the journal is of shard %u of %u, of a run of %u "
                           "nodes, %u workers and %u tables (version %u)",
                           (unsigned)head->shard, (unsigned)head->shards,
                           (unsigned)head->clients, (unsigned)head->workers,
                           (unsigned)head->tables, (unsigned)head->version);
    const uint64_t *applied = take(&from, 8 * (uint64_t)setup->clients);
    const uint64_t *clocks = take(&from, 8 * (uint64_t)setup->workers);
    if (!applied || !clocks)
        return damaged();
    for (uint32_t c = 0; c < setup->clients; c++)
        shard->clients[c].applied = applied[c];
    for (uint32_t w = 0; w < setup->workers; w++)
        shard->workers[w].clock = clocks[w];
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < setup->n_tables; t++)
        err = take_table(&from, shard, t);
    sti_shard_find_clock(shard);
    return err || from.size == 0 ? err : damaged();
}

static strads_err take_record(void *arg, const sti_journal_record *record)
{
    sti_shard *shard = arg;
    bool ignored = false;
    const sti_buffer push = {.size = record->size,
                             .bytes =
                                 (unsigned char *)(uintptr_t)record->bytes};
    if (record->client >= shard->setup.clients ||
        record->number != shard->clients[record->client].applied + 1)
        return damaged();
    strads_err err = sti_shard_check(shard, &push);
    return err ? err
               : sti_shard_apply(shard, record->client, record->number, &push,
                                 &ignored);
}

strads_err sti_shard_recover(sti_shard *shard)
{
    sti_journal *journal = shard->setup.journal;
    const sti_journal_reader reader = {.arg = shard,
                                       .checkpoint = take_checkpoint,
                                       .record = take_record};
    strads_err err = journal->ops->recover(journal, &reader);
    for (uint32_t c = 0; !err && c < shard->setup.clients; c++)
        shard->clients[c].accepted = shard->clients[c].applied;
    return err;
}
