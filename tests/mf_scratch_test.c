/* Factorisation by whole rows from disk: families of sizes, ranks, blocks and
 * partitions give the bits of the same run in memory. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/mf_family.h"
#include "tests/mf_trial.h"
#include "tests/sample.h"

static char folder[] = "/tmp/strads-mf-scratch-XXXXXX";

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
}

static void remove_folder(void)
{
    cr_expect_eq(rmdir(folder), 0, "something was left in %s", folder);
}

TestSuite(mf_scratch, .init = make_folder, .fini = remove_folder);

typedef struct method {
    strads_mf_options options;
    uint32_t rank_step; /* ranks are multiples of it */
} method;

static const method methods[] = {
    {{.method = "als"}, 1},
    {{.method = "als", .unweighted = true, .no_biases = true}, 1},
    {{.method = "cd"}, 16}, /* several slabs */
    {{.method = "als", .nonnegative = true}, 1},
    {{.method = "cd", .nonnegative = true, .no_biases = true}, 16},
    {{.implicit = true, .cg_steps = STRADS_MF_EXACT, .alpha = 3}, 1},
    {{.implicit = true, .cg_steps = 1}, 1},
    {{.implicit = true, .cg_steps = 3, .alpha = 2}, 1},
    {{.implicit = true, .nonnegative = true}, 1}};

typedef struct trial {
    const strads_rows *rows;
    strads_mf_options options;
    strads_engine_options engine;
} trial;

/* Runs with so many workers, and with the ratings in `scratch` or in memory. */
static strads_result *run_trial(const trial *t, uint32_t workers,
                                const char *scratch)
{
    strads_mf_options config = t->options;
    strads_engine_options engine = t->engine;
    strads_data *data = mf_family_data(t->rows, engine.partitions);
    strads_result *result = NULL;

    config.scratch = scratch;
    engine.workers = workers;
    const strads_err err =
        strads_run(&strads_program_mf, &config, data, &engine, &result);
    strads_data_free(data);
    cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    return result;
}

static void expect_same_from_disk(const trial *t)
{
    strads_result *memory = run_trial(t, 1, NULL);

    for (uint32_t workers = 1; workers <= t->engine.partitions; workers *= 2) {
        strads_result *disk = run_trial(t, workers, folder);
        mf_trial_expect_same(memory, disk, t->rows->rows);
        strads_result_free(disk);
    }
    strads_result_free(memory);
}

static uint32_t draw(uint64_t seed, uint32_t of, uint32_t below)
{
    return (uint32_t)(below * strads_random_unit(seed, 77, of, 0));
}

static void compare_method(const method *m, uint64_t seed)
{
    mf_family f = mf_family_draw(seed);
    f.users /= 2;
    f.stars = f.stars || m->options.implicit || m->options.nonnegative;
    mf_split_ratings ratings = mf_family_make(&f);
    trial t = {.rows = &ratings.train,
               .options = m->options,
               .engine = {.size = sizeof t.engine,
                          .partitions = 1 + draw(seed, 1, 4),
                          .blocks = 1 + draw(seed, 2, 12),
                          .seed = seed}};

    t.options.rank = m->rank_step * (1 + draw(seed, 3, 40 / m->rank_step));
    t.options.sweeps = 2 + draw(seed, 4, 3);
    if (!m->options.implicit)
        t.options.holdout = draw(seed, 5, 2) ? .1 : 1e-9;
    t.options.lambda = .05;
    expect_same_from_disk(&t);
    mf_family_free(&ratings);
}

Test(mf_scratch, a_run_from_disk_has_the_bits_of_one_in_memory)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
            if (sample_takes_next(1))
                compare_method(&methods[k], 100 * seed + k);
}

/* User u has item u x `step` % items, and the item after it. */
static void compare_wide(const method *m, uint32_t users, uint32_t items,
                         uint32_t partitions)
{
    const uint64_t step = 40503;
    uint64_t *start = calloc(users + (size_t)1, sizeof *start);
    uint32_t *index = calloc(users + (size_t)1, 2 * sizeof *index);
    double *value = calloc(users + (size_t)1, 2 * sizeof *value);

    cr_assert(start && index && value);
    for (uint32_t u = 0; u < users; u++) {
        const uint32_t first = (uint32_t)(u * step % (items - 1));
        start[u + 1] = start[u] + 2;
        for (uint32_t k = 0; k < 2; k++) {
            index[start[u] + k] = first + k;
            value[start[u] + k] = 1 + (u + k) % 5;
        }
    }
    const strads_rows rows = {.rows = users,
                              .cols = items,
                              .start = start,
                              .index = index,
                              .value = value};
    trial t = {.rows = &rows,
               .options = m->options,
               .engine = {.size = sizeof t.engine,
                          .partitions = partitions,
                          .seed = 5}};

    t.options.rank = 2;
    t.options.sweeps = 1;
    if (!m->options.implicit)
        t.options.holdout = 1e-9;
    t.options.lambda = .05;
    expect_same_from_disk(&t);
    free(start);
    free(index);
    free(value);
}

Test(mf_scratch, users_and_items_may_have_more_than_16_bits)
{
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k += 5) {
        compare_wide(&methods[k], 140000, 300, 1);
        compare_wide(&methods[k], 1000, 70000, 2);
        compare_wide(&methods[k], 3000, 65536, 1);
        compare_wide(&methods[k], 70000, 65537, 1);
    }
}

/* Partitions without users, and blocks and users without ratings. */
Test(mf_scratch, partitions_and_blocks_may_be_empty)
{
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        compare_wide(&methods[k], 1, 2, 1);
        compare_wide(&methods[k], 1, 2, 4);
        compare_wide(&methods[k], 2, 90, 4);
        compare_wide(&methods[k], 40, 3, 4);
    }
}
