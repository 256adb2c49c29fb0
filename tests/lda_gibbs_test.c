/* LDA: its reported likelihood against one computed from its assignments
 * without its code; and the same topics in every way to run it. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/lda_chain.h"

enum { DOCUMENTS = 40, WORDS = 90 };

static lda_fit train(const strads_lda_options *config, uint32_t partitions,
                     uint32_t workers, uint64_t seed, lda_place place)
{
    strads_data *data = lda_corpus(DOCUMENTS, WORDS, partitions);
    cr_assert_not_null(data, "%s", strads_error_text());
    const lda_fit f = lda_fit_at(place, config, data, workers, seed);
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
                                .burn_in = 2};
}

static void check_tokens(const lda_fit *f)
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

static void check_model(const lda_fit *f)
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
            lda_fit f = train(&config, partitions, 1, t, LDA_HERE);
            check_tokens(&f);
            check_model(&f);
            double want =
                lda_oracle(f.token, f.n, DOCUMENTS, WORDS, config.topics,
                           f.model->alpha, f.model->beta);
            cr_assert_lt(fabs(f.log_likelihood - want), 1e-9 * fabs(want),
                         "%u topics: %.17g, not %.17g", config.topics,
                         f.log_likelihood, want);
            lda_fit_free(&f);
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
        lda_fit f = train(&config, 3, 2, 1, LDA_HERE);
        cr_assert_neq(f.model->alpha[0], 0.3);
        cr_assert_neq(f.model->beta, 0.05);
        cr_assert_eq(f.model->alpha[0] == f.model->alpha[1], h == 0);
        double want = lda_oracle(f.token, f.n, DOCUMENTS, WORDS, config.topics,
                                 f.model->alpha, f.model->beta);
        cr_assert_lt(fabs(f.log_likelihood - want), 1e-9 * fabs(want));
        lda_fit_free(&f);
    }
}

static void expect_same_topics(const lda_fit *a, const lda_fit *b)
{
    cr_assert_eq(a->n, b->n);
    cr_assert_eq(memcmp(a->token, b->token, a->n * sizeof *a->token), 0);
}

Test(lda, the_same_seed_gives_the_same_topics_however_it_is_run)
{
    const uint32_t topics[] = {30, 200};
    for (size_t t = 0; t < 2; t++) {
        strads_lda_options config = small(topics[t]);
        config.fit_alpha = "asymmetric";
        lda_fit one = train(&config, 4, 1, 5, LDA_HERE);
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            for (int simulated = 0; simulated < 2; simulated++) {
                lda_fit f = train(&config, 4, workers, 5,
                                  simulated ? LDA_SIMULATED : LDA_HERE);
                cr_assert_eq(f.n, one.n);
                cr_assert_eq(memcmp(f.token, one.token, f.n * sizeof *f.token),
                             0, "%u workers, simulated %d", workers, simulated);
                cr_assert_eq(f.log_likelihood, one.log_likelihood);
                lda_fit_free(&f);
            }
        }
        lda_fit other = train(&config, 4, 1, 6, LDA_HERE);
        cr_assert_neq(memcmp(other.token, one.token, one.n * sizeof *one.token),
                      0);
        lda_fit_free(&other);
        lda_fit_free(&one);
    }
}

/* More than a page of entries per partition. */
Test(lda, data_that_are_spent_give_the_same_topics)
{
    enum { MANY = 400 };
    const strads_lda_options config = small(150);
    strads_data *data = lda_corpus(MANY, WORDS, 2);
    cr_assert_not_null(data, "%s", strads_error_text());
    lda_fit kept = lda_fit_run(&config, data, 2, 5);
    strads_data_spend(data);
    lda_fit spent = lda_fit_run(&config, data, 2, 5);
    const strads_sparse *x = &strads_data_share(data, 1)->by_col;
    uint64_t left = 0;
    for (uint64_t e = 0; e < x->nnz; e++)
        left += x->f32[e] > 0;
    cr_expect_lt(left, x->nnz / 2, "%d of %d entries are left", (int)left,
                 (int)x->nnz);
    expect_same_topics(&spent, &kept);
    lda_fit_free(&kept);
    lda_fit_free(&spent);
    strads_data_free(data);
}

