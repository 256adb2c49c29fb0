/* strads_engine: a run on several processes. Node 0 listens and has the program
 * and its options; the other nodes join and receive them. Then all nodes read
 * their partitions, get ready, run and disconnect.
 *
 * If a program can be checkpointed, such a sequence is one membership epoch
 * ("generation") of the run. When a node is lost or a new one arrives, every
 * node ends the epoch with STRADS_EREGROUP. Mesh, roles, jobs and store are
 * freed; the process, its data and node 0's last checkpoint remain. Then all
 * nodes start the next epoch from that checkpoint, as with --resume. The number
 * of partitions never changes. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/instruction_set.h"
#include "engine/base/monotonic_clock.h"
#include "engine/base/sized.h"
#include "engine/base/stop_flag.h"
#include "engine/exec/node.h"
#include "engine/net/mesh.h"
#include "engine/run/checkpoint_files.h"
#include "engine/run/data_part.h"
#include "engine/run/loops.h"
#include "engine/run/node_spread.h"
#include "engine/run/nodes_terms.h"
#include "engine/run/program_check.h"
#include "engine/run/run_setup.h"

enum {
    RESUME_WINDOWS = 6, /* wait of a resumed run, in multiples of `reconnect` */
    STUCK_MAX = 10      /* epochs in a row that committed nothing */
};
#define COME_AGAIN_NS (STI_SECOND / 10)
/* A pace is measured only after this time, when the nodes have run for some
 * rounds. And the time of a run must be 10 times that of reading the data,
 * before another spread is worth a new epoch. */
#define PACE_AFTER_NS (5 * STI_SECOND)
enum { PACE_AFTER_READS = 10 };
#define STI_SECOND UINT64_C(1000000000)

struct strads_engine {
    sti_mesh *mesh;                /* NULL after a failed run */
    strads_engine_options options; /* common options, and this node's own */
    strads_program program;        /* terms.program: a completed copy */
    bool joined;
    bool together;       /* all nodes have joined */
    bool ran;            /* an engine runs once */
    bool failed;         /* the other nodes have to be notified */
    sti_run_terms terms; /* config: the caller's on node 0 */
    sti_config_strings strings;
    sti_layout layout; /* derived from the terms; the engine owns its arrays */

    uint32_t generation; /* membership epoch, from 1; 0: if a node is lost, the
                          * run ends */
    char *url;           /* URL of node 0 */
    sti_trust trust;
    strads_join_options join; /* a joined node's options */
    sti_node *node;           /* during a run of rounds; of loops: */
    struct sti_loop_nodes *loops;
    uint64_t value_bytes;   /* bytes of a data value, for sti_data_mark */
    uint64_t kept_ns;       /* when strads_engine_keep returned */
    atomic_ullong since_ns; /* when all nodes were ready; 0: not yet */
    atomic_ullong own_pace; /* last measured pace; 0: none */

    /* On node 0, for all epochs. */
    sti_checkpoint_files *checkpoints;
    strads_progress before; /* times and bytes of earlier epochs */
    uint64_t checkpoint_at; /* checkpoint that this epoch started from */
    uint32_t stuck;         /* earlier epochs that started there, too */
    atomic_bool late;       /* a new node waits for the next epoch */
    atomic_bool uneven;     /* another spread is worth a new epoch */
    sti_pace *pace;         /* [nodes], paces in this epoch */
    bool peer_stops;        /* another node's user has asked to stop */
    bool goes_alone;        /* stopped before a later epoch had begun */
};

/* ---- node 0: until all nodes have joined and have the terms -------------- */

static strads_err no_node_memory(void)
{
    return strads_fail(STRADS_ENOMEM, "no memory for a node");
}

/* The tables of a program of rounds are in the coordinator's process. */
static strads_err check_program_spread(const strads_program *program,
                                       const strads_engine_options *options)
{
    uint32_t nodes = options->nodes, shards = options->shards;
    if (nodes > 1 && program->tables && !program->run)
        return strads_fail(
            STRADS_EINVAL,
            "program %s keeps tables of its own, which only the first node "
            "would see: run it in one process in this version",
            program->name);
    if (shards > 1 && !program->run)
        return strads_fail(STRADS_EINVAL,
                           "program %s runs in rounds, with one table on node "
                           "0: leave shards out",
                           program->name);
    if (options->nodes > 1 && options->schedulers > 1 && options->policy_plugin)
        return strads_fail(STRADS_EINVAL,
                           "a policy that is given as a table does not exist "
                           "on other nodes: leave schedulers at 1");
    if (shards > STI_SHARDS_MAX)
        return strads_fail(STRADS_EINVAL, "%u shards: expected 1 to %d", shards,
                           STI_SHARDS_MAX);
    return STRADS_OK;
}

