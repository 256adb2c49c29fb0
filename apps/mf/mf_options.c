/* The options of matrix factorisation: table, defaults and checks. The table
 * checks options from the command line and JSON. Structs that C programs fill
 * in are checked here. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "mf_parts.h"

enum { RANK_MAX = 1024, RANK = 16, EXACT_MAX = 32, CG_STEPS = 3 };
static const double IMPLICIT_LAMBDA = 1, STEP = .08, HOLDOUT = .02;
static const double PAIRS_LAMBDA = .01, PAIRS_STEP = .1;

/* Without the options that strads_mf_tune chooses where they are 0. */
const strads_mf_options mf_defaults = {.sweeps = 20, .patience = 3, .alpha = 1};

const strads_option mf_option_table[] = {
    STRADS_OPTION(U32, strads_mf_options, rank, "rank", "K",
                  "factors, 0: biases alone (default: chosen)", .max = RANK_MAX,
                  .keeps_zero = true),
    STRADS_OPTION(U32, strads_mf_options, sweeps, "sweeps", "N",
                  "passes over the ratings at most (default: 20)", .min = 1,
                  .max = 1e6),
    STRADS_OPTION(STRING, strads_mf_options, test, "test", "FILE",
                  "ratings to measure the error on (default: none)"),
    STRADS_OPTION(STRING, strads_mf_options, method, "method", "M",
                  "sgd; rows: als, cd; ranks: ccd++ (sgd if it can)",
                  .choices = "sgd|als|cd|ccd++"),
    STRADS_OPTION(STRING, strads_mf_options, loss, "loss", "LOSS",
                  "squared; of items' order: bpr, warp (default: squared)",
                  .choices = "squared|bpr|warp"),
    STRADS_OPTION(BOOL, strads_mf_options, implicit, "implicit", NULL,
                  "ratings are counts of views or plays (default: no)"),
    STRADS_OPTION(BOOL, strads_mf_options, nonnegative, "nonnegative", NULL,
                  "factors of at least 0 (default: no)"),
    STRADS_OPTION(F64, strads_mf_options, alpha, "alpha", "A",
                  "implicit: confidence 1 + A x rating (default: 1)",
                  .min = FLT_MIN, .max = 1e6),
    STRADS_OPTION(U32, strads_mf_options, cg_steps, "cg-steps", "N",
                  "implicit: conjugate gradients, 0: exact (3 from rank 33)",
                  .rare = true, .max = 1000, .keeps_zero = true),
    STRADS_OPTION(F64, strads_mf_options, step, "step", "S",
                  "first step, falls to 1/50 of it (default: chosen)",
                  .min = FLT_MIN, .max = 1e6),
    STRADS_OPTION(F64, strads_mf_options, lambda, "lambda", "L",
                  "penalty of each rating (default: chosen)", .max = 1e6,
                  .keeps_zero = true),
    STRADS_OPTION(BOOL, strads_mf_options, unweighted, "unweighted", NULL,
                  "penalise a row once, not once a rating (default: no)",
                  .rare = true),
    STRADS_OPTION(F64, strads_mf_options, holdout, "holdout", "H",
                  "share of ratings held out (default: 0.1 in a search)",
                  .max = .9, .keeps_zero = true),
    STRADS_OPTION(U32, strads_mf_options, patience, "patience", "N",
                  "stop if the held-out error rises N times in a row (3)",
                  .rare = true, .min = 1, .max = 1e6),
    STRADS_OPTION(U32, strads_mf_options, stop_after, "stop-after", "N",
                  "end after sweep N of --sweeps (default: chosen)",
                  .rare = true, .min = 1, .max = 1e6),
    STRADS_OPTION(U32, strads_mf_options, tune, "tune", "N",
                  "fits that choose options, 0: none (default: 16)",
                  .max = STRADS_MF_TRIALS, .keeps_zero = true),
    STRADS_OPTION(BOOL, strads_mf_options, no_clip, "no-clip", NULL,
                  "predictions may leave the ratings' range (default: no)"),
    STRADS_OPTION(BOOL, strads_mf_options, no_biases, "no-biases", NULL,
                  "leave out means of users and items (default: no)"),
    STRADS_OPTION(STRING, strads_mf_options, scratch, "scratch", "DIR",
                  "sgd, als, cd: keep the ratings there (default: in memory)",
                  .rare = true, .of_machine = true),
    STRADS_OPTION(STRING, strads_mf_options, user, "user", "NAME",
                  "column of users (default: by common names)"),
    STRADS_OPTION(STRING, strads_mf_options, item, "item", "NAME",
                  "column of items (default: by common names)"),
    STRADS_OPTION(STRING, strads_mf_options, rating, "rating", "NAME",
                  "column of ratings (default: by common names)"),
    STRADS_OPTION(STRING, strads_mf_options, time, "time", "NAME",
                  "column of times: a bias of each period (default: none)"),
    STRADS_OPTION(STRING, strads_mf_options, holdout_by, "holdout-by", "HOW",
                  "hold out at random or each user's last (random)",
                  .rare = true, .choices = "random|time"),
    {.name = NULL}};

