/* bench/bare_parts.h - what the loops without an engine share: they end with a
 * sentence, as programs do that are run by hand. */
#ifndef BENCH_BARE_PARTS_H
#define BENCH_BARE_PARTS_H

#include <stddef.h>

#include <strads/strads.h>

/* Ends the program with the error's sentence, unless it is STRADS_OK. */
void bench_check(strads_err err);

/* Zeroed memory for n things of `size` bytes, n may be 0; the program ends when
 * there is none. The caller's to free. */
void *bench_reserve(size_t n, size_t size);

#endif
