/* What the classes of a fit are, and where its intercepts start. */
#include <math.h>

#include "logistic_parts.h"

static linear_class_options given(const strads_logistic_options *options)
{
    return (linear_class_options){.classes = options->classes,
                                  .class_weight = options->class_weight,
                                  .weights = options->weights};
}

strads_err logistic_classes_of(const strads_logistic_options *options,
                               const linear_survey *survey, linear_classes *out)
{
    const linear_class_options wanted = given(options);

    return linear_classes_of(&wanted, survey, out);
}

/* Where the whole data is here, its labels tell. */
strads_err logistic_count_classes(const strads_logistic_options *options,
                                  const strads_data *data, uint32_t *out)
{
    const strads_share *share;
    linear_survey survey = {0};
    uint64_t rows = 0;

    *out = 2;
    if (options->classes && *options->classes) {
        linear_classes classes;
        const strads_err err = linear_classes_read(options->classes, &classes);
        *out = err ? 2 : classes.n;
        return err;
    }
    for (uint32_t p = 0; (share = strads_data_share(data, p)) != NULL; p++) {
        const uint64_t n = share->rows.end - share->rows.begin;
        for (uint64_t i = 0; i < n && share->label; i++)
            linear_survey_add(&survey, share->label[i], 1);
        rows += n;
    }
    if (rows == strads_data_rows(data) && survey.n > 2)
        *out = (uint32_t)survey.n;
    return STRADS_OK;
}

double logistic_first_intercept(const strads_logistic_options *options,
                                const logistic_loss *loss,
                                const linear_classes *classes, uint32_t target)
{
    const double positive = classes->sum[logistic_positive(classes, target)];

    return options->intercept
               ? loss->intercept(positive, classes->total - positive)
               : 0;
}
