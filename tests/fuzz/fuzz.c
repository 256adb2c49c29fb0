/* One program for all targets: STRADS_FUZZ selects the target. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const fuzz_target *target;

const char *fuzz_path(int place, const uint8_t *bytes, size_t size)
{
    static char path[2][32];
    static int fd[2] = {-1, -1};
    if (fd[place] >= 0)
        (void)close(fd[place]);
    fd[place] = memfd_create("fuzz", MFD_CLOEXEC);
    const ssize_t n = size > 0 ? write(fd[place], bytes, size) : 0;
    fuzz_require(fd[place] >= 0 && (size_t)n == size, "a file in memory");
    (void)snprintf(path[place], sizeof path[place], "/proc/self/fd/%d",
                   fd[place]);
    return path[place];
}

uint32_t fuzz_choose(const uint8_t *bytes, size_t size, uint32_t salt,
                     uint32_t limit)
{
    /* Depends on the first bytes only, so that most mutations change nothing
     * except the text. */
    const size_t n = size < 16 ? size : 16;
    return (uint32_t)(XXH3_64bits_withSeed(bytes, n, salt) % limit);
}

void fuzz_require(int holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "fuzz: does not hold: %s\n", what);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const fuzz_target *const all[] = {fuzz_files, fuzz_peers};
    const char *name = getenv("STRADS_FUZZ");
    (void)argc, (void)argv;
    for (size_t k = 0; k < 2; k++)
        for (const fuzz_target *t = all[k]; t->name; t++)
            if (!name)
                (void)puts(t->name);
            else if (strcmp(t->name, name) == 0)
                target = t;
    if (!target) {
        if (name)
            (void)fprintf(stderr, "fuzz: there is no target %s\n", name);
        exit(name != NULL);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    target->take(bytes, size);
    return 0;
}
