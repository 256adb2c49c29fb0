/* Generalised linear models as a program: the computation of each phase. No
 * loss or penalty is named here: glm_loss.h and glm_penalty.h have their
 * tables.
 *
 * Workers hold rows and their margins z = o + X w + b, which refresh updates
 * after commits; they store no number per column. The coordinator holds the
 * working set.
 *
 *     risks    y, c, z of all rows    -> all workers: r of a loss of the whole;
 *                                        at the end its baseline hazard
 *     origins  samples of full columns -> which are shifted, and how far
 *     recentre nothing                 -> the smoothing of a loss with a kink
 *     labels   labels and sums         -> targets, weights, b at w = 0
 *     target   nothing                 -> the next of several problems begins
 *     rows     y, c, o, z              -> the coordinator
 *     moments  X'r, sum c x^2, sum c x -> scales, and the results of a scan
 *     scan     X'r of columns          -> gap, working set, gains
 *     pair-scan  nothing               -> the same by pairs
 *     pairs    X_A'C X_B               -> a set that is solved without the data
 *     fetch    columns of the set      -> the coordinator
 *     solve    nothing                 -> descent on the members that move, in
 *                                         the quadratic model of the loss at z
 *     search   nothing                 -> a step length; the next model
 *
 *     hessian  X'HX of some rows       -> a preconditioner, of smooth penalties
 *     product  X'HXd                   -> Newton's step by conjugate gradients
 *     certify  X'(Y - P), losses       -> softmax: the gap of the whole
 *     unscale  nothing                 -> b of columns that were not shifted,
 *                                         at the end
 *
 * At first all penalised coefficients are kept at 0 until the others have been
 * fitted: the slopes there give lambda_max. */
#include <strads/glm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* Largest relative error of the loss that pairs predict: pairs of columns
 * with large means have too few digits. */
#define BLUR 1e-6
/* The relative gap of the fit that determines lambda_max. */
#define ALONE 1e-10
/* For a loss with a flat side, the rows with curvature change along a step.
 * So if columns fit nearly all labels, a model holds only for a small part of
 * the step. Below this share of lambda_max, with at most this many rows per
 * column, lambda is reduced in steps instead: by this factor each, and each
 * solved to this gap. */
#define DOWN_FROM .01
#define DOWN_ROWS 4
#define DOWN_BY .3
#define DOWN_GAP .01
/* The same where columns fit numbers exactly and lambda is tiny: from w = 0
 * all columns would take part in the fit, and the penalty would hardly move
 * any back. */
#define FIT_FROM 1e-4
#define FIT_ROWS 1

/* ---- workers ------------------------------------------------------------- */

strads_err glm_refresh(strads_task *task, const strads_change *changes,
                       uint32_t n)
{
    glm_local *local = task->local;

    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            const uint32_t j = changes[c].param[k];
            const size_t at = (size_t)k * task->width + local->target;
            if (j <= local->pending.columns) /* others are no coefficients */
                linear_pending_move(&local->pending, j, changes[c].change[at]);
        }
    return STRADS_OK;
}

static size_t scan_size(const strads_task *task)
{
    return (size_t)task->block.n + GLM_REST;
}

/* For a squared loss, all other sums that a certificate takes over rows. */
void glm_end_scan(const glm_local *local, double *rest)
{
    const column_kernels *kernels = local->kernels;
    const uint64_t n = local->rows;

    if (!local->problem.loss->constant)
        return;
    if (local->plain)
        rest[0] = kernels->dot_dense(n, local->r, local->r);
    else
        for (uint64_t i = 0; i < n; i++)
            rest[0] += local->c[i] > 0 ? pow(local->r[i], 2) / local->c[i] : 0;
    for (uint64_t i = 0; i < n; i++)
        rest[1] += local->r[i] * (local->y[i] - (local->o[i] + local->level));
}

void glm_take_slopes(glm_local *local)
{
    const glm_rows rows = {local->rows, local->y, local->c, local->z};

    glm_catch_up(local);
    local->fresh = false;
    if (local->problem.loss->whole) /* glm_receive_risks() has them */
        return;
    (void)glm_evaluate(&local->problem, &local->smoothing, &rows, local->r,
                       NULL);
}

