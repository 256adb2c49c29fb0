/* Data-parallel loops on several nodes. What is in the tables goes through the
 * store; what is left are notes (loop_message.h): node 0 says when all may
 * begin, when the run is to end, and when everybody may go; the others hand
 * their reports to it and say when they are done.
 *
 * Invariants: notes are sent by the caller's thread alone, and without a lock;
 * who takes one only notes it. The first failure stays, and ends all that
 * waits here; what failed here is told to the others at once. */
#include "engine/run/loop_nodes.h"

#include <stdlib.h>
#include <time.h>

#include "engine/round/job.h"
#include "engine/run/loop_nodes_state.h"
#include "engine/run/result.h"
#include "engine/store/session_inside.h"

bool sti_loop_nodes_is_told(const struct sti_loop_nodes *nodes)
{
    return nodes && nodes->node != 0;
}

strads_err sti_loop_nodes_session(struct sti_loop_nodes *nodes,
                                  uint32_t partition, strads_session **out)
{
    return sti_node_store_session(nodes->store, partition, out);
}

/* ---- the model --------------------------------------------------------- */

/* Table 0 as the shards hold it now, in a store of its own. */
static strads_err gather_model(struct sti_loop_nodes *nodes)
{
    enum { AT_ONCE = 1 << 22 }; /* bytes */
    sti_run *run = &nodes->setup->setup->run;
    size_t row = sizeof(double) * run->shape.width;
    uint32_t most = row < AT_ONCE ? (uint32_t)(AT_ONCE / row) : 1;
    uint32_t *rows = malloc(sizeof *rows * most);
    double *values = malloc(row * most);
    strads_err err = rows && values
                         ? sti_job_make_parameters(run)
                         : strads_fail(STRADS_ENOMEM, "no memory for the "
                                                      "model");
    for (uint64_t at = 0; !err && at < run->shape.parameters; at += most) {
        uint64_t left = run->shape.parameters - at;
        uint32_t n = left < most ? (uint32_t)left : most;
        for (uint32_t k = 0; k < n; k++)
            rows[k] = (uint32_t)at + k;
        err = sti_node_store_get(nodes->store, 0, n, rows, values);
        if (!err)
            err = strads_store_inc(run->store, 0, n, rows, values, NULL);
    }
    free(rows);
    free(values);
    return err;
}

static strads_err make_result(struct sti_loop_nodes *nodes, strads_result **out)
{
    sti_loops *all = &nodes->all;
    strads_err err = gather_model(nodes);
    if (err)
        return err;
    pthread_mutex_lock(&all->lock);
    if (!all->ends && all->counted)
        all->end = STRADS_END_ROUNDS;
    sti_loops_sum_locked(all);
    pthread_mutex_unlock(&all->lock);
    sti_mesh_count(nodes->setup->mesh, &all->progress.bytes_sent,
                   &all->progress.bytes_received);
    return sti_result_new(nodes->setup->setup, &all->progress, all->end, out);
}

/* ---- a node's part ----------------------------------------------------- */

static void store_failed(void *arg, strads_err err, const char *text)
{
    sti_loop_nodes_note(arg, err, text, true);
}

static void mesh_failed(void *arg, strads_err err, const char *text)
{
    sti_loop_nodes_note(arg, err, text, false);
}

static uint64_t trace_clock(const void *arg)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_session_clock_ns() - nodes->all.zero_ns;
}

static bool has_room(void *arg, sti_address to, uint64_t bytes)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_mesh_has_room(nodes->setup->mesh, to, bytes);
}

static sti_berthing berth(void *arg, sti_address to, const sti_frame *frame,
                          uint64_t n, sti_berth *berth_)
{
    const struct sti_loop_nodes *nodes = arg;
    return sti_node_store_berth(nodes->store, to, frame, n, berth_);
}

/* The tables' specs are all that is needed of them here, and on node 0 what
 * they start with. */
static strads_err open_store(struct sti_loop_nodes *nodes)
{
    sti_run *run = &nodes->setup->setup->run;
    sti_begin_job begin = {0};
    strads_err err = nodes->node == 0 ? sti_job_begin(run, &begin)
                                      : sti_job_make_tables(run);
    sti_object_drop(begin.start);
    uint32_t n = 0;
    strads_table_spec *specs = NULL;
    if (!err)
        err = sti_loops_specs(run, &specs, &n);
    const sti_node_store_setup setup = {
        .run = run,
        .node = nodes->node,
        .first_worker = nodes->setup->first,
        .workers = nodes->setup->count,
        .tables = specs,
        .n_tables = n,
        .trace = nodes->all.trace,
        .zero_ns = nodes->all.zero_ns,
        .journal = nodes->setup->journal,
        .run_id = sti_mesh_ticket_of(nodes->setup->mesh).run,
        .send = sti_loop_nodes_send,
        .has_room = has_room,
        .failed = store_failed,
        .arg = nodes,
    };
    if (!err)
        err = sti_node_store_open(&setup, &nodes->store);
    free(specs);
    return err;
}

