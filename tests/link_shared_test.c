/* Payloads that go from process to process through memory: that they arrive as
 * over a socket, when they do not go that way, and what a peer gains that tells
 * of places without right. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/net/link_state.h"
#include "engine/net/mesh_state.h"
#include "link_node.h"

enum { SIZE = 300000, MACHINE = 77, FEW = 200 };

static const sti_net_options on_machine = {.machine = MACHINE};

/* One end listens, the other one dials. */
static link_node listens, dials;
static sti_link link_of_dials;

static void open_two(const sti_net_options *one, const sti_net_options *other)
{
    link_node_open(&listens, 0, NULL, one);
    link_node_open(&dials, 1, "", other);
    link_of_dials = link_node_join(&dials, &listens);
}

static void close_two(void)
{
    cr_expect_eq(link_node_close(&dials), STRADS_OK);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

static unsigned char byte_at(uint64_t round, size_t k)
{
    return (unsigned char)((k + round) * 2654435761u >> 13);
}

/* Bytes that depend on the round, in two parts. */
static void send_bytes(link_node *from, sti_link link, uint64_t round,
                       size_t size)
{
    unsigned char *bytes = malloc(size);
    cr_assert_not_null(bytes);
    for (size_t k = 0; k < size; k++)
        bytes[k] = byte_at(round, k);
    const sti_outgoing frame = {
        .header = {.kind = KIND_DATA, .from = from->id, .round = round},
        .parts = {{bytes, size / 2}, {bytes + size / 2, size - size / 2}},
        .part_count = 2,
        .wait_ns = UINT64_C(10000000000)};
    cr_assert_eq(sti_net_send(from->net, link, &frame), STRADS_OK, "%s",
                 strads_error_text());
    free(bytes);
}

static void expect_bytes(const sti_frame *frame, size_t size)
{
    cr_assert_eq(frame->header.size, size);
    for (size_t k = 0; k < size; k++)
        cr_assert_eq(frame->payload[k], byte_at(frame->header.round, k));
}

/* A frame that has arrived; did its payload come through memory? */
static bool goes_shared(link_node *from, sti_link link, link_node *to,
                        size_t size)
{
    const uint64_t n = to->received + 1;
    send_bytes(from, link, n, size);
    link_node_wait(to, &to->received, n);
    expect_bytes(to->last, size);
    return to->last->header.shared;
}

/* The first ones go before the peer has answered. */
static void expect_shared_soon(link_node *from, sti_link link, link_node *to)
{
    int n = 0;
    while (n < FEW && !goes_shared(from, link, to, SIZE))
        n++;
    cr_assert_lt(n, FEW, "none is shared");
}

static void expect_never_shared(void)
{
    for (int n = 0; n < FEW; n++)
        cr_assert_not(goes_shared(&dials, link_of_dials, &listens, SIZE));
}

TestSuite(link_shared, .timeout = 60);

Test(link_shared, large_payloads_go_through_memory_each_way)
{
    open_two(NULL, NULL);
    expect_shared_soon(&dials, link_of_dials, &listens);
    expect_shared_soon(&listens, listens.links[1], &dials);
    for (size_t size = 1 << 14; size <= STI_SHARED_RING_BYTES; size *= 2) {
        cr_expect(goes_shared(&dials, link_of_dials, &listens, size));
        cr_expect(goes_shared(&listens, listens.links[1], &dials, size));
    }
    cr_expect_not(goes_shared(&dials, link_of_dials, &listens, 16383));
    cr_expect_not(goes_shared(&dials, link_of_dials, &listens,
                              STI_SHARED_RING_BYTES + 1));
    cr_expect(goes_shared(&dials, link_of_dials, &listens, SIZE));
    close_two();
}

Test(link_shared, frames_keep_their_order_whichever_way_they_go)
{
    enum { FRAMES = 3000 };
    static const size_t sizes[] = {100, SIZE, 20000, 0, 5000, 100000, SIZE};
    open_two(NULL, NULL);
    expect_shared_soon(&dials, link_of_dials, &listens);
    const uint64_t before = listens.received;
    listens.in_turn = true;
    listens.next_round[1] = 0;
    for (uint64_t k = 0; k < FRAMES; k++)
        send_bytes(&dials, link_of_dials, k, sizes[k % 7]);
    link_node_wait(&listens, &listens.received, before + FRAMES);
    cr_expect_eq(listens.out_of_turn, 0);
    close_two();
}

/* What has no room there waits in the link's queue, as over a socket. */
Test(link_shared, who_does_not_read_holds_up_nobody)
{
    enum { FRAMES = 60 };
    open_two(NULL, NULL);
    expect_shared_soon(&dials, link_of_dials, &listens);
    const uint64_t before = listens.received;
    listens.in_turn = true;
    listens.next_round[1] = 0;
    link_node_block(&listens, true);
    for (uint64_t k = 0; k < FRAMES; k++)
        send_bytes(&dials, link_of_dials, k, SIZE);
    link_node_block(&listens, false);
    link_node_wait(&listens, &listens.received, before + FRAMES);
    cr_expect_eq(listens.out_of_turn, 0);
    expect_bytes(listens.last, SIZE);
    close_two();
}

static void note_sent(void *arg)
{
    ++*(int *)arg;
}

Test(link_shared, what_was_borrowed_is_given_back_at_once)
{
    static unsigned char bytes[SIZE];
    int calls = 0;
    open_two(NULL, NULL);
    expect_shared_soon(&dials, link_of_dials, &listens);
    const uint64_t n = listens.received + 1;
    const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                .parts = {{bytes, SIZE}},
                                .part_count = 1,
                                .sent = note_sent,
                                .sent_arg = &calls};
    cr_assert_eq(sti_net_send(dials.net, link_of_dials, &frame), STRADS_OK);
    cr_expect_eq(calls, 1);
    link_node_wait(&listens, &listens.received, n);
    cr_expect(listens.last->header.shared);
    close_two();
}

