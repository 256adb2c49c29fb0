/* Rings. A block visits partitions owner, owner + 1, ... and comes home. Every
 * partition takes blocks in the order of (step, place in the dispatch), so the
 * run is the same whenever they arrive. */
#include "engine/role/worker_state.h"

#include <stdlib.h>
#include <string.h>

/* The place in the dispatch of the block that partition p takes up next: the
 * hops_done-th in the order of (step, place). n_blocks when p has had all and
 * waits for those whose home it is. */
static uint32_t next_place(const sti_worker *w, const struct sti_slot *s,
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

static void ring_on(sti_worker *w, struct sti_slot *s, uint32_t k,
                    sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    if (seat->busy)
        return;
    uint32_t step;
    uint32_t place = next_place(w, s, k, &step);
    if (place == s->dispatch->n_blocks) {
        seat->worked = true;
        sti_worker_climb(w, s, k, out);
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
    sti_worker_compute(w, s, k, STI_CALL_HOP, out);
}

static strads_err start_hops(sti_worker *w, struct sti_slot *s, uint32_t k)
{
    const sti_dispatch *d = s->dispatch;
    struct sti_seat *seat = &s->seats[k];
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
static void seat_hop(sti_worker *w, struct sti_slot *s, uint32_t partition,
                     sti_hop *hop, sti_effects *out)
{
    struct sti_seat *seat = &s->seats[partition - w->first];
    if (!hop_fits(w, s->dispatch, partition, hop) || !seat->waiting ||
        seat->waiting[hop->index]) {
        sti_object_drop(hop);
        sti_worker_fail(
            w, STRADS_EPEER,
            "a node sent a ring block that nobody waits for: it runs another "
            "version or is broken",
            out);
        return;
    }
    seat->waiting[hop->index] = hop;
    if (!seat->busy)
        ring_on(w, s, partition - w->first, out);
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
    if (s->taken_up && s->seats[msg->partition - w->first].waiting)
        seat_hop(w, s, msg->partition, hop, out);
    else
        keep_early(w, s, msg->partition, hop, out);
}

/* The partition knows the news: its blocks start, and those that came early
 * find their seat. */
void sti_worker_start_ring(sti_worker *w, struct sti_slot *s, uint32_t k,
                           sti_effects *out)
{
    if (start_hops(w, s, k)) {
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
    ring_on(w, s, k, out);
}

void sti_worker_finish_hop(sti_worker *w, struct sti_slot *s, uint32_t k,
                           sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    sti_hop *hop = seat->job.hop;
    seat->job.hop = NULL;
    seat->hops_done++;
    if (seat->job.home) {
        sti_object_drop(hop);
    } else {
        uint32_t to = (w->first + k + 1) % w->run->partitions;
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_HOP,
                                       .from = STI_WORKER_0 + w->index,
                                       .to = sti_worker_host(w, to),
                                       .partition = to,
                                       .round = s->seq,
                                       .object = &hop->head});
    }
    ring_on(w, s, k, out);
}
