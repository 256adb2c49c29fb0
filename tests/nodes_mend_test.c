/* Links break during a run over tcp. They are restored and the result is
 * unchanged, or the run reports the loss after the time limit. Each node except
 * the first joins through its own relay. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/mesh_state.h"
#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/loop_wide.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/relay.h"
#include "tests/toy_data.h"

/* The relays of a run, opened when node 0's URL is known. */
typedef struct roads {
    team *team;
    relay *way[TEAM_MAX];
    uint64_t seed, mean; /* of the cuts */
    unsigned times;
    bool flips; /* flip bits instead */
    bool drops; /* drop bytes instead */
    bool loses; /* lose frames instead */
    bool reported;
} roads;

static void build_roads(void *arg, const char *url)
{
    roads *r = arg;
    for (uint32_t k = 1; k < r->team->nodes; k++) {
        r->way[k] = relay_open(url);
        cr_assert_not_null(r->way[k]);
        r->team->urls[k] = relay_url(r->way[k]);
    }
}

/* Starts to break links, after all nodes have joined. */
static void begin_to_cut(roads *r)
{
    for (uint32_t k = 1; !r->reported && k < r->team->nodes; k++) {
        if (r->loses)
            relay_lose_often(r->way[k], r->seed + k, r->mean, r->times);
        else if (r->drops)
            relay_drop_often(r->way[k], r->seed + k, r->mean, r->times);
        else if (r->flips)
            relay_flip_often(r->way[k], r->seed + k, r->mean, r->times);
        else
            relay_cut_often(r->way[k], r->seed + k, r->mean, r->times);
        relay_cut(r->way[k]);
        relay_wait_cuts(r->way[k], 1);
    }
    r->reported = true;
}

static void cut_from_here(void *arg, const strads_progress *progress)
{
    (void)progress;
    begin_to_cut(arg);
}

static unsigned close_roads(roads *r)
{
    unsigned cuts = 0;
    for (uint32_t k = 1; k < r->team->nodes; k++) {
        cuts += relay_cuts(r->way[k]);
        relay_close(r->way[k]);
    }
    return cuts;
}

/* Runs a team; each node except the first uses a relay. */
static strads_result *run_over_roads(team *t, roads *r, team_end *end)
{
    strads_result *result;
    r->team = t;
    t->listening = build_roads;
    t->arg = r;
    team_run(t, &result, end);
    return result;
}

/* Runs a team, which must succeed although links are cut at least so many
 * times. */
static strads_result *run_cut(team *t, roads *r, uint32_t least)
{
    team_end end[TEAM_MAX];
    strads_result *result = run_over_roads(t, r, end);
    unsigned cuts = close_roads(r);
    for (uint32_t k = 0; k < t->nodes; k++)
        cr_assert_eq(end[k].err, STRADS_OK, "node %u: %s", k, end[k].text);
    cr_assert_not_null(result);
    cr_expect_geq(cuts, least, "%u cuts", cuts);
    return result;
}

static strads_result *run_broken(team *t, roads *r)
{
    t->options.progress = cut_from_here;
    t->options.progress_arg = r;
    return run_cut(t, r, t->nodes - 1);
}

/* If a program makes no reports, its links are cut when its first partition
 * opens. */
static roads *roads_of_opening;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static strads_err cut_when_opened(const strads_task *task, void **local)
{
    (void)task, (void)local;
    pthread_mutex_lock(&opening);
    begin_to_cut(roads_of_opening);
    pthread_mutex_unlock(&opening);
    return STRADS_OK;
}

static strads_err open_and_cut(const strads_task *task, void **local)
{
    const strads_err err = cut_when_opened(task, local);
    return err ? err : nodes_toy.open(task, local);
}

/* ---- no frame is lost or repeated -------------------------------------- */

static void expect_exact_counts(const strads_result *result)
{
    uint64_t n;
    uint32_t width;
    const double *values = strads_result_values(result, &n, &width);
    for (uint64_t k = 0; k < n * width; k++)
        cr_assert_eq(values[k], 200, "cell %llu is %g", (unsigned long long)k,
                     values[k]);
    cr_expect_eq(atomic_load(&tally.wrong), 0);
}

static void count(uint32_t staleness, uint64_t mean, bool flips)
{
    team t = {.program = &tally_program,
              .nodes = 3,
              .workers = {2, 1, 2},
              .options = {.shards = 3}};
    roads r = {.seed = staleness + mean,
               .mean = mean,
               .times = 20,
               .flips = flips};
    tally = (tally_plan){.clocks = 200,
                         .staleness = staleness,
                         .reports = 2,
                         .snapshots = 5,
                         .flushes = 3};
    strads_result *result = run_broken(&t, &r);
    expect_exact_counts(result);
    cr_expect_eq(atomic_load(&tally.partitions_met), 5);
    strads_result_free(result);
}

