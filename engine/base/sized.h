/* engine/base/sized.h - structs of the public face that begin with a `size`:
 * those of a caller that was built against older headers are shorter. */
#ifndef STI_SIZED_H
#define STI_SIZED_H

#include <stddef.h>

#include "strads/error.h"

/* Copies a caller's struct, whose first member is its size_t `size`, into *to
 * of `size` bytes. Members that the caller does not have are zero, which means
 * their default; to->size is `size` then. `what` names the struct.
 * STRADS_EINVAL: from is NULL or has no size; or it is from newer headers, and
 * says something that this library does not know. *to is then unspecified. */
strads_err sti_sized_copy(void *to, size_t size, const void *from,
                          const char *what);

/* Copies *from, as sti_sized_copy has made it, back into the caller's struct,
 * as far as that has the members. */
void sti_sized_return(void *to, const void *from);

#endif
