/* engine/data/data_build.h - making a data set from counts and then entries.
 *
 *   begin    the counts are known: cut, allocate
 *   count    only when sti_build_must_count: every entry once more, counted
 *   open     entries may be placed
 *   place    every entry once, in any order that the writers allow
 *   order    lines that were filled in any order
 *   finish   check, cut, hand out */
#ifndef STI_DATA_DATA_BUILD_H
#define STI_DATA_DATA_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/data_set.h"
#include "engine/data/readers.h"
#include "engine/data/sparse_build.h"
#include "engine/data/survey.h"
#include "engine/data/text_pass.h"
#include "strads/names.h"

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
/* Of what labels are called, to be added to label_sum; of NULL: 0. */
uint64_t sti_digest_label_names(const strads_names *names);
uint64_t sti_digest_finish(const sti_digest *digest);

/* Contiguous ranges of about equal weight. */

/* Cuts lines 0 .. lines - 1, line k holding nnz[k] entries (nnz == NULL: one
 * each), into `parts` ranges: part p is bounds[p] .. bounds[p + 1] - 1. Each
 * boundary is the one nearest to p / parts of all entries. */
void sti_partition_cut(const uint32_t *nnz, uint64_t lines, uint32_t parts,
                       uint64_t *bounds);

typedef struct sti_build {
    const char *name; /* of the source, for sentences */
    strads_data_options options;
    sti_survey *survey;
    bool has_labels;
    bool shared; /* several chunks may place into the same line, in any order */
    uint64_t *row_bounds; /* [partitions + 1] */
    uint64_t *col_bounds;
    strads_range rows; /* whose labels are kept */
    strads_data *data;
    sti_digest digest; /* its sums are added to atomically */
} sti_build;

/* The build's first five fields are set, the rest is 0. survey->col_nnz moves
 * to the data set; so does survey->row_nnz, at its end, where rows are kept. */
strads_err sti_build_begin(sti_build *build);

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

/* The labels of all rows, for a source that does not bring them with its
 * rows. */
void sti_build_give_labels(sti_build *build, const double *labels);

/* Every entry was placed. Puts lines in order, unless the source did; an entry
 * found twice is reported as *twice (row in line, column in minor) and is no
 * error of this function. STRADS_EIO: fewer entries than were counted. */
strads_err sti_build_order(sti_build *build, bool ordered, sti_twice *twice);

strads_err sti_build_finish(sti_build *build, strads_data **out);

/* NULL is not allowed, a build that only was begun is. */
void sti_build_free(sti_build *build);

/* Naming the two lines of a MatrixMarket entry
 * that is there twice. */

/* Reads the text of `pass` once more; STRADS_EFORMAT with a sentence that holds
 * both lines. `twice` has the row in line and the column in minor. */
strads_err sti_duplicate_fail(const sti_pass *pass, const sti_twice *twice);

/* Entries that may be there twice. */

/* Makes one entry of those with the same row and column, in every part of a
 * build whose lines are in order: what sti_build_order has found, before
 * sti_build_finish. ADD: their sum. LAST: the last one in the text of `pass`,
 * which is read once more for that. STRADS_ENOMEM, and what a pass may end
 * with. */
strads_err sti_repeats_merge(sti_build *build, const sti_pass *pass,
                             sti_repeats repeats);

#endif
