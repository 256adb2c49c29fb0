/* engine/data/labels_file.h - labels that stand in a file of their own. */
#ifndef STI_DATA_LABELS_FILE_H
#define STI_DATA_LABELS_FILE_H

#include <stdint.h>

#include "strads/error.h"

/* Reads labels[rows] from text with one number a line, or from a MatrixMarket
 * array of one column or one row; plain or compressed. Takes at most `memory`
 * bytes for a pipe's text. STRADS_EFORMAT also when
 * the file does not hold exactly `rows` of them. */
strads_err sti_labels_read(const char *path, uint64_t rows, uint64_t memory,
                           double *labels);

#endif
