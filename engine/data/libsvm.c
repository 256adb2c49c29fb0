/* LIBSVM text: a line is `label [qid:n] index:value ... [# comment]`,
 * indices from 1, ascending; blank and comment lines are not rows; qid is
 * ignored. A label is a number or, if the reader accepts names, a name.
 *
 * One template, compiled twice. With values, every byte is checked. Without
 * values, the parser reads only row and index structure and skips values: the
 * counting pass need not find errors, because the next pass does. Both versions
 * may read bytes beyond `end`, but never treat them as text. */
#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"
#include "engine/data/text.h"

static void end_row(sti_feed *f)
{
    if (!f->in_row)
        return;
    if (f->sink->row_end != NULL)
        f->sink->row_end(f, f->row, f->row_nnz);
    f->in_row = false;
    f->row++;
    f->row_nnz = 0;
    f->last = 0;
}

static const char *refuse_label(sti_feed *f, int status, const char *p,
                                const char *end)
{
    sti_feed_not_a_number(f, status, p, end, f->label_form);
    return NULL;
}

/* Begins a row; NULL after an error. */
static const char *begin_row(sti_feed *f, const char *p, const char *end,
                             double label, const char *after)
{
    if (f->row >= f->row_limit) {
        sti_feed_trouble(f, STRADS_ELIMIT, p, end, "at most %llu rows",
                         (unsigned long long)f->row_limit);
        return NULL;
    }
    f->in_row = true;
    if (f->sink->label != NULL)
        f->sink->label(f, f->row, label);
    return after;
}

static const char *parse_label_name(sti_feed *f, const char *p, const char *end)
{
    const char *after = sti_label_end(p, end);
    double label = 0;
    return sti_label_names_number(f, p, end, &label)
               ? begin_row(f, p, end, label, after)
               : NULL;
}

/* Returns the end of the label, or NULL after an error. */
static const char *parse_label(sti_feed *f, const char *p, const char *end)
{
    double label;
    const char *after;
    if (f->label_names != NULL)
        return parse_label_name(f, p, end);
    int status = (int)sti_number_read(p, &after, &label);
    if (status != STI_NUMBER_OK)
        return refuse_label(f, status, p, end);
    if (*after == ':' && after < end) {
        sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                         "a label (a number) before the first index:value");
        return NULL;
    }
    if (after < end && !sti_is_blank(*after) && *after != '\n' && *after != '#')
        return refuse_label(f, STI_NUMBER_NONE, p, end);
    return begin_row(f, p, end, label, after);
}

static const char *refuse_index(sti_feed *f, const char *p, const char *end)
{
    const char *q = p;
    while (q < end && *q >= '0' && *q <= '9')
        q++;
    const bool index = q > p && *q == ':';
    const bool zero = index && q == p + 1 && *p == '0';
    sti_feed_trouble(f, index && *p != '0' ? STRADS_ELIMIT : STRADS_EFORMAT, p,
                     end, "%san index from 1 to %llu%s",
                     index ? "" : "index:value with ",
                     (unsigned long long)f->col_limit,
                     zero ? ": LIBSVM counts from 1, this file from 0; add 1 "
                            "to each index (scikit-learn: zero_based=False)"
                          : "");
    return NULL;
}

/* Reads an index of any length: 1 .. col_limit and a colon, or an error. */
static const char *take_long_index(sti_feed *f, const char *p, const char *end,
                                   uint64_t *index)
{
    const char *q;
    *index = sti_whole_read(p, f->col_limit, &q);
    if (q == p || *q != ':' || *index == 0 || *index > f->col_limit)
        return refuse_index(f, p, end);
    return q + 1;
}

/* `qid:7` stands between the label and the first entry. */
static const char *skip_qid(sti_feed *f, const char *p, const char *end)
{
    if (f->last != 0 || end - p <= 4 || memcmp(p, "qid:", 4) != 0)
        return refuse_index(f, p, end);
    const char *digits = p + 4 + (p[4] == '-');
    const char *after = digits;
    while (after < end && *after >= '0' && *after <= '9')
        after++;
    if (after > digits &&
        (after >= end || (unsigned char)*after <= ' ' || *after == '#'))
        return after;
    sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                     "qid:N with a whole number N and a blank behind it");
    return NULL;
}

