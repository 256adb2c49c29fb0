/* A peer with the run's token takes part. A peer without it is not admitted,
 * learns nothing and cannot change messages undetected. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/net/socket.h"
#include "link_node.h"
#include "tests/expect.h"
#include "tests/relay.h"

TestSuite(link_trust, .timeout = 60);

static const sti_trust ours = {
    .token = {.size = 20, .bytes = "01234567890123456789"}};
static const sti_trust theirs = {
    .token = {.size = 20, .bytes = "01234567890123456780"}};

static link_node a, b;

static void open_with(const sti_trust *of_a, const sti_trust *of_b)
{
    const sti_net_options first = {.trust = of_a}, second = {.trust = of_b};
    link_node_open(&a, 0, NULL, &first);
    link_node_open(&b, 1, "", &second);
}

static void close_both(void)
{
    expect_ok(link_node_close(&b));
    expect_ok(link_node_close(&a));
}

/* ---- peers with the token ---------------------------------------------- */

static void was_sent(void *arg)
{
    free(arg);
}

/* Copied and uncopied payloads, empty and large. */
Test(link_trust, frames_of_all_sizes_arrive_as_they_were_sent)
{
    static const uint64_t size[] = {0, 1, 15, 4096, 4097, 100000, 3000000};
    open_with(&ours, &ours);
    sti_link link = link_node_join(&b, &a);
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        unsigned char *bytes = malloc(size[k] + 1);
        for (uint64_t i = 0; i < size[k]; i++)
            bytes[i] = (unsigned char)(i * 7 + k);
        const uint64_t half = size[k] / 2;
        const sti_outgoing frame = {
            .header = {.kind = KIND_DATA, .from = 1, .round = k},
            .parts = {{bytes, half}, {bytes + half, size[k] - half}},
            .part_count = 2,
            .sent = was_sent,
            .sent_arg = bytes};
        cr_assert_eq(sti_net_send(b.net, link, &frame), STRADS_OK);
        link_node_wait(&a, &a.received, k + 1);
        cr_assert_eq(a.last->header.size, size[k]);
        for (uint64_t i = 0; i < size[k]; i++)
            cr_assert_eq(a.last->payload[i], (unsigned char)(i * 7 + k));
    }
    link_node_expect_alive(&b, link);
    link_node_expect_alive(&a, a.links[1]);
    close_both();
}

/* ---- peers without the token ------------------------------------------- */

static void expect_dial_refused(const char *word)
{
    sti_link link;
    cr_expect_eq(sti_net_dial(b.net, sti_net_url(a.net), UINT64_C(5000000000),
                              &link),
                 STRADS_EMISMATCH, "%s", strads_error_text());
    cr_expect_not_null(strstr(strads_error_text(), word), "no \"%s\" in %s",
                       word, strads_error_text());
    cr_expect_eq(a.hellos, 0);
    cr_expect_eq(b.lost, 0, "sti_net_dial reports it");
}

Test(link_trust, another_token_is_refused_with_a_sentence)
{
    open_with(&ours, &theirs);
    expect_dial_refused("the run's --token-file");
    link_node_wait_strangers(&a, 1);
    link_node_expect_said(&a, "not this run's");
    close_both();
}

Test(link_trust, a_token_where_none_is_wanted_is_refused_with_a_sentence)
{
    open_with(NULL, &ours);
    expect_dial_refused("has no token");
    close_both();
}

/* The only answer is a REJECT; the link's owner gets no notice. */
Test(link_trust, a_hello_without_the_token_is_not_even_read)
{
    const sti_outgoing hello = {.header = {.kind = STI_KIND_HELLO, .from = 1}};
    sti_net_counts counts;
    sti_link link;
    open_with(&ours, NULL);
    cr_assert_eq(sti_net_dial(b.net, sti_net_url(a.net), UINT64_C(5000000000),
                              &link),
                 STRADS_OK);
    (void)sti_net_send(b.net, link, &hello);
    link_node_wait_strangers(&a, 1);
    link_node_expect_said(&a, "without a token");
    link_node_wait_lost(&b, 1);
    sti_net_count(b.net, &counts);
    cr_expect_eq(counts.frames_received, 1);
    cr_expect_eq(a.hellos, 0);
    (void)link_node_close(&b);
    cr_expect_eq(link_node_close(&a), STRADS_OK);
}

