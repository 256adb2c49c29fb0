/* The arithmetic of networks in f64. */
#define NET_REAL double
#define NET_GEMM cblas_dgemm
#define NET_NAME net_f64
#include "net_layers.h"
