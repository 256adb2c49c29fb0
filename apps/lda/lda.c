/* Latent Dirichlet allocation by collapsed Gibbs sampling.
 *
 * Blocks of words travel on a ring, and each partition samples them in turn.
 * Only the holder of a block changes its words' counts, and only a partition
 * changes its documents' counts, so a draw sees the current values of both. The
 * topics' totals are shared: a partition sees its own changes at once, and the
 * others' at the end of the sweep. */
#include "lda_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <strads/network.h>

const strads_option lda_option_table[] = {
    STRADS_OPTION(U32, strads_lda_options, topics, "topics", "K",
                  "topics, 2 .. 65535 or auto (default: 100)", .min = 2,
                  .max = 65535, .choices = "auto"),
    STRADS_OPTION(F64, strads_lda_options, alpha, "alpha", "A",
                  "prior of a document's topics (0: learned)", .min = 0,
                  .max = 1e6),
    STRADS_OPTION(F64, strads_lda_options, beta, "beta", "B",
                  "prior of a topic's words (0: learned)", .min = 0,
                  .max = 1e6),
    STRADS_OPTION(U32, strads_lda_options, sweeps, "sweeps", "N",
                  "draws of every token (0: until the likelihood is flat)",
                  .min = 0, .max = 1e9),
    STRADS_OPTION(U32, strads_lda_options, samples, "samples", "N",
                  "sweeps that the model averages (default: 10)", .min = 1,
                  .max = 1000),
    STRADS_OPTION(U32, strads_lda_options, evaluate, "evaluate", "N",
                  "sweeps from report to report (default: 1)", .min = 1,
                  .max = 1e9),
    STRADS_OPTION(STRING, strads_lda_options, fit_alpha, "fit-alpha", "HOW",
                  "no, symmetric, asymmetric (default; no with --alpha)",
                  .choices = "no|symmetric|asymmetric"),
    STRADS_OPTION(BOOL, strads_lda_options, fit_beta, "fit-beta", NULL,
                  "learn beta even with --beta, from there (default: no)"),
    STRADS_OPTION(U32, strads_lda_options, burn_in, "burn-in", "N",
                  "sweeps before priors are learned (default: 20)",
                  .rare = true, .min = 1, .max = 1e9),
    STRADS_OPTION(STRING, strads_lda_options, from, "from", "MODEL",
                  "continue from its counts, with new documents (none)"),
    STRADS_OPTION(STRING, strads_lda_options, seed_words, "seed-words", "FILE",
                  "words of topics, a line each: NAME: WORD WORD .. (none)"),
    STRADS_OPTION(F64, strads_lda_options, seed_weight, "seed-weight", "W",
                  "seeds of a topic, in average topics (default: 0.1)",
                  .rare = true, .min = 1e-9, .max = 1000),
    STRADS_OPTION(STRING, strads_lda_options, labels, "labels", "FILE",
                  "labels of documents: find topics that separate them"),
    STRADS_OPTION(F64, strads_lda_options, margin, "margin", "L",
                  "labels: by which they should be apart (default: 64)",
                  .rare = true, .min = 1e-6, .max = 1e6),
    STRADS_OPTION(F64, strads_lda_options, loss_weight, "loss-weight", "C",
                  "labels: of their loss (default: 1)", .rare = true,
                  .min = 1e-6, .max = 1e6),
    STRADS_OPTION(STRING, strads_lda_options, scratch, "scratch", "DIR",
                  "keep the tokens there instead of in memory (none)",
                  .rare = true, .of_machine = true),
    STRADS_OPTION(BOOL, strads_lda_options, keep_assignments,
                  "keep-assignments", NULL,
                  "keep tokens' topics in the result (default: no)",
                  .rare = true),
    {.name = NULL},
};

const strads_lda_options lda_defaults = {
    .topics = 100,
    .evaluate = 1,
    .burn_in = 20,
    .samples = 10,
    .margin = 64,
    .loss_weight = 1,
    .seed_weight = 0.1,
};

