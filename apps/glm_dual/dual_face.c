/* The last digits where columns are many and g is quadratic between its bounds:
 * conjugate gradients in the b that are between them.
 *
 * On that face D is a quadratic, and rises by r_i = target_i - z_i -+ epsilon -
 * d_i b_i in b_i. With S = X_J'r, over the face's rows J, a step goes along p
 * and v = X_J'p:
 *
 *     beta = max(0, r'(r - r before)) / (r'r before)
 *     p = r + beta p                     v = S + beta v
 *     alpha = r'p / (s v'v + p'd p)      b += alpha p      w += s alpha v
 *
 * (Hestenes and Stiefel, 1952; this beta is Polak's and Ribiere's, 1969). A row
 * that would leave its bounds stops there and is out of the face, and w and v
 * are put right by it. s is 1 where one pool has all rows; several pools go
 * steps of their own faces at once, each with rows' problems taken to be s times
 * as curved, and what they have done is merged as after a pass.
 *
 * An intercept that is not penalised asks for sum b = 0. Where there is one pool
 * its steps keep the sum: r and p are taken less their means, v less as much of
 * u = X_J'1, what rows at their bounds take off the sum all others give back,
 * and r's mean is what the level lacks.
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

/* What a pool gives: how many groups have moved, step by step, and what the
 * level lacks. */
enum { MOVED, LACKS, FACE_SUMS };

/* Rows between their bounds, whose entries lie side by side: each step walks
 * through all of them, and they are few and far apart in the shares. */
struct dual_face {
    uint64_t n;
    dual_sample **sample; /* [room] */
    uint32_t *group;      /* [room] */
    data_column *row;     /* [room] */
    double *pull;         /* [room] r, */
    double *course;       /* [room] and p */
    uint64_t room;
    uint32_t *index; /* [entries] */
    double *value;
    uint64_t entries;
    uint64_t columns; /* so many have entries, where they are numbered anew: */
    uint32_t *column; /* [columns] which these are, */
    uint32_t *number; /* [all columns] and their numbers */
    double *w, *rise; /* [columns + 1] w, S, */
    double *v, *ones; /* v and u */
    double safety;    /* s */
    double bias;      /* B, or 0 while the sum of b is kept instead: */
    bool keeps_sum;
    double level, sum; /* what z is counted from; sum b of all rows */
    double square;     /* r'r */
};

/* A column that has no number. */
#define NONE UINT32_MAX

static void free_rows(dual_face *face)
{
    free(face->sample);
    free(face->group);
    free(face->row);
    free(face->pull);
    free(face->course);
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
    free(face->rise);
    free(face->v);
    free(face->ones);
    free(face);
}

/* ---- gathering --------------------------------------------------------- */

static bool reserve_rows(dual_face *face, uint64_t rows, uint64_t entries)
{
    if (rows <= face->room && entries <= face->entries)
        return true;
    free_rows(face);
    face->room = face->entries = 0;
    face->sample = malloc(rows * sizeof(*face->sample));
    face->group = malloc(rows * sizeof(*face->group));
    face->row = malloc(rows * sizeof(*face->row));
    face->pull = malloc(rows * sizeof(*face->pull));
    face->course = malloc(rows * sizeof(*face->course));
    face->index = malloc(entries * sizeof(*face->index));
    face->value = malloc(entries * sizeof(*face->value));
    if (!face->sample || !face->group || !face->row || !face->pull ||
        !face->course || !face->index || !face->value)
        return false;
    face->room = rows;
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
    face->rise = malloc((columns + 1) * sizeof(*face->rise));
    face->v = malloc((columns + 1) * sizeof(*face->v));
    face->ones = malloc((columns + 1) * sizeof(*face->ones));
    return face->column && face->number && face->w && face->rise && face->v &&
           face->ones;
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
        face->pull[face->n] = face->course[face->n] = 0;
        face->row[face->n++] = pack_row(face, &row, at);
        at += row.n;
    }
    for (uint64_t i = 0; i < local->rows; i++)
        face->sum += local->sample[i].b;
    return at;
}

/* The rows of all partitions of a pool. Full rows know no columns but all: then
 * all keep their numbers. */
