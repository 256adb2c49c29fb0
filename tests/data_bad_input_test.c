/* An error in a file is reported in one message, with the file, the line,
 * the text found there and the expected text. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_bad_input, .init = oracle_enter, .fini = oracle_leave);

static const strads_data_options plain;

/* Expects that the file is refused with this error and a message with these
 * parts. */
#define REFUSE(path, err, ...) \
    oracle_refuse(path, plain, \
                  &(const oracle_wrong)WRONG_BY(err, NULL, __VA_ARGS__), true)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

Test(data_bad_input, files_that_cannot_be_read)
{
    REFUSE("/nowhere/at/all.svm", STRADS_EIO, "No such file");
    REFUSE("/tmp", STRADS_EIO, "is a directory", "expected a file");
    REFUSE(oracle_text("empty.svm", ""), STRADS_EFORMAT, "is empty",
           "expected");
    REFUSE(oracle_gzip(oracle_text("empty.svm", ""), 1), STRADS_EFORMAT,
           "is empty", "expected");
    strads_data *data = NULL;
    cr_assert_eq(strads_data_read(NULL, NULL, &data), STRADS_EINVAL);
}

Test(data_bad_input, binary_junk)
{
    unsigned char junk[5000];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (unsigned char)(i * 151 + i / 7 + 127);
    REFUSE(oracle_write("junk.bin", junk, sizeof junk), STRADS_EFORMAT,
           "line 1", "found '\\x7f", "expected a label");
    REFUSE(oracle_write("zeros.svm", "1 1:1\n1 1:\0\0\0 2:1\n", 18),
           STRADS_EFORMAT, "line 2", "found '\\x00'", "expected");
}

/* Every reader recognises files of other programs and names their format. */
Test(data_bad_input, files_of_other_programs)
{
    static const struct {
        const char *bytes;
        size_t size;
        oracle_wrong wrong;
    } other[] = {
        {"PAR1\0\0\0\0", 8, WRONG(NULL, "a Parquet file", "as CSV or LIBSVM")},
        {"ARROW1\0\0", 8, WRONG(NULL, "an Arrow file", "as CSV or LIBSVM")},
        {"\x89HDF\r\n\x1a\n", 8,
         WRONG(NULL, "an HDF5 file", "as CSV or LIBSVM")},
        {"BZh91AY&SY\1\2", 12,
         WRONG(NULL, "packed with bzip2", "unpack it first")},
        {"\xfd"
         "7zXZ\0",
         6, WRONG(NULL, "packed with xz", "unpack it first")},
        {"1\0 \0", 4, WRONG(NULL, "text in UTF-16", "UTF-8")},
        {"\0001\0 ", 4, WRONG(NULL, "text in UTF-16", "UTF-8")},
        {"%PDF-1.7\n", 9, WRONG(NULL, "a PDF document", "as text")},
        {"version https://git-lfs.github.com/spec/v1\n", 43,
         WRONG(NULL, "Git LFS", "git lfs pull")},
        {"\xff\xfe"
         "1\0",
         4, WRONG(NULL, "text in UTF-16", "UTF-8")},
    };
    for (size_t k = 0; k < COUNT(other); k++) {
        const char *path =
            oracle_write("other.bin", other[k].bytes, other[k].size);
        oracle_refuse(path, plain, &other[k].wrong, true);
        oracle_refuse(oracle_gzip(path, 1), plain, &other[k].wrong, true);
        for (strads_kind kind = STRADS_KIND_CORPUS;
             kind <= STRADS_KIND_DOCUMENTS; kind++)
            oracle_refuse(path, (strads_data_options){.kind = kind},
                          &other[k].wrong, false);
    }
}

