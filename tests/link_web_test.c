/* Links over WebSocket: nodes dial through nng, and accept by websocket.c.
 * Foreign clients get a refusal, and cost the node nothing else. cli_ingress.sh
 * has a proxy between the nodes. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/random.h"
#include "engine/net/socket.h"
#include "link_node.h"
#include "tests/expect.h"

static const sti_trust with_token = {.token = {24, "a token of this test, 24"}};
static link_node a, b;
static sti_link to_a;

/* A build without nng cannot dial. */
static void skip_without_nng(void)
{
    link_node c;
    sti_link link;
    link_node_open(&c, 2, "", NULL);
    const strads_err err =
        sti_net_dial(c.net, "ws://127.0.0.1:1/run", 1, &link);
    cr_assert_neq(err, STRADS_OK);
    if (err == STRADS_EINVAL)
        cr_skip_test("%s", strads_error_text());
    expect_ok(link_node_close(&c));
}

static void open_both(const sti_trust *trust)
{
    const sti_net_options options = {.trust = trust};
    skip_without_nng();
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
    link_node_open(&b, 1, "", &options);
    to_a = link_node_join(&b, &a);
}

static void close_both(void)
{
    expect_ok(link_node_close(&b));
    expect_ok(link_node_close(&a));
}

TestSuite(link_web, .timeout = 120);

static unsigned char byte_at(uint64_t frame, uint64_t i)
{
    return (unsigned char)(i * 7 + frame + i / 65536);
}

/* Sends a frame in two parts and compares it with the one that arrives. */
static void exchange_frame(link_node *from, sti_link link, link_node *to,
                           uint64_t number, uint64_t size)
{
    unsigned char *bytes = malloc(size + 1);
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = byte_at(number, i);
    const sti_outgoing frame = {
        .header = {.kind = KIND_DATA, .from = from->id, .round = number},
        .parts = {{bytes, size / 3}, {bytes + size / 3, size - size / 3}},
        .part_count = 2,
        .sent = free,
        .sent_arg = bytes};
    cr_assert_eq(sti_net_send(from->net, link, &frame), STRADS_OK);
    link_node_wait(to, &to->received, number + 1);
    cr_assert_eq(to->last->header.size, size);
    for (uint64_t i = 0; i < size; i++)
        cr_assert_eq(to->last->payload[i], byte_at(number, i));
}

/* Around the lengths at which the header of a WebSocket frame grows, the
 * largest frame and the buffers of both ends. */
static void exchange_sizes(const sti_trust *trust)
{
    static const uint64_t size[] = {0,     1,     45,    61,     62,
                                    125,   4097,  16384, 65471,  65472,
                                    65535, 65536, 65537, 131072, 5000000};
    open_both(trust);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        exchange_frame(&b, to_a, &a, k, size[k]);
        exchange_frame(&a, a.links[1], &b, k, size[k]);
    }
    close_both();
}

Test(link_web, frames_of_all_sizes_arrive_as_they_were_sent)
{
    exchange_sizes(NULL);
}

Test(link_web, inside_tls_they_do_too)
{
    exchange_sizes(&with_token);
}

Test(link_web, both_directions_at_once)
{
    open_both(&with_token);
    link_node_expect_both_ways(&a, &b, to_a);
    close_both();
}

Test(link_web, an_end_that_does_not_read_loses_nothing)
{
    open_both(NULL);
    a.in_turn = b.in_turn = true;
    link_node_block(&a, true);
    for (uint64_t k = 0; k < 100; k++)
        cr_assert_eq(link_node_send(&b, to_a, k, 300000 + k), STRADS_OK);
    link_node_block(&a, false);
    link_node_wait(&a, &a.received, 100);
    link_node_block(&b, true);
    for (uint64_t k = 0; k < 100; k++)
        cr_assert_eq(link_node_send(&a, a.links[1], k, 300000 + k), STRADS_OK);
    link_node_block(&b, false);
    link_node_wait(&b, &b.received, 100);
    cr_expect_eq(a.out_of_turn + b.out_of_turn, 0);
    close_both();
}

