/* strads_data_read: which passes run over a text, and in what chunks.
 *
 * LIBSVM rows come in order. A pass that counts, then one that places; chunk t
 * owns the t-th run of places in every column, so columns come out ordered
 * without a lock. Cut by rows, a column is split over partitions: chunks are then
 * the partitions' own rows, and a pass between counts once more. MatrixMarket
 * entries come in any order: chunks place atomically, lines are ordered
 * afterwards. Compressed text is one chunk and is decompressed in each pass, so
 * that the text as a whole is never in memory. */
#include "engine/data/read_data.h"

#include <float.h>
#include <stdlib.h>

#include "engine/data/big_array.h"
#include "engine/data/labels_file.h"
#include "engine/data/libsvm_parse.h"
#include "engine/data/parallel_tasks.h"

enum { CHUNK_AT_LEAST = 64 << 10 };

static strads_err no_memory(const char *path)
{
    return strads_fail(STRADS_ENOMEM, "%s: no memory to begin reading it",
                       path);
}

/* Where the text starts, decompressed if need be. */
static strads_err find_format(sti_reading *r)
{
    const sti_text *text = &r->text;
    sti_piece piece = {text->bytes, text->bytes + text->size, 1};
    sti_stream *stream = NULL;
    strads_err err = STRADS_OK;
    if (text->codec != STI_CODEC_NONE) {
        err = sti_stream_open(text, '\n', &stream);
        if (err == STRADS_OK)
            err = sti_stream_next(stream, &piece);
        if (err == STRADS_OK && piece.begin == piece.end)
            err = strads_fail(STRADS_EFORMAT,
                              "%s: is empty when decompressed, expected LIBSVM "
                              "or MatrixMarket text",
                              text->path);
    }
    if (err == STRADS_OK) {
        r->is_market = sti_market_is(piece.begin, piece.end);
        if (r->is_market)
            err = sti_market_header(text->path, piece.begin, piece.end,
                                    &r->market);
    }
    sti_stream_close(stream);
    return err;
}

/* How many chunks are worth their threads. */
static size_t chunks_for(const sti_reading *r)
{
    if (r->text.codec != STI_CODEC_NONE || (r->is_market && r->market.array))
        return 1;
    size_t most = r->text.size / CHUNK_AT_LEAST + 1;
    return r->options.threads < most ? r->options.threads : most;
}

static strads_err prepare(sti_reading *r)
{
    sti_pass *pass = &r->pass;
    strads_err err = find_format(r);
    if (err != STRADS_OK)
        return err;
    pass->text = &r->text;
    pass->parser = r->is_market ? &sti_market_parser : &sti_libsvm_parser;
    pass->threads = r->options.threads;
    pass->value_limit = r->options.values == STRADS_F32 ? FLT_MAX : DBL_MAX;
    pass->row_limit = STI_MOST_LINES;
    pass->col_limit = STI_MOST_LINES;
    if (r->is_market) {
        pass->market = &r->market;
        pass->skip = r->market.body;
        pass->row_limit = r->market.rows;
        pass->col_limit = r->market.cols;
    }
    pass->count = chunks_for(r);
    pass->chunks = calloc(pass->count, sizeof *pass->chunks);
    if (pass->chunks == NULL)
        return no_memory(r->text.path);
    sti_pass_cut(r->text.bytes + pass->skip, r->text.bytes + r->text.size,
                 pass->chunks, pass->count);
    return STRADS_OK;
}

strads_err sti_reading_open(sti_reading *r, const char *path,
                            const strads_data_options *options)
{
    *r = (sti_reading){0};
    if (path == NULL)
        return strads_fail(STRADS_EINVAL, "no data file was named");
    strads_err err = sti_data_options(options, &r->options);
    if (err == STRADS_OK)
        err = sti_text_open(&r->text, path, r->options.memory_limit);
    if (err == STRADS_OK)
        err = prepare(r);
    if (err == STRADS_OK && !r->is_market && r->options.labels_path != NULL)
        err = strads_fail(STRADS_EINVAL,
                          "%s: is LIBSVM text and has its own labels; labels "
                          "from %s belong to MatrixMarket",
                          path, r->options.labels_path);
    if (err != STRADS_OK)
        sti_reading_close(r);
    return err;
}

void sti_reading_close(sti_reading *r)
{
    sti_survey_free(&r->survey);
    free(r->pass.chunks);
    sti_text_close(&r->text);
    *r = (sti_reading){0};
}

