/* strads/pack.h - packed files: a sparse matrix by columns in 2 to 10 bytes
 * an entry, with its labels and names.
 *
 * strads_data_read and all that is built on it read a pack wherever they read a
 * file of samples. docs/pack-format.md describes the format. A pack takes
 * its place when it is complete. */
#ifndef STRADS_PACK_H
#define STRADS_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"
#include "strads/names.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How values are stored. Up to 256 different values of a chunk are always
 * exact. */
typedef enum strads_pack_values {
    STRADS_PACK_EXACT = 0, /* f32 where it is exact, otherwise f64 */
    STRADS_PACK_F16 = 1,   /* rounded to 11 bits, up to 65504 */
    STRADS_PACK_F32 = 2    /* rounded to 24 bits */
} strads_pack_values;

/* What a writer is doing. */
typedef enum strads_pack_phase {
    STRADS_PACK_COUNTS = 0,  /* bytes of the inputs */
    STRADS_PACK_SPREADS = 1, /* bytes of the inputs, once more */
    STRADS_PACK_WRITES = 2   /* bytes of sorted entries */
} strads_pack_phase;

typedef struct strads_pack_options {
    size_t size;               /* sizeof(strads_pack_options) */
    strads_pack_values values; /* default: exact */
    const char *scratch;       /* a folder for entries that exceed the memory;
                                   NULL: the folder of the pack */
    const double *weight;      /* [rows] weights from 0 up, or NULL */
    const char *weights_path;  /* strads_pack_files: a file with one weight a
                                   line instead, or NULL */
    /* Called now and then with the bytes that a phase has done and will do (0:
     * unknown, as of compressed text). False stops: STRADS_ECANCELED. From any
     * thread, but from one at a time. NULL: none. */
    bool (*progress)(void *arg, strads_pack_phase phase, uint64_t done,
                     uint64_t total);
    void *arg;
} strads_pack_options;

/* What a pack holds. */
typedef struct strads_pack_result {
    size_t size; /* set by the caller: sizeof(strads_pack_result) */
    uint64_t rows, cols, nnz;
    uint64_t chunks;
    uint64_t file_bytes;
    strads_pack_values values;
    bool labels, label_names, col_names, weights;
} strads_pack_result;

/* Packs files of samples, one behind the other: the rows of the second follow
 * those of the first. `data` says how to read them, and how much memory may be
 * used (memory_limit; 0: a quarter of the free memory, at most 2 GB), as
 * strads_data_read; its split, layout, values and partitions are ignored.
 * Sparse text is read in two passes, and entries that exceed the memory go
 * through one unlinked file in `scratch`. Tables, NumPy files and packs must
 * fit the memory. `data`, `options` and `result` may be NULL.
 *
 * STRADS_EINVAL: an option; inputs with labels and inputs without.
 * STRADS_EIO: a file cannot be read or written, or too little room is free on
 * the disk. STRADS_EFORMAT: as strads_data_read. STRADS_ELIMIT: more than
 * 2^32 - 2 rows or columns; a value that f16 or f32 cannot hold. STRADS_ENOMEM,
 * STRADS_ECANCELED. Nothing is left at `out` after an error. Blocks. Any
 * thread. */
STRADS_API strads_err strads_pack_files(const char *const *paths, size_t n,
                                        const char *out,
                                        const strads_data_options *data,
                                        const strads_pack_options *options,
                                        strads_pack_result *result);

/* Packs a data set with columns (STRADS_LAYOUT_COLS) in one partition, with its
 * labels, weights and names. Errors as strads_pack_files; STRADS_EINVAL: other
 * partitions. Blocks. Any thread. */
STRADS_API strads_err strads_pack_write(const strads_data *data,
                                        const char *out,
                                        const strads_pack_options *options,
                                        strads_pack_result *result);

/* Returns whether the file is a pack, of any version. */
STRADS_API bool strads_pack_is(const char *path);

/* Returns whether the file is a pack whose entries, read as columns, and a fit
 * by rows need more than `memory` bytes (0: the free memory). Any thread. */
STRADS_API bool strads_pack_exceeds(const char *path, uint64_t memory);

/* An open pack. Immutable; any number of threads may use it. */
typedef struct strads_pack strads_pack;

/* Opens a pack: reads its header and its index, not its chunks. STRADS_EIO: the
 * file cannot be read. STRADS_EFORMAT: it is no pack, is cut short or damaged.
 * STRADS_EMISMATCH: it has another version of the format. STRADS_ENOMEM. */
STRADS_API strads_err strads_pack_open(const char *path, strads_pack **out);

/* Closes the pack. NULL is allowed. */
STRADS_API void strads_pack_free(strads_pack *pack);

/* Describes the pack in out->size bytes of *out. */
STRADS_API void strads_pack_describe(const strads_pack *pack,
                                     strads_pack_result *out);

