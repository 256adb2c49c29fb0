/* A stand-in for the engine that holds a policy to its promises. It requests
 * blocks, answers probes from a known matrix, keeps blocks in flight, commits
 * them in random order with new priorities, and checks every answer. */
#ifndef POLICY_HARNESS_H
#define POLICY_HARNESS_H

#include <criterion/criterion.h>

#include "engine/base/random.h"
#include "strads/policy.h"

typedef struct harness_block {
    strads_block block;
    uint32_t *param; /* own copy */
} harness_block;

/* Parameters of a play. Zero means the default in brackets. */
typedef struct harness_setup {
    const char *policy; /* "priority" */
    uint32_t parameters;
    const float *weight;     /* [J], or NULL: all 1 */
    const float *dependency; /* [J x J], or NULL: all 0 */
    double threshold;        /* 0.1 */
    double work;             /* 8 */
    double rest;             /* 0 */
    uint32_t block_max;      /* 16 */
    uint32_t want;           /* 1 */
    uint32_t depth;          /* dispatches in flight beyond the first: 0 */
    uint64_t seed;
    bool deaf; /* probes are not answered */
} harness_setup;

typedef struct harness {
    harness_setup setup;
    const strads_policy *policy;
    void *state;
    float *weight;
    double *priority;        /* [J] as last passed to the policy */
    unsigned char *probed;   /* [J x J] */
    uint32_t *flying;        /* [J] number of blocks in flight with it */
    uint64_t *dispatched;    /* [J] number of dispatches */
    strads_block *in_flight; /* [n_in_flight] */
    uint32_t n_in_flight, in_flight_size;
    harness_block *known; /* every block seen, in order of first sight */
    uint32_t n_known, known_size;
    uint64_t asked, probes, waits, rests, blocks, updates;
    strads_choice last;
    sti_random random;
} harness;

/* Both return a description of the error, or NULL. */
const char *harness_open(harness *h, const harness_setup *setup);

/* Makes one request. Checks the answer; keeps blocks in flight; marks probed
 * pairs. */
const char *harness_ask(harness *h);

/* Opens it; fails the test on an error. */
harness harness_begin(harness_setup setup);

static inline void must(const char *wrong)
{
    cr_assert_null(wrong, "%s", wrong);
}

void harness_close(harness *h);

/* Commits one random block in flight: its members get priority `next(h, j)`.
 * Does nothing if none is in flight. */
typedef double (*harness_next)(harness *h, uint32_t j);
void harness_commit(harness *h, harness_next next);

/* Sets the priorities of all parameters at once. */
void harness_scan(harness *h, harness_next next);

/* Requests and commits until the policy is idle or `steps` have been made. */
const char *harness_play(harness *h, uint64_t steps, harness_next next);

/* ---- inputs -------------------------------------------------------------- */

/* [n x n], freed by the caller: symmetric; a fraction `dense` of pairs
 * depends by more than 0.1. */
float *harness_dependency(uint32_t n, double dense, uint64_t seed);
/* [n], freed by the caller: 1 and more, few of them large. */
float *harness_weights(uint32_t n, uint64_t seed);

/* Priorities fall to 0; do not change; are 1 for parameter 7 only. */
double harness_decays(harness *h, uint32_t j);
double harness_keeps(harness *h, uint32_t j);
double harness_one_moves(harness *h, uint32_t j);

#endif
