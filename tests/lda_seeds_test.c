/* Seeds of topics: the sampler against the posterior by enumeration, where a
 * seed's prior is that of as many tokens of other documents; the likelihood
 * and the learned beta against GSL. */
#include <criterion/criterion.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/lda_chain.h"

static void write_seeds(const char *text, char path[LDA_PATH_SIZE])
{
    (void)snprintf(path, LDA_PATH_SIZE, "/tmp/lda-seeds-XXXXXX");
    const int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(file), 0);
}

/* ---- the posterior ------------------------------------------------------- */

Test(lda_seeds, chains_agree_with_the_posterior)
{
    /* The four entries of the tiny corpus give a topic 3 x 4 / 2 = 6. */
    static const uint32_t both[] = {0, 1};
    static const double alpha[] = {0.6, 0.6};
    static const lda_token pseudo[] = {{2, 0, 0}, {2, 0, 0}, {2, 0, 0},
                                       {2, 1, 0}, {2, 1, 0}, {2, 1, 0},
                                       {2, 2, 1}, {2, 2, 1}, {2, 2, 1},
                                       {2, 2, 1}, {2, 2, 1}, {2, 2, 1}};
    char path[LDA_PATH_SIZE];
    write_seeds("0 1\nlast: 2\n", path);
    const strads_lda_options config = {.topics = 2,
                                       .alpha = 0.6,
                                       .beta = 0.4,
                                       .sweeps = 8,
                                       .evaluate = 8,
                                       .seed_words = path,
                                       .seed_weight = 3};
    const lda_space space = {.n_topics = 2,
                             .all = 2,
                             .words = LDA_TINY_WORDS,
                             .topics = both,
                             .alpha = alpha,
                             .beta = 0.4,
                             .old = pseudo,
                             .n_old = sizeof pseudo / sizeof *pseudo,
                             .old_documents = 1};
    lda_check_posterior(&space, &config, 1, 600);
    cr_assert_eq(unlink(path), 0);
}

/* ---- likelihood and counts ----------------------------------------------- */

enum { DOCUMENTS = 40, WORDS = 60 };

static const struct {
    uint32_t topic, word;
} seed_of[] = {{0, 3}, {0, 7}, {1, 59}, {1, 7}, {1, 0}};
enum { SEEDS = sizeof seed_of / sizeof *seed_of };

/* The weight of a seed of its topic's n, by the rule of strads/lda.h. */
static uint32_t count_of(const strads_data *data, uint32_t topics,
                         double weight, uint32_t n)
{
    const double m = rint(weight * (double)strads_data_nnz(data) / topics / n);
    return m < 1 ? 1 : (uint32_t)m;
}

static size_t add_pseudo(const strads_data *data, uint32_t topics,
                         double weight, lda_token *out)
{
    size_t n = 0;
    for (uint32_t s = 0; s < SEEDS; s++) {
        const uint32_t k = seed_of[s].topic;
        for (uint32_t i = count_of(data, topics, weight, k == 0 ? 2 : 3); i;
             i--)
            out[n++] = (lda_token){DOCUMENTS, seed_of[s].word, k};
    }
    return n;
}

static void check_fit(const lda_fit *f, const strads_data *data, double weight)
{
    const strads_lda_model *m = f->model;
    lda_token *all = calloc(f->n + 100000, sizeof *all);
    uint32_t *count = calloc((size_t)WORDS * m->topics, sizeof *count);
    memcpy(all, f->token, f->n * sizeof *all);
    const size_t n = f->n + add_pseudo(data, m->topics, weight, all + f->n);
    const double want =
        lda_oracle(all, n, DOCUMENTS + 1, WORDS, m->topics, m->alpha, m->beta) -
        lda_oracle(all + f->n, n - f->n, DOCUMENTS + 1, WORDS, m->topics,
                   m->alpha, m->beta);
    cr_assert_lt(fabs(f->log_likelihood - want), 1e-9 * fabs(want),
                 "%u topics: %.17g, not %.17g", m->topics, f->log_likelihood,
                 want);
    for (size_t i = 0; i < f->n; i++)
        count[(size_t)f->token[i].word * m->topics + f->token[i].topic]++;
    cr_assert_eq(m->tokens, f->n);
    for (uint32_t w = 0; w < WORDS; w++)
        for (uint64_t i = m->start[w]; i < m->start[w + 1]; i++) {
            uint32_t *c = &count[(size_t)w * m->topics + m->topic[i]];
            cr_assert_eq(*c, m->count[i]);
            *c = 0;
        }
    for (size_t i = 0; i < (size_t)WORDS * m->topics; i++)
        cr_assert_eq(count[i], 0);
    cr_assert_str_eq(m->topic_name[0], "first");
    cr_assert_null(m->topic_name[1]);
    free(all);
    free(count);
}

