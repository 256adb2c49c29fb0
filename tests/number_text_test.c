/* Numbers to text and back: the oracle of the shortest text is the C library,
 * which tries 15, 16 and 17 digits. */
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/number_text.h"
#include "engine/base/random.h"

static void format_by_trying(double value, char out[STI_NUMBER_SIZE])
{
    bool whole = fabs(value) < 1e15 && value == trunc(value);
    for (int digits = whole ? 17 : 15; digits <= 17; digits++) {
        (void)snprintf(out, STI_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            break;
        }
    }
}

static void expect_shortest(double value)
{
    char wanted[STI_NUMBER_SIZE];
    char text[STI_NUMBER_SIZE];
    format_by_trying(value, wanted);
    size_t length = sti_number_format(value, text);
    cr_assert_str_eq(text, wanted, "%a", value);
    cr_assert_eq(length, strlen(text), "%a", value);
}

static void expect_shortest_around(double value)
{
    double below = nextafter(value, 0);
    double above = nextafter(value, INFINITY);
    expect_shortest(value);
    expect_shortest(-value);
    expect_shortest(below);
    expect_shortest(above);
    expect_shortest(nextafter(below, 0));
    expect_shortest(nextafter(above, INFINITY));
}

Test(number_text, borders_and_their_neighbours_have_the_shortest_text)
{
    for (int e = -1000; e <= 1000; e++) {
        expect_shortest_around(ldexp(1, e));
    }
    for (int e = -300; e <= 300; e++) {
        char power[16];
        (void)snprintf(power, sizeof power, "1e%d", e);
        expect_shortest_around(strtod(power, NULL));
    }
}

/* Of all sizes from 1e-14 to 1e17, with 1 to 17 digits, and with all bits. */
Test(number_text, random_numbers_have_the_shortest_text)
{
    sti_random r = sti_random_stream(7, STI_PURPOSE_ENGINE, 0);
    for (int i = 0; i < 200000; i++) {
        char few[STI_NUMBER_SIZE];
        double all = ldexp((double)(sti_random_bits(&r) >> 11),
                           -100 + (int)sti_random_below(&r, 104));
        expect_shortest(all);
        (void)snprintf(few, sizeof few, "%.*g",
                       1 + (int)sti_random_below(&r, 17), all);
        expect_shortest(strtod(few, NULL));
    }
}

Test(number_text, extremes_read_back_as_the_same_double)
{
    static const double values[] = {0, -0.0, 1e308, 5e-324, -7, 0x1p53, 0.7};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[STI_NUMBER_SIZE];
        double back;
        expect_shortest(values[i]);
        (void)sti_number_format(values[i], text);
        cr_assert(sti_number_parse(text, &back), "%s", text);
        cr_assert(memcmp(&back, &values[i], sizeof back) == 0, "%s", text);
    }
}

Test(number_text, numbers_do_not_depend_on_the_locale)
{
    char text[STI_NUMBER_SIZE];
    double value;
    if (!setlocale(LC_ALL, "de_DE.UTF-8")) {
        cr_log_info("no German locale here: only the C locale was tried");
    }
    (void)sti_number_format(0.5, text);
    cr_assert_str_eq(text, "0.5");
    cr_assert(sti_number_parse("0.5", &value) && value == 0.5);
    cr_assert(!sti_number_parse("0,5", &value));
}
