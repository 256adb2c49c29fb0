/* numpy's files, as written by numpy and scipy (fuzz/seeds/npy), against the
 * same samples as LIBSVM text; truncated files; and invalid ones. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_npy, .init = oracle_enter, .fini = oracle_leave);

#define SEED(name) STRADS_SOURCE_DIR "/tests/fuzz/seeds/npy/npy-" name

static const char same[] = "1 1:1 3:2.5\n-1 2:-3\n2\n7 1:4 2:5 3:.25\n";

Test(data_npy, dense_and_sparse_arrays_equal_libsvm_text)
{
    static const char *const files[] = {SEED("c-order"), SEED("fortran"),
                                        SEED("csr"),     SEED("csc"),
                                        SEED("bsr"),     SEED("coo"),
                                        SEED("dia"),     SEED("unsorted"),
                                        SEED("twice"),   SEED("savez")};
    strads_data *text = NULL;
    cr_assert_eq(strads_data_read(oracle_text("s.svm", same), NULL, &text),
                 STRADS_OK);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        strads_data *data = NULL;
        strads_data_summary summary;
        const strads_data_options o = {.size = sizeof o,
                                       .partitions = 1 + (uint32_t)k % 4,
                                       .layout = STRADS_LAYOUT_BOTH,
                                       .labels_path = SEED("labels")};
        expect_ok(strads_data_read(files[k], &o, &data));
        cr_expect_eq(strads_data_checksum(data), strads_data_checksum(text),
                     "%s", files[k]);
        strads_data_free(data);
        const strads_data_options whole = {.size = sizeof whole,
                                           .labels_path = SEED("labels")};
        cr_assert_eq(strads_data_summarize(files[k], &whole, &summary),
                     STRADS_OK);
        cr_expect_eq(summary.checksum, strads_data_checksum(text));
    }
    strads_data_free(text);
}

Test(data_npy, a_file_that_is_cut_short_is_refused)
{
    static const char *const files[] = {SEED("c-order"), SEED("csr"),
                                        SEED("csc")};
    char bytes[8192];
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        FILE *f = fopen(files[k], "r");
        cr_assert_not_null(f);
        const size_t size = fread(bytes, 1, sizeof bytes, f);
        (void)fclose(f);
        for (size_t n = 6; n < size; n++) {
            strads_data *data = NULL;
            const char *path = oracle_write("cut", bytes, n);
            cr_expect_eq(strads_data_read(path, NULL, &data), STRADS_EFORMAT,
                         "%s, %zu bytes", files[k], n);
            expect_says(path);
        }
    }
}

Test(data_npy, other_arrays_are_refused_with_their_type)
{
    static const struct {
        const char *path, *says;
    } cases[] = {
        {SEED("text"), "holds text, expected numbers"},
        {SEED("cube"), "has three dimensions"},
        {SEED("no-columns"), "without columns"},
        {SEED("outside"), "an index outside of its shape"},
        {SEED("lil"), "expected csr, csc, bsr, coo or dia"},
        {SEED("complex"), "elements of another type"},
        {SEED("big-endian"), "little-endian"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strads_data *data = NULL;
        expect_error(strads_data_read(cases[k].path, NULL, &data),
                     STRADS_EFORMAT, cases[k].says);
    }
    strads_data *data = NULL;
    strads_data_options o = {.size = sizeof o, .labels_path = SEED("c-order")};
    expect_error(strads_data_read(SEED("csr"), &o, &data), STRADS_EFORMAT,
                 "expected labels");
    o.labels_path = NULL;
    o.memory_limit = 64;
    cr_expect_eq(strads_data_read(SEED("csr"), &o, &data), STRADS_ENOMEM);
}

/* ---- IDX ----------------------------------------------------------------- */

