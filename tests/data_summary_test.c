/* Compares the report of `strads data info` with counts made here. */
#include <criterion/criterion.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_summary, .init = oracle_enter, .fini = oracle_leave);

static strads_data_summary summarize(const char *path, uint32_t threads)
{
    strads_data_options o = {.size = sizeof o, .threads = threads};
    strads_data_summary s = {0};
    expect_ok(strads_data_summarize(path, &o, &s));
    return s;
}

Test(data_summary, a_small_file_is_described_completely)
{
    const char *path = oracle_text("t.svm", "1 1:2 3:-4\n-1\n1 3:0.5 # c\n");
    strads_data_summary s = summarize(path, 1);
    cr_assert_str_eq(s.format, "libsvm");
    cr_assert_str_eq(s.compression, "none");
    cr_assert(s.rows == 3 && s.cols == 3 && s.nnz == 3);
    cr_assert(s.empty_rows == 1 && s.empty_cols == 1);
    cr_assert(s.max_row_nnz == 2 && s.max_col_nnz == 2);
    cr_assert(s.label_min == -1 && s.label_max == 1);
    cr_assert_float_eq(s.label_mean, 1.0 / 3, 1e-15);
    cr_assert_eq(s.distinct_labels, 2);
    cr_assert(s.value_min == -4 && s.value_max == 2);
    cr_assert_eq(s.index_base, 1);
    cr_assert(s.file_bytes == 26 && s.text_bytes == 26);
    cr_assert_eq(s.matrix_bytes, 3 * 12 + 4 * 8);
}

Test(data_summary, it_agrees_with_the_data_on_any_number_of_threads)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 700, .cols = 300, .density = 0.1, .spread = 3, .seed = 12});
    const char *path = oracle_write_libsvm(&m, "random.svm");
    strads_data *data;
    cr_assert_eq(strads_data_read(path, NULL, &data), STRADS_OK);
    strads_data_summary one = summarize(path, 1);
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        strads_data_summary s = summarize(path, threads);
        cr_assert(s.rows == m.rows && s.cols == m.cols && s.nnz == m.nnz);
        cr_assert_eq(s.checksum, strads_data_checksum(data));
        cr_assert(s.value_min == one.value_min && s.value_max == one.value_max);
        cr_assert_eq(s.distinct_labels, m.rows);
        cr_assert_float_eq(s.label_mean, one.label_mean, 1e-12);
    }
    strads_data_summary packed = summarize(oracle_gzip(path, 2), 2);
    cr_assert_str_eq(packed.compression, "gzip");
    cr_assert_eq(packed.checksum, one.checksum);
    cr_assert_eq(packed.text_bytes, one.text_bytes);
    cr_assert_lt(packed.file_bytes, one.file_bytes);
    strads_data_free(data);
    oracle_free(&m);
}

Test(data_summary, distinct_labels_are_counted_up_to_a_thousand)
{
    FILE *file = fopen(oracle_path("t.svm"), "w");
    for (int i = 0; i < 3000; i++)
        (void)fprintf(file, "%d 1:1\n", i);
    (void)fclose(file);
    strads_data_summary s = summarize(oracle_path("t.svm"), 1);
    cr_assert_eq(s.distinct_labels, 1000);
    cr_assert_eq(s.label_mean, 1499.5);
}

Test(data_summary, a_matrix_without_labels_is_described_so)
{
    const char *path =
        oracle_text("t.mtx", "%%MatrixMarket matrix coordinate real general\n"
                             "2 2 1\n1 1 5\n");
    strads_data_summary s = summarize(path, 1);
    cr_assert_str_eq(s.format, "matrixmarket");
    cr_assert(s.distinct_labels == 0 && s.label_mean == 0);
    cr_assert(s.value_min == 5 && s.value_max == 5 && s.empty_rows == 1);
}
