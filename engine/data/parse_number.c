/* The general number parser, exact for every input, and the portable twins
 * of the fast helpers. The first of three methods that is exact is used:
 *   1. at most 19 digits, below 2^53, |exponent| <= 22: one multiplication or
 *      division of exact doubles (Clinger 1990);
 *   2. at most 19 digits, exponent -27 .. 19: 128-bit integers, rounded half to
 *      even explicitly;
 *   3. all other input: strtod in the C locale. */
#include "engine/data/parse_number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

typedef unsigned __int128 wide;

/* A parsed number: digits x 10^exponent. */
typedef struct decimal {
    uint64_t digits;  /* the first 19 significant digits */
    unsigned counted; /* number of significant digits; those beyond 19 are
                       * dropped */
    bool negative;
    bool any; /* at least one digit, zeros included */
    long exponent;
} decimal;

unsigned sti_digits_portable(const char *p, uint64_t *value)
{
    unsigned digits = 0;
    uint64_t sum = 0;
    while (digits < 8 && p[digits] >= '0' && p[digits] <= '9')
        sum = sum * 10 + (uint64_t)(p[digits++] - '0');
    *value = sum;
    return digits;
}

const char *sti_token_end_portable(const char *p)
{
    while ((unsigned char)*p > ' ')
        p++;
    return p;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *take_digits(const char *p, const char *limit, decimal *d,
                               bool after_point)
{
    for (; p < limit && is_digit(*p); p++) {
        d->any = true;
        if (d->counted == 0 && *p == '0') {
            d->exponent -= after_point;
            continue;
        }
        if (d->counted < 19) {
            d->digits = d->digits * 10 + (uint64_t)(*p - '0');
            d->exponent -= after_point;
        } else {
            d->exponent += !after_point;
        }
        d->counted++;
    }
    return p;
}

/* An `e` is part of the number only if digits follow it. */
static const char *take_exponent(const char *p, const char *limit, decimal *d)
{
    if (p >= limit || (*p != 'e' && *p != 'E'))
        return p;
    const char *q = p + 1;
    bool negative = *q == '-';
    if (*q == '-' || *q == '+')
        q++;
    if (q >= limit || !is_digit(*q))
        return p;
    long value = 0;
    for (; q < limit && is_digit(*q); q++)
        value = value < 100000 ? value * 10 + (*q - '0') : value;
    d->exponent += negative ? -value : value;
    return q;
}

/* The double nearest to bits x 2^power; `sticky`: the exact value is
 * slightly larger. bits > 0. */
static double round_to_double(wide bits, bool sticky, int power)
{
    uint64_t high = (uint64_t)(bits >> 64);
    int length = high != 0 ? 128 - __builtin_clzll(high)
                           : 64 - __builtin_clzll((uint64_t)bits);
    int drop = length - 53;
    if (drop <= 0)
        return ldexp((double)(uint64_t)bits, power);
    uint64_t kept = (uint64_t)(bits >> drop);
    wide rest = bits & (((wide)1 << drop) - 1);
    wide half = (wide)1 << (drop - 1);
    if (rest > half || (rest == half && (sticky || (kept & 1) != 0)))
        kept++;
    return ldexp((double)kept, power + drop);
}

static uint64_t power_of(uint64_t base, long exponent)
{
    uint64_t result = 1;
    for (long i = 0; i < exponent; i++)
        result *= base;
    return result;
}

/* digits x 10^exponent for exponent in -27 .. 19: 5^27 and 10^19 fit in 64
 * bits, and the quotient keeps at least 64 significant bits. */
static double by_integers(uint64_t digits, long exponent)
{
    if (exponent >= 0)
        return round_to_double((wide)digits * power_of(10, exponent), false, 0);
    uint64_t divisor = power_of(5, -exponent);
    int shift = __builtin_clzll(digits);
    wide dividend = (wide)(digits << shift) << 64;
    wide quotient = dividend / divisor;
    bool sticky = quotient * divisor != dividend;
    return round_to_double(quotient, sticky, (int)exponent - 64 - shift);
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod uses the locale's decimal point; strtod_l uses the C locale's. */
static double by_library(const char *start, size_t length)
{
    char copy[STI_NUMBER_LONGEST + 1];
    memcpy(copy, start, length);
    copy[length] = '\0';
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale != (locale_t)0 ? strtod_l(copy, NULL, c_locale)
                                   : strtod(copy, NULL);
}

static double magnitude(const decimal *d, const char *start, size_t length)
{
    if (d->digits == 0)
        return 0;
    long e = d->exponent;
    if (d->counted > 19)
        return by_library(start, length);
    if (d->digits >> 53 == 0 && e >= -22 && e <= 22)
        return e < 0 ? (double)d->digits / sti_powers_of_ten[-e]
                     : (double)d->digits * sti_powers_of_ten[e];
    if (e >= -27 && e <= 19)
        return by_integers(d->digits, e);
    return by_library(start, length);
}

static sti_number_status not_a_number(const char *p)
{
    static const char *const words[] = {"nan", "inf"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t k = 0;
        while (k < 3 && (p[k] | 0x20) == words[i][k])
            k++;
        if (k == 3)
            return STI_NUMBER_SPELLED;
    }
    return STI_NUMBER_NONE;
}

sti_number_status sti_number_read_any(const char *p, const char **end,
                                      double *out)
{
    decimal d = {.negative = *p == '-'};
    if (*p == '-' || *p == '+')
        p++;
    const char *start = p;
    const char *limit = p;
    while (limit - p <= STI_NUMBER_LONGEST && (unsigned char)*limit > ' ')
        limit++;
    p = take_digits(p, limit, &d, false);
    if (p < limit && *p == '.')
        p = take_digits(p + 1, limit, &d, true);
    if (!d.any)
        return not_a_number(start);
    p = take_exponent(p, limit, &d);
    if (p - start > STI_NUMBER_LONGEST)
        return STI_NUMBER_LONG;
    double value = magnitude(&d, start, (size_t)(p - start));
    if (isinf(value))
        return STI_NUMBER_HUGE;
    *out = d.negative ? -value : value;
    *end = p;
    return STI_NUMBER_OK;
}
