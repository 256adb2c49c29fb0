/* The start of a run: the memory of partitions and of the coordinator,
 * labels that become classes and targets, columns that are shifted and scaled,
 * and, with several classes, one problem after the other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dual.h"

/* ---- one partition ----------------------------------------------------- */

static strads_err check_labels(const strads_share *share, uint64_t rows)
{
    if (rows > 0 && !share->label)
        return strads_fail(STRADS_EINVAL,
                           "the SVM needs a label in each row, and this data "
                           "has none; give a file of labels");
    return STRADS_OK;
}

static double square_of(const dual_local *local, const data_column *x)
{
    double sum = 0;

    if (x->f64)
        return local->kernels->dot_dense(x->n, x->f64, x->f64);
    for (uint64_t k = 0; k < x->n; k++)
        sum += (double)x->f32[k] * (double)x->f32[k];
    return sum;
}

/* `alone`: there is one partition. */
static strads_err reserve(dual_local *local, bool alone)
{
    const uint64_t n = local->rows, p = local->columns;

    local->sample = calloc(n + 1, sizeof(*local->sample));
    local->awake = malloc((local->groups + 1) * sizeof(uint32_t));
    local->resting = malloc((local->groups + 1) * sizeof(double));
    local->weight = calloc(n + 1, sizeof(double));
    local->base = calloc(p + 1, sizeof(double));
    local->w = calloc(p + 1, sizeof(double));
    local->joint = alone ? local->w : calloc(p + 1, sizeof(double));
    local->anchor = calloc(n + 1, sizeof(double));
    if (local->sample && local->awake && local->resting && local->weight &&
        local->base && local->w && local->joint && local->anchor)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the state of %llu rows and %llu columns",
                       (unsigned long long)n, (unsigned long long)p);
}

/* The part of the columns that this partition adds up for its pool: an even
 * share. */
static strads_range span_of(const strads_task *task)
{
    const uint64_t n = task->shape->cols + 1;
    const uint64_t k = task->share->partition - task->first_peer;

    return (strads_range){n * k / task->n_peers, n * (k + 1) / task->n_peers};
}

static void take_squares(dual_local *local, const strads_share *share)
{
    const double bias = local->bias;

    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        local->sample[i].square = square_of(local, &x) + bias * bias;
    }
}

static void set_bias(dual_local *local, double bias)
{
    for (uint64_t i = 0; i < local->rows; i++)
        local->sample[i].square += bias * bias - local->bias * local->bias;
    local->bias = bias;
}

strads_err dual_open(const strads_task *task, const dual_problem *problem,
                     void **out)
{
    const strads_share *share = task->share;
    dual_local *local = NULL;
    strads_err err = check_labels(share, share->by_row.lines);

    if (err)
        return err;
    local = calloc(1, sizeof(*local));
    if (!local)
        return strads_fail(STRADS_ENOMEM, "no memory for a partition");
    local->problem = *problem;
    local->loss = problem->loss;
    local->width = task->width;
    local->rows = share->by_row.lines;
    local->groups = local->rows / dual_group_rows(task->shape->rows) + 2;
    local->columns = task->shape->cols;
    local->kernels = column_kernels_choose(local->columns);
    local->move = dual_entropy_choose();
    local->bias =
        problem->options.bias; /* preliminary: the survey may change it */
    local->first_group =
        dual_group_at(task->shape->rows, share->rows.begin, share->partition);
    local->span = span_of(task);
    err = reserve(local, task->shape->partitions == 1);
    if (!err)
        err = linear_read_weights(problem->weights, share, task->shape->rows,
                                  local->weight);
    if (err) {
        dual_close(local);
        return err;
    }
    take_squares(local, share);
    *out = local;
    return STRADS_OK;
}

void dual_close(void *opened)
{
    dual_local *local = opened;

    if (!local)
        return;
    linear_classes_free(&local->classes);
    free(local->value);
    free(local->origin);
    free(local->sample);
    free(local->awake);
    free(local->resting);
    free(local->weight);
    free(local->base);
    if (local->joint != local->w)
        free(local->joint);
    free(local->w);
    free(local->anchor);
    dual_curve_free(local->curve);
    free(local->order);
    dual_face_free(local->face);
    free(local);
}

/* ---- the coordinator's memory ------------------------------------------ */

static void begin_problem(dual_state *state);
static strads_err list_full(dual_state *state);

enum { PARAM_BYTES = 40 }; /* 43 were measured on wide data */
enum { CLASS_BYTES = 40 }; /* for each class after the first */

/* Estimates the memory beside the data and param_bytes. Columns with entries
 * have several copies. A smooth loss adds vectors for Newton steps, another
 * loss adds the rows of a face. */
