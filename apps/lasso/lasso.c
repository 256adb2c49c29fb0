/* The Lasso as a program: what is computed where, phase by phase.
 *
 * Workers hold rows and the residual r = y - X w of these rows, which refresh
 * keeps up with the commits. The coordinator holds the working set.
 *
 *     centre   n, sum y                  -> every worker takes the mean off y
 *     moments  |x|^2, sum x, X'y         -> lambda_max, norms, scales; a first
 *                                           scan, as X'r is X'y at w = 0
 *     scan     X'r of all columns        -> gap, working set, priorities
 *     drift    |r - r_scan|^2            -> who needs a look; then
 *     look     X'r of these columns      -> the same as from a scan of all
 *     reckon   nothing                   -> the same by the pairs of all
 *     pairs    X_A' X_B                  -> the engine's cache, or all of the
 *                                           working set's
 *     solve    nothing                   -> descent on B by the set's pairs
 *     rows     y, weights                -> for what follows, once
 *     columns  those of the working set  -> for what follows
 *     packed   nothing                   -> descent on B by these columns, for
 *                                           sets with too many pairs
 *     block    X_B' r                    -> descent on B through X_B' X_B, for
 *                                           sets that are too large to keep
 *
 * Blocks run until the priorities left are a small share of the gap; then a
 * scan looks at everything again. Kim et al., "STRADS", EuroSys 2016, section
 * 4; where this differs from it stands in docs/lasso.md. */
#include <strads/lasso.h>

#include <math.h>
#include <string.h>

#include "lasso_gram.h"
#include "lasso_columns.h"
#include "lasso_path.h"

/* ---- workers ----------------------------------------------------------- */

static strads_err lasso_update_centre(strads_task *task)
{
    const lasso_local *local = task->local;

    task->partial[0] =
        local->root ? lasso_sum(local, local->root) : (double)local->rows;
    task->partial[1] = lasso_sum(local, local->response);
    return STRADS_OK;
}

static double mean_label(const strads_lasso_options *options,
                         const double *merged)
{
    return options->intercept && merged[0] > 0 ? merged[1] / merged[0] : 0;
}

static strads_err lasso_receive_centre(strads_task *task)
{
    lasso_take_shift(task->local, mean_label(task->config, task->partial));
    return STRADS_OK;
}

void lasso_end_scan(const lasso_local *local, const double *r, double *rest)
{
    rest[0] = local->kernels->dot_dense(local->rows, r, r);
    rest[1] = local->kernels->dot_dense(local->rows, local->response, r);
    rest[2] = lasso_sum(local, r);
}

/* As a scan at w = 0, together with |x|^2 of each column, and their sums if
 * asked: a few columns at a time, which stay close between the two. */
static strads_err lasso_update_moments(strads_task *task)
{
    enum { STRETCH = 1 << 13 };
    lasso_local *local = task->local;
    const strads_share *share = lasso_share(task);
    const strads_lasso_options *options = task->config;
    const uint64_t p = local->columns, *start = share->by_col.start;
    double *rest = task->partial + p, *squares = rest + 3, *sum = squares + p;

    for (uint64_t j = 0, end = 0; j < p; j = end) {
        while (end < p && (end == j || start[end + 1] - start[j] <= STRETCH))
            end++;
        column_scan(local->kernels, share, j, end, local->response,
                    task->partial + j);
        lasso_sums(local, share, j, end, squares,
                   options->intercept ? sum : NULL);
    }
    lasso_end_scan(local, local->response, rest);
    lasso_keep_reference(local, local->response);
    return STRADS_OK;
}

static strads_err lasso_refresh(strads_task *task, const strads_change *changes,
                                uint32_t n)
{
    lasso_local *local = task->local;

    linear_pending_add(&local->pending, changes, n, 1, 0);
    return STRADS_OK;
}

void lasso_catch_up(lasso_local *local, const strads_share *share)
{
    linear_pending_apply(&local->pending, share, local->kernels, -1,
                         local->residual);
}

static strads_err lasso_update_scan(strads_task *task)
{
    lasso_local *local = task->local;
    const strads_share *share = lasso_share(task);

    lasso_catch_up(local, share);
    column_scan(local->kernels, share, 0, local->columns, local->residual,
                task->partial);
    lasso_end_scan(local, local->residual, task->partial + local->columns);
    lasso_keep_reference(local, local->residual);
    return STRADS_OK;
}

