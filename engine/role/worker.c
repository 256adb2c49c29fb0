/* A worker. Rounds live in slots (by the sequence number of their dispatch,
 * modulo window): the coordinator never
 * has more in flight, so a slot is free when its next round comes. Dispatches
 * are taken up in the order of rounds, whatever order they arrive in, because
 * their news build on each other.
 *
 * Merging. Partials go up a binary tree over partitions: at level l partition
 * p, a multiple of 2^(l+1), takes in the sum of p + 2^l; others send theirs to
 * p - 2^l and are done. Levels are taken in order, so the shape of the sum, and
 * with it every bit, depends on the number of partitions alone.
 *
 * Rings. A block visits partitions owner, owner + 1, ... and comes home. Every
 * partition takes blocks in the order of (step, place in the dispatch). */
#include "engine/role/worker.h"

#include <stdlib.h>
#include <string.h>

enum { FAN_OUT = 8, LEVELS = 32 };

/* One partition's part of one round. */
struct seat {
    sti_worker_job job;
    bool busy;   /* the job is out */
    bool worked; /* its own partial is complete */
    bool sent;
    uint32_t level; /* next level to take in */
    sti_buffer *partial;
    sti_msg child[LEVELS]; /* arrived from p + 2^level; kind 0: not yet */
    uint64_t busy_ns;
    /* RING */
    sti_hop **waiting; /* [n_blocks] by place: arrived and not yet taken up */
    uint32_t hops_done;
};

struct slot {
    uint64_t round;
    bool used;
    sti_dispatch *dispatch; /* NULL: only partials or hops came so far */
    bool taken_up;
    struct seat *seats; /* [n_partitions] */
    sti_hop **early;    /* hops that came before the dispatch */
    uint32_t *early_to;
    uint32_t n_early;
};

struct sti_worker {
    sti_run *run;
    uint32_t index;
    uint32_t first, n; /* partitions hosted */
    uint32_t window;
    uint64_t next;      /* round to be taken up next */
    struct slot *slots; /* [window] */
    bool failed;
};

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
    if (!w->slots)
        goto fail;
    for (uint32_t k = 0; k < w->window; k++) {
        w->slots[k].seats = calloc(w->n ? w->n : 1, sizeof(struct seat));
        if (!w->slots[k].seats)
            goto fail;
    }
    *out = w;
    return STRADS_OK;
fail:
    sti_worker_free(w);
    return strads_fail(STRADS_ENOMEM, "no memory for worker %u", index);
}

static void clear_seat(struct seat *s, uint32_t n_blocks)
{
    for (uint32_t l = 0; l < LEVELS; l++)
        if (s->child[l].kind)
            sti_object_drop(s->child[l].object);
    for (uint32_t b = 0; s->waiting && b < n_blocks; b++)
        sti_object_drop(s->waiting[b]);
    sti_object_drop(s->job.hop); /* of a job that failed or never ran */
    free(s->waiting);
    sti_buffer *partial = s->partial;
    *s = (struct seat){.partial = partial};
}

static void clear_slot(sti_worker *w, struct slot *s)
{
    uint32_t n_blocks = s->dispatch ? s->dispatch->n_blocks : 0;
    for (uint32_t k = 0; s->seats && k < w->n; k++)
        clear_seat(&s->seats[k], n_blocks);
    for (uint32_t k = 0; k < s->n_early; k++)
        sti_object_drop(s->early[k]);
    free(s->early);
    free(s->early_to);
    sti_object_drop(s->dispatch);
    *s = (struct slot){.seats = s->seats};
}

void sti_worker_free(sti_worker *w)
{
    if (!w)
        return;
    for (uint32_t k = 0; w->slots && k < w->window; k++) {
        clear_slot(w, &w->slots[k]);
        for (uint32_t p = 0; w->slots[k].seats && p < w->n; p++)
            sti_object_drop(w->slots[k].seats[p].partial);
        free(w->slots[k].seats);
    }
    free(w->slots);
    free(w);
}

