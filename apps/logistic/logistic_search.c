/* The line search that ends a quadratic model: along its step P falls, for a
 * while at least (Yuan, Ho, Lin, "An improved GLMNET", JMLR 2012). Where
 * it ends the weights are frozen anew. */
#include <math.h>
#include <string.h>

#include "logistic_parts.h"

enum { HALVINGS_MAX = 40, SEARCHES_MAX = 12 };

/* Falls below this share of P say nothing about where it is lower. */
#define ROUNDING 1e-12

/* The penalties at base + step (w - base). */
static double penalties(const logistic_state *state, double step)
{
    const logistic_set *set = &state->set;
    double sum = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const double s = state->scale[m->column];
        const double w = s * (m->base + step * (m->w - m->base));
        sum += state->l1 * fabs(w) + state->l2 / 2 * w * w;
    }
    return sum;
}

/* dz from the columns: `lasting` follows w only up to the rounding of the
 * factors that an extrapolation multiplies with, which may be large. */
static void add_up_direction(logistic_state *state)
{
    logistic_set *set = &state->set;

    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] = set->beta;
    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const data_column x = logistic_column_of(set, m, set->columns.value);
        if (m->w != m->base)
            state->kernels->add(&x, m->w - m->base, set->along);
    }
}

static void read_direction(logistic_set *set)
{
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] =
            set->root[i] > 0
                ? (set->frozen[i] - set->lasting[i]) / set->root[i] + set->beta
                : 0;
}

/* `along`, and d'H d of the direction d: what P falls by at first, at least. */
static double find_direction(logistic_state *state)
{
    logistic_set *set = &state->set;
    double fall = 0;

    if (set->leapt)
        add_up_direction(state);
    else
        read_direction(set);
    for (uint64_t i = 0; i < set->n_rows; i++) {
        const double moved = set->root[i] * set->along[i];
        fall += moved * moved;
    }
    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const double d = state->scale[m->column] * (m->w - m->base);
        fall += state->l2 * d * d;
    }
    return fall;
}

/* A point on the way: z + step along. */
typedef struct point {
    double step, loss, value; /* value: P there */
} point;

/* The model there is left in root_trial and rest_trial. */
static point try_step(logistic_state *state, double step)
{
    logistic_set *set = &state->set;
    const logistic_rows rows = logistic_set_rows(set, set->trial);
    point to = {.step = step};

    memcpy(set->trial, set->z, set->n_rows * sizeof(double));
    state->kernels->add_dense(set->n_rows, step, set->along, set->trial);
    to.loss = state->loops->freeze(&rows, set->root_trial, set->rest_trial);
    to.value = to.loss + penalties(state, step);
    return to;
}

/* By how much Q falls from base to w: P falls as much where the loss bends as
 * the model does. */
static double promised_fall(const logistic_state *state)
{
    const logistic_set *set = &state->set;
    const column_kernels *kernels = state->kernels;
    const uint64_t n = set->n_rows;
    const double from = kernels->dot_dense(n, set->frozen, set->frozen),
                 to = kernels->dot_dense(n, set->lasting, set->lasting) -
                      set->beta * set->beta * set->mass;

    return (from - to) / 2 + penalties(state, 0) - penalties(state, 1);
}

/* Halves the step until P falls as it should, and then on for as long as it
 * has fallen by less than half of what the model promised and a shorter step
 * takes it lower: far from the minimum the model is too flat, and its whole
 * step ends high up on the other side. */
static point search(logistic_state *state, double before, double promised)
{
    const double fall = find_direction(state);
    point best = try_step(state, 1);
    int left = HALVINGS_MAX;

    while (--left > 0 &&
           !(best.value <= before - 1e-3 * best.step * fall + 1e-15 * before))
        best = try_step(state, best.step / 2);
    while (--left > 0 && promised > ROUNDING * before &&
           before - best.value < promised / 2) {
        const point other = try_step(state, best.step / 2);
        if (!(other.value < best.value))
            return try_step(state, best.step);
        best = other;
    }
    return best;
}

/* What another model would gain, about: what this one has left, and what comes
 * of the part of the fall that it had wrong, which squares from one to the
 * next. Where the set is as good as complete that ends a round without a model
 * that only tells that there was nothing to gain. */
static double next_fall(const logistic_set *set, double fall, double promised)
{
    const double amiss = promised - fall;

    return fall > 0 ? set->left + amiss * amiss / fall : INFINITY;
}

static void swap(double **a, double **b)
{
    double *const held = *a;

    *a = *b;
    *b = held;
}

/* Takes the step: members, b and what workers know follow. */
static strads_err take_step(strads_commit *commit, double step)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    const double shift = step * set->beta;
    const uint32_t last = (uint32_t)state->columns;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        logistic_member *m = &set->member[k];
        const double to = m->base + step * (m->w - m->base);
        if (step < 1 && m->w != m->base) {
            state->candidate[n] = m->column;
            state->told[n++] = to - m->w;
            m->w = to;
        }
    }
    state->b[state->target] += shift;
    strads_err err = logistic_also(commit, n, state->candidate, state->told);
    if (!err && shift != 0)
        err = logistic_also(commit, 1, &last, &shift);
    return err;
}

strads_err logistic_search(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;

    if (!set->open)
        return STRADS_OK; /* the policy found nothing worth a look */
    const double before = set->loss + penalties(state, 0);
    const double promised = promised_fall(state);
    point to = search(state, before, promised);
    const double fall = before - to.value;
    if (to.value <= before + 1e-15 * before) {
        swap(&set->z, &set->trial);
        swap(&set->root, &set->root_trial);
        swap(&set->lasting, &set->rest_trial);
        set->loss = to.loss;
    } else {
        to = (point){.value = before};
        set->looked = false;
    }
    set->open = false;
    state->solved = false;
    state->enough =
        fall <= state->worth ||
        (state->complete && next_fall(set, fall, promised) <= state->worth) ||
        ++state->searches >= SEARCHES_MAX;
    return take_step(commit, to.step);
}
