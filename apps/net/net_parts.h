/* What the files of the network program hand to each other. */
#ifndef NET_PARTS_H
#define NET_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/net.h>

#include "apps/linear/linear_classes.h"

enum { NET_LAYERS_MAX = 16 }; /* weighted ones: hidden layers and the last */

/* Sizes, and where parameters lie. Rows of `width` numbers: first[0] = 0 begins
 * the weights of the columns, bias[0] the b of layer 1; first[l] the units of
 * layer l + 1, bias[l] their b. */
typedef struct net_sizes {
    uint32_t layers;                   /* weighted ones, at least 2 */
    uint64_t size[NET_LAYERS_MAX + 1]; /* columns, hidden ones, classes */
    uint32_t width;                    /* of a row: the widest hidden layer */
    uint64_t first[NET_LAYERS_MAX], bias[NET_LAYERS_MAX];
    uint64_t rows; /* of all parameters */
    bool tanh;     /* else rectified linear */
} net_sizes;

/* Rows of what is above the columns' weights. */
static inline uint64_t net_upper(const net_sizes *s)
{
    return s->rows - s->size[0];
}

/* net_options.c */
extern const strads_option net_option_table[];
extern const strads_net_options net_defaults;
/* Options with defaults filled in. STRADS_EINVAL. */
strads_err net_options_take(const strads_net_options *given,
                            strads_net_options *out);
/* STRADS_EINVAL: `hidden` is no list of layers; STRADS_ELIMIT: too large. */
strads_err net_sizes_make(const strads_net_options *options, uint64_t columns,
                          uint32_t classes, net_sizes *out);

/* net_layers_f64.c, net_layers_f32.c: a network's arithmetic in one type, on
 * rows of a batch that lie one behind the other. `w` are parameters from
 * first[1] - 1 on (the rows above the columns' weights), as they lie in the
 * table; strides are sizes.width but where another is told. */
typedef struct net_arithmetic {
    size_t bytes; /* of a number */
    /* z[n x width] = X W of n rows, which are lines row[0 .. n - 1] of x, or
     * where `dense` is not NULL of that matrix [lines x columns]; `gather` has
     * room for n of its rows. W has a row a column. */
    void (*input)(const net_sizes *s, const strads_sparse *x, const void *dense,
                  uint64_t columns, uint32_t n, const uint32_t *row,
                  const void *w, void *gather, void *z);
    /* w += by X'delta, delta [n x width], of the same rows. */
    void (*input_step)(const net_sizes *s, const strads_sparse *x,
                       const void *dense, uint64_t columns, uint32_t n,
                       const uint32_t *row, const void *gather,
                       const void *delta, double by, void *w);
    /* From z of layer 1 without b to probabilities [n x classes]; room holds
     * the layers' a, one [n x width] for each hidden layer. */
    void (*forward)(const net_sizes *s, const void *w, uint32_t n,
                    const void *z, void *scratch, void *probability);
    /* probability: becomes p - y; grad (as w, zeroed) += by times the gradient;
     * delta[n x width] is that of layer 1 at last, spare one more. */
    void (*backward)(const net_sizes *s, const void *w, uint32_t n,
                     const uint32_t *class, void *scratch, void *probability,
                     double by, void *grad, void *delta, void *spare);
} net_arithmetic;

extern const net_arithmetic net_f64, net_f32;

#endif
