
#include "engine/data/naming.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/npy.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"
#include "engine/data/text.h"

/* ---- what is a name ---------------------------------------------------- */

const char *sti_label_end(const char *p, const char *end)
{
    const char *after = sti_token_end(p);
    return after < end ? after : end;
}

size_t sti_character(const unsigned char *p, size_t size)
{
    if (p[0] < 0x80)
        return p[0] > ' ' && p[0] != 0x7f;
    const size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > size)
        return 0;
    uint32_t code = p[0] & (0xffu >> (n + 1));
    for (size_t k = 1; k < n; k++) {
        if ((p[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[k] & 0x3fu);
    }
    const bool longer = code < (n == 4 ? 0x10000u : n == 3 ? 0x800u : 0x80u);
    const bool surrogate = code >= 0xd800 && code < 0xe000;
    const bool mark = code == 0xfeff; /* of byte order: no part of a name */
    return longer || surrogate || mark || code > 0x10ffff ? 0 : n;
}

static bool is_spelled_number(const char *p, size_t size)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    const size_t sign = *p == '+' || *p == '-';
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (strlen(words[k]) == size - sign &&
            strncasecmp(p + sign, words[k], size - sign) == 0)
            return true;
    return false;
}

static bool is_number(const char *p, const char *after)
{
    double number;
    const char *read = p;
    switch (sti_number_read(p, &read, &number)) {
    case STI_NUMBER_OK:
        return read >= after;
    case STI_NUMBER_HUGE:
    case STI_NUMBER_LONG:
        return true;
    default:
        return is_spelled_number(p, (size_t)(after - p));
    }
}

/* Lists of labels have commas, options equals signs, entries colons. */
bool sti_label_is_name(const char *p, const char *after)
{
    if (p == after || after - p > STRADS_LABEL_NAME_MAX || is_number(p, after))
        return false;
    for (const char *q = p; q < after;) {
        const size_t n =
            sti_character((const unsigned char *)q, (size_t)(after - q));
        if (n == 0 || strchr(",:=#", *q) != NULL)
            return false;
        q += n;
    }
    return true;
}

/* The first row's label; `end` where there is none. */
static const char *find_first(const char *p, const char *end)
{
    while (p < end) {
        while (p < end && (sti_is_blank(*p) || *p == '\n'))
            p++;
        if (p < end && *p != '#')
            return p;
        const char *line_end =
            p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        p = line_end != NULL ? line_end : end;
    }
    return end;
}

bool sti_label_names_are(const char *begin, const char *end, const char **form)
{
    const char *p = find_first(begin, end);
    const char *after = sti_label_end(p, end);
    if (sti_label_is_name(p, after)) {
        *form = "a label (a name without , : = #, as in the first row)";
        return true;
    }
    *form = is_number(p, after)
                ? "a label (a number, as in the first row)"
                : "a label (a number, or a name without , : = #)";
    return false;
}

/* ---- which there are --------------------------------------------------- */

strads_err sti_label_names_open(sti_label_names *n, const strads_names *given)
{
    pthread_mutex_init(&n->lock, NULL);
    n->names = given;
    return given == NULL ? strads_names_new(&n->found) : STRADS_OK;
}

strads_err sti_label_names_restart(sti_label_names *n)
{
    if (n->found == NULL)
        return STRADS_OK;
    strads_names_free(n->found);
    n->found = NULL;
    return strads_names_new(&n->found);
}

void sti_label_names_free(sti_label_names *n)
{
    if (n->names == NULL && n->found == NULL)
        return;
    strads_names_free(n->own);
    strads_names_free(n->found);
    pthread_mutex_destroy(&n->lock);
    *n = (sti_label_names){0};
}

static bool collect(sti_feed *f, const char *p, const char *after,
                    const char *end)
{
    sti_label_names *n = f->label_names;
    const size_t size = (size_t)(after - p);
    const uint64_t hash = XXH3_64bits(p, size);
    uint64_t *met = &f->met[hash % STI_LABELS_MET];
    uint32_t number;
    if (*met == hash)
        return true;
    pthread_mutex_lock(&n->lock);
    const strads_err err = strads_names_add(n->found, p, size, &number);
    const uint32_t count = strads_names_count(n->found);
    pthread_mutex_unlock(&n->lock);
    *met = hash;
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "no memory for names of labels");
    else if (count > STRADS_LABEL_NAMES_MAX)
        sti_feed_trouble(f, STRADS_ELIMIT, p, end,
                         "at most %d different names of labels, and this is "
                         "one more",
                         STRADS_LABEL_NAMES_MAX);
    return f->trouble.err == STRADS_OK;
}

/* A name that is not among the given ones has the number behind theirs. */
static bool look_up(sti_feed *f, const char *p, const char *after,
                    double *number)
{
    const sti_label_names *n = f->label_names;
    uint32_t found = strads_names_count(n->names);
    const bool known =
        strads_names_find(n->names, p, (size_t)(after - p), &found);
    if (!known && n->own != NULL)
        sti_feed_trouble(f, STRADS_EIO, NULL, NULL,
                         "holds other labels than a moment ago; read it again "
                         "when nobody writes to it");
    *number = found;
    return f->trouble.err == STRADS_OK;
}

