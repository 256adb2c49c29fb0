/* engine/data/unpack.h - decodes the row gaps of packed columns.
 *
 * A column's gaps are codes of `bits` bits each, from the lowest bit of the
 * first byte on. Code c of an entry: its row is c behind the row after the one
 * before. The versions for AVX2, AVX-512 and NEON give the same rows as the
 * portable one. */
#ifndef STI_DATA_UNPACK_H
#define STI_DATA_UNPACK_H

#include <stdint.h>

/* A window of 32 bits holds a code at any of its eight places in a byte. */
enum { STI_UNPACK_BITS_MAX = 25, STI_UNPACK_OVERREAD = 64 };

/* Returned for a row at or beyond `rows`. */
#define STI_UNPACK_BAD UINT64_MAX

/* The rows that the codes of one column count from and stay below. */
typedef struct sti_unpack_range {
    uint64_t next; /* the first row that may have an entry */
    uint64_t rows; /* at most 2^32 - 2 */
} sti_unpack_range;

/* Decodes n codes to row[n]; returns the row after the last entry, or
 * STI_UNPACK_BAD. Reads up to STI_UNPACK_OVERREAD bytes behind the codes. bits
 * is at most STI_UNPACK_BITS_MAX. */
typedef uint64_t sti_unpack_rows(const uint8_t *codes, uint64_t n,
                                 unsigned bits, sti_unpack_range range,
                                 uint32_t *row);

sti_unpack_rows sti_unpack_portable;

/* NULL if this processor or this build lacks the instructions. */
sti_unpack_rows *sti_unpack_avx2(void);
sti_unpack_rows *sti_unpack_avx512(void);
sti_unpack_rows *sti_unpack_neon(void);

/* The version for strads_kernels(). */
sti_unpack_rows *sti_unpack_best(void);

#endif
