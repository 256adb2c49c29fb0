/* strads lda train. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_train.h"
#include "cli_documents.h"
#include "cli.h"
#include "engine/base/atomic_file.h"
#include "strads/lda.h"

typedef struct lda_files {
    const char *assignments;
    const char *path; /* of the data */
    cli_words words;
    strads_names *names;   /* of the words, or NULL */
    strads_lda_model *old; /* of --from, or NULL */
    char *old_path;        /* in full: other nodes read it, too */
} lda_files;

static const strads_option file_table[] = {
    {.name = "assignments",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(lda_files, assignments),
     .metavar = "FILE",
     .help = "lines `N word:topic ...`, from 0 (none)"},
    CLI_WORDS_OPTIONS(lda_files, words),
    {.name = NULL},
};

/* A model that is gone on from has as many topics as it has. */
static strads_err read_old(lda_files *f, strads_lda_options *options)
{
    const strads_lda_options *defaults = strads_program_lda.defaults;
    strads_err err = strads_lda_model_read(options->from, &f->old);
    if (err) {
        return err;
    }
    if (options->topics != defaults->topics &&
        options->topics != f->old->topics) {
        return strads_fail(STRADS_EMISMATCH,
                           "--topics %" PRIu32 ": the model %s has %" PRIu32
                           ", leave the option out",
                           options->topics, options->from, f->old->topics);
    }
    options->topics = f->old->topics;
    f->old_path = realpath(options->from, NULL);
    if (f->old_path) {
        options->from = f->old_path;
    }
    return STRADS_OK;
}

static strads_err check(void *files, void *config)
{
    lda_files *f = files;
    strads_lda_options *options = config;
    strads_err err = options->from ? read_old(f, options) : STRADS_OK;
    if (err || !f->assignments) {
        return err;
    }
    options->keep_assignments = true;
    return sti_atomic_file_check(f->assignments);
}

static strads_err set_reading(void *files, const char *path,
                              strads_data_options *options)
{
    lda_files *f = files;
    f->path = path;
    strads_err err = cli_words_use(&f->words, options);
    return !err && f->old ? cli_words_extend(&f->words, f->old, path, options)
                          : err;
}

static strads_err look(void *files, const strads_data *data)
{
    lda_files *f = files;
    const char *path = f->words.vocab ? f->words.vocab : f->path;
    return cli_words_names(data, path, f->old, &f->names);
}

static void tell_words(const lda_files *f, const cli_trained *trained)
{
    const uint64_t unknown = strads_data_unknown(trained->data);
    const uint64_t words = strads_data_cols(trained->data);
    if (unknown > 0) {
        cli_say(trained->quiet,
                "%" PRIu64 " tokens of words that are not in the vocabulary "
                "were left out",
                unknown);
    }
    if (f->old && words > f->old->words) {
        cli_say(trained->quiet,
                "%" PRIu64 " words are new to the model's %" PRIu64,
                words - f->old->words, f->old->words);
    }
}

static strads_err write_model(const cli_trained *trained, const char *path)
{
    lda_files *f = trained->arg;
    strads_lda_model *model = NULL;
    strads_err err = strads_lda_model_from_result(trained->result, &model);
    if (!err) {
        model->names = f->names;
        f->names = NULL;
        err = strads_lda_model_write(model, trained->options, path);
    }
    strads_lda_model_free(model);
    return err;
}

static strads_err finish(void *files, const cli_trained *trained)
{
    const lda_files *f = files;
    tell_words(f, trained);
    return f->assignments
               ? strads_lda_assignments_write(trained->result, f->assignments)
               : STRADS_OK;
}

int cli_lda_train(int argc, char **argv)
{
    lda_files files = {0};
    const cli_train train = {
        .program = &strads_program_lda,
        .name = "lda train",
        .summary = "Finds the topics of documents: plain text, a document a "
                   "line, or counts (UCI bag of words, ldac, MatrixMarket).",
        .options = "LDA:",
        .write = write_model,
        .more = file_table,
        .arg = &files,
        .check = check,
        .read = set_reading,
        .look = look,
        .finish = finish,
    };
    int code = cli_train_main(&train, argc, argv);
    cli_words_free(&files.words);
    strads_names_free(files.names);
    strads_lda_model_free(files.old);
    free(files.old_path);
    return code;
}
