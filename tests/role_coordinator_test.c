/* The coordinator with real jobs and a real scheduler; the test acts as the
 * workers. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/roles.h"
#include "engine/round/tree.h"
#include "engine/run/run_setup.h"
#include "tests/expect.h"
#include "tests/toy_data.h"
#include "tests/toy_policy.h"

enum { OUT_MAX = 64, LOG_MAX = 256 };

typedef struct hand {
    strads_data *data;
    sti_setup setup;
    sti_coordinator *coordinator;
    sti_scheduler *scheduler;
    sti_effects effects;
    sti_msg out[OUT_MAX]; /* unanswered dispatches */
    uint32_t n_out, most_out, reports;
    bool ended;
    strads_err err;
    char text[1024];
} hand;

/* Rounds in the order of their commits. */
typedef struct commits {
    uint32_t n;
    uint64_t round[LOG_MAX];
} commits;

TOY_BEGIN(log_begin, sizeof(commits))

static strads_err never(strads_task *task)
{
    (void)task;
    return strads_fail(STRADS_EPROGRAM, "an update ran at the coordinator");
}

static strads_err log_commit(strads_commit *commit)
{
    commits *c = commit->state;
    TOY_CHECK(c->n < LOG_MAX);
    c->round[c->n++] = commit->round;
    commit->change[0] = 1;
    return STRADS_OK;
}

TOY_SHAPE(three_a_block, shape->block_max = 3)

static const strads_program program = {.size = sizeof(strads_program),
                                       .name = "by-hand",
                                       .shape = three_a_block,
                                       .begin = log_begin,
                                       .end = free,
                                       .update = never,
                                       .aggregate = log_commit};

static const commits *log_of(const hand *h)
{
    return h->setup.run.state;
}

static void tell(hand *h, sti_address to, const sti_event *event)
{
    if (to == STI_COORDINATOR)
        sti_coordinator_step(h->coordinator, event, 1, &h->effects);
    else
        sti_scheduler_step(h->scheduler, event, 1, &h->effects);
}

/* Performs one effect; a dispatch waits for the test's answer. */
static void carry_out(hand *h, const sti_effect *effect)
{
    if (effect->kind == STI_EFFECT_COMPUTE) {
        sti_job_run(&h->setup.run, effect->job);
        const sti_event done = {.kind = STI_EVENT_DONE, .job = effect->job};
        tell(h, effect->job->role, &done);
    } else if (effect->kind == STI_EFFECT_SEND) {
        const sti_event event = {.msg = effect->msg};
        if (effect->msg.to < STI_WORKER_0)
            tell(h, effect->msg.to, &event);
        else
            h->out[h->n_out++] = effect->msg;
        if (h->n_out > h->most_out)
            h->most_out = h->n_out;
    } else if (effect->kind == STI_EFFECT_REPORT) {
        h->reports++;
    } else {
        h->ended = true;
        h->err = effect->err;
        (void)snprintf(h->text, sizeof h->text, "%s", strads_error_text());
    }
}

static void settle(hand *h)
{
    for (size_t k = 0; k < h->effects.n; k++) {
        const sti_effect effect = h->effects.at[k];
        carry_out(h, &effect);
    }
    h->effects.n = 0;
}

static void tell_coordinator(hand *h, const sti_event *event)
{
    tell(h, STI_COORDINATOR, event);
    settle(h);
}

static void open_hand(hand *h, strads_engine_options options)
{
    memset(h, 0, sizeof *h);
    options.size = sizeof options;
    options.partitions = options.partitions ? options.partitions : 1;
    options.policy_plugin = &toy_sweep_policy;
    h->data =
        toy_data(&program, 9 * options.partitions, 17, options.partitions);
    const sti_layout layout = {.workers = 1, .count = 1};
    expect_ok(
        sti_setup_make(&h->setup, &program, NULL, h->data, &options, &layout));
    cr_assert_eq(sti_coordinator_new(&h->setup.run, &h->coordinator),
                 STRADS_OK);
    cr_assert_eq(sti_scheduler_new(&h->setup.run, 0, &h->scheduler), STRADS_OK);
    tell_coordinator(h, &(sti_event){.kind = STI_EVENT_START});
}

