/* The rooms of the logistic program and what they hand to each other.
 *
 * Inside, everything is multiplied by the sum of all weights W:
 *
 *     P(w, b) = sum c_i f(y_i z_i) + L1 sum s_j |w_j| + L2/2 sum s_j^2 w_j^2,
 *     z = X w + b,   f(m) = log(1 + exp(-m)),
 *
 * with L1 = W lambda l1_ratio, L2 = W lambda (1 - l1_ratio), and s_j the scale
 * of column j (1 unless standardised). With u_i = 1 / (1 + exp(y_i z_i)) the
 * loss slopes down by r_i = c_i y_i u_i along z_i, and curves by c_i u_i
 * (1 - u_i). Coefficients are always those of the data as they stand.
 *
 * Workers hold rows, z and r. The coordinator holds numbers by column, the
 * columns of the working set, and of each row y, c and z. Parameter j is
 * column j; with an intercept b is the next one. An L2 penalty alone on few
 * columns has those of linear_ridge.h. */
#ifndef LOGISTIC_PARTS_H
#define LOGISTIC_PARTS_H

#include "logistic_local.h"
#include "logistic_state.h"

/* ---- labels ------------------------------------------------------------ */

/* logistic_labels.c */
/* The classes and their weights, or a sentence why not. */
strads_err logistic_classes_of(const strads_logistic_options *options,
                               const strads_names *names,
                               const linear_survey *survey,
                               linear_classes *out);
/* b where w is 0; 0 without an intercept. */
double logistic_first_intercept(const strads_logistic_options *options,
                                const linear_classes *classes, uint32_t target);

/* ---- one partition ----------------------------------------------------- */

/* logistic_state.c: what strads_program says of slots with these names. */
strads_err logistic_open(const strads_task *task, void **out);
void logistic_close(void *opened);
/* Turns class weights into c, and labels into y of the first problem. */
void logistic_take_classes(logistic_local *local, const strads_share *share,
                           linear_classes *classes);
/* One of several problems begins, from b and the w that all agree on, all
 * columns of which are the task's block: y and z. */
void logistic_take_target(logistic_local *local, const strads_task *task,
                          uint32_t target, double b);

/* Blocks' ids: moments' and turns' tell whose problem begins; fewer and fewer
 * columns are alive, so they have the round's; a fetch's are above 2^40. */
enum {
    LOGISTIC_SCALARS_ID = 0,
    LOGISTIC_MOMENTS_ID = 1,
    LOGISTIC_TURN_ID = LOGISTIC_MOMENTS_ID + LINEAR_LABELS_MAX,
    LOGISTIC_DIRECTION_ID = LOGISTIC_TURN_ID + LINEAR_LABELS_MAX,
    LOGISTIC_ALIVE_ID
};

/* logistic.c: brings z up to what has been told. */
void logistic_catch_up(logistic_local *local, const strads_share *share);
logistic_rows logistic_rows_of(const logistic_local *local);

/* logistic_start.c: of the phases with these names. */
strads_err logistic_update_labels(strads_task *task);
strads_err logistic_receive_labels(strads_task *task);
size_t logistic_partial_moments(const strads_task *task);
strads_err logistic_update_moments(strads_task *task);
strads_err logistic_update_rows(strads_task *task);
strads_err logistic_update_level(strads_task *task);
strads_err logistic_aggregate_labels(strads_commit *commit);
strads_err logistic_aggregate_moments(strads_commit *commit);
strads_err logistic_aggregate_level(strads_commit *commit);
strads_err logistic_aggregate_rows(strads_commit *commit);

/* ---- the coordinator --------------------------------------------------- */

/* logistic_state.c: what strads_program says of slots with these names. */
strads_err logistic_shape(const void *config, const strads_data *data,
                          strads_shape *shape);
strads_err logistic_begin(const void *config, const strads_data *data,
                          const strads_shape *shape, void **out);
void logistic_end(void *begun);

/* Whether Newton's method on the whole is the way. */
bool logistic_is_ridge(const strads_logistic_options *options,
                       const strads_data *data, uint32_t width);

