/* A block's pass: moves each row of its groups to its best b, one after the
 * other. Groups are in random order, a group's rows in memory order. That works
 * as well as random order by row. Groups may belong to any partition of the
 * pool.
 *
 * The result for a group is its rows' shares of the duality gap at their
 * visits. They sum to an estimate of the remaining gain of the run. A row at a
 * bound becomes inactive if its gradient points outward at least as steeply as
 * dual_pass.c requires (Hsieh et al., ICML 2008, section 3.2, "shrinking",
 * require more than any ascent in the previous pass). */
#include <stdlib.h>
#include <string.h>

#include <strads/policy.h>

#include "dual.h"

size_t dual_partial_ascend(const strads_task *task)
{
    return 2 * (size_t)task->block.n + DUAL_ASCEND_MORE;
}

/* ---- random order -------------------------------------------------------- */

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static uint32_t draw_below(uint64_t *s, uint32_t n)
{
    return (uint32_t)(((next_random(s) >> 32) * n) >> 32);
}

static strads_err reserve_order(dual_local *local, uint32_t n)
{
    if (n <= local->capacity)
        return STRADS_OK;
    free(local->order);
    local->order = malloc(n * sizeof(uint32_t));
    local->capacity = local->order ? n : 0;
    return local->capacity
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM,
                             "no memory for a block of %u groups", n);
}

static void draw_order(const strads_task *task)
{
    const uint32_t n = task->block.n;
    uint64_t s = strads_random_bits(task->seed, UINT64_C(0x73766d6f72646572),
                                    task->round, task->share->partition) |
                 1;
    uint32_t *order = ((dual_local *)task->local)->order;

    for (uint32_t k = 0; k < n; k++)
        order[k] = k;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t other = k + draw_below(&s, n - k), held = order[other];
        order[other] = order[k];
        order[k] = held;
    }
}

/* ---- a group ----------------------------------------------------------- */

/* The group at a position of the block, in whichever partition of the pool
 * it is. */
static dual_group group_at(const strads_task *task, uint32_t place)
{
    const uint64_t number =
        strads_block_param(&task->block, place) - dual_first_group(task->shape);
    const uint64_t size = dual_group_rows(task->shape->rows);
    uint32_t low = 0, high = task->n_peers;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        const dual_local *peer = task->peer[middle].local;
        if (peer->first_group <= number)
            low = middle;
        else
            high = middle;
    }
    dual_local *local = task->peer[low].local;
    const uint64_t at = number - local->first_group;
    const uint64_t begin = at * size < local->rows ? at * size : local->rows;
    const uint64_t end =
        begin + size < local->rows ? begin + size : local->rows;
    return (dual_group){.share = dual_share(local, task->peer[low].share),
                        .sample = local->sample,
                        .begin = begin,
                        .end = end,
                        .awake = &local->awake[at],
                        .resting = &local->resting[at]};
}

/* Prefetches the beginning of row i of a share; its remaining entries
 * follow. */
static void fetch_row(const strads_share *share, const dual_sample *sample,
                      uint64_t i)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t at = x->start[i];
    const char *value =
        x->f64 ? (const char *)(x->f64 + at) : (const char *)(x->f32 + at);

    __builtin_prefetch(&sample[i]);
    if (x->index)
        __builtin_prefetch(x->index + at);
    __builtin_prefetch(value);
    __builtin_prefetch(value + 64);
}

/* |w|^2 at the beginning of a block. The first block of a run without a
 * start has w = 0, and guesses b for it. Several partitions cannot do that,
 * because none knows the sum of their guesses. */
static double begin_at(dual_local *local, const strads_share *given)
{
    const double reached =
        local->kernels->dot_dense(local->columns + 1, local->w, local->w);
    const bool alone = local->joint == local->w;

    return reached == 0 && alone && local->loss->guess
               ? local->loss->guess(local, dual_share(local, given))
               : reached;
}

strads_err dual_update_ascend(strads_task *task)
{
    dual_local *local = task->local;
    const uint32_t n = task->block.n;
    const strads_err err = reserve_order(local, n);
    dual_visit v = {.local = local,
                    .safety = task->total[DUAL_SAFETY],
                    .steep = dual_steep(task),
                    .wakes = task->total[DUAL_STEEP] < 0};

    if (err)
        return err;
    draw_order(task);
    dual_begin_w(task);
    local->level = task->total[DUAL_LEVEL];
    const double reached = begin_at(local, task->share);
    dual_group next = group_at(task, local->order[0]);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = local->order[k];
        v.group = next;
        if (k + 1 < n) {
            next = group_at(task, local->order[k + 1]);
            if (next.begin < next.end)
                fetch_row(next.share, next.sample, next.begin);
        }
        v.gap = v.part = 0;
        v.entries = 0;
        local->loss->visit(&v);
        task->partial[at] = v.all_rest ? -1 : v.gap;
        task->partial[n + at] = (double)v.entries;
        task->value[dual_at(local, at)] = v.part;
    }
    task->partial[2 * n + DUAL_WORST] = v.worst;
    task->partial[2 * n + DUAL_VISITS] = (double)v.visits;
    task->partial[2 * n + DUAL_INSIDE] = (double)v.inside;
    task->partial[2 * n + DUAL_CROSSED] = (double)v.crossed;
    task->partial[2 * n + DUAL_REACHED] = reached;
    return STRADS_OK;
}

