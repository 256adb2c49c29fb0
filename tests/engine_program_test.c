/* Contradictory programs, options and data: the engine rejects each with a
 * message that names the mistake, before any callback runs. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

static strads_err never(strads_task *task)
{
    (void)task;
    return strads_fail(STRADS_EPROGRAM, "a callback ran");
}

static strads_err never_commits(strads_commit *commit)
{
    (void)commit;
    return strads_fail(STRADS_EPROGRAM, "a callback ran");
}

static strads_err never_begins(const void *config, const strads_data *data,
                               const strads_shape *shape, void **state)
{
    (void)config, (void)data, (void)shape, (void)state;
    return strads_fail(STRADS_EPROGRAM, "a callback ran");
}

static void refuse_program(strads_program program, const char *says)
{
    if (!program.size)
        program.size = sizeof program;
    if (!program.begin)
        program.begin = never_begins;
    strads_err err = toy_run_it(&(toy_run){.program = &program}, NULL);
    expect_error(err, STRADS_EINVAL, says);
}

static void refuse_phase(strads_phase phase, const char *says)
{
    refuse_program(
        (strads_program){.name = "p", .phases = &phase, .n_phases = 1}, says);
}

Test(engine_program, a_phase_that_contradicts_itself_is_refused)
{
    refuse_phase((strads_phase){.update = never}, "no name");
    refuse_phase((strads_phase){.name = "a"}, "no update");
    refuse_phase((strads_phase){.name = "a",
                                .update = never,
                                .merge = STRADS_MERGE_OWN},
                 "merge_with");
    refuse_phase((strads_phase){.name = "a",
                                .update = never,
                                .to = STRADS_TO_RING,
                                .merge = STRADS_MERGE_CONCAT},
                 "RING");
    refuse_phase((strads_phase){.name = "a",
                                .update = never,
                                .to = STRADS_TO_OWNER,
                                .when = STRADS_WHEN_PROBE},
                 "PROBE");
    refuse_phase((strads_phase){.name = "a",
                                .update = never,
                                .to = STRADS_TO_OWNER,
                                .when = STRADS_WHEN_REST},
                 "REST");
    refuse_phase((strads_phase){.name = "a", .to = STRADS_TO_NOBODY},
                 "aggregate");
    refuse_phase((strads_phase){.name = "a", .update = never, .receive = never},
                 "receive");
    refuse_phase((strads_phase){.name = "a",
                                .update = never,
                                .when = (strads_when)1},
                 "unknown");
}

Test(engine_program, a_program_that_contradicts_itself_is_refused)
{
    const strads_phase phase = {.name = "a", .update = never};
    const strads_phase called = {.name = "a",
                                 .update = never,
                                 .when = STRADS_WHEN_CALLED};
    const strads_payload payload = {0};
    const strads_option wide[] = {{.name = "wide", .kind = STRADS_OPTION_F64},
                                  {.name = NULL}};
    const strads_phase probes[3] = {
        phase,
        {.name = "a", .update = never, .when = STRADS_WHEN_PROBE},
        {.name = "b", .update = never, .when = STRADS_WHEN_PROBE}};
    refuse_program((strads_program){.name = "p"}, "no update");
    refuse_program((strads_program){.name = "p", .size = 8}, "no name");
    refuse_program((strads_program){.name = "p", .size = 1}, "1 bytes");
    refuse_program((strads_program){.update = never}, "no name");
    refuse_program((strads_program){.name = "p", .update = never},
                   "no aggregate that would change a parameter");
    refuse_program((strads_program){.name = "p",
                                    .phases = &called,
                                    .n_phases = 1},
                   "phases that only a schedule calls");
    refuse_program((strads_program){.name = "p",
                                    .update = never,
                                    .aggregate = never_commits,
                                    .pooled = true},
                   "owns no parameters");
    refuse_program((strads_program){.name = "p",
                                    .update = never,
                                    .aggregate = never_commits,
                                    .payload = &payload},
                   "no RING phase");
    refuse_program((strads_program){.name = "p",
                                    .options = wide,
                                    .config_size = 4,
                                    .update = never,
                                    .aggregate = never_commits},
                   "option wide of program p lies outside its config_size of "
                   "4 bytes");
    refuse_program((strads_program){.name = "p",
                                    .update = never,
                                    .phases = &phase,
                                    .n_phases = 1},
                   "both phases");
    refuse_program((strads_program){.name = "p",
                                    .aggregate = never_commits,
                                    .phases = &phase,
                                    .n_phases = 1},
                   "both phases");
    refuse_program((strads_program){.name = "p", .n_phases = 2}, "NULL");
    refuse_program((strads_program){.name = "p",
                                    .phases = probes,
                                    .n_phases = 3},
                   "2 PROBE phases");
}

static const strads_program simple = {.size = sizeof(strads_program),
                                      .name = "simple",
                                      .begin = never_begins,
                                      .update = never,
                                      .aggregate = never_commits};

static void refuse_options(strads_engine_options options, const char *says)
{
    strads_err err =
        toy_run_it(&(toy_run){.program = &simple, .options = options}, NULL);
    expect_error(err, STRADS_EINVAL, says);
}

Test(engine_program, options_out_of_range_are_refused)
{
    const strads_policy no_choose = {.size = sizeof no_choose, .name = "x"};
    strads_policy old = toy_sweep_policy;
    old.size = 8;
    refuse_options((strads_engine_options){.depth = 17}, "depth 17");
    refuse_options((strads_engine_options){.policy = "best"}, "best");
    refuse_options((strads_engine_options){.policy_plugin = &no_choose},
                   "choose");
    refuse_options((strads_engine_options){.policy_plugin = &old}, "name");
    refuse_options((strads_engine_options){.tolerance = -1}, "tolerance");
    refuse_options((strads_engine_options){.threshold = 0.0 / 0.0},
                   "threshold");
    refuse_options((strads_engine_options){.time_limit = -1}, "time limit");
}

static strads_err adds_one(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++)
        commit->change[k] = 1;
    return STRADS_OK;
}

/* Tables of older headers are shorter; missing slots have their defaults.
 * Tables of newer headers may be longer if the additional bytes are zeros. */
