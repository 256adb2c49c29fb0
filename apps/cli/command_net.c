/* strads net: trains a network for classes; predict, evaluate and show use its
 * models. */
#include <inttypes.h>
#include <string.h>

#include "cli_linear.h"
#include "cli_train.h"
#include "strads/net.h"

static void resolve_net(const void *state, void *config)
{
    *(strads_net_options *)config = *strads_net_resolved(state);
}

static void describe_net(const void *state)
{
    const strads_net_options *o = strads_net_resolved(state);
    cli_say(false, "labels %s; hidden layers of %s units, %s", o->classes,
            o->hidden, o->activation);
}

static const cli_train train = {
    .program = &strads_program_net,
    .options = "Network:",
    .resolve = resolve_net,
    .at_zero = strads_net_at_zero,
    .describe = describe_net,
};

/* ---- show -------------------------------------------------------------- */

typedef struct shown {
    cli_use use;
    strads_model *model;
    strads_net *net;
} shown;

static strads_err read_net(void *state, const char *const *path)
{
    shown *s = state;
    CLI_TRY(strads_model_read(path[0], "net", &s->model));
    return strads_net_from_model(s->model, &s->net);
}

/* Prints the network's classes and the outcome of its training. */
static strads_err put_net(void *state, FILE *out)
{
    const shown *s = state;
    const cli_column columns[] = {{"columns", CLI_COUNT, 0},
                                  {"classes", CLI_COUNT, 0},
                                  {"labels", CLI_STRING, 0},
                                  {"weights", CLI_COUNT, 0},
                                  {"loss", CLI_NUMBER, 0}};
    cli_table t = {.column = columns,
                   .n = sizeof columns / sizeof *columns,
                   .rows = 1};
    CLI_TRY(cli_table_begin(&t, &s->use.out, out));
    cli_table_count(&t, strads_net_inputs(s->net));
    cli_table_count(&t, strads_net_classes(s->net));
    cli_table_text(&t, strads_net_labels(s->net));
    cli_table_count(&t, s->model->columns * s->model->width);
    cli_table_number(&t, s->model->fit.objective);
    return STRADS_OK;
}

static const cli_verb show_verb = {
    .size = sizeof(shown),
    .usual = "csv",
    .read = read_net,
    .write = put_net,
};

static const cli_linear_kind net = {.program = "net",
                                    .classifies = true,
                                    .probabilities = true,
                                    .net = true};

const cli_command cli_net_commands[] = {
    {.name = "net train",
     .args = "DATA",
     .summary = "train a network for classes",
     .about = "Trains a feed-forward network for two classes or more on LIBSVM "
              "or MatrixMarket data, by mini-batches; --columns C splits "
              "its first layer among partitions.",
     .train = &train},
    {.name = "net predict",
     .args = "MODEL DATA",
     .summary = "write its probabilities, one a line",
     .about = "Writes the probability of the second of two labels, or of each "
              "of several, one line for each row of the data. Columns that the "
              "model does not have are ignored.",
     .verb = &cli_predict_probabilities,
     .of = &net},
    {.name = "net evaluate",
     .args = "MODEL DATA",
     .summary = "measure its predictions",
     .about = "Measures a model's predictions on rows with labels.",
     .verb = &cli_linear_evaluate,
     .of = &net},
    {.name = "net show",
     .args = "MODEL",
     .summary = "print its sizes",
     .about = "Shows a network's columns, classes, weights and loss.",
     .verb = &show_verb},
    {.name = NULL},
};