/* 1,125 tokens per topic and words of 100 tokens: enough for words to be
 * interleaved. */
Test(lda, words_that_take_turns_give_the_same_topics_and_their_likelihood)
{
    enum { MANY = 400 };
    const strads_lda_options config = small(16);
    strads_data *data = lda_corpus(MANY, WORDS, 2);
    cr_assert_not_null(data, "%s", strads_error_text());
    lda_fit one = lda_fit_run(&config, data, 1, 5);
    lda_fit two = lda_fit_run(&config, data, 2, 5);
    cr_assert_geq(one.n, 16 * 1024);
    expect_same_topics(&one, &two);
    double want = lda_oracle(one.token, one.n, MANY, WORDS, config.topics,
                             one.model->alpha, one.model->beta);
    cr_assert_lt(fabs(one.log_likelihood - want), 1e-9 * fabs(want));
    lda_fit_free(&one);
    lda_fit_free(&two);
    strads_data_free(data);
}

/* ---- input ------------------------------------------------------------- */

static void check_refused(strads_lda_options config, const char *sentence)
{
    strads_result *result = NULL;
    strads_data *data = lda_corpus(4, 5, 1);
    strads_err err =
        strads_run(&strads_program_lda, &config, data, NULL, &result);
    cr_assert_eq(err, STRADS_EINVAL);
    expect_says(sentence);
    strads_data_free(data);
}

/* Adds the counts of `one` to count [WORDS x topics]. */
static void add_counts(const strads_lda_model *one, uint64_t *count)
{
    for (uint32_t w = 0; w < one->words; w++)
        for (uint64_t i = one->start[w]; i < one->start[w + 1]; i++)
            count[(size_t)w * one->topics + one->topic[i]] += one->count[i];
}

static uint64_t tokens_of_word(const strads_lda_model *m, uint32_t w)
{
    uint64_t n = 0;
    for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++)
        n += m->count[i];
    return n;
}

/* With fixed priors the sweeps do not depend on the samples, so the oracle is
 * the sum of shorter runs. */
Test(lda, a_model_is_the_sum_of_its_samples)
{
    for (uint32_t topics = 3; topics <= 150; topics *= 7) {
        for (uint32_t samples = 1; samples <= 4; samples++) {
            uint64_t *count = calloc((size_t)WORDS * topics, sizeof *count);
            strads_lda_options config = small(topics);
            config.sweeps = 30;
            config.samples = samples;
            lda_fit all = train(&config, 3, 2, 5, LDA_HERE);
            config.samples = 0;
            const uint32_t sampled = samples < 3 ? samples : 3;
            for (uint32_t s = 0; s < sampled; s++) {
                config.sweeps = 30 - 5 * s;
                lda_fit one = train(&config, 3, 1, 5, LDA_HERE);
                cr_assert_eq(one.model->samples, 1);
                add_counts(one.model, count);
                lda_fit_free(&one);
            }
            const strads_lda_model *m = all.model;
            cr_assert_eq(m->samples, sampled);
            cr_assert_eq(m->tokens, all.n);
            for (uint32_t w = 0; w < WORDS; w++)
                for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
                    uint64_t *c = &count[(size_t)w * topics + m->topic[i]];
                    cr_assert_eq(*c, m->count[i]);
                    *c = 0;
                }
            for (size_t i = 0; i < (size_t)WORDS * topics; i++)
                cr_assert_eq(count[i], 0);
            free(count);
            lda_fit_free(&all);
        }
    }
}

Test(lda, a_mean_of_samples_keeps_each_words_tokens_when_it_is_continued)
{
    strads_lda_options config = small(7);
    config.sweeps = 40;
    config.samples = 4;
    lda_fit old = train(&config, 2, 1, 3, LDA_HERE);
    char path[LDA_PATH_SIZE];
    lda_keep_model(old.model, path);
    config.from = path;
    config.samples = 0;
    lda_fit new = train(&config, 2, 1, 4, LDA_HERE);
    cr_assert_eq(new.model->samples, 1);
    cr_assert_eq(new.model->tokens, 2 * old.model->tokens);
    for (uint32_t w = 0; w < WORDS; w++) /* both have the same documents */
        cr_assert_eq(2 * tokens_of_word(old.model, w),
                     4 * tokens_of_word(new.model, w));
    lda_forget_model(path);
    lda_fit_free(&old);
    lda_fit_free(&new);
}

