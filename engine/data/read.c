/* strads_data_read: chooses the passes over a text and their chunks.
 *
 * LIBSVM and ldac rows come in order. One pass counts, a second one places.
 * Chunk t owns the t-th run of places in every column, so columns are ordered
 * without a lock. If the split is by rows, a column is spread over partitions:
 * each chunk is then the rows of one partition, and an extra pass counts once
 * more. Words of a corpus that are ids with gaps become names in passes before
 * these. Entries of MatrixMarket and bags of words come in any order, so chunks
 * place atomically. Lines are sorted afterwards, unless the parser has checked
 * their order. Compressed text is one chunk and is decompressed in each pass,
 * so the whole text is never in memory. */
#include "engine/data/read.h"

#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/data/build.h"
#include "engine/data/naming.h"
#include "engine/data/memory.h"
#include "engine/data/pack_format.h"
#include "engine/data/tabular.h"
#include "engine/data/text.h"

/* The first pass, for texts that need it. It adds names in the order of the
 * text, or finds the largest numbers, chunk by chunk. */
typedef struct bounds {
    uint64_t rows, cols, n;
} bounds;

static void widen_bounds(sti_feed *f, const sti_batch *b)
{
    bounds *own = (bounds *)f->context + f->chunk;
    for (size_t i = 0; i < b->n; i++) {
        own->rows =
            b->row[i] >= own->rows ? b->row[i] + UINT64_C(1) : own->rows;
        own->cols =
            b->col[i] >= own->cols ? b->col[i] + UINT64_C(1) : own->cols;
    }
    own->n += b->n;
}

static const sti_sink bounds_sink = {.entries = widen_bounds};

/* Numbers are used directly up to 8 times the number of entries, and always
 * up to 65,536. If they exceed this, most numbers have no entry but would take
 * as much memory as those that have one. The numbers then become names. */
static bool has_gaps(uint64_t most, uint64_t n)
{
    return most > 65536 && most / 8 > n;
}

static strads_err find_bounds(sti_reading *r)
{
    bounds *all = calloc(r->pass.count, sizeof *all);
    if (all == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory to measure it",
                           r->text.path);
    r->pass.sink = &bounds_sink;
    r->pass.context = all;
    r->pass.values = false;
    r->format.ratings.measured = !r->options.numbered;
    strads_err err = sti_pass_run(&r->pass);
    r->format.ratings.measured = false;
    bounds most = {0, 0, 0};
    for (size_t k = 0; k < r->pass.count; k++) {
        most.rows = all[k].rows > most.rows ? all[k].rows : most.rows;
        most.cols = all[k].cols > most.cols ? all[k].cols : most.cols;
        most.n += all[k].n;
    }
    free(all);
    if (err != STRADS_OK)
        return err;
    if (!r->options.numbered &&
        (has_gaps(most.rows, most.n) || has_gaps(most.cols, most.n))) {
        r->format.ratings.named = r->format.ratings.numbers = true;
        r->format.names_rows = r->format.names_cols = true;
    }
    r->pass.row_limit = most.rows;
    r->pass.col_limit = most.cols;
    return STRADS_OK;
}

static const sti_sink no_sink = {0};

static strads_err open_names(sti_reading *r)
{
    sti_naming *n = &r->naming;
    n->stop_words = r->options.stop_words;
    n->phrases = r->options.phrases;
    n->min_df = r->options.min_df;
    n->max_df = r->options.max_df;
    n->trims = r->options.trim_words;
    n->language = r->options.stop_language;
    strads_err err = STRADS_OK;
    if (n->language != NULL && strcmp(n->language, "auto") != 0)
        err = sti_stop_words(&n->language, &n->language_words);
    if (err != STRADS_OK)
        return err;
    if (r->format.names_rows)
        err = sti_axis_open(&n->row, r->options.row_names);
    if (err == STRADS_OK && r->format.names_cols && !r->format.one_axis)
        err = sti_axis_open(&n->col, r->options.col_names);
    return err;
}