Test(data_bad_input, indices)
{
    static const oracle_wrong wrong[] = {
        WRONG("1 1:1\n2 0:1\n", "line 2", "'0:1'", "an index from 1 to",
              "this file from 0"),
        WRONG("1 1:1\n\n2 -3:1\n", "line 3", "'-3:1'", "an index from 1"),
        WRONG("1 1:1 5:1 4:2\n", "line 1", "'4:2'", "an index above 5"),
        WRONG("1 1:1\n1 5:1 5:2\n", "line 2", "'5:2'", "an index above 5"),
        WRONG_BY(STRADS_ELIMIT, "1 9223372036854775808:1\n", "line 1",
                 "'9223372036854775808:1'", "from 1 to 4294967294"),
        WRONG_BY(STRADS_ELIMIT, "1 99999999999999999999999999:1\n", "line 1",
                 "from 1 to 4294967294"),
        WRONG_BY(STRADS_ELIMIT, "1 4294967295:1\n", "'4294967295:1'",
                 "from 1 to 4294967294"),
        WRONG("1 1\n", "line 1", "'1'", "index:value"),
        WRONG("1 1:1 abc\n", "'abc'", "index:value"),
        WRONG("1 1.5:1\n", "'1.5:1'", "index:value"),
        WRONG("1 1:1 qid:3\n", "'qid:3'", "index:value"),
        WRONG("1 qid:0:520 1:1\n", "'qid:0:520'", "a whole number N"),
        WRONG("1 qid:x 1:1\n", "'qid:x'", "a whole number N"),
        WRONG("1 qid:1.5 1:1\n", "'qid:1.5'", "a whole number N"),
        WRONG("<html><body>404</body></html>\n", "is a web page"),
        WRONG("\xef\xbb\xbf \n<!DOCTYPE HTML>\n<p>\n", "is a web page"),
        WRONG("<?xml version=\"1.0\"?>\n", "is a web page or XML"),
        WRONG("1 :1\n", "':1'", "index:value")};
    oracle_refuse_all("index.svm", plain, wrong, COUNT(wrong), true);
}

Test(data_bad_input, values)
{
    static const oracle_wrong wrong[] = {
        WRONG("1 1:NaN\n", "line 1", "'NaN'", "finite"),
        WRONG("1 1:1\n1 1:-inf\n", "line 2", "'-inf'", "finite"),
        WRONG("1 1:Infinity 2:1\n", "'Infinity'", "finite"),
        WRONG("1 1:1e400\n", "'1e400'", "below 1.8e308"),
        WRONG("1 1:\n", "end of the line", "a value"),
        WRONG("1 1:", "end of the file", "a value"),
        WRONG("1 1: 2:3\n", "found a blank", "a value"),
        WRONG("1 1:x\n", "'x'", "a value"),
        WRONG("1 1:2x\n", "'2x'", "a value"),
        WRONG("1 1:0x10\n", "'0x10'", "a value"),
        WRONG("1 1:1e\n", "'1e'", "a value"),
        WRONG("1 1:1,5\n", "'1,5'", "a value"),
        WRONG("1 1:--1\n", "'--1'", "a value")};
    oracle_refuse_all("value.svm", plain, wrong, COUNT(wrong), true);
}

Test(data_bad_input, labels)
{
    static const oracle_wrong wrong[] = {
        WRONG("1 1:1\n1:1 2:1\n", "line 2", "'1:1'", "a label",
              "before the first"),
        WRONG("spam 1:1\n", "'spam'", "a label (a number)"),
        WRONG("1,2 1:1\n", "'1,2'", "a label"),
        WRONG("nan 1:1\n", "'nan'", "a label", "finite"),
        WRONG("1e999 1:1\n", "'1e999'", "a label"),
        WRONG("# only\n\n   \n", "no rows", "expected")};
    oracle_refuse_all("label.svm", plain, wrong, COUNT(wrong), true);
}

Test(data_bad_input, the_first_thing_wrong_is_the_one_that_is_named)
{
    static const oracle_wrong wrong[] = {WRONG("1 1:1\n1 1:x\n1 0:1\nspam\n",
                                               "line 2", "'x'"),
                                         WRONG("1 1:1\n1 0:1\n1 1:x\n",
                                               "line 2", "'0:1'")};
    oracle_refuse_all("first.svm", plain, wrong, COUNT(wrong), true);
}

