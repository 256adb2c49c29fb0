/* Plain text: words, documents, names that are made or given. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "engine/data/naming.h"
#include "tests/expect.h"

TestSuite(data_text, .init = oracle_enter, .fini = oracle_leave);

static strads_data *read_text(const char *path, strads_data_options o)
{
    strads_data *data = NULL;
    o.size = sizeof o;
    o.kind = STRADS_KIND_TEXT;
    o.layout = STRADS_LAYOUT_BOTH;
    expect_ok(strads_data_read(path, &o, &data));
    return data;
}

/* The count of the word in the document; 0 if it is not a name. */
static double count(const strads_data *data, uint64_t document,
                    const char *word)
{
    uint32_t number;
    if (!strads_names_find(strads_data_col_names(data), word, strlen(word),
                           &number))
        return 0;
    for (uint32_t p = 0; strads_data_share(data, p) != NULL; p++) {
        const strads_share *s = strads_data_share(data, p);
        if (document < s->rows.begin || document >= s->rows.end)
            continue;
        uint64_t k = document - s->rows.begin;
        for (uint64_t i = s->by_row.start[k]; i < s->by_row.start[k + 1]; i++)
            if (s->by_row.index[i] == number)
                return s->by_row.f64[i];
    }
    return 0;
}

static const char sample[] = "\xef\xbb\xbfThe cat, the CAT and the dog.\n"
                             "\n"
                             "A dog's life: 42 na\xc3\xafve dogs!\r\n"
                             "cat";

Test(data_text, is_cut_into_words_and_a_line_is_a_document)
{
    const char *path = oracle_text("sample.txt", sample);
    const char *paths[] = {path, oracle_gzip(path, 1)};
    for (size_t k = 0; k < 2; k++) {
        strads_data *data = read_text(paths[k], (strads_data_options){0});
        cr_assert_eq(strads_data_rows(data), 4);
        cr_assert_eq(strads_data_cols(data), 8);
        cr_assert_str_eq(strads_names_at(strads_data_col_names(data), 0),
                         "the");
        cr_assert_eq(count(data, 0, "the"), 3);
        cr_assert_eq(count(data, 0, "cat"), 2);
        cr_assert_eq(count(data, 2, "dog"), 1);
        cr_assert_eq(count(data, 2, "42"), 1);
        cr_assert_eq(count(data, 2, "na\xc3\xafve"), 1);
        cr_assert_eq(count(data, 2, "a"), 0, "a single letter is no word");
        cr_assert_eq(count(data, 3, "cat"), 1);
        cr_assert_eq(strads_data_share(data, 0)->by_row.start[2],
                     strads_data_share(data, 0)->by_row.start[1]);
        cr_assert_eq(strads_data_repeated(data), 3);
        strads_data_free(data);
    }
}

/* Expects these words of `text`, in order of occurrence, separated by
 * blanks. */
static void check_words(const char *bytes, size_t size, const char *expected)
{
    char found[600] = "";
    const char *path = oracle_write("w.txt", bytes, size);
    const char *paths[] = {path, oracle_gzip(path, 1)};
    for (size_t k = 0; k < 2; k++) {
        strads_data *data = read_text(paths[k], (strads_data_options){0});
        const strads_names *names = strads_data_col_names(data);
        found[0] = '\0';
        for (uint32_t w = 0; w < strads_names_count(names); w++) {
            (void)strcat(found, w ? " " : "");
            (void)strcat(found, strads_names_at(names, w));
        }
        cr_expect_str_eq(found, expected);
        strads_data_free(data);
    }
}

