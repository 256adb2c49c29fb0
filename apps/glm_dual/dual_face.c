/* The last digits if columns are many and g is quadratic between its bounds:
 * conjugate gradients in the b between their bounds (the free rows).
 *
 * On these rows D is quadratic, with the slope r_i = target_i - z_i -+ epsilon
 * - d_i b_i in b_i. With S = X_J'r, over the free rows J, a step goes along p
 * and v = X_J'p:
 *
 *     beta = max(0, r'(r - r before)) / (r'r before)
 *     p = r + beta p                     v = S + beta v
 *     alpha = r'p / (v'v + p'd p)        b += alpha p      w += alpha v
 *
 * (Hestenes and Stiefel, 1952; this beta is Polak's and Ribiere's, 1969). A row
 * that would leave its bounds stops there and is no longer free. w and v then
 * include too much of it,
 *
 *     owed = sum (b - b unbounded) x,   gone = - sum p x
 *
 * and steps continue with w + owed and v + gone.
 *
 * With one pool its first partition takes all steps for all rows in one round.
 * Otherwise a step is a round: partitions send S and the products, the
 * coordinator moves w, and partitions move their b when they receive alpha and
 * beta, which is at the next step. So r belongs to w without the owed part, and
 * r'p - v'owed corrects for it.
 *
 * An unpenalised intercept requires sum b = 0. In one pool steps keep that sum.
 * Means are subtracted from r and p, and as much of u = X_J'1 from v. The free
 * rows compensate for rows that stop at their bounds. The mean of r is the
 * error of the level.
 *
 * Passes find the right J. They come before the steps, until almost no row
 * reaches a bound or leaves it, and after them, when a scan has activated rows
 * that are at a wrong bound. More and Toraldo, SIAM J. Optimization 1, 1991,
 * also alternate between such steps. */
#include <stdlib.h>
#include <string.h>

#include "dual.h"

/* Steps with one set of rows; passes before the next steps, doubled each
 * time the last steps have not halved the gap. */
enum { STEPS_MAX = 100, PASSES = 3, PATIENCE_MAX = 96 };

/* A pass has settled if it leaves at least this share of the gap, and if at
 * most this share of rows between bounds has come or gone. */
#define SLOW .75
#define CROSSED .0008

/* Steps end when r'r is this share of its first value. */
#define SMALL 1e-6

/* Sums of a step over the free rows: r'r, r'(r before), r'p, the same of d r
 * and d p, the rows' shares of the gap, the number of rows that reached a
 * bound, and the number of groups with moved b. */
enum {
    SQUARE,
    BEFORE,
    ALONG,
    RIDGE_RR,
    RIDGE_RP,
    RIDGE_PP,
    GAP,
    HITS,
    MOVED,
    FACE_SUMS
};

/* The partitions' results of a step that is a round, [columns + 1] each,
 * before these. For all steps in a round: the number of moved groups, step by
 * step, and the error of the level. */
enum { GRADIENT, OWED, GONE, VECTORS };
enum { ALL_MOVED, LACKS, ALL_SUMS };

/* Rows between their bounds, with their entries stored contiguously: each
 * step reads all of them, and in the shares they are few and far apart. */
struct dual_face {
    uint64_t n;
    dual_sample **sample; /* [capacity] */
    uint32_t *group;      /* [capacity] */
    data_column *row;     /* [capacity] */
    double *pull;         /* [capacity] r, */
    double *direction;    /* [capacity] and p */
    uint64_t capacity;
    uint32_t *index; /* [entries] */
    double *value;
    uint64_t entries;
    uint64_t columns;     /* number of columns with entries, if they are
                       * renumbered: */
    uint32_t *column;     /* [columns] the original columns, */
    uint32_t *number;     /* [all columns] and their new numbers */
    double *w, *gradient; /* [columns + 1] w, S, */
    double *ones;         /* u */
    double bias;          /* B, or 0 if the sum of b is kept instead: */
    bool keeps_sum;
    double level, sum; /* offset of z; sum b of all rows */
    dual_heading heading;
};

