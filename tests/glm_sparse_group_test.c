/* The sparse-group Lasso against an accelerated proximal gradient method in
 * long double (Beck and Teboulle, SIAM J. Imaging Sci. 2, 2009, with restarts)
 * on random families: the reported gap bounds the distance from its minimum. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/linear_case.h"

enum { ROWS_MAX = 64, COLS_MAX = 32 };

/* One problem. */
typedef struct family {
    lasso_design d;
    strads_glm_options o;
    uint32_t group[COLS_MAX];
    double weight[ROWS_MAX], offset[ROWS_MAX], factor[COLS_MAX];
} family;

typedef struct iterate {
    long double v[COLS_MAX + 1]; /* scaled coefficients, then b */
} iterate;

/* ---- the problem, from docs/glm.md --------------------------------------- */

static bool is_logistic(const family *f)
{
    return strcmp(f->o.loss, "logistic") == 0;
}

static long double weight_of(const family *f, uint64_t i)
{
    return f->o.row_weight ? f->weight[i] : 1;
}

static long double total_of(const family *f)
{
    long double sum = 0;

    for (uint64_t i = 0; i < f->d.rows; i++)
        sum += weight_of(f, i);
    return sum;
}

/* Deviation of a column if it is standardised. */
static long double scale_of(const family *f, uint64_t j)
{
    const double *x = lasso_design_col(&f->d, j);
    long double mean = 0, square = 0;

    for (uint64_t i = 0; i < f->d.rows && f->o.standardize; i++) {
        const long double c = weight_of(f, i) / total_of(f);
        mean += f->o.intercept ? c * x[i] : 0;
        square += c * x[i] * x[i];
    }
    return f->o.standardize ? sqrtl(square - mean * mean) : 1;
}

static long double share_of(const family *f)
{
    return f->o.l1_ratio > 0 ? f->o.l1_ratio : .5;
}

/* The members of column j's group; true if j is its first. */
static bool list_group(const family *f, uint64_t j, uint32_t *n, uint64_t *of)
{
    *n = 0;
    for (uint64_t i = 0; i < f->d.cols; i++)
        if (f->group[i] == f->group[j])
            of[(*n)++] = i;
    return of[0] == j;
}

/* Fills in margins; returns the loss. */
static long double loss_at(const family *f, const long double *scale,
                           const iterate *at, long double *slope)
{
    const long double all = total_of(f);
    long double sum = 0;

    for (uint64_t i = 0; i < f->d.rows; i++) {
        const long double c = weight_of(f, i) / all;
        long double z = at->v[f->d.cols];
        z += f->o.row_offset ? f->offset[i] : 0;
        for (uint64_t j = 0; j < f->d.cols; j++)
            z += lasso_design_col(&f->d, j)[i] / scale[j] * at->v[j];
        const long double y = f->d.y[i], s = y > 0 ? 1 : -1;
        if (is_logistic(f)) {
            sum += c * (s * z > 0 ? log1pl(expl(-s * z))
                                  : log1pl(expl(s * z)) - s * z);
            slope[i] = -c * s / (1 + expl(s * z));
        } else {
            sum += c * (z - y) * (z - y) / 2;
            slope[i] = c * (z - y);
        }
    }
    return sum;
}

static long double penalty_at(const family *f, double lambda, const iterate *at)
{
    const long double a = share_of(f);
    long double sum = 0;
    uint64_t of[COLS_MAX];
    uint32_t n;

    for (uint64_t j = 0; j < f->d.cols; j++) {
        const long double c = f->o.penalty_factor ? f->factor[j] : 1;
        long double square = 0, ones = 0;
        if (!list_group(f, j, &n, of))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            ones += fabsl(at->v[of[k]]);
            square += at->v[of[k]] * at->v[of[k]];
        }
        sum += lambda * c * (a * ones + (1 - a) * sqrtl(n * square));
    }
    return sum;
}

/* ---- the oracle ---------------------------------------------------------- */

