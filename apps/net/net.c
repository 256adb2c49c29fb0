/* A feed-forward network by mini-batches, on a grid of partitions.
 *
 * Partition (r, c) has the rows of range r and the columns of range c, for R
 * ranges of rows and C of columns. The partitions of one r are a group: each
 * computes X W_1 of its columns, and their sum is the first layer's z. If there
 * are several groups, each adds its part of the gradient. So a batch of B rows
 * costs
 *
 *     read    the parameters that it touches            if R > 1
 *     inc     the group's z, (B / R) h numbers          if C > 1
 *     clock   and read the sum
 *     inc     -rate/B gradient, d h / C numbers if all columns are touched
 *     clock                                             if R > 1
 *
 * State of a single partition stays there: if R = 1, the weights of its
 * columns. The layers above are then computed by all partitions, with equal
 * results, because all have the same z.
 *
 * Table "sums" has two copies of the sums of z, for even and odd batches. When
 * a partition has read the sum of batch t, all partitions have read the sum of
 * batch t - 1, so batch t + 1 can use its rows. The group's first partition
 * subtracts the old sum together with its own increment. All increments are
 * multiples of a grain, so that sums do not depend on their order, and
 * subtraction is exact.
 *
 * A checkpoint is taken within a call that ends one of training's clocks. It
 * packs only state that the tables lack: the epoch's loss so far, the weights
 * of the best epoch and, if R = 1, the weights. The clock determines the batch,
 * and whether its z has been summed. If so, a resumed run computes z again and
 * reads the sum.
 *
 * Rows that are held out form batches at the end of each epoch, which compute
 * their loss only. If R > 1 such a batch still ends two clocks, so that the
 * clock determines the batch, and the groups add up their losses in "facts". */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <strads/policy.h>

#include "net_blas.h"
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
enum { DRAW_START = 1, DRAW_ORDER = 2, DRAW_HELD = 3 };

/* Sums of multiples of this are exact up to 2^9. */
#define GRAIN 0x1p-44

/* If at least this share of a part's entries is nonzero, the part is stored
 * dense. */
#define DENSE_SHARE 0.25

static const char *const net_measures[] = {"epoch", "accuracy",
                                           "validation_loss",
                                           "validation_accuracy", NULL};
enum {
    MEASURE_EPOCH,
    MEASURE_ACCURACY,
    MEASURE_HELD_LOSS,
    MEASURE_HELD_ACCURACY
};

typedef struct net_state {
    strads_net_options options;
    linear_classes classes;
    char *text; /* owns the text of options.classes */
} net_state;

/* The held-out rows of an epoch. */
typedef struct held_out {
    double loss; /* mean; a sum of the group's rows while the epoch runs */
    double correct;
} held_out;