/* A column without a number. */
#define NONE UINT32_MAX

static void free_rows(dual_face *face)
{
    free(face->sample);
    free(face->group);
    free(face->row);
    free(face->pull);
    free(face->direction);
    free(face->index);
    free(face->value);
}

void dual_face_free(dual_face *face)
{
    if (!face)
        return;
    free_rows(face);
    free(face->column);
    free(face->number);
    free(face->w);
    free(face->gradient);
    free(face->heading.v);
    free(face->ones);
    free(face);
}

/* ---- collecting rows ----------------------------------------------------- */

static bool reserve_rows(dual_face *face, uint64_t rows, uint64_t entries)
{
    if (rows <= face->capacity && entries <= face->entries)
        return true;
    free_rows(face);
    face->capacity = face->entries = 0;
    face->sample = malloc(rows * sizeof(*face->sample));
    face->group = malloc(rows * sizeof(*face->group));
    face->row = malloc(rows * sizeof(*face->row));
    face->pull = malloc(rows * sizeof(*face->pull));
    face->direction = malloc(rows * sizeof(*face->direction));
    face->index = malloc(entries * sizeof(*face->index));
    face->value = malloc(entries * sizeof(*face->value));
    if (!face->sample || !face->group || !face->row || !face->pull ||
        !face->direction || !face->index || !face->value)
        return false;
    face->capacity = rows;
    face->entries = entries;
    return true;
}

static bool reserve_columns(dual_face *face, uint64_t columns)
{
    if (face->ones)
        return true;
    face->column = malloc((columns + 1) * sizeof(*face->column));
    face->number = malloc((columns + 1) * sizeof(*face->number));
    face->w = malloc((columns + 1) * sizeof(*face->w));
    face->gradient = malloc((columns + 1) * sizeof(*face->gradient));
    face->heading.v = malloc((columns + 1) * sizeof(double));
    face->ones = malloc((columns + 1) * sizeof(*face->ones));
    return face->column && face->number && face->w && face->gradient &&
           face->heading.v && face->ones;
}

/* The next row of a partition between its bounds, from *i on. */
static bool find_row(const strads_peer *of, uint64_t *i, data_column *row)
{
    const dual_local *local = of->local;

    while (*i < local->rows && !dual_is_inside(&local->sample[*i]))
        ++*i;
    if (*i == local->rows)
        return false;
    *row = dual_row_of(dual_share(local, of->share), *i);
    return true;
}

/* Copies a row's entries to `at`. Columns are numbered in order of
 * appearance, so that those with many entries are close to each other. */
static data_column pack_row(dual_face *face, const data_column *row,
                            uint64_t at)
{
    uint32_t *index = face->index + at;
    double *value = face->value + at;

    for (uint64_t k = 0; k < row->n; k++) {
        const uint64_t j = dual_index(row, k);
        value[k] = dual_entry(row, k);
        if (face->number[j] == NONE) {
            face->column[face->columns] = (uint32_t)j;
            face->number[j] = (uint32_t)face->columns++;
        }
        index[k] = face->number[j];
    }
    return (data_column){.n = row->n,
                         .index = row->index ? index : NULL,
                         .f64 = value};
}

static uint64_t add_face_rows(dual_face *face, const strads_peer *of,
                              uint64_t size, uint64_t at)
{
    const dual_local *local = of->local;
    data_column row;

    for (uint64_t i = 0; find_row(of, &i, &row); i++) {
        face->sample[face->n] = &local->sample[i];
        face->group[face->n] = (uint32_t)(local->first_group + i / size);
        face->pull[face->n] = face->direction[face->n] = 0;
        face->row[face->n++] = pack_row(face, &row, at);
        at += row.n;
    }
    for (uint64_t i = 0; i < local->rows; i++)
        face->sum += local->sample[i].b;
    return at;
}

/* Collects the rows of n partitions. Columns are renumbered if requested;
 * otherwise rows keep the original columns, and are not full. */
