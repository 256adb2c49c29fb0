/* The memory of a partition and of the coordinator, and functions that read
 * it after a run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

enum {
    PARAM_BYTES = 92,
    USED_BYTES = 100, /* of a column with entries: messages */
    ROW_BYTES = 160,  /* of a row: margins, slopes and their copies */
    BOUND_BYTES = 16, /* for a slope that scans may leave out */
    CLASS_BYTES = 24, /* for each class after the first */
    /* For each class of a softmax: cycles and evaluations; and for each row,
     * margins, odds and slopes. */
    SOFTMAX_BYTES = 80,
    SOFTMAX_ROW_BYTES = 24,
    WHOLE_ROW_BYTES = 256 /* of a loss of all rows together */
};

/* ---- one partition ------------------------------------------------------- */

static bool reserve_local(glm_local *local)
{
    double **by_row[] = {&local->y, &local->c, &local->o,
                         &local->z, &local->r, &local->h};

    for (size_t k = 0; k < sizeof(by_row) / sizeof(by_row[0]); k++)
        if (!(*by_row[k] = calloc(local->rows + 1, sizeof(double))))
            return false;
    if (local->problem.loss->smooth &&
        !(local->smoothing.centre = calloc(local->rows + 1, sizeof(double))))
        return false;
    return linear_pending_new(local->columns, &local->pending);
}

static strads_err read_rows(glm_local *local, const strads_task *task)
{
    const strads_glm_options *o = &local->problem.options;
    const strads_range *rows = &task->share->rows;
    const linear_weights weights = {o->weights, o->row_weight};
    strads_err err =
        linear_read_weights(weights, task->share, task->shape->rows, local->c);

    if (!err)
        err = glm_read_offsets(o, rows, task->shape->rows, local->o);
    if (!err)
        memcpy(local->z, local->o, local->rows * sizeof(double));
    return err;
}

strads_err glm_open_problem(const glm_problem *problem, const strads_task *task,
                            void **out)
{
    const strads_share *share = task->share;
    strads_err err = STRADS_OK;
    glm_local *local = calloc(1, sizeof(*local));
    if (local) {
        *local = (glm_local){.problem = *problem,
                             .rows = share->rows.end - share->rows.begin,
                             .columns = share->by_col.lines,
                             .view = {.share = share}};
        local->kernels = column_kernels_choose(local->rows);
    }
    if (!local || !reserve_local(local))
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the margins of %llu rows and the "
                          "changes of %llu columns",
                          (unsigned long long)(share->rows.end -
                                               share->rows.begin),
                          (unsigned long long)share->by_col.lines);
    else if (local->rows > 0 && !share->label)
        err = strads_fail(STRADS_EINVAL,
                          "a linear model needs a label in each row, and this "
                          "data has none; give a file of labels");
    else
        err = read_rows(local, task);
    if (err) {
        glm_close(local);
        return err;
    }
    *out = local;
    return STRADS_OK;
}

void glm_close(void *opened)
{
    glm_local *local = opened;

    if (!local)
        return;
    free(local->y);
    free(local->c);
    free(local->o);
    free(local->z);
    free(local->r);
    free(local->h);
    free(local->margins);
    free(local->odds);
    free(local->shift);
    linear_moved_free(&local->moved);
    linear_pending_free(&local->pending);
    linear_pairs_free(&local->pairs);
    free(local->root);
    free(local->all);
    free(local->smoothing.centre);
    linear_classes_free(&local->classes);
    free(local);
}

/* ---- the coordinator ----------------------------------------------------- */

/* The number of rows in this process. */
static double rows_here(const strads_data *data)
{
    const strads_share *share;
    double rows = 0;

    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++)
        rows += (double)(share->rows.end - share->rows.begin);
    return rows;
}

static uint32_t param_bytes(const glm_problem *problem, const strads_data *data,
                            const strads_shape *shape)
{
    const double width = shape->width, n = (double)shape->parameters;
    double bytes = PARAM_BYTES + (width - 1) * CLASS_BYTES;

    if (glm_bounds_pay(data))
        bytes += BOUND_BYTES;
    if (problem->loss->joint && width > 1)
        bytes += width * (SOFTMAX_BYTES +
                          SOFTMAX_ROW_BYTES * rows_here(data) / fmax(n, 1));
    return (uint32_t)fmin(bytes, UINT32_MAX);
}

static uint64_t count_used_columns(const strads_data *data)
{
    uint64_t n = 0;

    for (uint64_t j = 0; j < strads_data_cols(data); j++)
        n += strads_data_col_nnz(data, j) > 0;
    return n;
}

