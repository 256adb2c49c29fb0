/* Rings. A block visits all partitions in the order of its route and returns
 * home. Every partition processes blocks in a fixed order, so the run does not
 * depend on arrival times; it waits only for the next block. A block that comes
 * home is recorded in between, when the partition is free; that changes only
 * the block's own state. */
#include "engine/round/ring_plan.h"
#include "engine/round/worker_state.h"

#include <stdlib.h>
#include <string.h>

static bool goes_elsewhere(const sti_worker *w, uint32_t to)
{
    return w->run->node_of[sti_run_host(w->run, to)] !=
           w->run->node_of[w->index];
}

/* ---- taking blocks ------------------------------------------------------- */

/* Starts a block's sweep; the job takes the object parked at its home. */
static strads_err start_ring_step(const sti_dispatch *d, uint32_t place,
                                  sti_ring_step **out)
{
    size_t n_values = d->value_at[place + 1] - d->value_at[place];
    strads_err err =
        sti_ring_step_new(place, n_values,
                          d->partial_at[place + 1] - d->partial_at[place], out);
    if (!err && n_values && d->values)
        memcpy((*out)->values, d->values + d->value_at[place],
               sizeof(double) * n_values);
    return err;
}

/* The next block for partition k, if it has arrived. */
static sti_ring_step *next_ring_step(sti_worker *w, struct sti_round_slot *s,
                                     uint32_t k, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    uint32_t place = state->order[state->steps_done];
    sti_ring_step *step = state->waiting[place];
    state->waiting[place] = NULL;
    if (!step && s->dispatch->blocks[place].owner == w->first + k &&
        start_ring_step(s->dispatch, place, &step))
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
    return step;
}

static void start_step(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                       sti_ring_step *step, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    const strads_block *block = &s->dispatch->blocks[step->index];
    state->job.step = step;
    state->job.home = step->number == w->run->partitions;
    state->job.last = state->steps_done + 1 == s->dispatch->n_blocks;
    state->job.leaves =
        goes_elsewhere(w, sti_ring_next(w->run, block, w->first + k));
    sti_worker_compute(w, s, k, STI_CALL_RING_STEP, out);
}

static void end_if_complete(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                            sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    if (state->worked || state->homes < state->n_home)
        return;
    state->worked = true;
    sti_worker_reduce(w, s, k, out);
}

bool sti_worker_ring_on(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                        sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    if (!state->order) /* the updates come first */
        return false;
    bool all = state->steps_done == s->dispatch->n_blocks;
    if (state->busy)
        return all;
    sti_ring_step *step = state->homing;
    if (step)
        state->homing = step->behind;
    else if (!all)
        step = next_ring_step(w, s, k, out);
    if (step)
        start_step(w, s, k, step, out);
    else if (all)
        end_if_complete(w, s, k, out);
    return all;
}

/* ---- arriving ---------------------------------------------------------- */

/* Whether this is the block that the partition expects in this round, with the
 * right sizes and step. */
static bool ring_step_fits(const sti_worker *w, const sti_dispatch *d,
                           uint32_t partition, const sti_ring_step *step)
{
    if (step->index >= d->n_blocks)
        return false;
    const size_t *values = &d->value_at[step->index];
    const size_t *partial = &d->partial_at[step->index];
    uint32_t met = sti_ring_met(w->run, &d->blocks[step->index], partition);
    return step->number == (met ? met : w->run->partitions) &&
           step->n_values == values[1] - values[0] &&
           step->partial->size == partial[1] - partial[0];
}

static bool is_expected(const sti_worker *w, const struct sti_round_slot *s,
                        uint32_t partition, const sti_ring_step *step)
{
    const struct sti_partition_state *state = &s->states[partition - w->first];
    return ring_step_fits(w, s->dispatch, partition, step) && state->order &&
           !state->waiting[step->index] && !state->is_home[step->index];
}

/* Hands a ring step to its partition. */
static void deliver_step(sti_worker *w, struct sti_round_slot *s,
                         uint32_t partition, sti_ring_step *step,
                         sti_effects *out)
{
    struct sti_partition_state *state = &s->states[partition - w->first];
    if (!is_expected(w, s, partition, step)) {
        sti_object_drop(step);
        sti_worker_fail(
            w, STRADS_EPEER,
            "a node sent a ring block that is not expected: it runs another "
            "version or is broken",
            out);
    } else if (step->number == w->run->partitions) {
        step->behind = state->homing;
        state->homing = step;
    } else {
        state->waiting[step->index] = step;
    }
}

