/* engine/run/model_file.h - a model with room for what is to be filled in. */
#ifndef STI_MODEL_FILE_H
#define STI_MODEL_FILE_H

#include "strads/model.h"

/* A model that was made here, and what its reader has allocated: a caller may
 * have set model.intercepts to an array of his own. */
typedef struct sti_model {
    strads_model model;
    double *intercepts, *means;
    strads_names *names;
    char *target;
} sti_model;

/* A model with room for n parameters; the strings are copied. */
strads_err sti_model_new(const char *program, const char *options, uint64_t n,
                         uint32_t width, strads_model **out);

#endif