Test(data_bad_input, the_line_is_right_in_a_large_file)
{
    size_t capacity = 1 << 20;
    char *text = malloc(capacity);
    size_t used = 0;
    for (int i = 1; i <= 20000; i++)
        used += (size_t)sprintf(text + used, "%d 1:1 20:2.5%s\n", i % 3,
                                i == 14321 ? " 21:oops" : " 21:3");
    const char *path = oracle_write("large.svm", text, used);
    REFUSE(path, STRADS_EFORMAT, "line 14321:", "'oops'");
    REFUSE(oracle_gzip(path, 2), STRADS_EFORMAT, "line 14321:", "'oops'");
    REFUSE(oracle_zstd(path, 2), STRADS_EFORMAT, "line 14321:", "'oops'");
    free(text);
}

Test(data_bad_input, compressed_files_that_are_cut_short_or_damaged)
{
    char text[40000];
    size_t used = 0;
    for (unsigned i = 0; used < sizeof text - 64; i++)
        used += (size_t)sprintf(text + used, "%u %u:0.%u\n", i % 2, i % 97 + 1,
                                i * 2654435761u);
    const char *path = oracle_write("t.svm", text, used);
    for (int codec = 0; codec < 2; codec++) {
        const char *packed =
            codec == 0 ? oracle_gzip(path, 1) : oracle_zstd(path, 1);
        struct stat whole;
        cr_assert_eq(stat(packed, &whole), 0);
        /* A damaged zstd frame without a checksum may decompress to other
         * text. */
        FILE *file = fopen(packed, "r+b");
        (void)fseek(file, whole.st_size / 2, SEEK_SET);
        (void)fwrite("\xff\x00\xff\x00\xff\x00\xff\x00", 1, 8, file);
        (void)fclose(file);
        REFUSE(packed, STRADS_EFORMAT, codec == 0 ? "damaged" : "t.svm.zst");
        packed = codec == 0 ? oracle_gzip(path, 1) : oracle_zstd(path, 1);
        cr_assert_eq(truncate(packed, whole.st_size * 2 / 3), 0);
        REFUSE(packed, STRADS_EFORMAT, codec == 0 ? "gzip" : "zstd",
               "cut short", "copy it again");
        cr_assert_eq(truncate(packed, 5), 0);
        REFUSE(packed, STRADS_EFORMAT, codec == 0 ? "gzip" : "zstd",
               "cut short", "copy it again");
    }
}

Test(data_bad_input, bytes_after_a_gzip_member_are_refused_unless_zeros)
{
    const char *path = oracle_gzip(oracle_text("t.svm", "1 1:1\n"), 1);
    FILE *file = fopen(path, "ab");
    (void)fwrite("\0\0\0\0", 1, 4, file);
    (void)fclose(file);
    strads_data *data = NULL;
    cr_assert_eq(strads_data_read(path, NULL, &data), STRADS_OK);
    strads_data_free(data);
    file = fopen(path, "ab");
    (void)fwrite("more", 1, 4, file);
    (void)fclose(file);
    REFUSE(path, STRADS_EFORMAT, "foreign bytes");
}

/* Writes a sparse file of 12 MB without a newline: it is longer than each of
 * the readers' buffers. */
static const char *write_huge(const char *head, char fill)
{
    size_t size = 12u << 20;
    char *text = malloc(size);
    memset(text, fill, size);
    memcpy(text, head, strlen(head));
    const char *path = oracle_write("huge.svm", text, size);
    free(text);
    return path;
}

Test(data_bad_input, a_line_longer_than_every_buffer_is_quoted_shortly)
{
    const char *path = write_huge("1 1:1 ", 'x');
    REFUSE(path, STRADS_EFORMAT, "line 1", "'xxxxxxxxxx", "xxx...'",
           "index:value");
    path = write_huge("1 1:", '7');
    REFUSE(path, STRADS_EFORMAT, "line 1", "77...'", "1000 characters");
    REFUSE(oracle_gzip(path, 1), STRADS_EFORMAT, "line 1", "77...'",
           "1000 characters");
    path = write_huge("", '7');
    REFUSE(path, STRADS_EFORMAT, "line 1", "77...'", "a label");
    path = write_huge("1 1:1 2", '0');
    REFUSE(path, STRADS_EFORMAT, "line 1", "00...'", "index");
}

