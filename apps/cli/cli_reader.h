/* cli_reader.h - a command line being read: between cli_options.c, which knows
 * what is right, and cli_argp.c, which knows argp. */
#ifndef CLI_READER_H
#define CLI_READER_H

#include "cli_options.h"

enum { CLI_MOST_PARTS = CLI_MOST_GROUPS + 1 };

/* --config and --print-config, which no file may hold. */
typedef struct cli_meta {
    const char *config;
    bool print_config;
} cli_meta;

/* An option on the command line, in the order of the line. */
typedef struct cli_assignment {
    const strads_option *option;
    void *values;
    const char *text;
} cli_assignment;

typedef struct cli_reader {
    const cli_syntax *syntax;
    cli_meta meta;
    sti_config_part part[CLI_MOST_PARTS]; /* the groups', then meta */
    const char *title[CLI_MOST_PARTS];
    size_t n_parts, n_config; /* n_config: of them may be in a file */
    size_t n_options;
    cli_assignment *assignments;
    size_t n_assignments;
    const char *arg[CLI_MOST_ARGS];
    size_t n_args, n_wanted;
    bool help;
} cli_reader;

/* Collects options and arguments of words that have been checked. */
strads_err cli_argp_read(cli_reader *r, int argc, char **argv);

/* Refuses an output that is one of the command's other files. STRADS_EINVAL. */
strads_err cli_clash_check(const cli_reader *r);

/* Prints the help of the command. */
strads_err cli_argp_help(const cli_reader *r);

#endif
