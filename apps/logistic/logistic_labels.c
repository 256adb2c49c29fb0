/* What the classes of a fit are, and where its intercepts start. */
#include <math.h>

#include "logistic_parts.h"

static linear_class_options given(const strads_logistic_options *options,
                                  const strads_names *names)
{
    return (linear_class_options){.names = names,
                                  .classes = options->classes,
                                  .class_weight = options->class_weight,
                                  .weights = options->weights};
}

strads_err logistic_classes_of(const strads_logistic_options *options,
                               const strads_names *names,
                               const linear_survey *survey, linear_classes *out)
{
    const linear_class_options wanted = given(options, names);

    return linear_classes_of(&wanted, survey, out);
}

double logistic_first_intercept(const strads_logistic_options *options,
                                const linear_classes *classes, uint32_t target)
{
    const double positive =
        classes->sum[linear_classes_positive(classes, target)];

    return options->intercept ? log(positive / (classes->total - positive)) : 0;
}