static strads_err check_listen(const strads_program *program,
                               const strads_engine_options *options)
{
    strads_err err = sti_instruction_set_check();
    if (err)
        return err;
    if (!options->listen || options->nodes > STI_NODES_MAX)
        return strads_fail(STRADS_EINVAL,
                           "to listen, options need listen, and nodes from 1 "
                           "to %d",
                           STI_NODES_MAX);
    err = sti_setup_check_tuning(options);
    return err ? err : check_program_spread(program, options);
}

static void take_late(void *arg, uint32_t workers);
static void take_pace(void *arg, uint32_t node, uint64_t pace);
static uint64_t own_pace(void *arg);

static strads_err open_mesh(strads_engine *engine, const char *url)
{
    const uint32_t own = sti_setup_workers(&engine->options);
    const sti_mesh_options options = {
        .url = url,
        .advertise = engine->options.advertise,
        .trust = &engine->trust,
        .stop = engine->options.stop,
        .window = engine->options.reconnect,
        .takes_shards = engine->program.run != NULL,
        .generation = engine->generation,
        .misses = engine->terms.nodes<engine->options.nodes,
                                      .workers = engine->generation> 1 &&
                          engine->options.partitions > own
                      ? engine->options.partitions - own
                      : 0,
        .late = take_late,
        .pace = own_pace,
        .paced = take_pace,
        .arg = engine,
    };
    return sti_mesh_open(&options, &engine->mesh);
}

static void close_mesh(strads_engine *engine, strads_err err)
{
    sti_mesh_close(engine->mesh, err);
    engine->mesh = NULL;
}

strads_err strads_engine_listen(const strads_program *program,
                                const void *config,
                                const strads_engine_options *given,
                                strads_engine **out)
{
    strads_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return no_node_memory();
    strads_engine_options *options = &engine->options;
    strads_err err = sti_program_take(program, &engine->program);
    if (!err)
        err = sti_setup_take_options(given, &engine->options);
    if (!err)
        err = check_listen(&engine->program, options);
    if (err) {
        free(engine);
        return err;
    }
    if (options->reconnect <= 0)
        options->reconnect = 10;
    engine->terms = (sti_run_terms){
        .program = &engine->program,
        .config = (void *)(uintptr_t)config,
        .options = options,
        .nodes = options->nodes ? options->nodes : 1,
    };
    err = sti_setup_read_plan(options, &engine->terms.plan_read);
    if (engine->terms.plan_read)
        options->plan_given = engine->terms.plan_read;
    engine->trust = (sti_trust){
        .insecure = options->insecure,
        .tls = {options->tls_ca, options->tls_cert, options->tls_key},
    };
    engine->generation =
        options->regroup && options->nodes > 1 &&
        sti_checkpoint_files_can(&engine->program) == STRADS_OK;
    if (!err)
        err = sti_token_read(options->token_file, &engine->trust.token);
    if (!err)
        err = open_mesh(engine, options->listen);
    if (!err)
        engine->url = strdup(sti_mesh_own_url(engine->mesh));
    if (!err && !engine->url)
        err = no_node_memory();
    if (err)
        strads_engine_free(engine);
    else
        *out = engine;
    return err;
}

/* Numbers the workers node by node. Nodes without workers host the shards. */
static strads_err number_workers(strads_engine *engine)
{
    const sti_run_terms *terms = &engine->terms;
    const uint32_t self = sti_mesh_node(engine->mesh);
    sti_layout *l = &engine->layout;
    *l = (sti_layout){.nodes = terms->nodes, .count = terms->workers[self]};
    for (uint32_t n = 0; n < terms->nodes; n++) {
        l->first += n < self ? terms->workers[n] : 0;
        l->workers += terms->workers[n];
    }
    l->node_of = calloc(l->workers, sizeof *l->node_of);
    l->hosts = calloc(terms->nodes, sizeof *l->hosts);
    if (!l->node_of || !l->hosts)
        return no_node_memory();
    for (uint32_t n = 0, w = 0; n < terms->nodes; n++) {
        for (uint32_t k = 0; k < terms->workers[n]; k++)
            l->node_of[w++] = n;
        if (!terms->workers[n])
            l->hosts[l->n_hosts++] = n;
    }
    if (!engine->options.partitions)
        engine->options.partitions = l->workers;
    if (engine->options.partitions < l->workers)
        return strads_fail(STRADS_EINVAL,
                           "%u partitions for %u workers on %u nodes: give at "
                           "least as many partitions as workers",
                           engine->options.partitions, l->workers,
                           terms->nodes);
    return STRADS_OK;
}

/* Sets each node's workers and partitions as an even spread has them. */
static void count_parts(const strads_engine *engine, sti_pace *nodes)
{
    const sti_run even = {.workers = engine->layout.workers,
                          .partitions = engine->options.partitions};
    uint32_t w = 0;
    for (uint32_t n = 0; n < engine->terms.nodes; n++) {
        const uint32_t workers = engine->terms.workers[n];
        nodes[n].workers = workers;
        nodes[n].parts =
            sti_run_first(&even, w + workers) - sti_run_first(&even, w);
        w += workers;
    }
}

