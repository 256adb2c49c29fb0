/* Alternating least squares and descent by row. With y the scaled ratings, n
 * their number in a row (1 if the penalty is unweighted) and s a slab of the
 * factors,
 *
 *     (sum q_s q_s' + lambda n I) p_s = sum (y - p_r'q_r) q_s
 *
 * where r are the factors outside the slab. This is the row's exact minimum
 * over the slab. als has all factors in one slab (Zhou et al. 2008); cd has one
 * tile after another (block coordinate descent). Implicit feedback has all
 * pairs, 0 for unseen ones, with confidence 1 for unseen and 1 + alpha r for
 * seen pairs (Hu, Koren and Volinsky 2008):
 *
 *     (Q'Q + sum alpha r q q' + lambda I) p = sum (1 + alpha r) q
 *
 * Instead of exactly, its rows can be solved by a few steps of conjugate
 * gradients from their factors in the previous sweep (mf_conjugate.h).
 *
 *     equations  RING: a block's items; each partition adds to their
 *                equations, the last one solves them; a pass for each slab. By
 *                conjugate gradients: a pass for the remainders and one for
 *                each step; one partition needs a single pass
 *     spread     RING: to every partition's copy of all items
 *     solve      each partition's users, from that copy
 *
 * Users are solved for last, so at the end each user is exact for the items. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>

/* Passes over the items in a sweep. */
static uint32_t count_passes(const strads_mf_options *o, uint32_t partitions)
{
    if (mf_conjugates(o))
        return partitions > 1 ? 1 + o->cg_steps : 1;
    return mf_stride(mf_rank(o)) / mf_slab(o);
}

/* ---- memory -------------------------------------------------------------- */

static bool allocate_factors(mf_local *l)
{
    mf_rows *r = &l->rows;
    const uint64_t square = (uint64_t)l->stride * l->stride;

    l->p = mf_large_floats(l->users * l->stride);
    r->q = mf_large_floats((uint64_t)l->items * l->stride);
    if (l->options.implicit) {
        r->gram = mf_floats(square);
        r->items_gram = mf_floats(square);
        if (!r->gram || !r->items_gram)
            return false;
    }
    if (mf_conjugates(&l->options) &&
        !mf_conjugate_open(&r->conjugate, l->stride))
        return false;
    return l->p && r->q && mf_row_solver_open(&r->solver, mf_slab(&l->options));
}

/* Workspace for the longest row of either side. */
static bool allocate_row(mf_local *l, uint64_t most)
{
    mf_rows *r = &l->rows;
    const uint64_t *start = r->by_item.start;

    for (uint32_t k = 0; k < l->items; k++)
        if (start[k + 1] - start[k] > most)
            most = start[k + 1] - start[k];
    r->index = malloc(sizeof(*r->index) * (most + 1));
    r->target = mf_floats(most);
    r->weight = mf_floats(most);
    r->error = mf_floats(most);
    return r->index && r->target && r->weight && r->error;
}

void mf_rows_free(mf_rows *r)
{
    mf_lines_free(r);
    free(r->q);
    free(r->gram);
    free(r->index);
    free(r->target);
    free(r->weight);
    free(r->error);
    mf_row_solver_close(&r->solver);
    mf_conjugate_close(&r->conjugate);
    free(r->items_gram);
    *r = (mf_rows){0};
}

/* ---- building ---------------------------------------------------------- */

static strads_err build_lines(mf_local *l, const strads_task *task,
                              mf_split *split)
{
    strads_err err = mf_lines_count(l, task, split);

    if (!err && (!allocate_factors(l) || !allocate_row(l, split->most)))
        err = mf_no_memory("all factors",
                           4 * (size_t)l->stride * (l->users + l->items));
    if (!err)
        err = mf_split_counted(split, l);
    return err ? err : mf_lines_fill(l, task, split);
}

