/* The coordinator. It does one thing at a time (`busy`): a job, or a request
 * that it must wait for. In between, `advance` looks for the next step in this
 * order: dispatch a decided plan, decide, commit an arrived round, close. With
 * a window of depth + 1 rounds, decisions thus precede commits, so workers
 * always have a next round. The order of steps does not depend on arrival times
 * if commits are in order of rounds, so the run is repeatable. */
#include "engine/round/coordinator_state.h"

#include <math.h>
#include <stdlib.h>

/* ---- decisions: by the program's schedule or the default one, and the
 * policy */

static bool has_exclusive_round(const sti_coordinator *c)
{
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->inflight[k].used && c->inflight[k].alone)
            return true;
    return false;
}

static strads_err plan_all(sti_coordinator *c, uint32_t phase)
{
    const strads_block all = {.id = STRADS_ALL_PARAMETERS,
                              .n = (uint32_t)c->run->shape.parameters};
    c->plan = (sti_plan){.set = true, .phase = phase, .n_blocks = 1};
    return sti_blocks_copy(1, &all, &c->plan.blocks);
}

/* Plans a dispatch of the engine's own: OPEN or CLOSE. */
static void plan_internal(sti_coordinator *c, uint32_t phase)
{
    c->plan = (sti_plan){.set = true, .phase = phase};
}

/* Whether the run must end, but its schedule has yet to make the model final
 * or, without a schedule, to report on it. */
static bool is_finalising(const sti_coordinator *c)
{
    const strads_program *program = c->run->program;
    return c->stopping && (program->finalises || !program->schedule) &&
           !c->finalised;
}

static void ask_program(sti_coordinator *c, sti_effects *out)
{
    if (c->stopping && c->finalise_turns++ == STRADS_FINALISE_TURNS) {
        sti_coord_end(c,
                      strads_fail(STRADS_EPROGRAM,
                                  "schedule of program %s was called %u times "
                                  "after the run's end and has not stopped: "
                                  "return strads_turn_stop(turn) once the "
                                  "model is final",
                                  c->run->program->name, STRADS_FINALISE_TURNS),
                      out);
        return;
    }
    c->schedule.turn = (strads_turn){
        .round = c->next_round,
        .in_flight = c->in_flight,
        .idle = c->idle,
        .ends = c->stopping,
    };
    c->idle = false;
    sti_coord_start_job(c, &c->schedule.job, STI_CALL_SCHEDULE, c->next_round,
                        0, out);
}

/* Makes all REST phases due; for a simple program, its objective. */
static void start_rest_phases(sti_coordinator *c, sti_effects *out)
{
    c->looking = true;
    if (c->run->phases == &c->run->simple && c->run->program->objective)
        sti_coord_start_job(c, &c->aggregate.job, STI_CALL_REPORT,
                            c->next_round, 0, out);
}

/* The schedule of programs that have none: the REST phases in order; then the
 * policy's blocks; when the policy rests, the REST phases again, or the end if
 * there was nothing new. A run that is cut short runs the REST phases once
 * more, so that its report describes the model; these do not count as
 * rounds. */
static void schedule_by_default(sti_coordinator *c, sti_effects *out)
{
    const sti_run *run = c->run;
    const bool idle = c->idle;
    if (c->looking && c->in_flight) {
        c->waiting = true;
        return;
    }
    while (c->looking && c->look_next < run->n_phases) {
        const uint32_t phase = c->look_next++;
        if (run->phases[phase].when != STRADS_WHEN_REST)
            continue;
        if (plan_all(c, phase))
            sti_coord_end(c, sti_coord_no_memory(), out);
        c->plan.finalises = c->looked_last;
        return;
    }
    c->looking = false;
    c->look_next = 0;
    c->idle = false;
    if (c->stopping && c->in_flight) {
        c->waiting = true;
    } else if (c->stopping && (c->fresh_report || c->looked_last)) {
        c->finalised = true;
    } else if (c->stopping || (idle && c->chosen_since_idle)) {
        c->looked_last = c->stopping;
        c->chosen_since_idle = 0;
        start_rest_phases(c, out);
    } else if (idle || c->policy_phase == run->n_phases) {
        sti_coord_stop(c, STRADS_END_STOPPED);
    } else {
        c->wants_choice = true;
        c->choice_phase = c->policy_phase;
    }
}

