/* The dual of the linear SVM (Hsieh et al. 2008; safe addition from Ma et al.
 * 2015, CoCoA+): parameters are samples, 0 <= alpha_i <= C. Each partition
 * ascends on its own alphas with a private w, the changes of w are added with
 * curvature K, and everyone receives the sum. Compiled, not run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strads/strads.h"

enum { MEET, ASCEND, ADD };

struct svm_config {
    double c;
};

struct svm_local {
    double *w, *moved; /* [cols] what all agree on; this round's own change */
};

struct svm_state {
    double c, primal, gap;
    uint32_t partitions;
    strads_block *own; /* [partitions] each one's rows */
    bool turn;
};

static strads_err svm_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)config;
    shape->parameters = strads_data_rows(data);
    shape->block_max = UINT32_MAX;
    return STRADS_OK;
}

static strads_err svm_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)data;
    struct svm_state *s = calloc(1, sizeof *s);
    strads_block *own = calloc(shape->partitions, sizeof *own);
    if (!s || !own) {
        free(s);
        free(own);
        return strads_fail(STRADS_ENOMEM, "no memory for the svm's state");
    }
    s->c = ((const struct svm_config *)config)->c;
    s->partitions = shape->partitions;
    s->own = own;
    *state = s;
    return STRADS_OK;
}

static void svm_end(void *state)
{
    free(((struct svm_state *)state)->own);
    free(state);
}

static strads_err svm_open(const strads_task *task, void **local)
{
    size_t cols = task->shape->cols;
    struct svm_local *l = calloc(1, sizeof *l);
    double *w = calloc(2 * cols + 1, sizeof *w);
    if (!l || !w) {
        free(l);
        free(w);
        return strads_fail(STRADS_ENOMEM, "no memory for %zu columns", cols);
    }
    l->w = w;
    l->moved = w + cols;
    *local = l;
    return STRADS_OK;
}

static void svm_close(void *local)
{
    free(((struct svm_local *)local)->w);
    free(local);
}

/* meet: which rows a partition has, in the order of partitions. */
static size_t svm_meet_bytes(const strads_task *task)
{
    (void)task;
    return sizeof(strads_range);
}

static strads_err svm_meet(strads_task *task)
{
    memcpy(task->partial, &task->share->rows, sizeof(strads_range));
    return STRADS_OK;
}

static strads_err svm_met(strads_commit *commit)
{
    struct svm_state *s = commit->state;
    for (uint32_t p = 0; p < s->partitions; p++) {
        strads_range rows;
        memcpy(&rows, (const char *)commit->partial + p * sizeof rows,
               sizeof rows);
        s->own[p] = (strads_block){.id = p,
                                   .n = (uint32_t)(rows.end - rows.begin),
                                   .first = (uint32_t)rows.begin,
                                   .owner = p};
    }
    return STRADS_OK;
}

static size_t svm_no_partial(const strads_task *task)
{
    (void)task;
    return 0;
}

/* One pass over the own rows: maximise over alpha_i alone, K times as curved
 * as the truth, so that all partitions' changes may simply be added. */
static strads_err svm_ascend(strads_task *task)
{
    const struct svm_config *config = task->config;
    const strads_share *share = task->share;
    const strads_sparse *x = &share->by_row;
    struct svm_local *l = task->local;
    double k = share->partitions;
    for (uint32_t i = 0; i < task->block.n; i++) {
        double y = share->label[i], dot = 0, norm = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            uint32_t j = x->index[e];
            dot += x->f64[e] * (l->w[j] + k * l->moved[j]);
            norm += x->f64[e] * x->f64[e];
        }
        if (norm == 0)
            continue;
        double a = task->value[i] + (1 - y * dot) / (k * norm);
        a = fmin(fmax(a, 0), config->c);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            l->moved[x->index[e]] += (a - task->value[i]) * y * x->f64[e];
        task->value[i] = a;
    }
    return STRADS_OK;
}

/* add: everyone's change of w, and the hinge loss at the w before it. */
static size_t svm_add_partial(const strads_task *task)
{
    return task->shape->cols + 1;
}

static strads_err svm_add(strads_task *task)
{
    const strads_share *share = task->share;
    const strads_sparse *x = &share->by_row;
    struct svm_local *l = task->local;
    size_t cols = task->shape->cols;
    memcpy(task->partial, l->moved, cols * sizeof *l->moved);
    memset(l->moved, 0, cols * sizeof *l->moved);
    for (uint64_t i = 0; i < x->lines; i++) {
        double dot = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            dot += x->f64[e] * l->w[x->index[e]];
        task->partial[cols] += fmax(1 - share->label[i] * dot, 0);
    }
    return STRADS_OK;
}

