/* Links that stay in one machine. What goes from one process to another through
 * the memory of one kernel passes no wire that could damage it, and hashing it
 * at both ends costs a third of moving it; so large messages go bare there.
 *
 * Whoever dials a loopback or ipc address offers that: its HELLO's tag is the
 * kernel's mark of this boot. Who has accepted takes the offer if the mark is
 * its own and the peer came from such an address, and says so in each header
 * from then on; who has dialled says so, too, once it has read one. So both
 * ends have seen the same: a forwarder in between, to another machine (another
 * mark) or to another network of this one (another address), gets checksums.
 *
 * Invariant: a frame that says `near` is taken only where this end agrees. */
#include <fcntl.h>
#include <unistd.h>

#include <xxhash.h>

#include "engine/net/link_state.h"

uint64_t sti_near_machine(void)
{
    char boot[64];
    const int fd =
        open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    const ssize_t n = read(fd, boot, sizeof boot);
    (void)close(fd);
    return n > 0 ? XXH3_64bits(boot, (size_t)n) : 0;
}

void sti_conn_look_near(sti_conn *conn)
{
    atomic_init(&conn->near, false);
    if (sti_socket_is_local(conn->fd))
        conn->machine = conn->net->options.machine;
}

void sti_conn_say_near(const sti_conn *conn, sti_header *header)
{
    if (header->kind == STI_KIND_HELLO)
        header->tag = conn->machine;
    else
        header->near = atomic_load_explicit(&conn->near, memory_order_relaxed);
}

strads_err sti_conn_hear_near(sti_conn *conn, const sti_header *header)
{
    if (header->near && (conn->dialled ? conn->machine == 0 : !conn->near))
        return strads_fail(STRADS_EPEER,
                           "the peer leaves out checksums as if it were on "
                           "this machine, which was not agreed on");
    if (conn->dialled ? header->near
                      : header->kind == STI_KIND_HELLO && conn->machine != 0 &&
                            header->tag == conn->machine)
        atomic_store_explicit(&conn->near, true, memory_order_relaxed);
    return STRADS_OK;
}
