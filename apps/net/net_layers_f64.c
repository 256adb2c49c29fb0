/* The arithmetic of networks in f64. */
#define NET_REAL double
#define NET_PRODUCT net_blas_f64
#define NET_NAME net_f64
#define NET_ROOT sqrt
#include "net_layers.h"
