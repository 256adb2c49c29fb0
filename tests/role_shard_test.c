/* The shard driven by hand: pushes in any order, and its jobs when the test
 * wants them. */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/role/shard.h"
#include "engine/store/follower.h"

enum { PUSHES = 12 };

typedef struct hand {
    sti_run run;
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
    strads_store *store;
    uint32_t table;
    const strads_table_spec spec = {.name = "sum",
                                    .type = STRADS_F64,
                                    .rows = 1,
                                    .cols = 1};
    cr_assert_eq(strads_store_open(0, &store), STRADS_OK);
    cr_assert_eq(sti_store_follow(store), STRADS_OK);
    cr_assert_eq(strads_store_create(store, &spec, &table), STRADS_OK);
    for (uint32_t k = 1; k <= PUSHES; k++) {
        const double delta = k;
        cr_assert_eq(strads_store_inc(store, 0, 1, &(uint32_t){0}, &delta,
                                      NULL),
                     STRADS_OK);
        h->push[k] = sti_store_take(store);
    }
    strads_store_free(store);
    cr_assert_eq(sti_shard_new(&h->run, &h->shard), STRADS_OK);
}

static void close_hand(hand *h)
{
    for (uint32_t k = 1; k <= PUSHES; k++)
        sti_object_drop(h->push[k]);
    sti_effects_free(&h->effects);
    sti_shard_free(h->shard);
    strads_store_free(h->run.kept);
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
                                 .to = STI_SHARD,
                                 .round = number,
                                 .object = sti_object_keep(h->push[number])}});
}

static void work(hand *h)
{
    sti_job *job = h->job;
    h->job = NULL;
    sti_job_run(&h->run, job);
    tell(h, &(sti_event){.kind = STI_EVENT_DONE, .job = job});
}

static double sum(const hand *h)
{
    return *(const double *)strads_store_dense(h->run.kept, 0);
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
