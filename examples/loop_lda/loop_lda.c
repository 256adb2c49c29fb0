/* A topic model as a data-parallel loop on the parameter store: collapsed Gibbs
 * sampling on stale counts (Ahmed et al., WSDM 2012; Ho et al., NIPS 2013).
 *
 * Table 0 has the topic counts of each word, and a last row with those of all
 * tokens. Worker p has documents, the topics of their tokens, and counts n_dk.
 * At clock c it samples a part of the words:
 *
 *     read(n_wk of its words, n_k; staleness)
 *     each token of them: z ~ (n_dk + alpha) (n_wk + beta) / (n_k + V beta)
 *     inc(changes of n_wk and n_k)
 *
 * With staleness 0 no worker pushes before all have read, and counts are whole
 * numbers, which add exactly: the result does not depend on threads. A
 * checkpoint holds the topics of tokens beside the table. `strads lda train`
 * has a better schedule: one worker holds a word while it is drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/strads.h>

enum { PARTS = 4 };

static const double ALPHA = 0.1, BETA = 0.01;

typedef struct lda_options {
    uint32_t topics, sweeps, staleness;
} lda_options;

typedef struct worker {
    const strads_task *task;
    strads_session *session;
    const lda_options *o;
    const strads_sparse *x; /* by word */
    uint32_t words;
    uint64_t tokens, documents;
    uint64_t *start;     /* [words] a word's first token */
    uint32_t *topic;     /* [tokens] `topics`: none yet */
    double *of_document; /* [documents x topics + 1], their sum last */
    uint32_t *row;       /* [words + 1] */
    double *count;  /* [words + 1 x topics] as read last, and moved since */
    double *before; /* the same as it was read */
    double *p;      /* [topics] */
    double loss;    /* -log p(token | all others) of its tokens, summed up */
} worker;

/* Reads a part of the words, and the totals behind them. */
static strads_err pull(worker *k, uint32_t part, uint32_t *n)
{
    *n = 0;
    for (uint32_t w = part; w < k->words; w += PARTS)
        k->row[(*n)++] = w;
    k->row[(*n)++] = k->words;
    return strads_session_read_rows(k->session, 0, *n, k->row, k->o->staleness,
                                    k->count);
}

/* Token i, of that word in document d. */
static void draw(worker *k, uint64_t clock, uint32_t word, uint32_t d,
                 uint64_t i, double *of_word, double *total)
{
    const uint32_t topics = k->o->topics;
    const uint64_t stream =
        clock * k->task->shape->partitions + k->task->share->partition;
    double *of_document = k->of_document + (size_t)d * (topics + 1), sum = 0;
    uint32_t z = k->topic[i];
    if (z < topics)
        of_document[z]--, of_document[topics]--, of_word[z]--, total[z]--;
    for (uint32_t t = 0; t < topics; t++) /* counts of others may be older */
        k->p[t] = sum += (of_document[t] + ALPHA) *
                         (fmax(of_word[t], 0) + BETA) /
                         (fmax(total[t], 0) + k->words * BETA);
    const double u = sum * strads_random_unit(k->task->seed, stream, word, i);
    for (z = 0; z + 1 < topics && k->p[z] <= u; z++)
        ;
    k->loss -= log(sum / (of_document[topics] + topics * ALPHA));
    of_document[z]++, of_document[topics]++, of_word[z]++, total[z]++;
    k->topic[i] = z;
}

/* All tokens of row r of those that were read. */
static void draw_word(worker *k, uint64_t clock, uint32_t r, double *total)
{
    const uint32_t w = k->row[r];
    uint64_t i = k->start[w];
    for (uint64_t e = k->x->start[w]; e < k->x->start[w + 1]; e++)
        for (uint32_t n = (uint32_t)strads_sparse_value(k->x, e); n > 0; n--)
            draw(k, clock, w, k->x->index[e], i++,
                 k->count + (size_t)r * k->o->topics, total);
}

static strads_err turn_clock(worker *k, uint64_t clock)
{
    const size_t topics = k->o->topics;
    uint32_t n;
    strads_err err = pull(k, clock % PARTS, &n);
    if (!err)
        err = strads_session_clock(k->session);
    if (!err && k->o->staleness == 0)
        err = strads_session_barrier(k->session); /* all have read */
    for (size_t i = 0; i < n * topics; i++)
        k->before[i] = k->count[i];
    double *total = k->count + (n - 1) * topics;
    for (uint32_t r = 0; !err && r + 1 < n; r++)
        draw_word(k, clock, r, total);
    for (size_t i = 0; i < n * topics; i++)
        k->count[i] -= k->before[i];
    if (!err)
        err = strads_session_inc_rows(k->session, 0, n, k->row, k->count);
    return err ? err : strads_session_clock(k->session);
}