static strads_err refuse_option(const char *name, double value,
                                const char *wanted)
{
    return strads_fail(STRADS_EINVAL, "%s is %g: expected %s", name, value,
                       wanted);
}

static strads_err options_check(const strads_lda_options *o)
{
    if (o->topics < 2 || o->topics > 65535)
        return refuse_option("topics", o->topics, "2 to 65535");
    if (!(o->alpha >= 0 && o->alpha <= 1e6))
        return refuse_option("alpha", o->alpha, "a number from 0 to 1e6");
    if (!(o->beta >= 0 && o->beta <= 1e6))
        return refuse_option("beta", o->beta, "a number from 0 to 1e6");
    if (o->evaluate == 0)
        return refuse_option("evaluate", 0, "1 or more");
    if (!(o->hold_out >= 0 && o->hold_out < 1))
        return refuse_option("hold-out", o->hold_out,
                             "a share from 0, below 1");
    if (o->scratch && o->keep_assignments)
        return strads_fail(STRADS_EINVAL,
                           "assignments cannot be kept with --scratch: leave "
                           "one of the two out");
    if (o->seed_words && !(o->seed_weight > 0 && o->seed_weight <= 1000))
        return refuse_option("seed-weight", o->seed_weight,
                             "a number above 0, at most 1000");
    if (!o->labels)
        return STRADS_OK;
    if (!(o->margin > 0 && o->loss_weight > 0))
        return refuse_option(o->margin > 0 ? "loss-weight" : "margin",
                             o->margin > 0 ? o->loss_weight : o->margin,
                             "a number above 0");
    return o->topics > LDA_LABELLED_TOPICS
               ? refuse_option("topics", o->topics, "at most 1024 with labels")
               : STRADS_OK;
}

/* Whether priors and sweeps without a value are decided by the data. */
static bool is_free(const strads_lda_options *o)
{
    return !o->network && !o->labels;
}

double lda_alpha(const strads_lda_options *o)
{
    return o->alpha > 0 ? o->alpha : 0.1;
}

double lda_beta(const strads_lda_options *o)
{
    return o->beta > 0 ? o->beta : 0.01;
}

bool lda_fits_alpha(const strads_lda_options *o)
{
    return o->fit_alpha ? strcmp(o->fit_alpha, "no") != 0
                        : is_free(o) && !o->from && o->alpha == 0;
}

bool lda_fits_beta(const strads_lda_options *o)
{
    return o->fit_beta || (is_free(o) && !o->from && o->beta == 0);
}

uint32_t lda_sweeps(const strads_lda_options *o)
{
    return o->sweeps || is_free(o) ? o->sweeps : 100;
}

uint32_t lda_samples(const strads_lda_options *o)
{
    return o->samples && is_free(o) ? o->samples : 1;
}

/* ---- the program --------------------------------------------------------- */

static double wall_now(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
        return 0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- shape and blocks -------------------------------------------------- */

/* Counts the bytes for the tokens of a share and for its documents' topics.
 * Adds to *pairs the expected number of pairs of a word and a topic while
 * topics are random. */
static uint64_t count_share_bytes(const strads_lda_options *options,
                                  const strads_share *share, uint32_t blocks,
                                  double *pairs)
{
    enum { TOKEN_BYTES = 6, DENSE_BYTES = 2, SITE_BYTES = 40, ROW_BYTES = 64 };
    enum { EVICT = 1 << 18 };
    const strads_sparse *x = &share->by_col;
    const uint64_t rows = share->rows.end - share->rows.begin;
    const double topics = options->topics;
    double tokens = 0, longest = 0;
    uint64_t seen = 0;

    for (uint64_t w = 0; w < x->lines; w++) {
        double n = 0;
        for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++)
            n += strads_sparse_value(x, e);
        tokens += n;
        longest = fmax(longest, n);
        if (x->start[w + 1] - x->start[seen] >= EVICT) {
            strads_share_evict(share);
            seen = w + 1;
        }
        *pairs -= topics * expm1(-n / topics);
    }
    const double lists = options->topics > LDA_DENSE_TOPICS
                             ? 4 * tokens + ROW_BYTES * (double)rows
                             : DENSE_BYTES * topics * (double)rows;
    const uint64_t beside = (uint64_t)(lists + SITE_BYTES * topics);

    return beside + (options->scratch
                         ? lda_scratch_memory(tokens, longest, x->lines, blocks)
                         : (uint64_t)(TOKEN_BYTES * tokens));
}

