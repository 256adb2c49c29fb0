/* The built-in policies, and functions that they share. */
#ifndef STI_POLICIES_H
#define STI_POLICIES_H

#include "strads/policy.h"

extern const strads_policy sti_policy_priority;

/* Purposes of random streams (strads_random_bits). */
enum {
    STI_PURPOSE_PRIORITY = 0x706f6c01, /* which parameters to draw */
    STI_PURPOSE_UNIFORM = 0x706f6c02,  /* which blocks to draw */
    STI_PURPOSE_SHUFFLE = 0x706f6c03   /* which parameters share a block */
};

/* The weight of all parameters: no block can have more work. */
static inline double sti_policy_total(const strads_policy_setup *setup)
{
    double total = 0;
    for (uint64_t j = 0; j < setup->parameters; j++)
        total += (double)setup->weight[j];
    return total;
}

/* A request's `work`, at most all there is: a program may request INFINITY. */
static inline double sti_policy_work(const strads_choice_request *request,
                                     double total)
{
    double work = request->work < total ? request->work : total;
    return work > 1 ? work : 1;
}

#endif
