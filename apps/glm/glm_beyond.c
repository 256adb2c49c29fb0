/* Two longer steps within a model. Both are taken only if Q and penalties are
 * lower there.
 *
 * Anderson's: the combination of the last sweeps' ends that cancels most of
 * their movement (Bertrand and Massias, AISTATS 2021). `rest` is affine in w, so
 * the same combination of it is right.
 *
 * Newton's: where the penalty is a quadratic around the coefficients at hand,
 * towards the minimum of Q on these pieces by conjugate gradients, whose every
 * step costs a pass over the entries. What would leave its piece stops at its
 * end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

enum { STEPS = LINEAR_STEPS, GRADIENTS_MAX = 60 };
/* Conjugate gradients stop when the slopes, as Jacobi scales them, have fallen
 * by this. */
#define SMALLER 1e-3

/* ---- Anderson's ---------------------------------------------------------- */

strads_err glm_past_reserve(glm_set *set, uint32_t n)
{
    if (!set->past_rest)
        set->past_rest = malloc(((STEPS + 1) * set->rows + 1) * sizeof(double));
    if (n > set->room_past) {
        free(set->past_w);
        set->past_w = malloc((size_t)(STEPS + 1) * 2 * n * sizeof(double));
        set->room_past = set->past_w ? 2 * n : 0;
    }
    if (set->past_rest && (set->past_w || n == 0))
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "no memory for the last sweeps over %u columns and %llu "
                       "rows",
                       n, (unsigned long long)set->rows);
}

static double *past_w(const glm_set *set, uint32_t step)
{
    return set->past_w + (size_t)step * set->room_past;
}

static double *past_rest(const glm_set *set, uint32_t step)
{
    return set->past_rest + step * set->rows;
}

void glm_past_note(glm_set *set, uint32_t step, uint32_t n,
                   const uint32_t *list)
{
    for (uint32_t k = 0; k < n; k++)
        past_w(set, step)[k] = set->member[list[k]].w;
    memcpy(past_rest(set, step), set->rest, set->rows * sizeof(double));
}

static void go_back(glm_set *set, uint32_t step, uint32_t n,
                    const uint32_t *list)
{
    for (uint32_t k = 0; k < n; k++)
        set->member[list[k]].w = past_w(set, step)[k];
    memcpy(set->rest, past_rest(set, step), set->rows * sizeof(double));
}

void glm_extrapolate(glm_state *state, uint32_t n, const uint32_t *list)
{
    glm_set *set = &state->set;
    const double before = glm_model_value(state, n, list), beta = set->beta;
    const double *past[STEPS + 1];
    double c[STEPS];

    for (uint32_t i = 0; i <= STEPS; i++)
        past[i] = past_w(set, i);
    if (!linear_combine(past, n, c))
        return;
    for (uint32_t k = 0; k < n; k++) {
        double w = 0;
        for (uint32_t i = 0; i < STEPS; i++)
            w += c[i] * past_w(set, i + 1)[k];
        set->member[list[k]].w = w;
    }
    memset(set->rest, 0, set->rows * sizeof(double));
    for (uint32_t i = 0; i < STEPS; i++)
        state->kernels->add_dense(set->rows, c[i], past_rest(set, i + 1),
                                  set->rest);
    if (glm_model_value(state, n, list) < before)
        return;
    go_back(set, STEPS, n, list);
    set->beta = beta;
}

/* ---- Newton's ------------------------------------------------------------ */

/* Conjugate gradients for H d = g on n columns: H = V'V - level level' / mass +
 * the pieces' curvature. */
typedef struct newton {
    uint32_t n;
    uint32_t *at;             /* members */
    double *d, *g, *p, *bent; /* bent = H p */
} newton;

static bool piece_of(const glm_state *state, const glm_member *m,
                     glm_piece *piece)
{
    return glm_convex(state)->piece(&m->tangent, m->w, piece);
}

static double diagonal(const glm_member *m, const glm_piece *piece)
{
    return m->bend + piece->curve;
}

