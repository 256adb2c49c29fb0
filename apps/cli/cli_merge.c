/* strads lda merge: joins nearly equal topics of a model. */
#include <inttypes.h>
#include <jansson.h>

#include "cli_lda.h"
#include "engine/base/atomic_file.h"

typedef struct merged {
    cli_use use;
    const char *path; /* of the new model */
    double cosine;
    strads_lda_model *old, *model;
    uint32_t *into; /* [topics of the old model] */
} merged;

static const strads_option merge_table[] = {
    CLI_TEXT(merged, path, "model", "OUT", "write the new model here"),
    CLI_F64(merged, cosine, "cosine", "C",
            "join topics with at least this cosine of their words (0.9)", 1e-9,
            1),
    {.name = NULL},
};

/* Writes the model with the options that the old one was trained with. */
static strads_err write_merged(const merged *m, const char *old)
{
    json_t *json = json_load_file(old, 0, NULL);
    char *options = json_dumps(json_object_get(json, "options"), JSON_COMPACT);
    const strads_err err = strads_lda_model_write(m->model, options, m->path);
    free(options);
    json_decref(json);
    return err;
}

static strads_err merge_topics(void *state, const char *const *path)
{
    merged *m = state;
    if (!m->path)
        return strads_fail(STRADS_EINVAL,
                           "expected --model OUT, the file for the new model");
    CLI_TRY(sti_atomic_file_check(m->path));
    CLI_TRY(strads_lda_model_read(path[0], &m->old));
    CLI_TRY(
        cli_reserve(m->old->topics, sizeof *m->into, "the topics", &m->into));
    CLI_TRY(strads_lda_merge(m->old, m->cosine, m->into, &m->model));
    return write_merged(m, path[0]);
}

/* A line for each topic of several members: its new number and their old
 * ones. */
static strads_err tell_merged(const void *state)
{
    const merged *m = state;
    for (uint32_t k = 0; k < m->model->topics; k++) {
        uint32_t members = 0;
        for (uint32_t j = 0; j < m->old->topics; j++)
            members += m->into[j] == k;
        if (members < 2)
            continue;
        (void)printf("topic %" PRIu32 " joins", k);
        for (uint32_t j = 0; j < m->old->topics; j++)
            if (m->into[j] == k)
                (void)printf(" %" PRIu32, j);
        (void)putchar('\n');
    }
    cli_say(m->use.quiet,
            "%" PRIu32 " topics became %" PRIu32 "; the model is in %s",
            m->old->topics, m->model->topics, m->path);
    return STRADS_OK;
}

const cli_verb cli_lda_merge = {
    .size = sizeof(merged),
    .initial = &(const merged){.cosine = 0.9},
    .table = merge_table,
    .has = CLI_HAS_QUIET,
    .read = merge_topics,
    .tell = tell_merged,
};
