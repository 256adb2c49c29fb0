/* Tells formats apart: the kind says which may come. MatrixMarket says so in
 * its first bytes and a bag of words opens with three numbers; the rest is
 * taken for the kind's other format, whose parser says what it misses. */
#include "engine/data/text_format.h"

static const char *expected(strads_kind kind)
{
    switch (kind) {
    case STRADS_KIND_CORPUS:
        return "a bag of words, ldac or MatrixMarket text";
    case STRADS_KIND_TEXT:
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
                                  sti_format *out)
{
    *out = (sti_format){.parser = &sti_ratings_parser,
                        .repeats = STI_REPEATS_LAST};
    strads_err err =
        sti_ratings_look(path, piece->begin, piece->end, &out->ratings);
    out->names_rows = out->names_cols = out->ratings.named;
    return err;
}

static strads_err look(const sti_text *text, const sti_piece *piece,
                       strads_kind kind, sti_format *out)
{
    if (piece->begin == piece->end)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is empty when decompressed, expected %s",
                           text->path, expected(kind));
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
        return look_at_ratings(text->path, piece, out);
    *out = (sti_format){.parser = &sti_libsvm_parser,
                        .by_row = true,
                        .labels = true,
                        .ordered = true};
    return STRADS_OK;
}

strads_err sti_format_find(const sti_text *text, strads_kind kind,
                           sti_format *out)
{
    sti_piece piece = {text->bytes, text->bytes + text->size, 1};
    if (text->codec == STI_CODEC_NONE)
        return look(text, &piece, kind, out);
    sti_stream *stream;
    strads_err err = sti_stream_open(text, '\n', &stream);
    if (err != STRADS_OK)
        return err;
    err = sti_stream_next(stream, &piece);
    if (err == STRADS_OK)
        err = look(text, &piece, kind, out);
    sti_stream_close(stream);
    return err;
}
