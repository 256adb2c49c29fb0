/* One block's commit: what `aggregate` is lent, and its change taken into the
 * store, the news and the priorities. */
#include "engine/round/commit_block.h"

#include "engine/round/job_commit_calls.h"
#include "engine/round/owned_policy.h"
#include "engine/round/shared_totals.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a commit");
}

/* ---- a block's change into store, news and priorities ------------------ */

static bool is_zero(const double *row, uint32_t width)
{
    for (uint32_t c = 0; c < width; c++)
        if (row[c] != 0)
            return false;
    return true;
}

static double norm(const double *row, uint32_t width)
{
    if (width == 1)
        return fabs(row[0]);
    double sum = 0;
    for (uint32_t c = 0; c < width; c++)
        sum += row[c] * row[c];
    return sqrt(sum);
}

static uint32_t count_changed(const strads_commit *commit)
{
    uint32_t n = 0;
    if (commit->change && commit->width == 1) {
        for (uint32_t k = 0; k < commit->block.n; k++)
            n += commit->change[k] != 0;
        return n;
    }
    for (uint32_t k = 0; commit->change && k < commit->block.n; k++)
        n +=
            !is_zero(commit->change + (size_t)k * commit->width, commit->width);
    return n;
}

/* Whether nobody owns what is in a block, though others are owned: that is no
 * policy's. */
static bool is_unowned(const sti_aggregate_job *job, const strads_block *block)
{
    return job->run->owned && !block->param &&
           !sti_owned_meets(job->run->owned, block->first, block->n);
}

/* Of those that changed, those that count: what nobody owns follows from what
 * is owned. */
static uint32_t count_updates(const sti_aggregate_job *job,
                              const strads_commit *commit, uint32_t changed)
{
    const sti_owned *owned = job->run->owned;
    uint32_t n = 0;
    if (!owned)
        return changed;
    if (is_unowned(job, &commit->block))
        return 0;
    for (uint32_t k = 0; commit->change && k < commit->block.n; k++)
        n += !is_zero(commit->change + (size_t)k * commit->width,
                      commit->width) &&
             sti_owned_has(owned, strads_block_param(&commit->block, k));
    return n;
}

/* The rows of a block that changed; returns how many. */
static uint32_t fill_block_change(const strads_commit *commit, uint32_t *param,
                                  double *change)
{
    uint32_t width = commit->width, n = 0;
    for (uint32_t k = 0; commit->change && k < commit->block.n; k++) {
        const double *row = commit->change + (size_t)k * width;
        if (is_zero(row, width))
            continue;
        if (width == 1)
            change[n] = *row;
        else
            memcpy(change + (size_t)n * width, row, sizeof *row * width);
        param[n++] = strads_block_param(&commit->block, k);
    }
    return n;
}

/* The rows that changed, the block's first, then those that came also. */
static void fill_change(const sti_aggregate_job *job,
                        const strads_commit *commit, sti_news *news)
{
    uint32_t width = commit->width;
    uint32_t *param = (uint32_t *)(uintptr_t)news->change.param;
    double *change = (double *)(uintptr_t)news->change.change;
    uint32_t n = fill_block_change(commit, param, change);
    if (job->n_also) {
        memcpy(param + n, job->also_param, sizeof *param * job->n_also);
        memcpy(change + (size_t)n * width, job->also_change,
               sizeof *change * job->n_also * width);
    }
}

static strads_err remember(sti_aggregate_job *job, sti_news *news)
{
    if (job->n_news == job->room_news) {
        uint32_t room = job->room_news ? 2 * job->room_news : 8;
        sti_news **list = realloc(job->news, sizeof(sti_news *) * room);
        if (!list)
            return no_memory();
        job->news = list;
        job->room_news = room;
    }
    if (job->n_recent == job->room_recent) {
        size_t room = job->room_recent ? 2 * job->room_recent : 32;
        strads_change *recent = realloc(job->recent, sizeof *recent * room);
        if (!recent)
            return no_memory();
        job->recent = recent;
        job->room_recent = room;
    }
    job->news[job->n_news++] = news;
    if (news->kind == STI_NEWS_CHANGE)
        job->recent[job->n_recent++] = news->change;
    return STRADS_OK;
}

