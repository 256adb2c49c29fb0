/* A result owns a copy of table 0 and the program's coordinator state. */
#include "engine/run/result.h"

#include <stdlib.h>
#include <string.h>

struct strads_result {
    strads_end end;
    strads_progress progress;
    uint32_t partitions;
    uint64_t parameters;
    uint64_t coefficients;
    uint32_t width;
    double *values;
    const strads_program *program;
    void *state;
};

strads_err sti_result_new(const sti_setup *setup,
                          const strads_progress *progress, strads_end end,
                          strads_result **out)
{
    const sti_run *run = &setup->run;
    size_t bytes = sizeof(double) * run->shape.parameters * run->shape.width;
    strads_result *result = calloc(1, sizeof *result);
    if (!result)
        goto fail;
    result->values = malloc(bytes ? bytes : 1);
    if (!result->values)
        goto fail;
    if (bytes)
        memcpy(result->values, strads_store_dense(sti_run_truth(run), 0),
               bytes);
    result->end = end;
    result->progress = *progress;
    result->partitions = run->partitions;
    result->parameters = run->shape.parameters;
    result->coefficients = run->shape.coefficients ? run->shape.coefficients
                                                   : run->shape.parameters;
    result->width = run->shape.width;
    result->program = run->program;
    result->state = run->state;
    *out = result;
    return STRADS_OK;
fail:
    free(result);
    return strads_fail(STRADS_ENOMEM, "no memory for the model: %zu bytes",
                       bytes);
}

void strads_result_free(strads_result *result)
{
    if (!result)
        return;
    if (result->program->end)
        result->program->end(result->state);
    free(result->values);
    free(result);
}

strads_end strads_result_end(const strads_result *result)
{
    return result->end;
}

const strads_progress *strads_result_progress(const strads_result *result)
{
    return &result->progress;
}

uint32_t strads_result_partitions(const strads_result *result)
{
    return result->partitions;
}

const double *strads_result_values(const strads_result *result,
                                   uint64_t *parameters, uint32_t *width)
{
    *parameters = result->parameters;
    *width = result->width;
    return result->values;
}

uint64_t strads_result_coefficients(const strads_result *result)
{
    return result->coefficients;
}

void *strads_result_state(const strads_result *result)
{
    return result->state;
}
