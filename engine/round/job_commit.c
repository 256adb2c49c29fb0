/* The commit of a dispatch: joins its partials, calls `aggregate` for each
 * block, checks its results, also those of the calls in strads/program.h, and
 * applies them: changes to the store and to the workers' updates, priorities to
 * the schedulers, results to the workers that receive them. */
#include "engine/round/job.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/partials.h"
#include "engine/round/owned_policy.h"
#include "engine/round/tree.h"

static strads_err no_commit_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a commit");
}

/* A policy indexes by parameter and sums priorities, so this checks both once,
 * for all policies. */
static strads_err check_priorities(const sti_run *run, uint32_t n,
                                   const uint32_t *param,
                                   const double *priority)
{
    for (uint32_t k = 0; k < n; k++)
        if (param[k] >= run->shape.parameters || !(priority[k] >= 0) ||
            isinf(priority[k]))
            return strads_fail(STRADS_EPROGRAM,
                               "program %s gave parameter %u of %llu the "
                               "priority %g: expected a finite number from 0 "
                               "up",
                               run->program->name, param[k],
                               (unsigned long long)run->shape.parameters,
                               priority[k]);
    return STRADS_OK;
}

strads_err sti_commit_prioritise(sti_aggregate_job *job, uint32_t n,
                                 const uint32_t *param, const double *priority)
{
    strads_err err = check_priorities(job->run, n, param, priority);
    return err ? err
               : sti_priorities_deal(job->run, job->priorities, n, param,
                                     priority);
}

void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *priority)
{
    sti_aggregate_job *job = commit->engine;
    strads_err err = sti_commit_prioritise(job, n, param, priority);
    if (err)
        job->job.err = err;
}

void strads_commit_rest(strads_commit *commit, double level)
{
    sti_aggregate_job *job = commit->engine;
    job->rest = level > 0 ? level : 0;
    strads_err err = sti_priorities_rest(job->run, job->priorities, job->rest);
    if (err)
        job->job.err = err;
}

strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                               double work)
{
    sti_aggregate_job *job = commit->engine;
    const sti_run *run = job->run;
    if (phase >= run->n_phases || run->phases[phase].when != STRADS_WHEN_POLICY)
        return strads_fail(STRADS_EINVAL,
                           "program %s routes blocks to phase %u, which is no "
                           "POLICY phase",
                           run->program->name, phase);
    job->routed = true;
    job->route_phase = phase;
    job->route_work = work > 0 ? work : 0;
    return STRADS_OK;
}

void strads_commit_max_partitions(strads_commit *commit,
                                  uint32_t max_partitions)
{
    ((sti_aggregate_job *)commit->engine)->max_partitions = max_partitions;
}

void strads_commit_count_updates(strads_commit *commit, uint64_t n)
{
    ((sti_aggregate_job *)commit->engine)->coordinates_other += n;
}

static strads_err grow_also(sti_aggregate_job *job, uint32_t need,
                            uint32_t width)
{
    uint32_t capacity = 2 * job->cap_also > need ? 2 * job->cap_also : need;
    uint32_t *param = realloc(job->also_param, sizeof *param * capacity);
    if (param)
        job->also_param = param;
    double *change =
        realloc(job->also_change, sizeof *change * capacity * width);
    if (change)
        job->also_change = change;
    if (!param || !change)
        return no_commit_memory();
    job->cap_also = capacity;
    return STRADS_OK;
}

strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                              const uint32_t *param, const double *change)
{
    sti_aggregate_job *job = commit->engine;
    if (n == 0)
        return STRADS_OK;
    if (job->n_also + n > job->cap_also) {
        strads_err err = grow_also(job, job->n_also + n, commit->width);
        if (err)
            return err;
    }
    memcpy(job->also_param + job->n_also, param, sizeof *param * n);
    memcpy(job->also_change + (size_t)job->n_also * commit->width, change,
           sizeof *change * n * commit->width);
    job->n_also += n;
    return STRADS_OK;
}

const double *strads_commit_pairs(const strads_commit *commit)
{
    const sti_aggregate_job *job = commit->engine;
    return job->run->pairs ? sti_pairs_square(job->run->pairs, &commit->block)
                           : NULL;
}

