/* Poisson regression of counts: f = exp(z) - y z - (y - y log y), half of the
 * deviance; with m = u + y >= 0 the conjugate is m log m - m + y - y log y. */
#include <math.h>

#include "glm_loss.h"

static double times_log(double y)
{
    return y > 0 ? y * log(y) : 0;
}

static double value(double y, double z, double p)
{
    (void)p;
    return exp(z) - y * z - y + times_log(y);
}

static double slope(double y, double z, double p)
{
    (void)p;
    return exp(z) - y;
}

static double curve(double y, double z, double p)
{
    (void)y, (void)p;
    return exp(z);
}

GLM_LOOK(value, slope, curve)

static double conjugate(double y, double u, double p)
{
    const double m = u + y;

    (void)p;
    /* r = y - exp(z) may have lost a tiny exp(z) to rounding. */
    return m < -1e-12 * y ? INFINITY : times_log(m) - m + y - times_log(y);
}

static double mean(double z)
{
    return exp(z);
}

const glm_loss glm_loss_poisson = {.labels = GLM_COUNTS,
                                   .bend = INFINITY,
                                   .value = value,
                                   .look = look,
                                   .conjugate = conjugate,
                                   .mean = mean};
