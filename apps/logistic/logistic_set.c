/* The working set of apps/linear, with the loss at hand: its rows, its columns,
 * and what comes of a block and of a model's end. */
#include <math.h>

#include "logistic_parts.h"

enum { SEARCHES_MAX = 12 };

double logistic_freeze(const void *program, const double *z, double *root,
                       double *rest)
{
    const logistic_state *state = program;
    const linear_set *set = &state->set;
    const logistic_rows rows = {.n = set->n_rows,
                                .y = set->y,
                                .c = set->c,
                                .z = z};

    const double loss = state->loops->curve(&rows, rest, root);

    state->loops->freeze(set->n_rows, set->c, LINEAR_LEAST_CURVATURE, root,
                         rest);
    return loss;
}

void logistic_set_clear(logistic_state *state)
{
    linear_set_clear(&state->set);
}

strads_err logistic_set_join(logistic_state *state, uint32_t j, double w)
{
    return linear_set_join(&state->set, j, w, 1, 1);
}

strads_err logistic_take_columns(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_set *set = &state->set;
    uint32_t k = set->columns.n;
    const strads_err err = linear_set_take(set, commit);

    for (; k < set->columns.n && !err && !state->softmax; k++) {
        const linear_member *m = &set->member[k];
        const data_column x = linear_set_column(set, m);
        if (m->w != 0)
            state->kernels->add(&x, m->w, set->z);
    }
    return err;
}

strads_err logistic_take_rows(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_set *set = &state->set;

    if (commit->partial_bytes != set->n_rows * sizeof(double))
        return strads_fail(STRADS_EPEER,
                           "the rows that workers sent do not fit the data: a "
                           "node runs another version or is broken");
    for (uint64_t i = 0; i < set->n_rows; i++) {
        set->y[i] = copysign(1, commit->partial[i]);
        set->c[i] = fabs(commit->partial[i]);
        set->z[i] = state->b[state->target];
    }
    return STRADS_OK;
}

strads_err logistic_solve_block(strads_commit *commit)
{
    logistic_state *state = commit->state;

    /* candidate: free between scans */
    return linear_set_solve(&state->set, commit, state->candidate, state->width,
                            state->target);
}

/* Members, b and what workers know follow the step. */
strads_err logistic_search(strads_commit *commit)
{
    logistic_state *state = commit->state;
    linear_set *set = &state->set;
    const uint32_t last = (uint32_t)state->columns;

    if (!set->open)
        return STRADS_OK; /* the policy found nothing worth a look */
    const linear_step to = linear_set_search(set);
    state->enough =
        to.fall <= set->worth ||
        (state->complete && linear_next_fall(set, &to) <= set->worth) ||
        ++state->searches >= SEARCHES_MAX;
    const double shift = to.step * set->beta;
    const uint32_t n = linear_set_told(set, state->candidate, state->told);
    state->b[state->target] += shift;
    strads_err err = logistic_also(commit, n, state->candidate, state->told);
    if (!err && shift != 0)
        err = logistic_also(commit, 1, &last, &shift);
    return err;
}
