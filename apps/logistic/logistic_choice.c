/* After a scan: the working set, its priorities, and what is at rest for good.
 *
 * One unit throughout: by how much a parameter's own step would lower P,
 * W-fold as in logistic_parts.h. The set only grows (Johnson and Guestrin,
 * "Blitz", ICML 2015), so columns are fetched once. */
#include <math.h>

#include "apps/linear/linear_steps.h"
#include "logistic_parts.h"

/* Gains below this share of P are rounding. */
#define ROUNDING 1e-24

/* A gap of t is reached when an outer step gains this share of t^2. */
#define SQUARE .05

/* More columns may join while they have no more than this share of all entries:
 * sweeps over them then cost little beside the scan that they save. */
#define JOINING .02

/* From 0 the best step goes on until the slope is L1 s. */
static double own_gain(const logistic_state *state, uint32_t j, double w)
{
    const double s = state->scale[j];
    const double over = fabs(state->slope[j]) - state->l1 * s;
    const double curvature = state->norm[j] * LOGISTIC_BEND + state->l2 * s * s;

    if (w == 0)
        return over > 0 && curvature > 0 ? over * over / (2 * curvature) : 0;
    const double step = logistic_step(state, j, w, state->slope[j], curvature);
    return curvature / 2 * step * step;
}

/* Screening (Ndiaye et al., JMLR 2017): the dual optimum g* is within `sphere`
 * of the dual point g in sum (g - g*)^2 / c, because the dual bends by at least
 * 2 c / reach there. Where |x_j' g*| < L1 s_j for all these, w_j is 0 at the
 * optimum: where |x_j| sphere < L1 s_j - |x_j' g|. */
static bool is_out(double norm, double s, double slack, double square)
{
    const double left = slack * s;

    return slack > 0 && norm * square < left * left;
}

/* Keeps alive members and those that may enter; far from the optimum that is
 * all of them, and there is nothing to look at. */
static void screen(logistic_state *state)
{
    const double square = state->sphere * state->sphere * (1 + 1e-8);
    const double l1 = state->l1 * (1 - 1e-8), share = state->share;
    const uint32_t *place = state->set.place;
    uint32_t n = 0;

    if (state->least_norm * square >= l1 * l1)
        return;
    for (uint32_t k = 0; k < state->n_alive; k++) {
        const uint32_t j = state->alive[k];
        state->alive[n] = j;
        n += place[j] || !is_out(state->norm[j], state->scale[j],
                                 l1 - share * state->steep[j], square);
    }
    state->n_alive = n;
}

/* How many of n candidates join; these are moved to the front. */
static uint32_t choose_joining(const logistic_state *state, uint32_t n)
{
    double entries = 1;
    uint32_t want =
        linear_growth(&state->set, state->columns, state->nonzeros, n);

    if (state->l1 == 0)
        want = (uint32_t)state->columns; /* none is 0 in the end */
    if (n <= want)
        return n;
    linear_select(state->urgency, state->candidate, n, want);
    for (uint32_t k = 0; k < want; k++)
        entries +=
            (double)strads_data_col_nnz(state->data, state->candidate[k]);
    const double limit = JOINING * (double)strads_data_nnz(state->data);
    if (limit <= entries)
        return want;
    want = (uint32_t)fmin(want * limit / entries, n);
    linear_select(state->urgency, state->candidate, n, want);
    return want;
}

/* Lets the most urgent violators join; columns that a start value has moved
 * always do. *violators: how many there were. */
static strads_err grow_set(strads_commit *commit, uint32_t *violators)
{
    logistic_state *state = commit->state;
    const linear_set *set = &state->set;
    strads_err err = STRADS_OK;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++)
        state->urgency[set->member[k].column] = 0;
    for (uint32_t k = 0; k < commit->block.n && !err; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const double w = commit->value[logistic_at(state, k)];
        if (w == 0 && fabs(state->slope[j]) <= state->l1 * state->scale[j])
            continue; /* as most are: at 0 it is at its best */
        state->urgency[j] = own_gain(state, j, w);
        if (set->place[j])
            continue;
        if (w != 0)
            err = logistic_set_join(state, j, w);
        else if (state->urgency[j] > 0)
            state->candidate[n++] = j;
    }
    const uint32_t joining = choose_joining(state, n);
    for (uint32_t k = 0; k < joining && !err; k++)
        err = logistic_set_join(state, state->candidate[k], 0);
    *violators = n;
    return err;
}

/* How little an outer step may gain before the next scan, and how exactly its
 * model is solved. While more columns violate than are in the set, one step is
 * enough. When few violators were left the set is nearly right, and only a
 * sharper solution within it shows the last of them. With none left the set is
 * worth being solved: near its minimum what is left to gain falls as the square
 * of the gap. So is what a tolerance needs in the end. */
static void set_targets(logistic_state *state, uint32_t violators,
                        double tolerance)
{
    const uint64_t n = state->set.n, left = violators;

    state->complete = left * 10 <= n;
    if (state->scans > 1 && left * 50 <= n) {
        state->shrink *= .1;
        state->set.settled = fmax(state->set.settled * .1, 1e-7);
    } else if (state->scans > 1 && !state->complete) {
        state->shrink = 1;
        state->set.settled = LOGISTIC_SETTLED;
    }
    double share = (state->scans > 1 ? .03 : .1) * state->shrink;
    if (left > n)
        share = 1;
    else if (left == 0)
        share *= state->gap / state->primal;
    state->set.worth =
        fmax(share * state->gap,
             fmax(SQUARE * state->shrink * tolerance * tolerance, ROUNDING) *
                 state->primal);
}

/* Tells the policy the priorities of all parameters after the first scan, later
 * on those of members, unless they stay at 0 as the others' do. */
static void tell_priorities(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_set *set = &state->set;
    const bool first = state->scans == 1;
    uint32_t n = 0;

    set->left = 0;
    for (uint32_t j = 0; j <= state->columns && first; j++) {
        if (j == state->columns && !state->options.intercept)
            break;
        if (j < state->columns && set->place[j])
            continue;
        state->candidate[n] = j;
        state->told[n++] = 0;
    }
    for (uint32_t k = 0; k < set->n; k++) {
        linear_member *m = &set->member[k];
        const double before = m->urgency, s = state->scale[m->column];
        m->term = (linear_term){.l1 = state->l1 * s,
                                .l2 = state->l2 * s * s,
                                .low = -INFINITY,
                                .high = INFINITY};
        m->urgency = state->urgency[m->column];
        set->left += m->urgency;
        state->candidate[n] = m->column;
        state->told[n] = m->urgency;
        n += first || before != 0 || m->urgency != 0;
    }
    strads_commit_prioritise(commit, n, state->candidate, state->told);
}

strads_err logistic_choose(strads_commit *commit, double dual)
{
    logistic_state *state = commit->state;
    uint32_t violators;
    const strads_err err = grow_set(commit, &violators);

    if (err)
        return err;
    tell_priorities(commit);
    if (!state->softmax)
        screen(state);
    set_targets(state, violators, commit->tolerance);
    linear_watch_scan(&state->watch, state->primal, state->dual - dual);
    state->searches = 0;
    state->set.solved = false;
    state->set.visits = 0;
    state->set.first = 0;
    strads_commit_rest(commit, 0);
    return strads_commit_route(commit, LOGISTIC_SOLVE, INFINITY);
}
