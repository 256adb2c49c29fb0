/* The wire owns the queue, the ports and the trace's lanes. Nodes share no
 * memory: a message's payload is a copy, and the decoded message refers only to
 * that payload. */
#include "engine/sim/sim_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "engine/round/message_codec.h"
#include "engine/net/frame.h"

enum { KINDS = STI_MSG_PEER_VECTOR + 1 };

typedef struct port {
    uint64_t sends_until, receives_until;
    sti_trace_lanes lanes; /* of the messages that it sends */
} port;

/* An encoded message in flight. */
typedef struct sti_sim_message {
    sti_msg msg; /* without its object */
    sti_buffer *payload;
    uint32_t from, to; /* nodes */
    uint32_t lane;     /* of the sender's, on the trace */
    sti_sim_message_time time;
    uint64_t left;                /* when the sender's port started with it */
    struct sti_sim_message *next; /* in the wire's list of spare messages */
} sti_sim_message;

struct sti_sim_wire {
    const sti_run *run;
    const sti_sim_cost *cost;
    sti_trace *trace;
    bool (*loses)(void *arg, const sti_msg *msg);
    void *arg;
    sti_sim_queue queue;
    XXH3_state_t *digest; /* of the events so far */
    uint64_t events;
    port *ports; /* [workers + 1] */
    /* [nodes x (2 shards + nodes)] see keep_order; NULL: a run of rounds */
    uint64_t *last_there;
    sti_writer writer;                 /* kept for its memory */
    sti_sim_message *spare;            /* the same */
    strads_sim_traffic traffic[KINDS]; /* by kind; 0: of all */
};

