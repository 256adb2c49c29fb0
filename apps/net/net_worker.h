/* A partition of the network program, and functions of its files. */
#ifndef NET_WORKER_H
#define NET_WORKER_H

#include <math.h>

#include "net_parts.h"

/* Tables; table 0 has the parameters. */
enum { NET_MODEL = 0, NET_SUMS = 1, NET_FACTS = 2 };

/* Rows of "facts": number of labels, and the labels; at the end, the model's
 * mean loss, number of correct rows and number of rows. */
enum {
    NET_LABELS = 0,
    NET_RESULT = 1,
    NET_HELD = 2, /* R > 1: the held-out rows' mean loss, and correct ones */
    NET_FACT_ROWS = 3,
    NET_N_FACTS = LINEAR_LABELS_MAX + 1
};

/* Purposes of random streams. */
enum { NET_DRAW_START = 1, NET_DRAW_ORDER = 2, NET_DRAW_HELD = 3 };

/* Sums of multiples of this are exact up to 2^9. */
#define NET_GRAIN 0x1p-44

/* If at least this share of a part's entries is nonzero, the part is stored
 * dense. */
#define NET_DENSE_SHARE 0.25

typedef struct net_state {
    strads_net_options options;
    linear_classes classes;
    char *text; /* owns the text of options.classes */
} net_state;

/* The held-out rows of an epoch. */
typedef struct net_held_out {
    double loss; /* mean; a sum of the group's rows while the epoch runs */
    double correct;
} net_held_out;

/* State of early stopping. */
typedef struct net_stop {
    net_held_out now, best;
    net_held_out given;  /* this group's part of the table's row NET_HELD */
    uint64_t best_epoch; /* from 1 on; 0: none yet */
    uint64_t stale;      /* epochs since */
} net_stop;

/* State of a partition. */
typedef struct net_worker {
    const strads_task *task;
    strads_session *session;
    const strads_sparse *x;
    strads_net_options options;
    net_sizes sizes;
    const net_arithmetic *arithmetic;
    uint32_t groups, members; /* R, C */
    uint32_t group, member;   /* r, c */
    uint64_t rows, columns;   /* of the partition's share */
    uint64_t all_rows;
    uint64_t train_rows; /* of them, not held out */
    uint32_t batch_max;  /* most rows of a batch in one group */

    uint32_t *class;  /* [rows] */
    uint32_t *order;  /* [all_rows] order of the rows in this epoch: those to
                       * train on, then those held out */
    uint32_t *row;    /* [batch_max] this batch's rows of the share */
    uint32_t *label;  /* [batch_max] their classes */
    uint64_t *mark;   /* [columns] last batch that touched the column */
    uint64_t batches; /* number of batches so far, for `mark` */

    /* The rows of the table that a batch needs, and their positions in w:
     * columns first, then upper rows. */
    uint32_t *id;    /* [columns + upper] */
    uint32_t *place; /* [columns + upper] rows in w and grad */
    uint32_t n_id;

    void *dense;         /* [rows x columns] or NULL */
    void *gather;        /* [batch_max x columns], with `dense` */
    void *w, *grad;      /* [(columns + upper) x width]; with Adam, m and v
                          * of as many numbers follow w */
    void *z, *scratch;   /* [batch_max x width], for each hidden layer */
    void *p;             /* [batch_max x classes] */
    void *delta, *spare; /* [batch_max x width] */
    double *exchanged;   /* [most rows of one call x width] */
    double *old[2];      /* first partition of a group: the sums in the table */
    uint32_t *slot;      /* [batch_max + flags] rows of table "sums" to read */
    uint32_t flags;      /* rows of "sums" with one number for each partition:
                          * the batch that ends the run for it */
    double *start;       /* R = 1: the model's rows at the start */
    double loss, correct; /* of the group's rows in this epoch */
    uint64_t seen;
    net_stop stop;
    void
        *best; /* [(columns + upper) x width] weights of stop.best_epoch. R > 1:
                 * in the first group only */
    uint64_t ends_at; /* first batch that no partition runs */
    bool asked;       /* this partition has asked for an end */

    bool trains;  /* the clock that ends now may be a checkpoint's */
    bool sums;    /* that clock sums z */
    void *packed; /* state from a checkpoint, until the run uses it */
    uint64_t packed_size;
} net_worker;

/* ---- numbers in f64 or f32 ----------------------------------------------- */

static inline void *net_number_at(const net_worker *w, void *numbers,
                                  uint64_t k)
{
    return (char *)numbers + k * w->arithmetic->bytes;
}

static inline bool net_is_f32(const net_worker *w)
{
    return w->arithmetic->bytes == sizeof(float);
}

static inline void net_widen(const net_worker *w, uint64_t n, const void *from,
                             double *to)
{
    for (uint64_t k = 0; k < n; k++)
        to[k] = net_is_f32(w) ? (double)((const float *)from)[k]
                              : ((const double *)from)[k];
}

static inline void net_narrow(const net_worker *w, uint64_t n,
                              const double *from, void *to)
{
    for (uint64_t k = 0; k < n; k++)
        if (net_is_f32(w))
            ((float *)to)[k] = (float)from[k];
        else
            ((double *)to)[k] = from[k];
}

static inline void net_to_grain(uint64_t n, double *v)
{
    for (uint64_t k = 0; k < n; k++)
        v[k] = rint(v[k] / NET_GRAIN) * NET_GRAIN;
}

/* The numbers of the parameter in position k (not id) of w or grad. */
static inline void *net_numbers_of(const net_worker *w, void *of, uint64_t k)
{
    return net_number_at(w, of, k * w->sizes.width);
}

/* ---- net_open.c ---------------------------------------------------------- */

strads_err net_open(const strads_task *task, void **local);
void net_close(void *local);
/* The rest, which needs a session. */
strads_err net_worker_make(net_worker *w, const strads_task *task,
                           strads_session *session);
/* An array of n zeros, each of `size` bytes, into *out. STRADS_ENOMEM. */
strads_err net_reserve_array(uint64_t n, uint64_t size, void *out);
/* Whether training leaves out a row; the same on any grid. */
bool net_is_held(const net_worker *w, uint64_t row);
/* The most rows of a batch. */
uint32_t net_batch_rows(const strads_net_options *o, uint64_t rows);

/* ---- net_table.c: parameters, and checkpoints ---------------------------- */

/* Lists the columns that the batch touches, or all columns of dense data, and
 * the upper rows. The batch has n rows in row[]. n = UINT32_MAX lists all
 * columns. */
void net_name_touched(net_worker *w, uint32_t n);
/* Reads the listed parameters. */
strads_err net_fetch_parameters(net_worker *w, uint32_t staleness);
/* Takes them from the checkpoint, because the table may already have increments
 * of the current batch. */
strads_err net_fetch_packed(net_worker *w);
/* Adds `from`, less `start` if it is not NULL, to the table for all listed
 * parameters. Only the first member of a group pushes upper rows. */
strads_err net_push_parameters(net_worker *w, void *from, const double *start,
                               bool upper);
/* Reads the start values; draws rows that are 0. */
strads_err net_take_start(net_worker *w);
/* With several groups, all use the table's parameters, and the first group
 * changes them into its own w; net_name_touched has listed all of them. */
strads_err net_give_parameters(net_worker *w, uint32_t staleness);

strads_err net_pack(const void *local, strads_bytes *out);
strads_err net_unpack(strads_task *task, const void *bytes, size_t size,
                      void **local);
/* Restores packed state; finds the batch of the checkpoint's clock, and whether
 * its z was summed. */
strads_err net_go_on(net_worker *w, uint64_t *step, bool *summed);

#endif
