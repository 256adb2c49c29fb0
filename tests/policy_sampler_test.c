/* Draws by priority: the tree of sums and the sampler with its floor. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "schedulers/weighted_sampler.h"
#include "strads/policy.h"

typedef struct fixture {
    sti_block_table table;
    sti_sampler sampler;
} fixture;

static void open_sampler(fixture *f, uint32_t n)
{
    cr_assert_eq(sti_block_table_open(n, &f->table), STRADS_OK);
    cr_assert_eq(sti_sampler_open(n, &f->table, &f->sampler), STRADS_OK);
}

static void close_sampler(fixture *f)
{
    sti_sampler_close(&f->sampler);
    sti_block_table_close(&f->table);
}

/* Makes a block; the caller then sets its members. */
static uint32_t join(fixture *f, uint32_t n, const uint32_t *member)
{
    float weight[1000];
    uint32_t e = 0;
    for (int i = 0; i < 1000; i++)
        weight[i] = (float)(1 + i);
    for (uint32_t k = 0; k < n; k++)
        sti_sampler_hide(&f->sampler, member[k]);
    cr_assert_eq(sti_block_table_add(&f->table, 1, n, member, weight, &e),
                 STRADS_OK);
    sti_sampler_join(&f->sampler, e);
    sti_sampler_show(&f->sampler, member[0]);
    return e;
}

static void part(fixture *f, uint32_t e)
{
    sti_sampler_split(&f->sampler, e);
    sti_block_table_dissolve(&f->table, e);
}

static void set_all(sti_sampler *sampler, const double *priority)
{
    uint32_t n = sampler->n;
    uint32_t *all = malloc(n * sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i;
    sti_sampler_set(sampler, n, all, priority, true);
    free(all);
}

static void set_one(sti_sampler *sampler, uint32_t i, double priority)
{
    sti_sampler_set(sampler, 1, &i, &priority, false);
}

/* The p-value of these counts under the given probabilities. */
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

/* Draws from the sampler with this share hidden. */
static void count_draws(sti_sampler *sampler, double hidden, uint32_t draws,
                        uint32_t *count)
{
    double floor = sti_sampler_floor(sampler, hidden);
    for (uint64_t k = 0; draws > 0; k++) {
        uint32_t i =
            sti_sampler_draw(sampler, floor, strads_random_unit(17, 0, 0, k));
        if (i == STI_DRAW_AGAIN)
            continue;
        cr_assert_lt(i, sampler->n);
        count[i]++;
        draws--;
    }
}

Test(policy_sampler, draws_follow_priorities_and_the_floor)
{
    enum { N = 100, DRAWS = 200000 };
    for (uint64_t seed = 1; seed <= 3; seed++) {
        double weight[N], mean = 0;
        uint32_t count[N] = {0};
        sti_random r = sti_random_stream(seed, 1, 0);
        fixture f;
        open_sampler(&f, N);
        uint32_t positive = 0;
        for (uint32_t i = 0; i < N; i++) {
            weight[i] = i % 10 == 0 ? 0 : pow(sti_random_unit(&r), 3);
            set_one(&f.sampler, i, weight[i]);
            mean += weight[i];
            positive += weight[i] > 0;
        }
        mean /= positive;
        for (uint32_t i = 0; i < N; i++)
            weight[i] += 0.01 * mean;
        count_draws(&f.sampler, 0, DRAWS, count);
        cr_assert_gt(chance(N, count, weight, DRAWS), 1e-3, "seed %d",
                     (int)seed);
        close_sampler(&f);
    }
}

Test(policy_sampler, a_parameter_found_idle_by_a_scan_is_not_drawn)
{
    enum { N = 1000, DRAWS = 20000 };
    double *priority = calloc(N, sizeof *priority);
    uint32_t *count = calloc(N, sizeof *count);
    fixture f;
    open_sampler(&f, N);
    priority[3] = priority[700] = 1;
    set_all(&f.sampler, priority);
    count_draws(&f.sampler, 0, DRAWS, count);
    cr_assert_eq(count[3] + count[700], DRAWS);
    /* One of the two becomes idle by itself: the floor keeps it. */
    set_one(&f.sampler, 3, 0);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 1);
    memset(count, 0, N * sizeof *count);
    count_draws(&f.sampler, 0, DRAWS, count);
    priority[3] = 0.01;
    priority[700] = 1.01;
    cr_assert_gt(chance(N, count, priority, DRAWS), 1e-3);
    free(priority);
    free(count);
    close_sampler(&f);
}

