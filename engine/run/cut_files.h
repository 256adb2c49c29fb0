/* engine/run/cut_files.h - a run's cuts, in memory and on the disk.
 *
 * A run whose nodes may be lost keeps the last one in memory, for the next
 * generation.
 *
 * A directory has the last two, `cut-N.strads` each: 32 bytes of head (a magic,
 * the size and the XXH3-64 of what follows) and the cut. Each is written under
 * another name, synced and renamed, so that it is whole or not there; and by a
 * thread of its own, so that training goes on meanwhile. */
#ifndef STI_CUT_FILES_H
#define STI_CUT_FILES_H

#include "engine/round/cut.h"
#include "engine/run/run_setup.h"

typedef struct sti_cut_files sti_cut_files;

/* Can there be cuts of a program? Otherwise STRADS_EINVAL and why not. */
strads_err sti_cut_files_can(const strads_program *program);

/* Opens options->checkpoint, and what there is to go on from in
 * options->resume; then sets setup->run.cuts. *out stays NULL where the options
 * name neither, unless `keeps`: the last cut is to be kept in memory; it is to
 * be closed after the run. STRADS_EINVAL: the directory
 * has cuts that the run does not go on from. STRADS_EMISMATCH: they are of
 * another program, other data, ..; STRADS_EFORMAT: there are none, or none is
 * whole. STRADS_ESTATE: another run writes there. STRADS_EIO. */
strads_err sti_cut_files_open(sti_setup *setup, const strads_data *data,
                              bool keeps, sti_cut_files **out);

/* The same run in its next generation, which goes on from the last cut. */
strads_err sti_cut_files_again(sti_cut_files *files, sti_setup *setup);

/* Makes the last cut of what is committed, where a program needs no more, in a
 * run that has ended there; NULL: it has not come to where it goes on from. */
void sti_cut_files_hold(sti_cut_files *files, const sti_run *run,
                        const sti_cut_position *at);

/* `taken` is called behind each cut that is taken, by a thread of the run. */
void sti_cut_files_tell(sti_cut_files *files, void (*taken)(void *arg),
                        void *arg);

/* The last cut, which stays the files'; NULL: none was made. */
sti_buffer *sti_cut_files_latest(const sti_cut_files *files);

/* What the newest whole checkpoint in a directory says of its run: the value of
 * "partitions", "program" or another line of its identity. False: there is no such
 * checkpoint or line. */
bool sti_cut_find(const char *directory, const char *name, char *value,
                  size_t room);

/* How many partitions the run in a directory has; 0: that will be found out
 * when it is opened. */
uint32_t sti_cut_partitions(const char *directory);

/* Waits until the last cut is on the disk. NULL is fine. */
void sti_cut_files_close(sti_cut_files *files);

#endif
