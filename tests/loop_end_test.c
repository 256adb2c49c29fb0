/* Data-parallel loops: how they end, what they report, where time went. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "strads/strads.h"
#include "tests/expect.h"

enum { ROWS = 12, FOREVER = 1000000000 };

/* ---- a loop whose parts a test puts together --------------------------- */

typedef struct plan {
    uint32_t clocks;
    uint32_t staleness;
    uint32_t fails;      /* 1 + the clock in which partition 1 fails */
    uint32_t reports;    /* partition 0 reports each clock, in all that many */
    uint32_t converges;  /* 1 + the report whose gap is 0 */
    volatile bool *stop; /* set by partition 0 in its clock 5 */
    atomic_uint *ended;  /* [partitions] the clock when the end was told */
} plan;

static strads_err look(strads_task *task, strads_session *session, uint32_t c)
{
    const plan *p = *(plan *const *)task->config;
    const bool first = task->share->partition == 0;
    double row;
    if (first && c < p->reports)
        strads_loop_report(task, &(strads_report){
                                     .objective = c,
                                     .gap = c + 1 == p->converges ? 0 : NAN,
                                 });
    if (first && p->stop && c == 5)
        __atomic_store_n(p->stop, true, __ATOMIC_RELAXED);
    if (!first && p->fails && c + 1 == p->fails)
        return strads_fail(STRADS_EPROGRAM, "partition 1 gave up");
    return strads_session_read_row(session, 0, 0, p->staleness, &row);
}

static strads_err plan_run(strads_task *task, strads_session *session)
{
    const plan *p = *(plan *const *)task->config;
    strads_err err = STRADS_OK;
    uint32_t c = 0;
    while (!err && c < p->clocks && !strads_loop_ends(task)) {
        err = look(task, session, c++);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, 1);
        if (!err)
            err = strads_session_clock(session);
    }
    if (p->ended)
        atomic_store(&p->ended[task->share->partition], c);
    return err;
}

static strads_err plan_shape(const void *config, const strads_data *data,
                             strads_shape *shape)
{
    (void)config;
    (void)data;
    shape->parameters = 1;
    return STRADS_OK;
}

static const strads_program planned = {
    .size = sizeof planned,
    .name = "planned",
    .shape = plan_shape,
    .config_size = sizeof(plan *),
    .run = plan_run,
};

/* Lines of progress, and that they came on the caller's thread. */
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