static void ask_schedule(sti_coordinator *c, sti_effects *out)
{
    if (c->run->program->schedule)
        ask_program(c, out);
    else
        schedule_by_default(c, out);
}

/* ---- checkpoints
 *
 * If a program's state can be made again from the committed values, every
 * moment is a checkpoint. Otherwise nothing may be in flight: before the
 * schedule is called, its state is packed, unless it declines. Then a dispatch
 * of the engine's own packs the partitions' state. */

static bool is_checkpoint_due(const sti_coordinator *c)
{
    const sti_checkpoints *checkpoints = c->run->checkpoints;
    return checkpoints && c->stage == STI_STAGE_RUNNING && !c->checkpointing &&
           (c->last_checkpoint || (checkpoints->every_ns && !c->stopping &&
                                   c->now >= c->checkpoint_at));
}

static void start_checkpoint_job(sti_coordinator *c, bool whole,
                                 sti_effects *out)
{
    c->checkpointing = true;
    c->checkpoint.whole = whole;
    (void)sti_coordinator_position(c, &c->checkpoint.at);
    sti_coord_start_job(c, &c->checkpoint.job, STI_CALL_CHECKPOINT,
                        c->next_round, 0, out);
}

/* Starts a checkpoint that needs only the coordinator. */
static bool checkpoint_at_once(sti_coordinator *c, sti_effects *out)
{
    if (!is_checkpoint_due(c) || !sti_checkpoint_is_committed(c->run->program))
        return false;
    start_checkpoint_job(c, true, out);
    return true;
}

/* Whether the next decision must wait for a checkpoint of the other kind;
 * *started: it has begun. */
static bool is_checkpoint_next(sti_coordinator *c, bool *started,
                               sti_effects *out)
{
    *started = false;
    if (!is_checkpoint_due(c) || c->kept.set || c->wants_choice ||
        c->checkpoint_declined == c->next_round)
        return false;
    *started = c->in_flight == 0;
    if (*started)
        start_checkpoint_job(c, false, out);
    return true;
}

static void end_checkpoint(sti_coordinator *c)
{
    sti_object_drop(c->checkpoint.state);
    sti_object_drop(c->checkpoint.parts);
    c->checkpoint.state = c->checkpoint.parts = NULL;
    c->checkpointing = false;
}

static void finish_checkpoint_job(sti_coordinator *c, sti_effects *out)
{
    const strads_program *program = c->run->program;
    if (c->checkpoint.job.err) {
        sti_coord_fail_job(c, &c->checkpoint.job, out);
    } else if (c->checkpoint.whole) {
        end_checkpoint(c);
        c->last_checkpoint = c->last_checkpoint && !c->stopping;
        c->checkpoint_at = c->now + c->run->checkpoints->every_ns;
    } else if (program->pack_state && !c->checkpoint.state->size) {
        end_checkpoint(c);
        c->checkpoint_declined = c->next_round;
    } else if (sti_checkpoint_asks_workers(program)) {
        plan_internal(c, STI_PHASE_PACK);
    } else {
        start_checkpoint_job(c, true, out);
    }
}

void sti_coord_checkpoint_parts(sti_coordinator *c, sti_buffer *parts,
                                sti_effects *out)
{
    c->checkpoint.parts = parts;
    start_checkpoint_job(c, true, out);
}

/* Sets the position to resume at. OPEN takes a number, which the checkpoint's
 * run has already used. */
