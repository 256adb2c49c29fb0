/* The store of one process: tables by number and by name, their operations, and
 * sessions. Increments are committed to the tables; reads wait for the clocks
 * of the group.
 *
 * Invariants: tables are only added, so a number stays valid for the store's
 * life. A worker's own increments are either pending or in the table, never
 * both. A clock ends only after all of its increments are in the tables. A
 * session at clock c commits, under one lock, to the rows and to each exact
 * snapshot of a clock above c; the snapshots of clocks up to c have been
 * started before. If memory runs out for a snapshot, only that snapshot is
 * lost. */
#include "engine/store/local_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/data/memory.h"
#include "engine/store/session.h"

/* ---- tables -------------------------------------------------------------- */

strads_err strads_store_open(uint64_t memory_limit, strads_store **out)
{
    strads_store *store = calloc(1, sizeof *store);
    if (!store)
        return strads_fail(STRADS_ENOMEM, "no memory for a store");
    store->budget.limit = memory_limit ? memory_limit : sti_memory_available();
    pthread_mutex_init(&store->clocks.lock, NULL);
    pthread_cond_init(&store->clocks.moved, NULL);
    pthread_mutex_init(&store->exact.lock, NULL);
    *out = store;
    return STRADS_OK;
}

/* Frees the images of all tables. */
static void free_images(sti_exact *exact)
{
    for (uint32_t t = 0; t < exact->n; t++)
        sti_images_free(&exact->images[t]);
}

static void free_received(sti_clocks *clocks)
{
    for (uint32_t w = 0; clocks->received && w < clocks->workers; w++)
        sti_receive_queue_free(&clocks->received[w]);
    free(clocks->received);
    clocks->received = NULL;
}

void strads_store_free(strads_store *store)
{
    if (!store)
        return;
    free_images(&store->exact);
    free(store->exact.images);
    pthread_mutex_destroy(&store->exact.lock);
    for (uint32_t t = 0; t < store->n_tables; t++)
        sti_table_free(store->tables[t]);
    free(store->tables);
    free_received(&store->clocks);
    free(store->clocks.worker);
    pthread_cond_destroy(&store->clocks.moved);
    pthread_mutex_destroy(&store->clocks.lock);
    free(store);
}

static bool find_table(const strads_store *store, const char *name,
                       uint32_t *table)
{
    for (uint32_t t = 0; t < store->n_tables; t++)
        if (strcmp(store->tables[t]->name, name) == 0) {
            *table = t;
            return true;
        }
    return false;
}

strads_err strads_store_create(strads_store *store,
                               const strads_table_spec *spec, uint32_t *table)
{
    uint32_t other;
    if (spec->name && find_table(store, spec->name, &other))
        return strads_fail(STRADS_EINVAL,
                           "table \"%s\" exists already, number %" PRIu32
                           ": names are unique in a store",
                           spec->name, other);
    size_t n = store->n_tables;
    sti_table **tables = realloc(store->tables, (n + 1) * sizeof(sti_table *));
    if (!tables)
        return strads_fail(STRADS_ENOMEM, "no memory for one more table");
    store->tables = tables;
    strads_err err = sti_table_open(spec, &store->budget, &tables[n]);
    if (err)
        return err;
    *table = store->n_tables++;
    return STRADS_OK;
}

strads_err strads_store_find(const strads_store *store, const char *name,
                             uint32_t *table)
{
    char names[512] = "";
    size_t length = 0;
    if (find_table(store, name, table))
        return STRADS_OK;
    for (uint32_t t = 0; t < store->n_tables && length < sizeof names; t++)
        length +=
            (size_t)snprintf(names + length, sizeof names - length, "%s\"%s\"",
                             t ? ", " : "", store->tables[t]->name);
    return strads_fail(STRADS_EINVAL, "there is no table \"%s\"; there %s%s",
                       name, store->n_tables ? "are: " : "are none", names);
}

strads_err sti_store_table(const strads_store *store, uint32_t number,
                           sti_table **out)
{
    if (number >= store->n_tables)
        return strads_fail(STRADS_EINVAL,
                           "there is no table %" PRIu32 ": the store has "
                           "%" PRIu32 ", numbered from 0",
                           number, store->n_tables);
    *out = store->tables[number];
    return STRADS_OK;
}

const strads_table_spec *strads_store_spec(const strads_store *store,
                                           uint32_t table)
{
    return table < store->n_tables ? &store->tables[table]->spec : NULL;
}

strads_err strads_store_read(const strads_store *store, uint32_t table,
                             uint32_t n, const uint32_t *rows, void *out)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    return err ? err : sti_table_read(found, n, rows, out);
}

