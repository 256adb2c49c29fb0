/* Partitions: every split and layout, partly kept data, and the facts that
 * all processes know. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "data_oracle.h"
#include "engine/data/build.h"
#include "tests/expect.h"
#include "tests/sample.h"

TestSuite(data_partition, .init = oracle_enter, .fini = oracle_leave);

static oracle medium(unsigned seed)
{
    return oracle_random((oracle_shape){
        .rows = 500, .cols = 260, .density = 0.1, .spread = 3, .seed = seed});
}

static void expect_every_cut(const oracle *m, const char *path, bool labels)
{
    static const uint32_t counts[] = {1, 2, 3, 7, 40, 900};
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++)
        for (int split = 0; split < 4; split++)
            for (int layout = 1; layout <= 3; layout++)
                if (sample_takes_next(1))
                    oracle_expect(m, path,
                                  (strads_data_options){
                                      .partitions = counts[k],
                                      .split = (strads_split)split,
                                      .grid_cols = counts[k] == 40    ? 5
                                                   : counts[k] == 900 ? 9
                                                   : counts[k] == 3   ? 1
                                                                    : counts[k],
                                      .layout = (strads_layout)layout,
                                      .threads = 1 + (uint32_t)k % 4},
                                  labels);
}

Test(data_partition, shares_of_a_libsvm_file_make_up_the_whole)
{
    oracle m = medium(5);
    const char *path = oracle_write_libsvm(&m, "random.svm");
    expect_every_cut(&m, path, true);
    expect_every_cut(&m, oracle_gzip(path, 3), true);
    oracle_free(&m);
}

Test(data_partition, shares_of_a_matrixmarket_file_make_up_the_whole)
{
    oracle m = medium(6);
    const char *path = oracle_write_market(&m, "random.mtx");
    expect_every_cut(&m, path, false);
    expect_every_cut(&m, oracle_zstd(path, 3), false);
    oracle_free(&m);
}

Test(data_partition, a_process_keeps_its_own_partitions_alone)
{
    oracle m = medium(7);
    const char *paths[2];
    paths[0] = oracle_write_libsvm(&m, "random.svm");
    paths[1] = oracle_write_market(&m, "random.mtx");
    for (uint32_t first = 0; first <= 6; first++)
        for (uint32_t count = 0; first + count <= 6; count++)
            for (int split = 0; split < 4; split++)
                for (int format = 0; format < 2; format++)
                    if (sample_takes_next(1))
                        oracle_expect(
                            &m, paths[format],
                            (strads_data_options){.partitions = 6,
                                                  .grid_cols = 3,
                                                  .keep_first = first,
                                                  .keep_count = count,
                                                  .split = (strads_split)split,
                                                  .layout = STRADS_LAYOUT_BOTH,
                                                  .values = STRADS_F32,
                                                  .threads = 2},
                            format == 0);
    oracle_free(&m);
}

Test(data_partition, a_share_takes_its_share_of_the_memory)
{
    oracle m = medium(8);
    const char *path = oracle_write_libsvm(&m, "random.svm");
    uint64_t whole = 0;
    for (uint32_t k = 0; k <= 4; k++) {
        strads_data_options o = {.size = sizeof o,
                                 .partitions = 4,
                                 .keep_first = k % 4,
                                 .keep_count = k < 4,
                                 .split = STRADS_SPLIT_COLS};
        strads_data *data;
        cr_assert_eq(strads_data_read(path, &o, &data), STRADS_OK);
        if (k < 4)
            whole += strads_data_bytes(data);
        else
            cr_assert_lt(strads_data_bytes(data), whole);
        cr_assert_lt(strads_data_bytes(data),
                     k < 4 ? m.nnz * 12 / 3 : m.nnz * 13);
        strads_data_free(data);
    }
    oracle_free(&m);
}

Test(data_partition, all_know_the_rows_of_all_partitions_and_their_entries)
{
    oracle m = medium(8);
    const char *path = oracle_write_libsvm(&m, "random.svm");
    for (uint32_t first = 0; first <= 3; first++) {
        const strads_data_options o = {.size = sizeof o,
                                       .partitions = 3,
                                       .keep_first = first % 3,
                                       .keep_count = first < 3 ? 1 : 3,
                                       .layout = STRADS_LAYOUT_ROWS};
        strads_data *data;
        cr_assert_eq(strads_data_read(path, &o, &data), STRADS_OK);
        uint64_t entries = 0, end = 0;
        for (uint32_t p = 0; p < 3; p++) {
            const strads_range rows = strads_data_part(data, p);
            const strads_share *share = strads_data_share(data, p);
            uint64_t own = 0;
            cr_expect_eq(rows.begin, end);
            end = rows.end;
            for (uint64_t i = rows.begin; i < rows.end; i++)
                own += strads_data_row_nnz(data, i);
            if (share)
                cr_expect_eq(own, share->by_row.nnz);
            entries += own;
        }
        cr_expect_eq(end, m.rows);
        cr_expect_eq(entries, m.nnz);
        cr_expect_eq(strads_data_row_nnz(data, m.rows), 0);
        cr_expect_eq(strads_data_part(data, 3).end, 0);
        strads_data_free(data);
    }
    oracle_free(&m);
}

static uint64_t checksum_of(const char *path, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    expect_ok(strads_data_read(path, &o, &data));
    uint64_t sum = strads_data_checksum(data);
    strads_data_free(data);
    return sum;
}

Test(data_partition, the_checksum_is_one_of_content_alone)
{
    oracle m = medium(9);
    const char *svm = oracle_write_libsvm(&m, "random.svm");
    const char *mtx = oracle_write_market(&m, "random.mtx");
    FILE *labels = fopen(oracle_path("labels.txt"), "w");
    for (uint64_t i = 0; i < m.rows; i++)
        (void)fprintf(labels, "%.17g\n", m.label[i]);
    (void)fclose(labels);
    uint64_t sum = checksum_of(svm, (strads_data_options){0});
    for (uint32_t k = 1; k <= 4; k++)
        for (int split = 0; split < 3; split++)
            cr_assert_eq(sum, checksum_of(svm, (strads_data_options){
                                                   .partitions = k,
                                                   .keep_first = k - 1,
                                                   .split = (strads_split)split,
                                                   .threads = k}));
    cr_assert_eq(sum, checksum_of(oracle_gzip(svm, 2),
                                  (strads_data_options){.values = STRADS_F32}));
    cr_assert_eq(sum,
                 checksum_of(oracle_zstd(svm, 2), (strads_data_options){0}));
    cr_assert_neq(sum, checksum_of(mtx, (strads_data_options){0}),
                  "without labels it is another data set");
    cr_assert_eq(sum, checksum_of(mtx, (strads_data_options){
                                           .labels_path =
                                               oracle_path("labels.txt")}));
    oracle_free(&m);
}

Test(data_partition, the_checksum_sees_each_change)
{
    static const char *const texts[] = {
        "1 1:2 3:4\n0 2:1\n",    "1 1:2 3:4\n0 2:1.0000000000000002\n",
        "1 1:2 3:4\n0 3:1\n",    "1 1:2 3:4\n-1 2:1\n",
        "0 1:2 3:4\n1 2:1\n",    "1 2:1\n0 1:2 3:4\n",
        "1 1:2 3:4\n0 2:1\n0\n", "1 1:2 4:4\n0 2:1\n"};
    uint64_t sums[8];
    for (size_t i = 0; i < 8; i++) {
        sums[i] = checksum_of(oracle_text("t.svm", texts[i]),
                              (strads_data_options){0});
        for (size_t k = 0; k < i; k++)
            cr_assert_neq(sums[i], sums[k], "%zu and %zu", i, k);
    }
    cr_assert_eq(sums[0], checksum_of(oracle_text("t.svm", "+1.0 1:2e0 3:4.\n"
                                                           "# same\n"
                                                           "-0 2:1"),
                                      (strads_data_options){0}));
}

Test(data_partition, a_cut_is_balanced_by_entries)
{
    uint32_t nnz[1000];
    uint64_t all = 0;
    for (uint32_t k = 0; k < 1000; k++)
        all += nnz[k] = k * 7919 % 101;
    for (uint32_t parts = 1; parts <= 64; parts *= 2) {
        uint64_t bounds[65];
        sti_partition_cut(nnz, 1000, parts, bounds);
        cr_assert(bounds[0] == 0 && bounds[parts] == 1000);
        for (uint32_t p = 0; p < parts; p++) {
            uint64_t in = 0;
            for (uint64_t k = bounds[p]; k < bounds[p + 1]; k++)
                in += nnz[k];
            cr_assert(in + 101 >= all / parts && in <= all / parts + 101);
        }
    }
}

Test(data_partition, a_cut_of_nothing_is_even)
{
    uint32_t nnz[10] = {0};
    uint64_t bounds[6];
    sti_partition_cut(nnz, 10, 5, bounds);
    for (uint32_t p = 0; p <= 5; p++)
        cr_assert_eq(bounds[p], 2 * p);
}

Test(data_partition, wrong_options_are_refused_with_a_sentence)
{
    const char *path = oracle_text("t.svm", "1 1:1\n");
    const strads_data_options wrong[] = {
        {.size = 0},
        {.size = 100000},
        {.size = sizeof wrong[0], .partitions = 2, .keep_first = 3},
        {.size = sizeof wrong[0], .partitions = 2, .keep_count = 3},
        {.size = sizeof wrong[0], .split = (strads_split)7},
        {.size = sizeof wrong[0], .layout = (strads_layout)4},
        {.size = sizeof wrong[0], .values = STRADS_I32},
        {.size = sizeof wrong[0], .labels_path = "/nowhere"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        strads_data *data = NULL;
        cr_assert_eq(strads_data_read(path, &wrong[i], &data), STRADS_EINVAL,
                     "case %zu", i);
        cr_assert(data == NULL && strads_error_text()[0] != '\0');
    }
}

/* A memory budget covers reading, data and later needs together. It is
 * checked before memory is allocated: the process never holds a fraction of it.
 */
