/* strads/model.h - a trained model and its file.
 *
 * A model file is JSON:
 *
 *     {"format": "strads-model", "version": 1, "program": "lasso",
 *      "columns": 2000, "intercept": 0,
 *      "coefficients": {"index": [3, 17], "value": [0.25, -1.5]},
 *      "options": {"lambda": 0.01, ...},
 *      "fit": {"objective": 0.5, "gap": 1e-7, "rounds": 40, "seconds": 0.2,
 *              "seed": 0, "partitions": 2}}
 *
 * A model of a table also has "target": a name, "names": all columns' names, and
 * where missing fields are filled in "means", as many. Only coefficients that
 * are not 0 are in it; indices count from 1, as in
 * LIBSVM and MatrixMarket files. A program with several numbers a parameter
 * also has "width": k, and k values for each index, row after row; its
 * intercepts are an array of k, or one 0. */
#ifndef STRADS_MODEL_H
#define STRADS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "strads/engine.h"
#include "strads/error.h"
#include "strads/names.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a model came about. Not-a-number where it is not known. */
typedef struct strads_model_fit {
    double objective, gap;
    uint64_t rounds;
    double seconds;
    uint64_t seed;
    uint32_t partitions;
} strads_model_fit;

typedef struct strads_model {
    const char *program;
    uint64_t columns; /* parameters: index[k] < columns, at most 2^32 - 2 */
    uint32_t width;   /* numbers a parameter; 0 means 1 */
    double intercept; /* 0 when there is none */
    const double *intercepts; /* [width] in its stead, or NULL */
    uint64_t n;               /* parameters that are not 0 */
    const uint32_t *index;    /* [n] counted from 0, ascending */
    const double *value;      /* [n x width] */
    const char *options;      /* a JSON object, or NULL for {} */
    strads_model_fit fit;
    const strads_names *names; /* of the columns, as many, in UTF-8; or NULL */
    const double *means;       /* with names: [columns] what a missing field is,
                                  as strads_data_col_means; or NULL */
    const char *target; /* what the column of labels is called, or NULL */
} strads_model;

/* Makes a model of a run's result: the coefficients that are not 0, and its
 * numbers. `program` and `options` are copied (`options` may be NULL); the
 * intercept is 0, as only the program knows it. *out is the caller's to free
 * by strads_model_free. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_model_from_result(const strads_result *result,
                                               const char *program,
                                               const char *options,
                                               uint64_t seed,
                                               strads_model **out);

/* Writes a model: beside `path` at first, then renamed, so that `path` is the
 * old file or the whole new one, never half of it. The model is the caller's.
 * STRADS_EINVAL: a value that is not finite, an index out of its range or not
 * ascending, options that are no JSON object, a name that is no UTF-8. STRADS_EIO: the disk. Blocks.
 * Any thread. */
STRADS_API strads_err strads_model_write(const strads_model *model,
                                         const char *path);

/* Reads a model. *out is the caller's to free by strads_model_free.
 * STRADS_EIO: it cannot be read. STRADS_EFORMAT: it is no model file; the
 * sentence says which line or member is wrong. STRADS_EMISMATCH: another
 * version, or not a model of `program` (NULL: any program's). Blocks. Any
 * thread. */
STRADS_API strads_err strads_model_read(const char *path, const char *program,
                                        strads_model **out);

/* Frees what strads_model_read or _from_result made; NULL is fine. */
STRADS_API void strads_model_free(strads_model *model);

#ifdef __cplusplus
}
#endif

#endif
