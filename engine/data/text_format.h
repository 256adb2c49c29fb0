/* engine/data/text_format.h - which format a text is in. */
#ifndef STI_DATA_TEXT_FORMAT_H
#define STI_DATA_TEXT_FORMAT_H

#include "engine/data/matrixmarket_parse.h"
#include "strads/data.h"

typedef struct sti_format {
    const sti_parser *parser;
    bool by_row;       /* row after row, sizes unknown before the end; otherwise
                     entries in any order behind a header with the sizes */
    bool labels;       /* each row has one */
    bool ordered;      /* columns ascend in a row, which the parser checks */
    sti_market market; /* the header; all zeros where there is none */
} sti_format;

/* Looks at the beginning of the text, decompressed if need be. */
strads_err sti_format_find(const sti_text *text, strads_kind kind,
                           sti_format *out);

#endif
