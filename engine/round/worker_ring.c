/* Rings. A block visits all partitions in the order of its route and comes
 * home. Every partition takes blocks in an order that is fixed beforehand, so
 * the run is the same whenever they arrive; what it waits for is the next one
 * alone. A block that comes home is taken in between, when nothing is under
 * way: that changes no one's state but its own. */
#include "engine/round/ring_plan.h"
#include "engine/round/worker_state.h"

#include <stdlib.h>
#include <string.h>

static bool goes_elsewhere(const sti_worker *w, uint32_t to)
{
    return w->run->node_of[sti_run_host(w->run, to)] !=
           w->run->node_of[w->index];
}

/* ---- taking up --------------------------------------------------------- */

/* A block starts on its lap; what it had at its home is taken by the job. */
static strads_err start_hop(const sti_dispatch *d, uint32_t place,
                            sti_hop **out)
{
    size_t n_values = d->value_at[place + 1] - d->value_at[place];
    strads_err err =
        sti_hop_new(place, n_values,
                    d->partial_at[place + 1] - d->partial_at[place], out);
    if (!err && n_values && d->values)
        memcpy((*out)->values, d->values + d->value_at[place],
               sizeof(double) * n_values);
    return err;
}

/* The block that is next for partition k, if it is there. */
static sti_hop *next_hop(sti_worker *w, struct sti_slot *s, uint32_t k,
                         sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    uint32_t place = seat->order[seat->hops_done];
    sti_hop *hop = seat->waiting[place];
    seat->waiting[place] = NULL;
    if (!hop && s->dispatch->blocks[place].owner == w->first + k &&
        start_hop(s->dispatch, place, &hop))
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
    return hop;
}

static void move(sti_worker *w, struct sti_slot *s, uint32_t k, sti_hop *hop,
                 sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    const strads_block *block = &s->dispatch->blocks[hop->index];
    seat->job.hop = hop;
    seat->job.home = hop->step == w->run->partitions;
    seat->job.last = seat->hops_done + 1 == s->dispatch->n_blocks;
    seat->job.leaves =
        goes_elsewhere(w, sti_ring_next(w->run, block, w->first + k));
    sti_worker_compute(w, s, k, STI_CALL_HOP, out);
}

static void end_if_complete(sti_worker *w, struct sti_slot *s, uint32_t k,
                            sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    if (seat->worked || seat->homes < seat->n_home)
        return;
    seat->worked = true;
    sti_worker_reduce(w, s, k, out);
}

bool sti_worker_ring_on(sti_worker *w, struct sti_slot *s, uint32_t k,
                        sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    if (!seat->order) /* the news come first */
        return false;
    bool all = seat->hops_done == s->dispatch->n_blocks;
    if (seat->busy)
        return all;
    sti_hop *hop = seat->homing;
    if (hop)
        seat->homing = hop->behind;
    else if (!all)
        hop = next_hop(w, s, k, out);
    if (hop)
        move(w, s, k, hop, out);
    else if (all)
        end_if_complete(w, s, k, out);
    return all;
}

/* ---- arriving ---------------------------------------------------------- */

/* Whether this is the block, of the right sizes and at the right step, that the
 * partition gets in this round. */
static bool hop_fits(const sti_worker *w, const sti_dispatch *d,
                     uint32_t partition, const sti_hop *hop)
{
    if (hop->index >= d->n_blocks)
        return false;
    const size_t *values = &d->value_at[hop->index];
    const size_t *partial = &d->partial_at[hop->index];
    uint32_t hops = sti_ring_hops(w->run, &d->blocks[hop->index], partition);
    return hop->step == (hops ? hops : w->run->partitions) &&
           hop->n_values == values[1] - values[0] &&
           hop->partial->size == partial[1] - partial[0];
}

static bool is_expected(const sti_worker *w, const struct sti_slot *s,
                        uint32_t partition, const sti_hop *hop)
{
    const struct sti_seat *seat = &s->seats[partition - w->first];
    return hop_fits(w, s->dispatch, partition, hop) && seat->order &&
           !seat->waiting[hop->index] && !seat->is_home[hop->index];
}

