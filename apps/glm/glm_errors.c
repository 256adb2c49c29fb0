/* Standard errors: the inverse of the expected information sum v x x' of the
 * rows, v = c (d mean / d z)^2 / V(mean). With an intercept, columns are used
 * less their means by v, so that slopes and b separate: the variance of b is
 * that of b at the means, 1 / sum v, plus that of the means' sum. A column
 * without implied zeros loses its mean before products are added up, so that a
 * mean far above the deviation costs no digits. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"
#include "columns_parts.h"

enum { MOST_COLUMNS = 5000 };

typedef struct information {
    const glm_problem *problem;
    const strads_sparse *x;
    uint64_t rows;
    uint32_t cols;
    double *y, *c, *offset; /* [rows] */
    double *v;              /* [rows] */
    double *origin;         /* [cols] taken from a column's entries */
    double *mean;           /* [cols] of what is left, by v */
    double *matrix;         /* [cols x cols] */
    double *line;           /* [cols] */
    double total;           /* sum v */
} information;

/* ---- the families -------------------------------------------------------- */

typedef struct family {
    const char *loss;
    bool estimated; /* has a dispersion of its own */
    /* The expected information of a row in z, and the variance V. */
    double (*weight)(double mean, double p);
    double (*variance)(double mean, double p);
} family;

static double one(double mean, double p)
{
    (void)mean, (void)p;
    return 1;
}

static double itself(double mean, double p)
{
    (void)p;
    return mean;
}

static double of_classes(double mean, double p)
{
    (void)p;
    return mean * (1 - mean);
}

static double mean_square(double mean, double p)
{
    (void)p;
    return mean * mean;
}

static double tweedie_weight(double mean, double p)
{
    return pow(mean, 2 - p);
}

static double tweedie_variance(double mean, double p)
{
    return pow(mean, p);
}

static const family families[] = {{"squared", true, one, one},
                                  {"logistic", false, of_classes, of_classes},
                                  {"poisson", false, itself, itself},
                                  {"gamma", true, one, mean_square},
                                  {"tweedie", true, tweedie_weight,
                                   tweedie_variance}};

static strads_err find_family(const glm_problem *problem, const family **out)
{
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        if (strcmp(families[k].loss, problem->options.loss) == 0) {
            *out = &families[k];
            return STRADS_OK;
        }
    }
    return strads_fail(STRADS_EINVAL,
                       "standard errors are for the losses squared, logistic, "
                       "poisson, gamma and tweedie, and this one is %s",
                       problem->options.loss);
}

/* ---- rows ---------------------------------------------------------------- */

/* Computes v of each row, and Pearson's sum c (y - mean)^2 / V(mean). */
static double weigh_rows(information *n, const family *of, const double *w,
                         double b)
{
    const glm_problem *problem = n->problem;
    double pearson = 0;
    for (uint64_t i = 0; i < n->rows; i++) {
        double z = b + n->offset[i];
        for (uint64_t e = n->x->start[i]; e < n->x->start[i + 1]; e++)
            z += w[n->x->index[e]] * strads_sparse_value(n->x, e);
        const double mean = problem->loss->mean(z);
        const double y =
            problem->loss->labels == GLM_CLASSES ? n->y[i] > 0 : n->y[i];
        n->v[i] = n->c[i] * of->weight(mean, problem->p);
        n->total += n->v[i];
        if (n->c[i] > 0)
            pearson += n->c[i] * (y - mean) * (y - mean) /
                       of->variance(mean, problem->p);
    }
    return pearson;
}

