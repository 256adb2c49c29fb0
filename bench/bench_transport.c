/* The cost of one hop: the round trip of a 64-byte message and the one-way
 * throughput of 64 KB and 1 MB messages, over tcp loopback and ipc, for raw
 * sockets (the floor) and the engine's links (frames with checksums over plain
 * sockets; TLS with a token, and with certificates). docs/wire-format.md has
 * the conclusions.
 *
 *   bench_transport [--rounds N] [--json] [--ws]
 *
 * --ws measures links over WebSocket as well, which needs nng.
 *
 * Each case runs in two fresh processes, as nodes do, the cases alternate, and
 * each cell is the median of the rounds. Owns nothing beyond main: a case's
 * processes end with it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/measuring.h"
#include "bench/transport.h"

static const method *const methods[] = {&transport_raw, &transport_link,
                                        &transport_link_token,
                                        &transport_link_tls,
                                        /* with --ws: */
                                        &transport_link_web,
                                        &transport_link_web_token};
enum {
    METHODS = sizeof methods / sizeof *methods,
    WEB_METHODS = 2,
    ROUNDS_MAX = 99
};

static size_t method_count = METHODS - WEB_METHODS;

static pid_t start(void (*side)(const method *, const char *, const int[2]),
                   const method *m, const char *path, const int pipes[2])
{
    (void)fflush(stdout);
    pid_t pid = fork();
    transport_must(pid >= 0, "fork");
    if (pid == 0) {
        side(m, path, pipes);
        _exit(0);
    }
    return pid;
}

static void server_side(const method *m, const char *path, const int port[2])
{
    channel c = {0};
    char *buffer = calloc(1, transport_bulk_bytes[1]);
    transport_must(buffer != NULL, "memory");
    m->serve(&c, path, port[1]);
    m->answer(&c, buffer);
}

static int case_result[2];

static void client_side(const method *m, const char *path, const int port[2])
{
    channel c = {0};
    double figures[FIGURES];
    int number = 0;
    char *buffer = calloc(1, transport_bulk_bytes[1]);
    transport_must(buffer != NULL, "memory");
    transport_must(read(port[0], &number, sizeof number) == sizeof number,
                   "port");
    m->dial(&c, path, number);
    m->ask(&c, buffer, figures);
    figures[CONNECTS] = c.connects;
    transport_must(write(case_result[1], figures, sizeof figures) ==
                       sizeof figures,
                   "result");
}

static void run_case(const method *m, bool ipc, double figures[FIGURES])
{
    int port[2], status = 0;
    char folder[] = "/tmp/bench-transport-XXXXXX", path[64];
    transport_must(mkdtemp(folder) != NULL, "mkdtemp");
    (void)snprintf(path, sizeof path, "%s/s", folder);
    transport_must(pipe(port) == 0 && pipe(case_result) == 0, "pipe");
    pid_t server = start(server_side, m, ipc ? path : NULL, port);
    transport_server = server;
    pid_t client = start(client_side, m, ipc ? path : NULL, port);
    close(port[0]);
    close(port[1]);
    close(case_result[1]);
    ssize_t n = read(case_result[0], figures, FIGURES * sizeof *figures);
    transport_must(n == (ssize_t)(FIGURES * sizeof *figures), "a case");
    close(case_result[0]);
    transport_must(waitpid(client, &status, 0) == client && status == 0,
                   "the client");
    kill(server, SIGKILL);
    waitpid(server, &status, 0);
    unlink(path);
    rmdir(folder);
}

static double seen[METHODS][2][FIGURES][ROUNDS_MAX];

static void measure(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (size_t m = 0; m < method_count; m++)
            for (int ipc = 0; ipc < (methods[m]->tcp_alone ? 1 : 2); ipc++) {
                double figures[FIGURES];
                run_case(methods[m], ipc != 0, figures);
                for (int f = 0; f < FIGURES; f++)
                    seen[m][ipc][f][round] = figures[f];
            }
}

static void print_results(int rounds, bool json)
{
    double load = 0;
    (void)getloadavg(&load, 1);
    if (!json)
        printf("medians of %d rounds, load %.2f\n"
               "%-12s %-4s %12s %12s %12s %12s %12s\n",
               rounds, load, "transport", "over", "64 B us", "64 KB GB/s",
               "1 MB GB/s", "64K CPU s/GB", "connect ms");
    for (int ipc = 0; ipc < 2; ipc++)
        for (size_t m = 0; m < method_count; m++) {
            double at[FIGURES];
            if (ipc && methods[m]->tcp_alone)
                continue;
            for (int f = 0; f < FIGURES; f++)
                at[f] = bench_median(seen[m][ipc][f], (size_t)rounds);
            printf(json ? "{\"bench\": \"transport\", \"transport\": \"%s\", "
                          "\"over\": \"%s\", \"round_trip_us\": %.2f, "
                          "\"gb_s_64k\": %.3f, \"gb_s_1m\": %.3f, "
                          "\"cpu_s_gb_64k\": %.3f, \"connect_ms\": %.3f}\n"
                        : "%-12s %-4s %12.1f %12.2f %12.2f %12.2f %12.2f\n",
                   methods[m]->name, ipc ? "ipc" : "tcp", at[0], at[1], at[2],
                   at[3], at[4]);
        }
}

int main(int argc, char **argv)
{
    int rounds = 5;
    bool json = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--ws") == 0)
            method_count = METHODS;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            rounds = atoi(argv[++i]);
    if (rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "bench_transport: --rounds takes 1 to 99\n");
        return 2;
    }
    char folder[] = "/tmp/bench-transport-XXXXXX", path[64];
    transport_must(mkdtemp(folder) != NULL, "mkdtemp");
    transport_make_certificate(folder);
    measure(rounds);
    (void)snprintf(path, sizeof path, "%s/cert", folder);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/key", folder);
    (void)unlink(path);
    (void)rmdir(folder);
    print_results(rounds, json);
    return 0;
}
