/* The distance between two names: optimal string alignment over short words.
 * Names longer than the bound are far from everything. */
#include "engine/base/nearest_name.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 48, FARTHEST = 3 };

static char fold(char letter)
{
    return letter == '_' ? '-' : letter;
}

static bool same(char a, char b)
{
    return fold(a) == fold(b);
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned align(const char *a, size_t n, const char *b, size_t m)
{
    unsigned d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++) {
        d[i][0] = (unsigned)i;
    }
    for (size_t j = 0; j <= m; j++) {
        d[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            unsigned kept = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
            d[i][j] = least(kept, 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
                same(a[i - 2], b[j - 1])) {
                d[i][j] = least(d[i][j], 1 + d[i - 2][j - 2]);
            }
        }
    }
    return d[n][m];
}

unsigned sti_nearest_distance(const char *wrong, const char *right)
{
    size_t n = strlen(wrong);
    size_t m = strlen(right);
    if (n >= 3 && n < m && strncmp(wrong, right, n) == 0) {
        return 1;
    }
    if (n > LONGEST || m > LONGEST) {
        return STI_NAME_FAR;
    }
    unsigned distance = align(wrong, n, right, m);
    if (distance > FARTHEST || 2 * (size_t)distance > (n > m ? n : m)) {
        return STI_NAME_FAR;
    }
    return distance;
}