Test(data_text, words_are_of_any_script)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        /* case: Latin, Cyrillic, Greek with both small sigmas, Armenian,
         * titlecase and full width */
        {"\u00dcber \u00fcber \u00dcBER \u1e9eein \u00dfein",
         "\u00fcber \u00dfein"},
        {"\u041f\u0420\u0418\u0412\u0415\u0422 "
         "\u041f\u0440\u0438\u0432\u0435\u0442",
         "\u043f\u0440\u0438\u0432\u0435\u0442"},
        {"\u039b\u039f\u0393\u039f\u03a3 \u03bb\u03bf\u03b3\u03bf\u03c2 "
         "\u03a3\u0391\u03a3\u0391 \u03c3\u03b1\u03c3\u03b1",
         "\u03bb\u03bf\u03b3\u03bf\u03c2 \u03c3\u03b1\u03c3\u03b1"},
        {"\u0531\u0532 \u0561\u0562", "\u0561\u0562"},
        {"\u01c5a \u01c6a", "\u01c6a"},
        {"\uff21\uff22 \uff41\uff42", "\uff41\uff42"},
        /* composed and decomposed characters, also Hangul; a mark alone is
         * not a word */
        {"caf\u00e9 cafe\u0301 CAFE\u0301", "caf\u00e9"},
        {"\uac00\ub098 \u1100\u1161\u1102\u1161", "\uac00\ub098"},
        {"\u0301\u0301 ab", "ab"},
        {"\u0939\u093f\u0928\u094d\u0926\u0940 \u0e20\u0e32\u0e29\u0e32",
         "\u0939\u093f\u0928\u094d\u0926\u0940 \u0e20\u0e32\u0e29\u0e32"},
        /* digits, an ideograph; a single letter is not a word */
        {"\u0664\u0665 \u732b \u044f x \u732b\u72d7",
         "\u0664\u0665 \u732b \u732b\u72d7"},
        /* separators */
        {"\u201cquoted\u201d a\u2014b words\u2014dash wait\u2026 "
         "\u00abin\u00bb "
         "\u2022 bullet\u00a0no\u3000wide\u3001\u5927\u3002\u00bfque?",
         "quoted words dash wait in bullet no wide \u5927 que"},
        /* contractions, abbreviations and names of languages are whole */
        {"don't don\u2019t DON\u2019T dont' 'tis it's we've they'll rock'n I'd",
         "don't dont tis it we've they'll rock i'd"},
        {"the U.S. and U.S.A., e.g. C++, c# and F#m a.bc End.X x.",
         "the u.s. and u.s.a. e.g. c++ c# bc end"},
        {"\U0001f600\U0001f600 ok\u2764\ufe0f 10\u20ac x\u00b2y "
         "zero\u200bwidth",
         "ok 10 zero width"},
        /* characters that are dropped within a word */
        {"co\u00adoperate coop\u2060erate \ufeffcooperate", "cooperate"},
        /* Windows-1252, alone and between UTF-8 */
        {"caf\xe9 CAF\xc9 \x93quote\x94 \x8atr \xe2\x82 caf\u00e9",
         "caf\u00e9 quote \u0161tr"},
        {"snake_case _x under ___ _am_ __init__", "snake_case under am init"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        check_words(cases[k].text, strlen(cases[k].text), cases[k].words);
    check_words("ab\0cd", 5, "ab cd");
}

/* Every Unicode character between letters joins or separates them, and all
 * words are valid UTF-8. */