/* Without values, sweeps end when the likelihood is flat: not before the priors
 * are learned, and the same for any number of workers. */
Test(lda, without_options_a_run_ends_when_its_likelihood_is_flat)
{
    strads_lda_options config =
        *(const strads_lda_options *)strads_program_lda.defaults;
    config.topics = 4;
    lda_fit one = train(&config, 3, 1, 5, LDA_HERE);
    lda_fit two = train(&config, 3, 3, 5, LDA_HERE);
    lda_fit simulated = train(&config, 3, 2, 5, LDA_SIMULATED);
    expect_same_topics(&one, &two);
    expect_same_topics(&one, &simulated);
    cr_assert_eq(one.model->samples, 10);
    cr_assert_neq(one.model->beta, 0.01);
    cr_assert_neq(one.model->alpha[0], one.model->alpha[1]);
    const double joint = lda_oracle(one.token, one.n, DOCUMENTS, WORDS, 4,
                                    one.model->alpha, one.model->beta);
    cr_assert_float_eq(one.log_likelihood / joint, 1, 1e-9);
    lda_fit_free(&one);
    lda_fit_free(&two);
    lda_fit_free(&simulated);
}

/* The models that a run passed on. */
typedef struct interims {
    lda_fit at[4];
    uint64_t sweep[4];
    uint32_t n;
} interims;

static strads_lda_model *copy_counts(const strads_lda_model *m)
{
    const uint64_t n = m->start[m->words];
    strads_lda_model *c = calloc(1, sizeof *c);
    *c = (strads_lda_model){.topics = m->topics,
                            .words = m->words,
                            .tokens = m->tokens,
                            .documents = m->documents,
                            .beta = m->beta,
                            .samples = m->samples,
                            .start = malloc((m->words + 1) * sizeof *c->start),
                            .topic = malloc((n + 1) * sizeof *c->topic),
                            .count = malloc((n + 1) * sizeof *c->count)};
    memcpy(c->start, m->start, (m->words + 1) * sizeof *c->start);
    memcpy(c->topic, m->topic, n * sizeof *c->topic);
    memcpy(c->count, m->count, n * sizeof *c->count);
    return c;
}

static strads_err keep_interim(void *arg, const strads_lda_model *m,
                               uint64_t sweep)
{
    interims *all = arg;
    cr_assert_lt(all->n, 4);
    all->sweep[all->n] = sweep;
    all->at[all->n++].model = copy_counts(m);
    return STRADS_OK;
}

static void expect_same_counts(const strads_lda_model *a,
                               const strads_lda_model *b)
{
    const uint64_t n = a->start[a->words];
    cr_assert_eq(a->tokens, b->tokens);
    cr_assert_eq(a->documents, b->documents);
    cr_assert_eq(a->beta, b->beta);
    cr_assert_eq(memcmp(a->start, b->start, (a->words + 1) * sizeof *a->start),
                 0);
    cr_assert_eq(memcmp(a->topic, b->topic, n * sizeof *a->topic), 0);
    cr_assert_eq(memcmp(a->count, b->count, n * sizeof *a->count), 0);
}

static void free_interims(interims *all)
{
    for (uint32_t k = 0; k < all->n; k++)
        lda_fit_free(&all->at[k]);
    *all = (interims){0};
}