static strads_err update_scan(strads_task *task)
{
    glm_local *local = task->local;
    const column_list columns = glm_list(&task->block);

    glm_take_slopes(local);
    linear_multiply(local->kernels, &local->view, &columns, local->r,
                    task->partial);
    glm_end_scan(local, task->partial + task->block.n);
    return STRADS_OK;
}

/* ---- the coordinator: lambda --------------------------------------------- */

static bool is_penalised(const glm_state *state, uint32_t j)
{
    const glm_term t = glm_term_of(state, glm_group_of(state, j));

    return !glm_is_free(&t);
}

/* Resets penalised start values until lambda is found. *some: there are
 * some. */
static strads_err hold_start(strads_commit *commit, bool *some)
{
    glm_state *state = commit->state;

    *some = false;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const double w = commit->value[glm_at(state, k)];
        if (j == state->columns || w == 0 || !is_penalised(state, j))
            continue;
        if (state->lambda > 0) { /* lambda is given */
            state->alone = false;
            return STRADS_OK;
        }
        if (!state->held)
            state->held = calloc(state->columns + 1, sizeof(*state->held));
        if (!state->held)
            return strads_fail(STRADS_ENOMEM, "no memory for start values");
        state->held[j] = w;
        commit->change[glm_at(state, k)] = -w;
        *some = true;
    }
    return STRADS_OK;
}

static void return_start(strads_commit *commit)
{
    const glm_state *state = commit->state;
    const double *b = state->problem.options.start_intercept;
    const double moved = glm_origins_sum(state, state->held, 1);

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (j < state->columns)
            commit->change[glm_at(state, k)] = state->held[j];
        else if (b)
            commit->change[glm_at(state, k)] =
                b[state->target] + moved - commit->value[glm_at(state, k)];
    }
}

static bool goes_down(const glm_state *state, double lambda)
{
    const glm_penalty *penalty = state->problem.penalty;
    const glm_loss *loss = state->problem.loss;
    const bool fits = loss->labels == GLM_NUMBERS;
    const double share = loss->flat ? DOWN_FROM : fits ? FIT_FROM : 0;
    const uint64_t most = (loss->flat ? DOWN_ROWS : FIT_ROWS) * state->columns;

    return lambda > 0 && lambda < share * state->lambda_max && !penalty->off &&
           !penalty->tangent && !state->held && !state->ridge.used &&
           state->set.rows <= most;
}

/* If no column has a slope, any lambda gives the same fit. */
void glm_find_lambda(glm_state *state, double critical)
{
    strads_glm_options *o = &state->problem.options;
    double lambda = o->lambda;

    state->lambda_max = fmax(state->lambda_max, critical);
    if (state->surveys)
        return;
    if (lambda == 0 && o->lambda_ratio > 0)
        lambda = state->lambda_max > 0 ? o->lambda_ratio * state->lambda_max
                                       : o->lambda_ratio;
    o->lambda = lambda;
    o->lambda_ratio = 0;
    state->alone = false;
    if (state->path)
        lambda = glm_path_first(state->path, state->lambda_max);
    else if (goes_down(state, lambda)) {
        state->goal = lambda;
        lambda = DOWN_BY * state->lambda_max;
    }
    glm_begin_lambda(state, lambda);
}

double glm_next_down(const glm_state *state)
{
    return fmax(state->goal, DOWN_BY * state->lambda);
}

/* The next lambda on the way down, if the current one is solved. */
static void go_down(glm_state *state, strads_commit *commit)
{
    while (state->goal > 0 &&
           (state->gap <= DOWN_GAP || state->watch.stalled)) {
        const double lambda = glm_next_down(state);
        if (lambda == state->goal)
            state->goal = 0;
        glm_begin_lambda(state, lambda);
        glm_certify(commit);
    }
}

/* ---- the coordinator: one problem after the other ------------------------ */