Test(data_bad_input, a_comment_longer_than_every_buffer_is_a_comment)
{
    const char *path = write_huge("1 1:1 #", '#');
    const char *paths[] = {path, oracle_gzip(path, 1)};
    for (int i = 0; i < 2; i++) {
        strads_data *data = NULL;
        expect_ok(strads_data_read(paths[i], NULL, &data));
        cr_assert(strads_data_rows(data) == 1 && strads_data_nnz(data) == 1);
        strads_data_free(data);
    }
}

Test(data_bad_input, values_too_large_for_32_bits)
{
    const char *path = oracle_text("t.svm", "1 1:1\n1 2:1e39\n");
    strads_data_options o = {.size = sizeof o, .values = STRADS_F32};
    strads_data *data = NULL;
    expect_error(strads_data_read(path, &o, &data), STRADS_ELIMIT,
                 "line 2: found '1e39'");
}

#define BANNER "%%MatrixMarket matrix coordinate real general\n"

Test(data_bad_input, matrixmarket_headers)
{
    static const oracle_wrong wrong[] = {
        WRONG("%%MatrixMarket tensor coordinate real general\n1 1 0\n",
              "line 1", "'tensor'", "'matrix'"),
        WRONG("%%MatrixMarket matrix sparse real general\n1 1 0\n", "'sparse'",
              "'coordinate' or 'array'"),
        WRONG("%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
              "'complex'", "'real'"),
        WRONG("%%MatrixMarket matrix coordinate real hermit\n1 1 0\n",
              "'hermit'", "'general'"),
        WRONG("%%MatrixMarket matrix coordinate real\n1 1 0\n", "line 1",
              "end of the line", "'general'"),
        WRONG("%%MatrixMarket matrix array pattern general\n1 1\n", "line 1",
              "'pattern'"),
        WRONG(BANNER, "end of the file", "the number of rows"),
        WRONG(BANNER "% c\n3 x 1\n", "line 3", "'x'", "the number of columns"),
        WRONG(BANNER "3 3\n1 1 1\n", "line 2", "end of the line",
              "the number of entries"),
        WRONG(BANNER "-3 3 1\n", "'-3'", "the number of rows"),
        WRONG(BANNER "3 3 1 4\n", "'4'", "the end of the line"),
        WRONG_BY(STRADS_ELIMIT, BANNER "5000000000 3 1\n", "'5000000000'",
                 "4294967294"),
        WRONG(BANNER "0 3 0\n", "no rows"),
        WRONG("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
              "line 2", "as many columns as rows")};
    oracle_refuse_all("header.mtx", plain, wrong, COUNT(wrong), true);
}

Test(data_bad_input, matrixmarket_entries)
{
    static const oracle_wrong wrong[] = {
        WRONG(BANNER "2 3 1\n3 1 1\n", "line 3", "'3'", "a row from 1 to 2"),
        WRONG(BANNER "2 3 1\n1 4 1\n", "line 3", "'4'", "a column from 1 to 3"),
        WRONG(BANNER "2 3 1\n0 1 1\n", "'0'", "a row from 1"),
        WRONG(BANNER "2 3 1\n1 -1 1\n", "'-1'", "a column"),
        WRONG(BANNER "2 3 1\n1 1\n", "line 3", "end of the line", "a value"),
        WRONG(BANNER "2 3 1\n1 1 nan\n", "'nan'", "finite"),
        WRONG(BANNER "2 3 1\n1 1 1 1\n", "line 3", "'1'",
              "the end of the line"),
        WRONG(BANNER "2 3 3\n1 1 1\n2 2 2\n", "found 2 entries", "expected 3",
              "line 2"),
        WRONG(BANNER "2 3 1\n1 1 1\n\n2 2 2\n", "line 5", "'2'",
              "after 1 entries"),
        WRONG(BANNER "2 3 3\n1 1 1\n2 2 2\n1 1 5\n", "line 5",
              "row 1, column 1", "again", "line 3"),
        WRONG("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 "
              "1.5\n",
              "line 3", "'1.5'", "an integer"),
        WRONG("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n",
              "line 3", "on or below the diagonal"),
        WRONG("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 "
              "1 1\n",
              "line 3", "below the diagonal"),
        WRONG("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
              "found 3 entries", "expected 4"),
        WRONG("%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n",
              "line 5", "'3'", "after 2 entries")};
    oracle_refuse_all("entry.mtx", plain, wrong, COUNT(wrong), false);
}

