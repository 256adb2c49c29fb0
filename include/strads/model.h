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
 * A file contains nonzero coefficients only. Indices count from 1, as in LIBSVM
 * and MatrixMarket files. A program with several numbers a parameter also has
 * "width": k and k values for each index; its intercepts are an array of k, or
 * a single 0. A model trained on a table also has "target" (the name of the
 * labels' column), "names" (of all columns) and, if missing fields were filled
 * in, "means" (of all columns). A model of times until an event also has
 * "baseline": {"stratum": [...], "time": [...], "hazard": [...]}, and one of
 * ordered classes has "thresholds": [...]. */
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

/* The run that made a model. NaN: unknown. */
typedef struct strads_model_fit {
    double objective, gap;
    uint64_t rounds;
    double seconds;
    uint64_t seed;
    uint32_t partitions;
} strads_model_fit;

/* The baseline hazard of a Cox model: a step function of time for each stratum.
 * Step k says that from time[k] on, up to the stratum's next step, a row at
 * margin 0 has the cumulative hazard hazard[k]; before the first it is 0. */
typedef struct strads_baseline {
    uint64_t n;              /* steps of all strata */
    const uint32_t *stratum; /* [n] ascending; 0 if there are none */
    const double *time;      /* [n] ascending in each stratum, from 0 up */
    const double *hazard;    /* [n] ascending in each stratum, from 0 up */
} strads_baseline;

typedef struct strads_model {
    const char *program;
    uint64_t columns; /* parameters: index[k] < columns, at most 2^32 - 2 */
    uint32_t width;   /* numbers a parameter; 0 means 1 */
    double intercept; /* 0 if there is none */
    const double *intercepts; /* [width], replaces `intercept`; or NULL */
    uint64_t n;               /* parameters that are not 0 */
    const uint32_t *index;    /* [n] counted from 0, ascending */
    const double *value;      /* [n x width] */
    const char *options;      /* a JSON object, or NULL for {} */
    strads_model_fit fit;
    const strads_names *names; /* of all columns, in UTF-8; or NULL */
    const double *means;       /* with names: [columns] replacements of missing
                                  fields, as strads_data_col_means; or NULL */
    const char *target;        /* name of the column of labels, or NULL */
    strads_baseline baseline;  /* of times until an event; n is 0: none */
    uint32_t n_thresholds;     /* of ordered classes, one fewer; 0: none */
    const double *thresholds;  /* [n_thresholds] ascending
                                  (strads_glm_thresholds) */
} strads_model;

/* Makes a model from the result of a run: its nonzero coefficients and its
 * figures. `program` and `options` are copied; `options` may be NULL. The
 * intercept is 0: the caller sets it from the program's state. The caller frees
 * *out by strads_model_free. STRADS_ENOMEM. Any thread. */
STRADS_API strads_err strads_model_from_result(const strads_result *result,
                                               const char *program,
                                               const char *options,
                                               uint64_t seed,
                                               strads_model **out);

/* Writes a model atomically: to a temporary file beside `path`, then by rename.
 * `path` is at any time the old file or the complete new one. STRADS_EINVAL: a
 * value that is not finite, an index that is out of range or does not ascend,
 * options that are not a JSON object, a name that is not UTF-8. STRADS_EIO: the
 * disk. Blocks. Any thread. */
STRADS_API strads_err strads_model_write(const strads_model *model,
                                         const char *path);

/* Reads a model. The caller frees *out by strads_model_free. STRADS_EIO: the
 * file cannot be read. STRADS_EFORMAT: it is not a model file; the sentence
 * gives the wrong line or member. STRADS_EMISMATCH: another version, or a model
 * of a program other than `program` (NULL: any program). Blocks. Any thread. */
STRADS_API strads_err strads_model_read(const char *path, const char *program,
                                        strads_model **out);

/* Frees a model made by strads_model_read or _from_result. NULL is allowed. */
STRADS_API void strads_model_free(strads_model *model);

#ifdef __cplusplus
}
#endif

#endif
