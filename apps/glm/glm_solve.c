/* A step's quadratic model, solved by descent over the working set's columns
 * (Yuan, Ho, Lin, "An improved GLMNET", JMLR 2012).
 *
 * At z the loss is taken to be sum h/2 d^2 - r d, d = X (w - base) + beta. With
 * root^2 = h, v_j = root x_j and
 *
 *     rest = (r - h X (w - base)) / root,    e = rest - beta root,
 *
 * a column's slope is v_j'e, and b is at its best all the time: beta =
 * root'rest / mass makes root'e = 0. So a step d of w_j moves beta by
 * -d v_j'root / mass, and bends by |v_j|^2 - (v_j'root)^2 / mass. Q =
 * |e|^2 / 2 = (|rest|^2 - beta^2 mass) / 2. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_room.h"
#include "glm_parts.h"

enum { PASSES_MAX = 200, GRAM_MAX = 128, SQUARINGS = 5 };
/* Curvatures below this share of c are taken to be it: rows so far out that
 * they hardly bend. */
#define FLAT 1e-20
/* A column that the intercept explains but for rounding. */
#define ROUNDING 1e-12

/* ---- the model ----------------------------------------------------------- */

static bool roots_are_one(const glm_set *set)
{
    for (uint64_t i = 0; i < set->rows; i++)
        if (set->root[i] != 1)
            return false;
    return true;
}

void glm_open_model(glm_state *state)
{
    const glm_penalty *pen = state->problem.penalty;
    glm_set *set = &state->set;
    const glm_rows rows = {set->rows, set->y, set->c, set->z};
    double pull = 0;

    set->loss = state->problem.loss->look(&rows, state->problem.p, set->rest,
                                          set->root);
    set->mass = 0;
    for (uint64_t i = 0; i < set->rows; i++) {
        const double h = fmax(set->root[i], FLAT * set->c[i]);
        set->mass += h;
        pull += set->rest[i];
        set->root[i] = sqrt(h);
        set->rest[i] = h > 0 ? set->rest[i] / set->root[i] : 0;
    }
    set->beta = state->problem.options.intercept ? pull / set->mass : 0;
    if (!state->problem.loss->constant || set->model == 0) {
        set->plain = roots_are_one(set);
        set->model++;
    }
    for (uint32_t k = 0; k < set->n; k++) {
        glm_member *m = &set->member[k];
        m->base = m->w;
        m->tangent = pen->tangent ? pen->tangent(&m->term, m->w) : m->term;
    }
    set->visits = 0;
    set->first = 0;
    set->open = true;
}

data_column glm_scaled_column(const glm_set *set, const glm_member *m)
{
    const uint32_t k = (uint32_t)(m - set->member);
    data_column x = linear_packed_column(&set->columns, k);

    if (!set->plain)
        x.f64 = set->scaled + set->columns.at[k];
    return x;
}

static strads_err reserve_scaled(glm_set *set)
{
    const uint64_t capacity = linear_packed_room(&set->columns);

    if (set->plain || capacity <= set->room_scaled)
        return STRADS_OK;
    double *scaled = realloc(set->scaled, capacity * sizeof(*scaled));
    if (!scaled)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu entries of the working set",
                           (unsigned long long)capacity);
    linear_room_ready(scaled, set->room_scaled, set->columns.entries,
                      sizeof(*scaled));
    set->scaled = scaled;
    set->room_scaled = capacity;
    return STRADS_OK;
}

static void scale_member(glm_state *state, glm_member *m)
{
    glm_set *set = &state->set;
    const uint32_t k = (uint32_t)(m - set->member);
    const data_column x = linear_packed_column(&set->columns, k);
    double *v = set->plain ? NULL : set->scaled + set->columns.at[k];
    double square = 0, level = 0;

    m->model = set->model;
    for (uint64_t e = 0; e < x.n; e++) {
        const double root = set->root[x.index ? x.index[e] : e];
        const double value = root * x.f64[e];
        if (v)
            v[e] = value;
        square += value * value;
        level += value * root;
    }
    m->curvature = square;
    m->level = state->problem.options.intercept ? level : 0;
    m->bend = square - (m->level != 0 ? m->level * m->level / set->mass : 0);
    if (!(m->bend > ROUNDING * square))
        m->bend = 0;
}

