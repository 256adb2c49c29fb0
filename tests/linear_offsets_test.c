/* Columns with a mean far above their deviation: every loss and penalty, on
 * full and partly sparse designs, with weights and scales. With an intercept a
 * fit must be that of the columns less their means, and must converge; without
 * one, each certificate must be true. Objectives are evaluated here in long
 * double.
 *
 * A fixed sample of designs runs each time, 5,000 with STRADS_SOAK set. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strads/glm.h"
#include "strads/logistic.h"
#include "strads/svm.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"

enum { ROWS_MAX = 60, COLS_MAX = 6, CLASSES = 3 };
enum { SAMPLE = 80, SOAK = 5000 };

typedef enum loss {
    SQUARED,
    LOGISTIC,
    SOFTMAX,
    SQUARED_HINGE,
    POISSON,
    HUBER,
    /* in the dual, with an L2 penalty: */
    DUAL_LOGISTIC,
    DUAL_HINGE,
    DUAL_SQUARED_HINGE,
    DUAL_EPSILON,
    DUAL_SQUARED_EPSILON,
    LOSSES,
    /* in place of some Poisson losses: */
    GAMMA = LOSSES,
    TWEEDIE,
    ALL_LOSSES
} loss;

static const char *const loss_name[ALL_LOSSES] = {
    "squared",         "logistic", "multinomial", "squared-hinge", "poisson",
    "huber",           "logistic", "hinge",       "squared-hinge", "epsilon",
    "squared-epsilon", "gamma",    "tweedie"};

typedef enum penalty_kind {
    NONE,
    L1,
    ELASTIC,
    RIDGE,
    GROUP,
    PENALTIES,
    MCP = PENALTIES, /* not convex, in a test of their own */
    SCAD,
    ALL_PENALTIES
} penalty_kind;

static const char *const penalty_name[ALL_PENALTIES] = {"none",        "l1",
                                                        "elastic-net", "ridge",
                                                        "group",       "mcp",
                                                        "scad"};

#define LAMBDA .02
#define L1_RATIO .5
#define EPSILON .1
#define HUBER_BEND 1.345
/* The designs are asked for this gap, those of centred columns for a
 * smaller. */
#define TOLERANCE 1e-6
#define TOLERANCE_NEAR 1e-9

typedef struct trial {
    uint64_t seed;
    loss loss;
    penalty_kind penalty;
    bool intercept, standardize, weighted, path;
    uint32_t partitions;
    double ratio; /* the largest mean over deviation */
    lasso_design far, near;
    double weight[ROWS_MAX], scale[COLS_MAX];
} trial;

typedef struct outcome {
    strads_err err;
    strads_end end;
    uint32_t width;
    double w[COLS_MAX * CLASSES], b[CLASSES];
    double objective, gap;
} outcome;

/* ---- designs ------------------------------------------------------------- */

static uint64_t bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double uniform(uint64_t *state)
{
    return ((double)(bits(state) >> 11) + .5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(uniform(state)));

    return radius * cos(6.283185307179586 * uniform(state));
}

static bool is_dual(loss l)
{
    return l >= DUAL_LOGISTIC && l < LOSSES;
}

static bool classifies(loss l)
{
    return l == LOGISTIC || l == SQUARED_HINGE || l == DUAL_LOGISTIC ||
           l == DUAL_HINGE || l == DUAL_SQUARED_HINGE;
}

static double label_of(loss l, double score, uint64_t *state)
{
    const double noisy = score + .7 * normal(state);

    if (l == SOFTMAX)
        return noisy < -.5 ? 0 : noisy < .6 ? 1 : 2;
    if (l == POISSON)
        return floor(exp(fmin(.5 * noisy, 4)) + uniform(state));
    if (l == GAMMA)
        return exp(fmin(.5 * noisy, 4));
    if (l == TWEEDIE)
        return uniform(state) < .3 ? 0 : exp(fmin(.5 * noisy, 4));
    if (classifies(l))
        return uniform(state) < .1 || noisy > 0 ? 1 : -1;
    return noisy + 2;
}

static void fill_columns(trial *t, double ratio_max, uint64_t *state)
{
    const uint64_t n = t->far.rows;

    for (uint64_t j = 0; j < t->far.cols; j++) {
        const double unit = pow(10, 2 * uniform(state) - 1);
        const bool sparse = j > 1 && uniform(state) < .25;
        const double ratio =
            j == 0 ? ratio_max : pow(ratio_max, uniform(state));
        const double origin =
            uniform(state) < .5 ? -ratio * unit : ratio * unit;
        double *x = lasso_design_col(&t->far, j);
        for (uint64_t i = 0; i < n; i++) {
            x[i] = sparse ? 0 : origin + unit * normal(state);
            if (sparse && uniform(state) < .5)
                x[i] = unit * normal(state);
        }
    }
}

