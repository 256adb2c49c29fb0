/* Quantile regression (Koenker and Bassett, Econometrica 46, 1978): the loss of
 * t = y - z is p t above 0 and (p - 1) t below, so that the share p of labels
 * is below z. It is the largest r t over r in [p - 1, p], and has a kink.
 *
 * Fits minimise a smoothed loss: with a centre a in the same range,
 *
 *     max_r  r t - width/2 (r - a)^2
 *
 * whose slopes r are feasible for the dual of the true loss. Once it is nearly
 * solved the slopes become the centres: the method of multipliers (Rockafellar,
 * SIAM J. Control and Optimization 14, 1976), which ends at the minimum of the
 * true loss for any width. */
#include <math.h>

#include "glm_loss.h"

static double quantile_value(double y, double z, double p)
{
    const double t = y - z;

    return t > 0 ? p * t : (p - 1) * t;
}

static double quantile_slope(double y, double z, double p)
{
    return y > z ? -p : y < z ? 1 - p : .5 - p;
}

static double quantile_curve(double y, double z, double p)
{
    (void)y;
    (void)z;
    (void)p;
    return 0;
}

GLM_EVALUATE(quantile_value, quantile_slope, quantile_curve)

/* h is the curvature of the parabola that touches both arms, as Huber's. */
static double smooth(const glm_rows *rows, const glm_smoothing *s, double p,
                     double *r, double *h)
{
    const double middle = p - .5;
    double sum = 0;

    for (uint64_t i = 0; i < rows->n; i++) {
        const double t = rows->y[i] - rows->z[i], c = rows->c[i];
        const double u = s->centre[i] + t / s->width;
        const double best = fmin(fmax(u, p - 1), p), off = best - s->centre[i];
        sum += c * (best * t - s->width / 2 * off * off);
        if (r)
            r[i] = c * best;
        if (h)
            h[i] = c * fmin(1, .5 / fabs(u - middle)) / s->width;
    }
    return sum;
}

static double quantile_conjugate(double y, double u, double p)
{
    return u < -p - 1e-12 || u > 1 - p + 1e-12 ? INFINITY : u * y;
}

static double quantile_mean(double z)
{
    return z;
}

static double quantile_link(double mean)
{
    return mean;
}

const glm_loss glm_loss_quantile = {.labels = GLM_NUMBERS,
                                    .majorises = true,
                                    .usual = .5,
                                    .least = 0,
                                    .most = 1,
                                    .value = quantile_value,
                                    .evaluate = evaluate,
                                    .smooth = smooth,
                                    .conjugate = quantile_conjugate,
                                    .mean = quantile_mean,
                                    .link = quantile_link};
