/* strads/store.h - the parameter store: tables of rows, clocks, snapshots.
 *
 * Both engines commit parameters to tables. A data-parallel program works on
 * tables only. A strads_store lives in one process. If a data-parallel program
 * runs on several nodes, its tables are distributed over shards; there is no
 * strads_store then, and sessions reach the tables by the same calls. The
 * members of strads_table_spec for distributed tables have no effect in one
 * process. */
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
#define STRADS_STALENESS_DEFAULT (UINT32_MAX - 1) /* by the table's spec */

/* Each worker adapts its staleness to the time that it waits for reads. It
 * starts at 0 and is reviewed every 8 clocks of the worker. If waiting took
 * more than 10 % of the time since the last review, the staleness grows to the
 * table's staleness_max; below 5 % it shrinks by 1, down to 0. If the share of
 * waiting is still at least .9 of the earlier one 33 to 64 clocks after a
 * growth (for example another worker is always slow), the staleness steps back
 * and does not grow for 64 clocks, then 128, at most 2,048. Guaranteed is
 * staleness_max. */
#define STRADS_STALENESS_ADAPTIVE (UINT32_MAX - 2)

/* A table: `rows` rows of `cols` numbers of one type. A dense row holds every
 * column, a sparse row only the columns that have been incremented. All values
 * start at 0.
 *
 * f64 and f32 add by IEEE 754, including infinities and NaN: a NaN stays, so
 * the caller checks what it adds. i32 and i64 wrap around. The last bits of a
 * floating-point cell depend on the order of commits. */
typedef struct strads_table_spec {
    const char *name; /* unique in the store, 1 to 63 bytes; copied */
    strads_scalar type;
    uint64_t rows;      /* 0 .. 2^32 - 1 */
    uint32_t cols;      /* at least 1 */
    bool sparse;        /* a row holds at most 2^30 columns */
    uint32_t staleness; /* default for reads, in clocks; 0: bulk-synchronous */
    uint32_t staleness_max;  /* of STRADS_STALENESS_ADAPTIVE; 0: 16 */
    uint32_t snapshot_every; /* keep exact snapshots of clocks k, 2k, ... for
                                strads_session_read_snapshot; 0: none */

    /* Distributed tables only: filters of the changes that a worker pushes at
     * the end of a clock. Withheld changes stay with the worker, which sees
     * them in its own reads. They leave when they are large enough, at the
     * latest with a flush or when the session closes. The staleness rule covers
     * pushed changes; in addition a cell may lack up to hold_below for each
     * worker. push_bytes has no such bound: rows with small changes may be late
     * by any number of clocks while rows with larger ones use up the bytes. To
     * make all changes visible at a clock, flush before it ends. */
    double hold_below; /* withhold rows with all changes below this; 0: none */
    uint64_t push_bytes; /* push about that many bytes of numbers a clock, rows
                            with the largest change first; 0: no limit */
    bool tuned; /* if hold_below and push_bytes are 0, use the run's options
                   (strads/engine.h) */
    /* 8: at the end of a clock, a row's changes are pushed as multiples from
     * -127 to 127 of a step, which is a 127th of the row's largest change. This
     * takes a quarter of the bytes of f32 and an eighth of those of f64. The
     * rounding error stays with the worker, which sees it in its own reads, and
     * is added to the row's next change (error feedback). A flush and the end
     * of the session push it in full. Until then a cell lacks at most half a
     * step for each worker. Dense tables of f64 or f32 only. 0: full
     * precision. */
    uint32_t push_bits;
} strads_table_spec;

/* Makes an empty store. Its tables and snapshots together may use
 * `memory_limit` bytes (0: the memory that is free now), which are counted
 * before they are allocated. The caller frees *out. STRADS_ENOMEM. Any thread;
 * does not block. */
STRADS_API strads_err strads_store_open(uint64_t memory_limit,
                                        strads_store **out);