static void fail(sti_worker *w, strads_err err, const char *text,
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

/* Whether nothing of a slot's round is left to do here. */
static bool is_over(const sti_worker *w, const struct slot *s)
{
    if (!s->taken_up)
        return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (!s->seats[k].sent)
            return false;
    return true;
}

/* The slot of a round, cleared of the older round that is over; NULL for a
 * round outside the window, which only a broken peer can name: the coordinator
 * sends a round only when that one has been committed. */
static struct slot *slot_of(sti_worker *w, uint64_t round)
{
    struct slot *s = &w->slots[round % w->window];
    if (s->used && s->round == round)
        return s;
    if (round + w->window < w->next || round >= w->next + w->window ||
        (s->used && (s->round > round || !is_over(w, s))))
        return NULL;
    clear_slot(w, s);
    s->used = true;
    s->round = round;
    return s;
}

static uint32_t host_address(const sti_worker *w, uint32_t partition)
{
    return STI_WORKER_0 + sti_run_host(w->run, partition);
}

static bool is_internal(const sti_dispatch *d)
{
    return d->phase == STI_PHASE_OPEN || d->phase == STI_PHASE_CLOSE;
}

static bool is_ring(const sti_worker *w, const sti_dispatch *d)
{
    return !is_internal(d) && w->run->phases[d->phase].to == STRADS_TO_RING;
}

/* ---- merging up -------------------------------------------------------- */

static void compute(sti_worker *w, struct slot *s, uint32_t k, sti_call call,
                    sti_effects *out)
{
    struct seat *seat = &s->seats[k];
    seat->busy = true;
    seat->job.job.call = call;
    seat->job.job.role = STI_WORKER_0 + w->index;
    seat->job.job.phase = s->dispatch->phase;
    seat->job.job.round = s->dispatch->round;
    seat->job.seq = s->round;
    seat->job.partition = w->first + k;
    seat->job.dispatch = s->dispatch;
    seat->job.partial = seat->partial;
    sti_effect_compute(out, &seat->job.job);
}

/* After CLOSE there is nothing left to do for one whose partials are sent. */
static void end_if_closed(const sti_worker *w, const struct slot *s,
                          sti_effects *out)
{
    if (s->dispatch->phase == STI_PHASE_CLOSE && is_over(w, s))
        sti_effect_end(out, STRADS_OK);
}

static void send_up(sti_worker *w, struct slot *s, uint32_t k, sti_address to,
                    sti_effects *out)
{
    struct seat *seat = &s->seats[k];
    seat->sent = true;
    sti_effect_send(out,
                    (sti_msg){.kind = STI_MSG_PARTIAL,
                              .from = STI_WORKER_0 + w->index,
                              .to = to,
                              .partition = w->first + k,
                              .round = s->round,
                              .busy_ns = seat->busy_ns,
                              .object = is_internal(s->dispatch)
                                            ? NULL
                                            : sti_object_keep(seat->partial)});
    end_if_closed(w, s, out);
}

static const char NOT_WAITED_FOR[] =
    "a node sent a partial that nobody waits for: it runs another version or "
    "is broken";

/* Takes in what has come, level by level, and sends the sum on when it is
 * complete. */
static void climb(sti_worker *w, struct slot *s, uint32_t k, sti_effects *out)
{
    struct seat *seat = &s->seats[k];
    uint32_t p = w->first + k;
    while (seat->worked && !seat->busy && !seat->sent) {
        uint32_t step = UINT32_C(1) << seat->level;
        if (p & step) {
            send_up(w, s, k, host_address(w, p - step), out);
        } else if (p == 0 && step >= w->run->partitions) {
            send_up(w, s, k, STI_COORDINATOR, out);
        } else if (step >= w->run->partitions - p) {
            seat->level++;
        } else if (seat->child[seat->level].kind == 0) {
            return;
        } else {
            sti_msg *child = &seat->child[seat->level];
            if (child->busy_ns > seat->busy_ns)
                seat->busy_ns = child->busy_ns;
            if (!child->object != is_internal(s->dispatch)) {
                fail(w, STRADS_EPEER, NOT_WAITED_FOR, out);
                return;
            }
            if (!child->object) {
                seat->level++;
                continue;
            }
            seat->job.from = (sti_buffer *)child->object;
            compute(w, s, k, STI_CALL_MERGE, out);
        }
    }
}

static void take_partial(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    uint32_t low = msg->partition & -msg->partition;
    uint32_t parent = msg->partition - low;
    struct slot *s = slot_of(w, msg->round);
    uint32_t level = 0;
    while (level + 1 < LEVELS && (UINT32_C(1) << level) != low)
        level++;
    if (!s || low == 0 || msg->partition >= w->run->partitions ||
        parent < w->first || parent >= w->first + w->n ||
        s->seats[parent - w->first].child[level].kind) {
        sti_object_drop(msg->object);
        fail(w, STRADS_EPEER, NOT_WAITED_FOR, out);
        return;
    }
    s->seats[parent - w->first].child[level] = *msg;
    if (s->taken_up)
        climb(w, s, parent - w->first, out);
}

/* ---- rings ------------------------------------------------------------- */

/* The place in the dispatch of the block that partition p takes up next: the
 * hops_done-th in the order of (step, place). n_blocks when p has had all and
 * waits for those whose home it is. */
static uint32_t next_place(const sti_worker *w, const struct slot *s,
                           uint32_t k, uint32_t *step)
{
    const sti_dispatch *d = s->dispatch;
    uint32_t K = w->run->partitions;
    uint32_t p = w->first + k;
    uint32_t left = s->seats[k].hops_done;
    for (*step = 0; *step <= K; ++*step) {
        uint32_t owner = (p + K - *step % K) % K;
        for (uint32_t b = 0; b < d->n_blocks; b++)
            if (d->blocks[b].owner == owner && left-- == 0)
                return b;
    }
    return d->n_blocks;
}

static void ring_on(sti_worker *w, struct slot *s, uint32_t k, sti_effects *out)
{
    struct seat *seat = &s->seats[k];
    if (seat->busy)
        return;
    uint32_t step;
    uint32_t place = next_place(w, s, k, &step);
    if (place == s->dispatch->n_blocks) {
        seat->worked = true;
        climb(w, s, k, out);
        return;
    }
    sti_hop *hop = seat->waiting[place];
    if (!hop || hop->step != step)
        return;
    seat->waiting[place] = NULL;
    seat->job.hop = hop;
    seat->job.home = hop->step == w->run->partitions;
    uint32_t to = (w->first + k + 1) % w->run->partitions;
    seat->job.leaves =
        w->run->node_of[sti_run_host(w->run, to)] != w->run->node_of[w->index];
    compute(w, s, k, STI_CALL_HOP, out);
}

static strads_err start_hops(sti_worker *w, struct slot *s, uint32_t k)
{
    const sti_dispatch *d = s->dispatch;
    struct seat *seat = &s->seats[k];
    if (!seat->waiting)
        seat->waiting = calloc(d->n_blocks + 1, sizeof(sti_hop *));
    if (!seat->waiting)
        return strads_fail(STRADS_ENOMEM, "no memory for a ring of blocks");
    for (uint32_t b = 0; b < d->n_blocks; b++) {
        if (d->blocks[b].owner != w->first + k)
            continue;
        size_t n_values = d->value_at[b + 1] - d->value_at[b];
        strads_err err =
            sti_hop_new(b, n_values, d->partial_at[b + 1] - d->partial_at[b],
                        &seat->waiting[b]);
        if (err)
            return err;
        if (n_values)
            memcpy(seat->waiting[b]->values, d->values + d->value_at[b],
                   sizeof(double) * n_values);
    }
    return STRADS_OK;
}

/* Whether this is the block, of the right sizes and at the right step, that the
 * partition gets in this round. */
static bool hop_fits(const sti_worker *w, const sti_dispatch *d,
                     uint32_t partition, const sti_hop *hop)
{
    if (hop->index >= d->n_blocks)
        return false;
    const size_t *values = &d->value_at[hop->index];
    const size_t *partial = &d->partial_at[hop->index];
    uint32_t K = w->run->partitions;
    uint32_t hops = (partition + K - d->blocks[hop->index].owner % K) % K;
    return hop->step == (hops ? hops : K) &&
           hop->n_values == values[1] - values[0] &&
           hop->partial->size == partial[1] - partial[0];
}

/* Puts a hop where its partition finds it. */
static void seat_hop(sti_worker *w, struct slot *s, uint32_t partition,
                     sti_hop *hop, sti_effects *out)
{
    struct seat *seat = &s->seats[partition - w->first];
    if (!hop_fits(w, s->dispatch, partition, hop) || !seat->waiting ||
        seat->waiting[hop->index]) {
        sti_object_drop(hop);
        fail(w, STRADS_EPEER,
             "a node sent a ring block that nobody waits for: it runs another "
             "version or is broken",
             out);
        return;
    }
    seat->waiting[hop->index] = hop;
    if (!seat->busy)
        ring_on(w, s, partition - w->first, out);
}

static void keep_early(sti_worker *w, struct slot *s, uint32_t partition,
                       sti_hop *hop, sti_effects *out)
{
    sti_hop **early = realloc(s->early, sizeof(sti_hop *) * (s->n_early + 1));
    if (early)
        s->early = early;
    uint32_t *to = realloc(s->early_to, sizeof *to * (s->n_early + 1));
    if (to)
        s->early_to = to;
    if (!early || !to) {
        sti_object_drop(hop);
        fail(w, STRADS_ENOMEM, "no memory for a ring block", out);
        return;
    }
    s->early[s->n_early] = hop;
    s->early_to[s->n_early++] = partition;
}

static void take_hop(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct slot *s = slot_of(w, msg->round);
    sti_hop *hop = (sti_hop *)msg->object;
    if (!s || !hop || msg->partition < w->first ||
        msg->partition >= w->first + w->n ||
        (s->taken_up && !is_ring(w, s->dispatch))) {
        sti_object_drop(hop);
        fail(w, STRADS_EPEER,
             "a node sent a ring block to the wrong worker: it runs another "
             "version or is broken",
             out);
        return;
    }
    if (s->taken_up && s->seats[msg->partition - w->first].waiting)
        seat_hop(w, s, msg->partition, hop, out);
    else
        keep_early(w, s, msg->partition, hop, out);
}

/* The partition knows the news: its blocks start, and those that came early
 * find their seat. */
static void start_ring(sti_worker *w, struct slot *s, uint32_t k,
                       sti_effects *out)
{
    if (start_hops(w, s, k)) {
        fail(w, STRADS_ENOMEM, strads_error_text(), out);
        return;
    }
    uint32_t kept = 0;
    for (uint32_t e = 0; e < s->n_early; e++) {
        if (s->early_to[e] == w->first + k) {
            seat_hop(w, s, s->early_to[e], s->early[e], out);
        } else {
            s->early[kept] = s->early[e];
            s->early_to[kept++] = s->early_to[e];
        }
    }
    s->n_early = kept;
    ring_on(w, s, k, out);
}

static void finish_hop(sti_worker *w, struct slot *s, uint32_t k,
                       sti_effects *out)
{
    struct seat *seat = &s->seats[k];
    sti_hop *hop = seat->job.hop;
    seat->job.hop = NULL;
    seat->hops_done++;
    if (seat->job.home) {
        sti_object_drop(hop);
    } else {
        uint32_t to = (w->first + k + 1) % w->run->partitions;
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_HOP,
                                       .from = STI_WORKER_0 + w->index,
                                       .to = host_address(w, to),
                                       .partition = to,
                                       .round = s->round,
                                       .object = &hop->head});
    }
    ring_on(w, s, k, out);
}