static strads_err resume_at(sti_coordinator *c,
                            const sti_checkpoint *checkpoint)
{
    sti_update *update = NULL;
    c->next_round = checkpoint->at.next ? checkpoint->at.next - 1 : 0;
    c->laps = checkpoint->at.laps;
    c->version = checkpoint->at.version;
    c->progress = checkpoint->at.progress;
    if (!checkpoint->parts)
        return STRADS_OK;
    const strads_block none = {0};
    strads_err err =
        sti_update_result(STI_PHASE_PACK, &none, checkpoint->parts, &update);
    return err ? err : sti_coord_keep_update(c, update);
}

static bool may_decide(sti_coordinator *c)
{
    return !c->plan.set && c->stage == STI_STAGE_RUNNING &&
           !sti_coord_inflight(c, c->next_seq)->used && !has_exclusive_round(c);
}

/* Starts to choose the next dispatch; false if that is impossible now. */
static bool decide_next(sti_coordinator *c, sti_effects *out)
{
    if (c->probing)
        return false;
    if (c->waiting)
        return false;
    bool checkpoints;
    if (is_checkpoint_next(c, &checkpoints, out))
        return checkpoints;
    if (is_finalising(c)) {
        ask_schedule(c, out);
        return true;
    }
    if (c->stopping)
        return false;
    if (c->kept.set) {
        c->plan = c->kept;
        c->kept = (sti_plan){0};
        return true;
    }
    if (!c->wants_choice)
        ask_schedule(c, out);
    return !c->wants_choice || sti_coord_choose(c, out);
}

void sti_coord_set_idle(sti_coordinator *c)
{
    c->wants_choice = false;
    c->idle = true;
}