static strads_err gather_rows(const strads_task *task, const strads_peer *of,
                              uint32_t n, bool full)
{
    dual_local *local = task->local;
    const uint64_t size = dual_group_rows(task->shape->rows);
    uint64_t rows = 0, entries = 0, at = 0;
    data_column row;

    for (uint32_t k = 0; k < n; k++)
        for (uint64_t i = 0; find_row(&of[k], &i, &row); i++) {
            rows++;
            entries += row.n;
            full = full || !row.index;
        }
    if (!local->face)
        local->face = calloc(1, sizeof(*local->face));
    dual_face *face = local->face;
    if (!face || !reserve_rows(face, rows + 1, entries + 1) ||
        !reserve_columns(face, local->columns))
        return strads_fail(STRADS_ENOMEM,
                           "no memory for %llu entries of %llu rows",
                           (unsigned long long)entries,
                           (unsigned long long)rows);
    face->n = 0;
    face->sum = 0;
    face->columns = full ? local->columns : 0;
    for (uint64_t j = 0; j < local->columns; j++) {
        face->number[j] = full ? (uint32_t)j : NONE;
        face->column[j] = (uint32_t)j;
    }
    for (uint32_t k = 0; k < n; k++)
        at = add_face_rows(face, &of[k], size, at);
    return STRADS_OK;
}

/* ---- the rows of a step -------------------------------------------------- */

/* w += a x of row k, in the renumbered columns. */
static void add(const dual_local *local, uint64_t k, double a, double *w)
{
    const dual_face *face = local->face;

    local->kernels->add(&face->row[k], a, w);
    w[face->columns] += a * face->bias;
}

/* Subtracts the mean of r from r, and its part from S: the level has the
 * mean. */
static void centre(const dual_local *local, double *gradient)
{
    dual_face *face = local->face;
    double mean = 0;

    for (uint64_t k = 0; k < face->n; k++)
        mean += face->pull[k] / (double)face->n;
    for (uint64_t k = 0; k < face->n; k++)
        face->pull[k] -= mean;
    face->level += mean;
    local->kernels->add_dense(face->columns, -mean, face->ones, gradient);
}

/* The slopes of D at w, in all b, and S of them. */
static void evaluate_rows(const dual_local *local, const double *w,
                          double *gradient, double *sums)
{
    dual_face *face = local->face;

    for (uint64_t k = 0; k < face->n; k++) {
        const dual_sample *x = face->sample[k];
        const double z = local->kernels->dot(&face->row[k], w) +
                         face->bias * w[face->columns] + face->level;
        const double r =
            x->target - z - copysign(x->flat, x->b) - x->ridge * x->b;
        sums[GAP] += dual_gap_at(local->loss, x, z);
        sums[BEFORE] += r * face->pull[k];
        face->pull[k] = r;
        add(local, k, r, gradient);
    }
    if (face->keeps_sum && face->n > 0) /* the means of earlier r were 0 */
        centre(local, gradient);
    for (uint64_t k = 0; k < face->n; k++) {
        const double r = face->pull[k], p = face->direction[k];
        const double d = face->sample[k]->ridge;
        sums[SQUARE] += r * r;
        sums[ALONG] += r * p;
        sums[RIDGE_RR] += d * r * r;
        sums[RIDGE_RP] += d * r * p;
        sums[RIDGE_PP] += d * p * p;
    }
}

/* p = r + beta p. */
static void turn_rows(dual_face *face, double beta)
{
    for (uint64_t k = 0; k < face->n; k++)
        face->direction[k] = face->pull[k] + beta * face->direction[k];
}

/* Moves b by alpha p, or all by alpha, but not beyond their bounds. Rows
 * that reach a bound are removed; subtracts the excess from w and v. */
