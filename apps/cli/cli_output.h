/* cli_output.h - output to standard output or to a file, which is complete or
 * absent; tables in four formats; JSON; names and CSV. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "strads/strads.h"

/* Checks that cli_output could write to `path`. STRADS_EIO. */
strads_err cli_output_check(const char *path);

/* Calls `write` with an open `path` (NULL: standard output). A plain file is
 * replaced in one step; a device or a pipe is written to directly.
 * STRADS_EIO. */
strads_err cli_output(const char *path,
                      strads_err (*write)(void *arg, FILE *out), void *arg);

/* ---- --output and --format ---------------------------------------------- */

typedef enum cli_format {
    CLI_FORMAT_TEXT,
    CLI_FORMAT_CSV,
    CLI_FORMAT_JSON,
    CLI_FORMAT_NPY
} cli_format;

typedef struct cli_out {
    const char *path, *format; /* format: initially the default */
    bool json;                 /* --json, the old name of --format json */
} cli_out;

cli_format cli_format_of(const cli_out *out);

/* ---- tables -------------------------------------------------------------- */

/* CLI_BOOL: a count that JSON prints as true or false. */
typedef enum cli_type { CLI_NUMBER, CLI_COUNT, CLI_STRING, CLI_BOOL } cli_type;

typedef struct cli_column {
    const char *name;
    cli_type type;
    uint32_t width; /* 0: one cell; otherwise this many numbers, an array in
                     * JSON */
} cli_column;

/* Writes a table cell by cell. text: cells separated by `gap`, no header. csv:
 * RFC 4180 with a header. json: one object on each line. npy: version 1.0, f64,
 * only the numeric columns: [rows] if there is one, otherwise [rows x
 * cells]. */
typedef struct cli_table {
    FILE *out; /* out and format are set by cli_table_begin */
    cli_format format;
    const cli_column *column; /* [n] */
    uint32_t n;
    uint64_t rows;   /* number of rows, needed for npy */
    const char *gap; /* NULL: a blank */
    int digits;      /* digits of numbers; 0: as many as are needed to read the
                      * same number back */
    bool bare;       /* csv without a header */
    uint32_t cell, part; /* position of the next cell: column, and index within
                          * it */
} cli_table;

/* STRADS_EINVAL: npy was asked for, but all columns are text. */
strads_err cli_table_begin(cli_table *table, const cli_out *as, FILE *out);
void cli_table_number(cli_table *table, double value);
void cli_table_count(cli_table *table, uint64_t value);
void cli_table_text(cli_table *table, const char *text);

/* A column of names or, without names, of numbers from `base`; and one cell. */
cli_column cli_id_column(const char *name, const strads_names *names);
void cli_table_id(cli_table *table, const strads_names *names, uint64_t id,
                  uint64_t base);

/* Makes the header of an npy file, version 1.0: an array [rows x cols] of the
 * type ("<f8"), or [rows] if cols is 0. */
enum { CLI_NPY_HEADER = 128 };
void cli_npy_header(const char *type, uint64_t rows, uint64_t cols,
                    char out[CLI_NPY_HEADER + 1]);

/* A figure about a model, for all data or for a part ("train", a class). In
 * tables: measure, part, value, low, high. In JSON, a part is an object, and
 * the interval of NAME is NAME_95. */
typedef struct cli_measure {
    const char *name, *part;
    double value, low, high; /* NaN: unknown */
    bool interval;           /* has an interval, even if these rows do not
                              * determine it */
} cli_measure;

/* A figure without an interval. */
cli_measure cli_figure(const char *name, const char *part, double value);

strads_err cli_measures_write(FILE *out, const cli_out *as,
                              const cli_measure *measure, uint32_t n);

/* ---- JSON ---------------------------------------------------------------- */

/* JSON objects on one line. In arrays, `key` is NULL. */
typedef struct cli_json {
    FILE *out;
    bool follows; /* not the first element at this level */
} cli_json;

cli_json cli_json_begin(FILE *out);
void cli_json_end(cli_json *j);
void cli_json_open(cli_json *j, const char *key, char bracket);
void cli_json_close(cli_json *j, char bracket);
/* The shortest text that reads back as the same number; null if it is not
 * finite. */
void cli_json_number(cli_json *j, const char *key, double value);
void cli_json_count(cli_json *j, const char *key, uint64_t value);
/* NULL and text that is not UTF-8 become null. */
void cli_json_string(cli_json *j, const char *key, const char *text);
/* `text` is JSON; it is written without line ends. */
void cli_json_raw(cli_json *j, const char *key, const char *text);

/* ---- names and CSV ------------------------------------------------------- */

/* Reads a file of names, one on each line, for this many columns. If path is
 * NULL, *out is NULL and columns have numbers. STRADS_EINVAL: fewer names than
 * columns. */
strads_err cli_names_read(const char *path, uint64_t columns,
                          strads_names **out);

/* Name `index` or, without names, the number index + base formatted into
 * `buffer`. */
#define CLI_NAME_SIZE 24
const char *cli_name(const strads_names *names, uint64_t index, uint64_t base,
                     char buffer[CLI_NAME_SIZE]);

/* Writes a CSV field, quoted if necessary (RFC 4180). */
void cli_csv_text(FILE *out, const char *text);
/* Writes the shortest text that reads back as the same number. */
void cli_csv_number(FILE *out, double value);
/* Writes text within HTML or SVG; NULL: nothing. */
void cli_xml_text(FILE *out, const char *text);

/* Passes each line of a file, with its end and its number from 1, to `take`,
 * until `take` fails. STRADS_EIO. */
strads_err cli_lines(const char *path,
                     strads_err (*take)(void *arg, size_t number, char *line),
                     void *arg);

#endif
