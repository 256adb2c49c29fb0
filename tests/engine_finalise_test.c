/* If a run is stopped early, the engine continues to call the program until
 * the model is complete. In this program, partitions count locally and report
 * their counts at the end. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/nodes_team.h"
#include "tests/toy_data.h"

enum { COUNT, TELL, IDLE, N_PHASES };
enum { PARTITIONS = 4, FAR = 1000000 };

typedef struct winding_config {
    uint32_t stop_at;   /* rounds after which a report stops the run; 0: none */
    uint32_t finish_at; /* rounds after which the program stops by itself */
    uint32_t flaw;
} winding_config;

enum { FLAWLESS, ENDLESS, CHOOSING, FAILING };

static const strads_option OPTIONS[] = {
    STRADS_OPTION(U32, winding_config, stop_at, "stop-at", NULL, NULL,
                  .max = FAR),
    STRADS_OPTION(U32, winding_config, finish_at, "finish-at", NULL, NULL,
                  .max = FAR),
    STRADS_OPTION(U32, winding_config, flaw, "flaw", NULL, NULL,
                  .max = FAILING),
    {.name = NULL},
};

/* ---- the program ------------------------------------------------------- */

typedef struct winding_state {
    const winding_config *config;
    uint64_t counted; /* rounds committed */
    uint32_t told;    /* pieces requested */
    uint32_t asked;   /* turns with `ends` */
    uint32_t after;   /* turns after the stop */
    bool stopped;
} winding_state;

TOY_SHAPE(winding_shape, shape->parameters = PARTITIONS)

static strads_err winding_begin(const void *config, const strads_data *data,
                                const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    winding_state *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory");
    s->config = config;
    *state = s;
    return STRADS_OK;
}

TOY_OPEN(winding_open, sizeof(double))

static strads_err stop(strads_turn *turn, winding_state *s)
{
    s->stopped = true;
    return strads_turn_stop(turn);
}

/* Collects the count of one partition: the final phase takes several turns. */
static strads_err tell_next(strads_turn *turn, winding_state *s)
{
    const strads_block block = {.id = s->told,
                                .n = 1,
                                .first = s->told,
                                .owner = s->told};
    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (s->told == PARTITIONS)
        return stop(turn, s);
    s->told++;
    return strads_turn_dispatch(turn, TELL, 1, &block);
}

static strads_err winding_schedule(strads_turn *turn)
{
    winding_state *s = turn->state;
    const winding_config *config = s->config;
    const strads_block none = {.id = PARTITIONS};
    s->asked += turn->ends;
    s->after += s->stopped;
    if (!turn->ends && config->finish_at && turn->round > config->finish_at)
        return stop(turn, s);
    if (!turn->ends)
        return strads_turn_all(turn, COUNT);
    switch (config->flaw) {
    case ENDLESS:
        return strads_turn_dispatch(turn, IDLE, 1, &none);
    case CHOOSING:
        return strads_turn_policy(turn, COUNT);
    case FAILING:
        return strads_fail(STRADS_EIO, "the hard disk is soft");
    default:
        return tell_next(turn, s);
    }
}

static strads_err count(strads_task *task)
{
    *(double *)task->local += 1 + task->share->partition;
    return STRADS_OK;
}

static strads_err counted(strads_commit *commit)
{
    ((winding_state *)commit->state)->counted++;
    return STRADS_OK;
}

static strads_err tell(strads_task *task)
{
    task->value[0] = *(double *)task->local;
    return STRADS_OK;
}

static strads_err winding_objective(void *state, strads_report *report)
{
    const winding_state *s = state;
    report->objective = (double)s->counted;
    report->gap = NAN;
    report->stop = s->config->stop_at != 0 && s->counted >= s->config->stop_at;
    return STRADS_OK;
}

static const strads_phase PHASES[N_PHASES] = {
    [COUNT] = {.name = "count",
               .when = STRADS_WHEN_CALLED,
               .reports = true,
               .ignores_values = true,
               .partial = toy_one_number,
               .update = count,
               .aggregate = counted},
    [TELL] = {.name = "tell",
              .to = STRADS_TO_OWNER,
              .when = STRADS_WHEN_CALLED,
              .partial = toy_one_number,
              .update = tell},
    [IDLE] = {.name = "idle",
              .to = STRADS_TO_NOBODY,
              .when = STRADS_WHEN_CALLED,
              .ignores_values = true,
              .aggregate = toy_commits_nothing},
};

static const strads_program winding = {
    .size = sizeof winding,
    .name = "winding",
    .options = OPTIONS,
    .config_size = sizeof(winding_config),
    .shape = winding_shape,
    .begin = winding_begin,
    .end = free,
    .open = winding_open,
    .close = free,
    .schedule = winding_schedule,
    .finalises = true,
    .phases = PHASES,
    .n_phases = N_PHASES,
    .objective = winding_objective,
};

