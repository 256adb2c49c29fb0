/* The last digits where losses have kinks and columns are many: conjugate
 * gradients in the b that are between their bounds.
 *
 * On that face D is a quadratic, and rises by r_i = target_i - z_i -+ e in b_i.
 * With s = X_J'r, over the face's rows J, a step goes along p and v = X_J'p:
 *
 *     beta = max(0, r'(r - r before)) / (r'r before)
 *     p = r + beta p                  v = s + beta v
 *     alpha = r'p / v'v               b += alpha p       w += alpha v
 *
 * (Hestenes and Stiefel, 1952; this beta is Polak's and Ribiere's, 1969), so
 * that a step is one round: partitions give s and the products, the coordinator
 * moves w, and partitions move their b when they hear of alpha and beta, which
 * is at the next step. A row that would leave its bounds stops there and is out
 * of the face: partitions give what w and v have of it that they should not,
 *
 *     owed = sum (b - b unbounded) x,   gone = sum p x
 *
 * and steps go on with w + owed, v - gone, and r'p - v'owed. That J is the
 * right one is left to passes: they come before, until next to no row comes to
 * a bound or leaves it, and after, when a scan has woken who is wrong at a
 * bound. More and Toraldo, SIAM J. Optimization 1, 1991, go from face to face
 * so. */
#include <stdlib.h>
#include <string.h>

#include "svm_newton.h"
#include "svm_parts.h"

/* Steps of one face; passes after a scan before the next, and twice as many
 * each time when the last one has not halved the gap. */
enum { STEPS_MAX = 100, PASSES = 3, PATIENCE_MAX = 96 };

/* A pass has settled when it leaves so much of the gap, and when so small a
 * share of rows between bounds has come or gone. */
#define SLOW .75
#define CROSSED .0008

/* Steps end when r'r is this share of what it was. */
#define SMALL 1e-6

/* Samples are asked for so many rows before their turn. */
enum { AHEAD = 4 };

/* ---- one partition ----------------------------------------------------- */

/* What is told: s, owed and gone; r'r, r'(r before), r'p, the rows' shares of
 * the gap, how many have come to a bound, and in how many groups b moved. */
enum { FACE_RISE, FACE_OWED, FACE_GONE, FACE_VECTORS };
enum {
    FACE_SQUARE,
    FACE_BEFORE,
    FACE_ALONG,
    FACE_GAP,
    FACE_HITS,
    FACE_MOVED,
    FACE_SUMS
};

size_t svm_partial_face(const strads_task *task)
{
    return FACE_VECTORS * ((size_t)task->shape->cols + 1) + FACE_SUMS;
}

static strads_err reserve(svm_local *local)
{
    const uint64_t n = local->rows + 1;

    if (local->face)
        return STRADS_OK;
    local->face = malloc(n * sizeof(uint32_t));
    local->pull = malloc(n * sizeof(double));
    local->course = malloc(n * sizeof(double));
    local->face_row = malloc(n * sizeof(linear_column));
    return local->face && local->pull && local->course && local->face_row
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                             (unsigned long long)local->rows);
}

/* Room for the entries of all rows of a face. */
static strads_err reserve_entries(svm_local *local, uint64_t entries)
{
    if (entries <= local->face_room)
        return STRADS_OK;
    free(local->face_index);
    free(local->face_value);
    local->face_index = malloc(entries * sizeof(uint32_t));
    local->face_value = malloc(entries * sizeof(double));
    local->face_room = entries;
    if (local->face_index && local->face_value)
        return STRADS_OK;
    local->face_room = 0;
    return strads_fail(STRADS_ENOMEM, "no memory for %llu entries",
                       (unsigned long long)entries);
}

/* A row's entries to where `at` is; what they are there. */
static linear_column pack_row(const svm_local *local, const linear_column *row,
                              uint64_t at)
{
    uint32_t *index = local->face_index + at;
    double *value = local->face_value + at;

    for (uint64_t k = 0; k < row->n && row->index; k++)
        index[k] = row->index[k];
    for (uint64_t k = 0; k < row->n; k++)
        value[k] = row->f64 ? row->f64[k] : (double)row->f32[k];
    return (linear_column){.n = row->n,
                           .index = row->index ? index : NULL,
                           .f64 = value};
}

