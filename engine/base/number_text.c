/* Numbers to text and back. Owns one "C" locale, made once and never freed. A
 * program that uses the library may have set another locale, which could write
 * 0.5 as "0,5". */
#include "engine/base/number_text.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* If memory runs out, this is (locale_t)0 and the thread keeps its own
 * locale. */
static locale_t use_plain(void)
{
    (void)pthread_once(&once, make_plain);
    return uselocale(plain);
}

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
/* The number digits * 10^(exponent + 1 - number of digits): its first digit has
 * the weight 10^exponent. */
typedef struct shortest {
    uint64_t digits;
    int exponent;
} shortest;

#define SCALE 17 /* digits after the first one in value 10^p */
/* The range of find_shortest. From LEAST on, p <= 27 (5^27 < 2^63), even if the
 * first guess of the exponent is one too low. Up to BELOW, s >= 0. */
#define LEAST 1e-9
#define BELOW 1e15

__extension__ typedef unsigned __int128 wide;

static const uint64_t pow10_18 = 1000000000000000000U;

/* value 10^p = x / 2^shift, five = 5^p, p = SCALE - exponent. */
typedef struct scaled {
    wide x;
    uint64_t five;
    int shift;
    bool power_of_two;
} scaled;

static uint64_t power_of_five(int p)
{
    uint64_t five = 1;
    while (p-- > 0)
        five *= 5;
    return five;
}

static scaled scale_value(uint64_t m, int q, int exponent)
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

/* Rounds to the nearest multiple of unit; ties go to the even one. */
static uint64_t round_to(const scaled *v, uint64_t unit)
{
    uint64_t whole = (uint64_t)(v->x >> v->shift);
    bool more = ((wide)whole << v->shift) != v->x;
    uint64_t count = whole / unit;
    uint64_t left = 2 * (whole % unit);
    bool up = left > unit || (left == unit && (more || count % 2 == 1));
    return (count + up) * unit;
}

/* Finds the nearest decimal of 15 digits that reads back as value, else of 16,
 * else of 17, and drops trailing zeros. Returns false, without a result,
 * outside [1e-9, 1e15), which needs wider products. */
static bool find_shortest(double value, shortest *out)
{
    if (!(value >= LEAST && value < BELOW))
        return false;
    int binary = 0;
    uint64_t m = (uint64_t)ldexp(frexp(value, &binary), 53);
    int q = binary - 53;
    /* This estimate from log10(2) is at most one too low; the value then has 19
     * digits. */
    int exponent = (int)floor((binary - 1) * 0.30102999566398);
    scaled v = scale_value(m, q, exponent);
    if (v.x >> v.shift >= pow10_18)
        v = scale_value(m, q, ++exponent);
    uint64_t decimal = 0;
    for (uint64_t unit = 1000; unit >= 10; unit /= 10) {
        decimal = round_to(&v, unit);
        if (reads_back(&v, decimal))
            break;
    }
    if (decimal >= pow10_18)
        exponent++;
    while (decimal % 10 == 0)
        decimal /= 10;
    *out = (shortest){decimal, exponent};
    return true;
}

/* Prints like printf's %.17g: the point after the first digit, and an exponent
 * of at least two digits. */
static size_t put_scientific(const char *digits, size_t n, int exponent,
                             char *out)
{
    return (size_t)snprintf(out, STI_NUMBER_SIZE, "%c%s%se%+03d", digits[0],
                            n > 1 ? "." : "", digits + 1, exponent);
}

/* Prints "0.00125" for exponent -3, "12.5" for 1, "12500" for 4. */
static size_t put_plain(const char *digits, size_t n, int exponent, char *out)
{
    char *at = out;
    size_t whole = exponent < 0 ? 0 : (size_t)exponent + 1;
    for (size_t k = 0; k < whole; k++)
        *at++ = k < n ? digits[k] : '0';
    if (exponent < 0)
        at = mempcpy(at, "0.000", (size_t)(1 - exponent));
    else if (n > whole)
        *at++ = '.';
    if (n > whole)
        at = mempcpy(at, digits + whole, n - whole);
    *at = '\0';
    return (size_t)(at - out);
}

/* Lays the digits out as printf's %.17g does. */
static size_t format_shortest(const shortest *number, char *out)
{
    char text[24];
    char *digits = text + sizeof text - 1;
    size_t n = 0;
    *digits = '\0';
    for (uint64_t left = number->digits; left > 0; left /= 10, n++)
        *--digits = (char)('0' + left % 10);
    return number->exponent < -4
               ? put_scientific(digits, n, number->exponent, out)
               : put_plain(digits, n, number->exponent, out);
}

/* Formats any finite number: tries 15, 16 and 17 digits until one reads
 * back. */
static size_t format_any(double value, char *out)
{
    size_t length = 0;
    locale_t before = use_plain();
    for (int digits = 15; digits <= 17; digits++) {
        length = (size_t)snprintf(out, STI_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
    }
    (void)uselocale(before);
    return length;
}

size_t sti_number_format(double value, char out[STI_NUMBER_SIZE])
{
    shortest number;
    if (!isfinite(value))
        return (size_t)snprintf(out, STI_NUMBER_SIZE, "null");
    if (value == 0 && signbit(value)) /* "-0" would be read as the integer 0 */
        return (size_t)snprintf(out, STI_NUMBER_SIZE, "-0.0");
    if (!find_shortest(fabs(value), &number))
        return format_any(value, out);
    size_t sign = value < 0;
    *out = '-';
    return sign + format_shortest(&number, out + sign);
}

/* Rejects the forms that strtod accepts beyond a plain decimal: blanks, words,
 * hexadecimal. */
static bool looks_decimal(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0' &&
           strpbrk(text, "0123456789") != NULL;
}

bool sti_number_parse(const char *text, double *out)
{
    if (!looks_decimal(text))
        return false;
    char *end = NULL;
    locale_t before = use_plain();
    double value = strtod(text, &end);
    (void)uselocale(before);
    if (*end != '\0' || end == text || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool sti_number_parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (*text == '\0')
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}