/* Frees a store. No thread may use it any more, its sessions must be closed and
 * its snapshots freed. NULL is allowed. */
STRADS_API void strads_store_free(strads_store *store);

/* Returns the bytes that tables and snapshots use. Any thread; does not
 * block. */
STRADS_API uint64_t strads_store_bytes(const strads_store *store);

/* Adds a table; its number (0, 1, 2, ...) goes to *table. STRADS_EINVAL: an
 * invalid spec, or a name that exists. STRADS_ELIMIT: too many rows.
 * STRADS_ENOMEM: the sentence gives the bytes. No other thread may use the
 * store during the call. */
STRADS_API strads_err strads_store_create(strads_store *store,
                                          const strads_table_spec *spec,
                                          uint32_t *table);

/* Finds a table by name. STRADS_EINVAL names the tables that exist. */
STRADS_API strads_err strads_store_find(const strads_store *store,
                                        const char *name, uint32_t *table);

/* Returns the spec of a table; NULL if there is no such table. */
STRADS_API const strads_table_spec *strads_store_spec(const strads_store *store,
                                                      uint32_t table);

/* Copies n rows, rows[n], into out[n x cols] of the table's type; sparse rows
 * are expanded. The read is atomic: each commit is in all of the rows or in
 * none. STRADS_EINVAL: no such table or row. Any thread; waits while other
 * threads copy the same rows. */
STRADS_API strads_err strads_store_read(const strads_store *store,
                                        uint32_t table, uint32_t n,
                                        const uint32_t *rows, void *out);

/* Adds delta[n x cols] of the table's type to n rows as one commit. The table's
 * version grows by one and goes to *version (may be NULL). A row may occur more
 * than once. Sparse rows gain the columns with a nonzero delta. STRADS_EINVAL:
 * no such table or row. STRADS_ENOMEM (sparse rows): no value has changed. Any
 * thread; waits as strads_store_read does. */
STRADS_API strads_err strads_store_inc(strads_store *store, uint32_t table,
                                       uint32_t n, const uint32_t *rows,
                                       const void *delta, uint64_t *version);

/* Adds delta[n] to the columns cols[n] of one row as one commit, for sparse and
 * dense tables. A column may occur more than once. Otherwise as
 * strads_store_inc. */
STRADS_API strads_err strads_store_inc_sparse(strads_store *store,
                                              uint32_t table, uint64_t row,
                                              uint32_t n, const uint32_t *cols,
                                              const void *delta,
                                              uint64_t *version);

/* Returns the number of commits to a table so far; 0 if there is no such table.
 * Any thread; does not block. */
STRADS_API uint64_t strads_store_version(const strads_store *store,
                                         uint32_t table);

/* Returns the rows of a dense table in place, [rows x cols], aligned to a cache
 * line. Use it where no thread commits at the same time (in an `aggregate`,
 * say). Valid as long as the store. NULL for a sparse table and if there is no
 * such table. */
STRADS_API const void *strads_store_dense(const strads_store *store,
                                          uint32_t table);

/* Makes an immutable copy of a table at one version. The caller frees *out
 * before the store. STRADS_EINVAL: no such table. STRADS_ENOMEM. Any thread;
 * commits and reads wait during the copy. */
STRADS_API strads_err strads_store_snapshot(const strads_store *store,
                                            uint32_t table,
                                            strads_snapshot **out);
/* Frees a snapshot. NULL is allowed. */
STRADS_API void strads_snapshot_free(strads_snapshot *snapshot);
/* Returns the version of the table in the snapshot, as strads_store_version. */
STRADS_API uint64_t strads_snapshot_version(const strads_snapshot *snapshot);

/* Finds one row of a snapshot: *n columns, ascending (NULL for a dense table:
 * all columns), and their values. Valid as long as the snapshot. STRADS_EINVAL:
 * no such row. Any thread; does not block. */
STRADS_API strads_err strads_snapshot_row(const strads_snapshot *snapshot,
                                          uint64_t row, uint32_t *n,
                                          const uint32_t **cols,
                                          const void **values);

