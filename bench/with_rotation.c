/* with_rotation METHOD FILE TOPICS SWEEPS WORKERS [NS]: a topic model by the
 * same sampler with a schedule and without. Prints a line "SWEEP SECONDS
 * LIKELIHOOD" for each sweep, with LIKELIHOOD log p(words, topics) per token.
 *
 * METHOD: ring is `strads lda`: blocks of words travel, and one worker at a
 * time samples a word. A staleness or "infinite": data-parallel, all workers
 * sample all words at once, with counts in the store's tables that are this
 * many clocks old; BLOCKS clocks are a sweep. NS: simulates with one node per
 * worker and this many ns for a word of a document; 10 Gbit/s and 50 us between
 * nodes. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/lda/lda_kernels.h"
#include "bench/rotation_run.h"
#include "strads/lda.h"
#include "strads/store.h"
#include "strads/strads.h"

enum { BLOCKS = 8, MOST_WORKERS = 1024 };
static const double ALPHA = 0.1, BETA = 0.01;

/* What a worker last had at the end of a sweep. */
typedef struct ended {
    pthread_mutex_t lock; /* guards all that follows */
    uint16_t *topic; /* of its tokens by word; NULL before its first sweep */
    uint64_t *start; /* [words + 1] */
    double of_documents; /* its documents' part of the likelihood */
} ended;

typedef struct setup {
    uint32_t topics, sweeps, staleness;
    ended ended[MOST_WORKERS];
} setup;

/* A worker of the data-parallel loop. */
typedef struct worker {
    setup *setup;
    const strads_share *share;
    strads_session *session;
    const lda_kernels *kernels;
    lda_site site;
    lda_documents documents;
    uint64_t *start;    /* [words + 1] of a word's tokens */
    uint32_t *document; /* of each token, and its topic */
    uint16_t *topic;
    uint32_t *length; /* [documents] */
    uint32_t words, *row;
    double *count, *change; /* [words of a block + 1 x topics] */
    uint32_t *tally;        /* [words x topics] of worker 0, for reports */
} worker;

static void make_site(worker *x, uint32_t topics)
{
    const size_t n = (topics + 2 * LDA_LANES) / LDA_LANES * LDA_LANES + 256;
    float *alpha = rotation_zeroed(n, sizeof *alpha);

    for (uint32_t k = 0; k < topics; k++)
        alpha[k] = (float)ALPHA;
    x->site =
        (lda_site){.topics = topics,
                   .padded = (topics + LDA_LANES - 1) / LDA_LANES * LDA_LANES,
                   .beta = (float)BETA,
                   .beta_sum = (float)(x->words * BETA),
                   .alpha = alpha,
                   .word = rotation_zeroed(n, sizeof(int32_t)),
                   .total = rotation_zeroed(n, sizeof(int32_t)),
                   .inverse = rotation_zeroed(n, sizeof(float)),
                   .q = rotation_zeroed(n, sizeof(float)),
                   .sums = rotation_zeroed(n, sizeof(float)),
                   .scratch = rotation_zeroed(n, sizeof(float))};
}

static void make_worker(worker *x, uint32_t topics)
{
    const strads_sparse *by = &x->share->by_col;

    x->words = (uint32_t)by->lines;
    x->kernels = lda_kernels_choose();
    make_site(x, topics);
    x->documents.n = (uint32_t)(x->share->rows.end - x->share->rows.begin);
    x->documents.row = rotation_zeroed((size_t)x->documents.n * x->site.padded,
                                       sizeof(uint16_t));
    x->length = rotation_zeroed(x->documents.n + 1, sizeof *x->length);
    x->start = rotation_zeroed(x->words + 1, sizeof *x->start);
    for (uint32_t w = 0; w < x->words; w++) {
        x->start[w + 1] = x->start[w];
        for (uint64_t e = by->start[w]; e < by->start[w + 1]; e++) {
            x->length[by->index[e]] += (uint32_t)by->f32[e];
            x->start[w + 1] += (uint64_t)by->f32[e];
        }
    }
    x->document = rotation_zeroed(x->start[x->words] + 1, sizeof *x->document);
    for (uint64_t e = 0, at = 0; e < by->nnz; e++)
        for (uint32_t n = (uint32_t)by->f32[e]; n; n--)
            x->document[at++] = by->index[e];
    x->topic = rotation_zeroed(x->start[x->words] + 1, sizeof *x->topic);
    memset(x->topic, 0xFF, x->start[x->words] * sizeof *x->topic);
    const size_t most = x->words / BLOCKS + 2;
    x->row = rotation_zeroed(most, sizeof *x->row);
    x->count = rotation_zeroed(most * topics, sizeof *x->count);
    x->change = rotation_zeroed(topics, sizeof *x->change);
    if (x->share->partition == 0)
        x->tally = rotation_zeroed((size_t)x->words * topics, sizeof *x->tally);
}

