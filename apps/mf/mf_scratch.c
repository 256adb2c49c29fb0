/* Ratings on disk, by block of items, and for methods by rows also by chunk of
 * users. A sweep reads each block once, or once for each pass over the items
 * (strads/scratch.h), and changes none. */
#include "mf_parts.h"

#include <string.h>

#include <strads/scratch.h>

enum { BUFFER = 1 << 16, RATINGS = BUFFER / sizeof(mf_rating) };

/* Bytes of a block's ratings in one partition, about. */
static const double BLOCK_BYTES = 32 << 20;

struct mf_scratch {
    strads_scratch *file;
    /* While blocks are filled: [blocks x RATINGS], and ratings so far. */
    mf_rating *buffer;
    uint64_t *added;
};

uint64_t mf_scratch_blocks(const strads_data *data, uint32_t partitions)
{
    const double bytes = (double)strads_data_nnz(data) * sizeof(mf_rating);

    return (uint64_t)ceil(bytes / partitions / BLOCK_BYTES);
}

uint64_t mf_scratch_memory(const strads_mf_options *o, uint64_t ratings,
                           uint64_t batch, uint64_t blocks)
{
    /* Blocks have about equal numbers of ratings. */
    const uint64_t block = 2 * sizeof(mf_rating) * ratings / blocks;
    const uint64_t chunk = sizeof(mf_rating) * batch;

    if (!mf_by_rows(o))
        return strads_scratch_memory(block) + BUFFER * blocks;
    /* A chunk has a batch of users at least. A copy of a block is sorted. */
    return strads_scratch_memory(block > chunk ? block : chunk) + block +
           BUFFER * blocks;
}

void mf_scratch_free(mf_scratch *s)
{
    if (!s)
        return;
    strads_scratch_free(s->file);
    free(s->buffer);
    free(s->added);
    free(s);
}

strads_err mf_scratch_open(mf_local *l, uint32_t chunks,
                           const uint64_t *chunk_bytes)
{
    const uint32_t n = l->blocks + chunks;
    mf_scratch *s = calloc(1, sizeof(*s));
    uint64_t *bytes = malloc(sizeof(*bytes) * ((size_t)n + 1));
    strads_err err = STRADS_ENOMEM;

    l->scratch = s;
    if (s && bytes) {
        s->added = calloc(l->blocks + 1, sizeof(*s->added));
        s->buffer = aligned_alloc(STRADS_SCRATCH_ALIGN,
                                  (size_t)BUFFER * (l->blocks + 1));
        for (uint32_t b = 0; b < l->blocks; b++)
            bytes[b] = sizeof(mf_rating) * (l->first[b + 1] - l->first[b]);
        for (uint32_t c = 0; c < chunks; c++)
            bytes[l->blocks + c] = chunk_bytes[c];
        if (s->added && s->buffer)
            err = strads_scratch_open(l->options.scratch, "the ratings", n,
                                      bytes, &s->file);
    }
    free(bytes);
    return err == STRADS_ENOMEM
               ? mf_no_memory("blocks on disk", (uint64_t)BUFFER * l->blocks)
               : err;
}

/* Writes the ratings that block b's buffer holds; the last page may be partly
 * of no rating. */
static strads_err write_buffer(mf_scratch *s, uint32_t b, uint64_t n)
{
    const uint64_t from = s->added[b] - n;

    return n == 0 ? STRADS_OK
                  : strads_scratch_fill(s->file, b, from * sizeof(mf_rating),
                                        s->buffer + (uint64_t)b * RATINGS,
                                        n * sizeof(mf_rating));
}

strads_err mf_scratch_add(mf_scratch *s, uint32_t b, mf_rating rating)
{
    s->buffer[(uint64_t)b * RATINGS + s->added[b]++ % RATINGS] = rating;
    return s->added[b] % RATINGS == 0 ? write_buffer(s, b, RATINGS) : STRADS_OK;
}

strads_err mf_scratch_added(mf_scratch *s, uint32_t blocks)
{
    strads_err err = STRADS_OK;

    for (uint32_t b = 0; b < blocks && !err; b++)
        err = write_buffer(s, b, s->added[b] % RATINGS);
    free(s->buffer);
    s->buffer = NULL;
    return err;
}

strads_err mf_scratch_take(mf_scratch *s, uint32_t b, void **bytes)
{
    return strads_scratch_take(s->file, b, bytes);
}

void mf_scratch_changed(mf_scratch *s, uint64_t n)
{
    strads_scratch_changed(s->file, 0, n);
}

strads_err mf_ratings_take(mf_local *l, uint32_t b)
{
    void *bytes = NULL;

    if (!l->scratch) {
        l->block_rating = l->rating + l->first[b];
        return STRADS_OK;
    }
    const strads_err err = mf_scratch_take(l->scratch, b, &bytes);
    l->block_rating = bytes;
    return err;
}

void mf_ratings_changed(mf_local *l, uint32_t b)
{
    if (l->scratch)
        mf_scratch_changed(l->scratch,
                           sizeof(mf_rating) * (l->first[b + 1] - l->first[b]));
}

void mf_evict(const strads_share *share, uint64_t *from, uint64_t u)
{
    enum { ENTRIES = 1 << 18 };

    if (share->on_disk &&
        share->by_row.start[u + 1] - share->by_row.start[*from] >= ENTRIES) {
        strads_share_evict(share);
        *from = u + 1;
    }
}
