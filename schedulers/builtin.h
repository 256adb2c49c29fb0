/* The tables of the built-in policies, and the streams that they draw from. */
#ifndef STI_BUILTIN_H
#define STI_BUILTIN_H

#include "strads/policy.h"

extern const strads_policy sti_policy_priority;
extern const strads_policy sti_policy_uniform;
extern const strads_policy sti_policy_cyclic;

/* Purposes of random streams (strads_random_bits). */
enum {
    STI_PURPOSE_PRIORITY = 0x706f6c01, /* which parameters to draw */
    STI_PURPOSE_UNIFORM = 0x706f6c02,  /* which blocks to draw */
    STI_PURPOSE_SHUFFLE = 0x706f6c03   /* who shares a block */
};

/* The weight of all parameters: no block can have more work. */
double sti_policy_total(const strads_policy_setup *setup);

/* What a request's `work` comes to: a program may ask for all there is by
 * INFINITY. */
static inline double sti_policy_work(const strads_choice_request *request,
                                     double total)
{
    double work = request->work < total ? request->work : total;
    return work > 1 ? work : 1;
}

/* 64 random bits to a number in 0 .. n - 1. */
static inline uint32_t sti_policy_below(uint64_t bits, uint32_t n)
{
    return (uint32_t)((bits >> 32) * n >> 32);
}

#endif