static bool is_last(const glm_state *state)
{
    return state->target + 1 == state->width;
}

/* A step that overflows P is not the end: half of it is taken back. */
static glm_outcome outcome_of(const glm_state *state)
{
    if (glm_overshot(state) && !isfinite(state->primal))
        return (glm_outcome){.primal = state->ridge.before,
                             .gap = 1,
                             .nonzeros = state->nonzeros};
    return (glm_outcome){.primal = state->primal,
                         .gap = state->goal > 0 ? 1 : state->gap,
                         .nonzeros = state->nonzeros};
}

static void begin_next(glm_state *state)
{
    state->target = is_last(state) ? 0 : state->target + 1;
    if (state->target == 0)
        state->surveys = false;
    glm_begin_problem(state);
    state->next = GLM_TO_TARGET;
}

static bool is_through(const glm_state *state, double tolerance)
{
    return !is_last(state) && !state->alone && state->goal == 0 &&
           !state->joint.used &&
           (state->gap <= tolerance || state->watch.stalled);
}

/* The unpenalised coefficients have been fitted. *over: the scan is done. */
static void end_alone(strads_commit *commit, bool *over)
{
    glm_state *state = commit->state;

    glm_find_lambda(state, glm_critical(state, glm_square(state)));
    *over = state->held || state->surveys;
    if (state->held) {
        return_start(commit);
        state->next = GLM_TO_ROWS;
    }
    if (state->surveys)
        begin_next(state);
    if (!*over)
        glm_certify(commit);
}

/* For a squared loss, takes a scan's sums, and slopes of r minus its mean.
 * Compares the loss with the one that pairs predicted. */
static void take_square(glm_state *state, const strads_commit *commit)
{
    const double *rest = commit->partial + commit->block.n;
    const bool intercept = state->problem.options.intercept;
    const double sum = intercept ? state->slope[state->columns] : 0;
    const double mean = glm_centres(state) ? sum / state->weight : 0;

    state->loss = rest[0] / 2;
    state->square = fmax(rest[0] - mean * sum, 0);
    state->response = rest[1] + mean * state->offsets +
                      (sum - mean * state->weight) * state->level;
    for (uint32_t k = 0; k < commit->block.n && mean != 0; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (j < state->columns)
            state->slope[j] -= state->mean[j] * sum;
    }
    if (state->predicted >= 0 &&
        fabs(state->predicted - state->loss) > BLUR * state->loss)
        state->by_columns = true;
    state->predicted = -1;
}

/* Sets parameter j to its value `to` of this scan, and adds the move to
 * `travel`. Margins are stored minus the level, so the first move of b by the
 * level causes no rounding. */
static void move_parameter(glm_state *state, uint32_t j, double to)
{
    const bool is_b = j == state->columns;
    double *at = is_b ? &state->b[state->target] : &state->w[j];
    const double from = state->travels ? *at : is_b ? state->level : 0;

    state->travel +=
        (to - from) * (is_b ? state->weight : state->norm[j]) * (to - from);
    *at = to;
}

strads_err glm_aggregate_scan(strads_commit *commit)
{
    glm_state *state = commit->state;
    bool some = false, over = false;
    strads_err err;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        state->slope[j] = commit->partial[k];
        move_parameter(state, j, commit->value[glm_at(state, k)]);
    }
    state->travels = true;
    state->risks_known = false;
    if (state->problem.loss->constant)
        take_square(state, commit);
    glm_bounds_note_scan(commit);
    state->recentres = false;
    if (!state->began && state->alone) {
        if ((err = hold_start(commit, &some)))
            return err;
        if (some) {
            state->next = GLM_TO_ROWS;
            return STRADS_OK;
        }
    }
    glm_certify(commit);
    if (glm_overshot(state))
        return glm_whole_judge(commit);
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of the losses overflows: scale the columns "
                           "down, or their start values");
    if ((err = glm_find_separation(state,
                                   state->alone ? ALONE : commit->tolerance)))
        return err;
    state->ended =
        state->separable &&
        (state->alone || (is_last(state) && (state->gap <= commit->tolerance ||
                                             state->watch.stalled)));
    if (state->ended)
        return state->path && !state->alone ? glm_path_give_up(commit)
                                            : STRADS_OK;
    if (state->alone && (state->gap <= ALONE || state->watch.stalled))
        end_alone(commit, &over);
    if (over)
        return STRADS_OK;
    if (state->path && !state->alone) {
        if ((err = glm_path_advance(commit)) || glm_path_is_over(state->path))
            return err;
    }
    go_down(state, commit);
    if (is_through(state, commit->tolerance)) {
        state->done[state->target] = outcome_of(state);
        begin_next(state);
        return STRADS_OK;
    }
    if (state->recentres) {
        state->next = GLM_TO_RECENTRE;
        return STRADS_OK;
    }
    return state->ridge.used ? glm_whole_judge(commit) : glm_choose(commit);
}

