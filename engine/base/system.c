/* See system.h. Owns nothing. */
#include "engine/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

bool sti_random_bytes(void *to, size_t size)
{
    return getentropy(to, size) == 0;
}

#ifdef __linux__

int sti_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

int sti_accept(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

bool sti_pipe(int ends[2])
{
    return pipe2(ends, O_CLOEXEC) == 0;
}

#else

/* A program that another thread starts just before inherits the descriptor. */
static int keep_private(int fd)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static int set_up_socket(int fd)
{
#ifdef SO_NOSIGPIPE
    const int on = 1;
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return keep_private(fd);
}

int sti_socket(int family)
{
    return set_up_socket(socket(family, SOCK_STREAM, 0));
}

int sti_accept(int listener)
{
    return set_up_socket(accept(listener, NULL, NULL));
}

bool sti_pipe(int ends[2])
{
    if (pipe(ends) != 0)
        return false;
    (void)keep_private(ends[0]);
    (void)keep_private(ends[1]);
    return true;
}

#endif

bool sti_bell_open(sti_bell *bell)
{
    if (!sti_pipe(bell->ends)) {
        *bell = (sti_bell){{-1, -1}};
        return false;
    }
    for (int k = 0; k < 2; k++)
        (void)fcntl(bell->ends[k], F_SETFL,
                    fcntl(bell->ends[k], F_GETFL) | O_NONBLOCK);
    return true;
}

void sti_bell_ring(const sti_bell *bell)
{
    const ssize_t n = write(bell->ends[1], "", 1);
    (void)n; /* full: the thread wakes anyway */
}

void sti_bell_silence(const sti_bell *bell)
{
    char rings[64];
    while (read(bell->ends[0], rings, sizeof rings) == (ssize_t)sizeof rings)
        ;
}

void sti_bell_close(sti_bell *bell)
{
    for (int k = 0; k < 2; k++)
        if (bell->ends[k] >= 0)
            (void)close(bell->ends[k]);
    *bell = (sti_bell){{-1, -1}};
}
