/* The shortest digits of a double, exactly, by whole numbers of 128 bits.
 *
 * value = m 2^q with m < 2^53. Where 10^e <= value < 10^(e+1), p = 17 - e and
 * s = -(q + p),
 *
 *     value 10^p = m 5^p / 2^s        has 18 digits before its point.
 *
 * X = m 5^p has at most 53 + 63 bits for p <= 27, so nothing is rounded, and
 * value's neighbours are 5^p to either side of X: a decimal C reads back where
 * |2^s C - X| < 5^p / 2. It never lies on that bound, for 5^p is odd. Below a
 * power of two the neighbour is half as far. */
#include "engine/base/shortest_digits.h"

#include <math.h>

#define SCALE 17 /* digits behind the first one in value 10^p */
/* From here on p <= 27 (5^27 < 2^63), where the exponent is first taken for
 * one less, too; up to there no s is below 0. */
#define LEAST 1e-9
#define BELOW 1e15

__extension__ typedef unsigned __int128 wide;

static const uint64_t pow10_18 = 1000000000000000000U;

/* value 10^p = x / 2^shift, five = 5^p, p = SCALE - exponent. */
typedef struct {
    wide x;
    uint64_t five;
    int shift;
    bool power_of_two;
} scaled;

static uint64_t power_of_five(int p)
{
    uint64_t five = 1;
    while (p-- > 0) {
        five *= 5;
    }
    return five;
}

static scaled scale(uint64_t m, int q, int exponent)
{
    int p = SCALE - exponent;
    scaled out = {.five = power_of_five(p),
                  .shift = -(q + p),
                  .power_of_two = m == UINT64_C(1) << 52};
    out.x = (wide)m * out.five;
    return out;
}

static bool reads_back(const scaled *v, uint64_t decimal)
{
    wide c = (wide)decimal << v->shift;
    bool below = c < v->x;
    wide off = below ? v->x - c : c - v->x;
    return off * (below && v->power_of_two ? 4 : 2) < v->five;
}

/* The nearest multiple of unit, the even one of two that are as near. */
static uint64_t round_to(const scaled *v, uint64_t unit)
{
    uint64_t whole = (uint64_t)(v->x >> v->shift);
    bool more = ((wide)whole << v->shift) != v->x;
    uint64_t count = whole / unit;
    uint64_t left = 2 * (whole % unit);
    bool up = left > unit || (left == unit && (more || count % 2 == 1));
    return (count + up) * unit;
}

bool sti_shortest_digits(double value, sti_shortest *out)
{
    if (!(value >= LEAST && value < BELOW)) {
        return false;
    }
    int binary = 0;
    uint64_t m = (uint64_t)ldexp(frexp(value, &binary), 53);
    int q = binary - 53;
    /* log10(2) times the exponent is at most one below: then 19 digits. */
    int exponent = (int)floor((binary - 1) * 0.30102999566398);
    scaled v = scale(m, q, exponent);
    if (v.x >> v.shift >= pow10_18) {
        v = scale(m, q, ++exponent);
    }
    uint64_t decimal = 0;
    for (uint64_t unit = 1000; unit >= 10; unit /= 10) {
        decimal = round_to(&v, unit);
        if (reads_back(&v, decimal)) {
            break;
        }
    }
    if (decimal >= pow10_18) {
        exponent++;
    }
    while (decimal % 10 == 0) {
        decimal /= 10;
    }
    *out = (sti_shortest){decimal, exponent};
    return true;
}
