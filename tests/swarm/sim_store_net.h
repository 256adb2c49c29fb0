/* tests/swarm/sim_store_net.h - a faulty network between simulated nodes:
 * frames arrive late, out of order, twice, damaged or never; links are cut for
 * a while, connections break.
 *
 * A message becomes a frame, byte for byte as on a real link. The code for real
 * frames reads it back and detects damage by its checksums. */
#ifndef STI_SIM_STORE_NET_H
#define STI_SIM_STORE_NET_H

#include <stdbool.h>

#include "engine/base/random.h"
#include "engine/base/role.h"
#include "engine/base/cursor.h"

/* The quality of the network. Chances are per frame. */
typedef struct sti_sim_weather {
    uint64_t latency_ns;
    uint64_t jitter_ns; /* drawn extra latency, up to this */
    double late;        /* of an extra delay, late_ns to 2 late_ns */
    uint64_t late_ns;
    double lost, doubled, damaged;
    bool ordered; /* frames of one link keep their order */
} sti_sim_weather;

/* A frame in flight. When the last reference is dropped, its bytes are
 * overwritten. */
typedef struct sti_sim_letter {
    sti_object head;
    uint32_t from, to; /* nodes */
    uint64_t sent;
    bool damaged;
    uint64_t size;
    unsigned char *bytes; /* [size] 64-byte aligned */
} sti_sim_letter;

typedef struct sti_sim_link {
    uint64_t cut_until;  /* frames sent or arriving before that are lost */
    uint64_t broken_at;  /* frames sent before are lost */
    uint64_t last_there; /* if ordered: the last arrival */
} sti_sim_link;

typedef struct sti_sim_net {
    sti_sim_weather weather;
    sti_random random;
    uint32_t nodes;
    sti_sim_link *links; /* [nodes x nodes] from, to */
    sti_writer writer;   /* kept for its memory */
    uint64_t frames, bytes, lost, doubled, damaged, refused;
} sti_sim_net;

/* STRADS_ENOMEM. */
strads_err sti_sim_net_open(uint32_t nodes, uint64_t seed,
                            const sti_sim_weather *weather, sti_sim_net *net);
void sti_sim_net_close(sti_sim_net *net);

/* The fate of a message: up to two letters and their arrival times. */
typedef struct sti_sim_fate {
    uint32_t n;
    sti_sim_letter *letter[2];
    uint64_t there[2];
} sti_sim_fate;

/* Sends a message; the caller keeps its reference. STRADS_ENOMEM. */
strads_err sti_sim_net_send(sti_sim_net *net, uint32_t from, uint32_t to,
                            const sti_msg *msg, uint64_t now,
                            sti_sim_fate *fate);

/* Takes over the letter. *arrived: it gave a message, and the caller owns its
 * reference; otherwise it was lost, or rejected by its checksums. STRADS_EPEER:
 * a damaged letter was not rejected, or an intact one cannot be decoded. */
strads_err sti_sim_net_receive(sti_sim_net *net, sti_sim_letter *letter,
                               uint64_t now, bool *arrived, sti_msg *msg);

/* Between two nodes, in both directions. */
void sti_sim_net_cut(sti_sim_net *net, uint32_t a, uint32_t b, uint64_t until);
void sti_sim_net_break(sti_sim_net *net, uint32_t a, uint32_t b, uint64_t now,
                       uint64_t until);

#endif
