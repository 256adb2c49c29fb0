/* engine/data/scratch_file.h - files without a name, for what does not fit into
 * memory. The system removes them when the process ends. */
#ifndef STI_DATA_SCRATCH_FILE_H
#define STI_DATA_SCRATCH_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/error.h"

/* What a file is for, in messages: "sorting needs 5 bytes of scratch space". */
typedef struct sti_scratch_use {
    const char *folder;
    const char *needs;  /* "sorting needs" */
    const char *remedy; /* besides another folder; "" if there is none */
    bool direct;        /* bypass the page cache if the file system can */
} sti_scratch_use;

/* Makes such a file, with room for `bytes` bytes reserved on disk where the
 * file system can do that. STRADS_EIO: not enough room, or no file can be
 * made. */
strads_err sti_scratch_file_open(const sti_scratch_use *use, uint64_t bytes,
                                 int *fd);

/* Reads or writes n bytes at an offset. With `direct`, all three are whole
 * pages; if the file system refuses, the page cache is used from then on. */
strads_err sti_scratch_file_read(int fd, uint64_t offset, void *to, uint64_t n);
strads_err sti_scratch_file_write(int fd, uint64_t offset, const void *from,
                                  uint64_t n);

#endif
