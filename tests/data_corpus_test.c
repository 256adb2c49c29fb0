/* Corpora: compares bags of words and ldac text with the counts that they
 * were written from. Broken files are rejected. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "tests/expect.h"

TestSuite(data_corpus, .init = oracle_enter, .fini = oracle_leave);

static oracle random_counts_of(double spread, unsigned seed)
{
    oracle m = oracle_random((oracle_shape){.rows = 500,
                                            .cols = 200,
                                            .density = 0.1,
                                            .spread = spread,
                                            .seed = seed});
    for (uint64_t i = 0; i < m.nnz; i++)
        m.entry[i].value = i % 97 == 0 ? 16777216 : (double)(1 + i * i % 7);
    return m;
}

static oracle random_counts(unsigned seed)
{
    return random_counts_of(3, seed);
}

/* Writes every other entry, then the others, so that the file is not in
 * order. */
static const char *write_bag_as(const oracle *m, const char *name,
                                unsigned long long words,
                                unsigned long long (*id)(uint32_t word))
{
    const char *path = oracle_path(name);
    FILE *file = fopen(path, "w");
    (void)fprintf(file, "%llu\n%llu \r\n%llu\n", (unsigned long long)m->rows,
                  words, (unsigned long long)m->nnz);
    for (uint64_t half = 0; half < 2; half++)
        for (uint64_t i = half; i < m->nnz; i += 2)
            (void)fprintf(file, "%u %llu %.0f\n", m->entry[i].row + 1,
                          id(m->entry[i].col) + 1, m->entry[i].value);
    (void)fclose(file);
    return path;
}

static unsigned long long same_number(uint32_t word)
{
    return word;
}

static const char *write_bag(const oracle *m, const char *name)
{
    return write_bag_as(m, name, m->cols, same_number);
}

/* Writes the words of each document from the last to the first. */
static const char *write_ldac_as(const oracle *m, const char *name,
                                 unsigned long long (*id)(uint32_t word))
{
    const char *path = oracle_path(name);
    FILE *file = fopen(path, "w");
    uint64_t begin = 0;
    for (uint32_t row = 0; row < m->rows; row++) {
        uint64_t end = begin;
        while (end < m->nnz && m->entry[end].row == row)
            end++;
        (void)fprintf(file, "%llu", (unsigned long long)(end - begin));
        for (uint64_t i = end; i > begin; i--)
            (void)fprintf(file, " %llu:%.0f", id(m->entry[i - 1].col),
                          m->entry[i - 1].value);
        (void)fputs(row % 5 ? "\n" : " \r\n\n", file);
        begin = end;
    }
    (void)fclose(file);
    return path;
}

static const char *write_ldac(const oracle *m, const char *name)
{
    return write_ldac_as(m, name, same_number);
}

static void expect_with(const oracle *m, const char *path, uint64_t min_cols)
{
    static const strads_split splits[] = {STRADS_SPLIT_ROWS, STRADS_SPLIT_COLS,
                                          STRADS_SPLIT_BOTH};
    strads_data_options o = {.kind = STRADS_KIND_CORPUS,
                             .min_cols = min_cols,
                             .layout = STRADS_LAYOUT_BOTH};
    for (uint32_t k = 0; k < 3; k++) {
        o.threads = 1 + k;
        o.partitions = 1 + 2 * k;
        o.split = splits[k];
        oracle_expect(m, path, o, false);
    }
    o.values = STRADS_F32;
    oracle_expect(m, oracle_gzip(path, 2), o, false);
    oracle_expect(m, oracle_zstd(path, 1), o, false);
}

static void expect_everywhere(const oracle *m, const char *path)
{
    expect_with(m, path, m->cols);
}

Test(data_corpus, a_bag_of_words_in_any_order_is_read_as_it_was_written)
{
    for (unsigned seed = 1; seed <= 2; seed++) {
        oracle m = random_counts(seed);
        expect_everywhere(&m, write_bag(&m, "bag.txt"));
        oracle_free(&m);
    }
}

Test(data_corpus, ldac_text_is_read_as_it_was_written)
{
    for (unsigned seed = 3; seed <= 4; seed++) {
        oracle m = random_counts(seed);
        expect_everywhere(&m, write_ldac(&m, "corpus.ldac"));
        oracle_free(&m);
    }
}

static uint64_t checksum_of(const char *path, uint64_t words)
{
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_CORPUS,
                             .min_cols = words};
    strads_data *data = NULL;
    expect_ok(strads_data_read(path, &o, &data));
    uint64_t sum = strads_data_checksum(data);
    strads_data_free(data);
    return sum;
}

