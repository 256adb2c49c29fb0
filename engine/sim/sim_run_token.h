/* engine/sim/sim_run_token.h - threads of a simulation of which one runs at
 * a time: who holds the run token. So code that waits in the middle of a loop (a
 * program's `run` body, say) has a part in virtual time, with a stack and
 * thread-local memory of its own, and what runs is as repeatable as on one
 * thread. */
#ifndef STI_SIM_RUN_TOKEN_H
#define STI_SIM_RUN_TOKEN_H

#include <stdint.h>

#include "strads/error.h"

typedef struct sti_run_token sti_run_token;

/* Threads 0 .. n - 1 will run `body`; the caller is number n, and holds the
 * run token. They start when it is passed to them first. STRADS_ENOMEM. */
strads_err sti_run_token_new(uint32_t n,
                             void (*body)(void *arg, uint32_t thread),
                             void *arg, sti_run_token **out);

/* Hands the run token from its holder to another, and waits to be handed it. A
 * thread that is not alive any more must not be handed it. */
void sti_run_token_pass(sti_run_token *token, uint32_t from, uint32_t to);

/* The same as the last thing that a body does: the thread ends. */
void sti_run_token_leave(sti_run_token *token, uint32_t to);

/* By the caller, when all bodies have left. NULL is fine. */
void sti_run_token_free(sti_run_token *token);

#endif