strads_err sti_reading_measure(sti_reading *r)
{
    sti_naming *n = &r->naming;
    const bool sized = r->format.by_row || r->format.header;
    strads_err err = STRADS_OK;
    if (!sized && !r->format.names_rows)
        err = find_bounds(r);
    if (err == STRADS_OK)
        err = open_names(r);
    if (err == STRADS_OK && (n->row.adding || n->col.adding))
        err = sti_pass_whole(&r->pass, &no_sink, NULL, false, false);
    if (err == STRADS_OK)
        err = sti_naming_end(n);
    if (err == STRADS_OK && r->pass.id_limit > 0)
        err = sti_axis_sort_ids(&n->col);
    if (err != STRADS_OK)
        return err;
    if (r->format.one_axis && r->format.names_rows)
        n->col.names = n->row.names;
    if (r->format.names_rows)
        r->pass.row_limit = strads_names_count(n->row.names);
    if (r->format.names_cols)
        r->pass.col_limit = strads_names_count(n->col.names);
    if (!sized && r->pass.row_limit == 0)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: found no entries, expected at least one %s",
                          r->text.path,
                          r->format.one_axis ? "link" : "`user item rating`");
    return err;
}

/* Checks that there are as many columns as column names. */
static strads_err check_names(const sti_reading *r)
{
    const strads_names *names = r->options.col_names;
    uint64_t cols = r->format.header ? r->format.market.cols : r->counts.cols;
    if (names == NULL || cols == strads_names_count(names))
        return STRADS_OK;
    return strads_fail(STRADS_EFORMAT,
                       "%s: found %llu %ss, expected %u, as many as have names",
                       r->text.path, (unsigned long long)cols,
                       r->format.parser->col, strads_names_count(names));
}

/* Names that the caller gave remain the caller's. */
static void give_axis(sti_axis *axis, const strads_names *given,
                      const strads_names **names, strads_names **own)
{
    *own = axis->own;
    *names = axis->own != NULL ? axis->own : given;
    axis->own = NULL;
}

/* Moves the names to the data set and counts the entries with unknown names. */
static void move_names(sti_reading *r, strads_data *data)
{
    sti_naming *n = &r->naming;
    give_axis(&n->row, r->options.row_names, &data->row_names,
              &data->own_row_names);
    give_axis(&n->col, r->options.col_names, &data->col_names,
              &data->own_col_names);
    if (r->format.one_axis)
        data->col_names = data->row_names;
    data->col_ids = r->pass.id_limit > 0;
    data->unknown = n->unknown;
    data->word_rules = (strads_word_rules){.stop_language = n->language,
                                           .min_df = n->min_df,
                                           .max_df = n->max_df};
    data->label_names = r->label_names.names;
    data->own_label_names = r->label_names.own;
    r->label_names.own = NULL;
    for (uint32_t k = 0; k < data->keep_count; k++) {
        data->shares[k].row_names = data->row_names;
        data->shares[k].col_names = data->col_names;
        data->shares[k].label_names = data->label_names;
    }
}

enum { CHUNK_AT_LEAST = 64 << 10 };

static strads_err no_reading_memory(const char *path)
{
    return strads_fail(STRADS_ENOMEM, "%s: no memory to begin reading it",
                       path);
}

/* The number of chunks that is worth the threads. */
static size_t chunks_for(const sti_reading *r)
{
    if (r->text.codec != STI_CODEC_NONE || r->format.market.array)
        return 1;
    size_t most = r->text.size / CHUNK_AT_LEAST + 1;
    return r->options.threads < most ? r->options.threads : most;
}

/* Prepares the label names of a text of rows with labels. */
static strads_err open_label_names(sti_reading *r)
{
    if (!r->options.named_labels || !r->format.labels)
        return STRADS_OK;
    r->pass.label_form = r->format.label_form;
    if (!r->format.named_labels)
        return STRADS_OK;
    r->pass.label_names = &r->label_names;
    return sti_label_names_open(&r->label_names, r->options.label_names);
}

/* The words of a corpus may be ids with gaps, which become names, if the caller
 * expects no certain columns. */
static bool may_have_ids(const sti_reading *r)
{
    const sti_format *f = &r->format;
    const bool corpus = f->parser == &sti_ldac_parser ||
                        (f->market.counts && !f->market.graph &&
                         f->market.symmetry == STI_SYMMETRY_NONE);
    return corpus && r->options.col_names == NULL && r->options.min_cols == 0 &&
           !r->options.numbered;
}

/* Reads words up to `limit` as ids, from the next pass on. */
static void use_ids(sti_reading *r, uint64_t limit)
{
    r->format.names_cols = true;
    r->pass.id_limit = limit;
}

