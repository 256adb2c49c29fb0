/* The options of fm: table and defaults. */
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "apps/linear/linear_options.h"

#include "fm_parts.h"

/* The rank without a search, and the sweeps by method. */
enum { FM_RANK = 8, FM_SWEEPS_ALS = 100, FM_SWEEPS_SGD = 30 };
static const double FM_STEP = .1;

const strads_fm_options fm_defaults = {.loss = "squared"};

const strads_option fm_option_table[] = {
    STRADS_OPTION(STRING, strads_fm_options, loss, "loss", "NAME",
                  "squared, logistic or, of order, bpr (default: squared)",
                  .choices = "squared|logistic|bpr"),
    STRADS_OPTION(STRING, strads_fm_options, method, "method", "M",
                  "als or sgd (default: als, of bpr sgd)",
                  .choices = "als|sgd"),
    STRADS_OPTION(F64, strads_fm_options, step, "step", "S",
                  "sgd: first step, falls to 1/50 of it (default: 0.1)",
                  .min = DBL_MIN, .max = 1e6),
    STRADS_OPTION(U32, strads_fm_options, context, "context", "N",
                  "bpr: columns 1 to N are the user's, others the item's",
                  .min = 1, .max = UINT32_MAX),
    STRADS_OPTION(U32, strads_fm_options, rank, "rank", "K",
                  "factors of a column, 0: none (default: chosen)",
                  .max = STRADS_FM_RANK_MAX, .keeps_zero = true),
    STRADS_OPTION(U32, strads_fm_options, sweeps, "sweeps", "N",
                  "most passes over the data (default: 100, of sgd 30)",
                  .min = 1, .max = UINT32_MAX),
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
                  "most fits that choose options, 0: none (default: 16)",
                  .max = STRADS_FM_TRIALS, .keeps_zero = true),
    {.name = NULL}};

bool fm_is_logistic(const strads_fm_options *options)
{
    return options->loss && strcmp(options->loss, "logistic") == 0;
}

bool fm_is_bpr(const strads_fm_options *options)
{
    return options->loss && strcmp(options->loss, "bpr") == 0;
}

bool fm_is_sgd(const strads_fm_options *options)
{
    return options->method ? strcmp(options->method, "sgd") == 0
                           : fm_is_bpr(options);
}

uint32_t fm_rank(const strads_fm_options *options)
{
    return options->rank == STRADS_FM_LINEAR ? 0 : options->rank;
}

static strads_err check_choices(const strads_fm_options *o)
{
    if (!fm_is_logistic(o) && !fm_is_bpr(o) && strcmp(o->loss, "squared") != 0)
        return strads_fail(STRADS_EINVAL,
                           "--loss %s: expected squared, logistic or bpr",
                           o->loss);
    if (!fm_is_logistic(o) && o->classes)
        return strads_fail(STRADS_EINVAL,
                           "--classes %s: the loss %s has no classes; leave it "
                           "out, or choose --loss logistic",
                           o->classes, o->loss);
    if (o->method && !fm_is_sgd(o) && strcmp(o->method, "als") != 0)
        return strads_fail(STRADS_EINVAL, "--method %s: expected als or sgd",
                           o->method);
    if (!fm_is_sgd(o) && (fm_is_bpr(o) || o->step != 0))
        return strads_fail(STRADS_EINVAL,
                           "%s is for --method sgd: choose it, or leave %s out",
                           fm_is_bpr(o) ? "--loss bpr" : "--step",
                           fm_is_bpr(o) ? "als" : "the step");
    if (fm_is_bpr(o) && fm_rank(o) == 0)
        return strads_fail(STRADS_EINVAL,
                           "--rank 0: without factors, --loss bpr orders items "
                           "alike for all users; give a rank from 1 to %d",
                           STRADS_FM_RANK_MAX);
    if (!fm_is_bpr(o) && o->context > 0)
        return strads_fail(STRADS_EINVAL,
                           "--context %u is for --loss bpr: leave it out",
                           o->context);
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
    if (out->method && !*out->method)
        out->method = NULL;
    const bool sgd = fm_is_sgd(out);
    if (out->sweeps == 0)
        out->sweeps = sgd ? FM_SWEEPS_SGD : FM_SWEEPS_ALS;
    if (out->classes && !*out->classes)
        out->classes = NULL;
    strads_err err = linear_check_number("lambda", out->lambda, DBL_MAX);
    if (!err)
        err =
            linear_check_number("lambda-factors", out->lambda_factors, DBL_MAX);
    if (!err)
        err = linear_check_number("step", out->step, 1e6);
    if (!err)
        err = check_choices(out);
    if (err)
        return err;
    out->method = sgd ? "sgd" : "als";
    if (sgd && out->step == 0)
        out->step = FM_STEP;
    return STRADS_OK;
}