static strads_err loop(worker *k)
{
    const uint64_t clocks = (uint64_t)k->o->sweeps * PARTS;
    strads_err err = STRADS_OK;
    for (uint64_t c = strads_session_now(k->session) / 2; !err && c < clocks;
         c++) {
        if (strads_loop_ends(k->task))
            break;
        k->loss = c % PARTS ? k->loss : 0;
        err = turn_clock(k, c);
        if (!err && (c + 1) % PARTS == 0 && k->task->share->partition == 0)
            strads_loop_report(k->task,
                               &(strads_report){.objective =
                                                    k->loss / (double)k->tokens,
                                                .gap = NAN});
    }
    /* All meet at the end of the last one. */
    return err ? err : strads_session_advance(k->session, 2 * clocks);
}

static void lda_close(void *local)
{
    worker *k = local;
    free(k->start);
    free(k->row);
    free(k->topic);
    free(k->count);
    free(k);
}

static strads_err take(worker *k)
{
    const size_t topics = k->o->topics, cells = (k->words + 1) * topics;
    k->start = calloc((size_t)k->words + 1, sizeof *k->start);
    for (uint32_t w = 0; k->start && w < k->words; w++) {
        k->start[w] = k->tokens;
        for (uint64_t e = k->x->start[w]; e < k->x->start[w + 1]; e++)
            k->tokens += (uint32_t)strads_sparse_value(k->x, e);
    }
    k->row = calloc((size_t)k->words + 1, sizeof *k->row);
    k->topic = malloc((k->tokens + 1) * sizeof *k->topic);
    k->count =
        calloc(2 * cells + (k->documents + 1) * (topics + 1), sizeof *k->count);
    if (!k->start || !k->row || !k->topic || !k->count)
        return strads_fail(STRADS_ENOMEM, "no memory");
    for (uint64_t i = 0; i < k->tokens; i++)
        k->topic[i] = k->o->topics;
    k->before = k->count + cells;
    k->p = k->before + cells;
    k->of_document = k->p + topics;
    return STRADS_OK;
}

static strads_err lda_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    worker *k = calloc(1, sizeof *k);
    if (!k)
        return strads_fail(STRADS_ENOMEM, "no memory");
    k->task = task;
    k->o = task->config;
    k->x = &share->by_col;
    k->words = (uint32_t)k->x->lines;
    k->documents = share->rows.end - share->rows.begin;
    const strads_err err = take(k);
    if (err)
        lda_close(k);
    else
        *local = k;
    return err;
}

/* Not between read and inc: the changes since the read are not in the table. */
static strads_err lda_pack(const void *local, strads_bytes *out)
{
    const worker *k = local;
    if (strads_session_now(k->session) % 2)
        return STRADS_OK;
    const strads_err err = strads_bytes_append(out, &k->loss, sizeof k->loss);
    return err ? err
               : strads_bytes_append(out, k->topic,
                                     k->tokens * sizeof *k->topic);
}

/* Documents' counts follow from their tokens' topics. */
static void count(worker *k)
{
    const size_t topics = k->o->topics;
    uint64_t i = 0;
    for (uint64_t e = 0; e < k->x->nnz; e++)
        for (uint32_t n = (uint32_t)strads_sparse_value(k->x, e); n > 0; n--) {
            double *of_document =
                k->of_document + k->x->index[e] * (topics + 1);
            if (k->topic[i] < topics)
                of_document[k->topic[i]]++, of_document[topics]++;
            i++;
        }
}

static strads_err lda_unpack(strads_task *task, const void *bytes, size_t size,
                             void **local)
{
    strads_err err = lda_open(task, local);
    if (err)
        return err;
    worker *k = *local;
    if (size != sizeof k->loss + k->tokens * sizeof *k->topic) {
        lda_close(k);
        *local = NULL;
        return strads_fail(STRADS_EFORMAT,
                           "the checkpoint is not of these documents");
    }
    memcpy(&k->loss, bytes, sizeof k->loss);
    memcpy(k->topic, (const char *)bytes + sizeof k->loss,
           size - sizeof k->loss);
    count(k);
    return STRADS_OK;
}

static strads_err lda_run(strads_task *task, strads_session *session)
{
    worker *k = task->local;
    k->task = task;
    k->session = session;
    return loop(k);
}

static strads_err lda_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)data;
    shape->parameters++; /* a row of totals behind the words' */
    shape->width = ((const lda_options *)config)->topics;
    return STRADS_OK;
}

#define AT(field) .offset = offsetof(lda_options, field)
static const strads_option table[] = {
    {"topics", STRADS_OPTION_U32, AT(topics), "K", "topics (default 20)", 2,
     1e4},
    {"sweeps", STRADS_OPTION_U32, AT(sweeps), "N", "draws of all (default 50)",
     1, 1e6},
    {"staleness", STRADS_OPTION_U32, AT(staleness), "S",
     "clocks that a read may lag (default 0)", 0, 1e6},
    {.name = NULL}};

static const strads_program loop_lda = {
    .size = sizeof(strads_program),
    .name = "loop-lda",
    .summary = "topics by a data-parallel loop on the store",
    .kind = STRADS_KIND_DOCUMENTS,
    .options = table,
    .config_size = sizeof(lda_options),
    .defaults = &(const lda_options){20, 50, 0},
    .shape = lda_shape,
    .open = lda_open,
    .close = lda_close,
    .pack = lda_pack,
    .unpack = lda_unpack,
    .run = lda_run,
};
STRADS_EXPORT_PROGRAM(loop_lda)