strads_err glm_shape_problem(const glm_problem *problem,
                             const strads_data *data, strads_shape *shape)
{
    const char *cut = problem->options.cut;
    uint32_t classes = 2;
    strads_err err = STRADS_OK;

    if (cut && strcmp(cut, "columns") == 0)
        return strads_fail(STRADS_EINVAL,
                           "cut is columns, and this program works by rows: "
                           "leave cut out, or use the program with -columns "
                           "behind its name");
    if (glm_is_of_classes(problem->loss))
        err = linear_classes_count(problem->options.classes, data, &classes);
    if (err)
        return err;
    if (problem->loss->joint && classes > GLM_SOFTMAX_MAX)
        return strads_fail(STRADS_EINVAL,
                           "there are %u labels, and a softmax has at most %d; "
                           "fit each against the rest",
                           classes, GLM_SOFTMAX_MAX);
    shape->width =
        problem->loss->labels == GLM_LEVELS ? 1 : linear_classes_width(classes);
    shape->coefficients = shape->parameters;
    shape->parameters += problem->options.intercept;
    if (glm_on_whole(problem, data))
        shape->parameters = 2 * (shape->cols + 1);
    shape->param_bytes = param_bytes(problem, data, shape);
    shape->run_bytes +=
        USED_BYTES * count_used_columns(data) +
        (uint64_t)(ROW_BYTES + problem->loss->whole * WHOLE_ROW_BYTES) *
            shape->rows;
    return STRADS_OK;
}

static bool reserve_state(glm_state *state, uint64_t rows)
{
    double **numbers[] = {&state->w,    &state->norm,  &state->scale,
                          &state->mean, &state->slope, &state->urgency,
                          &state->told, &state->reach};
    const size_t n = state->columns + 4;

    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
        if (!(*numbers[k] = calloc(n, sizeof(double))))
            return false;
    state->b = calloc(state->width, sizeof(*state->b));
    state->done = calloc(state->width, sizeof(*state->done));
    state->wide = calloc(n * state->width, sizeof(*state->wide));
    state->candidate = calloc(n, sizeof(uint32_t));
    state->scan = calloc(n, sizeof(uint32_t));
    state->active = calloc(n, sizeof(uint32_t));
    state->offset = calloc(rows + 1, sizeof(double));
    if (state->problem.loss->smooth &&
        !(state->smoothing.centre = calloc(rows + 1, sizeof(double))))
        return false;
    return state->b && state->done && state->wide && state->candidate &&
           state->scan && state->active && state->offset;
}

strads_err glm_read_factors(const strads_glm_options *o, uint64_t columns,
                            double *factor)
{
    static const linear_lines lines = {.option = "--penalty-factors",
                                       .what = "the penalty factor of a column",
                                       .of = "columns"};
    const strads_range all = {0, columns};
    strads_err err = STRADS_OK;

    for (uint64_t j = 0; j < columns; j++)
        factor[j] = o->penalty_factor ? o->penalty_factor[j] : 1;
    if (!o->penalty_factor && glm_has_factors(o))
        err = linear_read_lines(&lines, o->penalty_factors, &all, columns,
                                factor);
    for (uint64_t j = 0; j < columns && !err; j++)
        if (!(factor[j] >= 0 && isfinite(factor[j])))
            err = strads_fail(STRADS_EINVAL,
                              "the penalty factor of column %llu is %g; "
                              "expected a number from 0 up",
                              (unsigned long long)j + 1, factor[j]);
    return err;
}

static strads_err read_factors(glm_state *state)
{
    if (!glm_has_factors(&state->problem.options))
        return STRADS_OK;
    state->factor = calloc(state->columns + 1, sizeof(double));
    return state->factor
               ? glm_read_factors(&state->problem.options, state->columns,
                                  state->factor)
               : strads_fail(STRADS_ENOMEM, "no memory for penalty factors");
}

strads_err glm_begin_fit(const glm_problem *problem, const strads_data *data,
                         const strads_shape *shape, void **out)
{
    strads_err err = STRADS_OK;
    glm_state *state = calloc(1, sizeof(*state));
    if (state) {
        *state = (glm_state){.problem = *problem,
                             .data = data,
                             .columns = shape->cols,
                             .width = shape->width,
                             .kernels = column_kernels_choose(shape->rows)};
        state->lambda = problem->options.lambda;
    }
    if (!state || !reserve_state(state, shape->rows))
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the slopes of %llu columns",
                          (unsigned long long)shape->cols);
    else if (!(err = read_factors(state)) && !(err = glm_groups_read(state)))
        err = linear_set_new(shape->cols, shape->rows, &state->set);
    if (!err && glm_on_whole(problem, data))
        err = linear_ridge_new(shape->rows, shape->cols, shape->width,
                               problem->options.intercept, &state->ridge);
    if (err) {
        glm_end(state);
        return err;
    }
    state->joint.used = problem->loss->joint && state->width > 1;
    state->joint.watch = (linear_watch){.least = INFINITY};
    if ((state->joint.used && (err = glm_cycles_new(state))) ||
        (err = glm_bounds_new(state, shape->rows))) {
        glm_end(state);
        return err;
    }
    state->set.is = glm_model(state);
    state->spare_bytes = shape->spare_bytes;
    glm_begin_problem(state);
    if (problem->options.intercept)
        state->n_full = linear_origins_list(data, state->candidate);
    state->next = state->n_full > 0 ? GLM_TO_ORIGINS : GLM_TO_LABELS;
    *out = state;
    return STRADS_OK;
}

