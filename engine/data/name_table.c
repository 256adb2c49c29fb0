/* Names behind one another in one run of bytes, each with a zero at its end,
 * and a table of open addressing over their hashes. A slot holds a number + 1;
 * 0 is empty. Half of the slots stay empty, so that a search is short. */
#include <stdlib.h>
#include <string.h>

#include "strads/names.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_SLOTS = 64, FIRST_BYTES = 1024 };

struct strads_names {
    char *bytes;
    uint32_t *at;   /* [count + 1]: where names begin */
    uint32_t *slot; /* [slots], a power of two */
    uint64_t slots, at_room, bytes_room;
    uint32_t count;
};

static strads_err no_memory(const strads_names *n)
{
    return strads_fail(STRADS_ENOMEM, "no memory for more than %u names",
                       n != NULL ? n->count : 0);
}

strads_err strads_names_new(strads_names **out)
{
    strads_names *n = calloc(1, sizeof *n);
    if (n == NULL)
        return no_memory(n);
    n->slots = FIRST_SLOTS;
    n->at_room = FIRST_SLOTS / 2;
    n->bytes_room = FIRST_BYTES;
    n->slot = calloc(n->slots, sizeof *n->slot);
    n->at = calloc(n->at_room, sizeof *n->at);
    n->bytes = malloc(n->bytes_room);
    if (n->slot == NULL || n->at == NULL || n->bytes == NULL) {
        strads_names_free(n);
        return no_memory(NULL);
    }
    *out = n;
    return STRADS_OK;
}

void strads_names_free(strads_names *n)
{
    if (n == NULL)
        return;
    free(n->bytes);
    free(n->at);
    free(n->slot);
    free(n);
}

static size_t size_at(const strads_names *n, uint32_t number)
{
    return n->at[number + 1] - n->at[number] - 1;
}

/* The slot where the name is, or the empty one where it would be. */
static uint64_t find_slot(const strads_names *n, const char *name, size_t size)
{
    uint64_t mask = n->slots - 1;
    uint64_t s = XXH3_64bits(name, size) & mask;
    for (; n->slot[s] != 0; s = (s + 1) & mask) {
        uint32_t k = n->slot[s] - 1;
        if (size_at(n, k) == size &&
            memcmp(n->bytes + n->at[k], name, size) == 0)
            break;
    }
    return s;
}

static bool widen(strads_names *n)
{
    uint32_t *slot = calloc(n->slots * 2, sizeof *slot);
    uint32_t *at = realloc(n->at, n->slots * 2 * sizeof *at);
    if (at != NULL) {
        n->at = at;
        n->at_room = n->slots * 2;
    }
    if (slot == NULL || at == NULL) {
        free(slot);
        return false;
    }
    free(n->slot);
    n->slot = slot;
    n->slots *= 2;
    for (uint32_t k = 0; k < n->count; k++)
        n->slot[find_slot(n, n->bytes + n->at[k], size_at(n, k))] = k + 1;
    return true;
}

static bool make_room(strads_names *n, size_t size)
{
    uint64_t wanted = n->at[n->count] + size + 1;
    uint64_t room = n->bytes_room;
    while (room < wanted)
        room *= 2;
    if (room > n->bytes_room) {
        char *bytes = realloc(n->bytes, room);
        if (bytes == NULL)
            return false;
        n->bytes = bytes;
        n->bytes_room = room;
    }
    return (n->count + UINT64_C(2)) * 2 <= n->slots || widen(n);
}

strads_err strads_names_add(strads_names *n, const char *name, size_t size,
                            uint32_t *number)
{
    if (strads_names_find(n, name, size, number))
        return STRADS_OK;
    if (n->count >= UINT32_MAX - 2 || size >= UINT32_MAX - n->at[n->count])
        return strads_fail(STRADS_ELIMIT,
                           "more names than fit: there are %u already, which "
                           "take %u bytes",
                           n->count, n->at[n->count]);
    if (!make_room(n, size))
        return no_memory(n);
    uint32_t k = n->count;
    char *to = n->bytes + n->at[k];
    memcpy(to, name, size);
    to[size] = '\0';
    n->at[k + 1] = n->at[k] + (uint32_t)size + 1;
    n->slot[find_slot(n, name, size)] = k + 1;
    n->count = k + 1;
    *number = k;
    return STRADS_OK;
}

bool strads_names_find(const strads_names *n, const char *name, size_t size,
                       uint32_t *number)
{
    uint32_t k = n->slot[find_slot(n, name, size)];
    if (k == 0)
        return false;
    *number = k - 1;
    return true;
}

uint32_t strads_names_count(const strads_names *n)
{
    return n->count;
}

const char *strads_names_at(const strads_names *n, uint32_t number)
{
    return n->bytes + n->at[number];
}