strads_err mf_rows_build(strads_task *task)
{
    mf_local *l = task->local;
    mf_split split = {0};
    strads_err err = mf_split_open(l, task, &split);

    if (!err)
        err = build_lines(l, task, &split);
    mf_split_close(&split);
    if (err)
        return err;
    if (!mf_conjugates(&l->options))
        mf_draw_users(l, task); /* steps begin at 0 */
    return STRADS_OK;
}

/* ---- one row ------------------------------------------------------------- */

static mf_ridge ridge_of(const mf_local *l, const float *gram, double n)
{
    return (mf_ridge){.penalty = mf_row_penalty(&l->options, &l->steps, n),
                      .gram = gram,
                      .nonnegative = l->options.nonnegative,
                      .whole = l->rows.solver.slab == l->stride};
}

/* Computes the remainders of a row's ratings into r->error. */
static void find_error(mf_local *l, mf_line *line, const float *row)
{
    mf_rows *r = &l->rows;

    memcpy(r->error, line->target, sizeof(float) * line->n);
    r->solver.equations->subtract(line, 0, l->stride, row, r->error);
    line->target = r->error;
}

/* Target and weight of implicit ratings; r = 0 has only the base confidence. */
static void weigh_line(mf_local *l, const float *rating, mf_line *line)
{
    mf_rows *r = &l->rows;

    for (uint32_t k = 0; k < line->n; k++) {
        r->weight[k] = (float)l->options.alpha * rating[k];
        r->target[k] = rating[k] > 0 ? 1 + r->weight[k] : 0;
    }
    line->weight = r->weight;
    line->target = r->target;
}

/* ---- items ------------------------------------------------------------- */

/* The k-th item of block b, which was taken. */
static mf_line item_line(mf_local *l, uint64_t b, uint32_t k)
{
    const mf_rows *r = &l->rows;
    const mf_side *side = &r->by_item;
    const uint64_t *start = side->start + r->block_line[b] + k;
    const uint64_t first = start[0] - side->first;
    mf_line line = {.factor = l->p,
                    .stride = l->stride,
                    .n = (uint32_t)(start[1] - start[0]),
                    .index = side->other + first,
                    .target = side->value + first};

    if (mf_conjugates(&l->options))
        line.weight = line.target;
    else if (l->options.implicit)
        weigh_line(l, side->value + first, &line);
    return line;
}

/* Adds this partition's users to the equations of the block's k-th item. */
static void meet_item(mf_local *l, const strads_task *task, uint32_t k,
                      bool last)
{
    mf_items *items = task->object;
    const uint32_t i = strads_block_param(&task->block, k);
    mf_rows *r = &l->rows;
    const size_t square = (size_t)r->solver.slab * r->solver.slab;
    const uint32_t from = items->slab * r->solver.slab;
    const mf_ridge ridge = ridge_of(l, r->gram, l->item_n[i]);
    float *q = items->q + (size_t)k * l->stride;
    float *matrix = r->solver.matrix, *side = r->solver.side;
    mf_line line = item_line(l, task->block.id, k);

    if (items->system) {
        matrix = items->system + k * (square + r->solver.slab);
        side = matrix + square;
    } else {
        mf_row_solver_clear(&r->solver);
    }
    if (!ridge.whole)
        find_error(l, &line, q);
    r->solver.equations->gather(&line, from, r->solver.slab, matrix, side);
    if (!last)
        return;
    if (l->item_n[i] > 0)
        (void)mf_settle(&r->solver, &ridge, matrix, side, q + from);
    else
        memset(q + from, 0, sizeof(float) * r->solver.slab);
}

static uint32_t rows_batch(uint64_t left)
{
    return left < MF_CONJUGATE_ROWS ? (uint32_t)left : MF_CONJUGATE_ROWS;
}

