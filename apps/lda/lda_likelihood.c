/* alpha and beta: increments of log Gamma and digamma, and Minka's fixed point
 * (Estimating a Dirichlet distribution, 2000, equation 55):
 *
 *     alpha_k *= sum_d psi(n_dk + alpha_k) - psi(alpha_k)
 *                / sum_d psi(N_d + A) - psi(A),     A = sum_k alpha_k
 *
 * and the same with one alpha for all topics, and with beta over words. */
#include "lda_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double SMALLEST_PRIOR = 1e-8, LARGEST_PRIOR = 1e6;

double lda_log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign);
}

/* By recurrence up to 10, then the asymptotic series (Abramowitz and Stegun
 * 6.3.18), which is accurate to 1e-15 there. */
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

/* ---- increments -------------------------------------------------------- */

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
    prior->last = lda_sweeps(options);
    prior->best = -INFINITY;
    prior->beta = lda_beta(options);
    prior->alpha_sum = lda_alpha(options) * options->topics;
    prior->alpha = calloc(options->topics, sizeof(double));
    if (!prior->alpha)
        return strads_fail(STRADS_ENOMEM, "no memory left for the priors");
    for (uint32_t k = 0; k < options->topics; k++)
        prior->alpha[k] = lda_alpha(options);
    return STRADS_OK;
}

void lda_prior_free(lda_prior *prior)
{
    free(prior->alpha);
    prior->alpha = NULL;
}

void lda_prior_pass(strads_walk *w, lda_prior *prior)
{
    uint64_t last = prior->last;

    strads_walk_pass(w, &last, sizeof last);
    if (!w->out && prior->last == 0)
        prior->last = last;
    strads_walk_pass(w, &prior->flat, sizeof prior->flat);
    strads_walk_pass(w, &prior->sum, sizeof prior->sum);
    strads_walk_pass(w, &prior->best, sizeof prior->best);
    strads_walk_pass(w, &prior->reports, sizeof prior->reports);
    strads_walk_pass(w, &prior->stale, sizeof prior->stale);
    strads_walk_pass(w, &prior->sweep, sizeof prior->sweep);
    strads_walk_pass(w, &prior->beta, sizeof prior->beta);
    strads_walk_pass(w, &prior->alpha_sum, sizeof prior->alpha_sum);
    strads_walk_pass(w, prior->alpha, prior->topics * sizeof *prior->alpha);
}

size_t lda_sums(const strads_lda_options *options)
{
    return LDA_PSI_TOPICS + (size_t)options->topics;
}

static double clamp_step(double value, double over, double under)
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
        clamp_step(prior->alpha[0], all, under * (double)prior->topics);
    prior->alpha_sum = 0;
    for (uint32_t k = 0; k < prior->topics; k++) {
        prior->alpha[k] =
            even ? shared : clamp_step(prior->alpha[k], by_topic[k], under);
        prior->alpha_sum += prior->alpha[k];
    }
}

bool lda_is_evaluated(const strads_lda_options *options, const lda_prior *prior,
                      uint64_t sweep)
{
    return sweep % options->evaluate == 0 || sweep == prior->last;
}

/* Ends the run if the mean log-likelihood of a window of sweeps has not risen
 * by RISE nats per token within PATIENCE windows. Samples follow the last
 * window. Small corpora stay on a plateau for a while, so the first LEAST
 * sweeps do not end a run. */
static void find_end(lda_prior *prior, const strads_lda_options *options,
                     double log_likelihood)
{
    enum { WINDOW = 10, PATIENCE = 5, LEAST = 200 };
    static const double RISE = .02;
    const uint64_t tail = (uint64_t)LDA_SAMPLE_SWEEPS * lda_samples(options);
    const uint64_t most =
        STRADS_LDA_SWEEPS > tail ? STRADS_LDA_SWEEPS - tail : 0;

    prior->sum += log_likelihood;
    prior->reports++;
    if (prior->sweep / WINDOW == (prior->sweep - options->evaluate) / WINDOW)
        return;
    const double mean = prior->sum / prior->reports;
    const bool rises = mean >= prior->best + RISE;
    prior->sum = prior->reports = 0;
    prior->stale = rises ? 0 : prior->stale + 1;
    prior->best = rises ? mean : prior->best;
    prior->flat = prior->stale >= PATIENCE && prior->sweep >= LEAST;
    if (prior->flat || prior->sweep >= most)
        prior->last = prior->sweep + tail;
}

