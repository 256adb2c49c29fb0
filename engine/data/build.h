/* engine/data/build.h - making a data set from counts and then entries.
 *
 *   begin    the counts are known: cut, allocate
 *   count    only if sti_build_must_count: every entry once more, counted
 *   open     entries may be placed
 *   place    every entry once, in any order that the writers allow
 *   order    sorts lines that were filled in any order
 *   finish   check, cut, return the data set */
#ifndef STI_DATA_BUILD_H
#define STI_DATA_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/text.h"
#include "engine/data/whole.h"
#include "strads/data.h"
#include "strads/names.h"
#include "strads/pack.h"

/* ---- counts -------------------------------------------------------------- */

/* The least memory for a run on this many rows, columns and entries. */
typedef struct sti_needs {
    uint64_t rows, cols, nnz;
    uint64_t count;  /* bytes to count them, */
    uint64_t data;   /* for the data that this process keeps, */
    uint64_t beside; /* and announced by the options */
} sti_needs;

sti_needs sti_needs_of(const strads_data_options *options, uint64_t rows,
                       uint64_t cols, uint64_t nnz);

/* STRADS_ENOMEM, with the numbers, if the needs exceed the memory limit. */
strads_err sti_needs_check(const char *path, const strads_data_options *options,
                           const sti_needs *needs);

/* The counts of entries in one chunk of rows. */
typedef struct sti_tally {
    uint32_t *col; /* [col_capacity], by column */
    uint64_t col_capacity;
    uint32_t *row; /* [row_capacity], by row of the chunk */
    uint64_t row_capacity;
    uint64_t cols, rows, nnz;
    sti_needs needs; /* the needs that exceeded the limit, if any did */
} sti_tally;

/* True if `cols` columns of a corpus with `nnz` entries are ids with gaps: most
 * columns have no entry, and there are so many that their memory matters. */
static inline bool sti_has_id_gaps(uint64_t cols, uint64_t nnz)
{
    return cols > UINT64_C(1) << 20 && cols / 16 > nnz;
}

/* The sizes of a whole text. */
typedef struct sti_totals {
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz;  /* [cols] */
    uint32_t *row_nnz;  /* [rows] */
    sti_tally *tallies; /* by row: one per chunk, `col` is kept */
    size_t count;
    const strads_data_options *options;
    uint64_t source;      /* bytes of the file, compressed or not */
    uint64_t width_limit; /* columns that a tally may have; 0: any number */
    bool too_wide;        /* result: a tally reached that limit */
    bool watches_ids;     /* stop if columns may be ids with gaps */
    bool found_gaps;      /* result: they may be */
} sti_totals;

/* Counts text that goes row by row, in chunks; `pass` has text, parser,
 * chunks. Sets first_row of each chunk. If there are so many columns that one
 * count per column and chunk would outweigh the matrix, the pass runs again
 * with fewer chunks: `pass->count` may shrink. With watches_ids, it fails and
 * sets found_gaps if sti_has_id_gaps is true of a part of the text. */
strads_err sti_count_rows(sti_totals *counts, sti_pass *pass,
                          uint64_t min_cols);

/* Counts entries in any order; the header has the sizes. */
strads_err sti_count_sized(sti_totals *counts, sti_pass *pass,
                           uint64_t min_cols);

void sti_totals_free(sti_totals *counts);

/* Frees counts that only placing a single chunk needed. */
void sti_totals_free_tallies(sti_totals *counts);

/* ---- one orientation ----------------------------------------------------- */

enum { STI_OVERREAD = 16 };

/* Which chunks may write to the same line of a part at the same time. */
typedef enum sti_writers {
    STI_WRITERS_ONE,     /* one chunk per line */
    STI_WRITERS_PRIVATE, /* every chunk has its own place in each line */
    STI_WRITERS_ATOMIC   /* any; lines must be sorted afterwards */
} sti_writers;

/* A rectangle of the matrix in one orientation. During the build, start[k +
 * 1] is the place of line k's next entry, counted over all parts of the side.
 * At the end it is the beginning of line k + 1. */
typedef struct sti_part {
    strads_range line;  /* columns of the data set (by_col), or rows */
    strads_range minor; /* the other of the two */
    uint64_t *start;    /* [line.end - line.begin + 1] */
    uint64_t base;      /* place of its first entry */
    uint64_t nnz;
} sti_part;

/* The lines that one pass places: from (first_part, first_line) up to
 * (last_part, end_line), lines counted within their part. */
typedef struct sti_window {
    uint32_t first_part, last_part;
    uint64_t first_line, end_line;
    uint64_t first, end; /* places of their entries */
} sti_window;

/* Entries that lie in a file, see spill.c. While they are placed, index and
 * values of the side are those of the window; afterwards they are the mapped
 * file. */
typedef struct sti_spill sti_spill;

/* One orientation of the data that a process keeps: parts one after the
 * other. */
