/* The certificate of a fit, and an unpenalised intercept.
 *
 * A scan computes the duality gap over all rows at the common w:
 *
 *     P - D = sum over rows of  loss(z) - g(b) + b z
 *
 * Each term is 0 or more, and is that row's priority (as Csiba, Qu and
 * Richtarik, ICML 2015, and Duenner, Parnell and Jaggi, NIPS 2017, draw by). P
 * and D are bounds for any w and b; here w = X'b.
 *
 * P without a penalty of an intercept b0 has the same dual with one more
 * condition, sum b_i = 0. Proximal points find both: with a level l, a problem
 *
 *     P(w, b0) + 1/(2 B^2) (b0 - l)^2,   b0 = l + B v
 *
 * is that of a bias column of value B. Its coefficient v = B sum b_i is
 * penalised like all others, and l is added to each z. At its end, or near it,
 * b0 is the next level. In the dual that is the method of multipliers
 * (Rockafellar, SIAM J. Control and Optimization 14, 1976): the error of the
 * level decreases by the factor 1 + B^2 times P's curvature in b0. So B v is a
 * share of the error. Two levels determine the share, and the next level
 * corrects for it.
 *
 * D is a bound if sum b_i = 0, which the rows' b satisfy only approximately.
 * Multiply the larger side's b, those above 0 or those below, by t < 1, the
 * ratio of the smaller side's sum to the larger one's. All parts of D are
 * concave and 0 at 0, so that
 *
 *     D >= sum of the one side + t sum of the other side - 1/2 |X'b|^2
 *          + (1 - t) X'b X_s'b_s - 1/2 (1 - t)^2 (sum |b_i| |x_i|)^2
 *
 * with s the side that is made smaller. */
#include <string.h>

#include "dual.h"

/* B^2 relative to the curvature of D in a row's b: with 1 or more, passes
 * over the rows become slow; with less, levels do. */
#define BIAS_SHARE .1

/* The least share of the error that a bias is assumed to be. */
#define SHARE_MIN .05

/* A run ends after this many scans in a row without an improved bound; and
 * the largest number of passes between two scans. */
enum { IDLE_MAX = 20, PASSES_MAX = 300, LEVEL_PASSES = 2 };

/* After this many of them s is set to the number of partitions. */
enum { IDLE_SAFE = 3 };

/* ---- certificates ------------------------------------------------------ */

/* The relative rounding of one operation. */
#define EPS 2.2e-16
/* Rounding below this share of P is ignored. */
#define ROUNDING_MIN 1e-9

double dual_length(const dual_local *local)
{
    const double *w = local->base;
    double sum = 0;

    for (uint64_t j = 0; j <= local->columns; j++)
        if (j < local->columns || !local->problem.options.intercept)
            sum += w[j] * w[j];
    return sqrt(sum);
}

/* sum |w_j x_j| of a row. If columns differ much in scale, |w| |x| is far
 * larger. It is already known, so it is used if it is negligible anyway. */
static double size_of_terms(const dual_local *local, const dual_sample *x,
                            const data_column *row, double b, double length)
{
    const double bound = length * sqrt(x->square);
    const double rows = (double)local->rows;
    double sum = 0;

    if (20 * EPS * fabs(b) * bound * rows <= ROUNDING_MIN * length * length)
        return bound;
    for (uint64_t k = 0; k < row->n; k++)
        sum += fabs(local->base[dual_index(row, k)] * dual_entry(row, k));
    if (!local->problem.options.intercept)
        sum += fabs(local->base[local->columns] * local->bias);
    return sum;
}

void dual_add_sums(const dual_local *local, const dual_sample *x,
                   const data_column *row, double b, double z, double length,
                   double *sums)
{
    const int side = b < 0;
    const double bias = local->bias;
    const double square = x->square - bias * bias;

    sums[DUAL_LOSS] += local->loss->value(x, z);
    sums[DUAL_SUPPORTS] += b != 0;
    sums[DUAL_PART + side] += local->loss->conjugate(x, b);
    if (b != 0)
        sums[DUAL_SPAN] += fabs(b) * size_of_terms(local, x, row, b, length);
    if (!local->problem.options.intercept)
        return;
    /* b x intercept sums to 0, and would dominate the sum if targets are
     * large. */
    const double intercept = local->level + bias * local->base[local->columns];
    sums[DUAL_PART + side] -= b * intercept;
    sums[DUAL_SIZE + side] += fabs(b);
    sums[DUAL_PULL + side] += b * (z - intercept);
    sums[DUAL_REACH + side] += fabs(b) * sqrt(square > 0 ? square : 0);
}

