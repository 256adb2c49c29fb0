/* Drawing by priority: the tree of sums and the urn with its floor. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "schedulers/urn.h"

static sti_urn open_urn(uint32_t n)
{
    sti_urn urn;
    cr_assert_eq(sti_urn_open(n, &urn), STRADS_OK);
    return urn;
}

static void set_all(sti_urn *urn, const double *priority)
{
    uint32_t n = urn->tree.n;
    uint32_t *all = malloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    sti_urn_set(urn, n, all, priority, true);
    free(all);
}

static void set_one(sti_urn *urn, uint32_t i, double priority)
{
    sti_urn_set(urn, 1, &i, &priority, false);
}

/* The chance of such counts if they come from these probabilities. */
static double chance(uint32_t n, const uint32_t *count, const double *weight,
                     uint32_t draws)
{
    double sum = 0, chi2 = 0;
    int freedom = -1;
    for (uint32_t i = 0; i < n; i++)
        sum += weight[i];
    for (uint32_t i = 0; i < n; i++) {
        double expected = draws * weight[i] / sum;
        if (expected > 0) {
            chi2 += pow(count[i] - expected, 2) / expected;
            freedom++;
        } else {
            cr_assert_eq(count[i], 0, "%u was drawn at weight 0", i);
        }
    }
    return gsl_cdf_chisq_Q(chi2, freedom);
}

static void count_draws(sti_urn *urn, uint64_t seed, uint32_t draws,
                        uint32_t *count)
{
    sti_random r = sti_random_stream(seed, 0, 0);
    for (uint32_t k = 0; k < draws; k++) {
        uint32_t i = sti_urn_draw(urn, sti_random_unit(&r));
        cr_assert_lt(i, urn->tree.n);
        count[i]++;
    }
}

Test(policy_urn, draws_follow_priorities_and_the_floor)
{
    enum { N = 100, DRAWS = 200000 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double weight[N], mean = 0;
        uint32_t count[N] = {0};
        sti_random r = sti_random_stream(seed, 1, 0);
        sti_urn urn = open_urn(N);
        uint32_t positive = 0;
        for (uint32_t i = 0; i < N; i++) {
            weight[i] = i % 10 == 0 ? 0 : pow(sti_random_unit(&r), 3);
            set_one(&urn, i, weight[i]);
            mean += weight[i];
            positive += weight[i] > 0;
        }
        mean /= positive;
        for (uint32_t i = 0; i < N; i++)
            weight[i] += 0.01 * mean;
        count_draws(&urn, seed, DRAWS, count);
        cr_assert_gt(chance(N, count, weight, DRAWS), 1e-3, "seed %d",
                     (int)seed);
        sti_urn_close(&urn);
    }
}

Test(policy_urn, what_a_scan_found_at_rest_is_not_drawn)
{
    enum { N = 1000, DRAWS = 20000 };
    double *priority = calloc(N, sizeof *priority);
    uint32_t *count = calloc(N, sizeof *count);
    sti_urn urn = open_urn(N);
    priority[3] = priority[700] = 1;
    set_all(&urn, priority);
    count_draws(&urn, 1, DRAWS, count);
    cr_assert_eq(count[3] + count[700], DRAWS);
    /* One of the two comes to rest by itself: the floor keeps it. */
    set_one(&urn, 3, 0);
    cr_assert_eq(sti_urn_sum(&urn), 1);
    memset(count, 0, N * sizeof *count);
    count_draws(&urn, 2, DRAWS, count);
    priority[3] = 0.01;
    priority[700] = 1.01;
    cr_assert_gt(chance(N, count, priority, DRAWS), 1e-3);
    free(priority);
    free(count);
    sti_urn_close(&urn);
}

Test(policy_urn, the_hidden_are_neither_drawn_nor_counted)
{
    enum { N = 50, DRAWS = 20000 };
    sti_urn urn = open_urn(N);
    double weight[N];
    uint32_t count[N] = {0}, hidden[] = {1, 2, 3, 40};
    for (uint32_t i = 0; i < N; i++)
        weight[i] = 1;
    sti_urn_hide(&urn, 4, hidden);
    sti_urn_hide(&urn, 4, hidden);
    cr_assert_eq(sti_urn_sum(&urn), N - 4);
    cr_assert_eq(urn.positive, N - 4);
    cr_assert_eq(urn.n_floor, N - 4);
    for (int k = 0; k < 4; k++)
        weight[hidden[k]] = 0;
    count_draws(&urn, 1, DRAWS, count);
    cr_assert_gt(chance(N, count, weight, DRAWS), 1e-3);
    set_one(&urn, 40, 7);
    cr_assert_eq(sti_urn_sum(&urn), N - 4, "a hidden one was counted");
    cr_assert_eq(sti_urn_priority(&urn, 40), 7);
    sti_urn_show(&urn, 4, hidden);
    cr_assert_eq(sti_urn_sum(&urn), N + 6);
    cr_assert_eq(urn.positive, N);
    cr_assert_eq(urn.n_floor, N);
    sti_urn_close(&urn);
}

