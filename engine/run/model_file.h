/* engine/run/model_file.h - allocates a model for a reader to fill. */
#ifndef STI_MODEL_FILE_H
#define STI_MODEL_FILE_H

#include "strads/model.h"

/* A model made by this library, and the arrays that its reader allocated.
 * model.intercepts cannot stand for the latter: a caller may have set it to
 * another array. */
typedef struct sti_model {
    strads_model model;
    double *intercepts, *means;
    uint32_t *stratum; /* of model.baseline, as its time and hazard */
    double *time, *hazard;
    double *thresholds;
    strads_names *names;
    char *target;
} sti_model;

/* Allocates a model of n parameters. Copies the strings. */
strads_err sti_model_new(const char *program, const char *options, uint64_t n,
                         uint32_t width, strads_model **out);

#endif
