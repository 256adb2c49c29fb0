/* A shard and its disk. Invariant: what the role has told anybody is on the
 * disk and synced, unless the disk lies; what is not synced is lost at a kill,
 * the last bytes first. */
#include "tests/swarm/sim_store_shard.h"

#include <stdio.h>
#include <string.h>

static strads_err no_sync(sti_journal *journal)
{
    (void)journal;
    return strads_fail(STRADS_EIO, "the disk fails");
}

static void stop_syncs(sti_sim_shard *shard)
{
    if (!shard->journal || shard->journal->ops == &shard->unsynced)
        return;
    shard->synced = shard->journal->ops;
    shard->unsynced = *shard->synced;
    shard->unsynced.sync = no_sync;
    shard->journal->ops = &shard->unsynced;
}

static strads_err open_journal(sti_sim_shard *shard)
{
    const sti_journal_options options = {.shard = shard->setup.shard,
                                         .log_room = shard->log_room};
    char name[32];
    (void)snprintf(name, sizeof name, "shard %u", shard->setup.shard);
    strads_err err = STRADS_OK;
    if (!shard->disk)
        err = sti_memory_disk_new(&shard->disk);
    if (!err)
        err = sti_journal_open_memory(shard->disk, name, &options,
                                      &shard->journal);
    if (!err && shard->disk_fails)
        stop_syncs(shard);
    return err;
}

/* ---- up and down ------------------------------------------------------- */

static void go_down(sti_sim_shard *shard)
{
    sti_shard_free(shard->role);
    sti_journal_close(shard->journal);
    shard->role = NULL;
    shard->journal = NULL;
    shard->busy = false;
}

strads_err sti_sim_shard_up(sti_sim_shard *shard, const sti_shard_setup *setup)
{
    shard->setup = *setup;
    shard->life++;
    strads_err err = open_journal(shard);
    sti_shard_setup with = *setup;
    with.journal = shard->journal;
    return err ? err : sti_shard_new(&with, &shard->role);
}

void sti_sim_shard_kill(sti_sim_shard *shard, sti_random *random)
{
    const uint64_t how = sti_random_below(random, 3);
    sti_effects nobody_is_told = {0};
    if (how == 0)
        stop_syncs(shard);
    if (shard->busy && how < 2)
        sti_shard_work(shard->role, 0, &nobody_is_told);
    sti_effects_free(&nobody_is_told);
    go_down(shard);
    uint64_t loose = sti_memory_disk_unsynced(shard->disk);
    sti_memory_disk_lose(shard->disk, sti_random_below(random, loose + 1));
}

void sti_sim_shard_forget(sti_sim_shard *shard, sti_random *random)
{
    uint64_t log;
    (void)sti_memory_disk_log(shard->disk, &log);
    sti_memory_disk_forget(shard->disk, sti_random_below(random, log + 1));
}

/* ---- disks ------------------------------------------------------------- */

void sti_sim_shard_fill_disk(sti_sim_shard *shard, uint64_t capacity)
{
    uint64_t log, checkpoint;
    (void)sti_memory_disk_log(shard->disk, &log);
    (void)sti_memory_disk_checkpoint(shard->disk, &checkpoint);
    sti_memory_disk_limit(shard->disk, log + checkpoint + capacity);
    shard->disk_ill = true;
}

void sti_sim_shard_break_disk(sti_sim_shard *shard)
{
    stop_syncs(shard);
    shard->disk_fails = shard->disk_ill = true;
}

void sti_sim_shard_mend_disk(sti_sim_shard *shard)
{
    sti_memory_disk_limit(shard->disk, UINT64_MAX);
    if (shard->journal && shard->disk_fails)
        shard->journal->ops = shard->synced;
    shard->disk_fails = shard->disk_ill = false;
}

void sti_sim_shard_free(sti_sim_shard *shard)
{
    go_down(shard);
    sti_memory_disk_free(shard->disk);
}
