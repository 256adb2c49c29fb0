/* What all transports share: what is sent, and how it is asked and answered
 * where calls block. */
#include "bench/transport.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/measuring.h"

const size_t transport_bulk_bytes[2] = {65536, 1048576};
const int transport_bulk_count[2] = {4000, 400};

void transport_must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "bench_transport: %s failed (errno %d)\n", what, errno);
        _exit(1);
    }
}

void transport_tell_port(int tell, int port)
{
    transport_must(write(tell, &port, sizeof port) == sizeof port,
                   "telling the port");
}

void transport_make_url(char url[160], const char *path, int port)
{
    if (path != NULL)
        (void)snprintf(url, 160, "ipc://%s", path);
    else
        (void)snprintf(url, 160, "tcp://127.0.0.1:%d", port);
}

void transport_answer(const method *m, channel *c, char *buffer)
{
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        m->recv(c, buffer, PING_BYTES);
        m->send(c, buffer, PING_BYTES);
    }
    for (int size = 0; size < 2; size++) {
        for (int i = 0; i < transport_bulk_count[size]; i++)
            m->recv(c, buffer, transport_bulk_bytes[size]);
        m->send(c, buffer, PING_BYTES);
    }
    m->recv(c, buffer, PING_BYTES); /* the other side has what it waited for */
}

void transport_ask(const method *m, channel *c, char *buffer, double *figures)
{
    double samples[PINGS];
    for (int i = 0; i < PINGS + WARM_UP; i++) {
        double start = bench_wall();
        m->send(c, buffer, PING_BYTES);
        m->recv(c, buffer, PING_BYTES);
        samples[i < WARM_UP ? 0 : i - WARM_UP] = bench_wall() - start;
    }
    figures[0] = 1e6 * bench_median(samples, PINGS);
    for (int size = 0; size < 2; size++) {
        double start = bench_wall();
        for (int i = 0; i < transport_bulk_count[size]; i++)
            m->send(c, buffer, transport_bulk_bytes[size]);
        m->recv(c, buffer, PING_BYTES);
        figures[1 + size] = 1e-9 * (double)transport_bulk_bytes[size] *
                            transport_bulk_count[size] / (bench_wall() - start);
    }
    m->send(c, buffer, PING_BYTES);
}
