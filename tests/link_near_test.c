/* Links between two ends of one machine, whose large payloads need no
 * checksums: when both agree on that, when they do not, and what a peer gains
 * that claims it without right. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/link_state.h"
#include "engine/net/mesh_state.h"
#include "link_node.h"

enum { LARGE = STI_BARE_ABOVE + 1, MACHINE = 77 };

static const sti_net_options on_machine = {.machine = MACHINE};

/* One end listens on `url`, the other one dials. */
static link_node listens, dials;
static sti_link link_of_dials;

static void open_two(const char *url, const sti_net_options *one,
                     const sti_net_options *other)
{
    link_node_open(&listens, 0, url, one);
    link_node_open(&dials, 1, "", other);
    link_of_dials = link_node_join(&dials, &listens);
}

static void close_two(void)
{
    cr_expect_eq(link_node_close(&dials), STRADS_OK);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

/* Of a frame each way of so many zeros. */
static void expect_bare(uint64_t size, bool bare)
{
    const uint64_t n = listens.received + 1;
    cr_assert_eq(link_node_send(&dials, link_of_dials, 0, size), STRADS_OK);
    cr_assert_eq(link_node_send(&listens, listens.links[1], 0, size),
                 STRADS_OK);
    link_node *ends[] = {&listens, &dials};
    for (int k = 0; k < 2; k++) {
        link_node_wait(ends[k], &ends[k]->received, n);
        const sti_header *h = &ends[k]->last->header;
        cr_expect_eq(sti_frame_is_bare(h), bare, "end %d, %d bytes", k,
                     (int)size);
        cr_expect_eq(h->checksum == 0, bare, "end %d, %d bytes", k, (int)size);
    }
}

TestSuite(link_near, .timeout = 60);

Test(link_near, large_messages_of_one_machine_are_bare_and_small_ones_are_not)
{
    open_two(NULL, NULL, NULL);
    expect_bare(LARGE, true);
    expect_bare(STI_BARE_ABOVE, false);
    expect_bare(1, false);
    close_two();
}

static void send_large(link_node *child, sti_link link)
{
    (void)link_node_send(child, link, 0, LARGE);
}

Test(link_near, two_processes_are_one_machine)
{
    const link_far far = link_node_fork(send_large);
    link_node_open(&listens, 0, NULL, NULL);
    link_node_tell(&far, &listens);
    link_node_wait(&listens, &listens.received, 1);
    cr_expect(sti_frame_is_bare(&listens.last->header));
    cr_expect(link_node_ended_well(&far));
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

Test(link_near, they_are_over_ipc_too)
{
    char folder[] = "/tmp/strads-near-XXXXXX", url[64];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(url, sizeof url, "ipc://%s/end", folder);
    open_two(url, NULL, NULL);
    expect_bare(LARGE, true);
    close_two();
    (void)rmdir(folder);
}

Test(link_near, another_machine_has_checksums_also_behind_a_loopback_address)
{
    const sti_net_options other = {.machine = MACHINE + 1};
    open_two(NULL, &on_machine, &other);
    expect_bare(LARGE, false);
    close_two();
}

Test(link_near, either_end_can_ask_for_all_checksums)
{
    const sti_net_options all = {.machine = MACHINE, .checks_all = true};
    open_two(NULL, &on_machine, &all);
    expect_bare(LARGE, false);
    close_two();
    open_two(NULL, &all, &on_machine);
    expect_bare(LARGE, false);
    close_two();
}

/* An address of a network of this machine; false: it has none. */
static bool find_address(char host[INET_ADDRSTRLEN])
{
    struct sockaddr_in far = {.sin_family = AF_INET, .sin_port = htons(9)};
    struct sockaddr_in at = {0};
    socklen_t size = sizeof at;
    (void)inet_pton(AF_INET, "192.0.2.1", &far.sin_addr); /* nothing is sent */
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const bool found = connect(fd, (void *)&far, sizeof far) == 0 &&
                       getsockname(fd, (void *)&at, &size) == 0;
    (void)close(fd);
    (void)inet_ntop(AF_INET, &at.sin_addr, host, INET_ADDRSTRLEN);
    return found && ntohl(at.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

Test(link_near, an_address_of_a_network_has_checksums)
{
    char host[INET_ADDRSTRLEN], url[64];
    if (!find_address(host))
        cr_skip_test("this machine has no network");
    (void)snprintf(url, sizeof url, "tcp://%s:0", host);
    open_two(url, NULL, NULL);
    expect_bare(LARGE, false);
    close_two();
}

Test(link_near, the_environment_asks_for_all_checksums_of_a_run)
{
    sti_mesh *mesh;
    cr_assert_eq(sti_mesh_open(NULL, NULL, &mesh), STRADS_OK);
    cr_expect_neq(sti_near_machine(), 0);
    cr_expect_eq(mesh->net->options.machine, sti_near_machine());
    sti_mesh_close(mesh, false);
    cr_assert_eq(setenv("STRADS_CHECKSUMS", "all", 1), 0);
    cr_assert_eq(sti_mesh_open(NULL, NULL, &mesh), STRADS_OK);
    cr_expect_eq(mesh->net->options.machine, 0);
    sti_mesh_close(mesh, false);
}

/* ---- peers that claim what was not agreed on ---- */

static void expect_lost(const link_node *node, const char *word)
{
    cr_expect_eq(node->why, STRADS_EPEER, "%s", node->text);
    cr_expect_not_null(strstr(node->text, word), "%s", node->text);
    cr_expect_eq(node->received, 0);
}

static void expect_refused(uint64_t machine, const sti_header *header,
                           const char *word)
{
    static const char zeros[LARGE];
    link_node_open(&listens, 0, NULL, &on_machine);
    const int fd = raw_join(sti_net_url(listens.net), machine);
    raw_frame(fd, header, zeros);
    link_node_wait_lost(&listens, 1);
    expect_lost(&listens, word);
    (void)close(fd);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

Test(link_near, who_is_of_another_machine_may_not_leave_out_checksums)
{
    sti_header claims = raw_header(KIND_DATA, 5, LARGE);
    claims.near = true;
    expect_refused(0, &claims, "not agreed on");
    expect_refused(MACHINE + 1, &claims, "not agreed on");
    sti_header damaged = raw_header(KIND_DATA, 5, LARGE);
    expect_refused(0, &damaged, "damaged");
}

Test(link_near, what_is_not_bare_has_its_checksum_on_a_near_link_too)
{
    sti_header h = raw_header(KIND_DATA, 5, LARGE);
    expect_refused(MACHINE, &h, "damaged");
    h = raw_header(KIND_DATA, 5, 100);
    h.near = true;
    expect_refused(MACHINE, &h, "damaged");
    h = raw_header(KIND_DATA, 5, LARGE);
    h.near = true;
    h.checksum = 1;
    expect_refused(MACHINE, &h, "damaged");
}

Test(link_near, a_bare_frame_is_bounded_as_any_other)
{
    const sti_net_options options = {.machine = MACHINE, .frame_limit = LARGE};
    static const char zeros[LARGE];
    link_node_open(&listens, 0, NULL, &options);
    const int fd = raw_join(sti_net_url(listens.net), MACHINE);
    sti_header h = raw_header(KIND_DATA, 5, LARGE);
    h.near = true;
    raw_frame(fd, &h, zeros);
    link_node_wait(&listens, &listens.received, 1);
    unsigned char bytes[STI_HEADER_BYTES];
    h.size++;
    sti_frame_encode_header(&h, bytes);
    raw_write(fd, bytes, sizeof bytes);
    link_node_wait_lost(&listens, 1);
    cr_expect_eq(listens.why, STRADS_EPEER);
    cr_expect_not_null(strstr(listens.text, "at most 4097"), "%s",
                       listens.text);
    (void)close(fd);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

Test(link_near, who_was_dialled_may_not_take_an_offer_that_nobody_made)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const sti_net_options all = {.checks_all = true};
    sti_header welcome = raw_header(STI_KIND_WELCOME, 0, 0);
    char url[64];
    sti_link link;
    const int door = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(bind(door, (void *)&at, size) == 0 && listen(door, 1) == 0 &&
              getsockname(door, (void *)&at, &size) == 0);
    (void)snprintf(url, sizeof url, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    link_node_open(&dials, 1, "", &all);
    cr_assert_eq(sti_net_dial(dials.net, url, UINT64_C(10000000000), &link),
                 STRADS_OK);
    const int fd = accept(door, NULL, NULL);
    welcome.near = true;
    raw_frame(fd, &welcome, NULL);
    link_node_wait_lost(&dials, 1);
    expect_lost(&dials, "not agreed on");
    (void)close(fd);
    (void)close(door);
    (void)link_node_close(&dials);
}

/* ---- what is held back ------------------------------------------------- */

/* Asks for an echo, and begins a large frame behind that. */
static int ask_and_begin(uint64_t machine, const char *zeros)
{
    const sti_part part = {zeros, LARGE};
    sti_header echo = raw_header(KIND_ECHO, 5, 0);
    sti_header large = raw_header(KIND_DATA, 5, LARGE);
    unsigned char bytes[2 * STI_HEADER_BYTES];
    echo.tag = 5;
    large.near = machine == MACHINE;
    large.checksum = large.near ? 0 : sti_frame_checksum(&part, 1);
    sti_frame_encode_header(&echo, bytes);
    sti_frame_encode_header(&large, bytes + STI_HEADER_BYTES);
    link_node_open(&listens, 0, NULL, &on_machine);
    const int fd = raw_join(sti_net_url(listens.net), machine);
    raw_write(fd, bytes, sizeof bytes);
    return fd;
}

static void finish(int fd)
{
    link_node_wait(&listens, &listens.received, 1);
    (void)close(fd);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

Test(link_near, an_answer_waits_for_the_rest_of_a_frame_within_one_machine_only)
{
    static const char zeros[LARGE];
    int fd = ask_and_begin(MACHINE, zeros);
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    cr_expect_eq(poll(&answer, 1, 100), 0);
    raw_write(fd, zeros, LARGE);
    raw_wait_frame(fd);
    finish(fd);

    fd = ask_and_begin(MACHINE + 1, zeros);
    raw_wait_frame(fd);
    raw_write(fd, zeros, LARGE);
    finish(fd);
}

/* ---- sockets ----------------------------------------------------------- */

Test(link_near, a_link_within_one_machine_is_not_paced)
{
    open_two(NULL, NULL, NULL);
    const link_node *ends[] = {&listens, &dials};
    const sti_link links[] = {listens.links[1], link_of_dials};
    for (int k = 0; k < 2; k++) {
        char how[16] = "";
        socklen_t size = sizeof how;
        sti_conn *conn = sti_conn_acquire(ends[k]->net, links[k]);
        cr_assert_not_null(conn);
        cr_assert_eq(getsockopt(conn->fd, IPPROTO_TCP, TCP_CONGESTION, how,
                                &size),
                     0);
        cr_expect_str_eq(how, "reno");
        sti_conn_release(conn);
    }
    close_two();
}
