/* strads lda train. */
#include <inttypes.h>
#include <stdio.h>

#include "cli_train.h"
#include "cli_words.h"
#include "command.h"
#include "engine/base/aside.h"
#include "strads/lda.h"

typedef struct lda_files {
    const char *assignments;
    cli_words words;
    strads_names *names; /* of the words, or NULL */
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

static strads_err check(void *files, void *config)
{
    const lda_files *f = files;
    strads_lda_options *options = config;
    if (!f->assignments) {
        return STRADS_OK;
    }
    options->keep_assignments = true;
    return sti_aside_check(f->assignments);
}

static strads_err set_reading(void *files, strads_data_options *options)
{
    lda_files *f = files;
    return cli_words_use(&f->words, options);
}

static strads_err look(void *files, const strads_data *data)
{
    lda_files *f = files;
    if (strads_data_unknown(data) > 0) {
        cli_say(false,
                "%" PRIu64 " tokens of words that are not in the "
                "vocabulary are left out",
                strads_data_unknown(data));
    }
    return cli_words_names(data, &f->names);
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

static strads_err write_assignments(void *files, const cli_trained *trained)
{
    const lda_files *f = files;
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
        .finish = write_assignments,
    };
    int code = cli_train_main(&train, argc, argv);
    cli_words_free(&files.words);
    strads_names_free(files.names);
    return code;
}
