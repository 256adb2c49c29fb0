/* The coordinator. One thing of its own is under way at a time (`busy`): a job,
 * or a question to the scheduler. In between `advance` looks for the next, in
 * this order: dispatch what is decided, decide, commit what has arrived, close.
 * With a window of depth + 1 rounds choosing thus comes before committing, so
 * workers always have a next round at hand; and since the order does not
 * depend on arrival times when commits go by round, the run is repeatable. */
#include "engine/role/coordinator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A dispatch that is not yet committed. */
typedef struct flight {
    bool used, arrived, by_policy, alone;
    sti_dispatch *dispatch;
    sti_buffer *partial;
    uint64_t sent_at, busy_ns;
} flight;

/* A dispatch that is decided and not yet made. */
typedef struct plan {
    bool set, by_policy;
    uint32_t phase;
    uint32_t n_blocks;
    strads_block *blocks; /* owned; PROBE: the second one is `against` */
    bool probe;
} plan;

typedef enum stage {
    STAGE_NEW,
    STAGE_OPENING,
    STAGE_RUNNING,
    STAGE_CLOSING,
    STAGE_ENDED
} stage;

struct sti_coordinator {
    sti_run *run;
    stage stage;
    uint64_t now;
    bool busy;
    uint64_t next_round;
    flight *flights; /* [window] by round modulo window */
    uint32_t in_flight;
    plan plan;
    /* What is to be dispatched by itself: all phases of this `when`, from the
     * phase `automatic_next` on. POLICY: none. */
    strads_when automatic;
    uint32_t automatic_next;
    bool wants_choice; /* the policy is to choose, for choice_phase */
    uint32_t choice_phase;
    bool probing; /* the scheduler waits for a probe */
    uint64_t probed[2];
    bool waiting; /* nothing before the next commit */
    bool at_rest;
    uint64_t chosen_since_rest;
    bool stopping, final_report;
    bool fresh_report; /* nothing was committed after it */
    strads_end end;
    /* News for the next dispatch, and changes not known to all in flight. */
    sti_news **news;
    uint32_t n_news, room_news;
    sti_news **history; /* of the changes in aggregate.recent */
    uint64_t version;
    sti_ask *ask; /* gathers priorities for the next question */
    uint64_t since_report;
    double overhead_ns, entries_per_ns; /* of policy rounds, smoothed */
    strads_progress progress;
    sti_begin_job begin;
    sti_schedule_job schedule;
    sti_prepare_job prepare;
    sti_aggregate_job aggregate;
    strads_block *flying; /* scratch for prepare */
    size_t room_flying;
};

strads_err sti_coordinator_new(sti_run *run, sti_coordinator **out)
{
    sti_coordinator *c = calloc(1, sizeof *c);
    if (!c)
        goto fail;
    c->run = run;
    c->flights = calloc(sti_run_window(run), sizeof *c->flights);
    if (!c->flights || sti_ask_new(&c->ask) ||
        sti_buffer_new(0, &c->aggregate.scratch) ||
        sti_buffer_new(0, &c->aggregate.gathered))
        goto fail;
    c->automatic = STRADS_WHEN_START;
    c->progress.objective = c->progress.gap = NAN;
    c->end = STRADS_END_STOPPED;
    *out = c;
    return STRADS_OK;
fail:
    sti_coordinator_free(c);
    return strads_fail(STRADS_ENOMEM, "no memory for the coordinator");
}

static void drop_news(sti_news **news, size_t n)
{
    for (size_t k = 0; k < n; k++)
        sti_object_drop(news[k]);
}

void sti_coordinator_free(sti_coordinator *c)
{
    if (!c)
        return;
    for (uint32_t k = 0; c->flights && k < sti_run_window(c->run); k++) {
        sti_object_drop(c->flights[k].dispatch);
        sti_object_drop(c->flights[k].partial);
    }
    drop_news(c->news, c->n_news);
    drop_news(c->history, c->aggregate.n_recent);
    drop_news(c->aggregate.news, c->aggregate.n_news);
    sti_object_drop(c->aggregate.moved);
    sti_object_drop(c->aggregate.scratch);
    sti_object_drop(c->aggregate.gathered);
    free(c->aggregate.news);
    free(c->aggregate.recent);
    free(c->aggregate.also_param);
    free(c->aggregate.also_change);
    sti_object_drop(c->begin.start);
    sti_object_drop(c->prepare.dispatch);
    sti_object_drop(c->ask);
    free(c->schedule.blocks);
    free(c->plan.blocks);
    free(c->flying);
    free(c->history);
    free(c->news);
    free(c->flights);
    free(c);
}

