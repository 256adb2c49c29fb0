/* l1-logistic regression by proximal Newton (Friedman et al. 2010; Yuan et al.
 * 2012): freeze the weights at w, descend on the quadratic model with policy
 * blocks, search a step along the line, freeze again. Table 0 holds the trial
 * point w + d; labels are +1 and -1. Compiled, not run. */
#include <math.h>
#include <stdlib.h>

#include "strads/strads.h"

enum { FREEZE, PAIRS, SOLVE, SEARCH, STEPS = 8 };

struct logistic_config {
    double lambda;
    uint32_t rounds; /* of one quadratic model, at most */
};

/* One partition: margins at the frozen point, the direction's, the weights. */
struct logistic_local {
    size_t rows;
    double *margin, *along, *weight, *slope;
};

struct logistic_state {
    uint32_t n;
    double *base; /* [n] w, where the weights were frozen */
    double loss, penalty, slope_max;
    uint32_t left; /* rounds left in this model */
    uint64_t nonzeros;
    int next;
};

static double softplus(double z)
{
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static strads_err logistic_begin(const void *config, const strads_data *data,
                                 const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    struct logistic_state *s = calloc(1, sizeof *s);
    double *base = calloc(shape->parameters, sizeof *base);
    if (!s || !base) {
        free(s);
        free(base);
        return strads_fail(STRADS_ENOMEM, "no memory for the base point");
    }
    s->n = (uint32_t)shape->parameters;
    s->base = base;
    *state = s;
    return STRADS_OK;
}

static void logistic_end(void *state)
{
    free(((struct logistic_state *)state)->base);
    free(state);
}

static strads_err logistic_open(const strads_task *task, void **local)
{
    size_t rows = task->share->rows.end - task->share->rows.begin;
    struct logistic_local *l = calloc(1, sizeof *l);
    double *all = calloc(4 * rows + 1, sizeof *all);
    if (!l || !all) {
        free(l);
        free(all);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu rows", rows);
    }
    *l = (struct logistic_local){.rows = rows,
                                 .margin = all,
                                 .along = all + rows,
                                 .weight = all + 2 * rows,
                                 .slope = all + 3 * rows};
    *local = l;
    return STRADS_OK;
}

static void logistic_close(void *local)
{
    free(((struct logistic_local *)local)->margin);
    free(local);
}

static strads_err logistic_refresh(strads_task *task,
                                   const strads_change *changes, uint32_t n)
{
    struct logistic_local *l = task->local;
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++) {
            uint32_t j = changes[c].param[k];
            for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
                l->along[x->index[e]] += x->f64[e] * changes[c].change[k];
        }
    return STRADS_OK;
}

/* freeze: the gradient of every column, and the loss. */
static size_t logistic_freeze_partial(const strads_task *task)
{
    return task->block.n + 1;
}

static strads_err logistic_freeze(strads_task *task)
{
    struct logistic_local *l = task->local;
    const strads_sparse *x = &task->share->by_col;
    for (size_t i = 0; i < l->rows; i++) {
        double y = task->share->label[i];
        l->margin[i] += l->along[i];
        l->along[i] = 0;
        double p = 1 / (1 + exp(y * l->margin[i]));
        l->slope[i] = y * p;
        l->weight[i] = fmax(p * (1 - p), 1e-6);
        task->partial[task->block.n] += softplus(-y * l->margin[i]);
    }
    for (uint32_t j = 0; j < task->block.n; j++)
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            task->partial[j] += x->f64[e] * l->slope[x->index[e]];
    return STRADS_OK;
}

static strads_err logistic_frozen(strads_commit *commit)
{
    struct logistic_state *s = commit->state;
    const struct logistic_config *config = commit->config;
    s->penalty = s->slope_max = 0;
    s->nonzeros = 0;
    s->loss = commit->partial[s->n];
    for (uint32_t j = 0; j < s->n; j++) {
        double w = s->base[j] = commit->value[j], g = commit->partial[j];
        s->penalty += config->lambda * fabs(w);
        s->nonzeros += w != 0;
        commit->priority[j] = w != 0 ? fabs(g - copysign(config->lambda, w))
                                     : fmax(fabs(g) - config->lambda, 0);
        s->slope_max = fmax(s->slope_max, commit->priority[j]);
    }
    s->left = config->rounds;
    return STRADS_OK;
}

/* x_i' W x_j on this share, both columns ascending. */
static strads_err logistic_pairs(strads_task *task)
{
    const struct logistic_local *l = task->local;
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t i = 0; i < task->block.n; i++)
        for (uint32_t j = 0; j < task->against.n; j++) {
            uint32_t ci = strads_block_param(&task->block, i);
            uint32_t cj = strads_block_param(&task->against, j);
            uint64_t a = x->start[ci], b = x->start[cj];
            double sum = 0;
            while (a < x->start[ci + 1] && b < x->start[cj + 1]) {
                if (x->index[a] == x->index[b]) {
                    sum += l->weight[x->index[a]] * x->f64[a] * x->f64[b];
                    a++;
                    b++;
                } else if (x->index[a] < x->index[b]) {
                    a++;
                } else {
                    b++;
                }
            }
            task->partial[i * task->against.n + j] = sum;
        }
    return STRADS_OK;
}

