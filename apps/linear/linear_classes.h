/* What all partitions have to agree on before a row's loss can be told: which
 * labels there are, which of them is positive, and what a row weighs. */
#ifndef LINEAR_CLASSES_H
#define LINEAR_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include <strads/data.h>

enum { LINEAR_LABELS_MAX = 64 };

/* The distinct labels of some rows, ascending, and the sum of the weights of
 * each. Of more labels than there is room for, the first are kept and `n` is
 * one above. */
typedef struct linear_survey {
    double n;
    double label[LINEAR_LABELS_MAX + 1];
    double weight[LINEAR_LABELS_MAX + 1];
} linear_survey;

void linear_survey_add(linear_survey *survey, double label, double weight);
/* into += from, as strads_phase.merge_with. */
void linear_survey_merge(void *into, const void *from, size_t bytes);

/* As users write them; NULL or "" where they did not. */
typedef struct linear_class_options {
    const char *classes; /* "LABEL,LABEL,..."; NULL: the data's, ascending */
    const char *class_weight; /* "none", "balanced" or "LABEL=WEIGHT,..." */
    const char *weights;      /* the file of rows' weights, for sentences */
} linear_class_options;

/* What all agree on once the labels are known. Of two the second is the
 * positive one. */
typedef struct linear_classes {
    uint32_t n;
    double label[LINEAR_LABELS_MAX];
    double weight[LINEAR_LABELS_MAX]; /* what rows of the class are multiplied
                                         by */
    double sum[LINEAR_LABELS_MAX];    /* of its rows' weights after that */
    double total;                     /* of all */
} linear_classes;

/* Labels and n from text, at least two and all different. STRADS_EINVAL. */
strads_err linear_classes_read(const char *text, linear_classes *out);

/* Classes and their weights. STRADS_EINVAL, STRADS_EFORMAT: a sentence why
 * not. */
strads_err linear_classes_of(const linear_class_options *options,
                             const linear_survey *survey, linear_classes *out);

/* The weights of the rows `rows` of `total`, from a file with one a line (NULL
 * or "": all are 1), in weight[]. STRADS_EINVAL: there is no such file.
 * STRADS_EIO, STRADS_EFORMAT. */
strads_err linear_read_weights(const char *path, const strads_range *rows,
                               uint64_t total, double *weight);

#endif