static uint64_t dual_estimate_memory(const dual_problem *problem,
                                     const strads_data *data,
                                     const strads_shape *shape)
{
    enum {
        COLUMN_BYTES = 72,
        CURVED_BYTES = 112,
        FACE_BYTES = 40,
        FACE_ENTRY_BYTES = 8,
        ROW_BYTES = 96
    };
    const dual_loss *loss = problem->loss;
    uint64_t column_bytes = COLUMN_BYTES, used = 0, entries = 0;

    for (uint64_t j = 0; j < shape->cols; j++)
        used += strads_data_col_nnz(data, j) > 0;
    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        entries += share ? share->by_row.nnz : 0;
    }
    column_bytes += loss->smooth ? CURVED_BYTES : FACE_BYTES;
    return used * column_bytes + ROW_BYTES * shape->rows +
           (loss->smooth ? 0 : FACE_ENTRY_BYTES * entries);
}

strads_err dual_shape(const dual_problem *problem, const strads_data *data,
                      strads_shape *shape)
{
    const uint64_t rows = strads_data_rows(data);
    const uint64_t cols = strads_data_cols(data);
    uint32_t classes = 2;
    strads_err err = STRADS_OK;

    if (problem->loss->classifies)
        err = linear_classes_count(problem->options.classes, data, &classes);
    shape->width = linear_classes_width(classes);
    shape->coefficients = cols;
    shape->totals = DUAL_TOTALS;
    shape->parameters = dual_first_sample(shape) + rows;
    shape->block_max = UINT32_MAX;
    shape->param_bytes = PARAM_BYTES + (shape->width - 1) * CLASS_BYTES;
    shape->run_bytes += dual_estimate_memory(problem, data, shape);
    return err;
}

/* Groups; the rows' own values follow from them. */
strads_range dual_owned(const void *config, const strads_data *data,
                        const strads_shape *shape, uint32_t partition)
{
    const strads_range groups =
        dual_groups_of(shape->rows, strads_data_part(data, partition),
                       partition);
    const uint64_t first = dual_first_group(shape);

    (void)config;
    return (strads_range){first + groups.begin, first + groups.end};
}

/* The entries of a group. Coefficients and rows have no weight. */
double dual_weight(const void *config, const strads_data *data, uint32_t j)
{
    const uint64_t first = strads_data_cols(data) + 1;
    const uint64_t rows = strads_data_rows(data), size = dual_group_rows(rows);
    double entries = 0;

    (void)config;
    for (uint32_t p = 0; j >= first; p++) {
        const strads_range own = strads_data_part(data, p);
        const strads_range groups = dual_groups_of(rows, own, p);
        if (j - first >= groups.end && own.end < rows)
            continue;
        const uint64_t begin = own.begin + (j - first - groups.begin) * size;
        for (uint64_t i = begin; i < begin + size && i < own.end; i++)
            entries += strads_data_row_nnz(data, i);
        return entries;
    }
    return 1;
}

double dual_group_entries(const dual_state *state, uint64_t i)
{
    return dual_weight(NULL, state->data, (uint32_t)(state->columns + 1 + i));
}

static void take_blocks(dual_state *state, const strads_data *data,
                        const strads_shape *shape)
{
    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_range rows = strads_data_part(data, p);
        const strads_range groups = dual_groups_of(shape->rows, rows, p);
        const uint32_t number = strads_pool_of(shape, p);
        dual_pool *pool = &state->pool[number];
        if (p == strads_pool_first(shape, number))
            *pool = (dual_pool){.begin = groups.begin};
        pool->end = groups.end;
        state->held[p] = groups;
        state->own[p] =
            (strads_block){.id = p,
                           .n = (uint32_t)(rows.end - rows.begin),
                           .first = (uint32_t)(dual_first_sample(shape) +
                                               rows.begin),
                           .owner = p};
    }
}

/* Whether the coordinator's matrix, a partition's part of it and the messages
 * fit in memory. */
static bool matrix_fits(const strads_shape *shape)
{
    enum { COPIES = 4 };
    const uint64_t n = shape->cols + 1;

    return shape->cols < DUAL_NEWTON_COLUMNS &&
           COPIES * n * n * sizeof(double) <= shape->spare_bytes;
}

