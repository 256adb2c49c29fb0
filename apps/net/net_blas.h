/* Products of dense matrices by the machine's BLAS, preferably OpenBLAS. It is
 * loaded only when a network needs it, because OpenBLAS starts a thread for
 * each processor when it is loaded. */
#ifndef NET_BLAS_H
#define NET_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/error.h>

/* Loads the BLAS once. STRADS_ESTATE: there is none. Any thread. */
strads_err net_blas_load(void);

/* C = alpha op(A) op(B) + beta C, all matrices by rows: C [m x n], op(A) [m x
 * k]. op is the identity or, with the flag, transposition. ld.. are distances
 * between rows. Call after net_blas_load. Any thread. */
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
