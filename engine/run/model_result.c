/* Models made of results: the parameters that are not 0. */
#include <stdbool.h>
#include <string.h>

#include "engine/run/model_parts.h"
#include "strads/model.h"

static bool is_zero(const double *row, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++) {
        if (row[k] != 0) {
            return false;
        }
    }
    return true;
}

/* Counts the rows that are not 0, and copies them where model is not NULL. */
static uint64_t gather(const double *values, uint64_t parameters,
                       uint32_t width, strads_model *model)
{
    uint64_t n = 0;
    for (uint64_t j = 0; j < parameters; j++) {
        const double *row = values + j * width;
        if (is_zero(row, width)) {
            continue;
        }
        if (model) {
            ((uint32_t *)model->index)[n] = (uint32_t)j;
            memcpy((double *)model->value + n * width, row,
                   width * sizeof *row);
        }
        n++;
    }
    return n;
}

strads_err strads_model_from_result(const strads_result *result,
                                    const char *program, const char *options,
                                    uint64_t seed, strads_model **out)
{
    uint64_t parameters;
    const uint64_t columns = strads_result_coefficients(result);
    uint32_t width;
    strads_model *model;
    const double *values = strads_result_values(result, &parameters, &width);
    const strads_progress *progress = strads_result_progress(result);
    strads_err err =
        sti_model_new(program, options, gather(values, columns, width, NULL),
                      width, &model);
    if (err) {
        return err;
    }
    (void)gather(values, columns, width, model);
    model->columns = columns;
    model->fit = (strads_model_fit){
        .objective = progress->objective,
        .gap = progress->gap,
        .rounds = progress->round,
        .seconds = progress->seconds,
        .seed = seed,
        .partitions = strads_result_partitions(result),
    };
    *out = model;
    return STRADS_OK;
}