Test(lda_seeds, the_likelihood_has_their_prior_and_the_counts_do_not)
{
    const uint32_t topics[] = {2, 128, 129};
    char path[LDA_PATH_SIZE];
    write_seeds("first: 3, 7\n59 7 0\n", path);
    for (size_t t = 0; t < sizeof topics / sizeof *topics; t++) {
        for (uint32_t partitions = 1; partitions <= 3; partitions += 2) {
            strads_data *data = lda_corpus(DOCUMENTS, WORDS, partitions);
            const strads_lda_options config = {.topics = topics[t],
                                               .alpha = 0.3,
                                               .beta = 0.05,
                                               .sweeps = 6,
                                               .evaluate = 3,
                                               .seed_words = path,
                                               .seed_weight = 2};
            lda_fit f = lda_fit_run(&config, data, 2, 3);
            check_fit(&f, data, 2);
            lda_fit_free(&f);
            strads_data_free(data);
        }
    }
    cr_assert_eq(unlink(path), 0);
}

/* ---- the learned beta ---------------------------------------------------- */

static double rise(double a, double n)
{
    return gsl_sf_psi(a + n) - gsl_sf_psi(a);
}

/* A step of Minka's fixed point for beta with priors beta + m. */
static double next_beta(const lda_fit *f, const strads_data *data,
                        uint32_t topics, double weight, double beta)
{
    double *n = calloc((size_t)WORDS * topics, sizeof *n), over = 0, under = 0;
    double *m = calloc((size_t)WORDS * topics, sizeof *m);
    for (size_t i = 0; i < f->n; i++)
        n[(size_t)f->token[i].topic * WORDS + f->token[i].word]++;
    for (uint32_t s = 0; s < SEEDS; s++)
        m[(size_t)seed_of[s].topic * WORDS + seed_of[s].word] =
            count_of(data, topics, weight, seed_of[s].topic == 0 ? 2 : 3);
    for (uint32_t k = 0; k < topics; k++) {
        double tokens = 0, prior = WORDS * beta;
        for (size_t i = (size_t)k * WORDS; i < ((size_t)k + 1) * WORDS; i++) {
            over += rise(beta + m[i], n[i]);
            tokens += n[i];
            prior += m[i];
        }
        under += rise(prior, tokens);
    }
    free(n);
    free(m);
    return beta * over / (WORDS * under);
}

Test(lda_seeds, beta_is_learned_beside_their_prior)
{
    char path[LDA_PATH_SIZE];
    write_seeds("first: 3 7\n59 7 0\n", path);
    for (uint32_t partitions = 1; partitions <= 3; partitions += 2) {
        strads_data *data = lda_corpus(DOCUMENTS, WORDS, partitions);
        strads_lda_options config = {.topics = 5,
                                     .alpha = 0.3,
                                     .beta = 0.05,
                                     .fit_beta = true,
                                     .burn_in = 1,
                                     .sweeps = 1,
                                     .evaluate = 1,
                                     .seed_words = path,
                                     .seed_weight = 2};
        lda_fit one = lda_fit_run(&config, data, 1, 3);
        config.sweeps = 2;
        lda_fit two = lda_fit_run(&config, data, 1, 3);
        cr_assert_float_eq(two.model->beta, next_beta(&one, data, 5, 2, 0.05),
                           1e-9);
        lda_fit_free(&one);
        lda_fit_free(&two);
        strads_data_free(data);
    }
    cr_assert_eq(unlink(path), 0);
}

