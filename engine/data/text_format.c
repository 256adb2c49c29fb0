/* Tells formats apart: MatrixMarket says so in its first bytes, the rest is
 * taken for LIBSVM, whose parser says what it misses. */
#include "engine/data/text_format.h"

static strads_err look(const sti_text *text, const sti_piece *piece,
                       sti_format *out)
{
    if (piece->begin == piece->end)
        return strads_fail(STRADS_EFORMAT,
                           "%s: is empty when decompressed, expected LIBSVM or "
                           "MatrixMarket text",
                           text->path);
    sti_format found = {.parser = &sti_libsvm_parser};
    strads_err err = STRADS_OK;
    if (sti_market_is(piece->begin, piece->end)) {
        found.parser = &sti_market_parser;
        found.is_market = true;
        err = sti_market_header(text->path, piece->begin, piece->end,
                                &found.market);
    }
    if (err == STRADS_OK)
        *out = found;
    return err;
}

strads_err sti_format_find(const sti_text *text, sti_format *out)
{
    sti_piece piece = {text->bytes, text->bytes + text->size, 1};
    if (text->codec == STI_CODEC_NONE)
        return look(text, &piece, out);
    sti_stream *stream;
    strads_err err = sti_stream_open(text, '\n', &stream);
    if (err != STRADS_OK)
        return err;
    err = sti_stream_next(stream, &piece);
    if (err == STRADS_OK)
        err = look(text, &piece, out);
    sti_stream_close(stream);
    return err;
}