/* All steps for a block's items, if one partition has all ratings. */
static void conjugate_items(mf_local *l, const strads_task *task,
                            mf_items *items)
{
    mf_line line[MF_CONJUGATE_ROWS];
    double objective[MF_CONJUGATE_ROWS];

    for (uint32_t from = 0; from < task->block.n; from += MF_CONJUGATE_ROWS) {
        const uint32_t n = rows_batch(task->block.n - from);
        for (uint32_t k = 0; k < n; k++)
            line[k] = item_line(l, task->block.id, from + k);
        mf_conjugate_solve(&l->rows.conjugate, n, line, l->options.cg_steps,
                           items->q + (size_t)from * l->stride, objective);
    }
}

/* A partition's part in one pass over a block's items. */
static strads_err meet_conjugate(mf_local *l, const strads_task *task,
                                 mf_items *items, bool last)
{
    mf_conjugate *c = &l->rows.conjugate;
    const uint64_t each = (uint64_t)task->block.n * l->stride;
    const bool first = items->slab == 0;

    if (!items->system) {
        const strads_err err = mf_items_equations(items, 3 * each);
        if (err)
            return err;
    }
    float *left = items->system, *way = left + each, *change = way + each;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const size_t at = (size_t)k * l->stride;
        const mf_line line = item_line(l, task->block.id, k);
        (void)c->equations->pull(&line, first, (first ? items->q : way) + at,
                                 (first ? left : change) + at);
    }
    for (uint64_t k = 0; k < task->block.n && last; k += MF_CONJUGATE_ROWS) {
        const uint32_t n = rows_batch(task->block.n - k);
        const size_t at = k * l->stride;
        if (first)
            mf_conjugate_begin(c, n, items->q + at, left + at, way + at);
        else
            mf_conjugate_step(c, n, items->q + at, left + at, way + at,
                              change + at, NULL);
    }
    return STRADS_OK;
}

static strads_err update_conjugate(mf_local *l, const strads_task *task,
                                   mf_items *items)
{
    const bool last = task->step + 1 == task->share->partitions;
    strads_err err = STRADS_OK;

    if (last)
        mf_conjugate_set(&l->rows.conjugate, l->rows.gram,
                         ridge_of(l, NULL, 1).penalty);
    if (task->share->partitions == 1)
        conjugate_items(l, task, items);
    else
        err = meet_conjugate(l, task, items, last);
    if (err || !last)
        return err;
    items->slab =
        (items->slab + 1) % count_passes(&l->options, task->share->partitions);
    if (items->slab)
        return STRADS_OK;
    free(items->system);
    items->system = NULL;
    items->system_floats = 0;
    return STRADS_OK;
}

strads_err mf_update_equations(strads_task *task)
{
    mf_local *l = task->local;
    mf_items *items = task->object;
    strads_err err = mf_lines_take_block(l, (uint32_t)task->block.id);

    if (err || mf_conjugates(&l->options))
        return err ? err : update_conjugate(l, task, items);
    const uint64_t each =
        (uint64_t)l->rows.solver.slab * (l->rows.solver.slab + 1);
    const bool last = task->step + 1 == task->share->partitions;

    if (task->step == 0 && !last) {
        err = mf_items_equations(items, task->block.n * each);
        if (err)
            return err;
    }
    for (uint32_t k = 0; k < task->block.n; k++)
        meet_item(l, task, k, last);
    if (last) {
        free(items->system);
        items->system = NULL;
        items->system_floats = 0;
        items->slab = (items->slab + 1) %
                      count_passes(&l->options, task->share->partitions);
    }
    return STRADS_OK;
}

strads_err mf_update_spread(strads_task *task)
{
    mf_local *l = task->local;
    const mf_items *items = task->object;

    for (uint32_t k = 0; k < task->block.n; k++)
        memcpy(l->rows.q +
                   (size_t)strads_block_param(&task->block, k) * l->stride,
               items->q + (size_t)k * l->stride, sizeof(float) * l->stride);
    return STRADS_OK;
}

