/* Plan files: written, read back, written by hand, and invalid ones. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "strads/strads.h"
#include "tests/expect.h"

static char folder[] = "/tmp/strads-plan-XXXXXX";
static char path[64];

static void open_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/plan.json", folder);
}

static void close_folder(void)
{
    (void)unlink(path);
    cr_assert_eq(rmdir(folder), 0);
}

TestSuite(plan_file, .init = open_folder, .fini = close_folder);

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static void expect_bad_file(const char *text, strads_err code, const char *says)
{
    strads_plan *plan = NULL;
    char want[400];
    put(text);
    (void)snprintf(want, sizeof want, "%s%s", path, says);
    cr_assert_eq(strads_plan_read(path, &plan), code, "%s", says);
    cr_assert_str_eq(strads_error_text(), want);
    cr_assert_null(plan);
}

Test(plan_file, a_plan_reads_back_as_written)
{
    const double block[] = {3, 0.1, 1e300, 2, 5}, partition[] = {1, 2, 0.5};
    strads_plan *plan = NULL, *again = NULL;
    cr_assert_eq(strads_plan_weighted(3, 5, block, partition, &plan),
                 STRADS_OK);
    expect_ok(strads_plan_write(plan, path));
    expect_ok(strads_plan_read(path, &again));
    cr_assert_eq(again->steps, plan->steps);
    cr_assert_eq(memcmp(again->start, plan->start, sizeof(uint32_t) * 10), 0);
    cr_assert_eq(memcmp(again->block, plan->block, sizeof(uint32_t) * 15), 0);
    cr_assert_eq(memcmp(again->block_weight, block, sizeof block), 0);
    cr_assert_eq(memcmp(again->partition_weight, partition, sizeof partition),
                 0);
    strads_plan_free(plan);
    strads_plan_free(again);
}

Test(plan_file, a_plan_by_hand_may_be_terse)
{
    strads_plan *plan = NULL;
    put("{\"strads-plan\": 1, \"partitions\": 2, \"blocks\": 1,\n"
        " \"steps\": [[null, 0], [[0], []]]}\n");
    expect_ok(strads_plan_read(path, &plan));
    cr_assert_eq(plan->steps, 2);
    cr_assert_eq(plan->block_weight[0], 1);
    strads_plan_free(plan);
}

#define HEAD "{\"strads-plan\": 1, \"partitions\": 2, \"blocks\": 2, "

Test(plan_file, invalid_plans_are_refused_with_the_place)
{
    expect_bad_file("{", STRADS_EFORMAT,
                    ": is not a plan: line 1 is not JSON: string or '}' "
                    "expected near end of file");
    expect_bad_file(
        "[]", STRADS_EFORMAT,
        ": is not a plan of this version: expected {\"strads-plan\": "
        "1, ...}");
    expect_bad_file("{\"strads-plan\": 1, \"steps\": [[0]]}", STRADS_EFORMAT,
                    ": \"partitions\" is missing or not a whole number from 1 "
                    "to 1048576");
    expect_bad_file(HEAD "\"step\": []}", STRADS_EFORMAT,
                    ": unknown key \"step\"");
    expect_bad_file(HEAD "\"steps\": []}", STRADS_EFORMAT,
                    ": \"steps\" is missing, empty or too long");
    expect_bad_file(HEAD "\"steps\": [[0, 1], [1]]}", STRADS_EFORMAT,
                    ": \"steps\"[1] has 1 entries, expected one for each of 2 "
                    "partitions");
    expect_bad_file(HEAD "\"steps\": [[0, 1], [1, \"a\"]]}", STRADS_EFORMAT,
                    ": \"steps\"[1][1] has a value that is not a number, "
                    "expected blocks 0 to 1");
    expect_bad_file(HEAD "\"steps\": [[0, 1], [1, 7]]}", STRADS_EFORMAT,
                    ": \"steps\"[1][1] has 7, expected blocks 0 to 1");
    expect_bad_file(HEAD "\"steps\": [[0, 1], [1, 0], [0, 1]]}", STRADS_EFORMAT,
                    ": \"steps\" has more than 2 blocks x 2 partitions: a "
                    "block is on a partition twice");
    expect_bad_file(HEAD "\"block-weight\": [1], \"steps\": [[0, 1]]}",
                    STRADS_EFORMAT,
                    ": \"block-weight\" has 1 numbers, expected 2");
    expect_bad_file(HEAD "\"steps\": [[0, 1], [1, null]]}", STRADS_EINVAL,
                    ": block 0 is missing on partition 1: it must visit every "
                    "partition once");
    expect_bad_file(HEAD "\"block-weight\": [1, -2], "
                         "\"steps\": [[0, 1], [1, 0]]}",
                    STRADS_EINVAL,
                    ": block 1 has the weight -2: expected a finite number "
                    "from 0 up");
}

Test(plan_file, a_file_that_is_not_there_is_named)
{
    strads_plan *plan = NULL;
    cr_assert_eq(strads_plan_read("/no/such/plan.json", &plan), STRADS_EIO);
    cr_assert_str_eq(strads_error_text(),
                     "/no/such/plan.json: cannot be read: No such file or "
                     "directory");
}
