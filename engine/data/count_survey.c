/* Counts entries by row and by column before anything is allocated for them, so
 * that every array of the matrix is made once, in its final size. Where
 * rows follow each other, chunks count for themselves (their order in a column
 * matters later); otherwise they count together, with atomic additions. */
#include "engine/data/count_survey.h"

#include <stdlib.h>
#include <string.h>

#include "engine/data/big_array.h"

enum { FIRST_ROOM = 4096 };

static bool grow_counts(uint32_t **counts, uint64_t *room, uint64_t wanted)
{
    uint64_t larger = *room == 0 ? FIRST_ROOM : *room;
    while (larger < wanted)
        larger *= 2;
    uint32_t *fresh = sti_big_grow(*counts, *room * sizeof **counts,
                                   larger * sizeof **counts);
    if (fresh == NULL)
        return false;
    *counts = fresh;
    *room = larger;
    return true;
}

static void no_memory(sti_feed *f, uint64_t bytes, uint64_t room)
{
    sti_feed_trouble(f, STRADS_ENOMEM, NULL, NULL,
                     "counting its rows and columns needs more than %llu bytes "
                     "of memory, %llu may be used",
                     (unsigned long long)bytes, (unsigned long long)room);
}

static bool widen(sti_feed *f, sti_survey *s, sti_tally *t, uint64_t cols)
{
    if (s->width_limit != 0 && cols > s->width_limit) {
        s->too_wide = true;
        sti_feed_trouble(f, STRADS_ELIMIT, NULL, NULL, "too wide");
        return false;
    }
    uint64_t bytes = cols * sizeof *t->col * s->count;
    if (bytes > s->room || !grow_counts(&t->col, &t->col_room, cols)) {
        no_memory(f, bytes, s->room);
        return false;
    }
    return true;
}

static void count_entries(sti_feed *f, const sti_batch *b)
{
    sti_survey *s = f->context;
    sti_tally *t = &s->tallies[f->chunk];
    uint32_t most = 0;
    for (size_t i = 0; i < b->n; i++)
        most = b->col[i] > most ? b->col[i] : most;
    if (most >= t->col_room && !widen(f, s, t, (uint64_t)most + 1))
        return;
    if (most >= t->cols)
        t->cols = (uint64_t)most + 1;
    for (size_t i = 0; i < b->n; i++)
        t->col[b->col[i]]++;
    t->nnz += b->n;
}

static void count_row(sti_feed *f, uint64_t row, uint64_t nnz)
{
    sti_survey *s = f->context;
    sti_tally *t = &s->tallies[f->chunk];
    if (row >= t->row_room && !grow_counts(&t->row, &t->row_room, row + 1)) {
        no_memory(f, row * sizeof *t->row, s->room);
        return;
    }
    t->row[row] = (uint32_t)nnz;
    t->rows = row + 1;
}

static const sti_sink count_sink = {.entries = count_entries,
                                    .row_end = count_row};

static void free_tally_rows(sti_tally *t)
{
    sti_big_free(t->row, t->row_room * sizeof *t->row);
    t->row = NULL;
    t->row_room = 0;
}

static void free_tally_cols(sti_tally *t)
{
    sti_big_free(t->col, t->col_room * sizeof *t->col);
    t->col = NULL;
    t->col_room = 0;
}

void sti_survey_free_tallies(sti_survey *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free_tally_rows(&s->tallies[i]);
        free_tally_cols(&s->tallies[i]);
    }
    free(s->tallies);
    s->tallies = NULL;
    s->count = 0;
}

void sti_survey_free(sti_survey *s)
{
    sti_survey_free_tallies(s);
    sti_big_free(s->col_nnz, s->cols * sizeof *s->col_nnz);
    sti_big_free(s->row_nnz, s->rows * sizeof *s->row_nnz);
    s->col_nnz = NULL;
    s->row_nnz = NULL;
}

static strads_err make_totals(sti_survey *s, const char *path)
{
    uint64_t bytes = (s->cols + s->rows) * sizeof(uint32_t);
    if (bytes <= s->room) {
        s->col_nnz = sti_big_alloc(s->cols * sizeof *s->col_nnz);
        s->row_nnz = sti_big_alloc(s->rows * sizeof *s->row_nnz);
    }
    if (s->col_nnz != NULL && s->row_nnz != NULL)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "%s: counting its %llu rows and %llu columns needs %llu "
                       "bytes of memory, %llu may be used",
                       path, (unsigned long long)s->rows,
                       (unsigned long long)s->cols, (unsigned long long)bytes,
                       (unsigned long long)s->room);
}

