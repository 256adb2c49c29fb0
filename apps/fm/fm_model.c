/* Predictions of a trained machine. */
#include <stdlib.h>
#include <string.h>

#include "fm_parts.h"

/* Sums of a row, in the order of its columns. */
static double predict_row(const double *value, uint64_t columns, uint32_t rank,
                          const strads_sparse *rows, uint64_t i, double *q)
{
    double sum = value[columns * (rank + 1)], squares = 0;
    memset(q, 0, rank * sizeof *q);
    for (uint64_t e = rows->start[i]; e < rows->start[i + 1]; e++) {
        if (rows->index[e] >= columns)
            continue;
        const double a = strads_sparse_value(rows, e);
        const double *of = value + (size_t)rows->index[e] * (rank + 1);
        sum += a * of[0];
        for (uint32_t f = 0; f < rank; f++) {
            const double product = a * of[f + 1];
            q[f] += product;
            squares -= product * product;
        }
    }
    for (uint32_t f = 0; f < rank; f++)
        squares += q[f] * q[f];
    return sum + squares / 2;
}

strads_err strads_fm_predict(const strads_model *model,
                             const strads_sparse *rows, double *out)
{
    const uint32_t width = model->width > 0 ? model->width : 1;
    double *value = NULL, *q = NULL;
    if (strcmp(model->program, "fm") != 0 || width > STRADS_FM_RANK_MAX + 1)
        return strads_fail(STRADS_EFORMAT,
                           "a model of program %s with %u numbers a column; "
                           "expected one of fm, with at most %d",
                           model->program, width, STRADS_FM_RANK_MAX + 1);
    value = calloc((model->columns + 1) * width, sizeof *value);
    q = calloc(width, sizeof *q);
    if (!value || !q) {
        free(value);
        free(q);
        return strads_fail(STRADS_ENOMEM, "no memory for the model");
    }
    for (uint64_t k = 0; k < model->n; k++)
        memcpy(value + (size_t)model->index[k] * width,
               model->value + k * width, width * sizeof *value);
    value[model->columns * width] =
        model->intercepts ? model->intercepts[0] : model->intercept;
    for (uint64_t i = 0; i < rows->lines; i++)
        out[i] = predict_row(value, model->columns, width - 1, rows, i, q);
    free(value);
    free(q);
    return STRADS_OK;
}
