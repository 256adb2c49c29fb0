/* Generations in virtual time. Runs of rounds, of a ring and of a loop lose
 * nodes, also node 0, at any message. Another number of nodes then resumes from
 * the checkpoint, as in engine/run/nodes.c; the newest checkpoint on disk may
 * be half written. The runs must end like a run without losses. The assertion's
 * sentence names the failing seed. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/random.h"
#include "engine/run/checkpoint_files.h"
#include "engine/run/loops.h"
#include "engine/sim/sim.h"
#include "strads/lasso.h"
#include "strads/sgd_logistic.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"
#include "tests/lda_corpus.h"

enum { K = 4, SEEDS = 50, FAULTS = 4 };

/* A run and its faults. */
typedef struct world {
    const strads_program *program;
    const void *config;
    const strads_data *data;
    strads_engine_options options;
    sti_checkpoint_files *checkpoints;
    uint64_t draws; /* number of draws from the seed */
    /* The current generation: from message `at` on, no message reaches or
     * leaves the dead node. */
    const sti_run *run;
    uint64_t messages, at;
    sti_address dead; /* a worker, or STI_COORDINATOR */
    /* newest checkpoints that were half written when node 0 died */
    uint32_t torn;
    /* planted bug: the next generation starts with this one's tables */
    bool counts_old;
    bool planted; /* and they differed from the checkpoint's */
} world;

/* The result of a run. */
typedef struct outcome {
    double objective;
    double *values; /* table 0 */
    uint64_t n;
    uint32_t lost; /* generations that ended by a fault */
    uint32_t torn; /* torn checkpoints */
} outcome;

static uint32_t draw(world *w, uint32_t below)
{
    w->draws = w->draws * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
    return (uint32_t)(w->draws >> 33) % below;
}

static bool loses(void *arg, const sti_msg *msg)
{
    world *w = arg;
    if (w->messages++ < w->at)
        return false;
    return w->dead == STI_COORDINATOR || msg->from == w->dead ||
           msg->to == w->dead;
}

/* The same for a loop: its node has a client and perhaps a shard. */
static bool loses_of_loop(void *arg, const sti_msg *msg)
{
    world *w = arg;
    const uint32_t dead = w->dead - STI_WORKER_0;
    if (w->messages++ < w->at)
        return false;
    return w->dead == STI_COORDINATOR ||
           sti_run_node_of(w->run, msg->from) == dead ||
           sti_run_node_of(w->run, msg->to) == dead;
}

/* Plants the last checkpoint with the tables that this generation left. */
static void plant(world *w, const sti_run *run,
                  sti_checkpoint_files *checkpoints)
{
    sti_checkpoint checkpoint;
    sti_buffer *mixed = NULL;
    sti_buffer *latest = sti_checkpoint_files_latest(checkpoints);
    if (!latest || sti_checkpoint_read(latest, &checkpoint))
        return;
    sti_buffer *state = NULL;
    cr_assert_eq(sti_buffer_over(&latest->head,
                                 (void *)(uintptr_t)checkpoint.state,
                                 checkpoint.state_size, &state),
                 STRADS_OK);
    cr_assert_eq(sti_checkpoint_write(run, &checkpoint.at, state,
                                      checkpoint.parts, &mixed),
                 STRADS_OK);
    w->planted = w->planted || mixed->size != latest->size ||
                 memcmp(mixed->bytes, latest->bytes, mixed->size) != 0;
    run->checkpoints->take(run->checkpoints->arg, mixed);
    sti_object_drop(state);
    sti_checkpoint_free(&checkpoint);
}

static void use_checkpoints(world *w, sti_setup *setup)
{
    if (w->checkpoints) {
        cr_assert_eq(sti_checkpoint_files_again(w->checkpoints, setup),
                     STRADS_OK);
        return;
    }
    setup->options.resume = sti_checkpoint_partitions(setup->options.checkpoint)
                                ? setup->options.checkpoint
                                : NULL;
    expect_ok(sti_checkpoint_files_open(setup, w->data, true, &w->checkpoints));
}

static void take_values(const sti_run *run, outcome *out)
{
    out->n = run->shape.parameters * run->shape.width;
    out->values = malloc(out->n * sizeof *out->values);
    memcpy(out->values, strads_store_dense(run->store, 0),
           out->n * sizeof *out->values);
}

/* Runs rounds or a ring; *at: the committed position at the end, if *begun. */
static strads_err run_rounds(world *w, sti_setup *setup,
                             const strads_sim_options *costs, outcome *out,
                             sti_checkpoint_position *at, bool *begun)
{
    sti_sim *sim;
    const sti_sim_options o = {.run = &setup->run,
                               .costs = costs,
                               .loses = loses,
                               .arg = w};
    cr_assert_eq(sti_sim_new(&o, &sim), STRADS_OK);
    const strads_err err = sti_sim_run(sim);
    *begun = err && sti_sim_position(sim, at);
    if (!err) {
        strads_progress progress;
        sti_sim_progress(sim, &progress);
        out->objective = progress.objective;
        take_values(&setup->run, out);
    }
    sti_sim_free(sim);
    return err;
}

