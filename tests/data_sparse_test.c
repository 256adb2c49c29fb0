/* The build of compressed lines in cases that files cannot produce: a source
 * that changes between the passes, long lines in the worst order. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/data/build.h"

/* One part of `lines` by 1000, with counts by line. */
static sti_side make_side(const uint64_t *counts, uint64_t lines)
{
    sti_side s = {.wanted = true, .by_col = true, .count = 1};
    s.parts = calloc(1, sizeof *s.parts);
    s.parts[0].line = (strads_range){0, lines};
    s.parts[0].minor = (strads_range){0, 1000};
    for (uint64_t k = 0; k < lines; k++)
        s.nnz += counts[k];
    cr_assert(sti_side_make_starts(&s, 0));
    cr_assert(sti_side_make_entries(&s, STRADS_F64));
    for (uint64_t k = 0; k < lines; k++)
        s.parts[0].start[k + 1] = counts[k];
    sti_side_open(&s);
    return s;
}

static void put(sti_batch *b, uint32_t row, uint32_t col)
{
    b->row[b->n] = row;
    b->col[b->n] = col;
    b->value[b->n] = row * 1000.0 + col;
    b->n++;
}

Test(data_sparse, more_entries_than_were_counted_are_noticed)
{
    uint64_t counts[] = {1, 2};
    sti_side s = make_side(counts, 2);
    static sti_batch b;
    put(&b, 0, 1);
    put(&b, 1, 1);
    put(&b, 2, 1);
    cr_assert(!sti_side_place(&s, 0, &b),
              "the place after the last is refused");
    sti_side_free(&s);
}

Test(data_sparse, fewer_entries_than_were_counted_are_noticed)
{
    uint64_t counts[] = {1, 2};
    sti_side s = make_side(counts, 2);
    static sti_batch b;
    put(&b, 0, 0);
    put(&b, 1, 1);
    cr_assert(sti_side_place(&s, 0, &b));
    cr_assert(!sti_side_is_full(&s));
    b.n = 0;
    put(&b, 2, 1);
    cr_assert(sti_side_place(&s, 0, &b));
    cr_assert(sti_side_is_full(&s));
    sti_side_free(&s);
}

static void fill(sti_side *s, uint64_t rows, uint64_t step)
{
    static sti_batch b;
    b.n = 0;
    for (uint64_t i = 0; i < rows; i++) {
        put(&b, (uint32_t)(i * step % rows), 1);
        if (b.n == STI_BATCH || i + 1 == rows) {
            cr_assert(sti_side_place(s, 0, &b));
            b.n = 0;
        }
    }
}

Test(data_sparse, lines_of_any_length_and_order_come_out_ascending)
{
    for (uint64_t rows = 1; rows < 1000; rows = rows * 3 / 2 + 1) {
        for (uint64_t step = 1; step < rows + 1; step = step * 2 + 1) {
            uint64_t a = rows;
            uint64_t b = step;
            for (uint64_t rest; b != 0; a = b, b = rest)
                rest = a % b;
            if (a != 1)
                continue; /* the step would skip rows */
            uint64_t counts[] = {0, rows, 0};
            sti_side s = make_side(counts, 3);
            fill(&s, rows, step);
            cr_assert(!sti_side_order(&s, 2).found);
            for (uint64_t i = 0; i < rows; i++)
                cr_assert(s.index[i] == i && s.f64[i] == (double)i * 1000 + 1);
            sti_side_free(&s);
        }
    }
}

Test(data_sparse, an_entry_that_is_there_twice_is_found)
{
    uint64_t counts[] = {2, 41, 2};
    sti_side s = make_side(counts, 3);
    static sti_batch b;
    for (uint32_t k = 0; k < 41; k++)
        put(&b, (40 - k) % 37, 1);
    put(&b, 5, 0);
    put(&b, 6, 0);
    put(&b, 7, 2);
    put(&b, 7, 2);
    cr_assert(sti_side_place(&s, 0, &b));
    sti_twice twice = sti_side_order(&s, 3);
    cr_assert(twice.found && twice.line == 1 && twice.minor == 0);
    sti_side_free(&s);
}
