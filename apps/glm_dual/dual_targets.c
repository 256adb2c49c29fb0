/* Several classes: as many problems, one after the other, each class against
 * all others, with one C. Each begins from 0 or from a start's w, with a survey
 * that tells partitions whose turn it is; what has been learned of rows and
 * groups is forgotten then. */
#include <math.h>
#include <string.h>

#include "dual.h"

/* ---- one partition ----------------------------------------------------- */

/* The samples follow when the survey comes back. */
void dual_open_problem(dual_local *local, const strads_task *task)
{
    local->target =
        (uint32_t)(task->block.id - dual_survey_id(task->shape->partitions, 0));
    memset(local->base, 0, (local->columns + 1) * sizeof(double));
    for (uint32_t k = 0; k < task->block.n; k++)
        local->base[task->block.first + k] = task->value[dual_at(local, k)];
    local->based = local->behind = true;
    local->moved = 0; /* what w has is another problem's */
    memset(local->anchor, 0, local->rows * sizeof(double));
}

/* ---- the coordinator --------------------------------------------------- */

void dual_begin_problem(dual_state *state)
{
    for (uint64_t i = 0; i < state->groups; i++)
        state->entries[i] = dual_group_entries(state, i);
    for (uint32_t g = 0; g < state->pools; g++)
        state->pool[g].worst = INFINITY;
    state->surveyed = state->scan_due = state->rested = state->stalled = false;
    state->near = state->far = state->apart = 0;
    state->visits = state->scans = 0;
    state->parts = state->reached = 0;
    state->next_scan = 3 * state->rows;
    state->aim = .5;
    state->enough = state->primal = state->gap = 0;
    state->supports = state->nonzeros = 0;
    state->least = state->nearest = INFINITY;
    state->most = -INFINITY;
    state->idle = 0;
    state->step = DUAL_ASCEND;
    state->inner = state->vain = 0;
    state->gave_up = state->blunt = false;
    state->ballast = 1;
    state->patience = 1;
    state->faced = INFINITY;
    state->level_step = 0;
    state->level_share = 1;
}

static bool is_last(const dual_state *state)
{
    return state->target + 1 == state->width;
}

void dual_judge(dual_state *state, double tolerance)
{
    const bool good = state->gap <= tolerance * state->primal;

    if (is_last(state) || !(good || state->stalled)) {
        dual_newton_judge(state);
        return;
    }
    state->done[state->target++] = (dual_outcome){.primal = state->primal,
                                                  .gap = state->gap,
                                                  .nonzeros = state->nonzeros,
                                                  .supports = state->supports};
    dual_begin_problem(state);
}

void dual_note_first_values(dual_state *state)
{
    const double c = state->problem.options.c * state->classes.total;
    const dual_sample all = dual_sample_of(state->problem.loss, 1, c);
    const double primal = dual_loss_at(&all, 0, 0);

    for (uint32_t k = 0; k < state->width; k++)
        state->done[k] = (dual_outcome){.primal = primal, .gap = primal};
}

dual_outcome dual_total(const dual_state *state)
{
    dual_outcome sum = {0};

    for (uint32_t k = 0; k < state->width; k++) {
        const dual_outcome at_hand = {.primal = state->primal,
                                      .gap = state->gap,
                                      .nonzeros = state->nonzeros,
                                      .supports = state->supports};
        const dual_outcome *one =
            k == state->target && state->scans > 0 ? &at_hand : &state->done[k];
        sum.primal += one->primal;
        sum.gap += one->gap;
        sum.nonzeros += one->nonzeros;
        sum.supports += one->supports;
    }
    return sum;
}

void dual_report(const dual_state *state, double unit, strads_report *report)
{
    const bool known = state->target > 0 || state->scans > 0;
    const dual_outcome all = dual_total(state);

    report->objective = known ? all.primal * unit : NAN;
    report->gap = !known ? 1 : all.primal > 0 ? all.gap / all.primal : 0;
    report->stop = state->stalled && is_last(state);
}
