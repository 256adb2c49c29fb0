/* engine/data/npy.h - samples from numpy's files: .npy, and .npz as
 * scipy.sparse.save_npz and numpy.savez write it; and from IDX, plain or
 * gzip. */
#ifndef STI_DATA_NPY_H
#define STI_DATA_NPY_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/naming.h"
#include "strads/data.h"

/* Detects the format by the first bytes; NULL for other files. */
const char *sti_npy_format(const char *path);

/* Reads samples like strads_data_read: a dense array of one or two
 * dimensions with one sample per row, or a sparse matrix, csr or csc. */
strads_err sti_npy_read(const char *path, const strads_data_options *options,
                        strads_data **out);

#endif
