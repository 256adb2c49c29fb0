/* The cost of a commit: ns for inc and read of a batch of 64 rows, alone,
 * beside the equivalent loop over an array (the floor), in turn. Then inc by
 * two threads at once, per batch of each. Medians; no arguments. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/ending.h"
#include "bench/measuring.h"
#include "strads/policy.h"
#include "strads/store.h"

enum { REPEATS = 9, CALLS = 20000, BATCH = 64, ROWS = 65536, BATCHES = 256 };

struct setup {
    const char *name;
    uint32_t cols;
    bool sparse, scattered;
};

struct bench {
    const struct setup *setup;
    strads_store *store;
    uint32_t table;
    uint32_t *rows; /* [BATCHES x BATCH] */
    double *array;  /* [ROWS x cols], the floor's */
    double *delta;  /* [BATCH x cols] */
    double *out;    /* [BATCH x cols] */
};

static double now_ns(void)
{
    return 1e9 * bench_wall();
}

static const uint32_t *batch(const struct bench *b, int call)
{
    return b->rows + (size_t)(call % BATCHES) * BATCH;
}

/* The same sums without a store; not inlined, so that it is not hoisted. */
static __attribute__((noinline)) void bare_inc(double *array, uint32_t cols,
                                               const uint32_t *rows,
                                               const double *delta)
{
    for (uint32_t k = 0; k < BATCH; k++)
        for (uint32_t j = 0; j < cols; j++)
            array[(size_t)rows[k] * cols + j] += delta[k * cols + j];
}

static double time_bare(struct bench *b)
{
    double from = now_ns();
    for (int c = 0; c < CALLS; c++)
        bare_inc(b->array, b->setup->cols, batch(b, c), b->delta);
    return (now_ns() - from) / CALLS;
}

static double time_inc(struct bench *b)
{
    double from = now_ns();
    for (int c = 0; c < CALLS; c++)
        bench_check(strads_store_inc(b->store, b->table, BATCH, batch(b, c),
                                     b->delta, NULL));
    return (now_ns() - from) / CALLS;
}

static double time_read(struct bench *b)
{
    double from = now_ns();
    for (int c = 0; c < CALLS; c++)
        bench_check(
            strads_store_read(b->store, b->table, BATCH, batch(b, c), b->out));
    return (now_ns() - from) / CALLS;
}

static void *inc_thread(void *arg)
{
    (void)time_inc(arg);
    return NULL;
}

static double time_two(struct bench *b)
{
    pthread_t thread;
    double from = now_ns();
    if (pthread_create(&thread, NULL, inc_thread, b) != 0)
        bench_check(strads_fail(STRADS_EIO, "no thread"));
    (void)time_inc(b);
    pthread_join(thread, NULL);
    return (now_ns() - from) / CALLS;
}

static void make_bench(struct bench *b, const struct setup *setup)
{
    strads_table_spec spec = {.name = setup->name,
                              .rows = ROWS,
                              .cols = setup->cols,
                              .sparse = setup->sparse};
    *b = (struct bench){.setup = setup};
    bench_check(strads_store_open(0, &b->store));
    bench_check(strads_store_create(b->store, &spec, &b->table));
    b->rows = bench_reserve(BATCHES * BATCH, sizeof *b->rows);
    b->array = bench_reserve((size_t)ROWS * setup->cols, sizeof *b->array);
    b->delta = bench_reserve((size_t)BATCH * setup->cols, sizeof *b->delta);
    b->out = bench_reserve((size_t)BATCH * setup->cols, sizeof *b->out);
    for (uint32_t i = 0; i < BATCHES * BATCH; i++)
        b->rows[i] = setup->scattered
                         ? (uint32_t)(strads_random_bits(1, 0, 0, i) % ROWS)
                         : i;
    for (uint32_t i = 0; i < BATCH * setup->cols; i++)
        b->delta[i] = 1e-3 * i + 1e-3;
}

static void free_bench(struct bench *b)
{
    strads_store_free(b->store);
    free(b->rows);
    free(b->array);
    free(b->delta);
    free(b->out);
}

static void print_load(void)
{
    double load[1] = {0};
    (void)getloadavg(load, 1);
    printf("batches of %d rows of f64; load %.1f\n", BATCH, load[0]);
    printf("%-28s %9s %9s %7s %9s %9s\n", "", "bare ns", "inc ns", "ratio",
           "read ns", "inc x2 ns");
}

static void run(const struct setup *setup)
{
    struct bench b;
    double bare[REPEATS], inc[REPEATS], read[REPEATS], two[REPEATS];
    make_bench(&b, setup);
    (void)time_inc(&b);
    (void)time_bare(&b);
    for (int r = 0; r < REPEATS; r++) {
        bare[r] = time_bare(&b);
        inc[r] = time_inc(&b);
        read[r] = time_read(&b);
        two[r] = time_two(&b);
    }
    printf("%-28s %9.0f %9.0f %7.2f %9.0f %9.0f\n", setup->name,
           bench_median(bare, REPEATS), bench_median(inc, REPEATS),
           bench_median(inc, REPEATS) / bench_median(bare, REPEATS),
           bench_median(read, REPEATS), bench_median(two, REPEATS));
    printf("{\"bench\": \"store\", \"table\": \"%s\", \"bare_ns\": %.1f, "
           "\"inc_ns\": %.1f, \"read_ns\": %.1f, \"inc_two_threads_ns\": "
           "%.1f}\n",
           setup->name, bench_median(bare, REPEATS), bench_median(inc, REPEATS),
           bench_median(read, REPEATS), bench_median(two, REPEATS));
    free_bench(&b);
}

int main(void)
{
    static const struct setup setups[] = {
        {"dense, 1 column, a range", 1, false, false},
        {"dense, 1 column, scattered", 1, false, true},
        {"dense, 16 columns, scattered", 16, false, true},
        {"sparse, 16 columns, scattered", 16, true, true},
    };
    print_load();
    for (size_t s = 0; s < sizeof setups / sizeof *setups; s++)
        run(&setups[s]);
    return 0;
}
