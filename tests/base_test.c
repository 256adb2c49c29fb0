/* engine/base: random streams, options, numbers as text, the clock. */
#include <criterion/criterion.h>
#include <gsl/gsl_cdf.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/monotonic_clock.h"
#include "engine/base/number_text.h"
#include "engine/base/option_table.h"
#include "engine/base/random.h"
#include "strads/options.h"
#include "strads/policy.h"

/* Random streams: known answers, independence of the order of draws, and
 * uniformity by chi-square tests at fixed seeds. */

typedef struct known_answer {
    uint32_t counter[4], key[2], word[4];
} known_answer;

/* Random123's test vectors for philox4x32, 10 rounds. */
static const known_answer known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(random, philox_gives_the_published_answers)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t x[4];
        memcpy(x, known[k].counter, sizeof x);
        sti_random_philox(x, known[k].key[0], known[k].key[1]);
        for (int w = 0; w < 4; w++)
            cr_assert_eq(x[w], known[k].word[w], "vector %zu, word %d", k, w);
    }
}

Test(random, a_word_has_one_value_however_it_is_asked_for)
{
    sti_random r = sti_random_stream(5, 6, 7);
    uint64_t word[9];
    for (int k = 0; k < 9; k++)
        word[k] = sti_random_bits(&r);
    for (int k = 8; k >= 0; k--)
        cr_assert_eq(strads_random_bits(5, 6, 7, (uint64_t)k), word[k]);
    cr_assert_eq(strads_random_unit(5, 6, 7, 3), sti_random_to_unit(word[3]));
}

Test(random, seed_purpose_index_and_place_all_matter)
{
    uint64_t base = strads_random_bits(1, 2, 3, 4);
    cr_assert_neq(base, strads_random_bits(2, 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 3, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 4, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 3, 5));
    cr_assert_neq(base, strads_random_bits(UINT64_C(1) << 32 | 1, 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, UINT64_C(1) << 32 | 2, 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, UINT64_C(1) << 32 | 3, 4));
    cr_assert_neq(base, strads_random_bits(1, 2, 3, UINT64_C(1) << 33 | 4));
}

enum { CELLS = 64, DRAWS = 64000 };

/* The p-value of the counts if all cells are equally likely. */
static double evenness(const uint32_t *count, uint32_t cells, uint32_t draws)
{
    double expected = (double)draws / cells, chi2 = 0;
    for (uint32_t k = 0; k < cells; k++)
        chi2 += pow(count[k] - expected, 2) / expected;
    return gsl_cdf_chisq_Q(chi2, cells - 1);
}

Test(random, units_are_even_along_a_stream_and_across_streams)
{
    uint32_t along[CELLS] = {0}, across[CELLS] = {0}, pairs[CELLS] = {0};
    for (uint64_t k = 0; k < DRAWS; k++) {
        double u = strads_random_unit(11, 1, 0, k);
        double v = strads_random_unit(11, 1, k, 0);
        cr_assert(u >= 0 && u < 1 && v >= 0 && v < 1);
        along[(int)(u * CELLS)]++;
        across[(int)(v * CELLS)]++;
        double w = strads_random_unit(11, 1, 0, k + 1);
        pairs[(int)(u * 8) * 8 + (int)(w * 8)]++;
    }
    cr_assert_gt(evenness(along, CELLS, DRAWS), 1e-3);
    cr_assert_gt(evenness(across, CELLS, DRAWS), 1e-3);
    cr_assert_gt(evenness(pairs, CELLS, DRAWS), 1e-3);
}

Test(random, every_bit_is_as_often_set_as_not)
{
    uint32_t set[64] = {0};
    enum { WORDS = 20000 };
    for (uint64_t k = 0; k < WORDS; k++) {
        uint64_t word = strads_random_bits(3, 9, k, k);
        for (int b = 0; b < 64; b++)
            set[b] += (uint32_t)(word >> b & 1);
    }
    for (int b = 0; b < 64; b++)
        cr_assert_lt(fabs(set[b] - WORDS / 2.0), 5 * sqrt(WORDS / 4.0),
                     "bit %d is set %u times of %d", b, set[b], WORDS);
}