static strads_err prepare_pass(sti_reading *r)
{
    sti_pass *pass = &r->pass;
    strads_err err = sti_format_find(&r->text, &r->options, &r->format);
    if (err != STRADS_OK)
        return err;
    pass->text = &r->text;
    pass->parser = r->format.parser;
    pass->threads = r->options.threads;
    pass->value_limit = r->options.values == STRADS_F32 ? FLT_MAX : DBL_MAX;
    pass->row_limit = STI_MOST_LINES;
    pass->col_limit = STI_MOST_LINES;
    pass->keep_cols = r->options.most_cols;
    pass->naming = &r->naming;
    err = open_label_names(r);
    if (err != STRADS_OK)
        return err;
    pass->ratings = &r->format.ratings;
    pass->skip = r->format.skip;
    if (r->format.header) {
        pass->market = &r->format.market;
        pass->row_limit = r->format.market.rows;
        pass->col_limit = r->format.market.cols;
        if (may_have_ids(r) && r->format.market.entries > 0 &&
            sti_has_id_gaps(r->format.market.cols, r->format.market.entries))
            use_ids(r, r->format.market.cols);
    }
    pass->count = chunks_for(r);
    pass->chunks = calloc(pass->count, sizeof *pass->chunks);
    if (pass->chunks == NULL)
        return no_reading_memory(r->text.path);
    sti_pass_cut(r->text.bytes + pass->skip, r->text.bytes + r->text.size,
                 pass->chunks, pass->count);
    return STRADS_OK;
}

static strads_err check_labels(const sti_reading *r)
{
    const char *labels = r->options.labels_path;
    if (labels == NULL)
        return STRADS_OK;
    if (r->options.kind != STRADS_KIND_SAMPLES)
        return strads_fail(STRADS_EINVAL,
                           "%s: is read as a corpus or as ratings, which have "
                           "no labels; leave %s out",
                           r->text.path, labels);
    if (r->format.labels)
        return strads_fail(STRADS_EINVAL,
                           "%s: is LIBSVM text and has its own labels; labels "
                           "from %s belong to MatrixMarket",
                           r->text.path, labels);
    return STRADS_OK;
}

static strads_err check_words(const sti_reading *r)
{
    if (r->format.parser == &sti_words_parser ||
        (r->options.stop_words == NULL && r->options.min_df <= 1 &&
         (r->options.stop_language == NULL ||
          strcmp(r->options.stop_language, "auto") == 0) &&
         r->options.max_df == 0 && r->options.text_column == NULL &&
         r->options.phrases == NULL))
        return STRADS_OK;
    return strads_fail(
        STRADS_EINVAL,
        "%s: is not plain text: text_column, stop words, min_df, "
        "max_df and phrases are for plain text only",
        r->text.path);
}

strads_err sti_reading_open(sti_reading *r, const char *path,
                            const strads_data_options *options)
{
    *r = (sti_reading){0};
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no data file was named");
    strads_err err = sti_data_options(options, &r->options);
    if (err == STRADS_OK && sti_texts_wanted(path, &r->options)) {
        err = sti_texts_open(&r->text, path, &r->options);
        r->options.kind = STRADS_KIND_TEXT;
    } else if (err == STRADS_OK) {
        err = sti_text_open(&r->text, path, r->options.memory_limit);
    }
    if (err == STRADS_OK)
        err = prepare_pass(r);
    if (err == STRADS_OK)
        err = check_labels(r);
    if (err == STRADS_OK)
        err = check_words(r);
    if (err != STRADS_OK)
        sti_reading_close(r);
    return err;
}

void sti_reading_close(sti_reading *r)
{
    sti_totals_free(&r->counts);
    sti_naming_free(&r->naming);
    sti_label_names_free(&r->label_names);
    free(r->pass.chunks);
    sti_text_close(&r->text);
    *r = (sti_reading){0};
}

/* The counting pass checks little. If it fails, a checking pass reads the
 * file in order and reports the first error. */
static strads_err explain_failure(sti_reading *r, strads_err found)
{
    if (found != STRADS_EFORMAT && found != STRADS_ELIMIT)
        return found;
    strads_err err = sti_label_names_restart(&r->label_names);
    if (err == STRADS_OK)
        err = sti_pass_whole(&r->pass, &no_sink, NULL, true, false);
    return err != STRADS_OK ? err : found;
}

static strads_err check_entries(sti_reading *r)
{
    uint64_t read = 0;
    for (size_t i = 0; i < r->pass.count; i++)
        read += r->pass.chunks[i].read;
    if (read == r->format.market.entries)
        return STRADS_OK;
    strads_err err =
        strads_fail(STRADS_EFORMAT,
                    "%s: found %llu entries, expected %llu as line %llu "
                    "says",
                    r->text.path, (unsigned long long)read,
                    (unsigned long long)r->format.market.entries,
                    (unsigned long long)r->format.market.body_line - 1);
    /* If there are too many entries, the checking pass reports the line of
     * the first surplus one. */
    return read > r->format.market.entries ? explain_failure(r, err) : err;
}