/* Sets terms.hosted from the paces of the last epoch. It stays NULL if an even
 * spread is good enough. */
static strads_err spread_by_pace(strads_engine *engine)
{
    const uint32_t nodes = engine->terms.nodes;
    free(engine->pace);
    engine->pace = calloc(nodes, sizeof *engine->pace);
    if (!engine->pace)
        return no_node_memory();
    count_parts(engine, engine->pace);
    for (uint32_t n = 0; n < nodes; n++)
        engine->pace[n].pace =
            n ? sti_mesh_pace(engine->mesh, n) : atomic_load(&engine->own_pace);
    if (sti_node_spread(engine->pace, nodes)) {
        engine->terms.hosted =
            calloc(engine->layout.workers, sizeof *engine->terms.hosted);
        if (!engine->terms.hosted)
            return no_node_memory();
        for (uint32_t n = 0, w = 0; n < nodes; n++) {
            const sti_pace *p = &engine->pace[n];
            for (uint32_t k = 0; k < p->workers; k++)
                engine->terms.hosted[w++] =
                    p->parts / p->workers + (k < p->parts % p->workers);
        }
    }
    for (uint32_t n = 0; n < nodes; n++)
        engine->pace[n].pace = 0;
    return STRADS_OK;
}

/* Sets the workers' first partitions from terms.hosted. */
static strads_err take_hosted(strads_engine *engine)
{
    const uint32_t *hosted = engine->terms.hosted;
    sti_layout *l = &engine->layout;
    if (!hosted)
        return STRADS_OK;
    l->first_of = calloc((size_t)l->workers + 1, sizeof *l->first_of);
    if (!l->first_of)
        return no_node_memory();
    for (uint32_t w = 0; w < l->workers; w++)
        l->first_of[w + 1] = l->first_of[w] + hosted[w];
    return STRADS_OK;
}

/* If the caller gave no config, sends the program's defaults. */
static strads_err send_terms(strads_engine *engine)
{
    sti_run_terms terms = engine->terms;
    void *defaults = NULL;
    if (!terms.config && terms.program->config_size) {
        defaults = calloc(1, terms.program->config_size);
        if (!defaults)
            return no_node_memory();
        if (terms.program->defaults)
            memcpy(defaults, terms.program->defaults,
                   terms.program->config_size);
        terms.config = defaults;
    }
    char *text = sti_run_terms_write(&terms);
    free(defaults);
    if (!text)
        return no_node_memory();
    strads_err err = sti_mesh_welcome(engine->mesh, text, engine->options.seed);
    free(text);
    return err;
}

static void discard_members(strads_engine *engine)
{
    free(engine->terms.workers);
    free(engine->terms.hosted);
    free(engine->layout.node_of);
    free(engine->layout.first_of);
    free(engine->layout.hosts);
    engine->terms.workers = engine->terms.hosted = NULL;
    engine->layout = (sti_layout){0};
}

/* Lets the nodes of one epoch join, and sends them the terms. */
static strads_err assemble_epoch(strads_engine *engine, uint64_t wait_ns,
                                 uint32_t *joined)
{
    const uint32_t nodes = engine->terms.nodes;
    strads_engine_options *options = &engine->options;
    discard_members(engine);
    strads_err err =
        sti_mesh_gather(engine->mesh, nodes, engine->terms.program->name,
                        wait_ns, joined);
    if (err)
        return err;
    *joined = nodes - 1;
    engine->terms.workers = calloc(nodes, sizeof *engine->terms.workers);
    if (!engine->terms.workers)
        return no_node_memory();
    engine->terms.workers[0] = sti_setup_workers(options);
    if (engine->generation > 1 || options->resume)
        options->pools = 0; /* the nodes have changed: one pool for each node */
    for (uint32_t n = 1; n < nodes; n++)
        engine->terms.workers[n] = sti_mesh_workers(engine->mesh, n);
    if (!options->partitions && options->plan_given)
        options->partitions = options->plan_given->partitions;
    else if (!options->partitions && options->resume)
        options->partitions = sti_checkpoint_partitions(options->resume);
    err = number_workers(engine);
    if (!err)
        err = spread_by_pace(engine);
    if (!err)
        err = take_hosted(engine);
    if (!err)
        err = send_terms(engine);
    if (err == STRADS_EPEER || err == STRADS_EREGROUP)
        *joined = sti_mesh_others(engine->mesh);
    return err;
}

/* A resumed run continues without the nodes that are missing. */
static void report_missing(const strads_engine *engine, uint32_t joined)
{
    char text[256];
    const strads_engine_options *o = &engine->options;
    (void)snprintf(text, sizeof text,
                   "%u of %u other nodes have joined in the %g s after "
                   "--resume: the run continues with them, and accepts the "
                   "others when they join",
                   joined, engine->terms.nodes - 1,
                   RESUME_WINDOWS * o->reconnect);
    if (o->notice)
        o->notice(o->notice_arg, text);
}

