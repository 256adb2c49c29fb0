/* Zeroed arrays. Arrays of MAPPED_FROM bytes or more are separate mappings,
 * aligned to a huge page. Their pages come zeroed from the kernel, untouched
 * parts cost nothing, and freeing returns the memory at once. Whether an array
 * is mapped follows from its size alone, so no header is stored. */
#include "engine/data/memory.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/base/monotonic_clock.h"

enum { MAPPED_FROM = 1 << 20, HUGE_PAGE = 2 << 20, SMALL_PAGE = 4096 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* The size of an array's mapping. It is rounded up to whole huge pages if
 * that adds at most an eighth; otherwise the part beyond the last huge page is
 * on small pages. */
static size_t mapped_size(size_t bytes)
{
    const size_t wide = round_up(bytes, HUGE_PAGE);

    return wide - bytes <= bytes / 8 ? wide : round_up(bytes, SMALL_PAGE);
}

/* Maps one huge page more than requested and unmaps both ends. */
static void *map_aligned(size_t bytes)
{
    size_t whole = bytes + HUGE_PAGE;
    char *at = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t head = round_up((uintptr_t)at, HUGE_PAGE) - (uintptr_t)at;
    size_t tail = whole - head - bytes;
    if (head > 0)
        munmap(at, head);
    if (tail > 0)
        munmap(at + head + bytes, tail);
        /* Advice only: without huge pages everything works, a little slower. */
#ifdef MADV_HUGEPAGE
    (void)madvise(at + head, bytes, MADV_HUGEPAGE);
#endif
    return at + head;
}

void *sti_big_alloc(size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    if (bytes >= MAPPED_FROM)
        return map_aligned(mapped_size(bytes));
    size_t size = bytes == 0 ? 64 : round_up(bytes, 64);
    void *array = aligned_alloc(64, size);
    if (array != NULL)
        memset(array, 0, size);
    return array;
}

void sti_big_free(void *array, size_t bytes)
{
    if (array == NULL)
        return;
    if (bytes >= MAPPED_FROM)
        munmap(array, mapped_size(bytes));
    else
        free(array);
}

void *sti_big_grow(void *array, size_t old, size_t bytes)
{
#ifdef MREMAP_MAYMOVE
    if (array != NULL && old >= MAPPED_FROM) {
        void *moved =
            mremap(array, mapped_size(old), mapped_size(bytes), MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
#endif
    void *fresh = sti_big_alloc(bytes);
    if (fresh == NULL)
        return NULL;
    if (array != NULL)
        memcpy(fresh, array, old);
    sti_big_free(array, old);
    return fresh;
}

/* Reads the memory limits of Linux: /proc/meminfo and the control group
 * files, version 2 or 1. A value that cannot be read sets no limit. */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Reads a file that holds one number; UINT64_MAX for "max" or a missing
 * file. */
static uint64_t read_number(const char *folder, const char *name)
{
    char path[600];
    uint64_t value = UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return UINT64_MAX;
    if (fscanf(file, "%" SCNu64, &value) != 1)
        value = UINT64_MAX;
    (void)fclose(file);
    return value;
}

/* Reads the value of a line `key value`; 0 if there is none. */
static uint64_t read_field(const char *path, const char *key)
{
    char line[256];
    uint64_t value = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, key, length) == 0 &&
            sscanf(line + length, " %" SCNu64, &value) == 1)
            break;
    (void)fclose(file);
    return value;
}

/* A group's limit minus its usage. The file cache in the usage can be
 * dropped. */
static uint64_t group_available(const char *folder, const char *limit_file,
                                const char *usage_file)
{
    uint64_t limit = read_number(folder, limit_file);
    if (limit >= UINT64_MAX / 4)
        return UINT64_MAX;
    uint64_t used = read_number(folder, usage_file);
    if (used == UINT64_MAX)
        return UINT64_MAX;
    char stat[600];
    (void)snprintf(stat, sizeof stat, "%s/memory.stat", folder);
    uint64_t cache = read_field(stat, "inactive_file");
    used -= least(used, cache);
    return limit > used ? limit - used : 0;
}

/* The least available memory of the group at `path` and its ancestors. */
static uint64_t groups_available(char *path, bool second)
{
    uint64_t capacity = UINT64_MAX;
    for (;;) {
        char folder[440];
        (void)snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s",
                       second ? "" : "/memory", path);
        uint64_t here =
            second ? group_available(folder, "memory.max", "memory.current")
                   : group_available(folder, "memory.limit_in_bytes",
                                     "memory.usage_in_bytes");
        capacity = least(capacity, here);
        char *cut = strrchr(path, '/');
        if (cut == NULL)
            return capacity;
        *cut = '\0';
    }
}

/* /proc/self/cgroup has a line `0::/path` (version 2) and, in version 1, one
 * `n:...memory...:/path`. */
static uint64_t cgroup_available(void)
{
    char line[400];
    uint64_t capacity = UINT64_MAX;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return capacity;
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *names = strchr(line, ':');
        char *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path = '\0';
        bool second = names[1] == '\0';
        if (second || strstr(names + 1, "memory") != NULL)
            capacity = least(capacity, groups_available(path + 1, second));
    }
    (void)fclose(file);
    return capacity;
}

static uint64_t read_available(void)
{
    uint64_t kilobytes = read_field("/proc/meminfo", "MemAvailable:");
    uint64_t system = kilobytes != 0 ? kilobytes * 1024 : UINT64_MAX;
    return least(system, cgroup_available());
}

/* A run asks three times, and the files take longer to read than a fit of 30
 * rows takes. So answers are kept for AVAILABLE_AGE_NS. Several threads may
 * read the files at the same time. */
enum { AVAILABLE_AGE_NS = 50000000 };

uint64_t sti_memory_available(void)
{
    static _Atomic uint64_t answer, until;
    const uint64_t now = sti_monotonic_now();
    if (now >= until) {
        answer = read_available();
        until = now + AVAILABLE_AGE_NS;
    }
    return answer;
}

/* Helper threads live for one call. An atomic counter hands out the tasks,
 * so uneven tasks balance themselves. */

enum { MOST_THREADS = 256 };

typedef struct crew {
    sti_task task;
    void *context;
    size_t tasks;
    _Atomic size_t next;
} crew;

static void *work(void *arg)
{
    crew *c = arg;
    for (;;) {
        size_t mine =
            atomic_fetch_add_explicit(&c->next, 1, memory_order_relaxed);
        if (mine >= c->tasks)
            return NULL;
        c->task(c->context, mine);
    }
}

void sti_parallel(uint32_t threads, size_t tasks, sti_task task, void *context)
{
    crew c = {.task = task, .context = context, .tasks = tasks};
    pthread_t helper[MOST_THREADS];
    size_t wanted = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (wanted > tasks)
        wanted = tasks;
    size_t started = 0;
    while (started + 1 < wanted &&
           pthread_create(&helper[started], NULL, work, &c) == 0)
        started++;
    (void)work(&c);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(helper[i], NULL);
}
