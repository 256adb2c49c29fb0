/* A worker. Dispatches live in slots, by sequence number modulo window. The
 * coordinator never has more in flight, so a slot is free when its next
 * dispatch arrives. They are started in sequence, in any order of arrival,
 * because their updates build on each other. Rings are in worker_ring.c. */
#include "engine/round/worker_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- partials on the way up the tree, whole or in chunks (tree.h). Children
 * are merged in their order, in any order of arrival, so every bit of the sum
 * depends only on the number of partitions. */

static const char unexpected[] =
    "a node sent a partial that is not expected: it runs another version or "
    "is broken";

/* ---- places ------------------------------------------------------------ */

/* Makes a state's chunks and the space for their children, in one
 * allocation. */
static bool make_chunks(const sti_worker *w, const sti_chunks *chunks,
                        struct sti_partition_state *state, uint32_t k)
{
    size_t children = 0;
    for (uint32_t c = 0; c < chunks->n; c++)
        children += sti_chunks_place(chunks, c, w->first + k).n_children;
    state->reduce = calloc(1, sizeof *state->reduce * chunks->n +
                                  sizeof(sti_msg) * children);
    if (!state->reduce)
        return false;
    sti_msg *child = (sti_msg *)(void *)(state->reduce + chunks->n);
    for (uint32_t c = 0; c < chunks->n; c++) {
        state->reduce[c].place = sti_chunks_place(chunks, c, w->first + k);
        state->reduce[c].child = child;
        child += state->reduce[c].place.n_children;
    }
    return true;
}

/* Prepares the reduction when a slot's dispatch is started. False: the worker
 * has failed. */
static bool begin_reduce(sti_worker *w, struct sti_round_slot *s,
                         sti_effects *out)
{
    s->chunks = sti_chunks_of(w->run, s->dispatch);
    for (uint32_t k = 0; k < w->n; k++) {
        struct sti_partition_state *state = &s->states[k];
        state->ready = UINT64_MAX >> (64 - s->chunks.n);
        if (s->chunks.n == 1) {
            state->reduce = &state->whole;
        } else if (!make_chunks(w, &s->chunks, state, k)) {
            sti_worker_fail(w, STRADS_ENOMEM, "no memory for a round's chunks",
                            out);
            return false;
        }
    }
    return true;
}

/* chunk_at: the k-th chunk that a partition checks. turn_of_chunk: the inverse.
 * The last one is the chunk that the partition is the root of, or near it. */
static uint32_t chunk_at(const sti_chunks *chunks, uint32_t partition,
                         uint32_t k)
{
    const uint32_t own =
        (uint32_t)((uint64_t)partition * chunks->n / chunks->partitions);
    return (own + 1 + k) % chunks->n;
}

static uint32_t turn_of_chunk(const sti_chunks *chunks, uint32_t partition,
                              uint32_t chunk)
{
    return (chunk + chunks->n - chunk_at(chunks, partition, 0)) % chunks->n;
}

static void drop_reduce(struct sti_partition_state *state, uint32_t n_chunks)
{
    for (uint32_t i = 0; state->reduce && i < n_chunks; i++) {
        struct sti_reduce *reduce = &state->reduce[i];
        for (uint32_t c = 0; c < reduce->place.n_children; c++) {
            sti_object_drop(reduce->child[c].object);
            reduce->child[c] = (sti_msg){0};
        }
        reduce->merged = 0;
        reduce->sent = false;
    }
    if (state->reduce != &state->whole)
        free(state->reduce);
    state->reduce = NULL;
}

/* ---- up ---------------------------------------------------------------- */

/* After CLOSE a worker is done once its partials are sent. */
static void end_if_closed(const sti_worker *w, const struct sti_round_slot *s,
                          sti_effects *out)
{
    if (s->dispatch->phase == STI_PHASE_CLOSE && sti_worker_is_over(w, s))
        sti_effect_end(out, STRADS_OK);
}

/* Selects the bytes to send of a state's partial; NULL without an error:
 * none. */
