/* Links are cut repeatedly during runs of loops and of rounds, for a race
 * detector. Exits with 1 if a run fails or a sum is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/loop_tally.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/relay.h"

static int wrong;

typedef struct roads {
    team *team;
    relay *way[TEAM_MAX];
    bool cuts;
} roads;

static roads *here;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static void build_roads(void *arg, const char *url)
{
    roads *r = arg;
    for (uint32_t k = 1; k < r->team->nodes; k++) {
        r->way[k] = relay_open(url);
        if (!r->way[k])
            abort();
        r->team->urls[k] = relay_url(r->way[k]);
    }
}

static void begin_to_cut(roads *r)
{
    for (uint32_t k = 1; !r->cuts && k < r->team->nodes; k++) {
        relay_cut_often(r->way[k], k, 2000, 10);
        relay_cut(r->way[k]);
        relay_wait_cuts(r->way[k], 1);
    }
    r->cuts = true;
}

/* At this point all nodes are ready. */
static void cut_now(void)
{
    pthread_mutex_lock(&opening);
    begin_to_cut(here);
    pthread_mutex_unlock(&opening);
}

static strads_err open_tally(const strads_task *task, void **local)
{
    (void)task, (void)local;
    cut_now();
    return STRADS_OK;
}

static strads_err open_toy(const strads_task *task, void **local)
{
    cut_now();
    return nodes_toy.open ? nodes_toy.open(task, local) : STRADS_OK;
}

static void run(team *t)
{
    roads r = {.team = t};
    team_end end[TEAM_MAX];
    strads_result *result;
    t->listening = build_roads;
    t->arg = &r;
    here = &r;
    team_run(t, &result, end);
    for (uint32_t k = 0; k < t->nodes; k++)
        if (end[k].err) {
            wrong = 1;
            fprintf(stderr, "node %u: %s\n", k, end[k].text);
        }
    if (!result || atomic_load(&tally.wrong)) {
        wrong = 1;
        fprintf(stderr, "no result, or reads against the rule\n");
    }
    strads_result_free(result);
    for (uint32_t k = 1; k < t->nodes; k++)
        relay_close(r.way[k]);
}

int main(void)
{
    strads_program tallies = tally_program, toy = nodes_toy;
    tallies.open = open_tally;
    toy.open = open_toy;
    team loops = {.program = &tallies,
                  .nodes = 3,
                  .workers = {2, 1, 2},
                  .options = {.shards = 3}};
    team rounds = {.program = &toy,
                   .nodes = 3,
                   .workers = {1, 1, 2},
                   .options = {.partitions = 5, .depth = 2}};
    for (uint32_t staleness = 0; staleness < 2; staleness++) {
        tally = (tally_plan){.clocks = 60,
                             .staleness = staleness,
                             .reports = 5,
                             .flushes = 2};
        run(&loops);
    }
    run(&rounds);
    return wrong;
}
