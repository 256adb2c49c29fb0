/* engine/data/text_format.h - which format a text is in. */
#ifndef STI_DATA_TEXT_FORMAT_H
#define STI_DATA_TEXT_FORMAT_H

#include "engine/data/matrixmarket_parse.h"
#include "engine/data/ratings_parse.h"
#include "strads/data.h"

/* What becomes of an entry that is there more than once. */
typedef enum sti_repeats {
    STI_REPEATS_REFUSE,
    STI_REPEATS_ADD, /* they are added up */
    STI_REPEATS_LAST /* the last one in the file counts */
} sti_repeats;

typedef struct sti_format {
    const sti_parser *parser;
    bool by_row;  /* row after row, otherwise entries in any order */
    bool header;  /* tells sizes and entries */
    bool labels;  /* each row has one */
    bool ordered; /* columns ascend in a row, which the parser checks */
    bool names_rows, names_cols; /* the text has names and no numbers */
    bool named_labels;           /* as sti_label_names_are has it */
    const char *label_form;
    sti_repeats repeats;
    size_t skip;         /* bytes before the first row or entry */
    sti_market market;   /* the header; all zeros where there is none */
    sti_ratings ratings; /* of ratings */
} sti_format;

/* Looks at the beginning of the text, decompressed if need be. */
strads_err sti_format_find(const sti_text *text, strads_kind kind,
                           sti_format *out);

#endif
