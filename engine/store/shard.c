/* A shard of the store. Accepted pushes wait until the shard's work is done.
 * One unit of work applies all that wait, so a busy shard answers less often.
 *
 * Invariants: rows lie in the store's tables by their place among the shard's
 * rows (message.h). A push changes rows, its client's number and its worker's
 * clock together, or a failure ends the run. Numbers and clocks never decrease.
 * Each client bounds its waiting pushes (STI_PUSHES_MAX), and each worker has
 * one request. */
#include "engine/store/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/shard_state.h"

static strads_err no_shard_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a shard of the store");
}

static strads_err fail_misfit(void)
{
    return strads_fail(
        STRADS_EPEER,
        "a node sent a push or a request that does not fit the store: it runs "
        "another version or is broken");
}

/* ---- opening ----------------------------------------------------------- */

static strads_err add_table(sti_shard *shard, uint32_t number)
{
    const sti_shard_setup *setup = &shard->setup;
    sti_shard_table *table = &shard->tables[number];
    strads_table_spec held = setup->tables[number];
    held.rows = sti_rows_held(held.rows, number, setup->shard, setup->shards);
    strads_err err = strads_store_create(shard->store, &held, &number);
    if (err)
        return err;
    table->rows = shard->store->tables[number];
    table->spec = setup->tables[number];
    table->spec.name = table->rows->name;
    table->images.every = table->spec.snapshot_every;
    return STRADS_OK;
}

strads_err sti_shard_new(const sti_shard_setup *setup, sti_shard **out)
{
    sti_shard *shard = calloc(1, sizeof *shard);
    if (!shard)
        return no_shard_memory();
    shard->setup = *setup;
    if (!setup->piece_bytes)
        shard->setup.piece_bytes = UINT64_C(256) << 10;
    shard->clock = setup->workers ? 0 : STI_CLOCK_GONE;
    shard->tables = calloc(setup->n_tables + 1, sizeof *shard->tables);
    shard->clients = calloc(setup->clients + 1, sizeof *shard->clients);
    shard->workers = calloc(setup->workers + 1, sizeof *shard->workers);
    strads_err err = shard->tables && shard->clients && shard->workers
                         ? strads_store_open(setup->memory_limit, &shard->store)
                         : no_shard_memory();
    for (uint32_t t = 0; !err && t < setup->n_tables; t++)
        err = add_table(shard, t);
    if (err)
        sti_shard_free(shard);
    else
        *out = shard;
    return err;
}

void sti_shard_free(sti_shard *shard)
{
    if (!shard)
        return;
    for (uint32_t k = 0; k < shard->n_waiting; k++)
        sti_object_drop(shard->waiting[k].push);
    for (uint32_t w = 0; shard->workers && w < shard->setup.workers; w++)
        sti_object_drop(shard->workers[w].ask);
    for (uint32_t t = 0; shard->tables && t < shard->setup.n_tables; t++)
        sti_images_free(&shard->tables[t].images);
    strads_store_free(shard->store);
    free(shard->waiting);
    free(shard->workers);
    free(shard->clients);
    free(shard->tables);
    free(shard->scratch);
    free(shard);
}

static sti_address shard_address(const sti_shard *shard)
{
    return STI_SHARD_0 + shard->setup.shard;
}

static void fail_shard(sti_shard *shard, strads_err err, sti_effects *out)
{
    if (!shard->failed)
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_FAIL,
                                       .from = shard_address(shard),
                                       .to = STI_COORDINATOR,
                                       .object = sti_failure_object(
                                           err, strads_error_text())});
    shard->failed = true;
}

/* Acknowledges all applied pushes of a client. */
static void acknowledge_pushes(const sti_shard *shard, uint32_t client,
                               sti_effects *out)
{
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ACK,
                                   .from = shard_address(shard),
                                   .to = STI_CLIENT_0 + client,
                                   .round = shard->clients[client].applied});
}

/* ---- accepting --------------------------------------------------------- */

/* S1 ACCEPT: a push that was accepted before is not accepted again. A push that
 * is too early is dropped; the ACK shows the number to resend from. */
