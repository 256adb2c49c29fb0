/* engine/run/program_check.h - what a program's table must be. */
#ifndef STI_PROGRAM_CHECK_H
#define STI_PROGRAM_CHECK_H

#include "strads/program.h"

/* Copies a program's table into *out, completed when it was built against older
 * headers, and checks it. Looks at the table alone and calls nothing.
 * STRADS_EINVAL: a program that contradicts itself, lacks a slot or has nothing
 * to run; the sentence says what to do. */
strads_err sti_program_take(const strads_program *program, strads_program *out);

/* Why an option of the engine (plan, policy, schedulers, threshold, depth,
 * blocks) has no effect on a program, by the phases that it declares; NULL: it
 * may have one, or is none of these. */
const char *sti_program_excludes(const strads_program *program,
                                 const char *option);

#endif
