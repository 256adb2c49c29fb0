/* Phases to ALL: merged partials against serial loops over the partitions. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"

enum { ROUNDS = 3, BLOCKS = 4, ROOM = 4096 };
static const uint32_t PARTITIONS[] = {1, 2, 3, 5, 8, 13};
static const uint32_t WORKERS[] = {1, 2, 4};

/* Results: all merged partials, in order. */
typedef struct merged {
    size_t n;
    unsigned char bytes[ROOM];
} merged;

typedef struct merge_config {
    merged *out;
} merge_config;

/* Blocks of scalars only, a list, a range, and an empty block. */
static const uint32_t LISTED[] = {16, 3, 9};
static const strads_block BLOCK[BLOCKS] = {
    {.id = 0},
    {.id = 1, .n = 3, .param = LISTED},
    {.id = 2, .n = 5, .first = 4},
    {.id = 3, .n = 1, .first = 0},
};

/* Length of the partial of each block. */
static const size_t NUMBERS[BLOCKS] = {2, 3, 10, 0};

static strads_err dispatch_rounds(strads_turn *turn)
{
    if (turn->round > ROUNDS)
        return strads_turn_stop(turn);
    return strads_turn_dispatch(turn, 0, BLOCKS, BLOCK);
}

static strads_err keep_merged(strads_commit *commit)
{
    merged *out = ((const merge_config *)commit->config)->out;
    TOY_CHECK(out->n + commit->partial_bytes <= ROOM);
    if (commit->partial_bytes)
        memcpy(out->bytes + out->n, commit->partial, commit->partial_bytes);
    out->n += commit->partial_bytes;
    return STRADS_OK;
}

static void run_phase(const strads_phase *phase, uint32_t workers,
                      uint32_t partitions, uint32_t depth, merged *out)
{
    const strads_program program = {.size = sizeof program,
                                    .name = "merge",
                                    .phases = phase,
                                    .n_phases = 1,
                                    .schedule = dispatch_rounds};
    const merge_config config = {.out = out};
    out->n = 0;
    strads_result_free(
        expect_run(&program, &config,
                   (strads_engine_options){.workers = workers,
                                           .partitions = partitions,
                                           .depth = depth,
                                           .deterministic = true}));
}

/* Computes the expected results for K partitions, block by block, round by
 * round. */
typedef void expect(uint32_t partitions, uint64_t round, uint32_t block,
                    merged *want);

static void check_workers(const strads_phase *phase, expect *expected)
{
    static merged got, want;
    for (size_t k = 0; k < sizeof PARTITIONS / sizeof *PARTITIONS; k++) {
        want.n = 0;
        for (uint64_t round = 1; round <= ROUNDS; round++)
            for (uint32_t b = 0; b < BLOCKS; b++)
                expected(PARTITIONS[k], round, b, &want);
        for (size_t w = 0; w < sizeof WORKERS / sizeof *WORKERS; w++) {
            run_phase(phase, WORKERS[w], PARTITIONS[k], (uint32_t)k % 3, &got);
            cr_assert_eq(got.n, want.n, "%zu bytes, not %zu: K = %u, W = %u",
                         got.n, want.n, PARTITIONS[k], WORKERS[w]);
            cr_assert_arr_eq(got.bytes, want.bytes, want.n,
                             "other bytes: K = %u, W = %u", PARTITIONS[k],
                             WORKERS[w]);
        }
    }
}

/* Runs on threads, then on simulated nodes. */
static void check_all(const strads_phase *phase, expect *expected)
{
    check_workers(phase, expected);
    toy_simulate_from_now_on();
    check_workers(phase, expected);
}

/* ---- numbers ----------------------------------------------------------- */

/* Numbers of both signs, from 1e-13 to 1e13: their sum depends on the order. */
static double rough(uint32_t partition, uint64_t round, uint32_t block,
                    uint32_t place)
{
    uint64_t index = round * 1000 + block * 100 + place;
    double unit = strads_random_unit(1, partition, index, 0);
    uint64_t bits = strads_random_bits(2, partition, index, 0);
    double scale = bits & 2 ? 1e13 : bits & 4 ? 1e-13 : 1;
    return bits & 1 ? -unit * scale : unit * scale;
}

static size_t count_numbers(const strads_task *task)
{
    return NUMBERS[task->block.id];
}

static strads_err fill_rough(strads_task *task)
{
    uint32_t b = (uint32_t)task->block.id;
    TOY_CHECK(task->partial_bytes == NUMBERS[b] * sizeof(double));
    for (uint32_t k = 0; k < NUMBERS[b]; k++) {
        TOY_CHECK(task->partial[k] == 0);
        task->partial[k] = rough(task->share->partition, task->round, b, k);
    }
    return STRADS_OK;
}

static double tree_sum(uint32_t from, uint32_t n, uint64_t round,
                       uint32_t block, uint32_t place)
{
    if (n == 1)
        return rough(from, round, block, place);
    uint32_t half = 1;
    while (2 * half < n)
        half *= 2;
    return tree_sum(from, half, round, block, place) +
           tree_sum(from + half, n - half, round, block, place);
}

static void put(merged *want, const void *bytes, size_t n)
{
    memcpy(want->bytes + want->n, bytes, n);
    want->n += n;
}

static void expect_sums(uint32_t partitions, uint64_t round, uint32_t block,
                        merged *want)
{
    for (uint32_t k = 0; k < NUMBERS[block]; k++) {
        double sum = tree_sum(0, partitions, round, block, k);
        put(want, &sum, sizeof sum);
    }
}

