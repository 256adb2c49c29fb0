/* The simulated nodes of a loop. It owns the roles, the wire and the run token.
 * The holder of the token carries out events until one of them is a partition's
 * turn; then it passes the token to that partition, or continues itself. A call
 * of a partition's session that must wait gives the token away.
 *
 * Invariants: a partition waits for one thing at a time, and `due` means that
 * its turn is in the queue. A busy shard's end of work is in the queue. */
#include "engine/sim/sim_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/sim/sim_run_token.h"
#include "engine/sim/sim_wire.h"
#include "engine/store/client.h"
#include "engine/store/shard.h"

/* A partition, and the host of its client for its session. */
typedef struct looper {
    sti_client_host host; /* first */
    sti_sim_loop *sim;
    uint32_t number;
    sti_address client;
    bool due;        /* its turn is in the queue */
    bool left;       /* its body has returned */
    uint64_t clocks; /* clocks priced so far */
    uint64_t cpu_ns; /* of its thread, at the last reading */
} looper;

typedef struct simulated_shard {
    sti_shard *role;
    bool busy; /* its work is in progress */
    uint32_t track;
} simulated_shard;

struct sti_sim_loop {
    sti_sim_loop_setup setup;
    sti_sim_cost cost;
    sti_sim_wire *wire;
    simulated_shard *shards;  /* [shards] */
    sti_client **clients;     /* [nodes] */
    looper *loopers;          /* [partitions] */
    uint32_t n_left, visitor; /* visitor: `partitions` if there is none */
    sti_effects effects;
    sti_run_token *token;
    uint64_t now, busy_ns, spent_ns;
    bool over;
    strads_err err;
    char text[1024];
};

/* Lost messages are lost for good, so clients never resend. */
static const uint64_t never_ns = STI_SIM_TIME_MAX / 2;

static strads_err no_loop_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a simulated loop");
}

/* Ends the run; the first error counts. */
static void stop_loop(sti_sim_loop *sim, strads_err err)
{
    if (!err || sim->over)
        return;
    sim->over = true;
    sim->err = err;
    (void)snprintf(sim->text, sizeof sim->text, "%s", strads_error_text());
}

static void push_event(sti_sim_loop *sim, uint64_t time, sti_address to,
                       sti_event event)
{
    stop_loop(sim, sti_sim_wire_put(sim->wire, time, to, event));
}

/* Queues a partition's turn, unless it is queued. */
static void wake_partition(sti_sim_loop *sim, uint32_t partition, uint64_t time)
{
    looper *l = &sim->loopers[partition];
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
        stop_loop(sim, strads_fail(failure->err, "%s", failure->text));
    else
        stop_loop(sim, no_loop_memory());
}

/* Takes over the reference. */
static void send_or_fail(sti_sim_loop *sim, const sti_msg *msg)
{
    if (msg->kind == STI_MSG_FAIL) {
        fail_by(sim, msg);
        sti_object_drop(msg->object);
    } else {
        stop_loop(sim, sti_sim_wire_send(sim->wire, msg, sim->now));
    }
}

/* ---- roles ------------------------------------------------------------- */

/* Applying pushes costs merge_cost per byte; reading is free. */
static void start_work(sti_sim_loop *sim, sti_address role)
{
    simulated_shard *shard = &sim->shards[role - STI_SHARD_0];
    uint64_t bytes;
    if (shard->busy || !sti_shard_has_work(shard->role, &bytes))
        return;
    const double seconds = sim->setup.costs->merge_cost * (double)bytes;
    const uint64_t until = sti_sim_after(sim->now, (uint64_t)(1e9 * seconds));
    sti_trace_span(sim->setup.trace, shard->track, bytes ? "commit" : "serve",
                   sim->now, until, 0);
    shard->busy = true;
    push_event(sim, until, role, (sti_event){.kind = STI_EVENT_DONE});
}

/* Carries out the effects of a role, or of a call of its partitions. */
static void carry_out_effects(sti_sim_loop *sim, sti_address role)
{
    for (size_t k = 0; k < sim->effects.n; k++) {
        sti_effect *effect = &sim->effects.at[k];
        if (effect->kind == STI_EFFECT_SEND)
            send_or_fail(sim, &effect->msg);
        else if (effect->kind == STI_EFFECT_WAKE)
            wake_partition(sim, effect->worker, sim->now);
        else if (effect->kind == STI_EFFECT_TIMER)
            push_event(sim, effect->at > sim->now ? effect->at : sim->now, role,
                       (sti_event){.kind = STI_EVENT_TIMER});
    }
    sim->effects.n = 0;
    if (sim->effects.lost)
        stop_loop(sim, no_loop_memory());
}

