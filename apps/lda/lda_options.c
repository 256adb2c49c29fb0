/* The options, their defaults and what has to hold between them. */
#include "lda_parts.h"

#include <stddef.h>
#include <string.h>

#define OPTION(field, kind_, ...)                                     \
    {                                                                 \
        .kind = kind_, .offset = offsetof(strads_lda_options, field), \
        __VA_ARGS__                                                   \
    }

const strads_option lda_option_table[] = {
    OPTION(topics, STRADS_OPTION_U32, .name = "topics", .metavar = "K",
           .help = "topics, 2 .. 65535 (default: 100)", .min = 2, .max = 65535),
    OPTION(alpha, STRADS_OPTION_F64, .name = "alpha", .metavar = "A",
           .help = "prior of a document's topics (default: 0.1)", .min = 1e-9,
           .max = 1e6),
    OPTION(beta, STRADS_OPTION_F64, .name = "beta", .metavar = "B",
           .help = "prior of a topic's words (default: 0.01)", .min = 1e-9,
           .max = 1e6),
    OPTION(sweeps, STRADS_OPTION_U32, .name = "sweeps", .metavar = "N",
           .help = "draws of every token (default: 100)", .min = 1, .max = 1e9),
    OPTION(evaluate, STRADS_OPTION_U32, .name = "evaluate", .metavar = "N",
           .help = "sweeps from report to report (default: 1)", .min = 1,
           .max = 1e9),
    OPTION(fit_alpha, STRADS_OPTION_STRING, .name = "fit-alpha",
           .metavar = "HOW", .help = "no, symmetric, asymmetric: learn it (no)",
           .choices = "no|symmetric|asymmetric"),
    OPTION(fit_beta, STRADS_OPTION_BOOL, .name = "fit-beta",
           .help = "learn beta, too (default: no)"),
    OPTION(burn_in, STRADS_OPTION_U32, .name = "burn-in", .metavar = "N",
           .help = "sweeps before priors are learned (default: 10)", .min = 1,
           .max = 1e9),
    OPTION(sampler, STRADS_OPTION_STRING, .name = "sampler", .metavar = "HOW",
           .help = "exact, mh: Metropolis-Hastings (exact)",
           .choices = "exact|mh"),
    OPTION(mh_steps, STRADS_OPTION_U32, .name = "mh-steps", .metavar = "N",
           .help = "mh: pairs of proposals for a token (default: 2)", .min = 1,
           .max = 1000),
    OPTION(from, STRADS_OPTION_STRING, .name = "from", .metavar = "MODEL",
           .help = "go on from its counts, with new documents (none)"),
    OPTION(keep_assignments, STRADS_OPTION_BOOL, .name = "keep-assignments",
           .help = "keep tokens' topics in the result (default: no)"),
    {.name = NULL},
};

const strads_lda_options lda_defaults = {
    .topics = 100,
    .alpha = 0.1,
    .beta = 0.01,
    .sweeps = 100,
    .evaluate = 1,
    .fit_alpha = "no",
    .burn_in = 10,
    .sampler = "exact",
    .mh_steps = 2,
};

static strads_err refuse(const char *name, double value, const char *wanted)
{
    return strads_fail(STRADS_EINVAL, "%s is %g: expected %s", name, value,
                       wanted);
}

strads_err lda_options_check(const strads_lda_options *o)
{
    if (o->topics < 2 || o->topics > 65535)
        return refuse("topics", o->topics, "2 to 65535");
    if (!(o->alpha > 0 && o->alpha <= 1e6))
        return refuse("alpha", o->alpha, "a number above 0, up to 1e6");
    if (!(o->beta > 0 && o->beta <= 1e6))
        return refuse("beta", o->beta, "a number above 0, up to 1e6");
    if (o->sweeps == 0 || o->evaluate == 0)
        return refuse(o->sweeps ? "evaluate" : "sweeps", 0, "1 or more");
    if (lda_is_mh(o) && o->mh_steps == 0)
        return refuse("mh-steps", 0, "1 or more");
    return STRADS_OK;
}

bool lda_fits_alpha(const strads_lda_options *o)
{
    return o->fit_alpha && strcmp(o->fit_alpha, "no") != 0;
}

bool lda_is_evaluated(const strads_lda_options *o, uint64_t sweep)
{
    return sweep % o->evaluate == 0 || sweep == o->sweeps;
}
