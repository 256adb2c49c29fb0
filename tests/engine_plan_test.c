/* Plans: planners keep the rules, invalid plans are refused with the step,
 * the block and the partition; dealing parameters. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"
#include "tests/expect.h"

/* ---- planners ---------------------------------------------------------- */

/* Checks that every pair of partition and block occurs once, and that no
 * block occurs twice in a step. */
static void expect_lawful(const strads_plan *plan)
{
    uint32_t K = plan->partitions, B = plan->blocks;
    uint32_t *met = calloc((size_t)K * B, sizeof *met);
    for (uint32_t t = 0; t < plan->steps; t++) {
        uint32_t *held = calloc(B, sizeof *held);
        for (uint32_t p = 0; p < K; p++)
            for (uint32_t e = plan->start[t * K + p];
                 e < plan->start[t * K + p + 1]; e++) {
                met[plan->block[e] * K + p]++;
                cr_assert_eq(held[plan->block[e]]++, 0);
            }
        free(held);
    }
    for (uint32_t k = 0; k < K * B; k++)
        cr_assert_eq(met[k], 1);
    free(met);
}

Test(engine_plan, planners_keep_the_rules)
{
    double block[40], partition[13];
    for (uint32_t b = 0; b < 40; b++)
        block[b] = 100.0 / (1 + b);
    for (uint32_t p = 0; p < 13; p++)
        partition[p] = 1 + p % 3;
    for (uint32_t K = 1; K <= 13; K++)
        for (uint32_t B = 1; B <= 40; B += 3) {
            strads_plan *plan = NULL;
            cr_assert_eq(strads_plan_rotation(K, B, &plan), STRADS_OK);
            expect_lawful(plan);
            for (uint32_t b = 0; b < B; b++) /* block b starts at partition b
                                              * mod K */
                cr_assert_eq(plan->block[plan->start[b % K] + b / K], b);
            strads_plan_free(plan);
            cr_assert_eq(strads_plan_weighted(K, B, block, partition, &plan),
                         STRADS_OK);
            expect_lawful(plan);
            strads_plan_free(plan);
        }
}

Test(engine_plan, grouping_by_work_evens_out_the_steps)
{
    enum { K = 8, B = 64 };
    double weight[B];
    for (uint32_t b = 0; b < B; b++)
        weight[b] = 1000.0 / (1 + b % K) + b;
    strads_plan *by_work = NULL, *plain = NULL;
    cr_assert_eq(strads_plan_weighted(K, B, weight, NULL, &by_work), STRADS_OK);
    cr_assert_eq(strads_plan_rotation(K, B, &plain), STRADS_OK);
    strads_plan same = *plain;
    same.block_weight = weight;
    cr_assert_gt(strads_plan_imbalance(&same), 2);
    cr_assert_lt(strads_plan_imbalance(by_work), 1.02);
    cr_assert_eq(strads_plan_check(by_work, 1.02), STRADS_OK);
    expect_error(strads_plan_check(&same, 1.02), STRADS_EINVAL,
                 "times the work of the mean one, allowed are "
                 "1.02");
    strads_plan_free(by_work);
    strads_plan_free(plain);
}

/* ---- rules ------------------------------------------------------------- */

/* Two partitions, two blocks, two steps: start and block as given. */
static void expect_broken(const uint32_t *start, const uint32_t *block,
                          const char *says)
{
    const strads_plan plan = {.partitions = 2,
                              .blocks = 2,
                              .steps = 2,
                              .start = start,
                              .block = block};
    cr_assert_eq(strads_plan_check(&plan, 0), STRADS_EINVAL);
    cr_assert_str_eq(strads_error_text(), says);
}

