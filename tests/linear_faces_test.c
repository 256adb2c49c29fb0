/* The Lasso and logistic regression are glm under other options: each of theirs
 * means what glm's does, to the bit, and so do their paths. What glm comes to
 * is held against its objective elsewhere. */
#include <criterion/criterion.h>
#include <float.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/expect.h"
#include "tests/glm_design.h"
#include "tests/toy_data.h"

enum { ROWS = 90, COLS = 20, POINTS = 5 };

static double weight[ROWS];
static char path[] = "weights.txt";
static lasso_design numbers, two, four; /* labels */

static void make_designs(void)
{
    const lasso_recipe recipe = {.rows = ROWS,
                                 .cols = COLS,
                                 .seed = 4,
                                 .density = .7,
                                 .correlation = .5,
                                 .noise = 1,
                                 .offset = 1};
    char folder[] = "/tmp/strads-faces-XXXXXX";

    cr_assert(mkdtemp(folder) && chdir(folder) == 0);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    for (int i = 0; i < ROWS; i++) {
        weight[i] = 1 + i % 3;
        (void)fprintf(file, "%g\n", weight[i]);
    }
    (void)fclose(file);
    numbers = glm_design_random(&recipe, "squared");
    two = glm_design_random(&recipe, "logistic");
    four = logistic_design_classes(COLS, .7);
}

static void free_designs(void)
{
    char folder[64];

    lasso_design_free(&numbers);
    lasso_design_free(&two);
    lasso_design_free(&four);
    (void)unlink(path);
    cr_expect(getcwd(folder, sizeof folder) && rmdir(folder) == 0);
}

TestSuite(linear_faces, .init = make_designs, .fini = free_designs);

static strads_result *run(const strads_program *program, const void *options,
                          const lasso_design *d)
{
    const strads_engine_options engine = {.size = sizeof(engine),
                                          .workers = 2,
                                          .partitions = 2,
                                          .deterministic = true,
                                          .tolerance = 1e-8};
    strads_data *data = NULL;
    strads_result *result = NULL;

    expect_ok(lasso_design_data(d, 2, &data));
    cr_assert_eq(strads_run(program, options, data, &engine, &result),
                 STRADS_OK, "%s: %s", program->name, strads_error_text());
    strads_data_free(data);
    return result;
}

/* ---- fits ---------------------------------------------------------------- */

#define LASSO(...) (&(const strads_lasso_options){__VA_ARGS__})
#define LOGISTIC(...) (&(const strads_logistic_options){__VA_ARGS__})

static const struct {
    const lasso_design *design;
    const strads_program *program;
    const void *options;
    strads_glm_options glm;
} fits[] = {
    {&numbers, &strads_program_lasso, NULL, {.loss = "squared"}},
    {&numbers, &strads_program_lasso, LASSO(.lambda = .2), {.lambda = .2}},
    {&numbers,
     &strads_program_lasso,
     LASSO(.lambda_ratio = .05, .intercept = true),
     {.lambda_ratio = .05, .intercept = true}},
    {&numbers,
     &strads_program_lasso,
     LASSO(.l1_ratio = .4, .standardize = true, .weights = path),
     {.penalty = "elastic-net",
      .l1_ratio = .4,
      .standardize = true,
      .row_weight = weight}},
    {&numbers,
     &strads_program_lasso,
     LASSO(.positive = true, .row_weight = weight),
     {.upper = DBL_MAX, .row_weight = weight}},
    {&two, &strads_program_logistic, NULL, {.loss = "logistic"}},
    {&two,
     &strads_program_logistic,
     LOGISTIC(.l1_ratio = 1, .lambda = .02),
     {.loss = "logistic", .lambda = .02}},
    {&two,
     &strads_program_logistic,
     LOGISTIC(.l1_ratio = .5, .lambda_ratio = .05, .intercept = true,
              .standardize = true, .weights = path),
     {.loss = "logistic",
      .penalty = "elastic-net",
      .lambda_ratio = .05,
      .intercept = true,
      .standardize = true,
      .row_weight = weight}},
    {&two,
     &strads_program_logistic,
     LOGISTIC(.c = .1, .intercept = true, .class_weight = "balanced"),
     {.loss = "logistic",
      .penalty = "ridge",
      .c = .1,
      .intercept = true,
      .class_weight = "balanced"}},
    {&two,
     &strads_program_logistic,
     LOGISTIC(.classes = "1,0", .row_weight = weight),
     {.loss = "logistic",
      .penalty = "ridge",
      .c = 1,
      .classes = "1,0",
      .row_weight = weight}},
    {&four,
     &strads_program_logistic,
     LOGISTIC(.l1_ratio = 1, .lambda_ratio = .1, .multiclass = "ovr"),
     {.loss = "logistic", .lambda_ratio = .1}},
    {&four,
     &strads_program_logistic,
     LOGISTIC(.l1_ratio = 1, .lambda_ratio = .1, .multiclass = "softmax"),
     {.loss = "multinomial", .lambda_ratio = .1}},
};

