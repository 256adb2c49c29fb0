/* Labels, classes and weights, from the data and the options. */
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

/* ---- labels -------------------------------------------------------------- */

static uint32_t labels_for(uint32_t width)
{
    return (width > LINEAR_FRACTIONS_MAX ? width : LINEAR_FRACTIONS_MAX) + 1;
}

size_t linear_survey_size(uint32_t width)
{
    const linear_survey *survey = NULL;

    return sizeof(*survey) + labels_for(width) * sizeof(survey->of[0]);
}

void linear_survey_begin(linear_survey *survey, uint32_t width)
{
    *survey = (linear_survey){.most = labels_for(width)};
}

/* Returns how many of n ascending numbers, `each` apart in memory, are below
 * `label`. */
static uint32_t count_below(const double *sorted, size_t each, uint32_t n,
                            double label)
{
    uint32_t begin = 0, end = n;

    while (begin < end) {
        const uint32_t middle = (begin + end) / 2;
        if (sorted[middle * each] < label)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

void linear_survey_add(linear_survey *survey, double label, double weight)
{
    const uint32_t n = (uint32_t)survey->n;
    const uint32_t k = count_below(&survey->of[0].label, 2, n, label);

    if (k < n && survey->of[k].label == label) {
        survey->of[k].weight += weight;
        return;
    }
    if (survey->n >= survey->most)
        return;
    memmove(&survey->of[k + 1], &survey->of[k],
            (n - k) * sizeof(survey->of[0]));
    survey->of[k].label = label;
    survey->of[k].weight = weight;
    survey->n++;
}

void linear_survey_merge(void *into, const void *from, size_t bytes)
{
    const linear_survey *other = from;

    (void)bytes;
    for (uint32_t k = 0; k < (uint32_t)other->n; k++)
        linear_survey_add(into, other->of[k].label, other->of[k].weight);
}

/* ---- classes ------------------------------------------------------------- */

strads_err linear_classes_new(uint32_t n, linear_classes *out)
{
    double *label = calloc(3 * (size_t)n + 1, sizeof(*label));

    *out = (linear_classes){0};
    if (!label)
        return strads_fail(STRADS_ENOMEM, "no memory for %u classes", n);
    *out = (linear_classes){.n = n,
                            .label = label,
                            .weight = label + n,
                            .sum = label + 2 * (size_t)n};
    return STRADS_OK;
}

void linear_classes_free(linear_classes *classes)
{
    free(classes->label);
    *classes = (linear_classes){0};
}

/* Reads the number at *text; the next character must be one of `ends`. */
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

/* Reads the label at *text; if labels have names, returns the name's number. */
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
    uint32_t n = 1;
    double most = -INFINITY; /* of the labels so far */
    strads_err err;

    for (const char *comma = strchr(text, ','); comma;
         comma = strchr(comma + 1, ','))
        n += n <= LINEAR_LABELS_MAX;
    err = linear_classes_new(n, out);
    if (err)
        return err;
    for (uint32_t k = 0; k < n && k < LINEAR_LABELS_MAX; k++) {
        double *label = &out->label[k];
        begin = at;
        bool good = read_label(&at, ",", names, label);
        for (uint32_t i = 0; i < k && good && *label <= most; i++)
            good = out->label[i] != *label;
        if (!good)
            break;
        most = fmax(most, *label);
        if (*at++)
            continue;
        if (n > 1)
            return STRADS_OK;
        err = strads_fail(STRADS_EINVAL,
                          "--classes %s: expected two labels or more", text);
        goto fail;
    }
    err = no_such_classes(text, begin, names);
fail:
    linear_classes_free(out);
    return err;
}

/* Classes are usually in ascending order, unless a user has listed them. */
static bool find_class(const linear_classes *classes, double label,
                       uint32_t *out)
{
    *out = count_below(classes->label, 1, classes->n, label);
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

/* "LABEL=WEIGHT,...": each label must be a class, each weight above 0. */
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
        at = names ? begin + size : at; /* for another name as well */
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
        if (survey->of[k].label != floor(survey->of[k].label))
            most = LINEAR_FRACTIONS_MAX;

    if (n == 0)
        return strads_fail(STRADS_EFORMAT,
                           "there are no rows; expected rows of two classes");
    if (n == 1)
        return strads_fail(STRADS_EFORMAT,
                           "all rows have the label %s; expected labels of two "
                           "values",
                           linear_label_write(names, survey->of[0].label, "%g",
                                              text[0]));
    if (n > most)
        return strads_fail(
            STRADS_EFORMAT,
            "there are more than %d different labels (%s, %s, %s, ...); "
            "expected classes%s",
            most, linear_label_write(names, survey->of[0].label, "%g", text[0]),
            linear_label_write(names, survey->of[1].label, "%g", text[1]),
            linear_label_write(names, survey->of[2].label, "%g", text[2]),
            names ? "" : ": for numbers use strads lasso");
    return STRADS_OK;
}

/* Checks that every label of the data is a class, and every class a label. */
static strads_err match_classes(const linear_class_options *options,
                                const linear_survey *survey,
                                linear_classes *out)
{
    const uint32_t n = (uint32_t)survey->n;
    char text[LINEAR_LABEL_TEXT];
    uint32_t k;

    for (uint32_t i = 0; i < n; i++) {
        if (!find_class(out, survey->of[i].label, &k))
            return strads_fail(STRADS_EINVAL,
                               "--classes %s: there are rows with the label %s",
                               options->classes,
                               linear_label_write(options->names,
                                                  survey->of[i].label, "%g",
                                                  text));
        out->sum[k] = survey->of[i].weight;
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

    *out = (linear_classes){0};
    if (!err)
        err = is_given(options->classes)
                  ? linear_classes_read(options->classes, options->names, out)
                  : linear_classes_new((uint32_t)survey->n, out);
    if (!err && !is_given(options->classes))
        for (uint32_t k = 0; k < out->n; k++)
            out->label[k] = survey->of[k].label;
    if (!err)
        err = match_classes(options, survey, out);
    if (err) {
        linear_classes_free(out);
        return err;
    }
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
    if (err)
        linear_classes_free(out);
    return err;
}

/* ---- before and after a run ---------------------------------------------- */

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
    linear_survey *survey;
    uint64_t rows = 0;
    uint32_t n = names ? strads_names_count(names) : 2;
    strads_err err = STRADS_OK;

    *out = 2;
    if (is_given(text)) {
        linear_classes classes = {0};
        err = linear_classes_read(text, names, &classes);
        *out = err ? 2 : classes.n;
        linear_classes_free(&classes);
        return err;
    }
    survey = calloc(1, linear_survey_size(LINEAR_LABELS_MAX));
    if (!survey)
        return strads_fail(STRADS_ENOMEM, "no memory for the labels of rows");
    linear_survey_begin(survey, LINEAR_LABELS_MAX);
    for (uint32_t p = 0; (share = strads_data_share(data, p)) != NULL; p++) {
        const uint64_t here = share->rows.end - share->rows.begin;
        if (share->rows.begin < rows)
            continue; /* of a grid: other columns of the same rows */
        survey_share(share, here, survey);
        rows += here;
    }
    if (rows == strads_data_rows(data)) {
        n = (uint32_t)survey->n;
        if (n > 1) /* for fewer, the code that needs classes reports it */
            err = check_labels(survey, names);
    }
    free(survey);
    *out = n > 2 ? n : 2;
    return err;
}

bool linear_classes_named(const void *config)
{
    (void)config;
    return true;
}

strads_err linear_classes_unnamed(const linear_classes *classes)
{
    return strads_fail(STRADS_EINVAL,
                       "the data has %s%u labels; where no process keeps all "
                       "rows, more than two have to be named: --classes "
                       "LABEL,LABEL,...",
                       classes->n > LINEAR_FRACTIONS_MAX ? "more than " : "",
                       classes->n > LINEAR_FRACTIONS_MAX ? LINEAR_FRACTIONS_MAX
                                                         : classes->n);
}

strads_err linear_classes_write(const linear_classes *classes,
                                const strads_names *names, char **out)
{
    const size_t most = classes->n * (size_t)LINEAR_LABEL_TEXT + 1;
    char *list = malloc(most), text[LINEAR_LABEL_TEXT];
    size_t at = 0;

    if (!list)
        return strads_fail(STRADS_ENOMEM, "no memory for the names of classes");
    list[0] = '\0';
    for (uint32_t k = 0; k < classes->n; k++)
        at += (size_t)snprintf(list + at, most - at, "%s%s", k ? "," : "",
                               linear_label_write(names, classes->label[k],
                                                  "%.17g", text));
    free(*out);
    *out = list;
    return STRADS_OK;
}

/* ---- numbers of rows, one per line --------------------------------------- */

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

strads_err linear_read_weights(linear_weights from, const strads_share *share,
                               uint64_t total, double *weight)
{
    const strads_range *rows = &share->rows;
    static const linear_lines lines = {.option = "--weights",
                                       .what = "the weight of a row",
                                       .of = "rows"};

    for (uint64_t i = 0; i < rows->end - rows->begin; i++)
        weight[i] = share->weight ? share->weight[i] : 1;
    if (from.value)
        return copy_values(from.value, rows, weight);
    return linear_weighs(from)
               ? linear_read_lines(&lines, from.path, rows, total, weight)
               : STRADS_OK;
}

strads_err linear_survey_data(const strads_data *data, linear_weights from,
                              linear_survey **out)
{
    const uint64_t rows = strads_data_rows(data);
    double *weight = calloc(rows + 1, sizeof(*weight));
    linear_survey *survey = calloc(1, linear_survey_size(LINEAR_LABELS_MAX));
    const strads_share *share;
    strads_err err = STRADS_OK;

    if (!weight || !survey)
        err = strads_fail(STRADS_ENOMEM, "no memory for the weights of rows");
    else
        linear_survey_begin(survey, LINEAR_LABELS_MAX);
    for (uint32_t p = 0; !err && (share = strads_data_share(data, p)); p++) {
        err = linear_read_weights(from, share, rows, weight);
        for (uint64_t i = 0;
             i < share->rows.end - share->rows.begin && share->label && !err;
             i++)
            linear_survey_add(survey, share->label[i], weight[i]);
    }
    free(weight);
    if (err) {
        free(survey);
        survey = NULL;
    }
    *out = survey;
    return err;
}