static strads_err gather(const strads_task *task)
{
    dual_local *local = task->local;
    const uint64_t size = dual_group_rows(task->shape->rows);
    uint64_t rows = 0, entries = 0, at = 0;
    bool full = false;
    data_column row;

    for (uint32_t k = 0; k < task->n_peers; k++)
        for (uint64_t i = 0; find_row(&task->peer[k], &i, &row); i++) {
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
    for (uint32_t k = 0; k < task->n_peers; k++)
        at = add_rows(face, &task->peer[k], size, at);
    return STRADS_OK;
}

/* ---- steps ------------------------------------------------------------- */

/* w += a x, in the face's columns. */
static void add(const dual_local *local, uint64_t k, double a, double *w)
{
    const dual_face *face = local->face;

    local->kernels->add(&face->row[k], a, w);
    w[face->columns] += a * face->bias;
}

/* How D rises at w, in all b, and S of it; the rows' shares of the gap. */
static double look(const dual_local *local, double *square, double *before)
{
    dual_face *face = local->face;
    const uint64_t last = face->columns;
    double gap = 0, sum = 0;

    memset(face->rise, 0, (last + 1) * sizeof(double));
    for (uint64_t k = 0; k < face->n; k++) {
        const dual_sample *x = face->sample[k];
        const double z = local->kernels->dot(&face->row[k], face->w) +
                         face->bias * face->w[last] + face->level;
        const double r =
            x->target - z - copysign(x->flat, x->b) - x->ridge * x->b;
        gap += dual_gap_at(local->loss, x, z);
        sum += r;
        *square += r * r;
        *before += r * face->pull[k];
        face->pull[k] = r;
        add(local, k, r, face->rise);
    }
    if (!face->keeps_sum || face->n == 0)
        return gap;
    const double mean = sum / (double)face->n;
    face->level += mean;
    *square -= mean * sum; /* before the means of r before were 0 */
    for (uint64_t k = 0; k < face->n; k++)
        face->pull[k] -= mean;
    local->kernels->add_dense(last, -mean, face->ones, face->rise);
    return gap;
}

/* Moves b by alpha p, or all by alpha, and w; not out of the face. Rows that
 * come to a bound leave it, and w and v what they have too much of them. How
 * much of the sum of b they keep. */
static double advance(const dual_local *local, double alpha, bool alike)
{
    dual_face *face = local->face;
    double *v = alike ? face->ones : face->v, sum = 0;
    uint64_t n = 0;

    local->kernels->add_dense(face->columns + 1, face->safety * alpha, v,
                              face->w);
    for (uint64_t k = 0; k < face->n; k++) {
        dual_sample *x = face->sample[k];
        const double p = alike ? 1 : face->course[k], to = x->b + alpha * p;
        const double low = x->flat > 0 && x->b > 0 ? 0 : x->low;
        const double high = x->flat > 0 && x->b < 0 ? 0 : x->high;
        sum -= x->b;
        x->b = dual_smaller(dual_larger(to, low), high);
        sum += x->b;
        if (!dual_is_inside(x)) {
            add(local, k, face->safety * (x->b - to), face->w);
            add(local, k, -face->course[k], face->v);
            if (face->keeps_sum)
                add(local, k, -1, face->ones);
            continue;
        }
        face->sample[n] = x;
        face->group[n] = face->group[k];
        face->row[n] = face->row[k];
        face->pull[n] = face->pull[k];
        face->course[n++] = face->course[k];
    }
    face->n = n;
    return sum;
}

/* Gives back what the sum of b lacks, and has p keep it. */
static void keep_sum(const dual_local *local)
{
    enum { TIMES = 4 };
    dual_face *face = local->face;
    double mean = 0;

    for (int t = 0; t < TIMES && face->n > 0 && face->sum != 0; t++) {
        const uint64_t n = face->n;
        face->sum += advance(local, -face->sum / (double)n, true);
        if (face->n == n)
            break;
    }
    for (uint64_t k = 0; k < face->n; k++)
        mean += face->course[k] / (double)face->n;
    for (uint64_t k = 0; k < face->n; k++)
        face->course[k] -= mean;
    local->kernels->add_dense(face->columns, -mean, face->ones, face->v);
}

/* Where b goes next, and how far; 0: D does not rise along it, or does not
 * bend. */
static double head(const dual_local *local, double beta)
{
    dual_face *face = local->face;
    const uint64_t n = face->columns + 1;
    double along = 0, ridge = 0;

    for (uint64_t k = 0; k < face->n; k++) {
        const double p = face->pull[k] + beta * face->course[k];
        along += face->pull[k] * p;
        ridge += face->sample[k]->ridge * p * p;
        face->course[k] = p;
    }
    for (uint64_t j = 0; j < n; j++)
        face->v[j] = face->rise[j] + (beta > 0 ? beta * face->v[j] : 0);
    const double bend =
        face->safety * local->kernels->dot_dense(n, face->v, face->v) + ridge;
    return bend > 1e-14 * face->square && along > 0 ? along / bend : 0;
}

static uint64_t count_groups(const dual_face *face)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < face->n; k++)
        n += k == 0 || face->group[k] != face->group[k - 1];
    return n;
}