static void accept_push(sti_shard *shard, uint32_t client, const sti_msg *msg,
                        sti_effects *out)
{
    sti_buffer *push = (sti_buffer *)msg->object;
    sti_shard_client *c = &shard->clients[client];
    bool due = msg->round == c->accepted + 1;
    if (!push || !due) {
        sti_object_drop(push);
        acknowledge_pushes(shard, client, out);
        return;
    }
    if (shard->n_waiting == shard->room_waiting) {
        const uint32_t capacity =
            shard->room_waiting ? 2 * shard->room_waiting : 8;
        sti_taken_push *more = realloc(shard->waiting, sizeof *more * capacity);
        if (!more) {
            sti_object_drop(push);
            fail_shard(shard, no_shard_memory(), out);
            return;
        }
        shard->waiting = more;
        shard->room_waiting = capacity;
    }
    shard->waiting[shard->n_waiting++] =
        (sti_taken_push){.client = client, .number = msg->round, .push = push};
    c->accepted++;
}

/* S3 SERVE, parking: one request per worker, which is answered when its clock
 * is reached. If it arrives again during the answer, it is answered again. */
static void park_request(sti_shard *shard, uint32_t client, const sti_msg *msg,
                         sti_effects *out)
{
    sti_row_ask *ask = (sti_row_ask *)msg->object;
    if (!ask || ask->worker >= shard->setup.workers) {
        sti_object_drop(ask);
        fail_shard(shard,
                   strads_fail(STRADS_EPEER,
                               "a node requested rows for an unknown worker"),
                   out);
        return;
    }
    sti_shard_worker *w = &shard->workers[ask->worker];
    if (ask->id < w->last_id || (w->ask && ask->id == w->last_id)) {
        w->again |= ask->id == w->last_id && w->done;
        /* otherwise the worker has made a newer request */
        sti_object_drop(ask);
        return;
    }
    if (ask->id > w->last_id) {
        w->since = shard->now;
        w->early = ask->needs > shard->clock;
    }
    sti_object_drop(w->ask);
    w->last_id = ask->id;
    w->client = client;
    w->ask = ask;
    w->done = 0;
    w->again = false;
}

static void accept_message(sti_shard *shard, const sti_msg *msg,
                           sti_effects *out)
{
    const uint32_t client = msg->from - STI_CLIENT_0;
    if (client >= shard->setup.clients) {
        sti_object_drop(msg->object);
        fail_shard(shard,
                   strads_fail(STRADS_EPEER,
                               "an unknown client uses the store"),
                   out);
        return;
    }
    switch (msg->kind) {
    case STI_MSG_PUSH:
        accept_push(shard, client, msg, out);
        break;
    case STI_MSG_ASK_ROWS:
        park_request(shard, client, msg, out);
        break;
    default:
        sti_object_drop(msg->object);
        break;
    }
}

void sti_shard_step(sti_shard *shard, const sti_event *events, size_t n,
                    sti_effects *out)
{
    for (size_t k = 0; k < n; k++) {
        shard->now = events[k].now;
        if (events[k].kind == STI_EVENT_MESSAGE)
            accept_message(shard, &events[k].msg, out);
    }
}

/* ---- applying ---------------------------------------------------------- */

/* S1: checks that a push can be applied. STRADS_EPEER. */
static strads_err check_push(const sti_shard *shard, const sti_buffer *push)
{
    const sti_shard_setup *setup = &shard->setup;
    strads_err err = STRADS_OK;
    sti_push_part part;
    for (size_t at = 0; !err && sti_push_next(push, &at, &part, &err);) {
        const bool good =
            part.kind == STI_PUSH_MARK
                ? part.worker < setup->workers &&
                      part.clock < STI_CLOCK_GONE / 2
                : part.table < setup->n_tables &&
                      sti_push_fits(&shard->tables[part.table].spec, &part,
                                    setup->shard, setup->shards);
        if (!good)
            err = fail_misfit();
    }
    return err;
}

/* Memory for n elements of a part. */
static void *reserve_scratch(sti_shard *shard, size_t n, size_t size)
{
    if (n * size > shard->scratch_bytes) {
        void *more = realloc(shard->scratch, n * size);
        if (!more)
            return NULL;
        shard->scratch = more;
        shard->scratch_bytes = n * size;
    }
    return shard->scratch;
}

/* The increments of a part to the shard's rows: cells[n rows] to rows[n], or
 * deltas[n]. */
typedef struct increments {
    uint32_t n;
    const uint32_t *rows;
    const void *cells;
    const sti_row_delta *deltas; /* NULL: rows and cells are set */
} increments;

