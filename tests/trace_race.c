/* Threads open tracks and record spans at the same time, some of them on one
 * track. No span is lost, and ThreadSanitizer reports no race. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/trace.h"

enum { THREADS = 4, TRACKS = 20, SPANS = 500 };

typedef struct recorder {
    sti_trace *trace;
    uint32_t shared;
    uint32_t node;
} recorder;

static void *record(void *from)
{
    const recorder *r = from;
    for (int t = 0; t < TRACKS; t++) {
        uint32_t own = sti_trace_track(r->trace, r->node, "own");
        for (uint64_t k = 0; k < SPANS; k++) {
            sti_trace_span(r->trace, own, "mine", k, k + 1, k);
            sti_trace_span(r->trace, r->shared, "ours", k, k + 1, k);
        }
    }
    return NULL;
}

/* The number of spans in the file: one per line. */
static size_t count_spans(const char *path)
{
    char line[1024];
    size_t spans = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        spans += strstr(line, "\"ph\":\"X\"") != NULL;
    if (file)
        fclose(file);
    return spans;
}

int main(void)
{
    char folder[] = "/tmp/strads-trace-race-XXXXXX";
    char path[64];
    sti_trace *trace = NULL;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/trace.json", folder);
    if (sti_trace_open(path, &trace)) {
        fprintf(stderr, "%s\n", strads_error_text());
        return 1;
    }
    uint32_t shared = sti_trace_track(trace, 99, "shared");
    pthread_t thread[THREADS];
    recorder recorders[THREADS];
    for (uint32_t k = 0; k < THREADS; k++) {
        recorders[k] = (recorder){trace, shared, k};
        if (pthread_create(&thread[k], NULL, record, &recorders[k]))
            return 1;
    }
    for (uint32_t k = 0; k < THREADS; k++)
        pthread_join(thread[k], NULL);
    if (sti_trace_close(trace)) {
        fprintf(stderr, "%s\n", strads_error_text());
        return 1;
    }
    size_t spans = count_spans(path), expected = 2 * THREADS * TRACKS * SPANS;
    (void)remove(path);
    (void)rmdir(folder);
    if (spans != expected)
        fprintf(stderr, "%zu spans of %zu are in the file\n", spans, expected);
    return spans != expected;
}
