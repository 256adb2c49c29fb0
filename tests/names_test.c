/* Names: numbers in the order of addition, any bytes; files of them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data_oracle.h"
#include "strads/names.h"
#include "tests/expect.h"

TestSuite(names, .init = oracle_enter, .fini = oracle_leave);

Test(names, are_numbered_in_the_order_in_which_they_came)
{
    enum { MANY = 20000 };
    strads_names *names = NULL;
    char name[32];
    uint32_t number;
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t k = 0; k < MANY; k++) {
            int size = snprintf(name, sizeof name, "%x", k * 2654435761u);
            cr_assert_eq(strads_names_add(names, name, (size_t)size, &number),
                         STRADS_OK);
            cr_assert_eq(number, k);
            cr_assert_str_eq(strads_names_at(names, k), name);
        }
        cr_assert_eq(strads_names_count(names), MANY);
    }
    cr_assert(strads_names_find(names, "0", 1, &number));
    cr_assert_eq(number, 0);
    cr_assert_not(strads_names_find(names, "nobody", 6, &number));
    strads_names_free(names);
    strads_names_free(NULL);
}

/* All words of two letters with up to MOST of them: most of them differ from
 * others in one byte, in the size, or behind their eighth byte only. */
Test(names, of_every_size_are_told_apart)
{
    enum { MOST = 12 };
    strads_names *names = NULL;
    char name[MOST];
    uint32_t number, n = 0;
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    for (int round = 0; round < 2; round++, n = 0)
        for (uint32_t size = 0; size <= MOST; size++)
            for (uint32_t k = 0; k < 1U << size; k++, n++) {
                for (uint32_t i = 0; i < size; i++)
                    name[i] = (k >> i & 1) != 0 ? '0' : '\0';
                cr_assert_eq(strads_names_find(names, name, size, &number),
                             round == 1);
                cr_assert_eq(strads_names_add(names, name, size, &number),
                             STRADS_OK);
                cr_assert_eq(number, n, "%u bytes, word %u", size, k);
            }
    cr_assert_eq(strads_names_count(names), (1U << (MOST + 1)) - 1);
    strads_names_free(names);
}

Test(names, may_hold_any_bytes_and_be_empty)
{
    strads_names *names = NULL;
    uint32_t number;
    cr_assert_eq(strads_names_new(&names), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "a\0b", 3, &number), STRADS_OK);
    cr_assert_eq(strads_names_add(names, "a", 1, &number), STRADS_OK);
    cr_assert_eq(number, 1);
    cr_assert_eq(strads_names_add(names, "", 0, &number), STRADS_OK);
    cr_assert_eq(number, 2);
    cr_assert(strads_names_find(names, "a\0b", 3, &number));
    cr_assert_eq(number, 0);
    strads_names_free(names);
}

static void expect_names(const char *path)
{
    strads_names *names = NULL;
    expect_ok(strads_names_read(path, &names));
    cr_assert_eq(strads_names_count(names), 3);
    cr_assert_str_eq(strads_names_at(names, 0), "one");
    cr_assert_str_eq(strads_names_at(names, 1), "two words");
    cr_assert_str_eq(strads_names_at(names, 2), "dr\xc3\xa4i");
    strads_names_free(names);
}

Test(names, of_a_file_are_its_lines)
{
    expect_names(
        oracle_text("mark.txt", "\xef\xbb\xbfone\r\ntwo words\ndr\xc3\xa4i"));
    const char *path =
        oracle_text("names.txt", "one\ntwo words\r\ndr\xc3\xa4i\n");
    expect_names(path);
    expect_names(oracle_gzip(path, 2));
    expect_names(oracle_zstd(path, 3));
    expect_names(oracle_text("no-end.txt", "one\ntwo words\ndr\xc3\xa4i"));
}

static void expect_refused(const char *text, const char *part,
                           const char *other)
{
    strads_names *names = NULL;
    cr_assert_eq(strads_names_read(oracle_text("bad.txt", text), &names),
                 STRADS_EFORMAT);
    cr_assert_null(names);
    expect_says(part);
    expect_says(other);
}

Test(names, of_a_file_are_not_empty_and_not_there_twice)
{
    expect_refused("one\n\ntwo\n", "line 2", "an empty line");
    expect_refused("one\ntwo\none\n", "line 3: found 'one' again",
                   "line 1 too");
    strads_names *names = NULL;
    cr_assert_eq(strads_names_read("/nowhere/at/all", &names), STRADS_EIO);
    cr_assert_eq(strads_names_read(NULL, &names), STRADS_EINVAL);
}
