/* The Lasso along a path (apps/linear/linear_path.h). */
#ifndef LASSO_PATH_H
#define LASSO_PATH_H

#include "apps/linear/linear_path.h"
#include "lasso_parts.h"

extern const strads_option lasso_path_option_table[];
extern const strads_lasso_path_options lasso_path_defaults;

linear_lambdas lasso_path_lambdas(const strads_lasso_path_options *options);

/* What strads_program says of slots with these names. */
strads_err lasso_path_shape(const void *config, const strads_data *data,
                            strads_shape *shape);
strads_err lasso_path_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out);
strads_err lasso_path_pack(const void *state, strads_bytes *out);
strads_err lasso_path_unpack(void *state, const void *bytes, size_t size);
strads_err lasso_path_objective(void *user, strads_report *report);

/* Before the first scan: lambda_max is known, the path starts. */
void lasso_path_start(lasso_state *state);

/* After a scan that is certified: keeps the point at hand if it is reached, and
 * goes on to the first one that is not; *dual, the best bound of the scans
 * before, is another then. STRADS_ENOMEM. */
strads_err lasso_path_advance(strads_commit *commit, double *dual);

/* Columns that the strong rule expects to enter at this point, by their slopes
 * at the one before: joins at most `most` of them, the steepest. */
void lasso_path_seed(lasso_state *state, uint32_t most);

#endif
