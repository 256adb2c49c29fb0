/* strads lda evaluate: how well a topic model predicts documents, and how well
 * its topics' words go together in them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_corpus.h"
#include "cli_names.h"
#include "cli_options.h"
#include "command.h"

typedef struct evaluate_options {
    uint32_t sweeps, burn_in, particles, words;
    uint64_t seed;
    const char *assignments;
    bool json;
} evaluate_options;

static const strads_option evaluate_table[] = {
    {.name = "sweeps",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluate_options, sweeps),
     .metavar = "N",
     .help = "completion: draws of each token (default: 50)",
     .min = 1,
     .max = 1e9},
    {.name = "burn-in",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluate_options, burn_in),
     .metavar = "N",
     .help = "of them not averaged (default: 10)",
     .max = 1e9},
    {.name = "particles",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluate_options, particles),
     .metavar = "N",
     .help = "left to right: time grows with the square of a document's "
             "length (default: 0, not done)",
     .max = 1e6},
    {.name = "words",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(evaluate_options, words),
     .metavar = "N",
     .help = "coherence: of so many top words (default: 10)",
     .min = 2,
     .max = 1000},
    {.name = "assignments",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(evaluate_options, assignments),
     .metavar = "FILE",
     .help = "their likelihood, too: lines `N word:topic ...` (none)"},
    {.name = "seed",
     .kind = STRADS_OPTION_U64,
     .offset = offsetof(evaluate_options, seed),
     .metavar = "S",
     .help = "of the draws (default: 0)"},
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(evaluate_options, json),
     .help = "print JSON lines (default: for people)"},
    {.name = NULL},
};

typedef struct evaluation {
    evaluate_options options;
    cli_corpus_options read;
    strads_lda_model *model;
    cli_corpus corpus;
    uint32_t *word, *count; /* of the longest document */
    uint32_t *top;          /* [topics x options.words] */
    double *score, *umass, *npmi;
} evaluation;

static void evaluation_free(evaluation *e)
{
    strads_lda_model_free(e->model);
    cli_corpus_free(&e->corpus);
    free(e->word);
    free(e->count);
    free(e->top);
    free(e->score);
    free(e->umass);
    free(e->npmi);
}

static strads_err make_room(evaluation *e)
{
    const size_t topics = e->model->topics;
    const size_t places = topics * e->options.words;
    e->word = calloc(e->corpus.longest + 1, sizeof *e->word);
    e->count = calloc(e->corpus.longest + 1, sizeof *e->count);
    e->top = calloc(places, sizeof *e->top);
    e->score = calloc(places, sizeof *e->score);
    e->umass = calloc(topics, sizeof *e->umass);
    e->npmi = calloc(topics, sizeof *e->npmi);
    return e->word && e->count && e->top && e->score && e->umass && e->npmi
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left to judge a model");
}

/* ---- scores ------------------------------------------------------------ */

static void print_score(const evaluation *e, const char *name,
                        const char *title, const strads_lda_score *score)
{
    const double tokens = (double)score->tokens;
    const double mean = tokens > 0 ? score->log_likelihood / tokens : NAN;
    if (!e->options.json && score->tokens == 0) {
        (void)printf("%-14s not to be had: there are no tokens to judge by\n",
                     title);
        return;
    }
    if (!e->options.json) {
        (void)printf("%-14s perplexity %.6g, log-likelihood %.6f a token, of "
                     "%" PRIu64 " tokens\n",
                     title, exp(-mean), mean, score->tokens);
        return;
    }
    (void)printf("{\"measure\": \"%s\", \"tokens\": %" PRIu64
                 ", \"log_likelihood\": ",
                 name, score->tokens);
    cli_csv_number(stdout, score->log_likelihood);
    if (tokens > 0) {
        (void)fputs(", \"log_likelihood_per_token\": ", stdout);
        cli_csv_number(stdout, mean);
        (void)fputs(", \"perplexity\": ", stdout);
        cli_csv_number(stdout, exp(-mean));
    }
    (void)fputs("}\n", stdout);
}