/* `near` is `far` less its columns' means, and their deviations; without an
 * intercept nothing is taken off. */
static void take_means(trial *t)
{
    const uint64_t n = t->far.rows;
    long double all = 0;

    for (uint64_t i = 0; i < n; i++)
        all += t->weight[i];
    for (uint64_t j = 0; j < t->far.cols; j++) {
        const double *x = lasso_design_col(&t->far, j);
        double *to = lasso_design_col(&t->near, j);
        long double mean = 0, square = 0;
        for (uint64_t i = 0; i < n; i++)
            mean += t->weight[i] * (long double)x[i] / all;
        const double origin = t->intercept ? (double)mean : 0;
        mean = t->intercept ? mean : 0;
        for (uint64_t i = 0; i < n; i++) {
            to[i] = (double)((long double)x[i] - origin);
            square += t->weight[i] * (x[i] - mean) * (x[i] - mean) / all;
        }
        t->scale[j] = t->standardize ? (double)sqrtl(square) : 1;
    }
}

/* concave: with a penalty that is not convex. */
static trial make_trial(uint64_t seed, bool intercept, bool concave)
{
    uint64_t state = seed * 977 + intercept, *s = &state;
    trial t = {.seed = seed, .intercept = intercept};

    t.loss = (loss)(bits(s) % LOSSES);
    t.penalty = is_dual(t.loss) ? RIDGE : (penalty_kind)(bits(s) % PENALTIES);
    /* Linearly separable classes have no minimum without a penalty. */
    if (t.penalty == NONE && (t.loss == SOFTMAX || classifies(t.loss)))
        t.penalty = RIDGE;
    if (concave) {
        t.loss = (loss)(t.loss % DUAL_LOGISTIC);
        t.penalty = seed % 2 ? MCP : SCAD;
    }
    if (t.loss == POISSON && seed % 5 < 2)
        t.loss = seed % 5 == 0 ? GAMMA : TWEEDIE;
    t.standardize = uniform(s) < .4;
    t.weighted = uniform(s) < .3;
    t.path = !is_dual(t.loss) && t.loss != SOFTMAX && t.penalty != NONE &&
             uniform(s) < .15;
    t.partitions = 1 + (uint32_t)(bits(s) % 3);
    t.ratio = pow(10, uniform(s) * (intercept ? 8 : 9));
    const uint64_t rows = 14 + bits(s) % (ROWS_MAX - 13);
    const uint64_t cols = 1 + bits(s) % COLS_MAX;
    t.far = lasso_design_zero(rows, cols);
    t.near = lasso_design_zero(rows, cols);
    fill_columns(&t, t.ratio, s);
    for (uint64_t i = 0; i < rows; i++)
        t.weight[i] = t.weighted ? .5 + 2 * uniform(s) : 1;
    take_means(&t);
    double slope[COLS_MAX];
    for (uint64_t j = 0; j < cols; j++)
        slope[j] = normal(s);
    for (uint64_t i = 0; i < rows; i++) {
        double score = 0;
        for (uint64_t j = 0; j < cols; j++) {
            const double *x = lasso_design_col(&t.far, j);
            /* in units of the column, whatever is fitted */
            const double unit = fmax(fabs(x[0] - x[rows / 2]), 1e-3);
            score += slope[j] * (x[i] - x[rows - 1]) / unit / (double)cols;
        }
        t.far.y[i] = t.near.y[i] = label_of(t.loss, score, s);
    }
    for (int k = 0; k < CLASSES; k++) /* all classes are there */
        if (t.loss == SOFTMAX)
            t.far.y[k] = t.near.y[k] = k;
        else if (classifies(t.loss))
            t.far.y[k] = t.near.y[k] = k % 2 ? -1 : 1;
    return t;
}

static void free_trial(trial *t)
{
    lasso_design_free(&t->far);
    lasso_design_free(&t->near);
}

static void describe(const trial *t, char *to, size_t size)
{
    (void)snprintf(to, size,
                   "seed %llu: %s%s, %s,%s%s%s%s %llu x %llu, %u partitions, "
                   "ratio %.1e",
                   (unsigned long long)t->seed, loss_name[t->loss],
                   is_dual(t->loss) ? " in the dual" : "",
                   penalty_name[t->penalty], t->intercept ? " intercept," : "",
                   t->standardize ? " standardize," : "",
                   t->weighted ? " weights," : "", t->path ? " path," : "",
                   (unsigned long long)t->far.rows,
                   (unsigned long long)t->far.cols, t->partitions, t->ratio);
}

