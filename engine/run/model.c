/* Models in memory, made from results, and their files. Data is checked before
 * the file is opened for writing. Reading is strict: it rejects anything that
 * the writer would not have written and names the wrong member, so that a
 * truncated or edited file never becomes a model. */
#include "engine/run/model_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/atomic_file.h"
#include "engine/base/number_text.h"
#include "engine/run/json_file.h"

#define MODEL_FORMAT "strads-model"
#define MODEL_VERSION 1

/* Indices in the file count from 1, as in all formats that strads reads. */
#define MODEL_BASE 1

void strads_model_free(strads_model *model)
{
    if (model) {
        free((char *)model->program);
        free((char *)model->options);
        free((uint32_t *)model->index);
        free((double *)model->value);
        sti_model *whole = (sti_model *)model;
        free(whole->intercepts);
        free(whole->means);
        free(whole->stratum);
        free(whole->time);
        free(whole->hazard);
        free(whole->thresholds);
        free(whole->target);
        strads_names_free(whole->names);
        free(model);
    }
}

strads_err sti_model_new(const char *program, const char *options, uint64_t n,
                         uint32_t width, strads_model **out)
{
    sti_model *whole = calloc(1, sizeof *whole);
    strads_model *model = &whole->model;
    if (!whole)
        return strads_fail(STRADS_ENOMEM, "no memory left for a model");
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
                           " bytes, which are not available",
                           n, n * (4 + 8 * (uint64_t)width));
    }
    *out = model;
    return STRADS_OK;
}

/* ---- from a result ------------------------------------------------------ */

static bool is_zero_row(const double *row, uint32_t width)
{
    for (uint32_t k = 0; k < width; k++)
        if (row[k] != 0)
            return false;
    return true;
}

/* Counts the rows that are not 0 and, if model is not NULL, copies them. */
static uint64_t gather_nonzeros(const double *values, uint64_t parameters,
                                uint32_t width, strads_model *model)
{
    uint64_t n = 0;
    for (uint64_t j = 0; j < parameters; j++) {
        const double *row = values + j * width;
        if (is_zero_row(row, width))
            continue;
        if (model) {
            ((uint32_t *)model->index)[n] = (uint32_t)j;
            memcpy((double *)model->value + n * width, row,
                   width * sizeof *row);
        }
        n++;
    }
    return n;
}

strads_err strads_model_from_result(const strads_result *result,
                                    const char *program, const char *options,
                                    uint64_t seed, strads_model **out)
{
    uint64_t parameters;
    const uint64_t columns = strads_result_coefficients(result);
    uint32_t width;
    strads_model *model;
    const double *values = strads_result_values(result, &parameters, &width);
    const strads_progress *progress = strads_result_progress(result);
    strads_err err =
        sti_model_new(program, options,
                      gather_nonzeros(values, columns, width, NULL), width,
                      &model);
    if (err)
        return err;
    (void)gather_nonzeros(values, columns, width, model);
    model->columns = columns;
    model->fit = (strads_model_fit){
        .objective = progress->objective,
        .gap = progress->gap,
        .rounds = progress->round,
        .seconds = progress->seconds,
        .seed = seed,
        .partitions = strads_result_partitions(result),
    };
    *out = model;
    return STRADS_OK;
}

/* ---- writing ------------------------------------------------------------ */

static uint32_t width_of(const strads_model *model)
{
    return model->width ? model->width : 1;
}

