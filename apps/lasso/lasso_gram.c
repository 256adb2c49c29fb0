/* Descent on the working set through its pairs.
 *
 * With G = X_c' X_c of the members and q = X_c' r_c, a step d of member k does
 * q -= d G_k for all of them, so every member's violation, and with it the gap
 * within the set, is known at any time. The changes reach the workers'
 * residuals with the next scan. */
#include "lasso_gram.h"

#include "apps/linear/linear_path.h"
#include "apps/linear/linear_room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gains below this share of P are rounding: only a scan can still help. */
#define ROUNDING 1e-24
/* Sweeps that gain less than this share of the first have solved the block. */
#define SETTLED_WELL 1e-6

/* By how much of it |r_c|^2 may be off after a scan's blocks. */
#define BLUR 1e-6

/* Numbers of a cache line; sweeps over a block. */
enum { STRIP = 8, SWEEPS = 5 };

/* ---- memory ------------------------------------------------------------ */

strads_err lasso_gram_new(uint64_t columns, lasso_gram **out)
{
    lasso_gram *gram = calloc(1, sizeof(*gram));

    if (gram) {
        gram->place = calloc(columns + 1, sizeof(uint32_t));
        gram->scan = calloc(columns + 3, sizeof(double));
        gram->far_squares = -1;
    }
    if (!gram || !gram->place || !gram->scan) {
        lasso_gram_free(gram);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the places of %llu columns",
                           (unsigned long long)columns);
    }
    *out = gram;
    return STRADS_OK;
}

void lasso_gram_free(lasso_gram *gram)
{
    if (!gram)
        return;
    free(gram->place);
    free(gram->member);
    free(gram->entry);
    free(gram->q);
    free(gram->w);
    free(gram->before);
    free(gram->trial);
    free(gram->newton);
    free(gram->scan);
    free(gram->far_q);
    free(gram->far_w);
    free(gram);
}

static bool widen(double **array, size_t numbers)
{
    double *wider = realloc(*array, numbers * sizeof(*wider));

    if (wider)
        *array = wider;
    return wider != NULL;
}

/* Room for n members; the entries are moved to their longer lines. */
static strads_err reserve(lasso_gram *gram, uint32_t n)
{
    if (n <= gram->capacity)
        return STRADS_OK;
    const uint32_t capacity = (n + n / 2 + 63) / 64 * 64;
    double *entry = linear_room((uint64_t)capacity * capacity);
    uint32_t *member = realloc(gram->member, capacity * sizeof(*member));

    if (member)
        gram->member = member;
    if (!entry || !member || !widen(&gram->q, capacity) ||
        !widen(&gram->w, capacity) || !widen(&gram->before, capacity) ||
        !widen(&gram->far_q, capacity) || !widen(&gram->far_w, capacity) ||
        !widen(&gram->trial, (size_t)4 * capacity)) {
        free(entry);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the pairs of %u columns: %zu bytes",
                           n, (size_t)capacity * capacity * sizeof(*entry));
    }
    for (uint32_t k = 0; k < gram->known; k++)
        memcpy(entry + (size_t)k * capacity,
               gram->entry + (size_t)k * gram->capacity,
               gram->known * sizeof(*entry));
    free(gram->entry);
    gram->entry = entry;
    gram->capacity = capacity;
    return STRADS_OK;
}

/* ---- after a scan ------------------------------------------------------ */

bool lasso_gram_pays(uint64_t n_set, double entries, bool dense)
{
    const double few = 400, mean = n_set ? entries / (double)n_set : 0;

    if (n_set > LASSO_GRAM_MAX)
        return false;
    /* A step costs n_set numbers, or a dense column's twice, and the faces of a
     * set that has far more columns than rows change for long. */
    if (dense)
        return (double)n_set <= 2 * mean;
    return (double)n_set < few || mean > (double)n_set;
}

/* New members; their pairs are asked for against all. */
static strads_err let_join(strads_commit *commit)
{
    const lasso_state *state = commit->state;
    lasso_gram *gram = state->gram;
    const strads_err err = reserve(gram, state->n_set);

    if (err)
        return err;
    for (uint32_t k = gram->n; k < state->n_set; k++) {
        gram->member[k] = state->set[k];
        gram->place[state->set[k]] = k + 1;
    }
    gram->n = state->n_set;
    if (gram->known == gram->n)
        return STRADS_OK;
    return strads_commit_probe(commit, gram->n - gram->known,
                               gram->member + gram->known, gram->n,
                               gram->member);
}