static strads_err select_chunk(const struct sti_round_slot *s,
                               const struct sti_partition_state *state,
                               uint32_t chunk, sti_object **out)
{
    *out = NULL;
    if (sti_worker_is_internal(s->dispatch))
        return STRADS_OK;
    if (s->chunks.n == 1) {
        *out = sti_object_keep(state->partial);
        return STRADS_OK;
    }
    const size_t begin = sti_chunks_begin(&s->chunks, chunk);
    sti_buffer *part;
    strads_err err =
        sti_buffer_over(&state->partial->head, state->partial->bytes + begin,
                        sti_chunks_begin(&s->chunks, chunk + 1) - begin, &part);
    if (!err)
        *out = &part->head;
    return err;
}

static void send_up(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                    uint32_t chunk, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    const sti_place *place = &state->reduce[chunk].place;
    const bool root = place->parent == w->first + k;
    sti_object *object;
    if (select_chunk(s, state, chunk, &object)) {
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
        return;
    }
    state->reduce[chunk].sent = true;
    state->n_sent++;
    sti_effect_send(out,
                    (sti_msg){.kind = STI_MSG_PARTIAL,
                              .from = STI_WORKER_0 + w->index,
                              .to = root ? STI_COORDINATOR
                                         : sti_worker_host(w, place->parent),
                              .partition = w->first + k,
                              .slice = (uint16_t)chunk,
                              .round = s->seq,
                              .busy_ns = state->busy_ns,
                              .object = object});
    end_if_closed(w, s, out);
}

static void merge_child(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        uint32_t chunk, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    struct sti_reduce *reduce = &state->reduce[chunk];
    const sti_msg *child = &reduce->child[reduce->merged];
    if (child->busy_ns > state->busy_ns)
        state->busy_ns = child->busy_ns;
    if (!child->object != sti_worker_is_internal(s->dispatch)) {
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
        return;
    }
    if (!child->object) {
        reduce->merged++;
        return;
    }
    state->job.from = (sti_buffer *)child->object;
    state->job.chunk = chunk;
    sti_worker_compute(w, s, k, STI_CALL_MERGE, out);
}

/* Called when a MERGE job has finished. */
static void worker_merged(struct sti_partition_state *state)
{
    struct sti_reduce *reduce = &state->reduce[state->job.chunk];
    sti_object_drop(reduce->child[reduce->merged].object);
    reduce->child[reduce->merged].object = NULL;
    reduce->merged++;
}

/* Makes one step of a chunk, if one is possible. */
static bool step_chunk(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                       uint32_t chunk, sti_effects *out)
{
    const struct sti_reduce *reduce = &s->states[k].reduce[chunk];
    if (reduce->sent)
        return false;
    if (reduce->merged == reduce->place.n_children) {
        send_up(w, s, k, chunk, out);
        return true;
    }
    if (reduce->child[reduce->merged].kind == 0)
        return false;
    merge_child(w, s, k, chunk, out);
    return true;
}

void sti_worker_reduce(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                       sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    while (state->ready && state->worked && !state->busy && !w->failed) {
        const uint32_t turn = (uint32_t)__builtin_ctzll(state->ready);
        if (!step_chunk(w, s, k, chunk_at(&s->chunks, w->first + k, turn), out))
            state->ready &= ~(UINT64_C(1) << turn);
    }
}

/* ---- arrivals ---------------------------------------------------------- */

/* Hands a partial to its parent. Returns the parent's state, or UINT32_MAX for
 * a partial that is not expected. */
static uint32_t deliver_partial(sti_worker *w, struct sti_round_slot *s,
                                const sti_msg *msg)
{
    const uint32_t partitions = w->run->partitions;
    if (msg->slice >= s->chunks.n || msg->partition >= partitions)
        return UINT32_MAX;
    const sti_place from =
        sti_chunks_place(&s->chunks, msg->slice, msg->partition);
    const uint32_t parent = from.parent;
    if (parent == msg->partition || parent < w->first ||
        parent >= w->first + w->n)
        return UINT32_MAX;
    struct sti_partition_state *state = &s->states[parent - w->first];
    sti_msg *child = &state->reduce[msg->slice].child[from.rank];
    if (child->kind)
        return UINT32_MAX;
    *child = *msg;
    state->ready |= UINT64_C(1)
                    << turn_of_chunk(&s->chunks, parent, msg->slice);
    return parent - w->first;
}