strads_err sti_sim_wire_new(const sti_run *run, const sti_sim_cost *cost,
                            sti_trace *trace,
                            bool (*loses)(void *arg, const sti_msg *msg),
                            void *arg, sti_sim_wire **out)
{
    const size_t links = (size_t)run->nodes * (2 * run->shards + run->nodes);
    sti_sim_wire *wire = calloc(1, sizeof *wire);
    if (!wire)
        goto fail;
    wire->run = run;
    wire->cost = cost;
    wire->trace = trace;
    wire->loses = loses;
    wire->arg = arg;
    wire->ports = calloc(run->workers + (size_t)1, sizeof *wire->ports);
    if (run->program->run)
        wire->last_there = calloc(links, sizeof *wire->last_there);
    wire->digest = XXH3_createState();
    if (!wire->ports || (run->program->run && !wire->last_there) ||
        !wire->digest || XXH3_64bits_reset(wire->digest) != XXH_OK)
        goto fail;
    *out = wire;
    return STRADS_OK;
fail:
    sti_sim_wire_free(wire);
    return strads_fail(STRADS_ENOMEM, "no memory for %u simulated nodes",
                       run->workers);
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

static void give_message(sti_sim_wire *wire, sti_sim_message *message)
{
    sti_object_drop(message->payload);
    message->next = wire->spare;
    wire->spare = message;
}

static void drop_item(sti_sim_wire *wire, const sti_sim_item *item)
{
    if (item->what != STI_SIM_ROLE)
        give_message(wire, item->message);
    else if (item->event.kind == STI_EVENT_MESSAGE)
        sti_object_drop(item->event.msg.object);
}

void sti_sim_wire_free(sti_sim_wire *wire)
{
    sti_sim_item item;
    if (!wire)
        return;
    while (sti_sim_queue_pop(&wire->queue, &item))
        drop_item(wire, &item);
    sti_sim_queue_free(&wire->queue);
    while (wire->spare) {
        sti_sim_message *message = wire->spare;
        wire->spare = message->next;
        free(message);
    }
    sti_writer_free(&wire->writer);
    (void)XXH3_freeState(wire->digest);
    free(wire->last_there);
    free(wire->ports);
    free(wire);
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

strads_sim_outcome sti_sim_wire_outcome(const sti_sim_wire *wire)
{
    return (strads_sim_outcome){.events = wire->events,
                                .messages = wire->traffic[0].messages,
                                .bytes = wire->traffic[0].bytes,
                                .digest = XXH3_64bits_digest(wire->digest)};
}

static void count_message(strads_sim_traffic *traffic, uint64_t bytes)
{
    traffic->messages++;
    traffic->bytes += bytes;
}

/* ---- transfer ---------------------------------------------------------- */

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

static strads_err encode_message(sti_sim_wire *wire, const sti_msg *msg,
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

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static strads_err push_item(sti_sim_wire *wire, const sti_sim_item *item)
{
    strads_err err = sti_sim_queue_push(&wire->queue, item);
    if (err)
        drop_item(wire, item);
    return err;
}

strads_err sti_sim_wire_put(sti_sim_wire *wire, uint64_t time, sti_address to,
                            sti_event event)
{
    const sti_sim_item item = {.time = time, .to = to, .event = event};
    return push_item(wire, &item);
}

/* Keeps messages in order between a client and a shard or another client, in
 * each direction, whatever the jitter. */
static uint64_t keep_order(sti_sim_wire *wire, const sti_msg *msg,
                           uint64_t there)
{
    const sti_run *run = wire->run;
    const bool up = msg->to < STI_CLIENT_0;
    const uint32_t client = (up ? msg->from : msg->to) - STI_CLIENT_0;
    const uint32_t shard = (up ? msg->to : msg->from) - STI_SHARD_0;
    size_t link = 2 * ((size_t)client * run->shards + shard) + up;
    if (msg->kind == STI_MSG_PEER_VECTOR)
        link = (size_t)run->nodes * (2 * run->shards + client) + msg->from -
               STI_CLIENT_0;
    uint64_t *last = &wire->last_there[link];
    *last = later_of(there, *last);
    return *last;
}

/* Encodes a message and occupies the sender's port; the next event is the
 * arrival of the first byte. */
static strads_err start_transfer(sti_sim_wire *wire, const sti_msg *msg,
                                 uint64_t now)
{
    sti_sim_message *message = take_message(wire);
    if (!message)
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    strads_err err = encode_message(wire, msg, message);
    if (err) {
        give_message(wire, message);
        return err;
    }
    message->from = sti_sim_node_of(wire->run, msg->from);
    message->to = sti_sim_node_of(wire->run, msg->to);
    port *p = &wire->ports[message->from];
    message->lane =
        sti_trace_take_lane(wire->trace, &p->lanes, message->from, "link");
    const uint64_t size = STI_HEADER_BYTES + message->payload->size;
    message->time =
        sti_sim_cost_message(wire->cost, wire->traffic[0].messages, size);
    count_message(&wire->traffic[0], size);
    count_message(&wire->traffic[msg->kind], size);
    message->left = later_of(now, p->sends_until);
    const uint64_t first = sti_sim_after(message->left, message->time.send);
    p->sends_until = sti_sim_after(first, message->time.bytes);
    sti_sim_item item = {.time = sti_sim_after(first, message->time.latency),
                         .what = STI_SIM_REACHES,
                         .message = message};
    if (wire->last_there)
        item.time = keep_order(wire, msg, item.time);
    return push_item(wire, &item);
}

strads_err sti_sim_wire_send(sti_sim_wire *wire, const sti_msg *msg,
                             uint64_t now)
{
    strads_err err = STRADS_OK;
    if (sti_sim_node_of(wire->run, msg->from) ==
        sti_sim_node_of(wire->run, msg->to))
        return sti_sim_wire_put(wire, now, msg->to, (sti_event){.msg = *msg});
    if (!wire->loses || !wire->loses(wire->arg, msg))
        err = start_transfer(wire, msg, now);
    sti_object_drop(msg->object);
    return err;
}

/* Occupies the receiver's port; returns when the whole message has arrived. */
static uint64_t occupy_port(sti_sim_wire *wire, const sti_sim_message *message,
                            uint64_t now)
{
    port *p = &wire->ports[message->to];
    const uint64_t in =
        sti_sim_after(later_of(now, p->receives_until), message->time.bytes);
    p->receives_until = sti_sim_after(in, message->time.receive);
    return p->receives_until;
}

/* Decodes an arrived message. */
static strads_err decode_message(sti_sim_wire *wire, sti_sim_message *message,
                                 uint64_t now, sti_msg *msg)
{
    *msg = message->msg;
    if (message->lane < STI_TRACE_LANES) {
        sti_trace_lanes *lanes = &wire->ports[message->from].lanes;
        lanes->busy &= ~(UINT32_C(1) << message->lane);
        sti_trace_span(wire->trace, lanes->track[message->lane],
                       span_name(msg->kind), message->left, now, msg->round);
    }
    strads_err err =
        sti_msg_decode(wire->run, message->payload->bytes,
                       message->payload->size, &message->payload->head, msg);
    give_message(wire, message);
    return err;
}

/* ---- events ------------------------------------------------------------ */

static void record_event(sti_sim_wire *wire, const sti_sim_item *item)
{
    const sti_event *event = &item->event;
    uint64_t words[4] = {item->time, (uint64_t)item->to << 32 | event->kind};
    if (event->kind == STI_EVENT_MESSAGE) {
        words[2] = event->msg.round;
        words[3] = (uint64_t)event->msg.partition << 32 |
                   (uint64_t)event->msg.slice << 16 | event->msg.kind;
    } else if (event->kind == STI_EVENT_DONE && event->job) {
        words[2] = event->job->round;
        words[3] = event->job->call;
        if (item->to >= STI_WORKER_0)
            words[3] |=
                (uint64_t)((const sti_worker_job *)event->job)->partition << 32;
    }
    (void)XXH3_64bits_update(wire->digest, words, sizeof words);
    wire->events++;
}

strads_err sti_sim_wire_next(sti_sim_wire *wire, sti_sim_item *item, bool *some)
{
    strads_err err = STRADS_OK;
    while ((*some = sti_sim_queue_pop(&wire->queue, item)) &&
           item->what == STI_SIM_REACHES) {
        item->time = occupy_port(wire, item->message, item->time);
        item->what = STI_SIM_RECEIVED;
        err = push_item(wire, item);
        if (err)
            return err;
    }
    if (*some && item->what == STI_SIM_RECEIVED) {
        item->event = (sti_event){.kind = STI_EVENT_MESSAGE};
        err = decode_message(wire, item->message, item->time, &item->event.msg);
        item->to = item->event.msg.to;
    }
    if (*some && !err)
        record_event(wire, item);
    item->event.now = item->time;
    return err;
}
