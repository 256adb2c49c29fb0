/* A feed-forward network by mini-batches, on a grid of partitions.
 *
 * Partition (r, c) has the rows of range r and the columns of range c, for R
 * ranges of rows and C of columns. The partitions of one r are a group: each
 * computes X W_1 of its columns, and their sum is the first layer's z. If there
 * are several groups, each adds its part of the gradient. So a batch of B rows
 * costs
 *
 *     read    the parameters that it touches            if R > 1
 *     inc     the group's z, (B / R) h numbers          if C > 1
 *     clock   and read the sum
 *     inc     -rate/B gradient, d h / C numbers if all columns are touched
 *     clock                                             if R > 1
 *
 * State of a single partition stays there: if R = 1, the weights of its
 * columns. The layers above are then computed by all partitions, with equal
 * results, because all have the same z.
 *
 * Table "sums" has two copies of the sums of z, for even and odd batches. When
 * a partition has read the sum of batch t, all partitions have read the sum of
 * batch t - 1, so batch t + 1 can use its rows. The group's first partition
 * subtracts the old sum together with its own increment. All increments are
 * multiples of a grain, so that sums do not depend on their order, and
 * subtraction is exact.
 *
 * A checkpoint is taken within a call that ends one of training's clocks. It
 * packs only state that the tables lack: the epoch's loss so far, the weights
 * of the best epoch and, if R = 1, the weights. The clock determines the batch,
 * and whether its z has been summed. If so, a resumed run computes z again and
 * reads the sum.
 *
 * Rows that are held out form batches at the end of each epoch, which compute
 * their loss only. If R > 1 such a batch still ends two clocks, so that the
 * clock determines the batch, and the groups add up their losses in "facts". */
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

#include "net_worker.h"

static const char *const net_measures[] = {"epoch", "accuracy",
                                           "validation_loss",
                                           "validation_accuracy", NULL};
enum {
    MEASURE_EPOCH,
    MEASURE_ACCURACY,
    MEASURE_HELD_LOSS,
    MEASURE_HELD_ACCURACY
};

/* ---- one batch ----------------------------------------------------------- */

/* Fisher-Yates; the same order in all partitions. */
static void shuffle_rows(net_worker *w, uint64_t epoch)
{
    uint64_t train = 0, last = w->train_rows;
    for (uint64_t i = 0; i < w->all_rows; i++)
        w->order[net_is_held(w, i) ? last++ : train++] = (uint32_t)i;
    for (uint64_t k = w->train_rows; k > 1; k--) {
        const double u = strads_random_unit(w->task->seed, NET_DRAW_ORDER,
                                            epoch, w->train_rows - k);
        const uint64_t other = (uint64_t)(u * (double)k);
        const uint32_t held = w->order[k - 1];
        w->order[k - 1] = w->order[other];
        w->order[other] = held;
    }
}

static uint64_t train_batches(const net_worker *w)
{
    return (w->train_rows + w->batch_max - 1) / w->batch_max;
}

/* Batches of an epoch: first those of training, then those held out. */
static uint64_t epoch_batches(const net_worker *w)
{
    const uint64_t held = w->all_rows - w->train_rows;
    return train_batches(w) + (held + w->batch_max - 1) / w->batch_max;
}

/* Lists the batch's rows in this partition; *all is the number of its rows in
 * all groups. */
static uint32_t take_rows(net_worker *w, uint64_t batch, uint32_t *all)
{
    const strads_range own = w->task->share->rows;
    const uint64_t first = train_batches(w);
    const bool held = batch >= first;
    const uint64_t from = held ? w->train_rows + (batch - first) * w->batch_max
                               : batch * w->batch_max;
    const uint64_t left = (held ? w->all_rows : w->train_rows) - from;
    uint32_t n = 0;
    *all = left < w->batch_max ? (uint32_t)left : w->batch_max;
    for (uint64_t k = from; k < from + *all; k++)
        if (w->order[k] >= own.begin && w->order[k] < own.end) {
            w->row[n] = (uint32_t)(w->order[k] - own.begin);
            w->label[n] = w->class[w->row[n]];
            n++;
        }
    return n;
}

