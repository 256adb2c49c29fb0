/* A worker's clocked view: increments gather here until they are flushed, and
 * reads wait until the others' clocks allow them. Invariants: own increments
 * are either pending or in the table, never both; a clock is ended only after
 * all of its increments are in the tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "engine/store/adaptive_staleness.h"
#include "engine/store/number_cells.h"
#include "engine/store/pending_rows.h"
#include "engine/store/store_inside.h"

struct strads_session {
    strads_store *store;
    uint32_t worker, workers;
    uint64_t clock;
    uint64_t others; /* the others' clocks are at least that */
    strads_times times;
    sti_pending *pending; /* [n_pending] by number of the table */
    uint32_t n_pending;
};

strads_err strads_session_open(strads_store *store, uint32_t worker,
                               uint32_t workers, strads_session **out)
{
    strads_session *session = calloc(1, sizeof *session);
    if (!session)
        return strads_fail(STRADS_ENOMEM, "no memory for a session");
    *session =
        (strads_session){.store = store, .worker = worker, .workers = workers};
    strads_err err = sti_clocks_join(&store->clocks, worker, workers);
    if (err)
        goto fail;
    *out = session;
    return STRADS_OK;
fail:
    free(session);
    return err;
}

void strads_session_close(strads_session *session)
{
    if (!session)
        return;
    (void)strads_session_flush(session);
    sti_clocks_leave(&session->store->clocks, session->worker);
    for (uint32_t t = 0; t < session->n_pending; t++)
        sti_pending_free(&session->pending[t]);
    free(session->pending);
    free(session);
}

/* ---- reading ----------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wait_for_others(strads_session *session, uint64_t clock)
{
    if (session->others >= clock)
        return;
    double begin = now();
    session->others =
        sti_clocks_wait(&session->store->clocks, session->worker, clock);
    session->times.waiting += now() - begin;
}

/* Updates of clocks below c - s are wanted: the others must have ended them,
 * that is, be at clock c - s or later. */
static void wait_until_fresh(strads_session *session, const sti_table *table,
                             uint32_t staleness)
{
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = table->spec.staleness;
    if (staleness == STRADS_STALENESS_ADAPTIVE)
        staleness = sti_staleness_max(&table->spec);
    if (staleness != STRADS_STALENESS_INFINITE && session->clock > staleness)
        wait_for_others(session, session->clock - staleness);
}

strads_err strads_session_read_rows(strads_session *session, uint32_t table,
                                    uint32_t n, const uint32_t *rows,
                                    uint32_t staleness, void *out)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(session->store, table, &found);
    for (uint32_t k = 0; !err && k < n; k++)
        err = sti_table_check_row(found, rows[k]);
    if (err)
        return err;
    wait_until_fresh(session, found, staleness);
    err = sti_table_read(found, n, rows, out);
    for (uint32_t k = 0; table < session->n_pending && !err && k < n; k++)
        sti_pending_apply(&session->pending[table], rows[k],
                          (char *)out + k * found->row_bytes);
    return err;
}

strads_err strads_session_read_row(strads_session *session, uint32_t table,
                                   uint64_t row, uint32_t staleness, void *out)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(session->store, table, &found);
    if (!err)
        err = sti_table_check_row(found, row);
    if (err)
        return err;
    return strads_session_read_rows(session, table, 1,
                                    &(uint32_t){(uint32_t)row}, staleness, out);
}

/* ---- incrementing ------------------------------------------------------ */

/* Tables may have been added since the last call. */
static strads_err find_pending(strads_session *session, uint32_t table,
                               sti_table **found, sti_pending **out)
{
    const strads_store *store = session->store;
    strads_err err = sti_store_table(store, table, found);
    if (err)
        return err;
    if (table >= session->n_pending) {
        sti_pending *more =
            realloc(session->pending, store->n_tables * sizeof(sti_pending));
        if (!more)
            return strads_fail(STRADS_ENOMEM,
                               "no memory to keep increments of %" PRIu32
                               " tables",
                               store->n_tables);
        session->pending = more;
        while (session->n_pending < store->n_tables) {
            uint32_t t = session->n_pending++;
            sti_pending_init(&more[t], &store->tables[t]->spec);
        }
    }
    *out = &session->pending[table];
    return STRADS_OK;
}

strads_err strads_session_inc(strads_session *session, uint32_t table,
                              uint64_t row, uint32_t col, double delta)
{
    sti_table *found = NULL;
    sti_pending *pending = NULL;
    union {
        double f64;
        float f32;
        int32_t i32;
        int64_t i64;
    } cell;
    strads_err err = find_pending(session, table, &found, &pending);
    if (!err)
        err = sti_table_check_row(found, row);
    if (!err)
        err = sti_table_check_col(found, col);
    if (!err)
        err = sti_cell_from(pending->spec->type, delta, &cell);
    if (err)
        return err;
    return sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                     .n = 1,
                                                     .cols = &col,
                                                     .cells = &cell});
}

strads_err strads_session_inc_row(strads_session *session, uint32_t table,
                                  uint64_t row, const void *delta)
{
    sti_table *found = NULL;
    sti_pending *pending = NULL;
    strads_err err = find_pending(session, table, &found, &pending);
    if (!err)
        err = sti_table_check_row(found, row);
    if (err)
        return err;
    return sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                     .n = pending->spec->cols,
                                                     .cells = delta});
}

/* ---- clocks ------------------------------------------------------------ */

strads_err strads_session_flush(strads_session *session)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < session->n_pending; t++)
        err =
            sti_pending_commit(&session->pending[t], session->store->tables[t]);
    return err;
}

strads_err strads_session_clock(strads_session *session)
{
    return strads_session_advance(session, session->clock + 1);
}

strads_err strads_session_advance(strads_session *session, uint64_t clock)
{
    strads_err err = strads_session_flush(session);
    if (err || clock <= session->clock)
        return err;
    sti_clocks_reach(&session->store->clocks, session->worker, clock);
    session->clock = clock;
    return STRADS_OK;
}

strads_err strads_session_barrier(strads_session *session)
{
    wait_for_others(session, session->clock);
    return STRADS_OK;
}

strads_times strads_session_times(const strads_session *session)
{
    return session->times;
}

uint32_t strads_session_worker(const strads_session *session)
{
    return session->worker;
}

uint32_t strads_session_workers(const strads_session *session)
{
    return session->workers;
}

uint64_t strads_session_now(const strads_session *session)
{
    return session->clock;
}
