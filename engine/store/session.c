/* A worker's clocked view, wherever the tables are: its clock, and what it has
 * added since its last push. Checks what a caller says; the rest is done by
 * what stands behind (session_inside.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/store/number_cells.h"
#include "engine/store/pending_push.h"
#include "engine/store/session_inside.h"

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
    strads_err err = ops->join(session);
    if (err)
        free(session);
    else
        *out = session;
    return err;
}

void sti_session_free(strads_session *session)
{
    if (!session)
        return;
    for (uint32_t t = 0; t < session->n_pending; t++)
        sti_pending_free(&session->pending[t]);
    free(session->pending);
    free(session);
}

/* ---- where its time goes ----------------------------------------------- */

uint64_t sti_session_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t now_of(const strads_session *session)
{
    return session->ops->now ? session->ops->now(session->behind)
                             : sti_session_clock_ns();
}

static void span(const strads_session *session, const char *name,
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
    session->clock_ns = session->computing_ns = now_of(session);
}

/* It is not told when an answer waited for clocks: amid its travel, say. */
void sti_session_waited(strads_session *session, uint64_t begin_ns,
                        uint64_t end_ns, uint64_t parked_ns)
{
    uint64_t travel_ns = end_ns - begin_ns - parked_ns;
    session->times.waiting += 1e-9 * (double)parked_ns;
    session->times.network += 1e-9 * (double)travel_ns;
    if (!session->track.trace)
        return;
    uint64_t parked_at = begin_ns + travel_ns / 2;
    span(session, "compute", session->computing_ns, begin_ns);
    span(session, "network", begin_ns, parked_at);
    span(session, "wait", parked_at, parked_at + parked_ns);
    span(session, "network", parked_at + parked_ns, end_ns);
    session->computing_ns = end_ns;
}

static void end_clock_span(strads_session *session)
{
    if (!session->track.trace)
        return;
    uint64_t now = now_of(session);
    span(session, "compute", session->computing_ns, now);
    span(session, "clock", session->clock_ns, now);
    session->clock_ns = session->computing_ns = now;
}

/* ---- its end ----------------------------------------------------------- */

void sti_session_leave(strads_session *session)
{
    session->ops->leave(session);
    end_clock_span(session);
}

void strads_session_close(strads_session *session)
{
    if (session)
        sti_session_leave(session);
    sti_session_free(session);
}

/* ---- checks ------------------------------------------------------------ */

static strads_err find_spec(const strads_session *session, uint32_t table,
                            const strads_table_spec **out)
{
    *out = session->ops->spec(session->behind, table);
    if (*out)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "there is no table %" PRIu32 ": the store has "
                       "%" PRIu32 ", numbered from 0",
                       table, session->ops->tables(session->behind));
}

/* Tables may have been added since the last call. */
strads_err sti_session_make_pending(strads_session *session)
{
    uint32_t tables = session->ops->tables(session->behind);
    if (session->n_pending == tables)
        return STRADS_OK;
    sti_pending *more = realloc(session->pending, tables * sizeof(sti_pending));
    if (!more)
        return strads_fail(STRADS_ENOMEM,
                           "no memory to keep increments of %" PRIu32 " tables",
                           tables);
    session->pending = more;
    while (session->n_pending < tables) {
        uint32_t t = session->n_pending++;
        sti_pending_init(&more[t], session->ops->spec(session->behind, t));
    }
    return STRADS_OK;
}

strads_err sti_session_make_pieces(strads_session *session, uint64_t piece)
{
    strads_err err = sti_session_make_pending(session);
    session->piece = piece;
    for (uint32_t t = 0; !err && t < session->n_pending; t++) {
        sti_pending *pending = &session->pending[t];
        if (!pending->spec->sparse && !sti_pending_is_filtered(pending))
            pending->piece = piece;
        sti_pending_tried(pending);
    }
    return err;
}

strads_err sti_session_find_pending(strads_session *session, uint32_t table,
                                    sti_pending **out)
{
    const strads_table_spec *spec;
    strads_err err = STRADS_OK;
    if (table >= session->n_pending) {
        err = find_spec(session, table, &spec);
        if (!err)
            err = sti_session_make_pending(session);
        if (err)
            return err;
    }
    *out = &session->pending[table];
    return STRADS_OK;
}

/* ---- reading ----------------------------------------------------------- */

static strads_err check_rows(strads_session *session,
                             const sti_session_read *read)
{
    sti_pending *pending;
    strads_err err = sti_session_find_pending(session, read->table, &pending);
    for (uint32_t k = 0; !err && k < read->n; k++)
        err = sti_spec_check_row(pending->spec, read->rows[k]);
    return err;
}

static strads_err read_rows(strads_session *session,
                            const sti_session_read *read)
{
    strads_err err = check_rows(session, read);
    return err ? err : session->ops->read(session, read);
}

strads_err strads_session_read_rows(strads_session *session, uint32_t table,
                                    uint32_t n, const uint32_t *rows,
                                    uint32_t staleness, void *out)
{
    return read_rows(session, &(sti_session_read){.table = table,
                                                  .n = n,
                                                  .rows = rows,
                                                  .staleness = staleness,
                                                  .out = out});
}

strads_err strads_session_read_snapshot(strads_session *session, uint32_t table,
                                        uint32_t n, const uint32_t *rows,
                                        void *out, uint64_t *clock)
{
    return read_rows(session, &(sti_session_read){.table = table,
                                                  .n = n,
                                                  .rows = rows,
                                                  .out = out,
                                                  .snapshot = clock});
}

static sti_recent_key key_of(const strads_session *session, uint32_t table,
                             uint64_t row, uint32_t staleness)
{
    return (sti_recent_key){.row = row,
                            .clock = session->clock,
                            .table = table,
                            .staleness = staleness};
}

