/* Owns a thread and a semaphore for each who takes part. Invariant: at most one
 * semaphore is up, that of who is handed the baton. */
#include "engine/sim/sim_baton.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

enum { STACK = 512 << 10 };

typedef struct member {
    sti_baton *baton;
    uint32_t number;
    pthread_t thread;
    sem_t turn;
} member;

struct sti_baton {
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

static void *run(void *arg)
{
    member *m = arg;
    await_turn(m);
    m->baton->body(m->baton->arg, m->number);
    return NULL;
}

strads_err sti_baton_new(uint32_t n, void (*body)(void *arg, uint32_t thread),
                         void *arg, sti_baton **out)
{
    sti_baton *baton = calloc(1, sizeof *baton);
    pthread_attr_t attributes;
    if (!baton || pthread_attr_init(&attributes))
        goto fail;
    (void)pthread_attr_setstacksize(&attributes, STACK);
    baton->body = body;
    baton->arg = arg;
    baton->n = n;
    baton->members = calloc(n + (size_t)1, sizeof *baton->members);
    int failed = !baton->members;
    for (uint32_t k = 0; !failed && k <= n; k++) {
        member *m = &baton->members[k];
        m->baton = baton;
        m->number = k;
        (void)sem_init(&m->turn, 0, 0);
        failed = k < n && pthread_create(&m->thread, &attributes, run, m);
        baton->started += k < n && !failed;
    }
    (void)pthread_attr_destroy(&attributes);
    if (failed)
        goto fail;
    *out = baton;
    return STRADS_OK;
fail:
    for (uint32_t k = 0; baton && k < baton->started; k++)
        (void)pthread_cancel(baton->members[k].thread); /* all wait */
    sti_baton_free(baton);
    return strads_fail(STRADS_ENOMEM, "no memory for %u simulated threads", n);
}

void sti_baton_pass(sti_baton *baton, uint32_t from, uint32_t to)
{
    (void)sem_post(&baton->members[to].turn);
    await_turn(&baton->members[from]);
}

void sti_baton_leave(sti_baton *baton, uint32_t to)
{
    (void)sem_post(&baton->members[to].turn);
}

void sti_baton_free(sti_baton *baton)
{
    if (!baton)
        return;
    for (uint32_t k = 0; k < baton->started; k++)
        (void)pthread_join(baton->members[k].thread, NULL);
    for (uint32_t k = 0; baton->members && k <= baton->n; k++)
        if (baton->members[k].baton)
            (void)sem_destroy(&baton->members[k].turn);
    free(baton->members);
    free(baton);
}
