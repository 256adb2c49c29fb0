/* Heads, records and what they prove. Owns nothing between calls. A head is
 * believed after its own checksum, a record's bytes after theirs. A record's
 * checksum is seeded with its generation and place: what an older log left on
 * the disk, or a disk put elsewhere, is not taken for a record of this one. */
#include "engine/store/journal_format.h"

#include <inttypes.h>
#include <string.h>

#define XXH_STATIC_LINKING_ONLY /* for XXH3_state_t on the stack */
#include <xxhash.h>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

enum { VERSION = 1, RECORD_MAGIC = 0x4a524543 };
enum { DEFAULT_ROOM = 64 << 20, STATES_IN_LOG = 4 };

static const char *const file_names[] = {"log", "checkpoint"};
static const char *const file_magics[] = {"STRDJLOG", "STRDJCHK"};

typedef struct file_head {
    unsigned char magic[8];
    uint32_t version, shard;
    uint64_t run, generation;
    uint64_t size, checksum;
    uint64_t zero;
    uint64_t check; /* XXH3-64 of all before it */
} file_head;
_Static_assert(sizeof(file_head) == STI_JOURNAL_HEAD, "no gaps");

typedef struct record_head {
    uint32_t magic, client, worker, zero;
    uint64_t number, clock;
    uint64_t size;     /* of the bytes that follow */
    uint64_t durable;  /* the log up to here was durable already */
    uint64_t checksum; /* XXH3-64 of the bytes */
    uint64_t check;    /* XXH3-64 of all before it, seeded */
} record_head;
_Static_assert(sizeof(record_head) == STI_JOURNAL_HEAD, "no gaps");

/* ---- how files begin --------------------------------------------------- */

void sti_journal_head_encode(sti_journal_file file,
                             const sti_journal_head *head,
                             unsigned char bytes[STI_JOURNAL_HEAD])
{
    file_head h = {.version = VERSION,
                   .shard = head->shard,
                   .run = head->run,
                   .generation = head->generation,
                   .size = head->size,
                   .checksum = head->checksum};
    memcpy(h.magic, file_magics[file], sizeof h.magic);
    h.check = XXH3_64bits(&h, offsetof(file_head, check));
    memcpy(bytes, &h, sizeof h);
}

static strads_err check_owner(const char *where, const file_head *h,
                              const char *name,
                              const sti_journal_options *options)
{
    if (h->run != options->run)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: the %s is of another run (%016" PRIx64
                           ", and this one is %016" PRIx64 "): start with the "
                           "same program, data and options, or name an empty "
                           "directory",
                           where, name, h->run, options->run);
    if (h->shard != options->shard)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: the %s is of shard %" PRIu32 ", and this is "
                           "shard %" PRIu32 ": each has a directory of its own",
                           where, name, h->shard, options->shard);
    return STRADS_OK;
}

/* Magic and version stand first: another version may have moved the rest. */
static strads_err decode_head(const sti_journal_heads *heads,
                              sti_journal_file file,
                              const sti_journal_options *options,
                              sti_journal_head *out)
{
    const char *name = file_names[file];
    uint64_t size =
        file == STI_JOURNAL_LOG ? heads->log_size : heads->checkpoint_size;
    file_head h;
    if (size >= sizeof h)
        memcpy(&h, file == STI_JOURNAL_LOG ? heads->log : heads->checkpoint,
               sizeof h);
    if (size < sizeof h || memcmp(h.magic, file_magics[file], 8) != 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: the %s does not begin as one of a journal: "
                           "name an empty directory, or one that a shard has "
                           "written",
                           heads->where, name);
    if (h.version != VERSION)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: the %s is of version %" PRIu32 ", and this "
                           "strads reads version %d: use the strads that wrote "
                           "it, or name an empty directory",
                           heads->where, name, h.version, VERSION);
    if (h.check != XXH3_64bits(&h, offsetof(file_head, check)))
        return strads_fail(STRADS_EFORMAT,
                           "%s: the first %d bytes of the %s are damaged: "
                           "restore the directory, or start anew in an empty "
                           "one",
                           heads->where, STI_JOURNAL_HEAD, name);
    strads_err err = check_owner(heads->where, &h, name, options);
    if (err)
        return err;
    *out = (sti_journal_head){.run = h.run,
                              .generation = h.generation,
                              .shard = h.shard,
                              .size = h.size,
                              .checksum = h.checksum};
    return STRADS_OK;
}

static strads_err no_pair(const char *where, const char *why)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: %s: restore the directory, or start anew in an "
                       "empty one",
                       where, why);
}

/* A checkpoint is renamed into its place first, and then its log: between the
 * two the log of before is there. */
strads_err sti_journal_judge(const sti_journal_heads *heads,
                             const sti_journal_options *options,
                             sti_journal_stand *out)
{
    sti_journal_stand stand = {0};
    sti_journal_head log = {0};
    strads_err err = STRADS_OK;
    if (heads->checkpoint_size)
        err = decode_head(heads, STI_JOURNAL_CHECKPOINT, options,
                          &stand.checkpoint);
    if (!err && heads->log_size)
        err = decode_head(heads, STI_JOURNAL_LOG, options, &log);
    if (err)
        return err;
    if (heads->checkpoint_size &&
        stand.checkpoint.size != heads->checkpoint_size - STI_JOURNAL_HEAD)
        return no_pair(heads->where, "the checkpoint is not as long as it "
                                     "tells");
    stand.generation = stand.checkpoint.generation;
    stand.needs_log = !heads->log_size || log.generation < stand.generation;
    if (!heads->log_size && heads->checkpoint_size)
        return no_pair(heads->where, "there is a checkpoint, but no log");
    if (log.generation > stand.generation)
        return no_pair(heads->where, "there is a log, but not its checkpoint");
    if (log.generation + 1 < stand.generation)
        return no_pair(heads->where, "log and checkpoint are not of one time");
    *out = stand;
    return STRADS_OK;
}