double strads_commit_pair(const strads_commit *commit, uint32_t i, uint32_t j)
{
    const sti_run *run = ((const sti_aggregate_job *)commit->engine)->run;
    if (!run->pairs || i >= run->shape.parameters || j >= run->shape.parameters)
        return NAN;
    return sti_pairs_get(run->pairs, i, j);
}

/* ---- one block: the arrays for `aggregate`, and its change to the store, the
 * updates and the priorities */

static bool is_zero_row(const double *row, uint32_t width)
{
    for (uint32_t c = 0; c < width; c++)
        if (row[c] != 0)
            return false;
    return true;
}

static double row_norm(const double *row, uint32_t width)
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
        n += !is_zero_row(commit->change + (size_t)k * commit->width,
                          commit->width);
    return n;
}

/* Whether a block has no owned parameters although the program has some: such a
 * block is not the policy's. */
static bool is_unowned(const sti_aggregate_job *job, const strads_block *block)
{
    return job->run->owned && !block->param &&
           !sti_owned_meets(job->run->owned, block->first, block->n);
}

/* Counts the changed parameters that are owned; the others follow from
 * these. */
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
        n += !is_zero_row(commit->change + (size_t)k * commit->width,
                          commit->width) &&
             sti_owned_has(owned, strads_block_param(&commit->block, k));
    return n;
}

/* Copies the changed rows of a block; returns their number. */
static uint32_t fill_block_change(const strads_commit *commit, uint32_t *param,
                                  double *change)
{
    uint32_t width = commit->width, n = 0;
    for (uint32_t k = 0; commit->change && k < commit->block.n; k++) {
        const double *row = commit->change + (size_t)k * width;
        if (is_zero_row(row, width))
            continue;
        if (width == 1)
            change[n] = *row;
        else
            memcpy(change + (size_t)n * width, row, sizeof *row * width);
        param[n++] = strads_block_param(&commit->block, k);
    }
    return n;
}

/* Copies the changed rows: the block's, then those of strads_commit_also. */
static void fill_change(const sti_aggregate_job *job,
                        const strads_commit *commit, sti_update *update)
{
    uint32_t width = commit->width;
    uint32_t *param = (uint32_t *)(uintptr_t)update->change.param;
    double *change = (double *)(uintptr_t)update->change.change;
    uint32_t n = fill_block_change(commit, param, change);
    if (job->n_also) {
        memcpy(param + n, job->also_param, sizeof *param * job->n_also);
        memcpy(change + (size_t)n * width, job->also_change,
               sizeof *change * job->n_also * width);
    }
}

static strads_err record_update(sti_aggregate_job *job, sti_update *update)
{
    if (job->n_updates == job->cap_updates) {
        uint32_t capacity = job->cap_updates ? 2 * job->cap_updates : 8;
        sti_update **list =
            realloc(job->updates, sizeof(sti_update *) * capacity);
        if (!list)
            return no_commit_memory();
        job->updates = list;
        job->cap_updates = capacity;
    }
    if (job->n_recent == job->cap_recent) {
        size_t capacity = job->cap_recent ? 2 * job->cap_recent : 32;
        strads_change *recent = realloc(job->recent, sizeof *recent * capacity);
        if (!recent)
            return no_commit_memory();
        job->recent = recent;
        job->cap_recent = capacity;
    }
    job->updates[job->n_updates++] = update;
    if (update->kind == STI_UPDATE_CHANGE)
        job->recent[job->n_recent++] = update->change;
    return STRADS_OK;
}

/* The largest change that a phase may make. Beyond 1e150 squares overflow.
 * Phases of the coordinator alone check their objective themselves and have
 * no such limit. */
static double largest_change(const strads_phase *phase)
{
    return phase->when == STRADS_WHEN_POLICY && phase->to != STRADS_TO_NOBODY
               ? 1e150
               : DBL_MAX;
}

/* Rejects numbers that are not finite: one would stay in the model, in every
 * worker's state and in the priorities. Steps that diverge are rejected
 * earlier, because a program that reports only when it is idle would run on
 * for long. */