/* State of early stopping. */
typedef struct net_stop {
    held_out now, best;
    held_out given;      /* this group's part of the table's row NET_HELD */
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

/* Header of a partition's packed state; weights, sums and best are byte
 * counts. */
typedef struct packed_head {
    double loss, correct;
    uint64_t seen, weights, sums, best;
    net_stop stop;
} packed_head;

/* ---- numbers in f64 or f32 ----------------------------------------------- */

static void *number_at(const net_worker *w, void *numbers, uint64_t k)
{
    return (char *)numbers + k * w->arithmetic->bytes;
}

static bool is_f32(const net_worker *w)
{
    return w->arithmetic->bytes == sizeof(float);
}

static void widen_numbers(const net_worker *w, uint64_t n, const void *from,
                          double *to)
{
    for (uint64_t k = 0; k < n; k++)
        to[k] = is_f32(w) ? (double)((const float *)from)[k]
                          : ((const double *)from)[k];
}

static void narrow(const net_worker *w, uint64_t n, const double *from,
                   void *to)
{
    for (uint64_t k = 0; k < n; k++)
        if (is_f32(w))
            ((float *)to)[k] = (float)from[k];
        else
            ((double *)to)[k] = from[k];
}

static void to_grain(uint64_t n, double *v)
{
    for (uint64_t k = 0; k < n; k++)
        v[k] = rint(v[k] / GRAIN) * GRAIN;
}

/* ---- memory -------------------------------------------------------------- */

/* Rows of a batch lie anywhere in large arrays, so these have large pages where
 * the system has them. */
static void *allocate_zeroed(uint64_t n, uint64_t size)
{
    enum { PAGE = 2 << 20 };
    if (n < PAGE / size)
        return calloc(n, size);
    if (n > (SIZE_MAX - PAGE) / size)
        return NULL;
    const size_t bytes = (size_t)((n * size + PAGE - 1) / PAGE * PAGE);
    void *x = aligned_alloc(PAGE, bytes);
#ifdef MADV_HUGEPAGE
    if (x)
        (void)madvise(x, bytes, MADV_HUGEPAGE);
#endif
    return x ? memset(x, 0, bytes) : NULL;
}

static strads_err reserve_array(uint64_t n, uint64_t size, void *out)
{
    void *scratch = allocate_zeroed(n, size);
    memcpy(out, &scratch, sizeof scratch);
    return scratch ? STRADS_OK
                   : strads_fail(STRADS_ENOMEM,
                                 "no memory for %llu numbers of the network",
                                 (unsigned long long)n);
}

static void densify(const net_worker *w)
{
    for (uint64_t i = 0; i < w->rows; i++)
        for (uint64_t e = w->x->start[i]; e < w->x->start[i + 1]; e++) {
            const double v = strads_sparse_value(w->x, e);
            narrow(w, 1, &v,
                   number_at(w, w->dense, i * w->columns + w->x->index[e]));
        }
}

static bool keeps_best(const net_worker *w)
{
    return w->options.holdout > 0 && (w->groups == 1 || w->group == 0);
}

static strads_err allocate_worker(net_worker *w)
{
    const net_sizes *s = &w->sizes;
    const uint64_t size = w->arithmetic->bytes, ld = s->width;
    const uint64_t parameters = w->columns + net_upper(s);
    const uint64_t slots = w->batch_max + w->flags;
    const double cells = (double)w->rows * (double)w->columns;
    const bool dense = (double)w->x->nnz >= DENSE_SHARE * cells;
    const uint64_t weights = (net_uses_adam(&w->options) ? 3 : 1) * parameters;
    struct {
        void *out;
        uint64_t n, size;
    } of[] = {
        {&w->class, w->rows, sizeof *w->class},
        {&w->order, w->all_rows, sizeof *w->order},
        {&w->row, w->batch_max, sizeof *w->row},
        {&w->label, w->batch_max, sizeof *w->label},
        {&w->mark, w->columns, sizeof *w->mark},
        {&w->id, parameters, sizeof *w->id},
        {&w->place, parameters, sizeof *w->place},
        {&w->dense, dense ? w->rows * w->columns : 0, size},
        {&w->gather, dense ? w->batch_max * w->columns : 0, size},
        {&w->w, weights * ld, size},
        {&w->grad, parameters * ld, size},
        {&w->z, w->batch_max * ld, size},
        {&w->scratch, ld * w->batch_max * (s->layers - 1), size},
        {&w->p, w->batch_max * s->size[s->layers], size},
        {&w->delta, w->batch_max * ld, size},
        {&w->spare, w->batch_max * ld, size},
        {&w->exchanged, (parameters > slots ? parameters : slots) * ld,
         sizeof *w->exchanged},
        {&w->old[0], w->member == 0 ? w->batch_max * ld : 0, sizeof(double)},
        {&w->old[1], w->member == 0 ? w->batch_max * ld : 0, sizeof(double)},
        {&w->slot, slots, sizeof *w->slot},
        {&w->start, w->groups == 1 ? parameters * ld : 0, sizeof *w->start},
        {&w->best, keeps_best(w) ? parameters * ld : 0, size},
    };
    strads_err err = STRADS_OK;
    for (size_t k = 0; !err && k < sizeof of / sizeof *of; k++)
        if (of[k].n > 0)
            err = reserve_array(of[k].n, of[k].size, of[k].out);
    if (!err && dense)
        densify(w);
    return err;
}

static void net_close(void *local)
{
    net_worker *w = local;
    if (!w)
        return;
    void *const scratch[] = {w->class,   w->order,     w->row,    w->label,
                             w->mark,    w->id,        w->place,  w->dense,
                             w->gather,  w->w,         w->grad,   w->z,
                             w->scratch, w->p,         w->delta,  w->spare,
                             w->slot,    w->exchanged, w->old[0], w->old[1],
                             w->start,   w->best,      w->packed};
    for (size_t k = 0; k < sizeof scratch / sizeof *scratch; k++)
        free(scratch[k]);
    free(w);
}

/* Number of rows of "sums" for the flags of all partitions. */
static uint32_t flag_rows(const net_sizes *s, const strads_shape *shape)
{
    return (shape->partitions + s->width - 1) / s->width;
}

static uint32_t rows_of_batch(const strads_net_options *o, uint64_t rows)
{
    return o->batch < rows ? o->batch : (uint32_t)rows;
}

/* Whether training leaves out a row; the same on any grid. */
static bool is_held(const net_worker *w, uint64_t row)
{
    return w->options.holdout > 0 &&
           strads_random_unit(w->task->seed, DRAW_HELD, row, 0) <
               w->options.holdout;
}

static strads_err count_held(net_worker *w)
{
    uint64_t held = 0;
    for (uint64_t i = 0; i < w->all_rows; i++)
        held += is_held(w, i);
    w->train_rows = w->all_rows - held;
    if (w->options.holdout > 0 && (held == 0 || w->train_rows == 0))
        return strads_fail(STRADS_EINVAL,
                           "--holdout %g leaves out %llu of %llu rows: change "
                           "it so that there are rows to train on and rows to "
                           "measure on",
                           w->options.holdout, (unsigned long long)held,
                           (unsigned long long)w->all_rows);
    return STRADS_OK;
}

/* Partition 0 publishes the labels that the coordinator found. */
static strads_err agree_on_classes(net_worker *w, linear_classes *out)
{
    double fact[NET_N_FACTS];
    strads_err err = STRADS_OK;
    if (!w->packed && w->task->share->partition == 0) {
        const net_state *state = w->task->state;
        err = strads_session_inc(w->session, NET_FACTS, NET_LABELS, 0,
                                 state->classes.n);
        for (uint32_t k = 0; !err && k < state->classes.n; k++)
            err = strads_session_inc(w->session, NET_FACTS, NET_LABELS, k + 1,
                                     state->classes.label[k]);
    }
    if (!err && !w->packed)
        err = strads_session_clock(w->session);
    if (!err)
        err =
            strads_session_read_row(w->session, NET_FACTS, NET_LABELS, 0, fact);
    if (err)
        return err;
    err = linear_classes_new((uint32_t)fact[0], out);
    if (!err)
        memcpy(out->label, fact + 1, out->n * sizeof *out->label);
    return err;
}

static strads_err find_classes(net_worker *w, const linear_classes *all)
{
    const strads_share *share = w->task->share;
    for (uint64_t i = 0; i < w->rows; i++) {
        uint32_t k = 0;
        while (k < all->n && all->label[k] != share->label[i])
            k++;
        if (k == all->n) {
            char text[LINEAR_LABEL_TEXT];
            return strads_fail(STRADS_EINVAL,
                               "row %llu has the label %s, which is no class",
                               (unsigned long long)share->rows.begin + i + 1,
                               linear_label_write(share->label_names,
                                                  share->label[i], "%g", text));
        }
        w->class[i] = k;
    }
    return STRADS_OK;
}

static strads_err make_with(net_worker *w, const linear_classes *classes)
{
    const strads_task *task = w->task;
    const strads_share *share = task->share;
    strads_err err =
        net_sizes_make(&w->options, task->shape->cols, classes->n, &w->sizes);
    if (err)
        return err;
    if (w->sizes.rows != task->shape->parameters)
        return linear_classes_unnamed(classes);
    if ((share->partition % w->options.columns == 0) !=
        (share->cols.begin == 0))
        return strads_fail(STRADS_EINVAL,
                           "the data is not cut into %u ranges of columns "
                           "(strads_run_cut sets the ranges)",
                           w->options.columns);
    w->members = w->options.columns;
    w->groups = task->shape->partitions / w->members;
    w->group = share->partition / w->members;
    w->member = share->partition % w->members;
    w->rows = share->rows.end - share->rows.begin;
    w->columns = share->cols.end - share->cols.begin;
    w->all_rows = task->shape->rows;
    w->batch_max = rows_of_batch(&w->options, w->all_rows);
    w->flags = flag_rows(&w->sizes, task->shape);
    w->arithmetic = w->x->f32 ? &net_f32 : &net_f64;
    w->ends_at = UINT64_MAX;
    err = count_held(w);
    if (!err)
        err = net_blas_load();
    if (!err)
        err = allocate_worker(w);
    return err ? err : find_classes(w, classes);
}

/* The run makes the rest, because it needs a session. */
static strads_err net_open(const strads_task *task, void **local)
{
    (void)task;
    *local = calloc(1, sizeof(net_worker));
    return *local ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM, "no memory for a worker");
}

