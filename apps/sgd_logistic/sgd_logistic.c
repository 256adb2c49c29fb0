/* Logistic regression or a support vector machine by stochastic gradients,
 * data-parallel: every worker has its own rows. All workers share the weights,
 * which they read with a bounded staleness. Ho et al., "More effective
 * distributed ML via a stale synchronous parallel parameter server", NIPS 2013:
 *
 *     for t = 0, 1, 2, ...                         on each of P workers
 *         w~ = read_row(weights, s)                all of clock t - s - 1
 *         g  = a subgradient of f_t at w~          of its next batch
 *         inc(weights, -eta_t g)
 *         clock()
 *
 * theorem 1: eta_t = sigma / sqrt(t), sigma = F / (L sqrt(2 (s + 1) P)), where
 * t counts the clocks of all workers. See docs/sgd-logistic.md. */
#include <math.h>
#include <stdlib.h>

#include "sgd_logistic_parts.h"

/* ---- one clock --------------------------------------------------------- */

static double step_size(const sgd_worker *w, uint64_t t)
{
    const strads_sgd_logistic_options *o = &w->rules.options;
    const uint32_t p = w->task->share->partition;
    const uint32_t workers = w->task->shape->partitions;
    if (w->rules.step == SGD_CONSTANT)
        return o->rate;
    if (w->rules.step == SGD_DECAY)
        return o->rate / (1 + o->rate * o->lambda * (double)t);
    return w->sigma / sqrt((double)t * workers + p + 1);
}

/* change -= eta g, with g the gradient of f_t at the fetched weights. */
static void add_gradient(sgd_worker *w, uint32_t batch, double eta)
{
    const strads_sparse *x = &w->task->share->by_row;
    const size_t b = (size_t)(w->rows - 1) * SGD_ROW;
    for (uint64_t at = sgd_batch_at(w, batch); at < sgd_batch_at(w, batch + 1);
         at++) {
        const uint64_t i = w->order[at];
        const double margin = w->y[i] * (sgd_dot(x, i, w->w) + w->w[b]);
        const double by =
            eta * w->scale * w->y[i] * sgd_slope(w->rules.hinge, margin);
        sgd_add(x, i, by, w->change);
        w->change[b] += w->rules.options.intercept ? by : 0;
        w->loss += sgd_loss(w->rules.hinge, margin);
    }
    for (uint64_t k = w->first[batch]; k < w->first[batch + 1]; k++) {
        const size_t row = (size_t)w->touched[k] * SGD_ROW;
        sgd_add_dense(SGD_ROW, -eta * w->penalty[w->touched[k]], w->w + row,
                      w->change + row);
    }
}

/* Bulk-synchronous: all workers read before any worker adds, so that every run
 * reads the same values. Takes one clock. */
static strads_err let_all_read(sgd_worker *w, uint32_t n, const uint32_t *rows)
{
    w->read = rows;
    w->n_read = n;
    strads_err err = strads_session_clock(w->session);
    w->n_read = 0;
    return err ? err : strads_session_barrier(w->session);
}

/* Prefetches the next batch's weights during the current batch. At staleness 0,
 * a barrier prevents this; at infinite staleness, reads never wait. */
static strads_err ask_ahead(const sgd_worker *w, uint64_t t)
{
    const uint64_t next =
        (t + 1) % w->batches; /* 0: the next epoch is shuffled first */
    if (next == 0 || w->rules.staleness == 0 ||
        w->rules.staleness == STRADS_STALENESS_INFINITE)
        return STRADS_OK;
    const uint64_t first = w->first[w->turn[next]];
    return strads_session_prefetch(w->session, SGD_WEIGHTS,
                                   (uint32_t)(w->first[w->turn[next] + 1] -
                                              first),
                                   w->touched + first, w->rules.staleness);
}

/* In the last clock, flushes the increments that filters hold back, so that all
 * workers read the same weights at the end. */
static strads_err turn_clock(sgd_worker *w, uint64_t t, bool has_read,
                             bool last)
{
    const uint32_t batch = w->turn[t % w->batches];
    const uint32_t *rows = w->touched + w->first[batch];
    const uint32_t n = (uint32_t)(w->first[batch + 1] - w->first[batch]);
    strads_err err =
        has_read ? STRADS_OK : sgd_fetch(w, n, rows, w->rules.staleness);
    if (!err && !has_read && w->rules.staleness == 0)
        err = let_all_read(w, n, rows);
    if (!err)
        err = ask_ahead(w, t);
    if (err)
        return err;
    add_gradient(w, batch, step_size(w, t));
    err = sgd_push(w, n, rows);
    if (!err && last)
        err = strads_session_flush(w->session);
    return err ? err : strads_session_clock(w->session);
}