strads_err strads_store_inc(strads_store *store, uint32_t table, uint32_t n,
                            const uint32_t *rows, const void *delta,
                            uint64_t *version)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    return err ? err : sti_table_inc(found, n, rows, delta, version);
}

strads_err strads_store_inc_sparse(strads_store *store, uint32_t table,
                                   uint64_t row, uint32_t n,
                                   const uint32_t *cols, const void *delta,
                                   uint64_t *version)
{
    sti_table *found = NULL;
    strads_err err = sti_store_table(store, table, &found);
    if (!err)
        err = sti_spec_check_row(&found->spec, row);
    if (err)
        return err;
    return sti_table_add(found, 1,
                         &(sti_row_delta){.row = (uint32_t)row,
                                          .n = n,
                                          .cols = cols,
                                          .cells = delta},
                         version);
}

uint64_t strads_store_version(const strads_store *store, uint32_t table)
{
    return table < store->n_tables ? atomic_load(&store->tables[table]->version)
                                   : 0;
}

const void *strads_store_dense(const strads_store *store, uint32_t table)
{
    return table < store->n_tables ? store->tables[table]->dense : NULL;
}

uint64_t strads_store_bytes(const strads_store *store)
{
    return atomic_load(&store->budget.used);
}

/* ---- clocks -------------------------------------------------------------- */

static strads_err start_group(sti_clocks *clocks, uint32_t workers)
{
    sti_worker_clock *worker = calloc(workers, sizeof *worker);
    sti_receive_queue *received = calloc(workers, sizeof *received);
    if (!worker || !received) {
        free(worker);
        free(received);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the clocks of %" PRIu32 " workers",
                           workers);
    }
    free_received(clocks);
    free(clocks->worker);
    clocks->worker = worker;
    clocks->received = received;
    clocks->workers = workers;
    clocks->left = 0;
    clocks->group++;
    return STRADS_OK;
}

static strads_err join_group(sti_clocks *clocks, uint32_t worker,
                             uint32_t workers)
{
    if (clocks->left == clocks->workers) {
        strads_err err = start_group(clocks, workers);
        if (err)
            return err;
    }
    if (workers != clocks->workers)
        return strads_fail(STRADS_EINVAL,
                           "worker %" PRIu32 " opens a session of %" PRIu32
                           " workers, others of the same store one of %" PRIu32
                           ": they must agree",
                           worker, workers, clocks->workers);
    if (clocks->worker[worker].state != STI_CLOCK_AWAITED)
        return strads_fail(STRADS_ESTATE,
                           "worker %" PRIu32 "'s session %s: a worker opens "
                           "one, once in a group",
                           worker,
                           clocks->worker[worker].state == STI_CLOCK_LEFT
                               ? "was closed before"
                               : "is open");
    clocks->worker[worker].state = STI_CLOCK_RUNNING;
    return STRADS_OK;
}

/* Worker `worker` of `workers` joins at clock 0. Once all workers have left, a
 * new group may join; *group is its number, from 1. */
static strads_err join_clocks(sti_clocks *clocks, uint32_t worker,
                              uint32_t workers, uint64_t *group)
{
    if (worker >= workers)
        return strads_fail(STRADS_EINVAL,
                           "there is no worker %" PRIu32 " among %" PRIu32
                           ": they are numbered from 0",
                           worker, workers);
    pthread_mutex_lock(&clocks->lock);
    strads_err err = join_group(clocks, worker, workers);
    *group = clocks->group;
    pthread_mutex_unlock(&clocks->lock);
    return err;
}

static void wake_waiting(sti_clocks *clocks)
{
    if (clocks->waiting)
        pthread_cond_broadcast(&clocks->moved);
}

static void leave_clocks(sti_clocks *clocks, uint32_t worker)
{
    pthread_mutex_lock(&clocks->lock);
    clocks->worker[worker].state = STI_CLOCK_LEFT;
    clocks->left++;
    wake_waiting(clocks);
    pthread_mutex_unlock(&clocks->lock);
}

/* Ends the worker's clocks below `to`, which is above its clock. */
static void reach_clock(sti_clocks *clocks, uint32_t worker, uint64_t to)
{
    pthread_mutex_lock(&clocks->lock);
    clocks->worker[worker].clock = to;
    wake_waiting(clocks);
    pthread_mutex_unlock(&clocks->lock);
}

static uint64_t least_of_others(const sti_clocks *clocks, uint32_t worker)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t v = 0; v < clocks->workers; v++) {
        const sti_worker_clock *other = &clocks->worker[v];
        if (v != worker && other->state != STI_CLOCK_LEFT &&
            other->clock < least)
            least = other->clock;
    }
    return least;
}

