/* engine/data/survey.h - the first pass: how large is everything? */
#ifndef STI_DATA_SURVEY_H
#define STI_DATA_SURVEY_H

#include "engine/data/text_pass.h"
#include "strads/data.h"

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
    uint32_t *col; /* [col_room], by column */
    uint64_t col_room;
    uint32_t *row; /* [row_room], by row of the chunk */
    uint64_t row_room;
    uint64_t cols, rows, nnz;
    sti_needs needs; /* what was too much, where something was */
} sti_tally;

/* The sizes of a whole text. */
typedef struct sti_survey {
    uint64_t rows, cols, nnz;
    uint32_t *col_nnz;  /* [cols] */
    uint32_t *row_nnz;  /* [rows] */
    sti_tally *tallies; /* by row: one a chunk, their `col` kept */
    size_t count;
    const strads_data_options *options;
    uint64_t width_limit; /* columns that a tally may have; 0: any */
    bool too_wide;        /* result: a tally met that limit */
} sti_survey;

/* Counts text that goes row by row, in chunks; `pass` has text, parser, chunks.
 * The rows before each chunk are put into its first_row. When the columns are
 * so many that a count of each per chunk would outweigh the matrix, the pass
 * is run again with fewer chunks: `pass->count` may shrink. */
strads_err sti_survey_rows(sti_survey *survey, sti_pass *pass,
                           uint64_t min_cols);

/* Counts entries in any order; the sizes are the header's. */
strads_err sti_survey_sized(sti_survey *survey, sti_pass *pass,
                            uint64_t min_cols);

void sti_survey_free(sti_survey *survey);

/* Gives up what only the placing pass of one chunk needed. */
void sti_survey_free_tallies(sti_survey *survey);

#endif