/* If the run has to end, publishes the batch after the next one as the end, so
 * that all partitions learn it in time. */
static strads_err ask_end(net_worker *w, uint64_t step)
{
    const uint32_t p = w->task->share->partition, ld = w->sizes.width;
    const uint32_t first = 2 * w->groups * w->batch_max;
    if (!strads_loop_ends(w->task) || w->asked)
        return STRADS_OK;
    w->asked = true;
    return strads_session_inc(w->session, NET_SUMS, first + p / ld, p % ld,
                              (double)(step + 2));
}

static void read_flags(net_worker *w, const double *flags)
{
    for (uint32_t p = 0; p < w->task->shape->partitions; p++)
        if (flags[p] > 0 && (uint64_t)flags[p] < w->ends_at)
            w->ends_at = (uint64_t)flags[p];
}

/* Ends a clock. If a group has several partitions, sums their z. Afterwards all
 * partitions have read the parameters that they need. `summed`: the
 * checkpoint's clock has already done this. */
static strads_err exchange_sums(net_worker *w, uint64_t step, uint32_t n,
                                bool summed)
{
    const uint64_t ld = w->sizes.width;
    const uint32_t sums = w->members > 1 ? n : 0;
    const uint32_t base =
        (uint32_t)(step % 2 * w->groups + w->group) * w->batch_max;
    double *old = w->member == 0 ? w->old[step % 2] : NULL;
    for (uint32_t i = 0; i < sums; i++)
        w->slot[i] = base + i;
    for (uint32_t k = 0; k < w->flags; k++)
        w->slot[sums + k] = 2 * w->groups * w->batch_max + k;
    net_widen(w, sums * ld, w->z, w->exchanged);
    net_to_grain(sums * ld, w->exchanged);
    for (uint64_t k = 0; old && k < sums * ld; k++)
        w->exchanged[k] -= old[k];
    strads_err err = STRADS_OK;
    if (sums > 0 && !summed)
        err = strads_session_inc_rows(w->session, NET_SUMS, sums, w->slot,
                                      w->exchanged);
    if (!err && !summed)
        err = ask_end(w, step);
    if (!err)
        err = (summed ? strads_session_read_rows
                      : strads_session_clock_and_read)(w->session, NET_SUMS,
                                                       sums + w->flags, w->slot,
                                                       0, w->exchanged);
    if (err)
        return err;
    net_narrow(w, sums * ld, w->exchanged, w->z);
    if (old)
        memcpy(old, w->exchanged, sums * ld * sizeof *old);
    read_flags(w, w->exchanged + sums * ld);
    return STRADS_OK;
}

static strads_err end_alone(net_worker *w, uint64_t step, bool summed)
{
    if (!summed && strads_loop_ends(w->task))
        w->ends_at = step + 1;
    return summed ? STRADS_OK : strads_session_clock(w->session);
}

static void count_correct(net_worker *w, uint32_t n, bool held)
{
    const uint64_t k = w->sizes.size[w->sizes.layers];
    double loss = 0, correct = 0;
    for (uint32_t i = 0; i < n; i++) {
        double p[LINEAR_LABELS_MAX];
        uint64_t best = 0;
        net_widen(w, k, net_number_at(w, w->p, i * k), p);
        for (uint64_t c = 1; c < k; c++)
            best = p[c] > p[best] ? c : best;
        /* fmax would hide a NaN. */
        loss -= log(p[w->label[i]] < 1e-300 ? 1e-300 : p[w->label[i]]);
        correct += best == w->label[i];
    }
    if (held) {
        w->stop.now.loss += loss;
        w->stop.now.correct += correct;
        return;
    }
    w->loss += loss;
    w->correct += correct;
    w->seen += n;
}

