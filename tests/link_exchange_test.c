/* Links between nodes that follow the protocol. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link_node.h"
#include "tests/expect.h"

static char folder[] = "/tmp/strads-link-XXXXXX";
static char ipc_url[64];

static void make_folder(void)
{
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(ipc_url, sizeof ipc_url, "ipc://%s/node", folder);
}

static void remove_folder(void)
{
    (void)unlink(ipc_url + 6);
    (void)rmdir(folder);
}

TestSuite(link_exchange, .timeout = 60);

static void exchange_over(const char *url)
{
    link_node a, b;
    link_node_open(&a, 0, url, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    link_node_expect_alive(&b, link);
    link_node_wait(&a, &a.hellos, 1);
    link_node_expect_alive(&a, a.links[1]);
    expect_ok(link_node_close(&b));
    link_node_wait_lost(&a, 1);
    cr_expect_eq(a.why, STRADS_OK, "%s", a.text);
    expect_ok(link_node_close(&a));
}

Test(link_exchange, frames_travel_both_ways_over_tcp)
{
    exchange_over(NULL);
}

Test(link_exchange, frames_travel_both_ways_over_ipc, .init = make_folder,
     .fini = remove_folder)
{
    exchange_over(ipc_url);
}

Test(link_exchange, port_zero_becomes_a_real_port_and_the_host_is_loopback)
{
    link_node a;
    link_node_open(&a, 0, "tcp://:0", NULL);
    cr_expect_eq(strncmp(sti_net_url(a.net), "tcp://127.0.0.1:", 16), 0, "%s",
                 sti_net_url(a.net));
    cr_expect_gt(atoi(sti_net_url(a.net) + 16), 0);
    link_node_close(&a);
}

Test(link_exchange, every_part_of_a_payload_arrives_aligned_and_in_order)
{
    static const unsigned char big[300001] = {7};
    link_node a, b;
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    const sti_outgoing frame = {
        .header = {.kind = KIND_DATA,
                   .from = 1,
                   .to = 0,
                   .phase = 2,
                   .index = 5,
                   .round = 6,
                   .tag = 77},
        .parts = {{"ab", 2}, {NULL, 0}, {big, sizeof big}, {"yz", 2}},
        .part_count = 4};
    cr_assert_eq(sti_net_send(b.net, link, &frame), STRADS_OK);
    link_node_wait(&a, &a.received, 1);
    cr_assert_eq(a.last->header.size, sizeof big + 4);
    cr_expect_eq((uintptr_t)a.last->payload % STI_PAYLOAD_ALIGN, 0);
    cr_expect_arr_eq(a.last->payload, "ab\7", 3);
    cr_expect_arr_eq(a.last->payload + sizeof big + 2, "yz", 2);
    cr_expect_eq(a.last->header.tag, 77);
    cr_expect_eq(a.last->header.index, 5);
    link_node_close(&b);
    link_node_close(&a);
}

static void count_call(void *arg)
{
    link_node *node = arg;
    pthread_mutex_lock(&node->lock);
    node->sent_calls++;
    pthread_cond_broadcast(&node->event);
    pthread_mutex_unlock(&node->lock);
}

Test(link_exchange, a_frame_of_64_megabytes_passes_without_a_copy)
{
    const size_t size = 64 << 20;
    unsigned char *bytes = malloc(size);
    link_node a, b;
    cr_assert_not_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                .parts = {{bytes, size}},
                                .part_count = 1,
                                .sent = count_call,
                                .sent_arg = &b};
    cr_assert_eq(sti_net_send(b.net, link, &frame), STRADS_OK);
    link_node_wait(&b, &b.sent_calls, 1);
    link_node_wait(&a, &a.received, 1);
    cr_assert_eq(a.last->header.size, size);
    cr_expect_eq(memcmp(a.last->payload, bytes, size), 0);
    link_node_close(&b);
    link_node_close(&a);
    free(bytes);
}

Test(link_exchange, without_sent_a_frame_arrives_as_it_was_when_it_was_sent)
{
    enum { FRAMES = 5, SIZE = 8 << 20 }; /* exceeds the kernel's buffers */
    unsigned char *bytes = malloc(SIZE);
    link_node a, b;
    cr_assert_not_null(bytes);
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    link_node_block(&a, true);
    for (int k = 1; k <= FRAMES; k++) {
        const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                    .parts = {{"x", 1}, {bytes, SIZE}},
                                    .part_count = 2};
        memset(bytes, k, SIZE);
        cr_assert_eq(sti_net_send(b.net, link, &frame), STRADS_OK);
    }
    memset(bytes, 99, SIZE);
    link_node_block(&a, false);
    link_node_wait(&a, &a.received, FRAMES); /* checksums were verified */
    cr_assert_eq(a.last->header.size, SIZE + 1);
    for (size_t i = 1; i <= SIZE; i++)
        cr_assert_eq(a.last->payload[i], FRAMES);
    link_node_close(&b);
    link_node_close(&a);
    free(bytes);
}