/* Writes an array in IDX, with big-endian elements. */
static const char *write_idx(const char *name, unsigned char type,
                             unsigned width, const unsigned *size, unsigned n,
                             const uint64_t *bits, unsigned count)
{
    unsigned char out[1024] = {0, 0, type, (unsigned char)n};
    size_t at = 4;
    for (unsigned d = 0; d < n; d++)
        for (int shift = 24; shift >= 0; shift -= 8)
            out[at++] = (unsigned char)(size[d] >> shift);
    for (unsigned k = 0; k < count; k++)
        for (int shift = 8 * ((int)width - 1); shift >= 0; shift -= 8)
            out[at++] = (unsigned char)(bits[k] >> shift);
    return oracle_write(name, out, at);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static const double numbers[] = {1, 0, 2.5, 0, -3, 0, 0, 0, 0, 4, 5, .25};
static const unsigned cube[] = {4, 1, 3}, line[] = {4};

Test(data_npy, idx_files_equal_libsvm_text)
{
    uint64_t bits[12], labels[] = {1, (uint16_t)-1, 2, 7};
    strads_data *text = NULL, *data = NULL;
    for (int k = 0; k < 12; k++)
        bits[k] = bits_of(numbers[k]);
    const char *plain = write_idx("cube", 14, 8, cube, 3, bits, 12);
    const char *files[] = {plain, oracle_gzip(plain, 1)};
    const char *label = write_idx("labels", 11, 2, line, 1, labels, 4);
    const strads_data_options o = {.size = sizeof o, .labels_path = label};
    cr_assert_eq(strads_data_read(oracle_text("s.svm", same), NULL, &text),
                 STRADS_OK);
    for (int k = 0; k < 2; k++) {
        expect_ok(strads_data_read(files[k], &o, &data));
        cr_expect_eq(strads_data_checksum(data), strads_data_checksum(text));
        strads_data_free(data);
    }
    strads_data_free(text);
}

Test(data_npy, idx_bytes_of_images_are_divided_by_255)
{
    const uint64_t pixels[] = {255, 0, 51, 0, 102, 0, 0, 0, 0, 255, 204, 153};
    static const char want[] = "0 1:1 3:.2\n0 2:.4\n0\n0 1:1 2:.8 3:.6\n";
    strads_data *text = NULL, *data = NULL;
    const uint64_t zeros[4] = {0};
    const strads_data_options o = {.size = sizeof o,
                                   .labels_path = write_idx("bytes", 8, 1, line,
                                                            1, zeros, 4)};
    cr_assert_eq(strads_data_read(oracle_text("s.svm", want), NULL, &text),
                 STRADS_OK);
    expect_ok(strads_data_read(write_idx("images", 8, 1, cube, 3, pixels, 12),
                               &o, &data));
    cr_expect_eq(strads_data_checksum(data), strads_data_checksum(text));
    strads_data_free(data);
    strads_data_free(text);
}

Test(data_npy, damaged_idx_is_refused)
{
    uint64_t bits[12] = {0};
    unsigned char bytes[1024];
    strads_data *data = NULL;
    FILE *f = fopen(write_idx("cube", 13, 4, cube, 3, bits, 12), "r");
    cr_assert_not_null(f);
    const size_t size = fread(bytes, 1, sizeof bytes - 1, f);
    (void)fclose(f);
    bytes[size] = 0;
    for (size_t n = 4; n <= size + 1; n++) {
        if (n == size)
            continue;
        const char *path = oracle_write("cut", bytes, n);
        const char *packed = oracle_gzip(path, 1);
        cr_expect_eq(strads_data_read(path, NULL, &data), STRADS_EFORMAT,
                     "%zu bytes", n);
        expect_says(path);
        cr_expect_eq(strads_data_read(packed, NULL, &data), STRADS_EFORMAT,
                     "%zu bytes, packed", n);
    }
    static const unsigned vast[] = {4000000000U, 60000, 60000};
    cr_expect_eq(strads_data_read(write_idx("vast", 8, 1, vast, 3, bits, 1),
                                  NULL, &data),
                 STRADS_ENOMEM);
    static const unsigned wide[] = {1, 70000, 70000};
    cr_expect_eq(strads_data_read(write_idx("wide", 8, 1, wide, 3, bits, 1),
                                  NULL, &data),
                 STRADS_EFORMAT);
    const strads_data_options o = {.size = sizeof o,
                                   .labels_path = write_idx("three", 8, 1, cube,
                                                            3, bits, 12)};
    cr_expect_eq(strads_data_read(SEED("csr"), &o, &data), STRADS_EFORMAT);
}