static bool reserve_state(dual_state *state, const strads_shape *shape)
{
    const uint64_t groups =
        dual_group_at(shape->rows, shape->rows, shape->partitions);

    state->groups = groups;
    state->done = calloc(shape->width, sizeof(*state->done));
    state->intercept = calloc(shape->width, sizeof(double));
    state->pool = calloc(shape->pools + 1, sizeof(*state->pool));
    state->own = calloc(shape->partitions + 1, sizeof(*state->own));
    state->held = calloc(shape->partitions + 1, sizeof(*state->held));
    state->urgency = calloc(groups + 1, sizeof(double));
    state->entries = calloc(groups + 1, sizeof(double));
    state->waits = calloc(groups + 1, sizeof(uint8_t));
    state->awake = calloc(groups + 1, sizeof(uint32_t));
    state->told = calloc(groups + 1, sizeof(uint32_t));
    state->how = calloc(groups + 1, sizeof(double));
    return state->done && state->intercept && state->pool && state->own &&
           state->held && state->urgency && state->entries && state->waits &&
           state->awake && state->told && state->how;
}

strads_err dual_begin(const dual_problem *problem, const strads_data *data,
                      const strads_shape *shape, void **out)
{
    dual_state *state = calloc(1, sizeof(*state));

    if (!state || !reserve_state(state, shape)) {
        dual_end(state);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the state of %llu rows",
                           (unsigned long long)shape->rows);
    }
    state->problem = *problem;
    take_blocks(state, data, shape);
    state->data = data;
    state->width = shape->width;
    state->partitions = shape->partitions;
    state->safety = shape->partitions;
    state->pools = shape->pools;
    state->columns = shape->cols;
    state->rows = shape->rows;
    state->by_matrix = matrix_fits(shape);
    begin_problem(state);
    const strads_err err = list_full(state);
    if (err) {
        dual_end(state);
        return err;
    }
    *out = state;
    return STRADS_OK;
}

void dual_end(void *begun)
{
    dual_state *state = begun;

    if (!state)
        return;
    linear_classes_free(&state->classes);
    free(state->classes_text);
    free(state->done);
    free(state->intercept);
    free(state->scale);
    free(state->unscaled);
    free(state->origin);
    free(state->full);
    free(state->pool);
    free(state->held);
    free(state->urgency);
    free(state->entries);
    free(state->waits);
    free(state->awake);
    free(state->told);
    free(state->how);
    free(state->own);
    free(state->matrix);
    free(state->direction);
    free(state->conjugate.line);
    free(state->heading.v);
    free(state);
}

/* ---- origins ----------------------------------------------------------- */

/* The entry of column j in a row. A row of few columns also stores entries
 * at the positions of full ones. */
static double value_at(const data_column *row, uint32_t j)
{
    uint64_t low = 0, high = row->n;

    while (row->index && low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (row->index[middle] < j)
            low = middle + 1;
        else
            high = middle;
    }
    return dual_entry(row, row->index ? low : j);
}

strads_err dual_update_origins(strads_task *task)
{
    const dual_local *local = task->local;
    const uint64_t n = linear_origins_rows(local->rows);

    for (uint64_t s = 0; s < n; s++) {
        const data_column row =
            dual_row_of(task->share, linear_origins_row(local->rows, s));
        for (uint32_t k = 0; k < task->block.n; k++)
            linear_origins_add(task, k, s,
                               value_at(&row,
                                        strads_block_param(&task->block, k)));
    }
    return STRADS_OK;
}

strads_err dual_receive_origins(strads_task *task)
{
    dual_local *local = task->local;

    return linear_origins_take(&task->block, task->partial, local->columns,
                               &local->origin);
}

strads_err dual_aggregate_origins(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->originated = true;
    return linear_origins_take(&commit->block, commit->partial, state->columns,
                               &state->origin);
}

/* Lists full columns if means are subtracted from columns, or from their
 * squares. */
static strads_err list_full(dual_state *state)
{
    const strads_svm_options *o = &state->problem.options;

    if (!o->intercept && !(o->standardize && o->bias > 0))
        return STRADS_OK;
    state->full = malloc((state->columns + 1) * sizeof(*state->full));
    if (!state->full)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                           (unsigned long long)state->columns);
    state->n_full = linear_origins_list(state->data, state->full);
    return STRADS_OK;
}

/* ---- the survey -------------------------------------------------------- */

/* The first phase of each problem: the labels, the number of rows of each,
 * and the start of an intercept. */
typedef struct survey {
    double rows, squares; /* number of rows, and sum |x|^2; */
    double weight, sum;   /* sum c, and sum c y; */
    double largest;       /* |label| of a row with a weight; the labels' survey
                       follows */
} survey;

/* Squares of larger labels, and sums of them, overflow. */
#define LABEL_MAX 1e140

size_t dual_partial_labels(const strads_task *task)
{
    return sizeof(survey) + linear_survey_size(task->width);
}

void dual_merge_survey(void *into, const void *from, size_t bytes)
{
    survey *all = into;
    const survey *other = from;

    linear_survey_merge(all + 1, other + 1, bytes - sizeof(survey));
    all->rows += other->rows;
    all->squares += other->squares;
    all->weight += other->weight;
    all->sum += other->sum;
    all->largest = fmax(all->largest, other->largest);
}