/* Estimates the memory of the run. The data's entries are released while tokens
 * are made. A pair is stored in a word's row and, at the end, twice in the
 * gathered counts while these are sorted. */
static uint64_t lda_estimate_memory(const strads_lda_options *options,
                                    const strads_data *data,
                                    const strads_shape *shape)
{
    enum { PAIR_BYTES = 32, WORD_BYTES = 48 };
    uint64_t bytes = 0;
    double pairs = 0;

    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (share && share->by_col.start)
            bytes += count_share_bytes(options, share, shape->blocks, &pairs);
    }
    bytes += (uint64_t)(PAIR_BYTES * pairs) + WORD_BYTES * shape->cols;
    return bytes > shape->run_bytes ? bytes : shape->run_bytes;
}

static strads_err lda_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    const strads_lda_options *options = config;

    if (shape->parameters > 0 && strads_data_nnz(data) == 0)
        return strads_fail(STRADS_EINVAL, "the documents have no tokens: there "
                                          "is nothing to find topics in");
    shape->block_max = UINT32_MAX;
    shape->totals = options->topics;
    strads_err err = options_check(options);
    if (!err && options->scratch)
        shape->blocks = lda_scratch_blocks(data, shape);
    if (!err)
        shape->run_bytes = lda_estimate_memory(options, data, shape);
    return err;
}

static void lda_end(void *state)
{
    lda_state *s = state;

    if (!s)
        return;
    for (uint32_t p = 0; s->assignments && p < s->partitions; p++)
        if (s->assignments[p])
            (void)fclose(s->assignments[p]);
    free(s->assignments);
    free(s->counts.at);
    free(s->sum.at);
    strads_cut_free(s->cut);
    lda_prior_free(&s->prior);
    strads_lda_model_free(s->model);
    strads_lda_model_free(s->base);
    lda_seeds_free(&s->seeds);
    lda_classifier_free(&s->classifier);
    strads_lda_labels_free(&s->labels);
    free(s->class_block);
    free(s);
}

static strads_err open_aside(lda_state *s)
{
    s->assignments = calloc(s->partitions, sizeof *s->assignments);
    if (!s->assignments)
        return strads_fail(STRADS_ENOMEM, "no memory left");
    for (uint32_t p = 0; p < s->partitions; p++) {
        s->assignments[p] = tmpfile();
        if (!s->assignments[p])
            return strads_fail(STRADS_EIO, LDA_NO_ROOM_ASIDE, strerror(errno));
    }
    return STRADS_OK;
}

/* Distributes words over the blocks by their numbers of documents. */
static strads_err deal_words(lda_state *s, const strads_data *data,
                             const strads_shape *shape)
{
    const uint32_t words = (uint32_t)shape->parameters;
    double *weight = malloc(((size_t)words + 1) * sizeof *weight);

    if (!weight)
        return strads_fail(STRADS_ENOMEM, "no memory left for %u words", words);
    for (uint32_t w = 0; w < words; w++)
        weight[w] = strads_data_col_nnz(data, w);
    strads_err err = strads_cut_deal(words, weight, shape->blocks,
                                     shape->partitions, &s->cut);
    free(weight);
    return err;
}

static strads_err name_classes(lda_state *s, const strads_lda_options *options)
{
    strads_err err =
        lda_classifier_read(options, s->documents, &s->classifier, &s->labels);

    if (err)
        return err;
    s->class_block =
        calloc((size_t)s->classifier.classes + 1, sizeof *s->class_block);
    if (!s->class_block)
        return strads_fail(STRADS_ENOMEM, "no memory left for the classes");
    for (uint32_t y = 0; y < s->classifier.classes; y++)
        s->class_block[y].id = s->gather_block.id + 1 + y;
    return STRADS_OK;
}

