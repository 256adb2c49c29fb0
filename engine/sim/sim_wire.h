/* engine/sim/sim_wire.h - future events of a simulated run: events for roles,
 * and messages between nodes. Messages are encoded and decoded as between
 * processes; their times depend on costs, bytes and latency.
 *
 * Every node has one port with two directions. A message occupies the sender's
 * port for message_cost and its bytes, travels for the latency, then occupies
 * the receiver's port for its bytes and message_cost. The two transfers of its
 * bytes overlap if both ports are free. A direction serves one message at a
 * time: sending in the order of sends, receiving in the order in which first
 * bytes arrive. A loop's links are streams, which keep their order. */
#ifndef STI_SIM_WIRE_H
#define STI_SIM_WIRE_H

#include "engine/base/trace.h"
#include "engine/sim/sim_cost.h"
#include "engine/sim/sim_queue.h"

typedef struct sti_sim_wire sti_sim_wire;

/* Nodes 0 .. workers - 1 have a worker each, node `workers` has the other
 * roles; in a loop's run, sti_run_node_of gives the nodes. `loses`: whether a
 * message between nodes is lost for good; NULL: never. STRADS_ENOMEM. `run`,
 * `cost` and `trace` outlive the wire. */
strads_err sti_sim_wire_new(const sti_run *run, const sti_sim_cost *cost,
                            sti_trace *trace,
                            bool (*loses)(void *arg, const sti_msg *msg),
                            void *arg, sti_sim_wire **out);
void sti_sim_wire_free(sti_sim_wire *wire);

/* The node of a role. */
uint32_t sti_sim_node_of(const sti_run *run, sti_address role);

/* Puts an event for a role, at `now` or later. Takes over its message's
 * reference. STRADS_ENOMEM. */
strads_err sti_sim_wire_put(sti_sim_wire *wire, uint64_t time, sti_address to,
                            sti_event event);

/* Sends a message now; within a node it arrives at once. Takes over the
 * reference. STRADS_ENOMEM. */
strads_err sti_sim_wire_send(sti_sim_wire *wire, const sti_msg *msg,
                             uint64_t now);

/* Gets the next event for a role, with its time and `now`; the caller owns its
 * reference. *some is false if no event is left. STRADS_ENOMEM. */
strads_err sti_sim_wire_next(sti_sim_wire *wire, sti_sim_item *item,
                             bool *some);

/* Messages and bytes (with headers) sent so far, of one kind, or of all for
 * 0. */
strads_sim_traffic sti_sim_wire_traffic(const sti_sim_wire *wire,
                                        sti_msg_kind kind);

/* Events, their digest, messages and bytes so far; all other fields are 0. */
strads_sim_outcome sti_sim_wire_outcome(const sti_sim_wire *wire);

#endif
