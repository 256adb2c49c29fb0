/* What goes wrong on the nodes of a simulated store, and what is set right
 * again. Shards and clients are killed, and come up as they would on a real
 * node: a shard from its journal, a client from nothing but its workers'
 * clocks, over new connections. */
#include <inttypes.h>

#include "tests/swarm/sim_store_state.h"

/* ---- shards ------------------------------------------------------------ */

void sti_sim_store_shard_up(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    const sti_kept_setup setup = {.shard = number,
                                  .shards = s->shards,
                                  .streams = s->clients,
                                  .workers = sim->n_workers,
                                  .tables = s->tables,
                                  .n_tables = s->n_tables,
                                  .memory_limit = UINT64_C(1) << 26};
    sim->shards[number].log_room = s->log_room;
    sim->shards[number].piece_bytes = s->piece_bytes;
    sim->shards[number].lend_bytes = s->lend_bytes;
    sim->shards[number].retell_ns = s->resend_ns;
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
    const sti_kept *kept = sim->shards[number].kept;
    uint64_t n = 0;
    for (uint32_t c = 0; c < sim->setup.clients; c++)
        n += sim->clients[c] &&
             sti_client_acknowledged(sim->clients[c], number) >
                 sti_kept_applied(kept, c);
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

/* ---- clients ----------------------------------------------------------- */

void sti_sim_store_client_up(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    uint64_t clocks[STI_SIM_WORKERS_MAX];
    uint32_t first = number * s->workers_each;
    for (uint32_t w = 0; w < s->workers_each; w++)
        clocks[w] = sim->workers[first + w].clock;
    const sti_client_setup setup = {.client = number,
                                    .shards = s->shards,
                                    .first_worker = first,
                                    .workers = s->workers_each,
                                    .tables = s->tables,
                                    .n_tables = s->n_tables,
                                    .cache_bytes = s->cache_bytes,
                                    .max_pushes = s->max_pushes,
                                    .max_bytes = s->max_bytes,
                                    .piece_bytes = s->piece_bytes,
                                    .window_bytes = s->window_bytes,
                                    .resend_ns = s->resend_ns,
                                    .returned_at = sim->now,
                                    .clocks = clocks};
    sti_sim_store_stop(sim, sti_client_new(&setup, &sim->clients[number]));
}

/* What its workers had not pushed is gone with it, and so is what was on its
 * way over its connections. */
static void kill_client(sti_sim_store *sim, uint32_t number, uint64_t until)
{
    const sti_sim_store_setup *s = &sim->setup;
    uint32_t node = s->shards + number;
    if (!sim->clients[number])
        return;
    sim->life[node]++;
    sim->outcome.deaths++;
    for (uint32_t k = 0; k < s->shards; k++)
        sti_sim_net_break(&sim->net, node, k, sim->now, until);
    for (uint32_t k = 0; k < s->workers_each; k++) {
        sti_sim_worker *w = &sim->workers[number * s->workers_each + k];
        w->clock = sti_client_clock(sim->clients[number], w->number);
        sim->n_left -= w->left;
        w->left = false;
    }
    sti_client_free(sim->clients[number]);
    sim->clients[number] = NULL;
    if (s->dies)
        s->dies(s->arg, number);
}

static void return_client(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    if (sim->clients[number])
        return;
    sti_sim_store_client_up(sim, number);
    sti_sim_store_tell(sim, "client %u is up again", number);
    for (uint32_t k = 0; k < s->shards && !sim->over; k++)
        sti_client_attach(sim->clients[number], k, sim->now, &sim->effects);
    sti_sim_store_apply(sim, STI_CLIENT_0 + number);
    for (uint32_t k = 0; k < s->workers_each; k++)
        sti_sim_store_wake(sim, number * s->workers_each + k, sim->now);
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

static void kill_node(sti_sim_store *sim, const sti_sim_fault *f,
                      uint64_t until)
{
    uint32_t shards = sim->setup.shards;
    bool shard = f->node < shards;
    sti_sim_store_tell(sim, "%s %u is killed", shard ? "shard" : "client",
                       shard ? f->node : f->node - shards);
    if (shard)
        sti_sim_store_shard_down(sim, f->node);
    else
        kill_client(sim, f->node - shards, until);
}

static void begin_fault(sti_sim_store *sim, const sti_sim_fault *f)
{
    uint64_t until = sim->now + f->lasts;
    switch (f->kind) {
    case STI_SIM_KILL:
        kill_node(sim, f, until);
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
    uint32_t shards = sim->setup.shards;
    if (f->kind == STI_SIM_FULL_DISK || f->kind == STI_SIM_BAD_DISK) {
        sti_sim_shard_mend_disk(&sim->shards[f->node]);
        restart_shard(sim, f->node);
    } else if (f->kind == STI_SIM_LYING_DISK ||
               (f->kind == STI_SIM_KILL && f->node < shards)) {
        restart_shard(sim, f->node);
    } else if (f->kind == STI_SIM_KILL) {
        return_client(sim, f->node - shards);
    } else if (f->kind == STI_SIM_BREAK && sim->clients[f->node - shards]) {
        uint32_t client = f->node - shards;
        sti_client_attach(sim->clients[client], f->other, sim->now,
                          &sim->effects);
        sti_sim_store_apply(sim, STI_CLIENT_0 + client);
    }
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
        sim->mortal |= f->kind == STI_SIM_KILL && f->node >= s->shards;
    }
    sti_sim_store_event(sim, s->calm_at, STI_SIM_WORLD,
                        (sti_event){.kind = STI_EVENT_TIMER,
                                    .msg.round = 2 * (uint64_t)s->n_faults});
}
