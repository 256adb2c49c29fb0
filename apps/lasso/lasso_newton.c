/* Newton's step on the support: where signs stay as they are, P is a quadratic
 * function of the support's coefficients, and its minimum takes one solution
 * of
 *
 *     (G_SS + L2 s^2) d = q_S - L2 s^2 w_S - L1 s sign(w_S).
 *
 * The step goes to that minimum. Where a sign would change, either those
 * coefficients become 0, or the step ends at the first of them, whichever
 * lowers P more; a step that lowers nothing is left out.
 *
 * It costs |S|^3 / 3 multiplications and pays once the signs are settled, so it
 * is taken when sweeps have left them alone and have cost as much since the
 * last step: an easy set never pays for it, and on correlated columns, where
 * descent may need thousands of sweeps, the total is at most about twice the
 * cheaper of the two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_cholesky.h"
#include "lasso_gram.h"

enum { SUPPORT_MAX = 200, FACES_MAX = 64 };
/* Differences of P below this share of it are rounding. */
#define FLAT 1e-15

/* The support within a block, and the system above. */
typedef struct support {
    uint32_t n;
    uint32_t *place; /* [n] in the set */
    double *matrix;  /* [n x n] its lower half, then its factor L */
    double *step;    /* [n] right side, then d */
} support;

static bool reserve(lasso_gram *gram, uint32_t n)
{
    const size_t numbers = (size_t)n * (n + 2);

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
        const double *row = gram->entry + (size_t)k * gram->room;
        const double scale = lasso_scale(state, j),
                     shrink = state->l2 * scale * scale;
        double *line = s->matrix + (size_t)i * s->n;
        for (uint32_t l = 0; l <= i; l++)
            line[l] = row[s->place[l]];
        line[i] += shrink;
        s->step[i] = gram->q[k] - shrink * gram->w[k] -
                     copysign(state->l1 * scale, gram->w[k]);
    }
}

/* The share of the step until the first sign changes, at most 1. */
static double first_change(const lasso_gram *gram, const support *s)
{
    double share = 1;

    for (uint32_t i = 0; i < s->n; i++) {
        const double w = gram->w[s->place[i]];
        if (w * (w + s->step[i]) < 0)
            share = fmin(share, -w / s->step[i]);
    }
    return share;
}

/* w + share d, 0 where the sign would change or all but has, and q there. */
static void go(const lasso_state *state, const support *s, double share,
               double *w, double *q)
{
    const lasso_gram *gram = state->gram;

    memcpy(w, gram->w, gram->n * sizeof(*w));
    memcpy(q, gram->q, gram->n * sizeof(*q));
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t k = s->place[i];
        double to = w[k] + share * s->step[i];
        if (to * w[k] < 1e-14 * w[k] * w[k])
            to = 0;
        state->kernels->add_dense(gram->n, w[k] - to,
                                  gram->entry + (size_t)k * gram->room, q);
        w[k] = to;
    }
}

/* One step; *cut: a sign changed on the way, so that another may follow. */
static bool step_once(lasso_state *state, support *s, bool *cut)
{
    lasso_gram *gram = state->gram;
    double *w = gram->beyond, *q = w + gram->room;

    fill(state, s);
    linear_factor(state->kernels, s->n, s->matrix);
    linear_solve(state->kernels, s->n, s->matrix, s->step);
    const double share = first_change(gram, s);
    *cut = share < 1;
    go(state, s, 1, w, q);
    double rise = lasso_rise(state, w, q);
    if (*cut) {
        /* The other point goes where the passes are kept: they are over. */
        double *w_cut = gram->past, *q_cut = w_cut + gram->room;
        go(state, s, share, w_cut, q_cut);
        const double other = lasso_rise(state, w_cut, q_cut);
        if (other < rise) {
            rise = other;
            memcpy(w, w_cut, gram->n * sizeof(*w));
            memcpy(q, q_cut, gram->n * sizeof(*q));
        }
    }
    /* The minimum of a face is worth having even where P is flat. */
    if (!(rise < (*cut ? 0 : FLAT * state->primal)))
        return false;
    lasso_gram_go(state, w, q);
    return true;
}

/* The members of a block that are not 0. */
static support support_of(lasso_state *state, uint32_t n, const uint32_t *place)
{
    const lasso_gram *gram = state->gram;
    support s = {.place = state->support, .matrix = gram->newton};

    for (uint32_t i = 0; i < n; i++)
        if (gram->w[place[i]] != 0)
            s.place[s.n++] = place[i];
    s.step = s.matrix ? s.matrix + (size_t)s.n * s.n : NULL;
    return s;
}

/* Whether all signs are what they were before the last sweeps. */
static bool is_steady(const lasso_gram *gram, uint32_t n, const uint32_t *place)
{
    const double *before = gram->past + (size_t)2 * gram->room;

    for (uint32_t i = 0; i < n; i++) {
        const double v = before[place[i]], w = gram->w[place[i]];
        if ((v > 0) != (w > 0) || (v < 0) != (w < 0))
            return false;
    }
    return true;
}

void lasso_newton(lasso_state *state, uint32_t n, const uint32_t *place)
{
    lasso_gram *gram = state->gram;
    const uint32_t size = support_of(state, n, place).n;
    const double cost = size * (size * (double)size / 3 + 2. * gram->n);
    bool cut = true;

    if (size == 0 || size > SUPPORT_MAX || gram->spent < cost ||
        !is_steady(gram, n, place) || !reserve(gram, size))
        return;
    /* Supports only shrink on the way from face to face. */
    for (uint32_t face = 0; face < FACES_MAX && cut; face++) {
        support s = support_of(state, n, place);
        if (s.n == 0 || !step_once(state, &s, &cut))
            break;
    }
    gram->spent = 0;
}
