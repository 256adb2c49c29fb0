/* Generations in virtual time: a run of rounds and one of a ring lose nodes at
 * any message, and node 0; other numbers of nodes go on from the cut, as
 * engine/run/nodes.c has them do. They end where a run ends that loses nobody. A
 * seed that fails is in the sentence. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/random.h"
#include "engine/run/cut_files.h"
#include "engine/sim/sim.h"
#include "strads/lasso.h"
#include "tests/expect.h"
#include "tests/lasso_design.h"
#include "tests/lda_corpus.h"

enum { K = 4, SEEDS = 50, FAULTS = 4 };

/* A run, and what becomes of it. */
typedef struct world {
    const strads_program *program;
    const void *config;
    const strads_data *data;
    strads_engine_options options;
    sti_cut_files *cuts;
    uint64_t draws; /* of the seed */
    /* This generation: from message `at` on nothing reaches or leaves it. */
    uint64_t messages, at;
    sti_address dead; /* a worker, or STI_COORDINATOR */
    bool counts_old;  /* planted: the next begins with the tables of this one */
    bool planted;     /* .. and they were not those of the cut */
} world;

/* What a run came to. */
typedef struct outcome {
    double objective;
    double *values; /* table 0 */
    uint64_t n;
    uint32_t lost; /* generations that ended by a fault */
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

/* The last cut, with the tables as this generation has left them. */
static void plant(world *w, const sti_run *run, sti_cut_files *cuts)
{
    sti_cut cut;
    sti_buffer *mixed = NULL;
    sti_buffer *latest = sti_cut_files_latest(cuts);
    if (!latest || sti_cut_read(latest, &cut))
        return;
    sti_buffer *state = NULL;
    cr_assert_eq(sti_buffer_over(&latest->head, (void *)(uintptr_t)cut.state,
                                 cut.state_size, &state),
                 STRADS_OK);
    cr_assert_eq(sti_cut_write(run, &cut.at, state, cut.parts, &mixed),
                 STRADS_OK);
    w->planted = w->planted || mixed->size != latest->size ||
                 memcmp(mixed->bytes, latest->bytes, mixed->size) != 0;
    run->cuts->take(run->cuts->arg, mixed);
    sti_object_drop(state);
    sti_cut_free(&cut);
}

static void use_cuts(world *w, sti_setup *setup)
{
    if (w->cuts) {
        cr_assert_eq(sti_cut_files_again(w->cuts, setup), STRADS_OK);
        return;
    }
    setup->options.resume = sti_cut_partitions(setup->options.checkpoint)
                                ? setup->options.checkpoint
                                : NULL;
    expect_ok(sti_cut_files_open(setup, w->data, true, &w->cuts));
}

static void take_outcome(const sti_run *run, const sti_sim *sim, outcome *out)
{
    strads_progress progress;
    sti_sim_progress(sim, &progress);
    out->objective = progress.objective;
    out->n = run->shape.parameters * run->shape.width;
    out->values = malloc(out->n * sizeof *out->values);
    memcpy(out->values, strads_store_dense(run->store, 0),
           out->n * sizeof *out->values);
}

/* One generation on `nodes` nodes; whether the run has come to its end. */
static bool live(world *w, uint32_t nodes, outcome *out)
{
    static const uint32_t node_of[K] = {0, 1, 2, 3};
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
    sti_cut_position at;
    sti_sim *sim;
    expect_ok(sti_setup_make(&setup, w->program, w->config, w->data,
                             &w->options, &layout));
    use_cuts(w, &setup);
    const sti_sim_options o = {.run = &setup.run,
                               .costs = &costs,
                               .loses = loses,
                               .arg = w};
    cr_assert_eq(sti_sim_new(&o, &sim), STRADS_OK);
    w->messages = 0;
    const strads_err err = sti_sim_run(sim);
    const bool noticed = w->planted && err == STRADS_EPROGRAM;
    if (!err)
        take_outcome(&setup.run, sim, out);
    else
        cr_assert(noticed || err == STRADS_ESTATE, "%s", strads_error_text());
    if (err && w->dead == STI_COORDINATOR) {
        sti_cut_files_close(w->cuts); /* what is in memory is gone, too */
        w->cuts = NULL;
    } else if (err && w->counts_old) {
        plant(w, &setup.run, w->cuts);
    } else if (err) {
        const bool begun = sti_sim_position(sim, &at);
        sti_cut_files_hold(w->cuts, &setup.run, begun ? &at : NULL);
    }
    sti_sim_free(sim);
    sti_setup_free(&setup, false);
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
    if (planted)
        *planted = w.planted;
    sti_cut_files_close(w.cuts);
    empty(folder);
    return out;
}

static bool same(const outcome *a, const outcome *b)
{
    return a->n == b->n && a->values && b->values &&
           memcmp(a->values, b->values, a->n * sizeof *a->values) == 0;
}

Test(generations, rounds_end_at_the_same_optimum)
{
    const lasso_recipe recipe = {.rows = 60,
                                 .cols = 40,
                                 .seed = 5,
                                 .density = 0.5,
                                 .correlation = 0.5,
                                 .noise = 0.3};
    const strads_lasso_options config = {.lambda_ratio = 0.02};
    lasso_design design = lasso_design_random(&recipe);
    strads_data *data = NULL;
    uint32_t lost = 0;
    cr_assert_eq(lasso_design_data(&design, K, &data), STRADS_OK);
    world w = {.program = &strads_program_lasso,
               .config = &config,
               .data = data,
               .options = {.size = sizeof w.options,
                           .partitions = K,
                           .depth = 1,
                           .deterministic = true,
                           .tolerance = 1e-7,
                           .checkpoint_every = 2e-3}};
    outcome best = whole(w, 0, 1, NULL);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        w.draws = seed;
        outcome out = whole(w, FAULTS, 80, NULL);
        cr_expect_float_eq(out.objective, best.objective, 2e-7 * best.objective,
                           "seed %d: %.12g, not %.12g", (int)seed,
                           out.objective, best.objective);
        lost += out.lost;
        free(out.values);
    }
    cr_expect_gt(lost, SEEDS, "only %u generations were lost", lost);
    free(best.values);
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
    uint32_t lost = 0;
    world w = ring(&data);
    outcome best = whole(w, 0, 1, NULL);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        w.draws = seed;
        outcome out = whole(w, FAULTS, 400, NULL);
        cr_expect(same(&out, &best), "seed %d: other bits", (int)seed);
        lost += out.lost;
        free(out.values);
    }
    cr_expect_gt(lost, SEEDS, "only %u generations were lost", lost);
    free(best.values);
    strads_data_free(data);
}

/* The planted bug: what the dead generation had committed counts in the next. */
Test(generations, what_an_old_generation_has_committed_is_found)
{
    strads_data *data;
    uint32_t planted = 0, found = 0;
    world w = ring(&data);
    outcome best = whole(w, 0, 1, NULL);
    w.counts_old = true;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool differs = false;
        w.draws = seed;
        outcome out = whole(w, FAULTS, 400, &differs);
        planted += differs;
        found += differs && !same(&out, &best);
        free(out.values);
    }
    cr_expect_gt(planted, 0);
    cr_expect_eq(found, planted, "of %u planted %u were found", planted, found);
    free(best.values);
    strads_data_free(data);
}
