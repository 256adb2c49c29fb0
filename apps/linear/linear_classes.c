/* Labels, classes and weights, as the data and the options have them. */
#include "linear_classes.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which labels there are -------------------------------------------- */

void linear_survey_add(linear_survey *survey, double label, double weight)
{
    int n = (int)survey->n, k = 0;

    while (k < n && survey->label[k] < label)
        k++;
    if (k < n && survey->label[k] == label) {
        survey->weight[k] += weight;
        return;
    }
    if (n > LINEAR_LABELS_MAX)
        return;
    memmove(survey->label + k + 1, survey->label + k,
            (size_t)(n - k) * sizeof(double));
    memmove(survey->weight + k + 1, survey->weight + k,
            (size_t)(n - k) * sizeof(double));
    survey->label[k] = label;
    survey->weight[k] = weight;
    survey->n++;
}

void linear_survey_merge(void *into, const void *from, size_t bytes)
{
    const linear_survey *other = from;

    (void)bytes;
    for (int k = 0; k < (int)other->n; k++)
        linear_survey_add(into, other->label[k], other->weight[k]);
}

/* ---- which of them are the classes ------------------------------------- */

/* The number at *text, and what follows it must be one of `ends`. */
static bool read_number(const char **text, const char *ends, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(*text, &end);
    if (end == *text || errno || !isfinite(*out) || !strchr(ends, *end))
        return false;
    *text = end;
    return true;
}

static strads_err read_classes(const char *text, linear_classes *out)
{
    const char *at = text;

    if (!read_number(&at, ",", &out->label[0]) || *at++ != ',' ||
        !read_number(&at, "", &out->label[1]) || *at ||
        out->label[0] == out->label[1])
        return strads_fail(STRADS_EINVAL,
                           "--classes %s: expected two different labels, "
                           "NEGATIVE,POSITIVE",
                           text);
    return STRADS_OK;
}

/* "LABEL=WEIGHT,...": each label a class, each weight above 0. */
static strads_err read_class_weights(const char *text, linear_classes *out)
{
    const char *at = text;

    for (;;) {
        double label, weight;
        if (!read_number(&at, "=", &label) || *at++ != '=' ||
            !read_number(&at, ",", &weight) || !(weight > 0))
            return strads_fail(STRADS_EINVAL,
                               "--class-weight %s: expected balanced, none, or "
                               "LABEL=WEIGHT,... with weights above 0",
                               text);
        if (label != out->label[0] && label != out->label[1])
            return strads_fail(STRADS_EINVAL,
                               "--class-weight %s: no row has the label %g; "
                               "the labels are %g and %g",
                               text, label, out->label[0], out->label[1]);
        out->weight[label == out->label[1]] = weight;
        if (!*at++)
            return STRADS_OK;
    }
}

static strads_err check_labels(const linear_survey *survey)
{
    const int n = (int)survey->n;

    if (n == 0)
        return strads_fail(STRADS_EFORMAT,
                           "there are no rows; expected rows of two classes");
    if (n == 1)
        return strads_fail(STRADS_EFORMAT,
                           "all rows have the label %g; expected labels of two "
                           "values",
                           survey->label[0]);
    if (n > LINEAR_LABELS_MAX)
        return strads_fail(STRADS_EFORMAT,
                           "there are more than %d different labels (%g, %g, "
                           "%g, ...); expected two: for numbers use strads "
                           "lasso",
                           LINEAR_LABELS_MAX, survey->label[0],
                           survey->label[1], survey->label[2]);
    if (n > 2)
        return strads_fail(STRADS_EFORMAT,
                           "there are %d different labels (%g, %g, %g%s); "
                           "expected two",
                           n, survey->label[0], survey->label[1],
                           survey->label[2], n > 3 ? ", ..." : "");
    return STRADS_OK;
}

/* Classes of the options against labels of the data. */
static strads_err match(const linear_class_options *options,
                        const linear_survey *survey, linear_classes *out)
{
    const double *label = survey->label;
    strads_err err;

    if (!options->classes || !*options->classes) {
        out->label[0] = label[0];
        out->label[1] = label[1];
        return STRADS_OK;
    }
    err = read_classes(options->classes, out);
    if (!err && !(out->label[0] == label[0] && out->label[1] == label[1]) &&
        !(out->label[0] == label[1] && out->label[1] == label[0]))
        return strads_fail(STRADS_EINVAL,
                           "--classes %s: the data has the labels %g and %g",
                           options->classes, label[0], label[1]);
    return err;
}

strads_err linear_classes_of(const linear_class_options *options,
                             const linear_survey *survey, linear_classes *out)
{
    const char *weights = options->class_weight;
    strads_err err = check_labels(survey);

    *out = (linear_classes){.weight = {1, 1}};
    if (!err)
        err = match(options, survey, out);
    if (err)
        return err;
    const bool swapped = out->label[0] == survey->label[1];
    const double sum[2] = {survey->weight[swapped], survey->weight[!swapped]};
    for (int k = 0; k < 2; k++)
        if (!(sum[k] > 0))
            return strads_fail(STRADS_EFORMAT,
                               "all rows with the label %g have weight 0; "
                               "expected rows of two classes",
                               out->label[k]);
    if (weights && strcmp(weights, "balanced") == 0)
        for (int k = 0; k < 2; k++)
            out->weight[k] = (sum[0] + sum[1]) / (2 * sum[k]);
    else if (weights && *weights && strcmp(weights, "none") != 0)
        err = read_class_weights(weights, out);
    for (int k = 0; k < 2; k++)
        out->sum[k] = sum[k] * out->weight[k];
    return err;
}

/* ---- weights of rows --------------------------------------------------- */

static strads_err bad_weight(const char *path, uint64_t line, const char *text)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s:%llu: found \"%.40s\"; expected the weight of a "
                       "row, a number from 0 up",
                       path, (unsigned long long)line, text);
}

static strads_err read_lines(FILE *file, const char *path,
                             const strads_range *rows, uint64_t total,
                             double *out)
{
    char text[128];
    uint64_t line = 0;

    while (fgets(text, sizeof(text), file)) {
        const char *at = text;
        double weight;
        text[strcspn(text, "\r\n")] = '\0';
        if (line >= total)
            return strads_fail(STRADS_EFORMAT,
                               "%s: has more lines than the data has rows "
                               "(%llu); expected a weight for each row",
                               path, (unsigned long long)total);
        if (!read_number(&at, " \t", &weight) || at[strspn(at, " \t")] ||
            !(weight >= 0))
            return bad_weight(path, line + 1, text);
        if (line >= rows->begin && line < rows->end)
            out[line - rows->begin] = weight;
        line++;
    }
    if (ferror(file))
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (line < total)
        return strads_fail(STRADS_EFORMAT,
                           "%s: has %llu lines and the data %llu rows; "
                           "expected a weight for each row",
                           path, (unsigned long long)line,
                           (unsigned long long)total);
    return STRADS_OK;
}

strads_err linear_read_weights(const char *path, const strads_range *rows,
                               uint64_t total, double *weight)
{
    FILE *file;
    strads_err err;

    for (uint64_t i = 0; i < rows->end - rows->begin; i++)
        weight[i] = 1;
    if (!path || !*path)
        return STRADS_OK;
    file = fopen(path, "re");
    if (!file)
        return strads_fail(STRADS_EIO, "%s: cannot be opened: %s", path,
                           strerror(errno));
    err = read_lines(file, path, rows, total, weight);
    (void)fclose(file);
    return err;
}
