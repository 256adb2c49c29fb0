/* strads/data.h - reading a data set and cutting it into partitions.
 *
 * A data set is a sparse matrix: samples by features with a label for each row,
 * documents by words, or users by items. Formats: LIBSVM, MatrixMarket, UCI bag
 * of words, Blei's ldac, plain text, CSV, numpy's .npy, scipy's .npz and IDX;
 * plain, gzip or zstd. A UTF-8 byte order mark is skipped. A process keeps the
 * partitions that its options name, in the orientation that the program
 * needs. */
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
    STRADS_SPLIT_BOTH = 2, /* both: its rows by row, its columns by column */
    STRADS_SPLIT_GRID = 3  /* a cell of a grid: partition p holds the entries in
                              row range p / C and column range p % C, with C =
                              grid_cols */
} strads_split;

/* The orientations of its part that a program needs in memory. */
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

/* The meaning of rows and columns, which determines the possible formats. The
 * first bytes of a file select one of them. */
typedef enum strads_kind {
    STRADS_KIND_SAMPLES = 0, /* samples by features, a label a row: LIBSVM,
                                MatrixMarket */
    STRADS_KIND_CORPUS = 1,  /* documents by words, without labels. Counts are
                                whole numbers from 1 to 2^24 (exact in f32). UCI
                                bag of words (lines D, W, NNZ, then `document
                                word count`, from 1), ldac (lines `N word:count
                                ...`, words from 0), MatrixMarket */
    STRADS_KIND_TEXT = 2,    /* plain text, a document a line; or a folder with
                                its subfolders: each file is a document, in the
                                order of the bytes of their paths, except files
                                that begin with a dot. A corpus with named
                                words: runs of two or more letters, digits and
                                marks by Unicode, in lower case */
    STRADS_KIND_RATINGS = 3, /* users by items: lines `user item rating`,
                                separated by blanks, tabs, `,`, `;` or `::`;
                                further fields are ignored, a missing rating is
                                1; or MatrixMarket. Users and items are numbers
                                from 0, or names after a header line, which
                                selects the columns (`user` of
                                strads_data_options). The last rating of a
                                repeated pair counts */
    STRADS_KIND_DOCUMENTS =
        4,                /* a corpus or text, by the beginning of the file:
                                  see strads_data_find_kind */
    STRADS_KIND_GRAPH = 5 /* nodes by nodes: lines `u v`, or `u v weight`
                                  with a whole number up to 65,535, separated by
                                  blanks, tabs, `,` or `;`; # or % starts a
                                  comment; or a square MatrixMarket. Nodes of
                                  lines are names. Links have no direction: the
                                  matrix is made symmetric without its diagonal.
                                  The last weight of a link counts */
} strads_kind;

/* A half-open range [begin, end) of rows or columns of the whole data set. */
typedef struct strads_range {
    uint64_t begin;
    uint64_t end;
} strads_range;

/* One orientation of a part of the matrix: `lines` columns (CSC) or rows (CSR).
 * Line k has the entries start[k] .. start[k + 1] - 1. Their indices count from
 * the first row (CSC) or column (CSR) of the part, ascend, and are unique.
 * Exactly one of f64 and f32 is not NULL. Kernels may read it and `index` up to
 * 16 entries beyond the end, to load whole vectors. `start` is NULL if the
 * layout does not include this orientation. If the options say `unindexed`,
 * `index` may be NULL: every line then has all indices, 0, 1, 2, ... */
typedef struct strads_sparse {
    uint64_t lines;
    uint64_t nnz;
    const uint64_t *start; /* [lines + 1] */
    const uint32_t *index; /* [nnz], or NULL with `unindexed` */
    const double *f64;     /* [nnz] or NULL */
    const float *f32;      /* [nnz] or NULL */
} strads_sparse;

/* The data of one partition. `by_col` has a line for each column of `cols`,
 * `by_row` one for each row of `rows`. Under STRADS_SPLIT_BOTH they are
 * different parts: by_row spans `rows` x all columns, by_col all rows x `cols`.
 * Otherwise both describe the same part. `label` belongs to `rows`; under
 * STRADS_SPLIT_COLS these are all rows. */
