/* Checkpoints of a run, between two sweeps. The layout of the ratings is
 * rebuilt from the data and the merged results of the first phases, by the code
 * that built it first. State that sweeps have changed since is stored:
 *
 *     sgd       users' factors, the order of the micro-blocks; if the last
 *               sweep is to be undone, also the items' factors before it
 *     als, cd   users' factors, and the Gram matrix of implicit feedback
 *     ccd++     all factors, and the remainders of the ratings
 *
 * and the factors of the best sweep, if it is not the last one. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>

/* Optional floats; allocated when they are read. */
static void pass_floats(strads_walk *w, float **x, uint64_t n)
{
    uint64_t there = *x ? n : 0;

    strads_walk_pass(w, &there, sizeof(there));
    if (!there || w->err || w->is_short)
        return;
    w->is_short = there != n;
    if (!*x && !w->is_short) {
        *x = mf_large_floats(n);
        if (!*x)
            w->err = mf_no_memory("factors", 4 * n);
    }
    strads_walk_pass(w, *x, sizeof(float) * n);
}

static strads_err check_walk(const strads_walk *w, const char *what)
{
    if (w->err)
        return w->err;
    if (!strads_walk_fits(w))
        return strads_fail(
            STRADS_EFORMAT,
            "the checkpoint's %s is not of these ratings and options", what);
    return STRADS_OK;
}

/* ---- a partition ------------------------------------------------------- */

/* The merged results of the first phases. */
static void pass_merged(strads_walk *w, mf_local *l)
{
    strads_walk_pass(w, &l->held_below, sizeof(l->held_below));
    strads_walk_pass(w, &l->scale, sizeof(l->scale));
    strads_walk_pass(w, &l->damping, sizeof(l->damping));
    strads_walk_pass(w, l->item_bias, sizeof(*l->item_bias) * l->items);
    strads_walk_pass(w, l->item_n, sizeof(*l->item_n) * l->items);
}

static void pass_sweeps(strads_walk *w, mf_local *l)
{
    const uint64_t users = l->users * l->stride;
    const uint64_t items = (uint64_t)l->items * l->stride;

    strads_walk_pass(w, &l->steps, sizeof(l->steps));
    strads_walk_pass(w, l->sum, sizeof(l->sum));
    strads_walk_pass(w, &l->undo, sizeof(l->undo));
    pass_floats(w, &l->p, users);
    pass_floats(w, &l->best.p, users);
    pass_floats(w, &l->best.q, items);
    if (mf_by_rows(&l->options)) {
        strads_walk_pass(w, &l->rows.began, sizeof(l->rows.began));
        if (l->options.implicit)
            strads_walk_pass(w, l->rows.gram,
                             sizeof(float) * (size_t)l->stride * l->stride);
    } else if (mf_by_ranks(&l->options)) {
        strads_walk_pass(w, l->ranks.q, sizeof(float) * items);
        strads_walk_pass(w, l->ranks.left,
                         sizeof(*l->ranks.left) * l->ranks.start[l->users]);
    } else {
        strads_walk_pass(w, l->order, sizeof(*l->order) * l->micros);
        for (uint32_t b = 0; b < l->blocks; b++) {
            const uint64_t block = (uint64_t)l->cut->block[b].n * l->stride;
            if (l->undo)
                pass_floats(w, &l->q_good[b], block);
            pass_floats(w, &l->best.block[b], block);
        }
    }
}

strads_err mf_pack(const void *local, strads_bytes *out)
{
    mf_local *l = (mf_local *)(uintptr_t)local; /* a walk that packs only
                                                 * reads */
    strads_walk w = {.out = out};

    pass_merged(&w, l);
    pass_sweeps(&w, l);
    return check_walk(&w, "partition");
}

static bool is_order(const mf_local *l)
{
    bool good = true;

    for (uint32_t k = 0; k < l->micros && l->order; k++)
        good = good && l->order[k] < l->micros;
    return good;
}

/* Rebuilds the state after the first phases, then restores the state after
 * sweeps. */
static strads_err unpack_sweeps(strads_task *task, mf_local *l, strads_walk *w)
{
    double sums[MF_LOSSES] = {0}; /* errors of the biases alone, not needed
                                   * again */
    strads_task build = *task;

    pass_merged(w, l);
    strads_err err = w->is_short ? check_walk(w, "partition") : STRADS_OK;
    if (!err)
        err = mf_hold_last(l, task->share);
    if (!err)
        err = strads_cut_deal(l->items, l->item_n, l->blocks,
                              task->share->partitions, &l->cut);
    build.local = l;
    build.partial = sums;
    if (!err)
        err = mf_update_build(&build);
    if (err)
        return err;
    pass_sweeps(w, l);
    w->is_short = w->is_short || !is_order(l);
    return check_walk(w, "partition");
}

strads_err mf_unpack(strads_task *task, const void *bytes, size_t size,
                     void **local)
{
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};
    strads_err err = mf_open(task, local);

    if (err)
        return err;
    err = unpack_sweeps(task, *local, &w);
    if (err) {
        mf_close(*local);
        *local = NULL;
    }
    return err;
}

/* ---- the coordinator --------------------------------------------------- */

static void pass_state(strads_walk *w, mf_state *s)
{
    strads_walk_pass(w, &s->scale, sizeof(s->scale));
    strads_walk_pass(w, &s->damping, sizeof(s->damping));
    strads_walk_pass(w, &s->steps, sizeof(s->steps));
    strads_walk_pass(w, &s->next, sizeof(s->next));
    strads_walk_pass(w, s->sum, sizeof(s->sum));
    strads_walk_pass(w, &s->test_rmse, sizeof(s->test_rmse));
    strads_walk_pass(w, &s->best, sizeof(s->best));
    strads_walk_pass(w, &s->seconds, sizeof(s->seconds));
    strads_walk_pass(w, &s->cpu_seconds, sizeof(s->cpu_seconds));
    strads_walk_pass(w, &s->sweep_seconds, sizeof(s->sweep_seconds));
    strads_walk_pass(w, &s->preparation, sizeof(s->preparation));
    strads_walk_pass(w, &s->objective, sizeof(s->objective));
    strads_walk_pass(w, &s->began, sizeof(s->began));
    strads_walk_pass(w, s->item_n, sizeof(*s->item_n) * s->items);
}

strads_err mf_pack_state(const void *state, strads_bytes *out)
{
    mf_state *s = (mf_state *)(uintptr_t)state;
    strads_walk w = {.out = out};

    if (!mf_sweep_begins(s))
        return STRADS_OK;
    pass_state(&w, s);
    return check_walk(&w, "state");
}

strads_err mf_unpack_state(void *state, const void *bytes, size_t size)
{
    mf_state *s = state;
    strads_walk w = {.from = bytes, .end = (const char *)bytes + size};

    s->item_n = malloc(sizeof(*s->item_n) * s->items + 1);
    if (!s->item_n)
        return mf_no_memory("items", sizeof(*s->item_n) * s->items);
    pass_state(&w, s);
    w.is_short = w.is_short || !mf_sweep_begins(s);
    const strads_err err = check_walk(&w, "state");
    return err ? err
               : strads_cut_deal(s->items, s->item_n, s->blocks, s->partitions,
                                 &s->cut);
}
