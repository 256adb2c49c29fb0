/* engine/store/journal.h - what makes a shard durable: the pushes that it took
 * in, in order, behind a checkpoint of its whole state.
 *
 * A shard appends the pushes of a batch, syncs, and only then applies and
 * acknowledges them. A restarted one recovers: it is handed the last checkpoint
 * and then every record after it, in order, and is where it was. What the
 * journal keeps it does not understand: bytes of pushes, bytes of a state.
 *
 * Two of them: in files (docs/journal-format.md), and in memory for the
 * simulation and tests (journal_memory.h). A journal is used by one thread at
 * a time; its calls block for as long as the disk takes. */
#ifndef STI_STORE_JOURNAL_H
#define STI_STORE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

#define STI_NO_MARK UINT32_MAX

/* One push that was taken in. */
typedef struct sti_journal_record {
    uint32_t client;
    uint32_t worker;   /* who ended its clock with this push, or STI_NO_MARK */
    uint64_t number;   /* of the push in its client's stream */
    uint64_t clock;    /* where the worker is now */
    const void *bytes; /* [size] the push; 8-byte aligned when recovered */
    uint64_t size;     /* 0: a mark alone */
} sti_journal_record;

/* Who takes what a journal held. A slot that fails ends the recovery with its
 * error. Bytes are valid during the call. */
typedef struct sti_journal_reader {
    void *arg;
    /* The checkpoint's bytes, 8-byte aligned. First, once; not at all when
     * there was none yet. */
    strads_err (*checkpoint)(void *arg, const void *bytes, uint64_t size);
    strads_err (*record)(void *arg, const sti_journal_record *record);
} sti_journal_reader;

/* Where bytes go to, in order. Embed it in what takes them. */
typedef struct sti_sink {
    strads_err (*put)(struct sti_sink *sink, const void *bytes, size_t size);
} sti_sink;

/* Puts a whole state into the sink. */
typedef strads_err sti_journal_state(void *arg, sti_sink *sink);

typedef struct sti_journal sti_journal;

typedef struct sti_journal_ops {
    /* Hands over everything from the start. To be called before the first
     * append; may be called again. A tail that was never synced and is torn is
     * cut off first. STRADS_EFORMAT: damaged, the sentence says where.
     * STRADS_EIO,
     * STRADS_ENOMEM, or what the reader says. */
    strads_err (*recover)(sti_journal *journal,
                          const sti_journal_reader *reader);

    /* Writes n records behind the others. They are durable after the next sync,
     * and may be lost until then, the last ones first. STRADS_EIO (disk full,
     * say): none of them is taken, the journal is as before. STRADS_ESTATE: not
     * recovered yet, or failed for good (see sync). */
    strads_err (*append)(sti_journal *journal,
                         const sti_journal_record *records, size_t n);

    /* Everything appended so far is durable when it returns STRADS_OK; free of
     * cost when nothing was. STRADS_EIO: what was not durable before may or may
     * not be; the journal takes nothing any more (STRADS_ESTATE), for a disk
     * that dropped a write cannot be asked twice. Open it anew. */
    strads_err (*sync)(sti_journal *journal);

    /* Replaces all that is held by what `state` puts out, durably and in one
     * step; that must be the state after all records appended so far. The log
     * starts anew. STRADS_EIO, or what `state` says: the journal is as before
     * and goes on. Only when the disk fails between the new checkpoint and the
     * new log it takes nothing any more, as after a failed sync. */
    strads_err (*checkpoint)(sti_journal *journal, sti_journal_state *state,
                             void *arg);

    /* Frees it; does not sync. */
    void (*close)(sti_journal *journal);
} sti_journal_ops;

struct sti_journal {
    const sti_journal_ops *ops;
    uint64_t log_bytes;        /* written since the last checkpoint */
    uint64_t checkpoint_bytes; /* size of the last one; 0: none */
    uint64_t log_room;         /* see below */
};

/* What a journal belongs to, and when it is long. */
typedef struct sti_journal_options {
    uint64_t run;      /* its number: no other run has it */
    uint32_t shard;    /* which shard of it */
    uint64_t log_room; /* a log of fewer bytes is never long; 0: 64 MiB */
} sti_journal_options;

/* Is it time for a checkpoint? When the log is larger than its room and four
 * times the last checkpoint: so the disk holds at most five states, and writing
 * checkpoints costs at most a quarter of writing logs. */
bool sti_journal_is_long(const sti_journal *journal);

/* Opens the journal in `directory`, which is made when it is not there, and
 * which no other may have open. Reads nothing yet but what it is. *out is the
 * caller's to close. STRADS_ESTATE: another process (or this one) has it open.
 * STRADS_EMISMATCH: the directory is of another run, shard or version.
 * STRADS_EFORMAT, STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_journal_open(const char *directory,
                            const sti_journal_options *options,
                            sti_journal **out);

/* NULL is fine. */
void sti_journal_close(sti_journal *journal);

#endif
