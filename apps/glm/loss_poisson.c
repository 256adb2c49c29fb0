/* Poisson regression of counts: f = exp(z) - y z - (y - y log y), half of
 * the deviance; with m = u + y >= 0 the conjugate is m log m - m + y - y log y.
 * Both are 0 for an exact fit and small near it, and are computed so that
 * rounding errors are small there too. */
#include <math.h>

#include "glm_loss.h"

/* exp(d) - 1 - d, accurate for small d. */
static double over_tangent(double d)
{
    return fabs(d) < 1e-5 ? d * d * (.5 + d / 6) : expm1(d) - d;
}

static double poisson_value(double y, double z, double p)
{
    (void)p;
    return y > 0 ? y * over_tangent(z - log(y)) : exp(z);
}

static double poisson_slope(double y, double z, double p)
{
    (void)p;
    return exp(z) - y;
}

static double poisson_curve(double y, double z, double p)
{
    (void)y, (void)p;
    return exp(z);
}

GLM_EVALUATE(poisson_value, poisson_slope, poisson_curve)

/* u log y + y ((1 + t) log(1 + t) - t) with t = u / y. */
static double poisson_conjugate(double y, double u, double p)
{
    const double t = y > 0 ? u / y : u;

    (void)p;
    if (y == 0)
        return u > 0 ? u * log(u) - u : u < 0 ? INFINITY : 0;
    if (t < -1 - 1e-12) /* r = y - exp(z) may have lost a tiny exp(z) */
        return INFINITY;
    return u * log(y) + y * (fabs(t) < 1e-5 ? t * t * (.5 - t / 6)
                             : t > -1       ? (1 + t) * log1p(t) - t
                                            : 1);
}

static double poisson_mean(double z)
{
    return exp(z);
}

static double poisson_link(double mean)
{
    return log(mean);
}

static double poisson_toward(double y)
{
    return y > 0 ? 0 : -1;
}

const glm_loss glm_loss_poisson = {.labels = GLM_COUNTS,
                                   .value = poisson_value,
                                   .evaluate = evaluate,
                                   .conjugate = poisson_conjugate,
                                   .mean = poisson_mean,
                                   .link = poisson_link,
                                   .toward = poisson_toward};
