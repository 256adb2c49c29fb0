/* A certificate of numbers that are none: NaN is the result of an overflow
 * somewhere, and never a gap of 0. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "apps/glm/glm_parts.h"

enum { COLUMNS = 2 };

/* At w = 0 both columns slope by less than the penalty's 1, and the loss is 1:
 * the minimum. */
typedef struct fixture {
    glm_state state;
    double w[COLUMNS], norm[COLUMNS], scale[COLUMNS], slope[COLUMNS + 1], b[1];
    double v[1], q[1], to[1];
    uint32_t active[COLUMNS];
} fixture;

static void begin(fixture *f, const glm_penalty *penalty)
{
    *f = (fixture){.slope = {.5, -.25}};
    f->state =
        (glm_state){.problem = {.loss = &glm_loss_squared,
                                .penalty = penalty,
                                .options = {.l1_ratio = 1,
                                            .gamma = penalty->usual,
                                            .lower = -INFINITY,
                                            .upper = INFINITY}},
                    .columns = COLUMNS,
                    .width = 1,
                    .weight = 1,
                    .unit = 1,
                    .lambda = 1,
                    .null = 1,
                    .loss = 1,
                    .square = 2,
                    .response = 2,
                    .scans = 1,
                    .groups = {.n = COLUMNS, .v = f->v, .q = f->q, .to = f->to},
                    .w = f->w,
                    .norm = f->norm,
                    .scale = f->scale,
                    .slope = f->slope,
                    .b = f->b,
                    .active = f->active,
                    .watch = {.least = INFINITY}};
    for (uint32_t j = 0; j < COLUMNS; j++)
        f->norm[j] = f->scale[j] = 1;
}

/* The gap that a run would see. */
static double gap_of(fixture *f)
{
    strads_commit commit = {.state = &f->state, .tolerance = 1e-6};
    strads_report report = {0};

    glm_certify(&commit);
    cr_assert_eq(glm_objective(&f->state, &report), STRADS_OK);
    cr_expect(!isnan(report.gap), "a gap of NaN means: none is computed");
    return report.gap;
}

Test(glm_certificate, a_minimum_has_no_gap)
{
    static const glm_penalty *const penalties[] = {&glm_penalty_l1,
                                                   &glm_penalty_mcp};
    fixture f;

    for (int k = 0; k < 2; k++) {
        begin(&f, penalties[k]);
        cr_expect_leq(gap_of(&f), 1e-12);
    }
}

Test(glm_certificate, nan_is_no_minimum)
{
    static const glm_penalty *const penalties[] = {&glm_penalty_l1,
                                                   &glm_penalty_mcp};
    fixture f;

    for (int k = 0; k < 2; k++) {
        begin(&f, penalties[k]);
        f.slope[1] = NAN;
        cr_expect_gt(gap_of(&f), 1e-6, "a slope of NaN, penalty %d", k);
        begin(&f, penalties[k]);
        f.state.loss = NAN;
        cr_expect_gt(gap_of(&f), 1e-6, "a loss of NaN, penalty %d", k);
    }
    begin(&f, &glm_penalty_l1);
    f.norm[1] = NAN;
    cr_expect_gt(gap_of(&f), 1e-6, "a rounding error of NaN");
    begin(&f, &glm_penalty_l1);
    f.state.square = NAN;
    cr_expect_gt(gap_of(&f), 1e-6, "a dual value of NaN");
}

Test(glm_certificate, a_path_with_such_a_point_is_not_certified)
{
    double lambda = 1;
    strads_path_point points[1] = {{0}};
    glm_path path = {.points = 1, .lambda = &lambda, .point = points};
    strads_report report = {.measure = {0}};
    fixture f;

    begin(&f, &glm_penalty_l1);
    f.state.path = &path;
    f.state.gap = NAN;
    f.state.watch.stalled = true;
    strads_commit commit = {.state = &f.state, .tolerance = 1e-6};
    cr_assert_eq(glm_path_advance(&commit), STRADS_OK);
    cr_assert_eq(glm_path_objective(&f.state, &report), STRADS_OK);
    cr_expect(report.stop);
    cr_expect_gt(report.gap, 1e-6);
    free((void *)points[0].index);
    free((void *)points[0].value);
}
