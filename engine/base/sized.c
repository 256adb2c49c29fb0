/* Owns nothing. Invariant: new members are added only at the end of a struct,
 * so a shorter struct is a prefix of a longer one. */
#include "engine/base/sized.h"

#include <stdbool.h>
#include <string.h>

static size_t size_of(const void *from)
{
    size_t size = 0;
    if (from)
        memcpy(&size, from, sizeof size);
    return size;
}

static bool is_zero(const char *bytes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (bytes[k])
            return false;
    return true;
}

strads_err sti_sized_copy(void *to, size_t size, const void *from,
                          const char *what)
{
    /* A larger size is uninitialised memory, not a size. */
    enum { LONGEST = 4096 };
    const size_t has = size_of(from);
    if (has < sizeof has || has > LONGEST)
        return strads_fail(STRADS_EINVAL,
                           "%s have a size of %zu bytes, expected %zu: set the "
                           "member size to sizeof of the struct",
                           what, has, size);
    if (has > size && !is_zero((const char *)from + size, has - size))
        return strads_fail(
            STRADS_EINVAL,
            "%s of %zu bytes set members that this library, "
            "which knows %zu bytes, does not have: use a library as new "
            "as the headers, or leave the new members at zero",
            what, has, size);
    memset(to, 0, size);
    memcpy(to, from, has < size ? has : size);
    memcpy(to, &size, sizeof size);
    return STRADS_OK;
}

void sti_sized_return(void *to, const void *from)
{
    const size_t has = size_of(to), size = size_of(from);
    memcpy((char *)to + sizeof has, (const char *)from + sizeof has,
           (has < size ? has : size) - sizeof has);
}
