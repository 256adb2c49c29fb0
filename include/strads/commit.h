/* strads/commit.h - what `aggregate` gets and gives, and the calls that it may
 * make meanwhile, on its own thread. None of them blocks. */
#ifndef STRADS_COMMIT_H
#define STRADS_COMMIT_H

#include <stddef.h>
#include <stdint.h>

#include "strads/block.h"
#include "strads/error.h"
#include "strads/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What `aggregate` gets and gives: the merged partial of one block, and the
 * commit that it makes of it. */
typedef struct strads_commit {
    void *state; /* made by `begin` */
    const void *config;
    strads_store *store; /* committed values of everything: its table 0 */
    uint64_t seed;
    uint64_t round;
    uint32_t phase;
    uint32_t width;
    strads_block block;
    strads_block against;  /* PROBE only */
    const double *partial; /* merged over all partitions */
    size_t partial_bytes;
    const double *value;        /* [n x width] committed now */
    const strads_change *since; /* commits that no partition had been told of
                                   when it computed this partial */
    uint32_t n_since;
    double *change;       /* [n x width] out, zeroed: what to add to `value`.
                         OWNER, RING: preset to what the holder changed.
                         START, REST, PROBE: NULL; see the calls below.
                         A blind phase has it too, a still one not */
    double *priority;     /* [n] out: how urgent each parameter is from now on;
                         preset to a negative number: |change| is taken.
                         NULL where `change` is */
    void *engine;         /* for the calls below */
    double tolerance;     /* the run ends when a report's gap is at most this */
    const double *total;  /* [shape's totals] with what this dispatch added */
    double *total_change; /* [shape's totals] out, zeroed: what to add to them:
                             a step size that all updates read, say */
} strads_commit;

/* Sets priorities of any parameters (a scan's result, say): n pairs. Within
 * `aggregate` only. Parameters at priority 0 are at rest: a policy draws them
 * by its floor at most. */
STRADS_API void strads_commit_prioritise(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *priority);

/* The policy rests as soon as the priorities left sum to at most `level`
 * (0 at first: until nothing moves any more). Within `aggregate` only. */
STRADS_API void strads_commit_rest(strads_commit *commit, double level);

/* The policy's blocks go to this POLICY phase from now on (at first to the
 * first one), and should have at least `work` entries each (0: what pays for a
 * round). Within `aggregate` only. STRADS_EINVAL: not a POLICY phase. */
STRADS_API strads_err strads_commit_route(strads_commit *commit, uint32_t phase,
                                          double work);

/* Blocks of a pool are dealt out among its first `hands` partitions from now on
 * (0, as at first: among all of them), where waking the others costs more than
 * they would do. Within `aggregate` only; of pooled programs alone. */
STRADS_API void strads_commit_hands(strads_commit *commit, uint32_t hands);

/* Changes parameters outside the block in the same commit: n of them,
 * change[n x width], added to committed values. They count as updates that the
 * policy did not choose. Within `aggregate` only. STRADS_ENOMEM. */
STRADS_API strads_err strads_commit_also(strads_commit *commit, uint32_t n,
                                         const uint32_t *param,
                                         const double *change);

/* Workers have moved n parameters of their own in this phase, which no policy
 * chose and this commit does not show: they count as such updates, too. Within
 * `aggregate` only. */
STRADS_API void strads_commit_moved(strads_commit *commit, uint64_t n);

/* Has all pairs of param[n] x against[m] probed before anything else is chosen:
 * the PROBE phase gets one block of each. What it finds goes to that phase's
 * aggregate alone, not into the engine's cache. Copied. Within `aggregate`
 * only.
 * STRADS_EINVAL: no such parameter; STRADS_ENOMEM; STRADS_ESTATE: the program
 * has no PROBE phase. */
STRADS_API strads_err strads_commit_probe(strads_commit *commit, uint32_t n,
                                          const uint32_t *param, uint32_t m,
                                          const uint32_t *against);

/* Merged probe values of all pairs in the commit's block, [n x n], symmetric,
 * diagonal included; NULL when the program has no PROBE phase, or no memory is
 * left to gather them. Valid during the call. Within `aggregate` of a POLICY
 * phase only. */
STRADS_API const double *strads_commit_pairs(const strads_commit *commit);

/* The merged probe value of parameters i and j; NaN when it was not probed. Of
 * blocks that the policy chose every pair in a block, and between it and what
 * was in flight with it, has been, but for phases to NOBODY. Within `aggregate`
 * only. */
STRADS_API double strads_commit_pair(const strads_commit *commit, uint32_t i,
                                     uint32_t j);

#ifdef __cplusplus
}
#endif

#endif
