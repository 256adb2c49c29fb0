/* Logistic regression as a program: what is computed where, phase by phase.
 *
 * Workers hold rows, their margins z = X w + b, which refresh keeps up with the
 * commits, and nothing that is a number per column. The coordinator holds the
 * working set.
 *
 *     labels   which there are         -> two classes, weights, b at w = 0
 *     moments  sum c x^2, X'r at w = 0  -> scales, lambda_max, a first scan
 *     rows     y and c                 -> the coordinator
 *     level    sum r, sum h            -> b at a start value's w
 *     scan     X'r of columns, losses  -> gap, working set, priorities
 *     fetch    columns of the set      -> the coordinator
 *     solve    nothing                 -> descent on a block, in the quadratic
 *                                         model of the loss at z
 *     search   nothing                 -> a step length; weights frozen anew
 *
 *     hessian  X'HX of some rows       -> a preconditioner, L2 alone
 *     product  X'HXd                   -> Newton's step by conjugate gradients
 *     judge    X'(Y - P), losses       -> softmax: the gap of the whole
 *
 * solve runs on the policy's blocks until the model is solved, search ends it,
 * and when models gain little a scan looks at everything again. */
#include <strads/logistic.h>

#include <math.h>
#include <string.h>

#include "logistic_parts.h"

/* ---- workers: margins -------------------------------------------------- */

static strads_err logistic_refresh(strads_task *task,
                                   const strads_change *changes, uint32_t n)
{
    logistic_local *local = task->local;

    linear_pending_add(&local->pending, changes, n, task->width, local->target);
    return STRADS_OK;
}

void logistic_catch_up(logistic_local *local, const strads_share *share)
{
    linear_pending_apply(&local->pending, share, local->kernels, 1, local->z);
}

logistic_rows logistic_rows_of(const logistic_local *local)
{
    return (logistic_rows){.n = local->rows,
                           .y = local->y,
                           .c = local->c,
                           .z = local->z};
}

static strads_err update_scan(strads_task *task)
{
    logistic_local *local = task->local;
    const strads_block *block = &task->block;
    const logistic_rows rows = logistic_rows_of(local);
    logistic_sides *sides =
        (logistic_sides *)(void *)(task->partial + block->n);

    logistic_catch_up(local, task->share);
    local->loops->look(&rows, local->r, sides);
    local->fresh = false;
    linear_multiply(local->kernels, task->share, block, local->r,
                    task->partial);
    return STRADS_OK;
}

/* Curvatures at z, once after each scan. */
static void take_curvature(logistic_local *local)
{
    const logistic_rows rows = logistic_rows_of(local);

    if (local->fresh)
        return;
    (void)local->loops->curve(&rows, NULL, local->curve);
    linear_hold_curvature(local->rows, local->c, local->curve);
    local->fresh = true;
}

static strads_err update_hessian(strads_task *task)
{
    logistic_local *local = task->local;

    take_curvature(local);
    return linear_hessian(task, local->kernels, local->curve);
}

static strads_err update_product(strads_task *task)
{
    logistic_local *local = task->local;

    take_curvature(local);
    linear_product(task, local->kernels, local->curve, local->target, local->r);
    return STRADS_OK;
}

static strads_err update_fetch(strads_task *task)
{
    return linear_packed_write(task, task->share);
}

/* ---- the coordinator: an L2 penalty alone ------------------------------- */

static strads_err follow_ridge(strads_commit *commit, linear_ridge_next next)
{
    static const logistic_next phase[] = {
        [LINEAR_RIDGE_STEP] = LOGISTIC_TO_SCAN,
        [LINEAR_RIDGE_PRODUCT] = LOGISTIC_TO_PRODUCT,
        [LINEAR_RIDGE_HESSIAN] = LOGISTIC_TO_HESSIAN};
    logistic_state *state = commit->state;

    state->next = phase[next];
    if (next == LINEAR_RIDGE_STEP)
        state->b[state->target] += state->ridge.value[state->columns];
    return linear_ridge_tell(&state->ridge, commit, next,
                             commit->phase == LOGISTIC_PRODUCT, state->wide);
}