const strads_progress *sti_coordinator_progress(const sti_coordinator *c)
{
    return &c->progress;
}

strads_end sti_coordinator_end(const sti_coordinator *c)
{
    return c->end;
}

/* ---- small things ------------------------------------------------------ */

static void end_run(sti_coordinator *c, strads_err err, sti_effects *out)
{
    if (c->stage == STAGE_ENDED)
        return;
    c->stage = STAGE_ENDED;
    sti_effect_end(out, err);
}

static void fail_job(sti_coordinator *c, const sti_job *job, sti_effects *out)
{
    end_run(c, strads_fail(job->err, "%s", job->text), out);
}

static void start_job(sti_coordinator *c, sti_job *job, sti_call call,
                      uint64_t round, uint32_t phase, sti_effects *out)
{
    c->busy = true;
    job->call = call;
    job->role = STI_COORDINATOR;
    job->round = round;
    job->phase = phase;
    sti_effect_compute(out, job);
}

static flight *flight_of(sti_coordinator *c, uint64_t round)
{
    return &c->flights[round % sti_run_window(c->run)];
}

static void stop(sti_coordinator *c, strads_end end)
{
    if (c->stopping)
        return;
    c->stopping = true;
    c->end = end;
    c->wants_choice = false;
}

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the coordinator");
}

static strads_err keep_news(sti_coordinator *c, sti_news *news)
{
    if (c->n_news == c->room_news) {
        uint32_t room = c->room_news ? 2 * c->room_news : 16;
        sti_news **list = realloc(c->news, sizeof(sti_news *) * room);
        if (!list)
            return no_memory();
        c->news = list;
        c->room_news = room;
    }
    c->news[c->n_news++] = news;
    return STRADS_OK;
}

/* ---- deciding ---------------------------------------------------------- */

static bool runs_alone(const sti_run *run, uint32_t phase)
{
    if (phase >= run->n_phases)
        return true;
    const strads_phase *p = &run->phases[phase];
    return p->drains || p->when == STRADS_WHEN_START ||
           p->when == STRADS_WHEN_REST;
}

static bool one_is_alone(const sti_coordinator *c)
{
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->flights[k].used && c->flights[k].alone)
            return true;
    return false;
}

static strads_err plan_all(sti_coordinator *c, uint32_t phase)
{
    const strads_block all = {.n = (uint32_t)c->run->shape.parameters};
    c->plan = (plan){.set = true, .phase = phase, .n_blocks = 1};
    return sti_blocks_copy(1, &all, &c->plan.blocks);
}

static strads_err plan_internal(sti_coordinator *c, uint32_t phase)
{
    c->plan = (plan){.set = true, .phase = phase};
    return STRADS_OK;
}

/* The next phase that runs by itself, or n_phases; moves from START on to the
 * first REST. */
static uint32_t next_automatic(sti_coordinator *c)
{
    const sti_run *run = c->run;
    while (c->automatic != STRADS_WHEN_POLICY) {
        while (c->automatic_next < run->n_phases) {
            uint32_t phase = c->automatic_next++;
            if (run->phases[phase].when == c->automatic)
                return phase;
        }
        c->automatic_next = 0;
        c->automatic = c->automatic == STRADS_WHEN_START ? STRADS_WHEN_REST
                                                         : STRADS_WHEN_POLICY;
        if (c->final_report && c->automatic == STRADS_WHEN_POLICY)
            c->final_report = false;
    }
    return run->n_phases;
}

static uint32_t policy_phase(const sti_run *run)
{
    for (uint32_t k = 0; k < run->n_phases; k++)
        if (run->phases[k].when == STRADS_WHEN_POLICY)
            return k;
    return run->n_phases;
}

