/* Which columns a scan may leave out. */
#include <criterion/criterion.h>

#include "apps/lasso/lasso_parts.h"

enum { COLUMNS = 5 };

/* A state of five columns of norm 1 after a scan that found these slopes. */
static lasso_state scanned(double *norm, double *mean, bool *in_set,
                           uint32_t *set, const double *slope)
{
    lasso_state state = {.columns = COLUMNS,
                         .entries = 32 * COLUMNS,
                         .norm = norm,
                         .mean = mean,
                         .in_set = in_set,
                         .set = set,
                         .l1 = 1};
    const double value[COLUMNS] = {0};
    double partial[COLUMNS + 3] = {0};
    const strads_commit commit = {.state = &state,
                                  .phase = LASSO_SCAN,
                                  .block = {.n = COLUMNS},
                                  .value = value,
                                  .partial = partial};

    cr_assert_eq(lasso_look_begin(&state), STRADS_OK);
    for (uint32_t j = 0; j < COLUMNS; j++) {
        norm[j] = 1;
        partial[j] = slope[j];
    }
    lasso_note_scan(&commit);
    return state;
}

/* The residual has gone so far since the last scan or look. */
static void go(lasso_state *state, double way)
{
    const double square = way * way;
    strads_commit commit = {.state = state, .partial = &square};

    cr_assert_eq(lasso_aggregate_drift(&commit), STRADS_OK);
}

static void look(lasso_state *state, const double *products)
{
    const double value[COLUMNS] = {0};
    double partial[COLUMNS + 3] = {0};
    const strads_commit commit = {.state = state,
                                  .phase = LASSO_LOOK,
                                  .block = {.n = state->n_look,
                                            .param = state->look},
                                  .value = value,
                                  .partial = partial};

    for (uint32_t k = 0; k < state->n_look; k++)
        partial[k] = products[k];
    lasso_note_scan(&commit);
}

/* |x'r - x'r0| <= |x| |r - r0|: from a column's own last look on. */
Test(lasso_look, a_column_is_safe_until_the_residual_has_gone_far_since_its_own)
{
    const double slope[COLUMNS] = {.2, -.2, .1, .8, -.99};
    double norm[COLUMNS], mean[COLUMNS] = {0};
    bool in_set[COLUMNS] = {false};
    uint32_t set[COLUMNS];
    lasso_state state = scanned(norm, mean, in_set, set, slope);

    go(&state, .5);
    cr_assert(lasso_choose_look(&state));
    cr_assert_eq(state.n_look, 2);
    cr_assert_eq(state.look[0], 3);
    cr_assert_eq(state.look[1], 4);
    look(&state, (const double[]){-.3, .9});
    go(&state, .05);
    cr_assert(lasso_choose_look(&state));
    cr_assert_eq(state.n_look, 0);
    cr_assert_float_eq(state.unseen, .95, 1e-9);
    go(&state, .2);
    cr_assert(lasso_choose_look(&state));
    cr_assert_eq(state.n_look, 1);
    cr_assert_eq(state.look[0], 4);
    lasso_look_end(&state);
}

Test(lasso_look, members_of_the_set_are_looked_at_always)
{
    const double slope[COLUMNS] = {.2, .2, .2, .2, .2};
    double norm[COLUMNS], mean[COLUMNS] = {0};
    bool in_set[COLUMNS] = {false};
    uint32_t set[COLUMNS];
    lasso_state state = scanned(norm, mean, in_set, set, slope);

    lasso_join(&state, 1);
    go(&state, .1);
    cr_assert(lasso_choose_look(&state));
    cr_assert_eq(state.n_look, 1);
    cr_assert_eq(state.look[0], 1);
    look(&state, (const double[]){.2});
    go(&state, .1);
    cr_assert(lasso_choose_look(&state));
    cr_assert_eq(state.n_look, 1);
    lasso_look_end(&state);
}