static strads_err check_finite(const sti_aggregate_job *job,
                               const strads_commit *commit,
                               const strads_change *change)
{
    const size_t n = (size_t)change->n * commit->width;
    const double most = largest_change(&job->run->phases[commit->phase]);
    bool within = true;
    for (size_t k = 0; k < n; k++)
        within &= fabs(change->change[k]) <= most;
    for (size_t k = 0; k < n && !within; k++)
        if (!(fabs(change->change[k]) <= most))
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
    sti_update *update;
    strads_err err = sti_update_change(0, n, commit->width, &update);
    if (err)
        return err;
    fill_change(job, commit, update);
    err = check_finite(job, commit, &update->change);
    if (!err)
        err = strads_store_inc(job->run->store, 0, n, update->change.param,
                               update->change.change, &update->change.version);
    if (!err)
        err = record_update(job, update);
    if (err)
        sti_object_drop(update);
    return err;
}

/* Whether `aggregate` set the priority of every parameter in a listed block. */
static bool has_all_priorities(const strads_commit *commit)
{
    if (!commit->block.param)
        return false;
    for (uint32_t k = 0; k < commit->block.n; k++)
        if (!(commit->priority[k] >= 0))
            return false;
    return true;
}

/* Whether it set any. There is no early exit, because a scan's block is large
 * and the loop vectorises. */
static bool has_any_priority(const strads_commit *commit)
{
    bool any = false;
    for (uint32_t k = 0; k < commit->block.n; k++)
        any |= commit->priority[k] >= 0;
    return any;
}

/* Uses the priorities that `aggregate` set, otherwise the size of each
 * parameter's change. A REST or CALLED phase may leave parameters out. */
static strads_err set_block_priorities(sti_aggregate_job *job,
                                       const strads_commit *commit,
                                       uint32_t changed)
{
    const strads_block *block = &commit->block;
    if (!commit->priority || is_unowned(job, block))
        return STRADS_OK;
    if (has_all_priorities(commit))
        return sti_commit_prioritise(job, block->n, block->param,
                                     commit->priority);
    bool scan = job->run->phases[commit->phase].when != STRADS_WHEN_POLICY;
    if (scan && !changed && !has_any_priority(commit))
        return STRADS_OK;
    for (uint32_t k = 0; k < block->n; k++) {
        uint32_t param = strads_block_param(&commit->block, k);
        double priority = commit->priority[k];
        if (!(priority >= 0)) {
            const double *row = commit->change + (size_t)k * commit->width;
            if (scan && is_zero_row(row, commit->width))
                /* only a scan; strads_commit_prioritise may have set it */
                continue;
            priority = row_norm(row, commit->width);
        }
        strads_err err = sti_commit_prioritise(job, 1, &param, &priority);
        if (err)
            return err;
    }
    return STRADS_OK;
}

/* ---- one block --------------------------------------------------------- */

/* Finds the commits since the dispatch: recent ones with a version above the
 * one that its updates contain. Versions ascend. */
static void find_since_dispatch(const sti_aggregate_job *job,
                                strads_commit *commit)
{
    size_t first = job->n_recent;
    while (first > 0 && job->recent[first - 1].version > job->dispatch->known)
        first--;
    commit->since = job->recent + first;
    commit->n_since = (uint32_t)(job->n_recent - first);
}

/* The current values of the block, in place if they are contiguous. */
static strads_err read_current_values(sti_aggregate_job *job,
                                      strads_commit *commit, double *capacity)
{
    const strads_block *block = &commit->block;
    const double *table = strads_store_dense(job->run->store, 0);
    commit->value = capacity;
    if (!block->param)
        commit->value = table + (size_t)block->first * commit->width;
    else if (commit->width == 1)
        for (uint32_t k = 0; k < block->n; k++)
            capacity[k] = table[block->param[k]];
    else
        return strads_store_read(job->run->store, 0, block->n, block->param,
                                 capacity);
    return STRADS_OK;
}