static strads_err score_one(evaluation *e, uint64_t d, bool completion,
                            strads_lda_score *score)
{
    const strads_lda_draws draws = {.sweeps = e->options.sweeps,
                                    .burn_in = e->options.burn_in,
                                    .seed = e->options.seed};
    strads_lda_words words = cli_corpus_words(&e->corpus, d, e->word, e->count);
    return completion
               ? strads_lda_complete(e->model, &draws, &words, score)
               : strads_lda_left_to_right(e->model, e->options.particles,
                                          e->options.seed, &words, score);
}

static strads_err score_all(evaluation *e, bool completion)
{
    strads_lda_score all = {0};
    strads_err err = STRADS_OK;
    for (uint64_t d = 0; d < strads_data_rows(e->corpus.data) && !err; d++) {
        strads_lda_score one = {0};
        err = score_one(e, d, completion, &one);
        all.tokens += one.tokens;
        all.log_likelihood += one.log_likelihood;
    }
    if (!err) {
        print_score(e, completion ? "completion" : "left_to_right",
                    completion ? "completion" : "left to right", &all);
    }
    return err;
}

static strads_err score_assignments(evaluation *e)
{
    strads_lda_joint joint;
    strads_err err =
        strads_lda_joint_of(e->model, e->options.assignments, &joint);
    if (err) {
        return err;
    }
    const double mean =
        joint.tokens ? joint.log_likelihood / (double)joint.tokens : 0;
    (void)printf(e->options.json
                     ? "{\"measure\": \"assignments\", \"documents\": %" PRIu64
                       ", \"tokens\": %" PRIu64 ", \"log_likelihood\": "
                     : "assignments    of %" PRIu64 " documents, %" PRIu64
                       " tokens: log-likelihood ",
                 joint.documents, joint.tokens);
    cli_csv_number(stdout, joint.log_likelihood);
    (void)printf(e->options.json ? ", \"log_likelihood_per_token\": " : ", ");
    cli_csv_number(stdout, mean);
    (void)puts(e->options.json ? "}" : " a token");
    return STRADS_OK;
}

/* ---- coherence --------------------------------------------------------- */

static double mean_of(const double *x, uint32_t n)
{
    double sum = 0;
    uint32_t known = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!isnan(x[k])) {
            sum += x[k];
            known++;
        }
    }
    return known > 0 ? sum / known : NAN;
}

static void print_pair(double umass, double npmi)
{
    (void)fputs(", \"umass\": ", stdout);
    cli_csv_number(stdout, umass);
    (void)fputs(", \"npmi\": ", stdout);
    cli_csv_number(stdout, npmi);
}

enum { FIGURE_SIZE = 32 };

/* For people: so many decimals, or "-" where these documents do not tell. */
static const char *figure(double x, int decimals, char out[FIGURE_SIZE])
{
    if (isnan(x)) {
        return "-";
    }
    (void)snprintf(out, FIGURE_SIZE, "%.*f", decimals, x);
    return out;
}

static void print_topic(const evaluation *e, uint32_t topic)
{
    const uint32_t *top = e->top + (size_t)topic * e->options.words;
    char room[CLI_WORD_SIZE];
    if (e->options.json) {
        (void)printf("{\"topic\": %" PRIu32 ", \"tokens\": %" PRIu64, topic,
                     e->model->total[topic]);
        print_pair(e->umass[topic], e->npmi[topic]);
        (void)fputs(", \"words\": [", stdout);
    } else {
        char umass[FIGURE_SIZE], npmi[FIGURE_SIZE];
        (void)printf("%5" PRIu32 " %5.1f %% %9s %8s ", topic,
                     100 * (double)e->model->total[topic] /
                         (double)e->model->tokens,
                     figure(e->umass[topic], 2, umass),
                     figure(e->npmi[topic], 4, npmi));
    }
    for (uint32_t i = 0; i < e->options.words; i++) {
        if (top[i] == STRADS_LDA_NO_WORD) {
            break;
        }
        const char *name = cli_corpus_name(e->model, top[i], room);
        (void)fputs(i == 0 ? "" : e->options.json ? ", " : " ", stdout);
        if (e->options.json) {
            cli_json_text(stdout, name);
        } else {
            (void)fputs(name, stdout);
        }
    }
    (void)puts(e->options.json ? "]}" : "");
}

