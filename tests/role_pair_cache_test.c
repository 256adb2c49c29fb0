/* The cache of probed pairs is compared with a plain matrix. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "engine/round/pair_cache.h"
#include "strads/policy.h"

enum { J = 300 };

static double value_of(uint32_t i, uint32_t j)
{
    uint32_t low = i < j ? i : j, high = i < j ? j : i;
    double unit = strads_random_unit(3, low, high, 0);
    return i == j ? 1 + unit : unit - 0.5;
}

/* Makes a block of n parameters that depend on its id; every third is a
 * range. */
static strads_block draw_block(uint64_t id, uint32_t n, uint32_t *members)
{
    strads_block block = {.id = id, .n = n};
    block.first = (uint32_t)(strads_random_bits(4, id, 0, 0) % (J - n));
    if (id % 3 == 0)
        return block;
    uint32_t step = 7;
    for (uint32_t k = 0; k < n; k++)
        members[k] = (block.first + k * step) % J;
    block.param = members;
    return block;
}

static void put(sti_pairs *pairs, const strads_block *a, const strads_block *b)
{
    double *value = malloc(sizeof *value * (a->n * b->n + 1));
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t l = 0; l < b->n; l++)
            value[k * b->n + l] =
                value_of(strads_block_param(a, k), strads_block_param(b, l));
    cr_assert_eq(sti_pairs_put(pairs, a, b, value), STRADS_OK);
    free(value);
}

static void check_matrix(const sti_pairs *pairs, bool (*known)[J])
{
    for (uint32_t i = 0; i < J; i++)
        for (uint32_t j = 0; j < J; j++) {
            double got = sti_pairs_get(pairs, i, j);
            cr_assert(known[i][j] ? got == value_of(i, j) : isnan(got),
                      "pair %u, %u is %g", i, j, got);
            double both = sti_pairs_dependency(pairs, i, j);
            if (!known[i][j] || !known[i][i] || !known[j][j]) {
                cr_assert(isnan(both));
                continue;
            }
            double want =
                fabs(value_of(i, j)) / sqrt(value_of(i, i) * value_of(j, j));
            cr_assert_float_eq(both, fmin(want, 1), 1e-15);
        }
}

Test(role_pair_cache, it_knows_the_pairs_that_were_put_and_no_others)
{
    static bool known[J][J];
    sti_pairs *pairs;
    uint32_t room_a[64], room_b[64];
    cr_assert_eq(sti_pairs_new(J, 1 << 20, &pairs), STRADS_OK);
    check_matrix(pairs, known);
    for (uint64_t id = 1; id < 60; id += 2) {
        uint32_t n = 1 + (uint32_t)(id * 13 % 40);
        strads_block a = draw_block(id, n, room_a);
        strads_block b = id % 4 == 1 ? a : draw_block(id + 1, 64 - n, room_b);
        put(pairs, &a, &b);
        for (uint32_t k = 0; k < a.n; k++)
            for (uint32_t l = 0; l < b.n; l++) {
                uint32_t i = strads_block_param(&a, k);
                uint32_t j = strads_block_param(&b, l);
                known[i][j] = known[j][i] = true;
            }
        cr_assert(sti_pairs_known(pairs, &a, &b));
        cr_assert(sti_pairs_known(pairs, &b, &a));
    }
    check_matrix(pairs, known);
    sti_pairs_free(pairs);
}

Test(role_pair_cache, a_square_is_there_when_all_its_pairs_are)
{
    sti_pairs *pairs;
    uint32_t members[64];
    cr_assert_eq(sti_pairs_new(J, 1 << 20, &pairs), STRADS_OK);
    strads_block block = draw_block(1, 20, members);
    strads_block head = block;
    head.id = 2;
    head.n = 19;
    cr_assert_null(sti_pairs_square(pairs, &block));
    put(pairs, &head, &block);
    cr_assert_null(sti_pairs_square(pairs, &block), "one pair is missing");
    cr_assert_not_null(sti_pairs_square(pairs, &head));
    put(pairs, &block, &block);
    const double *square = sti_pairs_square(pairs, &block);
    cr_assert_not_null(square);
    for (uint32_t k = 0; k < block.n; k++)
        for (uint32_t l = 0; l < block.n; l++)
            cr_assert_eq(square[k * block.n + l],
                         value_of(block.param[k], block.param[l]));
    cr_assert_eq(sti_pairs_square(pairs, &block), square);
    sti_pairs_free(pairs);
}

Test(role_pair_cache, trimming_forgets_only_beyond_the_limit)
{
    sti_pairs *pairs;
    uint32_t members[64];
    strads_block block = draw_block(1, 20, members);
    cr_assert_eq(sti_pairs_new(J, 1 << 20, &pairs), STRADS_OK);
    put(pairs, &block, &block);
    sti_pairs_trim(pairs);
    cr_assert(sti_pairs_known(pairs, &block, &block));
    sti_pairs_free(pairs);
    cr_assert_eq(sti_pairs_new(J, 1000, &pairs), STRADS_OK);
    put(pairs, &block, &block);
    cr_assert(sti_pairs_known(pairs, &block, &block));
    sti_pairs_trim(pairs);
    cr_assert_not(sti_pairs_known(pairs, &block, &block));
    sti_pairs_free(pairs);
}

Test(role_pair_cache, a_parameter_without_a_norm_depends_on_nothing)
{
    sti_pairs *pairs;
    const strads_block both = {.id = 1, .n = 2};
    const double value[] = {0, 0, 0, 4};
    cr_assert_eq(sti_pairs_new(2, 1 << 20, &pairs), STRADS_OK);
    cr_assert_eq(sti_pairs_put(pairs, &both, &both, value), STRADS_OK);
    cr_assert_eq(sti_pairs_dependency(pairs, 0, 1), 0);
    cr_assert_eq(sti_pairs_dependency(pairs, 0, 0), 0);
    cr_assert_eq(sti_pairs_dependency(pairs, 1, 1), 1);
    sti_pairs_free(pairs);
    sti_pairs_free(NULL);
}
