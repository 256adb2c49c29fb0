/* Toy programs. Their aggregates check what they are given: a run that ends
 * without an error has been right. */
#include "sim_toy.h"
#include "tests/toy_data.h"

#include <criterion/criterion.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_residual.h"

/* ---- rounds ------------------------------------------------------------ */

static strads_err rounds_shape(const void *config, const strads_data *data,
                               strads_shape *shape)
{
    (void)data;
    const sim_toy_size *size = config;
    shape->parameters = size->parameters ? size->parameters : 1000;
    shape->width = size->width ? size->width : 1;
    shape->block_max = 1;
    return STRADS_OK;
}

static double rounds_weight(const void *config, const strads_data *data,
                            uint32_t j)
{
    (void)config, (void)data;
    return 2 + j % 3;
}

static strads_err rounds_update(strads_task *task)
{
    for (size_t k = 0; k < task->partial_bytes / sizeof(double); k++)
        task->partial[k] = 1;
    return STRADS_OK;
}

typedef struct rounds_state {
    uint32_t partitions;
} rounds_state;

static strads_err rounds_begin(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)config, (void)data;
    rounds_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->partitions = shape->partitions;
    *state = s;
    return STRADS_OK;
}

static strads_err rounds_aggregate(strads_commit *commit)
{
    const rounds_state *s = commit->state;
    for (size_t k = 0; k < commit->partial_bytes / sizeof(double); k++)
        if (commit->partial[k] != s->partitions)
            return strads_fail(STRADS_EPROGRAM, "%g of %u partitions came",
                               commit->partial[k], s->partitions);
    for (size_t k = 0; k < (size_t)commit->block.n * commit->width; k++)
        commit->change[k] = 1;
    return STRADS_OK;
}

static const sim_toy_size rounds_defaults = {.parameters = 1000, .width = 1};

const strads_program sim_toy_rounds = {
    .size = sizeof(strads_program),
    .name = "rounds",
    .config_size = sizeof(sim_toy_size),
    .defaults = &rounds_defaults,
    .shape = rounds_shape,
    .weight = rounds_weight,
    .begin = rounds_begin,
    .end = free,
    .update = rounds_update,
    .aggregate = rounds_aggregate,
};

/* ---- least squares ----------------------------------------------------- */

static size_t squares_partial(const strads_task *task)
{
    return 2 * (size_t)task->block.n;
}

static strads_err squares_update(strads_task *task)
{
    const strads_sparse *x = &task->share->by_col;
    for (uint32_t k = 0; k < task->block.n; k++) {
        uint32_t j = strads_block_param(&task->block, k);
        task->partial[2 * k] += toy_residual_times(task, j);
        for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++)
            task->partial[2 * k + 1] += x->f64[e] * x->f64[e];
    }
    return STRADS_OK;
}

typedef struct squares_state {
    double largest; /* change since the last report */
} squares_state;

TOY_BEGIN(squares_begin, sizeof(squares_state))

static strads_err squares_aggregate(strads_commit *commit)
{
    squares_state *s = commit->state;
    for (uint32_t k = 0; k < commit->block.n; k++) {
        commit->change[k] = commit->partial[2 * k] / commit->partial[2 * k + 1];
        s->largest = fmax(s->largest, fabs(commit->change[k]));
    }
    return STRADS_OK;
}

static strads_err squares_objective(void *state, strads_report *report)
{
    squares_state *s = state;
    report->objective = s->largest;
    report->gap = s->largest;
    s->largest = 0;
    return STRADS_OK;
}

TOY_SHAPE(squares_shape, shape->block_max = 1)

const strads_program sim_toy_squares = {
    .size = sizeof(strads_program),
    .name = "squares",
    .shape = squares_shape,
    .begin = squares_begin,
    .end = free,
    .open = toy_residual_open,
    .close = free,
    .refresh = toy_residual_refresh,
    .partial = squares_partial,
    .update = squares_update,
    .aggregate = squares_aggregate,
    .objective = squares_objective,
};

/* ---- data -------------------------------------------------------------- */

static double entry(uint32_t row, uint32_t col)
{
    return 2 * strads_random_unit(7, col, row, 0) - 1;
}

static double label(uint32_t row)
{
    return 2 * strads_random_unit(7, 1u << 30, row, 0) - 1;
}

strads_data *sim_toy_data(uint32_t rows, uint32_t cols, uint32_t partitions)
{
    size_t n = (size_t)rows * cols;
    uint64_t *start = calloc(cols + (size_t)1, sizeof *start);
    uint32_t *index = calloc(n + 1, sizeof *index);
    double *value = calloc(n + 1, sizeof *value);
    double *labels = calloc(rows + (size_t)1, sizeof *labels);
    cr_assert(start && index && value && labels);
    for (uint32_t j = 0; j < cols; j++) {
        start[j + 1] = start[j] + rows;
        for (uint32_t i = 0; i < rows; i++) {
            index[start[j] + i] = i;
            value[start[j] + i] = entry(i, j);
        }
    }
    for (uint32_t i = 0; i < rows; i++)
        labels[i] = label(i);
    const strads_columns columns = {.rows = rows,
                                    .cols = cols,
                                    .start = start,
                                    .index = index,
                                    .value = value,
                                    .label = labels};
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = partitions};
    strads_data *data = NULL;
    expect_ok(strads_data_from_columns(&columns, &options, &data));
    free(start);
    free(index);
    free(value);
    free(labels);
    return data;
}

void sim_toy_solve(uint32_t rows, uint32_t cols, double *w)
{
    gsl_matrix *gram = gsl_matrix_calloc(cols, cols);
    gsl_vector *right = gsl_vector_calloc(cols);
    for (uint32_t i = 0; i < cols; i++)
        for (uint32_t r = 0; r < rows; r++) {
            *gsl_vector_ptr(right, i) += entry(r, i) * label(r);
            for (uint32_t j = 0; j < cols; j++)
                *gsl_matrix_ptr(gram, i, j) += entry(r, i) * entry(r, j);
        }
    gsl_vector_view solution = gsl_vector_view_array(w, cols);
    gsl_linalg_cholesky_decomp(gram);
    gsl_linalg_cholesky_solve(gram, right, &solution.vector);
    gsl_matrix_free(gram);
    gsl_vector_free(right);
}

/* ---- runs -------------------------------------------------------------- */

strads_engine_options sim_toy_options(uint32_t partitions, uint32_t depth)
{
    return (strads_engine_options){
        .size = sizeof(strads_engine_options),
        .partitions = partitions,
        .depth = depth,
        .policy = "cyclic",
        .deterministic = true,
        .seed = 1,
    };
}

strads_sim_options sim_toy_nodes(uint32_t nodes)
{
    return (strads_sim_options){.size = sizeof(strads_sim_options),
                                .nodes = nodes};
}

strads_result *sim_toy_simulate(const strads_program *program,
                                const void *config, const strads_data *data,
                                const strads_engine_options *options,
                                const strads_sim_options *sim,
                                strads_sim_outcome *outcome)
{
    strads_result *result = NULL;
    strads_err err =
        strads_simulate(program, config, data, options, sim, &result, outcome);
    cr_assert_eq(err, STRADS_OK, "%s: %s", strads_error_name(err),
                 strads_error_text());
    return result;
}