static void take_partial(sti_worker *w, struct sti_round_slot *s,
                         const sti_msg *msg, sti_effects *out)
{
    const uint32_t k = deliver_partial(w, s, msg);
    if (k == UINT32_MAX) {
        sti_object_drop(msg->object);
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
        return;
    }
    sti_worker_reduce(w, s, k, out);
}

/* Keeps partials that arrived before their dispatch, within the possible
 * number. */
static bool keep_ahead(const sti_worker *w, struct sti_round_slot *s,
                       const sti_msg *msg)
{
    if (s->n_ahead >= w->most_ahead)
        return false;
    if (s->n_ahead == s->cap_ahead) {
        uint32_t capacity = s->cap_ahead ? 2 * s->cap_ahead : 8;
        sti_msg *ahead = realloc(s->ahead, sizeof *ahead * capacity);
        if (!ahead)
            return false;
        s->ahead = ahead;
        s->cap_ahead = capacity;
    }
    s->ahead[s->n_ahead++] = *msg;
    return true;
}

static void worker_take_partial(sti_worker *w, const sti_msg *msg,
                                sti_effects *out)
{
    struct sti_round_slot *s = sti_worker_slot(w, msg->round);
    if (s && s->taken_up) {
        take_partial(w, s, msg, out);
    } else if (!s || !keep_ahead(w, s, msg)) {
        sti_object_drop(msg->object);
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
    }
}

/* Hands early partials to their states. */
static void deliver_ahead(sti_worker *w, struct sti_round_slot *s,
                          sti_effects *out)
{
    for (uint32_t k = 0; k < s->n_ahead; k++)
        take_partial(w, s, &s->ahead[k], out);
    s->n_ahead = 0;
}

/* ---- the role
 * ------------------------------------------------------------- */

static bool make_states(const sti_worker *w, struct sti_round_slot *s)
{
    s->states = calloc(w->n + (size_t)1, sizeof *s->states);
    if (!s->states)
        return false;
    const sti_tree tree = sti_tree_up(w->run->partitions);
    for (uint32_t k = 0; k < w->n; k++) {
        struct sti_reduce *whole = &s->states[k].whole;
        whole->place = sti_tree_find(&tree, w->first + k);
        whole->child =
            calloc(whole->place.n_children + (size_t)1, sizeof(sti_msg));
        if (!whole->child)
            return false;
    }
    return true;
}

strads_err sti_worker_new(sti_run *run, uint32_t index, sti_worker **out)
{
    sti_worker *w = calloc(1, sizeof *w);
    if (!w)
        goto fail;
    w->run = run;
    w->index = index;
    w->first = sti_run_first(run, index);
    w->n = sti_run_first(run, index + 1) - w->first;
    w->window = sti_run_window(run);
    w->slots = calloc(w->window, sizeof *w->slots);
    w->turn = calloc(w->n + (size_t)1, sizeof *w->turn);
    w->said = calloc(w->n + (size_t)1, sizeof *w->said);
    const sti_tree tree = sti_tree_up(run->partitions);
    w->most_ahead = w->n * sti_tree_find(&tree, 0).n_children * STI_CHUNKS_MAX;
    if (!w->slots || !w->turn || !w->said)
        goto fail;
    for (uint32_t k = 0; k < w->window; k++)
        if (!make_states(w, &w->slots[k]))
            goto fail;
    *out = w;
    return STRADS_OK;
fail:
    sti_worker_free(w);
    return strads_fail(STRADS_ENOMEM, "no memory for worker %u", index);
}

static void clear_state(struct sti_partition_state *s, uint32_t n_chunks,
                        uint32_t n_blocks)
{
    drop_reduce(s, n_chunks);
    for (uint32_t b = 0; s->waiting && b < n_blocks; b++)
        sti_object_drop(s->waiting[b]);
    while (s->homing) {
        sti_ring_step *step = s->homing;
        s->homing = step->behind;
        sti_object_drop(step);
    }
    sti_object_drop(s->job.step); /* of a job that failed or never ran */
    free(s->waiting);
    free(s->order);
    free(s->is_home);
    *s = (struct sti_partition_state){.partial = s->partial, .whole = s->whole};
}