static strads_err worker_make(net_worker *w, const strads_task *task,
                              strads_session *session)
{
    linear_classes classes = {0};
    w->task = task;
    w->session = session;
    w->x = &task->share->by_row;
    strads_err err = net_options_take(task->config, &w->options);
    if (!err)
        err = agree_on_classes(w, &classes);
    if (!err)
        err = make_with(w, &classes);
    linear_classes_free(&classes);
    return err;
}

/* ---- parameters ---------------------------------------------------------- */

/* The numbers of the parameter in position k (not id) of w or grad. */
static void *numbers_of(const net_worker *w, void *of, uint64_t k)
{
    return number_at(w, of, k * w->sizes.width);
}

static void name_parameter(net_worker *w, uint64_t place)
{
    const uint64_t begin = w->task->share->cols.begin;
    w->place[w->n_id] = (uint32_t)place;
    w->id[w->n_id++] =
        (uint32_t)(place < w->columns ? begin + place
                                      : w->sizes.size[0] + place - w->columns);
}

/* Lists the columns that the batch touches, or all columns of dense data, and
 * the upper rows. The batch has n rows in row[]. n = UINT32_MAX lists all
 * columns. */
static void name_touched(net_worker *w, uint32_t n)
{
    w->n_id = 0;
    w->batches++;
    for (uint64_t j = 0; (w->dense || n == UINT32_MAX) && j < w->columns; j++)
        name_parameter(w, j);
    for (uint32_t i = 0; !w->dense && n < UINT32_MAX && i < n; i++)
        for (uint64_t e = w->x->start[w->row[i]];
             e < w->x->start[w->row[i] + 1]; e++) {
            const uint32_t j = w->x->index[e];
            if (w->mark[j] != w->batches) {
                w->mark[j] = w->batches;
                name_parameter(w, j);
            }
        }
    for (uint64_t u = 0; u < net_upper(&w->sizes); u++)
        name_parameter(w, w->columns + u);
}

static strads_err fetch_parameters(net_worker *w, uint32_t staleness)
{
    const uint64_t ld = w->sizes.width;
    strads_err err = strads_session_read_rows(w->session, NET_MODEL, w->n_id,
                                              w->id, staleness, w->exchanged);
    for (uint32_t k = 0; !err && k < w->n_id; k++)
        narrow(w, ld, w->exchanged + k * ld, numbers_of(w, w->w, w->place[k]));
    return err;
}

static strads_err of_other_data(const net_worker *w)
{
    return strads_fail(
        STRADS_EFORMAT,
        "the checkpoint's part of partition %u is not of these data",
        w->task->share->partition);
}

static void forget_packed(net_worker *w)
{
    free(w->packed);
    w->packed = NULL;
}

/* Takes the parameters from the checkpoint, because the table may already have
 * increments of the current batch. */
static strads_err fetch_packed(net_worker *w)
{
    const uint64_t row = w->sizes.width * w->arithmetic->bytes;
    if (w->packed_size != w->n_id * row)
        return of_other_data(w);
    for (uint32_t k = 0; k < w->n_id; k++)
        memcpy(numbers_of(w, w->w, w->place[k]),
               (const char *)w->packed + k * row, row);
    forget_packed(w);
    return STRADS_OK;
}

/* Adds `from`, less `start` if it is not NULL, to the table for all listed
 * parameters. Only the first member of a group pushes upper rows. */
static strads_err push_parameters(net_worker *w, void *from,
                                  const double *start, bool upper)
{
    const uint64_t ld = w->sizes.width;
    const uint32_t n = w->n_id - (upper ? 0 : (uint32_t)net_upper(&w->sizes));
    for (uint32_t k = 0; k < n; k++) {
        double *to = w->exchanged + k * ld;
        widen_numbers(w, ld, numbers_of(w, from, w->place[k]), to);
        for (uint64_t c = 0; start && c < ld; c++)
            to[c] -= start[w->place[k] * ld + c];
    }
    if (!start)
        to_grain(n * ld, w->exchanged);
    return strads_session_inc_rows(w->session, NET_MODEL, n, w->id,
                                   w->exchanged);
}

/* Glorot and Bengio, AISTATS 2010: uniform within sqrt(6 / (units below + units
 * of the layer)). `id` is a row of the table with weights, or with biases b,
 * which start at 0. */
static void draw_start(const net_worker *w, uint64_t id, double *out)
{
    const net_sizes *s = &w->sizes;
    uint32_t l = s->layers - 1;
    while (id < s->first[l])
        l--;
    const double reach =
        sqrt(6 / ((double)s->size[l] + (double)s->size[l + 1]));
    const uint64_t n = l == 0 ? s->size[1] : s->size[l];
    for (uint64_t c = 0; id < s->bias[l] && c < n; c++)
        out[c] = reach *
                 (2 * strads_random_unit(w->task->seed, DRAW_START, id, c) - 1);
}

