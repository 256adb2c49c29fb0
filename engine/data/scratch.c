/* Blocks on disk, read ahead and written behind by a thread.
 *
 * Each slot holds one block or none. The slot of the current block is the
 * caller's. The others are the thread's: it loads the block that the caller
 * waits for, then the one that comes next, then writes what was changed. A slot
 * is used again only when it is clean, so a block is either in a slot or
 * complete in the file. */
#include "strads/scratch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/base/monotonic_clock.h"
#include "engine/data/memory.h"
#include "engine/data/scratch_file.h"

enum {
    NO_BLOCK = -1,
    SLOTS = STRADS_SCRATCH_SLOTS,
    MAPPED = 1 << 20 /* from here on, sti_big_alloc aligns to pages */
};

typedef struct slot {
    uint8_t *bytes;
    int64_t block;       /* or NO_BLOCK */
    bool loading;        /* the thread reads it */
    bool writing;        /* the thread writes it */
    uint64_t begin, end; /* changed bytes, whole pages; none if equal */
} slot;

struct strads_scratch {
    int fd;
    uint32_t n;
    uint64_t *offset; /* [n + 1] in the file */
    int64_t *after;   /* [n] the block that followed the last time */
    bool *kept;       /* [n] the file has the block, or will have it */
    uint64_t slot_bytes;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards all that follows, but for the bytes of a
                           * slot: these are its present user's */
    pthread_cond_t changed;
    slot slot[SLOTS];
    int64_t current;        /* block, or NO_BLOCK */
    int64_t wanted, coming; /* blocks to load, or NO_BLOCK */
    bool ends;
    strads_err err; /* of the thread */
    char sentence[512];
    strads_scratch_figures figures;
};

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + STRADS_SCRATCH_ALIGN - 1) / STRADS_SCRATCH_ALIGN *
           STRADS_SCRATCH_ALIGN;
}

static uint64_t bytes_for_slot(uint64_t largest)
{
    const uint64_t bytes = whole_pages(largest);
    return bytes < MAPPED ? MAPPED : bytes;
}

uint64_t strads_scratch_memory(uint64_t largest)
{
    return SLOTS * bytes_for_slot(largest);
}

/* ---- slots: with the lock ------------------------------------------------ */

static slot *slot_of_block(strads_scratch *s, int64_t block)
{
    for (int k = 0; k < SLOTS; k++)
        if (s->slot[k].block == block)
            return &s->slot[k];
    return NULL;
}

/* A slot that may take another block. */
static slot *find_clean(strads_scratch *s)
{
    slot *clean = NULL;
    for (int k = 0; k < SLOTS; k++) {
        slot *at = &s->slot[k];
        if (at->block == NO_BLOCK)
            return at;
        if (at->block != s->current && at->block != s->wanted &&
            at->block != s->coming && !at->loading && !at->writing &&
            at->begin == at->end)
            clean = at;
    }
    return clean;
}

static slot *find_changed(strads_scratch *s)
{
    for (int k = 0; k < SLOTS; k++) {
        slot *at = &s->slot[k];
        if (at->begin < at->end && at->block != s->current)
            return at;
    }
    return NULL;
}

/* ---- the thread ---------------------------------------------------------- */

static void keep_failure(strads_scratch *s, strads_err err)
{
    if (err == STRADS_OK || s->err != STRADS_OK)
        return;
    s->err = err;
    (void)snprintf(s->sentence, sizeof s->sentence, "%s", strads_error_text());
}

static void load_into(strads_scratch *s, slot *to, int64_t block)
{
    const uint64_t offset = s->offset[block];
    const uint64_t bytes = s->offset[block + 1] - offset;
    strads_err err = STRADS_OK;
    to->block = block;
    to->loading = true;
    if (s->kept[block]) {
        (void)pthread_mutex_unlock(&s->lock);
        err = sti_scratch_file_read(s->fd, offset, to->bytes, bytes);
        (void)pthread_mutex_lock(&s->lock);
        s->figures.read += bytes;
    }
    to->loading = false;
    keep_failure(s, err);
}

