/* engine/data/scan.h - products of packed columns with a vector, without
 * unpacking them to memory: x_j'v for all columns of a chunk.
 *
 * Sums are formed in f32, in an order that depends on the processor's
 * instructions. Callers that decide by a product bound its rounding, or form it
 * again in f64. */
#ifndef STI_DATA_SCAN_H
#define STI_DATA_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/* Where the values of a chunk are. */
typedef enum sti_scan_values {
    STI_SCAN_EQUAL, /* all are table[0] */
    STI_SCAN_BYTES, /* table[byte] */
    STI_SCAN_FLOATS /* in `narrow` */
} sti_scan_values;

/* A chunk as sti_pack_load found it. */
typedef struct sti_scan_chunk {
    uint32_t cols;
    unsigned bits;
    uint64_t next_row; /* the row from which gaps count */
    uint32_t rows;     /* at most 2^31 - 1 */
    const uint8_t *gaps;
    const uint64_t *start; /* [cols + 1] */
    const uint32_t *skips; /* [cols] */
    sti_scan_values values;
    const uint8_t *bytes; /* BYTES: [start[cols]] and 64 readable ones */
    const float *table;   /* [256] */
    const float *narrow;  /* FLOATS: [start[cols]] and 16 readable ones */
} sti_scan_chunk;

/* dot[j] = x_j'v for all columns. The gaps lie within the chunk. False: a row
 * is out of range, and dot[] is not valid. */
typedef bool sti_scan_columns(const sti_scan_chunk *chunk, const float *v,
                              float *dot);

sti_scan_columns sti_scan_portable;

/* NULL if this processor or this build lacks the instructions. */
sti_scan_columns *sti_scan_avx2(void);
sti_scan_columns *sti_scan_avx512(void);

/* The version for strads_kernels(). */
sti_scan_columns *sti_scan_best(void);

#endif
