/* MatrixMarket text: a banner, comments, a line of sizes, then entries: `row
 * column value` from 1 in any order (coordinate), or all values column by
 * column (array). UCI's bag of words has another header, three lines of one
 * number each, and the same entries. As for LIBSVM, one template is compiled
 * twice: without values, only the indices are read. */
#include <math.h>
#include <strings.h>

#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"

static const char banner[] = "%%MatrixMarket";

/* The first byte that is neither a blank nor a line end. */
static const char *skip_white(const char *p, const char *end)
{
    while (p < end && (sti_is_blank(*p) || *p == '\n'))
        p++;
    return p;
}

bool sti_market_is(const char *begin, const char *end)
{
    const size_t length = sizeof banner - 1;
    begin = skip_white(begin, end);
    return (size_t)(end - begin) >= length &&
           strncasecmp(begin, banner, length) == 0;
}

/* A position in the header; `feed` only records an error. */
typedef struct header {
    const char *p, *end;
    sti_feed *feed;
} header;

static void skip_header_blanks(header *h)
{
    while (h->p < h->end && sti_is_blank(*h->p))
        h->p++;
}

/* Returns the index in `words` of the word at this position, or -1 with an
 * error. */
static int match_header_word(header *h, const char *const *words,
                             const char *expected)
{
    skip_header_blanks(h);
    const char *word_end = h->p;
    while (word_end < h->end && (unsigned char)*word_end > ' ')
        word_end++;
    size_t length = (size_t)(word_end - h->p);
    for (int i = 0; words[i] != NULL; i++) {
        if (strlen(words[i]) == length &&
            strncasecmp(words[i], h->p, length) == 0) {
            h->p = word_end;
            return i;
        }
    }
    sti_feed_trouble(h->feed, STRADS_EFORMAT, h->p, h->end, "%s", expected);
    return -1;
}

static bool take_banner(header *h, sti_market *m)
{
    static const char *const objects[] = {"matrix", NULL};
    static const char *const formats[] = {"coordinate", "array", NULL};
    /* scipy writes unsigned-integer; a real Hermitian matrix is symmetric. */
    static const char *const fields[] = {"real",    "double",
                                         "integer", "unsigned-integer",
                                         "pattern", NULL};
    static const char *const symmetries[] = {"general", "symmetric",
                                             "skew-symmetric", "hermitian",
                                             NULL};
    h->p += sizeof banner - 1;
    if (match_header_word(h, objects, "'matrix' in the first line") < 0)
        return false;
    int format = match_header_word(h, formats,
                                   "'coordinate' or 'array' in the first line");
    if (format < 0)
        return false;
    const char *field_at = h->p;
    int field =
        match_header_word(h, fields,
                          "'real', 'integer', 'unsigned-integer' or 'pattern' "
                          "in the first line");
    if (field < 0)
        return false;
    int symmetry = match_header_word(
        h, symmetries,
        "'general', 'symmetric' or 'skew-symmetric' in the first line");
    if (symmetry < 0)
        return false;
    m->array = format == 1;
    m->integer = field == 2 || field == 3;
    m->pattern = field == 4;
    m->symmetry = symmetry == 3 ? STI_SYMMETRY_EVEN : (sti_symmetry)symmetry;
    if (m->pattern && (m->array || m->symmetry == STI_SYMMETRY_SKEW)) {
        sti_feed_trouble(h->feed, STRADS_EFORMAT, field_at + 1, h->end,
                         "'real' or 'integer': a pattern has no values to be "
                         "an array or skew-symmetric");
        return false;
    }
    return true;
}

static bool take_line_end(header *h)
{
    skip_header_blanks(h);
    if (h->p >= h->end)
        return true;
    if (*h->p != '\n') {
        sti_feed_trouble(h->feed, STRADS_EFORMAT, h->p, h->end,
                         "the end of the line");
        return false;
    }
    h->p++;
    return true;
}

static void skip_comments(header *h)
{
    for (;;) {
        skip_header_blanks(h);
        if (h->p < h->end && *h->p == '%') {
            const char *line_end = memchr(h->p, '\n', (size_t)(h->end - h->p));
            h->p = line_end != NULL ? line_end : h->end;
        }
        if (h->p >= h->end || *h->p != '\n')
            return;
        h->p++;
    }
}

static bool take_size(header *h, const char *what, uint64_t limit,
                      uint64_t *out)
{
    skip_header_blanks(h);
    const char *from = h->p;
    const uint64_t value = sti_whole_read(from, limit, &h->p);
    bool number = h->p > from;
    if (number && value <= limit && (h->p >= h->end || *h->p <= ' ')) {
        *out = value;
        return true;
    }
    strads_err err = number && value > limit ? STRADS_ELIMIT : STRADS_EFORMAT;
    sti_feed_trouble(h->feed, err, from, h->end, "%s, 0 to %llu", what,
                     (unsigned long long)limit);
    return false;
}