static double wanted_work(const sti_coordinator *c)
{
    const double usual = 1e5, pays = 50;
    if (c->run->deterministic || c->overhead_ns <= 0)
        return usual;
    double work = pays * c->overhead_ns * c->entries_per_ns;
    return fmin(fmax(work, usual / 10), usual * 100);
}

static size_t gather_flying(sti_coordinator *c)
{
    size_t n = 0;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const flight *f = &c->flights[k];
        if (!f->used || f->dispatch->phase == c->run->probe_phase)
            continue;
        for (uint32_t b = 0; b < f->dispatch->n_blocks; b++) {
            if (n == c->room_flying) {
                size_t room = n ? 2 * n : 16;
                strads_block *more = realloc(c->flying, sizeof *more * room);
                if (!more)
                    return SIZE_MAX;
                c->flying = more;
                c->room_flying = room;
            }
            c->flying[n++] = f->dispatch->blocks[b];
        }
    }
    return n;
}

static void ask_scheduler(sti_coordinator *c, sti_effects *out)
{
    sti_ask *ask = c->ask;
    size_t n = gather_flying(c);
    if (n == SIZE_MAX ||
        sti_blocks_copy((uint32_t)n, c->flying, &ask->in_flight) ||
        sti_ask_new(&c->ask)) {
        end_run(c, no_memory(), out);
        return;
    }
    ask->n_in_flight = (uint32_t)n;
    ask->work = wanted_work(c);
    c->busy = true;
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_ASK,
                                   .from = STI_COORDINATOR,
                                   .to = STI_SCHEDULER,
                                   .round = c->next_round,
                                   .object = &ask->head});
}

static void ask_program(sti_coordinator *c, sti_effects *out)
{
    c->schedule.turn = (strads_turn){
        .round = c->next_round,
        .in_flight = c->in_flight,
        .at_rest = c->at_rest,
    };
    c->at_rest = false;
    start_job(c, &c->schedule.job, STI_CALL_SCHEDULE, c->next_round, 0, out);
}

/* Starts to choose the next dispatch; false when nothing can be chosen now. */
static bool decide(sti_coordinator *c, sti_effects *out)
{
    const sti_run *run = c->run;
    bool automatic = !run->program->schedule || c->final_report;
    if (automatic) {
        if (c->automatic != STRADS_WHEN_POLICY && c->in_flight)
            return false;
        uint32_t phase = next_automatic(c);
        if (phase < run->n_phases) {
            if (plan_all(c, phase))
                end_run(c, no_memory(), out);
            return true;
        }
    }
    if (c->stopping || c->waiting || c->probing)
        return false;
    if (!c->wants_choice && run->program->schedule) {
        ask_program(c, out);
        return true;
    }
    if (!c->wants_choice) {
        c->wants_choice = true;
        c->choice_phase = policy_phase(run);
    }
    if (c->choice_phase == run->n_phases) {
        stop(c, STRADS_END_STOPPED); /* a program without a POLICY phase */
        return true;
    }
    ask_scheduler(c, out);
    return true;
}

/* ---- dispatching ------------------------------------------------------- */

static bool has_holder(const sti_run *run, uint32_t phase)
{
    return phase < run->n_phases && run->phases[phase].to != STRADS_TO_ALL;
}

/* Whether a block of the plan is still with a holder, who may write it: its
 * values, and the object that travels with it, are there and nowhere else. */
static bool is_held(const sti_coordinator *c)
{
    if (!has_holder(c->run, c->plan.phase))
        return false;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        const flight *f = &c->flights[k];
        if (!f->used || !has_holder(c->run, f->dispatch->phase))
            continue;
        for (uint32_t a = 0; a < f->dispatch->n_blocks; a++)
            for (uint32_t b = 0; b < c->plan.n_blocks; b++)
                if (f->dispatch->blocks[a].id == c->plan.blocks[b].id)
                    return true;
    }
    return false;
}

static bool plan_may_leave(sti_coordinator *c)
{
    if (flight_of(c, c->next_round)->used)
        return false;
    if (c->in_flight == 0)
        return true;
    return !runs_alone(c->run, c->plan.phase) && !is_held(c);
}

