/* Numbers are rounded like strtod rounds them, to the last bit. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/data/parse_number.h"

static uint64_t state = 88172645463325252u;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Both readers agree with strtod on the bits of the value and on its end. */
static void expect_as_strtod(const char *text)
{
    char buffer[STI_NUMBER_LONGEST + 200] = {0};
    strcpy(buffer, text);
    char *want_end;
    double want = strtod(buffer, &want_end);
    for (int way = 0; way < 2; way++) {
        const char *end = NULL;
        double got = 0;
        sti_number_status status =
            way == 0 ? sti_number_read(buffer, &end, &got)
                     : sti_number_read_any(buffer, &end, &got);
        if (isinf(want)) {
            cr_assert_eq(status, STI_NUMBER_HUGE, "%s", text);
            continue;
        }
        cr_assert_eq(status, STI_NUMBER_OK, "%s", text);
        cr_assert_eq(end, want_end, "%s", text);
        cr_assert_eq(memcmp(&got, &want, sizeof got), 0, "%s: %.17g, not %.17g",
                     text, got, want);
    }
}

Test(data_number, any_double_survives_its_17_digits)
{
    char text[64];
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = draw();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        (void)snprintf(text, sizeof text, i % 2 == 0 ? "%.17g" : "%+.16e",
                       value);
        expect_as_strtod(text);
    }
}

Test(data_number, short_decimals_are_rounded_correctly)
{
    char text[64];
    for (int i = 0; i < 300000; i++) {
        (void)snprintf(text, sizeof text, "%s%llu.%0*llu", i % 3 ? "" : "-",
                       (unsigned long long)(draw() >> (24 + draw() % 40)),
                       1 + (int)(draw() % 18),
                       (unsigned long long)(draw() >> (8 + draw() % 56)));
        expect_as_strtod(text);
    }
}

Test(data_number, many_digits_and_exponents_are_rounded_correctly)
{
    char text[128];
    for (int i = 0; i < 300000; i++) {
        (void)snprintf(text, sizeof text, "%llu%llu.%llue%d",
                       (unsigned long long)(draw() >> (draw() % 64)),
                       (unsigned long long)(draw() >> (draw() % 64)),
                       (unsigned long long)draw(), (int)(draw() % 80) - 60);
        expect_as_strtod(text);
        (void)snprintf(text, sizeof text, "%llue%d",
                       (unsigned long long)(draw() >> (draw() % 64)),
                       (int)(draw() % 700) - 350);
        expect_as_strtod(text);
    }
}

Test(data_number, halfway_cases_go_to_the_even_neighbour)
{
    char text[64];
    for (int i = 0; i < 200000; i++) {
        /* Odd integers of 54 bits lie halfway between two doubles. */
        uint64_t odd = (draw() >> 10) | UINT64_C(1) << 53 | 1;
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)odd);
        expect_as_strtod(text);
        (void)snprintf(text, sizeof text, "%llu.%s", (unsigned long long)odd,
                       i % 2 == 0 ? "0000000000000000000001" : "0");
        expect_as_strtod(text);
        (void)snprintf(text, sizeof text, "%llue-%d", (unsigned long long)odd,
                       (int)(draw() % 30));
        expect_as_strtod(text);
    }
}

Test(data_number, edges_of_the_format)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "+0.0",
        "1.",
        ".5",
        "-.5e1",
        "1e5",
        "1E+05",
        "1e-5",
        "00012",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "1e-400",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "1e308",
        "1e400",
        "1.7976931348623159e308",
        "9007199254740993",
        "9007199254740992.5",
        "0.000000000000000000000000000000000000000000001",
        "1e",
        "1e+",
        "2.5x",
        "18446744073709551615",
        "18446744073709551616",
        "12345678",
        "123456789",
        "12345678.12345678",
        "0.1234567812345678",
        "0.12345678123456789",
        "99999999.9999999999",
        "1e22",
        "1e23",
        "123e-22",
        "9e-23",
        "0e999999999999",
        "1e-999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_as_strtod(texts[i]);
}

static sti_number_status status_of(const char *text)
{
    char buffer[2 * STI_NUMBER_LONGEST] = {0};
    const char *end;
    double value;
    strcpy(buffer, text);
    return sti_number_read(buffer, &end, &value);
}

Test(data_number, text_that_is_no_number_is_detected)
{
    cr_assert_eq(status_of(""), STI_NUMBER_NONE);
    cr_assert_eq(status_of("-"), STI_NUMBER_NONE);
    cr_assert_eq(status_of("."), STI_NUMBER_NONE);
    cr_assert_eq(status_of("e5"), STI_NUMBER_NONE);
    cr_assert_eq(status_of("abc"), STI_NUMBER_NONE);
    cr_assert_eq(status_of("NaN"), STI_NUMBER_SPELLED);
    cr_assert_eq(status_of("-Infinity"), STI_NUMBER_SPELLED);
    cr_assert_eq(status_of("1e999"), STI_NUMBER_HUGE);
    char digits[STI_NUMBER_LONGEST + 2];
    memset(digits, '1', sizeof digits);
    digits[STI_NUMBER_LONGEST + 1] = '\0';
    cr_assert_eq(status_of(digits), STI_NUMBER_LONG);
    digits[1] = '.';
    digits[STI_NUMBER_LONGEST] = '\0';
    expect_as_strtod(digits);
}

Test(data_number, the_portable_ways_and_the_quick_ones_agree)
{
    static const char bytes[] = "0123456789.:-+e \n\t\x80\xff\x01/;z";
    char text[200] = {0};
    for (int i = 0; i < 300000; i++) {
        size_t n = 1 + draw() % 40;
        for (size_t k = 0; k < n; k++)
            text[k] = draw() % 4 != 0 ? (char)('0' + draw() % 10)
                                      : bytes[draw() % (sizeof bytes - 1)];
        text[n] = '\0';
        uint64_t quick;
        uint64_t portable;
        cr_assert_eq(sti_digits_swar(text, &quick),
                     sti_digits_portable(text, &portable));
        cr_assert_eq(quick, portable);
        cr_assert_eq(sti_token_end(text), sti_token_end_portable(text));
    }
}
