/* engine/data/text_format.h - which of the two formats a text is in. */
#ifndef STI_DATA_TEXT_FORMAT_H
#define STI_DATA_TEXT_FORMAT_H

#include "engine/data/matrixmarket_parse.h"

typedef struct sti_format {
    const sti_parser *parser;
    bool is_market;
    sti_market market; /* its header; all zeros for LIBSVM */
} sti_format;

/* Looks at the beginning of the text, decompressed if need be. */
strads_err sti_format_find(const sti_text *text, sti_format *out);

#endif
