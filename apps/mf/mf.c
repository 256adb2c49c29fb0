/* Matrix factorisation as a program. The phases, and the results of merging
 * them:
 *
 *     count       number of ratings           -> which ratings are held out
 *     statistics  sums by item                -> mean, deviation, first biases
 *     bias        sums by item, less the      -> biases
 *                 users' biases
 *     build       ratings into cells          -> errors of the biases alone
 *     epoch       RING: one sweep of SGD      -> keep or undo the sweep
 *     equations, spread, solve                   sweep by rows: see mf_rows.c
 *     rank, fill                                 sweep by ranks: see mf_ranks.c
 *     test        RING: errors on held-out ratings (SGD) and on --test, of the
 *                 factors after the sweep
 *     report      no data: progress
 *     final       RING, SGD: the result's error on its training ratings
 *     items       RING: factors into the table
 *     users       factors to the coordinator, in pieces
 *
 * When the statistics are merged, every node assigns items to blocks by their
 * number of ratings, with the same result. */
#include "mf_parts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- the step-size schedule ------------------------------------------- */

/* Step size: linear in the sweep, down to 1/50; with a fixed number of sweeps,
 * better rules gain nothing. Lambda: a tenth of the held-out error, which is
 * the noise of a rating for this model. */
static const double LAST_STEP = 1.0 / 50, LAMBDA = .1;
static const double RISE = 1.05,
                    FIRST_RISE = 1.1; /* factors of the loss; above them a
                                                    * sweep is undone */
/* Added to bounds, for errors near 0, for example if all ratings are equal. */
static const double ROUNDING = 1e-6;
/* The first factors are noise; their products have a variance of .01. So the
 * first sweep may be worse than no sweep and, with few ratings, by chance
 * alone. */
static const double FIRST_NOISE = .02, FIRST_SD = .1, CHANCE = 3;
/* One product's square exceeds its mean by this factor once in 10,000. */
static const double ONE_SQUARE = 15;
static const double WORSE = 1.005;    /* factor of the held-out error, above its
                                       * noise */
static const double NO_BETTER = .999; /* the same for methods that always
                                       * descend */
enum { UNDO_MAX = 40 };

static void set_lambda(mf_step_schedule *c)
{
    const double error = isnan(c->held) ? c->train : c->held;

    const bool fixed = c->fixed_lambda > 0 || signbit(c->fixed_lambda);

    c->lambda =
        fixed ? fabs(c->fixed_lambda) : c->each * LAMBDA * fmin(1, error);
}

void mf_step_schedule_begin(mf_step_schedule *c, double n, double train,
                            double held)
{
    const double by_chance = CHANCE * 2 * FIRST_SD * sqrt(train / n) +
                             ONE_SQUARE * FIRST_SD * FIRST_SD / sqrt(n);

    c->scale = 1;
    c->train = train;
    c->held = held;
    c->best = INFINITY;
    c->first_bound =
        c->drawn ? INFINITY : FIRST_RISE * train + FIRST_NOISE + by_chance;
    set_lambda(c);
    if (!c->lifts)
        return;
    c->fixed_lambda = c->lambda > 0 ? c->lambda : -0.;
    c->next_lift = fmax(MF_LIFT - c->lambda / c->each, 0);
}

double mf_step_schedule_step(const mf_step_schedule *c)
{
    const double through = (double)c->done / c->sweeps;

    return c->first_step * c->scale * (1 - through * (1 - LAST_STEP));
}

bool mf_step_schedule_take(mf_step_schedule *c, double train, double held)
{
    /* Written so that a NaN counts as exploded. */
    const double bound =
        c->done && !c->drawn ? RISE * c->train + ROUNDING : c->first_bound;

    c->exploded = !(train <= bound) || isinf(train) || isinf(held);
    if (c->exploded) {
        c->scale /= 2;
        c->undone++;
        return false;
    }
    mf_step_schedule_follow(c, train, held);
    return true;
}

void mf_step_schedule_follow(mf_step_schedule *c, double train, double held)
{
    const double error = isnan(held) && c->descends ? train : held;
    const double bound = c->descends ? NO_BETTER : WORSE;

    c->done++;
    c->train = train;
    c->held = held;
    c->stale = error > bound * c->best ? c->stale + 1 : 0;
    c->is_best = isnan(held) || held < c->best;
    c->best = fmin(c->best, error);
    set_lambda(c);
}