/* Computes the change that the holders made. */
static void take_held_change(const sti_aggregate_job *job,
                             const strads_commit *commit,
                             const sti_record *held)
{
    const sti_dispatch *d = job->dispatch;
    const double *before = d->values + d->value_at[held->block];
    for (size_t k = 0; commit->change && k < held->n_values; k++)
        commit->change[k] = held->values[k] - before[k];
}

/* Provides the arrays of `aggregate`; `held` are values that a holder wrote. A
 * phase that keeps its values gets no arrays. */
static strads_err lend_arrays(sti_aggregate_job *job, strads_commit *commit,
                              const sti_record *held)
{
    const strads_phase *phase = &job->run->phases[commit->phase];
    size_t numbers = (size_t)commit->block.n * commit->width;
    if (phase->keeps_values)
        return STRADS_OK;
    bool changes = phase->when != STRADS_WHEN_PROBE;
    size_t need = changes               ? 2 * numbers + commit->block.n
                  : commit->block.param ? numbers
                                        : 0;
    strads_err err = sti_buffer_resize(job->scratch, sizeof(double) * need);
    if (err)
        return err;
    double *capacity = (double *)(void *)job->scratch->bytes;
    err = read_current_values(job, commit, capacity);
    if (err || !changes)
        return err;
    commit->change = capacity + numbers;
    commit->priority = commit->change + numbers;
    memset(commit->change, 0, sizeof(double) * numbers);
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] = -1;
    if (held)
        take_held_change(job, commit, held);
    return STRADS_OK;
}

static strads_err queue_result(sti_aggregate_job *job,
                               const strads_commit *commit)
{
    sti_buffer *partial;
    strads_err err = sti_buffer_new(commit->partial_bytes, &partial);
    if (err)
        return err;
    memcpy(partial->bytes, commit->partial, commit->partial_bytes);
    sti_update *update;
    err = sti_update_result(commit->phase, &commit->block, partial, &update);
    sti_object_drop(partial);
    if (err)
        return err;
    err = record_update(job, update);
    if (err)
        sti_object_drop(update);
    return err;
}

strads_err sti_commit_block(sti_aggregate_job *job, strads_commit *commit,
                            const sti_record *held)
{
    const strads_phase *phase = &job->run->phases[commit->phase];
    job->n_also = 0;
    find_since_dispatch(job, commit);
    strads_err err = lend_arrays(job, commit, held);
    if (!err && phase->when == STRADS_WHEN_PROBE)
        err = sti_pairs_put(job->run->pairs, &commit->block, &commit->against,
                            commit->partial);
    if (!err && phase->aggregate)
        err = phase->aggregate(commit);
    if (!err)
        err = job->job.err; /* set by a call that returns void */
    if (!err && commit->total_change) {
        err = sti_totals_add(job->run, commit->total_change);
        memset(commit->total_change, 0, sti_totals_bytes(job->run));
    }
    const uint32_t changed = err ? 0 : count_changed(commit);
    if (!err)
        err = store_change(job, commit, changed);
    if (!err && !job->run->program->no_policy)
        err = set_block_priorities(job, commit, changed);
    if (!err && phase->result == STRADS_RESULT_WORKERS)
        err = queue_result(job, commit);
    if (commit->change && job->by_policy)
        job->coordinates += commit->block.n;
    else
        job->coordinates_other += count_updates(job, commit, changed);
    /* Without a policy, `also` changes what follows from owned parameters. */
    if (!job->run->program->no_policy || !job->run->program->owned)
        job->coordinates_other += job->n_also;
    return err;
}

/* ---- the commit of a dispatch: the merged partial of each block in turn (each
 * sees the changes of those before it), then the report */

static strads_err fail_records(const sti_aggregate_job *job, uint32_t block)
{
    return strads_fail(STRADS_EPEER,
                       "round %llu: block %u of %u did not return exactly once "
                       "and complete: a node runs another version or is broken",
                       (unsigned long long)job->job.round, block,
                       job->dispatch->n_blocks);
}

