/* The arithmetic of networks in f32. */
#define NET_REAL float
#define NET_PRODUCT net_blas_f32
#define NET_NAME net_f32
#define NET_ROOT sqrtf
#include "net_layers.h"
