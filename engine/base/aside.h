/* aside.h - files that are whole or not there: written aside, then renamed. */
#ifndef STI_ASIDE_H
#define STI_ASIDE_H

#include <stdio.h>

#include "strads/error.h"

/* A file being written. Start with {0}. */
typedef struct sti_aside {
    FILE *file;   /* to be written to */
    char *path;   /* where it goes to in the end, links followed */
    char *beside; /* where it is until then: the same folder */
} sti_aside;

/* Whether `path` may be written: its folder is there and writable, and nothing
 * but a plain file bears its name. To be asked before long work. STRADS_EIO. */
strads_err sti_aside_check(const char *path);

/* Opens a new file beside `path`. STRADS_EIO, STRADS_ENOMEM. */
strads_err sti_aside_open(const char *path, sti_aside *aside);

/* Brings what was written to the disk and closes the file, so that little can
 * go wrong in a commit: of files that belong together all are settled before
 * the first is committed. STRADS_EIO; then `aside` is at its end. */
strads_err sti_aside_settle(sti_aside *aside);

/* Makes it `path`, on the disk, in one step, settled before or not; the old one
 * is gone then. STRADS_EIO (disk full, say): the old one is as it was. Ends
 * `aside`. */
strads_err sti_aside_commit(sti_aside *aside);

/* Removes what was written; nothing after a commit, or on {0}. */
void sti_aside_abandon(sti_aside *aside);

#endif
