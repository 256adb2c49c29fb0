/* engine/data/libsvm_parse.h - finding rows in text that has one a line. The
 * parser itself is sti_libsvm_parser in text_feed.h. */
#ifndef STI_DATA_LIBSVM_PARSE_H
#define STI_DATA_LIBSVM_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* The start of the line after the first `rows` rows; p starts a line. Blank
 * lines and comments are none, unless `every_line` is. */
const char *sti_libsvm_skip_rows(const char *p, const char *end, uint64_t rows,
                                 bool every_line);

#endif
