/* LIBSVM files against a slow reader that shares no code with the library. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_libsvm, .init = oracle_enter, .fini = oracle_leave);

Test(data_libsvm, reads_the_sample_as_the_slow_reader_does)
{
    const char *path = STRADS_SOURCE_DIR "/data/sotu-tiny-year.train.svm";
    oracle m = oracle_read_libsvm(path);
    cr_assert_eq(m.nnz, 61486);
    oracle_expect(&m, path, (strads_data_options){0}, true);
    oracle_expect(&m, path, (strads_data_options){.threads = 4}, true);
    oracle_free(&m);
}

Test(data_libsvm, reads_every_spelling_on_any_number_of_threads)
{
    for (unsigned seed = 1; seed <= 4; seed++) {
        oracle m = oracle_random((oracle_shape){.rows = 700,
                                                .cols = 300,
                                                .density = 0.1,
                                                .spread = 3,
                                                .seed = seed});
        const char *path = oracle_write_libsvm(&m, "random.svm");
        oracle again = oracle_read_libsvm(path);
        cr_assert_eq(again.nnz, m.nnz);
        for (uint32_t threads = 1; threads <= 4; threads *= 2) {
            strads_data_options o = {.threads = threads,
                                     .layout = STRADS_LAYOUT_BOTH};
            oracle_expect(&m, path, o, true);
            oracle_expect(&again, path, o, true);
        }
        oracle_free(&m);
        oracle_free(&again);
    }
}

Test(data_libsvm, reads_wide_and_narrow_values)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 300, .cols = 200, .density = 0.2, .spread = 1, .seed = 9});
    const char *path = oracle_write_libsvm(&m, "random.svm");
    oracle_expect(&m, path,
                  (strads_data_options){.values = STRADS_F32, .threads = 2},
                  true);
    oracle_free(&m);
}

Test(data_libsvm, takes_crlf_comments_blank_lines_and_a_missing_newline)
{
    const char *path = oracle_text("small.svm", "# head\r\n"
                                                "\r\n"
                                                "+1 qid:3 1:0.5 4:-2e0 # c\r\n"
                                                "   \t\n"
                                                "-1\n"
                                                "2.5e-1\t2:.5\t3:1.\r\n"
                                                "#3 1:1\n"
                                                "0 4:+7");
    oracle_entry entries[] = {
        {0, 0, 0.5}, {0, 3, -2}, {2, 1, 0.5}, {2, 2, 1}, {3, 3, 7}};
    double labels[] = {1, -1, 0.25, 0};
    oracle m = {
        .rows = 4, .cols = 4, .nnz = 5, .entry = entries, .label = labels};
    oracle_expect(&m, path, (strads_data_options){0}, true);
    oracle_expect(&m, oracle_gzip(path, 1), (strads_data_options){0}, true);
}

/* pzstd writes a skippable frame before each frame with text. */
Test(data_libsvm, a_zstd_frame_that_is_passed_over_may_come_first)
{
    static const char skipped[] = "\x50\x2a\x4d\x18\x03\0\0\0abc";
    char text[4096];
    oracle_entry entries[] = {{0, 0, 2}};
    double labels[] = {1};
    oracle m = {
        .rows = 1, .cols = 1, .nnz = 1, .entry = entries, .label = labels};
    FILE *from = fopen(oracle_zstd(oracle_text("s.svm", "1 1:2\n"), 1), "r");
    const char *path = oracle_path("skip.zst");
    FILE *to = fopen(path, "w");
    const size_t n = fread(text, 1, sizeof text, from);
    (void)fwrite(skipped, 1, sizeof skipped - 1, to);
    (void)fwrite(text, 1, n, to);
    (void)fclose(from);
    (void)fclose(to);
    oracle_expect(&m, path, (strads_data_options){0}, true);
}

