/* cli_liblinear.h - reads models that liblinear's `train` writes, and writes
 * models that its `predict` reads. */
#ifndef CLI_LIBLINEAR_H
#define CLI_LIBLINEAR_H

#include <jansson.h>

#include "strads/strads.h"

/* Reads a model in liblinear's format if the file's first word is that
 * format's, otherwise as strads_model_read does. Accepts only solvers of
 * `program`, "svm" or "logistic". STRADS_EFORMAT: the message contains the line
 * number. */
strads_err cli_model_read(const char *path, const char *program,
                          strads_model **out);

/* Writes a model in liblinear's format if the name ends in ".liblinear",
 * otherwise as strads_model_write does. liblinear has no label names, so they
 * are numbered, and reported unless `quiet`. STRADS_EINVAL: liblinear has no
 * such model. */
strads_err cli_model_write(const strads_model *model, const char *path,
                           bool quiet);

/* The kind of a model, read from its options, a JSON object; NULL and 0 for
 * missing options. STRADS_ENOMEM. */
typedef struct cli_model_kind {
    const char *loss, *classes, *multiclass;
    double l1_ratio;
    uint32_t context; /* fm, loss bpr */
    json_t *options;  /* owns the strings */
} cli_model_kind;

strads_err cli_model_kind_of(const char *options, const cli_model_kind **out);

/* STRADS_EINVAL: a model of this program with these options (JSON) cannot be
 * written to a file of this name. */
strads_err cli_model_check(const char *path, const char *program,
                           const char *options);

#endif
