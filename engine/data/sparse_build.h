/* engine/data/sparse_build.h - from counted entries to compressed columns and
 * rows, in place: every array has its final size from the start. */
#ifndef STI_DATA_SPARSE_BUILD_H
#define STI_DATA_SPARSE_BUILD_H

#include "engine/data/text_pass.h"
#include "strads/data.h"

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
    bool cross; /* cut along minor indices: a part for each partition */
    sti_writers writers;
    sti_part *parts;
    uint32_t count;
    uint64_t nnz;
    uint64_t room;   /* entries that index and values were made for */
    uint64_t *start; /* of all parts, with room to rebase them */
    uint64_t start_room;
    uint32_t *index; /* [room] */
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

#endif
