/* watch_feed PAGE LINES: serves a page with made-up events of a long run
 * until its standard input ends. Prints its address first. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/watch/watch.h"

static void stop(void *arg)
{
    (void)arg;
}

static char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "re");
    char *text = malloc(1 << 20);
    *size = file && text ? fread(text, 1, 1 << 20, file) : 0;
    if (file)
        (void)fclose(file);
    return text;
}

int main(int argc, char **argv)
{
    char line[512];
    sti_watch_options options = {.address = "127.0.0.1:0", .stop = stop};
    sti_watch *watch = NULL;
    if (argc != 3)
        return 2;
    char *page = read_all(argv[1], &options.page_size);
    options.page = page;
    if (sti_watch_open(&options, &watch)) {
        (void)fprintf(stderr, "%s\n", strads_error_text());
        return 1;
    }
    int n = snprintf(line, sizeof line,
                     "{\"event\": \"start\", \"program\": \"toy\", \"data\": "
                     "\"made up\", \"rows\": 1, \"columns\": 1, \"entries\": "
                     "1, \"workers\": 2, \"partitions\": 2, \"nodes\": 1, "
                     "\"seed\": 0, \"options\": {}, \"host\": \"here\", "
                     "\"time\": \"2026-01-01T00:00:00.000Z\"}");
    sti_watch_publish(watch, line, (size_t)n, false);
    const uint64_t lines = strtoull(argv[2], NULL, 10);
    for (uint64_t k = 1; k <= lines; k++) {
        const double t = 0.01 * (double)k;
        n = snprintf(line, sizeof line,
                     "{\"event\": \"round\", \"round\": %" PRIu64
                     ", \"seconds\": %.2f, \"objective\": %.9g, \"gap\": %.3g, "
                     "\"nonzeros\": 3, \"blocks\": 1, \"updates_policy\": "
                     "%" PRIu64
                     ", \"updates_other\": 0, \"bytes_sent\": %" PRIu64
                     ", \"bytes_received\": 5, \"in_flight\": 2, "
                     "\"worker_computing\": [%.4g, %.4g], \"worker_waiting\": "
                     "[%.4g, %.4g], \"priorities\": [0, 1, %" PRIu64 "]}",
                     k, t, 1 + exp(-t / 50), exp(-t / 50), 10 * k, 100 * k,
                     0.9 * t, 0.7 * t, 0.1 * t, 0.3 * t, k);
        sti_watch_publish(watch, line, (size_t)n, true);
    }
    (void)printf("%s\n", sti_watch_url(watch));
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
    sti_watch_close(watch);
    free(page);
    return 0;
}
