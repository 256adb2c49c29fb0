/* The dual programs: the computation of each phase, for any loss.
 *
 * Parameters are w = X'b, groups of rows, and the rows' dual variables b. Each
 * pool of partitions owns its groups. Each partition has its own w, which is
 * ahead of the common one by the partition's changes since the last join.
 *
 *     origins  samples of full columns     -> columns far from 0, to be shifted
 *     labels   labels, and their counts    -> classes, weights of rows
 *     moments  sum c x, sum c x^2          -> the columns' scales and shifts
 *     seed     the b for a start's w
 *     ascend   blocks that the policy chose of each pool's groups: moves each b
 *              to its best value in turn   -> shares of the gap: priorities
 *     join     the change of a pool's w    -> how safe adding is
 *     merge    the change of all pools' w  -> the common w
 *     scan     all rows, at the common w   -> b, gap, priorities of all
 *     curve    X'HX at w                   -> Newton's steps, of few columns
 *     gradient the same without its matrix, and
 *     product  X'HX times a direction      -> a step, if that is cheaper
 *     slope    along a step                -> its length
 *     take     the b for w
 *     active   steps in the b between their bounds, of many columns
 *     unscale  nothing                     -> w of the original columns, at the
 *                                             end
 *
 * The policy is idle when the remaining gain is below the tolerance; a scan
 * then checks it. docs/svm.md describes the details. */
#include "dual.h"

/* ---- next phase ---------------------------------------------------------- */

/* A phase of all coefficients. */
static strads_err dispatch_all(strads_turn *turn, const dual_state *state,
                               uint32_t phase)
{
    const strads_block all = {.id = state->partitions,
                              .n = (uint32_t)state->columns + 1};

    return strads_turn_dispatch(turn, phase, 1, &all);
}

/* A phase of no parameters. */
static strads_err dispatch_none(strads_turn *turn, const dual_state *state,
                                uint32_t phase)
{
    const strads_block none = {.id = state->partitions + 1};

    return strads_turn_dispatch(turn, phase, 1, &none);
}

/* A phase of all coefficients; its id is the problem that begins. As long as
 * no coefficient was committed, by a start or another problem, all are 0. Then
 * it has only the bias's coefficient, which may receive a start's intercept. */
static strads_err dispatch_survey(strads_turn *turn, const dual_state *state)
{
    const bool blank = strads_store_version(turn->store, 0) == 0;
    const uint32_t bias = (uint32_t)state->columns;
    const strads_block told = {.id = dual_survey_id(state->partitions,
                                                    state->target),
                               .first = blank ? bias : 0,
                               .n = blank ? 1 : bias + 1};

    return strads_turn_dispatch(turn, DUAL_LABELS, 1, &told);
}

/* True if the next phase uses the common w. */
static bool w_is_due(const dual_state *state)
{
    return state->scan_due || state->step != DUAL_ASCEND;
}

/* True if the work of several partitions must be joined before any
 * continues; or that of one, if others must see it. */
static bool join_is_due(const dual_state *state)
{
    return state->moved && state->partitions > 1 && !state->joined &&
           (state->spread || !state->alone || w_is_due(state));
}

/* True if other pools also start from the common w. */
static bool merge_is_due(const dual_state *state)
{
    return state->moved && (state->pools > 1 || w_is_due(state));
}

strads_err dual_schedule(strads_turn *turn)
{
    dual_state *state = turn->state;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->ends)
        return state->scale || state->off || state->unscaled
                   ? dispatch_all(turn, state, DUAL_UNSCALE)
                   : strads_turn_stop(turn);
    if (state->n_full > 0 && !state->originated)
        return strads_turn_dispatch(turn, DUAL_ORIGINS, 1,
                                    &(strads_block){.id = state->partitions + 2,
                                                    .n = state->n_full,
                                                    .param = state->full});
    if (!state->surveyed)
        return dispatch_survey(turn, state);
    if ((state->problem.options.standardize ||
         state->problem.options.intercept) &&
        !state->measured)
        return dispatch_all(turn, state, DUAL_MOMENTS);
    if (state->seed_due)
        return strads_turn_dispatch(turn, DUAL_SEED, state->partitions,
                                    state->own);
    if (turn->idle)
        state->scan_due = state->rested = true;
    if (join_is_due(state))
        return dispatch_none(turn, state, DUAL_JOIN);
    if (merge_is_due(state))
        return dispatch_all(turn, state, DUAL_MERGE);
    if (state->scan_due)
        return strads_turn_dispatch(turn, DUAL_SCAN, state->partitions,
                                    state->own);
    if (state->step == DUAL_TAKE)
        return strads_turn_dispatch(turn, DUAL_TAKE, state->partitions,
                                    state->own);
    if (state->step == DUAL_ACTIVE && state->pools == 1)
        return dispatch_none(turn, state, DUAL_ACTIVE);
    if (state->step != DUAL_ASCEND)
        return dispatch_all(turn, state, state->step);
    return strads_turn_policy(turn, DUAL_ASCEND);
}