/* The rows between their bounds. Each step walks through all of them: they are
 * few, far apart in the share, and moved together. */
static strads_err gather_face(svm_local *local, const strads_share *share)
{
    uint64_t entries = 0, at = 0;

    local->n_face = 0;
    for (uint64_t i = 0; i < local->rows; i++) {
        if (!svm_is_inside(&local->sample[i], local->flat))
            continue;
        entries += svm_row_of(share, i).n;
        local->pull[local->n_face] = local->course[local->n_face] = 0;
        local->face[local->n_face++] = (uint32_t)i;
    }
    const strads_err err = reserve_entries(local, entries);
    if (err)
        return err;
    for (uint64_t k = 0; k < local->n_face; k++) {
        const linear_column row = svm_row_of(share, local->face[k]);
        local->face_row[k] = pack_row(local, &row, at);
        at += row.n;
    }
    return STRADS_OK;
}

/* Moves b by `by`, but not out of the face; false: it has come to its end. */
static bool move(svm_sample *x, double flat, double by, double *owed)
{
    const double low = flat > 0 && x->b > 0 ? 0 : x->low;
    const double high = flat > 0 && x->b < 0 ? 0 : x->high;
    const double to = x->b + by;

    x->b = svm_smaller(svm_larger(to, low), high);
    *owed = x->b - to;
    return svm_is_inside(x, flat);
}

/* The step that has been decided on, for row k of the face; false: it has left
 * the face. */
static bool follow(strads_task *task, uint64_t k, const linear_column *row)
{
    svm_local *local = task->local;
    const size_t n = local->columns + 1;
    double owed;

    local->course[k] =
        local->pull[k] + task->total[SVM_TURN] * local->course[k];
    if (move(&local->sample[local->face[k]], local->flat,
             task->total[SVM_STRIDE] * local->course[k], &owed))
        return true;
    svm_add(local, row, owed, task->partial + FACE_OWED * n);
    svm_add(local, row, local->course[k], task->partial + FACE_GONE * n);
    return false;
}

/* How steeply D rises in a b between its bounds. */
static double pull_of(const svm_sample *x, double flat, double z)
{
    return x->target - z - copysign(flat, x->b) - x->ridge * x->b;
}

/* The face's rows ascend. */
static uint64_t count_groups(const strads_task *task)
{
    const svm_local *local = task->local;
    const uint64_t size = svm_group_rows(task->shape->rows);
    uint64_t n = 0;

    for (uint64_t k = 0; k < local->n_face; k++)
        n += k == 0 || local->face[k] / size != local->face[k - 1] / size;
    return n;
}

strads_err svm_update_face(strads_task *task)
{
    svm_local *local = task->local;
    const strads_share *share = svm_share(local, task->share);
    double *sums = task->partial + FACE_VECTORS * (local->columns + 1);
    const bool goes_on = task->total[SVM_STRIDE] > 0;
    strads_err err = reserve(local);
    uint64_t n = 0;

    if (!err && !goes_on)
        err = gather_face(local, share);
    if (err)
        return err;
    local->level = task->total[SVM_LEVEL];
    if (goes_on)
        sums[FACE_MOVED] = (double)count_groups(task);
    for (uint64_t k = 0; k < local->n_face; k++) {
        const uint32_t i = local->face[k];
        const svm_sample *x = &local->sample[i];
        const linear_column row = local->face_row[k];
        if (k + AHEAD < local->n_face)
            __builtin_prefetch(&local->sample[local->face[k + AHEAD]]);
        if (goes_on && !follow(task, k, &row)) {
            sums[FACE_HITS]++;
            continue;
        }
        const double z = svm_dot(local, &row, local->base);
        const double pull = pull_of(x, local->flat, z);
        sums[FACE_SQUARE] += pull * pull;
        sums[FACE_BEFORE] += pull * local->pull[k];
        sums[FACE_ALONG] += pull * local->course[k];
        local->face[n] = i;
        local->face_row[n] = row;
        local->course[n] = local->course[k];
        local->pull[n++] = pull;
        sums[FACE_GAP] += svm_gap_at(x, local->flat, x->b, z);
        svm_add(local, &row, pull, task->partial);
    }
    local->n_face = n;
    return STRADS_OK;
}

