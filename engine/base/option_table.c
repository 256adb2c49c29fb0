/* Options described once: an entry of the table is enough to set its field from
 * text and to write it as JSON. Owns nothing; a field is reached only through
 * the entry's offset. */
#include "engine/base/option_table.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/number_text.h"
#include "strads/options.h"

/* A bound this large is none: the message reads "0 or more". */
static const double UNBOUNDED = 1e300;

static void *field_of(const strads_option *option, void *config)
{
    return (char *)config + option->offset;
}

static const void *field_in(const strads_option *option, const void *config)
{
    return (const char *)config + option->offset;
}

static bool has_range(const strads_option *option)
{
    return option->min != 0 || option->max != 0;
}

static bool in_range(const strads_option *option, double value)
{
    return isfinite(value) && (!has_range(option) ||
                               (value >= option->min && value <= option->max));
}

/* "expected 1 to 1024", "expected a number, 0 or more". */
static strads_err wrong_number(const strads_option *option, const char *text)
{
    char low[STI_NUMBER_SIZE];
    char high[STI_NUMBER_SIZE];
    bool whole = option->kind != STRADS_OPTION_F64;
    const char *kind = whole ? "a whole number" : "a number";
    (void)sti_number_format(option->min, low);
    (void)sti_number_format(option->max, high);
    if (has_range(option) && option->max < UNBOUNDED) {
        return strads_fail(STRADS_EINVAL, "--%s %s: expected %s to %s",
                           option->name, text, low, high);
    }
    if (has_range(option) || whole) {
        return strads_fail(STRADS_EINVAL, "--%s %s: expected %s, %s or more",
                           option->name, text, kind, low);
    }
    return strads_fail(STRADS_EINVAL, "--%s %s: expected %s", option->name,
                       text, kind);
}

static strads_err set_f64(const strads_option *option, double *field,
                          const char *text)
{
    double value = 0;
    char bare[STI_NUMBER_SIZE];
    const char *number = text;
    const size_t n = strlen(text);
    if (option->metavar && strcmp(option->metavar, "SECONDS") == 0 && n > 1 &&
        n <= sizeof bare && text[n - 1] == 's') { /* "60s" */
        memcpy(bare, text, n - 1);
        bare[n - 1] = '\0';
        number = bare;
    }
    if (!sti_number_parse(number, &value) || !in_range(option, value))
        return wrong_number(option, text);
    *field = option->keeps_zero && value == 0 ? -0. : value;
    return STRADS_OK;
}

static strads_err parse_whole(const strads_option *option, const char *text,
                              uint64_t most, uint64_t *out)
{
    uint64_t value = 0;
    if (!sti_number_parse_u64(text, &value) || value > most ||
        !in_range(option, (double)value))
        return wrong_number(option, text);
    *out = value;
    return STRADS_OK;
}

static strads_err set_u32(const strads_option *option, uint32_t *field,
                          const char *text)
{
    uint64_t value = 0;
    if (option->choices && strcmp(option->choices, text) == 0) {
        *field = 0; /* "auto" */
        return STRADS_OK;
    }
    strads_err err = parse_whole(option, text, UINT32_MAX, &value);
    if (!err)
        *field = option->keeps_zero && value == 0 ? STRADS_OPTION_ZERO
                                                  : (uint32_t)value;
    return err;
}

/* Reads a number with a unit (1.5G, 1.5GB and 1.5GiB are equal), up to 2^53,
 * where doubles stop being exact. */
static strads_err set_bytes(const strads_option *option, uint64_t *field,
                            const char *text)
{
    static const char units[] = "KMGT";
    char number[STI_NUMBER_SIZE];
    double value = 0;
    size_t n = strlen(text);
    if (n > 1 && toupper((unsigned char)text[n - 1]) == 'B')
        n -= text[n - 2] == 'i' ? 2 : 1;
    const char *unit =
        n > 0 ? strchr(units, toupper((unsigned char)text[n - 1])) : NULL;
    n -= unit != NULL;
    const bool fits = n < sizeof number;
    (void)snprintf(number, sizeof number, "%.*s", (int)(fits ? n : 0), text);
    const bool read = fits && sti_number_parse(number, &value);
    if (unit)
        value = ldexp(value, 10 * (int)(unit - units + 1));
    if (!read || !(value >= 0 && value < 0x1p53) || !in_range(option, value)) {
        return strads_fail(STRADS_EINVAL,
                           "--%s %s: expected bytes, or a number with K, M, G "
                           "or T: 512M, 1.5G",
                           option->name, text);
    }
    *field = (uint64_t)value;
    return STRADS_OK;
}