/* Reads the start values; draws rows that are 0. */
static strads_err take_start(net_worker *w)
{
    const uint64_t ld = w->sizes.width;
    name_touched(w, UINT32_MAX);
    strads_err err =
        strads_session_read_rows(w->session, NET_MODEL, w->n_id, w->id,
                                 STRADS_STALENESS_INFINITE, w->exchanged);
    for (uint32_t k = 0; !err && k < w->n_id; k++) {
        double *row = w->exchanged + k * ld;
        double old[2] = {0};
        for (uint64_t c = 0; c < ld; c++)
            old[row[c] != 0]++;
        if (w->start)
            memcpy(w->start + w->place[k] * ld, row, ld * sizeof *row);
        if (old[1] == 0)
            draw_start(w, w->id[k], row);
        to_grain(ld, row);
        narrow(w, ld, row, numbers_of(w, w->w, w->place[k]));
    }
    return err;
}

/* With several groups, all use the table's parameters, and the first group
 * changes them into its own w; name_touched has listed all of them. */
static strads_err give_parameters(net_worker *w, uint32_t staleness)
{
    const uint64_t ld = w->sizes.width;
    strads_err err = STRADS_OK;
    if (w->groups == 1)
        return STRADS_OK;
    if (w->group == 0) {
        double *start = malloc(w->n_id * ld * sizeof *start);
        if (!start)
            return strads_fail(STRADS_ENOMEM, "no memory for start values");
        err = strads_session_read_rows(w->session, NET_MODEL, w->n_id, w->id,
                                       staleness, start);
        if (!err) /* all rows are listed, in order of position */
            err = push_parameters(w, w->w, start, w->member == 0);
        free(start);
    }
    return err ? err : strads_session_clock(w->session);
}

/* ---- one batch ----------------------------------------------------------- */

/* Fisher-Yates; the same order in all partitions. */
static void shuffle_rows(net_worker *w, uint64_t epoch)
{
    uint64_t train = 0, last = w->train_rows;
    for (uint64_t i = 0; i < w->all_rows; i++)
        w->order[is_held(w, i) ? last++ : train++] = (uint32_t)i;
    for (uint64_t k = w->train_rows; k > 1; k--) {
        const double u = strads_random_unit(w->task->seed, DRAW_ORDER, epoch,
                                            w->train_rows - k);
        const uint64_t other = (uint64_t)(u * (double)k);
        const uint32_t held = w->order[k - 1];
        w->order[k - 1] = w->order[other];
        w->order[other] = held;
    }
}

static uint64_t train_batches(const net_worker *w)
{
    return (w->train_rows + w->batch_max - 1) / w->batch_max;
}

/* Batches of an epoch: first those of training, then those held out. */
static uint64_t epoch_batches(const net_worker *w)
{
    const uint64_t held = w->all_rows - w->train_rows;
    return train_batches(w) + (held + w->batch_max - 1) / w->batch_max;
}

/* Lists the batch's rows in this partition; *all is the number of its rows in
 * all groups. */
static uint32_t take_rows(net_worker *w, uint64_t batch, uint32_t *all)
{
    const strads_range own = w->task->share->rows;
    const uint64_t first = train_batches(w);
    const bool held = batch >= first;
    const uint64_t from = held ? w->train_rows + (batch - first) * w->batch_max
                               : batch * w->batch_max;
    const uint64_t left = (held ? w->all_rows : w->train_rows) - from;
    uint32_t n = 0;
    *all = left < w->batch_max ? (uint32_t)left : w->batch_max;
    for (uint64_t k = from; k < from + *all; k++)
        if (w->order[k] >= own.begin && w->order[k] < own.end) {
            w->row[n] = (uint32_t)(w->order[k] - own.begin);
            w->label[n] = w->class[w->row[n]];
            n++;
        }
    return n;
}

/* If the run has to end, publishes the batch after the next one as the end, so
 * that all partitions learn it in time. */
static strads_err ask_end(net_worker *w, uint64_t step)
{
    const uint32_t p = w->task->share->partition, ld = w->sizes.width;
    const uint32_t first = 2 * w->groups * w->batch_max;
    if (!strads_loop_ends(w->task) || w->asked)
        return STRADS_OK;
    w->asked = true;
    return strads_session_inc(w->session, NET_SUMS, first + p / ld, p % ld,
                              (double)(step + 2));
}

static void read_flags(net_worker *w, const double *flags)
{
    for (uint32_t p = 0; p < w->task->shape->partitions; p++)
        if (flags[p] > 0 && (uint64_t)flags[p] < w->ends_at)
            w->ends_at = (uint64_t)flags[p];
}

/* Ends a clock. If a group has several partitions, sums their z. Afterwards all
 * partitions have read the parameters that they need. `summed`: the
 * checkpoint's clock has already done this. */
static strads_err exchange_sums(net_worker *w, uint64_t step, uint32_t n,
                                bool summed)
{
    const uint64_t ld = w->sizes.width;
    const uint32_t sums = w->members > 1 ? n : 0;
    const uint32_t base =
        (uint32_t)(step % 2 * w->groups + w->group) * w->batch_max;
    double *old = w->member == 0 ? w->old[step % 2] : NULL;
    for (uint32_t i = 0; i < sums; i++)
        w->slot[i] = base + i;
    for (uint32_t k = 0; k < w->flags; k++)
        w->slot[sums + k] = 2 * w->groups * w->batch_max + k;
    widen_numbers(w, sums * ld, w->z, w->exchanged);
    to_grain(sums * ld, w->exchanged);
    for (uint64_t k = 0; old && k < sums * ld; k++)
        w->exchanged[k] -= old[k];
    strads_err err = STRADS_OK;
    if (sums > 0 && !summed)
        err = strads_session_inc_rows(w->session, NET_SUMS, sums, w->slot,
                                      w->exchanged);
    if (!err && !summed)
        err = ask_end(w, step);
    if (!err)
        err = (summed ? strads_session_read_rows
                      : strads_session_clock_and_read)(w->session, NET_SUMS,
                                                       sums + w->flags, w->slot,
                                                       0, w->exchanged);
    if (err)
        return err;
    narrow(w, sums * ld, w->exchanged, w->z);
    if (old)
        memcpy(old, w->exchanged, sums * ld * sizeof *old);
    read_flags(w, w->exchanged + sums * ld);
    return STRADS_OK;
}

