/* strads data info FILE: what a file holds. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_options.h"
#include "cli.h"

typedef struct info_options {
    const char *kind, *labels;
    uint32_t workers;
    bool json;
} info_options;

static const strads_option info_table[] = {
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(info_options, json),
     .help = "print one JSON object (default: for people)"},
    {.name = "kind",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(info_options, kind),
     .metavar = "KIND",
     .help = "samples (LIBSVM), corpus (bag of words, ldac), text (a document "
             "a line), documents (either) or ratings; MatrixMarket is any "
             "but text (default: samples)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(info_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    CLI_OPTION_READERS(offsetof(info_options, workers)),
    {.name = NULL},
};

static void put_string(json_t *object, const char *name, const char *value)
{
    json_t *string = json_string(value); /* NULL where it is no UTF-8 */
    (void)json_object_set_new(object, name, string ? string : json_null());
}

static void put_count(json_t *object, const char *name, uint64_t value)
{
    (void)json_object_set_new(object, name, json_integer((json_int_t)value));
}

static void put_number(json_t *object, const char *name, double value,
                       bool known)
{
    (void)json_object_set_new(object, name,
                              known ? json_real(value) : json_null());
}

static void print_json(const char *path, const strads_data_summary *s)
{
    char checksum[17];
    bool numbers = s->distinct_labels > 0 && !s->named_labels;
    json_t *info = json_object();
    (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, s->checksum);
    put_string(info, "path", path);
    put_string(info, "format", s->format);
    put_string(info, "compression", s->compression);
    put_count(info, "rows", s->rows);
    put_count(info, "columns", s->cols);
    put_count(info, "entries", s->nnz);
    put_count(info, "empty_rows", s->empty_rows);
    put_count(info, "empty_columns", s->empty_cols);
    put_count(info, "longest_row", s->max_row_nnz);
    put_count(info, "longest_column", s->max_col_nnz);
    put_number(info, "label_min", s->label_min, numbers);
    put_number(info, "label_max", s->label_max, numbers);
    put_number(info, "label_mean", s->label_mean, numbers);
    put_count(info, "distinct_labels", s->distinct_labels);
    (void)json_object_set_new(info, "named_labels",
                              json_boolean(s->named_labels));
    put_number(info, "value_min", s->value_min, s->nnz > 0);
    put_number(info, "value_max", s->value_max, s->nnz > 0);
    put_count(info, "index_base", s->index_base);
    put_count(info, "file_bytes", s->file_bytes);
    put_count(info, "text_bytes", s->text_bytes);
    put_count(info, "matrix_bytes", s->matrix_bytes);
    put_string(info, "checksum", checksum);
    (void)json_dumpf(info, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    (void)putchar('\n');
    json_decref(info);
}

static double per(uint64_t entries, uint64_t lines)
{
    return lines ? (double)entries / (double)lines : 0;
}

static void print_labels(const strads_data_summary *s)
{
    const char *more = s->distinct_labels >= 1000 ? " or more" : "";
    if (s->distinct_labels == 0) {
        (void)printf("labels       none\n");
        return;
    }
    if (s->named_labels) {
        (void)printf("labels       names, %" PRIu64 " different ones\n",
                     s->distinct_labels);
        return;
    }
    (void)printf("labels       %.6g to %.6g, mean %.6g, %" PRIu64
                 "%s different ones\n",
                 s->label_min, s->label_max, s->label_mean, s->distinct_labels,
                 more);
}

static void print_text(const char *path, const strads_data_summary *s)
{
    char bytes[CLI_BYTES_SIZE];
    (void)printf("file         %s\n", path);
    (void)printf("format       %s, compression %s, %s", s->format,
                 s->compression, cli_bytes(s->file_bytes, bytes));
    if (s->text_bytes != s->file_bytes) {
        (void)printf(" (%s of text)", cli_bytes(s->text_bytes, bytes));
    }
    (void)printf("\nrows         %" PRIu64 ", %" PRIu64 " of them empty\n",
                 s->rows, s->empty_rows);
    (void)printf("columns      %" PRIu64 ", %" PRIu64
                 " of them empty, counted from %" PRIu64 "\n",
                 s->cols, s->empty_cols, s->index_base);
    (void)printf("entries      %" PRIu64 ", values %.6g to %.6g\n", s->nnz,
                 s->value_min, s->value_max);
    (void)printf("a row        %.1f entries on average, %" PRIu64 " at most\n",
                 per(s->nnz, s->rows), s->max_row_nnz);
    (void)printf("a column     %.1f entries on average, %" PRIu64 " at most\n",
                 per(s->nnz, s->cols), s->max_col_nnz);
    print_labels(s);
    (void)printf("in memory    %s (one orientation, values in 8 bytes)\n",
                 cli_bytes(s->matrix_bytes, bytes));
    (void)printf("checksum     %016" PRIx64 "\n", s->checksum);
}

static strads_err show(const char *path, const info_options *options)
{
    strads_data_summary summary;
    strads_data_options wanted = {
        .size = sizeof wanted,
        .threads = options->workers,
        .labels_path = options->labels,
        .named_labels = true,
    };
    strads_err err = cli_data_kind(options->kind, &wanted.kind);
    if (!err) {
        err = strads_data_summarize(path, &wanted, &summary);
    }
    if (!err) {
        (options->json ? print_json : print_text)(path, &summary);
    }
    return err;
}

int cli_data_info(int argc, char **argv)
{
    info_options options = {0};
    cli_syntax syntax = {
        .name = "data info",
        .args = "FILE",
        .summary = "Looks a data file over, plain, gzip or zstd, and tells "
                   "what it holds.",
        .groups = {{NULL, info_table, &options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = show(parsed.arg[0], &options);
    }
    sti_config_strings_free(&strings);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
