/* Wide rows, read whole by loops on several nodes. */
#include <criterion/criterion.h>

#include "tests/expect.h"
#include "tests/loop_wide.h"
#include "tests/nodes_team.h"

static void expect_wide(uint32_t nodes, uint32_t shards, uint32_t workers,
                        bool backwards, bool batches)
{
    const team t = {.program = &wide_program,
                    .nodes = nodes,
                    .workers = {1, workers, 1},
                    .options = {.shards = shards}};
    wide =
        (wide_plan){.clocks = 12, .backwards = backwards, .batches = batches};
    strads_result *result = expect_team(&t);
    cr_expect_eq(atomic_load(&wide.done), nodes - 1 + workers);
    cr_expect_eq(atomic_load(&wide.wrong), 0, "%u rows were wrong",
                 atomic_load(&wide.wrong));
    strads_result_free(result);
}

Test(loop_wide, every_row_is_read_whole_and_in_its_place)
{
    for (uint32_t shards = 1; shards <= 3; shards++) {
        expect_wide(2, shards, 1, false, false);
        expect_wide(3, shards, 1, false, false);
        expect_wide(3, shards, 1, true, false);
    }
}

Test(loop_wide, and_where_two_workers_share_a_node)
{
    for (uint32_t shards = 1; shards <= 2; shards++)
        expect_wide(2, shards, 2, false, false);
}

Test(loop_wide, rows_that_are_added_in_batches_are_added_once_wherever_they_go)
{
    for (uint32_t shards = 1; shards <= 2; shards++) {
        expect_wide(3, shards, 1, false, true);
        expect_wide(2, shards, 2, true, true);
    }
}