/* Puts a hop where its partition finds it. */
static void seat_hop(sti_worker *w, struct sti_slot *s, uint32_t partition,
                     sti_hop *hop, sti_effects *out)
{
    struct sti_seat *seat = &s->seats[partition - w->first];
    if (!is_expected(w, s, partition, hop)) {
        sti_object_drop(hop);
        sti_worker_fail(
            w, STRADS_EPEER,
            "a node sent a ring block that nobody waits for: it runs another "
            "version or is broken",
            out);
    } else if (hop->step == w->run->partitions) {
        hop->behind = seat->homing;
        seat->homing = hop;
    } else {
        seat->waiting[hop->index] = hop;
    }
}

static void keep_early(sti_worker *w, struct sti_slot *s, uint32_t partition,
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
        sti_worker_fail(w, STRADS_ENOMEM, "no memory for a ring block", out);
        return;
    }
    s->early[s->n_early] = hop;
    s->early_to[s->n_early++] = partition;
}

/* A partition goes on with this slot, and with the one that it is at. */
static void go_on_here(sti_worker *w, struct sti_slot *s, uint32_t k,
                       sti_effects *out)
{
    if (w->turn[k] != s->seq)
        (void)sti_worker_ring_on(w, s, k, out);
    sti_worker_go_on(w, k, out);
}

void sti_worker_take_hop(sti_worker *w, const sti_msg *msg, sti_effects *out)
{
    struct sti_slot *s = sti_worker_slot(w, msg->round);
    sti_hop *hop = (sti_hop *)msg->object;
    if (!s || !hop || msg->partition < w->first ||
        msg->partition >= w->first + w->n ||
        (s->taken_up && !sti_worker_is_ring(w, s->dispatch))) {
        sti_object_drop(hop);
        sti_worker_fail(
            w, STRADS_EPEER,
            "a node sent a ring block to the wrong worker: it runs another "
            "version or is broken",
            out);
        return;
    }
    uint32_t k = msg->partition - w->first;
    if (!s->taken_up || !s->seats[k].order) {
        keep_early(w, s, msg->partition, hop, out);
        return;
    }
    seat_hop(w, s, msg->partition, hop, out);
    go_on_here(w, s, k, out);
}

/* ---- starting and finishing -------------------------------------------- */

static strads_err make_places(sti_worker *w, struct sti_slot *s, uint32_t k)
{
    const sti_dispatch *d = s->dispatch;
    struct sti_seat *seat = &s->seats[k];
    uint32_t *order = malloc(sizeof *order * ((size_t)d->n_blocks + 1));
    seat->waiting = calloc((size_t)d->n_blocks + 1, sizeof(sti_hop *));
    seat->is_home = calloc((size_t)d->n_blocks + 1, sizeof *seat->is_home);
    if (!order || !seat->waiting || !seat->is_home ||
        sti_ring_order(w->run, d, w->first + k, order)) {
        free(order);
        return strads_fail(STRADS_ENOMEM, "no memory for a ring of blocks");
    }
    seat->order = order;
    for (uint32_t b = 0; b < d->n_blocks; b++)
        seat->n_home += d->blocks[b].owner == w->first + k;
    return STRADS_OK;
}

void sti_worker_start_ring(sti_worker *w, struct sti_slot *s, uint32_t k,
                           sti_effects *out)
{
    if (make_places(w, s, k)) {
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
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
}

void sti_worker_finish_hop(sti_worker *w, struct sti_slot *s, uint32_t k,
                           sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    sti_hop *hop = seat->job.hop;
    seat->job.hop = NULL;
    if (seat->job.home) {
        seat->homes++;
        seat->is_home[hop->index] = true;
        sti_object_drop(hop);
    } else {
        uint32_t to = sti_ring_next(w->run, &s->dispatch->blocks[hop->index],
                                    w->first + k);
        seat->hops_done++;
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_HOP,
                                       .from = STI_WORKER_0 + w->index,
                                       .to = sti_worker_host(w, to),
                                       .partition = to,
                                       .round = s->seq,
                                       .object = &hop->head});
    }
    go_on_here(w, s, k, out);
}
