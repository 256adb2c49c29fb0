/* cli_output.h - what a command writes: to standard output or to a file that is
 * whole or not there; tables in four formats; JSON; names and CSV. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "strads/strads.h"

/* Whether cli_output could write to `path`. STRADS_EIO. */
strads_err cli_output_check(const char *path);

/* Has `write` write to `path`, NULL: standard output. A plain file is replaced
 * in one step, a device or a pipe is written to directly. STRADS_EIO. */
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
    const char *path, *format; /* format: the default, until it is given */
    bool json;                 /* --json, the old name of --format json */
} cli_out;

cli_format cli_format_of(const cli_out *out);

/* ---- tables -------------------------------------------------------------- */

/* CLI_BOOL: a count, of which JSON makes true and false. */
typedef enum cli_type { CLI_NUMBER, CLI_COUNT, CLI_STRING, CLI_BOOL } cli_type;

typedef struct cli_column {
    const char *name;
    cli_type type;
    uint32_t width; /* 0: one cell; else so many numbers, in JSON an array */
} cli_column;

/* A table on its way out, cell by cell. text: cells with `gap` between, no
 * header; csv: RFC 4180 with a header; json: an object a line; npy: version
 * 1.0 with f64, of the columns that are numbers: [rows] of a single one, else
 * [rows x cells]. */
typedef struct cli_table {
    FILE *out; /* this and the format: of cli_table_begin */
    cli_format format;
    const cli_column *column; /* [n] */
    uint32_t n;
    uint64_t rows;   /* for npy: so many will come */
    const char *gap; /* NULL: a blank */
    int digits;      /* of numbers; 0: as many as it takes to read it back */
    bool bare;       /* csv without a header */
    uint32_t cell, part; /* the next cell: its column, its part of that */
} cli_table;

/* STRADS_EINVAL: there is nothing but text, and the format is npy. */
strads_err cli_table_begin(cli_table *table, const cli_out *as, FILE *out);
void cli_table_number(cli_table *table, double value);
void cli_table_count(cli_table *table, uint64_t value);
void cli_table_text(cli_table *table, const char *text);

/* A column of things that have names, or else numbers from `base`; one of them.
 */
cli_column cli_id_column(const char *name, const strads_names *names);
void cli_table_id(cli_table *table, const strads_names *names, uint64_t id,
                  uint64_t base);

/* The head of a file of numpy's format, version 1.0: an array [rows x cols] of
 * that type ("<f8"), or [rows] where cols is 0. */
enum { CLI_NPY_HEADER = 128 };
void cli_npy_header(const char *type, uint64_t rows, uint64_t cols,
                    char out[CLI_NPY_HEADER + 1]);

/* Figures about a model: of all, or of a part ("train", a class). As a table:
 * measure, part, value, low, high; in JSON parts are objects of their own, and
 * the interval of NAME is NAME_95. */
typedef struct cli_measure {
    const char *name, *part;
    double value, low, high; /* NaN: not known */
    bool interval;           /* it has one, if only these rows told it */
} cli_measure;

/* One without an interval. */
cli_measure cli_figure(const char *name, const char *part, double value);

strads_err cli_measures_write(FILE *out, const cli_out *as,
                              const cli_measure *measure, uint32_t n);

/* ---- JSON ---------------------------------------------------------------- */

/* JSON in one line, an object. `key` is NULL in arrays. */
typedef struct cli_json {
    FILE *out;
    bool follows; /* something stands before at this level */
} cli_json;

cli_json cli_json_begin(FILE *out);
void cli_json_end(cli_json *j);
void cli_json_open(cli_json *j, const char *key, char bracket);
void cli_json_close(cli_json *j, char bracket);
/* The shortest text that reads back as the number; null where there is none. */
void cli_json_number(cli_json *j, const char *key, double value);
void cli_json_count(cli_json *j, const char *key, uint64_t value);
/* null: no UTF-8, or NULL. */
void cli_json_string(cli_json *j, const char *key, const char *text);
/* `text` is JSON, written without its line ends. */
void cli_json_raw(cli_json *j, const char *key, const char *text);

/* ---- names and CSV ------------------------------------------------------- */

/* Reads `--names`, a name a line, for that many columns; path NULL: *out is
 * NULL, columns go by number. STRADS_EINVAL: fewer names than columns. */
strads_err cli_names_read(const char *path, uint64_t columns,
                          strads_names **out);

/* Name `index` of names; without names the number index + base, written to
 * `buffer`. */
#define CLI_NAME_SIZE 24
const char *cli_name(const strads_names *names, uint64_t index, uint64_t base,
                     char buffer[CLI_NAME_SIZE]);

/* A field of a CSV line, in quotes where it needs them (RFC 4180). */
void cli_csv_text(FILE *out, const char *text);
/* A number, the shortest text that reads back as it. */
void cli_csv_number(FILE *out, double value);
/* Text within HTML and SVG; NULL: none. */
void cli_xml_text(FILE *out, const char *text);

/* Has `take` take each line of a file, with its end, until it fails; numbers are
 * from 1. STRADS_EIO. */
strads_err cli_lines(const char *path,
                     strads_err (*take)(void *arg, size_t number, char *line),
                     void *arg);

#endif
