/* The uniform and the cyclic policy. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/policy_harness.h"

static harness play(const harness_setup *setup, uint64_t steps)
{
    harness h = harness_begin(*setup);
    must(harness_play(&h, steps, harness_keeps));
    return h;
}

Test(policy_sweep, cyclic_goes_through_all_parameters_in_order)
{
    harness_setup setup = {.policy = "cyclic",
                           .parameters = 103,
                           .work = 8,
                           .want = 3};
    for (int sweep = 0; sweep < 1; sweep++) {
        harness h = play(&setup, 1000);
        cr_assert_eq(h.rests, 1);
        cr_assert_eq(h.blocks, 13);
        uint32_t next = 0;
        for (uint32_t k = 0; k < h.n_known; k++)
            for (uint32_t m = 0; m < h.known[k].block.n; m++)
                cr_assert_eq(h.known[k].param[m], next++);
        cr_assert_eq(next, 103);
        harness_close(&h);
    }
}

Test(policy_sweep, cyclic_uses_the_same_blocks_in_the_next_sweep)
{
    harness_setup setup = {.policy = "cyclic", .parameters = 50, .depth = 2};
    harness h = play(&setup, 1000);
    uint32_t known = h.n_known;
    for (int sweep = 0; sweep < 3; sweep++)
        must(harness_play(&h, 1000, harness_keeps));
    cr_assert_eq(h.rests, 4);
    cr_assert_eq(h.n_known, known);
    for (int j = 0; j < 50; j++)
        cr_assert_eq(h.dispatched[j], 4);
    harness_close(&h);
}

Test(policy_sweep, blocks_have_the_work_asked_for)
{
    enum { N = 500 };
    float weight[N];
    sti_random r = sti_random_stream(1, 0, 0);
    for (int j = 0; j < N; j++)
        weight[j] = (float)(1 + sti_random_below(&r, 9));
    static const char *const names[] = {"cyclic", "uniform"};
    for (int p = 0; p < 2; p++) {
        harness_setup setup = {.policy = names[p],
                               .parameters = N,
                               .weight = weight,
                               .work = 30,
                               .block_max = 64};
        harness h = play(&setup, 10000);
        uint32_t light = 0;
        for (uint32_t k = 0; k < h.n_known; k++) {
            double sum = 0;
            for (uint32_t m = 0; m < h.known[k].block.n; m++)
                sum += (double)weight[h.known[k].param[m]];
            light += sum < 30;
            cr_assert_lt(sum, 30 + 9, "%s", names[p]);
        }
        cr_assert_leq(light, 1, "%s", names[p]);
        harness_close(&h);
    }
}

Test(policy_sweep, blocks_are_cut_again_when_the_wanted_work_doubles)
{
    harness_setup setup = {.policy = "uniform", .parameters = 64, .work = 4};
    harness h = play(&setup, 1000);
    cr_assert_eq(h.known[0].block.n, 4);
    h.setup.work = 7;
    uint32_t known = h.n_known;
    must(harness_play(&h, 1000, harness_keeps));
    h.setup.work = 8;
    must(harness_play(&h, 1000, harness_keeps));
    cr_assert_gt(h.n_known, known);
    cr_assert_eq(h.known[h.n_known - 1].block.n, 8);
    harness_close(&h);
}

Test(policy_sweep, uniform_draws_every_block_equally_often)
{
    harness_setup setup = {.policy = "uniform",
                           .parameters = 320,
                           .work = 8,
                           .want = 2,
                           .depth = 1,
                           .seed = 3};
    harness h = play(&setup, 100000);
    for (int sweep = 0; sweep < 400; sweep++)
        must(harness_play(&h, 100000, harness_keeps));
    double chi2 = 0, expected = (double)h.blocks / 40;
    cr_assert_eq(h.n_known, 40);
    for (uint32_t k = 0; k < h.n_known; k++)
        chi2 += pow((double)h.dispatched[h.known[k].param[0]] - expected, 2) /
                expected;
    cr_assert_gt(gsl_cdf_chisq_Q(chi2, 39), 1e-3, "chi2 %g", chi2);
    harness_close(&h);
}

Test(policy_sweep, uniform_blocks_are_random_and_named_by_the_seed)
{
    harness_setup setup = {.policy = "uniform", .parameters = 200, .seed = 1};
    harness one = play(&setup, 1000), same = play(&setup, 1000);
    setup.seed = 2;
    harness other = play(&setup, 1000);
    const harness_block *a = &one.known[0], *b = &same.known[0],
                        *c = &other.known[0];
    cr_assert_eq(a->block.n, b->block.n);
    cr_assert_arr_eq(a->param, b->param, a->block.n * sizeof *a->param);
    cr_assert(memcmp(a->param, c->param, a->block.n * sizeof *a->param) != 0);
    bool run = true;
    for (uint32_t m = 1; m < a->block.n; m++)
        run = run && a->param[m] == a->param[m - 1] + 1;
    cr_assert_not(run);
    harness_close(&one);
    harness_close(&same);
    harness_close(&other);
}

Test(policy_sweep, both_keep_the_promises_at_every_size)
{
    static const char *const names[] = {"cyclic", "uniform"};
    for (uint32_t n = 1; n < 60; n += 3)
        for (int p = 0; p < 2; p++) {
            harness_setup setup = {.policy = names[p],
                                   .parameters = n,
                                   .work = 1 + n % 7,
                                   .want = 1 + n % 3,
                                   .depth = n % 4,
                                   .seed = n};
            harness h = play(&setup, 10000);
            for (int sweep = 0; sweep < 5; sweep++)
                must(harness_play(&h, 10000, harness_keeps));
            cr_assert_eq(h.rests, 6, "%s, %u parameters", names[p], n);
            harness_close(&h);
        }
}

Test(policy_sweep, nothing_is_chosen_beside_a_block_of_the_program)
{
    static const char *const names[] = {"cyclic", "uniform", "priority"};
    for (int p = 0; p < 3; p++) {
        harness h = harness_begin(
            (harness_setup){.policy = names[p], .parameters = 10});
        strads_block all = {.id = 1, .n = 10};
        strads_choice_request request = {.want = 1,
                                         .work = 1,
                                         .draw = 1,
                                         .in_flight = &all,
                                         .n_in_flight = 1};
        strads_choice choice;
        cr_assert_eq(h.policy->choose(h.state, &request, &choice), STRADS_OK);
        cr_assert_eq(choice.kind, STRADS_CHOOSE_WAIT, "%s", names[p]);
        harness_close(&h);
    }
}

Test(policy_sweep, without_end_work_blocks_are_as_large_as_they_may_be)
{
    static const char *const names[] = {"cyclic", "uniform", "priority"};
    for (int p = 0; p < 3; p++) {
        harness_setup setup = {.policy = names[p],
                               .parameters = 60,
                               .work = INFINITY,
                               .block_max = 20};
        harness h = play(&setup, 50);
        while (h.n_known < 3)
            must(harness_play(&h, 1, harness_keeps));
        must(harness_play(&h, 300, harness_keeps));
        cr_assert_eq(h.n_known, 3, "%s made %u blocks", names[p], h.n_known);
        for (int k = 0; k < 3; k++)
            cr_assert_eq(h.known[k].block.n, 20, "%s", names[p]);
        harness_close(&h);
    }
}
