/* Sessions of a store in this process: increments are committed to its tables,
 * and reads wait for the clocks of the group. Invariants: own increments are
 * either pending or in the table, never both; a clock is ended only after all
 * of its increments are in the tables. */
#include "engine/store/session_exact.h"
#include "engine/store/store_inside.h"

static uint32_t count_tables(const void *behind)
{
    return ((const strads_store *)behind)->n_tables;
}

static const strads_table_spec *spec_of(const void *behind, uint32_t table)
{
    return strads_store_spec(behind, table);
}

static strads_err join(strads_session *session)
{
    strads_store *store = session->behind;
    return sti_clocks_join(&store->clocks, session->worker, session->workers,
                           &session->group);
}

/* A table's commits, of anybody. */
static const sti_change_count *changes_of(const void *behind, uint32_t table)
{
    return &((const strads_store *)behind)->tables[table]->version;
}

/* ---- reading ----------------------------------------------------------- */

static void wait_for_others(strads_session *session, uint64_t clock)
{
    strads_store *store = session->behind;
    if (session->others >= clock)
        return;
    uint64_t begin = sti_session_clock_ns();
    session->others = sti_clocks_wait(&store->clocks, session->worker, clock);
    uint64_t end = sti_session_clock_ns();
    sti_session_waited(session, begin, end, end - begin);
    sti_adaptive_waited(&session->adaptive, end - begin);
}

static uint32_t picked(strads_session *session, const strads_table_spec *spec)
{
    uint32_t most = sti_staleness_max(spec);
    if (session->adaptive_most < most)
        session->adaptive_most = most;
    return sti_adaptive_staleness(&session->adaptive, spec);
}

/* Updates of clocks below c - s are wanted: the others must have ended them,
 * that is, be at clock c - s or later. */
static void wait_until_fresh(strads_session *session, const sti_table *table,
                             uint32_t staleness)
{
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = table->spec.staleness;
    if (staleness == STRADS_STALENESS_ADAPTIVE)
        staleness = picked(session, &table->spec);
    if (staleness != STRADS_STALENESS_INFINITE && session->clock > staleness)
        wait_for_others(session, session->clock - staleness);
}

/* Nobody adds to a clock that all have ended. */
static strads_err read_snapshot(strads_session *session,
                                const sti_session_read *read)
{
    const strads_store *store = session->behind;
    const strads_table_spec *spec = &store->tables[read->table]->spec;
    uint64_t every = spec->snapshot_every;
    if (every == 0 || session->clock < every)
        return sti_spec_no_snapshot(spec, session->clock);
    uint64_t clock = session->clock / every * every;
    wait_for_others(session, clock);
    strads_err err = sti_exact_read(session, read, clock);
    if (!err)
        *read->snapshot = clock;
    return err;
}

static strads_err read_rows(strads_session *session,
                            const sti_session_read *read)
{
    const strads_store *store = session->behind;
    sti_table *table = store->tables[read->table];
    if (read->snapshot)
        return read_snapshot(session, read);
    wait_until_fresh(session, table, read->staleness);
    strads_err err = sti_table_read(table, read->n, read->rows, read->out);
    if (read->table >= session->n_pending ||
        session->pending[read->table].n == 0)
        return err;
    for (uint32_t k = 0; !err && k < read->n; k++)
        sti_pending_apply(&session->pending[read->table], read->rows[k],
                          (char *)read->out + k * table->row_bytes);
    return err;
}

/* ---- clocks ------------------------------------------------------------ */

static strads_err flush(strads_session *session)
{
    const strads_store *store = session->behind;
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < session->n_pending; t++)
        err = store->tables[t]->spec.snapshot_every
                  ? sti_exact_commit(session, t)
                  : sti_pending_commit(&session->pending[t], store->tables[t]);
    return err;
}

static strads_err advance(strads_session *session, uint64_t clock)
{
    strads_store *store = session->behind;
    strads_err err = flush(session);
    if (err)
        return err;
    sti_clocks_reach(&store->clocks, session->worker, clock);
    if (session->adaptive_most)
        sti_adaptive_clock(&session->adaptive, sti_session_clock_ns(),
                           session->adaptive_most);
    return STRADS_OK;
}

static strads_err barrier(strads_session *session)
{
    wait_for_others(session, session->clock);
    return STRADS_OK;
}

static void leave(strads_session *session)
{
    strads_store *store = session->behind;
    (void)flush(session);
    sti_clocks_leave(&store->clocks, session->worker);
}

static const sti_session_ops local = {
    .tables = count_tables,
    .spec = spec_of,
    .join = join,
    .read = read_rows,
    .changes = changes_of,
    .flush = flush,
    .advance = advance,
    .barrier = barrier,
    .leave = leave,
};

strads_err strads_session_open(strads_store *store, uint32_t worker,
                               uint32_t workers, strads_session **out)
{
    return sti_session_open(&local, store, worker, workers, out);
}