static bool has_finite_intercepts(const strads_model *model)
{
    bool finite = isfinite(model->intercept);
    for (uint32_t k = 0; k < width_of(model) && model->intercepts; k++)
        finite = finite && isfinite(model->intercepts[k]);
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

/* The file keeps the options as they were given. */
static strads_err check_model_options(const char *text)
{
    json_t *options = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(options);
    json_decref(options);
    return good ? STRADS_OK
                : strads_fail(STRADS_EINVAL,
                              "the model's options are not a JSON object");
}

/* Steps ascend within a stratum, and strata ascend. */
static bool is_ordered(const strads_baseline *b, uint64_t k)
{
    const bool first = k == 0 || b->stratum[k] != b->stratum[k - 1];
    const double time = b->time[k], hazard = b->hazard[k];
    return isfinite(time) && isfinite(hazard) && time >= 0 && hazard >= 0 &&
           (k == 0 || b->stratum[k] >= b->stratum[k - 1]) &&
           (first || (time > b->time[k - 1] && hazard >= b->hazard[k - 1]));
}

static strads_err check_baseline(const strads_baseline *b)
{
    for (uint64_t k = 0; k < b->n; k++) {
        if (!is_ordered(b, k)) {
            return strads_fail(STRADS_EINVAL,
                               "step %" PRIu64 " of the model's baseline is "
                               "stratum %" PRIu32 ", time %g, hazard %g: "
                               "expected finite ones from 0 up, ascending",
                               k + 1, b->stratum[k], b->time[k], b->hazard[k]);
        }
    }
    return STRADS_OK;
}

static bool are_thresholds(const double *at, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (!isfinite(at[k]) || (k > 0 && at[k] < at[k - 1]))
            return false;
    return true;
}

static strads_err check_thresholds(const strads_model *model)
{
    return are_thresholds(model->thresholds, model->n_thresholds)
               ? STRADS_OK
               : strads_fail(STRADS_EINVAL,
                             "the model's thresholds are not finite and "
                             "ascending: one of its classes has no rows; fit "
                             "again without that class");
}

/* All columns have names, or none has, and names are UTF-8. */
static strads_err check_names(const strads_model *model)
{
    const uint32_t n = model->names ? strads_names_count(model->names) : 0;
    bool good = !model->means;
    for (uint64_t j = 0; model->means && model->names && j < model->columns;
         j++)
        good = isfinite(model->means[j]) && (j == 0 || good);
    if (!good || (model->names && n != model->columns)) {
        return strads_fail(STRADS_EINVAL,
                           "the model has %" PRIu64 " columns and %" PRIu32
                           " names: expected as many, and finite means only "
                           "with names",
                           model->columns, n);
    }
    for (uint32_t j = 0; j <= n; j++) {
        const char *name = j < n           ? strads_names_at(model->names, j)
                           : model->target ? model->target
                                           : "";
        json_t *text = json_string(name);
        const bool fine = text != NULL;
        json_decref(text);
        if (!fine) {
            return strads_fail(STRADS_EINVAL,
                               "the model's name %" PRIu32 " is not UTF-8",
                               j + 1);
        }
    }
    return STRADS_OK;
}

/* A program's name as malloc'ed JSON, or NULL if it is not UTF-8. */
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
                      (uint64_t)model->index[k] + MODEL_BASE);
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

static void write_text(FILE *file, const char *text)
{
    char *quoted = quote(text);
    (void)fputs(quoted ? quoted : "null", file);
    free(quoted);
}

static void write_names(FILE *file, const strads_model *model)
{
    if (model->target) {
        (void)fputs("  \"target\": ", file);
        write_text(file, model->target);
        (void)fputs(",\n", file);
    }
    for (uint64_t j = 0; model->names && j < model->columns; j++) {
        (void)fputs(j ? ", " : "  \"names\": [", file);
        write_text(file, strads_names_at(model->names, (uint32_t)j));
    }
    (void)fputs(model->names && model->columns ? "],\n" : "", file);
    for (uint64_t j = 0; model->means && j < model->columns; j++) {
        (void)fputs(j ? ", " : "  \"means\": [", file);
        write_number(file, model->means[j]);
    }
    (void)fputs(model->means && model->columns ? "],\n" : "", file);
}

static void write_numbers(FILE *file, uint64_t n, const double *value)
{
    for (uint64_t k = 0; k < n; k++) {
        (void)fputs(k ? ", " : "", file);
        write_number(file, value[k]);
    }
}

