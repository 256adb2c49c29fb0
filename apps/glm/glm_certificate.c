/* How far a model is from the minimum, as a fact.
 *
 * With u_i = -theta_i / c_i and Fenchel's f(z) >= u z - f*(u), and the same of
 * the penalty, every theta gives a bound from below:
 *
 *     P >= D(theta) = - sum c_i f*(y_i, -theta_i / c_i) - theta'o
 *                     - sum_g pen_g*(X_g'theta)
 *
 * over all w in the boxes that a free coefficient is taken to be in: what is
 * not penalised has pen* = R |q| there instead of infinity, which is next to
 * nothing once its slope is. At the minimum theta = r. Elsewhere pen* of r may be
 * infinite; theta = s r with the largest s <= 1 is not, as all f* and pen* are 0
 * at 0 and convex. */
#include <math.h>

#include "glm_parts.h"

/* So much of the first P counts as nothing: where rows can be met exactly P
 * goes to 0, and so would every gap relative to it be of rounding alone. */
#define NOTHING 1e-14
#define BOX 10

static glm_term boxed_term(const glm_state *state, uint32_t j, double w)
{
    glm_term t = glm_term_of(state, j);

    if (glm_is_free(&t)) {
        const double square = state->norm[j] / state->weight;
        const double box =
            square > 0 ? BOX * (fabs(w) + state->unit / sqrt(square)) : 0;
        t.high = fmin(t.high, box);
        t.low = fmax(t.low, -box);
    }
    return t;
}

/* sum c f*(y, -s r / c) + s r'o */
static double conjugate_rows(const glm_state *state, const double *r, double s)
{
    const glm_loss *loss = state->problem.loss;
    const glm_set *set = &state->set;
    double sum = 0;

    for (uint64_t i = 0; i < set->rows; i++)
        if (set->c[i] > 0)
            sum += set->c[i] * loss->conjugate(set->y[i], -s * r[i] / set->c[i],
                                               state->problem.p) +
                   s * r[i] * set->o[i];
    return sum;
}

static double dual_at(const strads_commit *commit, const double *r, double s)
{
    const glm_state *state = commit->state;
    double sum = conjugate_rows(state, r, s);

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const double q = s * state->slope[j];
        if (j == state->columns) {
            sum += BOX * (fabs(state->b) + state->unit) * fabs(q);
            continue;
        }
        const glm_term t = boxed_term(state, j, commit->value[k]);
        sum += state->problem.penalty->conjugate(&t, &q);
    }
    return -sum;
}

static void add_up(const strads_commit *commit, double *penalty, double *widest,
                   double *tight)
{
    glm_state *state = commit->state;
    const glm_penalty *pen = state->problem.penalty;

    *penalty = 0;
    *widest = *tight = 1;
    state->nonzeros = 0;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const double *w = &commit->value[k], *q = &state->slope[j];
        if (j == state->columns)
            continue;
        glm_term t = boxed_term(state, j, *w);
        *penalty += pen->value(&t, w);
        *widest = fmin(*widest, pen->shrink(&t, q));
        t.l2 = 0;
        if (t.l1 > 0)
            *tight = fmin(*tight, pen->shrink(&t, q));
        state->nonzeros += *w != 0;
    }
}

void glm_certify(strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;
    const glm_rows rows = {set->rows, set->y, set->c, set->z};
    double *r = set->trial; /* no model is open */
    double penalty, widest, tight;

    set->loss = state->problem.loss->look(&rows, state->problem.p, r, NULL);
    add_up(commit, &penalty, &widest, &tight);
    state->primal = set->loss + penalty;
    state->first_primal = fmax(state->first_primal, state->primal);
    double dual = dual_at(commit, r, widest), share = widest;
    if (tight < widest) {
        const double other = dual_at(commit, r, tight);
        if (other > dual) {
            dual = other;
            share = tight;
        }
    }
    const double floor = NOTHING * state->first_primal;
    const double bend = state->problem.loss->bend;
    state->share = share;
    state->sphere = sqrt(2 * fmax(state->primal - dual, 0) * bend);
    const double gained = dual - state->dual;
    state->dual = fmax(state->dual, dual);
    state->excess = fmax(state->primal - state->dual, 0);
    state->gap = state->primal > floor ? state->excess / state->primal : 0;
    linear_watch_scan(&state->watch, state->primal, gained);
}

double glm_critical(const glm_state *state)
{
    const double a = fmax(state->problem.options.l1_ratio, 1e-3);
    double most = 0;

    for (uint32_t j = 0; j < state->columns; j++) {
        const double weight = state->weight * a * state->scale[j] *
                              (state->factor ? state->factor[j] : 1);
        const strads_glm_options *o = &state->problem.options;
        const bool stays = (state->slope[j] > 0 ? o->upper : o->lower) == 0;
        if (weight > 0 && !stays)
            most = fmax(most, fabs(state->slope[j]) / weight);
    }
    return most;
}
