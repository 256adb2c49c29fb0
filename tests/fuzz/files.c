/* Files: data in every format, labels, names, models, plans, options.
 * Reading must keep the promises of data.h in every way to read: on one thread
 * or two, in one partition or several, in full or as a summary. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/data/pack_format.h"
#include "engine/round/checkpoint.h"
#include "engine/round/partials.h"
#include "engine/run/run_options.h"
#include "fuzz.h"
#include "strads/strads.h"
#include "strads/lda.h"
#include "strads/lasso.h"

enum { MEMORY = 64 << 20 };

static void check_lines(const strads_sparse *x, uint64_t minors)
{
    if (!x->start)
        return;
    fuzz_require(x->start[0] == 0 && x->start[x->lines] == x->nnz,
                 "starts span the entries");
    for (uint64_t k = 0; k < x->lines; k++)
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++) {
            fuzz_require(x->index[e] < minors, "an index is in its range");
            fuzz_require(e == x->start[k] || x->index[e] > x->index[e - 1],
                         "indices ascend");
            fuzz_require(isfinite(strads_sparse_value(x, e)),
                         "values are finite");
        }
}

static void check_data(const strads_data *data)
{
    uint64_t entries[2] = {0};
    const strads_names *names = strads_data_col_names(data);
    fuzz_require(!names || strads_names_count(names) == strads_data_cols(data),
                 "as many names as columns");
    for (uint32_t p = 0; p < strads_data_partitions(data); p++) {
        const strads_share *s = strads_data_share(data, p);
        const uint64_t rows = s->rows.end - s->rows.begin;
        check_lines(&s->by_row, strads_data_cols(data));
        check_lines(&s->by_col, strads_data_rows(data));
        entries[0] += s->by_row.nnz;
        entries[1] += s->by_col.nnz;
        for (uint64_t i = 0; s->label && i < rows; i++)
            fuzz_require(isfinite(s->label[i]), "labels are finite");
    }
    fuzz_require(entries[0] == entries[1], "both orientations have the same");
}

/* Reads in two ways and summarises: all fail, or all have the same result. */
static void read_data(const uint8_t *bytes, size_t size,
                      strads_data_options how)
{
    const char *path = fuzz_path(0, bytes, size);
    strads_data *one = NULL, *two = NULL;
    strads_data_summary summary;
    how.size = sizeof how;
    how.memory_limit = MEMORY;
    how.layout = STRADS_LAYOUT_BOTH;
    strads_data_options other = how;
    how.threads = 1;
    other.threads = 2;
    other.partitions = 1 + fuzz_choose(bytes, size, 1, 4);
    other.split = (strads_split)fuzz_choose(bytes, size, 2, 3);
    const strads_err err = strads_data_read(path, &how, &one);
    const strads_err again = strads_data_read(path, &other, &two);
    const strads_err seen = strads_data_summarize(path, &how, &summary);
    /* Partitions and threads also take memory. */
    const int full =
        err == STRADS_ENOMEM || again == STRADS_ENOMEM || seen == STRADS_ENOMEM;
    /* A summary does not reject names in place of labels, nor repeated
     * entries. */
    fuzz_require(full || (err == again && (err || !seen)), "one answer");
    if (!err)
        check_data(one);
    if (!again)
        check_data(two);
    if (!err && !again)
        fuzz_require(strads_data_checksum(one) == strads_data_checksum(two),
                     "one checksum");
    if (!err && !seen && strads_data_repeated(one) == 0 &&
        strads_data_unknown(one) == 0)
        fuzz_require(strads_data_checksum(one) == summary.checksum,
                     "the summary's checksum");
    strads_data_free(one);
    strads_data_free(two);
}

static void take_libsvm(const uint8_t *bytes, size_t size)
{
    read_data(bytes, size,
              (strads_data_options){
                  .named_labels = fuzz_choose(bytes, size, 3, 2),
                  .most_cols = fuzz_choose(bytes, size, 4, 4) ? 0 : 3});
}

static void take_market(const uint8_t *bytes, size_t size)
{
    static const strads_kind kinds[] = {STRADS_KIND_SAMPLES, STRADS_KIND_CORPUS,
                                        STRADS_KIND_RATINGS, STRADS_KIND_GRAPH};
    for (size_t k = 0; k < 4; k++)
        read_data(bytes, size, (strads_data_options){.kind = kinds[k]});
}

