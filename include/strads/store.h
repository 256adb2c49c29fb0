/* strads/store.h - the parameter store: tables of rows, clocks, snapshots.
 *
 * Tables hold what a run commits; both engines commit through them. They are
 * public API of their own too: a data-parallel program needs nothing else.
 * A strads_store is in one process. The tables of a data-parallel program that
 * runs on several nodes are spread over shards; its sessions reach them by the
 * same calls, and there is no strads_store then. What a table's spec says of a
 * spread one has no effect in one process. */
#ifndef STRADS_STORE_H
#define STRADS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct strads_store strads_store;
typedef struct strads_session strads_session;
typedef struct strads_snapshot strads_snapshot;

#define STRADS_STALENESS_INFINITE UINT32_MAX
#define STRADS_STALENESS_DEFAULT (UINT32_MAX - 1) /* as the table's spec says */

/* A staleness that a worker picks itself, from how long it waits. It starts at
 * 0. Every 8 clocks of the worker it looks at the time since it looked last:
 * when more than 10 % of it was waiting for reads, its staleness grows to the
 * table's staleness_max; when it was less than 5 %, it shrinks by 1, down to 0.
 * When it waits as long 33 to 64 clocks after it has grown (at least .9 of the
 * share before: for a worker that is always slow), it steps back, and does not
 * grow again for 64 clocks, 128 the next time, at most 2048. So what holds for
 * certain is the promise of staleness_max. */
#define STRADS_STALENESS_ADAPTIVE (UINT32_MAX - 2)

/* A table: `rows` rows of `cols` numbers of one type. Dense rows hold every
 * column; sparse ones only the columns that were ever incremented. All values
 * start at 0.
 *
 * Numbers add as their type does: f64 and f32 by IEEE 754, infinities and NaN
 * included (one NaN added stays: what feeds a table checks); i32 and i64 wrap
 * around. What a cell of a floating type holds depends, in its last bits, on
 * the order of commits. */
typedef struct strads_table_spec {
    const char *name; /* unique in the store, 1 to 63 bytes; copied */
    strads_scalar type;
    uint64_t rows;      /* 0 .. 2^32 - 1 */
    uint32_t cols;      /* at least 1 */
    bool sparse;        /* a row holds at most 2^30 columns */
    uint32_t staleness; /* default for reads, in clocks; 0: bulk-synchronous */
    uint32_t staleness_max;  /* of STRADS_STALENESS_ADAPTIVE; 0: 16 */
    uint32_t snapshot_every; /* keep exact images of clocks k, 2k, ... for
                                strads_session_read_snapshot; 0: no */
    /* Where a store is spread over nodes: */
    /* Filters of what a worker pushes when its clock ends. What they hold back
     * stays with the worker, which sees it itself; it leaves once it is large
     * enough, and at the latest with a flush or when the session is closed. So
     * others are promised by the staleness rule what was pushed, and besides it
     * a cell lacks at most hold_below for each worker that is held back. With
     * push_bytes there is no such bound: rows with small changes may be late by
     * any number of clocks, while those with larger ones fill the room. Who
     * wants all to be seen at a clock flushes before it ends. */
    double hold_below;   /* rows whose changes are all smaller; 0: none */
    uint64_t push_bytes; /* about that many bytes of numbers a clock, the rows
                            with the largest change first; 0: any */
    bool
        tuned; /* hold_below and push_bytes, where they are 0 here, are what the
                   run's options say (strads/engine.h) */
    /* 8: at the end of a clock changes of a row leave as multiples, from -127 to
     * 127, of a step of the row's own, a 127th of its largest change: about a
     * quarter of the bytes of f32, an eighth of those of f64. What rounding leaves
     * over stays with the worker, which sees it itself, and is added to the next
     * change of the row (error feedback); a flush, and closing the session, push
     * all of that in full. Until then a cell lacks at most half a step for each
     * worker. Of dense tables of f64 or f32. 0: as they are */
    uint32_t push_bits;
} strads_table_spec;

/* Makes an empty store whose tables and snapshots may take `memory_limit` bytes
 * together (0: what is free now). Memory is counted before it is allocated.
 * *out is the caller's to free. STRADS_ENOMEM. Any thread; does not block. */
