/* What parsers share: comments, and the way from a trouble to one sentence.
 * What a file holds is never repeated raw: unprintable bytes are escaped and
 * long tokens cut. */
#include "engine/data/text_pass.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/data/parallel_tasks.h"
#include "engine/data/parse_number.h"

enum { QUOTED = 40 };

const char *sti_feed_skip_comment(sti_feed *feed, const char *p,
                                  const char *end)
{
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    feed->in_comment = line_end == NULL;
    return line_end != NULL ? line_end : end;
}

void sti_feed_trouble(sti_feed *feed, strads_err err, const char *at,
                      const char *end, const char *expected, ...)
{
    sti_trouble *t = &feed->trouble;
    if (t->err != STRADS_OK)
        return;
    t->err = err;
    t->at = at;
    t->end = end;
    va_list args;
    va_start(args, expected);
    (void)vsnprintf(t->expected, sizeof t->expected, expected, args);
    va_end(args);
}

void sti_feed_not_a_number(sti_feed *feed, int status, const char *at,
                           const char *end, const char *what)
{
    if (status == STI_NUMBER_HUGE)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s below 1.8e308 in magnitude", what);
    else if (status == STI_NUMBER_SPELLED)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s that is finite",
                         what);
    else if (status == STI_NUMBER_LONG)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s of at most %d characters", what,
                         (int)STI_NUMBER_LONGEST);
    else
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s", what);
}

const char *sti_feed_value(sti_feed *feed, const char *p, const char *end,
                           const char *what, double *value)
{
    const char *after = p;
    sti_number_status status = sti_number_read(p, &after, value);
    if (status == STI_NUMBER_OK && (unsigned char)*after > ' ')
        status = STI_NUMBER_NONE;
    if (status != STI_NUMBER_OK)
        sti_feed_not_a_number(feed, (int)status, p, end, what);
    else if (!(fabs(*value) <= feed->value_limit))
        sti_feed_trouble(feed, STRADS_ELIMIT, p, end,
                         "%s that fits in 32 bits (or read it as f64)", what);
    return feed->trouble.err == STRADS_OK ? after : NULL;
}

size_t sti_text_mark(const char *begin, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t size = sizeof mark - 1;
    return (size_t)(end - begin) >= size && memcmp(begin, mark, size) == 0
               ? size
               : 0;
}

void sti_text_quote(const char *at, const char *end, char *out, size_t room)
{
    size_t used = 0;
    const char *p = at;
    out[0] = '\0';
    /* The first byte is quoted whatever it is: it is what was found. */
    while (p < end && p - at < QUOTED && used + 6 < room &&
           (p == at || (unsigned char)*p > ' ')) {
        unsigned char c = (unsigned char)*p++;
        const char *form = c >= ' ' && c < 127 ? "%c" : "\\x%02x";
        used += (size_t)snprintf(out + used, room - used, form, c);
    }
    if (p < end && p - at == QUOTED && (unsigned char)*p > ' ')
        (void)snprintf(out + used, room - used, "...");
}

/* What stands at the place of a trouble, in words. */
static void describe(const sti_trouble *t, char *out, size_t room)
{
    char quoted[4 * QUOTED + 8];
    if (t->at >= t->end) {
        (void)snprintf(out, room, "the end of the file");
    } else if (*t->at == '\n' || *t->at == '\r') {
        (void)snprintf(out, room, "the end of the line");
    } else if (*t->at == ' ' || *t->at == '\t') {
        (void)snprintf(out, room, "a blank");
    } else {
        sti_text_quote(t->at, t->end, quoted, sizeof quoted);
        (void)snprintf(out, room, "'%s'", quoted);
    }
}

strads_err sti_trouble_fail(const char *path, const sti_trouble *t)
{
    char found[4 * QUOTED + 16];
    if (t->at == NULL)
        return strads_fail(t->err, "%s: %s", path, t->expected);
    describe(t, found, sizeof found);
    return strads_fail(t->err, "%s: line %llu: found %s, expected %s", path,
                       (unsigned long long)t->line, found, t->expected);
}

/* Drives a parser over the chunks of a plain text in parallel, or over the
 * pieces of a compressed one in order. A feed lives on the stack of the thread
 * that works on its chunk; what it found is copied to the chunk. */

enum {
    PIECE = 4 << 20,
    SMALL = 8 << 20, /* a text of so many bytes keeps its pages */
};

static void feed_start(sti_feed *f, const sti_pass *pass, size_t chunk)
{
    memset(f, 0, offsetof(sti_feed, batch));
    f->batch.n = 0;
    f->parser = pass->parser;
    f->sink = pass->sink;
    f->context = pass->context;
    f->chunk = chunk;
    f->values = pass->values;
    f->line_by_line = pass->line_by_line;
    f->value_limit = pass->value_limit;
    f->row = pass->chunks[chunk].first_row;
    f->row_limit = pass->row_limit;
    f->col_limit = pass->col_limit;
    f->keep_cols = pass->col_limit;
    if (pass->keep_cols > 0 && pass->keep_cols < pass->col_limit)
        f->keep_cols = pass->keep_cols;
    f->market = pass->market;
    f->ratings = pass->ratings;
    f->naming = pass->naming;
    f->label_names = pass->label_names;
    f->label_form =
        pass->label_form != NULL ? pass->label_form : "a label (a number)";
}

static void feed_take(sti_feed *f, const sti_pass *pass, sti_piece piece)
{
    f->piece = piece;
    pass->parser->take(f, piece.begin, piece.end);
}