strads_err sti_journal_in_use(const char *where)
{
    return strads_fail(STRADS_ESTATE,
                       "%s: a shard has this journal open: end it first, or "
                       "give each shard a directory of its own",
                       where);
}

/* ---- the state in a checkpoint ----------------------------------------- */

strads_err sti_journal_check_state(const char *where,
                                   const sti_journal_head *head,
                                   const void *state)
{
    if (XXH3_64bits(state, head->size) == head->checksum)
        return STRADS_OK;
    return strads_fail(STRADS_EFORMAT,
                       "%s: the checkpoint is damaged: somewhere in its "
                       "%" PRIu64 " bytes from byte %d on: restore the "
                       "directory, or start anew in an empty one",
                       where, head->size, STI_JOURNAL_HEAD);
}

/* Counts and sums what passes through. */
typedef struct summing_sink {
    sti_sink sink;
    sti_sink *to;
    uint64_t size;
    XXH3_state_t sum;
} summing_sink;

static strads_err put_summed(sti_sink *sink, const void *bytes, size_t size)
{
    summing_sink *s = (summing_sink *)sink;
    s->size += size;
    (void)XXH3_64bits_update(&s->sum, bytes, size);
    return s->to->put(s->to, bytes, size);
}

strads_err sti_journal_put_state(sti_journal_state *state, void *arg,
                                 sti_sink *to, sti_journal_head *head)
{
    summing_sink sink = {.sink.put = put_summed, .to = to};
    (void)XXH3_64bits_reset(&sink.sum);
    strads_err err = state(arg, &sink.sink);
    head->size = sink.size;
    head->checksum = XXH3_64bits_digest(&sink.sum);
    return err;
}

/* ---- records ----------------------------------------------------------- */

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

static uint64_t record_check(const record_head *h, uint64_t generation,
                             uint64_t at)
{
    return XXH3_64bits_withSeed(h, offsetof(record_head, check),
                                generation * UINT64_C(0x9e3779b97f4a7c15) + at);
}

uint64_t sti_journal_record_bytes(const sti_journal_record *record)
{
    return STI_JOURNAL_HEAD + padded(record->size);
}

void sti_journal_record_encode(const sti_journal_record *record,
                               const sti_journal_place *place,
                               unsigned char bytes[STI_JOURNAL_HEAD])
{
    record_head h = {.magic = RECORD_MAGIC,
                     .client = record->client,
                     .worker = record->worker,
                     .number = record->number,
                     .clock = record->clock,
                     .size = record->size,
                     .durable = place->durable};
    h.checksum = XXH3_64bits(record->bytes, record->size);
    h.check = record_check(&h, place->generation, place->at);
    memcpy(bytes, &h, sizeof h);
}

/* Whether a whole record lies at `at`. */
static bool record_at(const sti_journal_log *log, uint64_t at, record_head *h)
{
    uint64_t left = log->size - at;
    if (left < sizeof *h)
        return false;
    memcpy(h, log->bytes + at, sizeof *h);
    left -= sizeof *h;
    return h->magic == RECORD_MAGIC &&
           h->check == record_check(h, log->generation, at) &&
           h->size <= left && padded(h->size) <= left &&
           h->checksum == XXH3_64bits(log->bytes + at + sizeof *h, h->size);
}

/* Whether what begins at `at` was durable once: a later record says so, for
 * each tells up to where the log was when it was written. Of records that were
 * under way together a disk may lose the first and keep the last. */
static bool was_durable(const sti_journal_log *log, uint64_t at,
                        uint64_t *witness)
{
    record_head h;
    uint64_t next = at;
    while (log->size - next > sizeof h) {
        next += 8;
        if (!record_at(log, next, &h))
            continue;
        if (h.durable > at) {
            *witness = next;
            return true;
        }
    }
    return false;
}

strads_err sti_journal_replay(const sti_journal_log *log,
                              const sti_journal_reader *reader, uint64_t *end)
{
    uint64_t at = STI_JOURNAL_HEAD;
    uint64_t witness;
    record_head h;
    while (record_at(log, at, &h)) {
        const sti_journal_record record = {
            .client = h.client,
            .worker = h.worker,
            .number = h.number,
            .clock = h.clock,
            .bytes = log->bytes + at + sizeof h,
            .size = h.size,
        };
        strads_err err = reader->record(reader->arg, &record);
        if (err)
            return err;
        at += sti_journal_record_bytes(&record);
    }
    if (was_durable(log, at, &witness))
        return strads_fail(STRADS_EFORMAT,
                           "%s: the log is damaged at byte %" PRIu64 ", and "
                           "goes on at byte %" PRIu64 ": acknowledged updates "
                           "are lost; restore the directory, or start anew in "
                           "an empty one",
                           log->where, at, witness);
    *end = at;
    return STRADS_OK;
}

/* ---- what all journals share ------------------------------------------- */

bool sti_journal_is_long(const sti_journal *journal)
{
    uint64_t capacity = journal->log_room ? journal->log_room : DEFAULT_ROOM;
    return journal->log_bytes > capacity &&
           journal->log_bytes / STATES_IN_LOG > journal->checkpoint_bytes;
}

void sti_journal_close(sti_journal *journal)
{
    if (journal)
        journal->ops->close(journal);
}
