/* engine/store/kept_rows.h - what a shard keeps: its rows of the tables, how
 * far each client's stream and each worker's clock is, and images of exact
 * clocks. All of it is one state: it changes by pushes alone, in one order, so
 * the same pushes in the same order give the same state again (S5).
 *
 * Belongs to one thread at a time. */
#ifndef STI_STORE_KEPT_ROWS_H
#define STI_STORE_KEPT_ROWS_H

#include "engine/store/journal.h"
#include "engine/store/push.h"

typedef struct sti_kept sti_kept;

/* The clock of a worker that has left; of a shard whose workers all have. */
#define STI_CLOCK_GONE UINT64_MAX

typedef struct sti_kept_setup {
    uint32_t shard, shards;          /* its number, of how many */
    uint32_t streams;                /* clients */
    uint32_t workers;                /* 0: no clocks */
    const strads_table_spec *tables; /* copied; more may come with pushes */
    uint32_t n_tables;
    uint64_t memory_limit; /* of rows, images, holders; 0: what is free */
} sti_kept_setup;

/* STRADS_EINVAL: a spec. STRADS_ENOMEM. */
strads_err sti_kept_open(const sti_kept_setup *setup, sti_kept **out);
void sti_kept_free(sti_kept *kept);

/* Is a push one that can be carried out? STRADS_EPEER. What is not must not be
 * persisted: it could never be carried out again. *makes_tables: pushes after
 * this one can be checked only when it has been carried out. */
strads_err sti_kept_check(const sti_kept *kept, const sti_buffer *push,
                          bool *makes_tables);

/* S3 APPLY: carries out push `number`, which was checked, of a stream: each
 * once, in order. After a restart: each one of the journal, in its order (S5).
 * *snapshot is set when a snapshot's clock has come, and left alone otherwise.
 * STRADS_ENOMEM. */
strads_err sti_kept_apply(sti_kept *kept, uint32_t stream, uint64_t number,
                          const sti_buffer *push, bool *snapshot);

/* After a restart, when the journal has been carried out: what clients have
 * read before is not known any more. */
void sti_kept_restarted(sti_kept *kept);

/* The number of the last push of a stream; the least clock of the workers. */
uint64_t sti_kept_applied(const sti_kept *kept, uint32_t stream);
uint64_t sti_kept_clock(const sti_kept *kept);
uint32_t sti_kept_streams(const sti_kept *kept);
uint32_t sti_kept_workers(const sti_kept *kept);
uint32_t sti_kept_shard(const sti_kept *kept);
uint32_t sti_kept_tables(const sti_kept *kept);

/* The tables themselves; with one shard, exactly what was pushed. */
const strads_store *sti_kept_store(const sti_kept *kept);

/* How many of the rows, from the first on, are of `bytes` at most: one at
 * least, all when there is no such table (then reading says so). */
uint32_t sti_kept_fit(const sti_kept *kept, uint32_t table, uint32_t n,
                      const uint32_t *rows, uint64_t bytes);

/* Appends n rows of a table to `parts` and notes that `stream` holds them.
 * STRADS_EPEER: no such table, or no such row here. STRADS_ENOMEM. */
strads_err sti_kept_read(sti_kept *kept, uint32_t stream, uint32_t table,
                         uint32_t n, const uint32_t *rows, sti_buffer *parts);

/* Do n rows of a dense table lie one behind the other, with so many bytes or
 * more in all? Then *cells and *bytes, a multiple of 8, say where: as they are
 * until the next push is applied. `parts` gets what comes before them, and it
 * is noted that `stream` holds them. Otherwise *bytes is 0, and no more is
 * done. Errors as above. */
strads_err sti_kept_lend(sti_kept *kept, uint32_t stream, uint32_t table,
                         uint32_t n, const uint32_t *rows, uint64_t least,
                         sti_buffer *parts, const void **cells, size_t *bytes);

/* The same as of exactly `clock`; *gone: that is not, or no more, kept. */
strads_err sti_kept_read_image(const sti_kept *kept, uint64_t clock,
                               uint32_t table, uint32_t n, const uint32_t *rows,
                               sti_buffer *parts, bool *gone);

/* Eager tables: is there anything to tell a stream of a table? */
bool sti_kept_has_changes(const sti_kept *kept, uint32_t stream,
                          uint32_t table);

/* Appends the rows that the stream holds and that have changed since the clock
 * was *since. */
strads_err sti_kept_changes(sti_kept *kept, uint32_t stream, uint32_t table,
                            sti_buffer *parts, uint64_t *since);

/* All streams have been told: `since` is the clock of now. */
void sti_kept_told(sti_kept *kept);

/* ---- kept_journal.c ---------------------------------------------------- */

/* S2 PERSIST: a push that was checked goes into the journal, where marks lie in
 * its bytes. It is durable after the journal's next sync. Errors are the
 * journal's. */
strads_err sti_kept_append(sti_journal *journal, uint32_t stream,
                           uint64_t number, const sti_buffer *push);

/* S5 RESTART: takes what the journal holds into what was just opened, its
 * checkpoint and the pushes after it; nothing when it is new. Tables are then
 * those of the checkpoint. STRADS_EMISMATCH: of another shard or run.
 * STRADS_EFORMAT, STRADS_ENOMEM, and what the journal says. */
strads_err sti_kept_recover(sti_kept *kept, sti_journal *journal);

/* All of it for a checkpoint: a sti_journal_state whose arg is the sti_kept. */
strads_err sti_kept_state(void *kept, sti_sink *sink);

#endif
