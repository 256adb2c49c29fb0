/* engine/run/program_check.h - checks of a program's table. */
#ifndef STI_PROGRAM_CHECK_H
#define STI_PROGRAM_CHECK_H

#include "strads/program.h"

/* Copies a program's table into *out and checks it. Fills in the slots that
 * older headers lack. Reads only the table and calls none of its functions.
 * STRADS_EINVAL: the program contradicts itself, lacks a slot or has nothing to
 * run; the message contains the remedy. */
strads_err sti_program_take(const strads_program *program, strads_program *out);

/* Explains why an engine option (plan, policy, schedulers, threshold, depth,
 * blocks) has no effect on a program with these phases. NULL: it may have one,
 * or it is another option. */
const char *sti_program_excludes(const strads_program *program,
                                 const char *option);

#endif