Test(random, numbers_below_a_bound_are_even)
{
    static const uint32_t bounds[] = {1, 2, 3, 10, 63};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t n = bounds[b], count[63] = {0};
        sti_random r = sti_random_stream(4, n, 0);
        for (int k = 0; k < DRAWS; k++) {
            uint64_t x = sti_random_below(&r, n);
            cr_assert_lt(x, n);
            count[x]++;
        }
        if (n > 1)
            cr_assert_gt(evenness(count, n, DRAWS), 1e-3, "below %u", n);
    }
}

Test(random, a_bound_that_takes_most_of_64_bits_is_kept)
{
    sti_random r = sti_random_stream(4, 5, 6);
    uint64_t n = UINT64_C(3) << 62, high = 0;
    for (int k = 0; k < 3000; k++) {
        uint64_t x = sti_random_below(&r, n);
        cr_assert_lt(x, n);
        high += x >= n / 3 * 2;
    }
    cr_assert(high > 850 && high < 1150, "a third was hit %d times", (int)high);
}

/* Options described once: text to fields, fields to JSON, and suggestions
 * for misspelled names. */

typedef struct sample {
    double lambda, shift;
    uint64_t seed;
    uint32_t workers;
    bool positive;
    const char *policy, *trace;
} sample;

static const strads_option table[] = {
    STRADS_OPTION(F64, sample, lambda, "lambda", NULL, NULL, .min = 0,
                  .max = 1e308),
    STRADS_OPTION(F64, sample, shift, "shift", NULL, NULL),
    STRADS_OPTION(U64, sample, seed, "seed", NULL, NULL),
    STRADS_OPTION(U32, sample, workers, "workers", NULL, NULL, .min = 1,
                  .max = 1024),
    STRADS_OPTION(BOOL, sample, positive, "positive", NULL, NULL),
    STRADS_OPTION(STRING, sample, policy, "policy", NULL, NULL,
                  .choices = "priority|uniform|cyclic"),
    STRADS_OPTION(STRING, sample, trace, "trace", NULL, NULL),
    {.name = NULL},
};

static strads_err set(sample *s, const char *name, const char *text)
{
    return strads_option_set(strads_option_find(table, name), s, text);
}

static void refused(const char *name, const char *text, const char *sentence)
{
    sample s = {.lambda = 7, .workers = 7, .seed = 7};
    cr_assert_eq(set(&s, name, text), STRADS_EINVAL, "%s %s", name,
                 text ? text : "(none)");
    cr_assert_str_eq(strads_error_text(), sentence);
    cr_assert(s.lambda == 7 && s.workers == 7 && s.seed == 7,
              "a refused text changes nothing");
}

Test(options, text_within_the_range_sets_its_field_alone)
{
    sample s = {0};
    cr_assert_eq(set(&s, "lambda", "1e-3"), STRADS_OK);
    cr_assert_eq(set(&s, "shift", "-2.5"), STRADS_OK);
    cr_assert_eq(set(&s, "seed", "18446744073709551615"), STRADS_OK);
    cr_assert_eq(set(&s, "workers", "1024"), STRADS_OK);
    cr_assert_eq(set(&s, "positive", NULL), STRADS_OK);
    cr_assert_eq(set(&s, "policy", "uniform"), STRADS_OK);
    cr_assert(s.lambda == 1e-3 && s.shift == -2.5 && s.seed == UINT64_MAX);
    cr_assert(s.workers == 1024 && s.positive);
    cr_assert_str_eq(s.policy, "uniform");
    cr_assert_null(s.trace);
    cr_assert_eq(set(&s, "positive", "false"), STRADS_OK);
    cr_assert(!s.positive);
}