/* ---- the coordinator --------------------------------------------------- */

bool svm_is_settled(const svm_pool *pool)
{
    return pool->since >= PASSES && pool->falls > SLOW &&
           pool->crossed <= CROSSED * pool->inside;
}

static bool suits(const svm_state *state)
{
    return state->columns >= SVM_NEWTON_COLUMNS &&
           !svm_loss_is_smooth(state->problem.loss);
}

void svm_judge_face(svm_state *state)
{
    bool settled = suits(state) && !state->scan_due;

    for (uint32_t g = 0; g < state->pools; g++)
        settled = settled && state->pool[g].settled &&
                  state->pool[g].since >= state->patience;
    if (!settled)
        return;
    state->patience = state->gap < .5 * state->faced   ? PASSES
                      : state->patience < PATIENCE_MAX ? 2 * state->patience
                                                       : PATIENCE_MAX;
    state->faced = state->gap;
    state->step = SVM_FACE;
    state->steps = 0;
}

static strads_err reserve_heading(svm_state *state)
{
    const uint64_t n = state->columns + 1;

    if (!state->heading)
        state->heading = malloc(n * sizeof(double));
    return state->heading
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                             (unsigned long long)n);
}

/* What partitions are told of a step; a stride of 0: steps begin anew. */
static void tell_step(strads_commit *commit, double stride, double turn)
{
    commit->total_change[SVM_STRIDE] = stride - commit->total[SVM_STRIDE];
    commit->total_change[SVM_TURN] = turn - commit->total[SVM_TURN];
}

/* The next heading, and w along it. False: D does not rise along it, or does
 * not bend. */
static bool go(strads_commit *commit, double turn)
{
    svm_state *state = commit->state;
    const size_t n = state->columns + 1;
    const double *rise = commit->partial + FACE_RISE * n;
    const double *owed = commit->partial + FACE_OWED * n;
    const double *gone = commit->partial + FACE_GONE * n;
    const double *sums = commit->partial + FACE_VECTORS * n;
    double *v = state->heading, bend = 0;
    double along = sums[FACE_SQUARE] + turn * sums[FACE_ALONG];

    for (uint64_t j = 0; j < n; j++) {
        v[j] = rise[j] + (turn > 0 ? turn * (v[j] - gone[j]) : 0);
        bend += v[j] * v[j];
        along -= v[j] * owed[j];
    }
    if (!(bend > 1e-14 * sums[FACE_SQUARE]) || !(along > 0))
        return false;
    for (uint64_t j = 0; j < n; j++)
        commit->change[svm_place(state, j)] += along / bend * v[j];
    tell_step(commit, along / bend, turn);
    return true;
}

/* How much of the heading is kept. */
static double turn_of(const svm_state *state, const double *sums)
{
    const double more = sums[FACE_SQUARE] - sums[FACE_BEFORE];

    return state->steps > 1 && more > 0 ? more / state->square : 0;
}

strads_err svm_aggregate_face(strads_commit *commit)
{
    svm_state *state = commit->state;
    const size_t n = state->columns + 1;
    const double *owed = commit->partial + FACE_OWED * n;
    const double *sums = commit->partial + FACE_VECTORS * n;
    const strads_err err = reserve_heading(state);

    if (err)
        return err;
    for (uint64_t j = 0; j < n && sums[FACE_HITS] > 0; j++)
        commit->change[svm_place(state, j)] = owed[j];
    tell_step(commit, 0, 0);
    strads_commit_moved(commit, (uint64_t)sums[FACE_MOVED]);
    if (++state->steps == 1)
        state->first = sums[FACE_SQUARE];
    if (state->steps > STEPS_MAX || sums[FACE_GAP] <= state->enough ||
        sums[FACE_SQUARE] <= SMALL * state->first ||
        !(go(commit, turn_of(state, sums)) || go(commit, 0))) {
        state->step = SVM_ASCEND;
        state->scan_due = true;
    }
    state->square = sums[FACE_SQUARE];
    svm_take_intercept(commit);
    return STRADS_OK;
}
