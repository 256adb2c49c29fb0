/* A failure of any callback ends the run with its code and message, and
 * closes all objects that the program made: every open and begin is counted. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/checkpoint.h"
#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

/* The callback that fails. */
typedef enum place {
    NOWHERE,
    IN_TABLES,
    IN_BEGIN,
    IN_OPEN,
    IN_REFRESH,
    IN_UPDATE,
    IN_AGGREGATE,
    IN_LATER_BLOCK,
    IN_RECEIVE,
    IN_OBJECTIVE,
    IN_SCHEDULE,
    IN_POLICY_OPEN,
    IN_CHOOSE,
    IN_PAYLOAD,
    PLACES,
    IN_PACK = PLACES, /* only on several nodes */
    IN_UNPACK,
    PLACES_OF_NODES
} place;

static atomic_int alive; /* open objects of all kinds */
static place failing_place;

static strads_err maybe(place here)
{
    return failing_place == here
               ? strads_fail(STRADS_EPROGRAM, "it failed at place %d", here)
               : STRADS_OK;
}

static void *born(void)
{
    atomic_fetch_add(&alive, 1);
    return malloc(1);
}

static void dies(void *thing)
{
    if (thing)
        atomic_fetch_sub(&alive, 1);
    free(thing);
}

TOY_SHAPE(small_blocks, shape->block_max = 4)

static strads_err fail_tables(const void *config, const strads_shape *shape,
                              strads_store *store)
{
    (void)config, (void)shape, (void)store;
    return maybe(IN_TABLES);
}

static strads_err fail_begin(const void *config, const strads_data *data,
                             const strads_shape *shape, void **state)
{
    (void)config, (void)data, (void)shape;
    strads_err err = maybe(IN_BEGIN);
    if (!err)
        *state = born();
    return err;
}

/* Only partition 2 fails, while other partitions are open. */
static strads_err fail_open(const strads_task *task, void **local)
{
    strads_err err = task->share->partition == 2 ? maybe(IN_OPEN) : STRADS_OK;
    if (!err)
        *local = born();
    return err;
}

static strads_err fail_refresh(strads_task *task, const strads_change *changes,
                               uint32_t n)
{
    (void)changes, (void)n;
    return task->share->partition == 3 ? maybe(IN_REFRESH) : STRADS_OK;
}

static strads_err fail_update(strads_task *task)
{
    return task->round >= 4 && task->share->partition == 1 ? maybe(IN_UPDATE)
                                                           : STRADS_OK;
}

static strads_err fail_aggregate(strads_commit *commit)
{
    commit->change[0] = 1;
    strads_err err = commit->round == 3 ? maybe(IN_AGGREGATE) : STRADS_OK;
    return err || commit->block.first == 0 ? err : maybe(IN_LATER_BLOCK);
}

static strads_err fail_receive(strads_task *task)
{
    return task->share->partition == 0 ? maybe(IN_RECEIVE) : STRADS_OK;
}

static strads_err fail_objective(void *state, strads_report *report)
{
    cr_assert_not_null(state);
    report->objective = 1;
    return maybe(IN_OBJECTIVE);
}

static strads_err fail_schedule(strads_turn *turn)
{
    strads_err err = turn->round == 5 ? maybe(IN_SCHEDULE) : STRADS_OK;
    if (err)
        return err;
    if (turn->round > 8)
        return strads_turn_stop(turn);
    if (turn->round == 2) {
        const strads_block lap[2] = {{.id = 1, .n = 1, .owner = 2},
                                     {.id = 2, .n = 1, .first = 1}};
        return strads_turn_dispatch(turn, 1, 2, lap);
    }
    return strads_turn_policy(turn, 0);
}

static strads_err fail_payload(strads_task *task, void **object)
{
    strads_err err = task->block.id == 2 ? maybe(IN_PAYLOAD) : STRADS_OK;
    if (!err)
        *object = born();
    return err;
}

static strads_err fail_policy_open(const strads_policy_setup *setup,
                                   void **state)
{
    strads_err err = maybe(IN_POLICY_OPEN);
    return err ? err : toy_sweep_policy.open(setup, state);
}