STRADS_API strads_err strads_store_open(uint64_t memory_limit,
                                        strads_store **out);

/* Frees a store, when nobody uses it and its sessions are closed and its
 * snapshots freed. NULL is fine. */
STRADS_API void strads_store_free(strads_store *store);

/* Bytes that tables and snapshots hold. Any thread; does not block. */
STRADS_API uint64_t strads_store_bytes(const strads_store *store);

/* Adds a table; its number (0, 1, 2, ...) goes to *table. STRADS_EINVAL: the
 * spec, or a name that exists. STRADS_ELIMIT: too many rows. STRADS_ENOMEM:
 * says the bytes. Not while other threads use the store. */
STRADS_API strads_err strads_store_create(strads_store *store,
                                          const strads_table_spec *spec,
                                          uint32_t *table);

/* Finds a table by name. STRADS_EINVAL names the tables that exist. */
STRADS_API strads_err strads_store_find(const strads_store *store,
                                        const char *name, uint32_t *table);

/* The spec a table was made with; NULL when there is no such table. */
STRADS_API const strads_table_spec *strads_store_spec(const strads_store *store,
                                                      uint32_t table);

/* Copies n rows, rows[n], into out[n x cols] of the table's type, sparse rows
 * written out in full. Each row is read whole, and so are all of one call:
 * a commit is in all of them or in none. STRADS_EINVAL: no such table or row.
 * Any thread; waits for commits and reads of the same rows, for as long as
 * these copy. */
STRADS_API strads_err strads_store_read(const strads_store *store,
                                        uint32_t table, uint32_t n,
                                        const uint32_t *rows, void *out);

/* Adds delta[n x cols] of the table's type to n rows, as one commit: the
 * table's version grows by one and goes to *version (may be NULL). A row may be
 * named more than once. Sparse rows gain the columns whose delta is not 0.
 * STRADS_EINVAL: no such table or row; STRADS_ENOMEM (sparse rows): no value
 * has changed then. Any thread; waits as strads_store_read does. */
STRADS_API strads_err strads_store_inc(strads_store *store, uint32_t table,
                                       uint32_t n, const uint32_t *rows,
                                       const void *delta, uint64_t *version);

/* Adds delta[n] to the columns cols[n] of one row, as one commit; a column may
 * be named more than once. For dense tables too. Otherwise as
 * strads_store_inc. */
STRADS_API strads_err strads_store_inc_sparse(strads_store *store,
                                              uint32_t table, uint64_t row,
                                              uint32_t n, const uint32_t *cols,
                                              const void *delta,
                                              uint64_t *version);

/* Commits made to a table so far; 0 when there is no such table. Any thread;
 * does not block. */
STRADS_API uint64_t strads_store_version(const strads_store *store,
                                         uint32_t table);

/* The rows of a dense table in place, [rows x cols], at a cache line's begin,
 * for one who knows that nobody commits meanwhile (an `aggregate`, say). Valid
 * as long as the store. NULL for sparse tables, and when there is no such
 * table. */
STRADS_API const void *strads_store_dense(const strads_store *store,
                                          uint32_t table);

/* An immutable copy of a table at one version. *out is the caller's to free,
 * before the store. STRADS_EINVAL: no such table. STRADS_ENOMEM. Any thread;
 * commits and reads wait while it is copied. */
STRADS_API strads_err strads_store_snapshot(const strads_store *store,
                                            uint32_t table,
                                            strads_snapshot **out);
/* NULL is fine. */
STRADS_API void strads_snapshot_free(strads_snapshot *snapshot);
/* The table's version that it is of, as strads_store_version counts. */
STRADS_API uint64_t strads_snapshot_version(const strads_snapshot *snapshot);

/* One row of a snapshot: its columns, ascending (NULL when dense: all of them),
 * and values; *n of each. Valid as long as the snapshot. STRADS_EINVAL: no such
 * row. Any thread; does not block. */
STRADS_API strads_err strads_snapshot_row(const strads_snapshot *snapshot,
                                          uint64_t row, uint32_t *n,
                                          const uint32_t **cols,
                                          const void **values);

/* ---- sessions: one worker's clocked view ------------------------------- */

