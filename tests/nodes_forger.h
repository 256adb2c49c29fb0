/* tests/nodes_forger.h - a peer that says what a test wants it to say: a net of
 * its own, one link, and a record of what comes back. */
#ifndef TESTS_NODES_FORGER_H
#define TESTS_NODES_FORGER_H

#include <pthread.h>
#include <stdbool.h>

#include "engine/net/link.h"
#include "strads/program.h"

typedef struct forger {
    sti_net *net;
    sti_link link;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t event;
    bool welcomed, dispatched, rejected, lost;
    bool called;     /* another node has dialled, and said HELLO .. */
    bool silent;     /* .. which is not answered .. */
    sti_link caller; /* .. on this link */
    char text[1024]; /* of the REJECT, or else of the loss */
} forger;

/* Listens only; false when that fails. */
bool forger_open_alone(forger *f);
/* Dials, too; false when that fails. */
bool forger_open(forger *f, const char *url);
/* Breaks the link without a goodbye, and goes on listening. */
void forger_break(forger *f);
/* Says goodbye. */
void forger_close(forger *f);

/* A HELLO of this very build, to be changed before it is said. */
sti_hello forger_hello(const forger *f);
void forger_say(forger *f, uint16_t kind, uint32_t from,
                const sti_hello *hello);
/* A frame of so many zero bytes. */
void forger_send(forger *f, uint16_t kind, uint32_t from, uint64_t size);

/* As node 1: ready, with the toy matrix of nodes_team. */
void forger_say_ready(forger *f, const strads_program *program,
                      uint32_t partitions);

/* Waits until it is welcomed, or until the link has gone. */
void forger_wait_welcome(forger *f);
/* .. until it is sent work, or told to begin. */
void forger_wait_dispatch(forger *f);
void forger_wait_lost(forger *f);
/* .. until another node has called. */
void forger_wait_called(forger *f);
/* As node 1: who has called is met. */
void forger_answer(forger *f);

/* Waits until node 0, which still gathers, counts a node that listens at
 * `member`, or counts none such any more. False: it answers otherwise. */
bool forger_wait_counted(const char *url, const char *member, bool counted);

#endif
