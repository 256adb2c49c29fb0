/* Non-negative least squares: minimise 1/(2n) |y - X w|^2 over w >= 0.
 *
 * Workers hold rows of X and keep r = y - X w of these rows. With c = X'r and
 * a_j = |x_j|^2, column j alone would take the step
 *
 *     d_j = max(c_j / a_j, -w_j),
 *
 * and w is optimal exactly when all d_j are 0: c_j <= 0 where w_j = 0, c_j = 0
 * elsewhere. The certificate is the longest of these steps, by how far it moves
 * the fit: max_j |x_j d_j| / |y|.
 *
 *     norms   a, |y|^2       once
 *     scan    X'r, |r|^2     objective, certificate, priorities |x_j d_j|
 *     pairs   X_A' X_B       when the policy must know them
 *     block   X_B' r         descent on block B through X_B' X_B
 *
 * `schedule` has the policy choose blocks until the steps left are a tenth of
 * those that the last scan saw, or --scan-every blocks are through. */
#include <math.h>
#include <stdlib.h>

#include <strads/strads.h>

enum { NORMS, SCAN, PAIRS, BLOCK };

typedef struct nnls_options {
    uint32_t scan_every;
    uint32_t sweeps;
} nnls_options;

typedef struct nnls_local {
    uint64_t n; /* rows of this share */
    double r[]; /* [n] y - X w, with the w of the last refresh */
} nnls_local;

typedef struct nnls_state {
    double n;       /* rows of the data */
    double yy;      /* |y|^2 */
    double rr;      /* |r|^2 at the last scan, */
    double longest; /* the certificate then */
    uint64_t nonzeros;
    double lowest;   /* |r|^2 of all scans, */
    uint32_t idle;   /* and how many came after it */
    uint32_t next;   /* the phase that schedule dispatches next */
    uint32_t blocks; /* dispatches of blocks since the last scan */
    double *c;       /* [block_max] X_B' r while a block is solved */
    double a[];      /* [columns] |x_j|^2 */
} nnls_state;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "nnls has no memory for its vectors");
}

/* ---- workers ----------------------------------------------------------- */

static strads_err nnls_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    const uint64_t n = share->rows.end - share->rows.begin;
    if (n > 0 && !share->label)
        return strads_fail(STRADS_EINVAL,
                           "nnls needs a label for each row: --labels FILE");
    nnls_local *l = malloc(sizeof *l + n * sizeof *l->r);
    if (!l)
        return no_memory();
    l->n = n;
    for (uint64_t i = 0; i < n; i++)
        l->r[i] = share->label[i];
    *local = l;
    return STRADS_OK;
}

/* r -= X change */
static strads_err nnls_refresh(strads_task *task, const strads_change *changes,
                               uint32_t n)
{
    const strads_sparse *x = &task->share->by_col;
    nnls_local *l = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const uint32_t j = changes[c].param[k];
            strads_sparse_add(x, j, -changes[c].change[k], l->r);
        }
    return STRADS_OK;
}

static double square(uint64_t n, const double *v)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sum;
}

static strads_err nnls_norms(strads_task *task)
{
    const strads_share *share = task->share;
    const strads_sparse *x = &share->by_col;
    const nnls_local *l = task->local;
    for (uint64_t j = 0; j < x->lines; j++)
        task->partial[j] = strads_sparse_pair(x, j, j);
    task->partial[x->lines] = square(l->n, share->label);
    return STRADS_OK;
}

/* X_B' r, of a block or of all columns */
static strads_err nnls_correlate(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    const nnls_local *l = task->local;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t j = strads_block_param(&task->block, k);
        task->partial[k] = strads_sparse_dot(x, j, l->r);
    }
    return STRADS_OK;
}

static strads_err nnls_scan(strads_task *task)
{
    const nnls_local *l = task->local;
    task->partial[task->block.n] = square(l->n, l->r);
    return nnls_correlate(task);
}

static strads_err nnls_pairs(strads_task *task)
{
    const strads_block *a = &task->block, *b = &task->against;
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++)
            task->partial[(size_t)k * b->n + l] =
                strads_sparse_pair(&task->share->by_col,
                                   strads_block_param(a, k),
                                   strads_block_param(b, l));
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

static strads_err nnls_begin(const void *config, const strads_data *data,
                             const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    nnls_state *s = calloc(1, sizeof *s + shape->parameters * sizeof *s->a);
    double *c = malloc(shape->block_max * sizeof *c);
    if (!s || !c) {
        free(s);
        free(c);
        return no_memory();
    }
    s->n = (double)shape->rows;
    s->lowest = INFINITY;
    s->c = c;
    *state = s;
    return STRADS_OK;
}

static void nnls_end(void *state)
{
    nnls_state *s = state;
    free(s->c);
    free(s);
}

static strads_err nnls_schedule(strads_turn *turn)
{
    const nnls_options *options = turn->config;
    nnls_state *s = turn->state;
    if (turn->idle || s->blocks == options->scan_every)
        s->next = SCAN;
    const uint32_t phase = s->next;
    if (phase == BLOCK) {
        s->blocks++;
        return strads_turn_policy(turn, BLOCK);
    }
    s->next = phase == NORMS ? SCAN : BLOCK;
    s->blocks = 0;
    return strads_turn_all(turn, phase);
}

static strads_err nnls_keep_norms(strads_commit *commit)
{
    nnls_state *s = commit->state;
    for (uint32_t j = 0; j < commit->block.n; j++)
        s->a[j] = commit->partial[j];
    s->yy = commit->partial[commit->block.n];
    return STRADS_OK;
}

