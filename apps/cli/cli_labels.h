/* cli_labels.h - the labels of a model's classes: numbers, or names. */
#ifndef CLI_LABELS_H
#define CLI_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/names.h"

enum { CLI_LABELS_MAX = 10000 }; /* the programs have the same limit */

/* Two classes share one score, which is positive for the second class. More
 * than two classes have one score each. Start with {0}. */
typedef struct cli_labels {
    uint32_t n;                   /* 0: the model predicts numbers */
    double label[CLI_LABELS_MAX]; /* 0, 1, ... if labels have names */
    strads_names *names;          /* NULL: labels are numbers */
} cli_labels;

/* Parses "LABEL,LABEL,..." as in a model's options: at least two labels, all
 * finite numbers or all names. False: the text is invalid, or there is no
 * memory. */
bool cli_labels_read(const char *text, cli_labels *out);

/* The number of scores of a row. */
static inline uint32_t cli_labels_sums(const cli_labels *l)
{
    return l->n > 2 ? l->n : 1;
}

/* The class with this label; n: none. */
uint32_t cli_labels_find(const cli_labels *l, double label);

/* The class with the highest score; the first one of equals. */
uint32_t cli_labels_best(const cli_labels *l, const double *sum);

/* The name of class k; NULL: its label is a number. */
const char *cli_labels_name(const cli_labels *l, uint32_t k);

/* The label of class k as text: its name, or a number formatted into
 * `buffer`. */
#define CLI_LABEL_SIZE 32
const char *cli_labels_text(const cli_labels *l, uint32_t k,
                            char buffer[CLI_LABEL_SIZE]);

/* The class with this name, or with this number if `name` is NULL; n: none.
 * Returns n also if only one side has names. */
uint32_t cli_labels_class(const cli_labels *l, const char *name, double number);

#endif
