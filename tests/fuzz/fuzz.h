/* tests/fuzz/fuzz.h - targets for libFuzzer: each takes bytes that a file or
 * a peer could have sent. */
#ifndef STRADS_TEST_FUZZ_H
#define STRADS_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct fuzz_target {
    const char *name; /* also of its seeds below tests/fuzz/seeds */
    void (*take)(const uint8_t *bytes, size_t size);
} fuzz_target;

/* Each list ends with a target without a name. */
extern const fuzz_target fuzz_files[], fuzz_peers[];

/* Returns a path that can be opened as a file with these bytes, until the
 * next call with the same `place`, 0 or 1. */
const char *fuzz_path(int place, const uint8_t *bytes, size_t size);

/* A number below `limit`, determined by the size and content of the bytes;
 * `salt` distinguishes uses. */
uint32_t fuzz_choose(const uint8_t *bytes, size_t size, uint32_t salt,
                     uint32_t limit);

/* Aborts the process if `holds` is false, so that libFuzzer keeps the input. */
void fuzz_require(int holds, const char *what);

#endif