/* t, and the side that it makes smaller. */
static double balance_sides(const dual_state *state, const double *sums,
                            int *larger)
{
    const double *size = sums + DUAL_SIZE;

    *larger = size[1] > size[0];
    return state->problem.options.intercept && size[*larger] > 0
               ? size[!*larger] / size[*larger]
               : 1;
}

double dual_excess(const dual_state *state, const double *sums)
{
    int larger;
    const double t = balance_sides(state, sums, &larger);

    return (1 - t) * fabs(sums[DUAL_PART + larger]);
}

static double dual_value(const dual_state *state, const double *sums,
                         dual_point at)
{
    const double *part = sums + DUAL_PART;
    int larger;
    const double t = balance_sides(state, sums, &larger);
    const double reach = (1 - t) * sums[DUAL_REACH + larger];
    const double pull = (1 - t) * sums[DUAL_PULL + larger] - reach * at.apart;

    return part[!larger] + t * part[larger] - at.dual_square / 2 + pull -
           reach * reach / 2;
}

/* ---- a scan ------------------------------------------------------------ */

/* The groups of the partition to which a block of rows belongs. */
static uint64_t count_block_groups(const strads_task *task)
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
    return 2 * (size_t)count_block_groups(task) + DUAL_SUMS;
}

/* Inactive rows do not count in their group's priority; if all are inactive,
 * it is below 0. */
strads_err dual_update_scan(strads_task *task)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    double *entries = task->partial + count_block_groups(task);
    double *sums = entries + count_block_groups(task);
    const uint64_t size = dual_group_rows(task->shape->rows);
    const double fall = dual_steep(task);
    const double length = dual_length(local);

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
        const double ascent = local->loss->ascent(x, z);
        local->anchor[i] = task->value[dual_at(local, i)] = x->b;
        if (ascent < -fall) {
            local->resting[i / size] += local->loss->conjugate(x, x->b);
        } else {
            local->awake[i / size] |= UINT32_C(1) << i % size;
            *group = dual_larger(*group, 0);
            entries[i / size] += (double)row.n;
        }
        if (ascent > 0)
            *group += dual_gap_at(local->loss, x, z);
        dual_add_sums(local, x, &row, x->b, z, length, sums);
    }
    return STRADS_OK;
}

/* ---- a start ----------------------------------------------------------- */

size_t dual_partial_none(const strads_task *task)
{
    (void)task;
    return 0;
}

/* Sets each row's b, and computes its w; the next merge adds the difference
 * to the common w. */
static void take_over(strads_task *task, double sigma)
{
    dual_local *local = task->local;
    const strads_share *share = dual_share(local, task->share);
    const double s = task->total[DUAL_SAFETY];
    const double part = s / task->share->partitions;

    dual_begin_w(task);
    local->level = task->total[DUAL_LEVEL];
    for (uint64_t j = 0; j <= local->columns; j++)
        local->w[j] = local->base[j] * (1 - part);
    for (uint64_t i = 0; i < local->rows; i++) {
        dual_sample *x = &local->sample[i];
        const data_column row = dual_row_of(share, i);
        const double z = dual_dot(local, &row, local->base);
        if (sigma != DUAL_SIGMA_KEEP) {
            const dual_answer asked =
                local->loss->answer(x, sigma, local->anchor[i], z);
            x->b = asked.b;
            x->u = asked.u;
        }
        task->value[dual_at(local, i)] = x->b;
        dual_add(local, &row, s * x->b, local->w);
    }
    local->based = local->joint != local->w;
}

/* The b of a checkpoint. */
static void restore_row(const dual_local *local, dual_sample *x, double b)
{
    const double most = 1 - 0x1p-53;
    const double a = x->cost > 0 ? dual_smaller(fabs(b) / x->cost, most) : 0;

    x->b = dual_smaller(dual_larger(b, x->low), x->high);
    if (local->loss->smooth && !local->loss->quadratic && a > 0)
        x->u = log(a / (1 - a));
}

/* Sets the b for the start's w, or those of a checkpoint. */
strads_err dual_update_seed(strads_task *task)
{
    const dual_local *local = task->local;
    const bool restores = task->total[DUAL_SIGMA] == DUAL_SIGMA_KEEP;

    for (uint64_t i = 0; restores && i < local->rows; i++)
        restore_row(local, &local->sample[i], task->value[dual_at(local, i)]);
    take_over(task, restores ? DUAL_SIGMA_KEEP : INFINITY);
    return STRADS_OK;
}

/* Sets the c of the smooth problem. Their own w is needed if dual ascent
 * continues from here. */
strads_err dual_update_take(strads_task *task)
{
    dual_local *local = task->local;
    const double sigma = task->total[DUAL_SIGMA];

    take_over(task, local->loss->smooth && sigma != DUAL_SIGMA_KEEP ? INFINITY
                                                                    : sigma);
    for (uint64_t i = 0; i < local->rows; i++)
        local->anchor[i] = local->sample[i].b;
    return STRADS_OK;
}

