#include "tests/linear_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "tests/svm_fit.h"

enum { CLASSES = 3 };

/* ---- the table --------------------------------------------------------- */

/* glm, and its paths of five points. */
#define GLM(...)                                         \
    .program = &strads_program_glm,                      \
    .options = &(const strads_glm_options){__VA_ARGS__}, \
    .glm = &(const strads_glm_options)                   \
    {                                                    \
        __VA_ARGS__                                      \
    }
#define GLM_PATH(...)                                                 \
    .program = &strads_program_glm_path, .family = LINEAR_PATH,       \
    .options = &(const strads_glm_path_options){.fit = {__VA_ARGS__}, \
                                                .points = 5,          \
                                                .ratio = .1},         \
    .glm = &(const strads_glm_options)                                \
    {                                                                 \
        __VA_ARGS__                                                   \
    }
#define SVM(...)                                          \
    .program = &strads_program_svm, .family = LINEAR_SVM, \
    .options = &(const strads_svm_options){__VA_ARGS__},  \
    .svm = &(const strads_svm_options)                    \
    {                                                     \
        __VA_ARGS__                                       \
    }

const linear_case linear_cases[] = {
    {.name = "lasso",
     .program = &strads_program_lasso,
     .options = &(const strads_lasso_options){.lambda_ratio = .1},
     .glm = &(const strads_glm_options){.penalty = "l1"},
     .loss = LINEAR_SQUARE},
    {.name = "elastic net",
     GLM(.penalty = "elastic-net", .lambda_ratio = .1, .intercept = true),
     .loss = LINEAR_SQUARE},
    {.name = "lasso path", GLM_PATH(.intercept = true), .loss = LINEAR_SQUARE},
    {.name = "logistic, L1",
     .program = &strads_program_logistic,
     .options =
         &(const strads_logistic_options){.lambda_ratio = .1, .l1_ratio = 1},
     .glm = &(const strads_glm_options){.penalty = "l1"},
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_TWO},
    {.name = "logistic, elastic net",
     GLM(.loss = "logistic", .penalty = "elastic-net", .lambda_ratio = .1,
         .intercept = true),
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_TWO},
    {.name = "logistic, L2",
     GLM(.loss = "logistic", .penalty = "ridge", .c = .1, .intercept = true),
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_TWO},
    {.name = "logistic, L2 in the dual",
     .program = &strads_program_logistic_dual,
     .options = &(const strads_logistic_options){.c = .1},
     .glm = &(const strads_glm_options){.penalty = "ridge"},
     .family = LINEAR_DUAL,
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_TWO},
    {.name = "logistic, each against the rest",
     GLM(.loss = "logistic", .lambda_ratio = .1, .intercept = true,
         .classes = "0,1,2"),
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_THREE},
    {.name = "logistic, softmax",
     GLM(.loss = "multinomial", .penalty = "elastic-net", .lambda_ratio = .2,
         .l1_ratio = .8, .classes = "0,1,2"),
     .loss = LINEAR_SOFTMAX,
     .target = LINEAR_THREE},
    {.name = "logistic path",
     GLM_PATH(.loss = "logistic", .intercept = true),
     .loss = LINEAR_LOGISTIC,
     .target = LINEAR_TWO},
    {.name = "hinge",
     SVM(.loss = "hinge", .c = .1),
     .loss = LINEAR_KINK,
     .target = LINEAR_TWO},
    {.name = "hinge, an intercept",
     SVM(.loss = "hinge", .c = .1, .intercept = true),
     .loss = LINEAR_KINK,
     .target = LINEAR_TWO},
    {.name = "squared hinge",
     SVM(.loss = "squared-hinge", .c = .1),
     .loss = LINEAR_SQUARED_HINGE,
     .target = LINEAR_TWO},
    {.name = "squared hinge, each against the rest",
     SVM(.loss = "squared-hinge", .c = .1, .classes = "0,1,2"),
     .loss = LINEAR_SQUARED_HINGE,
     .target = LINEAR_THREE},
    {.name = "squared hinge, L1",
     .program = &strads_program_svm_l1,
     .options = &(const strads_svm_l1_options){.fit = {.lambda_ratio = .1,
                                                       .l1_ratio = 1}},
     .glm = &(const strads_glm_options){.penalty = "l1"},
     .loss = LINEAR_SQUARED_HINGE,
     .target = LINEAR_TWO},
    {.name = "epsilon",
     SVM(.loss = "epsilon", .c = .1, .epsilon = .2),
     .loss = LINEAR_KINK},
    {.name = "squared epsilon",
     SVM(.loss = "squared-epsilon", .c = .1, .epsilon = .2),
     .loss = LINEAR_SQUARED_EPSILON},
};

const size_t linear_cases_count =
    sizeof(linear_cases) / sizeof(linear_cases[0]);

