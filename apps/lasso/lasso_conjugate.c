/* Conjugate gradients on a face: with the signs of the live members as they
 * are, P is a quadratic in those that are not 0,
 *
 *     P(w + d) = P(w) - g'd + d' (X_c' X_c + L2 S^2) d / 2,
 *     g = X_c' r_c - L2 S^2 w - L1 S sign(w),
 *
 * whose matrix is never formed: a step takes X d and X' (X d), as much as a
 * pass does. Where columns correlate, fifty steps do what thousands of passes
 * do not (Hestenes and Stiefel, J. Res. NBS 49, 1952; here with the diagonal
 * for a preconditioner). Who would change its sign on the way stays at 0, if
 * that lowers P; if not, all go a shorter way (More and Toraldo, SIAM J. Optim.
 * 1, 1991). Passes before and after find the face. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lasso_work.h"

enum { STEPS_MAX = 50, FACES_MAX = 4 };
/* Another face is due once more than this share of the members would change
 * their signs. */
#define CROSSING 0.01
/* Steps end when one gains less than this share of their mean, or than this
 * share of what is enough: of many steps together that is a lot. */
#define SLOW 0.1
#define SMALL 0.1
/* The shortest way that is tried, and by how much each is shorter than the one
 * before. */
#define SHORTEST 0.1
#define SHORTER 3

/* A face of n members, and vectors of them and of the rows. */
typedef struct face {
    const lasso_work *work;
    const column_kernels *kernels;
    uint32_t n;
    double entries;
    uint32_t *place;   /* [n] in the set */
    double *slope;     /* [n] g, where `moved` has led to */
    double *direction; /* [n] the next step's */
    double *moved;     /* [n] the sum of the steps */
    double *along;     /* [rows] X direction */
    double *away;      /* [rows] X moved */
    double along_sum, away_sum;
    double steep; /* g' diag^-1 g */
} face;

/* ---- memory ------------------------------------------------------------ */

static strads_err reserve(const lasso_work *b)
{
    lasso_packed *packed = b->packed;
    const size_t numbers = 3 * (size_t)b->live + 2 * packed->columns.rows;

    if (numbers <= packed->room_vectors)
        return STRADS_OK;
    free(packed->vectors);
    packed->vectors = malloc(numbers * sizeof(*packed->vectors));
    packed->room_vectors = packed->vectors ? numbers : 0;
    return packed->vectors ? STRADS_OK : lasso_no_memory(numbers);
}

static face face_of(const lasso_work *b)
{
    const lasso_packed *packed = b->packed;
    face f = {.work = b,
              .kernels = b->state->kernels,
              .place = b->state->support,
              .slope = packed->vectors};

    for (uint32_t i = 0; i < b->live; i++)
        if (packed->member[b->place[i]].w != 0) {
            f.place[f.n++] = b->place[i];
            f.entries += (double)lasso_work_column(b, b->place[i]).n;
        }
    f.direction = f.slope + f.n;
    f.moved = f.direction + f.n;
    f.along = f.moved + f.n;
    f.away = f.along + packed->columns.rows;
    return f;
}

static lasso_packed_member *member(const face *f, uint32_t i)
{
    return &f->work->packed->member[f->place[i]];
}

static uint64_t rows_of(const face *f)
{
    return f->work->packed->columns.rows;
}

/* ---- steps ------------------------------------------------------------- */

/* The first slopes; the first direction is down them. */
static void begin(face *f)
{
    const lasso_packed *packed = f->work->packed;

    memset(f->moved, 0, f->n * sizeof(*f->moved));
    memset(f->away, 0, rows_of(f) * sizeof(*f->away));
    for (uint32_t i = 0; i < f->n; i++) {
        const lasso_packed_member *m = member(f, i);
        const data_column x = lasso_work_column(f->work, f->place[i]);
        const double q =
            f->kernels->dot(&x, packed->residual) - m->mean * packed->sum;
        f->slope[i] = q - m->shrink * m->w - copysign(m->l1, m->w);
        f->direction[i] = f->slope[i] / m->curvature;
        f->steep += f->slope[i] * f->direction[i];
    }
    f->work->state->spent += f->entries;
}

/* X direction, and the curvature of P along it. */
static double bend(face *f)
{
    const double n = f->work->state->rows;
    double curvature = 0;

    memset(f->along, 0, rows_of(f) * sizeof(*f->along));
    f->along_sum = 0;
    for (uint32_t i = 0; i < f->n; i++) {
        const lasso_packed_member *m = member(f, i);
        const data_column x = lasso_work_column(f->work, f->place[i]);
        const double d = f->direction[i];
        f->kernels->add(&x, d, f->along);
        f->along_sum += n * m->mean * d;
        curvature += m->shrink * d * d;
    }
    curvature += f->kernels->dot_dense(rows_of(f), f->along, f->along);
    return curvature - f->along_sum * f->along_sum / n;
}

