/* strads_engine: a run on several processes. Node 0 listened and knows the
 * program and its options; the others joined and were told. All then do the
 * same: keep their partitions, get ready, run, part. */
#include "engine/run/loop_nodes.h"
#include "engine/run/nodes_state.h"
#include "engine/run/result.h"
#include "engine/run/run_cut.h"
#include "engine/run/run_trace.h"
#include "engine/run/shard_ticket.h"

#include <stdlib.h>

const char *strads_engine_url(const strads_engine *engine)
{
    return engine->mesh ? sti_mesh_url(engine->mesh) : "";
}

const char *strads_engine_data_path(const strads_engine *engine)
{
    return engine->terms.data_path;
}

const strads_program *strads_engine_program(const strads_engine *engine)
{
    return engine->terms.program;
}

void strads_engine_free(strads_engine *engine)
{
    if (!engine)
        return;
    sti_mesh_close(engine->mesh, engine->failed);
    if (!engine->joined)
        engine->terms.config = NULL;
    sti_run_terms_free(&engine->terms);
    sti_config_strings_free(&engine->strings);
    free(engine->node_of);
    free(engine->hosts);
    free(engine);
}

static sti_layout own_layout(const strads_engine *engine)
{
    sti_layout layout = {.workers = engine->workers,
                         .node_of = engine->node_of,
                         .nodes = engine->terms.nodes,
                         .hosts = engine->hosts,
                         .n_hosts = engine->n_hosts};
    uint32_t node = sti_mesh_node(engine->mesh);
    for (uint32_t n = 0; n < node; n++)
        layout.first += engine->terms.workers[n];
    layout.count = engine->terms.workers[node];
    return layout;
}

static strads_err check_unspent(const strads_engine *engine)
{
    return engine->ran
               ? strads_fail(STRADS_ESTATE, "this engine has run already: make "
                                            "another one for another run")
               : STRADS_OK;
}

strads_err strads_engine_keep(strads_engine *engine,
                              strads_data_options *options)
{
    strads_err err = check_unspent(engine);
    if (err)
        return err;
    err = sti_nodes_gather(engine);
    if (err) {
        engine->failed = true;
        return err;
    }
    const sti_layout layout = own_layout(engine);
    const sti_run run = {.workers = engine->workers,
                         .partitions = engine->terms.partitions};
    options->partitions = engine->terms.partitions;
    options->keep_first = sti_run_first(&run, layout.first);
    options->keep_count =
        sti_run_first(&run, layout.first + layout.count) - options->keep_first;
    if (options->keep_count == 0) /* which would be all from there on */
        options->keep_first = options->partitions;
    options->partition_entries = 0; /* each worker has a partition */
    sti_run_cut_as(engine->terms.program, engine->terms.config, options);
    return STRADS_OK;
}

static void tell_progress(void *arg, const strads_progress *progress)
{
    const strads_engine *engine = arg;
    if (!engine->options.progress)
        return;
    strads_progress told = *progress;
    sti_mesh_count(engine->mesh, &told.bytes_sent, &told.bytes_received);
    engine->options.progress(engine->options.progress_arg, &told);
}

static strads_err send_message(void *arg, const sti_msg *msg)
{
    const strads_engine *engine = arg;
    return sti_mesh_send(engine->mesh, msg);
}

static sti_data_mark mark_of(const strads_data *data)
{
    return (sti_data_mark){
        .rows = strads_data_rows(data),
        .cols = strads_data_cols(data),
        .nnz = strads_data_nnz(data),
        .checksum = strads_data_checksum(data),
    };
}

static strads_err get_ready(strads_engine *engine, const strads_data *data)
{
    const sti_data_mark mark = mark_of(data);
    return engine->joined ? sti_mesh_ready(engine->mesh, &mark)
                          : sti_mesh_await_ready(engine->mesh, &mark);
}

static void deliver(void *node, const sti_msg *msg)
{
    sti_node_deliver(node, msg);
}

static void abort_node(void *node, strads_err err, const char *text)
{
    sti_node_abort(node, err, text);
}

static uint64_t clock_of_node(const void *node)
{
    return sti_node_clock(node);
}