/* ---- fits ---------------------------------------------------------------- */

static uint32_t group_of[COLS_MAX] = {0, 0, 1, 1, 2, 2};

static strads_glm_options glm_options_of(const trial *t)
{
    strads_glm_options o = {.loss = loss_name[t->loss],
                            .penalty = penalty_name[t->penalty],
                            .lambda = t->penalty == NONE ? 0 : LAMBDA,
                            .intercept = t->intercept,
                            .standardize = t->standardize,
                            .row_weight = t->weighted ? t->weight : NULL};

    if (t->penalty == ELASTIC)
        o.l1_ratio = L1_RATIO;
    if (t->penalty == GROUP)
        o.column_group = group_of;
    return o;
}

static strads_err run(const trial *t, const strads_data *data,
                      const strads_engine_options *engine,
                      strads_result **result)
{
    const double *weight = t->weighted ? t->weight : NULL;

    if (t->loss == DUAL_LOGISTIC) {
        const strads_logistic_options o = {.lambda = LAMBDA,
                                           .intercept = t->intercept,
                                           .standardize = t->standardize,
                                           .row_weight = weight};
        return strads_run(&strads_program_logistic_dual, &o, data, engine,
                          result);
    }
    if (is_dual(t->loss)) {
        const strads_svm_options o = {.loss = loss_name[t->loss],
                                      .c = 1,
                                      .epsilon =
                                          t->loss >= DUAL_EPSILON ? EPSILON : 0,
                                      .intercept = t->intercept,
                                      .standardize = t->standardize,
                                      .row_weight = weight};
        return strads_run(&strads_program_svm, &o, data, engine, result);
    }
    strads_glm_options o = glm_options_of(t);
    if (!t->path)
        return strads_run(&strads_program_glm, &o, data, engine, result);
    o.lambda = 0;
    const double lambdas[] = {16 * LAMBDA, 4 * LAMBDA, LAMBDA};
    const strads_glm_path_options path = {.fit = o,
                                          .points = 3,
                                          .lambda = lambdas};
    return strads_run(&strads_program_glm_path, &path, data, engine, result);
}

static void take_point(const strads_path_point *point, uint64_t cols,
                       outcome *out)
{
    memset(out->w, 0, cols * sizeof(double));
    for (uint64_t k = 0; k < point->nonzeros; k++)
        out->w[point->index[k]] = point->value[k];
    out->b[0] = point->intercept;
    out->objective = point->objective;
}

static outcome fit(const trial *t, const lasso_design *d, double tolerance)
{
    const strads_engine_options engine = {.size = sizeof engine,
                                          .workers = 1,
                                          .partitions = t->partitions,
                                          .deterministic = true,
                                          .time_limit = 20,
                                          .tolerance = tolerance};
    strads_data *data = NULL;
    strads_result *result = NULL;
    outcome out = {0};

    out.err = lasso_design_lay(d, t->partitions,
                               is_dual(t->loss) ? STRADS_LAYOUT_ROWS
                                                : STRADS_LAYOUT_COLS,
                               &data);
    if (!out.err)
        out.err = run(t, data, &engine, &result);
    if (!out.err) {
        const void *state = strads_result_state(result);
        const strads_progress *progress = strads_result_progress(result);
        uint64_t parameters;
        uint32_t n = 0;
        const double *values =
            strads_result_values(result, &parameters, &out.width);
        memcpy(out.w, values, d->cols * out.width * sizeof(double));
        memcpy(out.b,
               is_dual(t->loss) ? strads_svm_intercepts(state)
                                : strads_glm_intercepts(state),
               out.width * sizeof(double));
        out.end = strads_result_end(result);
        out.objective = progress->objective;
        out.gap = progress->gap;
        const strads_path_point *point =
            t->path ? strads_glm_path(state, &n) : NULL;
        if (n > 0)
            take_point(&point[n - 1], d->cols, &out);
    }
    strads_result_free(result);
    strads_data_free(data);
    return out;
}

/* ---- the objective ------------------------------------------------------- */