static void write_baseline(FILE *file, const strads_baseline *b)
{
    if (b->n == 0)
        return;
    (void)fputs("  \"baseline\": {\n    \"stratum\": [", file);
    for (uint64_t k = 0; k < b->n; k++)
        (void)fprintf(file, "%s%" PRIu32, k ? ", " : "", b->stratum[k]);
    (void)fputs("],\n    \"time\": [", file);
    write_numbers(file, b->n, b->time);
    (void)fputs("],\n    \"hazard\": [", file);
    write_numbers(file, b->n, b->hazard);
    (void)fputs("]\n  },\n", file);
}

static void write_thresholds(FILE *file, const strads_model *model)
{
    if (model->n_thresholds == 0)
        return;
    (void)fputs("  \"thresholds\": [", file);
    write_numbers(file, model->n_thresholds, model->thresholds);
    (void)fputs("],\n", file);
}

static void write_model(FILE *file, const strads_model *model,
                        const char *program, const char *options)
{
    (void)fprintf(file,
                  "{\n  \"format\": \"%s\",\n  \"version\": %d,\n"
                  "  \"program\": %s,\n  \"columns\": %" PRIu64 ",\n",
                  MODEL_FORMAT, MODEL_VERSION, program, model->columns);
    if (model->width > 1)
        (void)fprintf(file, "  \"width\": %" PRIu32 ",\n", model->width);
    write_names(file, model);
    (void)fputs("  \"intercept\": ", file);
    write_intercept(file, model);
    (void)fputs(",\n  \"coefficients\": {\n    \"index\": [", file);
    write_index(file, model);
    (void)fputs("],\n    \"value\": [", file);
    write_numbers(file, model->n * (model->width ? model->width : 1),
                  model->value);
    (void)fputs("]\n  },\n", file);
    write_baseline(file, &model->baseline);
    write_thresholds(file, model);
    (void)fprintf(file, "  \"options\": %s,\n", options);
    write_fit(file, &model->fit);
    (void)fputs("\n}\n", file);
}

strads_err strads_model_write(const strads_model *model, const char *path)
{
    sti_atomic_file target = {0};
    const char *options = model->options ? model->options : "{}";
    strads_err err = check_coefficients(model);
    if (!err)
        err = check_model_options(options);
    if (!err)
        err = check_names(model);
    if (!err)
        err = check_baseline(&model->baseline);
    if (!err)
        err = check_thresholds(model);
    if (err)
        return err;
    char *program = quote(model->program);
    if (!program) {
        return strads_fail(STRADS_EINVAL,
                           "the model's program has no name in UTF-8");
    }
    err = sti_atomic_file_open(path, &target);
    if (!err) {
        write_model(target.stream, model, program, options);
        err = sti_atomic_file_commit(&target);
    }
    free(program);
    return err;
}

/* ---- reading ------------------------------------------------------------ */

/* Data has at most this many columns. */
static const json_int_t MOST_COLUMNS = UINT32_MAX - 1;
static const json_int_t MOST_WIDTH = 1 << 20;

static strads_err wrong_member(const char *path, const char *member,
                               const char *expected)
{
    return strads_fail(STRADS_EFORMAT, "%s: \"%s\" is wrong: expected %s", path,
                       member, expected);
}

/* A whole number from `least` to `most`, or -1. */
static json_int_t whole(const json_t *value, json_int_t least, json_int_t most)
{
    json_int_t number = json_integer_value(value);
    return json_is_integer(value) && number >= least && number <= most ? number
                                                                       : -1;
}

static strads_err check_head(const char *path, const json_t *root,
                             const char *program)
{
    const char *format = json_string_value(json_object_get(root, "format"));
    const json_t *version = json_object_get(root, "version");
    const char *name = json_string_value(json_object_get(root, "program"));
    if (!format || strcmp(format, MODEL_FORMAT) != 0) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: is not a model file: \"format\" is \"%.40s\", "
                           "expected \"" MODEL_FORMAT "\"",
                           path, format ? format : "");
    }
    if (!json_is_integer(version))
        return wrong_member(path, "version", "a whole number");
    if (json_integer_value(version) != MODEL_VERSION) {
        return strads_fail(
            STRADS_EMISMATCH,
            "%s: is a model of version %lld, this strads reads version %d",
            path, (long long)json_integer_value(version), MODEL_VERSION);
    }
    if (!name)
        return wrong_member(path, "program", "a program's name");
    if (program && strcmp(name, program) != 0) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: is a model of program %s, expected one of %s",
                           path, name, program);
    }
    return STRADS_OK;
}

