/* A partition's ratings in the layout for SGD: 8 bytes each, by block, within
 * it by micro-block of users, within that in random order, but a user's ratings
 * in pairs. A micro-block's factors fit the first-level cache, a block's the
 * second. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { MICRO_BYTES = 20 * 1024, CELL_MIN = 64, MICRO_MAX = 16 };

strads_err mf_samples_alloc(mf_samples *samples, uint32_t blocks)
{
    const uint64_t n = samples->start[blocks];

    samples->sample = malloc(sizeof(*samples->sample) * (n + 1));
    return samples->sample ? STRADS_OK
                           : mf_no_memory("ratings to be measured",
                                          n * sizeof(*samples->sample));
}

/* ---- sizes ------------------------------------------------------------- */

/* The largest power of two of users with factors that fit; larger if cells
 * would be almost empty. */
static void choose_micro(mf_local *l, uint64_t ratings)
{
    const uint64_t row = sizeof(float) * l->stride;
    const double per_user =
        (double)ratings / (double)(l->users + 1) / (double)l->blocks;
    uint32_t m = 0;

    while (m < MICRO_MAX && (row << (m + 1)) <= MICRO_BYTES)
        m++;
    while (m < MICRO_MAX && per_user * (double)(UINT64_C(1) << m) < CELL_MIN)
        m++;
    l->micro = m;
    l->micros = (uint32_t)((l->users + (UINT64_C(1) << m) - 1) >> m);
}

static void place_items(mf_local *l)
{
    for (uint32_t b = 0; b < l->blocks; b++) {
        const strads_block *block = &l->cut->block[b];
        for (uint32_t k = 0; k < block->n; k++) {
            l->item_block[strads_block_param(block, k)] = b;
            l->item_at[strads_block_param(block, k)] = k;
        }
    }
}

static strads_err allocate_cells(mf_local *l, uint64_t ratings)
{
    const uint64_t cells = (uint64_t)l->blocks * (l->micros + 1);

    l->first = calloc(l->blocks + 1, sizeof(*l->first));
    l->cell = calloc(cells + 1, sizeof(*l->cell));
    l->paired = malloc(sizeof(*l->paired) * (cells + 1));
    l->order = malloc(sizeof(*l->order) * (l->micros + 1));
    if (!l->options.scratch)
        l->rating = mf_large(sizeof(*l->rating) * (ratings + 1));
    l->p = mf_large_floats(l->users * l->stride);
    l->p_good = mf_large(sizeof(float) * (l->users * l->stride + 1));
    if (!l->first || !l->cell || !l->paired || !l->order ||
        (!l->rating && !l->options.scratch) || !l->p || !l->p_good)
        return mf_no_memory("the ratings and the users' factors",
                            8 * (ratings + l->users * l->stride) + 8 * cells);
    for (uint32_t m = 0; m < l->micros; m++)
        l->order[m] = m;
    return STRADS_OK;
}

/* ---- counting ---------------------------------------------------------- */

/* Afterwards cell[b (micros + 1) + m + 1] is the end of cell m, and `first` has
 * the start of each block. */
static void count_cells(mf_local *l, const strads_task *task,
                        const mf_split *split)
{
    uint64_t seen = 0;

    for (uint64_t u = 0; u < l->users; u++) {
        mf_evict(task->share, &seen, u);
        const uint64_t next = (u >> l->micro) + 1;
        const uint64_t n = mf_split_count(split, l, task, u);
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t b = l->item_block[split->item[k]];
            l->cell[b * (l->micros + 1) + next]++;
        }
    }
    for (uint32_t b = 0; b < l->blocks; b++) {
        uint32_t *cell = l->cell + (uint64_t)b * (l->micros + 1);
        for (uint32_t m = 0; m < l->micros; m++)
            cell[m + 1] += cell[m];
        l->first[b + 1] = l->first[b] + cell[l->micros];
    }
}