static void prepare(sti_coordinator *c, sti_effects *out)
{
    size_t n = gather_flying(c);
    if (n == SIZE_MAX) {
        end_run(c, no_memory(), out);
        return;
    }
    c->prepare.parts = (sti_dispatch_parts){
        .round = c->next_round,
        .phase = c->plan.phase,
        .width = c->run->shape.width,
        .known = c->version,
        .n_blocks = c->plan.n_blocks,
        .blocks = c->plan.blocks,
        .against = c->plan.probe ? &c->plan.blocks[1] : NULL,
        .n_in_flight = (uint32_t)n,
        .in_flight = c->flying,
        .n_news = c->n_news,
        .news = c->news,
    };
    start_job(c, &c->prepare.job, STI_CALL_PREPARE, c->next_round,
              c->plan.phase, out);
}

static void prepared(sti_coordinator *c, sti_effects *out)
{
    if (c->prepare.job.err) {
        fail_job(c, &c->prepare.job, out);
        return;
    }
    sti_dispatch *d = c->prepare.dispatch;
    c->prepare.dispatch = NULL;
    drop_news(c->news, c->n_news);
    c->n_news = 0;
    flight *f = flight_of(c, c->next_round++);
    *f = (flight){
        .used = true,
        .by_policy = c->plan.by_policy,
        .alone = runs_alone(c->run, d->phase),
        .dispatch = d,
        .sent_at = c->now,
    };
    c->in_flight++;
    if (c->plan.by_policy) {
        c->progress.blocks += d->n_blocks;
        c->chosen_since_rest++;
    }
    free(c->plan.blocks);
    c->plan = (plan){0};
    sti_effect_send(out, (sti_msg){.kind = STI_MSG_DISPATCH,
                                   .from = STI_COORDINATOR,
                                   .to = STI_WORKER_0,
                                   .round = d->round,
                                   .object = sti_object_keep(d)});
}

/* ---- committing -------------------------------------------------------- */

/* The flight to be committed next: by round when that is promised, otherwise
 * the oldest that has arrived. */
static flight *next_arrived(sti_coordinator *c)
{
    flight *best = NULL;
    flight *oldest = NULL;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++) {
        flight *f = &c->flights[k];
        if (!f->used)
            continue;
        if (!oldest || f->dispatch->round < oldest->dispatch->round)
            oldest = f;
        if (f->arrived && (!best || f->dispatch->round < best->dispatch->round))
            best = f;
    }
    return c->run->deterministic && best != oldest ? NULL : best;
}

static void land(sti_coordinator *c, flight *f)
{
    sti_object_drop(f->dispatch);
    sti_object_drop(f->partial);
    *f = (flight){0};
    c->in_flight--;
    c->waiting = false;
    c->progress.round++;
}

/* OPEN and CLOSE have nothing to commit: all partitions are through. */
static void land_internal(sti_coordinator *c, flight *f, sti_effects *out)
{
    bool closed = f->dispatch->phase == STI_PHASE_CLOSE;
    land(c, f);
    c->progress.round--;
    if (closed)
        end_run(c, STRADS_OK, out);
    else
        c->stage = STAGE_RUNNING;
}

static bool commit_next(sti_coordinator *c, sti_effects *out)
{
    flight *f = next_arrived(c);
    if (!f)
        return false;
    if (f->dispatch->phase >= c->run->n_phases) {
        land_internal(c, f, out);
        return true;
    }
    sti_aggregate_job *job = &c->aggregate;
    job->run = c->run;
    job->dispatch = f->dispatch;
    job->partial = f->partial;
    job->by_policy = f->by_policy;
    job->ask_objective = c->run->phases == &c->run->simple &&
                         c->since_report >= c->run->shape.parameters;
    job->reported = false;
    job->updates = job->updates_other = 0;
    start_job(c, &job->job, STI_CALL_AGGREGATE, f->dispatch->round,
              f->dispatch->phase, out);
    return true;
}

