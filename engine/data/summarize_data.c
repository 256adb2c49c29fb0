/* strads_data_summarize: the counting pass, and one that looks at every value
 * and label but keeps none. Each chunk has an observer of its own; they are
 * merged in the order of chunks. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/big_array.h"
#include "engine/data/read_data.h"

enum { DISTINCT_MOST = 1000, DISTINCT_SLOTS = 2048 };

/* Label values seen, by their bits; full at DISTINCT_MOST. */
typedef struct label_set {
    uint64_t slot[DISTINCT_SLOTS];
    bool used[DISTINCT_SLOTS];
    uint64_t count;
} label_set;

typedef struct observer {
    double value_min, value_max;
    double label_min, label_max;
    double label_sum;
    uint64_t labels;
    uint64_t entry_digest, label_digest;
    label_set set;
} observer;

static void set_add(label_set *set, uint64_t bits)
{
    size_t at = (size_t)((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 53);
    while (set->used[at] && set->slot[at] != bits)
        at = (at + 1) % DISTINCT_SLOTS;
    if (set->used[at] || set->count == DISTINCT_MOST)
        return;
    set->used[at] = true;
    set->slot[at] = bits;
    set->count++;
}

static void observe_label(observer *o, uint64_t row, double label)
{
    double positive_zero = label + 0.0;
    uint64_t bits;
    memcpy(&bits, &positive_zero, sizeof bits);
    set_add(&o->set, bits);
    o->label_min = fmin(o->label_min, label);
    o->label_max = fmax(o->label_max, label);
    o->label_sum += label;
    o->labels++;
    o->label_digest += sti_digest_label(row, label);
}

static void take_label(sti_feed *f, uint64_t row, double label)
{
    observer *all = f->context;
    observe_label(&all[f->chunk], row, label);
}

static void take_entries(sti_feed *f, const sti_batch *b)
{
    observer *all = f->context;
    observer *o = &all[f->chunk];
    for (size_t i = 0; i < b->n; i++) {
        o->value_min = fmin(o->value_min, b->value[i]);
        o->value_max = fmax(o->value_max, b->value[i]);
    }
    o->entry_digest += sti_digest_entries(b);
}

static const sti_sink observe_sink = {.entries = take_entries,
                                      .label = take_label};

static void merge(observer *into, const observer *from)
{
    into->value_min = fmin(into->value_min, from->value_min);
    into->value_max = fmax(into->value_max, from->value_max);
    into->label_min = fmin(into->label_min, from->label_min);
    into->label_max = fmax(into->label_max, from->label_max);
    into->label_sum += from->label_sum;
    into->labels += from->labels;
    into->entry_digest += from->entry_digest;
    into->label_digest += from->label_digest;
    for (size_t i = 0; i < DISTINCT_SLOTS; i++)
        if (from->set.used[i])
            set_add(&into->set, from->set.slot[i]);
}

static uint64_t count_empty(const uint32_t *nnz, uint64_t lines, uint64_t *most)
{
    uint64_t empty = 0;
    *most = 0;
    for (uint64_t k = 0; k < lines; k++) {
        empty += nnz[k] == 0;
        *most = nnz[k] > *most ? nnz[k] : *most;
    }
    return empty;
}

static void fill_sizes(const sti_reading *r, strads_data_summary *out)
{
    const sti_survey *s = &r->survey;
    out->format = r->pass.parser->name;
    out->compression = sti_codec_name(r->text.codec);
    out->rows = s->rows;
    out->cols = s->cols;
    out->nnz = s->nnz;
    out->empty_rows = count_empty(s->row_nnz, s->rows, &out->max_row_nnz);
    out->empty_cols = count_empty(s->col_nnz, s->cols, &out->max_col_nnz);
    out->index_base = r->format.parser->base;
    out->file_bytes = r->text.size;
    out->text_bytes = r->pass.text_bytes;
    out->matrix_bytes = s->nnz * (sizeof(double) + sizeof(uint32_t)) +
                        (s->cols + 1) * sizeof(uint64_t);
}

static void fill_content(const observer *o, const strads_names *label_names,
                         strads_data_summary *out)
{
    if (out->nnz > 0) {
        out->value_min = o->value_min;
        out->value_max = o->value_max;
    }
    if (o->labels > 0) {
        out->label_min = o->label_min;
        out->label_max = o->label_max;
        out->label_mean = o->label_sum / (double)o->labels;
    }
    out->distinct_labels = o->set.count;
    out->named_labels = label_names != NULL;
    sti_digest digest = {.rows = out->rows,
                         .cols = out->cols,
                         .nnz = out->nnz,
                         .has_labels = o->labels > 0,
                         .entry_sum = o->entry_digest,
                         .label_sum = o->label_digest +
                                      sti_digest_label_names(label_names)};
    out->checksum = sti_digest_finish(&digest);
}

static strads_err observe_labels_file(sti_reading *r, observer *o)
{
    double *labels = NULL;
    strads_err err = sti_reading_labels(r, &labels);
    if (err != STRADS_OK || labels == NULL)
        return err;
    for (uint64_t row = 0; row < r->survey.rows; row++)
        observe_label(o, row, labels[row]);
    sti_big_free(labels, r->survey.rows * sizeof *labels);
    return STRADS_OK;
}

static strads_err observe(sti_reading *r, observer *all,
                          strads_data_summary *out)
{
    for (size_t i = 0; i < r->pass.count; i++) {
        all[i].value_min = all[i].label_min = INFINITY;
        all[i].value_max = all[i].label_max = -INFINITY;
    }
    r->pass.sink = &observe_sink;
    r->pass.context = all;
    r->pass.values = true;
    strads_err err = sti_pass_run(&r->pass);
    if (err == STRADS_OK)
        err = observe_labels_file(r, &all[0]);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&r->text);
    if (err != STRADS_OK)
        return err;
    for (size_t i = 1; i < r->pass.count; i++)
        merge(&all[0], &all[i]);
    strads_data_summary s = {0};
    fill_sizes(r, &s);
    fill_content(&all[0], r->label_names.names, &s);
    *out = s;
    return STRADS_OK;
}

strads_err strads_data_summarize(const char *path,
                                 const strads_data_options *options,
                                 strads_data_summary *out)
{
    sti_reading reading;
    strads_err err = sti_reading_open(&reading, path, options);
    if (err != STRADS_OK)
        return err;
    observer *all = NULL;
    err = sti_reading_survey(&reading);
    if (err == STRADS_OK) {
        all = calloc(reading.pass.count, sizeof *all);
        err = all != NULL ? observe(&reading, all, out)
                          : strads_fail(STRADS_ENOMEM,
                                        "%s: no memory to look it over", path);
    }
    free(all);
    sti_reading_close(&reading);
    return err;
}