static bool step_schedule_over(const mf_step_schedule *c)
{
    return c->done >= c->stop_after || c->undone >= UNDO_MAX ||
           c->stale >= c->patience;
}

/* Scheduling, and the clocks of training.
 *
 * A sweep consists of one or more phases. `next` is the next phase to dispatch;
 * the results of a phase advance it (below, mf_rows.c, mf_ranks.c). Only one
 * dispatch is in flight; until it is done, the schedule callback waits. */

/* The first phase of a sweep. */
static enum mf_phase sweep_of(const mf_state *s)
{
    if (mf_by_rows(&s->options))
        return MF_EQUATIONS;
    return mf_by_ranks(&s->options) ? MF_RANK : MF_EPOCH;
}

/* The phase after the last sweep. SGD's loss of a sweep is summed while the
 * factors change, so the loss of the result is measured separately. */
static enum mf_phase end_of(const mf_state *s)
{
    return s->steps.descends || s->steps.drawn ? MF_ITEMS : MF_FINAL;
}

bool mf_sweep_begins(const mf_state *s)
{
    return s->next == sweep_of(s) && s->sent == 0 && s->slab == 0;
}

/* ---- clocks ------------------------------------------------------------ */

static double read_clock(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void preparation_begins(mf_state *s)
{
    s->cpu_from = read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

static void preparation_ends(mf_state *s)
{
    s->preparation = read_clock(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_from;
}

void mf_lap_begins(mf_state *s)
{
    if (mf_sweep_begins(s))
        s->sweep_seconds = 0;
    s->wall_from = read_clock(CLOCK_MONOTONIC);
    s->cpu_from = read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void mf_lap_ends(mf_state *s)
{
    const double wall = read_clock(CLOCK_MONOTONIC) - s->wall_from;

    s->sweep_seconds += wall;
    s->seconds += wall;
    s->cpu_seconds += read_clock(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_from;
}

/* ---- the next dispatch --------------------------------------------------- */

static strads_err dispatch_none(strads_turn *turn, const mf_state *s,
                                enum mf_phase phase)
{
    const strads_block none = {.id = s->blocks};

    return strads_turn_dispatch(turn, phase, 1, &none);
}

static strads_err dispatch_lap(strads_turn *turn, mf_state *s,
                               enum mf_phase phase)
{
    s->added = 0;
    memset(s->test, 0, sizeof(s->test));
    mf_lap_begins(s);
    return strads_turn_dispatch(turn, phase, s->blocks, s->cut->block);
}

/* The first sweeps determine the directions of the factors. Partitions that see
 * many of their own blocks first find different directions, and lose them when
 * they exchange blocks. So in these sweeps, each partition gets one block at a
 * time. */
static strads_err dispatch_epoch(strads_turn *turn, mf_state *s)
{
    enum { EARLY_SWEEPS = 2 };
    const uint32_t from = s->sent, left = s->blocks - from;
    const uint32_t most =
        s->steps.done < EARLY_SWEEPS ? s->partitions : s->blocks;

    if (from == 0) {
        s->added = 0;
        memset(s->sum, 0, sizeof(s->sum[0]) * MF_HELD_N);
    }
    mf_lap_begins(s);
    s->sent += left < most ? left : most;
    return strads_turn_dispatch(turn, MF_EPOCH, s->sent - from,
                                s->cut->block + from);
}

static strads_err dispatch_users(strads_turn *turn, mf_state *s)
{
    const strads_block piece = {.id = s->blocks + s->piece++};

    return strads_turn_dispatch(turn, MF_USERS, 1, &piece);
}

static strads_err mf_schedule(strads_turn *turn)
{
    mf_state *s = turn->state;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->ends && mf_sweep_begins(s))
        s->next = end_of(s);
    if (turn->ends && s->steps.done == 0)
        return strads_turn_stop(turn);
    switch (s->next) {
    case MF_COUNT:
        preparation_begins(s);
        return dispatch_none(turn, s, MF_COUNT);
    case MF_STATISTICS:
    case MF_BIAS:
    case MF_BUILD:
    case MF_REPORT:
        return dispatch_none(turn, s, s->next);
    case MF_EPOCH:
        return dispatch_epoch(turn, s);
    case MF_RANK:
        mf_lap_begins(s);
        return dispatch_none(turn, s, MF_RANK);
    case MF_TEST:
    case MF_FILL:
    case MF_FINAL:
    case MF_ITEMS:
        return dispatch_lap(turn, s, s->next);
    case MF_SPREAD:
    case MF_SOLVE:
    case MF_EQUATIONS:
        return mf_rows_dispatch(turn, s);
    case MF_USERS:
        break;
    }
    return s->piece < s->pieces ? dispatch_users(turn, s)
                                : strads_turn_stop(turn);
}

/* ---- reports after each sweep, and results ------------------------------- */

const char *const mf_measures[] = {"sweep",
                                   "seconds",
                                   "cpu_seconds",
                                   "train_rmse",
                                   "validation_rmse",
                                   "test_rmse",
                                   "ratings_per_second",
                                   "step",
                                   "preparation_cpu_seconds",
                                   NULL};

/* With implicit feedback there are no ratings to predict. */
static double train_rmse(const mf_state *s, double train)
{
    return s->options.implicit ? NAN : s->scale.sd * sqrt(train);
}

static strads_err mf_objective(void *state, strads_report *report)
{
    const mf_state *s = state;
    const mf_step_schedule *c = &s->steps;
    const bool descends = c->descends;
    const double figure[] = {
        c->done,
        s->seconds,
        s->cpu_seconds,
        c->exploded ? NAN : train_rmse(s, c->train),
        c->exploded ? NAN : s->scale.sd * sqrt(c->held),
        c->exploded ? NAN : s->test_rmse,
        s->scale.n / s->sweep_seconds,
        descends ? NAN : mf_step_schedule_step(c),
        s->preparation,
    };

    memcpy(report->measure, figure, sizeof(figure));
    report->objective = descends   ? s->objective
                        : c->drawn ? (c->exploded ? NAN : c->train)
                                   : figure[3];
    report->gap = NAN;
    return STRADS_OK;
}

const float *strads_mf_users(const void *state)
{
    const mf_state *s = state;

    return s->users_home == s->users ? s->user : NULL;
}

double strads_mf_mean(const void *state)
{
    const mf_state *s = state;

    return s->scale.mean - strads_mf_lift(state);
}

double strads_mf_lift(const void *state)
{
    const mf_state *s = state;

    return s->scale.sd * s->best.lift;
}

double strads_mf_penalty(const void *state)
{
    const mf_state *s = state;

    return s->scale.sd * s->best.lambda;
}

void strads_mf_range(const void *state, double *low, double *high)
{
    const mf_state *s = state;

    *low = s->scale.low;
    *high = s->scale.high;
}

const strads_mf_periods *strads_mf_times(const void *state)
{
    return &((const mf_state *)state)->periods;
}

double strads_mf_damping(const void *state)
{
    return ((const mf_state *)state)->damping.user;
}

double strads_mf_raise(const void *state)
{
    const mf_state *s = state;

    return s->steps.lifts ? s->scale.sd * MF_LIFT : 0;
}

const strads_mf_options *strads_mf_resolved(const void *state)
{
    return &((const mf_state *)state)->options;
}

uint32_t strads_mf_undone(const void *state)
{
    return ((const mf_state *)state)->steps.undone;
}

uint32_t strads_mf_best_sweep(const void *state)
{
    return ((const mf_state *)state)->best.number;
}

void strads_mf_errors(const void *state, double *train, double *validation,
                      double *test)
{
    const mf_state *s = state;

    *train = train_rmse(s, s->best.train);
    *validation = s->scale.sd * sqrt(s->best.held);
    *test = s->best.test_rmse;
}

/* ---- sizes ------------------------------------------------------------- */

/* Chooses the blocks: small enough for the second-level cache, enough of them
 * that passes over the ring overlap, and the same number for each partition, so
 * that no partition waits when it gets one at a time. A position within a block
 * has 16 bits. */
static uint64_t wanted_blocks(const strads_mf_options *o, uint64_t items,
                              uint32_t partitions, const strads_data *scratch)
{
    const uint32_t stride = mf_stride(mf_rank(o));
    const uint64_t bytes = items * stride * sizeof(float);
    const uint64_t most = stride > 64 ? 1 << 20 : 1 << 19;
    const uint64_t each = mf_by_pairs(o) ? 1 : 2;
    uint64_t blocks = mf_by_pairs(o) ? 1 : (bytes + most - 1) / most;

    if (blocks < items / 60000 + 1)
        blocks = items / 60000 + 1;
    if (partitions > 1 && blocks < each * partitions)
        blocks = each * partitions;
    if (mf_by_rows(o) && blocks < mf_rows_blocks(o, items, partitions))
        blocks = mf_rows_blocks(o, items, partitions);
    if (scratch && blocks < mf_scratch_blocks(scratch, partitions))
        blocks = mf_scratch_blocks(scratch, partitions);
    if (partitions > 1)
        blocks = (blocks + partitions - 1) / partitions * partitions;
    return blocks < items || items == 0 ? blocks : items;
}

/* Fails early, before other nodes join and data is read. */
static strads_err check_test(const strads_mf_options *o)
{
    FILE *file = o->test ? fopen(o->test, "re") : NULL;
    struct stat info;
    strads_err err = STRADS_OK;

    if (o->test && (!file || fstat(fileno(file), &info) != 0))
        err = strads_fail(STRADS_EIO, "%s: cannot be read: %s", o->test,
                          strerror(errno));
    else if (o->test && !S_ISREG(info.st_mode))
        err = strads_fail(STRADS_EINVAL,
                          "%s: is no plain file, and each partition reads the "
                          "ratings of the test",
                          o->test);
    if (file)
        (void)fclose(file);
    return err;
}

/* Returns the bytes that mf_large takes for a block's factors. */
static uint64_t round_block_bytes(uint64_t bytes)
{
    enum { PAGE = 2 << 20, LEAST = PAGE / 8 };

    return bytes < LEAST ? bytes : (bytes + PAGE - 1) / PAGE * PAGE;
}

/* The most entries of a batch of users, or `most` if these are more. */
static uint64_t max_batch(const strads_sparse *x, uint64_t most)
{
    for (uint64_t u = 0; x->start && u < x->lines; u += MF_CONJUGATE_ROWS) {
        const uint64_t end = u + MF_CONJUGATE_ROWS;
        const uint64_t n =
            x->start[end < x->lines ? end : x->lines] - x->start[u];
        most = n > most ? n : most;
    }
    return most;
}

/* Estimates the memory of the run: the data as read, and the ratings and
 * factors in the form of the method. */
static uint64_t mf_estimate_memory(const strads_mf_options *o,
                                   const strads_data *data,
                                   const strads_shape *shape)
{
    enum { CELL = 8, SIDES = 16, FIXED = 64 };
    const uint64_t stride = sizeof(float) * mf_stride(mf_rank(o));
    const uint64_t blocks = shape->blocks ? shape->blocks : 1;
    uint64_t users = 0, ratings = 0, kept = 0, batch = 0;

    for (uint32_t p = 0; p < shape->partitions; p++) {
        const strads_share *share = strads_data_share(data, p);
        if (!share)
            continue;
        kept++;
        users += share->rows.end - share->rows.begin;
        ratings += share->by_row.start ? share->by_row.nnz : share->by_col.nnz;
        batch = max_batch(&share->by_row, batch);
    }
    const bool sgd = !mf_by_rows(o) && !mf_by_ranks(o);
    const uint64_t copies =
        sgd ? 3 : 2; /* the current factors, the best, the last good ones */
    const uint64_t trained =
        (o->scratch ? kept * mf_scratch_memory(o, ratings / (kept + !kept),
                                               batch, blocks)
                    : ((sgd ? CELL : SIDES) +
                       (mf_by_pairs(o) ? sizeof(uint32_t) : 0)) *
                          ratings) +
        copies * users * stride;
    const uint64_t gathered =
        users * stride + 2 * sizeof(float) * shape->rows * (mf_rank(o) + 1);
    const uint64_t items =
        blocks * round_block_bytes(shape->cols / blocks * stride) +
        shape->cols * (stride * (sgd ? 3 : 1 + 2 * kept) +
                       2 * sizeof(double) * (mf_rank(o) + 1));
    const uint64_t travelling = mf_conjugates(o) && shape->partitions > 1
                                    ? 3 * stride * shape->cols
                                    : 0;
    return shape->run_bytes + (trained > gathered ? trained : gathered) +
           items + travelling + FIXED * (users + kept * shape->cols);
}

static strads_err check_data_times(const strads_data *data)
{
    for (uint32_t p = 0; p < strads_data_partitions(data); p++) {
        const strads_share *share = strads_data_share(data, p);
        if (share && !share->time)
            return strads_fail(STRADS_EINVAL,
                               "the ratings have no times: read them with the "
                               "column of times");
    }
    return STRADS_OK;
}

static strads_err mf_shape(const void *config, const strads_data *data,
                           strads_shape *shape)
{
    strads_mf_options o;
    strads_err err = mf_options_resolve(config, &o);
    const uint64_t items = strads_data_cols(data);

    if (!err)
        err = check_test(&o);
    if (!err && o.time)
        err = check_data_times(data);
    if (err)
        return err;
    shape->parameters = items;
    shape->width = 1 + mf_rank(&o);
    shape->block_max = UINT32_MAX;
    if (!shape->blocks_given)
        shape->blocks = (uint32_t)wanted_blocks(&o, items, shape->partitions,
                                                o.scratch ? data : NULL);
    if (shape->blocks && items / shape->blocks >= UINT16_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%llu items in %u blocks: a block has up to %d, "
                           "make more of them",
                           (unsigned long long)items, shape->blocks,
                           UINT16_MAX);
    shape->run_bytes = mf_estimate_memory(&o, data, shape);
    return STRADS_OK;
}

/* ---- merged results ------------------------------------------------------ */

static strads_err mf_counted(strads_commit *commit)
{
    mf_state *s = commit->state;

    mf_scale_count(&s->options, commit->partial, s->partitions, &s->scale);
    s->next = MF_STATISTICS;
    return STRADS_OK;
}

static strads_err keep_counts(mf_state *s, const double *count)
{
    const size_t bytes = sizeof(*count) * s->items;

    s->item_n = malloc(bytes + 1);
    if (!s->item_n)
        return mf_no_memory("items", bytes);
    memcpy(s->item_n, count, bytes);
    return STRADS_OK;
}

static strads_err mf_aggregate_statistics(strads_commit *commit)
{
    mf_state *s = commit->state;
    strads_err err = mf_scale_take(&s->options, commit->partial, &s->scale);

    s->next = s->options.no_biases ? MF_BUILD : MF_BIAS;
    if (!err)
        err = keep_counts(s, commit->partial + MF_SUMS);
    return err ? err
               : strads_cut_deal(s->items, commit->partial + MF_SUMS, s->blocks,
                                 s->partitions, &s->cut);
}

static strads_err mf_biased(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->next = mf_damping_take(&s->damping, &s->scale, s->items, s->item_n,
                              commit->partial, NULL)
                  ? MF_BUILD
                  : MF_BIAS;
    return STRADS_OK;
}

/* After the sums of a sweep of SGD. Biases alone count as one sweep. */
static void end_sgd_sweep(mf_state *s)
{
    if (mf_sgd_measures(&s->options, s->sum)) {
        s->next = MF_TEST;
        return;
    }
    (void)mf_sweep_judge(&s->steps, s->sum, &s->scale);
    s->next = MF_REPORT;
}

static strads_err mf_built(strads_commit *commit)
{
    mf_state *s = commit->state;
    const double held = commit->partial[MF_HELD_N];

    s->sum[MF_HELD_N] = held;
    s->test_rmse = NAN;
    s->steps.each = mf_lambda_each(&s->options, &s->scale, s->users, s->items);
    mf_step_schedule_begin(&s->steps, s->scale.n,
                           commit->partial[MF_LOSS] / s->scale.n,
                           held > 0 ? commit->partial[MF_HELD_LOSS] / held
                                    : NAN);
    s->objective = NAN;
    preparation_ends(s);
    s->next = mf_by_rows(&s->options) ? MF_SPREAD : sweep_of(s);
    if (mf_rank(&s->options) == 0) {
        s->sum[MF_LOSS] = commit->partial[MF_LOSS];
        end_sgd_sweep(s);
    }
    return STRADS_OK;
}

static strads_err mf_swept(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->sum[MF_LOSS] += commit->partial[MF_LOSS];
    if (++s->added < s->sent)
        return STRADS_OK;
    mf_lap_ends(s);
    if (s->sent < s->blocks)
        return STRADS_OK;
    s->sent = 0;
    end_sgd_sweep(s);
    return STRADS_OK;
}

static strads_err mf_tested(strads_commit *commit)
{
    mf_state *s = commit->state;

    for (size_t k = 0; k < MF_TESTS; k++)
        s->test[k] += commit->partial[k];
    if (++s->added < s->blocks)
        return STRADS_OK;
    s->test_rmse =
        s->scale.sd * sqrt(s->test[MF_TEST_SQUARES] / s->test[MF_TEST_N]);
    if (mf_sgd_measures(&s->options, s->sum)) {
        s->sum[MF_HELD_LOSS] = s->test[MF_TEST_HELD];
        (void)mf_sweep_judge(&s->steps, s->sum, &s->scale);
    }
    s->next = MF_REPORT;
    return STRADS_OK;
}

static strads_err mf_finaled(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (s->added == 0)
        s->sum[MF_LOSS] = 0;
    s->sum[MF_LOSS] += commit->partial[MF_LOSS];
    if (++s->added < s->blocks)
        return STRADS_OK;
    s->added = 0;
    s->best.train = s->sum[MF_LOSS] / s->scale.n;
    s->next = MF_ITEMS;
    return STRADS_OK;
}

static strads_err mf_told(strads_commit *commit)
{
    mf_state *s = commit->state;

    s->added = 0;
    if (s->steps.is_best && !s->steps.exploded)
        s->best = (mf_sweep){.number = s->steps.done,
                             .train = s->steps.train,
                             .held = s->steps.held,
                             .lambda = s->steps.lambda,
                             .test_rmse = s->test_rmse,
                             .lift = s->steps.lift};
    s->next = step_schedule_over(&s->steps) ? end_of(s) : sweep_of(s);
    return STRADS_OK;
}

static strads_err mf_items_home(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->blocks)
        return STRADS_OK;
    s->next = MF_USERS;
    s->periods = s->scale.times;
    for (uint32_t k = 0; k < STRADS_MF_PERIODS; k++)
        s->periods.bias[k] *= s->scale.sd;
    s->user = calloc(s->users * (mf_rank(&s->options) + 1) + 1, sizeof(float));
    return s->user ? STRADS_OK
                   : mf_no_memory("users' factors",
                                  4 * s->users * (mf_rank(&s->options) + 1));
}

static strads_err mf_users_home(strads_commit *commit)
{
    mf_state *s = commit->state;
    const uint64_t row = sizeof(float) * (mf_rank(&s->options) + 1);
    const uint64_t n = commit->partial_bytes / row;

    if (s->users_home + n > s->users)
        return strads_fail(STRADS_EPROGRAM,
                           "workers sent more users than there are");
    memcpy((char *)s->user + s->users_home * row, commit->partial, n * row);
    s->users_home += n;
    return STRADS_OK;
}

/* ---- the program's table ------------------------------------------------- */

static const strads_phase phases[] = {
    [MF_COUNT] = {.name = "count",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_count,
                  .update = mf_update_count,
                  .aggregate = mf_counted,
                  .receive = mf_receive_count},
    [MF_STATISTICS] = {.name = "statistics",
                       .when = STRADS_WHEN_CALLED,
                       .result = STRADS_RESULT_WORKERS,
                       .ignores_values = true,
                       .keeps_values = true,
                       .partial = mf_partial_statistics,
                       .update = mf_update_statistics,
                       .aggregate = mf_aggregate_statistics,
                       .receive = mf_receive_statistics},
    [MF_BIAS] = {.name = "bias",
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .ignores_values = true,
                 .keeps_values = true,
                 .partial = mf_partial_bias,
                 .update = mf_update_bias,
                 .aggregate = mf_biased,
                 .receive = mf_receive_bias},
    [MF_BUILD] = {.name = "build",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_losses,
                  .update = mf_update_build,
                  .aggregate = mf_built,
                  .receive = mf_receive_build},
    [MF_EPOCH] = {.name = "epoch",
                  .to = STRADS_TO_RING,
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_losses,
                  .update = mf_update_epoch,
                  .aggregate = mf_swept,
                  .receive = mf_receive_epoch},
    [MF_SPREAD] = {.name = "spread",
                   .to = STRADS_TO_RING,
                   .when = STRADS_WHEN_CALLED,
                   .ignores_values = true,
                   .keeps_values = true,
                   .partial = mf_partial_none,
                   .update = mf_update_spread,
                   .aggregate = mf_spread_done},
    [MF_SOLVE] = {.name = "solve",
                  .when = STRADS_WHEN_CALLED,
                  .result = STRADS_RESULT_WORKERS,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_solve,
                  .update = mf_update_solve,
                  .aggregate = mf_solved,
                  .receive = mf_receive_solve},
    [MF_EQUATIONS] = {.name = "equations",
                      .to = STRADS_TO_RING,
                      .when = STRADS_WHEN_CALLED,
                      .ignores_values = true,
                      .keeps_values = true,
                      .partial = mf_partial_none,
                      .update = mf_update_equations,
                      .aggregate = mf_met},
    [MF_RANK] = {.name = "rank",
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .ignores_values = true,
                 .keeps_values = true,
                 .partial = mf_partial_rank,
                 .update = mf_update_rank,
                 .aggregate = mf_ranked,
                 .receive = mf_receive_rank},
    [MF_FILL] = {.name = "fill",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .ignores_values = true,
                 .keeps_values = true,
                 .partial = mf_partial_losses,
                 .update = mf_update_fill,
                 .aggregate = mf_filled,
                 .receive = mf_receive_fill},
    [MF_TEST] = {.name = "test",
                 .to = STRADS_TO_RING,
                 .when = STRADS_WHEN_CALLED,
                 .result = STRADS_RESULT_WORKERS,
                 .ignores_values = true,
                 .keeps_values = true,
                 .partial = mf_partial_test,
                 .update = mf_update_test,
                 .aggregate = mf_tested,
                 .receive = mf_receive_test},
    [MF_REPORT] = {.name = "report",
                   .to = STRADS_TO_NOBODY,
                   .when = STRADS_WHEN_CALLED,
                   .reports = true,
                   .ignores_values = true,
                   .keeps_values = true,
                   .aggregate = mf_told},
    [MF_FINAL] = {.name = "final",
                  .to = STRADS_TO_RING,
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_losses,
                  .update = mf_update_final,
                  .aggregate = mf_finaled},
    [MF_ITEMS] = {.name = "items",
                  .to = STRADS_TO_RING,
                  .when = STRADS_WHEN_CALLED,
                  .partial = mf_partial_none,
                  .update = mf_update_items,
                  .aggregate = mf_items_home},
    [MF_USERS] = {.name = "users",
                  .when = STRADS_WHEN_CALLED,
                  .merge = STRADS_MERGE_CONCAT,
                  .ignores_values = true,
                  .keeps_values = true,
                  .partial = mf_partial_users,
                  .update = mf_update_users,
                  .aggregate = mf_users_home},
};

const strads_program strads_program_mf = {.size = sizeof(strads_program),
                                          .name = "mf",
                                          .summary = "matrix factorisation",
                                          .split = STRADS_SPLIT_ROWS,
                                          .layout = STRADS_LAYOUT_ROWS,
                                          .kind = STRADS_KIND_RATINGS,
                                          .values = STRADS_F32,
                                          .options = mf_option_table,
                                          .config_size =
                                              sizeof(strads_mf_options),
                                          .defaults = &mf_defaults,
                                          .shape = mf_shape,
                                          .begin = mf_begin,
                                          .end = mf_end,
                                          .open = mf_open,
                                          .close = mf_close,
                                          .pack = mf_pack,
                                          .unpack = mf_unpack,
                                          .pack_state = mf_pack_state,
                                          .unpack_state = mf_unpack_state,
                                          .schedule = mf_schedule,
                                          .finalises = true,
                                          .partitions_each = 2,
                                          .phases = phases,
                                          .n_phases = sizeof(phases) /
                                                      sizeof(phases[0]),
                                          .objective = mf_objective,
                                          .measures = mf_measures,
                                          .payload = &mf_payload};