/* The columns of the list that are on a piece; `along` is free in a model. */
static newton begin(glm_state *state, uint32_t n, uint32_t *at)
{
    glm_set *set = &state->set;
    newton it = {.at = at,
                 .d = set->newton,
                 .g = set->newton + set->capacity,
                 .p = set->newton + 2 * (size_t)set->capacity,
                 .bent = set->newton + 3 * (size_t)set->capacity};
    glm_piece piece;

    for (uint32_t k = 0; k < n; k++) {
        const glm_member *m = &set->member[at[k]];
        if (!piece_of(state, m, &piece) || !(diagonal(m, &piece) > 0))
            continue;
        const data_column v = glm_scaled_column(set, m);
        it.d[it.n] = 0;
        it.g[it.n] = state->kernels->dot(&v, set->rest) - set->beta * m->level -
                     piece.slope;
        at[it.n++] = at[k];
    }
    return it;
}

static void bend(glm_state *state, const newton *it)
{
    glm_set *set = &state->set;
    double level = 0;

    memset(set->along, 0, set->rows * sizeof(double));
    for (uint32_t k = 0; k < it->n; k++) {
        const glm_member *m = &set->member[it->at[k]];
        const data_column v = glm_scaled_column(set, m);
        state->kernels->add(&v, it->p[k], set->along);
        level += m->level * it->p[k];
    }
    for (uint32_t k = 0; k < it->n; k++) {
        const glm_member *m = &set->member[it->at[k]];
        const data_column v = glm_scaled_column(set, m);
        glm_piece piece;
        (void)piece_of(state, m, &piece);
        it->bent[k] = state->kernels->dot(&v, set->along) +
                      piece.curve * it->p[k] -
                      (level != 0 ? m->level * level / set->mass : 0);
    }
}

static double over_diagonal(const glm_state *state, const newton *it,
                            uint32_t k)
{
    const glm_member *m = &state->set.member[it->at[k]];
    glm_piece piece;

    (void)piece_of(state, m, &piece);
    return it->g[k] / diagonal(m, &piece);
}

static void find_step(glm_state *state, newton *it)
{
    double size = 0, first;

    for (uint32_t k = 0; k < it->n; k++) {
        it->p[k] = over_diagonal(state, it, k);
        size += it->p[k] * it->g[k];
    }
    first = size;
    for (uint32_t i = 0; i < GRADIENTS_MAX; i++) {
        double curve = 0, next = 0;
        if (!(size > SMALLER * SMALLER * first))
            return;
        bend(state, it);
        for (uint32_t k = 0; k < it->n; k++)
            curve += it->p[k] * it->bent[k];
        if (!(curve > 0))
            return; /* flat or hollow: as far as it was good */
        const double step = size / curve;
        for (uint32_t k = 0; k < it->n; k++) {
            it->d[k] += step * it->p[k];
            it->g[k] -= step * it->bent[k];
            next += over_diagonal(state, it, k) * it->g[k];
        }
        for (uint32_t k = 0; k < it->n; k++)
            it->p[k] = over_diagonal(state, it, k) + next / size * it->p[k];
        size = next;
    }
}

/* Moves all by `step` of d, as far as their pieces reach. Returns the largest
 * share of d that leaves none. */
static double advance(glm_state *state, const newton *it, double step)
{
    double inside = 1;

    for (uint32_t k = 0; k < it->n; k++) {
        glm_member *m = &state->set.member[it->at[k]];
        const double from = m->w, d = it->d[k];
        glm_piece piece;
        (void)piece_of(state, m, &piece);
        const double end = d > 0 ? piece.high : piece.low;
        if (d != 0 && (end - from) / d < inside)
            inside = (end - from) / d;
        glm_move(state, m, fmin(fmax(from + step * d, piece.low), piece.high));
    }
    return inside;
}

void glm_newton(glm_state *state, uint32_t n, const uint32_t *list)
{
    glm_set *set = &state->set;
    uint32_t *at = set->awake;

    if (!glm_convex(state)->piece)
        return;
    memmove(at, list, n * sizeof(*at));
    newton it = begin(state, n, at);
    if (it.n < 2)
        return;
    const double before = glm_model_value(state, it.n, at);
    const double beta = set->beta;
    find_step(state, &it);
    glm_past_note(set, 0, it.n, at);
    double inside = advance(state, &it, 1);
    for (int tries = 0; tries < 2; tries++) {
        if (glm_model_value(state, it.n, at) <= before)
            return;
        go_back(set, 0, it.n, at);
        set->beta = beta;
        if (tries == 0)
            (void)advance(state, &it, inside);
    }
}
