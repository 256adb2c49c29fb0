/* After a scan: selects columns for the working set and those of its members
 * that move, and how exactly the next models are solved.
 *
 * All quantities have one unit: the decrease of P by a group's own step. The
 * set only grows (Johnson and Guestrin, "Blitz", ICML 2015), so columns are
 * fetched once. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "glm_parts.h"

/* Gains below this share of P are rounding. */
#define ROUNDING 1e-24
/* A gap of t is reached when an outer step gains less than this share of
 * t^2. */
#define SQUARE .05
/* The accuracy of models stays the same while each scan's gap is at most
 * this share of the previous one. */
#define FALLING .1
/* A member at 0 with a slope below this share of its limit stays there. */
#define AT_REST .8
/* A model is solved when a sweep gains less than this share of the best
 * sweep's gain; an exact model deserves more than one that the next replaces.
 */
#define SETTLED .2
#define SETTLED_EXACT .01
/* For a softmax no other model follows. And the threshold on the gain of a
 * turn's last outer step is multiplied by this. */
#define SETTLED_TURN .02
#define TURN .01
/* A set that is solved by its pairs costs little compared to the next scan. */
#define SETTLED_REDUCED 1e-6
#define REDUCED 1e-4

/* All p columns of a path may join if they have at least this many times p
 * entries on average. */
enum { ALL_ENTRIES = 4 };

/* More columns may join while they have at most this share of all entries:
 * sweeps over them then cost little compared to the scan that they save. */
#define JOINING .02

static double settled(const glm_state *state)
{
    return state->problem.loss->constant ? SETTLED_EXACT
           : state->joint.used           ? SETTLED_TURN
                                         : SETTLED;
}

void glm_begin_lambda(glm_state *state, double lambda)
{
    state->lambda = lambda;
    state->dual = 0;
    state->unboxed = state->intercept_slope = state->best_dual = 0;
    state->scans = 0;
    state->recentred = 0;
    state->ease = 1;
    state->gap_before = 0;
    state->set.settled = settled(state);
    state->watch = (linear_watch){.least = INFINITY};
    state->watched = 0;
    state->excess_before = INFINITY;
    linear_ridge_clear(&state->ridge);
    glm_bounds_take_all(state);
}

/* An estimate of the gain of a group's own step, with the mean curvature of
 * rows. */
static double own_gain(const glm_state *state, uint32_t g, double h)
{
    const glm_groups *groups = &state->groups;
    const glm_term t = glm_tangent_of(state, g);
    const double a = glm_group_norm(state, g) * h;
    double sum = 0;

    if (state->alone && !glm_is_free(&t))
        return 0;
    glm_gather(state, g);
    for (uint32_t k = 0; k < t.n; k++)
        groups->q[k] += a * groups->v[k];
    glm_convex(state)->prox(&t, groups->q, a, groups->to);
    for (uint32_t k = 0; k < t.n; k++) {
        const double step = groups->to[k] - groups->v[k];
        sum += step * (a + t.l2) * step;
    }
    return sum / 2;
}

/* Mean curvature of the rows at z. */
static double mean_curvature(glm_state *state)
{
    linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, set->z};
    double sum = 0;

    if (state->problem.loss->constant)
        return 1;
    (void)glm_evaluate(&state->problem, &state->smoothing, &rows, NULL,
                       set->along);
    for (uint64_t i = 0; i < set->n_rows; i++)
        sum += set->along[i];
    return sum / state->weight;
}

static double entries_of(const glm_state *state, uint32_t g)
{
    double entries = 0;

    for (uint32_t k = 0; k < glm_size(state, g); k++)
        entries +=
            (double)strads_data_col_nnz(state->data, glm_column(state, g, k));
    return entries;
}

