/* ldac text (Blei's lda-c): a line is a document, `N word:count ...` with N
 * pairs, words from 0 in any order. A blank line is ignored, `0` is an empty
 * document. There is no fast path as for LIBSVM: a corpus is read once and then
 * sampled for a long time. */
#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/text.h"

/* Reads the whole number at p, below 10^18, that ends at `ends` or at a
 * blank; NULL if there is none. */
static const char *take_whole(const char *p, char ends, uint64_t *out)
{
    const char *q;
    *out = sti_whole_read(p, UINT64_C(999999999999999999), &q);
    if (q == p || (ends == ' ' ? (unsigned char)*q > ' ' : *q != ends))
        return NULL;
    return q;
}

static void end_ldac_row(sti_feed *f, const char *at)
{
    if (!f->in_row)
        return;
    if (f->row_nnz != f->last) {
        sti_feed_trouble(
            f, STRADS_EFORMAT, at, f->piece.end,
            "%llu pairs in this line, the number that it begins with, "
            "not %llu%s",
            (unsigned long long)f->last, (unsigned long long)f->row_nnz,
            f->row_nnz == 0 ? " (a text is read by --kind text)" : "");
        return;
    }
    if (f->sink->row_end != NULL)
        f->sink->row_end(f, f->row, f->row_nnz);
    f->in_row = false;
    f->row++;
    f->row_nnz = 0;
}

static const char *take_length(sti_feed *f, const char *p, const char *end)
{
    const char *after = take_whole(p, ' ', &f->last);
    if (after == NULL) {
        sti_feed_trouble(
            f, STRADS_EFORMAT, p, end,
            "the number of pairs in a line `N word:count ...`, or a "
            "text that is read as one (--kind text)");
        return NULL;
    }
    if (f->row >= f->row_limit) {
        sti_feed_trouble(f, STRADS_ELIMIT, p, end, "at most %llu documents",
                         (unsigned long long)f->row_limit);
        return NULL;
    }
    f->in_row = true;
    return after;
}

static const char *take_pair(sti_feed *f, const char *p, const char *end)
{
    uint64_t word;
    uint64_t count = 1;
    const uint64_t limit = f->id_limit > 0 ? f->id_limit : f->col_limit;
    f->at = p;
    const char *after = take_whole(p, ':', &word);
    if (after == NULL) {
        sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                         "word:count with a word from 0 to %llu",
                         (unsigned long long)limit - 1);
        return NULL;
    }
    if (word >= limit) {
        sti_feed_trouble(f, STRADS_ELIMIT, p, end, "a word from 0 to %llu",
                         (unsigned long long)limit - 1);
        return NULL;
    }
    const char *digits = after + 1;
    after = f->values ? take_whole(digits, ' ', &count) : sti_token_end(digits);
    if (after == NULL || count == 0 || count > STI_MOST_COUNT) {
        sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                         "word:count with a count, a whole number from 1 to "
                         "%llu",
                         (unsigned long long)STI_MOST_COUNT);
        return NULL;
    }
    if (f->id_limit > 0 && !sti_feed_id(f, word, &word))
        return NULL;
    sti_feed_put(f, f->row, word, (double)count);
    return f->trouble.err == STRADS_OK ? after : NULL;
}

static void parse_ldac(sti_feed *f, const char *p, const char *end)
{
    while (p != NULL) {
        while (sti_is_blank(*p))
            p++;
        if (p >= end)
            return;
        if (*p == '\n') {
            end_ldac_row(f, p);
            p = f->trouble.err == STRADS_OK ? p + 1 : NULL;
        } else {
            p = f->in_row ? take_pair(f, p, end) : take_length(f, p, end);
        }
    }
}

static void finish_ldac(sti_feed *f)
{
    end_ldac_row(f, f->piece.end);
}

const sti_parser sti_ldac_parser = {.name = "ldac",
                                    .row = "document",
                                    .col = "word",
                                    .row_form = "N word:count ...",
                                    .cut = ' ',
                                    .take = parse_ldac,
                                    .finish = finish_ldac};
