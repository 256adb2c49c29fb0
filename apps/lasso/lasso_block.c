/* One block's problem: coordinate descent through its cached Gram entries.
 *
 * The workers' sums X_B' r belong to a residual that may lack commits made
 * since: each of those moved the sums by -X_B' x_j change_j, which the Gram
 * entries tell, so a pipelined round costs no accuracy. With q = X_B' r_c and
 * G = X_B' X_B (centred under an intercept) a coordinate's best value is
 *
 *     w_k = soft(G_kk w_k + q_k, L1 s_k) / (G_kk + L2 s_k^2),
 *
 * after which q -= (w_k - old) G_k. Two sweeps get most of a block's gain
 * (Friedman, Hastie, Tibshirani, J. Stat. Software 33, 2010, "covariance
 * updates"). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lasso_parts.h"

/* Sweeps end after this many, or when one gains little beside the first. */
enum { SWEEPS_MAX = 3 };
#define SETTLED 0.05

/* A block in flight, all arrays of n: what aggregate works on. */
typedef struct block_problem {
    const lasso_state *state;
    const strads_block *block;
    uint32_t n;
    const double *gram; /* [n x n] */
    double *q;          /* X_B' r_c, kept up to date */
    double *w;
} block_problem;

/* Takes the commits into account that the workers had not been told of. */
static double correct(const strads_commit *commit, double *q, double sum)
{
    const lasso_state *state = commit->state;
    const uint32_t n = commit->block.n;

    for (uint32_t c = 0; c < commit->n_since; c++)
        for (uint32_t i = 0; i < commit->since[c].n; i++) {
            const uint32_t j = commit->since[c].param[i];
            const double change = commit->since[c].change[i];
            if (change == 0)
                continue;
            sum -= state->rows * state->mean[j] * change;
            for (uint32_t k = 0; k < n; k++)
                q[k] -=
                    change *
                    strads_commit_pair(commit,
                                       strads_block_param(&commit->block, k),
                                       j);
        }
    return sum;
}

/* G - n m m', into `gram`. */
static void centre(const lasso_state *state, const strads_block *block,
                   const double *pairs, double *gram)
{
    for (uint32_t k = 0; k < block->n; k++) {
        const double mean =
            state->rows * state->mean[strads_block_param(block, k)];
        for (uint32_t l = 0; l < block->n; l++)
            gram[k * block->n + l] =
                pairs[k * block->n + l] -
                mean * state->mean[strads_block_param(block, l)];
    }
}

/* One sweep; returns the sum of .5 curvature step^2. */
static double sweep(block_problem *problem)
{
    const lasso_state *state = problem->state;
    double gain = 0;

    for (uint32_t k = 0; k < problem->n; k++) {
        const uint32_t j = strads_block_param(problem->block, k);
        const double *row = problem->gram + (size_t)k * problem->n;
        const double shrink =
            state->l2 * lasso_scale(state, j) * lasso_scale(state, j);
        const double w = problem->w[k], curvature = row[k] + shrink;
        const double step =
            lasso_step(state, j, w, problem->q[k] - shrink * w, curvature);
        if (step == 0)
            continue;
        problem->w[k] = w + step;
        state->kernels->add_dense(problem->n, -step, row, problem->q);
        gain += curvature / 2 * step * step;
    }
    return gain;
}

/* The commit: the change, and what it gained as the new priority. */
static void commit_block(strads_commit *commit, const block_problem *problem)
{
    lasso_state *state = commit->state;

    for (uint32_t k = 0; k < problem->n; k++) {
        const uint32_t j = strads_block_param(problem->block, k);
        const double change = problem->w[k] - commit->value[k];
        const double norm = problem->gram[(size_t)k * problem->n + k];
        commit->change[k] = change;
        commit->priority[k] = norm / 2 * change * change;
        state->intercept -= state->mean[j] * change;
    }
}

/* Room for q, w and the square of n parameters. */
static strads_err reserve(lasso_state *state, size_t n)
{
    const size_t capacity = n * (n + 2);

    if (capacity <= state->room_block)
        return STRADS_OK;
    double *block = realloc(state->block, capacity * sizeof(*block));
    if (!block)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for a block of %zu columns: %zu bytes", n,
                           capacity * sizeof(*block));
    state->block = block;
    state->room_block = capacity;
    return STRADS_OK;
}

/* The engine lets no block leave before its pairs are known. */
static strads_err no_pairs(uint32_t n)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to gather the pairs of a block of %u columns",
                       n);
}

strads_err lasso_solve_block(strads_commit *commit)
{
    lasso_state *state = commit->state;
    const uint32_t n = commit->block.n;
    const double *pairs = strads_commit_pairs(commit);
    const strads_err err = pairs ? reserve(state, n) : no_pairs(n);

    if (err)
        return err;
    double *q = state->block, *w = q + n, *gram = w + n;
    memcpy(q, commit->partial, n * sizeof(*q));
    memcpy(w, commit->value, n * sizeof(*w));
    const double sum = correct(commit, q, commit->partial[n]);
    if (state->options.intercept) {
        for (uint32_t k = 0; k < n; k++)
            q[k] -= sum * state->mean[strads_block_param(&commit->block, k)];
        centre(state, &commit->block, pairs, gram);
        pairs = gram;
    }
    block_problem problem = {.state = state,
                             .block = &commit->block,
                             .n = n,
                             .gram = pairs,
                             .q = q,
                             .w = w};
    const double first = sweep(&problem);
    double gain = first;
    for (uint32_t i = 1; i < SWEEPS_MAX && gain > first * SETTLED; i++)
        gain = sweep(&problem);
    commit_block(commit, &problem);
    lasso_note_block(commit);
    return STRADS_OK;
}
