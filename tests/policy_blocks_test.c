/* Which parameters the priority policy puts into one block, and which pairs
 * it probes for that, under a stand-in for the engine. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/policy_harness.h"

/* ---- blocks ------------------------------------------------------------ */

Test(policy_blocks, blocks_of_a_dispatch_have_similar_work)
{
    enum { N = 400 };
    float *w = harness_weights(N, 3), *d = harness_dependency(N, 0, 3);
    float heaviest = 0;
    for (int j = 0; j < N; j++)
        heaviest = w[j] > heaviest ? w[j] : heaviest;
    harness h = harness_begin((harness_setup){.parameters = N,
                                              .weight = w,
                                              .dependency = d,
                                              .work = 40,
                                              .block_max = 64,
                                              .want = 3});
    do {
        must(harness_ask(&h));
    } while (h.last.kind == STRADS_CHOOSE_PROBE);
    cr_assert_eq(h.last.n, 3);
    double least = INFINITY, most = 0;
    for (uint32_t k = 0; k < 3; k++) {
        double sum = 0;
        for (uint32_t m = 0; m < h.last.blocks[k].n; m++)
            sum += (double)w[strads_block_param(&h.last.blocks[k], m)];
        least = fmin(least, sum);
        most = fmax(most, sum);
    }
    cr_assert_geq(least, 40 - (double)heaviest);
    cr_assert_leq(most - least, (double)heaviest);
    harness_close(&h);
    free(w);
    free(d);
}

/* Pairs (0, 1), (2, 3), ... are dependent, all others are not. */
Test(policy_blocks, dependent_parameters_are_dispatched_together)
{
    enum { N = 36 }; /* few enough to compare all of them at once */
    float *d = calloc(N * N, sizeof *d);
    for (int j = 0; j < N; j++) {
        d[j * N + j] = 1;
        d[j * N + (j ^ 1)] = 0.5f;
    }
    harness h = harness_begin((
        harness_setup){.parameters = N, .dependency = d, .work = 6, .want = 3});
    must(harness_play(&h, 1000, harness_keeps));
    uint32_t together = 0, members = 0;
    for (uint32_t k = 0; k < h.n_known; k++)
        for (uint32_t m = 0; m < h.known[k].block.n; m++) {
            members++;
            for (uint32_t l = 0; l < h.known[k].block.n; l++)
                together += h.known[k].param[l] == (h.known[k].param[m] ^ 1);
        }
    cr_assert_eq(together, members);
    harness_close(&h);
    free(d);
}

Test(policy_blocks, blocks_stay_together_while_their_members_move)
{
    enum { N = 96 };
    float *d = harness_dependency(N, 0.01, 2);
    harness h = harness_begin((harness_setup){
        .parameters = N, .dependency = d, .want = 2, .depth = 1});
    must(harness_play(&h, 3000, harness_keeps));
    uint32_t known = h.n_known;
    must(harness_play(&h, 3000, harness_keeps));
    cr_assert_eq(h.n_known, known, "new blocks were made for no reason");
    harness_close(&h);
    free(d);
}

static double few_move(harness *h, uint32_t j)
{
    (void)h;
    return j % 8 == 0 ? 1 : 0;
}

static double first_twelve(harness *h, uint32_t j)
{
    (void)h;
    return j < 12;
}

/* A large block must not keep out parameters that become active later. */
Test(policy_blocks, one_block_of_all_that_moves_takes_newcomers_in)
{
    harness h;
    const uint32_t newcomer[] = {20, 21, 22};
    const double moves[] = {.5, .5, .5};
    harness_setup setup = {.parameters = 40, .work = 1e6, .block_max = 16};
    must(harness_open(&h, &setup));
    harness_scan(&h, first_twelve);
    must(harness_play(&h, 3, harness_keeps));
    cr_assert_gt(h.dispatched[0], 0);
    for (uint32_t k = 0; k < 3; k++)
        h.priority[newcomer[k]] = moves[k];
    h.policy->prioritise(h.state, 3, newcomer, moves);
    must(harness_play(&h, 3, harness_keeps));
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_gt(h.dispatched[newcomer[k]], 0, "%u", newcomer[k]);
    harness_close(&h);
}

static double three_in_four_move(harness *h, uint32_t j)
{
    (void)h;
    return j % 4 == 0 ? 0 : 1;
}

Test(policy_blocks, moving_parameters_are_one_block_where_all_were_two)
{
    enum { N = 40, MOVING = 30 };
    harness h = harness_begin((harness_setup){
        .parameters = N, .work = 1e9, .threshold = 1, .block_max = 32});
    for (int round = 0; round < 2; round++) {
        must(harness_ask(&h));
        harness_commit(&h, harness_keeps);
    }
    harness_scan(&h, three_in_four_move);
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    uint32_t moving = 0;
    for (uint32_t m = 0; m < h.last.blocks[0].n; m++)
        moving += strads_block_param(&h.last.blocks[0], m) % 4 != 0;
    cr_expect_eq(moving, MOVING);
    harness_close(&h);
}

