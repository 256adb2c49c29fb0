/* Frames whose payload is received where somebody wants it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_node.h"

enum { HEAD = 100, PIECES = 3, SIZE = 3000000 };

static sti_berth berth;
static unsigned char *wanted; /* [SIZE - HEAD] */
static bool leaves;           /* at once */

/* In three pieces, the last one first in memory. */
static sti_berthing want_rest(void *arg, sti_link link, const sti_frame *frame,
                              uint64_t n)
{
    sti_berthing none = {0}, b = {.berth = &berth, .from = HEAD};
    const size_t third = (SIZE - HEAD) / PIECES;
    const struct iovec at[PIECES] = {
        {wanted + SIZE - HEAD - third, third},
        {wanted + third, SIZE - HEAD - 2 * third},
        {wanted, third},
    };
    (void)arg, (void)link;
    if (n < HEAD || frame->header.size != SIZE ||
        !sti_berth_take(&berth, at, PIECES, &b.turn))
        return none;
    if (leaves)
        sti_berth_leave(&berth, b.turn);
    return b;
}

static unsigned char byte_at(size_t k)
{
    return (unsigned char)(k * 2654435761u >> 13);
}

static void open_two(link_node *a, link_node *b)
{
    const sti_net_options options = {.events = {.berth = want_rest}};
    sti_berth_init(&berth);
    wanted = calloc(1, SIZE - HEAD);
    cr_assert_not_null(wanted);
    link_node_open(a, 0, NULL, &options);
    link_node_open(b, 1, "", NULL);
}

static void close_two(link_node *a, link_node *b)
{
    link_node_close(b);
    link_node_close(a);
    sti_berth_destroy(&berth);
    free(wanted);
}

static void send_bytes(link_node *from, sti_link link)
{
    unsigned char *bytes = malloc(SIZE);
    cr_assert_not_null(bytes);
    for (size_t k = 0; k < SIZE; k++)
        bytes[k] = byte_at(k);
    const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                .parts = {{bytes, SIZE}},
                                .part_count = 1};
    cr_assert_eq(sti_net_send(from->net, link, &frame), STRADS_OK);
    free(bytes);
}

static void expect_bytes(const unsigned char *bytes, size_t from, size_t n)
{
    for (size_t k = 0; k < n; k++)
        cr_assert_eq(bytes[k], byte_at(from + k), "byte %zu is %d", from + k,
                     bytes[k]);
}

TestSuite(link_berth, .timeout = 60);

Test(link_berth, a_payload_comes_to_where_it_is_wanted_again_and_again)
{
    const size_t third = (SIZE - HEAD) / PIECES;
    link_node a, b;
    open_two(&a, &b);
    sti_link link = link_node_join(&b, &a);
    for (uint64_t k = 1; k <= 3; k++) {
        memset(wanted, 0, SIZE - HEAD);
        send_bytes(&b, link);
        link_node_wait(&a, &a.received, k);
        cr_assert_eq(a.last->here, HEAD);
        cr_assert_not(a.last->lost);
        expect_bytes(a.last->payload, 0, HEAD);
        expect_bytes(wanted + SIZE - HEAD - third, HEAD, third);
        expect_bytes(wanted + third, HEAD + third, SIZE - HEAD - 2 * third);
        expect_bytes(wanted, SIZE - third, third);
    }
    link_node_expect_alive(&b, link);
    close_two(&a, &b);
}

Test(link_berth, what_nobody_wants_any_more_is_lost_and_the_link_goes_on)
{
    link_node a, b;
    leaves = true;
    open_two(&a, &b);
    sti_link link = link_node_join(&b, &a);
    send_bytes(&b, link);
    link_node_wait(&a, &a.received, 1);
    cr_expect(a.last->lost);
    for (size_t k = 0; k < SIZE - HEAD; k++)
        cr_assert_eq(wanted[k], 0);
    leaves = false;
    send_bytes(&b, link);
    link_node_wait(&a, &a.received, 2);
    cr_expect_not(a.last->lost);
    expect_bytes(wanted, SIZE - (SIZE - HEAD) / PIECES, 1000);
    close_two(&a, &b);
}

Test(link_berth, a_payload_that_was_damaged_ends_the_link_there_too)
{
    link_node a, b;
    open_two(&a, &b);
    const int fd = raw_connect(sti_net_url(a.net));
    unsigned char header[STI_HEADER_BYTES], *bytes = calloc(1, SIZE);
    sti_header h = raw_header(STI_KIND_HELLO, 2, 0);
    cr_assert_not_null(bytes);
    sti_frame_encode_header(&h, header);
    raw_write(fd, header, sizeof header);
    raw_wait_frame(fd);
    h = raw_header(KIND_DATA, 2, SIZE); /* the checksum of no bytes */
    sti_frame_encode_header(&h, header);
    raw_write(fd, header, sizeof header);
    raw_write(fd, bytes, SIZE);
    link_node_wait_lost(&a, 1);
    cr_expect_eq(a.why, STRADS_EPEER, "%s", a.text);
    cr_expect_not_null(strstr(a.text, "checksum"), "%s", a.text);
    cr_expect_eq(a.received, 0);
    uint64_t turn;
    cr_expect(sti_berth_take(&berth, &(struct iovec){wanted, 1}, 1, &turn),
              "it is free again");
    (void)close(fd);
    free(bytes);
    close_two(&a, &b);
}