/* Resets the partition's problem to the common w; the samples follow when
 * the survey returns. */
static void open_problem(dual_local *local, const strads_task *task)
{
    local->target =
        (uint32_t)(task->block.id - dual_survey_id(task->shape->partitions, 0));
    memset(local->base, 0, (local->columns + 1) * sizeof(double));
    for (uint32_t k = 0; k < task->block.n; k++)
        local->base[task->block.first + k] = task->value[dual_at(local, k)];
    local->based = local->behind = true;
    local->moved = 0; /* its changes belong to another problem */
    memset(local->anchor, 0, local->rows * sizeof(double));
}

strads_err dual_update_labels(strads_task *task)
{
    dual_local *local = task->local;
    survey *found = (survey *)(void *)task->partial;
    linear_survey *labels = (linear_survey *)(void *)(found + 1);

    linear_survey_begin(labels, task->width);
    open_problem(local, task);
    for (uint64_t i = 0; i < local->rows; i++) {
        const double c = local->weight[i], y = task->share->label[i];
        if (local->loss->classifies)
            linear_survey_add(labels, y, c);
        found->squares += local->sample[i].square - local->bias * local->bias;
        found->weight += c;
        found->sum += c * y;
        found->largest = c > 0 ? fmax(found->largest, fabs(y)) : found->largest;
    }
    found->rows += (double)local->rows;
    return STRADS_OK;
}

/* The classes; and C, if the sum of all weights determines it. STRADS_EINVAL:
 * squares overflow, or options and labels do not fit. */
static strads_err classes_of(dual_problem *problem, const strads_names *names,
                             const survey *found, linear_classes *out)
{
    strads_svm_options *options = &problem->options;
    const linear_class_options given = {.names = names,
                                        .classes = options->classes,
                                        .class_weight = options->class_weight,
                                        .weights = options->weights};
    strads_err err;

    linear_classes_free(out);
    if (!isfinite(found->squares))
        return strads_fail(STRADS_EINVAL,
                           "the squares of the rows overflow: scale the "
                           "columns down");
    if (!problem->loss->classifies && found->largest > LABEL_MAX)
        return strads_fail(STRADS_EINVAL,
                           "a label is %g in size, and its square would "
                           "overflow: scale the labels down",
                           found->largest);
    if (!problem->loss->classifies) {
        problem->cost = options->c * (found->weight / found->rows);
        return STRADS_OK;
    }
    err = linear_classes_of(&given,
                            (const linear_survey *)(const void *)(found + 1),
                            out);
    if (!err && problem->lambda > 0)
        options->c = 1 / (problem->lambda * out->total);
    problem->cost = options->c * (out->total / found->rows);
    return err;
}

/* Standardised rows have a square of about 1 per column. */
static double bias_of(const dual_problem *problem, const survey *found,
                      uint64_t columns)
{
    return dual_level_bias(problem, problem->options.standardize
                                        ? (double)columns
                                        : found->squares / found->rows);
}

/* The contribution of the columns' shifts at a commit's coefficients of a
 * problem. */
static double shifted(const strads_commit *commit, uint32_t problem)
{
    const dual_state *state = commit->state;
    long double sum = 0;

    for (uint64_t j = 0; j < state->columns && state->shift; j++) {
        const size_t at = j * state->width + problem;
        sum += (long double)state->shift[j] *
               (commit->value[at] + commit->change[at]);
    }
    return (double)sum;
}

void dual_take_intercept(const strads_commit *commit)
{
    dual_state *state = commit->state;
    const size_t at = dual_place(state, state->columns);

    state->intercept[state->target] =
        commit->total[DUAL_LEVEL] +
        state->bias * (commit->value[at] + commit->change[at]);
}

/* The first level: numbers are counted from their mean. The block ends with
 * the bias's coefficient, or consists of it. */
static void begin_level(strads_commit *commit, const survey *found)
{
    dual_state *state = commit->state;
    const strads_svm_options *o = &state->problem.options;
    const double *start = o->start_intercept;
    const size_t at = dual_place(state, commit->block.n - 1);
    double level = 0;

    if (o->intercept && start)
        level = start[state->target];
    else if (o->intercept && !state->problem.loss->classifies &&
             found->weight > 0)
        level = found->sum / found->weight;
    else if (start && state->bias > 0)
        commit->change[at] =
            start[state->target] / state->bias - commit->value[at];
    if (commit->block.n > state->columns)
        level += shifted(commit, state->target);
    state->intercept[state->target] =
        level + state->bias * (commit->value[at] + commit->change[at]);
    commit->total_change[DUAL_LEVEL] = level - commit->total[DUAL_LEVEL];
}