/* Slopes as they are told are those of centred columns. */
static strads_err judge_ridge(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_ridge *ridge = &state->ridge;

    ridge->weight = state->weight;
    ridge->n = state->n_alive;
    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        ridge->column[k] = j;
        ridge->l2[j] = state->l2 * state->scale[j] * state->scale[j];
        ridge->rest[j] = state->slope[j] + state->mean[j] * state->level;
    }
    ridge->rest[state->columns] = state->options.intercept ? state->level : 0;
    return follow_ridge(commit,
                        linear_ridge_judge(ridge, commit, state->target,
                                           state->primal, &state->watch));
}

static strads_err aggregate_hessian(strads_commit *commit)
{
    logistic_state *state = commit->state;

    return follow_ridge(commit, linear_ridge_factor(&state->ridge, commit));
}

static strads_err aggregate_product(strads_commit *commit)
{
    logistic_state *state = commit->state;

    return follow_ridge(commit,
                        linear_ridge_multiply(&state->ridge, commit,
                                              state->gap / state->primal,
                                              commit->tolerance));
}

/* ---- the coordinator --------------------------------------------------- */

/* Whether another problem's turn has come. */
static bool is_through(const logistic_state *state, double tolerance)
{
    return state->target + 1 < state->width &&
           (state->gap <= tolerance * state->primal || state->watch.stalled);
}

static strads_err begin_next(logistic_state *state)
{
    state->done[state->target].primal = state->primal;
    state->done[state->target].dual = state->dual;
    state->done[state->target].nonzeros = state->nonzeros;
    state->target++;
    logistic_begin_problem(state);
    state->next = LOGISTIC_TO_MOMENTS;
    return STRADS_OK;
}

static strads_err aggregate_scan(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const double dual = state->dual;

    state->scans++;
    logistic_certify(state, &commit->block, commit->partial, commit->value);
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of the losses overflows: scale the columns "
                           "down, or their start values");
    if (!state->softmax && is_through(state, commit->tolerance))
        return begin_next(state);
    if (state->ridge.used)
        return judge_ridge(commit);
    state->next = LOGISTIC_TO_FETCH;
    return logistic_choose(commit, dual);
}

static strads_err aggregate_search(strads_commit *commit)
{
    logistic_state *state = commit->state;

    state->enough = true;
    const strads_err err = logistic_search(commit);
    state->next = state->enough ? LOGISTIC_TO_SCAN : LOGISTIC_TO_SOLVE;
    if (state->enough && state->softmax)
        logistic_softmax_next(state);
    return err;
}

/* Of all problems together. One whose turn has not come has no dual value yet
 * but 0. Before anything has been looked at nothing is known of the gap, which
 * tells the command that a run cut short there has not converged. */
static strads_err logistic_objective(void *user, strads_report *report)
{
    const logistic_state *state = user;
    double primal = 0, gap = 0;

    if (state->softmax ? !(state->judged.primal > 0)
                       : state->scans == 0 && state->target == 0) {
        report->gap = 1;
        return STRADS_OK;
    }
    if (state->softmax) {
        gap = fmax(state->judged.primal - state->judged.dual, 0);
        report->objective = state->judged.primal / state->weight;
        report->gap = gap / state->judged.primal;
        report->nonzeros = state->judged.nonzeros;
        report->stop = state->judged.watch.stalled;
        return STRADS_OK;
    }
    for (uint32_t k = 0; k < state->width; k++) {
        const bool at_hand = k == state->target && state->scans > 0;
        primal += at_hand ? state->primal : state->done[k].primal;
        gap +=
            at_hand ? state->gap : state->done[k].primal - state->done[k].dual;
        report->nonzeros += at_hand ? state->nonzeros : state->done[k].nonzeros;
    }
    report->objective = primal / state->weight;
    report->gap = primal > 0 ? gap / primal : 0;
    report->stop = state->watch.stalled && state->target + 1 == state->width;
    return STRADS_OK;
}

/* ---- what comes next --------------------------------------------------- */

static strads_err dispatch_scalars(strads_turn *turn, uint32_t phase)
{
    const strads_block none = {.id = LOGISTIC_SCALARS_ID};

    return strads_turn_dispatch(turn, phase, 1, &none);
}

