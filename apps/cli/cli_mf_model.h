/* cli_mf_model.h - models of matrix factorisation: a JSON file OUT and, beside
 * it, OUT.users.npy and OUT.items.npy. These are arrays of f32 with one row for
 * each user or item: the bias, then the factors. The JSON contains their
 * checksums. */
#ifndef CLI_MF_MODEL_H
#define CLI_MF_MODEL_H

#include <jansson.h>

#include "cli_train.h"
#include "strads/mf.h"
#include "strads/recommend.h"

/* Rows of a table of options, for a struct with such an array of four texts:
 * column names of a header. */
#define CLI_MF_COLUMNS(type, member)                              \
    CLI_TEXT(type, member[0], "user", "NAME",                     \
             "column of users (default: by common names)"),       \
        CLI_TEXT(type, member[1], "item", "NAME",                 \
                 "column of items (default: by common names)"),   \
        CLI_TEXT(type, member[2], "rating", "NAME",               \
                 "column of ratings (default: by common names)"), \
        CLI_TEXT(type, member[3], "time", "NAME",                 \
                 "column of times, of a model with times (its own)")

typedef struct cli_mf_model {
    strads_mf_factors f;
    double low, high;    /* predictions are clipped to this range; old models:
                       * infinite */
    uint64_t index_base; /* added to numbers in input and output */
    strads_names *user_names; /* NULL: users have numbers */
    strads_names *item_names;
    const char *column[4]; /* header names of user, item, rating and time in
                            * the training data, if they were given; or NULL */
    strads_mf_periods periods;
    json_t *json; /* the parsed file, which owns the names */
} cli_mf_model;

/* Writes the model of a run of `mf`; the JSON file is renamed last.
 * STRADS_ESTATE: the run ended early. STRADS_EIO, STRADS_ENOMEM. */
strads_err cli_mf_model_write(const cli_trained *trained, const char *path);

/* STRADS_EIO, STRADS_EFORMAT, STRADS_ENOMEM. STRADS_EMISMATCH: another version,
 * or the arrays belong to another model. */
strads_err cli_mf_model_read(const char *path, cli_mf_model *out);

/* mean + b_u + c_i + p_u'q_i, clipped to the model's range; terms of an unknown
 * user or item are 0. `time` [or NULL]: of the pair, for a model with times. */
double cli_mf_model_predict(const cli_mf_model *model, uint64_t user,
                            uint64_t item, const double *time);

/* command_mf_vectors.c */
extern const cli_verb cli_mf_similar_verb, cli_mf_export_verb;

/* ---- ratings for a model ------------------------------------------------- */

/* Sets the column names of ratings to read, if given, instead of those that the
 * model was trained on. STRADS_EINVAL: one of times for a model without. */
strads_err cli_mf_model_columns(cli_mf_model *model,
                                const char *const given[4]);

/* Reads ratings by row as f64 or f32, with the model's numbers for items and
 * for users, unless users are new. New users have their own numbers or names.
 * Unknown names are dropped, and their number is reported. Errors as
 * strads_data_read; STRADS_EMISMATCH: only one of data and model has names. */
strads_err cli_mf_ratings_read(const char *path, const cli_mf_model *model,
                               const cli_use *use, strads_scalar values,
                               bool new_users, strads_data **out);

/* Ratings in the order and under the names of their file, and the model's
 * numbers of their users and items, or UINT64_MAX if it lacks one. */
typedef struct cli_mf_ratings {
    strads_data *data;
    uint64_t *user, *item; /* [rows], [columns] of data */
    uint64_t unknown;      /* ratings of users or items that the model lacks */
} cli_mf_ratings;

/* Reads all ratings of a file as f64. Errors as cli_mf_ratings_read. */
strads_err cli_mf_ratings_read_all(const char *path, const cli_mf_model *model,
                                   const cli_use *use, cli_mf_ratings *out);

/* Whether a row of factors, [width] with the bias first, has any that is not 0.
 * Those of users and items without training ratings, and NULL, have none. */
bool cli_mf_has_factors(const float *row, size_t width);

/* Finds a user by name or number. STRADS_EINVAL: no such user. */
strads_err cli_mf_find_user(const cli_mf_model *model, const char *text,
                            uint64_t *user);
/* The same for items. */
strads_err cli_mf_find_item(const cli_mf_model *model, const char *text,
                            uint64_t *item);

#endif
