/* See mf_course.h. Step: linear in the sweep, to 1/50 (a fixed number of sweeps
 * needs no better rule); lambda: a tenth of the held-out error, which is the
 * noise that a rating has for this model. */
#include "mf_course.h"

#include <math.h>

static const double LAST_STEP = 1.0 / 50, LAMBDA = .1;
static const double RISE = 1.05, FIRST_RISE = 1.1; /* of the loss */
/* Of errors that are next to nothing: all ratings are equal, say. */
static const double ROUNDING = 1e-6;
/* The first factors are noise, whose products have a variance of .01: so the
 * first sweep may be worse than none, on few ratings by chance alone. */
static const double FIRST_NOISE = .02, FIRST_SD = .1, CHANCE = 3;
/* One product alone has a square this many times as large, once in 10,000. */
static const double ONE_SQUARE = 15;
static const double WORSE = 1.005;    /* held-out error, beyond its noise */
static const double NO_BETTER = .999; /* where nothing but descent is left */
enum { UNDO_MAX = 40 };

static void set_lambda(mf_course *c)
{
    const double error = isnan(c->held) ? c->train : c->held;

    c->lambda = c->fixed_lambda > 0 ? c->fixed_lambda
                                    : c->each * LAMBDA * fmin(1, error);
}

void mf_course_begin(mf_course *c, double n, double train, double held)
{
    const double by_chance = CHANCE * 2 * FIRST_SD * sqrt(train / n) +
                             ONE_SQUARE * FIRST_SD * FIRST_SD / sqrt(n);

    c->scale = 1;
    c->train = train;
    c->held = held;
    c->best = INFINITY;
    c->first_bound = FIRST_RISE * train + FIRST_NOISE + by_chance;
    set_lambda(c);
}

double mf_course_step(const mf_course *c)
{
    const double through = (double)c->done / c->sweeps;

    return c->first_step * c->scale * (1 - through * (1 - LAST_STEP));
}

bool mf_course_take(mf_course *c, double train, double held)
{
    /* A NaN compares false. */
    const double bound = c->done ? RISE * c->train + ROUNDING : c->first_bound;

    c->exploded = !(train <= bound) || isinf(held);
    if (c->exploded) {
        c->scale /= 2;
        c->undone++;
        return false;
    }
    mf_course_follow(c, train, held);
    return true;
}

void mf_course_follow(mf_course *c, double train, double held)
{
    const double error = isnan(held) && c->descends ? train : held;
    const double bound = c->descends ? NO_BETTER : WORSE;

    c->done++;
    c->train = train;
    c->held = held;
    c->stale = error > bound * c->best ? c->stale + 1 : 0;
    c->best = fmin(c->best, error);
    set_lambda(c);
}

bool mf_course_over(const mf_course *c)
{
    return c->done >= c->sweeps || c->undone >= UNDO_MAX ||
           c->stale >= c->patience;
}
