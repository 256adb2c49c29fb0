/* engine/run/run_cut.h - how a program would have its data read. */
#ifndef STI_RUN_RUN_CUT_H
#define STI_RUN_RUN_CUT_H

#include "strads/engine.h"

/* What depends on the program and its options alone: split, layout, kind,
 * labels, values. */
void sti_run_cut_as(const strads_program *program, const void *config,
                    strads_data_options *cut);

#endif
