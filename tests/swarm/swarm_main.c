/* The swarm: many seeds of a simulated store, on all cores, in separate
 * processes so that a crash ends only one of them.
 *
 *     swarm N [--seed S]          seeds S .. S + N - 1; S defaults to 1
 *     swarm --seconds T [--seed S]   as many seeds as fit
 *     swarm --seed S              one seed again, with its event log
 *
 * Exit code 1: a guarantee was broken; the last events of the first such seed
 * are shown. 2: wrong usage. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/cores.h"
#include "tests/swarm/swarm_plan.h"
#include "tests/swarm/swarm_run.h"

/* A seed takes milliseconds; after minutes it hangs. */
enum { LAST_EVENTS = 60, PROCESSES = 64, SECONDS_FOR_ONE = 120 };

/* Shared by the processes. */
typedef struct board {
    atomic_uint_fast64_t next;    /* the next seed to take */
    atomic_uint_fast64_t failing; /* the least failing seed, or UINT64_MAX */
    atomic_uint_fast64_t seeds, events, reads, incs, snapshots;
    atomic_uint_fast64_t lost, doubled, damaged, resent, early, kept_reads;
    atomic_uint_fast64_t at[PROCESSES]; /* the current seed of each process */
} board;

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- one seed ---------------------------------------------------------- */

static int replay(uint64_t seed)
{
    swarm_plan plan;
    swarm_result r;
    swarm_plan_draw(seed, &plan);
    swarm_plan_print(&plan, stdout);
    swarm_seed(seed, stdout, 0, &r);
    const sti_sim_store_outcome *o = &r.outcome;
    (void)printf("seed %" PRIu64 ": %" PRIu64 " events, %.3f virtual ms, "
                 "digest %016" PRIx64 "\n",
                 seed, o->events, 1e-6 * (double)o->now, o->digest);
    (void)printf("  %" PRIu64 " reads (%" PRIu64 " exact, %" PRIu64
                 " of what was kept), %" PRIu64 " increments; %" PRIu64
                 " frames: %" PRIu64 " lost, %" PRIu64 " doubled, %" PRIu64
                 " damaged; %" PRIu64 " pushes early, %" PRIu64 " sent again\n",
                 r.reads, r.snapshots, o->kept_reads, r.incs, o->frames,
                 o->lost, o->doubled, o->damaged, r.early, o->resent);
    (void)printf("%s\n", r.breach[0] ? r.breach : "every promise was kept");
    return r.breach[0] ? 1 : 0;
}

/* Replays a seed in its own process, because it may crash again. */
static void show(uint64_t seed)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        swarm_plan plan;
        swarm_result r, again;
        (void)alarm(SECONDS_FOR_ONE);
        swarm_plan_draw(seed, &plan);
        swarm_plan_print(&plan, stdout);
        (void)fflush(stdout);
        swarm_seed(seed, NULL, 0, &r);
        uint64_t n = r.outcome.events;
        (void)printf("the last events:\n");
        swarm_seed(seed, stdout, n > LAST_EVENTS ? n - LAST_EVENTS : 0, &again);
        (void)printf("seed %" PRIu64 " broke a promise: %s\n", seed, r.breach);
        if (again.outcome.digest != r.outcome.digest)
            (void)printf("and it is not repeatable: the second run differs\n");
        (void)fflush(stdout);
        _exit(0);
    }
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status))
        (void)printf("seed %" PRIu64 " crashed, by signal %d\n", seed,
                     WTERMSIG(status));
    (void)printf("again, with all events: ./dev swarm --seed %" PRIu64 "\n",
                 seed);
}

/* ---- many seeds -------------------------------------------------------- */

static void report_failing(board *b, uint64_t seed)
{
    uint64_t least = atomic_load(&b->failing);
    while (seed < least &&
           !atomic_compare_exchange_weak(&b->failing, &least, seed))
        ;
}

static void add_up(board *b, const swarm_result *r)
{
    (void)atomic_fetch_add(&b->seeds, 1);
    (void)atomic_fetch_add(&b->events, r->outcome.events);
    (void)atomic_fetch_add(&b->reads, r->reads);
    (void)atomic_fetch_add(&b->incs, r->incs);
    (void)atomic_fetch_add(&b->snapshots, r->snapshots);
    (void)atomic_fetch_add(&b->lost, r->outcome.lost);
    (void)atomic_fetch_add(&b->doubled, r->outcome.doubled);
    (void)atomic_fetch_add(&b->damaged, r->outcome.damaged);
    (void)atomic_fetch_add(&b->resent, r->outcome.resent);
    (void)atomic_fetch_add(&b->early, r->early);
    (void)atomic_fetch_add(&b->kept_reads, r->outcome.kept_reads);
}