static strads_err set_bool(const strads_option *option, bool *field,
                           const char *text)
{
    if (text == NULL || strcmp(text, "true") == 0) {
        *field = true;
    } else if (strcmp(text, "false") == 0) {
        *field = false;
    } else {
        return strads_fail(STRADS_EINVAL, "--%s=%s: expected true or false",
                           option->name, text);
    }
    return STRADS_OK;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = choices;;) {
        size_t n = strcspn(at, "|");
        if (n == length && strncmp(at, text, n) == 0)
            return true;
        if (at[n] == '\0')
            return false;
        at += n + 1;
    }
}

/* Lists "a|b|c" as "a, b or c". */
static void list_choices(const char *choices, char *out, size_t size)
{
    size_t at = 0;
    const char *last = strrchr(choices, '|');
    for (const char *c = choices; *c && at + 5 < size; c++) {
        if (*c == '|') {
            const char *between = c == last ? " or " : ", ";
            at += (size_t)snprintf(out + at, size - at, "%s", between);
        } else {
            out[at++] = *c;
        }
    }
    out[at] = '\0';
}

static strads_err set_string(const strads_option *option, const char **field,
                             const char *text)
{
    if (option->choices && !is_choice(option->choices, text)) {
        char names[256];
        list_choices(option->choices, names, sizeof names);
        return strads_fail(STRADS_EINVAL, "--%s %s: expected %s", option->name,
                           text, names);
    }
    if (*text == '\0') {
        return strads_fail(STRADS_EINVAL, "--%s is empty: expected %s",
                           option->name,
                           option->metavar ? option->metavar : "a text");
    }
    *field = text;
    return STRADS_OK;
}

strads_err strads_option_set(const strads_option *option, void *config,
                             const char *text)
{
    void *field = field_of(option, config);
    if (text == NULL && option->kind != STRADS_OPTION_BOOL) {
        return strads_fail(STRADS_EINVAL, "--%s needs a value: --%s %s",
                           option->name, option->name,
                           option->metavar ? option->metavar : "VALUE");
    }
    switch (option->kind) {
    case STRADS_OPTION_F64:
        return set_f64(option, field, text);
    case STRADS_OPTION_U64:
        return parse_whole(option, text, UINT64_MAX, field);
    case STRADS_OPTION_U32:
        return set_u32(option, field, text);
    case STRADS_OPTION_BOOL:
        return set_bool(option, field, text);
    case STRADS_OPTION_BYTES:
        return set_bytes(option, field, text);
    case STRADS_OPTION_STRING:
        return set_string(option, field, text);
    }
    return strads_fail(STRADS_EINVAL,
                       "the table of option %s has kind %d, which this "
                       "version does not know",
                       option->name, (int)option->kind);
}

