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

/* Whole numbers up to 2^53 are written as such: 100000, not 1e+05. */
static size_t format_whole(double value, char *out)
{
    return (size_t)snprintf(out, STI_NUMBER_SIZE, "%.0f", value);
}

size_t sti_number_format(double value, char out[STI_NUMBER_SIZE])
{
    size_t length = 0;
    if (!isfinite(value)) {
        return (size_t)snprintf(out, STI_NUMBER_SIZE, "null");
    }
    if (fabs(value) < 1e15 && value == trunc(value) && !signbit(value)) {
        return format_whole(value, out);
    }
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