/* True if any of n parameters from `first` on is nonzero. */
static bool has_values(const strads_commit *commit, uint64_t first, uint64_t n)
{
    const dual_state *state = commit->state;
    const double *value = strads_store_dense(commit->store, 0);

    for (uint64_t i = first; i < first + n; i++)
        if (value[dual_place(state, i)] != 0)
            return true;
    return false;
}

/* A resumed run has values of groups and, if there was a scan, the rows' b
 * of its checkpoint's last scan. It starts with w = X'b of these. Its committed
 * w may belong to an abandoned step, or to scaled columns; b for it would be
 * wrong by the same error, times the squares of the columns. Returns true if
 * there are such b. */
static bool resume_problem(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double *value = strads_store_dense(commit->store, 0);
    const uint64_t groups = state->columns + 1, rows = groups + state->groups;
    const bool scanned = has_values(commit, rows, state->rows);

    if (!scanned && !has_values(commit, groups, state->groups))
        return false;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const size_t at = dual_place(state, k);
        commit->change[at] = -commit->value[at];
    }
    for (uint64_t i = groups; i < rows; i++)
        state->parts += value[dual_place(state, i)];
    return scanned;
}

static bool has_start(const strads_commit *commit)
{
    const dual_state *state = commit->state;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const size_t at = dual_place(state, k);
        if (commit->value[at] + commit->change[at] != 0)
            return true;
    }
    return false;
}

/* P at w = 0, for problems that have not started. */
static void note_first_values(dual_state *state)
{
    const dual_loss *loss = state->problem.loss;
    dual_sample all = {0};

    loss->set(&all, 1, state->problem.options.c * state->classes.total, 0);
    const double primal = loss->value(&all, 0);
    for (uint32_t k = 0; k < state->width; k++)
        state->done[k] = (dual_outcome){.primal = primal, .gap = primal};
}

strads_err dual_aggregate_labels(strads_commit *commit)
{
    dual_state *state = commit->state;
    const survey *found = (const survey *)(const void *)commit->partial;
    const bool classifies = state->problem.loss->classifies;
    const strads_names *names = strads_data_label_names(state->data);
    strads_err err = classes_of(&state->problem, names, found, &state->classes);

    if (!err && classifies &&
        linear_classes_width(state->classes.n) != state->width)
        err = linear_classes_unnamed(&state->classes);
    if (!err)
        err = dual_begin_first_passes(commit);
    if (err)
        return err;
    state->surveyed = true;
    const bool resumes = resume_problem(commit);
    state->bias = bias_of(&state->problem, found, state->columns);
    begin_level(commit, found);
    commit->total_change[DUAL_SIGMA] =
        (resumes ? DUAL_SIGMA_KEEP : DUAL_SIGMA_FIRST * state->problem.cost) -
        commit->total[DUAL_SIGMA];
    state->safety = state->partitions;
    dual_set_safety(commit);
    commit->total_change[DUAL_STEEP] = -commit->total[DUAL_STEEP];
    commit->total_change[DUAL_ENOUGH] = -commit->total[DUAL_ENOUGH];
    /* A join must come between the samples and their use. */
    state->moved = state->spread = true;
    state->seed_due = resumes || has_start(commit);
    if (!classifies)
        return STRADS_OK;
    err = linear_classes_write(&state->classes, names, &state->classes_text);
    if (err)
        return err;
    state->problem.options.classes = state->classes_text;
    if (state->target == 0)
        note_first_values(state);
    return STRADS_OK;
}

/* Converts labels and weights to samples, all of them active. */
static void take_samples(dual_local *local, const strads_share *share)
{
    const linear_classes *classes = &local->classes;
    const strads_svm_options *o = &local->problem.options;
    const double positive =
        classes->n > 0
            ? classes->label[linear_classes_positive(classes, local->target)]
            : 0;

    memset(local->awake, 0xff, local->groups * sizeof(*local->awake));
    memset(local->resting, 0, local->groups * sizeof(*local->resting));
    for (uint64_t i = 0; i < local->rows; i++) {
        const double label = share->label[i];
        double target = label, weight = local->weight[i];
        if (local->loss->classifies) {
            target = label == positive ? 1 : -1;
            weight *= linear_classes_weight(classes, label);
        }
        local->loss->set(&local->sample[i], target, o->c * weight, o->epsilon);
    }
}

strads_err dual_receive_survey(strads_task *task)
{
    dual_local *local = task->local;
    const survey *found = (const survey *)(const void *)task->partial;
    const strads_err err = classes_of(&local->problem, task->share->label_names,
                                      found, &local->classes);

    if (err)
        return err;
    set_bias(local, bias_of(&local->problem, found, local->columns));
    take_samples(local, task->share);
    return STRADS_OK;
}

