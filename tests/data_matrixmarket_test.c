/* MatrixMarket files: every banner, entries in any order, labels in a
 * separate file. */
#include <criterion/criterion.h>
#include <string.h>

#include "data_oracle.h"

TestSuite(data_matrixmarket, .init = oracle_enter, .fini = oracle_leave);

Test(data_matrixmarket, entries_in_any_order_give_ordered_lines)
{
    for (unsigned seed = 1; seed <= 3; seed++) {
        oracle m = oracle_random((oracle_shape){.rows = 600,
                                                .cols = 300,
                                                .density = 0.1,
                                                .spread = 3,
                                                .seed = seed});
        const char *path = oracle_write_market(&m, "random.mtx");
        for (uint32_t threads = 1; threads <= 4; threads *= 2)
            oracle_expect(&m, path,
                          (strads_data_options){.threads = threads,
                                                .layout = STRADS_LAYOUT_BOTH},
                          false);
        oracle_expect(&m, oracle_gzip(path, 2), (strads_data_options){0},
                      false);
        oracle_expect(&m, oracle_zstd(path, 2),
                      (strads_data_options){.values = STRADS_F32}, false);
        oracle_free(&m);
    }
}

static void expect_entries(const char *text, uint64_t rows, uint64_t cols,
                           oracle_entry *entries, uint64_t nnz)
{
    const char *path = oracle_text("small.mtx", text);
    oracle m = {.rows = rows, .cols = cols, .nnz = nnz, .entry = entries};
    oracle_expect(&m, path, (strads_data_options){.layout = STRADS_LAYOUT_BOTH},
                  false);
    oracle_expect(&m, path,
                  (strads_data_options){.partitions = 2,
                                        .split = STRADS_SPLIT_COLS,
                                        .layout = STRADS_LAYOUT_BOTH},
                  false);
}

Test(data_matrixmarket, a_pattern_is_all_ones)
{
    oracle_entry e[] = {{0, 1, 1}, {2, 0, 1}};
    expect_entries("%%MatrixMarket matrix coordinate pattern general\n"
                   "3 2 2\n3 1\n1 2\n",
                   3, 2, e, 2);
}

Test(data_matrixmarket, integers_may_be_symmetric)
{
    oracle_entry e[] = {{0, 0, 5}, {0, 2, -7}, {2, 0, -7}, {2, 2, 1}};
    expect_entries("%%MatrixMarket matrix coordinate integer symmetric\n"
                   "3 3 3\n3 1 -7\n1 1 5\n3 3 1",
                   3, 3, e, 4);
}

Test(data_matrixmarket, skew_symmetric_mirrors_with_the_other_sign)
{
    oracle_entry e[] = {{0, 1, -2.5}, {1, 0, 2.5}};
    expect_entries("%%matrixmarket MATRIX Coordinate Real Skew-Symmetric\r\n"
                   "2 2 1\r\n2 1 2.5\r\n",
                   2, 2, e, 2);
}

Test(data_matrixmarket, arrays_go_column_by_column_and_leave_out_zeros)
{
    oracle_entry e[] = {{0, 0, 1}, {0, 1, 3}, {1, 0, 2}, {1, 2, 6}};
    expect_entries("%%MatrixMarket matrix array real general\n"
                   "%\n2 3\n1\n2\n3\n0\n0\n6\n",
                   2, 3, e, 4);
    oracle_entry s[] = {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 3}};
    expect_entries("%%MatrixMarket matrix array integer symmetric\n"
                   "2 2\n1 2\n3\n",
                   2, 2, s, 4);
    oracle_entry k[] = {{0, 1, -1}, {0, 2, -2}, {1, 0, 1},
                        {1, 2, -3}, {2, 0, 2},  {2, 1, 3}};
    expect_entries("%%MatrixMarket matrix array real skew-symmetric\n"
                   "3 3\n1\n2\n3\n",
                   3, 3, k, 6);
}

Test(data_matrixmarket, labels_come_from_a_file_of_lines_or_a_vector)
{
    oracle_entry e[] = {{0, 1, 1}, {2, 0, 1}};
    double labels[] = {1.5, 0, -2};
    oracle m = {.rows = 3, .cols = 2, .nnz = 2, .entry = e, .label = labels};
    const char *path =
        oracle_text("m.mtx",
                    "%%MatrixMarket matrix coordinate pattern general\n"
                    "3 2 2\n3 1\n1 2\n");
    const char *files[3];
    files[0] = oracle_text("labels.txt", "1.5\n0\n-2\n");
    files[1] =
        oracle_text("labels.mtx", "%%MatrixMarket matrix array real general\n"
                                  "3 1\n1.5\n0\n-2\n");
    files[2] =
        oracle_text("row.mtx", "%%MatrixMarket matrix array real general\n"
                               "1 3\n1.5\n0\n-2\n");
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++) {
        strads_data_options o = {.size = sizeof o,
                                 .labels_path = files[i],
                                 .partitions = 2};
        oracle_expect(&m, path, o, true);
        strads_data *data;
        cr_assert_eq(strads_data_read(path, &o, &data), STRADS_OK);
        cr_assert(i == 0 || strads_data_checksum(data) == sum);
        sum = strads_data_checksum(data);
        strads_data_free(data);
    }
}