typedef struct strads_share {
    uint32_t partition;  /* 0 .. partitions - 1 */
    uint32_t partitions; /* K, fixed for the life of a run */
    strads_range rows;
    strads_range cols;
    strads_sparse by_col;
    strads_sparse by_row;
    const double *label; /* [rows.end - rows.begin]; NULL: no labels */
    /* Of the whole data set, as strads_data_row_names and _col_names. */
    const strads_names *row_names, *col_names;
    bool spendable; /* see strads_data_spend */
    /* Of the whole data set, as strads_data_label_names: label[i] is the number
     * of a name. NULL: labels are numbers. */
    const strads_names *label_names;
    const double *weight; /* [as label]; see strads_data_weigh */
    /* The pack that holds the columns `cols`, bounds of strads_pack_cut, if the
     * data set stays packed (`packed`): both orientations are then empty.
     * Otherwise NULL. */
    const struct strads_pack *pack;
    bool pack_exceeds; /* the pack is larger than the memory that the options
                          allow: read it past the page cache */
    const uint32_t *col_nnz; /* as strads_data_col_nnz, of all columns; NULL if
                                the data set stays packed */
    bool on_disk;       /* the entries are in a file: see strads_share_evict */
    const double *time; /* of entry e of by_row: time[e]; NULL: no times, see
                           strads_data_time */
} strads_share;

/* Simple loops over lines, for programs without kernels of their own. `v` is
 * indexed as the entries are: [rows of the part] for lines of by_col. Any
 * thread; none of them blocks. */

/* Returns the value of entry e, stored as f64 or f32. */
static inline double strads_sparse_value(const strads_sparse *x, uint64_t e)
{
    return x->f64 ? x->f64[e] : (double)x->f32[e];
}

/* Returns x_k'v for line k. */
static inline double strads_sparse_dot(const strads_sparse *x, uint64_t k,
                                       const double *v)
{
    double sum = 0;
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
        sum += strads_sparse_value(x, e) * v[x->index[e]];
    return sum;
}

/* Computes v += a x_k for line k. */
static inline void strads_sparse_add(const strads_sparse *x, uint64_t k,
                                     double a, double *v)
{
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
        v[x->index[e]] += a * strads_sparse_value(x, e);
}

/* Returns x_k'x_l for two lines; |x_k|^2 for k = l. */
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

/* A data set, or the part of it that this process keeps. Immutable; any number
 * of threads may use it. */
typedef struct strads_data strads_data;