static strads_err lda_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    const strads_lda_options *options = config;
    lda_state *s = calloc(1, sizeof *s);

    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory left for the model");
    s->partitions = shape->partitions;
    s->words = shape->parameters;
    s->documents = shape->rows;
    s->gather_block = (strads_block){.id = shape->blocks};
    s->accuracy = NAN;
    strads_err err = lda_prior_new(&s->prior, options);
    if (!err && options->keep_assignments)
        err = open_aside(s);
    lda_vocabulary vocabulary = {.words = shape->parameters,
                                 .names = strads_data_col_names(data)};
    for (uint32_t w = 0; w < shape->parameters; w++)
        vocabulary.entries += strads_data_col_nnz(data, w);
    if (!err)
        err =
            lda_base_read(options, &vocabulary, &s->prior, &s->seeds, &s->base);
    if (!err)
        err = name_classes(s, options);
    if (!err)
        err = deal_words(s, data, shape);
    if (err) {
        lda_end(s);
        return err;
    }
    *state = s;
    return STRADS_OK;
}

/* ---- schedule ------------------------------------------------------------ */

/* Counts are 32 bits wide, and so are their sums. */
static uint32_t samples_of(const lda_state *s,
                           const strads_lda_options *options)
{
    const double tokens = s->tokens + (double)(s->base ? s->base->tokens : 0);

    return tokens * options->samples <= UINT32_MAX ? lda_samples(options) : 1;
}

/* Whether the counts of this sweep, which is not the last one, are sampled. */
static bool is_sampled(const lda_state *s, const strads_lda_options *options)
{
    const uint64_t left = s->prior.last - s->sweep;

    return s->prior.last > s->sweep &&
           (s->prior.flat || 2 * s->sweep > s->prior.last) &&
           left % LDA_SAMPLE_SWEEPS == 0 &&
           left / LDA_SAMPLE_SWEEPS < samples_of(s, options);
}

/* Whether an interim model of this sweep is wanted: 10, 20, 40, ... */
static bool is_interim(const lda_state *s, const strads_lda_options *options)
{
    uint64_t due = LDA_FIRST_INTERIM;

    while (due < s->sweep)
        due *= 2;
    return options->interim && s->shown < s->sweep && s->sweep == due &&
           s->words * options->topics <= STRADS_LDA_INTERIM;
}

static strads_err lda_schedule(strads_turn *turn)
{
    const strads_lda_options *options = turn->config;
    lda_state *s = turn->state;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (s->began > 0) {
        s->seconds += wall_now() - s->began;
        s->began = 0;
    }
    if (s->base && !s->has_base) {
        s->has_base = true;
        return strads_turn_dispatch(turn, LDA_BASE, 1, &s->gather_block);
    }
    if (s->classifier.classes && s->classified < s->sweep) {
        s->classified = s->sweep;
        s->began = wall_now();
        return strads_turn_dispatch(turn, LDA_CLASSIFY, s->classifier.classes,
                                    s->class_block);
    }
    if (s->evaluated < s->sweep &&
        lda_is_evaluated(options, &s->prior, s->sweep)) {
        s->evaluated = s->sweep;
        return strads_turn_all(turn, LDA_EVALUATE);
    }
    const bool ends =
        turn->ends || (s->prior.last > 0 && s->sweep >= s->prior.last);
    s->gathers = true;
    s->takes_sample = s->sampled < s->sweep && (ends || is_sampled(s, options));
    s->takes_interim = !ends && is_interim(s, options);
    if (ends && !s->all_gathered && s->sweep > 0) {
        if (!s->finishes)
            s->counts.n = 0; /* of an LDA_COLLECT that the end interrupts */
        s->finishes = true;
        return strads_turn_dispatch(turn, LDA_GATHER, 1, &s->gather_block);
    }
    if (ends)
        return strads_turn_stop(turn);
    if (s->takes_sample || s->takes_interim)
        return strads_turn_dispatch(turn, LDA_COLLECT, 1, &s->gather_block);
    s->gathers = false;
    s->sweep++;
    s->began = wall_now();
    return strads_turn_dispatch(turn, LDA_SAMPLE, s->cut->blocks,
                                s->cut->block);
}