/* The model's descent direction: x_j' (slope - W X d). */
static strads_err logistic_correlate(strads_task *task)
{
    const struct logistic_local *l = task->local;
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            uint32_t i = x->index[e];
            task->partial[k] +=
                x->f64[e] * (l->slope[i] - l->weight[i] * l->along[i]);
        }
    }
    return STRADS_OK;
}

static strads_err logistic_solve(strads_commit *commit)
{
    const struct logistic_config *config = commit->config;
    const double *hessian = strads_commit_pairs(commit);
    uint32_t n = commit->block.n;
    double *d = commit->change;
    for (int pass = 0; pass < 20; pass++)
        for (uint32_t k = 0; k < n; k++) {
            const double *h = hessian + (size_t)k * n;
            double g = commit->partial[k], w = commit->value[k] + d[k];
            for (uint32_t i = 0; i < n; i++)
                g -= h[i] * d[i];
            if (h[k] <= 0)
                continue;
            double z = w + g / h[k];
            double to = copysign(fmax(fabs(z) - config->lambda / h[k], 0), z);
            d[k] += to - w;
        }
    return STRADS_OK;
}

/* search: the loss at w + d, w + d / 2, w + d / 4 ... in one reduction. */
static size_t logistic_search_partial(const strads_task *task)
{
    (void)task;
    return STEPS;
}

static strads_err logistic_search(strads_task *task)
{
    const struct logistic_local *l = task->local;
    for (int s = 0; s < STEPS; s++)
        for (size_t i = 0; i < l->rows; i++) {
            double z = l->margin[i] + ldexp(l->along[i], -s);
            task->partial[s] += softplus(-task->share->label[i] * z);
        }
    return STRADS_OK;
}

static strads_err logistic_step(strads_commit *commit)
{
    struct logistic_state *s = commit->state;
    const struct logistic_config *config = commit->config;
    double best = s->loss + s->penalty, take = 0;
    for (int k = 0; k < STEPS; k++) {
        double f = commit->partial[k], t = ldexp(1, -k);
        for (uint32_t j = 0; j < s->n; j++) {
            double d = commit->value[j] - s->base[j];
            f += config->lambda * fabs(s->base[j] + t * d);
        }
        if (f < best) {
            best = f;
            take = t;
        }
    }
    for (uint32_t j = 0; j < s->n; j++)
        commit->change[j] = (take - 1) * (commit->value[j] - s->base[j]);
    return STRADS_OK;
}

static strads_err logistic_schedule(strads_turn *turn)
{
    struct logistic_state *s = turn->state;
    switch (s->next) {
    case FREEZE:
        s->next = SOLVE;
        return strads_turn_all(turn, FREEZE);
    case SOLVE:
        if (turn->in_flight && !s->left)
            return strads_turn_wait(turn);
        if (s->left && !turn->at_rest) {
            s->left--;
            return strads_turn_policy(turn, SOLVE);
        }
        s->next = FREEZE;
        return strads_turn_all(turn, SEARCH);
    }
    return strads_fail(STRADS_EPROGRAM, "no phase %d to schedule", s->next);
}

static strads_err logistic_objective(void *state, strads_report *report)
{
    const struct logistic_state *s = state;
    report->objective = s->loss + s->penalty;
    report->gap = s->slope_max / s->n;
    report->nonzeros = s->nonzeros;
    return STRADS_OK;
}

static const strads_option logistic_options[] = {
    {.name = "lambda",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(struct logistic_config, lambda),
     .metavar = "L",
     .help = "weight of |w|_1 (default 1)",
     .max = 1e300},
    {.name = "rounds",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct logistic_config, rounds),
     .metavar = "N",
     .help = "rounds between two freezes (default 100)",
     .min = 1,
     .max = 1e9},
    {.name = NULL},
};

static const strads_phase logistic_phases[] = {
    [FREEZE] = {.name = "freeze",
                .blind = true,
                .when = STRADS_WHEN_CALLED,
                .drains = true,
                .reports = true,
                .outdates = true,
                .partial = logistic_freeze_partial,
                .update = logistic_freeze,
                .aggregate = logistic_frozen},
    [PAIRS] = {.name = "pairs",
               .when = STRADS_WHEN_PROBE,
               .update = logistic_pairs},
    [SOLVE] = {.name = "solve",
               .blind = true,
               .when = STRADS_WHEN_CALLED,
               .update = logistic_correlate,
               .aggregate = logistic_solve},
    [SEARCH] = {.name = "search",
                .blind = true,
                .when = STRADS_WHEN_CALLED,
                .drains = true,
                .partial = logistic_search_partial,
                .update = logistic_search,
                .aggregate = logistic_step},
};

const strads_program logistic_sketch = {
    .size = sizeof(strads_program),
    .name = "logistic-sketch",
    .summary = "logistic regression with an l1 penalty",
    .options = logistic_options,
    .config_size = sizeof(struct logistic_config),
    .defaults = &(const struct logistic_config){.lambda = 1, .rounds = 100},
    .begin = logistic_begin,
    .end = logistic_end,
    .open = logistic_open,
    .close = logistic_close,
    .refresh = logistic_refresh,
    .schedule = logistic_schedule,
    .phases = logistic_phases,
    .n_phases = sizeof logistic_phases / sizeof *logistic_phases,
    .objective = logistic_objective,
};