/* Adds up the changes of all w, and measures the factor of the curvature of
 * each row's problem that makes adding safe.
 *
 * The partitions of a pool read each other's w, and each adds up a span of the
 * columns for all of them: a join, of which the coordinator receives two
 * numbers. A merge updates the store and other pools. */

/* Decay of the measured sums; and the least factor by which s decreases. */
#define FADE .7
#define SINK .99

/* Columns that are added up together. */
enum { STRIP = 512 };

void dual_begin_w(const strads_task *task)
{
    dual_local *local = task->local;

    if (local->behind && local->based)
        memcpy(local->w, local->base, (local->columns + 1) * sizeof(double));
    for (uint32_t k = 0; k < task->n_peers && local->behind && !local->based;
         k++) {
        const dual_local *peer = task->peer[k].local;
        const strads_range span = peer->span;
        memcpy(local->w + span.begin, peer->joint + span.begin,
               (span.end - span.begin) * sizeof(double));
    }
    local->behind = false;
    local->moved = task->round;
    if (local->joint == local->w)
        local->based = false;
}

/* ---- within a pool ----------------------------------------------------- */

/* |sum d_k|^2 and sum |d_k|^2. */
enum { NEAR, FAR, JOIN_SUMS };

size_t dual_partial_join(const strads_task *task)
{
    (void)task;
    return JOIN_SUMS;
}

/* n columns from `at` on: from + sum (w_k - from) / s. */
static void join_strip(strads_task *task, const double *from, uint64_t at,
                       uint64_t n)
{
    const dual_local *local = task->local;
    const double s = task->total[DUAL_SAFETY];
    double sum[STRIP] = {0}, d[STRIP];

    for (uint32_t k = 0; k < task->n_peers; k++) {
        const dual_local *peer = task->peer[k].local;
        if (peer->moved <= local->joined)
            continue;
        for (uint64_t j = 0; j < n; j++) {
            d[j] = (peer->w[at + j] - from[at + j]) / s;
            sum[j] += d[j];
        }
        task->partial[FAR] += local->kernels->dot_dense(n, d, d);
    }
    task->partial[NEAR] += local->kernels->dot_dense(n, sum, sum);
    for (uint64_t j = 0; j < n; j++)
        local->joint[at + j] = from[at + j] + sum[j];
}

strads_err dual_update_join(strads_task *task)
{
    dual_local *local = task->local;
    const double *from = local->based ? local->base : local->joint;
    const strads_range span = local->span;

    for (uint64_t at = span.begin; at < span.end; at += STRIP)
        join_strip(task, from, at,
                   at + STRIP < span.end ? STRIP : span.end - at);
    local->joined = task->round;
    local->based = false;
    local->behind = true;
    return STRADS_OK;
}

void dual_set_safety(strads_commit *commit)
{
    const dual_state *state = commit->state;

    commit->total_change[DUAL_SAFETY] =
        (state->alone ? 1 : state->safety) - commit->total[DUAL_SAFETY];
}

/* s: recently measured; at least 1 and at most K. */
static void measure_safety(dual_state *state, double near, double far)
{
    if (!(far > 0)) /* nothing has moved */
        return;
    state->near = FADE * state->near + near;
    state->far = FADE * state->far + far;
    const double seen = state->near / state->far;
    const double slow = 1 + (state->safety - 1) * SINK;
    const double s = state->near == near ? seen : fmax(seen, slow);
    state->safety = fmin(fmax(s, 1), state->partitions);
}

strads_err dual_aggregate_join(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->joined = true;
    state->apart = commit->partial[FAR];
    if (state->pools == 1 && state->spread)
        measure_safety(state, commit->partial[NEAR], state->apart);
    state->spread = false;
    if (state->pools == 1)
        dual_set_safety(commit);
    return STRADS_OK;
}

/* ---- for all pools ------------------------------------------------------- */

size_t dual_partial_merge(const strads_task *task)
{
    return task->block.n;
}

strads_err dual_update_merge(strads_task *task)
{
    const dual_local *local = task->local;

    if (local->based)
        return STRADS_OK;
    for (uint64_t j = local->span.begin; j < local->span.end; j++)
        task->partial[j] = local->joint[j] - local->base[j];
    return STRADS_OK;
}

static double square_of_pool(const strads_commit *commit)
{
    double sum = 0;

    for (uint32_t j = 0; j < commit->block.n; j++)
        sum += commit->partial[j] * commit->partial[j];
    return sum;
}

strads_err dual_aggregate_merge(strads_commit *commit)
{
    dual_state *state = commit->state;

    for (uint32_t j = 0; j < commit->block.n; j++)
        commit->change[dual_place(state, j)] = commit->partial[j];
    if (state->pools > 1) {
        measure_safety(state, square_of_pool(commit), state->apart);
        dual_set_safety(commit);
    }
    state->moved = state->joined = false;
    dual_take_intercept(commit);
    return STRADS_OK;
}

/* A commit of coefficients begins with coefficient 0; all others are their
 * owner's own. */
strads_err dual_refresh(strads_task *task, const strads_change *changes,
                        uint32_t n)
{
    dual_local *local = task->local;

    for (uint32_t c = 0; c < n; c++) {
        const strads_change *change = &changes[c];
        if (change->n == 0 || change->param[0] > local->columns)
            continue;
        for (uint32_t k = 0; k < change->n; k++)
            if (change->param[k] <= local->columns)
                local->base[change->param[k]] +=
                    change->change[dual_at(local, k)];
        local->based = local->behind = true;
    }
    return STRADS_OK;
}
