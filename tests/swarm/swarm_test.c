/* Seeds of the swarm pass, different seeds give different runs, and the checker
 * detects false reports. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/swarm/store_checker.h"
#include "tests/swarm/swarm_run.h"

enum { SEEDS = 200, LYING_SEEDS = 60 };

Test(swarm, many_seeds_meet_everything_that_can_go_wrong)
{
    swarm_result sum = {0}, r;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        swarm_seed(seed, NULL, 0, &r);
        cr_assert_str_eq(r.breach, "", "seed %d: %s", (int)seed, r.breach);
        sum.reads += r.reads;
        sum.snapshots += r.snapshots;
        sum.incs += r.incs;
        sum.adaptive += r.adaptive;
        sum.held += r.held;
        sum.batched += r.batched;
        sum.early += r.early;
        sum.outcome.lost += r.outcome.lost;
        sum.outcome.doubled += r.outcome.doubled;
        sum.outcome.damaged += r.outcome.damaged;
        sum.outcome.resent += r.outcome.resent;
        sum.outcome.kept_reads += r.outcome.kept_reads;
    }
    cr_assert_gt(sum.reads, 10 * SEEDS);
    cr_assert_gt(sum.snapshots, SEEDS);
    cr_assert_gt(sum.incs, 10 * SEEDS);
    cr_assert_gt(sum.adaptive, SEEDS / 10);
    cr_assert_gt(sum.held, SEEDS);
    cr_assert_gt(sum.batched, 5 * SEEDS);
    cr_assert_gt(sum.outcome.lost, 2 * SEEDS);
    cr_assert_gt(sum.outcome.doubled, SEEDS / 2);
    cr_assert_gt(sum.outcome.damaged, SEEDS / 10);
    cr_assert_gt(sum.outcome.resent, 10 * SEEDS);
    cr_assert_gt(sum.early, SEEDS / 4);
    cr_assert_gt(sum.outcome.kept_reads, SEEDS / 2);
}

Test(swarm, another_seed_is_another_run)
{
    swarm_result a, b;
    swarm_seed(1, NULL, 0, &a);
    swarm_seed(2, NULL, 0, &b);
    cr_assert_neq(a.outcome.digest, b.outcome.digest);
}

/* A push that is lost after its ACK makes the run hang; the other lies break
 * the guarantee named here. */
Test(swarm, each_lie_is_found)
{
    static const char *const breaks[SWARM_LIES] = {NULL, "came to no end",
                                                   "P1 staleness", "P2 own"};
    for (swarm_lie lie = SWARM_HONEST + 1; lie < SWARM_LIES; lie++) {
        bool found = false;
        for (uint64_t seed = 1; !found && seed <= LYING_SEEDS; seed++) {
            swarm_result r;
            swarm_seed_of_lies(seed, lie, &r);
            found = strstr(r.breach, breaks[lie]) != NULL;
        }
        cr_assert(found, "no seed finds lie %d", (int)lie);
    }
}

/* ---- the checker ------------------------------------------------------- */

enum { WORKERS = 2, CLOCKS = 3, COLS = WORKERS * CLOCKS };

static const strads_table_spec table = {.name = "t",
                                        .type = STRADS_I64,
                                        .rows = 1,
                                        .cols = COLS,
                                        .snapshot_every = 1};

/* Two clients of one worker. Worker 0 adds once in clock 0 and twice in clock
 * 1, then both are at clock 2; worker 1 adds nothing. */
static checker *some_history(void)
{
    checker *c = checker_new(&(checker_setup){.shards = 1,
                                              .clients = WORKERS,
                                              .workers_each = 1,
                                              .tables = &table,
                                              .n_tables = 1,
                                              .clocks = CLOCKS});
    for (uint32_t clock = 0; clock < 2; clock++) {
        uint32_t col;
        double value;
        for (uint32_t k = 0; k <= clock; k++)
            cr_assert(checker_inc(c, 0, 0, 0, &col, &value));
        checker_pushed(c, 0, STI_PUSH_CLOCK, NULL);
        checker_pushed(c, 1, STI_PUSH_CLOCK, NULL);
    }
    return c;
}