static bool take_sizes(header *h, sti_market *m)
{
    uint64_t most = STI_MOST_LINES;
    if (!take_size(h, "the number of rows", most, &m->rows) ||
        !take_size(h, "the number of columns", most, &m->cols))
        return false;
    const char *from = h->p;
    if (!m->array &&
        !take_size(h, "the number of entries", UINT64_MAX / 32, &m->entries))
        return false;
    if (!take_line_end(h))
        return false;
    if (m->symmetry != STI_SYMMETRY_NONE && m->rows != m->cols) {
        sti_feed_trouble(h->feed, STRADS_EFORMAT, from - 1, h->end,
                         "as many columns as rows in a symmetric matrix");
        return false;
    }
    if (m->array && m->symmetry == STI_SYMMETRY_NONE)
        m->entries = m->rows * m->cols;
    else if (m->array && m->symmetry == STI_SYMMETRY_EVEN)
        m->entries = m->rows % 2 == 0 ? m->rows / 2 * (m->rows + 1)
                                      : (m->rows + 1) / 2 * m->rows;
    else if (m->array)
        m->entries = m->rows == 0       ? 0
                     : m->rows % 2 == 0 ? m->rows / 2 * (m->rows - 1)
                                        : (m->rows - 1) / 2 * m->rows;
    return true;
}

static strads_err finish_header(const char *path, const char *begin,
                                const header *h, bool good, sti_market *m,
                                sti_market *out)
{
    if (!good) {
        sti_trouble *t = &h->feed->trouble;
        t->line = 1 + sti_text_count_lines(begin, t->at);
        return sti_trouble_fail(path, t);
    }
    if (m->rows == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: found %s, expected at least one", path,
                           m->counts ? "no documents" : "no rows");
    m->body = (size_t)(h->p - begin);
    m->body_line = 1 + sti_text_count_lines(begin, h->p);
    *out = *m;
    return STRADS_OK;
}

strads_err sti_market_header(const char *path, const char *begin,
                             const char *end, sti_market *out)
{
    sti_feed feed = {0};
    sti_market m = {0};
    header h = {skip_white(begin, end), end, &feed};
    bool good = take_banner(&h, &m) && take_line_end(&h);
    if (good) {
        skip_comments(&h);
        good = take_sizes(&h, &m);
    }
    return finish_header(path, begin, &h, good, &m, out);
}

/* The first byte after a line of one number, or NULL. */
static const char *after_number(const char *p, const char *end)
{
    while (p < end && sti_is_blank(*p))
        p++;
    const char *from = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    if (p == from)
        return NULL;
    while (p < end && sti_is_blank(*p))
        p++;
    return p < end && *p == '\n' ? p + 1 : NULL;
}

/* Three empty documents in ldac format are also three lines of one number,
 * but each number is 0. */
bool sti_bag_is(const char *begin, const char *end)
{
    bool all_zero = true;
    begin = skip_white(begin, end);
    for (int line = 0; line < 3 && begin != NULL; line++) {
        const char *digit = skip_white(begin, end);
        all_zero = all_zero && digit < end && *digit == '0';
        begin = after_number(begin, end);
    }
    return begin != NULL && !all_zero;
}

strads_err sti_bag_header(const char *path, const char *begin, const char *end,
                          sti_market *out)
{
    sti_feed feed = {0};
    sti_market m = {.counts = true};
    header h = {skip_white(begin, end), end, &feed};
    bool good =
        take_size(&h, "the number of documents", STI_MOST_LINES, &m.rows) &&
        take_line_end(&h) &&
        take_size(&h, "the number of words", STI_MOST_LINES, &m.cols) &&
        take_line_end(&h) &&
        take_size(&h, "the number of entries", UINT64_MAX / 32, &m.entries) &&
        take_line_end(&h);
    return finish_header(path, begin, &h, good, &m, out);
}

/* Reads a row or column number, 1 .. limit; NULL after an error. */
static const char *take_ordinal(sti_feed *f, const char *p, const char *end,
                                const char *what, uint64_t limit, uint64_t *out)
{
    const char *q;
    while (sti_is_blank(*p))
        p++;
    *out = sti_whole_read(p, limit, &q);
    if (q > p && *out > 0 && *out <= limit && (unsigned char)*q <= ' ')
        return q;
    sti_feed_trouble(f, STRADS_EFORMAT, p, end, "a %s from 1 to %llu", what,
                     (unsigned long long)limit);
    return NULL;
}

static const char *take_value(sti_feed *f, const char *p, const char *end,
                              double *value)
{
    while (sti_is_blank(*p))
        p++;
    const char *after =
        sti_feed_value(f, p, end, ' ', "a value (a number)", value);
    if (after == NULL)
        return NULL;
    if (f->market->counts && !(rint(*value) == *value && *value >= 1 &&
                               *value <= (double)STI_MOST_COUNT))
        sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                         "a count, a whole number from 1 to %llu",
                         (unsigned long long)STI_MOST_COUNT);
    else if (f->market->integer && rint(*value) != *value)
        sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                         "an integer, as the first line says");
    return f->trouble.err == STRADS_OK ? after : NULL;
}

/* Adds an entry and, in a symmetric matrix, its mirror image; counted from
 * 0. */