/* ---- results ----------------------------------------------------------- */

const double *strads_svm_intercepts(const void *state)
{
    return ((const dual_state *)state)->intercept;
}

uint64_t strads_svm_supports(const void *state)
{
    return dual_total(state).supports;
}

/* ---- the table --------------------------------------------------------- */

const strads_phase dual_phases[DUAL_PHASES] = {
    [DUAL_ORIGINS] = {.name = "origins",
                      .when = STRADS_WHEN_CALLED,
                      .result = STRADS_RESULT_WORKERS,
                      .ignores_values = true,
                      .partial = linear_origins_size,
                      .update = dual_update_origins,
                      .aggregate = dual_aggregate_origins,
                      .receive = dual_receive_origins},
    [DUAL_LABELS] = {.name = "labels",
                     .when = STRADS_WHEN_CALLED,
                     .reports = true,
                     .merge = STRADS_MERGE_OWN,
                     .result = STRADS_RESULT_WORKERS,
                     .partial = dual_partial_labels,
                     .update = dual_update_labels,
                     .merge_with = dual_merge_survey,
                     .aggregate = dual_aggregate_labels,
                     .receive = dual_receive_survey},
    [DUAL_MOMENTS] = {.name = "moments",
                      .when = STRADS_WHEN_CALLED,
                      .result = STRADS_RESULT_WORKERS,
                      .ignores_values = true,
                      .partial = dual_partial_moments,
                      .update = dual_update_moments,
                      .aggregate = dual_aggregate_moments,
                      .receive = dual_receive_moments},
    [DUAL_SEED] = {.name = "seed",
                   .when = STRADS_WHEN_CALLED,
                   .to = STRADS_TO_OWNER,
                   .partial = dual_partial_none,
                   .update = dual_update_seed,
                   .aggregate = dual_aggregate_seed},
    [DUAL_ASCEND] = {.name = "ascend",
                     .when = STRADS_WHEN_POLICY,
                     .to = STRADS_TO_OWNER,
                     .partial = dual_partial_ascend,
                     .update = dual_update_ascend,
                     .aggregate = dual_aggregate_ascend},
    [DUAL_JOIN] = {.name = "join",
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .partial = dual_partial_join,
                   .update = dual_update_join,
                   .aggregate = dual_aggregate_join},
    [DUAL_MERGE] = {.name = "merge",
                    .when = STRADS_WHEN_CALLED,
                    .ignores_values = true,
                    .partial = dual_partial_merge,
                    .update = dual_update_merge,
                    .aggregate = dual_aggregate_merge},
    [DUAL_SCAN] = {.name = "scan",
                   .when = STRADS_WHEN_CALLED,
                   .to = STRADS_TO_OWNER,
                   .reports = true,
                   .partial = dual_partial_scan,
                   .update = dual_update_scan,
                   .aggregate = dual_aggregate_scan},
    [DUAL_CURVE] = {.name = "curve",
                    .when = STRADS_WHEN_CALLED,
                    .ignores_values = true,
                    .partial = dual_partial_curve,
                    .update = dual_update_curve,
                    .aggregate = dual_aggregate_curve},
    [DUAL_GRADIENT] = {.name = "gradient",
                       .when = STRADS_WHEN_CALLED,
                       .ignores_values = true,
                       .partial = dual_partial_gradient,
                       .update = dual_update_gradient,
                       .aggregate = dual_aggregate_gradient},
    [DUAL_PRODUCT] = {.name = "product",
                      .when = STRADS_WHEN_CALLED,
                      .ignores_values = true,
                      .partial = dual_partial_product,
                      .update = dual_update_product,
                      .aggregate = dual_aggregate_product},
    [DUAL_SLOPE] = {.name = "slope",
                    .when = STRADS_WHEN_CALLED,
                    .ignores_values = true,
                    .partial = dual_partial_slope,
                    .update = dual_update_slope,
                    .aggregate = dual_aggregate_slope},
    [DUAL_TAKE] = {.name = "take",
                   .when = STRADS_WHEN_CALLED,
                   .to = STRADS_TO_OWNER,
                   .reports = true,
                   .partial = dual_partial_none,
                   .update = dual_update_take,
                   .aggregate = dual_aggregate_take},
    [DUAL_ACTIVE] = {.name = "active",
                     .when = STRADS_WHEN_CALLED,
                     .ignores_values = true,
                     .partial = dual_partial_active,
                     .update = dual_update_active,
                     .aggregate = dual_aggregate_active},
    [DUAL_UNSCALE] = {.name = "unscale",
                      .when = STRADS_WHEN_CALLED,
                      .to = STRADS_TO_NOBODY,
                      .aggregate = dual_aggregate_unscale},
};
