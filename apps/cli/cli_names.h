/* cli_names.h - columns by name: `--names FILE`, a name a line. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <stdio.h>

#include "strads/strads.h"

/* Reads names for that many columns; path NULL: *out is NULL, columns go by
 * their number. STRADS_EINVAL: fewer names than columns. */
strads_err cli_names_read(const char *path, uint64_t columns,
                          strads_names **out);

/* The name of column `index`, counted from 0: without names its number in the
 * data, from 1. `room` is where a number is written. */
#define CLI_NAME_SIZE 24
const char *cli_name(const strads_names *names, uint32_t index,
                     char room[CLI_NAME_SIZE]);

/* A field of a CSV line, in quotes where it needs them (RFC 4180). */
void cli_csv_text(FILE *out, const char *text);
/* A number, the shortest text that reads back as it. */
void cli_csv_number(FILE *out, double value);
/* A JSON string; what is no UTF-8 becomes its bytes' marks. */
void cli_json_text(FILE *out, const char *text);

#endif
