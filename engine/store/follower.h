/* engine/store/follower.h - what a followed store was told to do, kept until
 * somebody takes it away to do the same elsewhere. */
#ifndef STI_STORE_FOLLOWER_H
#define STI_STORE_FOLLOWER_H

#include <pthread.h>

#include "engine/store/push.h"

/* Holds its lock over each commit: the parts are in the order of commits. */
typedef struct sti_follower {
    pthread_mutex_t lock;
    sti_buffer *push; /* NULL: nothing since it was taken */
} sti_follower;

/* From now on the store's new tables and commits are written down. Before its
 * first table. STRADS_ENOMEM. */
strads_err sti_store_follow(strads_store *store);

/* Takes what was written down since the last time; NULL: nothing, or nobody
 * follows. Any thread. */
sti_buffer *sti_store_take(strads_store *store);

/* Frees a follower; NULL is fine. */
void sti_follower_free(sti_follower *follower);

/* Around each commit: writes its part down, and forgets it again when the
 * commit has failed. Without a follower (NULL) they do nothing. */
strads_err sti_follower_begin(sti_follower *follower, const sti_push_part *part,
                              size_t *before);
void sti_follower_end(sti_follower *follower, strads_err err, size_t before);

#endif