static void report_joint(const glm_state *state, strads_report *report)
{
    if (!state->joint.certified)
        return;
    report->objective = state->joint.primal / state->weight;
    report->gap = state->joint.gap;
    report->nonzeros = state->joint.nonzeros;
    report->stop = state->joint.watch.stalled;
    if (state->separable)
        report->gap = 1;
}

/* Of all problems together. A problem that has not started yet has dual
 * value 0. */
static void report_problems(const glm_state *state, strads_report *report)
{
    const bool known = state->scans > 0;
    double primal = 0, gap = 0;

    report->gap = 1;
    if (state->joint.used) {
        report_joint(state, report);
        return;
    }
    if (state->surveys || (!known && state->target == 0))
        return;
    for (uint32_t k = 0; k < state->width; k++) {
        const bool at_hand = known && k == state->target;
        const glm_outcome one = at_hand ? outcome_of(state) : state->done[k];
        primal += one.primal;
        gap += one.gap * one.primal;
        report->nonzeros += one.nonzeros;
    }
    report->objective = primal / state->weight;
    if (!state->alone && state->goal == 0) {
        report->gap = state->width == 1 ? state->gap
                      : primal == 0     ? 0
                                        : gap / primal;
        report->stop = state->watch.stalled && is_last(state);
    }
    if (state->separable) {
        report->gap = 1;
        report->stop = state->ended;
    }
}

strads_err glm_objective(void *state, strads_report *report)
{
    report_problems(state, report);
    if (isnan(report->gap)) /* this means that a program has no gap */
        report->gap = INFINITY;
    return STRADS_OK;
}

/* ---- next phase ---------------------------------------------------------- */

static strads_err dispatch_phase(strads_turn *turn, uint32_t phase,
                                 strads_block block)
{
    return strads_turn_dispatch(turn, phase, 1, &block);
}

static strads_err dispatch_scan(strads_turn *turn, uint32_t phase)
{
    const glm_state *state = turn->state;
    const uint64_t n = state->columns + state->problem.options.intercept;

    return dispatch_phase(turn, phase,
                          (strads_block){.id = GLM_SCAN_ID + turn->round,
                                         .n = state->n_scan,
                                         .param = state->n_scan < n
                                                      ? state->scan
                                                      : NULL});
}

/* Of all parameters; a softmax starts at w = 0. */
static strads_err dispatch_target(strads_turn *turn)
{
    const glm_state *state = turn->state;
    const uint32_t n = (uint32_t)state->columns;
    const bool none = state->joint.used && !state->known;

    return dispatch_phase(
        turn, GLM_TARGET,
        (strads_block){.id = GLM_TARGET_ID + state->target,
                       .n = none ? 0 : n + state->problem.options.intercept});
}

/* All parameters of the model. */
static strads_err dispatch_all(strads_turn *turn, uint32_t phase)
{
    const glm_state *state = turn->state;
    const uint32_t n = (uint32_t)state->columns;

    return dispatch_phase(
        turn, phase,
        (strads_block){.id = GLM_SCAN_ID + turn->round,
                       .n = n + state->problem.options.intercept});
}