static strads_err run_loop(world *w, sti_setup *setup,
                           const strads_sim_options *costs, outcome *out)
{
    strads_result *result = NULL;
    strads_sim_outcome traffic;
    const strads_err err = sti_simulate_loop(setup, costs, NULL, loses_of_loop,
                                             w, &result, &traffic);
    if (!err)
        take_values(&setup->run, out);
    strads_result_free(result);
    return err;
}

/* Simulates a machine that loses unsynced data although it reported the sync:
 * halves the newest checkpoint, if there is an older one. */
static void tear(world *w)
{
    char path[512], newest[256] = "";
    uint32_t n = 0;
    DIR *dir = opendir(w->options.checkpoint);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        if (strncmp(e->d_name, "checkpoint-", 4) != 0)
            continue;
        n++;
        if (strcmp(e->d_name, newest) > 0)
            (void)snprintf(newest, sizeof newest, "%s", e->d_name);
    }
    if (dir)
        (void)closedir(dir);
    if (n < 2 || draw(w, 2))
        return;
    (void)snprintf(path, sizeof path, "%s/%s", w->options.checkpoint, newest);
    struct stat file;
    cr_assert(stat(path, &file) == 0 && truncate(path, file.st_size / 2) == 0);
    w->torn++;
}

/* Runs one generation on `nodes` nodes; returns whether the run has ended. */
static bool live(world *w, uint32_t nodes, outcome *out)
{
    uint32_t node_of[K] = {0, 1, 2, 3};
    const sti_layout layout = {.workers = nodes,
                               .node_of = node_of,
                               .count = nodes,
                               .nodes = nodes};
    const strads_sim_options costs = {.size = sizeof costs,
                                      .nodes = nodes,
                                      .latency = 100e-6,
                                      .bandwidth = 1e9,
                                      .message_cost = 3e-6,
                                      .update_cost = 50e-6,
                                      .aggregate_cost = 10e-6,
                                      .jitter = 3};
    sti_setup setup = {0};
    sti_checkpoint_position at;
    bool begun = false;
    expect_ok(sti_setup_make(&setup, w->program, w->config, w->data,
                             &w->options, &layout));
    use_checkpoints(w, &setup);
    const bool loop = w->program->run != NULL;
    w->run = &setup.run;
    w->messages = 0;
    const strads_err err =
        loop ? run_loop(w, &setup, &costs, out)
             : run_rounds(w, &setup, &costs, out, &at, &begun);
    const bool noticed = w->planted && err && err != STRADS_ESTATE;
    if (err)
        cr_assert(noticed || err == STRADS_ESTATE, "%s", strads_error_text());
    if (err && w->dead == STI_COORDINATOR) {
        sti_checkpoint_files_close(
            w->checkpoints); /* checkpoints in memory are lost, too */
        w->checkpoints = NULL;
        tear(w);
    } else if (err && w->counts_old) {
        plant(w, &setup.run, w->checkpoints);
    } else if (err) {
        sti_checkpoint_files_hold(w->checkpoints, &setup.run,
                                  begun ? &at : NULL);
    }
    sti_setup_free(&setup, loop && !err);
    return !err || noticed; /* without an outcome */
}

static void empty(const char *folder)
{
    char path[512];
    DIR *dir = opendir(folder);
    for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        (void)snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
        (void)unlink(path);
    }
    if (dir)
        (void)closedir(dir);
    (void)rmdir(folder);
}

/* A whole run, with that many faults at messages below `most`. */
static outcome whole(world w, uint32_t faults, uint32_t most, bool *planted)
{
    char folder[] = "/tmp/strads-generations-XXXXXX";
    outcome out = {0};
    cr_assert_not_null(mkdtemp(folder));
    w.options.checkpoint = folder;
    for (bool ended = false; !ended; faults -= faults > 0) {
        const uint32_t nodes = faults ? 1 + draw(&w, K) : K;
        const uint32_t victim = draw(&w, nodes + !w.counts_old);
        w.at = faults ? draw(&w, most) : UINT64_MAX;
        w.dead = victim < nodes ? STI_WORKER_0 + victim : STI_COORDINATOR;
        ended = live(&w, nodes, &out);
        out.lost += !ended;
    }
    out.torn = w.torn;
    if (planted)
        *planted = w.planted;
    sti_checkpoint_files_close(w.checkpoints);
    empty(folder);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    return a->n == b->n && a->values && b->values &&
           memcmp(a->values, b->values, a->n * sizeof *a->values) == 0;
}

