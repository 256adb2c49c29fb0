/* Logistic regression as a program: what is computed where, phase by phase.
 *
 * Workers hold rows, their margins z = X w + b, which refresh keeps up with the
 * commits, and nothing that is a number per column. The coordinator holds the
 * working set.
 *
 *     labels   which there are         -> two classes, weights, b at w = 0
 *     moments  sum c x, sum c x^2, X'r -> scales, lambda_max
 *     rows     y and c                 -> the coordinator
 *     level    sum r, sum h            -> b at a start value's w
 *     scan     X'r, losses             -> gap, working set, priorities
 *     fetch    columns of the set      -> the coordinator
 *     solve    nothing                 -> descent on a block, in the quadratic
 *                                         model of the loss at z
 *     search   nothing                 -> a step length; weights frozen anew
 *
 *     hessian  X'HX                    -> Newton's step, L2 alone, few columns
 *
 * solve runs on the policy's blocks until the model is solved, search ends it,
 * and when models gain little a scan looks at everything again. */
#include <strads/logistic.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "logistic_parts.h"

/* Blocks' ids: moments' tell whose problem begins; fewer and fewer columns are
 * alive, so they have the round's; a fetch's are above 2^40. */
enum {
    SCALARS_ID = 0,
    MOMENTS_ID = 1,
    ALIVE_ID = MOMENTS_ID + LOGISTIC_LABELS_MAX
};

/* ---- workers: what is known at the start ------------------------------- */

static strads_err update_labels(strads_task *task)
{
    const logistic_local *local = task->local;
    logistic_survey *survey = (logistic_survey *)(void *)task->partial;

    for (uint64_t i = 0; i < local->rows; i++)
        logistic_survey_add(survey, task->share->label[i], local->c[i]);
    return STRADS_OK;
}

/* Whoever has the survey comes to the same classes. */
static strads_err receive_labels(strads_task *task)
{
    const logistic_survey *survey =
        (const logistic_survey *)(const void *)task->partial;
    logistic_classes classes;
    const strads_err err = logistic_classes_of(task->config, survey, &classes);

    if (err)
        return err;
    logistic_take_classes(task->local, task->share, &classes);
    return STRADS_OK;
}

/* X'r where w = 0 and b is the best one: r_i = c_i (1 - share+) or
 * -c_i share+. */
static strads_err update_moments(strads_task *task)
{
    logistic_local *local = task->local;
    const linear_kernels *kernels = local->kernels;
    const uint64_t p = local->columns;
    const uint32_t target = (uint32_t)(task->block.id - MOMENTS_ID);
    double *sum = task->partial, *squares = sum + p, *slope = sum + 2 * p;
    const double b =
        logistic_first_intercept(task->config, &local->classes, target);
    const double u = 1 / (1 + exp(b)); /* of a positive row */

    logistic_take_target(local, task->share, target, b);
    for (uint64_t i = 0; i < local->rows; i++)
        local->r[i] = local->c[i] * (local->y[i] > 0 ? u : u - 1);
    for (uint64_t j = 0; j < p; j++) {
        const linear_column x = linear_column_of(task->share, j);
        sum[j] = kernels->dot(&x, local->c);
        squares[j] = linear_squares(&x, local->c);
        slope[j] = kernels->dot(&x, local->r);
    }
    return STRADS_OK;
}

static strads_err update_rows(strads_task *task)
{
    const logistic_local *local = task->local;

    for (uint64_t i = 0; i < local->rows; i++)
        task->partial[i] = local->y[i] * local->c[i];
    task->partial_bytes = local->rows * sizeof(double);
    return STRADS_OK;
}

/* ---- workers: margins -------------------------------------------------- */

/* Changes wait in `pending` until the margins are needed: between two scans a
 * working set's coefficients move many times. */
static strads_err logistic_refresh(strads_task *task,
                                   const strads_change *changes, uint32_t n)
{
    logistic_local *local = task->local;

    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const uint32_t j = changes[c].param[k];
            if (local->pending[j] == 0)
                local->touched[local->n_touched++] = j;
            local->pending[j] +=
                changes[c].change[(size_t)k * task->width + local->target];
            if (local->pending[j] == 0) /* so that j is not touched twice */
                local->pending[j] = 0x1p-1022;
        }
    return STRADS_OK;
}