/* The first epoch waits for all nodes; with --resume it waits RESUME_WINDOWS
 * times as long as for a broken link. A later epoch waits for the remaining
 * nodes as long as for a broken link. If the user asks to stop meanwhile,
 * node 0 continues alone and ends with the model so far. */
static strads_err gather_nodes(strads_engine *engine)
{
    const uint64_t window = (uint64_t)(engine->options.reconnect * 1e9);
    const uint64_t bound = engine->options.gather > 0
                               ? (uint64_t)(engine->options.gather * 1e9)
                               : UINT64_MAX;
    for (;;) {
        const bool first = engine->generation <= 1;
        uint32_t joined = 0;
        strads_err err =
            engine->mesh ? STRADS_OK : open_mesh(engine, engine->url);
        if (err)
            return err;
        const bool resumes = first && engine->options.resume;
        err = assemble_epoch(engine,
                             !first    ? window
                             : resumes ? RESUME_WINDOWS * window
                                       : bound,
                             &joined);
        engine->together = !err;
        const bool goes_on =
            err == STRADS_EPEER || err == STRADS_EREGROUP ||
            (resumes && err == STRADS_EIO) ||
            (!first && (err == STRADS_EIO || err == STRADS_ECANCELED));
        if (!err || !engine->generation || !goes_on)
            return err;
        if (resumes && err == STRADS_EIO)
            report_missing(engine, joined);
        engine->terms.nodes = err == STRADS_ECANCELED ? 1 : 1 + joined;
        engine->generation++;
        close_mesh(engine, STRADS_EREGROUP);
    }
}

/* ---- a node that joins --------------------------------------------------- */

/* Called during the join. A node without the program leaves, and the run waits
 * for another node. */
static strads_err accept_program(void *arg, const char *name)
{
    strads_engine *engine = arg;
    const strads_program *found =
        engine->join.find(engine->join.find_arg, name);
    if (!found)
        return strads_fail(STRADS_EMISMATCH,
                           "the run is of program %s, which this node does not "
                           "have: give it the same program file",
                           name);
    engine->terms.program = &engine->program;
    return sti_program_take(found, &engine->program);
}

static strads_err take_terms(strads_engine *engine, const sti_mesh_terms *told)
{
    if (!engine->terms.program)
        return strads_fail(
            STRADS_EMISMATCH,
            "the coordinator sent no program: it runs another version");
    engine->options.seed = told->seed;
    engine->terms.options = &engine->options;
    engine->terms.nodes = sti_mesh_nodes(engine->mesh);
    strads_err err =
        sti_run_terms_read(told->options, &engine->strings, &engine->terms);
    if (!err)
        err = number_workers(engine);
    if (!err)
        err = take_hosted(engine);
    if (!err)
        sti_mesh_set_window(engine->mesh, engine->options.reconnect);
    return err;
}

/* Frees the terms and resets the options to this node's own. */
static void discard_terms(strads_engine *engine)
{
    discard_members(engine);
    sti_run_terms_free(&engine->terms);
    sti_config_strings_free(&engine->strings);
    engine->options = (strads_engine_options){
        .size = sizeof engine->options,
        .workers = engine->join.workers,
        .trace = engine->join.trace,
        .stop = engine->join.stop,
    };
}

static strads_err join_once(strads_engine *engine, uint64_t timeout_ns)
{
    const strads_join_options *join = &engine->join;
    const uint32_t workers =
        join->shard ? 0 : sti_setup_workers(&engine->options);
    const sti_mesh_options options = {
        .url = join->listen,
        .advertise = join->advertise,
        .trust = &engine->trust,
        .stop = join->stop,
        .outlives = join->wait > 0,
        .accepts = accept_program,
        .pace = own_pace,
        .arg = engine,
    };
    sti_mesh_terms told = {0};
    strads_err err = sti_mesh_open(&options, &engine->mesh);
    if (!err)
        err = sti_mesh_join(engine->mesh, engine->url, workers,
                            atomic_load(&engine->own_pace), timeout_ns, &told);
    if (!err)
        err = take_terms(engine, &told);
    free(told.options);
    return err;
}

/* Whether to retry a join: node 0 has asked for it (STRADS_EREGROUP: the run is
 * in progress, or between epochs). If this node knows that the run has epochs,
 * it also retries after a broken link to node 0, until `until`. */
static bool comes_again(strads_engine *engine, strads_err err, bool known,
                        uint64_t until)
{
    if (!engine->join.regroup || !engine->mesh)
        return false;
    return err == STRADS_EREGROUP ||
           (known && (err == STRADS_EPEER || err == STRADS_EIO) &&
            !sti_mesh_failed(engine->mesh) && sti_monotonic_now() < until);
}

/* Joins node 0. `again`: an epoch has ended on this node. Node 0 has `timeout`
 * to answer or, if that is longer, as long as this node is allowed to wait. The
 * time starts again whenever node 0 asks to retry. */