/* Frames that were queued before a close arrive, whichever end closes. */
Test(link_web, a_shutdown_loses_no_frame)
{
    for (unsigned turn = 0; turn < 20; turn++) {
        a = b = (link_node){0};
        open_both(turn % 3 ? &with_token : NULL);
        link_node *first = turn % 2 ? &a : &b, *other = turn % 2 ? &b : &a;
        const sti_link link = turn % 2 ? a.links[1] : to_a;
        for (uint64_t k = 0; k < 20; k++)
            cr_assert_eq(link_node_send(first, link, k, k * 10000), STRADS_OK);
        expect_ok(link_node_close(first));
        link_node_wait(other, &other->received, 20);
        expect_ok(link_node_close(other));
        cr_expect_eq(other->why, STRADS_OK, "%s", other->text);
    }
}

/* Either end may go at any moment of a transfer. nng (1.10) ended the process
 * when one of its operations was freed while it reported its end. */
Test(link_web, an_end_may_go_while_both_send)
{
    sti_random rng = sti_random_stream(1, 0, 0);
    for (unsigned turn = 0; turn < 60; turn++) {
        a = b = (link_node){0};
        open_both(turn % 3 ? &with_token : NULL);
        a.in_turn = b.in_turn = true;
        const uint64_t frames = sti_random_below(&rng, 30);
        const uint64_t most = UINT64_C(1) << sti_random_below(&rng, 20);
        for (uint64_t k = 0; k < frames; k++) {
            const uint64_t size = sti_random_below(&rng, most);
            cr_assert_eq(link_node_send(&b, to_a, k, size), STRADS_OK);
            cr_assert_eq(link_node_send(&a, a.links[1], k, size), STRADS_OK);
        }
        link_node *first = turn % 2 ? &a : &b, *other = turn % 2 ? &b : &a;
        (void)link_node_leave(first, sti_random_below(&rng, 3000000));
        (void)link_node_close(other);
        cr_expect_eq(a.out_of_turn + b.out_of_turn, 0);
    }
}

Test(link_web, dialling_waits_for_a_listener_and_refuses_another_token)
{
    sti_trust theirs = with_token;
    theirs.token.bytes[0] ^= 1;
    open_both(&with_token);
    link_node c;
    sti_link link;
    const sti_net_options options = {.trust = &theirs};
    link_node_open(&c, 2, "", &options);
    expect_error(sti_net_dial(c.net, sti_net_url(a.net), 1000000000, &link),
                 STRADS_EMISMATCH, "another token");
    expect_error(sti_net_dial(c.net, "ws://127.0.0.1:1/run", 100000000, &link),
                 STRADS_EIO, "until the time limit");
    expect_ok(link_node_close(&c));
    close_both();
}

/* A dial that ends at its time limit, with a port that refuses and one that
 * never answers, ends with an error. The dial goes on in nng: it must neither
 * end the process nor use up its descriptors. */
Test(link_web, a_time_limit_may_end_a_dial_at_any_moment)
{
    sti_link link;
    char url[STI_URL_MAX + 1];
    skip_without_nng();
    link_node_open(&a, 0, "tcp://127.0.0.1:0", NULL);
    link_node_open(&b, 1, "", NULL);
    (void)snprintf(url, sizeof url, "ws://127.0.0.1:%s/run",
                   strrchr(sti_net_url(a.net), ':') + 1);
    for (unsigned k = 0; k < 200; k++)
        cr_assert_eq(sti_net_dial(b.net, k % 2 ? url : "ws://127.0.0.1:1/run",
                                  UINT64_C(10000) * k, &link),
                     STRADS_EIO);
    close_both();
}

/* ---- foreign clients --------------------------------------------------- */

static int connect_web(void)
{
    char url[STI_URL_MAX + 1];
    (void)snprintf(url, sizeof url, "tcp://127.0.0.1:%d",
                   atoi(strrchr(sti_net_url(a.net), ':') + 1));
    return raw_connect(url);
}

/* Sends a request; reads the answer's first bytes into `answer`. */
static void ask(int fd, const char *request, char answer[512])
{
    size_t n = 0;
    ssize_t got = 1;
    raw_write(fd, request, strlen(request));
    answer[0] = 0;
    while (n < 511 && got > 0 && !strstr(answer, "\r\n\r\n")) {
        got = recv(fd, answer + n, 511 - n, 0);
        n += got > 0 ? (size_t)got : 0;
        answer[n] = 0;
    }
}

