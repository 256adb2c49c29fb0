/* strads lasso path, strads lasso cv. */
#include "cli_cv.h"
#include "cli_path.h"
#include "command.h"
#include "strads/lasso.h"

static void describe(const void *state)
{
    uint32_t n;
    const strads_path_point *point = strads_lasso_path(state, &n);
    cli_path_describe(point, n);
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_lasso_intercept(state);
}

int cli_lasso_path(int argc, char **argv)
{
    static const cli_path path = {
        .train = {.program = &strads_program_lasso_path,
                  .model = "lasso",
                  .name = "lasso path",
                  .summary = "Fits a Lasso at one lambda after the other; "
                             "--model keeps the last.",
                  .complete = complete,
                  .describe = describe},
        .points = strads_lasso_path,
    };
    return cli_path_main(&path, argc, argv);
}

static uint32_t wanted(const void *config)
{
    return ((const strads_lasso_path_options *)config)->points;
}

static strads_err validate(const cli_trained *trained, uint32_t folds,
                           double first, strads_cv_point *error, uint32_t *best,
                           uint32_t *simplest)
{
    const strads_lasso_path_options *path = trained->config;
    strads_lasso_cv_options options = {.path = *path,
                                       .folds = folds,
                                       .threads = trained->engine->workers,
                                       .seed = trained->seed,
                                       .tolerance = trained->engine->tolerance,
                                       .stop = trained->engine->stop,
                                       .time_limit = cli_cv_time_left(trained)};
    options.path.first = first;
    return strads_lasso_cv(trained->data, &options, error, best, simplest);
}

int cli_lasso_cv(int argc, char **argv)
{
    static const cli_cv cv = {
        .program = &strads_program_lasso_path,
        .model = "lasso",
        .name = "lasso cv",
        .summary = "Chooses a Lasso's lambda by its error on rows left out.",
        .title = "squared error on rows left out",
        .wanted = wanted,
        .points = strads_lasso_path,
        .run = validate,
    };
    return cli_cv_main(&cv, argc, argv);
}
