/* Hogwild: workers add to one shared copy of w, row by row, without locks. A
 * clock has several batches. Niu, Recht, Re, Wright, "Hogwild!: a lock-free
 * approach to parallelizing stochastic gradient descent", NIPS 2011:
 *
 *     w_j += eta (-loss'(m) y x_j - lambda w_j / q_j),    m = y (x'w + b),
 *
 * for each j with an entry in row x; q_j is the share of rows with an entry in
 * j. The mean of the second term over the rows is lambda w_j. It is applied as
 * that mean: each worker owns a slice of the columns. Once the workers have
 * processed several times as many entries as the slice has weights, it shrinks
 * the slice by all steps since the last time. This needs no q_j, writes far
 * less, and keeps steps short where q_j is small.
 *
 *     eta_t = R / (1 + R lambda t)  or  R;  t: rows of all workers so far
 *
 * A batch's rows are processed in memory order, batches in a new random order
 * in each epoch. Loads and stores are atomic and relaxed. If two workers add to
 * a weight at the same time, one change may be lost; rows with few entries
 * rarely collide. No worker runs far ahead, because partitions may differ, for
 * example by label. */
#include <math.h>
#include <stdlib.h>

#include "sgd_logistic_parts.h"

/* Entries processed between two shrinkings, for each weight of the slice. */
enum { ENTRIES_A_WEIGHT = 8 };

typedef struct race {
    double *w;           /* [rows x SGD_ROW], shared by all workers */
    double *b;           /* b within w; NULL: no intercept */
    uint32_t begin, end; /* the slice that this worker shrinks */
    sgd_decay *decay;    /* of the slice, since the last shrinking */
} race;

