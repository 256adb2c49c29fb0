/* Ridge regression, the smallest program: minimise
 *
 *     P(w) = 1/(2n) |y - X w|^2 + lambda/2 |w|^2
 *
 * one coordinate at a time. With r = y - X w, c = x_j' r, a = |x_j|^2 the best
 * step of w_j and what P loses by it are
 *
 *     d = (c - n lambda w_j) / (a + n lambda),    (a / n + lambda) d^2 / 2.
 *
 * Workers hold rows of X and keep r of these rows; the policy chooses j. */
#include <math.h>
#include <stdlib.h>

#include <strads/strads.h>

typedef struct ridge_options {
    double lambda;
} ridge_options;

typedef struct ridge_state {
    double n, lambda, rr; /* rows, the option, |r|^2 */
    double lost;          /* by P since the last report */
    const double *w;      /* [columns] as committed */
    uint64_t columns;
} ridge_state;

static strads_err ridge_shape(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config, (void)data;
    shape->block_max = 1; /* the step is right for one column, not for two */
    return STRADS_OK;
}

static strads_err ridge_begin(const void *config, const strads_data *data,
                              const strads_shape *shape, void **state)
{
    const ridge_options *options = config;
    (void)data;
    ridge_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for ridge's state");
    s->n = (double)shape->rows;
    s->lambda = options->lambda;
    s->columns = shape->parameters;
    *state = s;
    return STRADS_OK;
}

static strads_err ridge_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    const uint64_t rows = share->rows.end - share->rows.begin;
    if (rows > 0 && !share->label)
        return strads_fail(STRADS_EINVAL, "ridge needs a label for each row: "
                                          "--labels FILE");
    double *r = malloc((rows + 1) * sizeof *r);
    if (!r)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu residuals",
                           (unsigned long long)rows);
    for (uint64_t i = 0; i < rows; i++)
        r[i] = share->label[i];
    *local = r;
    return STRADS_OK;
}

static size_t ridge_partial(const strads_task *task)
{
    (void)task;
    return 3;
}

static strads_err ridge_update(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    const uint64_t rows = task->share->rows.end - task->share->rows.begin;
    const uint32_t j = strads_block_param(&task->block, 0);
    const double *r = task->local;
    task->partial[0] = strads_sparse_dot(x, j, r);
    task->partial[1] = strads_sparse_pair(x, j, j);
    for (uint64_t i = 0; i < rows; i++)
        task->partial[2] += r[i] * r[i];
    return STRADS_OK;
}

static strads_err ridge_aggregate(strads_commit *commit)
{
    ridge_state *s = commit->state;
    const double c = commit->partial[0], a = commit->partial[1];
    const double l = s->n * s->lambda, w = commit->value[0];
    const double d = a + l > 0 ? (c - l * w) / (a + l) : 0;
    commit->change[0] = d;
    s->rr = commit->partial[2] - d * (2 * c - a * d);
    s->lost += (a / s->n + s->lambda) * d * d / 2;
    s->w = strads_store_dense(commit->store, 0);
    return STRADS_OK;
}

static strads_err ridge_refresh(strads_task *task, const strads_change *changes,
                                uint32_t n)
{
    const strads_sparse *x = &task->share->by_col;
    double *r = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const uint32_t j = changes[c].param[k];
            strads_sparse_add(x, j, -changes[c].change[k], r);
        }
    return STRADS_OK;
}

static strads_err ridge_objective(void *state, strads_report *report)
{
    ridge_state *s = state;
    double ww = 0;
    for (uint64_t j = 0; s->w && j < s->columns; j++) {
        ww += s->w[j] * s->w[j];
        report->nonzeros += s->w[j] != 0;
    }
    report->objective = s->rr / (2 * s->n) + s->lambda * ww / 2;
    report->gap = report->objective > 0 ? s->lost / report->objective : 0;
    s->lost = 0;
    return STRADS_OK;
}

static const strads_option table[] = {
    STRADS_OPTION(F64, ridge_options, lambda, "lambda", "L",
                  "weight of |w|^2 / 2, 0 or more (default: 0.1)",
                  .max = 1e300),
    {.name = NULL}};

static const ridge_options defaults = {.lambda = 0.1};

static const strads_program ridge = {
    .size = sizeof(strads_program),
    .name = "ridge",
    .summary = "least squares with a squared penalty",
    .options = table,
    .config_size = sizeof(ridge_options),
    .defaults = &defaults,
    .shape = ridge_shape,
    .begin = ridge_begin,
    .end = free,
    .open = ridge_open,
    .close = free,
    .partial = ridge_partial,
    .update = ridge_update,
    .aggregate = ridge_aggregate,
    .refresh = ridge_refresh,
    .objective = ridge_objective,
};
STRADS_EXPORT_PROGRAM(ridge)
