/* engine/run/cut_files.h - a run's cuts on the disk.
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

/* Opens options->checkpoint, and what there is to go on from in
 * options->resume; then sets setup->run.cuts. *out stays NULL where the options
 * name neither, and is to be closed after the run. STRADS_EINVAL: the directory
 * has cuts that the run does not go on from. STRADS_EMISMATCH: they are of
 * another program, other data, ..; STRADS_EFORMAT: there are none, or none is
 * whole. STRADS_ESTATE: another run writes there. STRADS_EIO. */
strads_err sti_cut_files_open(sti_setup *setup, const strads_data *data,
                              sti_cut_files **out);

/* How many partitions the run in a directory has; 0: that will be found out
 * when it is opened. */
uint32_t sti_cut_partitions(const char *directory);

/* Waits until the last cut is on the disk. NULL is fine. */
void sti_cut_files_close(sti_cut_files *files);

#endif
