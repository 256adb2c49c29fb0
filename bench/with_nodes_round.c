/* What a round between two processes costs when it computes nothing: two nodes
 * of one worker over URL, each run in fresh processes. Prints the median in
 * microseconds a round.
 *
 *     with_nodes_round URL ROUNDS RUNS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/empty_program.h"

enum { RUNS_MAX = 99, URL_MAX = 256 };

/* The coordinator's address is sent through one pipe, its measurements
 * through the other. */
typedef struct pipes {
    int url[2], figure[2];
} pipes;

static const strads_program *find(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, empty_program.name) == 0 ? &empty_program : NULL;
}

static strads_err take_part(strads_engine *engine, strads_result **result)
{
    strads_data_options options = {.size = sizeof options};
    strads_err err = strads_engine_keep(engine, &options);
    strads_data *data = err ? NULL : empty_data(&options);
    if (!err)
        err = data ? strads_engine_run(engine, data, result)
                   : strads_fail(STRADS_ENOMEM, "no memory for the data");
    strads_data_free(data);
    return err;
}

static int finish(strads_err err, strads_engine *engine, strads_result *result)
{
    if (err)
        fprintf(stderr, "with_nodes_round: %s\n", strads_error_text());
    strads_result_free(result);
    strads_engine_free(engine);
    return err ? 1 : 0;
}

static int coordinate(const pipes *p, const char *listen, uint64_t rounds)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = 1,
                                           .policy = "cyclic",
                                           .deterministic = true,
                                           .max_rounds = rounds,
                                           .listen = listen,
                                           .nodes = 2};
    char url[URL_MAX] = {0};
    strads_engine *engine = NULL;
    strads_result *result = NULL;
    strads_err err =
        strads_engine_listen(&empty_program, NULL, &options, &engine);
    if (err)
        return finish(err, engine, result);
    snprintf(url, sizeof url, "%s", strads_engine_url(engine));
    if (write(p->url[1], url, sizeof url) != sizeof url)
        return finish(STRADS_EIO, engine, result);
    err = take_part(engine, &result);
    if (!err) {
        const strads_progress *end = strads_result_progress(result);
        const double us = 1e6 * end->seconds / (double)end->round;
        if (write(p->figure[1], &us, sizeof us) != sizeof us)
            err = STRADS_EIO;
    }
    return finish(err, engine, result);
}

static int join(const pipes *p)
{
    const strads_join_options options = {.size = sizeof options,
                                         .workers = 1,
                                         .find = find};
    char url[URL_MAX];
    strads_engine *engine = NULL;
    strads_result *none = NULL;
    if (read(p->url[0], url, sizeof url) != sizeof url)
        return 1;
    strads_err err = strads_engine_join(url, &options, &engine);
    if (!err)
        err = take_part(engine, &none);
    return finish(err, engine, none);
}

/* Microseconds a round; negative when a process failed. */
static double run_pair(const char *listen, uint64_t rounds)
{
    pipes p;
    double us = -1;
    if (pipe(p.url) || pipe(p.figure))
        return -1;
    const pid_t first = fork();
    if (first == 0)
        _exit(coordinate(&p, listen, rounds));
    const pid_t second = fork();
    if (second == 0) {
        close(p.url[1]);
        _exit(join(&p));
    }
    close(p.url[0]);
    close(p.url[1]);
    close(p.figure[1]);
    if (read(p.figure[0], &us, sizeof us) != sizeof us)
        us = -1;
    close(p.figure[0]);
    (void)waitpid(first, NULL, 0);
    (void)waitpid(second, NULL, 0);
    return us;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    double us[RUNS_MAX];
    const int runs = argc == 4 ? atoi(argv[3]) : 0;
    const uint64_t rounds = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
    if (runs < 1 || runs > RUNS_MAX || rounds == 0) {
        fprintf(stderr, "with_nodes_round: URL ROUNDS RUNS\n");
        return 2;
    }
    for (int k = 0; k < runs; k++) {
        us[k] = run_pair(argv[1], rounds);
        if (us[k] < 0)
            return 1;
    }
    qsort(us, (size_t)runs, sizeof *us, by_value);
    printf("%.3f\n", us[runs / 2]);
    return 0;
}
