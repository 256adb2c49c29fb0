/* After a scan: the working set, its priorities, and where to rest.
 *
 * One unit throughout: by how much a parameter's own step would lower P, n-fold
 * as in lasso_parts.h. A block commit reports the same of what it did, so the
 * priorities left are an estimate of what is left to gain, and the policy rests
 * once that is a small share of the gap: then a scan tells more than another
 * pass. The set only grows (Johnson and Guestrin, "Blitz", ICML 2015; Massias,
 * Gramfort, Salmon, "Celer", ICML 2018), so the pairs probed stay useful. */
#include <math.h>

#include "apps/linear/linear_steps.h"
#include "lasso_gram.h"
#include "lasso_columns.h"
#include "lasso_path.h"

/* Gains below this share of P are rounding: no policy need chase them. */
#define ROUNDING 1e-28

enum { FIRST_MIN = 16, FIRST_MAX = 128, SEED_MAX = 512, PASSES_MAX = 100 };

/* As many as this join at once, and twice the support, while they have no more
 * than this share of all entries, and solving has cost less than a scan: then
 * it costs less than the scans that a smaller set would take. */
enum { MANY = 1024 };
#define FEW_ENTRIES 0.02

/* .5 (norm + L2 s^2) step^2; a constant column can only lose its penalty. */
static double own_gain(const lasso_state *state, uint64_t j, double w)
{
    const double s = lasso_scale(state, j);
    const double curvature = state->norm[j] + state->l2 * s * s;
    const double step = lasso_step(state, j, w, state->slope[j], curvature);

    if (state->norm[j] == 0)
        return w != 0 ? state->l1 * s * fabs(w) : 0;
    return curvature / 2 * step * step;
}

void lasso_join(lasso_state *state, uint32_t j)
{
    state->set[state->n_set++] = j;
    state->in_set[j] = true;
    if (state->base)
        state->base[j] = INFINITY;
}

/* Whether a column at 0 would move. */
static bool violates(const lasso_state *state, uint64_t j)
{
    const double slope = state->slope[j];
    const double size = state->options.positive ? slope : fabs(slope);

    return size > state->l1 * lasso_scale(state, j) && state->norm[j] > 0;
}

/* Column j as a candidate, the n-th, if it violates. */
static uint32_t take_violator(lasso_state *state, uint32_t j, uint32_t n)
{
    if (state->in_set[j] || !violates(state, j))
        return n;
    state->urgency[j] = own_gain(state, j, 0);
    state->candidate[n] = j;
    return n + 1;
}

/* Gathers the violators, with their urgency. Few columns violate: without
 * scales, most are passed by together. */
static uint32_t find_violators(lasso_state *state)
{
    enum { TOGETHER = 32 };
    const uint32_t seen = lasso_seen(state);
    const bool together = !state->looked && !state->scale;
    uint32_t n = 0;

    for (uint32_t k = 0, end = 0; k < seen; k = end) {
        end = seen - k < TOGETHER ? seen : k + TOGETHER;
        if (together && lasso_steepest(state->slope + k, end - k) <= state->l1)
            continue;
        for (uint32_t i = k; i < end; i++)
            n = take_violator(state, lasso_seen_at(state, i), n);
    }
    return n;
}

static double entries_of(const lasso_state *state, uint32_t n,
                         const uint32_t *column)
{
    double entries = 0;

    for (uint32_t k = 0; k < n; k++)
        entries += strads_data_col_nnz(state->data, column[k]);
    return entries;
}

/* Brings those of n violators that are to join to the front. */
static uint32_t select_violators(lasso_state *state, uint32_t n)
{
    const double p = (double)state->columns, nonzeros = (double)state->nonzeros;
    const double first = fmin(fmax(p / 8, FIRST_MIN), FIRST_MAX);
    const uint32_t least = (uint32_t)fmax(first, nonzeros);
    const bool costly = state->spent > state->entries;
    uint32_t want = costly ? 0 : (uint32_t)fmin(fmax(MANY, 2 * nonzeros), p);

    for (want = want > least ? want : least;; want = want / 2) {
        want = want > least ? want : least;
        if (n > want) {
            linear_select(state->urgency, state->candidate, n, want);
            n = want;
        }
        if (want == least || entries_of(state, n, state->candidate) <=
                                 FEW_ENTRIES * state->entries)
            return n;
    }
}

/* Lets the most urgent violators join; columns that a start value has moved
 * always do. Returns how many violated before. */
static uint32_t grow_set(lasso_state *state, const double *w)
{
    for (uint32_t j = 0; j < state->columns && state->scans == 1; j++)
        if (w[j] != 0)
            lasso_join(state, j);
    const bool all = state->scans == 1 && lasso_gram_takes_all(state);
    const uint32_t violators = find_violators(state);
    const uint32_t n = all ? 0 : select_violators(state, violators);

    if (all)
        lasso_gram_take_all(state);

    for (uint32_t k = 0; k < n; k++)
        lasso_join(state, state->candidate[k]);
    for (uint32_t k = n; k < violators; k++)
        state->urgency[state->candidate[k]] = 0;
    if (state->path && !all)
        lasso_path_seed(state, SEED_MAX);
    for (uint32_t k = 0; k < state->n_set; k++) {
        const uint32_t j = state->set[k];
        state->urgency[j] = own_gain(state, j, w[j]);
    }
    return violators;
}

/* A pass should gain less than the ROUGH-th or the SHARP-th part of what the
 * members' own steps promised: sharp solutions spare scans, which pays where
 * passes are at hand and have cost less than COSTLY scans. */
enum { ROUGH = 10, SHARP = 200, COSTLY = 10 };

