/* Matrix factorisation by SGD (DSGD, Gemulla et al. 2011): users stay with
 * their factors, blocks of items travel with theirs. The step size follows the
 * merged loss (bold driver): it grows while the loss falls; when the loss
 * rises, the last good factors come back and it is halved. It is a shared
 * total, so that every update sees it. Not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"

enum { BEGIN, EPOCH, KEEP, RESTORE, STEP = 0, ITEMS = 1, USERS = 2 };

struct mf_config {
    uint32_t rank, epochs;
    double lambda, step;
};

struct mf_local {
    double *users, *good; /* [rows x rank] now, and when the loss was best */
};

struct mf_state {
    strads_cut *cut;
    uint32_t epoch;
    int next;
    size_t numbers;
    double *good; /* [items x rank] */
    double loss, best;
};

static strads_err mf_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    (void)data;
    shape->width = ((const struct mf_config *)config)->rank;
    shape->block_max = UINT32_MAX;
    shape->totals = 1;
    return STRADS_OK;
}

static void mf_end(void *state)
{
    struct mf_state *s = state;
    strads_cut_free(s->cut);
    free(s->good);
    free(s);
}

static strads_err mf_begin(const void *config, const strads_data *data,
                           const strads_shape *shape, void **state)
{
    (void)config;
    uint32_t n = (uint32_t)shape->parameters;
    struct mf_state *s = calloc(1, sizeof *s);
    double *ratings = calloc(n + (size_t)1, sizeof *ratings);
    strads_err err = strads_fail(STRADS_ENOMEM, "no memory for the items");
    if (!s || !ratings)
        goto fail;
    s->best = INFINITY;
    s->numbers = (size_t)n * shape->width;
    s->good = calloc(s->numbers, sizeof *s->good);
    if (!s->good)
        goto fail;
    for (uint32_t j = 0; j < n; j++)
        ratings[j] = strads_data_col_nnz(data, j);
    err =
        strads_cut_deal(n, ratings, shape->blocks, shape->partitions, &s->cut);
    if (err)
        goto fail;
    free(ratings);
    *state = s;
    return STRADS_OK;
fail:
    free(ratings);
    if (s)
        mf_end(s);
    return err;
}

static strads_err mf_open(const strads_task *task, void **local)
{
    uint64_t first = task->share->rows.begin;
    size_t rows = task->share->rows.end - first, n = rows * task->width;
    struct mf_local *l = calloc(1, sizeof *l);
    double *both = calloc(2 * n + 1, sizeof *both);
    if (!l || !both) {
        free(l);
        free(both);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu users", rows);
    }
    for (size_t i = 0; i < n; i++)
        both[i] = 0.1 * strads_random_unit(task->seed, USERS,
                                           first * task->width + i, 0);
    *l = (struct mf_local){.users = both, .good = both + n};
    *local = l;
    return STRADS_OK;
}

static void mf_close(void *local)
{
    free(((struct mf_local *)local)->users);
    free(local);
}

static size_t mf_no_partial(const strads_task *task)
{
    (void)task;
    return 0;
}

static size_t mf_users_bytes(const strads_task *task)
{
    return sizeof(double) * task->width *
           (size_t)(task->share->rows.end - task->share->rows.begin);
}

/* begin: the users are there, the items start at small random numbers. */
static strads_err mf_begun(strads_commit *commit)
{
    const struct mf_state *s = commit->state;
    const struct mf_config *config = commit->config;
    for (size_t i = 0; i < s->numbers; i++)
        commit->change[i] = 0.1 * strads_random_unit(commit->seed, ITEMS, i, 0);
    commit->total_change[STEP] = config->step;
    return STRADS_OK;
}

static strads_err mf_keep(strads_task *task)
{
    struct mf_local *l = task->local;
    memcpy(l->good, l->users, mf_users_bytes(task));
    return STRADS_OK;
}

static strads_err mf_kept(strads_commit *commit)
{
    struct mf_state *s = commit->state;
    memcpy(s->good, commit->value, s->numbers * sizeof *s->good);
    commit->total_change[STEP] = 0.05 * commit->total[STEP];
    return STRADS_OK;
}

static strads_err mf_restore(strads_task *task)
{
    struct mf_local *l = task->local;
    memcpy(l->users, l->good, mf_users_bytes(task));
    return STRADS_OK;
}

