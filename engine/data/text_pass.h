/* engine/data/text_pass.h - one pass of a parser over a whole text. */
#ifndef STI_DATA_TEXT_PASS_H
#define STI_DATA_TEXT_PASS_H

#include "engine/data/text_feed.h"

/* A part of a plain text that starts and ends with a line; compressed text is
 * one chunk without begin and end. */
typedef struct sti_chunk {
    const char *begin;
    const char *end;
    uint64_t first_row; /* by row: the one that it starts with */
    /* results of the pass */
    uint64_t rows; /* by row: rows in it */
    uint64_t read; /* with a header: entries read */
    sti_trouble trouble;
} sti_chunk;

typedef struct sti_pass {
    const sti_text *text;
    const sti_parser *parser;
    const struct sti_market *market; /* or NULL, as the next three */
    const struct sti_ratings *ratings;
    struct sti_naming *naming;
    struct sti_label_names *label_names;
    const char *label_form; /* NULL: a number */
    size_t skip;            /* bytes before the first entry */
    uint32_t threads;
    const sti_sink *sink;
    void *context;
    bool values;
    bool line_by_line;
    double value_limit;
    uint64_t row_limit;
    uint64_t col_limit;
    uint64_t keep_cols; /* columns from this one on are passed
                           over; 0: none are */
    sti_chunk *chunks;
    size_t count;        /* of chunks; 1 when the text is compressed */
    uint64_t text_bytes; /* result: bytes of text, decompressed */
} sti_pass;

/* Runs the pass. On a trouble the sentence is that of the first chunk that met
 * one, whichever thread was quicker. */
strads_err sti_pass_run(sti_pass *pass);

/* Cuts [begin, end) into `count` chunks of whole lines; some may be empty. */
void sti_pass_cut(const char *begin, const char *end, sti_chunk *chunks,
                  size_t count);

#endif