static strads_err dispatch_rows(strads_turn *turn)
{
    const logistic_state *state = turn->state;
    const strads_block none = {.id = LOGISTIC_TURN_ID + state->target};

    return strads_turn_dispatch(turn, LOGISTIC_ROWS, 1, &none);
}

static strads_err dispatch_alive(strads_turn *turn, uint32_t phase)
{
    const logistic_state *state = turn->state;
    const strads_block alive = {.id = LOGISTIC_ALIVE_ID + turn->round,
                                .n = state->n_alive,
                                .param = state->alive};

    return strads_turn_dispatch(turn, phase, 1, &alive);
}

static strads_err dispatch_product(strads_turn *turn)
{
    const logistic_state *state = turn->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const strads_block direction = {.id = LOGISTIC_DIRECTION_ID,
                                    .n = n,
                                    .first = n};

    return strads_turn_dispatch(turn, LOGISTIC_PRODUCT, 1, &direction);
}

/* Of all columns; a softmax begins from the committed b, too. */
static strads_err dispatch_moments(strads_turn *turn)
{
    const logistic_state *state = turn->state;
    const bool levels = state->softmax && state->options.intercept;
    const strads_block columns = {.id = LOGISTIC_MOMENTS_ID + state->target,
                                  .n = (uint32_t)state->columns + levels};

    return strads_turn_dispatch(turn,
                                state->width > 1 ? LOGISTIC_TARGET
                                                 : LOGISTIC_MOMENTS,
                                1, &columns);
}

/* The next members whose entries are not here yet. */
static strads_err dispatch_fetch(strads_turn *turn)
{
    logistic_state *state = turn->state;
    const strads_block next =
        linear_set_fetch(&state->set, state->data, state->candidate);

    return strads_turn_dispatch(turn, LOGISTIC_FETCH, 1, &next);
}

static strads_err logistic_schedule(strads_turn *turn)
{
    logistic_state *state = turn->state;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (state->next) {
    case LOGISTIC_TO_LABELS:
        return dispatch_scalars(turn, LOGISTIC_LABELS);
    case LOGISTIC_TO_MOMENTS:
        return dispatch_moments(turn);
    case LOGISTIC_TO_LEVEL:
        return dispatch_scalars(turn, LOGISTIC_LEVEL);
    case LOGISTIC_TO_ROWS:
        return dispatch_rows(turn);
    case LOGISTIC_TO_JUDGE:
        return dispatch_alive(turn, LOGISTIC_JUDGE);
    case LOGISTIC_TO_SCAN:
        return dispatch_alive(turn, LOGISTIC_SCAN);
    case LOGISTIC_TO_HESSIAN:
        return dispatch_alive(turn, LOGISTIC_HESSIAN);
    case LOGISTIC_TO_PRODUCT:
        return dispatch_product(turn);
    case LOGISTIC_TO_FETCH:
        if (state->set.columns.n < state->set.n)
            return dispatch_fetch(turn);
        state->next = LOGISTIC_TO_SOLVE;
        break;
    case LOGISTIC_TO_SOLVE:
        break;
    }
    if (state->set.solved || turn->at_rest)
        return dispatch_scalars(turn, LOGISTIC_SEARCH);
    return strads_turn_policy(turn, LOGISTIC_SOLVE);
}

/* ---- the table --------------------------------------------------------- */

static size_t partial_labels(const strads_task *task)
{
    return linear_survey_size(task->width);
}

static size_t partial_rows(const strads_task *task)
{
    const bool softmax = logistic_is_softmax(task->config, task->width);

    return task->shape->rows * sizeof(double) * (softmax ? 2 : 1);
}

static size_t partial_judge(const strads_task *task)
{
    return logistic_judge_size(task->block.n, task->width);
}

static size_t partial_level(const strads_task *task)
{
    (void)task;
    return 2;
}

static size_t partial_scan(const strads_task *task)
{
    return (size_t)task->block.n + LOGISTIC_SIDES;
}

static size_t partial_hessian(const strads_task *task)
{
    return linear_hessian_size(task->block.n);
}