static const char *refuse_order(sti_feed *f, const char *p, const char *end)
{
    sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                     "an index above %llu (indices ascend in a row, none "
                     "twice)",
                     (unsigned long long)f->last);
    return NULL;
}

/* Reads one entry in any notation; NULL after an error. */
static const char *parse_pair(sti_feed *f, const char *p, const char *end)
{
    uint64_t index;
    unsigned digits = sti_digits(p, &index);
    const char *after = p + digits + 1;
    if (p[digits] != ':' || index - 1 >= f->col_limit) {
        if (*p == 'q')
            return skip_qid(f, p, end);
        after = take_long_index(f, p, end, &index);
        if (after == NULL)
            return NULL;
    }
    double value = 0;
    if (f->values) {
        if (index <= f->last)
            return refuse_order(f, p, end);
        after =
            sti_feed_value(f, after, end, '#', "a value (a number)", &value);
        if (after == NULL)
            return NULL;
    } else {
        after = sti_entry_end(after);
    }
    f->last = index;
    sti_feed_put(f, f->row, index - 1, value);
    return f->trouble.err == STRADS_OK ? after : NULL;
}

/* Fast path for entries of the most common form, one blank apart. It stops
 * before the first entry of another form and leaves it to parse_pair; it never
 * reports an error. It searches for the blank to find the next entry, without
 * parsing, so that the processor works on several entries at once. */
static inline const char *parse_pairs(sti_feed *f, const char *p,
                                      const char *end, const bool values)
{
    sti_batch *b = &f->batch;
    const uint64_t limit = f->keep_cols;
    const uint32_t row = (uint32_t)f->row;
    uint64_t last = f->last;
    size_t n = b->n;
    size_t from = n;
    while (n < STI_BATCH) {
        const char *next = sti_entry_end(p);
        const char *after = next;
        uint64_t index;
        unsigned digits = sti_digits(p, &index);
        if (p[digits] != ':' || index - 1 >= limit || next >= end)
            break;
        if (values) {
            /* A value below 2^53 also fits in 32 bits as a float. */
            if (index <= last ||
                !sti_number_quick(p + digits + 1, &after, &b->value[n]) ||
                after != next)
                break;
        }
        b->row[n] = row;
        b->col[n] = (uint32_t)(index - 1);
        n++;
        last = index;
        p = next;
        if (*p != ' ')
            break;
        p++;
    }
    f->last = last;
    f->row_nnz += n - from;
    b->n = n;
    if (n == STI_BATCH)
        sti_feed_flush(f);
    return f->trouble.err == STRADS_OK ? p : NULL;
}

/* Reads tokens until `end` or until an error. */
static inline void parse_rows(sti_feed *f, const char *p, const char *end,
                              const bool values)
{
    if (f->in_comment)
        p = sti_feed_skip_comment(f, p, end);
    while (p != NULL) {
        while (sti_is_blank(*p))
            p++;
        if (p >= end)
            return;
        if (*p == '\n') {
            end_row(f);
            p++;
        } else if (*p == '#') {
            p = sti_feed_skip_comment(f, p, end);
        } else if (!f->in_row) {
            p = parse_label(f, p, end);
        } else {
            const char *q = parse_pairs(f, p, end, values);
            p = q == p ? parse_pair(f, p, end) : q;
        }
    }
}

static void parse_libsvm(sti_feed *f, const char *begin, const char *end)
{
    if (f->values)
        parse_rows(f, begin, end, true);
    else
        parse_rows(f, begin, end, false);
}

static void finish_libsvm(sti_feed *f)
{
    end_row(f);
}

const sti_parser sti_libsvm_parser = {.name = "libsvm",
                                      .row = "row",
                                      .col = "column",
                                      .row_form = "label index:value ...",
                                      .base = 1,
                                      .cut = ' ',
                                      .take = parse_libsvm,
                                      .finish = finish_libsvm};

static bool is_row(const char *p, const char *end)
{
    while (p < end && sti_is_blank(*p))
        p++;
    return p < end && *p != '\n' && *p != '#';
}

const char *sti_libsvm_skip_rows(const char *p, const char *end, uint64_t rows,
                                 bool every_line)
{
    while (rows > 0 && p < end) {
        rows -= every_line || is_row(p, end);
        const char *line_end = memchr(p, '\n', (size_t)(end - p));
        p = line_end != NULL ? line_end + 1 : end;
    }
    return p;
}
