/* Passes: every active group is visited once, those with the largest gain
 * first.
 *
 * The result of a group's visit is its priority for the next pass; until then
 * it has none. A pass is cut into as many parts as there will be joins. When
 * all groups of one part were visited, the policy receives the next part; after
 * the last part the next pass begins. Each pool has its own passes. Groups with
 * only inactive rows are in no pass until a scan activates them. */
#include <math.h>
#include <string.h>

#include <strads/policy.h>

#include "dual.h"

/* Priority of active groups without a gain. */
#define AWAKE 1e-200

/* A join handles as many numbers as there are columns, and pays if there are
 * at least this many entries for each of them. */
enum { ENTRIES_A_COLUMN = 4 };

/* Rows may become inactive in haste during this many passes. The first scan
 * comes after at most this many passes, and earlier if the estimated gap is
 * this share of the allowed one. */
enum { HASTY_PASSES = 3, FIRST_PASSES = 20 };
#define FIRST_AIM .7

/* Whether a group must be visited in this pass, and whether the policy knows
 * it. */
enum { VISITED, WAITS, TOLD };

/* Shares of the steepest ascent at which a row becomes inactive. */
#define HASTY .12
#define PATIENT .5

/* Names the random stream that cuts passes into parts. */
enum { PARTS = 0x70617274 };

static uint64_t group_of(const dual_state *state, uint32_t param)
{
    return param - (state->columns + 1);
}

static dual_pool *pool_of(dual_state *state, uint64_t group)
{
    dual_pool *pool = state->pool;

    while (group >= pool->end)
        pool++;
    return pool;
}

/* ---- a pass ------------------------------------------------------------ */

/* Decides whether the first partition does the pass for all: with few
 * entries, waking others and joining their work takes longer than it saves, and
 * the rows need more visits. With several pools, no partition may work on
 * another pool's rows. */
static void choose_hands(strads_commit *commit, double entries)
{
    dual_state *state = commit->state;

    state->little = state->pools == 1 && entries < STRADS_SVM_ALONE;
    state->alone = state->partitions > 1 && state->little;
    strads_commit_max_partitions(commit, state->alone ? 1 : 0);
    if (!state->moved) /* otherwise the next join does it */
        dual_set_safety(commit);
}

/* A single partition does not merge. */
static uint32_t count_parts(const dual_state *state, double entries)
{
    const double parts =
        entries / (ENTRIES_A_COLUMN * ((double)state->columns + 1) *
                   ((double)state->partitions / state->pools));

    return state->partitions == 1 || state->alone
               ? 1
               : (uint32_t)fmin(fmax(parts, 1), DUAL_PARTS_MAX);
}

/* The part of a pass in which a group is. Each pass draws again: rows that
 * always move together would move w back and forth along their common
 * direction. */
static uint32_t part_of(const dual_pool *pool, uint64_t group)
{
    return pool->parts == 1 ? 0
                            : (uint32_t)(strads_random_bits(pool->begin, PARTS,
                                                            pool->pass, group) %
                                         pool->parts);
}

/* Cuts the groups of a pass into parts; the most promising comes first. */
static void cut_parts(const dual_state *state, dual_pool *pool, double entries)
{
    const uint32_t *awake = state->awake + pool->begin;
    double promise[DUAL_PARTS_MAX] = {0};

    pool->parts = count_parts(state, entries);
    pool->next = 0;
    pool->pass++;
    for (uint64_t k = 0; k < pool->left; k++)
        promise[part_of(pool, awake[k])] += state->urgency[awake[k]];
    for (uint32_t m = 0; m < pool->parts; m++) {
        uint32_t at = m;
        for (; at > 0 && promise[pool->part[at - 1]] < promise[m]; at--)
            pool->part[at] = pool->part[at - 1];
        pool->part[at] = m;
    }
}

/* Marks the active ones of n groups for a visit. */
static void begin_pass(strads_commit *commit, dual_pool *pool,
                       const uint32_t *group, uint64_t n)
{
    dual_state *state = commit->state;
    uint32_t *awake = state->awake + pool->begin;
    double entries = 0;

    pool->left = pool->told = 0;
    for (uint64_t k = 0; k < n; k++) {
        const uint32_t i = group ? group[k] : (uint32_t)(pool->begin + k);
        state->waits[i] = state->urgency[i] > 0 ? WAITS : VISITED;
        if (state->waits[i] == VISITED)
            continue;
        entries += state->entries[i];
        awake[pool->left++] = i;
    }
    pool->awake = pool->left;
    choose_hands(commit, entries);
    cut_parts(state, pool, entries);
}

