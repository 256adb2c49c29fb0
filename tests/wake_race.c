/* Whether a thread is woken for a worker's jobs, by how long they are: rounds
 * of jobs that sleep come to be carried out by threads of their own, rounds of
 * jobs that do next to nothing by the first thread, whatever there was before.
 * And whoever does it, the values are those of one thread, bit by bit. For a
 * race detector, too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/toy_data.h"

enum { PARTITIONS = 4, COLS = 16, ROUNDS = 200 };
enum { IN_A_ROW = 20, PATIENCE = 100000 };
enum { SHORT = 0, LONG = 1 };

/* What partitions write is read between rounds, one at a time. */
typedef struct watch {
    bool looks; /* the stages below; otherwise ROUNDS of both kinds */
    int stage;  /* LONG until threads are woken, SHORT until none is, LONG */
    int in_a_row;
    bool gave_up;
    pthread_t who[PARTITIONS];
} watch;

static void pause_us(long us)
{
    const struct timespec time = {.tv_nsec = us * 1000};
    (void)nanosleep(&time, NULL);
}

/* ---- the program ------------------------------------------------------- */

static strads_err update(strads_task *task)
{
    watch *seen = *(watch *const *)task->config;
    if (seen->looks)
        seen->who[task->share->partition] = pthread_self();
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] = 1.0 / (3 + task->share->partition + task->value[k]);
    return STRADS_OK;
}

static strads_err update_long(strads_task *task)
{
    pause_us(1000);
    return update(task);
}

static strads_err aggregate(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = commit->partial[k] / 7;
    return STRADS_OK;
}

static bool one_did_all(const watch *seen)
{
    for (int k = 1; k < PARTITIONS; k++)
        if (!pthread_equal(seen->who[k], seen->who[0]))
            return false;
    return true;
}

/* Whether the stage has been there long enough. */
static bool look(watch *seen, uint64_t round)
{
    const bool as_wanted = one_did_all(seen) == (seen->stage == 1);
    seen->in_a_row = round > 1 && as_wanted ? seen->in_a_row + 1 : 0;
    seen->gave_up = round > PATIENCE;
    if (seen->in_a_row == (seen->stage == 1 ? IN_A_ROW : 1)) {
        seen->stage++;
        seen->in_a_row = -1; /* the round under way was of the old stage */
    }
    return seen->stage > 2 || seen->gave_up;
}

static strads_err schedule(strads_turn *turn)
{
    watch *seen = *(watch *const *)turn->config;
    const strads_block all = {.id = 0, .n = COLS, .first = 0};
    uint32_t phase = turn->round % 50 < 25 ? SHORT : LONG;
    if (seen->looks ? look(seen, turn->round) : turn->round > ROUNDS)
        return strads_turn_stop(turn);
    if (seen->looks) {
        phase = seen->stage == 1 ? SHORT : LONG;
        pause_us(200); /* who has nothing to do meanwhile sleeps */
    }
    return strads_turn_dispatch(turn, phase, 1, &all);
}

static const strads_phase phases[] = {
    [SHORT] = {.name = "short",
               .when = STRADS_WHEN_CALLED,
               .update = update,
               .aggregate = aggregate},
    [LONG] = {.name = "long",
              .when = STRADS_WHEN_CALLED,
              .update = update_long,
              .aggregate = aggregate},
};

static const strads_program program = {.size = sizeof(strads_program),
                                       .name = "wakes",
                                       .schedule = schedule,
                                       .phases = phases,
                                       .n_phases = 2};

static strads_result *train(watch *seen, uint32_t workers, uint32_t depth)
{
    const watch *const config = seen;
    strads_result *result = NULL;
    if (toy_run_it(&(toy_run){.program = &program,
                              .config = &config,
                              .cols = COLS,
                              .options = {.workers = workers,
                                          .partitions = PARTITIONS,
                                          .depth = depth,
                                          .deterministic = true,
                                          .max_rounds = 2 * PATIENCE}},
                   &result))
        fprintf(stderr, "%u workers: %s\n", workers, strads_error_text());
    return result;
}

/* ---- what is to hold --------------------------------------------------- */

static bool wakes_by_length(uint32_t workers)
{
    watch seen = {.looks = true};
    strads_result *result = train(&seen, workers, 0);
    const bool right = result && !seen.gave_up && seen.stage == 3;
    if (!right)
        fprintf(stderr, "%u workers: stage %d is never seen\n", workers,
                seen.stage);
    strads_result_free(result);
    return right;
}

static bool same_bits(const strads_result *a, const strads_result *b)
{
    uint64_t n = 0, m = 1;
    uint32_t width;
    const double *x = a ? strads_result_values(a, &n, &width) : NULL;
    const double *y = b ? strads_result_values(b, &m, &width) : NULL;
    return n == COLS && n == m && x[0] > 0 && memcmp(x, y, sizeof *x * n) == 0;
}

static bool bits_are_one_threads(uint32_t workers)
{
    const uint32_t depth = workers > 2;
    watch seen = {.looks = false};
    strads_result *one = train(&seen, 1, depth);
    strads_result *several = train(&seen, workers, depth);
    const bool right = same_bits(one, several);
    if (!right)
        fprintf(stderr, "%u workers: other bits than one\n", workers);
    strads_result_free(one);
    strads_result_free(several);
    return right;
}

int main(void)
{
    bool right = true;
    (void)unsetenv("STRADS_WAKE");
    right = wakes_by_length(2) && wakes_by_length(4) && right;
    right = bits_are_one_threads(2) && bits_are_one_threads(4) && right;
    (void)setenv("STRADS_WAKE", "always", 1);
    return bits_are_one_threads(2) && bits_are_one_threads(4) && right ? 0 : 1;
}