static strads_err join(strads_engine *engine, bool again)
{
    const strads_join_options *options = &engine->join;
    const double timeout = options->timeout > 0 ? options->timeout : 30;
    const uint64_t usual = (uint64_t)(timeout * 1e9);
    uint64_t until = sti_monotonic_in(again && options->wait > timeout
                                          ? (uint64_t)(options->wait * 1e9)
                                          : usual);
    bool known = again || options->wait > 0, told = again;
    for (;;) {
        const uint64_t now = sti_monotonic_now();
        strads_err err = join_once(engine, until > now ? until - now : 1);
        if (!err)
            return STRADS_OK;
        if (!comes_again(engine, err, known, until)) {
            close_mesh(engine, STRADS_EPEER);
            return err;
        }
        if (err == STRADS_EREGROUP && !told && options->notice)
            options->notice(options->notice_arg, strads_error_text());
        if (err == STRADS_EREGROUP)
            until = sti_monotonic_in(usual);
        known = told = true;
        discard_terms(engine);
        close_mesh(engine, err);
        (void)nanosleep(&(struct timespec){.tv_nsec = COME_AGAIN_NS}, NULL);
    }
}

strads_err strads_engine_join(const char *url, const strads_join_options *given,
                              strads_engine **out)
{
    strads_join_options full, *options = &full;
    strads_err err =
        sti_sized_copy(&full, sizeof full, given, "the options to join");
    if (err)
        return err;
    if (!options->find)
        return strads_fail(STRADS_EINVAL, "to join, options need find");
    err = sti_instruction_set_check();
    if (err)
        return err;
    strads_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return no_node_memory();
    engine->joined = engine->together = true;
    engine->join = *options;
    discard_terms(engine);
    engine->url = strdup(url);
    engine->trust = (sti_trust){
        .insecure = options->insecure,
        .tls = {options->tls_ca, options->tls_cert, options->tls_key},
    };
    err = engine->url
              ? sti_token_read(options->token_file, &engine->trust.token)
              : no_node_memory();
    if (!err)
        err = join(engine, false);
    if (err)
        strads_engine_free(engine);
    else
        *out = engine;
    return err;
}

/* ---- the run ------------------------------------------------------------ */

const char *strads_engine_url(const strads_engine *engine)
{
    return engine->mesh ? sti_mesh_url(engine->mesh) : "";
}

const char *strads_engine_data_path(const strads_engine *engine)
{
    return engine->options.data_path;
}

const strads_program *strads_engine_program(const strads_engine *engine)
{
    return engine->terms.program;
}

void strads_engine_free(strads_engine *engine)
{
    if (!engine)
        return;
    sti_mesh_close(engine->mesh, engine->failed ? STRADS_EPEER : STRADS_OK);
    sti_checkpoint_files_close(engine->checkpoints);
    free(engine->url);
    free(engine->pace);
    if (!engine->joined)
        engine->terms.config = NULL;
    discard_members(engine);
    sti_run_terms_free(&engine->terms);
    sti_config_strings_free(&engine->strings);
    free(engine);
}

/* The number of this node's partitions, which start at *first. */
static uint32_t own_partitions(const strads_engine *engine, uint32_t *first)
{
    const sti_layout *l = &engine->layout;
    const sti_run run = {.workers = l->workers,
                         .partitions = engine->options.partitions,
                         .first = l->first_of};
    *first = sti_run_first(&run, l->first);
    return sti_run_first(&run, l->first + l->count) - *first;
}

static strads_err check_unused(const strads_engine *engine)
{
    return engine->ran
               ? strads_fail(STRADS_ESTATE, "this engine has run already: make "
                                            "another one for another run")
               : STRADS_OK;
}

strads_err strads_engine_keep(strads_engine *engine, strads_data_options *given)
{
    strads_data_options full, *options = &full;
    strads_err err = check_unused(engine);
    if (!err)
        err = sti_sized_copy(&full, sizeof full, given, "the data's options");
    if (err)
        return err;
    if (!engine->together)
        err = engine->joined ? join(engine, true) : gather_nodes(engine);
    engine->together = !err;
    if (err) {
        engine->failed = true;
        return err;
    }
    options->partitions = engine->options.partitions;
    options->keep_count = own_partitions(engine, &options->keep_first);
    if (options->keep_count == 0) /* keep_count 0 alone would mean all
                                   * partitions from keep_first on */
        options->keep_first = options->partitions;
    options->partition_entries = 0; /* each worker has a partition */
    sti_run_cut_as(&engine->program, engine->terms.config, options);
    engine->value_bytes = options->keep_count == 0        ? 0
                          : options->values == STRADS_F32 ? 4
                                                          : 8;
    if (!options->memory_limit)
        err = sti_run_memory(&engine->options, &options->memory_limit);
    if (err)
        return err;
    sti_sized_return(given, options);
    engine->kept_ns = sti_monotonic_now();
    return STRADS_OK;
}

