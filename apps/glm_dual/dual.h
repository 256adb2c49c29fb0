/* The rooms of the SVM program and what they hand to each other.
 *
 * Every loss here is, for a residual r = target - z with z = x'w,
 *
 *     loss(r) = max over low <= b <= high of  b r - e |b| - d/2 b^2
 *
 * so that one set of formulas does for all (dual_loss.h). The dual is
 *
 *     maximise D(b) = sum (target_i b_i - e |b_i| - d_i/2 b_i^2) - 1/2 |w|^2
 *     with w = X'b
 *
 * with a variable for each row. Hsieh, Chang, Lin, Keerthi, Sundararajan, ICML
 * 2008, ascend in one of them at a time; Ho and Lin, JMLR 2012, do it for
 * regression. What the policy schedules are groups of some neighbouring rows:
 * enough of them that the coordinator has little to do for each, and few enough
 * that they are worth choosing.
 *
 * Groups are dealt out among the partitions of a pool anew in each pass: any of
 * them may be given any group. Each ascends with a w of its own. What all have
 * done since is added up (joined, within a pool; merged, for the store); that
 * this cannot overshoot is bought with a curvature s times the true one, s
 * measured each time: for changes d_k of w |sum d_k|^2 / sum |d_k|^2, which is
 * 1 where partitions do not meet and K at worst. Ma et al., "Adding vs.
 * Averaging in Distributed Primal-Dual Optimization", ICML 2015, prove it for
 * s = K.
 *
 * An intercept that is not penalised is a bias column and an offset of all
 * rows' z, the level, which takes over what the column's coefficient comes to
 * from time to time: dual_level.c.
 *
 * With --standardize all of this is of columns over their scales s, and w
 * stands for S w, from the survey until the run ends.
 *
 * Parameters: the coefficients of the columns, that of the bias; the groups,
 * whose values are their parts of D; the rows' b_i, as of the last scan, which
 * no policy chooses. Shared totals: s, how steep a fall lets a row rest, the
 * level. */
#ifndef DUAL_H
#define DUAL_H

#include "dual_local.h"
#include "dual_state.h"

/* ---- one partition ----------------------------------------------------- */

/* dual_state.c: what strads_program says of slots with these names, but for the
 * problem, which is the program's. */
strads_err dual_open(const strads_task *task, const dual_problem *problem,
                     void **out);
void dual_close(void *opened);
/* |x|^2 of each row, with the bias. */
void dual_take_squares(dual_local *local, const strads_share *share);
/* Another B, for the squares too. */
void dual_set_bias(dual_local *local, double bias);

/* dual_ascend.c: a pass over the rows of a block's groups, but those that rest.
 * What is told of a group is its rows' share of the gap, or -1 when all of them
 * rest; then, of each group, the entries of those that do not. Behind stand the
 * steepest rise of D that was found, how many rows were looked at, how many of
 * them are between their bounds, how many came there or left, and |w|^2 where
 * the block began. */
enum {
    DUAL_WORST,
    DUAL_VISITS,
    DUAL_INSIDE,
    DUAL_CROSSED,
    DUAL_REACHED,
    DUAL_ASCEND_MORE
};
size_t dual_partial_ascend(const strads_task *task);
strads_err dual_update_ascend(strads_task *task);

/* dual_guess.c: b to begin with, of the logistic loss, where w is 0, and their
 * w. |w|^2 then. */
double dual_guess(dual_local *local, const strads_share *share);

/* dual_scan.c: all rows of a partition, looked at from the w that all agree
 * on. */
size_t dual_partial_scan(const strads_task *task);
strads_err dual_update_scan(strads_task *task);
size_t dual_partial_seed(const strads_task *task);
strads_err dual_update_seed(strads_task *task);
strads_err dual_update_take(strads_task *task);

/* ---- the coordinator --------------------------------------------------- */

