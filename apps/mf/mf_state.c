/* Memory of a partition and of the coordinator. */
#include <string.h>
#include <sys/mman.h>

#include "mf_parts.h"

strads_err mf_no_memory(const char *what, uint64_t bytes)
{
    return strads_fail(STRADS_ENOMEM, "%s need %llu bytes, which are not there",
                       what, (unsigned long long)bytes);
}

float *mf_floats(uint64_t n)
{
    const uint64_t bytes = (n * sizeof(float) + MF_ALIGN) / MF_ALIGN * MF_ALIGN;
    float *x = aligned_alloc(MF_ALIGN, bytes);

    return x ? memset(x, 0, bytes) : NULL;
}

void *mf_large(uint64_t bytes)
{
    enum { PAGE = 2 << 20, LEAST = PAGE / 8 };
    const uint64_t whole = (bytes + PAGE - 1) / PAGE * PAGE;

    if (bytes < LEAST)
        return aligned_alloc(MF_ALIGN,
                             (bytes + MF_ALIGN) / MF_ALIGN * MF_ALIGN);
    void *x = aligned_alloc(PAGE, whole);
    if (x)
        (void)madvise(x, whole, MADV_HUGEPAGE); /* small ones do as well */
    return x;
}

float *mf_large_floats(uint64_t n)
{
    float *x = mf_large(n * sizeof(float));

    return x ? memset(x, 0, n * sizeof(float)) : NULL;
}

/* ---- a partition ------------------------------------------------------- */

static mf_course course_of(const strads_mf_options *o)
{
    return (mf_course){.first_step = o->step,
                       .fixed_lambda = o->lambda,
                       .sweeps = o->sweeps,
                       .descends = mf_by_rows(o) || mf_by_ranks(o),
                       .patience = o->patience};
}

static bool allocate_local(mf_local *l)
{
    l->item_bias = calloc(l->items + 1, sizeof(*l->item_bias));
    l->user_bias = calloc(l->users + 1, sizeof(*l->user_bias));
    l->item_n = calloc(l->items + 1, sizeof(*l->item_n));
    l->item_block = malloc(sizeof(*l->item_block) * (l->items + 1));
    l->item_at = malloc(sizeof(*l->item_at) * (l->items + 1));
    l->q_good = calloc(l->blocks + 1, sizeof(*l->q_good));
    return l->item_bias && l->user_bias && l->item_n && l->item_block &&
           l->item_at && l->q_good;
}

strads_err mf_open(const strads_task *task, void **local)
{
    mf_local *l = calloc(1, sizeof(*l));

    if (!l)
        return mf_no_memory("a partition", sizeof(*l));
    strads_err err = mf_options_resolve(task->config, &l->options);
    l->stride = mf_stride(l->options.rank);
    l->users = task->share->rows.end - task->share->rows.begin;
    l->items = (uint32_t)task->shape->cols;
    l->blocks = task->shape->blocks;
    l->course = course_of(&l->options);
    l->kernel = mf_kernel_choose(l->stride);
    if (!err && !allocate_local(l))
        err = mf_no_memory("biases", 24ULL * l->items + 4 * l->users);
    if (err) {
        mf_close(l);
        return err;
    }
    *local = l;
    return STRADS_OK;
}

void mf_forget_ratings(mf_local *l)
{
    free(l->rating);
    free(l->p_good);
    l->rating = NULL;
    l->p_good = NULL;
    mf_rows_free(&l->rows);
    mf_ranks_free(&l->ranks);
}

void mf_close(void *local)
{
    mf_local *l = local;

    for (uint32_t b = 0; l->q_good && b < l->blocks; b++)
        free(l->q_good[b]);
    free(l->q_good);
    mf_forget_ratings(l);
    free(l->p);
    free(l->order);
    free(l->cell);
    free(l->paired);
    free(l->first);
    free(l->held.start);
    free(l->held.sample);
    free(l->test.start);
    free(l->test.sample);
    free(l->item_block);
    free(l->item_at);
    free(l->item_n);
    free(l->item_bias);
    free(l->user_bias);
    strads_cut_free(l->cut);
    free(l);
}

/* ---- the coordinator --------------------------------------------------- */

strads_err mf_begin(const void *config, const strads_data *data,
                    const strads_shape *shape, void **state)
{
    mf_state *s = calloc(1, sizeof(*s));

    (void)data;
    if (!s)
        return mf_no_memory("the state", sizeof(*s));
    strads_err err = mf_options_resolve(config, &s->options);
    const uint64_t each = mf_piece_users(s->options.rank);
    s->users = shape->rows;
    s->items = (uint32_t)shape->cols;
    s->blocks = shape->blocks;
    s->partitions = shape->partitions;
    s->pieces = (uint32_t)((s->users + each - 1) / each);
    s->course = course_of(&s->options);
    if (err) {
        mf_end(s);
        return err;
    }
    *state = s;
    return STRADS_OK;
}

void mf_end(void *state)
{
    mf_state *s = state;

    strads_cut_free(s->cut);
    free(s->user);
    free(s->item_n);
    free(s);
}
