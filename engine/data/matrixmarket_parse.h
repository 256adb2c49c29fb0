/* engine/data/matrixmarket_parse.h - headers of formats that tell their sizes
 * and then list entries in any order: MatrixMarket and UCI bag of words. The
 * parser of what follows is sti_market_parser or sti_bag_parser in
 * text_feed.h. */
#ifndef STI_DATA_MATRIXMARKET_PARSE_H
#define STI_DATA_MATRIXMARKET_PARSE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/data/text_feed.h"

typedef enum sti_symmetry {
    STI_SYMMETRY_NONE,
    STI_SYMMETRY_EVEN, /* a(j, i) = a(i, j), only i >= j is stored */
    STI_SYMMETRY_SKEW  /* a(j, i) = -a(i, j), only i > j is stored */
} sti_symmetry;

typedef struct sti_market {
    bool array;   /* every value, column by column; zeros are left out */
    bool pattern; /* no values: all are 1 */
    bool integer;
    bool counts; /* values are whole numbers from 1 to STI_MOST_COUNT */
    sti_symmetry symmetry;
    uint64_t rows, cols;
    uint64_t entries; /* that the file must hold */
    size_t body;      /* where they begin */
    uint64_t body_line;
} sti_market;

/* Whether the text says that it is MatrixMarket. */
bool sti_market_is(const char *begin, const char *end);

/* Reads the banner, the comments and the line of sizes. */
strads_err sti_market_header(const char *path, const char *begin,
                             const char *end, sti_market *out);

/* Whether the text opens with three lines of one number each, as a bag of
 * words does, and not all of them 0. */
bool sti_bag_is(const char *begin, const char *end);

/* Reads these: documents, words, entries. */
strads_err sti_bag_header(const char *path, const char *begin, const char *end,
                          sti_market *out);

#endif
