/* What a shard keeps as bytes in its journal's checkpoint, and how it comes
 * back from that and the pushes after it (S5).
 *
 * A checkpoint: the numbers below, applied numbers, clocks, the tables' specs
 * as parts of a push, and the rows as store_image.h writes them. Images of
 * exact clocks are not in it: those under way when it was written are lost. */
#include <stdlib.h>
#include <string.h>

#include "engine/store/kept_inside.h"

typedef struct checkpoint_head {
    uint32_t shard, shards, streams, workers;
    uint64_t furthest;
    uint64_t spec_bytes;
} checkpoint_head;

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

strads_err sti_kept_state(void *arg, sti_sink *sink)
{
    const sti_kept *kept = arg;
    sti_buffer *specs = NULL;
    strads_err err = put_specs(kept, &specs);
    const checkpoint_head head = {.shard = kept->shard,
                                  .shards = kept->shards,
                                  .streams = kept->streams,
                                  .workers = kept->workers,
                                  .furthest = kept->furthest,
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
        err = sti_store_image_write(kept->store, sink);
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

/* The rows hold updates up to `furthest`, and no image of before is there. */
static void lose_images(sti_kept *kept)
{
    for (uint32_t t = 0; t < kept->n_tables; t++) {
        uint32_t every = kept->table[t].spec.snapshot_every;
        if (every)
            kept->table[t].lost = kept->furthest / every * every;
    }
}

static strads_err read_tables(sti_kept *kept, sti_buffer *specs,
                              const unsigned char *image, uint64_t size)
{
    uint64_t limit = kept->store->budget.limit;
    size_t used;
    sti_push_part part;
    sti_kept_drop_tables(kept);
    strads_err err = strads_store_open(limit, &kept->store);
    if (!err)
        err = sti_store_image_read(image, size, kept->store, &used);
    for (size_t at = 0; !err && sti_push_next(specs, &at, &part, &err);)
        err = part.kind == STI_PUSH_TABLE && part.table == kept->n_tables &&
                      part.table < kept->store->n_tables
                  ? sti_kept_adopt(kept, &part.spec)
                  : damaged();
    if (!err && kept->n_tables != kept->store->n_tables)
        err = damaged();
    return err;
}

static strads_err take_checkpoint(void *arg, const void *bytes, uint64_t size)
{
    sti_kept *kept = arg;
    checkpoint_head head;
    const unsigned char *at = bytes;
    uint64_t numbers =
        sizeof(uint64_t) * ((uint64_t)kept->streams + kept->workers);
    if (size < sizeof head + numbers)
        return damaged();
    memcpy(&head, at, sizeof head);
    if (head.shard != kept->shard || head.shards != kept->shards ||
        head.streams != kept->streams || head.workers != kept->workers)
        return strads_fail(STRADS_EMISMATCH,
                           "the journal is of shard %u of %u, of a run of %u "
                           "nodes and %u workers",
                           (unsigned)head.shard, (unsigned)head.shards,
                           (unsigned)head.streams, (unsigned)head.workers);
    size -= sizeof head + numbers;
    if (head.spec_bytes > size || head.spec_bytes % 8)
        return damaged();
    at += sizeof head;
    memcpy(kept->applied, at, sizeof *kept->applied * kept->streams);
    at += sizeof *kept->applied * kept->streams;
    memcpy(kept->clocks, at, sizeof *kept->clocks * kept->workers);
    at += sizeof *kept->clocks * kept->workers;
    sti_buffer specs = {.size = head.spec_bytes,
                        .bytes = (unsigned char *)(uintptr_t)at};
    strads_err err =
        read_tables(kept, &specs, at + head.spec_bytes, size - head.spec_bytes);
    if (err)
        return err;
    sti_kept_find_clock(kept);
    kept->furthest = head.furthest;
    lose_images(kept);
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
