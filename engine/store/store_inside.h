/* engine/store/store_inside.h - what a strads_store is to this folder. */
#ifndef STI_STORE_STORE_INSIDE_H
#define STI_STORE_STORE_INSIDE_H

#include "engine/store/memory_budget.h"
#include "engine/store/row_table.h"
#include "engine/store/session_exact.h"
#include "engine/store/worker_clocks.h"

struct strads_store {
    sti_budget budget;
    sti_table **tables; /* [n_tables]; fixed while other threads use it */
    uint32_t n_tables;
    sti_clocks clocks; /* of its sessions; knows nothing of tables */
    sti_exact exact;   /* snapshots for its sessions */
};

/* Table `number`. STRADS_EINVAL: there is none. */
strads_err sti_store_table(const strads_store *store, uint32_t number,
                           sti_table **out);

#endif
