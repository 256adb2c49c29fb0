/* Newton's step on the support. While no sign changes and no bound is
 * reached, Q is a quadratic function of the support's coefficients, and its
 * minimum needs one solution of
 *
 *     (V_S'V_S + l2) d = V_S' rest - l2 w_S - l1 sign(w_S),
 *
 * with V_S centred by root if there is an intercept. The step goes to that
 * minimum. If a sign would change or a bound would be exceeded, there are two
 * ends: those coefficients stay at 0 or at the bound, or the step ends at the
 * first of them. The one with lower Q is taken. A step of conjugate gradients
 * is halved instead, until it lowers Q. A step that does not lower Q is
 * rejected.
 *
 * The step is taken once the signs are stable and sweeps since the last step
 * have cost as much. So an easy set never pays for it. On correlated columns,
 * where descent may need thousands of sweeps, the total is at most about twice
 * the cheaper of the two. A large support is solved by conjugate gradients.
 *
 * If the support's columns stay in a processor's cache, a pass of conjugate
 * gradients costs no more than a sweep and achieves more. On such a light
 * support they follow each sweep that has changed few signs, and their step
 * ends the model. */
#include <stdlib.h>
#include <string.h>

#include "linear_cholesky.h"
#include "linear_set.h"

enum { MATRIX_MAX = 400, SUPPORT_MAX = 20000, FACES_MAX = 64 };
/* Models are solved to a smaller tolerance than this only if looser ones did
 * not suffice. Then a larger matrix is worth its time. */
#define SHARP 1e-4
enum { SHARP_MATRIX_MAX = 1500 };
/* Passes over the support in the time of conjugate gradients; fewer if
 * weights are constant. */
#define CONJUGATE 30
#define CONSTANT 10
/* With constant weights, steps of conjugate gradients visit this many
 * supports before the next sweep, which finds more of the changing signs. */
enum { CONSTANT_FACES = 4 };
/* A light support: at least LIGHT_MIN columns, at most LIGHT_ENTRIES
 * entries, and at most this share of its signs changed in the last sweep. */
enum { LIGHT_MIN = 50, LIGHT_ENTRIES = 1 << 17 };
#define LIGHT_TURNED .03
/* The smallest fraction of a step of conjugate gradients. */
#define SHARE_MIN .1
/* Dense multiplications in the time of one sparse entry. */
#define DENSE 4

/* A block's members, the nonzero ones, and the system above. */
typedef struct support {
    uint32_t n_block;
    const uint32_t *block; /* [n_block] */
    uint32_t n;
    bool conjugate;  /* no matrix */
    uint32_t *place; /* [n] */
    double *matrix;  /* [n x n] its lower half, then its factor; for large n,
                      * workspace of conjugate gradients */
    double *step;    /* [n] right side, then d */
    double *w;       /* [n] before the step */
    double *line;    /* [rows] a column, as a dense vector; then the old
                      * `lasting` */
} support;

/* Lower end of the range around w in which the member's penalty keeps its
 * form. */
static double low_of(const linear_term *t, double w)
{
    return t->l1 > 0 && w > 0 ? fmax(t->low, 0) : t->low;
}
static double high_of(const linear_term *t, double w)
{
    return t->l1 > 0 && w < 0 ? fmin(t->high, 0) : t->high;
}

/* True if the penalty is quadratic around w, and so Q is. */
static bool is_inside(const linear_member *m)
{
    return (m->w != 0 || m->term.l1 == 0) && m->w > m->term.low &&
           m->w < m->term.high && m->curvature + m->term.l2 > 0;
}

static support find_support(const linear_set *set, uint32_t n,
                            const uint32_t *place)
{
    support s = {.n_block = n, .block = place, .place = set->support};

    for (uint32_t k = 0; k < n; k++)
        if (is_inside(&set->member[place[k]]))
            s.place[s.n++] = place[k];
    return s;
}

