/* Loads nng's shared library. It is loaded once and stays: nng's threads run
 * until the process ends. */
#ifdef STRADS_NNG
#include "engine/net/nng_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sti_nng nng;
static pid_t loaded_by;
static char missing[256]; /* empty: nng is loaded */

static void find_call(void *library, const char *name, void *to, size_t size)
{
    void *found = dlsym(library, name);
    memcpy(to, &found, size);
    if (!found && !missing[0])
        (void)snprintf(missing, sizeof missing, "libnng.so.1 has no %s", name);
}

static void load_library(void)
{
    void *library = dlopen("libnng.so.1", RTLD_NOW | RTLD_LOCAL);
    loaded_by = getpid();
    if (!library) {
        const char *why = dlerror();
        (void)snprintf(missing, sizeof missing, "%s", why ? why : "not found");
        return;
    }
#define FIND_CALL(name) find_call(library, #name, &nng.name, sizeof nng.name);
    STI_NNG_CALLS(FIND_CALL)
}

strads_err sti_nng_load(const sti_nng **out)
{
    (void)pthread_once(&once, load_library);
    if (missing[0])
        return strads_fail(STRADS_EINVAL,
                           "nng cannot be loaded: %s: install it (Debian: "
                           "libnng1)",
                           missing);
    if (loaded_by != getpid())
        return strads_fail(STRADS_ESTATE,
                           "nng cannot be used in a process that was forked "
                           "after its first use: fork first, or start the "
                           "other process by exec");
    *out = &nng;
    return STRADS_OK;
}

#endif