/* Passes the next part's groups to the policy. */
static void tell(strads_commit *commit, dual_pool *pool)
{
    dual_state *state = commit->state;
    const uint32_t *awake = state->awake + pool->begin;
    uint32_t n = 0;

    while (n == 0 && pool->next < pool->parts) {
        const uint32_t part = pool->part[pool->next++];
        for (uint64_t k = 0; k < pool->awake; k++) {
            const uint32_t i = awake[k];
            if (state->waits[i] != WAITS || part_of(pool, i) != part)
                continue;
            state->waits[i] = TOLD;
            state->told[n] = (uint32_t)(state->columns + 1 + i);
            state->how[n++] = state->urgency[i];
        }
    }
    pool->told = n;
    strads_commit_prioritise(commit, n, state->told, state->how);
}

/* The priorities that a commit sets for its own block are applied last. */
static void tell_block(strads_commit *commit)
{
    const dual_state *state = commit->state;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint64_t i =
            group_of(state, strads_block_param(&commit->block, k));
        commit->priority[k] = state->waits[i] == TOLD ? state->urgency[i] : 0;
    }
}

static void begin_passes(strads_commit *commit)
{
    dual_state *state = commit->state;

    for (uint32_t g = 0; g < state->pools; g++) {
        dual_pool *pool = &state->pool[g];
        pool->sum = pool->worst_now = pool->inside = pool->crossed = 0;
        pool->before = INFINITY;
        pool->falls = 1;
        pool->settled = pool->sleepers = pool->wakes = false;
        begin_pass(commit, pool, NULL, pool->end - pool->begin);
        tell(commit, pool);
    }
}

/* Policies start with a priority of 1 for all. */
strads_err dual_begin_first_passes(strads_commit *commit)
{
    dual_state *state = commit->state;

    for (uint64_t i = 0; i < state->groups; i++) {
        state->urgency[i] = state->entries[i] > 0 ? 1 : AWAKE;
        state->told[i] = (uint32_t)(state->columns + 1 + i);
        state->how[i] = 0;
    }
    strads_commit_prioritise(commit, (uint32_t)state->groups, state->told,
                             state->how);
    for (uint32_t g = 0; g < state->pools; g++)
        state->pool[g].since = 0;
    begin_passes(commit);
    return strads_commit_route(commit, DUAL_ASCEND, INFINITY);
}

/* ---- visits ------------------------------------------------------------ */

/* A group's priority, from the result of its visit. */
static double urgency_of(double told)
{
    return told < 0 ? 0 : fmax(told, AWAKE);
}

/* The gaps that recent passes have found give an estimate of the gap. They
 * were found during the passes, and each visit has since removed its share. */
static double left_to_gain(const dual_state *state)
{
    double sum = 0;

    for (uint32_t g = 0; g < state->pools; g++)
        sum += state->pool[g].before * state->pool[g].falls;
    return sum;
}

/* Decides whether rows become inactive early. Most ascents are far below the
 * steepest, so at first a small share of it saves most visits; a later pass, or
 * the first scan, activates rows again if needed. If losses have kinks, too
 * many b would stop on the wrong side of them, and dual_face.c's steps would
 * start there. */
static bool is_hasty(const dual_state *state)
{
    return state->scans == 0 && state->visits < HASTY_PASSES * state->rows &&
           state->problem.loss->quadratic && state->problem.loss->smooth;
}

/* The descent at which a row becomes inactive, anywhere: a share of the
 * steepest ascent of the previous pass; 0 while that is unknown. Below 0 if a
 * pool checks inactive rows. */
static double steep(const dual_state *state)
{
    double most = 0;
    bool wakes = false;

    for (uint32_t g = 0; g < state->pools; g++) {
        most = fmax(most, state->pool[g].worst);
        wakes = wakes || state->pool[g].wakes;
    }
    if (!isfinite(most))
        return 0;
    return most * (wakes ? -HASTY : is_hasty(state) ? HASTY : PATIENT);
}

/* True if the first scan may wait until passes find little, because only passes
 * depend on it. */