/* ---- users ------------------------------------------------------------- */

/* User u of the chunk that was taken. */
static mf_line user_line(mf_local *l, uint64_t u)
{
    const mf_rows *r = &l->rows;
    const mf_side *side = &r->by_user;
    const uint64_t first = side->start[u] - side->first;
    mf_line line = {.factor = r->q,
                    .stride = l->stride,
                    .n = (uint32_t)(side->start[u + 1] - side->start[u]),
                    .index = side->narrow ? r->index : side->other + first,
                    .target = side->value + first};

    for (uint32_t k = 0; side->narrow && k < line.n; k++)
        r->index[k] = side->narrow[first + k];
    if (mf_conjugates(&l->options))
        line.weight = line.target;
    else if (l->options.implicit)
        weigh_line(l, side->value + first, &line);
    return line;
}

/* Returns the sum of squares after solving. For implicit feedback, it is the
 * weighted sum over all pairs; at p = 0 it is sum (1 + alpha r). Otherwise adds
 * the errors to *sum. */
static double solve_user(mf_local *l, mf_line *line, float *p, double *sum)
{
    mf_rows *r = &l->rows;
    const mf_ridge ridge = ridge_of(l, r->items_gram, line->n);
    const bool implicit = l->options.implicit;
    double left = 0;

    if (line->n == 0) {
        memset(p, 0, sizeof(float) * l->stride);
        return 0;
    }
    if (!ridge.whole)
        find_error(l, line, p);
    for (uint32_t k = 0; k < line->n && implicit; k++)
        left += (double)line->target[k];
    for (uint32_t from = 0; from < l->stride; from += r->solver.slab) {
        mf_row_solver_clear(&r->solver);
        r->solver.equations->gather(line, from, r->solver.slab,
                                    r->solver.matrix, r->solver.side);
        left += mf_settle(&r->solver, &ridge, r->solver.matrix, r->solver.side,
                          p + from);
        if (!ridge.whole)
            r->solver.equations->subtract(line, from, r->solver.slab,
                                          r->solver.step, r->error);
    }
    if (implicit)
        return fmax(left, 0); /* a difference, with rounding errors */
    if (ridge.whole)
        find_error(l, line, p);
    left = 0;
    for (uint32_t k = 0; k < line->n; k++) {
        left += (double)r->error[k] * (double)r->error[k];
        *sum += (double)r->error[k];
    }
    return left;
}

static double square_of(const float *row, uint64_t n)
{
    double sum = 0;

    for (uint64_t k = 0; k < n; k++)
        sum += (double)row[k] * (double)row[k];
    return sum;
}

/* The same for users [from, from + n) by conjugate gradients. */
static double conjugate_users(mf_local *l, uint64_t from, uint32_t n)
{
    mf_rows *r = &l->rows;
    const double penalty = ridge_of(l, NULL, 1).penalty;
    mf_line line[MF_CONJUGATE_ROWS] = {0};
    double objective[MF_CONJUGATE_ROWS], loss = 0;
    float *p = l->p + from * l->stride;

    for (uint32_t k = 0; k < n; k++)
        line[k] = user_line(l, from + k);
    mf_conjugate_solve(&r->conjugate, n, line, l->options.cg_steps, p,
                       objective);
    for (uint32_t k = 0; k < n; k++) {
        double left = objective[k] -
                      penalty * square_of(p + (size_t)k * l->stride, l->stride);
        for (uint32_t e = 0; e < line[k].n; e++)
            left += line[k].weight[e] > 0 ? 1 + (double)line[k].weight[e] : 0;
        loss += fmax(left, 0);
    }
    return loss;
}

/* lambda n |q|^2 of all items; partition 0 reports it. */
static double items_penalty(const mf_local *l)
{
    double sum = 0;

    for (uint32_t i = 0; i < l->items; i++)
        sum += ridge_of(l, NULL, l->item_n[i]).penalty *
               square_of(l->rows.q + (size_t)i * l->stride, l->stride);
    return sum;
}

