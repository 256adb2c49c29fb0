/* Plain text, a document a line. A word is a run of two or more letters,
 * digits, underscores and bytes beyond ASCII (so UTF-8 letters belong to it),
 * in lower case as far as ASCII goes; what is longer than LONGEST bytes is
 * none. Each is an entry of its own: those of one document are added up
 * later. */
#include "engine/data/naming.h"
#include "engine/data/text_pass.h"

enum { SHORTEST = 2, LONGEST = 128 };

/* 0 for what is in no word; otherwise the byte in lower case. */
static inline char letter(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    bool within = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_' || (unsigned char)c >= 128;
    return within ? c : '\0';
}

static void end_document(sti_feed *f)
{
    if (f->sink->row_end != NULL)
        f->sink->row_end(f, f->row, f->row_nnz);
    f->row++;
    f->row_nnz = 0;
    f->in_row = false;
}

static void put_word(sti_feed *f, uint32_t word)
{
    size_t n = f->batch.n;
    f->batch.row[n] = (uint32_t)f->row;
    f->batch.col[n] = word;
    f->batch.value[n] = 1;
    f->batch.n = n + 1;
    f->row_nnz++;
    if (n + 1 == STI_BATCH)
        sti_feed_flush(f);
}

static void take_word(sti_feed *f, const char *word, size_t size)
{
    sti_naming *naming = f->naming;
    uint32_t number;
    bool known;
    if (naming->stop_words != NULL &&
        strads_names_find(naming->stop_words, word, size, &number))
        return;
    strads_err err = sti_axis_number(&naming->col, word, size, &number, &known);
    if (err == STRADS_OK && naming->col.adding)
        err = sti_naming_count(naming, number, f->row);
    if (err != STRADS_OK)
        sti_feed_trouble(f, err, NULL, NULL, "%s", strads_error_text());
    else if (known && !naming->col.adding)
        put_word(f, number);
    else if (!known && f->values)
        __atomic_fetch_add(&naming->unknown, 1, __ATOMIC_RELAXED);
}

static void take(sti_feed *f, const char *p, const char *end)
{
    char word[LONGEST];
    while (p < end && f->trouble.err == STRADS_OK) {
        if (*p == '\n') {
            end_document(f);
            p++;
            continue;
        }
        f->in_row = true;
        size_t size = 0;
        for (char c; p < end && (c = letter(*p)) != '\0'; p++, size++)
            if (size < LONGEST)
                word[size] = c;
        if (size == 0)
            p++;
        else if (size >= SHORTEST && size <= LONGEST)
            take_word(f, word, size);
    }
}

static void finish(sti_feed *f)
{
    if (f->in_row)
        end_document(f);
}

const sti_parser sti_words_parser = {.name = "text",
                                     .row = "document",
                                     .col = "word",
                                     .row_form = "words of a document",
                                     .base = 1,
                                     .every_line = true,
                                     .cut = ' ',
                                     .take = take,
                                     .finish = finish};
