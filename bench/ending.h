/* bench/ending.h - programs that are run by hand end with a sentence when
 * something fails. */
#ifndef BENCH_ENDING_H
#define BENCH_ENDING_H

#include <stddef.h>

#include <strads/strads.h>

/* Ends the program with the error's sentence, unless it is STRADS_OK. */
void bench_check(strads_err err);

/* Zeroed memory for n things of `size` bytes, n may be 0; the program ends when
 * there is none. The caller's to free. */
void *bench_reserve(size_t n, size_t size);

#endif