static bool first_may_wait(const dual_state *state)
{
    return state->scans == 0 && !state->problem.options.intercept &&
           state->columns >= DUAL_NEWTON_COLUMNS;
}

/* D, as reported by passes. */
static double dual_so_far(const dual_state *state)
{
    return state->parts - state->reached / 2;
}

/* True if enough rows have been visited for a scan. */
static bool scan_is_due(const dual_state *state, double tolerance)
{
    const double enough = FIRST_AIM * tolerance * dual_so_far(state);

    return state->visits >= state->next_scan &&
           !(first_may_wait(state) && left_to_gain(state) > enough &&
             state->visits < FIRST_PASSES * state->rows);
}

/* The next pass checks all rows if some became inactive in haste and no scan
 * is due soon. */
static void wake(dual_state *state, dual_pool *pool)
{
    uint32_t *awake = state->awake + pool->begin;

    pool->wakes = pool->sleepers && !is_hasty(state) && first_may_wait(state);
    if (!pool->wakes)
        return;
    pool->sleepers = false;
    pool->awake = pool->end - pool->begin;
    for (uint64_t k = 0; k < pool->awake; k++) {
        awake[k] = (uint32_t)(pool->begin + k);
        state->entries[awake[k]] = dual_group_entries(state, awake[k]);
        state->urgency[awake[k]] = fmax(state->urgency[awake[k]], AWAKE);
    }
}

static void end_pass(strads_commit *commit, dual_pool *pool)
{
    dual_state *state = commit->state;

    const bool known = isfinite(pool->before);

    pool->falls =
        known && pool->sum < pool->before ? pool->sum / pool->before : 1;
    pool->before = pool->sum;
    pool->worst = pool->worst_now > 0 ? pool->worst_now : INFINITY;
    pool->since++;
    pool->settled = known && dual_is_settled(pool);
    pool->sum = pool->worst_now = pool->inside = pool->crossed = 0;
    wake(state, pool);
    commit->total_change[DUAL_STEEP] = steep(state) - commit->total[DUAL_STEEP];
    pool->sleepers = pool->sleepers || is_hasty(state);
    begin_pass(commit, pool, state->awake + pool->begin, pool->awake);
    state->scan_due = state->scan_due || scan_is_due(state, commit->tolerance);
    if (left_to_gain(state) <= state->enough)
        state->scan_due = state->rested = true;
    dual_judge_face(state);
}

strads_err dual_aggregate_ascend(strads_commit *commit)
{
    dual_state *state = commit->state;
    const strads_block *block = &commit->block;
    dual_pool *pool =
        pool_of(state, group_of(state, strads_block_param(block, 0)));
    const double *entries = commit->partial + block->n;
    const double *more = entries + block->n;

    for (uint32_t k = 0; k < block->n; k++) {
        const uint64_t i = group_of(state, strads_block_param(block, k));
        pool->left -= state->waits[i] != VISITED;
        pool->told -= state->waits[i] == TOLD;
        state->waits[i] = VISITED;
        state->urgency[i] = urgency_of(commit->partial[k]);
        state->entries[i] = entries[k];
        pool->sum += fmax(commit->partial[k], 0);
        state->parts += commit->change[dual_place(state, k)];
    }
    state->reached = more[DUAL_REACHED];
    pool->worst_now = fmax(pool->worst_now, more[DUAL_WORST]);
    pool->inside += more[DUAL_INSIDE];
    pool->crossed += more[DUAL_CROSSED];
    state->visits += (uint64_t)more[DUAL_VISITS];
    state->moved = true;
    state->joined = false;
    state->spread = state->spread || block->owner > 0;
    if (pool->left == 0)
        end_pass(commit, pool);
    else
        state->scan_due =
            state->scan_due || scan_is_due(state, commit->tolerance);
    if (pool->told == 0)
        tell(commit, pool);
    tell_block(commit);
    return STRADS_OK;
}

void dual_pass_scanned(strads_commit *commit)
{
    dual_state *state = commit->state;
    const strads_range groups = state->held[commit->block.owner];
    const double *gap = commit->partial;
    const double *entries = gap + (groups.end - groups.begin);

    for (uint64_t i = groups.begin; i < groups.end; i++) {
        state->urgency[i] = urgency_of(gap[i - groups.begin]);
        state->entries[i] = entries[i - groups.begin];
        state->waits[i] = VISITED;
    }
    if (++state->seen == state->partitions)
        begin_passes(commit);
}
