/* The shard driven by hand: pushes in any order, and its jobs when the test
 * wants them. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/round/job.h"
#include "engine/store/shard.h"

enum { PUSHES = 12 };

typedef struct hand {
    sti_kept *kept;
    sti_shard *shard;
    sti_effects effects;
    sti_buffer *push[PUSHES + 1]; /* by number; push k adds k to row 0 */
    uint64_t acknowledged;        /* the last answer */
    uint32_t answers, fails;
    sti_job *job;
    uint32_t jobs;
} hand;

static void open_hand(hand *h)
{
    *h = (hand){0};
    const strads_table_spec spec = {.name = "sum",
                                    .type = STRADS_F64,
                                    .rows = 1,
                                    .cols = 1};
    const sti_push_part table = {.kind = STI_PUSH_TABLE, .spec = spec};
    for (uint32_t k = 1; k <= PUSHES; k++) {
        const double delta = k;
        const sti_push_part rows = {.kind = STI_PUSH_ROWS,
                                    .n = 1,
                                    .places = &(uint32_t){0},
                                    .cells = &delta,
                                    .cell_bytes = sizeof delta};
        cr_assert_eq(sti_buffer_new(0, &h->push[k]), STRADS_OK);
        if (k == 1)
            cr_assert_eq(sti_push_append(h->push[k], &table), STRADS_OK);
        cr_assert_eq(sti_push_append(h->push[k], &rows), STRADS_OK);
    }
    const sti_kept_setup setup = {.shards = 1, .streams = 1};
    cr_assert_eq(sti_kept_open(&setup, &h->kept), STRADS_OK);
    cr_assert_eq(sti_shard_new(&(sti_shard_setup){.kept = h->kept,
                                                  .first_client =
                                                      STI_COORDINATOR},
                               &h->shard),
                 STRADS_OK);
}

static void close_hand(hand *h)
{
    for (uint32_t k = 1; k <= PUSHES; k++)
        sti_object_drop(h->push[k]);
    sti_effects_free(&h->effects);
    sti_shard_free(h->shard);
    sti_kept_free(h->kept);
}

static void tell(hand *h, const sti_event *event)
{
    sti_shard_step(h->shard, event, 1, &h->effects);
    for (size_t k = 0; k < h->effects.n; k++) {
        const sti_effect *e = &h->effects.at[k];
        if (e->kind == STI_EFFECT_COMPUTE) {
            cr_assert_null(h->job, "two jobs at once");
            h->job = e->job;
            h->jobs++;
        } else if (e->msg.kind == STI_MSG_ACK) {
            cr_assert_geq(e->msg.round, h->acknowledged, "it went back");
            h->acknowledged = e->msg.round;
            h->answers++;
        } else {
            h->fails += e->msg.kind == STI_MSG_FAIL;
            sti_object_drop(e->msg.object);
        }
    }
    h->effects.n = 0;
}

static void send(hand *h, uint32_t number)
{
    tell(h, &(sti_event){.msg = {.kind = STI_MSG_PUSH,
                                 .to = STI_SHARD_0,
                                 .round = number,
                                 .object = sti_object_keep(h->push[number])}});
}

static void work(hand *h)
{
    sti_job *job = h->job;
    h->job = NULL;
    sti_job_run(NULL, job);
    tell(h, &(sti_event){.kind = STI_EVENT_DONE, .job = job});
}

static double sum(const hand *h)
{
    return *(const double *)strads_store_dense(sti_kept_store(h->kept), 0);
}

Test(role_shard, pushes_that_come_while_it_works_are_one_job_and_one_answer)
{
    hand h;
    open_hand(&h);
    for (uint32_t k = 1; k <= 5; k++)
        send(&h, k);
    work(&h);
    cr_assert_eq(h.acknowledged, 1);
    work(&h);
    cr_assert_eq(h.acknowledged, 5);
    cr_assert_eq(h.jobs, 2);
    cr_assert_eq(h.answers, 2);
    cr_assert_float_eq(sum(&h), 15, 0);
    close_hand(&h);
}