static void take_corpus(const uint8_t *bytes, size_t size)
{
    read_data(bytes, size, (strads_data_options){.kind = STRADS_KIND_CORPUS});
}

static void take_text(const uint8_t *bytes, size_t size)
{
    read_data(bytes, size,
              (strads_data_options){.kind = STRADS_KIND_TEXT,
                                    .min_df = fuzz_choose(bytes, size, 5, 3)});
}

static void take_ratings(const uint8_t *bytes, size_t size)
{
    read_data(bytes, size,
              (strads_data_options){.kind = STRADS_KIND_RATINGS,
                                    .numbered =
                                        fuzz_choose(bytes, size, 6, 2)});
}

static void take_graph(const uint8_t *bytes, size_t size)
{
    read_data(bytes, size, (strads_data_options){.kind = STRADS_KIND_GRAPH});
}

static void take_table(const uint8_t *bytes, size_t size)
{
    const uint32_t way = fuzz_choose(bytes, size, 7, 4);
    read_data(bytes, size,
              (strads_data_options){.target = "t",
                                    .named_labels = way & 1,
                                    .categorical = way & 2 ? "one-hot" : NULL,
                                    .missing = fuzz_choose(bytes, size, 8, 2)
                                                   ? "mean"
                                                   : NULL});
}

static void take_npy(const uint8_t *bytes, size_t size)
{
    if (size >= 4 && (memcmp(bytes, "PK\x03\x04", 4) == 0 ||
                      (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0)))
        read_data(bytes, size, (strads_data_options){0});
}

/* Replaces the hashes and the size in a pack by those of its bytes, so that the
 * bytes behind them are looked at. */
static void mend_pack(uint8_t *b, size_t size)
{
    const uint64_t at = sti_get_u64(b + 48), chunks = sti_get_u64(b + 40);
    const uint64_t sections = sti_get_u32(b + 80);
    if (at <= size && chunks <= (size - at) / STI_PACK_INDEX_ROW &&
        sections <=
            (size - at - chunks * STI_PACK_INDEX_ROW) / STI_PACK_SECTION_ROW) {
        uint8_t *row = b + at;
        for (uint64_t k = 0; k < chunks + sections; k++) {
            const bool chunk = k < chunks;
            const uint64_t from = sti_get_u64(row + (chunk ? 0 : 8));
            const uint64_t n = sti_get_u64(row + (chunk ? 8 : 16));
            if (from <= size && n <= size - from)
                sti_put_u64(row + (chunk ? 40 : 24), XXH3_64bits(b + from, n));
            row += chunk ? STI_PACK_INDEX_ROW : STI_PACK_SECTION_ROW;
        }
        sti_put_u64(b + 64, XXH3_64bits(b + at, (size_t)(row - b) - at));
    }
    sti_put_u64(b + 56, size);
    sti_put_u64(b + 120, XXH3_64bits(b, 120));
}

/* All chunks of a pack by a reader, with products. */
static void read_chunks(const strads_pack *pack, const strads_pack_result *held)
{
    strads_pack_reader *reader = NULL;
    strads_pack_chunk chunk;
    if (held->rows > MEMORY / 64 ||
        strads_pack_reader_open(pack, 0, held->cols, false, &reader))
        return;
    float *v = calloc(held->rows + 16, sizeof *v);
    float *dot = calloc(STI_PACK_COLUMNS_MAX, sizeof *dot);
    uint32_t *row = calloc(held->rows + 1, sizeof *row);
    double *value = calloc(held->rows + 1, sizeof *value);
    bool good = v && dot && row && value;
    while (good && !strads_pack_reader_next(reader, &chunk) && chunk.cols > 0) {
        good = chunk.cols <= STI_PACK_COLUMNS_MAX &&
               !strads_pack_reader_dots(reader, v, dot);
        for (uint32_t k = 0; good && k < chunk.cols; k++) {
            const uint64_t n = chunk.start[k + 1] - chunk.start[k];
            good = n <= held->rows &&
                   !strads_pack_reader_column(reader, k, row, value);
            for (uint64_t e = 0; good && e < n; e++)
                fuzz_require(row[e] < held->rows && isfinite(value[e]),
                             "rows and values are in their range");
        }
    }
    free(v);
    free(dot);
    free(row);
    free(value);
    strads_pack_reader_close(reader);
}

