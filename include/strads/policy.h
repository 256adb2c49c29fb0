/* strads/policy.h - what a policy is: the plug-in that a scheduler runs.
 *
 * A policy turns priorities into blocks. The scheduler tells it what moved, and
 * asks it to choose for a dispatch. Where a run has several schedulers each has
 * an instance of the policy, for a range of the parameters that the instance
 * numbers from 0 on; it knows of nothing beyond its range. A policy never
 * blocks, never reads a clock, and draws random numbers from its request's
 * stream alone: so a run can be repeated. priority, uniform and cyclic are
 * built in, through this header as a user's own. */
#ifndef STRADS_POLICY_H
#define STRADS_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "strads/error.h"
#include "strads/program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A policy numbers its blocks from here on; a program's own `schedule` stays
 * below: so no id ever names two sets. */
#define STRADS_POLICY_BLOCK_IDS (UINT64_C(1) << 63)

/* What a policy is opened with; valid for its whole life. */
typedef struct strads_policy_setup {
    uint64_t parameters; /* J: ids are 0 .. J - 1 */
    const float *weight; /* [J] work in one update, in entries read, >= 1 */
    uint32_t block_max;  /* parameters a block at most */
    double threshold;    /* dependency above which two parameters may not be
                            in flight in different blocks; 0.1 by default */
    bool probes;         /* the program can tell dependencies */
    uint64_t seed;
} strads_policy_setup;

/* What the policy is asked. */
typedef struct strads_choice_request {
    uint32_t want; /* blocks wanted at most */
    double work;   /* entries that a block should have at least, so that
                             it pays for its round; INFINITY: as many as
                             block_max allows */
    uint64_t draw; /* 1, 2, 3, ...: how often it has been asked */
    const strads_block *in_flight; /* dispatched and not yet committed */
    uint32_t n_in_flight;
    double rest; /* at rest when the priorities left sum to at most
                             this; see strads_commit_rest */
    /* How strongly i and j depend on each other, |v_ij| / sqrt(v_ii v_jj) of
     * merged probe values v, in [0, 1], 0 where v_ii or v_jj is 0; NaN when
     * one of the three is not known yet: a block probed against itself gives
     * its diagonal. NULL when the program cannot tell. */
    double (*dependency)(const void *engine, uint32_t i, uint32_t j);
    const void *engine;
} strads_choice_request;

typedef enum strads_choice_kind {
    STRADS_CHOOSE_BLOCKS = 0, /* blocks[n] are to be dispatched together */
    STRADS_CHOOSE_PROBE = 1,  /* ask again when all pairs in block x against
                                 are known, both of them the policy's */
    STRADS_CHOOSE_WAIT = 2,   /* ask again when something has been committed
                                 (only with something in flight) */
    STRADS_CHOOSE_REST = 3    /* nothing moves enough; ask again after the next
                                 change of priorities */
} strads_choice_kind;

/* What the policy answers. Arrays are the policy's, valid until it is asked
 * again; the engine copies what it keeps. */
typedef struct strads_choice {
    strads_choice_kind kind;
    uint32_t n;
    const strads_block *blocks;  /* [n] */
    strads_block block, against; /* PROBE */
    /* What is left to be gained in the policy's range, what is in flight
     * included: the sum of its priorities, say. Of several schedulers each has
     * a share of the rounds in proportion to it, but an eighth of an even one
     * at least. 0: it cannot tell, and has an even share. */
    double remaining;
} strads_choice;

typedef struct strads_policy {
    size_t size; /* sizeof(strads_policy) */
    const char *name;
    const char *summary; /* one line for --help */
    bool unchecked; /* blocks of several schedulers are in flight together even
                       when they depend on each other; false: the later one
                       waits */

    strads_err (*open)(const strads_policy_setup *setup, void **state);
    void (*close)(void *state);
    /* n parameters have new priorities, >= 0; at first all have 1. */
    void (*prioritise)(void *state, uint32_t n, const uint32_t *param,
                       const double *priority);
    /* Chooses. A block keeps its id for as long as its members stay the same;
     * a new set gets an id never used before (below STRADS_POLICY_BLOCK_IDS +
     * 2^52 where a run has several schedulers). */
    strads_err (*choose)(void *state, const strads_choice_request *request,
                         strads_choice *choice);
} strads_policy;

/* A built-in policy by name, or NULL. "priority", "uniform", "cyclic". */
STRADS_API const strads_policy *strads_policy_find(const char *name);

/* The built-in policies, ending with NULL. */
STRADS_API const strads_policy *const *strads_policies(void);

/* Draws of the stream (seed, purpose, index): 64 random bits that depend on
 * these three numbers and the place k alone, not on who asks or when. For
 * policies and programs alike. Philox4x32-10, Salmon et al., SC 2011. */
STRADS_API uint64_t strads_random_bits(uint64_t seed, uint64_t purpose,
                                       uint64_t index, uint64_t k);

/* The same as a double, uniform in [0, 1), 53 bits. */
STRADS_API double strads_random_unit(uint64_t seed, uint64_t purpose,
                                     uint64_t index, uint64_t k);

#ifdef __cplusplus
}
#endif

#endif
