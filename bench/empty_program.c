/* Owns nothing: the program's callbacks have no state. */
#include "bench/empty_program.h"

#include <stdlib.h>

enum { PARAMETERS = 1000 };

static strads_err one_a_block(const void *config, const strads_data *data,
                              strads_shape *shape)
{
    (void)config, (void)data;
    shape->block_max = 1;
    return STRADS_OK;
}

static strads_err nothing(strads_task *task)
{
    (void)task;
    return STRADS_OK;
}

static strads_err commits_nothing(strads_commit *commit)
{
    (void)commit;
    return STRADS_OK;
}

const strads_program empty_program = {.size = sizeof(strads_program),
                                      .name = "empty",
                                      .shape = one_a_block,
                                      .update = nothing,
                                      .aggregate = commits_nothing};

strads_data *empty_data(const strads_data_options *options)
{
    uint64_t *start = calloc(PARAMETERS + 1, sizeof *start);
    const uint32_t index = 0;
    const double value = 0;
    const strads_columns columns = {.rows = PARAMETERS,
                                    .cols = PARAMETERS,
                                    .start = start,
                                    .index = &index,
                                    .value = &value};
    strads_data *data = NULL;
    if (start && strads_data_from_columns(&columns, options, &data))
        data = NULL;
    free(start);
    return data;
}