static inline double load_relaxed(const double *from)
{
    double value;
    __atomic_load(from, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void add_relaxed(double *to, double by)
{
    double value = load_relaxed(to) + by;
    __atomic_store(to, &value, __ATOMIC_RELAXED);
}

static void shrink_slice(race *r)
{
    const double by = exp(-r->decay->by);
    for (uint32_t j = r->begin; j < r->end; j++) {
        double value = load_relaxed(&r->w[j]) * by;
        __atomic_store(&r->w[j], &value, __ATOMIC_RELAXED);
    }
    *r->decay = (sgd_decay){0};
}

/* For 8-byte and 4-byte values: makes a step for one row and returns its
 * margin. */
#define DEFINE_STEP(real)                                                   \
    static double step_##real(const race *r, uint64_t n,                    \
                              const uint32_t *index, const real *value,     \
                              double y, double eta, bool hinge)             \
    {                                                                       \
        double s0 = r->b ? load_relaxed(r->b) : 0, s1 = 0, s2 = 0, s3 = 0;  \
        uint64_t k = 0;                                                     \
        for (; k + 4 <= n; k += 4) {                                        \
            s0 += (double)value[k] * load_relaxed(&r->w[index[k]]);         \
            s1 += (double)value[k + 1] * load_relaxed(&r->w[index[k + 1]]); \
            s2 += (double)value[k + 2] * load_relaxed(&r->w[index[k + 2]]); \
            s3 += (double)value[k + 3] * load_relaxed(&r->w[index[k + 3]]); \
        }                                                                   \
        for (; k < n; k++)                                                  \
            s0 += (double)value[k] * load_relaxed(&r->w[index[k]]);         \
        const double margin = y * ((s0 + s1) + (s2 + s3));                  \
        const double by = eta * y * sgd_slope(hinge, margin);               \
        if (by != 0 && r->b)                                                \
            add_relaxed(r->b, by);                                          \
        for (k = 0; by != 0 && k < n; k++)                                  \
            add_relaxed(&r->w[index[k]], by *(double)value[k]);             \
        return margin;                                                      \
    }
DEFINE_STEP(double)
DEFINE_STEP(float)

/* Makes steps for a batch's rows, all with the step size at `t`. */
static void race_batch(sgd_worker *w, race *r, uint32_t batch, uint64_t t)
{
    const strads_sgd_logistic_options *o = &w->rules.options;
    const strads_sparse *x = &w->task->share->by_row;
    const bool hinge = w->rules.hinge;
    const double eta = w->rules.step == SGD_CONSTANT
                           ? o->rate
                           : o->rate / (1 + o->rate * o->lambda * (double)t);
    const uint64_t end = sgd_batch_at(w, batch + 1);
    for (uint64_t i = sgd_batch_at(w, batch); i < end; i++) {
        const uint64_t first = x->start[i];
        const uint64_t n = x->start[i + 1] - first;
        const double margin =
            x->f64 ? step_double(r, n, x->index + first, x->f64 + first,
                                 w->y[i], eta, hinge)
                   : step_float(r, n, x->index + first, x->f32 + first, w->y[i],
                                eta, hinge);
        w->loss += sgd_loss(hinge, margin);
        r->decay->by += eta * o->lambda * w->task->shape->partitions;
        r->decay->entries += n;
    }
    if (r->decay->entries >= (uint64_t)ENTRIES_A_WEIGHT * (r->end - r->begin))
        shrink_slice(r);
}

/* Ends a clock. A worker that is several clocks ahead waits for the others. */
static strads_err end_clock(sgd_worker *w)
{
    enum { AHEAD = 4 };
    double fact[SGD_N_FACTS];
    strads_err err = strads_session_clock(w->session);
    return err ? err
               : strads_session_read_row(w->session, SGD_FACTS,
                                         w->task->share->partition, AHEAD,
                                         fact);
}

/* Runs an epoch from its clock `from` on. *ends: the run ends before the epoch
 * does. */
static strads_err race_epoch(sgd_worker *w, race *r, uint32_t epoch,
                             uint32_t from, bool *ends)
{
    const uint32_t clocks = sgd_race_clocks(w);
    const uint64_t before = epoch * w->n;
    strads_err err = STRADS_OK;
    sgd_worker_shuffle(w, epoch);
    for (uint32_t c = from; !err && c < clocks; c++) {
        *ends = strads_loop_ends(w->task);
        if (*ends)
            break;
        const uint32_t end =
            (uint32_t)((uint64_t)w->batches * (c + 1) / clocks);
        for (uint32_t k = (uint32_t)((uint64_t)w->batches * c / clocks);
             k < end; k++)
            race_batch(w, r, w->turn[k],
                       (before + sgd_batch_at(w, k)) *
                           w->task->shape->partitions);
        if (c + 1 == clocks) /* once all have ended the last clock, no
                              * worker writes */
            shrink_slice(r);
        err = end_clock(w);
    }
    if (*ends)
        shrink_slice(r);
    return err;
}

strads_err sgd_hogwild(sgd_worker *w, uint64_t done,
                       strads_err (*epoch)(sgd_worker *))
{
    const uint32_t clocks = sgd_race_clocks(w);
    const uint32_t p = w->task->share->partition;
    const uint32_t partitions = w->task->shape->partitions;
    const uint64_t b = (uint64_t)(w->rows - 1) * SGD_ROW;
    bool ends = false;
    void *cells;
    strads_err err = strads_session_racy(w->session, SGD_WEIGHTS, &cells);
    if (err)
        return err;
    race r = {.w = cells,
              .decay = &w->decay,
              .begin = (uint32_t)((uint64_t)w->columns * p / partitions),
              .end = (uint32_t)((uint64_t)w->columns * (p + 1) / partitions)};
    r.b = w->rules.options.intercept ? r.w + b : NULL;
    for (uint32_t e = (uint32_t)(done / clocks);
         !err && !ends && e < w->rules.options.epochs; e++) {
        err = race_epoch(w, &r, e, (uint32_t)(done % clocks), &ends);
        done = 0;
        for (uint32_t j = 0; p == 0 && j < w->columns; j++)
            w->w[j] = load_relaxed(&r.w[j]);
        if (!err && !ends)
            err = epoch(w);
    }
    return err;
}
