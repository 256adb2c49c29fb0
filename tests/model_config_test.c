/* Options as JSON: keys are the options' names, several structs share one
 * object, and a wrong key names the nearest right one. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/run/run_options.h"
#include "strads/engine.h"
#include "tests/expect.h"

typedef struct own_options {
    double lambda_ratio;
    bool positive;
    const char *name;
} own_options;

static const strads_option own_table[] = {
    STRADS_OPTION(F64, own_options, lambda_ratio, "lambda-ratio", NULL, NULL,
                  .min = 1e-9, .max = 1),
    STRADS_OPTION(BOOL, own_options, positive, "positive", NULL, NULL),
    STRADS_OPTION(STRING, own_options, name, "name", NULL, NULL),
    {.name = NULL},
};

typedef struct both {
    own_options own;
    strads_engine_options engine;
    sti_config_part part[2];
    sti_config_strings strings;
    sti_config config;
} both;

static void prepare(both *b)
{
    memset(b, 0, sizeof *b);
    b->part[0] = (sti_config_part){own_table, &b->own};
    b->part[1] = (sti_config_part){strads_engine_option_table(), &b->engine};
    b->config =
        (sti_config){.parts = b->part, .n_parts = 2, .strings = &b->strings};
}

static strads_err parse(both *b, const char *text)
{
    return sti_config_parse(&b->config, "c.json", text, strlen(text));
}

static void refused(const char *text, strads_err err, const char *sentence)
{
    both b;
    prepare(&b);
    cr_expect_eq(parse(&b, text), err, "%s", text);
    cr_expect_str_eq(strads_error_text(), sentence);
    sti_config_strings_free(&b.strings);
}

Test(config, keys_set_the_fields_of_all_parts)
{
    both b;
    prepare(&b);
    b.engine.depth = 3;
    expect_ok(parse(&b, "{\"lambda-ratio\": 0.1, \"positive\": true,"
                        " \"workers\": 4, \"seed\": 12345678901,"
                        " \"max-rounds\": 1e3, \"time-limit\": 5,"
                        " \"policy\": \"uniform\", \"depth\": null}"));
    cr_assert(b.own.lambda_ratio == 0.1 && b.own.positive);
    cr_assert(b.engine.workers == 4 && b.engine.seed == 12345678901);
    cr_assert(b.engine.max_rounds == 1000 && b.engine.time_limit == 5);
    cr_assert_str_eq(b.engine.policy, "uniform");
    cr_assert_eq(b.engine.depth, 3, "null leaves a field alone");
    sti_config_strings_free(&b.strings);
}

Test(config, wrong_keys_kinds_and_values_are_refused)
{
    refused("{\"lamda-ratio\": 1}", STRADS_EINVAL,
            "c.json: unknown key \"lamda-ratio\"; did you mean "
            "\"lambda-ratio\"?");
    refused("{\"max_round\": 1}", STRADS_EINVAL,
            "c.json: unknown key \"max_round\"; did you mean \"max-rounds\"?");
    refused("{\"zzz\": 1}", STRADS_EINVAL, "c.json: unknown key \"zzz\"");
    refused("{\"workers\": \"4\"}", STRADS_EINVAL,
            "c.json: \"workers\" is a string, expected a whole number");
    refused("{\"workers\": 0}", STRADS_EINVAL,
            "c.json: --workers 0: expected 1 to 1024");
    refused("{\"workers\": 1.5}", STRADS_EINVAL,
            "c.json: --workers 1.5: expected 1 to 1024");
    refused("{\"lambda-ratio\": true}", STRADS_EINVAL,
            "c.json: \"lambda-ratio\" is true or false, expected a number");
    refused("{\"positive\": 1}", STRADS_EINVAL,
            "c.json: \"positive\" is a whole number, expected true or false");
    refused("{\"policy\": 3}", STRADS_EINVAL,
            "c.json: \"policy\" is a whole number, expected a string");
    refused("[]", STRADS_EFORMAT,
            "c.json: expected one JSON object {\"option\": value, ...}, "
            "found an array");
}

Test(config, text_that_is_not_json_names_its_line)
{
    both b;
    prepare(&b);
    expect_error(parse(&b, "{\n\"seed\": 1,\n}"), STRADS_EFORMAT,
                 "c.json: line 3 is not JSON");
    cr_assert_eq(parse(&b, "{\"seed\": 1, \"seed\": 2}"), STRADS_EFORMAT);
    cr_assert_eq(parse(&b, ""), STRADS_EFORMAT);
    cr_assert_eq(parse(&b, "{\"seed\": NaN}"), STRADS_EFORMAT);
    sti_config_strings_free(&b.strings);
}

Test(config, options_read_back_as_written)
{
    both one, two;
    prepare(&one);
    prepare(&two);
    cr_assert_eq(parse(&one, "{\"lambda-ratio\": 0.3, \"name\": \"a\\\"b\","
                             " \"seed\": 9, \"tolerance\": 1e-9,"
                             " \"deterministic\": true}"),
                 STRADS_OK);
    char *text = sti_config_text(one.part, 2, 0);
    cr_assert_not_null(text);
    expect_ok(parse(&two, text));
    char *again = sti_config_text(two.part, 2, 0);
    cr_assert_str_eq(text, again);
    cr_assert_str_eq(two.own.name, "a\"b");
    cr_assert(two.engine.tolerance == 1e-9 && two.engine.deterministic);
    free(text);
    free(again);
    sti_config_strings_free(&one.strings);
    sti_config_strings_free(&two.strings);
}

Test(config, no_parts_make_an_empty_object)
{
    char *text = sti_config_text(NULL, 0, 4);
    cr_assert_str_eq(text, "{}");
    free(text);
}

Test(config, a_file_is_read_and_a_missing_or_huge_one_refused)
{
    both b;
    char path[] = "/tmp/strads-config-XXXXXX";
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, "{\"seed\": 5}", 11), 11);
    prepare(&b);
    cr_assert_eq(sti_config_load(&b.config, path), STRADS_OK);
    cr_assert_eq(b.engine.seed, 5);
    cr_assert_eq(ftruncate(fd, 2 << 20), 0);
    cr_assert_eq(sti_config_load(&b.config, path), STRADS_ELIMIT);
    (void)close(fd);
    (void)unlink(path);
    cr_assert_eq(sti_config_load(&b.config, path), STRADS_EIO);
    cr_assert_eq(sti_config_load(&b.config, "/tmp"), STRADS_EIO);
    sti_config_strings_free(&b.strings);
}
