/* The line search that ends a quadratic model: along its step P falls at
 * least at first (Yuan, Ho, Lin, "An improved GLMNET", JMLR 2012). At its end
 * the weights are frozen again. The coordinator has all rows, so this costs no
 * messages; workers follow the commits. */
#include <math.h>
#include <string.h>

#include "linear_set.h"

enum { HALVINGS_MAX = 40 };

/* Decreases below this share of P are not significant. */
#define ROUNDING 1e-12
/* The rounding error of sums over rows: P may rise by this share if the
 * model promises less, because its slopes may be right where P does not show
 * it. */
#define NOISE 1e-13

/* `lasting` holds the residual r / root, and a move dz changes it by root
 * dz. If the loss has little curvature and the label is far off, r / root is so
 * large that the rounding of `lasting` swallows dz. `lasting` is read only up
 * to this ratio of r to the curvature; the error of dz is then about 1e-12 of
 * z, or of 1. */
#define READABLE_RATIO 1e4

/* True if `lasting` shows dz in all rows. An extrapolation multiplies
 * `lasting` by large factors, and their rounding remains. */
static bool is_readable(const linear_set *set)
{
    for (uint64_t i = 0; i < set->n_rows && !set->leapt; i++)
        if (fabs(set->frozen[i]) >
            READABLE_RATIO * set->root[i] * fmax(1, fabs(set->z[i])))
            return false;
    return !set->leapt;
}

/* Computes dz from the steps of the columns. */
static void add_up_direction(linear_set *set)
{
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] = set->beta;
    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        const data_column x = linear_set_column(set, m);
        if (m->w != m->base)
            set->is.kernels->add(&x, m->w - m->base, set->along);
    }
}

static void read_direction(linear_set *set)
{
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] =
            set->root[i] > 0
                ? (set->frozen[i] - set->lasting[i]) / set->root[i] + set->beta
                : 0;
}

/* Computes `along`, and d'H d of the direction d: a lower bound of P's
 * initial slope of descent. */
static double find_direction(linear_set *set)
{
    double fall = 0;

    if (is_readable(set))
        read_direction(set);
    else
        add_up_direction(set);
    for (uint64_t i = 0; i < set->n_rows; i++) {
        const double moved = set->root[i] * set->along[i];
        fall += moved * moved;
    }
    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        fall += m->term.l2 * (m->w - m->base) * (m->w - m->base);
    }
    return fall;
}

static double penalties_at(const linear_set *set, double step)
{
    return set->is.penalties ? set->is.penalties(set->is.program, step)
                             : linear_set_penalties(set, step);
}

/* A point on the line: z + step along. */
typedef struct point {
    double step, loss, value; /* value: P there */
} point;

/* Leaves the model at that point in root_trial and rest_trial. */
static point try_step(linear_set *set, double step)
{
    point to = {.step = step};

    memcpy(set->trial, set->z, set->n_rows * sizeof(double));
    set->is.kernels->add_dense(set->n_rows, step, set->along, set->trial);
    to.loss = set->is.freeze(set->is.program, set->trial, set->root_trial,
                             set->rest_trial);
    to.value = to.loss + penalties_at(set, step);
    return to;
}

/* The decrease of Q from base to w; P decreases as much if the model's
 * curvature is right. */
static double promised_fall(const linear_set *set)
{
    const column_kernels *kernels = set->is.kernels;
    const uint64_t n = set->n_rows;
    const double from = kernels->dot_dense(n, set->frozen, set->frozen),
                 to = kernels->dot_dense(n, set->lasting, set->lasting) -
                      set->beta * set->beta * set->mass;

    return (from - to) / 2 + linear_set_penalties(set, 0) -
           linear_set_penalties(set, 1);
}

/* Halves the step until P decreases sufficiently. Then it continues while
 * the decrease is less than half of the model's promise and a shorter step is
 * lower: far from the minimum the model's curvature is too small, and its whole
 * step ends high on the other side. */
static point search_line(linear_set *set, double before, double promised,
                         double slack)
{
    const double fall = find_direction(set);
    point best = try_step(set, 1);
    int left = HALVINGS_MAX;

    while (--left > 0 &&
           !(best.value <= before - 1e-3 * best.step * fall + slack))
        best = try_step(set, best.step / 2);
    while (--left > 0 && promised > ROUNDING * before &&
           before - best.value < promised / 2) {
        const point other = try_step(set, best.step / 2);
        if (!(other.value < best.value))
            return try_step(set, best.step);
        best = other;
    }
    return best;
}

static void swap(double **a, double **b)
{
    double *const held = *a;

    *a = *b;
    *b = held;
}

/* For a reduced set the model is P itself: no search is needed. */
static linear_step settle_reduced(linear_set *set)
{
    const double promised = promised_fall(set);
    const uint64_t n = set->n_rows;

    set->loss = (set->is.kernels->dot_dense(n, set->lasting, set->lasting) -
                 set->beta * set->beta * set->mass) /
                2;
    set->open = set->solved = set->looked = false;
    return (linear_step){1, promised, promised};
}

linear_step linear_set_search(linear_set *set)
{
    if (set->reduced)
        return settle_reduced(set);
    const double before = set->loss + penalties_at(set, 0);
    const double promised = promised_fall(set);
    const double noise = NOISE * fabs(before);
    const double slack = promised > noise ? 1e-15 * fabs(before) : noise;
    point to = search_line(set, before, promised, slack);
    const double fall = before - to.value;

    if (to.value <= before + slack) {
        swap(&set->z, &set->trial);
        swap(&set->root, &set->root_trial);
        swap(&set->lasting, &set->rest_trial);
        set->loss = to.loss;
    } else {
        to.step = 0;
        set->looked = false;
    }
    set->open = set->solved = false;
    for (uint32_t k = 0; k < set->n && to.step < 1; k++) {
        linear_member *m = &set->member[k];
        m->w = m->base + to.step * (m->w - m->base);
    }
    return (linear_step){to.step, fall, promised};
}

double linear_set_step_intercept(linear_set *set)
{
    const column_kernels *kernels = set->is.kernels;
    const uint64_t n = set->n_rows;
    const double mass = kernels->dot_dense(n, set->root, set->root);
    const double step = kernels->dot_dense(n, set->root, set->lasting) / mass;

    if (!set->is.intercept || set->is.constant || !isfinite(step))
        return 0;
    for (uint64_t i = 0; i < n; i++)
        set->trial[i] = set->z[i] + step;
    const double loss = set->is.freeze(set->is.program, set->trial,
                                       set->root_trial, set->rest_trial);
    if (!(loss < set->loss))
        return 0;
    swap(&set->z, &set->trial);
    swap(&set->root, &set->root_trial);
    swap(&set->lasting, &set->rest_trial);
    set->loss = loss;
    return step;
}

uint32_t linear_set_told(linear_set *set, uint32_t *column, double *change)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        linear_member *m = &set->member[k];
        if (m->w == m->told)
            continue;
        column[n] = m->column;
        change[n] = m->w - m->told;
        m->told += change[n++];
    }
    return n;
}

double linear_next_fall(const linear_set *set, const linear_step *to)
{
    const double amiss = to->promised - to->fall;

    return to->fall > 0 ? set->left + amiss * amiss / to->fall : INFINITY;
}
