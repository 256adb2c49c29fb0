/* strads/policy.h - policies: plug-ins of a scheduler that choose blocks.
 *
 * A policy turns priorities into blocks. The scheduler passes new priorities to
 * it and requests blocks for each dispatch. With several schedulers, each has
 * an instance of the policy for a range of the parameters, which the instance
 * numbers from 0. A policy never blocks, never reads a clock, and draws random
 * numbers only by strads_random_bits with its request's `draw`, so that runs
 * repeat. The built-in policies priority, uniform and cyclic use this header
 * only, as a user's policy does. */
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

/* The first block id of policies. A program's own `schedule` uses ids below, so
 * that no id names two sets. */
#define STRADS_POLICY_BLOCK_IDS (UINT64_C(1) << 63)

/* The argument of `open`; valid until `close`. */
typedef struct strads_policy_setup {
    uint64_t parameters; /* J: ids are 0 .. J - 1 */
    const float *weight; /* [J] work in one update, in entries read, >= 1 */
    uint32_t block_max;  /* most parameters in a block */
    double threshold;    /* two parameters with a dependency above this may not
                            be in flight in different blocks; default 0.1 */
    bool probes;         /* the program has a PROBE phase */
    uint64_t seed;
} strads_policy_setup;

/* A request for blocks. */
typedef struct strads_choice_request {
    uint32_t want; /* most blocks to choose */
    double work;   /* least entries of a block, so that it pays for its round;
                      INFINITY: as many parameters as block_max allows */
    uint64_t draw; /* 1, 2, 3, ...: the number of this request */
    const strads_block *in_flight; /* dispatched and not yet committed */
    uint32_t n_in_flight;
    double rest; /* the policy is idle when the remaining priorities sum to at
                    most this; see strads_commit_rest */
    /* Returns the dependency of parameters i and j, |v_ij| / sqrt(v_ii v_jj) of
     * merged probe values v, in [0, 1]; 0 if v_ii or v_jj is 0. NaN if one of
     * the three is not known yet; probing a block against itself yields its
     * diagonal. NULL if the program has no PROBE phase. */
    double (*dependency)(const void *engine, uint32_t i, uint32_t j);
    const void *engine;
} strads_choice_request;

typedef enum strads_choice_kind {
    STRADS_CHOOSE_BLOCKS = 0, /* dispatch blocks[n] together */
    STRADS_CHOOSE_PROBE = 1,  /* probe all pairs of `block` x `against`, then
                                 request again */
    STRADS_CHOOSE_WAIT = 2,   /* request again after the next commit (only with
                                 something in flight) */
    STRADS_CHOOSE_REST = 3    /* idle: request again after the next change of
                                 priorities */
} strads_choice_kind;

/* The answer. The policy owns the arrays, which stay valid until the next
 * request; the engine copies them. */
typedef struct strads_choice {
    strads_choice_kind kind;
    uint32_t n;
    const strads_block *blocks;  /* [n] */
    strads_block block, against; /* PROBE */
    /* The progress that remains in the policy's range, blocks in flight
     * included: for example the sum of its priorities. Several schedulers share
     * rounds in proportion to it; each has at least an eighth of an even share.
     * 0: unknown, an even share. */
    double remaining;
} strads_choice;

typedef struct strads_policy {
    size_t size; /* sizeof(strads_policy) */
    const char *name;
    const char *summary; /* one line for --help */
    bool unchecked;      /* true: blocks of several schedulers may be in flight
                       together although they depend on each other; false: the
                       later one waits */

    strads_err (*open)(const strads_policy_setup *setup, void **state);
    void (*close)(void *state);
    /* Passes new priorities, >= 0, of n parameters. Initially all are 1. */
    void (*prioritise)(void *state, uint32_t n, const uint32_t *param,
                       const double *priority);
    /* Chooses blocks. A block keeps its id while its members stay the same. A
     * new set has an id that was never used before (with several schedulers:
     * below STRADS_POLICY_BLOCK_IDS + 2^52). */
    strads_err (*choose)(void *state, const strads_choice_request *request,
                         strads_choice *choice);
} strads_policy;

/* Finds a built-in policy by name: "priority", "uniform" or "cyclic". Returns
 * NULL if there is none. */
STRADS_API const strads_policy *strads_policy_find(const char *name);

/* Returns the built-in policies; the list ends with NULL. */
STRADS_API const strads_policy *const *strads_policies(void);

/* Returns draw k of the random stream (seed, purpose, index): 64 bits that
 * depend on these four numbers only, not on the thread or the time. For
 * policies and programs. Philox4x32-10, Salmon et al., SC 2011. */
STRADS_API uint64_t strads_random_bits(uint64_t seed, uint64_t purpose,
                                       uint64_t index, uint64_t k);

/* Returns draw k as a double, uniform in [0, 1), with 53 bits. */
STRADS_API double strads_random_unit(uint64_t seed, uint64_t purpose,
                                     uint64_t index, uint64_t k);

#ifdef __cplusplus
}
#endif

#endif
