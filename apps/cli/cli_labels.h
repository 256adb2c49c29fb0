/* cli_labels.h - the labels of a model's classes: numbers, or names. */
#ifndef CLI_LABELS_H
#define CLI_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/names.h"

enum { CLI_LABELS_MAX = 10000 }; /* as the programs have it */

/* Two classes share a sum, which is positive for the second of them; of more
 * each has a sum of its own. Start with {0}. */
typedef struct cli_labels {
    uint32_t n; /* 0: the model's sums are numbers, not classes */
    double label[CLI_LABELS_MAX]; /* where they have names, 0, 1, ... */
    strads_names *names;          /* NULL: they are numbers */
} cli_labels;

/* "LABEL,LABEL,...", as models' options have them: two at least, all finite
 * numbers or all names. False: they are not, or memory is short. */
bool cli_labels_read(const char *text, cli_labels *out);

/* How many sums a row has. */
static inline uint32_t cli_labels_sums(const cli_labels *l)
{
    return l->n > 2 ? l->n : 1;
}

/* Which class has this label; n: none. */
uint32_t cli_labels_find(const cli_labels *l, double label);

/* Which class the sums of a row speak for; the first of those that are even. */
uint32_t cli_labels_best(const cli_labels *l, const double *sum);

/* The name of class k; NULL: it is a number. */
const char *cli_labels_name(const cli_labels *l, uint32_t k);

/* The label of class k as text: its name, or a number written to `buffer`. */
#define CLI_LABEL_SIZE 32
const char *cli_labels_text(const cli_labels *l, uint32_t k,
                            char buffer[CLI_LABEL_SIZE]);

/* Which class has the label of that name or, where it is NULL, number; n: none,
 * as where there are names on one side alone. */
uint32_t cli_labels_class(const cli_labels *l, const char *name, double number);

#endif