/* ---- columns ----------------------------------------------------------- */

/* Rows are trained on in a copy, with column j as (x - m_j) / s_j, if this
 * is requested, or if it helps an unpenalised intercept:
 *
 *     --standardize  s_j is its standard deviation; without a bias its root
 *                    mean square
 *     an intercept   a constant column is left out, because the intercept
 *                    replaces it without a penalty. Full rows that are further
 *                    from 0 than from their mean are counted from the mean:
 *                    ascent would be slow, because all of them are similar. So
 *                    is a column that has an origin (linear_origins.h)
 *
 * Otherwise s_j = 1 and m_j = 0. They follow from the sums
 *
 *     sum c x,   sum c x^2,   whether it varies,   sum c, entries, rows
 *
 * of x minus its origin. From then on w is S w of the original data, and the
 * level includes the contribution of the shifts. When the run ends w is
 * converted back. */
enum { ALL, ENTRIES, ROWS, MOMENTS_MORE };

/* sum c x^2 minus that of the mean: below this share of it, it is rounding. */
#define ROUNDING 1e-12

typedef struct columns_plan {
    const double *sum, *squares, *varies, *more;
    const double *origin; /* or NULL */
    uint64_t columns;
    bool standardize, biased, intercept;
    bool full, copied;
} columns_plan;

size_t dual_partial_moments(const strads_task *task)
{
    return 3 * (size_t)task->block.n + MOMENTS_MORE;
}

static double at_origin(const double *origin, uint64_t j)
{
    return origin ? origin[j] : 0;
}

/* Adds a partition's sums; `first` [columns] is workspace, `seen` all 0. */
static void add_moments(const strads_task *task, double *first, uint64_t *seen)
{
    const dual_local *local = task->local;
    const size_t n = task->block.n;
    double *sum = task->partial, *squares = sum + n, *varies = squares + n;
    double *more = varies + n;

    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(task->share, i);
        const double c =
            local->weight[i] *
            linear_classes_weight(&local->classes, task->share->label[i]);
        more[ALL] += c;
        more[ENTRIES] += (double)x.n;
        for (uint64_t k = 0; k < x.n; k++) {
            const uint64_t j = dual_index(&x, k);
            const double v = dual_entry(&x, k) - at_origin(local->origin, j);
            if (seen[j]++ == 0)
                first[j] = v;
            sum[j] += c * v;
            squares[j] += c * v * v;
            varies[j] += v != first[j];
        }
    }
    more[ROWS] += (double)local->rows;
    for (uint64_t j = 0; j < local->columns; j++)
        varies[j] += seen[j] > 0 && seen[j] < local->rows;
}

strads_err dual_update_moments(strads_task *task)
{
    const uint64_t p = task->shape->cols;
    double *first = malloc((p + 1) * sizeof(*first));
    uint64_t *seen = calloc(p + 1, sizeof(*seen));
    strads_err err = STRADS_OK;

    if (first && seen)
        add_moments(task, first, seen);
    else
        err = strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                          (unsigned long long)p);
    free(first);
    free(seen);
    return err;
}

static double mean_of(const columns_plan *plan, uint64_t j)
{
    return plan->more[ALL] > 0
               ? at_origin(plan->origin, j) + plan->sum[j] / plan->more[ALL]
               : 0;
}

/* sum c x^2 around the mean if there is a bias; 0 if that is rounding. */
static double around(const columns_plan *plan, uint64_t j)
{
    const bool near = plan->biased && plan->more[ALL] > 0;
    const double mean = near ? plan->sum[j] / plan->more[ALL] : 0;
    const double rest = plan->squares[j] - plan->more[ALL] * mean * mean;

    return rest > ROUNDING * plan->squares[j] ? rest : 0;
}

/* sum c x^2 of the original columns. */
static double square_at(const columns_plan *plan, uint64_t j)
{
    const double mean = mean_of(plan, j);

    return at_origin(plan->origin, j) != 0
               ? around(plan, j) + plan->more[ALL] * mean * mean
               : plan->squares[j];
}

/* True if an intercept replaces the column. A column that is constant in
 * each partition, with different values, is not constant. */
static bool is_constant(const columns_plan *plan, uint64_t j)
{
    return plan->intercept && square_at(plan, j) > 0 && plan->varies[j] == 0 &&
           around(plan, j) == 0;
}

