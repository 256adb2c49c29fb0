#include "linear_ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "outer_kernels.h"
#include "linear_cholesky.h"

enum { HALVINGS_MAX = 40, PRODUCTS_MAX = 200 };
/* A factor is recomputed after a step that took more products than this. */
#define MANY_PRODUCTS 16
/* The largest residual of a step, relative to its right side. */
#define LOOSEST .25
/* Regularises the sample, which is unreliable for dependent columns. */
#define JITTER 1e-8
/* The fit ends after this many steps that lower P only within rounding. */
enum { IDLE_MAX = 3 };

bool linear_ridge_suits(uint64_t rows, uint64_t columns, uint64_t entries)
{
    return columns > 0 && outer_product_suits(rows, columns, entries);
}

/* ---- memory ------------------------------------------------------------ */

strads_err linear_ridge_new(uint64_t rows, uint64_t columns, uint32_t width,
                            bool intercept, linear_ridge *ridge)
{
    double **lines[] = {&ridge->l2,     &ridge->rest, &ridge->value,
                        &ridge->step,   &ridge->told, &ridge->scaled,
                        &ridge->product};
    const uint64_t n = columns + 1;
    bool there = true;

    *ridge = (linear_ridge){.used = true,
                            .kernels = column_kernels_choose(rows),
                            .columns = columns,
                            .width = width,
                            .intercept = intercept,
                            .stride = linear_ridge_stride(rows, columns)};
    for (size_t k = 0; k < sizeof(lines) / sizeof(*lines); k++) {
        *lines[k] = calloc(n, sizeof(double));
        there = there && *lines[k];
    }
    ridge->column = calloc(n, sizeof(*ridge->column));
    ridge->matrix = malloc(n * n * sizeof(double));
    if (!there || !ridge->column || !ridge->matrix)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the Hessian of %llu columns",
                           (unsigned long long)columns);
    return STRADS_OK;
}

void linear_ridge_free(linear_ridge *ridge)
{
    free(ridge->matrix);
    free(ridge->step);
    free(ridge->rest);
    free(ridge->scaled);
    free(ridge->told);
    free(ridge->value);
    free(ridge->product);
    free(ridge->l2);
    free(ridge->column);
}

void linear_ridge_clear(linear_ridge *ridge)
{
    ridge->share = 0;
    ridge->factored = false;
}

/* ---- steps ------------------------------------------------------------- */

/* The length of a row. */
static uint32_t line_length(const linear_ridge *ridge)
{
    return (uint32_t)ridge->columns + 1;
}

/* Moves all coefficients and b by `share` of the step. */
static linear_ridge_next move_by_share(linear_ridge *ridge, double share)
{
    for (uint32_t j = 0; j < line_length(ridge); j++)
        ridge->value[j] = share * ridge->step[j];
    return LINEAR_RIDGE_STEP;
}

/* Changes to the direction `scaled + share x the previous one`. */
static linear_ridge_next turn_direction(linear_ridge *ridge, double share)
{
    for (uint32_t j = 0; j < line_length(ridge); j++) {
        const double to = ridge->scaled[j] + share * ridge->told[j];
        ridge->value[j] = to - ridge->told[j];
        ridge->told[j] += ridge->value[j];
    }
    return LINEAR_RIDGE_PRODUCT;
}

/* scaled = M^-1 rest, over the movable parameters. */
static void precondition_rest(linear_ridge *ridge)
{
    const uint32_t n = ridge->n, last = (uint32_t)ridge->columns;
    double *x = ridge->value;

    for (uint32_t k = 0; k < n; k++)
        x[k] = ridge->rest[ridge->column[k]];
    x[n] = ridge->rest[last];
    linear_solve(ridge->kernels, n + ridge->intercept, ridge->matrix, x);
    for (uint32_t k = 0; k < n; k++)
        ridge->scaled[ridge->column[k]] = x[k];
    ridge->scaled[last] = ridge->intercept ? x[n] : 0;
}

static double fall_of(const linear_ridge *ridge)
{
    return ridge->kernels->dot_dense(line_length(ridge), ridge->rest,
                                     ridge->scaled);
}

/* Starts conjugate gradients from a step of 0. The previous step's direction
 * is among the caller's values, so this also works after a resume. */
static linear_ridge_next begin_gradients(linear_ridge *ridge,
                                         const double *value)
{
    const uint32_t n = line_length(ridge);

    for (uint32_t j = 0; j < n; j++)
        ridge->told[j] = value[(size_t)(n + j) * ridge->width + ridge->target];
    memset(ridge->step, 0, n * sizeof(double));
    memset(ridge->scaled, 0, n * sizeof(double));
    precondition_rest(ridge);
    ridge->fall = ridge->first = fall_of(ridge);
    ridge->products = 0;
    return turn_direction(ridge, 0);
}

