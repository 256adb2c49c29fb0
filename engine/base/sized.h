/* engine/base/sized.h - public structs that begin with a `size`. A caller that
 * was built against older headers passes shorter ones. */
#ifndef STI_SIZED_H
#define STI_SIZED_H

#include <stddef.h>

#include "strads/error.h"

/* Copies a caller's struct, with its size_t `size` as first member, into *to of
 * `size` bytes. Members that the caller does not have become zero, which means
 * their default; to->size becomes `size`. `what` names the struct in messages.
 * STRADS_EINVAL: from is NULL or has no size; or it comes from newer headers
 * and sets a member that this library does not know. *to is then
 * unspecified. */
strads_err sti_sized_copy(void *to, size_t size, const void *from,
                          const char *what);

/* Copies *from, which sti_sized_copy made, back into the caller's struct, as
 * far as that has the members. */
void sti_sized_return(void *to, const void *from);

#endif
