/* Products of dense matrices: those of the BLAS that the machine has, OpenBLAS
 * if it is there. It is loaded when a network needs it: OpenBLAS starts a thread
 * a processor as soon as it is, which no other program is to pay for. */
#ifndef NET_BLAS_H
#define NET_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/error.h>

/* Loads it, once. STRADS_ESTATE: there is none. Any thread. */
strads_err net_blas_load(void);

/* C = alpha op(A) op(B) + beta C, all by rows: C [m x n], op(A) [m x k], which is
 * A or, where that is said, its transpose; ld.. are numbers from row to row.
 * After net_blas_load; any thread. */
typedef struct net_product {
    bool transpose_a, transpose_b;
    uint64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
} net_product;
void net_blas_f64(const net_product *of, const double *a, const double *b,
                  double *c);
void net_blas_f32(const net_product *of, const float *a, const float *b,
                  float *c);

#endif