static const sti_sink no_sink = {0};

/* The counting pass looks at little; what is first wrong in the file is found by
 * one that checks everything, in order. */
static strads_err explain(sti_reading *r, strads_err found)
{
    sti_pass pass = r->pass;
    sti_chunk whole = {.begin = r->text.bytes + pass.skip,
                       .end = r->text.bytes + r->text.size};
    if (found != STRADS_EFORMAT && found != STRADS_ELIMIT)
        return found;
    pass.sink = &no_sink;
    pass.values = true;
    pass.chunks = &whole;
    pass.count = 1;
    strads_err err = sti_pass_run(&pass);
    return err != STRADS_OK ? err : found;
}

static strads_err check_entries(sti_reading *r)
{
    uint64_t read = 0;
    for (size_t i = 0; i < r->pass.count; i++)
        read += r->pass.chunks[i].read;
    if (read == r->market.entries)
        return STRADS_OK;
    strads_err err =
        strads_fail(STRADS_EFORMAT,
                    "%s: found %llu entries, expected %llu as line %llu "
                    "says",
                    r->text.path, (unsigned long long)read,
                    (unsigned long long)r->market.entries,
                    (unsigned long long)r->market.body_line - 1);
    /* With too many of them the first one has a line to name. */
    return read > r->market.entries ? explain(r, err) : err;
}

strads_err sti_reading_survey(sti_reading *r)
{
    sti_survey *s = &r->survey;
    s->room = r->options.memory_limit;
    strads_err err = r->is_market
                         ? sti_survey_market(s, &r->pass, r->options.min_cols)
                         : sti_survey_libsvm(s, &r->pass, r->options.min_cols);
    if (err != STRADS_OK)
        return explain(r, err);
    r->pass.col_limit = r->is_market ? r->market.cols : s->cols;
    r->pass.row_limit = s->rows;
    return r->is_market ? check_entries(r) : STRADS_OK;
}

/* Finds where each partition's rows begin; tasks are the survey's chunks. */
typedef struct row_search {
    const sti_chunk *chunks;
    const uint64_t *bounds;
    uint64_t rows;
    size_t count; /* of chunks */
    uint32_t partitions;
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
        p = sti_libsvm_skip_rows(p, chunk->end, bound - row);
        row = bound;
        s->found[k] = (sti_chunk){.begin = p, .first_row = bound};
    }
}

