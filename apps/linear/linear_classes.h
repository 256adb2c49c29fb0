/* Facts about classes that all partitions must agree on before losses can be
 * computed: the labels, the positive one, and the weights of rows. */
#ifndef LINEAR_CLASSES_H
#define LINEAR_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <strads/data.h>

/* Limits on classes: of any labels, and of labels that are not integers,
 * because many of those are probably not classes. */
enum { LINEAR_LABELS_MAX = 10000, LINEAR_FRACTIONS_MAX = 64 };

/* The distinct labels of some rows, ascending, with the sum of the weights
 * of each: at most `most`, the first ones seen. All 0: no labels. */
typedef struct linear_survey {
    double n, most;
    struct {
        double label, weight;
    } of[];
} linear_survey;

/* The size in bytes, and the initialisation, of a survey that can detect
 * more labels than problems of that width have, or too many non-integers. */
size_t linear_survey_size(uint32_t width);
void linear_survey_begin(linear_survey *survey, uint32_t width);
void linear_survey_add(linear_survey *survey, double label, double weight);
/* into += from, for strads_phase.merge_with. */
void linear_survey_merge(void *into, const void *from, size_t bytes);

/* Options as users write them; NULL or "" if not given. A label is its name
 * if the data's labels have names, otherwise a number. */
typedef struct linear_class_options {
    const strads_names *names; /* the data's; NULL: labels are numbers */
    const char *classes; /* "LABEL,LABEL,..."; NULL: the data's, ascending */
    const char *class_weight; /* "none", "balanced" or "LABEL=WEIGHT,..." */
    const char *weights;      /* the file of rows' weights, for messages */
} linear_class_options;

/* The classes, once the labels are known. With two classes, the second is
 * the positive one. */
typedef struct linear_classes {
    uint32_t n;
    double *label;  /* [3 n]; the other arrays are parts of it */
    double *weight; /* [n] factor for the weights of the class's rows */
    double *sum;    /* [n] sum of the weights of its rows after that */
    double total;   /* sum over all classes */
} linear_classes;

/* n classes with all numbers 0. STRADS_ENOMEM. */
strads_err linear_classes_new(uint32_t n, linear_classes *out);
/* Sets it to {0}. */
void linear_classes_free(linear_classes *classes);

/* The number of problems, and of values per parameter. Two classes are one
 * problem in which the second is positive; more classes are one problem each,
 * against all others. */
static inline uint32_t linear_classes_width(uint32_t classes)
{
    return classes > 2 ? classes : 1;
}

/* The positive class of a problem. */
static inline uint32_t linear_classes_positive(const linear_classes *classes,
                                               uint32_t target)
{
    return classes->n > 2 ? target : 1;
}

/* The factor for rows with that label; 1 if it is not a class. */
double linear_classes_weight(const linear_classes *classes, double label);

/* Reads n and the labels from text, at least two distinct ones. The caller
 * frees all returned classes. STRADS_EINVAL, STRADS_ENOMEM. */
strads_err linear_classes_read(const char *text, const strads_names *names,
                               linear_classes *out);

/* The number of classes, as far as one process knows it before a run: those
 * in `text` or, if that is NULL or "", the data's labels if all data is here,
 * or the names that these may have; otherwise 2. STRADS_EINVAL; STRADS_EFORMAT:
 * too many classes. STRADS_ENOMEM. */
strads_err linear_classes_count(const char *text, const strads_data *data,
                                uint32_t *out);

/* strads_program.named_labels for programs that need classes: true. */
bool linear_classes_named(const void *config);

/* STRADS_EINVAL, for a run that has more classes than were counted before
 * it. */
strads_err linear_classes_unnamed(const linear_classes *classes);

/* A label as text: its name, or the number in a printf format, written to
 * `out`. */
enum { LINEAR_LABEL_TEXT = STRADS_LABEL_NAME_MAX + 1 };
const char *linear_label_write(const strads_names *names, double label,
                               const char *form, char out[LINEAR_LABEL_TEXT]);

/* Writes "LABEL,LABEL,...", as linear_classes_read reads it, to *out; the
 * caller frees it, and the old *out is freed. STRADS_ENOMEM. */
strads_err linear_classes_write(const linear_classes *classes,
                                const strads_names *names, char **out);

/* Determines classes and their weights. STRADS_EINVAL, STRADS_EFORMAT, with
 * the reason. */
strads_err linear_classes_of(const linear_class_options *options,
                             const linear_survey *survey, linear_classes *out);

/* Words for messages about a file with numbers of rows or columns, one per
 * line. */
typedef struct linear_lines {
    const char *option; /* "--weights" */
    const char *what;   /* "the weight of a row" */
    const char *of;     /* "rows" */
    double least;       /* 0, or -INFINITY */
} linear_lines;

/* Reads the numbers of lines `part` of `total` from the file `path` into
 * out[]. STRADS_EINVAL: it is not an existing regular file. STRADS_EIO,
 * STRADS_EFORMAT. */
strads_err linear_read_lines(const linear_lines *lines, const char *path,
                             const strads_range *part, uint64_t total,
                             double *out);

/* Source of the weights of rows: `value` [rows], else the file `path`, one
 * per line, else (NULL or "") the data, else all are 1. */
typedef struct linear_weights {
    const char *path;
    const double *value;
} linear_weights;

static inline bool linear_weighs(linear_weights from)
{
    return from.value || (from.path && *from.path);
}

/* Fills weight[] with the weights of a share's rows, of `total` in the data;
 * if `from` is empty, those of the data (strads_data_weigh). STRADS_EINVAL: the
 * file does not exist, or a value is below 0. STRADS_EIO, STRADS_EFORMAT. */
strads_err linear_read_weights(linear_weights from, const strads_share *share,
                               uint64_t total, double *weight);

/* Surveys the labels of all rows in this process, with their weights; the
 * caller frees it with free(). Errors as linear_read_weights; STRADS_ENOMEM. */
strads_err linear_survey_data(const strads_data *data, linear_weights from,
                              linear_survey **out);

#endif
