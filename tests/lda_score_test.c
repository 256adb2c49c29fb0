/* Scores of new documents under a topic model, compared with enumeration: the
 * documents are small enough to enumerate all topics of all tokens. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/lda_corpus.h"

enum { TOPICS = 3, WORDS = 4, TOKENS = 5, STATES = 243 };

/* 3 topics, 4 words; word 3 is in no topic. */
static const uint32_t counts[WORDS][TOPICS] = {{5, 0, 1},
                                               {0, 7, 0},
                                               {2, 2, 9},
                                               {0, 0, 0}};

static strads_lda_model *small_model(void)
{
    strads_lda_model *m = calloc(1, sizeof *m);
    m->topics = TOPICS;
    m->words = WORDS;
    m->beta = 0.3;
    m->alpha = calloc(TOPICS, sizeof *m->alpha);
    m->total = calloc(TOPICS, sizeof *m->total);
    m->start = calloc(WORDS + 1, sizeof *m->start);
    m->topic = calloc(WORDS * TOPICS, sizeof *m->topic);
    m->count = calloc(WORDS * TOPICS, sizeof *m->count);
    uint64_t n = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        for (uint32_t k = 0; k < TOPICS; k++) {
            if (counts[w][k]) {
                m->topic[n] = k;
                m->count[n++] = counts[w][k];
                m->total[k] += counts[w][k];
                m->tokens += counts[w][k];
            }
        }
        m->start[w + 1] = n;
    }
    for (uint32_t k = 0; k < TOPICS; k++)
        m->alpha[k] = 0.4 + 0.2 * k;
    return m;
}

static double phi(uint32_t w, uint32_t k)
{
    double all = 0;
    for (uint32_t v = 0; v < WORDS; v++)
        all += counts[v][k] + 0.3;
    return (counts[w][k] + 0.3) / all;
}

/* p(z, words) of n tokens, with topics in the base-3 digits of `state`; n_k. */
static double joint(const uint32_t *token, uint32_t n, uint32_t state,
                    double n_k[TOPICS])
{
    double p = 1, alpha_sum = 0.4 + 0.6 + 0.8;
    memset(n_k, 0, TOPICS * sizeof *n_k);
    for (uint32_t i = 0; i < n; i++, state /= 3) {
        uint32_t k = state % 3;
        p *= (n_k[k] + 0.4 + 0.2 * k) / (i + alpha_sum) * phi(token[i], k);
        n_k[k]++;
    }
    return p;
}

/* 0 0 1 2 3 as a document. */
static const uint32_t token[TOKENS] = {0, 0, 1, 2, 3};
static const uint32_t word[] = {0, 1, 2, 3}, count[] = {2, 1, 1, 1};
static const strads_lda_words document = {.n = 4, .word = word, .count = count};

static double likelihood(void)
{
    double p = 0, n_k[TOPICS];
    for (uint32_t s = 0; s < STATES; s++)
        p += joint(token, TOKENS, s, n_k);
    return p;
}

/* The estimate of p is unbiased for any number of particles: the mean of
 * many is within 5 standard errors. */
Test(lda_score, from_left_to_right_p_is_right_on_average)
{
    enum { RUNS = 20000 };
    const double want = likelihood();
    strads_lda_model *m = small_model();
    for (uint32_t particles = 1; particles <= 3; particles += 2) {
        double sum = 0, squares = 0;
        for (uint64_t seed = 0; seed < RUNS; seed++) {
            strads_lda_score score;
            cr_assert_eq(strads_lda_left_to_right(m, particles, seed, &document,
                                                  &score),
                         STRADS_OK);
            cr_assert_eq(score.tokens, TOKENS);
            sum += exp(score.log_likelihood) / want;
            squares += pow(exp(score.log_likelihood) / want, 2);
        }
        double mean = sum / RUNS;
        double error = sqrt((squares / RUNS - mean * mean) / RUNS);
        cr_assert_lt(fabs(mean - 1), 5 * error, "%u particles: %g +- %g",
                     particles, mean, error);
        cr_assert_lt(error, 0.01);
    }
    strads_lda_model_free(m);
}

