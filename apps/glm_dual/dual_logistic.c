/* Logistic regression with a pure L2 penalty, as another loss of the dual
 * programs: times W C its objective is
 *
 *     1/2 |w|^2 + C sum c_i log(1 + exp(-y_i x_i'w)),   C = 1 / (W lambda). */
#include <string.h>

#include <strads/logistic.h>

#include "numeric/outer_kernels.h"
#include "apps/linear/linear_options.h"
#include "dual.h"

/* The options of strads_program_logistic that apply here. */
static const strads_option option_table[] = {
    LINEAR_OPTION_LAMBDA(strads_logistic_options, "c"),
    STRADS_OPTION(F64, strads_logistic_options, c, "c", "C",
                  "lambda = 1 / (C x rows), as in liblinear (default: 1)",
                  .max = DBL_MAX),
    STRADS_OPTION(F64, strads_logistic_options, l1_ratio, "l1-ratio", "0",
                  "share of |w|_1 in the penalty: none (default: 0)", .max = 1),
    LINEAR_CLASS_OPTIONS(strads_logistic_options)};

/* ---- when it applies ----------------------------------------------------- */

/* The largest C |x|^2 of a row. */
#define LARGEST 1e8

/* `labels`: their number. */
static bool suits_options(const strads_logistic_options *o, uint32_t labels)
{
    if (labels > 2 && o->multiclass && strcmp(o->multiclass, "softmax") == 0)
        return false;
    return o->l1_ratio == 0 && o->lambda_ratio == 0 && !signbit(o->lambda);
}

/* `most`: largest entry of |x|^2 per column; 0: as in the rows. */
static bool suits_share(const strads_share *share, double c, double most)
{
    const strads_sparse *x = &share->by_row;

    for (uint64_t i = 0; i < x->lines; i++) {
        double square = most * (double)(x->start[i + 1] - x->start[i]);
        for (uint64_t e = x->start[i]; most == 0 && e < x->start[i + 1]; e++) {
            const double v = x->f64 ? x->f64[e] : (double)x->f32[e];
            square += v * v;
        }
        if (c * square > LARGEST)
            return false;
    }
    return true;
}

bool strads_logistic_suits_dual(const strads_logistic_options *options,
                                const strads_data *data)
{
    const strads_share *share;
    uint32_t labels = 2;
    double most = 0;

    if (!data)
        return suits_options(options, UINT32_MAX);
    if (outer_product_suits(strads_data_rows(data), strads_data_cols(data),
                            strads_data_nnz(data)) ||
        linear_classes_count(options->classes, data, &labels) ||
        !suits_options(options, labels))
        return false;
    const double c =
        options->lambda > 0
            ? 1 / (options->lambda * (double)strads_data_rows(data))
        : options->c > 0 ? options->c
                         : 1;
    if (options->standardize) /* one row may cause all of a column's
                               * deviation */
        most = (double)strads_data_rows(data);
    for (uint32_t p = 0; (share = strads_data_share(data, p)); p++)
        if (share->by_row.start && !suits_share(share, c, most))
            return false;
    return true;
}

static strads_err resolve_logistic_dual(const void *config, dual_problem *out)
{
    const strads_logistic_options *o = config;
    strads_err err;

    if (!suits_options(o, 2))
        return strads_fail(STRADS_EINVAL,
                           "logistic-dual supports only an L2 penalty with a "
                           "given lambda or c; use logistic");
    if ((err = linear_check_number("lambda", o->lambda, DBL_MAX)) ||
        (err = linear_check_number("c", o->c, DBL_MAX)))
        return err;
    if (o->lambda > 0 && o->c > 0)
        return strads_fail(STRADS_EINVAL,
                           "lambda (%g) and c (%g) set the same number; give "
                           "one of them",
                           o->lambda, o->c);
    *out = (dual_problem){.options = {.loss = "logistic",
                                      .c = o->c > 0        ? o->c
                                           : o->lambda > 0 ? 0
                                                           : 1,
                                      .intercept = o->intercept,
                                      .standardize = o->standardize,
                                      .class_weight = o->class_weight,
                                      .weights = o->weights,
                                      .classes = o->classes,
                                      .start_intercept = o->start_intercept},
                          .loss = &dual_log_loss,
                          .weights = {o->weights, o->row_weight},
                          .lambda = o->lambda};
    return STRADS_OK;
}

/* ---- the program ------------------------------------------------------- */

static double lambda_of(const dual_state *state)
{
    return 1 / (state->problem.options.c * state->classes.total);
}

static strads_err objective_of_logistic(void *user, strads_report *report)
{
    const dual_state *state = user;

    dual_report(state, lambda_of(state), report);
    report->nonzeros = dual_total(state).nonzeros;
    return STRADS_OK;
}

strads_logistic_options strads_logistic_dual_resolved(const void *begun)
{
    const dual_state *state = begun;
    const strads_svm_options *o = &state->problem.options;

    return (strads_logistic_options){.lambda = lambda_of(state),
                                     .intercept = o->intercept,
                                     .standardize = o->standardize,
                                     .class_weight = o->class_weight,
                                     .weights = o->weights,
                                     .classes = o->classes};
}

DUAL_SLOTS(resolve_logistic_dual)

const strads_program strads_program_logistic_dual = {
    DUAL_COMPUTED,
    .named_labels = linear_classes_named,
    .name = "logistic-dual",
    .summary = "logistic regression, L2 alone, in the dual",
    .options = option_table,
    .config_size = sizeof(strads_logistic_options),
    .objective = objective_of_logistic};
