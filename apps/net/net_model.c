/* A trained network, read from a model, for prediction. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "net_blas.h"
#include "net_parts.h"

enum { ROWS_AT_ONCE = 256 };

struct strads_net {
    net_sizes sizes;
    uint32_t classes;
    char *labels;
    double *w; /* [rows x width] */
};

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for the network");
}

/* Counts labels that are separated by commas. */
static uint32_t count_labels(const char *text)
{
    uint32_t n = 1;
    for (; *text; text++)
        n += *text == ',';
    return n;
}

/* Reads the sizes from the options, and derives the number of columns. */
static strads_err take_sizes(const strads_model *m, const json_t *json,
                             strads_net *net)
{
    const char *labels = json_string_value(json_object_get(json, "classes"));
    const strads_net_options said = {
        .hidden = json_string_value(json_object_get(json, "hidden")),
        .activation = json_string_value(json_object_get(json, "activation"))};
    strads_net_options o;
    if (!labels || !said.hidden || !said.activation)
        return strads_fail(STRADS_EFORMAT,
                           "the model's options do not describe the network: "
                           "expected \"hidden\", \"activation\" and "
                           "\"classes\"");
    net->classes = count_labels(labels);
    net->labels = strdup(labels);
    if (!net->labels)
        return no_memory();
    strads_err err = net_options_take(&said, &o);
    if (!err)
        err = net_sizes_make(&o, 0, net->classes, &net->sizes);
    if (err)
        return err;
    if (net->sizes.rows >= m->columns || m->width != net->sizes.width)
        return strads_fail(
            STRADS_EFORMAT,
            "the model has %llu rows of %u numbers; with hidden layers of %s "
            "units and %u classes expected more than %llu rows of %u",
            (unsigned long long)m->columns, m->width, said.hidden, net->classes,
            (unsigned long long)net->sizes.rows, net->sizes.width);
    return net_sizes_make(&o, m->columns - net->sizes.rows, net->classes,
                          &net->sizes);
}

strads_err strads_net_from_model(const strads_model *model, strads_net **out)
{
    json_t *json = json_loads(model->options ? model->options : "{}", 0, NULL);
    strads_net *net = calloc(1, sizeof *net);
    strads_err err = net ? net_blas_load() : no_memory();
    if (!err)
        err = take_sizes(model, json, net);
    json_decref(json);
    if (!err) {
        const size_t width = model->width;
        net->w = calloc(net->sizes.rows * width, sizeof *net->w);
        err = net->w ? STRADS_OK : no_memory();
        for (uint64_t k = 0; !err && k < model->n; k++)
            memcpy(net->w + model->index[k] * width, model->value + k * width,
                   width * sizeof *net->w);
    }
    if (err)
        strads_net_free(net);
    else
        *out = net;
    return err;
}

void strads_net_free(strads_net *net)
{
    if (!net)
        return;
    free(net->labels);
    free(net->w);
    free(net);
}

uint64_t strads_net_inputs(const strads_net *net)
{
    return net->sizes.size[0];
}

uint32_t strads_net_classes(const strads_net *net)
{
    return net->classes;
}

const char *strads_net_labels(const strads_net *net)
{
    return net->labels;
}

/* z of layer 1. Columns that the network lacks are ignored. */
static void first_layer(const strads_net *net, const strads_sparse *rows,
                        uint64_t begin, uint32_t n, double *z)
{
    const uint64_t ld = net->sizes.width;
    memset(z, 0, n * ld * sizeof *z);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t e = rows->start[begin + i];
             e < rows->start[begin + i + 1]; e++) {
            const double v = strads_sparse_value(rows, e);
            const double *w = net->w + rows->index[e] * ld;
            if (rows->index[e] >= net->sizes.size[0])
                continue;
            for (uint64_t u = 0; u < net->sizes.size[1]; u++)
                z[i * ld + u] += v * w[u];
        }
}

strads_err strads_net_predict(const strads_net *net, const strads_sparse *rows,
                              double *out)
{
    const net_sizes *s = &net->sizes;
    const uint64_t layer = (uint64_t)ROWS_AT_ONCE * s->width;
    double *z = malloc(s->layers * layer * sizeof *z);
    if (!z)
        return no_memory();
    for (uint64_t begin = 0; begin < rows->lines; begin += ROWS_AT_ONCE) {
        const uint64_t left = rows->lines - begin;
        const uint32_t n =
            left < ROWS_AT_ONCE ? (uint32_t)left : (uint32_t)ROWS_AT_ONCE;
        first_layer(net, rows, begin, n, z);
        net_f64.forward(s, net->w + s->size[0] * s->width, n, z, z + layer,
                        out + begin * net->classes);
    }
    free(z);
    return STRADS_OK;
}