static long double loss_at(loss l, double y, const long double *z)
{
    const long double m = y * z[0], off = z[0] - y;
    long double over = 0;

    switch (l) {
    case LOGISTIC:
    case DUAL_LOGISTIC:
        return m > 0 ? log1pl(expl(-m)) : log1pl(expl(m)) - m;
    case SOFTMAX:
        for (int k = 0; k < CLASSES; k++)
            over += expl(z[k] - z[(int)y]);
        return logl(over);
    case SQUARED_HINGE:
        return m < 1 ? (1 - m) * (1 - m) / 2 : 0;
    case POISSON:
        return expl(z[0]) - y * z[0] - (y > 0 ? y - y * logl(y) : 0);
    case GAMMA:
        return z[0] - logl(y) - 1 + y * expl(-z[0]);
    case TWEEDIE: /* of power 1.5 */
        return 2 * (y * expl(-z[0] / 2) + expl(z[0] / 2)) - 4 * sqrtl(y);
    case HUBER:
        over = fabsl(off);
        return over <= HUBER_BEND
                   ? over * over / 2
                   : HUBER_BEND * over - HUBER_BEND * HUBER_BEND / 2;
    case DUAL_HINGE:
        return m < 1 ? 1 - m : 0;
    case DUAL_SQUARED_HINGE:
        return m < 1 ? (1 - m) * (1 - m) : 0;
    case DUAL_EPSILON:
        return fmaxl(fabsl(off) - EPSILON, 0);
    case DUAL_SQUARED_EPSILON:
        over = fmaxl(fabsl(off) - EPSILON, 0);
        return over * over;
    default:
        return off * off / 2;
    }
}

#define MCP_GAMMA 3
#define SCAD_GAMMA 3.7

/* g of the concave penalties, as docs/glm.md has them. */
static long double concave_at(penalty_kind penalty, long double v)
{
    const long double size = fabsl(v), l = LAMBDA;
    const long double end = (penalty == MCP ? MCP_GAMMA : SCAD_GAMMA) * l;
    const long double to = fminl(size, end);

    if (penalty == MCP)
        return to - to * to / (2 * end);
    return size <= l
               ? size
               : (2 * end * to - to * to - l * l) / (2 * (SCAD_GAMMA - 1) * l);
}

/* As the program reports it. */
static long double value_at(const trial *t, const lasso_design *d,
                            const long double *w, const long double *b,
                            uint32_t width)
{
    const bool svm = is_dual(t->loss) && t->loss != DUAL_LOGISTIC;
    long double sum = 0, all = 0, cost = 0;

    for (uint64_t i = 0; i < d->rows; i++) {
        long double z[CLASSES] = {0};
        for (uint32_t k = 0; k < width; k++) {
            z[k] = b[k];
            for (uint64_t j = 0; j < d->cols; j++)
                z[k] +=
                    w[j * width + k] * (long double)lasso_design_col(d, j)[i];
        }
        sum += t->weight[i] * loss_at(t->loss, d->y[i], z);
        all += t->weight[i];
    }
    for (uint32_t k = 0; k < width; k++) {
        long double group[COLS_MAX] = {0}, size[COLS_MAX] = {0};
        for (uint64_t j = 0; j < d->cols; j++) {
            const long double v = t->scale[j] * w[j * width + k];
            const double l1 = t->penalty == L1        ? 1
                              : t->penalty == ELASTIC ? L1_RATIO
                                                      : 0;
            const double l2 = t->penalty == RIDGE     ? 1
                              : t->penalty == ELASTIC ? 1 - L1_RATIO
                                                      : 0;
            cost += l1 * fabsl(v) + l2 * v * v / 2;
            if (t->penalty == MCP || t->penalty == SCAD)
                cost += concave_at(t->penalty, v);
            group[group_of[j]] += v * v;
            size[group_of[j]]++;
        }
        for (int g = 0; g < COLS_MAX && t->penalty == GROUP; g++)
            cost += sqrtl(size[g] * group[g]);
    }
    return svm ? sum + cost : sum / all + LAMBDA * cost;
}

static long double value_of(const trial *t, const lasso_design *d,
                            const outcome *fit)
{
    long double w[COLS_MAX * CLASSES], b[CLASSES];

    for (uint64_t j = 0; j < d->cols * fit->width; j++)
        w[j] = fit->w[j];
    for (uint32_t k = 0; k < fit->width; k++)
        b[k] = fit->b[k];
    return value_at(t, d, w, b, fit->width);
}

/* ---- without an intercept: is there anything lower? ---------------------- */

/* A direction in w of one class: e_j, or its remainder when the largest column
 * takes its mean. */
typedef struct direction {
    uint64_t j, pivot;
    uint32_t class;
    long double share;
} direction;

static long double along(const trial *t, const outcome *fit, long double *w,
                         const direction *d, long double step)
{
    const long double b[CLASSES] = {0};
    const size_t at = d->j * fit->width + d->class;
    const size_t pivot = d->pivot * fit->width + d->class;
    const long double before = w[at], other = w[pivot];

    w[at] += step;
    if (d->share != 0)
        w[pivot] -= d->share * step;
    const long double value = value_at(t, &t->far, w, b, fit->width);
    w[at] = before;
    w[pivot] = other;
    return value;
}