/* Where w goes when its column alone may move: never below 0. */
static double target(double w, double c, double a)
{
    return a > 0 ? fmax(w + c / a, 0) : 0;
}

static strads_err nnls_rank(strads_commit *commit)
{
    nnls_state *s = commit->state;
    const double *w = commit->value;
    double left = 0, longest = 0;
    s->nonzeros = 0;
    for (uint32_t j = 0; j < commit->block.n; j++) {
        const double d = target(w[j], commit->partial[j], s->a[j]) - w[j];
        const double moves = sqrt(s->a[j]) * fabs(d);
        longest = fmax(longest, moves);
        left += moves;
        s->nonzeros += w[j] != 0;
        commit->priority[j] = moves;
    }
    strads_commit_rest(commit, left / 10);
    s->rr = commit->partial[commit->block.n];
    s->longest = s->yy > 0 ? longest / sqrt(s->yy) : 0;
    s->idle = s->rr < s->lowest ? 0 : s->idle + 1;
    s->lowest = fmin(s->lowest, s->rr);
    return STRADS_OK;
}

/* What commits that no worker had seen took from x_j' r. */
static double unseen(const strads_commit *commit, uint32_t j)
{
    double sum = 0;
    for (uint32_t c = 0; c < commit->n_since; c++)
        for (uint32_t k = 0; k < commit->since[c].n; k++)
            sum += strads_commit_pair(commit, j, commit->since[c].param[k]) *
                   commit->since[c].change[k];
    return sum;
}

/* One step of each column of the block; c is kept X_B' r throughout. Returns
 * whether anything moved. */
static bool sweep(const strads_commit *commit, const double *gram, double *c)
{
    const uint32_t n = commit->block.n;
    const double *w = commit->value;
    double *d = commit->change;
    bool moved = false;
    for (uint32_t k = 0; k < n; k++) {
        const double *g = gram + (size_t)k * n; /* x_k' X_B */
        const double to = target(w[k] + d[k], c[k], g[k]);
        const double by = to - (w[k] + d[k]);
        for (uint32_t i = 0; i < n && by != 0; i++)
            c[i] -= g[i] * by;
        d[k] = to - w[k];
        moved = moved || by != 0;
    }
    return moved;
}

static strads_err nnls_solve(strads_commit *commit)
{
    const nnls_options *options = commit->config;
    nnls_state *s = commit->state;
    const double *gram = strads_commit_pairs(commit);
    if (!gram)
        return no_memory();
    for (uint32_t k = 0; k < commit->block.n; k++)
        s->c[k] = commit->partial[k] -
                  unseen(commit, strads_block_param(&commit->block, k));
    uint32_t sweeps = 0;
    while (sweeps < options->sweeps && sweep(commit, gram, s->c))
        sweeps++;
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] =
            sqrt(s->a[strads_block_param(&commit->block, k)]) *
            fabs(commit->change[k]);
    return STRADS_OK;
}

static strads_err nnls_objective(void *state, strads_report *report)
{
    enum { PATIENCE = 10 }; /* scans: then only rounding is left */
    const nnls_state *s = state;
    report->objective = s->n > 0 ? s->rr / (2 * s->n) : 0;
    report->gap = s->longest;
    report->nonzeros = s->nonzeros;
    report->stop = s->idle >= PATIENCE;
    return STRADS_OK;
}

/* ---- the table --------------------------------------------------------- */

static size_t one_more(const strads_task *task)
{
    return (size_t)task->block.n + 1;
}

static const strads_phase phases[] = {
    [NORMS] = {.name = "norms",
               .when = STRADS_WHEN_CALLED,
               .exclusive = true,
               .ignores_values = true,
               .partial = one_more,
               .update = nnls_norms,
               .aggregate = nnls_keep_norms},
    [SCAN] = {.name = "scan",
              .when = STRADS_WHEN_CALLED,
              .exclusive = true,
              .reports = true,
              .ignores_values = true,
              .partial = one_more,
              .update = nnls_scan,
              .aggregate = nnls_rank},
    [PAIRS] = {.name = "pairs",
               .when = STRADS_WHEN_PROBE,
               .update = nnls_pairs},
    [BLOCK] = {.name = "block",
               .when = STRADS_WHEN_POLICY,
               .ignores_values = true,
               .update = nnls_correlate,
               .aggregate = nnls_solve},
};

static const strads_option table[] = {
    STRADS_OPTION(U32, nnls_options, scan_every, "scan-every", "N",
                  "rounds of blocks between two scans at most (default: 500)",
                  .min = 1, .max = UINT32_MAX),
    STRADS_OPTION(
        U32, nnls_options, sweeps, "sweeps", "N",
        "steps of each column while its block is solved (default: 20)",
        .min = 1, .max = UINT32_MAX),
    {.name = NULL}};

static const nnls_options defaults = {.scan_every = 500, .sweeps = 20};

static const strads_program nnls = {
    .size = sizeof(strads_program),
    .name = "nnls",
    .summary = "least squares with coefficients that are not negative",
    .options = table,
    .config_size = sizeof(nnls_options),
    .defaults = &defaults,
    .begin = nnls_begin,
    .end = nnls_end,
    .open = nnls_open,
    .close = free,
    .refresh = nnls_refresh,
    .schedule = nnls_schedule,
    .phases = phases,
    .n_phases = sizeof phases / sizeof phases[0],
    .objective = nnls_objective,
};
STRADS_EXPORT_PROGRAM(nnls)