/* Bytes of a stranger cost its connection only. */
Test(link_trust, garbage_in_the_place_of_a_handshake_costs_the_connection)
{
    /* Records: an alert, a message of the application, a cut and an overlong
     * ClientHello, and plain frames. */
    static const struct {
        size_t size;
        unsigned char bytes[16];
    } garbage[] = {{7, {21, 3, 3, 0, 2, 2, 40}},
                   {9, {23, 3, 3, 0, 4, 1, 2, 3, 4}},
                   {13, {22, 3, 1, 0, 8, 1, 0, 0, 4, 3, 3, 9, 9}},
                   {9, {22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}},
                   {5, {22, 3, 1, 0xff, 0xff}}};
    static const uint16_t kinds[] = {STI_KIND_HELLO, STI_KIND_WELCOME,
                                     KIND_DATA};
    enum {
        GARBAGE = sizeof garbage / sizeof *garbage,
        ALL = GARBAGE + sizeof kinds / sizeof *kinds
    };
    open_with(&ours, NULL);
    for (unsigned k = 0; k < ALL; k++) {
        int fd = raw_connect(sti_net_url(a.net));
        if (k < GARBAGE) {
            raw_write(fd, garbage[k].bytes, garbage[k].size);
        } else {
            const sti_header header = raw_header(kinds[k - GARBAGE], 5, 0);
            raw_frame(fd, &header, NULL);
        }
        (void)shutdown(fd, SHUT_WR);
        raw_wait_closed(fd);
        link_node_wait_strangers(&a, k + 1);
    }
    cr_expect_eq(a.hellos, 0);
    close_both();
}

/* A stranger begins a handshake and stops, at any place. */
Test(link_trust, a_handshake_that_stops_is_dropped_in_time)
{
    static const unsigned char begun[] = {22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3};
    const sti_net_options soon = {.trust = &ours, .hello_ns = 500000000};
    link_node_open(&a, 0, NULL, &soon);
    for (unsigned k = 0; k <= sizeof begun; k += 5) {
        int fd = raw_connect(sti_net_url(a.net));
        raw_write(fd, begun, k);
        raw_wait_closed(fd);
        link_node_wait_strangers(&a, 1 + k / 5);
        link_node_expect_said(&a, "no complete HELLO");
    }
    expect_ok(link_node_close(&a));
}

/* It listens, and does not answer. */
Test(link_trust, a_node_that_does_not_shake_hands_is_not_waited_for)
{
    const sti_net_options soon = {.trust = &ours,
                                  .heartbeat_ns = 100000000,
                                  .dead_ns = 400000000};
    sti_url url = {.tcp = true, .host = "127.0.0.1"};
    char text[STI_URL_MAX + 1];
    sti_link link;
    int fd;
    cr_assert_eq(sti_socket_listen(&url, &fd), 0);
    sti_url_write(&url, text);
    link_node_open(&b, 1, "", &soon);
    expect_error(sti_net_dial(b.net, text, 500000000, &link), STRADS_EIO,
                 "did not complete the handshake in time");
    expect_ok(link_node_close(&b));
    (void)close(fd);
}

/* ---- a proxy that changes messages ------------------------------------- */

typedef enum attack {
    WATCH,
    FORGE,  /* plain frames: 1 is added to the payload, with its checksum */
    CHANGE, /* TLS: a bit of a record */
    REPEAT,
    SWAP, /* two records */
    OMIT,
    LOSE, /* the last bytes of a record: the next record follows */
    CUT   /* the end of the stream, inside a record */
} attack;

/* Forwards one connection to a's port and attacks bytes of the dialling side:
 * KIND_DATA frames, or records of TLS after `records` others. */
typedef struct proxy {
    attack attack;
    unsigned records;
    const char *marked; /* a text to look for */
    bool saw_marked;
    int listener, from, to;
    pthread_t thread;
    char url[STI_URL_MAX + 1];
} proxy;

