/* engine/sim/sim_meter.h - what jobs really take: clocks around them,
 * and prices made of what was seen. */
#ifndef STI_SIM_METER_H
#define STI_SIM_METER_H

#include "engine/sim/sim_cost.h"

/* Sums over jobs of one kind, each of x entries (or bytes) and y ns. */
typedef struct sti_sim_sums {
    double n, x, y, xx, xy;
    double first_x, first_y; /* the first counts only while it is alone: it */
    bool any;                /* touches what the others find in the cache */
} sti_sim_sums;

typedef struct sti_sim_meter {
    uint32_t n_phases;
    sti_sim_sums *update, *aggregate; /* [n_phases] */
    sti_sim_sums choose, refresh, merge;
    uint64_t refresh_ns; /* of the job that runs: in `refresh` and `receive` */
} sti_sim_meter;

/* STRADS_ENOMEM. A meter that is zero may be freed. */
strads_err sti_sim_meter_init(sti_sim_meter *meter, uint32_t n_phases);
void sti_sim_meter_free(sti_sim_meter *meter);

/* Runs a job that has been priced, notes what it took, and sets elapsed_ns. */
void sti_sim_meter_run(sti_sim_meter *meter, const sti_sim_cost *cost,
                       sti_run *run, sti_job *job);

/* Prices of what was seen; phases[n_phases] as in strads_sim_measure. */
void sti_sim_meter_prices(const sti_sim_meter *meter, strads_sim_options *sim,
                          strads_sim_phase *phases, uint32_t n_phases);

#endif
