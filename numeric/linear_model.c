/* The quadratic model of a working set: blocks of members are
 * solved within it by coordinate descent.
 *
 * With v_j = x_j root, the slope of a coordinate is q_j = v_j' rest and its
 * curvature |v_j|^2. The intercept always has its optimal value: a step d of
 * w_j moves it by -d v_j'root / mass, which leaves the curvature |v_j|^2 -
 * (v_j'root)^2 / mass. */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "linear_room.h"
#include "linear_set.h"

enum { VISITS_MAX = 50, GRAM_MAX = 128, SQUARINGS = 5 };

/* With fewer entries a set stays in a processor's cache, and checking an
 * inactive member is as cheap as skipping it. */
enum { LARGE_SET = 1 << 17 };

/* A round lasts for this many entries per member; a visit counts as VISIT
 * additional entries. */
#define ROUND_ENTRIES 800
#define VISIT 20
/* Share of a curvature below which, after b is removed, it is rounding
 * error. */
#define ROUNDING 1e-12
/* A coefficient that grows by this factor leaves the store 12 digits of what
 * it was before. */
#define LARGEST_GROWTH 1e4

/* ---- the model --------------------------------------------------------- */

/* The best beta for `lasting`. */
static double best_beta(const linear_set *set)
{
    if (!set->is.intercept)
        return 0;
    return set->is.kernels->dot_dense(set->n_rows, set->root, set->lasting) /
           set->mass;
}

static bool roots_are_one(const linear_set *set)
{
    for (uint64_t i = 0; i < set->n_rows; i++)
        if (set->root[i] != 1)
            return false;
    return true;
}

void linear_set_open(linear_set *set)
{
    const column_kernels *kernels = set->is.kernels;

    if (!set->looked)
        set->loss = set->reduced ? linear_set_freeze_reduced(set)
                                 : set->is.freeze(set->is.program, set->z,
                                                  set->root, set->lasting);
    memcpy(set->frozen, set->lasting, set->n_rows * sizeof(double));
    set->mass = kernels->dot_dense(set->n_rows, set->root, set->root);
    set->beta = best_beta(set);
    set->looked = set->open = true;
    set->leapt = set->vain = set->solved = false;
    if (!set->is.constant || set->columns_changed) {
        set->plain = set->reduced || (set->is.constant && roots_are_one(set));
        set->model++;
    }
    set->columns_changed = false;
    set->first = 0;
    set->visits = 0;
    for (uint32_t k = 0; k < set->n; k++)
        set->member[k].base = set->member[k].w;
}

/* Allocates `scaled` to the size of `value`. */
static strads_err reserve_scaled(linear_set *set)
{
    const uint64_t capacity = linear_packed_room(&set->columns);

    if (set->plain)
        return STRADS_OK;
    if (capacity > set->room_scaled) {
        if (!linear_widen(&set->scaled, capacity, sizeof(double)))
            return strads_fail(STRADS_ENOMEM,
                               "no memory for %llu entries of the working set",
                               (unsigned long long)capacity);
        set->room_scaled = capacity;
    }
    if (set->columns.entries > set->ready_scaled)
        linear_room_ready(set->scaled, set->ready_scaled, set->columns.entries,
                          sizeof(*set->scaled));
    if (set->columns.entries > set->ready_scaled)
        set->ready_scaled = set->columns.entries;
    return STRADS_OK;
}

/* Computes v_j and its level and curvature. */
static void scale_member(linear_set *set, linear_member *m)
{
    const column_kernels *kernels = set->is.kernels;
    const data_column v = linear_set_scaled(set, m);
    const double *x = set->plain ? NULL : set->columns.value + m->at;
    double *to = set->plain ? NULL : set->scaled + m->at;

    for (uint64_t e = 0; e < m->n && to && m->full; e++)
        to[e] = x[e] * set->root[e];
    for (uint64_t e = 0; e < m->n && to && !m->full; e++)
        to[e] = x[e] * set->root[v.index[e]];
    m->curvature = kernels->dot_dense(m->n, v.f64, v.f64);
    m->level = set->is.intercept ? kernels->dot(&v, set->root) : 0;
    m->bend = m->curvature - m->level * m->level / set->mass;
    if (!(m->bend > ROUNDING * m->curvature))
        m->bend = 0;
    m->model = set->model;
}

/* ---- groups of several columns ------------------------------------------- */

/* An upper bound of the largest eigenvalue of a [n x n]: a root of the norm
 * of a power of it. `b` is workspace of the same size. */
