/* Data-parallel SGD through the store: every worker runs the same loop on its
 * own rows and shares one row of weights, read with a bounded staleness (SSP,
 * Ho et al. 2013). No phases, no schedule: one slot. Compiled, not run. */
#include <math.h>
#include <stdlib.h>

#include "strads/strads.h"

enum { WEIGHTS = 0, LOSS = 1 };

struct sgd_config {
    uint32_t epochs, batch, staleness;
    double step, lambda;
};

/* One parameter as wide as the data: table 0 is a single row of weights. */
static strads_err sgd_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    (void)config;
    shape->parameters = 1;
    shape->width = (uint32_t)strads_data_cols(data);
    return STRADS_OK;
}

static strads_err sgd_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    (void)shape;
    strads_table_spec loss = {.name = "loss",
                              .rows =
                                  ((const struct sgd_config *)config)->epochs,
                              .cols = 1};
    return strads_store_create(store, &loss, &(uint32_t){0});
}

/* The gradient of log(1 + exp(-y x'w)) over rows first .. end - 1, as a change
 * of the weights; returns the loss. Labels are +1 and -1. */
static double batch_change(const strads_task *task, uint64_t first,
                           uint64_t end, const double *w, double *change)
{
    const struct sgd_config *config = task->config;
    const strads_sparse *x = &task->share->by_row;
    double loss = 0;
    for (uint32_t j = 0; j < task->width; j++)
        change[j] = -config->step * config->lambda * w[j];
    for (uint64_t i = first; i < end; i++) {
        double y = task->share->label[i], margin = 0;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            margin += y * x->f64[e] * w[x->index[e]];
        loss += margin > 0 ? log1p(exp(-margin)) : log1p(exp(margin)) - margin;
        double by =
            config->step * y / (1 + exp(margin)) / (double)(end - first);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            change[x->index[e]] += by * x->f64[e];
    }
    return loss;
}

/* A batch a clock. All workers tick equally often, whatever rows they have. */
static strads_err sgd_epoch(strads_task *task, strads_session *session,
                            uint32_t epoch, double *w, double *change)
{
    const struct sgd_config *config = task->config;
    uint64_t rows = task->share->rows.end - task->share->rows.begin;
    uint64_t share = task->shape->rows / task->shape->partitions;
    uint64_t batches = share / config->batch + 1;
    strads_err err = STRADS_OK;
    for (uint64_t b = 0; !err && b < batches && !strads_loop_ends(task); b++) {
        uint64_t first = rows * b / batches, end = rows * (b + 1) / batches;
        err =
            strads_session_read_row(session, WEIGHTS, 0, config->staleness, w);
        if (err)
            return err;
        double loss = batch_change(task, first, end, w, change);
        err = strads_session_inc_row(session, WEIGHTS, 0, change);
        if (!err)
            err = strads_session_inc(session, LOSS, epoch, 0, loss);
        if (!err)
            err = strads_session_clock(session);
    }
    return err;
}

static strads_err sgd_run(strads_task *task, strads_session *session)
{
    const struct sgd_config *config = task->config;
    size_t width = task->width;
    double *both = calloc(2 * width, sizeof *both);
    if (!both)
        return strads_fail(STRADS_ENOMEM, "no memory for %zu weights", width);
    strads_err err = STRADS_OK;
    for (uint32_t epoch = 0; !err && epoch < config->epochs; epoch++)
        err = sgd_epoch(task, session, epoch, both, both + width);
    free(both);
    return err;
}

static const strads_option sgd_options[] = {
    {.name = "epochs",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct sgd_config, epochs),
     .metavar = "N",
     .help = "passes over the data (default 10)",
     .min = 1,
     .max = 1e6},
    {.name = "staleness",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(struct sgd_config, staleness),
     .metavar = "S",
     .help = "clocks that a read may lag behind (default 1)",
     .max = 1e9},
    {.name = NULL},
};

const strads_program data_parallel_sketch = {
    .size = sizeof(strads_program),
    .name = "data-parallel-sketch",
    .summary = "logistic regression by stochastic gradients",
    .layout = STRADS_LAYOUT_ROWS,
    .options = sgd_options,
    .config_size = sizeof(struct sgd_config),
    .defaults = &(const struct sgd_config){.epochs = 10,
                                           .batch = 64,
                                           .staleness = 1,
                                           .step = 0.1,
                                           .lambda = 1e-6},
    .shape = sgd_shape,
    .tables = sgd_tables,
    .run = sgd_run,
};
