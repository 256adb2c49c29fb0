/* Faults of the nodes of a simulated store. */
#include <inttypes.h>

#include "tests/swarm/sim_store_state.h"

static void begin_fault(sti_sim_store *sim, const sti_sim_fault *f)
{
    uint64_t until = sim->now + f->lasts;
    switch (f->kind) {
    case STI_SIM_PAUSE:
        /* A longer pause would reorder the events that arrived in it. */
        if (sim->now < sim->paused_until[f->node])
            break;
        sti_sim_store_log(sim, "node %u pauses", f->node);
        sim->paused_until[f->node] = until;
        break;
    case STI_SIM_SLOW:
        sti_sim_store_log(sim, "node %u is slow", f->node);
        sim->slow_until[f->node] = until;
        sim->slowness[f->node] = f->factor;
        break;
    case STI_SIM_CUT:
        sti_sim_store_log(sim, "nodes %u and %u are cut off", f->node,
                          f->other);
        sti_sim_net_cut(&sim->net, f->node, f->other, until);
        break;
    case STI_SIM_ISLE:
        sti_sim_store_log(sim, "node %u is cut off from all others", f->node);
        for (uint32_t k = 0; k < sim->net.nodes; k++)
            sti_sim_net_cut(&sim->net, f->node, k, until);
        break;
    case STI_SIM_BREAK:
        sti_sim_store_log(sim, "nodes %u and %u lose their connection", f->node,
                          f->other);
        sti_sim_net_break(&sim->net, f->node, f->other, sim->now, until);
        break;
    case STI_SIM_FAULTS:
        break;
    }
}

/* ---- schedule of faults -------------------------------------------------- */

void sti_sim_store_turn_of_world(sti_sim_store *sim, uint64_t which)
{
    const sti_sim_store_setup *s = &sim->setup;
    if (which == s->n_faults) {
        sti_sim_weather *w = &sim->net.weather;
        w->lost = w->doubled = w->damaged = 0;
        sti_sim_store_log(sim, "the network loses nothing any more");
    } else {
        begin_fault(sim, &s->faults[which]);
    }
}

void sti_sim_store_plan(sti_sim_store *sim)
{
    const sti_sim_store_setup *s = &sim->setup;
    for (uint32_t k = 0; k < s->n_faults; k++)
        sti_sim_store_event(sim, s->faults[k].at, STI_SIM_WORLD,
                            (sti_event){.kind = STI_EVENT_TIMER,
                                        .msg.round = k});
    sti_sim_store_event(sim, s->calm_at, STI_SIM_WORLD,
                        (sti_event){.kind = STI_EVENT_TIMER,

                                    .msg.round = s->n_faults});
}
