/* Labels that are names: all readers of the file order them alike and number
 * them in this order. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_label_names, .init = oracle_enter, .fini = oracle_leave);

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static strads_data *must_read(const char *path, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    o.named_labels = true;
    expect_ok(strads_data_read(path, &o, &data));
    return data;
}

static void expect_names(const strads_data *data, const char *const *name,
                         uint32_t n)
{
    const strads_names *names = strads_data_label_names(data);
    cr_assert_not_null(names);
    cr_assert_eq(strads_names_count(names), n);
    for (uint32_t k = 0; k < n; k++)
        cr_assert_str_eq(strads_names_at(names, k), name[k]);
}

static void expect_labels(const strads_data *data, const double *label,
                          uint64_t rows)
{
    const strads_share *share = strads_data_share(data, 0);
    cr_assert_eq(share->rows.end, rows);
    cr_assert_eq(share->label_names, strads_data_label_names(data));
    for (uint64_t i = 0; i < rows; i++)
        cr_assert_eq(share->label[i], label[i], "row %d", (int)i);
}

Test(data_label_names, names_are_numbered_in_the_order_of_their_bytes)
{
    const char *path = oracle_text(
        "l.svm", "# a comment\n\n+ 1:1\nb 1:2 # no row\n- 2:1\n\xc3\xa9 1:1\n"
                 "info\nB 1:1\n3d 2:7\n0x1 2:2\nb\tqid:3 1:1\n");
    const char *const name[] = {"+", "-", "0x1",  "3d",
                                "B", "b", "info", "\xc3\xa9"};
    const double label[] = {0, 5, 1, 7, 6, 4, 3, 2, 5};
    strads_data *data = must_read(path, (strads_data_options){0});
    expect_names(data, name, COUNT(name));
    expect_labels(data, label, COUNT(label));
    strads_data_free(data);
}

Test(data_label_names, numbers_stay_numbers)
{
    const char *path = oracle_text("n.svm", "3 1:1\n-1e2 1:2\n");
    strads_data *data = must_read(path, (strads_data_options){0});
    cr_assert_null(strads_data_label_names(data));
    expect_labels(data, (double[]){3, -100}, 2);
    strads_data_free(data);
}

/* 40,000 rows in several chunks: some names occur late, in one chunk only. */
static const char *write_many(char *name_of_row)
{
    static char text[40000 * 24 + 1];
    static const char *const name[] = {"ham", "spam", "zebra", "ant"};
    size_t at = 0;
    for (int i = 0; i < 40000; i++) {
        const int k = i == 39998 ? 3 : i == 20000 ? 2 : i * 7 % 11 % 2;
        name_of_row[i] = (char)k;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %d:%d\n",
                               name[k], i % 50 + 1, i % 9 + 1);
    }
    return oracle_write("many.svm", text, at);
}

Test(data_label_names, all_readers_of_a_file_number_alike)
{
    static const double number[] = {1, 2, 3, 0}; /* of ham, spam, ... */
    static char of_row[40000];
    static const char *const name[] = {"ant", "ham", "spam", "zebra"};
    const char *plain = write_many(of_row);
    const char *const path[] = {plain, oracle_gzip(plain, 3),
                                oracle_zstd(plain, 2)};
    uint64_t checksum = 0;
    for (size_t p = 0; p < COUNT(path); p++)
        for (uint32_t part = 0; part < 3; part++) {
            strads_data *data =
                must_read(path[p], (strads_data_options){.partitions = 3,
                                                         .keep_first = part,
                                                         .keep_count = 1,
                                                         .threads = 1 + part});
            const strads_share *share = strads_data_share(data, part);
            expect_names(data, name, COUNT(name));
            for (uint64_t i = share->rows.begin; i < share->rows.end; i++)
                cr_assert_eq(share->label[i - share->rows.begin],
                             number[(int)of_row[i]]);
            checksum = checksum ? checksum : strads_data_checksum(data);
            cr_assert_eq(strads_data_checksum(data), checksum);
            strads_data_free(data);
        }
}

