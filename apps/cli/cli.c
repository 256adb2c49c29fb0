/* Error messages (one line on standard error), exit codes, and quantities with
 * units. */
#include "cli.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/number_text.h"

static int code_before(strads_err err)
{
    switch (err) {
    case STRADS_OK:
        return CLI_OK;
    case STRADS_ECANCELED:
        return CLI_INTERRUPTED;
    case STRADS_ENOMEM:
    case STRADS_EPEER:
    case STRADS_EPROGRAM:
    case STRADS_ESTATE:
    case STRADS_EREGROUP:
        return CLI_FAILED;
    case STRADS_EINVAL:
    case STRADS_EIO:
    case STRADS_EFORMAT:
    case STRADS_EMISMATCH:
    case STRADS_ELIMIT:
        break;
    }
    return CLI_USAGE;
}

static bool writing;

void cli_writing(void)
{
    writing = true;
}

int cli_complain(strads_err err, cli_stage stage)
{
    const char *text = strads_error_text();
    /* Control characters in the text, for example from a file name, must not
     * break the line. */
    (void)fputs("strads: ", stderr);
    for (const char *c = *text ? text : strads_error_name(err); *c; c++)
        (void)fputc((unsigned char)*c < 0x20 ? '?' : *c, stderr);
    (void)fputc('\n', stderr);
    if (err == STRADS_EIO && (stage == CLI_RUNNING || writing))
        return CLI_FAILED;
    return code_before(err);
}

void cli_say(bool quiet, const char *format, ...)
{
    if (quiet)
        return;
    va_list args;
    va_start(args, format);
    (void)fputs("strads: ", stderr);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
}

/* Header of a block from cli_reserve; links it to the previous block. */
typedef union held {
    union held *before;
    max_align_t align;
} held;

static held *last_held;

strads_err cli_reserve(size_t n, size_t size, const char *what, void *out)
{
    size_t bytes;
    held *piece = NULL;
    if (!__builtin_mul_overflow(n, size, &bytes) &&
        !__builtin_add_overflow(bytes, sizeof *piece, &bytes))
        piece = calloc(1, bytes);
    if (!piece)
        return strads_fail(STRADS_ENOMEM, "no memory left for %s", what);
    piece->before = last_held;
    last_held = piece;
    void *memory = piece + 1;
    memcpy(out, &memory, sizeof memory);
    return STRADS_OK;
}

double cli_now(void)
{
    return 1e-9 * (double)sti_monotonic_now();
}

const char *cli_bytes(uint64_t bytes, char out[CLI_BYTES_SIZE])
{
    static const char *const unit[] = {"KB", "MB", "GB", "TB"};
    double value = (double)bytes / 1000;
    size_t k = 0;
    if (bytes < 1000) {
        (void)snprintf(out, CLI_BYTES_SIZE, "%d bytes", (int)bytes);
        return out;
    }
    /* A value that would print as 1000.0 becomes 1.0 of the next unit. */
    while (value >= 999.95 && k < 3) {
        value /= 1000;
        k++;
    }
    (void)snprintf(out, CLI_BYTES_SIZE, "%.1f %s", value, unit[k]);
    return out;
}

/* ---- quantities with units ---------------------------------------------- */

typedef struct unit {
    const char *name;
    double value;
} unit;

/* Reads the longest prefix of `text` that is a number. False: there is none. */
static bool split_number(const char *text, double *number, const char **rest)
{
    char digits[40];
    size_t n = strspn(text, "0123456789.");
    /* Accepts an exponent, but not an "e" that starts a word. */
    if (n > 0 && (text[n] == 'e' || text[n] == 'E')) {
        size_t sign = text[n + 1] == '-' || text[n + 1] == '+';
        size_t more = strspn(text + n + 1 + sign, "0123456789");
        n += more ? 1 + sign + more : 0;
    }
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = '\0';
    *rest = text + n;
    return sti_number_parse(digits, number);
}

static bool with_unit(const unit *units, const char *text, double *out)
{
    double number;
    const char *rest;
    if (!split_number(text, &number, &rest))
        return false;
    for (const unit *u = units; u->name; u++) {
        if (strcmp(u->name, rest) == 0) {
            *out = number * u->value;
            return isfinite(*out);
        }
    }
    return false;
}

strads_err cli_seconds(const char *option, const char *text, double *out)
{
    static const unit units[] = {
        {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0}};
    if (with_unit(units, text, out))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "--%s %s: expected a time with its unit, ns, us, ms or "
                       "s, as in 50us",
                       option, text);
}

strads_err cli_rate(const char *option, const char *text, double *out)
{
    static const unit units[] = {{"bit", 0.125},  {"Kbit", 125},
                                 {"Mbit", 125e3}, {"Gbit", 125e6},
                                 {"B", 1},        {"KB", 1e3},
                                 {"MB", 1e6},     {"GB", 1e9},
                                 {NULL, 0}};
    char bare[48];
    size_t length = strlen(text);
    if (length > 2 && strcmp(text + length - 2, "/s") == 0)
        length -= 2;
    if (length < sizeof bare) {
        memcpy(bare, text, length);
        bare[length] = '\0';
        if (with_unit(units, bare, out) && *out > 0)
            return STRADS_OK;
    }
    return strads_fail(STRADS_EINVAL,
                       "--%s %s: expected a rate above 0 with its unit, bit, "
                       "Kbit, Mbit, Gbit or B, KB, MB, GB, as in 10Gbit or "
                       "800MB/s",
                       option, text);
}

strads_err cli_pair(const char *option, const char *text, double *a, double *b,
                    const char **end)
{
    const char *colon;
    if (split_number(text, a, &colon) && *colon == ':' &&
        split_number(colon + 1, b, end))
        return STRADS_OK;
    return strads_fail(STRADS_EINVAL,
                       "--%s %s: expected two numbers with a colon, as in 3:4",
                       option, text);
}

const char *cli_time(double seconds, char out[CLI_TIME_SIZE])
{
    static const unit units[] = {{"s", 1},
                                 {"ms", 1e-3},
                                 {"us", 1e-6},
                                 {"ns", 1e-9}};
    size_t k = 0;
    while (k < 3 && seconds < units[k].value)
        k++;
    (void)snprintf(out, CLI_TIME_SIZE, "%.4g %s", seconds / units[k].value,
                   units[k].name);
    return out;
}
