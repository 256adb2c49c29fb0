/* A worker's clocked view of the tables, local or remote: its clock, and the
 * increments since its last push. Checks the caller's arguments; the backend
 * (session.h) does the work. */
#include "engine/store/session.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- opening ----------------------------------------------------------- */

/* Tables may have been added since the last call. */
static strads_err make_pending(strads_session *session)
{
    const uint32_t tables = session->ops->tables(session->behind);
    const uint32_t shards = session->shards;
    if (session->n_tables == tables)
        return STRADS_OK;
    sti_pending *more = realloc(session->pending,
                                (size_t)tables * shards * sizeof(sti_pending));
    if (!more)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to keep increments of %" PRIu32 " tables",
                           tables);
    session->pending = more;
    for (; session->n_tables < tables; session->n_tables++) {
        const uint32_t t = session->n_tables;
        for (uint32_t s = 0; s < shards; s++) {
            sti_pending *pending = &more[(size_t)t * shards + s];
            sti_pending_init(pending, session->ops->spec(session->behind, t), t,
                             shards);
            if (!pending->spec->sparse && !sti_pending_is_filtered(pending))
                pending->piece = session->piece;
            sti_pending_tried(pending);
        }
    }
    return STRADS_OK;
}

void sti_session_free(strads_session *session)
{
    if (!session)
        return;
    for (size_t k = 0; k < (size_t)session->n_tables * session->shards; k++)
        sti_pending_free(&session->pending[k]);
    free(session->pending);
    free(session);
}

strads_err sti_session_open(const sti_session_ops *ops, void *behind,
                            uint32_t worker, uint32_t workers,
                            strads_session **out)
{
    strads_session *session = calloc(1, sizeof *session);
    if (!session)
        return strads_fail(STRADS_ENOMEM, "no memory for a session");
    session->ops = ops;
    session->behind = behind;
    session->worker = worker;
    session->workers = workers;
    session->shards = 1;
    session->adaptive.looked_at = ops->now(behind);
    strads_err err = ops->join(session);
    const bool joined = !err;
    if (joined)
        err = make_pending(session);
    if (err && joined)
        (void)ops->push(session, STI_PUSH_LEAVE, 0, false);
    if (err)
        sti_session_free(session);
    else
        *out = session;
    return err;
}

/* ---- time accounting --------------------------------------------------- */

static void record_span(const strads_session *session, const char *name,
                        uint64_t begin_ns, uint64_t end_ns)
{
    const sti_session_track *t = &session->track;
    if (end_ns > begin_ns)
        sti_trace_span(t->trace, t->track, name, begin_ns - t->zero_ns,
                       end_ns - t->zero_ns, session->clock);
}

void sti_session_traced(strads_session *session, const sti_session_track *track)
{
    session->track = *track;
    session->clock_ns = session->computing_ns =
        session->ops->now(session->behind);
}

/* The time at which an answer waited for clocks is unknown; the trace shows it
 * in the middle of the transfer. */
void sti_session_waited(strads_session *session, uint64_t begin_ns,
                        uint64_t end_ns, uint64_t parked_ns)
{
    uint64_t travel_ns = end_ns - begin_ns - parked_ns;
    session->times.waiting += 1e-9 * (double)parked_ns;
    session->times.network += 1e-9 * (double)travel_ns;
    session->waited_ns += end_ns - begin_ns;
    if (!session->track.trace)
        return;
    uint64_t parked_at = begin_ns + travel_ns / 2;
    record_span(session, "compute", session->computing_ns, begin_ns);
    record_span(session, "network", begin_ns, parked_at);
    record_span(session, "wait", parked_at, parked_at + parked_ns);
    record_span(session, "network", parked_at + parked_ns, end_ns);
    session->computing_ns = end_ns;
}

static void end_clock_span(strads_session *session)
{
    if (!session->track.trace)
        return;
    const uint64_t now = session->ops->now(session->behind);
    record_span(session, "compute", session->computing_ns, now);
    record_span(session, "clock", session->clock_ns, now);
    session->clock_ns = session->computing_ns = now;
}