Test(role_shard, a_push_that_comes_again_is_acknowledged_and_not_applied)
{
    hand h;
    open_hand(&h);
    send(&h, 1);
    send(&h, 1); /* while the first is at work */
    work(&h);
    send(&h, 1); /* and after it */
    cr_assert_null(h.job);
    cr_assert_eq(h.acknowledged, 1);
    cr_assert_float_eq(sum(&h), 1, 0);
    close_hand(&h);
}

Test(role_shard, what_comes_too_early_is_not_taken_until_what_is_missing_came)
{
    hand h;
    open_hand(&h);
    send(&h, 1);
    work(&h);
    send(&h, 3);
    cr_assert_null(h.job);
    cr_assert_eq(h.acknowledged, 1, "it must say from where on to send again");
    send(&h, 2);
    send(&h, 3);
    work(&h);
    work(&h);
    cr_assert_eq(h.acknowledged, 3);
    cr_assert_float_eq(sum(&h), 6, 0);
    close_hand(&h);
}

Test(role_shard, a_push_that_does_not_fit_fails_the_run_once)
{
    hand h;
    open_hand(&h);
    send(&h, 1);
    work(&h);
    h.push[2]->bytes[4] ^= 1; /* of table 1, which is not there */
    send(&h, 2);
    send(&h, 3);
    work(&h);
    cr_assert_eq(h.fails, 1);
    cr_assert_null(h.job, "it goes on after a push that it could not apply");
    cr_assert_eq(h.acknowledged, 1);
    close_hand(&h);
}

/* ---- several clients, clocks, asks ------------------------------------- */

/* Shard 1 of 2 of one table, two clients with a worker each. */
typedef struct two {
    sti_kept *kept;
    sti_shard *shard;
    sti_msg sent[32];
    uint32_t n_sent;
    uint64_t number[2];
    uint64_t timer;
} two;

static void open_two(two *t)
{
    const strads_table_spec spec = {.name = "rows",
                                    .type = STRADS_F64,
                                    .rows = 1001,
                                    .cols = 1,
                                    .snapshot_every = 1};
    const sti_kept_setup setup = {.shard = 1,
                                  .shards = 2,
                                  .streams = 2,
                                  .workers = 2,
                                  .tables = &spec,
                                  .n_tables = 1};
    *t = (two){0};
    cr_assert_eq(sti_kept_open(&setup, &t->kept), STRADS_OK);
    cr_assert_eq(sti_shard_new(&(sti_shard_setup){.kept = t->kept,
                                                  .first_client = STI_CLIENT_0},
                               &t->shard),
                 STRADS_OK);
}

static void close_two(two *t)
{
    for (uint32_t k = 0; k < t->n_sent; k++)
        sti_object_drop(t->sent[k].object);
    sti_shard_free(t->shard);
    sti_kept_free(t->kept);
}

/* Tells it, and carries out its jobs until there are none. */
static void tell_two(two *t, sti_event event)
{
    sti_effects effects = {0};
    sti_shard_step(t->shard, &event, 1, &effects);
    for (size_t k = 0; k < effects.n; k++) {
        const sti_effect e = effects.at[k];
        if (e.kind == STI_EFFECT_SEND) {
            t->sent[t->n_sent++] = e.msg;
            continue;
        }
        if (e.kind == STI_EFFECT_TIMER) {
            t->timer = e.at;
            continue;
        }
        sti_job_run(NULL, e.job);
        event = (sti_event){.kind = STI_EVENT_DONE, .job = e.job};
        sti_shard_step(t->shard, &event, 1, &effects);
    }
    effects.n = 0;
    sti_effects_free(&effects);
}

