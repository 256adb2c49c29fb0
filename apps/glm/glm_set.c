/* The working set of numeric/, with the current loss and penalties: the
 * functions that the set needs from a program, and the aggregates of a block
 * and of a model's end. */
#include <math.h>

#include "glm_parts.h"

enum { SEARCHES_MAX = 12 };
#define FETCH_ENTRIES (UINT64_C(1) << 22)
/* Least curvature as a share of c, for rows so far out that they have almost
 * none. */
#define FLAT 1e-20

/* ---- functions for the set ----------------------------------------------- */

static double freeze_set(const void *program, const double *z, double *root,
                         double *rest)
{
    const glm_state *state = program;
    const linear_set *set = &state->set;
    const glm_rows rows = {set->n_rows, set->y, set->c, z};
    const double loss =
        glm_evaluate(&state->problem, &state->smoothing, &rows, rest, root);

    logistic_loops_choose()->freeze(set->n_rows, set->c, FLAT, root, rest);
    return loss;
}

/* The penalties of P; the model has their tangents. */
static double set_penalties(const void *program, double step)
{
    const glm_state *state = program;
    const linear_set *set = &state->set;
    double sum = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        const glm_term t = glm_term_of(state, m->column);
        const double w = m->base + step * (m->w - m->base);
        sum += w != 0 ? state->problem.penalty->value(&t, &w) : 0;
    }
    return sum;
}

static void set_prox(const void *program, uint32_t n, double l1,
                     const double *u, double a, double *w)
{
    const glm_state *state = program;
    const glm_term t = {.l1 = l1,
                        .n = n,
                        .low = state->problem.options.lower,
                        .share = glm_group_share(&state->problem, n)};

    state->problem.penalty->prox(&t, u, a, w);
}

static double set_value(const void *program, uint32_t n, double l1,
                        const double *w)
{
    const glm_state *state = program;
    const glm_term t = {.l1 = l1,
                        .n = n,
                        .low = state->problem.options.lower,
                        .share = glm_group_share(&state->problem, n)};

    return state->problem.penalty->value(&t, w);
}

linear_model glm_model(const glm_state *state)
{
    const glm_penalty *pen = state->problem.penalty;

    return (linear_model){.freeze = freeze_set,
                          .penalties = pen->tangent ? set_penalties : NULL,
                          .prox = pen->grouped ? set_prox : NULL,
                          .value = pen->grouped ? set_value : NULL,
                          .program = state,
                          .slope = state->slope,
                          .kernels = state->kernels,
                          .intercept = state->problem.options.intercept,
                          .constant = state->problem.loss->constant,
                          .restless = pen->tangent != NULL};
}

/* ---- columns ------------------------------------------------------------- */

strads_err glm_set_join(glm_state *state, uint32_t g)
{
    const uint32_t n = glm_size(state, g);
    strads_err err = STRADS_OK;

    if (state->bounds.used)
        state->bounds.base[g] = INFINITY;
    for (uint32_t k = 0; k < n && !err; k++) {
        const uint32_t j = glm_column(state, g, k);
        err = linear_set_join(&state->set, j, state->w[j], k == 0 ? n : 0,
                              glm_unit(state, g, j));
    }
    return err;
}

/* A block's id has a number, and a count below 2^40 that workers need before
 * they start: the size of a partial follows from it. */
static uint64_t id_with(uint64_t number, uint64_t count)
{
    return number << 40 | count;
}

static uint64_t count_in(uint64_t id)
{
    return id & ((UINT64_C(1) << 40) - 1);
}

strads_block glm_fetch_block(glm_state *state)
{
    const linear_set *set = &state->set;
    uint64_t entries = 0;
    uint32_t n = 0;

    while (set->columns.n + n < set->n) {
        const uint32_t j = set->member[set->columns.n + n].column;
        const uint64_t more = strads_data_col_nnz(state->data, j);
        if (n > 0 && entries + more > FETCH_ENTRIES)
            break;
        entries += more;
        state->candidate[n++] = j;
    }
    return (strads_block){.id = id_with(++state->fetches, entries),
                          .n = n,
                          .param = state->candidate};
}

size_t glm_fetch_size(const strads_task *task)
{
    return linear_packed_bytes(task->block.n, count_in(task->block.id));
}

strads_err glm_update_fetch(strads_task *task)
{
    const glm_local *local = task->local;
    const column_list columns = glm_list(&task->block);

    task->partial_bytes =
        linear_packed_write(&columns, &local->view, task->partial);
    return STRADS_OK;
}

strads_err glm_set_take(strads_commit *commit)
{
    glm_state *state = commit->state;

    return linear_set_take(&state->set, commit->block.n, commit->partial,
                           commit->partial_bytes);
}

/* ---- pairs --------------------------------------------------------------- */

strads_block glm_pairs_block(glm_state *state)
{
    const linear_set *set = &state->set;

    for (uint32_t k = 0; k < set->n; k++)
        state->candidate[k] = set->member[k].column;
    return (strads_block){.id = id_with(set->n, set->factored),
                          .n = set->n,
                          .param = state->candidate};
}