static void move_free_rows(const dual_local *local, double alpha, bool alike,
                           double *w, double *v)
{
    dual_face *face = local->face;
    uint64_t n = 0;

    for (uint64_t k = 0; k < face->n; k++) {
        dual_sample *x = face->sample[k];
        const double to = x->b + alpha * (alike ? 1 : face->direction[k]);
        const double low = x->flat > 0 && x->b > 0 ? 0 : x->low;
        const double high = x->flat > 0 && x->b < 0 ? 0 : x->high;
        face->sum -= x->b;
        x->b = dual_smaller(dual_larger(to, low), high);
        face->sum += x->b;
        if (!dual_is_inside(x)) {
            add(local, k, x->b - to, w);
            add(local, k, -face->direction[k], v);
            if (face->keeps_sum)
                add(local, k, -1, face->ones);
            continue;
        }
        face->sample[n] = x;
        face->group[n] = face->group[k];
        face->row[n] = face->row[k];
        face->pull[n] = face->pull[k];
        face->direction[n++] = face->direction[k];
    }
    face->n = n;
}

static uint64_t count_own_groups(const dual_face *face)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < face->n; k++)
        n += k == 0 || face->group[k] != face->group[k - 1];
    return n;
}

/* ---- direction ----------------------------------------------------------- */

/* Results of a step: S; corrections of w and v for rows that reached a
 * bound, NULL if already applied; and sums. */
typedef struct face_step {
    const double *gradient, *owed, *gone; /* [columns + 1] */
    const double *sums;
} face_step;

/* Computes the next direction. False: D does not increase along it, or has
 * no curvature. */
static bool find_heading(dual_heading *heading, uint64_t columns,
                         const face_step *found, double beta)
{
    const column_kernels *kernels = column_kernels_choose(columns);
    const double *sums = found->sums;
    const uint64_t n = columns + 1;
    double *v = heading->v, along = sums[SQUARE] + beta * sums[ALONG];

    for (uint64_t j = 0; j < n && beta > 0 && found->gone; j++)
        v[j] += found->gone[j];
    for (uint64_t j = 0; j < n; j++)
        v[j] = found->gradient[j] + (beta > 0 ? beta * v[j] : 0);
    const double bend = kernels->dot_dense(n, v, v) + sums[RIDGE_RR] +
                        beta * (2 * sums[RIDGE_RP] + beta * sums[RIDGE_PP]);
    if (found->owed)
        along -= kernels->dot_dense(n, v, found->owed);
    heading->alpha = along / bend;
    heading->beta = beta;
    return bend > 1e-14 * sums[SQUARE] && along > 0;
}

/* False: there is no next step, for example because the remaining gap is
 * below `enough`. */
static bool head_on(dual_heading *heading, uint64_t columns,
                    const face_step *found, double enough)
{
    const double *sums = found->sums;
    const double more = sums[SQUARE] - sums[BEFORE];

    if (++heading->steps == 1)
        heading->first = sums[SQUARE];
    const double beta =
        heading->steps > 1 && more > 0 ? more / heading->square : 0;
    heading->square = sums[SQUARE];
    return heading->steps <= STEPS_MAX && sums[GAP] > enough &&
           sums[SQUARE] > SMALL * heading->first &&
           (find_heading(heading, columns, found,
                         heading->steps > 2 ? beta : 0) ||
            find_heading(heading, columns, found, 0));
}

/* ---- one step per round -------------------------------------------------- */

size_t dual_partial_active(const strads_task *task)
{
    return task->block.n > 0
               ? VECTORS * ((size_t)task->shape->cols + 1) + FACE_SUMS
               : ALL_SUMS;
}

