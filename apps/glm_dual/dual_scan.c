/* A look at all rows from the w that all agree on: the duality gap, row by row.
 *
 *     P - D = sum over rows of  loss(r) - (b target - e|b| - d/2 b^2) + b z
 *
 * where each term is 0 or more, and is that row's priority (as Csiba, Qu and
 * Richtarik, ICML 2015, and Duenner, Parnell and Jaggi, NIPS 2017, draw by).
 * P and D are bounds whatever w and b are; here w = X'b. */
#include <string.h>

#include "dual.h"

/* A run ends when so many scans in a row have bettered neither bound; and so
 * many passes lie between two scans at most. */
enum { IDLE_MAX = 20, PASSES_MAX = 300, LEVEL_PASSES = 2 };

/* After so many of them s is the number of partitions again. */
enum { IDLE_SAFE = 3 };

/* The groups of the partition that a block of rows belongs to. */
static uint64_t count_groups(const strads_task *task)
{
    const strads_block *own = &task->block;
    const uint64_t begin = own->first - dual_first_sample(task->shape);
    const strads_range groups =
        dual_groups_of(task->shape->rows, (strads_range){begin, begin + own->n},
                       own->owner);

    return groups.end - groups.begin;
}

size_t dual_partial_scan(const strads_task *task)
{
    return 2 * (size_t)count_groups(task) + DUAL_SUMS;
}

/* Rows that rest have no share of their group's priority; where all do, it is
 * below 0. */
strads_err dual_update_scan(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    double *entries = task->partial + count_groups(task);
    double *sums = entries + count_groups(task);
    const uint64_t size = dual_group_rows(task->shape->rows);
    const double fall = dual_steep(task);

    local->level = task->total[DUAL_LEVEL];
    for (double *group = task->partial; group < entries; group++)
        *group = -1;
    memset(local->awake, 0, local->groups * sizeof(*local->awake));
    memset(local->resting, 0, local->groups * sizeof(*local->resting));
    for (uint64_t i = 0; i < local->rows; i++) {
        dual_sample *x = &local->sample[i];
        double *group = &task->partial[i / size];
        const data_column row = dual_row_of(share, i);
        const double z = dual_dot(local, &row, local->base);
        const double rise = dual_rise(x, local->flat, x->b, z);
        const double loss = dual_loss_at(x, local->flat, z);
        const double dual = dual_conjugate(x, local->flat, x->b);
        local->anchor[i] = task->value[dual_at(local, i)] = x->b;
        if (rise < -fall) {
            local->resting[i / size] += dual;
        } else {
            local->awake[i / size] |= UINT32_C(1) << i % size;
            *group = dual_larger(*group, 0);
            entries[i / size] += (double)row.n;
        }
        if (rise > 0)
            *group += dual_larger(loss - dual + z * x->b, 0);
        sums[DUAL_LOSS] += loss;
        sums[DUAL_SUPPORTS] += x->b != 0;
        dual_level_add(local, x, x->b, z, dual, sums);
    }
    return STRADS_OK;
}

/* ---- a start ----------------------------------------------------------- */

size_t dual_partial_seed(const strads_task *task)
{
    (void)task;
    return 0;
}

/* Gives each row a b, and makes the w of them; its difference to the one that
 * all know is left for the next merge to tell. */
static void take_over(strads_task *task, double sigma)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const double s = task->total[DUAL_SAFETY];
    const double part = s / task->share->partitions;
    double h;

    dual_begin_w(task);
    local->level = task->total[DUAL_LEVEL];
    for (uint64_t j = 0; j <= local->columns; j++)
        local->w[j] = local->base[j] * (1 - part);
    for (uint64_t i = 0; i < local->rows; i++) {
        dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        const double z = dual_dot(local, &row, local->base);
        x->b = sigma > 0
                   ? dual_smooth(x, local->flat, sigma, local->anchor[i], z, &h)
                   : dual_answer(x, local->flat, z);
        if (dual_has_entropy(x))
            x->u = -x->target * z;
        task->value[dual_at(local, i)] = x->b;
        dual_add(local, &row, s * x->b, local->w);
    }
    local->based = local->joint != local->w;
}

