/* engine/base/atomic_file.h - files that are whole or not there: written under
 * another name, then renamed. */
#ifndef STI_ATOMIC_FILE_H
#define STI_ATOMIC_FILE_H

#include <stdio.h>

#include "strads/error.h"

/* A file being written. Start with {0}. */
typedef struct sti_atomic_file {
    FILE *stream;    /* to be written to */
    char *path;      /* where it goes in the end, links followed */
    char *temporary; /* where it is until then: the same folder */
} sti_atomic_file;

/* Whether `path` may be written: its folder is there and writable, and nothing
 * but a plain file bears its name. To be asked before long work. STRADS_EIO. */
strads_err sti_atomic_file_check(const char *path);

/* Opens a new file beside `path`. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_atomic_file_open(const char *path, sti_atomic_file *file);

/* Brings what was written to the disk and closes the file, so that little can
 * go wrong in a commit: of files that belong together all are synced before
 * the first is committed. STRADS_EIO; then `file` is at its end. */
strads_err sti_atomic_file_sync(sti_atomic_file *file);

/* Makes it `path`, on the disk, in one step, synced before or not; the old one
 * is gone then. STRADS_EIO (disk full, say): the old one is as it was. Ends
 * `file`. */
strads_err sti_atomic_file_commit(sti_atomic_file *file);

/* Removes what was written; nothing after a commit, or on {0}. */
void sti_atomic_file_abandon(sti_atomic_file *file);

#endif