/* dual_state.c: what strads_program says of slots with these names. */
strads_err dual_shape(const dual_problem *problem, const strads_data *data,
                      strads_shape *shape);
strads_range dual_owned(const void *config, const strads_data *data,
                        const strads_shape *shape, uint32_t partition);
double dual_weight(const void *config, const strads_data *data, uint32_t j);
/* The entries of all rows of group i. */
double dual_group_entries(const dual_state *state, uint64_t i);
strads_err dual_begin(const dual_problem *problem, const strads_data *data,
                      const strads_shape *shape, void **out);
void dual_end(void *begun);

/* dual_options.c */
extern const strads_option dual_option_table[];
extern const strads_svm_options dual_defaults;
/* Checks a config; fills defaults in. */
strads_err dual_options_resolve(const strads_svm_options *given,
                                dual_problem *out);

/* dual.c: how a run goes, and its phases, whatever the loss; so all slots but
 * those that look at a program's options. */
strads_err dual_schedule(strads_turn *turn);
extern const strads_phase dual_phases[];

#define DUAL_COMPUTED                                                        \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,              \
    .layout = STRADS_LAYOUT_ROWS, .weight = dual_weight, .end = dual_end,    \
    .close = dual_close, .refresh = dual_refresh, .schedule = dual_schedule, \
    .winds_up = true, .phases = dual_phases, .n_phases = DUAL_PHASES,        \
    .owned = dual_owned, .pooled = true

/* dual_pass.c: what the policy is told, so that it chooses each group that does
 * not rest once a pass. The first pass; a block's end; a partition's scan, of
 * which the last one counts state->seen up to the partitions. */
void dual_begin_passes(strads_commit *commit);
strads_err dual_begin_first_passes(strads_commit *commit);
strads_err dual_aggregate_ascend(strads_commit *commit);
void dual_pass_scanned(strads_commit *commit);

/* dual_targets.c: everything of a problem begins anew, on the coordinator and on
 * a partition, there from the w of all. */
void dual_begin_problem(dual_state *state);
void dual_open_problem(dual_local *local, const strads_task *task);
/* After a scan, or when b has been taken over: what comes next in this problem,
 * or, if it is through, the next one. */
void dual_judge(dual_state *state, double tolerance);
/* P where w is 0, for problems whose turn has not come. */
void dual_note_first_values(dual_state *state);
/* Of all problems together. */
dual_outcome dual_total(const dual_state *state);
/* A report but for what it counts, with objectives times `unit`. Before the
 * first scan nothing is known of the gap, which tells the command that a run
 * cut short there has not converged. */
void dual_report(const dual_state *state, double unit, strads_report *report);

/* Where P and D are taken: squares of w and of X'b, with their bias if it is
 * penalised, and how far the two are apart. */
typedef struct dual_point {
    double square, dual_square, apart;
} dual_point;

/* dual_scan.c: P and D at some w and b, from sums over all rows. Then whether
 * that betters anything. */
strads_err dual_certify(dual_state *state, const double *sums, dual_point at);
void dual_watch(dual_state *state);

/* dual_level.c: an intercept that is not penalised. What the survey tells of it
 * beside labels; what comes of that: B, and the first level. */
typedef struct dual_survey {
    linear_survey labels;
    double rows, squares; /* how many, and sum |x|^2; */
    double weight, sum;   /* sum c, and sum c y */
} dual_survey;
void dual_level_survey(const dual_local *local, const strads_share *share,
                       dual_survey *survey);
void dual_level_merge(dual_survey *into, const dual_survey *from);
double dual_level_bias(const dual_problem *problem, const dual_survey *survey,
                       uint64_t columns);
void dual_level_begin(strads_commit *commit, const dual_survey *survey);
/* Adds a row with that b to sums at its z. */
void dual_level_add(const dual_local *local, const dual_sample *x, double b,
                    double z, double dual, double *sums);
/* D, of sums of all. What it loses to b that do not sum to 0. */
double dual_level_dual(const dual_state *state, const double *sums,
                       dual_point at);
