/* Workers hold the residual r = y - X w of their rows; refresh keeps it up.
 * With G = X'X from the probes and d what was committed since the dispatch,
 *
 *     X_B' (r - X d) = X_B' r - G_Bd d
 *
 * and the block is then solved coordinate by coordinate through G_BB. */
#include "tests/schedulers_toy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/toy_data.h"
#include "tests/toy_residual.h"

TOY_SHAPE(toy_shape, shape->block_max = 2)

static strads_err toy_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    schedulers_toy_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->config = *(const schedulers_toy_config *)config;
    *state = s;
    return STRADS_OK;
}

/* ---- workers ----------------------------------------------------------- */

static strads_err toy_step(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] +=
            toy_residual_times(task, strads_block_param(&task->block, k));
    return STRADS_OK;
}

static strads_err toy_pairs(strads_task *task)
{
    uint32_t m = task->against.n;
    for (uint32_t k = 0; k < task->block.n; k++)
        for (uint32_t l = 0; l < m; l++)
            task->partial[k * m + l] =
                toy_column_product(&task->share->by_col,
                                   strads_block_param(&task->block, k),
                                   strads_block_param(&task->against, l));
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

/* What was committed since the dispatch was in flight with it. */
static strads_err put_right(strads_commit *commit, double *slope)
{
    schedulers_toy_state *s = commit->state;
    for (uint32_t c = 0; c < commit->n_since; c++)
        for (uint32_t l = 0; l < commit->since[c].n; l++)
            for (uint32_t k = 0; k < commit->block.n; k++) {
                uint32_t i = strads_block_param(&commit->block, k);
                uint32_t j = commit->since[c].param[l];
                double both = strads_commit_pair(commit, i, j);
                double scale = strads_commit_pair(commit, i, i) *
                               strads_commit_pair(commit, j, j);
                TOY_CHECK(!isnan(both));
                if (s->config.threshold > 0)
                    TOY_CHECK(both * both <= s->config.threshold *
                                                 s->config.threshold * scale *
                                                 (1 + 1e-12));
                slope[k] -= both * commit->since[c].change[l];
                s->compared++;
            }
    return STRADS_OK;
}

static strads_err toy_solve(strads_commit *commit)
{
    schedulers_toy_state *s = commit->state;
    uint32_t n = commit->block.n;
    double slope[2];
    TOY_CHECK(n <= 2);
    const double *g = strads_commit_pairs(commit);
    TOY_CHECK(g != NULL);
    memcpy(slope, commit->partial, sizeof *slope * n);
    strads_err err = put_right(commit, slope);
    for (uint32_t k = 0; k < n && !err; k++) {
        uint32_t j = strads_block_param(&commit->block, k);
        for (uint32_t l = 0; l < k; l++)
            slope[k] -= g[k * n + l] * commit->change[l];
        commit->change[k] = s->config.restless ? 1.0 / (1 + j)
                            : g[k * n + k] > 0 ? slope[k] / g[k * n + k]
                                               : 0;
        s->chosen[j]++;
        s->moved[j] = fabs(commit->change[k]);
        if (j >= s->config.prioritised && s->config.prioritised)
            commit->priority[k] = 0;
    }
    return err;
}

static strads_err toy_scan(strads_commit *commit)
{
    schedulers_toy_state *s = commit->state;
    double left = 0, priority[SCHEDULERS_TOY_COLS];
    uint32_t all[SCHEDULERS_TOY_COLS];
    for (uint32_t j = 0; j < SCHEDULERS_TOY_COLS; j++) {
        left += s->moved[j];
        all[j] = j;
        priority[j] = s->config.prioritised
                          ? j < s->config.prioritised
                          : fmax(s->moved[j], s->scans ? 1e-9 : 1);
    }
    if (s->scans++ && left > s->most_left)
        s->most_left = left;
    strads_commit_prioritise(commit, SCHEDULERS_TOY_COLS, all, priority);
    strads_commit_rest(commit, s->config.rest);
    return STRADS_OK;
}

static size_t nothing(const strads_task *task)
{
    (void)task;
    return 0;
}

static const strads_phase phases[] = {
    {.name = "look",
     .when = STRADS_WHEN_REST,
     .ignores_values = true,
     .partial = nothing,
     .update = toy_does_nothing,
     .aggregate = toy_scan},
    {.name = "pairs", .when = STRADS_WHEN_PROBE, .update = toy_pairs},
    {.name = "step",
     .ignores_values = true,
     .update = toy_step,
     .aggregate = toy_solve},
};

const strads_program schedulers_toy = {
    .size = sizeof(strads_program),
    .name = "schedulers-toy",
    .config_size = sizeof(schedulers_toy_config),
    .shape = toy_shape,
    .begin = toy_begin,
    .end = free,
    .open = toy_residual_open,
    .close = free,
    .refresh = toy_residual_refresh,
    .phases = phases,
    .n_phases = sizeof phases / sizeof *phases,
};
