/* engine/data/parse_number.h - decimal text to numbers, correctly rounded.
 *
 * All functions here may read STI_TEXT_SLACK bytes of any value beyond the
 * text; the owner of the text provides them. A token ends at the first byte
 * that cannot belong to it; the caller checks the following byte. */
#ifndef STI_DATA_PARSE_NUMBER_H
#define STI_DATA_PARSE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { STI_TEXT_SLACK = 64, STI_NUMBER_LONGEST = 1000 };

typedef enum sti_number_status {
    STI_NUMBER_OK = 0,
    STI_NUMBER_NONE,    /* no number starts here */
    STI_NUMBER_HUGE,    /* beyond the largest double */
    STI_NUMBER_SPELLED, /* NaN or an infinity, spelled out */
    STI_NUMBER_LONG     /* more than STI_NUMBER_LONGEST characters */
} sti_number_status;

/* Reads the number at p: [+-] digits [. digits] [e [+-] digits], with at
 * least one digit before the exponent. On STI_NUMBER_OK *out is the double
 * nearest to it and *end the byte after it. It handles every number;
 * sti_number_read is faster. */
sti_number_status sti_number_read_any(const char *p, const char **end,
                                      double *out);

/* Reads up to eight digits at p to *value; returns their number. A test
 * compares both versions. */
unsigned sti_digits_portable(const char *p, uint64_t *value);

/* The first byte at or after p that is a space or a control character. */
const char *sti_token_end_portable(const char *p);

static const double sti_powers_of_ten[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                             1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                                             1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t sti_small_powers[9] = {1,       10,       100,
                                             1000,    10000,    100000,
                                             1000000, 10000000, 100000000};

static inline uint64_t sti_load8(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Handles eight bytes at a time in one register. A byte is a digit if it is
 * below 10 after '0' is subtracted. The digits are shifted to the high end,
 * with zeros before them, and then added up in pairs, fours and eights. */
static inline unsigned sti_digits_swar(const char *p, uint64_t *value)
{
    uint64_t word = sti_load8(p) ^ 0x3030303030303030u;
    uint64_t other = ((word & 0x7F7F7F7F7F7F7F7Fu) + 0x7676767676767676u);
    other = (other | word) & 0x8080808080808080u;
    if (other != 0) {
        unsigned digits = (unsigned)__builtin_ctzll(other) >> 3;
        /* Two shifts, because with no digits the distance is 64. */
        word = word << (8 * (7 - digits)) << 8;
        word = (word * 10) + (word >> 8);
        word = (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
                (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
               32;
        *value = word;
        return digits;
    }
    word = (word * 10) + (word >> 8);
    *value = (((word & 0x000000FF000000FFu) * 0x000F424000000064u) +
              (((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
             32;
    return 8;
}

static inline unsigned sti_digits(const char *p, uint64_t *value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return sti_digits_swar(p, value);
#else
    return sti_digits_portable(p, value);
#endif
}

#if defined(__SSE2__)
static inline unsigned sti_blanks_of_16(const char *p)
{
    const __m128i blank = _mm_set1_epi8(' ');
    __m128i text = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(text, blank), text);
    return (unsigned)_mm_movemask_epi8(low);
}

static inline const char *sti_token_end_sse2(const char *p)
{
    for (;;) {
        unsigned mask = sti_blanks_of_16(p) | sti_blanks_of_16(p + 16) << 16;
        if (mask != 0)
            return p + __builtin_ctz(mask);
        p += 32;
    }
}
#endif

/* Like sti_token_end, but '#' also ends a token. */
static inline const char *sti_entry_end(const char *p)
{
#if defined(__SSE2__)
    const __m128i blank = _mm_set1_epi8(' ');
    const __m128i hash = _mm_set1_epi8('#');
    for (;; p += 16) {
        const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(text, blank), text);
        const unsigned mask = (unsigned)_mm_movemask_epi8(
            _mm_or_si128(low, _mm_cmpeq_epi8(text, hash)));
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
#else
    while ((unsigned char)*p > ' ' && *p != '#')
        p++;
    return p;
#endif
}

static inline const char *sti_token_end(const char *p)
{
#if defined(__SSE2__)
    return sti_token_end_sse2(p);
#else
    return sti_token_end_portable(p);
#endif
}

/* The fast path for most numbers in files: at most 8 digits before the point
 * and 16 after it, below 2^53 as one integer, followed by a blank. That integer
 * and the power of ten are exact doubles, so one division rounds correctly.
 * Returns false for all other input, valid or not. */
__attribute__((always_inline)) static inline bool
sti_number_quick(const char *p, const char **end, double *out)
{
    uint64_t negative = *p == '-';
    p += (size_t)(negative | (uint64_t)(*p == '+'));
    uint64_t number = (uint64_t)(unsigned char)*p - '0';
    unsigned whole = 1;
    unsigned fraction = 0;
    /* The most common start is one digit and a point; it needs no counting. */
    if (number > 9 || p[1] != '.')
        whole = sti_digits(p, &number);
    p += whole;
    if (*p == '.') {
        uint64_t part;
        fraction = sti_digits(++p, &part);
        p += fraction;
        number = number * sti_small_powers[fraction] + part;
        if (fraction == 8) {
            unsigned more = sti_digits(p, &part);
            p += more;
            if (whole + fraction + more > 19)
                return false;
            number = number * sti_small_powers[more] + part;
            fraction += more;
        }
    }
    if (whole + fraction == 0 || (unsigned char)*p > ' ' || number >> 53 != 0)
        return false;
    double value = (double)number / sti_powers_of_ten[fraction];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits |= negative << 63;
    memcpy(out, &bits, sizeof bits);
    *end = p;
    return true;
}

/* Like sti_number_read_any. */
static inline sti_number_status sti_number_read(const char *p, const char **end,
                                                double *out)
{
    return sti_number_quick(p, end, out) ? STI_NUMBER_OK
                                         : sti_number_read_any(p, end, out);
}

#endif
