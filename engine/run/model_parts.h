/* model_parts.h - what the writer and the reader of model files share. */
#ifndef STI_MODEL_PARTS_H
#define STI_MODEL_PARTS_H

#include "strads/model.h"

#define STI_MODEL_FORMAT "strads-model"
#define STI_MODEL_VERSION 1

/* Indices in the file count from 1, as in every format that we read. */
#define STI_MODEL_BASE 1

/* A model that was made here, and what its reader has allocated: a caller may
 * have set model.intercepts to an array of his own. */
typedef struct sti_model {
    strads_model model;
    double *intercepts;
} sti_model;

/* A model with room for n parameters; the strings are copied. */
strads_err sti_model_new(const char *program, const char *options, uint64_t n,
                         uint32_t width, strads_model **out);

#endif