/* ---- progress ---------------------------------------------------------- */

static void count_weights(const sgd_worker *w, double *penalty,
                          uint64_t *nonzeros)
{
    *nonzeros = 0;
    for (uint32_t j = 0; j < w->columns; j++)
        *nonzeros += w->w[j] != 0;
    *penalty = w->rules.options.lambda / 2 * sgd_square(w->columns, w->w);
}

/* After an epoch, partition 0 estimates the objective from its own rows, with
 * the losses that they had during the epoch. This costs nothing, and no worker
 * waits. */
static strads_err tell_epoch(sgd_worker *w)
{
    const bool first = w->task->share->partition == 0;
    const double loss = w->n > 0 ? w->loss / (double)w->n : 0;
    strads_report report = {.gap = NAN};
    double penalty;
    w->loss = 0;
    if (!isfinite(loss))
        return strads_fail(STRADS_EPROGRAM,
                           "the weights overflow: take shorter steps (--rate, "
                           "--diameter) or scale the columns down");
    if (first) {
        count_weights(w, &penalty, &report.nonzeros);
        report.objective = loss + penalty;
        strads_loop_report(w->task, &report);
    }
    return STRADS_OK;
}

/* ---- the end ----------------------------------------------------------- */

static strads_err fetch_all(sgd_worker *w)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; !err && k < w->rows; k++)
        err = sgd_fetch(w, 1, &k, 0);
    return err;
}

static double loss_of_share(const sgd_worker *w)
{
    const strads_sparse *x = &w->task->share->by_row;
    const double b = w->w[(size_t)(w->rows - 1) * SGD_ROW];
    double sum = 0;
    for (uint64_t i = 0; i < w->n; i++)
        sum += sgd_loss(w->rules.hinge, w->y[i] * (sgd_dot(x, i, w->w) + b));
    return sum;
}

/* Partition 0 sums the facts that the others wrote one clock before. */
static strads_err tell_result(sgd_worker *w)
{
    sgd_state *state = w->task->state;
    strads_report report = {.gap = NAN};
    double penalty, fact[SGD_N_FACTS], sum = 0;
    for (uint32_t p = 0; p < w->task->shape->partitions; p++) {
        strads_err err =
            strads_session_read_row(w->session, SGD_FACTS, p, 0, fact);
        if (err)
            return err;
        sum += fact[SGD_FACT_LOSS];
    }
    count_weights(w, &penalty, &report.nonzeros);
    report.objective = sum / (double)w->task->shape->rows + penalty;
    if (!isfinite(report.objective))
        return strads_fail(STRADS_EPROGRAM,
                           "the weights overflow: take shorter steps (--rate, "
                           "--diameter) or scale the columns down");
    state->options = w->rules.options;
    state->at_zero = sgd_loss(w->rules.hinge, 0);
    const strads_err err =
        linear_classes_write(&w->classes, w->task->share->label_names,
                             &state->classes);
    if (err)
        return err;
    state->options.classes = state->classes;
    state->intercept = w->w[(size_t)(w->rows - 1) * SGD_ROW];
    strads_loop_report(w->task, &report);
    return STRADS_OK;
}

/* Reports the objective of the final weights, at clock `last`. */
static strads_err report_final(sgd_worker *w, uint64_t last)
{
    const bool begins = strads_session_now(w->session) == last;
    strads_err err = fetch_all(w);
    if (!err && begins)
        err =
            strads_session_inc(w->session, SGD_FACTS, w->task->share->partition,
                               SGD_FACT_LOSS, loss_of_share(w));
    if (!err && begins)
        err = sgd_give_model(w);
    if (!err && begins)
        err = strads_session_clock(w->session);
    if (!err && w->task->share->partition == 0)
        err = tell_result(w);
    return err;
}

/* ---- the loop ---------------------------------------------------------- */

static strads_err start_worker(sgd_worker *w)
{
    strads_err err = sgd_statistics(w);
    if (err || strads_session_now(w->session) >= SGD_FIRST_CLOCK)
        return err; /* resumed from a checkpoint */
    err = sgd_take_start(w);
    if (!err)
        err = strads_session_clock(w->session);
    return err ? err : strads_session_barrier(w->session);
}

/* Number of clocks from the first batch on. */
static uint64_t count_clocks(const sgd_worker *w)
{
    const uint64_t epochs = w->rules.options.epochs;
    if (w->rules.staleness == SGD_STALENESS_HOGWILD)
        return epochs * sgd_race_clocks(w);
    return epochs * w->batches * (w->rules.staleness == 0 ? 2 : 1);
}