static double held_loss(const mf_local *l)
{
    double loss = 0;

    for (uint32_t b = 0; b < l->blocks; b++)
        for (uint64_t k = l->held.start[b]; k < l->held.start[b + 1]; k++) {
            const mf_sample *s = &l->held.sample[k];
            const uint32_t i = strads_block_param(&l->cut->block[b], s->item);
            const float *p = l->p + (size_t)s->user * l->stride;
            const float *q = l->rows.q + (size_t)i * l->stride;
            double e = (double)s->value + mf_lift_of(l, p, q);
            for (uint32_t j = 0; j < l->stride; j++)
                e -= (double)p[j] * (double)q[j];
            e = mf_clip(&l->scale, mf_sample_rating(l, b, s), e);
            loss += e * e;
        }
    return loss;
}

size_t mf_partial_solve(const strads_task *task)
{
    const strads_mf_options *o = task->config;
    const size_t stride = mf_stride(task->width - 1);

    return MF_SOLVED + (o->implicit ? stride * stride : 0);
}

/* Solves for users [from, to) of the chunk that was taken; adds to MF_LOSS,
 * MF_LEFT and MF_PENALTY. */
static void solve_users(mf_local *l, uint64_t from, uint64_t to, double *sum)
{
    for (uint64_t u = from; u < to; u++) {
        float *p = l->p + u * l->stride;
        mf_line line = user_line(l, u);
        sum[MF_LOSS] += solve_user(l, &line, p, &sum[MF_LEFT]);
        sum[MF_PENALTY] +=
            ridge_of(l, NULL, line.n).penalty * square_of(p, l->stride);
    }
}

static strads_err solve_chunks(mf_local *l, double *sum)
{
    const mf_rows *r = &l->rows;

    for (uint32_t c = 0; c < r->chunks; c++) {
        const uint64_t from = r->chunk_user[c], to = r->chunk_user[c + 1];
        const strads_err err = mf_lines_take_chunk(l, c);
        if (err)
            return err;
        if (!mf_conjugates(&l->options))
            solve_users(l, from, to, sum);
        else
            for (uint64_t u = from; u < to; u += MF_CONJUGATE_ROWS)
                sum[MF_LOSS] += conjugate_users(l, u, rows_batch(to - u));
    }
    return STRADS_OK;
}

strads_err mf_update_solve(strads_task *task)
{
    mf_local *l = task->local;
    mf_rows *r = &l->rows;
    double *gram = task->partial + MF_SOLVED;
    const size_t square = (size_t)l->stride * l->stride;
    const double penalty = ridge_of(l, NULL, 1).penalty;

    mf_lift_update(&l->steps);
    if (l->options.implicit)
        mf_gram(&r->solver, r->q, l->items, l->stride, r->items_gram);
    if (mf_conjugates(&l->options))
        mf_conjugate_set(&r->conjugate, r->items_gram, penalty);
    const strads_err err = solve_chunks(l, task->partial);
    if (err)
        return err;
    if (mf_conjugates(&l->options))
        task->partial[MF_PENALTY] +=
            penalty * square_of(l->p, l->users * l->stride);
    if (task->share->partition == 0)
        task->partial[MF_PENALTY] += items_penalty(l);
    task->partial[MF_HELD_LOSS] = held_loss(l);
    if (l->options.implicit) {
        mf_gram(&r->solver, l->p, l->users, l->stride, r->gram);
        for (size_t k = 0; k < square; k++)
            gram[k] = (double)r->gram[k];
    }
    return STRADS_OK;
}