/* The columns of an open pack, by its own functions. */
static void read_columns(const char *path)
{
    strads_pack *pack = NULL;
    strads_pack_result held = {.size = sizeof held};
    if (strads_pack_open(path, &pack))
        return;
    strads_pack_describe(pack, &held);
    uint64_t *start = NULL;
    if (held.cols < MEMORY / 64 && held.nnz < MEMORY / 64)
        start = calloc(held.cols + 1, sizeof *start);
    if (start && !strads_pack_count(pack, 0, held.cols, start)) {
        fuzz_require(start[held.cols] == held.nnz,
                     "as many entries as counted");
        uint32_t *row = calloc(held.nnz + 1, sizeof *row);
        double *value = calloc(held.nnz + 1, sizeof *value);
        if (!strads_pack_columns(pack, 0, held.cols, row, value))
            for (uint64_t e = 0; e < held.nnz; e++)
                fuzz_require(row[e] < held.rows && isfinite(value[e]),
                             "rows and values are in their range");
        free(row);
        free(value);
    }
    free(start);
    read_chunks(pack, &held);
    strads_pack_free(pack);
}

/* The input is a pack without the zeros between its header and its first chunk.
 * A pack can contradict itself (row counts), which some ways of reading do not
 * see; what is read is good data. */
static void take_pack(const uint8_t *bytes, size_t size)
{
    static const size_t zeros = STI_PACK_ALIGN - STI_PACK_HEADER;
    if (size < STI_PACK_HEADER || memcmp(bytes, STI_PACK_MAGIC, 8) != 0)
        return;
    uint8_t *copy = calloc(1, size + zeros);
    fuzz_require(copy != NULL, "memory");
    memcpy(copy, bytes, STI_PACK_HEADER);
    memcpy(copy + STI_PACK_ALIGN, bytes + STI_PACK_HEADER,
           size - STI_PACK_HEADER);
    size += zeros;
    if (fuzz_choose(bytes, STI_PACK_HEADER, 1, 8) > 0)
        mend_pack(copy, size);
    const char *path = fuzz_path(0, copy, size);
    for (uint32_t k = 0; k < 3; k++) {
        strads_data *data = NULL;
        const strads_data_options how = {.size = sizeof how,
                                         .memory_limit = MEMORY,
                                         .threads = 1 + k % 2,
                                         .partitions = 1 + 2 * (k > 0),
                                         .split = (strads_split)fuzz_choose(
                                             bytes, STI_PACK_HEADER, 2 + k, 3),
                                         .layout = STRADS_LAYOUT_BOTH,
                                         .most_cols = k == 2 ? 3 : 0,
                                         .named_labels = true};
        if (!strads_data_read(path, &how, &data))
            check_data(data);
        strads_data_free(data);
    }
    strads_data_summary summary;
    const strads_data_options how = {.size = sizeof how,
                                     .memory_limit = MEMORY,
                                     .named_labels = true};
    (void)strads_data_summarize(path, &how, &summary);
    read_columns(path);
    free(copy);
}

static void take_labels(const uint8_t *bytes, size_t size)
{
    static const char market[] = "%%MatrixMarket matrix coordinate real "
                                 "general\n3 2 2\n1 1 1\n3 2 -2\n";
    strads_data *data = NULL;
    const strads_data_options how = {.size = sizeof how,
                                     .memory_limit = MEMORY,
                                     .threads = 1,
                                     .labels_path = fuzz_path(1, bytes, size),
                                     .named_labels =
                                         fuzz_choose(bytes, size, 3, 2)};
    const char *path = fuzz_path(0, (const uint8_t *)market, sizeof market - 1);
    if (!strads_data_read(path, &how, &data)) {
        const double *label = strads_data_share(data, 0)->label;
        for (int i = 0; i < 3; i++)
            fuzz_require(isfinite(label[i]), "labels are finite");
    }
    strads_data_free(data);
}

static void take_names(const uint8_t *bytes, size_t size)
{
    strads_names *names = NULL;
    if (!strads_names_read(fuzz_path(0, bytes, size), &names))
        for (uint32_t k = 0; k < strads_names_count(names); k++) {
            fuzz_require(strlen(strads_names_at(names, k)) < MEMORY,
                         "a name has an end");
        }
    strads_names_free(names);
}

