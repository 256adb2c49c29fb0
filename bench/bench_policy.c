/* The cost of scheduling: ns for a draw and an update in the priority policy's
 * sampler, and for a whole choice (block in, block out), by number of
 * parameters. The stateless uniform and cyclic policies are the floor. Medians
 * of REPEATS runs; no arguments. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/ending.h"
#include "bench/measuring.h"
#include "engine/base/random.h"
#include "schedulers/weighted_sampler.h"
#include "strads/policy.h"

enum { REPEATS = 7, DRAWS = 100000, CHOICES = 4000, BLOCK = 64 };

static double now_ns(void)
{
    return 1e9 * bench_wall();
}

static volatile uint32_t sink;
static volatile double sum;

static double time_draws(sti_sampler *sampler, sti_random *random)
{
    double from = now_ns();
    for (int k = 0; k < DRAWS; k++)
        sink = sti_sampler_draw(sampler, 0.005, sti_random_unit(random));
    return (now_ns() - from) / DRAWS;
}

static double time_updates(sti_sampler *sampler, sti_random *random)
{
    double from = now_ns();
    for (int k = 0; k < DRAWS; k++) {
        uint32_t i = (uint32_t)sti_random_below(random, sampler->n);
        double priority = sti_random_unit(random);
        sti_sampler_set(sampler, 1, &i, &priority, false);
        sum = sti_sampler_sum(sampler);
    }
    return (now_ns() - from) / DRAWS;
}

static double time_scan(sti_sampler *sampler, uint32_t *all, double *priority)
{
    double from = now_ns();
    sti_sampler_set(sampler, sampler->n, all, priority, true);
    sum = sti_sampler_sum(sampler);
    return (now_ns() - from) / sampler->n;
}

static void bench_sampler(uint32_t n)
{
    sti_block_table table;
    sti_sampler sampler;
    bench_check(sti_block_table_open(n, &table));
    bench_check(sti_sampler_open(n, &table, &sampler));
    uint32_t *all = malloc(n * sizeof *all);
    double *priority = malloc(n * sizeof *priority);
    sti_random random = sti_random_stream(1, n, 0);
    for (uint32_t i = 0; i < n; i++) {
        all[i] = i;
        priority[i] = sti_random_unit(&random);
    }
    double draw[REPEATS], update[REPEATS], scan[REPEATS];
    for (int r = 0; r < REPEATS; r++) {
        scan[r] = time_scan(&sampler, all, priority);
        draw[r] = time_draws(&sampler, &random);
        update[r] = time_updates(&sampler, &random);
    }
    printf("%9u parameters: draw %6.1f ns, update %6.1f ns, scan %5.2f ns a "
           "parameter\n",
           n, bench_median(draw, REPEATS), bench_median(update, REPEATS),
           bench_median(scan, REPEATS));
    free(all);
    free(priority);
    sti_sampler_close(&sampler);
    sti_block_table_close(&table);
}

/* Chooses and commits one block after the other: the cost of a round's choice
 * with its priorities. */
static double time_choices(const strads_policy *policy, void *state,
                           uint64_t *asked, sti_random *random)
{
    strads_choice_request request = {.want = 1, .work = BLOCK};
    double from = now_ns();
    for (int k = 0; k < CHOICES; k++) {
        strads_choice choice;
        request.draw = ++*asked;
        bench_check(policy->choose(state, &request, &choice));
        uint32_t param[BLOCK];
        double priority[BLOCK];
        for (uint32_t m = 0; m < (choice.n ? choice.blocks[0].n : 0); m++) {
            param[m] = strads_block_param(&choice.blocks[0], m);
            priority[m] = sti_random_unit(random);
        }
        if (choice.n)
            policy->prioritise(state, choice.blocks[0].n, param, priority);
    }
    return (now_ns() - from) / CHOICES;
}

static void bench_policy(const strads_policy *policy, uint32_t n)
{
    float *weight = malloc(n * sizeof *weight);
    for (uint32_t i = 0; i < n; i++)
        weight[i] = 1;
    strads_policy_setup setup = {.parameters = n,
                                 .weight = weight,
                                 .block_max = BLOCK,
                                 .threshold = 0.1,
                                 .probes = true,
                                 .seed = 1};
    void *state = NULL;
    bench_check(policy->open(&setup, &state));
    sti_random random = sti_random_stream(2, n, 0);
    uint64_t asked = 0;
    double choice[REPEATS];
    for (int r = 0; r < REPEATS; r++)
        choice[r] = time_choices(policy, state, &asked, &random);
    printf("%9u parameters: %-8s %8.0f ns a choice of %d, with its commit\n", n,
           policy->name, bench_median(choice, REPEATS), BLOCK);
    policy->close(state);
    free(weight);
}

int main(void)
{
    static const uint32_t sizes[] = {1000, 10000, 100000, 1000000};
    double load[1] = {0};
    (void)getloadavg(load, 1);
    printf("load %.2f\n", load[0]);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        bench_sampler(sizes[k]);
    for (const strads_policy *const *p = strads_policies(); *p; p++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            bench_policy(*p, sizes[k]);
    return 0;
}
