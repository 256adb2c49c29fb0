/* LDA by collapsed Gibbs sampling: documents and their topics stay, blocks of
 * words travel with their counts (as in STRADS, Lee et al. 2014), the totals
 * of the topics are shared totals. A word's counts are sparse: on the way
 * between nodes only topics that it has take room. Compiled, not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"

enum { SEED, SAMPLE, DRAW_SEED = 1, DRAW_SAMPLE = 2 };

struct lda_config {
    uint32_t topics, sweeps;
    double alpha, beta;
};

struct lda_local {
    uint32_t *place;   /* [entries + 1] where an entry's tokens begin */
    uint32_t *topic;   /* [tokens], in the order of by_col's entries */
    int64_t *document; /* [documents x topics] */
    double *mass;      /* [topics] */
};

/* What travels: the counts of a block's words. */
struct lda_words {
    uint32_t n, topics;
    int32_t *count; /* [n x topics] */
};

struct lda_state {
    strads_cut *cut;
    uint32_t lap;
    double likelihood;
};

static strads_err lda_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)data;
    shape->width = shape->totals = ((const struct lda_config *)config)->topics;
    shape->block_max = UINT32_MAX;
    return STRADS_OK;
}

static void lda_end(void *state)
{
    strads_cut_free(((struct lda_state *)state)->cut);
    free(state);
}

/* Frequent words and rare ones in every block. */
static strads_err lda_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)config;
    uint32_t words = (uint32_t)shape->parameters;
    struct lda_state *s = calloc(1, sizeof *s);
    double *count = calloc(words + (size_t)1, sizeof *count);
    strads_err err = strads_fail(STRADS_ENOMEM, "no memory for the words");
    for (uint32_t j = 0; count && j < words; j++)
        count[j] = strads_data_col_nnz(data, j);
    if (s && count)
        err = strads_cut_deal(words, count, shape->blocks, shape->partitions,
                              &s->cut);
    free(count);
    if (err)
        free(s);
    else
        *state = s;
    return err;
}

static void lda_close(void *local)
{
    struct lda_local *l = local;
    free(l->place);
    free(l->topic);
    free(l->document);
    free(l->mass);
    free(l);
}

static strads_err lda_open(const strads_task *task, void **local)
{
    const strads_sparse *x = &task->share->by_col;
    size_t topics = task->width, tokens = 0;
    size_t documents = task->share->rows.end - task->share->rows.begin;
    struct lda_local *l = calloc(1, sizeof *l);
    if (!l || !(l->place = calloc(x->nnz + 1, sizeof *l->place)))
        goto fail;
    for (uint64_t e = 0; e < x->nnz; e++) {
        l->place[e] = (uint32_t)tokens;
        tokens += (uint32_t)x->f64[e];
    }
    l->place[x->nnz] = (uint32_t)tokens;
    l->topic = calloc(tokens + 1, sizeof *l->topic);
    l->document = calloc(documents * topics + 1, sizeof *l->document);
    l->mass = calloc(topics, sizeof *l->mass);
    if (!l->topic || !l->document || !l->mass)
        goto fail;
    *local = l;
    return STRADS_OK;
fail:
    if (l)
        lda_close(l);
    return strads_fail(STRADS_ENOMEM, "no memory for %zu tokens", tokens);
}

/* ---- the payload ---- */

static strads_err words_make(uint32_t n, uint32_t topics, void **object)
{
    size_t numbers = (size_t)n * topics;
    struct lda_words *words =
        calloc(1, sizeof *words + numbers * sizeof *words->count);
    if (!words)
        return strads_fail(STRADS_ENOMEM, "no memory for %u words", n);
    words->n = n;
    words->topics = topics;
    words->count = (int32_t *)(words + 1);
    *object = words;
    return STRADS_OK;
}

static strads_err words_open(strads_task *task, void **object)
{
    return words_make(task->block.n, task->width, object);
}

/* Two numbers of the whole, then (place, count) of what is not 0. */
static strads_err words_pack(const void *object, strads_bytes *out)
{
    const struct lda_words *words = object;
    uint32_t head[2] = {words->n, words->topics};
    strads_err err = strads_bytes_append(out, head, sizeof head);
    for (uint64_t i = 0; !err && i < (uint64_t)words->n * words->topics; i++) {
        int64_t pair[2] = {(int64_t)i, words->count[i]};
        if (pair[1])
            err = strads_bytes_append(out, pair, sizeof pair);
    }
    return err;
}

static strads_err words_unpack(const void *bytes, size_t size, void **object)
{
    uint32_t head[2];
    if (size < sizeof head)
        return strads_fail(STRADS_EFORMAT, "%zu bytes are no words", size);
    memcpy(head, bytes, sizeof head);
    void *made = NULL;
    strads_err err = words_make(head[0], head[1], &made);
    if (err)
        return err;
    struct lda_words *words = made;
    int64_t pair[2];
    for (size_t at = sizeof head; at + sizeof pair <= size; at += sizeof pair) {
        memcpy(pair, (const char *)bytes + at, sizeof pair);
        if ((uint64_t)pair[0] >= (uint64_t)words->n * words->topics) {
            free(words);
            return strads_fail(STRADS_EFORMAT, "no place %lld in the words",
                               (long long)pair[0]);
        }
        words->count[pair[0]] = (int32_t)pair[1];
    }
    *object = words;
    return STRADS_OK;
}

