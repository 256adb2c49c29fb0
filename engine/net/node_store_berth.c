/* Rows on their way to a worker that waits are received where its caller wants
 * them. The thread that receives them waits for nobody here, and asks only when
 * all that came for the client before has been taken. */
#include "engine/store/store_codec.h"
#include "engine/net/node_store_inside.h"

/* The rows' memory, neighbours as one; 0: too many pieces. */
static unsigned pieces_of(char *values, const uint32_t *places, uint32_t n,
                          size_t row_bytes, struct iovec *iov)
{
    unsigned count = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0 && places[k] == places[k - 1] + 1) {
            iov[count - 1].iov_len += row_bytes;
            continue;
        }
        if (count == STI_BERTH_MAX)
            return 0;
        iov[count++] =
            (struct iovec){values + places[k] * row_bytes, row_bytes};
    }
    return count;
}

/* The only part of an answer, whose parts begin at `at` and are of `size` bytes
 * in all; *from: where its cells begin. False: that is not there yet, or there
 * are others. */
static bool peek_part(const sti_frame *frame, uint64_t n, uint64_t at,
                      uint64_t size, sti_push_part *part, uint64_t *from)
{
    const sti_buffer parts = {.bytes = frame->payload + at,
                              .size = (size_t)size};
    strads_err err;
    size_t end = 0;
    if (size != frame->header.size - at || n - at < sti_push_head_bytes(0) ||
        !sti_push_next(&parts, &end, part, &err) || end != size ||
        part->kind != STI_PUSH_ROWS)
        return false;
    *from = (uint64_t)((const unsigned char *)part->cells - frame->payload);
    return *from <= n;
}

/* With the lock held. */
static sti_berthing look(sti_store_end *end, const sti_frame *frame, uint64_t n,
                         sti_berth *berth)
{
    struct iovec iov[STI_BERTH_MAX];
    sti_row_answer head;
    sti_push_part part;
    sti_address shard;
    uint64_t at, size, from;
    const uint32_t *places;
    size_t row_bytes;
    sti_berthing found = {0};
    if (!sti_store_peek_rows(frame->payload, n, &shard, &head, &at, &size) ||
        !peek_part(frame, n, at, size, &part, &from))
        return found;
    char *values = sti_client_berth(end->client, shard - STI_SHARD_0, &head,
                                    &part, &places, &row_bytes);
    if (values == NULL || from + part.n * row_bytes != frame->header.size)
        return found;
    const unsigned count = pieces_of(values, places, part.n, row_bytes, iov);
    found.from = from;
    if (count == 0 || !sti_berth_take(berth, iov, count, &found.turn))
        return found;
    found.berth = berth;
    end->berthing = found;
    return found;
}

sti_berthing sti_node_store_berth(sti_node_store *store, sti_address to,
                                  const sti_frame *frame, uint64_t n,
                                  sti_berth *berth)
{
    sti_berthing none = {0};
    if (to < STI_CLIENT_0)
        return none;
    sti_store_end *end = sti_node_store_end_of(store, to);
    if (atomic_load(&end->inbox.stirred) ||
        pthread_mutex_trylock(&end->lock) != 0)
        return none;
    const sti_berthing found = look(end, frame, n, berth);
    sti_store_end_unlock(end, false);
    return found;
}

void sti_store_end_leave_berth(sti_store_end *end)
{
    if (end->berthing.berth != NULL)
        sti_berth_leave(end->berthing.berth, end->berthing.turn);
    end->berthing = (sti_berthing){0};
}
