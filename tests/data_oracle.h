/* tests/data_oracle.h - an independent, slow reader of data files, random
 * files, and comparisons of the library's data sets with the files. */
#ifndef STRADS_TEST_DATA_ORACLE_H
#define STRADS_TEST_DATA_ORACLE_H

#include <stdbool.h>
#include <stdio.h>

#include "strads/data.h"

typedef struct oracle_entry {
    uint32_t row, col;
    double value;
} oracle_entry;

/* A matrix as a list of entries, sorted by row and then column. */
typedef struct oracle {
    uint64_t rows, cols, nnz, capacity;
    oracle_entry *entry;
    double *label; /* [rows] or NULL */
} oracle;

/* A temporary directory. oracle_path returns a path in it (static, valid for
 * eight calls); oracle_leave removes it. */
void oracle_enter(void);
void oracle_leave(void);
const char *oracle_path(const char *name);

/* Writes `size` bytes or a whole string to a file in the directory. */
const char *oracle_write(const char *name, const void *bytes, size_t size);
const char *oracle_text(const char *name, const char *text);

/* The same file, compressed in `members` gzip members or zstd frames. */
const char *oracle_gzip(const char *path, int members);
const char *oracle_zstd(const char *path, int frames);

/* A random data set; `spread` >= 1: how unevenly columns are drawn. */
typedef struct oracle_shape {
    uint64_t rows, cols;
    double density;
    double spread;
    unsigned seed;
} oracle_shape;
oracle oracle_random(oracle_shape shape);

/* Writes it in many notations: signs, exponents, comments, blank lines,
 * CRLF. */
const char *oracle_write_libsvm(const oracle *matrix, const char *name);
/* As coordinates in random order. */
const char *oracle_write_market(const oracle *matrix, const char *name);

/* Reads a file with fgets and strtod. */
oracle oracle_read_libsvm(const char *path);
void oracle_free(oracle *matrix);

/* Reads `path` with these options and compares everything; ends the test at
 * a difference. `labels`: compare labels too. */
void oracle_expect(const oracle *matrix, const char *path,
                   strads_data_options options, bool labels);

/* Compares an existing data set. */
void oracle_expect_data(const oracle *matrix, const strads_data *data,
                        strads_data_options options, bool labels);

/* ---- refused files ------------------------------------------------------- */

/* A file, the expected error (0: STRADS_EFORMAT), and a part of its message. */
typedef struct oracle_wrong {
    const char *text;
    strads_err err;
    const char *part[4];
} oracle_wrong;

/* A table row, for STRADS_EFORMAT and for other errors. */
#define WRONG(text_, ...)                        \
    {                                            \
        .text = (text_), .part = { __VA_ARGS__ } \
    }
#define WRONG_BY(err_, text_, ...)                              \
    {                                                           \
        .text = (text_), .err = (err_), .part = { __VA_ARGS__ } \
    }

/* Reads `path` on 1 and on 4 threads. Both fail with the same message, which
 * names the file (the labels file, if there is one). `too`: a summary fails as
 * well. */
void oracle_refuse(const char *path, strads_data_options options,
                   const oracle_wrong *wrong, bool too);

/* The same for each text, plain and compressed. */
void oracle_refuse_all(const char *name, strads_data_options options,
                       const oracle_wrong *wrong, size_t n, bool too);

#endif
