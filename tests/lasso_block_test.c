/* One block's commit, called as the engine calls it. */
#include <criterion/criterion.h>
#include <string.h>

#include "apps/lasso/lasso_parts.h"
#include "engine/role/job.h"

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

    cr_assert_eq(lasso_solve_block(&commit), STRADS_ENOMEM);
    cr_assert_not_null(strstr(strads_error_text(), "block of 2 columns"), "%s",
                       strads_error_text());
    cr_assert_eq(change[0], 7);
}