/* The best step by thirds, from a bracket as wide as the coefficients. */
static long double best_step(const trial *t, const outcome *fit, long double *w,
                             const direction *d, long double reach)
{
    long double low = -reach, high = reach;

    for (int k = 0; k < 60; k++) {
        const long double a = low + (high - low) / 3;
        const long double b = high - (high - low) / 3;
        if (along(t, fit, w, d, a) < along(t, fit, w, d, b))
            high = b;
        else
            low = a;
    }
    return (low + high) / 2;
}

/* The objective after coordinate steps from a fit; at most P there. */
static long double lowest(const trial *t, const outcome *fit)
{
    enum { SWEEPS = 6 };
    const uint64_t n = t->far.rows, cols = t->far.cols;
    long double w[COLS_MAX * CLASSES], mean[COLS_MAX] = {0};
    long double best = value_of(t, &t->far, fit);
    uint64_t pivot = 0;

    for (uint64_t j = 0; j < cols; j++) {
        for (uint64_t i = 0; i < n; i++)
            mean[j] += lasso_design_col(&t->far, j)[i] / (long double)n;
        pivot = fabsl(mean[j]) > fabsl(mean[pivot]) ? j : pivot;
    }
    for (uint64_t k = 0; k < cols * fit->width; k++)
        w[k] = fit->w[k];
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (uint32_t k = 0; k < fit->width; k++)
            for (uint64_t j = 0; j < 2 * cols; j++) {
                const uint64_t c = j / 2;
                const bool pairs = j % 2 == 0;
                const direction d = {c, pivot, k,
                                     pairs ? mean[c] / mean[pivot] : 0};
                if (pairs && c == pivot)
                    continue;
                long double reach = 1;
                for (uint64_t i = 0; i < n; i++)
                    reach = fmaxl(reach, fabsl(lasso_design_col(&t->far, c)[i] -
                                               (pairs ? mean[c] : 0)));
                const long double step = best_step(t, fit, w, &d, 3 / reach);
                const long double value = along(t, fit, w, &d, step);
                if (!(value < best))
                    continue;
                best = value;
                w[c * fit->width + k] += step;
                if (pairs)
                    w[pivot * fit->width + k] -= d.share * step;
            }
    return best;
}

/* ---- the tests ----------------------------------------------------------- */

static uint64_t trials(void)
{
    const char *number = getenv("STRADS_OFFSETS");

    return number                  ? strtoull(number, NULL, 10)
           : getenv("STRADS_SOAK") ? SOAK
                                   : SAMPLE;
}

/* The first seed; to look at one design, with STRADS_OFFSETS its seed. */
static uint64_t first_trial(void)
{
    const char *number = getenv("STRADS_OFFSETS_FIRST");

    return number ? strtoull(number, NULL, 10) : 1;
}

/* Seeds whose certificates were wrong once, and run each time. */
static const uint64_t once_with[] = {1672, 4472, 4962};
static const uint64_t once_without[] = {1015, 1424, 1794, 2910, 3078};

typedef struct counts {
    int converged, unconverged, wrong, off, failed;
} counts;

/* What b, a number of 53 bits, and the reported numbers leave open. */
static double slack(const trial *t)
{
    return 1e-9 + 1e-14 * t->ratio;
}

/* Margins are sums of some tens of steps. */
static double margin_rounding(const trial *t, const outcome *fit, uint32_t k)
{
    double reach = fabs(fit->b[k]);

    for (uint64_t j = 0; j < t->far.cols; j++) {
        double size = 0;
        for (uint64_t i = 0; i < t->far.rows; i++)
            size = fmax(size, fabs(lasso_design_col(&t->far, j)[i]));
        reach += fabs(fit->w[j * fit->width + k]) * size;
    }
    return 0x1p-49 * reach;
}

/* By how much the rounding of margins may change the value, relative to it:
 * where rows are nearly fitted it is all that is left. */
static double left_open(const trial *t, const outcome *fit, long double value)
{
    long double most = 0;

    for (int sign = -1; sign <= 1; sign += 2) {
        outcome moved = *fit;
        for (uint32_t k = 0; k < fit->width; k++)
            moved.b[k] += sign * margin_rounding(t, fit, k);
        most = fmaxl(most, fabsl(value_of(t, &t->far, &moved) - value));
    }
    return (double)(most / value);
}

