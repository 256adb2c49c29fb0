/* Links that break while a run goes on, over tcp: the run ends as if they had
 * not, or says so after a while. Each node but the first joins through a relay
 * of its own. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/net/mesh_state.h"
#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/nodes_forger.h"
#include "tests/nodes_team.h"
#include "tests/nodes_toy.h"
#include "tests/relay.h"
#include "tests/toy_data.h"

/* The relays of a run, made as soon as it is known where node 0 listens. */
typedef struct roads {
    team *team;
    relay *way[TEAM_MAX];
    uint64_t seed, mean; /* of the cuts */
    unsigned times;
    bool flips; /* bits instead */
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

/* When all have joined. */
static void begin_to_cut(roads *r)
{
    for (uint32_t k = 1; !r->reported && k < r->team->nodes; k++) {
        if (r->flips)
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

static strads_result *run_broken(team *t, roads *r)
{
    team_end end[TEAM_MAX];
    strads_result *result;
    r->team = t;
    t->listening = build_roads;
    t->arg = r;
    t->options.progress = cut_from_here;
    t->options.progress_arg = r;
    team_run(t, &result, end);
    unsigned cuts = close_roads(r);
    for (uint32_t k = 0; k < t->nodes; k++)
        cr_assert_eq(end[k].err, STRADS_OK, "node %u: %s", k, end[k].text);
    cr_assert_not_null(result);
    cr_expect_geq(cuts, t->nodes - 1, "%u cuts", cuts);
    return result;
}

/* A program that reports nothing has its links cut when its first partition is
 * opened. */
static roads *roads_of_opening;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static strads_err open_and_cut(const strads_task *task, void **local)
{
    pthread_mutex_lock(&opening);
    begin_to_cut(roads_of_opening);
    pthread_mutex_unlock(&opening);
    return nodes_toy.open ? nodes_toy.open(task, local) : STRADS_OK;
}

/* ---- nothing is lost, nothing comes twice ------------------------------ */

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
    uint64_t n;
    uint32_t width;
    tally = (tally_plan){.clocks = 200,
                         .staleness = staleness,
                         .reports = 2,
                         .snapshots = 5,
                         .flushes = 3};
    strads_result *result = run_broken(&t, &r);
    const double *values = strads_result_values(result, &n, &width);
    for (uint64_t k = 0; k < n * width; k++)
        cr_assert_eq(values[k], 200, "cell %llu is %g", (unsigned long long)k,
                     values[k]);
    cr_expect_eq(atomic_load(&tally.wrong), 0);
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

Test(nodes_mend, a_loop_counts_exactly_over_links_that_damage_what_they_carry)
{
    for (uint64_t mean = 1000; mean < 100000; mean *= 4)
        count(2, mean, true);
}

/* Each new link has keys of its own. */
Test(nodes_mend, a_loop_with_a_token_counts_exactly_over_links_that_break)
{
    cr_assert_eq(setenv("STRADS_TOKEN", "a token of this very test", 1), 0);
    count(0, 1000, false);
    count(2, 3000, true);
    cr_assert_eq(unsetenv("STRADS_TOKEN"), 0);
}

/* No link brings a frame any more, though each is dialled again at once. */
static void damage_all(void *arg, const strads_progress *progress)
{
    roads *r = arg;
    (void)progress;
    relay_flip_often(r->way[1], 1, 20, UINT32_MAX);
    relay_cut(r->way[1]);
}

Test(nodes_mend, a_link_that_damages_every_frame_ends_the_run_after_its_time)
{
    team t = {.program = &nodes_toy_endless,
              .nodes = 2,
              .options = {.reconnect = 0.3}};
    roads r = {.team = &t};
    team_end end[TEAM_MAX];
    strads_result *result;
    t.listening = build_roads;
    t.arg = &r;
    t.options.progress = damage_all;
    t.options.progress_arg = &r;
    team_run(&t, &result, end);
    cr_expect_null(result);
    for (int k = 0; k < 2; k++)
        cr_expect_eq(end[k].err, STRADS_EPEER, "%s", end[k].text);
    (void)close_roads(&r);
}

Test(nodes_mend, rounds_give_the_same_bits_over_links_that_are_cut)
{
    strads_program program = nodes_toy;
    team t = {.program = &program,
              .nodes = 3,
              .workers = {2, 1, 1},
              .options = {.seed = 5, .partitions = 5, .depth = 1}};
    team_end end[TEAM_MAX];
    strads_result *whole;
    team_run(&t, &whole, end);
    cr_assert_not_null(whole, "%s", end[0].text);
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

enum { WIDE_ROWS = 32, WIDE_COLS = 1024, WIDE_CLOCKS = 30 };

static atomic_uint wide_wrong;
static bool wide_batches; /* its increments */

TOY_SHAPE(wide_shape, shape->parameters = WIDE_ROWS, shape->width = WIDE_COLS)

/* Each partition adds 1 to every cell in each clock: at clock c all have added
 * c, and the others may have added one more. */
static void check_wide(const double *values, uint64_t c, uint32_t partitions)
{
    for (uint32_t k = 0; k < WIDE_ROWS * WIDE_COLS; k++)
        if (values[k] < (double)(partitions * c) ||
            values[k] > (double)(partitions * c + partitions - 1))
            atomic_fetch_add(&wide_wrong, 1);
}

/* Several pieces are on their way at once; what was added is written over. */
static strads_err add_wide(strads_session *session, const uint32_t *rows,
                           double *ones)
{
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < WIDE_ROWS * WIDE_COLS; k++)
        ones[k] = 1;
    if (wide_batches)
        err = strads_session_inc_rows(session, 0, WIDE_ROWS, rows, ones);
    for (uint32_t k = 0; !wide_batches && !err && k < WIDE_ROWS; k++)
        err = strads_session_inc_row(session, 0, k, ones);
    memset(ones, 0x5A, WIDE_ROWS * WIDE_COLS * sizeof *ones);
    return err ? err : strads_session_clock(session);
}

static strads_err wide_run(strads_task *task, strads_session *session)
{
    double *values = calloc(WIDE_ROWS * WIDE_COLS, sizeof *values);
    double *ones = calloc(WIDE_ROWS * WIDE_COLS, sizeof *ones);
    uint32_t rows[WIDE_ROWS];
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < WIDE_ROWS; k++)
        rows[k] = k;
    pthread_mutex_lock(&opening);
    begin_to_cut(roads_of_opening);
    pthread_mutex_unlock(&opening);
    for (uint64_t c = 0; values && ones && !err && c < WIDE_CLOCKS; c++) {
        err = strads_session_read_rows(session, 0, WIDE_ROWS, rows, 0, values);
        if (!err)
            check_wide(values, c, task->shape->partitions);
        if (!err)
            err = add_wide(session, rows, ones);
    }
    free(values);
    free(ones);
    return err;
}

static void run_wide(bool batches)
{
    const strads_program wide = {.size = sizeof wide,
                                 .name = "wide",
                                 .shape = wide_shape,
                                 .run = wide_run};
    team t = {.program = &wide, .nodes = 3, .options = {.shards = 1}};
    roads r = {.team = &t, .seed = 4, .mean = 300000, .times = 20};
    team_end end[TEAM_MAX];
    strads_result *result;
    uint64_t n;
    uint32_t width;
    t.listening = build_roads;
    t.arg = &r;
    roads_of_opening = &r;
    wide_batches = batches;
    team_run(&t, &result, end);
    const unsigned cuts = close_roads(&r);
    for (uint32_t k = 0; k < t.nodes; k++)
        cr_assert_eq(end[k].err, STRADS_OK, "node %u: %s", k, end[k].text);
    cr_assert_not_null(result);
    cr_expect_geq(cuts, 10, "%u cuts", cuts);
    cr_expect_eq(atomic_load(&wide_wrong), 0);
    const double *values = strads_result_values(result, &n, &width);
    for (uint64_t k = 0; k < n * width; k++)
        cr_assert_eq(values[k], 3 * WIDE_CLOCKS, "cell %llu is %g",
                     (unsigned long long)k, values[k]);
    strads_result_free(result);
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

/* No connection ends; each side finds out by itself that nothing comes, and the
 * other one is dialled. */
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

Test(nodes_mend, a_link_on_which_nothing_comes_is_made_anew)
{
    team t = {.program = &tally_program, .nodes = 2};
    silence s = {.roads.team = &t};
    team_end end[TEAM_MAX];
    strads_result *result;
    t.listening = build_for_silence;
    t.arg = &s;
    t.options.progress = fall_silent;
    t.options.progress_arg = &s;
    tally = (tally_plan){.clocks = 300, .reports = 1};
    team_run(&t, &result, end);
    for (int k = 0; k < 2; k++)
        cr_expect_eq(end[k].err, STRADS_OK, "%s", end[k].text);
    cr_assert(s.begun);
    pthread_join(s.thread, NULL);
    (void)close_roads(&s.roads);
    cr_assert_not_null(result);
    cr_expect_eq(strads_result_values(result, &(uint64_t){0},
                                      &(uint32_t){0})[0],
                 300);
    strads_result_free(result);
}

/* ---- one that stays away ----------------------------------------------- */

static void hold_and_cut(void *arg, const strads_progress *progress)
{
    roads *r = arg;
    (void)progress;
    relay_hold(r->way[1], true);
    relay_cut(r->way[1]);
}

/* Whichever gives up first leaves: node 0, which looks whether anybody listens
 * at node 1, may see that before its own time is over. */
Test(nodes_mend, a_link_that_stays_broken_ends_the_run_after_its_time)
{
    team t = {.program = &nodes_toy_endless,
              .nodes = 2,
              .options = {.reconnect = 0.3}};
    roads r = {.team = &t};
    team_end end[TEAM_MAX];
    strads_result *result;
    t.listening = build_roads;
    t.arg = &r;
    t.options.progress = hold_and_cut;
    t.options.progress_arg = &r;
    team_run(&t, &result, end);
    cr_expect_null(result);
    for (int k = 0; k < 2; k++)
        cr_expect_eq(end[k].err, STRADS_EPEER, "%s", end[k].text);
    cr_expect_not_null(strstr(end[0].text, "node 1 at"), "%s", end[0].text);
    cr_expect_not_null(strstr(end[1].text, "did not come back for 0.3 s"), "%s",
                       end[1].text);
    (void)close_roads(&r);
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
                 "did not come back for 0.3 s");
    pthread_join(thread, NULL);
    forger_close(&f);
    strads_engine_free(engine);
}
