/* Tokens on disk. They lie by block of the rotation, so that a visit needs one
 * range of the file, and the next visit's range is read while this one is
 * drawn. A block has the documents of its tokens, word by word, and then, from
 * a page of its own, their topics: most visits change only these.
 *
 * Every partition deals the words to blocks as the coordinator does. The draws
 * do not depend on where a token lies, so they are those of a run in memory. */
#include "lda_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/plan.h>
#include <strads/scratch.h>

enum {
    NO_BLOCK = UINT32_MAX,
    TOKEN_BYTES = 6,
    EVICT_WORDS = 16 /* a word's entries map whole pages around them */
};

/* Bytes of a block's tokens in one partition, about: small enough that three
 * are little memory, large enough for a disk to read at full speed. */
static const double BLOCK_BYTES = 32 << 20;

struct lda_scratch {
    strads_scratch *file;
    strads_cut *cut;
    uint32_t *block;  /* [words] block of each word */
    uint64_t *place;  /* [words] tokens before it in its block */
    uint64_t *tokens; /* [blocks] */
    uint32_t taken;   /* the block that l->document and l->topic are of */
};

uint32_t lda_scratch_blocks(const strads_data *data, const strads_shape *shape)
{
    const double bytes = (double)strads_data_nnz(data) * TOKEN_BYTES;
    const double wanted = ceil(bytes / shape->partitions / BLOCK_BYTES);
    const double most = (double)shape->parameters;
    const double blocks = fmin(fmax(shape->blocks, wanted), fmax(most, 1));

    return shape->blocks_given ? shape->blocks : (uint32_t)blocks;
}

uint64_t lda_scratch_memory(double tokens, double longest, uint64_t words,
                            uint32_t blocks)
{
    enum { WORD_BYTES = 12, PAGES = 2 * STRADS_SCRATCH_ALIGN };
    const double largest = TOKEN_BYTES * (tokens / blocks + longest) + PAGES;

    return strads_scratch_memory((uint64_t)largest) + WORD_BYTES * words;
}

void lda_scratch_free(lda_scratch *s)
{
    if (!s)
        return;
    strads_scratch_free(s->file);
    strads_cut_free(s->cut);
    free(s->block);
    free(s->place);
    free(s->tokens);
    free(s);
}

static strads_err no_layout_memory(uint64_t words)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory left for the blocks of %" PRIu64 " words",
                       words);
}

static strads_err deal_as_coordinator(lda_scratch *s, const strads_task *task)
{
    const strads_share *share = task->share;
    const uint32_t words = (uint32_t)share->by_col.lines;
    double *weight = malloc(((size_t)words + 1) * sizeof *weight);

    if (!weight)
        return no_layout_memory(words);
    for (uint32_t w = 0; w < words; w++)
        weight[w] = share->col_nnz[w];
    const strads_err err = strads_cut_deal(words, weight, task->shape->blocks,
                                           task->shape->partitions, &s->cut);
    free(weight);
    return err;
}

static uint64_t topics_at(uint64_t tokens)
{
    return (tokens * sizeof(uint32_t) + STRADS_SCRATCH_ALIGN - 1) /
           STRADS_SCRATCH_ALIGN * STRADS_SCRATCH_ALIGN;
}

static uint64_t block_end(uint64_t tokens)
{
    return topics_at(tokens) + tokens * sizeof(uint16_t);
}

static strads_err open_blocks(lda_scratch *s, const lda_local *l,
                              const char *folder)
{
    const uint32_t blocks = s->cut->blocks;
    uint64_t *bytes = calloc((size_t)blocks + 1, sizeof *bytes);

    if (!bytes)
        return no_layout_memory(l->words);
    for (uint32_t b = 0; b < blocks; b++) {
        const strads_block *block = &s->cut->block[b];
        for (uint32_t k = 0; k < block->n; k++) {
            const uint32_t w = strads_block_param(block, k);
            s->block[w] = b;
            s->place[w] = s->tokens[b];
            s->tokens[b] += l->token[w + 1] - l->token[w];
        }
        bytes[b] = block_end(s->tokens[b]);
    }
    const strads_err err =
        strads_scratch_open(folder, "the tokens", blocks, bytes, &s->file);
    free(bytes);
    return err;
}

strads_err lda_scratch_open(lda_local *l, const strads_task *task)
{
    const strads_lda_options *options = task->config;
    lda_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return no_layout_memory(l->words);
    l->scratch = s;
    s->taken = NO_BLOCK;
    s->block = calloc(l->words + 1, sizeof *s->block);
    s->place = calloc(l->words + 1, sizeof *s->place);
    s->tokens = calloc((size_t)task->shape->blocks + 1, sizeof *s->tokens);
    if (!s->block || !s->place || !s->tokens)
        return no_layout_memory(l->words);
    const strads_err err = deal_as_coordinator(s, task);
    return err ? err : open_blocks(s, l, options->scratch);
}

