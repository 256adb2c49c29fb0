/* Model files: a written model reads back bit for bit. The reader rejects a
 * file that the writer cannot have written, with one message. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strads/model.h"
#include "tests/expect.h"

static char folder[64];
static char path[128];

static void make_folder(void)
{
    strcpy(folder, "/tmp/strads-model-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/m.json", folder);
}

static void remove_folder(void)
{
    (void)unlink(path);
    cr_assert_eq(rmdir(folder), 0, "nothing is left beside the model");
}

TestSuite(model, .init = make_folder, .fini = remove_folder);

static strads_model sample(void)
{
    static const uint32_t index[] = {0, 2, 9};
    static const double value[] = {0.1, -1.0 / 3, DBL_MIN};
    return (strads_model){
        .program = "lasso",
        .columns = 10,
        .width = 1,
        .intercept = 0.30000000000000004,
        .n = 3,
        .index = index,
        .value = value,
        .options = "{\"lambda\": 0.1}",
        .fit = {.objective = 1.5,
                .gap = NAN,
                .rounds = 7,
                .seconds = 0.25,
                .seed = 42,
                .partitions = 4},
    };
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static char *get(void)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

Test(model, a_model_reads_back_bit_for_bit)
{
    strads_model out = sample();
    strads_model *in = NULL;
    cr_assert_eq(strads_model_write(&out, path), STRADS_OK);
    expect_ok(strads_model_read(path, "lasso", &in));
    cr_assert_str_eq(in->program, "lasso");
    cr_assert(in->columns == 10 && in->width == 1 && in->n == 3);
    cr_assert(in->intercept == out.intercept);
    cr_assert_arr_eq(in->index, out.index, 3 * sizeof *in->index);
    cr_assert_arr_eq(in->value, out.value, 3 * sizeof *in->value);
    cr_assert(in->fit.objective == 1.5 && isnan(in->fit.gap));
    cr_assert(in->fit.rounds == 7 && in->fit.seed == 42);
    cr_assert(in->fit.seconds == 0.25 && in->fit.partitions == 4);
    strads_model_free(in);
}

Test(model, the_file_has_the_documented_form)
{
    strads_model out = sample();
    cr_assert_eq(strads_model_write(&out, path), STRADS_OK);
    cr_assert_str_eq(
        get(),
        "{\n  \"format\": \"strads-model\",\n  \"version\": 1,\n"
        "  \"program\": \"lasso\",\n  \"columns\": 10,\n"
        "  \"intercept\": 0.30000000000000004,\n  \"coefficients\": {\n"
        "    \"index\": [1, 3, 10],\n"
        "    \"value\": [0.1, -0.3333333333333333, 2.2250738585072014e-308]\n"
        "  },\n  \"options\": {\"lambda\": 0.1},\n"
        "  \"fit\": {\"objective\": 1.5, \"gap\": null, \"rounds\": 7, "
        "\"seconds\": 0.25, \"seed\": 42, \"partitions\": 4}\n}\n");
}

Test(model, several_numbers_a_parameter_and_none_at_all_read_back)
{
    static const uint32_t index[] = {1, 3};
    static const double value[] = {1, 0, 3, 4, 5, 6};
    strads_model out = {.program = "na\"me", .columns = 4, .width = 3, .n = 2};
    strads_model *in = NULL;
    out.index = index;
    out.value = value;
    out.fit.partitions = 1;
    cr_assert_eq(strads_model_write(&out, path), STRADS_OK);
    cr_assert_eq(strads_model_read(path, NULL, &in), STRADS_OK);
    cr_assert_str_eq(in->program, "na\"me");
    cr_assert(in->width == 3 && in->n == 2);
    cr_assert_arr_eq(in->value, value, sizeof value);
    strads_model_free(in);

    out.n = 0;
    cr_assert_eq(strads_model_write(&out, path), STRADS_OK);
    cr_assert_eq(strads_model_read(path, NULL, &in), STRADS_OK);
    cr_assert_eq(in->n, 0);
    strads_model_free(in);
}

Test(model, a_baseline_hazard_reads_back)
{
    static const uint32_t stratum[] = {0, 3, 3};
    static const double time[] = {4, 0, .1}, hazard[] = {1. / 3, .5, .5};
    double falls[] = {1, 2, 1};
    strads_model out = sample();
    strads_model *in = NULL;
    out.baseline = (strads_baseline){3, stratum, time, hazard};
    expect_ok(strads_model_write(&out, path));
    expect_ok(strads_model_read(path, "lasso", &in));
    cr_assert_eq(in->baseline.n, 3);
    cr_assert_arr_eq(in->baseline.stratum, stratum, sizeof stratum);
    cr_assert_arr_eq(in->baseline.time, time, sizeof time);
    cr_assert_arr_eq(in->baseline.hazard, hazard, sizeof hazard);
    strads_model_free(in);

    out.baseline.hazard = falls;
    cr_assert_eq(strads_model_write(&out, path), STRADS_EINVAL);
    cr_assert(strstr(strads_error_text(), "step 3 of the model's baseline"));
}

Test(model, a_refused_model_leaves_the_old_file_as_it_was)
{
    static const uint32_t twice[] = {2, 2, 3};
    static const double nan[] = {1, NAN, 1};
    strads_model bad = sample();
    put("old");
    bad.index = twice;
    cr_assert_eq(strads_model_write(&bad, path), STRADS_EINVAL);
    bad = sample();
    bad.value = nan;
    cr_assert_eq(strads_model_write(&bad, path), STRADS_EINVAL);
    cr_assert_str_eq(strads_error_text(),
                     "coefficient 3 of the model is not a finite number");
    bad = sample();
    bad.columns = 9;
    cr_assert_eq(strads_model_write(&bad, path), STRADS_EINVAL);
    bad = sample();
    bad.intercept = INFINITY;
    cr_assert_eq(strads_model_write(&bad, path), STRADS_EINVAL);
    bad = sample();
    bad.options = "[]";
    cr_assert_eq(strads_model_write(&bad, path), STRADS_EINVAL);
    cr_assert_str_eq(get(), "old");
}

Test(model, a_folder_that_is_not_there_or_a_directory_is_an_io_error)
{
    char other[256];
    strads_model out = sample();
    (void)snprintf(other, sizeof other, "%s/none/m.json", folder);
    cr_assert_eq(strads_model_write(&out, other), STRADS_EIO);
    expect_error(strads_model_write(&out, folder), STRADS_EIO,
                 "it is a directory");
    expect_error(strads_model_write(&out, "/dev/null"), STRADS_EIO,
                 "not a plain file");
    cr_assert_eq(strads_model_write(&out, "/dev/full"), STRADS_EIO);
}

Test(model, a_link_stays_a_link_to_the_new_file)
{
    char link[256];
    struct stat info;
    strads_model out = sample();
    (void)snprintf(link, sizeof link, "%s/link", folder);
    put("old");
    cr_assert_eq(symlink("m.json", link), 0);
    cr_assert_eq(strads_model_write(&out, link), STRADS_OK);
    cr_assert_eq(lstat(link, &info), 0);
    cr_assert(S_ISLNK(info.st_mode));
    cr_assert_not_null(strstr(get(), "strads-model"));
    (void)unlink(link);
}

#define HEAD "{\"format\":\"strads-model\",\"version\":1,\"program\":\"lasso\","
#define TAIL                                                         \
    ",\"options\":{},\"fit\":{\"objective\":1,\"gap\":0,\"rounds\":" \
    "1,\"seconds\":0,\"seed\":0,\"partitions\":1}}"
#define MODEL(index, value)                                                  \
    HEAD "\"columns\":5,\"intercept\":0,\"coefficients\":{\"index\":[" index \
         "],\"value\":[" value "]}" TAIL

typedef struct bad_model {
    const char *text;
    strads_err err;
    const char *says;
} bad_model;

static const bad_model bad_models[] = {
    {"", STRADS_EFORMAT, "line 1 is not JSON"},
    {"{\n\"format\": nonsense\n", STRADS_EFORMAT, "line 2 is not JSON"},
    {"{\"format\":\"strads-model\",\"version\":1", STRADS_EFORMAT,
     "is not JSON"},
    {"[1, 2]", STRADS_EFORMAT, "is not a model file"},
    {"{\"format\":\"other\"}", STRADS_EFORMAT, "is not a model file"},
    {"{\"format\":\"strads-model\",\"version\":2,\"program\":\"lasso\"}",
     STRADS_EMISMATCH, "version 2, this strads reads version 1"},
    {"{\"format\":\"strads-model\",\"version\":\"1\"}", STRADS_EFORMAT,
     "\"version\" is wrong"},
    {"{\"format\":\"strads-model\",\"version\":1}", STRADS_EFORMAT,
     "\"program\" is wrong"},
    {"{\"format\":\"strads-model\",\"version\":1,\"program\":\"svm\"}",
     STRADS_EMISMATCH, "model of program svm, expected one of lasso"},
    {HEAD "\"colums\":5}", STRADS_EFORMAT, "unknown member \"colums\""},
    {HEAD "\"columns\":-5}", STRADS_EFORMAT, "\"columns\" is wrong"},
    {HEAD "\"columns\":5.5}", STRADS_EFORMAT, "\"columns\" is wrong"},
    {HEAD "\"columns\":4294967295}", STRADS_EFORMAT, "\"columns\" is wrong"},
    {HEAD "\"columns\":5}", STRADS_EFORMAT, "\"coefficients\" is wrong"},
    {HEAD "\"columns\":5,\"columns\":5}", STRADS_EFORMAT, "is not JSON"},
    {MODEL("1,2", "1"), STRADS_EFORMAT, "2 indices and 1 values"},
    {MODEL("0", "1"), STRADS_EFORMAT, "entry 1 of \"index\" is wrong"},
    {MODEL("6", "1"), STRADS_EFORMAT, "expected a whole number, 1 to 5"},
    {MODEL("-1", "1"), STRADS_EFORMAT, "entry 1 of \"index\" is wrong"},
    {MODEL("1.0", "1"), STRADS_EFORMAT, "entry 1 of \"index\" is wrong"},
    {MODEL("3,3", "1,2"), STRADS_EFORMAT,
     "entry 2 of \"index\" is 3, expected more than the 3 before it"},
    {MODEL("3,2", "1,2"), STRADS_EFORMAT, "expected more than the 3"},
    {MODEL("1", "null"), STRADS_EFORMAT,
     "entry 1 of \"value\" is not a number"},
    {MODEL("1", "NaN"), STRADS_EFORMAT, "is not JSON"},
    {MODEL("1", "1e400"), STRADS_EFORMAT, "is not JSON"},
    {MODEL("1", "1") "x", STRADS_EFORMAT, "is not JSON"},
    {HEAD "\"width\":0,\"columns\":5}", STRADS_EFORMAT, "\"width\" is wrong"},
    {HEAD "\"columns\":5,\"intercept\":null,\"coefficients\":{\"index\":[],"
          "\"value\":[]}" TAIL,
     STRADS_EFORMAT, "\"intercept\" is wrong"},
    {HEAD "\"columns\":5,\"intercept\":0,\"baseline\":{\"stratum\":[0],"
          "\"time\":[2],\"hazard\":[]},\"coefficients\":{\"index\":[],"
          "\"value\":[]}" TAIL,
     STRADS_EFORMAT, "\"baseline\" is wrong"},
    {HEAD "\"columns\":5,\"intercept\":0,\"coefficients\":{\"index\":[],"
          "\"value\":[]},\"options\":{}}",
     STRADS_EFORMAT, "\"fit\" is wrong"},
    {HEAD "\"columns\":5,\"intercept\":0,\"coefficients\":{\"index\":[],"
          "\"value\":[]}}",
     STRADS_EFORMAT, "\"options\" is wrong"},
};

Test(model, a_wrong_file_is_refused_with_the_reason)
{
    for (size_t i = 0; i < sizeof bad_models / sizeof *bad_models; i++) {
        const bad_model *bad = &bad_models[i];
        strads_model *model = NULL;
        put(bad->text);
        cr_expect_eq(strads_model_read(path, "lasso", &model), bad->err, "%s",
                     bad->text);
        cr_expect_null(model);
        cr_expect_not_null(strstr(strads_error_text(), bad->says), "%s: %s",
                           bad->text, strads_error_text());
        cr_expect_eq(strncmp(strads_error_text(), path, strlen(path)), 0);
    }
}

Test(model, a_file_cut_anywhere_is_refused)
{
    char whole[4096];
    strads_model out = sample();
    strads_model *model = NULL;
    cr_assert_eq(strads_model_write(&out, path), STRADS_OK);
    strcpy(whole, get());
    size_t length = strlen(whole) - 1; /* the newline at the end is optional */
    for (size_t cut = 0; cut < length; cut++) {
        char part[4096];
        (void)snprintf(part, sizeof part, "%.*s", (int)cut, whole);
        put(part);
        cr_assert_neq(strads_model_read(path, NULL, &model), STRADS_OK,
                      "cut at %zu", cut);
    }
}

Test(model, a_missing_file_and_a_directory_are_io_errors)
{
    strads_model *model = NULL;
    cr_assert_eq(strads_model_read(path, NULL, &model), STRADS_EIO);
    cr_assert_eq(strads_model_read(folder, NULL, &model), STRADS_EIO);
    strads_model_free(NULL);
}