/* Counts rows. If words may be ids with gaps, a pass over the text decides,
 * and the rows are counted again. */
static strads_err count_rows_or_ids(sti_reading *r, uint64_t cols)
{
    sti_totals *s = &r->counts;
    bounds most = {0, 0, 0};
    s->watches_ids = may_have_ids(r);
    strads_err err = sti_count_rows(s, &r->pass, cols);
    if (!s->found_gaps)
        return err;
    sti_totals_free(s);
    *s = (sti_totals){.options = s->options, .source = s->source};
    err = sti_pass_whole(&r->pass, &bounds_sink, &most, false, false);
    if (err == STRADS_OK && sti_has_id_gaps(most.cols, most.n)) {
        use_ids(r, r->pass.col_limit);
        err = sti_reading_measure(r);
    }
    return err == STRADS_OK ? sti_count_rows(s, &r->pass, cols) : err;
}

strads_err sti_reading_count(sti_reading *r)
{
    sti_totals *s = &r->counts;
    uint64_t cols = r->options.min_cols;
    s->options = &r->options;
    s->source = r->text.size;
    strads_err err = sti_reading_measure(r);
    if (err == STRADS_OK && r->options.col_names != NULL)
        cols = strads_names_count(r->options.col_names);
    if (err == STRADS_OK)
        err = r->format.by_row ? count_rows_or_ids(r, cols)
                               : sti_count_sized(s, &r->pass, cols);
    if (err != STRADS_OK)
        return explain_failure(r, err);
    if (r->options.most_cols > 0 && s->cols > 0) /* 0 would mean all columns */
        r->pass.keep_cols = s->cols;
    else if (r->options.most_cols == 0 && r->format.by_row)
        r->pass.col_limit = s->cols;
    r->pass.row_limit = s->rows;
    err = sti_label_names_end(&r->label_names);
    if (err == STRADS_OK)
        err = check_names(r);
    return err == STRADS_OK && r->format.header ? check_entries(r) : err;
}

/* Finds the start of each partition's rows. Each task searches one chunk of
 * the counting pass. */
typedef struct row_search {
    const sti_chunk *chunks;
    const uint64_t *bounds;
    uint64_t rows;
    size_t count; /* of chunks */
    uint32_t partitions;
    bool every_line;
    sti_chunk *found;
} row_search;

static void search_chunk(void *context, size_t task)
{
    row_search *s = context;
    const sti_chunk *chunk = &s->chunks[task];
    uint64_t row = chunk->first_row;
    uint64_t end = task + 1 < s->count ? chunk[1].first_row : s->rows + 1;
    const char *p = chunk->begin;
    for (uint32_t k = 0; k < s->partitions; k++) {
        uint64_t bound = s->bounds[k];
        if (bound < row || bound >= end)
            continue;
        p = sti_libsvm_skip_rows(p, chunk->end, bound - row, s->every_line);
        row = bound;
        s->found[k] = (sti_chunk){.begin = p, .first_row = bound};
    }
}

static strads_err chunk_by_partition(sti_reading *r, const sti_build *b)
{
    uint32_t parts = b->options.partitions / b->options.grid_cols;
    row_search search = {.chunks = r->pass.chunks,
                         .bounds = b->row_bounds,
                         .rows = r->counts.rows,
                         .count = r->pass.count,
                         .partitions = parts,
                         .every_line = r->format.parser->every_line,
                         .found = calloc(parts, sizeof(sti_chunk))};
    if (search.found == NULL)
        return no_reading_memory(r->text.path);
    sti_parallel(r->options.threads, r->pass.count, search_chunk, &search);
    for (uint32_t k = 0; k < parts; k++)
        search.found[k].end = k + 1 < parts
                                  ? search.found[k + 1].begin
                                  : r->pass.chunks[r->pass.count - 1].end;
    free(r->pass.chunks);
    r->pass.chunks = search.found;
    r->pass.count = parts;
    return STRADS_OK;
}

/* Chooses the chunks for placing a plain text of rows. */
static strads_err arrange_chunks(sti_reading *r, const sti_build *b)
{
    sti_pass *pass = &r->pass;
    if (!r->format.by_row || r->text.codec != STI_CODEC_NONE ||
        pass->count == 1)
        return STRADS_OK;
    if (b->data->by_col.cross) {
        sti_totals_free_tallies(&r->counts);
        return chunk_by_partition(r, b);
    }
    if (sti_build_spills(b) || !sti_build_affords(b, pass->count)) {
        sti_totals_free_tallies(&r->counts);
        pass->chunks[0].end = pass->chunks[pass->count - 1].end;
        pass->count = 1;
    }
    return STRADS_OK;
}

