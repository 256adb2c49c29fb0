/* engine/base/atomic_file.h - files that appear complete or not at all: written
 * without a name or under a temporary one, then renamed. */
#ifndef STI_ATOMIC_FILE_H
#define STI_ATOMIC_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "strads/error.h"

/* A file being written. Start with {0}. */
typedef struct sti_atomic_file {
    FILE *stream;    /* the temporary file; callers write here */
    char *path;      /* the final path, symbolic links resolved */
    char *temporary; /* the temporary path, in the same folder */
    bool unnamed;    /* the file has no name yet */
} sti_atomic_file;

/* Checks that `path` can be written: its folder exists and is writable, and
 * `path` is absent or a plain file. Call it before long work. STRADS_EIO. */
strads_err sti_atomic_file_check(const char *path);

/* Opens a new file beside `path`. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_atomic_file_open(const char *path, sti_atomic_file *file);

/* Flushes the content to disk and closes the file, so that little can fail in
 * the commit. To write several files that belong together, sync all of them
 * before the first commit. STRADS_EIO; `file` is then ended. */
strads_err sti_atomic_file_sync(sti_atomic_file *file);

/* Renames the file to `path` and syncs the rename; the old file is replaced in
 * one step. Works with or without an earlier sync. STRADS_EIO (disk full, for
 * example): the old file is unchanged. Ends `file`. */
strads_err sti_atomic_file_commit(sti_atomic_file *file);

/* Removes the temporary file. Does nothing after a commit, or on {0}. */
void sti_atomic_file_abandon(sti_atomic_file *file);

#endif
