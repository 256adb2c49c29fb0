/* Proximal Newton on the working set (Yuan, Ho, Lin, "An improved GLMNET", JMLR
 * 2012): the loss becomes a weighted sum of squares at z, the policy's blocks
 * are solved within it by coordinate descent (logistic_search.c ends it).
 *
 * With v_j = x_j root one coordinate's slope is q_j = v_j' rest, its curvature
 * |v_j|^2. An intercept is at its best all the time: a step d of w_j moves it
 * by -d v_j'root / mass, which leaves the curvature |v_j|^2 - (v_j'root)^2 /
 * mass. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_steps.h"
#include "logistic_parts.h"

enum { VISITS_MAX = 50 };

/* With fewer entries a set stays in a processor's cache, and a member that
 * rests costs no more than to find out that it does. */
enum { LARGE_SET = 1 << 17 };

/* A round goes on for so many entries a member, and a visit costs as much as
 * so many more. */
#define ROUND_ENTRIES 800
#define VISIT 20
/* What is left of a curvature once b is taken out: below, it is rounding. */
#define ROUNDING 1e-12

/* ---- the model --------------------------------------------------------- */

/* The best beta for `lasting`. */
static double best_beta(const logistic_state *state)
{
    const logistic_set *set = &state->set;

    if (!state->options.intercept)
        return 0;
    return state->kernels->dot_dense(set->n_rows, set->root, set->lasting) /
           set->mass;
}

static void open_model(logistic_state *state)
{
    logistic_set *set = &state->set;
    const logistic_rows rows = logistic_set_rows(set, set->z);

    if (!set->looked)
        set->loss = state->loops->freeze(&rows, set->root, set->lasting);
    memcpy(set->frozen, set->lasting, set->n_rows * sizeof(double));
    set->mass = state->kernels->dot_dense(set->n_rows, set->root, set->root);
    set->beta = best_beta(state);
    set->looked = set->open = true;
    set->leapt = set->vain = false;
    set->model++;
    set->first = 0;
    set->visits = 0;
    for (uint32_t k = 0; k < set->n; k++)
        set->member[k].base = set->member[k].w;
}

/* v_j, and what is known of it. */
static void scale_member(logistic_state *state, logistic_member *m)
{
    logistic_set *set = &state->set;
    const double *x = set->columns.value + m->at;
    double *v = set->scaled + m->at;
    const data_column column = logistic_column_of(set, m, set->scaled);

    if (m->full)
        for (uint64_t e = 0; e < m->n; e++)
            v[e] = x[e] * set->root[e];
    else
        for (uint64_t e = 0; e < m->n; e++)
            v[e] = x[e] * set->root[set->columns.index[m->at + e]];
    m->curvature = state->kernels->dot_dense(m->n, v, v);
    m->level = 0;
    if (state->options.intercept)
        m->level = state->kernels->dot(&column, set->root);
    m->model = set->model;
}

/* ---- a block ----------------------------------------------------------- */

/* The members among a block's parameters, in the order in which their entries
 * lie; others of them are at rest. */
static uint32_t find_members(const strads_commit *commit, uint32_t *place)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    uint32_t n = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (!logistic_is_intercept(state, j) && set->place[j])
            set->member[set->place[j] - 1].round = commit->round;
    }
    for (uint32_t k = 0; k < set->n; k++)
        if (set->member[k].round == commit->round)
            place[n++] = k;
    return n;
}

/* The slope of a member at 0 where the model opens, of which `along` has
 * root (rest - beta root) in each row. A scan just before has found it. */
static double first_slope(const logistic_state *state, const logistic_member *m)
{
    const logistic_set *set = &state->set;
    const data_column x = logistic_column_of(set, m, set->columns.value);

    return state->searches == 0 && !state->softmax && !state->options.intercept
               ? state->slope[m->column]
               : state->kernels->dot(&x, set->along);
}

/* Those of n members that a model begins with. What rests costs a look at
 * most, and no column of the model's. */
static uint32_t wake_members(logistic_state *state, uint32_t n, uint32_t *place)
{
    logistic_set *set = &state->set;
    uint32_t awake = 0;

    if (set->columns.entries < LARGE_SET)
        return n;
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] =
            set->root[i] * (set->lasting[i] - set->beta * set->root[i]);
    for (uint32_t k = 0; k < n; k++) {
        logistic_member *m = &set->member[place[k]];
        const double l1 = state->l1 * state->scale[m->column];
        if (m->w != 0 || fabs(first_slope(state, m)) >= LOGISTIC_AT_REST * l1) {
            place[awake++] = place[k];
            continue;
        }
        set->left -= m->urgency;
        m->urgency = 0;
    }
    return awake;
}

static bool is_solved(const logistic_state *state)
{
    const logistic_set *set = &state->set;

    return set->left <= fmax(state->settled * set->first, .1 * state->worth) ||
           set->visits > (uint64_t)VISITS_MAX * set->n;
}

