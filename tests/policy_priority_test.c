/* The priority policy under a stand-in for the engine. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/policy_harness.h"

/* A random symmetric matrix in which a fraction `dense` of pairs depend. */
static float *random_dependency(uint32_t n, double dense, uint64_t seed)
{
    float *d = malloc((size_t)n * n * sizeof *d);
    sti_random r = sti_random_stream(seed, 1, 0);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double u = sti_random_unit(&r);
            double v = sti_random_unit(&r);
            float value = (float)(u < dense ? 0.1 + 0.9 * v : 0.09 * v);
            d[i * n + j] = d[j * n + i] = i == j ? 1 : value;
        }
    return d;
}

static float *random_weights(uint32_t n, uint64_t seed)
{
    float *w = malloc(n * sizeof *w);
    sti_random r = sti_random_stream(seed, 2, 0);
    for (uint32_t j = 0; j < n; j++)
        w[j] = (float)floor(pow(sti_random_unit(&r), -0.5));
    return w;
}

static double decays(harness *h, uint32_t j)
{
    double p = h->priority[j] * sti_random_unit(&h->random) * 0.9;
    return p < 1e-6 ? 0 : p;
}

Test(policy_priority, every_promise_holds_under_random_dependencies)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint32_t n = 20 + (uint32_t)(seed * 7 % 180);
        double dense = (double[]){0, 0.002, 0.01, 0.05, 0.3, 1}[seed % 6];
        float *d = random_dependency(n, dense, seed);
        float *w = random_weights(n, seed);
        harness h;
        harness_setup setup = {.parameters = n,
                               .weight = w,
                               .dependency = d,
                               .want = 1 + (uint32_t)(seed % 4),
                               .depth = (uint32_t)(seed / 4 % 4),
                               .rest = seed % 2 ? 0 : 1e-3,
                               .seed = seed};
        const char *wrong = harness_open(&h, &setup);
        if (!wrong)
            wrong = harness_play(&h, 100000, decays);
        cr_assert_null(wrong, "seed %d: %s", (int)seed, wrong);
        cr_assert_eq(h.rests, 1, "seed %d: rest is not reached", (int)seed);
        for (uint32_t j = 0; j < n; j++)
            cr_assert(h.dispatched[j] > 0, "seed %d: %u starved", (int)seed, j);
        harness_close(&h);
        free(d);
        free(w);
    }
}