static strads_err run_pass(sti_reading *r, sti_build *b, const sti_sink *sink,
                           bool values)
{
    r->pass.sink = sink;
    r->pass.context = b;
    r->pass.values = values;
    return sti_pass_run(&r->pass);
}

/* Places the entries that fit into memory, sorts them, writes them, and so on:
 * a pass over the text for each window. */
static strads_err place_windows(sti_reading *r, sti_build *b)
{
    bool more = true;
    strads_err err = sti_spill_open(b);
    while (err == STRADS_OK && more) {
        err = sti_spill_next(b, &more);
        if (err == STRADS_OK && more)
            err = run_pass(r, b, &sti_build_place_sink, true);
        if (err == STRADS_OK && more)
            err = sti_spill_write(b);
    }
    return err == STRADS_OK ? sti_spill_map(b) : err;
}

static strads_err run_placing_pass(sti_reading *r, sti_build *b)
{
    strads_err err = arrange_chunks(r, b);
    if (err == STRADS_OK && sti_build_must_count(b))
        err = run_pass(r, b, &sti_build_count_sink, false);
    if (err == STRADS_OK)
        err = sti_build_open(b, r->counts.tallies, r->pass.count);
    sti_totals_free_tallies(&r->counts);
    if (err == STRADS_OK && sti_build_spills(b))
        err = place_windows(r, b);
    else if (err == STRADS_OK)
        err = run_pass(r, b, &sti_build_place_sink, true);
    return err;
}

strads_err sti_reading_labels(sti_reading *r, double **out)
{
    const char *path = r->options.labels_path;
    uint64_t rows = r->counts.rows;
    const sti_labels_options options = {.rows = rows,
                                        .memory = r->options.memory_limit,
                                        .named = r->options.named_labels,
                                        .given = r->options.label_names};
    if (path == NULL) {
        *out = NULL;
        return STRADS_OK;
    }
    double *labels = sti_big_alloc(rows * sizeof *labels);
    if (labels == NULL)
        return no_reading_memory(path);
    strads_err err = sti_labels_read(path, &options, &r->label_names, labels);
    if (err == STRADS_OK)
        *out = labels;
    else
        sti_big_free(labels, rows * sizeof *labels);
    return err;
}

static strads_err add_labels(sti_reading *r, sti_build *b)
{
    double *labels = NULL;
    strads_err err = sti_reading_labels(r, &labels);
    if (err != STRADS_OK || labels == NULL)
        return err;
    sti_build_give_labels(b, (strads_range){0, b->data->rows}, labels);
    sti_big_free(labels, r->counts.rows * sizeof *labels);
    return STRADS_OK;
}

/* Refuses repeated entries, or merges them into one. */
static strads_err merge_repeats(sti_reading *r, sti_build *b,
                                const sti_twice *twice)
{
    if (!twice->found)
        return STRADS_OK;
    if (r->format.repeats == STI_REPEATS_REFUSE)
        return sti_duplicate_fail(&r->pass, twice);
    return sti_repeats_merge(b, &r->pass, r->format.repeats);
}

static strads_err finish_data(sti_reading *r, sti_build *b, strads_data **out)
{
    sti_twice twice;
    strads_data *data = NULL;
    strads_err err = sti_build_order(b, r->format.ordered, &twice);
    if (err == STRADS_OK)
        err = merge_repeats(r, b, &twice);
    b->digest.label_sum += sti_digest_names(r->label_names.names);
    if (err == STRADS_OK)
        err = sti_build_finish(b, &data);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&r->text);
    if (err != STRADS_OK) {
        strads_data_free(data);
        return err;
    }
    data->index_base = r->format.parser->base;
    move_names(r, data);
    *out = data;
    return STRADS_OK;
}

static strads_err read_into(sti_reading *r, sti_build *b, strads_data **out)
{
    strads_err err = sti_reading_count(r);
    if (err == STRADS_OK)
        err = sti_build_begin(b);
    if (err == STRADS_OK)
        err = sti_build_allocate(b);
    if (err == STRADS_OK)
        err = run_placing_pass(r, b);
    if (err == STRADS_OK)
        err = add_labels(r, b);
    return err == STRADS_OK ? finish_data(r, b, out) : err;
}

