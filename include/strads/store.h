/* strads/store.h - the parameter store: tables of rows, clocks, snapshots.
 *
 * Tables hold what a run commits; both engines commit through them. They are
 * public API of their own too: a data-parallel program needs nothing else.
 * In this version a store lives in one process. */
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

/* A table: `rows` rows of `cols` numbers of one type. Dense rows hold every
 * column; sparse ones only the columns that were ever incremented. All values
 * start at 0. */
typedef struct strads_table_spec {
    const char *name; /* unique in the store, at most 63 bytes */
    strads_scalar type;
    uint64_t rows;
    uint32_t cols;
    bool sparse;
    uint32_t staleness; /* default for reads, in clocks; 0: bulk-synchronous */
} strads_table_spec;

/* Makes an empty store whose tables may take `memory_limit` bytes together
 * (0: what is free). *out is the caller's to free. STRADS_ENOMEM. */
STRADS_API strads_err strads_store_open(uint64_t memory_limit,
                                        strads_store **out);
STRADS_API void strads_store_free(strads_store *store);

/* Adds a table; its number (0, 1, 2, ...) goes to *table. STRADS_EINVAL: the
 * spec, or a name that exists. STRADS_ENOMEM: says the bytes. Not while other
 * threads use the store. */
STRADS_API strads_err strads_store_create(strads_store *store,
                                          const strads_table_spec *spec,
                                          uint32_t *table);

/* Finds a table by name. STRADS_EINVAL names the tables that exist. */
STRADS_API strads_err strads_store_find(const strads_store *store,
                                        const char *name, uint32_t *table);

/* The spec a table was made with; NULL when there is no such table. */
STRADS_API const strads_table_spec *strads_store_spec(const strads_store *store,
                                                      uint32_t table);

/* Copies n rows, rows[n], into out[n x cols] of the table's type. Any thread;
 * each row is read whole (no torn rows). STRADS_EINVAL. */
STRADS_API strads_err strads_store_read(const strads_store *store,
                                        uint32_t table, uint32_t n,
                                        const uint32_t *rows, void *out);

/* Adds delta[n x cols] of the table's type to n rows, as one commit: the
 * table's version grows by one and goes to *version (may be NULL).
 * Any thread. STRADS_EINVAL; STRADS_ENOMEM (sparse rows). */
STRADS_API strads_err strads_store_inc(strads_store *store, uint32_t table,
                                       uint32_t n, const uint32_t *rows,
                                       const void *delta, uint64_t *version);

/* Adds delta[n] to the columns cols[n] of one row, as one commit. */
STRADS_API strads_err strads_store_inc_sparse(strads_store *store,
                                              uint32_t table, uint64_t row,
                                              uint32_t n, const uint32_t *cols,
                                              const void *delta,
                                              uint64_t *version);

/* Commits made to a table so far. */
STRADS_API uint64_t strads_store_version(const strads_store *store,
                                         uint32_t table);

/* The rows of a dense table in place, [rows x cols], for one who knows that
 * nobody commits meanwhile (an `aggregate`, say). NULL for sparse tables. */
STRADS_API const void *strads_store_dense(const strads_store *store,
                                          uint32_t table);

/* An immutable copy of a table at one version. *out is the caller's to free.
 * STRADS_ENOMEM. Any thread; commits wait while it is copied. */
STRADS_API strads_err strads_store_snapshot(const strads_store *store,
                                            uint32_t table,
                                            strads_snapshot **out);
STRADS_API void strads_snapshot_free(strads_snapshot *snapshot);
STRADS_API uint64_t strads_snapshot_version(const strads_snapshot *snapshot);
/* One row of a snapshot: its columns (NULL when dense: all of them) and
 * values; *n of each. */
STRADS_API strads_err strads_snapshot_row(const strads_snapshot *snapshot,
                                          uint64_t row, uint32_t *n,
                                          const uint32_t **cols,
                                          const void **values);

/* ---- sessions: one worker's clocked view ------------------------------- */

/* Opens worker `worker`'s session of `workers`. All sessions of a store are
 * opened before the first clock. A session is used by one thread at a time. */
STRADS_API strads_err strads_session_open(strads_store *store, uint32_t worker,
                                          uint32_t workers,
                                          strads_session **out);
/* Ends it: the others no longer wait for this worker's clock. */
STRADS_API void strads_session_close(strads_session *session);

/* Reads a row: sees every update of clock c - s - 1 and older, c being this
 * session's clock, and all its own. Blocks until that is so. */
STRADS_API strads_err strads_session_read_row(strads_session *session,
                                              uint32_t table, uint64_t row,
                                              uint32_t staleness, void *out);

/* Adds to one value, or to a whole dense row delta[cols]. Seen by others after
 * clock() or flush() at the latest. */
STRADS_API strads_err strads_session_inc(strads_session *session,
                                         uint32_t table, uint64_t row,
                                         uint32_t col, double delta);
STRADS_API strads_err strads_session_inc_row(strads_session *session,
                                             uint32_t table, uint64_t row,
                                             const void *delta);

/* Pushes buffered increments out; clock() also ends this worker's clock. */
STRADS_API strads_err strads_session_flush(strads_session *session);
STRADS_API strads_err strads_session_clock(strads_session *session);
/* Waits until every open session has reached this session's clock. */
STRADS_API strads_err strads_session_barrier(strads_session *session);
STRADS_API uint32_t strads_session_worker(const strads_session *session);
STRADS_API uint32_t strads_session_workers(const strads_session *session);
STRADS_API uint64_t strads_session_now(const strads_session *session);

#ifdef __cplusplus
}
#endif

#endif