/* A step of Adam, where the partition owns its weights. `before` counts the
 * steps before it. */
static void apply_adam(net_worker *w, uint32_t n, uint32_t all, uint64_t before,
                       double rate)
{
    const net_arithmetic *f = w->arithmetic;
    const net_sizes *s = &w->sizes;
    const uint64_t numbers = (w->columns + net_upper(s)) * s->width;
    const double t = (double)before + 1;
    const net_adam_step step = {.rate = rate,
                                .decay = 1 - rate * w->options.weight_decay,
                                .first = 1 / (1 - pow(.9, t)),
                                .second = 1 / (1 - pow(.999, t))};
    f->backward(s, net_numbers_of(w, w->w, w->columns), n, w->label, w->scratch,
                w->p, 1. / all, net_numbers_of(w, w->grad, w->columns),
                w->delta, w->spare);
    f->input_step(s, w->x, w->dense, w->columns, n, w->row, w->gather, w->delta,
                  1. / all, w->grad);
    f->adam(numbers, &step, w->grad, net_number_at(w, w->w, numbers), w->w);
}

/* Adds `by` times the gradient of the batch's mean loss to the parameters. */
static strads_err apply_gradient(net_worker *w, uint32_t n, double by)
{
    const net_arithmetic *f = w->arithmetic;
    const net_sizes *s = &w->sizes;
    const uint64_t upper = net_upper(s) * s->width;
    const bool alone = w->groups == 1;
    f->backward(s, net_numbers_of(w, w->w, w->columns), n, w->label, w->scratch,
                w->p, by, net_numbers_of(w, w->grad, w->columns), w->delta,
                w->spare);
    f->input_step(s, w->x, w->dense, w->columns, n, w->row, w->gather, w->delta,
                  by, alone ? w->w : w->grad);
    if (!alone) {
        strads_err err = net_push_parameters(w, w->grad, NULL, w->member == 0);
        for (uint32_t k = 0; k < w->n_id; k++)
            memset(net_numbers_of(w, w->grad, w->place[k]), 0,
                   s->width * f->bytes);
        return err ? err : strads_session_clock(w->session);
    }
    for (uint64_t k = 0; k < upper; k++) {
        double step[2];
        net_widen(w, 1,
                  net_number_at(w, net_numbers_of(w, w->w, w->columns), k),
                  &step[0]);
        net_widen(w, 1,
                  net_number_at(w, net_numbers_of(w, w->grad, w->columns), k),
                  &step[1]);
        step[0] += step[1];
        net_narrow(w, 1, step,
                   net_number_at(w, net_numbers_of(w, w->w, w->columns), k));
    }
    memset(net_numbers_of(w, w->grad, w->columns), 0, upper * f->bytes);
    return STRADS_OK;
}

/* R > 1: ends the second clock of a batch that is held out. The last one of an
 * epoch adds the group's loss to the table. */
static strads_err end_held(net_worker *w, uint64_t batch)
{
    net_stop *s = &w->stop;
    strads_err err = STRADS_OK;
    if (batch + 1 == epoch_batches(w) && w->member == 0) {
        net_held_out all = s->now;
        all.loss /= (double)(w->all_rows - w->train_rows);
        net_to_grain(1, &all.loss);
        err = strads_session_inc(w->session, NET_FACTS, NET_HELD, 0,
                                 all.loss - s->given.loss);
        if (!err)
            err = strads_session_inc(w->session, NET_FACTS, NET_HELD, 1,
                                     all.correct - s->given.correct);
        s->given = all;
    }
    return err ? err : strads_session_clock(w->session);
}

