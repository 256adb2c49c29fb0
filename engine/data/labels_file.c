/* A file of labels is LIBSVM text without entries, or a MatrixMarket vector:
 * the parsers of the data itself read both. labels[] starts as zeros, which an
 * array leaves out. */
#include "engine/data/labels_file.h"

#include <float.h>

#include "engine/data/text_format.h"
#include "engine/data/text_pass.h"

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
    strads_err err = sti_text_open(&l.text, path, options->memory);
    if (err != STRADS_OK)
        return err;
    err = sti_format_find(&l.text, STRADS_KIND_SAMPLES, &l.format);
    if (err == STRADS_OK && !l.format.by_row)
        err = check_vector(&l);
    if (err == STRADS_OK)
        err = find_names(&l, options, names);
    if (err == STRADS_OK)
        err = take_text(&l, l.format.by_row ? &lines_sink : &vector_sink);
    sti_text_close(&l.text);
    return err;
}