/* Sweep 40 is both a sample and an interim model. */
Test(lda, an_interim_model_is_that_of_a_run_that_ends_there)
{
    const uint32_t topics[] = {3, 129};
    char path[LDA_PATH_SIZE];
    strads_lda_options config = small(3);
    lda_fit old = train(&config, 2, 1, 9, LDA_HERE);
    lda_keep_model(old.model, path);
    for (uint32_t c = 0; c < 12; c++) {
        interims all = {0};
        const uint32_t workers = 1u << c / 2 % 3, partitions = 1 + c / 2 % 3;
        const lda_place place = c % 2 ? LDA_SIMULATED : LDA_HERE;
        config = small(topics[c / 6]);
        config.from = config.topics == 3 ? path : NULL;
        config.sweeps = 45;
        config.samples = 3;
        lda_fit quiet = train(&config, partitions, workers, c, place);
        config.interim = keep_interim;
        config.interim_arg = &all;
        lda_fit heard = train(&config, partitions, workers, c, place);
        expect_same_topics(&quiet, &heard);
        expect_same_counts(quiet.model, heard.model);
        cr_assert_eq(all.n, 3);
        config.interim = NULL;
        config.samples = 1;
        for (uint32_t k = 0; k < all.n; k++) {
            config.sweeps = 10u << k;
            cr_assert_eq(all.sweep[k], config.sweeps);
            cr_assert_eq(all.at[k].model->samples, 1);
            lda_fit want = train(&config, partitions, 1, c, LDA_HERE);
            expect_same_counts(all.at[k].model, want.model);
            lda_fit_free(&want);
        }
        lda_fit_free(&quiet);
        lda_fit_free(&heard);
        free_interims(&all);
    }
    lda_forget_model(path);
    lda_fit_free(&old);
}

/* A bound on the rounds ends runs in every phase. One of them ends between an
 * interim model and the next sweep, so that counts are gathered twice. */
Test(lda, a_run_with_interim_models_may_end_after_any_round)
{
    for (uint32_t partitions = 1; partitions <= 3; partitions++) {
        strads_data *data = lda_corpus(DOCUMENTS, WORDS, partitions);
        strads_lda_options config = small(5);
        bool twice = false;
        for (uint32_t rounds = 9; rounds < 36; rounds++) {
            interims all = {0};
            strads_result *result = NULL;
            strads_lda_model *m = NULL;
            config.sweeps = 1000;
            config.samples = 1;
            config.interim = keep_interim;
            config.interim_arg = &all;
            expect_ok(strads_run(
                &strads_program_lda, &config, data,
                &(strads_engine_options){.size = sizeof(strads_engine_options),
                                         .workers = 2,
                                         .partitions = partitions,
                                         .max_rounds = rounds,
                                         .seed = 1},
                &result));
            const uint64_t sweeps = strads_lda_ending_of(result).sweeps;
            twice = twice || (all.n > 0 && all.sweep[all.n - 1] == sweeps);
            expect_ok(strads_lda_model_from_result(result, &m));
            config.sweeps = (uint32_t)sweeps;
            config.interim = NULL;
            lda_fit want = lda_fit_run(&config, data, 1, 1);
            expect_same_counts(m, want.model);
            lda_fit_free(&want);
            strads_lda_model_free(m);
            strads_result_free(result);
            free_interims(&all);
        }
        cr_assert(twice, "no run ended there");
        strads_data_free(data);
    }
}

static strads_err fail_interim(void *arg, const strads_lda_model *m,
                               uint64_t sweep)
{
    (void)arg;
    return strads_fail(STRADS_EIO, "sweep %d of %u topics is refused",
                       (int)sweep, m->topics);
}

Test(lda, an_error_of_the_receiver_of_interim_models_ends_the_run)
{
    strads_lda_options config = small(4);
    config.sweeps = 11;
    config.interim = fail_interim;
    strads_data *data = lda_corpus(DOCUMENTS, WORDS, 1);
    strads_result *result = NULL;
    cr_assert_neq(strads_run(&strads_program_lda, &config, data, NULL, &result),
                  STRADS_OK);
    cr_assert_not_null(strstr(strads_error_text(),
                              "sweep 10 of 4 topics is refused"),
                       "%s", strads_error_text());
    strads_result_free(result);
    strads_data_free(data);
}

Test(lda, options_out_of_their_range_are_refused)
{
    strads_lda_options config = small(1);
    check_refused(config, "topics is 1: expected 2 to 65535");
    config.topics = 65536;
    check_refused(config, "topics is 65536: expected 2 to 65535");
    config = small(2);
    config.alpha = -1;
    check_refused(config, "alpha is -1");
    config = small(2);
    config.beta = -1;
    check_refused(config, "beta is -1");
}