uint32_t mf_stride(uint32_t rank)
{
    return (rank + MF_LANES - 1) / MF_LANES * MF_LANES;
}

double mf_lambda_each(const strads_mf_options *o, const mf_scale *scale,
                      uint64_t users, uint32_t items)
{
    const double n = scale->n;

    return o->unweighted ? n / sqrt((double)users * (double)items) : 1;
}

bool mf_by_rows(const strads_mf_options *o)
{
    return strcmp(o->method, "als") == 0 || strcmp(o->method, "cd") == 0;
}

bool mf_by_ranks(const strads_mf_options *o)
{
    return strcmp(o->method, "ccd++") == 0;
}

uint32_t mf_rank(const strads_mf_options *o)
{
    return o->rank == STRADS_MF_BIASES ? 0 : o->rank;
}

bool mf_from_zero(const strads_mf_options *o)
{
    return o->implicit || (o->nonnegative && o->no_biases);
}

uint32_t mf_slab(const strads_mf_options *o)
{
    return strcmp(o->method, "cd") == 0 ? MF_TILE : mf_stride(mf_rank(o));
}

bool mf_by_pairs(const strads_mf_options *o)
{
    return o->loss && strcmp(o->loss, "squared") != 0;
}

bool mf_holds_last(const strads_mf_options *o)
{
    return o->holdout_by && strcmp(o->holdout_by, "time") == 0;
}

bool mf_conjugates(const strads_mf_options *o)
{
    return o->implicit && o->cg_steps != 0 && o->cg_steps != STRADS_MF_EXACT;
}

/* Whether rows of implicit feedback may be solved by conjugate gradients. */
static bool may_conjugate(const strads_mf_options *o)
{
    return o->implicit && !o->nonnegative && strcmp(o->method, "als") == 0;
}

static void fill_in(strads_mf_options *o)
{
    if (mf_by_pairs(o)) {
        o->implicit = true;
        if (!o->method)
            o->method = "sgd";
        if (o->lambda == 0 && !signbit(o->lambda))
            o->lambda = PAIRS_LAMBDA;
        if (o->step == 0)
            o->step = PAIRS_STEP;
    }
    if (!o->loss)
        o->loss = "squared";
    if (o->rank == STRADS_MF_BIASES && !o->implicit)
        o->method = "sgd"; /* the method that allows no factors */
    if (!o->method)
        o->method = o->implicit || o->nonnegative ? "als" : "sgd";
    o->no_biases |= o->implicit;
    if (o->alpha == 0)
        o->alpha = mf_defaults.alpha;
    if (o->implicit && o->lambda == 0 && !signbit(o->lambda))
        o->lambda = IMPLICIT_LAMBDA;
    if (o->rank == 0)
        o->rank = RANK;
    if (o->sweeps == 0)
        o->sweeps = mf_defaults.sweeps;
    if (mf_rank(o) == 0)
        o->sweeps = 1; /* of nothing */
    if (o->stop_after == 0 || o->stop_after > o->sweeps)
        o->stop_after = o->sweeps;
    if (o->step == 0)
        o->step = STEP;
    if (o->holdout == 0 && !signbit(o->holdout))
        o->holdout = o->implicit ? -0. : HOLDOUT;
    if (o->patience == 0)
        o->patience = mf_defaults.patience;
    if (o->cg_steps == 0 && may_conjugate(o))
        o->cg_steps = o->rank > EXACT_MAX ? CG_STEPS : STRADS_MF_EXACT;
}

/* Refuses options that ranking losses do not use. */
static strads_err check_pairs(const strads_mf_options *o)
{
    const char *const useless = strcmp(o->method, "sgd") != 0   ? "method"
                                : o->alpha != mf_defaults.alpha ? "alpha"
                                : o->unweighted                 ? "unweighted"
                                : o->test                       ? "test"
                                : o->cg_steps                   ? "cg-steps"
                                                                : NULL;

    if (strcmp(o->loss, "bpr") != 0 && strcmp(o->loss, "warp") != 0)
        return strads_fail(STRADS_EINVAL,
                           "loss is \"%s\"; expected squared, bpr or warp",
                           o->loss);
    if (useless)
        return strads_fail(STRADS_EINVAL,
                           "%s has no effect on loss %s, which is solved by "
                           "sgd over pairs of items; leave it out%s",
                           useless, o->loss,
                           o->test ? ", and measure with mf evaluate" : "");
    return STRADS_OK;
}

