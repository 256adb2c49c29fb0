/* Links over TLS: data arrives unchanged, in both directions at once and when
 * one end does not read. cli_tls.sh tests which peers are admitted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_node.h"
#include "tests/expect.h"

static char folder[] = "/tmp/strads-tls-XXXXXX";
static char cert[64], key[64];
static sti_trust trust;
static link_node a, b;
static sti_link to_a;

/* One self-signed certificate serves as authority and as node. */
static void open_both(void)
{
    char command[512];
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(cert, sizeof cert, "%s/cert", folder);
    (void)snprintf(key, sizeof key, "%s/key", folder);
    (void)snprintf(command, sizeof command,
                   "umask 077; openssl req -x509 -newkey ec -pkeyopt "
                   "ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=run "
                   "-keyout %s -out %s 2>/dev/null",
                   key, cert);
    cr_assert_eq(system(command), 0);
    trust.tls = (sti_tls_files){cert, cert, key};
    const sti_net_options options = {.trust = &trust};
    link_node_open(&a, 0, "tls+tcp://127.0.0.1:0", &options);
    link_node_open(&b, 1, "", &options);
    to_a = link_node_join(&b, &a);
}

static void close_both(void)
{
    expect_ok(link_node_close(&b));
    expect_ok(link_node_close(&a));
    (void)unlink(cert);
    (void)unlink(key);
    (void)rmdir(folder);
}

TestSuite(link_tls, .timeout = 120, .init = open_both, .fini = close_both);

static unsigned char byte_at(uint64_t frame, uint64_t i)
{
    return (unsigned char)(i * 7 + frame + i / 16384);
}

/* Copied and uncopied payloads: empty, near the size of a TLS record, and
 * large. */
Test(link_tls, frames_of_all_sizes_arrive_as_they_were_sent)
{
    static const uint64_t size[] = {0,     1,     4096,  4097,   16319,
                                    16320, 16384, 16385, 100000, 5000000};
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        unsigned char *bytes = malloc(size[k] + 1);
        for (uint64_t i = 0; i < size[k]; i++)
            bytes[i] = byte_at(k, i);
        const uint64_t half = size[k] / 2;
        const sti_outgoing frame = {
            .header = {.kind = KIND_DATA, .from = 1, .round = k},
            .parts = {{bytes, half}, {bytes + half, size[k] - half}},
            .part_count = 2,
            .sent = free,
            .sent_arg = bytes};
        cr_assert_eq(sti_net_send(b.net, to_a, &frame), STRADS_OK);
        link_node_wait(&a, &a.received, k + 1);
        cr_assert_eq(a.last->header.size, size[k]);
        for (uint64_t i = 0; i < size[k]; i++)
            cr_assert_eq(a.last->payload[i], byte_at(k, i));
    }
}

/* On each link, one thread reads and another one writes. */
Test(link_tls, both_directions_at_once)
{
    link_node_expect_both_ways(&a, &b, to_a);
    link_node_expect_alive(&b, to_a);
}

/* The socket accepts parts of records, and the remainder later. */
Test(link_tls, an_end_that_does_not_read_loses_nothing)
{
    a.in_turn = true;
    link_node_block(&a, true);
    for (uint64_t k = 0; k < 100; k++)
        cr_assert_eq(link_node_send(&b, to_a, k, 300000 + k), STRADS_OK);
    link_node_block(&a, false);
    link_node_wait(&a, &a.received, 100);
    cr_expect_eq(a.out_of_turn, 0);
    cr_expect_eq(a.bytes, 100 * 300000 + 99 * 50);
}
