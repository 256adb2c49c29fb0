/* A row's own problem under every loss: its best b, and steps beyond, against a
 * search that knows only the problem's definition. */
#include <criterion/criterion.h>

#include <math.h>

#include <strads/policy.h>

#include "apps/glm_dual/dual_loss.h"

enum { CASES = 2000, GRID = 2000 };

static double draw(uint64_t *k)
{
    return (double)(strads_random_bits(7, 1, 2, (*k)++) >> 11) * 0x1p-53;
}

typedef struct row {
    dual_sample x;
    double flat, safety, b, z;
} row;

/* What the row alone gains by going from b to `to`, as dual_best has it. */
static double gain(const row *r, double to)
{
    const dual_sample *x = &r->x;
    const double by = to - r->b;

    return x->target * by - r->flat * (fabs(to) - fabs(r->b)) -
           x->ridge / 2 * (to * to - r->b * r->b) - r->z * by -
           r->safety * x->square / 2 * by * by;
}

static row draw_row(uint64_t *k)
{
    const dual_loss_kind kind = (dual_loss_kind)(draw(k) * DUAL_LOGISTIC);
    const bool classes = dual_loss_classifies(kind);
    const double target = classes ? draw(k) < .5 ? -1 : 1 : 6 * draw(k) - 3;
    row r = {.x = dual_sample_of(kind, target, .1 + 3 * draw(k)),
             .flat = classes ? 0 : draw(k),
             .safety = 1 + draw(k),
             .z = 6 * draw(k) - 3};

    r.x.square = .01 + 2 * draw(k);
    r.b = dual_smaller(dual_larger(6 * draw(k) - 3, r.x.low), r.x.high);
    return r;
}

Test(dual_loss, a_rows_best_is_above_all_else_within_its_bounds)
{
    uint64_t k = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k);
        const double best = dual_best(&r.x, r.flat, r.safety, r.b, r.z);
        const double low = fmax(r.x.low, -50), high = fmin(r.x.high, 50);
        cr_expect(best >= r.x.low && best <= r.x.high, "case %d", i);
        for (int g = 0; g <= GRID; g++) {
            const double to = low + (high - low) * g / GRID;
            cr_assert_leq(gain(&r, to), gain(&r, best) + 1e-9, "case %d at %g",
                          i, to);
        }
    }
}

Test(dual_loss, a_step_beyond_loses_nothing_and_stays_within_bounds)
{
    uint64_t k = 0, further = 0;

    for (int i = 0; i < CASES; i++) {
        const row r = draw_row(&k);
        const double stride = 1 + draw(&k);
        const double best = dual_best(&r.x, r.flat, r.safety, r.b, r.z);
        const double to = dual_beyond(&r.x, r.flat, stride, r.b, best);
        cr_expect(to >= r.x.low && to <= r.x.high, "case %d", i);
        cr_expect_geq(gain(&r, to), -1e-12, "case %d: %g to %g", i, r.b, to);
        further += fabs(to - r.b) > fabs(best - r.b);
    }
    cr_expect_gt(further, CASES / 5);
}