static void forge_frame(unsigned char *bytes, size_t n)
{
    sti_header header;
    for (size_t at = 0; at + STI_HEADER_BYTES < n; at++) {
        unsigned char *payload = bytes + at + STI_HEADER_BYTES;
        if (memcmp(bytes + at, "STRD", 4) != 0 ||
            sti_frame_decode_header(bytes + at, 1 << 20, &header) ||
            header.kind != KIND_DATA || at + STI_HEADER_BYTES + header.size > n)
            continue;
        const sti_part whole = {payload, header.size};
        payload[0]++;
        header.checksum = sti_frame_checksum(&whole, 1);
        sti_frame_encode_header(&header, bytes + at);
    }
}

static void *carry_back(void *arg)
{
    const proxy *p = arg;
    unsigned char bytes[1 << 16];
    for (ssize_t n; (n = read(p->to, bytes, sizeof bytes)) > 0;)
        if (write(p->from, bytes, (size_t)n) != n)
            break;
    (void)shutdown(p->from, SHUT_RDWR);
    return NULL;
}

static bool read_exactly(int fd, unsigned char *bytes, size_t size)
{
    for (ssize_t n; size > 0; bytes += n, size -= (size_t)n)
        if ((n = read(fd, bytes, size)) <= 0)
            return false;
    return true;
}

/* Returns the size of the next record; 0: the end. */
static size_t read_record(const proxy *p, unsigned char *bytes)
{
    if (!read_exactly(p->from, bytes, 5))
        return 0;
    const size_t size = (size_t)bytes[3] << 8 | bytes[4];
    return read_exactly(p->from, bytes + 5, size) ? 5 + size : 0;
}

/* Forwards records, and attacks once. */
static void carry_records(proxy *p)
{
    static unsigned char bytes[1 << 17], kept[1 << 17];
    size_t n, kept_size = 0;
    for (unsigned k = 0; (n = read_record(p, bytes)) > 0; k++) {
        p->saw_marked |=
            p->marked && memmem(bytes, n, p->marked, strlen(p->marked));
        if (p->attack == CHANGE && k == p->records)
            bytes[n - 1] ^= 1;
        if (p->attack == SWAP && k == p->records) {
            memcpy(kept, bytes, kept_size = n);
            continue;
        }
        if (p->attack == OMIT && k == p->records)
            continue;
        if ((p->attack == CUT || p->attack == LOSE) && k == p->records)
            n -= 3;
        raw_write(p->to, bytes, n);
        if (p->attack == REPEAT && k == p->records)
            raw_write(p->to, bytes, n);
        if (kept_size > 0)
            raw_write(p->to, kept, kept_size);
        kept_size = 0;
        if (p->attack == CUT && k == p->records)
            break;
    }
}

static void carry_frames(proxy *p)
{
    static unsigned char bytes[1 << 16];
    for (ssize_t n; (n = read(p->from, bytes, sizeof bytes)) > 0;) {
        p->saw_marked |= p->marked && memmem(bytes, (size_t)n, p->marked,
                                             strlen(p->marked)) != NULL;
        if (p->attack == FORGE)
            forge_frame(bytes, (size_t)n);
        raw_write(p->to, bytes, (size_t)n);
    }
}

static void *carry(void *arg)
{
    proxy *p = arg;
    pthread_t back;
    p->from = accept(p->listener, NULL, NULL);
    p->to = raw_connect(sti_net_url(a.net));
    (void)pthread_create(&back, NULL, carry_back, p);
    if (p->records > 0)
        carry_records(p);
    else
        carry_frames(p);
    (void)shutdown(p->to, SHUT_WR);
    pthread_join(back, NULL);
    (void)close(p->from);
    (void)close(p->to);
    return NULL;
}

/* b joins a through the proxy. */
static sti_link join_by(proxy *p)
{
    sti_url url = {.tcp = true, .host = "127.0.0.1"};
    cr_assert_eq(sti_socket_listen(&url, &p->listener), 0);
    sti_url_write(&url, p->url);
    cr_assert_eq(pthread_create(&p->thread, NULL, carry, p), 0);
    return link_node_join_url(&b, p->url, 0);
}

static strads_err send_text(sti_link link, uint64_t round, const char *text)
{
    const sti_outgoing frame = {.header = {.kind = KIND_DATA,
                                           .from = 1,
                                           .round = round},
                                .parts = {{text, strlen(text)}},
                                .part_count = 1};
    return sti_net_send(b.net, link, &frame);
}

