/* The options of fm: table and defaults. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "apps/linear/linear_options.h"

#include "fm_parts.h"

/* The rank without a search. */
enum { FM_RANK = 8 };

const strads_fm_options fm_defaults = {.loss = "squared", .sweeps = 100};

const strads_option fm_option_table[] = {
    STRADS_OPTION(STRING, strads_fm_options, loss, "loss", "NAME",
                  "squared or logistic (default: squared)",
                  .choices = "squared|logistic"),
    STRADS_OPTION(U32, strads_fm_options, rank, "rank", "K",
                  "factors of a column, 0: none (default: chosen)",
                  .max = STRADS_FM_RANK_MAX, .keeps_zero = true),
    STRADS_OPTION(U32, strads_fm_options, sweeps, "sweeps", "N",
                  "most passes over the columns (default: 100)", .min = 1,
                  .max = UINT32_MAX),
    STRADS_OPTION(F64, strads_fm_options, lambda, "lambda", "L",
                  "weight of the penalty, 0: none (default: chosen)",
                  .max = DBL_MAX, .keeps_zero = true),
    STRADS_OPTION(F64, strads_fm_options, lambda_factors, "lambda-factors", "L",
                  "the same for the factors alone (default: --lambda)",
                  .max = DBL_MAX, .keeps_zero = true),
    STRADS_OPTION(STRING, strads_fm_options, classes, "classes", "A,B",
                  "logistic: the two labels, the second is positive "
                  "(ascending)"),
    STRADS_OPTION(U32, strads_fm_options, tune, "tune", "N",
                  "most fits that choose rank and lambda, 0: none (default: "
                  "16)",
                  .max = STRADS_FM_TRIALS, .keeps_zero = true),
    {.name = NULL}};

bool fm_is_logistic(const strads_fm_options *options)
{
    return options->loss && strcmp(options->loss, "logistic") == 0;
}

uint32_t fm_rank(const strads_fm_options *options)
{
    return options->rank == STRADS_FM_LINEAR ? 0 : options->rank;
}

static strads_err check_choices(const strads_fm_options *o)
{
    if (!fm_is_logistic(o) && strcmp(o->loss, "squared") != 0)
        return strads_fail(STRADS_EINVAL,
                           "--loss %s: expected squared or logistic", o->loss);
    if (!fm_is_logistic(o) && o->classes)
        return strads_fail(STRADS_EINVAL,
                           "--classes %s: the squared loss has no classes; "
                           "leave it out, or choose --loss logistic",
                           o->classes);
    if (fm_rank(o) > STRADS_FM_RANK_MAX)
        return strads_fail(STRADS_EINVAL,
                           "--rank %u: expected a rank from 0 to %d", o->rank,
                           STRADS_FM_RANK_MAX);
    if (o->tune > STRADS_FM_TRIALS && o->tune != STRADS_FM_NO_SEARCH)
        return strads_fail(STRADS_EINVAL,
                           "--tune %u: expected a number of fits from 0 to %d",
                           o->tune, STRADS_FM_TRIALS);
    return STRADS_OK;
}

strads_err fm_options_take(const strads_fm_options *given,
                           strads_fm_options *out)
{
    *out = *given;
    if (!out->loss)
        out->loss = fm_defaults.loss;
    if (out->rank == 0)
        out->rank = FM_RANK;
    if (out->sweeps == 0)
        out->sweeps = fm_defaults.sweeps;
    if (out->classes && !*out->classes)
        out->classes = NULL;
    strads_err err = linear_check_number("lambda", out->lambda, DBL_MAX);
    if (!err)
        err =
            linear_check_number("lambda-factors", out->lambda_factors, DBL_MAX);
    return err ? err : check_choices(out);
}