bool linear_newton_is_light(const linear_set *set, uint32_t n,
                            const uint32_t *place)
{
    uint64_t entries = 0;
    uint32_t columns = 0;

    for (uint32_t k = 0; k < n; k++) {
        const linear_member *m = &set->member[place[k]];
        columns += is_inside(m);
        entries += is_inside(m) ? m->n : 0;
    }
    return columns >= LIGHT_MIN && entries <= LIGHT_ENTRIES && !set->vain &&
           !set->is.prox && !set->is.constant;
}

static double cost_of(const linear_set *set, const support *s, bool conjugate)
{
    double entries = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        const linear_member *m = &set->member[s->place[i]];
        entries += (double)m->n / (m->full ? DENSE : 1);
    }
    if (conjugate)
        return (set->is.constant ? CONSTANT : CONJUGATE) * entries;
    return s->n * entries / 2 + s->n * (double)s->n * s->n / (3 * DENSE);
}

static strads_err reserve_newton(linear_set *set, support *s)
{
    const size_t matrix =
        s->conjugate ? linear_conjugate_room(s->n) : (size_t)s->n * s->n;
    const size_t numbers = matrix + 2 * (size_t)s->n + set->n_rows;

    if (numbers > set->room_newton) {
        free(set->newton);
        set->newton = malloc(numbers * sizeof(double));
        set->room_newton = set->newton ? numbers : 0;
    }
    if (!set->newton)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for Newton's step on %u columns", s->n);
    s->matrix = set->newton;
    s->step = s->matrix + matrix;
    s->w = s->step + s->n;
    s->line = s->w + s->n;
    return STRADS_OK;
}

/* Makes a sparse column dense; line is 0 elsewhere. */
static const double *spread_column(const linear_set *set,
                                   const linear_member *m, double *line)
{
    const double *v = linear_set_scaled(set, m).f64;

    if (m->full)
        return v;
    memset(line, 0, set->n_rows * sizeof(*line));
    for (uint64_t e = 0; e < m->n; e++)
        line[set->columns.index[m->at + e]] = v[e];
    return line;
}

/* Fills the right side, and w. */
static void fill_slopes(const linear_set *set, support *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const linear_member *m = &set->member[s->place[i]];
        const data_column v = linear_set_scaled(set, m);
        s->w[i] = m->w;
        s->step[i] = set->is.kernels->dot(&v, set->lasting) -
                     set->beta * m->level - m->term.l2 * m->w -
                     copysign(m->term.l1, m->w);
    }
}

static void fill_system(const linear_set *set, support *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const linear_member *m = &set->member[s->place[i]];
        const double *v = spread_column(set, m, s->line);
        double *row = s->matrix + (size_t)i * s->n;
        for (uint32_t l = 0; l <= i; l++) {
            const linear_member *o = &set->member[s->place[l]];
            const data_column other = linear_set_scaled(set, o);
            row[l] = set->is.kernels->dot(&other, v) -
                     m->level * o->level / set->mass;
        }
        row[i] += m->term.l2;
    }
}

static void solve_system(const linear_set *set, support *s)
{
    fill_slopes(set, s);
    if (s->conjugate) {
        linear_conjugate(set, s->n, s->place, s->step, s->matrix, s->line);
        return;
    }
    fill_system(set, s);
    linear_factor(set->is.kernels, s->n, s->matrix);
    linear_solve(set->is.kernels, s->n, s->matrix, s->step);
}

/* The fraction of the step until the first sign change or bound, at most 1. */
static double first_change(const linear_set *set, const support *s)
{
    double share = 1;

    for (uint32_t i = 0; i < s->n; i++) {
        const linear_term *t = &set->member[s->place[i]].term;
        const double w = s->w[i], to = w + s->step[i];
        if (to < low_of(t, w))
            share = fmin(share, (low_of(t, w) - w) / s->step[i]);
        if (to > high_of(t, w))
            share = fmin(share, (high_of(t, w) - w) / s->step[i]);
    }
    return share;
}

/* Sets w + share d, clipped at signs and bounds, and 0 if a sign almost
 * changes; returns Q. A share of 0 is w, whatever d is. */