static void clear_slot(sti_worker *w, struct sti_round_slot *s)
{
    uint32_t n_blocks = s->dispatch ? s->dispatch->n_blocks : 0;
    for (uint32_t k = 0; s->states && k < w->n; k++)
        clear_state(&s->states[k], s->chunks.n, n_blocks);
    for (uint32_t k = 0; k < s->n_early; k++)
        sti_object_drop(s->early[k]);
    free(s->early);
    free(s->early_to);
    for (uint32_t k = 0; k < s->n_ahead; k++)
        sti_object_drop(s->ahead[k].object);
    sti_pieces_free(s->pieces);
    sti_object_drop(s->dispatch);
    *s = (struct sti_round_slot){.states = s->states,
                                 .ahead = s->ahead,
                                 .cap_ahead = s->cap_ahead};
}

void sti_worker_free(sti_worker *w)
{
    if (!w)
        return;
    for (uint32_t k = 0; w->slots && k < w->window; k++) {
        clear_slot(w, &w->slots[k]);
        for (uint32_t p = 0; w->slots[k].states && p < w->n; p++) {
            sti_object_drop(w->slots[k].states[p].partial);
            free(w->slots[k].states[p].whole.child);
        }
        free(w->slots[k].states);
        free(w->slots[k].ahead);
    }
    free(w->slots);
    free(w->turn);
    free(w->said);
    free(w);
}

void sti_worker_fail(sti_worker *w, strads_err err, const char *text,
                     sti_effects *out)
{
    if (w->failed)
        return;
    w->failed = true;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_FAIL,
                                   .from = STI_WORKER_0 + w->index,
                                   .to = STI_COORDINATOR,
                                   .object = sti_failure_object(err, text)});
}

bool sti_worker_is_over(const sti_worker *w, const struct sti_round_slot *s)
{
    if (!s->taken_up)
        return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (s->states[k].n_sent < s->chunks.n)
            return false;
    return true;
}

/* The slot of a round, cleared of the finished older round. NULL for a round
 * outside the window, which only a broken peer names: the coordinator sends a
 * round only after the older one has been committed. */
struct sti_round_slot *sti_worker_slot(sti_worker *w, uint64_t seq)
{
    struct sti_round_slot *s = &w->slots[seq % w->window];
    if (s->used && s->seq == seq)
        return s;
    if (seq + w->window < w->next || seq >= w->next + w->window ||
        (s->used && (s->seq > seq || !sti_worker_is_over(w, s))))
        return NULL;
    clear_slot(w, s);
    s->used = true;
    s->seq = seq;
    return s;
}

uint32_t sti_worker_host(const sti_worker *w, uint32_t partition)
{
    return STI_WORKER_0 + sti_run_host(w->run, partition);
}

bool sti_worker_is_ring(const sti_worker *w, const sti_dispatch *d)
{
    return d->phase < w->run->n_phases &&
           w->run->phases[d->phase].to == STRADS_TO_RING;
}

void sti_worker_compute(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_call call, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    state->busy = true;
    state->job.job.call = call;
    state->job.job.role = STI_WORKER_0 + w->index;
    state->job.job.phase = s->dispatch->phase;
    state->job.job.round = s->dispatch->round;
    state->job.job.said = &w->said[k];
    state->job.seq = s->seq;
    state->job.partition = w->first + k;
    state->job.dispatch = s->dispatch;
    state->job.partial = state->partial;
    sti_effect_compute(out, &state->job.job);
}

/* ---- rounds ------------------------------------------------------------ */

static strads_err reserve_partial(struct sti_partition_state *state)
{
    return state->partial ? STRADS_OK : sti_buffer_new(0, &state->partial);
}

static void start_partition(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                            sti_effects *out)
{
    sti_call call = s->dispatch->phase == STI_PHASE_OPEN    ? STI_CALL_OPEN
                    : s->dispatch->phase == STI_PHASE_PACK  ? STI_CALL_PACK
                    : s->dispatch->phase == STI_PHASE_CLOSE ? STI_CALL_CLOSE
                                                            : STI_CALL_WORK;
    s->states[k].started = true;
    if (reserve_partial(&s->states[k]))
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
    else
        sti_worker_compute(w, s, k, call, out);
}

/* So a partition's computations and their order depend only on the order of
 * dispatches, not on the arrival of blocks. */
