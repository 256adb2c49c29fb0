/* engine/store/journal_format.h - a journal's log and checkpoint as bytes
 * (docs/journal-format.md), wherever these lie. */
#ifndef STI_STORE_JOURNAL_FORMAT_H
#define STI_STORE_JOURNAL_FORMAT_H

#include "engine/store/journal.h"

enum { STI_JOURNAL_HEAD = 64 }; /* of either file, and of a record */

typedef enum sti_journal_file {
    STI_JOURNAL_LOG = 0,
    STI_JOURNAL_CHECKPOINT = 1
} sti_journal_file;

/* How a file begins. `generation` counts checkpoints: a log goes with the
 * checkpoint of its generation, the first log with none. */
typedef struct sti_journal_head {
    uint64_t run, generation;
    uint32_t shard;
    uint64_t size, checksum; /* checkpoint: of the state that follows */
} sti_journal_head;

void sti_journal_head_encode(sti_journal_file file,
                             const sti_journal_head *head,
                             unsigned char bytes[STI_JOURNAL_HEAD]);

/* The first bytes of both files; `size` 0: the file is not there. */
typedef struct sti_journal_heads {
    const char *where; /* the journal's name, for sentences */
    const unsigned char *log, *checkpoint;
    uint64_t log_size, checkpoint_size; /* of the files */
} sti_journal_heads;

/* Where a journal stands. */
typedef struct sti_journal_stand {
    uint64_t generation; /* that a log must have now */
    bool needs_log;      /* there is none, or one of before the checkpoint */
    sti_journal_head checkpoint; /* generation 0: none */
} sti_journal_stand;

/* Judges both files by how they begin. STRADS_EMISMATCH: another run, shard or
 * version; STRADS_EFORMAT: not a journal's, damaged, or not a pair. */
strads_err sti_journal_judge(const sti_journal_heads *heads,
                             const sti_journal_options *options,
                             sti_journal_stand *out);

/* STRADS_EFORMAT unless the state has the checksum that its head tells. */
strads_err sti_journal_check_state(const char *where,
                                   const sti_journal_head *head,
                                   const void *state);

/* Has `state` put into `to`; its size and checksum go to *head. */
strads_err sti_journal_put_state(sti_journal_state *state, void *arg,
                                 sti_sink *to, sti_journal_head *head);

/* Where in which log a record comes to lie. */
typedef struct sti_journal_place {
    uint64_t generation;
    uint64_t at;      /* offset in the file */
    uint64_t durable; /* what lay before this offset was durable already */
} sti_journal_place;

/* The head of a record; its bytes follow, filled up to a multiple of 8. */
void sti_journal_record_encode(const sti_journal_record *record,
                               const sti_journal_place *place,
                               unsigned char bytes[STI_JOURNAL_HEAD]);

/* Bytes of a record in the log. */
uint64_t sti_journal_record_bytes(const sti_journal_record *record);

/* A whole log in memory, 8-byte aligned. */
typedef struct sti_journal_log {
    const char *where;
    const unsigned char *bytes;
    uint64_t size, generation;
} sti_journal_log;

/* Hands over all records in order; where the last whole one ends goes to *end.
 * What lies behind it was never durable. STRADS_EFORMAT: a record is damaged
 * that was. */
strads_err sti_journal_replay(const sti_journal_log *log,
                              const sti_journal_reader *reader, uint64_t *end);

/* STRADS_ESTATE: somebody has this journal open. */
strads_err sti_journal_in_use(const char *where);

#endif
