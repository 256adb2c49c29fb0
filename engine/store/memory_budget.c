/* Counts every byte that tables and snapshots hold. Invariant: `used` is
 * raised before memory is asked for, so the sum never passes the limit. */
#include "engine/store/memory_budget.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

static uint64_t at_least_one(uint64_t bytes)
{
    return bytes ? bytes : 1;
}

static bool take(sti_budget *budget, uint64_t bytes, uint64_t *used)
{
    *used = atomic_load_explicit(&budget->used, memory_order_relaxed);
    do {
        if (bytes > budget->limit - *used)
            return false;
    } while (!atomic_compare_exchange_weak(&budget->used, used, *used + bytes));
    return true;
}

strads_err sti_budget_alloc(sti_budget *budget, uint64_t bytes,
                            const char *what, void **out)
{
    uint64_t used;
    bytes = at_least_one(bytes);
    if (!take(budget, bytes, &used))
        return strads_fail(STRADS_ENOMEM,
                           "%s needs %" PRIu64 " bytes; of the %" PRIu64
                           " that the store may take, %" PRIu64
                           " are in use: raise the limit, or make fewer or "
                           "smaller tables",
                           what, bytes, budget->limit, used);
    void *memory = calloc(1, bytes);
    if (!memory) {
        atomic_fetch_sub(&budget->used, bytes);
        return strads_fail(STRADS_ENOMEM,
                           "%s needs %" PRIu64 " bytes, which the system "
                           "did not give",
                           what, bytes);
    }
    *out = memory;
    return STRADS_OK;
}

void sti_budget_free(sti_budget *budget, void *memory, uint64_t bytes)
{
    if (!memory)
        return;
    free(memory);
    atomic_fetch_sub(&budget->used, at_least_one(bytes));
}