static double largest_eigenvalue(uint32_t n, double *a, double *b)
{
    double scale = 1, power = 1, most = 0;

    for (size_t i = 0; i < (size_t)n * n; i++)
        most = fmax(most, fabs(a[i]));
    if (most == 0)
        return 0;
    double unit = scalbn(1, ilogb(most)); /* of a; scaled so that its powers
                                           * are about 1 */
    for (uint32_t square = 0;; square++) {
        double sum = 0;
        for (size_t i = 0; i < (size_t)n * n; i++)
            sum += (a[i] / unit) * (a[i] / unit);
        const double norm = unit * sqrt(sum);
        scale *= pow(norm, power);
        if (square == SQUARINGS || !(norm > 0))
            return scale;
        power /= 2;
        unit = 1;
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++) {
                b[(size_t)i * n + j] = 0;
                for (uint32_t k = 0; k < n; k++)
                    b[(size_t)i * n + j] += a[(size_t)i * n + k] / norm *
                                            (a[(size_t)k * n + j] / norm);
            }
        double *const kept = a;
        a = b;
        b = kept;
    }
}

/* A bound of a group's curvature, from the products of its columns; for many
 * columns, their sum. */
static void bend_group(linear_set *set, linear_member *m)
{
    const uint32_t n = m->size;
    double trace = 0;

    for (uint32_t k = 0; k < n; k++)
        trace += m[k].bend / (m[k].unit * m[k].unit);
    m->bend = trace;
    double *gram =
        n <= GRAM_MAX ? malloc(2 * (size_t)n * n * sizeof(*gram)) : NULL;
    if (!gram)
        return;
    memset(set->along, 0, set->n_rows * sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        const data_column u = linear_set_scaled(set, &m[i]);
        set->is.kernels->add(&u, 1, set->along);
        for (uint32_t j = i; j < n; j++) {
            const data_column v = linear_set_scaled(set, &m[j]);
            const double product = set->is.kernels->dot(&v, set->along) -
                                   m[i].level * m[j].level / set->mass;
            gram[(size_t)i * n + j] = gram[(size_t)j * n + i] =
                product / (m[i].unit * m[j].unit);
        }
        for (uint64_t e = 0; e < u.n; e++)
            set->along[u.index ? u.index[e] : e] = 0;
    }
    m->bend =
        fmin(trace,
             (1 + 1e-9) * largest_eigenvalue(n, gram, gram + (size_t)n * n));
    free(gram);
}

/* Takes a group's best step; returns a lower bound of its gain. */
static double move_group(linear_set *set, linear_member *m, double *left)
{
    double *u = set->group, *to = set->group + m->size;
    double sum = 0, steep = 0;
    bool zero = true;

    for (uint32_t k = 0; k < m->size; k++) {
        const data_column v = linear_set_scaled(set, &m[k]);
        const double slope =
            (set->is.kernels->dot(&v, set->lasting) - set->beta * m[k].level) /
            m[k].unit;
        steep = hypot(steep, slope);
        u[k] = slope + m->bend * m[k].w * m[k].unit;
    }
    set->is.prox(set->is.program, m->size, m->term.l1, u, m->bend, to);
    for (uint32_t k = 0; k < m->size; k++) {
        const double step = to[k] / m[k].unit - m[k].w;
        const double moved = step * m[k].unit;
        const data_column v = linear_set_scaled(set, &m[k]);
        zero = zero && to[k] == 0;
        sum += moved * m->bend * moved;
        if (step == 0)
            continue;
        set->is.kernels->add(&v, -step, set->lasting);
        if (set->is.intercept)
            set->beta -= step * m[k].level / set->mass;
        m[k].w += step;
    }
    const double gain = sum / 2;
    m->urgency = zero && steep < linear_at_rest(set) * m->term.l1
                     ? 0
                     : fmax(gain, DBL_MIN);
    *left += m->urgency;
    return gain;
}

/* ---- a block ----------------------------------------------------------- */

/* The members among a block's parameters, groups as a whole, in the order of
 * their entries; other parameters are inactive. */
static uint32_t find_members(linear_set *set, const column_list *columns,
                             uint32_t *place)
{
    const uint64_t block = ++set->blocks;
    uint32_t n = 0;

    for (uint32_t k = 0; k < columns->n; k++) {
        const uint32_t at = set->place[column_list_at(columns, k)];
        if (!at)
            continue;
        linear_member *m = &set->member[at - 1];
        while (m->size == 0)
            m--;
        for (uint32_t i = 0; i < m->size; i++)
            m[i].block = block;
    }
    for (uint32_t k = 0; k < set->n; k++)
        if (set->member[k].block == block)
            place[n++] = k;
    return n;
}

