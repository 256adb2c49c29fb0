/* What is next: by the phases' `when`, by the program's schedule or by the
 * policy. */
#include "engine/round/coordinator_state.h"

#include <stdlib.h>

static bool one_is_alone(const sti_coordinator *c)
{
    for (uint32_t k = 0; k < sti_run_window(c->run); k++)
        if (c->flights[k].used && c->flights[k].alone)
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

void sti_coord_plan_internal(sti_coordinator *c, uint32_t phase)
{
    c->plan = (sti_plan){.set = true, .phase = phase};
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

bool sti_coord_winds_up(const sti_coordinator *c)
{
    return c->stopping && c->run->program->winds_up && !c->wound_up;
}

static void ask_program(sti_coordinator *c, sti_effects *out)
{
    if (c->stopping && c->wind_up_turns++ == STRADS_WIND_UP_TURNS) {
        sti_coord_end(c,
                      strads_fail(STRADS_EPROGRAM,
                                  "schedule of program %s was told %u times "
                                  "that the run ends and has not stopped: "
                                  "return strads_turn_stop(turn) once the "
                                  "model is together",
                                  c->run->program->name, STRADS_WIND_UP_TURNS),
                      out);
        return;
    }
    c->schedule.turn = (strads_turn){
        .round = c->next_round,
        .in_flight = c->in_flight,
        .at_rest = c->at_rest,
        .ends = c->stopping,
    };
    c->at_rest = false;
    sti_coord_start_job(c, &c->schedule.job, STI_CALL_SCHEDULE, c->next_round,
                        0, out);
}

/* Probes that a commit asked for go before anything else is decided. */
static void plan_wish(sti_coordinator *c)
{
    sti_wish *wish = c->wishes;
    strads_block *pair = wish->pair;
    c->wishes = wish->next;
    c->n_wishes--;
    free(wish);
    pair[0].id = --c->wish_ids;
    pair[1].id = --c->wish_ids;
    c->plan = (sti_plan){
        .set = true,
        .phase = c->run->probe_phase,
        .n_blocks = 1,
        .blocks = pair,
        .probe = true,
        .wished = true,
    };
}

/* The phases that run by themselves; false when the next must wait, or none is
 * due. */
static bool plan_automatic(sti_coordinator *c, bool *due, sti_effects *out)
{
    *due = false;
    if (c->run->program->schedule && !c->final_report)
        return false;
    *due = c->automatic != STRADS_WHEN_POLICY;
    if (*due && c->in_flight)
        return false;
    uint32_t phase = next_automatic(c);
    *due = phase < c->run->n_phases;
    if (*due && plan_all(c, phase))
        sti_coord_end(c, sti_coord_no_memory(), out);
    return *due;
}

bool sti_coord_may_decide(sti_coordinator *c)
{
    return !c->plan.set && c->stage == STI_STAGE_RUNNING &&
           !sti_coord_flight(c, c->next_seq)->used && !one_is_alone(c);
}

bool sti_coord_decide(sti_coordinator *c, sti_effects *out)
{
    const sti_run *run = c->run;
    if (c->n_wishes) {
        plan_wish(c);
        return true;
    }
    if (c->probing)
        return false;
    bool due;
    if (plan_automatic(c, &due, out))
        return true;
    if (due || c->waiting)
        return false;
    if (sti_coord_winds_up(c)) {
        ask_program(c, out);
        return true;
    }
    if (c->stopping)
        return false;
    if (c->kept.set) {
        c->plan = c->kept;
        c->kept = (sti_plan){0};
        return true;
    }
    if (!c->wants_choice && run->program->schedule) {
        ask_program(c, out);
        return true;
    }
    if (!c->wants_choice) {
        c->wants_choice = true;
        c->choice_phase = c->policy_phase;
    }
    if (c->choice_phase < run->n_phases)
        return sti_coord_choose(c, out);
    sti_coord_stop(c, STRADS_END_STOPPED); /* there is no POLICY phase */
    return true;
}

void sti_coord_look_at_all(sti_coordinator *c, sti_effects *out)
{
    c->automatic = STRADS_WHEN_REST;
    c->automatic_next = 0;
    if (c->run->phases == &c->run->simple && c->run->program->objective)
        sti_coord_start_job(c, &c->aggregate.job, STI_CALL_REPORT,
                            c->next_round, 0, out);
}

/* Nothing moves enough any more: look at everything again, or end when the
 * last look has brought nothing either. */
void sti_coord_rest(sti_coordinator *c, sti_effects *out)
{
    c->wants_choice = false;
    if (c->run->program->schedule) {
        c->at_rest = true;
        return;
    }
    if (c->chosen_since_rest == 0) {
        sti_coord_stop(c, STRADS_END_STOPPED);
        return;
    }
    c->chosen_since_rest = 0;
    sti_coord_look_at_all(c, out);
}

void sti_coord_scheduled(sti_coordinator *c, sti_effects *out)
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
            .winds_up = job->turn.ends,
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
        c->wound_up = true;
        sti_coord_stop(c, STRADS_END_STOPPED);
        break;
    }
}
