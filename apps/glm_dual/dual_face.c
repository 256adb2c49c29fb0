/* The last digits where columns are many and g is quadratic between its bounds:
 * conjugate gradients in the b that are between them.
 *
 * On that face D is a quadratic, and rises by r_i = target_i - z_i -+ epsilon -
 * d_i b_i in b_i. With S = X_J'r, over the face's rows J, a step goes along p
 * and v = X_J'p:
 *
 *     beta = max(0, r'(r - r before)) / (r'r before)
 *     p = r + beta p                     v = S + beta v
 *     alpha = r'p / (v'v + p'd p)        b += alpha p      w += alpha v
 *
 * (Hestenes and Stiefel, 1952; this beta is Polak's and Ribiere's, 1969). A row
 * that would leave its bounds stops there and is out of the face: w and v have
 * of it what they should not,
 *
 *     owed = sum (b - b unbounded) x,   gone = - sum p x
 *
 * and steps go on with w + owed and v + gone.
 *
 * Where there is one pool its first partition goes all steps for all in one
 * round. Otherwise a step is a round: partitions give S and the products, the
 * coordinator moves w, and partitions move their b when they hear of alpha and
 * beta, which is at the next step; so r is of w without what is owed, and r'p -
 * v'owed makes up for it.
 *
 * An intercept that is not penalised asks for sum b = 0. In one pool steps keep
 * that sum: r and p are taken less their means, v less as much of u = X_J'1,
 * what rows at their bounds take off the sum all others give back, and r's mean
 * is what the level lacks.
 *
 * That J is the right one is left to passes: they come before, until next to no
 * row comes to a bound or leaves it, and after, when a scan has woken who is
 * wrong at a bound. More and Toraldo, SIAM J. Optimization 1, 1991, go from
 * face to face so. */
#include <stdlib.h>
#include <string.h>

#include "dual.h"

/* Steps of one face; passes before the next, and twice as many each time when
 * the last one has not halved the gap. */
enum { STEPS_MAX = 100, PASSES = 3, PATIENCE_MAX = 96 };

/* A pass has settled when it leaves so much of the gap, and when so small a
 * share of rows between bounds has come or gone. */
#define SLOW .75
#define CROSSED .0008

/* Steps end when r'r is this share of what it was. */
#define SMALL 1e-6

/* What a step finds over a face's rows: r'r, r'(r before), r'p, the same of d r
 * and d p, the rows' shares of the gap, how many have come to a bound, and in
 * how many groups b moved. */
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

/* What partitions give of a step that is a round, [columns + 1] each, before
 * these; of all steps in a round they give how many groups have moved, step by
 * step, and what the level lacks. */
enum { GRADIENT, OWED, GONE, VECTORS };
enum { ALL_MOVED, LACKS, ALL_SUMS };

/* Rows between their bounds, whose entries lie side by side: each step walks
 * through all of them, and they are few and far apart in the shares. */
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
    uint64_t columns; /* so many have entries, where they are numbered anew: */
    uint32_t *column; /* [columns] which these are, */
    uint32_t *number; /* [all columns] and their numbers */
    double *w, *gradient; /* [columns + 1] w, S, */
    double *ones;         /* u */
    double bias;          /* B, or 0 while the sum of b is kept instead: */
    bool keeps_sum;
    double level, sum; /* what z is counted from; sum b of all rows */
    dual_heading heading;
};

/* A column that has no number. */
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

/* ---- gathering --------------------------------------------------------- */

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

/* A row's entries to where `at` is; columns are numbered as they come, so that
 * those of many entries are near each other. */
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

static uint64_t add_rows(dual_face *face, const strads_peer *of, uint64_t size,
                         uint64_t at)
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

/* The rows of n partitions; columns are numbered anew where that is asked for,
 * and no row is full and knows no columns but all. */
static strads_err gather(const strads_task *task, const strads_peer *of,
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
        at = add_rows(face, &of[k], size, at);
    return STRADS_OK;
}

/* ---- a step's rows ----------------------------------------------------- */

/* w += a x of row k, in the face's columns. */
static void add(const dual_local *local, uint64_t k, double a, double *w)
{
    const dual_face *face = local->face;

    local->kernels->add(&face->row[k], a, w);
    w[face->columns] += a * face->bias;
}

/* Takes r less its mean, and S with it: the level has the mean. */
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

/* How D rises at w, in all b, and S of it. */
static void evaluate(const dual_local *local, const double *w, double *gradient,
                     double *sums)
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
    if (face->keeps_sum && face->n > 0) /* means of r before were 0 */
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
static void turn(dual_face *face, double beta)
{
    for (uint64_t k = 0; k < face->n; k++)
        face->direction[k] = face->pull[k] + beta * face->direction[k];
}

/* Moves b by alpha p, or all by alpha, but not out of the face. Rows that come
 * to a bound leave it; w and v are told what they have too much of them. */
static void move(const dual_local *local, double alpha, bool alike, double *w,
                 double *v)
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