/* ---- rounds ------------------------------------------------------------ */

static strads_err make_partial(struct seat *seat)
{
    return seat->partial ? STRADS_OK : sti_buffer_new(0, &seat->partial);
}

static void take_up(sti_worker *w, struct slot *s, sti_effects *out)
{
    s->taken_up = true;
    w->next++;
    sti_call call = s->dispatch->phase == STI_PHASE_OPEN    ? STI_CALL_OPEN
                    : s->dispatch->phase == STI_PHASE_CLOSE ? STI_CALL_CLOSE
                                                            : STI_CALL_WORK;
    for (uint32_t k = 0; k < w->n; k++) {
        if (make_partial(&s->seats[k])) {
            fail(w, STRADS_ENOMEM, strads_error_text(), out);
            return;
        }
        compute(w, s, k, call, out);
    }
}

/* Workers 8 w + 1 .. 8 w + 8 hear it from worker w. */
static void pass_on(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    for (uint32_t c = 1; c <= FAN_OUT; c++) {
        uint64_t child = (uint64_t)w->index * FAN_OUT + c;
        if (child >= w->run->workers)
            return;
        sti_msg copy = *msg;
        copy.from = STI_WORKER_0 + w->index;
        copy.to = STI_WORKER_0 + (uint32_t)child;
        sti_object_keep(copy.object);
        sti_effect_send(out, copy);
    }
}