strads_err strads_data_from_part(strads_engine *engine,
                                 const strads_arrays *part,
                                 const strads_data_options *options,
                                 strads_data **out)
{
    strads_err err = check_unused(engine);
    if (!err && !engine->together)
        err = strads_fail(STRADS_ESTATE, "strads_engine_keep comes before "
                                         "strads_data_from_part");
    if (!err && engine->generation && !engine->joined)
        err =
            strads_fail(STRADS_EINVAL, "a run cannot continue without the rows "
                                       "of a lost node: leave regroup out");
    if (err)
        return err;
    const sti_run run = {.workers = engine->layout.workers,
                         .partitions = engine->options.partitions};
    const uint32_t nodes = engine->terms.nodes;
    uint32_t *first = calloc((size_t)nodes + 1, sizeof *first);
    if (!first)
        return no_node_memory();
    uint32_t workers = 0;
    for (uint32_t n = 0; n < nodes; n++) {
        first[n] = sti_run_first(&run, workers);
        workers += engine->terms.workers[n];
    }
    first[nodes] = run.partitions;
    const sti_spread spread = {engine->mesh, nodes, first};
    err = sti_data_part(&spread, part, options, out);
    free(first);
    engine->failed = engine->failed || err;
    return err;
}

/* Adds the traffic of the links and the totals of earlier epochs. */
static void add_to(const void *arg, strads_progress *p)
{
    const strads_engine *engine = arg;
    const strads_progress *before = &engine->before;
    sti_mesh_count(engine->mesh, &p->bytes_sent, &p->bytes_received);
    p->bytes_sent += before->bytes_sent;
    p->bytes_received += before->bytes_received;
    p->seconds += before->seconds;
    p->cpu_seconds += before->cpu_seconds;
    p->callback_seconds += before->callback_seconds;
    p->waiting_seconds += before->waiting_seconds;
    p->network_seconds += before->network_seconds;
}

static void report_progress(void *arg, const strads_progress *progress)
{
    const strads_engine *engine = arg;
    if (!engine->options.progress)
        return;
    strads_progress told = *progress;
    add_to(engine, &told);
    const uint32_t nodes = sti_mesh_nodes(engine->mesh);
    strads_node_state *state = calloc(nodes, sizeof *state);
    if (state) { /* without memory, report the rest */
        sti_mesh_states(engine->mesh, state);
        told.n_nodes = nodes;
        told.node = state;
    }
    engine->options.progress(engine->options.progress_arg, &told);
    free(state);
}

static strads_err send_message(void *arg, const sti_msg *msg)
{
    const strads_engine *engine = arg;
    return sti_mesh_send(engine->mesh, msg);
}

static sti_data_mark mark_of(const strads_engine *engine,
                             const strads_data *data)
{
    return (sti_data_mark){
        .value_bytes = engine->value_bytes,
        .rows = strads_data_rows(data),
        .cols = strads_data_cols(data),
        .nnz = strads_data_nnz(data),
        .checksum = strads_data_checksum(data),
    };
}

static void deliver_to_node(void *arg, const sti_msg *msg)
{
    sti_node_deliver(((strads_engine *)arg)->node, msg);
}

static void abort_node(void *arg, strads_err err, const char *text)
{
    sti_node_abort(((strads_engine *)arg)->node, err, text);
}

static void stop_node(void *arg)
{
    sti_node_stop(((strads_engine *)arg)->node);
}

static void ask_stop(void *arg)
{
    const strads_engine *engine = arg;
    sti_mesh_ask_stop(engine->mesh);
}

static uint64_t clock_of_node(const void *arg)
{
    return sti_node_clock(((const strads_engine *)arg)->node);
}

/* ---- new nodes: the next epoch takes them in ----------------------------- */

static void take_in(strads_engine *engine)
{
    const char *text =
        atomic_load(&engine->late)
            ? "a node has joined: the run continues with it"
            : "a node is slow: another one takes over some of its partitions";
    if (engine->loops)
        sti_loop_nodes_regroup(engine->loops, text);
    else
        sti_node_abort(engine->node, STRADS_EREGROUP, text);
}

/* The mesh calls this repeatedly. A node waits if there is no partition for it.
 * An epoch lasts at least a second. */
static void take_late(void *arg, uint32_t workers)
{
    strads_engine *engine = arg;
    const uint64_t since = atomic_load(&engine->since_ns);
    if (!engine->checkpoints ||
        engine->layout.workers + workers > engine->options.partitions ||
        !since || sti_monotonic_now() - since < STI_SECOND)
        return;
    atomic_store(&engine->late, true);
    if (sti_checkpoint_is_committed(&engine->program))
        take_in(engine);
}

/* Called after each checkpoint that includes the workers' state. */
static void checkpoint_is_taken(void *arg)
{
    strads_engine *engine = arg;
    if (atomic_load(&engine->late) || atomic_load(&engine->uneven))
        take_in(engine);
}

