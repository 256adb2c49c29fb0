/* Newton's method on the support: where signs stay as they are, P is a
 * quadratic function of the support's coefficients, and its minimum takes one
 * solution of
 *
 *     (G_SS + L2 s^2) d = q_S - L2 s^2 w_S - L1 s sign_S.
 *
 * S has the members that are not 0, with their signs; once they are solved for,
 * also those at 0 whose slope is above L1, with that of the slope. A step goes to the minimum, setting
 * to 0 whose sign it would change, or a shorter way, whichever lowers P most.
 * Members at 0 that would go against their sign stay where they are; if nothing
 * is gained so, the rest is solved without them, which always gains (Lee,
 * Battle, Raina and Ng, "Efficient sparse coding algorithms", NIPS 2006, with
 * many members at once). Steps go on until no sign changes and no slope is above
 * L1: then the set is solved. Where pairs are blurred slopes are noise, and
 * there are no such steps.
 *
 * A step costs |S|^3 / 3 multiplications, so it is taken when sweeps have cost
 * as much since the last one and have left all signs alone, or PATIENCE times as
 * much: an easy set never pays for it, and on correlated columns, where descent
 * may need thousands of sweeps, the total is at most some times the cheaper of
 * the two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"
#include "lasso_gram.h"

enum { SUPPORT_MAX = 2048, FACES_MAX = 64, PATIENCE = 4 };
/* How many lengths of a step are tried, each half of the one before. */
enum { LENGTHS = 6 };
/* Differences of P below this share of it are rounding. */
#define FLAT 1e-15
/* Slopes that are above L1 by less than this share of it are at it. */
#define EDGE 1e-10

/* S within a block, and the system above. */
typedef struct support {
    uint32_t n;
    uint32_t *place; /* [n] in the set */
    double *sign;    /* [n] of w, or where that is 0 of the slope */
    double *matrix;  /* [n x n] its lower half, then its factor L */
    double *step;    /* [n] right side, then d */
} support;

static bool reserve(lasso_gram *gram, uint32_t n)
{
    const size_t numbers = (size_t)n * (n + 3);

    if (numbers <= gram->room_newton)
        return true;
    free(gram->newton);
    gram->newton = malloc(numbers * sizeof(*gram->newton));
    gram->room_newton = gram->newton ? numbers : 0;
    return gram->newton != NULL;
}

static void fill(const lasso_state *state, support *s)
{
    const lasso_gram *gram = state->gram;

    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t k = s->place[i], j = gram->member[k];
        const double *row = gram->entry + (size_t)k * gram->capacity;
        const double scale = lasso_scale(state, j),
                     shrink = state->l2 * scale * scale;
        double *line = s->matrix + (size_t)i * s->n;
        for (uint32_t l = 0; l <= i; l++)
            line[l] = row[s->place[l]];
        line[i] += shrink;
        s->step[i] =
            gram->q[k] - shrink * gram->w[k] - s->sign[i] * state->l1 * scale;
    }
}

/* w + share d, 0 where the sign would be another or all but has been, and q
 * there; how many members have stopped at 0. */
static uint32_t go(const lasso_state *state, const support *s, double share,
                   double *w, double *q)
{
    const lasso_gram *gram = state->gram;
    uint32_t stopped = 0;

    memcpy(w, gram->w, gram->n * sizeof(*w));
    memcpy(q, gram->q, gram->n * sizeof(*q));
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t k = s->place[i];
        double to = w[k] + share * s->step[i];
        if (to * s->sign[i] <= 1e-14 * fabs(w[k])) {
            to = 0;
            stopped++;
        }
        if (to != w[k])
            state->kernels->add_dense(gram->n, w[k] - to,
                                      gram->entry + (size_t)k * gram->capacity,
                                      q);
        w[k] = to;
    }
    return stopped;
}

/* P(w_new) - P(w), where q_new is X_c' r_c at w_new: |r - X d|^2 / 2 - |r|^2 / 2
 * = -d'(q + q_new) / 2. */
static double rise_to(const lasso_state *state, const double *w_new,
                      const double *q_new)
{
    const lasso_gram *gram = state->gram;
    double sum = 0;

    for (uint32_t k = 0; k < gram->n; k++) {
        const double s = lasso_scale(state, gram->member[k]), w = gram->w[k];
        sum -= (w_new[k] - w) * (gram->q[k] + q_new[k]) / 2;
        sum += state->l1 * s * (fabs(w_new[k]) - fabs(w));
        sum += state->l2 / 2 * s * s * (w_new[k] * w_new[k] - w * w);
    }
    return sum;
}

/* Moves the set to w, where q is X_c' r_c. */
static void move_to(lasso_state *state, const double *w, const double *q)
{
    lasso_gram *gram = state->gram;

    for (uint32_t k = 0; k < gram->n; k++) {
        const double d = w[k] - gram->w[k];
        if (d == 0)
            continue;
        gram->squares -= d * (gram->q[k] + q[k]);
        state->intercept -= state->mean[gram->member[k]] * d;
    }
    memcpy(gram->w, w, gram->n * sizeof(*w));
    memcpy(gram->q, q, gram->n * sizeof(*q));
}

