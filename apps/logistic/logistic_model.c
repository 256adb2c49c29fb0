/* Proximal Newton on the working set (Yuan, Ho, Lin, "An improved GLMNET", JMLR
 * 2012): the loss becomes a weighted sum of squares at z, the policy's blocks
 * are solved within it by coordinate descent, and a line search on P ends it.
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

enum { VISITS_MAX = 50, HALVINGS_MAX = 40, SEARCHES_MAX = 12 };

/* A column at 0 whose slope is below this share of L1 is left alone until the
 * next scan. */
#define AT_REST 0.9
/* A round goes on for so many entries a member, and a visit costs as much as
 * so many more. */
#define ROUND_ENTRIES 800
#define VISIT 20
/* What is left of a curvature once b is taken out: below, it is rounding. */
#define ROUNDING 1e-12

/* ---- the model --------------------------------------------------------- */

static logistic_rows rows_at(const logistic_set *set, const double *z)
{
    return (logistic_rows){.n = set->n_rows, .y = set->y, .c = set->c, .z = z};
}

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
    const logistic_rows rows = rows_at(set, set->z);

    if (!set->looked)
        set->loss = state->loops->freeze(&rows, set->root, set->lasting);
    memcpy(set->frozen, set->lasting, set->n_rows * sizeof(double));
    set->mass = state->kernels->dot_dense(set->n_rows, set->root, set->root);
    set->beta = best_beta(state);
    set->looked = set->open = true;
    set->leapt = false;
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
    const linear_column column = logistic_column_of(set, m, set->scaled);

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

/* The member's best step; returns what it gains. */
static double move(logistic_state *state, logistic_member *m)
{
    logistic_set *set = &state->set;
    const linear_column v = logistic_column_of(set, m, set->scaled);
    const double s = state->scale[m->column], shrink = state->l2 * s * s;
    const double slope =
        state->kernels->dot(&v, set->lasting) - set->beta * m->level;
    double curvature = m->curvature - m->level * m->level / set->mass;

    if (!(curvature > ROUNDING * m->curvature))
        curvature = 0;
    curvature += shrink;
    const double step =
        logistic_step(state, m->column, m->w, slope - shrink * m->w, curvature);
    const double gain = curvature / 2 * step * step;
    if (step != 0) {
        m->w += step;
        state->kernels->add(&v, -step, set->lasting);
        set->beta -= step * m->level / set->mass;
    }
    set->spent += (double)m->n;
    set->spent_in_all += (double)m->n + VISIT;
    set->left -= m->urgency;
    m->urgency = m->w == 0 && fabs(slope) < AT_REST * state->l1 * s
                     ? 0
                     : fmax(gain, DBL_MIN);
    set->left += m->urgency;
    return gain;
}

static bool is_solved(const logistic_state *state)
{
    const logistic_set *set = &state->set;

    return set->left <= fmax(state->settled * set->first, .1 * state->worth) ||
           set->visits > (uint64_t)VISITS_MAX * set->n;
}

/* Sweeps over the block, then goes to the point beyond that they show. Who was
 * at rest in the first sweep is left out of the others. */
static strads_err descend(logistic_state *state, uint32_t n,
                          const uint32_t *place)
{
    logistic_set *set = &state->set;

    logistic_past_note(set, 0, n, place);
    for (uint32_t step = 1; step <= LINEAR_STEPS && !state->solved; step++) {
        double gain = 0;
        for (uint32_t i = 0; i < n; i++) {
            logistic_member *m = &set->member[place[i]];
            if (step == 1 || m->urgency > 0)
                gain += move(state, m);
        }
        set->first = fmax(set->first, gain);
        set->visits += n;
        state->solved = is_solved(state);
        if (!state->solved)
            logistic_past_note(set, step, n, place);
    }
    if (!state->solved)
        logistic_extrapolate(state, n, place);
    return logistic_newton(state, n, place);
}

/* Descends until the round has paid for itself: choosing a member costs as much
 * as some hundred entries. Members that have come to rest wait for the next. */
static strads_err work_off(logistic_state *state, uint32_t n, uint32_t *place)
{
    logistic_set *set = &state->set;
    const double enough = set->spent_in_all + (double)n * ROUND_ENTRIES;
    strads_err err = logistic_past_reserve(set, n);

    while (!err && n > 0) {
        uint32_t left = 0;
        err = descend(state, n, place);
        if (state->solved || set->spent_in_all >= enough)
            break;
        for (uint32_t i = 0; i < n; i++)
            if (set->member[place[i]].urgency > 0)
                place[left++] = place[i];
        n = left;
    }
    return err;
}