#define UPGRADE                                                \
    "Host: example.org\r\nConnection: keep-alive, Upgrade\r\n" \
    "Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"      \
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

/* The key and its answer are those of RFC 6455, 1.3. */
Test(link_web, requests_are_answered_as_the_standard_requires)
{
    static const struct {
        const char *request, *answer;
    } cases[] = {
        {"GET /run/0 HTTP/1.1\r\n" UPGRADE, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="},
        {"GET /run/0 HTTP/1.1\r\n" UPGRADE, "HTTP/1.1 101 "},
        {"GET /run HTTP/1.1\r\n" UPGRADE, "HTTP/1.1 404 "},
        {"GET /run/01 HTTP/1.1\r\n" UPGRADE, "HTTP/1.1 404 "},
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 "},
        {"GET /run/0 HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 426 "},
        {"GET /run/0 HTTP/1.0\r\nHost: x\r\n\r\n", "HTTP/1.1 426 "},
        {"GET /run/0 HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
         "HTTP/1.1 426 "},
        {"POST /run/0 HTTP/1.1\r\n" UPGRADE, "HTTP/1.1 400 "},
        {"\r\n\r\n", "HTTP/1.1 400 "},
    };
    char answer[512];
    const sti_net_options options = {.hello_ns = 20000000000};
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const int fd = connect_web();
        ask(fd, cases[k].request, answer);
        cr_expect(strstr(answer, cases[k].answer), "%s: %s", cases[k].request,
                  answer);
        (void)close(fd);
    }
    char *large = malloc(20001);
    memset(large, 'x', 20000);
    large[20000] = 0;
    const int fd = connect_web();
    ask(fd, large, answer);
    cr_expect(strstr(answer, "HTTP/1.1 431 "), "%s", answer);
    (void)close(fd);
    free(large);
    expect_ok(link_node_close(&a));
}

/* Adds a masked frame to `to`; returns its size. */
static size_t put_frame(unsigned char *to, unsigned head, const void *bytes,
                        unsigned size)
{
    static const unsigned char mask[4] = {1, 200, 3, 77};
    unsigned char *at = to;
    *at++ = (unsigned char)head;
    *at++ = (unsigned char)(128 | (size < 126 ? size : 126));
    if (size >= 126) {
        *at++ = (unsigned char)(size >> 8);
        *at++ = (unsigned char)size;
    }
    memcpy(at, mask, 4);
    at += 4;
    for (unsigned k = 0; k < size; k++)
        *at++ = ((const unsigned char *)bytes)[k] ^ mask[k % 4];
    return (size_t)(at - to);
}

static int open_web(void)
{
    char answer[512];
    const int fd = connect_web();
    ask(fd, "GET /run/0 HTTP/1.1\r\n" UPGRADE, answer);
    cr_assert(strstr(answer, " 101 "), "%s", answer);
    return fd;
}

static size_t make_hello(unsigned char bytes[STI_HEADER_BYTES])
{
    sti_header header = raw_header(STI_KIND_HELLO, 3, 0);
    sti_frame_encode_header(&header, bytes);
    return STI_HEADER_BYTES;
}

/* A HELLO in frames of every size, sent byte by byte or at once, with pings
 * between its frames: it is read, and the pings are answered. */
Test(link_web, frames_in_pieces_and_pings_are_read)
{
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", NULL);
    for (unsigned piece = 1; piece <= STI_HEADER_BYTES; piece += 7) {
        unsigned char hello[STI_HEADER_BYTES], out[4096], in[256];
        size_t n = 0, got = 0;
        const size_t size = make_hello(hello);
        const uint64_t hellos = a.hellos;
        const int fd = open_web();
        for (unsigned at = 0; at < size; at += piece) {
            const bool last = at + piece >= size;
            const unsigned count = last ? (unsigned)size - at : piece;
            n += put_frame(out + n, (last ? 128u : 0u) | (at ? 0u : 2u),
                           hello + at, count);
            n += put_frame(out + n, 128 | 9, "ping", 4);
        }
        for (size_t k = 0; k < n; k += piece % 2 ? n : 1)
            raw_write(fd, out + k, piece % 2 ? n : 1);
        link_node_wait(&a, &a.hellos, hellos + 1);
        /* The WELCOME comes in a frame, after a pong or before one. */
        while (got < 2 + STI_HEADER_BYTES) {
            const ssize_t rv = recv(fd, in + got, sizeof in - got, 0);
            cr_assert_gt(rv, 0);
            got += (size_t)rv;
        }
        const size_t pong = in[0] == (128 | 10) ? 6 : 0;
        cr_expect(pong == 0 || memcmp(in + 2, "ping", 4) == 0);
        cr_expect_eq(in[pong], 128 | 2);
        cr_expect_eq(in[pong + 1], STI_HEADER_BYTES);
        (void)close(fd);
    }
    link_node_close(&a);
}

