/* The only part of the simulation that reads a real clock. Prices are lines
 * through the measurements, ns over entries, by least squares. The line goes
 * through the origin if all jobs had one size or the fit gives an impossible
 * price. */
#include "engine/sim/sim_meter.h"

#include <stdlib.h>

#include "engine/base/monotonic_clock.h"

strads_err sti_sim_meter_init(sti_sim_meter *meter, uint32_t n_phases)
{
    *meter = (sti_sim_meter){.n_phases = n_phases};
    meter->update = calloc(n_phases + (size_t)1, sizeof *meter->update);
    meter->aggregate = calloc(n_phases + (size_t)1, sizeof *meter->aggregate);
    return meter->update && meter->aggregate
               ? STRADS_OK
               : strads_fail(STRADS_ENOMEM, "no memory to measure %u phases",
                             n_phases);
}

void sti_sim_meter_free(sti_sim_meter *meter)
{
    free(meter->update);
    free(meter->aggregate);
    *meter = (sti_sim_meter){0};
}

static void add_sample(sti_sim_sums *sums, double x, double y)
{
    if (!sums->any) {
        sums->any = true;
        sums->first_x = x;
        sums->first_y = y;
        return;
    }
    sums->n++;
    sums->x += x;
    sums->y += y;
    sums->xx += x * x;
    sums->xy += x * y;
}

static void note_worker(sti_sim_meter *meter, const sti_sim_cost *cost,
                        const sti_worker_job *job, double ns)
{
    const sti_dispatch *d = job->dispatch;
    double refresh = (double)meter->refresh_ns;
    bool step = job->job.call == STI_CALL_RING_STEP;
    bool ring = cost->run->phases[d->phase].to == STRADS_TO_RING;
    if (d->n_updates && !step)
        add_sample(&meter->refresh, sti_sim_cost_updates(cost, job), refresh);
    if (ring == step && !(step && job->home))
        add_sample(&meter->update[d->phase], sti_sim_cost_entries(cost, job),
                   ns - refresh);
}

/* The coordinator's other jobs of a round have no price of their own. They
 * run on the same core as the aggregate, so the next aggregate includes
 * their time. */
static bool is_for_commit(const sti_job *job)
{
    return job->call == STI_CALL_SCHEDULE || job->call == STI_CALL_PREPARE ||
           job->call == STI_CALL_REPORT;
}

void sti_sim_meter_run(sti_sim_meter *meter, const sti_sim_cost *cost,
                       sti_run *run, sti_job *job)
{
    double merged = job->call == STI_CALL_MERGE
                        ? (double)((sti_worker_job *)job)->from->size
                        : 0;
    meter->refresh_ns = 0;
    uint64_t begun = sti_monotonic_now();
    sti_job_run(run, job);
    job->elapsed_ns = sti_monotonic_now() - begun;
    double ns = (double)job->elapsed_ns;
    bool known = job->phase < meter->n_phases;
    if (job->call == STI_CALL_MERGE)
        add_sample(&meter->merge, merged, ns);
    else if (job->call == STI_CALL_CHOOSE)
        add_sample(&meter->choose, 0, ns);
    else if (is_for_commit(job))
        meter->coordinator_ns += ns;
    else if (job->call == STI_CALL_AGGREGATE && known) {
        add_sample(&meter->aggregate[job->phase], 0,
                   ns + meter->coordinator_ns);
        meter->coordinator_ns = 0;
    } else if ((job->call == STI_CALL_WORK ||
                job->call == STI_CALL_RING_STEP) &&
               known)
        note_worker(meter, cost, (const sti_worker_job *)job, ns);
}

/* ---- prices ------------------------------------------------------------ */

/* Fits y = *fixed + *each x, in seconds; each NULL: the mean. */
static void fit_line(const sti_sim_sums *s, double *fixed, double *each)
{
    double n = s->n > 0 ? s->n : 1, x = s->n > 0 ? s->x : s->first_x,
           y = s->n > 0 ? s->y : s->first_y;
    double spread = s->xx - s->x * s->x / n;
    *fixed = 1e-9 * y / n;
    if (!each)
        return;
    double slope =
        spread > 1e-6 * s->xx ? (s->xy - s->x * s->y / n) / spread : -1;
    double intercept = y / n - slope * x / n;
    *each = 0;
    if (slope > 0 && intercept >= 0) {
        *each = 1e-9 * slope;
        *fixed = 1e-9 * intercept;
    } else if (x > 0) {
        *each = 1e-9 * y / x;
        *fixed = 0;
    }
}

void sti_sim_meter_prices(const sti_sim_meter *meter, strads_sim_options *sim,
                          strads_sim_phase *phases, uint32_t n_phases)
{
    double call;
    for (uint32_t k = 0; k < n_phases && k < meter->n_phases; k++) {
        fit_line(&meter->update[k], &phases[k].update_cost,
                 &phases[k].entry_cost);
        fit_line(&meter->aggregate[k], &phases[k].aggregate_cost, NULL);
    }
    fit_line(&meter->choose, &sim->choose_cost, NULL);
    fit_line(&meter->refresh, &sim->refresh_cost, &sim->refresh_entry_cost);
    fit_line(&meter->merge, &call, &sim->merge_cost);
    sim->phases = phases;
    sim->n_phases = n_phases;
    sim->update_cost = sim->entry_cost = sim->aggregate_cost = 0;
}
