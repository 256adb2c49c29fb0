/* A journal whose files are two buffers. Invariants as in engine/store/journal.c;
 * that appends and checkpoints are whole or not there is easier here: a file
 * grows, or is replaced, after all that can fail. */
#include "tests/swarm/journal_memory.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/object.h"
#include "engine/store/journal_format.h"

struct sti_memory_disk {
    sti_buffer *log;        /* NULL: not there */
    sti_buffer *checkpoint; /* NULL: none yet */
    uint64_t synced;        /* bytes of the log that are durable */
    uint64_t limit;
    bool open;
};

typedef struct memory_journal {
    sti_journal journal;
    sti_journal_options options;
    sti_memory_disk *disk;
    char *name;
    sti_journal_stand stand;
    bool recovered;
} memory_journal;

/* ---- the disk ---------------------------------------------------------- */

strads_err sti_memory_disk_new(sti_memory_disk **out)
{
    sti_memory_disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return strads_fail(STRADS_ENOMEM, "no memory for a journal");
    disk->limit = UINT64_MAX;
    *out = disk;
    return STRADS_OK;
}

void sti_memory_disk_free(sti_memory_disk *disk)
{
    if (!disk)
        return;
    sti_object_drop(disk->log);
    sti_object_drop(disk->checkpoint);
    free(disk);
}

void sti_memory_disk_limit(sti_memory_disk *disk, uint64_t bytes)
{
    disk->limit = bytes;
}

static uint64_t size_of(const sti_buffer *file)
{
    return file ? file->size : 0;
}

uint64_t sti_memory_disk_unsynced(const sti_memory_disk *disk)
{
    return size_of(disk->log) - disk->synced;
}

void sti_memory_disk_lose(sti_memory_disk *disk, uint64_t keep)
{
    if (keep < sti_memory_disk_unsynced(disk))
        disk->log->size = disk->synced + keep;
    disk->synced = size_of(disk->log);
}

void sti_memory_disk_forget(sti_memory_disk *disk, uint64_t keep)
{
    uint64_t least = keep > STI_JOURNAL_HEAD ? keep : STI_JOURNAL_HEAD;
    if (size_of(disk->log) > least)
        disk->log->size = least;
    disk->synced = size_of(disk->log);
}

static unsigned char *bytes_of(sti_buffer *file, uint64_t *size)
{
    *size = size_of(file);
    return file ? file->bytes : NULL;
}

unsigned char *sti_memory_disk_log(sti_memory_disk *disk, uint64_t *size)
{
    return bytes_of(disk->log, size);
}

unsigned char *sti_memory_disk_checkpoint(sti_memory_disk *disk, uint64_t *size)
{
    return bytes_of(disk->checkpoint, size);
}

static strads_err check_room(const memory_journal *j, uint64_t used,
                             uint64_t more)
{
    if (used <= j->disk->limit && more <= j->disk->limit - used)
        return STRADS_OK;
    return strads_fail(STRADS_EIO,
                       "%s: cannot be written: no space left; nothing of it "
                       "was taken: make room on the disk",
                       j->name);
}

/* ---- appending --------------------------------------------------------- */

static strads_err check_ready(const memory_journal *j)
{
    if (j->recovered)
        return STRADS_OK;
    return strads_fail(STRADS_ESTATE,
                       "%s: is to be recovered before it is written to",
                       j->name);
}

static void put_record(memory_journal *j, const sti_journal_record *record)
{
    sti_buffer *log = j->disk->log;
    const sti_journal_place place = {.generation = j->stand.generation,
                                     .at = log->size,
                                     .durable = j->disk->synced};
    uint64_t size = sti_journal_record_bytes(record);
    unsigned char *to = log->bytes + log->size;
    memset(to, 0, size);
    sti_journal_record_encode(record, &place, to);
    if (record->size)
        memcpy(to + STI_JOURNAL_HEAD, record->bytes, record->size);
    log->size += size;
}

static strads_err append(sti_journal *journal,
                         const sti_journal_record *records, size_t n)
{
    memory_journal *j = (memory_journal *)journal;
    sti_buffer *log = j->disk->log;
    uint64_t more = 0;
    strads_err err = check_ready(j);
    if (err)
        return err;
    for (size_t k = 0; k < n; k++)
        more += sti_journal_record_bytes(&records[k]);
    size_t before = log->size;
    err = check_room(j, before + size_of(j->disk->checkpoint), more);
    if (!err)
        err = sti_buffer_resize(log, before + more);
    if (err)
        return err;
    log->size = before;
    for (size_t k = 0; k < n; k++)
        put_record(j, &records[k]);
    journal->log_bytes = log->size - STI_JOURNAL_HEAD;
    return STRADS_OK;
}

static strads_err sync_log(sti_journal *journal)
{
    memory_journal *j = (memory_journal *)journal;
    strads_err err = check_ready(j);
    if (!err)
        j->disk->synced = j->disk->log->size;
    return err;
}

/* ---- checkpoints ------------------------------------------------------- */

static strads_err new_log(const memory_journal *j, uint64_t generation,
                          sti_buffer **out)
{
    const sti_journal_head head = {.run = j->options.run,
                                   .shard = j->options.shard,
                                   .generation = generation};
    strads_err err = sti_buffer_new(STI_JOURNAL_HEAD, out);
    if (!err)
        sti_journal_head_encode(STI_JOURNAL_LOG, &head, (*out)->bytes);
    return err;
}