static void close_proxy(proxy *p)
{
    (void)link_node_close(&b);
    (void)link_node_close(&a);
    pthread_join(p->thread, NULL);
    (void)close(p->listener);
}

/* The dialling side's records before its first message: ClientHello, a
 * change_cipher_spec for old proxies, Finished and HELLO. */
enum { RECORDS_OF_JOINING = 4 };

/* Each attack is on the second of five messages. Nothing but the messages
 * before it is delivered. */
static void expect_found_out(attack what, uint64_t delivered, const char *word)
{
    static proxy p;
    p = (proxy){.attack = what, .records = RECORDS_OF_JOINING + 1};
    open_with(&ours, &ours);
    a.in_turn = true;
    sti_link link = join_by(&p);
    for (uint64_t k = 0; k < 5; k++)
        if (send_text(link, k, "abc") != STRADS_OK)
            break;
    link_node_wait_lost(&a, 1);
    cr_expect_eq(a.why, STRADS_EIO);
    link_node_expect_said(&a, word);
    cr_expect_eq(a.received, delivered, "attack %d: %llu", (int)what,
                 (unsigned long long)a.received);
    cr_expect_eq(a.out_of_turn, 0);
    close_proxy(&p);
}

Test(link_trust, a_message_that_was_changed_is_found_out)
{
    expect_found_out(CHANGE, 1, "damaged or changed on the way");
}

Test(link_trust, messages_that_were_repeated_moved_or_omitted_are_found_out)
{
    expect_found_out(REPEAT, 2, "damaged or changed on the way");
    expect_found_out(SWAP, 1, "damaged or changed on the way");
    expect_found_out(OMIT, 1, "damaged or changed on the way");
    expect_found_out(LOSE, 1, "damaged or changed on the way");
}

Test(link_trust, a_stream_that_was_cut_off_is_found_out)
{
    expect_found_out(CUT, 1, "in the middle of a frame");
}

/* A changed bit of a handshake looks like another token, a node without TLS or
 * a silent one. Dialling again finds the node. A node that has another token is
 * refused although each handshake is changed. */
Test(link_trust, a_bit_that_changes_in_a_handshake_does_not_keep_a_node_out)
{
    enum { SEEDS = 60, HANDSHAKE_BYTES = 600, HARMED = 1000 };
    const sti_net_options soon = {.trust = &ours,
                                  .hello_ns = 200000000,
                                  .heartbeat_ns = 100000000,
                                  .dead_ns = 300000000};
    sti_link link;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        a = b = (link_node){0};
        link_node_open(&a, 0, NULL, &soon);
        link_node_open(&b, 1, "", &soon);
        relay *r = relay_open(sti_net_url(a.net));
        relay_flip_often(r, seed, HANDSHAKE_BYTES / 2, 1);
        expect_ok(sti_net_dial(b.net, relay_url(r), 20000000000, &link));
        (void)link_node_close(&b);
        relay_close(r);
        (void)link_node_close(&a);
    }
    sti_net_options other = soon;
    other.trust = &theirs;
    a = b = (link_node){0};
    link_node_open(&a, 0, NULL, &soon);
    link_node_open(&b, 1, "", &other);
    relay *r = relay_open(sti_net_url(a.net));
    relay_flip_often(r, 1, HANDSHAKE_BYTES / 2, HARMED);
    cr_expect_neq(sti_net_dial(b.net, relay_url(r), 2000000000, &link),
                  STRADS_OK);
    cr_expect_eq(a.hellos, 0);
    (void)link_node_close(&b);
    relay_close(r);
    (void)link_node_close(&a);
}

/* The purpose of the token: without one, checksums do not help. */
Test(link_trust, without_a_token_the_forgery_succeeds)
{
    static proxy p = {.attack = FORGE};
    open_with(NULL, NULL);
    cr_assert_eq(send_text(join_by(&p), 0, "abc"), STRADS_OK);
    link_node_wait(&a, &a.received, 1);
    cr_expect_eq(memcmp(a.last->payload, "bbc", 3), 0);
    close_proxy(&p);
}

