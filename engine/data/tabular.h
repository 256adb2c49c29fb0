/* engine/data/tabular.h - samples from a table: CSV or TSV behind a header. */
#ifndef STI_DATA_TABULAR_H
#define STI_DATA_TABULAR_H

#include <stdbool.h>

#include "engine/data/text.h"
#include "strads/data.h"

/* True if the options, which may be NULL, ask for a table, or if the file is
 * one of numpy's. */
bool sti_tabular_wanted(const char *path, const strads_data_options *options);

/* STRADS_EFORMAT if a text that should be LIBSVM begins with a line of names
 * and commas. The message explains how to read it as a table. */
strads_err sti_tabular_refuse(const char *path, const char *begin,
                              const char *end);

typedef struct sti_tabular_file {
    bool is_table;      /* false: the file is sparse text, and was not read */
    const char *format; /* "table", "npy", "npz" or "idx" */
    sti_codec codec;
    uint64_t file_bytes, text_bytes;
} sti_tabular_file;

/* Reads a table or a numpy file, like strads_data_read. */
strads_err sti_tabular_read(const char *path,
                            const strads_data_options *options,
                            sti_tabular_file *file, strads_data **out);

#endif
