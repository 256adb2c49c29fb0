/* The squared hinge, y = -1 or 1: f = a max(1 - y z, 0)^2, with the
 * conjugate y u + u^2 / (4 a) for y u <= 0; a is 1/2, or 1 for SVMs
 * (strads/svm.h). If a share p of rows is positive the best margin is 2 p - 1.
 * Its Hessian is a generalised one (Keerthi and DeCoste, JMLR 2005): steps in
 * its model end at the minimum once the rows with curvature are those of the
 * minimum. */
#include <math.h>

#include "glm_loss.h"

static double over(double y, double z)
{
    return y * z >= 1 ? 0 : 1 - y * z;
}

static double scale(double a)
{
    return a > 0 ? a : .5;
}

static double squared_hinge_value(double y, double z, double a)
{
    return scale(a) * over(y, z) * over(y, z);
}

static double squared_hinge_slope(double y, double z, double a)
{
    return -2 * scale(a) * y * over(y, z);
}

static double squared_hinge_curve(double y, double z, double a)
{
    return over(y, z) > 0 ? 2 * scale(a) : 0;
}

GLM_EVALUATE(squared_hinge_value, squared_hinge_slope, squared_hinge_curve)

static double squared_hinge_conjugate(double y, double u, double a)
{
    return y * u > 0 ? INFINITY : y * u + u * u / (4 * scale(a));
}

static double squared_hinge_mean(double z)
{
    return fmin(fmax((1 + z) / 2, 0), 1);
}

static double squared_hinge_link(double mean)
{
    return 2 * mean - 1;
}

#define HINGE                                                          \
    .labels = GLM_CLASSES, .flat = true, .value = squared_hinge_value, \
    .evaluate = evaluate, .conjugate = squared_hinge_conjugate,        \
    .mean = squared_hinge_mean, .link = squared_hinge_link

const glm_loss glm_loss_squared_hinge = {HINGE};
const glm_loss glm_loss_svm = {HINGE, .usual = 1};
