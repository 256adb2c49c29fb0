/* strads/arrow.h - data from Arrow's C data interface
 * (https://arrow.apache.org/docs/format/CDataInterface.html), without Arrow. */
#ifndef STRADS_ARROW_H
#define STRADS_ARROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/data.h"
#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the specification publishes them. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

/* A table: record batches, one after the other. */
typedef struct strads_arrow {
    size_t size;                           /* sizeof(strads_arrow) */
    const struct ArrowSchema *schema;      /* of the batches: a struct ("+s") */
    const struct ArrowArray *const *batch; /* [batches] */
    uint64_t batches;
    const char *label; /* name of the column of labels, which must be numbers;
                          NULL: no labels */
    bool borrow;       /* see strads_data_from_arrow */
} strads_arrow;

/* Makes a data set from the columns of a table: integers, floating-point
 * numbers (rounded to doubles) and booleans (0, 1). Columns are named as in the
 * schema if all have different names and the options have no names. The caller
 * keeps all structures and releases them.
 *
 * Without `borrow` everything is copied; while it is copied, the table is in
 * memory twice more. With `borrow`, a single batch, the buffers of which follow
 * each other in memory as columns of doubles (or all of floats), is used in
 * place where strads_data_from_arrays can: it must then outlive the data set
 * unreleased.
 *
 * STRADS_EINVAL: not a struct, a released structure, a column of another type
 * or with a null in some row, no or several columns with the label's name, a
 * number that is not finite. STRADS_ELIMIT, STRADS_ENOMEM. Blocks. Any
 * thread. */
STRADS_API strads_err strads_data_from_arrow(const strads_arrow *table,
                                             const strads_data_options *options,
                                             strads_data **out);

#ifdef __cplusplus
}
#endif

#endif