typedef struct strads_data_options {
    size_t size;           /* sizeof(strads_data_options) */
    uint32_t partitions;   /* K; 0 means 1 */
    uint32_t keep_first;   /* the first partition that this process keeps */
    uint32_t keep_count;   /* the number that it keeps from there on; 0 means
                                all (none if keep_first is `partitions`) */
    strads_split split;    /* default: rows */
    strads_layout layout;  /* 0 means STRADS_LAYOUT_COLS */
    strads_scalar values;  /* STRADS_F64 (default) or STRADS_F32. Ratings are
                                stored as F64 if F32 would round their
                                differences away (1e9 + u) */
    uint32_t threads;      /* reading threads; 0 means one per core */
    uint64_t min_cols;     /* least number of columns (for example a model's) */
    uint64_t most_cols;    /* samples from a file: columns from this one on are
                                skipped; at least min_cols; 0: none */
    uint64_t memory_limit; /* most bytes for reading, the data, and row_bytes
                                and col_bytes together. Data that needs more is
                                refused before it is allocated. 0: the memory
                                that is free in the system and in the control
                                group */
    const char *labels_path; /* MatrixMarket: a file with one label a line, or
                                an array-format vector; NULL: none.
                                STRADS_EINVAL for LIBSVM, which contains
                                labels, and for a corpus, which has none */
    strads_kind kind;        /* default: samples */
    /* Known names, or NULL; must outlive the data set. Text and named ratings:
     * rows and columns have the numbers of these names, and entries with other
     * names are dropped (strads_data_unknown counts them). Tables: a field
     * belongs to the column of its name, other fields are dropped;
     * strads_data_unknown counts text values without a column. Other kinds:
     * there are as many columns as names; a larger index is an error, and a
     * header must agree. */
    const strads_names *row_names, *col_names;
    const strads_names *stop_words; /* text: words to drop; may be NULL */
    uint32_t min_df;   /* text without col_names: words in fewer documents are
                        dropped */
    bool named_labels; /* samples: labels may be names; the first row decides. A
                          name is one word of at most STRADS_LABEL_NAME_MAX
                          bytes of UTF-8 without `,` `:` `=` `#`, and is not a
                          number. A row's label is then the number of the name,
                          0, 1, ... in the order of their bytes. false: a name
                          is STRADS_EFORMAT */
    const strads_names
        *label_names;           /* known names in order; all others have the
                          number that follows. Must outlive the data set. NULL:
                          the names in the file */
    uint64_t partition_entries; /* least entries of a partition: if the data has
                          too few for K such partitions, there are fewer, at
                          least one; 0: K partitions of any size. For processes
                          that keep all partitions */
    uint64_t row_bytes, col_bytes; /* bytes that the caller itself will allocate
                          for each kept row and for each column */
    bool numbered; /* ratings: users and items keep their numbers. false: if
                      nearly all numbers up to the largest are missing, numbers
                      are treated as names. Counts of a corpus without
                      col_names and min_cols: the same of words. false: with
                      more than 2^20 columns, and more than 16 for each entry,
                      the words that occur are the columns, in ascending order,
                      named by their decimal ids as the file has them */
    const char *user, *item, *rating; /* ratings: names of these columns in the
                          header line; NULL: common names */
    /* Samples from a table: lines of as many fields as the header line before
     * them has, parted by `,` `;` or tabs, whichever that has most of; in
     * quotes as RFC 4180 has it, but on one line. Zeros are left out. */
    const char *target; /* name of the column of labels. Not NULL: the file is a
                          table, or MatrixMarket */
    bool table;         /* the file is a table even without a target; with
                          col_names also sparse text with the same columns */
    const char *drop;   /* columns to drop, separated by commas; or NULL */
    const char *categorical; /* "one-hot": a column of text becomes a column
                          `column=value` of 0 and 1 for each of its values;
                          "one-hot=NAMES": these columns only; NULL: text is
                          STRADS_EFORMAT */
    const char *missing;     /* fields that are empty, ?, NA, N/A, NaN, null or
                          None, in any case. NULL or "refuse": an error; "mean":
                          the mean of the present ones (for text: 0 in all of
                          its columns) */
    const double *col_means; /* with known columns: replacements of missing
                          fields, as strads_data_col_means; NULL: an error */
    uint32_t grid_cols; /* GRID: the number of column ranges, which divides K;
                          0: 1 */
    const uint64_t *row_bounds; /* [ranges of rows + 1] where rows are cut:
                          partition p (GRID: row range p) holds [row_bounds[p],
                          row_bounds[p + 1]); ascending, from 0 to all rows.
                          NULL: about equal entries */
    double
        max_df; /* text without col_names: words in more than this share of the
                      documents are dropped; above 0, at most 1; 0: none */
    const char
        *text_column; /* text: the path is a table (as with `target`), and
                      this column has a document in each row. NULL: see
                      STRADS_KIND_TEXT */
    /* With the split COLS: a file that is a pack stays packed. Shares then have
     * no entries, but the pack and a range of its columns, and
     * strads_data_col_nnz is 0. */
    bool packed;
    /* The caller can read lines without index: see strads_sparse. */
    bool unindexed;
    const char *stop_language; /* text: drop the function words of this
                      language: de, en, es, fr, it, nl, pt or ru; "auto": of the
                      language that a text of 1,000 words or more without
                      col_names is written in, if it is one of these; NULL:
                      none */
    bool trim_words; /* text without col_names: drop numbers; a min_df of 0 is
                      the smaller of 5 and documents / 1000, and a max_df of 0
                      is 0.5 if there are 1,000 documents */
    const strads_names *phrases; /* text: two words in a row become the word
                      `first_second` if it is one of these; from left to right,
                      each word once. NULL: none */
    const char *scratch;         /* documents and ratings from a file, in one
                      orientation, not in a grid: a folder for the entries,
                      which then lie in a file without a name that is mapped
                      into memory. The file is read several times, each time for
                      as many entries as a quarter of memory_limit holds.
                      STRADS_EIO: too little room there. NULL: in memory */
    const char *time;            /* ratings from a file: name of the column of
                      times, numbers, or, without a header, its number from 1.
                      The file is then read twice, and each rating has a time
                      (strads_share), 12 bytes. STRADS_EINVAL: another format,
                      standard input, or a layout that is not by rows. NULL: no
                      times */
} strads_data_options;

