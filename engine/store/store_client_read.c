/* Reads and barriers (C5), as far as they are a worker's: what it is to see,
 * and whether the cache has it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/store_client_state.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory to wait for rows");
}

/* ---- reading ----------------------------------------------------------- */

static strads_err check_read(const sti_client *client,
                             const sti_client_read *read)
{
    if (read->table >= client->n_tables)
        return strads_fail(STRADS_EINVAL,
                           "there is no table %" PRIu32 ": the store has "
                           "%" PRIu32 ", numbered from 0",
                           read->table, client->n_tables);
    const strads_table_spec *spec = &client->tables[read->table];
    for (uint32_t k = 0; k < read->n; k++)
        if (read->rows[k] >= spec->rows)
            return strads_fail(STRADS_EINVAL,
                               "table \"%s\" has %" PRIu64
                               " rows, numbered from 0: there is no row "
                               "%" PRIu32,
                               spec->name, spec->rows, read->rows[k]);
    return STRADS_OK;
}

/* Whoever reads so lets it grow, to the table's bound. */
static uint32_t pick_staleness(sti_client *client, const sti_client_worker *w,
                               const strads_table_spec *spec)
{
    uint32_t most = sti_staleness_max(spec);
    if (client->adaptive_most < most)
        client->adaptive_most = most;
    return sti_adaptive_staleness(&w->adaptive, spec);
}

static uint64_t needed(sti_client *client, const sti_client_read *read)
{
    const strads_table_spec *spec = &client->tables[read->table];
    const sti_client_worker *w = sti_client_worker_of(client, read->worker);
    uint32_t staleness = read->staleness;
    if (staleness == STRADS_STALENESS_DEFAULT)
        staleness = spec->staleness;
    uint32_t most = staleness == STRADS_STALENESS_ADAPTIVE
                        ? sti_staleness_max(spec)
                        : staleness;
    if (most > client->stalest[read->table])
        client->stalest[read->table] = most;
    if (staleness == STRADS_STALENESS_INFINITE)
        return 0;
    if (staleness == STRADS_STALENESS_ADAPTIVE)
        staleness = pick_staleness(client, w, spec);
    return w->clock > staleness ? w->clock - staleness : 0;
}

/* Would an asker get something newer, and has nobody asked in this clock? */
static bool is_old(const sti_client_worker *w, const sti_cached_row *row,
                   uint64_t as_of)
{
    return as_of < w->clock && row->asked < w->clock;
}

/* P2: the node's pushes are in the cached rows, what is pending comes on top.
 * False when a row is missing; *as_of: the least; *old is set when one is. */
static bool copy_rows(sti_client *client, const sti_client_read *read,
                      uint64_t needs, char *values, uint64_t *as_of, bool *old)
{
    const sti_client_worker *w = sti_client_worker_of(client, read->worker);
    size_t bytes = sti_client_row_bytes(client, read->table);
    bool pending = read->pending && read->pending->n;
    for (uint32_t k = 0; k < read->n; k++) {
        const sti_cached_row *row =
            sti_client_fresh(client, read->table, read->rows[k], needs);
        if (!row)
            return false;
        uint64_t at = sti_client_as_of(client, row);
        *as_of = at < *as_of ? at : *as_of;
        *old |= is_old(w, row, at);
        memcpy(values + k * bytes, row->values, bytes);
        if (pending)
            sti_pending_apply(read->pending, read->rows[k], values + k * bytes);
    }
    client->reuse[read->table].once = 0;
    return true;
}

/* Rows go past the cache when they are many and it has not helped for a while:
 * a worker that reads all of a table, once a clock, would have them copied for
 * nothing. It must be alone on its node (P2: nobody else pushes to them), and
 * need at least some clock, so that it never finds rows older than these. */
static bool passes(sti_client *client, const sti_client_read *read,
                   uint64_t needs)
{
    enum { CALLS = 4 };
    const strads_table_spec *spec = &client->tables[read->table];
    sti_reuse *reuse = &client->reuse[read->table];
    uint64_t bytes = read->n * sti_client_row_bytes(client, read->table);
    if (needs <= reuse->brought)
        reuse->once = 0;
    else if (reuse->once < CALLS)
        reuse->once++;
    return reuse->once == CALLS && client->n_workers == 1 && !spec->eager &&
           !spec->sparse && bytes >= client->piece_bytes / 4;
}

/* What has changed since it was copied is copied again. */
static void finish_call(sti_client *client, const sti_client_worker *w,
                        sti_waiting_call *call, uint64_t *as_of, bool *old)
{
    *as_of = call->as_of;
    for (uint32_t k = 0; k < call->n; k++) {
        const sti_cached_row *row = call->found[k].row;
        if (!row)
            continue;
        uint64_t at = sti_client_as_of(client, row);
        *as_of = at < *as_of ? at : *as_of;
        *old |= is_old(w, row, at);
        if (row->stamp != call->found[k].stamp)
            sti_call_copy(client, call, k);
    }
}