/* Whether a holder's record has the sizes of the dispatch. */
static bool has_due_size(const sti_aggregate_job *job, const sti_record *record)
{
    const sti_dispatch *d = job->dispatch;
    return record->partial_bytes ==
               sti_partial_bytes(job->run, d, record->block) &&
           record->n_values ==
               d->value_at[record->block + 1] - d->value_at[record->block];
}

/* OWNER and RING: finds the one record of each block, in order of blocks. */
static strads_err find_records(const sti_aggregate_job *job,
                               sti_record *records)
{
    uint32_t n = job->dispatch->n_blocks;
    for (uint32_t k = 0; k < n; k++)
        records[k].partial = NULL;
    strads_err err;
    sti_record record;
    for (size_t at = sti_totals_bytes(job->run);
         sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block >= n || records[record.block].partial ||
            !has_due_size(job, &record))
            return fail_records(job, record.block);
        records[record.block] = record;
    }
    for (uint32_t k = 0; !err && k < n; k++)
        if (!records[k].partial)
            err = fail_records(job, k);
    return err;
}

/* Counts the pieces of a block and their bytes, and finds the last one. */
static strads_err count_pieces(const sti_aggregate_job *job, uint32_t block,
                               uint32_t *n, size_t *bytes, sti_record *last)
{
    strads_err err;
    sti_record record;
    *n = 0;
    *bytes = 0;
    for (size_t at = sti_totals_bytes(job->run);
         sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block != block)
            continue;
        *last = record;
        *bytes += record.partial_bytes;
        ++*n;
    }
    return err;
}

/* CONCAT: joins all pieces of one block, in the order of partitions. A single
 * piece is read in place, because it may be large. */
static strads_err gather_pieces(sti_aggregate_job *job, uint32_t block,
                                strads_commit *commit)
{
    uint32_t n;
    sti_record record;
    strads_err err =
        count_pieces(job, block, &n, &commit->partial_bytes, &record);
    if (!err && n == 1)
        commit->partial = record.partial;
    if (err || n == 1)
        return err;
    err = sti_buffer_resize(job->gathered, commit->partial_bytes);
    unsigned char *to = job->gathered->bytes;
    for (size_t at = sti_totals_bytes(job->run);
         !err && sti_records_next(job->partial, &at, &record, &err);) {
        if (record.block != block)
            continue;
        memcpy(to, record.partial, record.partial_bytes);
        to += record.partial_bytes;
    }
    commit->partial = (const double *)(void *)job->gathered->bytes;
    return err;
}

static strads_commit base_commit(sti_aggregate_job *job, uint32_t index)
{
    sti_run *run = job->run;
    const sti_dispatch *d = job->dispatch;
    return (strads_commit){
        .state = run->state,
        .config = run->config,
        .store = run->store,
        .seed = run->seed,
        .round = d->round,
        .phase = d->phase,
        .width = run->shape.width,
        .block = d->blocks[index],
        .against = d->has_against ? d->against : (strads_block){0},
        .engine = job,
        .tolerance = run->tolerance,
        .total = sti_totals_now(run),
        .total_change = job->total_change,
    };
}

static strads_err commit_in_place(sti_aggregate_job *job)
{
    const sti_dispatch *d = job->dispatch;
    size_t at = sti_totals_bytes(job->run);
    if (job->partial->size != at + d->partial_at[d->n_blocks])
        return strads_fail(STRADS_EPEER,
                           "round %llu: merged partials have %zu bytes, not "
                           "%zu: a node runs other options",
                           (unsigned long long)d->round, job->partial->size,
                           at + d->partial_at[d->n_blocks]);
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < d->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        commit.partial = (const double *)(void *)(job->partial->bytes + at +
                                                  d->partial_at[k]);
        commit.partial_bytes = sti_partial_bytes(job->run, d, k);
        err = sti_commit_block(job, &commit, NULL);
    }
    return err;
}