static void try_with(uint64_t seed, counts *sum)
{
    trial t = make_trial(seed, true, false);
    char what[200];
    describe(&t, what, sizeof what);
    const outcome far = fit(&t, &t.far, TOLERANCE);
    const outcome near = fit(&t, &t.near, TOLERANCE_NEAR);
    if (far.err || near.err) {
        cr_expect(far.err && near.err, "%s: %s", what, strads_error_text());
        sum->failed++;
        free_trial(&t);
        return;
    }
    const long double best = value_of(&t, &t.near, &near);
    const long double value = value_of(&t, &t.far, &far);
    const double left = (double)((value - best) / value);
    const bool over = far.end == STRADS_END_CONVERGED;
    const bool wrong = over && left > far.gap + slack(&t);
    const double off = fabs(far.objective / (double)value - 1);
    const double allowed = slack(&t) + left_open(&t, &far, value);
    sum->converged += over;
    sum->unconverged += !over;
    sum->wrong += wrong;
    sum->off += off > allowed;
    cr_expect(over || near.end != STRADS_END_CONVERGED,
              "%s: ended by %d, gap %g, %g above", what, (int)far.end, far.gap,
              left);
    cr_expect(!wrong, "%s: gap %g, and %g is left", what, far.gap, left);
    cr_expect(off <= allowed, "%s: reports %.12g at %.12Lg", what,
              far.objective, value);
    free_trial(&t);
}

Test(linear_offsets, with_an_intercept_fits_are_those_of_centred_columns)
{
    const size_t once = sizeof(once_with) / sizeof(once_with[0]);
    const uint64_t n = trials();
    counts sum = {0};

    for (size_t k = 0; k < once && first_trial() == 1; k++)
        try_with(once_with[k], &sum);
    for (uint64_t seed = first_trial(); seed <= n; seed++)
        try_with(seed, &sum);
    if (getenv("STRADS_OFFSETS"))
        printf("with: %d converged, %d unconverged, %d wrong, %d off, %d "
               "failed\n",
               sum.converged, sum.unconverged, sum.wrong, sum.off, sum.failed);
}

/* The largest mean over deviation up to which a fit without an intercept has to
 * converge: what 5,000 designs reach. Its columns are nearly dependent, and
 * steps of single coordinates, single classes or whole groups zigzag. */
static double reach_without(const trial *t)
{
    return t->penalty == GROUP                      ? 10
           : t->loss == SOFTMAX                     ? 1e3
           : t->loss == HUBER                       ? 1e4
           : is_dual(t->loss) || t->loss == SQUARED ? 1e6
                                                    : 1e5;
}

/* Fits a trial's data with its offsets. False: it was refused, which is
 * counted, and the trial is freed. */
static bool fit_far(trial *t, char *what, size_t size, outcome *far,
                    counts *sum)
{
    describe(t, what, size);
    *far = fit(t, &t->far, TOLERANCE);
    if (!far->err)
        return true;
    sum->failed++;
    free_trial(t);
    return false;
}

static void try_without(uint64_t seed, counts *sum)
{
    trial t = make_trial(seed, false, false);
    char what[200];
    outcome far;
    if (!fit_far(&t, what, sizeof what, &far, sum))
        return;
    const long double value = value_of(&t, &t.far, &far);
    const bool over = far.end == STRADS_END_CONVERGED;
    const double left = over ? (double)((value - lowest(&t, &far)) / value) : 0;
    const double off = fabs(far.objective / (double)value - 1);
    const bool wrong = over && left > far.gap + 1e-9;
    const bool is_off = over && off > far.gap + 1e-9;
    sum->converged += over;
    sum->unconverged += !over;
    sum->wrong += wrong;
    sum->off += is_off;
    cr_expect(!wrong, "%s: gap %g, and %g is left", what, far.gap, left);
    cr_expect(!is_off, "%s: reports %.12g at %.12Lg, gap %g", what,
              far.objective, value, far.gap);
    cr_expect(over || t.ratio > reach_without(&t) ||
                  ((t.loss == POISSON || t.loss == TWEEDIE) &&
                   t.penalty == NONE), /* separable */
              "%s: ended by %d, gap %g", what, (int)far.end, far.gap);
    free_trial(&t);
}

Test(linear_offsets, without_one_certificates_are_true)
{
    const size_t once = sizeof(once_without) / sizeof(once_without[0]);
    const uint64_t n = trials() / 2;
    counts sum = {0};

    for (size_t k = 0; k < once && first_trial() == 1; k++)
        try_without(once_without[k], &sum);
    for (uint64_t seed = first_trial(); seed <= n; seed++)
        try_without(seed, &sum);
    if (getenv("STRADS_OFFSETS"))
        printf("without: %d converged, %d unconverged, %d wrong, %d off, %d "
               "failed\n",
               sum.converged, sum.unconverged, sum.wrong, sum.off, sum.failed);
}

