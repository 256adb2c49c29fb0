/* What is trained on and what is held out: a user's ratings after the other,
 * in two rounds. The first counts, the second takes from each rating what mean
 * and biases say of it, and puts those held out among the samples; a method
 * lays out the others as it needs them. */
#include <string.h>

#include "mf_parts.h"

void mf_split_close(mf_split *s)
{
    free(s->held_at);
    free(s->item);
    free(s->left);
    *s = (mf_split){0};
}

strads_err mf_split_open(mf_local *l, const strads_task *task, mf_split *s)
{
    const strads_sparse *x = &task->share->by_row;
    uint64_t most = 0;

    for (uint64_t u = 0; u < l->users; u++)
        if (x->start[u + 1] - x->start[u] > most)
            most = x->start[u + 1] - x->start[u];
    *s = (mf_split){.most = most};
    l->held.start = calloc((uint64_t)l->blocks + 1, sizeof(*l->held.start));
    s->held_at = malloc(sizeof(*s->held_at) * ((size_t)l->blocks + 1));
    s->item = malloc(sizeof(*s->item) * (most + 1));
    s->left = malloc(sizeof(*s->left) * (most + 1));
    if (l->held.start && s->held_at && s->item && s->left)
        return STRADS_OK;
    mf_split_close(s);
    return mf_no_memory("blocks and the longest row",
                        16ULL * l->blocks + 8 * most);
}

uint64_t mf_split_count(const mf_split *s, mf_local *l, const strads_task *task,
                        uint64_t u)
{
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = mf_hold_salt(task->seed, task->share->rows.begin + u);
    uint64_t n = 0;

    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
        const uint32_t i = x->index[e];
        if (mf_is_held(salt, i, l->held_below))
            l->held.start[l->item_block[i] + 1]++;
        else
            s->item[n++] = i;
    }
    return n;
}

strads_err mf_split_counted(mf_split *s, mf_local *l)
{
    for (uint32_t b = 0; b < l->blocks; b++)
        l->held.start[b + 1] += l->held.start[b];
    memcpy(s->held_at, l->held.start,
           sizeof(*s->held_at) * ((size_t)l->blocks + 1));
    return mf_samples_alloc(&l->held, l->blocks);
}

uint64_t mf_split_take(mf_split *s, mf_local *l, const strads_task *task,
                       uint64_t u)
{
    const strads_sparse *x = &task->share->by_row;
    const uint64_t salt = mf_hold_salt(task->seed, task->share->rows.begin + u);
    const float mean = (float)l->scale.mean, per = 1 / (float)l->scale.sd;
    const float bias = mf_user_bias(l, task->share, task->seed, u);
    uint64_t n = 0;

    l->user_bias[u] = bias;
    for (uint64_t e = x->start[u]; e < x->start[u + 1]; e++) {
        const uint32_t i = x->index[e];
        const float value =
            (mf_value(x, e) - mean) * per - bias - l->item_bias[i];
        const double square = (double)value * (double)value;
        if (mf_is_held(salt, i, l->held_below)) {
            l->held.sample[s->held_at[l->item_block[i]]++] =
                (mf_sample){(uint32_t)u, l->item_at[i], value};
            task->partial[MF_HELD_LOSS] += square;
            task->partial[MF_HELD_N]++;
        } else {
            s->item[n] = i;
            s->left[n++] = value;
            task->partial[MF_LOSS] += square;
        }
    }
    return n;
}
