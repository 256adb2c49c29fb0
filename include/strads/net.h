/* strads/net.h - a feed-forward network for classes, a built-in program.
 *
 * A row x goes through layers z_1 = W_1'x + b_1, a_l = s(z_l),
 * z_l+1 = W_l+1 a_l + b_l+1; its classes' probabilities are the softmax of the
 * last z. What is minimised is the mean of -log p(y_i) over the rows, by
 * mini-batches: theta <- theta - rate/B gradient (B rows a batch). By
 * back-propagation (Rumelhart, Hinton and Williams, Nature 1986)
 * delta_L = p - y, delta_l = W_l+1'delta_l+1 s'(z_l), and the gradient of W_l is
 * delta_l a_l-1'.
 *
 * The first layer is wide: it is as long as the data has columns. The data is
 * cut by a grid of R ranges of rows and C ranges of columns, and partition
 * (r, c) holds W_1's rows of its columns. R x 1 is data-parallel, 1 x C
 * model-parallel (Dean et al., "Large scale distributed deep networks", NIPS
 * 2012), and anything between is a hybrid of both. */
#ifndef STRADS_NET_H
#define STRADS_NET_H

#include <stdint.h>

#include "strads/error.h"
#include "strads/model.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `config` points to; all zero means the defaults, which are told. */
typedef struct strads_net_options {
    const char *hidden; /* units of each hidden layer, "256,128"; NULL: 128 */
    const char *activation; /* "relu" or "tanh"; NULL: relu */
    uint32_t epochs;        /* passes over the data; 0: 10 */
    uint32_t batch;      /* rows of a mini-batch, of all partitions; 0: 128 */
    double rate;         /* the step; 0: 0.1 */
    double decay;        /* epoch e, from 0 on, has rate / (1 + decay e) */
    uint32_t columns;    /* C, ranges of columns; 0: 1 */
    const char *classes; /* labels, or their names, in order; NULL: the
                               data's, ascending */
} strads_net_options;

/* The program: name "net", split by a grid, compressed rows. Table 0 holds the
 * parameters, rows as long as the widest hidden layer: for each column its
 * weights to the first layer; that layer's b; then for each further layer a row
 * a unit, and its b's, as many rows as they take. All computation is in the type
 * of the data's values. A run gives the same bits on any number of workers and
 * nodes, for one grid; for another one it differs by rounding. */
extern STRADS_API const strads_program strads_program_net;

/* The options as the run took them, labels filled in: from the state that
 * strads_result_state returns. Valid as long as the state. Any thread. */
STRADS_API const strads_net_options *strads_net_resolved(const void *state);

/* A trained network, to predict with. */
typedef struct strads_net strads_net;

/* Makes one of a model (strads/model.h), which may go afterwards; options[] are
 * read from its JSON. *out is the caller's to free by strads_net_free.
 * STRADS_EFORMAT: it is no network's, or its sizes do not fit. STRADS_ENOMEM.
 * Any thread. */
STRADS_API strads_err strads_net_from_model(const strads_model *model,
                                            strads_net **out);
/* NULL is fine. */
STRADS_API void strads_net_free(strads_net *net);

/* Columns of the data that it was trained on; classes; their labels as text,
 * "A,B,..". Any thread. */
STRADS_API uint64_t strads_net_inputs(const strads_net *net);
STRADS_API uint32_t strads_net_classes(const strads_net *net);
STRADS_API const char *strads_net_labels(const strads_net *net);

/* The probabilities of the classes for each line of `rows`, into
 * out[rows->lines x classes]. Columns that the network does not know count
 * nothing. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_net_predict(const strads_net *net,
                                         const strads_sparse *rows,
                                         double *out);

#ifdef __cplusplus
}
#endif

#endif