static void catch_up(logistic_local *local, const strads_share *share)
{
    for (uint64_t t = 0; t < local->n_touched; t++) {
        const uint32_t j = local->touched[t];
        const double change = local->pending[j];
        local->pending[j] = 0;
        if (j < local->columns) {
            const linear_column x = linear_column_of(share, j);
            local->kernels->add(&x, change, local->z);
            continue;
        }
        for (uint64_t i = 0; i < local->rows; i++)
            local->z[i] += change;
    }
    local->n_touched = 0;
}

static logistic_rows rows_of(const logistic_local *local)
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
    const logistic_rows rows = rows_of(local);
    logistic_sides *sides =
        (logistic_sides *)(void *)(task->partial + block->n);

    catch_up(local, task->share);
    local->loops->look(&rows, local->r, sides);
    for (uint32_t k = 0; k < block->n; k++) {
        const linear_column x =
            linear_column_of(task->share, strads_block_param(block, k));
        task->partial[k] = local->kernels->dot(&x, local->r);
    }
    return STRADS_OK;
}

/* sum r, and sum h: Newton's step for b. */
static strads_err update_level(strads_task *task)
{
    logistic_local *local = task->local;
    const logistic_rows rows = rows_of(local);
    logistic_sides sides = {0};

    catch_up(local, task->share);
    local->loops->look(&rows, local->r, &sides);
    task->partial[0] = sides.of[1].sum - sides.of[0].sum;
    for (int k = 0; k < 2; k++)
        task->partial[1] += sides.of[k].sum - sides.of[k].squares;
    return STRADS_OK;
}

