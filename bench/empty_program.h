/* A program that computes nothing, and data without entries for it, to measure
 * the cost of rounds. */
#ifndef STRADS_BENCH_EMPTY_PROGRAM_H
#define STRADS_BENCH_EMPTY_PROGRAM_H

#include "strads/strads.h"

/* Blocks of one parameter; update and aggregate are empty. */
extern const strads_program empty_program;

/* Partitioned by *options; NULL without memory. */
strads_data *empty_data(const strads_data_options *options);

#endif