/* ---- penalties that are not convex --------------------------------------- */

/* The penalty's derivative at |w|, for a column of scale 1. */
static long double steepness(const trial *t, long double size)
{
    if (t->penalty == MCP)
        return fmaxl(LAMBDA - size / MCP_GAMMA, 0);
    return size <= LAMBDA
               ? LAMBDA
               : fmaxl(SCAD_GAMMA * LAMBDA - size, 0) / (SCAD_GAMMA - 1);
}

/* -f' of class k at the margins z. */
static long double residual(loss l, double y, const long double *z, uint32_t k)
{
    const long double off = y - z[0], m = y * z[0];
    long double sum = 0;

    switch (l) {
    case LOGISTIC:
        return y / (1 + expl(m));
    case SOFTMAX:
        for (uint32_t c = 0; c < CLASSES; c++)
            sum += expl(z[c] - z[k]);
        return ((int)y == (int)k) - 1 / sum;
    case SQUARED_HINGE:
        return m < 1 ? y * (1 - m) : 0;
    case POISSON:
        return y - expl(z[0]);
    case GAMMA:
        return y * expl(-z[0]) - 1;
    case TWEEDIE:
        return y * expl(-z[0] / 2) - expl(z[0] / 2);
    case HUBER:
        return fminl(fmaxl(off, -HUBER_BEND), HUBER_BEND);
    default:
        return off;
    }
}

typedef long double rows_of_classes[CLASSES][ROWS_MAX];

/* c times -f' of each row and class. */
static void residuals(const trial *t, const outcome *fit, rows_of_classes r,
                      long double *square)
{
    *square = 0;
    for (uint64_t i = 0; i < t->far.rows; i++) {
        long double z[CLASSES] = {0};
        for (uint32_t k = 0; k < fit->width; k++) {
            z[k] = fit->b[k];
            for (uint64_t j = 0; j < t->far.cols; j++)
                z[k] += fit->w[j * fit->width + k] *
                        (long double)lasso_design_col(&t->far, j)[i];
        }
        for (uint32_t k = 0; k < fit->width; k++) {
            const long double own = residual(t->loss, t->far.y[i], z, k);
            r[k][i] = t->weight[i] * own;
            *square += t->weight[i] * own * own;
        }
    }
}

/* Slopes below this share of their columns' norms are rounding: the program
 * allows for 1e-14 of the labels' size. */
static double nothing(const trial *t, const outcome *fit, uint32_t k)
{
    double size = 1;

    for (uint64_t i = 0; i < t->far.rows; i++)
        size = fmax(size, fabs(t->far.y[i]));
    return 1e-14 * size + margin_rounding(t, fit, k);
}

/* The largest violation of stationarity, relative as docs/glm.md has it, by
 * columns less their means if there is an intercept: the program's columns may
 * have larger norms, by `wider`. */
static double violation(const trial *t, const outcome *fit, double *wider)
{
    const uint64_t n = t->far.rows;
    rows_of_classes r;
    long double square, worst = 0, all = 0;

    residuals(t, fit, r, &square);
    for (uint64_t i = 0; i < n; i++)
        all += t->weight[i];
    *wider = 1;
    for (uint64_t j = 0; j < t->far.cols; j++) {
        const double *x = lasso_design_col(&t->near, j);
        long double norm = 0, raw = 0;
        for (uint64_t i = 0; i < n; i++) {
            const long double far = lasso_design_col(&t->far, j)[i];
            norm += t->weight[i] * (long double)x[i] * x[i];
            raw += t->weight[i] * far * far;
        }
        /* beyond 64 deviations origins are within 4 of the mean */
        const double ratio = (double)sqrtl(raw / fmaxl(norm, 1e-300L));
        *wider = fmax(*wider, t->intercept ? fmin(ratio, 100) : 1);
        for (uint32_t k = 0; k < fit->width; k++) {
            const long double blur = nothing(t, fit, k) * sqrtl(norm * all);
            const long double w = t->scale[j] * fit->w[j * fit->width + k];
            const long double l1 = all * t->scale[j] * steepness(t, fabsl(w));
            long double slope = 0;
            for (uint64_t i = 0; i < n; i++)
                slope += r[k][i] * x[i];
            const long double off = w == 0 ? fmaxl(fabsl(slope) - l1, 0)
                                           : fabsl(slope - copysignl(l1, w));
            worst =
                fmaxl(worst, (off - blur) / (all * LAMBDA * t->scale[j] +
                                             sqrtl(norm * square) + 1e-300L));
        }
    }
    for (uint32_t k = 0; k < fit->width && t->intercept; k++) {
        long double slope = 0;
        for (uint64_t i = 0; i < n; i++)
            slope += r[k][i];
        worst = fmaxl(worst, (fabsl(slope) - nothing(t, fit, k) * all) /
                                 (sqrtl(all * square) + 1e-300L));
    }
    return (double)worst;
}

