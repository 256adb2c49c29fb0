/* Products of columns, X_A'C X_B, on a partition. A quadratic problem of few
 * columns can be solved by them without the data (linear_reduced.c). */
#ifndef LINEAR_PAIRS_H
#define LINEAR_PAIRS_H

#include <strads/error.h>

#include "column_kernels.h"

enum { LINEAR_STRETCH = 1024 };

/* Workspace, kept between calls; initially zero. It holds columns by row,
 * some rows at a time: its row i has the entries start[i] to start[i + 1] - 1,
 * in column order. */
typedef struct linear_pairs {
    uint32_t start[LINEAR_STRETCH + 2];
    uint32_t *place; /* [capacity] a column's place in the block */
    double *value;   /* [capacity] */
    uint64_t capacity;
    double *line;   /* [columns] one row, dense */
    uint64_t *next; /* [columns] a column's first entry behind these rows */
    uint32_t columns;
} linear_pairs;

void linear_pairs_free(linear_pairs *pairs);

/* The factors and the result of products: two lists of a share's columns,
 * with row i times root[i], the root of its weight; NULL: all are 1. */
typedef struct linear_products {
    const column_view *view;
    const double *root;
    const column_kernels *kernels;
    column_list lines, against;
    double *partial; /* [lines.n x against.n], initially 0 */
} linear_products;

/* STRADS_ENOMEM. */
strads_err linear_pairs_multiply(linear_pairs *pairs,
                                 const linear_products *of);

/* ---- within: linear_panel.c ---------------------------------------------- */

static inline data_column linear_pairs_column(const linear_products *of,
                                              const column_list *list,
                                              uint32_t k)
{
    return column_view_of(of->view, column_list_at(list, k));
}

static inline double linear_pairs_value(const linear_products *of,
                                        const data_column *x, uint64_t k)
{
    const double value = x->f64 ? x->f64[k] : (double)x->f32[k];

    return of->root ? value * of->root[x->index ? x->index[k] : k] : value;
}

/* The same for columns that are almost full. Columns of `against` from
 * `tail` on are those of `lines`: only the lower half of their square is
 * computed. */
strads_err linear_panel_multiply(const linear_products *of, uint32_t tail);

#endif