/* Client c's worker c ends a clock with 1 added to a row. */
static sti_event next_clock(two *t, uint32_t c, uint32_t row)
{
    sti_buffer *push;
    cr_assert_eq(sti_buffer_new(0, &push), STRADS_OK);
    const sti_push_part mark = {.kind = STI_PUSH_MARK,
                                .worker = c,
                                .end = STI_PUSH_CLOCK,
                                .clock = t->number[c]};
    const double one = 1;
    const sti_push_part rows = {.kind = STI_PUSH_ROWS,
                                .n = 1,
                                .places = &row,
                                .cells = &one,
                                .cell_bytes = sizeof one};
    cr_assert_eq(sti_push_append(push, &mark), STRADS_OK);
    cr_assert_eq(sti_push_append(push, &rows), STRADS_OK);
    return (sti_event){.msg = {.kind = STI_MSG_PUSH,
                               .from = STI_CLIENT_0 + c,
                               .round = ++t->number[c],
                               .object = &push->head}};
}

static void end_clock(two *t, uint32_t c, uint32_t row)
{
    tell_two(t, next_clock(t, c, row));
}

static void ask_for(two *t, uint32_t c, uint64_t id, uint64_t needs, bool exact)
{
    sti_row_ask *ask;
    cr_assert_eq(sti_row_ask_new(1, &ask), STRADS_OK);
    ask->id = id;
    ask->needs = needs;
    ask->worker = c;
    ask->exact = exact;
    ask->rows[0] = 5;
    tell_two(t, (sti_event){.msg = {.kind = STI_MSG_ASK_ROWS,
                                    .from = STI_CLIENT_0 + c,
                                    .object = &ask->head}});
}

/* The answer that was sent last. */
static const sti_row_answer *answered(const two *t, double *value)
{
    const sti_msg *last = &t->sent[t->n_sent - 1];
    cr_assert_eq(last->kind, STI_MSG_ROWS);
    const sti_row_answer *answer = (const sti_row_answer *)last->object;
    sti_push_part part;
    strads_err err;
    size_t at = 0;
    if (sti_push_next(answer->parts, &at, &part, &err)) {
        cr_assert_eq(part.places[0], 5);
        memcpy(value, part.cells, sizeof *value);
    }
    return answer;
}

Test(role_shard, an_ask_waits_for_its_clock_and_a_later_one_replaces_it)
{
    two t;
    double value = 0;
    open_two(&t);
    ask_for(&t, 0, 1, 1, false);
    ask_for(&t, 0, 2, 2, false);
    ask_for(&t, 0, 1, 0, false); /* late */
    end_clock(&t, 0, 5);
    end_clock(&t, 0, 5);
    end_clock(&t, 1, 5);
    for (uint32_t k = 0; k < t.n_sent; k++)
        cr_assert_eq(t.sent[k].kind, STI_MSG_ACK);
    end_clock(&t, 1, 5);
    const sti_row_answer *answer = answered(&t, &value);
    cr_assert_eq(answer->id, 2);
    cr_assert_eq(answer->as_of, 2);
    cr_assert_eq(answer->applied, 2);
    cr_assert_float_eq(value, 4, 0);
    close_two(&t);
}

Test(role_shard, a_snapshot_holds_its_clock_and_nothing_later)
{
    two t;
    double value = 0;
    open_two(&t);
    for (uint32_t k = 0; k < 3; k++)
        end_clock(&t, 0, 5);
    end_clock(&t, 1, 5);
    ask_for(&t, 1, 1, 1, true);
    cr_assert_not(answered(&t, &value)->gone);
    cr_assert_float_eq(value, 2, 0);
    end_clock(&t, 1, 5);
    ask_for(&t, 1, 2, 1, true);
    cr_assert(answered(&t, &value)->gone);
    close_two(&t);
}

Test(role_shard, a_row_of_another_shard_fails_the_run)
{
    two t;
    open_two(&t);
    end_clock(&t, 0, 4);
    cr_assert_eq(t.sent[t.n_sent - 1].kind, STI_MSG_FAIL);
    close_two(&t);
}

Test(role_shard, it_keeps_and_counts_its_own_rows_only)
{
    two t;
    open_two(&t);
    cr_assert_eq(strads_store_spec(sti_kept_store(t.kept), 0)->rows, 500);
    cr_assert_lt(strads_store_bytes(sti_kept_store(t.kept)), 501 * 8 + 64);
    close_two(&t);
}