Test(link_shared, its_bytes_are_counted_as_any_others)
{
    sti_net_counts before, after;
    open_two(NULL, NULL);
    expect_shared_soon(&dials, link_of_dials, &listens);
    sti_net_count(listens.net, &before);
    for (int k = 0; k < 10; k++)
        cr_assert(goes_shared(&dials, link_of_dials, &listens, SIZE));
    sti_net_count(listens.net, &after);
    cr_expect_geq(after.bytes_received - before.bytes_received, 10 * SIZE);
    sti_net_count(dials.net, &after);
    cr_expect_geq(after.bytes_sent, 10 * SIZE);
    close_two();
}

/* ---- where somebody wants it ------------------------------------------- */

static sti_berth berth;
static unsigned char wanted[SIZE];
static bool leaves;

static sti_berthing want_rest(void *arg, sti_link link, const sti_frame *frame,
                              uint64_t n)
{
    sti_berthing none = {0}, b = {.berth = &berth, .from = 100};
    const struct iovec at[2] = {{wanted + SIZE / 2, SIZE / 2},
                                {wanted, SIZE / 2 - 100}};
    (void)arg, (void)link;
    if (n < 100 || frame->header.size != SIZE ||
        !sti_berth_take(&berth, at, 2, &b.turn))
        return none;
    if (leaves)
        sti_berth_leave(&berth, b.turn);
    return b;
}

static void expect_at_berth(void)
{
    const uint64_t round = listens.last->header.round;
    cr_expect_eq(listens.last->here, 100);
    for (size_t k = 0; k < SIZE / 2; k++)
        cr_assert_eq(wanted[SIZE / 2 + k], byte_at(round, 100 + k));
    for (size_t k = 0; k < SIZE / 2 - 100; k++)
        cr_assert_eq(wanted[k], byte_at(round, 100 + SIZE / 2 + k));
}