static void close_hand(hand *h)
{
    for (uint32_t k = 0; k < h->n_out; k++)
        sti_object_drop(h->out[k].object);
    sti_effects_free(&h->effects);
    sti_coordinator_free(h->coordinator);
    sti_scheduler_free(h->scheduler);
    sti_setup_free(&h->setup, false);
    strads_data_free(h->data);
}

/* Returns the workers' answer to a dispatch, with `more` excess bytes. */
static sti_msg partial_of(const sti_msg *dispatch, size_t more)
{
    const sti_dispatch *d = (const sti_dispatch *)dispatch->object;
    sti_msg msg = {.kind = STI_MSG_PARTIAL, .round = dispatch->round};
    if (d->phase >= STI_PHASE_OPEN)
        return msg;
    sti_buffer *b;
    cr_assert_eq(sti_buffer_new(d->partial_at[d->n_blocks] + more, &b),
                 STRADS_OK);
    memset(b->bytes, 0, b->size);
    msg.object = &b->head;
    return msg;
}

/* Answers the k-th waiting dispatch. */
static void answer(hand *h, uint32_t k)
{
    const sti_msg dispatch = h->out[k];
    const sti_event event = {.msg = partial_of(&dispatch, 0)};
    h->n_out--;
    memmove(h->out + k, h->out + k + 1, sizeof *h->out * (h->n_out - k));
    tell_coordinator(h, &event);
    sti_object_drop(dispatch.object);
}

static uint32_t phase_out(const hand *h, uint32_t k)
{
    return ((const sti_dispatch *)h->out[k].object)->phase;
}

Test(role_coordinator, opens_first_and_closes_last_and_alone)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = 3, .max_rounds = 10});
    cr_assert_eq(h.n_out, 1);
    cr_assert_eq(phase_out(&h, 0), STI_PHASE_OPEN);
    answer(&h, 0);
    while (h.n_out && phase_out(&h, 0) != STI_PHASE_CLOSE) {
        cr_assert_not(h.ended);
        answer(&h, h.n_out - 1);
    }
    cr_assert_eq(h.n_out, 1);
    cr_assert_not(h.ended);
    answer(&h, 0);
    cr_assert(h.ended);
    cr_assert_eq(h.err, STRADS_OK, "%s", h.text);
    cr_assert_eq(sti_coordinator_end(h.coordinator), STRADS_END_ROUNDS);
    close_hand(&h);
}

/* Always answers the newest waiting dispatch, so that answers arrive in reverse
 * order. */
static void play_backwards(uint32_t depth, bool deterministic)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = depth,
                                          .max_rounds = 60,
                                          .deterministic = deterministic});
    while (h.n_out)
        answer(&h, h.n_out - 1);
    cr_assert(h.ended && h.err == STRADS_OK, "%s", h.text);
    cr_assert_eq(h.most_out, depth + 1);
    const commits *c = log_of(&h);
    cr_assert_geq(c->n, 60);
    bool in_order = true;
    for (uint32_t k = 1; k < c->n; k++)
        in_order = in_order && c->round[k] > c->round[k - 1];
    cr_assert_eq(in_order, deterministic || depth == 0);
    cr_assert_eq(sti_coordinator_progress(h.coordinator)->round, c->n);
    close_hand(&h);
}

Test(role_coordinator, commits_go_by_round_whatever_the_order_of_arrival)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        play_backwards(depth, true);
}

Test(role_coordinator, commits_go_by_arrival_when_no_order_is_promised)
{
    for (uint32_t depth = 0; depth <= 4; depth++)
        play_backwards(depth, false);
}

/* Delivers a message after OPEN and three rounds; it must end the run with
 * `says`. */