Test(engine_plan, a_violated_rule_is_named)
{
    const uint32_t one_each[] = {0, 1, 2, 3, 4};
    const uint32_t three[] = {0, 1, 2, 3, 3};
    const uint32_t odd[] = {0, 2, 2, 4, 4};
    const uint32_t back[] = {0, 2, 1, 3, 4};
    expect_broken(one_each, (const uint32_t[]){0, 1, 0, 1},
                  "block 0 visits partition 0 twice, in steps 0 and 1: "
                  "expected once");
    expect_broken(one_each, (const uint32_t[]){0, 0, 1, 1},
                  "step 0: block 0 is held by partitions 0 and 1 at once");
    expect_broken(three, (const uint32_t[]){0, 1, 1},
                  "block 0 is missing on partition 1: it must visit every "
                  "partition once");
    expect_broken(one_each, (const uint32_t[]){0, 1, 1, 2},
                  "step 1, partition 1: there is no block 2, expected 0 to 1");
    expect_broken(odd, (const uint32_t[]){0, 1, 0, 1},
                  "block 0 visits partition 0 twice, in steps 0 and 1: "
                  "expected once");
    expect_broken(back, (const uint32_t[]){0, 1, 1, 0},
                  "a plan's start must ascend from 0");
}

Test(engine_plan, weights_are_finite_and_not_negative)
{
    strads_plan *plan = NULL;
    const double wrong[] = {-1, NAN, INFINITY};
    for (uint32_t k = 0; k < 3; k++) {
        const double weight[] = {1, wrong[k]};
        cr_assert_eq(strads_plan_weighted(2, 2, weight, NULL, &plan),
                     STRADS_EINVAL);
        expect_error(strads_plan_weighted(2, 2, NULL, weight, &plan),
                     STRADS_EINVAL, "partition 1 has the weight");
    }
    cr_assert_eq(strads_plan_rotation(0, 2, &plan), STRADS_EINVAL);
    cr_assert_eq(strads_plan_rotation(2, 0, &plan), STRADS_EINVAL);
    cr_assert_null(plan);
}

/* ---- dealing ----------------------------------------------------------- */

/* In snake order, no block exceeds the mean by more than the heaviest
 * parameter. */
Test(engine_plan, parameters_are_dealt_once_each_and_by_work)
{
    enum { J = 1000 };
    double weight[J], all = 0;
    for (uint32_t j = 0; j < J; j++)
        all += weight[j] = 1 + 100.0 / (1 + j * 7 % J);
    for (uint32_t B = 1; B <= 37; B += 4) {
        strads_cut *cut = NULL;
        unsigned char seen[J] = {0};
        cr_assert_eq(strads_cut_deal(J, weight, B, 3, &cut), STRADS_OK);
        cr_assert_eq(cut->blocks, B);
        for (uint32_t b = 0; b < B; b++) {
            const strads_block *block = &cut->block[b];
            double sum = 0;
            cr_assert_eq(block->id, b);
            cr_assert_eq(block->owner, b % 3);
            cr_assert(block->n >= J / B && block->n <= J / B + 1);
            for (uint32_t k = 0; k < block->n; k++) {
                cr_assert(k == 0 || block->param[k] > block->param[k - 1]);
                cr_assert_eq(seen[block->param[k]]++, 0);
                sum += weight[block->param[k]];
            }
            cr_assert_float_eq(sum, cut->weight[b], 1e-9);
            cr_assert_leq(fabs(sum - all / B), 101, "%u of %u: %g", b, B, sum);
        }
        strads_cut_free(cut);
    }
}

Test(engine_plan, more_blocks_than_parameters_leave_some_empty)
{
    strads_cut *cut = NULL;
    cr_assert_eq(strads_cut_deal(2, NULL, 5, 2, &cut), STRADS_OK);
    uint32_t n = 0;
    for (uint32_t b = 0; b < 5; b++)
        n += cut->block[b].n;
    cr_assert_eq(n, 2);
    strads_cut_free(cut);
    cr_assert_eq(strads_cut_deal(2, NULL, 0, 2, &cut), STRADS_EINVAL);
    const double bad[] = {1, -1};
    cr_assert_eq(strads_cut_deal(2, bad, 1, 2, &cut), STRADS_EINVAL);
}