static void step_store_role(sti_sim_loop *sim, sti_address role,
                            const sti_event *event)
{
    if (role >= STI_CLIENT_0) {
        sti_client_step(sim->clients[role - STI_CLIENT_0], event, 1,
                        &sim->effects);
        carry_out_effects(sim, role);
        return;
    }
    simulated_shard *shard = &sim->shards[role - STI_SHARD_0];
    if (event->kind == STI_EVENT_DONE) {
        shard->busy = false;
        sti_shard_work(shard->role, sim->now, &sim->effects);
    } else {
        sti_shard_step(shard->role, event, 1, &sim->effects);
    }
    carry_out_effects(sim, role);
    start_work(sim, role);
}

/* ---- events ------------------------------------------------------------ */

/* Handles an item. Returns the partition that has the turn, or `partitions`. */
static uint32_t handle_item(sti_sim_loop *sim, const sti_sim_item *item)
{
    sim->now = item->time;
    if (item->to >= STI_WORKER_0) {
        looper *l = &sim->loopers[item->to - STI_WORKER_0];
        l->due = false;
        return l->left ? sim->setup.run->partitions : l->number;
    }
    step_store_role(sim, item->to, &item->event);
    return sim->setup.run->partitions;
}

/* Gets the next item. False: an error, or only timers that never fire. */
static bool next_item(sti_sim_loop *sim, sti_sim_item *item)
{
    bool some;
    stop_loop(sim, sti_sim_wire_next(sim->wire, item, &some));
    if (some && !sim->over && item->time >= never_ns) {
        if (item->event.kind == STI_EVENT_MESSAGE)
            sti_object_drop(item->event.msg.object);
        some = false;
    }
    return some && !sim->over;
}

/* Whether all pushes have been applied. */
static bool is_settled(const sti_sim_loop *sim)
{
    for (uint32_t c = 0; c < sim->setup.run->nodes; c++)
        if (!sti_client_settled(sim->clients[c]))
            return false;
    return true;
}

static bool has_ended(const sti_sim_loop *sim)
{
    return sim->n_left == sim->setup.run->partitions && is_settled(sim);
}

/* Carries out events until a partition has the turn; `partitions` at the
 * end. */
static uint32_t next_turn(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    sti_sim_item item;
    while (!sim->over) {
        if (has_ended(sim)) {
            sim->over = true;
            break;
        }
        if (!next_item(sim, &item)) {
            stop_loop(sim,
                      strads_fail(STRADS_ESTATE,
                                  "simulation: %u of %u loops have ended, the "
                                  "others wait for messages that never come",
                                  sim->n_left, none));
            break;
        }
        uint32_t partition = handle_item(sim, &item);
        if (partition < none)
            return partition;
    }
    return none;
}

/* ---- partitions' calls -------------------------------------------------- */

static strads_err check_over(const sti_sim_loop *sim)
{
    return sim->over ? strads_fail(STRADS_ECANCELED, "the simulation is over")
                     : STRADS_OK;
}

/* Lets others run until it is this partition's turn. */
static strads_err wait_turn(looper *l)
{
    sti_sim_loop *sim = l->sim;
    if (sim->over)
        return check_over(sim);
    const uint32_t next = next_turn(sim);
    if (next != l->number)
        sti_run_token_pass(sim->token, l->number, next);
    return check_over(sim);
}

/* Counts the time that the program computed since its last call. */
static strads_err begin_host_call(sti_client_host *host, uint32_t worker)
{
    looper *l = (looper *)host;
    (void)worker;
    l->sim->spent_ns += sti_clock_now(CLOCK_THREAD_CPUTIME_ID) - l->cpu_ns;
    return check_over(l->sim);
}

static strads_err wait_in_call(sti_client_host *host, uint32_t worker)
{
    looper *l = (looper *)host;
    (void)worker;
    carry_out_effects(l->sim, l->client);
    return wait_turn(l);
}

static void end_host_call(sti_client_host *host, uint32_t worker, bool more)
{
    looper *l = (looper *)host;
    (void)worker, (void)more;
    carry_out_effects(l->sim, l->client);
    l->cpu_ns = sti_clock_now(CLOCK_THREAD_CPUTIME_ID);
}

