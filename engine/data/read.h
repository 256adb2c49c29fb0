/* engine/data/read.h - a file that is being read: its format, its passes. */
#ifndef STI_DATA_READ_H
#define STI_DATA_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/build.h"
#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/text.h"
#include "strads/data.h"

/* The start of the line after the first `rows` rows; p starts a line. Blank
 * lines and comments are none, unless `every_line` is. */
const char *sti_libsvm_skip_rows(const char *p, const char *end, uint64_t rows,
                                 bool every_line);

/* Headers of formats that tell their sizes
 * and then list entries in any order: MatrixMarket and UCI bag of words. The
 * parser of what follows is sti_market_parser or sti_bag_parser in
 * text.h. */

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
    bool graph;  /* links without direction: entries and their mirror images,
                    but for those on the diagonal */
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

/* Fields of a line, see fields.c. */

typedef struct sti_field {
    const char *begin, *end; /* without its quotes */
    bool doubled;            /* has a quote in it, written twice */
} sti_field;

/* Splits a line at a separator: ',' ';' '\t', ':' for "::", ' ' for any blanks;
 * *n is how many fields it has, of which up to `capacity` are kept. NULL, or where
 * quotes are not right. */
const char *sti_fields_split(const char *p, const char *line_end,
                             char separator, sti_field *fields,
                             uint32_t capacity, uint32_t *n);

/* The same of a record, whose fields in quotes may go over lines. *after is where
 * it ends, at a newline or `end`; or what follows quotes that should not, NULL
 * where they do not close. */
const char *sti_record_split(const char *p, const char *end, char separator,
                             sti_field *fields, uint32_t capacity, uint32_t *n,
                             const char **after);

/* Of ',' ';' and '\t', that of which a header has most. */
char sti_separator_of(const char *p, const char *line_end);

/* The number that a field is, and nothing else. */
sti_number_status sti_field_number(const sti_field *field, double *out);

/* The field's text, each doubled quote once, in out[end - begin]; its size. */
size_t sti_field_plain(const sti_field *field, char *out);

/* The newline at or after p, or `end`. */
const char *sti_line_end(const char *p, const char *end);

/* How the lines of a ratings file look. The
 * parser itself is sti_ratings_parser in text.h. */

enum { STI_RATINGS_COLUMNS = 64 };

typedef struct sti_ratings {
    char separator;     /* ',' ';' '\t', ':' for "::", ' ' for any blanks */
    uint32_t fields;    /* in every line */
    uint32_t column[3]; /* which of them are user, item, rating */
    bool rated;         /* there is a rating; otherwise all are 1 */
    bool named;         /* users and items are names; else numbers from 0 */
    bool numbers;       /* names that are numbers with gaps */
    bool measured;      /* this pass finds the largest numbers */
    size_t body;        /* where the first rating begins */
} sti_ratings;

/* Looks at the first line; `given` are the names of the columns of user, item
 * and rating, or NULL each. STRADS_EFORMAT: fewer than two fields, or a header
 * that does not tell these apart. STRADS_EINVAL: it has not the given ones. */
strads_err sti_ratings_look(const char *path, const char *begin,
                            const char *end, const char *const *given,
                            sti_ratings *out);

/* Links of a network, sti_graph_parser: where the first one begins.
 * STRADS_EFORMAT: fewer than two fields. */
strads_err sti_graph_look(const char *path, const char *begin, const char *end,
                          size_t *body);

/* Which format a text is in. */

typedef struct sti_format {
    const sti_parser *parser;
    bool by_row;  /* row after row, otherwise entries in any order */
    bool header;  /* tells sizes and entries */
    bool labels;  /* each row has one */
    bool ordered; /* columns ascend in a row, which the parser checks */
    bool names_rows, names_cols; /* the text has names and no numbers */
    bool one_axis;               /* rows and columns are the same, nodes */
    bool named_labels;           /* as sti_label_names_are has it */
    const char *label_form;
    sti_repeats repeats;
    size_t skip;         /* bytes before the first row or entry */
    sti_market market;   /* the header; all zeros where there is none */
    sti_ratings ratings; /* of ratings */
} sti_format;

/* Texts that are not a document a line yet, see texts.c: whether the path is
 * such a one, and all of them as one text in memory that is. Errors as
 * sti_text_open; STRADS_EFORMAT: a table that has not the column, a record that
 * is not right, nothing there. */
bool sti_texts_wanted(const char *path, const strads_data_options *options);
strads_err sti_texts_open(sti_text *text, const char *path,
                          const strads_data_options *options);

/* Looks at the beginning of the text, decompressed if need be. */
strads_err sti_format_find(const sti_text *text,
                           const strads_data_options *options, sti_format *out);

typedef struct sti_reading {
    strads_data_options options;
    sti_text text;
    sti_format format;
    sti_pass pass;
    sti_totals counts;
    sti_naming naming;
    sti_label_names label_names;
} sti_reading;

/* Opens, finds the format, reads a header, cuts chunks. */
strads_err sti_reading_open(sti_reading *reading, const char *path,
                            const strads_data_options *options);

/* Labels from options.labels_path, all rows of them; NULL there: NULL. */
strads_err sti_reading_labels(sti_reading *reading, double **out);

/* Before the first pass: the sizes, and the names, of a text that does not tell
 * its sizes and does not go row by row, or that has names; a pass of its own.
 * Nothing for others. */
strads_err sti_reading_measure(sti_reading *reading);

/* The first pass: fills `counts`. */
strads_err sti_reading_count(sti_reading *reading);
void sti_reading_close(sti_reading *reading);

#endif
