/* The squared hinge, y = -1 or 1: f = max(1 - y z, 0)^2 / 2, whose conjugate is
 * y u + u^2 / 2 where y u <= 0. Where a share p
 * of rows is positive the best margin is 2 p - 1. */
#include <math.h>

#include "glm_loss.h"

static double over(double y, double z)
{
    return y * z < 1 ? 1 - y * z : 0;
}

static double value(double y, double z, double p)
{
    (void)p;
    return over(y, z) * over(y, z) / 2;
}

static double slope(double y, double z, double p)
{
    (void)p;
    return -y * over(y, z);
}

static double curve(double y, double z, double p)
{
    (void)p;
    return over(y, z) > 0;
}

GLM_LOOK(value, slope, curve)

static double conjugate(double y, double u, double p)
{
    (void)p;
    return y * u > 0 ? INFINITY : y * u + u * u / 2;
}

static double mean(double z)
{
    return fmin(fmax((1 + z) / 2, 0), 1);
}

const glm_loss glm_loss_squared_hinge = {.labels = GLM_CLASSES,
                                         .bend = 1,
                                         .flat = true,
                                         .value = value,
                                         .look = look,
                                         .conjugate = conjugate,
                                         .mean = mean};