Test(data_text, any_character_between_letters_gives_words_of_utf8)
{
    char *text = malloc(0x110000 * 16);
    size_t size = 0;
    cr_assert_not_null(text);
    for (uint32_t c = 0x80; c < 0x110000; c += c < 0x3000 ? 1 : 37) {
        unsigned char *p = (unsigned char *)text + size;
        size_t n = 0;
        if (c >= 0xd800 && c < 0xe000)
            continue; /* not characters */
        p[n++] = 'a';
        p[n++] = 'b';
        if (c < 0x800) {
            p[n++] = (unsigned char)(0xc0 | c >> 6);
        } else if (c < 0x10000) {
            p[n++] = (unsigned char)(0xe0 | c >> 12);
            p[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        } else {
            p[n++] = (unsigned char)(0xf0 | c >> 18);
            p[n++] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
            p[n++] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
        }
        p[n++] = (unsigned char)(0x80 | (c & 0x3f));
        p[n++] = 'c';
        p[n++] = 'd';
        p[n++] = ' ';
        size += n;
    }
    const char *path = oracle_write("all.txt", text, size);
    strads_data *data = read_text(path, (strads_data_options){0});
    strads_data *packed =
        read_text(oracle_gzip(path, 1), (strads_data_options){0});
    const strads_names *names = strads_data_col_names(data);
    cr_expect_eq(strads_data_checksum(data), strads_data_checksum(packed));
    cr_expect_gt(strads_names_count(names), 5000);
    cr_expect_gt(count(data, 0, "ab"), 1000);
    cr_expect_eq(count(data, 0, "ab"), count(data, 0, "cd"));
    for (uint32_t w = 0; w < strads_names_count(names); w++) {
        const char *name = strads_names_at(names, w);
        for (const char *p = name; *p != '\0';) {
            const size_t n = sti_character((const unsigned char *)p, strlen(p));
            cr_assert_gt(n, 0, "'%s' is not UTF-8", name);
            p += n;
        }
    }
    strads_data_free(data);
    strads_data_free(packed);
    free(text);
}

Test(data_text, leaves_stop_words_and_rare_words_out)
{
    const char *path = oracle_text("sample.txt", sample);
    strads_names *stop = NULL;
    cr_assert_eq(strads_names_read(oracle_text("stop.txt", "the\nand\n"),
                                   &stop),
                 STRADS_OK);
    strads_data *data =
        read_text(path, (strads_data_options){.stop_words = stop, .min_df = 2});
    cr_assert_eq(strads_data_cols(data), 2);
    cr_assert_eq(count(data, 0, "cat"), 2);
    cr_assert_eq(count(data, 0, "the"), 0);
    cr_assert_eq(count(data, 2, "dog"), 1);
    cr_assert_eq(count(data, 2, "life"), 0);
    strads_data_free(data);
    strads_names_free(stop);
}

/* Rules that depend on the number of documents; the same on both sides of each
 * limit. */
Test(data_text, rare_and_frequent_words_are_dropped_by_the_size_of_the_text)
{
    static const uint32_t sizes[] = {999, 1000, 1999, 2000, 5000, 7000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const uint32_t n = sizes[k];
        char *text = calloc(n, 40), *p = text;
        cr_assert_not_null(text);
        for (uint32_t d = 0; d < n; d++) {
            const char *twice = d < 2 ? " twice" : "";
            const char *six = d < 6 ? " sixfold" : "";
            p += sprintf(p, "plentiful %u%s%s\n", d, twice, six);
        }
        strads_data *data =
            read_text(oracle_text("sizes.txt", text),
                      (strads_data_options){.trim_words = true,
                                            .stop_language = "auto"});
        const strads_word_rules rules = strads_data_word_rules(data);
        const uint32_t least = n / 1000 < 5 ? n / 1000 : 5;
        cr_assert_eq(rules.min_df, least);
        cr_assert_eq(rules.max_df, n < 1000 ? 0 : .5);
        cr_assert_null(rules.stop_language);
        cr_assert_eq(count(data, 0, "plentiful"), n < 1000);
        cr_assert_eq(count(data, 0, "sixfold"), 1);
        cr_assert_eq(count(data, 0, "twice"), least <= 2);
        cr_assert_eq(count(data, 7, "7"), 0);
        strads_data_free(data);
        free(text);
    }
}

Test(data_text, with_a_given_vocabulary_leaves_other_words_out)
{
    strads_names *words = NULL;
    cr_assert_eq(strads_names_read(oracle_text("words.txt", "dog\nbird\ncat\n"),
                                   &words),
                 STRADS_OK);
    strads_data *data = read_text(oracle_text("sample.txt", sample),
                                  (strads_data_options){.col_names = words});
    cr_assert_eq(strads_data_cols(data), 3);
    cr_assert_eq(strads_data_col_names(data), words);
    cr_assert_eq(count(data, 0, "dog"), 1);
    cr_assert_eq(count(data, 0, "cat"), 2);
    cr_assert_eq(count(data, 0, "bird"), 0);
    cr_assert_eq(strads_data_unknown(data), 8);
    strads_data_free(data);
    strads_names_free(words);
}

/* Documents of known words, one of them repeated: the same result for any
 * number of threads and partitions. */
Test(data_text, is_the_same_for_any_number_of_threads_and_partitions)
{
    enum { DOCUMENTS = 3000, WORDS = 50 };
    static double counts[DOCUMENTS][WORDS];
    const char *path = oracle_path("large.txt");
    FILE *file = fopen(path, "w");
    uint64_t state = 99;
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        for (uint32_t k = 0; k < d % 40; k++) {
            state = state * UINT64_C(6364136223846793005) + 1;
            uint32_t w = (uint32_t)(state >> 40) % WORDS;
            counts[d][w]++;
            (void)fprintf(file, "Word%u%s", w, k % 3 ? " " : ", ");
        }
        (void)fputc('\n', file);
    }
    (void)fclose(file);
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        strads_data *data =
            read_text(path, (strads_data_options){.threads = threads,
                                                  .partitions = threads});
        cr_assert_eq(strads_data_rows(data), DOCUMENTS);
        for (uint32_t d = 0; d < DOCUMENTS; d += 7) {
            for (uint32_t w = 0; w < WORDS; w++) {
                char word[16];
                (void)snprintf(word, sizeof word, "word%u", w);
                cr_assert_eq(count(data, d, word), counts[d][w]);
            }
        }
        strads_data_free(data);
    }
}