Test(data_corpus, formats_of_one_corpus_have_one_checksum)
{
    oracle m = random_counts(5);
    uint64_t bag = checksum_of(write_bag(&m, "bag.txt"), m.cols);
    cr_assert_eq(checksum_of(write_ldac(&m, "c.ldac"), m.cols), bag);
    cr_assert_eq(checksum_of(oracle_write_market(&m, "c.mtx"), m.cols), bag);
    oracle_free(&m);
}

Test(data_corpus, the_sample_agrees_with_its_header)
{
    strads_data_options o = {.size = sizeof o, .kind = STRADS_KIND_CORPUS};
    strads_data_summary s;
    expect_ok(strads_data_summarize(STRADS_SOURCE_DIR
                                    "/data/docword.sotu-tiny.txt",
                                    &o, &s));
    cr_assert_str_eq(s.format, "uci-bow");
    cr_assert_eq(s.rows, 1360);
    cr_assert_eq(s.cols, 2000);
    cr_assert_eq(s.index_base, 1);
    cr_assert_eq(s.distinct_labels, 0);
    cr_assert_geq(s.value_min, 1);
}

Test(data_corpus, ldac_counts_words_from_0_and_keeps_empty_documents)
{
    strads_data_options o = {.size = sizeof o, .kind = STRADS_KIND_CORPUS};
    strads_data_summary s;
    const char *path = oracle_text("small.ldac", "2 4:1 0:3\n0\n\n1 2:9");
    cr_assert_eq(strads_data_summarize(path, &o, &s), STRADS_OK);
    cr_assert_str_eq(s.format, "ldac");
    cr_assert_eq(s.rows, 3);
    cr_assert_eq(s.cols, 5);
    cr_assert_eq(s.nnz, 3);
    cr_assert_eq(s.empty_rows, 1);
    cr_assert_eq(s.index_base, 0);
    cr_assert_eq(s.value_max, 9);
}

/* Ids with wide gaps, of one to ten digits, in ascending order. */
static unsigned long long wide_id(uint32_t word)
{
    return word < 100 ? 7ull * word : 2147483640ull + 3ull * word;
}

Test(data_corpus, words_that_are_ids_with_gaps_become_names_in_their_order)
{
    for (unsigned seed = 6; seed <= 7; seed++) {
        oracle m = random_counts_of(1, seed); /* no word without entries */
        const unsigned long long words = wide_id((uint32_t)m.cols - 1) + 1;
        const char *path[2];
        char bag[4096];
        path[0] = strcpy(bag, write_bag_as(&m, "bag.txt", words, wide_id));
        path[1] = write_ldac_as(&m, "ids.ldac", wide_id);
        for (uint64_t k = 0; k < 2; k++) {
            strads_data_options o = {.size = sizeof o,
                                     .kind = STRADS_KIND_CORPUS,
                                     .threads = 3};
            strads_data *data = NULL;
            expect_with(&m, path[k], 0);
            expect_ok(strads_data_read(path[k], &o, &data));
            const strads_names *names = strads_data_col_names(data);
            cr_assert(strads_data_col_ids(data));
            cr_assert_eq(strads_names_count(names), m.cols);
            cr_assert_lt(strads_data_bytes(data), 1 << 20);
            for (uint32_t w = 0; w < m.cols; w++)
                cr_assert_eq(strtoull(strads_names_at(names, w), NULL, 10),
                             wide_id(w) + 1 - k, "word %u", w);
            strads_data_free(data);
            o.numbered = true;
            expect_error(strads_data_read(path[k], &o, &data), STRADS_ENOMEM,
                         "without gaps");
            o = (strads_data_options){.size = sizeof o,
                                      .kind = STRADS_KIND_CORPUS,
                                      .min_cols = 300};
            expect_error(strads_data_read(path[k], &o, &data), STRADS_ENOMEM,
                         "without gaps");
        }
        oracle_free(&m);
    }
}

/* The first lines have far fewer entries than columns: the whole text decides,
 * by sixteen columns for each entry. */
Test(data_corpus, gaps_are_judged_by_the_whole_text)
{
    enum { COLS = 1100000, MOST = COLS / 16 };
    for (uint64_t n = MOST - 1; n <= MOST; n++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
            strads_data_options o = {.size = sizeof o,
                                     .kind = STRADS_KIND_CORPUS,
                                     .threads = threads};
            strads_data *data = NULL;
            const char *path = oracle_path("long.ldac");
            FILE *file = fopen(path, "w");
            (void)fprintf(file, "1 %u:1\n", COLS - 1);
            for (uint64_t k = 1; k < n; k++)
                (void)fprintf(file, "1 %llu:2\n",
                              (unsigned long long)(k * 16 % COLS));
            (void)fclose(file);
            expect_ok(strads_data_read(path, &o, &data));
            cr_assert_eq(strads_data_nnz(data), n);
            cr_assert_eq(strads_data_col_ids(data), n < MOST);
            cr_assert_eq(strads_data_cols(data), n < MOST ? n : COLS);
            strads_data_free(data);
        }
}