static strads_err end_alone(net_worker *w, uint64_t step, bool summed)
{
    if (!summed && strads_loop_ends(w->task))
        w->ends_at = step + 1;
    return summed ? STRADS_OK : strads_session_clock(w->session);
}

static void count_correct(net_worker *w, uint32_t n, bool held)
{
    const uint64_t k = w->sizes.size[w->sizes.layers];
    double loss = 0, correct = 0;
    for (uint32_t i = 0; i < n; i++) {
        double p[LINEAR_LABELS_MAX];
        uint64_t best = 0;
        widen_numbers(w, k, number_at(w, w->p, i * k), p);
        for (uint64_t c = 1; c < k; c++)
            best = p[c] > p[best] ? c : best;
        /* fmax would hide a NaN. */
        loss -= log(p[w->label[i]] < 1e-300 ? 1e-300 : p[w->label[i]]);
        correct += best == w->label[i];
    }
    if (held) {
        w->stop.now.loss += loss;
        w->stop.now.correct += correct;
        return;
    }
    w->loss += loss;
    w->correct += correct;
    w->seen += n;
}

/* A step of Adam, where the partition owns its weights. `before` counts the
 * steps before it. */
static void apply_adam(net_worker *w, uint32_t n, uint32_t all, uint64_t before,
                       double rate)
{
    const net_arithmetic *f = w->arithmetic;
    const net_sizes *s = &w->sizes;
    const uint64_t numbers = (w->columns + net_upper(s)) * s->width;
    const double t = (double)before + 1;
    const net_adam_step step = {.rate = rate,
                                .decay = 1 - rate * w->options.weight_decay,
                                .first = 1 / (1 - pow(.9, t)),
                                .second = 1 / (1 - pow(.999, t))};
    f->backward(s, numbers_of(w, w->w, w->columns), n, w->label, w->scratch,
                w->p, 1. / all, numbers_of(w, w->grad, w->columns), w->delta,
                w->spare);
    f->input_step(s, w->x, w->dense, w->columns, n, w->row, w->gather, w->delta,
                  1. / all, w->grad);
    f->adam(numbers, &step, w->grad, number_at(w, w->w, numbers), w->w);
}

/* Adds `by` times the gradient of the batch's mean loss to the parameters. */
static strads_err apply_gradient(net_worker *w, uint32_t n, double by)
{
    const net_arithmetic *f = w->arithmetic;
    const net_sizes *s = &w->sizes;
    const uint64_t upper = net_upper(s) * s->width;
    const bool alone = w->groups == 1;
    f->backward(s, numbers_of(w, w->w, w->columns), n, w->label, w->scratch,
                w->p, by, numbers_of(w, w->grad, w->columns), w->delta,
                w->spare);
    f->input_step(s, w->x, w->dense, w->columns, n, w->row, w->gather, w->delta,
                  by, alone ? w->w : w->grad);
    if (!alone) {
        strads_err err = push_parameters(w, w->grad, NULL, w->member == 0);
        for (uint32_t k = 0; k < w->n_id; k++)
            memset(numbers_of(w, w->grad, w->place[k]), 0, s->width * f->bytes);
        return err ? err : strads_session_clock(w->session);
    }
    for (uint64_t k = 0; k < upper; k++) {
        double step[2];
        widen_numbers(w, 1, number_at(w, numbers_of(w, w->w, w->columns), k),
                      &step[0]);
        widen_numbers(w, 1, number_at(w, numbers_of(w, w->grad, w->columns), k),
                      &step[1]);
        step[0] += step[1];
        narrow(w, 1, step, number_at(w, numbers_of(w, w->w, w->columns), k));
    }
    memset(numbers_of(w, w->grad, w->columns), 0, upper * f->bytes);
    return STRADS_OK;
}

/* R > 1: ends the second clock of a batch that is held out. The last one of an
 * epoch adds the group's loss to the table. */
static strads_err end_held(net_worker *w, uint64_t batch)
{
    net_stop *s = &w->stop;
    strads_err err = STRADS_OK;
    if (batch + 1 == epoch_batches(w) && w->member == 0) {
        held_out all = s->now;
        all.loss /= (double)(w->all_rows - w->train_rows);
        to_grain(1, &all.loss);
        err = strads_session_inc(w->session, NET_FACTS, NET_HELD, 0,
                                 all.loss - s->given.loss);
        if (!err)
            err = strads_session_inc(w->session, NET_FACTS, NET_HELD, 1,
                                     all.correct - s->given.correct);
        s->given = all;
    }
    return err ? err : strads_session_clock(w->session);
}

/* Processes a batch; rate 0 only computes its loss. `summed`: see exchange. */
static strads_err process_batch(net_worker *w, uint64_t step, uint64_t batch,
                                double rate, bool summed)
{
    const net_arithmetic *f = w->arithmetic;
    const bool held = batch >= train_batches(w);
    uint32_t all;
    const uint32_t n = take_rows(w, batch, &all);
    strads_err err = STRADS_OK;
    if (w->groups > 1) {
        name_touched(w, n);
        err = summed ? fetch_packed(w) : fetch_parameters(w, 0);
    }
    if (err)
        return err;
    f->input(&w->sizes, w->x, w->dense, w->columns, n, w->row, w->w, w->gather,
             w->z);
    w->sums = true;
    err = w->task->shape->partitions > 1 ? exchange_sums(w, step, n, summed)
                                         : end_alone(w, step, summed);
    w->sums = false;
    if (err)
        return err;
    f->forward(&w->sizes, numbers_of(w, w->w, w->columns), n, w->z, w->scratch,
               w->p);
    count_correct(w, n, held);
    if (held)
        return w->groups > 1 ? end_held(w, batch) : STRADS_OK;
    if (rate > 0 && net_uses_adam(&w->options)) {
        apply_adam(w, n, all,
                   step / epoch_batches(w) * train_batches(w) + batch, rate);
        return STRADS_OK;
    }
    return rate > 0 ? apply_gradient(w, n, -rate / all) : STRADS_OK;
}

