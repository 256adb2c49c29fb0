/* engine/run/checkpoint_files.h - a run's checkpoints, in memory and on disk.
 *
 * If a run may lose nodes, it keeps the last checkpoint in memory for the next
 * membership epoch.
 *
 * A directory holds the last two checkpoints as `checkpoint-N.strads`: a
 * 32-byte header (magic, size and XXH3-64 of the rest) and the data. Each file
 * is written under another name, synced and renamed, so that it is either
 * complete or absent. A separate thread writes it while training continues. */
#ifndef STI_CHECKPOINT_FILES_H
#define STI_CHECKPOINT_FILES_H

#include "engine/round/checkpoint.h"
#include "engine/run/run_setup.h"

typedef struct sti_checkpoint_files sti_checkpoint_files;

/* Returns STRADS_EINVAL, with the reason, if the program cannot be
 * checkpointed. */
strads_err sti_checkpoint_files_can(const strads_program *program);

/* Opens options->checkpoint, reads the checkpoint in options->resume and sets
 * setup->run.checkpoints. If the options name neither, *out stays NULL, unless
 * `keeps` asks to keep the last checkpoint in memory. The caller closes *out
 * after the run. STRADS_EINVAL: the directory has checkpoints that the run does
 * not resume. STRADS_EMISMATCH: they belong to another program, other data or
 * other options. STRADS_EFORMAT: there is no intact checkpoint. STRADS_ESTATE:
 * another run writes to the directory. STRADS_EIO. */
strads_err sti_checkpoint_files_open(sti_setup *setup, const strads_data *data,
                                     bool keeps, sti_checkpoint_files **out);

/* Prepares the next epoch of the same run, which resumes from the last
 * checkpoint. */
strads_err sti_checkpoint_files_again(sti_checkpoint_files *files,
                                      sti_setup *setup);

/* If committed parameters suffice to resume the program, makes the last
 * checkpoint at the position `at` where the run ended. Does nothing if `at` is
 * NULL. */
void sti_checkpoint_files_hold(sti_checkpoint_files *files, const sti_run *run,
                               const sti_checkpoint_position *at);

/* A run thread calls `taken` after each checkpoint is taken. */
void sti_checkpoint_files_notify(sti_checkpoint_files *files,
                                 void (*taken)(void *arg), void *arg);

/* The last checkpoint, owned by `files`; NULL if there is none. */
sti_buffer *sti_checkpoint_files_latest(const sti_checkpoint_files *files);

/* Copies one line of the identity ("partitions", "program", ...) of the newest
 * intact checkpoint in a directory. False: there is no such checkpoint or
 * line. */
bool sti_checkpoint_find(const char *directory, const char *name, char *value,
                         size_t room);

/* The number of partitions of the run in a directory. 0: unknown; opening the
 * checkpoint reports why. */
uint32_t sti_checkpoint_partitions(const char *directory);

/* Waits until the last checkpoint is on disk. Accepts NULL. */
void sti_checkpoint_files_close(sti_checkpoint_files *files);

#endif
