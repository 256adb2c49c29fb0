/* What is wrong with a file is said in one sentence: the file, the line, what
 * was found and what was expected. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_bad_input, .init = oracle_enter, .fini = oracle_leave);

/* Every part must occur in the sentence; each ends with NULL. */
typedef struct wrong_text {
    const char *text;
    strads_err err;
    const char *part[4];
} wrong_text;

static void expect_sentence(const char *path, strads_err err,
                            const char *const *part)
{
    const char *text = strads_error_text();
    cr_assert_not_null(strstr(text, path), "%s", text);
    for (size_t k = 0; k < 4 && part[k] != NULL; k++)
        cr_assert_not_null(strstr(text, part[k]), "'%s' in '%s'", part[k],
                           text);
    cr_assert_null(strchr(text, '\n'), "one sentence");
    cr_assert_lt(strlen(text), 600);
    for (const char *p = text; *p != '\0'; p++)
        cr_assert(*p >= ' ' && *p < 127, "printable");
    (void)err;
}

static void expect_refused(const char *path, const char *labels, strads_err err,
                           const char *const *part)
{
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        strads_data_options o = {.size = sizeof o,
                                 .threads = threads,
                                 .partitions = threads,
                                 .labels_path = labels};
        strads_data *data = NULL;
        strads_err got = strads_data_read(path, &o, &data);
        cr_assert_eq(got, err, "%s: %s", strads_error_name(got),
                     strads_error_text());
        cr_assert_null(data);
        expect_sentence(labels != NULL ? labels : path, err, part);
        strads_data_summary summary;
        cr_assert_eq(strads_data_summarize(path, &o, &summary), err);
        expect_sentence(labels != NULL ? labels : path, err, part);
    }
}

static void expect_all(const char *name, const wrong_text *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *path = oracle_text(name, wrong[i].text);
        expect_refused(path, NULL, wrong[i].err, wrong[i].part);
        /* The same from a compressed file. */
        expect_refused(oracle_gzip(path, 1), NULL, wrong[i].err, wrong[i].part);
    }
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

Test(data_bad_input, files_that_cannot_be_read)
{
    const char *const missing[4] = {"No such file"};
    expect_refused("/nowhere/at/all.svm", NULL, STRADS_EIO, missing);
    const char *const directory[4] = {"is a directory", "expected a file"};
    expect_refused("/tmp", NULL, STRADS_EIO, directory);
    const char *const empty[4] = {"is empty", "expected"};
    expect_refused(oracle_text("empty.svm", ""), NULL, STRADS_EFORMAT, empty);
    expect_refused(oracle_gzip(oracle_text("empty.svm", ""), 1), NULL,
                   STRADS_EFORMAT, empty);
    strads_data *data = NULL;
    cr_assert_eq(strads_data_read(NULL, NULL, &data), STRADS_EINVAL);
}

Test(data_bad_input, binary_junk)
{
    unsigned char junk[5000];
    for (size_t i = 0; i < sizeof junk; i++)
        junk[i] = (unsigned char)(i * 151 + i / 7 + 127);
    const char *const part[4] = {"line 1", "found '\\x7f", "expected a label"};
    expect_refused(oracle_write("junk.bin", junk, sizeof junk), NULL,
                   STRADS_EFORMAT, part);
    const char *const zeros[4] = {"line 2", "found '\\x00'", "expected"};
    expect_refused(oracle_write("zeros.svm", "1 1:1\n1 1:\0\0\0 2:1\n", 18),
                   NULL, STRADS_EFORMAT, zeros);
}

/* What other programs write is called by its name, in every reader. */
Test(data_bad_input, files_of_other_programs)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *part[4];
    } other[] = {
        {"PAR1\0\0\0\0", 8, {"a Parquet file", "as CSV or LIBSVM"}},
        {"ARROW1\0\0", 8, {"an Arrow file", "as CSV or LIBSVM"}},
        {"\x89HDF\r\n\x1a\n", 8, {"an HDF5 file", "as CSV or LIBSVM"}},
        {"BZh91AY&SY\1\2", 12, {"packed with bzip2", "unpack it first"}},
        {"\xfd"
         "7zXZ\0",
         6,
         {"packed with xz", "unpack it first"}},
        {"\xff\xfe"
         "1\0",
         4,
         {"text in UTF-16", "UTF-8"}},
    };
    for (size_t k = 0; k < COUNT(other); k++) {
        const char *path =
            oracle_write("other.bin", other[k].bytes, other[k].size);
        expect_refused(path, NULL, STRADS_EFORMAT, other[k].part);
        expect_refused(oracle_gzip(path, 1), NULL, STRADS_EFORMAT,
                       other[k].part);
        for (strads_kind kind = STRADS_KIND_CORPUS;
             kind <= STRADS_KIND_DOCUMENTS; kind++) {
            const strads_data_options o = {.size = sizeof o, .kind = kind};
            strads_data *data = NULL;
            cr_assert_eq(strads_data_read(path, &o, &data), STRADS_EFORMAT);
            expect_sentence(path, STRADS_EFORMAT, other[k].part);
        }
    }
}

