/* What goes wrong on the nodes of a simulated store, and what is set right
 * again. Shards are killed, and come up as they would on a real node: from their
 * journals. */
#include <inttypes.h>

#include "engine/store/client_state.h"
#include "engine/store/shard_state.h"
#include "tests/swarm/sim_store_state.h"

/* ---- shards ------------------------------------------------------------ */

void sti_sim_store_shard_up(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    const sti_shard_setup setup = {.shard = number,
                                   .shards = s->shards,
                                   .clients = s->clients,
                                   .workers = sim->n_workers,
                                   .tables = s->tables,
                                   .n_tables = s->n_tables,
                                   .memory_limit = UINT64_C(1) << 26,
                                   .piece_bytes = s->piece_bytes,
                                   .retell_ns = s->resend_ns};
    sim->shards[number].log_room = s->log_room;
    sti_sim_store_stop(sim, sti_sim_shard_up(&sim->shards[number], &setup));
}

void sti_sim_store_shard_down(sti_sim_store *sim, uint32_t number)
{
    if (!sim->shards[number].role)
        return;
    sim->life[number]++;
    sti_sim_shard_kill(&sim->shards[number], &sim->random);
}

/* Whose pushes are gone that it was told are in. */
static uint64_t count_forgotten(const sti_sim_store *sim, uint32_t number)
{
    uint64_t n = 0;
    for (uint32_t c = 0; c < sim->setup.clients; c++)
        n += sim->clients[c]->streams[number].acknowledged >
             sim->shards[number].role->clients[c].applied;
    return n;
}

static void restart_shard(sti_sim_store *sim, uint32_t number)
{
    sti_sim_shard *shard = &sim->shards[number];
    if (shard->role)
        return;
    sti_sim_store_shard_up(sim, number);
    sim->outcome.restarts++;
    sti_sim_store_tell(sim, "shard %u is up again, for the %" PRIu64 ". time",
                       number, shard->life - 1);
    if (sim->over)
        return;
    sim->outcome.forgotten += count_forgotten(sim, number);
    const sti_event start = {.kind = STI_EVENT_START, .now = sim->now};
    sti_shard_step(shard->role, &start, 1, &sim->effects);
    sti_sim_store_apply(sim, STI_SHARD_0 + number);
}

/* ---- faults ------------------------------------------------------------ */

static void begin_disk_fault(sti_sim_store *sim, const sti_sim_fault *f)
{
    sti_sim_shard *shard = &sim->shards[f->node];
    bool full = f->kind == STI_SIM_FULL_DISK;
    sti_sim_store_tell(sim, "the disk of shard %u %s", f->node,
                       full ? "is full" : "fails");
    if (full)
        sti_sim_shard_fill_disk(shard, (uint64_t)f->factor * 16);
    else
        sti_sim_shard_break_disk(shard);
}

static void lie(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    sti_sim_store_tell(sim, "shard %u is killed, and its disk has lied",
                       number);
    sti_sim_store_shard_down(sim, number);
    sti_sim_shard_forget(&sim->shards[number], &sim->random);
    sim->outcome.lies++;
    if (s->forgets)
        s->forgets(s->arg, number);
}

static void begin_fault(sti_sim_store *sim, const sti_sim_fault *f)
{
    uint64_t until = sim->now + f->lasts;
    switch (f->kind) {
    case STI_SIM_KILL:
        sti_sim_store_tell(sim, "shard %u is killed", f->node);
        sti_sim_store_shard_down(sim, f->node);
        break;
    case STI_SIM_PAUSE:
        /* A pause is not made longer: what came in it would change order. */
        if (sim->now < sim->paused_until[f->node])
            break;
        sti_sim_store_tell(sim, "node %u pauses", f->node);
        sim->paused_until[f->node] = until;
        break;
    case STI_SIM_SLOW:
        sti_sim_store_tell(sim, "node %u is slow", f->node);
        sim->slow_until[f->node] = until;
        sim->slowness[f->node] = f->factor;
        break;
    case STI_SIM_CUT:
        sti_sim_store_tell(sim, "nodes %u and %u are cut off", f->node,
                           f->other);
        sti_sim_net_cut(&sim->net, f->node, f->other, until);
        break;
    case STI_SIM_ISLE:
        sti_sim_store_tell(sim, "node %u is cut off from all others", f->node);
        for (uint32_t k = 0; k < sim->net.nodes; k++)
            sti_sim_net_cut(&sim->net, f->node, k, until);
        break;
    case STI_SIM_BREAK:
        sti_sim_store_tell(sim, "nodes %u and %u lose their connection",
                           f->node, f->other);
        sti_sim_net_break(&sim->net, f->node, f->other, sim->now, until);
        break;
    case STI_SIM_FULL_DISK:
    case STI_SIM_BAD_DISK:
        begin_disk_fault(sim, f);
        break;
    case STI_SIM_LYING_DISK:
        lie(sim, f->node);
        break;
    }
}

static void end_fault(sti_sim_store *sim, const sti_sim_fault *f)
{
    if (f->kind == STI_SIM_FULL_DISK || f->kind == STI_SIM_BAD_DISK)
        sti_sim_shard_mend_disk(&sim->shards[f->node]);
    if (f->kind == STI_SIM_FULL_DISK || f->kind == STI_SIM_BAD_DISK ||
        f->kind == STI_SIM_LYING_DISK || f->kind == STI_SIM_KILL)
        restart_shard(sim, f->node);
}

/* ---- their times ------------------------------------------------------- */

void sti_sim_store_turn_of_world(sti_sim_store *sim, uint64_t which)
{
    const sti_sim_store_setup *s = &sim->setup;
    if (which == 2 * (uint64_t)s->n_faults) {
        sti_sim_weather *w = &sim->net.weather;
        w->lost = w->doubled = w->damaged = 0;
        sti_sim_store_tell(sim, "the network loses nothing any more");
    } else if (which % 2 == 0) {
        begin_fault(sim, &s->faults[which / 2]);
    } else {
        end_fault(sim, &s->faults[which / 2]);
    }
}

void sti_sim_store_plan(sti_sim_store *sim)
{
    const sti_sim_store_setup *s = &sim->setup;
    for (uint32_t k = 0; k < s->n_faults; k++) {
        const sti_sim_fault *f = &s->faults[k];
        for (uint32_t end = 0; end < 2; end++)
            sti_sim_store_event(sim, f->at + end * f->lasts, STI_SIM_WORLD,
                                (sti_event){.kind = STI_EVENT_TIMER,
                                            .msg.round =
                                                2 * (uint64_t)k + end});
    }
    sti_sim_store_event(sim, s->calm_at, STI_SIM_WORLD,
                        (sti_event){.kind = STI_EVENT_TIMER,
                                    .msg.round = 2 * (uint64_t)s->n_faults});
}
