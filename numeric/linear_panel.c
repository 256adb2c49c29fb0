/* Gram entries of columns that are almost full. They are multiplied four by
 * four, over some rows at a time, so that a few rows of many columns stay in
 * the cache. Columns with omitted zeros are made dense first. */
#include <stdlib.h>
#include <string.h>

#include "linear_pairs.h"
#include "linear_room.h"

/* Rows at a time; columns of `against` that stay in the cache while the loop
 * runs over all lines. */
enum { STRETCH = 256, ACROSS = 2 * COLUMN_TILE_SIDE };

/* The columns of both blocks over some rows. Those of the first block start
 * at `line`; they may be among the second's. */
typedef struct panel {
    const linear_products *of;
    uint32_t columns;    /* of both */
    uint32_t line, tail; /* tail: where `against` repeats the block */
    double *value;       /* STRETCH numbers of each dense copy */
    uint32_t n_spread;   /* number of dense copies over these rows */
    const double **at;   /* [columns] start of a column's rows */
    uint64_t *next;      /* [columns] a column's next entry */
    uint64_t begin, end; /* the current rows */
} panel;

static data_column panel_column(const panel *p, uint32_t k)
{
    const uint32_t m = p->of->against.n;

    return k < m ? linear_pairs_column(p->of, &p->of->against, k)
                 : linear_pairs_column(p->of, &p->of->lines, k - m);
}

/* A full column of f64 is used in place. */
static bool is_plain(const panel *p, const data_column *x)
{
    return !x->index && x->f64 && !p->of->root;
}

static uint32_t count_spread(const panel *p)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < p->columns; k++) {
        const data_column x = panel_column(p, k);
        n += !is_plain(p, &x);
    }
    return n;
}

/* Finds column k over these rows; makes it dense if necessary. */
static void find_column(panel *p, uint32_t k)
{
    const data_column x = panel_column(p, k);
    uint64_t e = p->next[k];

    if (is_plain(p, &x)) {
        p->at[k] = x.f64 + p->begin;
        return;
    }
    double *to = p->value + (size_t)p->n_spread++ * STRETCH;
    p->at[k] = to;
    memset(to, 0, STRETCH * sizeof(*to));
    for (; e < x.n; e++) {
        const uint64_t i = x.index ? x.index[e] : e;
        if (i >= p->end)
            break;
        to[i - p->begin] = linear_pairs_value(p->of, &x, e);
    }
    p->next[k] = e;
}

/* Four columns from the k-th on; repeats the last one to fill up. */
static void find_four(const panel *p, uint32_t k, uint32_t end,
                      const double *column[COLUMN_TILE_SIDE])
{
    for (uint32_t i = 0; i < COLUMN_TILE_SIDE; i++)
        column[i] = p->at[k + i < end ? k + i : end - 1];
}

/* Adds the products of four columns, from the k-th on, with ACROSS columns
 * of `against`, from the first-th on. */
static void multiply_lines(const panel *p, uint32_t k, uint32_t first)
{
    const uint32_t n = p->of->lines.n, m = p->of->against.n;
    const uint32_t end = m - first < ACROSS ? m : first + ACROSS;
    const double *a[COLUMN_TILE_SIDE], *b[COLUMN_TILE_SIDE];
    double sum[COLUMN_TILE_SIDE][COLUMN_TILE_SIDE];

    find_four(p, p->line + k, p->line + n, a);
    for (uint32_t l = first; l < end; l += COLUMN_TILE_SIDE) {
        if (l >= p->tail + k + COLUMN_TILE_SIDE)
            break; /* mirrored */
        find_four(p, l, m, b);
        p->of->kernels->dot_tile(p->end - p->begin, a, b, sum);
        for (uint32_t i = 0; i < COLUMN_TILE_SIDE && k + i < n; i++)
            for (uint32_t j = 0; j < COLUMN_TILE_SIDE && l + j < m; j++)
                p->of->partial[(size_t)(k + i) * m + l + j] += sum[i][j];
    }
}

static void multiply_stretch(panel *p)
{
    p->n_spread = 0;
    for (uint32_t k = 0; k < p->columns; k++)
        find_column(p, k);
    for (uint32_t l = 0; l < p->of->against.n; l += ACROSS)
        for (uint32_t k = 0; k < p->of->lines.n; k += COLUMN_TILE_SIDE)
            multiply_lines(p, k, l);
}

strads_err linear_panel_multiply(const linear_products *of, uint32_t tail)
{
    const uint64_t rows =
        of->view->share->rows.end - of->view->share->rows.begin;
    const uint32_t n = of->lines.n, m = of->against.n;
    const bool repeats = tail < m;
    panel p = {.of = of,
               .columns = repeats ? m : n + m,
               .line = repeats ? tail : m,
               .tail = tail};
    strads_err err = STRADS_OK;

    p.value = linear_room((uint64_t)count_spread(&p) * STRETCH);
    p.at = malloc(p.columns * sizeof(*p.at));
    p.next = calloc(p.columns, sizeof(*p.next));
    if (!p.value || !p.at || !p.next)
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for %u rows of a block's %u columns",
                          STRETCH, p.columns);
    for (uint64_t row = 0; row < rows && !err; row += STRETCH) {
        const uint64_t left = rows - row;
        p.begin = row;
        p.end = left < STRETCH ? rows : row + STRETCH;
        multiply_stretch(&p);
    }
    free(p.value);
    free((void *)p.at);
    free(p.next);
    return err;
}