/* Frames that the standard forbids end the connection. */
Test(link_web, breaches_of_the_protocol_cost_the_connection)
{
    static const unsigned char frames[][16] = {
        {130, 4, 'a', 'b', 'c', 'd'},               /* not masked */
        {194, 132, 1, 2, 3, 4, 'a', 'b', 'c', 'd'}, /* an extension */
        {129, 132, 1, 2, 3, 4, 'a', 'b', 'c', 'd'}, /* text */
        {131, 132, 1, 2, 3, 4, 'a', 'b', 'c', 'd'}, /* unknown */
        {139, 132, 1, 2, 3, 4, 'a', 'b', 'c', 'd'}, /* unknown, control */
        {9, 132, 1, 2, 3, 4, 'a', 'b', 'c', 'd'},   /* a ping in parts */
        {137, 254, 0, 126, 1, 2, 3, 4},             /* a long ping */
        {136, 128, 1, 2, 3, 4},                     /* close */
    };
    const sti_net_options options = {.hello_ns = 60000000000};
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
    for (unsigned k = 0; k < sizeof frames / sizeof *frames; k++) {
        const int fd = open_web();
        raw_write(fd, frames[k], sizeof frames[k]);
        raw_wait_closed(fd);
        (void)close(fd);
        link_node_wait_strangers(&a, k + 1);
    }
    expect_ok(link_node_close(&a));
}

/* Random bytes after the upgrade, and in place of the request. */
Test(link_web, garbage_does_not_harm_the_node)
{
    const sti_net_options options = {.hello_ns = 60000000000};
    unsigned char bytes[400];
    srand(7);
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
    sti_net_expect(a.net, 300); /* none is evicted before its answer */
    for (unsigned turn = 0; turn < 200; turn++) {
        const int fd = turn % 2 ? open_web() : connect_web();
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (unsigned char)rand();
        if (turn % 4 == 3) { /* a frame with a random header and content */
            bytes[0] = 130;
            bytes[1] |= 128;
        }
        raw_write(fd, bytes, 1 + (size_t)rand() % sizeof bytes);
        (void)close(fd);
    }
    link_node_wait_strangers(&a, 200);
    expect_ok(link_node_close(&a));
}

/* Idle strangers of every stage are dropped, and a node gets through. */
Test(link_web, idle_strangers_do_not_block_nodes)
{
    enum { CROWD = 150 };
    int crowd[CROWD];
    const sti_net_options options = {.trust = &with_token};
    link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
    for (unsigned k = 0; k < CROWD; k++) {
        crowd[k] = connect_web();
        if (k % 3 == 1)
            raw_write(crowd[k], "GET /ru", 7);
        else if (k % 3 == 2)
            raw_write(crowd[k], "GET /run/0 HTTP/1.1\r\n" UPGRADE,
                      strlen("GET /run/0 HTTP/1.1\r\n" UPGRADE));
    }
    link_node_wait_strangers(&a, CROWD);
    for (unsigned k = 0; k < CROWD; k++)
        (void)close(crowd[k]);
    expect_ok(link_node_close(&a));
    open_both(&with_token);
    close_both();
}

/* ---- a proxy that changes what is inside its frames --------------------- */

typedef enum web_attack {
    WEB_CHANGE, /* a bit of a TLS record */
    WEB_REPEAT, /* a WebSocket frame */
    WEB_SWAP,   /* two frames */
    WEB_OMIT,
    WEB_CUT, /* the end of the stream, inside a frame */
    WEB_ATTACKS
} web_attack;

/* Forwards one connection to a, as a proxy does, and attacks the dialling
 * side's next frame once it is armed. */
typedef struct web_proxy {
    web_attack attack;
    atomic_bool armed;
    int listener, from, to;
    pthread_t thread;
} web_proxy;