/* How much may be left when the policy rests: a share of the gap, which may be
 * far above what is left to gain, and of what own steps promised. When few
 * violators were left the set is nearly right, and only a sharper solution
 * within it shows the last of them. */
static double rest_level(lasso_state *state, uint32_t violators, bool at_hand)
{
    if (state->scans > 1) {
        if ((uint64_t)violators * 50 <= state->n_set)
            state->shrink *= .1;
        else if ((uint64_t)violators * 10 > state->n_set)
            state->shrink = 1;
    }
    const double share = state->scans > 1 ? .3 : 1;
    const double level =
        share * (violators ? .03 : .01) * state->shrink * state->gap;
    const bool cheap = state->spent <= COSTLY * state->entries;
    const double least = state->left / (at_hand && cheap ? SHARP : ROUGH);
    return fmax(fmin(level, least), ROUNDING * state->primal);
}

/* Tells the policy the priorities of all parameters after the first scan, of
 * members later on: those of the others stay at 0. */
static void tell_priorities(strads_commit *commit)
{
    lasso_state *state = commit->state;
    const uint32_t p = (uint32_t)state->columns;

    state->left = state->gained = 0;
    for (uint32_t k = 0; k < state->n_set; k++) {
        state->told[k] = state->urgency[state->set[k]];
        state->left += state->told[k];
    }
    if (state->blocks > 0) {
        strads_commit_prioritise(commit, state->n_set, state->set, state->told);
        return;
    }
    for (uint32_t j = 0; j < p; j++)
        state->candidate[j] = j;
    strads_commit_prioritise(commit, p, state->candidate, state->urgency);
}

/* How small the gap within the set should get before the next scan: with no
 * violators left the set is right, and it is worth being solved, but no further
 * than the run wants to go. */
static double gap_within(const strads_commit *commit, uint32_t violators)
{
    const lasso_state *state = commit->state;
    const double enough = .3 * commit->tolerance * state->primal;

    if (state->path)
        return enough;
    if (violators == 0)
        return fmax(.01 * state->gap, enough);
    return fmax((state->scans > 1 ? .3 : 1) * state->shrink * state->gap,
                enough);
}

/* Blocks through the set's columns: as large as the policy likes. */
static strads_err use_columns(strads_commit *commit)
{
    lasso_state *state = commit->state;

    state->route = LASSO_BY_COLUMNS;
    state->next = LASSO_TO_BRING;
    strads_commit_rest(commit, state->rest);
    const strads_err err =
        strads_commit_route(commit, LASSO_BY_COLUMNS, INFINITY);
    return err ? err : lasso_columns_start(state, lasso_w(commit));
}

/* Blocks through the data: some 64 columns, so that their pairs cost no more
 * than they bring. */
static strads_err use_data(strads_commit *commit, double entries)
{
    lasso_state *state = commit->state;
    const double columns = 64;

    state->route = LASSO_BLOCK;
    strads_commit_rest(commit, state->rest);
    return strads_commit_route(commit, LASSO_BLOCK,
                               columns * entries / fmax(state->n_set, 1));
}

/* Blocks through the set's pairs: as large as the policy likes. */
static strads_err use_pairs(strads_commit *commit, uint32_t violators)
{
    const strads_err err = strads_commit_route(commit, LASSO_SOLVE, INFINITY);

    ((lasso_state *)commit->state)->route = LASSO_SOLVE;
    strads_commit_rest(commit, 0);
    return err ? err : lasso_gram_start(commit, gap_within(commit, violators));
}

strads_err lasso_choose(strads_commit *commit, double dual)
{
    lasso_state *state = commit->state;
    const uint32_t violators = grow_set(state, lasso_w(commit));
    const double entries = entries_of(state, state->n_set, state->set);
    const bool at_hand = lasso_columns_fit(state, entries);
    const bool dense =
        entries > (double)state->by_columns->set.n_rows * state->n_set / 2;

    tell_priorities(commit);
    state->rest = rest_level(state, violators, at_hand);
    linear_watch_scan(&state->watch, state->primal, state->dual - dual);
    state->visits = 0;
    state->spent = 0;
    if (!state->gram->blurred && lasso_gram_pays(state->n_set, entries, dense))
        return use_pairs(commit, violators);
    return at_hand ? use_columns(commit) : use_data(commit, entries);
}

/* Gains need not ever fall below a level: where columns all but depend they
 * fall slowly, and where the arithmetic is at its end they are noise. */
bool lasso_count_block(strads_commit *commit)
{
    lasso_state *state = commit->state;

    state->blocks++;
    state->visits += commit->block.n;
    return state->visits > (uint64_t)PASSES_MAX * state->n_set;
}

/* What a block gains it takes from others: their own steps have changed, and
 * nobody has looked. So when the policy is about to rest, the gain of the pass
 * that it has made is dealt out over the members again, unless it was small
 * itself. A block of all members has no others, and passes before it are made
 * up for. */
void lasso_note_block(strads_commit *commit)
{
    lasso_state *state = commit->state;
    const bool due = lasso_count_block(commit);

    if (commit->block.n >= state->n_set)
        state->gained = 0;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        state->left += commit->priority[k] - state->urgency[j];
        state->urgency[j] = commit->priority[k];
        state->gained += commit->priority[k];
    }
    if (due)
        strads_commit_rest(commit, INFINITY);
    if (due || state->left > state->rest || state->gained <= state->rest)
        return;
    const double share = state->gained / state->n_set;
    for (uint32_t k = 0; k < state->n_set; k++)
        state->urgency[state->set[k]] += share;
    tell_priorities(commit);
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->priority[k] =
            state->urgency[strads_block_param(&commit->block, k)];
}