#define STRADS_LABEL_NAMES_MAX 10000
#define STRADS_LABEL_NAME_MAX 63

/* A summary of a file. */
typedef struct strads_data_summary {
    const char *format;      /* "libsvm", "matrixmarket", "uci-bow", "ldac",
                                "text", "ratings" or "table"; static */
    const char *compression; /* "none", "gzip" or "zstd"; static */
    uint64_t rows, cols, nnz;
    uint64_t empty_rows, empty_cols;
    uint64_t max_row_nnz, max_col_nnz;
    double label_min, label_max, label_mean; /* of names: of their numbers */
    uint64_t distinct_labels;                /* counted up to 1,000 */
    bool named_labels;                       /* labels are names */
    double value_min, value_max;
    uint64_t index_base; /* 1: indices in the file start at 1 */
    uint64_t file_bytes, text_bytes;
    uint64_t checksum;     /* as strads_data_checksum */
    uint64_t matrix_bytes; /* memory of one orientation in f64 */
} strads_data_summary;

/* Reads a file of options->kind. The first bytes determine format and
 * compression. Plain files are mapped and parsed by `threads` threads; no
 * process may shorten a file during the call. Values are rounded to the nearest
 * double and must be finite. Stored zeros remain entries, except in
 * array-format files. LIBSVM indices ascend in a row, and `qid:` is ignored. In
 * all other formats entries may have any order; only ratings and text may
 * repeat one. Each partition holds about nnz / K entries; with more partitions
 * than rows (columns) some are empty. `options` may be NULL. The caller frees
 * *out. STRADS_EIO: the file cannot be read. STRADS_EFORMAT: the sentence gives
 * file, line, the text found and the text expected. STRADS_ENOMEM: the sentence
 * gives the bytes needed. STRADS_ELIMIT: more than 2^32 - 2 rows or columns, or
 * more than STRADS_LABEL_NAMES_MAX names of labels. STRADS_EINVAL: an option.
 * Blocks. Any thread. */
STRADS_API strads_err strads_data_read(const char *path,
                                       const strads_data_options *options,
                                       strads_data **out);

/* Makes a data set from a copy of compressed columns: start[cols + 1],
 * index[nnz] ascending and unique in a column, value[nnz], label[rows] (may be
 * NULL). For programs that generate their data, and for tests. If the options
 * have named_labels and label_names, label[i] is the number of a name.
 * STRADS_EINVAL: the arrays contradict each other. */
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

/* Makes a data set from compressed rows: start[rows + 1], index[nnz] columns.
 * Otherwise as strads_data_from_columns. */
typedef strads_columns strads_rows;
STRADS_API strads_err strads_data_from_rows(const strads_rows *rows,
                                            const strads_data_options *options,
                                            strads_data **out);

/* Gives the entries of `data`, by rows, the values of `times`, in f64, as times
 * (strads_share). Both have the same entries and partitions. On success `data`
 * owns `times`. STRADS_EMISMATCH: other entries. STRADS_EINVAL: not by rows or
 * not f64. Call it before other threads use `data`. */
STRADS_API strads_err strads_data_time(strads_data *data, strads_data *times);

/* A matrix in arrays of the types that other libraries use. Members other than
 * rows, cols and value may be 0. Sparse: compressed columns (CSC) or rows
 * (CSR), with ascending and unique indices in each. Dense: `start` is NULL and
 * value[rows * cols] holds columns (Fortran order) or rows (C order). */
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