Test(nodes_mend, a_loop_counts_exactly_over_links_that_are_cut_again_and_again)
{
    static const uint32_t staleness[] = {0, 2, STRADS_STALENESS_INFINITE};
    for (int s = 0; s < 3; s++) {
        count(staleness[s], 1000, false);
        count(staleness[s], 10000, false);
    }
    count(1, 3000, false);
}

Test(nodes_mend, a_loop_counts_exactly_over_links_that_damage_frames)
{
    for (uint64_t mean = 1000; mean < 100000; mean *= 4)
        count(2, mean, true);
}

/* The link must break although PINGs slowly fill the gap in the frame. */
Test(nodes_mend, a_loop_counts_exactly_over_links_that_lose_bytes)
{
    team t = {.program = &tally_program,
              .nodes = 2,
              .workers = {1, 1},
              .options = {.shards = 2}};
    roads r = {.seed = 3, .mean = 1000, .times = 2, .drops = true};
    tally = (tally_plan){.clocks = 200, .staleness = 1, .reports = 2};
    strads_result *result = run_broken(&t, &r);
    expect_exact_counts(result);
    strads_result_free(result);
}

/* Whole frames are lost: frames followed by others, and last ones, followed by
 * a PING. */
Test(nodes_mend, a_loop_counts_exactly_over_links_that_lose_frames)
{
    for (uint64_t mean = 300; mean < 30000; mean *= 10) {
        team t = {.program = &tally_program,
                  .nodes = 3,
                  .workers = {1, 1, 1},
                  .options = {.shards = 2}};
        roads r = {.seed = mean, .mean = mean, .times = 8, .loses = true};
        uint64_t n;
        uint32_t width;
        tally = (tally_plan){.clocks = 200, .staleness = 1, .reports = 2};
        t.options.progress = cut_from_here;
        t.options.progress_arg = &r;
        strads_result *result = run_cut(&t, &r, 6);
        const double *values = strads_result_values(result, &n, &width);
        for (uint64_t k = 0; k < n * width; k++)
            cr_assert_eq(values[k], 200, "cell %llu is %g",
                         (unsigned long long)k, values[k]);
        cr_expect_eq(atomic_load(&tally.wrong), 0);
        strads_result_free(result);
    }
}

/* Each new link is a new TLS connection. */
Test(nodes_mend, a_loop_with_a_token_counts_exactly_over_links_that_break)
{
    cr_assert_eq(setenv("STRADS_TOKEN", "a token of this very test", 1), 0);
    count(0, 1000, false);
    count(2, 3000, true);
    cr_assert_eq(unsetenv("STRADS_TOKEN"), 0);
}

/* From now on no frame arrives intact, although the link is dialled again at
 * once. */
static void damage_all(void *arg, const strads_progress *progress)
{
    roads *r = arg;
    (void)progress;
    relay_flip_often(r->way[1], 1, 20, UINT32_MAX);
    relay_cut(r->way[1]);
}

/* Runs two nodes; a report breaks their link for good. */
static void end_all(void (*breaks)(void *arg, const strads_progress *progress),
                    team_end end[TEAM_MAX])
{
    roads r = {0};
    team t = {.program = &nodes_toy_endless,
              .nodes = 2,
              .options = {.reconnect = 0.3,
                          .progress = breaks,
                          .progress_arg = &r}};
    cr_expect_null(run_over_roads(&t, &r, end));
    for (int k = 0; k < 2; k++)
        cr_expect_eq(end[k].err, STRADS_EPEER, "%s", end[k].text);
    (void)close_roads(&r);
}

Test(nodes_mend, a_link_that_damages_every_frame_ends_the_run_after_its_time)
{
    team_end end[TEAM_MAX];
    end_all(damage_all, end);
}

Test(nodes_mend, rounds_give_the_same_bits_over_links_that_are_cut)
{
    strads_program program = nodes_toy;
    team t = {.program = &program,
              .nodes = 3,
              .workers = {2, 1, 1},
              .options = {.seed = 5, .partitions = 5, .depth = 1}};
    strads_result *whole = expect_team(&t);
    program.open = open_and_cut;
    for (uint64_t mean = 300; mean < 10000; mean *= 2) {
        roads r = {.seed = mean,
                   .mean = mean,
                   .times = 3,
                   .flips = mean % 1200 == 0};
        roads_of_opening = &r;
        strads_result *broken = run_broken(&t, &r);
        cr_expect(toy_same_values(whole, broken), "other bits");
        strads_result_free(broken);
    }
    strads_result_free(whole);
}

