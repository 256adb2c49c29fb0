/* cli_liblinear.h - models in the text format of liblinear: what its `train`
 * writes and its `predict` reads, and here the other way round. */
#ifndef CLI_LIBLINEAR_H
#define CLI_LIBLINEAR_H

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

/* STRADS_EINVAL: a model of that program, with these options (JSON), cannot be
 * written to a file of that name. */
strads_err cli_model_check(const char *path, const char *program,
                           const char *options);

#endif