static const strads_phase phases[] = {
    [LOGISTIC_LABELS] = {.name = "labels",
                         .when = STRADS_WHEN_CALLED,
                         .reports = true,
                         .merge = STRADS_MERGE_OWN,
                         .result = STRADS_RESULT_WORKERS,
                         .ignores_values = true,
                         .partial = partial_labels,
                         .update = logistic_update_labels,
                         .merge_with = linear_survey_merge,
                         .aggregate = logistic_aggregate_labels,
                         .receive = logistic_receive_labels},
    [LOGISTIC_MOMENTS] = {.name = "moments",
                          .when = STRADS_WHEN_CALLED,
                          .ignores_values = true,
                          .partial = logistic_partial_moments,
                          .update = logistic_update_moments,
                          .aggregate = logistic_aggregate_moments},
    /* The same where one of several problems begins, from the w told. */
    [LOGISTIC_TARGET] = {.name = "target",
                         .when = STRADS_WHEN_CALLED,
                         .partial = logistic_partial_moments,
                         .update = logistic_update_moments,
                         .aggregate = logistic_aggregate_moments},
    [LOGISTIC_ROWS] = {.name = "rows",
                       .when = STRADS_WHEN_CALLED,
                       .merge = STRADS_MERGE_CONCAT,
                       .ignores_values = true,
                       .partial = partial_rows,
                       .update = logistic_update_rows,
                       .aggregate = logistic_aggregate_rows},
    [LOGISTIC_LEVEL] = {.name = "level",
                        .when = STRADS_WHEN_CALLED,
                        .ignores_values = true,
                        .partial = partial_level,
                        .update = logistic_update_level,
                        .aggregate = logistic_aggregate_level},
    [LOGISTIC_SCAN] = {.name = "scan",
                       .when = STRADS_WHEN_CALLED,
                       .reports = true,
                       .ignores_values = true,
                       .partial = partial_scan,
                       .update = update_scan,
                       .aggregate = aggregate_scan},
    [LOGISTIC_FETCH] = {.name = "fetch",
                        .when = STRADS_WHEN_CALLED,
                        .merge = STRADS_MERGE_CONCAT,
                        .ignores_values = true,
                        .partial = linear_packed_bytes,
                        .update = update_fetch,
                        .aggregate = logistic_take_columns},
    [LOGISTIC_SOLVE] = {.name = "solve",
                        .when = STRADS_WHEN_POLICY,
                        .to = STRADS_TO_NOBODY,
                        .aggregate = logistic_solve_block},
    [LOGISTIC_SEARCH] = {.name = "search",
                         .when = STRADS_WHEN_CALLED,
                         .to = STRADS_TO_NOBODY,
                         .aggregate = aggregate_search},
    [LOGISTIC_HESSIAN] = {.name = "hessian",
                          .when = STRADS_WHEN_CALLED,
                          .ignores_values = true,
                          .partial = partial_hessian,
                          .update = update_hessian,
                          .aggregate = aggregate_hessian},
    [LOGISTIC_PRODUCT] = {.name = "product",
                          .when = STRADS_WHEN_CALLED,
                          .partial = linear_product_size,
                          .update = update_product,
                          .aggregate = aggregate_product},
    [LOGISTIC_JUDGE] = {.name = "judge",
                        .when = STRADS_WHEN_CALLED,
                        .reports = true,
                        .partial = partial_judge,
                        .update = logistic_judge,
                        .aggregate = logistic_aggregate_judge},
};

const strads_program strads_program_logistic = {
    .size = sizeof(strads_program),
    .name = "logistic",
    .summary = "logistic regression with an L1 or L2 penalty, or both",
    .options = logistic_option_table,
    .config_size = sizeof(strads_logistic_options),
    .defaults = &logistic_defaults,
    .shape = logistic_shape,
    .begin = logistic_begin,
    .open = logistic_open,
    .objective = logistic_objective,
    .end = logistic_end,
    .close = logistic_close,
    .refresh = logistic_refresh,
    .schedule = logistic_schedule,
    .split = STRADS_SPLIT_ROWS,
    .layout = STRADS_LAYOUT_COLS,
    .phases = phases,
    .n_phases = sizeof(phases) / sizeof(phases[0]),
    .named_labels = linear_classes_named};