/* ---- filling ----------------------------------------------------------- */

/* at[b]: position of the next rating of block b. Users come in order, so each
 * block is filled from front to end. */
static strads_err fill_cells_user(mf_local *l, const strads_task *task,
                                  mf_split *split, uint64_t u, uint64_t *at)
{
    const uint16_t place = (uint16_t)(u & ((UINT64_C(1) << l->micro) - 1));
    const uint64_t n = mf_split_take(split, l, task, u);
    strads_err err = STRADS_OK;

    for (uint64_t k = 0; k < n && !err; k++) {
        const uint32_t i = split->item[k], b = l->item_block[i];
        const mf_rating one = {place, (uint16_t)l->item_at[i], split->left[k]};
        if (l->scratch)
            err = mf_scratch_add(l->scratch, b, one);
        else
            l->rating[at[b]++] = one;
    }
    return err;
}

uint64_t mf_spend(const strads_share *share, uint64_t from, uint64_t to)
{
    enum { ENTRIES = 1 << 18 };
    const uint64_t *start = share->by_row.start;

    if (to < share->by_row.lines && start[to] - start[from] < ENTRIES)
        return from;
    strads_share_spend(share, from, to);
    return to;
}

static strads_err fill_cells(mf_local *l, const strads_task *task,
                             mf_split *split)
{
    const size_t bytes = sizeof(uint64_t) * (l->blocks + 1);
    uint64_t *at = malloc(bytes), spent = 0;

    if (!at)
        return mf_no_memory("blocks", bytes);
    memcpy(at, l->first, bytes);
    strads_err err =
        l->options.scratch ? mf_scratch_open(l, 0, NULL) : STRADS_OK;
    for (uint64_t u = 0; u < l->users && !err; u++) {
        err = fill_cells_user(l, task, split, u, at);
        spent = mf_spend(task->share, spent, u + 1);
    }
    if (!err && l->scratch)
        err = mf_scratch_added(l->scratch, l->blocks);
    free(at);
    return err;
}

static uint32_t draw_below(uint32_t n, uint64_t *s)
{
    return (uint32_t)((mf_next_bits(s) >> 32) * n >> 32);
}

static void swap_ratings(mf_rating *a, mf_rating *b)
{
    const mf_rating kept = *a;

    *a = *b;
    *b = kept;
}

static void shuffle_ratings(mf_rating *x, uint32_t n, uint64_t *s)
{
    for (uint32_t k = n; k > 1; k--)
        swap_ratings(x + k - 1, x + draw_below(k, s));
}

static void shuffle_pairs(mf_rating *x, uint32_t n, uint64_t *s)
{
    for (uint32_t k = n; k > 1; k--) {
        const uint32_t j = draw_below(k, s);
        mf_rating *a = x + 2 * ((size_t)k - 1), *b = x + 2 * (size_t)j;
        swap_ratings(a, b);
        swap_ratings(a + 1, b + 1);
    }
}

/* Arranges n ratings, which are sorted by user: whole batches of pairs, then
 * single ones. Returns the number of ratings in pairs; `single` has space for
 * one rating of each user. */
static uint32_t arrange(mf_rating *x, uint32_t n, mf_rating *single, uint64_t s)
{
    uint32_t paired = 0, singles = 0;

    for (uint32_t k = 0; k < n;) {
        if (k + 1 < n && x[k].user == x[k + 1].user) {
            x[paired++] = x[k++];
            x[paired++] = x[k++];
        } else {
            single[singles++] = x[k++];
        }
    }
    memcpy(x + paired, single, sizeof(*x) * singles);
    shuffle_pairs(x, paired / 2, &s);
    paired -= paired % MF_BATCH;
    shuffle_ratings(x + paired, n - paired, &s);
    return paired;
}

