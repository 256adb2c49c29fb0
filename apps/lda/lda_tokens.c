/* A partition's tokens, word by word: which document each is in, and its topic.
 * They are made of the share's entries, which are given back as far as they
 * have become tokens: six bytes a token, eight while they are made. */
#include "lda_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TOKENS = 65535, /* of a document */
    GIVE_BACK = 1 << 18, /* entries at once */
    CLASSES = 64         /* of lists, by lines; the last one: or more */
};

static strads_err no_memory(uint64_t tokens)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory left for the topics of %" PRIu64 " tokens",
                       tokens);
}

static double value_of(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

static strads_err check_count(double value)
{
    if (value >= 1 && value <= MOST_TOKENS && value == (uint32_t)value)
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "a word occurs %g times in a document: expected a whole "
                       "number, 1 to %d",
                       value, MOST_TOKENS);
}

static strads_err check_lengths(const lda_local *l, const strads_share *share)
{
    for (uint32_t d = 0; d < l->documents.n; d++) {
        if (l->length[d] > MOST_TOKENS)
            return strads_fail(STRADS_ELIMIT,
                               "document %" PRIu64 " has %u tokens, at most %d "
                               "are possible: split it",
                               share->rows.begin + d + 1, l->length[d],
                               MOST_TOKENS);
    }
    return STRADS_OK;
}

/* How many tokens words and documents have. */
static strads_err count_tokens(lda_local *l, const strads_share *share,
                               uint64_t *most)
{
    const strads_sparse *x = &share->by_col;
    uint64_t tokens = 0;

    for (uint64_t w = 0; w < x->lines; w++) {
        for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++) {
            const double value = value_of(x, e);
            strads_err err = check_count(value);
            if (err)
                return err;
            l->length[x->index[e]] += (uint32_t)value;
            tokens += (uint32_t)value;
        }
        l->token[w + 1] = tokens;
        if (tokens - l->token[w] > *most)
            *most = tokens - l->token[w];
    }
    return check_lengths(l, share);
}

static void fill_documents(lda_local *l, const strads_share *share)
{
    const strads_sparse *x = &share->by_col;
    uint32_t *to = l->document;
    uint64_t spent = 0;

    for (uint64_t w = 0; w < x->lines; w++) {
        for (uint64_t e = x->start[w]; e < x->start[w + 1]; e++) {
            for (uint32_t n = (uint32_t)value_of(x, e); n; n--)
                *to++ = x->index[e];
        }
        if (x->start[w + 1] - x->start[spent] < GIVE_BACK)
            continue;
        strads_share_spend_cols(share, spent, w + 1);
        spent = w + 1;
    }
    strads_share_spend_cols(share, spent, x->lines);
}

strads_err lda_tokens_lay(lda_local *l, const strads_share *share)
{
    const uint64_t words = share->by_col.lines;
    uint64_t most = 0;

    l->documents.n = (uint32_t)(share->rows.end - share->rows.begin);
    l->token = calloc(words + 1, sizeof *l->token);
    l->length = calloc((size_t)l->documents.n + 1, sizeof *l->length);
    if (!l->token || !l->length)
        return no_memory(0);
    strads_err err = count_tokens(l, share, &most);
    if (err)
        return err;
    const uint64_t tokens = l->token[words];
    l->document = lda_array_new(tokens + 1, sizeof *l->document);
    l->topic = lda_array_new(tokens + 1, sizeof *l->topic);
    l->sorting = malloc((most + 1) * sizeof *l->sorting);
    if (!l->document || !l->topic || !l->sorting)
        return no_memory(tokens);
    fill_documents(l, share);
    memset(l->topic, 0xFF, (tokens + 1) * sizeof *l->topic);
    return STRADS_OK;
}

lda_tokens lda_tokens_of(const lda_local *l, uint32_t word)
{
    const uint64_t at = l->token[word];

    return (lda_tokens){.n = l->token[word + 1] - at,
                        .document = l->document + at,
                        .topic = l->topic + at};
}

static uint32_t class_of(const lda_documents *documents, uint32_t d)
{
    const uint32_t lines = (documents->used[d] + LDA_LANES - 1) / LDA_LANES;

    return lines < CLASSES ? lines : CLASSES - 1;
}

void lda_tokens_sort(lda_local *l, uint32_t word)
{
    const uint64_t at = l->token[word], n = l->token[word + 1] - at;
    uint32_t *document = l->document + at;
    uint16_t *topic = l->topic + at;
    uint64_t place[CLASSES + 1] = {0};

    for (uint64_t i = 0; i < n; i++) {
        l->sorting[i] = (lda_moving){document[i], topic[i]};
        place[class_of(&l->documents, document[i]) + 1]++;
    }
    for (uint32_t c = 0; c < CLASSES; c++)
        place[c + 1] += place[c];
    for (uint64_t i = 0; i < n; i++) {
        const lda_moving x = l->sorting[i];
        const uint64_t to = place[class_of(&l->documents, x.document)]++;
        document[to] = x.document;
        topic[to] = x.topic;
    }
}