/* For a product of them with a group's members: v over all rows. */
static void spread(glm_state *state, const glm_member *m, double times)
{
    const data_column v = glm_scaled_column(&state->set, m);

    state->kernels->add(&v, times, state->set.along);
}

/* The largest eigenvalue of a, n x n, at most: the root of the norm of a power
 * of it. `b` has room for as much. */
static double largest(uint32_t n, double *a, double *b)
{
    double scale = 1, power = 1;

    for (uint32_t square = 0;; square++) {
        double sum = 0;
        for (size_t i = 0; i < (size_t)n * n; i++)
            sum += a[i] * a[i];
        const double norm = sqrt(sum);
        scale *= pow(norm, power);
        if (square == SQUARINGS || !(norm > 0))
            return scale;
        power /= 2;
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

/* How much a group of several bends at most, by the products of its columns; of
 * many, by their sum. */
static void bend_group(glm_state *state, glm_member *m)
{
    glm_set *set = &state->set;
    const uint32_t n = m->size;
    double trace = 0;

    for (uint32_t k = 0; k < n; k++)
        trace += m[k].bend / (m[k].unit * m[k].unit);
    m->bend = trace;
    double *gram =
        n <= GRAM_MAX ? malloc(2 * (size_t)n * n * sizeof(*gram)) : NULL;
    if (!gram)
        return;
    memset(set->along, 0, set->rows * sizeof(double));
    for (uint32_t i = 0; i < n; i++) {
        spread(state, &m[i], 1);
        for (uint32_t j = i; j < n; j++) {
            const data_column v = glm_scaled_column(set, &m[j]);
            double product = state->kernels->dot(&v, set->along);
            if (m[i].level != 0)
                product -= m[i].level * m[j].level / set->mass;
            gram[(size_t)i * n + j] = gram[(size_t)j * n + i] =
                product / (m[i].unit * m[j].unit);
        }
        const data_column v = glm_scaled_column(set, &m[i]);
        for (uint64_t e = 0; e < v.n; e++)
            set->along[v.index ? v.index[e] : e] = 0;
    }
    m->bend = fmin(trace, (1 + 1e-9) * largest(n, gram, gram + (size_t)n * n));
    free(gram);
}

static double slope_of(const glm_state *state, const glm_member *m)
{
    const data_column v = glm_scaled_column(&state->set, m);

    return state->kernels->dot(&v, state->set.rest) -
           state->set.beta * m->level;
}

void glm_move(glm_state *state, glm_member *m, double to)
{
    glm_set *set = &state->set;
    const data_column v = glm_scaled_column(set, m);
    const double step = to - m->w;

    if (step == 0)
        return;
    state->kernels->add(&v, -step, set->rest);
    if (m->level != 0)
        set->beta -= step * m->level / set->mass;
    m->w = to;
}

double glm_model_value(glm_state *state, uint32_t n, const uint32_t *list)
{
    glm_set *set = &state->set;
    const column_kernels *kernels = state->kernels;
    double sum = kernels->dot_dense(set->rows, set->rest, set->rest) / 2;

    if (state->problem.options.intercept) {
        set->beta =
            kernels->dot_dense(set->rows, set->root, set->rest) / set->mass;
        sum -= set->beta * set->beta * set->mass / 2;
    }
    for (uint32_t i = 0; i < n; i++)
        if (set->member[list[i]].size > 0)
            sum += glm_member_penalty(state, &set->member[list[i]], 1, true);
    return sum;
}

double glm_member_penalty(const glm_state *state, const glm_member *m,
                          double step, bool model)
{
    double *v = state->groups.v;
    bool zero = true;

    for (uint32_t k = 0; k < m->size; k++) {
        v[k] = m[k].unit * (m[k].base + step * (m[k].w - m[k].base));
        zero = zero && v[k] == 0;
    }
    return zero    ? 0
           : model ? glm_convex(state)->value(&m->tangent, v)
                   : state->problem.penalty->value(&m->term, v);
}

/* ---- descent ------------------------------------------------------------- */

/* A group's best step; returns what it gains, at least. */
static double visit(glm_state *state, glm_member *m)
{
    double *u = state->groups.q, *to = state->groups.to, square = 0;

    for (uint32_t k = 0; k < m->size; k++)
        u[k] =
            slope_of(state, &m[k]) / m[k].unit + m->bend * m[k].w * m[k].unit;
    glm_convex(state)->prox(&m->tangent, u, m->bend, to);
    for (uint32_t k = 0; k < m->size; k++) {
        const double step = to[k] - m[k].w * m[k].unit;
        square += step * step;
        if (step != 0)
            glm_move(state, &m[k], to[k] / m[k].unit);
    }
    return (m->bend + m->tangent.l2) / 2 * square;
}

/* A pass over the groups of n members; their urgencies are what they gain. */
static double sweep(glm_state *state, uint32_t n, const uint32_t *list)
{
    glm_set *set = &state->set;
    double gain = 0;

    for (uint32_t i = 0; i < n; i++) {
        glm_member *m = &set->member[list[i]];
        if (m->size == 0)
            continue;
        const double gained = visit(state, m);
        m->urgency = gained;
        gain += gained;
    }
    set->visits += n;
    return gain;
}

static bool is_awake(const glm_member *m)
{
    bool awake = m->urgency > 0;

    for (uint32_t k = 0; k < m->size; k++)
        awake = awake || m[k].w != 0;
    return awake;
}

/* The members of a group, behind n others. */
static uint32_t append(const glm_set *set, uint32_t first, uint32_t *list,
                       uint32_t n)
{
    for (uint32_t k = 0; k < set->member[first].size; k++)
        list[n++] = first + k;
    return n;
}

static uint32_t find_awake(glm_set *set, uint32_t n, const uint32_t *list)
{
    uint32_t awake = 0;

    for (uint32_t i = 0; i < n; i++)
        if (is_awake(&set->member[list[i]]))
            awake = append(set, list[i], set->awake, awake);
    return awake;
}

/* Passes over all n groups, between them some over those that are not 0, with
 * longer steps from where these lead. Over when a pass over all gains little. */
static strads_err descend(glm_state *state, uint32_t n, const uint32_t *list)
{
    glm_set *set = &state->set;
    strads_err err = glm_past_reserve(set, n);

    for (uint32_t pass = 0; pass < PASSES_MAX && !err; pass++) {
        const double gain = sweep(state, n, list);
        set->first = fmax(set->first, gain);
        const double enough =
            fmax(state->settled * set->first, .1 * state->worth);
        if (gain <= enough)
            break;
        const uint32_t awake = find_awake(set, n, list);
        glm_past_note(set, 0, awake, set->awake);
        uint32_t step = 1;
        for (; step <= LINEAR_STEPS; step++) {
            if (sweep(state, awake, set->awake) <= .1 * enough)
                break;
            glm_past_note(set, step, awake, set->awake);
        }
        if (step > LINEAR_STEPS) {
            glm_extrapolate(state, awake, set->awake);
            glm_newton(state, awake, set->awake);
        }
    }
    return err;
}

/* The groups of a block's columns. */
static uint32_t find_groups(const strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;
    uint32_t n = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (j < state->columns && set->place[j])
            n = append(set, set->place[j] - 1, set->list, n);
    }
    return n;
}

strads_err glm_solve_block(strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;

    if (!set->open)
        glm_open_model(state);
    strads_err err = reserve_scaled(set);
    if (err)
        return err;
    const uint32_t n = find_groups(commit);
    for (uint32_t i = 0; i < n; i++) {
        glm_member *m = &set->member[set->list[i]];
        if (m->size == 0 || m->model == set->model)
            continue;
        for (uint32_t k = 0; k < m->size; k++)
            scale_member(state, &m[k]);
        if (m->size > 1)
            bend_group(state, m);
    }
    err = descend(state, n, set->list);
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        commit->priority[k] = 0;
        if (j >= state->columns || !set->place[j])
            continue;
        glm_member *m = &set->member[set->place[j] - 1];
        commit->change[k] = m->w - m->told;
        commit->priority[k] = m->urgency;
        m->told += commit->change[k]; /* as the store adds it */
    }
    set->left = 0;
    for (uint32_t k = 0; k < set->n; k++)
        set->left += set->member[k].urgency;
    state->solved =
        set->left <= fmax(state->settled * set->first, .1 * state->worth) ||
        set->visits > (uint64_t)PASSES_MAX * set->n;
    return err;
}
