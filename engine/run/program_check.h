/* engine/run/program_check.h - what a program's table must be. */
#ifndef STI_PROGRAM_CHECK_H
#define STI_PROGRAM_CHECK_H

#include <strads/program.h>

/* STRADS_EINVAL: a program that contradicts itself, has nothing to run, or was
 * built against other headers. Looks at the table alone and calls nothing. */
strads_err sti_program_check(const strads_program *program);

#endif