static sti_address client_address(const sti_client_host *host, uint32_t worker)
{
    return ((const looper *)host)->sim->loopers[worker].client;
}

static uint64_t host_now(const sti_client_host *host)
{
    return ((const looper *)host)->sim->now;
}

strads_err sti_sim_loop_session(sti_sim_loop *sim, uint32_t partition,
                                strads_session **out)
{
    looper *l = &sim->loopers[partition];
    l->cpu_ns = sti_clock_now(CLOCK_THREAD_CPUTIME_ID);
    return sti_client_session(&l->host, partition, sim->setup.run->partitions,
                              out);
}

/* The computing time of a clock passes before the clock ends. */
static strads_err pass_computing_time(sti_client_host *host, uint32_t worker)
{
    looper *l = (looper *)host;
    sti_sim_loop *sim = l->sim;
    const uint64_t ns = sti_sim_cost_clock(&sim->cost, l->number, l->clocks++);
    const uint64_t until = sti_sim_after(sim->now, ns);
    strads_err err = begin_host_call(host, worker);
    while (!err && sim->now < until) { /* a WAKE may be spurious */
        wake_partition(sim, l->number, until);
        err = wait_turn(l);
    }
    sim->busy_ns += err ? 0 : ns;
    l->cpu_ns = sti_clock_now(CLOCK_THREAD_CPUTIME_ID);
    return err;
}

uint64_t sti_sim_loop_now(const sti_sim_loop *sim)
{
    return sim->now;
}

uint64_t sti_sim_loop_spent(const sti_sim_loop *sim)
{
    return sim->spent_ns;
}

strads_err sti_sim_loop_pause(sti_sim_loop *sim, uint32_t partition)
{
    return wait_turn(&sim->loopers[partition]);
}

void sti_sim_loop_wake(sti_sim_loop *sim)
{
    for (uint32_t p = 0; p < sim->setup.run->partitions; p++)
        wake_partition(sim, p, sim->now);
}

strads_err sti_sim_loop_settle(sti_sim_loop *sim)
{
    sti_sim_item item;
    while (!sim->over && !is_settled(sim)) {
        if (next_item(sim, &item))
            /* a partition that is woken too early checks again */
            (void)handle_item(sim, &item);
        else
            stop_loop(
                sim,
                strads_fail(STRADS_ESTATE,
                            "simulation: a push is lost before a checkpoint"));
    }
    return check_over(sim);
}

void sti_sim_loop_visit(sti_sim_loop *sim, uint32_t partition)
{
    sim->visitor = partition;
    sti_run_token_pass(sim->token, partition, sim->setup.run->partitions);
}

/* ---- opening ----------------------------------------------------------- */

static strads_err open_shard(sti_sim_loop *sim, uint32_t s,
                             const strads_store *start)
{
    const sti_run *run = sim->setup.run;
    char name[32];
    const sti_shard_setup setup = {.shard = s,
                                   .shards = run->shards,
                                   .clients = run->nodes,
                                   .workers = run->partitions,
                                   .tables = sim->setup.tables,
                                   .n_tables = sim->setup.n_tables};
    (void)snprintf(name, sizeof name, "shard %u", s);
    sim->shards[s].track =
        sti_trace_track(sim->setup.trace, sti_run_node_of(run, STI_SHARD_0 + s),
                        name);
    strads_err err = sti_shard_new(&setup, &sim->shards[s].role);
    return err ? err : sti_shard_fill(sim->shards[s].role, start);
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
                                    .peers = run->partitions,
                                    .tables = sim->setup.tables,
                                    .n_tables = sim->setup.n_tables,
                                    .cache_bytes = run->tuning.cache_bytes,
                                    .max_pushes = run->tuning.window,
                                    .resend_ns = never_ns};
    strads_err err = sti_client_new(&setup, &sim->clients[c]);
    for (uint32_t p = first; p < first + setup.workers; p++)
        sim->loopers[p] = (looper){.sim = sim,
                                   .number = p,
                                   .client = STI_CLIENT_0 + c,
                                   .host = {.client = sim->clients[c],
                                            .effects = &sim->effects,
                                            .tables = sim->setup.tables,
                                            .n_tables = sim->setup.n_tables,
                                            .shards = run->shards,
                                            .begin = begin_host_call,
                                            .wait = wait_in_call,
                                            .end = end_host_call,
                                            .computed = pass_computing_time,
                                            .home = client_address,
                                            .now = host_now}};
    return err;
}

