/* strads data info FILE: what a file holds. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_options.h"
#include "command.h"

typedef struct info_options {
    const char *labels;
    uint32_t workers;
    bool json;
} info_options;

static const strads_option info_table[] = {
    {.name = "json",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(info_options, json),
     .help = "print one JSON object (default: for people)"},
    {.name = "labels",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(info_options, labels),
     .metavar = "FILE",
     .help = "labels of MatrixMarket data, one a line"},
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(info_options, workers),
     .metavar = "N",
     .help = "threads that read (default: one per core)",
     .min = 1,
     .max = 1024},
    {.name = NULL},
};

static json_t *count(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* JSON has no NaN: what is not known is null. */
static json_t *number(double value)
{
    json_t *real = json_real(value);
    return real ? real : json_null();
}

static void print_json(const char *path, const strads_data_summary *s)
{
    char checksum[17];
    (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, s->checksum);
    json_t *info =
        json_pack("{s:s*, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path",
                  path, "format", s->format, "compression", s->compression,
                  "rows", count(s->rows), "columns", count(s->cols), "entries",
                  count(s->nnz), "empty_rows", count(s->empty_rows),
                  "empty_columns", count(s->empty_cols), "longest_row",
                  count(s->max_row_nnz), "longest_column",
                  count(s->max_col_nnz));
    json_t *more =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
                  "label_min", number(s->label_min), "label_max",
                  number(s->label_max), "label_mean", number(s->label_mean),
                  "distinct_labels", count(s->distinct_labels), "value_min",
                  number(s->value_min), "value_max", number(s->value_max),
                  "index_base", count(s->index_base), "file_bytes",
                  count(s->file_bytes), "text_bytes", count(s->text_bytes),
                  "matrix_bytes", count(s->matrix_bytes), "checksum", checksum);
    (void)json_object_update(info, more);
    (void)json_dumpf(info, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    (void)putchar('\n');
    json_decref(info);
    json_decref(more);
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
    (void)printf("labels       %.6g to %.6g, mean %.6g, %" PRIu64
                 "%s different ones\n",
                 s->label_min, s->label_max, s->label_mean, s->distinct_labels,
                 more);
}

static void print_text(const char *path, const strads_data_summary *s)
{
    (void)printf("file         %s\n", path);
    (void)printf("format       %s, compression %s, %.1f MB", s->format,
                 s->compression, (double)s->file_bytes / 1e6);
    if (s->text_bytes != s->file_bytes) {
        (void)printf(" (%.1f MB of text)", (double)s->text_bytes / 1e6);
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
    (void)printf("in memory    %.1f MB (one orientation, values in 8 bytes)\n",
                 (double)s->matrix_bytes / 1e6);
    (void)printf("checksum     %016" PRIx64 "\n", s->checksum);
}

static strads_err show(const char *path, const info_options *options)
{
    strads_data_summary summary;
    strads_data_options wanted = {
        .size = sizeof wanted,
        .threads = options->workers,
        .labels_path = options->labels,
    };
    strads_err err = strads_data_summarize(path, &wanted, &summary);
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
        .summary = "Looks a LIBSVM or MatrixMarket file over, plain, gzip or "
                   "zstd, and tells what it holds.",
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
