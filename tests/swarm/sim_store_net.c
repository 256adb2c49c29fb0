/* Frames in flight. The network owns the state of the links; letters belong to
 * the caller until they arrive. Sent and received messages share no memory. A
 * role that changes a message after sending it, or reads one after releasing
 * it, causes damage that no checksum detects but the checker does. */
#include "tests/swarm/sim_store_net.h"

#include <stdlib.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "engine/store/message.h"
#include "engine/net/frame.h"

enum { KIND_ROLE = STI_KIND_FIRST_MESSAGE + 16, POISON = 0xDB };

strads_err sti_sim_net_open(uint32_t nodes, uint64_t seed,
                            const sti_sim_weather *weather, sti_sim_net *net)
{
    *net =
        (sti_sim_net){.weather = *weather,
                      .random =
                          sti_random_stream(seed, STI_PURPOSE_ENGINE + 200, 0),
                      .nodes = nodes,
                      .links =
                          calloc((size_t)nodes * nodes, sizeof *net->links)};
    return net->links ? STRADS_OK
                      : strads_fail(STRADS_ENOMEM,
                                    "no memory for %u simulated nodes", nodes);
}

void sti_sim_net_close(sti_sim_net *net)
{
    sti_writer_free(&net->writer);
    free(net->links);
}

static sti_sim_link *link_of(sti_sim_net *net, uint32_t from, uint32_t to)
{
    return &net->links[(size_t)from * net->nodes + to];
}

static bool by_chance(sti_sim_net *net, double chance)
{
    return chance > 0 && sti_random_unit(&net->random) < chance;
}

static uint64_t up_to(sti_sim_net *net, uint64_t most)
{
    return most ? sti_random_below(&net->random, most + 1) : 0;
}

/* ---- letters ----------------------------------------------------------- */

static void letter_destroy(sti_object *object)
{
    sti_sim_letter *letter = (sti_sim_letter *)object;
    memset(letter->bytes, POISON, letter->size);
    free(letter->bytes);
    free(letter);
}

static strads_err new_letter(const sti_sim_net *net, const sti_msg *msg,
                             sti_sim_letter **out)
{
    const sti_writer *w = &net->writer;
    uint64_t size = STI_HEADER_BYTES + w->size;
    sti_sim_letter *letter = calloc(1, sizeof *letter);
    unsigned char *bytes =
        aligned_alloc(STI_PAYLOAD_ALIGN, (size + STI_PAYLOAD_ALIGN - 1) /
                                             STI_PAYLOAD_ALIGN *
                                             STI_PAYLOAD_ALIGN);
    if (!letter || !bytes) {
        free(letter);
        free(bytes);
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    }
    const sti_part payload = {.bytes = w->bytes, .size = w->size};
    const sti_header header = {.kind = (uint16_t)(KIND_ROLE + (int)msg->kind),
                               .index = msg->to,
                               .round = msg->round,
                               .size = w->size,
                               .checksum = sti_frame_checksum(&payload, 1)};
    sti_frame_encode_header(&header, bytes);
    if (w->size)
        memcpy(bytes + STI_HEADER_BYTES, w->bytes, w->size);
    sti_object_init(&letter->head, letter_destroy);
    letter->size = size;
    letter->bytes = bytes;
    *out = letter;
    return STRADS_OK;
}

static void damage(sti_sim_net *net, sti_sim_letter *letter)
{
    uint64_t bit = sti_random_below(&net->random, letter->size * 8);
    letter->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    letter->damaged = true;
    net->damaged++;
}

/* ---- transfer ----------------------------------------------------------- */

static uint64_t way(sti_sim_net *net)
{
    const sti_sim_weather *w = &net->weather;
    uint64_t ns = w->latency_ns + up_to(net, w->jitter_ns);
    if (by_chance(net, w->late))
        ns += w->late_ns + up_to(net, w->late_ns);
    return ns;
}

