/* engine/run/same_machine.h - whether a coordinator runs on this machine, so
 * that its file paths are valid here. */
#ifndef STI_SAME_MACHINE_H
#define STI_SAME_MACHINE_H

#include <stdbool.h>

/* True if the URL is ipc, a loopback address, or a host name with addresses
 * that all belong to this machine's interfaces. May query a name server. */
bool sti_url_is_on_this_machine(const char *url);

#endif
