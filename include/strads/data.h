/* strads/data.h - reading a data set and cutting it into partitions.
 *
 * A data set is a sparse matrix: samples by features with one label a row, or
 * documents by words, or users by items. A process reads the files that people
 * already have (LIBSVM, MatrixMarket, UCI bag of words, Blei's ldac, plain
 * text, CSV, numpy's .npy and scipy's .npz, IDX; plain, gzip or zstd; a mark of UTF-8
 * at the beginning is passed over) and keeps only the partitions that it is asked to keep, in the
 * orientation that the program wants. */
#ifndef STRADS_DATA_H
#define STRADS_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/names.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a data set is cut into partitions. */
typedef enum strads_split {
    STRADS_SPLIT_ROWS = 0, /* partition p holds a range of rows, all columns */
    STRADS_SPLIT_COLS = 1, /* partition p holds a range of columns, all rows */
    STRADS_SPLIT_BOTH =
        2,                /* both: its rows by row, and its columns by column */
    STRADS_SPLIT_GRID = 3 /* a cell of a grid: partition p holds of the rows of
                              range p / C the columns of range p % C, C being
                              grid_cols */
} strads_split;

/* Which orientations of its part a program wants in memory. */
typedef enum strads_layout {
    STRADS_LAYOUT_COLS = 1, /* compressed columns (CSC) */
    STRADS_LAYOUT_ROWS = 2, /* compressed rows (CSR) */
    STRADS_LAYOUT_BOTH = 3
} strads_layout;

typedef enum strads_scalar {
    STRADS_F64 = 0,
    STRADS_F32 = 1,
    STRADS_I32 = 2,
    STRADS_I64 = 3
} strads_scalar;

/* What the rows and columns of a data set are, and so which formats it may be
 * in; among these the first bytes of a file decide. */
typedef enum strads_kind {
    STRADS_KIND_SAMPLES = 0, /* samples by features, a label a row: LIBSVM,
                                MatrixMarket */
    STRADS_KIND_CORPUS = 1,  /* documents by words, how often each occurs, a
                                whole number from 1 to 2^24 (exact in f32), no
                                labels: UCI bag of words (lines D, W, NNZ, then
                                `document word count` from 1), ldac (lines
                                `N word:count ...`, words from 0),
                                MatrixMarket */
    STRADS_KIND_TEXT = 2,    /* plain text, a document a line; or a folder,
                                with those in it, whose files are a document
                                each, in the order of the bytes of their
                                paths, without those that begin with a dot: a
                                corpus whose words are named. Words are runs of two or more
                                letters, digits and `_`, in lower case */
    STRADS_KIND_RATINGS = 3, /* users by items: lines `user item rating`, parted
                                by blanks, tabs, `,`, `;` or `::`, more fields
                                are not looked at, without a rating it is 1; or
                                MatrixMarket. Users and items are numbers from
                                0, or behind a header line names. A header says
                                which columns count, see `user` of
                                strads_data_options. Of a pair that is there
                                more than once the last counts */
    STRADS_KIND_DOCUMENTS = 4, /* a corpus where the file begins like one, or
                                  else text: see strads_data_find_kind */
    STRADS_KIND_GRAPH = 5      /* nodes by nodes: lines `u v`, or `u v weight`
                                  with a whole number up to 65,535, parted by
                                  blanks, tabs, `,` or `;`, after # or % a
                                  comment; or MatrixMarket, square. Nodes of
                                  lines are names. Links have no direction: the
                                  matrix is symmetric, whatever the file says;
                                  its diagonal is left out. The last weight of a
                                  link counts */
} strads_kind;

/* A half-open range [begin, end) of rows or columns of the whole data set. */
typedef struct strads_range {
    uint64_t begin;
    uint64_t end;
} strads_range;

/* One orientation of a part of the matrix: `lines` columns (CSC) or rows (CSR).
 * Line k has the entries start[k] .. start[k + 1] - 1; their index is counted
 * from the first row (CSC) or column (CSR) of the part, ascending, unique.
 * Exactly one of f64 and f32 is not NULL; it and `index` may be read up to 16
 * entries beyond the end (so that a kernel can load whole vectors).
 * `start` is NULL where the orientation was not asked for. */
typedef struct strads_sparse {
    uint64_t lines;
    uint64_t nnz;
    const uint64_t *start; /* [lines + 1] */
    const uint32_t *index; /* [nnz] */
    const double *f64;     /* [nnz] or NULL */
    const float *f32;      /* [nnz] or NULL */
} strads_sparse;

