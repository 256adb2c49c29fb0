/* A block's pass: each row of its groups to its best b, one after the other;
 * groups in an order drawn anew, a group's rows as they lie in memory. That is
 * as good as an order that is drawn row by row. Groups may be those of any
 * partition of the pool.
 *
 * What is told of a group is its rows' shares of the duality gap as they were
 * found, which sum to an estimate of what the run has left to do. A row at a
 * bound which pulls outward as hard as dual_pass.c asks for rests (Hsieh et al.,
 * ICML 2008, section 3.2, "shrinking": more than anything pulled at all in the
 * pass before). */
#include <stdlib.h>

#include <strads/policy.h>

#include "dual_newton.h"

/* Steps are so many times as long as to a row's best b alone: rows that are
 * alike all go the same way, and fewer passes do (successive over-relaxation,
 * Young, Trans. AMS 76, 1954). Of losses with kinks only what rows have in
 * common bends D. Where columns are few the last digits are Newton's. */
#define STRIDE 1.1
#define STRIDE_KINKS 1.25

static double stride_of(const dual_local *local)
{
    return local->columns < DUAL_NEWTON_COLUMNS ? 1
           : local->smooth                      ? STRIDE
                                                : STRIDE_KINKS;
}

size_t dual_partial_ascend(const strads_task *task)
{
    return 2 * (size_t)task->block.n + DUAL_ASCEND_MORE;
}

/* ---- an order ---------------------------------------------------------- */

static uint64_t next_random(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static uint32_t draw(uint64_t *s, uint32_t n)
{
    return (uint32_t)(((next_random(s) >> 32) * n) >> 32);
}

static strads_err reserve(dual_local *local, uint32_t n)
{
    if (n <= local->room)
        return STRADS_OK;
    free(local->order);
    local->order = malloc(n * sizeof(uint32_t));
    local->room = local->order ? n : 0;
    return local->room ? STRADS_OK
                       : strads_fail(STRADS_ENOMEM,
                                     "no memory for a block of %u groups", n);
}

static void draw_order(const strads_task *task)
{
    const uint32_t n = task->block.n;
    uint64_t s = strads_random_bits(task->seed, UINT64_C(0x73766d6f72646572),
                                    task->round, task->share->partition) |
                 1;
    uint32_t *order = ((dual_local *)task->local)->order;

    for (uint32_t k = 0; k < n; k++)
        order[k] = k;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t other = k + draw(&s, n - k), held = order[other];
        order[other] = order[k];
        order[k] = held;
    }
}

/* ---- a group ----------------------------------------------------------- */

/* The partition of the pool that has a group, and which of its rows these
 * are. */
typedef struct group {
    const strads_share *share;
    dual_sample *sample; /* of the share's row 0 */
    uint64_t begin, end;
    uint32_t *awake; /* those that do not rest */
    double *resting; /* the part of D of those that do */
} group;

static group group_at(const strads_task *task, uint32_t place)
{
    const uint64_t number =
        strads_block_param(&task->block, place) - dual_first_group(task->shape);
    const uint64_t size = dual_group_rows(task->shape->rows);
    uint32_t low = 0, high = task->n_peers;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        const dual_local *peer = task->peer[middle].local;
        if (peer->first_group <= number)
            low = middle;
        else
            high = middle;
    }
    dual_local *local = task->peer[low].local;
    const uint64_t at = number - local->first_group;
    const uint64_t begin = at * size < local->rows ? at * size : local->rows;
    const uint64_t end =
        begin + size < local->rows ? begin + size : local->rows;
    return (group){.share = dual_share(local, task->peer[low].share),
                   .sample = local->sample,
                   .begin = begin,
                   .end = end,
                   .awake = &local->awake[at],
                   .resting = &local->resting[at]};
}

/* What a partition's visits need beside its local state. */
typedef struct visit {
    dual_local *local;
    double safety;    /* s */
    double stride;    /* over that to a row's best */
    double steep;     /* a fall that lets a row rest */
    bool wakes;       /* rows that rest are looked at, too */
    double worst;     /* the steepest rise so far */
    double part;      /* the group's rows' part of D, */
    double gap;       /* and of the gap as it was found; */
    uint64_t entries; /* those of them that do not rest, */
    bool all_rest;    /* if any */
    uint64_t visits, inside, crossed;
} visit;

/* One row to its best b, and beyond. */
static void ascend(visit *v, dual_sample *x, const data_column *row, double z)
{
    const dual_local *local = v->local;
    const double flat = local->flat;
    const double b = dual_beyond(x, flat, v->stride, x->b,
                                 dual_best(x, flat, v->safety, x->b, z));

    v->gap += dual_gap_at(x, flat, x->b, z);
    if (b != x->b)
        dual_add(local, row, v->safety * (b - x->b), local->w);
    x->b = b;
}

/* False: the row rests from now on. */
static bool visit_row(visit *v, dual_sample *x, const data_column *row)
{
    const dual_local *local = v->local;
    const double z = dual_dot(local, row, local->w);
    const double rise = dual_rise(x, local->flat, x->b, z);
    const bool inside = dual_is_inside(x, local->flat);

    v->visits++;
    if (rise > 0) {
        v->worst = dual_larger(v->worst, rise);
        ascend(v, x, row, z);
    }
    v->inside += dual_is_inside(x, local->flat);
    v->crossed += dual_is_inside(x, local->flat) != inside;
    return rise >= -v->steep;
}