/* ---- slow nodes: the next epoch gives them fewer partitions -------------- */

/* The engine may run more loops than there are cores. Then loops share cores,
 * and each loop seems as slow as all of them, so their time is scaled. */
static uint64_t own_pace(void *arg)
{
    strads_engine *engine = arg;
    const uint64_t since = atomic_load(&engine->since_ns);
    const uint64_t passed = since ? sti_monotonic_now() - since : 0;
    if (passed < PACE_AFTER_NS ||
        passed / PACE_AFTER_READS < since - engine->kept_ns)
        return 0;
    uint32_t first;
    const uint32_t parts = own_partitions(engine, &first);
    if (!parts)
        return 0;
    double busy = engine->loops ? (double)sti_loop_nodes_busy(engine->loops)
                                : (double)sti_node_busy(engine->node);
    if (engine->loops)
        busy *= (double)engine->layout.count / parts;
    const uint64_t pace = (uint64_t)(1e9 * busy / (double)passed / parts);
    atomic_store(&engine->own_pace, pace);
    return pace;
}

/* Node 0: handles a node's new pace. Once all paces are known, checks whether
 * another spread is worth a new epoch. */
static void take_pace(void *arg, uint32_t node, uint64_t pace)
{
    strads_engine *engine = arg;
    const uint32_t nodes = engine->terms.nodes;
    engine->pace[node].pace = pace;
    if (!engine->checkpoints || atomic_load(&engine->uneven))
        return;
    sti_pace *other = calloc(nodes, sizeof *other);
    bool all = other != NULL;
    for (uint32_t n = 0; all && n < nodes; n++) {
        other[n] = engine->pace[n];
        all = other[n].pace || !other[n].workers;
    }
    const bool uneven = all && sti_node_spread(other, nodes);
    free(other);
    if (!uneven)
        return;
    atomic_store(&engine->uneven, true);
    if (sti_checkpoint_is_committed(&engine->program))
        take_in(engine);
}

/* ---- one epoch ----------------------------------------------------------- */

/* Runs the node while the mesh is attached. */
static strads_err run_node(strads_engine *engine, const sti_setup *setup,
                           const strads_data *data, sti_node *node,
                           sti_trace *trace)
{
    const sti_mesh_host host = {.deliver = deliver_to_node,
                                .abort = abort_node,
                                .clock = clock_of_node,
                                .stop = stop_node,
                                .arg = engine};
    engine->node = node;
    if (engine->peer_stops)
        sti_node_stop(node);
    sti_mesh_attach(engine->mesh, &setup->run, &host, trace);
    const sti_data_mark mark = mark_of(engine, data);
    strads_err err = sti_mesh_ready(engine->mesh, &mark);
    atomic_store(&engine->since_ns, err ? 0 : sti_monotonic_now());
    if (!err)
        err = sti_node_run(node);
    if (!err)
        sti_mesh_report_done(engine->mesh);
    sti_mesh_detach(engine->mesh);
    return err;
}

/* When an epoch ends without an error, node 0 adds its totals. If the user
 * asked to stop before a later epoch had begun, node 0 continues alone. */
static strads_err end_generation(strads_engine *engine, strads_err err,
                                 strads_progress *progress)
{
    const bool begun = atomic_load(&engine->since_ns);
    engine->goes_alone = err == STRADS_ECANCELED && engine->generation > 1 &&
                         !engine->joined && !begun;
    if (engine->goes_alone)
        err = STRADS_EREGROUP;
    if (err == STRADS_EREGROUP && !engine->joined && begun) {
        add_to(engine, progress);
        engine->before = *progress;
    }
    return err;
}

static strads_err drive_rounds(strads_engine *engine, sti_setup *setup,
                               const strads_data *data, strads_result **out)
{
    sti_trace *trace;
    strads_err err = sti_run_trace_open(&setup->options, &trace);
    if (err)
        return err;
    const sti_node_options options = {
        .run = &setup->run,
        .node = sti_mesh_node(engine->mesh),
        .first_worker = engine->layout.first,
        .threads = engine->layout.count,
        .coordinates = !engine->joined,
        .trace = trace,
        .stop = engine->options.stop,
        .report = report_progress,
        .send = send_message,
        .ask_stop = ask_stop,
        .arg = engine,
    };
    sti_node *node = NULL;
    err = sti_node_new(&options, &node);
    if (!err)
        err = run_node(engine, setup, data, node, trace);
    strads_progress progress = {0};
    if (node && !engine->joined)
        sti_node_progress(node, &progress);
    err = end_generation(engine, err, &progress);
    if (err == STRADS_EREGROUP && !engine->joined) {
        sti_checkpoint_position at;
        const bool came = sti_node_position(node, &at);
        sti_checkpoint_files_hold(engine->checkpoints, &setup->run,
                                  came ? &at : NULL);
    }
    if (!err && !engine->joined) {
        add_to(engine, &progress);
        err = sti_result_new(setup, &progress, sti_node_end(node), out);
    }
    err = sti_run_trace_close(trace, err);
    sti_node_free(node);
    return err;
}

