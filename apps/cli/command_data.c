/* strads data info FILE: describes a data file. strads data pack FILE...:
 * writes a pack, which all commands for samples read instead. strads data split
 * RATINGS: splits ratings by time. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli_options.h"
#include "cli_terminal.h"
#include "strads/pack.h"
#include "strads/time_split.h"

typedef struct info_state {
    cli_use use;
    const char *kind, *path;
    cli_samples samples;
    strads_data_summary summary;
    bool is_pack;
    strads_pack_result pack; /* of a pack */
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

/* What only packs have. */
static void put_info_pack(const strads_pack_result *p, FILE *out)
{
    static const char *const values[] = {"exact", "f16", "f32"};
    (void)fprintf(out,
                  "packed       %" PRIu64
                  " chunks, values %s, %.2f bytes an entry%s%s%s\n",
                  p->chunks, values[p->values], per(p->file_bytes, p->nnz),
                  p->labels ? ", labels" : "", p->weights ? ", weights" : "",
                  p->col_names ? ", names of columns" : "");
}

static strads_err put_info(void *state, FILE *out)
{
    const info_state *i = state;
    if (cli_format_of(&i->use.out) != CLI_FORMAT_TEXT)
        return put_info_row(i, out);
    put_info_text(i->path, &i->summary, out);
    if (i->is_pack)
        put_info_pack(&i->pack, out);
    return STRADS_OK;
}

static strads_err describe_pack(info_state *i)
{
    strads_pack *pack = NULL;
    CLI_TRY(strads_pack_open(i->path, &pack));
    i->pack.size = sizeof i->pack;
    strads_pack_describe(pack, &i->pack);
    strads_pack_free(pack);
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
    CLI_TRY(strads_data_summarize(path[0], &wanted, &i->summary));
    i->is_pack = strcmp(i->summary.format, "pack") == 0;
    return i->is_pack ? describe_pack(i) : STRADS_OK;
}

static const cli_verb info_verb = {.size = sizeof(info_state),
                                   .table = info_table,
                                   .usual = "text",
                                   .has = CLI_HAS_WORKERS,
                                   .read = info,
                                   .write = put_info};

/* ---- data pack ----------------------------------------------------------- */

typedef struct pack_state {
    cli_use use;
    const char *path, *values, *by, *scratch, *weights;
    cli_samples samples;
    const volatile bool *stop;
    cli_progress line;
    strads_pack_phase phase; /* of the line */
    uint64_t total;          /* bytes of the line's phase */
    bool open;               /* the line is shown */
} pack_state;

static const strads_option pack_table[] = {
    CLI_TEXT(pack_state, path, "output", "PACK", "the pack (required)"),
    CLI_CHOICE(pack_state, values, "values", "HOW",
               "exact, f16 or f32; up to 256 different values of a chunk are "
               "always exact (default: exact)",
               "exact|f16|f32"),
    CLI_CHOICE(pack_state, by, "by", "ORDER",
               "columns: entries in the order of columns (default: columns)",
               "columns"),
    CLI_TEXT(pack_state, scratch, "scratch", "DIR",
             "sort there what exceeds --memory (default: beside the pack)"),
    CLI_TEXT(pack_state, weights, "weights", "FILE",
             "weights of the rows, one a line (default: all are 1)"),
    STRADS_OPTION(BYTES, pack_state, use.memory, "memory", "SIZE",
                  "bytes to sort in: 512M, 1.5G (default: a quarter of the "
                  "free memory, at most 2G)",
                  .min = 1, .max = 0x1p53),
    CLI_SAMPLES_OPTIONS(pack_state, samples),
    {.name = NULL},
};

/* Shows a line for each phase of each input, in MB. */
static bool show_packing(void *arg, strads_pack_phase phase, uint64_t done,
                         uint64_t total)
{
    static const char *const units[] = {"counting, MB", "sorting, MB",
                                        "packing, MB"};
    pack_state *s = arg;
    if (!s->open || phase != s->phase || total != s->total) {
        if (s->open)
            cli_progress_end(&s->line);
        s->phase = phase;
        s->total = total;
        s->open = true;
        cli_progress_begin(&s->line, s->use.quiet,
                           (cli_goal){.unit = units[phase],
                                      .total = (double)total / 1e6});
    }
    cli_progress_at(&s->line, (double)done / 1e6, NULL);
    return !*s->stop;
}

static strads_pack_values values_named(const char *name)
{
    return !name || *name == 'e' ? STRADS_PACK_EXACT
           : name[1] == '1'      ? STRADS_PACK_F16
                                 : STRADS_PACK_F32;
}