/* What one partition holds. `by_col` has a line for each column of `cols`,
 * `by_row` one for each row of `rows`. Under STRADS_SPLIT_BOTH they are two
 * different parts: by_row spans `rows` x all columns, by_col all rows x `cols`;
 * otherwise both describe the same part. `label` belongs to `rows`
 * (to all rows under STRADS_SPLIT_COLS, where rows is everything). */
typedef struct strads_share {
    uint32_t partition;  /* 0 .. partitions - 1 */
    uint32_t partitions; /* K, fixed for the life of a run */
    strads_range rows;
    strads_range cols;
    strads_sparse by_col;
    strads_sparse by_row;
    const double *label; /* [rows.end - rows.begin]; NULL when there are none */
    /* Of the whole data set, as strads_data_row_names and _col_names. */
    const strads_names *row_names, *col_names;
    bool spendable; /* see strads_data_spend */
    /* Of the whole data set, as strads_data_label_names: label[i] is a number
     * of these; NULL: labels are numbers of their own. */
    const strads_names *label_names;
    const double *weight; /* as label; see strads_data_weigh */
} strads_share;

/* Simple loops over lines, for programs that need no kernels of their own. `v`
 * is indexed as the entries are: [rows of the part] for lines of by_col. None
 * of them blocks; any thread. */

