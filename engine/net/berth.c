/* One berth, one turn at a time: who comes with the number of a turn that is
 * over finds nothing. */
#include "engine/net/berth.h"

#include <string.h>

void sti_berth_init(sti_berth *berth)
{
    *berth = (sti_berth){0};
    pthread_mutex_init(&berth->lock, NULL);
}

void sti_berth_destroy(sti_berth *berth)
{
    pthread_mutex_destroy(&berth->lock);
}

bool sti_berth_take(sti_berth *berth, const struct iovec *at, unsigned count,
                    uint64_t *turn)
{
    pthread_mutex_lock(&berth->lock);
    const bool is_free = !berth->taken;
    if (is_free) {
        berth->taken = true;
        berth->count = count;
        memcpy(berth->at, at, sizeof *at * count);
        *turn = ++berth->turn;
    }
    pthread_mutex_unlock(&berth->lock);
    return is_free;
}

void sti_berth_leave(sti_berth *berth, uint64_t turn)
{
    pthread_mutex_lock(&berth->lock);
    if (berth->turn == turn)
        berth->taken = false;
    pthread_mutex_unlock(&berth->lock);
}

unsigned sti_berth_rest(const sti_berth *berth, uint64_t turn, uint64_t skip,
                        struct iovec *iov)
{
    unsigned n = 0;
    if (!berth->taken || berth->turn != turn)
        return 0;
    for (unsigned k = 0; k < berth->count; k++) {
        const struct iovec *at = &berth->at[k];
        const size_t gone = skip < at->iov_len ? (size_t)skip : at->iov_len;
        skip -= gone;
        if (gone < at->iov_len)
            iov[n++] =
                (struct iovec){(char *)at->iov_base + gone, at->iov_len - gone};
    }
    return n;
}