static void expect_end(sti_msg msg, strads_err err, const char *says)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = 1});
    for (uint32_t k = 0; k < 4; k++)
        answer(&h, 0);
    cr_assert_not(h.ended);
    tell_coordinator(&h, &(sti_event){.msg = msg});
    cr_assert(h.ended, "nobody minds: %s", says);
    cr_assert_eq(h.err, err);
    cr_assert_not_null(strstr(h.text, says), "'%s' does not say '%s'", h.text,
                       says);
    close_hand(&h);
}

static sti_object *bytes(size_t size)
{
    sti_buffer *b;
    cr_assert_eq(sti_buffer_new(size, &b), STRADS_OK);
    return &b->head;
}

Test(role_coordinator, an_unexpected_result_ends_the_run)
{
    const uint64_t rounds[] = {0, 3, 6, 7, 1000, UINT64_MAX};
    for (uint32_t k = 0; k < 6; k++)
        expect_end((sti_msg){.kind = STI_MSG_PARTIAL,
                             .round = rounds[k],
                             .object = bytes(24)},
                   STRADS_EPEER, "not expected");
    expect_end((sti_msg){.kind = STI_MSG_PARTIAL, .round = 4}, STRADS_EPEER,
               "not expected");
    expect_end((sti_msg){.kind = STI_MSG_PARTIAL,
                         .slice = 1,
                         .round = 4,
                         .object = bytes(24)},
               STRADS_EPEER, "not expected");
}

Test(role_coordinator, a_result_that_comes_twice_or_too_long_ends_the_run)
{
    for (size_t more = 0; more <= 8; more += 8) {
        hand h;
        open_hand(&h,
                  (strads_engine_options){.depth = 2, .deterministic = true});
        answer(&h, 0);
        cr_assert_eq(h.n_out, 3);
        const sti_event last = {.msg = partial_of(&h.out[more ? 0 : 2], more)};
        tell_coordinator(&h, &last);
        cr_assert_eq(h.ended, more != 0);
        if (more) {
            cr_assert_not_null(strstr(h.text, "32 bytes, not 24"), "%s",
                               h.text);
        } else {
            const sti_event again = {.msg = partial_of(&h.out[2], 0)};
            tell_coordinator(&h, &again);
            cr_assert_not_null(strstr(h.text, "not expected"));
        }
        cr_assert(h.ended);
        cr_assert_eq(h.err, STRADS_EPEER);
        close_hand(&h);
    }
}

/* One of many partitions answers the oldest waiting dispatch. */
static void answer_from(hand *h, uint32_t partition)
{
    sti_event event = {.msg = partial_of(&h->out[0], 0)};
    event.msg.partition = partition;
    tell_coordinator(h, &event);
}

Test(role_coordinator, a_partial_from_another_than_the_root_ends_the_run)
{
    hand h;
    open_hand(&h, (strads_engine_options){.partitions = 37});
    answer_from(&h, 0);
    sti_object_drop(h.out[0].object);
    memmove(h.out, h.out + 1, sizeof *h.out * --h.n_out);
    cr_assert_eq(h.n_out, 1, "the first round begins");
    cr_assert_not(h.ended);
    answer_from(&h, 1);
    cr_assert(h.ended);
    cr_assert_eq(h.err, STRADS_EPEER);
    cr_assert_not_null(strstr(h.text, "not expected"), "%s", h.text);
    close_hand(&h);
}

Test(role_coordinator, the_first_failure_ends_the_run_with_its_sentence)
{
    expect_end((sti_msg){.kind = STI_MSG_FAIL,
                         .object = sti_failure_object(STRADS_EIO,
                                                      "the disk is full")},
               STRADS_EIO, "the disk is full");
    expect_end((sti_msg){.kind = STI_MSG_FAIL}, STRADS_ENOMEM, "no memory");
}

