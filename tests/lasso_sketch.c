/* Lasso against the public contract: minimise |y - X w|^2 / 2n + lambda |w|_1.
 * Three phases: a scan of all columns ranks them and certifies the gap, probes
 * bring Gram entries, and policy blocks are solved through those entries.
 * Compiled, not run: it holds the contract to what a program needs. */
#include <math.h>
#include <stdlib.h>

#include "strads/strads.h"

struct lasso_config {
    double lambda;
};

struct lasso_local {
    double *residual; /* y - X w on this share's rows */
};

struct lasso_state {
    double rows, primal, gap;
    uint64_t nonzeros;
};

static double column_dot(const strads_sparse *x, uint32_t j, const double *r)
{
    double sum = 0;
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
        sum += x->f64[e] * r[x->index[e]];
    return sum;
}

static double column_pair(const strads_sparse *x, uint32_t i, uint32_t j)
{
    double sum = 0;
    uint64_t a = x->start[i], b = x->start[j];
    while (a < x->start[i + 1] && b < x->start[j + 1]) {
        if (x->index[a] == x->index[b])
            sum += x->f64[a++] * x->f64[b++];
        else if (x->index[a] < x->index[b])
            a++;
        else
            b++;
    }
    return sum;
}

static double shrink(double z, double by)
{
    return copysign(fmax(fabs(z) - by, 0), z);
}

static strads_err lasso_begin(const void *config, const strads_data *data,
                              const strads_shape *shape, void **state)
{
    (void)config, (void)shape;
    struct lasso_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for the lasso's state");
    s->rows = (double)strads_data_rows(data);
    s->gap = NAN;
    *state = s;
    return STRADS_OK;
}

static strads_err lasso_open(const strads_task *task, void **local)
{
    size_t rows = task->share->rows.end - task->share->rows.begin;
    struct lasso_local *l = calloc(1, sizeof *l);
    double *r = malloc((rows + 1) * sizeof *r);
    if (!l || !r) {
        free(l);
        free(r);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu residuals", rows);
    }
    for (size_t i = 0; i < rows; i++)
        r[i] = task->share->label[i];
    l->residual = r;
    *local = l;
    return STRADS_OK;
}

static void lasso_close(void *local)
{
    struct lasso_local *l = local;
    free(l->residual);
    free(l);
}

static strads_err lasso_refresh(strads_task *task, const strads_change *changes,
                                uint32_t n)
{
    const strads_sparse *x = &task->share->by_col;
    double *r = ((struct lasso_local *)task->local)->residual;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            uint32_t j = changes[c].param[k];
            for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
                r[x->index[e]] -= x->f64[e] * changes[c].change[k];
        }
    return STRADS_OK;
}

/* scan: n correlations, then |r|^2 and r'y. */
static size_t lasso_scan_partial(const strads_task *task)
{
    return task->block.n + 2;
}

static strads_err lasso_scan(strads_task *task)
{
    const strads_share *share = task->share;
    const double *r = ((struct lasso_local *)task->local)->residual;
    uint32_t n = task->block.n;
    for (uint32_t k = 0; k < n; k++)
        task->partial[k] =
            column_dot(&share->by_col, strads_block_param(&task->block, k), r);
    for (uint64_t i = 0; i < share->rows.end - share->rows.begin; i++) {
        task->partial[n] += r[i] * r[i];
        task->partial[n + 1] += r[i] * share->label[i];
    }
    return STRADS_OK;
}

/* The dual point is r / n, scaled until |X'r| <= lambda everywhere. */
static strads_err lasso_rank(strads_commit *commit)
{
    struct lasso_state *s = commit->state;
    const double lambda = ((const struct lasso_config *)commit->config)->lambda;
    uint32_t n = commit->block.n;
    double steepest = 0, norm1 = 0;
    s->nonzeros = 0;
    for (uint32_t k = 0; k < n; k++) {
        double g = commit->partial[k] / s->rows, w = commit->value[k];
        steepest = fmax(steepest, fabs(g));
        norm1 += fabs(w);
        s->nonzeros += w != 0;
        uint32_t column = strads_block_param(&commit->block, k);
        double urgent =
            w != 0 ? fabs(g - copysign(lambda, w)) : fmax(fabs(g) - lambda, 0);
        strads_commit_prioritise(commit, 1, &column, &urgent);
    }
    double rr = commit->partial[n], ry = commit->partial[n + 1];
    double c = steepest > lambda ? lambda / steepest : 1;
    double dual = (c * ry - c * c * rr / 2) / s->rows;
    s->primal = rr / (2 * s->rows) + lambda * norm1;
    s->gap = (s->primal - dual) / fmax(s->primal, 1e-300);
    strads_commit_rest(commit, 0.1 * s->gap * lambda);
    return STRADS_OK;
}

