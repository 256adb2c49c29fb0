/* The dual programs: what is computed where, phase by phase, whatever the loss.
 *
 * Parameters are w = X'b, groups of rows, and the rows' dual variables b. Each
 * pool of partitions owns its groups, and each partition has a w of its own,
 * ahead of the common one by what it has done since the last join.
 *
 *     origins  samples of full columns     -> which have their 0 far away
 *     survey   labels, and their counts    -> classes, what a row weighs
 *     moments  sum c x, sum c x^2           -> the columns' scales and shifts
 *     seed     the b that a start's w asks for
 *     ascend   blocks that the policy chose of each pool's groups: each b to
 *              its best, in turn            -> shares of the gap: priorities
 *     join     the change of a pool's w     -> how safe adding is
 *     merge    the change of everybody's w  -> the common w
 *     scan     all rows, at the common w    -> b, gap, priorities of all
 *     curve    X'HX at w                    -> Newton's steps, of few columns
 *     gradient the same without its matrix, and
 *     product  X'HX by a direction          -> a step, where that is cheaper
 *     slope    along a step                 -> how far it goes
 *     take     the b that w asks for
 *     face     steps in the b between their bounds, of many columns
 *     tell     nothing                      -> w of the columns as they stand, at
 *                                              the last look
 *
 * The policy rests when what is left to gain is below what was asked for; a
 * scan then tells whether it is. docs/svm.md has the rest. */
#include "dual.h"

/* ---- what comes next --------------------------------------------------- */

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

/* A phase of all coefficients, whose id says which problem begins. While none
 * has been committed, by a start or another problem, all are 0: then of that of
 * the bias alone, to which a start's intercept may go. */
static strads_err dispatch_survey(strads_turn *turn, const dual_state *state)
{
    const bool blank = strads_store_version(turn->store, 0) == 0;
    const uint32_t bias = (uint32_t)state->columns;
    const strads_block told = {.id = dual_survey_id(state->partitions,
                                                    state->target),
                               .first = blank ? bias : 0,
                               .n = blank ? 1 : bias + 1};

    return strads_turn_dispatch(turn, DUAL_SURVEY, 1, &told);
}

/* Whether what comes next looks at the w of all. */
static bool w_is_due(const dual_state *state)
{
    return state->scan_due || state->step != DUAL_ASCEND;
}

/* What several partitions have done is joined before any goes on; what one has
 * done, when others are to see it. */
static bool join_is_due(const dual_state *state)
{
    return state->moved && state->partitions > 1 && !state->joined &&
           (state->spread || !state->alone || w_is_due(state));
}

/* Other pools, too, begin from the w of all. */
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
        return state->scale || state->off ? dispatch_all(turn, state, DUAL_TELL)
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
    if (turn->at_rest)
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
    if (state->step == DUAL_FACE && state->pools == 1)
        return dispatch_none(turn, state, DUAL_FACE);
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
    [DUAL_SURVEY] = {.name = "survey",
                     .when = STRADS_WHEN_CALLED,
                     .reports = true,
                     .merge = STRADS_MERGE_OWN,
                     .result = STRADS_RESULT_WORKERS,
                     .partial = dual_partial_survey,
                     .update = dual_update_survey,
                     .merge_with = dual_merge_survey,
                     .aggregate = dual_aggregate_survey,
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
    [DUAL_FACE] = {.name = "face",
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .partial = dual_partial_face,
                   .update = dual_update_face,
                   .aggregate = dual_aggregate_face},
    [DUAL_TELL] = {.name = "tell",
                   .when = STRADS_WHEN_CALLED,
                   .to = STRADS_TO_NOBODY,
                   .aggregate = dual_aggregate_tell},
};