Test(role_coordinator, after_the_end_nothing_is_sent_any_more)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = 2});
    answer(&h, 0);
    tell_coordinator(&h, &(sti_event){.msg = {.kind = STI_MSG_FAIL}});
    cr_assert(h.ended);
    uint32_t waiting = h.n_out;
    h.ended = false;
    const sti_event late = {.msg = partial_of(&h.out[0], 0)};
    tell_coordinator(&h, &late);
    tell_coordinator(&h, &(sti_event){.msg = {.kind = STI_MSG_FAIL}});
    tell_coordinator(&h, &(sti_event){.kind = STI_EVENT_CANCEL});
    cr_assert_not(h.ended, "it ends twice");
    cr_assert_eq(h.n_out, waiting);
    close_hand(&h);
}

Test(role_coordinator, a_cancel_commits_rounds_in_flight_and_closes)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = 2});
    for (uint32_t k = 0; k < 10; k++)
        answer(&h, 0);
    uint32_t flying = h.n_out;
    uint32_t before = log_of(&h)->n;
    cr_assert_eq(flying, 3);
    tell_coordinator(&h, &(sti_event){.kind = STI_EVENT_CANCEL});
    while (h.n_out)
        answer(&h, 0);
    cr_assert(h.ended && h.err == STRADS_OK);
    cr_assert_eq(log_of(&h)->n, before + flying);
    cr_assert_eq(sti_coordinator_end(h.coordinator), STRADS_END_CANCELED);
    close_hand(&h);
}

Test(role_coordinator, the_store_has_every_commit_when_the_run_ends)
{
    hand h;
    open_hand(&h, (strads_engine_options){.max_rounds = 10});
    while (phase_out(&h, 0) != STI_PHASE_CLOSE)
        answer(&h, 0);
    answer(&h, 0);
    cr_assert(h.ended && h.err == STRADS_OK);
    const double *w = strads_store_dense(h.setup.run.store, 0);
    double moved = 0;
    for (uint32_t j = 0; j < 17; j++)
        moved += w[j];
    cr_assert_float_eq(moved, 10, 0); /* 1 in each commit */
    close_hand(&h);
}

Test(role_coordinator, a_time_limit_is_read_from_events_alone)
{
    hand h;
    open_hand(&h, (strads_engine_options){.time_limit = 5});
    for (uint32_t k = 0; k < 10; k++)
        answer(&h, 0);
    cr_assert_eq(h.n_out, 1);
    const sti_event late = {.now = UINT64_C(6000000000),
                            .msg = partial_of(&h.out[0], 0)};
    sti_object_drop(h.out[--h.n_out].object);
    sti_coordinator_step(h.coordinator, &late, 1, &h.effects);
    const sti_effect effect = h.effects.at[0];
    cr_assert_eq(effect.kind, STI_EFFECT_COMPUTE);
    h.effects.n = 0;
    sti_job_run(&h.setup.run, effect.job);
    tell_coordinator(&h, &(sti_event){.kind = STI_EVENT_DONE,
                                      .now = UINT64_C(6000000001),
                                      .job = effect.job});
    while (h.n_out)
        answer(&h, 0);
    cr_assert(h.ended && h.err == STRADS_OK);
    cr_assert_eq(sti_coordinator_end(h.coordinator), STRADS_END_TIME);
    close_hand(&h);
}

Test(role_coordinator, messages_for_other_roles_are_dropped)
{
    hand h;
    open_hand(&h, (strads_engine_options){.depth = 0});
    const sti_msg_kind kinds[] = {STI_MSG_DISPATCH, STI_MSG_RING_STEP,
                                  STI_MSG_ASK, (sti_msg_kind)99};
    for (uint32_t k = 0; k < 4; k++)
        tell_coordinator(&h, &(sti_event){.msg = {.kind = kinds[k],
                                                  .object = bytes(8)}});
    cr_assert_not(h.ended);
    cr_assert_eq(h.n_out, 1);
    close_hand(&h);
}