/* One number that is not finite would stay in the model, in every worker's
 * state and in the priorities. */
static strads_err check_finite(const sti_aggregate_job *job,
                               const strads_commit *commit,
                               const strads_change *change)
{
    const size_t n = (size_t)change->n * commit->width;
    bool finite = true;
    for (size_t k = 0; k < n; k++)
        finite &= fabs(change->change[k]) <= DBL_MAX;
    for (size_t k = 0; k < n && !finite; k++)
        if (!isfinite(change->change[k]))
            return strads_fail(
                STRADS_EPROGRAM,
                "round %llu: phase %s of program %s changes parameter %u by "
                "%g: it diverges; try a smaller step or more regularisation",
                (unsigned long long)commit->round,
                job->run->phases[commit->phase].name, job->run->program->name,
                change->param[k / commit->width], change->change[k]);
    return STRADS_OK;
}

static strads_err store_change(sti_aggregate_job *job,
                               const strads_commit *commit, uint32_t changed)
{
    const uint32_t n = changed + job->n_also;
    if (n == 0)
        return STRADS_OK;
    sti_news *news;
    strads_err err = sti_news_change(0, n, commit->width, &news);
    if (err)
        return err;
    fill_change(job, commit, news);
    err = check_finite(job, commit, &news->change);
    if (!err)
        err = strads_store_inc(job->run->store, 0, n, news->change.param,
                               news->change.change, &news->change.version);
    if (!err)
        err = remember(job, news);
    if (err)
        sti_object_drop(news);
    return err;
}

/* Whether aggregate gave all of a block's parameters, listed, a priority. */
static bool has_all_priorities(const strads_commit *commit)
{
    if (!commit->block.param)
        return false;
    for (uint32_t k = 0; k < commit->block.n; k++)
        if (!(commit->priority[k] >= 0))
            return false;
    return true;
}

/* Did it give any? Looks at all of them at once: a scan's block is large. */
static bool says_priorities(const strads_commit *commit)
{
    bool says = false;
    for (uint32_t k = 0; k < commit->block.n; k++)
        says |= commit->priority[k] >= 0;
    return says;
}

/* What aggregate said of its block's parameters, or else how much they moved. A
 * CALLED phase need not have tried to move them. */
static strads_err block_priorities(sti_aggregate_job *job,
                                   const strads_commit *commit,
                                   uint32_t changed)
{
    const strads_block *block = &commit->block;
    if (!commit->priority || is_unowned(job, block))
        return STRADS_OK;
    if (has_all_priorities(commit))
        return sti_commit_prioritise(job, block->n, block->param,
                                     commit->priority);
    bool called = job->run->phases[commit->phase].when == STRADS_WHEN_CALLED;
    if (called && !changed && !says_priorities(commit))
        return STRADS_OK;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t param = strads_block_param(&commit->block, k);
        double priority = commit->priority[k];
        if (!(priority >= 0)) {
            const double *row = commit->change + (size_t)k * commit->width;
            if (called && is_zero(row, commit->width))
                continue; /* a look at it; prioritise may have spoken */
            priority = norm(row, commit->width);
        }
        strads_err err = sti_commit_prioritise(job, 1, &param, &priority);
        if (err)
            return err;
    }
    return STRADS_OK;
}

/* ---- one block --------------------------------------------------------- */

/* Commits since the dispatch: recent ones with a version above what its news
 * had brought. Versions ascend. */
static void since_dispatch(const sti_aggregate_job *job, strads_commit *commit)
{
    size_t first = job->n_recent;
    while (first > 0 && job->recent[first - 1].version > job->dispatch->known)
        first--;
    commit->since = job->recent + first;
    commit->n_since = (uint32_t)(job->n_recent - first);
}