Test(policy_urn, nothing_is_drawn_when_nothing_moves)
{
    sti_urn urn = open_urn(9);
    for (uint32_t i = 0; i < 9; i++)
        set_one(&urn, i, 0);
    cr_assert_eq(sti_urn_sum(&urn), 0, "sums drift");
    cr_assert_eq(sti_urn_draw(&urn, 0.5), STI_URN_NONE);
    sti_urn_close(&urn);
}

Test(policy_urn, what_is_no_priority_counts_as_none)
{
    sti_urn urn = open_urn(4);
    set_all(&urn, (double[]){NAN, -3, 0, 1});
    cr_assert_eq(sti_urn_sum(&urn), 1);
    set_all(&urn, (double[]){NAN, -INFINITY, INFINITY, INFINITY});
    cr_assert(isfinite(sti_urn_sum(&urn)));
    for (int k = 0; k < 100; k++)
        cr_assert_geq(sti_urn_draw(&urn, k / 100.0), 2);
    sti_urn_close(&urn);
}

/* After any history the sums are what a fresh tree has. */
Test(policy_urn, sums_depend_on_the_priorities_alone)
{
    static const uint32_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 513, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t n = sizes[s], *some = malloc(n * sizeof *some);
        double *priority = calloc(n, sizeof *priority);
        sti_random r = sti_random_stream(1, n, 0);
        sti_urn urn = open_urn(n), other = open_urn(n);
        for (int turn = 0; turn < 200; turn++) {
            uint32_t m = 1 + (uint32_t)sti_random_below(&r, n);
            double *told = malloc(m * sizeof *told);
            for (uint32_t k = 0; k < m; k++) {
                some[k] = (uint32_t)sti_random_below(&r, n);
                told[k] = pow(10, 40 * sti_random_unit(&r) - 20);
            }
            if (turn % 3 == 0)
                sti_urn_hide(&urn, m, some);
            if (turn % 3 == 1)
                sti_urn_show(&urn, m, some);
            sti_urn_set(&urn, m, some, told, false);
            free(told);
        }
        for (uint32_t i = 0; i < n; i++) {
            some[i] = i;
            priority[i] = sti_urn_priority(&urn, i);
        }
        sti_urn_show(&urn, n, some);
        set_all(&other, priority);
        cr_assert_eq(urn.tree.sum, other.tree.sum, "%u items", n);
        cr_assert_eq(urn.positive, other.positive);
        cr_assert_eq(urn.n_floor, n);
        sti_urn_close(&urn);
        sti_urn_close(&other);
        free(some);
        free(priority);
    }
}

Test(policy_urn, every_place_finds_an_item_that_weighs_something)
{
    for (uint32_t n = 1; n < 200; n += 7) {
        sti_random r = sti_random_stream(2, n, 0);
        sti_urn urn = open_urn(n);
        for (uint32_t i = 0; i < n; i++)
            set_one(&urn, i, i % 3 ? 0 : pow(10, 30 * sti_random_unit(&r)));
        double sum = sti_urn_sum(&urn);
        double place[] = {0, nextafter(sum, 0), sum, 2 * sum};
        for (int k = 0; k < 4; k++) {
            uint32_t i = sti_sumtree_find(&urn.tree, place[k]);
            cr_assert(i < n && sti_urn_priority(&urn, i) > 0);
        }
        sti_urn_close(&urn);
    }
}

static double steps_an_operation(uint32_t n)
{
    enum { TIMES = 1000 };
    sti_urn urn = open_urn(n);
    sti_random r = sti_random_stream(3, n, 0);
    uint64_t before = urn.tree.steps;
    for (int k = 0; k < TIMES; k++) {
        set_one(&urn, (uint32_t)sti_random_below(&r, n), sti_random_unit(&r));
        sti_urn_draw(&urn, sti_random_unit(&r));
    }
    double steps = (double)(urn.tree.steps - before) / TIMES;
    sti_urn_close(&urn);
    return steps;
}

Test(policy_urn, a_draw_and_an_update_visit_few_nodes_of_a_million)
{
    double small = steps_an_operation(1000),
           large = steps_an_operation(1000000);
    cr_assert_lt(large, 3 * small, "%g nodes of 1e3, %g of 1e6", small, large);
    cr_assert_leq(large, 2 * 7.0, "%g nodes", large);
}
