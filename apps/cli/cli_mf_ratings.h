/* cli_mf_ratings.h - ratings that meet a model; users and items by the names or
 * numbers that people know. */
#ifndef CLI_MF_RATINGS_H
#define CLI_MF_RATINGS_H

#include <stdio.h>

#include "cli_mf_model.h"

typedef struct cli_mf_reading {
    uint32_t workers; /* threads that read; 0: one per core */
    bool quiet;
    strads_scalar values; /* F64 or F32 */
    bool new_users; /* rows are not the model's users, and have numbers or names
                       of their own */
} cli_mf_reading;

/* Reads ratings by row; items, and users unless they are new, have the model's
 * numbers; with names what it does not know is left out, which is said.
 * Errors as strads_data_read; STRADS_EMISMATCH: names against numbers. */
strads_err cli_mf_ratings_read(const char *path, const cli_mf_model *model,
                               const cli_mf_reading *reading,
                               strads_data **out);

/* A user or an item, as people see it; names NULL: its number from `base`.
 * Valid until room or names go. */
#define CLI_MF_ID_SIZE 24
const char *cli_mf_id(const strads_names *names, uint64_t id, uint64_t base,
                      char room[CLI_MF_ID_SIZE]);

/* The other way round. STRADS_EINVAL: no such user among `count`. */
strads_err cli_mf_find_user(const cli_mf_model *model, const char *text,
                            uint64_t *user);

#endif
