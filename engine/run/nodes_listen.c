/* Node 0 of a run on several processes, until all others have joined and know
 * the program, its options and who has which workers. */
#include "engine/base/kernel_level.h"
#include "engine/run/nodes_state.h"
#include "engine/run/program_check.h"

#include <stdlib.h>
#include <string.h>

strads_err sti_nodes_no_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node");
}

/* The tables of a program of rounds are in the coordinator's process. */
static strads_err check_spread(const strads_program *program,
                               const strads_engine_options *options)
{
    uint32_t nodes = options->nodes, shards = options->shards;
    if (nodes > 1 && program->tables && !program->run)
        return strads_fail(STRADS_EINVAL,
                           "program %s keeps tables of its own, which no node "
                           "but the first would see: run it in one process in "
                           "this version",
                           program->name);
    if (shards > 1 && !program->run)
        return strads_fail(STRADS_EINVAL,
                           "program %s runs in rounds, whose one table is on "
                           "node 0: leave shards out",
                           program->name);
    if (options->nodes > 1 && options->schedulers > 1 && options->policy_plugin)
        return strads_fail(STRADS_EINVAL,
                           "a policy that is given as a table is not at hand "
                           "on other nodes: leave schedulers at 1");
    if (shards > STI_SHARDS_MAX)
        return strads_fail(STRADS_EINVAL, "%u shards: expected 1 to %d", shards,
                           STI_SHARDS_MAX);
    return STRADS_OK;
}

static strads_err check_listen(const strads_program *program,
                               const strads_engine_options *options)
{
    strads_err err = sti_program_check(program);
    if (!err)
        err = sti_kernel_level_check();
    if (err)
        return err;
    if (!options || options->size != sizeof *options || !options->listen ||
        options->nodes > STI_NODES_MAX)
        return strads_fail(STRADS_EINVAL,
                           "to listen, options need size, listen and nodes "
                           "from 1 to %d",
                           STI_NODES_MAX);
    err = sti_setup_check_tuning(options);
    return err ? err : check_spread(program, options);
}

strads_err strads_engine_listen(const strads_program *program,
                                const void *config,
                                const strads_engine_options *options,
                                strads_engine **out)
{
    strads_err err = check_listen(program, options);
    if (err)
        return err;
    strads_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return sti_nodes_no_memory();
    engine->options = *options;
    engine->terms.program = program;
    engine->terms.config = (void *)(uintptr_t)config;
    engine->terms.nodes = options->nodes ? options->nodes : 1;
    engine->terms.depth = options->depth;
    engine->terms.shards = options->shards ? options->shards : 1;
    engine->terms.max_rounds = options->max_rounds;
    engine->terms.tuning = sti_setup_tuning(options);
    engine->terms.schedulers = options->schedulers;
    engine->terms.blocks = options->blocks;
    engine->terms.pools = options->pools;
    engine->terms.reconnect = options->reconnect > 0 ? options->reconnect : 10;
    engine->terms.threshold = options->threshold;
    if (options->policy)
        engine->terms.policy = strdup(options->policy);
    if (options->data_path)
        engine->terms.data_path = strdup(options->data_path);
    err = sti_setup_read_plan(options, &engine->terms.plan_read);
    engine->terms.plan =
        options->plan_given ? options->plan_given : engine->terms.plan_read;
    if (!err)
        err = sti_mesh_open(options->listen, options->stop, &engine->mesh);
    if (!err)
        sti_mesh_rules(engine->mesh, engine->terms.reconnect,
                       program->run != NULL);
    if (err)
        strads_engine_free(engine);
    else
        *out = engine;
    return err;
}

/* Nodes without workers have the shards, and may come back. */
static strads_err find_hosts(strads_engine *engine)
{
    engine->hosts = calloc(engine->terms.nodes, sizeof *engine->hosts);
    if (!engine->hosts)
        return sti_nodes_no_memory();
    for (uint32_t n = 0; n < engine->terms.nodes; n++)
        if (engine->terms.workers[n] == 0) {
            engine->hosts[engine->n_hosts++] = n;
            sti_mesh_expect_back(engine->mesh, n);
        }
    return STRADS_OK;
}

/* Who has which workers, from the counts of each node. */
strads_err sti_nodes_spread(strads_engine *engine)
{
    engine->workers = 0;
    for (uint32_t n = 0; n < engine->terms.nodes; n++)
        engine->workers += engine->terms.workers[n];
    engine->node_of = calloc(engine->workers, sizeof *engine->node_of);
    if (!engine->node_of)
        return sti_nodes_no_memory();
    uint32_t w = 0;
    for (uint32_t n = 0; n < engine->terms.nodes; n++)
        for (uint32_t k = 0; k < engine->terms.workers[n]; k++)
            engine->node_of[w++] = n;
    strads_err err = find_hosts(engine);
    if (err)
        return err;
    if (!engine->terms.partitions)
        engine->terms.partitions = engine->workers;
    if (engine->terms.partitions < engine->workers)
        return strads_fail(STRADS_EINVAL,
                           "%u partitions for %u workers on %u nodes: give at "
                           "least as many partitions as workers",
                           engine->terms.partitions, engine->workers,
                           engine->terms.nodes);
    return STRADS_OK;
}

/* A default config for a program that was started without one. */
static strads_err tell_terms(strads_engine *engine)
{
    sti_run_terms terms = engine->terms;
    void *defaults = NULL;
    if (!terms.config && terms.program->config_size) {
        defaults = calloc(1, terms.program->config_size);
        if (!defaults)
            return sti_nodes_no_memory();
        if (terms.program->defaults)
            memcpy(defaults, terms.program->defaults,
                   terms.program->config_size);
        terms.config = defaults;
    }
    char *text = sti_run_terms_write(&terms);
    free(defaults);
    if (!text)
        return sti_nodes_no_memory();
    strads_err err = sti_mesh_welcome(engine->mesh, text, engine->options.seed);
    free(text);
    return err;
}

strads_err sti_nodes_gather(strads_engine *engine)
{
    if (engine->together)
        return STRADS_OK;
    uint32_t nodes = engine->terms.nodes;
    strads_err err = sti_mesh_gather(engine->mesh, nodes);
    if (err)
        return err;
    engine->terms.workers = calloc(nodes, sizeof *engine->terms.workers);
    if (!engine->terms.workers)
        return sti_nodes_no_memory();
    engine->terms.workers[0] = sti_setup_workers(&engine->options);
    for (uint32_t n = 1; n < nodes; n++)
        engine->terms.workers[n] = sti_mesh_workers(engine->mesh, n);
    engine->terms.partitions = engine->options.partitions;
    if (!engine->terms.partitions && engine->terms.plan)
        engine->terms.partitions = engine->terms.plan->partitions;
    err = sti_nodes_spread(engine);
    if (!engine->options.shards && engine->n_hosts)
        engine->terms.shards = engine->n_hosts;
    if (!err)
        err = tell_terms(engine);
    engine->together = !err;
    return err;
}