static strads_err mf_restored(strads_commit *commit)
{
    const struct mf_state *s = commit->state;
    for (size_t i = 0; i < s->numbers; i++)
        commit->change[i] = s->good[i] - commit->value[i];
    commit->total_change[STEP] = -0.5 * commit->total[STEP];
    return STRADS_OK;
}

/* One pass over the ratings that this share has of the block's items. */
static strads_err mf_epoch(strads_task *task)
{
    const struct mf_config *config = task->config;
    const strads_sparse *x = &task->share->by_col;
    struct mf_local *l = task->local;
    uint32_t rank = task->width;
    double step = task->total[STEP];
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        double *q = task->value + (size_t)k * rank;
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
            double *p = l->users + (size_t)x->index[e] * rank, r = x->f64[e];
            for (uint32_t t = 0; t < rank; t++)
                r -= p[t] * q[t];
            for (uint32_t t = 0; t < rank; t++) {
                double pt = p[t], qt = q[t];
                p[t] += step * (r * qt - config->lambda * pt);
                q[t] += step * (r * pt - config->lambda * qt);
            }
            task->partial[0] += r * r;
        }
    }
    return STRADS_OK;
}

static size_t mf_epoch_partial(const strads_task *task)
{
    (void)task;
    return 1;
}

static strads_err mf_add_up(strads_commit *commit)
{
    ((struct mf_state *)commit->state)->loss += commit->partial[0];
    return STRADS_OK;
}

static strads_err mf_schedule(strads_turn *turn)
{
    struct mf_state *s = turn->state;
    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (s->next) {
    case BEGIN:
        s->next = EPOCH;
        return strads_turn_all(turn, BEGIN);
    case EPOCH:
        if (s->epoch++ == ((const struct mf_config *)turn->config)->epochs)
            return strads_turn_stop(turn);
        s->loss = 0;
        s->next = KEEP;
        return strads_turn_dispatch(turn, EPOCH, s->cut->blocks, s->cut->block);
    default: /* the loss is known: keep these factors, or go back */
        s->next = EPOCH;
        bool better = s->loss <= s->best; /* not when it is NaN */
        if (better)
            s->best = s->loss;
        return strads_turn_all(turn, better ? KEEP : RESTORE);
    }
}

static strads_err mf_objective(void *state, strads_report *report)
{
    report->objective = ((struct mf_state *)state)->loss;
    report->gap = NAN;
    return STRADS_OK;
}

static const strads_option mf_options[] = {
    {.name = "rank",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct mf_config, rank),
     .metavar = "R",
     .help = "numbers a user and an item (default 16)",
     .min = 1,
     .max = 4096},
    {.name = "step",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(struct mf_config, step),
     .metavar = "S",
     .help = "first step size (default 0.01)",
     .max = 1},
    {.name = NULL},
};

static const strads_phase mf_phases[] = {
    [BEGIN] = {.name = "begin",
               .when = STRADS_WHEN_CALLED,
               .blind = true,
               .partial = mf_no_partial,
               .update = mf_keep,
               .aggregate = mf_begun},
    [EPOCH] = {.name = "epoch",
               .to = STRADS_TO_RING,
               .when = STRADS_WHEN_CALLED,
               .reports = true,
               .partial = mf_epoch_partial,
               .update = mf_epoch,
               .aggregate = mf_add_up},
    [KEEP] = {.name = "keep",
              .when = STRADS_WHEN_CALLED,
              .blind = true,
              .partial = mf_no_partial,
              .update = mf_keep,
              .aggregate = mf_kept},
    [RESTORE] = {.name = "restore",
                 .when = STRADS_WHEN_CALLED,
                 .blind = true,
                 .partial = mf_no_partial,
                 .update = mf_restore,
                 .aggregate = mf_restored},
};

const strads_program sgd_mf_sketch = {
    .size = sizeof(strads_program),
    .name = "sgd-mf-sketch",
    .summary = "matrix factorisation by stochastic gradient descent",
    .options = mf_options,
    .config_size = sizeof(struct mf_config),
    .defaults = &(const struct mf_config){.rank = 16,
                                          .epochs = 30,
                                          .lambda = 0.05,
                                          .step = 0.01},
    .shape = mf_shape,
    .begin = mf_begin,
    .end = mf_end,
    .open = mf_open,
    .close = mf_close,
    .schedule = mf_schedule,
    .phases = mf_phases,
    .n_phases = sizeof mf_phases / sizeof *mf_phases,
    .objective = mf_objective,
};
