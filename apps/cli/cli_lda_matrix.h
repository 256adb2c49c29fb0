/* cli_lda_matrix.h - all probabilities of a topic model in one file. */
#ifndef CLI_LDA_MATRIX_H
#define CLI_LDA_MATRIX_H

#include "strads/lda.h"

/* Writes phi [topics x words], (n_wk + beta) / (n_k + V beta), in the format
 * that the file's name ends with: .npy, of f64; .csv, a line a topic below a
 * line of the words; .json, a line a topic. STRADS_EINVAL: another ending.
 * STRADS_EIO, STRADS_ENOMEM. */
strads_err cli_lda_matrix_write(const strads_lda_model *model,
                                const char *path);

#endif