/* Blocks until the clocks of all other workers that have not left are at least
 * `target`. Returns the least of them, or UINT64_MAX if there are none. The
 * caller then sees everything that these workers did in the ended clocks. */
static uint64_t wait_clocks(sti_clocks *clocks, uint32_t worker,
                            uint64_t target)
{
    pthread_mutex_lock(&clocks->lock);
    uint64_t least = least_of_others(clocks, worker);
    while (least < target) {
        clocks->waiting++;
        pthread_cond_wait(&clocks->moved, &clocks->lock);
        clocks->waiting--;
        least = least_of_others(clocks, worker);
    }
    pthread_mutex_unlock(&clocks->lock);
    return least;
}

/* ---- exact snapshots ----------------------------------------------------- */

/* The images of a table; NULL: no memory. Images of an earlier group of workers
 * are dropped. */
static sti_images *images_of(const strads_session *session, uint32_t table)
{
    strads_store *store = session->behind;
    sti_exact *exact = &store->exact;
    if (exact->group != session->group)
        free_images(exact);
    exact->group = session->group;
    if (exact->n < store->n_tables) {
        sti_images *more =
            realloc(exact->images, store->n_tables * sizeof *more);
        if (!more)
            return NULL;
        exact->images = more;
        for (; exact->n < store->n_tables; exact->n++)
            more[exact->n] = (sti_images){
                .every = store->tables[exact->n]->spec.snapshot_every};
    }
    return &exact->images[table];
}

static strads_err add_to_images(const strads_session *session,
                                sti_images *images, const sti_pending *pending,
                                const sti_table *table)
{
    strads_store *store = session->behind;
    uint64_t least = wait_clocks(&store->clocks, session->worker, 0);
    if (least > session->clock)
        least = session->clock;
    sti_images_drop(images, least);
    strads_err err =
        sti_images_begin(images, table, table->name, least, session->clock);
    for (uint32_t k = 0; !err && k < STI_IMAGES_MAX; k++)
        if (images->image[k].clock > session->clock)
            err = sti_pending_add_to(pending, images->image[k].table);
    return err;
}

/* Commits a session's pending increments for a table that keeps snapshots.
 * STRADS_ENOMEM: all of them stay pending. */
static strads_err commit_exactly(const strads_session *session, uint32_t table)
{
    strads_store *store = session->behind;
    sti_pending *pending = &session->pending[table];
    sti_table *rows = store->tables[table];
    if (pending->n == 0)
        return STRADS_OK;
    pthread_mutex_lock(&store->exact.lock);
    sti_images *images = images_of(session, table);
    if (images && add_to_images(session, images, pending, rows))
        sti_images_lose(images, session->clock);
    strads_err err =
        images ? sti_pending_commit(pending, rows)
               : strads_fail(STRADS_ENOMEM, "no memory for snapshots");
    if (images && err)
        sti_images_lose(images, session->clock);
    pthread_mutex_unlock(&store->exact.lock);
    return err;
}

/* Reads rows as of `clock`, which all workers have reached, while this session
 * is before the next snapshot. STRADS_ESTATE: they were not kept. */
static strads_err read_exactly(const strads_session *session,
                               const sti_session_read *read, uint64_t clock)
{
    strads_store *store = session->behind;
    sti_table *rows = store->tables[read->table];
    pthread_mutex_lock(&store->exact.lock);
    const sti_images *images = images_of(session, read->table);
    sti_table *as_of = images ? sti_images_at(images, rows, clock) : NULL;
    strads_err err =
        as_of ? sti_table_read(as_of, read->n, read->rows, read->out)
              : strads_fail(STRADS_ESTATE,
                            "the snapshot of clock %" PRIu64 " of table \"%s\" "
                            "was not kept: a worker is too many clocks ahead, "
                            "or there was no memory for it",
                            clock, rows->name);
    pthread_mutex_unlock(&store->exact.lock);
    return err;
}

/* ---- sessions ------------------------------------------------------------ */

static uint32_t count_local_tables(const void *behind)
{
    return ((const strads_store *)behind)->n_tables;
}

static const strads_table_spec *local_spec(const void *behind, uint32_t table)
{
    return strads_store_spec(behind, table);
}

static strads_err join_local_session(strads_session *session)
{
    strads_store *store = session->behind;
    return join_clocks(&store->clocks, session->worker, session->workers,
                       &session->group);
}

/* Counts the commits of all workers to a table. */
static const sti_change_count *table_changes(const void *behind, uint32_t table)
{
    return &((const strads_store *)behind)->tables[table]->version;
}