/* Processes a batch; rate 0 only computes its loss. `summed`: see exchange. */
static strads_err process_batch(net_worker *w, uint64_t step, uint64_t batch,
                                double rate, bool summed)
{
    const net_arithmetic *f = w->arithmetic;
    const bool held = batch >= train_batches(w);
    uint32_t all;
    const uint32_t n = take_rows(w, batch, &all);
    strads_err err = STRADS_OK;
    if (w->groups > 1) {
        net_name_touched(w, n);
        err = summed ? net_fetch_packed(w) : net_fetch_parameters(w, 0);
    }
    if (err)
        return err;
    f->input(&w->sizes, w->x, w->dense, w->columns, n, w->row, w->w, w->gather,
             w->z);
    w->sums = true;
    err = w->task->shape->partitions > 1 ? exchange_sums(w, step, n, summed)
                                         : end_alone(w, step, summed);
    w->sums = false;
    if (err)
        return err;
    f->forward(&w->sizes, net_numbers_of(w, w->w, w->columns), n, w->z,
               w->scratch, w->p);
    count_correct(w, n, held);
    if (held)
        return w->groups > 1 ? end_held(w, batch) : STRADS_OK;
    if (rate > 0 && net_uses_adam(&w->options)) {
        apply_adam(w, n, all,
                   step / epoch_batches(w) * train_batches(w) + batch, rate);
        return STRADS_OK;
    }
    return rate > 0 ? apply_gradient(w, n, -rate / all) : STRADS_OK;
}

/* ---- early stopping ------------------------------------------------------ */

/* Restores the weights of the best epoch after `step` batches. Every partition
 * calls it. */
static strads_err restore_best(net_worker *w, uint64_t step)
{
    const uint64_t parameters = w->columns + net_upper(&w->sizes);
    const bool is_it = w->stop.stale == 0 && step % epoch_batches(w) == 0;
    if (w->stop.best_epoch == 0 || is_it)
        return STRADS_OK;
    if (w->best)
        memcpy(w->w, w->best,
               parameters * w->sizes.width * w->arithmetic->bytes);
    net_name_touched(w, UINT32_MAX);
    return w->groups > 1 ? net_give_parameters(w, 0) : STRADS_OK;
}

/* Copies the weights. R > 1: they are in the table, and the other groups wait
 * at their next clock until this one has read them. */
static strads_err keep_best(net_worker *w)
{
    const uint64_t parameters = w->columns + net_upper(&w->sizes);
    strads_err err = STRADS_OK;
    if (w->groups > 1) {
        net_name_touched(w, UINT32_MAX);
        err = net_fetch_parameters(w, 0);
    }
    if (!err)
        memcpy(w->best, w->w,
               parameters * w->sizes.width * w->arithmetic->bytes);
    return err;
}

/* Takes the held-out loss of an epoch, from 1 on, that has ended. All
 * partitions have the same numbers, so all of them stop after the same one. */
static strads_err judge_epoch(net_worker *w, uint64_t epoch)
{
    net_stop *s = &w->stop;
    double fact[NET_N_FACTS];
    strads_err err = STRADS_OK;
    if (w->options.holdout == 0)
        return STRADS_OK;
    if (w->groups > 1) {
        err = strads_session_read_row(w->session, NET_FACTS, NET_HELD, 0, fact);
        if (!err)
            s->now = (net_held_out){fact[0], fact[1]};
    } else {
        s->now.loss /= (double)(w->all_rows - w->train_rows);
    }
    if (err)
        return err;
    if (s->best_epoch > 0 && !(s->now.loss < s->best.loss)) {
        s->stale++;
        return STRADS_OK;
    }
    s->best = s->now;
    s->best_epoch = epoch;
    s->stale = 0;
    return w->best ? keep_best(w) : STRADS_OK;
}

static bool is_over(const net_worker *w)
{
    return w->options.patience > 0 && w->stop.stale >= w->options.patience;
}

/* ---- progress ------------------------------------------------------------ */