/* Reads a text. *needs_f64: the options ask for f32, which would round away
 * the differences between ratings. */
static strads_err read_text(const char *path,
                            const strads_data_options *options, bool *needs_f64,
                            strads_data **out)
{
    sti_reading reading;
    strads_err err = sti_reading_open(&reading, path, options);
    if (err != STRADS_OK)
        return err;
    const char *labels = reading.options.labels_path;
    sti_build build = {.name = path,
                       .options = reading.options,
                       .counts = &reading.counts,
                       .has_labels = reading.format.labels || labels != NULL,
                       .shared =
                           !reading.format.by_row && reading.pass.count > 1,
                       .text = true};
    err = read_into(&reading, &build, out);
    *needs_f64 = sti_value_range_needs_f64(&build.range);
    sti_build_free(&build);
    sti_reading_close(&reading);
    return err;
}

static strads_err read_data(const char *path,
                            const strads_data_options *options,
                            strads_data **out)
{
    strads_data_options wide;
    sti_tabular_file file = {0};
    bool needs_f64 = false;
    strads_err err = STRADS_OK;
    if (sti_pack_wanted(path, options))
        return sti_pack_read(path, options, out);
    if (sti_tabular_wanted(path, options))
        err = sti_tabular_read(path, options, &file, out);
    if (err != STRADS_OK || file.is_table)
        return err;
    err = read_text(path, options, &needs_f64, out);
    if (err != STRADS_OK || !needs_f64)
        return err;
    strads_data_free(*out);
    *out = NULL;
    err = sti_data_options(options, &wide);
    wide.values = STRADS_F64;
    return err != STRADS_OK ? err : read_text(path, &wide, &needs_f64, out);
}

/* Names the option of an error that the reader takes for one of ratings. */
static strads_err name_time(const char *column, strads_err err)
{
    char text[800];
    (void)snprintf(text, sizeof text, "%s", strads_error_text());
    return strads_fail(err, "%s; this was read for the times, --time %s", text,
                       column);
}

/* Reads the file a second time, with the times in place of the ratings. */
static strads_err read_times(const char *path,
                             const strads_data_options *wanted,
                             strads_data *data)
{
    strads_data_options options = *wanted;
    strads_data *times = NULL;
    options.rating = wanted->time;
    options.values = STRADS_F64;
    options.row_names = data->row_names;
    options.col_names = data->col_names;
    strads_err err = read_data(path, &options, &times);
    if (err)
        return name_time(wanted->time, err);
    err = strads_data_time(data, times);
    if (err)
        strads_data_free(times);
    return err;
}

strads_err strads_data_read(const char *path,
                            const strads_data_options *options,
                            strads_data **out)
{
    strads_data_options wanted;
    struct stat info;
    if (!options ||
        options->size < offsetof(strads_data_options, time) + sizeof(char *) ||
        !options->time)
        return read_data(path, options, out);
    strads_err err = sti_data_options(options, &wanted);
    if (err)
        return err;
    if (wanted.kind != STRADS_KIND_RATINGS ||
        wanted.layout != STRADS_LAYOUT_ROWS || wanted.scratch)
        return strads_fail(STRADS_EINVAL,
                           "times are for ratings by row, in memory");
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return strads_fail(STRADS_EINVAL,
                           "%s: is no plain file, and --time reads it twice: "
                           "write it into a file first",
                           path);
    if (sti_pack_wanted(path, options))
        return strads_fail(STRADS_EINVAL,
                           "%s: is a pack, which has no times: read the "
                           "ratings that it was made of",
                           path);
    err = read_data(path, &wanted, out);
    if (!err)
        err = read_times(path, &wanted, *out);
    if (err) {
        strads_data_free(*out);
        *out = NULL;
    }
    return err;
}

/* Format detection. The kind limits the choice. MatrixMarket has a banner
 * and a bag of words opens with three numbers. Any other text is parsed as the
 * kind's other format, and that parser reports errors. */

static const char *expected(strads_kind kind)
{
    switch (kind) {
    case STRADS_KIND_CORPUS:
        return "a bag of words, ldac or MatrixMarket text";
    case STRADS_KIND_TEXT:
    case STRADS_KIND_DOCUMENTS:
        return "a document in each line";
    case STRADS_KIND_RATINGS:
        return "ratings";
    case STRADS_KIND_GRAPH:
        return "the links of a network";
    default:
        return "LIBSVM or MatrixMarket text";
    }
}