Test(data_libsvm, the_mark_of_utf_8_before_a_text_is_no_part_of_it)
{
    const char *rows = oracle_text("m.svm", "\xef\xbb\xbf"
                                            "1 1:2\n-1 2:3\n");
    const char *market = oracle_text(
        "m.mtx", "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n"
                 "2 2 2\n1 1 2\n2 2 3\n");
    const char *labels = oracle_text("m.txt", "\xef\xbb\xbf"
                                              "1\n-1\n");
    oracle m = {.rows = 2,
                .cols = 2,
                .nnz = 2,
                .entry = (oracle_entry[]){{0, 0, 2}, {1, 1, 3}},
                .label = (double[]){1, -1}};
    oracle_expect(&m, rows, (strads_data_options){0}, true);
    oracle_expect(&m, oracle_gzip(rows, 1), (strads_data_options){0}, true);
    oracle_expect(&m, market, (strads_data_options){.labels_path = labels},
                  true);
}

Test(data_libsvm, takes_rows_without_entries_and_empty_columns)
{
    const char *path = oracle_text("empty.svm", "1\n2\n3 5:1\n4\n");
    oracle_entry entries[] = {{2, 4, 1}};
    double labels[] = {1, 2, 3, 4};
    oracle m = {
        .rows = 4, .cols = 5, .nnz = 1, .entry = entries, .label = labels};
    for (uint32_t k = 1; k <= 9; k++)
        for (int split = 0; split < 3; split++)
            oracle_expect(&m, path,
                          (strads_data_options){.partitions = k,
                                                .split = (strads_split)split,
                                                .layout = STRADS_LAYOUT_BOTH},
                          true);
    oracle only_labels = {.rows = 4, .label = labels};
    path = oracle_text("labels.svm", "1\n2\n3\n4");
    oracle_expect(&only_labels, path, (strads_data_options){0}, true);
    oracle_expect(&only_labels, path,
                  (strads_data_options){.partitions = 3, .min_cols = 2}, true);
}

Test(data_libsvm, a_model_may_ask_for_more_columns_than_the_file_has)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 50, .cols = 20, .density = 0.2, .spread = 1, .seed = 3});
    const char *path = oracle_write_libsvm(&m, "random.svm");
    oracle_expect(&m, path, (strads_data_options){.min_cols = 1000}, true);
    oracle_expect(&m, path, (strads_data_options){.min_cols = 3}, true);
    oracle_free(&m);
}

/* Columns beyond the model's cost nothing, whatever their index. */
Test(data_libsvm, columns_beyond_the_most_are_as_if_they_were_not_there)
{
    const char *plain =
        oracle_text("far.svm",
                    "1 1:2 3:4 4:9 4294967294:1\n2 5:1 4000000000:7\n3 2:6\n");
    const char *market =
        oracle_text("far.mtx",
                    "%%MatrixMarket matrix coordinate real general\n"
                    "3 4000000000 5\n1 1 2\n1 3 4\n1 4 9\n2 4000000000 7\n"
                    "3 2 6\n");
    const char *const files[] = {plain, oracle_gzip(plain, 1), market};
    oracle_entry entries[] = {{0, 0, 2}, {0, 2, 4}, {2, 1, 6}};
    double labels[] = {1, 2, 3};
    oracle m = {
        .rows = 3, .cols = 3, .nnz = 3, .entry = entries, .label = labels};
    for (int f = 0; f < 3; f++)
        for (int layout = STRADS_LAYOUT_COLS; layout <= STRADS_LAYOUT_BOTH;
             layout++) {
            const strads_data_options o = {.layout = (strads_layout)layout,
                                           .partitions = 2,
                                           .min_cols = 3,
                                           .most_cols = 3,
                                           .memory_limit = 16 << 20};
            oracle_expect(&m, files[f], o, f < 2);
        }
}