/* The threads of a run take turns, which is cheapest on one core. */
static void stay_on_core(uint32_t process)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all))
        return;
    uint32_t left = process % (uint32_t)CPU_COUNT(&all);
    for (size_t k = 0; k < CPU_SETSIZE; k++)
        if (CPU_ISSET(k, &all) && left-- == 0)
            CPU_SET(k, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
}

/* Runs seeds until the seeds or the time are used up, or one has failed. */
static void take_seeds(board *b, uint32_t process, uint64_t end, double until)
{
    stay_on_core(process);
    while (atomic_load(&b->failing) == UINT64_MAX && seconds() < until) {
        swarm_result r;
        uint64_t seed = atomic_fetch_add(&b->next, 1);
        if (seed >= end)
            break;
        atomic_store(&b->at[process], seed);
        (void)alarm(SECONDS_FOR_ONE);
        swarm_seed(seed, NULL, 0, &r);
        (void)alarm(0);
        atomic_store(&b->at[process], 0);
        add_up(b, &r);
        if (r.breach[0])
            report_failing(b, seed);
    }
}

static void print_board(const board *b, double took)
{
    double seeds = (double)b->seeds;
    (void)printf("%" PRIuFAST64 " seeds in %.1f s: %.0f seeds a minute, %.2f M "
                 "events a second\n",
                 b->seeds, took, 60 * seeds / took,
                 1e-6 * (double)b->events / took);
    (void)printf("  %" PRIuFAST64 " reads (%" PRIuFAST64 " exact, %" PRIuFAST64
                 " of what was kept), %" PRIuFAST64
                 " increments; frames: %" PRIuFAST64 " lost, %" PRIuFAST64
                 " doubled, %" PRIuFAST64 " damaged; %" PRIuFAST64
                 " pushes early, %" PRIuFAST64 " sent again\n",
                 b->reads, b->snapshots, b->kept_reads, b->incs, b->lost,
                 b->doubled, b->damaged, b->early, b->resent);
}

/* Starts the processes. A process that does not exit normally failed at its
 * current seed. */
static void start(board *b, uint32_t n, uint64_t end, double until)
{
    pid_t child[PROCESSES];
    (void)fflush(stdout);
    for (uint32_t k = 0; k < n; k++) {
        child[k] = fork();
        if (child[k] == 0) {
            take_seeds(b, k, end, until);
            _exit(0);
        }
        /* continue with fewer processes, at least this one */
        if (child[k] < 0) {
            n = k;
            if (k == 0)
                take_seeds(b, 0, end, until);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        int status = 0;
        (void)waitpid(child[k], &status, 0);
        if (status && atomic_load(&b->at[k]))
            report_failing(b, atomic_load(&b->at[k]));
    }
}

static int run_many(uint64_t from, uint64_t n, double time_limit)
{
    board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED)
        return 2;
    atomic_store(&b->next, from);
    atomic_store(&b->failing, UINT64_MAX);
    double began = seconds();
    start(b, sti_cores() > PROCESSES ? PROCESSES : sti_cores(),
          from + n < from ? UINT64_MAX : from + n, began + time_limit);
    print_board(b, seconds() - began);
    uint64_t failing = atomic_load(&b->failing);
    if (failing != UINT64_MAX)
        show(failing);
    else
        (void)printf("every promise was kept\n");
    return failing != UINT64_MAX;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: swarm N [--seed S] | swarm --seconds T "
                          "[--seed S] | swarm --seed S\n");
    return 2;
}

static bool number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text ? text : "", &end, 10);
    return text && *text >= '0' && *text <= '9' && !*end;
}

int main(int argc, char **argv)
{
    uint64_t n = 0, seed = 0, limit = 0;
    for (int k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : NULL;
        if (strcmp(argv[k], "--seed") == 0 && number(value, &seed))
            k++;
        else if (strcmp(argv[k], "--seconds") == 0 && number(value, &limit))
            k++;
        else if (!number(argv[k], &n))
            return usage();
    }
    if (n == 0 && limit == 0)
        return seed ? replay(seed) : usage();
    return run_many(seed ? seed : 1, n ? n : UINT64_MAX,
                    limit ? (double)limit : 1e9);
}