/* On several nodes reads, flushes, clocks and barriers may also wait for the
 * network, and fail with what has ended the run: another node's failure, or its
 * loss (STRADS_EPEER); STRADS_ELIMIT: a flush of more than 1 GiB for one shard.
 * What is then pushed is still seen whole or not at all, but on each shard by
 * itself. */

/* Opens worker `worker`'s session of a group of `workers`, at clock 0. The
 * others wait for a worker that has yet to open its session as for one at
 * clock 0. When the sessions of all workers have been closed, a new group may
 * begin. A session is used by one thread at a time. *out is the caller's to
 * close. STRADS_EINVAL: worker is not below workers, or the group is of another
 * size. STRADS_ESTATE: the worker's session is open, or was closed while others
 * of the group have not been. STRADS_ENOMEM. Does not block. */
STRADS_API strads_err strads_session_open(strads_store *store, uint32_t worker,
                                          uint32_t workers,
                                          strads_session **out);

/* Flushes and ends it: the others no longer wait for this worker's clock. What
 * a flush has no memory for is lost (sparse tables): flush before, to know.
 * NULL is fine. */
STRADS_API void strads_session_close(strads_session *session);

/* Reads a row into out[cols]: it sees every update of clock c - s - 1 and
 * older, from everyone, c being this session's clock and s the staleness; and
 * all of its own. It may see newer ones. Blocks until every other session of
 * the group is at clock c - s or later, or closed; never when s is infinite.
 * Staleness: Ho et al., NIPS 2013. STRADS_EINVAL: no such table or row. */
STRADS_API strads_err strads_session_read_row(strads_session *session,
                                              uint32_t table, uint64_t row,
                                              uint32_t staleness, void *out);

/* The same for n rows, rows[n], into out[n x cols]. When it fails over nodes,
 * some of `out` may have been written. */
STRADS_API strads_err strads_session_read_rows(strads_session *session,
                                               uint32_t table, uint32_t n,
                                               const uint32_t *rows,
                                               uint32_t staleness, void *out);

/* Says that this worker is to read n rows, rows[n], in its next clock, with that
 * staleness. Over nodes they are asked for at once: a read of just these rows then
 * finds them, or waits for the rest of their way only, while the worker computes.
 * To be called after the clock's reads: what it asks for later (a read, a barrier)
 * takes the place of what is still awaited. Rows of more than 8 MB together are
 * not asked for. In one process nothing is to be done. STRADS_EINVAL: no such
 * table or row; STRADS_ENOMEM; and over nodes what has ended the run. Does not
 * block. */
STRADS_API strads_err strads_session_prefetch(strads_session *session,
                                              uint32_t table, uint32_t n,
                                              const uint32_t *rows,
                                              uint32_t staleness);

/* Reads n rows, rows[n], into out[n x cols] as of exactly clock T, the last
 * multiple of the table's snapshot_every up to this session's clock; T goes to
 * *clock. They hold all updates of clocks below T, from everyone, but for what
 * filters hold back, and none of T or later, this session's neither. Blocks
 * until every other session of the group is at T or later, or closed. What was
 * added past sessions (strads_store_inc) is of no clock, and may be in it or
 * not. STRADS_EINVAL: no such table or row, a table that keeps no snapshots, or
 * a clock before the first one. STRADS_ESTATE: it was not kept, because a
 * worker was more than 4 snapshots ahead of the last one, or memory ran out. */
STRADS_API strads_err strads_session_read_snapshot(strads_session *session,
                                                   uint32_t table, uint32_t n,
                                                   const uint32_t *rows,
                                                   void *out, uint64_t *clock);

/* Adds to one value, to the columns cols[n] of one row (of dense tables, too; a
 * column may be named more than once), or to a whole row delta[cols], of the
 * table's type. Seen by this session at once, by others after clock() or
 * flush() at the latest; until then increments of a row are added up here.
 * STRADS_EINVAL: no such table, row or column, or a delta that is not a whole
 * number in the range of an integer table. STRADS_ENOMEM: nothing has changed.
 * The first two do not block; the third may over nodes, where rows leave before
 * their clock ends: until there is room for them on their way. It fails then,
 * with nothing added, if the run has failed. */
