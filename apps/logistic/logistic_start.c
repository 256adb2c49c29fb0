/* What is known before the first scan: classes and their intercepts, moments of
 * the columns, and of each row what the coordinator needs. With several classes
 * each problem begins with its moments. */
#include <math.h>
#include <string.h>

#include "logistic_parts.h"

/* ---- workers ----------------------------------------------------------- */

strads_err logistic_update_labels(strads_task *task)
{
    const logistic_local *local = task->local;
    linear_survey *survey = (linear_survey *)(void *)task->partial;

    linear_survey_begin(survey, task->width);
    for (uint64_t i = 0; i < local->rows; i++)
        linear_survey_add(survey, task->share->label[i], local->c[i]);
    return STRADS_OK;
}

/* Whoever has the survey comes to the same classes. */
strads_err logistic_receive_labels(strads_task *task)
{
    const linear_survey *survey =
        (const linear_survey *)(const void *)task->partial;
    linear_classes classes;
    const strads_err err =
        logistic_classes_of(task->config, task->share->label_names, survey,
                            &classes);

    if (err)
        return err;
    logistic_take_classes(task->local, task->share, &classes);
    return STRADS_OK;
}

/* u of the negative and of the positive rows where w = 0. */
static void first_pulls(const strads_task *task, uint32_t target,
                        double pull[2])
{
    const logistic_local *local = task->local;
    const linear_classes *classes = &local->classes;
    const strads_logistic_options *options = task->config;
    const double b = logistic_first_intercept(options, classes, target);

    pull[0] = logistic_loss_pull(-b);
    pull[1] = logistic_loss_pull(b);
    if (!options->intercept && logistic_is_softmax(options, task->width)) {
        pull[0] = 1. / classes->n;
        pull[1] = 1 - pull[0];
    }
}

/* The margins where a problem begins, and who is positive. Of a softmax the
 * first turn's. */
static strads_err begin_target(const strads_task *task, uint32_t target)
{
    logistic_local *local = task->local;
    strads_err err = STRADS_OK;

    if (task->width == 1)
        return STRADS_OK;
    logistic_take_target(local, task, target,
                         logistic_first_intercept(task->config, &local->classes,
                                                  target));
    if (logistic_is_softmax(task->config, task->width)) {
        err = logistic_softmax_start(task);
        for (uint64_t i = 0; !err && i < local->rows; i++)
            local->y[i] =
                task->share->label[i] == local->classes.label[target] ? 1 : -1;
    }
    return err;
}

size_t logistic_partial_moments(const strads_task *task)
{
    const strads_logistic_options *options = task->config;
    const size_t p = (size_t)task->shape->cols;

    return (options->intercept ? 3 : 2) * p + LOGISTIC_SIDES;
}

/* sum c x^2, which is x'x where no row counts otherwise than once. */
static double squares_of(const logistic_local *local, const data_column *x,
                         bool plain)
{
    return plain && x->f64 ? local->kernels->dot_dense(x->n, x->f64, x->f64)
                           : column_squares(x, local->c);
}

static bool is_plain(const logistic_local *local)
{
    for (uint64_t i = 0; i < local->rows; i++)
        if (local->c[i] != 1)
            return false;
    return true;
}

static void add_up_columns(strads_task *task)
{
    const logistic_local *local = task->local;
    const strads_logistic_options *options = task->config;
    const column_kernels *kernels = local->kernels;
    const uint64_t p = local->columns;
    const bool plain = is_plain(local);
    double *slope = task->partial, *squares = slope + p + LOGISTIC_SIDES;
    double *sum = squares + p;

    for (uint64_t j = 0; j < p; j++) {
        const data_column x = data_column_of(task->share, j);
        if (options->intercept)
            sum[j] = kernels->dot(&x, local->c);
        squares[j] = squares_of(local, &x, plain);
        slope[j] = kernels->dot(&x, local->r);
    }
}

/* X'r where w = 0 and b is the best one. Where there is one problem, and it
 * starts from there, that is a scan; what is missing are sums over losses. */
strads_err logistic_update_moments(strads_task *task)
{
    logistic_local *local = task->local;
    const uint32_t target = (uint32_t)(task->block.id - LOGISTIC_MOMENTS_ID);
    double *sides = task->partial + local->columns;
    double pull[2];
    const strads_err err = begin_target(task, target);

    if (err)
        return err;
    if (task->width == 1) {
        const logistic_rows rows = logistic_rows_of(local);
        logistic_catch_up(local, task->share);
        local->loops->look(&rows, local->r, (logistic_sides *)(void *)sides);
    }
    first_pulls(task, target, pull);
    for (uint64_t i = 0; i < local->rows; i++)
        local->r[i] = local->c[i] * (local->y[i] > 0 ? pull[1] : -pull[0]);
    add_up_columns(task);
    return STRADS_OK;
}