/* Computes the columns' origins, and the means of what is left. */
static void find_means(information *n)
{
    uint64_t *count = (uint64_t *)(void *)n->matrix; /* free until products */
    for (uint64_t e = 0; e < n->x->nnz; e++)
        count[n->x->index[e]]++;
    for (uint64_t i = 0; i < n->rows; i++)
        for (uint64_t e = n->x->start[i]; e < n->x->start[i + 1]; e++)
            n->origin[n->x->index[e]] +=
                n->v[i] / n->total * strads_sparse_value(n->x, e);
    for (uint32_t j = 0; j < n->cols; j++)
        n->origin[j] = count[j] == n->rows ? n->origin[j] : 0;
    for (uint64_t i = 0; i < n->rows; i++)
        for (uint64_t e = n->x->start[i]; e < n->x->start[i + 1]; e++) {
            const uint32_t j = n->x->index[e];
            n->mean[j] += n->v[i] / n->total *
                          (strads_sparse_value(n->x, e) - n->origin[j]);
        }
    memset(count, 0, n->cols * sizeof *count);
}

/* Adds v x x' of all rows to the lower half of the matrix. */
static void add_products(information *n)
{
    for (uint64_t i = 0; i < n->rows; i++) {
        const uint64_t from = n->x->start[i], end = n->x->start[i + 1];
        for (uint64_t e = from; e < end; e++) {
            const uint32_t j = n->x->index[e];
            const double at = strads_sparse_value(n->x, e) - n->origin[j];
            double *line = n->matrix + (size_t)j * n->cols;
            n->line[e - from] = at;
            for (uint64_t f = from; f <= e; f++)
                line[n->x->index[f]] += n->v[i] * at * n->line[f - from];
        }
    }
    for (uint32_t j = 0; j < n->cols; j++)
        for (uint32_t l = 0; l <= j; l++)
            n->matrix[(size_t)j * n->cols + l] -=
                n->total * n->mean[j] * n->mean[l];
}

/* ---- the inverse --------------------------------------------------------- */

/* Scales the matrix to a diagonal of 1, which makes pivots comparable, and
 * factors it. `scale` becomes the roots of the diagonal. */
static strads_err factor_matrix(information *n, double *scale)
{
    for (uint32_t j = 0; j < n->cols; j++) {
        const double own = n->matrix[(size_t)j * n->cols + j];
        if (!(own > 0))
            return strads_fail(STRADS_EINVAL,
                               "column %" PRIu32 " is constant: it has no "
                               "standard error; leave it out",
                               j + 1);
        scale[j] = sqrt(own);
    }
    for (uint32_t j = 0; j < n->cols; j++)
        for (uint32_t l = 0; l <= j; l++)
            n->matrix[(size_t)j * n->cols + l] /= scale[j] * scale[l];
    linear_factor(column_kernels_choose(n->cols), n->cols, n->matrix);
    for (uint32_t j = 0; j < n->cols; j++)
        if (n->matrix[(size_t)j * n->cols + j] >= LINEAR_DEPENDENT)
            return strads_fail(STRADS_EINVAL,
                               "column %" PRIu32 " depends on those before it: "
                               "there are no standard errors; leave it out",
                               j + 1);
    return STRADS_OK;
}

/* u' H^-1 u for a vector in units of the scaled matrix, which is
 * overwritten: the squares of L^-1 u. */
static double spread_along(const information *n, uint32_t first, double *u)
{
    double sum = 0;
    for (uint32_t j = first; j < n->cols; j++) {
        const double *line = n->matrix + (size_t)j * n->cols;
        for (uint32_t l = first; l < j; l++)
            u[j] -= line[l] * u[l];
        u[j] /= line[j];
        sum += u[j] * u[j];
    }
    return sum;
}

static void put_errors(information *n, const double *scale, double dispersion,
                       double *se)
{
    const bool intercept = n->problem->options.intercept;
    double *u = n->line;
    for (uint32_t j = 0; j < n->cols; j++) {
        memset(u + j, 0, (n->cols - j) * sizeof *u);
        u[j] = 1;
        se[j] = sqrt(dispersion * spread_along(n, j, u)) / scale[j];
    }
    for (uint32_t j = 0; j < n->cols; j++)
        u[j] = (n->origin[j] + n->mean[j]) / scale[j];
    se[n->cols] =
        intercept ? sqrt(dispersion * (1 / n->total + spread_along(n, 0, u)))
                  : 0;
}

