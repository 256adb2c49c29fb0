/* A network for classes, data-parallel on the parameter store: a hidden layer
 * z = tanh(W x), p = softmax(V z), loss -log p_y, by mini-batches.
 *
 * Table 0 has a row for each input (its weights to the hidden units) and one
 * for each hidden unit (its weights to the classes); the first worker draws
 * them. At a clock, of the rows with row % batches = clock % batches:
 *
 *     read(all rows)
 *     each of its rows in the batch:  d = p - y,  d' = (V'd) (1 - z^2)
 *     inc(-step / batch's size times  d' x', d z')
 *
 * No worker pushes before all have read: the weights do not depend on the
 * distribution of rows. `gradient_error` compares a gradient with differences
 * of the loss. Beside the table a checkpoint holds the loss so far. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>
#include <strads/strads.h>

enum { CHECKS = 40 }; /* weights of a gradient */
typedef struct mlp_options {
    uint32_t hidden, classes, batch, epochs;
    double step;
} mlp_options;

typedef struct worker {
    const strads_task *task;
    strads_session *session;
    const mlp_options *o;
    const strads_sparse *x; /* its rows */
    uint32_t inputs, rows, width, *all;
    double *w, *g;  /* [rows x width] weights, gradient */
    double *z, *d;  /* [hidden] [classes] of a row at hand */
    double seen[2]; /* a gradient's error; an epoch's loss so far */
} worker;

/* Row i's loss; adds its gradient to g, where it is wanted. */
static double learn(worker *k, uint64_t i, bool gradient)
{
    const uint32_t hidden = k->o->hidden, classes = k->o->classes;
    const size_t wide = k->width, v = k->inputs * wide;
    const uint32_t y = (uint32_t)k->task->share->label[i];
    const uint64_t from = k->x->start[i], end = k->x->start[i + 1];
    double most = -INFINITY, sum = 0;
    for (uint32_t h = 0; h < hidden; h++) {
        k->z[h] = 0;
        for (uint64_t e = from; e < end; e++)
            k->z[h] +=
                strads_sparse_value(k->x, e) * k->w[k->x->index[e] * wide + h];
        k->z[h] = tanh(k->z[h]);
    }
    for (uint32_t j = 0; j < classes; j++) {
        k->d[j] = 0;
        for (uint32_t h = 0; h < hidden; h++)
            k->d[j] += k->w[v + h * wide + j] * k->z[h];
        most = fmax(most, k->d[j]);
    }
    for (uint32_t j = 0; j < classes; j++)
        sum += exp(k->d[j] - most);
    const double loss = log(sum) + most - k->d[y];
    for (uint32_t j = 0; j < classes; j++)
        k->d[j] = exp(k->d[j] - most) / sum - (j == y);
    for (uint32_t h = 0; gradient && h < hidden; h++) {
        double back = 0;
        for (uint32_t j = 0; j < classes; j++) {
            back += k->w[v + h * wide + j] * k->d[j];
            k->g[v + h * wide + j] += k->d[j] * k->z[h];
        }
        back *= 1 - k->z[h] * k->z[h];
        for (uint64_t e = from; e < end; e++)
            k->g[k->x->index[e] * wide + h] +=
                strads_sparse_value(k->x, e) * back;
    }
    return loss;
}

/* The loss of its part of a batch; the gradient in g, where it is wanted. */
static double pass(worker *k, uint64_t which, uint64_t batches, bool gradient)
{
    double loss = 0;
    for (size_t j = 0; gradient && j < (size_t)k->rows * k->width; j++)
        k->g[j] = 0;
    for (uint64_t i = 0; i < k->x->lines; i++)
        loss += (k->task->share->rows.begin + i) % batches == which
                    ? learn(k, i, gradient)
                    : 0;
    return loss;
}

/* The gradient in g against central differences, relative to its largest. */
static double compare(worker *k, uint64_t batches)
{
    double worst = 0, largest = 1e-300;
    for (uint32_t n = 0; n < CHECKS; n++) {
        const uint64_t j = strads_random_bits(k->task->seed, 1, 0, n) %
                           ((uint64_t)k->rows * k->width);
        const double w = k->w[j], by = 1e-5;
        k->w[j] = w + by;
        double left = pass(k, 0, batches, false) - 2 * by * k->g[j];
        k->w[j] = w - by;
        left -= pass(k, 0, batches, false);
        k->w[j] = w;
        worst = fmax(worst, fabs(left) / (2 * by));
        largest = fmax(largest, fabs(k->g[j]));
    }
    return worst / largest;
}

static strads_err turn_clock(worker *k, uint64_t clock, uint64_t batches)
{
    const double n = (double)k->task->shape->rows / (double)batches;
    strads_err err =
        strads_session_read_rows(k->session, 0, k->rows, k->all, 0, k->w);
    if (!err)
        err = strads_session_clock(k->session);
    if (err || (err = strads_session_barrier(k->session))) /* all have read */
        return err;
    k->seen[1] += pass(k, clock % batches, batches, true);
    if (clock == 0)
        k->seen[0] = compare(k, batches);
    for (size_t j = 0; j < (size_t)k->rows * k->width; j++)
        k->g[j] *= -k->o->step / n;
    err = strads_session_inc_rows(k->session, 0, k->rows, k->all, k->g);
    return err ? err : strads_session_clock(k->session);
}