/* ---- the objective ----------------------------------------------------- */

/* An answer to a problem: of more than one class a w and a b for each. */
typedef struct answer {
    const linear_case *of;
    const lasso_design *design;
    uint32_t classes;
    const double *w; /* [cols x classes] */
    double b[CLASSES];
    double weight, l1, l2; /* a of each row, and the penalty */
    double value;          /* P */
    double *slope;         /* [rows x classes] of a loss, by z */
} answer;

static double *reserve(uint64_t n)
{
    double *memory = calloc(n + 1, sizeof(*memory));

    if (!memory)
        abort();
    return memory;
}

/* The loss, and its slope by z. */
static double loss_at(const linear_case *one, double y, double z, double *slope)
{
    const double m = y * z;
    double far;

    switch (one->loss) {
    case LINEAR_LOGISTIC:
        *slope = -y / (1 + exp(m));
        return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
    case LINEAR_SQUARED_HINGE:
        *slope = -2 * y * fmax(1 - m, 0);
        return pow(fmax(1 - m, 0), 2);
    case LINEAR_SQUARED_EPSILON:
        far = fmax(fabs(z - y) - one->svm->epsilon, 0);
        *slope = copysign(2 * far, z - y);
        return far * far;
    default:
        *slope = z - y;
        return (z - y) * (z - y) / 2;
    }
}

static double softmax_at(const double *z, uint32_t own, double *slope)
{
    double most = z[0], sum = 0;

    for (uint32_t k = 1; k < CLASSES; k++)
        most = fmax(most, z[k]);
    for (uint32_t k = 0; k < CLASSES; k++)
        sum += exp(z[k] - most);
    for (uint32_t k = 0; k < CLASSES; k++)
        slope[k] = exp(z[k] - most) / sum - (k == own);
    return log(sum) + most - z[own];
}

static double row_at(const answer *a, uint64_t i, const double *z,
                     double *slope)
{
    const double y = a->design->y[i];
    double sum = 0;

    if (a->of->loss == LINEAR_SOFTMAX)
        return softmax_at(z, (uint32_t)y, slope);
    for (uint32_t k = 0; k < a->classes; k++)
        sum += loss_at(a->of,
                       a->classes == 1 ? y
                       : y == k        ? 1
                                       : -1,
                       z[k], &slope[k]);
    return sum;
}

/* Fills in value and slopes. */
static void weigh(answer *a)
{
    const lasso_design *d = a->design;
    const uint32_t n = a->classes;
    double *z = reserve(d->rows * n);

    a->slope = reserve(d->rows * n);
    for (uint64_t i = 0; i < d->rows; i++)
        memcpy(z + i * n, a->b, n * sizeof(double));
    for (uint64_t e = 0; e < d->cols * n; e++) {
        const double w = a->w[e], *x = lasso_design_col(d, e / n);
        a->value += a->l1 * fabs(w) + a->l2 / 2 * w * w;
        for (uint64_t i = 0; i < d->rows && w != 0; i++)
            z[i * n + e % n] += x[i] * w;
    }
    for (uint64_t i = 0; i < d->rows; i++)
        a->value += a->weight * row_at(a, i, z + i * n, a->slope + i * n);
    free(z);
}

/* How fast a loss's slope may change. */
static double steepest(linear_loss loss)
{
    if (loss == LINEAR_LOGISTIC || loss == LINEAR_SOFTMAX)
        return .25;
    return loss == LINEAR_SQUARE ? 1 : 2;
}

/* What a step of one number takes off P at least, where P's smooth part has the
 * slope g and bends by at most h: the best of the upper bound
 * g t + h/2 t^2 + l1 (|w + t| - |w|). */
static double gain_of(double g, double h, double l1, double w)
{
    const double to = w - g / h;
    const double best = copysign(fmax(fabs(to) - l1 / h, 0), to), t = best - w;

    return h > 0 ? -(g * t + h / 2 * t * t + l1 * (fabs(best) - fabs(w))) : 0;
}

/* Column x (NULL: ones) of class k. */
static double column_gain(const answer *a, const double *x, uint32_t k,
                          double l1, double l2, double w)
{
    double g = l2 * w, h = l2;

    for (uint64_t i = 0; i < a->design->rows; i++) {
        const double v = x ? x[i] : 1;
        g += a->weight * v * a->slope[i * a->classes + k];
        h += a->weight * steepest(a->of->loss) * v * v;
    }
    return gain_of(g, h, l1, w);
}

static double largest_gain(const answer *a)
{
    const uint32_t n = a->classes;
    double most = 0;

    for (uint64_t e = 0; e < a->design->cols * n; e++)
        most =
            fmax(most, column_gain(a, lasso_design_col(a->design, e / n),
                                   (uint32_t)(e % n), a->l1, a->l2, a->w[e]));
    for (uint32_t k = 0; k < n && a->of->glm && a->of->glm->intercept; k++)
        most = fmax(most, column_gain(a, NULL, k, 0, 0, a->b[k]));
    return most;
}