static strads_err report_epoch(net_worker *w, uint64_t epoch, double loss,
                               double correct, double rows,
                               const net_held_out *held)
{
    strads_report report = {.objective = loss / rows, .gap = NAN};
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        report.measure[k] = NAN;
    if (!isfinite(loss))
        return strads_fail(STRADS_EPROGRAM,
                           "the weights overflow: take shorter steps (--rate) "
                           "or scale the columns down");
    report.nonzeros = w->sizes.rows * w->sizes.width;
    report.measure[MEASURE_EPOCH] = (double)epoch;
    report.measure[MEASURE_ACCURACY] = correct / rows;
    if (w->options.holdout > 0) {
        report.measure[MEASURE_HELD_LOSS] = held->loss;
        report.measure[MEASURE_HELD_ACCURACY] =
            held->correct / (double)(w->all_rows - w->train_rows);
    }
    if (w->task->share->partition == 0 && rows > 0)
        strads_loop_report(w->task, &report);
    return STRADS_OK;
}

static void reset_totals(net_worker *w)
{
    w->loss = w->correct = 0;
    w->seen = 0;
    w->stop.now = (net_held_out){0};
}

/* The rate of a batch of an epoch; both count from 0. */
static double rate_of(const net_worker *w, uint64_t epoch, uint64_t batch)
{
    const strads_net_options *o = &w->options;
    const double share =
        ((double)epoch + (double)batch / (double)train_batches(w)) / o->epochs;
    return o->rate *
           (net_is_linear(o) ? 1 - share : 1 / (1 + o->decay * (double)epoch));
}

/* Processes the remaining batches of an epoch, up to the end of the run.
 * `summed` is for the first one, see exchange. */
static strads_err pass_over(net_worker *w, uint64_t *step, bool summed)
{
    const uint64_t batches = epoch_batches(w), epoch = *step / batches;
    strads_err err = STRADS_OK;
    if (*step % batches == 0 && !summed)
        reset_totals(w);
    for (uint64_t b = *step % batches;
         !err && b < batches && *step < w->ends_at; b++) {
        err = process_batch(w, (*step)++, b, rate_of(w, epoch, b), summed);
        summed = false;
    }
    return err;
}

/* Measures the final weights on the rows of training. */
static strads_err measure_model(net_worker *w, uint64_t step)
{
    const uint64_t batches = train_batches(w);
    strads_err err = STRADS_OK;
    shuffle_rows(w, 0);
    reset_totals(w);
    for (uint64_t b = 0; !err && b < batches && step < w->ends_at; b++)
        err = process_batch(w, step++, b, 0, false);
    return err;
}

/* Publishes the final model, and its loss over all groups. */
static strads_err publish_result(net_worker *w, uint64_t epoch)
{
    double fact[NET_N_FACTS] = {w->loss / (double)w->train_rows, w->correct,
                                (double)w->seen};
    strads_err err = STRADS_OK;
    net_to_grain(1, fact);
    if (w->member == 0)
        err = strads_session_inc_row(w->session, NET_FACTS, NET_RESULT, fact);
    if (!err && w->groups == 1) {
        net_name_touched(w, UINT32_MAX);
        err = net_push_parameters(w, w->w, w->start, w->member == 0);
    }
    if (!err)
        err = strads_session_clock(w->session);
    if (err || w->task->share->partition > 0)
        return err;
    err = strads_session_read_row(w->session, NET_FACTS, NET_RESULT, 0, fact);
    return err ? err
               : report_epoch(w, epoch, fact[0] * (double)w->train_rows,
                              fact[1], fact[2], &w->stop.best);
}

/* ---- the run ------------------------------------------------------------- */