strads_err logistic_solve_block(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    uint32_t *place = state->candidate; /* free between scans */
    const uint32_t n = find_members(commit, place);
    strads_err err;

    if (!set->open)
        open_model(state);
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

/* ---- the line search --------------------------------------------------- */

/* The penalties at base + step (w - base). */
static double penalties(const logistic_state *state, double step)
{
    const logistic_set *set = &state->set;
    double sum = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const double s = state->scale[m->column];
        const double w = s * (m->base + step * (m->w - m->base));
        sum += state->l1 * fabs(w) + state->l2 / 2 * w * w;
    }
    return sum;
}

/* dz from the columns: `lasting` follows w only up to the rounding of the
 * factors that an extrapolation multiplies with, which may be large. */
static void add_up_direction(logistic_state *state)
{
    logistic_set *set = &state->set;

    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] = set->beta;
    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const linear_column x = logistic_column_of(set, m, set->columns.value);
        if (m->w != m->base)
            state->kernels->add(&x, m->w - m->base, set->along);
    }
}

static void read_direction(logistic_set *set)
{
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] =
            set->root[i] > 0
                ? (set->frozen[i] - set->lasting[i]) / set->root[i] + set->beta
                : 0;
}

/* `along`, and d'H d of the direction d: what P falls by at first, at least. */
static double find_direction(logistic_state *state)
{
    logistic_set *set = &state->set;
    double fall = 0;

    if (set->leapt)
        add_up_direction(state);
    else
        read_direction(set);
    for (uint64_t i = 0; i < set->n_rows; i++) {
        const double moved = set->root[i] * set->along[i];
        fall += moved * moved;
    }
    for (uint32_t k = 0; k < set->n; k++) {
        const logistic_member *m = &set->member[k];
        const double d = state->scale[m->column] * (m->w - m->base);
        fall += state->l2 * d * d;
    }
    return fall;
}

/* The loss at z + step along, with the model there. */
static double try_step(logistic_state *state, double step)
{
    logistic_set *set = &state->set;
    const logistic_rows rows = rows_at(set, set->trial);

    memcpy(set->trial, set->z, set->n_rows * sizeof(double));
    state->kernels->add_dense(set->n_rows, step, set->along, set->trial);
    return state->loops->freeze(&rows, set->root_trial, set->rest_trial);
}

static void swap(double **a, double **b)
{
    double *const held = *a;

    *a = *b;
    *b = held;
}

/* Takes the step: members, b and what workers know follow. */
static strads_err take_step(strads_commit *commit, double step)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;
    const double shift = step * set->beta;
    const uint32_t last = (uint32_t)state->columns;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        logistic_member *m = &set->member[k];
        const double to = m->base + step * (m->w - m->base);
        if (step < 1 && m->w != m->base) {
            state->candidate[n] = m->column;
            state->told[n++] = to - m->w;
            m->w = to;
        }
    }
    state->b[state->target] += shift;
    strads_err err = logistic_also(commit, n, state->candidate, state->told);
    if (!err && shift != 0)
        err = logistic_also(commit, 1, &last, &shift);
    return err;
}

strads_err logistic_search(strads_commit *commit)
{
    logistic_state *state = commit->state;
    logistic_set *set = &state->set;

    if (!set->open)
        return STRADS_OK; /* the policy found nothing worth a look */
    const double fall = find_direction(state);
    const double before = set->loss + penalties(state, 0);
    double step = 1, loss = set->loss, after = before;
    for (int k = 0; k < HALVINGS_MAX; k++, step /= 2) {
        loss = try_step(state, step);
        after = loss + penalties(state, step);
        if (after <= before - 1e-3 * step * fall + 1e-15 * before)
            break;
    }
    if (after <= before + 1e-15 * before) {
        swap(&set->z, &set->trial);
        swap(&set->root, &set->root_trial);
        swap(&set->lasting, &set->rest_trial);
        set->loss = loss;
    } else {
        step = 0;
        after = before;
        set->looked = false;
    }
    set->open = false;
    state->solved = false;
    state->enough =
        before - after <= state->worth || ++state->searches >= SEARCHES_MAX;
    return take_step(commit, step);
}
