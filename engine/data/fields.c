/* Fields of a line, parted by a separator: those of ratings and of tables. As in
 * RFC 4180 a field may stand in quotes, though not go over a line's end. */
#include <string.h>

#include "engine/data/parse_number.h"
#include "engine/data/read.h"

static bool separates(const char *p, char separator)
{
    return separator == ':' ? p[0] == ':' && p[1] == ':' : *p == separator;
}

/* The field in quotes that begins at p; NULL when they are not closed. */
static const char *take_quoted(const char *p, const char *line_end,
                               sti_field *out)
{
    *out = (sti_field){.begin = p + 1};
    for (p++; p < line_end; p++) {
        if (*p != '"')
            continue;
        if (p + 1 == line_end || p[1] != '"') {
            out->end = p;
            return p + 1;
        }
        out->doubled = true;
        p++;
    }
    return NULL;
}

static const char *skip_blanks(const char *p, const char *line_end)
{
    while (p < line_end && (*p == ' ' || *p == '\r'))
        p++;
    return p;
}

/* One field of a line; returns where it ends, at a separator or at the line's
 * end, or NULL when its quotes do not close or something follows them. */
static const char *take_field(const char *p, const char *line_end,
                              char separator, sti_field *out)
{
    if (separator == ' ') {
        while (p < line_end && sti_is_blank(*p))
            p++;
        *out = (sti_field){.begin = p};
        while (p < line_end && !sti_is_blank(*p))
            p++;
        out->end = p;
        return p;
    }
    p = skip_blanks(p, line_end);
    if (p < line_end && *p == '"') {
        p = take_quoted(p, line_end, out);
        p = p != NULL ? skip_blanks(p, line_end) : NULL;
        return p != NULL && (p == line_end || separates(p, separator)) ? p
                                                                       : NULL;
    }
    *out = (sti_field){.begin = p};
    while (p < line_end && !separates(p, separator))
        p++;
    out->end = p;
    while (out->end > out->begin && sti_is_blank(out->end[-1]))
        out->end--;
    return p;
}

/* Where the field after the one that ended at p begins; NULL: there is none. */
static const char *next_field(const char *p, const char *line_end,
                              char separator)
{
    if (separator == ' ') {
        while (p < line_end && sti_is_blank(*p))
            p++;
        return p < line_end ? p : NULL;
    }
    if (p >= line_end)
        return NULL;
    return p + (separator == ':' ? 2 : 1);
}

const char *sti_fields_split(const char *p, const char *line_end,
                             char separator, sti_field *fields,
                             uint32_t capacity, uint32_t *n)
{
    sti_field other;
    *n = 0;
    while (p != NULL) {
        const char *from = p;
        p = take_field(p, line_end, separator,
                       *n < capacity ? &fields[*n] : &other);
        if (p == NULL)
            return from;
        ++*n;
        p = next_field(p, line_end, separator);
    }
    return NULL;
}

/* A number is read from a copy: what a field has behind it, a comma say, is no
 * end of a number elsewhere. */
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