static strads_err check_members(const char *path, const json_t *root)
{
    static const char *const known[] = {
        "format",       "version", "program",  "columns",    "intercept",
        "coefficients", "options", "fit",      "width",      "target",
        "names",        "means",   "baseline", "thresholds", NULL};
    void *at;
    for (at = json_object_iter((json_t *)root); at;
         at = json_object_iter_next((json_t *)root, at)) {
        const char *key = json_object_iter_key(at);
        size_t k = 0;
        while (known[k] && strcmp(known[k], key) != 0)
            k++;
        if (!known[k]) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: unknown member \"%s\" in a model file",
                               path, key);
        }
    }
    return STRADS_OK;
}

static strads_err read_index(const char *path, const json_t *index,
                             json_int_t columns, strads_model *model)
{
    uint32_t *out = (uint32_t *)model->index;
    json_int_t before = 0;
    for (size_t k = 0; k < model->n; k++) {
        const json_t *item = json_array_get(index, k);
        json_int_t j = whole(item, MODEL_BASE, columns);
        if (j < 0) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: entry %zu of \"index\" is wrong: expected "
                               "a whole number, 1 to %lld",
                               path, k + 1, (long long)columns);
        }
        if (j <= before) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: entry %zu of \"index\" is %lld, expected "
                               "more than the %lld before it",
                               path, k + 1, (long long)j, (long long)before);
        }
        before = j;
        out[k] = (uint32_t)(j - MODEL_BASE);
    }
    return STRADS_OK;
}

static strads_err read_values(const char *path, const json_t *values,
                              strads_model *model)
{
    double *out = (double *)model->value;
    for (size_t k = 0; k < model->n * model->width; k++) {
        const json_t *item = json_array_get(values, k);
        if (!json_is_number(item)) {
            return strads_fail(STRADS_EFORMAT,
                               "%s: entry %zu of \"value\" is not a number",
                               path, k + 1);
        }
        out[k] = json_number_value(item);
    }
    return STRADS_OK;
}

/* Reads a number, or null for an unknown one. */
static strads_err read_number(const char *path, const json_t *fit,
                              const char *name, double *out)
{
    const json_t *value = json_object_get(fit, name);
    if (!json_is_number(value) && !json_is_null(value))
        return wrong_member(path, name, "a number or null");
    *out = json_is_null(value) ? NAN : json_number_value(value);
    return STRADS_OK;
}

static strads_err read_fit(const char *path, const json_t *root,
                           strads_model_fit *out)
{
    const json_t *fit = json_object_get(root, "fit");
    if (!json_is_object(fit))
        return wrong_member(path, "fit", "an object");
    json_int_t rounds = whole(json_object_get(fit, "rounds"), 0, INT64_MAX);
    json_int_t seed = whole(json_object_get(fit, "seed"), 0, INT64_MAX);
    json_int_t partitions =
        whole(json_object_get(fit, "partitions"), 1, UINT32_MAX);
    if (rounds < 0 || seed < 0 || partitions < 0) {
        return wrong_member(path, "fit",
                            "whole numbers for rounds, seed and partitions");
    }
    out->rounds = (uint64_t)rounds;
    out->seed = (uint64_t)seed;
    out->partitions = (uint32_t)partitions;
    strads_err err = read_number(path, fit, "objective", &out->objective);
    if (!err)
        err = read_number(path, fit, "gap", &out->gap);
    if (!err)
        err = read_number(path, fit, "seconds", &out->seconds);
    return err;
}

/* The arrays of a model, checked against each other. */
typedef struct coefficients {
    json_int_t columns, width;
    const json_t *index, *value;
} coefficients;

