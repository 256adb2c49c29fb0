/* Each dual loss against its definition: the loss is the maximum of g(b) - b
 * z (Fenchel and Young), a row's best b beats a search, the b of a given z is
 * where the maximum is attained, and h is its derivative. */
#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#include <strads/policy.h>

#include "apps/glm_dual/dual_loss.h"

enum { CASES = 600, GRID = 2000 };

static double draw(uint64_t *k)
{
    return (double)(strads_random_bits(7, 1, 2, (*k)++) >> 11) * 0x1p-53;
}

typedef struct row {
    const dual_loss *loss;
    dual_sample x;
    double safety, z, low, high; /* range of the search for b */
} row;

static row draw_row(uint64_t *k, int i)
{
    const dual_loss *loss = dual_losses[i % DUAL_LOSSES];
    row r = {.loss = loss, .safety = 1 + draw(k), .z = 6 * draw(k) - 3};

    loss->set(&r.x, loss->classifies ? draw(k) < .5 ? -1 : 1 : 6 * draw(k) - 3,
              .1 + 3 * draw(k), draw(k));
    r.x.square = .01 + 2 * draw(k);
    r.low = fmax(r.x.low, -50);
    r.high = fmin(r.x.high, 50);
    r.x.b = loss->quadratic ? fmin(fmax(6 * draw(k) - 3, r.low), r.high) : 0;
    return r;
}

static double at(const row *r, int g)
{
    return r->low + (r->high - r->low) * g / GRID;
}

/* Textbook losses, by name. */
static double textbook(const row *r)
{
    const char *name = r->loss->name;
    const double c = r->x.cost, m = 1 - r->x.target * r->z;
    const double off = fabs(r->x.target - r->z) - r->x.flat;

    if (strcmp(name, "logistic") == 0)
        return c * log1p(exp(m - 1));
    const double t = fmax(r->loss->classifies ? m : off, 0);
    return strncmp(name, "squared", 7) == 0 ? c * t * t : c * t;
}

Test(dual_loss, the_loss_is_the_maximum_over_b)
{
    uint64_t k = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k, i);
        const double loss = r.loss->value(&r.x, r.z);
        const dual_answer asked = r.loss->answer(&r.x, INFINITY, 0, r.z);
        cr_assert_float_eq(loss, textbook(&r), 1e-12 * (1 + loss), "%s",
                           r.loss->name);
        cr_assert_float_eq(loss,
                           r.loss->conjugate(&r.x, asked.b) - asked.b * r.z,
                           1e-12 * (1 + loss), "%s", r.loss->name);
        for (int g = 0; g <= GRID; g++)
            cr_assert_geq(loss,
                          r.loss->conjugate(&r.x, at(&r, g)) - at(&r, g) * r.z -
                              1e-9,
                          "%s at %g", r.loss->name, at(&r, g));
    }
}

/* The gain in D if only this row moves to b. */
static double gain(const row *r, double b)
{
    const double by = b - r->x.b;

    return r->loss->conjugate(&r->x, b) - r->loss->conjugate(&r->x, r->x.b) -
           r->z * by - r->safety * r->x.square / 2 * by * by;
}

/* Visits of a logistic row end near the optimum. */
Test(dual_loss, a_rows_best_is_above_all_else_within_its_bounds)
{
    uint64_t k = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k, i);
        const double best = r.loss->best(&r.x, r.safety, r.z);
        const double slack =
            r.loss->quadratic ? 1e-9 : 1e-2 * fmax(gain(&r, best), 0);
        cr_expect(best >= r.x.low && best <= r.x.high, "case %d", i);
        for (int g = 0; g <= GRID; g++)
            cr_assert_leq(gain(&r, at(&r, g)), gain(&r, best) + slack,
                          "%s, case %d at %g", r.loss->name, i, at(&r, g));
        cr_expect_eq(r.loss->ascent(&r.x, r.z) > 0, best != r.x.b, "case %d",
                     i);
    }
}

Test(dual_loss, h_is_how_fast_b_changes_as_z_falls)
{
    enum { CLOSE = 1000000 };
    uint64_t k = 0;
    int seen = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k, i);
        const double sigma = r.loss->smooth ? INFINITY : .5 + draw(&k);
        const double anchor = r.x.b, by = 1. / CLOSE;
        const dual_answer asked = r.loss->answer(&r.x, sigma, anchor, r.z);
        const dual_answer up = r.loss->answer(&r.x, sigma, anchor, r.z + by);
        const dual_answer down = r.loss->answer(&r.x, sigma, anchor, r.z - by);
        if (fabs(up.h - down.h) > 1e-4 * (up.h + down.h))
            continue; /* a kink between the two */
        seen++;
        cr_expect_float_eq(asked.h, (down.b - up.b) * CLOSE / 2,
                           1e-4 * (1 + asked.h), "%s", r.loss->name);
        cr_expect(!r.loss->smooth || r.loss->bend == 0 ||
                  asked.h <= r.loss->bend * r.x.cost * (1 + 1e-12));
    }
    cr_expect_gt(seen, CASES / 2);
}

/* A margin that has overflowed must not look like a row that is fitted. */
Test(dual_loss, the_loss_of_nan_is_nan)
{
    uint64_t k = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k, i);
        cr_assert(isnan(r.loss->value(&r.x, NAN)), "%s", r.loss->name);
    }
}

Test(dual_loss, rows_without_weight_stay_where_they_are)
{
    for (int k = 0; k < DUAL_LOSSES; k++) {
        const dual_loss *loss = dual_losses[k];
        dual_sample x = {.square = 2};
        loss->set(&x, 1, 0, .1);
        cr_expect_eq(x.square, 2);
        cr_expect_eq(x.low, 0);
        cr_expect_eq(x.high, 0);
        cr_expect_eq(loss->value(&x, -3), 0, "%s", loss->name);
        cr_expect_eq(loss->answer(&x, INFINITY, 0, -3).b, 0);
        cr_expect_lt(loss->ascent(&x, -3), 0, "%s", loss->name);
    }
}
