/* strads_data_from_columns: the same build as for a file, fed from arrays. */
#include <math.h>
#include <stdlib.h>

#include "engine/data/data_build.h"
#include "engine/data/memory.h"

static strads_err check_column(const strads_columns *c, uint64_t j)
{
    for (uint64_t at = c->start[j]; at < c->start[j + 1]; at++) {
        if (c->index[at] >= c->rows)
            return strads_fail(STRADS_EINVAL,
                               "column %llu: found row %u, expected below %llu",
                               (unsigned long long)j, c->index[at],
                               (unsigned long long)c->rows);
        if (at > c->start[j] && c->index[at] <= c->index[at - 1])
            return strads_fail(STRADS_EINVAL,
                               "column %llu: found row %u after row %u, "
                               "expected ascending rows, none twice",
                               (unsigned long long)j, c->index[at],
                               c->index[at - 1]);
        if (!isfinite(c->value[at]))
            return strads_fail(STRADS_EINVAL,
                               "column %llu, row %u: found %g, expected a "
                               "finite value",
                               (unsigned long long)j, c->index[at],
                               c->value[at]);
    }
    return STRADS_OK;
}

static strads_err check_sizes(const strads_columns *c)
{
    if (c == NULL || c->start == NULL)
        return strads_fail(STRADS_EINVAL, "columns without a start array");
    if (c->rows == 0)
        return strads_fail(STRADS_EINVAL, "columns without rows");
    if (c->rows > STI_MOST_LINES || c->cols > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT,
                           "%llu rows by %llu columns, at most %llu fit",
                           (unsigned long long)c->rows,
                           (unsigned long long)c->cols,
                           (unsigned long long)STI_MOST_LINES);
    if (c->start[0] != 0)
        return strads_fail(STRADS_EINVAL, "start[0] is %llu, expected 0",
                           (unsigned long long)c->start[0]);
    if (c->start[c->cols] > 0 && (c->index == NULL || c->value == NULL))
        return strads_fail(STRADS_EINVAL,
                           "columns without an index or a value array");
    return STRADS_OK;
}

/* What labels are called; NULL: they are numbers. */
static const strads_names *names_of(const strads_data_options *o)
{
    return o->named_labels ? o->label_names : NULL;
}

static strads_err check_label(const strads_names *names, uint64_t i,
                              double label)
{
    if (!isfinite(label))
        return strads_fail(STRADS_EINVAL,
                           "row %llu: found label %g, expected a finite one",
                           (unsigned long long)i, label);
    if (names != NULL && (label < 0 || label >= strads_names_count(names) ||
                          label != floor(label)))
        return strads_fail(STRADS_EINVAL,
                           "row %llu: found label %g, expected the number of "
                           "one of %u names, counted from 0",
                           (unsigned long long)i, label,
                           strads_names_count(names));
    return STRADS_OK;
}

static strads_err check_columns(const strads_columns *c,
                                const strads_data_options *o)
{
    strads_err err = check_sizes(c);
    if (err != STRADS_OK)
        return err;
    for (uint64_t j = 0; j < c->cols; j++)
        if (c->start[j + 1] < c->start[j])
            return strads_fail(STRADS_EINVAL,
                               "start[%llu] is below start[%llu], expected "
                               "ascending starts",
                               (unsigned long long)j + 1,
                               (unsigned long long)j);
    for (uint64_t j = 0; err == STRADS_OK && j < c->cols; j++)
        err = check_column(c, j);
    for (uint64_t i = 0; err == STRADS_OK && c->label && i < c->rows; i++)
        err = check_label(names_of(o), i, c->label[i]);
    return err;
}

static strads_err count(const strads_columns *c, uint64_t cols, sti_survey *s)
{
    s->rows = c->rows;
    s->cols = cols;
    s->nnz = c->start[c->cols];
    s->col_nnz = sti_big_alloc(s->cols * sizeof *s->col_nnz);
    s->row_nnz = sti_big_alloc(s->rows * sizeof *s->row_nnz);
    if (s->col_nnz == NULL || s->row_nnz == NULL)
        return strads_fail(STRADS_ENOMEM, "columns: no memory to count them");
    for (uint64_t j = 0; j < c->cols; j++)
        s->col_nnz[j] = (uint32_t)(c->start[j + 1] - c->start[j]);
    for (uint64_t at = 0; at < s->nnz; at++)
        s->row_nnz[c->index[at]]++;
    return STRADS_OK;
}

static void emit_columns(sti_feed *f, const strads_columns *c)
{
    for (uint64_t j = 0; j < c->cols; j++) {
        for (uint64_t at = c->start[j]; at < c->start[j + 1]; at++) {
            size_t n = f->batch.n++;
            f->batch.row[n] = c->index[at];
            f->batch.col[n] = (uint32_t)j;
            f->batch.value[n] = c->value[at];
            if (f->batch.n == STI_BATCH)
                sti_feed_flush(f);
        }
    }
    sti_feed_flush(f);
}

static strads_err check_f32(const strads_columns *c, strads_scalar values)
{
    for (uint64_t at = 0; values == STRADS_F32 && at < c->start[c->cols]; at++)
        if (isinf((float)c->value[at]))
            return strads_fail(STRADS_ELIMIT,
                               "value %g does not fit in 32 bits; use f64",
                               c->value[at]);
    return STRADS_OK;
}

static void give_label_names(strads_data *data, const strads_names *names)
{
    data->label_names = names;
    for (uint32_t k = 0; k < data->keep_count; k++)
        data->shares[k].label_names = names;
}

static strads_err build_from(const strads_columns *c, sti_build *b, sti_feed *f,
                             strads_data **out)
{
    strads_err err = sti_build_begin(b);
    if (err != STRADS_OK)
        return err;
    f->context = b;
    if (sti_build_must_count(b)) {
        f->sink = &sti_build_count_sink;
        emit_columns(f, c);
    }
    err = sti_build_open(b, NULL, 1);
    if (err != STRADS_OK)
        return err;
    f->sink = &sti_build_place_sink;
    emit_columns(f, c);
    f->sink->end(f);
    if (c->label != NULL)
        sti_build_give_labels(b, c->label);
    b->digest.label_sum += sti_digest_label_names(names_of(&b->options));
    sti_twice twice;
    err = sti_build_order(b, true, &twice);
    if (err == STRADS_OK)
        err = sti_build_finish(b, out);
    if (err == STRADS_OK)
        give_label_names(*out, names_of(&b->options));
    return err;
}

strads_err strads_data_from_columns(const strads_columns *columns,
                                    const strads_data_options *options,
                                    strads_data **out)
{
    strads_data_options o;
    sti_survey survey = {0};
    strads_err err = sti_data_options(options, &o);
    if (err == STRADS_OK)
        err = check_columns(columns, &o);
    if (err == STRADS_OK)
        err = check_f32(columns, o.values);
    if (err != STRADS_OK)
        return err;
    uint64_t cols = columns->cols > o.min_cols ? columns->cols : o.min_cols;
    sti_build build = {.name = "columns",
                       .options = o,
                       .survey = &survey,
                       .has_labels = columns->label != NULL};
    sti_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL)
        err = strads_fail(STRADS_ENOMEM, "columns: no memory to read them");
    if (err == STRADS_OK)
        err = count(columns, cols, &survey);
    if (err == STRADS_OK)
        err = build_from(columns, &build, feed, out);
    free(feed);
    sti_build_free(&build);
    sti_survey_free(&survey);
    return err;
}