/* ---- early stopping ------------------------------------------------------ */

/* Restores the weights of the best epoch after `step` batches. Every partition
 * calls it. */
static strads_err restore_best(net_worker *w, uint64_t step)
{
    const uint64_t parameters = w->columns + net_upper(&w->sizes);
    const bool is_it = w->stop.stale == 0 && step % epoch_batches(w) == 0;
    if (w->stop.best_epoch == 0 || is_it)
        return STRADS_OK;
    if (w->best)
        memcpy(w->w, w->best,
               parameters * w->sizes.width * w->arithmetic->bytes);
    name_touched(w, UINT32_MAX);
    return w->groups > 1 ? give_parameters(w, 0) : STRADS_OK;
}

/* Copies the weights. R > 1: they are in the table, and the other groups wait
 * at their next clock until this one has read them. */
static strads_err keep_best(net_worker *w)
{
    const uint64_t parameters = w->columns + net_upper(&w->sizes);
    strads_err err = STRADS_OK;
    if (w->groups > 1) {
        name_touched(w, UINT32_MAX);
        err = fetch_parameters(w, 0);
    }
    if (!err)
        memcpy(w->best, w->w,
               parameters * w->sizes.width * w->arithmetic->bytes);
    return err;
}

/* Takes the held-out loss of an epoch, from 1 on, that has ended. All
 * partitions have the same numbers, so all of them stop after the same one. */
static strads_err judge_epoch(net_worker *w, uint64_t epoch)
{
    net_stop *s = &w->stop;
    double fact[NET_N_FACTS];
    strads_err err = STRADS_OK;
    if (w->options.holdout == 0)
        return STRADS_OK;
    if (w->groups > 1) {
        err = strads_session_read_row(w->session, NET_FACTS, NET_HELD, 0, fact);
        if (!err)
            s->now = (held_out){fact[0], fact[1]};
    } else {
        s->now.loss /= (double)(w->all_rows - w->train_rows);
    }
    if (err)
        return err;
    if (s->best_epoch > 0 && !(s->now.loss < s->best.loss)) {
        s->stale++;
        return STRADS_OK;
    }
    s->best = s->now;
    s->best_epoch = epoch;
    s->stale = 0;
    return w->best ? keep_best(w) : STRADS_OK;
}

static bool is_over(const net_worker *w)
{
    return w->options.patience > 0 && w->stop.stale >= w->options.patience;
}

/* ---- progress ------------------------------------------------------------ */

static strads_err report_epoch(net_worker *w, uint64_t epoch, double loss,
                               double correct, double rows,
                               const held_out *held)
{
    strads_report report = {.objective = loss / rows, .gap = NAN};
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        report.measure[k] = NAN;
    if (!isfinite(loss))
        return strads_fail(STRADS_EPROGRAM,
                           "the weights overflow: take shorter steps (--rate) "
                           "or scale the columns down");
    report.nonzeros = w->sizes.rows * w->sizes.width;
    report.measure[MEASURE_EPOCH] = (double)epoch;
    report.measure[MEASURE_ACCURACY] = correct / rows;
    if (w->options.holdout > 0) {
        report.measure[MEASURE_HELD_LOSS] = held->loss;
        report.measure[MEASURE_HELD_ACCURACY] =
            held->correct / (double)(w->all_rows - w->train_rows);
    }
    if (w->task->share->partition == 0 && rows > 0)
        strads_loop_report(w->task, &report);
    return STRADS_OK;
}

static void reset_totals(net_worker *w)
{
    w->loss = w->correct = 0;
    w->seen = 0;
    w->stop.now = (held_out){0};
}

/* The rate of a batch of an epoch; both count from 0. */
static double rate_of(const net_worker *w, uint64_t epoch, uint64_t batch)
{
    const strads_net_options *o = &w->options;
    const double share =
        ((double)epoch + (double)batch / (double)train_batches(w)) / o->epochs;
    return o->rate *
           (net_is_linear(o) ? 1 - share : 1 / (1 + o->decay * (double)epoch));
}

/* Processes the remaining batches of an epoch, up to the end of the run.
 * `summed` is for the first one, see exchange. */
static strads_err pass_over(net_worker *w, uint64_t *step, bool summed)
{
    const uint64_t batches = epoch_batches(w), epoch = *step / batches;
    strads_err err = STRADS_OK;
    if (*step % batches == 0 && !summed)
        reset_totals(w);
    for (uint64_t b = *step % batches;
         !err && b < batches && *step < w->ends_at; b++) {
        err = process_batch(w, (*step)++, b, rate_of(w, epoch, b), summed);
        summed = false;
    }
    return err;
}

/* Measures the final weights on the rows of training. */
static strads_err measure_model(net_worker *w, uint64_t step)
{
    const uint64_t batches = train_batches(w);
    strads_err err = STRADS_OK;
    shuffle_rows(w, 0);
    reset_totals(w);
    for (uint64_t b = 0; !err && b < batches && step < w->ends_at; b++)
        err = process_batch(w, step++, b, 0, false);
    return err;
}

/* Publishes the final model, and its loss over all groups. */
static strads_err publish_result(net_worker *w, uint64_t epoch)
{
    double fact[NET_N_FACTS] = {w->loss / (double)w->train_rows, w->correct,
                                (double)w->seen};
    strads_err err = STRADS_OK;
    to_grain(1, fact);
    if (w->member == 0)
        err = strads_session_inc_row(w->session, NET_FACTS, NET_RESULT, fact);
    if (!err && w->groups == 1) {
        name_touched(w, UINT32_MAX);
        err = push_parameters(w, w->w, w->start, w->member == 0);
    }
    if (!err)
        err = strads_session_clock(w->session);
    if (err || w->task->share->partition > 0)
        return err;
    err = strads_session_read_row(w->session, NET_FACTS, NET_RESULT, 0, fact);
    return err ? err
               : report_epoch(w, epoch, fact[0] * (double)w->train_rows,
                              fact[1], fact[2], &w->stop.best);
}