/* ---- what holders do ---- */

/* Gives the token another topic, drawn from (doc + a)(word + b)/(total + Vb);
 * returns the log of the mass that it was drawn from. */
static double draw_topic(const strads_task *task, uint32_t token, int64_t *doc,
                         int32_t *word)
{
    const struct lda_config *config = task->config;
    struct lda_local *l = task->local;
    double sum = 0, vocabulary = (double)task->shape->parameters;
    for (uint32_t t = 0; t < task->width; t++) {
        sum += ((double)doc[t] + config->alpha) *
               ((double)word[t] + config->beta) /
               (task->total[t] + vocabulary * config->beta);
        l->mass[t] = sum;
    }
    uint64_t stream = task->round * task->shape->partitions;
    double u = sum * strads_random_unit(task->seed, DRAW_SAMPLE,
                                        stream + task->share->partition, token);
    uint32_t t = 0;
    while (t + 1 < task->width && l->mass[t] <= u)
        t++;
    l->topic[token] = t;
    return log(sum);
}

static void count_token(const strads_task *task, uint32_t topic, int by,
                        int64_t *doc, int32_t *word)
{
    doc[topic] += by;
    word[topic] += by;
    task->total[topic] += by;
}

static strads_err lda_visit(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    struct lda_local *l = task->local;
    struct lda_words *words = task->object;
    uint32_t topics = task->width;
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        int32_t *word = words->count + (size_t)k * topics;
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            int64_t *doc = l->document + (size_t)x->index[e] * topics;
            for (uint32_t at = l->place[e]; at < l->place[e + 1]; at++) {
                if (task->phase == SEED) {
                    uint64_t bits =
                        strads_random_bits(task->seed, DRAW_SEED,
                                           task->share->partition, at);
                    l->topic[at] = (uint32_t)(bits % topics);
                } else {
                    count_token(task, l->topic[at], -1, doc, word);
                    task->partial[0] += draw_topic(task, at, doc, word);
                }
                count_token(task, l->topic[at], 1, doc, word);
            }
        }
    }
    /* The last holder of a lap commits the counts to table 0. */
    if (task->step + 1 == task->shape->partitions)
        for (size_t i = 0; i < (size_t)task->block.n * topics; i++)
            task->value[i] = words->count[i];
    return STRADS_OK;
}

static size_t lda_partial(const strads_task *task)
{
    (void)task;
    return 1;
}

static strads_err lda_add_up(strads_commit *commit)
{
    ((struct lda_state *)commit->state)->likelihood += commit->partial[0];
    return STRADS_OK;
}

static strads_err lda_schedule(strads_turn *turn)
{
    struct lda_state *s = turn->state;
    const struct lda_config *config = turn->config;
    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (s->lap > config->sweeps)
        return strads_turn_stop(turn);
    s->likelihood = 0;
    return strads_turn_dispatch(turn, s->lap++ ? SAMPLE : SEED, s->cut->blocks,
                                s->cut->block);
}

static strads_err lda_objective(void *state, strads_report *report)
{
    report->objective = -((struct lda_state *)state)->likelihood;
    report->gap = NAN;
    return STRADS_OK;
}

static const strads_option lda_options[] = {
    {.name = "topics",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct lda_config, topics),
     .metavar = "K",
     .help = "number of topics (default 100)",
     .min = 1,
     .max = 1e6},
    {.name = "sweeps",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct lda_config, sweeps),
     .metavar = "N",
     .help = "passes over all tokens (default 50)",
     .max = 1e9},
    {.name = NULL},
};

static const strads_phase lda_phases[] = {
    [SEED] = {.name = "seed",
              .to = STRADS_TO_RING,
              .when = STRADS_WHEN_CALLED,
              .partial = lda_partial,
              .update = lda_visit},
    [SAMPLE] = {.name = "sample",
                .to = STRADS_TO_RING,
                .when = STRADS_WHEN_CALLED,
                .reports = true,
                .partial = lda_partial,
                .update = lda_visit,
                .aggregate = lda_add_up},
};

const strads_program lda_sketch = {
    .size = sizeof(strads_program),
    .name = "lda-sketch",
    .summary = "topics by collapsed Gibbs sampling",
    .options = lda_options,
    .config_size = sizeof(struct lda_config),
    .defaults = &(const struct lda_config){.topics = 100,
                                           .sweeps = 50,
                                           .alpha = 0.1,
                                           .beta = 0.01},
    .shape = lda_shape,
    .begin = lda_begin,
    .end = lda_end,
    .open = lda_open,
    .close = lda_close,
    .schedule = lda_schedule,
    .phases = lda_phases,
    .n_phases = sizeof lda_phases / sizeof *lda_phases,
    .objective = lda_objective,
    .payload =
        &(const strads_payload){
            .open = words_open,
            .close = free,
            .pack = words_pack,
            .unpack = words_unpack,
        },
};
