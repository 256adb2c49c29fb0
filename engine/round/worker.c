/* A worker. Dispatches live in slots, by their sequence number modulo window:
 * the coordinator never has more in flight, so a slot is free when its next
 * one comes. They are taken up in sequence, whatever order they arrive in,
 * because their news build on each other.
 * Merging is in worker_climb.c, rings are in worker_ring.c. */
#include "engine/round/worker_state.h"

#include <stdlib.h>
#include <string.h>

static void bound_ahead(sti_worker *w)
{
    const sti_tree up = sti_tree_of_partials(w->run->partitions);
    const uint32_t whole = sti_tree_find(&up, 0).n_children;
    const uint32_t cut = sti_slices_children_max(w->run->partitions);
    w->most_ahead = w->n * (whole > cut ? whole : cut) * STI_SLICES_MAX;
}

static bool make_seats(const sti_worker *w, struct sti_slot *s)
{
    s->seats = calloc(w->n + (size_t)1, sizeof *s->seats);
    if (!s->seats)
        return false;
    for (uint32_t k = 0; k < w->n; k++) {
        struct sti_climb *whole = &s->seats[k].whole;
        whole->place = sti_tree_climb(w->run->partitions, w->first + k);
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
    bound_ahead(w);
    w->down = sti_descent_place(run, STI_WORKER_0 + index);
    if (!w->slots || !w->turn || !w->said)
        goto fail;
    for (uint32_t k = 0; k < w->window; k++)
        if (!make_seats(w, &w->slots[k]))
            goto fail;
    *out = w;
    return STRADS_OK;
fail:
    sti_worker_free(w);
    return strads_fail(STRADS_ENOMEM, "no memory for worker %u", index);
}

static void clear_seat(struct sti_seat *s, uint32_t n_slices, uint32_t n_blocks)
{
    sti_worker_drop_climbs(s, n_slices);
    for (uint32_t b = 0; s->waiting && b < n_blocks; b++)
        sti_object_drop(s->waiting[b]);
    while (s->homing) {
        sti_hop *hop = s->homing;
        s->homing = hop->behind;
        sti_object_drop(hop);
    }
    sti_object_drop(s->job.hop); /* of a job that failed or never ran */
    free(s->waiting);
    free(s->order);
    free(s->is_home);
    *s = (struct sti_seat){.partial = s->partial, .whole = s->whole};
}

static void clear_slot(sti_worker *w, struct sti_slot *s)
{
    uint32_t n_blocks = s->dispatch ? s->dispatch->n_blocks : 0;
    for (uint32_t k = 0; s->seats && k < w->n; k++)
        clear_seat(&s->seats[k], s->slices.n, n_blocks);
    for (uint32_t k = 0; k < s->n_early; k++)
        sti_object_drop(s->early[k]);
    free(s->early);
    free(s->early_to);
    for (uint32_t k = 0; k < s->n_ahead; k++)
        sti_object_drop(s->ahead[k].object);
    sti_pieces_free(s->pieces);
    sti_object_drop(s->dispatch);
    *s = (struct sti_slot){.seats = s->seats,
                           .ahead = s->ahead,
                           .room_ahead = s->room_ahead};
}

void sti_worker_free(sti_worker *w)
{
    if (!w)
        return;
    for (uint32_t k = 0; w->slots && k < w->window; k++) {
        clear_slot(w, &w->slots[k]);
        for (uint32_t p = 0; w->slots[k].seats && p < w->n; p++) {
            sti_object_drop(w->slots[k].seats[p].partial);
            free(w->slots[k].seats[p].whole.child);
        }
        free(w->slots[k].seats);
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

bool sti_worker_is_over(const sti_worker *w, const struct sti_slot *s)
{
    if (!s->taken_up)
        return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (s->seats[k].n_sent < s->slices.n)
            return false;
    return true;
}

/* The slot of a round, cleared of the older round that is over; NULL for a
 * round outside the window, which only a broken peer can name: the coordinator
 * sends a round only when that one has been committed. */
struct sti_slot *sti_worker_slot(sti_worker *w, uint64_t seq)
{
    struct sti_slot *s = &w->slots[seq % w->window];
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
    return !sti_worker_is_internal(d) &&
           w->run->phases[d->phase].to == STRADS_TO_RING;
}

void sti_worker_compute(sti_worker *w, struct sti_slot *s, uint32_t k,
                        sti_call call, sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    seat->busy = true;
    seat->job.job.call = call;
    seat->job.job.role = STI_WORKER_0 + w->index;
    seat->job.job.phase = s->dispatch->phase;
    seat->job.job.round = s->dispatch->round;
    seat->job.job.said = &w->said[k];
    seat->job.seq = s->seq;
    seat->job.partition = w->first + k;
    seat->job.dispatch = s->dispatch;
    seat->job.partial = seat->partial;
    sti_effect_compute(out, &seat->job.job);
}

/* ---- rounds ------------------------------------------------------------ */

static strads_err make_partial(struct sti_seat *seat)
{
    return seat->partial ? STRADS_OK : sti_buffer_new(0, &seat->partial);
}

static void start(sti_worker *w, struct sti_slot *s, uint32_t k,
                  sti_effects *out)
{
    sti_call call = s->dispatch->phase == STI_PHASE_OPEN    ? STI_CALL_OPEN
                    : s->dispatch->phase == STI_PHASE_CLOSE ? STI_CALL_CLOSE
                                                            : STI_CALL_WORK;
    s->seats[k].started = true;
    if (make_partial(&s->seats[k]))
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
    else
        sti_worker_compute(w, s, k, call, out);
}

/* What a partition computes, and in which order, thus depends on the order of
 * dispatches alone, never on when a block comes. */
void sti_worker_go_on(sti_worker *w, uint32_t k, sti_effects *out)
{
    while (w->turn[k] < w->next && !w->failed) {
        struct sti_slot *s = &w->slots[w->turn[k] % w->window];
        if (!s->seats[k].started)
            start(w, s, k, out);
        if (sti_worker_is_ring(w, s->dispatch) &&
            !sti_worker_ring_on(w, s, k, out))
            return;
        w->turn[k]++;
    }
}

static void take_up(sti_worker *w, struct sti_slot *s, sti_effects *out)
{
    w->next++;
    if (!sti_worker_make_climbs(w, s, out))
        return;
    s->taken_up = true;
    for (uint32_t k = 0; k < w->n; k++)
        sti_worker_go_on(w, k, out);
    sti_worker_seat_ahead(w, s, out);
}

/* Takes up this round, if it is next, and those behind it that wait for it. */
static void take_up_all(sti_worker *w, sti_effects *out)
{
    for (;;) {
        struct sti_slot *next = &w->slots[w->next % w->window];
        if (!next->used || next->seq != w->next || !next->dispatch)
            return;
        take_up(w, next, out);
    }
}

static void refuse_dispatch(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    sti_object_drop(msg->object);
    sti_worker_fail(w, STRADS_EPEER, "a round was dispatched twice", out);
}

static void take_dispatch(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct sti_slot *s = sti_worker_slot(w, msg->round);
    if (!s || s->dispatch || s->pieces || !msg->object) {
        refuse_dispatch(w, msg, out);
        return;
    }
    sti_descent_pass_on(w->index, &w->down, msg, out);
    s->dispatch = (sti_dispatch *)msg->object;
    take_up_all(w, out);
}

static void take_piece(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct sti_slot *s = sti_worker_slot(w, msg->round);
    if (!s || s->dispatch || !sti_pieces_take(&s->pieces, msg)) {
        refuse_dispatch(w, msg, out);
        return;
    }
    sti_descent_pass_piece_on(w->run, w->index, msg, out);
    if (s->pieces->came < s->pieces->n)
        return;
    strads_err err =
        sti_pieces_join(w->run, s->pieces, msg->round, &s->dispatch);
    sti_pieces_free(s->pieces);
    s->pieces = NULL;
    if (err)
        sti_worker_fail(w, err, strads_error_text(), out);
    else
        take_up_all(w, out);
}

static void done(sti_worker *w, sti_worker_job *job, sti_effects *out)
{
    struct sti_slot *s = &w->slots[job->seq % w->window];
    uint32_t k = job->partition - w->first;
    struct sti_seat *seat = &s->seats[k];
    seat->busy = false;
    seat->busy_ns += job->job.elapsed_ns;
    if (job->job.call == STI_CALL_WORK)
        seat->busy_ns += job->behind_ns;
    if (job->job.err) {
        sti_worker_fail(w, job->job.err, w->said[k].text, out);
        return;
    }
    switch (job->job.call) {
    case STI_CALL_MERGE:
        sti_worker_merged(seat);
        break;
    case STI_CALL_HOP:
        sti_worker_finish_hop(w, s, k, out);
        return;
    case STI_CALL_WORK:
        if (sti_worker_is_ring(w, s->dispatch)) {
            sti_worker_start_ring(w, s, k, out);
            sti_worker_go_on(w, k, out);
            return;
        }
        seat->worked = true;
        break;
    default:
        seat->worked = true;
        break;
    }
    sti_worker_climb(w, s, k, out);
}

static void step_one(sti_worker *w, const sti_event *event, sti_effects *out)
{
    if (event->kind == STI_EVENT_DONE) {
        done(w, (sti_worker_job *)event->job, out);
        return;
    }
    switch (event->msg.kind) {
    case STI_MSG_DISPATCH:
        take_dispatch(w, &event->msg, out);
        break;
    case STI_MSG_PIECE:
        take_piece(w, &event->msg, out);
        break;
    case STI_MSG_PARTIAL:
        sti_worker_take_partial(w, &event->msg, out);
        break;
    case STI_MSG_HOP:
        sti_worker_take_hop(w, &event->msg, out);
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
        step_one(w, &events[k], out);
}
