/* Which columns a scan may leave out. */
#include <criterion/criterion.h>

#include "apps/glm/glm_parts.h"

enum { COLUMNS = 5 };

/* Five columns of norm 1 that may slope by 1. */
typedef struct fixture {
    glm_state state;
    double w[COLUMNS], norm[COLUMNS], scale[COLUMNS], slope[COLUMNS + 1];
    double base[COLUMNS], root[COLUMNS];
    uint32_t candidate[COLUMNS + 1], scanned[COLUMNS + 1], place[COLUMNS + 1];
} fixture;

/* A scan of n columns, all where `column` is NULL, found these slopes. */
static void see(fixture *f, uint32_t n, const uint32_t *column,
                const double *slope)
{
    const strads_commit commit = {.state = &f->state,
                                  .phase = GLM_SCAN,
                                  .block = {.n = n, .param = column}};

    for (uint32_t k = 0; k < n; k++)
        f->slope[column ? column[k] : k] = slope[k];
    glm_bounds_note_scan(&commit);
}

static void begin(fixture *f, const double *slope)
{
    *f = (fixture){0};
    f->state = (glm_state){
        .problem = {.loss = &glm_loss_squared,
                    .penalty = &glm_penalty_l1,
                    .options = {.l1_ratio = 1, .lower = -1, .upper = 1}},
        .columns = COLUMNS,
        .width = 1,
        .weight = 1,
        .lambda = 1,
        .groups = {.n = COLUMNS},
        .w = f->w,
        .norm = f->norm,
        .scale = f->scale,
        .slope = f->slope,
        .candidate = f->candidate,
        .scan = f->scanned,
        .bounds = {.used = true, .base = f->base, .norm = f->root},
        .set = {.place = f->place}};
    for (uint32_t j = 0; j < COLUMNS; j++)
        f->norm[j] = f->scale[j] = 1;
    see(f, COLUMNS, NULL, slope);
}

/* r has gone so far. */
static void go(fixture *f, double way)
{
    f->state.bounds.distance += way;
    glm_bounds_choose_columns(&f->state);
}

static void expect_scan(const fixture *f, uint32_t n, const uint32_t *column)
{
    cr_assert_eq(f->state.n_scan, n, "%u columns", f->state.n_scan);
    for (uint32_t k = 0; k < n; k++)
        cr_assert_eq(f->scanned[k], column[k]);
}

/* |x'r - x'r0| <= |x| |r - r0|: from a column's own last look on. */
Test(glm_bounds, a_column_is_safe_until_r_has_gone_far_since_it_was_seen)
{
    fixture f;

    begin(&f, (const double[]){.2, -.2, .1, .8, -.99});
    go(&f, .5);
    expect_scan(&f, 2, (const uint32_t[]){3, 4});
    see(&f, 2, (const uint32_t[]){3, 4}, (const double[]){-.3, .9});
    go(&f, .05);
    expect_scan(&f, 0, NULL);
    cr_assert_float_eq(f.state.bounds.unscanned, .95, 1e-7);
    go(&f, .2);
    expect_scan(&f, 1, (const uint32_t[]){4});
}

Test(glm_bounds, members_of_the_set_are_scanned_always)
{
    fixture f;

    begin(&f, (const double[]){.2, .2, .2, .2, .2});
    f.base[1] = INFINITY;
    f.place[1] = 1;
    go(&f, .1);
    expect_scan(&f, 1, (const uint32_t[]){1});
    see(&f, 1, (const uint32_t[]){1}, (const double[]){.2});
    go(&f, .1);
    expect_scan(&f, 1, (const uint32_t[]){1});
}

Test(glm_bounds, many_that_are_not_safe_are_all)
{
    fixture f;

    begin(&f, (const double[]){.9, .9, .9, .2, .2});
    go(&f, .2);
    expect_scan(&f, COLUMNS, (const uint32_t[]){0, 1, 2, 3, 4});
}

/* One that may only rise is safe however far down its slope goes. */
Test(glm_bounds, a_bound_at_0_leaves_one_side)
{
    fixture f;

    begin(&f, (const double[]){-3, .2, .9, -3, -3});
    f.state.problem.options.lower = 0;
    see(&f, COLUMNS, NULL, (const double[]){-3, .2, .9, -3, -3});
    go(&f, .2);
    expect_scan(&f, 1, (const uint32_t[]){2});
}

/* A path's next point may be looked at by the scan of the one at hand. */
Test(glm_bounds, limits_are_those_of_the_next_point)
{
    double lambda[] = {1, .5};
    glm_path path = {.points = 2, .lambda = lambda};
    fixture f;

    begin(&f, (const double[]){.1, .6, .1, .1, .1});
    f.state.path = &path;
    go(&f, .1);
    expect_scan(&f, 1, (const uint32_t[]){1});
    cr_assert_leq(f.state.bounds.unscanned, .5);
}