static world rounds(strads_data **data, lasso_design *design)
{
    static const strads_lasso_options config = {.lambda_ratio = 0.02};
    const lasso_recipe recipe = {.rows = 60,
                                 .cols = 40,
                                 .seed = 5,
                                 .density = 0.5,
                                 .correlation = 0.5,
                                 .noise = 0.3};
    *design = lasso_design_random(&recipe);
    cr_assert_eq(lasso_design_data(design, K, data), STRADS_OK);
    return (world){.program = &strads_program_lasso,
                   .config = &config,
                   .data = *data,
                   .options = {.size = sizeof(strads_engine_options),
                               .partitions = K,
                               .deterministic = true,
                               .tolerance = 1e-7,
                               .checkpoint_every = 2e-3}};
}

/* Checks that runs of every seed, with faults at messages below `messages`, end
 * like a run without faults: with its bits, or within `near` of its
 * objective. */
static void expect_same_ends(world w, uint32_t messages, double near)
{
    uint32_t lost = 0, torn = 0;
    outcome best = whole(w, 0, 1, NULL);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        w.draws = seed;
        outcome out = whole(w, FAULTS, messages, NULL);
        if (near > 0)
            cr_expect_float_eq(out.objective, best.objective,
                               near * best.objective,
                               "seed %d: %.12g, not %.12g", (int)seed,
                               out.objective, best.objective);
        else
            cr_expect(same(&out, &best), "seed %d: other bits", (int)seed);
        lost += out.lost;
        torn += out.torn;
        free(out.values);
    }
    cr_expect_gt(lost, SEEDS, "only %u generations were lost", lost);
    cr_expect_gt(torn, 0);
    free(best.values);
}

Test(generations, rounds_end_at_the_same_optimum)
{
    strads_data *data;
    lasso_design design;
    expect_same_ends(rounds(&data, &design), 80, 2e-7);
    strads_data_free(data);
    lasso_design_free(&design);
}

static world ring(strads_data **data)
{
    static const strads_lda_options config = {
        .topics = 5, .alpha = 0.1, .beta = 0.01, .sweeps = 12, .evaluate = 1};
    *data = lda_corpus(30, 40, K);
    cr_assert_not_null(*data);
    return (world){.program = &strads_program_lda,
                   .config = &config,
                   .data = *data,
                   .options = {.size = sizeof(strads_engine_options),
                               .partitions = K,
                               .checkpoint_every = 5e-3}};
}

Test(generations, a_ring_ends_with_the_same_bits)
{
    strads_data *data;
    expect_same_ends(ring(&data), 400, 0);
    strads_data_free(data);
}

static world loop(strads_data **data, lasso_design *design)
{
    static const strads_sgd_logistic_options config = {.lambda = 0.01,
                                                       .epochs = 10,
                                                       .batch = 4,
                                                       .staleness = "0"};
    const lasso_recipe recipe = {
        .rows = 60, .cols = 12, .seed = 9, .density = 0.5, .noise = 0.3};
    *design = lasso_design_random(&recipe);
    for (uint64_t i = 0; i < design->rows; i++)
        design->y[i] = design->y[i] > 0 ? 1 : -1;
    cr_assert_eq(lasso_design_lay(design, K, STRADS_LAYOUT_ROWS, data),
                 STRADS_OK);
    return (world){.program = &strads_program_sgd_logistic,
                   .config = &config,
                   .data = *data,
                   .options = {.size = sizeof(strads_engine_options),
                               .partitions = K,
                               .shards = 2,
                               .checkpoint_every = 2e-3}};
}

Test(generations, a_loop_without_staleness_ends_with_the_same_bits)
{
    strads_data *data;
    lasso_design design;
    expect_same_ends(loop(&data, &design), 600, 0);
    strads_data_free(data);
    lasso_design_free(&design);
}

static void expect_planted_are_found(world w, uint32_t messages)
{
    uint32_t planted = 0, found = 0;
    outcome best = whole(w, 0, 1, NULL);
    w.counts_old = true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool differs = false;
        w.draws = seed;
        outcome out = whole(w, FAULTS, messages, &differs);
        planted += differs;
        found += differs && !same(&out, &best);
        free(out.values);
    }
    cr_expect_gt(planted, 0);
    cr_expect_eq(found, planted, "of %u planted %u were found", planted, found);
    free(best.values);
}

/* The planted bug: commits of the dead generation count in the next one. */
Test(generations, commits_of_an_old_generation_are_found)
{
    strads_data *data;
    expect_planted_are_found(ring(&data), 400);
    strads_data_free(data);
}

/* The same for a loop: its tables are not those of the checkpoint. */
Test(generations, tables_of_another_clock_than_the_checkpoints_are_found)
{
    strads_data *data;
    lasso_design design;
    expect_planted_are_found(loop(&data, &design), 600);
    strads_data_free(data);
    lasso_design_free(&design);
}
