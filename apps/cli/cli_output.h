/* cli_output.h - what a command writes: to standard output, or to a file that
 * is whole or not there. */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdint.h>
#include <stdio.h>

#include "strads/error.h"

/* Has `write` write to `path`; NULL: standard output. */
strads_err cli_output(const char *path,
                      strads_err (*write)(void *arg, FILE *out), void *arg);

/* The header of a numpy array [rows x cols] of `type`, "<f8" say, 128 bytes;
 * its numbers follow, row by row. */
void cli_npy_header(FILE *out, const char *type, uint64_t rows, uint64_t cols);

#endif