static strads_err chunk_by_partition(sti_reading *r, const sti_build *b)
{
    uint32_t parts = r->options.partitions;
    row_search search = {.chunks = r->pass.chunks,
                         .bounds = b->row_bounds,
                         .rows = r->survey.rows,
                         .count = r->pass.count,
                         .partitions = parts,
                         .found = calloc(parts, sizeof(sti_chunk))};
    if (search.found == NULL)
        return no_memory(r->text.path);
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

/* The chunks in which a plain LIBSVM text is placed. */
static strads_err arrange_chunks(sti_reading *r, const sti_build *b)
{
    sti_pass *pass = &r->pass;
    if (r->is_market || r->text.codec != STI_CODEC_NONE || pass->count == 1)
        return STRADS_OK;
    if (b->data->by_col.cross) {
        sti_survey_free_tallies(&r->survey);
        return chunk_by_partition(r, b);
    }
    if (!sti_build_affords(b, pass->count)) {
        sti_survey_free_tallies(&r->survey);
        pass->chunks[0].end = pass->chunks[pass->count - 1].end;
        pass->count = 1;
    }
    return STRADS_OK;
}

static strads_err run(sti_reading *r, sti_build *b, const sti_sink *sink,
                      bool values)
{
    r->pass.sink = sink;
    r->pass.context = b;
    r->pass.values = values;
    return sti_pass_run(&r->pass);
}

static strads_err place_all(sti_reading *r, sti_build *b)
{
    strads_err err = arrange_chunks(r, b);
    if (err == STRADS_OK && sti_build_must_count(b)) {
        /* Counts are added up where partitions meet only when shared. */
        b->data->by_col.writers = r->is_market && r->pass.count > 1
                                      ? STI_WRITERS_ATOMIC
                                      : STI_WRITERS_ONE;
        b->data->by_row.writers = b->data->by_col.writers;
        err = run(r, b, &sti_build_count_sink, false);
    }
    if (err == STRADS_OK)
        err = sti_build_open(b, r->survey.tallies, r->pass.count,
                             r->is_market && r->pass.count > 1);
    sti_survey_free_tallies(&r->survey);
    if (err == STRADS_OK)
        err = run(r, b, &sti_build_place_sink, true);
    return err;
}

/* Looks for the two lines that hold the entry `twice`, from 0. */
typedef struct twin_search {
    const sti_reading *reading;
    uint64_t row, col;
    uint64_t line[2];
    size_t found;
} twin_search;

static void look_for_twin(sti_feed *f, const sti_batch *b)
{
    twin_search *t = f->context;
    for (size_t i = 0; i < b->n && t->found < 2; i++) {
        if (b->row[i] != t->row || b->col[i] != t->col)
            continue;
        uint64_t first =
            f->piece.line != 0 ? f->piece.line : t->reading->market.body_line;
        t->line[t->found++] =
            first + sti_text_count_lines(f->piece.begin, f->at);
    }
}

static const sti_sink twin_sink = {.entries = look_for_twin};

static strads_err refuse_twice(const sti_reading *r, const sti_twice *twice)
{
    twin_search search = {.reading = r,
                          .row = twice->line,
                          .col = twice->minor};
    sti_chunk whole = {.begin = r->text.bytes + r->pass.skip,
                       .end = r->text.bytes + r->text.size};
    sti_pass pass = r->pass;
    pass.sink = &twin_sink;
    pass.context = &search;
    pass.values = true;
    pass.line_by_line = true;
    pass.chunks = &whole;
    pass.count = 1;
    strads_err err = sti_pass_run(&pass);
    if (err != STRADS_OK)
        return err;
    return strads_fail(
        STRADS_EFORMAT,
        "%s: line %llu: found row %llu, column %llu again, expected it once "
        "(it is in line %llu too)",
        r->text.path, (unsigned long long)search.line[1],
        (unsigned long long)search.row + 1, (unsigned long long)search.col + 1,
        (unsigned long long)search.line[0]);
}

strads_err sti_reading_labels(const sti_reading *r, double **out)
{
    const char *path = r->options.labels_path;
    uint64_t rows = r->survey.rows;
    if (path == NULL) {
        *out = NULL;
        return STRADS_OK;
    }
    double *labels = sti_big_alloc(rows * sizeof *labels);
    if (labels == NULL)
        return no_memory(path);
    strads_err err =
        sti_labels_read(path, rows, r->options.memory_limit, labels);
    if (err == STRADS_OK)
        *out = labels;
    else
        sti_big_free(labels, rows * sizeof *labels);
    return err;
}

static strads_err add_labels(const sti_reading *r, sti_build *b)
{
    double *labels = NULL;
    strads_err err = sti_reading_labels(r, &labels);
    if (err != STRADS_OK || labels == NULL)
        return err;
    sti_build_give_labels(b, labels);
    sti_big_free(labels, r->survey.rows * sizeof *labels);
    return STRADS_OK;
}

static strads_err finish(sti_reading *r, sti_build *b, strads_data **out)
{
    sti_twice twice;
    strads_data *data = NULL;
    strads_err err = sti_build_finish(b, r->is_market, &twice, &data);
    if (err == STRADS_OK && twice.found)
        err = refuse_twice(r, &twice);
    if (err == STRADS_OK)
        err = sti_text_unchanged(&r->text);
    if (err != STRADS_OK) {
        strads_data_free(data);
        return err;
    }
    data->index_base = 1;
    *out = data;
    return STRADS_OK;
}

static strads_err read_into(sti_reading *r, sti_build *b, strads_data **out)
{
    strads_err err = sti_reading_survey(r);
    if (err == STRADS_OK)
        err = sti_build_begin(b);
    if (err == STRADS_OK)
        err = place_all(r, b);
    if (err == STRADS_OK)
        err = add_labels(r, b);
    return err == STRADS_OK ? finish(r, b, out) : err;
}

strads_err strads_data_read(const char *path,
                            const strads_data_options *options,
                            strads_data **out)
{
    sti_reading reading;
    strads_err err = sti_reading_open(&reading, path, options);
    if (err != STRADS_OK)
        return err;
    const char *labels = reading.options.labels_path;
    sti_build build = {.name = path,
                       .options = reading.options,
                       .survey = &reading.survey,
                       .has_labels = !reading.is_market || labels != NULL};
    err = read_into(&reading, &build, out);
    sti_build_free(&build);
    sti_reading_close(&reading);
    return err;
}