Test(data_bad_input, indices)
{
    static const wrong_text wrong[] = {
        {"1 1:1\n2 0:1\n",
         STRADS_EFORMAT,
         {"line 2", "'0:1'", "an index from 1 to", "this file from 0"}},
        {"1 1:1\n\n2 -3:1\n",
         STRADS_EFORMAT,
         {"line 3", "'-3:1'", "an index from 1"}},
        {"1 1:1 5:1 4:2\n",
         STRADS_EFORMAT,
         {"line 1", "'4:2'", "an index above 5"}},
        {"1 1:1\n1 5:1 5:2\n",
         STRADS_EFORMAT,
         {"line 2", "'5:2'", "an index above 5"}},
        {"1 9223372036854775808:1\n",
         STRADS_ELIMIT,
         {"line 1", "'9223372036854775808:1'", "from 1 to 4294967294"}},
        {"1 99999999999999999999999999:1\n",
         STRADS_ELIMIT,
         {"line 1", "from 1 to 4294967294"}},
        {"1 4294967295:1\n",
         STRADS_ELIMIT,
         {"'4294967295:1'", "from 1 to 4294967294"}},
        {"1 1\n", STRADS_EFORMAT, {"line 1", "'1'", "index:value"}},
        {"1 1:1 abc\n", STRADS_EFORMAT, {"'abc'", "index:value"}},
        {"1 1.5:1\n", STRADS_EFORMAT, {"'1.5:1'", "index:value"}},
        {"1 1:1 qid:3\n", STRADS_EFORMAT, {"'qid:3'", "index:value"}},
        {"1 :1\n", STRADS_EFORMAT, {"':1'", "index:value"}}};
    expect_all("index.svm", wrong, COUNT(wrong));
}

Test(data_bad_input, values)
{
    static const wrong_text wrong[] = {
        {"1 1:NaN\n", STRADS_EFORMAT, {"line 1", "'NaN'", "finite"}},
        {"1 1:1\n1 1:-inf\n", STRADS_EFORMAT, {"line 2", "'-inf'", "finite"}},
        {"1 1:Infinity 2:1\n", STRADS_EFORMAT, {"'Infinity'", "finite"}},
        {"1 1:1e400\n", STRADS_EFORMAT, {"'1e400'", "below 1.8e308"}},
        {"1 1:\n", STRADS_EFORMAT, {"end of the line", "a value"}},
        {"1 1:", STRADS_EFORMAT, {"end of the file", "a value"}},
        {"1 1: 2:3\n", STRADS_EFORMAT, {"found a blank", "a value"}},
        {"1 1:x\n", STRADS_EFORMAT, {"'x'", "a value"}},
        {"1 1:2x\n", STRADS_EFORMAT, {"'2x'", "a value"}},
        {"1 1:0x10\n", STRADS_EFORMAT, {"'0x10'", "a value"}},
        {"1 1:1e\n", STRADS_EFORMAT, {"'1e'", "a value"}},
        {"1 1:1,5\n", STRADS_EFORMAT, {"'1,5'", "a value"}},
        {"1 1:--1\n", STRADS_EFORMAT, {"'--1'", "a value"}}};
    expect_all("value.svm", wrong, COUNT(wrong));
}

Test(data_bad_input, labels)
{
    static const wrong_text wrong[] = {
        {"1 1:1\n1:1 2:1\n",
         STRADS_EFORMAT,
         {"line 2", "'1:1'", "a label", "before the first"}},
        {"spam 1:1\n", STRADS_EFORMAT, {"'spam'", "a label (a number)"}},
        {"1,2 1:1\n", STRADS_EFORMAT, {"'1,2'", "a label"}},
        {"nan 1:1\n", STRADS_EFORMAT, {"'nan'", "a label", "finite"}},
        {"1e999 1:1\n", STRADS_EFORMAT, {"'1e999'", "a label"}},
        {"# only\n\n   \n", STRADS_EFORMAT, {"no rows", "expected"}}};
    expect_all("label.svm", wrong, COUNT(wrong));
}

