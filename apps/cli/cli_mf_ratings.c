/* See cli_mf_ratings.h. */
#include "cli_mf_ratings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_cost.h"
#include "command.h"

strads_err cli_mf_ratings_read(const char *path, const cli_mf_model *model,
                               const cli_mf_reading *reading, strads_data **out)
{
    strads_data *data = NULL;
    strads_data_options wanted = {
        .size = sizeof wanted,
        .layout = STRADS_LAYOUT_ROWS,
        .values = reading->values,
        .kind = STRADS_KIND_RATINGS,
        .threads = reading->workers,
        .row_names = reading->new_users ? NULL : model->user_names,
        .col_names = model->item_names,
    };
    cli_cost_tell(reading->quiet, path, &wanted);
    strads_err err = strads_data_read(path, &wanted, &data);
    if (!err && strads_data_col_names(data) && !model->item_names) {
        err = strads_fail(STRADS_EMISMATCH,
                          "%s: its users have names, the model's are numbers",
                          path);
    }
    if (err) {
        strads_data_free(data);
        return err;
    }
    if (strads_data_unknown(data) > 0) {
        cli_say(reading->quiet,
                "%" PRIu64 " ratings are of users or items that the model does "
                "not know and are left out",
                strads_data_unknown(data));
    }
    *out = data;
    return STRADS_OK;
}

const char *cli_mf_id(const strads_names *names, uint64_t id, uint64_t base,
                      char room[CLI_MF_ID_SIZE])
{
    if (names) {
        return strads_names_at(names, (uint32_t)id);
    }
    (void)snprintf(room, CLI_MF_ID_SIZE, "%" PRIu64, id + base);
    return room;
}

strads_err cli_mf_find_user(const cli_mf_model *model, const char *text,
                            uint64_t *user)
{
    if (model->user_names) {
        uint32_t number = 0;
        if (!strads_names_find(model->user_names, text, strlen(text),
                               &number)) {
            return strads_fail(STRADS_EINVAL,
                               "the model has no user called \"%s\"; fold "
                               "users in from their ratings by --fold-in",
                               text);
        }
        *user = number;
        return STRADS_OK;
    }
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' ||
        number < model->index_base ||
        number - model->index_base >= model->users) {
        return strads_fail(STRADS_EINVAL,
                           "\"%s\" is no user of the model: its users are the "
                           "numbers from %" PRIu64 " to %" PRIu64,
                           text, model->index_base,
                           model->users + model->index_base - 1);
    }
    *user = number - model->index_base;
    return STRADS_OK;
}
