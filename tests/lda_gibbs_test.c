/* LDA against what can be computed without it: the likelihood of its own
 * assignments, and the posterior of a corpus so small that all assignments can
 * be enumerated. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lda_corpus.h"

enum { DOCUMENTS = 40, WORDS = 90 };

typedef struct fit {
    lda_token *token;
    size_t n;
    double log_likelihood;
    strads_lda_model *model;
} fit;

static void fit_free(fit *f)
{
    free(f->token);
    strads_lda_model_free(f->model);
}

typedef strads_err (*runner)(const strads_lda_options *config,
                             const strads_data *data,
                             const strads_engine_options *options,
                             strads_result **out);

static strads_err run_here(const strads_lda_options *config,
                           const strads_data *data,
                           const strads_engine_options *options,
                           strads_result **out)
{
    return strads_run(&strads_program_lda, config, data, options, out);
}

static strads_err run_simulated(const strads_lda_options *config,
                                const strads_data *data,
                                const strads_engine_options *options,
                                strads_result **out)
{
    strads_sim_options sim = {.size = sizeof sim,
                              .nodes = options->workers,
                              .latency = 1e-4,
                              .update_cost = 1e-3,
                              .jitter = 2};
    return strads_simulate(&strads_program_lda, config, data, options, &sim,
                           out, NULL);
}

static fit train(const strads_lda_options *config, uint32_t partitions,
                 uint32_t workers, uint64_t seed, runner run)
{
    char path[] = "/tmp/lda-assignments-XXXXXX";
    fit f = {0};
    strads_result *result = NULL;
    strads_data *data = lda_corpus(DOCUMENTS, WORDS, partitions);
    cr_assert_not_null(data, "%s", strads_error_text());
    strads_engine_options options = {.size = sizeof options,
                                     .workers = workers,
                                     .partitions = partitions,
                                     .seed = seed};
    strads_err err = run(config, data, &options, &result);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    err = strads_lda_assignments_write(result, path);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    err = strads_lda_model_from_result(result, &f.model);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    f.n = lda_read_assignments(path, &f.token);
    f.log_likelihood = strads_result_progress(result)->measure[3];
    cr_assert_eq(unlink(path), 0);
    strads_result_free(result);
    strads_data_free(data);
    return f;
}

static strads_lda_options small(uint32_t topics)
{
    return (strads_lda_options){.topics = topics,
                                .alpha = 0.3,
                                .beta = 0.05,
                                .sweeps = 7,
                                .evaluate = 3,
                                .burn_in = 2,
                                .keep_assignments = true};
}

static void check_tokens(const fit *f)
{
    uint32_t *count = calloc(DOCUMENTS * WORDS, sizeof *count);
    for (size_t i = 0; i < f->n; i++)
        count[f->token[i].document * WORDS + f->token[i].word]++;
    for (uint32_t d = 0; d < DOCUMENTS; d++)
        for (uint32_t w = 0; w < WORDS; w++)
            cr_assert_eq(count[d * WORDS + w], lda_corpus_count(d, w),
                         "document %u, word %u", d, w);
    free(count);
}

static void check_model(const fit *f)
{
    const strads_lda_model *m = f->model;
    uint32_t *count = calloc((size_t)WORDS * m->topics, sizeof *count);
    for (size_t i = 0; i < f->n; i++)
        count[(size_t)f->token[i].word * m->topics + f->token[i].topic]++;
    uint64_t all = 0;
    for (uint32_t w = 0; w < WORDS; w++) {
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            cr_assert_eq(count[(size_t)w * m->topics + m->topic[i]],
                         m->count[i]);
            all += m->count[i];
        }
    }
    cr_assert_eq(all, f->n);
    cr_assert_eq(m->tokens, f->n);
    free(count);
}

static const uint32_t topics_tried[] = {2, 16, 100, 128, 129, 300};

Test(lda, its_likelihood_is_that_of_its_assignments)
{
    for (size_t t = 0; t < sizeof topics_tried / sizeof *topics_tried; t++) {
        for (uint32_t partitions = 1; partitions <= 5; partitions += 2) {
            strads_lda_options config = small(topics_tried[t]);
            fit f = train(&config, partitions, 1, t, run_here);
            check_tokens(&f);
            check_model(&f);
            double want =
                lda_oracle(f.token, f.n, DOCUMENTS, WORDS, config.topics,
                           f.model->alpha, f.model->beta);
            cr_assert_lt(fabs(f.log_likelihood - want), 1e-9 * fabs(want),
                         "%u topics: %.17g, not %.17g", config.topics,
                         f.log_likelihood, want);
            fit_free(&f);
        }
    }
}

Test(lda, the_likelihood_is_right_with_priors_that_were_learned)
{
    const char *const how[] = {"symmetric", "asymmetric"};
    for (size_t h = 0; h < 2; h++) {
        strads_lda_options config = small(20);
        config.fit_alpha = how[h];
        config.fit_beta = true;
        config.sweeps = 30;
        config.evaluate = 1;
        fit f = train(&config, 3, 2, 1, run_here);
        cr_assert_neq(f.model->alpha[0], 0.3);
        cr_assert_neq(f.model->beta, 0.05);
        cr_assert_eq(f.model->alpha[0] == f.model->alpha[1], h == 0);
        double want = lda_oracle(f.token, f.n, DOCUMENTS, WORDS, config.topics,
                                 f.model->alpha, f.model->beta);
        cr_assert_lt(fabs(f.log_likelihood - want), 1e-9 * fabs(want));
        fit_free(&f);
    }
}

Test(lda, the_same_seed_gives_the_same_topics_however_it_is_run)
{
    const uint32_t topics[] = {30, 200};
    for (size_t t = 0; t < 2; t++) {
        strads_lda_options config = small(topics[t]);
        config.fit_alpha = "asymmetric";
        fit one = train(&config, 4, 1, 5, run_here);
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            for (int simulated = 0; simulated < 2; simulated++) {
                fit f = train(&config, 4, workers, 5,
                              simulated ? run_simulated : run_here);
                cr_assert_eq(f.n, one.n);
                cr_assert_eq(memcmp(f.token, one.token, f.n * sizeof *f.token),
                             0, "%u workers, simulated %d", workers, simulated);
                cr_assert_eq(f.log_likelihood, one.log_likelihood);
                fit_free(&f);
            }
        }
        fit other = train(&config, 4, 1, 6, run_here);
        cr_assert_neq(memcmp(other.token, one.token, one.n * sizeof *one.token),
                      0);
        fit_free(&other);
        fit_free(&one);
    }
}

/* ---- the posterior ----------------------------------------------------- */

