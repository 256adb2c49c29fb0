/* Bytes from a peer: headers and frames, TLS, messages, the run's
 * terms. A peer is not trusted until it has authenticated. */
#include <stdlib.h>
#include <string.h>

#include "engine/net/frame.h"
#include "engine/net/hello.h"
#include "engine/net/tls.h"
#include "engine/round/message_codec.h"
#include "engine/run/nodes_terms.h"
#include "fuzz.h"
#include "strads/lasso.h"

/* A frame whose header is `head`, then `rest` bytes of payload. */
static void take_bytes(const unsigned char head[STI_HEADER_BYTES],
                       const uint8_t *payload, size_t rest)
{
    sti_header header, back;
    if (sti_frame_decode_header(head, STI_HELLO_LIMIT, &header))
        return;
    unsigned char again[STI_HEADER_BYTES];
    sti_frame_encode_header(&header, again);
    fuzz_require(!sti_frame_decode_header(again, STI_HELLO_LIMIT, &back) &&
                     back.size == header.size && back.kind == header.kind &&
                     back.number == header.number,
                 "a header reads back");
    sti_frame *frame = NULL;
    fuzz_require(!sti_frame_alloc(&header, &frame), "room for a frame");
    const size_t n = rest < header.size ? rest : (size_t)header.size;
    memset(frame->payload, 0, header.size);
    if (n > 0)
        memcpy(frame->payload, payload, n);
    (void)sti_frame_verify(frame);
    const sti_part whole = {frame->payload, header.size};
    frame->header.checksum = sti_frame_checksum(&whole, 1);
    fuzz_require(!sti_frame_verify(frame), "a payload with its checksum");
    sti_frame_free(frame);
}

/* Takes the bytes as they are, then with a valid checksum in the header:
 * mutation cannot find a checksum, but a peer can compute one. */
static void take_frame(const uint8_t *bytes, size_t size)
{
    unsigned char head[STI_HEADER_BYTES] = {0};
    const size_t have = size < sizeof head ? size : sizeof head;
    sti_header header;
    memcpy(head, bytes, have);
    take_bytes(head, bytes + have, size - have);
    memcpy(&header, head, sizeof header);
    sti_frame_encode_header(&header, head);
    take_bytes(head, bytes + have, size - have);
}

/* Copies the bytes as decoders need them: aligned, with nothing readable
 * behind them. */
static void *aligned(const uint8_t *bytes, size_t size)
{
    void *copy = malloc(size > 0 ? size : 1);
    fuzz_require(copy != NULL, "memory");
    if (size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

static void take_hello(const uint8_t *bytes, size_t size)
{
    void *copy = aligned(bytes, size);
    sti_hello hello;
    sti_welcome welcome = {0};
    sti_reject reject;
    if (!sti_hello_decode(copy, size, &hello)) {
        sti_writer w = {0};
        sti_hello_encode(&hello, &w);
        fuzz_require(!w.err && w.size == size, "a HELLO is written as read");
        sti_writer_free(&w);
    }
    if (!sti_welcome_decode(copy, size, &welcome))
        for (uint32_t k = 0; k < welcome.nodes; k++)
            fuzz_require(strlen(welcome.urls[k]) <= size, "a URL has an end");
    sti_welcome_free(&welcome);
    if (!sti_reject_decode(copy, size, &reject))
        fuzz_require(strlen(reject.text) <= size, "a sentence has an end");
    free(copy);
}

/* Bytes of a stranger in the place of a handshake, to an accepting and to a
 * dialling end: they do not complete it. */
static void take_handshake(const uint8_t *bytes, size_t size)
{
    static const sti_trust trust = {
        .token = {.size = 16, .bytes = "0123456789abcdef"}};
    static sti_tls_context *context;
    fuzz_require(context || !sti_tls_context_new(&trust, &context),
                 "a context");
    for (int dials = 0; dials < 2; dials++) {
        sti_tls *tls = NULL;
        const uint8_t *from = bytes;
        size_t left = size, space;
        bool done = false;
        fuzz_require(!sti_tls_new(context, dials, &tls), "a connection");
        strads_err err = sti_tls_handshake(tls, &done);
        while (!err && left > 0) {
            void *to = sti_tls_space(tls, &space);
            const size_t n = left < space ? left : space;
            memcpy(to, from, n);
            sti_tls_feed(tls, n);
            from += n;
            left -= n;
            err = sti_tls_handshake(tls, &done);
        }
        fuzz_require(!done, "without the token no handshake is completed");
        sti_tls_free(tls);
    }
}

static void take_token(const uint8_t *bytes, size_t size)
{
    sti_token token;
    if (!sti_token_read(fuzz_path(0, bytes, size), &token))
        fuzz_require(token.size >= STI_TOKEN_MIN && token.size <= STI_TOKEN_MAX,
                     "a token of the right size");
}

/* The first byte is the message's kind. */
static void take_message(const uint8_t *bytes, size_t size)
{
    static const strads_phase phase = {.name = "update"};
    static const uint32_t node_of[] = {0, 1};
    static const sti_run run = {.program = &strads_program_lasso,
                                .shape = {.parameters = 40,
                                          .width = 1,
                                          .block_max = 8},
                                .phases = &phase,
                                .n_phases = 1,
                                .probe_phase = 1,
                                .partitions = 2,
                                .workers = 2,
                                .node_of = node_of,
                                .nodes = 2,
                                .shards = 1,
                                .schedulers = 1,
                                .pools = 1};
    sti_buffer *copy = NULL;
    if (size < 4)
        return;
    sti_msg msg = {.kind = (sti_msg_kind)(bytes[0] % 16),
                   .to = bytes[1],
                   .partition = bytes[2] % 2,
                   .slice = bytes[3]};
    fuzz_require(!sti_buffer_new(size - 4, &copy), "memory");
    memcpy(copy->bytes, bytes + 4, size - 4);
    if (!sti_msg_decode(&run, copy->bytes, size - 4, &copy->head, &msg))
        sti_object_drop(msg.object);
    sti_object_drop(copy);
}

static void take_terms(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_require(text != NULL, "memory");
    memcpy(text, bytes, size);
    text[size] = '\0';
    sti_config_strings strings = {0};
    strads_engine_options options = {.size = sizeof options};
    sti_run_terms terms = {.program = &strads_program_lasso,
                           .options = &options,
                           .nodes = 3};
    (void)sti_run_terms_read(text, &strings, &terms);
    sti_run_terms_free(&terms);
    sti_config_strings_free(&strings);
    free(text);
}

const fuzz_target fuzz_peers[] = {{"frame", take_frame},
                                  {"hello", take_hello},
                                  {"handshake", take_handshake},
                                  {"token", take_token},
                                  {"message", take_message},
                                  {"terms", take_terms},
                                  {NULL, NULL}};
