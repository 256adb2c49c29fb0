/* Newton's method on the whole problem (numeric/linear_ridge.h), for a
 * smooth penalty, for which a working set would have all columns. After each
 * step the coordinator receives the margins; its certificate is the usual one.
 * With curvatures above f'', steps would only halve the remainder. */
#include <float.h>

#include "glm_parts.h"

bool glm_on_whole(const glm_problem *problem, const strads_data *data)
{
    const strads_glm_options *o = &problem->options;
    const glm_penalty *pen = problem->penalty;
    const bool smooth =
        pen->off || (!pen->grouped && !pen->tangent && o->l1_ratio == 0);

    return smooth && !problem->loss->majorises && !problem->loss->joint &&
           o->lower <= -DBL_MAX && o->upper >= DBL_MAX &&
           linear_ridge_suits(strads_data_rows(data), strads_data_cols(data),
                              strads_data_nnz(data));
}

/* ---- workers ------------------------------------------------------------- */

/* Computes curvatures at z, once after each scan. */
static void take_curvature(glm_local *local)
{
    const glm_rows rows = {local->rows, local->y, local->c, local->z};

    if (local->fresh)
        return;
    (void)local->problem.loss->evaluate(&rows, local->problem.p, NULL,
                                        local->h);
    linear_hold_curvature(local->rows, local->c, local->h);
    local->fresh = true;
}

size_t glm_hessian_size(const strads_task *task)
{
    return linear_hessian_size(task->block.n);
}

strads_err glm_update_hessian(strads_task *task)
{
    glm_local *local = task->local;

    const column_list columns = glm_list(&task->block);
    const strads_shape *all = task->shape;

    take_curvature(local);
    return linear_hessian(&local->view, local->kernels, local->h, &columns,
                          linear_ridge_stride(all->rows, all->cols),
                          task->partial);
}

size_t glm_product_size(const strads_task *task)
{
    return task->block.n;
}

strads_err glm_update_product(strads_task *task)
{
    glm_local *local = task->local;

    take_curvature(local);
    linear_product(&local->view, local->kernels, local->h,
                   (linear_direction){.d = task->value + local->target,
                                      .stride = task->width},
                   local->r, task->partial);
    return STRADS_OK;
}

/* ---- the coordinator ----------------------------------------------------- */

/* Tells the next request: a product has the direction as its block, otherwise
 * direction and step are further changes. */
static strads_err tell_next(strads_commit *commit, linear_ridge_next next)
{
    const glm_state *state = commit->state;
    const linear_ridge *ridge = &state->ridge;
    const uint32_t n = (uint32_t)state->columns + 1;
    const uint32_t first = next == LINEAR_RIDGE_PRODUCT ? n : 0;

    if (next == LINEAR_RIDGE_HESSIAN)
        return STRADS_OK;
    if (first > 0 && commit->phase == GLM_PRODUCT) {
        for (uint32_t j = 0; j < n; j++)
            commit->change[(size_t)j * state->width + state->target] =
                ridge->value[j];
        return STRADS_OK;
    }
    for (uint32_t j = 0; j < n; j++)
        state->candidate[j] = first + j;
    return glm_also(commit, n, state->candidate, ridge->value);
}

static strads_err follow(strads_commit *commit, linear_ridge_next next)
{
    static const glm_next phase[] = {[LINEAR_RIDGE_STEP] = GLM_TO_ROWS,
                                     [LINEAR_RIDGE_PRODUCT] = GLM_TO_PRODUCT,
                                     [LINEAR_RIDGE_HESSIAN] = GLM_TO_HESSIAN};
    glm_state *state = commit->state;

    state->next = phase[next];
    return tell_next(commit, next);
}

/* The slopes of P. If `alone`, penalised coefficients do not move. */
static void take_rest(glm_state *state)
{
    linear_ridge *ridge = &state->ridge;
    const uint32_t last = (uint32_t)state->columns;

    ridge->weight = state->weight;
    ridge->norm = state->norm;
    ridge->n = 0;
    for (uint32_t j = 0; j < last; j++) {
        const glm_term t = glm_term_of(state, j);
        const bool moves = !state->alone || glm_is_free(&t);
        ridge->l2[j] = t.l2;
        ridge->rest[j] = moves ? state->slope[j] - t.l2 * state->w[j] : 0;
        if (moves)
            ridge->column[ridge->n++] = j;
    }
    ridge->rest[last] =
        state->problem.options.intercept ? state->slope[last] : 0;
}

double glm_whole_left(glm_state *state, double square)
{
    if (!state->ridge.used || state->alone || !glm_has_free_columns(state))
        return 0;
    if (!state->ridge.factored)
        return INFINITY;
    take_rest(state);
    return linear_ridge_left(&state->ridge, square);
}

strads_err glm_whole_judge(strads_commit *commit)
{
    glm_state *state = commit->state;
    linear_ridge *ridge = &state->ridge;

    state->began = true;
    state->scans++;
    take_rest(state);
    return follow(commit, linear_ridge_judge(
                              ridge, strads_store_dense(commit->store, 0),
                              state->target, state->primal, &state->watch));
}

strads_err glm_aggregate_hessian(strads_commit *commit)
{
    glm_state *state = commit->state;

    return follow(commit,
                  linear_ridge_factor(&state->ridge,
                                      strads_store_dense(commit->store, 0),
                                      commit->partial));
}

strads_err glm_aggregate_product(strads_commit *commit)
{
    glm_state *state = commit->state;

    return follow(commit, linear_ridge_multiply(&state->ridge, commit->partial,
                                                state->gap, commit->tolerance));
}

strads_err glm_dispatch_hessian(strads_turn *turn)
{
    const glm_state *state = turn->state;
    const strads_block columns = {.id = GLM_SCAN_ID + turn->round,
                                  .n = state->ridge.n,
                                  .param = state->ridge.column};

    return strads_turn_dispatch(turn, GLM_HESSIAN, 1, &columns);
}

strads_err glm_dispatch_product(strads_turn *turn)
{
    const glm_state *state = turn->state;
    const uint32_t n = (uint32_t)state->columns + 1;
    const strads_block direction = {.id = GLM_DIRECTION_ID, .n = n, .first = n};

    return strads_turn_dispatch(turn, GLM_PRODUCT, 1, &direction);
}
