/* tests/swarm/journal_memory.h - a journal in memory, which outlives the
 * shard that writes it: for the simulation and for tests. */
#ifndef STI_STORE_JOURNAL_MEMORY_H
#define STI_STORE_JOURNAL_MEMORY_H

#include "engine/store/journal.h"

/* What stays when a shard is killed: both files of one journal, as bytes of
 * the same format, and how much of them a loss of power would leave. */
typedef struct sti_memory_disk sti_memory_disk;

/* STRADS_ENOMEM. */
strads_err sti_memory_disk_new(sti_memory_disk **out);
void sti_memory_disk_free(sti_memory_disk *disk);

/* Lets both files together be at most `bytes` long from now on: beyond it the
 * disk is full, as a real one would be. UINT64_MAX at first. */
void sti_memory_disk_limit(sti_memory_disk *disk, uint64_t bytes);

/* Bytes of the log that were appended and not synced. */
uint64_t sti_memory_disk_unsynced(const sti_memory_disk *disk);

/* A loss of power: of the bytes that were not synced the first `keep` stay.
 * While no journal is open on it (one that is killed is closed: that writes
 * nothing). */
void sti_memory_disk_lose(sti_memory_disk *disk, uint64_t keep);

/* A disk that said that it had synced and had not: of the log's bytes the first
 * `keep` stay, and its head at least. While no journal is open on it. */
void sti_memory_disk_forget(sti_memory_disk *disk, uint64_t keep);

/* The bytes of the log, or of the checkpoint (*size 0: there is none), to
 * damage them. Valid until the next call with the disk or its journal. */
unsigned char *sti_memory_disk_log(sti_memory_disk *disk, uint64_t *size);
unsigned char *sti_memory_disk_checkpoint(sti_memory_disk *disk,
                                          uint64_t *size);

/* As sti_journal_open. `name` stands in sentences; it is copied. The disk
 * outlives the journal. */
strads_err sti_journal_open_memory(sti_memory_disk *disk, const char *name,
                                   const sti_journal_options *options,
                                   sti_journal **out);

#endif
