/* strads/net.h - a feed-forward network for classes, a built-in program.
 *
 * For a row x the layers are z_1 = W_1'x + b_1, a_l = s(z_l), z_l+1 = W_l+1 a_l
 * + b_l+1; the probabilities of the classes are the softmax of the last z.
 * Training minimises the mean of -log p(y_i) over the rows by mini-batches of B
 * rows: theta <- theta - rate/B gradient. By back-propagation (Rumelhart,
 * Hinton and Williams, Nature 1986) delta_L = p - y, delta_l = W_l+1'delta_l+1
 * s'(z_l), and the gradient of W_l is delta_l a_l-1'. Or by Adam (Kingma and
 * Ba, ICLR 2015, algorithm 1): from the gradient g of batch t,
 *
 *     m <- .9 m + .1 g,   v <- .999 v + .001 g^2
 *     theta <- (1 - rate decay) theta
 *              - rate m / (1 - .9^t) / (sqrt(v / (1 - .999^t)) + 1e-8)
 *
 * where decay is the weight decay, apart from the gradient (Loshchilov and
 * Hutter, ICLR 2019).
 *
 * The first layer is wide: it has a row of weights for each column of the data.
 * A grid cuts the data into R row ranges and C column ranges, and partition (r,
 * c) holds W_1's rows of its columns. R x 1 is data-parallel, 1 x C
 * model-parallel (Dean et al., "Large scale distributed deep networks", NIPS
 * 2012), other grids are hybrids. */
#ifndef STRADS_NET_H
#define STRADS_NET_H

#include <stdint.h>

#include "strads/error.h"
#include "strads/model.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options (`config`); all zero: the defaults below. */
typedef struct strads_net_options {
    const char *hidden; /* units of each hidden layer, "256,128"; NULL: 128 */
    const char *activation; /* "relu" or "tanh"; NULL: relu */
    uint32_t epochs;        /* passes over the data; 0: 10 */
    uint32_t batch;      /* rows of a mini-batch over all partitions; 0: 128 */
    double rate;         /* the step; 0: 0.1, with Adam 0.001 */
    double decay;        /* epoch e, from 0, uses rate / (1 + decay e) */
    uint32_t columns;    /* C, column ranges; 0: 1 */
    const char *classes; /* labels or their names, in order; NULL: those of
                               the data, ascending */
    const char *optimizer; /* "sgd" or "adam"; NULL: sgd. Adam needs one range
                              of rows, because m and v stay in the partition
                              of their weights: columns = the partitions */
    double weight_decay;   /* of Adam, >= 0 */
    const char *schedule;  /* "inverse": rate / (1 + decay e) in epoch e;
                              "linear": batch t of all T uses rate (1 - t / T);
                              NULL: inverse */
    double holdout;    /* share of the rows that training leaves out, below 1.
                          The model has the weights of the epoch with the least
                          mean loss on them; 0: none, with patience 0.1 */
    uint32_t patience; /* the run ends after so many epochs in a row without a
                          smaller held-out loss; 0: it runs all epochs */
} strads_net_options;

/* The program: name "net", split by a grid, compressed rows. Table 0 holds the
 * parameters in rows as long as the widest hidden layer: a row of weights to
 * the first layer for each column; the first layer's b; then for each further
 * layer a row for each unit, and rows for its b. All computation is in the type
 * of the data's values. For one grid the bits are the same on any number of
 * workers and nodes; between grids they differ by rounding. */
extern STRADS_API const strads_program strads_program_net;

/* Returns the options with labels filled in, from the state that
 * strads_result_state returns. Valid as long as the state. Any thread. */
STRADS_API const strads_net_options *strads_net_resolved(const void *state);

/* Returns the loss of a network that gives all classes the same probability. A
 * run that ends above it has diverged. */
STRADS_API double strads_net_at_zero(const void *state);

/* A trained network, to predict with. */
typedef struct strads_net strads_net;

/* Makes a network from a model (strads/model.h), which may be freed afterwards.
 * The options come from the model's JSON. The caller frees *out by
 * strads_net_free. STRADS_EFORMAT: not a model of a network, or its sizes do
 * not fit. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_net_from_model(const strads_model *model,
                                            strads_net **out);
/* Frees a network. NULL is allowed. */
STRADS_API void strads_net_free(strads_net *net);

/* Return the columns of the training data, the number of classes, and their
 * labels as text, "A,B,..". Any thread. */
STRADS_API uint64_t strads_net_inputs(const strads_net *net);
STRADS_API uint32_t strads_net_classes(const strads_net *net);
STRADS_API const char *strads_net_labels(const strads_net *net);

/* Computes the probabilities of the classes for each line of `rows`, into
 * out[rows->lines x classes]. Unknown columns are ignored. STRADS_ENOMEM. Any
 * thread. */
STRADS_API strads_err strads_net_predict(const strads_net *net,
                                         const strads_sparse *rows,
                                         double *out);

#ifdef __cplusplus
}
#endif

#endif