static void mlp_close(void *local)
{
    worker *k = local;
    free(k->w);
    free(k->all);
    free(k);
}

static strads_err check_labels(const worker *k)
{
    const double *label = k->task->share->label;
    for (uint64_t i = 0; i < k->x->lines; i++)
        if (!label || !(label[i] >= 0) || !(label[i] < k->o->classes))
            return strads_fail(STRADS_EINVAL, "--classes: labels are 0 and up");
    return STRADS_OK;
}

static strads_err mlp_open(const strads_task *task, void **local)
{
    const strads_shape *shape = task->shape;
    const size_t cells = shape->parameters * shape->width;
    worker *k = calloc(1, sizeof *k);
    if (!k)
        return strads_fail(STRADS_ENOMEM, "no memory");
    *k = (worker){.task = task, .o = task->config, .x = &task->share->by_row};
    k->inputs = (uint32_t)shape->cols;
    k->rows = (uint32_t)shape->parameters, k->width = shape->width;
    k->seen[0] = NAN;
    k->w = calloc(2 * cells + k->o->hidden + k->o->classes, sizeof *k->w);
    k->all = calloc(k->rows, sizeof *k->all);
    strads_err err = k->w && k->all ? check_labels(k)
                                    : strads_fail(STRADS_ENOMEM, "no memory");
    if (err) {
        mlp_close(k);
        return err;
    }
    k->g = k->w + cells, k->z = k->g + cells, k->d = k->z + k->o->hidden;
    for (uint32_t r = 0; r < k->rows; r++)
        k->all[r] = r;
    for (size_t j = 0; j < cells; j++)
        k->w[j] = strads_random_unit(task->seed, 0, 0, j) / 4 - 0.125;
    *local = k;
    return STRADS_OK;
}

/* Not between read and inc: the changes since the read are not in the table. */
static strads_err mlp_pack(const void *local, strads_bytes *out)
{
    const worker *k = local;
    if (strads_session_now(k->session) % 2 == 0)
        return STRADS_OK;
    return strads_bytes_append(out, k->seen, sizeof k->seen);
}

static strads_err mlp_unpack(strads_task *task, const void *bytes, size_t size,
                             void **local)
{
    const strads_err err = mlp_open(task, local);
    if (!err && size == sizeof((worker *)*local)->seen)
        memcpy(((worker *)*local)->seen, bytes, size);
    return err;
}

static strads_err mlp_run(strads_task *task, strads_session *session)
{
    worker *k = task->local;
    const mlp_options *o = k->o;
    const uint64_t batches = (task->shape->rows + o->batch - 1) / o->batch;
    const uint64_t clocks = batches * o->epochs;
    const bool first = task->share->partition == 0;
    strads_err err = STRADS_OK;
    k->task = task, k->session = session;
    if (strads_session_now(session) == 0) {
        if (first)
            err = strads_session_inc_rows(session, 0, k->rows, k->all, k->w);
        if (!err)
            err = strads_session_clock(session);
    }
    for (uint64_t c = (strads_session_now(session) - 1) / 2;
         !err && c < clocks && !strads_loop_ends(task); c++) {
        err = turn_clock(k, c, batches);
        if (err || (c + 1) % batches)
            continue;
        strads_report report = {.gap = NAN, .measure = {k->seen[0]}};
        report.objective = k->seen[1] / (double)k->x->lines;
        if (first) /* of its own rows */
            strads_loop_report(task, &report);
        k->seen[1] = 0;
    }
    return err ? err : strads_session_advance(session, 2 * clocks + 1);
}

static strads_err mlp_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    const mlp_options *o = config;
    (void)data;
    shape->parameters += o->hidden;
    shape->width = o->hidden > o->classes ? o->hidden : o->classes;
    return STRADS_OK;
}

#define AT(field) .offset = offsetof(mlp_options, field)
static const strads_option table[] = {
    {"hidden", STRADS_OPTION_U32, AT(hidden), "H", "(default 32)", 1, 1e5},
    {"classes", STRADS_OPTION_U32, AT(classes), "C", "(default 2)", 2, 1e5},
    {"batch", STRADS_OPTION_U32, AT(batch), "N", "rows (default 32)", 1, 1e9},
    {"epochs", STRADS_OPTION_U32, AT(epochs), "N", "(default 20)", 1, 1e6},
    {"step", STRADS_OPTION_F64, AT(step), "H", "(default 0.1)", 1e-9, 1e3},
    {.name = NULL}};

static const strads_program mlp = {
    .size = sizeof(strads_program),
    .name = "mlp",
    .summary = "a network for classes on the parameter store",
    .layout = STRADS_LAYOUT_ROWS,
    .options = table,
    .config_size = sizeof(mlp_options),
    .defaults = &(const mlp_options){32, 2, 32, 20, 0.1},
    .shape = mlp_shape,
    .open = mlp_open,
    .close = mlp_close,
    .pack = mlp_pack,
    .unpack = mlp_unpack,
    .measures = (const char *const[]){"gradient_error", NULL},
    .run = mlp_run,
};
STRADS_EXPORT_PROGRAM(mlp)