/* ---- checkpoints: between two phases, until the model is gathered -------- */

static bool are_counts(const lda_state *s, const lda_stream *x)
{
    for (size_t i = 0; i < x->n; i += 3) {
        const uint32_t *at = x->at + i;
        if (at[0] >= s->words || at[1] >= s->prior.topics ||
            (i > 0 && (at[-3] > at[0] || (at[-3] == at[0] && at[-2] >= at[1]))))
            return false;
    }
    return x->n % 3 == 0;
}

static void pass_samples(strads_walk *w, lda_state *s)
{
    uint64_t n = s->sum.n;

    strads_walk_pass(w, &s->sampled, sizeof s->sampled);
    strads_walk_pass(w, &s->samples, sizeof s->samples);
    strads_walk_pass(w, &n, sizeof n);
    if (!w->out && !w->is_short && n > 0) {
        w->is_short = n > (uint64_t)(w->end - w->from) / sizeof *s->sum.at;
        s->sum.at = w->is_short ? NULL : malloc(n * sizeof *s->sum.at);
        s->sum.n = s->sum.capacity = s->sum.at ? n : 0;
        w->is_short = !s->sum.at;
    }
    strads_walk_pass(w, s->sum.at, s->sum.n * sizeof *s->sum.at);
    if (!w->out && !w->is_short)
        w->is_short = !are_counts(s, &s->sum);
}

static void pass_state(strads_walk *w, lda_state *s)
{
    strads_walk_pass(w, &s->sweep, sizeof s->sweep);
    strads_walk_pass(w, &s->evaluated, sizeof s->evaluated);
    strads_walk_pass(w, &s->has_base, sizeof s->has_base);
    strads_walk_pass(w, &s->seconds, sizeof s->seconds);
    strads_walk_pass(w, &s->cpu_seconds, sizeof s->cpu_seconds);
    strads_walk_pass(w, &s->last_seconds, sizeof s->last_seconds);
    strads_walk_pass(w, &s->last_tokens, sizeof s->last_tokens);
    strads_walk_pass(w, &s->tokens_drawn, sizeof s->tokens_drawn);
    strads_walk_pass(w, &s->log_likelihood, sizeof s->log_likelihood);
    strads_walk_pass(w, &s->tokens, sizeof s->tokens);
    strads_walk_pass(w, &s->accuracy, sizeof s->accuracy);
    strads_walk_pass(w, &s->classified, sizeof s->classified);
    lda_prior_pass(w, &s->prior);
    lda_classifier_pass(w, &s->classifier);
    pass_samples(w, s);
}

static strads_err lda_pack_state(const void *state, strads_bytes *out)
{
    lda_state *s =
        (lda_state *)(uintptr_t)state; /* a packing walk only reads it */
    strads_walk w = {.out = out};

    if (!s->gathers)
        pass_state(&w, s);
    return w.err;
}

static strads_err lda_unpack_state(void *state, const void *bytes, size_t size)
{
    lda_state *s = state;
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};

    pass_state(&w, s);
    return strads_walk_fits(&w)
               ? STRADS_OK
               : strads_fail(
                     STRADS_EFORMAT,
                     "the checkpoint lacks the priors or classes of %u topics",
                     s->prior.topics);
}

static size_t sample_partial(const strads_task *task)
{
    (void)task;
    return LDA_SAMPLE_SUMS;
}

static size_t evaluate_partial(const strads_task *task)
{
    return lda_sums(task->config);
}

static size_t classify_partial(const strads_task *task)
{
    return lda_moments(task->config) + 1;
}

static size_t gather_partial(const strads_task *task)
{
    (void)task;
    return LDA_PIECE;
}

