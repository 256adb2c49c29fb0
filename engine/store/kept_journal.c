/* What a shard keeps as bytes in its journal's checkpoint, and how it comes
 * back from that and the pushes after it (S5).
 *
 * A checkpoint: the numbers below, applied numbers, clocks, the tables' specs
 * as parts of a push, what is to be known of images of exact clocks, and all
 * rows as store_image.h writes them: the tables', then the images', as further
 * tables of the same store. */
#include <stdlib.h>
#include <string.h>

#include "engine/store/kept_inside.h"

typedef struct checkpoint_head {
    uint32_t shard, shards, streams, workers;
    uint32_t tables, images;
    uint64_t spec_bytes;
} checkpoint_head;

typedef struct image_note {
    uint64_t table, clock;
} image_note;

static strads_err put_specs(const sti_kept *kept, sti_buffer **out)
{
    strads_err err = sti_buffer_new(0, out);
    for (uint32_t t = 0; !err && t < kept->n_tables; t++)
        err = sti_push_append(*out,
                              &(sti_push_part){.kind = STI_PUSH_TABLE,
                                               .table = t,
                                               .spec = kept->table[t].spec});
    return err;
}

/* ---- images ------------------------------------------------------------ */

/* Those that are kept, in order, and how many; either may be NULL. */
static uint32_t list_images(const sti_kept *kept, image_note *notes,
                            sti_table **tables)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < kept->n_tables; t++)
        for (uint32_t k = 0; k < STI_IMAGES_MAX; k++) {
            const sti_image *image = &kept->table[t].images.image[k];
            if (!image->clock)
                continue;
            if (notes)
                notes[n] = (image_note){.table = t, .clock = image->clock};
            if (tables)
                tables[n] = image->table;
            n++;
        }
    return n;
}

static strads_err put_notes(const sti_kept *kept, uint32_t n, sti_sink *sink)
{
    image_note *notes = malloc(sizeof *notes * (n + (size_t)1));
    strads_err err =
        notes ? STRADS_OK
              : strads_fail(STRADS_ENOMEM, "no memory for a checkpoint");
    for (uint32_t t = 0; !err && t < kept->n_tables; t++)
        err = sink->put(sink, &kept->table[t].images.lost,
                        sizeof kept->table[t].images.lost);
    if (!err)
        (void)list_images(kept, notes, NULL);
    if (!err && n)
        err = sink->put(sink, notes, sizeof *notes * n);
    free(notes);
    return err;
}

static strads_err put_rows(const sti_kept *kept, uint32_t n, sti_sink *sink)
{
    uint32_t held = kept->store->n_tables;
    sti_table **tables = malloc(sizeof(sti_table *) * (held + n + (size_t)1));
    if (!tables)
        return strads_fail(STRADS_ENOMEM, "no memory for a checkpoint");
    memcpy(tables, kept->store->tables, sizeof(sti_table *) * held);
    (void)list_images(kept, NULL, tables + held);
    const strads_store all = {.tables = tables, .n_tables = held + n};
    strads_err err = sti_store_image_write(&all, sink);
    free(tables);
    return err;
}

strads_err sti_kept_state(void *arg, sti_sink *sink)
{
    const sti_kept *kept = arg;
    sti_buffer *specs = NULL;
    strads_err err = put_specs(kept, &specs);
    const checkpoint_head head = {.shard = kept->shard,
                                  .shards = kept->shards,
                                  .streams = kept->streams,
                                  .workers = kept->workers,
                                  .tables = kept->n_tables,
                                  .images = list_images(kept, NULL, NULL),
                                  .spec_bytes = specs ? specs->size : 0};
    if (!err)
        err = sink->put(sink, &head, sizeof head);
    if (!err)
        err = sink->put(sink, kept->applied,
                        sizeof *kept->applied * kept->streams);
    if (!err)
        err =
            sink->put(sink, kept->clocks, sizeof *kept->clocks * kept->workers);
    if (!err)
        err = sink->put(sink, specs->bytes, specs->size);
    if (!err)
        err = put_notes(kept, head.images, sink);
    if (!err)
        err = put_rows(kept, head.images, sink);
    sti_object_drop(specs);
    return err;
}

/* ---- coming back ------------------------------------------------------- */

static strads_err damaged(void)
{
    return strads_fail(STRADS_EFORMAT,
                       "the checkpoint of a shard is damaged: begin anew, or "
                       "put back a copy of the journal");
}

/* The part of a checkpoint behind its numbers, piece by piece. */
typedef struct checkpoint_rest {
    const unsigned char *at;
    uint64_t size;
} checkpoint_rest;

static const void *take(checkpoint_rest *rest, uint64_t size)
{
    const void *at = rest->at;
    if (size > rest->size || size % 8)
        return NULL;
    rest->at += size;
    rest->size -= size;
    return at;
}