static void drop_tables(sti_run *run)
{
    strads_store_free(run->store);
    run->store = NULL;
}

/* Node 0 from here: all are ready. */
static strads_err run_first(struct sti_loop_nodes *nodes, strads_result **out)
{
    sti_run *run = &nodes->setup->setup->run;
    strads_err err =
        sti_mesh_await_ready(nodes->setup->mesh, &nodes->setup->mark);
    if (!err)
        err = sti_node_store_put(nodes->store, run->store);
    if (err)
        return err;
    drop_tables(run);
    nodes->all.wall = sti_loop_now(CLOCK_MONOTONIC);
    sti_loop_nodes_say_all(nodes, STI_LOOP_GO);
    err = sti_loop_nodes_drive(nodes);
    if (!err)
        err = make_result(nodes, out);
    if (!err)
        sti_loop_nodes_say_all(nodes, STI_LOOP_CLOSE);
    return err ? err : sti_loop_nodes_failure(nodes);
}

/* What it stays for after its loops are done: its shards. */
static strads_err run_other(struct sti_loop_nodes *nodes)
{
    drop_tables(&nodes->setup->setup->run);
    strads_err err = sti_mesh_ready(nodes->setup->mesh, &nodes->setup->mark);
    if (!err)
        err = sti_loop_nodes_wait(nodes, &nodes->may_go);
    if (!err && nodes->setup->count == 0)
        return sti_loop_nodes_wait(nodes, &nodes->may_leave);
    if (!err)
        err = sti_loop_nodes_drive(nodes);
    if (err)
        return err;
    pthread_mutex_lock(&nodes->all.lock);
    const sti_loop_note done = {
        .word = STI_LOOP_DONE,
        .times = sti_loops_times_locked(&nodes->all),
        .counted = nodes->all.counted,
    };
    pthread_mutex_unlock(&nodes->all.lock);
    sti_loop_nodes_say(nodes, STI_COORDINATOR, &done);
    return sti_loop_nodes_wait(nodes, &nodes->may_leave);
}

/* While the others can reach this node. */
static strads_err run_attached(struct sti_loop_nodes *nodes,
                               strads_result **out)
{
    sti_mesh *mesh = nodes->setup->mesh;
    const sti_mesh_host host = {.deliver = sti_loop_nodes_deliver,
                                .abort = mesh_failed,
                                .clock = trace_clock,
                                .berth = berth,
                                .again = sti_loop_nodes_say_again,
                                .arg = nodes};
    sti_mesh_attach(mesh, &nodes->setup->setup->run, &host, nodes->all.trace);
    if (nodes->setup->again)
        sti_node_store_restart(nodes->store);
    strads_err err =
        nodes->node == 0 ? run_first(nodes, out) : run_other(nodes);
    sti_node_store_stop(nodes->store); /* before there is nobody to send by */
    if (!err)
        sti_mesh_say_done(mesh);
    sti_mesh_detach(mesh);
    return err;
}

strads_err sti_loop_nodes_run(const sti_loop_nodes_setup *setup,
                              strads_result **out)
{
    struct sti_loop_nodes nodes = {
        .setup = setup,
        .node = sti_mesh_node(setup->mesh),
        .n_nodes = sti_mesh_nodes(setup->mesh),
        .n_others = setup->with_loops - 1,
        .all = {.setup = setup->setup,
                .wall = sti_loop_now(CLOCK_MONOTONIC),
                .cpu = sti_loop_now(CLOCK_PROCESS_CPUTIME_ID),
                .first = setup->first,
                .count = setup->count,
                .nodes = &nodes,
                .end = STRADS_END_STOPPED},
    };
    sti_progress_begin(&nodes.all.progress);
    strads_err err = sti_loops_open(&nodes.all);
    nodes.others = calloc(nodes.n_nodes, sizeof *nodes.others);
    if (!err && !nodes.others)
        err =
            strads_fail(STRADS_ENOMEM, "no memory for %u nodes", nodes.n_nodes);
    if (!err)
        err = open_store(&nodes);
    if (!err)
        err = run_attached(&nodes, out);
    sti_node_store_close(nodes.store);
    free(nodes.others);
    return sti_loops_close(&nodes.all, err);
}
