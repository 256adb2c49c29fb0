/* An entry that is there twice is noticed only when its line was put in order,
 * where nobody knows any more which lines of the file it came from. One more
 * pass, entry by entry, finds them: only a broken file pays for it. */
#include "engine/data/duplicate_entry.h"

#include "engine/data/matrixmarket_parse.h"

typedef struct twin_search {
    uint64_t row, col;
    uint64_t line[2];
    size_t found;
} twin_search;

static void look_for_twin(sti_feed *f, const sti_batch *b)
{
    twin_search *t = f->context;
    /* The pieces of a plain text do not know their line. */
    uint64_t first = f->piece.line;
    if (first == 0)
        first = f->market != NULL ? f->market->body_line : 1;
    for (size_t i = 0; i < b->n && t->found < 2; i++)
        if (b->row[i] == t->row && b->col[i] == t->col)
            t->line[t->found++] =
                first + sti_text_count_lines(f->piece.begin, f->at);
}

static const sti_sink twin_sink = {.entries = look_for_twin};

strads_err sti_duplicate_fail(const sti_pass *given, const sti_twice *twice)
{
    const sti_text *text = given->text;
    twin_search search = {.row = twice->line, .col = twice->minor};
    sti_chunk whole = {.begin = text->bytes + given->skip,
                       .end = text->bytes + text->size};
    sti_pass pass = *given;
    pass.sink = &twin_sink;
    pass.context = &search;
    pass.values = true;
    pass.line_by_line = true;
    pass.chunks = &whole;
    pass.count = 1;
    strads_err err = sti_pass_run(&pass);
    if (err != STRADS_OK)
        return err;
    if (search.found < 2)
        return strads_fail(STRADS_EIO,
                           "%s: was changed while it was read; read it again "
                           "when nobody writes to it",
                           text->path);
    return strads_fail(
        STRADS_EFORMAT,
        "%s: line %llu: found %s %llu, %s %llu again, expected it once "
        "(it is in line %llu too)",
        text->path, (unsigned long long)search.line[1], given->parser->row,
        (unsigned long long)(search.row + given->parser->base),
        given->parser->col,
        (unsigned long long)(search.col + given->parser->base),
        (unsigned long long)search.line[0]);
}
