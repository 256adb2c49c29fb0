/* tests/nodes_forger.h - a peer that sends arbitrary frames: its own net, one
 * link to node 0, and a record of the answers. */
#ifndef TESTS_NODES_FORGER_H
#define TESTS_NODES_FORGER_H

#include <pthread.h>
#include <stdbool.h>

#include "engine/net/link.h"
#include "strads/program.h"

typedef struct forger {
    sti_net *net;
    sti_link link;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t event;
    bool welcomed, dispatched, rejected, lost;
    bool called;     /* another node has dialled and sent HELLO */
    bool silent;     /* such HELLOs are not answered */
    sti_link caller; /* the link of that HELLO */
    char text[1024]; /* of the REJECT, otherwise of the loss */
} forger;

/* Only listens; false on failure. */
bool forger_open_alone(forger *f);
/* Also dials; false on failure. */
bool forger_open(forger *f, const char *url);
/* Breaks the link without a goodbye, and keeps listening. */
void forger_break(forger *f);
/* Closes the net with a goodbye. */
void forger_close(forger *f);

/* Returns a HELLO of this build; a test may change it before it sends it. */
sti_hello forger_hello(const forger *f);
void forger_say(forger *f, uint16_t kind, uint32_t from,
                const sti_hello *hello);
/* Sends a frame with `size` zero bytes. */
void forger_send(forger *f, uint16_t kind, uint32_t from, uint64_t size);

/* As node 1: sends READY for the toy matrix of nodes_team. */
void forger_say_ready(forger *f, const strads_program *program,
                      uint32_t partitions);

/* Waits for WELCOME, or until the link is lost. */
void forger_wait_welcome(forger *f);
/* Waits for a DISPATCH or a LOOP's GO. */
void forger_wait_dispatch(forger *f);
void forger_wait_lost(forger *f);
/* Waits until another node has dialled and sent HELLO. */
void forger_wait_called(forger *f);
/* As node 1: answers that HELLO with SEEN. */
void forger_answer(forger *f);

/* Waits until node 0, which gathers nodes, counts (`counted`) or does not count
 * a node that listens at `member`. False: an unexpected answer. */
bool forger_wait_counted(const char *url, const char *member, bool counted);

#endif
