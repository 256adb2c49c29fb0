/* The memory of the logistic regression: a partition's state, the
 * coordinator's, and what others may ask of it afterwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "logistic_parts.h"

/* The working set is one block, if the policy likes. */
enum {
    BLOCK_MAX = 1 << 20,
    PARAM_BYTES = 108, /* of wide data 117 to 190 were seen */
    CLASS_BYTES = 24   /* of each class after the first */
};

/* ---- one partition ----------------------------------------------------- */

static strads_err check_labels(const strads_share *share, uint64_t rows)
{
    if (rows > 0 && !share->label)
        return strads_fail(STRADS_EINVAL,
                           "a logistic regression needs a label in each row, "
                           "and this data has none; give a file of labels");
    return STRADS_OK;
}

static bool reserve_local(logistic_local *local)
{
    const uint64_t n = local->rows, p = local->columns;

    local->y = calloc(n + 1, sizeof(double));
    local->c = calloc(n + 1, sizeof(double));
    local->z = calloc(n + 1, sizeof(double));
    local->r = calloc(n + 1, sizeof(double));
    local->curve = calloc(n + 1, sizeof(double));
    return local->curve && local->y && local->c && local->z && local->r &&
           linear_pending_new(p, &local->pending);
}

strads_err logistic_open(const strads_task *task, void **out)
{
    const strads_logistic_options *options = task->config;
    const strads_share *share = task->share;
    const uint64_t rows = share->rows.end - share->rows.begin;
    logistic_local *local;
    strads_err err = check_labels(share, rows);

    if (err)
        return err;
    local = calloc(1, sizeof(*local));
    if (!local)
        goto no_memory;
    local->rows = rows;
    local->columns = share->by_col.lines;
    local->kernels = column_kernels_choose(rows);
    local->loops = logistic_loops_choose();
    if (!reserve_local(local))
        goto no_memory;
    err = linear_read_weights((linear_weights){options->weights,
                                               options->row_weight},
                              share, task->shape->rows, local->c);
    if (err)
        goto fail;
    *out = local;
    return STRADS_OK;
no_memory:
    err = strads_fail(STRADS_ENOMEM,
                      "no memory for the margins of %llu rows and the gradient "
                      "of %llu columns",
                      (unsigned long long)rows,
                      (unsigned long long)share->by_col.lines);
fail:
    logistic_close(local);
    return err;
}

void logistic_close(void *opened)
{
    logistic_local *local = opened;

    if (!local)
        return;
    free(local->y);
    free(local->c);
    free(local->z);
    free(local->r);
    free(local->all);
    free(local->offset);
    free(local->curve);
    linear_pending_free(&local->pending);
    linear_classes_free(&local->classes);
    free(local);
}

/* Who is positive in a problem. */
static void take_signs(logistic_local *local, const strads_share *share,
                       uint32_t target)
{
    const linear_classes *classes = &local->classes;
    const double positive =
        classes->label[linear_classes_positive(classes, target)];

    for (uint64_t i = 0; i < local->rows; i++)
        local->y[i] = share->label[i] == positive ? 1 : -1;
}

void logistic_take_classes(logistic_local *local, const strads_share *share,
                           linear_classes *classes)
{
    linear_classes_free(&local->classes);
    local->classes = *classes;
    *classes = (linear_classes){0};
    classes = &local->classes;
    for (uint64_t i = 0; i < local->rows; i++)
        local->c[i] *= linear_classes_weight(classes, share->label[i]);
    take_signs(local, share, 0);
}

void logistic_take_target(logistic_local *local, const strads_task *task,
                          uint32_t target, double b)
{
    take_signs(local, task->share, target);
    linear_pending_forget(&local->pending);
    local->target = target;
    for (uint64_t i = 0; i < local->rows; i++)
        local->z[i] = b;
    for (uint32_t j = 0; j < local->columns; j++) {
        const double w = task->value[(size_t)j * task->width + target];
        if (w != 0)
            linear_pending_move(&local->pending, j, w);
    }
}

/* ---- the coordinator --------------------------------------------------- */

bool logistic_is_ridge(const strads_logistic_options *options,
                       const strads_data *data, uint32_t width)
{
    return options->l1_ratio == 0 && linear_ridge_suits(data) &&
           !logistic_is_softmax(options, width);
}

