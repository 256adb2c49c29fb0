/* A scan leaves out the columns that it need not look at. Between two r
 *
 *     |x_j'r - x_j'r0| <= |x_j| |r - r0|,   |x|^2 = sum c x^2, |r|^2 = sum r^2 / c,
 *
 * so a column whose slope was well below its limit when it was seen last still is,
 * until r has gone far (Gap-safe rules see it from the dual: Ndiaye et al., JMLR
 * 2017; Johnson and Guestrin, ICML 2015, keep the same kind of bound). The
 * coordinator knows how far each outer step has taken r, adds these ways up since
 * the last scan of all columns, and lists those that are not safe. All others are
 * at 0, where slopes below their limits neither cost nor gain anything: a
 * certificate holds as it would after a scan of all. On a path the limits are
 * those of the next point, so that it can be looked at without another scan. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* Columns of fewer entries are seen sooner than thought about. */
#define ENTRIES 32
/* So many of all columns are scanned alone; more are all of them. */
#define SHARE .5
/* Sums that are below this share of what they were when workers formed them have
 * too few digits left in them. */
#define FAR 1e-3
/* Rounding of a slope, as a share of |x_j| |r|; of a bound. */
#define ROUNDING 1e-13
#define SAFE (1 + 1e-8)

bool glm_bounds_pay(const strads_data *data)
{
    return (double)strads_data_nnz(data) >=
           ENTRIES * (double)strads_data_cols(data);
}

strads_err glm_bounds_new(glm_state *state, uint64_t rows)
{
    glm_bounds *bounds = &state->bounds;
    const uint32_t n = state->groups.n;

    bounds->used =
        !state->joint.used && !state->ridge.used && glm_bounds_pay(state->data);
    if (!bounds->used)
        return STRADS_OK;
    bounds->base = calloc(n + 1, sizeof(*bounds->base));
    bounds->root = calloc(n + 1, sizeof(*bounds->root));
    bounds->from = calloc(rows + 1, sizeof(*bounds->from));
    if (bounds->base && bounds->root && bounds->from)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for the bounds of %u slopes",
                       n);
}

void glm_bounds_free(glm_bounds *bounds)
{
    free(bounds->base);
    free(bounds->root);
    free(bounds->from);
}

/* How steep a group is at 0, in the direction in which it may move. */
static double steepness(const glm_state *state, uint32_t g)
{
    const strads_glm_options *o = &state->problem.options;
    double square = 0;

    if (!state->groups.start)
        return o->lower == 0   ? state->slope[g]
               : o->upper == 0 ? -state->slope[g]
                               : fabs(state->slope[g]);
    for (uint32_t k = 0; k < glm_size(state, g); k++) {
        const uint32_t j = glm_column(state, g, k);
        square += pow(state->slope[j] / glm_unit(state, g, j), 2);
    }
    return sqrt(square);
}

void glm_bounds_see(const strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_bounds *bounds = &state->bounds;
    const uint64_t all = state->columns + state->problem.options.intercept;

    if (!bounds->used)
        return;
    if (commit->phase != GLM_RECKON)
        bounds->far = state->square;
    if (commit->block.n == all)
        bounds->way = bounds->unseen = 0;
    for (uint32_t g = 0; g < state->groups.n && !bounds->known; g++)
        bounds->root[g] = sqrt(glm_group_norm(state, g));
    bounds->known = true;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (j == state->columns)
            continue;
        const uint32_t g = glm_group_of(state, j);
        if (glm_column(state, g, 0) != j)
            continue;
        bounds->base[g] =
            state->set.place[j]
                ? INFINITY
                : steepness(state, g) - bounds->root[g] * bounds->way;
    }
}

/* ---- the way that r goes --------------------------------------------------- */

void glm_bounds_leave(glm_state *state)
{
    const linear_set *set = &state->set;

    if (!state->bounds.used || set->reduced)
        return;
    for (uint64_t i = 0; i < set->rows; i++)
        state->bounds.from[i] = set->root[i] * set->frozen[i];
}

