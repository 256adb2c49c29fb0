/* strads/scratch.h - blocks of bytes on disk, used one after the other.
 *
 * A program with more data than memory divides the data into blocks and visits
 * them in turn, sweep after sweep. A scratch holds the blocks in a file without
 * a name, which ends with the process, however that ends. A thread reads the
 * block that comes next while the caller works on the current one, and writes
 * the changed bytes of the block before. The next block is the one that
 * followed the current one the last time.
 *
 * Memory: STRADS_SCRATCH_SLOTS times the largest block. The page cache is
 * bypassed where the file system can do that. */
#ifndef STRADS_SCRATCH_H
#define STRADS_SCRATCH_H

#include <stdint.h>

#include "strads/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STRADS_SCRATCH_SLOTS 3
/* Of blocks in memory and in the file, and of the changed ranges that are
 * written. */
#define STRADS_SCRATCH_ALIGN 4096

typedef struct strads_scratch strads_scratch;

/* Makes a scratch in `folder` for n blocks of bytes[b] bytes each. `use` names
 * in messages what it holds ("the tokens"). Reserves the room on disk.
 * STRADS_EIO: the folder cannot hold a file, or has too little room.
 * STRADS_ENOMEM. The caller frees *out. Any thread. */
STRADS_API strads_err strads_scratch_open(const char *folder, const char *use,
                                          uint32_t n, const uint64_t *bytes,
                                          strads_scratch **out);

/* Bytes of memory that a scratch with this largest block takes. */
STRADS_API uint64_t strads_scratch_memory(uint64_t largest);

/* Makes block b the current one and sets *bytes to its bytes, aligned to
 * STRADS_SCRATCH_ALIGN. They may be changed, and stay valid until the next call
 * of this function. A block that was never changed has any contents. Blocks
 * until the bytes are there. STRADS_EIO: the file cannot be read, or an earlier
 * write failed. One thread at a time. */
STRADS_API strads_err strads_scratch_take(strads_scratch *s, uint32_t b,
                                          void **bytes);

/* The caller has changed bytes begin .. end - 1 of the current block, and will
 * not change them again before the next strads_scratch_take. The thread writes
 * whole pages around them. Does not block. */
STRADS_API void strads_scratch_changed(strads_scratch *s, uint64_t begin,
                                       uint64_t end);

/* Writes n bytes to block b from `offset` on, which is a whole number of pages,
 * as the address of `bytes` is; whole pages are read from there. For filling
 * a block before it is taken; others may be taken and changed meanwhile. Blocks
 * until the bytes are written. One thread at a time. STRADS_EIO. */
STRADS_API strads_err strads_scratch_fill(strads_scratch *s, uint32_t b,
                                          uint64_t offset, const void *bytes,
                                          uint64_t n);

typedef struct strads_scratch_figures {
    uint64_t bytes; /* of the file */
    uint64_t read, written;
    double waited; /* seconds that strads_scratch_take has blocked */
} strads_scratch_figures;

STRADS_API strads_scratch_figures strads_scratch_measure(strads_scratch *s);

/* Drops the file. NULL is allowed. */
STRADS_API void strads_scratch_free(strads_scratch *s);

#ifdef __cplusplus
}
#endif

#endif
