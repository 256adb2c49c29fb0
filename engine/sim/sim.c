/* The simulation of a run in rounds. It owns the roles, their cores and the
 * wire; only a core knows its running job.
 *
 * An idle core starts a job at once; a busy core queues it, first come, first
 * served. The DONE event makes the core idle. The role's step comes first, then
 * the next job starts, as on a node's thread. Time never decreases: every
 * pushed event is at `now` or later. */
#include "engine/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/stop_flag.h"
#include "engine/round/roles.h"
#include "engine/exec/job_names.h"
#include "engine/exec/job_pool.h"
#include "engine/sim/sim_wire.h"

typedef struct core {
    sti_job *running;
    sti_job_queue waiting;
    uint32_t track;
    uint64_t busy_ns;
} core;

struct sti_sim {
    sti_sim_options options;
    sti_run *run;
    sti_sim_cost cost;
    sti_sim_wire *wire;
    sti_coordinator *coordinator;
    sti_scheduler **schedulers; /* [run->schedulers] */
    sti_worker **workers;       /* [run->workers] */
    core *cores;                /* [n_cores] the workers', then the others' */
    uint32_t n_cores;
    sti_effects effects;
    uint64_t now, busy_ns, callback_ns;
    uint64_t dispatched; /* the last dispatched round */
    bool cancel_sent, ended;
};

/* ---- construction ------------------------------------------------------ */

static core *find_core(const sti_sim *sim, sti_address role)
{
    core *others = sim->cores + sim->run->workers;
    if (role >= STI_WORKER_0)
        return &sim->cores[role - STI_WORKER_0];
    if (role >= STI_SCHEDULER_0)
        return &others[1 + role - STI_SCHEDULER_0];
    return &others[0];
}

static strads_err make_roles(sti_sim *sim)
{
    sti_run *run = sim->run;
    sim->workers = calloc(run->workers, sizeof(sti_worker *));
    sim->n_cores = run->workers + run->schedulers + 1;
    sim->cores = calloc(sim->n_cores, sizeof *sim->cores);
    sim->schedulers = calloc(run->schedulers, sizeof(sti_scheduler *));
    if (!sim->workers || !sim->cores || !sim->schedulers)
        return strads_fail(STRADS_ENOMEM, "no memory for %u simulated nodes",
                           run->workers);
    strads_err err = sti_coordinator_new(run, &sim->coordinator);
    for (uint32_t s = 0; s < run->schedulers && !err; s++)
        err = sti_scheduler_new(run, s, &sim->schedulers[s]);
    for (uint32_t w = 0; w < run->workers && !err; w++)
        err = sti_worker_new(run, w, &sim->workers[w]);
    return err;
}

static void make_tracks(sti_sim *sim)
{
    sti_trace *trace = sim->options.trace;
    uint32_t own = sim->run->workers;
    find_core(sim, STI_COORDINATOR)->track =
        sti_trace_track(trace, own, "coordinator");
    for (uint32_t s = 0; s < sim->run->schedulers; s++) {
        sti_address role = STI_SCHEDULER_0 + s;
        char name[32];
        (void)snprintf(name, sizeof name,
                       sim->run->schedulers > 1 ? "scheduler %u" : "scheduler",
                       s);
        find_core(sim, role)->track =
            sti_trace_track(trace, sti_sim_node_of(sim->run, role), name);
    }
    for (uint32_t w = 0; w < sim->run->workers; w++) {
        char name[32];
        (void)snprintf(name, sizeof name, "worker %u", w);
        sim->cores[w].track = sti_trace_track(trace, w, name);
    }
}

strads_err sti_sim_new(const sti_sim_options *options, sti_sim **out)
{
    sti_sim *sim = calloc(1, sizeof *sim);
    if (!sim)
        return strads_fail(STRADS_ENOMEM, "no memory for a simulation");
    sim->options = *options;
    sim->run = options->run;
    sti_sim_cost_init(&sim->cost, sim->run, options->costs);
    strads_err err = make_roles(sim);
    if (!err)
        err = sti_sim_wire_new(sim->run, &sim->cost, options->trace,
                               options->loses, options->arg, &sim->wire);
    if (err) {
        sti_sim_free(sim);
        return err;
    }
    make_tracks(sim);
    *out = sim;
    return STRADS_OK;
}

