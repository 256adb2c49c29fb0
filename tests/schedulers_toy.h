/* tests/schedulers_toy.h - a program for runs with several schedulers: least
 * squares by blocks of coordinates on a toy matrix, with probes. Its aggregate
 * puts right what a pipelined round did not see, and checks what the engine
 * promises about pairs; its state counts who was chosen. No part of it knows
 * Criterion. */
#ifndef TESTS_SCHEDULERS_TOY_H
#define TESTS_SCHEDULERS_TOY_H

#include "strads/strads.h"

enum { SCHEDULERS_TOY_COLS = 17 };

/* Options of the program. */
typedef struct schedulers_toy_config {
    double threshold;     /* above 0: blocks in flight together are to depend on
                         each other by this at most */
    double rest;          /* where its policy is to rest */
    bool restless;        /* parameters move for ever, by 1 / (1 + number) */
    uint32_t prioritised; /* of a restless run: every scan says that these are
                             the only ones that move; 0: all */
} schedulers_toy_config;

extern const strads_program schedulers_toy;

/* What the result's state is. */
typedef struct schedulers_toy_state {
    uint64_t chosen[SCHEDULERS_TOY_COLS]; /* how often in a policy's block */
    double moved[SCHEDULERS_TOY_COLS];    /* by how much at last */
    uint64_t scans;    /* of all, since the policies were at rest */
    double most_left;  /* what those moved together, at most */
    uint64_t compared; /* pairs of parameters that were in flight together */
    schedulers_toy_config config;
} schedulers_toy_state;

#endif
