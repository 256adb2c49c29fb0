/* Poisson regression of counts: f = exp(z) - y z - (y - y log y), half of
 * the deviance; with m = u + y >= 0 the conjugate is m log m - m + y - y log y.
 * Both are 0 for an exact fit and small near it, and are computed so that
 * rounding errors are small there too. */
#include <math.h>

#include "glm_log_link.h"
#include "glm_loss.h"

static double poisson_value(double y, double z, double p)
{
    (void)p;
    return y > 0 ? y * glm_exp_above_tangent(z - log(y)) : exp(z);
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

const glm_loss glm_loss_poisson = {.labels = GLM_COUNTS,
                                   .value = poisson_value,
                                   .evaluate = evaluate,
                                   .conjugate = poisson_conjugate,
                                   .mean = glm_log_link_mean,
                                   .link = glm_log_link,
                                   .toward = glm_log_link_toward};
