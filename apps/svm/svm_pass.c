/* Passes: every row that does not rest is visited once, those of which the most
 * is to be gained first.
 *
 * What a row's visit finds is its priority for the next pass; until then it has
 * none. So the policy draws blocks without putting them back, and when none is
 * left the next pass begins. Each partition has passes of its own. A row at
 * rest is in none, until a scan says otherwise. */
#include <math.h>
#include <string.h>

#include "svm_parts.h"

/* A merge moves as many numbers as there are columns, and is worth as many
 * entries as this for each of them; more than so many a pass bring nothing. */
enum { ENTRIES_A_COLUMN = 6, MERGES_MAX = 8 };

/* Entries that a block should have: a pass is cut into as many rounds as there
 * are to be merges in it; one partition has nobody to merge with. */
static double block_work(const svm_state *state)
{
    if (state->partitions == 1)
        return INFINITY;
    const double columns = (double)state->columns + 1;
    const double merges =
        state->entries / (ENTRIES_A_COLUMN * state->partitions * columns);

    return state->entries /
           (state->partitions * fmin(fmax(merges, 1), MERGES_MAX));
}

static uint64_t row_of(const svm_state *state, uint32_t param)
{
    return param - (state->columns + 2);
}

/* The rows of a partition that do not rest wait for their visit. */
static void begin_pass(svm_state *state, svm_part *part)
{
    part->left = 0;
    for (uint64_t i = part->begin; i < part->end; i++) {
        state->waits[i] = state->urgency[i] > 0;
        part->left += state->waits[i];
    }
}

void svm_begin_passes(svm_state *state)
{
    for (uint64_t i = 0; i < state->rows; i++)
        state->urgency[i] = 1;
    for (uint32_t p = 0; p < state->partitions; p++)
        begin_pass(state, &state->part[p]);
}

static void tell(strads_commit *commit, const svm_part *part)
{
    svm_state *state = commit->state;
    uint32_t n = 0;

    for (uint64_t i = part->begin; i < part->end; i++) {
        if (!state->waits[i])
            continue;
        state->told[n] = (uint32_t)(state->columns + 2 + i);
        state->how[n++] = state->urgency[i];
    }
    strads_commit_prioritise(commit, n, state->told, state->how);
}

/* What passes have found of late is an estimate of the gap. They found it on
 * their way, so that each has taken off its own share of it since. */
static double left_to_gain(const svm_state *state)
{
    double sum = 0;

    for (uint32_t p = 0; p < state->partitions; p++)
        sum += state->part[p].before * state->part[p].falls;
    return sum;
}

static void end_pass(strads_commit *commit, svm_part *part)
{
    svm_state *state = commit->state;

    part->falls = isfinite(part->before) && part->sum < part->before
                      ? part->sum / part->before
                      : 1;
    part->before = part->sum;
    part->sum = 0;
    begin_pass(state, part);
    tell(commit, part);
    /* What the commit says of its own block comes last. */
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] = commit->partial[k];
    if (left_to_gain(state) <= state->enough)
        state->scan_due = state->rested = true;
}

strads_err svm_aggregate_ascend(strads_commit *commit)
{
    svm_state *state = commit->state;
    svm_part *part = &state->part[commit->block.owner];
    const uint32_t n = commit->block.n;

    for (uint32_t k = 0; k < n; k++) {
        const uint64_t i = row_of(state, strads_block_param(&commit->block, k));
        part->left -= state->waits[i];
        state->waits[i] = false;
        state->urgency[i] = commit->partial[k];
        part->sum += commit->partial[k];
        commit->priority[k] = 0;
    }
    state->visits += (uint64_t)commit->partial[n];
    state->scan_due = state->scan_due || state->visits >= state->next_scan;
    state->moved = true;
    if (part->left == 0)
        end_pass(commit, part);
    return strads_commit_route(commit, SVM_ASCEND, block_work(state));
}

void svm_pass_after_scan(strads_commit *commit)
{
    svm_state *state = commit->state;
    svm_part *part = &state->part[commit->block.owner];

    memcpy(state->urgency + part->begin, commit->partial,
           commit->block.n * sizeof(double));
    memcpy(commit->priority, commit->partial, commit->block.n * sizeof(double));
    part->sum = 0;
    part->before = INFINITY;
    part->falls = 1;
    begin_pass(state, part);
}
