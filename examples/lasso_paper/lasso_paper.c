/* The Lasso as the STRADS paper has it (Kim et al., EuroSys 2016, section 4):
 * minimise P(w) = 1/(2n) |y - X w|^2 + lambda |w|_1.
 *
 * schedule   columns drawn by how much they last moved, and kept while their
 *            |x_j'x_k| / (|x_j| |x_k|) is below a threshold: the priority
 *            policy does both, and asks the phase `pairs`
 * update     c_j = x_j'r, a_j = |x_j|^2 over a worker's own rows
 * aggregate  w_j <- S(a_j w_j + c_j, n lambda) / a_j, sums over all workers,
 *            where S(u, t) = sign(u) max(|u| - t, 0)
 * refresh    r -= x_j (change of w_j)
 *
 * When the policy is idle, a scan takes all columns: new priorities, and the
 * gap to the dual point s r / n, where s = min(1, n lambda / max |c_j|). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/strads.h>

enum { SCAN, PAIRS, BLOCK };
typedef struct lasso {
    double n, n_lambda;
    strads_report last;
} lasso;

/* ---- workers: r = y - X w of their rows ---------------------------------- */
static strads_err start(const strads_task *task, void **r)
{
    const strads_range rows = task->share->rows;
    const size_t bytes = (rows.end - rows.begin) * sizeof(double);
    if (!task->share->label || !(*r = malloc(bytes + 1)))
        return strads_fail(STRADS_EINVAL, "it wants labels, and their memory");
    memcpy(*r, task->share->label, bytes);
    return STRADS_OK;
}

static strads_err refresh(strads_task *task, const strads_change *c, uint32_t n)
{
    for (; n > 0; n--, c++)
        for (uint32_t k = 0; k < c->n; k++)
            strads_sparse_add(&task->share->by_col, c->param[k], -c->change[k],
                              task->local);
    return STRADS_OK;
}

/* c_j and a_j of each column, and behind them r'r and y'r. */
static size_t partial(const strads_task *task)
{
    return 2 * (size_t)task->block.n + 2;
}

static strads_err update(strads_task *task)
{
    const strads_share *share = task->share;
    const double *r = task->local;
    double *out = task->partial;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t j = strads_block_param(&task->block, k);
        *out++ = strads_sparse_dot(&share->by_col, j, r);
        *out++ = strads_sparse_pair(&share->by_col, j, j);
    }
    const uint64_t n = share->rows.end - share->rows.begin;
    for (uint64_t i = 0; task->phase == SCAN && i < n; i++) {
        out[0] += r[i] * r[i];
        out[1] += r[i] * share->label[i];
    }
    return STRADS_OK;
}

static strads_err pairs(strads_task *task)
{
    const strads_block *a = &task->block, *b = &task->against;
    for (uint32_t k = 0; k < a->n * b->n; k++)
        task->partial[k] = strads_sparse_pair(&task->share->by_col,
                                              strads_block_param(a, k / b->n),
                                              strads_block_param(b, k % b->n));
    return STRADS_OK;
}

/* ---- the coordinator ----------------------------------------------------- */
static strads_err begin(const void *config, const strads_data *data,
                        const strads_shape *shape, void **state)
{
    (void)data;
    const double n = (double)shape->rows;
    lasso *s = *state = malloc(sizeof *s);
    if (s)
        *s = (lasso){.n = n, .n_lambda = n * *(const double *)config};
    return s ? STRADS_OK : strads_fail(STRADS_ENOMEM, "no memory");
}

static strads_err one_column(const void *config, const strads_data *data,
                             strads_shape *shape)
{
    (void)config, (void)data;
    shape->block_max = 1;
    return STRADS_OK;
}

static double step(const lasso *s, const double *partial, double w)
{
    const double c = partial[0], a = partial[1], u = a * w + c;
    return a > 0 ? copysign(fmax(fabs(u) - s->n_lambda, 0), u) / a - w : -w;
}

static strads_err aggregate(strads_commit *commit)
{
    commit->change[0] = step(commit->state, commit->partial, commit->value[0]);
    return STRADS_OK;
}

static strads_err scan(strads_commit *commit)
{
    lasso *s = commit->state;
    const double *part = commit->partial, *w = commit->value;
    double most = s->n_lambda, l1 = 0, left = 0;
    s->last.nonzeros = 0;
    for (uint32_t j = 0; j < commit->block.n; j++, part += 2) {
        left += commit->priority[j] = fabs(step(s, part, w[j]));
        most = fmax(most, fabs(part[0]));
        l1 += fabs(w[j]);
        s->last.nonzeros += w[j] != 0;
    }
    strads_commit_rest(commit, left / 10);
    const double rr = part[0], yr = part[1], scale = s->n_lambda / most;
    const double primal = rr / 2 + s->n_lambda * l1; /* both times n */
    const double dual = scale * yr - scale * scale * rr / 2;
    s->last.objective = primal / s->n;
    s->last.gap = primal > 0 ? 1 - dual / primal : 0;
    return STRADS_OK;
}

static strads_err objective(void *state, strads_report *report)
{
    *report = ((const lasso *)state)->last;
    return STRADS_OK;
}

/* Tables, packed. */
/* clang-format off */
static const strads_phase phases[] = {
    [SCAN] = {"scan", .when = STRADS_WHEN_REST, .reports = true,
              .partial = partial, .update = update, .aggregate = scan},
    [PAIRS] = {"pairs", .when = STRADS_WHEN_PROBE, .update = pairs},
    [BLOCK] = {"block", .partial = partial, .update = update,
               .aggregate = aggregate}};
static const strads_option options[] = {
    {"lambda", STRADS_OPTION_F64, .metavar = "L", .min = 1e-300, .max = 1e300,
     .help = "weight of |w|_1, above 0 (default: 0.01)"}, {.name = NULL}};
static const strads_program lasso_paper = {
    sizeof(strads_program), "lasso-paper", "the Lasso of the STRADS paper",
    .options = options, .config_size = sizeof(double),
    .defaults = &(const double){0.01}, .shape = one_column,
    .begin = begin, .end = free, .open = start, .close = free,
    .refresh = refresh, .objective = objective,
    .phases = phases, .n_phases = sizeof phases / sizeof *phases};
STRADS_EXPORT_PROGRAM(lasso_paper)
