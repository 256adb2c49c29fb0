/* Groups of columns with one penalty term each, and the term at the current
 * lambda. Without --groups every column is its own group.
 *
 * A group of several columns is penalised in units in which all its columns
 * have the same scale: v_j = s_j w_j, with slopes q_j / s_j. For a single
 * column the scale is in the term. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "glm_parts.h"

/* ---- reading groups ------------------------------------------------------ */

static int by_group(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts columns by the numbers of their groups. */
static void sort_groups(glm_state *state, uint64_t *key)
{
    glm_groups *groups = &state->groups;
    uint32_t n = 0;

    qsort(key, state->columns, sizeof(*key), by_group);
    for (uint64_t i = 0; i < state->columns; i++) {
        const uint32_t j = (uint32_t)key[i];
        if (i == 0 || key[i] >> 32 != key[i - 1] >> 32)
            groups->start[n++] = (uint32_t)i;
        groups->column[i] = j;
        groups->of[j] = n - 1;
    }
    groups->start[n] = (uint32_t)state->columns;
    groups->n = n;
}

static strads_err read_numbers(const glm_state *state, double *number)
{
    static const linear_lines lines = {.option = "--groups",
                                       .what = "the group of a column",
                                       .of = "columns"};
    const strads_glm_options *o = &state->problem.options;
    const strads_range all = {0, state->columns};

    for (uint64_t j = 0; j < state->columns && o->column_group; j++)
        number[j] = o->column_group[j];
    const strads_err err = o->column_group
                               ? STRADS_OK
                               : linear_read_lines(&lines, o->groups, &all,
                                                   state->columns, number);
    for (uint64_t j = 0; j < state->columns && !err; j++)
        if (!(number[j] < 0x1p31 && number[j] == floor(number[j])))
            return strads_fail(STRADS_EFORMAT,
                               "%s:%llu: the group is %g; expected a whole "
                               "number from 0 up",
                               o->groups ? o->groups : "groups",
                               (unsigned long long)j + 1, number[j]);
    return err;
}

/* Checks that all columns of a group have the same penalty factor. */
static strads_err check_factors(const glm_state *state)
{
    for (uint64_t j = 0; j < state->columns && state->factor; j++) {
        const uint32_t first = glm_column(state, glm_group_of(state, j), 0);
        if (state->factor[j] != state->factor[first])
            return strads_fail(
                STRADS_EINVAL,
                "columns %u and %llu are of one group and have the penalty "
                "factors %g and %g; expected equal ones",
                first + 1, (unsigned long long)j + 1, state->factor[first],
                state->factor[j]);
    }
    return STRADS_OK;
}

strads_err glm_groups_read(glm_state *state)
{
    glm_groups *groups = &state->groups;
    const uint64_t n = state->columns;
    const strads_glm_options *o = &state->problem.options;
    strads_err err = STRADS_OK;

    if (state->problem.penalty->grouped && !o->column_group &&
        !(o->groups && *o->groups))
        return strads_fail(
            STRADS_EINVAL,
            "the penalty %s needs groups, a file with the number "
            "of each column's group",
            o->penalty);
    groups->n = (uint32_t)n;
    if (state->problem.penalty->grouped) {
        double *number = calloc(n + 1, sizeof(*number));
        uint64_t *key = calloc(n + 1, sizeof(*key));
        groups->start = calloc(n + 1, sizeof(*groups->start));
        groups->column = calloc(n + 1, sizeof(*groups->column));
        groups->of = calloc(n + 1, sizeof(*groups->of));
        if (!number || !key || !groups->start || !groups->column || !groups->of)
            err = strads_fail(STRADS_ENOMEM,
                              "no memory for the groups of %llu columns",
                              (unsigned long long)n);
        else
            err = read_numbers(state, number);
        for (uint64_t j = 0; j < n && !err; j++)
            key[j] = (uint64_t)number[j] << 32 | j;
        if (!err)
            sort_groups(state, key);
        free(number);
        free(key);
        if (!err)
            err = check_factors(state);
    }
    uint32_t most = 1;
    for (uint32_t g = 0; g < groups->n && !err; g++)
        most = glm_size(state, g) > most ? glm_size(state, g) : most;
    groups->v = calloc((size_t)most * 3, sizeof(double));
    if (!err && !groups->v)
        err = strads_fail(STRADS_ENOMEM, "no memory for a group of %u columns",
                          most);
    groups->q = groups->v ? groups->v + most : NULL;
    groups->to = groups->v ? groups->q + most : NULL;
    return err;
}

void glm_groups_free(glm_groups *groups)
{
    free(groups->start);
    free(groups->column);
    free(groups->of);
    free(groups->v);
}

/* ---- terms --------------------------------------------------------------- */

static double bound(double given)
{
    return fabs(given) < 1e300 ? given : copysign(INFINITY, given);
}

/* The L1 share of a group's penalty; the remainder is that of root(n) |w|_2. */
static double sparse_share(const glm_problem *problem)
{
    return problem->penalty->mixed ? problem->options.l1_ratio : 0;
}

double glm_limit(const glm_problem *problem, uint32_t n)
{
    const double a = sparse_share(problem);

    return problem->penalty->grouped ? a + (1 - a) * sqrt(n)
                                     : problem->options.l1_ratio;
}

double glm_group_share(const glm_problem *problem, uint32_t n)
{
    return problem->penalty->grouped
               ? sparse_share(problem) / glm_limit(problem, n)
               : 0;
}

glm_term glm_term_of(const glm_state *state, uint32_t g)
{
    const glm_problem *problem = &state->problem;
    const uint32_t n = glm_size(state, g), first = glm_column(state, g, 0);
    const double s = n > 1 ? 1 : state->scale[first];
    const double a = problem->options.l1_ratio;
    const double weight =
        (state->factor ? state->factor[first] : 1) * glm_penalty_weight(state);

    return (glm_term){.l1 = weight * glm_limit(problem, n) * s,
                      .l2 = problem->penalty->grouped
                                ? 0
                                : weight * (1 - a) * s * s,
                      .share = glm_group_share(problem, n),
                      .low = bound(problem->options.lower),
                      .high = bound(problem->options.upper),
                      .n = n,
                      .unit = state->weight * s * s,
                      .gamma = problem->options.gamma};
}

glm_term glm_tangent_of(const glm_state *state, uint32_t g)
{
    const glm_penalty *pen = state->problem.penalty;
    const glm_term t = glm_term_of(state, g);

    return pen->tangent ? pen->tangent(&t, state->w[glm_column(state, g, 0)])
                        : t;
}

void glm_gather(const glm_state *state, uint32_t g)
{
    const glm_groups *groups = &state->groups;
    const uint32_t n = glm_size(state, g);

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t j = glm_column(state, g, k);
        const double s = glm_unit(state, g, j);
        groups->v[k] = s * state->w[j];
        groups->q[k] = state->slope[j] / s;
    }
}

double glm_group_norm(const glm_state *state, uint32_t g)
{
    double sum = 0;

    for (uint32_t k = 0; k < glm_size(state, g); k++) {
        const uint32_t j = glm_column(state, g, k);
        const double s = glm_unit(state, g, j);
        sum += state->norm[j] / (s * s);
    }
    return sum;
}
