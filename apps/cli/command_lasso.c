/* strads lasso train, strads lasso predict. */
#include <inttypes.h>
#include <math.h>

#include "cli_predict.h"
#include "cli_train.h"
#include "command.h"
#include "strads/lasso.h"

/* ---- train ------------------------------------------------------------- */

/* A model tells its lambda, not how it was found. */
static void resolve(const void *state, void *config)
{
    strads_lasso_options *options = config;
    options->lambda = strads_lasso_lambda(state);
    options->lambda_ratio = 0;
}

static void complete(const void *state, strads_model *model)
{
    model->intercept = strads_lasso_intercept(state);
}

static void describe(const void *state)
{
    double lambda = strads_lasso_lambda(state);
    double lambda_max = strads_lasso_lambda_max(state);
    if (lambda_max > 0) {
        cli_say(false, "lambda %.6g, which is %.4g of lambda_max %.6g", lambda,
                lambda / lambda_max, lambda_max);
    } else {
        cli_say(false, "lambda %.6g; no column says anything about the labels",
                lambda);
    }
}

int cli_lasso_train(int argc, char **argv)
{
    static const cli_train train = {
        .program = &strads_program_lasso,
        .name = "lasso train",
        .summary = "Trains a Lasso or an elastic net on LIBSVM or "
                   "MatrixMarket data.",
        .options = "Lasso:",
        .resolve = resolve,
        .complete = complete,
        .describe = describe,
    };
    return cli_train_main(&train, argc, argv);
}

/* ---- predict ----------------------------------------------------------- */

static uint32_t values(const void *arg, const double *sum, double *out)
{
    (void)arg;
    out[0] = sum[0];
    return 1;
}

static void tell(const void *arg, const cli_tally *tally)
{
    (void)arg;
    cli_say(false, "%" PRIu64 " rows, root mean squared error %.6g",
            tally->rows, sqrt(tally->loss / (double)tally->rows));
}

static void judge(const void *arg, const double *sum, double label,
                  cli_tally *tally)
{
    (void)arg;
    tally->loss += (sum[0] - label) * (sum[0] - label);
}

int cli_lasso_predict(int argc, char **argv)
{
    static const cli_predict predict = {
        .program = "lasso",
        .name = "lasso predict",
        .summary = "Writes a model's prediction for each row of the data, one "
                   "a line. Columns that the model does not know count "
                   "nothing.",
        .values = values,
        .judge = judge,
        .tell = tell,
    };
    return cli_predict_main(&predict, argc, argv);
}

int cli_lasso_evaluate(int argc, char **argv)
{
    static const cli_predict predict = {.program = "lasso", .judge = judge};
    return cli_evaluate_main(&predict, "lasso evaluate", argc, argv);
}