/* ---- wide rows ---------------------------------------------------------- */

/* Several pieces are in flight at once. */
static void run_wide(bool batches)
{
    strads_program program = wide_program;
    team t = {.program = &program, .nodes = 3, .options = {.shards = 1}};
    roads r = {.seed = 4, .mean = 300000, .times = 20};
    program.open = cut_when_opened;
    roads_of_opening = &r;
    wide = (wide_plan){.clocks = 20, .batches = batches};
    strads_result_free(run_cut(&t, &r, 10));
    cr_expect_eq(atomic_load(&wide.wrong), 0);
    cr_expect_eq(atomic_load(&wide.done), 3);
}

Test(nodes_mend, wide_rows_are_read_and_added_once_over_links_that_are_cut)
{
    run_wide(false);
}

Test(nodes_mend, and_so_they_are_in_batches)
{
    run_wide(true);
}

/* ---- silence ----------------------------------------------------------- */

typedef struct silence {
    roads roads;
    pthread_t thread;
    bool begun;
} silence;

/* The connection does not end. Each side detects the silence, and the dialling
 * side dials again. */
static void *hold_until_dialled(void *arg)
{
    silence *s = arg;
    relay_wait_come(s->roads.way[1], 2);
    relay_hold(s->roads.way[1], false);
    return NULL;
}

static void fall_silent(void *arg, const strads_progress *progress)
{
    silence *s = arg;
    (void)progress;
    if (s->begun)
        return;
    s->begun = true;
    relay_hold(s->roads.way[1], true);
    cr_assert_eq(pthread_create(&s->thread, NULL, hold_until_dialled, s), 0);
}

static void build_for_silence(void *arg, const char *url)
{
    silence *s = arg;
    build_roads(&s->roads, url);
}

Test(nodes_mend, a_silent_link_is_dialled_again)
{
    team t = {.program = &tally_program, .nodes = 2};
    silence s = {.roads.team = &t};
    t.listening = build_for_silence;
    t.arg = &s;
    t.options.progress = fall_silent;
    t.options.progress_arg = &s;
    tally = (tally_plan){.clocks = 300, .reports = 1};
    strads_result *result = expect_team(&t);
    cr_assert(s.begun);
    pthread_join(s.thread, NULL);
    (void)close_roads(&s.roads);
    cr_assert_not_null(result);
    cr_expect_eq(strads_result_values(result, &(uint64_t){0},
                                      &(uint32_t){0})[0],
                 300);
    strads_result_free(result);
}

/* ---- a node that does not return --------------------------------------- */

static void hold_and_cut(void *arg, const strads_progress *progress)
{
    roads *r = arg;
    (void)progress;
    relay_hold(r->way[1], true);
    relay_cut(r->way[1]);
}

/* The node that gives up first closes its port. Node 0 probes the port of node
 * 1, so it may notice that before its own limit. */
Test(nodes_mend, a_link_that_stays_broken_ends_the_run_after_its_time)
{
    team_end end[TEAM_MAX];
    end_all(hold_and_cut, end);
    expect_text(end[0].text, "node 1 at");
    expect_text(end[1].text, "did not reconnect within 0.3 s");
}

static void *join_and_break(void *arg)
{
    forger *f = arg;
    forger_wait_welcome(f);
    forger_say_ready(f, &nodes_toy_endless, 2);
    forger_wait_dispatch(f);
    forger_break(f);
    return NULL;
}

Test(nodes_mend, a_node_that_listens_but_never_dials_is_waited_for_that_long)
{
    const team t = {.program = &nodes_toy_endless,
                    .nodes = 2,
                    .options = {.reconnect = 0.3}};
    strads_engine *engine;
    pthread_t thread;
    forger f;
    cr_assert_eq(team_listen(&t, &engine), STRADS_OK);
    cr_assert(forger_open(&f, strads_engine_url(engine)));
    const sti_hello hello = forger_hello(&f);
    forger_say(&f, STI_KIND_HELLO, STI_NODE_NONE, &hello);
    cr_assert_eq(pthread_create(&thread, NULL, join_and_break, &f), 0);
    expect_error(team_work(&t, 0, engine, NULL), STRADS_EPEER,
                 "did not reconnect within 0.3 s");
    pthread_join(thread, NULL);
    forger_close(&f);
    strads_engine_free(engine);
}