Test(role_shard, after_a_restart_each_client_is_told_where_it_stands)
{
    two t;
    open_two(&t);
    end_clock(&t, 1, 5);
    uint32_t before = t.n_sent;
    tell_two(&t, (sti_event){.kind = STI_EVENT_START});
    cr_assert_eq(t.n_sent, before + 2);
    for (uint32_t c = 0; c < 2; c++) {
        cr_assert_eq(t.sent[before + c].kind, STI_MSG_ATTACHED);
        cr_assert_eq(t.sent[before + c].to, STI_CLIENT_0 + c);
        cr_assert_eq(t.sent[before + c].round, c);
    }
    close_two(&t);
}

/* Until they have said what they were told, in a network that loses that. */
Test(role_shard, after_a_restart_those_who_are_silent_are_told_again)
{
    two t;
    open_two(&t);
    end_clock(&t, 1, 5);
    tell_two(&t, (sti_event){.kind = STI_EVENT_START, .now = 7});
    cr_assert_gt(t.timer, 7);
    tell_two(&t, (sti_event){.msg = {.kind = STI_MSG_SETTLED,
                                     .from = STI_CLIENT_0 + 1,
                                     .round = 1}});
    uint32_t before = t.n_sent;
    tell_two(&t, (sti_event){.kind = STI_EVENT_TIMER, .now = t.timer});
    cr_assert_eq(t.n_sent, before + 1);
    cr_assert_eq(t.sent[before].kind, STI_MSG_ATTACHED);
    cr_assert_eq(t.sent[before].to, STI_CLIENT_0);
    tell_two(&t, (sti_event){
                     .msg = {.kind = STI_MSG_SETTLED, .from = STI_CLIENT_0}});
    tell_two(&t, (sti_event){.kind = STI_EVENT_TIMER, .now = t.timer});
    cr_assert_eq(t.n_sent, before + 1);
    close_two(&t);
}

Test(role_shard, who_was_told_of_more_than_there_is_ends_the_run)
{
    two t;
    open_two(&t);
    end_clock(&t, 1, 5);
    tell_two(&t, (sti_event){.kind = STI_EVENT_START});
    tell_two(&t, (sti_event){.msg = {.kind = STI_MSG_SETTLED,
                                     .from = STI_CLIENT_0 + 1,
                                     .round = 3}});
    const sti_msg *last = &t.sent[t.n_sent - 1];
    cr_assert_eq(last->kind, STI_MSG_FAIL);
    cr_assert_eq(last->to, STI_COORDINATOR);
    const sti_failure *failure = (const sti_failure *)last->object;
    cr_assert_eq(failure->err, STRADS_EIO);
    cr_expect(strstr(failure->text,
                     "shard 1 has lost what its disk had said was synced: "
                     "client 1 was told that its pushes up to 3 are kept, the "
                     "journal ends at 1 (clock 0)"),
              "%s", failure->text);
    close_two(&t);
}

/* Until then a push of its former life may still come before its next one. */
Test(role_shard, one_who_attaches_is_answered_when_all_that_was_accepted_is_in)
{
    two t;
    open_two(&t);
    sti_effects effects = {0};
    sti_event events[] = {
        next_clock(&t, 0, 5),
        {.msg = {.kind = STI_MSG_ATTACH, .from = STI_CLIENT_0, .life = 9}}};
    sti_shard_step(t.shard, &events[0], 1, &effects);
    cr_assert_eq(effects.n, 1);
    cr_assert_eq(effects.at[0].kind, STI_EFFECT_COMPUTE);
    sti_job *job = effects.at[0].job;
    effects.n = 0;
    sti_shard_step(t.shard, &events[1], 1, &effects);
    cr_assert_eq(effects.n, 0, "it is answered at once");
    sti_effects_free(&effects);
    sti_job_run(NULL, job);
    tell_two(&t, (sti_event){.kind = STI_EVENT_DONE, .job = job});
    const sti_msg *last = &t.sent[t.n_sent - 1];
    cr_assert_eq(last->kind, STI_MSG_ATTACHED);
    cr_assert_eq(last->round, 1);
    cr_assert_eq(last->life, 9);
    close_two(&t);
}
