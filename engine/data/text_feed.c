/* What parsers share: comments, and the way from a trouble to one sentence.
 * What a file holds is never repeated raw: unprintable bytes are escaped and
 * long tokens cut. */
#include "engine/data/text_feed.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/data/parse_number.h"

enum { QUOTED = 40 };

const char *sti_feed_skip_comment(sti_feed *feed, const char *p,
                                  const char *end)
{
    const char *line_end = memchr(p, '\n', (size_t)(end - p));
    feed->in_comment = line_end == NULL;
    return line_end != NULL ? line_end : end;
}

void sti_feed_trouble(sti_feed *feed, strads_err err, const char *at,
                      const char *end, const char *expected, ...)
{
    sti_trouble *t = &feed->trouble;
    if (t->err != STRADS_OK)
        return;
    t->err = err;
    t->at = at;
    t->end = end;
    va_list args;
    va_start(args, expected);
    (void)vsnprintf(t->expected, sizeof t->expected, expected, args);
    va_end(args);
}

void sti_feed_not_a_number(sti_feed *feed, int status, const char *at,
                           const char *end, const char *what)
{
    if (status == STI_NUMBER_HUGE)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s below 1.8e308 in magnitude", what);
    else if (status == STI_NUMBER_SPELLED)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s that is finite",
                         what);
    else if (status == STI_NUMBER_LONG)
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end,
                         "%s of at most %d characters", what,
                         (int)STI_NUMBER_LONGEST);
    else
        sti_feed_trouble(feed, STRADS_EFORMAT, at, end, "%s", what);
}

size_t sti_text_mark(const char *begin, const char *end)
{
    static const char mark[] = "\xef\xbb\xbf";
    const size_t size = sizeof mark - 1;
    return (size_t)(end - begin) >= size && memcmp(begin, mark, size) == 0
               ? size
               : 0;
}

void sti_text_quote(const char *at, const char *end, char *out, size_t room)
{
    size_t used = 0;
    const char *p = at;
    out[0] = '\0';
    /* The first byte is quoted whatever it is: it is what was found. */
    while (p < end && p - at < QUOTED && used + 6 < room &&
           (p == at || (unsigned char)*p > ' ')) {
        unsigned char c = (unsigned char)*p++;
        const char *form = c >= ' ' && c < 127 ? "%c" : "\\x%02x";
        used += (size_t)snprintf(out + used, room - used, form, c);
    }
    if (p < end && p - at == QUOTED && (unsigned char)*p > ' ')
        (void)snprintf(out + used, room - used, "...");
}

/* What stands at the place of a trouble, in words. */
static void describe(const sti_trouble *t, char *out, size_t room)
{
    char quoted[4 * QUOTED + 8];
    if (t->at >= t->end) {
        (void)snprintf(out, room, "the end of the file");
    } else if (*t->at == '\n' || *t->at == '\r') {
        (void)snprintf(out, room, "the end of the line");
    } else if (*t->at == ' ' || *t->at == '\t') {
        (void)snprintf(out, room, "a blank");
    } else {
        sti_text_quote(t->at, t->end, quoted, sizeof quoted);
        (void)snprintf(out, room, "'%s'", quoted);
    }
}

strads_err sti_trouble_fail(const char *path, const sti_trouble *t)
{
    char found[4 * QUOTED + 16];
    if (t->at == NULL)
        return strads_fail(t->err, "%s: %s", path, t->expected);
    describe(t, found, sizeof found);
    return strads_fail(t->err, "%s: line %llu: found %s, expected %s", path,
                       (unsigned long long)t->line, found, t->expected);
}
