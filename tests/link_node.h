/* A node for the tests of links: a net with a minimal owner. It answers every
 * HELLO with WELCOME, binds the link to the id in it, counts frames, and lets a
 * test wait for events. */
#ifndef LINK_NODE_H
#define LINK_NODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/net/link.h"

enum { LINK_NODES_MAX = 16, KIND_DATA = STI_KIND_FIRST_MESSAGE, KIND_ECHO };

typedef struct link_node {
    uint32_t id;
    sti_net *net;
    bool mute;    /* does not answer a HELLO */
    bool in_turn; /* checks that header.round of KIND_DATA counts up by 1 */

    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t event;
    bool blocked;      /* `received` waits until this is unset */
    uint64_t received; /* KIND_DATA frames */
    uint64_t bytes;    /* of their payloads */
    uint64_t echoes;   /* KIND_ECHO frames that came back */
    uint64_t out_of_turn;
    uint64_t hellos, sent_calls;
    sti_link links[LINK_NODES_MAX];      /* by node id; 0: none */
    uint64_t next_round[LINK_NODES_MAX]; /* by node id */
    sti_link last_hello;                 /* the link of the latest HELLO */
    sti_frame *last;                     /* the latest KIND_DATA frame */
    unsigned lost, strangers;
    strads_err why;
    char text[1024]; /* of the latest `lost` or `stranger` */
} link_node;

/* Opens a node on `url` (NULL: tcp loopback, any port). `options` may be NULL;
 * its listen_url, arg and events are ignored. Ends the test on failure. */
void link_node_open(link_node *node, uint32_t id, const char *url,
                    const sti_net_options *options);

/* Closes the net within 10 s; returns the result of sti_net_close. */
strads_err link_node_close(link_node *node);

/* The same, but what is not sent within `ns` is lost. */
strads_err link_node_leave(link_node *node, uint64_t ns);

/* Dials, sends HELLO and waits for the WELCOME. Returns the link. */
sti_link link_node_join(link_node *node, link_node *other);
sti_link link_node_join_url(link_node *node, const char *url, uint32_t peer);

/* Sends one KIND_DATA frame of `size` zero bytes. */
strads_err link_node_send(link_node *node, sti_link link, uint64_t round,
                          uint64_t size);

/* While a node is blocked, its `received` does not return from KIND_DATA
 * frames, so that the link is not read. */
void link_node_block(link_node *node, bool blocked);

/* Sends a KIND_ECHO frame and waits until it returns. */
void link_node_expect_alive(link_node *node, sti_link link);

/* Sends 400 frames of up to 300 KB each way at once; expects them in order.
 * `link` goes from b to a. */
void link_node_expect_both_ways(link_node *a, link_node *b, sti_link link);

/* Waits until *counter, guarded by the node's lock, is at least `wanted`. */
void link_node_wait(link_node *node, const uint64_t *counter, uint64_t wanted);
void link_node_wait_lost(link_node *node, unsigned wanted);
void link_node_wait_strangers(link_node *node, unsigned wanted);
/* Expects `word` in the text, which another event may be about to replace. */
void link_node_expect_said(link_node *node, const char *word);

/* ---- a separate process ---- */

typedef struct link_far {
    pid_t process;
    int url; /* a pipe from which it reads the URL to join */
} link_far;

/* Forks, so this process must not have threads yet. The child joins a node,
 * calls `act`, closes and exits. */
link_far link_node_fork(void (*act)(link_node *child, sti_link link));
/* Sends the child the URL to join. */
void link_node_tell(const link_far *far, const link_node *node);
/* Waits for the child's end; returns whether it succeeded. */
bool link_node_ended_well(const link_far *far);

/* ---- raw sockets, to violate the protocol ---- */

/* Returns a socket that is connected to a node's URL, tcp or ipc. */
int raw_connect(const char *url);

/* Writes all bytes; a closed connection is not an error. */
void raw_write(int fd, const void *bytes, size_t count);

/* Writes a frame: fills in the header's number and check, and no other field. A
 * NULL payload is not written. */
void raw_frame(int fd, const sti_header *header, const void *payload);

/* Reads one frame that has no payload, such as the WELCOME of a link_node. */
void raw_wait_frame(int fd);

/* Discards received bytes until the other side closes. */
void raw_wait_closed(int fd);

/* Returns a header with the checksum of an empty payload. */
sti_header raw_header(uint16_t kind, uint32_t from, uint64_t size);

#endif