/* Counts the entries of columns [begin, end): start[end - begin + 1] begins
 * with 0. STRADS_EINVAL: there are no such columns. STRADS_EFORMAT: a chunk is
 * damaged; the sentence has its number. STRADS_EIO, STRADS_ENOMEM. Reads the
 * chunks. Blocks. Any thread. */
STRADS_API strads_err strads_pack_count(const strads_pack *pack, uint64_t begin,
                                        uint64_t end, uint64_t *start);

/* Decodes columns [begin, end) into row[nnz] and value[nnz], where nnz is
 * start[end - begin] of strads_pack_count. Errors as there. */
STRADS_API strads_err strads_pack_columns(const strads_pack *pack,
                                          uint64_t begin, uint64_t end,
                                          uint32_t *row, double *value);

/* The sum of each column's values and their centred sum of squares, the sum of
 * (x - mean)^2 over all rows: sum[end - begin] and centred[end - begin]. Errors
 * as strads_pack_count. */
STRADS_API strads_err strads_pack_moments(const strads_pack *pack,
                                          uint64_t begin, uint64_t end,
                                          double *sum, double *centred);

/* The labels and the weights of rows [rows], read from the file and checked by
 * strads_pack_open; NULL: none. Names of labels and columns; NULL: none. Valid
 * as long as the pack. */
STRADS_API const double *strads_pack_labels(const strads_pack *pack);
STRADS_API const double *strads_pack_weights(const strads_pack *pack);
STRADS_API const strads_names *strads_pack_label_names(const strads_pack *pack);
STRADS_API const strads_names *strads_pack_col_names(const strads_pack *pack);

/* ---- one chunk after the other ------------------------------------------- */

/* Reads a range of columns again and again in a fixed memory: some chunks of
 * the file at a time, by a thread of its own that reads ahead. One thread at a
 * time uses a reader. */
typedef struct strads_pack_reader strads_pack_reader;

/* Some adjacent columns, or a piece of a long one. Valid until the next call of
 * strads_pack_reader_next. */
typedef struct strads_pack_chunk {
    uint64_t first;        /* the first column; */
    uint32_t cols;         /* 0: all columns were read */
    bool continues;        /* its only column began in the chunk before */
    const uint64_t *start; /* [cols + 1] places of entries, from 0 on */
    double most;           /* the largest |value|, or more */
} strads_pack_chunk;

/* Cuts the columns into `parts` ranges of about equal entries at the bounds of
 * chunks: bounds[parts + 1]. A range may be empty. No column is cut. */
STRADS_API void strads_pack_cut(const strads_pack *pack, uint32_t parts,
                                uint64_t *bounds);

/* Opens a reader of columns [begin, end), two bounds of strads_pack_cut.
 * `direct` reads past the page cache where the system can (for packs larger
 * than the memory). The pack must outlive the reader. STRADS_EINVAL: the range
 * is not at bounds of chunks. STRADS_ENOMEM, STRADS_EIO. */
STRADS_API strads_err strads_pack_reader_open(const strads_pack *pack,
                                              uint64_t begin, uint64_t end,
                                              bool direct,
                                              strads_pack_reader **out);

/* The progress of the readers that are open, in bytes of the file: *done of
 * *total in their present passes. Between passes they are equal. Does not
 * block. Any thread. */
STRADS_API void strads_pack_progress(const strads_pack *pack, uint64_t *done,
                                     uint64_t *total);

/* The bytes that a reader of this pack allocates. */
STRADS_API uint64_t strads_pack_reader_bytes(const strads_pack *pack);

/* Moves to the next chunk. After the last one out->cols is 0, and the next call
 * begins again. STRADS_EFORMAT: a chunk is damaged; STRADS_EIO. Blocks. */
STRADS_API strads_err strads_pack_reader_next(strads_pack_reader *reader,
                                              strads_pack_chunk *out);

/* Computes dot[cols] = x_j'v of all columns of the chunk, in f32; v has a
 * number for each row and 16 readable ones behind them. With n entries of at
 * most `most`, a product is off by at most 2^-23 (n / 8 + 18) most sqrt(n) |v|.
 * STRADS_EFORMAT: a row is out of range. */
STRADS_API strads_err strads_pack_reader_dots(strads_pack_reader *reader,
                                              const float *v, float *dot);

/* Decodes column `first + k` of the chunk to row[] and value[], start[k + 1] -
 * start[k] of them and at most the number of rows, exact. Columns of a chunk
 * are asked for in ascending order. STRADS_EFORMAT. */
STRADS_API strads_err strads_pack_reader_column(strads_pack_reader *reader,
                                                uint32_t k, uint32_t *row,
                                                double *value);

/* NULL is allowed. */
STRADS_API void strads_pack_reader_close(strads_pack_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
