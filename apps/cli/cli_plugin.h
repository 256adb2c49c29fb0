/* cli_plugin.h - a user's program in a shared object. */
#ifndef CLI_PLUGIN_H
#define CLI_PLUGIN_H

#include "cli.h"
#include "strads/program.h"
#include "strads/version.h"

typedef struct cli_plugin {
    void *handle;
    strads_program program; /* a copy; slots that older headers lack are filled
                             * in */
} cli_plugin;

/* Loads a program that was exported by STRADS_EXPORT_PROGRAM from a shared
 * object, and checks its table. STRADS_EIO: it cannot be loaded.
 * STRADS_EMISMATCH: it was built for another version. STRADS_EPROGRAM: its
 * table contradicts itself. */
strads_err cli_plugin_open(const char *path, cli_plugin *plugin);
void cli_plugin_close(cli_plugin *plugin);

/* Handles a command without its first argument, a program: answers --help with
 * `footer`, or fails with `sentence`. Returns an exit code. */
int cli_plugin_missing(const cli_command *self, int argc, char **argv,
                       const char *sentence, const char *footer);

#endif