/* Learns what a policy round costs beside its computing. */
static void measure(sti_coordinator *c, const flight *f)
{
    double entries = 0;
    for (uint32_t b = 0; b < f->dispatch->n_blocks; b++)
        for (uint32_t k = 0; k < f->dispatch->blocks[b].n; k++)
            entries +=
                (double)c->run
                    ->weight[strads_block_param(&f->dispatch->blocks[b], k)];
    double took = (double)(c->now - f->sent_at);
    double busy = (double)f->busy_ns;
    if (!(busy > 0) || !(took > 0))
        return;
    double overhead = took > busy ? took - busy : 0;
    double rate = entries / busy;
    const double keep = 0.9;
    if (c->overhead_ns <= 0) {
        c->overhead_ns = overhead;
        c->entries_per_ns = rate;
        return;
    }
    c->overhead_ns = keep * c->overhead_ns + (1 - keep) * overhead;
    c->entries_per_ns = keep * c->entries_per_ns + (1 - keep) * rate;
}

/* Changes that every flight knows, or will know from its news, are history. */
static void trim_history(sti_coordinator *c)
{
    uint64_t known = c->version;
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->flights[k].used && c->flights[k].dispatch->known < known)
            known = c->flights[k].dispatch->known;
    size_t gone = 0;
    sti_aggregate_job *job = &c->aggregate;
    while (gone < job->n_recent && job->recent[gone].version <= known)
        gone++;
    if (gone == 0)
        return;
    drop_news(c->history, gone);
    job->n_recent -= gone;
    memmove(c->history, c->history + gone, sizeof(sti_news *) * job->n_recent);
    memmove(job->recent, job->recent + gone,
            sizeof *job->recent * job->n_recent);
}

/* Takes over what the job made: news for the next dispatch, history for the
 * commits to come. */
static strads_err take_news(sti_coordinator *c)
{
    sti_aggregate_job *job = &c->aggregate;
    sti_news **history =
        realloc(c->history, sizeof(sti_news *) * (job->room_recent + 1));
    if (!history)
        return no_memory();
    c->history = history;
    size_t changes = 0;
    for (uint32_t k = 0; k < job->n_news; k++)
        changes += job->news[k]->kind == STI_NEWS_CHANGE;
    size_t at = job->n_recent - changes;
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < job->n_news; k++) {
        sti_news *news = job->news[k];
        if (news->kind == STI_NEWS_CHANGE) {
            c->history[at++] = sti_object_keep(news);
            c->version = news->change.version;
        }
        if (err || (err = keep_news(c, news)))
            sti_object_drop(news);
    }
    job->n_news = 0;
    return err;
}

static void take_report(sti_coordinator *c, sti_effects *out)
{
    const strads_report *report = &c->aggregate.report;
    c->progress.objective = report->objective;
    c->progress.gap = report->gap;
    c->progress.nonzeros = report->nonzeros;
    c->since_report = 0;
    c->fresh_report = true;
    sti_effect_report(out);
    if (report->gap <= c->run->tolerance) {
        stop(c, STRADS_END_CONVERGED);
        c->end = STRADS_END_CONVERGED;
    } else if (report->stop) {
        stop(c, STRADS_END_STOPPED);
    }
}

static void check_limits(sti_coordinator *c)
{
    const sti_run *run = c->run;
    if (run->max_rounds && c->progress.round >= run->max_rounds)
        stop(c, STRADS_END_ROUNDS);
    if (run->time_limit > 0 && (double)c->now * 1e-9 >= run->time_limit)
        stop(c, STRADS_END_TIME);
}

static void committed(sti_coordinator *c, sti_effects *out)
{
    sti_aggregate_job *job = &c->aggregate;
    if (job->job.err) {
        fail_job(c, &job->job, out);
        return;
    }
    flight *f = flight_of(c, job->job.round);
    if (f->by_policy)
        measure(c, f);
    if (f->dispatch->phase == c->run->probe_phase)
        c->probing = false;
    if (f->dispatch->has_against)
        c->progress.probes +=
            (uint64_t)f->dispatch->blocks[0].n * f->dispatch->against.n;
    land(c, f);
    if (job->n_news)
        c->fresh_report = false;
    strads_err err = take_news(c);
    sti_moved *moved = job->moved;
    job->moved = NULL;
    if (!err)
        err = sti_ask_add_moved(c->ask, moved);
    if (err) {
        end_run(c, err, out);
        return;
    }
    trim_history(c);
    c->progress.updates_policy += job->updates;
    c->progress.updates_other += job->updates_other;
    c->since_report += job->updates + job->updates_other;
    if (job->reported)
        take_report(c, out);
    check_limits(c);
}