strads_err dual_aggregate_seed(strads_commit *commit)
{
    dual_state *state = commit->state;

    state->seed_due = false;
    if (commit->block.owner == state->partitions - 1)
        commit->total_change[DUAL_SIGMA] =
            DUAL_SIGMA_FIRST * state->problem.cost - commit->total[DUAL_SIGMA];
    state->moved = state->spread = true;
    state->joined = false;
    return STRADS_OK;
}

/* ---- levels -------------------------------------------------------------- */

double dual_level_bias(const dual_problem *problem, double square)
{
    const double bend = square + problem->loss->strong / problem->cost;

    if (!problem->options.intercept)
        return problem->options.bias;
    return bend > 0 ? sqrt(BIAS_SHARE * bend) : 1;
}

/* The contribution of the bias. */
static double bias_part(const strads_commit *commit)
{
    const dual_state *state = commit->state;
    const double *w = strads_store_dense(commit->store, 0);

    return state->bias * w[dual_place(state, state->columns)];
}

/* The level moves by a multiple of the bias's contribution. The previous
 * contribution and the previous move of the level determine the factor. */
static void move_level(strads_commit *commit, double bias)
{
    dual_state *state = commit->state;

    if (state->level_step != 0) {
        const double share = (state->bias_before - bias) / state->level_step;
        if (share > SHARE_MIN)
            state->level_share = fmin(share, 1);
    }
    state->bias_before = bias;
    state->level_step = bias / state->level_share;
    commit->total_change[DUAL_LEVEL] += state->level_step;
}

static void watch_level(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double *sums = state->sums;

    state->level_gap = state->gap;
    if (!state->problem.options.intercept)
        return;
    state->level_gap = sums[DUAL_LOSS] - sums[DUAL_PART] - sums[DUAL_PART + 1] +
                       sums[DUAL_PULL] + sums[DUAL_PULL + 1];
    move_level(commit, bias_part(commit));
}

void dual_level_take(strads_commit *commit)
{
    const dual_state *state = commit->state;

    if (state->problem.options.intercept)
        commit->total_change[DUAL_LEVEL] += bias_part(commit);
}

/* ---- coordinator --------------------------------------------------------- */

static double square_at_scan(dual_state *state, const strads_commit *commit)
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

/* Rounding ends every ascent: if neither bound improves, scan after scan,
 * the remaining gap is due to rounding. */
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

/* The gap at which the next scan is due: a share of the allowed gap. The
 * value from passes is an estimate; if it was too low, the next scan comes
 * later. */
static double gap_for_scan(dual_state *state, double tolerance)
{
    const double wanted = tolerance * state->primal;

    if (state->rested && state->level_gap > wanted)
        state->aim = fmax(.3 * state->aim, 1e-6);
    return state->aim * wanted;
}

/* Rounding changes z of a row by EPS sum_j |w_j x_j| and each w_j by EPS sum
 * |b x_j| over the rows; each of the two changes P - D by EPS times sum |b|
 * sum_j |w_j x_j|. */
strads_err dual_certify(dual_state *state, const double *sums, dual_point at)
{
    const double rounding = 2 * EPS * sums[DUAL_SPAN];

    state->primal = sums[DUAL_LOSS] + at.square / 2;
    const double gap = state->primal - dual_value(state, sums, at);
    state->rounding = rounding <= ROUNDING_MIN * state->primal ? 0 : rounding;
    state->gap =
        isnan(gap + rounding) ? INFINITY : fmax(gap, 0) + state->rounding;
    state->supports = (uint64_t)sums[DUAL_SUPPORTS];
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of losses overflows: scale the columns "
                           "down, or C");
    return STRADS_OK;
}

/* The number of visits until the next scan; levels change only with scans. */
static uint64_t passes_until(const dual_state *state)
{
    const uint64_t most = PASSES_MAX * state->rows;

    if (state->problem.options.intercept)
        return LEVEL_PASSES * state->rows;
    return 2 * state->visits < most ? 2 * state->visits : most;
}

/* s is measured in the directions in which partitions move w most. If it is
 * too small in other directions, such as the intercept's, all partitions may
 * repeat the same change, and undo it in the next pass. */
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
    const double square = square_at_scan(state, commit);
    const dual_point at = {.square = square, .dual_square = square};
    const strads_err err = dual_certify(state, state->sums, at);

    if (err)
        return err;
    dual_watch(state);
    hold_back(commit);
    watch_level(commit);
    state->enough = gap_for_scan(state, commit->tolerance);
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
