/* engine/data/memory_room.h - how much memory a process may still take. */
#ifndef STI_DATA_MEMORY_ROOM_H
#define STI_DATA_MEMORY_ROOM_H

#include <stdint.h>

#include "strads/error.h"

/* Bytes that can be had without swapping: what the system calls available, or
 * what is left of the control group's limit, whichever is less. UINT64_MAX when
 * neither can be told. */
uint64_t sti_memory_room(void);

/* STRADS_ENOMEM with the numbers when `bytes` are more than `room`. */
strads_err sti_memory_check(const char *what, uint64_t bytes, uint64_t room);

#endif