/* ---- a run that continues a model ---------------------------------------- */

Test(lda_seeds, they_add_to_a_model_that_is_continued)
{
    char path[LDA_PATH_SIZE], model[LDA_PATH_SIZE];
    write_seeds("first: 3 7\n59 7 0\n", path);
    strads_data *data = lda_corpus(DOCUMENTS, WORDS, 2);
    strads_lda_options config = {.topics = 4,
                                 .alpha = 0.3,
                                 .beta = 0.05,
                                 .sweeps = 3,
                                 .evaluate = 3,
                                 .seed_words = path,
                                 .seed_weight = 2};
    lda_fit old = lda_fit_run(&config, data, 2, 3);
    lda_keep_model(old.model, model);
    config.from = model;
    for (int seeded = 0; seeded < 2; seeded++) {
        config.seed_words = seeded ? path : NULL;
        lda_fit both = lda_fit_run(&config, data, 2, 4);
        const strads_lda_model *m = both.model;
        uint64_t tokens = 0;
        for (uint64_t i = 0; i < m->start[WORDS]; i++)
            tokens += m->count[i];
        cr_assert_eq(tokens, old.n + both.n);
        cr_assert_eq(m->tokens, tokens);
        cr_assert_str_eq(m->topic_name[0], "first");
        lda_fit_free(&both);
    }
    lda_fit_free(&old);
    strads_data_free(data);
    lda_forget_model(model);
    cr_assert_eq(unlink(path), 0);
}

/* ---- the file ------------------------------------------------------------ */

static strads_err read_text(const char *text, strads_lda_seeds *out)
{
    static const char *const word[] = {"red", "green", "blue"};
    strads_names *names;
    uint32_t number;
    char path[LDA_PATH_SIZE];
    expect_ok(strads_names_new(&names));
    for (uint32_t k = 0; k < 3; k++)
        expect_ok(strads_names_add(names, word[k], strlen(word[k]), &number));
    write_seeds(text, path);
    const strads_err err = strads_lda_seeds_read(path, names, 3, 3, out);
    cr_assert_eq(unlink(path), 0);
    strads_names_free(names);
    return err;
}

Test(lda_seeds, a_file_has_names_words_and_unknown_words)
{
    strads_lda_seeds x;
    expect_ok(
        read_text(" my colours : blue,pink red blue\npink\tgrey blue\r\n", &x));
    cr_assert_eq(x.topics, 2);
    cr_assert_str_eq(x.name[0], "my colours");
    cr_assert_null(x.name[1]);
    cr_assert_eq(x.n, 3);
    cr_assert(x.word[0] == 0 && x.topic[0] == 0);
    cr_assert(x.word[1] == 2 && x.topic[1] == 0);
    cr_assert(x.word[2] == 2 && x.topic[2] == 1);
    cr_assert_eq(strads_names_count(x.unknown), 2);
    cr_assert_str_eq(strads_names_at(x.unknown, 0), "pink");
    cr_assert_eq(x.line[0], 1);
    cr_assert_eq(x.line[1], 2);
    strads_lda_seeds_free(&x);
}

Test(lda_seeds, a_bad_file_is_refused_with_its_line)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {{"red\n\nblue\n", "line 2: has no words"},
               {"red\nname:\n", "line 2: has no words"},
               {": red\n", "line 1: has no name"},
               {"a: red\na: blue\n", "line 2: topic 0 has the name a"},
               {"red\nred\nred\nred\n", "line 4: there are 3 topics"},
               {"\xFF\xFE: red\n", "line 1: the name is not UTF-8"},
               {"pink\n", "has none of the data's words"}};
    strads_lda_seeds x;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        cr_assert_eq(read_text(bad[k].text, &x), STRADS_EFORMAT);
        expect_says(bad[k].sentence);
        strads_lda_seeds_free(&x);
    }
    cr_assert_eq(strads_lda_seeds_read("/no/such", NULL, 3, 3, &x), STRADS_EIO);
    strads_lda_seeds_free(&x);
}
