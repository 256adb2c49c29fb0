/* The pass before all others, where there is one: it adds names, in the order
 * of the text, or finds the largest numbers, chunk by chunk. */
#include <stdlib.h>

#include "engine/data/read_data.h"

typedef struct bounds {
    uint64_t rows, cols;
} bounds;

static void widen(sti_feed *f, const sti_batch *b)
{
    bounds *all = f->context;
    bounds *own = &all[f->chunk];
    for (size_t i = 0; i < b->n; i++) {
        own->rows =
            b->row[i] >= own->rows ? b->row[i] + UINT64_C(1) : own->rows;
        own->cols =
            b->col[i] >= own->cols ? b->col[i] + UINT64_C(1) : own->cols;
    }
}

static const sti_sink bounds_sink = {.entries = widen};

static strads_err find_bounds(sti_reading *r)
{
    bounds *all = calloc(r->pass.count, sizeof *all);
    if (all == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to measure it",
                           r->text.path);
    r->pass.sink = &bounds_sink;
    r->pass.context = all;
    r->pass.values = false;
    strads_err err = sti_pass_run(&r->pass);
    bounds most = {0, 0};
    for (size_t k = 0; k < r->pass.count; k++) {
        most.rows = all[k].rows > most.rows ? all[k].rows : most.rows;
        most.cols = all[k].cols > most.cols ? all[k].cols : most.cols;
    }
    free(all);
    if (err != STRADS_OK)
        return err;
    r->pass.row_limit = most.rows;
    r->pass.col_limit = most.cols;
    return STRADS_OK;
}

static const sti_sink no_sink = {0};

/* In one chunk, so that names are numbered in the order of the text. */
static strads_err add_names(sti_reading *r)
{
    sti_naming *n = &r->naming;
    sti_chunk whole = {.begin = r->text.bytes + r->pass.skip,
                       .end = r->text.bytes + r->text.size};
    sti_pass pass = r->pass;
    pass.sink = &no_sink;
    pass.values = false;
    pass.chunks = &whole;
    pass.count = 1;
    strads_err err = sti_pass_run(&pass);
    return err == STRADS_OK ? sti_naming_end(n) : err;
}

static strads_err open_names(sti_reading *r)
{
    sti_naming *n = &r->naming;
    n->stop_words = r->options.stop_words;
    n->min_df = r->options.min_df;
    strads_err err = STRADS_OK;
    if (r->format.names_rows)
        err = sti_axis_open(&n->row, r->options.row_names);
    if (err == STRADS_OK && r->format.names_cols)
        err = sti_axis_open(&n->col, r->options.col_names);
    return err;
}

strads_err sti_reading_measure(sti_reading *r)
{
    sti_naming *n = &r->naming;
    strads_err err = open_names(r);
    if (err == STRADS_OK && (n->row.adding || n->col.adding))
        err = add_names(r);
    if (err != STRADS_OK)
        return err;
    if (r->format.names_rows)
        r->pass.row_limit = strads_names_count(n->row.names);
    if (r->format.names_cols)
        r->pass.col_limit = strads_names_count(n->col.names);
    if (!r->format.by_row && !r->format.header && !r->format.names_rows)
        err = find_bounds(r);
    if (err == STRADS_OK && !r->format.by_row && r->pass.row_limit == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: found no entries, expected at least one `user "
                          "item rating`",
                          r->text.path);
    return err;
}

strads_err sti_reading_check_names(const sti_reading *r)
{
    const strads_names *names = r->options.col_names;
    uint64_t cols = r->format.header ? r->format.market.cols : r->survey.cols;
    if (names == NULL || cols == strads_names_count(names))
        return STRADS_OK;
    return strads_fail(STRADS_EFORMAT,
                       "%s: found %llu %ss, expected %u, as many as have names",
                       r->text.path, (unsigned long long)cols,
                       r->format.parser->col, strads_names_count(names));
}

/* The axis's names stay where they are when they were given. */
static void give_axis(sti_axis *axis, const strads_names *given,
                      const strads_names **names, strads_names **own)
{
    *own = axis->own;
    *names = axis->own != NULL ? axis->own : given;
    axis->own = NULL;
}

void sti_reading_give_names(sti_reading *r, strads_data *data)
{
    sti_naming *n = &r->naming;
    give_axis(&n->row, r->options.row_names, &data->row_names,
              &data->own_row_names);
    give_axis(&n->col, r->options.col_names, &data->col_names,
              &data->own_col_names);
    data->unknown = n->unknown;
    data->label_names = r->label_names.names;
    data->own_label_names = r->label_names.own;
    r->label_names.own = NULL;
    for (uint32_t k = 0; k < data->keep_count; k++) {
        data->shares[k].row_names = data->row_names;
        data->shares[k].col_names = data->col_names;
        data->shares[k].label_names = data->label_names;
    }
}