void sti_sim_free(sti_sim *sim)
{
    if (!sim)
        return;
    sti_sim_wire_free(sim->wire);
    sti_effects_free(&sim->effects);
    for (uint32_t w = 0; sim->workers && w < sim->run->workers; w++)
        sti_worker_free(sim->workers[w]);
    free(sim->workers);
    free(sim->cores);
    sti_coordinator_free(sim->coordinator);
    for (uint32_t s = 0; sim->schedulers && s < sim->run->schedulers; s++)
        sti_scheduler_free(sim->schedulers[s]);
    free(sim->schedulers);
    sti_sim_cost_free(&sim->cost);
    free(sim);
}

/* ---- jobs -------------------------------------------------------------- */

/* Runs a job now; its DONE event comes when its virtual time has passed. */
static strads_err start_job(sti_sim *sim, core *on, sti_job *job)
{
    strads_err err = sti_sim_cost_job(&sim->cost, job, &job->elapsed_ns);
    if (err)
        return err;
    on->running = job;
    if (sim->options.meter)
        sti_sim_meter_run(sim->options.meter, &sim->cost, sim->run, job);
    else
        sti_job_run(sim->run, job);
    uint64_t end = sti_sim_after(sim->now, job->elapsed_ns);
    on->busy_ns += job->elapsed_ns;
    sim->busy_ns += job->elapsed_ns;
    if (sti_job_is_callback(job))
        sim->callback_ns += job->elapsed_ns;
    sti_job_span(sim->run, job, sim->options.trace, on->track, sim->now, end);
    return sti_sim_wire_put(sim->wire, end, job->role,
                            (sti_event){.kind = STI_EVENT_DONE, .job = job});
}

static strads_err start_next(sti_sim *sim, core *on)
{
    if (on->running || !on->waiting.first)
        return STRADS_OK;
    return start_job(sim, on, sti_job_queue_take(&on->waiting));
}

/* ---- roles ------------------------------------------------------------- */

static strads_err apply_effect(sti_sim *sim, sti_address role,
                               const sti_effect *effect)
{
    switch (effect->kind) {
    case STI_EFFECT_SEND:
        if (effect->msg.kind == STI_MSG_DISPATCH &&
            effect->msg.round > sim->dispatched)
            sim->dispatched = effect->msg.round;
        return sti_sim_wire_send(sim->wire, &effect->msg, sim->now);
    case STI_EFFECT_COMPUTE:
        sti_job_queue_put(&find_core(sim, role)->waiting, effect->job);
        return STRADS_OK;
    case STI_EFFECT_REPORT:
        if (sim->options.report) {
            strads_progress progress;
            sti_sim_progress(sim, &progress);
            sim->options.report(sim->options.arg, &progress);
        }
        return STRADS_OK;
    case STI_EFFECT_END:
        sim->ended = sim->ended || role == STI_COORDINATOR;
        return effect->err;
    case STI_EFFECT_TIMER: /* only a store's clients emit these */
    case STI_EFFECT_WAKE:
        break;
    }
    return STRADS_OK;
}

/* Carries out a role's effects, then starts the next job of its core. After an
 * error unsent messages are dropped. */
static strads_err apply_effects(sti_sim *sim, sti_address role)
{
    strads_err err = STRADS_OK;
    for (size_t k = 0; k < sim->effects.n; k++) {
        const sti_effect *effect = &sim->effects.at[k];
        if (!err)
            err = apply_effect(sim, role, effect);
        else if (effect->kind == STI_EFFECT_SEND)
            sti_object_drop(effect->msg.object);
    }
    sim->effects.n = 0;
    if (!err && sim->effects.lost)
        err = strads_fail(STRADS_ENOMEM, "no memory for a role's effects");
    return err ? err : start_next(sim, find_core(sim, role));
}

static strads_err step_role(sti_sim *sim, sti_address to,
                            const sti_event *event)
{
    if (event->kind == STI_EVENT_DONE)
        find_core(sim, to)->running = NULL;
    if (to == STI_COORDINATOR)
        sti_coordinator_step(sim->coordinator, event, 1, &sim->effects);
    else if (to >= STI_WORKER_0)
        sti_worker_step(sim->workers[to - STI_WORKER_0], event, 1,
                        &sim->effects);
    else
        sti_scheduler_step(sim->schedulers[to - STI_SCHEDULER_0], event, 1,
                           &sim->effects);
    return apply_effects(sim, to);
}

