/* strads lda train. */
#include <stdio.h>

#include "cli_train.h"
#include "command.h"
#include "engine/base/aside.h"
#include "strads/lda.h"

typedef struct lda_files {
    const char *assignments;
} lda_files;

static const strads_option file_table[] = {
    {.name = "assignments",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(lda_files, assignments),
     .metavar = "FILE",
     .help = "lines `N word:topic ...`, from 0 (none)"},
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

static strads_err write_model(const cli_trained *trained, const char *path)
{
    strads_lda_model *model = NULL;
    strads_err err = strads_lda_model_from_result(trained->result, &model);
    if (!err) {
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
        .summary = "Finds the topics of documents: UCI bag of words, ldac or "
                   "MatrixMarket counts.",
        .options = "LDA:",
        .write = write_model,
        .more = file_table,
        .arg = &files,
        .check = check,
        .finish = write_assignments,
    };
    return cli_train_main(&train, argc, argv);
}
