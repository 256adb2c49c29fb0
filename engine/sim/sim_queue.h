/* engine/sim/sim_queue.h - future events of a simulated run: a binary heap by
 * virtual time, and by order of entry among equals. */
#ifndef STI_SIM_QUEUE_H
#define STI_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/role.h"

typedef enum sti_sim_what {
    STI_SIM_ROLE = 0,     /* an event for a role */
    STI_SIM_REACHES = 1,  /* a message's first byte reaches its node's port */
    STI_SIM_RECEIVED = 2, /* the port has received it */
} sti_sim_what;

struct sti_sim_message;

typedef struct sti_sim_item {
    uint64_t time; /* virtual, ns since the start */
    sti_sim_what what;
    sti_address to;                  /* ROLE */
    sti_event event;                 /* ROLE; `now` is set when it is popped */
    struct sti_sim_message *message; /* REACHES, RECEIVED */
} sti_sim_item;

/* The heap's element: an item's key and its place. */
typedef struct sti_sim_key {
    uint64_t time;
    uint64_t sequence; /* 0, 1, 2, ... in the order of entry */
    uint32_t place;
} sti_sim_key;

/* Zero-initialised it is empty and ready. */
typedef struct sti_sim_queue {
    sti_sim_key *heap;
    sti_sim_item *at;
    uint32_t *idle; /* free places of `at` */
    uint32_t n, capacity;
    uint64_t pushed;
} sti_sim_queue;

/* STRADS_ENOMEM: the item stays the caller's. */
strads_err sti_sim_queue_push(sti_sim_queue *queue, const sti_sim_item *item);

/* Removes the earliest item; false if there is none. */
bool sti_sim_queue_pop(sti_sim_queue *queue, sti_sim_item *out);

/* Frees only the queue; pop the items first and free their contents. */
void sti_sim_queue_free(sti_sim_queue *queue);

#endif