static const oracle_wrong wrong_bags[] = {
    WRONG("2\n3\n1\n0 1 1\n", "line 4", "'0'", "a document from 1 to 2"),
    WRONG("2\n3\n1\n3 1 1\n", "line 4", "'3'", "a document from 1 to 2"),
    WRONG("2\n3\n1\n1 0 1\n", "line 4", "a word from 1 to 3"),
    WRONG("2\n3\n1\n1 4 1\n", "'4'", "a word from 1 to 3"),
    WRONG("2\n3\n1\n1 1 0\n", "line 4", "'0'",
          "a count, a whole number from 1 to 16777216"),
    WRONG("2\n3\n1\n1 1 -2\n", "'-2'", "a count"),
    WRONG("2\n3\n1\n1 1 1099511627776\n", "'1099511627776'"),
    WRONG("2\n3\n1\n1 1 1.5\n", "'1.5'", "a whole number"),
    WRONG("2\n3\n1\n1 1 nan\n", "'nan'", "finite"),
    WRONG("2\n3\n1\n1 1\n", "the end of the line", "a value"),
    WRONG("2\n3\n1\n1 1 1 1\n", "the end of the line after"),
    WRONG("2\n3\n2\n1 1 1\n", "found 1 entries, expected 2 as line 3 says"),
    WRONG("2\n3\n1\n1 1 1\n2 1 1\n", "line 5",
          "the end of the file after 1 entries"),
    WRONG("2\n3\n2\n1 2 1\n1 2 4\n", "line 5", "document 1, word 2 again",
          "line 4"),
    WRONG("0\n3\n0\n", "found no documents"),
    WRONG_BY(STRADS_ELIMIT, "9999999999\n3\n0\n", "line 1",
             "number of documents"),
};

static const oracle_wrong wrong_ldac[] = {
    WRONG("", "is empty"),
    WRONG("\n\n", "found no documents", "`N word:count ...`"),
    WRONG("two 1:1 2:1\n", "line 1", "'two'", "number of pairs"),
    WRONG("1 1:1\n2 1:1\n", "line 2", "2 pairs in this line", "not 1"),
    WRONG("1 1:1 2:1\n", "line 1", "1 pairs", "not 2"),
    WRONG("1 1:0\n", "'1:0'", "whole number from 1 to 16777216"),
    WRONG("1 1:-1\n", "'1:-1'"),
    WRONG("1 1:1099511627776\n", "'1:1099511627776'"),
    WRONG("1 1:1.5\n", "'1:1.5'"),
    WRONG_BY(STRADS_ELIMIT, "1 4294967294:1\n", "a word from 0 to 4294967293"),
    WRONG("1 -1:1\n", "'-1:1'", "word:count"),
    WRONG("1 1\n", "'1'", "word:count"),
    WRONG("1 0:1\n3 7:1 0:2 7:3\n", "line 2", "document 1, word 7 again",
          "line 2 too"),
    WRONG("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n",
          "line 3", "'2.5'", "a count"),
};

Test(data_corpus, errors_in_a_bag_of_words_are_reported_with_their_line)
{
    oracle_refuse_all("wrong.txt",
                      (strads_data_options){.kind = STRADS_KIND_CORPUS},
                      wrong_bags, sizeof wrong_bags / sizeof *wrong_bags,
                      false);
}

Test(data_corpus, errors_in_ldac_text_are_reported_with_their_line)
{
    oracle_refuse_all("wrong.txt",
                      (strads_data_options){.kind = STRADS_KIND_CORPUS},
                      wrong_ldac, sizeof wrong_ldac / sizeof *wrong_ldac,
                      false);
}

Test(data_corpus, labels_and_unknown_kinds_are_refused)
{
    const char *path = oracle_text("c.ldac", "1 0:1\n");
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_CORPUS,
                             .labels_path = path};
    strads_data *data = NULL;
    expect_error(strads_data_read(path, &o, &data), STRADS_EINVAL, "a corpus");
    o.kind = (strads_kind)77;
    expect_error(strads_data_read(path, &o, &data), STRADS_EINVAL,
                 "kind is 77");
}
