/* The wire owns the ports and the trace's lanes. What is under way belongs to
 * the messages. No memory is shared between nodes: a message's payload is a copy,
 * and what is unpacked refers to the message's payload alone. */
#include "engine/sim/sim_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "engine/net/frame.h"

/* Messages of one node under way at once that a trace shows; spans of one
 * track must not cross, so each takes a lane that is free. */
enum { LANES = 16 };

enum { KINDS = STI_MSG_PEER_VECTOR + 1 };

typedef struct port {
    uint64_t sends_until, receives_until;
    bool lane_taken[LANES];
    bool lane_known[LANES];
    uint32_t lane_track[LANES];
} port;

struct sti_sim_wire {
    const sti_run *run;
    const sti_sim_cost *cost;
    sti_trace *trace;
    port *ports;                       /* [workers + 1] */
    sti_writer writer;                 /* kept for its memory */
    sti_sim_message *spare;            /* the same */
    strads_sim_traffic traffic[KINDS]; /* by kind; 0: of all */
};

strads_err sti_sim_wire_new(const sti_run *run, const sti_sim_cost *cost,
                            sti_trace *trace, sti_sim_wire **out)
{
    sti_sim_wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        goto fail;
    wire->run = run;
    wire->cost = cost;
    wire->trace = trace;
    wire->ports = calloc(run->workers + (size_t)1, sizeof *wire->ports);
    if (!wire->ports)
        goto fail;
    *out = wire;
    return STRADS_OK;
fail:
    sti_sim_wire_free(wire);
    return strads_fail(STRADS_ENOMEM, "no memory for %u simulated nodes",
                       run->workers);
}

void sti_sim_wire_free(sti_sim_wire *wire)
{
    if (!wire)
        return;
    while (wire->spare) {
        sti_sim_message *message = wire->spare;
        wire->spare = message->next;
        free(message);
    }
    sti_writer_free(&wire->writer);
    free(wire->ports);
    free(wire);
}

static sti_sim_message *take_message(sti_sim_wire *wire)
{
    sti_sim_message *message = wire->spare;
    if (!message)
        return calloc(1, sizeof *message);
    wire->spare = message->next;
    *message = (sti_sim_message){0};
    return message;
}

void sti_sim_wire_lose(sti_sim_wire *wire, sti_sim_message *message)
{
    sti_object_drop(message->payload);
    message->next = wire->spare;
    wire->spare = message;
}

uint32_t sti_sim_node_of(const sti_run *run, sti_address role)
{
    if (run->program->run)
        return sti_run_node_of(run, role);
    if (role >= STI_WORKER_0)
        return role - STI_WORKER_0;
    if (role < STI_SCHEDULER_0)
        return run->workers;
    return (run->workers + role - STI_SCHEDULER_0) % (run->workers + 1);
}

strads_sim_traffic sti_sim_wire_traffic(const sti_sim_wire *wire,
                                        sti_msg_kind kind)
{
    return wire->traffic[kind];
}

static void count(strads_sim_traffic *traffic, uint64_t bytes)
{
    traffic->messages++;
    traffic->bytes += bytes;
}

/* ---- lanes of the trace ------------------------------------------------ */

static const char *span_name(sti_msg_kind kind)
{
    switch (kind) {
    case STI_MSG_DISPATCH:
        return "transfer dispatch";
    case STI_MSG_PARTIAL:
        return "transfer partial";
    case STI_MSG_RING_STEP:
        return "transfer ring step";
    default:
        return "transfer";
    }
}

/* A free lane of the sender's, or LANES. */
static uint32_t take_lane(sti_sim_wire *wire, uint32_t node)
{
    port *p = &wire->ports[node];
    uint32_t lane = 0;
    while (lane < LANES && p->lane_taken[lane])
        lane++;
    if (!wire->trace || lane == LANES)
        return LANES;
    if (!p->lane_known[lane]) {
        char name[32];
        (void)snprintf(name, sizeof name, "link %u", lane);
        p->lane_track[lane] = sti_trace_track(wire->trace, node, name);
        p->lane_known[lane] = true;
    }
    p->lane_taken[lane] = true;
    return lane;
}

static void leave_lane(sti_sim_wire *wire, const sti_sim_message *message,
                       uint64_t now)
{
    if (message->lane == LANES)
        return;
    port *p = &wire->ports[message->from];
    p->lane_taken[message->lane] = false;
    sti_trace_span(wire->trace, p->lane_track[message->lane],
                   span_name(message->msg.kind), message->left, now,
                   message->msg.round);
}

/* ---- the way ----------------------------------------------------------- */

static strads_err pack(sti_sim_wire *wire, const sti_msg *msg,
                       sti_sim_message *message)
{
    sti_writer_clear(&wire->writer);
    strads_err err = sti_msg_encode(msg, &wire->writer, NULL);
    if (err)
        return err;
    err = sti_buffer_new(wire->writer.size, &message->payload);
    if (!err && wire->writer.size)
        memcpy(message->payload->bytes, wire->writer.bytes, wire->writer.size);
    message->msg = *msg;
    message->msg.object = NULL;
    return err;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

strads_err sti_sim_wire_send(sti_sim_wire *wire, const sti_msg *msg,
                             uint64_t now, sti_sim_message **out,
                             uint64_t *reaches)
{
    sti_sim_message *message = take_message(wire);
    if (!message)
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    strads_err err = pack(wire, msg, message);
    if (err) {
        sti_sim_wire_lose(wire, message);
        return err;
    }
    message->from = sti_sim_node_of(wire->run, msg->from);
    message->to = sti_sim_node_of(wire->run, msg->to);
    message->lane = take_lane(wire, message->from);
    const uint64_t size = STI_HEADER_BYTES + message->payload->size;
    message->time =
        sti_sim_cost_message(wire->cost, wire->traffic[0].messages, size);
    count(&wire->traffic[0], size);
    count(&wire->traffic[msg->kind], size);
    port *p = &wire->ports[message->from];
    message->left = later(now, p->sends_until);
    const uint64_t first = sti_sim_after(message->left, message->time.send);
    p->sends_until = sti_sim_after(first, message->time.bytes);
    *reaches = sti_sim_after(first, message->time.latency);
    *out = message;
    return STRADS_OK;
}

uint64_t sti_sim_wire_reach(sti_sim_wire *wire, const sti_sim_message *message,
                            uint64_t now)
{
    port *p = &wire->ports[message->to];
    const uint64_t in =
        sti_sim_after(later(now, p->receives_until), message->time.bytes);
    p->receives_until = sti_sim_after(in, message->time.receive);
    return p->receives_until;
}

strads_err sti_sim_wire_receive(sti_sim_wire *wire, sti_sim_message *message,
                                uint64_t now, sti_msg *msg)
{
    *msg = message->msg;
    leave_lane(wire, message, now);
    strads_err err =
        sti_msg_decode(wire->run, message->payload->bytes,
                       message->payload->size, &message->payload->head, msg);
    sti_sim_wire_lose(wire, message);
    return err;
}
