/* tests/journal_place.h - where a journal lies, in a directory or on a disk in
 * memory, and what a shard does with it. What is not told to fail must not: it
 * is asserted. */
#ifndef TESTS_JOURNAL_PLACE_H
#define TESTS_JOURNAL_PLACE_H

#include "tests/swarm/journal_memory.h"
#include "tests/toy_shard.h"

typedef struct place {
    char directory[64]; /* of files; "": in memory */
    sti_memory_disk *disk;
} place;

/* What journals are opened with, where nothing else is said. */
extern const sti_journal_options place_options;

place place_new(bool files);
/* Nothing but log and checkpoint may be left in the directory. */
void place_free(place *at);

void place_path(const place *at, const char *name, char path[128]);

strads_err place_open_as(const place *at, const sti_journal_options *as,
                         sti_journal **out);
sti_journal *place_open(const place *at);
/* Opens it, and takes what it holds into the shard. */
sti_journal *place_recover(const place *at, toy_shard *shard);
/* Opens it, recovers and closes it; *count: pushes of the history that came
 * back, which were its first ones. */
strads_err place_restart(const place *at, const history *h, uint64_t *count);

/* Records from the `from`-th on. */
void place_append(sti_journal *journal, const history *h, uint64_t from,
                  uint64_t n);
void place_sync(sti_journal *journal);
/* As a shard does: appends and syncs a batch, then applies it. */
void place_take(sti_journal *journal, toy_shard *shard, const history *h,
                uint64_t n);
void place_checkpoint(sti_journal *journal, toy_shard *shard);
/* A log of the history in batches of `batch`, behind a checkpoint after the
 * first `before` pushes. */
void place_write(const place *at, const history *h, uint64_t before,
                 uint64_t batch);

/* The bytes of "log" or "checkpoint", to be changed, put back and freed. */
unsigned char *place_load(const place *at, const char *name, uint64_t *size);
void place_store(const place *at, const char *name, const unsigned char *bytes,
                 uint64_t size);

#endif
