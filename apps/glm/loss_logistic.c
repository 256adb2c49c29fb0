/* Logistic regression, y = -1 or 1: f = log(1 + exp(-y z)). With s = -y u in
 * [0, 1] the conjugate is s log s + (1 - s) log(1 - s). */
#include <math.h>

#include "glm_loss.h"

/* 1 / (1 + exp(z)), for any z without overflow. */
static double sigmoid(double z)
{
    const double e = exp(-fabs(z));

    return (z > 0 ? e : 1) / (1 + e);
}

static double logistic_value(double y, double z, double p)
{
    (void)p;
    return fmax(-y * z, 0) + log1p(exp(-fabs(z)));
}

static double logistic_evaluate(const glm_rows *rows, double p, double *r,
                                double *h)
{
    (void)p;
    return logistic_loops_choose()->curve(rows, r, h);
}

static double part(double s)
{
    return s > 0 ? s * log(s) : 0;
}

static double logistic_conjugate(double y, double u, double p)
{
    const double s = -y * u;

    (void)p;
    return s < 0 || s > 1 ? INFINITY : part(s) + part(1 - s);
}

/* All rows at once, from the sums of both classes: nearly exact near s = 1. */
static double logistic_conjugates(const glm_rows *rows, double s, double *r)
{
    logistic_sides sides = {0};

    logistic_loops_choose()->look(rows, r, &sides);
    return -logistic_entropy(&sides.of[0], s) -
           logistic_entropy(&sides.of[1], s);
}

static double logistic_mean(double z)
{
    return sigmoid(-z);
}

static double logistic_link(double mean)
{
    return log(mean / (1 - mean));
}

static double logistic_toward(double y)
{
    return y;
}

#define LOGISTIC                                                      \
    .labels = GLM_CLASSES, .flattens = true, .value = logistic_value, \
    .evaluate = logistic_evaluate, .conjugate = logistic_conjugate,   \
    .conjugates = logistic_conjugates, .mean = logistic_mean,         \
    .link = logistic_link, .toward = logistic_toward

const glm_loss glm_loss_logistic = {LOGISTIC};
const glm_loss glm_loss_multinomial = {LOGISTIC, .joint = true};