/* Chooses how many of n candidates join, and moves these to the front. */
static uint32_t choose_joining(const glm_state *state, uint32_t n)
{
    const bool all = state->problem.options.l1_ratio == 0 ||
                     state->problem.penalty->off || state->alone ||
                     state->lambda == 0;
    double entries = 1;
    uint32_t want =
        linear_growth(&state->set, state->columns, state->nonzeros, n);

    if (all || n <= want)
        return n;
    linear_select(state->urgency, state->candidate, n, want);
    for (uint32_t k = 0; k < want; k++)
        entries += entries_of(state, state->candidate[k]);
    const double limit = JOINING * (double)strads_data_nnz(state->data);
    if (limit <= entries)
        return want;
    want = (uint32_t)fmin(want * limit / entries, n);
    linear_select(state->urgency, state->candidate, n, want);
    return want;
}

static bool is_zero(const glm_state *state, uint32_t g)
{
    for (uint32_t k = 0; k < glm_size(state, g); k++)
        if (state->w[glm_column(state, g, k)] != 0)
            return false;
    return true;
}

/* Mean entries per column. */
static double mean_entries(const glm_state *state)
{
    return (double)strads_data_nnz(state->data) / (double)state->columns;
}

/* True for paths over few, long columns: all of them join at once, because
 * their pairs cost less than a scan for each point. */
static bool joins_all(const glm_state *state)
{
    const uint64_t p = state->columns;

    return state->path && !state->alone && !state->by_columns &&
           p <= state->path->points &&
           ALL_ENTRIES * (double)p <= mean_entries(state) &&
           linear_set_reduces(&state->set, p, mean_entries(state));
}

/* Fails if the working set needs more than the option `memory` leaves. Arrays
 * of entries grow by half, and a block of new columns is in flight. */
static strads_err check_set_memory(const glm_state *state)
{
    enum { MEMBER_BYTES = 256, SENT_BYTES = 24, FETCH_MOST = 1 << 22 };
    const linear_set *set = &state->set;
    const uint64_t side = set->n + (uint64_t)1;
    uint64_t entries = 0, fresh = 0;

    if (state->spare_bytes == UINT64_MAX)
        return STRADS_OK;
    for (uint32_t k = 0; k < set->n; k++) {
        const uint64_t n =
            strads_data_col_nnz(state->data, set->member[k].column);
        entries += n;
        fresh += k < set->columns.n ? 0 : n;
    }
    const uint64_t entry_bytes = state->problem.loss->constant ? 18 : 30;
    const uint64_t bytes =
        MEMBER_BYTES * side +
        (set->reduced
             ? sizeof(double) * side * side
             : entry_bytes * entries +
                   SENT_BYTES * (fresh < FETCH_MOST ? fresh : FETCH_MOST));
    if (bytes <= state->spare_bytes)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM,
                       "the working set of %u columns needs about %llu bytes "
                       "of memory beside the data, %llu of --memory are left: "
                       "take a larger penalty, or allow more (--memory)",
                       set->n, (unsigned long long)bytes,
                       (unsigned long long)state->spare_bytes);
}

static strads_err grow_set(glm_state *state, uint32_t *violators)
{
    const double h = mean_curvature(state);
    const glm_groups *groups = &state->groups;
    strads_err err = STRADS_OK;
    const bool all = joins_all(state);
    double gains = 0;
    uint32_t n = 0;

    memset(state->urgency, 0, groups->n * sizeof(*state->urgency));
    for (uint32_t i = 0; i < state->n_active && !err; i++) {
        const uint32_t g = state->active[i];
        state->urgency[g] = own_gain(state, g, h);
        gains += state->urgency[g];
        if (state->set.place[glm_column(state, g, 0)])
            continue;
        if (!is_zero(state, g))
            err = glm_set_join(state, g);
        else if (state->urgency[g] > 0)
            state->candidate[n++] = g;
    }
    for (uint32_t g = 0; g < groups->n && all && !err; g++)
        if (!state->set.place[glm_column(state, g, 0)])
            err = glm_set_join(state, g);
    if (state->problem.penalty->tangent)
        state->excess = fmin(gains, state->primal);
    *violators = n;
    n = all ? 0 : choose_joining(state, n);
    for (uint32_t k = 0; k < n && !err; k++)
        err = glm_set_join(state, state->candidate[k]);
    return err ? err : check_set_memory(state);
}

