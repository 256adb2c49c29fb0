/* Huber's loss: least squares of errors up to p, and beyond it p |z - y| -
 * p^2 / 2; the conjugate is that of least squares, restricted to [-p, p]. */
#include <math.h>

#include "glm_loss.h"

static double huber_value(double y, double z, double p)
{
    const double t = fabs(z - y);

    return t <= p ? t * t / 2 : p * t - p * p / 2;
}

static double huber_slope(double y, double z, double p)
{
    return fmin(fmax(z - y, -p), p);
}

/* f'' is 0 beyond p, so this is the curvature of the parabola that lies
 * above f and touches both arms. */
static double huber_curve(double y, double z, double p)
{
    return fmin(1, p / fabs(z - y));
}

GLM_EVALUATE(huber_value, huber_slope, huber_curve)

static double huber_conjugate(double y, double u, double p)
{
    return fabs(u) > p * (1 + 1e-12) ? INFINITY : u * y + u * u / 2;
}

static double huber_mean(double z)
{
    return z;
}

static double huber_link(double mean)
{
    return mean;
}

const glm_loss glm_loss_huber = {.labels = GLM_NUMBERS,
                                 .majorises = true,
                                 .usual = 1.345,
                                 .value = huber_value,
                                 .evaluate = evaluate,
                                 .conjugate = huber_conjugate,
                                 .mean = huber_mean,
                                 .link = huber_link};
