/* Line ends, comments and compression of other programs: each reader accepts
 * them or names them in its error. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_line_ends, .init = oracle_enter, .fini = oracle_leave);

static uint64_t checksum_of(const char *path, strads_kind kind)
{
    strads_data *data = NULL;
    const strads_data_options o = {.size = sizeof o,
                                   .kind = kind,
                                   .layout = STRADS_LAYOUT_BOTH,
                                   .named_labels = kind == STRADS_KIND_SAMPLES,
                                   .threads = 2};
    expect_ok(strads_data_read(path, &o, &data));
    const uint64_t sum = strads_data_checksum(data);
    strads_data_free(data);
    return sum;
}

/* Writes the text with other line ends to `out`. */
static size_t convert(const char *text, const char *line_end, bool mark,
                      char *out)
{
    size_t n = 0;
    if (mark)
        n = (size_t)sprintf(out, "\xef\xbb\xbf");
    for (; *text; text++)
        if (*text == '\n')
            n += (size_t)sprintf(out + n, "%s", line_end);
        else
            out[n++] = *text;
    return n;
}

static const struct {
    strads_kind kind;
    const char *text;
} formats[] = {
    {STRADS_KIND_SAMPLES, "1 1:1 3:2\n-1 2:1\n# c\n1 qid:4 1:3\n"},
    {STRADS_KIND_SAMPLES, "spam 1:1\nham 2:1\n"},
    {STRADS_KIND_SAMPLES, "%%MatrixMarket matrix coordinate real general\n% c\n"
                          "3 2 2\n1 1 2\n3 2 -1\n"},
    {STRADS_KIND_CORPUS, "2 0:1 3:2\n1 1:1\n"},
    {STRADS_KIND_CORPUS, "2\n3\n2\n1 2 1\n2 3 4\n"},
    {STRADS_KIND_TEXT, "one two\nthree\n\nfour one\n"},
    {STRADS_KIND_DOCUMENTS, "1984\none two\nthree\n"},
    {STRADS_KIND_RATINGS, "1 2 3\n2 1 4.5\n"},
    {STRADS_KIND_RATINGS, "user,item,rating\na,\"b c\",3\nb,d,4\n"},
    {STRADS_KIND_GRAPH, "# links\nsource,target\na,b\nb,c\n"},
};

Test(data_line_ends, of_any_kind_give_the_same_data)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
        uint64_t first = 0;
        for (size_t e = 0; e < 6; e++) {
            char text[400];
            const size_t size =
                convert(formats[k].text, ends[e % 3], e >= 3, text);
            const char *path = oracle_write("t", text, size);
            const char *paths[] = {path, oracle_gzip(path, 1),
                                   oracle_zstd(path, 1)};
            for (size_t j = 0; j < 3; j++) {
                const uint64_t sum = checksum_of(paths[j], formats[k].kind);
                first = first ? first : sum;
                cr_expect_eq(sum, first, "format %zu, line end %zu, file %zu",
                             k, e, j);
            }
        }
    }
}

/* Longer than the window in which line ends are detected, and than a piece. */
Test(data_line_ends, of_a_large_file_are_all_found)
{
    enum { ROWS = 300000 };
    char *text = malloc(ROWS * 16);
    size_t size = 0;
    cr_assert_not_null(text);
    for (int i = 0; i < ROWS; i++)
        size += (size_t)sprintf(text + size, "%d %d:%d\n", i % 3, i % 50 + 1,
                                i % 7 + 1);
    const uint64_t sum =
        checksum_of(oracle_write("lf", text, size), STRADS_KIND_SAMPLES);
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n')
            text[i] = '\r';
    const char *path = oracle_write("cr", text, size);
    cr_expect_eq(checksum_of(path, STRADS_KIND_SAMPLES), sum);
    cr_expect_eq(checksum_of(oracle_gzip(path, 3), STRADS_KIND_SAMPLES), sum);
    strads_data *data = NULL;
    const strads_data_options o = {.size = sizeof o, .memory_limit = 1 << 20};
    expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM,
                 "carriage return");
    free(text);
}

Test(data_line_ends, a_comment_needs_no_blank)
{
    static const char *const texts[] = {"1 1:1 2:3\n2\n3 1:4\n",
                                        "1 1:1 2:3#c 4:5\n2#\n3 1:4#\n",
                                        "1 1:1 2:3 #c\n2 # 7:1\n3 1:4",
                                        "1 qid:3#c\n2\n3 1:4", NULL};
    const uint64_t same =
        checksum_of(oracle_text("t", texts[0]), STRADS_KIND_SAMPLES);
    for (size_t k = 1; k < 3; k++) {
        const char *path = oracle_text("t", texts[k]);
        cr_expect_eq(checksum_of(path, STRADS_KIND_SAMPLES), same, "%s",
                     texts[k]);
        cr_expect_eq(checksum_of(oracle_gzip(path, 1), STRADS_KIND_SAMPLES),
                     same);
    }
    cr_expect_neq(checksum_of(oracle_text("t", texts[3]), STRADS_KIND_SAMPLES),
                  same);
}

