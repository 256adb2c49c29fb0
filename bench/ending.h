/* bench/ending.h - ends a program with a sentence when a call fails. */
#ifndef BENCH_ENDING_H
#define BENCH_ENDING_H

#include <stddef.h>

#include <strads/strads.h>

/* Ends the program with the error's sentence, unless it is STRADS_OK. */
void bench_check(strads_err err);

/* Zeroed memory for n elements of `size` bytes; n may be 0. Ends the program if
 * memory runs out. The caller frees it. */
void *bench_reserve(size_t n, size_t size);

#endif
