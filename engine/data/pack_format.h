/* engine/data/pack_format.h - the packed file format, version 1, as
 * docs/pack-format.md describes it: places of its fields, and the writer and
 * the reader of its chunks.
 *
 * A pack holds a sparse matrix by columns. Chunks hold columns, the index lists
 * chunks and sections, the header points to the index. All numbers are
 * little-endian. A file is untrusted: the reader checks every offset, count and
 * row before it uses them. */
#ifndef STI_DATA_PACK_FORMAT_H
#define STI_DATA_PACK_FORMAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/byte_order.h"
#include "engine/data/unpack.h"
#include "strads/data.h"
#include "strads/pack.h"

enum {
    STI_PACK_VERSION = 1,
    STI_PACK_ALIGN = 4096, /* chunks begin at multiples of it */
    STI_PACK_HEADER = 128,
    STI_PACK_INDEX_ROW = 64,
    STI_PACK_SECTION_ROW = 32,
    STI_PACK_CHUNK_HEADER = 64,
    STI_PACK_SLACK = 64, /* zero bytes behind the gaps of a chunk */
    STI_PACK_COLUMNS_MAX = 65536,
    STI_PACK_ENTRIES_MAX = 1 << 21,
    STI_PACK_CHUNK_BYTES = 4 << 20, /* the writer's limit, about */
    STI_PACK_PIECE = 1 << 18,       /* entries of a piece of a long column */
    STI_PACK_DICTIONARY = 256
};

/* Bounds of a chunk that the reader accepts. */
#define STI_PACK_CHUNK_MAX (UINT64_C(64) << 20)

#define STI_PACK_MAGIC "\x89STPACK\n"

/* How the values of a chunk are stored. */
typedef enum sti_pack_kind {
    STI_PACK_EQUAL = 0, /* one f64 for all */
    STI_PACK_BYTES = 1, /* a dictionary of f64 and a byte for each value */
    STI_PACK_HALF = 2,  /* f16 */
    STI_PACK_SINGLE = 3,
    STI_PACK_DOUBLE = 4
} sti_pack_kind;

/* A flag: the chunk has more entries of the last column of the chunk before,
 * and no other column. */
enum { STI_PACK_CONTINUES = 1 };

typedef enum sti_pack_section_kind {
    STI_PACK_LABELS = 1,      /* f64 for each row */
    STI_PACK_LABEL_NAMES = 2, /* strings that end with a zero byte */
    STI_PACK_COLUMN_NAMES = 3,
    STI_PACK_WEIGHTS = 4,     /* f64 for each row */
    STI_PACK_ROW_COUNTS = 5,  /* u32 for each row: its entries */
    STI_PACK_COLUMN_MEANS = 6 /* f64 for each column */
} sti_pack_section_kind;

enum { STI_PACK_SECTIONS = 7 };

/* A chunk, as the index describes it. */
typedef struct sti_pack_chunk {
    uint64_t offset, bytes; /* without the zeros behind it */
    uint64_t first_col;
    uint64_t nnz;
    uint64_t next_row; /* the row from which its first gap counts */
    uint64_t hash;     /* XXH3-64 of its bytes */
    uint32_t cols, flags;
} sti_pack_chunk;

typedef struct sti_pack_section {
    uint64_t offset, bytes, hash;
} sti_pack_section;

/* The bytes that all readers of a pack have read in their present passes, and
 * those of whole passes. A reader between two passes has read all of one. */
typedef struct sti_pack_passes {
    _Atomic uint64_t done, total;
} sti_pack_passes;

struct strads_pack {
    char *path;
    int fd;
    struct stat seen; /* the file when it was opened */
    uint64_t rows, cols, nnz;
    uint64_t entry_sum; /* see sti_digest */
    uint64_t file_bytes;
    strads_pack_values values;
    sti_pack_chunk *chunk; /* [chunks] */
    uint64_t chunks;
    sti_pack_section section[STI_PACK_SECTIONS]; /* bytes == 0: absent */
    uint64_t max_cols, max_nnz, max_bytes;       /* of a chunk */
    double *label, *weight;                      /* [rows] or NULL */
    double *col_means;                           /* [cols] or NULL */
    strads_names *label_names, *col_names;
    sti_pack_passes *passes; /* of its readers */
};

/* Space for one chunk; each thread has its own. */
typedef struct sti_pack_space {
    uint8_t *bytes;  /* of the file, zeros behind them */
    uint32_t *row;   /* [max_nnz] the rows of all entries */
    double *value;   /* [max_nnz] */
    uint64_t *start; /* [max_cols + 1] of columns, within row and value */
    uint32_t *skips; /* [max_cols] codes of each column without an entry */
    uint64_t bytes_size, nnz_size, cols_size;
} sti_pack_space;