static void put_entry(sti_feed *f, uint64_t row, uint64_t col, double value)
{
    sti_symmetry symmetry =
        f->market->graph ? STI_SYMMETRY_EVEN : f->market->symmetry;
    if (f->market->graph && row == col)
        return;
    sti_feed_put(f, row, col, value);
    if (symmetry != STI_SYMMETRY_NONE && row != col)
        sti_feed_put(f, col, row,
                     symmetry == STI_SYMMETRY_SKEW ? -value : value);
}

static bool is_stored(sti_feed *f, uint64_t row, uint64_t col, const char *p,
                      const char *end)
{
    sti_symmetry symmetry = f->market->symmetry;
    if (symmetry == STI_SYMMETRY_NONE || row > col ||
        (row == col && symmetry == STI_SYMMETRY_EVEN))
        return true;
    sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                     "an entry %s the diagonal (row %llu, column %llu): only "
                     "those are stored in this symmetric matrix",
                     symmetry == STI_SYMMETRY_EVEN ? "on or below" : "below",
                     (unsigned long long)row, (unsigned long long)col);
    return false;
}

static bool may_read(sti_feed *f, const char *p, const char *end)
{
    if (f->read < f->market->entries)
        return true;
    sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                     "the end of the file after %llu entries, as line %llu "
                     "says",
                     (unsigned long long)f->market->entries,
                     (unsigned long long)f->market->body_line - 1);
    return false;
}

static const char *end_market_line(sti_feed *f, const char *p, const char *end)
{
    while (sti_is_blank(*p))
        p++;
    if (p >= end || *p == '\n')
        return p;
    sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                     "the end of the line after an entry");
    return NULL;
}

static inline const char *parse_market_entry(sti_feed *f, const char *p,
                                             const char *end, const bool values)
{
    uint64_t row = 0;
    uint64_t col = 0;
    f->at = p;
    if (!may_read(f, p, end))
        return NULL;
    const char *q = take_ordinal(f, p, end, f->parser->row, f->row_limit, &row);
    if (q != NULL)
        q = take_ordinal(f, q, end, f->parser->col,
                         f->id_limit > 0 ? f->id_limit : f->col_limit, &col);
    if (q == NULL || !is_stored(f, row, col, p, end))
        return NULL;
    double value = 1;
    if (values && !f->market->pattern)
        q = take_value(f, q, end, &value);
    if (q != NULL && values)
        q = end_market_line(f, q, end);
    if (q == NULL)
        return NULL;
    f->read++;
    col--;
    if (f->id_limit > 0 && !sti_feed_id(f, col + 1, &col))
        return NULL;
    put_entry(f, row - 1, col, value);
    if (f->trouble.err != STRADS_OK)
        return NULL;
    if (values)
        return q;
    q = memchr(q, '\n', (size_t)(end - q));
    return q != NULL ? q : end;
}

/* Advances to the next value of an array: f->row is the row, f->last the
 * column. */
static void next_place(sti_feed *f)
{
    if (++f->row < f->market->rows)
        return;
    f->last++;
    f->row = 0;
    if (f->market->symmetry == STI_SYMMETRY_EVEN)
        f->row = f->last;
    else if (f->market->symmetry == STI_SYMMETRY_SKEW)
        f->row = f->last + 1;
}

/* Array values are read in both passes, because zeros are not counted. */
static const char *take_array_value(sti_feed *f, const char *p, const char *end)
{
    double value;
    if (!may_read(f, p, end))
        return NULL;
    const char *q = take_value(f, p, end, &value);
    if (q == NULL)
        return NULL;
    if (f->read == 0 && f->market->symmetry == STI_SYMMETRY_SKEW)
        f->row = 1;
    f->read++;
    if (value != 0)
        put_entry(f, f->row, f->last, value);
    next_place(f);
    return f->trouble.err == STRADS_OK ? q : NULL;
}

static inline void parse_entries(sti_feed *f, const char *p, const char *end,
                                 const bool values)
{
    if (f->in_comment)
        p = sti_feed_skip_comment(f, p, end);
    while (p != NULL) {
        while (sti_is_blank(*p))
            p++;
        if (p >= end)
            return;
        if (*p == '\n')
            p++;
        else if (*p == '%')
            p = sti_feed_skip_comment(f, p, end);
        else if (f->market->array)
            p = take_array_value(f, p, end);
        else
            p = parse_market_entry(f, p, end, values);
    }
}

static void parse_market(sti_feed *f, const char *begin, const char *end)
{
    if (f->values)
        parse_entries(f, begin, end, true);
    else
        parse_entries(f, begin, end, false);
}

const sti_parser sti_market_parser = {.name = "matrixmarket",
                                      .row = "row",
                                      .col = "column",
                                      .base = 1,
                                      .cut = '\n',
                                      .take = parse_market};

const sti_parser sti_bag_parser = {.name = "uci-bow",
                                   .row = "document",
                                   .col = "word",
                                   .base = 1,
                                   .cut = '\n',
                                   .take = parse_market};
