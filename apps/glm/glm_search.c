/* From the model's solution to the next model: the whole step where P falls as
 * it should, or a part of it. The coordinator has all rows, so this costs no
 * message; workers follow the commits. */
#include <math.h>
#include <string.h>

#include "glm_parts.h"

enum { HALVINGS_MAX = 40, SEARCHES_MAX = 50 };

static double penalties(const glm_state *state, double step, bool model)
{
    const glm_set *set = &state->set;
    double sum = 0;

    for (uint32_t k = 0; k < set->n; k++)
        if (set->member[k].size > 0)
            sum += glm_member_penalty(state, &set->member[k], step, model);
    return sum;
}

/* Into `along`, X (w - base) + beta; returns r'along. */
static void find_direction(glm_state *state)
{
    glm_set *set = &state->set;

    for (uint64_t i = 0; i < set->rows; i++)
        set->along[i] = set->beta;
    for (uint32_t k = 0; k < set->n; k++) {
        const glm_member *m = &set->member[k];
        const data_column x = linear_packed_column(&set->columns, k);
        if (m->w != m->base)
            state->kernels->add(&x, m->w - m->base, set->along);
    }
}

/* P at a point on the way, but for what does not change; z there in `trial`. */
static double try_step(glm_state *state, double step)
{
    glm_set *set = &state->set;
    const glm_rows rows = {set->rows, set->y, set->c, set->trial};

    memcpy(set->trial, set->z, set->rows * sizeof(double));
    state->kernels->add_dense(set->rows, step, set->along, set->trial);
    set->loss = state->problem.loss->look(&rows, state->problem.p, NULL, NULL);
    return set->loss + penalties(state, step, false);
}

/* By how much P falls at least for a step of 1, where the model is right: what
 * the slope at 0 promises. */
static double promised(glm_state *state)
{
    glm_set *set = &state->set;
    const glm_rows rows = {set->rows, set->y, set->c, set->z};

    (void)state->problem.loss->look(&rows, state->problem.p, set->trial, NULL);
    return state->kernels->dot_dense(set->rows, set->trial, set->along) +
           penalties(state, 0, true) - penalties(state, 1, true);
}

static strads_err take_step(strads_commit *commit, double step)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;
    const double shift = step * set->beta;
    const uint32_t last = (uint32_t)state->columns;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        glm_member *m = &set->member[k];
        if (step < 1)
            m->w = m->base + step * (m->w - m->base);
        if (m->w != m->told) {
            state->candidate[n] = m->column;
            state->told[n] = m->w - m->told;
            m->told += state->told[n++];
        }
    }
    state->b += shift;
    strads_err err =
        n > 0 ? strads_commit_also(commit, n, state->candidate, state->told)
              : STRADS_OK;
    if (!err && shift != 0)
        err = strads_commit_also(commit, 1, &last, &shift);
    return err;
}

/* Who may move in the next model. */
static void wake(strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        glm_member *m = &set->member[k];
        if (m->size == 0 || m->model != set->model)
            continue; /* at rest since the scan, or not a first one */
        m->urgency = 1;
        state->candidate[n] = m->column;
        state->told[n++] = 1;
    }
    strads_commit_prioritise(commit, n, state->candidate, state->told);
}

strads_err glm_search(strads_commit *commit)
{
    glm_state *state = commit->state;
    glm_set *set = &state->set;
    const double penalty = penalties(state, 0, false);
    double step = 1;

    state->next = GLM_TO_SCAN;
    if (!set->open)
        glm_open_model(state); /* b alone */
    const double before = set->loss + penalty;
    double after = before;
    find_direction(state);
    const double fall = promised(state);
    for (int left = HALVINGS_MAX;; left--, step /= 2) {
        after = try_step(state, step);
        if (after <= before - 1e-3 * step * fall + 1e-15 * fabs(before))
            break;
        if (left == 0) {
            step = 0;
            after = try_step(state, step);
            break;
        }
    }
    double *const kept = set->z;
    set->z = set->trial;
    set->trial = kept;
    set->open = state->solved = false;
    const bool enough = before - after <= state->worth ||
                        (state->problem.loss->constant && step == 1 &&
                         !state->problem.penalty->tangent) ||
                        ++state->searches >= SEARCHES_MAX;
    const strads_err err = take_step(commit, step);
    if (!enough) {
        wake(commit);
        state->next = GLM_TO_SOLVE;
    }
    return err;
}
