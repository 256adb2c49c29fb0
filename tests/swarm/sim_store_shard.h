/* tests/swarm/sim_store_shard.h - a simulated node with a shard of the
 * store, which can be killed at any moment, and comes up again from what its
 * disk kept. */
#ifndef STI_SIM_STORE_SHARD_H
#define STI_SIM_STORE_SHARD_H

#include "engine/base/random.h"
#include "engine/store/shard.h"
#include "tests/swarm/journal_memory.h"

typedef struct sti_sim_shard {
    sti_shard_setup setup; /* without its journal */
    sti_memory_disk *disk; /* outlives all that is below */
    sti_journal *journal;
    sti_shard *role;          /* NULL: it is down */
    sti_journal_ops unsynced; /* the journal's, but nothing is synced */
    const sti_journal_ops *synced;
    bool disk_fails;   /* its syncs fail, until it is mended */
    bool disk_ill;     /* that, or it is full */
    uint64_t log_room; /* as in journal.h */
    bool busy;         /* its work is under way, and done when its time is
                             over */
    uint64_t life;     /* 1, 2, ...: how often it came up */
} sti_sim_shard;

/* First, and after each kill (S5). STRADS_ENOMEM; others: what the disk kept
 * cannot be read, which is a fault of the journal. */
strads_err sti_sim_shard_up(sti_sim_shard *shard, const sti_shard_setup *setup);

/* Power is lost. Work under way has not begun, or is through and nobody was
 * told, or has written and not synced: then any part of that is kept. */
void sti_sim_shard_kill(sti_sim_shard *shard, sti_random *random);

/* While it is down: the end of the log is gone, though it was synced. */
void sti_sim_shard_forget(sti_sim_shard *shard, sti_random *random);

/* The disk is full but for `capacity` bytes, or fails to sync; until it is mended.
 * A shard that finds out says FAIL, and has to be killed. */
void sti_sim_shard_fill_disk(sti_sim_shard *shard, uint64_t capacity);
void sti_sim_shard_break_disk(sti_sim_shard *shard);
void sti_sim_shard_mend_disk(sti_sim_shard *shard);

void sti_sim_shard_free(sti_sim_shard *shard);

#endif