Test(link_trust, a_token_hides_messages_and_without_one_all_can_read_them)
{
    static proxy p;
    for (int hidden = 0; hidden < 2; hidden++) {
        p = (proxy){.attack = WATCH,
                    .records = hidden ? RECORDS_OF_JOINING : 0,
                    .marked = "a coefficient of the model"};
        open_with(hidden ? &ours : NULL, hidden ? &ours : NULL);
        cr_assert_eq(send_text(join_by(&p), 0, p.marked), STRADS_OK);
        link_node_wait(&a, &a.received, 1);
        close_proxy(&p);
        cr_expect_eq(p.saw_marked, !hidden);
    }
}

/* ---- addresses and files ----------------------------------------------- */

/* A socket belongs to the file-system user of the thread that made it. */
Test(link_trust, without_a_token_the_loopback_is_for_the_same_user)
{
    const sti_header hello = raw_header(STI_KIND_HELLO, 5, 0);
    if (geteuid() != 0)
        cr_skip_test("only root can act for another user");
    open_with(NULL, NULL);
    (void)setfsuid(65534);
    int fd = raw_connect(sti_net_url(a.net));
    (void)setfsuid(0);
    raw_frame(fd, &hello, NULL);
    raw_wait_closed(fd);
    link_node_wait_strangers(&a, 1);
    link_node_expect_said(&a, "another user's");
    cr_expect_eq(a.hellos, 0);
    link_node_expect_alive(&b, link_node_join(&b, &a));
    close_both();
}

Test(link_trust, a_joiner_checks_the_owner_of_the_other_end)
{
    sti_link link;
    if (geteuid() != 0)
        cr_skip_test("only root can act for another user");
    (void)setfsuid(65534); /* its threads inherit it */
    link_node_open(&a, 0, NULL, NULL);
    (void)setfsuid(0);
    link_node_open(&b, 1, "", NULL);
    cr_assert_eq(sti_net_dial(b.net, sti_net_url(a.net), UINT64_C(5000000000),
                              &link),
                 STRADS_OK);
    const sti_outgoing hello = {.header = {.kind = STI_KIND_HELLO, .from = 1}};
    (void)sti_net_send(b.net, link, &hello);
    link_node_wait_lost(&b, 1);
    (void)link_node_close(&b);
    (void)link_node_close(&a);
}

Test(link_trust, an_address_that_other_machines_reach_needs_a_token)
{
    static const char *const urls[] = {"tcp://0.0.0.0:0", "tcp://*:0",
                                       "tcp://[::]:0"};
    sti_link link;
    for (size_t k = 0; k < sizeof urls / sizeof *urls; k++) {
        sti_net_options options = {.listen_url = urls[k]};
        sti_net *net = NULL;
        options.events.received =
            (void (*)(void *, sti_link, sti_frame *))abort;
        expect_error(sti_net_open(&options, &net), STRADS_EINVAL,
                     "--token-file");
    }
    const sti_net_options options = {.trust = &ours};
    link_node_open(&a, 0, urls[0], &options);
    link_node_open(&b, 1, "", NULL);
    cr_expect_eq(sti_net_dial(b.net, "tcp://192.0.2.1:7000", 1000, &link),
                 STRADS_EINVAL);
    close_both();
}

static strads_err read_token(const char *text, mode_t mode, sti_token *token)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/strads-token-%d", (int)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
    strads_err err = sti_token_read(path, token);
    (void)unlink(path);
    return err;
}

Test(link_trust, a_token_that_all_may_read_or_that_is_short_is_refused)
{
    sti_token token;
    cr_expect_eq(read_token("0123456789abcdef\n", 0600, &token), STRADS_OK);
    cr_expect_eq(token.size, 16);
    expect_error(read_token("0123456789abcdef\n", 0644, &token), STRADS_EINVAL,
                 "chmod 600");
    cr_expect_eq(read_token("0123456789abcde\n", 0600, &token), STRADS_EINVAL);
    cr_expect_eq(sti_token_read("/no/such/token", &token), STRADS_EIO);
    cr_assert_eq(setenv("STRADS_TOKEN", "from the environment", 1), 0);
    cr_expect_eq(sti_token_read(NULL, &token), STRADS_OK);
    cr_expect_eq(token.size, 20);
    cr_assert_eq(unsetenv("STRADS_TOKEN"), 0);
    cr_expect_eq(sti_token_read(NULL, &token), STRADS_OK);
    cr_expect_eq(token.size, 0);
}
