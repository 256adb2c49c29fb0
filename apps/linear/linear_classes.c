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
#include <sys/stat.h>

/* ---- which labels there are -------------------------------------------- */

/* How many of n ascending labels are below one. */
static int count_below(const double *sorted, int n, double label)
{
    int begin = 0, end = n;

    while (begin < end) {
        const int middle = (begin + end) / 2;
        if (sorted[middle] < label)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

void linear_survey_add(linear_survey *survey, double label, double weight)
{
    const int n = (int)survey->n, k = count_below(survey->label, n, label);

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

static bool is_given(const char *text)
{
    return text && *text;
}

/* The label at *text, a name's number where labels have names. */
static bool read_label(const char **text, const char *ends,
                       const strads_names *names, double *out)
{
    const size_t size = strcspn(*text, ends);
    uint32_t number;

    if (!names)
        return read_number(text, ends, out);
    if (!strads_names_find(names, *text, size, &number))
        return false;
    *out = number;
    *text += size;
    return true;
}

const char *linear_label_write(const strads_names *names, double label,
                               const char *form, char out[LINEAR_LABEL_TEXT])
{
    if (names && label < strads_names_count(names))
        return strads_names_at(names, (uint32_t)label);
    (void)snprintf(out, LINEAR_LABEL_TEXT, form, label);
    return out;
}

static strads_err no_such_classes(const char *text, const char *at,
                                  const strads_names *names)
{
    if (names && *at && strcspn(at, ",") > 0)
        return strads_fail(STRADS_EINVAL,
                           "--classes %s: no row has the label %.*s, or it is "
                           "there twice; expected 2 to %d of the data's labels",
                           text, (int)strcspn(at, ","), at, LINEAR_LABELS_MAX);
    return strads_fail(STRADS_EINVAL,
                       "--classes %s: expected 2 to %d different labels, "
                       "LABEL,LABEL,...",
                       text, LINEAR_LABELS_MAX);
}

strads_err linear_classes_read(const char *text, const strads_names *names,
                               linear_classes *out)
{
    const char *at = text, *begin = text;

    for (out->n = 0; out->n < LINEAR_LABELS_MAX;) {
        double *label = &out->label[out->n];
        begin = at;
        bool good = read_label(&at, ",", names, label);
        for (uint32_t k = 0; k < out->n && good; k++)
            good = out->label[k] != *label;
        if (!good)
            break;
        out->n++;
        if (!*at++)
            return out->n > 1 ? STRADS_OK
                              : strads_fail(STRADS_EINVAL,
                                            "--classes %s: expected two labels "
                                            "or more",
                                            text);
    }
    return no_such_classes(text, begin, names);
}

/* The classes are mostly in order, unless a user has named them. */
static bool find_class(const linear_classes *classes, double label,
                       uint32_t *out)
{
    *out = (uint32_t)count_below(classes->label, (int)classes->n, label);
    if (*out < classes->n && classes->label[*out] == label)
        return true;
    for (*out = 0; *out < classes->n; ++*out)
        if (classes->label[*out] == label)
            return true;
    return false;
}

double linear_classes_weight(const linear_classes *classes, double label)
{
    uint32_t k;

    return find_class(classes, label, &k) ? classes->weight[k] : 1;
}

/* "LABEL=WEIGHT,...": each label a class, each weight above 0. */
static strads_err read_class_weights(const char *text,
                                     const strads_names *names,
                                     linear_classes *out)
{
    const char *at = text;

    for (;;) {
        const char *begin = at;
        double label = NAN, weight;
        uint32_t k;
        const size_t size = strcspn(begin, "=");
        const bool known = read_label(&at, "=", names, &label);
        at = names ? begin + size : at; /* of another name, too */
        if ((!known && !names) || *at++ != '=' ||
            !read_number(&at, ",", &weight) || !(weight > 0))
            return strads_fail(STRADS_EINVAL,
                               "--class-weight %s: expected balanced, none, or "
                               "LABEL=WEIGHT,... with weights above 0",
                               text);
        if (!find_class(out, label, &k))
            return strads_fail(STRADS_EINVAL,
                               "--class-weight %s: no row has the label %.*s",
                               text, (int)size, begin);
        out->weight[k] = weight;
        if (!*at++)
            return STRADS_OK;
    }
}

static strads_err check_labels(const linear_survey *survey,
                               const strads_names *names)
{
    const int n = (int)survey->n;
    int most = LINEAR_LABELS_MAX;
    char text[3][LINEAR_LABEL_TEXT];

    for (int k = 0; k < n && !names; k++)
        if (survey->label[k] != floor(survey->label[k]))
            most = LINEAR_FRACTIONS_MAX;

    if (n == 0)
        return strads_fail(STRADS_EFORMAT,
                           "there are no rows; expected rows of two classes");
    if (n == 1)
        return strads_fail(STRADS_EFORMAT,
                           "all rows have the label %s; expected labels of two "
                           "values",
                           linear_label_write(names, survey->label[0], "%g",
                                              text[0]));
    if (n > most)
        return strads_fail(
            STRADS_EFORMAT,
            "there are more than %d different labels (%s, %s, %s, ...); "
            "expected classes%s",
            most, linear_label_write(names, survey->label[0], "%g", text[0]),
            linear_label_write(names, survey->label[1], "%g", text[1]),
            linear_label_write(names, survey->label[2], "%g", text[2]),
            names ? "" : ": for numbers use strads lasso");
    return STRADS_OK;
}

/* Every label of the data is one of the classes, and the other way round. */
static strads_err match(const linear_class_options *options,
                        const linear_survey *survey, linear_classes *out)
{
    const uint32_t n = (uint32_t)survey->n;
    char text[LINEAR_LABEL_TEXT];
    uint32_t k;

    for (uint32_t i = 0; i < n; i++) {
        if (!find_class(out, survey->label[i], &k))
            return strads_fail(STRADS_EINVAL,
                               "--classes %s: there are rows with the label %s",
                               options->classes,
                               linear_label_write(options->names,
                                                  survey->label[i], "%g",
                                                  text));
        out->sum[k] = survey->weight[i];
    }
    for (k = 0; k < out->n; k++)
        if (!(out->sum[k] > 0))
            return strads_fail(STRADS_EFORMAT,
                               "%s with the label %s; expected rows of each "
                               "class",
                               is_given(options->weights)
                                   ? "no row has a weight above 0"
                                   : "there is no row",
                               linear_label_write(options->names, out->label[k],
                                                  "%g", text));
    return STRADS_OK;
}

strads_err linear_classes_of(const linear_class_options *options,
                             const linear_survey *survey, linear_classes *out)
{
    const char *weights = options->class_weight;
    double sum = 0;
    strads_err err = check_labels(survey, options->names);

    *out = (linear_classes){.n = (uint32_t)survey->n};
    for (uint32_t k = 0; k < out->n && !err; k++)
        out->label[k] = survey->label[k];
    if (!err && is_given(options->classes))
        err = linear_classes_read(options->classes, options->names, out);
    if (!err)
        err = match(options, survey, out);
    if (err)
        return err;
    for (uint32_t k = 0; k < out->n; k++) {
        out->weight[k] = 1;
        sum += out->sum[k];
    }
    if (is_given(weights) && strcmp(weights, "balanced") == 0)
        for (uint32_t k = 0; k < out->n; k++)
            out->weight[k] = sum / (out->n * out->sum[k]);
    else if (is_given(weights) && strcmp(weights, "none") != 0)
        err = read_class_weights(weights, options->names, out);
    out->total = 0;
    for (uint32_t k = 0; k < out->n; k++)
        out->total += out->sum[k] *= out->weight[k];
    return err;
}

/* ---- before a run, and after it ----------------------------------------- */

static void survey_share(const strads_share *share, uint64_t rows,
                         linear_survey *survey)
{
    for (uint64_t i = 0; i < rows && share->label; i++)
        linear_survey_add(survey, share->label[i], 1);
}

strads_err linear_classes_count(const char *text, const strads_data *data,
                                uint32_t *out)
{
    const strads_names *names = strads_data_label_names(data);
    const strads_share *share;
    linear_survey survey = {0};
    uint64_t rows = 0;

    *out = 2;
    if (is_given(text)) {
        linear_classes classes;
        const strads_err err = linear_classes_read(text, names, &classes);
        *out = err ? 2 : classes.n;
        return err;
    }
    for (uint32_t p = 0; (share = strads_data_share(data, p)) != NULL; p++) {
        const uint64_t n = share->rows.end - share->rows.begin;
        if (share->rows.begin < rows)
            continue; /* of a grid: other columns of the same rows */
        survey_share(share, n, &survey);
        rows += n;
    }
    uint32_t n = names ? strads_names_count(names) : 2;
    if (rows == strads_data_rows(data))
        n = (uint32_t)survey.n;
    else if (n > LINEAR_LABELS_MAX)
        n = LINEAR_LABELS_MAX + 1;
    *out = n > 2 ? n : 2;
    return STRADS_OK;
}

bool linear_classes_named(const void *config)
{
    (void)config;
    return true;
}

strads_err linear_classes_unnamed(const linear_classes *classes)
{
    return strads_fail(STRADS_EINVAL,
                       "the data has %u labels; where no process keeps all "
                       "rows, more than two have to be named: --classes "
                       "LABEL,LABEL,...",
                       classes->n);
}

void linear_classes_write(const linear_classes *classes,
                          const strads_names *names,
                          char out[LINEAR_CLASSES_TEXT])
{
    char text[LINEAR_LABEL_TEXT];
    size_t at = 0;

    out[0] = '\0';
    for (uint32_t k = 0; k < classes->n; k++)
        at += (size_t)snprintf(out + at, LINEAR_CLASSES_TEXT - at, "%s%s",
                               k ? "," : "",
                               linear_label_write(names, classes->label[k],
                                                  "%.17g", text));
}

/* ---- numbers of rows, one a line ---------------------------------------- */

static strads_err bad_number(const linear_lines *lines, const char *path,
                             uint64_t line, const char *text)
{
    return strads_fail(STRADS_EFORMAT,
                       "%s:%llu: found \"%.40s\"; expected %s, a number%s",
                       path, (unsigned long long)line, text, lines->what,
                       lines->least == 0 ? " from 0 up" : "");
}

static strads_err read_file(FILE *file, const linear_lines *lines,
                            const char *path, const strads_range *part,
                            uint64_t total, double *out)
{
    char text[128];
    uint64_t line = 0;

    while (fgets(text, sizeof(text), file)) {
        const char *at = text;
        double number;
        text[strcspn(text, "\r\n")] = '\0';
        if (line >= total)
            return strads_fail(STRADS_EFORMAT,
                               "%s: has more lines than the data has %s "
                               "(%llu); expected %s in each",
                               path, lines->of, (unsigned long long)total,
                               lines->what);
        if (!read_number(&at, " \t", &number) || at[strspn(at, " \t")] ||
            !(number >= lines->least))
            return bad_number(lines, path, line + 1, text);
        if (line >= part->begin && line < part->end)
            out[line - part->begin] = number;
        line++;
    }
    if (ferror(file))
        return strads_fail(STRADS_EIO, "%s: cannot be read: %s", path,
                           strerror(errno));
    if (line < total)
        return strads_fail(STRADS_EFORMAT,
                           "%s: has %llu lines and the data %llu %s; "
                           "expected %s in each",
                           path, (unsigned long long)line,
                           (unsigned long long)total, lines->of, lines->what);
    return STRADS_OK;
}

strads_err linear_read_lines(const linear_lines *lines, const char *path,
                             const strads_range *part, uint64_t total,
                             double *out)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    strads_err err;

    if (!file)
        return strads_fail(STRADS_EINVAL, "%s %s: cannot be opened: %s",
                           lines->option, path, strerror(errno));
    if (fstat(fileno(file), &info) == 0 && !S_ISREG(info.st_mode))
        err = strads_fail(STRADS_EINVAL,
                          "%s %s: is no plain file, and each partition reads "
                          "it",
                          lines->option, path);
    else
        err = read_file(file, lines, path, part, total, out);
    (void)fclose(file);
    return err;
}

static strads_err copy_values(const double *from, const strads_range *rows,
                              double *weight)
{
    for (uint64_t i = rows->begin; i < rows->end; i++) {
        if (!(from[i] >= 0) || isinf(from[i]))
            return strads_fail(STRADS_EINVAL,
                               "the weight of row %llu is %g; expected a "
                               "number from 0 up",
                               (unsigned long long)i + 1, from[i]);
        weight[i - rows->begin] = from[i];
    }
    return STRADS_OK;
}

strads_err linear_read_weights(linear_weights from, const strads_range *rows,
                               uint64_t total, double *weight)
{
    static const linear_lines lines = {.option = "--weights",
                                       .what = "the weight of a row",
                                       .of = "rows"};

    for (uint64_t i = 0; i < rows->end - rows->begin; i++)
        weight[i] = 1;
    if (from.value)
        return copy_values(from.value, rows, weight);
    return linear_weighs(from)
               ? linear_read_lines(&lines, from.path, rows, total, weight)
               : STRADS_OK;
}

strads_err linear_survey_data(const strads_data *data, linear_weights from,
                              linear_survey *out)
{
    const uint64_t rows = strads_data_rows(data);
    double *weight = calloc(rows + 1, sizeof(*weight));
    const strads_share *share;
    strads_err err = STRADS_OK;

    *out = (linear_survey){0};
    if (!weight)
        return strads_fail(STRADS_ENOMEM, "no memory for the weights of rows");
    for (uint32_t p = 0; !err && (share = strads_data_share(data, p)); p++) {
        err = linear_read_weights(from, &share->rows, rows, weight);
        for (uint64_t i = 0;
             i < share->rows.end - share->rows.begin && share->label && !err;
             i++)
            linear_survey_add(out, share->label[i], weight[i]);
    }
    free(weight);
    return err;
}