Test(data_text, names_of_a_corpus_are_as_many_as_its_words)
{
    strads_names *words = NULL;
    cr_assert_eq(strads_names_read(oracle_text("w.txt", "a\nb\nc\n"), &words),
                 STRADS_OK);
    strads_data_options o = {.size = sizeof o,
                             .kind = STRADS_KIND_CORPUS,
                             .col_names = words};
    strads_data *data = NULL;
    expect_ok(strads_data_read(oracle_text("bag.txt", "1\n3\n1\n1 2 1\n"), &o,
                               &data));
    cr_assert_eq(strads_data_col_names(data), words);
    strads_data_free(data);
    static const char *const bad[] = {"1\n4\n1\n1 2 1\n", "1\n2\n1\n1 2 1\n",
                                      "1 3:1\n"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        expect_error(strads_data_read(oracle_text("bag.txt", bad[k]), &o,
                                      &data),
                     STRADS_EFORMAT, "words, expected 3, as many as have");
    }
    strads_names_free(words);
}

/* ---- counts or text ---------------------------------------------------- */

static void check_kind(const char *text, strads_kind want)
{
    strads_kind found = STRADS_KIND_RATINGS;
    const char *path = oracle_text("documents", text);
    const char *paths[] = {path, oracle_gzip(path, 1), oracle_zstd(path, 1)};
    for (size_t k = 0; k < 3; k++) {
        expect_ok(strads_data_find_kind(paths[k], &found));
        cr_assert_eq(found, want, "\"%s\" is of kind %d", text, (int)found);
    }
}

Test(data_text, and_counts_are_distinguished_by_the_first_line)
{
    check_kind("2\n3\n1\n1 1 1\n", STRADS_KIND_CORPUS);
    check_kind("-2\n3\n1\n1 1 1\n", STRADS_KIND_CORPUS);
    check_kind("\n 2 0:1 4:2\n1 1:1\n", STRADS_KIND_CORPUS);
    check_kind("2 x:1 4:2\n", STRADS_KIND_CORPUS);
    check_kind("0\n1 1:1", STRADS_KIND_CORPUS);
    check_kind("%%MatrixMarket matrix coordinate integer general\n1 1 1\n"
               "1 1 1\n",
               STRADS_KIND_CORPUS);
    check_kind("four score and seven\n", STRADS_KIND_TEXT);
    check_kind("7 years ago\n", STRADS_KIND_TEXT);
    check_kind("1984\nbook by orwell\n", STRADS_KIND_TEXT);
    check_kind("1\n2\n3\nfour words of text\n", STRADS_KIND_TEXT);
    check_kind("1984\r\n\r\nbook\r\n", STRADS_KIND_TEXT);
    check_kind("2024 12:30 a meeting\n", STRADS_KIND_TEXT);
    check_kind("1984\n", STRADS_KIND_CORPUS);
    check_kind("1\r3\r1\r1 2 1\r", STRADS_KIND_CORPUS);
    check_kind("0\n0\n0\n2 0:1 1:1\n", STRADS_KIND_CORPUS);
    check_kind("  %%MatrixMarket matrix array real general\n1 1\n1\n",
               STRADS_KIND_CORPUS);
    check_kind("1st of May: 2\n", STRADS_KIND_TEXT);
    check_kind("no", STRADS_KIND_TEXT);
}

Test(data_text, of_documents_is_read_in_its_own_format)
{
    strads_data_options o = {.size = sizeof o, .kind = STRADS_KIND_DOCUMENTS};
    strads_data *data = NULL;
    cr_assert_eq(strads_data_read(oracle_text("a", "2 0:1 4:2\n1 1:1\n"), &o,
                                  &data),
                 STRADS_OK);
    cr_assert_eq(strads_data_cols(data), 5);
    cr_assert_null(strads_data_col_names(data));
    strads_data_free(data);
    cr_assert_eq(strads_data_read(oracle_text("b", sample), &o, &data),
                 STRADS_OK);
    cr_assert_str_eq(strads_names_at(strads_data_col_names(data), 1), "cat");
    strads_data_free(data);
    o.min_df = 2;
    expect_error(strads_data_read(oracle_path("a"), &o, &data), STRADS_EINVAL,
                 "is not plain text");
}
