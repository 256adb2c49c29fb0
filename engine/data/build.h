/* engine/data/build.h - making a data set from counts and then entries.
 *
 *   begin    the counts are known: cut, allocate
 *   count    only when sti_build_must_count: every entry once more, counted
 *   open     entries may be placed
 *   place    every entry once, in any order that the writers allow
 *   order    lines that were filled in any order
 *   finish   check, cut, hand out */
#ifndef STI_DATA_BUILD_H
#define STI_DATA_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/text.h"
#include "engine/data/whole.h"
#include "strads/data.h"
#include "strads/names.h"

/* ---- what is counted first ---------------------------------------------- */

/* What a run on so many rows, columns and entries needs at least. */
typedef struct sti_needs {
    uint64_t rows, cols, nnz;
    uint64_t count;  /* bytes to count them, */
    uint64_t data;   /* of what this process keeps, */
    uint64_t beside; /* and of what the options announce */
} sti_needs;

sti_needs sti_needs_of(const strads_data_options *options, uint64_t rows,
                       uint64_t cols, uint64_t nnz);

/* STRADS_ENOMEM with the numbers when that is more than may be used. */
strads_err sti_needs_check(const char *path, const strads_data_options *options,
                           const sti_needs *needs);

/* What one chunk of rows holds. Counts are of entries. */
typedef struct sti_tally {
    uint32_t *col; /* [col_capacity], by column */
    uint64_t col_capacity;
    uint32_t *row; /* [row_capacity], by row of the chunk */
    uint64_t row_capacity;
    uint64_t cols, rows, nnz;
    sti_needs needs; /* what was too much, where something was */
} sti_tally;

/* The sizes of a whole text. */
typedef struct sti_totals {
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz;  /* [cols] */
    uint32_t *row_nnz;  /* [rows] */
    sti_tally *tallies; /* by row: one a chunk, their `col` kept */
    size_t count;
    const strads_data_options *options;
    uint64_t source;      /* bytes of the file, packed or not */
    uint64_t width_limit; /* columns that a tally may have; 0: any */
    bool too_wide;        /* result: a tally met that limit */
} sti_totals;

/* Counts text that goes row by row, in chunks; `pass` has text, parser, chunks.
 * The rows before each chunk are put into its first_row. When the columns are
 * so many that a count of each per chunk would outweigh the matrix, the pass
 * is run again with fewer chunks: `pass->count` may shrink. */
strads_err sti_count_rows(sti_totals *counts, sti_pass *pass,
                          uint64_t min_cols);

/* Counts entries in any order; the sizes are the header's. */
strads_err sti_count_sized(sti_totals *counts, sti_pass *pass,
                           uint64_t min_cols);

void sti_totals_free(sti_totals *counts);

/* Gives up what only the placing pass of one chunk needed. */
void sti_totals_free_tallies(sti_totals *counts);

/* ---- one orientation ---------------------------------------------------- */

enum { STI_OVERREAD = 16 };

/* Who may write to the same line of a part at the same time. */
typedef enum sti_writers {
    STI_WRITERS_ONE,     /* one chunk a line */
    STI_WRITERS_PRIVATE, /* every chunk has its own place in each line */
    STI_WRITERS_ATOMIC   /* anybody; lines must be ordered afterwards */
} sti_writers;

/* A rectangle of the matrix in one orientation. While it is built start[k + 1]
 * is the place of line k's next entry, counted over all parts of the side; in
 * the end that is where line k + 1 begins. */
typedef struct sti_part {
    strads_range line;  /* columns of the data set (by_col), or rows */
    strads_range minor; /* the other way round */
    uint64_t *start;    /* [line.end - line.begin + 1] */
    uint64_t base;      /* where its entries begin */
    uint64_t nnz;
} sti_part;

/* One orientation of what a process keeps: parts one after the other. */
typedef struct sti_side {
    bool wanted;
    bool by_col;
    bool lent; /* index and values are somebody else's, complete from the start,
                   and never written */
    bool cross; /* cut along minor indices: a part for each partition */
    sti_writers writers;
    sti_part *parts;
    uint32_t count;
    uint64_t nnz;
    uint64_t capacity; /* entries that index and values were made for */
    uint64_t *start;   /* of all parts, with room to rebase them */
    uint64_t start_capacity;
    uint32_t *index; /* [capacity] */
    double *f64;
    float *f32;
    uint64_t **places; /* PRIVATE: of chunks 0 .. private - 1; the last one's */
    size_t private;    /* are start + 1 */
} sti_side;

/* Bytes that the arrays of a side take, private places not counted. */
uint64_t sti_side_bytes(const sti_side *side, strads_scalar values);

/* Allocates start, or index and values, of a side whose parts have their
 * ranges; `spare` starts are kept for sti_side_rebase. false: no memory. */
bool sti_side_make_starts(sti_side *side, uint32_t spare);
bool sti_side_make_entries(sti_side *side, strads_scalar values);

/* Counts a batch into the starts of a cross side. */
void sti_side_count(sti_side *side, const sti_batch *batch);

/* Turns counts (start[k + 1] entries in line k) into places. */
void sti_side_open(sti_side *side);

/* Makes places for `chunks` writers of one part from each one's counts by line
 * of the data set; false: no memory. */
bool sti_side_open_private(sti_side *side, uint32_t *const *counts,
                           const uint64_t *lines, size_t chunks);

/* Puts a batch of `chunk` in its places. False when there are more entries than
 * were counted. */
bool sti_side_place(sti_side *side, size_t chunk, const sti_batch *batch);

/* An entry that a file holds twice. */
typedef struct sti_twice {
    bool found;
    uint64_t line, minor;
} sti_twice;