/* ---- answers ----------------------------------------------------------- */

/* Nothing moves enough any more: look at everything again, or end when the
 * last look has brought nothing either. */
static void policy_rests(sti_coordinator *c, sti_effects *out)
{
    c->wants_choice = false;
    if (c->run->program->schedule) {
        c->at_rest = true;
        return;
    }
    if (c->chosen_since_rest == 0) {
        stop(c, STRADS_END_STOPPED);
        return;
    }
    c->chosen_since_rest = 0;
    c->automatic = STRADS_WHEN_REST;
    c->automatic_next = 0;
    if (c->run->phases == &c->run->simple && c->run->program->objective)
        start_job(c, &c->aggregate.job, STI_CALL_REPORT, c->next_round, 0, out);
}

static void plan_choice(sti_coordinator *c, sti_choice *choice)
{
    bool probe = choice->kind == STRADS_CHOOSE_PROBE;
    c->plan = (plan){
        .set = true,
        .by_policy = !probe,
        .phase = probe ? c->run->probe_phase : c->choice_phase,
        .n_blocks = probe ? 1 : choice->n,
        .blocks = choice->blocks,
        .probe = probe,
    };
    choice->blocks = NULL;
}

static void take_probe(sti_coordinator *c, sti_choice *choice, sti_effects *out)
{
    const strads_block *pair = choice->blocks;
    if (c->probed[0] == pair[0].id + 1 && c->probed[1] == pair[1].id + 1) {
        end_run(c,
                strads_fail(STRADS_EPROGRAM,
                            "probing blocks %llu and %llu of program %s left "
                            "pairs unknown: a probe must not give NaN",
                            (unsigned long long)pair[0].id,
                            (unsigned long long)pair[1].id,
                            c->run->program->name),
                out);
        return;
    }
    c->probed[0] = pair[0].id + 1;
    c->probed[1] = pair[1].id + 1;
    c->probing = true;
    plan_choice(c, choice);
}

static void take_choice(sti_coordinator *c, sti_choice *choice,
                        sti_effects *out)
{
    c->busy = false;
    switch (choice->kind) {
    case STRADS_CHOOSE_BLOCKS:
        c->wants_choice = false;
        c->probed[0] = 0;
        plan_choice(c, choice);
        break;
    case STRADS_CHOOSE_PROBE:
        take_probe(c, choice, out);
        break;
    case STRADS_CHOOSE_WAIT:
        c->waiting = true;
        if (c->in_flight == 0)
            end_run(c,
                    strads_fail(STRADS_EPROGRAM,
                                "policy %s waits although nothing is in flight",
                                c->run->policy->name),
                    out);
        break;
    case STRADS_CHOOSE_REST:
        policy_rests(c, out);
        break;
    }
    sti_object_drop(choice);
}

static void scheduled(sti_coordinator *c, sti_effects *out)
{
    sti_schedule_job *job = &c->schedule;
    if (job->job.err) {
        fail_job(c, &job->job, out);
        return;
    }
    switch (job->decision) {
    case STI_DECIDE_DISPATCH:
        c->plan = (plan){
            .set = true,
            .phase = job->decided_phase,
            .n_blocks = job->n_blocks,
            .blocks = job->blocks,
        };
        job->blocks = NULL;
        break;
    case STI_DECIDE_POLICY:
        c->wants_choice = true;
        c->choice_phase = job->decided_phase;
        break;
    case STI_DECIDE_WAIT:
        c->waiting = true;
        break;
    case STI_DECIDE_STOP:
    case STI_DECIDE_NOTHING:
        stop(c, STRADS_END_STOPPED);
        break;
    }
}

static void begun(sti_coordinator *c, sti_effects *out)
{
    if (c->begin.job.err) {
        fail_job(c, &c->begin.job, out);
        return;
    }
    c->stage = STAGE_OPENING;
    (void)plan_internal(c, STI_PHASE_OPEN);
    sti_news *start = c->begin.start;
    c->begin.start = NULL;
    if (!start)
        return;
    c->version = start->change.version;
    if (keep_news(c, start)) {
        sti_object_drop(start);
        end_run(c, no_memory(), out);
    }
}

