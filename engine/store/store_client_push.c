/* A worker's increments leave as pushes (C2), in pieces that travel while the
 * next one is made. Invariant: the last piece alone bears the end of the clock,
 * so whoever sees that clock ended sees all of them. */
#include "engine/store/store_client.h"

#include <stdlib.h>

#include "engine/store/store_client_state.h"
#include "engine/store/pending_push.h"
#include "engine/store/push.h"

static const uint64_t largest_push = (UINT64_C(1) << 30) - 4096;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a store's client");
}

/* What is pushed at once, before anything of it is sent. */
typedef struct push_draft {
    bool early;          /* a piece of what belongs to a clock that goes on */
    bool last;           /* nothing is left for another one */
    sti_push_end end;    /* FLUSH but for the last one */
    uint64_t clock;      /* where the worker is once all is pushed */
    sti_buffer **pushes; /* [shards] */
    uint32_t **places;   /* [n_tables] rows that leave */
    uint32_t *n;
} push_draft;

static void free_draft(const sti_client *client, push_draft *draft)
{
    for (uint32_t s = 0; draft->pushes && s < client->shards; s++)
        sti_object_drop(draft->pushes[s]);
    for (uint32_t t = 0; draft->places && t < client->n_tables; t++)
        free(draft->places[t]);
    free(draft->pushes);
    free(draft->places);
    free(draft->n);
}

/* The increments of each push are of this worker at its clock. */
static strads_err put_marks(const sti_client *client, push_draft *draft,
                            uint32_t worker)
{
    const sti_push_part mark = {
        .kind = STI_PUSH_MARK,
        .worker = worker,
        .end = draft->end,
        .clock = sti_client_worker_of(client, worker)->clock};
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && s < client->shards; s++) {
        err = sti_buffer_new(0, &draft->pushes[s]);
        if (!err)
            err = sti_push_append(draft->pushes[s], &mark);
    }
    return err;
}

/* Of tables that no filter looks at, at most a piece for each shard leaves at
 * once, from the end. *all: nothing of them stays. */
static strads_err take_piece(const sti_client *client, sti_push_end end,
                             const sti_pending *pending, push_draft *draft,
                             bool *all)
{
    uint64_t bytes = client->piece_bytes * client->shards;
    strads_err err = STRADS_OK;
    *all = true;
    for (uint32_t t = 0; !err && *all && t < client->n_tables; t++) {
        if (pending[t].n == 0 ||
            (end == STI_PUSH_CLOCK && sti_pending_is_filtered(&pending[t])))
            continue;
        err = sti_pending_last(&pending[t], &bytes, &draft->n[t],
                               &draft->places[t]);
        *all = draft->n[t] == pending[t].n;
    }
    return err;
}

/* What filters let go leaves with the last piece. */
static strads_err take_filtered(const sti_client *client, sti_push_end end,
                                const sti_pending *pending, push_draft *draft)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; !err && t < client->n_tables; t++)
        if (pending[t].n && !draft->places[t])
            err = sti_pending_choose(&pending[t], end != STI_PUSH_CLOCK,
                                     &draft->n[t], &draft->places[t]);
    return err;
}

static strads_err make_draft(const sti_client *client, uint32_t worker,
                             sti_push_end end, const sti_pending *pending,
                             push_draft *draft)
{
    draft->pushes = calloc(client->shards, sizeof(sti_buffer *));
    draft->places = calloc(client->n_tables + 1, sizeof(uint32_t *));
    draft->n = calloc(client->n_tables + 1, sizeof *draft->n);
    if (!draft->pushes || !draft->places || !draft->n)
        return no_memory();
    strads_err err = take_piece(client, end, pending, draft, &draft->last);
    if (!err && draft->last && !draft->early)
        err = take_filtered(client, end, pending, draft);
    draft->end = draft->last && !draft->early ? end : STI_PUSH_FLUSH;
    if (!err)
        err = put_marks(client, draft, worker);
    for (uint32_t t = 0; !err && t < client->n_tables; t++)
        if (draft->n[t])
            err =
                sti_pending_split(&pending[t], t, draft->n[t], draft->places[t],
                                  client->shards, draft->pushes);
    return err;
}

/* A flush goes to the shards that hold some of its rows. */
static void drop_empty(const sti_client *client, push_draft *draft)
{
    sti_push_part part;
    strads_err err;
    for (uint32_t s = 0; s < client->shards; s++) {
        size_t at = 0;
        (void)sti_push_next(draft->pushes[s], &at, &part, &err);
        if (at == draft->pushes[s]->size) {
            sti_object_drop(draft->pushes[s]);
            draft->pushes[s] = NULL;
        }
    }
}