/* Orders every line by index, on `threads` threads; reports the first entry
 * that is there twice. */
sti_twice sti_side_order(sti_side *side, uint32_t threads);

/* Every place was filled: each line ends where the next one begins. */
bool sti_side_is_full(const sti_side *side);

/* Replaces the one part by one for each of `count` neighbouring ranges. False:
 * no memory. */
bool sti_side_split(sti_side *side, const uint64_t *bounds, uint32_t count);

/* Counts the starts of each part from its own first entry. */
void sti_side_rebase(sti_side *side);

void sti_side_free_places(sti_side *side);
void sti_side_free(sti_side *side);

struct strads_data {
    uint64_t rows, cols, nnz;
    uint64_t checksum;
    uint64_t index_base;
    uint32_t *col_nnz;    /* [cols] */
    uint32_t *row_nnz;    /* [rows]; NULL without STRADS_LAYOUT_ROWS */
    uint64_t *row_bounds; /* [partitions + 1]; all 0 under SPLIT_COLS */
    uint32_t partitions, keep_first, keep_count;
    uint32_t grid_cols;   /* partitions to a range of rows */
    strads_share *shares; /* [keep_count] */
    sti_side by_col, by_row;
    double *label; /* [label_count]; NULL when there are none */
    uint64_t label_count;
    double *weight; /* of the rows that are held, or NULL */
    uint64_t bytes;
    const strads_names *row_names, *col_names;
    strads_names *own_row_names, *own_col_names; /* where made by the reader */
    const strads_names *label_names;
    strads_names *own_label_names;
    double *own_col_means;
    uint64_t unknown, repeated;
};

/* Options with every default filled in. */
strads_err sti_data_options(const strads_data_options *given,
                            strads_data_options *out);

/* The checksum of a data set.
 *
 * The sum, modulo 2^64, of XXH3-64(row, column, value) over all entries, and
 * likewise of the labels, and of what they are called, hashed once more with
 * the sizes. A sum does not care in which order, by whom or from which format
 * entries were read. */

typedef struct sti_digest {
    uint64_t rows, cols, nnz;
    uint64_t has_labels;
    uint64_t entry_sum;
    uint64_t label_sum;
} sti_digest;

uint64_t sti_digest_entries(const sti_batch *batch);
uint64_t sti_digest_label(uint64_t row, double label);
uint64_t sti_digest_finish(const sti_digest *digest);

typedef struct sti_build {
    const char *name; /* of the source, for sentences */
    strads_data_options options;
    sti_totals *counts;
    bool has_labels;
    bool shared; /* several chunks may place into the same line, in any order */
    uint64_t *row_bounds; /* [partitions + 1] */
    uint64_t *col_bounds;
    strads_range rows; /* whose labels are kept */
    strads_data *data;
    sti_digest digest;     /* its sums are added to atomically */
    sti_value_range range; /* of ratings that are stored as f32 */
} sti_build;

/* The build's first five fields are set, the rest is 0. counts->col_nnz moves
 * to the data set; so does counts->row_nnz, at its end, where rows are kept. */
strads_err sti_build_begin(sti_build *build);

/* Makes the arrays, but of a side that is lent the starts only. */
strads_err sti_build_allocate(sti_build *build);

/* A side is cut across its lines: what a line has in each part is not known. */
bool sti_build_must_count(const sti_build *build);
extern const sti_sink sti_build_count_sink; /* context: the build */

/* Whether private places for so many chunks cost little beside the matrix. */
bool sti_build_affords(const sti_build *build, size_t chunks);

/* `tallies` (NULL: none) holds each chunk's counts by column: then chunks whose
 * rows follow each other may place into the same column. */
strads_err sti_build_open(sti_build *build, const sti_tally *tallies,
                          size_t chunks);
extern const sti_sink sti_build_place_sink; /* context: the build */

/* The labels of the rows `of`, for a source that does not bring them with its
 * rows: of all rows, or of those that a part has. */
void sti_build_give_labels(sti_build *build, strads_range of,
                           const double *labels);

/* Every entry was placed. Puts lines in order, unless the source did; an entry
 * found twice is reported as *twice (row in line, column in minor) and is no
 * error of this function. STRADS_EIO: fewer entries than were counted. */
strads_err sti_build_order(sti_build *build, bool ordered, sti_twice *twice);

strads_err sti_build_finish(sti_build *build, strads_data **out);

/* As strads_data_from_arrays; `name` is what sentences call the source. With
 * `others` a label may also be the number of names, for one without a name. */
strads_err sti_data_from_arrays(const char *name, const strads_arrays *arrays,
                                bool others, const strads_data_options *options,
                                strads_data **out);

/* NULL is not allowed, a build that only was begun is. */
void sti_build_free(sti_build *build);

/* Naming the two lines of a MatrixMarket entry
 * that is there twice. */

/* Reads the text of `pass` once more; STRADS_EFORMAT with a sentence that holds
 * both lines. `twice` has the row in line and the column in minor. */
strads_err sti_duplicate_fail(const sti_pass *pass, const sti_twice *twice);

/* What becomes of an entry that is there more than once. */
typedef enum sti_repeats {
    STI_REPEATS_REFUSE,
    STI_REPEATS_ADD, /* they are added up */
    STI_REPEATS_LAST /* the last one in the file counts */
} sti_repeats;

/* Makes one entry of those with the same row and column, in every part of a
 * build whose lines are in order: what sti_build_order has found, before
 * sti_build_finish. ADD: their sum. LAST: the last one in the text of `pass`,
 * which is read once more for that. STRADS_ENOMEM, and what a pass may end
 * with. */
strads_err sti_repeats_merge(sti_build *build, const sti_pass *pass,
                             sti_repeats repeats);

#endif