bool sti_label_names_number(sti_feed *f, const char *p, const char *end,
                            double *number)
{
    const char *after = sti_label_end(p, end);
    if (f->label_names->names != NULL)
        return look_up(f, p, after, number);
    if (!sti_label_is_name(p, after)) {
        if (after - p > STRADS_LABEL_NAME_MAX)
            sti_feed_trouble(f, STRADS_EFORMAT, p, end,
                             "a label of at most %d bytes",
                             STRADS_LABEL_NAME_MAX);
        else
            sti_feed_trouble(f, STRADS_EFORMAT, p, end, "%s", f->label_form);
        return false;
    }
    *number = 0;
    return collect(f, p, after, end);
}

/* ---- in order ---------------------------------------------------------- */

strads_err sti_label_names_end(sti_label_names *n)
{
    const char **sorted;
    uint32_t count, number;
    if (n->found == NULL)
        return STRADS_OK;
    strads_err err = sti_names_sorted(n->found, &sorted, &count);
    if (err == STRADS_OK)
        err = strads_names_new(&n->own);
    for (uint32_t k = 0; k < count && err == STRADS_OK; k++)
        err = strads_names_add(n->own, sorted[k], strlen(sorted[k]), &number);
    free(sorted);
    strads_names_free(n->found);
    n->found = NULL;
    n->names = n->own;
    return err;
}

/* A file of labels is LIBSVM text without entries, or a MatrixMarket vector:
 * the parsers of the data itself read both. labels[] starts as zeros, which an
 * array leaves out. */

typedef struct label_file {
    sti_text text;
    sti_format format;
    uint64_t rows;          /* that are expected */
    sti_label_names *names; /* NULL: they are numbers */
    const char *form;       /* what a label is; NULL: a number */
    double *labels;
} label_file;

static void take_label(sti_feed *f, uint64_t row, double label)
{
    label_file *l = f->context;
    if (row < l->rows)
        l->labels[row] = label;
}

static void refuse_entries(sti_feed *f, uint64_t row, uint64_t nnz)
{
    if (nnz > 0)
        sti_feed_trouble(f, STRADS_EFORMAT, NULL, NULL,
                         "label %llu is followed by index:value, expected one "
                         "number a line",
                         (unsigned long long)row + 1);
}

static void take_vector(sti_feed *f, const sti_batch *b)
{
    label_file *l = f->context;
    for (size_t i = 0; i < b->n; i++)
        l->labels[l->format.market.cols == 1 ? b->row[i] : b->col[i]] =
            b->value[i];
}

static const sti_sink lines_sink = {.label = take_label,
                                    .row_end = refuse_entries};
static const sti_sink vector_sink = {.entries = take_vector};

static strads_err wrong_count(const label_file *l, uint64_t found)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s: found %llu labels, expected %llu, one for each row",
                       l->text.path, (unsigned long long)found,
                       (unsigned long long)l->rows);
}

static strads_err check_vector(const label_file *l)
{
    const sti_market *m = &l->format.market;
    if (!m->array || (m->cols != 1 && m->rows != 1))
        return strads_fail(STRADS_EFORMAT,
                           "%s: line 1: found a matrix, expected labels: an "
                           "array of one column",
                           l->text.path);
    uint64_t found = m->rows * m->cols;
    return found == l->rows ? STRADS_OK : wrong_count(l, found);
}

static const sti_sink no_sink = {0};

static strads_err take_text(label_file *l, const sti_sink *sink)
{
    sti_chunk chunk = {.begin = l->text.bytes + l->format.skip,
                       .end = l->text.bytes + l->text.size};
    sti_pass pass = {.text = &l->text,
                     .parser = l->format.parser,
                     .market = &l->format.market,
                     .skip = l->format.skip,
                     .threads = 1,
                     .label_names = l->names,
                     .label_form = l->form,
                     .sink = sink,
                     .context = l,
                     .values = true,
                     .value_limit = DBL_MAX,
                     .row_limit = STI_MOST_LINES,
                     .col_limit = STI_MOST_LINES,
                     .chunks = &chunk,
                     .count = 1};
    strads_err err = sti_pass_run(&pass);
    if (err != STRADS_OK)
        return err;
    uint64_t found = l->format.by_row ? chunk.rows : chunk.read;
    return found == l->rows ? STRADS_OK : wrong_count(l, found);
}

/* The pass that collects names, where labels are such. */
static strads_err find_names(label_file *l, const sti_labels_options *o,
                             sti_label_names *names)
{
    if (!o->named || !l->format.by_row)
        return STRADS_OK;
    l->form = l->format.label_form;
    if (!l->format.named_labels)
        return STRADS_OK;
    strads_err err = sti_label_names_open(names, o->given);
    l->names = names;
    if (err == STRADS_OK && names->names == NULL)
        err = take_text(l, &no_sink);
    return err == STRADS_OK ? sti_label_names_end(names) : err;
}

strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels)
{
    label_file l = {.rows = options->rows, .labels = labels};
    if (sti_npy_format(path) != NULL)
        return sti_npy_labels(path, options->rows, labels);
    strads_err err = sti_text_open(&l.text, path, options->memory);
    if (err != STRADS_OK)
        return err;
    const strads_data_options samples = {.kind = STRADS_KIND_SAMPLES};
    err = sti_format_find(&l.text, &samples, &l.format);
    if (err == STRADS_OK && !l.format.by_row)
        err = check_vector(&l);
    if (err == STRADS_OK)
        err = find_names(&l, options, names);
    if (err == STRADS_OK)
        err = take_text(&l, l.format.by_row ? &lines_sink : &vector_sink);
    sti_text_close(&l.text);
    return err;
}