Test(data_bad_input, the_first_thing_wrong_is_the_one_that_is_named)
{
    static const wrong_text wrong[] = {
        {"1 1:1\n1 1:x\n1 0:1\nspam\n", STRADS_EFORMAT, {"line 2", "'x'"}},
        {"1 1:1\n1 0:1\n1 1:x\n", STRADS_EFORMAT, {"line 2", "'0:1'"}}};
    expect_all("first.svm", wrong, COUNT(wrong));
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
    const char *const part[4] = {"line 14321:", "'oops'"};
    expect_refused(path, NULL, STRADS_EFORMAT, part);
    expect_refused(oracle_gzip(path, 2), NULL, STRADS_EFORMAT, part);
    expect_refused(oracle_zstd(path, 2), NULL, STRADS_EFORMAT, part);
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
        /* A zstd frame without a checksum may decompress to other text. */
        const char *const damage[4] = {codec == 0 ? "damaged" : "t.svm.zst"};
        FILE *file = fopen(packed, "r+b");
        (void)fseek(file, whole.st_size / 2, SEEK_SET);
        (void)fwrite("\xff\x00\xff\x00\xff\x00\xff\x00", 1, 8, file);
        (void)fclose(file);
        expect_refused(packed, NULL, STRADS_EFORMAT, damage);
        packed = codec == 0 ? oracle_gzip(path, 1) : oracle_zstd(path, 1);
        const char *const cut[4] = {codec == 0 ? "gzip" : "zstd", "cut short",
                                    "copy it again"};
        cr_assert_eq(truncate(packed, whole.st_size * 2 / 3), 0);
        expect_refused(packed, NULL, STRADS_EFORMAT, cut);
        cr_assert_eq(truncate(packed, 5), 0);
        expect_refused(packed, NULL, STRADS_EFORMAT, cut);
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
    const char *const part[4] = {"foreign bytes"};
    expect_refused(path, NULL, STRADS_EFORMAT, part);
}

/* A file of 100 MB that holds no newline, and takes no room on disk. */
static const char *write_huge(const char *head, char fill)
{
    size_t size = 100u << 20;
    char *text = malloc(size);
    memset(text, fill, size);
    memcpy(text, head, strlen(head));
    const char *path = oracle_write("huge.svm", text, size);
    free(text);
    return path;
}

Test(data_bad_input, a_line_of_100_megabytes_is_quoted_shortly)
{
    const char *path = write_huge("1 1:1 ", 'x');
    const char *const junk[4] = {"line 1", "'xxxxxxxxxx", "xxx...'",
                                 "index:value"};
    expect_refused(path, NULL, STRADS_EFORMAT, junk);
    path = write_huge("1 1:", '7');
    const char *const digits[4] = {"line 1", "77...'", "1000 characters"};
    expect_refused(path, NULL, STRADS_EFORMAT, digits);
    expect_refused(oracle_gzip(path, 1), NULL, STRADS_EFORMAT, digits);
    path = write_huge("", '7');
    const char *const label[4] = {"line 1", "77...'", "a label"};
    expect_refused(path, NULL, STRADS_EFORMAT, label);
    path = write_huge("1 1:1 2", '0');
    const char *const index[4] = {"line 1", "00...'", "index"};
    expect_refused(path, NULL, STRADS_EFORMAT, index);
}

Test(data_bad_input, a_comment_of_100_megabytes_is_a_comment)
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
    static const wrong_text wrong[] = {
        {"%%MatrixMarket tensor coordinate real general\n1 1 0\n",
         STRADS_EFORMAT,
         {"line 1", "'tensor'", "'matrix'"}},
        {"%%MatrixMarket matrix sparse real general\n1 1 0\n",
         STRADS_EFORMAT,
         {"'sparse'", "'coordinate' or 'array'"}},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 0\n",
         STRADS_EFORMAT,
         {"'complex'", "'real'"}},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n",
         STRADS_EFORMAT,
         {"'hermitian'", "'general'"}},
        {"%%MatrixMarket matrix coordinate real\n1 1 0\n",
         STRADS_EFORMAT,
         {"line 1", "end of the line", "'general'"}},
        {"%%MatrixMarket matrix array pattern general\n1 1\n",
         STRADS_EFORMAT,
         {"line 1", "'pattern'"}},
        {BANNER, STRADS_EFORMAT, {"end of the file", "the number of rows"}},
        {BANNER "% c\n3 x 1\n",
         STRADS_EFORMAT,
         {"line 3", "'x'", "the number of columns"}},
        {BANNER "3 3\n1 1 1\n",
         STRADS_EFORMAT,
         {"line 2", "end of the line", "the number of entries"}},
        {BANNER "-3 3 1\n", STRADS_EFORMAT, {"'-3'", "the number of rows"}},
        {BANNER "3 3 1 4\n", STRADS_EFORMAT, {"'4'", "the end of the line"}},
        {BANNER "5000000000 3 1\n",
         STRADS_ELIMIT,
         {"'5000000000'", "4294967294"}},
        {BANNER "0 3 0\n", STRADS_EFORMAT, {"no rows"}},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
         STRADS_EFORMAT,
         {"line 2", "as many columns as rows"}}};
    expect_all("header.mtx", wrong, COUNT(wrong));
}

