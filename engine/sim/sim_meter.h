/* engine/sim/sim_meter.h - the real times of jobs: measures them, and computes
 * prices from the measurements. */
#ifndef STI_SIM_METER_H
#define STI_SIM_METER_H

#include "engine/sim/sim_cost.h"

/* Sums over jobs of one kind, each of x entries (or bytes) and y ns. */
typedef struct sti_sim_sums {
    double n, x, y, xx, xy;
    /* the first sample counts only if it is the only one, */
    double first_x, first_y;
    bool any; /* because it loads the cache for the others */
} sti_sim_sums;

typedef struct sti_sim_meter {
    uint32_t n_phases;
    sti_sim_sums *update, *aggregate; /* [n_phases] */
    sti_sim_sums choose, refresh, merge;
    /* of the running job: time in `refresh` and `receive` */
    uint64_t refresh_ns;
    double coordinator_ns; /* of its other jobs since the last aggregate */
} sti_sim_meter;

/* STRADS_ENOMEM. A zeroed meter may be freed. */
strads_err sti_sim_meter_init(sti_sim_meter *meter, uint32_t n_phases);
void sti_sim_meter_free(sti_sim_meter *meter);

/* Runs a job that has been priced, records its time, and sets elapsed_ns. */
void sti_sim_meter_run(sti_sim_meter *meter, const sti_sim_cost *cost,
                       sti_run *run, sti_job *job);

/* Computes prices from the measurements; phases[n_phases] as in
 * strads_sim_measure. */
void sti_sim_meter_prices(const sti_sim_meter *meter, strads_sim_options *sim,
                          strads_sim_phase *phases, uint32_t n_phases);

#endif
