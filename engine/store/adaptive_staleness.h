/* engine/store/adaptive_staleness.h - the staleness that a worker picks itself,
 * by the rule of STRADS_STALENESS_ADAPTIVE. Belongs to one worker. */
#ifndef STI_STORE_ADAPTIVE_STALENESS_H
#define STI_STORE_ADAPTIVE_STALENESS_H

#include "strads/store.h"

/* Zeroed: at staleness 0. It looks at how a worker waits in all tables, so
 * there is one for a worker; a table's own bound holds when it reads. */
typedef struct sti_adaptive {
    uint32_t staleness;
    uint32_t clocks;    /* ended since it looked last */
    uint64_t looked_at; /* ns */
    uint64_t waited;    /* ns since then, for reads */
} sti_adaptive;

/* The bound of a table that is read so. */
static inline uint32_t sti_staleness_max(const strads_table_spec *spec)
{
    return spec->staleness_max ? spec->staleness_max : 16;
}

static inline uint32_t sti_adaptive_staleness(const sti_adaptive *adaptive,
                                              const strads_table_spec *spec)
{
    uint32_t most = sti_staleness_max(spec);
    return adaptive->staleness < most ? adaptive->staleness : most;
}

static inline void sti_adaptive_waited(sti_adaptive *adaptive, uint64_t ns)
{
    adaptive->waited += ns;
}

/* The worker has ended a clock. `most` is the largest bound of all tables that
 * are read so. */
static inline void sti_adaptive_clock(sti_adaptive *adaptive, uint64_t now,
                                      uint32_t most)
{
    enum { CLOCKS = 8, RAISE_PERCENT = 10, LOWER_PERCENT = 5 };
    if (++adaptive->clocks < CLOCKS)
        return;
    uint64_t passed = now - adaptive->looked_at;
    uint64_t waited = adaptive->waited * 100;
    if (waited > passed * RAISE_PERCENT && adaptive->staleness < most)
        adaptive->staleness++;
    else if ((!waited || waited < passed * LOWER_PERCENT) &&
             adaptive->staleness > 0)
        adaptive->staleness--;
    *adaptive =
        (sti_adaptive){.staleness = adaptive->staleness, .looked_at = now};
}

#endif
