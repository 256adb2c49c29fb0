/* engine/sim/sim_run_token.h - threads of a simulation, of which only the
 * holder of the run token runs. So code that waits inside a loop (for example a
 * program's `run` body) takes part in virtual time, with its own stack and
 * thread-local memory, and the run is as repeatable as on one thread. */
#ifndef STI_SIM_RUN_TOKEN_H
#define STI_SIM_RUN_TOKEN_H

#include <stdint.h>

#include "strads/error.h"

typedef struct sti_run_token sti_run_token;

/* Threads 0 .. n - 1 run `body`. The caller is number n and holds the run
 * token. A thread starts when it first receives the token. STRADS_ENOMEM. */
strads_err sti_run_token_new(uint32_t n,
                             void (*body)(void *arg, uint32_t thread),
                             void *arg, sti_run_token **out);

/* Passes the run token from its holder to another member and waits to receive
 * it again. `to` must be alive. */
void sti_run_token_pass(sti_run_token *token, uint32_t from, uint32_t to);

/* The same as the last call of a body: the thread ends. */
void sti_run_token_leave(sti_run_token *token, uint32_t to);

/* Called by the caller when all bodies have left. NULL is allowed. */
void sti_run_token_free(sti_run_token *token);

#endif