Test(engine_program, tables_of_other_headers_are_completed)
{
    struct {
        strads_program known;
        uint64_t unknown;
    } newer = {.known = {.size = sizeof newer,
                         .name = "p",
                         .update = toy_does_nothing,
                         .aggregate = adds_one}};
    struct {
        strads_engine_options known;
        uint64_t unknown;
    } options = {.known = {.size = offsetof(strads_engine_options, stop),
                           .workers = 1,
                           .max_rounds = 3,
                           .stop = (const volatile bool *)1}};
    const size_t last = offsetof(strads_program, partition_entries);
    const size_t program_sizes[] = {last, sizeof newer.known, sizeof newer};
    strads_data *data = toy_data(&newer.known, 9, 5, 1);
    for (size_t k = 0; k < 3; k++) {
        strads_result *result = NULL;
        newer.known.size = program_sizes[k];
        expect_ok(
            strads_run(&newer.known, NULL, data, &options.known, &result));
        strads_result_free(result);
    }
    strads_result *result = NULL;
    newer.unknown = 1;
    expect_error(strads_run(&newer.known, NULL, data, &options.known, &result),
                 STRADS_EINVAL, "does not have");
    newer.unknown = 0;
    options.known.stop = NULL;
    options.known.size = sizeof options;
    options.unknown = 1;
    expect_error(strads_run(&newer.known, NULL, data, &options.known, &result),
                 STRADS_EINVAL, "the engine's options");
    strads_data_free(data);
}

static strads_err run_on(const strads_data *data, const strads_program *program,
                         uint32_t workers, uint32_t partitions)
{
    const strads_engine_options options = {.size = sizeof options,
                                           .workers = workers,
                                           .partitions = partitions};
    strads_result *result;
    return strads_run(program, NULL, data, &options, &result);
}

Test(engine_program, data_cut_in_another_way_are_refused)
{
    strads_data *data = toy_data(&simple, 9, 5, 4);
    expect_error(run_on(data, &simple, 2, 2), STRADS_EINVAL, "4 partitions");
    expect_error(run_on(data, &simple, 1, 5), STRADS_EINVAL, "run has 5");
    strads_program rows = simple;
    rows.layout = STRADS_LAYOUT_ROWS;
    expect_error(run_on(data, &rows, 1, 4), STRADS_EINVAL, "orientation");
    strads_data_free(data);
}

TOY_SHAPE(no_width, shape->width = 0)

TOY_SHAPE(too_many, shape->parameters = UINT64_C(1) << 40)

TOY_SHAPE(too_large, shape->parameters = UINT64_C(1) << 31,
          shape->param_bytes = UINT32_C(1) << 31)

static strads_err no_fit(const void *config, const strads_data *data,
                         strads_shape *shape)
{
    (void)config, (void)data, (void)shape;
    return strads_fail(STRADS_EINVAL, "the options do not fit the data");
}

Test(engine_program, an_impossible_shape_is_refused)
{
    strads_program program = simple;
    program.shape = no_width;
    expect_error(toy_run_it(&(toy_run){.program = &program}, NULL),
                 STRADS_ELIMIT, "0 numbers");
    program.shape = too_many;
    expect_error(toy_run_it(&(toy_run){.program = &program}, NULL),
                 STRADS_ELIMIT, "1099511627776 parameters");
    program.begin = never_begins;
    program.shape = too_large;
    expect_error(
        toy_run_it(&(toy_run){.program = &program}, NULL), STRADS_ENOMEM,
        "needs about 4611686018427390592 bytes of memory for 2147483648 "
        "parameters of 1 numbers each and its 2688 bytes of data");
    program.shape = no_fit;
    expect_error(toy_run_it(&(toy_run){.program = &program}, NULL),
                 STRADS_EINVAL, "do not fit");
}

Test(engine_program, a_start_value_of_no_parameter_is_refused)
{
    const uint32_t param[] = {3, 17};
    const double value[] = {1, 1};
    strads_program program = simple;
    program.begin = NULL;
    strads_err err = toy_run_it(&(toy_run){.program = &program,
                                           .options = {.n_start = 2,
                                                       .start_param = param,
                                                       .start_value = value}},
                                NULL);
    expect_error(err, STRADS_EINVAL, "parameter 17");
}