Test(link_shared, a_payload_comes_to_where_it_is_wanted)
{
    const sti_net_options options = {.events = {.berth = want_rest}};
    sti_berth_init(&berth);
    open_two(&options, NULL);
    bool shared = false;
    for (uint64_t n = 1; n < FEW && !shared; n++) {
        send_bytes(&dials, link_of_dials, n, SIZE);
        link_node_wait(&listens, &listens.received, n);
        expect_at_berth();
        shared = listens.last->header.shared;
    }
    cr_assert(shared);
    leaves = true;
    const uint64_t n = listens.received + 1;
    send_bytes(&dials, link_of_dials, n, SIZE);
    link_node_wait(&listens, &listens.received, n);
    cr_expect(listens.last->lost);
    leaves = false;
    send_bytes(&dials, link_of_dials, n + 1, SIZE);
    link_node_wait(&listens, &listens.received, n + 1);
    expect_at_berth();
    close_two();
    sti_berth_destroy(&berth);
}

/* ---- when they do not go that way -------------------------------------- */

static void send_few(link_node *child, sti_link link)
{
    for (uint64_t k = 0; k < FEW; k++) {
        send_bytes(child, link, k, SIZE);
        (void)usleep(1000);
    }
}

Test(link_shared, two_processes_share_memory)
{
    const link_far far = link_node_fork(send_few);
    link_node_open(&listens, 0, NULL, NULL);
    link_node_tell(&far, &listens);
    link_node_wait(&listens, &listens.received, FEW);
    cr_expect(listens.last->header.shared);
    expect_bytes(listens.last, SIZE);
    cr_expect(link_node_ended_well(&far));
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

Test(link_shared, either_end_can_do_without)
{
    const sti_net_options no = {.machine = MACHINE, .sockets_alone = true};
    const sti_net_options checks = {.machine = MACHINE, .checks_all = true};
    const sti_net_options far = {.machine = MACHINE + 1};
    const sti_net_options *other[] = {&no, &checks, &far};
    for (int k = 0; k < 3; k++) {
        open_two(&on_machine, other[k]);
        expect_never_shared();
        close_two();
        open_two(other[k], &on_machine);
        expect_never_shared();
        close_two();
    }
}

Test(link_shared, the_environment_can_forbid_it_to_a_run)
{
    sti_mesh *mesh;
    cr_assert_eq(sti_mesh_open(NULL, NULL, &mesh), STRADS_OK);
    cr_expect_not(mesh->net->options.sockets_alone);
    sti_mesh_close(mesh, false);
    cr_assert_eq(setenv("STRADS_SHARED_MEMORY", "no", 1), 0);
    cr_assert_eq(sti_mesh_open(NULL, NULL, &mesh), STRADS_OK);
    cr_expect(mesh->net->options.sockets_alone);
    sti_mesh_close(mesh, false);
}

/* Nobody can fill a process's memory with rings. */
Test(link_shared, a_process_has_64_at_most)
{
    open_two(NULL, NULL);
    listens.net->rings = 64;
    expect_never_shared();
    cr_expect_eq(dials.net->rings, 1, "its offer was declined");
    link_node_close(&dials);
    listens.net->rings = 0;
    link_node_close(&listens);

    open_two(NULL, NULL);
    dials.net->rings = 64;
    expect_never_shared();
    dials.net->rings = 0;
    expect_shared_soon(&listens, listens.links[1], &dials);
    cr_expect_eq(dials.net->rings, 1);
    close_two();
}

/* ---- peers that tell what is not so ------------------------------------ */

static int peer_fd;

static void say(const sti_header *header)
{
    raw_frame(peer_fd, header, NULL);
}

static sti_header header_of(uint16_t kind, uint64_t size)
{
    sti_header h = raw_header(kind, 5, size);
    h.near = true;
    h.checksum = 0;
    return h;
}

static void peer_joins(uint64_t machine)
{
    link_node_open(&listens, 0, NULL, &on_machine);
    peer_fd = raw_join(sti_net_url(listens.net), machine);
}

static void expect_lost(const char *word)
{
    link_node_wait_lost(&listens, 1);
    cr_expect_eq(listens.why, STRADS_EPEER, "%s", listens.text);
    cr_expect_not_null(strstr(listens.text, word), "%s", listens.text);
    cr_expect_eq(listens.received, 0);
    (void)close(peer_fd);
    cr_expect_eq(link_node_close(&listens), STRADS_OK);
}

static sti_shared_ring *ring;

static sti_header offer_of_ring(void)
{
    sti_shared_ring_offer what;
    ring = sti_shared_ring_make(&what);
    cr_assert_not_null(ring);
    sti_header h = header_of(STI_KIND_OFFER, 0);
    h.index = what.process;
    h.round = what.descriptor;
    h.tag = what.mark;
    return h;
}

/* It has opened the ring; tells then of `size` bytes at `place`. */
static void expect_nothing_there(uint16_t kind, uint64_t place, uint64_t size)
{
    peer_joins(MACHINE);
    const sti_header offer = offer_of_ring();
    say(&offer);
    raw_wait_frame(peer_fd);
    sti_header h = header_of(kind, size);
    h.shared = true;
    h.checksum = place;
    say(&h);
    expect_lost("that cannot be there");
    sti_shared_ring_free(ring);
}

Test(link_shared, a_payload_that_cannot_be_there_ends_the_link)
{
    expect_nothing_there(KIND_DATA, 8, SIZE);
    expect_nothing_there(KIND_DATA, 0, STI_SHARED_RING_BYTES + 1);
    expect_nothing_there(KIND_DATA, STI_SHARED_RING_BYTES - 64, SIZE);
    expect_nothing_there(KIND_DATA, UINT64_MAX - 63, SIZE);
    expect_nothing_there(KIND_DATA, 0, 100);
}

Test(link_shared, a_payload_in_a_ring_that_nobody_offered_ends_the_link)
{
    peer_joins(MACHINE);
    sti_header h = header_of(KIND_DATA, SIZE);
    h.shared = true;
    say(&h);
    expect_lost("that cannot be there");
}

Test(link_shared, a_ring_is_offered_once_and_only_where_that_is_agreed_on)
{
    peer_joins(MACHINE);
    const sti_header offer = offer_of_ring();
    say(&offer);
    raw_wait_frame(peer_fd);
    say(&offer);
    expect_lost("a second time");
    sti_shared_ring_free(ring);

    peer_joins(MACHINE + 1);
    sti_header far = offer_of_ring();
    far.near = false;
    say(&far);
    expect_lost("not agreed on");
    sti_shared_ring_free(ring);
}

Test(link_shared, an_answer_to_nothing_ends_the_link)
{
    peer_joins(MACHINE);
    const sti_header answer = header_of(STI_KIND_ANSWER, 0);
    say(&answer);
    expect_lost("nobody made");
}

/* Another container's process number, say. */
Test(link_shared, an_offer_that_opens_nothing_is_declined_and_the_link_goes_on)
{
    unsigned char bytes[STI_HEADER_BYTES];
    sti_header answer;
    peer_joins(MACHINE);
    sti_header offer = offer_of_ring();
    offer.tag++;
    say(&offer);
    cr_assert_eq(recv(peer_fd, bytes, sizeof bytes, MSG_WAITALL),
                 STI_HEADER_BYTES);
    cr_assert_eq(sti_frame_decode_header(bytes, 0, &answer), STRADS_OK);
    cr_expect_eq(answer.kind, STI_KIND_ANSWER);
    cr_expect_eq(answer.tag, 0);
    const sti_header data = header_of(KIND_DATA, 0);
    say(&data);
    link_node_wait(&listens, &listens.received, 1);
    (void)close(peer_fd);
    (void)link_node_close(&listens); /* the peer has said no goodbye */
    sti_shared_ring_free(ring);
}