Test(data_label_names, a_checksum_depends_on_the_names_of_labels)
{
    const char *const text[] = {"ham 1:1\nspam 1:2\n", "ham 1:1\nspar 1:2\n",
                                "0 1:1\n1 1:2\n"};
    uint64_t checksum[3];
    for (size_t k = 0; k < 3; k++) {
        const char *path = oracle_text("c.svm", text[k]);
        const strads_data_options o = {.size = sizeof o, .named_labels = true};
        strads_data_summary summary;
        strads_data *data = must_read(path, (strads_data_options){0});
        checksum[k] = strads_data_checksum(data);
        strads_data_free(data);
        cr_assert_eq(strads_data_summarize(path, &o, &summary), STRADS_OK);
        cr_assert_eq(summary.checksum, checksum[k]);
        cr_assert_eq(summary.named_labels, k < 2);
        cr_assert_eq(summary.distinct_labels, 2);
    }
    cr_assert_neq(checksum[0], checksum[1]);
    cr_assert_neq(checksum[0], checksum[2]);
}

Test(data_label_names, a_file_of_labels_has_names_too)
{
    const char *const label[] = {"spam\nham\n\nspam\n", "1\n0\n1\n"};
    const char *matrix =
        oracle_text("m.mtx",
                    "%%MatrixMarket matrix coordinate real general\n3 2 3\n"
                    "1 1 1\n2 2 2\n3 1 3\n");
    for (size_t k = 0; k < 2; k++) {
        const char *path = oracle_text("labels", label[k]);
        const char *const file[] = {path, oracle_gzip(path, 1)};
        for (size_t f = 0; f < 2; f++) {
            strads_data *data =
                must_read(matrix,
                          (strads_data_options){.labels_path = file[f]});
            if (k == 0)
                expect_names(data, (const char *const[]){"ham", "spam"}, 2);
            else
                cr_assert_null(strads_data_label_names(data));
            expect_labels(data, (double[]){1, 0, 1}, 3);
            strads_data_free(data);
        }
    }
    const char *rows = oracle_text("r.svm", "spam 1:1\nham 2:2\nspam 1:3\n");
    strads_data *by_row = must_read(rows, (strads_data_options){0});
    strads_data *by_file =
        must_read(matrix, (strads_data_options){
                              .labels_path = oracle_text("labels", label[0])});
    cr_assert_eq(strads_data_checksum(by_row), strads_data_checksum(by_file));
    strads_data_free(by_row);
    strads_data_free(by_file);
}

Test(data_label_names, given_names_keep_their_numbers_and_others_come_behind)
{
    strads_names *names = NULL;
    uint32_t number;
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "spam", 4, &number), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "ham", 3, &number), STRADS_OK);
    const char *path = oracle_text("g.svm", "ham 1:1\nspam 1:1\neggs 1:1\n");
    strads_data *data =
        must_read(path, (strads_data_options){.label_names = names});
    cr_assert_eq(strads_data_label_names(data), names);
    expect_labels(data, (double[]){1, 0, 2}, 3);
    strads_data_free(data);
    path = oracle_text("g.svm", "1 1:1\n0 1:1\n");
    data = must_read(path, (strads_data_options){.label_names = names});
    cr_assert_null(strads_data_label_names(data));
    strads_data_free(data);
    strads_names_free(names);
}

/* ---- refused names ------------------------------------------------------- */

#define REFUSE(err, text, ...)                                               \
    oracle_refuse_all("w.svm", (strads_data_options){.named_labels = true},  \
                      &(const oracle_wrong)WRONG_BY(err, text, __VA_ARGS__), \
                      1, false)