static strads_err fail_choose(void *state, const strads_choice_request *request,
                              strads_choice *choice)
{
    strads_err err = request->draw == 3 ? maybe(IN_CHOOSE) : STRADS_OK;
    return err ? err : toy_sweep_policy.choose(state, request, choice);
}

static strads_err pack_nothing(const void *object, strads_bytes *out)
{
    strads_err err = maybe(IN_PACK);
    return err ? err : strads_bytes_append(out, object, 0);
}

static strads_err unpack_nothing(const void *bytes, size_t size, void **object)
{
    (void)bytes, (void)size;
    strads_err err = maybe(IN_UNPACK);
    if (!err)
        *object = born();
    return err;
}

static const strads_payload payload = {.open = fail_payload,
                                       .close = dies,
                                       .pack = pack_nothing,
                                       .unpack = unpack_nothing};

static const strads_phase phases[] = {
    {.name = "move",
     .when = STRADS_WHEN_POLICY,
     .result = STRADS_RESULT_WORKERS,
     .reports = true,
     .update = fail_update,
     .aggregate = fail_aggregate,
     .receive = fail_receive},
    {.name = "walk",
     .to = STRADS_TO_RING,
     .when = STRADS_WHEN_CALLED,
     .update = fail_update},
};

static const strads_program program = {.size = sizeof(strads_program),
                                       .name = "failing",
                                       .shape = small_blocks,
                                       .tables = fail_tables,
                                       .begin = fail_begin,
                                       .end = dies,
                                       .open = fail_open,
                                       .close = dies,
                                       .refresh = fail_refresh,
                                       .schedule = fail_schedule,
                                       .phases = phases,
                                       .n_phases = 2,
                                       .objective = fail_objective,
                                       .payload = &payload};

static void run(place at, uint32_t workers, uint32_t depth)
{
    strads_policy policy = toy_sweep_policy;
    policy.open = fail_policy_open;
    policy.choose = fail_choose;
    failing_place = at;
    strads_result *result = NULL;
    strads_err err = toy_run_it(&(toy_run){.program = &program,
                                           .options = {.workers = workers,
                                                       .partitions = 5,
                                                       .policy_plugin = &policy,
                                                       .blocks = 2,
                                                       .depth = depth}},
                                &result);
    if (at == NOWHERE) {
        cr_assert_eq(err, STRADS_OK, "%s", strads_error_text());
    } else {
        char says[64];
        (void)snprintf(says, sizeof says, "it failed at place %d", at);
        cr_assert_eq(err, STRADS_EPROGRAM, "place %d: error %d", at, err);
        cr_assert_str_eq(strads_error_text(), says);
    }
    strads_result_free(result);
    cr_assert_eq(atomic_load(&alive), 0, "place %d: %d were not closed", at,
                 atomic_load(&alive));
}

Test(engine_error, every_callbacks_failure_ends_the_run_with_its_sentence)
{
    for (int at = NOWHERE; at < PLACES; at++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2)
            for (uint32_t depth = 0; depth <= 4; depth += 2)
                run((place)at, workers, depth);
}

Test(engine_error, between_nodes_it_comes_back_with_its_sentence_too)
{
    toy_simulate_from_now_on();
    for (int at = NOWHERE; at < PLACES_OF_NODES; at++)
        for (uint32_t depth = 0; depth <= 4; depth += 2)
            run((place)at, 4, depth);
}

/* ---- invalid results of callbacks ---------------------------------------- */

static void refuse(const strads_program *p, const strads_policy *policy,
                   const char *says)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        strads_err err =
            toy_run_it(&(toy_run){.program = p,
                                  .options = {.workers = workers,
                                              .policy_plugin = policy,
                                              .depth = 1,
                                              .max_rounds = 100}},
                       NULL);
        cr_assert_neq(err, STRADS_OK, "%s is accepted", says);
        cr_assert_not_null(strstr(strads_error_text(), says),
                           "'%s' does not say '%s'", strads_error_text(), says);
    }
}

static strads_err commit_nan(strads_commit *commit)
{
    commit->change[0] = NAN;
    return STRADS_OK;
}

static strads_err commit_infinity(strads_commit *commit)
{
    const uint32_t param = 3;
    const double change = INFINITY;
    return strads_commit_also(commit, 1, &param, &change);
}