static strads_err commit_sample(strads_commit *commit)
{
    lda_state *s = commit->state;

    s->cpu_seconds += commit->partial[LDA_CPU];
    s->tokens_drawn += commit->partial[LDA_DRAWN];
    return STRADS_OK;
}

static strads_err commit_classes(strads_commit *commit)
{
    const strads_lda_options *options = commit->config;
    lda_state *s = commit->state;

    lda_classifier_learn(&s->classifier,
                         (uint32_t)(commit->block.id - s->gather_block.id - 1),
                         commit->seed, s->sweep, lda_sweeps(options),
                         commit->partial);
    s->cpu_seconds += commit->partial[lda_moments(options)];
    return STRADS_OK;
}

static strads_err commit_evaluation(strads_commit *commit)
{
    lda_state *s = commit->state;
    const double *sums = commit->partial;

    s->log_likelihood = sums[LDA_LOG_DOCUMENTS] + sums[LDA_LOG_WORDS] +
                        sums[LDA_LOG_TOTALS] - lda_base_log(s);
    s->tokens = sums[LDA_TOKENS];
    if (s->classifier.classes && sums[LDA_LABELLED] > 0)
        s->accuracy = sums[LDA_RIGHT] / sums[LDA_LABELLED];
    lda_prior_learn(&s->prior, commit->config, s->words, sums);
    return STRADS_OK;
}

/* ---- progress ---------------------------------------------------------- */

static const char *const lda_measures[] = {
    "sweep",
    "seconds",
    "cpu_seconds",
    "log_likelihood",
    "log_likelihood_per_token",
    "tokens_per_second",
    "alpha_sum",
    "beta",
    "accuracy",
    NULL,
};

static strads_err lda_objective(void *state, strads_report *report)
{
    lda_state *s = state;
    const double seconds = s->seconds - s->last_seconds;
    const double drawn = s->tokens_drawn - s->last_tokens;
    const double figure[] = {
        (double)s->sweep,
        s->seconds,
        s->cpu_seconds,
        s->log_likelihood,
        s->tokens > 0 ? s->log_likelihood / s->tokens : 0,
        seconds > 0 ? drawn / seconds : NAN,
        s->prior.alpha_sum,
        s->prior.beta,
        s->accuracy,
    };

    for (size_t k = 0; k < sizeof figure / sizeof *figure; k++)
        report->measure[k] = figure[k];
    report->objective = -s->log_likelihood;
    report->gap = NAN;
    s->last_seconds = s->seconds;
    s->last_tokens = s->tokens_drawn;
    return STRADS_OK;
}

/* ---- the program ------------------------------------------------------- */

static const strads_phase lda_phases[] = {
    [LDA_SAMPLE] = {.name = "sample",
                    .to = STRADS_TO_RING,
                    .when = STRADS_WHEN_CALLED,
                    .ignores_values = true,
                    .partial = sample_partial,
                    .update = lda_sample,
                    .aggregate = commit_sample},
    [LDA_EVALUATE] = {.name = "evaluate",
                      .to = STRADS_TO_ALL,
                      .when = STRADS_WHEN_CALLED,
                      .result = STRADS_RESULT_WORKERS,
                      .ignores_values = true,
                      .reports = true,
                      .partial = evaluate_partial,
                      .update = lda_evaluate,
                      .aggregate = commit_evaluation,
                      .receive = lda_learn},
    [LDA_GATHER] = {.name = "gather",
                    .to = STRADS_TO_ALL,
                    .merge = STRADS_MERGE_CONCAT,
                    .when = STRADS_WHEN_CALLED,
                    .ignores_values = true,
                    .partial = gather_partial,
                    .update = lda_send_piece,
                    .aggregate = lda_gathered},
    [LDA_COLLECT] = {.name = "collect",
                     .to = STRADS_TO_ALL,
                     .merge = STRADS_MERGE_CONCAT,
                     .when = STRADS_WHEN_CALLED,
                     .ignores_values = true,
                     .partial = gather_partial,
                     .update = lda_send_piece,
                     .aggregate = lda_gathered},
    [LDA_BASE] = {.name = "base",
                  .to = STRADS_TO_NOBODY,
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .aggregate = lda_base_total},
    [LDA_CLASSIFY] = {.name = "classify",
                      .to = STRADS_TO_ALL,
                      .when = STRADS_WHEN_CALLED,
                      .result = STRADS_RESULT_WORKERS,
                      .ignores_values = true,
                      .partial = classify_partial,
                      .update = lda_measure,
                      .aggregate = commit_classes,
                      .receive = lda_classify},
};

