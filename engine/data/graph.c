/* Networks: lines `u v` or `u v weight`, separated by blanks, tabs, commas
 * or semicolons; further fields are ignored. Node names are strings, even if
 * they are digits, and both ends share one table of names. A line that begins
 * with # or % is a comment. A first line of known column names is a header.
 * Links are undirected: each line gives an entry and its mirror image. A link
 * from a node to itself is ignored. */
#include <string.h>
#include <strings.h>

#include "engine/data/naming.h"
#include "engine/data/parse_number.h"
#include "engine/data/read.h"

enum { LONGEST_NAME = 4096, MOST_WEIGHT = 65535 };

static bool parts(char c)
{
    return sti_is_blank(c) || c == ',' || c == ';';
}

/* Reads the next field of a line. Returns false if there is none, or if its
 * quotes do not close (p does not move then). */
static bool take_part(const char **p, const char *line_end, sti_field *out)
{
    const char *at = *p;
    while (at < line_end && parts(*at))
        at++;
    if (at == line_end)
        return false;
    if (*at == '"') {
        const char *close = memchr(at + 1, '"', (size_t)(line_end - (at + 1)));
        if (close == NULL)
            return false;
        *out = (sti_field){.begin = at + 1, .end = close};
        *p = close + 1;
        return true;
    }
    out->begin = at;
    while (at < line_end && !parts(*at))
        at++;
    out->end = at;
    *p = at;
    return true;
}

/* The first byte of a line that is not blank. */
static const char *first_of(const char *p, const char *line_end)
{
    while (p < line_end && sti_is_blank(*p))
        p++;
    return p;
}

static bool is_comment(const char *p)
{
    return *p == '#' || *p == '%';
}

/* Known names of the first two columns of a header. */
static bool is_graph_header(const sti_field *u, const sti_field *v)
{
    static const char *const pair[][2] = {{"source", "target"},
                                          {"from", "to"},
                                          {"src", "dst"},
                                          {"u", "v"},
                                          {"node1", "node2"},
                                          {"node_1", "node_2"},
                                          {"FromNodeId", "ToNodeId"},
                                          {"id1", "id2"},
                                          {"id_1", "id_2"},
                                          {"user1", "user2"}};
    for (size_t k = 0; k < sizeof pair / sizeof *pair; k++)
        if (strlen(pair[k][0]) == (size_t)(u->end - u->begin) &&
            strlen(pair[k][1]) == (size_t)(v->end - v->begin) &&
            strncasecmp(pair[k][0], u->begin, strlen(pair[k][0])) == 0 &&
            strncasecmp(pair[k][1], v->begin, strlen(pair[k][1])) == 0)
            return true;
    return false;
}

strads_err sti_graph_look(const char *path, const char *begin, const char *end,
                          size_t *body)
{
    const char *line = begin;
    while (line < end) {
        const char *line_end = sti_line_end(line, end);
        const char *p = first_of(line, line_end), *at = p;
        sti_field u, v;
        if (p < line_end && !is_comment(p)) {
            if (take_part(&at, line_end, &u) && take_part(&at, line_end, &v)) {
                const bool header = is_graph_header(&u, &v);
                *body = (size_t)((header && line_end < end ? line_end + 1
                                  : header                 ? end
                                                           : line) -
                                 begin);
                return STRADS_OK;
            }
            char quoted[200];
            sti_text_quote(p, line_end, quoted, sizeof quoted);
            return strads_fail(
                STRADS_EFORMAT,
                "%s: line %llu: found '%s', expected a link, "
                "`u v` or `u v weight`, on one line",
                path, 1 + (unsigned long long)sti_text_count_lines(begin, p),
                quoted);
        }
        line = line_end < end ? line_end + 1 : end;
    }
    *body = (size_t)(end - begin);
    return STRADS_OK;
}

static bool take_node(sti_feed *f, const sti_field *at, uint32_t *number,
                      bool *known)
{
    const size_t size = (size_t)(at->end - at->begin);
    if (size == 0 || size > LONGEST_NAME) {
        sti_feed_trouble(f, STRADS_EFORMAT, at->begin, at->end,
                         "a node's name of 1 to %d bytes", (int)LONGEST_NAME);
        return false;
    }
    strads_err err =
        sti_axis_number(&f->naming->row, at->begin, size, number, known);
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "%s", strads_error_text());
    return err == STRADS_OK;
}

static bool take_weight(sti_feed *f, const sti_field *at, double *out)
{
    if (sti_field_number(at, out) == STI_NUMBER_OK && *out >= 1 &&
        *out <= MOST_WEIGHT && *out == (uint32_t)*out)
        return true;
    sti_feed_trouble(f, STRADS_EFORMAT, at->begin, at->end,
                     "a link's weight, a whole number from 1 to %d",
                     (int)MOST_WEIGHT);
    return false;
}

/* A line that is split. */
typedef struct link_line {
    const char *begin, *end;
    const char *after; /* behind both nodes; NULL: there are no two */
    sti_field u, v;
} link_line;

static void split_link(const sti_feed *f, link_line *line)
{
    const sti_axis *axis = &f->naming->row;
    const char *p = line->begin;
    if (!take_part(&p, line->end, &line->u) ||
        !take_part(&p, line->end, &line->v))
        return;
    line->after = p;
    sti_axis_prefetch(axis, line->u.begin,
                      (size_t)(line->u.end - line->u.begin));
    sti_axis_prefetch(axis, line->v.begin,
                      (size_t)(line->v.end - line->v.begin));
}

static void take_link(sti_feed *f, const link_line *line)
{
    const char *p = line->after;
    sti_field w;
    uint32_t a = 0, b = 0;
    bool knows_u = true, knows_v = true;
    double weight = 1;
    f->at = line->begin;
    if (p == NULL) {
        sti_feed_trouble(f, STRADS_EFORMAT, line->begin, line->end,
                         "a link, `u v` or `u v weight`, on one line");
        return;
    }
    if (!take_node(f, &line->u, &a, &knows_u) ||
        !take_node(f, &line->v, &b, &knows_v))
        return;
    if (f->values && take_part(&p, line->end, &w) &&
        !take_weight(f, &w, &weight))
        return;
    if (!knows_u || !knows_v) {
        if (f->values)
            __atomic_fetch_add(&f->naming->unknown, 1, __ATOMIC_RELAXED);
    } else if (a != b) {
        sti_feed_put(f, a, b, weight);
        sti_feed_put(f, b, a, weight);
    }
}

static void parse_links(sti_feed *f, const char *p, const char *end)
{
    link_line line[STI_LINES_AHEAD];
    while (p < end && f->trouble.err == STRADS_OK) {
        uint32_t n = 0;
        while (p < end && n < STI_LINES_AHEAD) {
            const char *line_end = sti_line_end(p, end);
            p = first_of(p, line_end);
            if (p < line_end && !is_comment(p)) {
                line[n] = (link_line){.begin = p, .end = line_end};
                split_link(f, &line[n++]);
            }
            p = line_end < end ? line_end + 1 : end;
        }
        for (uint32_t k = 0; k < n && f->trouble.err == STRADS_OK; k++)
            take_link(f, &line[k]);
    }
}

const sti_parser sti_graph_parser = {.name = "edge list",
                                     .row = "node",
                                     .col = "node",
                                     .cut = '\n',
                                     .take = parse_links};
