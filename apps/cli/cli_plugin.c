/* Shared objects with a program. The command exports the engine's functions,
 * so that the object finds them here, linked to libstrads or not. */
#include "cli_plugin.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* dlopen looks a bare name up on the system's paths; a file is meant here. */
static void *open_file(const char *path)
{
    char *name = NULL;
    void *handle = NULL;
    if (strchr(path, '/')) {
        return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (asprintf(&name, "./%s", path) >= 0) {
        handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        free(name);
    }
    return handle;
}

static size_t field_size(strads_option_kind kind)
{
    switch (kind) {
    case STRADS_OPTION_F64:
    case STRADS_OPTION_U64:
        return 8;
    case STRADS_OPTION_U32:
        return 4;
    case STRADS_OPTION_BOOL:
        return sizeof(bool);
    case STRADS_OPTION_STRING:
        return sizeof(char *);
    }
    return SIZE_MAX / 2; /* unknown: never fits */
}

static strads_err check_program(const char *path, const strads_program *p)
{
    if (!p->name || !*p->name) {
        return strads_fail(STRADS_EPROGRAM, "%s: its program has no name",
                           path);
    }
    for (const strads_option *o = p->options; o && o->name; o++) {
        if (o->offset + field_size(o->kind) > p->config_size) {
            return strads_fail(STRADS_EPROGRAM,
                               "%s: option %s of program %s lies outside its "
                               "config_size of %zu bytes",
                               path, o->name, p->name, p->config_size);
        }
    }
    return STRADS_OK;
}

static strads_err copy_program(const char *path, void *handle,
                               strads_program *out)
{
    /* POSIX's way from an object pointer to a function's. */
    const strads_program *(*entry)(uint32_t abi);
    *(void **)&entry = dlsym(handle, "strads_program_entry");
    if (!entry) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: names no program; it needs "
                           "STRADS_EXPORT_PROGRAM(program)",
                           path);
    }
    const strads_program *found = entry(STRADS_PROGRAM_ABI);
    if (!found || found->size > sizeof *out ||
        found->size <= offsetof(strads_program, config_size)) {
        return strads_fail(STRADS_EMISMATCH,
                           "%s: was built for another version of strads than "
                           "%s; build it again",
                           path, strads_version());
    }
    memset(out, 0, sizeof *out);
    memcpy(out, found, found->size);
    out->size = sizeof *out;
    return check_program(path, out);
}

strads_err cli_plugin_open(const char *path, cli_plugin *plugin)
{
    *plugin = (cli_plugin){.handle = open_file(path)};
    if (!plugin->handle) {
        const char *why = dlerror();
        return strads_fail(STRADS_EIO, "%s: cannot be loaded: %s", path,
                           why ? why : "no memory left");
    }
    strads_err err = copy_program(path, plugin->handle, &plugin->program);
    if (err) {
        cli_plugin_close(plugin);
    }
    return err;
}

void cli_plugin_close(cli_plugin *plugin)
{
    if (plugin->handle) {
        (void)dlclose(plugin->handle);
    }
    *plugin = (cli_plugin){0};
}
