/* cli_mf_model.h - models of matrix factorisation: OUT, a JSON file, and beside
 * it OUT.users.npy and OUT.items.npy, arrays of f32 with a row for each user
 * and item: the bias, then the factors. The JSON has their checksums. */
#ifndef CLI_MF_MODEL_H
#define CLI_MF_MODEL_H

#include <jansson.h>

#include "cli_train.h"
#include "strads/recommend.h"

/* Lines of a table of options, of a struct that has such an array of three
 * texts: the columns of a header. */
#define CLI_MF_COLUMNS(type, member)                           \
    CLI_TEXT(type, member[0], "user", "NAME",                  \
             "users' column in a header (default: as usual)"), \
        CLI_TEXT(type, member[1], "item", "NAME",              \
                 "items' column in a header (as usual)"),      \
        CLI_TEXT(type, member[2], "rating", "NAME",            \
                 "ratings' column in a header (as usual)")

typedef struct cli_mf_model {
    strads_mf_factors f;
    uint64_t index_base;      /* what to add to a number that people see */
    strads_names *user_names; /* NULL: numbers */
    strads_names *item_names;
    const char *column[3]; /* user, item and rating in the header of what it
                              was trained on, where that was said; NULL */
    json_t *json;          /* the file: names point into it */
} cli_mf_model;

/* Writes what a run of `mf` has left. The JSON file is renamed last.
 * STRADS_ESTATE: the run was cut short. STRADS_EIO, STRADS_ENOMEM. */
strads_err cli_mf_model_write(const cli_trained *trained, const char *path);

/* STRADS_EIO, STRADS_EFORMAT, STRADS_EMISMATCH: another version, or arrays that
 * are not this model's. STRADS_ENOMEM. */
strads_err cli_mf_model_read(const char *path, cli_mf_model *out);

/* mean + b_u + c_i + p_u'q_i; what is not known counts nothing. */
double cli_mf_model_predict(const cli_mf_model *model, uint64_t user,
                            uint64_t item);

/* ---- ratings that meet a model ------------------------------------------ */

/* The columns of ratings that are read from now on, where they are given:
 * others than those that the model was trained on. */
void cli_mf_model_columns(cli_mf_model *model, const char *const given[3]);

/* Reads ratings by row as f64 or f32; items, and users unless they are new, have
 * the model's numbers; with names what it does not know is left out, which is
 * said. New users have numbers or names of their own. Errors as
 * strads_data_read; STRADS_EMISMATCH: names against numbers. */
strads_err cli_mf_ratings_read(const char *path, const cli_mf_model *model,
                               const cli_use *use, strads_scalar values,
                               bool new_users, strads_data **out);

/* Ratings in the order and under the names of their file, and the model's numbers
 * of their users and items: UINT64_MAX where it does not know one. */
typedef struct cli_mf_ratings {
    strads_data *data;
    uint64_t *user, *item; /* [rows], [columns] of data */
    uint64_t unknown;      /* ratings of users or items that it does not know */
} cli_mf_ratings;

/* Reads all ratings of a file as f64. Errors as cli_mf_ratings_read. */
strads_err cli_mf_ratings_read_all(const char *path, const cli_mf_model *model,
                                   const cli_use *use, cli_mf_ratings *out);

/* The other way round. STRADS_EINVAL: no such user among `count`. */
strads_err cli_mf_find_user(const cli_mf_model *model, const char *text,
                            uint64_t *user);

#endif