static strads_err run_worker(sgd_worker *w)
{
    const bool racy = w->rules.staleness == SGD_STALENESS_HOGWILD;
    const uint32_t each =
        w->rules.staleness == 0 ? 2 : 1; /* clocks of a batch */
    const uint64_t clocks =
        racy ? 0 : (uint64_t)w->rules.options.epochs * w->batches;
    const uint64_t last = SGD_FIRST_CLOCK + count_clocks(w);
    strads_err err = start_worker(w);
    const uint64_t done = strads_session_now(w->session) - SGD_FIRST_CLOCK;
    bool has_read = done % each != 0; /* by the clock before a checkpoint */
    if (!err && racy)
        err = sgd_hogwild(w, done, tell_epoch);
    for (uint64_t t = done / each;
         !err && t < clocks && !strads_loop_ends(w->task); t++) {
        if (t % w->batches == 0 || t == done / each)
            sgd_worker_shuffle(w, (uint32_t)(t / w->batches));
        err = turn_clock(w, t, has_read, t + 1 == clocks);
        has_read = false;
        if (!err && (t + 1) % w->batches == 0)
            err = tell_epoch(w);
    }
    if (!err)
        err = strads_session_flush(w->session);
    if (!err)
        err = strads_session_advance(w->session, last);
    return err ? err : report_final(w, last);
}

static strads_err sgd_run(strads_task *task, strads_session *session)
{
    sgd_worker *w = task->local;
    w->task = task;
    w->session = session;
    return run_worker(w);
}

/* ---- the program's table ----------------------------------------------- */

static strads_err sgd_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    /* Bytes for a column: in the tables; in each worker's weights, cache and
     * increments. */
    enum { TABLE_BYTES = 24, WORKER_BYTES = 64 };
    sgd_rules rules;
    uint64_t workers = 0;

    for (uint32_t p = 0; p < shape->partitions; p++)
        workers += strads_data_share(data, p) != NULL;
    shape->run_bytes += shape->cols * (TABLE_BYTES + WORKER_BYTES * workers);
    return sgd_rules_make(config, &rules);
}

static strads_err sgd_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    const uint32_t rows = (uint32_t)((shape->cols + SGD_ROW - 1) / SGD_ROW) + 1;
    const strads_sgd_logistic_options *o = config;
    const strads_table_spec spec[] = {
        [SGD_WEIGHTS] = {.name = "weights",
                         .rows = rows,
                         .cols = SGD_ROW,
                         .staleness_max = o->staleness_max,
                         .push_bits = o->push_bits,
                         .tuned = true},
        [SGD_TOUCHES] = {.name = "touches", .rows = 1, .cols = rows},
        [SGD_FACTS] = {.name = "facts",
                       .rows = shape->partitions,
                       .cols = SGD_N_FACTS},
    };
    strads_err err = STRADS_OK;
    for (int k = SGD_WEIGHTS; !err && k <= SGD_FACTS; k++)
        err = strads_store_create(store, &spec[k], &(uint32_t){0});
    return err;
}

static void sgd_end(void *begun)
{
    if (begun)
        free(((sgd_state *)begun)->classes);
    free(begun);
}

static strads_err sgd_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)config;
    (void)data;
    (void)shape;
    *state = calloc(1, sizeof(sgd_state));
    return *state ? STRADS_OK
                  : strads_fail(STRADS_ENOMEM, "no memory for the result");
}

double strads_sgd_logistic_intercept(const void *state)
{
    return ((const sgd_state *)state)->intercept;
}

double strads_sgd_logistic_at_zero(const void *state)
{
    return ((const sgd_state *)state)->at_zero;
}

const strads_sgd_logistic_options *
strads_sgd_logistic_resolved(const void *state)
{
    return &((const sgd_state *)state)->options;
}

const strads_program strads_program_sgd_logistic = {
    .size = sizeof(strads_program),
    .name = "sgd-logistic",
    .summary = "logistic regression by data-parallel stochastic gradients",
    .split = STRADS_SPLIT_ROWS,
    .layout = STRADS_LAYOUT_ROWS,
    .options = sgd_option_table,
    .config_size = sizeof(strads_sgd_logistic_options),
    .defaults = &sgd_defaults,
    .named_labels = linear_classes_named,
    .shape = sgd_shape,
    .tables = sgd_tables,
    .begin = sgd_begin,
    .end = sgd_end,
    .open = sgd_open,
    .close = sgd_close,
    .pack = sgd_pack,
    .unpack = sgd_unpack,
    .run = sgd_run};