Test(data_bad_input, files_of_labels)
{
    static const oracle_wrong wrong[] = {
        WRONG("1\n", "found 1 labels", "expected 2"),
        WRONG("1\n2\n3\n", "found 3 labels", "expected 2"),
        WRONG("1\nspam\n", "line 2", "'spam'", "a label"),
        WRONG("1 1:1\n2\n", "label 1", "one number a line"),
        WRONG(BANNER "2 2 0\n", "line 1", "expected labels"),
        WRONG("", "is empty")};
    const char *path = oracle_text("t.mtx", BANNER "2 2 1\n1 1 1\n");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const strads_data_options o = {
            .labels_path = oracle_text("labels.txt", wrong[i].text)};
        oracle_refuse(path, o, &wrong[i], true);
    }
    oracle_refuse(
        path, (strads_data_options){.labels_path = "/nowhere/labels.txt"},
        &(const oracle_wrong)WRONG_BY(STRADS_EIO, NULL, "No such file"), true);
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Changes a few bytes, most of them to bytes that the formats use. */
static void mutate(char *text, size_t size, uint64_t *state)
{
    static const char bytes[] = "0123456789:.-+e# \n\t\rqx%\0\xff";
    for (uint64_t n = 1 + draw(state) % 3; n > 0; n--)
        text[draw(state) % size] = bytes[draw(state) % (sizeof bytes - 1)];
}

/* The outcome of a read: the message after the file's name, or the checksum. */
static void outcome_of(const char *path, strads_data_options o, char *out,
                       size_t capacity)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    strads_err err = strads_data_read(path, &o, &data);
    const char *text = strads_error_text();
    if (err == STRADS_OK)
        (void)snprintf(out, capacity, "sum %llx",
                       (unsigned long long)strads_data_checksum(data));
    else
        (void)snprintf(out, capacity, "%s%s", strads_error_name(err),
                       strncmp(text, path, strlen(path)) == 0
                           ? text + strlen(path)
                           : text);
    strads_data_free(data);
}

static void expect_one_outcome(const char *original, const char *name, int runs)
{
    FILE *file = fopen(original, "rb");
    char *text = malloc(1 << 20);
    size_t size = fread(text, 1, 1 << 20, file);
    (void)fclose(file);
    char *broken = malloc(size);
    uint64_t state = 2463534242u;
    for (int i = 0; i < runs; i++) {
        char one[1200];
        char other[1200];
        memcpy(broken, text, size);
        mutate(broken, size, &state);
        const char *path = oracle_write(name, broken, size);
        outcome_of(path, (strads_data_options){.threads = 1}, one, sizeof one);
        outcome_of(path,
                   (strads_data_options){.threads = 4,
                                         .partitions = 3,
                                         .split = (strads_split)(i % 3),
                                         .layout = STRADS_LAYOUT_BOTH},
                   other, sizeof other);
        cr_assert_str_eq(one, other);
        outcome_of(oracle_zstd(path, 1), (strads_data_options){0}, other,
                   sizeof other);
        cr_assert_str_eq(one, other);
    }
    free(text);
    free(broken);
}

Test(data_bad_input, threads_partitions_and_compression_agree_on_broken_files)
{
    oracle m = oracle_random((oracle_shape){
        .rows = 500, .cols = 150, .density = 0.15, .spread = 2, .seed = 77});
    expect_one_outcome(oracle_write_libsvm(&m, "whole.svm"), "broken.svm", 80);
    expect_one_outcome(oracle_write_market(&m, "whole.mtx"), "broken.mtx", 80);
    oracle_free(&m);
}