strads_err logistic_update_rows(strads_task *task)
{
    const logistic_local *local = task->local;

    if (logistic_is_softmax(task->config, task->width)) {
        logistic_softmax_turn(task);
        return STRADS_OK;
    }
    for (uint64_t i = 0; i < local->rows; i++)
        task->partial[i] = local->y[i] * local->c[i];
    task->partial_bytes = local->rows * sizeof(double);
    return STRADS_OK;
}

/* sum r, and sum h: Newton's step for b. */
strads_err logistic_update_level(strads_task *task)
{
    logistic_local *local = task->local;
    const logistic_rows rows = logistic_rows_of(local);
    logistic_sides sides = {0};

    logistic_catch_up(local, task->share);
    local->loops->look(&rows, local->r, &sides);
    task->partial[0] = sides.of[1].sum - sides.of[0].sum;
    for (int k = 0; k < 2; k++)
        task->partial[1] += sides.of[k].sum - sides.of[k].squares;
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

/* All b at their best where w is 0. Where each problem has one b, the level
 * phase finds the one that suits a start's w, whatever b it came with. */
static strads_err set_first_intercepts(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const uint32_t last = (uint32_t)state->columns;
    const double *value = strads_store_dense(commit->store, 0);
    double *change = state->trial;

    if (!state->options.intercept)
        return STRADS_OK;
    for (uint32_t k = 0; k < state->width; k++) {
        state->b[k] =
            state->softmax
                ? logistic_softmax_intercept(state, k)
                : logistic_first_intercept(&state->options, &state->classes, k);
        change[k] = state->b[k] - value[(size_t)last * state->width + k];
    }
    return strads_commit_also(commit, 1, &last, change);
}

/* P where w is 0, for problems whose turn has not come. */
static void note_first_values(logistic_state *state)
{
    const linear_classes *classes = &state->classes;

    for (uint32_t k = 0; k < state->width; k++) {
        const double positive =
            classes->sum[linear_classes_positive(classes, k)];
        const double b = logistic_first_intercept(&state->options, classes, k);
        state->done[k].primal =
            positive * logistic_loss_value(b) +
            (classes->total - positive) * logistic_loss_value(-b);
    }
}

strads_err logistic_aggregate_labels(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const strads_names *names = strads_data_label_names(state->data);

    linear_classes_free(&state->classes);
    const strads_err err = logistic_classes_of(
        &state->options, names,
        (const linear_survey *)(const void *)commit->partial, &state->classes);

    if (err)
        return err;
    if (linear_classes_width(state->classes.n) != state->width)
        return linear_classes_unnamed(&state->classes);
    state->weight = state->classes.total;
    const strads_err no_memory =
        linear_classes_write(&state->classes, names, &state->classes_text);
    if (no_memory)
        return no_memory;
    state->options.classes = state->classes_text;
    note_first_values(state);
    state->surveys =
        state->width > 1 && state->options.lambda == 0 && state->options.c == 0;
    state->next = LOGISTIC_TO_MOMENTS;
    return set_first_intercepts(commit);
}

/* The working set's model needs rows at the coordinator. */
static logistic_next after_level(const logistic_state *state)
{
    if (state->softmax)
        return LOGISTIC_TO_JUDGE;
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

/* What the moments know is what a scan would. */
static strads_err take_first_scan(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const double *slope = commit->partial;
    const strads_block alive = {.n = state->n_alive, .param = state->alive};
    double *merged = state->told;

    for (uint32_t k = 0; k < state->n_alive; k++)
        merged[k] = slope[state->alive[k]];
    memcpy(merged + state->n_alive, slope + state->columns,
           LOGISTIC_SIDES * sizeof(double));
    state->scans++;
    logistic_certify(state, &alive, merged, commit->value);
    return logistic_choose(commit, 0);
}

/* Columns that never enter must not keep a start value either. */
strads_err logistic_aggregate_moments(strads_commit *commit)
{
    logistic_state *state = commit->state;
    const size_t width = state->width;
    bool started = false;

    for (size_t j = 0; j < state->columns; j++)
        started =
            started || commit->value[logistic_at(state, (uint32_t)j)] != 0;
    logistic_set_moments(state, commit->partial);
    for (size_t j = 0; j < state->columns; j++) {
        const size_t at = logistic_at(state, (uint32_t)j);
        if (state->scale[j] == 0)
            commit->change[at] = -commit->value[at];
    }
    if (state->surveys)
        survey_next(state);
    else
        state->next = started && state->options.intercept && !state->softmax
                          ? LOGISTIC_TO_LEVEL
                          : after_level(state);
    return started || width > 1 || state->ridge.used ? STRADS_OK
                                                     : take_first_scan(commit);
}

/* Newton's steps for b alone, none longer than 1, until sum r is rounding. */
strads_err logistic_aggregate_level(strads_commit *commit)
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

strads_err logistic_aggregate_rows(strads_commit *commit)
{
    logistic_state *state = commit->state;

    state->next = state->scans > 0 ? LOGISTIC_TO_FETCH : LOGISTIC_TO_SCAN;
    return state->softmax ? logistic_softmax_rows(commit)
                          : logistic_take_rows(commit);
}
