/* The logistic regression along a path (apps/linear/linear_path.h). */
#ifndef LOGISTIC_PATH_H
#define LOGISTIC_PATH_H

#include "apps/linear/linear_path.h"
#include "logistic_parts.h"

extern const strads_option logistic_path_option_table[];
extern const strads_logistic_path_options logistic_path_defaults;

linear_lambdas
logistic_path_lambdas(const strads_logistic_path_options *options);

/* What strads_program says of slots with these names. */
strads_err logistic_path_shape(const void *config, const strads_data *data,
                               strads_shape *shape);
strads_err logistic_path_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **out);
strads_err logistic_path_pack(const void *state, strads_bytes *out);
strads_err logistic_path_unpack(void *state, const void *bytes, size_t size);
strads_err logistic_path_objective(void *user, strads_report *report);

/* Before the first scan: lambda_max is known, the path starts. */
void logistic_path_start(logistic_state *state);

/* After a scan that is certified: keeps the point at hand if it is reached, and
 * goes on to the first one that is not; *dual, the best bound of the scans
 * before, is another then. STRADS_ENOMEM. */
strads_err logistic_path_advance(strads_commit *commit, double *dual);

/* Columns that are expected to enter at this point, by their slopes at the one
 * before: joins at most `most` of them, the steepest. STRADS_ENOMEM. */
strads_err logistic_path_seed(logistic_state *state, uint32_t most);

#endif
