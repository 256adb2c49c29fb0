/* The memory of the SVM: a partition's state, the coordinator's, and what
 * others may ask of it afterwards. */
#include <math.h>
#include <stdlib.h>

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
    local->z = calloc(n + 1, sizeof(double));
    if (local->sample && local->awake && local->resting && local->weight &&
        local->base && local->w && local->joint && local->anchor && local->z)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the state of %llu rows and %llu columns",
                       (unsigned long long)n, (unsigned long long)p);
}

/* What this partition adds up for its pool: an even share of the columns. */
static strads_range span_of(const strads_task *task)
{
    const uint64_t n = task->shape->cols + 1;
    const uint64_t k = task->share->partition - task->first_peer;

    return (strads_range){n * k / task->n_peers, n * (k + 1) / task->n_peers};
}

void dual_take_squares(dual_local *local, const strads_share *share)
{
    const double bias = local->bias;

    for (uint64_t i = 0; i < local->rows; i++) {
        const data_column x = dual_row_of(share, i);
        local->sample[i].square = square_of(local, &x) + bias * bias;
    }
}

void dual_set_bias(dual_local *local, double bias)
{
    for (uint64_t i = 0; i < local->rows; i++)
        local->sample[i].square += bias * bias - local->bias * local->bias;
    local->bias = bias;
}

strads_err dual_open(const strads_task *task, const dual_problem *problem,
                     void **out)
{
    const strads_share *share = task->share;
    const strads_svm_options *options = &problem->options;
    dual_local *local = NULL;
    strads_err err = check_labels(share, share->by_row.lines);

    if (err)
        return err;
    local = calloc(1, sizeof(*local));
    if (!local)
        return strads_fail(STRADS_ENOMEM, "no memory for a partition");
    local->problem = *problem;
    local->width = task->width;
    local->rows = share->by_row.lines;
    local->groups = local->rows / dual_group_rows(task->shape->rows) + 2;
    local->columns = task->shape->cols;
    local->kernels = column_kernels_choose(local->columns);
    local->move = dual_entropy_choose();
    local->bias = options->bias; /* for now: the survey may tell another */
    local->smooth = dual_loss_is_smooth(problem->loss);
    local->flat = options->epsilon;
    local->first_group =
        dual_group_at(task->shape->rows, share->rows.begin, share->partition);
    local->span = span_of(task);
    err = reserve(local, task->shape->partitions == 1);
    if (!err)
        err = linear_read_weights(problem->weights, &share->rows,
                                  task->shape->rows, local->weight);
    if (err) {
        dual_close(local);
        return err;
    }
    dual_take_squares(local, share);
    *out = local;
    return STRADS_OK;
}

void dual_close(void *opened)
{
    dual_local *local = opened;

    if (!local)
        return;
    free(local->value);
    free(local->sample);
    free(local->awake);
    free(local->resting);
    free(local->weight);
    free(local->base);
    if (local->joint != local->w)
        free(local->joint);
    free(local->w);
    free(local->anchor);
    free(local->z);
    free(local->bend);
    free(local->panel);
    free(local->h);
    free(local->held);
    free(local->stiff);
    free(local->order);
    dual_face_free(local->face);
    free(local);
}

/* ---- the coordinator --------------------------------------------------- */

enum { PARAM_BYTES = 40 }; /* of wide data 43 were seen */

strads_err dual_shape(const dual_problem *problem, const strads_data *data,
                      strads_shape *shape)
{
    const uint64_t rows = strads_data_rows(data);
    const uint64_t cols = strads_data_cols(data);
    uint32_t classes = 2;
    strads_err err = STRADS_OK;

    if (dual_loss_classifies(problem->loss))
        err = linear_classes_count(problem->options.classes, data, &classes);
    shape->width = linear_classes_width(classes);
    shape->coefficients = cols;
    shape->totals = DUAL_TOTALS;
    shape->parameters = dual_first_sample(shape) + rows;
    shape->block_max = UINT32_MAX;
    shape->param_bytes = PARAM_BYTES;
    return err;
}

/* Groups: the rows' own values follow from them. */
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

/* The entries of a group. Nobody is asked for coefficients and rows. */
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

static bool reserve_state(dual_state *state, const strads_shape *shape)
{
    const uint64_t groups = dual_groups(shape);

    state->groups = groups;
    state->pool = calloc(shape->pools + 1, sizeof(*state->pool));
    state->own = calloc(shape->partitions + 1, sizeof(*state->own));
    state->held = calloc(shape->partitions + 1, sizeof(*state->held));
    state->urgency = calloc(groups + 1, sizeof(double));
    state->entries = calloc(groups + 1, sizeof(double));
    state->waits = calloc(groups + 1, sizeof(uint8_t));
    state->awake = calloc(groups + 1, sizeof(uint32_t));
    state->told = calloc(groups + 1, sizeof(uint32_t));
    state->how = calloc(groups + 1, sizeof(double));
    return state->pool && state->own && state->held && state->urgency &&
           state->entries && state->waits && state->awake && state->told &&
           state->how;
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
    dual_begin_problem(state);
    *out = state;
    return STRADS_OK;
}

void dual_end(void *begun)
{
    dual_state *state = begun;

    if (!state)
        return;
    free(state->scale);
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
    free(state->heading.v);
    free(state);
}

/* ---- results ----------------------------------------------------------- */

const strads_svm_options *strads_svm_resolved(const void *state)
{
    return &((const dual_state *)state)->problem.options;
}

const double *strads_svm_intercepts(const void *state)
{
    return ((const dual_state *)state)->intercept;
}

uint64_t strads_svm_supports(const void *state)
{
    return dual_total(state).supports;
}