/* A model that was read can be written, and reads back the same. */
static void take_model(const uint8_t *bytes, size_t size)
{
    strads_model *model = NULL, *again = NULL;
    char path[] = "/tmp/strads-fuzz-XXXXXX";
    if (strads_model_read(fuzz_path(0, bytes, size), NULL, &model))
        return;
    const int fd = mkstemp(path);
    fuzz_require(fd >= 0, "a file for a model");
    const strads_err err = strads_model_write(model, path);
    fuzz_require(!err, strads_error_text());
    fuzz_require(!strads_model_read(path, model->program, &again),
                 "a model that was written");
    fuzz_require(again->n == model->n && again->columns == model->columns &&
                     again->width == model->width &&
                     !memcmp(again->value, model->value,
                             model->n * model->width * sizeof(double)),
                 "the same model");
    (void)remove(path);
    (void)close(fd);
    strads_model_free(model);
    strads_model_free(again);
}

static void take_topics(const uint8_t *bytes, size_t size)
{
    strads_lda_model *model = NULL;
    if (!strads_lda_model_read(fuzz_path(0, bytes, size), &model))
        strads_lda_model_free(model);
}

static void take_plan(const uint8_t *bytes, size_t size)
{
    strads_plan *plan = NULL;
    if (!strads_plan_read(fuzz_path(0, bytes, size), &plan))
        fuzz_require(isfinite(strads_plan_imbalance(plan)),
                     "a plan that was read is a plan");
    strads_plan_free(plan);
}

static void take_config(const uint8_t *bytes, size_t size)
{
    strads_engine_options engine = {.size = sizeof engine};
    strads_lasso_options lasso = {0};
    const sti_config_part parts[] = {{strads_engine_option_table(), &engine},
                                     {strads_program_lasso.options, &lasso}};
    sti_config_strings strings = {0}, more = {0};
    const sti_config config = {.parts = parts,
                               .n_parts = 2,
                               .strings = &strings};
    if (!sti_config_parse(&config, "fuzz", (const char *)bytes, size)) {
        char *text = sti_config_text(parts, 2, 0);
        const sti_config back = {.parts = parts,
                                 .n_parts = 2,
                                 .strings = &more};
        fuzz_require(!sti_config_parse(&back, "back", text, strlen(text)),
                     strads_error_text());
        free(text);
    }
    sti_config_strings_free(&strings);
    sti_config_strings_free(&more);
}

/* A checkpoint after its header; its checksum was already checked. The
 * content is read as a Lasso of 7 columns. */
static void take_checkpoint(const uint8_t *bytes, size_t size)
{
    static const strads_table_spec values = {.name = "parameters",
                                             .rows = 7,
                                             .cols = 1};
    sti_run run = {.shape = {.parameters = 7, .width = 1}};
    sti_buffer *copy = NULL;
    sti_checkpoint checkpoint;
    uint32_t table;
    fuzz_require(!sti_buffer_new(size, &copy), "memory");
    if (size > 0)
        memcpy(copy->bytes, bytes, size);
    if (!sti_checkpoint_read(copy, &checkpoint)) {
        fuzz_require(!strads_store_open(MEMORY, &run.store) &&
                         !strads_store_create(run.store, &values, &table),
                     "a store");
        (void)sti_checkpoint_load(&run, &checkpoint);
        sti_record record;
        strads_err err = STRADS_OK;
        size_t at = 0;
        while (checkpoint.parts &&
               sti_records_next(checkpoint.parts, &at, &record, &err))
            fuzz_require(at <= checkpoint.parts->size,
                         "records end where parts do");
        strads_store_free(run.store);
        sti_checkpoint_free(&checkpoint);
    }
    sti_object_drop(copy);
}

const fuzz_target fuzz_files[] = {{"libsvm", take_libsvm},
                                  {"market", take_market},
                                  {"corpus", take_corpus},
                                  {"text", take_text},
                                  {"ratings", take_ratings},
                                  {"graph", take_graph},
                                  {"table", take_table},
                                  {"labels", take_labels},
                                  {"npy", take_npy},
                                  {"names", take_names},
                                  {"pack", take_pack},
                                  {"model", take_model},
                                  {"topics", take_topics},
                                  {"plan", take_plan},
                                  {"config", take_config},
                                  {"checkpoint", take_checkpoint},
                                  {NULL, NULL}};
