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

#include "numeric/linear_cholesky.h"
#include "columns_parts.h"

enum { MOST_COLUMNS = 5000 };

/* A column with a deviation below this share of its mean is constant: the rest
 * is rounding. */
static const double CONSTANT = 1e-13;

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

static double constant_variance(double mean, double p)
{
    (void)mean, (void)p;
    return 1;
}

static double poisson_variance(double mean, double p)
{
    (void)p;
    return mean;
}

static double bernoulli_variance(double mean, double p)
{
    (void)p;
    return mean * (1 - mean);
}

static double gamma_variance(double mean, double p)
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

static const family families[] = {
    {"squared", true, constant_variance, constant_variance},
    {"logistic", false, bernoulli_variance, bernoulli_variance},
    {"poisson", false, poisson_variance, poisson_variance},
    {"gamma", true, constant_variance, gamma_variance},
    {"tweedie", true, tweedie_weight, tweedie_variance}};

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
static double weigh_rows(information *info, const family *of, const double *w,
                         double b)
{
    const glm_problem *problem = info->problem;
    double pearson = 0;
    for (uint64_t i = 0; i < info->rows; i++) {
        double z = b + info->offset[i];
        for (uint64_t e = info->x->start[i]; e < info->x->start[i + 1]; e++)
            z += w[info->x->index[e]] * strads_sparse_value(info->x, e);
        const double mean = problem->loss->mean(z);
        const double y =
            problem->loss->labels == GLM_CLASSES ? info->y[i] > 0 : info->y[i];
        info->v[i] = info->c[i] * of->weight(mean, problem->p);
        info->total += info->v[i];
        if (info->c[i] > 0)
            pearson += info->c[i] * (y - mean) * (y - mean) /
                       of->variance(mean, problem->p);
    }
    return pearson;
}

/* Computes the columns' origins, and the means of what is left. */
static void find_means(information *info)
{
    uint64_t *count =
        (uint64_t *)(void *)info->matrix; /* free until products */
    for (uint64_t e = 0; e < info->x->nnz; e++)
        count[info->x->index[e]]++;
    for (uint64_t i = 0; i < info->rows; i++)
        for (uint64_t e = info->x->start[i]; e < info->x->start[i + 1]; e++)
            info->origin[info->x->index[e]] +=
                info->v[i] / info->total * strads_sparse_value(info->x, e);
    for (uint32_t j = 0; j < info->cols; j++)
        info->origin[j] = count[j] == info->rows ? info->origin[j] : 0;
    for (uint64_t i = 0; i < info->rows; i++)
        for (uint64_t e = info->x->start[i]; e < info->x->start[i + 1]; e++) {
            const uint32_t j = info->x->index[e];
            info->mean[j] +=
                info->v[i] / info->total *
                (strads_sparse_value(info->x, e) - info->origin[j]);
        }
    memset(count, 0, info->cols * sizeof *count);
}

/* Adds v x x' of all rows to the lower half of the matrix. */
static void add_products(information *info)
{
    for (uint64_t i = 0; i < info->rows; i++) {
        const uint64_t from = info->x->start[i], end = info->x->start[i + 1];
        for (uint64_t e = from; e < end; e++) {
            const uint32_t j = info->x->index[e];
            const double at = strads_sparse_value(info->x, e) - info->origin[j];
            double *line = info->matrix + (size_t)j * info->cols;
            info->line[e - from] = at;
            for (uint64_t f = from; f <= e; f++)
                line[info->x->index[f]] +=
                    info->v[i] * at * info->line[f - from];
        }
    }
    for (uint32_t j = 0; j < info->cols; j++)
        for (uint32_t l = 0; l <= j; l++)
            info->matrix[(size_t)j * info->cols + l] -=
                info->total * info->mean[j] * info->mean[l];
}

/* ---- the inverse --------------------------------------------------------- */

/* Scales the matrix to a diagonal of 1, which makes pivots comparable, and
 * factors it. `scale` becomes the roots of the diagonal. */
static strads_err factor_matrix(information *info, double *scale)
{
    for (uint32_t j = 0; j < info->cols; j++) {
        const double own = info->matrix[(size_t)j * info->cols + j];
        const double nothing = CONSTANT * info->origin[j];
        if (!(own > info->total * nothing * nothing))
            return strads_fail(STRADS_EINVAL,
                               "column %" PRIu32 " is constant: it has no "
                               "standard error; leave it out",
                               j + 1);
        scale[j] = sqrt(own);
    }
    for (uint32_t j = 0; j < info->cols; j++)
        for (uint32_t l = 0; l <= j; l++)
            info->matrix[(size_t)j * info->cols + l] /= scale[j] * scale[l];
    linear_factor(column_kernels_choose(info->cols), info->cols, info->matrix);
    for (uint32_t j = 0; j < info->cols; j++)
        if (info->matrix[(size_t)j * info->cols + j] >= LINEAR_DEPENDENT)
            return strads_fail(STRADS_EINVAL,
                               "column %" PRIu32 " depends on those before it: "
                               "there are no standard errors; leave it out",
                               j + 1);
    return STRADS_OK;
}

