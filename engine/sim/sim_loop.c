/* The simulated nodes of a loop. It owns the queue, the roles, the wire and the
 * baton; whoever holds the baton carries out events until one of them is a
 * partition's turn, and hands the baton on to it, or goes on itself.
 *
 * Invariant: a partition waits for one thing at a time, and `due` says that its
 * turn is in the queue. */
#include "engine/sim/sim_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/store/store_message.h"
#include "engine/exec/job_names.h"
#include "engine/sim/sim_loop_state.h"

/* Nothing is lost, so nothing is sent again. */
static const uint64_t never_ns = STI_SIM_TIME_MAX / 2;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a simulated loop");
}

void sti_sim_loop_stop(sti_sim_loop *sim, strads_err err)
{
    if (!err || sim->over)
        return;
    sim->over = true;
    sim->err = err;
    (void)snprintf(sim->text, sizeof sim->text, "%s", strads_error_text());
}

static void push_item(sti_sim_loop *sim, const sti_sim_item *item)
{
    strads_err err = sti_sim_queue_push(&sim->queue, item);
    if (err && item->what != STI_SIM_ROLE)
        sti_sim_wire_lose(sim->wire, item->parcel);
    else if (err && item->event.kind == STI_EVENT_MESSAGE)
        sti_object_drop(item->event.msg.object);
    sti_sim_loop_stop(sim, err);
}

static void push_event(sti_sim_loop *sim, uint64_t time, sti_address to,
                       sti_event event)
{
    push_item(sim, &(sti_sim_item){.time = time, .to = to, .event = event});
}

void sti_sim_loop_wake(sti_sim_loop *sim, uint32_t partition, uint64_t time)
{
    sti_sim_looper *l = &sim->loopers[partition];
    if (l->due || l->left)
        return;
    l->due = true;
    push_event(sim, time, STI_WORKER_0 + partition,
               (sti_event){.kind = STI_EVENT_TIMER});
}

/* ---- messages ---------------------------------------------------------- */

static void fail_by(sti_sim_loop *sim, const sti_msg *msg)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    if (failure)
        sti_sim_loop_stop(sim, strads_fail(failure->err, "%s", failure->text));
    else
        sti_sim_loop_stop(sim, no_memory());
}

/* Links are streams: between a client and a shard, one way, nothing overtakes,
 * whatever the jitter. */
static uint64_t in_order(sti_sim_loop *sim, const sti_msg *msg, uint64_t there)
{
    const bool up = msg->to < STI_CLIENT_0;
    const uint32_t client = (up ? msg->from : msg->to) - STI_CLIENT_0;
    const uint32_t shard = (up ? msg->to : msg->from) - STI_SHARD_0;
    const size_t link = (size_t)client * sim->setup.run->shards + shard;
    uint64_t *last = &sim->last_there[2 * link + up];
    *last = there > *last ? there : *last;
    return *last;
}

/* Takes over the reference. */
static void send(sti_sim_loop *sim, const sti_msg *msg)
{
    const sti_run *run = sim->setup.run;
    if (msg->kind != STI_MSG_FAIL &&
        sti_run_node_of(run, msg->from) == sti_run_node_of(run, msg->to)) {
        push_event(sim, sim->now, msg->to, (sti_event){.msg = *msg});
        return;
    }
    sti_sim_item item = {.what = STI_SIM_REACHES};
    if (msg->kind == STI_MSG_FAIL) {
        fail_by(sim, msg);
    } else {
        strads_err err = sti_sim_wire_send(sim->wire, msg, sim->now,
                                           &item.parcel, &item.time);
        if (!err) {
            item.time = in_order(sim, msg, item.time);
            push_item(sim, &item);
        }
        sti_sim_loop_stop(sim, err);
    }
    sti_object_drop(msg->object);
}

static void receive(sti_sim_loop *sim, sti_parcel *parcel)
{
    sti_msg msg;
    strads_err err = sti_sim_wire_receive(sim->wire, parcel, sim->now, &msg);
    if (!err)
        push_event(sim, sim->now, msg.to, (sti_event){.msg = msg});
    sti_sim_loop_stop(sim, err);
}