/* ---- checkpoints --------------------------------------------------------- */

/* Bytes of packed weights. R = 1: all weights, with m and v. Otherwise: the
 * parameters that the current batch has read, because the table may change. */
static uint64_t own_weights(const net_worker *w)
{
    const uint64_t read = w->sums ? w->n_id : 0;
    const uint64_t own = (w->columns + net_upper(&w->sizes)) *
                         (net_uses_adam(&w->options) ? 3 : 1);
    return (w->groups > 1 ? read : own) * w->sizes.width * w->arithmetic->bytes;
}

static uint64_t own_best(const net_worker *w)
{
    return w->best && w->stop.best_epoch > 0
               ? (w->columns + net_upper(&w->sizes)) * w->sizes.width *
                     w->arithmetic->bytes
               : 0;
}

static uint64_t own_sums(const net_worker *w)
{
    return w->member > 0
               ? 0
               : (uint64_t)w->batch_max * w->sizes.width * sizeof(double);
}

static strads_err net_pack(const void *local, strads_bytes *out)
{
    const net_worker *w = local;
    if (!w->trains)
        return STRADS_OK;
    const packed_head head = {.loss = w->loss,
                              .correct = w->correct,
                              .seen = w->seen,
                              .weights = own_weights(w),
                              .sums = own_sums(w),
                              .best = own_best(w),
                              .stop = w->stop};
    strads_err err = strads_bytes_append(out, &head, sizeof head);
    if (!err && head.best)
        err = strads_bytes_append(out, w->best, head.best);
    for (int turn = 0; !err && head.sums && turn < 2; turn++)
        err = strads_bytes_append(out, w->old[turn], head.sums);
    if (!err && w->groups == 1)
        err = strads_bytes_append(out, w->w, head.weights);
    const uint64_t row = w->sizes.width * w->arithmetic->bytes;
    for (uint64_t k = 0; !err && w->groups > 1 && k < head.weights / row; k++)
        err = strads_bytes_append(out, numbers_of(w, w->w, w->place[k]), row);
    return err;
}

static strads_err net_unpack(strads_task *task, const void *bytes, size_t size,
                             void **local)
{
    strads_err err = net_open(task, local);
    net_worker *w = *local;
    if (!err)
        err = reserve_array(size, 1, &w->packed);
    if (!err) {
        memcpy(w->packed, bytes, size);
        w->packed_size = size;
        return STRADS_OK;
    }
    net_close(w);
    *local = NULL;
    return err;
}

/* Restores packed state; finds the batch of the checkpoint's clock, and whether
 * its z was summed. */
static strads_err go_on(net_worker *w, uint64_t *step, bool *summed)
{
    const uint64_t begin = w->groups > 1 ? 2 : 1; /* clocks for classes and
                                                   * start values */
    const uint64_t clock = strads_session_now(w->session) - begin;
    const uint64_t sums = own_sums(w), most = w->packed_size;
    char *from = w->packed;
    packed_head head = {0};
    if (most >= sizeof head)
        memcpy(&head, from, sizeof head);
    w->stop = head.stop;
    if (head.sums != sums || head.best != own_best(w) ||
        most < sizeof head + 2 * sums + head.best ||
        head.weights != most - sizeof head - 2 * sums - head.best ||
        (w->groups == 1 && head.weights != own_weights(w)))
        return of_other_data(w);
    from += sizeof head;
    if (head.best)
        memcpy(w->best, from, head.best);
    from += head.best;
    for (int turn = 0; sums && turn < 2; turn++)
        memcpy(w->old[turn], from + (size_t)turn * sums, sums);
    from += 2 * sums;
    *summed = w->groups > 1 ? clock % 2 == 1 : clock > 0;
    *step = w->groups > 1 ? clock / 2 : clock - *summed;
    w->loss = head.loss;
    w->correct = head.correct;
    w->seen = head.seen;
    if (w->groups > 1 && *summed) { /* kept for fetch_packed */
        memmove(w->packed, from, head.weights);
        w->packed_size = head.weights;
        return STRADS_OK;
    }
    if (w->groups == 1)
        memcpy(w->w, from, head.weights);
    forget_packed(w);
    return STRADS_OK;
}

static strads_err run_worker(net_worker *w)
{
    const strads_net_options *o = &w->options;
    uint64_t step = 0;
    bool summed = false;
    strads_err err = STRADS_OK;
    if (!w->packed || w->start) /* the start values are still in the table */
        err = take_start(w);
    if (!err)
        err = w->packed ? go_on(w, &step, &summed)
                        : give_parameters(w, STRADS_STALENESS_INFINITE);
    uint64_t epoch = err ? 0 : step / epoch_batches(w);
    if (!err && epoch > 0 && !summed && step % epoch_batches(w) == 0)
        err = judge_epoch(w, epoch); /* the checkpoint was taken before */
    w->trains = true;
    for (; !err && epoch < o->epochs && step < w->ends_at && !is_over(w);
         epoch++) {
        shuffle_rows(w, epoch);
        err = pass_over(w, &step, summed);
        summed = false;
        const bool whole = step == (epoch + 1) * epoch_batches(w);
        if (!err && whole)
            err = judge_epoch(w, epoch + 1);
        if (!err && w->seen > 0 && (whole || o->holdout == 0))
            err = report_epoch(w, epoch + 1, w->loss, w->correct,
                               (double)w->seen, &w->stop.now);
    }
    w->trains = false;
    if (!err)
        err = restore_best(w, step);
    if (!err && step < w->ends_at)
        err = measure_model(w, step);
    return err ? err
               : publish_result(w, w->stop.best_epoch ? w->stop.best_epoch
                                                      : epoch);
}

static strads_err net_run(strads_task *task, strads_session *session)
{
    net_worker *w = task->local;
    const strads_err err = worker_make(w, task, session);
    return err ? err : run_worker(w);
}