double dual_level_excess(const dual_state *state, const double *sums);
/* After a scan's certificate: what is left while the level is held, and where
 * it goes next. */
void dual_level_watch(strads_commit *commit);
/* Newton's steps, which do not penalise the bias, end: the level takes it
 * over. */
void dual_level_take(strads_commit *commit);

/* dual_scan.c: a scan's part of one partition; the last one's makes the
 * certificate, and says where the policy is to rest. */
strads_err dual_aggregate_scan(strads_commit *commit);
strads_err dual_aggregate_seed(strads_commit *commit);

/* dual_curve.c, dual_newton.c */
size_t dual_partial_curve(const strads_task *task);
strads_err dual_update_curve(strads_task *task);
strads_err dual_aggregate_curve(strads_commit *commit);
size_t dual_partial_slope(const strads_task *task);
strads_err dual_update_slope(strads_task *task);
strads_err dual_aggregate_slope(strads_commit *commit);
strads_err dual_aggregate_take(strads_commit *commit);
/* dual_face_rows.c: steps of conjugate gradients, one of a block of all
 * coefficients, and all of a block of none, which the first partition goes for
 * its pool. dual_face.c: asked at a pass's end, whether they come next. */
size_t dual_partial_face(const strads_task *task);
strads_err dual_update_face(strads_task *task);
void dual_face_free(dual_face *face);
strads_err dual_aggregate_face(strads_commit *commit);
bool dual_is_settled(const dual_pool *pool);
void dual_judge_face(dual_state *state);
/* Before all: the first sigma. After a scan: whether Newton's steps come next,
 * or dual ascent. */
void dual_newton_begin(strads_commit *commit);
void dual_newton_judge(dual_state *state);

/* dual_merge.c: everyone's change of w, within a pool and for all. To be called
 * by who is about to move w. */
void dual_begin_w(const strads_task *task);
size_t dual_partial_join(const strads_task *task);
strads_err dual_update_join(strads_task *task);
strads_err dual_aggregate_join(strads_commit *commit);
/* Has the rows' problems s times as curved from now on, where nothing has moved
 * since the last join: as measured, or 1 where one partition moves alone. */
void dual_set_safety(strads_commit *commit);
size_t dual_partial_merge(const strads_task *task);
strads_err dual_update_merge(strads_task *task);
strads_err dual_aggregate_merge(strads_commit *commit);
strads_err dual_refresh(strads_task *task, const strads_change *changes,
                        uint32_t n);

/* dual_survey.c: which labels there are, and what becomes of them. A block's id
 * says whose problem begins; ids below are the partitions' and dual.c's. */
static inline uint64_t dual_survey_id(uint32_t partitions, uint32_t target)
{
    return (uint64_t)partitions + 2 + target;
}

size_t dual_partial_survey(const strads_task *task);
strads_err dual_update_survey(strads_task *task);
void dual_merge_survey(void *into, const void *from, size_t bytes);
strads_err dual_aggregate_survey(strads_commit *commit);
strads_err dual_receive_survey(strads_task *task);

/* dual_scale.c: columns over their deviations, and their coefficients back. */
size_t dual_partial_moments(const strads_task *task);
strads_err dual_update_moments(strads_task *task);
strads_err dual_aggregate_moments(strads_commit *commit);
strads_err dual_receive_moments(strads_task *task);
strads_err dual_aggregate_tell(strads_commit *commit);

/* The places of phases in the program's table. */
enum {
    DUAL_SURVEY,
    DUAL_MOMENTS,
    DUAL_SEED,
    DUAL_ASCEND,
    DUAL_JOIN,
    DUAL_MERGE,
    DUAL_SCAN,
    DUAL_CURVE,
    DUAL_SLOPE,
    DUAL_TAKE,
    DUAL_FACE,
    DUAL_TELL,
    DUAL_PHASES
};

#endif