/* The chunk in a space: where its parts begin. */
typedef struct sti_pack_parts {
    unsigned bits;
    sti_pack_kind kind;
    uint32_t dictionary;
    const uint8_t *gaps, *gaps_end, *values;
    const uint8_t *moments; /* NULL: all values are equal */
} sti_pack_parts;

/* Allocates space for any chunk of the pack. STRADS_ENOMEM. */
strads_err sti_pack_space_open(const strads_pack *pack, sti_pack_space *space);
void sti_pack_space_close(sti_pack_space *space);

/* Reads chunk k, checks it against its hash and decodes `start`. STRADS_EIO,
 * STRADS_EFORMAT. Any thread with its own space. */
strads_err sti_pack_load(const strads_pack *pack, uint64_t k,
                         sti_pack_space *space, sti_pack_parts *parts);

/* Reads bytes that the file had when it was opened. STRADS_EIO. */
strads_err sti_pack_read_bytes(const strads_pack *pack, uint64_t offset,
                               uint64_t n, uint8_t *to);

/* Decodes n + skips codes of a column to row[n], as sti_unpack_rows does. A
 * skip has all bits set and stands for rows without an entry. */
uint64_t sti_unpack_codes(const uint8_t *codes, uint64_t n, uint64_t skips,
                          unsigned bits, sti_unpack_range range, uint32_t *row);

/* The same for a chunk whose bytes are in the space already. */
strads_err sti_pack_check(const strads_pack *pack, uint64_t k,
                          sti_pack_space *space, sti_pack_parts *parts);

/* STRADS_EFORMAT with a sentence that names the chunk; `why` follows the
 * name. */
strads_err sti_pack_refuse_chunk(const strads_pack *pack, uint64_t k,
                                 const char *why);

/* Decodes the rows and the values of the chunk that was loaded last.
 * STRADS_EFORMAT. */
strads_err sti_pack_decode(const strads_pack *pack, uint64_t k,
                           sti_pack_space *space, const sti_pack_parts *parts);

/* Reads a section into a new array of sti_big_alloc; *out is NULL if the pack
 * lacks it. STRADS_EIO, STRADS_EFORMAT, STRADS_ENOMEM. */
strads_err sti_pack_section_read(const strads_pack *pack,
                                 sti_pack_section_kind kind, uint8_t **out,
                                 uint64_t *bytes);

/* STRADS_EIO if the file was written to after it was opened. */
strads_err sti_pack_unchanged(const strads_pack *pack);

/* True if the options ask for samples and the file is a pack. */
bool sti_pack_wanted(const char *path, const strads_data_options *options);

/* STRADS_EINVAL, STRADS_EFORMAT: the options do not suit a pack. */
strads_err sti_pack_check_use(const strads_pack *pack,
                              const strads_data_options *options);

/* strads_data_read of a pack. */
strads_err sti_pack_read(const char *path, const strads_data_options *options,
                         strads_data **out);

/* ---- writing ------------------------------------------------------------- */

typedef struct sti_packer sti_packer;

/* Copies the options and checks them. STRADS_EINVAL. */
strads_err sti_pack_options(const strads_pack_options *given,
                            strads_pack_options *out);

/* Opens a new pack beside `path`; it takes its place in sti_packer_close.
 * STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_packer_open(const char *path, uint64_t rows,
                           strads_pack_values values, sti_packer **out);

/* Adds the next column: entries with ascending rows. STRADS_ELIMIT: a value
 * does not fit the values that were asked for. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_packer_add(sti_packer *packer, uint64_t n, const uint32_t *row,
                          const double *value);

/* Adds entries behind the last ones to the column that was added last. */
strads_err sti_packer_continue(sti_packer *packer, uint64_t n,
                               const uint32_t *row, const double *value);

typedef struct sti_pack_extras {
    const double *label, *weight; /* [rows] or NULL */
    const double *col_means;      /* [columns] or NULL */
    const strads_names *label_names, *col_names;
} sti_pack_extras;

/* Writes sections, index and header, and moves the file to its path; on an
 * error, no file is left. Frees the packer. */
strads_err sti_packer_close(sti_packer *packer, const sti_pack_extras *extras,
                            strads_pack_result *result);

/* Removes the unfinished file. NULL is allowed. */
void sti_packer_abandon(sti_packer *packer);

/* The f16 nearest to x, ties to even; infinity beyond 65504. And back. */
uint16_t sti_half_of(double x);
double sti_half_value(uint16_t half);

/* ---- numbers ------------------------------------------------------------- */

static inline void sti_put_u32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static inline void sti_put_u64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint32_t sti_get_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t sti_get_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static inline void sti_put_f64(uint8_t *at, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    sti_put_u64(at, bits);
}

static inline double sti_get_f64(const uint8_t *at)
{
    const uint64_t bits = sti_get_u64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
