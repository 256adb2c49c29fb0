/* tests/nodes_team.h - a run on several nodes inside one process: node 0 on the
 * caller's thread, the others on threads of their own, each an engine with its
 * own connections. No part of it knows Criterion. */
#ifndef TESTS_NODES_TEAM_H
#define TESTS_NODES_TEAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "strads/strads.h"

enum { TEAM_MAX = 8 };

/* How a node ended. */
typedef struct team_end {
    strads_err err;
    char text[1024];
} team_end;

typedef struct team {
    const strads_program *program;
    const void *config;
    strads_engine_options options; /* size, listen and nodes are filled in */
    const char *listen;            /* NULL: tcp on the loopback */
    uint32_t nodes;
    uint32_t workers[TEAM_MAX];  /* 0: 1 */
    const char *trace[TEAM_MAX]; /* NULL: none */
    const volatile bool *stop;   /* of the others; NULL: none */
    double timeout;              /* .. to join; 0: the usual */
    bool insecure;
    const char *joins[TEAM_MAX]; /* where it listens; NULL: tcp */
    uint64_t rows[TEAM_MAX];     /* of the toy matrix; 0: 23 */
    const char *path;            /* not NULL: this file, not a toy matrix */
    const char *urls[TEAM_MAX];  /* what it joins; NULL: node 0's own URL */
    void (*listening)(void *arg, const char *url); /* before anybody joins */
    void *arg;
} team;

/* Runs it; *out is NULL unless node 0 has a result. end[k] is node k's, in the
 * order in which they were started. */
void team_run(const team *team, strads_result **out, team_end end[TEAM_MAX]);

/* One node on a thread of its own. */
typedef struct team_node {
    const team *team;
    uint32_t node;
    enum { TEAM_WORKS, TEAM_KEEPS, TEAM_JOINS } until; /* how far it goes */
    strads_engine *engine; /* given, or joined; freed when it has worked */
    char url[300];
    team_end end;
    atomic_bool ended;
    pthread_t thread;
} team_node;

/* Starts it; it joins there, or has its engine (NULL). */
void team_node_start(team_node *node, const char *url);
/* Waits until it has ended. */
void team_node_wait(team_node *node);

/* The steps of one node, for tests that take them apart. */
strads_err team_listen(const team *team, strads_engine **out);
strads_err team_join(const team *team, uint32_t node, const char *url,
                     strads_engine **out);
/* Keeps, reads and runs; `out` may be NULL. */
strads_err team_work(const team *team, uint32_t node, strads_engine *engine,
                     strads_result **out);

#endif