static strads_err run_program(const strads_program *program, const plan *p,
                              strads_engine_options options,
                              uint32_t partitions, strads_result **out)
{
    double label[ROWS] = {0}, value[ROWS] = {0};
    uint32_t index[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        index[i] = i;
    const uint64_t start[2] = {0, ROWS};
    const strads_columns columns = {ROWS, 1, start, index, value, label};
    const strads_data_options cut = {.size = sizeof cut,
                                     .partitions = partitions};
    strads_data *data;
    cr_assert_eq(strads_data_from_columns(&columns, &cut, &data), STRADS_OK);
    options.size = sizeof options;
    options.partitions = partitions;
    options.workers = 1;
    strads_err err = strads_run(program, &p, data, &options, out);
    strads_data_free(data);
    return err;
}

static strads_err run_plan(const plan *p, strads_engine_options options,
                           uint32_t partitions, strads_result **out)
{
    return run_program(&planned, p, options, partitions, out);
}

/* ---- tests ------------------------------------------------------------- */

Test(loop_end, a_time_limit_ends_a_loop_that_would_go_on)
{
    const plan p = {.clocks = FOREVER};
    const strads_engine_options options = {.time_limit = 0.05};
    strads_result *result;
    cr_assert_eq(run_plan(&p, options, 3, &result), STRADS_OK);
    const strads_progress *last = strads_result_progress(result);
    cr_expect_eq(strads_result_end(result), STRADS_END_TIME);
    cr_expect_geq(last->seconds, 0.05);
    cr_expect_gt(last->round, 0);
    strads_result_free(result);
}

Test(loop_end, a_stop_flag_ends_it_with_the_model_so_far)
{
    for (uint32_t s = 0; s < 3; s++) {
        volatile bool stop = false;
        const plan p = {
            .clocks = FOREVER,
            .staleness = s == 2 ? STRADS_STALENESS_INFINITE : s,
            .stop = &stop,
        };
        const strads_engine_options options = {.stop = &stop};
        strads_result *result;
        uint64_t parameters;
        uint32_t width;
        cr_assert_eq(run_plan(&p, options, 4, &result), STRADS_OK);
        cr_expect_eq(strads_result_end(result), STRADS_END_CANCELED);
        cr_expect_geq(strads_result_values(result, &parameters, &width)[0], 6);
        cr_expect_eq(strads_result_progress(result)->round, 6);
        strads_result_free(result);
    }
}

Test(loop_end, max_rounds_ends_every_partition_at_the_same_clock)
{
    atomic_uint ended[4] = {0};
    const plan p = {.clocks = FOREVER,
                    .staleness = STRADS_STALENESS_INFINITE,
                    .ended = ended};
    const strads_engine_options options = {.max_rounds = 17};
    strads_result *result;
    uint64_t parameters;
    uint32_t width;
    cr_assert_eq(run_plan(&p, options, 4, &result), STRADS_OK);
    cr_expect_eq(strads_result_end(result), STRADS_END_ROUNDS);
    for (uint32_t k = 0; k < 4; k++)
        cr_expect_eq(atomic_load(&ended[k]), 17);
    cr_expect_eq(strads_result_values(result, &parameters, &width)[0], 68);
    strads_result_free(result);
}

Test(loop_end, who_fails_ends_all_others)
{
    const plan p = {.clocks = FOREVER,
                    .staleness = STRADS_STALENESS_INFINITE,
                    .fails = 3};
    strads_result *result = NULL;
    cr_assert_eq(run_plan(&p, (strads_engine_options){0}, 3, &result),
                 STRADS_EPROGRAM);
    cr_expect_str_eq(strads_error_text(), "partition 1 gave up");
    cr_expect_null(result);
}

Test(loop_end, each_report_is_told_once_in_order_on_the_callers_thread)
{
    const plan p = {.clocks = 200, .staleness = 3, .reports = 150};
    lines l = {.caller = pthread_self(), .ordered = true};
    const strads_engine_options options = {.progress = note,
                                           .progress_arg = &l};
    strads_result *result;
    cr_assert_eq(run_plan(&p, options, 2, &result), STRADS_OK);
    cr_expect(l.ordered);
    cr_expect_eq(l.n, 150);
    cr_expect_eq(strads_result_end(result), STRADS_END_STOPPED);
    cr_expect_eq(strads_result_progress(result)->objective, 149);
    cr_expect_eq(strads_result_progress(result)->round, 200);
    strads_result_free(result);
}

Test(loop_end, a_report_whose_gap_is_small_ends_the_run)
{
    const plan p = {.clocks = FOREVER, .reports = FOREVER, .converges = 30};
    strads_result *result;
    cr_assert_eq(run_plan(&p, (strads_engine_options){0}, 2, &result),
                 STRADS_OK);
    cr_expect_eq(strads_result_end(result), STRADS_END_CONVERGED);
    cr_expect_eq(strads_result_progress(result)->objective, 29);
    strads_result_free(result);
}

Test(loop_end, computing_waiting_and_network_are_all_of_the_workers_time)
{
    const plan p = {.clocks = 2000};
    strads_result *result;
    cr_assert_eq(run_plan(&p, (strads_engine_options){0}, 2, &result),
                 STRADS_OK);
    const strads_progress *last = strads_result_progress(result);
    cr_expect_gt(last->waiting_seconds, 0);
    cr_expect_gt(last->callback_seconds, 0);
    cr_expect_eq(last->network_seconds, 0);
    cr_expect_leq(last->callback_seconds + last->waiting_seconds,
                  2 * last->seconds);
    strads_result_free(result);
}

/* ---- loops that do not ask --------------------------------------------- */

/* Counts for ever, or until a clock cannot be ended. */
static strads_err careless_run(strads_task *task, strads_session *session)
{
    const plan *p = *(plan *const *)task->config;
    strads_err err = STRADS_OK;
    for (uint32_t c = 0; !err && c < p->clocks; c++) {
        err = look(task, session, c);
        if (!err)
            err = strads_session_inc(session, 0, 0, 0, 1);
        if (!err)
            err = strads_session_clock(session);
    }
    if (p->ended)
        atomic_store(&p->ended[task->share->partition],
                     (uint32_t)strads_session_now(session));
    return err;
}

static const strads_program careless = {
    .size = sizeof careless,
    .name = "careless",
    .shape = plan_shape,
    .config_size = sizeof(plan *),
    .run = careless_run,
};

Test(loop_end, a_loop_that_never_asks_is_cut_off_after_a_bound)
{
    atomic_uint ended[3] = {0};
    const plan p = {.clocks = FOREVER, .staleness = 1, .ended = ended};
    const strads_engine_options options = {.max_rounds = 20};
    strads_result *result;
    uint64_t parameters;
    uint32_t width;
    expect_ok(run_program(&careless, &p, options, 3, &result));
    cr_expect_eq(strads_result_end(result), STRADS_END_ROUNDS);
    for (uint32_t k = 0; k < 3; k++)
        cr_expect_eq(atomic_load(&ended[k]), 20 + STRADS_LOOP_GRACE);
    /* What was added in the clock that did not end is in the model. */
    cr_expect_eq(strads_result_values(result, &parameters, &width)[0],
                 3 * (20 + STRADS_LOOP_GRACE + 1));
    strads_result_free(result);
}

Test(loop_end, and_after_time_is_up_and_when_the_user_stops_it)
{
    for (int turn = 0; turn < 2; turn++) {
        volatile bool stop = false;
        const plan p = {.clocks = FOREVER, .stop = turn ? &stop : NULL};
        const strads_engine_options options = {.time_limit = turn ? 0 : 0.05,
                                               .stop = &stop};
        strads_result *result;
        expect_ok(run_program(&careless, &p, options, 3, &result));
        cr_expect_eq(strads_result_end(result),
                     turn ? STRADS_END_CANCELED : STRADS_END_TIME);
        strads_result_free(result);
    }
}

Test(loop_end, and_when_another_fails_whose_sentence_stays)
{
    const plan p = {.clocks = FOREVER,
                    .staleness = STRADS_STALENESS_INFINITE,
                    .fails = 3};
    strads_result *result = NULL;
    cr_assert_eq(run_program(&careless, &p, (strads_engine_options){0}, 3,
                             &result),
                 STRADS_EPROGRAM);
    cr_expect_str_eq(strads_error_text(), "partition 1 gave up");
}