/* ---- results ----------------------------------------------------------- */

static linear_verdict verdict_of(answer *a, double objective, double gap)
{
    weigh(a);
    const double unit = a->value > 0 ? a->value : 1;
    const linear_verdict v = {.off = fabs(a->value - objective) / unit,
                              .gain = largest_gain(a) / unit,
                              .gap = gap};

    free(a->slope);
    return v;
}

/* The L1 share of a penalty; an SVM has none, and lambda is 1. */
static double l1_ratio(const linear_case *one)
{
    const strads_glm_options *o = one->glm;

    if (!o || (o->penalty && strcmp(o->penalty, "ridge") == 0))
        return 0;
    if (o->penalty && strcmp(o->penalty, "elastic-net") == 0)
        return o->l1_ratio > 0 ? o->l1_ratio : .5;
    return 1;
}

static answer answer_of(const linear_case *one, const lasso_design *design,
                        double lambda)
{
    return (answer){.of = one,
                    .design = design,
                    .classes = one->target == LINEAR_THREE ? CLASSES : 1,
                    .weight = one->svm ? one->svm->c : 1 / (double)design->rows,
                    .l1 = lambda * l1_ratio(one),
                    .l2 = lambda * (1 - l1_ratio(one))};
}

static linear_verdict judge_kink(const linear_case *one,
                                 const lasso_design *design,
                                 const strads_result *result)
{
    svm_fit fit = svm_fit_of(design, result);
    const svm_worth worth = svm_fit_worth(design, one->svm, NULL, &fit);
    const double unit = worth.primal > 0 ? worth.primal : 1;
    const linear_verdict v = {.off = fabs(worth.primal - fit.objective) / unit,
                              .gain = worth.broken > 1e-12
                                          ? INFINITY
                                          : (worth.primal - worth.dual) / unit,
                              .gap = fit.gap};

    svm_fit_free(&fit);
    return v;
}

static linear_verdict judge_path(const linear_case *one,
                                 const lasso_design *design, const void *state)
{
    uint32_t n;
    const strads_path_point *point = strads_glm_path(state, &n);
    linear_verdict worst = {.gap = n == 5 ? 0 : INFINITY};

    for (uint32_t k = 0; k < n; k++) {
        linear_fit fit = linear_fit_at(&point[k], design->cols);
        answer a = answer_of(one, design, point[k].lambda);
        a.w = fit.w;
        a.b[0] = fit.intercept;
        const linear_verdict v =
            verdict_of(&a, point[k].objective, point[k].gap);
        worst = (linear_verdict){.off = fmax(worst.off, v.off),
                                 .gain = fmax(worst.gain, v.gain),
                                 .gap = fmax(worst.gap, v.gap)};
        linear_fit_free(&fit);
    }
    return worst;
}

linear_verdict linear_case_judge(const linear_case *one,
                                 const lasso_design *design,
                                 const strads_result *result)
{
    const strads_progress *last = strads_result_progress(result);
    const void *state = strads_result_state(result);
    uint64_t parameters;
    uint32_t width;

    if (one->loss == LINEAR_KINK)
        return judge_kink(one, design, result);
    if (one->family == LINEAR_PATH)
        return judge_path(one, design, state);
    const bool by_rows = one->family != LINEAR_GLM;
    const double lambda = one->family == LINEAR_SVM ? 1
                          : by_rows
                              ? strads_logistic_dual_resolved(state).lambda
                              : strads_glm_resolved(state)->lambda;
    answer a = answer_of(one, design, lambda);
    a.w = strads_result_values(result, &parameters, &width);
    memcpy(a.b,
           by_rows ? strads_svm_intercepts(state)
                   : strads_glm_intercepts(state),
           a.classes * sizeof(double));
    return width == a.classes
               ? verdict_of(&a, last->objective, last->gap)
               : (linear_verdict){.gain = INFINITY, .gap = INFINITY};
}

/* ---- data -------------------------------------------------------------- */

lasso_design linear_case_read(const char *path)
{
    const strads_data_options options = {.size = sizeof(options)};
    strads_data *data = NULL;
    lasso_design d = {0};

    if (strads_data_read(path, &options, &data) != STRADS_OK)
        return d;
    const strads_share *share = strads_data_share(data, 0);
    const strads_sparse *x = &share->by_col;
    d = lasso_design_zero(strads_data_rows(data), strads_data_cols(data));
    for (uint64_t j = 0; j < d.cols; j++)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            lasso_design_col(&d, j)[x->index[e]] = x->f64[e];
    memcpy(d.y, share->label, d.rows * sizeof(double));
    strads_data_free(data);
    return d;
}