/* ---- sessions: one worker's clocked view ------------------------------- */

/* On several nodes, reads, flushes, clocks and barriers may wait for the
 * network. They fail if the run has failed: another node's error, or its loss
 * (STRADS_EPEER). STRADS_ELIMIT: a flush of more than 1 GiB for one shard. A
 * push is atomic on each shard, not across shards. */

/* Opens the session of worker `worker` in a group of `workers`, at clock 0.
 * Other workers treat a session that is not yet open as one at clock 0. When
 * all sessions of a group are closed, a new group may start. One thread at a
 * time uses a session. The caller closes *out. STRADS_EINVAL: worker >=
 * workers, or the group has another size. STRADS_ESTATE: the worker's session
 * is open, or was closed while others of the group are open. STRADS_ENOMEM.
 * Does not block. */
STRADS_API strads_err strads_session_open(strads_store *store, uint32_t worker,
                                          uint32_t workers,
                                          strads_session **out);

/* Flushes and closes a session: other workers no longer wait for its clock. If
 * memory is short, unflushed increments of sparse tables are lost; call
 * strads_session_flush before to see the error. NULL is allowed. */
STRADS_API void strads_session_close(strads_session *session);

/* Reads a row into out[cols]. With c this session's clock and s the staleness,
 * the row contains every worker's updates of clock c - s - 1 and older, and all
 * of the session's own; it may contain newer ones. Blocks until every other
 * session of the group is at clock c - s or later, or closed; with infinite
 * staleness it never blocks. Staleness: Ho et al., NIPS 2013. STRADS_EINVAL: no
 * such table or row. */
STRADS_API strads_err strads_session_read_row(strads_session *session,
                                              uint32_t table, uint64_t row,
                                              uint32_t staleness, void *out);

/* Reads n rows, rows[n], into out[n x cols], as strads_session_read_row. After
 * a failure on several nodes, parts of `out` may have been written. */
STRADS_API strads_err strads_session_read_rows(strads_session *session,
                                               uint32_t table, uint32_t n,
                                               const uint32_t *rows,
                                               uint32_t staleness, void *out);

/* Requests n rows, rows[n], that this worker will read in its next clock with
 * that staleness. On several nodes the rows travel while the worker computes,
 * and a read of exactly these rows waits for the remaining time only. Call it
 * after the reads of the current clock: a later request (a read, a barrier)
 * replaces it. Rows of more than 8 MB in total are not requested. In one
 * process it does nothing. STRADS_EINVAL: no such table or row. STRADS_ENOMEM.
 * On several nodes also the error that ended the run. Does not block. */
STRADS_API strads_err strads_session_prefetch(strads_session *session,
                                              uint32_t table, uint32_t n,
                                              const uint32_t *rows,
                                              uint32_t staleness);

/* Reads n rows, rows[n], into out[n x cols] exactly as of clock T, the last
 * multiple of the table's snapshot_every up to this session's clock; T goes to
 * *clock. The rows contain every worker's updates of clocks below T, except
 * those that filters withhold, and no update of clock T or later, not even this
 * session's. Blocks until every other session of the group is at T or later, or
 * closed. Increments outside sessions (strads_store_inc) have no clock and may
 * or may not be included. STRADS_EINVAL: no such table or row, a table without
 * snapshots, or a clock before the first one. STRADS_ESTATE: the snapshot was
 * dropped, because a worker was more than 4 snapshots ahead of the slowest one
 * or because memory was short. */
STRADS_API strads_err strads_session_read_snapshot(strads_session *session,
                                                   uint32_t table, uint32_t n,
                                                   const uint32_t *rows,
                                                   void *out, uint64_t *clock);