/* ---- closing ----------------------------------------------------------- */

void sti_session_leave(strads_session *session)
{
    if (session->peers)
        sti_peers_leave(session->peers);
    (void)session->ops->push(session, STI_PUSH_LEAVE, 0, false);
    end_clock_span(session);
}

void strads_session_close(strads_session *session)
{
    if (session)
        sti_session_leave(session);
    sti_session_free(session);
}

/* ---- checks ------------------------------------------------------------ */

static strads_err check_table(strads_session *session, uint32_t table)
{
    if (table < session->n_tables)
        return STRADS_OK;
    const uint32_t tables = session->ops->tables(session->behind);
    if (table < tables)
        return make_pending(session);
    return strads_fail(STRADS_EINVAL,
                       "there is no table %" PRIu32 ": the store has "
                       "%" PRIu32 ", numbered from 0",
                       table, tables);
}

static const strads_table_spec *session_spec(const strads_session *session,
                                             uint32_t table)
{
    return session->pending[(size_t)table * session->shards].spec;
}

static strads_err check_table_rows(strads_session *session, uint32_t table,
                                   uint32_t n, const uint32_t *rows)
{
    strads_err err = check_table(session, table);
    for (uint32_t k = 0; !err && k < n; k++)
        err = sti_spec_check_row(session_spec(session, table), rows[k]);
    return err;
}

/* Finds the pending increments of a row that the caller adds to. */
static strads_err find_pending(strads_session *session, uint32_t table,
                               uint64_t row, sti_pending **out)
{
    strads_err err = check_table(session, table);
    if (!err)
        err = sti_spec_check_row(session_spec(session, table), row);
    if (!err)
        *out = sti_session_pending(session, table, (uint32_t)row);
    return err;
}

/* ---- reading ----------------------------------------------------------- */

/* The staleness of a read, in clocks or infinite, from the caller's value and
 * the current adaptive state. */
static uint32_t staleness_of(strads_session *session, uint32_t table,
                             uint32_t staleness)
{
    const strads_table_spec *spec = session_spec(session, table);
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = spec->staleness;
    if (staleness != STRADS_STALENESS_ADAPTIVE)
        return staleness;
    const uint32_t most = sti_staleness_max(spec);
    if (session->adaptive_most < most)
        session->adaptive_most = most;
    return sti_adaptive_staleness(&session->adaptive, spec);
}

/* Reads rows that are known to be in the table. */
static strads_err read_table_rows(strads_session *session, uint32_t table,
                                  uint32_t n, const uint32_t *rows,
                                  uint32_t staleness, void *out)
{
    const sti_session_read read = {.table = table,
                                   .n = n,
                                   .rows = rows,
                                   .staleness =
                                       staleness_of(session, table, staleness),
                                   .out = out};
    const uint64_t before = session->waited_ns;
    strads_err err = session->ops->read(session, &read);
    sti_adaptive_waited(&session->adaptive, session->waited_ns - before);
    return err;
}

strads_err strads_session_read_rows(strads_session *session, uint32_t table,
                                    uint32_t n, const uint32_t *rows,
                                    uint32_t staleness, void *out)
{
    strads_err err = check_table_rows(session, table, n, rows);
    return err ? err : read_table_rows(session, table, n, rows, staleness, out);
}

strads_err strads_session_prefetch(strads_session *session, uint32_t table,
                                   uint32_t n, const uint32_t *rows,
                                   uint32_t staleness)
{
    strads_err err = check_table_rows(session, table, n, rows);
    if (err || !session->ops->prefetch)
        return err;
    return session->ops->prefetch(
        session, &(sti_session_read){.table = table,
                                     .n = n,
                                     .rows = rows,
                                     .staleness = staleness_of(session, table,
                                                               staleness)});
}