static strads_err find_coefficients(const char *path, const json_t *root,
                                    coefficients *out)
{
    const json_t *width = json_object_get(root, "width");
    const json_t *pair = json_object_get(root, "coefficients");
    out->columns = whole(json_object_get(root, "columns"), 0, MOST_COLUMNS);
    out->width = width ? whole(width, 1, MOST_WIDTH) : 1;
    out->index = json_object_get(pair, "index");
    out->value = json_object_get(pair, "value");
    if (out->columns < 0)
        return wrong_member(path, "columns", "a whole number, 0 or more");
    if (out->width < 0)
        return wrong_member(path, "width", "a whole number, 1 or more");
    if (!json_is_array(out->index) || !json_is_array(out->value)) {
        return wrong_member(path, "coefficients",
                            "an object of two arrays, index and value");
    }
    size_t n = json_array_size(out->index);
    size_t m = json_array_size(out->value);
    if (m != n * (size_t)out->width) {
        return strads_fail(STRADS_EFORMAT,
                           "%s: %zu indices and %zu values, expected %lld "
                           "values for each index",
                           path, n, m, (long long)out->width);
    }
    return STRADS_OK;
}

/* Reads one number, or one for each value of a parameter. */
static strads_err read_intercept(const char *path, const json_t *root,
                                 strads_model *model)
{
    const json_t *intercept = json_object_get(root, "intercept");
    double *list;
    if (json_is_number(intercept)) {
        model->intercept = json_number_value(intercept);
        return STRADS_OK;
    }
    if (json_array_size(intercept) != model->width || model->width < 2) {
        return wrong_member(path, "intercept",
                            "a number, or \"width\" numbers");
    }
    list = calloc(model->width, sizeof *list);
    if (!list)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    ((sti_model *)model)->intercepts = list;
    model->intercepts = list;
    for (uint32_t k = 0; k < model->width; k++) {
        const json_t *item = json_array_get(intercept, k);
        if (!json_is_number(item))
            return wrong_member(path, "intercept", "numbers");
        list[k] = json_number_value(item);
    }
    return STRADS_OK;
}

/* Reads the names and the means of all columns. */
static strads_err read_names(const char *path, const json_t *root,
                             strads_model *model)
{
    sti_model *whole = (sti_model *)model;
    const json_t *names = json_object_get(root, "names");
    const json_t *means = json_object_get(root, "means");
    const json_t *target = json_object_get(root, "target");
    if ((names && json_array_size(names) != model->columns) ||
        (means && (!names || json_array_size(means) != model->columns))) {
        return wrong_member(path, names ? "names" : "means",
                            "an array, one for each of \"columns\"");
    }
    if (target && !json_is_string(target))
        return wrong_member(path, "target", "a column's name");
    if (target && !(whole->target = strdup(json_string_value(target))))
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    model->target = whole->target;
    strads_err err = names ? strads_names_new(&whole->names) : STRADS_OK;
    for (size_t j = 0; j < json_array_size(names) && !err; j++) {
        const json_t *item = json_array_get(names, j);
        uint32_t number = UINT32_MAX;
        if (json_is_string(item)) {
            err = strads_names_add(whole->names, json_string_value(item),
                                   json_string_length(item), &number);
        }
        if (!err && number != j)
            err = wrong_member(path, "names", "texts, none of them twice");
    }
    model->names = whole->names;
    if (err || !means)
        return err;
    whole->means = calloc(model->columns + 1, sizeof *whole->means);
    if (!whole->means)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    model->means = whole->means;
    for (size_t j = 0; j < model->columns; j++) {
        const json_t *item = json_array_get(means, j);
        if (!json_is_number(item))
            return wrong_member(path, "means", "numbers");
        whole->means[j] = json_number_value(item);
    }
    return STRADS_OK;
}