strads_err lda_scratch_take(lda_local *l, uint32_t b)
{
    lda_scratch *s = l->scratch;
    void *bytes = NULL;

    if (!s || s->taken == b)
        return STRADS_OK;
    const strads_err err = strads_scratch_take(s->file, b, &bytes);
    s->taken = err ? NO_BLOCK : b;
    l->document = bytes;
    l->topic =
        err ? NULL
            : (uint16_t *)(void *)((char *)bytes + topics_at(s->tokens[b]));
    return err;
}

strads_err lda_scratch_visit(lda_local *l, const strads_block *block)
{
    const lda_scratch *s = l->scratch;

    if (!s)
        return STRADS_OK;
    const strads_block *own =
        block->id < s->cut->blocks ? &s->cut->block[block->id] : NULL;
    if (!own || own->n != block->n ||
        (own->n > 0 &&
         strads_block_param(own, 0) != strads_block_param(block, 0)))
        return strads_fail(STRADS_EPROGRAM,
                           "block %" PRIu64 " has other words than on disk: "
                           "this is an error of the program",
                           block->id);
    return lda_scratch_take(l, (uint32_t)block->id);
}

void lda_scratch_changed(lda_local *l, bool documents)
{
    const lda_scratch *s = l->scratch;

    if (s)
        strads_scratch_changed(s->file,
                               documents ? 0 : topics_at(s->tokens[s->taken]),
                               block_end(s->tokens[s->taken]));
}

strads_err lda_scratch_fill(lda_local *l, const strads_task *task)
{
    const lda_scratch *s = l->scratch;
    const strads_share *share = task->share;
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < s->cut->blocks && !err; b++) {
        const strads_block *block = &s->cut->block[b];
        err = lda_scratch_take(l, b);
        if (err)
            break;
        for (uint32_t k = 0; k < block->n; k++) {
            lda_fill_word(l, task, strads_block_param(block, k));
            if (k % EVICT_WORDS == 0)
                strads_share_evict(share);
        }
        memset(l->topic, 0xFF, s->tokens[b] * sizeof *l->topic);
        lda_scratch_changed(l, true);
    }
    strads_share_spend_cols(share, 0, share->by_col.lines);
    return err;
}

uint64_t lda_scratch_place(const lda_scratch *s, uint32_t word)
{
    return s->place[word];
}

uint32_t lda_scratch_word(const lda_scratch *s, uint64_t k, uint32_t *block)
{
    const uint32_t word = s->cut->param[k];

    *block = s->block[word];
    return word;
}

/* ---- checkpoints --------------------------------------------------------- */

/* Copies between the blocks and arrays of all tokens by word: documents (NULL:
 * none) and topics. */
static strads_err copy_all(lda_local *l, uint32_t *document, uint16_t *topic,
                           bool to_blocks)
{
    const lda_scratch *s = l->scratch;
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < s->cut->blocks && !err; b++) {
        const strads_block *block = &s->cut->block[b];
        err = lda_scratch_take(l, b);
        for (uint32_t k = 0; k < block->n && !err; k++) {
            const uint32_t w = strads_block_param(block, k);
            const lda_tokens x = lda_tokens_of(l, w);
            const uint64_t at = l->token[w];
            uint32_t *own = l->document + s->place[w];
            if (topic)
                memcpy(to_blocks ? x.topic : topic + at,
                       to_blocks ? topic + at : x.topic, x.n * sizeof *topic);
            if (document)
                memcpy(to_blocks ? own : document + at,
                       to_blocks ? document + at : own, x.n * sizeof *document);
        }
        if (!err && to_blocks)
            lda_scratch_changed(l, document != NULL);
    }
    return err;
}

/* One array of all tokens, made for the moment of a checkpoint. */
static void pass_array(strads_walk *w, lda_local *l, size_t width)
{
    const uint64_t tokens = l->token[l->words];
    void *all = malloc((tokens + 1) * width);
    const bool topics = width == sizeof *l->topic;
    uint32_t *const document = topics ? NULL : all;
    uint16_t *const topic = topics ? all : NULL;

    if (!all) {
        w->err =
            strads_fail(STRADS_ENOMEM,
                        "no memory left for a checkpoint of %" PRIu64 " tokens",
                        tokens);
        return;
    }
    if (w->out && !w->err)
        w->err = copy_all(l, document, topic, false);
    strads_walk_pass(w, all, tokens * width);
    for (uint64_t i = 0; document && !w->out && !w->is_short && i < tokens; i++)
        w->is_short = document[i] >= l->documents.n;
    if (!w->out && !w->is_short && !w->err)
        w->err = copy_all(l, document, topic, true);
    free(all);
}

void lda_scratch_pass_topics(strads_walk *w, lda_local *l)
{
    pass_array(w, l, sizeof *l->topic);
}

void lda_scratch_pass_documents(strads_walk *w, lda_local *l)
{
    pass_array(w, l, sizeof *l->document);
}

strads_err lda_scratch_each(lda_local *l, void (*count)(lda_local *, uint64_t))
{
    const lda_scratch *s = l->scratch;
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < s->cut->blocks && !err; b++) {
        err = lda_scratch_take(l, b);
        if (!err)
            count(l, s->tokens[b]);
    }
    return err;
}