static void take_dispatch(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct slot *s = slot_of(w, msg->round);
    if (!s || s->dispatch || !msg->object) {
        sti_object_drop(msg->object);
        fail(w, STRADS_EPEER, "a round was dispatched twice", out);
        return;
    }
    pass_on(w, msg, out);
    s->dispatch = (sti_dispatch *)msg->object;
    for (;;) {
        struct slot *next = &w->slots[w->next % w->window];
        if (!next->used || next->round != w->next || !next->dispatch)
            return;
        take_up(w, next, out);
    }
}

static void done(sti_worker *w, sti_worker_job *job, sti_effects *out)
{
    struct slot *s = &w->slots[job->seq % w->window];
    uint32_t k = job->partition - w->first;
    struct seat *seat = &s->seats[k];
    seat->busy = false;
    seat->busy_ns += job->job.elapsed_ns;
    if (job->job.err) {
        fail(w, job->job.err, job->job.text, out);
        return;
    }
    switch (job->job.call) {
    case STI_CALL_MERGE:
        sti_object_drop(seat->child[seat->level].object);
        seat->child[seat->level].object = NULL;
        seat->level++;
        break;
    case STI_CALL_HOP:
        finish_hop(w, s, k, out);
        return;
    case STI_CALL_WORK:
        if (is_ring(w, s->dispatch)) {
            start_ring(w, s, k, out);
            return;
        }
        seat->worked = true;
        break;
    default:
        seat->worked = true;
        break;
    }
    climb(w, s, k, out);
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
    case STI_MSG_PARTIAL:
        take_partial(w, &event->msg, out);
        break;
    case STI_MSG_HOP:
        take_hop(w, &event->msg, out);
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
