/* Types and functions that the files of the sgd-logistic program share.
 *
 * The objective is the mean of f_t over the clocks t of all workers in one
 * epoch. Each f_t is convex, and its gradient touches only the rows of its own
 * batch:
 *
 *     f_t(w) = clocks/n sum_{i in batch t} loss(y_i (x_i'w + b))
 *            + sum_{k touched by t} lambda / (2 q_k) |w_k|^2
 *
 * n is the number of rows, w_k are the 1,024 weights of row k of the table, and
 * q_k is the share of clocks that touch it. A batch has the same rows in every
 * epoch. */
#ifndef SGD_LOGISTIC_PARTS_H
#define SGD_LOGISTIC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/sgd_logistic.h>

#include "apps/linear/linear_classes.h"

/* Weights in a row of the table: 8 KB, so that sparse data touches few rows,
 * and each is large enough for a message. */
enum { SGD_ROW = 1024 };

/* The program's tables; table 0 receives the model at the end. */
enum {
    SGD_MODEL = 0,
    SGD_WEIGHTS = 1, /* [rows x SGD_ROW]; the last row holds b, then zeros */
    SGD_TOUCHES = 2, /* [1 x rows] clocks of an epoch that touch a row */
    SGD_FACTS = 3    /* [partitions x SGD_N_FACTS] facts of each partition */
};
enum {
    SGD_FACT_ROWS, /* rows of its share */
    SGD_FACT_LOW,  /* its least and greatest label */
    SGD_FACT_HIGH,
    SGD_FACT_STEEP, /* bound on the gradient of a batch's loss */
    SGD_FACT_LOSS,  /* loss of its rows, at the end */
    SGD_N_FACTS
};

/* Clocks before the first batch: statistics and start values. */
enum { SGD_FIRST_CLOCK = 2 };

/* Instead of a staleness: workers add to one shared copy of w. */
#define SGD_STALENESS_HOGWILD (UINT32_MAX - 3)

typedef enum sgd_step { SGD_THEOREM, SGD_CONSTANT, SGD_DECAY } sgd_step;

/* Numeric options with defaults filled in. */
typedef struct sgd_rules {
    strads_sgd_logistic_options options;
    uint32_t staleness;      /* staleness of reads */
    uint32_t staleness_most; /* largest staleness that can occur */
    sgd_step step;
    bool hinge; /* loss; false: logistic */
} sgd_rules;

/* State of the coordinator, for the result. Partition 0 fills it in. */
typedef struct sgd_state {
    strads_sgd_logistic_options options;
    char *classes; /* owns the text of options.classes */
    double intercept;
    double at_zero; /* objective at w = 0 */
} sgd_state;

/* Hogwild: the pending shrinking of a slice of w, and the entries processed
 * since the last one. */
typedef struct sgd_decay {
    double by;
    uint64_t entries;
} sgd_decay;

/* State of a worker. sgd_pack lists the packed members. */
typedef struct sgd_worker {
    const strads_task *task;
    strads_session *session;
    sgd_rules rules;
    uint64_t n;       /* rows of this share */
    uint32_t columns; /* columns of the data */
    uint32_t rows;    /* rows of the table of weights */
    uint32_t batches; /* batches of a worker in an epoch, the same for all
                       * workers */

    linear_classes classes; /* two classes, the negative one first */

    double *y;         /* [n] 1 or -1 */
    uint32_t *order;   /* [n] rows by batch: batch b starts at n b / batches */
    uint32_t *turn;    /* [batches] order of the batches in this epoch */
    uint64_t *first;   /* [batches + 1] batch b touches the table's rows */
    uint32_t *touched; /* touched[first[b]] .. touched[first[b + 1] - 1] */
    double *penalty;   /* [rows] lambda / q_k; 0: no batch touches the row */

    double *w;       /* [rows x SGD_ROW] the fetched weights */
    double *change;  /* [rows x SGD_ROW] 0 between clocks */
    double *fetched; /* [rows x SGD_ROW] buffer for rows in transit */
    double scale;    /* clocks of all workers in an epoch / rows of the data */
    double sigma;    /* sigma of the theorem */
    double grain;    /* staleness 0: all changes are multiples of it */
    double loss;     /* of its rows in this epoch, when they were processed */
    sgd_decay decay;
    /* The rows of w that a clock has read for the next clock, [n_read]; n_read
     * is 0 otherwise. */
    const uint32_t *read;
    uint32_t n_read;
} sgd_worker;

/* sgd_logistic_options.c: checks a config and fills in defaults. */
extern const strads_option sgd_option_table[];
extern const strads_sgd_logistic_options sgd_defaults;
strads_err sgd_rules_make(const strads_sgd_logistic_options *given,
                          sgd_rules *out);

/* sgd_logistic_worker.c: memory, and the rows of each batch. */
strads_err sgd_open(const strads_task *task, void **local);
void sgd_close(void *local);
/* All other state is in the tables or is drawn again. Packed are: the sums of
 * an epoch, the pending shrinking and, at staleness 0, the weights that the
 * previous clock read for this clock's step. */
strads_err sgd_pack(const void *local, strads_bytes *out);
strads_err sgd_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local);
/* The first position of a batch's rows in `order`. */
static inline uint64_t sgd_batch_at(const sgd_worker *w, uint64_t batch)
{
    return w->n * batch / w->batches;
}
/* Draws the order of batches in an epoch. */
void sgd_worker_shuffle(sgd_worker *worker, uint32_t epoch);

/* sgd_logistic_statistics.c: data that all partitions share: labels, q_k, F and
 * L. Takes clock 0; after a resume, only reads the tables. */
strads_err sgd_statistics(sgd_worker *worker);

/* sgd_logistic_exchange.c: moves weights between worker and table. */

/* Reads n rows into w, with this staleness. */
strads_err sgd_fetch(sgd_worker *worker, uint32_t n, const uint32_t *rows,
                     uint32_t staleness);
/* Adds `change` of n rows to the table and resets it to 0. */
strads_err sgd_push(sgd_worker *worker, uint32_t n, const uint32_t *rows);
/* Copies the start values from table 0 to the weights, and the model into table
 * 0. Each partition copies a part of the rows. */
strads_err sgd_take_start(sgd_worker *worker);
strads_err sgd_give_model(sgd_worker *worker);

/* sgd_logistic_kernels.c: x_i'v; v += a x_i; v += a u; rounding of n numbers to
 * multiples of `grain`; the loss of a margin, and its negative slope. */
double sgd_dot(const strads_sparse *x, uint64_t i, const double *v);
void sgd_add(const strads_sparse *x, uint64_t i, double a, double *v);
void sgd_add_dense(uint64_t n, double a, const double *u, double *v);
void sgd_round(uint64_t n, double grain, double *v);
double sgd_square(uint64_t n, const double *v);
double sgd_norm(const strads_sparse *x, uint64_t i);
double sgd_loss(bool hinge, double margin);
double sgd_slope(bool hinge, double margin);

/* sgd_logistic_hogwild.c: runs epochs row by row on the shared copy of w, after
 * `done` of their clocks. Partition 0 calls `epoch` after each epoch, with the
 * current w. */
/* Clocks of a Hogwild epoch, with several batches each; the same number for all
 * workers. */
static inline uint32_t sgd_race_clocks(const sgd_worker *w)
{
    return w->batches < 64 ? w->batches : 64;
}
strads_err sgd_hogwild(sgd_worker *worker, uint64_t done,
                       strads_err (*epoch)(sgd_worker *));

#endif