/* Lets `reader` see these values in the columns of worker 0's clocks 0 and
 * 1. */
static void expect(uint32_t reader, int64_t first, int64_t second,
                   uint64_t needs, bool exact, const char *breach)
{
    const int64_t values[COLS] = {first, second};
    const uint32_t row = 0;
    checker *c = some_history();
    checker_saw(c, &(checker_read){.worker = reader,
                                   .n = 1,
                                   .rows = &row,
                                   .needs = needs,
                                   .as_of = needs,
                                   .exact = exact,
                                   .values = values});
    cr_assert_eq(strncmp(checker_breach(c), breach, strlen(breach)), 0,
                 "\"%s\" instead of \"%s\"", checker_breach(c), breach);
    cr_assert_eq(checker_breach(c)[0] == '\0', breach[0] == '\0');
    checker_free(c);
}

Test(swarm, the_checker_accepts_promised_results)
{
    expect(1, 1, 1 + 4, 2, false, "");
    expect(1, 1, 1, 1, false, "");
    expect(1, 0, 0, 0, false, "");
    expect(0, 1, 1 + 4, 0, false, "");
    expect(1, 1, 0, 1, true, "");
}

Test(swarm, the_checker_finds_each_broken_promise)
{
    expect(1, 1, 1, 2, false, "P1 staleness");
    expect(1, 0, 0, 1, false, "P1 staleness");
    expect(0, 1, 1, 1, false, "P2 own");
    expect(1, 2, 0, 1, false, "P3 once"); /* the same increment twice */
    expect(1, 1, 4, 1, false, "P3 once"); /* the second one alone */
    /* an increment that was not made */
    expect(1, 1, 1 + 4 + 16, 2, false, "P3 once");
    expect(1, 0, 1, 0, false, "P3 once");       /* clock 1 before clock 0 */
    expect(1, 1, 1, 1, true, "P3 once, exact"); /* after the snapshot */
}

Test(swarm, the_checker_finds_clocks_that_go_back)
{
    checker *c = some_history();
    sti_msg ack = {.kind = STI_MSG_ACK,
                   .from = STI_SHARD_0,
                   .to = STI_CLIENT_0,
                   .round = 5};
    checker_told(c, &ack);
    checker_told(c, &ack);
    cr_assert_str_eq(checker_breach(c), "");
    ack.round = 4;
    checker_told(c, &ack);
    cr_assert_eq(strncmp(checker_breach(c), "P4 clocks", 9), 0);
    checker_free(c);
    c = some_history();
    checker_clock(c, 0, 1);
    cr_assert_eq(strncmp(checker_breach(c), "P4 clocks", 9), 0);
    checker_free(c);
}

Test(swarm, the_checker_finds_rows_that_grow_older)
{
    const int64_t values[COLS] = {1, 1 + 4};
    const uint32_t row = 0;
    checker *c = some_history();
    for (uint64_t as_of = 2; as_of > 0; as_of--) {
        cr_assert_str_eq(checker_breach(c), "");
        checker_saw(c, &(checker_read){.worker = 1,
                                       .n = 1,
                                       .rows = &row,
                                       .as_of = as_of,
                                       .values = values});
    }
    cr_assert_eq(strncmp(checker_breach(c), "P4 clocks", 9), 0);
    checker_free(c);
}

Test(swarm, the_checker_finds_a_barrier_that_lets_go_early)
{
    checker *c = some_history();
    checker_barrier(c, 0);
    cr_assert_str_eq(checker_breach(c), "");
    checker_pushed(c, 0, STI_PUSH_CLOCK, NULL);
    checker_barrier(c, 0);
    cr_assert_eq(strncmp(checker_breach(c), "barrier", 7), 0);
    checker_free(c);
}
