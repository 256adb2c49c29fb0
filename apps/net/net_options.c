/* The options of net: table, defaults, and sizes of the layers. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "apps/linear/linear_options.h"

#include "net_parts.h"

#define UNITS_MAX 65536
#define NET_HOLDOUT .1 /* with --patience */

const strads_net_options net_defaults = {.hidden = "128",
                                         .activation = "relu",
                                         .optimizer = "sgd",
                                         .schedule = "inverse",
                                         .epochs = 10,
                                         .batch = 128,
                                         .columns = 1};

const strads_option net_option_table[] = {
    STRADS_OPTION(STRING, strads_net_options, hidden, "hidden", "N,N,..",
                  "units of each hidden layer (default: 128)"),
    STRADS_OPTION(STRING, strads_net_options, activation, "activation", "NAME",
                  "relu or tanh (default: relu)", .choices = "relu|tanh"),
    STRADS_OPTION(U32, strads_net_options, epochs, "epochs", "N",
                  "passes over the data (default: 10)", .min = 1,
                  .max = UINT32_MAX),
    STRADS_OPTION(U32, strads_net_options, batch, "batch", "N",
                  "rows of a mini-batch, of all partitions (default: 128)",
                  .min = 1, .max = 1 << 20),
    STRADS_OPTION(F64, strads_net_options, rate, "rate", "R",
                  "the step of the first epoch (0: 0.1, of adam 0.001)",
                  .max = DBL_MAX),
    STRADS_OPTION(STRING, strads_net_options, optimizer, "optimizer", "NAME",
                  "sgd or adam; adam: with --columns = partitions (default: "
                  "sgd)",
                  .choices = "sgd|adam"),
    STRADS_OPTION(F64, strads_net_options, weight_decay, "weight-decay", "D",
                  "adam: each batch shrinks weights by rate D (default: 0)",
                  .max = DBL_MAX),
    STRADS_OPTION(F64, strads_net_options, decay, "decay", "D",
                  "epoch e, from 0 on, has rate / (1 + D e) (default: 0)",
                  .max = DBL_MAX),
    STRADS_OPTION(STRING, strads_net_options, schedule, "schedule", "NAME",
                  "inverse (by --decay) or linear: to 0 (default: inverse)",
                  .choices = "inverse|linear"),
    STRADS_OPTION(F64, strads_net_options, holdout, "holdout", "H",
                  "share of rows held out, to keep the best epoch (none)",
                  .min = FLT_MIN, .max = .9),
    STRADS_OPTION(U32, strads_net_options, patience, "patience", "N",
                  "end after N epochs without a better held-out loss (no)",
                  .min = 1, .max = 1e6),
    STRADS_OPTION(U32, strads_net_options, columns, "columns", "C",
                  "ranges of columns, a divisor of the partitions (default: 1)",
                  .min = 1, .max = UINT16_MAX),
    LINEAR_OPTION_CLASSES(strads_net_options),
    {.name = NULL}};

bool net_uses_adam(const strads_net_options *options)
{
    return strcmp(options->optimizer, "adam") == 0;
}

bool net_is_linear(const strads_net_options *options)
{
    return strcmp(options->schedule, "linear") == 0;
}

strads_err net_options_take(const strads_net_options *given,
                            strads_net_options *out)
{
    *out = *given;
    strads_err err = linear_check_number("rate", out->rate, DBL_MAX);
    if (!err)
        err = linear_check_number("decay", out->decay, DBL_MAX);
    if (!out->hidden)
        out->hidden = net_defaults.hidden;
    if (!err)
        err = linear_check_number("weight-decay", out->weight_decay, DBL_MAX);
    if (!out->optimizer)
        out->optimizer = net_defaults.optimizer;
    if (!out->schedule)
        out->schedule = net_defaults.schedule;
    if (out->holdout == 0 && out->patience > 0)
        out->holdout = NET_HOLDOUT;
    if (!out->activation)
        out->activation = net_defaults.activation;
    if (out->epochs == 0)
        out->epochs = net_defaults.epochs;
    if (out->batch == 0)
        out->batch = net_defaults.batch;
    if (out->rate == 0)
        out->rate = net_uses_adam(out) ? 0.001 : 0.1;
    if (out->columns == 0)
        out->columns = net_defaults.columns;
    if (!err && strcmp(out->activation, "relu") != 0 &&
        strcmp(out->activation, "tanh") != 0)
        err =
            strads_fail(STRADS_EINVAL, "--activation %s: expected relu or tanh",
                        out->activation);
    if (!err && !net_uses_adam(out) && strcmp(out->optimizer, "sgd") != 0)
        err = strads_fail(STRADS_EINVAL, "--optimizer %s: expected sgd or adam",
                          out->optimizer);
    if (!err && strcmp(out->schedule, "inverse") != 0 && !net_is_linear(out))
        err = strads_fail(STRADS_EINVAL,
                          "--schedule %s: expected inverse or linear",
                          out->schedule);
    if (!err && net_is_linear(out) && out->decay > 0)
        err = strads_fail(STRADS_EINVAL,
                          "--decay %g is of --schedule inverse, and the "
                          "schedule is linear: leave one of them out",
                          out->decay);
    if (!err && !(out->holdout >= 0 && out->holdout < 1))
        err = strads_fail(STRADS_EINVAL,
                          "--holdout %g: expected a share of the rows from 0 "
                          "to below 1",
                          out->holdout);
    if (!err && out->weight_decay > 0 && !net_uses_adam(out))
        err = strads_fail(STRADS_EINVAL,
                          "--weight-decay %g is of Adam: add --optimizer adam",
                          out->weight_decay);
    return err;
}

/* Reads the sizes of the hidden layers into size[1], size[2], ... */
static strads_err read_hidden(const char *text, net_sizes *s)
{
    const char *at = text;
    s->layers = 1;
    for (;;) {
        char *end;
        errno = 0;
        const unsigned long n = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || errno || n == 0 || n > UNITS_MAX ||
            (*end && *end != ','))
            return strads_fail(STRADS_EINVAL,
                               "--hidden %s: expected numbers of units from 1 "
                               "to %d separated by commas, such as 256,128",
                               text, UNITS_MAX);
        if (s->layers == NET_LAYERS_MAX)
            return strads_fail(STRADS_EINVAL,
                               "--hidden %s: expected at most %d layers", text,
                               NET_LAYERS_MAX - 1);
        s->size[s->layers++] = n;
        s->width = n > s->width ? (uint32_t)n : s->width;
        if (!*end)
            return STRADS_OK;
        at = end + 1;
    }
}

strads_err net_sizes_make(const strads_net_options *options, uint64_t columns,
                          uint32_t classes, net_sizes *out)
{
    *out = (net_sizes){.tanh = strcmp(options->activation, "tanh") == 0};
    strads_err err = read_hidden(options->hidden, out);
    if (err)
        return err;
    out->size[0] = columns;
    out->size[out->layers] = classes;
    for (uint32_t l = 0; l < out->layers; l++) {
        out->first[l] = out->rows;
        out->bias[l] = out->first[l] + (l == 0 ? columns : out->size[l + 1]);
        out->rows =
            out->bias[l] + (out->size[l + 1] + out->width - 1) / out->width;
    }
    if (out->rows > UINT32_MAX - 2)
        return strads_fail(STRADS_ELIMIT,
                           "a network of %llu rows of weights; at most %u fit",
                           (unsigned long long)out->rows, UINT32_MAX - 2);
    return STRADS_OK;
}