/* Of n members, those that a model starts with. An inactive member costs at
 * most a check, and does not enter the model. */
static uint32_t wake_members(linear_set *set, uint32_t n, uint32_t *place)
{
    uint32_t awake = 0;

    if (set->columns.entries < LARGE_SET || set->is.prox || set->reduced)
        return n;
    for (uint64_t i = 0; i < set->n_rows; i++)
        set->along[i] =
            set->root[i] * (set->lasting[i] - set->beta * set->root[i]);
    for (uint32_t k = 0; k < n; k++) {
        linear_member *m = &set->member[place[k]];
        const data_column x = linear_set_column(set, m);
        if (m->w != 0 || fabs(set->is.kernels->dot(&x, set->along)) >=
                             linear_at_rest(set) * m->term.l1) {
            place[awake++] = place[k];
            continue;
        }
        set->left -= m->urgency;
        m->urgency = 0;
    }
    return awake;
}

static bool is_solved(const linear_set *set)
{
    return set->left <= fmax(set->settled * set->first, .1 * set->worth) ||
           set->visits > (uint64_t)VISITS_MAX * set->n;
}

/* Fills the list of members for a sweep, groups by their first ones. Returns
 * the number of visits. */
static uint32_t fill_visits(linear_set *set, uint32_t n, const uint32_t *place)
{
    uint32_t visits = 0;

    set->listed = 0;
    for (uint32_t i = 0; i < n; i++) {
        const linear_member *m = &set->member[place[i]];
        linear_visit *visit = &set->visit[visits];
        if (m->size == 0)
            continue;
        set->listed += m->urgency;
        *visit = (linear_visit){.at = m->at,
                                .n = (uint32_t)m->n,
                                .size = m->size,
                                .place = place[i],
                                .full = m->full,
                                .w = m->w,
                                .level = m->level,
                                .l1 = m->term.l1,
                                .low = m->term.low,
                                .high = m->term.high,
                                .bend = m->bend,
                                .curvature = m->bend + m->term.l2};
        if (visit->curvature > 0)
            visit->inverse = 1 / visit->curvature;
        visits++;
    }
    return visits;
}

/* Takes the member's best step; returns its gain. Adds its urgency to *left. */
static double move_member(linear_set *set, linear_visit *visit, double *left)
{
    const column_kernels *kernels = set->is.kernels;
    linear_member *m = &set->member[visit->place];
    const data_column v = {.n = visit->n,
                           .index = visit->full
                                        ? NULL
                                        : set->columns.index + visit->at,
                           .f64 = linear_set_values(set) + visit->at};
    const double slope =
        kernels->dot(&v, set->lasting) - set->beta * visit->level;
    const double z = slope + visit->bend * visit->w;
    const double free =
        copysign(fmax(fabs(z) - visit->l1, 0) * visit->inverse, z);
    const double to = fmin(fmax(free, visit->low), visit->high);
    const double step = to - visit->w;
    const double gain = visit->curvature / 2 * step * step;

    if (step != 0) {
        visit->w = m->w = to;
        kernels->add(&v, -step, set->lasting);
        set->beta -= step * visit->level / set->mass;
    }
    m->urgency = to == 0 && fabs(slope) < linear_at_rest(set) * visit->l1
                     ? 0
                     : fmax(gain, DBL_MIN);
    *left += m->urgency;
    return gain;
}

/* One sweep of n visits. */
static void sweep_members(linear_set *set, uint32_t n)
{
    double gain = 0, left = 0, entries = 0;

    for (uint32_t i = 0; i < n; i++) {
        linear_visit *visit = &set->visit[i];
        gain += visit->size > 1
                    ? move_group(set, &set->member[visit->place], &left)
                    : move_member(set, visit, &left);
        entries += visit->size * (double)visit->n;
    }
    set->left += left - set->listed;
    set->listed = left;
    set->spent += entries;
    set->unfactored += entries;
    set->spent_in_all += entries + (double)n * VISIT;
    set->first = fmax(set->first, gain);
    set->visits += n;
    set->solved = is_solved(set);
}

/* Sweeps over n members, then extrapolates. For a light support, one sweep
 * is enough to determine the signs. */