static void start_log(memory_journal *j, sti_buffer *log)
{
    sti_object_drop(j->disk->log);
    j->disk->log = log;
    j->disk->synced = log->size;
    j->journal.log_bytes = 0;
}

typedef struct buffer_sink {
    sti_sink sink;
    const memory_journal *journal;
    sti_buffer *to;
} buffer_sink;

static strads_err put_bytes(sti_sink *sink, const void *bytes, size_t size)
{
    buffer_sink *s = (buffer_sink *)sink;
    const sti_memory_disk *disk = s->journal->disk;
    size_t before = s->to->size;
    uint64_t used = before + size_of(disk->log) + size_of(disk->checkpoint);
    strads_err err = check_room(s->journal, used, size);
    if (!err)
        err = sti_buffer_resize(s->to, before + size);
    if (!err && size)
        memcpy(s->to->bytes + before, bytes, size);
    return err;
}

static strads_err checkpoint(sti_journal *journal, sti_journal_state *state,
                             void *arg)
{
    memory_journal *j = (memory_journal *)journal;
    sti_journal_head head = {.run = j->options.run,
                             .shard = j->options.shard,
                             .generation = j->stand.generation + 1};
    sti_buffer *log = NULL;
    buffer_sink to = {.sink.put = put_bytes, .journal = j};
    strads_err err = check_ready(j);
    if (!err)
        err = new_log(j, head.generation, &log);
    if (!err)
        err = sti_buffer_new(STI_JOURNAL_HEAD, &to.to);
    if (!err)
        err = sti_journal_put_state(state, arg, &to.sink, &head);
    if (err) {
        sti_object_drop(log);
        sti_object_drop(to.to);
        return err;
    }
    sti_journal_head_encode(STI_JOURNAL_CHECKPOINT, &head, to.to->bytes);
    sti_object_drop(j->disk->checkpoint);
    j->disk->checkpoint = to.to;
    j->stand =
        (sti_journal_stand){.generation = head.generation, .checkpoint = head};
    journal->checkpoint_bytes = head.size;
    start_log(j, log);
    return STRADS_OK;
}

/* ---- recovering, opening, closing -------------------------------------- */

static strads_err recover(sti_journal *journal,
                          const sti_journal_reader *reader)
{
    memory_journal *j = (memory_journal *)journal;
    sti_memory_disk *disk = j->disk;
    const sti_journal_log log = {.where = j->name,
                                 .bytes = disk->log->bytes,
                                 .size = disk->log->size,
                                 .generation = j->stand.generation};
    strads_err err = STRADS_OK;
    uint64_t end;
    if (disk->checkpoint) {
        const unsigned char *state = disk->checkpoint->bytes + STI_JOURNAL_HEAD;
        err = sti_journal_check_state(j->name, &j->stand.checkpoint, state);
        if (!err)
            err = reader->checkpoint(reader->arg, state,
                                     j->stand.checkpoint.size);
    }
    if (!err)
        err = sti_journal_replay(&log, reader, &end);
    if (err)
        return err;
    disk->log->size = disk->synced = end;
    journal->log_bytes = end - STI_JOURNAL_HEAD;
    j->recovered = true;
    return STRADS_OK;
}

static void close_journal(sti_journal *journal)
{
    memory_journal *j = (memory_journal *)journal;
    j->disk->open = false;
    free(j->name);
    free(j);
}

static const sti_journal_ops memory_ops = {.recover = recover,
                                           .append = append,
                                           .sync = sync_log,
                                           .checkpoint = checkpoint,
                                           .close = close_journal};

/* Judges the files, and begins the log where there is none. */
static strads_err look(memory_journal *j)
{
    sti_memory_disk *disk = j->disk;
    const sti_journal_heads heads = {
        .where = j->name,
        .log = disk->log ? disk->log->bytes : NULL,
        .log_size = size_of(disk->log),
        .checkpoint = disk->checkpoint ? disk->checkpoint->bytes : NULL,
        .checkpoint_size = size_of(disk->checkpoint)};
    sti_buffer *log = NULL;
    strads_err err = sti_journal_judge(&heads, &j->options, &j->stand);
    if (err || !j->stand.needs_log)
        return err;
    err = check_room(j, size_of(disk->checkpoint), STI_JOURNAL_HEAD);
    if (!err)
        err = new_log(j, j->stand.generation, &log);
    if (!err)
        start_log(j, log);
    return err;
}

strads_err sti_journal_open_memory(sti_memory_disk *disk, const char *name,
                                   const sti_journal_options *options,
                                   sti_journal **out)
{
    if (disk->open)
        return sti_journal_in_use(name);
    memory_journal *j = calloc(1, sizeof *j);
    char *copy = strdup(name);
    if (!j || !copy) {
        free(j);
        free(copy);
        return strads_fail(STRADS_ENOMEM, "%s: no memory for a journal", name);
    }
    *j = (memory_journal){.journal.ops = &memory_ops,
                          .journal.log_room = options->log_room,
                          .options = *options,
                          .disk = disk,
                          .name = copy};
    disk->open = true;
    strads_err err = look(j);
    if (err) {
        close_journal(&j->journal);
        return err;
    }
    j->journal.checkpoint_bytes = j->stand.checkpoint.size;
    *out = &j->journal;
    return STRADS_OK;
}
