/* Descent on the working set through its columns.
 *
 * A step d of column j does r -= d x_j, and under an intercept the sum of r
 * falls by d n m_j, so that x_c' r_c = x'r - m sum(r) is known without touching
 * the other rows. A block gets one pass over all its members, then passes over
 * those that are not 0 or near the edge of it, with Anderson's extrapolation in
 * between: (w, r) is affine in w, so the combination of passes' ends has the
 * same combination of their residuals (Bertrand and Massias, AISTATS 2021).
 * Prices differ from the set's pairs: a step costs the entries of its column
 * instead of a number for each member. */
#include "lasso_packed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE_PASSES = 40, PAST = LINEAR_STEPS + 1 };
/* Entries of one fetch, so that what is on its way stays small; of a set that
 * may always be kept; and the share of the data that a larger one may be. */
#define FETCH_ENTRIES (UINT64_C(1) << 22)
#define ALWAYS_FITS (1 << 22)
#define SHARE_MAX 0.25
/* A member at 0 is left alone while its slope is below this share of L1. */
#define LIVELY 0.9

/* ---- memory ------------------------------------------------------------ */

strads_err lasso_packed_new(uint64_t columns, uint64_t rows, lasso_packed **out)
{
    lasso_packed *packed = calloc(1, sizeof(*packed));

    if (packed) {
        packed->columns.rows = rows;
        packed->always = ALWAYS_FITS;
        packed->share = SHARE_MAX;
        packed->place = calloc(columns + 1, sizeof(*packed->place));
    }
    if (!packed || !packed->place) {
        lasso_packed_free(packed);
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the places of %llu columns",
                           (unsigned long long)columns);
    }
    *out = packed;
    return STRADS_OK;
}

void lasso_packed_free(lasso_packed *packed)
{
    if (!packed)
        return;
    linear_packed_free(&packed->columns);
    free(packed->place);
    free(packed->member);
    free(packed->y);
    free(packed->residual);
    free(packed->past);
    free(packed);
}

static strads_err no_memory(uint64_t numbers)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory for %llu numbers of the working set",
                       (unsigned long long)numbers);
}

/* ---- bringing it here -------------------------------------------------- */

bool lasso_packed_fits(const lasso_state *state, double entries)
{
    const lasso_packed *packed = state->packed;

    return packed->columns.n > 0 || entries <= packed->always ||
           entries <= packed->share * state->entries;
}

bool lasso_packed_lacks_rows(const lasso_state *state)
{
    return !state->packed->has_rows;
}

bool lasso_packed_lacks_columns(const lasso_state *state)
{
    return state->packed->columns.n < state->n_set;
}

strads_block lasso_packed_next(lasso_state *state)
{
    lasso_packed *packed = state->packed;
    const uint32_t from = packed->columns.n;
    uint64_t entries = 0;
    uint32_t n = 0;

    while (from + n < state->n_set) {
        const uint64_t more =
            strads_data_col_nnz(state->data, state->set[from + n]);
        if (n > 0 && entries + more > FETCH_ENTRIES)
            break;
        entries += more;
        n++;
    }
    return (strads_block){.id = linear_packed_id(++packed->fetches, entries),
                          .n = n,
                          .param = state->set + from};
}

strads_err lasso_packed_take_rows(strads_commit *commit)
{
    lasso_packed *packed = ((lasso_state *)commit->state)->packed;
    const uint64_t rows = packed->columns.rows;

    if (commit->partial_bytes != rows * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the labels that workers sent are %zu bytes instead "
                           "of 8 for each of %llu rows",
                           commit->partial_bytes, (unsigned long long)rows);
    packed->y = calloc(rows + 1, sizeof(*packed->y));
    packed->residual = calloc(rows + 1, sizeof(*packed->residual));
    if (!packed->y || !packed->residual)
        return no_memory(2 * rows);
    memcpy(packed->y, commit->partial, rows * sizeof(*packed->y));
    packed->has_rows = true;
    return STRADS_OK;
}

strads_err lasso_packed_take_columns(strads_commit *commit)
{
    lasso_packed *packed = ((lasso_state *)commit->state)->packed;
    const uint32_t from = packed->columns.n;
    const strads_err err = linear_packed_take(&packed->columns, commit);

    for (uint32_t k = from; k < packed->columns.n; k++)
        packed->place[strads_block_param(&commit->block, k - from)] = k + 1;
    return err;
}

