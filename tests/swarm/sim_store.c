/* The running cluster. The holder of the run token carries out events until one
 * of them is a worker's turn; then it passes the token to that worker, or
 * continues itself.
 *
 * Invariants: a worker waits for exactly one thing, and `due` means that its
 * turn is in the queue. An event for a paused node is queued again for the end
 * of the pause, in its original order. */
#include <inttypes.h>

#include "engine/store/shard_state.h"
#include "tests/swarm/sim_store_state.h"

/* ---- ending ------------------------------------------------------------ */

void sti_sim_store_stop(sti_sim_store *sim, strads_err err)
{
    if (!err || sim->over)
        return;
    sim->over = true;
    sim->err = err;
    (void)snprintf(sim->text, sizeof sim->text, "%s", strads_error_text());
}

/* ---- nodes ------------------------------------------------------------- */

static uint32_t node_of(const sti_sim_store *sim, sti_address role)
{
    return role < STI_CLIENT_0 ? role - STI_SHARD_0
                               : sim->setup.shards + (role - STI_CLIENT_0);
}

uint64_t sti_sim_store_on_node(const sti_sim_store *sim, uint32_t node,
                               uint64_t ns)
{
    return sim->now < sim->slow_until[node] ? ns * sim->slowness[node] : ns;
}

void sti_sim_store_event(sti_sim_store *sim, uint64_t time, sti_address to,
                         sti_event event)
{
    const sti_sim_item item = {.time = time, .to = to, .event = event};
    sti_sim_store_stop(sim, sti_sim_queue_push(&sim->queue, &item));
}

/* ---- messages ---------------------------------------------------------- */

/* Counts resent pushes, a measure of how rough a run was. */
static void count_push(sti_sim_store *sim, const sti_msg *msg)
{
    uint64_t *highest =
        &sim->highest[(msg->from - STI_CLIENT_0) * sim->setup.shards +
                      (msg->to - STI_SHARD_0)];
    if (msg->round <= *highest)
        sim->outcome.resent++;
    else
        *highest = msg->round;
}

static void post_letter(sti_sim_store *sim, sti_sim_letter *letter,
                        uint64_t there)
{
    const sti_sim_item item = {.time = there,
                               .what = STI_SIM_RECEIVED,
                               .event.msg.object = &letter->head};
    strads_err err = sti_sim_queue_push(&sim->queue, &item);
    if (err)
        sti_object_drop(letter);
    sti_sim_store_stop(sim, err);
}

/* Takes over the reference. */
static void leave(sti_sim_store *sim, const sti_msg *msg)
{
    sti_sim_fate fate = {0};
    sti_sim_store_stop(sim, sti_sim_net_send(&sim->net, node_of(sim, msg->from),
                                             node_of(sim, msg->to), msg,
                                             sim->now, &fate));
    sti_sim_store_log_msg(sim,
                          fate.n == 0   ? " is sent: lost"
                          : fate.n == 2 ? " is sent, twice"
                                        : " is sent",
                          msg);
    sti_object_drop(msg->object);
    for (uint32_t k = 0; k < fate.n; k++)
        post_letter(sim, fate.letter[k], fate.there[k]);
}

static void send(sti_sim_store *sim, sti_msg *msg)
{
    if (msg->kind == STI_MSG_FAIL) {
        const sti_failure *failure = (const sti_failure *)msg->object;
        sti_sim_store_stop(sim,
                           strads_fail(failure ? failure->err : STRADS_ENOMEM,
                                       "%s",
                                       failure ? failure->text : "no memory"));
        sti_object_drop(msg->object);
        return;
    }
    if (sim->setup.sends)
        sim->setup.sends(sim->setup.arg, msg);
    if (msg->kind == STI_MSG_PUSH)
        count_push(sim, msg);
    leave(sim, msg);
}

/* ---- roles ------------------------------------------------------------- */

void sti_sim_store_wake(sti_sim_store *sim, uint32_t worker, uint64_t time)
{
    sti_sim_worker *w = &sim->workers[worker];
    if (w->due || w->left)
        return;
    w->due = true;
    sti_sim_store_event(sim, time, STI_WORKER_0 + worker,
                        (sti_event){.kind = STI_EVENT_TIMER});
}

/* The work takes effect when its time has passed. */
static void start_work(sti_sim_store *sim, sti_address role)
{
    const uint32_t node = node_of(sim, role);
    sti_sim_shard *shard = &sim->shards[node];
    uint64_t ns = sim->setup.job_ns, bytes;
    if (shard->busy || !sti_shard_has_work(shard->role, &bytes))
        return;
    ns = sti_sim_store_on_node(sim, node,
                               ns + sti_random_below(&sim->random, ns + 1));
    shard->busy = true;
    sti_sim_store_event(sim, sim->now + ns, role,
                        (sti_event){.kind = STI_EVENT_DONE});
}

void sti_sim_store_apply(sti_sim_store *sim, sti_address role)
{
    for (size_t k = 0; k < sim->effects.n; k++) {
        sti_effect *effect = &sim->effects.at[k];
        if (effect->kind == STI_EFFECT_SEND)
            send(sim, &effect->msg);
        else if (effect->kind == STI_EFFECT_WAKE)
            sti_sim_store_wake(sim, effect->worker, sim->now);
        else if (effect->kind == STI_EFFECT_TIMER)
            sti_sim_store_event(sim,
                                effect->at > sim->now ? effect->at : sim->now,
                                role, (sti_event){.kind = STI_EVENT_TIMER});
    }
    sim->effects.n = 0;
    if (sim->effects.lost)
        sti_sim_store_stop(sim,
                           strads_fail(STRADS_ENOMEM, "no memory for effects"));
}

