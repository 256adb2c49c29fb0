/* cli_examples.h - a command line that runs, for each command. --help and the
 * man pages print it; tests/cli_examples.sh runs it. */
#ifndef CLI_EXAMPLES_H
#define CLI_EXAMPLES_H

#include <stddef.h>

enum { CLI_EXAMPLE_LINE = 80 };

/* Copies line k, from 0, of the example of a command ("lasso train", "simulate
 * lasso") and returns `out`; NULL: it has no such line. */
const char *cli_example_line(const char *command, size_t k,
                             char out[CLI_EXAMPLE_LINE]);

#endif