/* Adds to one value; to the columns cols[n] of one row, in sparse and dense
 * tables (a column may occur more than once); or to a whole row, delta[cols] of
 * the table's type. This session sees the increment at once, other sessions
 * after its clock() or flush() at the latest. Until then the session
 * accumulates the increments of a row.
 *
 * STRADS_EINVAL: no such table, row or column, or a delta that is not a whole
 * number within the range of an integer table. STRADS_ENOMEM: nothing has
 * changed. The first two calls do not block. On several nodes rows may leave
 * before the clock ends; the third call then waits for space in the send
 * window, and fails without adding if the run has failed. */
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

/* Adds delta[n x cols] of the table's type to n whole rows, rows[n], like
 * strads_session_inc_row for each in order. A row may occur more than once. The
 * arrays are copied. STRADS_EINVAL: no such table or row; nothing was added.
 * STRADS_ENOMEM, and on several nodes a failure of the run: only some leading
 * rows were added. Blocks as strads_session_inc_row does. */
STRADS_API strads_err strads_session_inc_rows(strads_session *session,
                                              uint32_t table, uint32_t n,
                                              const uint32_t *rows,
                                              const void *delta);

/* Pushes all increments, those of a table as one commit (on several nodes: one
 * commit for every few rows). STRADS_ENOMEM (sparse rows): increments of this
 * table and of later tables were not pushed; the session keeps them, and the
 * call may be repeated. */
STRADS_API strads_err strads_session_flush(strads_session *session);

/* Flushes, then ends this worker's clock. If the flush fails, the clock does
 * not end. STRADS_ECANCELED: within a program's `run` that has not asked
 * strads_loop_ends after the end of the run; the clock does not end either. */
STRADS_API strads_err strads_session_clock(strads_session *session);

/* strads_session_clock followed by strads_session_read_rows for n rows,
 * rows[n], into out[n x cols], with the same values. On several nodes each
 * shard receives one message instead of two. Missing rows are detected before
 * the clock ends (STRADS_EINVAL). After other errors, strads_session_now shows
 * whether the clock has ended. Blocks as both calls do. */
STRADS_API strads_err strads_session_clock_and_read(strads_session *session,
                                                    uint32_t table, uint32_t n,
                                                    const uint32_t *rows,
                                                    uint32_t staleness,
                                                    void *out);

/* Flushes, then ends all clocks below `clock` at once, for a worker that has
 * finished its work. If the session is at `clock` or beyond, it only
 * flushes. */
STRADS_API strads_err strads_session_advance(strads_session *session,
                                             uint64_t clock);

/* Waits until every other session of the group has reached this session's
 * clock, or is closed. */
STRADS_API strads_err strads_session_barrier(strads_session *session);

/* Returns the cells of a dense table in place, [rows x cols] of its type,
 * aligned to a cache line: a racy view for Hogwild loops, in which workers
 * update one copy of a model without synchronisation. Every access must be a
 * relaxed atomic (__atomic_load, __atomic_store). Such writes belong to no
 * clock and no commit: their visibility is not guaranteed, and one of two
 * concurrent additions may be lost. A worker ends its clock after such writes,
 * and others wait for that clock before they use the other calls on the table.
 * Valid as long as the store. STRADS_EINVAL: no such table, a sparse table, or
 * a table distributed over nodes (simulated ones included). Any session's
 * thread; does not block. */
STRADS_API strads_err strads_session_racy(strads_session *session,
                                          uint32_t table, void **cells);

/* Time that this session has spent in waiting so far, in seconds. The remaining
 * time is the caller's own. Session's thread only; does not block. */
typedef struct strads_times {
    double waiting; /* for the clocks of others: reads and barriers */
    double network; /* for answers of other nodes; 0 in one process */
} strads_times;
STRADS_API strads_times strads_session_times(const strads_session *session);

/* Return the worker's number, the size of its group, and its clock. */
STRADS_API uint32_t strads_session_worker(const strads_session *session);
STRADS_API uint32_t strads_session_workers(const strads_session *session);
STRADS_API uint64_t strads_session_now(const strads_session *session);

#ifdef __cplusplus
}
#endif

#endif