/* The result is valid until the next call. */
static strads_err find_increments(sti_shard *shard, const sti_push_part *part,
                                  increments *out)
{
    const strads_table_spec *spec = &shard->tables[part->table].spec;
    const uint32_t shards = shard->setup.shards, n = sti_part_rows(part);
    *out = (increments){n, part->places, part->cells, NULL};
    if (n == 0 || (part->kind == STI_PUSH_ROWS && shards == 1))
        return STRADS_OK;
    if (part->kind == STI_PUSH_ROWS) {
        uint32_t *rows = reserve_scratch(shard, n, sizeof *rows);
        for (uint32_t k = 0; rows && k < n; k++)
            rows[k] = sti_row_place(part->places[k], shards);
        out->rows = rows;
        return rows ? STRADS_OK : no_shard_memory();
    }
    sti_row_delta *deltas = reserve_scratch(shard, n, sizeof *deltas);
    for (uint32_t k = 0; deltas && k < n; k++) {
        deltas[k] = sti_part_row_at(spec, part, k);
        deltas[k].row = sti_row_place(deltas[k].row, shards);
    }
    out->deltas = deltas;
    return deltas ? STRADS_OK : no_shard_memory();
}

static strads_err add_increments(sti_table *rows, const increments *by)
{
    return by->deltas ? sti_table_add(rows, by->n, by->deltas, NULL)
                      : sti_table_inc(rows, by->n, by->rows, by->cells, NULL);
}

/* Adds increments of a worker at `clock` to the rows and to the snapshots of
 * later clocks. Snapshots that must exclude them are started before. */
static strads_err apply_rows(sti_shard *shard, const sti_push_part *part,
                             uint64_t clock)
{
    sti_shard_table *table = &shard->tables[part->table];
    increments by;
    strads_err err = find_increments(shard, part, &by);
    if (!err && table->images.every && shard->clock != STI_CLOCK_GONE)
        err = sti_images_begin(&table->images, table->rows, table->rows->name,
                               shard->clock, clock);
    if (!err)
        err = add_increments(table->rows, &by);
    for (uint32_t k = 0; !err && k < STI_IMAGES_MAX; k++)
        if (table->images.image[k].clock > clock)
            err = add_increments(table->images.image[k].table, &by);
    return err;
}

/* Finds the least clock of the workers. */
static void find_clock(sti_shard *shard)
{
    shard->clock = STI_CLOCK_GONE;
    for (uint32_t w = 0; w < shard->setup.workers; w++)
        if (shard->workers[w].clock < shard->clock)
            shard->clock = shard->workers[w].clock;
}

/* Moves a worker's clock and the least clock. True if the least clock reached
 * the clock of a snapshot. */
static bool move_clock(sti_shard *shard, const sti_push_part *mark)
{
    const uint64_t to = mark->end == STI_PUSH_LEAVE   ? STI_CLOCK_GONE
                        : mark->end == STI_PUSH_CLOCK ? mark->clock + 1
                                                      : mark->clock;
    const uint64_t before = shard->clock;
    bool snapshot = false;
    if (to <= shard->workers[mark->worker].clock)
        return false;
    shard->workers[mark->worker].clock = to;
    find_clock(shard);
    if (shard->clock == before || shard->clock == STI_CLOCK_GONE)
        return false;
    for (uint32_t t = 0; t < shard->setup.n_tables; t++) {
        sti_images *images = &shard->tables[t].images;
        if (!images->every ||
            before / images->every == shard->clock / images->every)
            continue;
        sti_images_drop(images, shard->clock);
        snapshot = true;
    }
    return snapshot;
}

void sti_shard_lose(sti_shard *shard, uint32_t worker)
{
    (void)move_clock(shard, &(sti_push_part){.kind = STI_PUSH_MARK,
                                             .end = STI_PUSH_LEAVE,
                                             .worker = worker});
}

/* S2 APPLY: each push once, in order. *snapshot is set if the clock of a
 * snapshot was reached. */
static strads_err apply_push(sti_shard *shard, uint32_t client, uint64_t number,
                             const sti_buffer *push, bool *snapshot)
{
    strads_err err = STRADS_OK;
    sti_push_part part;
    sti_push_part mark = {.kind = STI_PUSH_ROWS};
    uint64_t clock = shard->clock;
    for (size_t at = 0; !err && sti_push_next(push, &at, &part, &err);) {
        if (part.kind == STI_PUSH_MARK) {
            mark = part;
            clock = part.clock;
        } else {
            err = apply_rows(shard, &part, clock);
        }
    }
    if (err)
        return err;
    shard->clients[client].applied = number;
    if (mark.kind == STI_PUSH_MARK && move_clock(shard, &mark))
        *snapshot = true;
    return STRADS_OK;
}

