/* A sweep: each block of items meets each partition's users. Copies are kept
 * for the case that it explodes: users' at their partition, in the sweep's
 * first block; items' where their block is at home, before it sets out. */
#include <math.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "mf_parts.h"

enum { PIECE_BYTES = 1 << 20 };

/* ---- copies ------------------------------------------------------------ */

/* Rows to where nobody reads them soon: their old lines are not fetched, and
 * take no room in the caches. Whole lines, at addresses of whole lines. */
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

/* Whoever takes over the partition is to find them there. */
static void end_putting_aside(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* A block sets out from home: back to what it was, or kept as it is. */
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

/* The first ratings of the next cell: from there on they come by themselves. */
static void fetch(const mf_rating *rating)
{
    enum { LINES = 8 };

    for (uint32_t k = 0; k < LINES; k++)
        __builtin_prefetch((const char *)rating + (size_t)k * MF_ALIGN);
}

/* What a sweep's steps take off a row whose penalty is its own, in equal parts
 * at each of n visits. */
static void shrink(const mf_local *l, float *row, size_t floats, uint32_t n)
{
    const float by =
        (float)exp(-mf_course_step(&l->course) * l->course.lambda / n);

    for (size_t k = 0; k < floats; k++)
        row[k] *= by;
}

/* A sweep's first block keeps the users' factors, each micro-block's when it
 * is at hand. */
static double sweep_block(mf_local *l, const strads_task *task,
                          bool keeps_users)
{
    const mf_items *items = task->object;
    const uint64_t b = task->block.id;
    const uint32_t *cell = l->cell + b * (l->micros + 1);
    const double size = mf_course_step(&l->course);
    mf_step step = {.q = items->q,
                    .stride = l->stride,
                    .size = (float)size,
                    .decay = l->options.unweighted
                                 ? 1
                                 : (float)(1 - size * l->course.lambda)};
    double loss = 0;

    if (l->options.unweighted)
        shrink(l, items->q, items->floats, task->share->partitions);

    for (uint32_t k = 0; k < l->micros; k++) {
        const uint32_t m = l->order[k];
        const uint32_t next = l->order[k + 1 < l->micros ? k + 1 : k];
        fetch(l->rating + l->first[b] + cell[next]);
        step.p = micro_rows(l, m);
        step.paired = l->paired[b * l->micros + m];
        step.ahead = (const char *)micro_rows(l, next);
        step.ahead_bytes = micro_bytes(l, next);
        if (keeps_users)
            put_aside(l->p_good + (step.p - l->p), step.p,
                      micro_bytes(l, m) / sizeof(float));
        if (l->options.unweighted)
            shrink(l, step.p, micro_bytes(l, m) / sizeof(float), l->blocks);
        loss += l->kernel(l->rating + l->first[b] + cell[m],
                          cell[m + 1] - cell[m], &step);
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
    task->partial[MF_LOSS] = sweep_block(l, task, begins);
    task->partial[MF_HELD_LOSS] = mf_samples_loss(l, &l->held, task);
    return STRADS_OK;
}

bool mf_sweep_judge(mf_course *course, const double *sum, const mf_scale *scale)
{
    const double held = sum[MF_HELD_LOSS] / sum[MF_HELD_N];
    const bool broken = sum[MF_HELD_N] > 0 && !isfinite(held);

    return mf_course_take(course, sum[MF_LOSS] / scale->n,
                          broken ? INFINITY : held);
}

/* The sums of one block; with the last one the sweep is judged. */
strads_err mf_receive_epoch(strads_task *task)
{
    mf_local *l = task->local;

    for (size_t k = 0; k < MF_HELD_N; k++)
        l->sum[k] += task->partial[k];
    if (++l->told < l->blocks)
        return STRADS_OK;
    l->undo = !mf_sweep_judge(&l->course, l->sum, &l->scale);
    if (l->undo)
        memcpy(l->p, l->p_good, sizeof(float) * l->users * l->stride);
    return STRADS_OK;
}

/* ---- bringing the factors together ------------------------------------- */

size_t mf_partial_none(const strads_task *task)
{
    (void)task;
    return 0;
}

/* Items: into the table, by who has the block first. What the table and the
 * coordinator gather from now on takes the ratings' room. */
strads_err mf_update_items(strads_task *task)
{
    mf_local *l = task->local;
    const mf_items *items = task->object;
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
        double *out = task->value + (size_t)k * task->width;
        out[0] = sd * (double)l->item_bias[i];
        for (uint32_t j = 0; j + 1 < task->width; j++)
            out[j + 1] = root * (double)items->q[(size_t)k * l->stride + j];
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

/* The users of a piece that are here. */
strads_err mf_update_users(strads_task *task)
{
    const mf_local *l = task->local;
    const uint64_t first = task->share->rows.begin;
    const uint64_t each = mf_piece_users(l->options.rank);
    const uint64_t from = (task->block.id - task->shape->blocks) * each;
    const float sd = (float)l->scale.sd, root = (float)sqrt(l->scale.sd);
    float *out = (float *)task->partial;

    for (uint64_t u = from > first ? from : first;
         u < from + each && u < first + l->users; u++) {
        const float *p = l->p + (u - first) * l->stride;
        *out++ = sd * l->user_bias[u - first];
        for (uint32_t j = 0; j < l->options.rank; j++)
            *out++ = root * p[j];
    }
    task->partial_bytes = (size_t)((char *)out - (char *)task->partial);
    return STRADS_OK;
}