strads_err glm_schedule(strads_turn *turn)
{
    glm_state *state = turn->state;
    const strads_block none = {.id = GLM_SCALARS_ID};
    const strads_block one = {.id = GLM_TARGET_ID + state->target};
    strads_block moving;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->ends && state->origin && !state->over)
        return dispatch_all(turn, GLM_UNSCALE);
    if (turn->ends && state->problem.loss->whole && state->began &&
        !state->finishes) {
        state->finishes = true;
        return dispatch_phase(turn, GLM_RISKS, none);
    }
    if (turn->ends)
        return strads_turn_stop(turn);
    if (state->problem.loss->whole && !state->risks_known &&
        (state->next == GLM_TO_MOMENTS || state->next == GLM_TO_SCAN))
        return dispatch_phase(turn, GLM_RISKS, none);
    switch (state->next) {
    case GLM_TO_ORIGINS:
        return dispatch_phase(turn, GLM_ORIGINS,
                              (strads_block){.id = GLM_ORIGINS_ID,
                                             .n = state->n_full,
                                             .param = state->candidate});
    case GLM_TO_LABELS:
        return dispatch_phase(turn, GLM_LABELS, none);
    case GLM_TO_MOMENTS:
        return dispatch_scan(turn, GLM_MOMENTS);
    case GLM_TO_TARGET:
        return dispatch_target(turn);
    case GLM_TO_ROWS:
        return dispatch_phase(turn, GLM_ROWS, one);
    case GLM_TO_RECENTRE:
        return dispatch_phase(turn, GLM_RECENTRE, none);
    case GLM_TO_CERTIFY:
        return dispatch_all(turn, GLM_CERTIFY);
    case GLM_TO_SCAN:
        return dispatch_scan(turn, state->bounds.pairs_suffice ? GLM_PAIR_SCAN
                                                               : GLM_SCAN);
    case GLM_TO_FETCH:
        if (state->set.reduced && state->set.factored < state->set.n)
            return dispatch_phase(turn, GLM_PAIRS, glm_pairs_block(state));
        if (!state->set.reduced && state->set.columns.n < state->set.n)
            return dispatch_phase(turn, GLM_FETCH, glm_fetch_block(state));
        state->next = GLM_TO_SOLVE;
        break;
    case GLM_TO_SOLVE:
        break;
    case GLM_TO_HESSIAN:
        return glm_dispatch_hessian(turn);
    case GLM_TO_PRODUCT:
        return glm_dispatch_product(turn);
    }
    moving = glm_moving_block(state, turn->round);
    if (state->set.solved || moving.n == 0)
        return dispatch_phase(turn, GLM_SEARCH, none);
    return dispatch_phase(turn, GLM_SOLVE, moving);
}

/* ---- the table ----------------------------------------------------------- */