static void loops_begun(void *arg, struct sti_loop_nodes *loops)
{
    strads_engine *engine = arg;
    engine->loops = loops;
    atomic_store(&engine->since_ns, sti_monotonic_now());
}

static strads_err drive_loops(strads_engine *engine, sti_setup *setup,
                              const strads_data *data, strads_result **out)
{
    uint32_t first;
    const uint32_t count = own_partitions(engine, &first);
    const sti_loop_nodes_setup loops = {
        .setup = setup,
        .mesh = engine->mesh,
        .first = first,
        .count = count,
        .with_loops = engine->terms.nodes - engine->layout.n_hosts,
        .mark = mark_of(engine, data),
        .stopped = engine->peer_stops,
        .begun = loops_begun,
        .progress = report_progress,
        .add = add_to,
        .arg = engine,
    };
    strads_progress progress;
    atomic_store(&engine->since_ns, 0);
    strads_err err = sti_loop_nodes_run(&loops, &progress, out);
    engine->loops = NULL;
    return end_generation(engine, err, &progress);
}

static strads_err use_checkpoints(strads_engine *engine, sti_setup *setup,
                                  const strads_data *data)
{
    strads_err err =
        engine->checkpoints
            ? sti_checkpoint_files_again(engine->checkpoints, setup)
            : sti_checkpoint_files_open(setup, data, engine->generation > 0,
                                        &engine->checkpoints);
    if (!err && engine->checkpoints)
        sti_checkpoint_files_notify(engine->checkpoints, checkpoint_is_taken,
                                    engine);
    return err;
}

/* Ends an epoch; the caller has all nodes join again. Node 0 gives up after
 * STUCK_MAX epochs without progress. */
static strads_err end_epoch_for_all(strads_engine *engine)
{
    strads_err err = STRADS_EREGROUP;
    if (!engine->joined) {
        sti_checkpoint checkpoint = {0};
        sti_buffer *latest = sti_checkpoint_files_latest(engine->checkpoints);
        const uint64_t at = latest && !sti_checkpoint_read(latest, &checkpoint)
                                ? checkpoint.at.next
                                : 0;
        sti_checkpoint_free(&checkpoint);
        engine->stuck = at == engine->checkpoint_at ? engine->stuck + 1 : 0;
        engine->checkpoint_at = at;
        const bool late = atomic_exchange(&engine->late, false);
        atomic_store(&engine->uneven, false);
        engine->terms.nodes =
            engine->goes_alone ? 1 : 1 + sti_mesh_others(engine->mesh) + late;
        engine->peer_stops =
            engine->peer_stops || sti_mesh_stop_was_asked(engine->mesh);
    }
    if (engine->stuck >= STUCK_MAX)
        err = strads_fail(STRADS_EPEER,
                          "the run lost a node %d times in a row before it "
                          "made progress; the last time: %s",
                          STUCK_MAX, strads_error_text());
    close_mesh(engine, err);
    if (err != STRADS_EREGROUP)
        return err;
    if (engine->joined)
        discard_terms(engine);
    engine->generation++;
    engine->ran = engine->together = engine->failed = false;
    return err;
}

strads_err strads_engine_run(strads_engine *engine, const strads_data *data,
                             strads_result **out)
{
    if (!engine->together)
        return strads_fail(STRADS_ESTATE,
                           "strads_engine_keep comes before strads_engine_run");
    strads_err err = check_unused(engine);
    if (err)
        return err;
    engine->ran = true;
    strads_engine_options options = engine->options;
    if (options.time_limit > 0)
        options.time_limit =
            fmax(options.time_limit - engine->before.seconds, 1e-9);
    sti_setup setup = {0};
    strads_result *result = NULL;
    err = sti_setup_make(&setup, engine->terms.program, engine->terms.config,
                         data, &options, &engine->layout);
    if (!err && !engine->joined)
        err = use_checkpoints(engine, &setup, data);
    if (!err)
        err = setup.run.program->run
                  ? drive_loops(engine, &setup, data, &result)
                  : drive_rounds(engine, &setup, data, &result);
    if (!err && engine->joined && engine->join.wait > 0 && engine->join.regroup)
        err = sti_mesh_await_goodbye(engine->mesh);
    engine->failed = err != STRADS_OK;
    if (err == STRADS_EREGROUP)
        err = end_epoch_for_all(engine);
    else if (err)
        close_mesh(engine, STRADS_EPEER); /* before the error's text is
                                           * overwritten */
    if (err != STRADS_EREGROUP) {
        sti_checkpoint_files_close(engine->checkpoints);
        engine->checkpoints = NULL;
    }
    if (err) {
        strads_result_free(result);
        result = NULL;
    }
    sti_setup_free(&setup, result != NULL);
    *out = result;
    return err;
}