Test(link_exchange, sent_is_called_once_for_every_frame_whatever_becomes_of_it)
{
    static unsigned char small[10], big[100000];
    const sti_part parts[2] = {{small, sizeof small}, {big, sizeof big}};
    link_node a, b;
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    link_node_block(&a, true);
    uint64_t accepted = 0;
    for (int i = 0; i < 200; i++) {
        const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                    .parts = {parts[i % 2]},
                                    .part_count = 1,
                                    .sent = count_call,
                                    .sent_arg = &b};
        accepted += sti_net_send(b.net, link, &frame) == STRADS_OK;
    }
    cr_expect_eq(accepted, 200);
    sti_net_drop(b.net, link, "the test has seen enough");
    link_node_wait_lost(&b, 1);
    cr_expect_eq(b.sent_calls, accepted);
    cr_expect_eq(b.why, STRADS_ECANCELED);
    link_node_block(&a, false);
    link_node_close(&b);
    link_node_close(&a);
}

Test(link_exchange, four_nodes_in_a_full_mesh_exchange_frames)
{
    enum { NODES = 4, FRAMES = 200 };
    link_node node[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        link_node_open(&node[i], i, NULL, NULL);
    for (uint32_t i = 0; i < NODES; i++)
        for (uint32_t k = 0; k < i; k++)
            (void)link_node_join(&node[i], &node[k]);
    for (uint32_t i = 0; i < NODES; i++)
        link_node_wait(&node[i], &node[i].hellos, NODES - 1 - i);
    for (uint64_t round = 0; round < FRAMES; round++)
        for (uint32_t i = 0; i < NODES; i++)
            for (uint32_t k = 0; k < NODES; k++)
                if (i != k)
                    cr_assert_eq(link_node_send(&node[i], node[i].links[k],
                                                round, 100 * round),
                                 STRADS_OK);
    for (uint32_t i = 0; i < NODES; i++)
        link_node_wait(&node[i], &node[i].received, FRAMES * (NODES - 1));
    for (uint32_t i = 0; i < NODES; i++) {
        cr_expect_eq(node[i].strangers, 0);
        expect_ok(link_node_close(&node[i]));
    }
}

typedef struct flood {
    link_node *node;
    sti_link link;
    uint64_t frames;
} flood;

static void *send_flood(void *arg)
{
    const flood *f = arg;
    for (uint64_t i = 0; i < f->frames; i++)
        if (link_node_send(f->node, f->link, i, i % 7 * 100) != STRADS_OK)
            break;
    return NULL;
}

typedef struct closing {
    link_node *node;
    strads_err err;
} closing;

static void *close_net(void *arg)
{
    closing *c = arg;
    c->err = link_node_close(c->node);
    return NULL;
}

/* Both sides send FRAMES and close at the same time. */
static void lose_nothing_over(const char *url)
{
    enum { FRAMES = 10000 };
    link_node a, b;
    pthread_t sender, closer;
    link_node_open(&a, 0, url, NULL);
    link_node_open(&b, 1, "", NULL);
    a.in_turn = b.in_turn = true;
    sti_link link = link_node_join(&b, &a);
    flood from_a = {&a, a.links[1], FRAMES}, from_b = {&b, link, FRAMES};
    pthread_create(&sender, NULL, send_flood, &from_a);
    (void)send_flood(&from_b);
    pthread_join(sender, NULL);
    closing of_a = {&a, STRADS_OK}, of_b = {&b, STRADS_OK};
    pthread_create(&closer, NULL, close_net, &of_a);
    (void)close_net(&of_b);
    pthread_join(closer, NULL);
    cr_expect_eq(of_a.err, STRADS_OK);
    cr_expect_eq(of_b.err, STRADS_OK);
    cr_expect_eq(a.received, FRAMES);
    cr_expect_eq(b.received, FRAMES);
    cr_expect_eq(a.out_of_turn + b.out_of_turn, 0);
    cr_expect_eq(a.why, STRADS_OK, "%s", a.text);
    cr_expect_eq(b.why, STRADS_OK, "%s", b.text);
    cr_expect_eq(a.lost, 1);
    cr_expect_eq(b.lost, 1);
}

Test(link_exchange, a_shutdown_loses_no_frame_over_tcp)
{
    lose_nothing_over(NULL);
}

Test(link_exchange, a_shutdown_loses_no_frame_over_ipc, .init = make_folder,
     .fini = remove_folder)
{
    lose_nothing_over(ipc_url);
}

Test(link_exchange, messages_queued_before_a_goodbye_are_delivered)
{
    link_node a, b;
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    sti_link link = link_node_join(&b, &a);
    for (uint64_t i = 0; i < 1000; i++)
        cr_assert_eq(link_node_send(&b, link, i, 5000), STRADS_OK);
    sti_net_part(b.net, link);
    cr_expect_eq(link_node_send(&b, link, 0, 0), STRADS_EPEER);
    link_node_wait_lost(&a, 1);
    link_node_wait_lost(&b, 1);
    cr_expect_eq(a.received, 1000);
    cr_expect_eq(a.why, STRADS_OK, "%s", a.text);
    cr_expect_eq(b.why, STRADS_OK, "%s", b.text);
    link_node_close(&b);
    link_node_close(&a);
}

Test(link_exchange, an_idle_link_lives_by_its_heartbeat)
{
    const sti_net_options options = {.heartbeat_ns = 20000000,
                                     .dead_ns = UINT64_C(2000000000)};
    sti_net_counts counts = {0};
    link_node a, b;
    link_node_open(&a, 0, NULL, &options);
    link_node_open(&b, 1, "", &options);
    sti_link link = link_node_join(&b, &a);
    while (counts.frames_received < 10) {
        usleep(5000);
        sti_net_count(a.net, &counts);
    }
    cr_expect_eq(a.received, 0);
    link_node_expect_alive(&b, link);
    link_node_close(&b);
    link_node_close(&a);
}

Test(link_exchange, dialling_waits_for_a_listener_that_starts_later,
     .init = make_folder, .fini = remove_folder)
{
    link_node a, b;
    link_node_open(&b, 1, "", NULL);
    sti_link link = 0;
    expect_error(sti_net_dial(b.net, ipc_url, 30000000, &link), STRADS_EIO,
                 ipc_url);
    link_node_open(&a, 0, ipc_url, NULL);
    link = link_node_join(&b, &a);
    link_node_expect_alive(&b, link);
    link_node_close(&b);
    link_node_close(&a);
}

Test(link_exchange, a_wildcard_url_is_seen_with_the_peers_address)
{
    char url[STI_URL_MAX + 1];
    link_node a, b;
    link_node_open(&a, 0, NULL, NULL);
    const sti_trust all = {.insecure = true};
    const sti_net_options anywhere = {.trust = &all};
    link_node_open(&b, 1, "tcp://0.0.0.0:0", &anywhere);
    cr_expect_eq(strncmp(sti_net_url(b.net), "tcp://0.0.0.0:", 14), 0);
    (void)link_node_join(&b, &a);
    cr_assert_eq(sti_net_seen_url(a.net, a.links[1], "tcp://0.0.0.0:4711", url),
                 STRADS_OK);
    cr_expect_str_eq(url, "tcp://127.0.0.1:4711");
    cr_assert_eq(sti_net_seen_url(a.net, a.links[1], "tcp://far:1", url),
                 STRADS_OK);
    cr_expect_str_eq(url, "tcp://far:1");
    link_node_close(&b);
    link_node_close(&a);
}

Test(link_exchange, a_rejected_node_reads_why_before_the_link_ends)
{
    const sti_outgoing hello = {.header = {.kind = STI_KIND_HELLO, .from = 1}};
    const sti_outgoing reject = {.header = {.kind = STI_KIND_REJECT},
                                 .parts = {{"no", 2}},
                                 .part_count = 1};
    sti_net_counts counts;
    link_node a, b;
    sti_link link = 0;
    link_node_open(&a, 0, NULL, NULL);
    link_node_open(&b, 1, "", NULL);
    a.mute = true;
    cr_assert_eq(sti_net_dial(b.net, sti_net_url(a.net), 1000000000, &link),
                 STRADS_OK);
    cr_assert_eq(sti_net_send(b.net, link, &hello), STRADS_OK);
    link_node_wait(&a, &a.hellos, 1);
    cr_assert_eq(sti_net_send(a.net, a.last_hello, &reject), STRADS_OK);
    sti_net_part(a.net, a.last_hello);
    link_node_wait_lost(&b, 1);
    link_node_wait_lost(&a, 1);
    cr_expect_eq(b.why, STRADS_OK, "%s", b.text);
    cr_expect_eq(a.why, STRADS_OK, "%s", a.text);
    sti_net_count(b.net, &counts);
    cr_expect_geq(counts.frames_received, 3, "REJECT, BYE and BYE_ACK");
    link_node_close(&b);
    link_node_close(&a);
}
