/* cli_fm_rows.h - ratings, with tables of attributes of users and items, as
 * rows of a factorisation machine. */
#ifndef CLI_FM_ROWS_H
#define CLI_FM_ROWS_H

#include "strads/data.h"

/* Options with these names; NULL: not given. */
typedef struct cli_fm_tables {
    const char *users, *items;        /* tables of attributes */
    const char *user, *item, *rating; /* names of columns */
} cli_fm_tables;

/* The rows of these options' table, for a struct `type` with a `member`. */
#define CLI_FM_TABLES_OPTIONS(type, member)                                  \
    CLI_TEXT(type, member.users, "users", "FILE",                            \
             "DATA is ratings; attributes of users are in this table"),      \
        CLI_TEXT(type, member.items, "items", "FILE", "the same for items"), \
        CLI_TEXT(type, member.user, "user", "NAME",                          \
                 "column of users, in ratings and table (default: user)"),   \
        CLI_TEXT(type, member.item, "item", "NAME",                          \
                 "column of items, in ratings and table (default: item)"),   \
        CLI_TEXT(type, member.rating, "rating", "NAME",                      \
                 "column of ratings (default: rating)")

/* Whether the data is ratings with tables. STRADS_EINVAL: a name of a column is
 * given without them. */
strads_err cli_fm_tables_check(const cli_fm_tables *tables, bool *used);

/* Reads ratings: a row for each, users in order, with the columns `user=NAME`,
 * `user.ATTRIBUTE`, `item=NAME` and `item.ATTRIBUTE`, and the rating as its
 * label. *context is the number of columns of users, if no names are known.
 * Text attributes are one-hot; missing numbers are the mean of the table. With
 * `known` names these are the columns, and entries of others are dropped.
 * `how`: threads, memory_limit, and the cut and layout of *out; NULL members:
 * defaults. Errors of strads_data_read. STRADS_EFORMAT: a user or an item has
 * two lines in its table. */
strads_err cli_fm_rows_read(const cli_fm_tables *tables, const char *path,
                            const strads_names *known,
                            const strads_data_options *how, uint32_t *context,
                            strads_data **out);

#endif