strads_err lasso_packed_start(lasso_state *state, const double *w)
{
    lasso_packed *packed = state->packed;

    if (state->n_set > packed->room) {
        const uint32_t room = state->n_set + state->n_set / 2;
        lasso_packed_member *wider =
            realloc(packed->member, room * sizeof(*wider));
        if (!wider)
            return no_memory(room);
        packed->member = wider;
        packed->room = room;
    }
    for (uint32_t k = 0; k < state->n_set; k++) {
        const uint32_t j = state->set[k];
        const double s = lasso_scale(state, j), shrink = state->l2 * s * s;
        packed->member[k] =
            (lasso_packed_member){.w = w[j],
                                  .shrink = shrink,
                                  .curvature = state->norm[j] > 0
                                                   ? state->norm[j] + shrink
                                                   : 0,
                                  .l1 = state->l1 * s,
                                  .mean = state->mean[j]};
    }
    return STRADS_OK;
}

void lasso_packed_settle(lasso_state *state)
{
    lasso_packed *packed = state->packed;
    const uint64_t rows = packed->columns.rows;

    memcpy(packed->residual, packed->y, rows * sizeof(*packed->y));
    for (uint32_t k = 0; k < state->n_set; k++) {
        const linear_column x = linear_packed_column(&packed->columns, k);
        if (packed->member[k].w != 0)
            state->kernels->add(&x, -packed->member[k].w, packed->residual);
    }
    packed->sum = state->label_sum;
    for (uint32_t k = 0; k < state->n_set; k++)
        packed->sum -=
            state->rows * packed->member[k].mean * packed->member[k].w;
}

/* ---- passes ------------------------------------------------------------ */

/* A block at work: n members, the first `live` of them in every pass. */
typedef struct work {
    lasso_state *state;
    lasso_packed *packed;
    uint32_t n, live;
    uint32_t *place; /* [n] in the set */
    uint32_t n_past;
} work;

/* Moves member k to its best; returns what that gains. *slope: how steep it was
 * there, as a share of L1. */
static double move(const work *b, uint32_t k, double *slope)
{
    lasso_state *state = b->state;
    lasso_packed *packed = b->packed;
    lasso_packed_member *m = &packed->member[k];
    const linear_column x = linear_packed_column(&packed->columns, k);
    const double q =
        state->kernels->dot(&x, packed->residual) - m->mean * packed->sum;
    const double step =
        m->curvature > 0
            ? lasso_step_at(m->w, q - m->shrink * m->w, m->curvature, m->l1,
                            state->options.positive)
            : -m->w;

    *slope = fabs(q) / m->l1;
    state->spent += (double)x.n;
    if (step == 0)
        return 0;
    state->kernels->add(&x, -step, packed->residual);
    packed->sum -= step * state->rows * m->mean;
    m->w += step;
    return m->curvature / 2 * step * step;
}

/* Over all members; those that are to be seen again come to the front. What
 * each gains goes to gain[n], by its place before. */
static double pass_over_all(work *b, double *gain)
{
    double sum = 0, slope;

    b->live = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t k = b->place[i];
        gain[i] = move(b, k, &slope);
        sum += gain[i];
        if (b->packed->member[k].w != 0 || slope > LIVELY)
            b->place[b->live++] = k;
    }
    return sum;
}

static double pass_over_live(const work *b)
{
    double sum = 0, slope;

    for (uint32_t i = 0; i < b->live; i++)
        sum += move(b, b->place[i], &slope);
    return sum;
}

/* ---- extrapolation ----------------------------------------------------- */

static size_t past_size(const work *b)
{
    return b->live + b->packed->columns.rows + 1;
}

static double *past_at(const work *b, uint32_t i)
{
    return b->packed->past + i * past_size(b);
}

static strads_err reserve_past(const work *b)
{
    lasso_packed *packed = b->packed;
    const size_t numbers = (PAST + 1) * past_size(b);

    if (numbers <= packed->room_past)
        return STRADS_OK;
    free(packed->past);
    packed->past = malloc(numbers * sizeof(*packed->past));
    packed->room_past = packed->past ? numbers : 0;
    return packed->past ? STRADS_OK : no_memory(numbers);
}

/* w of the live members, then the residual and its sum. */
static void remember(work *b)
{
    const lasso_packed *packed = b->packed;
    const uint64_t rows = packed->columns.rows;
    double *to = past_at(b, b->n_past++);

    for (uint32_t i = 0; i < b->live; i++)
        to[i] = packed->member[b->place[i]].w;
    memcpy(to + b->live, packed->residual, rows * sizeof(*to));
    to[b->live + rows] = packed->sum;
}

