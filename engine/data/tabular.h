/* engine/data/tabular.h - samples from a table: CSV or TSV behind a header. */
#ifndef STI_DATA_TABULAR_H
#define STI_DATA_TABULAR_H

#include <stdbool.h>

#include "engine/data/text.h"
#include "strads/data.h"

/* Whether the options, which may be NULL, ask for a table, or the file is one of
 * numpy's. */
bool sti_tabular_wanted(const char *path, const strads_data_options *options);

/* STRADS_EFORMAT where text that is to be LIBSVM begins with a line of names and
 * commas instead: says how to read it as a table. */
strads_err sti_tabular_refuse(const char *path, const char *begin,
                              const char *end);

typedef struct sti_tabular_file {
    bool is_table; /* false: the file is sparse text after all, and not read */
    const char *format; /* "table", "npy", "npz" or "idx" */
    sti_codec codec;
    uint64_t file_bytes, text_bytes;
} sti_tabular_file;

/* Reads a table, or numpy's file, as strads_data_read does. */
strads_err sti_tabular_read(const char *path,
                            const strads_data_options *options,
                            sti_tabular_file *file, strads_data **out);

#endif