static strads_err lasso_update_block(strads_task *task)
{
    lasso_local *local = task->local;
    const uint32_t n = task->block.n;

    lasso_catch_up(local, lasso_share(task));
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t j = strads_block_param(&task->block, k);
        const data_column x = lasso_column(task, j);
        task->partial[k] = local->kernels->dot(&x, local->residual);
    }
    task->partial[n] = lasso_sum(local, local->residual);
    return STRADS_OK;
}

static strads_err lasso_update_pairs(strads_task *task)
{
    lasso_local *local = task->local;
    const linear_products of = {.share = lasso_share(task),
                                .kernels = local->kernels,
                                .lines = task->block,
                                .against = task->against,
                                .partial = task->partial};

    return linear_pairs_multiply(&local->pairs, &of);
}

static strads_err lasso_update_columns(strads_task *task)
{
    return linear_packed_write(task, lasso_share(task));
}

/* ---- coordinator ------------------------------------------------------- */

static strads_err lasso_aggregate_centre(strads_commit *commit)
{
    lasso_state *state = commit->state;

    state->rows = commit->partial[0];
    state->shift = mean_label(&state->options, commit->partial);
    if (state->rows == 0 && strads_data_rows(state->data) > 0)
        return strads_fail(STRADS_EINVAL,
                           "--weights %s: all weights are 0; expected one "
                           "above it",
                           state->options.weights);
    return STRADS_OK;
}

static strads_err lasso_aggregate_scan(strads_commit *commit)
{
    lasso_state *state = commit->state;
    double dual = state->dual;
    strads_err err = STRADS_OK;

    state->scans++;
    if (commit->phase != LASSO_RECKON)
        lasso_note_scan(commit);
    lasso_certify(commit);
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of squared residuals overflows: scale the "
                           "labels and columns down");
    if (state->path)
        err = lasso_path_advance(commit, &dual);
    if (err || (state->path && linear_path_is_over(state->path)))
        return err;
    return lasso_choose(commit, dual);
}

static strads_err lasso_aggregate_reckon(strads_commit *commit)
{
    lasso_state *state = commit->state;

    lasso_gram_reckon(state, commit->value);
    state->looked = false;
    commit->partial = state->gram->scan;
    return lasso_aggregate_scan(commit);
}

/* The first scan, unless start values have moved the residual. */
static strads_err lasso_aggregate_moments(strads_commit *commit)
{
    lasso_state *state = commit->state;

    lasso_set_moments(state, commit->partial);
    for (uint64_t j = 0; j < state->columns; j++)
        if (commit->value[j] != 0)
            return STRADS_OK;
    state->next = LASSO_TO_SOLVE;
    return lasso_aggregate_scan(commit);
}

static strads_err lasso_objective(void *user, strads_report *report)
{
    const lasso_state *state = user;

    if (state->scans == 0) {
        report->objective = report->gap = NAN;
        return STRADS_OK;
    }
    report->objective = state->primal / (state->rows > 0 ? state->rows : 1);
    report->gap = state->primal > 0 ? state->gap / state->primal : 0;
    report->nonzeros = state->nonzeros;
    report->stop = state->watch.stalled;
    return STRADS_OK;
}

/* ---- the table --------------------------------------------------------- */

static size_t partial_centre(const strads_task *task)
{
    (void)task;
    return 2;
}

static size_t partial_moments(const strads_task *task)
{
    const strads_lasso_options *options = task->config;

    return (options->intercept ? 3 : 2) * (size_t)task->block.n + 3;
}

static size_t partial_scan(const strads_task *task)
{
    return (size_t)task->block.n + 3;
}

static size_t partial_drift(const strads_task *task)
{
    (void)task;
    return 1;
}

static size_t partial_block(const strads_task *task)
{
    return (size_t)task->block.n + 1;
}

