/* strads/turn.h - what `schedule` is asked with, and how it answers, on its own
 * thread. None of these calls blocks. */
#ifndef STRADS_TURN_H
#define STRADS_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "strads/block.h"
#include "strads/error.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `schedule` is asked with: answer by exactly one of the calls below. */
typedef struct strads_turn {
    void *state;
    const void *config;
    strads_store *store;
    uint64_t seed;
    uint64_t round;     /* the number that the next dispatch gets */
    uint32_t in_flight; /* dispatches not yet committed */
    bool at_rest;       /* the policy said that nothing is left to choose */
    bool ends; /* the run has been cut short, see `winds_up`: dispatch what is
                  left to bring the model together, then stop */
    void *engine; /* for the calls below */
} strads_turn;

/* Calls of `schedule` with `ends` set, at most; a program that has not stopped
 * by then ends with STRADS_EPROGRAM. */
#define STRADS_WIND_UP_TURNS (1U << 17)

/* Dispatch these blocks to this phase. Copied: the arrays are the caller's. */
STRADS_API strads_err strads_turn_dispatch(strads_turn *turn, uint32_t phase,
                                           uint32_t n,
                                           const strads_block *blocks);
/* Dispatch one block of all parameters to this phase. */
STRADS_API strads_err strads_turn_all(strads_turn *turn, uint32_t phase);
/* Dispatch what the policy chooses to this phase; when it is at rest,
 * `schedule` is asked again with at_rest set. STRADS_ESTATE: the run ends. */
STRADS_API strads_err strads_turn_policy(strads_turn *turn, uint32_t phase);
/* Nothing before something in flight has been committed (and at least one is;
 * otherwise STRADS_ESTATE). */
STRADS_API strads_err strads_turn_wait(strads_turn *turn);
/* The run is over when what is in flight has been committed. */
STRADS_API strads_err strads_turn_stop(strads_turn *turn);

#ifdef __cplusplus
}
#endif

#endif