static strads_err pack_data(void *state, const char *const *path)
{
    pack_state *s = state;
    size_t n = 0;
    char bytes[CLI_BYTES_SIZE];
    strads_data_options wanted = {.size = sizeof wanted,
                                  .memory_limit = s->use.memory,
                                  .threads = s->use.workers,
                                  .named_labels = true};
    const strads_pack_options options = {.size = sizeof options,
                                         .values = values_named(s->values),
                                         .scratch = s->scratch,
                                         .weights_path = s->weights,
                                         .progress = show_packing,
                                         .arg = s};
    strads_pack_result made = {.size = sizeof made};
    while (path[n])
        n++;
    if (!s->path) {
        return strads_fail(STRADS_EINVAL,
                           "--output is missing: name the pack to write (-o "
                           "X.pack)");
    }
    CLI_TRY(cli_samples_use(&s->samples, &wanted));
    s->stop = cli_signal_catch();
    const strads_err err =
        strads_pack_files(path, n, s->path, &wanted, &options, &made);
    if (s->open)
        cli_progress_end(&s->line);
    CLI_TRY(err);
    cli_say(s->use.quiet,
            "%s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64
            " entries in %s, %.2f bytes an entry",
            s->path, made.rows, made.cols, made.nnz,
            cli_bytes(made.file_bytes, bytes), per(made.file_bytes, made.nnz));
    return STRADS_OK;
}

static const cli_verb pack_verb = {
    .size = sizeof(pack_state),
    .table = pack_table,
    .has = CLI_HAS_THREADS | CLI_HAS_QUIET,
    .read = pack_data,
};

/* ---- data split ---------------------------------------------------------- */

typedef struct split_state {
    cli_use use;
    const char *train, *test;
    strads_time_split by;
} split_state;

static const strads_option split_table[] = {
    CLI_TEXT(split_state, train, "train", "OUT",
             "file of the earlier ratings (required)"),
    CLI_TEXT(split_state, test, "test", "OUT",
             "file of the last ratings (required)"),
    CLI_TEXT(split_state, by.time, "time", "NAME",
             "column of times, numbers (default: timestamp, time or the 4th)"),
    CLI_F64(split_state, by.share, "share", "S",
            "share of all ratings that are the last ones (default: 0.1)",
            DBL_MIN, 1 - DBL_EPSILON),
    CLI_U32(split_state, by.last, "last", "N",
            "the last N ratings of each user with more (default: --share)", 1,
            UINT32_MAX),
    CLI_TEXT(split_state, by.user, "user", "NAME",
             "column of users (default: user, user_id, ...)"),
    CLI_TEXT(split_state, by.item, "item", "NAME",
             "column of items (default: item, movie, ...)"),
    CLI_TEXT(split_state, by.rating, "rating", "NAME",
             "column of ratings (default: rating, stars, ...)"),
    {.name = NULL},
};

static strads_err split_data(void *state, const char *const *path)
{
    split_state *s = state;
    uint64_t lines[2];
    if (!s->train || !s->test)
        return strads_fail(STRADS_EINVAL,
                           "--%s OUT is missing: give both --train OUT and "
                           "--test OUT",
                           s->train ? "test" : "train");
    if (strcmp(s->train, s->test) == 0 || strcmp(s->train, path[0]) == 0 ||
        strcmp(s->test, path[0]) == 0)
        return strads_fail(STRADS_EINVAL,
                           "the ratings, --train and --test are the same file: "
                           "give three names");
    s->by.size = sizeof s->by;
    CLI_TRY(
        strads_time_split_ratings(path[0], &s->by, s->train, s->test, lines));
    cli_say(s->use.quiet,
            "%" PRIu64 " ratings in %s, the last %" PRIu64 " in %s", lines[0],
            s->train, lines[1], s->test);
    return STRADS_OK;
}

static const cli_verb split_verb = {
    .size = sizeof(split_state),
    .table = split_table,
    .has = CLI_HAS_QUIET,
    .read = split_data,
};

const cli_command cli_data_commands[] = {
    {.name = "data info",
     .args = "FILE",
     .summary = "describe a data file",
     .about = "Reads a data file, plain, gzip or zstd, and describes its "
              "content.",
     .verb = &info_verb},
    {.name = "data pack",
     .args = "FILE...",
     .summary = "pack samples in 2 to 10 bytes an entry",
     .about = "Packs files of samples into one file that all commands for "
              "samples read. The rows of a file follow those of the file "
              "before it.",
     .verb = &pack_verb},
    {.name = "data split",
     .args = "RATINGS",
     .summary = "split ratings by time, to train and to test",
     .about = "Copies the lines of ratings to two files: the last ones by time "
              "to --test, the others to --train.",
     .verb = &split_verb},
    {.name = NULL},
};