static const strads_phase phases[] = {
    [LASSO_CENTRE] = {.name = "centre",
                      .when = STRADS_WHEN_START,
                      .result = STRADS_RESULT_WORKERS,
                      .ignores_values = true,
                      .partial = partial_centre,
                      .update = lasso_update_centre,
                      .aggregate = lasso_aggregate_centre,
                      .receive = lasso_receive_centre},
    [LASSO_MOMENTS] = {.name = "moments",
                       .when = STRADS_WHEN_START,
                       .reports = true,
                       .ignores_values = true,
                       .partial = partial_moments,
                       .update = lasso_update_moments,
                       .aggregate = lasso_aggregate_moments},
    [LASSO_SCAN] = {.name = "scan",
                    .when = STRADS_WHEN_REST,
                    .reports = true,
                    .ignores_values = true,
                    .partial = partial_scan,
                    .update = lasso_update_scan,
                    .aggregate = lasso_aggregate_scan},
    [LASSO_PAIRS] = {.name = "pairs",
                     .when = STRADS_WHEN_PROBE,
                     .update = lasso_update_pairs,
                     .aggregate = lasso_gram_store},
    [LASSO_BLOCK] = {.name = "block",
                     .when = STRADS_WHEN_POLICY,
                     .partial = partial_block,
                     .update = lasso_update_block,
                     .aggregate = lasso_solve_block},
    [LASSO_SOLVE] = {.name = "solve",
                     .when = STRADS_WHEN_POLICY,
                     .to = STRADS_TO_NOBODY,
                     .aggregate = lasso_gram_solve},
    [LASSO_ROWS] = {.name = "rows",
                    .when = STRADS_WHEN_CALLED,
                    .merge = STRADS_MERGE_CONCAT,
                    .exclusive = true,
                    .ignores_values = true,
                    .partial = lasso_rows_size,
                    .update = lasso_update_rows,
                    .aggregate = lasso_take_rows},
    [LASSO_COLUMNS] = {.name = "columns",
                       .when = STRADS_WHEN_CALLED,
                       .merge = STRADS_MERGE_CONCAT,
                       .exclusive = true,
                       .ignores_values = true,
                       .partial = linear_packed_bytes,
                       .update = lasso_update_columns,
                       .aggregate = lasso_take_columns},
    [LASSO_BY_COLUMNS] = {.name = "packed",
                          .when = STRADS_WHEN_POLICY,
                          .to = STRADS_TO_NOBODY,
                          .aggregate = lasso_columns_solve},
    [LASSO_DRIFT] = {.name = "drift",
                     .when = STRADS_WHEN_CALLED,
                     .exclusive = true,
                     .ignores_values = true,
                     .keeps_values = true,
                     .partial = partial_drift,
                     .update = lasso_update_drift,
                     .aggregate = lasso_aggregate_drift},
    [LASSO_LOOK] = {.name = "look",
                    .when = STRADS_WHEN_CALLED,
                    .exclusive = true,
                    .reports = true,
                    .ignores_values = true,
                    .partial = partial_scan,
                    .update = lasso_update_look,
                    .aggregate = lasso_aggregate_scan},
    [LASSO_RECKON] = {.name = "reckon",
                      .when = STRADS_WHEN_CALLED,
                      .to = STRADS_TO_NOBODY,
                      .exclusive = true,
                      .reports = true,
                      .ignores_values = true,
                      .aggregate = lasso_aggregate_reckon},
};

/* What one lambda and a path have in common: all that is computed. A path's
 * config begins with a fit's. */
#define COMPUTED                                                        \
    .size = sizeof(strads_program), .split = STRADS_SPLIT_ROWS,         \
    .layout = STRADS_LAYOUT_COLS, .end = lasso_end, .open = lasso_open, \
    .close = lasso_close, .refresh = lasso_refresh,                     \
    .schedule = lasso_schedule, .finalises = true, .phases = phases,    \
    .n_phases = sizeof(phases) / sizeof(phases[0])

const strads_program strads_program_lasso = {
    COMPUTED,
    .name = "lasso",
    .summary = "least squares with an L1 penalty, or the elastic net",
    .options = lasso_option_table,
    .config_size = sizeof(strads_lasso_options),
    .defaults = &lasso_defaults,
    .shape = lasso_shape,
    .begin = lasso_begin,
    .objective = lasso_objective};

static const char *const path_measures[] = {"points", "lambda", NULL};

const strads_program strads_program_lasso_path = {
    COMPUTED,
    .name = "lasso-path",
    .summary = "the same for one lambda after the other",
    .options = lasso_path_option_table,
    .config_size = sizeof(strads_lasso_path_options),
    .defaults = &lasso_path_defaults,
    .shape = lasso_path_shape,
    .begin = lasso_path_begin,
    .objective = lasso_path_objective,
    .pack_state = lasso_path_pack,
    .unpack_state = lasso_path_unpack,
    .measures = path_measures};