static void free_worker(worker *x)
{
    void *const all[] = {(void *)x->site.alpha,
                         x->site.word,
                         x->site.total,
                         x->site.inverse,
                         x->site.q,
                         x->site.sums,
                         x->site.scratch,
                         x->documents.row,
                         x->length,
                         x->start,
                         x->document,
                         x->topic,
                         x->row,
                         x->count,
                         x->change,
                         x->tally};

    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
}

static double rise(double a, double n)
{
    return n > 0 ? lgamma(a + n) - lgamma(a) : 0;
}

static double of_documents(const worker *x)
{
    const uint32_t topics = x->site.topics;
    double sum = 0;

    for (uint32_t d = 0; d < x->documents.n; d++) {
        sum -= rise(topics * ALPHA, x->length[d]);
        for (uint32_t k = 0; k < topics; k++)
            sum +=
                rise(ALPHA, x->documents.row[(size_t)d * x->site.padded + k]);
    }
    return sum;
}

/* The counts of every BLOCKS-th word from `first` on, and the totals last. */
static strads_err pull(worker *x, uint32_t first, uint32_t *n)
{
    *n = 0;
    for (uint32_t w = first; w < x->words; w += BLOCKS)
        x->row[(*n)++] = w;
    x->row[(*n)++] = x->words;
    return strads_session_read_rows(x->session, 0, *n, x->row,
                                    x->setup->staleness, x->count);
}

static strads_err visit(worker *x, uint32_t w, const double *count,
                        uint64_t stream)
{
    lda_site *s = &x->site;
    const lda_tokens tokens = {.n = x->start[w + 1] - x->start[w],
                               .document = x->document + x->start[w],
                               .topic = x->topic + x->start[w]};

    if (tokens.n == 0)
        return STRADS_OK;
    for (uint32_t k = 0; k < s->topics; k++)
        s->word[k] = (int32_t)count[k];
    s->random = stream;
    x->kernels->build(s);
    x->kernels->draw(s, &x->documents, &tokens);
    for (uint32_t k = 0; k < s->topics; k++)
        x->change[k] = s->word[k] - count[k];
    return strads_session_inc_row(x->session, 0, w, x->change);
}

static strads_err turn_clock(worker *x, const strads_task *task, uint64_t clock)
{
    lda_site *s = &x->site;
    uint32_t n;
    strads_err err = pull(x, clock % BLOCKS, &n);
    const double *total = x->count + (size_t)(n - 1) * s->topics;

    for (uint32_t k = 0; !err && k < s->topics; k++)
        lda_set_total(s, k, (int32_t)total[k]);
    for (uint32_t i = 0; !err && i + 1 < n; i++)
        err = visit(x, x->row[i], x->count + (size_t)i * s->topics,
                    strads_random_bits(task->seed, clock,
                                       task->share->partition, x->row[i]));
    for (uint32_t k = 0; !err && k < s->topics; k++)
        x->change[k] = s->total[k] - total[k];
    if (!err)
        err = strads_session_inc_row(x->session, 0, x->words, x->change);
    return err ? err : strads_session_clock(x->session);
}

/* Keeps where this worker's tokens are for worker 0's reports. */
static void end_sweep(worker *x)
{
    ended *e = &x->setup->ended[x->share->partition];
    const size_t tokens = x->start[x->words], starts = x->words + 1;
    const double sum = of_documents(x);

    (void)pthread_mutex_lock(&e->lock);
    if (!e->topic) {
        e->topic = rotation_zeroed(tokens + 1, sizeof *e->topic);
        e->start = rotation_zeroed(starts, sizeof *e->start);
        memcpy(e->start, x->start, starts * sizeof *e->start);
    }
    memcpy(e->topic, x->topic, tokens * sizeof *e->topic);
    e->of_documents = sum;
    (void)pthread_mutex_unlock(&e->lock);
}

/* Adds a worker's tokens to the tally by word and topic, and its documents'
 * part to *sum. False: it has not ended a sweep yet. */
static bool tally(worker *x, ended *e, double *sum, double *tokens)
{
    (void)pthread_mutex_lock(&e->lock);
    const bool any = e->topic != NULL;
    for (uint32_t w = 0; any && w < x->words; w++)
        for (uint64_t t = e->start[w]; t < e->start[w + 1]; t++)
            x->tally[(size_t)w * x->site.topics + e->topic[t]]++;
    if (any) {
        *sum += e->of_documents;
        *tokens += (double)e->start[x->words];
    }
    (void)pthread_mutex_unlock(&e->lock);
    return any;
}

/* The part of the likelihood that is words'. */
static double of_words(const worker *x)
{
    double sum = 0;

    for (uint32_t k = 0; k < x->site.topics; k++) {
        double total = 0;
        for (uint32_t w = 0; w < x->words; w++) {
            const double n = x->tally[(size_t)w * x->site.topics + k];
            sum += rise(BETA, n);
            total += n;
        }
        sum -= rise(x->words * BETA, total);
    }
    return sum;
}

