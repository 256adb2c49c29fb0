/* A path: one run that goes from lambda to lambda. A scan that shows one point
 * to be reached is the first scan of the next: what is known of the columns is
 * the same, and only bounds and thresholds are others. */
#ifndef LASSO_PATH_H
#define LASSO_PATH_H

#include "lasso_parts.h"

typedef struct lasso_path {
    strads_lasso_path_options options; /* defaults filled in */
    strads_lasso_point *point;         /* [options.points], n of them reached */
    uint32_t n;
    double first;  /* lambda of point 0 */
    double before; /* L1 of the point before the one at hand */
    double worst;  /* of the gaps of points reached */
    bool fresh;    /* no block has been solved for the point at hand */
} lasso_path;

extern const strads_option lasso_path_option_table[];
extern const strads_lasso_path_options lasso_path_defaults;

/* What strads_program says of slots with these names. */
strads_err lasso_path_shape(const void *config, const strads_data *data,
                            strads_shape *shape);
strads_err lasso_path_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out);
strads_err lasso_path_objective(void *user, strads_report *report);
void lasso_path_free(lasso_path *path);

/* Before the first scan: lambda_max is known, the path starts. */
void lasso_path_start(lasso_state *state);

/* After a scan that is certified: keeps the point at hand if it is reached, and
 * goes on to the first one that is not; *dual, the best bound of the scans
 * before, is another then. STRADS_ENOMEM. */
strads_err lasso_path_advance(strads_commit *commit, double *dual);

/* Whether all points are reached. */
bool lasso_path_is_over(const lasso_path *path);

/* Columns that the strong rule expects to enter at this point, by their slopes
 * at the one before: joins at most `most` of them, the steepest. */
void lasso_path_seed(lasso_state *state, uint32_t most);

#endif