/* ---- expectations -------------------------------------------------------- */

/* The model holds the counts of every partition, from the user's rounds
 * only. */
static void expect_together(const strads_result *result)
{
    const winding_state *s = strads_result_state(result);
    uint64_t n;
    uint32_t width;
    const double *value = strads_result_values(result, &n, &width);
    cr_assert_eq(n, PARTITIONS);
    cr_assert_gt(s->counted, 0);
    cr_expect_eq(strads_result_progress(result)->round, s->counted);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        cr_expect_eq(value[p], (double)s->counted * (1 + p), "partition %u", p);
    cr_expect_gt(s->asked, PARTITIONS);
    cr_expect_eq(s->after, 0, "asked after its stop");
}

static strads_result *cut_short(const winding_config *config,
                                strads_engine_options options, strads_end end)
{
    options.partitions = PARTITIONS;
    strads_result *result = expect_run(&winding, config, options);
    cr_expect_eq(strads_result_end(result), end);
    return result;
}

static void expect_rounds(const winding_config *config,
                          strads_engine_options options, strads_end end)
{
    for (uint32_t depth = 0; depth <= 3; depth += 3)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            options.depth = depth;
            options.workers = workers;
            strads_result *result = cut_short(config, options, end);
            expect_together(result);
            strads_result_free(result);
        }
}

Test(engine_finalise, a_bound_on_rounds_leaves_the_model_together)
{
    const winding_config config = {0};
    expect_rounds(&config, (strads_engine_options){.max_rounds = 7},
                  STRADS_END_ROUNDS);
    toy_simulate_from_now_on();
    expect_rounds(&config, (strads_engine_options){.max_rounds = 7},
                  STRADS_END_ROUNDS);
}

Test(engine_finalise, a_bound_on_time_leaves_the_model_together)
{
    const winding_config config = {0};
    expect_rounds(&config, (strads_engine_options){.time_limit = 1e-9},
                  STRADS_END_TIME);
}

Test(engine_finalise, a_report_that_ends_the_run_leaves_the_model_together)
{
    expect_rounds(&(winding_config){.stop_at = 5},
                  (strads_engine_options){.seed = 1}, STRADS_END_STOPPED);
}

Test(engine_finalise, a_program_that_stops_by_itself_is_not_asked_again)
{
    strads_result *result =
        cut_short(&(winding_config){.finish_at = 3},
                  (strads_engine_options){.workers = 2}, STRADS_END_STOPPED);
    const winding_state *s = strads_result_state(result);
    cr_expect_eq(s->asked, 0);
    cr_expect_eq(s->after, 0);
    cr_expect_eq(s->counted, 3);
    strads_result_free(result);
}

static volatile bool ctrl_c;

static void interrupt(void *arg, const strads_progress *progress)
{
    (void)arg;
    ctrl_c = ctrl_c || progress->round >= 4;
}

Test(engine_finalise, an_interrupt_leaves_the_model_together)
{
    const winding_config config = {0};
    for (uint32_t workers = 1; workers <= 4; workers *= 2) {
        ctrl_c = false;
        strads_result *result =
            cut_short(&config,
                      (strads_engine_options){.workers = workers,
                                              .stop = &ctrl_c,
                                              .progress = interrupt},
                      STRADS_END_CANCELED);
        expect_together(result);
        strads_result_free(result);
    }
}

Test(engine_finalise, over_tcp_the_partitions_report_as_well)
{
    const winding_config config = {0};
    team t = {.program = &winding,
              .config = &config,
              .options = {.partitions = PARTITIONS, .max_rounds = 6},
              .nodes = 2,
              .workers = {1, 1}};
    strads_result *result = expect_team(&t);
    expect_together(result);
    strads_result_free(result);
}

static void refuse(const strads_program *program, uint32_t flaw, strads_err err,
                   const char *text)
{
    strads_result *result = NULL;
    strads_err found =
        toy_run_it(&(toy_run){.program = program,
                              .config = &(winding_config){.flaw = flaw},
                              .options = {.workers = 1,
                                          .partitions = PARTITIONS,
                                          .max_rounds = 2}},
                   &result);
    cr_expect_eq(found, err, "%d", found);
    expect_says(text);
    cr_expect_null(result);
}

Test(engine_finalise,
     a_schedule_that_never_stops_or_chooses_or_fails_ends_with_a_sentence)
{
    refuse(&winding, ENDLESS, STRADS_EPROGRAM, "has not stopped");
    refuse(&winding, CHOOSING, STRADS_ESTATE, "after the run's end");
    refuse(&winding, FAILING, STRADS_EIO, "the hard disk is soft");
    strads_program silent = winding;
    silent.schedule = NULL;
    refuse(&silent, FLAWLESS, STRADS_EINVAL, "no schedule to do it");
}
