/* Types and functions that the files of the network program share. */
#ifndef NET_PARTS_H
#define NET_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/net.h>

#include "apps/linear/linear_classes.h"

enum {
    NET_LAYERS_MAX = 16
}; /* layers with weights: hidden ones and the
                               * last */

/* Sizes, and offsets of parameters in rows of `width` numbers: from first[0] =
 * 0 the weights of the columns, from bias[0] the b of layer 1; from first[l]
 * the units of layer l + 1, from bias[l] their b. */
typedef struct net_sizes {
    uint32_t layers;                   /* layers with weights, at least 2 */
    uint64_t size[NET_LAYERS_MAX + 1]; /* units of each layer: columns, hidden
                                        * ones, classes */
    uint32_t width;                    /* numbers in a row: units of the widest
                                        * hidden layer */
    uint64_t first[NET_LAYERS_MAX], bias[NET_LAYERS_MAX];
    uint64_t rows; /* rows of all parameters */
    bool tanh;     /* false: rectified linear */
} net_sizes;

/* Number of upper rows: those after the columns' weights. */
static inline uint64_t net_upper(const net_sizes *s)
{
    return s->rows - s->size[0];
}

/* net_options.c */
extern const strads_option net_option_table[];
extern const strads_net_options net_defaults;
/* Of options with defaults filled in. */
bool net_uses_adam(const strads_net_options *options);
bool net_is_linear(const strads_net_options *options);
/* Copies options and fills in defaults. STRADS_EINVAL. */
strads_err net_options_take(const strads_net_options *given,
                            strads_net_options *out);
/* STRADS_EINVAL: `hidden` is not a list of layers. STRADS_ELIMIT: too large. */
strads_err net_sizes_make(const strads_net_options *options, uint64_t columns,
                          uint32_t classes, net_sizes *out);

/* net_layers_f64.c, net_layers_f32.c: a network's arithmetic in one number
 * type, on contiguous rows of a batch. `w` has the upper parameters, from row
 * first[1] - 1 on, laid out as in the table. Strides are sizes.width unless
 * noted. */
/* A step of Adam: decay is 1 - rate x weight decay; first and second are the
 * corrections 1 / (1 - .9^t) and 1 / (1 - .999^t). */
typedef struct net_adam_step {
    double rate, decay, first, second;
} net_adam_step;

typedef struct net_arithmetic {
    size_t bytes; /* bytes of a number */
    /* z[n x width] = X W for the lines row[0 .. n - 1] of x or, if `dense` is
     * not NULL, of that matrix [lines x columns]. `gather` is workspace for n
     * rows of it. W has one row for each column. */
    void (*input)(const net_sizes *s, const strads_sparse *x, const void *dense,
                  uint64_t columns, uint32_t n, const uint32_t *row,
                  const void *w, void *gather, void *z);
    /* w += by X'delta for the same rows, delta [n x width]. */
    void (*input_step)(const net_sizes *s, const strads_sparse *x,
                       const void *dense, uint64_t columns, uint32_t n,
                       const uint32_t *row, const void *gather,
                       const void *delta, double by, void *w);
    /* From z of layer 1, without b, to probabilities [n x classes]. `scratch`
     * receives the layers' activations, [n x width] for each hidden layer. */
    void (*forward)(const net_sizes *s, const void *w, uint32_t n,
                    const void *z, void *scratch, void *probability);
    /* probability becomes p - y. grad (laid out as w, zeroed) += by times the
     * gradient. On return, delta[n x width] is that of layer 1. spare is
     * workspace of the same size. */
    void (*backward)(const net_sizes *s, const void *w, uint32_t n,
                     const uint32_t *class, void *scratch, void *probability,
                     double by, void *grad, void *delta, void *spare);
    /* A step of Adam for n numbers w; `moments` has their m, then their v.
     * Zeroes the gradient. */
    void (*adam)(uint64_t n, const net_adam_step *step, void *grad,
                 void *moments, void *w);
} net_arithmetic;

extern const net_arithmetic net_f64, net_f32;

#endif