/* ---- work: pushes ------------------------------------------------------ */

/* Applies pushes up to the clock of a snapshot, which must be served before the
 * next one is reached. Then acknowledges them, with one ACK per client. After a
 * failure the earlier pushes stay applied. */
static strads_err apply_waiting(sti_shard *shard, sti_effects *out)
{
    bool snapshot = false;
    uint32_t done = 0;
    strads_err err = STRADS_OK;
    while (!err && !snapshot && done < shard->n_waiting) {
        const sti_taken_push *push = &shard->waiting[done];
        err = check_push(shard, push->push);
        if (!err)
            err = apply_push(shard, push->client, push->number, push->push,
                             &snapshot);
        if (err)
            break;
        shard->clients[push->client].moved = true;
        sti_object_drop(push->push);
        done++;
    }
    shard->n_waiting -= done;
    memmove(shard->waiting, shard->waiting + done,
            sizeof *shard->waiting * shard->n_waiting);
    for (uint32_t c = 0; done && c < shard->setup.clients; c++) {
        if (shard->clients[c].moved)
            acknowledge_pushes(shard, c, out);
        shard->clients[c].moved = false;
    }
    return err;
}

/* ---- work: rows -------------------------------------------------------- */

/* A row of the whole table, in place. */
static sti_row_delta shard_row(const sti_shard *shard, const sti_table *from,
                               uint32_t row)
{
    sti_row_delta found =
        sti_table_row(from, sti_row_place(row, shard->setup.shards));
    found.row = row;
    return found;
}

/* How many of the rows, from the first on, fit into a piece; at least one. */
static uint32_t count_fitting(const sti_shard *shard, const sti_table *from,
                              uint32_t n, const uint32_t *rows)
{
    uint64_t taken = 0;
    uint32_t k = 0;
    for (; k < n; k++) {
        taken += from->sparse ? shard_row(shard, from, rows[k]).n *
                                    (from->cell + sizeof(uint32_t))
                              : from->row_bytes;
        if (k > 0 && taken > shard->setup.piece_bytes)
            break;
    }
    return k;
}

/* Appends rows[n] of a table or of its snapshot. */
static strads_err append_rows(const sti_shard *shard, uint32_t table,
                              const sti_table *from, uint32_t n,
                              const uint32_t *rows, sti_buffer *parts)
{
    const size_t bytes = from->row_bytes;
    strads_err err = STRADS_OK;
    char *cells;
    for (uint32_t k = 0; from->sparse && !err && k < n; k++) {
        const sti_row_delta row = shard_row(shard, from, rows[k]);
        err = sti_push_append_row(parts, table, &row, from->cell);
    }
    if (from->sparse || n == 0)
        return err;
    err = sti_push_reserve(parts, STI_PUSH_ROWS, table, n, rows, bytes, &cells);
    for (uint32_t k = 0; !err && k < n; k++)
        memcpy(cells + k * bytes, shard_row(shard, from, rows[k]).cells, bytes);
    return err;
}

static strads_err check_request(const sti_shard *shard, const sti_row_ask *ask)
{
    bool good = ask->n == 0 || ask->table < shard->setup.n_tables;
    for (uint32_t k = 0; good && k < ask->n; k++)
        good = ask->rows[k] < shard->tables[ask->table].spec.rows &&
               sti_row_shard(ask->table, ask->rows[k], shard->setup.shards) ==
                   shard->setup.shard;
    return good ? STRADS_OK : fail_misfit();
}

/* The rows that a request refers to: the table's, or the snapshot's; NULL: the
 * snapshot was not kept or has been dropped. The current rows count as their
 * own snapshot only for requests of the current period. */
static const sti_table *rows_for(const sti_shard *shard, const sti_row_ask *ask)
{
    const sti_shard_table *table = &shard->tables[ask->table];
    const uint64_t every = table->images.every;
    if (!ask->exact)
        return table->rows;
    const sti_table *image =
        sti_images_at(&table->images, table->rows, ask->needs);
    const bool own =
        every && ask->needs % every == 0 && shard->clock - ask->needs < every;
    return image == table->rows && !own ? NULL : image;
}