/* Refuses options that implicit feedback does not use. */
static strads_err check_implicit(const strads_mf_options *o)
{
    const bool searches = o->tune != 0 && o->tune != STRADS_MF_NO_SEARCH;
    const char *const useless = o->holdout != 0 ? "holdout"
                                : searches      ? "tune"
                                : o->no_clip    ? "no-clip"
                                                : NULL;

    return useless ? strads_fail(STRADS_EINVAL,
                                 "%s has no effect on implicit feedback, "
                                 "which holds out no ratings, searches no "
                                 "options and clips no predictions; leave it "
                                 "out",
                                 useless)
                   : STRADS_OK;
}

static strads_err check_method(const strads_mf_options *o)
{
    const bool sgd = strcmp(o->method, "sgd") == 0;

    if (!sgd && !mf_by_rows(o) && !mf_by_ranks(o))
        return strads_fail(STRADS_EINVAL,
                           "method is \"%s\"; expected sgd, als, cd or ccd++",
                           o->method);
    if (o->scratch && (mf_by_ranks(o) || mf_by_pairs(o)))
        return strads_fail(STRADS_EINVAL,
                           "scratch is for methods sgd, als and cd with the "
                           "squared loss, which visit ratings block by block; "
                           "leave it out");
    if (o->implicit && !mf_by_pairs(o) && strcmp(o->method, "als") != 0)
        return strads_fail(STRADS_EINVAL,
                           "implicit feedback needs method als, because its "
                           "equations are over all pairs; method is %s",
                           o->method);
    if (o->cg_steps != 0 && !may_conjugate(o))
        return strads_fail(STRADS_EINVAL,
                           "cg-steps is for implicit feedback with factors of "
                           "any sign; %s",
                           o->implicit ? "leave out nonnegative, or cg-steps"
                                       : "add implicit, or leave it out");
    if (mf_rank(o) == 0 && (o->implicit || o->no_biases))
        return strads_fail(STRADS_EINVAL,
                           "rank 0 is mean and biases alone, which %s leaves "
                           "out; expected 1 to %d",
                           o->implicit ? "implicit feedback" : "no-biases",
                           RANK_MAX);
    if (o->nonnegative && sgd && mf_rank(o) > 0)
        return strads_fail(
            STRADS_EINVAL,
            "factors from 0 up need method als, cd or ccd++, not sgd");
    return STRADS_OK;
}

static strads_err check_times(const strads_mf_options *o)
{
    if (o->holdout_by && strcmp(o->holdout_by, "random") != 0 &&
        !mf_holds_last(o))
        return strads_fail(STRADS_EINVAL,
                           "holdout-by is \"%s\"; expected random or time",
                           o->holdout_by);
    if (mf_holds_last(o) && !o->time)
        return strads_fail(STRADS_EINVAL,
                           "holdout-by time needs the times: add time, the "
                           "name of their column");
    if (o->time && o->no_biases)
        return strads_fail(STRADS_EINVAL,
                           "time adds biases of periods, which %s leaves out; "
                           "leave it out",
                           o->implicit ? "implicit feedback" : "no-biases");
    if (o->time && o->scratch)
        return strads_fail(STRADS_EINVAL,
                           "times are kept in memory: leave out scratch, or "
                           "time");
    return STRADS_OK;
}

strads_err mf_options_resolve(const strads_mf_options *given,
                              strads_mf_options *out)
{
    strads_mf_options o = *given;

    fill_in(&o);
    strads_err err = check_method(&o);
    if (!err && mf_by_pairs(&o))
        err = check_pairs(&o);
    if (!err)
        err = check_times(&o);
    if (!err && o.implicit)
        err = check_implicit(&o);
    if (err)
        return err;
    if (mf_rank(&o) > RANK_MAX)
        return strads_fail(STRADS_EINVAL, "rank is %u; expected 0 to %d",
                           o.rank, RANK_MAX);
    if (!(o.step > 0) || !isfinite(o.step) || !(o.lambda >= 0) ||
        !isfinite(o.lambda))
        return strads_fail(STRADS_EINVAL,
                           "step is %g, lambda %g; expected a finite number "
                           "above 0, and one from 0 up",
                           o.step, o.lambda);
    if (!(o.alpha > 0) || !isfinite(o.alpha))
        return strads_fail(STRADS_EINVAL,
                           "alpha is %g; expected a finite number above 0",
                           o.alpha);
    if (!(o.holdout >= 0) || !(o.holdout < 1))
        return strads_fail(STRADS_EINVAL,
                           "holdout is %g; expected a number from 0 to below 1",
                           o.holdout);
    *out = o;
    return STRADS_OK;
}