Test(engine_merge, sums_have_the_same_bits_for_any_number_of_workers)
{
    const strads_phase phase = {.name = "sum",
                                .when = STRADS_WHEN_CALLED,
                                .partial = count_numbers,
                                .update = fill_rough,
                                .aggregate = keep_merged};
    check_all(&phase, expect_sums);
}

/* ---- user-defined merge -------------------------------------------------- */

/* The affine map x -> a x + b of 32-bit numbers, with a tag that merges must
 * not change. Composition is associative but not commutative, and the 12 bytes
 * are not a multiple of a word. */
typedef struct affine {
    uint32_t a, b, tag;
} affine;

static affine map_of(uint32_t partition, uint64_t round, uint32_t block)
{
    return (affine){2 * partition + 3, (uint32_t)round * 7 + block, 77};
}

static size_t size_of_map(const strads_task *task)
{
    return task->block.id == 3 ? 0 : sizeof(affine);
}

static strads_err make_map(strads_task *task)
{
    TOY_CHECK(task->partial_bytes == size_of_map(task));
    if (task->partial_bytes == 0)
        return STRADS_OK;
    affine map =
        map_of(task->share->partition, task->round, (uint32_t)task->block.id);
    memcpy(task->partial, &map, sizeof map);
    return STRADS_OK;
}

/* Applies `from` after `into`; a wrong size damages the tag. */
static void compose(void *into, const void *from, size_t bytes)
{
    affine first, then;
    if (bytes == 0)
        return;
    memcpy(&first, into, sizeof first);
    memcpy(&then, from, sizeof then);
    affine both = {then.a * first.a, then.a * first.b + then.b,
                   bytes == sizeof both ? first.tag : 0};
    memcpy(into, &both, sizeof both);
}

static void expect_composed(uint32_t partitions, uint64_t round, uint32_t block,
                            merged *want)
{
    if (block == 3)
        return;
    affine all = map_of(0, round, block);
    for (uint32_t p = 1; p < partitions; p++) {
        affine next = map_of(p, round, block);
        compose(&all, &next, sizeof next);
    }
    put(want, &all, sizeof all);
}

Test(engine_merge, a_programs_own_merge_goes_in_the_order_of_partitions)
{
    const strads_phase phase = {.name = "own",
                                .merge = STRADS_MERGE_OWN,
                                .when = STRADS_WHEN_CALLED,
                                .partial = size_of_map,
                                .update = make_map,
                                .merge_with = compose,
                                .aggregate = keep_merged};
    check_all(&phase, expect_composed);
}

/* ---- concatenation ----------------------------------------------------- */

static size_t piece_bytes(uint32_t partition, uint64_t round, uint32_t block)
{
    return block == 3 ? 0 : (partition + round + block) % 8;
}

static size_t most_bytes(const strads_task *task)
{
    return task->block.id == 3 ? 0 : 7;
}

static unsigned char letter(uint32_t partition, size_t place)
{
    return (unsigned char)('A' + partition + place);
}

static strads_err fill_piece(strads_task *task)
{
    unsigned char *bytes = (unsigned char *)task->partial;
    uint32_t p = task->share->partition;
    TOY_CHECK(task->partial_bytes == most_bytes(task));
    size_t n = piece_bytes(p, task->round, (uint32_t)task->block.id);
    for (size_t k = 0; k < n; k++)
        bytes[k] = letter(p, k);
    if (n < 7) /* a full piece keeps the default size */
        task->partial_bytes = n;
    return STRADS_OK;
}

static void expect_pieces(uint32_t partitions, uint64_t round, uint32_t block,
                          merged *want)
{
    for (uint32_t p = 0; p < partitions; p++)
        for (size_t k = 0; k < piece_bytes(p, round, block); k++) {
            unsigned char c = letter(p, k);
            put(want, &c, 1);
        }
}

Test(engine_merge, pieces_of_any_size_follow_each_other_by_partition)
{
    const strads_phase phase = {.name = "concat",
                                .merge = STRADS_MERGE_CONCAT,
                                .when = STRADS_WHEN_CALLED,
                                .partial = most_bytes,
                                .update = fill_piece,
                                .aggregate = keep_merged};
    check_all(&phase, expect_pieces);
}

/* ---- the default size -------------------------------------------------- */

static strads_err fill_by_param(strads_task *task)
{
    TOY_CHECK(task->partial_bytes == task->block.n * sizeof(double));
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = strads_block_param(&task->block, k) *
                           (task->share->partition + 1.0);
    return STRADS_OK;
}

static void expect_by_param(uint32_t partitions, uint64_t round, uint32_t block,
                            merged *want)
{
    (void)round;
    double factor = partitions * (partitions + 1.0) / 2;
    for (uint32_t k = 0; k < BLOCK[block].n; k++) {
        double sum = strads_block_param(&BLOCK[block], k) * factor;
        put(want, &sum, sizeof sum);
    }
}

Test(engine_merge, a_partial_without_a_size_has_a_number_a_parameter)
{
    const strads_phase phase = {.name = "default",
                                .when = STRADS_WHEN_CALLED,
                                .update = fill_by_param,
                                .aggregate = keep_merged};
    check_all(&phase, expect_by_param);
}

static void add_numbers(void *into, const void *from, size_t bytes)
{
    double *a = into;
    const double *b = from;
    for (size_t k = 0; k < bytes / sizeof *a; k++)
        a[k] += b[k];
}

Test(engine_merge, without_a_size_an_own_merge_gets_numbers_too)
{
    const strads_phase phase = {.name = "default",
                                .merge = STRADS_MERGE_OWN,
                                .when = STRADS_WHEN_CALLED,
                                .update = fill_by_param,
                                .merge_with = add_numbers,
                                .aggregate = keep_merged};
    check_all(&phase, expect_by_param);
}