typedef struct sti_side {
    bool wanted;
    bool by_col;
    bool lent;  /* index and values belong to the caller, complete from the
                * start, and never written */
    bool cross; /* cut along minor indices: one part per partition */
    bool full;  /* every line has all minor indices, and there is no `index` */
    sti_writers writers;
    sti_part *parts;
    uint32_t count;
    uint64_t nnz;
    uint64_t capacity; /* allocated entries of index and values */
    uint64_t *start;   /* of all parts, with space to rebase them */
    uint64_t start_capacity;
    uint32_t *index; /* [capacity] */
    double *f64;
    float *f32;
    uint64_t **places; /* PRIVATE: of chunks 0 .. private - 1; the last chunk */
    size_t private;    /* uses start + 1 */
    sti_spill *spill;  /* entries on disk, or NULL */
} sti_side;

/* Bytes of the arrays of a side, without private places. */
uint64_t sti_side_bytes(const sti_side *side, strads_scalar values);

/* Allocates start, or index and values, of a side. The ranges of its parts
 * are set. Keeps `spare` starts for sti_side_rebase. Returns false if memory is
 * exhausted. */
bool sti_side_make_starts(sti_side *side, uint32_t spare);
bool sti_side_make_entries(sti_side *side, strads_scalar values);

/* Counts a batch into the starts of a cross side. */
void sti_side_count(sti_side *side, const sti_batch *batch);

/* Turns counts (start[k + 1] entries in line k) into places. */
void sti_side_open(sti_side *side);

/* Makes places for `chunks` writers of one part, from the counts of each
 * writer by line of the data set; false: no memory. */
bool sti_side_open_private(sti_side *side, uint32_t *const *counts,
                           const uint64_t *lines, size_t chunks);

/* Writes a batch of `chunk` to its places. Returns false if there are more
 * entries than were counted. */
bool sti_side_place(sti_side *side, size_t chunk, const sti_batch *batch);

/* A repeated entry. */
typedef struct sti_twice {
    bool found;
    uint64_t line, minor;
} sti_twice;

/* Sorts every line by index, on `threads` threads; returns the first
 * repeated entry. */
sti_twice sti_side_order(sti_side *side, uint32_t threads);

/* True if every place was filled: each line ends where the next one begins. */
bool sti_side_is_full(const sti_side *side);

/* Replaces the single part by one part for each of `count` adjacent ranges.
 * False: no memory. */
bool sti_side_split(sti_side *side, const uint64_t *bounds, uint32_t count);

/* Makes the starts of each part relative to its first entry. */
void sti_side_rebase(sti_side *side);

void sti_side_free_places(sti_side *side);
void sti_side_free(sti_side *side);

struct strads_data {
    uint64_t rows, cols, nnz;
    uint64_t checksum;
    bool unsummed; /* the checksum is computed when asked for: sti_data_sum */
    uint64_t index_base;
    uint32_t *col_nnz;    /* [cols] */
    uint32_t *row_nnz;    /* [rows]; NULL without STRADS_LAYOUT_ROWS */
    uint64_t *row_bounds; /* [partitions + 1]; all 0 under SPLIT_COLS */
    uint64_t *col_bounds; /* [partitions + 1] under SPLIT_COLS, or NULL */
    uint32_t partitions, keep_first, keep_count;
    uint32_t grid_cols;   /* partitions to a range of rows */
    strads_share *shares; /* [keep_count] */
    sti_side by_col, by_row;
    double *label; /* [label_count]; NULL when there are none */
    uint64_t label_count;
    double *weight; /* of the held rows, or NULL */
    uint64_t bytes;
    const strads_names *row_names, *col_names;
    strads_names *own_row_names, *own_col_names; /* if made by the reader */
    const strads_names *label_names;
    strads_names *own_label_names;
    double *own_col_means;
    bool col_ids; /* see strads_data_col_ids */
    uint64_t unknown, repeated;
    strads_word_rules word_rules;
    strads_pack *pack;  /* if it stays packed; then col_nnz is NULL */
    strads_data *times; /* the same entries, with their times, or NULL */
};

/* Fills in the defaults of all options. */
strads_err sti_data_options(const strads_data_options *given,
                            strads_data_options *out);

/* The checksum of a data set.
 *
 * The sums, modulo 2^64, of XXH3-64(row, column, value) over all entries, and
 * of the same hash over labels and label names, are hashed together with the
 * sizes. So the checksum depends neither on the order of entries, nor on the
 * process or format that they come from. */

typedef struct sti_digest {
    uint64_t rows, cols, nnz;
    uint64_t has_labels;
    uint64_t entry_sum;
    uint64_t label_sum;
} sti_digest;

uint64_t sti_digest_entries(const sti_batch *batch);