/* Values of the block now: in place where they lie together. */
static strads_err values_now(sti_aggregate_job *job, strads_commit *commit,
                             double *room)
{
    const strads_block *block = &commit->block;
    const double *table = strads_store_dense(job->run->store, 0);
    commit->value = room;
    if (!block->param)
        commit->value = table + (size_t)block->first * commit->width;
    else if (commit->width == 1)
        for (uint32_t k = 0; k < block->n; k++)
            room[k] = table[block->param[k]];
    else
        return strads_store_read(job->run->store, 0, block->n, block->param,
                                 room);
    return STRADS_OK;
}

/* What the holders changed. A lap that followed another began with what that
 * one has left here. */
static void take_held_change(const sti_aggregate_job *job,
                             const strads_commit *commit,
                             const sti_record *held)
{
    const sti_dispatch *d = job->dispatch;
    const double *before =
        d->values ? d->values + d->value_at[held->block] : commit->value;
    for (size_t k = 0; commit->change && k < held->n_values; k++)
        commit->change[k] = held->values[k] - before[k];
}

/* Lends aggregate its arrays; `held` are values that a holder wrote. A phase
 * that is still has none. */
static strads_err lend_arrays(sti_aggregate_job *job, strads_commit *commit,
                              const sti_record *held)
{
    const strads_phase *phase = &job->run->phases[commit->phase];
    size_t numbers = (size_t)commit->block.n * commit->width;
    if (phase->still)
        return STRADS_OK;
    bool changes =
        phase->when == STRADS_WHEN_POLICY || phase->when == STRADS_WHEN_CALLED;
    size_t need = changes               ? 2 * numbers + commit->block.n
                  : commit->block.param ? numbers
                                        : 0;
    strads_err err = sti_buffer_resize(job->scratch, sizeof(double) * need);
    if (err)
        return err;
    double *room = (double *)(void *)job->scratch->bytes;
    err = values_now(job, commit, room);
    if (err || !changes)
        return err;
    commit->change = room + numbers;
    commit->priority = commit->change + numbers;
    memset(commit->change, 0, sizeof(double) * numbers);
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] = -1;
    if (held)
        take_held_change(job, commit, held);
    return STRADS_OK;
}

static strads_err tell_result(sti_aggregate_job *job,
                              const strads_commit *commit)
{
    sti_buffer *partial;
    strads_err err = sti_buffer_new(commit->partial_bytes, &partial);
    if (err)
        return err;
    memcpy(partial->bytes, commit->partial, commit->partial_bytes);
    sti_news *news;
    err = sti_news_result(commit->phase, &commit->block, partial, &news);
    sti_object_drop(partial);
    if (err)
        return err;
    err = remember(job, news);
    if (err)
        sti_object_drop(news);
    return err;
}

strads_err sti_commit_block(sti_aggregate_job *job, strads_commit *commit,
                            const sti_record *held)
{
    const strads_phase *phase = &job->run->phases[commit->phase];
    job->n_also = 0;
    since_dispatch(job, commit);
    strads_err err = lend_arrays(job, commit, held);
    if (!err && phase->when == STRADS_WHEN_PROBE && job->keep_pairs)
        err = sti_pairs_put(job->run->pairs, &commit->block, &commit->against,
                            commit->partial);
    if (!err && phase->aggregate)
        err = phase->aggregate(commit);
    if (!err)
        err = job->job.err; /* from a call that could not return one */
    if (!err && commit->total_change) {
        err = sti_totals_add(job->run, commit->total_change);
        memset(commit->total_change, 0, sti_totals_bytes(job->run));
    }
    if (!err && held && phase->flows)
        take_held_change(job, commit, held); /* whatever aggregate made of it */
    const uint32_t changed = err ? 0 : count_changed(commit);
    if (!err)
        err = store_change(job, commit, changed);
    if (!err)
        err = block_priorities(job, commit, changed);
    if (!err && phase->result == STRADS_RESULT_WORKERS)
        err = tell_result(job, commit);
    if (commit->change && job->by_policy)
        job->updates += commit->block.n;
    else
        job->updates_other += count_updates(job, commit, changed);
    job->updates_other += job->n_also;
    return err;
}
