/* strads lda infer: the topics of new documents by a trained model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli_corpus.h"
#include "cli_names.h"
#include "cli_options.h"
#include "cli_output.h"
#include "command.h"
#include "engine/base/atomic_file.h"

typedef struct infer_options {
    uint32_t sweeps, burn_in;
    uint64_t seed;
    const char *format, *output, *documents;
    bool quiet;
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
    {.name = "format",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(infer_options, format),
     .metavar = "F",
     .help = "csv, json (a line a document) or npy (default: csv)",
     .choices = "csv|json|npy"},
    CLI_OPTION_OUTPUT(offsetof(infer_options, output)),
    {.name = "documents",
     .kind = STRADS_OPTION_STRING,
     .offset = offsetof(infer_options, documents),
     .metavar = "FILE",
     .help = "names of the documents, one a line, for csv and json (none)"},
    CLI_OPTION_QUIET(offsetof(infer_options, quiet)),
    {.name = NULL},
};

typedef struct inference {
    infer_options options;
    cli_corpus_options read;
    strads_lda_model *model;
    cli_corpus corpus;
    strads_names *documents; /* their names, or NULL */
    double *theta;
    uint32_t *word, *count; /* of the longest document */
} inference;

static void inference_free(inference *f)
{
    strads_lda_model_free(f->model);
    cli_corpus_free(&f->corpus);
    strads_names_free(f->documents);
    free(f->theta);
    free(f->word);
    free(f->count);
}

static strads_err make_room(inference *f)
{
    f->theta = calloc(f->model->topics, sizeof *f->theta);
    f->word = calloc(f->corpus.longest + 1, sizeof *f->word);
    f->count = calloc(f->corpus.longest + 1, sizeof *f->count);
    return f->theta && f->word && f->count
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory left for a document");
}

/* ---- formats ----------------------------------------------------------- */

static void put_csv(const inference *f, uint32_t d, FILE *out)
{
    if (f->documents) {
        cli_csv_text(out, strads_names_at(f->documents, d));
    }
    for (uint32_t k = 0; k < f->model->topics; k++) {
        (void)fprintf(out, "%s%.9g", k || f->documents ? "," : "", f->theta[k]);
    }
    (void)fputc('\n', out);
}

static void put_json(const inference *f, uint32_t d, FILE *out)
{
    (void)fprintf(out, "{\"document\": ");
    if (f->documents) {
        cli_json_text(out, strads_names_at(f->documents, d));
    } else {
        (void)fprintf(out, "%" PRIu32, d);
    }
    for (uint32_t k = 0; k < f->model->topics; k++) {
        (void)fprintf(out, "%s%.9g", k ? ", " : ", \"topics\": [", f->theta[k]);
    }
    (void)fputs("]}\n", out);
}

static strads_err infer_all(void *arg, FILE *out)
{
    inference *f = arg;
    const uint32_t topics = f->model->topics;
    const uint64_t documents = strads_data_rows(f->corpus.data);
    const strads_lda_draws draws = {.sweeps = f->options.sweeps,
                                    .burn_in = f->options.burn_in,
                                    .seed = f->options.seed};
    const bool npy = strcmp(f->options.format, "npy") == 0;
    const bool json = strcmp(f->options.format, "json") == 0;
    strads_err err = STRADS_OK;
    if (npy) {
        cli_npy_header(out, "<f8", documents, topics);
    }
    for (uint32_t d = 0; d < documents && !err; d++) {
        strads_lda_words words =
            cli_corpus_words(&f->corpus, d, f->word, f->count);
        err = strads_lda_infer(f->model, &draws, &words, f->theta);
        if (err) {
            break;
        }
        if (npy) {
            (void)fwrite(f->theta, sizeof *f->theta, topics, out);
        } else {
            (json ? put_json : put_csv)(f, d, out);
        }
    }
    return err;
}

/* ---- the command ------------------------------------------------------- */

static strads_err name_documents(inference *f)
{
    const uint64_t rows = strads_data_rows(f->corpus.data);
    strads_err err = strads_names_read(f->options.documents, &f->documents);
    if (!err && strads_names_count(f->documents) != rows) {
        err = strads_fail(STRADS_EMISMATCH,
                          "--documents %s: has %" PRIu32
                          " names, there are %" PRIu64 " documents",
                          f->options.documents,
                          strads_names_count(f->documents), rows);
    }
    return err;
}

static strads_err infer(inference *f, const char *model, const char *data)
{
    if (f->options.burn_in >= f->options.sweeps) {
        return strads_fail(STRADS_EINVAL,
                           "--burn-in %" PRIu32 ": expected fewer than "
                           "--sweeps %" PRIu32,
                           f->options.burn_in, f->options.sweeps);
    }
    strads_err err = f->options.output
                         ? sti_atomic_file_check(f->options.output)
                         : STRADS_OK;
    if (!err) {
        err = strads_lda_model_read(model, &f->model);
    }
    if (!err) {
        err = cli_corpus_read(f->model, data, &f->read, &f->corpus);
    }
    if (!err && f->options.documents) {
        err = name_documents(f);
    }
    if (!err) {
        err = make_room(f);
    }
    if (err) {
        return err;
    }
    cli_corpus_tell(&f->corpus, f->options.quiet);
    return cli_output(f->options.output, infer_all, f);
}

int cli_lda_infer(int argc, char **argv)
{
    inference f = {.options = {.sweeps = 50, .burn_in = 10, .format = "csv"}};
    cli_syntax syntax = {
        .name = "lda infer",
        .args = "MODEL DATA",
        .summary = "Writes the shares of the model's topics in each document. "
                   "Words that the model does not have count nothing.",
        .groups = {{NULL, infer_table, &f.options},
                   {"Data:", cli_corpus_table, &f.read}},
    };
    cli_parsed parsed;
    sti_config_strings strings = {0};
    strads_err err = cli_parse(&syntax, argc, argv, &strings, &parsed);
    if (!err && !parsed.done) {
        err = infer(&f, parsed.arg[0], parsed.arg[1]);
    }
    int code = err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
    inference_free(&f);
    sti_config_strings_free(&strings);
    return code;
}