/* Sets the gain of an outer step below which the next scan is due. While
 * many columns violate, one step is enough. With few left the set is nearly
 * right, and only a sharper solution within it reveals the last ones. Near the
 * minimum, the remaining gain decreases as the square of the gap. */
static void set_targets(glm_state *state, uint32_t violators, double tolerance,
                        bool warm)
{
    const uint64_t n = state->set.n, left = violators;
    double share;

    state->complete = left * 10 <= n;
    const bool falls = state->gap < FALLING * state->gap_before;
    state->gap_before = state->gap;
    if (warm && left * 50 <= n && !falls) {
        state->ease *= .1;
        state->set.settled = fmax(state->set.settled * .1, 1e-9);
    } else if (!state->complete) {
        state->ease = 1;
        state->set.settled = settled(state);
    }
    share = left > n ? 1 : (warm ? .03 : .1) * state->ease;
    if (state->joint.used)
        share *= TURN;
    if (state->set.reduced) {
        share *= REDUCED;
        state->set.settled = fmin(state->set.settled, SETTLED_REDUCED);
    }
    if (left == 0 && state->primal > 0)
        share *= state->excess / state->primal;
    state->set.worth =
        fmax(share * state->excess,
             fmax(SQUARE * state->ease * tolerance * tolerance, ROUNDING) *
                 state->primal);
}

/* Sets the gains of movable members. Inactive ones have none until the next
 * scan. */
static void set_gains(glm_state *state)
{
    const glm_penalty *pen = glm_convex(state);
    const glm_groups *groups = &state->groups;
    linear_set *set = &state->set;

    set->left = 0;
    for (uint32_t k = 0; k < set->n; k++) {
        linear_member *m = &set->member[k];
        if (m->size == 0)
            continue;
        const uint32_t g = glm_group_of(state, m->column);
        glm_gather(state, g);
        bool moves = false;
        const glm_term t = glm_tangent_of(state, g);
        m->term = (linear_term){t.l1, t.l2, t.low, t.high};
        for (uint32_t i = 0; i < m->size; i++) {
            groups->q[i] /= AT_REST;
            moves = moves || groups->v[i] != 0;
        }
        moves = moves || state->set.reduced ||
                pen->violation(&t, groups->v, groups->q) > 0;
        m->urgency = moves && !(state->alone && !glm_is_free(&t))
                         ? fmax(state->urgency[g], DBL_MIN)
                         : 0;
        set->left += m->urgency;
    }
}

/* Chooses how the set is solved: by its pairs while they pay and are
 * accurate. */
static strads_err choose_way(glm_state *state)
{
    linear_set *set = &state->set;

    state->next = GLM_TO_FETCH;
    if (!state->by_columns && set->columns.n == 0 &&
        linear_set_reduces(set, set->n, mean_entries(state)))
        return linear_set_reduce(set);
    if (set->reduced) { /* its changes are not in the margins yet */
        linear_set_use_columns(set);
        state->by_columns = state->slopes_known = true;
        state->next = GLM_TO_ROWS;
    }
    return STRADS_OK;
}

strads_err glm_choose(strads_commit *commit)
{
    glm_state *state = commit->state;
    const bool warm = state->began;
    uint32_t violators;
    strads_err err = grow_set(state, &violators);

    if (!err)
        err = choose_way(state);
    if (err)
        return err;
    state->scans++;
    set_gains(state);
    state->began = true;
    set_targets(state, violators, commit->tolerance, warm);
    state->searches = 0;
    state->set.solved = state->set.open = false;
    return STRADS_OK;
}