/* Goes as far as lowers P most; false, and nothing changes, where no way does.
 */
static bool go_best(lasso_state *state, const support *s, uint32_t *stopped)
{
    lasso_gram *gram = state->gram;
    double *w = gram->trial, *q = w + gram->capacity;
    double *w_other = q + gram->capacity, *q_other = w_other + gram->capacity;
    double share = 1, rise;

    *stopped = go(state, s, share, w, q);
    rise = rise_to(state, w, q);
    for (uint32_t k = 1; k < LENGTHS && *stopped; k++) {
        share /= 2;
        const uint32_t n = go(state, s, share, w_other, q_other);
        const double other = rise_to(state, w_other, q_other);
        if (other >= rise)
            continue;
        rise = other;
        *stopped = n;
        memcpy(w, w_other, gram->n * sizeof(*w));
        memcpy(q, q_other, gram->n * sizeof(*q));
    }
    /* The minimum of a face is worth having even where P is flat. */
    if (!(rise < (*stopped ? 0 : FLAT * state->primal)))
        return false;
    move_to(state, w, q);
    return true;
}

/* Whether member k counts, and with which sign. */
static double sign_of(const lasso_state *state, uint32_t k)
{
    const lasso_gram *gram = state->gram;
    const uint32_t j = gram->member[k];
    const double edge = state->l1 * lasso_scale(state, j) * (1 + EDGE);

    if (gram->w[k] != 0)
        return copysign(1, gram->w[k]);
    if (state->norm[j] == 0 || fabs(gram->q[k]) <= edge ||
        (state->options.positive && gram->q[k] < 0))
        return 0;
    return copysign(1, gram->q[k]);
}

/* S of a block: as many of those at 0 as the rows can tell from each other. */
static support support_of(lasso_state *state, uint32_t n, const uint32_t *place,
                          bool grows)
{
    lasso_gram *gram = state->gram;
    support s = {.place = state->support};

    for (uint32_t i = 0; i < n; i++)
        if (gram->w[place[i]] != 0)
            s.place[s.n++] = place[i];
    for (uint32_t i = 0; i < n && grows && s.n < state->rows; i++)
        if (gram->w[place[i]] == 0 && sign_of(state, place[i]) != 0)
            s.place[s.n++] = place[i];
    if (s.n == 0 || s.n > SUPPORT_MAX || !reserve(gram, s.n)) {
        s.n = 0;
        return s;
    }
    s.sign = gram->newton;
    s.step = s.sign + s.n;
    s.matrix = s.step + s.n;
    for (uint32_t i = 0; i < s.n; i++)
        s.sign[i] = sign_of(state, s.place[i]);
    return s;
}

static void solve(const lasso_state *state, support *s)
{
    fill(state, s);
    linear_factor(state->kernels, s->n, s->matrix);
    linear_solve(state->kernels, s->n, s->matrix, s->step);
}

/* Leaves out the members at 0 whose step is against their sign; false where
 * there are none. */
static bool leave_out(const lasso_gram *gram, support *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        if (gram->w[s->place[i]] == 0 && s->step[i] * s->sign[i] <= 0)
            continue;
        s->place[n] = s->place[i];
        s->sign[n++] = s->sign[i];
    }
    const bool any = n < s->n;
    s->n = n;
    return any;
}

/* One step, where members at 0 may join if it `grows`; false where it gets
 * nowhere. *stopped: how many members it has set to 0. */
static bool step_once(lasso_state *state, uint32_t n, const uint32_t *place,
                      bool grows, uint32_t *stopped)
{
    support s = support_of(state, n, place, grows);

    while (s.n > 0) {
        solve(state, &s);
        if (go_best(state, &s, stopped))
            return true;
        if (!leave_out(state->gram, &s))
            return false;
    }
    return false;
}

static bool is_solved(const lasso_state *state, uint32_t n,
                      const uint32_t *place)
{
    for (uint32_t i = 0; i < n; i++)
        if (state->gram->w[place[i]] == 0 && sign_of(state, place[i]) != 0)
            return false;
    return true;
}

/* Whether all signs are what they were after the first sweep. */
static bool is_steady(const lasso_gram *gram, uint32_t n, const uint32_t *place)
{
    for (uint32_t i = 0; i < n; i++) {
        const double v = gram->before[place[i]], w = gram->w[place[i]];
        if ((v > 0) != (w > 0) || (v < 0) != (w < 0))
            return false;
    }
    return true;
}

void lasso_newton(lasso_state *state, uint32_t n, const uint32_t *place)
{
    lasso_gram *gram = state->gram;
    bool grows = false;
    uint32_t stopped = 0;
    double size = 0;

    for (uint32_t i = 0; i < n; i++)
        size += gram->w[place[i]] != 0;
    const double cost = size * (size * size / 3 + 2. * gram->n);
    if (gram->blurred || gram->spent < cost ||
        (gram->spent < PATIENCE * cost && !is_steady(gram, n, place)))
        return;
    for (uint32_t face = 0; face < FACES_MAX; face++) {
        if (!step_once(state, n, place, grows, &stopped))
            break;
        grows = stopped == 0;
        if (grows && is_solved(state, n, place))
            break;
    }
    gram->spent = 0;
}
