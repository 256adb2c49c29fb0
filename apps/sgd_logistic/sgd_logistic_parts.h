/* The rooms of the sgd-logistic program and what they hand to each other.
 *
 * The objective is the mean of f_t over the clocks t of all workers in one
 * epoch, clocks / n rows to a clock, so that every f_t is convex and its
 * gradient touches the rows of its own batch alone:
 *
 *     f_t(w) = clocks/n sum_{i in batch t} loss(y_i (x_i'w + b))
 *            + sum_{k touched by t} lambda / (2 q_k) |w_k|^2
 *
 * w_k are the 1,024 weights of row k of the table, and q_k is the share of
 * clocks that touch it. A batch is made of the same rows in every epoch. */
#ifndef SGD_LOGISTIC_PARTS_H
#define SGD_LOGISTIC_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include <strads/sgd_logistic.h>

#include "apps/linear/linear_classes.h"

/* Weights in a row of the table: 8 KB, so that sparse data touch few rows and
 * each of them is worth its message. */
enum { SGD_ROW = 1024 };

/* The program's tables; table 0 gets the model at the end. */
enum {
    SGD_MODEL = 0,
    SGD_WEIGHTS = 1, /* [rows x SGD_ROW]; the last row holds b, then zeros */
    SGD_TOUCHES = 2, /* [1 x rows] clocks of an epoch that touch a row */
    SGD_FACTS = 3    /* [partitions x SGD_N_FACTS] what each one knows */
};
enum {
    SGD_FACT_ROWS, /* of its share */
    SGD_FACT_LOW,  /* its least and its greatest label */
    SGD_FACT_HIGH,
    SGD_FACT_STEEP, /* the steepest that the loss of a batch can be */
    SGD_FACT_LOSS,  /* of its rows, at the end */
    SGD_N_FACTS
};

/* Clocks before the first batch: the statistics, the start values. */
enum { SGD_FIRST_CLOCK = 2 };

/* No staleness: workers add to the one copy of w that they share. */
#define SGD_STALENESS_HOGWILD (UINT32_MAX - 3)

typedef enum sgd_step { SGD_THEOREM, SGD_CONSTANT, SGD_DECAY } sgd_step;

/* Options with defaults, as numbers. */
typedef struct sgd_rules {
    strads_sgd_logistic_options options;
    uint32_t staleness;      /* of reads */
    uint32_t staleness_most; /* that it can come to */
    sgd_step step;
    bool hinge; /* the loss; else logistic */
} sgd_rules;

/* The coordinator's: what the result tells. Partition 0 fills it in. */
typedef struct sgd_state {
    strads_sgd_logistic_options options;
    char *classes; /* options.classes points to it */
    double intercept;
    double at_zero; /* the objective there */
} sgd_state;

/* Hogwild: what a slice of w is still to be shrunk by, and what it was met by
 * since it was last. */
typedef struct sgd_decay {
    double by;
    uint64_t entries;
} sgd_decay;

/* A worker's, for the whole run: what it packs is told at sgd_pack. */
typedef struct sgd_worker {
    const strads_task *task;
    strads_session *session;
    sgd_rules rules;
    uint64_t n;       /* rows of this share */
    uint32_t columns; /* of the data */
    uint32_t rows;    /* of the table of weights */
    uint32_t batches; /* a worker's in an epoch: the same number for all */

    linear_classes classes; /* two, the negative one first */

    double *y;         /* [n] 1 or -1 */
    uint32_t *order;   /* [n] its rows: batch b has n b / batches and so on */
    uint32_t *turn;    /* [batches] their order in this epoch */
    uint64_t *first;   /* [batches + 1] batch b touches the rows of the table */
    uint32_t *touched; /* touched[first[b]] .. touched[first[b + 1] - 1] */
    double *penalty;   /* [rows] lambda / q_k; 0: nobody touches it */

    double *w;       /* [rows x SGD_ROW] as far as it was fetched */
    double *change;  /* [rows x SGD_ROW] 0 between two clocks */
    double *fetched; /* [rows x SGD_ROW] rows on their way into w */
    double scale;    /* clocks of all workers in an epoch / rows of the data */
    double sigma;    /* the theorem's */
    double grain;    /* staleness 0: every change is a multiple of it */
    double loss;     /* of its rows in this epoch, as they were met */
    sgd_decay decay;
    /* Rows of w that a clock has read for the next one, [n_read]; else 0. */
    const uint32_t *read;
    uint32_t n_read;
} sgd_worker;

/* sgd_logistic_options.c: checks a config, fills defaults in. */
extern const strads_option sgd_option_table[];
extern const strads_sgd_logistic_options sgd_defaults;
strads_err sgd_rules_make(const strads_sgd_logistic_options *given,
                          sgd_rules *out);

/* sgd_logistic_worker.c: memory, and which rows make a batch. */
strads_err sgd_open(const strads_task *task, void **local);
void sgd_close(void *local);
/* Everything but this is in the tables, or is drawn again: the sums of an epoch,
 * what is to be shrunk, and at staleness 0 the weights that were read in the
 * clock before for a step in this one. */
strads_err sgd_pack(const void *local, strads_bytes *out);
strads_err sgd_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local);
/* The places of a batch's rows in `order`. */
static inline uint64_t sgd_batch_at(const sgd_worker *w, uint64_t batch)
{
    return w->n * batch / w->batches;
}
/* Draws the order of batches in an epoch. */
void sgd_worker_shuffle(sgd_worker *worker, uint32_t epoch);

/* sgd_logistic_statistics.c: what all partitions must know of each other: labels,
 * q_k, F and L. Takes clock 0; later it is known. */
strads_err sgd_statistics(sgd_worker *worker);

/* sgd_logistic_exchange.c: weights from the table and back. */

/* Reads n rows into w, with that staleness. */
strads_err sgd_fetch(sgd_worker *worker, uint32_t n, const uint32_t *rows,
                     uint32_t staleness);
/* Adds `change` of n rows to the table, and makes it 0. */
strads_err sgd_push(sgd_worker *worker, uint32_t n, const uint32_t *rows);
/* Weights from the start values in table 0, and the model into it. Each
 * partition does a part of the rows. */
strads_err sgd_take_start(sgd_worker *worker);
strads_err sgd_give_model(sgd_worker *worker);

/* sgd_logistic_kernels.c: x_i'v, v += a x_i, v += a u, v to multiples of
 * `grain` in n numbers; the loss of a margin and its slope
 * downward. */
double sgd_dot(const strads_sparse *x, uint64_t i, const double *v);
void sgd_add(const strads_sparse *x, uint64_t i, double a, double *v);
void sgd_add_dense(uint64_t n, double a, const double *u, double *v);
void sgd_round(uint64_t n, double grain, double *v);
double sgd_square(uint64_t n, const double *v);
double sgd_norm(const strads_sparse *x, uint64_t i);
double sgd_loss(bool hinge, double margin);
double sgd_slope(bool hinge, double margin);

/* sgd_logistic_hogwild.c: epochs of a row at a time on the one copy of w, when
 * `done` of their clocks have been. Calls `epoch` after each, in partition 0 with
 * w as it then is. */
/* Clocks of an epoch there, some batches each: the same number for all. */
static inline uint32_t sgd_race_clocks(const sgd_worker *w)
{
    return w->batches < 64 ? w->batches : 64;
}
strads_err sgd_hogwild(sgd_worker *worker, uint64_t done,
                       strads_err (*epoch)(sgd_worker *));

#endif
