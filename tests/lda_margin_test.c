/* Topics that separate labels (MedLDA): the final states of chains follow
 * the posterior, with the classifier integrated out by quadrature. The draws of
 * each part follow their distributions. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apps/lda/lda_parts.h"
#include "tests/lda_chain.h"

/* ---- the posterior of topics --------------------------------------------- */

enum { STATES = 64, PER_DOCUMENT = 3 };
static const double MARGIN = 1.5, LOSS_WEIGHT = 0.8;

/* The integral over eta of Normal(0, I) times the losses of two documents,
 * given by their shares of topic 1 and their signs. */
static double evidence(const double share[2], const int sign[2])
{
    const double step = 0.1;
    double sum = 0;
    for (double a = -7; a < 7; a += step) {
        for (double b = -7; b < 7; b += step) {
            double loss = 0;
            for (int d = 0; d < 2; d++) {
                const double score = a * (1 - share[d]) + b * share[d];
                loss += fmax(0, MARGIN - sign[d] * score);
            }
            sum += exp(-(a * a + b * b) / 2 - 2 * LOSS_WEIGHT * loss);
        }
    }
    return sum;
}

Test(lda_margin, chains_agree_with_the_posterior)
{
    static const uint32_t both[] = {0, 1};
    static const double alpha[] = {0.6, 0.6};
    static const int signs[2][2] = {{1, -1}, {-1, 1}}; /* of two classes */
    double by_counts[PER_DOCUMENT + 1][PER_DOCUMENT + 1], factor[STATES];
    char path[] = "/tmp/lda-labels-XXXXXX";
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, "one\nother\n", 10), 10);
    cr_assert_eq(close(file), 0);
    for (int i = 0; i <= PER_DOCUMENT; i++) {
        for (int j = 0; j <= PER_DOCUMENT; j++) {
            const double share[2] = {(double)i / PER_DOCUMENT,
                                     (double)j / PER_DOCUMENT};
            by_counts[i][j] =
                evidence(share, signs[0]) * evidence(share, signs[1]);
        }
    }
    for (uint32_t s = 0; s < STATES; s++)
        factor[s] = by_counts[__builtin_popcount(s & 7)]
                             [__builtin_popcount(s >> PER_DOCUMENT)];
    const lda_space space = {.n_topics = 2,
                             .all = 2,
                             .words = LDA_TINY_WORDS,
                             .topics = both,
                             .alpha = alpha,
                             .beta = 0.4,
                             .factor = factor};
    strads_lda_options config = {.topics = 2,
                                 .alpha = 0.6,
                                 .beta = 0.4,
                                 .sweeps = 25,
                                 .evaluate = 25,
                                 .labels = path,
                                 .margin = MARGIN,
                                 .loss_weight = LOSS_WEIGHT};
    lda_check_posterior(&space, &config, 1, 800);
    cr_assert_eq(unlink(path), 0);
}

/* ---- weights of the loss ------------------------------------------------- */

