/* Newton's method for an L2 penalty alone. The step (d, d_b) solves
 *
 *     (X'HX + L2 s^2) d + X'h d_b = X'r - L2 s^2 w
 *               h'X d + sum h d_b = sum r
 *
 * by conjugate gradients, so far as it pays (Dembo, Eisenstat, Steihaug,
 * "Inexact Newton methods", SIAM J. Numerical Analysis 19, 1982): workers
 * multiply, all else is here. The direction travels as parameters of its own,
 * behind the coefficients. Where columns are few the Cholesky factor of the
 * same matrix, of a sample of the rows, at some point not far back, is what
 * preconditions; where they are many its diagonal, roughly.
 *
 * The next scan tells whether the whole step lowers P; if it does not, half of
 * it is taken back, and so on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"
#include "apps/kernels/outer_kernels.h"
#include "logistic_parts.h"

enum { HALVINGS_MAX = 40, PRODUCTS_MAX = 200 };
/* A factor is made anew after a step that took more products than this. */
#define MANY_PRODUCTS 16
/* The largest residual of a step, relative to its right side. */
#define LOOSEST .25
/* What a sample says of dependent columns is not to be trusted. */
#define JITTER 1e-8

bool logistic_is_ridge(const strads_logistic_options *options,
                       const strads_data *data, uint32_t width)
{
    return options->l1_ratio == 0 && strads_data_cols(data) > 0 &&
           !logistic_is_softmax(options, width) && outer_product_suits(data);
}

/* ---- memory ------------------------------------------------------------ */

strads_err logistic_ridge_new(uint64_t columns, logistic_ridge *ridge)
{
    double **lines[] = {&ridge->step, &ridge->rest,  &ridge->scaled,
                        &ridge->told, &ridge->value, &ridge->product};
    const uint64_t n = columns + 1;
    bool there = true;

    ridge->used = true;
    for (size_t k = 0; k < sizeof(lines) / sizeof(*lines); k++) {
        *lines[k] = calloc(n, sizeof(double));
        there = there && *lines[k];
    }
    ridge->param = malloc(n * sizeof(*ridge->param));
    ridge->matrix = malloc(n * n * sizeof(double));
    if (!there || !ridge->param || !ridge->matrix)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the Hessian of %llu columns",
                           (unsigned long long)columns);
    for (uint64_t j = 0; j < n; j++)
        ridge->param[j] = (uint32_t)(n + j);
    return STRADS_OK;
}

void logistic_ridge_free(logistic_ridge *ridge)
{
    free(ridge->matrix);
    free(ridge->step);
    free(ridge->rest);
    free(ridge->scaled);
    free(ridge->told);
    free(ridge->value);
    free(ridge->product);
    free(ridge->param);
}

void logistic_ridge_clear(uint64_t columns, logistic_ridge *ridge)
{
    if (!ridge->used)
        return;
    memset(ridge->told, 0, (columns + 1) * sizeof(*ridge->told));
    ridge->share = 0;
    ridge->factored = false;
}

/* ---- steps ------------------------------------------------------------- */

/* The numbers of a step: one a column, then that of b. */
static uint32_t count(const logistic_state *state)
{
    return (uint32_t)state->columns + 1;
}

/* Moves all coefficients and b by `share` of the step. */
static strads_err go(strads_commit *commit, double share)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const uint32_t last = (uint32_t)state->columns;
    uint32_t *column = state->candidate;

    for (uint32_t j = 0; j <= last; j++) {
        column[j] = j;
        ridge->value[j] = share * ridge->step[j];
    }
    state->next = LOGISTIC_TO_SCAN;
    if (!state->options.intercept)
        return logistic_also(commit, last, column, ridge->value);
    state->b[state->target] += ridge->value[last];
    return logistic_also(commit, last + 1, column, ridge->value);
}

/* Tells workers the direction `scaled + share x the one before`. */
static strads_err turn_to(strads_commit *commit, double share)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;

    for (uint32_t j = 0; j < count(state); j++) {
        ridge->value[j] =
            ridge->scaled[j] + share * ridge->told[j] - ridge->told[j];
        ridge->told[j] += ridge->value[j];
    }
    state->next = LOGISTIC_TO_PRODUCT;
    if (commit->phase != LOGISTIC_PRODUCT)
        return logistic_also(commit, count(state), ridge->param, ridge->value);
    for (uint32_t j = 0; j < count(state); j++) /* it is the block */
        commit->change[logistic_at(state, j)] = ridge->value[j];
    return STRADS_OK;
}