void glm_begin_problem(glm_state *state)
{
    linear_set_clear(&state->set);
    free(state->held);
    state->held = NULL;
    state->alone = !state->problem.penalty->off && !state->joint.used;
    state->began = state->by_columns = state->bounds.known = false;
    state->predicted = -1;
    state->travel = 0;
    state->travels = false;
    glm_begin_lambda(state, state->problem.options.lambda);
}

strads_err glm_also(strads_commit *commit, uint32_t n, const uint32_t *param,
                    const double *change)
{
    const glm_state *state = commit->state;

    if (state->width == 1)
        return strads_commit_also(commit, n, param, change);
    memset(state->wide, 0, (size_t)n * state->width * sizeof(*state->wide));
    for (uint32_t k = 0; k < n; k++)
        state->wide[(size_t)k * state->width + state->target] = change[k];
    return strads_commit_also(commit, n, param, state->wide);
}

void glm_end(void *begun)
{
    glm_state *state = begun;

    if (!state)
        return;
    linear_set_free(&state->set);
    linear_ridge_free(&state->ridge);
    glm_cycles_free(&state->cycles);
    free(state->classes);
    free(state->b);
    free(state->done);
    free(state->wide);
    free(state->offset);
    free(state->margins);
    free(state->smoothing.centre);
    free(state->stratum);
    free(state->baseline.stratum);
    free(state->baseline.time);
    free(state->baseline.hazard);
    free(state->thresholds);
    glm_groups_free(&state->groups);
    glm_bounds_free(&state->bounds);
    glm_path_free(state->path);
    free(state->w);
    free(state->norm);
    free(state->scale);
    free(state->factor);
    free(state->mean);
    free(state->reach);
    free(state->origin);
    free(state->held);
    free(state->slope);
    free(state->urgency);
    free(state->told);
    free(state->candidate);
    free(state->scan);
    free(state->active);
    free(state);
}

/* ---- results ------------------------------------------------------------- */

const strads_glm_options *strads_glm_resolved(const void *state)
{
    return &((const glm_state *)state)->problem.options;
}

const double *strads_glm_intercepts(const void *state)
{
    return ((const glm_state *)state)->b;
}

const double *strads_glm_thresholds(const void *state, uint32_t *n)
{
    const glm_state *own = state;

    *n = own->thresholds ? own->levels - 1 : 0;
    return own->thresholds;
}

double strads_glm_lambda_max(const void *state)
{
    return ((const glm_state *)state)->lambda_max;
}

double strads_glm_mean(const char *loss, double margin)
{
    const glm_loss *found = glm_loss_find(loss);

    return found ? found->mean(margin) : NAN;
}

strads_err strads_glm_loss(const strads_glm_options *options, uint64_t rows,
                           const double *y, const double *z, double *out)
{
    glm_problem problem;
    uint32_t *stratum = NULL;
    double *c = NULL, *rank = NULL;
    strads_err err = glm_options_resolve(options, &problem);

    if (!err && glm_is_of_classes(problem.loss))
        err = strads_fail(STRADS_EINVAL,
                          "the loss %s is of classes; expected one of numbers",
                          problem.options.loss);
    if (!err && problem.loss->whole)
        err = glm_read_strata(&problem.options, rows, &stratum);
    c = calloc(rows + 1, sizeof(*c));
    rank = calloc(rows + 1, sizeof(*rank));
    if (!err && (!c || !rank))
        err = strads_fail(STRADS_ENOMEM, "no memory for the loss of %llu rows",
                          (unsigned long long)rows);
    for (uint64_t i = 0; i < rows && !err; i++) {
        c[i] = options->row_weight ? options->row_weight[i] : 1;
        rank[i] = y[i];
    }
    if (!err && problem.loss->whole)
        err = glm_rank_times(rows, stratum, rank);
    if (!err) {
        const glm_rows all = {rows, rank, c, z};
        *out = problem.loss->evaluate(&all, problem.p, NULL, NULL);
    }
    free(stratum);
    free(c);
    free(rank);
    return err;
}

bool strads_glm_separable(const void *state)
{
    return ((const glm_state *)state)->separable;
}

bool strads_glm_classifies(const char *loss)
{
    const glm_loss *found = glm_loss_find(loss);

    return found && glm_is_of_classes(found);
}