/* The store's last tables are images: they become that again. */
static strads_err give_images(sti_kept *kept, uint32_t n,
                              const image_note *notes)
{
    strads_store *store = kept->store;
    uint32_t first = store->n_tables - n;
    for (uint32_t k = 0; k < n; k++) {
        uint64_t t = notes[k].table;
        sti_image *image = NULL;
        for (uint32_t i = 0; t < kept->n_tables && i < STI_IMAGES_MAX; i++)
            if (!kept->table[t].images.image[i].clock && !image)
                image = &kept->table[t].images.image[i];
        const sti_table *rows = image ? kept->table[t].rows : NULL;
        const sti_table *own = store->tables[first + k];
        if (!image || !notes[k].clock || own->spec.rows != rows->spec.rows ||
            own->spec.cols != rows->spec.cols ||
            own->spec.type != rows->spec.type ||
            own->spec.sparse != rows->spec.sparse)
            return damaged();
        *image = (sti_image){.clock = notes[k].clock,
                             .table = store->tables[first + k]};
        store->tables[first + k] = NULL;
    }
    store->n_tables = first;
    return STRADS_OK;
}

static strads_err adopt_tables(sti_kept *kept, const sti_buffer *specs,
                               uint32_t tables)
{
    sti_push_part part;
    strads_err err = STRADS_OK;
    for (size_t at = 0; !err && sti_push_next(specs, &at, &part, &err);)
        err = part.kind == STI_PUSH_TABLE && part.table == kept->n_tables &&
                      part.table < tables
                  ? sti_kept_adopt(kept, &part.spec)
                  : damaged();
    return err || kept->n_tables == tables ? err : damaged();
}

static strads_err read_tables(sti_kept *kept, const checkpoint_head *head,
                              checkpoint_rest *rest)
{
    uint64_t limit = kept->store->budget.limit;
    size_t used;
    const void *specs = take(rest, head->spec_bytes);
    const uint64_t *lost = take(rest, sizeof *lost * head->tables);
    const image_note *notes = take(rest, sizeof *notes * head->images);
    if (!specs || !lost || !notes)
        return damaged();
    const sti_buffer parts = {.size = head->spec_bytes,
                              .bytes = (unsigned char *)(uintptr_t)specs};
    sti_kept_drop_tables(kept);
    strads_err err = strads_store_open(limit, &kept->store);
    if (!err)
        err = sti_store_image_read(rest->at, rest->size, kept->store, &used);
    if (!err && kept->store->n_tables != (uint64_t)head->tables + head->images)
        err = damaged();
    if (!err)
        err = adopt_tables(kept, &parts, head->tables);
    for (uint32_t t = 0; !err && t < head->tables; t++)
        kept->table[t].images.lost = lost[t];
    return err ? err : give_images(kept, head->images, notes);
}

static strads_err take_checkpoint(void *arg, const void *bytes, uint64_t size)
{
    sti_kept *kept = arg;
    checkpoint_rest rest = {.at = bytes, .size = size};
    checkpoint_head head;
    const void *at = take(&rest, sizeof head);
    const void *applied = take(&rest, sizeof *kept->applied * kept->streams);
    const void *clocks = take(&rest, sizeof *kept->clocks * kept->workers);
    if (!at || !applied || !clocks)
        return damaged();
    memcpy(&head, at, sizeof head);
    if (head.shard != kept->shard || head.shards != kept->shards ||
        head.streams != kept->streams || head.workers != kept->workers)
        return strads_fail(STRADS_EMISMATCH,
                           "the journal is of shard %u of %u, of a run of %u "
                           "nodes and %u workers",
                           (unsigned)head.shard, (unsigned)head.shards,
                           (unsigned)head.streams, (unsigned)head.workers);
    memcpy(kept->applied, applied, sizeof *kept->applied * kept->streams);
    memcpy(kept->clocks, clocks, sizeof *kept->clocks * kept->workers);
    strads_err err = read_tables(kept, &head, &rest);
    if (err)
        return err;
    sti_kept_find_clock(kept);
    return STRADS_OK;
}

static strads_err take_record(void *arg, const sti_journal_record *record)
{
    sti_kept *kept = arg;
    bool ignored = false;
    const sti_buffer push = {.size = record->size,
                             .bytes =
                                 (unsigned char *)(uintptr_t)record->bytes};
    if (record->client >= kept->streams ||
        record->number != kept->applied[record->client] + 1)
        return damaged();
    strads_err err = sti_kept_check(kept, &push, &ignored);
    return err ? err
               : sti_kept_apply(kept, record->client, record->number, &push,
                                &ignored);
}

strads_err sti_kept_recover(sti_kept *kept, sti_journal *journal)
{
    const sti_journal_reader reader = {.arg = kept,
                                       .checkpoint = take_checkpoint,
                                       .record = take_record};
    return journal->ops->recover(journal, &reader);
}

strads_err sti_kept_append(sti_journal *journal, uint32_t stream,
                           uint64_t number, const sti_buffer *push)
{
    const sti_journal_record record = {.client = stream,
                                       .worker = STI_NO_MARK,
                                       .number = number,
                                       .bytes = push->bytes,
                                       .size = push->size};
    return journal->ops->append(journal, &record, 1);
}
