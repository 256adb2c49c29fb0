/* When phases run, and which phases run together: compares a log of commits
 * with the order that the header promises, and checks what updates see in
 * flight. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

enum { PARAMETERS = 6, LOG_MAX = 256 };

/* Phases in the order of their commits. */
typedef struct log {
    uint32_t n;
    uint32_t phase[LOG_MAX];
    uint32_t scans;
    uint32_t stop_after; /* scans */
} log;

typedef struct phases_config {
    log *log;
} phases_config;

TOY_SHAPE(six_parameters, shape->parameters = PARAMETERS, shape->block_max = 2)

static strads_err begin_log(const void *config, const strads_data *data,
                            const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    *state = ((const phases_config *)config)->log;
    return STRADS_OK;
}

static strads_err note(strads_commit *commit)
{
    log *l = commit->state;
    TOY_CHECK(l->n < LOG_MAX);
    l->phase[l->n++] = commit->phase;
    return STRADS_OK;
}

static void check_log(const log *l, const uint32_t *want, uint32_t n)
{
    cr_assert_eq(l->n, n, "%u commits, expected %u", l->n, n);
    for (uint32_t k = 0; k < n; k++)
        cr_assert_eq(l->phase[k], want[k], "commit %u: phase %u, not %u", k,
                     l->phase[k], want[k]);
}

/* ---- REST, POLICY -------------------------------------------------------- */

enum { SCAN, UNUSED, MOVE, AGAIN, N_PHASES };

static strads_err runs_alone(strads_task *task)
{
    TOY_CHECK(task->n_in_flight == 0);
    TOY_CHECK(task->block.n == PARAMETERS);
    TOY_CHECK(task->block.param == NULL && task->block.first == 0);
    return STRADS_OK;
}

static strads_err runs_beside_moves(strads_task *task)
{
    for (uint32_t k = 0; k < task->n_in_flight; k++)
        TOY_CHECK(task->in_flight[k].id >= STRADS_POLICY_BLOCK_IDS);
    return STRADS_OK;
}

static strads_err never_runs(strads_task *task)
{
    return strads_fail(STRADS_EPROGRAM, "phase %u ran", task->phase);
}

/* REST and moves change all parameters by 1, in alternating phases. */
static strads_err note_scan(strads_commit *commit)
{
    log *l = commit->state;
    TOY_CHECK(strads_commit_pairs(commit) == NULL);
    for (uint32_t k = 0; k < PARAMETERS; k++) {
        TOY_CHECK(commit->value[k] ==
                  3 * l->scans + (commit->phase == AGAIN ? 1 : 0));
        TOY_CHECK(commit->change[k] == 0 && commit->priority[k] < 0);
        commit->change[k] = 1;
    }
    l->scans += commit->phase == AGAIN;
    return note(commit);
}

static strads_err note_move(strads_commit *commit)
{
    for (uint32_t k = 0; k < commit->block.n; k++) {
        TOY_CHECK(commit->change[k] == 0);
        TOY_CHECK(commit->priority[k] < 0);
        commit->change[k] = 1;
    }
    return note(commit);
}

static strads_err stop_after_scans(void *state, strads_report *report)
{
    const log *l = state;
    report->objective = l->scans;
    report->stop = l->scans == l->stop_after;
    return STRADS_OK;
}

static const strads_phase automatic_phases[N_PHASES] = {
    [SCAN] = {.name = "scan",
              .when = STRADS_WHEN_REST,
              .update = runs_alone,
              .aggregate = note_scan},
    [UNUSED] = {.name = "unused",
                .when = STRADS_WHEN_CALLED,
                .update = never_runs},
    [MOVE] = {.name = "move",
              .update = runs_beside_moves,
              .aggregate = note_move},
    [AGAIN] = {.name = "again",
               .when = STRADS_WHEN_REST,
               .reports = true,
               .update = runs_alone,
               .aggregate = note_scan},
};

static const strads_program automatic = {.size = sizeof(strads_program),
                                         .name = "phases",
                                         .shape = six_parameters,
                                         .begin = begin_log,
                                         .phases = automatic_phases,
                                         .n_phases = N_PHASES,
                                         .objective = stop_after_scans};

Test(engine_phases, rest_phases_run_first_and_whenever_the_policy_is_idle)
{
    const uint32_t want[] = {SCAN,  AGAIN, MOVE, MOVE, MOVE, SCAN,
                             AGAIN, MOVE,  MOVE, MOVE, SCAN, AGAIN};
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            log l = {.stop_after = 3};
            const phases_config config = {.log = &l};
            strads_result *result =
                expect_run(&automatic, &config,
                           (strads_engine_options){.workers = workers,
                                                   .policy_plugin =
                                                       &toy_sweep_policy,
                                                   .depth = depth,
                                                   .deterministic = true});
            check_log(&l, want, sizeof want / sizeof *want);
            cr_assert_eq(strads_result_end(result), STRADS_END_STOPPED);
            const strads_progress *p = strads_result_progress(result);
            cr_assert_eq(p->round, sizeof want / sizeof *want);
            cr_assert_eq(p->objective, 3);
            cr_assert_eq(p->blocks, 6);
            cr_assert_eq(p->updates_policy, 12);
            cr_assert_eq(p->updates_other, 36);
            strads_result_free(result);
        }
}

