/* engine/data/ratings_parse.h - how the lines of a ratings file look. The
 * parser itself is sti_ratings_parser in text_feed.h. */
#ifndef STI_DATA_RATINGS_PARSE_H
#define STI_DATA_RATINGS_PARSE_H

#include "engine/data/text_feed.h"

typedef struct sti_ratings {
    char separator;  /* ',' ';' '\t', ':' for "::", ' ' for any blanks */
    uint32_t fields; /* in every line, the first 2 or 3 of which are read */
    bool named;      /* users and items are names; otherwise numbers from 0 */
    size_t body;     /* where the first rating begins */
} sti_ratings;

/* Looks at the first line. STRADS_EFORMAT: fewer than two fields. */
strads_err sti_ratings_look(const char *path, const char *begin,
                            const char *end, sti_ratings *out);

#endif