/* ---- the call ------------------------------------------------------------ */

static strads_err check_fit(const strads_data *data, const glm_problem *problem)
{
    const strads_share *share = strads_data_share(data, 0);
    if (!problem->penalty->off)
        return strads_fail(STRADS_EINVAL,
                           "standard errors are for fits without a penalty, "
                           "and this one has %s",
                           problem->options.penalty);
    if (share->partitions != 1 || !share->by_row.start || !share->label)
        return strads_fail(STRADS_EINVAL,
                           "standard errors need data with labels and "
                           "compressed rows in one partition");
    return strads_data_cols(data) > MOST_COLUMNS
               ? strads_fail(STRADS_ELIMIT,
                             "standard errors are for at most %d columns; "
                             "there are %" PRIu64,
                             MOST_COLUMNS, strads_data_cols(data))
               : STRADS_OK;
}

static strads_err read_all_rows(information *n, const strads_share *share)
{
    const strads_glm_options *o = &n->problem->options;
    const linear_weights weights = {o->weights, o->row_weight};
    strads_err err = columns_targets(n->problem, share, n->y, NULL);
    if (!err)
        err = linear_read_weights(weights, share, n->rows, n->c);
    return err ? err : glm_read_offsets(o, &share->rows, n->rows, n->offset);
}

static strads_err find_errors(information *n, const strads_share *share,
                              const double *w, double b, double *se,
                              strads_glm_spread *spread)
{
    const bool intercept = n->problem->options.intercept;
    const family *of = NULL;
    double used = 0;
    strads_err err = find_family(n->problem, &of);
    if (!err)
        err = read_all_rows(n, share);
    if (err)
        return err;
    const double pearson = weigh_rows(n, of, w, b);
    for (uint64_t i = 0; i < n->rows; i++)
        used += n->c[i] > 0;
    const double dof = used - n->cols - intercept;
    if (dof <= 0)
        return strads_fail(STRADS_EINVAL,
                           "%.0f rows with a weight leave no degrees of "
                           "freedom for %" PRIu32 " coefficients%s",
                           used, n->cols, intercept ? " and an intercept" : "");
    if (intercept)
        find_means(n);
    add_products(n);
    double *scale = n->v; /* rows are more than columns; no longer used */
    if ((err = factor_matrix(n, scale)))
        return err;
    *spread = (strads_glm_spread){of->estimated ? pearson / dof : 1, dof,
                                  of->estimated};
    put_errors(n, scale, spread->dispersion, se);
    return STRADS_OK;
}

strads_err strads_glm_errors(const strads_data *data,
                             const strads_glm_options *options, const double *w,
                             double b, double *se, strads_glm_spread *spread)
{
    glm_problem problem;
    strads_err err = glm_options_resolve(options, &problem);
    if (err || (err = check_fit(data, &problem)))
        return err;
    const strads_share *share = strads_data_share(data, 0);
    const uint64_t rows = strads_data_rows(data);
    const size_t cols = strads_data_cols(data);
    double *room = calloc(4 * rows + 3 * cols + cols * cols + 1, sizeof *room);
    if (!room)
        return strads_fail(STRADS_ENOMEM,
                           "no memory left for the information of %zu columns",
                           cols);
    information n = {.problem = &problem,
                     .x = &share->by_row,
                     .rows = rows,
                     .cols = (uint32_t)cols,
                     .y = room,
                     .c = room + rows,
                     .offset = room + 2 * rows,
                     .v = room + 3 * rows,
                     .origin = room + 4 * rows,
                     .mean = room + 4 * rows + cols,
                     .line = room + 4 * rows + 2 * cols,
                     .matrix = room + 4 * rows + 3 * cols};
    err = find_errors(&n, share, w, b, se, spread);
    free(room);
    return err;
}
