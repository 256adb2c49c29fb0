/* Numbers to text and back. Owns one "C" locale, made once and never freed:
 * a program that uses the library may have set another, in which 0.5 is
 * written "0,5". */
#include "engine/base/number_text.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/shortest_digits.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain;

static void make_plain(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* (locale_t)0 where memory ran out: then the thread's own locale stays. */
static locale_t use_plain(void)
{
    (void)pthread_once(&once, make_plain);
    return uselocale(plain);
}

/* As printf's %.17g has it: the point behind the first digit, and at least two
 * digits of the exponent. */
static size_t put_scientific(const char *digits, size_t n, int exponent,
                             char *out)
{
    return (size_t)snprintf(out, STI_NUMBER_SIZE, "%c%s%se%+03d", digits[0],
                            n > 1 ? "." : "", digits + 1, exponent);
}

/* "0.00125" of exponent -3, "12.5" of 1, "12500" of 4. */
static size_t put_plain(const char *digits, size_t n, int exponent, char *out)
{
    char *at = out;
    size_t whole = exponent < 0 ? 0 : (size_t)exponent + 1;
    for (size_t k = 0; k < whole; k++) {
        *at++ = k < n ? digits[k] : '0';
    }
    if (exponent < 0) {
        at = mempcpy(at, "0.000", (size_t)(1 - exponent));
    } else if (n > whole) {
        *at++ = '.';
    }
    if (n > whole) {
        at = mempcpy(at, digits + whole, n - whole);
    }
    *at = '\0';
    return (size_t)(at - out);
}

/* As printf's %.17g lays these digits out. */
static size_t format_shortest(const sti_shortest *number, char *out)
{
    char text[24];
    char *digits = text + sizeof text - 1;
    size_t n = 0;
    *digits = '\0';
    for (uint64_t left = number->digits; left > 0; left /= 10, n++) {
        *--digits = (char)('0' + left % 10);
    }
    return number->exponent < -4
               ? put_scientific(digits, n, number->exponent, out)
               : put_plain(digits, n, number->exponent, out);
}

/* Any finite number, by trying. */
static size_t format_any(double value, char *out)
{
    size_t length = 0;
    locale_t before = use_plain();
    for (int digits = 15; digits <= 17; digits++) {
        length = (size_t)snprintf(out, STI_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
    (void)uselocale(before);
    return length;
}

size_t sti_number_format(double value, char out[STI_NUMBER_SIZE])
{
    sti_shortest number;
    if (!isfinite(value)) {
        return (size_t)snprintf(out, STI_NUMBER_SIZE, "null");
    }
    if (!sti_shortest_digits(fabs(value), &number)) {
        return format_any(value, out);
    }
    size_t sign = value < 0;
    *out = '-';
    return sign + format_shortest(&number, out + sign);
}

/* What strtod takes beyond a plain decimal: blanks, words, hexadecimal. */
static bool looks_decimal(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789+-.eE")] == '\0' &&
           strpbrk(text, "0123456789") != NULL;
}

bool sti_number_parse(const char *text, double *out)
{
    if (!looks_decimal(text)) {
        return false;
    }
    char *end = NULL;
    locale_t before = use_plain();
    double value = strtod(text, &end);
    (void)uselocale(before);
    if (*end != '\0' || end == text || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

bool sti_number_parse_u64(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return false;
        }
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = 10 * value + digit;
    }
    *out = value;
    return true;
}
