/* engine/sim/sim_wire.h - messages between simulated nodes: what they
 * carry is copied through the codec, as between processes, and their time is
 * made of costs, bytes and latency.
 *
 * Every node has one port with two directions. A message holds the sender's
 * for message_cost and its bytes, travels for the latency, then holds the
 * receiver's for its bytes and message_cost; the two transfers of its bytes
 * overlap where both ports are free. A direction serves one message at a time:
 * sending in the order of sends, receiving in the order in which first bytes
 * arrive. */
#ifndef STI_SIM_WIRE_H
#define STI_SIM_WIRE_H

#include "engine/base/trace.h"
#include "engine/sim/sim_cost.h"

typedef struct sti_sim_wire sti_sim_wire;

/* A message on its way, packed. */
typedef struct sti_sim_message {
    sti_msg msg; /* without its object */
    sti_buffer *payload;
    uint32_t from, to; /* nodes */
    uint32_t lane;     /* of the sender's, on the trace */
    sti_sim_message_time time;
    uint64_t left;                /* when the sender's port took it up */
    struct sti_sim_message *next; /* of the wire's spare ones */
} sti_sim_message;

/* Nodes 0 .. workers - 1 have a worker each, node `workers` has the others; of
 * a loop's run nodes are as sti_run_node_of says.
 * STRADS_ENOMEM. `run`, `cost` and `trace` outlive the wire. */
strads_err sti_sim_wire_new(const sti_run *run, const sti_sim_cost *cost,
                            sti_trace *trace, sti_sim_wire **out);
void sti_sim_wire_free(sti_sim_wire *wire);

/* The node of a role. */
uint32_t sti_sim_node_of(const sti_run *run, sti_address role);

/* Packs a message, whose reference stays the caller's, and takes the sender's
 * port from `now` on. *reaches: when its first byte is there. STRADS_ENOMEM. */
strads_err sti_sim_wire_send(sti_sim_wire *wire, const sti_msg *msg,
                             uint64_t now, sti_sim_message **out,
                             uint64_t *reaches);

/* Takes the receiver's port; returns when the whole message is there. */
uint64_t sti_sim_wire_reach(sti_sim_wire *wire, const sti_sim_message *message,
                            uint64_t now);

/* Unpacks a message, frees the message in any case. The reference in *msg is
 * the caller's. STRADS_ENOMEM. */
strads_err sti_sim_wire_receive(sti_sim_wire *wire, sti_sim_message *message,
                                uint64_t now, sti_msg *msg);

/* Of a message that nobody will receive. */
void sti_sim_wire_lose(sti_sim_wire *wire, sti_sim_message *message);

/* Messages and bytes (headers too) sent so far: of one kind; 0: of all. */
strads_sim_traffic sti_sim_wire_traffic(const sti_sim_wire *wire,
                                        sti_msg_kind kind);

#endif