/* ---- the program's table ------------------------------------------------- */

static uint32_t net_grid(const void *config)
{
    const uint32_t columns = ((const strads_net_options *)config)->columns;
    return columns > 0 ? columns : net_defaults.columns;
}

/* Estimates the memory beside the data: the table; in each partition its
 * parameters, their gradient and exchanged copies; the activations of a
 * batch. */
static uint64_t net_estimate_memory(const strads_net_options *o,
                                    const net_sizes *sizes,
                                    const strads_data *data,
                                    const strads_shape *shape)
{
    enum { BLAS_BYTES = 16 << 20 }; /* its buffers */
    const uint64_t row = sizeof(double) * sizes->width;
    uint64_t bytes = BLAS_BYTES + sizes->rows * row;

    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (!share || !share->by_row.start)
            continue;
        const uint64_t rows = share->rows.end - share->rows.begin;
        const uint64_t cols = share->cols.end - share->cols.begin;
        const uint64_t batch = o->batch && o->batch < rows ? o->batch : rows;
        const double full = (double)rows * (double)cols;
        bytes += ((net_uses_adam(o) ? 7U : 5U) + (o->holdout > 0 ? 1U : 0U)) *
                     (cols + net_upper(sizes)) * row +
                 (sizes->layers + 4) * batch * row + 8 * shape->rows;
        if ((double)share->by_row.nnz >= DENSE_SHARE * full)
            bytes += sizeof(double) * cols * (rows + batch);
    }
    return bytes;
}

static strads_err net_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    strads_net_options o;
    net_sizes sizes;
    uint32_t classes;
    strads_err err = net_options_take(config, &o);
    if (!err)
        err = linear_classes_count(o.classes, data, &classes);
    if (!err)
        err = net_sizes_make(&o, shape->cols, classes, &sizes);
    if (err)
        return err;
    if (shape->partitions % o.columns != 0)
        return strads_fail(STRADS_EINVAL,
                           "%u partitions for --columns %u: expected a "
                           "multiple of it",
                           shape->partitions, o.columns);
    if (net_uses_adam(&o) && shape->partitions != o.columns)
        return strads_fail(STRADS_EINVAL,
                           "--optimizer adam needs one range of rows, and "
                           "there are %u partitions in %u ranges of columns: "
                           "give --columns %u, or --partitions %u",
                           shape->partitions, o.columns, shape->partitions,
                           o.columns);
    shape->parameters = sizes.rows;
    shape->width = sizes.width;
    shape->run_bytes += net_estimate_memory(&o, &sizes, data, shape);
    return STRADS_OK;
}

static strads_err net_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    strads_net_options o;
    strads_err err = net_options_take(config, &o);
    if (err)
        return err;
    const uint64_t slots = 2 * (uint64_t)(shape->partitions / o.columns) *
                           rows_of_batch(&o, shape->rows);
    const uint64_t flags =
        (shape->partitions + shape->width - 1) / shape->width;
    const strads_table_spec spec[] = {[NET_SUMS] = {.name = "sums",
                                                    .rows = slots + flags,
                                                    .cols = shape->width},
                                      [NET_FACTS] = {.name = "facts",
                                                     .rows = NET_FACT_ROWS,
                                                     .cols = NET_N_FACTS}};
    for (int k = NET_SUMS; !err && k <= NET_FACTS; k++)
        err = strads_store_create(store, &spec[k], &(uint32_t){0});
    return err;
}

static void net_end(void *begun)
{
    net_state *state = begun;
    if (!state)
        return;
    linear_classes_free(&state->classes);
    free(state->text);
    free(state);
}

static strads_err net_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out)
{
    linear_survey *survey = calloc(1, linear_survey_size(LINEAR_LABELS_MAX));
    net_state *state = calloc(1, sizeof *state);
    const strads_names *names = strads_data_label_names(data);
    strads_err err = STRADS_OK;
    if (!survey || !state)
        err = strads_fail(STRADS_ENOMEM, "no memory for the result");
    if (!err) {
        linear_survey_begin(survey, LINEAR_LABELS_MAX);
        err = net_options_take(config, &state->options);
    }
    const bool given = !err && state->options.classes;
    for (uint32_t p = 0; !err && !given && p < shape->partitions;
         p += state->options.columns) {
        const strads_share *share = strads_data_share(data, p);
        if (!share)
            err = strads_fail(STRADS_EINVAL,
                              "several processes must be given the labels: "
                              "--classes A,B,..");
        else if (!share->label)
            err = strads_fail(STRADS_EINVAL,
                              "net needs a label for each row: --labels FILE");
        for (uint64_t i = 0; !err && i < share->rows.end - share->rows.begin;
             i++)
            linear_survey_add(survey, share->label[i], 1);
    }
    const linear_class_options wanted = {.names = names};
    if (!err)
        err = given ? linear_classes_read(state->options.classes, names,
                                          &state->classes)
                    : linear_classes_of(&wanted, survey, &state->classes);
    if (!err)
        err = linear_classes_write(&state->classes, names, &state->text);
    if (!err) {
        state->options.classes = state->text;
        *out = state;
    } else {
        net_end(state);
    }
    free(survey);
    return err;
}

double strads_net_at_zero(const void *state)
{
    return log(((const net_state *)state)->classes.n);
}

const strads_net_options *strads_net_resolved(const void *state)
{
    return &((const net_state *)state)->options;
}

const strads_program strads_program_net = {
    .size = sizeof(strads_program),
    .name = "net",
    .summary = "a feed-forward network for classes",
    .split = STRADS_SPLIT_GRID,
    .layout = STRADS_LAYOUT_ROWS,
    .grid = net_grid,
    .options = net_option_table,
    .config_size = sizeof(strads_net_options),
    .defaults = &net_defaults,
    .named_labels = linear_classes_named,
    .shape = net_shape,
    .tables = net_tables,
    .begin = net_begin,
    .end = net_end,
    .open = net_open,
    .close = net_close,
    .pack = net_pack,
    .unpack = net_unpack,
    .measures = net_measures,
    .run = net_run};
