/* strads lda infer: the topics of new documents by a trained model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli_options.h"
#include "command.h"
#include "engine/base/aside.h"
#include "strads/lda.h"

typedef struct infer_options {
    uint32_t sweeps, burn_in;
    uint64_t seed;
    const char *output;
} infer_options;

static const strads_option infer_table[] = {
    {.name = "sweeps",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(infer_options, sweeps),
     .metavar = "N",
     .help = "draws of every token (default: 50)",
     .min = 1,
     .max = 1e9},
    {.name = "burn-in",
     .kind = STRADS_OPTION_U32,
     .offset = offsetof(infer_options, burn_in),
     .metavar = "N",
     .help = "of them not averaged (default: 10)",
     .max = 1e9},
    {.name = "seed",
     .kind = STRADS_OPTION_U64,
     .offset = offsetof(infer_options, seed),
     .metavar = "S",
     .help = "of the draws (default: 0)"},
    {.name = "output",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(infer_options, output),
     .metavar = "FILE",
     .help = "write there (default: standard output)"},
    {.name = NULL},
};

typedef struct inference {
    infer_options options;
    strads_lda_model *model;
    strads_data *data;
    double *theta;
    uint32_t *word, *count; /* of the longest document */
} inference;

static strads_err make_room(inference *f, const strads_sparse *rows)
{
    uint64_t most = 0;
    for (uint64_t d = 0; d < rows->lines; d++) {
        uint64_t n = rows->start[d + 1] - rows->start[d];
        most = n > most ? n : most;
    }
    f->theta = calloc(f->model->topics, sizeof *f->theta);
    f->word = calloc(most + 1, sizeof *f->word);
    f->count = calloc(most + 1, sizeof *f->count);
    return f->theta && f->word && f->count
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for a document");
}

/* Words that the model does not know are left out. */
static strads_err infer_one(inference *f, const strads_sparse *rows, uint64_t d,
                            FILE *out)
{
    uint32_t n = 0;
    for (uint64_t e = rows->start[d]; e < rows->start[d + 1]; e++) {
        if (rows->index[e] < f->model->words) {
            f->word[n] = rows->index[e];
            f->count[n++] = (uint32_t)rows->f32[e];
        }
    }
    strads_err err =
        strads_lda_infer(f->model, f->options.sweeps, f->options.burn_in,
                         f->options.seed, n, f->word, f->count, f->theta);
    for (uint32_t k = 0; k < f->model->topics && !err; k++) {
        (void)fprintf(out, "%s%.9g", k ? "," : "", f->theta[k]);
    }
    (void)fputc('\n', out);
    return err;
}

static strads_err infer_all(inference *f, FILE *out)
{
    const strads_sparse *rows = &strads_data_share(f->data, 0)->by_row;
    strads_err err = make_room(f, rows);
    for (uint64_t d = 0; d < rows->lines && !err; d++) {
        err = infer_one(f, rows, d, out);
    }
    return err;
}

static strads_err write_all(inference *f)
{
    sti_aside aside = {0};
    if (!f->options.output) {
        return infer_all(f, stdout);
    }
    strads_err err = sti_aside_open(f->options.output, &aside);
    if (!err) {
        err = infer_all(f, aside.file);
    }
    if (!err) {
        return sti_aside_commit(&aside);
    }
    sti_aside_abandon(&aside);
    return err;
}

static strads_err infer(inference *f, const char *model, const char *data)
{
    const strads_data_options options = {
        .size = sizeof options,
        .layout = STRADS_LAYOUT_ROWS,
        .kind = STRADS_KIND_CORPUS,
        .values = STRADS_F32,
    };
    if (f->options.burn_in >= f->options.sweeps) {
        return strads_fail(STRADS_EINVAL,
                           "--burn-in %" PRIu32 ": expected fewer than "
                           "--sweeps %" PRIu32,
                           f->options.burn_in, f->options.sweeps);
    }
    strads_err err = strads_lda_model_read(model, &f->model);
    if (!err) {
        err = strads_data_read(data, &options, &f->data);
    }
    return err ? err : write_all(f);
}

int cli_lda_infer(int argc, char **argv)
{
    inference f = {.options = {.sweeps = 50, .burn_in = 10}};
    cli_syntax syntax = {
        .name = "lda infer",
        .args = "MODEL DATA",
        .summary = "Writes the shares of the model's topics in each document, "
                   "a line of CSV each. Words that the model does not know "
                   "count nothing.",
        .groups = {{NULL, infer_table, &f.options}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = infer(&f, parsed.arg[0], parsed.arg[1]);
    }
    int code = err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
    strads_lda_model_free(f.model);
    strads_data_free(f.data);
    free(f.theta);
    free(f.word);
    free(f.count);
    sti_config_strings_free(&strings);
    return code;
}