static void step_client(sti_sim_store *sim, sti_address role,
                        const sti_event *event)
{
    sti_client *client = sim->clients[role - STI_CLIENT_0];
    sti_client_step(client, event, 1, &sim->effects);
    sti_sim_store_apply(sim, role);
}

static void step_shard(sti_sim_store *sim, sti_address role,
                       const sti_event *event)
{
    sti_sim_shard *shard = &sim->shards[role - STI_SHARD_0];
    if (event->kind == STI_EVENT_DONE) {
        shard->busy = false;
        sti_shard_work(shard->role, sim->now, &sim->effects);
    } else {
        sti_shard_step(shard->role, event, 1, &sim->effects);
    }
    sti_sim_store_apply(sim, role);
    start_work(sim, role);
}

/* ---- events ------------------------------------------------------------ */

static void note(sti_sim_store *sim, const sti_sim_item *item)
{
    const sti_event *e = &item->event;
    bool received = item->what == STI_SIM_RECEIVED;
    const uint64_t words[4] = {
        sim->now, (uint64_t)item->to << 32 | (uint32_t)e->kind,
        (uint64_t)item->what << 32 | (received ? 0 : e->msg.kind),
        received ? ((const sti_sim_letter *)e->msg.object)->size
                 : e->msg.round};
    (void)XXH3_64bits_update(sim->digest, words, sizeof words);
    sim->outcome.events++;
}

static void receive(sti_sim_store *sim, sti_sim_letter *letter)
{
    bool arrived;
    sti_msg msg;
    strads_err err =
        sti_sim_net_receive(&sim->net, letter, sim->now, &arrived, &msg);
    sti_sim_store_stop(sim, err);
    if (err || !arrived) {
        sti_sim_store_log(sim, "a frame is lost on its way, or refused");
        return;
    }
    sti_sim_store_log_msg(sim, " arrives", &msg);
    sti_sim_store_event(sim, sim->now, msg.to, (sti_event){.msg = msg});
}

void sti_sim_store_drop(const sti_sim_item *item)
{
    if (item->what == STI_SIM_RECEIVED || item->event.kind == STI_EVENT_MESSAGE)
        sti_object_drop(item->event.msg.object);
}

/* A paused node handles its events after the pause. */
static bool put_off(sti_sim_store *sim, const sti_sim_item *item)
{
    if (item->what != STI_SIM_ROLE || item->to == STI_SIM_WORLD)
        return false;
    sti_address role = item->to;
    if (role >= STI_WORKER_0)
        role = STI_CLIENT_0 + sim->workers[role - STI_WORKER_0].client;
    uint64_t until = sim->paused_until[node_of(sim, role)];
    if (sim->now >= until)
        return false;
    sti_sim_item later = *item;
    later.time = until;
    sti_sim_store_stop(sim, sti_sim_queue_push(&sim->queue, &later));
    return true;
}

/* Handles an item. Returns the worker that has the turn, or n_workers. */
static uint32_t take(sti_sim_store *sim, sti_sim_item *item)
{
    sim->now = item->time;
    if (put_off(sim, item))
        return sim->n_workers;
    note(sim, item);
    item->event.now = sim->now;
    if (item->what == STI_SIM_RECEIVED) {
        receive(sim, (sti_sim_letter *)item->event.msg.object);
    } else if (item->to == STI_SIM_WORLD) {
        sti_sim_store_turn_of_world(sim, item->event.msg.round);
    } else if (item->to >= STI_WORKER_0) {
        sim->workers[item->to - STI_WORKER_0].due = false;
        return item->to - STI_WORKER_0;
    } else if (item->to >= STI_CLIENT_0) {
        step_client(sim, item->to, &item->event);
    } else {
        step_shard(sim, item->to, &item->event);
    }
    return sim->n_workers;
}

static bool at_end(const sti_sim_store *sim)
{
    if (sim->n_left < sim->n_workers)
        return false;
    for (uint32_t c = 0; c < sim->setup.clients; c++)
        if (!sti_client_settled(sim->clients[c]))
            return false;
    for (uint32_t k = 0; k < sim->setup.shards; k++)
        if (sim->shards[k].role->clock != STI_CLOCK_GONE)
            return false;
    return true;
}

uint32_t sti_sim_store_next(sti_sim_store *sim)
{
    sti_sim_item item;
    while (!sim->over) {
        if (at_end(sim)) {
            sim->over = true;
            break;
        }
        bool some = sti_sim_queue_pop(&sim->queue, &item);
        if (!some || item.time > sim->setup.limit_ns ||
            sim->outcome.events >= sim->setup.limit_events) {
            if (some)
                sti_sim_store_drop(&item);
            sti_sim_store_stop(
                sim,
                strads_fail(STRADS_ELIMIT,
                            "it came to no end: %u of %u workers have "
                            "left after %.3f virtual ms and %" PRIu64 " events",
                            sim->n_left, sim->n_workers,
                            1e-6 * (double)sim->now, sim->outcome.events));
            break;
        }
        uint32_t worker = take(sim, &item);
        if (worker < sim->n_workers)
            return worker;
    }
    return sim->n_workers;
}