strads_err lasso_gram_start(strads_commit *commit, double gap_target)
{
    const lasso_state *state = commit->state;
    lasso_gram *gram = state->gram;
    const double *now = lasso_w(commit);
    const strads_err err = let_join(commit);

    if (err)
        return err;
    for (uint32_t k = 0; k < gram->n; k++) {
        const uint32_t j = gram->member[k];
        const double s = lasso_scale(state, j), w = now[j];
        gram->w[k] = w;
        gram->q[k] = state->slope[j] + state->l2 * s * s * w;
    }
    if (gram->target > 0 &&
        fabs(gram->squares - state->squares) > BLUR * state->squares)
        gram->blurred = true;
    gram->squares = state->squares;
    gram->target = gap_target;
    if (commit->phase == LASSO_RECKON)
        return STRADS_OK;
    for (uint32_t k = 0; k < gram->n; k++) {
        gram->far_q[k] = gram->q[k];
        gram->far_w[k] = gram->w[k];
    }
    gram->far_squares = state->squares;
    return STRADS_OK;
}

/* ---- instead of a scan -------------------------------------------------- */

/* Columns at most; rows for each of them at least. */
enum { ALL_MAX = 512, ALL_ROWS = 4 };

/* |r_c|^2 below this share of what it was at the last scan has too few digits
 * left in it. */
#define FAR 1e-3

bool lasso_gram_takes_all(const lasso_state *state)
{
    uint64_t n = 0;

    if (!state->path || state->columns > ALL_MAX)
        return false;
    for (uint64_t j = 0; j < state->columns; j++)
        n += state->norm[j] > 0;
    return n <= state->path->points && (double)(ALL_ROWS * n) <= state->rows &&
           state->entries >= .5 * state->rows * (double)state->columns;
}

void lasso_gram_take_all(lasso_state *state)
{
    for (uint32_t j = 0; j < state->columns; j++)
        if (state->norm[j] > 0 && !state->in_set[j])
            lasso_join(state, j);
    state->gram->complete = true;
}

bool lasso_gram_may_reckon(const lasso_state *state)
{
    const lasso_gram *gram = state->gram;

    return gram->complete && !gram->blurred && gram->known == state->n_set &&
           gram->far_squares >= 0 && state->route == LASSO_SOLVE &&
           gram->squares >= FAR * gram->far_squares &&
           state->path->n + 1 < state->path->points;
}

/* With d = w - w at the last scan: q less G d, |r_c|^2 less 2 d'q, and d'G d. */
void lasso_gram_reckon(lasso_state *state, const double *w)
{
    lasso_gram *gram = state->gram;
    double *rest = gram->scan + state->columns, response = 0;
    double squares = gram->far_squares;
    double sum = state->options.intercept ? state->label_sum : 0;

    for (uint32_t k = 0; k < gram->n; k++)
        gram->q[k] = gram->far_q[k];
    for (uint32_t k = 0; k < gram->n; k++) {
        const double d = w[gram->member[k]] - gram->far_w[k];
        if (d == 0)
            continue;
        const double *row = gram->entry + (size_t)k * gram->capacity;
        squares -= d * (gram->q[k] + gram->q[k] - d * row[k]);
        state->kernels->add_dense(gram->n, -d, row, gram->q);
    }
    for (uint32_t k = 0; k < gram->n; k++)
        sum -= state->rows * state->mean[gram->member[k]] * w[gram->member[k]];
    for (uint32_t k = 0; k < gram->n; k++) {
        const uint32_t j = gram->member[k];
        gram->scan[j] = gram->q[k] + state->mean[j] * sum;
        response += gram->q[k] * w[j];
    }
    squares = fmax(squares, 0);
    rest[0] = squares + (sum == 0 ? 0 : sum * sum / state->rows); /* r'r */
    rest[1] = squares + response; /* y_c'r_c = (r_c + X_c w)'r_c */
    rest[2] = sum;
}

/* New members first .. end - 1, both ways: few enough that each line of the
 * mirror image is written as a whole. */
static void store_strip(const lasso_state *state, const double *pairs,
                        uint32_t first, uint32_t end)
{
    lasso_gram *gram = state->gram;
    const uint32_t m = gram->n, row = gram->known;

    for (uint32_t l = 0; l < m; l++) {
        const double mean = state->rows * state->mean[gram->member[l]];
        double *mirror = gram->entry + (size_t)l * gram->capacity + row;
        for (uint32_t k = first; k < end; k++) {
            const double centred = pairs[(size_t)k * m + l] -
                                   mean * state->mean[gram->member[row + k]];
            gram->entry[(size_t)(row + k) * gram->capacity + l] = centred;
            mirror[k] = centred;
        }
    }
}

