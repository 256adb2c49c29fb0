/* engine/data/labels_file.h - labels that stand in a file of their own. */
#ifndef STI_DATA_LABELS_FILE_H
#define STI_DATA_LABELS_FILE_H

#include <stdint.h>

#include "strads/error.h"

#include "engine/data/label_names.h"

/* How a file of labels is read. */
typedef struct sti_labels_options {
    uint64_t rows;             /* that are expected */
    uint64_t memory;           /* bytes that a pipe's text may take */
    bool named;                /* they may be names, */
    const strads_names *given; /* these, or NULL */
} sti_labels_options;

/* Reads labels[rows] from text with one label a line, or from a MatrixMarket
 * array of one column or one row; plain or compressed. Where they are names,
 * `names` is opened. STRADS_EFORMAT also when
 * the file does not hold exactly `rows` of them. */
strads_err sti_labels_read(const char *path, const sti_labels_options *options,
                           sti_label_names *names, double *labels);

#endif