/* Common to both programs: topics of documents, and roles of a network. */
#define LDA_CALLBACKS                                                         \
    .config_size = sizeof(strads_lda_options), .values = STRADS_F32,          \
    .shape = lda_shape, .begin = lda_begin, .end = lda_end, .open = lda_open, \
    .close = lda_close, .pack = lda_pack, .unpack = lda_unpack,               \
    .pack_state = lda_pack_state, .unpack_state = lda_unpack_state,           \
    .schedule = lda_schedule, .finalises = true, .phases = lda_phases,        \
    .n_phases = sizeof lda_phases / sizeof *lda_phases,                       \
    .objective = lda_objective, .measures = lda_measures,                     \
    .payload = &lda_payload

const strads_program strads_program_lda = {
    .size = sizeof(strads_program),
    .name = "lda",
    .summary = "topics of documents by collapsed Gibbs sampling",
    .options = lda_option_table,
    .defaults = &lda_defaults,
    .kind = STRADS_KIND_DOCUMENTS,
    LDA_CALLBACKS,
};

/* ---- roles of a network -------------------------------------------------- */

static const strads_option roles_option_table[] = {
    STRADS_OPTION(U32, strads_lda_options, topics, "roles", "K",
                  "roles, 2 .. 65535, or auto: by held-out links (default: 20)",
                  .min = 2, .max = 65535, .choices = "auto"),
    STRADS_OPTION(F64, strads_lda_options, alpha, "alpha", "A",
                  "prior of a node's roles (default: 0.1)", .min = 1e-9,
                  .max = 1e6),
    STRADS_OPTION(F64, strads_lda_options, beta, "beta", "B",
                  "prior of a role's nodes (default: 0.1)", .min = 1e-9,
                  .max = 1e6),
    STRADS_OPTION(U32, strads_lda_options, sweeps, "sweeps", "N",
                  "draws of every link's roles (default: 100)", .min = 1,
                  .max = 1e9),
    STRADS_OPTION(U32, strads_lda_options, evaluate, "evaluate", "N",
                  "sweeps from report to report (default: 10)", .min = 1,
                  .max = 1e9),
    STRADS_OPTION(STRING, strads_lda_options, fit_alpha, "fit-alpha", "HOW",
                  "learn it: no, symmetric or asymmetric (default: no)",
                  .choices = "no|symmetric|asymmetric"),
    STRADS_OPTION(BOOL, strads_lda_options, fit_beta, "fit-beta", NULL,
                  "learn beta, too (default: no)"),
    STRADS_OPTION(U32, strads_lda_options, burn_in, "burn-in", "N",
                  "sweeps before priors are learned (default: 10)", .min = 1,
                  .max = 1e9),
    STRADS_OPTION(F64, strads_lda_options, hold_out, "hold-out", "SHARE",
                  "share of links held out for evaluate (default: 0)", .min = 0,
                  .max = .99),
    {.name = NULL},
};

static const strads_lda_options roles_defaults = {
    .topics = 20,
    .alpha = 0.1,
    .beta = 0.1,
    .sweeps = 100,
    .evaluate = 10,
    .fit_alpha = "no",
    .burn_in = 10,
    .network = true,
};

const strads_program strads_program_roles = {
    .size = sizeof(strads_program),
    .name = "roles",
    .summary = "roles of a network's nodes, by LDA on its double cover",
    .options = roles_option_table,
    .defaults = &roles_defaults,
    .kind = STRADS_KIND_GRAPH,
    LDA_CALLBACKS,
};