static strads_err update_fetch(strads_task *task)
{
    task->partial_bytes = logistic_write_columns(task);
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

static void write_classes(logistic_state *state)
{
    size_t at = 0;

    for (uint32_t k = 0; k < state->classes.n; k++)
        at += (size_t)snprintf(state->classes_text + at,
                               sizeof(state->classes_text) - at, "%s%.17g",
                               k ? "," : "", state->classes.label[k]);
    state->options.classes = state->classes_text;
}

/* All b at their best where w is 0. A start value for b, which nobody has seen
 * yet, makes no difference. */
static strads_err set_first_intercepts(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const uint32_t last = (uint32_t)state->columns;
    const double *value = strads_store_dense(commit->store, 0);
    double change[LOGISTIC_LABELS_MAX];

    if (!state->options.intercept)
        return STRADS_OK;
    for (uint32_t k = 0; k < state->width; k++) {
        state->b[k] =
            logistic_first_intercept(&state->options, &state->classes, k);
        change[k] = state->b[k] - value[(size_t)last * state->width + k];
    }
    return strads_commit_also(commit, 1, &last, change);
}

/* P where w is 0, for problems whose turn has not come: -sum s log s of the two
 * shares. */
static void note_first_values(logistic_state *state)
{
    const logistic_classes *classes = &state->classes;

    for (uint32_t k = 0; k < state->width; k++) {
        const double s =
            classes->sum[logistic_positive(classes, k)] / classes->total;
        state->done[k].primal =
            classes->total * (state->options.intercept
                                  ? -s * log(s) - (1 - s) * log1p(-s)
                                  : log(2));
    }
}

static strads_err aggregate_labels(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const strads_err err = logistic_classes_of(
        &state->options, (const logistic_survey *)(const void *)commit->partial,
        &state->classes);

    if (err)
        return err;
    if (logistic_width(state->classes.n) != state->width)
        return strads_fail(STRADS_EINVAL,
                           "the data has %u labels; where no process keeps all "
                           "rows, more than two have to be named: --classes "
                           "LABEL,LABEL,...",
                           state->classes.n);
    state->weight = state->classes.total;
    write_classes(state);
    note_first_values(state);
    state->surveys =
        state->width > 1 && state->options.lambda == 0 && state->options.c == 0;
    state->next = LOGISTIC_TO_MOMENTS;
    return set_first_intercepts(commit);
}

/* The working set's model needs rows at the coordinator. */
static logistic_next after_level(const logistic_state *state)
{
    return state->ridge.used ? LOGISTIC_TO_SCAN : LOGISTIC_TO_ROWS;
}

/* With several problems lambda_max is known when all have been looked at. */
static void survey_next(logistic_state *state)
{
    state->target++;
    state->surveys = state->target < state->width;
    if (!state->surveys)
        state->target = 0;
}

/* Columns that never enter must not keep a start value either. */
static strads_err aggregate_moments(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const size_t width = state->width;
    bool started = false;

    logistic_set_moments(state, commit->partial);
    for (size_t j = 0; j < state->columns; j++) {
        const size_t at = logistic_at(state, (uint32_t)j);
        if (state->scale[j] == 0)
            commit->change[at] = -commit->value[at];
        else
            started = started || commit->value[at] != 0;
        commit->priority[j] = 0;
    }
    if (started && width > 1)
        return strads_fail(STRADS_EINVAL,
                           "a start is for two classes, and the data has %u",
                           state->classes.n);
    if (state->surveys)
        survey_next(state);
    else
        state->next = started && state->options.intercept ? LOGISTIC_TO_LEVEL
                                                          : after_level(state);
    return STRADS_OK;
}

/* Newton's steps for b alone, none longer than 1, until sum r is rounding. */
static strads_err aggregate_level(strads_commit *commit)
{
    enum { LEVELS_MAX = 100 };
    logistic_state *state = commit->state;
    const uint32_t last = (uint32_t)state->columns;
    const double slope = commit->partial[0], curvature = commit->partial[1];
    double step = curvature > 0 ? slope / curvature : copysign(1, slope);

    if (fabs(slope) <= 1e-9 * state->weight || ++state->levels > LEVELS_MAX) {
        state->next = after_level(state);
        return STRADS_OK;
    }
    if (fabs(step) > 1)
        step = copysign(1, step);
    state->b[state->target] += step;
    return logistic_also(commit, 1, &last, &step);
}

static strads_err aggregate_rows(strads_commit *commit)
{
    ((logistic_state *)commit->state)->next = LOGISTIC_TO_SCAN;
    return logistic_take_rows(commit);
}

/* Whether another problem's turn has come. */
static bool is_through(const logistic_state *state, double tolerance)
{
    return state->target + 1 < state->width &&
           (state->gap <= tolerance * state->primal || state->stalled);
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
    if (is_through(state, commit->tolerance))
        return begin_next(state);
    if (state->ridge.used)
        return logistic_ridge_judge(commit);
    state->next = LOGISTIC_TO_FETCH;
    return logistic_choose(commit, dual);
}

static strads_err aggregate_search(strads_commit *commit)
{
    logistic_state *state = commit->state;

    state->enough = true;
    const strads_err err = logistic_search(commit);
    state->next = state->enough ? LOGISTIC_TO_SCAN : LOGISTIC_TO_SOLVE;
    return err;
}

/* Of all problems together. One whose turn has not come has no dual value yet
 * but 0. */
static strads_err logistic_objective(void *user, strads_report *report)
{
    const logistic_state *state = user;
    double primal = 0, gap = 0;

    for (uint32_t k = 0; k < state->width; k++) {
        const bool at_hand = k == state->target && state->scans > 0;
        primal += at_hand ? state->primal : state->done[k].primal;
        gap +=
            at_hand ? state->gap : state->done[k].primal - state->done[k].dual;
        report->nonzeros += at_hand ? state->nonzeros : state->done[k].nonzeros;
    }
    report->objective = primal / state->weight;
    report->gap = primal > 0 ? gap / primal : 0;
    report->stop = state->stalled && state->target + 1 == state->width;
    return STRADS_OK;
}

/* ---- what comes next --------------------------------------------------- */

static strads_err dispatch_scalars(strads_turn *turn, uint32_t phase)
{
    const strads_block none = {.id = SCALARS_ID};

    return strads_turn_dispatch(turn, phase, 1, &none);
}

static strads_err dispatch_alive(strads_turn *turn, uint32_t phase)
{
    const logistic_state *state = turn->state;
    const strads_block alive = {.id = ALIVE_ID + turn->round,
                                .n = state->n_alive,
                                .param = state->alive};

    return strads_turn_dispatch(turn, phase, 1, &alive);
}

static strads_err dispatch_moments(strads_turn *turn)
{
    const logistic_state *state = turn->state;
    const strads_block columns = {.id = MOMENTS_ID + state->target,
                                  .n = (uint32_t)state->columns};

    return strads_turn_dispatch(turn, LOGISTIC_MOMENTS, 1, &columns);
}

/* The next members whose entries are not here yet. */
static strads_err dispatch_fetch(strads_turn *turn)
{
    logistic_state *state = turn->state;
    const logistic_set *set = &state->set;
    uint64_t entries;
    const uint32_t n = logistic_set_next(state, &entries);

    for (uint32_t k = 0; k < n; k++)
        state->candidate[k] = set->member[set->fetched + k].column;
    const strads_block block = {.id = logistic_fetch_id(++state->fetches,
                                                        entries),
                                .n = n,
                                .param = state->candidate};
    return strads_turn_dispatch(turn, LOGISTIC_FETCH, 1, &block);
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
        return dispatch_scalars(turn, LOGISTIC_ROWS);
    case LOGISTIC_TO_SCAN:
        return dispatch_alive(turn, LOGISTIC_SCAN);
    case LOGISTIC_TO_HESSIAN:
        return dispatch_alive(turn, LOGISTIC_HESSIAN);
    case LOGISTIC_TO_FETCH:
        if (state->set.fetched < state->set.n)
            return dispatch_fetch(turn);
        state->next = LOGISTIC_TO_SOLVE;
        break;
    case LOGISTIC_TO_SOLVE:
        break;
    }
    if (state->solved || turn->at_rest)
        return dispatch_scalars(turn, LOGISTIC_SEARCH);
    return strads_turn_policy(turn, LOGISTIC_SOLVE);
}

