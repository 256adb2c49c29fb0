/* Data-parallel loops in one process: their ends and their reports. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/expect.h"
#include "tests/loop_tally.h"
#include "tests/toy_data.h"

enum { FOREVER = 1000000 };

static const uint32_t STALENESS[] = {0, 1, STRADS_STALENESS_INFINITE};

/* Runs the planned tally on partitions that share one worker. */
static strads_result *run(strads_engine_options options, uint32_t partitions)
{
    options.partitions = partitions;
    options.workers = 1;
    strads_result *result = expect_run(&tally_program, NULL, options);
    cr_expect_eq(atomic_load(&tally.wrong), 0);
    return result;
}

/* Only the clock at which it ends is compared. */
static strads_end end_of(strads_engine_options options, uint32_t partitions)
{
    strads_result *result = run(options, partitions);
    const strads_end end = strads_result_end(result);
    strads_result_free(result);
    return end;
}

static void expect_failure(void)
{
    const toy_run failing = {.program = &tally_program,
                             .options = {.workers = 1, .partitions = 3}};
    strads_result *result = NULL;
    expect_error(toy_run_it(&failing, &result), STRADS_EPROGRAM,
                 "the last partition gave up");
    cr_expect_null(result);
}

Test(loop_end, a_time_limit_ends_a_loop_that_would_go_on)
{
    tally = (tally_plan){.clocks = FOREVER};
    strads_result *result = run((strads_engine_options){.time_limit = 0.3}, 3);
    const strads_progress *last = strads_result_progress(result);
    cr_expect_eq(strads_result_end(result), STRADS_END_TIME);
    cr_expect_geq(last->seconds, 0.3);
    cr_expect_gt(last->round, 0);
    strads_result_free(result);
}

Test(loop_end, a_stop_flag_ends_it_with_the_model_so_far)
{
    for (uint32_t s = 0; s < 3; s++) {
        volatile bool stop = false;
        tally = (tally_plan){.clocks = FOREVER,
                             .staleness = STALENESS[s],
                             .stops = 6,
                             .stop = &stop};
        strads_result *result = run((strads_engine_options){.stop = &stop}, 4);
        cr_expect_eq(strads_result_end(result), STRADS_END_CANCELED);
        cr_expect_geq(values_of(result)[0], 6);
        cr_expect_eq(strads_result_progress(result)->round, 6);
        strads_result_free(result);
    }
}

Test(loop_end, max_rounds_ends_every_partition_at_the_same_clock)
{
    tally =
        (tally_plan){.clocks = FOREVER, .staleness = STRADS_STALENESS_INFINITE};
    strads_result *result = run((strads_engine_options){.max_rounds = 17}, 4);
    cr_expect_eq(strads_result_end(result), STRADS_END_ROUNDS);
    for (uint32_t k = 0; k < 4; k++) {
        cr_expect_eq(atomic_load(&tally.ended[k]), 18);
        cr_expect_eq(values_of(result)[k], 17);
    }
    strads_result_free(result);
}

Test(loop_end, a_failure_ends_all_loops)
{
    tally = (tally_plan){.clocks = FOREVER,
                         .staleness = STRADS_STALENESS_INFINITE,
                         .fails = 3};
    expect_failure();
}

/* Lines of progress; all must come on the caller's thread. */
typedef struct lines {
    pthread_t caller;
    uint32_t n;
    bool ordered;
} lines;

static void note(void *arg, const strads_progress *progress)
{
    lines *l = arg;
    l->ordered = l->ordered && progress->objective == l->n &&
                 pthread_equal(l->caller, pthread_self());
    l->n++;
}

Test(loop_end, each_report_is_delivered_once_in_order_on_the_callers_thread)
{
    lines l = {.caller = pthread_self(), .ordered = true};
    tally = (tally_plan){.clocks = 200, .staleness = 3, .reports = 150};
    strads_result *result =
        run((strads_engine_options){.progress = note, .progress_arg = &l}, 2);
    cr_expect(l.ordered);
    cr_expect_eq(l.n, 150);
    cr_expect_eq(strads_result_end(result), STRADS_END_STOPPED);
    cr_expect_eq(strads_result_progress(result)->objective, 149);
    cr_expect_geq(strads_result_progress(result)->round, 200);
    strads_result_free(result);
}

Test(loop_end, a_report_with_a_small_gap_ends_the_run)
{
    tally =
        (tally_plan){.clocks = FOREVER, .reports = FOREVER, .converges = 30};
    strads_result *result = run((strads_engine_options){0}, 2);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
    cr_expect_eq(strads_result_progress(result)->objective, 29);
    strads_result_free(result);
}

/* ---- loops that do not ask --------------------------------------------- */

Test(loop_end, a_loop_that_never_asks_is_cut_off_after_a_bound)
{
    tally = (tally_plan){.clocks = FOREVER, .staleness = 1, .careless = true};
    strads_result *result = run((strads_engine_options){.max_rounds = 20}, 3);
    cr_expect_eq(strads_result_end(result), STRADS_END_ROUNDS);
    for (uint32_t k = 0; k < 3; k++) {
        cr_expect_eq(atomic_load(&tally.ended[k]), 22 + STRADS_LOOP_GRACE);
        /* The increments of the unfinished clock are in the model. */
        cr_expect_eq(values_of(result)[k], 20 + STRADS_LOOP_GRACE + 1);
    }
    strads_result_free(result);
}

Test(loop_end, and_after_time_is_up_and_when_the_user_stops_it)
{
    volatile bool stop = false;
    tally = (tally_plan){.clocks = FOREVER, .careless = true};
    cr_expect_eq(end_of((strads_engine_options){.time_limit = 0.05}, 3),
                 STRADS_END_TIME);
    tally = (tally_plan){.clocks = FOREVER,
                         .careless = true,
                         .stops = 6,
                         .stop = &stop};
    cr_expect_eq(end_of((strads_engine_options){.stop = &stop}, 3),
                 STRADS_END_CANCELED);
}

Test(loop_end, and_when_another_fails_the_first_sentence_stays)
{
    tally = (tally_plan){.clocks = FOREVER,
                         .staleness = STRADS_STALENESS_INFINITE,
                         .careless = true,
                         .fails = 3};
    expect_failure();
}