static strads_err commit_outside(strads_commit *commit)
{
    const uint32_t param = 17;
    const double change = 1;
    return strads_commit_also(commit, 1, &param, &change);
}

static strads_err prioritise_outside(strads_commit *commit)
{
    const uint32_t param = 17;
    const double priority = 1;
    strads_commit_prioritise(commit, 1, &param, &priority);
    return STRADS_OK;
}

static strads_err prioritise_nan(strads_commit *commit)
{
    const uint32_t param = 3;
    const double priority = NAN;
    strads_commit_prioritise(commit, 1, &param, &priority);
    return STRADS_OK;
}

Test(engine_error, commits_that_would_spoil_the_model_end_the_run)
{
    strads_program p = {.size = sizeof p,
                        .name = "spoils",
                        .update = toy_does_nothing};
    p.aggregate = commit_nan;
    refuse(&p, NULL, "nan");
    p.aggregate = commit_infinity;
    refuse(&p, NULL, "parameter 3 by inf");
    p.aggregate = commit_outside;
    refuse(&p, NULL, "17");
    p.aggregate = prioritise_outside;
    refuse(&p, NULL, "parameter 17 of 17");
    p.aggregate = prioritise_nan;
    refuse(&p, NULL, "priority nan");
}

static strads_err probe_nan(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n * task->against.n; k++)
        task->partial[k] = NAN;
    return STRADS_OK;
}

Test(engine_error, a_probe_that_gives_nan_ends_the_run)
{
    const strads_phase probing[] = {{.name = "probe",
                                     .when = STRADS_WHEN_PROBE,
                                     .update = probe_nan},
                                    {.name = "move",
                                     .update = toy_does_nothing,
                                     .aggregate = toy_commits_nothing}};
    const strads_program p = {.size = sizeof p,
                              .name = "unknown",
                              .phases = probing,
                              .n_phases = 2};
    refuse(&p, &toy_sweep_policy, "NaN");
    refuse(&p, NULL, "NaN");
}

/* ---- policies ---------------------------------------------------------- */

static strads_choice wrong;

static strads_err choose_wrong(void *state,
                               const strads_choice_request *request,
                               strads_choice *choice)
{
    (void)state, (void)request;
    *choice = wrong;
    return STRADS_OK;
}

static strads_err change_nothing(strads_commit *commit)
{
    commit->change[0] = 0;
    return STRADS_OK;
}

Test(engine_error, a_policys_impossible_answer_ends_the_run)
{
    const strads_program p = {.size = sizeof p,
                              .name = "simple",
                              .update = toy_does_nothing,
                              .aggregate = change_nothing};
    const strads_phase owner = {.name = "own",
                                .to = STRADS_TO_OWNER,
                                .update = toy_does_nothing};
    const strads_program owned = {.size = sizeof p,
                                  .name = "owned",
                                  .phases = &owner,
                                  .n_phases = 1};
    const strads_block outside = {.n = 2, .first = 16};
    const strads_block empty = {.n = 0};
    const strads_block nobodys = {.n = 1, .owner = 7};
    strads_policy policy = toy_sweep_policy;
    policy.choose = choose_wrong;
    wrong = (strads_choice){.kind = STRADS_CHOOSE_WAIT};
    refuse(&p, &policy, "waits");
    wrong = (strads_choice){.kind = STRADS_CHOOSE_PROBE};
    refuse(&p, &policy, "no PROBE phase");
    wrong = (strads_choice){.kind = (strads_choice_kind)9};
    refuse(&p, &policy, "unknown answer");
    wrong = (strads_choice){.kind = STRADS_CHOOSE_BLOCKS};
    refuse(&p, &policy, "no blocks");
    wrong = (strads_choice){.kind = STRADS_CHOOSE_BLOCKS,
                            .n = 1,
                            .blocks = &outside};
    refuse(&p, &policy, "parameter 17 of 17");
    wrong =
        (strads_choice){.kind = STRADS_CHOOSE_BLOCKS, .n = 1, .blocks = &empty};
    refuse(&p, &policy, "empty block");
    wrong = (strads_choice){.kind = STRADS_CHOOSE_BLOCKS,
                            .n = 1,
                            .blocks = &nobodys};
    refuse(&owned, &policy, "partition 7");
}