const strads_phase glm_phases[GLM_PHASES] = {
    [GLM_ORIGINS] = {.name = "origins",
                     .when = STRADS_WHEN_CALLED,
                     .result = STRADS_RESULT_WORKERS,
                     .ignores_values = true,
                     .partial = linear_origins_size,
                     .update = glm_update_origins,
                     .aggregate = glm_aggregate_origins,
                     .receive = glm_receive_origins},
    [GLM_LABELS] = {.name = "labels",
                    .when = STRADS_WHEN_CALLED,
                    .reports = true,
                    .merge = STRADS_MERGE_OWN,
                    .result = STRADS_RESULT_WORKERS,
                    .ignores_values = true,
                    .partial = glm_labels_size,
                    .update = glm_update_labels,
                    .merge_with = glm_merge_labels,
                    .aggregate = glm_aggregate_labels,
                    .receive = glm_receive_labels},
    [GLM_MOMENTS] = {.name = "moments",
                     .when = STRADS_WHEN_CALLED,
                     .reports = true,
                     .ignores_values = true,
                     .partial = glm_moments_size,
                     .update = glm_update_moments,
                     .aggregate = glm_aggregate_moments},
    [GLM_TARGET] = {.name = "target",
                    .when = STRADS_WHEN_CALLED,
                    .partial = glm_target_size,
                    .update = glm_update_target,
                    .aggregate = glm_aggregate_target},
    [GLM_ROWS] = {.name = "rows",
                  .when = STRADS_WHEN_CALLED,
                  .merge = STRADS_MERGE_CONCAT,
                  .ignores_values = true,
                  .partial = glm_rows_size,
                  .update = glm_update_rows,
                  .aggregate = glm_aggregate_rows},
    [GLM_RISKS] = {.name = "risks",
                   .when = STRADS_WHEN_CALLED,
                   .merge = STRADS_MERGE_CONCAT,
                   .result = STRADS_RESULT_WORKERS,
                   .ignores_values = true,
                   .partial = glm_risks_size,
                   .update = glm_update_risks,
                   .aggregate = glm_aggregate_risks,
                   .receive = glm_receive_risks},
    [GLM_RECENTRE] = {.name = "recentre",
                      .when = STRADS_WHEN_CALLED,
                      .ignores_values = true,
                      .partial = glm_target_size,
                      .update = glm_update_recentre,
                      .aggregate = glm_aggregate_recentre},
    [GLM_SCAN] = {.name = "scan",
                  .when = STRADS_WHEN_CALLED,
                  .reports = true,
                  .ignores_values = true,
                  .partial = scan_size,
                  .update = update_scan,
                  .aggregate = glm_aggregate_scan},
    [GLM_PAIRS] = {.name = "pairs",
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .partial = glm_pairs_size,
                   .update = glm_update_pairs,
                   .aggregate = glm_take_pairs},
    [GLM_PAIR_SCAN] = {.name = "pair-scan",
                       .when = STRADS_WHEN_CALLED,
                       .to = STRADS_TO_NOBODY,
                       .reports = true,
                       .ignores_values = true,
                       .aggregate = glm_bounds_pair_scan},
    [GLM_FETCH] = {.name = "fetch",
                   .when = STRADS_WHEN_CALLED,
                   .merge = STRADS_MERGE_CONCAT,
                   .ignores_values = true,
                   .partial = glm_fetch_size,
                   .update = glm_update_fetch,
                   .aggregate = glm_set_take},
    [GLM_SOLVE] = {.name = "solve",
                   .when = STRADS_WHEN_CALLED,
                   .to = STRADS_TO_NOBODY,
                   .aggregate = glm_solve},
    [GLM_SEARCH] = {.name = "search",
                    .when = STRADS_WHEN_CALLED,
                    .to = STRADS_TO_NOBODY,
                    .aggregate = glm_search},
    [GLM_HESSIAN] = {.name = "hessian",
                     .when = STRADS_WHEN_CALLED,
                     .ignores_values = true,
                     .partial = glm_hessian_size,
                     .update = glm_update_hessian,
                     .aggregate = glm_aggregate_hessian},
    [GLM_PRODUCT] = {.name = "product",
                     .when = STRADS_WHEN_CALLED,
                     .partial = glm_product_size,
                     .update = glm_update_product,
                     .aggregate = glm_aggregate_product},
    [GLM_CERTIFY] = {.name = "certify",
                     .when = STRADS_WHEN_CALLED,
                     .reports = true,
                     .ignores_values = true,
                     .partial = glm_certify_size,
                     .update = glm_update_certify,
                     .aggregate = glm_aggregate_certify},
    [GLM_UNSCALE] = {.name = "unscale",
                     .when = STRADS_WHEN_CALLED,
                     .to = STRADS_TO_NOBODY,
                     .aggregate = glm_aggregate_unscale},
};

static strads_err resolve_glm(const void *config, glm_problem *out)
{
    return glm_options_resolve(config, out);
}

GLM_FIT(resolve_glm)

const strads_program strads_program_glm = {
    GLM_FIT_PROGRAM,
    .name = "glm",
    .summary = "generalised linear models: a loss with a penalty",
    .options = glm_option_table,
    .config_size = sizeof(strads_glm_options),
    .defaults = &glm_defaults,
    .named_labels = glm_named_labels};
