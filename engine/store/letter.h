/* engine/store/letter.h - what peers (strads/peers.h) send each other, and where it
 * lies until it is read. A mail belongs to whoever guards the receiver's clocks:
 * a store of one process, or a node's client. */
#ifndef STI_STORE_LETTER_H
#define STI_STORE_LETTER_H

#include "engine/base/object.h"
#include "strads/peers.h"

/* A letter is a buffer: this, then value[n] and, of sparse ones, index[n]. */
typedef struct sti_letter {
    uint32_t sender; /* its rank */
    uint32_t n;
    uint32_t sparse;    /* 0 or 1 */
    uint32_t queue;     /* as in strads_peers_options */
    uint64_t iteration; /* STI_PEER_LEFT: nothing more will come */
} sti_letter;

#define STI_PEER_LEFT UINT64_MAX

static inline const sti_letter *sti_letter_of(const sti_buffer *letter)
{
    return (const sti_letter *)(const void *)letter->bytes;
}

/* Is it one, in all its bytes? */
bool sti_letter_fits(const sti_buffer *letter);

/* A sender's part of a receiver's mail. */
typedef struct sti_mail_slot {
    uint64_t reached; /* 1 + the iteration of the newest that came; 0: none */
    uint32_t n;
    sti_buffer *unread[STRADS_PEERS_QUEUE_MAX]; /* [n] oldest first */
} sti_mail_slot;

/* Of one receiver; zeroed: empty. */
typedef struct sti_mail {
    uint32_t senders;
    sti_mail_slot *slot; /* [senders] */
    bool waits;          /* the receiver, for what comes next */
} sti_mail;

/* Takes over the reference, whatever happens. STRADS_EPEER: a sender that is not
 * below `senders`. STRADS_ENOMEM. */
strads_err sti_mail_put(sti_mail *mail, uint32_t senders, sti_buffer *letter);
void sti_mail_free(sti_mail *mail);

/* What a gather wants: all unread of n senders. */
typedef struct sti_collect {
    uint32_t n;
    const uint32_t *from; /* [n] */
    uint64_t needs;       /* of each, this iteration or a later one */
    bool *left;           /* [n] has it? */
    sti_buffer **letter;  /* [n x STRADS_PEERS_QUEUE_MAX] the caller's then */
    uint32_t n_letters;
} sti_collect;

/* False: it is to wait, and nothing has been taken. */
bool sti_mail_take(sti_mail *mail, sti_collect *collect);

/* The session is closed: all are told. */
void sti_peers_leave(strads_peers *peers);

#endif