static strads_err arrange_cells(mf_local *l, const strads_task *task)
{
    const size_t bytes = sizeof(mf_rating) << l->micro;
    mf_rating *single = malloc(bytes);
    strads_err err = STRADS_OK;

    if (!single)
        return mf_no_memory("a cell's ratings", bytes);
    for (uint32_t b = 0; b < l->blocks && !err; b++) {
        err = mf_ratings_take(l, b);
        if (err)
            break;
        const uint32_t *cell = l->cell + (uint64_t)b * (l->micros + 1);
        const uint64_t s = strads_random_bits(task->seed, MF_DRAW_ORDER,
                                              task->share->partition, b);
        for (uint32_t m = 0; m < l->micros; m++)
            l->paired[(uint64_t)b * l->micros + m] =
                arrange(l->block_rating + cell[m], cell[m + 1] - cell[m],
                        single, s + m);
        mf_ratings_changed(l, b);
    }
    free(single);
    return err;
}

/* ---- building ---------------------------------------------------------- */

/* The factors of users without ratings stay 0. */
void mf_draw_users(mf_local *l, const strads_task *task)
{
    const uint64_t *start = task->share->by_row.start;

    for (uint64_t u = 0; u < l->users; u++)
        if (start[u] < start[u + 1])
            mf_draw(&l->options, task->seed, MF_DRAW_USER,
                    task->share->rows.begin + u, l->p + u * l->stride);
}

static strads_err build_cells(strads_task *task)
{
    mf_local *l = task->local;
    const uint64_t ratings = task->share->by_row.nnz;
    mf_split split = {0};

    choose_micro(l, ratings);
    strads_err err = allocate_cells(l, ratings);
    if (!err && mf_by_pairs(&l->options))
        err = mf_pairs_open(&l->pairs, &task->share->by_row);
    if (!err)
        err = mf_split_open(l, task, &split);
    if (!err) {
        count_cells(l, task, &split);
        err = mf_split_counted(&split, l);
    }
    if (!err)
        err = fill_cells(l, task, &split);
    mf_split_close(&split);
    if (!err)
        err = arrange_cells(l, task);
    if (!err)
        mf_draw_users(l, task);
    return err;
}

strads_err mf_update_build(strads_task *task)
{
    mf_local *l = task->local;

    place_items(l);
    const strads_err err = mf_by_rows(&l->options)    ? mf_rows_build(task)
                           : mf_by_ranks(&l->options) ? mf_ranks_build(task)
                                                      : build_cells(task);
    return err || !l->options.test ? err : mf_test_read(l, task->share);
}

/* ---- a sweep ------------------------------------------------------------- */

/* In a sweep, each block of items visits each partition's users. Copies are
 * kept in case the sweep diverges: the partition copies users during the
 * sweep's first block, and items where their block is at home, before it
 * leaves. */

enum { PIECE_BYTES = 1 << 20 };

/* ---- copies ------------------------------------------------------------ */

/* Copies rows with non-temporal stores, because they are not read soon: the
 * destination is not fetched and takes no cache space. Needs whole, aligned
 * cache lines. */
static void put_aside(float *to, const float *from, size_t floats)
{
#ifdef __SSE2__
    enum { FLOATS = 4 };

    for (size_t k = 0; k < floats; k += FLOATS)
        _mm_stream_ps(to + k, _mm_load_ps(from + k));
#else
    memcpy(to, from, sizeof(float) * floats);
#endif
}