/* A step of length a; then the slopes there, and the next direction. */
static void step(face *f, double a)
{
    double steep = 0;

    f->kernels->add_dense(rows_of(f), a, f->along, f->away);
    f->away_sum += a * f->along_sum;
    for (uint32_t i = 0; i < f->n; i++) {
        const lasso_packed_member *m = member(f, i);
        const data_column x = lasso_work_column(f->work, f->place[i]);
        const double d = f->direction[i];
        f->moved[i] += a * d;
        f->slope[i] -= a * (f->kernels->dot(&x, f->along) -
                            m->mean * f->along_sum + m->shrink * d);
        steep += f->slope[i] * f->slope[i] / m->curvature;
    }
    for (uint32_t i = 0; i < f->n; i++)
        f->direction[i] = f->slope[i] / member(f, i)->curvature +
                          steep / f->steep * f->direction[i];
    f->steep = steep;
    f->work->state->spent += 2 * f->entries;
}

/* How many members have moved to 0 or beyond. */
static uint32_t crossing(const face *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        const double w = member(f, i)->w;
        n += !(w * (w + f->moved[i]) > 0);
    }
    return n;
}

/* Steps while they are worth it; how many members have crossed 0 by then, and
 * what P would have gained if they could. */
static uint32_t descend(face *f, double enough, double *gained)
{
    uint32_t crossed = 0;

    *gained = 0;
    for (uint32_t n = 1; n <= STEPS_MAX && f->steep > 0; n++) {
        const double curvature = bend(f);
        if (!(curvature > 0))
            break;
        const double a = f->steep / curvature, gain = a * f->steep / 2;
        step(f, a);
        *gained += gain;
        crossed = crossing(f);
        if (gain <= SMALL * enough || gain < SLOW * *gained / n ||
            crossed > CROSSING * f->n)
            break;
    }
    return crossed;
}

/* ---- going there ------------------------------------------------------- */

/* P at the members' w and the residual r, of sum `sum`, but for others. */
static double value_of(const face *f, const double *r, double sum)
{
    double value = f->kernels->dot_dense(rows_of(f), r, r) / 2;

    value -= sum * sum / (2 * f->work->state->rows);
    for (uint32_t i = 0; i < f->n; i++) {
        const lasso_packed_member *m = member(f, i);
        value += m->l1 * fabs(m->w) + m->shrink / 2 * m->w * m->w;
    }
    return value;
}

/* Goes `share` of the way, where who has crossed 0 stays at it; false, and
 * nothing is changed, where P is no lower. */
static bool go(face *f, double share)
{
    lasso_packed *packed = f->work->packed;
    const double before = value_of(f, packed->residual, packed->sum);
    double *r = f->along, *w = f->slope; /* both are free by now */
    double sum = packed->sum - share * f->away_sum;

    memcpy(r, packed->residual, rows_of(f) * sizeof(*r));
    f->kernels->add_dense(rows_of(f), -share, f->away, r);
    for (uint32_t i = 0; i < f->n; i++) {
        lasso_packed_member *m = member(f, i);
        const double to = m->w + share * f->moved[i];
        const bool crosses = !(m->w * to > 0);
        w[i] = m->w;
        m->w = crosses ? 0 : to;
        if (!crosses)
            continue;
        const data_column x = lasso_work_column(f->work, f->place[i]);
        f->kernels->add(&x, to, r);
        sum += f->work->state->rows * m->mean * to;
    }
    if (value_of(f, r, sum) < before) {
        memcpy(packed->residual, r, rows_of(f) * sizeof(*r));
        packed->sum = sum;
        return true;
    }
    for (uint32_t i = 0; i < f->n; i++)
        member(f, i)->w = w[i];
    return false;
}

/* On one face; true where another one is worth a look. */
static bool descend_once(const lasso_work *b, double enough)
{
    face f = face_of(b);
    double gained;

    begin(&f);
    const uint32_t crossed = descend(&f, enough, &gained);
    if (gained > 0 && go(&f, 1))
        return crossed > 0;
    for (double share = 1. / SHORTER; gained > 0 && share >= SHORTEST;
         share /= SHORTER)
        if (go(&f, share))
            break;
    return false;
}

strads_err lasso_go_ahead(lasso_work *b)
{
    const double n = b->state->rows;
    const strads_err err = reserve(b);

    if (err)
        return err;
    face f = face_of(b);
    memset(f.away, 0, rows_of(&f) * sizeof(*f.away));
    for (uint32_t i = 0; i < f.n; i++) {
        const data_column x = lasso_work_column(b, f.place[i]);
        f.moved[i] = lasso_way_ahead(b->state, f.place[i], member(&f, i)->w);
        if (f.moved[i] == 0)
            continue;
        f.kernels->add(&x, f.moved[i], f.away);
        f.away_sum += n * member(&f, i)->mean * f.moved[i];
    }
    (void)go(&f, 1);
    b->state->ahead.due = false;
    return STRADS_OK;
}

strads_err lasso_conjugate(lasso_work *b, double enough)
{
    const strads_err err = reserve(b);

    /* Faces only shrink on the way. */
    for (uint32_t k = 0; k < FACES_MAX && !err; k++)
        if (!descend_once(b, enough))
            break;
    return err;
}
