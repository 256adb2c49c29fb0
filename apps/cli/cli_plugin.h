/* cli_plugin.h - a user's program in a shared object. */
#ifndef CLI_PLUGIN_H
#define CLI_PLUGIN_H

#include "cli.h"
#include "strads/program.h"
#include "strads/version.h"

typedef struct cli_plugin {
    void *handle;
    strads_program program; /* a copy: an older, shorter table is completed */
} cli_plugin;

/* Loads the program that STRADS_EXPORT_PROGRAM named in a shared object, and
 * checks its table. STRADS_EIO: it cannot be loaded. STRADS_EMISMATCH: it was
 * built for another strads. STRADS_EPROGRAM: its table contradicts itself. */
strads_err cli_plugin_open(const char *path, cli_plugin *plugin);
void cli_plugin_close(cli_plugin *plugin);

/* For a command whose first argument, a program, is not there: answers --help
 * with `footer`, or fails with the sentence. An exit code. */
int cli_plugin_missing(const cli_command *self, int argc, char **argv,
                       const char *sentence, const char *footer);

#endif