static void feed_end(sti_feed *f, const sti_pass *pass)
{
    sti_chunk *chunk = &pass->chunks[f->chunk];
    if (f->trouble.err == STRADS_OK && pass->parser->finish != NULL)
        pass->parser->finish(f);
    if (f->trouble.err == STRADS_OK)
        sti_feed_flush(f);
    if (f->trouble.err == STRADS_OK && f->sink->end != NULL)
        f->sink->end(f);
    chunk->rows = f->row - chunk->first_row;
    chunk->read = f->read;
    chunk->trouble = f->trouble;
}

/* Some megabytes further, behind a cut. */
static const char *piece_end(const sti_pass *pass, const char *at,
                             const char *end)
{
    const size_t left = (size_t)(end - at);
    const char *cut = left > PIECE
                          ? memchr(at + PIECE, pass->parser->cut, left - PIECE)
                          : NULL;
    return cut != NULL ? cut + 1 : end;
}

/* Pages of a mapped file that have been read: the file itself has them. A small
 * one keeps them, for the next pass would have to fetch them again. */
static void let_go(const sti_text *text, const char *from, const char *to)
{
    const uintptr_t page = 4096;
    const uintptr_t first = ((uintptr_t)from + page - 1) / page * page;
    const uintptr_t end = (uintptr_t)to / page * page;
    if (text->regular && text->size > SMALL && first < end)
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
}

static void one_chunk(void *context, size_t task)
{
    const sti_pass *pass = context;
    const sti_chunk *chunk = &pass->chunks[task];
    sti_feed feed;
    feed_start(&feed, pass, task);
    for (const char *at = chunk->begin; feed.trouble.err == STRADS_OK;) {
        const char *end = piece_end(pass, at, chunk->end);
        /* The line is counted only if it is needed. */
        feed_take(&feed, pass, (sti_piece){at, end, 0});
        let_go(pass->text, at, end);
        at = end;
        if (at == chunk->end)
            break;
    }
    feed_end(&feed, pass);
}

static strads_err run_plain(sti_pass *pass)
{
    const sti_text *text = pass->text;
    pass->text_bytes = text->size;
    sti_parallel(pass->threads, pass->count, one_chunk, pass);
    for (size_t i = 0; i < pass->count; i++) {
        sti_trouble *t = &pass->chunks[i].trouble;
        if (t->err == STRADS_OK)
            continue;
        if (t->at != NULL)
            t->line = 1 + sti_text_count_lines(text->bytes, t->at);
        return sti_trouble_fail(text->path, t);
    }
    return STRADS_OK;
}

/* Leaves out what the header took of the first piece. */
static void skip_header(sti_piece *piece, size_t skip)
{
    size_t size = (size_t)(piece->end - piece->begin);
    size_t left_out = skip < size ? skip : size;
    piece->line += sti_text_count_lines(piece->begin, piece->begin + left_out);
    piece->begin += left_out;
}

static strads_err run_pieces(sti_pass *pass, sti_stream *stream, sti_feed *f)
{
    bool first = true;
    sti_piece piece;
    while (f->trouble.err == STRADS_OK) {
        strads_err err = sti_stream_next(stream, &piece);
        if (err != STRADS_OK)
            return err;
        if (piece.begin == NULL)
            break;
        if (first)
            skip_header(&piece, pass->skip);
        first = false;
        feed_take(f, pass, piece);
    }
    feed_end(f, pass);
    pass->text_bytes = sti_stream_bytes(stream);
    sti_trouble *t = &f->trouble;
    if (t->err == STRADS_OK)
        return STRADS_OK;
    if (t->at != NULL)
        t->line = piece.line + sti_text_count_lines(piece.begin, t->at);
    return sti_trouble_fail(pass->text->path, t);
}

strads_err sti_pass_run(sti_pass *pass)
{
    if (pass->text->codec == STI_CODEC_NONE)
        return run_plain(pass);
    sti_stream *stream;
    strads_err err = sti_stream_open(pass->text, pass->parser->cut, &stream);
    if (err != STRADS_OK)
        return err;
    sti_feed feed;
    feed_start(&feed, pass, 0);
    err = run_pieces(pass, stream, &feed);
    sti_stream_close(stream);
    return err;
}

strads_err sti_pass_whole(const sti_pass *like, const sti_sink *sink,
                          void *context, bool values, bool line_by_line)
{
    sti_chunk whole = {.begin = like->text->bytes + like->skip,
                       .end = like->text->bytes + like->text->size};
    sti_pass pass = *like;
    pass.sink = sink;
    pass.context = context;
    pass.values = values;
    pass.line_by_line = line_by_line;
    pass.chunks = &whole;
    pass.count = 1;
    return sti_pass_run(&pass);
}

void sti_pass_cut(const char *begin, const char *end, sti_chunk *chunks,
                  size_t count)
{
    const char *from = begin;
    size_t size = (size_t)(end - begin);
    for (size_t i = 0; i < count; i++) {
        const char *to = begin + size / count * (i + 1);
        if (i + 1 == count)
            to = end;
        else if (to < from)
            to = from;
        const char *line_end =
            to > begin && to < end
                ? memchr(to - 1, '\n', (size_t)(end - to + 1))
                : NULL;
        if (to < end)
            to = line_end != NULL ? line_end + 1 : (to > begin ? end : begin);
        chunks[i] = (sti_chunk){.begin = from, .end = to};
        from = to;
    }
}
