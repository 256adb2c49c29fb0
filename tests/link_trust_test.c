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

/* Copied and uncopied payloads, empty and large; tags depend on the case. */
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
    cr_expect_eq(b.lost, 0, "the dialling has told it");
}

Test(link_trust, another_token_is_refused_with_a_sentence)
{
    open_with(&ours, &theirs);
    expect_dial_refused("the run's --token-file");
    link_node_wait_strangers(&a, 1);
    cr_expect_not_null(strstr(a.text, "not this run's"), "%s", a.text);
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
    cr_expect_not_null(strstr(a.text, "without a token"), "%s", a.text);
    link_node_wait_lost(&b, 1);
    sti_net_count(b.net, &counts);
    cr_expect_eq(counts.frames_received, 1);
    cr_expect_eq(a.hellos, 0);
    (void)link_node_close(&b);
    cr_expect_eq(link_node_close(&a), STRADS_OK);
}

/* Sends KNOCK and then the given frame. */
static void expect_no_grant(uint16_t kind, const void *bytes, uint64_t size)
{
    unsigned char nonce[STI_NONCE_BYTES] = {0};
    sti_header header = raw_header(STI_KIND_KNOCK, 5, sizeof nonce);
    const sti_part first = {nonce, sizeof nonce}, next = {bytes, size};
    const unsigned before = a.strangers;
    int fd = raw_connect(sti_net_url(a.net));
    header.checksum = sti_frame_checksum(&first, 1);
    raw_frame(fd, &header, nonce);
    header = raw_header(kind, 5, size);
    header.checksum = sti_frame_checksum(&next, 1);
    raw_frame(fd, &header, bytes);
    raw_wait_closed(fd);
    link_node_wait_strangers(&a, before + 1);
    cr_expect_eq(a.hellos, 0);
}

Test(link_trust, garbage_in_the_place_of_a_proof_costs_the_connection)
{
    unsigned char bytes[64] = {0};
    open_with(&ours, NULL);
    expect_no_grant(STI_KIND_PROOF, bytes, STI_PROOF_BYTES);
    expect_no_grant(STI_KIND_PROOF, bytes, STI_PROOF_BYTES - 1);
    expect_no_grant(STI_KIND_PROOF, bytes, 64);
    expect_no_grant(STI_KIND_HELLO, bytes, 8);
    expect_no_grant(STI_KIND_KNOCK, bytes, STI_NONCE_BYTES);
    expect_no_grant(STI_KIND_GRANT, bytes, STI_PROOF_BYTES);
    expect_no_grant(KIND_DATA, bytes, 8);
    close_both();
}

/* A proof is not valid for another side, nonce or token, so that a recorded or
 * reflected proof is useless. */
Test(link_trust, a_proof_is_of_one_side_one_handshake_and_one_token)
{
    unsigned char proof[STI_PROOF_BYTES];
    sti_handshake h = {.token = &ours.token}, other = {.token = &ours.token};
    cr_assert_eq(sti_nonce_draw(h.nonce[0]), STRADS_OK);
    cr_assert_eq(sti_nonce_draw(h.nonce[1]), STRADS_OK);
    sti_proof_make(&h, STI_DIALS, proof);
    cr_expect(sti_proof_is(&h, STI_DIALS, proof));
    cr_expect_not(sti_proof_is(&h, STI_ACCEPTS, proof));
    for (int side = 0; side < 2; side++) {
        other = h;
        other.nonce[side][31] ^= 1;
        cr_expect_not(sti_proof_is(&other, STI_DIALS, proof));
    }
    other = h;
    other.token = &theirs.token;
    cr_expect_not(sti_proof_is(&other, STI_DIALS, proof));
    proof[31] ^= 1;
    cr_expect_not(sti_proof_is(&h, STI_DIALS, proof));
}

/* ---- a proxy that changes messages ------------------------------------- */

/* Forwards one connection to a's port. Adds 1 to the first byte of each
 * KIND_DATA payload and corrects all checksums. */
typedef struct forging_proxy {
    int listener, from, to;
    pthread_t thread;
    char url[STI_URL_MAX + 1];
} forging_proxy;

static void forge(unsigned char *bytes, size_t n, size_t head)
{
    sti_header header;
    for (size_t at = 0; at + head < n; at++) {
        if (memcmp(bytes + at, "STRD", 4) != 0 ||
            sti_frame_decode_header(bytes + at, 1 << 20, &header) ||
            header.kind != KIND_DATA || at + head + header.size > n)
            continue;
        const sti_part payload = {bytes + at + head, header.size};
        bytes[at + head]++;
        header.checksum = sti_frame_checksum(&payload, 1);
        sti_frame_encode_header(&header, bytes + at);
    }
}

static void *carry_back(void *arg)
{
    const forging_proxy *p = arg;
    unsigned char bytes[1 << 16];
    for (ssize_t n; (n = read(p->to, bytes, sizeof bytes)) > 0;)
        if (write(p->from, bytes, (size_t)n) != n)
            break;
    (void)shutdown(p->from, SHUT_RDWR);
    return NULL;
}

static void *carry(void *arg)
{
    forging_proxy *p = arg;
    unsigned char bytes[1 << 16];
    pthread_t back;
    p->from = accept(p->listener, NULL, NULL);
    p->to = raw_connect(sti_net_url(a.net));
    (void)pthread_create(&back, NULL, carry_back, p);
    for (ssize_t n; (n = read(p->from, bytes, sizeof bytes)) > 0;) {
        forge(bytes, (size_t)n, STI_HEADER_BYTES);
        forge(bytes, (size_t)n, STI_HEADER_BYTES + STI_TAG_BYTES);
        if (write(p->to, bytes, (size_t)n) != n)
            break;
    }
    (void)shutdown(p->to, SHUT_RDWR);
    pthread_join(back, NULL);
    (void)close(p->from);
    (void)close(p->to);
    return NULL;
}

/* Sends one frame through the proxy. */
static void send_forged(forging_proxy *p)
{
    sti_url url = {.tcp = true, .host = "127.0.0.1"};
    const sti_outgoing frame = {.header = {.kind = KIND_DATA, .from = 1},
                                .parts = {{"abc", 3}},
                                .part_count = 1};
    cr_assert_eq(sti_socket_listen(&url, &p->listener), 0);
    sti_url_write(&url, p->url);
    cr_assert_eq(pthread_create(&p->thread, NULL, carry, p), 0);
    sti_link link = link_node_join_url(&b, p->url, 0);
    cr_assert_eq(sti_net_send(b.net, link, &frame), STRADS_OK);
}

static void close_forged(forging_proxy *p)
{
    (void)link_node_close(&b);
    (void)link_node_close(&a);
    pthread_join(p->thread, NULL);
    (void)close(p->listener);
}

Test(link_trust, a_frame_that_was_changed_with_its_checksums_is_found_out)
{
    static forging_proxy p;
    open_with(&ours, &ours);
    send_forged(&p);
    link_node_wait_lost(&a, 1);
    cr_expect_eq(a.why, STRADS_EIO);
    cr_expect_not_null(strstr(a.text, "damaged or changed on the way"), "%s",
                       a.text);
    cr_expect_eq(a.received, 0);
    close_forged(&p);
}

/* The purpose of the token. */
Test(link_trust, without_a_token_the_forgery_succeeds)
{
    static forging_proxy p;
    open_with(NULL, NULL);
    send_forged(&p);
    link_node_wait(&a, &a.received, 1);
    cr_expect_eq(memcmp(a.last->payload, "bbc", 3), 0);
    close_forged(&p);
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
    cr_expect_not_null(strstr(a.text, "another user's"), "%s", a.text);
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
