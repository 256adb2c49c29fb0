/* strads data info FILE: describes a data file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli_options.h"

typedef struct info_state {
    cli_use use;
    const char *kind, *path;
    cli_samples samples;
    strads_data_summary summary;
} info_state;

static const strads_option info_table[] = {
    CLI_CHOICE(info_state, kind, "kind", "KIND",
               "samples (LIBSVM), corpus (bag of words, ldac), text (a "
               "document a line), documents (either), ratings or graph; "
               "MatrixMarket is any but text (default: samples)",
               CLI_DATA_KINDS),
    CLI_SAMPLES_OPTIONS(info_state, samples),
    {.name = NULL},
};

/* One row with all figures, for csv, json and npy. */
static strads_err put_info_row(const info_state *i, FILE *out)
{
    static const cli_column columns[] = {
        {"path", CLI_STRING, 0},           {"format", CLI_STRING, 0},
        {"compression", CLI_STRING, 0},    {"checksum", CLI_STRING, 0},
        {"named_labels", CLI_BOOL, 0},     {"rows", CLI_COUNT, 0},
        {"columns", CLI_COUNT, 0},         {"entries", CLI_COUNT, 0},
        {"empty_rows", CLI_COUNT, 0},      {"empty_columns", CLI_COUNT, 0},
        {"longest_row", CLI_COUNT, 0},     {"longest_column", CLI_COUNT, 0},
        {"distinct_labels", CLI_COUNT, 0}, {"index_base", CLI_COUNT, 0},
        {"file_bytes", CLI_COUNT, 0},      {"text_bytes", CLI_COUNT, 0},
        {"matrix_bytes", CLI_COUNT, 0},    {"label_min", CLI_NUMBER, 0},
        {"label_max", CLI_NUMBER, 0},      {"label_mean", CLI_NUMBER, 0},
        {"value_min", CLI_NUMBER, 0},      {"value_max", CLI_NUMBER, 0}};
    const strads_data_summary *s = &i->summary;
    const bool labels = s->distinct_labels > 0 && !s->named_labels;
    const uint64_t count[] = {s->rows,        s->cols,
                              s->nnz,         s->empty_rows,
                              s->empty_cols,  s->max_row_nnz,
                              s->max_col_nnz, s->distinct_labels,
                              s->index_base,  s->file_bytes,
                              s->text_bytes,  s->matrix_bytes};
    const double number[] = {labels ? s->label_min : NAN,
                             labels ? s->label_max : NAN,
                             labels ? s->label_mean : NAN,
                             s->nnz > 0 ? s->value_min : NAN,
                             s->nnz > 0 ? s->value_max : NAN};
    char checksum[17];
    cli_table t = {.column = columns,
                   .n = sizeof columns / sizeof *columns,
                   .rows = 1};
    (void)snprintf(checksum, sizeof checksum, "%016" PRIx64, s->checksum);
    CLI_TRY(cli_table_begin(&t, &i->use.out, out));
    cli_table_text(&t, i->path);
    cli_table_text(&t, s->format);
    cli_table_text(&t, s->compression);
    cli_table_text(&t, checksum);
    cli_table_count(&t, s->named_labels);
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        cli_table_count(&t, count[k]);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        cli_table_number(&t, number[k]);
    return STRADS_OK;
}

static double per(uint64_t entries, uint64_t lines)
{
    return lines ? (double)entries / (double)lines : 0;
}

static void put_labels(const strads_data_summary *s, FILE *out)
{
    const char *more = s->distinct_labels >= 1000 ? " or more" : "";
    if (s->distinct_labels == 0) {
        (void)fprintf(out, "labels       none\n");
        return;
    }
    if (s->named_labels) {
        (void)fprintf(out, "labels       names, %" PRIu64 " different ones\n",
                      s->distinct_labels);
        return;
    }
    (void)fprintf(out,
                  "labels       %.6g to %.6g, mean %.6g, %" PRIu64
                  "%s different ones\n",
                  s->label_min, s->label_max, s->label_mean, s->distinct_labels,
                  more);
}

static void put_info_text(const char *path, const strads_data_summary *s,
                          FILE *out)
{
    char bytes[CLI_BYTES_SIZE];
    (void)fprintf(out, "file         %s\n", path);
    (void)fprintf(out, "format       %s, compression %s, %s", s->format,
                  s->compression, cli_bytes(s->file_bytes, bytes));
    if (s->text_bytes != s->file_bytes)
        (void)fprintf(out, " (%s of text)", cli_bytes(s->text_bytes, bytes));
    (void)fprintf(out,
                  "\nrows         %" PRIu64 ", %" PRIu64 " of them empty\n",
                  s->rows, s->empty_rows);
    (void)fprintf(out,
                  "columns      %" PRIu64 ", %" PRIu64
                  " of them empty, counted from %" PRIu64 "\n",
                  s->cols, s->empty_cols, s->index_base);
    (void)fprintf(out, "entries      %" PRIu64 ", values %.6g to %.6g\n",
                  s->nnz, s->value_min, s->value_max);
    (void)fprintf(out,
                  "a row        %.1f entries on average, %" PRIu64 " at most\n",
                  per(s->nnz, s->rows), s->max_row_nnz);
    (void)fprintf(out,
                  "a column     %.1f entries on average, %" PRIu64 " at most\n",
                  per(s->nnz, s->cols), s->max_col_nnz);
    put_labels(s, out);
    (void)fprintf(out, "in memory    %s (one orientation, values in 8 bytes)\n",
                  cli_bytes(s->matrix_bytes, bytes));
    (void)fprintf(out, "checksum     %016" PRIx64 "\n", s->checksum);
}

static strads_err put_info(void *state, FILE *out)
{
    const info_state *i = state;
    if (cli_format_of(&i->use.out) != CLI_FORMAT_TEXT)
        return put_info_row(i, out);
    put_info_text(i->path, &i->summary, out);
    return STRADS_OK;
}

static strads_err info(void *state, const char *const *path)
{
    info_state *i = state;
    strads_data_options wanted = {
        .size = sizeof wanted,
        .memory_limit = i->use.memory,
        .threads = i->use.workers,
        .named_labels = true,
        .kind = cli_data_kind(i->kind, STRADS_KIND_SAMPLES),
    };
    i->path = path[0];
    CLI_TRY(cli_samples_use(&i->samples, &wanted));
    return strads_data_summarize(path[0], &wanted, &i->summary);
}

static const cli_verb info_verb = {.size = sizeof(info_state),
                                   .table = info_table,
                                   .usual = "text",
                                   .has = CLI_HAS_WORKERS,
                                   .read = info,
                                   .write = put_info};

const cli_command cli_data_commands[] = {
    {.name = "data info",
     .args = "FILE",
     .summary = "what a data file holds",
     .about = "Looks a data file over, plain, gzip or zstd, and tells what it "
              "holds.",
     .verb = &info_verb},
    {.name = NULL},
};
