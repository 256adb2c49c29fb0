#include "bench/ending.h"

#include <stdio.h>
#include <stdlib.h>

void bench_check(strads_err err)
{
    if (!err)
        return;
    (void)fprintf(stderr, "%s: %s\n", strads_error_name(err),
                  strads_error_text());
    exit(1);
}

void *bench_reserve(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);

    if (!memory)
        bench_check(strads_fail(STRADS_ENOMEM, "no memory for %zu things", n));
    return memory;
}