/* ---- the run ----------------------------------------------------------- */

static strads_err check_stop(sti_sim *sim)
{
    if (sim->cancel_sent || !sti_stop_is_asked(sim->options.stop))
        return STRADS_OK;
    sim->cancel_sent = true;
    return sti_sim_wire_put(sim->wire, sim->now, STI_COORDINATOR,
                            (sti_event){.kind = STI_EVENT_CANCEL});
}

/* Fails because no event is left and the coordinator has not emitted END. */
static strads_err fail_stuck(const sti_sim *sim)
{
    const strads_progress *progress =
        sti_coordinator_progress(sim->coordinator);
    return strads_fail(
        STRADS_ESTATE,
        "the run is stuck after %.9g virtual seconds and %llu messages: round "
        "%llu was dispatched last, %llu rounds are committed, and nothing is "
        "in flight; a message was lost, or a role waits for one that is never "
        "sent",
        1e-9 * (double)sim->now,
        (unsigned long long)sti_sim_wire_traffic(sim->wire, 0).messages,
        (unsigned long long)sim->dispatched,
        (unsigned long long)progress->round);
}

strads_err sti_sim_run(sti_sim *sim)
{
    strads_err err = sti_sim_wire_put(sim->wire, 0, STI_COORDINATOR,
                                      (sti_event){.kind = STI_EVENT_START});
    while (!err && !sim->ended) {
        sti_sim_item item;
        bool some = false;
        err = check_stop(sim);
        if (!err)
            err = sti_sim_wire_next(sim->wire, &item, &some);
        if (!err && !some)
            err = fail_stuck(sim);
        if (err)
            break;
        sim->now = item.time;
        err = step_role(sim, item.to, &item.event);
        if (!err && sim->now > STI_SIM_TIME_MAX)
            err = strads_fail(STRADS_ELIMIT,
                              "virtual time ran past 146 years: lower the "
                              "simulation's costs");
    }
    return err;
}

/* ---- results ----------------------------------------------------------- */

void sti_sim_progress(const sti_sim *sim, strads_progress *out)
{
    *out = *sti_coordinator_progress(sim->coordinator);
    out->seconds = 1e-9 * (double)sim->now;
    out->cpu_seconds = 1e-9 * (double)sim->busy_ns;
    out->callback_seconds = 1e-9 * (double)sim->callback_ns;
    out->bytes_sent = out->bytes_received =
        sti_sim_wire_traffic(sim->wire, 0).bytes;
}

bool sti_sim_position(const sti_sim *sim, sti_checkpoint_position *out)
{
    return sti_coordinator_position(sim->coordinator, out);
}

strads_end sti_sim_end(const sti_sim *sim)
{
    return sti_coordinator_end(sim->coordinator);
}

static double busy_seconds(const sti_sim *sim, sti_address role)
{
    return 1e-9 * (double)find_core(sim, role)->busy_ns;
}

void sti_sim_outcome(const sti_sim *sim, strads_sim_outcome *out)
{
    *out = sti_sim_wire_outcome(sim->wire);
    out->makespan = 1e-9 * (double)sim->now;
    out->dispatches = sti_sim_wire_traffic(sim->wire, STI_MSG_DISPATCH);
    out->partials = sti_sim_wire_traffic(sim->wire, STI_MSG_PARTIAL);
    out->ring_steps = sti_sim_wire_traffic(sim->wire, STI_MSG_RING_STEP);
    out->workers = sim->run->workers;
    out->coordinator_busy = busy_seconds(sim, STI_COORDINATOR);
    out->schedulers = sim->run->schedulers;
    for (uint32_t w = 0; w < sim->run->workers; w++)
        out->workers_busy += busy_seconds(sim, STI_WORKER_0 + w);
    for (uint32_t s = 0; s < sim->run->schedulers; s++)
        out->schedulers_busy += busy_seconds(sim, STI_SCHEDULER_0 + s);
}