void lda_prior_learn(lda_prior *prior, const strads_lda_options *options,
                     uint64_t words, const double *sums)
{
    do
        prior->sweep++;
    while (!lda_is_evaluated(options, prior, prior->sweep));
    if (prior->last == 0 && sums[LDA_TOKENS] > 0)
        find_end(prior, options,
                 (sums[LDA_LOG_DOCUMENTS] + sums[LDA_LOG_WORDS] +
                  sums[LDA_LOG_TOTALS]) /
                     sums[LDA_TOKENS]);
    if (prior->sweep < options->burn_in || prior->sweep == prior->last)
        return;
    if (lda_fits_alpha(options))
        learn_alpha(prior,
                    options->fit_alpha &&
                        strcmp(options->fit_alpha, "symmetric") == 0,
                    sums);
    if (lda_fits_beta(options))
        prior->beta = clamp_step(prior->beta, sums[LDA_PSI_WORDS],
                                 (double)words * sums[LDA_PSI_TOTALS]);
}

/* ---- reports ------------------------------------------------------------- */

/* A report: each partition sums over its documents and over the words that
 * finished their sweep there. The merged sums are the likelihood and the input
 * for learning the priors.
 *
 *     log p(w, z) = sum_d [ lG(A) - lG(A + N_d)
 *                           + sum_k lG(alpha_k + n_dk) - lG(alpha_k) ]
 *                 + sum_k [ lG(V b) - lG(V b + n_k)
 *                           + sum_w lG(b + n_wk) - lG(b) ]
 *
 * (Griffiths and Steyvers 2004, equations 2 and 3). */

/* Adds one count of a document. If the priors are equal, a table has both
 * sums; otherwise small counts of a topic are only counted. */
static void sum_document_count(const lda_local *l, bool even, bool learns,
                               uint32_t k, uint32_t n, double *sums)
{
    const double alpha = l->prior.alpha[k];

    if (even) {
        sums[LDA_LOG_DOCUMENTS] += lda_rise_log(&l->even, n);
        sums[LDA_PSI_TOPICS + k] += learns ? lda_rise_psi(&l->even, n) : 0;
        return;
    }
    if (n < LDA_SMALL_COUNTS) {
        l->small_counts[(size_t)k * LDA_SMALL_COUNTS + n]++;
        return;
    }
    sums[LDA_LOG_DOCUMENTS] += lda_log_gamma(alpha + n) - lda_log_gamma(alpha);
    if (learns)
        sums[LDA_PSI_TOPICS + k] += lda_digamma(alpha + n) - lda_digamma(alpha);
}

/* Adds the counted small counts of all topics, and clears them: with c_i
 * documents above i,
 *
 *     sum lG(alpha + n) - lG(alpha) = sum_i c_i log(alpha + i). */
static void sum_small_counts(const lda_local *l, double *sums)
{
    for (uint32_t k = 0; k < l->site.topics; k++) {
        uint32_t *of = l->small_counts + (size_t)k * LDA_SMALL_COUNTS;
        const double alpha = l->prior.alpha[k];
        double above = 0;
        for (uint32_t i = LDA_SMALL_COUNTS - 1; i > 0; i--) {
            above += of[i];
            of[i] = 0;
            if (above == 0)
                continue;
            sums[LDA_LOG_DOCUMENTS] += above * log(alpha + i - 1);
            sums[LDA_PSI_TOPICS + k] += above / (alpha + i - 1);
        }
    }
}

static bool is_even(const lda_prior *prior)
{
    for (uint32_t k = 1; k < prior->topics; k++)
        if (prior->alpha[k] != prior->alpha[0])
            return false;
    return true;
}

static void sum_document(const lda_local *l, bool even, bool learns, uint32_t d,
                         double *sums)
{
    const lda_documents *x = &l->documents;
    const double all = l->prior.alpha_sum;

    for (uint32_t k = 0; x->row && k < l->site.topics; k++) {
        const uint32_t n = x->row[(size_t)d * l->site.padded + k];
        if (n)
            sum_document_count(l, even, learns, k, n, sums);
    }
    for (uint32_t i = 0; x->list && i < x->used[d]; i++) {
        const uint32_t pair = x->list[(size_t)x->line[d] * LDA_LANES + i];
        sum_document_count(l, even, learns, pair & 0xFFFF, pair >> 16, sums);
    }
    if (l->length[d] < LDA_RISES)
        return;
    sums[LDA_LOG_DOCUMENTS] +=
        lda_log_gamma(all) - lda_log_gamma(all + l->length[d]);
    sums[LDA_PSI_DOCUMENTS] +=
        lda_digamma(all + l->length[d]) - lda_digamma(all);
}