static void write_back(strads_scratch *s, slot *from)
{
    const uint64_t begin = from->begin, bytes = from->end - begin;
    const uint64_t offset = s->offset[from->block] + begin;
    from->writing = true;
    from->begin = from->end = 0;
    (void)pthread_mutex_unlock(&s->lock);
    const strads_err err =
        sti_scratch_file_write(s->fd, offset, from->bytes + begin, bytes);
    (void)pthread_mutex_lock(&s->lock);
    s->figures.written += bytes;
    from->writing = false;
    keep_failure(s, err);
}

/* Does one piece of work; false: there is none. */
static bool work_once(strads_scratch *s)
{
    slot *clean = find_clean(s);
    if (clean != NULL && s->wanted != NO_BLOCK &&
        slot_of_block(s, s->wanted) == NULL) {
        load_into(s, clean, s->wanted);
        return true;
    }
    if (clean != NULL && s->wanted == NO_BLOCK && s->coming != NO_BLOCK &&
        slot_of_block(s, s->coming) == NULL) {
        load_into(s, clean, s->coming);
        return true;
    }
    slot *dirty = find_changed(s);
    if (dirty == NULL)
        return false;
    write_back(s, dirty);
    return true;
}

static void *serve_blocks(void *context)
{
    strads_scratch *s = context;
    (void)pthread_mutex_lock(&s->lock);
    while (!s->ends && s->err == STRADS_OK)
        if (work_once(s))
            (void)pthread_cond_broadcast(&s->changed);
        else
            (void)pthread_cond_wait(&s->changed, &s->lock);
    (void)pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the caller ---------------------------------------------------------- */

strads_err strads_scratch_take(strads_scratch *s, uint32_t b, void **bytes)
{
    if (b >= s->n)
        return strads_fail(STRADS_EINVAL,
                           "block %u does not exist: expected one below %u", b,
                           s->n);
    (void)pthread_mutex_lock(&s->lock);
    if (s->current != (int64_t)b) {
        if (s->current != NO_BLOCK)
            s->after[s->current] = b;
        s->current = NO_BLOCK;
        s->wanted = b;
        s->coming = NO_BLOCK;
        (void)pthread_cond_broadcast(&s->changed);
    }
    const uint64_t began = sti_monotonic_now();
    slot *at = slot_of_block(s, b);
    while ((at == NULL || at->loading || at->writing) && s->err == STRADS_OK) {
        (void)pthread_cond_wait(&s->changed, &s->lock);
        at = slot_of_block(s, b);
    }
    s->figures.waited += 1e-9 * (double)(sti_monotonic_now() - began);
    s->current = b;
    s->wanted = NO_BLOCK;
    s->coming = s->after[b];
    const strads_err err = s->err;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (err != STRADS_OK)
        return strads_fail(err, "%s", s->sentence);
    *bytes = at->bytes;
    return STRADS_OK;
}

void strads_scratch_changed(strads_scratch *s, uint64_t begin, uint64_t end)
{
    (void)pthread_mutex_lock(&s->lock);
    slot *at = s->current != NO_BLOCK ? slot_of_block(s, s->current) : NULL;
    if (at != NULL && begin < end) {
        const uint64_t first =
            begin / STRADS_SCRATCH_ALIGN * STRADS_SCRATCH_ALIGN;
        const bool clean = at->begin == at->end;
        at->begin = clean || first < at->begin ? first : at->begin;
        at->end =
            clean || whole_pages(end) > at->end ? whole_pages(end) : at->end;
        s->kept[s->current] = true;
    }
    (void)pthread_mutex_unlock(&s->lock);
}

strads_err strads_scratch_fill(strads_scratch *s, uint32_t b, uint64_t offset,
                               const void *bytes, uint64_t n)
{
    n = whole_pages(n);
    if (b >= s->n || offset % STRADS_SCRATCH_ALIGN != 0 ||
        offset + n > s->offset[b + 1] - s->offset[b])
        return strads_fail(STRADS_EINVAL,
                           "%llu bytes at %llu are not within block %u",
                           (unsigned long long)n, (unsigned long long)offset,
                           b);
    (void)pthread_mutex_lock(&s->lock);
    s->kept[b] = true;
    s->figures.written += n;
    (void)pthread_mutex_unlock(&s->lock);
    return sti_scratch_file_write(s->fd, s->offset[b] + offset, bytes, n);
}

strads_scratch_figures strads_scratch_measure(strads_scratch *s)
{
    (void)pthread_mutex_lock(&s->lock);
    strads_scratch_figures figures = s->figures;
    (void)pthread_mutex_unlock(&s->lock);
    return figures;
}

/* ---- opening ------------------------------------------------------------- */

static bool make_slots(strads_scratch *s)
{
    for (int k = 0; k < SLOTS; k++) {
        s->slot[k].block = NO_BLOCK;
        s->slot[k].bytes = sti_big_alloc(s->slot_bytes);
        if (s->slot[k].bytes == NULL)
            return false;
    }
    return true;
}

static strads_err make_block_file(strads_scratch *s, const char *folder,
                                  const char *use, const uint64_t *bytes)
{
    char needs[80];
    uint64_t largest = 0;
    for (uint32_t b = 0; b < s->n; b++) {
        s->offset[b + 1] = s->offset[b] + whole_pages(bytes[b]);
        s->after[b] = NO_BLOCK;
        largest = bytes[b] > largest ? bytes[b] : largest;
    }
    s->slot_bytes = bytes_for_slot(largest);
    s->figures.bytes = s->offset[s->n];
    (void)snprintf(needs, sizeof needs, "%s need", use);
    return sti_scratch_file_open(&(sti_scratch_use){.folder = folder,
                                                    .needs = needs,
                                                    .remedy = "",
                                                    .direct = true},
                                 s->offset[s->n], &s->fd);
}

strads_err strads_scratch_open(const char *folder, const char *use, uint32_t n,
                               const uint64_t *bytes, strads_scratch **out)
{
    strads_scratch *s = calloc(1, sizeof *s);
    if (s == NULL)
        return strads_fail(STRADS_ENOMEM, "%s: no memory for %s", folder, use);
    s->fd = -1;
    s->n = n;
    s->current = s->wanted = s->coming = NO_BLOCK;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->changed, NULL);
    s->offset = calloc((size_t)n + 1, sizeof *s->offset);
    s->after = calloc((size_t)n + 1, sizeof *s->after);
    s->kept = calloc((size_t)n + 1, sizeof *s->kept);
    strads_err err = s->offset && s->after && s->kept
                         ? make_block_file(s, folder, use, bytes)
                         : STRADS_ENOMEM;
    if (err == STRADS_OK && !make_slots(s))
        err = STRADS_ENOMEM;
    if (err == STRADS_OK) {
        s->has_thread = pthread_create(&s->thread, NULL, serve_blocks, s) == 0;
        err = s->has_thread ? STRADS_OK : STRADS_ENOMEM;
    }
    if (err != STRADS_OK) {
        strads_scratch_free(s);
        return err == STRADS_ENOMEM
                   ? strads_fail(err, "%s: no memory or thread to keep %s",
                                 folder, use)
                   : err;
    }
    *out = s;
    return STRADS_OK;
}

void strads_scratch_free(strads_scratch *s)
{
    if (s == NULL)
        return;
    (void)pthread_mutex_lock(&s->lock);
    s->ends = true;
    (void)pthread_cond_broadcast(&s->changed);
    (void)pthread_mutex_unlock(&s->lock);
    if (s->has_thread)
        (void)pthread_join(s->thread, NULL);
    for (int k = 0; k < SLOTS; k++)
        sti_big_free(s->slot[k].bytes, s->slot_bytes);
    if (s->fd >= 0)
        (void)close(s->fd);
    (void)pthread_cond_destroy(&s->changed);
    (void)pthread_mutex_destroy(&s->lock);
    free(s->offset);
    free(s->after);
    free(s->kept);
    free(s);
}