/* Drives the node while the others can reach it. */
static strads_err run_node(strads_engine *engine, const sti_setup *setup,
                           const strads_data *data, sti_node *node,
                           sti_trace *trace)
{
    const sti_mesh_host host = {.deliver = deliver,
                                .abort = abort_node,
                                .clock = clock_of_node,
                                .arg = node};
    sti_mesh_attach(engine->mesh, &setup->run, &host, trace);
    strads_err err = get_ready(engine, data);
    if (!err)
        err = sti_node_run(node);
    if (!err)
        sti_mesh_say_done(engine->mesh);
    sti_mesh_detach(engine->mesh);
    return err;
}

static strads_err drive(strads_engine *engine, sti_setup *setup,
                        const strads_data *data, strads_result **out)
{
    sti_trace *trace;
    strads_err err = sti_run_trace_open(&setup->options, &trace);
    if (err)
        return err;
    const sti_layout layout = own_layout(engine);
    const sti_node_options options = {
        .run = &setup->run,
        .node = sti_mesh_node(engine->mesh),
        .first_worker = layout.first,
        .threads = layout.count,
        .coordinates = !engine->joined,
        .trace = trace,
        .stop = engine->options.stop,
        .report = tell_progress,
        .send = send_message,
        .arg = engine,
    };
    sti_node *node = NULL;
    err = sti_node_new(&options, &node);
    if (!err)
        err = run_node(engine, setup, data, node, trace);
    if (!err && !engine->joined) {
        strads_progress progress;
        sti_node_progress(node, &progress);
        sti_mesh_count(engine->mesh, &progress.bytes_sent,
                       &progress.bytes_received);
        err = sti_result_new(setup, &progress, sti_node_end(node), out);
    }
    err = sti_run_trace_close(trace, err); /* it holds names of the node's */
    sti_node_free(node);
    return err;
}

static strads_err drive_loops(strads_engine *engine, sti_setup *setup,
                              const strads_data *data, strads_result **out)
{
    const sti_layout layout = own_layout(engine);
    const sti_run *run = &setup->run;
    const uint32_t first = sti_run_first(run, layout.first);
    const sti_loop_nodes_setup loops = {
        .setup = setup,
        .mesh = engine->mesh,
        .first = first,
        .count = sti_run_first(run, layout.first + layout.count) - first,
        .with_loops = engine->terms.nodes - engine->n_hosts,
        .journal = engine->journal,
        .again = engine->again,
        .mark = mark_of(data),
        .progress = tell_progress,
        .arg = engine,
    };
    return sti_loop_nodes_run(&loops, out);
}

strads_err strads_engine_run(strads_engine *engine, const strads_data *data,
                             strads_result **out)
{
    if (!engine->together)
        return strads_fail(STRADS_ESTATE,
                           "strads_engine_keep comes before strads_engine_run");
    strads_err err = check_unspent(engine);
    if (err)
        return err;
    engine->ran = true;
    const sti_layout layout = own_layout(engine);
    strads_engine_options options = engine->options;
    options.partitions = engine->terms.partitions;
    options.depth = engine->terms.depth;
    options.shards = engine->terms.shards;
    options.schedulers = engine->terms.schedulers;
    options.threshold = engine->terms.threshold;
    options.policy = engine->terms.policy;
    options.max_rounds = engine->terms.max_rounds;
    options.blocks = engine->terms.blocks;
    options.pools = engine->terms.pools;
    options.plan_given = engine->terms.plan;
    sti_setup setup = {0};
    strads_result *result = NULL;
    err = sti_setup_make(&setup, engine->terms.program, engine->terms.config,
                         data, &options, &layout);
    setup.run.tuning = engine->terms.tuning;
    if (!err)
        err = setup.run.program->run
                  ? drive_loops(engine, &setup, data, &result)
                  : drive(engine, &setup, data, &result);
    engine->failed = err != STRADS_OK;
    if (!err && engine->journal)
        sti_ticket_remove(engine->journal, engine->terms.shards);
    if (err) {
        sti_mesh_close(engine->mesh, true); /* while the sentence is fresh */
        engine->mesh = NULL;
    }
    sti_setup_free(&setup, result != NULL);
    *out = result;
    return err;
}