static void shrink_point(const family *f, double lambda, long double step,
                         iterate *at)
{
    const long double a = share_of(f);
    uint64_t of[COLS_MAX];
    uint32_t n;

    for (uint64_t j = 0; j < f->d.cols; j++) {
        const long double t =
            step * lambda * (f->o.penalty_factor ? f->factor[j] : 1);
        long double square = 0;
        if (!list_group(f, j, &n, of))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            long double *v = &at->v[of[k]];
            *v = f->o.positive && *v < 0 ? 0 : *v;
            *v = copysignl(fmaxl(fabsl(*v) - t * a, 0), *v);
            square += *v * *v;
        }
        const long double size = sqrtl(square), b = t * (1 - a) * sqrtl(n);
        for (uint32_t k = 0; k < n; k++)
            at->v[of[k]] *= size > b ? 1 - b / size : 0;
    }
}

static long double lipschitz_of(const family *f, const long double *scale)
{
    long double sum = f->o.intercept;

    for (uint64_t j = 0; j < f->d.cols; j++)
        for (uint64_t i = 0; i < f->d.rows; i++)
            sum += weight_of(f, i) / total_of(f) *
                   powl(lasso_design_col(&f->d, j)[i] / scale[j], 2);
    return is_logistic(f) ? sum / 4 : sum;
}

/* The minimum; its place and the slopes of rows there. */
static long double minimum_of(const family *f, double lambda, iterate *at,
                              long double *slope)
{
    enum { STEPS = 100000 };
    long double scale[COLS_MAX] = {1}, t = 1;
    iterate from = {{0}};

    for (uint64_t j = 0; j < f->d.cols; j++)
        scale[j] = scale_of(f, j);
    const long double step = 1 / lipschitz_of(f, scale);
    memset(at, 0, sizeof(*at));
    for (int k = 0; k < STEPS; k++) {
        long double turned = 0, moved = 0, size = 0;
        iterate to = from;
        (void)loss_at(f, scale, &from, slope);
        for (uint64_t i = 0; i < f->d.rows; i++) {
            to.v[f->d.cols] -= f->o.intercept ? step * slope[i] : 0;
            for (uint64_t j = 0; j < f->d.cols; j++)
                to.v[j] -=
                    step * slope[i] * lasso_design_col(&f->d, j)[i] / scale[j];
        }
        shrink_point(f, lambda, step, &to);
        for (uint64_t j = 0; j <= f->d.cols; j++) {
            turned += (from.v[j] - to.v[j]) * (to.v[j] - at->v[j]);
            moved += powl(to.v[j] - from.v[j], 2);
            size += powl(to.v[j], 2);
        }
        const long double next =
            turned > 0 ? 1 : (1 + sqrtl(1 + 4 * t * t)) / 2;
        const long double beyond = turned > 0 ? 0 : (t - 1) / next;
        for (uint64_t j = 0; j <= f->d.cols; j++)
            from.v[j] = to.v[j] + beyond * (to.v[j] - at->v[j]);
        t = next;
        *at = to;
        if (moved <= 1e-30L * size)
            break;
    }
    return loss_at(f, scale, at, slope) + penalty_at(f, lambda, at);
}

/* The smallest lambda with all coefficients 0, by bisection of its
 * definition: |S(q, lambda a)|_2 <= lambda (1 - a) root(n). */
static long double critical_of(const family *f)
{
    const long double a = share_of(f);
    long double slope[ROWS_MAX], most = 0;
    uint64_t of[COLS_MAX];
    uint32_t n;
    iterate at;

    (void)minimum_of(f, 1e6, &at, slope);
    for (uint64_t j = 0; j < f->d.cols; j++) {
        long double low = 0, high = 1e6;
        if (!list_group(f, j, &n, of))
            continue;
        for (int half = 0; half < 120; half++) {
            const long double t = (low + high) / 2;
            const long double l = t * (f->o.penalty_factor ? f->factor[j] : 1);
            long double square = 0;
            for (uint32_t k = 0; k < n; k++) {
                long double q = 0;
                for (uint64_t i = 0; i < f->d.rows; i++)
                    q += slope[i] * lasso_design_col(&f->d, of[k])[i];
                q /= -scale_of(f, of[k]);
                q = f->o.positive && q < 0 ? 0 : q;
                square += powl(fmaxl(fabsl(q) - l * a, 0), 2);
            }
            *(sqrtl(square) > l * (1 - a) * sqrtl(n) ? &low : &high) = t;
        }
        most = fmaxl(most, high);
    }
    return most;
}