static void finish_schedule(sti_coordinator *c, sti_effects *out)
{
    sti_schedule_job *job = &c->schedule;
    if (job->job.err) {
        sti_coord_fail_job(c, &job->job, out);
        return;
    }
    switch (job->decision) {
    case STI_DECIDE_DISPATCH:
        c->plan = (sti_plan){
            .set = true,
            .phase = job->decided_phase,
            .n_blocks = job->n_blocks,
            .blocks = job->blocks,
            .finalises = job->turn.ends,
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
        c->finalised = true;
        sti_coord_stop(c, STRADS_END_STOPPED);
        break;
    }
}

/* ---- the role ----------------------------------------------------------- */

strads_err sti_coordinator_new(sti_run *run, sti_coordinator **out)
{
    sti_coordinator *c = calloc(1, sizeof *c);
    if (!c)
        goto fail;
    c->run = run;
    c->inflight = calloc(sti_run_window(run), sizeof *c->inflight);
    if (!c->inflight || sti_coord_make_schedulers(c) ||
        sti_buffer_new(0, &c->aggregate.scratch) ||
        sti_buffer_new(0, &c->aggregate.gathered))
        goto fail;
    c->looking = true;
    c->policy_phase = 0;
    while (c->policy_phase < run->n_phases &&
           run->phases[c->policy_phase].when != STRADS_WHEN_POLICY)
        c->policy_phase++;
    sti_progress_begin(&c->progress);
    c->end = STRADS_END_STOPPED;
    *out = c;
    return STRADS_OK;
fail:
    sti_coordinator_free(c);
    return strads_fail(STRADS_ENOMEM, "no memory for the coordinator");
}

void sti_coord_drop_updates(sti_update **updates, size_t n)
{
    for (size_t k = 0; k < n; k++)
        sti_object_drop(updates[k]);
}

void sti_coord_clear_inflight(sti_inflight *f)
{
    for (uint32_t k = 0; f->chunks && k < f->n_chunks; k++)
        sti_object_drop(f->chunks[k]);
    free(f->chunks);
    free(f->parts);
    sti_object_drop(f->dispatch);
    sti_object_drop(f->partial);
    *f = (sti_inflight){0};
}

void sti_coordinator_free(sti_coordinator *c)
{
    if (!c)
        return;
    for (uint32_t k = 0; c->inflight && k < sti_run_window(c->run); k++)
        sti_coord_clear_inflight(&c->inflight[k]);
    sti_coord_drop_updates(c->updates, c->n_updates);
    sti_coord_drop_updates(c->history, c->n_history);
    sti_coord_drop_updates(c->aggregate.updates, c->aggregate.n_updates);
    sti_coord_clear_inflight(&c->own);
    sti_object_drop(c->aggregate.scratch);
    sti_object_drop(c->aggregate.gathered);
    free(c->aggregate.updates);
    free(c->aggregate.recent);
    free(c->aggregate.total_change);
    free(c->aggregate.also_param);
    free(c->aggregate.also_change);
    sti_object_drop(c->begin.start);
    sti_object_drop(c->prepare.dispatch);
    sti_object_drop(c->prepare.packed);
    sti_object_drop(c->checkpoint.state);
    sti_object_drop(c->checkpoint.parts);
    sti_coord_free_schedulers(c);
    free(c->prepare.unknown);
    free(c->schedule.blocks);
    free(c->plan.blocks);
    free(c->plan.parts);
    free(c->kept.blocks);
    free(c->kept.parts);
    free(c->flying);
    free(c->history);
    free(c->updates);
    free(c->inflight);
    free(c);
}

const strads_progress *sti_coordinator_progress(const sti_coordinator *c)
{
    return &c->progress;
}

bool sti_coordinator_position(const sti_coordinator *c,
                              sti_checkpoint_position *out)
{
    *out = (sti_checkpoint_position){.next = c->next_round,
                                     .laps = c->laps,
                                     .version = c->version,
                                     .progress = c->progress};
    return c->begun;
}

strads_end sti_coordinator_end(const sti_coordinator *c)
{
    return c->end;
}

void sti_coord_end(sti_coordinator *c, strads_err err, sti_effects *out)
{
    if (c->stage == STI_STAGE_ENDED)
        return;
    c->stage = STI_STAGE_ENDED;
    sti_effect_end(out, err);
}

void sti_coord_fail_job(sti_coordinator *c, const sti_job *job,
                        sti_effects *out)
{
    sti_coord_end(c, strads_fail(job->err, "%s", job->said->text), out);
}

void sti_coord_start_job(sti_coordinator *c, sti_job *job, sti_call call,
                         uint64_t round, uint32_t phase, sti_effects *out)
{
    c->busy = true;
    job->call = call;
    job->role = STI_COORDINATOR;
    job->round = round;
    job->phase = phase;
    job->said = &c->said;
    sti_effect_compute(out, job);
}

sti_inflight *sti_coord_inflight(sti_coordinator *c, uint64_t seq)
{
    return &c->inflight[seq % sti_run_window(c->run)];
}

void sti_coord_stop(sti_coordinator *c, strads_end end)
{
    if (c->stopping)
        return;
    c->stopping = true;
    c->end = end;
    c->wants_choice = false;
    c->last_checkpoint =
        end != STRADS_END_CONVERGED && end != STRADS_END_STOPPED;
}

strads_err sti_coord_no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the coordinator");
}

strads_err sti_coord_keep_update(sti_coordinator *c, sti_update *update)
{
    if (c->n_updates == c->cap_updates) {
        uint32_t capacity = c->cap_updates ? 2 * c->cap_updates : 16;
        sti_update **list =
            realloc(c->updates, sizeof(sti_update *) * capacity);
        if (!list)
            return sti_coord_no_memory();
        c->updates = list;
        c->cap_updates = capacity;
    }
    c->updates[c->n_updates++] = update;
    return STRADS_OK;
}