const strads_option *strads_option_find(const strads_option *table,
                                        const char *name)
{
    for (const strads_option *o = table; o && o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* Longer names are not compared. */
enum { LONGEST = 48, FARTHEST = 3 };

static char fold_underscore(char letter)
{
    return letter == '_' ? '-' : letter;
}

static bool is_same_letter(char a, char b)
{
    return fold_underscore(a) == fold_underscore(b);
}

static unsigned smaller_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance. */
static unsigned align_names(const char *a, size_t n, const char *b, size_t m)
{
    unsigned d[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= n; i++)
        d[i][0] = (unsigned)i;
    for (size_t j = 0; j <= m; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 1; j <= m; j++) {
            unsigned kept =
                d[i - 1][j - 1] + !is_same_letter(a[i - 1], b[j - 1]);
            d[i][j] =
                smaller_of(kept, 1 + smaller_of(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
                is_same_letter(a[i - 2], b[j - 1]))
                d[i][j] = smaller_of(d[i][j], 1 + d[i - 2][j - 2]);
        }
    }
    return d[n][m];
}

unsigned sti_nearest_distance(const char *wrong, const char *right)
{
    size_t n = strlen(wrong);
    size_t m = strlen(right);
    if (n >= 3 && n < m && strncmp(wrong, right, n) == 0)
        return 1;
    if (n > LONGEST || m > LONGEST)
        return STI_NAME_FAR;
    unsigned distance = align_names(wrong, n, right, m);
    if (distance > FARTHEST || 2 * (size_t)distance > (n > m ? n : m))
        return STI_NAME_FAR;
    return distance;
}

const char *strads_option_nearest(const strads_option *table, const char *wrong)
{
    const char *best = NULL;
    unsigned best_distance = STI_NAME_FAR;
    for (const strads_option *o = table; o && o->name; o++) {
        unsigned distance = sti_nearest_distance(wrong, o->name);
        if (distance < best_distance) {
            best = o->name;
            best_distance = distance;
        }
    }
    return best;
}

/* Appends, and like snprintf also counts letters that did not fit. */
static size_t append_letter(char *out, size_t size, size_t at, char letter)
{
    if (at < size)
        out[at] = letter;
    return at + 1;
}

/* Writes text as a JSON string; bytes above 0x7f stay as they are. */
static size_t format_string(const char *text, char *out, size_t size)
{
    size_t at = append_letter(out, size, 0, '"');
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20) {
            char code[8];
            (void)snprintf(code, sizeof code, "\\u%04x",
                           (unsigned)(unsigned char)*c);
            for (const char *d = code; *d; d++)
                at = append_letter(out, size, at, *d);
            continue;
        }
        if (*c == '"' || *c == '\\')
            at = append_letter(out, size, at, '\\');
        at = append_letter(out, size, at, *c);
    }
    at = append_letter(out, size, at, '"');
    if (size > 0)
        out[at < size ? at : size - 1] = '\0';
    return at;
}

static size_t format_text(const char *text, char *out, size_t size)
{
    return (size_t)snprintf(out, size, "%s", text);
}

static size_t format_number(const strads_option *option, double value,
                            char *out, size_t size)
{
    char number[STI_NUMBER_SIZE];
    const bool given = !(option->keeps_zero && value == 0 && !signbit(value));
    if (value == 0)
        value = 0; /* not -0.0 */
    if (!given || !in_range(option, value))
        value = NAN;
    (void)sti_number_format(value, number);
    return format_text(number, out, size);
}

static size_t format_u64(const strads_option *option, uint64_t value, char *out,
                         size_t size)
{
    if (!in_range(option, (double)value))
        return format_text("null", out, size);
    return (size_t)snprintf(out, size, "%llu", (unsigned long long)value);
}

static size_t format_u32(const strads_option *option, uint32_t value, char *out,
                         size_t size)
{
    if (option->keeps_zero && value == 0)
        return format_text("null", out, size);
    if (option->keeps_zero && value == STRADS_OPTION_ZERO)
        value = 0;
    return format_u64(option, value, out, size);
}

size_t strads_option_format(const strads_option *option, const void *config,
                            char *out, size_t size)
{
    const void *field = field_in(option, config);
    switch (option->kind) {
    case STRADS_OPTION_F64:
        return format_number(option, *(const double *)field, out, size);
    case STRADS_OPTION_U64:
    case STRADS_OPTION_BYTES:
        return format_u64(option, *(const uint64_t *)field, out, size);
    case STRADS_OPTION_U32:
        return format_u32(option, *(const uint32_t *)field, out, size);
    case STRADS_OPTION_BOOL:
        return format_text(*(const bool *)field ? "true" : "false", out, size);
    case STRADS_OPTION_STRING: {
        const char *text = *(const char *const *)field;
        return text ? format_string(text, out, size)
                    : format_text("null", out, size);
    }
    }
    return format_text("null", out, size);
}