static strads_err judge_topics(evaluation *e)
{
    const uint32_t topics = e->model->topics, n = e->options.words;
    strads_err err = strads_lda_top_words(e->model, 1, n, e->top, e->score);
    if (!err) {
        err = strads_lda_coherence(topics, n, e->top, e->corpus.data, e->umass,
                                   e->npmi);
    }
    if (err) {
        return err;
    }
    const double umass = mean_of(e->umass, topics);
    const double npmi = mean_of(e->npmi, topics);
    if (e->options.json) {
        (void)printf("{\"measure\": \"coherence\", \"words\": %" PRIu32, n);
        print_pair(umass, npmi);
        (void)puts("}");
    } else {
        char of_umass[FIGURE_SIZE], of_npmi[FIGURE_SIZE];
        (void)printf("coherence      UMass %s, NPMI %s: means over topics, "
                     "top %" PRIu32 " words, documents as windows\n"
                     "topic   share     UMass     NPMI words\n",
                     figure(umass, 2, of_umass), figure(npmi, 4, of_npmi), n);
    }
    for (uint32_t k = 0; k < topics; k++) {
        print_topic(e, k);
    }
    return STRADS_OK;
}

/* ---- the command ------------------------------------------------------- */

static void print_documents(const evaluation *e)
{
    (void)printf(e->options.json
                     ? "{\"measure\": \"documents\", \"documents\": %" PRIu64
                       ", \"tokens\": %" PRIu64 ", \"unknown_tokens\": %" PRIu64
                       "}\n"
                     : "documents      %" PRIu64 " with %" PRIu64
                       " tokens; %" PRIu64
                       " more are of words that the model does not have\n",
                 strads_data_rows(e->corpus.data), e->corpus.tokens,
                 e->corpus.unknown);
}

static strads_err evaluate(evaluation *e, const char *model, const char *data)
{
    strads_err err =
        e->options.burn_in < e->options.sweeps
            ? strads_lda_model_read(model, &e->model)
            : strads_fail(STRADS_EINVAL,
                          "--burn-in %" PRIu32 ": expected fewer than "
                          "--sweeps %" PRIu32,
                          e->options.burn_in, e->options.sweeps);
    if (!err) {
        err = cli_corpus_read(e->model, data, &e->read, &e->corpus);
    }
    if (!err) {
        err = make_room(e);
    }
    if (err) {
        return err;
    }
    print_documents(e);
    err = score_all(e, true);
    if (!err && e->options.particles > 0) {
        err = score_all(e, false);
    }
    if (!err && e->options.assignments) {
        err = score_assignments(e);
    }
    return err ? err : judge_topics(e);
}

int cli_lda_evaluate(int argc, char **argv)
{
    evaluation e = {.options = {.sweeps = 50, .burn_in = 10, .words = 10}};
    cli_syntax syntax = {
        .name = "lda evaluate",
        .args = "MODEL DATA",
        .summary = "Tells how well a topic model predicts documents (half of "
                   "each from the other half, or from left to right), and how "
                   "well its topics' top words go together in them.",
        .groups = {{NULL, evaluate_table, &e.options},
                   {"Data:", cli_corpus_table, &e.read}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = evaluate(&e, parsed.arg[0], parsed.arg[1]);
    }
    int code = err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
    evaluation_free(&e);
    sti_config_strings_free(&strings);
    return code;
}
