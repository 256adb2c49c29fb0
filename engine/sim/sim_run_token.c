/* Owns a thread and a semaphore for each member. Invariant: at most one
 * semaphore is up, that of the member that receives the run token. */
#include "engine/sim/sim_run_token.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK = 512 << 10 };

typedef struct member {
    sti_run_token *token;
    uint32_t number;
    pthread_t thread;
    sem_t turn;
} member;

struct sti_run_token {
    void (*body)(void *arg, uint32_t thread);
    void *arg;
    uint32_t n, started;
    member *members; /* [n + 1] */
};

static void await_turn(member *m)
{
    while (sem_wait(&m->turn) && errno == EINTR)
        ;
}

static void *run_member(void *arg)
{
    member *m = arg;
    await_turn(m);
    m->token->body(m->token->arg, m->number);
    return NULL;
}

strads_err sti_run_token_new(uint32_t n,
                             void (*body)(void *arg, uint32_t thread),
                             void *arg, sti_run_token **out)
{
    sti_run_token *token = calloc(1, sizeof *token);
    pthread_attr_t attributes;
    if (!token || pthread_attr_init(&attributes))
        goto fail;
    (void)pthread_attr_setstacksize(&attributes, STACK);
    token->body = body;
    token->arg = arg;
    token->n = n;
    token->members = calloc(n + (size_t)1, sizeof *token->members);
    int failed = !token->members;
    for (uint32_t k = 0; !failed && k <= n; k++) {
        member *m = &token->members[k];
        m->token = token;
        m->number = k;
        (void)sem_init(&m->turn, 0, 0);
        failed =
            k < n && pthread_create(&m->thread, &attributes, run_member, m);
        token->started += k < n && !failed;
    }
    (void)pthread_attr_destroy(&attributes);
    if (failed)
        goto fail;
    *out = token;
    return STRADS_OK;
fail:
    for (uint32_t k = 0; token && k < token->started; k++)
        (void)pthread_cancel(token->members[k].thread); /* all of them wait */
    sti_run_token_free(token);
    return strads_fail(STRADS_ENOMEM, "no memory for %u simulated threads", n);
}

void sti_run_token_pass(sti_run_token *token, uint32_t from, uint32_t to)
{
    (void)sem_post(&token->members[to].turn);
    await_turn(&token->members[from]);
}

void sti_run_token_leave(sti_run_token *token, uint32_t to)
{
    (void)sem_post(&token->members[to].turn);
}

void sti_run_token_free(sti_run_token *token)
{
    if (!token)
        return;
    for (uint32_t k = 0; k < token->started; k++)
        (void)pthread_join(token->members[k].thread, NULL);
    for (uint32_t k = 0; token->members && k <= token->n; k++)
        if (token->members[k].token)
            (void)sem_destroy(&token->members[k].turn);
    free(token->members);
    free(token);
}
