/* Numpy's files, as numpy and scipy wrote them (fuzz/seeds/npy), against the
 * same samples as LIBSVM text; cut short anywhere; and what they may not be. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"

TestSuite(data_npy, .init = oracle_enter, .fini = oracle_leave);

#define SEED(name) STRADS_SOURCE_DIR "/tests/fuzz/seeds/npy/npy-" name

static const char same[] = "1 1:1 3:2.5\n-1 2:-3\n2\n7 1:4 2:5 3:.25\n";

Test(data_npy, arrays_dense_and_sparse_are_what_libsvm_text_is)
{
    static const char *const files[] = {SEED("c-order"), SEED("fortran"),
                                        SEED("csr"), SEED("csc"),
                                        SEED("savez")};
    strads_data *text = NULL;
    cr_assert_eq(strads_data_read(oracle_text("s.svm", same), NULL, &text),
                 STRADS_OK);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        strads_data *data = NULL;
        strads_data_summary summary;
        const strads_data_options o = {.size = sizeof o,
                                       .partitions = 1 + (uint32_t)k,
                                       .layout = STRADS_LAYOUT_BOTH,
                                       .labels_path = SEED("labels")};
        cr_assert_eq(strads_data_read(files[k], &o, &data), STRADS_OK, "%s",
                     strads_error_text());
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
            cr_expect(strstr(strads_error_text(), path));
        }
    }
}

Test(data_npy, other_arrays_are_refused_with_what_they_are)
{
    static const struct {
        const char *path, *says;
    } cases[] = {
        {SEED("text"), "holds text, expected numbers"},
        {SEED("cube"), "its shape is not one or two dimensions"},
        {SEED("complex"), "elements of another type"},
        {SEED("big-endian"), "little-endian"},
        {SEED("coo"), "expected csr or csc"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        strads_data *data = NULL;
        cr_expect_eq(strads_data_read(cases[k].path, NULL, &data),
                     STRADS_EFORMAT);
        cr_expect(strstr(strads_error_text(), cases[k].says), "%s",
                  strads_error_text());
    }
    strads_data *data = NULL;
    strads_data_options o = {.size = sizeof o, .labels_path = SEED("c-order")};
    cr_expect_eq(strads_data_read(SEED("csr"), &o, &data), STRADS_EFORMAT);
    cr_expect(strstr(strads_error_text(), "expected 4 numbers, a label a row"));
    o.labels_path = NULL;
    o.memory_limit = 64;
    cr_expect_eq(strads_data_read(SEED("csr"), &o, &data), STRADS_ENOMEM);
}