/* ---- roles ------------------------------------------------------------- */

/* Pushes are taken in at merge_cost a byte; reading is free. */
static void start_job(sti_sim_loop *sim, sti_address role, sti_job *job)
{
    double bytes = 0;
    if (job->call == STI_CALL_APPLY) {
        const sti_apply_job *apply = (const sti_apply_job *)job;
        for (uint32_t k = 0; k < apply->n; k++)
            bytes += (double)apply->pushes[k].push->size;
    }
    const double seconds = sim->setup.costs->merge_cost * bytes;
    const uint64_t until = sti_sim_after(sim->now, (uint64_t)(1e9 * seconds));
    sti_trace_span(sim->setup.trace, sim->tracks[role - STI_SHARD_0],
                   sti_job_name(NULL, job), sim->now, until, 0);
    push_event(sim, until, role,
               (sti_event){.kind = STI_EVENT_DONE, .job = job});
}

void sti_sim_loop_apply(sti_sim_loop *sim, sti_address role)
{
    for (size_t k = 0; k < sim->effects.n; k++) {
        sti_effect *effect = &sim->effects.at[k];
        if (effect->kind == STI_EFFECT_SEND)
            send(sim, &effect->msg);
        else if (effect->kind == STI_EFFECT_COMPUTE)
            start_job(sim, role, effect->job);
        else if (effect->kind == STI_EFFECT_WAKE)
            sti_sim_loop_wake(sim, effect->worker, sim->now);
        else if (effect->kind == STI_EFFECT_TIMER)
            push_event(sim, effect->at > sim->now ? effect->at : sim->now, role,
                       (sti_event){.kind = STI_EVENT_TIMER});
    }
    sim->effects.n = 0;
    if (sim->effects.lost)
        sti_sim_loop_stop(sim, no_memory());
}

static void note_parked(sti_sim_loop *sim, const sti_event *event)
{
    const sti_row_answer *answer = (const sti_row_answer *)event->msg.object;
    if (event->kind != STI_EVENT_MESSAGE || event->msg.kind != STI_MSG_ROWS ||
        !answer || !answer->id)
        return;
    sti_sim_looper *l = &sim->loopers[answer->worker];
    if (answer->parked_ns > l->parked_ns)
        l->parked_ns = answer->parked_ns;
}

static void step(sti_sim_loop *sim, sti_address role, const sti_event *event)
{
    if (event->kind == STI_EVENT_DONE)
        sti_job_run(NULL, event->job);
    if (role >= STI_CLIENT_0) {
        note_parked(sim, event);
        sti_client_step(sim->clients[role - STI_CLIENT_0], event, 1,
                        &sim->effects);
    } else {
        sti_shard_step(sim->shards[role - STI_SHARD_0], event, 1,
                       &sim->effects);
    }
    sti_sim_loop_apply(sim, role);
}

/* ---- events ------------------------------------------------------------ */

static void note(sti_sim_loop *sim, const sti_sim_item *item)
{
    const sti_event *e = &item->event;
    const uint64_t words[4] = {sim->now,
                               (uint64_t)item->to << 32 | (uint32_t)e->kind,
                               (uint64_t)item->what << 32 | e->msg.kind,
                               e->msg.round};
    (void)XXH3_64bits_update(sim->digest, words, sizeof words);
    sim->events++;
}

/* The partition whose turn it is, or `partitions`. */
static uint32_t take(sti_sim_loop *sim, sti_sim_item *item)
{
    sim->now = item->time;
    note(sim, item);
    item->event.now = sim->now;
    if (item->what == STI_SIM_REACHES) {
        const uint64_t there =
            sti_sim_wire_reach(sim->wire, item->parcel, sim->now);
        push_item(sim, &(sti_sim_item){.time = there,
                                       .what = STI_SIM_RECEIVED,
                                       .parcel = item->parcel});
    } else if (item->what == STI_SIM_RECEIVED) {
        receive(sim, item->parcel);
    } else if (item->to >= STI_WORKER_0) {
        sim->loopers[item->to - STI_WORKER_0].due = false;
        return item->to - STI_WORKER_0;
    } else {
        step(sim, item->to, &item->event);
    }
    return sim->setup.run->partitions;
}