/* Makes a data set from arrays. Without `borrow` the arrays are copied, without
 * the zeros of dense ones, and may be freed afterwards.
 *
 * With `borrow`, index and value are used in place and must outlive the data
 * set unchanged, if they have the form that the data set needs: sparse with
 * indices of 32 bits, or with `unindexed` dense without zeros, in the layout's
 * orientation, values of the type options->values, and one partition or a split
 * along the lines. Starts, counts and labels are
 * copied (8 to 12 bytes a line). index and value are copied too if one of them
 * ends so close to the end of a memory page that the 16 entries behind it might
 * not be readable. strads_data_bytes excludes borrowed arrays;
 * strads_data_spend does not affect them.
 *
 * With row_names or col_names in the options, the number of rows or columns
 * must agree. STRADS_EINVAL: the arrays contradict each other, or a value is
 * not finite. STRADS_ELIMIT: a value does not fit f32. STRADS_ENOMEM: the
 * sentence gives the bytes. Blocks. Any thread. */
STRADS_API strads_err
strads_data_from_arrays(const strads_arrays *arrays,
                        const strads_data_options *options, strads_data **out);

/* Frees a data set and all its shares. NULL is allowed. */
STRADS_API void strads_data_free(strads_data *data);

/* Return the sizes of the whole data set, also if only a part is kept. */
STRADS_API uint64_t strads_data_rows(const strads_data *data);
STRADS_API uint64_t strads_data_cols(const strads_data *data);
STRADS_API uint64_t strads_data_nnz(const strads_data *data);

/* Returns the entries of column j of the whole data set; 0 if there is no such
 * column. */
STRADS_API uint32_t strads_data_col_nnz(const strads_data *data, uint64_t j);

/* Returns the entries of row i of the whole data set, also if this process does
 * not keep it; 0 if there is no such row, and without STRADS_LAYOUT_ROWS. */
STRADS_API uint32_t strads_data_row_nnz(const strads_data *data, uint64_t i);

/* Returns K, the number of partitions. */
STRADS_API uint32_t strads_data_partitions(const strads_data *data);

/* Returns the columns of a partition under STRADS_SPLIT_COLS, also if this
 * process does not keep it; otherwise, and if there is no such partition,
 * empty. */
STRADS_API strads_range strads_data_part_cols(const strads_data *data,
                                              uint32_t partition);

/* Returns the rows of a partition, also if this process does not keep it. Empty
 * if there is no such partition, and under STRADS_SPLIT_COLS. */
STRADS_API strads_range strads_data_part(const strads_data *data,
                                         uint32_t partition);

/* Returns the XXH3-64 hash of sizes and content, which nodes of a run compare.
 * It is independent of threads, partitions, f64 or f32, compression, format,
 * and the spelling of numbers. */
STRADS_API uint64_t strads_data_checksum(const strads_data *data);

/* Returns 1 if indices in the file start at 1 (all formats except ldac), else
 * 0. Add it to a column's number that people see or that a model contains. */
STRADS_API uint64_t strads_data_index_base(const strads_data *data);

/* Returns the bytes of memory that the data set uses. */
STRADS_API uint64_t strads_data_bytes(const strads_data *data);

/* Return the names of rows and columns; NULL if they have numbers only. Valid
 * as long as `data`, or options->row_names and col_names. */
STRADS_API const strads_names *strads_data_row_names(const strads_data *data);
STRADS_API const strads_names *strads_data_col_names(const strads_data *data);

/* Returns whether the names of the columns are the ids of words that a corpus
 * has in place of numbers without gaps, see strads_data_options.numbered. */
STRADS_API bool strads_data_col_ids(const strads_data *data);

/* Returns the means [cols] that replaced missing fields of a table, 0 for
 * one-hot columns; NULL unless options->missing is "mean". Valid as long as
 * `data`. */
STRADS_API const double *strads_data_col_means(const strads_data *data);

/* Returns the names of labels in order (options->named_labels); NULL if labels
 * are numbers or absent. Valid as long as `data`, or options->label_names. */
STRADS_API const strads_names *strads_data_label_names(const strads_data *data);

/* Returns the number of entries that were dropped because the name of their row
 * or column is not among the known names. */
STRADS_API uint64_t strads_data_unknown(const strads_data *data);

/* The rules by which words of a text were dropped. */
typedef struct strads_word_rules {
    const char *stop_language; /* NULL: none */
    uint32_t min_df;           /* 0 or 1: none */
    double max_df;             /* 0: none */
} strads_word_rules;