/* The b that the start's w asks for. */
strads_err dual_update_seed(strads_task *task)
{
    take_over(task, 0);
    return STRADS_OK;
}

/* The c of the smooth problem. Their own w is for the case that dual ascent is
 * to go on from here. */
strads_err dual_update_take(strads_task *task)
{
    dual_local *local = task->local;

    take_over(task, local->sigma);
    for (uint64_t i = 0; i < local->rows; i++)
        local->anchor[i] = local->sample[i].b;
    return STRADS_OK;
}

strads_err dual_aggregate_seed(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->seed_due = false;
    state->moved = state->spread = true;
    state->joined = false;
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

static double square_of(dual_state *state, const strads_commit *commit)
{
    const double *w = strads_store_dense(commit->store, 0);
    double sum = 0;

    state->nonzeros = 0;
    for (uint64_t j = 0; j < dual_penalised(state); j++) {
        const double value = w[dual_place(state, j)];
        sum += value * value;
        state->nonzeros += value != 0;
    }
    return sum;
}

/* Rounding ends every ascent: when neither bound betters any more, scan after
 * scan, the gap that is left is the arithmetic's. */
void dual_watch(dual_state *state)
{
    const double dual = state->primal - state->gap;
    const double unit = 1e-16 * fabs(state->primal);

    if (state->least - state->primal > unit || dual - state->most > unit)
        state->idle = 0;
    else if (++state->idle >= IDLE_MAX)
        state->stalled = true;
    state->least = fmin(state->least, state->primal);
    state->most = fmax(state->most, dual);
}

/* When the next scan is due: at a share of what is allowed to be left. What
 * passes find is an estimate; if it was too good, the next scan comes later. */
static double enough(dual_state *state, double tolerance)
{
    const double wanted = tolerance * state->primal;

    if (state->rested && state->level_gap > wanted)
        state->aim = fmax(.3 * state->aim, 1e-6);
    return state->aim * wanted;
}

strads_err dual_certify(dual_state *state, const double *sums, dual_point at)
{
    state->primal = sums[DUAL_LOSS] + at.square / 2;
    state->gap = fmax(state->primal - dual_level_dual(state, sums, at), 0);
    state->supports = (uint64_t)sums[DUAL_SUPPORTS];
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of losses overflows: scale the columns "
                           "down, or C");
    return STRADS_OK;
}

/* How many visits later a scan is due; levels change with scans alone. */
static uint64_t passes_until(const dual_state *state)
{
    const uint64_t most = PASSES_MAX * state->rows;

    if (state->problem.options.intercept)
        return LEVEL_PASSES * state->rows;
    return 2 * state->visits < most ? 2 * state->visits : most;
}

/* s is measured in the directions that partitions move w in most. In others,
 * such as that of the intercept, all of them may do what one should, and undo
 * it in the next pass, when that is too small. */
static void hold_back(strads_commit *commit)
{
    dual_state *state = commit->state;

    if (state->idle % IDLE_SAFE > 0 || state->idle == 0)
        return;
    state->safety = state->partitions;
    dual_set_safety(commit);
}

static strads_err end_scan(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double square = square_of(state, commit);
    const dual_point at = {.square = square, .dual_square = square};
    const strads_err err = dual_certify(state, state->sums, at);

    if (err)
        return err;
    dual_watch(state);
    hold_back(commit);
    dual_level_watch(commit);
    state->enough = enough(state, commit->tolerance);
    commit->total_change[DUAL_ENOUGH] =
        state->enough - commit->total[DUAL_ENOUGH];
    state->scans++;
    state->scan_due = state->rested = false;
    state->next_scan = state->visits + passes_until(state);
    dual_judge(state, commit->tolerance);
    return STRADS_OK;
}

strads_err dual_aggregate_scan(strads_commit *commit)
{
    dual_state *state = commit->state;
    const strads_range groups = state->held[commit->block.owner];
    const double *sums = commit->partial + 2 * (groups.end - groups.begin);

    for (int k = 0; k < DUAL_SUMS; k++)
        state->sums[k] = (state->seen ? state->sums[k] : 0) + sums[k];
    dual_pass_scanned(commit);
    if (state->seen < state->partitions)
        return STRADS_OK;
    state->seen = 0;
    return end_scan(commit);
}
