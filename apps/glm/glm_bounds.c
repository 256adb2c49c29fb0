/* A scan leaves out columns with bounded slopes. For two r
 *
 *     |x_j'r - x_j'r0| <= |x_j| |r - r0|,
 *     |x|^2 = sum c x^2,   |r|^2 = sum r^2 / c,
 *
 * so a column with a slope well below its limit in its last scan is still below
 * it, until r has moved far (Gap-safe rules bound it by the dual: Ndiaye et
 * al., JMLR 2017; Johnson and Guestrin, ICML 2015, keep the same kind of
 * bound). The coordinator knows how far each outer step moves r. It adds these
 * distances up since the last scan of all columns, and lists the columns that
 * are not bounded. All other columns are at 0, where slopes below their limits
 * contribute nothing: the certificate is the same as after a scan of all
 * columns. On a path the limits are those of the next point, which then needs
 * no initial scan. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* Columns with fewer entries are cheaper to scan than to bound. */
#define ENTRIES 32
/* Above this share of all columns, all are scanned. */
#define SHARE .5
/* Below this share of the last value from workers, sums have too few correct
 * digits. */
#define DIGITS 1e-3
/* Rounding of a slope, relative to |x_j| |r|; safety factor of a bound. */
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

    bounds->used = !state->joint.used && !state->ridge.used &&
                   !state->problem.loss->smooth && glm_bounds_pay(state->data);
    if (!bounds->used)
        return STRADS_OK;
    bounds->base = calloc(n + 1, sizeof(*bounds->base));
    bounds->norm = calloc(n + 1, sizeof(*bounds->norm));
    bounds->reference = calloc(rows + 1, sizeof(*bounds->reference));
    if (bounds->base && bounds->norm && bounds->reference)
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for the bounds of %u slopes",
                       n);
}

void glm_bounds_free(glm_bounds *bounds)
{
    free(bounds->base);
    free(bounds->norm);
    free(bounds->reference);
}

/* The norm of a group's slope at 0, in the directions in which it may move. A
 * change of the slope changes it by |change|_2 at most. */
static double abs_slope(const glm_state *state, uint32_t g)
{
    const strads_glm_options *o = &state->problem.options;

    if (!state->groups.start)
        return o->lower == 0   ? state->slope[g]
               : o->upper == 0 ? -state->slope[g]
                               : fabs(state->slope[g]);
    const glm_term t = glm_term_of(state, g);
    glm_gather(state, g);
    return state->problem.penalty->dual_norm(&t, state->groups.q);
}

void glm_bounds_note_scan(const strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_bounds *bounds = &state->bounds;
    const uint64_t all = state->columns + state->problem.options.intercept;

    if (!bounds->used)
        return;
    if (commit->phase != GLM_PAIR_SCAN)
        bounds->scanned_square = state->square;
    if (commit->block.n == all)
        bounds->distance = bounds->unscanned = 0;
    for (uint32_t g = 0; g < state->groups.n && !bounds->known; g++)
        bounds->norm[g] = sqrt(glm_group_norm(state, g));
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
                : abs_slope(state, g) - bounds->norm[g] * bounds->distance;
    }
}

/* ---- movement of r ------------------------------------------------------- */

void glm_bounds_keep_reference(glm_state *state)
{
    const linear_set *set = &state->set;

    if (!state->bounds.used || set->reduced)
        return;
    for (uint64_t i = 0; i < set->rows; i++)
        state->bounds.reference[i] = set->root[i] * set->frozen[i];
}

/* If a model's line search failed, `frozen` is still at z. */
void glm_bounds_add_distance(glm_state *state)
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
        square += c > 0 ? pow(r - state->bounds.reference[i], 2) / c : 0;
        size += c > 0 ? r * r / c : 0;
    }
    state->bounds.distance += sqrt(square) + ROUNDING * sqrt(size);
}

/* ---- the next scan ------------------------------------------------------- */

/* The lambda after the current one. */
static double next_lambda(const glm_state *state)
{
    const glm_path *path = state->path;

    if (path && path->n + 1 < path->points)
        return fmin(path->lambda[path->n + 1], state->lambda);
    return state->goal > 0 ? glm_next_down(state) : state->lambda;
}

void glm_bounds_take_all(glm_state *state)
{
    state->n_scan = 0;
    state->bounds.pairs_suffice = false;
    for (uint32_t j = 0; j < state->columns; j++)
        state->scan[state->n_scan++] = j;
    if (state->problem.options.intercept)
        state->scan[state->n_scan++] = (uint32_t)state->columns;
}

/* True if a scan of members alone needs no workers: at all points of a path
 * except the last. */
static bool pairs_suffice(const glm_state *state)
{
    const linear_set *set = &state->set;
    const glm_path *path = state->path;

    return path && path->n + 1 < path->points && set->reduced &&
           !state->by_columns &&
           2 * state->predicted >= DIGITS * state->bounds.scanned_square;
}

/* Computes the slopes of the set's columns from the residual over its rows. */
strads_err glm_bounds_pair_scan(strads_commit *commit)
{
    glm_state *state = commit->state;
    const linear_set *set = &state->set;
    const uint32_t n = commit->block.n;
    double *slope = state->told, *rest = slope + n;

    rest[0] = rest[1] = 2 * state->predicted;
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

/* The limit of a group's slope, above which it moves. */
static double limit_of(const glm_state *state, uint32_t g)
{
    return state->groups.start ? glm_term_of(state, g).l1
                               : glm_own_l1(state, g);
}

static int by_column(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

void glm_bounds_choose_columns(glm_state *state)
{
    glm_bounds *bounds = &state->bounds;
    double most = 0;
    uint32_t n = 0, outside = 0;

    glm_bounds_take_all(state);
    if (!bounds->known || state->alone || !(state->lambda > 0))
        return;
    const double level = next_lambda(state) / state->lambda;
    for (uint32_t g = 0; g < state->groups.n; g++) {
        const double limit = limit_of(state, g);
        const double bound =
            SAFE * (bounds->base[g] + bounds->norm[g] * bounds->distance);
        if (bound <= level * limit) {
            most = fmax(most, limit > 0 ? bound / limit : 0);
            continue;
        }
        outside += bound < INFINITY;
        for (uint32_t k = 0; k < glm_size(state, g); k++)
            state->candidate[n++] = glm_column(state, g, k);
    }
    bounds->pairs_suffice = outside == 0 && pairs_suffice(state);
    if (!bounds->pairs_suffice && (double)n > SHARE * (double)state->columns)
        return;
    if (state->groups.start) /* columns of a group may be far apart */
        qsort(state->candidate, n, sizeof(*state->candidate), by_column);
    if (state->problem.options.intercept)
        state->candidate[n++] = (uint32_t)state->columns;
    memcpy(state->scan, state->candidate, n * sizeof(*state->scan));
    state->n_scan = n;
    bounds->unscanned = most * state->lambda;
}
