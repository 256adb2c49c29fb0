/* Newton's method on a partition of the rows: products for conjugate gradients,
 * and the Hessian of every n-th row for their preconditioner. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "outer_kernels.h"
#include "linear_ridge.h"

/* Sampled rows: at least this many times the columns. */
enum { SAMPLED = 8 };

uint64_t linear_ridge_stride(uint64_t rows, uint64_t columns)
{
    const uint64_t stride = rows / (SAMPLED * (columns + 1));

    return stride > 1 ? stride : 1;
}

void linear_hold_curvature(uint64_t n, const double *c, double *h)
{
    for (uint64_t i = 0; i < n; i++)
        h[i] = fmax(h[i], LINEAR_LEAST_CURVATURE * c[i]);
}

/* ---- products ---------------------------------------------------------- */

static uint64_t rows_of(const column_view *view)
{
    return view->share->rows.end - view->share->rows.begin;
}

void linear_product(const column_view *view, const column_kernels *kernels,
                    const double *h, linear_direction direction, double *along,
                    double *product)
{
    const uint64_t p = view->share->by_col.lines;
    const uint64_t rows = rows_of(view);
    const double *d = direction.d;

    for (uint64_t i = 0; i < rows; i++)
        along[i] = d[p * direction.stride];
    for (uint64_t j = 0; j < p; j++) {
        const data_column x = column_view_of(view, j);
        if (d[j * direction.stride] != 0)
            kernels->add(&x, d[j * direction.stride], along);
    }
    for (uint64_t i = 0; i < rows; i++)
        product[p] += along[i] *= h[i];
    for (uint64_t j = 0; j < p; j++) {
        const data_column x = column_view_of(view, j);
        product[j] = kernels->dot(&x, along);
    }
}

/* ---- the preconditioner ------------------------------------------------ */

size_t linear_hessian_size(uint32_t n)
{
    return (size_t)n * n + n + 1;
}

/* An iteration over a partition's rows, `stride` apart. */
typedef struct row_walk {
    uint64_t first; /* of the current panel */
    uint64_t stride;
    uint64_t *at; /* [listed columns] the next entry */
} row_walk;

/* Fills a panel of the rows first, first + stride, ...: all columns, each
 * times its root; walk->at advances to the first entry after them. */
static void fill_panel(const column_list *list, const column_view *view,
                       const double *h, row_walk *walk, uint32_t rows,
                       double *panel)
{
    const size_t line = outer_product_line(list->n);
    const uint64_t end = walk->first + rows * walk->stride;

    memset(panel, 0, rows * line * sizeof(*panel));
    for (uint32_t k = 0; k < list->n; k++) {
        const data_column x = column_view_of(view, column_list_at(list, k));
        for (; walk->at[k] < x.n; walk->at[k]++) {
            const uint64_t e = walk->at[k], i = x.index ? x.index[e] : e;
            if (i >= end)
                break;
            const uint64_t from = i - walk->first;
            if (from % walk->stride == 0)
                panel[from / walk->stride * line + k] =
                    sqrt(h[i]) * (x.f64 ? x.f64[e] : (double)x.f32[e]);
        }
    }
}

/* X'HX of the sampled rows, X'h and sum h. */
static void add_up(const column_list *list, const column_view *view,
                   const column_kernels *kernels, const double *h,
                   row_walk *walk, double *panel, double *sum, double *hessian)
{
    const uint64_t rows_here = rows_of(view);
    const uint32_t n = list->n;
    const size_t line = outer_product_line(n);
    outer_product *outer = outer_product_choose();
    double *level = hessian + (size_t)n * n;

    for (; walk->first < rows_here; walk->first += OUTER_PANEL * walk->stride) {
        const uint64_t left =
            (rows_here - walk->first + walk->stride - 1) / walk->stride;
        const uint32_t rows = left < OUTER_PANEL ? (uint32_t)left : OUTER_PANEL;
        fill_panel(list, view, h, walk, rows, panel);
        outer(rows, n, panel, sum);
        for (uint32_t r = 0; r < rows; r++) {
            const double bend = h[walk->first + r * walk->stride];
            kernels->add_dense(n, sqrt(bend), panel + r * line, level);
            level[n] += bend;
        }
    }
    for (uint32_t k = 0; k < n; k++)
        memcpy(hessian + (size_t)k * n, sum + k * line, (k + 1) * sizeof(*sum));
}

strads_err linear_hessian(const column_view *view,
                          const column_kernels *kernels, const double *h,
                          const column_list *columns, uint64_t stride,
                          double *hessian)
{
    const uint32_t n = columns->n;
    const size_t line = outer_product_line(n);
    double *panel = calloc(OUTER_PANEL * line, sizeof(*panel));
    double *sum = calloc(line * line, sizeof(*sum));
    row_walk walk = {.stride = stride,
                     .at = calloc((size_t)n + 1, sizeof(*walk.at))};
    strads_err err = STRADS_OK;

    if (panel && sum && walk.at)
        add_up(columns, view, kernels, h, &walk, panel, sum, hessian);
    else
        err = strads_fail(STRADS_ENOMEM,
                          "no memory for the Hessian of %u columns", n);
    free(panel);
    free(sum);
    free(walk.at);
    return err;
}
