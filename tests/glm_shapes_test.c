/* Every loss with every penalty on sixty designs of odd shapes, on 1, 2 and 4
 * workers: the optimality conditions hold, recomputed from the objective. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/glm_design.h"
#include "tests/sample.h"

static const char *const losses[] = {"squared", "logistic", "squared-hinge",
                                     "poisson", "gamma",    "tweedie",
                                     "huber"};
enum { LOSSES = sizeof(losses) / sizeof(losses[0]) };

/* ---- designs ------------------------------------------------------------- */

enum kind {
    PLAIN,
    CONSTANT, /* every third column */
    TWICE,    /* every other column is the one before */
    EMPTY,    /* every third column */
    ALIKE,    /* correlation .999 */
    SCALES,   /* 1e-8 to 1e8 */
    TOLD,     /* the first column determines the label: classes are separable */
    ONE,      /* label */
    SPARSE,
    FAR, /* from 0, columns and labels */
    KINDS
};

static const struct {
    uint64_t rows, cols;
} sizes[] = {{1, 3}, {30, 1}, {2, 5}, {40, 12}, {15, 60}, {120, 30}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void make_odd(lasso_design *d, enum kind kind, const char *loss)
{
    for (uint64_t j = 0; j < d->cols; j++)
        for (uint64_t i = 0; i < d->rows; i++) {
            double *x = &lasso_design_col(d, j)[i];
            if (kind == CONSTANT && j % 3 == 0)
                *x = 7;
            else if (kind == TWICE && j % 2 == 1)
                *x = lasso_design_col(d, j - 1)[i];
            else if (kind == EMPTY && j % 3 == 0)
                *x = 0;
            else if (kind == SCALES && d->cols > 1)
                *x *= pow(10, -8 + 16 * (double)j / (double)(d->cols - 1));
        }
    for (uint64_t i = 0; i < d->rows; i++) {
        const double x = lasso_design_col(d, 0)[i];
        if (kind == ONE)
            d->y[i] = 1;
        else if (kind == TOLD)
            d->y[i] = strads_glm_classifies(loss)    ? x > 0
                      : strcmp(loss, "poisson") == 0 ? floor(exp(x))
                      : strcmp(loss, "gamma") == 0   ? exp(x)
                      : strcmp(loss, "tweedie") == 0 ? fmax(x, 0)
                                                     : x;
    }
}

static lasso_design design_of(int k, const char *loss)
{
    const enum kind kind = (enum kind)(k % KINDS);
    const lasso_recipe recipe = {.rows = sizes[k / KINDS].rows,
                                 .cols = sizes[k / KINDS].cols,
                                 .seed = 100 + (uint64_t)k,
                                 .density = kind == SPARSE ? .1 : 1,
                                 .correlation = kind == ALIKE ? .999 : 0,
                                 .noise = .5,
                                 .offset = kind == FAR ? 10 : 0};
    lasso_design d = glm_design_random(&recipe, loss);

    make_odd(&d, kind, loss);
    return d;
}

/* Labels of 0 pull margins to minus infinity. */
static bool has_zeros(const char *loss)
{
    return strcmp(loss, "poisson") == 0 || strcmp(loss, "tweedie") == 0;
}

/* One class, or counts that are all 0: the best intercept is infinite. */
static bool has_no_fit(const lasso_design *d, const strads_glm_options *o)
{
    for (uint64_t i = 1; i < d->rows; i++)
        if (d->y[i] != d->y[0])
            return false;
    return strads_glm_classifies(o->loss) ||
           (has_zeros(o->loss) && o->intercept && d->y[0] == 0);
}

/* ---- fits ---------------------------------------------------------------- */

/* Without a penalty far out there need not be a minimum. */
static bool may_run_away(const strads_glm_options *o)
{
    const bool flat = o->penalty && (strcmp(o->penalty, "none") == 0 ||
                                     strcmp(o->penalty, "mcp") == 0 ||
                                     strcmp(o->penalty, "scad") == 0);

    return (flat || o->penalty_factor) &&
           (strads_glm_classifies(o->loss) || has_zeros(o->loss));
}

static void check(int k, const lasso_design *d, const strads_glm_options *o,
                  uint32_t workers)
{
    const bool concave = o->penalty && (strcmp(o->penalty, "mcp") == 0 ||
                                        strcmp(o->penalty, "scad") == 0);
    const strads_engine_options engine = {.workers = workers,
                                          .partitions = workers,
                                          .tolerance = concave ? 1e-7 : 1e-8,
                                          .max_rounds = 20000};
    linear_fit fit = glm_design_fit(d, o, &engine);

    if (has_no_fit(d, o)) {
        cr_expect_neq(fit.err, STRADS_OK);
        linear_fit_free(&fit);
        return;
    }
    cr_assert_eq(fit.err, STRADS_OK, "design %d, %s, %s: %s", k, o->loss,
                 o->penalty, strads_error_text());
    cr_expect(isfinite(fit.objective));
    if (fit.end == STRADS_END_CONVERGED || !may_run_away(o)) {
        const double value = glm_value(d, o, &fit);
        const double off = value > 1e-12 ? glm_violation(d, o, &fit) : 0;
        /* Arithmetic may end just before the tolerance. */
        cr_expect(fit.end == STRADS_END_CONVERGED || fit.gap < 1e-7,
                  "design %d, %s, %s (%d, %g, %g): end %d, gap %g, value %g", k,
                  o->loss, o->penalty, o->intercept, o->upper,
                  o->penalty_factor ? 1. : 0, (int)fit.end, fit.gap, value);
        cr_expect_float_eq(fit.objective, value, 1e-7 * value + 1e-12,
                           "design %d, %s, %s: %g, not %g", k, o->loss,
                           o->penalty, fit.objective, value);
        cr_expect_lt(off, 1e-2, "design %d, %s, %s: violated by %g", k, o->loss,
                     o->penalty, off);
    }
    linear_fit_free(&fit);
}

static const strads_glm_options penalties[] = {
    {.penalty = "l1"},
    {.penalty = "elastic-net"},
    {.penalty = "ridge"},
    {.penalty = "group"},
    {.penalty = "mcp"},
    {.penalty = "scad"},
    {.penalty = "none"},
    {.penalty = "l1", .lower = 0, .upper = INFINITY},
    {.penalty = "l1", .lower = -.1, .upper = .1},
    {.penalty = "sparse-group"}};
enum { PENALTIES = sizeof(penalties) / sizeof(penalties[0]) };

static void check_losses(size_t first, size_t end)
{
    static const uint32_t workers[] = {4, 1, 1, 1, 2, 1, 1};
    uint32_t group[64];
    double factor[64];

    for (uint32_t j = 0; j < 64; j++) {
        group[j] = j / 3;
        factor[j] = j % 4;
    }
    for (int k = 0; k < KINDS * SIZES; k++)
        for (size_t l = first; l < end; l++) {
            lasso_design d = design_of(k, losses[l]);
            for (size_t p = 0; p <= PENALTIES; p++) {
                if (!sample_takes_next(1))
                    continue;
                strads_glm_options o = penalties[p % PENALTIES];
                o.loss = losses[l];
                o.lambda_ratio = strcmp(o.penalty, "none") == 0 ? 0 : .05;
                o.intercept = (k / KINDS + (int)p) % 2;
                o.standardize = (k + (int)p) % 3 == 0;
                o.column_group = strstr(o.penalty, "group") ? group : NULL;
                o.penalty_factor = p == PENALTIES ? factor : NULL;
                check(k, &d, &o, workers[((size_t)k + p) % 7]);
            }
            lasso_design_free(&d);
        }
}

Test(glm_shapes, least_squares)
{
    check_losses(0, 1);
}
Test(glm_shapes, classes)
{
    check_losses(1, 3);
}
Test(glm_shapes, counts_and_outliers)
{
    check_losses(3, LOSSES);
}
