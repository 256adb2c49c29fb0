#include "tests/lda_chain.h"

#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"

const lda_token lda_tiny[LDA_TINY_TOKENS] = {{0, 0, 0}, {0, 1, 0}, {0, 1, 0},
                                             {1, 1, 0}, {1, 2, 0}, {1, 2, 0}};

strads_data *lda_tiny_data(uint32_t words, uint32_t partitions)
{
    static const uint32_t index[] = {0, 0, 1, 1};
    static const double value[] = {1, 2, 1, 2};
    strads_data *data = NULL;
    uint64_t *start = calloc(words + 1, sizeof *start);
    for (uint32_t w = 0; w < words; w++)
        start[w + 1] = w == 0 ? 1 : w == 1 ? 3 : 4;
    (void)strads_data_from_columns(
        &(strads_columns){.rows = LDA_TINY_DOCUMENTS,
                          .cols = words,
                          .start = start,
                          .index = index,
                          .value = value},
        &(strads_data_options){.size = sizeof(strads_data_options),
                               .partitions = partitions,
                               .kind = STRADS_KIND_CORPUS},
        &data);
    free(start);
    return data;
}

/* ---- runs -------------------------------------------------------------- */

static void name_file(char path[LDA_PATH_SIZE])
{
    (void)snprintf(path, LDA_PATH_SIZE, "/tmp/lda-chain-XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
}

static strads_err train(lda_place place, const strads_lda_options *config,
                        const strads_data *data,
                        const strads_engine_options *options,
                        strads_result **out)
{
    const strads_sim_options sim = {.size = sizeof sim,
                                    .nodes = options->workers,
                                    .latency = 1e-4,
                                    .update_cost = 1e-3,
                                    .jitter = 2};
    return place == LDA_HERE
               ? strads_run(&strads_program_lda, config, data, options, out)
               : strads_simulate(&strads_program_lda, config, data, options,
                                 &sim, out, NULL);
}

lda_fit lda_fit_at(lda_place place, const strads_lda_options *config,
                   const strads_data *data, uint32_t workers, uint64_t seed)
{
    char path[LDA_PATH_SIZE];
    lda_fit f = {0};
    strads_result *result = NULL;
    strads_lda_options own = *config;
    own.keep_assignments = true;
    strads_engine_options options = {.size = sizeof options,
                                     .workers = workers,
                                     .seed = seed};
    while (strads_data_share(data, options.partitions))
        options.partitions++;
    strads_err err = train(place, &own, data, &options, &result);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    name_file(path);
    err = strads_lda_assignments_write(result, path);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    err = strads_lda_model_from_result(result, &f.model);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    f.n = lda_read_assignments(path, &f.token);
    f.log_likelihood = strads_result_progress(result)->measure[3];
    cr_assert_eq(unlink(path), 0);
    strads_result_free(result);
    return f;
}

lda_fit lda_fit_run(const strads_lda_options *config, const strads_data *data,
                    uint32_t workers, uint64_t seed)
{
    return lda_fit_at(LDA_HERE, config, data, workers, seed);
}

void lda_fit_free(lda_fit *f)
{
    free(f->token);
    strads_lda_model_free(f->model);
}

void lda_keep_model(const strads_lda_model *model, char path[LDA_PATH_SIZE])
{
    name_file(path);
    expect_ok(strads_lda_model_write(model, NULL, path));
}

void lda_forget_model(const char *path)
{
    char counts[LDA_PATH_SIZE + 4];
    (void)snprintf(counts, sizeof counts, "%s.npy", path);
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(unlink(counts), 0);
}

/* ---- the posterior ----------------------------------------------------- */

static uint32_t states_of(const lda_space *space)
{
    uint32_t states = 1;
    for (int i = 0; i < LDA_TINY_TOKENS; i++)
        states *= space->n_topics;
    return states;
}

void lda_enumerate(const lda_space *x, double *p)
{
    const size_t n = LDA_TINY_TOKENS + x->n_old;
    lda_token *token = calloc(n, sizeof *token);
    double sum = 0, most = -INFINITY;
    memcpy(token, lda_tiny, sizeof lda_tiny);
    if (x->n_old)
        memcpy(token + LDA_TINY_TOKENS, x->old, x->n_old * sizeof *token);
    for (uint32_t s = 0; s < states_of(x); s++) {
        for (uint32_t i = 0, left = s; i < LDA_TINY_TOKENS; i++) {
            token[i].topic = x->topics[left % x->n_topics];
            left /= x->n_topics;
        }
        p[s] = lda_oracle(token, n, LDA_TINY_DOCUMENTS + x->old_documents,
                          x->words, x->all, x->alpha, x->beta);
        most = p[s] > most ? p[s] : most;
    }
    for (uint32_t s = 0; s < states_of(x); s++)
        sum += p[s] = exp(p[s] - most) * (x->factor ? x->factor[s] : 1);
    for (uint32_t s = 0; s < states_of(x); s++)
        p[s] /= sum;
    free(token);
}

uint32_t lda_state_of(const lda_space *x, const lda_token *token)
{
    uint32_t state = 0, place = 1;
    for (uint32_t i = 0; i < LDA_TINY_TOKENS; i++, place *= x->n_topics) {
        uint32_t k = 0;
        while (k < x->n_topics && x->topics[k] != token[i].topic)
            k++;
        if (k == x->n_topics)
            return UINT32_MAX;
        state += k * place;
    }
    return state;
}

double lda_statistic(const double *p, const uint32_t *seen, uint32_t states,
                     uint32_t runs, uint32_t *freedom)
{
    double statistic = 0, rare = 0, rare_seen = 0;
    *freedom = 0;
    for (uint32_t s = 0; s < states; s++) {
        const double want = runs * p[s];
        if (want < 5) {
            rare += want;
            rare_seen += seen[s];
            continue;
        }
        statistic += (seen[s] - want) * (seen[s] - want) / want;
        ++*freedom;
    }
    if (rare > 0)
        statistic += (rare_seen - rare) * (rare_seen - rare) / rare;
    else
        --*freedom;
    return statistic;
}

/* True if tokens i and j of a state have the same topic. */
static bool agree(const lda_space *x, uint32_t state, int i, int j)
{
    uint32_t topic[LDA_TINY_TOKENS];
    for (int t = 0; t < LDA_TINY_TOKENS; t++, state /= x->n_topics)
        topic[t] = state % x->n_topics;
    return topic[i] == topic[j];
}

double lda_worst_pair(const lda_space *x, const double *p, const uint32_t *seen,
                      uint32_t runs)
{
    double worst = 0;
    for (int i = 1; i < LDA_TINY_TOKENS; i++) {
        for (int j = 0; j < i; j++) {
            double want = 0, found = 0;
            for (uint32_t s = 0; s < states_of(x); s++) {
                want += agree(x, s, i, j) ? p[s] : 0;
                found += agree(x, s, i, j) ? seen[s] : 0;
            }
            const double off =
                fabs(found / runs - want) / sqrt(want * (1 - want) / runs);
            worst = off > worst ? off : worst;
        }
    }
    return worst;
}

void lda_check_posterior(const lda_space *x, const strads_lda_options *config,
                         uint32_t partitions, uint32_t runs)
{
    double *p = calloc(states_of(x), sizeof *p);
    uint32_t *seen = calloc(states_of(x), sizeof *seen);
    uint32_t freedom, outside = 0;
    strads_data *data = lda_tiny_data(x->words, partitions);
    cr_assert_not_null(data, "%s", strads_error_text());
    lda_enumerate(x, p);
    for (uint64_t seed = 0; seed < runs; seed++) {
        lda_fit fit = lda_fit_run(config, data, 1, seed);
        cr_assert_eq(fit.n, LDA_TINY_TOKENS);
        const uint32_t state = lda_state_of(x, fit.token);
        if (state == UINT32_MAX)
            outside++;
        else
            seen[state]++;
        lda_fit_free(&fit);
    }
    cr_assert_eq(outside, 0, "%u runs end where none should", outside);
    const double found = lda_statistic(p, seen, states_of(x), runs, &freedom);
    const double bound = gsl_cdf_chisq_Qinv(1e-6, freedom);
    cr_log_info("Pearson's statistic %g, %u degrees, bound %g", found, freedom,
                bound);
    cr_assert_lt(found, bound,
                 "Pearson's statistic is %g with %u degrees of freedom", found,
                 freedom);
    const double off = lda_worst_pair(x, p, seen, runs);
    cr_log_info("tokens agree %g standard errors too often or too rarely", off);
    cr_assert_lt(off, 4.5, "tokens agree %g standard errors off", off);
    strads_data_free(data);
    free(p);
    free(seen);
}
