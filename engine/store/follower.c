/* A follower's lock is taken before any stripe, and never the other way. */
#include "engine/store/follower.h"

#include <stdlib.h>

#include "engine/store/store_inside.h"

strads_err sti_store_follow(strads_store *store)
{
    sti_follower *follower = calloc(1, sizeof *follower);
    if (!follower)
        return strads_fail(STRADS_ENOMEM, "no memory for a store");
    pthread_mutex_init(&follower->lock, NULL);
    store->follower = follower;
    return STRADS_OK;
}

sti_buffer *sti_store_take(strads_store *store)
{
    sti_follower *follower = store->follower;
    if (!follower)
        return NULL;
    pthread_mutex_lock(&follower->lock);
    sti_buffer *push = follower->push;
    follower->push = NULL;
    pthread_mutex_unlock(&follower->lock);
    return push;
}

void sti_follower_free(sti_follower *follower)
{
    if (!follower)
        return;
    sti_object_drop(follower->push);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
}

strads_err sti_follower_begin(sti_follower *follower, const sti_push_part *part,
                              size_t *before)
{
    *before = 0;
    if (!follower)
        return STRADS_OK;
    pthread_mutex_lock(&follower->lock);
    strads_err err =
        follower->push ? STRADS_OK : sti_buffer_new(0, &follower->push);
    if (!err) {
        *before = follower->push->size;
        err = sti_push_append(follower->push, part);
    }
    if (err)
        pthread_mutex_unlock(&follower->lock);
    return err;
}

void sti_follower_end(sti_follower *follower, strads_err err, size_t before)
{
    if (!follower)
        return;
    if (err)
        follower->push->size = before;
    if (follower->push->size == 0) {
        sti_object_drop(follower->push);
        follower->push = NULL;
    }
    pthread_mutex_unlock(&follower->lock);
}