static columns_plan plan_of(const double *merged, const double *origin,
                            uint64_t columns, const strads_svm_options *o,
                            double bias)
{
    const size_t n = columns + 1;
    columns_plan plan = {.origin = origin,
                         .sum = merged,
                         .squares = merged + n,
                         .varies = merged + 2 * n,
                         .more = merged + 3 * n,
                         .columns = columns,
                         .standardize = o->standardize,
                         .biased = bias > 0,
                         .intercept = o->intercept};
    double centre = 0, rest = 0;
    bool constant = false, moves = false;

    for (uint64_t j = 0; j < columns; j++) {
        const double own = around(&plan, j);
        const bool same = is_constant(&plan, j);
        constant = constant || same;
        rest += own;
        centre += same ? 0 : square_at(&plan, j) - own;
        moves = moves || (o->intercept && at_origin(origin, j) != 0);
    }
    plan.full = o->intercept && centre > rest &&
                plan.more[ENTRIES] == plan.more[ROWS] * (double)columns;
    plan.copied = o->standardize || constant || moves || plan.full;
    return plan;
}

/* s_j, or 0 if the column is left out; and m_j / s_j. */
static double scale_of(const columns_plan *plan, uint64_t j)
{
    if (!plan->standardize)
        return is_constant(plan, j) ? 0 : 1;
    return sqrt(around(plan, j) / plan->more[ALL]);
}

static bool is_shifted(const columns_plan *plan, uint64_t j)
{
    return plan->full || (plan->intercept && at_origin(plan->origin, j) != 0);
}

/* B, for the rows of the copy. */
static double copied_bias(const columns_plan *plan, const dual_problem *problem)
{
    double square = 0;

    for (uint64_t j = 0; j < plan->columns; j++) {
        const double s = scale_of(plan, j);
        const double own =
            is_shifted(plan, j) ? around(plan, j) : square_at(plan, j);
        square += s > 0 ? own / (plan->more[ALL] * s * s) : 0;
    }
    return dual_level_bias(problem, square);
}

static void copy_rows(const strads_share *share, const double *scale,
                      const double *mean, double *value)
{
    for (uint64_t i = 0; i < share->by_row.lines; i++) {
        const data_column x = dual_row_of(share, i);
        double *to = value + share->by_row.start[i];
        for (uint64_t k = 0; k < x.n; k++) {
            const uint64_t j = dual_index(&x, k);
            to[k] = scale[j] > 0 ? (dual_entry(&x, k) - mean[j]) / scale[j] : 0;
        }
    }
}

/* s_j, m_j / s_j and m_j of all columns, in one array. */
static double *tabulate(const columns_plan *plan)
{
    const uint64_t p = plan->columns;
    double *scale = malloc((3 * p + 1) * sizeof(*scale));

    for (uint64_t j = 0; j < p && scale; j++) {
        const double s = scale_of(plan, j);
        const double mean = s > 0 && is_shifted(plan, j) ? mean_of(plan, j) : 0;
        scale[j] = s;
        scale[p + j] = s > 0 ? mean / s : 0;
        scale[2 * p + j] = mean;
    }
    return scale;
}

strads_err dual_receive_moments(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = task->share;
    const columns_plan plan =
        plan_of(task->partial, local->origin, local->columns,
                &local->problem.options, local->bias);
    const uint64_t entries = share->by_row.start[local->rows];

    if (!plan.copied)
        return STRADS_OK;
    double *scale = tabulate(&plan);
    local->value = malloc((entries + 1) * sizeof(*local->value));
    if (!scale || !local->value) {
        free(scale);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu values over the scales of their "
                           "columns",
                           (unsigned long long)entries);
    }
    copy_rows(share, scale, scale + 2 * local->columns, local->value);
    free(scale);
    local->copied = *share;
    local->copied.by_row.f32 = NULL;
    local->copied.by_row.f64 = local->value;
    local->bias = copied_bias(&plan, &local->problem);
    take_squares(local, &local->copied);
    return STRADS_OK;
}

/* Converts start values to those of the copy's columns; the level takes the
 * contribution of their shifts. */
strads_err dual_aggregate_moments(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint64_t p = state->columns;
    const columns_plan plan = plan_of(commit->partial, state->origin, p,
                                      &state->problem.options, state->bias);

    state->measured = true;
    if (!plan.copied)
        return STRADS_OK;
    state->scale = tabulate(&plan);
    if (!state->scale)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the scales of %llu columns",
                           (unsigned long long)p);
    state->shift = state->scale + p;
    state->mean = state->shift + p;
    for (uint64_t j = 0; j < p; j++)
        for (uint64_t k = j * state->width; k < (j + 1) * state->width; k++)
            commit->change[k] =
                commit->value[k] * state->scale[j] - commit->value[k];
    const double before = state->bias;
    const size_t at = dual_place(state, p);
    state->bias = copied_bias(&plan, &state->problem);
    if (state->bias > 0)
        commit->change[at] =
            commit->value[at] * before / state->bias - commit->value[at];
    commit->total_change[DUAL_LEVEL] += shifted(commit, state->target);
    for (uint32_t k = 0; k < state->width; k++)
        state->intercept[k] += shifted(commit, k);
    return STRADS_OK;
}

