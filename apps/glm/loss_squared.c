/* Least squares: f = (z - y)^2 / 2; the conjugate is u y + u^2 / 2. */
#include <string.h>

#include "glm_loss.h"

static double squared_value(double y, double z, double p)
{
    (void)p;
    return (z - y) * (z - y) / 2;
}

/* Eight sums, so that a compiler may vectorise them. */
static double squared_evaluate(const glm_rows *rows, double p, double *r,
                               double *h)
{
    enum { LANES = 8 };
    double sum[LANES] = {0}, rest = 0;
    uint64_t i = 0;

    for (; r && i + LANES <= rows->n; i += LANES)
        for (uint64_t k = i; k < i + LANES; k++) {
            const double off = rows->y[k] - rows->z[k];
            r[k] = rows->c[k] * off;
            sum[k - i] += r[k] * off;
        }
    for (; i < rows->n; i++) {
        const double off = rows->y[i] - rows->z[i];
        rest += rows->c[i] * off * off;
        if (r)
            r[i] = rows->c[i] * off;
    }
    if (h)
        memcpy(h, rows->c, rows->n * sizeof(*h));
    for (uint64_t k = 0; k < LANES; k++)
        rest += sum[k];
    (void)p;
    return rest / 2;
}

static double squared_conjugate(double y, double u, double p)
{
    (void)p;
    return u * y + u * u / 2;
}

static double squared_mean(double z)
{
    return z;
}

static double squared_link(double mean)
{
    return mean;
}

const glm_loss glm_loss_squared = {.labels = GLM_NUMBERS,
                                   .constant = true,
                                   .value = squared_value,
                                   .evaluate = squared_evaluate,
                                   .conjugate = squared_conjugate,
                                   .mean = squared_mean,
                                   .link = squared_link};