/* ---- reading ----------------------------------------------------------- */

static void wait_for_others(strads_session *session, uint64_t clock)
{
    strads_store *store = session->behind;
    if (session->others >= clock)
        return;
    uint64_t begin = sti_monotonic_now();
    session->others = wait_clocks(&store->clocks, session->worker, clock);
    uint64_t end = sti_monotonic_now();
    sti_session_waited(session, begin, end, end - begin);
}

/* The snapshot is final: all workers have ended the clocks below it. */
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
    strads_err err = read_exactly(session, read, clock);
    if (!err)
        *read->snapshot = clock;
    return err;
}

/* The read needs the updates of clocks below c - s: the others must have ended
 * them, so their clocks must be at least c - s. */
static strads_err read_local_rows(strads_session *session,
                                  const sti_session_read *read)
{
    const strads_store *store = session->behind;
    sti_table *table = store->tables[read->table];
    if (read->snapshot)
        return read_snapshot(session, read);
    if (read->staleness != STRADS_STALENESS_INFINITE &&
        session->clock > read->staleness)
        wait_for_others(session, session->clock - read->staleness);
    strads_err err = sti_table_read(table, read->n, read->rows, read->out);
    if (read->table >= session->n_tables ||
        session->pending[read->table].n == 0)
        return err;
    for (uint32_t k = 0; !err && k < read->n; k++)
        sti_pending_apply(&session->pending[read->table], read->rows[k],
                          (char *)read->out + k * table->row_bytes);
    return err;
}

/* ---- clocks ------------------------------------------------------------ */

static strads_err commit_pending(strads_session *session)
{
    const strads_store *store = session->behind;
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < session->n_tables; t++)
        err = store->tables[t]->spec.snapshot_every
                  ? commit_exactly(session, t)
                  : sti_pending_commit(&session->pending[t], store->tables[t]);
    return err;
}

static strads_err push_local_session(strads_session *session, sti_push_end end,
                                     uint64_t clock, bool more)
{
    strads_store *store = session->behind;
    strads_err err = commit_pending(session);
    (void)more;
    if (end == STI_PUSH_LEAVE)
        leave_clocks(&store->clocks, session->worker);
    if (err || end != STI_PUSH_CLOCK)
        return err;
    reach_clock(&store->clocks, session->worker, clock);
    return STRADS_OK;
}

static strads_err wait_at_local_barrier(strads_session *session)
{
    wait_for_others(session, session->clock);
    return STRADS_OK;
}

/* ---- peers --------------------------------------------------------------- */

static strads_err post_local_vector(strads_session *session, uint32_t to,
                                    sti_buffer *packed)
{
    sti_clocks *clocks = &((strads_store *)session->behind)->clocks;
    pthread_mutex_lock(&clocks->lock);
    strads_err err =
        sti_receive_queue_put(&clocks->received[to], clocks->workers, packed);
    wake_waiting(clocks);
    pthread_mutex_unlock(&clocks->lock);
    return err;
}

static strads_err collect_local_vectors(strads_session *session,
                                        sti_collect *what)
{
    sti_clocks *clocks = &((strads_store *)session->behind)->clocks;
    const uint64_t begin = sti_monotonic_now();
    bool waited = false;
    pthread_mutex_lock(&clocks->lock);
    while (!sti_receive_queue_take(&clocks->received[session->worker], what)) {
        waited = true;
        clocks->waiting++;
        pthread_cond_wait(&clocks->moved, &clocks->lock);
        clocks->waiting--;
    }
    pthread_mutex_unlock(&clocks->lock);
    const uint64_t end = sti_monotonic_now();
    if (waited)
        sti_session_waited(session, begin, end, end - begin);
    return STRADS_OK;
}

static void *table_cells(const void *behind, uint32_t table)
{
    return ((const strads_store *)behind)->tables[table]->dense;
}

static uint64_t now_monotonic(const void *behind)
{
    (void)behind;
    return sti_monotonic_now();
}

static const sti_session_ops local = {
    .tables = count_local_tables,
    .spec = local_spec,
    .join = join_local_session,
    .read = read_local_rows,
    .changes = table_changes,
    .push = push_local_session,
    .barrier = wait_at_local_barrier,
    .post = post_local_vector,
    .collect = collect_local_vectors,
    .cells = table_cells,
    .now = now_monotonic,
};

strads_err strads_session_open(strads_store *store, uint32_t worker,
                               uint32_t workers, strads_session **out)
{
    return sti_session_open(&local, store, worker, workers, out);
}