static uint64_t count_groups(const dual_face *face)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < face->n; k++)
        n += k == 0 || face->group[k] != face->group[k - 1];
    return n;
}

/* ---- the way ----------------------------------------------------------- */

/* What a step finds: S, what w and v are to be told of rows that came to a
 * bound, NULL where they have been, and sums. */
typedef struct face_step {
    const double *gradient, *owed, *gone; /* [columns + 1] */
    const double *sums;
} face_step;

/* The next heading. False: D does not rise along it, or does not bend. */
static bool head(dual_heading *heading, uint64_t columns,
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

/* False: there is no next step, since what is left of the gap is `enough`,
 * say. */
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
           (head(heading, columns, found, heading->steps > 2 ? beta : 0) ||
            head(heading, columns, found, 0));
}

/* ---- a step a round ---------------------------------------------------- */

size_t dual_partial_face(const strads_task *task)
{
    return task->block.n > 0
               ? VECTORS * ((size_t)task->shape->cols + 1) + FACE_SUMS
               : ALL_SUMS;
}

static strads_err step(strads_task *task)
{
    dual_local *local = task->local;
    const strads_peer self = {.share = task->share, .local = local};
    const size_t n = local->columns + 1;
    double *sums = task->partial + VECTORS * n;
    strads_err err = STRADS_OK;

    if (!(task->total[DUAL_STRIDE] > 0))
        err = gather(task, &self, 1, true);
    if (err)
        return err;
    local->face->bias = local->bias;
    local->face->level = task->total[DUAL_LEVEL];
    if (task->total[DUAL_STRIDE] > 0) {
        const uint64_t before = local->face->n;
        sums[MOVED] = (double)count_groups(local->face);
        turn(local->face, task->total[DUAL_TURN]);
        move(local, task->total[DUAL_STRIDE], false, task->partial + OWED * n,
             task->partial + GONE * n);
        sums[HITS] = (double)(before - local->face->n);
    }
    evaluate(local, local->base, task->partial + GRADIENT * n, sums);
    return STRADS_OK;
}

/* What partitions are told of a step; a stride of 0: steps begin anew. */
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

/* ---- all steps in a round ---------------------------------------------- */

/* Gives back what the sum of b lacks, and has p keep it. */
static void keep_sum(const dual_local *local)
{
    enum { TIMES = 4 };
    dual_face *face = local->face;
    double *v = face->heading.v, mean = 0;

    for (int t = 0; t < TIMES && face->n > 0 && face->sum != 0; t++) {
        const uint64_t n = face->n;
        const double by = -face->sum / (double)n;
        local->kernels->add_dense(face->columns, by, face->ones, face->w);
        move(local, by, true, face->w, v);
        if (face->n == n)
            break;
    }
    for (uint64_t k = 0; k < face->n; k++)
        mean += face->direction[k] / (double)face->n;
    for (uint64_t k = 0; k < face->n; k++)
        face->direction[k] -= mean;
    local->kernels->add_dense(face->columns, -mean, face->ones, v);
}

/* Where w stands, in the face's columns, and u. */
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

/* Where it has come to: s times as far from where it was, as after a pass. */
static void give_w(const dual_local *local, double s)
{
    const dual_face *face = local->face;

    for (uint64_t k = 0; k <= face->columns; k++) {
        double *w =
            &local->w[k < face->columns ? face->column[k] : local->columns];
        *w += s * (face->w[k] - *w);
    }
}

/* How many groups have moved, step by step. */
static uint64_t go(const dual_local *local, double enough)
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
        evaluate(local, face->w, face->gradient, sums);
        goes_on = head_on(heading, face->columns, &found, enough);
        if (!goes_on)
            break;
        moved += count_groups(face);
        local->kernels->add_dense(face->columns + 1, heading->alpha, heading->v,
                                  face->w);
        turn(face, heading->beta);
        move(local, heading->alpha, false, face->w, heading->v);
    }
    return moved;
}

static strads_err go_all_steps(strads_task *task)
{
    dual_local *local = task->local;
    const double s = task->total[DUAL_SAFETY];
    const strads_err err = gather(task, task->peer, task->n_peers, false);

    if (err)
        return err;
    dual_begin_w(task);
    take_w(task);
    const dual_face *face = local->face;
    const double sum = face->sum;
    task->partial[ALL_MOVED] = (double)go(local, task->total[DUAL_ENOUGH]);
    give_w(local, s);
    if (face->keeps_sum) {
        task->partial[LACKS] = face->level - task->total[DUAL_LEVEL];
        local->w[local->columns] += s * local->bias * (face->sum - sum);
    }
    return STRADS_OK;
}

strads_err dual_update_face(strads_task *task)
{
    if (task->block.n > 0)
        return step(task);
    return task->share->partition == task->first_peer ? go_all_steps(task)
                                                      : STRADS_OK;
}

strads_err dual_aggregate_face(strads_commit *commit)
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

/* ---- when -------------------------------------------------------------- */

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
    state->scan_due = false; /* it comes when the steps are over */
    state->step = DUAL_FACE;
}
