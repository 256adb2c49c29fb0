/* cli_liblinear.h - models in the text format of liblinear: what its `train`
 * writes and its `predict` reads, and here the other way round. */
#ifndef CLI_LIBLINEAR_H
#define CLI_LIBLINEAR_H

#include <jansson.h>

#include "strads/strads.h"

/* Reads a model: of liblinear's where the file says so by its first word, else
 * one of ours, as strads_model_read. `program` is "svm" or "logistic" for
 * solvers of that kind; others are refused. STRADS_EFORMAT names the line. */
strads_err cli_model_read(const char *path, const char *program,
                          strads_model **out);

/* Writes one: for liblinear where the name ends in ".liblinear", else as
 * strads_model_write. Labels with names are numbered for liblinear, and unless
 * `quiet` people are told how. STRADS_EINVAL: not a model that liblinear can
 * have. */
strads_err cli_model_write(const strads_model *model, const char *path,
                           bool quiet);

/* What a model's options, a JSON object, say that it is; NULL and 0 where they
 * do not. STRADS_ENOMEM. */
typedef struct cli_model_kind {
    const char *loss, *classes, *multiclass;
    double l1_ratio;
    json_t *options; /* what the strings are of */
} cli_model_kind;

strads_err cli_model_kind_of(const char *options, const cli_model_kind **out);

/* STRADS_EINVAL: a model of that program, with these options (JSON), cannot be
 * written to a file of that name. */
strads_err cli_model_check(const char *path, const char *program,
                           const char *options);

#endif