strads_err logistic_shape(const void *config, const strads_data *data,
                          strads_shape *shape)
{
    strads_logistic_options resolved;
    uint32_t classes;
    strads_err err = logistic_options_resolve(config, &resolved);

    if (err)
        return err;
    shape->block_max = BLOCK_MAX;
    shape->coefficients = shape->parameters;
    shape->parameters += resolved.intercept;
    err = linear_classes_count(resolved.classes, data, &classes);
    shape->width = linear_classes_width(classes);
    if (logistic_is_ridge(&resolved, data, shape->width))
        shape->parameters = 2 * (shape->cols + 1);
    else
        shape->param_bytes = PARAM_BYTES;
    shape->param_bytes += (shape->width - 1) * CLASS_BYTES;
    return err;
}

/* All arrays of a state of p columns; false when memory runs out. */
static bool reserve_state(logistic_state *state, uint64_t p)
{
    double **numbers[] = {&state->mean,   &state->norm,  &state->scale,
                          &state->steep,  &state->slope, &state->told,
                          &state->urgency};
    uint32_t **columns[] = {&state->alive, &state->candidate};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (!(*numbers[i] = calloc(p + 2 + LOGISTIC_SIDES, sizeof(double))))
            return false;
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        if (!(*columns[i] = calloc(p + 2, sizeof(uint32_t))))
            return false;
    state->wide = calloc((p + 2) * state->width, sizeof(double));
    state->b = calloc(2 * (size_t)state->width, sizeof(double));
    state->trial = state->b ? state->b + state->width : NULL;
    state->done = calloc(state->width, sizeof(*state->done));
    return state->wide && state->b && state->done;
}

strads_err logistic_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **out)
{
    logistic_state *state = calloc(1, sizeof(*state));
    strads_err err;

    if (state)
        state->width = shape->width;
    if (!state || !reserve_state(state, shape->cols)) {
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the working set of %llu columns",
                          (unsigned long long)shape->cols);
        goto fail;
    }
    err = logistic_options_resolve(config, &state->options);
    state->softmax = logistic_is_softmax(&state->options, shape->width);
    state->judged.watch.least = INFINITY;
    if (!err)
        err = logistic_is_ridge(&state->options, data, shape->width)
                  ? linear_ridge_new(shape, state->options.intercept,
                                     &state->ridge)
                  : linear_set_new(shape->cols, shape->rows, &state->set);
    if (err)
        goto fail;
    state->data = data;
    state->kernels = column_kernels_choose(shape->rows);
    state->loops = logistic_loops_choose();
    state->set.is = (linear_model){.freeze = logistic_freeze,
                                   .program = state,
                                   .kernels = state->kernels,
                                   .intercept = state->options.intercept};
    state->columns = shape->cols;
    if (state->softmax && (err = logistic_laps_new(state)))
        goto fail;
    logistic_begin_problem(state);
    *out = state;
    return STRADS_OK;
fail:
    logistic_end(state);
    return err;
}

void logistic_begin_problem(logistic_state *state)
{
    logistic_set_clear(state);
    linear_ridge_clear(&state->ridge);
    state->scans = 0;
    logistic_begin_lambda(state, state->lambda);
}

void logistic_begin_lambda(logistic_state *state, double lambda)
{
    const double l1_ratio = state->options.l1_ratio;

    state->lambda = lambda;
    state->l1 = state->weight * lambda * l1_ratio;
    state->l2 = state->weight * lambda * (1 - l1_ratio);
    state->dual = 0;
    state->watch = (linear_watch){.least = INFINITY};
    state->shrink = 1;
    state->set.settled =
        state->softmax ? LOGISTIC_SETTLED_TURN : LOGISTIC_SETTLED;
}

strads_err logistic_also(strads_commit *commit, uint32_t n,
                         const uint32_t *param, const double *change)
{
    const logistic_state *state = commit->state;

    return linear_also(commit, state->width, state->target, n, param, change,
                       state->wide);
}

void logistic_end(void *begun)
{
    logistic_state *state = begun;

    if (!state)
        return;
    linear_set_free(&state->set);
    linear_ridge_free(&state->ridge);
    logistic_laps_free(&state->laps);
    linear_classes_free(&state->classes);
    free(state->classes_text);
    free(state->b);
    free(state->done);
    free(state->mean);
    free(state->norm);
    free(state->scale);
    free(state->steep);
    free(state->slope);
    free(state->urgency);
    free(state->told);
    free(state->wide);
    free(state->alive);
    free(state->candidate);
    free(state);
}

/* ---- results ----------------------------------------------------------- */

const strads_logistic_options *strads_logistic_resolved(const void *state)
{
    return &((const logistic_state *)state)->options;
}

const double *strads_logistic_intercepts(const void *state)
{
    return ((const logistic_state *)state)->b;
}

double strads_logistic_lambda_max(const void *state)
{
    return ((const logistic_state *)state)->lambda_max;
}