/* ---- schedule ---------------------------------------------------------- */

typedef struct turns {
    log log;
    uint32_t asked, waited, in_flight_before;
    uint32_t rests;
} turns;

typedef struct turns_config {
    turns *turns;
    uint32_t depth;
    bool keeps_values;
} turns_config;

static strads_err begin_turns(const void *config, const strads_data *data,
                              const strads_shape *shape, void **state)
{
    (void)data, (void)shape;
    *state = ((const turns_config *)config)->turns;
    return STRADS_OK;
}

enum { FREE, DRAINS, CALLED_PHASES };
enum { CALLED_ROUNDS = 30 };

/* Every third round is exclusive. Some turns wait for a commit; then fewer
 * rounds must be in flight. */
static strads_err call_phases(strads_turn *turn)
{
    const turns_config *config = turn->config;
    turns *t = turn->state;
    t->asked++;
    TOY_CHECK(turn->in_flight <= config->depth);
    TOY_CHECK(!turn->idle);
    if (t->waited)
        TOY_CHECK(turn->in_flight < t->in_flight_before);
    t->waited = turn->in_flight > 0 && t->asked % 4 == 0;
    t->in_flight_before = turn->in_flight;
    if (t->waited)
        return strads_turn_wait(turn);
    if (turn->round > CALLED_ROUNDS)
        return strads_turn_stop(turn);
    if (turn->round == 3)
        return strads_turn_all(turn, DRAINS);
    const strads_block block = {.id = turn->round, .n = 2, .first = 1};
    return strads_turn_dispatch(turn, turn->round % 3 ? FREE : DRAINS, 1,
                                &block);
}

static strads_err sees_no_draining(strads_task *task)
{
    const turns_config *config = task->config;
    TOY_CHECK(task->n_in_flight <= config->depth);
    TOY_CHECK(task->value == NULL);
    for (uint32_t k = 0; k < task->n_in_flight; k++)
        TOY_CHECK(task->in_flight[k].id % 3 != 0);
    return STRADS_OK;
}

static strads_err drains(strads_task *task)
{
    TOY_CHECK(task->n_in_flight == 0);
    TOY_CHECK(task->value != NULL);
    TOY_CHECK(task->block.n == (task->round == 3 ? PARAMETERS : 2));
    return STRADS_OK;
}

static strads_err note_turn(strads_commit *commit)
{
    turns *t = commit->state;
    const turns_config *config = commit->config;
    const bool kept = config->keeps_values && commit->phase == FREE;
    TOY_CHECK((commit->change == NULL) == kept);
    TOY_CHECK((commit->value == NULL) == kept);
    TOY_CHECK((commit->priority == NULL) == kept);
    TOY_CHECK(commit->round == t->log.n + 1);
    t->log.phase[t->log.n++] = commit->phase;
    return STRADS_OK;
}

static void run_called(bool keeps, uint32_t depth, uint32_t workers)
{
    const strads_phase phases[CALLED_PHASES] = {
        [FREE] = {.name = "free",
                  .when = STRADS_WHEN_CALLED,
                  .ignores_values = true,
                  .keeps_values = keeps,
                  .update = sees_no_draining,
                  .aggregate = note_turn},
        [DRAINS] = {.name = "drains",
                    .when = STRADS_WHEN_CALLED,
                    .exclusive = true,
                    .update = drains,
                    .aggregate = note_turn}};
    const strads_program program = {.size = sizeof program,
                                    .name = "called",
                                    .shape = six_parameters,
                                    .begin = begin_turns,
                                    .schedule = call_phases,
                                    .phases = phases,
                                    .n_phases = CALLED_PHASES};
    turns t = {0};
    const turns_config config = {.turns = &t,
                                 .depth = depth,
                                 .keeps_values = keeps};
    strads_result_free(
        expect_run(&program, &config,
                   (strads_engine_options){.workers = workers,
                                           .depth = depth,
                                           .deterministic = true}));
    cr_assert_eq(t.log.n, CALLED_ROUNDS);
    for (uint32_t k = 0; k < CALLED_ROUNDS; k++)
        cr_assert_eq(t.log.phase[k], (k + 1) % 3 ? FREE : DRAINS);
}

Test(engine_phases, a_program_calls_its_phases_and_a_draining_one_runs_alone)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            run_called(false, depth, workers);
            run_called(true, depth, workers);
        }
}

Test(engine_phases,
     a_phase_that_looks_at_values_or_is_not_called_cannot_keep_them)
{
    strads_phase phase = {.name = "free",
                          .when = STRADS_WHEN_CALLED,
                          .keeps_values = true,
                          .update = drains,
                          .aggregate = note_turn};
    const strads_program program = {.size = sizeof program,
                                    .name = "keeps",
                                    .shape = six_parameters,
                                    .schedule = call_phases,
                                    .phases = &phase,
                                    .n_phases = 1};
    for (uint32_t ignores = 0; ignores < 2; ignores++) {
        phase.ignores_values = ignores;
        phase.when = ignores ? STRADS_WHEN_POLICY : STRADS_WHEN_CALLED;
        expect_error(toy_run_it(&(toy_run){.program = &program}, NULL),
                     STRADS_EINVAL, "can keep them");
    }
}

