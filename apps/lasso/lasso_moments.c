/* What is known of every column before the first scan: mean, norm and scale,
 * and with them lambda_max and lambda. A column whose variance is no larger
 * than the rounding of its sums gets norm 0: under an intercept it could only
 * imitate that, so it never enters. */
#include <math.h>

#include "lasso_path.h"

/* |x|^2 - |x|^2 of the mean: below this share of |x|^2 it is rounding. */
#define ROUNDING 1e-12

enum { LANES = 8 };

static double sum_lanes(const double s[LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* Eight sums in a fixed order, which a compiler may make vectors of. */
#define DEFINE_SUMS(name, real)                                      \
    static void name(uint64_t n, const real *value, double s[LANES], \
                     double t[LANES])                                \
    {                                                                \
        uint64_t k = 0;                                              \
        for (; k + LANES <= n; k += LANES)                           \
            for (uint64_t i = 0; i < LANES; i++) {                   \
                s[i] += (double)value[k + i];                        \
                t[i] += (double)value[k + i] * (double)value[k + i]; \
            }                                                        \
        for (; k < n; k++) {                                         \
            s[k % LANES] += (double)value[k];                        \
            t[k % LANES] += (double)value[k] * (double)value[k];     \
        }                                                            \
    }
DEFINE_SUMS(sums_f64, double)
DEFINE_SUMS(sums_f32, float)

static void plain_sums(const data_column *x, double *sum, double *squares)
{
    double s[LANES] = {0}, t[LANES] = {0};

    if (x->f64)
        sums_f64(x->n, x->f64, s, t);
    else
        sums_f32(x->n, x->f32, s, t);
    *sum = sum_lanes(s);
    *squares = sum_lanes(t);
}

static double squares_of(const lasso_local *local, const data_column *x)
{
    double sum, squares;

    if (x->f64)
        return local->kernels->dot_dense(x->n, x->f64, x->f64);
    plain_sums(x, &sum, &squares);
    return squares;
}

void lasso_sums(const lasso_local *local, const strads_share *share,
                uint64_t begin, uint64_t end, double *squares, double *sum)
{
    for (uint64_t j = begin; j < end; j++) {
        const data_column x = data_column_of(share, j);
        if (x.n == 0)
            continue; /* of many shares most columns */
        if (sum)
            plain_sums(&x, &sum[j], &squares[j]);
        else
            squares[j] = squares_of(local, &x);
        if (sum && local->root)
            sum[j] = local->kernels->dot(&x, local->root);
    }
}

double lasso_sum(const lasso_local *local, const double *v)
{
    const data_column x = {.n = local->rows, .f64 = v};
    double sum, squares;

    if (local->root)
        return local->kernels->dot_dense(local->rows, local->root, v);
    plain_sums(&x, &sum, &squares);
    return sum;
}

static void set_column(lasso_state *state, uint64_t j, double sum,
                       double squares)
{
    const double n = state->rows;
    const double mean = state->options.intercept ? sum / n : 0;
    const double centred = squares - n * mean * mean;

    if (state->options.intercept) /* else it stays 0, and its memory unused */
        state->mean[j] = mean;
    state->norm[j] = centred > ROUNDING * squares ? centred : 0;
    if (state->scale)
        state->scale[j] = state->norm[j] > 0 ? sqrt(state->norm[j] / n) : 1;
}

/* lambda_max = max_j |x_j' y_c| / (s_j n l1_ratio): below it some column's
 * slope at w = 0 exceeds its penalty's. */
void lasso_set_moments(lasso_state *state, const double *merged)
{
    const uint64_t p = state->columns;
    const double *xy = merged, *squares = merged + p + 3, *sum = squares + p;
    const double y_sum = merged[p + 2];
    const strads_lasso_options *o = &state->options;
    double steepest = 0;

    for (uint64_t j = 0; j < p; j++) {
        set_column(state, j, o->intercept ? sum[j] : 0, squares[j]);
        if (state->norm[j] == 0)
            continue;
        const double slope =
            (xy[j] - state->mean[j] * y_sum) / lasso_scale(state, j);
        const double size = o->positive ? slope : fabs(slope);
        steepest = size > steepest ? size : steepest;
    }
    state->label_sum = y_sum;
    const double n = state->rows > 0 ? state->rows : 1;
    state->lambda_max = steepest / (n * o->l1_ratio);
    if (state->path) {
        lasso_path_start(state);
        return;
    }
    state->lambda =
        o->lambda > 0 ? o->lambda : o->lambda_ratio * state->lambda_max;
    state->l1 = n * state->lambda * o->l1_ratio;
    state->l2 = n * state->lambda * (1 - o->l1_ratio);
}
