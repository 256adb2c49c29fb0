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
 * lines and comments are not rows, unless `every_line` is set. */
const char *sti_libsvm_skip_rows(const char *p, const char *end, uint64_t rows,
                                 bool every_line);

/* Headers of formats that give their sizes and then list entries in any
 * order: MatrixMarket and UCI bag of words. The parsers of the entries are
 * sti_market_parser and sti_bag_parser in text.h. */

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
    bool graph;  /* undirected links: entries and their mirror images,
                  * without the diagonal */
    sti_symmetry symmetry;
    uint64_t rows, cols;
    uint64_t entries; /* expected number of entries */
    size_t body;      /* offset of the first entry */
    uint64_t body_line;
} sti_market;

/* True if the text has the banner of MatrixMarket. */
bool sti_market_is(const char *begin, const char *end);

/* Reads the banner, the comments and the line of sizes. */
strads_err sti_market_header(const char *path, const char *begin,
                             const char *end, sti_market *out);

/* True if the text opens with three lines of one number each, as a bag of
 * words does, and not all of them are 0. */
bool sti_bag_is(const char *begin, const char *end);

/* Reads these three numbers: documents, words, entries. */
strads_err sti_bag_header(const char *path, const char *begin, const char *end,
                          sti_market *out);

/* Fields of a line, see fields.c. */

typedef struct sti_field {
    const char *begin, *end; /* without its quotes */
    bool doubled;            /* contains a doubled quote */
} sti_field;

/* Splits a line at a separator: ',' ';' '\t', ':' for "::", ' ' for any
 * blanks. *n is the number of fields; the first `capacity` are stored. Returns
 * NULL, or the place of malformed quotes. */
const char *sti_fields_split(const char *p, const char *line_end,
                             char separator, sti_field *fields,
                             uint32_t capacity, uint32_t *n);

/* Splits a record; its quoted fields may contain line ends. *after is the
 * end of the record, at a newline or `end`. On malformed quotes it is the text
 * that follows them, or NULL if they do not close. */
const char *sti_record_split(const char *p, const char *end, char separator,
                             sti_field *fields, uint32_t capacity, uint32_t *n,
                             const char **after);

/* The most frequent of ',' ';' and '\t' in a header. */
char sti_separator_of(const char *p, const char *line_end);

/* Reads a field that holds a number and no other text. */
sti_number_status sti_field_number(const sti_field *field, double *out);

/* Copies the field's text to out[end - begin], without the doubling of
 * quotes; returns its size. */
size_t sti_field_plain(const sti_field *field, char *out);

/* The newline at or after p, or `end`. */
const char *sti_line_end(const char *p, const char *end);

/* The layout of the lines of a ratings file. The parser is
 * sti_ratings_parser in text.h. */

enum { STI_RATINGS_COLUMNS = 64 };

typedef struct sti_ratings {
    char separator;     /* ',' ';' '\t', ':' for "::", ' ' for any blanks */
    uint32_t fields;    /* in every line */
    uint32_t column[3]; /* columns of user, item, rating */
    bool rated;         /* there is a rating; otherwise all ratings are 1 */
    bool named;         /* users and items are names; otherwise numbers from
                         * 0 */
    bool numbers;       /* names that are numbers with gaps */
    bool measured;      /* this pass finds the largest numbers */
    size_t body;        /* offset of the first rating */
} sti_ratings;

/* Reads the first line. `given` are the names of the columns of user, item
 * and rating, or NULL each. STRADS_EFORMAT: fewer than two fields, or an
 * ambiguous header. STRADS_EINVAL: a given name is not in the header. */
strads_err sti_ratings_look(const char *path, const char *begin,
                            const char *end, const char *const *given,
                            sti_ratings *out);

/* Finds the first link of a network (sti_graph_parser). STRADS_EFORMAT:
 * fewer than two fields. */
strads_err sti_graph_look(const char *path, const char *begin, const char *end,
                          size_t *body);

/* The format of a text. */

typedef struct sti_format {
    const sti_parser *parser;
    bool by_row;  /* row by row; otherwise entries in any order */
    bool header;  /* the header has sizes and number of entries */
    bool labels;  /* each row has a label */
    bool ordered; /* columns ascend within a row; the parser checks it */
    bool names_rows, names_cols; /* the text has names instead of numbers, or
                                  * numbers with gaps, which become names */
    bool one_axis;               /* rows and columns are the same nodes */
    bool named_labels;           /* result of sti_label_names_are */
    const char *label_form;
    sti_repeats repeats;
    size_t skip;         /* bytes before the first row or entry */
    sti_market market;   /* the header; all zeros without one */
    sti_ratings ratings; /* of ratings */
} sti_format;

/* Texts that do not have one document per line, see texts.c. The first
 * function detects them, the second one reads all of them as one text in
 * memory. Errors as sti_text_open; STRADS_EFORMAT: the table does not have the
 * column, a record is malformed, or there are no documents. */
bool sti_texts_wanted(const char *path, const strads_data_options *options);
strads_err sti_texts_open(sti_text *text, const char *path,
                          const strads_data_options *options);

/* Detects the format from the beginning of the text, which is decompressed
 * if necessary. */
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

/* Labels from options.labels_path, for all rows; NULL if the path is NULL. */
strads_err sti_reading_labels(sti_reading *reading, double **out);

/* Runs before the counting pass. It finds the sizes of a text that is
 * neither by row nor has a header, and the names of a text with names, in an
 * additional pass. Does nothing for other texts. */
strads_err sti_reading_measure(sti_reading *reading);

/* The counting pass: fills `counts`. */
strads_err sti_reading_count(sti_reading *reading);
void sti_reading_close(sti_reading *reading);

#endif