Test(lda_score, many_particles_find_the_likelihood_of_a_document)
{
    strads_lda_model *m = small_model();
    strads_lda_score score;
    cr_assert_eq(strads_lda_left_to_right(m, 20000, 1, &document, &score),
                 STRADS_OK);
    cr_assert_float_eq(score.log_likelihood, log(likelihood()), 0.02);
    cr_assert_eq(strads_lda_left_to_right(m, 0, 1, &document, &score),
                 STRADS_EINVAL);
    strads_lda_model_free(m);
}

Test(lda_score, shares_of_topics_are_the_posterior_mean)
{
    const strads_lda_draws draws = {.sweeps = 40000, .burn_in = 100};
    double theta[TOPICS], want[TOPICS] = {0}, n_k[TOPICS], sum = 0;
    strads_lda_model *m = small_model();
    for (uint32_t s = 0; s < STATES; s++) {
        double p = joint(token, TOKENS, s, n_k) / likelihood();
        for (uint32_t k = 0; k < TOPICS; k++)
            want[k] += p * (n_k[k] + 0.4 + 0.2 * k) / (TOKENS + 1.8);
    }
    cr_assert_eq(strads_lda_infer(m, &draws, &document, theta), STRADS_OK);
    for (uint32_t k = 0; k < TOPICS; k++) {
        cr_assert_float_eq(theta[k], want[k], 0.01, "topic %u: %g, not %g", k,
                           theta[k], want[k]);
        sum += theta[k];
    }
    cr_assert_float_eq(sum, 1, 1e-9);
    strads_lda_model_free(m);
}

/* More topics than lanes: three tokens, all 19^3 assignments. */
Test(lda_score, shares_of_many_topics_are_the_posterior_mean)
{
    enum { MANY = 19, STATES_OF_THREE = MANY * MANY * MANY };
    static const uint32_t three[] = {0, 1, 1};
    const uint32_t words[] = {0, 1}, times[] = {1, 2};
    const strads_lda_words text = {.n = 2, .word = words, .count = times};
    const strads_lda_draws draws = {.sweeps = 100000, .burn_in = 100};
    double alpha[MANY], theta[MANY], want[MANY] = {0}, all = 0, alpha_sum = 0;
    uint64_t total[MANY], start[] = {0, MANY, 2 * MANY};
    uint32_t topic[2 * MANY], in[2 * MANY];
    strads_lda_model m = {.topics = MANY,
                          .words = 2,
                          .beta = 0.2,
                          .alpha = alpha,
                          .total = total,
                          .start = start,
                          .topic = topic,
                          .count = in};
    for (uint32_t k = 0; k < MANY; k++) {
        alpha[k] = 0.1 + 0.02 * (k * 7 % MANY);
        alpha_sum += alpha[k];
        topic[k] = topic[MANY + k] = k;
        in[k] = 1 + k * 5 % 11;
        in[MANY + k] = 1 + k * 3 % 13;
        total[k] = in[k] + in[MANY + k];
    }
    for (uint32_t s = 0; s < STATES_OF_THREE; s++) {
        double p = 1, n[MANY] = {0};
        for (uint32_t i = 0, left = s; i < 3; i++, left /= MANY) {
            const uint32_t k = left % MANY;
            p *= (n[k]++ + alpha[k]) * (in[three[i] * MANY + k] + 0.2) /
                 ((double)total[k] + 0.4);
        }
        all += p;
        for (uint32_t k = 0; k < MANY; k++)
            want[k] += p * (n[k] + alpha[k]) / (3 + alpha_sum);
    }
    cr_assert_eq(strads_lda_infer(&m, &draws, &text, theta), STRADS_OK);
    for (uint32_t k = 0; k < MANY; k++)
        cr_assert_float_eq(theta[k], want[k] / all, 0.006,
                           "topic %u: %g, not %g", k, theta[k], want[k] / all);
}