static void try_concave(uint64_t seed, bool intercept, counts *sum)
{
    trial t = make_trial(seed, intercept, true);
    char what[200];
    outcome far;
    if (!fit_far(&t, what, sizeof what, &far, sum))
        return;
    double wider;
    const bool over = far.end == STRADS_END_CONVERGED;
    const double off = violation(&t, &far, &wider);
    /* A slope of centred columns has part of b's. */
    const bool wrong = over && off > 2 * wider * (far.gap + slack(&t));
    const long double value = value_of(&t, &t.far, &far);
    const double miss = fabs(far.objective / (double)value - 1);
    const double allowed = slack(&t) + left_open(&t, &far, value);
    sum->converged += over;
    sum->unconverged += !over;
    sum->wrong += wrong;
    sum->off += over && miss > allowed;
    cr_expect(!wrong, "%s: gap %g, and the violation is %g", what, far.gap,
              off);
    cr_expect(!over || miss <= allowed, "%s: reports %.12g at %.12Lg", what,
              far.objective, value);
    cr_expect(over || t.ratio > 1e4 || getenv("STRADS_OFFSETS"),
              "%s: ended by %d, gap %g", what, (int)far.end, far.gap);
    free_trial(&t);
}

Test(linear_offsets, concave_penalties_end_at_stationary_points)
{
    const uint64_t n = trials() / 2;

    for (int intercept = 0; intercept <= 1; intercept++) {
        counts sum = {0};
        if (first_trial() == 1 && intercept)
            try_concave(213, true, &sum); /* was wrong once */
        for (uint64_t seed = first_trial(); seed <= n; seed++)
            try_concave(seed, intercept, &sum);
        if (getenv("STRADS_OFFSETS"))
            printf("concave, intercept %d: %d converged, %d unconverged, %d "
                   "wrong, %d off, %d failed\n",
                   intercept, sum.converged, sum.unconverged, sum.wrong,
                   sum.off, sum.failed);
    }
}

/* ---- cross-validation ---------------------------------------------------- */

enum { CV_POINTS = 5 };

static strads_err validate(const trial *t, const lasso_design *d,
                           strads_cv_point *points)
{
    const strads_glm_cv_options options = {
        .path = {.fit = {.loss = loss_name[t->loss],
                         .penalty = penalty_name[t->penalty],
                         .l1_ratio = t->penalty == ELASTIC ? L1_RATIO : 0,
                         .intercept = true,
                         .standardize = t->standardize,
                         .row_weight = t->weighted ? t->weight : NULL},
                 .points = CV_POINTS,
                 .first = 16 * LAMBDA,
                 .ratio = .05},
        .folds = 4,
        .seed = 1,
        .tolerance = TOLERANCE_NEAR};
    uint32_t best, simplest;
    strads_data *data = NULL;
    strads_err err = lasso_design_lay(d, 1, STRADS_LAYOUT_COLS, &data);

    if (!err)
        err = strads_glm_cv(data, &options, points, &best, &simplest);
    strads_data_free(data);
    return err;
}

/* The rows of a fold have another mean than all rows. */
Test(linear_offsets, cross_validation_is_that_of_centred_columns)
{
    const uint64_t n = trials() / 2;
    int compared = 0;

    for (uint64_t seed = first_trial(); seed <= n; seed++) {
        trial t = make_trial(seed, true, false);
        strads_cv_point far[CV_POINTS], near[CV_POINTS];
        char what[200];
        describe(&t, what, sizeof what);
        const bool suits = !is_dual(t.loss) && t.loss != SOFTMAX &&
                           (t.penalty == L1 || t.penalty == ELASTIC);
        if (suits && !validate(&t, &t.far, far) &&
            !validate(&t, &t.near, near)) {
            compared++;
            for (int k = 0; k < CV_POINTS; k++) {
                cr_expect_leq(far[k].gap, 1e-6, "%s, point %d: gap %g", what, k,
                              far[k].gap);
                cr_expect_float_eq(far[k].error, near[k].error,
                                   1e-4 * near[k].error, "%s, point %d: %g, %g",
                                   what, k, far[k].error, near[k].error);
            }
        }
        free_trial(&t);
    }
    cr_expect_geq(compared, (int)(n / 16), "%d", compared);
    if (getenv("STRADS_OFFSETS"))
        printf("cv: %d compared\n", compared);
}
