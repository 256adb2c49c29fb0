#include "cli_refit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- adaptive penalties -------------------------------------------------- */

strads_err cli_refit_check(const cli_refit *refit)
{
    if (refit->first_fit && !(refit->adaptive > 0))
        return strads_fail(STRADS_EINVAL,
                           "--first-fit %s weighs the penalties of an adaptive "
                           "fit: give --adaptive GAMMA, as 1, too",
                           refit->first_fit);
    return STRADS_OK;
}

/* The coefficients of a model, for all columns of the data. */
static strads_err read_first_fit(const char *path, uint64_t columns,
                                 double **out)
{
    strads_model *model = NULL;
    double *first;

    CLI_TRY(cli_reserve(columns + 1, sizeof *first, "the first fit", &first));
    CLI_TRY(strads_model_read(path, NULL, &model));
    const uint32_t width = model->width;
    const uint64_t own = model->columns;
    for (uint64_t k = 0; k < model->n && width <= 1; k++)
        if (model->index[k] < columns)
            first[model->index[k]] = model->value[k];
    strads_model_free(model);
    if (width > 1)
        return strads_fail(STRADS_EINVAL,
                           "--first-fit %s: has %" PRIu32 " values for each "
                           "column; expected a linear model with one",
                           path, width);
    if (own != columns)
        return strads_fail(STRADS_EINVAL,
                           "--first-fit %s: is a model of %" PRIu64
                           " columns, and the data has %" PRIu64
                           "; fit it to the same data",
                           path, own, columns);
    *out = first;
    return STRADS_OK;
}

strads_err cli_refit_weigh(const cli_refit *refit, strads_glm_options *fit,
                           const strads_data *data,
                           const strads_engine_options *engine, bool quiet)
{
    const uint64_t columns = strads_data_cols(data);
    double *factor, *first = NULL;
    if (!(refit->adaptive > 0))
        return STRADS_OK;
    if (refit->first_fit)
        CLI_TRY(read_first_fit(refit->first_fit, columns, &first));
    CLI_TRY(cli_reserve(columns + 1, sizeof *factor, "the penalty factors",
                        &factor));
    const strads_glm_adaptive_options options = {.fit = *fit,
                                                 .gamma = refit->adaptive,
                                                 .first = first,
                                                 .threads = engine->workers,
                                                 .seed = engine->seed,
                                                 .stop = engine->stop,
                                                 .time_limit =
                                                     engine->time_limit};
    CLI_TRY(strads_glm_adaptive(data, &options, factor));
    fit->penalty_factor = factor;
    cli_say(quiet, "adaptive: the first fit is %s%s",
            first ? "the model " : "a ridge at the lambda that predicts best",
            first ? refit->first_fit : "");
    return STRADS_OK;
}

/* ---- relaxed fits -------------------------------------------------------- */

static strads_err relax(double share, const strads_glm_options *fit,
                        const volatile bool *stop, const strads_data *data,
                        const strads_path_point *points, uint32_t n,
                        strads_path_point *out)
{
    const strads_glm_relax_options options = {.fit = *fit,
                                              .share = share,
                                              .stop = stop};
    return strads_glm_relax(data, &options, points, n, out);
}

strads_err cli_refit_look(double share, const strads_glm_options *fit,
                          const strads_data *data)
{
    strads_path_point none;
    return share == 1 ? STRADS_OK
                      : relax(share, fit, NULL, data, NULL, 0, &none);
}

strads_err cli_refit_mix(double share, const cli_trained *trained,
                         const strads_path_point *points, uint32_t n,
                         const strads_path_point **out)
{
    strads_path_point *mixed;
    *out = points;
    if (share == 1)
        return STRADS_OK;
    CLI_TRY(cli_reserve(n + 1, sizeof *mixed, "the relaxed fits", &mixed));
    CLI_TRY(relax(share, trained->config, trained->engine->stop, trained->data,
                  points, n, mixed));
    *out = mixed;
    return STRADS_OK;
}

void cli_refit_apply(const cli_refit *refit, strads_model *model)
{
    const strads_path_point *point = refit->mixed;
    double *value = (double *)(uintptr_t)model->value;
    if (!point)
        return;
    for (uint64_t k = 0, e = 0; k < model->n; k++) {
        while (e < point->nonzeros && point->index[e] < model->index[k])
            e++;
        if (e < point->nonzeros && point->index[e] == model->index[k])
            value[k] = point->value[e];
    }
    model->intercept = point->intercept;
}
