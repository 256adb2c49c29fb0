/* A process that joins: takes its place, or the one that it had before it was
 * killed, and the terms that node 0 tells. */
#include "engine/base/kernel_level.h"
#include "engine/run/nodes_state.h"
#include "engine/run/shard_ticket.h"

#include <stdlib.h>

static strads_err take_terms(strads_engine *engine, const char *text,
                             const strads_join_options *options)
{
    char *name = sti_run_terms_program(text);
    if (!name)
        return strads_fail(STRADS_EMISMATCH,
                           "the coordinator told no program: it runs another "
                           "version");
    const strads_program *program = options->find(options->find_arg, name);
    strads_err err = STRADS_OK;
    if (!program)
        err = strads_fail(STRADS_EMISMATCH,
                          "the run is of program %s, which this node does not "
                          "have: give it the same program file",
                          name);
    free(name);
    if (!err)
        err = sti_run_terms_read(text, program, sti_mesh_nodes(engine->mesh),
                                 &engine->strings, &engine->terms);
    if (!err)
        err = sti_nodes_spread(engine);
    if (!err)
        sti_mesh_rules(engine->mesh, engine->terms.reconnect, false);
    return err;
}

/* As somebody new; or as who it was, when its journal says so. */
static strads_err take_place(strads_engine *engine, const char *url,
                             const strads_join_options *options,
                             uint64_t timeout_ns, sti_mesh_terms *told)
{
    sti_mesh_ticket ticket;
    strads_err err = STRADS_OK;
    engine->journal = options->journal;
    if (engine->journal)
        err = sti_ticket_place(engine->journal);
    if (!err && engine->journal)
        err = sti_ticket_read(engine->journal, &ticket, &engine->again);
    if (err)
        return err;
    if (engine->again)
        return sti_mesh_come_back(engine->mesh, url, &ticket, timeout_ns, told);
    err =
        sti_mesh_join(engine->mesh, url,
                      options->shard ? 0 : sti_setup_workers(&engine->options),
                      timeout_ns, told);
    if (!err && engine->journal) {
        ticket = sti_mesh_ticket_of(engine->mesh);
        err = sti_ticket_write(engine->journal, &ticket);
    }
    return err;
}

strads_err strads_engine_join(const char *url,
                              const strads_join_options *options,
                              strads_engine **out)
{
    if (!options || options->size != sizeof *options || !options->find)
        return strads_fail(STRADS_EINVAL,
                           "to join, options need size and find");
    if (options->journal && !options->shard)
        return strads_fail(STRADS_EINVAL,
                           "a node with workers cannot come back when it was "
                           "killed: a journal takes a node of shards alone");
    strads_err err = sti_kernel_level_check();
    if (err)
        return err;
    strads_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return sti_nodes_no_memory();
    engine->joined = engine->together = true;
    engine->options = (strads_engine_options){
        .size = sizeof engine->options,
        .workers = options->workers,
        .trace = options->trace,
        .stop = options->stop,
    };
    sti_mesh_terms told = {0};
    double timeout = options->timeout > 0 ? options->timeout : 30;
    err = sti_mesh_open(options->listen, options->stop, &engine->mesh);
    if (!err)
        err =
            take_place(engine, url, options, (uint64_t)(timeout * 1e9), &told);
    if (!err) {
        engine->options.seed = told.seed;
        err = take_terms(engine, told.options, options);
    }
    engine->failed = err != STRADS_OK;
    free(told.options);
    if (err)
        strads_engine_free(engine);
    else
        *out = engine;
    return err;
}