static strads_err detect_market(const char *path, strads_kind kind,
                                const sti_piece *piece, sti_format *out)
{
    *out = (sti_format){.parser = &sti_market_parser, .header = true};
    if (kind == STRADS_KIND_RATINGS)
        out->repeats = STI_REPEATS_LAST;
    strads_err err =
        sti_market_header(path, piece->begin, piece->end, &out->market);
    out->market.counts = kind == STRADS_KIND_CORPUS;
    if (err != STRADS_OK || kind != STRADS_KIND_GRAPH)
        return err;
    out->one_axis = out->market.counts = out->market.graph = true;
    out->repeats = STI_REPEATS_LAST;
    return out->market.rows == out->market.cols
               ? STRADS_OK
               : strads_fail(STRADS_EFORMAT,
                             "%s: has %llu rows and %llu columns, expected the "
                             "matrix of a network, which has as many",
                             path, (unsigned long long)out->market.rows,
                             (unsigned long long)out->market.cols);
}

static strads_err detect_corpus(const char *path, const sti_piece *piece,
                                sti_format *out)
{
    *out = (sti_format){.parser = &sti_ldac_parser, .by_row = true};
    if (!sti_bag_is(piece->begin, piece->end))
        return STRADS_OK;
    *out = (sti_format){.parser = &sti_bag_parser, .header = true};
    return sti_bag_header(path, piece->begin, piece->end, &out->market);
}

static strads_err detect_graph(const char *path, const sti_piece *piece,
                               sti_format *out)
{
    *out = (sti_format){.parser = &sti_graph_parser,
                        .repeats = STI_REPEATS_LAST,
                        .names_rows = true,
                        .names_cols = true,
                        .one_axis = true};
    return sti_graph_look(path, piece->begin, piece->end, &out->ratings.body);
}

static strads_err detect_ratings(const char *path, const sti_piece *piece,
                                 const strads_data_options *o, sti_format *out)
{
    const char *const given[] = {o->user, o->item, o->rating};
    *out = (sti_format){.parser = &sti_ratings_parser,
                        .repeats = STI_REPEATS_LAST};
    strads_err err =
        sti_ratings_look(path, piece->begin, piece->end, given, &out->ratings);
    /* Known names are looked up even if they are numbers. */
    if (!out->ratings.named && (o->row_names || o->col_names))
        out->ratings.named = out->ratings.numbers = true;
    out->names_rows = out->names_cols = out->ratings.named;
    return err;
}

/* Returns the end of the number at p, or p if there is none. Any signs and
 * points are accepted, so that a malformed number gets an error about numbers.
 */
static const char *skip_number(const char *p, const char *end)
{
    while (p < end &&
           ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == '.'))
        p++;
    return p;
}

/* Counts the words of a line after the first: numbers, pairs
 * `number:number`, others. */
typedef struct line_words {
    bool word, number; /* has a first word; which is a number */
    size_t numbers, pairs, others;
} line_words;

static line_words words_of(const char *p, const char *line_end)
{
    line_words w = {0};
    for (bool first = true;; first = false) {
        while (p < line_end && sti_is_blank(*p))
            p++;
        if (p == line_end)
            return w;
        const char *after = skip_number(p, line_end);
        const bool number = after > p;
        const char *word_end = p;
        while (word_end < line_end && !sti_is_blank(*word_end))
            word_end++;
        const bool whole = number && after == word_end;
        const bool pair = number && *after == ':' &&
                          skip_number(after + 1, word_end) > after + 1;
        if (first) {
            w.word = true;
            w.number = whole;
        } else {
            w.numbers += whole;
            w.pairs += !whole && pair;
            w.others += !whole && !pair;
        }
        p = word_end;
    }
}

/* Returns whether a text holds counts, not words. Lines of one number alone
 * open a bag of words, are empty documents of ldac, or are words of a text: the
 * first line of another form decides. If that line is damaged, at least half of
 * it must be in order: numbers after the three lines that open a bag of words,
 * a number and pairs in ldac. */
static bool opens_with_counts(const char *p, const char *end)
{
    enum { HEADER_LINES = 3 };
    size_t lone = 0;
    while (p < end) {
        const char *line_end = sti_line_end(p, end);
        const line_words w = words_of(p, line_end);
        const size_t all = w.numbers + w.pairs + w.others;
        if (all > 0)
            return w.number && 2 * w.others <= all &&
                   (w.pairs > 0 || w.numbers == all || lone == HEADER_LINES);
        if (w.word && !w.number)
            return false;
        lone += w.number;
        p = line_end < end ? line_end + 1 : end;
    }
    return lone > 0;
}

