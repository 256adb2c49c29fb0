/* alpha and beta: what log Gamma and digamma rise by, and Minka's fixed point
 * (Estimating a Dirichlet distribution, 2000, equation 55):
 *
 *     alpha_k *= sum_d psi(n_dk + alpha_k) - psi(alpha_k)
 *                / sum_d psi(N_d + A) - psi(A),     A = sum_k alpha_k
 *
 * and the same with one alpha for all topics, and with beta over words. */
#include "lda_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SMALLEST_PRIOR = 1e-8, LARGEST_PRIOR = 1e6;

double lda_log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* By recurrence up to 10, then the asymptotic series (Abramowitz and Stegun
 * 6.3.18), which is good to 1e-15 there. */
double lda_digamma(double x)
{
    double below = 0;

    for (; x < 10; x++)
        below -= 1 / x;
    const double y = 1 / (x * x);
    return below + log(x) - 0.5 / x -
           y * (1.0 / 12 -
                y * (1.0 / 120 -
                     y * (1.0 / 252 -
                          y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 -
                                                                 y / 12))))));
}

/* ---- what they rise by ------------------------------------------------- */

strads_err lda_rise_new(lda_rise *rise)
{
    rise->a = 0;
    rise->log_by = calloc(LDA_RISES, sizeof(double));
    rise->psi_by = calloc(LDA_RISES, sizeof(double));
    return rise->log_by && rise->psi_by
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for a table");
}

void lda_rise_free(lda_rise *rise)
{
    free(rise->log_by);
    free(rise->psi_by);
}

void lda_rise_set(lda_rise *rise, double a)
{
    if (rise->a == a)
        return;
    rise->a = a;
    rise->log_gamma = lda_log_gamma(a);
    rise->digamma = lda_digamma(a);
    for (uint32_t n = 1; n < LDA_RISES; n++) {
        rise->log_by[n] = lda_log_gamma(a + n) - rise->log_gamma;
        rise->psi_by[n] = rise->psi_by[n - 1] + 1 / (a + n - 1);
    }
}

double lda_rise_log(const lda_rise *rise, uint64_t n)
{
    return n < LDA_RISES ? rise->log_by[n]
                         : lda_log_gamma(rise->a + (double)n) - rise->log_gamma;
}

double lda_rise_psi(const lda_rise *rise, uint64_t n)
{
    return n < LDA_RISES ? rise->psi_by[n]
                         : lda_digamma(rise->a + (double)n) - rise->digamma;
}

/* ---- priors ------------------------------------------------------------ */

strads_err lda_prior_new(lda_prior *prior, const strads_lda_options *options)
{
    prior->topics = options->topics;
    prior->beta = options->beta;
    prior->alpha_sum = options->alpha * options->topics;
    prior->alpha = calloc(options->topics, sizeof(double));
    if (!prior->alpha)
        return strads_fail(STRADS_ENOMEM, "no memory left for the priors");
    for (uint32_t k = 0; k < options->topics; k++)
        prior->alpha[k] = options->alpha;
    return STRADS_OK;
}

void lda_prior_free(lda_prior *prior)
{
    free(prior->alpha);
    prior->alpha = NULL;
}

size_t lda_sums(const strads_lda_options *options)
{
    return LDA_PSI_TOPICS + (size_t)options->topics;
}

static double step(double value, double over, double under)
{
    const double next = under > 0 ? value * over / under : value;

    return fmin(fmax(next, SMALLEST_PRIOR), LARGEST_PRIOR);
}

static void learn_alpha(lda_prior *prior, bool even, const double *sums)
{
    const double *by_topic = sums + LDA_PSI_TOPICS;
    const double under = sums[LDA_PSI_DOCUMENTS];
    double all = 0;

    for (uint32_t k = 0; k < prior->topics; k++)
        all += by_topic[k];
    const double shared =
        step(prior->alpha[0], all, under * (double)prior->topics);
    prior->alpha_sum = 0;
    for (uint32_t k = 0; k < prior->topics; k++) {
        prior->alpha[k] =
            even ? shared : step(prior->alpha[k], by_topic[k], under);
        prior->alpha_sum += prior->alpha[k];
    }
}

void lda_prior_learn(lda_prior *prior, const strads_lda_options *options,
                     uint64_t words, const double *sums)
{
    do
        prior->sweep++;
    while (!lda_is_evaluated(options, prior->sweep));
    if (prior->sweep < options->burn_in || prior->sweep >= options->sweeps)
        return;
    if (lda_fits_alpha(options))
        learn_alpha(prior, strcmp(options->fit_alpha, "symmetric") == 0, sums);
    if (options->fit_beta)
        prior->beta = step(prior->beta, sums[LDA_PSI_WORDS],
                           (double)words * sums[LDA_PSI_TOTALS]);
}
