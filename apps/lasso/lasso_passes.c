/* Descent on the working set through its columns.
 *
 * A step d of column j does r -= d x_j, and under an intercept the sum of r
 * falls by d n m_j, so that x_c' r_c = x'r - m sum(r) is known without touching
 * the other rows. A block gets one pass over all its members, then passes over
 * those that are not 0 or near the edge of it; after every third of them, steps
 * on the support that they have found. Prices differ from the set's pairs: a
 * step costs the entries of its column instead of a number for each member.
 */
#include <math.h>

#include "lasso_work.h"

enum { TURNS = 2, PASSES = 3 };
/* A member at 0 is left alone while its slope is below this share of L1. */
#define LIVELY 0.9

/* ---- passes ----------------------------------------------------------- */

/* Moves member k to its best; returns what that gains. *slope: how steep it was
 * there, as a share of L1. */
static double move(const lasso_work *b, uint32_t k, double *slope)
{
    lasso_state *state = b->state;
    lasso_packed *packed = b->packed;
    lasso_packed_member *m = &packed->member[k];
    const data_column x = linear_packed_column(&packed->columns, k);
    const double q =
        state->kernels->dot(&x, packed->residual) - m->mean * packed->sum;
    const double step =
        m->curvature > 0
            ? lasso_step_at(m->w, q - m->shrink * m->w, m->curvature, m->l1,
                            state->options.positive)
            : -m->w;

    *slope = fabs(q) / m->l1;
    state->spent += (double)x.n;
    if (step == 0)
        return 0;
    state->kernels->add(&x, -step, packed->residual);
    packed->sum -= step * state->rows * m->mean;
    m->w += step;
    return m->curvature / 2 * step * step;
}

/* Over all members; those that are to be seen again come to the front. */
static double pass_over_all(lasso_work *b)
{
    double sum = 0, slope;

    b->live = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        const uint32_t k = b->place[i];
        lasso_packed_member *m = &b->packed->member[k];
        m->gain = move(b, k, &slope);
        sum += m->gain;
        if (m->w != 0 || slope > LIVELY)
            b->place[b->live++] = k;
        else if (b->state->path)
            m->gain = 0;
    }
    return sum;
}

static double pass_over_live(const lasso_work *b)
{
    double sum = 0, slope;

    for (uint32_t i = 0; i < b->live; i++) {
        const double gain = move(b, b->place[i], &slope);
        if (b->state->path)
            b->packed->member[b->place[i]].gain = gain;
        sum += gain;
    }
    return sum;
}

/* ---- a block ----------------------------------------------------------- */

/* Passes over the live members until one gains no more than `enough`, with
 * steps on their support in between. */
static strads_err descend(lasso_work *b, double enough)
{
    strads_err err = STRADS_OK;

    for (uint32_t turn = 0; turn < TURNS && !err; turn++) {
        for (uint32_t pass = 0; pass < PASSES; pass++)
            if (pass_over_live(b) <= enough)
                return STRADS_OK;
        err = lasso_conjugate(b, enough);
    }
    return err;
}

/* The places of the block's members; others of its parameters are at rest. */
static uint32_t find_places(const strads_commit *commit, uint32_t *place)
{
    const lasso_state *state = commit->state;
    uint32_t n = 0;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        if (state->packed->place[j])
            place[n++] = state->packed->place[j] - 1;
    }
    return n;
}

/* A member's priority is what the first pass has gained by it, so that the
 * policy asks for another one over all; on a path, where the next scan is near
 * and sees the few that a block has left alone, it is what the last one has.
 * Neither suits both: by the last pass single fits to 1e-9 took a quarter
 * longer, by the first one paths took up to a third more rounds. */
static void tell(strads_commit *commit)
{
    lasso_state *state = commit->state;
    const lasso_packed *packed = state->packed;

    for (uint32_t k = 0; k < commit->block.n; k++) {
        const uint32_t j = strads_block_param(&commit->block, k);
        const uint32_t at = packed->place[j];
        commit->priority[k] = 0;
        if (!at)
            continue;
        commit->priority[k] = packed->member[at - 1].gain;
        commit->change[k] = packed->member[at - 1].w - commit->value[k];
        state->intercept -= state->mean[j] * commit->change[k];
    }
}

strads_err lasso_packed_solve(strads_commit *commit)
{
    lasso_state *state = commit->state;
    lasso_work b = {.state = state,
                    .packed = state->packed,
                    .place = state->candidate}; /* free between scans */
    strads_err err = STRADS_OK;

    b.n = b.live = find_places(commit, b.place);
    if (state->ahead.due)
        err = lasso_go_ahead(&b);
    if (!err && pass_over_all(&b) > state->rest)
        err = descend(&b, state->rest);
    if (err)
        return err;
    tell(commit);
    lasso_note_block(commit);
    return STRADS_OK;
}