static strads_err run_worker(net_worker *w)
{
    const strads_net_options *o = &w->options;
    uint64_t step = 0;
    bool summed = false;
    strads_err err = STRADS_OK;
    if (!w->packed || w->start) /* the start values are still in the table */
        err = net_take_start(w);
    if (!err)
        err = w->packed ? net_go_on(w, &step, &summed)
                        : net_give_parameters(w, STRADS_STALENESS_INFINITE);
    uint64_t epoch = err ? 0 : step / epoch_batches(w);
    if (!err && epoch > 0 && !summed && step % epoch_batches(w) == 0)
        err = judge_epoch(w, epoch); /* the checkpoint was taken before */
    w->trains = true;
    for (; !err && epoch < o->epochs && step < w->ends_at && !is_over(w);
         epoch++) {
        shuffle_rows(w, epoch);
        err = pass_over(w, &step, summed);
        summed = false;
        const bool whole = step == (epoch + 1) * epoch_batches(w);
        if (!err && whole)
            err = judge_epoch(w, epoch + 1);
        if (!err && w->seen > 0 && (whole || o->holdout == 0))
            err = report_epoch(w, epoch + 1, w->loss, w->correct,
                               (double)w->seen, &w->stop.now);
    }
    w->trains = false;
    if (!err)
        err = restore_best(w, step);
    if (!err && step < w->ends_at)
        err = measure_model(w, step);
    return err ? err
               : publish_result(w, w->stop.best_epoch ? w->stop.best_epoch
                                                      : epoch);
}

static strads_err net_run(strads_task *task, strads_session *session)
{
    net_worker *w = task->local;
    const strads_err err = net_worker_make(w, task, session);
    return err ? err : run_worker(w);
}

/* ---- the program's table ------------------------------------------------- */

static uint32_t net_grid(const void *config)
{
    const uint32_t columns = ((const strads_net_options *)config)->columns;
    return columns > 0 ? columns : net_defaults.columns;
}

/* Estimates the memory beside the data: the table; in each partition its
 * parameters, their gradient and exchanged copies; the activations of a
 * batch. */
static uint64_t net_estimate_memory(const strads_net_options *o,
                                    const net_sizes *sizes,
                                    const strads_data *data,
                                    const strads_shape *shape)
{
    enum { BLAS_BYTES = 16 << 20 }; /* its buffers */
    const uint64_t row = sizeof(double) * sizes->width;
    uint64_t bytes = BLAS_BYTES + sizes->rows * row;

    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (!share || !share->by_row.start)
            continue;
        const uint64_t rows = share->rows.end - share->rows.begin;
        const uint64_t cols = share->cols.end - share->cols.begin;
        const uint64_t batch = o->batch && o->batch < rows ? o->batch : rows;
        const double full = (double)rows * (double)cols;
        bytes += ((net_uses_adam(o) ? 7U : 5U) + (o->holdout > 0 ? 1U : 0U)) *
                     (cols + net_upper(sizes)) * row +
                 (sizes->layers + 4) * batch * row + 8 * shape->rows;
        if ((double)share->by_row.nnz >= NET_DENSE_SHARE * full)
            bytes += sizeof(double) * cols * (rows + batch);
    }
    return bytes;
}

static strads_err net_shape(const void *config, const strads_data *data,
                            strads_shape *shape)
{
    strads_net_options o;
    net_sizes sizes;
    uint32_t classes;
    strads_err err = net_options_take(config, &o);
    if (!err)
        err = linear_classes_count(o.classes, data, &classes);
    if (!err)
        err = net_sizes_make(&o, shape->cols, classes, &sizes);
    if (err)
        return err;
    if (shape->partitions % o.columns != 0)
        return strads_fail(STRADS_EINVAL,
                           "%u partitions for --columns %u: expected a "
                           "multiple of it",
                           shape->partitions, o.columns);
    if (net_uses_adam(&o) && shape->partitions != o.columns)
        return strads_fail(STRADS_EINVAL,
                           "--optimizer adam needs one range of rows, and "
                           "there are %u partitions in %u ranges of columns: "
                           "give --columns %u, or --partitions %u",
                           shape->partitions, o.columns, shape->partitions,
                           o.columns);
    shape->parameters = sizes.rows;
    shape->width = sizes.width;
    shape->run_bytes += net_estimate_memory(&o, &sizes, data, shape);
    return STRADS_OK;
}