/* Of four tokens of a word, two determine the topics; the score is the
 * probability of the other two under these topics. */
Test(lda_score, completion_scores_one_half_by_the_other)
{
    const uint32_t two[] = {2, 2}, four = 4;
    const strads_lda_words same = {.n = 1, .word = two, .count = &four};
    const strads_lda_draws draws = {.sweeps = 40000, .burn_in = 100};
    double want = 0, all = 0, n_k[TOPICS];
    strads_lda_score score;
    strads_lda_model *m = small_model();
    for (uint32_t s = 0; s < 9; s++) {
        double p = joint(two, 2, s, n_k);
        all += p;
        for (uint32_t k = 0; k < TOPICS; k++)
            want += p * (n_k[k] + 0.4 + 0.2 * k) / 3.8 * phi(2, k);
    }
    cr_assert_eq(strads_lda_complete(m, &draws, &same, &score), STRADS_OK);
    cr_assert_eq(score.tokens, 2);
    cr_assert_float_eq(score.log_likelihood, 2 * log(want / all), 0.01);
    strads_lda_model_free(m);
}

Test(lda_score, documents_that_do_not_fit_the_model_are_refused)
{
    const uint32_t beyond = WORDS, one = 1;
    const strads_lda_words bad = {.n = 1, .word = &beyond, .count = &one};
    const strads_lda_words none = {0};
    strads_lda_draws draws = {.sweeps = 3, .burn_in = 3};
    strads_lda_score score;
    double theta[TOPICS];
    strads_lda_model *m = small_model();
    cr_assert_eq(strads_lda_infer(m, &draws, &document, theta), STRADS_EINVAL);
    draws.burn_in = 1;
    cr_assert_eq(strads_lda_infer(m, &draws, &bad, theta), STRADS_EINVAL);
    cr_assert_eq(strads_lda_complete(m, &draws, &none, &score), STRADS_OK);
    cr_assert_eq(score.tokens, 0);
    cr_assert_eq(strads_lda_left_to_right(m, 2, 0, &none, &score), STRADS_OK);
    cr_assert_float_eq(score.log_likelihood, 0, 1e-12);
    strads_lda_model_free(m);
}

/* ---- coherence --------------------------------------------------------- */

static strads_data *by_row(uint32_t rows, uint32_t cols, uint32_t partitions)
{
    uint64_t *start = calloc(cols + 1, sizeof *start);
    uint32_t *index = calloc((size_t)rows * cols + 1, sizeof *index);
    double *value = calloc((size_t)rows * cols + 1, sizeof *value);
    strads_data *data = NULL;
    uint64_t n = 0;
    for (uint32_t w = 0; w < cols; w++) {
        for (uint32_t d = 0; d < rows; d++) {
            if (lda_corpus_count(d, w)) {
                index[n] = d;
                value[n++] = lda_corpus_count(d, w);
            }
        }
        start[w + 1] = n;
    }
    expect_ok(strads_data_from_columns(
        &(strads_columns){.rows = rows,
                          .cols = cols,
                          .start = start,
                          .index = index,
                          .value = value},
        &(strads_data_options){.size = sizeof(strads_data_options),
                               .partitions = partitions,
                               .layout = STRADS_LAYOUT_ROWS,
                               .kind = STRADS_KIND_CORPUS},
        &data));
    free(start);
    free(index);
    free(value);
    return data;
}

enum { DOCUMENTS = 30, TOP = 5 };

static double documents_with(uint32_t v, uint32_t w)
{
    double n = 0;
    for (uint32_t d = 0; d < DOCUMENTS; d++)
        n += lda_corpus_count(d, v) && lda_corpus_count(d, w);
    return n;
}