/* Takes back an unfinished step. */
static void return_to_scan(strads_commit *commit)
{
    dual_state *state = commit->state;

    for (uint64_t j = 0; j <= state->columns && state->off; j++)
        commit->change[dual_place(state, j)] = -state->off[j];
    state->off = NULL;
}

/* sum m w of a problem, for w of the data's columns. */
static double origins_sum(const dual_state *state, uint32_t problem)
{
    long double sum = 0;

    for (uint64_t j = 0; j < state->columns; j++)
        sum += (long double)state->mean[j] *
               state->unscaled[j * state->width + problem];
    return (double)sum;
}

/* Finds w and the intercepts for the data's columns. */
static strads_err find_unscaled(strads_commit *commit)
{
    dual_state *state = commit->state;
    const uint32_t width = state->width;

    state->unscaled =
        malloc((state->columns * width + 1) * sizeof(*state->unscaled));
    if (!state->unscaled)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the coefficients of %llu columns",
                           (unsigned long long)state->columns);
    for (uint64_t j = 0; j < state->columns; j++) {
        const double s = state->scale[j];
        for (uint64_t k = j * width; k < (j + 1) * width; k++)
            state->unscaled[k] =
                s > 0 ? (commit->value[k] + commit->change[k]) / s : 0;
    }
    for (uint32_t k = 0; k < width; k++)
        state->intercept[k] -= origins_sum(state, k);
    free(state->scale);
    state->scale = state->shift = state->mean = NULL;
    state->moves = 0;
    return STRADS_OK;
}

/* A change is rounded to the digits of the larger of w before and after it,
 * which loses those of a w that a scale makes small. Another change restores
 * them. */
strads_err dual_aggregate_unscale(strads_commit *commit)
{
    enum { MOVES_MAX = 3 };
    dual_state *state = commit->state;
    bool there = true;

    return_to_scan(commit);
    if (state->scale) {
        const strads_err err = find_unscaled(commit);
        if (err)
            return err;
    }
    for (uint64_t k = 0; k < state->columns * state->width && state->unscaled;
         k++) {
        commit->change[k] = state->unscaled[k] - commit->value[k];
        there =
            there && commit->value[k] + commit->change[k] == state->unscaled[k];
    }
    if (there || ++state->moves == MOVES_MAX) {
        free(state->unscaled);
        state->unscaled = NULL;
    }
    return STRADS_OK;
}

/* ---- one problem after the other --------------------------------------- */

/* Resets all state except that of all problems. */
static void begin_problem(dual_state *state)
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
    state->judged_gap = INFINITY;
    state->judged_visits = 0;
    state->gave_up = state->keeps = state->blunt = false;
    state->ballast = 1;
    state->patience = 1;
    state->gap_before = INFINITY;
    state->level_step = 0;
    state->level_share = 1;
    dual_begin_conjugate(state);
}

static bool is_last(const dual_state *state)
{
    return state->target + 1 == state->width;
}

static dual_outcome outcome_of(const dual_state *state)
{
    return (dual_outcome){.primal = state->primal,
                          .gap = state->gap,
                          .nonzeros = state->nonzeros,
                          .supports = state->supports};
}

void dual_judge(dual_state *state, double tolerance)
{
    const bool good = state->gap <= tolerance * state->primal;

    if (is_last(state) || !(good || state->stalled)) {
        dual_newton_judge(state, tolerance);
        return;
    }
    state->done[state->target++] = outcome_of(state);
    begin_problem(state);
}

dual_outcome dual_total(const dual_state *state)
{
    dual_outcome sum = {0};

    for (uint32_t k = 0; k < state->width; k++) {
        const dual_outcome one = k == state->target && state->scans > 0
                                     ? outcome_of(state)
                                     : state->done[k];
        sum.primal += one.primal;
        sum.gap += one.gap;
        sum.nonzeros += one.nonzeros;
        sum.supports += one.supports;
    }
    return sum;
}

void dual_report(const dual_state *state, double unit, strads_report *report)
{
    const bool known = state->target > 0 || state->scans > 0;
    const dual_outcome all = dual_total(state);

    report->objective = known ? all.primal * unit : NAN;
    report->gap = !known ? 1 : all.primal == 0 ? 0 : all.gap / all.primal;
    report->stop = state->stalled && is_last(state);
}