static strads_err net_tables(const void *config, const strads_shape *shape,
                             strads_store *store)
{
    strads_net_options o;
    strads_err err = net_options_take(config, &o);
    if (err)
        return err;
    const uint64_t slots = 2 * (uint64_t)(shape->partitions / o.columns) *
                           net_batch_rows(&o, shape->rows);
    const uint64_t flags =
        (shape->partitions + shape->width - 1) / shape->width;
    const strads_table_spec spec[] = {[NET_SUMS] = {.name = "sums",
                                                    .rows = slots + flags,
                                                    .cols = shape->width},
                                      [NET_FACTS] = {.name = "facts",
                                                     .rows = NET_FACT_ROWS,
                                                     .cols = NET_N_FACTS}};
    for (int k = NET_SUMS; !err && k <= NET_FACTS; k++)
        err = strads_store_create(store, &spec[k], &(uint32_t){0});
    return err;
}

static void net_end(void *begun)
{
    net_state *state = begun;
    if (!state)
        return;
    linear_classes_free(&state->classes);
    free(state->text);
    free(state);
}

static strads_err net_begin(const void *config, const strads_data *data,
                            const strads_shape *shape, void **out)
{
    linear_survey *survey = calloc(1, linear_survey_size(LINEAR_LABELS_MAX));
    net_state *state = calloc(1, sizeof *state);
    const strads_names *names = strads_data_label_names(data);
    strads_err err = STRADS_OK;
    if (!survey || !state)
        err = strads_fail(STRADS_ENOMEM, "no memory for the result");
    if (!err) {
        linear_survey_begin(survey, LINEAR_LABELS_MAX);
        err = net_options_take(config, &state->options);
    }
    const bool given = !err && state->options.classes;
    for (uint32_t p = 0; !err && !given && p < shape->partitions;
         p += state->options.columns) {
        const strads_share *share = strads_data_share(data, p);
        if (!share)
            err = strads_fail(STRADS_EINVAL,
                              "several processes must be given the labels: "
                              "--classes A,B,..");
        else if (!share->label)
            err = strads_fail(STRADS_EINVAL,
                              "net needs a label for each row: --labels FILE");
        for (uint64_t i = 0; !err && i < share->rows.end - share->rows.begin;
             i++)
            linear_survey_add(survey, share->label[i], 1);
    }
    const linear_class_options wanted = {.names = names};
    if (!err)
        err = given ? linear_classes_read(state->options.classes, names,
                                          &state->classes)
                    : linear_classes_of(&wanted, survey, &state->classes);
    if (!err)
        err = linear_classes_write(&state->classes, names, &state->text);
    if (!err) {
        state->options.classes = state->text;
        *out = state;
    } else {
        net_end(state);
    }
    free(survey);
    return err;
}

double strads_net_at_zero(const void *state)
{
    return log(((const net_state *)state)->classes.n);
}

const strads_net_options *strads_net_resolved(const void *state)
{
    return &((const net_state *)state)->options;
}

const strads_program strads_program_net = {
    .size = sizeof(strads_program),
    .name = "net",
    .summary = "a feed-forward network for classes",
    .split = STRADS_SPLIT_GRID,
    .layout = STRADS_LAYOUT_ROWS,
    .grid = net_grid,
    .options = net_option_table,
    .config_size = sizeof(strads_net_options),
    .defaults = &net_defaults,
    .named_labels = linear_classes_named,
    .shape = net_shape,
    .tables = net_tables,
    .begin = net_begin,
    .end = net_end,
    .open = net_open,
    .close = net_close,
    .pack = net_pack,
    .unpack = net_unpack,
    .measures = net_measures,
    .run = net_run};
