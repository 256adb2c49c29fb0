/* What all partitions have to agree on before a row's loss can be told: which
 * labels there are, which of them is positive, and what a row weighs. */
#ifndef LINEAR_CLASSES_H
#define LINEAR_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <strads/data.h>

/* So many classes at most; of labels that are not whole numbers, so few: more
 * are hardly meant as classes. */
enum { LINEAR_LABELS_MAX = 10000, LINEAR_FRACTIONS_MAX = 64 };

/* The distinct labels of some rows, ascending, and the sum of the weights of
 * each: at most `most`, those that were seen first. All 0: there are none. */
typedef struct linear_survey {
    double n, most;
    struct {
        double label, weight;
    } of[];
} linear_survey;

/* A survey that can tell whether there are more labels than problems of that
 * width have, or too many fractions: how many bytes it has, and its begin. */
size_t linear_survey_size(uint32_t width);
void linear_survey_begin(linear_survey *survey, uint32_t width);
void linear_survey_add(linear_survey *survey, double label, double weight);
/* into += from, as strads_phase.merge_with. */
void linear_survey_merge(void *into, const void *from, size_t bytes);

/* As users write them; NULL or "" where they did not. A label is written as its
 * name where the data's have names, otherwise as a number. */
typedef struct linear_class_options {
    const strads_names *names; /* the data's; NULL: labels are numbers */
    const char *classes; /* "LABEL,LABEL,..."; NULL: the data's, ascending */
    const char *class_weight; /* "none", "balanced" or "LABEL=WEIGHT,..." */
    const char *weights;      /* the file of rows' weights, for sentences */
} linear_class_options;

/* What all agree on once the labels are known. Of two the second is the
 * positive one. */
typedef struct linear_classes {
    uint32_t n;
    double *label;  /* [3 n], of which the others are parts */
    double *weight; /* [n] what rows of the class are multiplied by */
    double *sum;    /* [n] of its rows' weights after that */
    double total;   /* of all */
} linear_classes;

/* n classes, all numbers 0. STRADS_ENOMEM. */
strads_err linear_classes_new(uint32_t n, linear_classes *out);
/* It is {0} after that. */
void linear_classes_free(linear_classes *classes);

/* Two classes are one problem, in which the second is positive; more are as
 * many, each against all others. How many numbers a parameter has then: one for
 * each problem. */
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

/* What rows with that label are multiplied by; 1 for one that is no class. */
double linear_classes_weight(const linear_classes *classes, double label);

/* Labels and n from text, at least two and all different; to be freed, as all
 * classes that are handed out. STRADS_EINVAL, STRADS_ENOMEM. */
strads_err linear_classes_read(const char *text, const strads_names *names,
                               linear_classes *out);

/* How many there are, as far as one process can tell before a run: of those
 * that `text` names, or, where it is NULL or "", of the data's labels when the
 * whole data is here, or of the names that these may have; otherwise 2.
 * STRADS_EINVAL; STRADS_EFORMAT: more than classes may be. STRADS_ENOMEM. */
strads_err linear_classes_count(const char *text, const strads_data *data,
                                uint32_t *out);

/* strads_program.named_labels, for programs of classes alone: true. */
bool linear_classes_named(const void *config);

/* STRADS_EINVAL, for a run that turns out to have more classes than were
 * counted. */
strads_err linear_classes_unnamed(const linear_classes *classes);

/* A label as people write it: its name, or the number in a form of printf,
 * which is put into `out`. */
enum { LINEAR_LABEL_TEXT = STRADS_LABEL_NAME_MAX + 1 };
const char *linear_label_write(const strads_names *names, double label,
                               const char *form, char out[LINEAR_LABEL_TEXT]);

/* "LABEL,LABEL,...", as linear_classes_read takes it, to be freed, instead of
 * what *out was. STRADS_ENOMEM. */
strads_err linear_classes_write(const linear_classes *classes,
                                const strads_names *names, char **out);

/* Classes and their weights. STRADS_EINVAL, STRADS_EFORMAT: a sentence why
 * not. */
strads_err linear_classes_of(const linear_class_options *options,
                             const linear_survey *survey, linear_classes *out);

/* Numbers of rows or columns from a file, one a line: what sentences say. */
typedef struct linear_lines {
    const char *option; /* "--weights" */
    const char *what;   /* "the weight of a row" */
    const char *of;     /* "rows" */
    double least;       /* 0, or -INFINITY */
} linear_lines;

/* The numbers of lines `part` of `total` in the file `path`, into out[].
 * STRADS_EINVAL: there is no such plain file. STRADS_EIO, STRADS_EFORMAT. */
strads_err linear_read_lines(const linear_lines *lines, const char *path,
                             const strads_range *part, uint64_t total,
                             double *out);

/* Where the weights of rows come from: `value` [rows], else the file `path`,
 * with one a line, else (NULL or "") the data, else all are 1. */
typedef struct linear_weights {
    const char *path;
    const double *value;
} linear_weights;

static inline bool linear_weighs(linear_weights from)
{
    return from.value || (from.path && *from.path);
}

/* The weights of the rows of a share, of `total` in the data, in weight[]: where
 * `from` says nothing, those of the data (strads_data_weigh). STRADS_EINVAL:
 * there is no such file, or a value is below 0. STRADS_EIO, STRADS_EFORMAT. */
strads_err linear_read_weights(linear_weights from, const strads_share *share,
                               uint64_t total, double *weight);

/* The labels of all rows that are here, by what these weigh; free() frees it.
 * As linear_read_weights; STRADS_ENOMEM. */
strads_err linear_survey_data(const strads_data *data, linear_weights from,
                              linear_survey **out);

#endif