Test(data_libsvm, many_columns_and_few_entries_are_read_by_fewer_threads)
{
    /* 600,000 columns, each used about once: too wide for one count per
     * column and chunk. */
    FILE *file = fopen(oracle_path("wide.svm"), "w");
    for (unsigned i = 0; i < 30000; i++)
        (void)fprintf(file, "1 %u:1 %u:2\n", 1 + i * 19 % 600000,
                      600000 + i % 5);
    (void)fclose(file);
    const char *path = oracle_path("wide.svm");
    oracle m = oracle_read_libsvm(path);
    for (uint32_t threads = 1; threads <= 8; threads *= 2)
        oracle_expect(&m, path,
                      (strads_data_options){.threads = threads,
                                            .layout = STRADS_LAYOUT_BOTH},
                      true);
    oracle_free(&m);
}

Test(data_libsvm, a_line_of_many_megabytes_is_a_row_like_any_other)
{
    const char *path = oracle_path("long.svm");
    FILE *file = fopen(path, "w");
    (void)fprintf(file, "1 1:1\n2");
    for (unsigned j = 1; j <= 400000; j++)
        (void)fprintf(file, " %u:%u", 3 * j, j);
    (void)fprintf(file, "\n3 2:1\n");
    (void)fclose(file);
    oracle m = oracle_read_libsvm(path);
    cr_assert_eq(m.nnz, 400002);
    oracle_expect(&m, path, (strads_data_options){.threads = 4}, true);
    oracle_expect(&m, oracle_gzip(path, 1), (strads_data_options){0}, true);
    oracle_free(&m);
}

static uint64_t data_segment_bytes(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmData: %llu kB", &kilobytes) == 1)
            break;
    (void)fclose(file);
    return 1024 * kilobytes;
}

Test(data_libsvm, reading_takes_hardly_more_than_the_matrix)
{
    enum { ROWS = 20000, EACH = 100 };
    const char *path = oracle_path("large.svm");
    FILE *file = fopen(path, "w");
    for (unsigned i = 0; i < ROWS; i++) {
        (void)fputs("1", file);
        for (unsigned k = 0; k < EACH; k++)
            (void)fprintf(file, " %u:%u", 1 + k * 50 + i % 50, k);
        (void)fputs("\n", file);
    }
    (void)fclose(file);
    uint64_t matrix = ROWS * EACH * 12 + 8 * (EACH * 50 + 1) + ROWS * 8;
    /* The system refuses more memory from here on, so that no peak is
     * missed. */
    rlim_t limit = data_segment_bytes() + matrix * 13 / 10;
    struct rlimit tight;
    cr_assert_eq(getrlimit(RLIMIT_DATA, &tight), 0);
    tight.rlim_cur = limit;
    cr_assert_eq(setrlimit(RLIMIT_DATA, &tight), 0);
    strads_data_options o = {.size = sizeof o, .threads = 1};
    strads_data *data = NULL;
    expect_ok(strads_data_read(path, &o, &data));
    cr_assert_eq(strads_data_nnz(data), ROWS * EACH);
    strads_data_free(data);
}

static void *write_pipe(void *arg)
{
    const char *path = STRADS_SOURCE_DIR "/data/sotu-tiny-year.test.svm";
    char bytes[4096];
    FILE *from = fopen(path, "rb");
    FILE *to = fopen(arg, "wb");
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        (void)fwrite(bytes, 1, n, to);
    (void)fclose(from);
    (void)fclose(to);
    return NULL;
}

Test(data_libsvm, a_pipe_is_read_to_its_end)
{
    char path[400];
    strcpy(path, oracle_path("pipe"));
    cr_assert_eq(mkfifo(path, 0600), 0);
    pthread_t writer;
    cr_assert_eq(pthread_create(&writer, NULL, write_pipe, path), 0);
    oracle m =
        oracle_read_libsvm(STRADS_SOURCE_DIR "/data/sotu-tiny-year.test.svm");
    oracle_expect(&m, path, (strads_data_options){.threads = 2}, true);
    (void)pthread_join(writer, NULL);
    oracle_free(&m);
    strads_data_options o = {.size = sizeof o, .memory_limit = 4 << 20};
    strads_data *data = NULL;
    cr_assert_eq(strads_data_read("/dev/zero", &o, &data), STRADS_ENOMEM);
    cr_assert_null(data);
}