static strads_err post(sti_sim_net *net, sti_sim_link *link, const sti_msg *msg,
                       uint64_t now, sti_sim_fate *fate)
{
    sti_sim_letter *letter = NULL;
    strads_err err = new_letter(net, msg, &letter);
    if (err)
        return err;
    uint64_t there = now + way(net);
    if (net->weather.ordered && there <= link->last_there)
        there = link->last_there + 1;
    link->last_there = there > link->last_there ? there : link->last_there;
    if (by_chance(net, net->weather.damaged))
        damage(net, letter);
    letter->sent = now;
    fate->letter[fate->n] = letter;
    fate->there[fate->n++] = there;
    return STRADS_OK;
}

static strads_err write_letter(sti_sim_net *net, const sti_msg *msg)
{
    sti_writer_clear(&net->writer);
    return sti_msg_encode(msg, &net->writer, NULL);
}

strads_err sti_sim_net_send(sti_sim_net *net, uint32_t from, uint32_t to,
                            const sti_msg *msg, uint64_t now,
                            sti_sim_fate *fate)
{
    sti_sim_link *link = link_of(net, from, to);
    *fate = (sti_sim_fate){0};
    net->frames++;
    const bool cut = now < link->cut_until;
    const bool lost = cut || by_chance(net, net->weather.lost);
    net->lost += lost;
    if (lost)
        return STRADS_OK;
    strads_err err = write_letter(net, msg);
    if (err)
        return err;
    net->bytes += STI_HEADER_BYTES + net->writer.size;
    err = post(net, link, msg, now, fate);
    if (!err && by_chance(net, net->weather.doubled)) {
        net->doubled++;
        err = post(net, link, msg, now, fate);
    }
    for (uint32_t k = 0; k < fate->n; k++) {
        fate->letter[k]->from = from;
        fate->letter[k]->to = to;
    }
    return err;
}

/* Reads a frame in place: the payload stays in the letter. */
static strads_err read_letter(sti_sim_letter *letter, sti_msg *msg)
{
    sti_frame frame = {.payload = letter->bytes + STI_HEADER_BYTES};
    strads_err err = sti_frame_decode_header(letter->bytes, UINT64_C(1) << 32,
                                             &frame.header);
    if (!err)
        err = sti_frame_verify(&frame);
    if (err)
        return err;
    *msg = (sti_msg){.kind = (sti_msg_kind)(frame.header.kind - KIND_ROLE),
                     .to = frame.header.index,
                     .round = frame.header.round};
    return STRADS_OK;
}

strads_err sti_sim_net_receive(sti_sim_net *net, sti_sim_letter *letter,
                               uint64_t now, bool *arrived, sti_msg *msg)
{
    const sti_sim_link *link = link_of(net, letter->from, letter->to);
    strads_err err = STRADS_OK;
    *arrived = false;
    if (now < link->cut_until || letter->sent < link->broken_at) {
        net->lost++;
    } else if (read_letter(letter, msg)) {
        net->refused++;
        if (!letter->damaged)
            err = strads_fail(STRADS_EPEER,
                              "a frame was refused that nobody damaged: %s",
                              strads_error_text());
    } else if (letter->damaged) {
        err = strads_fail(STRADS_EPEER, "a damaged frame was not refused");
    } else {
        *arrived = true;
        err =
            sti_msg_decode(NULL, letter->bytes + STI_HEADER_BYTES,
                           letter->size - STI_HEADER_BYTES, &letter->head, msg);
    }
    sti_object_drop(letter);
    return err;
}

void sti_sim_net_cut(sti_sim_net *net, uint32_t a, uint32_t b, uint64_t until)
{
    sti_sim_link *ways[] = {link_of(net, a, b), link_of(net, b, a)};
    for (int k = 0; k < 2; k++)
        if (until > ways[k]->cut_until)
            ways[k]->cut_until = until;
}

void sti_sim_net_break(sti_sim_net *net, uint32_t a, uint32_t b, uint64_t now,
                       uint64_t until)
{
    sti_sim_net_cut(net, a, b, until);
    link_of(net, a, b)->broken_at = link_of(net, b, a)->broken_at = now + 1;
}
