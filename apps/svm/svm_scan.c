/* A look at all rows from the w that all agree on: the duality gap, row by row.
 *
 *     P - D = sum over rows of  loss(r) - (b target - e|b| - d/2 b^2) + b z
 *
 * where each term is 0 or more, and is that row's priority (as Csiba, Qu and
 * Richtarik, ICML 2015, and Duenner, Parnell and Jaggi, NIPS 2017, draw by).
 * P and D themselves are bounds whatever w and b are, as long as w = X'b. */
#include "svm_parts.h"

/* The numbers behind what is told of n rows. */
enum { LOSS, DUAL, SUPPORTS, N_MORE };

/* A run ends when so many scans in a row have bettered neither bound. */
enum { IDLE_MAX = 20 };

size_t svm_partial_scan(const strads_task *task)
{
    return (size_t)task->block.n + N_MORE;
}

strads_err svm_update_scan(strads_task *task)
{
    svm_local *local = task->local;
    double *sums = task->partial + task->block.n;

    for (uint64_t i = 0; i < local->rows; i++) {
        const svm_sample *x = &local->sample[i];
        const linear_column row = svm_row_of(task->share, i);
        const double z = svm_dot(local, &row, local->base);
        const double b = local->anchor[i] = task->value[i];
        const double rise = svm_rise(x, local->flat, b, z);
        task->partial[i] = rise > 0 ? svm_gap_at(x, local->flat, b, z) : rise;
        sums[LOSS] += svm_loss_at(x, local->flat, z);
        sums[DUAL] += svm_dual_at(x, local->flat, b);
        sums[SUPPORTS] += b != 0;
    }
    return STRADS_OK;
}

/* ---- a start ----------------------------------------------------------- */

size_t svm_partial_seed(const strads_task *task)
{
    (void)task;
    return 0;
}

/* Gives each row a b, in *value, and makes the w of them; its difference to
 * the one that all know is left for the next merge to tell. */
static void take_over(strads_task *task, double sigma)
{
    svm_local *local = task->local;
    const double s = local->safety, share = s / task->share->partitions;
    double h;

    for (uint64_t j = 0; j <= local->columns; j++)
        local->w[j] = local->base[j] * (1 - share);
    for (uint64_t i = 0; i < local->rows; i++) {
        const linear_column row = svm_row_of(task->share, i);
        const double z = svm_dot(local, &row, local->base);
        task->value[i] = sigma > 0
                             ? svm_smooth(&local->sample[i], local->flat, sigma,
                                          local->anchor[i], z, &h)
                             : svm_answer(&local->sample[i], local->flat, z);
        svm_add(local, &row, s * task->value[i], local->w);
    }
    local->stale = false;
    local->moved = true;
}

/* The b that the start's w asks for. */
strads_err svm_update_seed(strads_task *task)
{
    take_over(task, 0);
    return STRADS_OK;
}

/* The c of the smooth problem. */
strads_err svm_update_take(strads_task *task)
{
    svm_local *local = task->local;

    take_over(task, local->sigma);
    local->takes++;
    return STRADS_OK;
}

strads_err svm_aggregate_seed(strads_commit *commit)
{
    svm_state *state = commit->state;

    state->seed_due = false;
    state->moved = true;
    return STRADS_OK;
}

/* ---- coordinator ------------------------------------------------------- */

static double half_square(svm_state *state, const strads_commit *commit)
{
    const double *w = strads_store_dense(commit->store, 0);
    double sum = 0;

    state->nonzeros = 0;
    for (uint64_t j = 0; j <= state->columns; j++) {
        sum += w[j] * w[j];
        state->nonzeros += w[j] != 0;
    }
    return sum / 2;
}

/* Rounding ends every ascent: when neither bound betters any more, scan after
 * scan, the gap that is left is the arithmetic's. */
static void watch(svm_state *state, double dual)
{
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
static double enough(svm_state *state, double tolerance)
{
    const double wanted = tolerance * state->primal;

    if (state->rested && state->gap > wanted)
        state->aim = fmax(.3 * state->aim, 1e-6);
    return state->aim * wanted;
}

static strads_err certify(strads_commit *commit)
{
    svm_state *state = commit->state;
    const double square = half_square(state, commit);
    const double dual = state->dual - square;

    state->primal = state->loss + square;
    state->gap = fmax(state->primal - dual, 0);
    state->supports = state->supports_seen;
    if (!isfinite(state->primal))
        return strads_fail(STRADS_EPROGRAM,
                           "the sum of losses overflows: scale the columns "
                           "down, or C");
    watch(state, dual);
    svm_newton_judge(state);
    state->enough = enough(state, commit->tolerance);
    state->scans++;
    state->scan_due = state->rested = false;
    state->next_scan = 3 * state->visits;
    return STRADS_OK;
}

strads_err svm_aggregate_scan(strads_commit *commit)
{
    svm_state *state = commit->state;
    const uint32_t n = commit->block.n;
    const double *sums = commit->partial + n;

    if (state->seen == 0) {
        state->loss = state->dual = 0;
        state->supports_seen = 0;
    }
    svm_pass_scanned(commit);
    state->loss += sums[LOSS];
    state->dual += sums[DUAL];
    state->supports_seen += (uint64_t)sums[SUPPORTS];
    if (state->seen < state->partitions)
        return STRADS_OK;
    state->seen = 0;
    return certify(commit);
}