/* Adds the lengths below LDA_RISES, as sum_small_counts does. */
static void sum_lengths(const lda_local *l, double *sums)
{
    for (uint32_t n = 0; n < LDA_RISES && l->longer[n] > 0; n++) {
        const double longer = l->longer[n], all = l->prior.alpha_sum + n;
        sums[LDA_LOG_DOCUMENTS] -= longer * log(all);
        sums[LDA_PSI_DOCUMENTS] += longer / all;
    }
}

static void sum_totals(const strads_task *task, double beta_sum, double *sums)
{
    const lda_local *l = task->local;

    for (uint32_t k = 0; k < l->site.topics; k++) {
        sums[LDA_LOG_TOTALS] +=
            lda_log_gamma(beta_sum) - lda_log_gamma(beta_sum + task->total[k]);
        sums[LDA_PSI_TOTALS] +=
            lda_digamma(beta_sum + task->total[k]) - lda_digamma(beta_sum);
    }
}

strads_err lda_evaluate(strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_local *l = task->local;
    double *sums = task->partial;
    const bool even = is_even(&l->prior), learns = lda_fits_alpha(options);
    const uint64_t words = task->share->by_col.lines;

    if (even)
        lda_rise_set(&l->even, l->prior.alpha[0]);
    for (uint32_t d = 0; d < l->documents.n; d++) {
        sum_document(l, even, learns, d, sums);
        sums[LDA_TOKENS] += l->length[d];
    }
    sum_lengths(l, sums);
    if (!even)
        sum_small_counts(l, sums);
    if (task->share->partition == 0)
        sum_totals(task, (double)words * l->prior.beta, sums);
    lda_margin_count(l, &sums[LDA_LABELLED], &sums[LDA_RIGHT]);
    sums[LDA_LOG_WORDS] = l->log_words;
    sums[LDA_PSI_WORDS] = l->psi_words;
    if (l->seeds.of.n > 0 && task->share->partition == 0) {
        lda_rise_set(&l->beta, l->prior.beta);
        lda_seeds_subtract(&l->seeds, &l->beta, l->site.topics,
                           (double)words * l->prior.beta, &sums[LDA_PSI_WORDS],
                           &sums[LDA_PSI_TOTALS]);
    }
    l->log_words = l->psi_words = 0;
    return STRADS_OK;
}

strads_err lda_learn(strads_task *task)
{
    lda_local *l = task->local;
    const uint64_t words = task->share->by_col.lines;

    lda_prior_learn(&l->prior, task->config, words, task->partial);
    lda_use_prior(l, words);
    return STRADS_OK;
}

/* ---- assignments in a file ----------------------------------------------- */

/* log p(w, z), as in a report, of assignments in a file with lines `N
 * word:topic ...`. Documents are summed as their lines are read; words keep the
 * topics of their tokens. */

typedef struct reading {
    const strads_lda_model *model;
    const char *path;
    uint64_t line, n, capacity;
    uint32_t *word;  /* [capacity] of all tokens */
    uint16_t *topic; /* [capacity] */
    uint32_t *count; /* [topics] of a document, then of a word */
    uint64_t *total; /* [topics] */
    double alpha_sum;
    strads_lda_joint sum;
} reading;

static strads_err no_reading_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory left for assignments");
}

static strads_err reading_make(reading *r)
{
    const strads_lda_model *m = r->model;

    r->count = calloc(m->topics, sizeof *r->count);
    r->total = calloc(m->topics, sizeof *r->total);
    for (uint32_t k = 0; k < m->topics; k++)
        r->alpha_sum += m->alpha[k];
    return r->count && r->total ? STRADS_OK : no_reading_memory();
}

static void reading_free(reading *r)
{
    free(r->word);
    free(r->topic);
    free(r->count);
    free(r->total);
}

static strads_err fail_line(const reading *r, const char *at,
                            const char *expected)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: line %" PRIu64 ": found \"%.20s\", expected %s",
                       r->path, r->line, *at == '\n' ? "" : at, expected);
}

static strads_err reserve_token(reading *r)
{
    if (r->n < r->capacity)
        return STRADS_OK;
    const uint64_t capacity = 2 * r->capacity + 1024;
    uint32_t *word = realloc(r->word, capacity * sizeof *word);
    if (word)
        r->word = word;
    uint16_t *topic = realloc(r->topic, capacity * sizeof *topic);
    if (topic)
        r->topic = topic;
    if (!word || !topic)
        return no_reading_memory();
    r->capacity = capacity;
    return STRADS_OK;
}

/* Reads a whole number below `limit` that is followed by `ends` or, if that is
 * a blank, by the end of the line; otherwise NULL. */