/* Counts the changes of a narrow row that is read again; NULL: it need not be
 * kept. */
static const sti_change_count *keeps(strads_session *session,
                                     sti_recent_key key)
{
    const sti_session_ops *ops = session->ops;
    return ops->changes &&
                   session->pending[key.table].row_bytes <= STI_RECENT_BYTES &&
                   sti_recent_claim(&session->recent, key)
               ? ops->changes(session->behind, key.table)
               : NULL;
}

static strads_err ask_row(strads_session *session, uint32_t table, uint64_t row,
                          uint32_t staleness, void *out)
{
    const sti_recent_key key = key_of(session, table, row, staleness);
    sti_pending *pending;
    uint64_t before = 0;
    strads_err err = sti_session_find_pending(session, table, &pending);
    if (!err)
        err = sti_spec_check_row(pending->spec, row);
    if (err)
        return err;
    const sti_change_count *changes = keeps(session, key);
    if (changes)
        before = atomic_load_explicit(changes, memory_order_acquire);
    err = session->ops->read(session, &(sti_session_read){
                                          .table = table,
                                          .n = 1,
                                          .rows = &(uint32_t){(uint32_t)row},
                                          .staleness = staleness,
                                          .out = out,
                                      });
    if (changes && !err)
        sti_recent_keep(&session->recent, key, changes, before, out,
                        pending->row_bytes);
    return err;
}

strads_err strads_session_read_row(strads_session *session, uint32_t table,
                                   uint64_t row, uint32_t staleness, void *out)
{
    const void *values =
        sti_recent_find(&session->recent,
                        key_of(session, table, row, staleness));
    if (!values)
        return ask_row(session, table, row, staleness, out);
    memcpy(out, values, session->pending[table].row_bytes);
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
    strads_err err = sti_session_find_pending(session, table, &pending);
    if (!err)
        err = sti_spec_check_row(pending->spec, row);
    if (!err)
        err = sti_spec_check_col(pending->spec, col);
    if (!err)
        err = sti_cell_from(pending->spec->type, delta, &cell);
    if (err)
        return err;
    sti_recent_forget(&session->recent, table, row);
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
    strads_err err = sti_session_find_pending(session, table, &pending);
    if (!err)
        err = sti_spec_check_row(pending->spec, row);
    for (uint32_t k = 0; !err && k < n; k++)
        err = sti_spec_check_col(pending->spec, cols[k]);
    if (err || n == 0)
        return err;
    sti_recent_forget(&session->recent, table, row);
    return sti_pending_add(pending, &(sti_row_delta){.row = (uint32_t)row,
                                                     .n = n,
                                                     .cols = cols,
                                                     .cells = delta});
}

/* Before `row` is added to. */
static strads_err push_early(strads_session *session, sti_pending *pending,
                             uint32_t row)
{
    strads_err err = STRADS_OK;
    if (sti_pending_may_leave(pending, row)) {
        if (!pending->was_early)
            pending->early_row = pending->rows[0];
        pending->was_early = true;
        err = session->ops->push_early(session);
    }
    sti_pending_tried(pending);
    return err;
}

strads_err strads_session_inc_row(strads_session *session, uint32_t table,
                                  uint64_t row, const void *delta)
{
    sti_pending *pending = NULL;
    strads_err err = sti_session_find_pending(session, table, &pending);
    if (!err)
        err = sti_spec_check_row(pending->spec, row);
    if (err)
        return err;
    sti_recent_forget(&session->recent, table, row);
    if (sti_pending_is_due(pending))
        err = push_early(session, pending, (uint32_t)row);
    return err ? err
               : sti_pending_add(pending,
                                 &(sti_row_delta){.row = (uint32_t)row,
                                                  .n = pending->spec->cols,
                                                  .cells = delta});
}

/* ---- clocks ------------------------------------------------------------ */

strads_err strads_session_flush(strads_session *session)
{
    return session->ops->flush(session);
}

void sti_session_passed(strads_session *session, uint64_t clock)
{
    for (uint32_t t = 0; t < session->n_pending; t++)
        sti_pending_clock(&session->pending[t]);
    end_clock_span(session);
    session->clock = clock;
}

static strads_err check_cut_off(const strads_session *session)
{
    if (!session->cut_off || !session->cut_off(session->cut_off_arg))
        return STRADS_OK;
    return strads_fail(STRADS_ECANCELED,
                       "the run has ended: a loop is to ask for that once a "
                       "clock (strads_loop_ends), and to return");
}

strads_err strads_session_clock(strads_session *session)
{
    return strads_session_advance(session, session->clock + 1);
}

strads_err strads_session_advance(strads_session *session, uint64_t clock)
{
    if (clock <= session->clock)
        return strads_session_flush(session);
    strads_err err = check_cut_off(session);
    if (!err)
        err = session->ops->advance(session, clock);
    if (!err)
        sti_session_passed(session, clock);
    return err;
}

static strads_err clock_and_read(strads_session *session,
                                 const sti_session_read *read)
{
    strads_err err = check_rows(session, read);
    if (!err && session->ops->advance_and_read) {
        err = check_cut_off(session);
        return err ? err : session->ops->advance_and_read(session, read);
    }
    if (!err)
        err = strads_session_clock(session);
    return err ? err : session->ops->read(session, read);
}

strads_err strads_session_clock_and_read(strads_session *session,
                                         uint32_t table, uint32_t n,
                                         const uint32_t *rows,
                                         uint32_t staleness, void *out)
{
    return clock_and_read(session, &(sti_session_read){.table = table,
                                                       .n = n,
                                                       .rows = rows,
                                                       .staleness = staleness,
                                                       .out = out});
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