static strads_err open_roles(sti_sim_loop *sim, const strads_store *start)
{
    const sti_run *run = sim->setup.run;
    strads_err err = STRADS_OK;
    for (uint32_t s = 0; !err && s < run->shards; s++)
        err = open_shard(sim, s, start);
    for (uint32_t c = 0; !err && c < run->nodes; c++)
        err = open_client(sim, c);
    return err;
}

static void run_body(void *arg, uint32_t partition)
{
    sti_sim_loop *sim = arg;
    sim->setup.body(sim->setup.arg, partition);
    sim->loopers[partition].left = true;
    sim->n_left++;
    sti_run_token_leave(sim->token, next_turn(sim));
}

strads_err sti_sim_loop_new(const sti_sim_loop_setup *setup,
                            const strads_store *start, sti_sim_loop **out)
{
    const sti_run *run = setup->run;
    sti_sim_loop *sim = calloc(1, sizeof *sim);
    if (!sim)
        return no_loop_memory();
    sim->setup = *setup;
    sim->visitor = run->partitions;
    sti_sim_cost_init(&sim->cost, run, setup->costs);
    sim->shards = calloc(run->shards, sizeof *sim->shards);
    sim->clients = calloc(run->nodes, sizeof(sti_client *));
    sim->loopers = calloc(run->partitions, sizeof *sim->loopers);
    strads_err err = sim->shards && sim->clients && sim->loopers
                         ? STRADS_OK
                         : no_loop_memory();
    if (!err)
        err = open_roles(sim, start);
    if (!err)
        err = sti_sim_wire_new(run, &sim->cost, setup->trace, setup->loses,
                               setup->loses_arg, &sim->wire);
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
    sti_sim_wire_free(sim->wire);
    for (uint32_t s = 0; sim->shards && s < run->shards; s++)
        sti_shard_free(sim->shards[s].role);
    for (uint32_t c = 0; sim->clients && c < run->nodes; c++)
        sti_client_free(sim->clients[c]);
    sti_sim_cost_free(&sim->cost);
    sti_effects_free(&sim->effects);
    free(sim->shards);
    free(sim->clients);
    free(sim->loopers);
    free(sim);
}

/* ---- running ----------------------------------------------------------- */

/* Passes the token to the partitions that still wait; they see the end and
 * leave. */
static void dismiss_partitions(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    for (uint32_t p = 0; p < none; p++)
        if (!sim->loopers[p].left)
            sti_run_token_pass(sim->token, none, p);
}

strads_err sti_sim_loop_run(sti_sim_loop *sim)
{
    const uint32_t none = sim->setup.run->partitions;
    strads_err err = sti_run_token_new(none, run_body, sim, &sim->token);
    if (err)
        return err;
    for (uint32_t p = 0; p < none; p++)
        wake_partition(sim, p, 0);
    uint32_t next = next_turn(sim);
    while (next < none) {
        sti_run_token_pass(sim->token, none, next);
        next = sim->visitor;
        sim->visitor = none;
        if (next < none)
            sim->setup.visit(sim->setup.arg);
    }
    dismiss_partitions(sim);
    sti_run_token_free(sim->token);
    return sim->err ? strads_fail(sim->err, "%s", sim->text) : STRADS_OK;
}

/* ---- results ----------------------------------------------------------- */

strads_err sti_sim_loop_tables(sti_sim_loop *sim, uint32_t n, strads_store *to)
{
    strads_err err = STRADS_OK;
    for (uint32_t t = 0; t < n; t++)
        for (uint32_t s = 0; !err && s < sim->setup.run->shards; s++)
            err = sti_shard_read_out(sim->shards[s].role, t, to);
    return err;
}

void sti_sim_loop_outcome(const sti_sim_loop *sim, strads_sim_outcome *out)
{
    *out = sti_sim_wire_outcome(sim->wire);
    out->makespan = 1e-9 * (double)sim->now;
    out->pushes = sti_sim_wire_traffic(sim->wire, STI_MSG_PUSH);
    out->asks = sti_sim_wire_traffic(sim->wire, STI_MSG_ASK_ROWS);
    out->rows = sti_sim_wire_traffic(sim->wire, STI_MSG_ROWS);
    out->workers = sim->setup.run->partitions;
    out->workers_busy = 1e-9 * (double)sim->busy_ns;
}
