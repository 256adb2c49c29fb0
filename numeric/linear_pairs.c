/* Gram entries X_A' X_B of two lists on one partition. Columns that are
 * almost full are multiplied as dense ones (linear_panel.c). If sparse columns
 * A join a working set, and are the last ones of B, all of B is transposed to
 * rows, some rows at a time, so that it stays in the cache. The products are a
 * sum of the rows' outer products, without the mirrored half. For few columns,
 * and in other cases, each column is made dense in turn. */
#include <stdlib.h>
#include <string.h>

#include "linear_pairs.h"

/* A row with entries in more than 1 of MANY columns is made dense; at most
 * FEW columns are multiplied one by one. */
enum { MANY = 6, FEW = 4 };

/* The index in `against` of its first column that is also the first of
 * `lines`, if `lines` is its tail; otherwise against.n. */
static uint32_t tail_start(const column_list *lines, const column_list *against)
{
    if (lines->n > against->n)
        return against->n;
    const uint32_t start = against->n - lines->n;
    for (uint32_t k = 0; k < lines->n; k++)
        if (column_list_at(lines, k) != column_list_at(against, start + k))
            return against->n;
    return start;
}

/* ---- by rows ----------------------------------------------------------- */

static strads_err no_pairs_memory(uint64_t numbers)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for %llu numbers of pairs by rows",
                       (unsigned long long)numbers);
}

/* Allocates space for n columns, kept for the next call; all start at their
 * first entry. */
static strads_err begin_transpose(linear_pairs *rows, uint32_t n)
{
    if (n > rows->columns || !rows->line) {
        rows->columns = n + n / 2 + 1;
        free(rows->line);
        free(rows->next);
        rows->line = malloc(rows->columns * sizeof(*rows->line));
        rows->next = malloc(rows->columns * sizeof(*rows->next));
        if (!rows->line || !rows->next)
            return no_pairs_memory(2 * (uint64_t)rows->columns);
    }
    memset(rows->line, 0, n * sizeof(*rows->line));
    memset(rows->next, 0, n * sizeof(*rows->next));
    return STRADS_OK;
}

static strads_err reserve_pairs(linear_pairs *rows, uint64_t entries)
{
    if (entries <= rows->capacity)
        return STRADS_OK;
    rows->capacity = entries + entries / 2;
    free(rows->place);
    free(rows->value);
    rows->place = malloc(rows->capacity * sizeof(*rows->place));
    rows->value = malloc(rows->capacity * sizeof(*rows->value));
    if (rows->place && rows->value)
        return STRADS_OK;
    rows->capacity = 0;
    return no_pairs_memory(2 * entries);
}

static uint64_t row_of(const data_column *x, uint64_t k)
{
    return x->index ? x->index[k] : k;
}

/* Counts the entries of each of the rows from `first` on, two places
 * further, so that start[i + 1] can advance. */
static void count_row_entries(const linear_products *of, uint64_t first,
                              linear_pairs *rows)
{
    const column_list *list = &of->against;
    const uint64_t end = first + LINEAR_STRETCH;

    memset(rows->start, 0, sizeof(rows->start));
    for (uint32_t l = 0; l < list->n; l++) {
        const data_column z = linear_pairs_column(of, list, l);
        for (uint64_t e = rows->next[l]; e < z.n && row_of(&z, e) < end; e++)
            rows->start[row_of(&z, e) - first + 2]++;
    }
    for (uint64_t i = 0; i < LINEAR_STRETCH; i++)
        rows->start[i + 2] += rows->start[i + 1];
}

static void place_entries(const linear_products *of, uint64_t first,
                          linear_pairs *rows)
{
    const column_list *list = &of->against;
    const uint64_t end = first + LINEAR_STRETCH;

    for (uint32_t l = 0; l < list->n; l++) {
        const data_column z = linear_pairs_column(of, list, l);
        uint64_t e = rows->next[l];
        for (; e < z.n && row_of(&z, e) < end; e++) {
            const uint64_t at = rows->start[row_of(&z, e) - first + 1]++;
            rows->place[at] = l;
            rows->value[at] = linear_pairs_value(of, &z, e);
        }
        rows->next[l] = e;
    }
}

/* Transposes the rows from `first` on of `against`. */
static strads_err lay_out(const linear_products *of, uint64_t first,
                          linear_pairs *rows)
{
    count_row_entries(of, first, rows);
    const strads_err err = reserve_pairs(rows, rows->start[LINEAR_STRETCH + 1]);

    if (!err)
        place_entries(of, first, rows);
    return err;
}

static uint64_t entries_of(const linear_products *of, const column_list *list)
{
    uint64_t entries = 0;

    for (uint32_t l = 0; l < list->n; l++)
        entries += linear_pairs_column(of, list, l).n;
    return entries;
}

/* A row's entries by place; the products of those from place `tail` on are
 * rows of a partial of m columns. */
typedef struct one_row {
    const uint32_t *place;
    const double *value;
    double *partial;
    uint32_t n, m, tail;
} one_row;

static double *line_of(const one_row *row, uint32_t k)
{
    return row->partial + (size_t)(row->place[k] - row->tail) * row->m;
}

/* Entry k with all entries up to it. */
static void add_entry(const one_row *row, uint32_t k)
{
    double *line = line_of(row, k);

    for (uint32_t l = 0; l <= k; l++)
        line[row->place[l]] += row->value[k] * row->value[l];
}