/* ---- schedules --------------------------------------------------------- */

static strads_err decide_nothing(strads_turn *turn)
{
    (void)turn;
    return STRADS_OK;
}

static strads_err decide_twice(strads_turn *turn)
{
    strads_err err = strads_turn_all(turn, 0);
    return err ? err : strads_turn_all(turn, 0);
}

static strads_err wait_for_nothing(strads_turn *turn)
{
    return strads_turn_wait(turn);
}

static strads_err name_no_phase(strads_turn *turn)
{
    return strads_turn_policy(turn, 9);
}

static strads_err name_probes(strads_turn *turn)
{
    return strads_turn_all(turn, 1);
}

static strads_err name_no_parameter(strads_turn *turn)
{
    const strads_block block = {.n = 3, .first = 15};
    return strads_turn_dispatch(turn, 0, 1, &block);
}

static strads_err name_no_owner(strads_turn *turn)
{
    const strads_block block = {.n = 1, .owner = 40};
    return strads_turn_dispatch(turn, 2, 1, &block);
}

static strads_err ignore_an_error(strads_turn *turn)
{
    (void)name_no_owner(turn);
    return STRADS_OK;
}

Test(engine_error, a_schedules_impossible_decision_ends_the_run)
{
    const strads_phase called[] = {{.name = "move",
                                    .when = STRADS_WHEN_CALLED,
                                    .update = toy_does_nothing},
                                   {.name = "probe",
                                    .when = STRADS_WHEN_PROBE,
                                    .update = probe_nan},
                                   {.name = "own",
                                    .to = STRADS_TO_OWNER,
                                    .when = STRADS_WHEN_CALLED,
                                    .update = toy_does_nothing}};
    strads_program p = {.size = sizeof p,
                        .name = "turns",
                        .phases = called,
                        .n_phases = 3};
    p.schedule = decide_nothing;
    refuse(&p, NULL, "decided nothing");
    p.schedule = decide_twice;
    refuse(&p, NULL, "decided twice");
    p.schedule = wait_for_nothing;
    refuse(&p, NULL, "waits although");
    p.schedule = name_no_phase;
    refuse(&p, NULL, "phase 9");
    p.schedule = name_probes;
    refuse(&p, NULL, "phase probe");
    p.schedule = name_no_parameter;
    refuse(&p, NULL, "parameter 17");
    p.schedule = name_no_owner;
    refuse(&p, NULL, "partition 40");
    p.schedule = ignore_an_error;
    refuse(&p, NULL, "decided nothing");
}

/* ---- packed data --------------------------------------------------------- */

typedef struct fields {
    double number;
    uint32_t n;
    uint8_t byte[3];
} fields;

static void pass_fields(strads_walk *w, fields *f)
{
    strads_walk_pass(w, &f->number, sizeof f->number);
    strads_walk_pass(w, &f->n, sizeof f->n);
    strads_walk_pass(w, f->byte, f->n);
}

static strads_err pack_fields(const void *object, strads_bytes *out)
{
    fields copy = *(const fields *)object;
    strads_walk w = {.out = out};
    pass_fields(&w, &copy);
    return w.err;
}

Test(engine_error, a_walk_reads_its_own_bytes_and_detects_missing_ones)
{
    enum { SIZE = sizeof(double) + sizeof(uint32_t) + 2 };
    const fields packed = {.number = .1, .n = 2, .byte = {7, 8}};
    char copy[SIZE + 1] = {0};
    sti_buffer *bytes = NULL;
    expect_ok(sti_checkpoint_pack(pack_fields, &packed, &bytes));
    cr_assert_eq(bytes->size, SIZE);
    memcpy(copy, bytes->bytes, SIZE);
    sti_object_drop(bytes);
    for (size_t size = 0; size <= SIZE + 1; size++) {
        fields read = {0};
        strads_walk w = {.from = copy, .end = copy + size};
        pass_fields(&w, &read);
        cr_expect_eq(strads_walk_fits(&w), size == SIZE, "%zu bytes", size);
        if (size >= SIZE)
            cr_expect(read.number == .1 && read.n == 2 && read.byte[1] == 8);
    }
}