static strads_err commit_records(sti_aggregate_job *job)
{
    const sti_dispatch *d = job->dispatch;
    bool concat = job->run->phases[d->phase].to == STRADS_TO_ALL;
    sti_record *records = calloc(d->n_blocks + 1, sizeof *records);
    if (!records)
        return no_commit_memory();
    strads_err err = concat ? STRADS_OK : find_records(job, records);
    for (uint32_t k = 0; k < d->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        if (concat) {
            err = gather_pieces(job, k, &commit);
        } else {
            commit.partial = records[k].partial;
            commit.partial_bytes = records[k].partial_bytes;
        }
        if (!err)
            err = sti_commit_block(job, &commit, concat ? NULL : &records[k]);
    }
    free(records);
    return err;
}

/* Joins a partial that arrived in chunks, and drops the chunks. */
static strads_err join_chunks(sti_aggregate_job *job)
{
    const sti_chunks chunks = sti_chunks_of(job->run, job->dispatch);
    if (job->n_chunks == 0)
        return STRADS_OK;
    strads_err err = sti_buffer_new(chunks.bytes, &job->partial);
    for (uint32_t k = 0; k < job->n_chunks; k++) {
        const size_t begin = sti_chunks_begin(&chunks, k);
        const size_t size = sti_chunks_begin(&chunks, k + 1) - begin;
        if (!err && job->chunks[k]->size != size)
            err = strads_fail(STRADS_EPEER,
                              "round %llu: chunk %u of %u has %zu bytes, not "
                              "%zu: a node runs other options",
                              (unsigned long long)job->job.round, k, chunks.n,
                              job->chunks[k]->size, size);
        if (!err)
            memcpy(job->partial->bytes + begin, job->chunks[k]->bytes, size);
        sti_object_drop(job->chunks[k]);
        job->chunks[k] = NULL;
    }
    return err;
}

strads_err sti_job_check_finite(const sti_run *run, double objective)
{
    static const char *const advice =
        "the steps diverge. Scale the columns down, or take shorter steps "
        "(--rate) or fewer at once (--blocks, --workers)";
    const double *value = strads_store_dense(run->store, 0);
    const uint64_t n = run->shape.parameters * run->shape.width;

    for (uint64_t k = 0; k < n; k++)
        if (!isfinite(value[k]))
            return strads_fail(STRADS_EPROGRAM, "parameter %llu is %g: %s",
                               (unsigned long long)(k / run->shape.width),
                               value[k], advice);
    return isinf(objective)
               ? strads_fail(STRADS_EPROGRAM, "the objective is %g: %s",
                             objective, advice)
               : STRADS_OK;
}

/* An objective that is not a number may be one that is not known yet: then the
 * parameters decide whether the run has diverged. */
strads_err sti_job_report(sti_run *run, sti_aggregate_job *job)
{
    job->report = (strads_report){.objective = NAN, .gap = NAN};
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        job->report.measure[k] = NAN;
    if (!run->program->objective)
        return STRADS_OK;
    job->reported = true;
    const strads_err err = run->program->objective(run->state, &job->report);
    return err || isfinite(job->report.objective)
               ? err
               : sti_job_check_finite(run, job->report.objective);
}

/* Commits a phase to NOBODY: its blocks have no partials. */
static strads_err commit_alone(sti_aggregate_job *job)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < job->dispatch->n_blocks && !err; k++) {
        strads_commit commit = base_commit(job, k);
        err = sti_commit_block(job, &commit, NULL);
    }
    return err;
}

strads_err sti_job_aggregate(sti_run *run, sti_aggregate_job *job)
{
    const strads_phase *phase = &run->phases[job->dispatch->phase];
    strads_err err = STRADS_OK;
    job->job.err = STRADS_OK;
    if (run->shape.totals && !job->total_change)
        job->total_change = calloc(run->shape.totals, sizeof(double));
    if (run->shape.totals && !job->total_change)
        return no_commit_memory();
    err = join_chunks(job);
    if (!err && phase->to != STRADS_TO_NOBODY)
        err = sti_totals_commit(run, job->partial);
    if (err)
        return err;
    if (phase->to == STRADS_TO_NOBODY)
        err = commit_alone(job);
    else
        err = sti_phase_keeps_records(phase) ? commit_records(job)
                                             : commit_in_place(job);
    if (!err && (phase->reports || job->ask_objective))
        err = sti_job_report(run, job);
    return err;
}
