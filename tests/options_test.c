/* Options described once: text to fields, fields to JSON, and which name was
 * meant. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <string.h>

#include "engine/base/nearest_name.h"
#include "strads/options.h"

typedef struct sample {
    double lambda, shift;
    uint64_t seed;
    uint32_t workers;
    bool positive;
    const char *policy, *trace;
} sample;

static const strads_option table[] = {
    {.name = "lambda",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(sample, lambda),
     .min = 0,
     .max = 1e308},
    {.name = "shift",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(sample, shift)},
    {.name = "seed",
     .kind = STRADS_OPTION_U64,
     .offset = offsetof(sample, seed)},
    {.name = "workers",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(sample, workers),
     .min = 1,
     .max = 1024},
    {.name = "positive",
     .kind = STRADS_OPTION_BOOL,
     .offset = offsetof(sample, positive)},
    {.name = "policy",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(sample, policy),
     .choices = "priority|uniform|cyclic"},
    {.name = "trace",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(sample, trace)},
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

Test(options, formatting_says_how_much_room_it_needs)
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