strads_err strads_session_read_snapshot(strads_session *session, uint32_t table,
                                        uint32_t n, const uint32_t *rows,
                                        void *out, uint64_t *clock)
{
    const sti_session_read read = {
        .table = table, .n = n, .rows = rows, .out = out, .snapshot = clock};
    strads_err err = check_table_rows(session, table, n, rows);
    return err ? err : session->ops->read(session, &read);
}

/* Claims the cache entry of a narrow row. If the row is read again, its values
 * will be kept: returns the counter of its changes. NULL: they need not be
 * kept. */
static const sti_change_count *claim_recent(strads_session *session,
                                            sti_recent_key key, size_t bytes)
{
    const sti_session_ops *ops = session->ops;
    sti_recent_row *at =
        &session->recent.at[sti_recent_place(key.table, key.row)];
    if (!ops->changes || bytes > STI_RECENT_BYTES)
        return NULL;
    const bool again = at->key.row == key.row && at->key.table == key.table;
    at->key = key;
    at->changes = NULL;
    return again ? ops->changes(session->behind, key.table) : NULL;
}

static strads_err read_through(strads_session *session, sti_recent_key key,
                               void *out)
{
    sti_pending *pending;
    uint64_t before = 0;
    strads_err err = find_pending(session, key.table, key.row, &pending);
    if (err)
        return err;
    const sti_change_count *changes =
        claim_recent(session, key, pending->row_bytes);
    if (changes)
        before = atomic_load_explicit(changes, memory_order_acquire);
    err = read_table_rows(session, key.table, 1, &(uint32_t){(uint32_t)key.row},
                          key.staleness, out);
    if (changes && !err) {
        const uint32_t place = sti_recent_place(key.table, key.row);
        session->recent.at[place].changes = changes;
        session->recent.at[place].before = before;
        memcpy(session->recent.values[place], out, pending->row_bytes);
    }
    return err;
}

strads_err strads_session_read_row(strads_session *session, uint32_t table,
                                   uint64_t row, uint32_t staleness, void *out)
{
    const sti_recent_key key = {.row = row,
                                .clock = session->clock,
                                .table = table,
                                .staleness = staleness};
    const void *values = sti_recent_find(&session->recent, key);
    if (!values)
        return read_through(session, key, out);
    memcpy(out, values,
           session->pending[(size_t)table * session->shards].row_bytes);
    return STRADS_OK;
}

strads_err strads_session_racy(strads_session *session, uint32_t table,
                               void **cells)
{
    strads_err err = check_table(session, table);
    if (err)
        return err;
    const strads_table_spec *spec = session_spec(session, table);
    if (!session->ops->cells)
        return strads_fail(
            STRADS_EINVAL,
            "table \"%s\" is spread over nodes, which share no "
            "memory: a racy view needs the tables in one process; run "
            "in one process, or read with a staleness",
            spec->name);
    if (spec->sparse)
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\" is sparse: a racy view is of dense "
                           "rows",
                           spec->name);
    *cells = session->ops->cells(session->behind, table);
    return STRADS_OK;
}

/* ---- incrementing ------------------------------------------------------ */

strads_err strads_session_inc(strads_session *session, uint32_t table,
                              uint64_t row, uint32_t col, double delta)
{
    sti_pending *pending = NULL;
    union {
        double f64;
        float f32;
        int32_t i32;
        int64_t i64;
    } cell;
    strads_err err = find_pending(session, table, row, &pending);
    if (!err)
        err = sti_spec_check_col(pending->spec, col);
    if (!err)
        err = sti_cell_from(pending->spec->type, delta, &cell);
    if (err)
        return err;
    sti_recent_discard(&session->recent, table, row);
    return sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                     .n = 1,
                                                     .cols = &col,
                                                     .cells = &cell});
}

strads_err strads_session_inc_sparse(strads_session *session, uint32_t table,
                                     uint64_t row, uint32_t n,
                                     const uint32_t *cols, const void *delta)
{
    sti_pending *pending = NULL;
    strads_err err = find_pending(session, table, row, &pending);
    for (uint32_t k = 0; !err && k < n; k++)
        err = sti_spec_check_col(pending->spec, cols[k]);
    if (err || n == 0)
        return err;
    sti_recent_discard(&session->recent, table, row);
    return sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                     .n = n,
                                                     .cols = cols,
                                                     .cells = delta});
}