/* Reads the steps of a baseline hazard, if there is one. */
static strads_err read_baseline(const char *path, const json_t *root,
                                strads_model *model)
{
    sti_model *own = (sti_model *)model;
    const json_t *baseline = json_object_get(root, "baseline");
    const json_t *stratum = json_object_get(baseline, "stratum");
    const json_t *time = json_object_get(baseline, "time");
    const json_t *hazard = json_object_get(baseline, "hazard");
    const size_t n = json_array_size(stratum);
    if (!baseline)
        return STRADS_OK;
    bool good = json_is_array(stratum) && json_object_size(baseline) == 3 &&
                json_array_size(time) == n && json_array_size(hazard) == n;
    own->stratum = calloc(n + 1, sizeof *own->stratum);
    own->time = calloc(n + 1, sizeof *own->time);
    own->hazard = calloc(n + 1, sizeof *own->hazard);
    if (!own->stratum || !own->time || !own->hazard)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    model->baseline =
        (strads_baseline){n, own->stratum, own->time, own->hazard};
    for (size_t k = 0; good && k < n; k++) {
        const json_int_t of = whole(json_array_get(stratum, k), 0, UINT32_MAX);
        good = of >= 0 && json_is_number(json_array_get(time, k)) &&
               json_is_number(json_array_get(hazard, k));
        own->stratum[k] = (uint32_t)of;
        own->time[k] = json_number_value(json_array_get(time, k));
        own->hazard[k] = json_number_value(json_array_get(hazard, k));
        good = good && is_ordered(&model->baseline, k);
    }
    return good ? STRADS_OK
                : wrong_member(path, "baseline",
                               "\"stratum\", \"time\" and \"hazard\", arrays "
                               "of equal length, ascending");
}

static strads_err read_thresholds(const char *path, const json_t *root,
                                  strads_model *model)
{
    sti_model *own = (sti_model *)model;
    const json_t *all = json_object_get(root, "thresholds");
    const size_t n = json_array_size(all);
    if (!all)
        return STRADS_OK;
    own->thresholds = calloc(n + 1, sizeof *own->thresholds);
    if (!own->thresholds)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    bool good = n > 0 && n < UINT32_MAX;
    for (size_t k = 0; good && k < n; k++) {
        good = json_is_number(json_array_get(all, k));
        own->thresholds[k] = json_number_value(json_array_get(all, k));
    }
    if (!good || !are_thresholds(own->thresholds, (uint32_t)n))
        return wrong_member(path, "thresholds",
                            "an array of numbers that ascend");
    model->thresholds = own->thresholds;
    model->n_thresholds = (uint32_t)n;
    return STRADS_OK;
}

static strads_err read_rest(const char *path, const json_t *root,
                            const coefficients *found, strads_model *model)
{
    strads_err err = read_intercept(path, root, model);
    model->columns = (uint64_t)found->columns;
    if (!err)
        err = read_index(path, found->index, found->columns, model);
    if (!err)
        err = read_values(path, found->value, model);
    if (!err)
        err = read_fit(path, root, &model->fit);
    if (!err)
        err = read_baseline(path, root, model);
    if (!err)
        err = read_thresholds(path, root, model);
    return err ? err : read_names(path, root, model);
}

static strads_err build_model(const char *path, const json_t *root,
                              strads_model **out)
{
    coefficients found;
    strads_model *model = NULL;
    strads_err err = find_coefficients(path, root, &found);
    if (err)
        return err;
    const json_t *options = json_object_get(root, "options");
    if (!json_is_object(options))
        return wrong_member(path, "options", "an object");
    char *text = json_dumps(options, JSON_PRESERVE_ORDER);
    if (!text)
        return strads_fail(STRADS_ENOMEM, "%s: no memory left", path);
    const char *name = json_string_value(json_object_get(root, "program"));
    err = sti_model_new(name, text, json_array_size(found.index),
                        (uint32_t)found.width, &model);
    if (!err)
        err = read_rest(path, root, &found, model);
    free(text);
    if (err) {
        strads_model_free(model);
        return err;
    }
    *out = model;
    return STRADS_OK;
}

strads_err strads_model_read(const char *path, const char *program,
                             strads_model **out)
{
    json_t *root = NULL;
    strads_err err = sti_json_load(path, "is not a model file: ", &root);
    if (!err)
        err = check_head(path, root, program);
    if (!err)
        err = check_members(path, root);
    if (!err)
        err = build_model(path, root, out);
    json_decref(root);
    return err;
}