/* All steps of one face, until `enough` of the gap is left. The groups moved. */
static uint64_t go(const dual_local *local, double enough)
{
    dual_face *face = local->face;
    double first = 0, last = 0;
    uint64_t moved = 0;

    if (face->keeps_sum)
        keep_sum(local);
    for (int step = 0; step < STEPS_MAX && face->n > 0; step++) {
        double square = 0, before = 0;
        const double gap = look(local, &square, &before);
        if (step == 0)
            first = square;
        if (gap <= enough || square <= SMALL * first)
            break;
        const double beta =
            step > 1 && square > before ? (square - before) / last : 0;
        face->square = last = square;
        double alpha = head(local, beta);
        if (alpha == 0 && beta > 0)
            alpha = head(local, 0);
        if (alpha == 0)
            break;
        moved += count_groups(face);
        face->sum += advance(local, alpha, false);
        if (face->keeps_sum)
            keep_sum(local);
    }
    return moved;
}

/* ---- the phase --------------------------------------------------------- */

size_t dual_partial_face(const strads_task *task)
{
    (void)task;
    return FACE_SUMS;
}

/* Where w stands, in the face's columns, and u. */
static void take_w(const strads_task *task)
{
    const dual_local *local = task->local;
    dual_face *face = local->face;
    const uint64_t last = face->columns;

    face->keeps_sum =
        local->problem.options.intercept && task->shape->pools == 1;
    face->safety = task->shape->pools == 1 ? 1 : task->total[DUAL_SAFETY];
    face->bias = face->keeps_sum ? 0 : local->bias;
    face->level = task->total[DUAL_LEVEL];
    if (face->keeps_sum)
        face->level += local->bias * local->w[local->columns];
    for (uint64_t k = 0; k < last; k++)
        face->w[k] = local->w[face->column[k]];
    face->w[last] = local->w[local->columns];
    memset(face->v, 0, (last + 1) * sizeof(double));
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
        *w += s / face->safety * (face->w[k] - *w);
    }
}

/* A pool's first partition goes all steps for all. */
strads_err dual_update_face(strads_task *task)
{
    dual_local *local = task->local;
    const double s = task->total[DUAL_SAFETY];
    strads_err err;

    if (task->share->partition != task->first_peer)
        return STRADS_OK;
    dual_begin_w(task);
    if ((err = gather(task)))
        return err;
    take_w(task);
    dual_face *face = local->face;
    const double sum = face->sum;
    task->partial[MOVED] = (double)go(local, task->total[DUAL_ENOUGH]);
    give_w(local, s);
    if (face->keeps_sum) {
        task->partial[LACKS] = face->level - task->total[DUAL_LEVEL];
        local->w[local->columns] += s * local->bias * (face->sum - sum);
    }
    return STRADS_OK;
}

strads_err dual_aggregate_face(strads_commit *commit)
{
    dual_state *state = commit->state;

    strads_commit_moved(commit, (uint64_t)commit->partial[MOVED]);
    commit->total_change[DUAL_LEVEL] += commit->partial[LACKS];
    state->level_step = 0;
    state->spread = state->spread || state->pools > 1;
    state->moved = state->scan_due = true;
    state->joined = false;
    state->step = DUAL_ASCEND;
    for (uint32_t g = 0; g < state->pools; g++)
        state->pool[g].since = 0;
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
    state->patience = state->gap < .5 * state->faced   ? PASSES
                      : state->patience < PATIENCE_MAX ? 2 * state->patience
                                                       : PATIENCE_MAX;
    state->faced = state->gap;
    state->scan_due = false; /* it comes when the steps are over */
    state->step = DUAL_FACE;
}