/* ---- families ------------------------------------------------------------ */

static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

/* Groups of equal size, all of one size, of one column each, or one of all. */
static void draw_groups(family *f, uint64_t seed)
{
    for (uint32_t j = 0; j < f->d.cols; j++)
        f->group[j] = seed % 5 == 0   ? j
                      : seed % 5 == 1 ? 7
                      : seed % 5 == 2 ? j * j % 5
                      : seed % 5 == 3 ? j / 4
                                      : (uint32_t)(6 * draw(&seed));
}

static void family_of(uint64_t seed, family *f)
{
    static const double shares[] = {.5, 0, .95, .05, 1, .3, .001};
    const double size = seed % 3 == 0 ? 1e-3 : seed % 3 == 1 ? 1 : 1e4;
    const lasso_recipe recipe = {.rows = 8 + seed * 7 % 50,
                                 .cols = 1 + seed * 11 % 30,
                                 .seed = seed,
                                 .density = seed % 4 ? 0 : .4,
                                 .correlation = seed % 2 ? .5 : 0,
                                 .noise = 1};

    memset(f, 0, sizeof(*f));
    f->d = glm_design_random(&recipe, seed % 3 == 2 ? "logistic" : "squared");
    f->o = (strads_glm_options){.loss = seed % 3 == 2 ? "logistic" : "squared",
                                .positive = seed % 13 > 7,
                                .penalty = "sparse-group",
                                .l1_ratio = shares[seed % 7],
                                .lambda_ratio = seed % 4 == 3 ? .02 : .2,
                                .intercept = seed / 2 % 2,
                                .standardize = seed / 3 % 2,
                                .column_group = f->group};
    draw_groups(f, seed);
    for (uint64_t i = 0; i < f->d.rows; i++) {
        f->weight[i] = seed / 4 % 2 ? .1 + draw(&seed) : 1;
        f->offset[i] = draw(&seed) - .5;
        f->d.y[i] *= is_logistic(f) ? 1 : size;
    }
    for (uint32_t j = 0; j < f->d.cols; j++)
        f->factor[j] = .5 + f->group[j] % 3;
    f->o.row_weight = seed % 8 < 4 ? f->weight : NULL;
    f->o.row_offset = seed % 5 < 2 ? f->offset : NULL;
    f->o.penalty_factor = seed % 6 == 5 ? f->factor : NULL;
}

/* The objective of a fit, in long double. */
static long double value_of(const family *f, const linear_fit *fit)
{
    long double scale[COLS_MAX] = {1}, slope[ROWS_MAX];
    iterate at = {{0}};

    for (uint64_t j = 0; j < f->d.cols; j++) {
        scale[j] = scale_of(f, j);
        at.v[j] = scale[j] * fit->w[j];
    }
    at.v[f->d.cols] = fit->intercept;
    return loss_at(f, scale, &at, slope) + penalty_at(f, fit->lambda, &at);
}