linear_ridge_next linear_ridge_judge(linear_ridge *ridge, const double *value,
                                     uint32_t target, double primal,
                                     linear_watch *watch)
{
    const bool better = primal <= ridge->before * (1 + 1e-15);

    ridge->target = target;
    if (ridge->share > 0 && !better && ridge->halvings++ < HALVINGS_MAX) {
        ridge->share /= 2;
        return move_by_share(ridge, -ridge->share);
    }
    if (ridge->share > 0 && ridge->before - primal <= 1e-16 * primal &&
        ++watch->idle >= IDLE_MAX)
        watch->stalled = true;
    ridge->before = primal;
    return ridge->factored && ridge->products <= MANY_PRODUCTS
               ? begin_gradients(ridge, value)
               : LINEAR_RIDGE_HESSIAN;
}

double linear_ridge_left(const linear_ridge *ridge, double square)
{
    const uint32_t n = ridge->n, all = n + ridge->intercept;
    double *y = ridge->value, sum = 0;

    for (uint32_t i = 0; i < all; i++) {
        const double *line = ridge->matrix + (size_t)i * all;
        const uint32_t j = i < n ? ridge->column[i] : (uint32_t)ridge->columns;
        const double norm = i < n ? ridge->norm[j] : ridge->weight;
        const double off =
            ridge->rest[j] - ridge->kernels->dot_dense(i, line, y);
        const bool left_out = line[i] == LINEAR_DEPENDENT;
        const double blur = LINEAR_SLOPE_ROUNDING * sqrt(norm * square);
        const double bend = ridge->kernels->dot_dense(i, line, line);
        y[i] = left_out ? 0 : off / line[i];
        if (!left_out)
            sum += y[i] * y[i];
        else if (fabs(off) > blur && bend > 0)
            sum += (fabs(off) - blur) / (LINEAR_LEAST_BEND * bend) *
                   (fabs(off) - blur);
    }
    return sum / 2;
}

/* Computes the matrix of b and the columns from the sample, scaled to all
 * rows. */
static void fill_preconditioner(linear_ridge *ridge, const double *merged)
{
    const double stride = (double)ridge->stride;
    const uint32_t n = ridge->n, all = n + ridge->intercept;
    const double *level = merged + (size_t)n * n;
    const double jitter = stride > 1 ? 1 + JITTER : 1;
    double *matrix = ridge->matrix;

    for (uint32_t i = 0; i < all; i++) {
        const double *from = i < n ? merged + (size_t)i * n : level;
        double *row = matrix + (size_t)i * all;
        for (uint32_t k = 0; k <= i; k++)
            row[k] = stride * from[k];
        row[i] *= jitter;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t j = ridge->column[i];
        double *at = &matrix[(size_t)i * all + i];
        if (!(*at > 0)) /* all sampled rows are 0 there */
            *at = ridge->norm[j];
        *at += ridge->l2[j];
    }
    if (all > n && !(level[n] > 0)) /* no sampled row has a weight */
        matrix[(size_t)n * all + n] = ridge->weight;
}

linear_ridge_next linear_ridge_factor(linear_ridge *ridge, const double *value,
                                      const double *hessian)
{
    fill_preconditioner(ridge, hessian);
    linear_factor(ridge->kernels, ridge->n + ridge->intercept, ridge->matrix);
    ridge->factored = true;
    return begin_gradients(ridge, value);
}

/* The relative residual to reach: near the optimum steps are solved more
 * exactly, but not beyond the tolerance. */
static double residual_bound(double gap, double tolerance)
{
    const double useful = fmax(sqrt(gap), .3 * sqrt(tolerance / gap));

    return fmin(useful, LOOSEST);
}

/* rest -= length x A d, step += length x d; d'A d gives the length. */
static bool advance_gradients(linear_ridge *ridge, const double *merged)
{
    const column_kernels *kernels = ridge->kernels;
    const uint32_t n = line_length(ridge), last = n - 1;
    double *product = ridge->product;

    memset(product, 0, n * sizeof(*product));
    for (uint32_t k = 0; k < ridge->n; k++) {
        const uint32_t j = ridge->column[k];
        product[j] = merged[j] + ridge->l2[j] * ridge->told[j];
    }
    if (ridge->intercept)
        product[last] = merged[last];
    const double bend = kernels->dot_dense(n, product, ridge->told);
    if (!(bend > 0))
        return false;
    kernels->add_dense(n, ridge->fall / bend, ridge->told, ridge->step);
    kernels->add_dense(n, -ridge->fall / bend, product, ridge->rest);
    return true;
}

linear_ridge_next linear_ridge_multiply(linear_ridge *ridge,
                                        const double *merged, double gap,
                                        double tolerance)
{
    const double small = residual_bound(gap, tolerance), before = ridge->fall;
    const bool advanced = advance_gradients(ridge, merged);

    if (advanced)
        precondition_rest(ridge);
    ridge->fall = advanced ? fall_of(ridge) : 0;
    if (ridge->fall > small * small * ridge->first &&
        ++ridge->products < PRODUCTS_MAX)
        return turn_direction(ridge, ridge->fall / before);
    ridge->share = 1;
    ridge->halvings = 0;
    return move_by_share(ridge, 1);
}