/* Sends the next piece of an answer. */
static strads_err serve_piece(sti_shard *shard, sti_shard_worker *w,
                              sti_effects *out)
{
    const sti_row_ask *ask = w->ask;
    const uint32_t *rows = ask->rows + w->done;
    sti_row_answer *answer;
    strads_err err = w->done ? STRADS_OK : check_request(shard, ask);
    if (!err)
        err = sti_row_answer_new(&answer);
    if (err)
        return err;
    answer->id = ask->id;
    answer->worker = ask->worker;
    answer->table = ask->table;
    answer->first = w->done;
    answer->exact = ask->exact;
    answer->as_of = ask->exact ? ask->needs : shard->clock;
    answer->applied = shard->clients[w->client].applied;
    answer->parked_ns = w->early ? shard->now - w->since : 0;
    if (ask->n) { /* otherwise the request is for the clock alone */
        const sti_table *from = rows_for(shard, ask);
        const uint32_t n =
            from ? count_fitting(shard, from, ask->n - w->done, rows) : 0;
        answer->gone = !from;
        err = sti_buffer_new(0, &answer->parts);
        if (!err && from)
            err = append_rows(shard, ask->table, from, n, rows, answer->parts);
        w->done = from ? w->done + n : ask->n;
    }
    if (err) {
        sti_object_drop(answer);
        return err;
    }
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ROWS,
                                   .from = shard_address(shard),
                                   .to = STI_CLIENT_0 + w->client,
                                   .object = &answer->head});
    if (w->done == ask->n && !w->again) {
        sti_object_drop(w->ask);
        w->ask = NULL;
    } else if (w->done == ask->n) {
        w->done = 0;
        w->again = false;
    }
    return STRADS_OK;
}

static bool is_ready(const sti_shard *shard, const sti_shard_worker *w)
{
    return w->ask && (w->done || w->ask->needs <= shard->clock);
}

/* ---- work -------------------------------------------------------------- */

bool sti_shard_has_work(const sti_shard *shard, uint64_t *bytes)
{
    *bytes = 0;
    if (shard->failed)
        return false;
    for (uint32_t w = 0; w < shard->setup.workers; w++)
        if (is_ready(shard, &shard->workers[w]))
            return true;
    for (uint32_t k = 0; k < shard->n_waiting; k++)
        *bytes += shard->waiting[k].push->size;
    return shard->n_waiting > 0;
}

/* Requests are served before the next pushes, piece by piece, so a snapshot
 * exists until every request for it is answered. */
void sti_shard_work(sti_shard *shard, uint64_t now, sti_effects *out)
{
    strads_err err = STRADS_OK;
    bool served = false;
    shard->now = now;
    if (shard->failed)
        return;
    for (uint32_t w = 0; !err && w < shard->setup.workers; w++)
        if (is_ready(shard, &shard->workers[w])) {
            err = serve_piece(shard, &shard->workers[w], out);
            served = true;
        }
    if (!served && shard->n_waiting)
        err = apply_waiting(shard, out);
    if (err)
        fail_shard(shard, err, out);
}

/* ---- outside the protocol ---------------------------------------------- */

strads_err sti_shard_fill(sti_shard *shard, const strads_store *from)
{
    const sti_shard_setup *setup = &shard->setup;
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < setup->n_tables; t++) {
        const sti_table *all = from->tables[t];
        if (!strads_store_version(from, t))
            continue; /* it has no increments */
        for (uint64_t row = sti_row_first(t, setup->shard, setup->shards);
             !err && row < all->spec.rows; row += setup->shards) {
            sti_row_delta delta = sti_table_row(all, (uint32_t)row);
            delta.row = sti_row_place((uint32_t)row, setup->shards);
            if (delta.n)
                err = sti_table_add(shard->tables[t].rows, 1, &delta, NULL);
        }
    }
    return err;
}

strads_err sti_shard_read_out(const sti_shard *shard, uint32_t table,
                              strads_store *to)
{
    const sti_table *from = shard->tables[table].rows;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < from->spec.rows; k++) {
        const uint32_t row =
            sti_row_at(k, table, shard->setup.shard, shard->setup.shards);
        err = strads_store_inc(to, table, 1, &row,
                               from->dense + k * from->row_bytes, NULL);
    }
    return err;
}