static strads_kind kind_of(const sti_piece *piece, strads_kind kind)
{
    if (kind != STRADS_KIND_DOCUMENTS)
        return kind;
    return sti_market_is(piece->begin, piece->end) ||
                   opens_with_counts(piece->begin, piece->end)
               ? STRADS_KIND_CORPUS
               : STRADS_KIND_TEXT;
}

/* Requires a text of at least one byte. */
static strads_err detect(const sti_text *text, const sti_piece *piece,
                         const strads_data_options *options, sti_format *out)
{
    const strads_kind kind = kind_of(piece, options->kind);
    if (options->kind != STRADS_KIND_TEXT) {
        strads_err err =
            sti_text_refuse_page(text->path, piece->begin, piece->end);
        if (err != STRADS_OK)
            return err;
    }
    if (kind == STRADS_KIND_TEXT) {
        *out = (sti_format){.parser = &sti_words_parser,
                            .by_row = true,
                            .names_cols = true,
                            .repeats = STI_REPEATS_ADD};
        return STRADS_OK;
    }
    if (sti_market_is(piece->begin, piece->end) && options->time)
        return strads_fail(STRADS_EINVAL,
                           "%s: is MatrixMarket, which has no times: leave "
                           "--time out, or give lines `user item rating time`",
                           text->path);
    if (sti_market_is(piece->begin, piece->end))
        return detect_market(text->path, kind, piece, out);
    if (kind == STRADS_KIND_CORPUS)
        return detect_corpus(text->path, piece, out);
    if (kind == STRADS_KIND_RATINGS)
        return detect_ratings(text->path, piece, options, out);
    if (kind == STRADS_KIND_GRAPH)
        return detect_graph(text->path, piece, out);
    *out = (sti_format){.parser = &sti_libsvm_parser,
                        .by_row = true,
                        .labels = true,
                        .ordered = true};
    out->named_labels =
        sti_label_names_are(piece->begin, piece->end, &out->label_form);
    return sti_tabular_refuse(text->path, piece->begin, piece->end);
}

/* Gets the first piece. If the text is compressed, *stream owns the piece. */
static strads_err begin_text(const sti_text *text, sti_stream **stream,
                             sti_piece *piece)
{
    *stream = NULL;
    *piece = (sti_piece){text->bytes, text->bytes + text->size, 1};
    if (text->codec == STI_CODEC_NONE)
        return STRADS_OK;
    strads_err err = sti_stream_open(text, '\n', stream);
    if (err == STRADS_OK)
        err = sti_stream_next(*stream, piece);
    return err == STRADS_OK
               ? sti_text_refuse(text->path, piece->begin, piece->end)
               : err;
}

strads_err sti_format_find(const sti_text *text,
                           const strads_data_options *options, sti_format *out)
{
    sti_stream *stream;
    sti_piece piece;
    strads_err err = begin_text(text, &stream, &piece);
    if (err == STRADS_OK && piece.begin == piece.end)
        err = strads_fail(STRADS_EFORMAT,
                          "%s: is empty when decompressed, expected %s",
                          text->path, expected(options->kind));
    if (err == STRADS_OK) {
        const size_t mark = sti_text_mark(piece.begin, piece.end);
        piece.begin += mark;
        err = detect(text, &piece, options, out);
        out->skip = mark + out->market.body + out->ratings.body;
    }
    sti_stream_close(stream);
    return err;
}

strads_err strads_data_find_kind(const char *path, strads_kind *found)
{
    sti_text text;
    sti_stream *stream = NULL;
    sti_piece piece;
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no data file was named");
    if (sti_texts_wanted(path, &(strads_data_options){
                                   .kind = STRADS_KIND_DOCUMENTS})) {
        *found = STRADS_KIND_TEXT;
        return STRADS_OK;
    }
    strads_err err = sti_text_open(&text, path, sti_memory_available());
    if (err != STRADS_OK)
        return err;
    if (!text.regular)
        err = strads_fail(STRADS_EINVAL,
                          "%s: is no plain file, and can be read only once: "
                          "give its kind (--kind)",
                          path);
    if (err == STRADS_OK)
        err = begin_text(&text, &stream, &piece);
    if (err == STRADS_OK) {
        piece.begin += sti_text_mark(piece.begin, piece.end);
        *found = kind_of(&piece, STRADS_KIND_DOCUMENTS);
    }
    sti_stream_close(stream);
    sti_text_close(&text);
    return err;
}