/* Value of entry e, whichever width is kept. */
static inline double strads_sparse_value(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

/* x_k'v for line k. */
static inline double strads_sparse_dot(const strads_sparse *x, uint64_t k,
                                       const double *v)
{
    double sum = 0;
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
        sum += strads_sparse_value(x, e) * v[x->index[e]];
    return sum;
}

/* v += a x_k for line k. */
static inline void strads_sparse_add(const strads_sparse *x, uint64_t k,
                                     double a, double *v)
{
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
        v[x->index[e]] += a * strads_sparse_value(x, e);
}

/* x_k'x_l for two lines (|x_k|^2 where k is l). */
static inline double strads_sparse_pair(const strads_sparse *x, uint64_t k,
                                        uint64_t l)
{
    double sum = 0;
    uint64_t a = x->start[k], b = x->start[l];
    while (a < x->start[k + 1] && b < x->start[l + 1]) {
        const uint32_t i = x->index[a], j = x->index[b];
        if (i == j)
            sum += strads_sparse_value(x, a) * strads_sparse_value(x, b);
        a += i <= j;
        b += j <= i;
    }
    return sum;
}

/* A data set, or the part of it that this process keeps. Immutable once read:
 * any number of threads may use it. */
typedef struct strads_data strads_data;

typedef struct strads_data_options {
    size_t size;             /* sizeof(strads_data_options) */
    uint32_t partitions;     /* K; 0 means 1 */
    uint32_t keep_first;     /* the first partition that this process keeps */
    uint32_t keep_count;     /* how many it keeps from there on; 0 means all
                                (none when keep_first is `partitions`) */
    strads_split split;      /* default: rows */
    strads_layout layout;    /* 0 means STRADS_LAYOUT_COLS */
    strads_scalar values;    /* STRADS_F64 (default) or STRADS_F32 */
    uint32_t threads;        /* that read; 0 means one per core */
    uint64_t min_cols;       /* at least that many columns (a model's, say) */
    uint64_t most_cols;      /* samples from a file: what stands in columns from
                                this one on is left out, and costs nothing; at
                                least min_cols; 0: nothing is */
    uint64_t memory_limit;   /* bytes that may be used, by reading, the data and
                                what row_bytes and col_bytes announce, added
                                up: what needs more is refused before it is
                                taken. 0 means what is free: of the system
                                and of the control group */
    const char *labels_path; /* MatrixMarket: a file with one label a line, or
                                an array-format vector; NULL: none. LIBSVM
                                has its own labels, a corpus has none:
                                STRADS_EINVAL */
    strads_kind kind;        /* default: samples */
    /* Names that are known, or NULL; must outlive the data set. Text and named
     * ratings: rows and columns are numbered as there, and what has another
     * name is left out, see strads_data_unknown. A table's fields find columns
     * of their names, other fields count nothing; strads_data_unknown counts
     * values of text without a column. Otherwise there are as many
     * columns as names, and no more may occur; a header must agree. */
    const strads_names *row_names, *col_names;
    const strads_names *stop_words; /* text: left out; may be NULL */
    uint32_t min_df;   /* text: so are words in fewer documents, where col_names
                        is NULL */
    bool named_labels; /* samples: labels may be names instead of numbers, as
                          the first row has it. A name is one word of at most
                          STRADS_LABEL_NAME_MAX bytes of UTF-8, without
                          `,` `:` `=` `#`, that is no number. A row's label is
                          then the name's number, 0, 1, ... in the order of
                          their bytes. false: a name is STRADS_EFORMAT */
    const strads_names *label_names; /* names that are known, in their order;
                          others count as their number of names. Must outlive
                          the data set. NULL: the file's */
    uint64_t partition_entries; /* what a partition should hold at least: where
                          the entries are too few for K such partitions, there
                          are fewer, but one; 0: K, however small. Goes with
                          keeping all of them */
    uint64_t row_bytes, col_bytes; /* what the caller will take itself for each
                          row that is kept and for each column */
    bool numbered; /* ratings: users and items stay the numbers that they are,
                      however wide the gaps; false: where nearly all numbers up
                      to the largest are missing they become names */
    const char *user, *item, *rating; /* ratings: the columns of that name in
                          the header line; NULL: by common names */
    /* Samples from a table: lines of as many fields as the header line before
     * them has, parted by `,` `;` or tabs, whichever that has most of; in
     * quotes as RFC 4180 has it, but on one line. Zeros are left out. */
    const char *target; /* the column with the labels. Not NULL: the file is a
                          table, or MatrixMarket */
    bool table;         /* it is, even without a target, or, where col_names
                          are given, sparse text with the same columns */
    const char *drop;   /* columns to leave out, commas between; or NULL */
    const char *categorical; /* "one-hot": each column with text becomes one of
                          0 and 1, `column=value`, for each of its values;
                          "one-hot=NAMES": these columns; NULL: text is
                          STRADS_EFORMAT */
    const char *missing;     /* fields that are empty, ?, NA, N/A, NaN, null or
                          None, whatever the case: NULL or "refuse", or "mean":
                          the mean of those that are not (of text: none of its
                          columns) */
    const double *col_means; /* where columns are known: what is missing is
                          these, as strads_data_col_means; NULL: refused */
    uint32_t grid_cols; /* GRID: ranges that the columns are cut into, which
                          divides K; 0: 1 */
    const uint64_t *row_bounds; /* where rows are cut: partition p (GRID: range
                          of rows p) holds [row_bounds[p], row_bounds[p + 1]);
                          from 0 up to all rows, ascending, one more than there
                          are partitions. NULL: about equal entries */
    double max_df; /* text: words in more than this share of the documents are
                      left out as well, where col_names is NULL; above 0, below
                      1; 0: none */
    const char *text_column; /* text: the path is a table (as with `target`, but
                      fields in quotes may go over lines), of which this column
                      has a document in each row. NULL: see STRADS_KIND_TEXT */
} strads_data_options;

#define STRADS_LABEL_NAMES_MAX 10000
#define STRADS_LABEL_NAME_MAX 63

/* What a file holds, seen without keeping the matrix. */
typedef struct strads_data_summary {
    const char *format;      /* "libsvm", "matrixmarket", "uci-bow", "ldac",
                                "text", "ratings" or "table"; static */
    const char *compression; /* "none", "gzip" or "zstd"; static */
    uint64_t rows, cols, nnz;
    uint64_t empty_rows, empty_cols;
    uint64_t max_row_nnz, max_col_nnz;
    double label_min, label_max, label_mean; /* of named ones: their numbers' */
    uint64_t distinct_labels;                /* counted up to 1,000 */
    bool named_labels;                       /* they are names */
    double value_min, value_max;
    uint64_t index_base; /* 1: indices in the file start at 1 */
    uint64_t file_bytes, text_bytes;
    uint64_t checksum;     /* as strads_data_checksum */
    uint64_t matrix_bytes; /* what one orientation in f64 would take */
} strads_data_summary;

/* Reads a file of options->kind, whose format its first bytes tell; gzip and
 * zstd are told by theirs. Plain files are mapped and parsed by `threads`
 * threads: nobody may shorten one meanwhile. Values are rounded to the nearest
 * double and must be finite; stored zeros stay entries (those of an array-
 * format file do not). LIBSVM indices ascend in a row, `qid:` is ignored;
 * entries of all others may come in any order, none twice but in ratings and
 * text. Partitions are cut so that each holds about nnz / K entries; with more
 * partitions than rows (columns) some are empty. `options` may be NULL. On
 * success *out is the caller's to free.
 * STRADS_EIO: the file cannot be read. STRADS_EFORMAT: the
 * sentence names file, line, what was found and what was expected.
 * STRADS_ENOMEM: the sentence says how many bytes would be needed.
 * STRADS_ELIMIT: more than 2^32 - 2 rows or columns, or than
 * STRADS_LABEL_NAMES_MAX different names of labels. STRADS_EINVAL: an option.
 * Blocks. Any thread. */
STRADS_API strads_err strads_data_read(const char *path,
                                       const strads_data_options *options,
                                       strads_data **out);

/* Makes a data set from compressed columns in memory, copied: start[cols + 1],
 * index[nnz] ascending and unique in a column, value[nnz], label[rows] (may be
 * NULL). For programs that make their own data, and for tests. Where the
 * options have named_labels and label_names, label[i] is a number of these.
 * STRADS_EINVAL when the arrays contradict each other. */
typedef struct strads_columns {
    uint64_t rows, cols;
    const uint64_t *start;
    const uint32_t *index;
    const double *value;
    const double *label;
} strads_columns;
STRADS_API strads_err
strads_data_from_columns(const strads_columns *columns,
                         const strads_data_options *options, strads_data **out);

/* The same from compressed rows: start[rows + 1], index[nnz] the columns. */
typedef strads_columns strads_rows;
STRADS_API strads_err strads_data_from_rows(const strads_rows *rows,
                                            const strads_data_options *options,
                                            strads_data **out);

/* A matrix in arrays of the types that other libraries have. Zero is a default
 * but for rows, cols and value. Sparse: compressed lines, which are columns
 * (CSC) or rows (CSR), each line's indices ascending, none twice. Dense: `start`
 * is NULL and value[rows * cols] holds line after line, columns (Fortran's
 * order) or rows (C's). */
typedef struct strads_arrays {
    size_t size; /* sizeof(strads_arrays) */
    uint64_t rows, cols;
    bool by_row;           /* lines are rows */
    bool borrow;           /* see strads_data_from_arrays */
    const void *start;     /* [lines + 1] */
    strads_scalar starts;  /* its type, STRADS_I32 or STRADS_I64 */
    const void *index;     /* [nnz] */
    strads_scalar indices; /* STRADS_I32 or STRADS_I64 */
    const void *value;     /* [nnz], or dense */
    strads_scalar values;  /* STRADS_F64 or STRADS_F32 */
    const double *label;   /* [rows] or NULL */
} strads_arrays;

/* Makes a data set from arrays. Without `borrow` all are copied, zeros of dense
 * ones left out, and may go afterwards. With it index and value have to outlive
 * the data set, unchanged, and are used in place, where they are
 * what it would hold: sparse, in the layout's orientation, indices of 32 bits,
 * values of options->values' type, and one partition or a split along the
 * lines (rows of rows, columns of columns). Copied even then are starts, counts
 * and labels, 8 to 12 bytes a line; and index and value where either ends so
 * near to the end of a page of memory that the 16 entries behind it, which may
 * be read, could be missing. strads_data_bytes tells what is held beside what
 * is borrowed; strads_data_spend does nothing to it.
 * Where the options have row_names or col_names there must be as many rows or
 * columns. STRADS_EINVAL: the arrays contradict each other, or a value is not
 * finite; STRADS_ELIMIT: it does not fit in f32; STRADS_ENOMEM with the numbers.
 * Blocks. Any thread. */
STRADS_API strads_err
strads_data_from_arrays(const strads_arrays *arrays,
                        const strads_data_options *options, strads_data **out);

/* Frees a data set and all its shares; NULL is fine. */
STRADS_API void strads_data_free(strads_data *data);

/* The whole data set's sizes, also when only a share of it is kept. */
STRADS_API uint64_t strads_data_rows(const strads_data *data);
STRADS_API uint64_t strads_data_cols(const strads_data *data);
STRADS_API uint64_t strads_data_nnz(const strads_data *data);

/* Entries of column j of the whole data set; 0 for a j that it does not
 * have. */
STRADS_API uint32_t strads_data_col_nnz(const strads_data *data, uint64_t j);

/* Entries of row i of the whole data set, whatever of it this process keeps; 0
 * for an i that it does not have, and without STRADS_LAYOUT_ROWS. */
STRADS_API uint32_t strads_data_row_nnz(const strads_data *data, uint64_t i);

/* K: into how many partitions it has been cut. */
STRADS_API uint32_t strads_data_partitions(const strads_data *data);

/* The rows of a partition, kept by this process or not; empty for a partition
 * that there is not, and under STRADS_SPLIT_COLS. */
STRADS_API strads_range strads_data_part(const strads_data *data,
                                         uint32_t partition);

/* XXH3-64 of sizes and content: nodes that join a run compare it. It does not
 * depend on threads, partitions, f64 or f32, compression or format, nor on how
 * numbers are spelled. */
STRADS_API uint64_t strads_data_checksum(const strads_data *data);

/* 1 when indices in the file started at 1 (all formats but ldac), else 0:
 * what to add to a column when it is shown to people or written to a model. */
STRADS_API uint64_t strads_data_index_base(const strads_data *data);

/* Bytes of memory that the data set holds. */
STRADS_API uint64_t strads_data_bytes(const strads_data *data);

/* What rows and columns are called; NULL where they are numbered only. As long
 * as `data`, or options->row_names and col_names. */
STRADS_API const strads_names *strads_data_row_names(const strads_data *data);
STRADS_API const strads_names *strads_data_col_names(const strads_data *data);

/* The means that missing fields of a table's columns became, 0 for columns of
 * 0 and 1; NULL where options->missing is not "mean". As long as `data`. */
STRADS_API const double *strads_data_col_means(const strads_data *data);

/* What labels are called, in order, as options->named_labels tells; NULL where
 * they are numbers, or where there are none. As long as `data`, or
 * options->label_names. */
STRADS_API const strads_names *strads_data_label_names(const strads_data *data);

/* Entries of the file that were left out because their row or column has a name
 * that the given ones do not have. */
STRADS_API uint64_t strads_data_unknown(const strads_data *data);

/* Entries of what this process keeps that were there more than once and became
 * one: words of a text, ratings that a later one replaced. What strads_data_nnz
 * and strads_data_col_nnz tell of the whole file still has them. */
STRADS_API uint64_t strads_data_repeated(const strads_data *data);

/* The share of partition p; NULL when this process does not keep it. Valid as
 * long as `data`. */
STRADS_API const strads_share *strads_data_share(const strads_data *data,
                                                 uint32_t partition);

/* Which of the two a file of STRADS_KIND_DOCUMENTS is, by its beginning:
 * STRADS_KIND_CORPUS where that is MatrixMarket's banner, or a first line that
 * is one number, or a number and then `word:count`; STRADS_KIND_TEXT otherwise.
 * STRADS_EIO, STRADS_EFORMAT, STRADS_ENOMEM as strads_data_read. Blocks. Any
 * thread. */
STRADS_API strads_err strads_data_find_kind(const char *path,
                                            strads_kind *found);

/* What each row counts, from 0 up, in programs that weigh rows (lasso, glm,
 * logistic, svm, their paths and their cross-validation, where their options have
 * no weights): `weight` [n], copied, of the rows that are held here, in order.
 * The checksum does not tell of them. Before the run; no other may use the data
 * meanwhile. STRADS_EINVAL: another number of rows is held, or a weight is below
 * 0 or not finite; STRADS_ENOMEM. */
STRADS_API strads_err strads_data_weigh(strads_data *data, const double *weight,
                                        uint64_t n);

/* The next run is all that the data are for: a program that has made something
 * else of a share's entries may give back what these take. Afterwards they
 * read as 0; sizes, counts, names and labels stay. Before the run; no
 * other may use the data meanwhile. */
STRADS_API void strads_data_spend(strads_data *data);

/* Gives back the memory of by_row's entries of the rows [begin, end), counted
 * within the share, as far as it is whole pages, if the data are to be spent;
 * otherwise nothing happens. By who works on the share. */
STRADS_API void strads_share_spend(const strads_share *share, uint64_t begin,
                                   uint64_t end);

/* The same for by_col's entries of the columns [begin, end). */
STRADS_API void strads_share_spend_cols(const strads_share *share,
                                        uint64_t begin, uint64_t end);

/* Looks a file over without keeping it; errors as strads_data_read. */
STRADS_API strads_err strads_data_summarize(const char *path,
                                            const strads_data_options *options,
                                            strads_data_summary *out);

#ifdef __cplusplus
}
#endif

#endif
