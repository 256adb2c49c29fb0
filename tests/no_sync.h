/* tests/no_sync.h - for the one file of a test program whose syncs need not
 * trouble the disk: nobody pulls the plug (store_journal_kill_test.c looks at
 * when they come). */
#ifndef TESTS_NO_SYNC_H
#define TESTS_NO_SYNC_H

#include <unistd.h>

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

int fsync(int fd)
{
    (void)fd;
    return 0;
}

#endif
