/* engine/run/same_machine.h - whether a coordinator's path names the same file
 * here. */
#ifndef STI_SAME_MACHINE_H
#define STI_SAME_MACHINE_H

#include <stdbool.h>

/* Whether the process at this URL runs on this machine: ipc, a loopback address,
 * or a host name all of whose addresses belong to this machine's interfaces.
 * May ask a name server. */
bool sti_url_is_on_this_machine(const char *url);

#endif
