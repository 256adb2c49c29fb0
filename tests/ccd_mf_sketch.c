/* CCD++ (Yu et al. 2012): one rank at a time, a lap over the users, then one
 * over the items, each in closed form. Every partition has its users' ratings
 * by row and its items' by column. Parameter t (m + n) + i is number t of user
 * i, or of item i - m: a rank is a range. Compiled, not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"

enum { MEET, LIFT, USERS, ITEMS, DRAW_ITEMS = 1 };

struct ccd_config {
    uint32_t rank, sweeps;
    double lambda;
};

/* Residuals without the lifted rank's share, in both orientations. */
struct ccd_local {
    double *row_residual, *col_residual;
    double *factor; /* [rank x (m + n)] as committed */
    int64_t lifted; /* the rank taken out of the residuals; -1: none */
};

struct ccd_state {
    strads_block *own; /* [2 x partitions]: users, then items */
    uint32_t partitions, rank, sweep, m, n;
    int next;
    double loss;
};

static strads_err ccd_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    uint64_t both = strads_data_rows(data) + strads_data_cols(data);
    shape->parameters = both * ((const struct ccd_config *)config)->rank;
    shape->block_max = UINT32_MAX;
    return STRADS_OK;
}

static strads_err ccd_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    uint32_t k = shape->partitions;
    struct ccd_state *s = calloc(1, sizeof *s + 2 * k * sizeof *s->own);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for %u blocks", 2 * k);
    *s = (struct ccd_state){.own = (strads_block *)(s + 1),
                            .partitions = k,
                            .m = (uint32_t)shape->rows,
                            .n = (uint32_t)shape->cols};
    *state = s;
    return STRADS_OK;
}

static void ccd_close(void *local)
{
    struct ccd_local *l = local;
    free(l->row_residual);
    free(l->col_residual);
    free(l->factor);
    free(l);
}

static strads_err ccd_open(const strads_task *task, void **local)
{
    const strads_share *share = task->share;
    uint64_t by_row = share->by_row.nnz, by_col = share->by_col.nnz;
    struct ccd_local *l = calloc(1, sizeof *l);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory for a partition");
    l->lifted = -1;
    l->row_residual = malloc((by_row + 1) * sizeof(double));
    l->col_residual = malloc((by_col + 1) * sizeof(double));
    l->factor = calloc(task->shape->parameters, sizeof(double));
    if (!l->row_residual || !l->col_residual || !l->factor) {
        ccd_close(l);
        return strads_fail(STRADS_ENOMEM, "no memory for %llu residuals",
                           (unsigned long long)(by_row + by_col));
    }
    memcpy(l->row_residual, share->by_row.f64, by_row * sizeof(double));
    memcpy(l->col_residual, share->by_col.f64, by_col * sizeof(double));
    *local = l;
    return STRADS_OK;
}

static strads_err ccd_refresh(strads_task *task, const strads_change *changes,
                              uint32_t n)
{
    struct ccd_local *l = task->local;
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++)
            l->factor[changes[c].param[k]] += changes[c].change[k];
    return STRADS_OK;
}

/* meet: which users and items a partition has. */
static size_t ccd_meet_bytes(const strads_task *task)
{
    (void)task;
    return 2 * sizeof(strads_range);
}

static strads_err ccd_meet(strads_task *task)
{
    strads_range own[2] = {task->share->rows, task->share->cols};
    memcpy(task->partial, own, sizeof own);
    return STRADS_OK;
}

static strads_err ccd_met(strads_commit *commit)
{
    struct ccd_state *s = commit->state;
    for (uint32_t p = 0; p < s->partitions; p++) {
        strads_range own[2];
        memcpy(own, (const char *)commit->partial + p * sizeof own, sizeof own);
        for (uint32_t side = 0; side < 2; side++)
            s->own[side * s->partitions + p] =
                (strads_block){.first = (uint32_t)own[side].begin + side * s->m,
                               .n = (uint32_t)(own[side].end - own[side].begin),
                               .owner = p};
    }
    return STRADS_OK;
}

/* residual += sign u_i v_j of one rank, for lines of one orientation. */
static void add_rank(const strads_sparse *x, double *residual,
                     const double *line, const double *cross, double sign)
{
    for (uint64_t k = 0; k < x->lines; k++)
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
            residual[e] += sign * line[k] * cross[x->index[e]];
}

static void add_both(const strads_task *task, uint64_t rank, double sign)
{
    struct ccd_local *l = task->local;
    const strads_share *share = task->share;
    uint64_t m = task->shape->rows, n = task->shape->cols;
    const double *u = l->factor + rank * (m + n), *v = u + m;
    add_rank(&share->by_row, l->row_residual, u + share->rows.begin, v, sign);
    add_rank(&share->by_col, l->col_residual, v + share->cols.begin, u, sign);
}

static strads_err ccd_lift(strads_task *task)
{
    struct ccd_local *l = task->local;
    uint64_t both = task->shape->rows + task->shape->cols;
    if (l->lifted >= 0)
        add_both(task, (uint64_t)l->lifted, -1);
    l->lifted = task->block.first / (int64_t)both;
    add_both(task, (uint64_t)l->lifted, 1);
    return STRADS_OK;
}

/* The items of a rank start at random numbers: at 0 nothing would ever move. */
static strads_err ccd_lifted(strads_commit *commit)
{
    const struct ccd_state *s = commit->state;
    for (uint32_t k = s->m; s->sweep == 0 && k < commit->block.n; k++)
        commit->change[k] =
            strads_random_unit(commit->seed, DRAW_ITEMS,
                               strads_block_param(&commit->block, k), 0);
    return STRADS_OK;
}

static size_t ccd_no_partial(const strads_task *task)
{
    (void)task;
    return 0;
}

