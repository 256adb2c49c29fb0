/* Least squares: f = (z - y)^2 / 2, whose conjugate is u y + u^2 / 2. */
#include "glm_loss.h"

static double value(double y, double z, double p)
{
    (void)p;
    return (z - y) * (z - y) / 2;
}

static double slope(double y, double z, double p)
{
    (void)p;
    return z - y;
}

static double curve(double y, double z, double p)
{
    (void)y, (void)z, (void)p;
    return 1;
}

GLM_EVALUATE(value, slope, curve)

static double conjugate(double y, double u, double p)
{
    (void)p;
    return u * y + u * u / 2;
}

static double mean(double z)
{
    return z;
}

static double link(double mean)
{
    return mean;
}

const glm_loss glm_loss_squared = {.labels = GLM_NUMBERS,
                                   .constant = true,
                                   .bend = 1,
                                   .value = value,
                                   .evaluate = evaluate,
                                   .conjugate = conjugate,
                                   .mean = mean,
                                   .link = link};
