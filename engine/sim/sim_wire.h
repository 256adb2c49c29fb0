/* engine/sim/sim_wire.h - what is still to come in a simulated run: events for
 * roles, and messages between nodes. What those carry is copied through the
 * codec, as between processes, and their time is made of costs, bytes and latency.
 *
 * Every node has one port with two directions. A message holds the sender's
 * for message_cost and its bytes, travels for the latency, then holds the
 * receiver's for its bytes and message_cost; the two transfers of its bytes
 * overlap where both ports are free. A direction serves one message at a time:
 * sending in the order of sends, receiving in the order in which first bytes
 * arrive. A loop's links are streams: there nothing overtakes. */
#ifndef STI_SIM_WIRE_H
#define STI_SIM_WIRE_H

#include "engine/base/trace.h"
#include "engine/sim/sim_cost.h"
#include "engine/sim/sim_queue.h"

typedef struct sti_sim_wire sti_sim_wire;

/* Nodes 0 .. workers - 1 have a worker each, node `workers` has the others; of
 * a loop's run nodes are as sti_run_node_of says. `loses` says whether a message
 * between nodes gets lost, for good; NULL: none does.
 * STRADS_ENOMEM. `run`, `cost` and `trace` outlive the wire. */
strads_err sti_sim_wire_new(const sti_run *run, const sti_sim_cost *cost,
                            sti_trace *trace,
                            bool (*loses)(void *arg, const sti_msg *msg),
                            void *arg, sti_sim_wire **out);
void sti_sim_wire_free(sti_sim_wire *wire);

/* The node of a role. */
uint32_t sti_sim_node_of(const sti_run *run, sti_address role);

/* An event for a role, at a time that is not over. Takes over its message's
 * reference. STRADS_ENOMEM. */
strads_err sti_sim_wire_put(sti_sim_wire *wire, uint64_t time, sti_address to,
                            sti_event event);

/* A message that leaves now: within its node it is there at once. Takes over the
 * reference. STRADS_ENOMEM. */
strads_err sti_sim_wire_send(sti_sim_wire *wire, const sti_msg *msg,
                             uint64_t now);

/* The next event for a role, whose reference is the caller's, with its time and
 * its `now`; *some is false when nothing is left to come. STRADS_ENOMEM. */
strads_err sti_sim_wire_next(sti_sim_wire *wire, sti_sim_item *item,
                             bool *some);

/* Messages and bytes (headers too) sent so far: of one kind; 0: of all. */
strads_sim_traffic sti_sim_wire_traffic(const sti_sim_wire *wire,
                                        sti_msg_kind kind);

/* Events, their digest, messages and bytes so far; all else is 0. */
strads_sim_outcome sti_sim_wire_outcome(const sti_sim_wire *wire);

#endif
