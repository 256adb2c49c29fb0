/* One block's commit, called as the engine calls it. */
#include <criterion/criterion.h>
#include <string.h>

#include "apps/lasso/lasso_parts.h"
#include "engine/round/job.h"
#include "tests/expect.h"

/* An engine without a cache has nothing to gather from, as one without memory
 * has nowhere to gather to: both answer NULL. */
Test(lasso_block, pairs_that_could_not_be_gathered_end_the_run)
{
    sti_run run = {0};
    sti_aggregate_job job = {.run = &run};
    lasso_state state = {0};
    const double partial[3] = {1, 2, 0}, value[2] = {0};
    double change[2] = {7, 7}, priority[2] = {7, 7};
    strads_commit commit = {.state = &state,
                            .engine = &job,
                            .block = {.n = 2},
                            .partial = partial,
                            .value = value,
                            .change = change,
                            .priority = priority};

    expect_error(lasso_solve_block(&commit), STRADS_ENOMEM,
                 "block of 2 columns");
    cr_assert_eq(change[0], 7);
}

/* Where a block is the whole set, nobody else lost what it gained: once such a
 * block gains little, no member's priority rises for what earlier ones did. */
Test(lasso_block, of_the_whole_set_that_gains_little_is_its_last)
{
    uint32_t set[2] = {0, 1};
    double urgency[2] = {6, 4}, told[2] = {0}, priority[2] = {6, 4};
    lasso_state state = {.columns = 2,
                         .set = set,
                         .n_set = 2,
                         .urgency = urgency,
                         .told = told,
                         .left = 10,
                         .rest = 1};
    strads_commit commit = {.state = &state,
                            .block = {.n = 2, .param = set},
                            .priority = priority};

    lasso_note_block(&commit);
    priority[0] = priority[1] = .1;
    lasso_note_block(&commit);
    cr_assert_eq(priority[0], .1);
    cr_assert_eq(urgency[1], .1);
    cr_assert_leq(state.left, state.rest);
}
