/* Makes every fork of a test program wait until its other threads sleep.
 *
 * Criterion forks each test from a process in which nanomsg has a thread. The C
 * library's malloc supports that: it takes its locks before a fork.
 * AddressSanitizer's allocator, in the compilers of Debian 12, does not. If
 * that thread is within malloc, the test waits for a lock that no thread can
 * release. A thread that sleeps in the kernel holds no such lock. */
#include <dirent.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The state field after the name in /proc/self/task/TID/stat; 0: the thread
 * has ended. */
static char state_of(const char *tid)
{
    char path[64], line[256];

    snprintf(path, sizeof(path), "/proc/self/task/%.16s/stat", tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const char *name_end =
        fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] ? name_end[2] : 0;
}

static bool others_sleep(void)
{
    bool quiet = true;
    DIR *tasks = opendir("/proc/self/task");

    if (!tasks)
        return true;
    for (const struct dirent *d; quiet && (d = readdir(tasks));) {
        if (d->d_name[0] == '.' || atoi(d->d_name) == gettid())
            continue;
        const char state = state_of(d->d_name);
        quiet = state == 0 || state == 'S';
    }
    closedir(tasks);
    return quiet;
}

/* Gives up after a while: a test may fork beside a thread that never sleeps. */
static void wait_for_quiet(void)
{
    const struct timespec pause = {.tv_nsec = 1000000};

    for (int tries = 1000; tries > 0 && !others_sleep(); tries--)
        nanosleep(&pause, NULL);
}

/* CMakeLists.txt makes the linker include it. */
void quiet_fork_begin(void);

__attribute__((constructor)) void quiet_fork_begin(void)
{
    if (pthread_atfork(wait_for_quiet, NULL, NULL))
        abort();
}