void sti_worker_go_on(sti_worker *w, uint32_t k, sti_effects *out)
{
    while (w->turn[k] < w->next && !w->failed) {
        struct sti_round_slot *s = &w->slots[w->turn[k] % w->window];
        if (!s->states[k].started)
            start_partition(w, s, k, out);
        if (sti_worker_is_ring(w, s->dispatch) &&
            !sti_worker_ring_on(w, s, k, out))
            return;
        w->turn[k]++;
    }
}

static void start_round(sti_worker *w, struct sti_round_slot *s,
                        sti_effects *out)
{
    w->next++;
    if (!begin_reduce(w, s, out))
        return;
    s->taken_up = true;
    for (uint32_t k = 0; k < w->n; k++)
        sti_worker_go_on(w, k, out);
    deliver_ahead(w, s, out);
}

/* Starts this round, if it is next, and the rounds after it that wait for
 * it. */
static void start_ready_rounds(sti_worker *w, sti_effects *out)
{
    for (;;) {
        struct sti_round_slot *next = &w->slots[w->next % w->window];
        if (!next->used || next->seq != w->next || !next->dispatch)
            return;
        start_round(w, next, out);
    }
}

/* Takes over the reference to a dispatch or a piece, and forwards it. */
static void take_dispatch(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct sti_round_slot *s = sti_worker_slot(w, msg->round);
    const bool whole = msg->partition == 0;
    if (!s || s->dispatch || !msg->object || (whole && s->pieces) ||
        (!whole && !sti_pieces_take(&s->pieces, msg))) {
        sti_object_drop(msg->object);
        sti_worker_fail(w, STRADS_EPEER, "a round was dispatched twice", out);
        return;
    }
    sti_broadcast_pass_on(w->run, w->index, msg, out);
    if (whole) {
        s->dispatch = (sti_dispatch *)msg->object;
    } else if (s->pieces->came < s->pieces->n) {
        return;
    } else {
        strads_err err =
            sti_pieces_join(w->run, s->pieces, msg->round, &s->dispatch);
        sti_pieces_free(s->pieces);
        s->pieces = NULL;
        if (err) {
            sti_worker_fail(w, err, strads_error_text(), out);
            return;
        }
    }
    start_ready_rounds(w, out);
}

static void finish_job(sti_worker *w, sti_worker_job *job, sti_effects *out)
{
    struct sti_round_slot *s = &w->slots[job->seq % w->window];
    uint32_t k = job->partition - w->first;
    struct sti_partition_state *state = &s->states[k];
    state->busy = false;
    state->busy_ns += job->job.elapsed_ns;
    if (job->job.call == STI_CALL_WORK)
        state->busy_ns += job->behind_ns;
    if (job->job.err) {
        sti_worker_fail(w, job->job.err, w->said[k].text, out);
        return;
    }
    switch (job->job.call) {
    case STI_CALL_MERGE:
        worker_merged(state);
        break;
    case STI_CALL_RING_STEP:
        sti_worker_finish_ring_step(w, s, k, out);
        return;
    case STI_CALL_WORK:
        if (sti_worker_is_ring(w, s->dispatch)) {
            sti_worker_start_ring(w, s, k, out);
            sti_worker_go_on(w, k, out);
            return;
        }
        state->worked = true;
        break;
    default:
        state->worked = true;
        break;
    }
    sti_worker_reduce(w, s, k, out);
}

static void handle_event(sti_worker *w, const sti_event *event,
                         sti_effects *out)
{
    if (event->kind == STI_EVENT_DONE) {
        finish_job(w, (sti_worker_job *)event->job, out);
        return;
    }
    switch (event->msg.kind) {
    case STI_MSG_DISPATCH:
        take_dispatch(w, &event->msg, out);
        break;
    case STI_MSG_PARTIAL:
        worker_take_partial(w, &event->msg, out);
        break;
    case STI_MSG_RING_STEP:
        sti_worker_take_ring_step(w, &event->msg, out);
        break;
    default:
        sti_object_drop(event->msg.object);
        break;
    }
}

void sti_worker_step(sti_worker *w, const sti_event *events, size_t n,
                     sti_effects *out)
{
    for (size_t k = 0; k < n; k++)
        handle_event(w, &events[k], out);
}
