/* Splits a line of a ratings file or a table into fields at a separator. As
 * in RFC 4180, a field may be quoted, and the quoted fields of a record may
 * contain line ends. */
#include <string.h>

#include "engine/data/parse_number.h"
#include "engine/data/read.h"

static bool is_separator(const char *p, char separator)
{
    return separator == ':' ? p[0] == ':' && p[1] == ':' : *p == separator;
}

/* Reads the quoted field that begins at p; NULL if the quotes do not close. */
static const char *take_quoted(const char *p, const char *end, sti_field *out)
{
    *out = (sti_field){.begin = p + 1};
    for (p++; p < end; p++) {
        if (*p != '"')
            continue;
        if (p + 1 == end || p[1] != '"') {
            out->end = p;
            return p + 1;
        }
        out->doubled = true;
        p++;
    }
    return NULL;
}

static const char *skip_field_blanks(const char *p, const char *line_end)
{
    while (p < line_end && (*p == ' ' || *p == '\r'))
        p++;
    return p;
}

/* A position in the text, up to `end`. */
typedef struct place {
    const char *p;
    const char *line_end, *end; /* of the line that contains p */
    char separator;
} place;

/* Reads one field and moves p to its end: a separator or the end of the
 * line. Returns false if the quotes do not close (p is then NULL) or if other
 * text follows them (p points to it). */
static bool take_field(place *at, sti_field *out)
{
    const char *p = at->p, *line_end = at->line_end;
    if (at->separator == ' ') {
        while (p < line_end && sti_is_blank(*p))
            p++;
        *out = (sti_field){.begin = p};
        while (p < line_end && !sti_is_blank(*p))
            p++;
        out->end = at->p = p;
        return true;
    }
    p = skip_field_blanks(p, line_end);
    if (p < line_end && *p == '"') {
        at->p = p = take_quoted(p, at->end, out);
        if (p == NULL)
            return false;
        if (p > line_end)
            at->line_end = sti_line_end(p, at->end);
        at->p = skip_field_blanks(p, at->line_end);
        return at->p == at->line_end || is_separator(at->p, at->separator);
    }
    *out = (sti_field){.begin = p};
    while (p < line_end && !is_separator(p, at->separator))
        p++;
    out->end = at->p = p;
    while (out->end > out->begin && sti_is_blank(out->end[-1]))
        out->end--;
    return true;
}

/* If another field follows the one that ended at p, moves p to its first
 * byte and returns true. */
static bool next_field(place *at)
{
    if (at->separator == ' ')
        while (at->p < at->line_end && sti_is_blank(*at->p))
            at->p++;
    if (at->p >= at->line_end)
        return false;
    at->p += at->separator == ' ' ? 0 : at->separator == ':' ? 2 : 1;
    return true;
}

/* Returns NULL, or the start of the first field with malformed quotes. */
static const char *split_fields(place *at, sti_field *fields, uint32_t capacity,
                                uint32_t *n)
{
    sti_field other;
    *n = 0;
    do {
        const char *from = at->p;
        if (!take_field(at, *n < capacity ? &fields[*n] : &other))
            return from;
        ++*n;
    } while (next_field(at));
    return NULL;
}

const char *sti_fields_split(const char *p, const char *line_end,
                             char separator, sti_field *fields,
                             uint32_t capacity, uint32_t *n)
{
    place at = {p, line_end, line_end, separator};
    return split_fields(&at, fields, capacity, n);
}

const char *sti_record_split(const char *p, const char *end, char separator,
                             sti_field *fields, uint32_t capacity, uint32_t *n,
                             const char **after)
{
    place at = {p, sti_line_end(p, end), end, separator};
    const char *wrong = split_fields(&at, fields, capacity, n);
    *after = at.p;
    return wrong;
}

char sti_separator_of(const char *p, const char *line_end)
{
    static const char separators[] = {',', ';', '\t'};
    uint32_t count[3] = {0}, best = 0;
    bool quoted = false;
    for (; p < line_end; p++) {
        quoted ^= *p == '"';
        for (uint32_t k = 0; k < 3 && !quoted; k++)
            count[k] += *p == separators[k];
    }
    for (uint32_t k = 1; k < 3; k++)
        best = count[k] > count[best] ? k : best;
    return separators[best];
}

/* Parses a copy of the field: the byte behind it, such as a comma, does not
 * end a number elsewhere. */
sti_number_status sti_field_number(const sti_field *f, double *out)
{
    char text[STI_NUMBER_LONGEST + 1 + STI_TEXT_SLACK];
    const char *after;
    size_t size = (size_t)(f->end - f->begin);
    if (size > STI_NUMBER_LONGEST)
        return STI_NUMBER_LONG;
    memcpy(text, f->begin, size);
    memset(text + size, 0, STI_TEXT_SLACK);
    sti_number_status status = sti_number_read(text, &after, out);
    return status == STI_NUMBER_OK && after != text + size ? STI_NUMBER_NONE
                                                           : status;
}

size_t sti_field_plain(const sti_field *f, char *out)
{
    size_t size = 0;
    for (const char *p = f->begin; p < f->end; p++) {
        out[size++] = *p;
        p += f->doubled && *p == '"';
    }
    return size;
}

const char *sti_line_end(const char *p, const char *end)
{
    const char *at = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    return at != NULL ? at : end;
}