STRADS_API strads_word_rules strads_data_word_rules(const strads_data *data);

/* Returns the number of repeated entries in the kept part that were merged:
 * words of a text, ratings replaced by a later one. strads_data_nnz and
 * strads_data_col_nnz still count them. */
STRADS_API uint64_t strads_data_repeated(const strads_data *data);

/* Returns the share of a partition; NULL if this process does not keep it.
 * Valid as long as `data`. */
STRADS_API const strads_share *strads_data_share(const strads_data *data,
                                                 uint32_t partition);

/* Classifies a file of STRADS_KIND_DOCUMENTS by its beginning:
 * STRADS_KIND_CORPUS for MatrixMarket's banner, a first line with one number,
 * or one with a number and `word:count`; STRADS_KIND_TEXT otherwise. Errors as
 * strads_data_read. Blocks. Any thread. */
STRADS_API strads_err strads_data_find_kind(const char *path,
                                            strads_kind *found);

/* Reads a text, a folder or a table's column document by document, in the
 * calling thread, and passes the words of each in order: word[i] is the number
 * of a name of options->col_names, or UINT32_MAX for another word. Also uses
 * phrases, text_column, kind and memory_limit. The first error of `take` ends
 * the reading and is returned. STRADS_EINVAL: no col_names. STRADS_EFORMAT: the
 * file has counts; otherwise as strads_data_read. */
typedef strads_err strads_take_words(void *arg, const uint32_t *word,
                                     uint64_t n);
STRADS_API strads_err strads_data_read_words(const char *path,
                                             const strads_data_options *options,
                                             strads_take_words *take,
                                             void *arg);

/* Finds phrases of a text: pairs of words a, b that follow each other at least
 * `least` times, are neither stop words (stop_words, stop_language) nor numbers
 * (trim_words), and have a normalised pointwise mutual information
 *
 *     log (p_ab / (p_a p_b)) / -log p_ab
 *
 * of STRADS_PHRASE_NPMI or more, with p the share of all words (Bouma 2009).
 * The caller frees *out, names `a_b`. STRADS_EINVAL: `least` is 0. Otherwise as
 * strads_data_read_words. */
#define STRADS_PHRASE_NPMI 0.5
STRADS_API strads_err
strads_data_find_phrases(const char *path, const strads_data_options *options,
                         uint32_t least, strads_names **out);

/* Sets the weights of rows, from 0 up, for programs that use them (lasso, glm,
 * logistic, svm, their paths and cross-validations) if their options have no
 * weights. `weight` [n], copied, has the kept rows in order. The checksum
 * excludes weights. Call it before the run, while other threads do not use the
 * data. STRADS_EINVAL: another number of rows is kept, or a weight is below 0
 * or not finite. STRADS_ENOMEM. */
STRADS_API strads_err strads_data_weigh(strads_data *data, const double *weight,
                                        uint64_t n);

/* Releases the data to the next run: a program that has copied a share's
 * entries into another form may free their memory. They read as 0 afterwards;
 * sizes, counts, names and labels remain. Call it before the run, while other
 * threads do not use the data. */
STRADS_API void strads_data_spend(strads_data *data);

/* Lets go of the memory of a share's entries that lie on disk
 * (strads_data_options.scratch): they are read again when they are used. For
 * long passes over them. Does nothing for entries in memory. Any thread. */
STRADS_API void strads_share_evict(const strads_share *share);

/* Frees the memory of by_row's entries of rows [begin, end), counted within the
 * share, in whole pages, if strads_data_spend was called; otherwise does
 * nothing. Only the worker of the share may call it. */
STRADS_API void strads_share_spend(const strads_share *share, uint64_t begin,
                                   uint64_t end);

/* Frees the memory of by_col's entries of columns [begin, end), likewise. */
STRADS_API void strads_share_spend_cols(const strads_share *share,
                                        uint64_t begin, uint64_t end);

/* Summarises a file without keeping the matrix. Errors as strads_data_read. */
STRADS_API strads_err strads_data_summarize(const char *path,
                                            const strads_data_options *options,
                                            strads_data_summary *out);

#ifdef __cplusplus
}
#endif

#endif