static void check_family(uint64_t seed, double tolerance)
{
    const strads_engine_options engine = {.tolerance = tolerance,
                                          .deterministic = true};
    long double slope[ROWS_MAX];
    family f;
    iterate at;

    family_of(seed, &f);
    linear_fit fit = glm_design_fit(&f.d, &f.o, &engine);
    expect_ok(fit.err);
    cr_expect_eq(fit.end, STRADS_END_CONVERGED, "family %d: gap %g", (int)seed,
                 fit.gap);
    for (uint64_t j = 0; j < f.d.cols; j++)
        cr_expect(!f.o.positive || fit.w[j] >= 0);
    const double least = (double)minimum_of(&f, fit.lambda, &at, slope);
    const double value = (double)value_of(&f, &fit);
    const double critical = (double)critical_of(&f);
    cr_expect_float_eq(fit.objective, value, 1e-11 * value, "family %d: %g, %g",
                       (int)seed, fit.objective, value);
    cr_expect_geq(value, least - 1e-12 * value, "family %d", (int)seed);
    cr_expect_leq(value - least, (fit.gap + 1e-12) * value,
                  "family %d: %g above the minimum of %g, a gap of %g",
                  (int)seed, value - least, least, fit.gap);
    cr_expect_float_eq(fit.lambda_max, critical, 1e-8 * critical + 1e-18,
                       "family %d: lambda_max is %g and not %g", (int)seed,
                       fit.lambda_max, critical);
    linear_fit_free(&fit);
    lasso_design_free(&f.d);
}

Test(glm_sparse_group, the_gap_bounds_the_distance_from_the_minimum)
{
    static const double tolerances[] = {1e-10, .1, 1e-3, 1e-6};

    for (uint64_t seed = 0; seed < 84; seed++)
        check_family(seed, tolerances[seed % 4]);
}

/* Between the group Lasso and the Lasso. */
Test(glm_sparse_group, a_share_of_one_is_the_lasso)
{
    family f;

    family_of(17, &f);
    f.o.l1_ratio = 1;
    linear_fit fit = glm_design_fit(&f.d, &f.o, NULL);
    f.o.penalty = "l1";
    f.o.l1_ratio = 0;
    f.o.column_group = NULL;
    linear_fit right = glm_design_fit(&f.d, &f.o, NULL);
    cr_expect_float_eq(fit.lambda_max, right.lambda_max,
                       1e-9 * right.lambda_max);
    cr_expect_float_eq(fit.objective, right.objective, 1e-9 * right.objective);
    linear_fit_free(&fit);
    linear_fit_free(&right);
    lasso_design_free(&f.d);
}

/* Scans of a path leave out groups that are known to stay at 0. The columns of
 * a group are adjacent, or five apart. */
static void check_path(bool positive, bool adjacent)
{
    enum { COLS = 400, POINTS = 30 };
    static uint32_t group[COLS];
    lasso_design d = glm_design_random(
        &(lasso_recipe){.rows = 60, .cols = COLS, .seed = 5, .noise = 1},
        "squared");
    strads_data *data = NULL;
    strads_result *result = NULL;
    uint32_t n;

    for (uint32_t j = 0; j < COLS; j++)
        group[j] = adjacent ? j / 7 : j / 35 * 5 + j % 5;
    const strads_glm_path_options o = {.fit = {.penalty = "sparse-group",
                                               .l1_ratio = .4,
                                               .positive = positive,
                                               .intercept = true,
                                               .column_group = group},
                                       .points = POINTS,
                                       .ratio = .05};
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .tolerance = 1e-9,
                                          .deterministic = true};
    expect_ok(lasso_design_data(&d, 2, &data));
    expect_ok(strads_run(&strads_program_glm_path, &o, data, &engine, &result));
    const strads_path_point *point =
        strads_glm_path(strads_result_state(result), &n);
    cr_assert_eq(n, POINTS);
    for (uint32_t k = 0; k < n; k++) {
        strads_glm_options one = o.fit;
        linear_fit at = linear_fit_at(&point[k], COLS);
        one.lambda = point[k].lambda;
        const linear_fit alone = glm_design_fit(&d, &one, NULL);
        const double value = glm_value(&d, &one, &at);
        cr_expect_leq(point[k].gap, 1e-9);
        cr_expect_float_eq(value, alone.objective, 2e-9 * value,
                           "point %u: %g, alone %g", k, value, alone.objective);
        linear_fit_free(&at);
        linear_fit_free((linear_fit *)(uintptr_t)&alone);
    }
    strads_result_free(result);
    strads_data_free(data);
    lasso_design_free(&d);
}

Test(glm_sparse_group, each_point_of_a_path_is_certified)
{
    for (int k = 0; k < 4; k++)
        check_path(k % 2, k / 2);
}