static const char *take_number(const char *p, uint64_t limit, char ends,
                               uint64_t *out)
{
    uint64_t value = 0;
    const char *q = p;

    while (*q >= '0' && *q <= '9' && value < limit)
        value = 10 * value + (uint64_t)(*q++ - '0');
    const bool ended = ends == ' ' ? strchr(" \t\r\n", *q) != NULL : *q == ends;
    if (q == p || value >= limit || !ended)
        return NULL;
    *out = value;
    return q;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r");
}

static strads_err take_token(reading *r, const char **at)
{
    const strads_lda_model *m = r->model;
    const char *p = skip_blanks(*at);
    uint64_t word = 0, topic = 0;

    const char *colon = take_number(p, m->words, ':', &word);
    const char *end =
        colon ? take_number(colon + 1, m->topics, ' ', &topic) : NULL;
    strads_err err =
        end ? reserve_token(r)
            : fail_line(r, p, "word:topic, both of the model, from 0");
    if (err)
        return err;
    r->word[r->n] = (uint32_t)word;
    r->topic[r->n++] = (uint16_t)topic;
    r->count[topic]++;
    r->total[topic]++;
    *at = end;
    return STRADS_OK;
}

static double log_rise(double a, uint64_t n)
{
    return lda_log_gamma(a + (double)n) - lda_log_gamma(a);
}

static double sum_counts(reading *r, const double *prior, double beta)
{
    double sum = 0;

    for (uint32_t k = 0; k < r->model->topics; k++) {
        if (r->count[k])
            sum += log_rise(prior ? prior[k] : beta, r->count[k]);
        r->count[k] = 0;
    }
    return sum;
}

static strads_err take_line(reading *r, const char *p)
{
    uint64_t n;

    p = skip_blanks(p);
    if (*p == '\n' || *p == '\0')
        return STRADS_OK;
    const char *at = take_number(p, UINT32_MAX, ' ', &n);
    if (!at)
        return fail_line(r, p, "a document's number of tokens");
    for (uint64_t i = 0; i < n; i++) {
        strads_err err = take_token(r, &at);
        if (err)
            return err;
    }
    at = skip_blanks(at);
    if (*at != '\n' && *at != '\0')
        return fail_line(r, at,
                         "the end of the line: it has more tokens than it "
                         "says");
    r->sum.documents++;
    r->sum.log_likelihood +=
        sum_counts(r, r->model->alpha, 0) - log_rise(r->alpha_sum, n);
    return STRADS_OK;
}

/* Sorts topics by word, so that a word's counts are adjacent. */
static strads_err sum_read_words(reading *r)
{
    const strads_lda_model *m = r->model;
    uint64_t *start = calloc(m->words + 2, sizeof *start);
    uint16_t *topic = malloc((r->n + 1) * sizeof *topic);
    strads_err err = start && topic ? STRADS_OK : no_reading_memory();

    if (err)
        goto done;
    for (uint64_t i = 0; i < r->n; i++)
        start[r->word[i] + 2]++;
    for (uint64_t w = 1; w <= m->words; w++)
        start[w + 1] += start[w];
    for (uint64_t i = 0; i < r->n; i++)
        topic[start[r->word[i] + 1]++] = r->topic[i];
    for (uint64_t w = 0; w < m->words; w++) {
        for (uint64_t i = start[w]; i < start[w + 1]; i++)
            r->count[topic[i]]++;
        if (start[w + 1] > start[w])
            r->sum.log_likelihood += sum_counts(r, NULL, m->beta);
    }
    for (uint32_t k = 0; k < m->topics; k++)
        r->sum.log_likelihood -=
            log_rise((double)m->words * m->beta, r->total[k]);
done:
    free(start);
    free(topic);
    return err;
}

static strads_err read_file_lines(reading *r)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    strads_err err = STRADS_OK;
    FILE *file = fopen(r->path, "re");

    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", r->path,
                           strerror(errno));
    while (!err && (size = getline(&line, &capacity, file)) >= 0) {
        r->line++;
        err = strlen(line) == (size_t)size
                  ? take_line(r, line)
                  : fail_line(r, line, "text without a byte of 0");
    }
    if (!err && ferror(file))
        err = strads_fail(STRADS_EIO, "%s: cannot be read to its end", r->path);
    free(line);
    (void)fclose(file);
    return err;
}

strads_err strads_lda_joint_of(const strads_lda_model *model, const char *path,
                               strads_lda_joint *out)
{
    reading r = {.model = model, .path = path};
    strads_err err = reading_make(&r);

    if (!err)
        err = read_file_lines(&r);
    if (!err)
        err = sum_read_words(&r);
    if (!err) {
        r.sum.tokens = r.n;
        *out = r.sum;
    }
    reading_free(&r);
    return err;
}
