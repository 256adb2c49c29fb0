/* A simulation leaks no memory, however it ends. This has a plain main,
 * because Criterion's child processes would hide leaks from the checker. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/run/run_setup.h"
#include "engine/sim/sim.h"
#include "tests/nodes_toy.h"

enum { NODES = 4, PARTITIONS = 6 };

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%s; last error: %s\n", what, strads_error_text());
    exit(1);
}

static strads_data *empty_rows(void)
{
    static const uint64_t start[2];
    static const uint32_t index[1];
    static const double value[1];
    const strads_columns columns = {.rows = PARTITIONS,
                                    .cols = 1,
                                    .start = start,
                                    .index = index,
                                    .value = value};
    const strads_data_options options = {.size = sizeof options,
                                         .partitions = PARTITIONS};
    strads_data *data = NULL;
    expect(!strads_data_from_columns(&columns, &options, &data), "no data");
    return data;
}

typedef struct loser {
    uint64_t number, at; /* messages so far; the number of the message to
                          * lose */
} loser;

static bool lose_one(void *arg, const sti_msg *msg)
{
    loser *l = arg;
    (void)msg;
    return l->number++ == l->at;
}

/* One round of each kind; a lost message or a failing update ends it. */
static strads_err run(const strads_data *data, uint64_t lose_at, bool fails)
{
    uint32_t node_of[NODES] = {0, 1, 2, 3};
    const sti_layout layout = {.workers = NODES,
                               .node_of = node_of,
                               .count = NODES};
    const strads_engine_options options = {.size = sizeof options,
                                           .partitions = PARTITIONS,
                                           .depth = 2,
                                           .max_rounds = 5,
                                           .seed = lose_at};
    const strads_sim_options costs = {.size = sizeof costs,
                                      .nodes = NODES,
                                      .latency = 1e-4,
                                      .update_cost = 1e-4,
                                      .jitter = 5};
    const nodes_toy_config config = {.fails = 1};
    loser l = {.at = lose_at};
    sti_setup setup = {0};
    strads_err err = sti_setup_make(&setup, &nodes_toy, fails ? &config : NULL,
                                    data, &options, &layout);
    expect(!err, "no setup");
    const sti_sim_options o = {.run = &setup.run,
                               .costs = &costs,
                               .loses = lose_one,
                               .arg = &l};
    sti_sim *sim = NULL;
    expect(!sti_sim_new(&o, &sim), "no simulation");
    err = sti_sim_run(sim);
    sti_sim_free(sim);
    sti_setup_free(&setup, false);
    return err;
}

int main(void)
{
    strads_data *data = empty_rows();
    uint64_t lost = 0;
    while (run(data, lost, false) == STRADS_ESTATE)
        lost++;
    expect(lost > 50, "a run without most of its messages went on");
    expect(run(data, UINT64_MAX, false) == STRADS_OK, "the whole run failed");
    for (uint64_t seed = 0; seed < 20; seed++)
        expect(run(data, UINT64_MAX - seed, true) == STRADS_EPROGRAM,
               "a failing update was not told");
    strads_data_free(data);
    return 0;
}
