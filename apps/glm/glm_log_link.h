/* What losses share that model the logarithm of a mean: Poisson, Tweedie and
 * gamma. */
#ifndef GLM_LOG_LINK_H
#define GLM_LOG_LINK_H

#include <math.h>

/* exp(d) - 1 - d, accurate for small d. */
static inline double glm_exp_above_tangent(double d)
{
    return fabs(d) < 1e-5 ? d * d * (.5 + d / 6) : expm1(d) - d;
}

static inline double glm_log_link_mean(double z)
{
    return exp(z);
}

static inline double glm_log_link(double mean)
{
    return log(mean);
}

/* As `toward` of a loss of labels from 0 up. */
static inline double glm_log_link_toward(double y)
{
    return y > 0 ? 0 : -1;
}

#endif
