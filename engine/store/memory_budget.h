/* engine/store/memory_budget.h - what a store's tables may take, and take. */
#ifndef STI_STORE_MEMORY_BUDGET_H
#define STI_STORE_MEMORY_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "strads/error.h"

typedef struct sti_budget {
    uint64_t limit;
    _Atomic uint64_t used; /* never above limit */
} sti_budget;

/* Zeroed memory of `bytes` (0 counts as 1), counted before it is allocated.
 * STRADS_ENOMEM: the sentence names `what` and the numbers. Any thread. */
strads_err sti_budget_alloc(sti_budget *budget, uint64_t bytes,
                            const char *what, void **out);

/* Gives back what sti_budget_alloc made with the same `bytes`. NULL is fine. */
void sti_budget_free(sti_budget *budget, void *memory, uint64_t bytes);

#endif