static strads_err descend_members(linear_set *set, uint32_t n,
                                  const uint32_t *place)
{
    const bool light = linear_newton_is_light(set, n, place);
    const uint32_t visits = fill_visits(set, n, place);

    linear_past_note(set, 0, n, place);
    if (light)
        sweep_members(set, visits);
    for (uint32_t step = 1; step <= LINEAR_STEPS && !light && !set->solved;
         step++) {
        sweep_members(set, visits);
        if (!set->solved)
            linear_past_note(set, step, n, place);
    }
    if (!light && !set->solved)
        linear_beyond(set, n, place);
    return linear_newton(set, n, place);
}

/* Keeps those of n members that are active. */
static uint32_t keep_moving(const linear_set *set, uint32_t n, uint32_t *place)
{
    uint32_t left = 0;
    bool moves = false;

    for (uint32_t i = 0; i < n; i++) {
        const linear_member *m = &set->member[place[i]];
        moves = m->size > 0 ? m->urgency > 0 : moves;
        if (moves)
            place[left++] = place[i];
    }
    return left;
}

/* Descends until the round has paid for itself: choosing a member costs as
 * much as some hundred entries. Members that have become inactive wait for the
 * next round. */
static strads_err work_off(linear_set *set, uint32_t n, uint32_t *place)
{
    const double enough = set->spent_in_all + (double)n * ROUND_ENTRIES;
    strads_err err = STRADS_OK;

    sweep_members(set, fill_visits(set, n, place));
    n = keep_moving(set, n, place);
    if (!set->solved)
        err = linear_past_reserve(set, n);
    while (!err && n > 0 && !set->solved) {
        err = descend_members(set, n, place);
        if (set->spent_in_all >= enough)
            break;
        n = keep_moving(set, n, place);
    }
    return err;
}

/* False if the store would lose digits of the coefficient at which the model
 * began, which returns if the line search rejects the step. The end of the
 * model then commits what is left. */
static bool can_take_back(const linear_member *m)
{
    return m->base == 0 || fabs(m->w) <= LARGEST_GROWTH * fabs(m->base);
}

strads_err linear_set_solve(linear_set *set, const linear_block *block,
                            uint32_t *place)
{
    const bool opens = !set->open;
    uint32_t n = find_members(set, &block->columns, place);

    if (opens)
        linear_set_open(set);
    strads_err err = reserve_scaled(set);
    if (err)
        return err;
    if (opens)
        n = wake_members(set, n, place);
    for (uint32_t k = 0; k < n; k++) {
        linear_member *m = &set->member[place[k]];
        if (m->model == set->model || m->size == 0)
            continue;
        for (uint32_t i = 0; i < m->size; i++)
            scale_member(set, &m[i]);
        if (m->size > 1)
            bend_group(set, m);
    }
    err = work_off(set, n, place);
    for (uint32_t k = 0; k < block->columns.n; k++) {
        const uint32_t at = set->place[column_list_at(&block->columns, k)];
        if (!at)
            continue;
        linear_member *m = &set->member[at - 1];
        const double change = can_take_back(m) ? m->w - m->told : 0;
        block->change[(size_t)k * block->stride] = change;
        m->told += change; /* the sum that the store has */
    }
    return err;
}

/* ---- value of the model -------------------------------------------------- */

/* For a group, computed at its first member. */
static double member_penalty(const linear_set *set, const linear_member *m,
                             double step)
{
    if (m->size == 1) {
        const double w = m->base + step * (m->w - m->base);
        return w < m->term.low || w > m->term.high
                   ? INFINITY
                   : m->term.l1 * fabs(w) + m->term.l2 / 2 * w * w;
    }
    for (uint32_t k = 0; k < m->size; k++)
        set->group[k] = m[k].unit * (m[k].base + step * (m[k].w - m[k].base));
    return m->size > 0
               ? set->is.value(set->is.program, m->size, m->term.l1, set->group)
               : 0;
}

double linear_set_penalties(const linear_set *set, double step)
{
    double sum = 0;

    for (uint32_t k = 0; k < set->n; k++)
        sum += member_penalty(set, &set->member[k], step);
    return sum;
}

/* |lasting - beta root|^2 = |lasting|^2 - beta^2 mass at the best beta. */
double linear_set_value(linear_set *set, uint32_t n, const uint32_t *place)
{
    double sum =
        set->is.kernels->dot_dense(set->n_rows, set->lasting, set->lasting) / 2;

    if (set->is.intercept) {
        set->beta = best_beta(set);
        sum -= set->beta * set->beta * set->mass / 2;
    }
    for (uint32_t k = 0; k < n; k++)
        sum += member_penalty(set, &set->member[place[k]], 1);
    return sum;
}