/* With infinite staleness nothing else would ever bring newer values. */
static strads_err renew_old(sti_client *client, const sti_client_read *read,
                            sti_effects *out)
{
    const sti_client_worker *w = sti_client_worker_of(client, read->worker);
    uint32_t *rows = malloc(sizeof *rows * (read->n + 1));
    uint32_t n = 0;
    if (!rows)
        return no_memory();
    for (uint32_t k = 0; k < read->n; k++) {
        sti_cached_row *row =
            sti_cache_find(&client->cache, read->table, read->rows[k]);
        if (!is_old(w, row, sti_client_as_of(client, row)))
            continue;
        row->asked = w->clock;
        rows[n++] = row->row;
    }
    strads_err err =
        n ? sti_client_renew(client, read->worker, read->table, n, rows, out)
          : STRADS_OK;
    free(rows);
    return err;
}

static strads_err read_cached(sti_client *client, const sti_client_read *read,
                              char *values, uint64_t *as_of, bool *wait,
                              sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    uint64_t needs = needed(client, read);
    bool old = false;
    strads_err err = STRADS_OK;
    if (call->used && !sti_call_is(call, read, values, needs))
        sti_call_forget(client, w);
    if (!call->used) {
        *wait = !copy_rows(client, read, needs, values, as_of, &old);
        if (*wait)
            err = sti_call_begin(w, read, values, needs);
        call->passes = *wait && passes(client, read, needs);
        if (*wait && !err)
            err = sti_call_go_on(client, read->worker, read->now, out);
    }
    if (call->used && !err) {
        *wait = call->n_asks > 0; /* a WAKE without need, else */
        if (*wait)
            return STRADS_OK;
        finish_call(client, w, call, as_of, &old);
        sti_adaptive_waited(&w->adaptive, read->now - call->since);
        sti_call_forget(client, w);
    }
    if (!err && needs == 0 && old && !client->tables[read->table].eager)
        err = renew_old(client, read, out);
    return err;
}

/* An exact snapshot does not go through the cache: its rows are the call's. */
static strads_err read_exact(sti_client *client, const sti_client_read *read,
                             char *values, uint64_t *as_of, bool *wait,
                             sti_effects *out)
{
    const strads_table_spec *spec = &client->tables[read->table];
    sti_client_worker *w = sti_client_worker_of(client, read->worker);
    sti_waiting_call *call = &w->call;
    size_t bytes = sti_client_row_bytes(client, read->table) * read->n;
    uint32_t every = spec->snapshot_every;
    if (every == 0 || w->clock < every)
        return sti_spec_no_snapshot(spec, w->clock);
    uint64_t needs = w->clock / every * every;
    if (call->used && !sti_call_is(call, read, values, needs))
        sti_call_forget(client, w);
    strads_err err = STRADS_OK;
    if (!call->used) {
        err = sti_call_begin(w, read, calloc(1, bytes + 1), needs);
        if (!err && !call->values)
            err = no_memory();
        if (!err)
            err = sti_call_go_on(client, read->worker, read->now, out);
    }
    *wait = !err && call->n_asks > 0;
    if (err || *wait)
        return err;
    if (call->gone)
        err = strads_fail(STRADS_ESTATE,
                          "the snapshot of clock %" PRIu64 " of table \"%s\" "
                          "was not kept: a worker is too many clocks ahead",
                          needs, spec->name);
    else
        memcpy(values, call->values, bytes);
    *as_of = needs;
    sti_call_forget(client, w);
    return err;
}

bool sti_client_read_cached(sti_client *client, const sti_client_read *read,
                            void *values)
{
    uint64_t least = UINT64_MAX;
    bool old = false;
    if (sti_client_worker_of(client, read->worker)->call.used)
        return false;
    uint64_t needs = needed(client, read);
    return copy_rows(client, read, needs, values, &least, &old) &&
           !(old && needs == 0);
}

strads_err sti_client_read_rows(sti_client *client, const sti_client_read *read,
                                void *values, uint64_t *as_of, bool *wait,
                                sti_effects *out)
{
    uint64_t least = UINT64_MAX;
    *wait = false;
    strads_err err = check_read(client, read);
    if (err)
        return err;
    err = read->exact ? read_exact(client, read, values, &least, wait, out)
                      : read_cached(client, read, values, &least, wait, out);
    if (err)
        sti_call_forget(client, sti_client_worker_of(client, read->worker));
    else if (!*wait && as_of)
        *as_of = least;
    sti_client_time(client, read->now, out);
    return err;
}

/* An ask with no rows, of one shard: workers tell all of them their clocks. */
strads_err sti_client_barrier(sti_client *client, uint32_t worker, uint64_t now,
                              bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    const sti_client_read none = {.worker = worker, .now = now};
    uint32_t shard = worker % client->shards;
    sti_waiting_call *call = &w->call;
    if (call->used && !(call->n == 0 && call->needs == w->clock))
        sti_call_forget(client, w);
    strads_err err = STRADS_OK;
    if (!call->used) {
        err = sti_call_begin(w, &none, NULL, w->clock);
        if (!err)
            err = sti_call_ask_clock(client, worker, shard, now, out);
    }
    *wait = !err && call->n_asks > 0;
    if (!*wait)
        sti_call_forget(client, w);
    sti_client_time(client, now, out);
    return err;
}
