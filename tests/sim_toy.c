/* Toy programs. Their aggregates check their inputs: a run that ends without an
 * error is correct. */
#include "sim_toy.h"
#include "tests/toy_data.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/expect.h"

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

/* ---- runs -------------------------------------------------------------- */

strads_engine_options sim_toy_options(uint32_t partitions, uint32_t depth)
{
    return (strads_engine_options){
        .size = sizeof(strads_engine_options),
        .partitions = partitions,
        .depth = depth,
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