Test(options, text_outside_the_range_is_refused_with_one_sentence)
{
    refused("workers", "0", "--workers 0: expected 1 to 1024");
    refused("workers", "4294967297",
            "--workers 4294967297: expected 1 to 1024");
    refused("workers", "two", "--workers two: expected 1 to 1024");
    refused("workers", "-1", "--workers -1: expected 1 to 1024");
    refused("workers", "1.5", "--workers 1.5: expected 1 to 1024");
    refused("workers", "", "--workers : expected 1 to 1024");
    refused("seed", "18446744073709551616",
            "--seed 18446744073709551616: expected a whole number, 0 or more");
    refused("lambda", "-1", "--lambda -1: expected a number, 0 or more");
    refused("lambda", "nan", "--lambda nan: expected a number, 0 or more");
    refused("lambda", "inf", "--lambda inf: expected a number, 0 or more");
    refused("lambda", "1e400", "--lambda 1e400: expected a number, 0 or more");
    refused("lambda", "0x10", "--lambda 0x10: expected a number, 0 or more");
    refused("lambda", " 1", "--lambda  1: expected a number, 0 or more");
    refused("lambda", "1,5", "--lambda 1,5: expected a number, 0 or more");
    refused("shift", "--", "--shift --: expected a number");
    refused("policy", "random",
            "--policy random: expected priority, uniform or cyclic");
    refused("policy", "priority|uniform",
            "--policy priority|uniform: expected priority, uniform or cyclic");
    refused("positive", "yes", "--positive=yes: expected true or false");
    refused("trace", "", "--trace is empty: expected a text");
    refused("trace", NULL, "--trace needs a value: --trace VALUE");
}

static void reads_back(const char *name, const char *text, const char *json)
{
    char out[64];
    sample s = {0};
    cr_assert_eq(set(&s, name, text), STRADS_OK);
    const strads_option *option = strads_option_find(table, name);
    cr_assert_eq(strads_option_format(option, &s, out, sizeof out),
                 strlen(json));
    cr_assert_str_eq(out, json);
}

Test(options, values_are_written_as_json)
{
    reads_back("lambda", "0.1", "0.1");
    reads_back("lambda", "1e-300", "1e-300");
    reads_back("shift", "-0.30000000000000004", "-0.30000000000000004");
    reads_back("seed", "18446744073709551615", "18446744073709551615");
    reads_back("workers", "3", "3");
    reads_back("positive", "true", "true");
    reads_back("policy", "cyclic", "\"cyclic\"");
    reads_back("trace", "a\"b\\c\n", "\"a\\\"b\\\\c\\u000a\"");
}

Test(options, a_field_that_is_not_set_is_written_as_null)
{
    char out[16];
    sample s = {.workers = 0};
    (void)strads_option_format(strads_option_find(table, "workers"), &s, out,
                               sizeof out);
    cr_assert_str_eq(out, "null");
    (void)strads_option_format(strads_option_find(table, "trace"), &s, out,
                               sizeof out);
    cr_assert_str_eq(out, "null");
}

Test(options, formatting_returns_the_size_it_needs)
{
    char out[6] = "xxxxx";
    sample s = {.policy = "priority"};
    const strads_option *option = strads_option_find(table, "policy");
    cr_assert_eq(strads_option_format(option, &s, out, sizeof out), 10);
    cr_assert_str_eq(out, "\"prio");
    cr_assert_eq(strads_option_format(option, &s, NULL, 0), 10);
}

Test(options, the_nearest_name_is_found_or_none)
{
    cr_assert_str_eq(strads_option_nearest(table, "lamda"), "lambda");
    cr_assert_str_eq(strads_option_nearest(table, "wrokers"), "workers");
    cr_assert_str_eq(strads_option_nearest(table, "pos"), "positive");
    cr_assert_str_eq(strads_option_nearest(table, "polcy"), "policy");
    cr_assert_null(strads_option_nearest(table, "xyz"));
    cr_assert_null(strads_option_nearest(table, ""));
    cr_assert_null(strads_option_nearest(NULL, "lambda"));
    cr_assert_null(strads_option_find(table, "lamda"));
}