Test(data_label_names, names_and_numbers_do_not_mix)
{
    REFUSE(STRADS_EFORMAT, "spam 1:1\nham 1:1\n3 1:1\n", "line 3: found '3'",
           "a name without , : = #, as in the");
    REFUSE(STRADS_EFORMAT, "1 1:1\n\nham 1:1\n", "line 3: found 'ham'",
           "a number, as in the first row");
    REFUSE(STRADS_EFORMAT, "spam 1:1\nNaN 1:1\n", "line 2", "a name");
    REFUSE(STRADS_EFORMAT, "spam 1:1\n-inf 1:1\n", "line 2", "a name");
    REFUSE(STRADS_EFORMAT, "spam 1:1\n1e999 1:1\n", "line 2", "a name");
}

Test(data_label_names, invalid_names_are_refused)
{
    static const char *const wrong[] = {"a,b",
                                        "a:1",
                                        "a=1",
                                        "c#",
                                        "\x7f",
                                        "\xff",
                                        "\xc3",
                                        "\xc0\xaf",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "a\xef\xbb\xbfspam"};
    char text[200];
    for (size_t k = 0; k < COUNT(wrong); k++) {
        (void)snprintf(text, sizeof text, "ok 1:1\n%s 1:1\n", wrong[k]);
        REFUSE(STRADS_EFORMAT, text, "line 2", "a name without");
        (void)snprintf(text, sizeof text, "%s 1:1\n", wrong[k]);
        REFUSE(STRADS_EFORMAT, text, "line 1", "a label (a number");
    }
    memset(text, 'x', 100);
    memcpy(text, "ok 1:1\n", 7);
    memcpy(text + 7 + STRADS_LABEL_NAME_MAX + 1, " 1:1\n", 6);
    REFUSE(STRADS_EFORMAT, text, "line 2", "at most 63 bytes");
    memcpy(text + 7 + STRADS_LABEL_NAME_MAX, " 1:1\n", 6);
    strads_data *data =
        must_read(oracle_text("long.svm", text), (strads_data_options){0});
    strads_data_free(data);
    REFUSE(STRADS_EFORMAT, "1:1 2:1\n", "line 1: found '1:1'",
           "a label (a number) before the first");
}

Test(data_label_names, too_many_names_are_refused_with_their_number)
{
    static char text[600000];
    size_t at = 0;
    for (int i = 0; i < 40000; i++)
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "id%d 1:1\n", i / 2);
    REFUSE(STRADS_ELIMIT, text, "line 20001: found 'id10000'",
           "at most 10000 different names");
}

Test(data_label_names, names_are_refused_unless_they_are_asked_for)
{
    const char *path = oracle_text("u.svm", "spam 1:1\n");
    strads_data *data = NULL;
    expect_error(strads_data_read(path, NULL, &data), STRADS_EFORMAT,
                 "line 1: found 'spam', "
                 "expected a label (a "
                 "number)");
}

Test(data_label_names, columns_in_memory_may_have_them)
{
    strads_names *names = NULL;
    uint32_t number;
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "ham", 3, &number), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "spam", 4, &number), STRADS_OK);
    strads_columns columns = {.rows = 3,
                              .cols = 1,
                              .start = (uint64_t[]){0, 1},
                              .index = (uint32_t[]){1},
                              .value = (double[]){2},
                              .label = (double[]){1, 0, 1}};
    const strads_data_options named = {.size = sizeof named,
                                       .named_labels = true,
                                       .label_names = names};
    strads_data *data = NULL;
    cr_assert_eq(strads_data_from_columns(&columns, &named, &data), STRADS_OK);
    cr_assert_eq(strads_data_label_names(data), names);
    expect_labels(data, columns.label, 3);
    strads_data_free(data);
    for (int k = 0; k < 3; k++) {
        columns.label = (double[]){1, (double[]){2, -1, .5}[k], 1};
        expect_error(strads_data_from_columns(&columns, &named, &data),
                     STRADS_EINVAL, "row 1");
    }
    strads_names_free(names);
}