static strads_err take_face_step(strads_task *task)
{
    dual_local *local = task->local;
    const strads_peer self = {.share = task->share, .local = local};
    const size_t n = local->columns + 1;
    double *sums = task->partial + VECTORS * n;
    strads_err err = STRADS_OK;

    if (!(task->total[DUAL_STRIDE] > 0))
        err = gather_rows(task, &self, 1, true);
    if (err)
        return err;
    local->face->bias = local->bias;
    local->face->level = task->total[DUAL_LEVEL];
    if (task->total[DUAL_STRIDE] > 0) {
        const uint64_t before = local->face->n;
        sums[MOVED] = (double)count_own_groups(local->face);
        turn_rows(local->face, task->total[DUAL_TURN]);
        move_free_rows(local, task->total[DUAL_STRIDE], false,
                       task->partial + OWED * n, task->partial + GONE * n);
        sums[HITS] = (double)(before - local->face->n);
    }
    evaluate_rows(local, local->base, task->partial + GRADIENT * n, sums);
    return STRADS_OK;
}

/* Sends a step to partitions; a stride of 0: steps start from the beginning. */
static void tell_step(strads_commit *commit, double stride, double by)
{
    commit->total_change[DUAL_STRIDE] = stride - commit->total[DUAL_STRIDE];
    commit->total_change[DUAL_TURN] = by - commit->total[DUAL_TURN];
}

static void end_steps(dual_state *state)
{
    state->step = DUAL_ASCEND;
    state->scan_due = true;
    for (uint32_t g = 0; g < state->pools; g++)
        state->pool[g].since = 0;
}

static strads_err aggregate_step(strads_commit *commit)
{
    dual_state *state = commit->state;
    const size_t n = state->columns + 1;
    const face_step found = {.gradient = commit->partial + GRADIENT * n,
                             .owed = commit->partial + OWED * n,
                             .gone = commit->partial + GONE * n,
                             .sums = commit->partial + VECTORS * n};
    dual_heading *heading = &state->heading;

    if (!heading->v)
        heading->v = malloc(n * sizeof(double));
    if (!heading->v)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu columns",
                           (unsigned long long)n);
    if (!(commit->total[DUAL_STRIDE] > 0))
        heading->steps = 0;
    for (uint64_t j = 0; j < n && found.sums[HITS] > 0; j++)
        commit->change[dual_place(state, j)] = found.owed[j];
    tell_step(commit, 0, 0);
    strads_commit_count_updates(commit, (uint64_t)found.sums[MOVED]);
    if (head_on(heading, state->columns, &found, state->enough)) {
        for (uint64_t j = 0; j < n; j++)
            commit->change[dual_place(state, j)] +=
                heading->alpha * heading->v[j];
        tell_step(commit, heading->alpha, heading->beta);
    } else {
        end_steps(state);
    }
    dual_take_intercept(commit);
    return STRADS_OK;
}

/* ---- all steps in a round ------------------------------------------------ */

/* Restores the sum of b, and makes p keep it. */
static void keep_sum(const dual_local *local)
{
    enum { TIMES = 4 };
    dual_face *face = local->face;
    double *v = face->heading.v, mean = 0;

    for (int t = 0; t < TIMES && face->n > 0 && face->sum != 0; t++) {
        const uint64_t n = face->n;
        const double by = -face->sum / (double)n;
        local->kernels->add_dense(face->columns, by, face->ones, face->w);
        move_free_rows(local, by, true, face->w, v);
        if (face->n == n)
            break;
    }
    for (uint64_t k = 0; k < face->n; k++)
        mean += face->direction[k] / (double)face->n;
    for (uint64_t k = 0; k < face->n; k++)
        face->direction[k] -= mean;
    local->kernels->add_dense(face->columns, -mean, face->ones, v);
}

/* Copies w to the renumbered columns, and computes u. */
static void take_w(const strads_task *task)
{
    const dual_local *local = task->local;
    dual_face *face = local->face;
    const uint64_t last = face->columns;

    face->keeps_sum = local->problem.options.intercept;
    face->bias = face->keeps_sum ? 0 : local->bias;
    face->level = task->total[DUAL_LEVEL];
    if (face->keeps_sum)
        face->level += local->bias * local->w[local->columns];
    for (uint64_t k = 0; k < last; k++)
        face->w[k] = local->w[face->column[k]];
    face->w[last] = local->w[local->columns];
    face->heading.steps = 0;
    memset(face->heading.v, 0, (last + 1) * sizeof(double));
    memset(face->ones, 0, (last + 1) * sizeof(double));
    for (uint64_t k = 0; k < face->n && face->keeps_sum; k++)
        add(local, k, 1, face->ones);
}

