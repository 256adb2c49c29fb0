/* See sample.h. Criterion runs each test in a process of its own, so that each
 * starts with the first member. */
#include "tests/sample.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
enum { SHARE = 4 };
#else
enum { SHARE = 1 };
#endif

static unsigned number_from(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    const unsigned n = text ? (unsigned)strtoul(text, NULL, 10) : 0;
    return n > 0 ? n : otherwise;
}

bool sample_takes_next(unsigned n)
{
    static uint64_t state;
    static unsigned at, taken;
    const unsigned of = number_from("STRADS_SAMPLE", n * SHARE);
    if (state == 0)
        state = number_from("STRADS_SAMPLE_SEED", 1);
    else if (at == 0) {
        /* One of each `of` in a row, at random: no loop within another one
         * always has the same member. */
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        taken = (unsigned)(state >> 33) % of;
    }
    const bool takes = at == taken;
    at = (at + 1) % of;
    return takes;
}