/* ---- events ------------------------------------------------------------ */

static void take_partial(sti_coordinator *c, const sti_msg *msg,
                         sti_effects *out)
{
    flight *f = flight_of(c, msg->round);
    if (!f->used || f->arrived || f->dispatch->round != msg->round ||
        (f->dispatch->phase < c->run->n_phases && !msg->object)) {
        sti_object_drop(msg->object);
        end_run(c,
                strads_fail(STRADS_EPEER,
                            "a node sent a result of round %llu, which nobody "
                            "waits for",
                            (unsigned long long)msg->round),
                out);
        return;
    }
    f->arrived = true;
    f->busy_ns = msg->busy_ns;
    f->partial = (sti_buffer *)msg->object;
}

static void take_failure(sti_coordinator *c, const sti_msg *msg,
                         sti_effects *out)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    strads_err err =
        failure ? strads_fail(failure->err, "%s", failure->text) : no_memory();
    end_run(c, err, out);
    sti_object_drop(msg->object);
}

static void take_message(sti_coordinator *c, const sti_msg *msg,
                         sti_effects *out)
{
    switch (msg->kind) {
    case STI_MSG_PARTIAL:
        take_partial(c, msg, out);
        break;
    case STI_MSG_CHOICE:
        take_choice(c, (sti_choice *)msg->object, out);
        break;
    case STI_MSG_FAIL:
        take_failure(c, msg, out);
        break;
    default:
        sti_object_drop(msg->object);
        break;
    }
}

static void take_done(sti_coordinator *c, const sti_job *job, sti_effects *out)
{
    c->busy = false;
    switch (job->call) {
    case STI_CALL_BEGIN:
        begun(c, out);
        break;
    case STI_CALL_SCHEDULE:
        scheduled(c, out);
        break;
    case STI_CALL_PREPARE:
        prepared(c, out);
        break;
    case STI_CALL_REPORT:
        if (job->err)
            fail_job(c, job, out);
        else
            take_report(c, out);
        break;
    default:
        committed(c, out);
        break;
    }
}

/* Everything has landed and nothing more is wanted: a last look when the run
 * was cut short, so that the report describes the model; then CLOSE. */
static bool wind_up(sti_coordinator *c)
{
    if (!c->stopping || c->in_flight || c->stage != STAGE_RUNNING)
        return false;
    if (!c->fresh_report && !c->run->program->schedule) {
        c->fresh_report = true; /* once */
        c->final_report = true;
        c->automatic = STRADS_WHEN_REST;
        c->automatic_next = 0;
        return true;
    }
    c->stage = STAGE_CLOSING;
    (void)plan_internal(c, STI_PHASE_CLOSE);
    return true;
}

static void advance(sti_coordinator *c, sti_effects *out)
{
    while (!c->busy && c->stage != STAGE_ENDED) {
        if (c->plan.set && plan_may_leave(c)) {
            prepare(c, out);
            continue;
        }
        bool room = !c->plan.set && c->stage == STAGE_RUNNING &&
                    !flight_of(c, c->next_round)->used && !one_is_alone(c);
        if (room && decide(c, out))
            continue;
        if (commit_next(c, out))
            continue;
        if (c->plan.set || !wind_up(c))
            return;
    }
}

void sti_coordinator_step(sti_coordinator *c, const sti_event *events, size_t n,
                          sti_effects *out)
{
    for (size_t k = 0; k < n; k++) {
        const sti_event *event = &events[k];
        c->now = event->now;
        switch (event->kind) {
        case STI_EVENT_START:
            start_job(c, &c->begin.job, STI_CALL_BEGIN, 0, 0, out);
            break;
        case STI_EVENT_CANCEL:
            stop(c, STRADS_END_CANCELED);
            break;
        case STI_EVENT_DONE:
            take_done(c, event->job, out);
            break;
        case STI_EVENT_MESSAGE:
            take_message(c, &event->msg, out);
            break;
        }
    }
    advance(c, out);
}
