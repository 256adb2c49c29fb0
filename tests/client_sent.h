/* tests/client_sent.h - what a store's client wants done, gathered by a test
 * that plays its shards: the messages that it sends, and how often it wakes. */
#ifndef TESTS_CLIENT_SENT_H
#define TESTS_CLIENT_SENT_H

#include <criterion/criterion.h>

#include "engine/base/role.h"

enum { CLIENT_SENT_MAX = 64 };

typedef struct client_sent {
    sti_effects effects; /* the client's to fill */
    sti_msg msg[CLIENT_SENT_MAX];
    uint32_t n, wakes;
} client_sent;

/* Moves the effects behind what came before them. */
static inline void client_sent_take(client_sent *sent)
{
    for (size_t k = 0; k < sent->effects.n; k++) {
        const sti_effect *e = &sent->effects.at[k];
        cr_assert_lt(sent->n, CLIENT_SENT_MAX);
        if (e->kind == STI_EFFECT_SEND)
            sent->msg[sent->n++] = e->msg;
        sent->wakes += e->kind == STI_EFFECT_WAKE;
    }
    sent->effects.n = 0;
}

static inline void client_sent_free(client_sent *sent)
{
    for (uint32_t k = 0; k < sent->n; k++)
        sti_object_drop(sent->msg[k].object);
    sti_effects_free(&sent->effects);
}

#endif