/* The likelihood of where all tokens were when their workers last ended a
 * sweep, not of the tables' rows: each of these is as old as the staleness lets
 * it be, and counts that do not belong together can be likelier than any that
 * do. */
static void report(worker *x, const strads_task *task, double sweep)
{
    double sum = 0, tokens = 0;

    memset(x->tally, 0, (size_t)x->words * x->site.topics * sizeof *x->tally);
    for (uint32_t p = 0; p < task->share->partitions; p++)
        if (!tally(x, &x->setup->ended[p], &sum, &tokens))
            return;
    sum += of_words(x);
    strads_loop_report(task, &(strads_report){.objective = -sum / tokens,
                                              .gap = NAN,
                                              .measure = {sweep}});
}

static strads_err run(strads_task *task, strads_session *session)
{
    setup *s = *(setup *const *)task->config;
    const uint32_t me = task->share->partition;
    const uint64_t clocks = (uint64_t)s->sweeps * BLOCKS;
    worker x = {.setup = s, .share = task->share, .session = session};
    strads_err err = STRADS_OK;

    make_worker(&x, s->topics);
    for (uint64_t c = 0; c < clocks && !err; c++) {
        if (strads_loop_ends(task))
            break;
        err = turn_clock(&x, task, c);
        if (err || (c + 1) % BLOCKS)
            continue;
        end_sweep(&x);
        if (me == 0)
            report(&x, task, (double)((c + 1) / BLOCKS));
    }
    free_worker(&x);
    return err;
}

static strads_err shape(const void *config, const strads_data *data,
                        strads_shape *out)
{
    (void)data;
    out->parameters++; /* a row of totals behind the words' */
    out->width = (*(setup *const *)config)->topics;
    return STRADS_OK;
}

static const char *const measures[] = {"sweep", NULL};

static const strads_program loop = {.size = sizeof loop,
                                    .name = "data-parallel lda",
                                    .config_size = sizeof(setup *),
                                    .kind = STRADS_KIND_CORPUS,
                                    .values = STRADS_F32,
                                    .shape = shape,
                                    .measures = measures,
                                    .run = run};

static double likelihood_of_loop(const strads_progress *p)
{
    return -p->objective;
}

static double likelihood_of_ring(const strads_progress *p)
{
    return p->measure[4];
}

/* A clock of the loop is a BLOCKS-th of its entries. */
static strads_err train(bool ring, setup *s, const strads_data *data,
                        uint32_t workers, double ns)
{
    const strads_lda_options lda = {.topics = s->topics,
                                    .alpha = ALPHA,
                                    .beta = BETA,
                                    .sweeps = s->sweeps,
                                    .evaluate = 1};
    const strads_sim_phase phase = {.entry_cost =
                                        1e-9 * ns / (ring ? 1 : BLOCKS)};
    return rotation_run_print(&(
        rotation_run){.program = ring ? &strads_program_lda : &loop,
                      .config = ring ? (const void *)&lda : (const void *)&s,
                      .data = data,
                      .workers = workers,
                      .phases = ns > 0 ? &phase : NULL,
                      .n_phases = 1,
                      .value = ring ? likelihood_of_ring : likelihood_of_loop});
}

int main(int argc, char **argv)
{
    static setup s;
    if (argc != 6 && argc != 7) {
        (void)fprintf(stderr, "with_rotation METHOD FILE TOPICS SWEEPS "
                              "WORKERS [NS]\n");
        return 2;
    }
    const char *method = argv[1];
    const uint32_t workers = (uint32_t)atoi(argv[5]);
    s.topics = (uint32_t)atoi(argv[3]);
    s.sweeps = (uint32_t)atoi(argv[4]);
    s.staleness = rotation_staleness(method);
    if (workers < 1 || workers > MOST_WORKERS || s.topics > LDA_DENSE_TOPICS)
        return 2;
    const double ns = argc == 7 ? strtod(argv[6], NULL) : 0;
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = workers,
                                     .kind = STRADS_KIND_CORPUS,
                                     .values = STRADS_F32};
    strads_data *data = NULL;
    for (uint32_t p = 0; p < workers; p++)
        (void)pthread_mutex_init(&s.ended[p].lock, NULL);
    strads_err err = strads_data_read(argv[2], &cut, &data);
    if (!err)
        err = train(strcmp(method, "ring") == 0, &s, data, workers, ns);
    if (err)
        (void)fprintf(stderr, "with_rotation: %s\n", strads_error_text());
    strads_data_free(data);
    for (uint32_t p = 0; p < workers; p++) {
        (void)pthread_mutex_destroy(&s.ended[p].lock);
        free(s.ended[p].topic);
        free(s.ended[p].start);
    }
    return err ? 1 : 0;
}