strads_err mf_receive_solve(strads_task *task)
{
    mf_local *l = task->local;
    const double *gram = task->partial + MF_SOLVED;
    const size_t square = (size_t)l->stride * l->stride;

    for (size_t k = 0; k < square && l->options.implicit; k++)
        l->rows.gram[k] = (float)gram[k];
    if (!l->rows.began) {
        l->rows.began = true;
        return STRADS_OK;
    }
    mf_step_schedule_follow(&l->steps,
                            mf_fit_error(&l->steps, task->partial, l->scale.n),
                            task->partial[MF_HELD_LOSS] / l->sum[MF_HELD_N]);
    return mf_best_keep(l, l->rows.q);
}

/* ---- the coordinator ----------------------------------------------------- */

/* The coordinator's part of solving whole rows. A sweep is one `equations` for
 * each slab of factors, one `spread` and one `solve`. Before the first sweep,
 * users are solved for once, from the items' first factors. */

/* Most bytes of equations in a travelling block, and most such blocks of each
 * partition in flight: they bound the memory of a pass besides the factors. */
enum { EQUATIONS_BYTES = 2 << 20, BLOCKS_OUT = 4 };

uint64_t mf_rows_blocks(const strads_mf_options *o, uint64_t items,
                        uint32_t partitions)
{
    const uint64_t slab = mf_slab(o);
    const uint64_t bytes = items * slab * (slab + 1) * sizeof(float);

    return partitions > 1 && !mf_conjugates(o)
               ? (bytes + EQUATIONS_BYTES - 1) / EQUATIONS_BYTES
               : 1;
}

static strads_err dispatch_meet(strads_turn *turn, mf_state *s)
{
    const uint32_t from = s->sent, left = s->blocks - from;
    const uint32_t most = s->partitions > 1 && !mf_conjugates(&s->options)
                              ? BLOCKS_OUT * s->partitions
                              : s->blocks;

    s->sent += left < most ? left : most;
    return strads_turn_dispatch(turn, MF_EQUATIONS, s->sent - from,
                                s->cut->block + from);
}

strads_err mf_rows_dispatch(strads_turn *turn, mf_state *s)
{
    const strads_block none = {.id = s->blocks};

    mf_lap_begins(s);
    switch (s->next) {
    case MF_EQUATIONS:
        return dispatch_meet(turn, s);
    case MF_SPREAD:
        return strads_turn_dispatch(turn, MF_SPREAD, s->blocks, s->cut->block);
    default:
        return strads_turn_dispatch(turn, MF_SOLVE, 1, &none);
    }
}

strads_err mf_met(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->sent)
        return STRADS_OK;
    mf_lap_ends(s);
    if (s->sent < s->blocks)
        return STRADS_OK;
    s->added = s->sent = 0;
    s->slab = (s->slab + 1) % count_passes(&s->options, s->partitions);
    s->next = s->slab ? MF_EQUATIONS : MF_SPREAD;
    return STRADS_OK;
}

strads_err mf_spread_done(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->blocks)
        return STRADS_OK;
    mf_lap_ends(s);
    s->added = 0;
    s->next = MF_SOLVE;
    return STRADS_OK;
}

strads_err mf_solved(strads_commit *commit)
{
    mf_state *s = commit->state;
    const double *sum = commit->partial;

    mf_lap_ends(s);
    s->next = MF_EQUATIONS;
    if (!s->began) {
        s->began = true;
        return STRADS_OK;
    }
    if (!isfinite(sum[MF_LOSS]))
        return strads_fail(STRADS_ELIMIT,
                           "the factors' equations have no finite solution: "
                           "the ratings, or alpha, are too large");
    s->objective = s->scale.sd * s->scale.sd * (sum[MF_LOSS] + sum[MF_PENALTY]);
    mf_lift_update(&s->steps);
    mf_step_schedule_follow(&s->steps, mf_fit_error(&s->steps, sum, s->scale.n),
                            sum[MF_HELD_LOSS] / s->sum[MF_HELD_N]);
    s->next = s->options.test ? MF_TEST : MF_REPORT;
    return STRADS_OK;
}