static bool read_exactly(int fd, unsigned char *bytes, size_t size)
{
    for (ssize_t n; size > 0; bytes += n, size -= (size_t)n)
        if ((n = read(fd, bytes, size)) <= 0)
            return false;
    return true;
}

/* Reads a masked frame of less than 64 KB. Returns its size; 0: the end. */
static size_t read_frame(int fd, unsigned char *bytes)
{
    if (!read_exactly(fd, bytes, 2))
        return 0;
    size_t head = 2, size = bytes[1] & 127u;
    cr_assert(size < 127 && bytes[1] & 128);
    if (size == 126) {
        if (!read_exactly(fd, bytes + 2, 2))
            return 0;
        size = (size_t)bytes[2] << 8 | bytes[3];
        head = 4;
    }
    return read_exactly(fd, bytes + head, 4 + size) ? head + 4 + size : 0;
}

static void *carry_answers(void *arg)
{
    const web_proxy *p = arg;
    unsigned char bytes[1 << 16];
    for (ssize_t n; (n = read(p->to, bytes, sizeof bytes)) > 0;)
        raw_write(p->from, bytes, (size_t)n);
    (void)shutdown(p->from, SHUT_RDWR);
    return NULL;
}

/* Forwards the request and then frames. */
static void carry_frames(web_proxy *p)
{
    static unsigned char bytes[1 << 17], kept[1 << 17];
    size_t n = 0, kept_size = 0;
    while (n < 4 || memcmp(bytes + n - 4, "\r\n\r\n", 4) != 0)
        if (!read_exactly(p->from, bytes + n++, 1))
            return;
    raw_write(p->to, bytes, n);
    while ((n = read_frame(p->from, bytes)) > 0) {
        const bool attacks = atomic_exchange(&p->armed, false);
        if (attacks && p->attack == WEB_CHANGE)
            bytes[n - 1] ^= 1;
        if (attacks && p->attack == WEB_CUT)
            n -= 3;
        if (attacks && p->attack == WEB_SWAP)
            memcpy(kept, bytes, kept_size = n);
        if (attacks && (p->attack == WEB_SWAP || p->attack == WEB_OMIT))
            continue;
        raw_write(p->to, bytes, n);
        if (attacks && p->attack == WEB_REPEAT)
            raw_write(p->to, bytes, n);
        if (attacks && p->attack == WEB_CUT)
            return;
        raw_write(p->to, kept, kept_size);
        kept_size = 0;
    }
}

static void *carry_web(void *arg)
{
    web_proxy *p = arg;
    pthread_t back;
    p->from = accept(p->listener, NULL, NULL);
    p->to = connect_web();
    (void)pthread_create(&back, NULL, carry_answers, p);
    carry_frames(p);
    (void)shutdown(p->to, SHUT_WR);
    pthread_join(back, NULL);
    (void)close(p->from);
    (void)close(p->to);
    return NULL;
}

/* The token's TLS is inside the WebSocket: a proxy can break the link and
 * nothing else. Each attack is on the frame after the first message. */
Test(link_web, a_proxy_that_changes_frames_is_found_out)
{
    static const char *const word[WEB_ATTACKS] = {
        "damaged or changed on the way", "damaged or changed on the way",
        "damaged or changed on the way", "damaged or changed on the way",
        "in the middle of"};
    const sti_net_options options = {.trust = &with_token,
                                     .heartbeat_ns = 100000000};
    skip_without_nng();
    for (unsigned attack = 0; attack < WEB_ATTACKS; attack++) {
        static web_proxy p;
        sti_url own = {.tcp = true, .host = "127.0.0.1"};
        char url[STI_URL_MAX + 1];
        p = (web_proxy){.attack = (web_attack)attack};
        a = b = (link_node){0};
        link_node_open(&a, 0, "ws://127.0.0.1:0/run/0", &options);
        link_node_open(&b, 1, "", &options);
        cr_assert_eq(sti_socket_listen(&own, &p.listener), 0);
        (void)snprintf(url, sizeof url, "ws://127.0.0.1:%u/run/0", own.port);
        cr_assert_eq(pthread_create(&p.thread, NULL, carry_web, &p), 0);
        to_a = link_node_join_url(&b, url, 0);
        a.in_turn = true;
        cr_assert_eq(link_node_send(&b, to_a, 0, 100), STRADS_OK);
        link_node_wait(&a, &a.received, 1);
        atomic_store(&p.armed, true);
        for (uint64_t k = 1; k < 5; k++)
            if (link_node_send(&b, to_a, k, 100) != STRADS_OK)
                break;
        link_node_wait_lost(&a, 1);
        cr_expect_eq(a.why, STRADS_EIO);
        link_node_expect_said(&a, word[attack]);
        cr_expect_eq(a.out_of_turn, 0, "attack %u", attack);
        /* A frame may hold all messages, and arrives before its repetition. */
        cr_expect_lt(a.received, attack == WEB_REPEAT ? 6 : 5, "attack %u",
                     attack);
        (void)link_node_close(&b);
        (void)link_node_close(&a);
        pthread_join(p.thread, NULL);
        (void)close(p.listener);
    }
}