/* Copies w back: s times as far from its start, as after a pass. */
static void give_w(const dual_local *local, double s)
{
    const dual_face *face = local->face;

    for (uint64_t k = 0; k <= face->columns; k++) {
        double *w =
            &local->w[k < face->columns ? face->column[k] : local->columns];
        *w += s * (face->w[k] - *w);
    }
}

/* Returns the number of moved groups, over all steps. */
static uint64_t take_steps(const dual_local *local, double enough)
{
    dual_face *face = local->face;
    dual_heading *heading = &face->heading;
    uint64_t moved = 0;

    for (bool goes_on = face->n > 0; goes_on;) {
        double sums[FACE_SUMS] = {0};
        const face_step found = {.gradient = face->gradient, .sums = sums};
        if (face->keeps_sum)
            keep_sum(local);
        memset(face->gradient, 0, (face->columns + 1) * sizeof(double));
        evaluate_rows(local, face->w, face->gradient, sums);
        goes_on = head_on(heading, face->columns, &found, enough);
        if (!goes_on)
            break;
        moved += count_own_groups(face);
        local->kernels->add_dense(face->columns + 1, heading->alpha, heading->v,
                                  face->w);
        turn_rows(face, heading->beta);
        move_free_rows(local, heading->alpha, false, face->w, heading->v);
    }
    return moved;
}

static strads_err go_all_steps(strads_task *task)
{
    dual_local *local = task->local;
    const double s = task->total[DUAL_SAFETY];
    const strads_err err = gather_rows(task, task->peer, task->n_peers, false);

    if (err)
        return err;
    dual_begin_w(task);
    take_w(task);
    const dual_face *face = local->face;
    const double sum = face->sum;
    task->partial[ALL_MOVED] =
        (double)take_steps(local, task->total[DUAL_ENOUGH]);
    give_w(local, s);
    if (face->keeps_sum) {
        task->partial[LACKS] = face->level - task->total[DUAL_LEVEL];
        local->w[local->columns] += s * local->bias * (face->sum - sum);
    }
    return STRADS_OK;
}

strads_err dual_update_active(strads_task *task)
{
    if (task->block.n > 0)
        return take_face_step(task);
    return task->share->partition == task->first_peer ? go_all_steps(task)
                                                      : STRADS_OK;
}

strads_err dual_aggregate_active(strads_commit *commit)
{
    dual_state *state = commit->state;

    if (commit->block.n > 0)
        return aggregate_step(commit);
    strads_commit_count_updates(commit, (uint64_t)commit->partial[ALL_MOVED]);
    commit->total_change[DUAL_LEVEL] += commit->partial[LACKS];
    state->level_step = 0;
    state->moved = true;
    state->joined = false;
    end_steps(state);
    return STRADS_OK;
}

/* ---- scheduling ---------------------------------------------------------- */

bool dual_is_settled(const dual_pool *pool)
{
    return pool->since >= PASSES && pool->falls > SLOW &&
           pool->crossed <= CROSSED * pool->inside;
}

void dual_judge_face(dual_state *state)
{
    bool settled = state->columns >= DUAL_NEWTON_COLUMNS && !state->rested &&
                   state->problem.loss->quadratic;

    for (uint32_t g = 0; g < state->pools; g++)
        settled = settled && state->pool[g].settled &&
                  state->pool[g].since >= state->patience;
    if (!settled)
        return;
    state->patience = state->gap < .5 * state->gap_before ? PASSES
                      : state->patience < PATIENCE_MAX    ? 2 * state->patience
                                                          : PATIENCE_MAX;
    state->gap_before = state->gap;
    state->scan_due = false; /* the scan comes after the steps */
    state->step = DUAL_ACTIVE;
}