/* P at such a point, but for members that are not live. */
static double value_at(const work *b, const double *point)
{
    const lasso_state *state = b->state;
    const uint64_t rows = b->packed->columns.rows;
    const double *r = point + b->live;
    double value = state->kernels->dot_dense(rows, r, r) / 2;

    value -= r[rows] * r[rows] / (2 * state->rows);
    for (uint32_t i = 0; i < b->live; i++) {
        const double s = lasso_scale(state, state->set[b->place[i]]);
        const double w = s * point[i];
        value += state->l1 * fabs(w) + state->l2 / 2 * w * w;
    }
    return value;
}

static bool is_allowed(const work *b, const double *point)
{
    for (uint32_t i = 0; i < b->live && b->state->options.positive; i++)
        if (point[i] < 0)
            return false;
    return true;
}

/* D'D, D_i the change of w in pass i */
static void normal_matrix(const work *b, double a[LINEAR_STEPS][LINEAR_STEPS])
{
    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        for (uint32_t j = 0; j <= i; j++) {
            const double *u = past_at(b, i), *u1 = past_at(b, i + 1);
            const double *v = past_at(b, j), *v1 = past_at(b, j + 1);
            double sum = 0;
            for (uint32_t k = 0; k < b->live; k++)
                sum += (u1[k] - u[k]) * (v1[k] - v[k]);
            a[i][j] = a[j][i] = sum;
        }
}

/* Goes to the point that the last passes lead to, if P is lower there. */
static void extrapolate(work *b)
{
    double a[LINEAR_STEPS][LINEAR_STEPS], c[LINEAR_STEPS];
    lasso_packed *packed = b->packed;
    const size_t size = past_size(b);
    double *beyond = past_at(b, PAST);

    normal_matrix(b, a);
    if (!linear_extrapolate(a, c))
        return;
    memset(beyond, 0, size * sizeof(*beyond));
    for (uint32_t i = 0; i < LINEAR_STEPS; i++)
        b->state->kernels->add_dense(size, c[i], past_at(b, i + 1), beyond);
    if (!is_allowed(b, beyond) ||
        !(value_at(b, beyond) < value_at(b, past_at(b, LINEAR_STEPS))))
        return;
    for (uint32_t i = 0; i < b->live; i++)
        packed->member[b->place[i]].w = beyond[i];
    memcpy(packed->residual, beyond + b->live,
           packed->columns.rows * sizeof(*beyond));
    packed->sum = beyond[b->live + packed->columns.rows];
}

/* ---- a block ----------------------------------------------------------- */

/* Passes over the live members until one gains no more than `enough`. */
static strads_err descend(work *b, double enough)
{
    const strads_err err = reserve_past(b);

    if (err)
        return err;
    remember(b);
    for (uint32_t pass = 0; pass < LIVE_PASSES; pass++) {
        const double gain = pass_over_live(b);
        if (gain <= enough)
            break;
        remember(b);
        if (b->n_past < PAST)
            continue;
        extrapolate(b);
        b->n_past = 0;
        remember(b);
    }
    return STRADS_OK;
}

/* The places of the block's members; others of its parameters are at rest. */
static uint32_t find_places(const strads_commit *commit, uint32_t *place)
{
    const lasso_state *state = commit->state;
    uint32_t n = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (state->packed->place[j])
            place[n++] = state->packed->place[j] - 1;
    }
    return n;
}

static void tell(strads_commit *commit, const double *gain)
{
    lasso_state *state = commit->state;
    const lasso_packed *packed = state->packed;
    uint32_t member = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const uint32_t at = packed->place[j];
        commit->priority[k] = 0;
        if (!at)
            continue;
        commit->priority[k] = gain[member++];
        commit->change[k] = packed->member[at - 1].w - commit->value[k];
        state->intercept -= state->mean[j] * commit->change[k];
    }
}

strads_err lasso_packed_solve(strads_commit *commit)
{
    lasso_state *state = commit->state;
    work b = {.state = state,
              .packed = state->packed,
              .place = state->candidate}; /* free between scans */
    double *gain = malloc((commit->block.n + 1) * sizeof(*gain));
    strads_err err = STRADS_OK;

    if (!gain)
        return no_memory(commit->block.n);
    b.n = find_places(commit, b.place);
    if (pass_over_all(&b, gain) > state->rest)
        err = descend(&b, state->rest);
    if (!err) {
        tell(commit, gain);
        lasso_note_block(commit);
    }
    free(gain);
    return err;
}