/* ---- addresses --------------------------------------------------------- */

Test(link_web, urls_are_written_in_full_and_bad_ones_are_refused)
{
    static const struct {
        const char *url, *written;
    } good[] = {
        {"ws://train.example.org", "ws://train.example.org:80/"},
        {"wss://train.example.org/a/b", "wss://train.example.org:443/a/b"},
        {"ws://[::1]/x", "ws://[::1]:80/x"},
        {"ws://[::1]:70/x", "ws://[::1]:70/x"},
        {"ws://:7000/x:1", "ws://127.0.0.1:7000/x:1"},
    };
    static const char *const bad[] = {"ws://a:99999/x", "ws://a:b/x",
                                      "ws://a/x?y",     "ws://a/x y",
                                      "wss://a@b/x",    "ws://a/%41"};
    char text[STI_URL_MAX + 1];
    sti_url url;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        expect_ok(sti_url_parse(good[k].url, &url));
        sti_url_write(&url, text);
        cr_expect_str_eq(text, good[k].written);
        cr_expect(!sti_url_is_here(&url));
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        cr_expect_eq(sti_url_parse(bad[k], &url), STRADS_EINVAL, "%s", bad[k]);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    memcpy(text, "ws://h/", 7);
    cr_expect_eq(sti_url_parse(text, &url), STRADS_EINVAL);
    text[7 + STI_PATH_MAX - 1] = 0;
    expect_ok(sti_url_parse(text, &url));
}

static strads_err listen_at(const char *url)
{
    sti_net *net = NULL;
    sti_net_options options = {.listen_url = url};
    options.events.received = (void (*)(void *, sti_link, sti_frame *))abort;
    return sti_net_open(&options, &net);
}

Test(link_web, beyond_the_loopback_a_token_is_needed)
{
    sti_link link;
    expect_error(listen_at("ws://0.0.0.0:0/run"), STRADS_EINVAL,
                 "--token-file");
    expect_error(listen_at("wss://127.0.0.1:0/run"), STRADS_EINVAL,
                 "listen on ws://");
    link_node_open(&b, 1, "", NULL);
    expect_error(sti_net_dial(b.net, "ws://192.0.2.1/run", 1000, &link),
                 STRADS_EINVAL, "--token-file");
    expect_error(sti_net_dial(b.net, "wss://192.0.2.1/run", 1000, &link),
                 STRADS_EINVAL, "--token-file");
    expect_ok(link_node_close(&b));
}

/* A refused port may be that of a proxy that restarts. */
Test(link_web, a_port_that_refuses_does_not_count_as_an_ended_node)
{
    cr_expect_eq(sti_net_probe("tcp://127.0.0.1:1"), STRADS_EPEER);
    cr_expect_eq(sti_net_probe("ws://127.0.0.1:1/run"), STRADS_EIO);
}

Test(link_web, a_process_that_was_forked_after_the_first_use_is_told)
{
    int status = 0;
    open_both(NULL);
    const pid_t child = fork();
    if (child == 0) {
        sti_link link;
        link_node c;
        link_node_open(&c, 2, "", NULL);
        const strads_err err =
            sti_net_dial(c.net, sti_net_url(a.net), 1000000000, &link);
        _exit(err == STRADS_ESTATE && strstr(strads_error_text(), "forked")
                  ? 0
                  : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    close_both();
}
