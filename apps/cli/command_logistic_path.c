/* strads logistic path, strads logistic cv. */
#include "cli_cv.h"
#include "cli_path.h"
#include "command.h"
#include "strads/logistic.h"

static void describe(const void *state)
{
    uint32_t n;
    const strads_path_point *point = strads_logistic_path(state, &n);
    cli_path_describe(point, n);
}

/* A model tells its labels. */
static void resolve(const void *state, void *config)
{
    ((strads_logistic_path_options *)config)->fit.classes =
        strads_logistic_resolved(state)->classes;
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_logistic_intercepts(state)[0];
}

int cli_logistic_path(int argc, char **argv)
{
    static const cli_path path = {
        .train = {.program = &strads_program_logistic_path,
                  .model = "logistic",
                  .name = "logistic path",
                  .summary = "Fits a logistic regression at one lambda after "
                             "the other; --model keeps the last.",
                  .resolve = resolve,
                  .complete = complete,
                  .describe = describe},
        .points = strads_logistic_path,
    };
    return cli_path_main(&path, argc, argv);
}

static uint32_t wanted(const void *config)
{
    return ((const strads_logistic_path_options *)config)->points;
}

static strads_err validate(const cli_trained *trained, uint32_t folds,
                           double first, strads_cv_point *error, uint32_t *best,
                           uint32_t *simplest)
{
    const strads_logistic_path_options *path = trained->config;
    strads_logistic_cv_options options = {.path = *path,
                                          .folds = folds,
                                          .threads = trained->engine->workers,
                                          .seed = trained->seed,
                                          .tolerance =
                                              trained->engine->tolerance,
                                          .stop = trained->engine->stop,
                                          .time_limit =
                                              cli_cv_time_left(trained)};
    options.path.first = first;
    return strads_logistic_cv(trained->data, &options, error, best, simplest);
}

int cli_logistic_cv(int argc, char **argv)
{
    static const cli_cv cv = {
        .program = &strads_program_logistic_path,
        .model = "logistic",
        .name = "logistic cv",
        .summary = "Chooses a logistic regression's lambda by its deviance on "
                   "rows left out.",
        .title = "deviance on rows left out",
        .classifies = true,
        .resolve = resolve,
        .wanted = wanted,
        .points = strads_logistic_path,
        .run = validate,
    };
    return cli_cv_main(&cv, argc, argv);
}