/* The policy's blocks until it is idle, then a scan; twice. */
static strads_err until_idle(strads_turn *turn)
{
    turns *t = turn->state;
    if (!turn->idle)
        return t->rests == 2 ? strads_turn_stop(turn)
                             : strads_turn_policy(turn, MOVE);
    t->rests++;
    return strads_turn_all(turn, SCAN);
}

static strads_err note_policy_turn(strads_commit *commit)
{
    turns *t = commit->state;
    TOY_CHECK((commit->block.id >= STRADS_POLICY_BLOCK_IDS) ==
              (commit->phase == MOVE));
    t->log.phase[t->log.n++] = commit->phase;
    return STRADS_OK;
}

Test(engine_phases, schedule_is_called_when_the_policy_is_idle)
{
    const strads_phase phases[] = {[SCAN] = {.name = "scan",
                                             .when = STRADS_WHEN_CALLED,
                                             .exclusive = true,
                                             .update = toy_does_nothing,
                                             .aggregate = note_policy_turn},
                                   [UNUSED] = {.name = "unused",
                                               .when = STRADS_WHEN_REST,
                                               .update = never_runs},
                                   [MOVE] = {.name = "move",
                                             .when = STRADS_WHEN_CALLED,
                                             .update = toy_does_nothing,
                                             .aggregate = note_policy_turn}};
    const strads_program program = {.size = sizeof program,
                                    .name = "rests",
                                    .shape = six_parameters,
                                    .begin = begin_turns,
                                    .schedule = until_idle,
                                    .phases = phases,
                                    .n_phases = 3};
    const uint32_t want[] = {MOVE, MOVE, MOVE, SCAN, MOVE, MOVE, MOVE, SCAN};
    for (uint32_t depth = 0; depth <= 4; depth++) {
        turns t = {0};
        const turns_config config = {.turns = &t};
        strads_result_free(
            expect_run(&program, &config,
                       (strads_engine_options){.workers = 2,
                                               .policy_plugin =
                                                   &toy_sweep_policy,
                                               .depth = depth,
                                               .deterministic = true}));
        check_log(&t.log, want, sizeof want / sizeof *want);
    }
}

/* ---- results for every worker ------------------------------------------ */

enum { TOLD_ROUNDS = 25 };

/* The results that a partition received: a merged number of each round, in
 * order. */
typedef struct told {
    uint64_t rounds;
    double sum;
} told;

TOY_OPEN(open_told, sizeof(told))

static strads_err tell_rounds(strads_turn *turn)
{
    if (turn->round > TOLD_ROUNDS)
        return strads_turn_stop(turn);
    const uint32_t params[] = {4, 1};
    const strads_block block = {.id = turn->round, .n = 2, .param = params};
    return strads_turn_dispatch(turn, 0, 1, &block);
}

static double merged_of(uint64_t round, uint32_t partitions)
{
    return (double)(round * partitions * (partitions + 1) / 2);
}

static strads_err compute_told(strads_task *task)
{
    const told *t = task->local;
    TOY_CHECK(t->rounds + task->n_in_flight + 1 == task->round);
    double want = 0;
    for (uint64_t r = 1; r <= t->rounds; r++)
        want += merged_of(r, task->share->partitions);
    TOY_CHECK(t->sum == want);
    task->partial[0] = (double)(task->round * (task->share->partition + 1));
    return STRADS_OK;
}

static strads_err receive(strads_task *task)
{
    told *t = task->local;
    TOY_CHECK(task->partial_bytes == 2 * sizeof(double));
    TOY_CHECK(task->block.n == 2 && task->block.param[0] == 4);
    TOY_CHECK(task->block.id == t->rounds + 1);
    t->rounds++;
    t->sum += task->partial[0];
    return STRADS_OK;
}

Test(engine_phases, workers_receive_a_result_before_later_updates)
{
    const strads_phase phase = {.name = "told",
                                .when = STRADS_WHEN_CALLED,
                                .result = STRADS_RESULT_WORKERS,
                                .update = compute_told,
                                .receive = receive};
    const strads_program program = {.size = sizeof program,
                                    .name = "told",
                                    .shape = six_parameters,
                                    .open = open_told,
                                    .close = free,
                                    .schedule = tell_rounds,
                                    .phases = &phase,
                                    .n_phases = 1};
    for (uint32_t depth = 0; depth <= 4; depth++)
        for (uint32_t workers = 1; workers <= 4; workers *= 2) {
            strads_result_free(
                expect_run(&program, NULL,
                           (strads_engine_options){.workers = workers,
                                                   .partitions = 5,
                                                   .depth = depth,
                                                   .deterministic = true}));
        }
}