/* scaled = M^-1 rest, over what may move. */
static void precondition(logistic_state *state)
{
    logistic_ridge *ridge = &state->ridge;
    const uint32_t n = state->n_alive, last = (uint32_t)state->columns;
    const uint32_t all = n + state->options.intercept;
    double *x = ridge->value;

    for (uint32_t k = 0; k < n; k++)
        x[k] = ridge->rest[state->alive[k]];
    x[n] = ridge->rest[last];
    linear_solve(state->kernels, all, ridge->matrix, x);
    for (uint32_t k = 0; k < n; k++)
        ridge->scaled[state->alive[k]] = x[k];
    ridge->scaled[last] = state->options.intercept ? x[n] : 0;
}

static double fall(const logistic_state *state)
{
    return state->kernels->dot_dense(count(state), state->ridge.rest,
                                     state->ridge.scaled);
}

/* Conjugate gradients from a step of 0. */
static strads_err begin_step(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;

    memset(ridge->step, 0, count(state) * sizeof(double));
    precondition(state);
    ridge->fall = ridge->first = fall(state);
    ridge->products = 0;
    return turn_to(commit, 0);
}

/* The right side: slopes as they are told are those of centred columns. */
static void read_slopes(logistic_state *state)
{
    logistic_ridge *ridge = &state->ridge;

    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        ridge->rest[j] = state->slope[j] + state->mean[j] * state->level;
    }
    ridge->rest[state->columns] = state->options.intercept ? state->level : 0;
}

strads_err logistic_ridge_judge(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const bool better = state->primal <= ridge->before * (1 + 1e-15);

    if (ridge->share > 0 && !better && ridge->halvings++ < HALVINGS_MAX) {
        ridge->share /= 2;
        return go(commit, -ridge->share);
    }
    if (ridge->share > 0 &&
        ridge->before - state->primal <= 1e-16 * state->primal &&
        ++state->watch.idle >= 3)
        state->watch.stalled = true;
    ridge->before = state->primal;
    read_slopes(state);
    if (ridge->factored && ridge->products <= MANY_PRODUCTS)
        return begin_step(commit);
    state->next = LOGISTIC_TO_HESSIAN;
    return STRADS_OK;
}

/* What the sample says of b and the columns, as if it were all rows. */
static void fill_matrix(strads_commit *commit, double stride)
{
    logistic_state *state = commit->state;
    const uint32_t n = state->n_alive, all = n + state->options.intercept;
    const double *merged = commit->partial, *level = merged + (size_t)n * n;
    const double jitter = stride > 1 ? 1 + JITTER : 1;
    double *matrix = state->ridge.matrix;

    for (uint32_t i = 0; i < all; i++) {
        const double *from = i < n ? merged + (size_t)i * n : level;
        double *row = matrix + (size_t)i * all;
        for (uint32_t k = 0; k <= i; k++)
            row[k] = stride * from[k];
        row[i] *= jitter;
    }
    for (uint32_t i = 0; i < n; i++) {
        const double s = state->scale[state->alive[i]];
        matrix[(size_t)i * all + i] += state->l2 * s * s;
    }
    if (all > n && !(level[n] > 0)) /* no row of the sample has a weight */
        matrix[(size_t)n * all + n] = state->weight;
}

strads_err logistic_ridge_factor(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;

    fill_matrix(commit, (double)ridge->stride);
    linear_factor(state->kernels, state->n_alive + state->options.intercept,
                  ridge->matrix);
    ridge->factored = true;
    return begin_step(commit);
}

/* How small the residual has to be: steps that are nearly right already are
 * worth being exact, but no more than the tolerance asks. */
static double enough(const logistic_state *state, double tolerance)
{
    const double gap = state->gap / state->primal;
    const double useful = fmax(sqrt(gap), .3 * sqrt(tolerance / gap));

    return fmin(useful, LOOSEST);
}

/* rest -= length x A d, step += length x d; d'A d is what length needs. */
static bool advance(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const column_kernels *kernels = state->kernels;
    const uint32_t n = count(state), last = n - 1;
    double *product = ridge->product;

    memset(product, 0, n * sizeof(*product));
    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        const double s = state->scale[j];
        product[j] = commit->partial[j] + state->l2 * s * s * ridge->told[j];
    }
    if (state->options.intercept)
        product[last] = commit->partial[last];
    const double bend = kernels->dot_dense(n, product, ridge->told);
    if (!(bend > 0))
        return false;
    kernels->add_dense(n, ridge->fall / bend, ridge->told, ridge->step);
    kernels->add_dense(n, -ridge->fall / bend, product, ridge->rest);
    return true;
}

strads_err logistic_ridge_multiply(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_ridge *ridge = &state->ridge;
    const double small = enough(state, commit->tolerance);
    const double before = ridge->fall;
    const bool advanced = advance(commit);

    if (advanced)
        precondition(state);
    ridge->fall = advanced ? fall(state) : 0;
    if (ridge->fall > small * small * ridge->first &&
        ++ridge->products < PRODUCTS_MAX)
        return turn_to(commit, ridge->fall / before);
    ridge->share = 1;
    ridge->halvings = 0;
    return go(commit, 1);
}