Test(policy_sampler, the_hidden_are_neither_drawn_nor_counted)
{
    enum { N = 50, DRAWS = 20000 };
    fixture f;
    open_sampler(&f, N);
    double weight[N];
    uint32_t count[N] = {0}, hidden[] = {1, 2, 3, 40};
    for (uint32_t i = 0; i < N; i++)
        weight[i] = 1;
    for (int k = 0; k < 4; k++) {
        sti_sampler_hide(&f.sampler, hidden[k]);
        sti_sampler_hide(&f.sampler, hidden[k]);
        weight[hidden[k]] = 0;
    }
    cr_assert_eq(sti_sampler_sum(&f.sampler), N - 4);
    count_draws(&f.sampler, 4, DRAWS, count);
    cr_assert_gt(chance(N, count, weight, DRAWS), 1e-3);
    set_one(&f.sampler, 40, 7);
    cr_assert_eq(sti_sampler_sum(&f.sampler), N - 4,
                 "a hidden one was counted");
    cr_assert_eq(sti_sampler_weight(&f.sampler, 40), 7);
    for (int k = 0; k < 4; k++)
        sti_sampler_show(&f.sampler, hidden[k]);
    cr_assert_eq(sti_sampler_sum(&f.sampler), N + 6);
    close_sampler(&f);
}

Test(policy_sampler, a_block_is_drawn_as_often_as_its_members_together)
{
    enum { N = 20, DRAWS = 40000 };
    fixture f;
    open_sampler(&f, N);
    uint32_t members[] = {3, 4, 11}, count[N] = {0};
    double weight[N], floor = 0.01;
    uint32_t e = join(&f, 3, members);
    for (uint32_t i = 0; i < N; i++)
        weight[i] = 1 + floor;
    weight[3] += 2; /* the others are drawn through it, or by the floor */
    weight[4] = weight[11] = floor;
    cr_assert_eq(sti_sampler_sum(&f.sampler), N);
    cr_assert_eq(sti_sampler_weight(&f.sampler,
                                    sti_sampler_item(&f.sampler, 11)),
                 3);
    count_draws(&f.sampler, 0, DRAWS, count);
    cr_assert_gt(chance(N, count, weight, DRAWS), 1e-3);
    sti_sampler_set(&f.sampler, 3, members, (double[]){0, 5, 0}, false);
    cr_assert_eq(sti_sampler_sum(&f.sampler), N + 2);
    cr_assert_eq(f.table.entry[e].active, 5, "weight of what moves");
    part(&f, e);
    cr_assert_eq(sti_sampler_sum(&f.sampler), N + 2);
    cr_assert_eq(sti_sampler_weight(&f.sampler, 4), 5);
    cr_assert_eq(sti_sampler_weight(&f.sampler, 3), 0);
    close_sampler(&f);
}

Test(policy_sampler, a_hidden_block_hides_its_members)
{
    enum { N = 6 };
    fixture f;
    open_sampler(&f, N);
    uint32_t members[] = {0, 1, 5}, count[N] = {0};
    uint32_t e = join(&f, 3, members);
    sti_sampler_hide(&f.sampler, 0);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 3);
    count_draws(&f.sampler, 3, 10000, count);
    cr_assert_eq(count[0] + count[1] + count[5], 0);
    sti_sampler_set(&f.sampler, 3, members, (double[]){9, 9, 9}, false);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 3, "a hidden block was counted");
    sti_sampler_show(&f.sampler, 0);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 30);
    part(&f, e);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 30);
    close_sampler(&f);
}

