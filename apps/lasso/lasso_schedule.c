/* What comes next: the beginning, then scans, each followed by what its way of
 * solving needs and by the policy's blocks until the policy rests. */
#include "lasso_columns.h"
#include "lasso_gram.h"

static strads_err go(strads_turn *turn, uint32_t phase, lasso_next then)
{
    lasso_state *state = turn->state;

    state->next = then;
    return strads_turn_all(turn, phase);
}

/* To nothing but the residual: a block of no parameters. */
static strads_err go_on(strads_turn *turn, uint32_t phase, lasso_next then)
{
    const strads_block none = {.id = linear_packed_id(0, 0)};

    ((lasso_state *)turn->state)->next = then;
    return strads_turn_dispatch(turn, phase, 1, &none);
}

static strads_err solve(strads_turn *turn)
{
    lasso_state *state = turn->state;

    state->chosen = true;
    return strads_turn_policy(turn, state->route);
}

static strads_err bring_rows(strads_turn *turn)
{
    return go_on(turn, LASSO_ROWS, LASSO_TO_BRING);
}

static strads_err bring_columns(strads_turn *turn)
{
    lasso_state *state = turn->state;
    const strads_block next = linear_set_fetch(&state->by_columns->set,
                                               state->data, state->candidate);

    return strads_turn_dispatch(turn, LASSO_COLUMNS, 1, &next);
}

/* The rows, once, and the columns that have joined. */
static strads_err bring(strads_turn *turn)
{
    lasso_state *state = turn->state;

    if (!state->by_columns->has_rows)
        return bring_rows(turn);
    if (lasso_columns_lack_any(state))
        return bring_columns(turn);
    state->next = LASSO_TO_SOLVE;
    return solve(turn);
}

/* A look at the columns that need one, where not too many do. */
static strads_err look(strads_turn *turn)
{
    lasso_state *state = turn->state;
    const bool few = lasso_choose_look(state);
    const strads_block block = {.id = LASSO_LOOK_ID + state->scans,
                                .n = state->n_look,
                                .param = state->look};

    state->chosen = false;
    if (!few)
        return go(turn, LASSO_SCAN, LASSO_TO_SOLVE);
    state->next = LASSO_TO_SOLVE;
    return strads_turn_dispatch(turn, LASSO_LOOK, 1, &block);
}

/* A run that is cut short ends with a scan, so that what is told describes the
 * model. */
static bool is_told(const lasso_state *state)
{
    return !state->chosen &&
           (state->next == LASSO_TO_SOLVE || state->next == LASSO_TO_BRING);
}

strads_err lasso_schedule(strads_turn *turn)
{
    lasso_state *state = turn->state;

    /* At rest a scan; where nobody was chosen since the last one, the end. */
    if (state->next == LASSO_TO_SOLVE && turn->at_rest) {
        if (!state->chosen)
            return strads_turn_stop(turn);
        state->next = LASSO_TO_SCAN;
    }
    if (turn->ends && is_told(state))
        return strads_turn_stop(turn);
    /* A look is the scan that was asked for: its DRIFT has been. */
    if (turn->ends && state->chosen && state->next != LASSO_TO_LOOK)
        state->next = LASSO_TO_SCAN;
    if (state->next == LASSO_TO_SOLVE)
        return solve(turn);
    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (state->next) {
    case LASSO_TO_CENTRE:
        return go(turn, LASSO_CENTRE, LASSO_TO_MOMENTS);
    case LASSO_TO_MOMENTS:
        return go(turn, LASSO_MOMENTS, LASSO_TO_SCAN);
    case LASSO_TO_LOOK:
        return look(turn);
    case LASSO_TO_SCAN:
        if (!turn->ends && lasso_gram_may_reckon(state)) {
            state->chosen = false;
            return go(turn, LASSO_RECKON, LASSO_TO_SOLVE);
        }
        if (lasso_may_look(state))
            return go_on(turn, LASSO_DRIFT, LASSO_TO_LOOK);
        state->chosen = false;
        return go(turn, LASSO_SCAN, LASSO_TO_SOLVE);
    case LASSO_TO_BRING:
        return bring(turn);
    case LASSO_TO_SOLVE:
        break;
    }
    return solve(turn);
}