/* A model that has ended nowhere has left `frozen` where z is. */
void glm_bounds_arrive(glm_state *state)
{
    const linear_set *set = &state->set;
    const double *rest = set->looked ? set->lasting : set->frozen;
    double square = 0, size = state->square;

    if (!state->bounds.used)
        return;
    for (uint64_t i = 0; i < set->n_rows && set->reduced; i++)
        square +=
            pow(set->frozen[i] - set->lasting[i] + set->beta * set->root[i], 2);
    for (uint64_t i = 0; i < set->n_rows && !set->reduced; i++) {
        const double r = set->root[i] * rest[i], c = set->c[i];
        square += c > 0 ? pow(r - state->bounds.from[i], 2) / c : 0;
        size += c > 0 ? r * r / c : 0;
    }
    state->bounds.way += sqrt(square) + ROUNDING * sqrt(size);
}

/* ---- the next scan ---------------------------------------------------------- */

/* The lambda after this one. */
static double next_lambda(const glm_state *state)
{
    const linear_path *path = state->path;

    if (path && path->n + 1 < path->points)
        return fmin(path->lambda[path->n + 1], state->lambda);
    return state->goal > 0 ? glm_next_down(state) : state->lambda;
}

void glm_bounds_scan_all(glm_state *state)
{
    state->n_alive = 0;
    state->bounds.reckons = false;
    for (uint32_t j = 0; j < state->columns; j++)
        state->alive[state->n_alive++] = j;
    if (state->problem.options.intercept)
        state->alive[state->n_alive++] = (uint32_t)state->columns;
}

/* Whether a scan of some columns, all of them members, can be reckoned: points of
 * a path but the last. */
static bool may_reckon(const glm_state *state)
{
    const linear_set *set = &state->set;
    const linear_path *path = state->path;

    return path && path->n + 1 < path->points && set->reduced &&
           !state->by_columns && 2 * state->foreseen >= FAR * state->bounds.far;
}

/* What r is over the set's rows has the slopes of its columns in it. */
strads_err glm_bounds_reckon(strads_commit *commit)
{
    glm_state *state = commit->state;
    const linear_set *set = &state->set;
    const uint32_t n = commit->block.n;
    double *slope = state->told, *rest = slope + n;

    rest[0] = rest[1] = 2 * state->foreseen;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        slope[k] = linear_set_slope(set, j);
        rest[1] += commit->value[k] * slope[k];
        if (j == state->columns)
            rest[1] -= state->level * slope[k];
    }
    commit->partial = slope;
    return glm_aggregate_scan(commit);
}

/* The slope that a group may have before it moves. */
static double limit_of(const glm_state *state, uint32_t g)
{
    return state->groups.start ? glm_term_of(state, g).l1
                               : glm_own_l1(state, g);
}

void glm_bounds_choose(glm_state *state)
{
    glm_bounds *bounds = &state->bounds;
    double unseen = 0;
    uint32_t n = 0, strangers = 0;

    glm_bounds_scan_all(state);
    if (!bounds->known || state->alone || !(state->lambda > 0))
        return;
    const double level = next_lambda(state) / state->lambda;
    for (uint32_t g = 0; g < state->groups.n; g++) {
        const double limit = limit_of(state, g);
        const double bound =
            SAFE * (bounds->base[g] + bounds->root[g] * bounds->way);
        if (bound <= level * limit) {
            unseen = fmax(unseen, limit > 0 ? bound / limit : 0);
            continue;
        }
        strangers += bound < INFINITY;
        for (uint32_t k = 0; k < glm_size(state, g); k++)
            state->candidate[n++] = glm_column(state, g, k);
    }
    bounds->reckons = strangers == 0 && may_reckon(state);
    if (!bounds->reckons && (double)n > SHARE * (double)state->columns)
        return;
    if (state->problem.options.intercept)
        state->candidate[n++] = (uint32_t)state->columns;
    memcpy(state->alive, state->candidate, n * sizeof(*state->alive));
    state->n_alive = n;
    bounds->unseen = unseen * state->lambda;
}