static double move_on_support(linear_set *set, const support *s, double share)
{
    memcpy(set->lasting, s->line, set->n_rows * sizeof(double));
    for (uint32_t i = 0; i < s->n; i++) {
        linear_member *m = &set->member[s->place[i]];
        const data_column v = linear_set_scaled(set, m);
        double to = share > 0 ? s->w[i] + share * s->step[i] : s->w[i];
        if (m->term.l1 > 0 && to * s->w[i] < 1e-14 * s->w[i] * s->w[i])
            to = 0;
        to = fmin(fmax(to, m->term.low), m->term.high);
        set->is.kernels->add(&v, s->w[i] - to, set->lasting);
        m->w = to;
    }
    return linear_set_value(set, s->n_block, s->block);
}

/* Takes the better end of a step that changes signs; returns Q there. */
static double end_at_best(linear_set *set, const support *s, double *share)
{
    const double first = first_change(set, s);
    const double whole = move_on_support(set, s, 1),
                 part = move_on_support(set, s, first);

    *share = part < whole ? first : 1;
    return part < whole ? part : move_on_support(set, s, 1);
}

/* Halves a step until Q is below `before`; returns Q there. */
static double halve_step(linear_set *set, const support *s, double before,
                         double *share)
{
    double after = move_on_support(set, s, 1);

    for (*share = 1; !(after < before) && *share > SHARE_MIN;)
        after = move_on_support(set, s, *share /= 2);
    return after;
}

/* One step; *cut: a sign changed on the way, so another step may follow. */
static bool step_once(linear_set *set, support *s, bool *cut)
{
    const double before = linear_set_value(set, s->n_block, s->block);
    double share = 1, after;

    solve_system(set, s);
    memcpy(s->line, set->lasting, set->n_rows * sizeof(double));
    *cut = first_change(set, s) < 1;
    if (s->conjugate)
        after = halve_step(set, s, before, &share);
    else
        after = *cut ? end_at_best(set, s, &share) : move_on_support(set, s, 1);
    /* The minimum of a support is taken even if Q is flat. */
    if (*cut ? after < before : isfinite(after))
        return share > 0;
    (void)move_on_support(set, s, 0);
    return false;
}

/* Takes steps from support to support; supports only shrink. */
static strads_err walk_faces(linear_set *set, uint32_t n, const uint32_t *place,
                             bool conjugate)
{
    bool cut = true;

    for (uint32_t face = 0; face < FACES_MAX && cut; face++) {
        support s = find_support(set, n, place);
        s.conjugate = conjugate;
        if (conjugate && set->is.constant && face == CONSTANT_FACES)
            break;
        const strads_err err = s.n > 0 ? reserve_newton(set, &s) : STRADS_OK;
        if (err)
            return err;
        if (s.n == 0 || !step_once(set, &s, &cut))
            break;
    }
    set->spent = 0;
    if (!conjugate)
        set->unfactored = 0;
    set->leapt = true;
    return STRADS_OK;
}

/* One step by conjugate gradients. */
static strads_err step_lightly(linear_set *set, support *s)
{
    bool cut;

    s->conjugate = true;
    const strads_err err = reserve_newton(set, s);
    if (err)
        return err;
    if (step_once(set, s, &cut))
        set->solved = !set->is.constant;
    else
        set->vain = true;
    set->leapt = true;
    return STRADS_OK;
}

strads_err linear_newton(linear_set *set, uint32_t n, const uint32_t *place)
{
    if (set->is.prox)
        return STRADS_OK;
    support s = find_support(set, n, place);
    const uint32_t turned = linear_past_turned(set, n, place);

    if (s.n == 0 || s.n > SUPPORT_MAX)
        return STRADS_OK;
    const bool constant = set->is.constant;
    const bool conjugate =
        s.n > (set->settled < SHARP ? SHARP_MATRIX_MAX : MATRIX_MAX) ||
        (constant && (turned > 0 || set->unfactored < cost_of(set, &s, false)));
    if (turned <= (constant && conjugate ? LIGHT_TURNED * s.n : 0) &&
        set->spent >= cost_of(set, &s, conjugate))
        return walk_faces(set, n, place, conjugate);
    if (turned <= LIGHT_TURNED * s.n && linear_newton_is_light(set, n, place))
        return step_lightly(set, &s);
    return STRADS_OK;
}