/* The columns that joined: those behind the ones with known products. */
static column_list joined_columns(const strads_block *all)
{
    const uint32_t known = (uint32_t)count_in(all->id);

    return (column_list){.n = all->n - known,
                         .first = all->first + known,
                         .column = all->param ? all->param + known : NULL};
}

size_t glm_pairs_size(const strads_task *task)
{
    return (size_t)joined_columns(&task->block).n * task->block.n;
}

strads_err glm_update_pairs(strads_task *task)
{
    glm_local *local = task->local;
    const linear_products of = {.view = &local->view,
                                .root = local->root,
                                .kernels = local->kernels,
                                .lines = joined_columns(&task->block),
                                .against = glm_list(&task->block),
                                .partial = task->partial};

    return linear_pairs_multiply(&local->pairs, &of);
}

strads_err glm_take_pairs(strads_commit *commit)
{
    glm_state *state = commit->state;

    return linear_set_take_pairs(&state->set, joined_columns(&commit->block).n,
                                 commit->block.n, commit->partial, state->mean,
                                 state->weight);
}

/* ---- a block, and the end of a model ------------------------------------- */

/* Sets tangents at the coefficients at which a model begins. */
static void open_model(glm_state *state)
{
    const glm_penalty *pen = state->problem.penalty;
    linear_set *set = &state->set;

    for (uint32_t k = 0; k < set->n && pen->tangent; k++) {
        linear_member *m = &set->member[k];
        const glm_term t = glm_term_of(state, m->column);
        m->term.l1 = pen->tangent(&t, m->w).l1;
    }
    linear_set_open(set);
    if (state->searches == 0)
        glm_bounds_keep_reference(state);
}

static bool was_in_last_block(const linear_set *set, const linear_member *m)
{
    return set->blocks > 0 && m->block == set->blocks;
}

/* True if members with a gain have at least half of the last block's
 * entries. */
static bool keeps_block(const glm_state *state)
{
    const linear_set *set = &state->set;
    double all = 0, moving = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        if (m->size == 0 || !was_in_last_block(set, m))
            continue;
        const double entries =
            fmax((double)strads_data_col_nnz(state->data, m->column), 1);
        all += entries;
        moving += m->urgency > 0 ? entries : 0;
    }
    return 2 * moving >= all;
}

/* Groups are in it by their first members. Inactive members stay in the block
 * while they are the smaller part: a visit in each round shows at once that one
 * of them moves again. Otherwise only the next scan would: without these visits
 * a Lasso on 50,000 sparse columns took twice as long. */
strads_block glm_moving_block(glm_state *state, uint64_t round)
{
    const linear_set *set = &state->set;
    const bool keeps = keeps_block(state);
    bool some = false;
    uint32_t n = 0;

    for (uint32_t k = 0; k < set->n; k++) {
        const linear_member *m = &set->member[k];
        const bool moves = m->size > 0 && m->urgency > 0;
        if (moves || (keeps && m->size > 0 && was_in_last_block(set, m)))
            state->candidate[n++] = m->column;
        some = some || moves;
    }
    return (strads_block){.id = GLM_SCAN_ID + round,
                          .n = some ? n : 0,
                          .param = state->candidate};
}

strads_err glm_solve(strads_commit *commit)
{
    glm_state *state = commit->state;

    if (!state->set.open)
        open_model(state);
    const linear_block block = {.columns = glm_list(&commit->block),
                                .change = commit->change + state->target,
                                .stride = state->width};
    /* candidate: not in use between scans */
    return linear_set_solve(&state->set, &block, state->candidate);
}

strads_err glm_search(strads_commit *commit)
{
    glm_state *state = commit->state;
    linear_set *set = &state->set;
    const uint32_t last = (uint32_t)state->columns;

    if (!set->open)
        open_model(state); /* b alone */
    const double from = set->loss;
    const linear_step to = linear_set_search(set);
    const bool moves = state->problem.penalty->tangent != NULL; /* the model */
    const bool enough = to.fall <= set->worth ||
                        (state->complete && !moves &&
                         linear_next_fall(set, &to) <= set->worth) ||
                        (set->is.constant && to.step == 1 && !moves) ||
                        ++state->searches >= SEARCHES_MAX;
    const double shift =
        state->problem.loss->whole
            ? 0
            : to.step * set->beta +
                  (enough && to.step > 0 ? linear_set_step_intercept(set) : 0);
    const uint32_t n = linear_set_told(set, state->candidate, state->told);
    state->b[state->target] += shift;
    state->predicted = set->reduced ? state->loss - (from - set->loss) : -1;
    state->next = enough ? GLM_TO_SCAN : GLM_TO_SOLVE;
    strads_err err =
        n > 0 ? glm_also(commit, n, state->candidate, state->told) : STRADS_OK;
    if (!err && shift != 0)
        err = glm_also(commit, 1, &last, &shift);
    if (enough && state->joint.used)
        glm_softmax_next(state);
    if (enough) {
        glm_bounds_add_distance(state);
        glm_bounds_choose_columns(state);
    }
    return err;
}
