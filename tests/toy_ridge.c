/* Each partition holds the residual of its rows, y - X w for the w that it has
 * received. The coordinator's state holds the last scan's largest gradient. */
#include "tests/toy_ridge.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"
#include "tests/toy_residual.h"

enum { SCAN, PAIRS, SOLVE, N_PHASES };

typedef struct ridge_state {
    double gradient;  /* largest, of the last scan */
    double objective; /* of the last scan */
    uint64_t nonzeros;
} ridge_state;

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a toy");
}

/* ---- small dense systems ----------------------------------------------- */

/* Solves a x = b in place of b; a[n x n] becomes its Cholesky factor. */
static void cholesky_solve(uint32_t n, double *a, double *b)
{
    gsl_matrix_view matrix = gsl_matrix_view_array(a, n, n);
    gsl_vector_view right = gsl_vector_view_array(b, n);
    gsl_linalg_cholesky_decomp1(&matrix.matrix);
    gsl_linalg_cholesky_svx(&matrix.matrix, &right.vector);
}

bool toy_ridge_solve(uint64_t rows, uint64_t cols, double lambda, double *w)
{
    uint32_t n = (uint32_t)cols;
    double *gram = calloc((size_t)n * n + 1, sizeof *gram);
    if (!gram)
        return false;
    memset(w, 0, sizeof *w * n);
    for (uint64_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < n; i++) {
            w[i] += toy_entry(r, i) * toy_label(r);
            for (uint32_t j = 0; j < n; j++)
                gram[i * n + j] += toy_entry(r, i) * toy_entry(r, j);
        }
    for (uint32_t i = 0; i < n; i++)
        gram[i * n + i] += lambda;
    cholesky_solve(n, gram, w);
    free(gram);
    return true;
}

/* ---- worker ------------------------------------------------------------ */

/* Block: x_j' r for each j. The scan adds r'r at the end. */
static strads_err ridge_correlate(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] =
            toy_residual_times(task, strads_block_param(&task->block, k));
    if (task->phase != SCAN)
        return STRADS_OK;
    const strads_share *share = task->share;
    const double *residual = task->local;
    for (uint64_t i = 0; i < share->rows.end - share->rows.begin; i++)
        task->partial[task->block.n] += residual[i] * residual[i];
    return STRADS_OK;
}

static size_t scan_partial(const strads_task *task)
{
    return (size_t)task->block.n + 1;
}

static strads_err ridge_probe(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < task->against.n; l++)
            task->partial[k * task->against.n + l] =
                toy_column_product(&task->share->by_col,
                                   strads_block_param(&task->block, k),
                                   strads_block_param(&task->against, l));
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

TOY_BEGIN(ridge_begin, sizeof(ridge_state))

/* The gradient x_j' r - lambda w_j is the priority of each parameter. */
static strads_err ridge_scanned(strads_commit *commit)
{
    const toy_ridge_config *config = commit->config;
    ridge_state *s = commit->state;
    double norm = 0;
    s->gradient = 0;
    s->nonzeros = 0;
    for (uint32_t j = 0; j < commit->block.n; j++) {
        double w = commit->value[j];
        double gradient = fabs(commit->partial[j] - config->lambda * w);
        strads_commit_prioritise(commit, 1, &j, &gradient);
        s->gradient = fmax(s->gradient, gradient);
        s->nonzeros += w != 0;
        norm += w * w;
    }
    s->objective =
        commit->partial[commit->block.n] / 2 + config->lambda * norm / 2;
    strads_commit_rest(commit, s->gradient / 10);
    return STRADS_OK;
}

/* (G + lambda) d = x' r - lambda w, with r before the commits since the
 * dispatch. */
static strads_err ridge_solve_block(strads_commit *commit)
{
    const toy_ridge_config *config = commit->config;
    uint32_t n = commit->block.n;
    const double *pairs = strads_commit_pairs(commit);
    if (!pairs)
        return strads_fail(STRADS_EPROGRAM, "a block's pairs are not known");
    double *a = malloc(sizeof *a * n * n);
    if (!a)
        return no_memory();
    memcpy(a, pairs, sizeof *a * n * n);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = strads_block_param(&commit->block, k);
        double right = commit->partial[k] - config->lambda * commit->value[k];
        for (uint32_t s = 0; s < commit->n_since; s++)
            for (uint32_t l = 0; l < commit->since[s].n; l++)
                right -=
                    strads_commit_pair(commit, i, commit->since[s].param[l]) *
                    commit->since[s].change[l];
        a[k * n + k] += config->lambda;
        commit->change[k] = right;
    }
    cholesky_solve(n, a, commit->change);
    free(a);
    return STRADS_OK;
}

static strads_err ridge_objective(void *state, strads_report *report)
{
    const ridge_state *s = state;
    report->objective = s->objective;
    report->gap = s->gradient;
    report->nonzeros = s->nonzeros;
    return STRADS_OK;
}

static const strads_phase ridge_phases[N_PHASES] = {
    [SCAN] = {.name = "scan",
              .when = STRADS_WHEN_REST,
              .reports = true,
              .partial = scan_partial,
              .update = ridge_correlate,
              .aggregate = ridge_scanned},
    [PAIRS] = {.name = "pairs",
               .when = STRADS_WHEN_PROBE,
               .update = ridge_probe},
    [SOLVE] = {.name = "solve",
               .ignores_values = true,
               .update = ridge_correlate,
               .aggregate = ridge_solve_block},
};

const strads_program toy_ridge = {
    .size = sizeof(strads_program),
    .name = "toy-ridge",
    .config_size = sizeof(toy_ridge_config),
    .defaults = &(const toy_ridge_config){.lambda = 5},
    .begin = ridge_begin,
    .end = free,
    .open = toy_residual_open,
    .close = free,
    .refresh = toy_residual_refresh,
    .phases = ridge_phases,
    .n_phases = N_PHASES,
    .objective = ridge_objective,
};
