/* An intercept that is not penalised.
 *
 * P without a penalty of the intercept b0 has the dual of before under one more
 * condition, sum b_i = 0. Proximal points find both: with a level l, a problem
 *
 *     P(w, b0) + 1/(2 B^2) (b0 - l)^2,   b0 = l + B v
 *
 * is that of a bias column of value B, whose coefficient v = B sum b_i is
 * penalised as all are, with l added to each z. At its end, or near it, b0 is
 * the next level. In the dual that is the method of multipliers (Rockafellar,
 * SIAM J. Control and Optimization 14, 1976): what the level lacks becomes
 * smaller by 1 + B^2 times P's curvature in b0. So B v is a share of what it
 * lacks; two levels tell which, and the next one makes up for it.
 *
 * D is a bound where sum b_i = 0, and the rows' b are not quite there. With the
 * larger side's b, those above 0 or those below, times t < 1 they are, t being
 * the smaller side's sum over the larger one's. All parts of D are concave and
 * 0 at 0, so that
 *
 *     D >= sum of the one side + t sum of the other side - 1/2 |X'b|^2
 *          + (1 - t) X'b X_s'b_s - 1/2 (1 - t)^2 (sum |b_i| |x_i|)^2
 *
 * with s the side that is made smaller. */
#include <math.h>
#include <string.h>

#include "dual.h"

/* B^2 over how much D bends in a row's b: passes over the rows suffer from a
 * column of 1 and more of it, and less makes levels slow. */
#define BIAS_SHARE .1

/* The least share of what is missing that a bias is taken for. */
#define SHARE_MIN .05

/* ---- the survey -------------------------------------------------------- */

void dual_level_survey(const dual_local *local, const strads_share *share,
                       dual_survey *survey)
{
    for (uint64_t i = 0; i < local->rows; i++) {
        survey->squares += local->sample[i].square - local->bias * local->bias;
        survey->weight += local->weight[i];
        survey->sum += local->weight[i] * share->label[i];
    }
    survey->rows += (double)local->rows;
}

void dual_level_merge(dual_survey *into, const dual_survey *from)
{
    into->rows += from->rows;
    into->squares += from->squares;
    into->weight += from->weight;
    into->sum += from->sum;
}

/* How much D bends in a row's b at least, beside |x|^2: d, or of an entropy. */
static double bend_of(const dual_problem *problem)
{
    const double c = problem->options.c;

    return problem->loss == DUAL_LOGISTIC       ? 4 / c
           : dual_loss_is_smooth(problem->loss) ? .5 / c
                                                : 0;
}

/* Standardised rows have a square of about 1 a column. */
double dual_level_bias(const dual_problem *problem, const dual_survey *survey,
                       uint64_t columns)
{
    const double square = problem->options.standardize
                              ? (double)columns
                              : survey->squares / survey->rows;
    const double bend = square + bend_of(problem);

    if (!problem->options.intercept)
        return problem->options.bias;
    return bend > 0 ? sqrt(BIAS_SHARE * bend) : 1;
}

/* Numbers are counted from their mean at first. The block ends with the bias's
 * coefficient. */
void dual_level_begin(strads_commit *commit, const dual_survey *survey)
{
    dual_state *state = commit->state;
    const strads_svm_options *o = &state->problem.options;
    const double *start = o->start_intercept;
    const bool classifies = dual_loss_classifies(state->problem.loss);
    const size_t at = dual_place(state, commit->block.n - 1);
    double level = 0;

    if (o->intercept && start)
        level = start[state->target];
    else if (o->intercept && !classifies && survey->weight > 0)
        level = survey->sum / survey->weight;
    else if (start && state->bias > 0)
        commit->change[at] =
            start[state->target] / state->bias - commit->value[at];
    commit->total_change[DUAL_LEVEL] = level - commit->total[DUAL_LEVEL];
    state->intercept[state->target] =
        level + state->bias * (commit->value[at] + commit->change[at]);
}

/* ---- certificates ------------------------------------------------------ */

void dual_level_add(const dual_local *local, const dual_sample *x, double b,
                    double z, double dual, double *sums)
{
    const int side = b < 0;
    const double bias = local->bias;
    const double square = x->square - bias * bias;

    sums[DUAL_DUAL + side] += dual;
    if (!local->problem.options.intercept)
        return;
    /* b x intercept sums to 0, and hides the rest where targets are large. */
    const double intercept = local->level + bias * local->base[local->columns];
    sums[DUAL_DUAL + side] -= b * intercept;
    sums[DUAL_SIZE + side] += fabs(b);
    sums[DUAL_PULL + side] += b * (z - intercept);
    sums[DUAL_REACH + side] += fabs(b) * sqrt(square > 0 ? square : 0);
}

/* t, and the side that it makes smaller. */
static double balance(const dual_state *state, const double *sums, int *larger)
{
    const double *size = sums + DUAL_SIZE;

    *larger = size[1] > size[0];
    return state->problem.options.intercept && size[*larger] > 0
               ? size[!*larger] / size[*larger]
               : 1;
}

double dual_level_excess(const dual_state *state, const double *sums)
{
    int larger;
    const double t = balance(state, sums, &larger);

    return (1 - t) * fabs(sums[DUAL_DUAL + larger]);
}

double dual_level_dual(const dual_state *state, const double *sums,
                       dual_point at)
{
    const double *part = sums + DUAL_DUAL;
    int larger;
    const double t = balance(state, sums, &larger);
    const double reach = (1 - t) * sums[DUAL_REACH + larger];
    const double pull = (1 - t) * sums[DUAL_PULL + larger] - reach * at.apart;

    return part[!larger] + t * part[larger] - at.dual_square / 2 + pull -
           reach * reach / 2;
}

/* ---- from level to level ----------------------------------------------- */

/* What the bias comes to. */
static double bias_of(const strads_commit *commit)
{
    const dual_state *state = commit->state;
    const double *w = strads_store_dense(commit->store, 0);

    return state->bias * w[dual_place(state, state->columns)];
}

/* The level goes by a multiple of what the bias comes to; what it came to
 * before, and how far the level went then, tell which. */
static void move(strads_commit *commit, double bias)
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

void dual_level_watch(strads_commit *commit)
{
    dual_state *state = commit->state;
    const double *sums = state->sums;

    state->level_gap = state->gap;
    if (!state->problem.options.intercept)
        return;
    state->level_gap = sums[DUAL_LOSS] - sums[DUAL_DUAL] - sums[DUAL_DUAL + 1] +
                       sums[DUAL_PULL] + sums[DUAL_PULL + 1];
    move(commit, bias_of(commit));
}

void dual_level_take(strads_commit *commit)
{
    const dual_state *state = commit->state;

    if (state->problem.options.intercept)
        commit->total_change[DUAL_LEVEL] += bias_of(commit);
}
