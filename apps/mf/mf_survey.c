/* What has to be known of all ratings before the first sweep: how many there
 * are, which are held out, their scale, and the biases:
 *
 *     c_i = sum_u (x_ui - b_u) / (n_i + 5)
 *     b_u = sum_i (x_ui - c_i) / (n_u + 5)
 *
 * with x = (r - mean) / sd, twice in turn from b = 0. The 5 damps the means of
 * those with few ratings. Sums go over the partitions, b_u stays where the user
 * is. */
#include <math.h>

#include "mf_parts.h"

static const double HELD_MAX = 100000, DAMPING = 5;

/* ---- counting ---------------------------------------------------------- */

size_t mf_partial_count(const strads_task *task)
{
    (void)task;
    return 1;
}

strads_err mf_update_count(strads_task *task)
{
    task->partial[0] = (double)task->share->by_row.nnz;
    return STRADS_OK;
}

strads_err mf_receive_count(strads_task *task)
{
    mf_local *l = task->local;
    const double n = task->partial[0];
    const double share = l->options.implicit
                             ? 0 /* there is no error that would tell more */
                             : fmin(l->options.holdout, HELD_MAX / fmax(n, 1));

    l->scale.ratings = n;
    l->held_below = (uint32_t)(share * 4294967295.0);
    return STRADS_OK;
}

/* ---- scale ------------------------------------------------------------- */

uint64_t mf_hold_salt(uint64_t seed, uint64_t user)
{
    return strads_random_bits(seed, MF_DRAW_HOLD, user, 0);
}

size_t mf_partial_survey(const strads_task *task)
{
    return MF_SUMS + 2 * (size_t)task->shape->cols;
}

static strads_err refuse_negative(const strads_task *task, uint64_t user,
                                  uint32_t item, double rating)
{
    const mf_local *l = task->local;
    const uint64_t row = task->share->rows.begin + user;

    return strads_fail(STRADS_EFORMAT,
                       "user %llu gives item %u a rating of %g (both counted "
                       "from 0, as read): %s needs ratings from 0 up",
                       (unsigned long long)row, item, rating,
                       l->options.implicit
                           ? "implicit feedback"
                           : "a model without negative factors");
}

strads_err mf_update_survey(strads_task *task)
{
    const mf_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    const bool no_negatives = l->options.implicit || l->options.nonnegative;
    double *count = task->partial + MF_SUMS, *sum = count + l->items;

    for (uint64_t u = 0; u < x->lines; u++) {
        const uint64_t salt =
            mf_hold_salt(task->seed, task->share->rows.begin + u);
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
            const double r = (double)mf_value(x, e);
            if (mf_is_held(salt, x->index[e], l->held_below))
                continue;
            if (no_negatives && !(r >= 0))
                return refuse_negative(task, u, x->index[e], r);
            task->partial[MF_N]++;
            task->partial[MF_SUM] += r;
            task->partial[MF_SQUARES] += r * r;
            count[x->index[e]]++;
            sum[x->index[e]] += r;
        }
    }
    return STRADS_OK;
}

strads_err mf_scale_take(const strads_mf_options *o, const double *sums,
                         mf_scale *scale)
{
    const double n = sums[MF_N], mean = sums[MF_SUM] / n;
    const double variance = sums[MF_SQUARES] / n - mean * mean;

    if (!(n > 0))
        return strads_fail(STRADS_EFORMAT,
                           "there are no ratings to train on: the data have "
                           "none, or all are held out");
    if (!isfinite(variance))
        return strads_fail(STRADS_ELIMIT,
                           "the ratings are so large that their squares have "
                           "no sum: scale them down");
    *scale = (mf_scale){.ratings = scale->ratings, .n = n, .sd = 1};
    if (o->implicit)
        return STRADS_OK;
    if (o->nonnegative) { /* the mean is for the factors to make */
        scale->sd = sums[MF_SQUARES] > 0 ? sqrt(sums[MF_SQUARES] / n) : 1;
        return STRADS_OK;
    }
    scale->mean = mean;
    /* Equal ratings: rounding alone would be blown up. */
    scale->sd = variance > 1e-12 * mean * mean ? sqrt(variance) : 1;
    return STRADS_OK;
}

strads_err mf_receive_survey(strads_task *task)
{
    mf_local *l = task->local;
    const double *count = task->partial + MF_SUMS, *sum = count + l->items;
    strads_err err = mf_scale_take(&l->options, task->partial, &l->scale);

    if (err)
        return err;
    for (uint32_t i = 0; i < l->items; i++) {
        const double x = (sum[i] - l->scale.mean * count[i]) / l->scale.sd;
        l->item_n[i] = count[i];
        if (!l->options.no_biases)
            l->item_bias[i] = (float)(x / (count[i] + DAMPING));
    }
    return strads_cut_deal(l->items, l->item_n, l->blocks,
                           task->share->partitions, &l->cut);
}

/* ---- biases ------------------------------------------------------------ */

float mf_user_bias(const mf_local *l, const strads_share *share, uint64_t seed,
                   uint64_t row)
{
    const strads_sparse *x = &share->by_row;
    const uint64_t salt = mf_hold_salt(seed, share->rows.begin + row);
    const float mean = (float)l->scale.mean, per = 1 / (float)l->scale.sd;
    double sum = 0, n = 0;

    if (l->options.no_biases)
        return 0;
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        if (mf_is_held(salt, x->index[e], l->held_below))
            continue;
        sum +=
            (double)((mf_value(x, e) - mean) * per - l->item_bias[x->index[e]]);
        n++;
    }
    return (float)(sum / (n + DAMPING));
}

size_t mf_partial_bias(const strads_task *task)
{
    return (size_t)task->shape->cols;
}

strads_err mf_update_bias(strads_task *task)
{
    const mf_local *l = task->local;
    const strads_sparse *x = &task->share->by_row;
    const float mean = (float)l->scale.mean, per = 1 / (float)l->scale.sd;

    for (uint64_t u = 0; u < x->lines; u++) {
        const float bias = mf_user_bias(l, task->share, task->seed, u);
        const uint64_t salt =
            mf_hold_salt(task->seed, task->share->rows.begin + u);
        for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++)
            if (!mf_is_held(salt, x->index[e], l->held_below))
                task->partial[x->index[e]] +=
                    (double)((mf_value(x, e) - mean) * per - bias);
    }
    return STRADS_OK;
}

strads_err mf_receive_bias(strads_task *task)
{
    const mf_local *l = task->local;

    for (uint32_t i = 0; i < l->items; i++)
        l->item_bias[i] = (float)(task->partial[i] / (l->item_n[i] + DAMPING));
    return STRADS_OK;
}