/* Joins the chunks' counts; gives each chunk the row that it starts with. */
static void add_tallies(sti_survey *s, sti_chunk *chunks)
{
    uint64_t row = 0;
    for (size_t i = 0; i < s->count; i++) {
        sti_tally *t = &s->tallies[i];
        chunks[i].first_row = row;
        if (t->rows > 0)
            memcpy(s->row_nnz + row, t->row, t->rows * sizeof *t->row);
        row += t->rows;
        free_tally_rows(t);
        for (uint64_t c = 0; c < t->cols; c++)
            s->col_nnz[c] += t->col[c];
    }
}

static strads_err total(sti_survey *s, const sti_pass *pass, uint64_t min_cols)
{
    const char *path = pass->text->path;
    s->cols = min_cols;
    for (size_t i = 0; i < s->count; i++) {
        const sti_tally *t = &s->tallies[i];
        s->rows += t->rows;
        s->nnz += t->nnz;
        s->cols = t->cols > s->cols ? t->cols : s->cols;
    }
    if (s->rows == 0)
        return strads_fail(STRADS_EFORMAT,
                           "%s: found no %ss, expected at least one line `%s`",
                           path, pass->parser->row, pass->parser->row_form);
    if (s->rows > STI_MOST_LINES)
        return strads_fail(STRADS_ELIMIT, "%s: %llu rows, at most %llu fit",
                           path, (unsigned long long)s->rows,
                           (unsigned long long)STI_MOST_LINES);
    strads_err err = make_totals(s, path);
    if (err == STRADS_OK)
        add_tallies(s, pass->chunks);
    return err;
}

/* A count of every column in every chunk should stay small beside the matrix,
 * which takes about as many bytes as its text. */
static uint64_t width_for(const sti_pass *pass)
{
    if (pass->count == 1)
        return 0;
    uint64_t width = pass->text->size / 16 / pass->count;
    return width < FIRST_ROOM ? FIRST_ROOM : width;
}

strads_err sti_survey_rows(sti_survey *s, sti_pass *pass, uint64_t min_cols)
{
    pass->sink = &count_sink;
    pass->context = s;
    pass->values = false;
    for (;;) {
        s->tallies = calloc(pass->count, sizeof *s->tallies);
        if (s->tallies == NULL)
            return strads_fail(STRADS_ENOMEM, "%s: no memory to count it",
                               pass->text->path);
        s->count = pass->count;
        s->width_limit = width_for(pass);
        s->too_wide = false;
        strads_err err = sti_pass_run(pass);
        if (err == STRADS_OK)
            return total(s, pass, min_cols);
        if (!s->too_wide)
            return err;
        const char *begin = pass->chunks[0].begin;
        const char *end = pass->chunks[pass->count - 1].end;
        sti_survey_free_tallies(s);
        pass->count /= 2;
        sti_pass_cut(begin, end, pass->chunks, pass->count);
    }
}

static void add_entries(sti_feed *f, const sti_batch *b)
{
    sti_survey *s = f->context;
    for (size_t i = 0; i < b->n; i++) {
        __atomic_fetch_add(&s->col_nnz[b->col[i]], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&s->row_nnz[b->row[i]], 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&s->nnz, b->n, __ATOMIC_RELAXED);
}

static const sti_sink add_sink = {.entries = add_entries};

strads_err sti_survey_sized(sti_survey *s, sti_pass *pass, uint64_t min_cols)
{
    s->rows = pass->row_limit;
    s->cols = pass->col_limit;
    if (pass->keep_cols > 0 && pass->keep_cols < s->cols)
        s->cols = pass->keep_cols;
    s->cols = s->cols > min_cols ? s->cols : min_cols;
    strads_err err = make_totals(s, pass->text->path);
    if (err != STRADS_OK)
        return err;
    pass->sink = &add_sink;
    pass->context = s;
    pass->values = false;
    return sti_pass_run(pass);
}