Test(data_line_ends, a_matrix_may_begin_with_blanks_and_have_any_field)
{
    static const char *const headers[] = {
        "%%MatrixMarket matrix coordinate integer general\n",
        " %%MatrixMarket matrix coordinate unsigned-integer general\n",
        "\n\t%%matrixmarket MATRIX Coordinate Unsigned-Integer General\n",
        "\xef\xbb\xbf\n%%MatrixMarket matrix coordinate double general\n"};
    uint64_t first = 0;
    for (size_t k = 0; k < sizeof headers / sizeof *headers; k++) {
        char text[200];
        (void)sprintf(text, "%s2 2 2\n1 1 3\n2 1 4\n", headers[k]);
        const uint64_t sum =
            checksum_of(oracle_text("m", text), STRADS_KIND_SAMPLES);
        first = first ? first : sum;
        cr_expect_eq(sum, first, "%s", headers[k]);
    }
    cr_expect_eq(
        checksum_of(oracle_text("m", "%%MatrixMarket matrix coordinate real "
                                     "hermitian\n2 2 2\n1 1 3\n2 1 4\n"),
                    STRADS_KIND_SAMPLES),
        checksum_of(oracle_text("n", "%%MatrixMarket matrix coordinate real "
                                     "symmetric\n2 2 2\n1 1 3\n2 1 4\n"),
                    STRADS_KIND_SAMPLES));
}

/* Expects that each kind of data refuses the file. */
static void refuse_kinds(const char *path, const char *says)
{
    for (strads_kind kind = STRADS_KIND_SAMPLES; kind <= STRADS_KIND_GRAPH;
         kind++) {
        strads_data *data = NULL;
        const strads_data_options o = {.size = sizeof o, .kind = kind};
        expect_error(strads_data_read(path, &o, &data), STRADS_EFORMAT, says);
    }
}

Test(data_line_ends, files_packed_twice_and_archives_are_refused_by_name)
{
    char tar[1024] = "t.svm", once[420];
    (void)memcpy(tar + 257, "ustar", 5);
    const char *plain = oracle_text("t", "1 1:1\n2 2:1\n");
    (void)snprintf(once, sizeof once, "%s", oracle_gzip(plain, 1));
    refuse_kinds(oracle_gzip(once, 1), "packed twice");
    refuse_kinds(oracle_zstd(once, 1), "packed twice");
    refuse_kinds(oracle_gzip(oracle_zstd(plain, 1), 1), "packed twice");
    const char *path = oracle_write("t.tar", tar, sizeof tar);
    refuse_kinds(path, "a tar archive");
    refuse_kinds(oracle_gzip(path, 1), "a tar archive");
    path = oracle_write("t.zip", "PK\x03\x04\x14\0\0\0", 8);
    refuse_kinds(path, "zip archive");
    refuse_kinds(oracle_gzip(path, 1), "a zip archive");
}

Test(data_line_ends, names_and_labels_may_end_with_cr)
{
    strads_names *names = NULL;
    expect_ok(strads_names_read(oracle_text("n", "one\rtwo\rthree\r"), &names));
    cr_expect_eq(strads_names_count(names), 3);
    cr_expect_str_eq(strads_names_at(names, 1), "two");
    strads_names_free(names);
    expect_error(strads_names_read(oracle_text("n", "<html>\n"), &names),
                 STRADS_EFORMAT, "a web page");
    strads_data *data = NULL;
    const strads_data_options o = {.size = sizeof o,
                                   .labels_path =
                                       oracle_text("y", "1\r2\r3\r")};
    expect_ok(strads_data_read(
        oracle_text("x", "%%MatrixMarket matrix coordinate real general\r"
                         "3 1 1\r1 1 1\r"),
        &o, &data));
    cr_expect(strads_data_share(data, 0)->label[2] == 3);
    strads_data_free(data);
}

/* A few bytes that name a large index, claim large sizes or unpack to
 * endless lines are refused before they cost memory. */
Test(data_line_ends, small_files_cost_little)
{
    static const struct {
        strads_kind kind;
        const char *text;
    } cases[] = {
        {STRADS_KIND_SAMPLES, "1 1:1\n2 100000000:1\n"},
        {STRADS_KIND_SAMPLES, "1 4294967294:1\n"},
        {STRADS_KIND_SAMPLES, "%%MatrixMarket matrix coordinate real general\n"
                              "1000000000 5 1\n1 1 1\n"},
        {STRADS_KIND_CORPUS, "1 0:1\n1 90000000:2\n1 5:1\n"},
        {STRADS_KIND_CORPUS, "3\n90000000\n1\n1 1 1\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        /* Numbered: otherwise words with gaps in their numbers get names. */
        const strads_data_options o = {.size = sizeof o,
                                       .kind = cases[k].kind,
                                       .numbered = true,
                                       .memory_limit = UINT64_C(1) << 40};
        const char *path = oracle_text("t", cases[k].text);
        strads_data *data = NULL;
        strads_data_summary summary;
        expect_error(strads_data_read(path, &o, &data), STRADS_ENOMEM,
                     "without gaps");
        expect_error(strads_data_summarize(path, &o, &summary), STRADS_ENOMEM,
                     "without gaps");
        expect_error(strads_data_read(oracle_gzip(path, 1), &o, &data),
                     STRADS_ENOMEM, "without gaps");
    }
}
