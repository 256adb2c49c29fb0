/* Two threads, two partitions each. The first thread's first partition waits
 * until the second partition has run, and only the other thread can run it. So
 * the run ends only if a thread takes over jobs of another. Its values must
 * equal those of a run without such a wait. Also for a race detector. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "tests/toy_data.h"

enum { PARTITIONS = 4, COLS = 16, ROUNDS = 40, WAITS_FROM = 20 };
enum { PATIENCE_S = 60 };

/* The last round of the second partition. */
typedef struct meeting {
    bool waits;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t second; /* lock */
} meeting;

static meeting all = {.lock = PTHREAD_MUTEX_INITIALIZER,
                      .moved = PTHREAD_COND_INITIALIZER};

/* Long enough to be worth moving to another thread. */
static void compute(void)
{
    const struct timespec while_at_it = {.tv_nsec = 200 * 1000};
    (void)nanosleep(&while_at_it, NULL);
}

static strads_err wait_for_second(uint64_t round)
{
    struct timespec until;
    int late = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&all.lock);
    while (all.second < round && late != ETIMEDOUT)
        late = pthread_cond_timedwait(&all.moved, &all.lock, &until);
    pthread_mutex_unlock(&all.lock);
    return late ? strads_fail(STRADS_EPROGRAM, "no other thread took the job")
                : STRADS_OK;
}

static void note_second(uint64_t round)
{
    pthread_mutex_lock(&all.lock);
    all.second = round;
    pthread_cond_broadcast(&all.moved);
    pthread_mutex_unlock(&all.lock);
}

static strads_err meet(const strads_task *task)
{
    compute();
    if (task->share->partition == 1)
        note_second(task->round);
    return all.waits && task->share->partition == 0 && task->round >= WAITS_FROM
               ? wait_for_second(task->round)
               : STRADS_OK;
}

/* ---- rounds to all ----------------------------------------------------- */

static strads_err sum_update(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = task->share->partition + 1 + task->value[k];
    return meet(task);
}

static strads_err sum_aggregate(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = commit->partial[k] / 64;
    return STRADS_OK;
}

static const strads_program sums = {.size = sizeof(strads_program),
                                    .name = "sums",
                                    .update = sum_update,
                                    .aggregate = sum_aggregate};

/* ---- the runs ---------------------------------------------------------- */

static strads_result *train(const strads_program *program, uint32_t workers,
                            bool waits)
{
    strads_result *result = NULL;
    all.waits = waits;
    all.second = 0;
    if (toy_run_it(&(toy_run){.program = program,
                              .cols = COLS,
                              .options = {.workers = workers,
                                          .partitions = PARTITIONS,
                                          .policy = "cyclic",
                                          .deterministic = true,
                                          .max_rounds = ROUNDS}},
                   &result))
        fprintf(stderr, "%s, %u workers: %s\n", program->name, workers,
                strads_error_text());
    return result;
}

static bool equal(const strads_result *a, const strads_result *b)
{
    uint64_t n, m;
    uint32_t width;
    const double *x = strads_result_values(a, &n, &width);
    const double *y = strads_result_values(b, &m, &width);
    bool same = n == m && n == COLS;
    for (uint64_t j = 0; j < n && same; j++)
        same = x[j] == y[j] && x[j] > 0;
    return same;
}

static bool shares_jobs(const strads_program *program)
{
    strads_result *alone = train(program, 1, false);
    strads_result *both = train(program, 2, true);
    bool right = alone && both && equal(alone, both);
    if (!right)
        fprintf(stderr, "%s: wrong\n", program->name);
    strads_result_free(alone);
    strads_result_free(both);
    return right;
}

int main(void)
{
    return shares_jobs(&sums) ? 0 : 1;
}
