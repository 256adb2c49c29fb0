/* Entries on disk (strads_data_options.scratch) are those in memory: random
 * corpora and ratings in each format, cut into partitions, with memory for all
 * of them or for a part of them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data_oracle.h"
#include "tests/expect.h"
#include "tests/sample.h"

TestSuite(data_spill, .init = oracle_enter, .fini = oracle_leave);

static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (state >> 33) % below;
}

enum { ROWS = 1500, COLS = 700, ENTRIES = 400000 };

/* A bag of words or ratings, in any order of lines; with `twice`, some entries
 * are repeated. */
static const char *write_triples(const char *name, bool bag, bool twice)
{
    const char *path = oracle_text(name, "");
    FILE *f = fopen(path, "w");
    char *seen = calloc(ROWS, COLS);
    uint64_t n = 0;
    cr_assert(f && seen);
    uint32_t(*kept)[2] = malloc(ENTRIES * sizeof *kept);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        const uint64_t row = draw(ROWS), col = draw(1 + draw(COLS));
        if (!twice && seen[row * COLS + col]++)
            continue;
        kept[n][0] = (uint32_t)row;
        kept[n++][1] = (uint32_t)col;
    }
    if (bag)
        (void)fprintf(f, "%d\n%d\n%llu\n", ROWS, COLS, (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        (void)fprintf(f, "%u %u %llu\n", kept[i][0] + bag, kept[i][1] + bag,
                      (unsigned long long)draw(5) + 1);
    free(kept);
    free(seen);
    cr_assert_eq(fclose(f), 0);
    return path;
}

/* ldac, or words as a text with a document in each line. */
static const char *write_rows(const char *name, bool words)
{
    const char *path = oracle_text(name, "");
    FILE *f = fopen(path, "w");
    cr_assert(f);
    for (int d = 0; d < ROWS; d++) {
        uint64_t n = draw(200);
        if (!words)
            (void)fprintf(f, "%llu", (unsigned long long)n);
        for (uint64_t k = 0, w = 0; k < n; k++) {
            w += draw(4) + 1;
            if (words)
                (void)fprintf(f, "w%llux ", (unsigned long long)draw(1 + w));
            else
                (void)fprintf(f, " %llu:%llu", (unsigned long long)w,
                              (unsigned long long)draw(3) + 1);
        }
        (void)fprintf(f, words ? "end\n" : "\n");
    }
    cr_assert_eq(fclose(f), 0);
    return path;
}

static void compare_sides(const strads_sparse *a, const strads_sparse *b)
{
    cr_assert_eq(a->lines, b->lines);
    cr_assert_eq(a->nnz, b->nnz);
    cr_assert_eq(a->start != NULL, b->start != NULL);
    if (a->start == NULL)
        return;
    cr_assert_arr_eq(a->start, b->start, (a->lines + 1) * sizeof *a->start);
    cr_assert_arr_eq(a->index, b->index, a->nnz * sizeof *a->index);
    cr_assert_arr_eq(a->f32, b->f32, a->nnz * sizeof *a->f32);
}

static void compare_reads(const char *path, strads_kind kind, uint64_t limit)
{
    for (uint32_t partitions = 1; partitions <= 4; partitions += partitions) {
        if (!sample_takes_next(1))
            continue;
        strads_data_options o = {.size = sizeof o,
                                 .kind = kind,
                                 .layout = kind == STRADS_KIND_RATINGS
                                               ? STRADS_LAYOUT_ROWS
                                               : STRADS_LAYOUT_COLS,
                                 .values = STRADS_F32,
                                 .partitions = partitions,
                                 .threads = 2};
        strads_data *memory = NULL, *disk = NULL;
        expect_ok(strads_data_read(path, &o, &memory));
        o.scratch = ".";
        o.memory_limit = limit;
        expect_ok(strads_data_read(path, &o, &disk));
        cr_assert_lt(strads_data_bytes(disk), strads_data_bytes(memory) / 2);
        cr_assert_eq(strads_data_checksum(disk), strads_data_checksum(memory));
        cr_assert_eq(strads_data_repeated(disk), strads_data_repeated(memory));
        for (uint32_t p = 0; p < partitions; p++) {
            const strads_share *a = strads_data_share(memory, p);
            const strads_share *b = strads_data_share(disk, p);
            cr_assert(b->on_disk && !a->on_disk);
            for (int again = 0; again < 2; again++) {
                compare_sides(&a->by_col, &b->by_col);
                compare_sides(&a->by_row, &b->by_row);
                strads_share_evict(b);
            }
        }
        strads_data_free(memory);
        strads_data_free(disk);
    }
}

Test(data_spill, equals_memory)
{
    static const uint64_t limits[] = {2 << 20, 5 << 20, 1 << 30};
    for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
        state = 7 + k;
        compare_reads(write_triples("bag", true, false), STRADS_KIND_DOCUMENTS,
                      limits[k]);
        compare_reads(write_triples("ratings", false, true),
                      STRADS_KIND_RATINGS, limits[k] + (4 << 20));
        compare_reads(write_rows("ldac", false), STRADS_KIND_DOCUMENTS,
                      limits[k]);
        compare_reads(write_rows("text", true), STRADS_KIND_DOCUMENTS,
                      limits[k] + (4 << 20));
        compare_reads(oracle_zstd(write_rows("ldac", false), 2),
                      STRADS_KIND_DOCUMENTS, limits[k]);
    }
}

/* Half of what the data takes in memory suffices, and is refused without. */
Test(data_spill, needs_less_memory)
{
    const char *path = write_triples("bag", true, false);
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_DOCUMENTS,
                             .values = STRADS_F32};
    strads_data *data = NULL;
    expect_ok(strads_data_read(path, &o, &data));
    o.memory_limit = strads_data_bytes(data) / 2;
    strads_data_free(data);
    data = NULL;
    expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM, "memory");
    o.scratch = ".";
    expect_ok(strads_data_read(path, &o, &data));
    strads_data_free(data);
}

Test(data_spill, refuses_a_folder_that_is_not_there)
{
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_DOCUMENTS,
                             .values = STRADS_F32,
                             .scratch = "nowhere"};
    strads_data *data = NULL;
    expect_error(strads_data_read(write_rows("ldac", false), &o, &data),
                 STRADS_EIO, "nowhere: cannot hold the scratch file");
}
