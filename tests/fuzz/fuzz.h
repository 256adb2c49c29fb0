/* tests/fuzz/fuzz.h - what libFuzzer is let loose on: each target takes bytes
 * that a file or a peer could have sent. */
#ifndef STRADS_TEST_FUZZ_H
#define STRADS_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct fuzz_target {
    const char *name; /* also of its seeds below tests/fuzz/seeds */
    void (*take)(const uint8_t *bytes, size_t size);
} fuzz_target;

/* Each ends with a target without a name. */
extern const fuzz_target fuzz_files[], fuzz_peers[];

/* A name under which `bytes` can be opened as a file until the next call with
 * the same `place`, 0 or 1. */
const char *fuzz_path(int place, const uint8_t *bytes, size_t size);

/* A number below `limit` that bytes of this size and content always have:
 * `salt` tells one use from another. */
uint32_t fuzz_choose(const uint8_t *bytes, size_t size, uint32_t salt,
                     uint32_t limit);

/* Ends the process, so that the input is kept. */
void fuzz_require(int holds, const char *what);

#endif