STRADS_API strads_err strads_session_inc(strads_session *session,
                                         uint32_t table, uint64_t row,
                                         uint32_t col, double delta);
STRADS_API strads_err strads_session_inc_sparse(strads_session *session,
                                                uint32_t table, uint64_t row,
                                                uint32_t n,
                                                const uint32_t *cols,
                                                const void *delta);
STRADS_API strads_err strads_session_inc_row(strads_session *session,
                                             uint32_t table, uint64_t row,
                                             const void *delta);

/* Adds delta[n x cols] of the table's type to n whole rows, rows[n]:
 * strads_session_inc_row for each of them, in order; a row may be named more than
 * once. rows[] and delta[] are the caller's again when it returns. STRADS_EINVAL:
 * no such table or row; nothing was added. STRADS_ENOMEM, and over nodes when the
 * run has failed: only the first of the rows have been added. Blocks as
 * strads_session_inc_row does. */
STRADS_API strads_err strads_session_inc_rows(strads_session *session,
                                              uint32_t table, uint32_t n,
                                              const uint32_t *rows,
                                              const void *delta);

/* Pushes the increments out, each table's as one commit (over nodes: as one for
 * every few rows). STRADS_ENOMEM (sparse rows): of this table and those after
 * it nothing was pushed; all of that is still kept, and the call may be
 * repeated. */
STRADS_API strads_err strads_session_flush(strads_session *session);

/* Flushes and ends this worker's clock. When the flush fails, the clock is not
 * ended; nor is it with STRADS_ECANCELED: within a program's `run` that does
 * not ask whether the run has ended (strads_loop_ends), when it has. */
STRADS_API strads_err strads_session_clock(strads_session *session);

/* Ends this worker's clock and reads n rows, rows[n], into out[n x cols] as of
 * the new one: strads_session_clock and then strads_session_read_rows, to the
 * same values and no later for the others. Over nodes each shard is told of the
 * clock and asked for rows in one message, where it would be woken for each of
 * two. Rows that are not there are found before the clock ends, as
 * STRADS_EINVAL; other errors as of these two: strads_session_now says whether
 * the clock has ended. Blocks as both do. */
STRADS_API strads_err strads_session_clock_and_read(strads_session *session,
                                                    uint32_t table, uint32_t n,
                                                    const uint32_t *rows,
                                                    uint32_t staleness,
                                                    void *out);

/* The same for all clocks below `clock` at once: a worker that has no more to
 * do meets the others there. Clocks never go back: at `clock` or beyond it only
 * flushes. */
STRADS_API strads_err strads_session_advance(strads_session *session,
                                             uint64_t clock);

/* Waits until every other session of the group has reached this session's
 * clock, or is closed. */
STRADS_API strads_err strads_session_barrier(strads_session *session);

/* The cells of a dense table in place, [rows x cols] of its type, at a cache
 * line's begin: a racy view, for loops in the manner of Hogwild, where workers
 * add to one copy of a model without any order between them. Every access is to
 * be atomic, relaxed (__atomic_load, __atomic_store). What is so written is of
 * no clock and no commit: nothing is promised of when others see it, and of two
 * who add to a cell at once one may be lost. Who has written ends its clock,
 * and who reads or adds by the other calls waits for that before it does. Valid
 * as long as the store. STRADS_EINVAL: no such table; a sparse one; or one that
 * is spread over nodes, also simulated ones, where no memory is shared. Any
 * session's thread; does not block. */
STRADS_API strads_err strads_session_racy(strads_session *session,
                                          uint32_t table, void **cells);

/* Where this session's time went so far, in seconds; what is in neither is the
 * caller's own. Only the session's thread may ask. Does not block. */
typedef struct strads_times {
    double waiting; /* for the clocks of others: reads and barriers */
    double network; /* for answers of other nodes; 0 in one process */
} strads_times;
STRADS_API strads_times strads_session_times(const strads_session *session);

/* The worker's number, the size of its group, its clock. */
STRADS_API uint32_t strads_session_worker(const strads_session *session);
STRADS_API uint32_t strads_session_workers(const strads_session *session);
STRADS_API uint64_t strads_session_now(const strads_session *session);

#ifdef __cplusplus
}
#endif

#endif