/* Entry k and the three before it, with all up to k: rows are short, and
 * leaving a loop is what costs. Values above the diagonal are overwritten
 * later. */
static void add_four(const one_row *row, uint32_t k)
{
    double *line[4], value[4];

    for (uint32_t i = 0; i < 4; i++) {
        line[i] = line_of(row, k - i);
        value[i] = row->value[k - i];
    }
    for (uint32_t l = 0; l <= k; l++) {
        const uint32_t at = row->place[l];
        const double v = row->value[l];
        for (uint32_t i = 0; i < 4; i++)
            line[i][at] += value[i] * v;
    }
}

/* Entries from place `tail` on, with all up to each. */
static void add_few(const one_row *row)
{
    uint32_t left = row->n;

    for (; left >= 4 && row->place[left - 4] >= row->tail; left -= 4)
        add_four(row, left - 1);
    for (; left > 0 && row->place[left - 1] >= row->tail; left--)
        add_entry(row, left - 1);
}

/* The same for many entries, made dense in `spread`, which is 0 before and
 * after. */
static void add_many(const one_row *row, const column_kernels *kernels,
                     double *spread)
{
    for (uint32_t k = 0; k < row->n; k++)
        spread[row->place[k]] = row->value[k];
    for (uint32_t k = row->n; k-- > 0 && row->place[k] >= row->tail;)
        kernels->add_dense(row->place[k] + 1, row->value[k], spread,
                           line_of(row, k));
    for (uint32_t k = 0; k < row->n; k++)
        spread[row->place[k]] = 0;
}

/* The products of a row's n entries. */
static void add_row(const linear_products *of, const linear_pairs *rows,
                    uint32_t first, uint32_t n, uint32_t tail)
{
    const one_row row = {.place = rows->place + first,
                         .value = rows->value + first,
                         .partial = of->partial,
                         .n = n,
                         .m = of->against.n,
                         .tail = tail};

    if (n == 0 || row.place[n - 1] < tail)
        return;
    if ((uint64_t)n * MANY > row.m)
        add_many(&row, of->kernels, rows->line);
    else
        add_few(&row);
}

static strads_err multiply_rows(linear_pairs *rows, const linear_products *of,
                                uint32_t tail)
{
    const uint64_t n = of->view->share->rows.end - of->view->share->rows.begin;
    strads_err err = begin_transpose(rows, of->against.n);

    for (uint64_t row = 0; row < n && !err; row += LINEAR_STRETCH) {
        err = lay_out(of, row, rows);
        for (uint32_t i = 0; i < LINEAR_STRETCH && !err; i++)
            add_row(of, rows, rows->start[i],
                    rows->start[i + 1] - rows->start[i], tail);
    }
    return err;
}

/* ---- column by column -------------------------------------------------- */

static strads_err multiply_apart(const linear_products *of)
{
    const uint64_t n = of->view->share->rows.end - of->view->share->rows.begin;
    const uint32_t m = of->against.n;
    double *spread = calloc(n + 1, sizeof(*spread));

    if (!spread)
        return no_pairs_memory(n);
    for (uint32_t k = 0; k < of->lines.n; k++) {
        const data_column z = linear_pairs_column(of, &of->lines, k);
        for (uint64_t e = 0; e < z.n; e++) {
            const uint64_t i = row_of(&z, e);
            spread[i] = linear_pairs_value(of, &z, e);
            if (of->root) /* of the other column */
                spread[i] *= of->root[i];
        }
        for (uint32_t l = 0; l < m; l++) {
            const data_column x = linear_pairs_column(of, &of->against, l);
            of->partial[(size_t)k * m + l] = of->kernels->dot(&x, spread);
        }
        for (uint64_t e = 0; e < z.n; e++)
            spread[row_of(&z, e)] = 0;
    }
    free(spread);
    return STRADS_OK;
}

/* ---- all --------------------------------------------------------------- */

/* The lower half of the square of A with itself is complete; copies it to
 * the upper half. */
static void mirror_tail(const linear_products *of, uint32_t tail)
{
    const uint32_t m = of->against.n;

    for (uint32_t k = 0; k < of->lines.n; k++)
        for (uint32_t l = 0; l < k; l++)
            of->partial[(size_t)l * m + tail + k] =
                of->partial[(size_t)k * m + tail + l];
}

strads_err linear_pairs_multiply(linear_pairs *pairs, const linear_products *of)
{
    const uint32_t tail = tail_start(&of->lines, &of->against);
    const uint64_t entries =
        entries_of(of, &of->lines) + entries_of(of, &of->against);
    const uint64_t full =
        (of->view->share->rows.end - of->view->share->rows.begin) *
        ((uint64_t)of->lines.n + of->against.n);
    const bool is_full = 2 * entries > full;

    if (!is_full && (tail == of->against.n || of->lines.n <= FEW))
        return multiply_apart(of);
    const strads_err err = is_full ? linear_panel_multiply(of, tail)
                                   : multiply_rows(pairs, of, tail);
    if (!err && tail < of->against.n)
        mirror_tail(of, tail);
    return err;
}

void linear_pairs_free(linear_pairs *pairs)
{
    free(pairs->place);
    free(pairs->value);
    free(pairs->line);
    free(pairs->next);
}