/* The checksum of a data set that keeps all partitions, from its shares. */
uint64_t sti_data_sum(const strads_data *data);
uint64_t sti_digest_label(uint64_t row, double label);
uint64_t sti_digest_finish(const sti_digest *digest);

typedef struct sti_build {
    const char *name; /* of the source, for messages */
    strads_data_options options;
    sti_totals *counts;
    bool has_labels;
    bool shared; /* several chunks may place into the same line, in any order */
    uint64_t *row_bounds; /* [partitions + 1] */
    uint64_t *col_bounds;
    strads_range rows; /* rows with kept labels */
    strads_data *data;
    sti_digest digest; /* its sums are added to atomically */
    uint32_t windows;  /* that are written */
    bool text; /* entries come from passes over a text, which can be repeated */
    sti_value_range range; /* of ratings that are stored as f32 */
} sti_build;

/* The caller sets the first five fields, the others are 0. counts->col_nnz
 * moves to the data set. If rows are kept, counts->row_nnz moves too, at the
 * end. */
strads_err sti_build_begin(sti_build *build);

/* Allocates the arrays; for a lent side, only the starts. */
strads_err sti_build_allocate(sti_build *build);

/* True if a side is cut across its lines: the entries per line and part are
 * then unknown. */
bool sti_build_must_count(const sti_build *build);
extern const sti_sink sti_build_count_sink; /* context: the build */

/* True if private places for this many chunks are small compared to the
 * matrix. */
bool sti_build_affords(const sti_build *build, size_t chunks);

/* `tallies` (NULL: none) holds each chunk's counts by column. With it,
 * chunks of consecutive rows may place into the same column. */
strads_err sti_build_open(sti_build *build, const sti_tally *tallies,
                          size_t chunks);
extern const sti_sink sti_build_place_sink; /* context: the build */

/* Sets the labels of the rows `of`, for a source that has its labels apart
 * from its rows: of all rows, or of the rows of a part. */
void sti_build_give_labels(sti_build *build, strads_range of,
                           const double *labels);

/* Call after every entry was placed. Sorts lines, unless the source was
 * `ordered`. Reports a repeated entry as *twice (row in line, column in minor);
 * that is not an error of this function. STRADS_EIO: fewer entries than were
 * counted. */
strads_err sti_build_order(sti_build *build, bool ordered, sti_twice *twice);

strads_err sti_build_finish(sti_build *build, strads_data **out);

/* Like strads_data_from_arrays; `name` is the name of the source in
 * messages. With `others`, a label may also equal the number of names, for a
 * label without a name. */
strads_err sti_data_from_arrays(const char *name, const strads_arrays *arrays,
                                bool others, const strads_data_options *options,
                                strads_data **out);

/* ---- entries on disk: spill.c -------------------------------------------- */

/* Bytes of memory for a window onto so many bytes of entries. */
uint64_t sti_window_bytes(const strads_data_options *options, uint64_t bytes);
/* True if the options ask for a side on disk. */
bool sti_build_spills(const sti_build *build);
/* Begins after sti_build_open: makes the file. */
strads_err sti_spill_open(sti_build *build);
/* Moves to the next window; *more is false after the last one. Then each entry
 * is placed once for each window. */
strads_err sti_spill_next(sti_build *build, bool *more);
/* The window is placed: sorts its lines and writes them. */
strads_err sti_spill_write(sti_build *build);
/* All windows are written: maps the file. */
strads_err sti_spill_map(sti_build *build);
/* The entries of a side that is placed, or NULL: all. */
const sti_window *sti_spill_window(const sti_side *side);
/* The first repeated entry that was found. */
sti_twice sti_spill_twice(const sti_side *side);
void sti_spill_free(sti_side *side);
/* Sorts the lines of a window. Its index and values begin at window->first. */
sti_twice sti_side_order_window(sti_side *side, const sti_window *window,
                                uint32_t threads);

/* The build must not be NULL; sti_build_begin may be the only call before. */
void sti_build_free(sti_build *build);

/* Reports the two lines of a repeated MatrixMarket entry. */

/* Reads the text of `pass` once more. Returns STRADS_EFORMAT, with both
 * lines in the message. `twice` has the row in line and the column in minor. */
strads_err sti_duplicate_fail(const sti_pass *pass, const sti_twice *twice);

/* How repeated entries are handled. */
typedef enum sti_repeats {
    STI_REPEATS_REFUSE,
    STI_REPEATS_ADD, /* add them up */
    STI_REPEATS_LAST /* keep the last one in the file */
} sti_repeats;

/* Merges entries with the same row and column, in every part of a build with
 * sorted lines: call it between sti_build_order and sti_build_finish. ADD:
 * their sum. LAST: the last one in the text of `pass`, which is read once more
 * for that. STRADS_ENOMEM, and the errors of a pass. */
strads_err sti_repeats_merge(sti_build *build, const sti_pass *pass,
                             sti_repeats repeats);

#endif