/* The rows of a group to be looked at, a bit each. */
static uint32_t rows_of(const visit *v, const group *g)
{
    const uint64_t n = g->end - g->begin;
    const uint32_t all = n > 0 ? UINT32_MAX >> (DUAL_GROUP_MAX - n) : 0;

    return v->wakes ? all : all & *g->awake;
}

/* Rows that rest cost nothing: what they have of D is known. */
static void visit_rows(visit *v, const group *g)
{
    double resting = v->wakes ? 0 : *g->resting;
    uint32_t awake = 0;

    for (uint32_t rows = rows_of(v, g); rows > 0; rows &= rows - 1) {
        const uint64_t i = g->begin + (uint64_t)__builtin_ctz(rows);
        dual_sample *x = &g->sample[i];
        const data_column row = dual_row_of(g->share, i);
        if (visit_row(v, x, &row)) {
            awake |= rows & (~rows + 1);
            v->entries += row.n;
            v->part += dual_conjugate(x, v->local->flat, x->b);
        } else {
            resting += dual_conjugate(x, v->local->flat, x->b);
        }
    }
    *g->awake = awake;
    *g->resting = resting;
    v->part += resting;
    v->all_rest = awake == 0;
}

/* ---- a group of the logistic loss -------------------------------------- */

/* How many of its rows move together. Those without weight do not move. */
static uint32_t together(const visit *v, const group *g)
{
    double most = 0;

    for (uint64_t i = g->begin; i < g->end; i++)
        most = dual_larger(most, g->sample[i].square * g->sample[i].cost);
    return dual_entropy_together(v->safety * most);
}

/* Rows begin .. end - 1. */
static void move_together(visit *v, const group *g, uint64_t begin,
                          uint64_t end)
{
    const dual_local *local = v->local;
    data_column row[DUAL_ENTROPY_ROWS];
    dual_sample *sample[DUAL_ENTROPY_ROWS];
    dual_entropies rows;
    uint32_t n = 0;

    for (uint64_t i = begin; i < end; i++) {
        dual_sample *x = &g->sample[i];
        if (!dual_has_entropy(x))
            continue;
        row[n] = dual_row_of(g->share, i);
        sample[n] = x;
        rows.cost[n] = x->cost;
        rows.curvature[n] = v->safety * x->square;
        rows.m[n] = x->target * dual_dot(local, &row[n], local->w);
        rows.part[n] = x->target * x->b;
        rows.u[n++] = x->u;
    }
    if (n == 0)
        return;
    local->move(n, &rows);
    for (uint32_t k = 0; k < n; k++) {
        dual_sample *x = sample[k];
        const double b = x->target * rows.part[k];
        if (b != x->b)
            dual_add(local, &row[k], v->safety * (b - x->b), local->w);
        x->b = b;
        x->u = rows.u[k];
        v->entries += row[k].n;
    }
    v->visits += n;
    v->gap += rows.gap;
    v->part += rows.dual;
    v->all_rest = false;
}

/* By as equal numbers as there can be. */
static void visit_entropies(visit *v, const group *g)
{
    const uint64_t n = g->end - g->begin;
    const uint64_t most = together(v, g), times = (n + most - 1) / most;

    for (uint64_t k = 0; k < times; k++)
        move_together(v, g, g->begin + n * k / times,
                      g->begin + n * (k + 1) / times);
}

static void visit_group(visit *v, const group *g)
{
    v->gap = v->part = 0;
    v->entries = 0;
    v->all_rest = true;
    if (v->local->problem.loss == DUAL_LOGISTIC)
        visit_entropies(v, g);
    else
        visit_rows(v, g);
}

/* |w|^2 where a block begins. The first of a run without a start has a w of 0,
 * and b for it to be guessed; of several partitions no one could know the sum
 * of their guesses. */
static double begin_at(dual_local *local, const strads_share *given)
{
    const double reached =
        local->kernels->dot_dense(local->columns + 1, local->w, local->w);
    const bool alone = local->joint == local->w;

    return reached == 0 && alone && local->problem.loss == DUAL_LOGISTIC
               ? dual_guess(local, dual_share(local, given))
               : reached;
}

strads_err dual_update_ascend(strads_task *task)
{
    dual_local *local = task->local;
    const uint32_t n = task->block.n;
    const strads_err err = reserve(local, n);
    visit v = {.local = local,
               .safety = task->total[DUAL_SAFETY],
               .stride = stride_of(local),
               .steep = dual_steep(task),
               .wakes = task->total[DUAL_STEEP] < 0};

    if (err)
        return err;
    draw_order(task);
    dual_begin_w(task);
    local->level = task->total[DUAL_LEVEL];
    const double reached = begin_at(local, task->share);
    group next = group_at(task, local->order[0]);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t at = local->order[k];
        const group g = next;
        if (k + 1 < n) {
            next = group_at(task, local->order[k + 1]);
            if (next.begin < next.end)
                dual_fetch_row(next.share, next.sample, next.begin);
        }
        visit_group(&v, &g);
        task->partial[at] = v.all_rest ? -1 : v.gap;
        task->partial[n + at] = (double)v.entries;
        task->value[dual_at(local, at)] = v.part;
    }
    task->partial[2 * n + DUAL_WORST] = v.worst;
    task->partial[2 * n + DUAL_VISITS] = (double)v.visits;
    task->partial[2 * n + DUAL_INSIDE] = (double)v.inside;
    task->partial[2 * n + DUAL_CROSSED] = (double)v.crossed;
    task->partial[2 * n + DUAL_REACHED] = reached;
    return STRADS_OK;
}