strads_err lasso_gram_store(strads_commit *commit)
{
    const lasso_state *state = commit->state;
    lasso_gram *gram = state->gram;
    const uint32_t n = commit->block.n, m = commit->against.n;

    /* Probes that the engine made for a block are in its cache. */
    if (gram->known + n != gram->n || m != gram->n ||
        strads_block_param(&commit->block, 0) != gram->member[gram->known])
        return STRADS_OK;
    for (uint32_t k = 0; k < n; k += STRIP)
        store_strip(state, commit->partial, k, k + STRIP < n ? k + STRIP : n);
    gram->known = gram->n;
    return STRADS_OK;
}

/* ---- a block ----------------------------------------------------------- */

/* The places of the block's members; others of its parameters are at rest. */
static uint32_t find_places(const strads_commit *commit, uint32_t *place)
{
    const lasso_state *state = commit->state;
    uint32_t n = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (state->gram->place[j])
            place[n++] = state->gram->place[j] - 1;
    }
    return n;
}

/* The best step of member k alone, and what it gains. */
static double best_step(const lasso_state *state, uint32_t k, double *gain)
{
    const lasso_gram *gram = state->gram;
    const uint32_t j = gram->member[k];
    const double s = lasso_scale(state, j), shrink = state->l2 * s * s;
    const double curvature = state->norm[j] + shrink, w = gram->w[k];
    const double step =
        lasso_step(state, j, w, gram->q[k] - shrink * w, curvature);

    *gain = curvature / 2 * step * step;
    return step;
}

/* Moves member k by d: q, |r_c|^2 and b follow. */
static void move(lasso_state *state, uint32_t k, double d)
{
    lasso_gram *gram = state->gram;
    const uint32_t j = gram->member[k];
    const double *row = gram->entry + (size_t)k * gram->capacity;

    gram->squares += d * (d * row[k] - 2 * gram->q[k]);
    state->intercept -= state->mean[j] * d;
    gram->w[k] += d;
    state->kernels->add_dense(gram->n, -d, row, gram->q);
    gram->spent += gram->n;
    state->spent += gram->n;
}

static double sweep(lasso_state *state, uint32_t n, const uint32_t *place)
{
    double sum = 0, gain;

    for (uint32_t i = 0; i < n; i++) {
        const double step = best_step(state, place[i], &gain);
        if (step != 0)
            move(state, place[i], step);
        sum += gain;
    }
    return sum;
}

/* Sweeps over n members, then goes to the minimum on their support. All are one
 * and the same move of the block. */
static void descend(lasso_state *state, uint32_t n, const uint32_t *place)
{
    lasso_gram *gram = state->gram;
    double first = 0;

    for (uint32_t i = 0; i < SWEEPS; i++) {
        const double gain = sweep(state, n, place);
        if (i == 0) {
            memcpy(gram->before, gram->w, gram->n * sizeof(double));
            first = gain;
        }
        if (gain <= first * SETTLED_WELL)
            return;
    }
    lasso_newton(state, n, place);
}

/* ---- the commit -------------------------------------------------------- */

/* Priorities are what each member could still gain alone: of the whole set
 * when the block was only a part of it. */
static void tell_priorities(strads_commit *commit, uint32_t n)
{
    const lasso_state *state = commit->state;
    const lasso_gram *gram = state->gram;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t at = gram->place[strads_block_param(&commit->block, k)];
        commit->priority[k] = 0;
        if (at)
            (void)best_step(state, at - 1, &commit->priority[k]);
    }
    if (n == gram->n)
        return;
    for (uint32_t k = 0; k < gram->n; k++)
        (void)best_step(state, k, &state->told[k]);
    strads_commit_prioritise(commit, gram->n, gram->member, state->told);
}

strads_err lasso_gram_solve(strads_commit *commit)
{
    lasso_state *state = commit->state;
    lasso_gram *gram = state->gram;
    uint32_t *place = state->candidate; /* free between scans */
    const uint32_t n = find_places(commit, place);

    descend(state, n, place);
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t at = gram->place[strads_block_param(&commit->block, k)];
        if (at)
            commit->change[k] = gram->w[at - 1] - commit->value[k];
    }
    tell_priorities(commit, n);
    const bool enough =
        lasso_count_block(commit) || lasso_gap_within(state) <= gram->target;
    strads_commit_rest(commit, enough ? INFINITY : ROUNDING * state->primal);
    return STRADS_OK;
}