/* ---- the table --------------------------------------------------------- */

static size_t partial_labels(const strads_task *task)
{
    (void)task;
    return sizeof(logistic_survey);
}

static size_t partial_moments(const strads_task *task)
{
    return 3 * (size_t)task->block.n;
}

static size_t partial_rows(const strads_task *task)
{
    return task->shape->rows * sizeof(double);
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

static size_t partial_fetch(const strads_task *task)
{
    return logistic_fetch_bytes(task->block.n,
                                logistic_fetch_entries(task->block.id));
}

static size_t partial_hessian(const strads_task *task)
{
    return logistic_hessian_size(task->block.n);
}

static const strads_phase phases[] = {
    [LOGISTIC_LABELS] = {.name = "labels",
                         .when = STRADS_WHEN_CALLED,
                         .merge = STRADS_MERGE_OWN,
                         .result = STRADS_RESULT_WORKERS,
                         .blind = true,
                         .partial = partial_labels,
                         .update = update_labels,
                         .merge_with = logistic_survey_merge,
                         .aggregate = aggregate_labels,
                         .receive = receive_labels},
    [LOGISTIC_MOMENTS] = {.name = "moments",
                          .when = STRADS_WHEN_CALLED,
                          .blind = true,
                          .partial = partial_moments,
                          .update = update_moments,
                          .aggregate = aggregate_moments},
    [LOGISTIC_ROWS] = {.name = "rows",
                       .when = STRADS_WHEN_CALLED,
                       .merge = STRADS_MERGE_CONCAT,
                       .blind = true,
                       .partial = partial_rows,
                       .update = update_rows,
                       .aggregate = aggregate_rows},
    [LOGISTIC_LEVEL] = {.name = "level",
                        .when = STRADS_WHEN_CALLED,
                        .blind = true,
                        .partial = partial_level,
                        .update = update_level,
                        .aggregate = aggregate_level},
    [LOGISTIC_SCAN] = {.name = "scan",
                       .when = STRADS_WHEN_CALLED,
                       .reports = true,
                       .blind = true,
                       .partial = partial_scan,
                       .update = update_scan,
                       .aggregate = aggregate_scan},
    [LOGISTIC_FETCH] = {.name = "fetch",
                        .when = STRADS_WHEN_CALLED,
                        .merge = STRADS_MERGE_CONCAT,
                        .blind = true,
                        .partial = partial_fetch,
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
                          .blind = true,
                          .partial = partial_hessian,
                          .update = logistic_add_hessian,
                          .aggregate = logistic_ridge_step},
};

const strads_program strads_program_logistic = {
    .size = sizeof(strads_program),
    .name = "logistic",
    .summary = "logistic regression with an L1 or L2 penalty, or both",
    .split = STRADS_SPLIT_ROWS,
    .layout = STRADS_LAYOUT_COLS,
    .options = logistic_option_table,
    .config_size = sizeof(strads_logistic_options),
    .defaults = &logistic_defaults,
    .shape = logistic_shape,
    .begin = logistic_begin,
    .end = logistic_end,
    .open = logistic_open,
    .close = logistic_close,
    .refresh = logistic_refresh,
    .pack = logistic_pack,
    .unpack = logistic_unpack,
    .schedule = logistic_schedule,
    .phases = phases,
    .n_phases = sizeof(phases) / sizeof(phases[0]),
    .objective = logistic_objective};