enum { TOKENS = 6, STATES = 64, RUNS = 1500 };

/* Words of two documents, in three words; all 2^6 assignments of two topics. */
static const lda_token tiny[TOKENS] = {{0, 0, 0}, {0, 1, 0}, {0, 1, 0},
                                       {1, 1, 0}, {1, 2, 0}, {1, 2, 0}};

static void set_state(lda_token token[TOKENS], uint32_t state)
{
    for (uint32_t i = 0; i < TOKENS; i++)
        token[i].topic = state >> i & 1;
}

static void enumerate(double p[STATES], const double *alpha, double beta)
{
    lda_token token[TOKENS];
    double sum = 0;
    memcpy(token, tiny, sizeof token);
    for (uint32_t s = 0; s < STATES; s++) {
        set_state(token, s);
        p[s] = exp(lda_oracle(token, TOKENS, 2, 3, 2, alpha, beta));
        sum += p[s];
    }
    for (uint32_t s = 0; s < STATES; s++)
        p[s] /= sum;
}

static strads_data *tiny_corpus(uint32_t partitions)
{
    static const uint64_t start[] = {0, 1, 3, 4};
    static const uint32_t index[] = {0, 0, 1, 1};
    static const double value[] = {1, 2, 1, 2};
    strads_data *data = NULL;
    strads_err err = strads_data_from_columns(
        &(strads_columns){.rows = 2,
                          .cols = 3,
                          .start = start,
                          .index = index,
                          .value = value},
        &(strads_data_options){.size = sizeof(strads_data_options),
                               .partitions = partitions,
                               .kind = STRADS_KIND_CORPUS},
        &data);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    return data;
}

/* Where an independent chain is after some sweeps. Counts tell the state up to
 * which of two equal tokens has the topic. */
static uint32_t end_of_chain(const strads_data *data, uint64_t seed)
{
    char path[] = "/tmp/lda-tiny-XXXXXX";
    strads_result *result = NULL;
    lda_token *token = NULL;
    uint32_t state = 0;
    strads_lda_options config = {.topics = 2,
                                 .alpha = 0.6,
                                 .beta = 0.4,
                                 .sweeps = 12,
                                 .evaluate = 12,
                                 .keep_assignments = true};
    strads_engine_options options = {.size = sizeof options,
                                     .workers = 1,
                                     .blocks = 1,
                                     .partitions = 1,
                                     .seed = seed};
    strads_err err =
        strads_run(&strads_program_lda, &config, data, &options, &result);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    cr_assert_eq(strads_lda_assignments_write(result, path), STRADS_OK);
    cr_assert_eq(lda_read_assignments(path, &token), TOKENS);
    for (uint32_t i = 0; i < TOKENS; i++) {
        cr_assert_eq(token[i].word, tiny[i].word);
        state |= token[i].topic << i;
    }
    cr_assert_eq(unlink(path), 0);
    free(token);
    strads_result_free(result);
    return state;
}

/* Pearson's statistic of 1,500 independent chains with 63 degrees of freedom:
 * it is above 120 once in 50,000 times when the posterior is right. */
Test(lda, chains_end_as_the_posterior_says_by_enumeration)
{
    const double alpha[2] = {0.6, 0.6};
    double p[STATES], statistic = 0;
    uint32_t seen[STATES] = {0};
    strads_data *data = tiny_corpus(1);
    enumerate(p, alpha, 0.4);
    for (uint64_t run = 0; run < RUNS; run++)
        seen[end_of_chain(data, run)]++;
    for (uint32_t s = 0; s < STATES; s++) {
        double want = RUNS * p[s];
        statistic += (seen[s] - want) * (seen[s] - want) / want;
    }
    cr_assert_lt(statistic, 120, "Pearson's statistic is %g", statistic);
    strads_data_free(data);
}

/* ---- input ------------------------------------------------------------- */

static void check_refused(strads_lda_options config, const char *sentence)
{
    strads_result *result = NULL;
    strads_data *data = tiny_corpus(1);
    strads_err err =
        strads_run(&strads_program_lda, &config, data, NULL, &result);
    cr_assert_eq(err, STRADS_EINVAL);
    cr_assert_not_null(strstr(strads_error_text(), sentence), "%s",
                       strads_error_text());
    strads_data_free(data);
}

Test(lda, options_out_of_their_range_are_refused)
{
    strads_lda_options config = small(1);
    check_refused(config, "topics is 1: expected 2 to 65535");
    config.topics = 65536;
    check_refused(config, "topics is 65536: expected 2 to 65535");
    config = small(2);
    config.alpha = 0;
    check_refused(config, "alpha is 0");
    config = small(2);
    config.beta = -1;
    check_refused(config, "beta is -1");
}
