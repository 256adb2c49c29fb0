/* tests/nodes_team.h - a run on several nodes inside one process: node 0 on the
 * caller's thread, each other node on its own thread. Each has its own engine
 * and connections. Does not use Criterion. */
#ifndef TESTS_NODES_TEAM_H
#define TESTS_NODES_TEAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "strads/strads.h"

enum { TEAM_MAX = 8 };

/* The result of a node. */
typedef struct team_end {
    strads_err err;
    char text[1024];
} team_end;

typedef struct team {
    const strads_program *program;
    const void *config;
    strads_engine_options
        options;        /* team_run fills in size, listen and nodes */
    const char *listen; /* NULL: tcp on the loopback */
    uint32_t nodes;
    uint32_t workers[TEAM_MAX];  /* 0: 1 */
    const char *trace[TEAM_MAX]; /* NULL: none */
    const volatile bool *stop;   /* of the other nodes; NULL: none */
    double timeout;              /* of their join; 0: the default */
    bool insecure;
    const char *joins[TEAM_MAX]; /* URL on which it listens; NULL: tcp */
    uint64_t rows[TEAM_MAX];     /* of the toy matrix; 0: 23 */
    const char *path;            /* a file to read instead of a toy matrix */
    const char *urls[TEAM_MAX];  /* URL that it joins; NULL: node 0's URL */
    void (*listening)(void *arg,
                      const char *url); /* called before nodes join */
    void *arg;
} team;

/* Runs a team. *out is NULL if node 0 has no result. end[k] is the result of
 * the k-th node that was started. */
void team_run(const team *team, strads_result **out, team_end end[TEAM_MAX]);

/* A node on its own thread. */
typedef struct team_node {
    const team *team;
    uint32_t node;
    enum { TEAM_WORKS, TEAM_KEEPS, TEAM_JOINS } until; /* its last step */
    strads_engine
        *engine; /* from the caller, or joined; freed after TEAM_WORKS */
    char url[300];
    team_end end;
    atomic_bool ended;
    pthread_t thread;
} team_node;

/* Starts a node, which joins `url`; NULL: it uses its `engine`. */
void team_node_start(team_node *node, const char *url);
/* Waits until the node has ended. */
void team_node_wait(team_node *node);

/* The single steps of a node. */
strads_err team_listen(const team *team, strads_engine **out);
strads_err team_join(const team *team, uint32_t node, const char *url,
                     strads_engine **out);
/* Keeps partitions, reads data and runs; `out` may be NULL. */
strads_err team_work(const team *team, uint32_t node, strads_engine *engine,
                     strads_result **out);

#endif