/* Below it, but for 0, lambda_max says nothing any more. */
#define LOGISTIC_L1_RATIO_MIN 1e-3

/* strads_commit_also for the problem at hand. */
strads_err logistic_also(strads_commit *commit, uint32_t n,
                         const uint32_t *param, const double *change);
/* Forgets all that belongs to a problem. */
void logistic_begin_problem(logistic_state *state);
/* The problem at hand has another lambda: what is known of the old one goes. */
void logistic_begin_lambda(logistic_state *state, double lambda);

/* logistic_options.c: checks a config; fills defaults in. */
extern const strads_option logistic_option_table[];
extern const strads_logistic_options logistic_defaults;
strads_err logistic_options_resolve(const strads_logistic_options *given,
                                    strads_logistic_options *out);

/* logistic_moments.c: scales, lambda_max and lambda from merged X'r at w = 0
 * [p], the sides, sum c x^2 [p] and, with an intercept, sum c x [p]. */
void logistic_set_moments(logistic_state *state, const double *merged);

/* logistic_certificate.c: P, D and the gap at w from a scan of the columns of
 * `block`: merged X'r, and the sides; leaves the slopes in the state. */
void logistic_certify(logistic_state *state, const strads_block *block,
                      const double *merged, const double *w);

/* logistic_choice.c: who belongs to the working set, how urgent each member
 * is; drops columns that cannot enter any more. `dual` is the best of the
 * scans before. */
strads_err logistic_choose(strads_commit *commit, double dual);

/* logistic_set.c: the loss of a set at margins z; column j joins from w; takes in
 * the next members' columns; the rows' y and c: one number each, y c, whose sign
 * is there for c = 0, too. */
double logistic_freeze(const void *state, const double *z, double *root,
                       double *rest);
strads_err logistic_set_join(logistic_state *state, uint32_t j, double w);
/* Empties it, but for its memory. */
void logistic_set_clear(logistic_state *state);
strads_err logistic_take_columns(strads_commit *commit);
strads_err logistic_take_rows(strads_commit *commit);
/* Aggregates of a block, and of the line search behind it. */
strads_err logistic_solve_block(strads_commit *commit);
strads_err logistic_search(strads_commit *commit);

/* logistic_softmax.c: whether options and width ask for it. */
bool logistic_is_softmax(const strads_logistic_options *options,
                         uint32_t width);
/* The b that a softmax with intercepts begins from: the start's, or log of the
 * class's share, which is best where w = 0. */
double logistic_softmax_intercept(const logistic_state *state, uint32_t k);
/* A worker's: margins at the start, of the w and b in the task's block, which
 * is of all parameters; another class's turn; a look at the whole. */
strads_err logistic_softmax_start(const strads_task *task);
void logistic_softmax_turn(strads_task *task);
strads_err logistic_judge(strads_task *task);
size_t logistic_judge_size(uint32_t columns, uint32_t k);
/* The coordinator's: rows of a turn; the certificate of the whole; what comes
 * after a turn. */
strads_err logistic_softmax_rows(strads_commit *commit);
strads_err logistic_aggregate_judge(strads_commit *commit);
void logistic_softmax_next(logistic_state *state);

/* logistic_laps.c: after a look at the whole, whose numbers the commit has:
 * whether something is to be told; tells the change of the class at hand. */
strads_err logistic_laps_new(logistic_state *state);
void logistic_laps_free(logistic_laps *laps);
void logistic_laps_judge(logistic_state *state, const strads_commit *commit);
strads_err logistic_laps_tell(strads_commit *commit);

/* The places of phases in the program's table. */
enum {
    LOGISTIC_LABELS,
    LOGISTIC_MOMENTS,
    LOGISTIC_TARGET,
    LOGISTIC_ROWS,
    LOGISTIC_LEVEL,
    LOGISTIC_SCAN,
    LOGISTIC_FETCH,
    LOGISTIC_SOLVE,
    LOGISTIC_SEARCH,
    LOGISTIC_HESSIAN,
    LOGISTIC_PRODUCT,
    LOGISTIC_JUDGE
};

#endif
