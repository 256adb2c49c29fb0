/* Packing parameters into blocks. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "engine/base/random.h"
#include "schedulers/packing.h"

enum { MOST = 200 };

typedef struct packed {
    uint32_t bin[MOST], bins;
    double weight[MOST]; /* by bin */
    uint32_t n[MOST];
} packed;

/* Without weights all weights are 1; the threshold is .1. */
static packed pack(sti_packing p)
{
    packed out = {.bins = 0};
    double ones[MOST];
    for (int i = 0; i < MOST; i++)
        ones[i] = 1;
    p.weight = p.weight ? p.weight : ones;
    p.threshold = 0.1;
    cr_assert_eq(sti_packing_run(&p, out.bin, &out.bins), STRADS_OK);
    for (uint32_t i = 0; i < p.n; i++) {
        cr_assert_lt(out.bin[i], out.bins);
        out.n[out.bin[i]]++;
        out.weight[out.bin[i]] += p.weight[i];
    }
    for (uint32_t k = 0; k < out.bins; k++)
        cr_assert(out.n[k] > 0 && out.n[k] <= p.block_max);
    return out;
}

static void put_dependency(float *dependency, uint32_t n, uint32_t i,
                           uint32_t j, float value)
{
    dependency[i * n + j] = dependency[j * n + i] = value;
}

Test(policy_packing, blocks_have_the_work_asked_for_and_are_balanced)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        sti_random r = sti_random_stream(seed, 0, 0);
        double weight[MOST], sum = 0, heaviest = 0;
        for (int i = 0; i < MOST; i++) {
            weight[i] = floor(1 + 20 * pow(sti_random_unit(&r), 4));
            sum += weight[i];
            heaviest = fmax(heaviest, weight[i]);
        }
        packed out = pack((sti_packing){
            .n = MOST, .weight = weight, .work = 60, .block_max = 64});
        cr_assert_eq(out.bins, (uint32_t)(sum / 60));
        double least = INFINITY, most = 0;
        for (uint32_t k = 0; k < out.bins; k++) {
            least = fmin(least, out.weight[k]);
            most = fmax(most, out.weight[k]);
        }
        cr_assert_leq(most - least, heaviest);
    }
}

Test(policy_packing, no_block_has_more_members_than_allowed)
{
    const sti_packing p = {.n = MOST, .work = 1000, .block_max = 7};
    cr_assert_eq(pack(p).bins, (MOST + 6) / 7);
}

Test(policy_packing, dependent_parameters_share_a_block)
{
    enum { N = 12 };
    float dependency[N * N] = {0};
    put_dependency(dependency, N, 0, 11, 0.5f);
    put_dependency(dependency, N, 11, 5, 0.2f);
    put_dependency(dependency, N, 2, 3, 0.09f);
    packed out = pack((sti_packing){
        .n = N, .dependency = dependency, .work = 3, .block_max = 4});
    cr_assert_eq(out.bins, 4);
    cr_assert_eq(out.bin[0], out.bin[11]);
    cr_assert_eq(out.bin[0], out.bin[5]);
}

/* A chain of six, at most three in a block: it is cut at its weakest
 * dependency. */
Test(policy_packing, too_large_a_group_is_split_where_it_is_weakest)
{
    enum { N = 6 };
    float dependency[N * N] = {0};
    put_dependency(dependency, N, 0, 1, 0.9f);
    put_dependency(dependency, N, 1, 2, 0.8f);
    put_dependency(dependency, N, 2, 3, 0.2f);
    put_dependency(dependency, N, 3, 4, 0.9f);
    put_dependency(dependency, N, 4, 5, 0.7f);
    packed out = pack((sti_packing){
        .n = N, .dependency = dependency, .work = 3, .block_max = 3});
    cr_assert_eq(out.bins, 2);
    cr_assert(out.bin[0] == out.bin[1] && out.bin[1] == out.bin[2]);
    cr_assert(out.bin[3] == out.bin[4] && out.bin[4] == out.bin[5]);
}

Test(policy_packing, a_group_has_at_most_twice_the_work)
{
    enum { N = 40 };
    float dependency[N * N];
    for (int i = 0; i < N * N; i++)
        dependency[i] = 1;
    packed out = pack((sti_packing){
        .n = N, .dependency = dependency, .work = 5, .block_max = 64});
    for (uint32_t k = 0; k < out.bins; k++)
        cr_assert_leq(out.weight[k], 10);
}

Test(policy_packing, the_busy_do_not_share_with_the_free)
{
    enum { N = 30 };
    float dependency[N * N] = {0}, busy[N] = {0};
    for (int i = 0; i < N; i++)
        busy[i] = i % 5 ? 0.05f : 0.5f;
    put_dependency(dependency, N, 0, 1, 0.9f); /* 0 is busy, 1 is not */
    packed out = pack((sti_packing){.n = N,
                                    .dependency = dependency,
                                    .busy = busy,
                                    .work = 6,
                                    .block_max = 8});
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (out.bin[i] == out.bin[j])
                cr_assert_eq(i % 5 == 0, j % 5 == 0);
}

Test(policy_packing, the_same_input_gives_the_same_blocks)
{
    enum { N = 100 };
    double weight[N];
    float dependency[N * N];
    sti_random r = sti_random_stream(1, 0, 0);
    for (int i = 0; i < N; i++) {
        weight[i] = 1 + floor(3 * sti_random_unit(&r));
        for (int j = 0; j <= i; j++)
            put_dependency(dependency, N, (uint32_t)i, (uint32_t)j,
                           (float)pow(sti_random_unit(&r), 8));
    }
    sti_packing p = {.n = N,
                     .weight = weight,
                     .dependency = dependency,
                     .work = 12,
                     .block_max = 10};
    packed one = pack(p), other = pack(p);
    for (int i = 0; i < N; i++)
        cr_assert_eq(one.bin[i], other.bin[i]);
}