Test(lda_score, coherence_agrees_with_counting_by_hand)
{
    /* The third topic has four words; words are in several topics. */
    const uint32_t top[3][TOP] = {{0, 1, 2, 3, 4},
                                  {7, 3, 11, 0, 9},
                                  {5, 12, 3, 6, STRADS_LDA_NO_WORD}};
    for (uint32_t partitions = 1; partitions <= 3; partitions += 2) {
        double umass[3], npmi[3];
        strads_data *data = by_row(DOCUMENTS, 14, partitions);
        cr_assert_eq(strads_lda_coherence(3, TOP, top[0], data, umass, npmi),
                     STRADS_OK);
        for (uint32_t k = 0; k < 3; k++) {
            double u = 0, m = 0, pairs = 0;
            for (uint32_t i = 1; i < TOP; i++) {
                for (uint32_t j = 0; j < i; j++) {
                    if (top[k][i] == STRADS_LDA_NO_WORD)
                        continue;
                    double both = documents_with(top[k][i], top[k][j]);
                    double pi = documents_with(top[k][i], top[k][i]) / 30;
                    double pj = documents_with(top[k][j], top[k][j]) / 30;
                    u += log((both + 1) / (30 * pj));
                    m += both == 0 ? -1
                                   : log(both / 30 / pi / pj) / -log(both / 30);
                    pairs++;
                }
            }
            cr_assert_float_eq(umass[k], u, 1e-9, "topic %u", k);
            cr_assert_float_eq(npmi[k], m / pairs, 1e-9, "topic %u", k);
        }
        strads_data_free(data);
    }
}

Test(lda_score, words_that_never_occur_have_no_coherence)
{
    const uint32_t top[2][2] = {{0, STRADS_LDA_NO_WORD}, {99, 98}};
    double umass[2], npmi[2];
    strads_data *data = by_row(DOCUMENTS, 14, 1);
    cr_assert_eq(strads_lda_coherence(2, 2, top[0], data, umass, npmi),
                 STRADS_OK);
    for (int k = 0; k < 2; k++)
        cr_assert(isnan(umass[k]) && isnan(npmi[k]));
    cr_assert_eq(strads_lda_coherence(2, 0, top[0], data, umass, npmi),
                 STRADS_EINVAL);
    strads_data_free(data);
}

/* ---- assignments ------------------------------------------------------- */

static strads_err score_text(const char *text, strads_lda_joint *out)
{
    char path[] = "/tmp/lda-score-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(file), 0);
    strads_lda_model *m = small_model();
    strads_err err = strads_lda_joint_of(m, path, out);
    strads_lda_model_free(m);
    cr_assert_eq(unlink(path), 0);
    return err;
}

Test(lda_score, the_likelihood_of_assignments_is_the_sum_term_by_term)
{
    const lda_token tokens[] = {{0, 0, 2}, {0, 3, 2}, {2, 1, 0}, {2, 1, 1}};
    const double alpha[] = {0.4, 0.6, 0.8};
    strads_lda_joint got;
    expect_ok(score_text("2 0:2 3:2\n0\n\n 2 1:0\t1:1 \r\n", &got));
    cr_assert_eq(got.documents, 3);
    cr_assert_eq(got.tokens, 4);
    double want = lda_oracle(tokens, 4, 3, WORDS, TOPICS, alpha, 0.3);
    cr_assert_float_eq(got.log_likelihood, want, 1e-9 * fabs(want));
}

Test(lda_score, a_file_of_assignments_that_is_wrong_is_refused_with_its_line)
{
    const char *const bad[] = {"1 0:0\n2 0:1\n",      "1 0:0\n1 0:1 2:2\n",
                               "1 0:0\n1 4:0\n",      "1 0:0\n1 0:3\n",
                               "1 0:0\nx\n",          "1 0:0\n1 0\n",
                               "1 0:0\n1 0:99999999", "1 0:0\n1 -1:0\n",
                               "1 0:0\n1 0:0x\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        strads_lda_joint got;
        cr_assert_eq(score_text(bad[i], &got), STRADS_EFORMAT, "%s", bad[i]);
        expect_says("line 2");
    }
}
