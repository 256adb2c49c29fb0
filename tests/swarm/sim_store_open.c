/* Start and end of the cluster: owns the queue, network, roles, workers and the
 * run token. Invariant: every body has ended when a run has, so no thread uses
 * freed memory. */
#include <stdlib.h>

#include "tests/swarm/sim_store_state.h"

static strads_err no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a simulated store");
}

static strads_err open_workers(sti_sim_store *sim)
{
    const sti_sim_store_setup *s = &sim->setup;
    if (s->workers_each > STI_SIM_WORKERS_MAX)
        return strads_fail(STRADS_EINVAL,
                           "%u workers of a simulated client: at most %d",
                           s->workers_each, STI_SIM_WORKERS_MAX);
    size_t rows = 1;
    for (uint32_t t = 0; t < s->n_tables; t++)
        rows += s->tables[t].rows;
    for (uint32_t v = 0; v < sim->n_workers; v++) {
        sti_sim_worker *w = &sim->workers[v];
        *w = (sti_sim_worker){.sim = sim,
                              .number = v,
                              .client = v / s->workers_each,
                              .as_of_rows = calloc(rows, sizeof(uint64_t))};
        if (!w->as_of_rows)
            return no_memory();
    }
    return STRADS_OK;
}

static strads_err open_client(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    const uint32_t first = number * s->workers_each;
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
                                    .resend_ns = s->resend_ns};
    strads_err err = sti_client_new(&setup, &sim->clients[number]);
    for (uint32_t k = 0; k < s->workers_each; k++)
        sti_sim_worker_join(&sim->workers[first + k], sim->clients[number]);
    return err;
}

static strads_err open_shard(sti_sim_store *sim, uint32_t number)
{
    const sti_sim_store_setup *s = &sim->setup;
    const sti_shard_setup setup = {.shard = number,
                                   .shards = s->shards,
                                   .clients = s->clients,
                                   .workers = sim->n_workers,
                                   .tables = s->tables,
                                   .n_tables = s->n_tables,
                                   .memory_limit = UINT64_C(1) << 26,
                                   .piece_bytes = s->piece_bytes};
    return sti_shard_new(&setup, &sim->shards[number].role);
}

static strads_err open_roles(sti_sim_store *sim)
{
    const sti_sim_store_setup *s = &sim->setup;
    for (uint32_t k = 0; k < s->shards && !sim->over; k++)
        sti_sim_store_stop(sim, open_shard(sim, k));
    for (uint32_t c = 0; c < s->clients && !sim->over; c++)
        sti_sim_store_stop(sim, open_client(sim, c));
    return sim->err;
}

static strads_err open_arrays(sti_sim_store *sim)
{
    const sti_sim_store_setup *s = &sim->setup;
    size_t nodes = (size_t)s->shards + s->clients;
    sim->n_workers = s->clients * s->workers_each;
    sim->shards = calloc(s->shards, sizeof *sim->shards);
    sim->clients = calloc(s->clients, sizeof(sti_client *));
    sim->workers = calloc(sim->n_workers, sizeof *sim->workers);
    sim->paused_until = calloc(nodes, sizeof *sim->paused_until);
    sim->slow_until = calloc(nodes, sizeof *sim->slow_until);
    sim->slowness = calloc(nodes, sizeof *sim->slowness);
    sim->highest = calloc((size_t)s->clients * s->shards, sizeof *sim->highest);
    sim->digest = XXH3_createState();
    bool all = sim->shards && sim->clients && sim->workers &&
               sim->paused_until && sim->slow_until && sim->slowness &&
               sim->highest && sim->digest;
    if (!all)
        return no_memory();
    (void)XXH3_64bits_reset(sim->digest);
    return sti_sim_net_open((uint32_t)nodes, s->seed, &s->weather, &sim->net);
}

strads_err sti_sim_store_new(const sti_sim_store_setup *setup,
                             sti_sim_store **out)
{
    sti_sim_store *sim = calloc(1, sizeof *sim);
    if (!sim)
        return no_memory();
    sim->setup = *setup;
    sim->random = sti_random_stream(setup->seed, STI_PURPOSE_ENGINE + 201, 0);
    strads_err err = open_arrays(sim);
    if (!err)
        err = open_workers(sim);
    if (!err)
        err = open_roles(sim);
    if (!err)
        err = sti_run_token_new(sim->n_workers, sti_sim_worker_run, sim,
                                &sim->token);
    if (err) {
        sti_sim_store_free(sim);
        return err;
    }
    *out = sim;
    return STRADS_OK;
}

/* Lets the waiting bodies see the end, one after the other. */
static void end_bodies(sti_sim_store *sim)
{
    for (uint32_t v = 0; v < sim->n_workers; v++)
        if (!sim->workers[v].left)
            sti_run_token_pass(sim->token, sim->n_workers, v);
}

strads_err sti_sim_store_run(sti_sim_store *sim)
{
    sti_sim_store_plan(sim);
    for (uint32_t v = 0; v < sim->n_workers; v++)
        sti_sim_store_wake(sim, v, 0);
    uint32_t next = sti_sim_store_next(sim);
    if (next < sim->n_workers)
        sti_run_token_pass(sim->token, sim->n_workers, next);
    end_bodies(sim);
    return sim->err ? strads_fail(sim->err, "%s", sim->text) : STRADS_OK;
}

void sti_sim_store_free(sti_sim_store *sim)
{
    if (!sim)
        return;
    sti_sim_item item;
    sim->over = true;
    if (sim->token)
        end_bodies(sim);
    sti_run_token_free(sim->token);
    while (sti_sim_queue_pop(&sim->queue, &item))
        sti_sim_store_drop(&item);
    sti_sim_queue_free(&sim->queue);
    for (uint32_t v = 0; sim->workers && v < sim->n_workers; v++)
        free(sim->workers[v].as_of_rows);
    for (uint32_t c = 0; sim->clients && c < sim->setup.clients; c++)
        sti_client_free(sim->clients[c]);
    for (uint32_t s = 0; sim->shards && s < sim->setup.shards; s++)
        sti_shard_free(sim->shards[s].role);
    sti_sim_net_close(&sim->net);
    sti_effects_free(&sim->effects);
    (void)XXH3_freeState(sim->digest);
    free(sim->shards);
    free(sim->clients);
    free(sim->workers);
    free(sim->paused_until);
    free(sim->slow_until);
    free(sim->slowness);
    free(sim->highest);
    free(sim);
}

void sti_sim_store_outcome_of(const sti_sim_store *sim,
                              sti_sim_store_outcome *out)
{
    *out = sim->outcome;
    out->now = sim->now;
    out->frames = sim->net.frames;
    out->bytes = sim->net.bytes;
    out->lost = sim->net.lost;
    out->doubled = sim->net.doubled;
    out->damaged = sim->net.damaged;
    out->digest = XXH3_64bits_digest(sim->digest);
}

const sti_shard *sti_sim_store_shard(const sti_sim_store *sim, uint32_t shard)
{
    return sim->shards[shard].role;
}
