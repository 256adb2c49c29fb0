/* Positive numbers and the logarithm of their mean: the Tweedie families of
 * power p between 1 and 2 (a Poisson number of gamma amounts, so 0 is possible)
 * and of power 2, the gamma family. f is half of the unit deviance (Jorgensen,
 * The Theory of Dispersion Models, 1997) at the mean exp(z).
 *
 * With a = p - 1, b = 2 - p and d = z - log(y), f = y^b G(d) for
 *     G(d) = (exp(-a d) - 1 + a d) / a + (exp(b d) - 1 - b d) / b
 * where the second term is 0 for b = 0. f and its conjugate are 0 for an exact
 * fit and small near it, and are computed so that rounding errors are small
 * there too. */
#include <math.h>

#include "glm_log_link.h"
#include "glm_loss.h"

enum { GAMMA_POWER = 2 };

static double deviance(double d, double p)
{
    const double a = p - 1, b = 2 - p;
    return glm_exp_above_tangent(-a * d) / a +
           (b > 0 ? glm_exp_above_tangent(b * d) / b : 0);
}

static double deviance_slope(double d, double p)
{
    return exp((1 - p) * d) * expm1(d);
}

static double deviance_curve(double d, double p)
{
    const double a = p - 1, b = 2 - p;
    return a * exp(-a * d) + b * exp(b * d);
}

/* ---- of a row ------------------------------------------------------------ */

static double tweedie_value(double y, double z, double p)
{
    return y > 0 ? pow(y, 2 - p) * deviance(z - log(y), p)
                 : exp((2 - p) * z) / (2 - p);
}

static double tweedie_slope(double y, double z, double p)
{
    return y > 0 ? pow(y, 2 - p) * deviance_slope(z - log(y), p)
                 : exp((2 - p) * z);
}

static double tweedie_curve(double y, double z, double p)
{
    return y > 0 ? pow(y, 2 - p) * deviance_curve(z - log(y), p)
                 : (2 - p) * exp((2 - p) * z);
}

GLM_EVALUATE(tweedie_value, tweedie_slope, tweedie_curve)

/* max_d t d - G(d) for b > 0, where the slope of G takes every value t: Newton
 * steps within a bracket of the root. An error of the root is squared in the
 * result, which is at most by it too small. */
static double find_most(double t, double p)
{
    enum { STEPS = 200 };
    const double a = p - 1, b = 2 - p;
    /* The slope is exp(b d) - exp(-a d): beyond these it is past t. */
    double low = t < 0 ? -log1p(-t) / a : 0;
    double high = t > 0 ? log1p(t) / b : 0;
    double d = t < 0 ? fmax(low, t) : fmin(high, t);
    for (int k = 0; k < STEPS; k++) {
        const double off = deviance_slope(d, p) - t;
        const double step = -off / deviance_curve(d, p);
        if (off > 0)
            high = d;
        else
            low = d;
        double next = d + step;
        if (!(next > low && next < high))
            next = .5 * (low + high);
        if (fabs(next - d) <= 1e-9 * fabs(next)) {
            d = next;
            break;
        }
        d = next;
    }
    return t * d - deviance(d, p);
}

static double tweedie_conjugate(double y, double u, double p)
{
    const double b = 2 - p;
    if (y == 0)
        return u > 0 ? (u * log(u) - u) / b : u < 0 ? INFINITY : 0;
    const double scale = pow(y, b);
    return u * log(y) + scale * find_most(u / scale, p);
}

const glm_loss glm_loss_tweedie = {.labels = GLM_COUNTS,
                                   .usual = 1.5,
                                   .least = 1,
                                   .most = GAMMA_POWER,
                                   .value = tweedie_value,
                                   .evaluate = evaluate,
                                   .conjugate = tweedie_conjugate,
                                   .mean = glm_log_link_mean,
                                   .link = glm_log_link,
                                   .toward = glm_log_link_toward};

/* ---- power 2 ------------------------------------------------------------- */

static double gamma_value(double y, double z, double p)
{
    (void)p;
    return glm_exp_above_tangent(log(y) - z);
}

/* Returns sum c f, as evaluate() with p = 2 in one exponential a row. */
static double evaluate_gamma(const glm_rows *rows, double p, double *r,
                             double *h)
{
    double sum = 0;
    (void)p;
    for (uint64_t i = 0; i < rows->n; i++) {
        const double c = rows->c[i], d = rows->z[i] - log(rows->y[i]);
        const double e = expm1(-d);
        sum += c * (fabs(d) < 1e-5 ? glm_exp_above_tangent(-d) : e + d);
        if (r)
            r[i] = c * e;
        if (h)
            h[i] = c * (1 + e);
    }
    return sum;
}

/* u log y + (1 - u) log(1 - u) + u */
static double gamma_conjugate(double y, double u, double p)
{
    (void)p;
    if (u > 1 + 1e-12) /* 1 - y exp(-z) may have lost a tiny exp(-z) */
        return INFINITY;
    return u * log(y) + (fabs(u) < 1e-5 ? u * u * (.5 + u / 6)
                         : u < 1        ? (1 - u) * log1p(-u) + u
                                        : 1);
}

const glm_loss glm_loss_gamma = {.labels = GLM_POSITIVE,
                                 .value = gamma_value,
                                 .evaluate = evaluate_gamma,
                                 .conjugate = gamma_conjugate,
                                 .mean = glm_log_link_mean,
                                 .link = glm_log_link};