/* P(x' <= x) for InverseGaussian(mean, shape), by the normal distribution. */
static double inverse_gaussian(double x, double mean, double shape)
{
    const double r = sqrt(shape / x);
    return gsl_cdf_ugaussian_P(r * (x / mean - 1)) +
           exp(2 * shape / mean) * gsl_cdf_ugaussian_P(-r * (x / mean + 1));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov's distance exceeds 2.2 / sqrt(n) once in 10,000 times. */
static void check_weights(double zeta, double loss_weight)
{
    enum { DRAWS = 20000 };
    static double draw[DRAWS];
    double far = 0;
    for (uint64_t i = 0; i < DRAWS; i++)
        draw[i] = lda_draw_weight(zeta, loss_weight, 5, 1, i);
    qsort(draw, DRAWS, sizeof *draw, by_value);
    for (int i = 0; i < DRAWS; i++) {
        const double p = inverse_gaussian(draw[i], loss_weight / fabs(zeta),
                                          loss_weight * loss_weight);
        far = fmax(far, fmax(fabs(p - (double)i / DRAWS),
                             fabs(p - (i + 1.0) / DRAWS)));
    }
    cr_assert_lt(far, 2.2 / sqrt(DRAWS), "zeta %g: distance %g", zeta, far);
}

Test(lda_margin, weights_are_inverse_gaussian)
{
    check_weights(1.7, 1);
    check_weights(-0.02, 0.5);
    check_weights(64, 3);
}

/* ---- the classifier ------------------------------------------------------ */

enum { TOPICS = 5, SAMPLES = 40, TIMES = 4000 };

/* The mean solves P mean = v by GSL's LU. Draws around it have chi-squared
 * (eta - mean)' P (eta - mean): their average is TOPICS, within 5 standard
 * errors. */
Test(lda_margin, the_classifier_is_the_posterior_of_its_moments)
{
    double moments[TOPICS * (TOPICS + 1) / 2 + TOPICS] = {0};
    double eta[2 * TOPICS] = {0}, mean[2 * TOPICS] = {0};
    double factor[TOPICS * TOPICS], side[2 * TOPICS], distance = 0;
    lda_classifier c = {.classes = 2,
                        .topics = TOPICS,
                        .eta = eta,
                        .mean = mean,
                        .factor = factor,
                        .side = side};
    gsl_matrix *p = gsl_matrix_alloc(TOPICS, TOPICS);
    gsl_matrix *lu = gsl_matrix_alloc(TOPICS, TOPICS);
    gsl_vector *v = gsl_vector_calloc(TOPICS), *x = gsl_vector_alloc(TOPICS);
    gsl_permutation *order = gsl_permutation_alloc(TOPICS);
    int sign;
    gsl_matrix_set_identity(p);
    for (int d = 0; d < SAMPLES; d++) {
        double n[TOPICS];
        for (int k = 0; k < TOPICS; k++)
            n[k] = ((d * 7 + k * 5) % 11) / 30.0;
        for (int i = 0; i < TOPICS; i++) {
            for (int j = 0; j < TOPICS; j++)
                gsl_matrix_set(p, (size_t)i, (size_t)j,
                               gsl_matrix_get(p, (size_t)i, (size_t)j) +
                                   3 * n[i] * n[j]);
            gsl_vector_set(v, (size_t)i,
                           gsl_vector_get(v, (size_t)i) +
                               (d % 3 ? 1 : -1) * n[i]);
        }
    }
    double *to = moments;
    for (size_t i = 0; i < TOPICS; i++)
        for (size_t j = 0; j <= i; j++)
            *to++ = gsl_matrix_get(p, i, j) - (i == j);
    for (size_t i = 0; i < TOPICS; i++)
        *to++ = gsl_vector_get(v, i);
    gsl_matrix_memcpy(lu, p);
    gsl_linalg_LU_decomp(lu, order, &sign);
    gsl_linalg_LU_solve(lu, order, v, x);
    for (uint64_t seed = 0; seed < TIMES; seed++) {
        lda_classifier_learn(&c, 1, seed, 3, 10, moments);
        for (size_t i = 0; i < TOPICS; i++)
            for (size_t j = 0; j < TOPICS; j++)
                distance += (eta[TOPICS + i] - gsl_vector_get(x, i)) *
                            gsl_matrix_get(p, i, j) *
                            (eta[TOPICS + j] - gsl_vector_get(x, j)) / TIMES;
    }
    for (size_t i = 0; i < TOPICS; i++) {
        cr_assert_float_eq(mean[TOPICS + i], gsl_vector_get(x, i), 1e-12);
        cr_assert_eq(mean[i], 0, "another class has changed");
    }
    cr_assert_lt(fabs(distance - TOPICS), 5 * sqrt(2.0 * TOPICS / TIMES),
                 "draws are %g from their mean, expected %d", distance, TOPICS);
    gsl_matrix_free(p);
    gsl_matrix_free(lu);
    gsl_vector_free(v);
    gsl_vector_free(x);
    gsl_permutation_free(order);
}