Test(linear_faces, fits_are_those_of_glm)
{
    for (size_t k = 0; k < sizeof fits / sizeof fits[0]; k++) {
        strads_result *face =
            run(fits[k].program, fits[k].options, fits[k].design);
        strads_result *glm =
            run(&strads_program_glm, &fits[k].glm, fits[k].design);
        cr_expect(toy_same_values(face, glm), "case %zu: other bits", k);
        cr_expect_gt(strads_result_progress(face)->nonzeros, 0, "case %zu", k);
        cr_expect_eq(strads_glm_resolved(strads_result_state(face))->lambda,
                     strads_glm_resolved(strads_result_state(glm))->lambda);
        strads_result_free(face);
        strads_result_free(glm);
    }
}

Test(linear_faces, tables_refuse_values_that_structs_may_not_hold)
{
    static const struct {
        const strads_program *program;
        const char *name, *text;
        strads_err err;
    } cases[] = {{&strads_program_lasso, "lambda", "-0.1", STRADS_EINVAL},
                 {&strads_program_lasso, "lambda", "nan", STRADS_EINVAL},
                 {&strads_program_lasso, "lambda", "0.5", STRADS_OK},
                 {&strads_program_lasso, "lambda-ratio", "x", STRADS_EINVAL},
                 {&strads_program_lasso, "l1-ratio", "0", STRADS_EINVAL},
                 {&strads_program_lasso, "l1-ratio", "1.1", STRADS_EINVAL},
                 {&strads_program_lasso, "l1-ratio", "0.5", STRADS_OK},
                 {&strads_program_logistic, "l1-ratio", "0", STRADS_OK},
                 {&strads_program_logistic_path, "l1-ratio", "0",
                  STRADS_EINVAL}};

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const strads_option *option =
            strads_option_find(cases[k].program->options, cases[k].name);
        strads_glm_path_options room = {.points = 0};
        cr_expect_eq(strads_option_set(option, &room, cases[k].text),
                     cases[k].err, "%s=%s", cases[k].name, cases[k].text);
    }
}

/* ---- paths --------------------------------------------------------------- */

static void expect_same_path(const lasso_design *d,
                             const strads_program *program,
                             const strads_glm_path_options *options,
                             const strads_glm_path_options *glm)
{
    strads_result *face = run(program, options, d);
    strads_result *other = run(&strads_program_glm_path, glm, d);
    uint32_t n, m;
    const strads_path_point *a = strads_glm_path(strads_result_state(face), &n);
    const strads_path_point *b =
        strads_glm_path(strads_result_state(other), &m);

    cr_assert(n == m && n == POINTS, "%s: %u points", program->name, n);
    for (uint32_t k = 0; k < n; k++) {
        cr_assert(a[k].lambda == b[k].lambda && a[k].gap == b[k].gap &&
                      a[k].intercept == b[k].intercept &&
                      a[k].objective == b[k].objective &&
                      a[k].deviance == b[k].deviance &&
                      a[k].nonzeros == b[k].nonzeros,
                  "%s, point %u", program->name, k);
        cr_expect_arr_eq(a[k].index, b[k].index,
                         a[k].nonzeros * sizeof *a[k].index);
        cr_expect_arr_eq(a[k].value, b[k].value,
                         a[k].nonzeros * sizeof *a[k].value);
    }
    strads_result_free(face);
    strads_result_free(other);
}

/* The defaults of a path's program, with fewer points. */
static strads_glm_path_options usual(const strads_program *program)
{
    strads_glm_path_options options =
        *(const strads_glm_path_options *)program->defaults;

    cr_assert_eq(program->config_size, sizeof options);
    options.points = POINTS;
    options.ratio = .1;
    return options;
}

Test(linear_faces, paths_are_those_of_glm)
{
    const strads_glm_path_options plain = {.points = POINTS, .ratio = .1};
    const strads_glm_path_options classes = {.fit = {.loss = "logistic"},
                                             .points = POINTS,
                                             .ratio = .1};
    const strads_glm_path_options bounded = {.fit = {.penalty = "elastic-net",
                                                     .l1_ratio = .7,
                                                     .intercept = true,
                                                     .standardize = true,
                                                     .upper = DBL_MAX,
                                                     .row_weight = weight},
                                             .lambdas = ".1,.2,.3,.4,.5"};
    strads_glm_path_options lasso = usual(&strads_program_lasso_path);
    const strads_glm_path_options logistic =
        usual(&strads_program_logistic_path);

    expect_same_path(&numbers, &strads_program_lasso_path, &lasso, &plain);
    expect_same_path(&two, &strads_program_logistic_path, &logistic, &classes);
    lasso.fit.l1_ratio = .7;
    lasso.fit.intercept = lasso.fit.standardize = lasso.fit.positive = true;
    lasso.fit.row_weight = weight;
    lasso.lambdas = bounded.lambdas;
    expect_same_path(&numbers, &strads_program_lasso_path, &lasso, &bounded);
}