static void drop_item(sti_sim_loop *sim, const sti_sim_item *item)
{
    if (item->what != STI_SIM_ROLE)
        sti_sim_wire_lose(sim->wire, item->parcel);
    else if (item->event.kind == STI_EVENT_MESSAGE)
        sti_object_drop(item->event.msg.object);
}

static bool at_end(const sti_sim_loop *sim)
{
    const sti_run *run = sim->setup.run;
    if (sim->n_left < run->partitions)
        return false;
    for (uint32_t c = 0; c < run->nodes; c++)
        if (!sti_client_settled(sim->clients[c]))
            return false;
    return true;
}

uint32_t sti_sim_loop_next(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    sti_sim_item item;
    while (!sim->over) {
        if (at_end(sim)) {
            sim->over = true;
            break;
        }
        bool some = sti_sim_queue_pop(&sim->queue, &item);
        if (!some || item.time >= never_ns) {
            if (some)
                drop_item(sim, &item);
            sti_sim_loop_stop(
                sim, strads_fail(STRADS_ESTATE,
                                 "simulation: %u of %u loops have ended, the "
                                 "others wait for what does not come",
                                 sim->n_left, none));
            break;
        }
        uint32_t partition = take(sim, &item);
        if (partition < none)
            return partition;
    }
    return none;
}

/* ---- opening ----------------------------------------------------------- */

static strads_err open_shard(sti_sim_loop *sim, uint32_t s)
{
    const sti_run *run = sim->setup.run;
    char name[32];
    const sti_kept_setup kept = {.shard = s,
                                 .shards = run->shards,
                                 .streams = run->nodes + 1,
                                 .workers = run->partitions,
                                 .tables = sim->setup.tables,
                                 .n_tables = sim->setup.n_tables};
    (void)snprintf(name, sizeof name, "shard %u", s);
    sim->tracks[s] =
        sti_trace_track(sim->setup.trace, sti_run_node_of(run, STI_SHARD_0 + s),
                        name);
    return sti_kept_open(&kept, &sim->kept[s]);
}

static strads_err open_client(sti_sim_loop *sim, uint32_t c)
{
    const sti_run *run = sim->setup.run;
    const uint32_t first = sti_run_first(run, c);
    const sti_client_setup setup = {.client = c,
                                    .shards = run->shards,
                                    .first_worker = first,
                                    .workers =
                                        sti_run_first(run, c + 1) - first,
                                    .tables = sim->setup.tables,
                                    .n_tables = sim->setup.n_tables,
                                    .cache_bytes = run->tuning.cache_bytes,
                                    .max_pushes = run->tuning.window,
                                    .resend_ns = never_ns};
    for (uint32_t p = first; p < first + setup.workers; p++)
        sim->loopers[p] =
            (sti_sim_looper){.sim = sim, .number = p, .client = c};
    return sti_client_new(&setup, &sim->clients[c]);
}

static strads_err open_roles(sti_sim_loop *sim, const strads_store *start)
{
    const sti_run *run = sim->setup.run;
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && s < run->shards; s++)
        err = open_shard(sim, s);
    for (uint32_t c = 0; !err && c < run->nodes; c++)
        err = open_client(sim, c);
    if (!err)
        err = sti_sim_loop_put(sim, start);
    for (uint32_t s = 0; !err && s < run->shards; s++)
        err = sti_shard_new(&(sti_shard_setup){.kept = sim->kept[s],
                                               .first_client = STI_CLIENT_0},
                            &sim->shards[s]);
    return err;
}

static void live(void *arg, uint32_t partition)
{
    sti_sim_loop *sim = arg;
    sim->setup.body(sim->setup.arg, partition);
    sim->loopers[partition].left = true;
    sim->n_left++;
    sti_baton_leave(sim->baton, sti_sim_loop_next(sim));
}