/* Nothing can fail once all streams have said that they can keep theirs. */
static strads_err admit(sti_client *client, const push_draft *draft, bool *wait)
{
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && !*wait && s < client->shards; s++) {
        const sti_buffer *push = draft->pushes[s];
        if (!push)
            continue;
        if (sti_buffer_whole(push) > largest_push)
            err = strads_fail(STRADS_ELIMIT,
                              "increments of %zu bytes for one shard are "
                              "beyond 1 GiB: flush more often",
                              sti_buffer_whole(push));
        else if (!sti_stream_has_room(&client->streams[s],
                                      sti_buffer_whole(push)))
            *wait = true;
        else
            err = sti_stream_reserve(&client->streams[s]);
    }
    return err;
}

/* The least clock that this node's workers read at. */
static uint64_t least_clock(const sti_client *client, uint32_t worker,
                            uint64_t clock)
{
    for (uint32_t w = 0; w < client->n_workers; w++)
        if (client->first_worker + w != worker &&
            client->workers[w].clock < clock)
            clock = client->workers[w].clock;
    return clock;
}

static strads_err send_draft(sti_client *client, uint32_t worker,
                             push_draft *draft, sti_pending *pending,
                             uint64_t now, sti_effects *out)
{
    strads_err err = STRADS_OK;
    uint64_t clock = least_clock(client, worker, draft->clock);
    for (uint32_t s = 0; !err && s < client->shards; s++) {
        sti_buffer *push = draft->pushes[s];
        draft->pushes[s] = NULL;
        if (!push)
            continue;
        sti_client_join_push(client, push, clock);
        err = sti_stream_push(&client->streams[s], push, now, out);
    }
    for (uint32_t t = 0; !err && t < client->n_tables; t++)
        sti_pending_forget(&pending[t], draft->n[t], draft->places[t]);
    return err;
}

static bool a_window_is_full(const sti_client *client)
{
    for (uint32_t s = 0; s < client->shards; s++)
        if (!sti_stream_has_room(&client->streams[s], 0))
            return true;
    return false;
}

/* One piece, or what is left. */
static strads_err push_draft_of(sti_client *client, uint32_t worker,
                                sti_push_end end, sti_pending *pending,
                                uint64_t now, bool *wait, push_draft *draft,
                                sti_effects *out)
{
    *wait = a_window_is_full(client);
    if (*wait)
        return STRADS_OK;
    strads_err err = make_draft(client, worker, end, pending, draft);
    if (!err && draft->end == STI_PUSH_FLUSH)
        drop_empty(client, draft);
    if (!err)
        err = admit(client, draft, wait);
    if (!err && !*wait)
        err = send_draft(client, worker, draft, pending, now, out);
    free_draft(client, draft);
    return err;
}

strads_err sti_client_push_early(sti_client *client, uint32_t worker,
                                 sti_pending *pending, uint64_t now, bool *wait,
                                 sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    push_draft draft = {.early = true, .clock = w->clock};
    *wait = false;
    strads_err err = push_draft_of(client, worker, STI_PUSH_CLOCK, pending, now,
                                   wait, &draft, out);
    w->wants_window = *wait;
    sti_client_time(client, now, out);
    return err;
}

strads_err sti_client_push(sti_client *client, uint32_t worker,
                           sti_push_end end, sti_pending *pending, uint64_t now,
                           bool *wait, sti_effects *out)
{
    sti_client_worker *w = sti_client_worker_of(client, worker);
    strads_err err = STRADS_OK;
    bool last = false;
    *wait = false;
    sti_call_forget(client, w);
    while (!err && !*wait && !last) {
        push_draft draft = {.clock = w->clock + (end == STI_PUSH_CLOCK)};
        err =
            push_draft_of(client, worker, end, pending, now, wait, &draft, out);
        last = draft.last;
    }
    w->wants_window = *wait;
    if (!err && !*wait && end == STI_PUSH_CLOCK) {
        w->clock++;
        sti_adaptive_clock(&w->adaptive, now, client->adaptive_most);
    }
    sti_client_time(client, now, out);
    return err;
}

/* ---- rows that are lent ------------------------------------------------- */

/* Does a push refer to rows of the worker? Its mark comes first. */
static bool is_lent_by(const sti_buffer *push, uint32_t worker)
{
    sti_push_part part;
    strads_err err;
    size_t at = 0;
    return push->rest_bytes && sti_push_next(push, &at, &part, &err) &&
           part.worker == worker;
}

void sti_client_reclaim(sti_client *client, uint32_t worker, bool *wait)
{
    *wait = false;
    for (uint32_t s = 0; !*wait && s < client->shards; s++) {
        const sti_push_stream *stream = &client->streams[s];
        for (uint64_t n = stream->acknowledged + 1; n <= stream->pushed; n++)
            *wait |= is_lent_by(sti_stream_at(stream, n), worker);
    }
    sti_client_worker_of(client, worker)->wants_rows = *wait;
}

void sti_client_own(sti_client *client, uint32_t worker)
{
    for (uint32_t s = 0; s < client->shards; s++) {
        const sti_push_stream *stream = &client->streams[s];
        for (uint64_t n = stream->acknowledged + 1; n <= stream->pushed; n++) {
            sti_buffer *push = sti_stream_at(stream, n);
            if (is_lent_by(push, worker) && sti_buffer_own(push))
                client->failed = true;
        }
    }
}