/* Called before increments are added to `row`. */
static strads_err push_early(strads_session *session, sti_pending *pending,
                             uint32_t row)
{
    strads_err err = STRADS_OK;
    if (sti_pending_may_leave(pending, row)) {
        if (!pending->was_early)
            pending->early_row = pending->rows[0];
        pending->was_early = true;
        err = session->ops->push_early(session, pending);
    }
    sti_pending_tried(pending);
    return err;
}

/* `row` is a row of the table. */
static strads_err add_row(strads_session *session, uint32_t table, uint32_t row,
                          const void *delta)
{
    sti_pending *pending = sti_session_pending(session, table, row);
    strads_err err = STRADS_OK;
    sti_recent_discard(&session->recent, table, row);
    if (sti_pending_is_due(pending))
        err = push_early(session, pending, row);
    return err ? err
               : sti_pending_add(pending,
                                 &(sti_row_delta){.row = row,
                                                  .n = pending->spec->cols,
                                                  .cells = delta});
}

strads_err strads_session_inc_row(strads_session *session, uint32_t table,
                                  uint64_t row, const void *delta)
{
    sti_pending *pending;
    strads_err err = find_pending(session, table, row, &pending);
    return err ? err : add_row(session, table, (uint32_t)row, delta);
}

strads_err strads_session_inc_rows(strads_session *session, uint32_t table,
                                   uint32_t n, const uint32_t *rows,
                                   const void *delta)
{
    const char *from = delta;
    strads_err err = check_table_rows(session, table, n, rows);
    for (uint32_t k = 0; !err && k < n; k++) {
        err = add_row(session, table, rows[k], from);
        from += session->pending[(size_t)table * session->shards].row_bytes;
    }
    return err;
}

/* ---- clocks ------------------------------------------------------------ */

strads_err strads_session_flush(strads_session *session)
{
    return session->ops->push(session, STI_PUSH_FLUSH, 0, false);
}

strads_err strads_session_clock(strads_session *session)
{
    return strads_session_advance(session, session->clock + 1);
}

/* `more`: a read follows. */
static strads_err end_clocks(strads_session *session, uint64_t clock, bool more)
{
    uint64_t to = clock;
    if (session->cut_off && session->cut_off(session->loop))
        return strads_fail(
            STRADS_ECANCELED,
            "the run has ended: a loop must check strads_loop_ends "
            "once a clock and return");
    const bool stops =
        session->boundary && session->boundary(session->loop, &to);
    strads_err err = stops ? strads_session_flush(session) : STRADS_OK;
    if (!err)
        err = session->ops->push(session, STI_PUSH_CLOCK, to, more && !stops);
    if (err)
        return err;
    for (size_t k = 0; k < (size_t)session->n_tables * session->shards; k++)
        sti_pending_clock(&session->pending[k]);
    if (session->adaptive_most)
        sti_adaptive_clock(&session->adaptive,
                           session->ops->now(session->behind),
                           session->adaptive_most);
    end_clock_span(session);
    session->clock = to;
    if (stops)
        err = session->arrive(session->loop);
    return err || to == clock ? err : end_clocks(session, clock, more);
}

strads_err strads_session_advance(strads_session *session, uint64_t clock)
{
    return clock <= session->clock ? strads_session_flush(session)
                                   : end_clocks(session, clock, false);
}

strads_err strads_session_clock_and_read(strads_session *session,
                                         uint32_t table, uint32_t n,
                                         const uint32_t *rows,
                                         uint32_t staleness, void *out)
{
    strads_err err = check_table_rows(session, table, n, rows);
    if (!err)
        err = end_clocks(session, session->clock + 1, true);
    return err ? err : read_table_rows(session, table, n, rows, staleness, out);
}

strads_err strads_session_barrier(strads_session *session)
{
    return session->ops->barrier(session);
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