Test(options, distance_counts_swaps_once_and_folds_underscores)
{
    cr_assert_eq(sti_nearest_distance("lambda_ratio", "lambda-ratio"), 0);
    cr_assert_eq(sti_nearest_distance("sede", "seed"), 1);
    cr_assert_eq(sti_nearest_distance("threshhold", "threshold"), 1);
    char longer[200] = {0};
    memset(longer, 'a', sizeof longer - 1);
    cr_assert_eq(sti_nearest_distance(longer, "aaaa"), STI_NAME_FAR);
}

/* Numbers to text and back. The oracle for the shortest text uses the C
 * library with 15, 16 and 17 digits. */

static void format_by_trying(double value, char out[STI_NUMBER_SIZE])
{
    bool whole = fabs(value) < 1e15 && value == trunc(value);
    for (int digits = whole ? 17 : 15; digits <= 17; digits++) {
        (void)snprintf(out, STI_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            break;
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
    for (int e = -1000; e <= 1000; e++)
        expect_shortest_around(ldexp(1, e));
    for (int e = -300; e <= 300; e++) {
        char power[16];
        (void)snprintf(power, sizeof power, "1e%d", e);
        expect_shortest_around(strtod(power, NULL));
    }
}

/* Magnitudes from 1e-14 to 1e17, with 1 to 17 digits, and random bits. */
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
        if (values[i] != 0)
            expect_shortest(values[i]);
        (void)sti_number_format(values[i], text);
        cr_assert(sti_number_parse(text, &back), "%s", text);
        cr_assert(memcmp(&back, &values[i], sizeof back) == 0, "%s", text);
    }
}

/* JSON readers take -0 as an integer, which has no sign. */
Test(number_text, a_zero_keeps_its_sign_in_json)
{
    char text[STI_NUMBER_SIZE];
    cr_assert_eq(sti_number_format(-0.0, text), strlen("-0.0"));
    cr_assert_str_eq(text, "-0.0");
    (void)sti_number_format(0, text);
    cr_assert_str_eq(text, "0");
}

Test(number_text, numbers_do_not_depend_on_the_locale)
{
    char text[STI_NUMBER_SIZE];
    double value;
    if (!setlocale(LC_ALL, "de_DE.UTF-8"))
        cr_log_info("no German locale here: only the C locale was tried");
    (void)sti_number_format(0.5, text);
    cr_assert_str_eq(text, "0.5");
    cr_assert(sti_number_parse("0.5", &value) && value == 0.5);
    cr_assert(!sti_number_parse("0,5", &value));
}

/* Waits on the monotonic clock. */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called;
static bool is_called;

static void *call(void *arg)
{
    pthread_mutex_lock(&lock);
    is_called = true;
    pthread_cond_signal(&called);
    pthread_mutex_unlock(&lock);
    return arg;
}

Test(monotonic_clock, a_wait_without_a_wake_ends_at_its_deadline_and_not_before)
{
    cr_assert(sti_monotonic_cond_init(&called));
    const uint64_t until = sti_monotonic_in(2000000);
    pthread_mutex_lock(&lock);
    while (sti_monotonic_wait(&called, &lock, until))
        continue;
    cr_expect_geq(sti_monotonic_now(), until);
    cr_expect_not(sti_monotonic_wait(&called, &lock, 0), "a moment long ago");
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&called);
}

Test(monotonic_clock, a_wait_without_an_end_ends_when_it_is_called)
{
    pthread_t thread;
    cr_assert(sti_monotonic_cond_init(&called));
    const uint64_t until = sti_monotonic_in(UINT64_MAX);
    cr_expect_eq(until, UINT64_MAX);
    pthread_mutex_lock(&lock);
    cr_assert_eq(pthread_create(&thread, NULL, call, NULL), 0);
    while (!is_called)
        cr_expect(sti_monotonic_wait(&called, &lock, until));
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&called);
}
