/* HELLO, WELCOME and REJECT are decoded as encoded; damaged ones are
 * rejected. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "tests/expect.h"

static sti_hello some_hello(void)
{
    return (sti_hello){.protocol = STI_PROTOCOL,
                       .version_major = 0,
                       .version_minor = 1,
                       .kernel_level = 2,
                       .workers = 3,
                       .wanted_node = STI_NODE_NONE,
                       .run = 43,
                       .seen = UINT64_MAX - 1,
                       .url = "tcp://127.0.0.1:7000"};
}

static const char *urls[3] = {"tcp://a:1", "", "ipc:///tmp/x"};

static sti_welcome some_welcome(void)
{
    return (sti_welcome){.node = 1,
                         .nodes = 3,
                         .urls = urls,
                         .seed = 99,
                         .run = 43,
                         .options = "{\"depth\": 2}"};
}

Test(wire_hello, a_hello_comes_back_as_it_was_written)
{
    const sti_hello in = some_hello();
    sti_hello out = {0};
    sti_writer w = {0};
    sti_hello_encode(&in, &w);
    cr_assert_eq(w.err, STRADS_OK);
    cr_assert_leq(w.size, STI_HELLO_LIMIT);
    cr_assert_eq(sti_hello_decode(w.bytes, w.size, &out), STRADS_OK);
    cr_expect_str_eq(out.url, in.url);
    cr_expect_eq(out.run, in.run);
    cr_expect_eq(out.seen, in.seen);
    cr_expect_eq(out.workers, 3);
    cr_expect_eq(out.wanted_node, STI_NODE_NONE);
    cr_expect_eq(sti_hello_check(&in, &out), STRADS_OK);
    sti_writer_free(&w);
}

Test(wire_hello, a_welcome_comes_back_as_it_was_written)
{
    const sti_welcome in = some_welcome();
    sti_welcome out = {0};
    sti_writer w = {0};
    sti_welcome_encode(&in, &w);
    cr_assert_eq(sti_welcome_decode(w.bytes, w.size, &out), STRADS_OK);
    cr_expect_eq(out.node, 1);
    cr_assert_eq(out.nodes, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_str_eq(out.urls[i], urls[i]);
    cr_expect_eq(out.seed, 99);
    cr_expect_eq(out.run, 43);
    cr_expect_str_eq(out.options, in.options);
    sti_welcome_free(&out);
    sti_welcome_free(&out);
    sti_writer_free(&w);
}

Test(wire_hello, a_reject_carries_its_code_and_an_unknown_one_is_still_one)
{
    sti_writer w = {0};
    sti_reject out = {0};
    const sti_reject in = {STRADS_EMISMATCH, "other data"};
    sti_reject_encode(&in, &w);
    cr_assert_eq(sti_reject_decode(w.bytes, w.size, &out), STRADS_OK);
    cr_expect_eq(out.code, STRADS_EMISMATCH);
    cr_expect_str_eq(out.text, "other data");
    w.bytes[0] = 0;
    cr_assert_eq(sti_reject_decode(w.bytes, w.size, &out), STRADS_OK);
    cr_expect_eq(out.code, STRADS_EPEER);
    w.bytes[3] = 0xff;
    cr_assert_eq(sti_reject_decode(w.bytes, w.size, &out), STRADS_OK);
    cr_expect_eq(out.code, STRADS_EPEER);
    sti_writer_free(&w);
}

/* Each function decodes one kind of message; true: it was accepted. */
static bool takes_hello(const void *bytes, uint64_t size)
{
    sti_hello hello;
    return sti_hello_decode(bytes, size, &hello) == STRADS_OK;
}

static bool takes_welcome(const void *bytes, uint64_t size)
{
    sti_welcome welcome = {0};
    bool taken = sti_welcome_decode(bytes, size, &welcome) == STRADS_OK;
    sti_welcome_free(&welcome);
    return taken;
}

static bool takes_reject(const void *bytes, uint64_t size)
{
    sti_reject reject;
    return sti_reject_decode(bytes, size, &reject) == STRADS_OK;
}

static void try_all_damage(const sti_writer *w,
                           bool (*takes)(const void *bytes, uint64_t size))
{
    for (uint64_t size = 0; size <= w->size; size++) {
        unsigned char *bytes = malloc(size > 0 ? (size_t)size : 1);
        cr_assert_not_null(bytes);
        memcpy(bytes, w->bytes, (size_t)size);
        cr_expect_eq(takes(bytes, size), size == w->size, "%d of %d bytes",
                     (int)size, (int)w->size);
        for (uint64_t bit = 0; size == w->size && bit < 8 * size; bit++) {
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
            (void)takes(bytes, size);
            bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        }
        free(bytes);
    }
}

Test(wire_hello, truncated_messages_are_refused_and_damaged_ones_stay_inside)
{
    const sti_hello hello = some_hello();
    const sti_welcome welcome = some_welcome();
    const sti_reject reject = {STRADS_EMISMATCH, "other data"};
    sti_writer w = {0};
    sti_hello_encode(&hello, &w);
    try_all_damage(&w, takes_hello);
    sti_writer_clear(&w);
    sti_welcome_encode(&welcome, &w);
    try_all_damage(&w, takes_welcome);
    sti_writer_clear(&w);
    sti_reject_encode(&reject, &w);
    try_all_damage(&w, takes_reject);
    sti_writer_free(&w);
}

Test(wire_hello, a_url_over_its_limit_is_refused)
{
    static char text[STI_URL_MAX + 2];
    sti_hello hello = some_hello(), out;
    sti_writer w = {0};
    memset(text, 'x', sizeof text - 1);
    hello.url = text;
    sti_hello_encode(&hello, &w);
    cr_expect_eq(sti_hello_decode(w.bytes, w.size, &out), STRADS_EPEER);
    sti_writer_free(&w);
}

Test(wire_hello, a_welcome_with_too_many_nodes_or_a_foreign_id_is_refused)
{
    sti_welcome welcome = some_welcome(), out;
    sti_writer w = {0};
    welcome.node = 3;
    sti_welcome_encode(&welcome, &w);
    cr_expect_eq(sti_welcome_decode(w.bytes, w.size, &out), STRADS_EPEER);
    const uint32_t nodes = STI_NODES_MAX + 1;
    memcpy(w.bytes + 4, &nodes, sizeof nodes);
    cr_expect_eq(sti_welcome_decode(w.bytes, w.size, &out), STRADS_EPEER);
    sti_writer_free(&w);
}

static void expect_difference(const sti_hello *theirs, const char *word)
{
    const sti_hello mine = some_hello();
    expect_error(sti_hello_check(&mine, theirs), STRADS_EMISMATCH, word);
}

Test(wire_hello, each_difference_between_two_nodes_is_named)
{
    sti_hello theirs = some_hello();
    theirs.protocol = 77;
    expect_difference(&theirs, "protocol 77");
    theirs = some_hello();
    theirs.version_minor = 7;
    expect_difference(&theirs, "0.7");
    theirs = some_hello();
    theirs.kernel_level = 1;
    expect_difference(&theirs, "avx2 kernels");
}