strads_err sti_sim_loop_new(const sti_sim_loop_setup *setup,
                            const strads_store *start, sti_sim_loop **out)
{
    const sti_run *run = setup->run;
    sti_sim_loop *sim = calloc(1, sizeof *sim);
    if (!sim)
        return no_memory();
    sim->setup = *setup;
    sim->visitor = run->partitions;
    sti_sim_cost_init(&sim->cost, run, setup->costs);
    sim->kept = calloc(run->shards, sizeof(sti_kept *));
    sim->shards = calloc(run->shards, sizeof(sti_shard *));
    sim->tracks = calloc(run->shards, sizeof *sim->tracks);
    sim->clients = calloc(run->nodes, sizeof(sti_client *));
    sim->loopers = calloc(run->partitions, sizeof *sim->loopers);
    sim->last_there =
        calloc((size_t)run->nodes * run->shards * 2, sizeof *sim->last_there);
    sim->digest = XXH3_createState();
    strads_err err = STRADS_OK;
    if (!sim->last_there || !sim->kept || !sim->shards || !sim->tracks ||
        !sim->clients || !sim->loopers || !sim->digest ||
        XXH3_64bits_reset(sim->digest) != XXH_OK)
        err = no_memory();
    if (!err)
        err = open_roles(sim, start);
    if (!err)
        err = sti_sim_wire_new(run, &sim->cost, setup->trace, &sim->wire);
    if (err)
        sti_sim_loop_free(sim);
    else
        *out = sim;
    return err;
}

void sti_sim_loop_free(sti_sim_loop *sim)
{
    if (!sim)
        return;
    const sti_run *run = sim->setup.run;
    sti_sim_item item;
    while (sti_sim_queue_pop(&sim->queue, &item))
        drop_item(sim, &item);
    sti_sim_queue_free(&sim->queue);
    for (uint32_t s = 0; s < run->shards; s++) {
        if (sim->shards)
            sti_shard_free(sim->shards[s]);
        if (sim->kept)
            sti_kept_free(sim->kept[s]);
    }
    for (uint32_t c = 0; sim->clients && c < run->nodes; c++)
        sti_client_free(sim->clients[c]);
    sti_sim_wire_free(sim->wire);
    sti_sim_cost_free(&sim->cost);
    sti_effects_free(&sim->effects);
    XXH3_freeState(sim->digest);
    free(sim->kept);
    free(sim->shards);
    free(sim->tracks);
    free(sim->clients);
    free(sim->loopers);
    free(sim->last_there);
    free(sim);
}

/* ---- running ----------------------------------------------------------- */

/* Those that still wait are told that it is over, and leave. */
static void dismiss(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    for (uint32_t p = 0; p < none; p++)
        if (!sim->loopers[p].left)
            sti_baton_pass(sim->baton, none, p);
}

strads_err sti_sim_loop_run(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    strads_err err = sti_baton_new(none, live, sim, &sim->baton);
    if (err)
        return err;
    for (uint32_t p = 0; p < none; p++)
        sti_sim_loop_wake(sim, p, 0);
    uint32_t next = sti_sim_loop_next(sim);
    while (next < none) {
        sti_baton_pass(sim->baton, none, next);
        next = sim->visitor;
        sim->visitor = none;
        if (next < none)
            sim->setup.visit(sim->setup.arg);
    }
    dismiss(sim);
    sti_baton_free(sim->baton);
    return sim->err ? strads_fail(sim->err, "%s", sim->text) : STRADS_OK;
}

/* ---- what came of it --------------------------------------------------- */

void sti_sim_loop_outcome(const sti_sim_loop *sim, strads_sim_outcome *out)
{
    const strads_sim_traffic all = sti_sim_wire_traffic(sim->wire, 0);
    *out = (strads_sim_outcome){
        .makespan = 1e-9 * (double)sim->now,
        .events = sim->events,
        .messages = all.messages,
        .bytes = all.bytes,
        .digest = XXH3_64bits_digest(sim->digest),
        .pushes = sti_sim_wire_traffic(sim->wire, STI_MSG_PUSH),
        .asks = sti_sim_wire_traffic(sim->wire, STI_MSG_ASK_ROWS),
        .rows = sti_sim_wire_traffic(sim->wire, STI_MSG_ROWS),
        .workers = sim->setup.run->partitions,
        .workers_busy = 1e-9 * (double)sim->busy_ns,
    };
}