/* Makes the n members those that a sweep visits. */
static void fill_visits(logistic_state *state, uint32_t n,
                        const uint32_t *place)
{
    logistic_set *set = &state->set;

    set->listed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const logistic_member *m = &set->member[place[i]];
        const double s = state->scale[m->column];
        const double bend = m->curvature - m->level * m->level / set->mass;
        logistic_visit *visit = &set->visit[i];
        set->listed += m->urgency;
        *visit = (logistic_visit){.at = m->at,
                                  .n = (uint32_t)m->n,
                                  .place = place[i],
                                  .w = m->w,
                                  .level = m->level,
                                  .l1 = state->l1 * s};
        if (bend > ROUNDING * m->curvature)
            visit->bend = bend;
        visit->curvature = visit->bend + state->l2 * s * s;
        if (visit->curvature > 0)
            visit->inverse = 1 / visit->curvature;
    }
}

/* The member's best step; returns what it gains. *left: its urgency is added.
 */
static double move(logistic_state *state, logistic_visit *visit, double *left)
{
    logistic_set *set = &state->set;
    const data_column v = {.n = visit->n,
                           .index = visit->n == set->n_rows
                                        ? NULL
                                        : set->columns.index + visit->at,
                           .f64 = set->scaled + visit->at};
    const double slope =
        state->kernels->dot(&v, set->lasting) - set->beta * visit->level;
    const double z = slope + visit->bend * visit->w;
    const double to =
        copysign(fmax(fabs(z) - visit->l1, 0) * visit->inverse, z);
    const double step = to - visit->w;
    const double gain = visit->curvature / 2 * step * step;
    logistic_member *m = &set->member[visit->place];

    if (step != 0) {
        visit->w = m->w = to;
        state->kernels->add(&v, -step, set->lasting);
        set->beta -= step * visit->level / set->mass;
    }
    m->urgency = to == 0 && fabs(slope) < LOGISTIC_AT_REST * visit->l1
                     ? 0
                     : fmax(gain, DBL_MIN);
    *left += m->urgency;
    return gain;
}

/* One visit to each of n members. */
static void sweep(logistic_state *state, uint32_t n)
{
    logistic_set *set = &state->set;
    double gain = 0, left = 0, entries = 0;

    for (uint32_t i = 0; i < n; i++) {
        gain += move(state, &set->visit[i], &left);
        entries += (double)set->visit[i].n;
    }
    set->left += left - set->listed;
    set->listed = left;
    set->spent += entries;
    set->spent_in_all += entries + (double)n * VISIT;
    set->first = fmax(set->first, gain);
    set->visits += n;
    state->solved = is_solved(state);
}

/* Sweeps over n members, then goes to the point beyond that they show. One
 * sweep is enough to tell a light support's signs. */
static strads_err descend(logistic_state *state, uint32_t n,
                          const uint32_t *place)
{
    logistic_set *set = &state->set;
    const bool light = logistic_newton_is_light(set, n, place);

    fill_visits(state, n, place);
    logistic_past_note(set, 0, n, place);
    if (light)
        sweep(state, n);
    for (uint32_t step = 1; step <= LINEAR_STEPS && !light && !state->solved;
         step++) {
        sweep(state, n);
        if (!state->solved)
            logistic_past_note(set, step, n, place);
    }
    if (!light && !state->solved)
        logistic_extrapolate(state, n, place);
    return logistic_newton(state, n, place);
}

/* Those of n members that are not at rest. */
static uint32_t keep_moving(const logistic_set *set, uint32_t n,
                            uint32_t *place)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < n; i++)
        if (set->member[place[i]].urgency > 0)
            place[left++] = place[i];
    return left;
}

/* Descends until the round has paid for itself: choosing a member costs as much
 * as some hundred entries. Members that have come to rest wait for the next. */
static strads_err work_off(logistic_state *state, uint32_t n, uint32_t *place)
{
    logistic_set *set = &state->set;
    const double enough = set->spent_in_all + (double)n * ROUND_ENTRIES;
    strads_err err = STRADS_OK;

    fill_visits(state, n, place);
    sweep(state, n);
    n = keep_moving(set, n, place);
    if (!state->solved)
        err = logistic_past_reserve(set, n);
    while (!err && n > 0 && !state->solved) {
        err = descend(state, n, place);
        if (set->spent_in_all >= enough)
            break;
        n = keep_moving(set, n, place);
    }
    return err;
}

strads_err logistic_solve_block(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    uint32_t *place = state->candidate; /* free between scans */
    uint32_t n = find_members(commit, place);
    strads_err err;

    if (!set->open) {
        open_model(state);
        n = wake_members(state, n, place);
    }
    for (uint32_t k = 0; k < n; k++)
        if (set->member[place[k]].model != set->model)
            scale_member(state, &set->member[place[k]]);
    err = work_off(state, n, place);
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        commit->priority[k] = 0;
        if (logistic_is_intercept(state, j) || !set->place[j])
            continue;
        const logistic_member *m = &set->member[set->place[j] - 1];
        const size_t at = logistic_at(state, k);
        commit->change[at] = m->w - commit->value[at];
        commit->priority[k] = m->urgency;
    }
    return err;
}
