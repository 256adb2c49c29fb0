/* The program svm-l1: the squared hinge in the place of the logistic loss.
 * Slots of strads_program with these names; its config begins with a fit's. */
#ifndef LOGISTIC_HINGE_H
#define LOGISTIC_HINGE_H

#include <strads/svm.h>

#include "logistic_parts.h"

extern const strads_svm_l1_options logistic_hinge_defaults;
extern const strads_option logistic_hinge_option_table[];
strads_err logistic_hinge_begin(const void *config, const strads_data *data,
                                const strads_shape *shape, void **out);
strads_err logistic_hinge_open(const strads_task *task, void **out);

#endif