Test(policy_sampler, no_parameter_is_drawn_when_all_priorities_are_0)
{
    fixture f;
    open_sampler(&f, 9);
    for (uint32_t i = 0; i < 9; i++)
        set_one(&f.sampler, i, 0);
    cr_assert_eq(sti_sampler_sum(&f.sampler), 0, "sums drift");
    cr_assert_eq(sti_sampler_draw(&f.sampler, 1, 0.5), STI_DRAW_NONE);
    close_sampler(&f);
}

Test(policy_sampler, invalid_priorities_count_as_0)
{
    fixture f;
    open_sampler(&f, 4);
    set_all(&f.sampler, (double[]){NAN, -3, 0, 1});
    cr_assert_eq(sti_sampler_sum(&f.sampler), 1);
    set_all(&f.sampler, (double[]){NAN, -INFINITY, INFINITY, INFINITY});
    cr_assert(isfinite(sti_sampler_sum(&f.sampler)));
    for (int k = 0; k < 100; k++)
        cr_assert_geq(sti_sampler_draw(&f.sampler, 0, k / 100.0), 2);
    close_sampler(&f);
}

/* After any history, the sums equal those of a new tree. */
static void play_history(fixture *f, uint32_t n)
{
    sti_random r = sti_random_stream(1, n, 0);
    uint32_t *some = malloc(n * sizeof *some);
    double *told = malloc(n * sizeof *told);
    for (int turn = 0; turn < 200; turn++) {
        uint32_t m = 1 + (uint32_t)sti_random_below(&r, n);
        for (uint32_t k = 0; k < m; k++) {
            some[k] = (uint32_t)sti_random_below(&r, n);
            told[k] = pow(10, 40 * sti_random_unit(&r) - 20);
        }
        sti_sampler_set(&f->sampler, m, some, told, false);
        uint32_t first = (uint32_t)sti_random_below(&r, n), size = 0;
        for (uint32_t i = first; i < n && size < 9; i += 1 + i % 3)
            if (f->table.of[i] == STI_BLOCK_NONE)
                some[size++] = i;
        if (turn % 2 && size)
            join(f, size, some);
        else if (f->table.of[first] != STI_BLOCK_NONE)
            part(f, f->table.of[first]);
    }
    free(some);
    free(told);
}

Test(policy_sampler, sums_depend_on_the_priorities_alone)
{
    static const uint32_t sizes[] = {1, 2, 7, 8, 9, 63, 64, 65, 513, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        fixture f, other;
        open_sampler(&f, sizes[s]);
        open_sampler(&other, sizes[s]);
        play_history(&f, sizes[s]);
        for (uint32_t e = 0; e < f.table.n; e++)
            if (f.table.entry[e].block.id)
                part(&f, e);
        set_all(&other.sampler, f.sampler.priority);
        cr_assert_eq(sti_sampler_sum(&f.sampler),
                     sti_sampler_sum(&other.sampler), "%u items", sizes[s]);
        cr_assert_eq(f.sampler.positive, other.sampler.positive);
        close_sampler(&f);
        close_sampler(&other);
    }
}

Test(policy_sampler, every_place_finds_an_item_that_weighs_something)
{
    for (uint32_t n = 1; n < 200; n += 7) {
        sti_random r = sti_random_stream(2, n, 0);
        fixture f;
        open_sampler(&f, n);
        for (uint32_t i = 0; i < n; i++)
            set_one(&f.sampler, i,
                    i % 3 ? 0 : pow(10, 30 * sti_random_unit(&r)));
        const double unit[] = {0, 0.5, nextafter(1, 0)};
        for (int k = 0; k < 3; k++) {
            uint32_t i = sti_sampler_draw(&f.sampler, 0, unit[k]);
            cr_assert(i < n && f.sampler.priority[i] > 0);
        }
        close_sampler(&f);
    }
}