/* u' H^-1 u for a vector in units of the scaled matrix, which is
 * overwritten: the squares of L^-1 u. */
static double inverse_form(const information *info, uint32_t first, double *u)
{
    double sum = 0;
    for (uint32_t j = first; j < info->cols; j++) {
        const double *line = info->matrix + (size_t)j * info->cols;
        for (uint32_t l = first; l < j; l++)
            u[j] -= line[l] * u[l];
        u[j] /= line[j];
        sum += u[j] * u[j];
    }
    return sum;
}

static void put_errors(information *info, const double *scale,
                       double dispersion, double *se)
{
    const bool intercept = info->problem->options.intercept;
    double *u = info->line;
    for (uint32_t j = 0; j < info->cols; j++) {
        memset(u + j, 0, (info->cols - j) * sizeof *u);
        u[j] = 1;
        se[j] = sqrt(dispersion * inverse_form(info, j, u)) / scale[j];
    }
    for (uint32_t j = 0; j < info->cols; j++)
        u[j] = (info->origin[j] + info->mean[j]) / scale[j];
    se[info->cols] =
        intercept
            ? sqrt(dispersion * (1 / info->total + inverse_form(info, 0, u)))
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
    if (glm_has_bounds(&problem->options))
        return strads_fail(STRADS_EINVAL,
                           "standard errors are for fits without bounds, and "
                           "this one has lower %g and upper %g; fit again "
                           "without them",
                           problem->options.lower, problem->options.upper);
    if (glm_weighs_classes(&problem->options))
        return strads_fail(STRADS_EINVAL,
                           "standard errors are for fits without class-weight, "
                           "and this one has \"%s\"; give the rows weights "
                           "instead",
                           problem->options.class_weight);
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

static strads_err read_all_rows(information *info, const strads_share *share)
{
    const strads_glm_options *o = &info->problem->options;
    const linear_weights weights = {o->weights, o->row_weight};
    strads_err err = linear_read_weights(weights, share, info->rows, info->c);
    if (!err)
        err = columns_targets(info->problem, share, info->y, info->c, NULL);
    return err ? err
               : glm_read_offsets(o, &share->rows, info->rows, info->offset);
}

static strads_err find_errors(information *info, const strads_share *share,
                              const double *w, double b, double *se,
                              strads_glm_dispersion *dispersion)
{
    const bool intercept = info->problem->options.intercept;
    const family *of = NULL;
    double used = 0;
    strads_err err = find_family(info->problem, &of);
    if (!err)
        err = read_all_rows(info, share);
    if (err)
        return err;
    const double pearson = weigh_rows(info, of, w, b);
    for (uint64_t i = 0; i < info->rows; i++)
        used += info->c[i] > 0;
    if (!(info->total > 0 && isfinite(info->total) && isfinite(pearson)))
        return strads_fail(STRADS_EINVAL,
                           "the means of the rows are at a limit of the "
                           "family, as of separable classes: there are no "
                           "standard errors");
    const double dof = used - info->cols - intercept;
    if (dof <= 0)
        return strads_fail(STRADS_EINVAL,
                           "%.0f rows with a weight leave no degrees of "
                           "freedom for %" PRIu32 " coefficients%s",
                           used, info->cols,
                           intercept ? " and an intercept" : "");
    if (intercept)
        find_means(info);
    add_products(info);
    double *scale = info->v; /* rows are more than columns; no longer used */
    if ((err = factor_matrix(info, scale)))
        return err;
    *dispersion = (strads_glm_dispersion){of->estimated ? pearson / dof : 1,
                                          dof, of->estimated};
    put_errors(info, scale, dispersion->value, se);
    return STRADS_OK;
}

strads_err strads_glm_errors(const strads_data *data,
                             const strads_glm_options *options, const double *w,
                             double b, double *se,
                             strads_glm_dispersion *dispersion)
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
    information info = {.problem = &problem,
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
    err = find_errors(&info, share, w, b, se, dispersion);
    free(room);
    return err;
}
