/* Models in memory, and writing them to files. What is written has been checked
 * before the file is opened; reading is in model_read.c. */
#include "strads/model.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/aside.h"
#include "engine/base/number_text.h"
#include "engine/run/model_parts.h"

void strads_model_free(strads_model *model)
{
    if (model) {
        free((char *)model->program);
        free((char *)model->options);
        free((uint32_t *)model->index);
        free((double *)model->value);
        free(((sti_model *)model)->intercepts);
        free(model);
    }
}

strads_err sti_model_new(const char *program, const char *options, uint64_t n,
                         uint32_t width, strads_model **out)
{
    sti_model *whole = calloc(1, sizeof *whole);
    strads_model *model = &whole->model;
    if (!whole) {
        return strads_fail(STRADS_ENOMEM, "no memory left for a model");
    }
    model->width = width;
    model->n = n;
    model->program = strdup(program);
    model->options = strdup(options ? options : "{}");
    model->index = calloc(n + 1, sizeof *model->index);
    model->value = calloc(n * width + 1, sizeof *model->value);
    if (!model->program || !model->options || !model->index || !model->value) {
        strads_model_free(model);
        return strads_fail(STRADS_ENOMEM,
                           "a model of %" PRIu64 " parameters needs %" PRIu64
                           " bytes, which are not there",
                           n, n * (4 + 8 * (uint64_t)width));
    }
    *out = model;
    return STRADS_OK;
}

static uint32_t width_of(const strads_model *model)
{
    return model->width ? model->width : 1;
}

static bool has_finite_intercepts(const strads_model *model)
{
    bool finite = isfinite(model->intercept);
    for (uint32_t k = 0; k < width_of(model) && model->intercepts; k++) {
        finite = finite && isfinite(model->intercepts[k]);
    }
    return finite;
}

static strads_err check_coefficients(const strads_model *model)
{
    uint32_t width = width_of(model);
    if (!has_finite_intercepts(model)) {
        return strads_fail(STRADS_EINVAL,
                           "the model's intercept is not a finite number");
    }
    for (uint64_t k = 0; k < model->n; k++) {
        uint32_t j = model->index[k];
        if (j >= model->columns || (k > 0 && j <= model->index[k - 1])) {
            return strads_fail(STRADS_EINVAL,
                               "the model's index %" PRIu32
                               " is not ascending or not below its %" PRIu64
                               " columns",
                               j, model->columns);
        }
        for (uint32_t i = 0; i < width; i++) {
            if (!isfinite(model->value[k * width + i])) {
                return strads_fail(STRADS_EINVAL,
                                   "coefficient %" PRIu64
                                   " of the model is not a finite number",
                                   (uint64_t)j + 1);
            }
        }
    }
    return STRADS_OK;
}

/* The options go into the file as they were given. */
static strads_err check_options(const char *text)
{
    json_t *options = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(options);
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EINVAL,
                              "the model's options are no JSON object");
}

/* A program's name as JSON, malloc'ed; NULL: it is not UTF-8. */
static char *quote(const char *name)
{
    json_t *string = json_string(name);
    char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    json_decref(string);
    return text;
}

static void write_number(FILE *file, double value)
{
    char text[STI_NUMBER_SIZE];
    (void)sti_number_format(value, text);
    (void)fputs(text, file);
}

static void write_index(FILE *file, const strads_model *model)
{
    for (uint64_t k = 0; k < model->n; k++) {
        (void)fprintf(file, "%s%" PRIu64, k ? ", " : "",
                      (uint64_t)model->index[k] + STI_MODEL_BASE);
    }
}

static void write_intercept(FILE *file, const strads_model *model)
{
    if (!model->intercepts) {
        write_number(file, model->intercept);
        return;
    }
    for (uint32_t k = 0; k < width_of(model); k++) {
        (void)fputs(k ? ", " : "[", file);
        write_number(file, model->intercepts[k]);
    }
    (void)fputs("]", file);
}

static void write_values(FILE *file, const strads_model *model)
{
    uint64_t n = model->n * (model->width ? model->width : 1);
    for (uint64_t k = 0; k < n; k++) {
        if (k > 0) {
            (void)fputs(", ", file);
        }
        write_number(file, model->value[k]);
    }
}

static void write_fit(FILE *file, const strads_model_fit *fit)
{
    (void)fputs("  \"fit\": {\"objective\": ", file);
    write_number(file, fit->objective);
    (void)fputs(", \"gap\": ", file);
    write_number(file, fit->gap);
    (void)fprintf(file,
                  ", \"rounds\": %" PRIu64 ", \"seconds\": ", fit->rounds);
    write_number(file, fit->seconds);
    (void)fprintf(file, ", \"seed\": %" PRIu64 ", \"partitions\": %" PRIu32 "}",
                  fit->seed, fit->partitions);
}

static void write_model(FILE *file, const strads_model *model,
                        const char *program, const char *options)
{
    (void)fprintf(file,
                  "{\n  \"format\": \"%s\",\n  \"version\": %d,\n"
                  "  \"program\": %s,\n  \"columns\": %" PRIu64 ",\n",
                  STI_MODEL_FORMAT, STI_MODEL_VERSION, program, model->columns);
    if (model->width > 1) {
        (void)fprintf(file, "  \"width\": %" PRIu32 ",\n", model->width);
    }
    (void)fputs("  \"intercept\": ", file);
    write_intercept(file, model);
    (void)fputs(",\n  \"coefficients\": {\n    \"index\": [", file);
    write_index(file, model);
    (void)fputs("],\n    \"value\": [", file);
    write_values(file, model);
    (void)fprintf(file, "]\n  },\n  \"options\": %s,\n", options);
    write_fit(file, &model->fit);
    (void)fputs("\n}\n", file);
}

strads_err strads_model_write(const strads_model *model, const char *path)
{
    sti_aside aside = {0};
    const char *options = model->options ? model->options : "{}";
    strads_err err = check_coefficients(model);
    if (!err) {
        err = check_options(options);
    }
    if (err) {
        return err;
    }
    char *program = quote(model->program);
    if (!program) {
        return strads_fail(STRADS_EINVAL,
                           "the model's program has no name in UTF-8");
    }
    err = sti_aside_open(path, &aside);
    if (!err) {
        write_model(aside.file, model, program, options);
        err = sti_aside_commit(&aside);
    }
    free(program);
    return err;
}
