/* Tells formats apart: the kind says which may come. MatrixMarket says so in
 * its first bytes and a bag of words opens with three numbers; the rest is
 * taken for the kind's other format, whose parser says what it misses. */
#include "engine/data/readers.h"

#include "engine/data/labels.h"
#include "engine/data/memory.h"
#include "engine/data/text_pass.h"

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
    default:
        return "LIBSVM or MatrixMarket text";
    }
}

static strads_err look_at_market(const char *path, strads_kind kind,
                                 const sti_piece *piece, sti_format *out)
{
    *out = (sti_format){.parser = &sti_market_parser, .header = true};
    if (kind == STRADS_KIND_RATINGS)
        out->repeats = STI_REPEATS_LAST;
    strads_err err =
        sti_market_header(path, piece->begin, piece->end, &out->market);
    out->market.counts = kind == STRADS_KIND_CORPUS;
    return err;
}

static strads_err look_at_corpus(const char *path, const sti_piece *piece,
                                 sti_format *out)
{
    *out = (sti_format){.parser = &sti_ldac_parser, .by_row = true};
    if (!sti_bag_is(piece->begin, piece->end))
        return STRADS_OK;
    *out = (sti_format){.parser = &sti_bag_parser, .header = true};
    return sti_bag_header(path, piece->begin, piece->end, &out->market);
}

static strads_err look_at_ratings(const char *path, const sti_piece *piece,
                                  const strads_data_options *o, sti_format *out)
{
    const char *const given[] = {o->user, o->item, o->rating};
    *out = (sti_format){.parser = &sti_ratings_parser,
                        .repeats = STI_REPEATS_LAST};
    strads_err err =
        sti_ratings_look(path, piece->begin, piece->end, given, &out->ratings);
    /* Known names are looked up, be they numbers. */
    if (!out->ratings.named && (o->row_names || o->col_names))
        out->ratings.named = out->ratings.numbers = true;
    out->names_rows = out->names_cols = out->ratings.named;
    return err;
}

/* A first line of counts is one number (a bag of words, an empty document of
 * ldac), or a number and then a pair with a colon. Signs and points are let
 * pass: a number that is wrong deserves a sentence about numbers. */
static bool opens_with_counts(const char *p, const char *end)
{
    while (p < end && (sti_is_blank(*p) || *p == '\n'))
        p++;
    const char *number = p;
    while (p < end &&
           ((*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == '.'))
        p++;
    if (p == number || (p < end && !sti_is_blank(*p) && *p != '\n'))
        return false;
    while (p < end && sti_is_blank(*p))
        p++;
    const char *pair = p;
    while (p < end && *p != '\n' && !sti_is_blank(*p) && *p != ':')
        p++;
    return p == pair || (p < end && *p == ':');
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

/* The text has at least a byte. */
static strads_err look(const sti_text *text, const sti_piece *piece,
                       const strads_data_options *options, sti_format *out)
{
    const strads_kind kind = kind_of(piece, options->kind);
    if (kind == STRADS_KIND_TEXT) {
        *out = (sti_format){.parser = &sti_words_parser,
                            .by_row = true,
                            .names_cols = true,
                            .repeats = STI_REPEATS_ADD};
        return STRADS_OK;
    }
    if (sti_market_is(piece->begin, piece->end))
        return look_at_market(text->path, kind, piece, out);
    if (kind == STRADS_KIND_CORPUS)
        return look_at_corpus(text->path, piece, out);
    if (kind == STRADS_KIND_RATINGS)
        return look_at_ratings(text->path, piece, options, out);
    *out = (sti_format){.parser = &sti_libsvm_parser,
                        .by_row = true,
                        .labels = true,
                        .ordered = true};
    out->named_labels =
        sti_label_names_are(piece->begin, piece->end, &out->label_form);
    return STRADS_OK;
}

/* The first piece, kept by *stream where the text is compressed. */
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
        err = look(text, &piece, options, out);
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
    strads_err err = sti_text_open(&text, path, sti_memory_available());
    if (err != STRADS_OK)
        return err;
    if (!text.regular)
        err = strads_fail(STRADS_EINVAL,
                          "%s: is no plain file, and can be read only once: "
                          "say of what kind it is (--kind)",
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