Test(data_partition, a_budget_is_added_up_before_it_is_taken)
{
    strads_data_options o = {.size = sizeof o,
                             .memory_limit = UINT64_C(24) << 30,
                             .col_bytes = 40};
    const char *path = oracle_text("wide.svm", "1 1:1 4294967294:1\n");
    strads_data *data = NULL;
    struct rusage before, after;
    (void)getrusage(RUSAGE_SELF, &before);
    for (o.threads = 1; o.threads <= 2; o.threads++) {
        expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM,
                     "without gaps");
        expect_says("4294967294 columns");
    }
    path = oracle_text("wide.svm", "1 1:1 500000000:1\n");
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_ENOMEM);
    o.col_bytes = 0;
    o.memory_limit = UINT64_C(7) << 30; /* 8 GB are needed */
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_ENOMEM);
    (void)getrusage(RUSAGE_SELF, &after);
    cr_assert_lt(after.ru_maxrss - before.ru_maxrss, 64 << 10);
    path = oracle_text("few.svm", "1 1:1 1000:1\n");
    o.memory_limit = 20000;
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_OK);
    strads_data_free(data);
    o.col_bytes = 40;
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_ENOMEM);
}

Test(data_partition, a_memory_limit_is_kept_with_the_numbers)
{
    const char *path = oracle_text("t.svm", "1 1:1 900000:1\n");
    strads_data_options o = {.size = sizeof o, .memory_limit = 5000000};
    strads_data *data = NULL;
    expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM, "5000000");
    o.memory_limit = 1000000;
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_ENOMEM);
    path =
        oracle_text("t.mtx", "%%MatrixMarket matrix coordinate real general\n"
                             "4000000000 4000000000 1\n1 1 1\n");
    o.memory_limit = 1000000;
    cr_assert_eq(strads_data_read(path, &o, &data), STRADS_ENOMEM);
    cr_assert_null(data);
}