/* u = sum r v / (lambda N + sum v^2); returns what is left of sum r^2. */
static double solve_line(const strads_task *task, const strads_sparse *x,
                         uint64_t line, const double *residual,
                         const double *cross, double *value)
{
    const struct ccd_config *config = task->config;
    uint64_t begin = x->start[line], end = x->start[line + 1];
    double rv = 0, vv = config->lambda * (double)(end - begin), rr = 0;
    for (uint64_t e = begin; e < end; e++) {
        double r = residual[e], v = cross[x->index[e]];
        rv += r * v;
        vv += v * v;
        rr += r * r;
    }
    *value = vv > 0 ? rv / vv : 0;
    return rr - *value * rv;
}

static strads_err ccd_users(strads_task *task)
{
    struct ccd_local *l = task->local;
    uint64_t m = task->shape->rows, n = task->shape->cols;
    const double *v = l->factor + (uint64_t)l->lifted * (m + n) + m;
    for (uint32_t k = 0; k < task->block.n; k++)
        (void)solve_line(task, &task->share->by_row, k, l->row_residual, v,
                         &task->value[k]);
    return STRADS_OK;
}

static strads_err ccd_items(strads_task *task)
{
    struct ccd_local *l = task->local;
    uint64_t m = task->shape->rows, n = task->shape->cols;
    const double *u = l->factor + (uint64_t)l->lifted * (m + n);
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[0] += solve_line(task, &task->share->by_col, k,
                                       l->col_residual, u, &task->value[k]);
    return STRADS_OK;
}

static size_t ccd_items_partial(const strads_task *task)
{
    (void)task;
    return 1;
}

static strads_err ccd_add_up(strads_commit *commit)
{
    ((struct ccd_state *)commit->state)->loss += commit->partial[0];
    return STRADS_OK;
}

/* One side's blocks of the present rank, each to who has its ratings. */
static strads_err dispatch_side(strads_turn *turn, uint32_t phase)
{
    struct ccd_state *s = turn->state;
    strads_block *own = s->own + (phase == ITEMS ? s->partitions : 0);
    for (uint32_t p = 0; p < s->partitions; p++) {
        own[p].first = own[p].first % (s->m + s->n) + s->rank * (s->m + s->n);
        own[p].id = own[p].first;
    }
    return strads_turn_dispatch(turn, phase, s->partitions, own);
}

static strads_err ccd_schedule(strads_turn *turn)
{
    struct ccd_state *s = turn->state;
    const struct ccd_config *config = turn->config;
    uint32_t both = s->m + s->n;
    if (turn->in_flight)
        return strads_turn_wait(turn);
    switch (s->next) {
    case MEET:
        s->next = LIFT;
        return strads_turn_dispatch(turn, MEET, 1, &(strads_block){0});
    case LIFT:
        if (s->sweep == config->sweeps)
            return strads_turn_stop(turn);
        s->next = USERS;
        s->loss = 0;
        return strads_turn_dispatch(turn, LIFT, 1,
                                    &(strads_block){.id = s->rank,
                                                    .first = s->rank * both,
                                                    .n = both});
    case USERS:
        s->next = ITEMS;
        return dispatch_side(turn, USERS);
    default:
        s->next = LIFT;
        strads_err err = dispatch_side(turn, ITEMS);
        s->rank = (s->rank + 1) % config->rank;
        s->sweep += s->rank == 0;
        return err;
    }
}

static strads_err ccd_objective(void *state, strads_report *report)
{
    report->objective = ((struct ccd_state *)state)->loss;
    report->gap = NAN;
    return STRADS_OK;
}

static const strads_option ccd_options[] = {
    {.name = "rank",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct ccd_config, rank),
     .metavar = "R",
     .help = "numbers a user and an item (default 16)",
     .min = 1,
     .max = 4096},
    {.name = NULL},
};

static const strads_phase ccd_phases[] = {
    [MEET] = {.name = "meet",
              .merge = STRADS_MERGE_CONCAT,
              .when = STRADS_WHEN_CALLED,
              .blind = true,
              .partial = ccd_meet_bytes,
              .update = ccd_meet,
              .aggregate = ccd_met},
    [LIFT] = {.name = "lift",
              .when = STRADS_WHEN_CALLED,
              .blind = true,
              .partial = ccd_no_partial,
              .update = ccd_lift,
              .aggregate = ccd_lifted},
    [USERS] = {.name = "users",
               .to = STRADS_TO_OWNER,
               .when = STRADS_WHEN_CALLED,
               .partial = ccd_no_partial,
               .update = ccd_users},
    [ITEMS] = {.name = "items",
               .to = STRADS_TO_OWNER,
               .when = STRADS_WHEN_CALLED,
               .reports = true,
               .partial = ccd_items_partial,
               .update = ccd_items,
               .aggregate = ccd_add_up},
};

const strads_program ccd_mf_sketch = {
    .size = sizeof(strads_program),
    .name = "ccd-mf-sketch",
    .summary = "matrix factorisation, one rank at a time",
    .split = STRADS_SPLIT_BOTH,
    .layout = STRADS_LAYOUT_BOTH,
    .options = ccd_options,
    .config_size = sizeof(struct ccd_config),
    .defaults =
        &(const struct ccd_config){.rank = 16, .sweeps = 10, .lambda = 0.05},
    .shape = ccd_shape,
    .begin = ccd_begin,
    .end = free,
    .open = ccd_open,
    .close = ccd_close,
    .refresh = ccd_refresh,
    .schedule = ccd_schedule,
    .phases = ccd_phases,
    .n_phases = sizeof ccd_phases / sizeof *ccd_phases,
    .objective = ccd_objective,
};
