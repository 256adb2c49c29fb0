/* cli_programs.h - the programs that come with strads. */
#ifndef CLI_PROGRAMS_H
#define CLI_PROGRAMS_H

#include "strads/program.h"

/* The built-in program of that name, or NULL. */
const strads_program *cli_built_in(const char *name);

#endif
