/* Shared objects that contain a program. The command exports the engine's
 * functions, so that an object finds them here, even if it is not linked to
 * libstrads. */
#include "cli_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli_options.h"
#include "engine/run/program_check.h"

/* dlopen would search a bare name in the system's paths, but the user means a
 * file. */
static void *open_file(const char *path)
{
    char *name = NULL;
    void *handle = NULL;
    if (strchr(path, '/'))
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (asprintf(&name, "./%s", path) >= 0) {
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        free(name);
    }
    return handle;
}

static bool is_shared_object(const char *path)
{
    char head[4] = "";
    FILE *file = fopen(path, "re");
    const bool is = file && fread(head, 1, sizeof head, file) == sizeof head &&
                    memcmp(head, "\177ELF", sizeof head) == 0;
    if (file)
        (void)fclose(file);
    return is;
}

static strads_err refuse_file(const char *path, const char *reason)
{
    if (access(path, R_OK) != 0)
        return strads_fail(STRADS_EIO, "%s: cannot be loaded: %s", path,
                           strerror(errno));
    if (!is_shared_object(path)) {
        return strads_fail(STRADS_EIO,
                           "%s: cannot be loaded: it is not a shared object; "
                           "build one with `cc -shared -fPIC PROGRAM.c -o "
                           "PROGRAM.so`, and name it before the data",
                           path);
    }
    return strads_fail(STRADS_EIO, "%s: cannot be loaded: %s", path,
                       reason ? reason : "no memory left");
}

static strads_err copy_program(const char *path, void *handle,
                               strads_program *out)
{
    /* The conversion of an object pointer to a function pointer that POSIX
     * specifies. */
    const strads_program *(*entry)(uint32_t abi);
    *(void **)&entry = dlsym(handle, "strads_program_entry");
    if (!entry) {
        return strads_fail(
            STRADS_EMISMATCH,
            "%s: exports no program; add STRADS_EXPORT_PROGRAM(program)", path);
    }
    const strads_program *found = entry(STRADS_PROGRAM_ABI);
    if (!found)
        return strads_fail(STRADS_EMISMATCH,
                           "%s: was built for another version of strads than "
                           "%s; build it again",
                           path, strads_version());
    strads_err err = sti_program_take(found, out);
    return err ? strads_fail(err, "%s: %s", path, strads_error_text()) : err;
}

strads_err cli_plugin_open(const char *path, cli_plugin *plugin)
{
    *plugin = (cli_plugin){.handle = open_file(path)};
    if (!plugin->handle)
        return refuse_file(path, dlerror());
    strads_err err = copy_program(path, plugin->handle, &plugin->program);
    if (err)
        cli_plugin_close(plugin);
    return err;
}

void cli_plugin_close(cli_plugin *plugin)
{
    if (plugin->handle)
        (void)dlclose(plugin->handle);
    *plugin = (cli_plugin){0};
}

int cli_plugin_missing(const cli_command *self, int argc, char **argv,
                       const char *sentence, const char *footer)
{
    const cli_syntax syntax = {.name = self->name,
                               .args = self->args,
                               .summary = self->about,
                               .footer = footer};
    cli_parsed parsed;
    strads_err err = cli_parse(&syntax, argc, argv, &parsed);
    if (!err && !parsed.done)
        err = strads_fail(STRADS_EINVAL, "%s", sentence);
    return err ? cli_complain(err, CLI_BEFORE) : CLI_OK;
}