static strads_err lasso_pairs(strads_task *task)
{
    const strads_block *a = &task->block, *b = &task->against;
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t j = 0; j < b->n; j++)
            task->partial[i * b->n + j] =
                column_pair(&task->share->by_col, strads_block_param(a, i),
                            strads_block_param(b, j));
    return STRADS_OK;
}

static strads_err lasso_correlate(strads_task *task)
{
    const double *r = ((struct lasso_local *)task->local)->residual;
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = column_dot(&task->share->by_col,
                                      strads_block_param(&task->block, k), r);
    return STRADS_OK;
}

/* What commits since the dispatch took from x_j'r, by the Gram entries. */
static double unseen(const strads_commit *commit, uint32_t j)
{
    double sum = 0;
    for (uint32_t c = 0; c < commit->n_since; c++)
        for (uint32_t k = 0; k < commit->since[c].n; k++)
            sum += commit->since[c].change[k] *
                   strads_commit_pair(commit, j, commit->since[c].param[k]);
    return sum;
}

static strads_err lasso_solve(strads_commit *commit)
{
    const struct lasso_state *s = commit->state;
    const struct lasso_config *config = commit->config;
    const double *gram = strads_commit_pairs(commit);
    double *d = commit->change;
    uint32_t n = commit->block.n;
    for (int pass = 0; pass < 20; pass++)
        for (uint32_t k = 0; k < n; k++) {
            const double *g = gram + (size_t)k * n;
            if (g[k] <= 0)
                continue;
            double c = commit->partial[k] -
                       unseen(commit, strads_block_param(&commit->block, k));
            for (uint32_t i = 0; i < n; i++)
                c -= g[i] * d[i];
            double w = commit->value[k] + d[k];
            d[k] += shrink(w + c / g[k], config->lambda * s->rows / g[k]) - w;
        }
    return STRADS_OK;
}

static strads_err lasso_objective(void *state, strads_report *report)
{
    const struct lasso_state *s = state;
    report->objective = s->primal;
    report->gap = s->gap;
    report->nonzeros = s->nonzeros;
    return STRADS_OK;
}

static const strads_option lasso_options[] = {
    {.name = "lambda",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(struct lasso_config, lambda),
     .metavar = "L",
     .help = "weight of |w|_1 (default 0.1)",
     .max = 1e300},
    {.name = NULL},
};

static const strads_phase lasso_phases[] = {
    {.name = "scan",
     .result = STRADS_RESULT_SCHEDULERS,
     .when = STRADS_WHEN_REST,
     .drains = true,
     .blind = true,
     .reports = true,
     .partial = lasso_scan_partial,
     .update = lasso_scan,
     .aggregate = lasso_rank},
    {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = lasso_pairs},
    {.name = "solve",
     .when = STRADS_WHEN_POLICY,
     .blind = true,
     .update = lasso_correlate,
     .aggregate = lasso_solve},
};

const strads_program lasso_sketch = {
    .size = sizeof(strads_program),
    .name = "lasso-sketch",
    .summary = "least squares with an l1 penalty",
    .options = lasso_options,
    .config_size = sizeof(struct lasso_config),
    .defaults = &(const struct lasso_config){.lambda = 0.1},
    .begin = lasso_begin,
    .end = free,
    .open = lasso_open,
    .close = lasso_close,
    .refresh = lasso_refresh,
    .phases = lasso_phases,
    .n_phases = sizeof lasso_phases / sizeof *lasso_phases,
    .objective = lasso_objective,
};