Test(data_bad_input, matrixmarket_entries)
{
    static const wrong_text wrong[] = {
        {BANNER "2 3 1\n3 1 1\n",
         STRADS_EFORMAT,
         {"line 3", "'3'", "a row from 1 to 2"}},
        {BANNER "2 3 1\n1 4 1\n",
         STRADS_EFORMAT,
         {"line 3", "'4'", "a column from 1 to 3"}},
        {BANNER "2 3 1\n0 1 1\n", STRADS_EFORMAT, {"'0'", "a row from 1"}},
        {BANNER "2 3 1\n1 -1 1\n", STRADS_EFORMAT, {"'-1'", "a column"}},
        {BANNER "2 3 1\n1 1\n",
         STRADS_EFORMAT,
         {"line 3", "end of the line", "a value"}},
        {BANNER "2 3 1\n1 1 nan\n", STRADS_EFORMAT, {"'nan'", "finite"}},
        {BANNER "2 3 1\n1 1 1 1\n",
         STRADS_EFORMAT,
         {"line 3", "'1'", "the end of the line"}},
        {BANNER "2 3 3\n1 1 1\n2 2 2\n",
         STRADS_EFORMAT,
         {"found 2 entries", "expected 3", "line 2"}},
        {BANNER "2 3 1\n1 1 1\n\n2 2 2\n",
         STRADS_EFORMAT,
         {"line 5", "'2'", "after 1 entries"}},
        {BANNER "2 3 3\n1 1 1\n2 2 2\n1 1 5\n",
         STRADS_EFORMAT,
         {"line 5", "row 1, column 1", "again", "line 3"}},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n",
         STRADS_EFORMAT,
         {"line 3", "'1.5'", "an integer"}},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 1\n",
         STRADS_EFORMAT,
         {"line 3", "on or below the diagonal"}},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
         STRADS_EFORMAT,
         {"line 3", "below the diagonal"}},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n",
         STRADS_EFORMAT,
         {"found 3 entries", "expected 4"}},
        {"%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n",
         STRADS_EFORMAT,
         {"line 5", "'3'", "after 2 entries"}}};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const char *path = oracle_text("entry.mtx", wrong[i].text);
        strads_data *data = NULL;
        cr_assert_eq(strads_data_read(path, NULL, &data), wrong[i].err);
        expect_sentence(path, wrong[i].err, wrong[i].part);
        path = oracle_gzip(path, 1);
        cr_assert_eq(strads_data_read(path, NULL, &data), wrong[i].err);
        expect_sentence(path, wrong[i].err, wrong[i].part);
        cr_assert_null(data);
    }
}

Test(data_bad_input, files_of_labels)
{
    static const wrong_text wrong[] = {
        {"1\n", STRADS_EFORMAT, {"found 1 labels", "expected 2"}},
        {"1\n2\n3\n", STRADS_EFORMAT, {"found 3 labels", "expected 2"}},
        {"1\nspam\n", STRADS_EFORMAT, {"line 2", "'spam'", "a label"}},
        {"1 1:1\n2\n", STRADS_EFORMAT, {"label 1", "one number a line"}},
        {BANNER "2 1 0\n", STRADS_EFORMAT, {"line 1", "expected labels"}},
        {"", STRADS_EFORMAT, {"is empty"}}};
    const char *path = oracle_text("t.mtx", BANNER "2 2 1\n1 1 1\n");
    for (size_t i = 0; i < COUNT(wrong); i++)
        expect_refused(path, oracle_text("labels.txt", wrong[i].text),
                       wrong[i].err, wrong[i].part);
    const char *const missing[4] = {"No such file"};
    expect_refused(path, "/nowhere/labels.txt", STRADS_EIO, missing);
}

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Breaks a few bytes, most of them into others that mean something. */
static void mutate(char *text, size_t size, uint64_t *state)
{
    static const char bytes[] = "0123456789:.-+e# \n\t\rqx%\0\xff";
    for (uint64_t n = 1 + draw(state) % 3; n > 0; n--)
        text[draw(state) % size] = bytes[draw(state) % (sizeof bytes - 1)];
}

/* What a reading ends with: the sentence after the file's name, or the sum. */
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
    expect_one_outcome(oracle_write_libsvm(&m, "whole.svm"), "broken.svm", 150);
    expect_one_outcome(oracle_write_market(&m, "whole.mtx"), "broken.mtx", 150);
    oracle_free(&m);
}
