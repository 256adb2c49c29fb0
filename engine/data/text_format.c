/* Tells formats apart. MatrixMarket says so in its first bytes and a bag of
 * words opens with three numbers; the rest is taken for the kind's other
 * format, whose parser says what it misses. */
#include "engine/data/text_format.h"

static strads_err look(const sti_text *text, const sti_piece *piece,
                       strads_kind kind, sti_format *out)
{
    const char *begin = piece->begin;
    const char *end = piece->end;
    bool corpus = kind == STRADS_KIND_CORPUS;
    sti_format found = {0};
    strads_err err = STRADS_OK;
    if (begin == end)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is empty when decompressed, expected %s "
                           "or MatrixMarket text",
                           text->path,
                           corpus ? "a bag of words, ldac" : "LIBSVM");
    if (sti_market_is(begin, end)) {
        found.parser = &sti_market_parser;
        err = sti_market_header(text->path, begin, end, &found.market);
        found.market.counts = corpus;
    } else if (corpus && sti_bag_is(begin, end)) {
        found.parser = &sti_bag_parser;
        err = sti_bag_header(text->path, begin, end, &found.market);
    } else if (corpus) {
        found = (sti_format){.parser = &sti_ldac_parser, .by_row = true};
    } else {
        found = (sti_format){.parser = &sti_libsvm_parser,
                             .by_row = true,
                             .labels = true,
                             .ordered = true};
    }
    if (err == STRADS_OK)
        *out = found;
    return err;
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