/* A fence, so that the next thread of this partition sees the copies. */
static void end_putting_aside(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Called when a block leaves home: resets its factors to the copy, or copies
 * them. */
static strads_err keep_items(mf_local *l, const strads_task *task)
{
    mf_items *items = task->object;
    float **good = &l->q_good[task->block.id];

    if (!*good) {
        *good = mf_floats(items->floats);
        if (!*good)
            return mf_no_memory("a copy of items", 4 * items->floats);
    }
    if (l->undo)
        memcpy(items->q, *good, sizeof(float) * items->floats);
    else
        memcpy(*good, items->q, sizeof(float) * items->floats);
    return STRADS_OK;
}

/* ---- the sweep --------------------------------------------------------- */

static void begin_sweep(mf_local *l, const strads_task *task)
{
    const uint64_t draws = (uint64_t)task->share->partition << 32;

    l->told = 0;
    l->sum[MF_LOSS] = l->sum[MF_HELD_LOSS] = 0;
    for (uint32_t k = l->micros; k > 1; k--) {
        const uint32_t j =
            (uint32_t)(strads_random_unit(task->seed, MF_DRAW_ORDER,
                                          draws + task->round, k) *
                       k);
        const uint32_t kept = l->order[k - 1];
        l->order[k - 1] = l->order[j];
        l->order[j] = kept;
    }
}

static float *micro_rows(const mf_local *l, uint32_t m)
{
    return l->p + ((uint64_t)m << l->micro) * l->stride;
}

static size_t micro_bytes(const mf_local *l, uint32_t m)
{
    const uint64_t first = (uint64_t)m << l->micro;
    const uint64_t left = l->users - first, all = UINT64_C(1) << l->micro;

    return sizeof(float) * l->stride * (left < all ? left : all);
}

/* Prefetches the first ratings of the next cell; the hardware prefetches the
 * rest. */
static void prefetch_ratings(const mf_rating *rating)
{
    enum { LINES = 8 };

    for (uint32_t k = 0; k < LINES; k++)
        __builtin_prefetch((const char *)rating + (size_t)k * MF_ALIGN);
}

/* An unweighted penalty shrinks a row by a fixed factor in each sweep. Each of
 * n visits applies an equal part. */
static void shrink_rows(const mf_local *l, float *row, size_t floats,
                        uint32_t n)
{
    const float by =
        (float)exp(-mf_step_schedule_step(&l->steps) * l->steps.lambda / n);

    for (size_t k = 0; k < floats; k++)
        row[k] *= by;
}

/* During a sweep's first block, each micro-block's users are copied when they
 * are in the cache. */
static double sweep_block(mf_local *l, const strads_task *task,
                          bool keeps_users)
{
    const mf_items *items = task->object;
    const uint64_t b = task->block.id;
    const uint32_t *cell = l->cell + b * (l->micros + 1);
    const double size = mf_step_schedule_step(&l->steps);
    mf_step step = {.q = items->q,
                    .stride = l->stride,
                    .size = (float)size,
                    .decay = l->options.unweighted
                                 ? 1
                                 : (float)(1 - size * l->steps.lambda)};
    double loss = 0;

    if (l->options.unweighted)
        shrink_rows(l, items->q, items->floats, task->share->partitions);

    for (uint32_t k = 0; k < l->micros; k++) {
        const uint32_t m = l->order[k];
        const uint32_t next = l->order[k + 1 < l->micros ? k + 1 : k];
        prefetch_ratings(l->block_rating + cell[next]);
        step.p = micro_rows(l, m);
        step.paired = l->paired[b * l->micros + m];
        step.ahead = (const char *)micro_rows(l, next);
        step.ahead_bytes = micro_bytes(l, next);
        if (keeps_users)
            put_aside(l->p_good + (step.p - l->p), step.p,
                      micro_bytes(l, m) / sizeof(float));
        if (l->options.unweighted)
            shrink_rows(l, step.p, micro_bytes(l, m) / sizeof(float),
                        l->blocks);
        loss +=
            l->kernel(l->block_rating + cell[m], cell[m + 1] - cell[m], &step);
    }
    if (keeps_users)
        end_putting_aside();
    return loss;
}

size_t mf_partial_losses(const strads_task *task)
{
    (void)task;
    return MF_LOSSES;
}

strads_err mf_update_epoch(strads_task *task)
{
    mf_local *l = task->local;
    const bool begins = l->met == 0;

    if (begins)
        begin_sweep(l, task);
    l->met = (l->met + 1) % l->blocks;
    if (task->step == 0) {
        strads_err err = keep_items(l, task);
        if (err)
            return err;
    }
    const strads_err err = mf_ratings_take(l, (uint32_t)task->block.id);
    if (err)
        return err;
    if (!mf_by_pairs(&l->options)) {
        task->partial[MF_LOSS] = sweep_block(l, task, begins);
        return STRADS_OK;
    }
    if (begins)
        memcpy(l->p_good, l->p, sizeof(float) * l->users * l->stride);
    task->partial[MF_LOSS] = mf_pairs_sweep(l, task);
    return STRADS_OK;
}

bool mf_sweep_judge(mf_step_schedule *steps, const double *sum,
                    const mf_scale *scale)
{
    const double held = sum[MF_HELD_LOSS] / sum[MF_HELD_N];
    const bool broken = sum[MF_HELD_N] > 0 && !isfinite(held);

    return mf_step_schedule_take(steps, sum[MF_LOSS] / scale->n,
                                 broken ? INFINITY : held);
}

/* Called when a sweep is kept. If the previous sweep is the best and this one
 * is not, keeps the factors that this one started from. If this sweep is the
 * best, frees that copy. */
static strads_err after_the_best(mf_local *l)
{
    mf_best *best = &l->best;
    const uint64_t floats = l->users * l->stride;

    if (l->steps.is_best) {
        free(best->p);
        best->p = NULL;
        for (uint32_t b = 0; b < l->blocks; b++) {
            free(best->block[b]);
            best->block[b] = NULL;
        }
    } else if (!best->p) {
        best->p = l->p_good;
        l->p_good = mf_large(sizeof(float) * (floats + 1));
        if (!l->p_good)
            return mf_no_memory("the best sweep's factors", 4 * floats);
        for (uint32_t b = 0; b < l->blocks; b++) {
            best->block[b] = l->q_good[b];
            l->q_good[b] = NULL;
        }
    }
    return STRADS_OK;
}

static strads_err judge_sweep(mf_local *l)
{
    l->undo = !mf_sweep_judge(&l->steps, l->sum, &l->scale);
    if (l->undo) {
        memcpy(l->p, l->p_good, sizeof(float) * l->users * l->stride);
        return STRADS_OK;
    }
    return after_the_best(l);
}

/* Biases alone count as one sweep. */
strads_err mf_receive_build(strads_task *task)
{
    mf_local *l = task->local;
    const double held = task->partial[MF_HELD_N];

    l->sum[MF_HELD_N] = held;
    l->steps.each =
        mf_lambda_each(&l->options, &l->scale, task->shape->rows, l->items);
    mf_step_schedule_begin(&l->steps, l->scale.n,
                           task->partial[MF_LOSS] / l->scale.n,
                           held > 0 ? task->partial[MF_HELD_LOSS] / held : NAN);
    if (mf_rank(&l->options) > 0)
        return STRADS_OK;
    l->sum[MF_LOSS] = task->partial[MF_LOSS];
    return mf_sgd_measures(&l->options, l->sum) ? STRADS_OK : judge_sweep(l);
}

/* Takes the merged sums of one block. After the last block, the sweep is
 * judged. If ratings are held out, `test` first measures them with the factors
 * after the sweep, and they decide. */
strads_err mf_receive_epoch(strads_task *task)
{
    mf_local *l = task->local;

    l->sum[MF_LOSS] += task->partial[MF_LOSS];
    if (++l->told < l->blocks)
        return STRADS_OK;
    l->told = 0;
    return mf_sgd_measures(&l->options, l->sum) ? STRADS_OK : judge_sweep(l);
}

strads_err mf_receive_test(strads_task *task)
{
    mf_local *l = task->local;

    if (!mf_sgd_measures(&l->options, l->sum))
        return STRADS_OK;
    l->sum[MF_HELD_LOSS] += task->partial[MF_TEST_HELD];
    if (++l->told < l->blocks)
        return STRADS_OK;
    l->told = 0;
    return judge_sweep(l);
}

/* ---- the error of the result -------------------------------------------- */

static double block_loss(const mf_local *l, const strads_task *task,
                         const float *users)
{
    const mf_items *items = task->object;
    const uint64_t b = task->block.id;
    const uint32_t *cell = l->cell + b * (l->micros + 1);
    double loss = 0;

    for (uint32_t m = 0; m < l->micros; m++) {
        const float *p = users + ((uint64_t)m << l->micro) * l->stride;
        for (uint32_t k = cell[m]; k < cell[m + 1]; k++) {
            const mf_rating *r = &l->block_rating[k];
            const float *q = items->q + (size_t)r->item * l->stride;
            const double error =
                (double)(r->value -
                         mf_dot(p + (size_t)r->user * l->stride, q, l->stride));
            loss += error * error;
        }
    }
    return loss;
}

/* First resets the items to the best sweep's factors. */
strads_err mf_update_final(strads_task *task)
{
    mf_local *l = task->local;
    mf_items *items = task->object;

    if (task->step == 0) {
        strads_err err = l->undo ? keep_items(l, task) : STRADS_OK;
        if (err)
            return err;
        if (l->best.block[task->block.id])
            memcpy(items->q, l->best.block[task->block.id],
                   sizeof(float) * items->floats);
    }
    const strads_err err = mf_ratings_take(l, (uint32_t)task->block.id);
    if (!err)
        task->partial[MF_LOSS] =
            block_loss(l, task, l->best.p ? l->best.p : l->p);
    return err;
}

/* ---- collecting the factors ---------------------------------------------- */

size_t mf_partial_none(const strads_task *task)
{
    (void)task;
    return 0;
}

/* The first partition of each block puts its items into the table. The ratings
 * are freed before, to make space for the table and the coordinator. */
strads_err mf_update_items(strads_task *task)
{
    mf_local *l = task->local;
    const double sd = l->scale.sd, root = sqrt(sd);

    mf_forget_ratings(l);
    if (task->step > 0)
        return STRADS_OK;
    if (l->undo) {
        strads_err err = keep_items(l, task);
        if (err)
            return err;
    }
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t i = strads_block_param(&task->block, k);
        const float *q = mf_best_items(l, task, k);
        double *out = task->value + (size_t)k * task->width;
        out[0] = sd * (double)l->item_bias[i];
        for (uint32_t j = 0; j + 1 < task->width; j++)
            out[j + 1] = root * (double)q[j];
    }
    return STRADS_OK;
}

uint64_t mf_piece_users(uint32_t rank)
{
    return PIECE_BYTES / (sizeof(float) * (rank + 1));
}

size_t mf_partial_users(const strads_task *task)
{
    return mf_piece_users(task->width - 1) * task->width * sizeof(float);
}

/* Sends the users of a piece that are on this partition. */
strads_err mf_update_users(strads_task *task)
{
    const mf_local *l = task->local;
    const uint64_t first = task->share->rows.begin;
    const uint64_t each = mf_piece_users(mf_rank(&l->options));
    const uint64_t from = (task->block.id - task->shape->blocks) * each;
    const float sd = (float)l->scale.sd, root = (float)sqrt(l->scale.sd);
    float *out = (float *)task->partial;

    for (uint64_t u = from > first ? from : first;
         u < from + each && u < first + l->users; u++) {
        const float *p = l->p + (u - first) * l->stride;
        *out++ = sd * l->user_bias[u - first];
        for (uint32_t j = 0; j < mf_rank(&l->options); j++)
            *out++ = root * p[j];
    }
    task->partial_bytes = (size_t)((char *)out - (char *)task->partial);
    return STRADS_OK;
}