Test(policy_blocks, a_block_that_mostly_rests_is_dissolved)
{
    enum { N = 128 };
    for (int probes = 0; probes < 2; probes++) {
        float *d = probes ? harness_dependency(N, 0, 2) : NULL;
        harness h = harness_begin(
            (harness_setup){.parameters = N, .dependency = d, .work = 16});
        must(harness_play(&h, 400, harness_keeps)); /* every parameter is in
                                                     * a block */
        harness_scan(&h, few_move);
        must(harness_play(&h, 400, few_move));
        uint64_t blocks = h.blocks, updates = h.updates;
        must(harness_play(&h, 400, few_move));
        blocks = h.blocks - blocks;
        updates = h.updates - updates;
        memset(h.dispatched, 0, N * sizeof *h.dispatched);
        must(harness_play(&h, 400, few_move));
        for (int j = 0; j < N; j++)
            cr_assert_eq(h.dispatched[j] > 0, j % 8 == 0, "%d", j);
        harness_close(&h);
        free(d);
    }
}

Test(policy_blocks, blocks_grow_with_the_work_asked_for)
{
    harness h = harness_begin((harness_setup){
        .parameters = 512, .work = 1, .block_max = 64, .want = 1});
    must(harness_play(&h, 5000, harness_keeps));
    cr_assert_eq(h.known[0].block.n, 1);
    h.setup.work = 32;
    must(harness_play(&h, 5000, harness_keeps));
    uint64_t blocks = h.blocks, updates = h.updates;
    must(harness_play(&h, 5000, harness_keeps));
    double mean = (double)(h.updates - updates) / (double)(h.blocks - blocks);
    cr_assert_gt(mean, 24, "%g members a block", mean);
    harness_close(&h);
}

/* ---- probes ------------------------------------------------------------ */

Test(policy_blocks, known_pairs_are_not_probed_again)
{
    enum { N = 100 };
    float *d = harness_dependency(N, 0.02, 4);
    harness h = harness_begin((harness_setup){
        .parameters = N, .dependency = d, .want = 3, .depth = 1});
    must(harness_play(&h, 5000, harness_keeps));
    uint64_t probes = h.probes;
    must(harness_play(&h, 5000, harness_keeps));
    cr_assert_eq(h.probes, probes);
    harness_close(&h);
    free(d);
}

Test(policy_blocks, a_probe_that_is_never_answered_only_slows_it_down)
{
    enum { N = 30 };
    float *d = harness_dependency(N, 0, 4);
    harness h = harness_begin((harness_setup){
        .parameters = N, .dependency = d, .want = 2, .depth = 1});
    h.setup.deaf = true;
    must(harness_play(&h, 100000, harness_decays));
    cr_assert_eq(h.rests, 1);
    harness_close(&h);
    free(d);
}

Test(policy_blocks, a_scan_while_probing_starts_the_choice_afresh)
{
    enum { N = 200 };
    float *d = harness_dependency(N, 0, 4);
    harness h = harness_begin(
        (harness_setup){.parameters = N, .dependency = d, .want = 2});
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_PROBE);
    harness_scan(&h, harness_one_moves);
    do {
        must(harness_ask(&h));
    } while (h.last.kind == STRADS_CHOOSE_PROBE);
    cr_assert_eq(h.updates, 1, "what rests was dispatched");
    cr_assert_eq(h.dispatched[7], 1);
    harness_close(&h);
    free(d);
}

Test(policy_blocks, a_choice_that_did_not_leave_can_be_chosen_again)
{
    harness h = harness_begin(
        (harness_setup){.parameters = 10, .work = 100, .block_max = 64});
    must(harness_ask(&h));
    uint64_t id = h.last.blocks[0].id;
    memset(h.flying, 0, 10 * sizeof *h.flying);
    h.n_in_flight = 0;
    must(harness_ask(&h));
    cr_assert_eq(h.last.kind, STRADS_CHOOSE_BLOCKS);
    cr_assert_eq(h.last.blocks[0].id, id);
    harness_close(&h);
}

/* True if the policy asks for a probe first, at this threshold. */
static bool probes_at(double threshold, const float *dependency)
{
    harness h = harness_begin((harness_setup){.parameters = 60,
                                              .dependency = dependency,
                                              .threshold = threshold,
                                              .want = 2});
    must(harness_ask(&h));
    bool probes = h.last.kind == STRADS_CHOOSE_PROBE;
    harness_close(&h);
    return probes;
}

Test(policy_blocks, nothing_is_compared_when_every_dependency_is_allowed)
{
    float *d = harness_dependency(60, 0.5, 1);
    cr_assert(probes_at(0.1, d));
    cr_assert_not(probes_at(1, d));
    free(d);
}