static void finish_begin(sti_coordinator *c, sti_effects *out)
{
    if (c->begin.job.err) {
        sti_coord_fail_job(c, &c->begin.job, out);
        return;
    }
    c->begun = true;
    c->stage = STI_STAGE_OPENING;
    plan_internal(c, STI_PHASE_OPEN);
    if (c->run->checkpoints) {
        const sti_checkpoint *from = c->run->checkpoints->from;
        c->checkpoint_at = c->now + c->run->checkpoints->every_ns;
        if (from && resume_at(c, from)) {
            sti_coord_end(c, sti_coord_no_memory(), out);
            return;
        }
    }
    sti_update *start = c->begin.start;
    c->begin.start = NULL;
    if (!start)
        return;
    c->version = start->change.version;
    if (sti_coord_keep_update(c, start)) {
        sti_object_drop(start);
        sti_coord_end(c, sti_coord_no_memory(), out);
    }
}

static void end_by_failure(sti_coordinator *c, const sti_msg *msg,
                           sti_effects *out)
{
    const sti_failure *failure = (const sti_failure *)msg->object;
    strads_err err = failure ? strads_fail(failure->err, "%s", failure->text)
                             : sti_coord_no_memory();
    sti_coord_end(c, err, out);
    sti_object_drop(msg->object);
}

static void receive_message(sti_coordinator *c, const sti_msg *msg,
                            sti_effects *out)
{
    switch (msg->kind) {
    case STI_MSG_PARTIAL:
        sti_coord_take_partial(c, msg, out);
        break;
    case STI_MSG_CHOICE:
        sti_coord_take_choice(c, msg, out);
        break;
    case STI_MSG_FAIL:
        end_by_failure(c, msg, out);
        break;
    default:
        sti_object_drop(msg->object);
        break;
    }
}

static void finish_coordinator_job(sti_coordinator *c, const sti_job *job,
                                   sti_effects *out)
{
    c->busy = false;
    switch (job->call) {
    case STI_CALL_BEGIN:
        finish_begin(c, out);
        break;
    case STI_CALL_SCHEDULE:
        finish_schedule(c, out);
        break;
    case STI_CALL_PREPARE:
        sti_coord_prepared(c, out);
        break;
    case STI_CALL_CHECKPOINT:
        finish_checkpoint_job(c, out);
        break;
    case STI_CALL_REPORT:
        if (job->err)
            sti_coord_fail_job(c, job, out);
        else
            sti_coord_take_report(c, out);
        break;
    default:
        sti_coord_committed(c, out);
        break;
    }
}

/* Plans CLOSE once everything has landed, including the rounds that make the
 * model final, and no request is open. */
static bool close_partitions(sti_coordinator *c)
{
    if (!c->stopping || c->in_flight || c->stage != STI_STAGE_RUNNING ||
        sti_coord_is_asking(c) || is_finalising(c))
        return false;
    c->stage = STI_STAGE_CLOSING;
    plan_internal(c, STI_PHASE_CLOSE);
    return true;
}

static void advance_coordinator(sti_coordinator *c, sti_effects *out)
{
    while (!c->busy && c->stage != STI_STAGE_ENDED) {
        if (checkpoint_at_once(c, out))
            continue;
        if (c->plan.set && sti_coord_plan_may_leave(c)) {
            sti_coord_prepare(c, out);
            continue;
        }
        if (may_decide(c) && decide_next(c, out))
            continue;
        if (sti_coord_commit_next(c, out))
            continue;
        if (c->plan.set || !close_partitions(c))
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
            sti_coord_start_job(c, &c->begin.job, STI_CALL_BEGIN, 0, 0, out);
            break;
        case STI_EVENT_CANCEL:
            sti_coord_stop(c, STRADS_END_CANCELED);
            break;
        case STI_EVENT_DONE:
            finish_coordinator_job(c, event->job, out);
            break;
        case STI_EVENT_MESSAGE:
            receive_message(c, &event->msg, out);
            break;
        case STI_EVENT_TIMER:
            break;
        }
    }
    advance_coordinator(c, out);
}
