/* The product that a Newton step is mostly made of, H += sum h x x' over dense
 * rows, eight lines by twenty-four columns of H at a time. Included where it is
 * compiled: for all processors, and once more for those with AVX-512. */
#ifndef SVM_PANEL_H
#define SVM_PANEL_H

#include <stddef.h>
#include <stdint.h>

enum { SVM_PANEL_ROWS = 64, SVM_PANEL_LINES = 8, SVM_PANEL_COLS = 24 };

/* Numbers a line of H and of a panel: for n columns, so that whole tiles may be
 * written. */
static inline uint32_t svm_panel_stride(uint32_t n)
{
    return (n + 2 * SVM_PANEL_COLS - 1) / SVM_PANEL_COLS * SVM_PANEL_COLS;
}

/* Adds panel' panel to the lower half of H [stride x stride], n columns, and to
 * some of its upper half. panel: `rows` lines of `stride`. */
typedef void svm_panel_add(uint32_t n, uint32_t rows, const double *panel,
                           double *h);

svm_panel_add svm_panel_add_portable;
/* NULL where this build or processor has no AVX-512. */
svm_panel_add *svm_panel_avx512(void);
svm_panel_add *svm_panel_choose(void);

typedef double svm_lanes __attribute__((vector_size(64)));
/* In memory, where lanes stand anywhere; locals of this type would be moved as
 * if they were aligned. */
typedef double svm_loose __attribute__((vector_size(64), aligned(8)));

static inline void svm_panel_tile(uint32_t stride, uint32_t rows,
                                  const double *line, const double *column,
                                  double *h)
{
    svm_lanes sum[SVM_PANEL_LINES][3] = {{{0}}};

    for (uint32_t k = 0; k < rows; k++) {
        const svm_loose *b = (const svm_loose *)(column + (size_t)k * stride);
        const double *a = line + (size_t)k * stride;
        const svm_lanes b0 = b[0], b1 = b[1], b2 = b[2];
        for (int x = 0; x < SVM_PANEL_LINES; x++) {
            sum[x][0] += a[x] * b0;
            sum[x][1] += a[x] * b1;
            sum[x][2] += a[x] * b2;
        }
    }
    for (int x = 0; x < SVM_PANEL_LINES; x++) {
        svm_loose *to = (svm_loose *)(h + (size_t)x * stride);
        to[0] += sum[x][0];
        to[1] += sum[x][1];
        to[2] += sum[x][2];
    }
}

static inline void svm_panel_add_tiles(uint32_t n, uint32_t rows,
                                       const double *panel, double *h)
{
    const uint32_t stride = svm_panel_stride(n);

    for (uint32_t i = 0; i < n; i += SVM_PANEL_LINES)
        for (uint32_t j = 0; j < i + SVM_PANEL_LINES; j += SVM_PANEL_COLS)
            svm_panel_tile(stride, rows, panel + i, panel + j,
                           h + (size_t)i * stride + j);
}

#endif
