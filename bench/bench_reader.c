/* The speed of reading a data file into compressed columns, and the memory it
 * takes.
 *
 *   bench_reader FILE [--json]
 *
 * For 1, 2, 4 ... threads up to the cores: the median of 5 reads, in MB of text
 * per second of the clock and of processor time (which excludes the load of
 * other processes), beside the floor, one pass over the same bytes on one
 * thread. Then one more read with a thread that polls the anonymous memory; its
 * peak is given as a ratio to one orientation of the matrix (12 bytes per
 * entry, 8 per column) plus labels. It uses only the public headers. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/measuring.h"
#include "strads/data.h"

enum { ROUNDS = 5, WIDTHS_MAX = 8 };

typedef struct figures {
    const char *path;
    strads_data_summary summary;
    double floor_ms;
    uint32_t widths;
    uint32_t threads[WIDTHS_MAX];
    double ms[WIDTHS_MAX];
    double cpu_ms[WIDTHS_MAX];
    double memory_ratio;
    double load;
} figures;

static bool refused(void)
{
    (void)fprintf(stderr, "bench_reader: %s\n", strads_error_text());
    return false;
}

static bool read_once(const char *path, uint32_t threads, double *ms,
                      double *cpu_ms)
{
    strads_data_options o = {.size = sizeof o, .threads = threads};
    strads_data *data;
    double begin = 1e3 * bench_wall();
    double cpu_begin = 1e3 * bench_cpu();
    if (strads_data_read(path, &o, &data) != STRADS_OK)
        return refused();
    *ms = 1e3 * bench_wall() - begin;
    *cpu_ms = 1e3 * bench_cpu() - cpu_begin;
    strads_data_free(data);
    return true;
}

/* The minimum for any reader: touch every byte of the mapped file. */
static bool scan_once(const char *path, double *ms)
{
    struct stat info;
    double begin = 1e3 * bench_wall();
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        return false;
    size_t size = (size_t)info.st_size;
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (bytes == MAP_FAILED)
        return false;
    volatile uint64_t lines = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < size; i++)
        found += bytes[i] == '\n';
    lines = found;
    (void)lines;
    (void)munmap((void *)(uintptr_t)bytes, size);
    *ms = 1e3 * bench_wall() - begin;
    return true;
}

static uint64_t anonymous_bytes(void)
{
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssAnon: %llu kB", &kilobytes) == 1)
            break;
    (void)fclose(file);
    return 1024 * kilobytes;
}

typedef struct watcher {
    _Atomic bool stop;
    uint64_t peak;
} watcher;

static void *watch(void *arg)
{
    watcher *w = arg;
    const struct timespec pause = {.tv_nsec = 200000};
    while (!atomic_load(&w->stop)) {
        uint64_t bytes = anonymous_bytes();
        w->peak = bytes > w->peak ? bytes : w->peak;
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

static bool measure_memory(figures *f)
{
    watcher w = {0};
    pthread_t thread;
    double ms;
    double cpu_ms;
    uint64_t before = anonymous_bytes();
    if (pthread_create(&thread, NULL, watch, &w) != 0)
        return false;
    bool read = read_once(f->path, f->threads[f->widths - 1], &ms, &cpu_ms);
    atomic_store(&w.stop, true);
    (void)pthread_join(thread, NULL);
    double matrix =
        (double)f->summary.matrix_bytes + 8 * (double)f->summary.rows;
    f->memory_ratio = (double)(w.peak - before) / matrix;
    return read;
}

/* Thread counts alternate, so that a slow moment of the machine affects them
 * all. */
static bool measure_speed(figures *f)
{
    double ms[WIDTHS_MAX + 1][ROUNDS];
    double cpu_ms[WIDTHS_MAX][ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        if (!scan_once(f->path, &ms[WIDTHS_MAX][round]))
            return false;
        for (uint32_t w = 0; w < f->widths; w++)
            if (!read_once(f->path, f->threads[w], &ms[w][round],
                           &cpu_ms[w][round]))
                return false;
    }
    f->floor_ms = bench_median(ms[WIDTHS_MAX], ROUNDS);
    for (uint32_t w = 0; w < f->widths; w++) {
        f->ms[w] = bench_median(ms[w], ROUNDS);
        f->cpu_ms[w] = bench_median(cpu_ms[w], ROUNDS);
    }
    return true;
}

static bool measure(figures *f)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (strads_data_summarize(f->path, NULL, &f->summary) != STRADS_OK)
        return refused();
    for (uint32_t t = 1; t <= (uint32_t)cores && f->widths < WIDTHS_MAX; t *= 2)
        f->threads[f->widths++] = t;
    return measure_speed(f) && measure_memory(f) &&
           getloadavg(&f->load, 1) == 1;
}

static double speed(const figures *f, double ms)
{
    return (double)f->summary.text_bytes / 1e3 / ms;
}

static void print_table(const figures *f, FILE *out)
{
    (void)fprintf(out,
                  "%s: %llu x %llu, %llu entries, %.1f MB of text (%s), "
                  "load %.2f\n",
                  f->path, (unsigned long long)f->summary.rows,
                  (unsigned long long)f->summary.cols,
                  (unsigned long long)f->summary.nnz,
                  (double)f->summary.text_bytes / 1e6, f->summary.compression,
                  f->load);
    (void)fprintf(out, "threads       ms     MB/s  MB/s of processor  x "
                       "floor\n");
    for (uint32_t w = 0; w < f->widths; w++)
        (void)fprintf(out, "%7u %8.1f %8.0f %18.0f %8.1f\n", f->threads[w],
                      f->ms[w], speed(f, f->ms[w]), speed(f, f->cpu_ms[w]),
                      f->ms[w] / f->floor_ms);
    (void)fprintf(out, "  floor %8.1f %8.0f\n", f->floor_ms,
                  speed(f, f->floor_ms));
    (void)fprintf(out, "peak anonymous memory: %.2f x one orientation\n",
                  f->memory_ratio);
}

static void print_json(const figures *f)
{
    (void)printf("{\"bench\": \"reader\", \"rows\": %llu, \"cols\": %llu, "
                 "\"nnz\": %llu, \"text_bytes\": %llu, \"compression\": "
                 "\"%s\", \"floor_ms\": %.2f, \"load\": %.2f, "
                 "\"memory_ratio\": %.3f, \"threads\": [",
                 (unsigned long long)f->summary.rows,
                 (unsigned long long)f->summary.cols,
                 (unsigned long long)f->summary.nnz,
                 (unsigned long long)f->summary.text_bytes,
                 f->summary.compression, f->floor_ms, f->load, f->memory_ratio);
    for (uint32_t w = 0; w < f->widths; w++)
        (void)printf("%s{\"threads\": %u, \"ms\": %.2f, \"mb_per_s\": %.1f, "
                     "\"mb_per_cpu_s\": %.1f}",
                     w > 0 ? ", " : "", f->threads[w], f->ms[w],
                     speed(f, f->ms[w]), speed(f, f->cpu_ms[w]));
    (void)printf("]}\n");
}

int main(int argc, char **argv)
{
    figures f = {0};
    bool json = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else
            f.path = argv[i];
    if (f.path == NULL) {
        (void)fprintf(stderr, "usage: bench_reader FILE [--json]\n");
        return 2;
    }
    if (!measure(&f))
        return 1;
    /* With --json, stdout has only JSON. */
    print_table(&f, json ? stderr : stdout);
    if (json)
        print_json(&f);
    return 0;
}