static void keep_early(sti_worker *w, struct sti_round_slot *s,
                       uint32_t partition, sti_ring_step *step,
                       sti_effects *out)
{
    sti_ring_step **early =
        realloc(s->early, sizeof(sti_ring_step *) * (s->n_early + 1));
    if (early)
        s->early = early;
    uint32_t *to = realloc(s->early_to, sizeof *to * (s->n_early + 1));
    if (to)
        s->early_to = to;
    if (!early || !to) {
        sti_object_drop(step);
        sti_worker_fail(w, STRADS_ENOMEM, "no memory for a ring block", out);
        return;
    }
    s->early[s->n_early] = step;
    s->early_to[s->n_early++] = partition;
}

/* Continues a partition with this slot, and with the slot that it is at. */
static void continue_partition(sti_worker *w, struct sti_round_slot *s,
                               uint32_t k, sti_effects *out)
{
    if (w->turn[k] != s->seq)
        (void)sti_worker_ring_on(w, s, k, out);
    sti_worker_go_on(w, k, out);
}

void sti_worker_take_ring_step(sti_worker *w, const sti_msg *msg,
                               sti_effects *out)
{
    struct sti_round_slot *s = sti_worker_slot(w, msg->round);
    sti_ring_step *step = (sti_ring_step *)msg->object;
    if (!s || !step || msg->partition < w->first ||
        msg->partition >= w->first + w->n ||
        (s->taken_up && !sti_worker_is_ring(w, s->dispatch))) {
        sti_object_drop(step);
        sti_worker_fail(
            w, STRADS_EPEER,
            "a node sent a ring block to the wrong worker: it runs another "
            "version or is broken",
            out);
        return;
    }
    uint32_t k = msg->partition - w->first;
    if (!s->taken_up || !s->states[k].order) {
        keep_early(w, s, msg->partition, step, out);
        return;
    }
    deliver_step(w, s, msg->partition, step, out);
    continue_partition(w, s, k, out);
}

/* ---- starting and finishing -------------------------------------------- */

static strads_err make_places(sti_worker *w, struct sti_round_slot *s,
                              uint32_t k)
{
    const sti_dispatch *d = s->dispatch;
    struct sti_partition_state *state = &s->states[k];
    uint32_t *order = malloc(sizeof *order * ((size_t)d->n_blocks + 1));
    state->waiting = calloc((size_t)d->n_blocks + 1, sizeof(sti_ring_step *));
    state->is_home = calloc((size_t)d->n_blocks + 1, sizeof *state->is_home);
    if (!order || !state->waiting || !state->is_home ||
        sti_ring_order(w->run, d, w->first + k, order)) {
        free(order);
        return strads_fail(STRADS_ENOMEM, "no memory for a ring of blocks");
    }
    state->order = order;
    for (uint32_t b = 0; b < d->n_blocks; b++)
        state->n_home += d->blocks[b].owner == w->first + k;
    return STRADS_OK;
}

void sti_worker_start_ring(sti_worker *w, struct sti_round_slot *s, uint32_t k,
                           sti_effects *out)
{
    if (make_places(w, s, k)) {
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
        return;
    }
    uint32_t kept = 0;
    for (uint32_t e = 0; e < s->n_early; e++) {
        if (s->early_to[e] == w->first + k) {
            deliver_step(w, s, s->early_to[e], s->early[e], out);
        } else {
            s->early[kept] = s->early[e];
            s->early_to[kept++] = s->early_to[e];
        }
    }
    s->n_early = kept;
}

void sti_worker_finish_ring_step(sti_worker *w, struct sti_round_slot *s,
                                 uint32_t k, sti_effects *out)
{
    struct sti_partition_state *state = &s->states[k];
    sti_ring_step *step = state->job.step;
    state->job.step = NULL;
    if (state->job.home) {
        state->homes++;
        state->is_home[step->index] = true;
        sti_object_drop(step);
    } else {
        uint32_t to = sti_ring_next(w->run, &s->dispatch->blocks[step->index],
                                    w->first + k);
        state->steps_done++;
        sti_effect_send(out, (sti_msg){.kind = STI_MSG_RING_STEP,
                                       .from = STI_WORKER_0 + w->index,
                                       .to = sti_worker_host(w, to),
                                       .partition = to,
                                       .round = s->seq,
                                       .object = &step->head});
    }
    continue_partition(w, s, k, out);
}
