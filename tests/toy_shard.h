/* toy_shard.h - what a shard keeps, without the role: for tests of journals. */
#ifndef TOY_SHARD_H
#define TOY_SHARD_H

#include "engine/base/object.h"
#include "engine/store/journal.h"

enum { SHARD_CLIENTS = 3, SHARD_WORKERS = 4, SHARD_CELLS = 600 };

/* Its cells depend on what was pushed, its digest on the order, too. */
typedef struct toy_shard {
    uint64_t applied[SHARD_CLIENTS], clocks[SHARD_WORKERS];
    uint64_t cells[SHARD_CELLS], digest;
} toy_shard;

toy_shard *shard_new(void);
void shard_free(toy_shard *shard);

/* Applies a push; one out of its client's order fails the test. */
void shard_apply(toy_shard *shard, const sti_journal_record *record);

/* Pushes that it has taken, of all clients. */
uint64_t shard_count(const toy_shard *shard);

/* A sti_journal_state: all of a toy_shard. */
strads_err shard_state(void *shard, sti_sink *sink);

/* A reader that fills an empty shard. */
sti_journal_reader shard_reader(toy_shard *shard);

/* A sink that keeps what it is given. */
typedef struct keeping_sink {
    sti_sink sink;
    sti_buffer *bytes;
} keeping_sink;
keeping_sink keeping_sink_new(void);

/* n random pushes of several clients. */
typedef struct history {
    size_t n;
    sti_journal_record *records;
    sti_buffer **pushes; /* that records' bytes lie in */
} history;

history *history_new(uint64_t seed, size_t n);
void history_free(history *history);

/* The shard is as it was after some number of the history's pushes, bit for
 * bit: that number. */
uint64_t assert_prefix(const toy_shard *shard, const history *history);

#endif