static strads_err svm_receive(strads_task *task)
{
    struct svm_local *l = task->local;
    for (uint64_t j = 0; j < task->shape->cols; j++)
        l->w[j] += task->partial[j];
    return STRADS_OK;
}

/* The coordinator's own copy of w is table 1's only row. */
static strads_err svm_added(strads_commit *commit)
{
    struct svm_state *s = commit->state;
    const double *w = strads_store_dense(commit->store, 1);
    const double *alpha = strads_store_dense(commit->store, 0);
    const strads_table_spec *table = strads_store_spec(commit->store, 1);
    uint64_t rows = strads_store_spec(commit->store, 0)->rows;
    double before = 0, after = 0, dual = 0;
    for (uint32_t j = 0; j < table->cols; j++)
        before += w[j] * w[j] / 2;
    strads_err err = strads_store_inc(commit->store, 1, 1, &(uint32_t){0},
                                      commit->partial, NULL);
    if (err)
        return err;
    for (uint32_t j = 0; j < table->cols; j++)
        after += w[j] * w[j] / 2;
    for (uint64_t i = 0; i < rows; i++)
        dual += alpha[i];
    s->primal = before + s->c * commit->partial[table->cols];
    s->gap = (s->primal - (dual - after)) / fmax(s->primal, 1e-300);
    return STRADS_OK;
}

static strads_err svm_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    (void)config;
    uint32_t table;
    return strads_store_create(store,
                               &(strads_table_spec){.name = "w",
                                                    .rows = 1,
                                                    .cols =
                                                        (uint32_t)shape->cols},
                               &table);
}

static strads_err svm_schedule(strads_turn *turn)
{
    struct svm_state *s = turn->state;
    if (turn->round == 1)
        return strads_turn_dispatch(turn, MEET, 1, &(strads_block){0});
    if (turn->in_flight)
        return strads_turn_wait(turn);
    s->turn = !s->turn;
    if (s->turn)
        return strads_turn_dispatch(turn, ASCEND, s->partitions, s->own);
    return strads_turn_dispatch(turn, ADD, 1, &(strads_block){0});
}

static strads_err svm_objective(void *state, strads_report *report)
{
    const struct svm_state *s = state;
    report->objective = s->primal;
    report->gap = s->gap;
    return STRADS_OK;
}

static const strads_option svm_options[] = {
    {.name = "c",
     .kind = STRADS_OPTION_F64,
     .offset = offsetof(struct svm_config, c),
     .metavar = "C",
     .help = "weight of the hinge loss (default 1)",
     .max = 1e300},
    {.name = NULL},
};

static const strads_phase svm_phases[] = {
    [MEET] = {.name = "meet",
              .blind = true,
              .merge = STRADS_MERGE_CONCAT,
              .when = STRADS_WHEN_CALLED,
              .partial = svm_meet_bytes,
              .update = svm_meet,
              .aggregate = svm_met},
    [ASCEND] = {.name = "ascend",
                .to = STRADS_TO_OWNER,
                .when = STRADS_WHEN_CALLED,
                .partial = svm_no_partial,
                .update = svm_ascend},
    [ADD] = {.name = "add",
             .blind = true,
             .result = STRADS_RESULT_WORKERS,
             .when = STRADS_WHEN_CALLED,
             .reports = true,
             .partial = svm_add_partial,
             .update = svm_add,
             .aggregate = svm_added,
             .receive = svm_receive},
};

const strads_program svm_sketch = {
    .size = sizeof(strads_program),
    .name = "svm-sketch",
    .summary = "linear support vector machine, in the dual",
    .split = STRADS_SPLIT_ROWS,
    .layout = STRADS_LAYOUT_ROWS,
    .options = svm_options,
    .config_size = sizeof(struct svm_config),
    .defaults = &(const struct svm_config){.c = 1},
    .shape = svm_shape,
    .tables = svm_tables,
    .begin = svm_begin,
    .end = svm_end,
    .open = svm_open,
    .close = svm_close,
    .schedule = svm_schedule,
    .phases = svm_phases,
    .n_phases = sizeof svm_phases / sizeof *svm_phases,
    .objective = svm_objective,
};
