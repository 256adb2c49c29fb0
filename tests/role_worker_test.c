/* Workers: any order of messages gives the same bits, and a message that only a
 * faulty peer sends gives a FAIL. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/partials.h"
#include "tests/toy_data.h"
#include "tests/toy_roles.h"

enum { SUMS, RING, ROUNDS = 12, BLOCKS = 3 };

static const strads_block BLOCK[BLOCKS] = {{.id = 1, .n = 2, .owner = 2},
                                           {.id = 2, .n = 1, .owner = 0},
                                           {.id = 3, .n = 3, .owner = 2}};

static double rough(uint32_t partition, uint64_t round, uint64_t block)
{
    double unit = strads_random_unit(1, partition, round * 10 + block, 0);
    return ldexp(unit - 0.5, (int)(unit * 1e6) % 80 - 40);
}

static strads_err fill(strads_task *task)
{
    for (uint32_t k = 0; k < task->block.n; k++)
        task->partial[k] =
            rough(task->share->partition, task->round, task->block.id);
    return STRADS_OK;
}

static const strads_phase PHASES[] = {
    [SUMS] = {.name = "sums", .ignores_values = true, .update = fill},
    [RING] = {.name = "ring",
              .to = STRADS_TO_RING,
              .ignores_values = true,
              .update = fill},
};

static void open_roles(toy_roles *r, uint32_t K, uint32_t workers,
                       uint32_t depth, uint64_t seed)
{
    const toy_roles_setup setup = {.phases = PHASES,
                                   .n_phases = 2,
                                   .partitions = K,
                                   .workers = workers,
                                   .depth = depth,
                                   .seed = seed};
    cr_assert_eq(toy_roles_open(r, &setup), STRADS_OK);
}

static sti_dispatch *dispatch(toy_roles *r, uint64_t seq, uint32_t phase)
{
    sti_dispatch *d;
    uint32_t n = phase < 2 ? BLOCKS : 0;
    cr_assert_eq(toy_roles_dispatch(r, seq, phase, n, BLOCK, 0, NULL, &d),
                 STRADS_OK);
    return d;
}

static sti_msg dispatch_msg(toy_roles *r, uint64_t seq, uint32_t phase)
{
    return (sti_msg){.kind = STI_MSG_DISPATCH,
                     .to = STI_WORKER_0,
                     .round = seq,
                     .object = &dispatch(r, seq, phase)->head};
}

/* ---- any order --------------------------------------------------------- */

/* Copies a partial to `digest`. Records of a RING are in the order in which
 * blocks returned; each is copied to its block's place. */
static void note(uint32_t phase, const sti_buffer *b, double *digest)
{
    sti_record record;
    strads_err err = STRADS_OK;
    if (phase == SUMS)
        memcpy(digest, b->bytes, b->size);
    else
        for (size_t at = 0; sti_records_next(b, &at, &record, &err);)
            memcpy(digest + (size_t)record.block * 8, record.partial,
                   record.partial_bytes);
    cr_assert_eq(err, STRADS_OK);
}

/* Runs rounds 0 (OPEN) to ROUNDS + 1 (CLOSE) with up to depth + 1 in flight;
 * collects the partials of each round in `digest`. */
static void play(uint32_t phase, uint32_t workers, uint32_t depth,
                 uint64_t seed, double *digest)
{
    toy_roles r;
    open_roles(&r, TOY_PARTITIONS, workers, depth, seed);
    uint64_t sent = 0, last = ROUNDS + 1;
    bool back[ROUNDS + 2] = {0};
    for (;;) {
        for (; sent <= last && (sent <= depth || back[sent - depth - 1]);
             sent++)
            toy_roles_begin(&r, dispatch(&r, sent,
                                         sent == 0      ? STI_PHASE_OPEN
                                         : sent == last ? STI_PHASE_CLOSE
                                                        : phase));
        if (!toy_roles_step(&r))
            break;
        for (uint32_t k = 0; k < r.n_got; k++) {
            const sti_msg *msg = &r.got[k];
            const sti_buffer *b = (const sti_buffer *)msg->object;
            cr_assert_eq(msg->kind, STI_MSG_PARTIAL, "%s", r.text);
            cr_assert(!back[msg->round]);
            cr_assert_eq(!b, msg->round == 0 || msg->round == last);
            back[msg->round] = true;
            if (b)
                note(phase, b, digest + msg->round * 32);
        }
        toy_roles_forget(&r);
    }
    for (uint64_t seq = 0; seq <= last; seq++)
        cr_assert(back[seq], "round %d never came back", (int)seq);
    cr_assert_eq(r.n_ended, workers);
    toy_roles_close(&r);
}

/* A partial of 6 numbers, or of 3 blocks: at most 32 words a round. */
enum { DIGEST = (ROUNDS + 2) * 32 };

static void play_all(uint32_t phase)
{
    static double first[DIGEST], again[DIGEST];
    memset(first, 0, sizeof first);
    play(phase, 1, 0, 0, first);
    for (uint32_t workers = 1; workers <= TOY_PARTITIONS; workers += 4)
        for (uint32_t depth = 0; depth <= 3; depth++)
            for (uint64_t seed = 0; seed < 10; seed++) {
                memset(again, 0, sizeof again);
                play(phase, workers, depth, seed, again);
                cr_assert(memcmp(again, first, sizeof first) == 0,
                          "W %u, depth %u, seed %d: other bits", workers, depth,
                          (int)seed);
            }
}

Test(role_worker, any_order_of_messages_gives_the_same_bits)
{
    play_all(SUMS);
}

Test(role_worker, rings_come_home_in_any_order_of_messages)
{
    play_all(RING);
}

/* ---- updates ----------------------------------------------------------- */

static uint64_t told[TOY_PARTITIONS];

static strads_err count_versions(strads_task *task,
                                 const strads_change *changes, uint32_t n)
{
    uint64_t *version = &told[task->share->partition];
    for (uint32_t k = 0; k < n; k++)
        TOY_CHECK(changes[k].version == ++*version);
    return STRADS_OK;
}

Test(role_worker, updates_run_in_the_order_of_dispatches_not_of_arrival)
{
    toy_roles r;
    toy_roles_setup setup = {.phases = PHASES,
                             .n_phases = 2,
                             .partitions = 3,
                             .workers = 1,
                             .depth = 3,
                             .refresh = count_versions};
    cr_assert_eq(toy_roles_open(&r, &setup), STRADS_OK);
    sti_msg msg[4];
    for (uint64_t seq = 0; seq < 4; seq++) {
        sti_update *update;
        sti_dispatch *d;
        cr_assert_eq(sti_update_change(seq + 1, 0, 1, &update), STRADS_OK);
        cr_assert_eq(toy_roles_dispatch(&r, seq, SUMS, BLOCKS, BLOCK, 1,
                                        &update, &d),
                     STRADS_OK);
        sti_object_drop(update);
        msg[seq] = (sti_msg){.kind = STI_MSG_DISPATCH,
                             .to = STI_WORKER_0,
                             .round = seq,
                             .object = &d->head};
    }
    const uint32_t order[] = {2, 1, 3, 0};
    for (uint32_t k = 0; k < 4; k++) {
        cr_assert_eq(told[0], 0);
        toy_roles_deliver(&r, msg[order[k]]);
    }
    cr_assert_eq(r.n_fails, 0, "%s", r.text);
    for (uint32_t p = 0; p < 3; p++)
        cr_assert_eq(told[p], 4);
    toy_roles_close(&r);
}

/* ---- pieces ------------------------------------------------------------ */

enum { MOVED = 600 }; /* 7,200 bytes: 7 pieces */

static double moved[TOY_PARTITIONS];

static strads_err add_moved(strads_task *task, const strads_change *changes,
                            uint32_t n)
{
    for (uint32_t c = 0; c < n; c++)
        for (uint32_t k = 0; k < changes[c].n; k++)
            moved[task->share->partition] +=
                (double)changes[c].param[k] * changes[c].change[k];
    return STRADS_OK;
}

/* Makes a round with updates that change parameters 0 to MOVED - 1 by 1. */
static sti_dispatch *with_updates(toy_roles *r, uint64_t seq)
{
    sti_update *update;
    sti_dispatch *d;
    cr_assert_eq(sti_update_change(seq, MOVED, 1, &update), STRADS_OK);
    for (uint32_t k = 0; k < MOVED; k++) {
        ((uint32_t *)(uintptr_t)update->change.param)[k] = k;
        ((double *)(uintptr_t)update->change.change)[k] = 1;
    }
    cr_assert_eq(toy_roles_dispatch(r, seq, SUMS, BLOCKS, BLOCK, 1, &update,
                                    &d),
                 STRADS_OK);
    sti_object_drop(update);
    return d;
}

static const toy_roles_setup in_pieces = {.phases = PHASES,
                                          .n_phases = 2,
                                          .partitions = TOY_PARTITIONS,
                                          .workers = TOY_PARTITIONS,
                                          .depth = 3,
                                          .spread = true,
                                          .refresh = add_moved};

Test(role_worker, pieces_that_come_in_any_order_make_a_dispatch)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        toy_roles r;
        toy_roles_setup setup = in_pieces;
        setup.seed = seed;
        cr_assert_eq(toy_roles_open(&r, &setup), STRADS_OK);
        r.run.shape.parameters = MOVED;
        memset(moved, 0, sizeof moved);
        for (uint64_t seq = 0; seq < 4; seq++)
            toy_roles_begin(&r, with_updates(&r, seq));
        for (uint32_t k = 0; k < r.n_bag; k++)
            cr_assert_gt(r.bag[k].partition, 1);
        while (toy_roles_step(&r))
            ;
        cr_assert_eq(r.n_fails, 0, "%s", r.text);
        cr_assert_eq(r.n_got, 4);
        for (uint32_t p = 0; p < TOY_PARTITIONS; p++)
            cr_assert_eq(moved[p], 4.0 * MOVED * (MOVED - 1) / 2);
        toy_roles_close(&r);
    }
}

/* ---- messages of a faulty peer ----------------------------------------- */

static sti_object *bytes(size_t size)
{
    sti_buffer *b;
    cr_assert_eq(sti_buffer_new(size, &b), STRADS_OK);
    memset(b->bytes, 0, size);
    return &b->head;
}

static sti_object *hop(uint32_t index, uint32_t step, size_t n_values,
                       size_t partial)
{
    sti_ring_step *h;
    cr_assert_eq(sti_ring_step_new(index, n_values, partial, &h), STRADS_OK);
    h->number = step;
    return &h->head;
}

/* Two workers, partitions 0-2 and 3-4. Worker 1 receives OPEN, then round 1 of
 * `phase`, then the message, which must fail. */
static void expect_fail(uint32_t phase, sti_msg msg, const char *says)
{
    toy_roles r;
    open_roles(&r, 5, 2, 1, 0);
    sti_msg first = dispatch_msg(&r, 0, STI_PHASE_OPEN);
    first.to = STI_WORKER_0 + 1;
    toy_roles_deliver(&r, first);
    first = dispatch_msg(&r, 1, phase);
    first.to = STI_WORKER_0 + 1;
    toy_roles_deliver(&r, first);
    cr_assert_eq(r.n_fails, 0, "%s", r.text);
    msg.to = STI_WORKER_0 + 1;
    toy_roles_deliver(&r, msg);
    cr_assert_eq(r.n_fails, 1, "nobody minds: %s", says);
    cr_assert_not_null(strstr(r.text, says), "'%s' does not say '%s'", r.text,
                       says);
    toy_roles_close(&r);
}

static void expect_bad_partial(uint32_t partition, uint64_t round,
                               sti_object *object)
{
    expect_fail(SUMS,
                (sti_msg){.kind = STI_MSG_PARTIAL,
                          .partition = partition,
                          .round = round,
                          .object = object},
                "a partial");
}

/* Worker 1 expects no partial: its partition 4 has no children, 3 sends to
 * 2. */
Test(role_worker, a_misaddressed_partial_fails_the_run)
{
    expect_bad_partial(0, 1, bytes(48)); /* the root has no parent */
    expect_bad_partial(1, 1, bytes(48)); /* its parent is on worker 0 */
    expect_bad_partial(5, 1, bytes(48)); /* no such partition */
    expect_bad_partial(6, 1, bytes(48)); /* its parent would be 4 */
    expect_bad_partial(7, 1, bytes(48));
    expect_bad_partial(UINT32_MAX, 1, bytes(48));
    expect_bad_partial(UINT32_C(1) << 31, 1, bytes(48));
}

Test(role_worker, rounds_outside_the_window_fail_the_run)
{
    const uint64_t rounds[] = {4, 5, 1000, UINT64_MAX - 1, UINT64_MAX};
    for (uint32_t k = 0; k < 5; k++) {
        sti_msg msg = {.kind = STI_MSG_PARTIAL,
                       .partition = 4,
                       .round = rounds[k],
                       .object = bytes(48)};
        expect_fail(SUMS, msg, "a partial");
        msg.kind = STI_MSG_RING_STEP;
        msg.object = hop(0, 1, 0, 16);
        expect_fail(RING, msg, "a ring block");
    }
}

/* Worker 0 of two hosts partitions 0 to 2 of 5: it expects partials of 1 and
 * 4. */
static void expect_root_fail(bool twice, uint32_t phase, sti_object *object,
                             const char *says)
{
    toy_roles r;
    open_roles(&r, 5, 2, 1, 0);
    toy_roles_deliver(&r, dispatch_msg(&r, 0, phase));
    sti_msg msg = {.kind = STI_MSG_PARTIAL,
                   .to = STI_WORKER_0,
                   .partition = 4,
                   .round = 0,
                   .object = object};
    if (twice)
        sti_object_keep(object);
    toy_roles_deliver(&r, msg);
    if (twice)
        toy_roles_deliver(&r, msg);
    msg.partition = 3;
    msg.object = phase == SUMS ? bytes(48) : NULL;
    toy_roles_deliver(&r, msg);
    for (uint32_t k = 0; k < 8 && r.n_bag; k++) {
        sti_msg next = r.bag[--r.n_bag];
        if (next.to == STI_WORKER_0)
            toy_roles_deliver(&r, next);
        else
            sti_object_drop(next.object);
    }
    cr_assert_eq(r.n_fails, 1, "nobody minds");
    cr_assert_not_null(strstr(r.text, says), "'%s' does not say '%s'", r.text,
                       says);
    toy_roles_close(&r);
}

Test(role_worker, a_partial_that_is_twice_or_wrong_in_size_fails_the_run)
{
    expect_root_fail(true, SUMS, bytes(48), "a partial that is not expected");
    expect_root_fail(false, SUMS, bytes(40), "40 bytes where 48");
    expect_root_fail(false, SUMS, NULL, "a partial that is not expected");
    expect_root_fail(false, STI_PHASE_OPEN, bytes(48),
                     "a partial that is not expected");
}

Test(role_worker, a_slice_of_an_unsplit_message_fails_the_run)
{
    sti_msg msg = {.kind = STI_MSG_PARTIAL,
                   .partition = 4,
                   .slice = 1,
                   .round = 1,
                   .object = bytes(48)};
    expect_fail(SUMS, msg, "a partial");
}

/* A partial before its dispatch is kept, and checked when the dispatch
 * arrives. */
Test(role_worker, an_unexpected_early_partial_fails_its_round)
{
    toy_roles r;
    open_roles(&r, 5, 2, 1, 0);
    toy_roles_deliver(&r, (sti_msg){.kind = STI_MSG_PARTIAL,
                                    .to = STI_WORKER_0,
                                    .partition = 4,
                                    .slice = 3,
                                    .object = bytes(48)});
    cr_assert_eq(r.n_fails, 0, "%s", r.text);
    toy_roles_deliver(&r, dispatch_msg(&r, 0, SUMS));
    cr_assert_eq(r.n_fails, 1);
    cr_assert_not_null(strstr(r.text, "a partial that is not expected"), "%s",
                       r.text);
    toy_roles_close(&r);
}

/* Partition 4's partial arrives repeatedly before the dispatch: keeping all of
 * them would exhaust the memory. */
Test(role_worker, no_more_partials_ahead_are_kept_than_can_be)
{
    toy_roles r;
    open_roles(&r, 5, 2, 1, 0);
    uint32_t kept = 0;
    for (; kept < 100000 && r.n_fails == 0; kept++)
        toy_roles_deliver(&r, (sti_msg){.kind = STI_MSG_PARTIAL,
                                        .to = STI_WORKER_0,
                                        .partition = 4,
                                        .object = bytes(48)});
    cr_assert_eq(r.n_fails, 1, "%u were kept", kept);
    toy_roles_close(&r);
}

/* Block 0 has two parameters and its owner is 2. It reaches 3 after one hop,
 * with two numbers and without values (the phase ignores them). */
Test(role_worker, a_ring_block_that_does_not_fit_fails_the_run)
{
    sti_msg msg = {.kind = STI_MSG_RING_STEP, .partition = 3, .round = 1};
    const char *says = "a ring block";
    msg.object = hop(BLOCKS, 1, 0, 16); /* no such block */
    expect_fail(RING, msg, says);
    msg.object = hop(0, 2, 0, 16); /* one hop too many */
    expect_fail(RING, msg, says);
    msg.object = hop(0, 1, 2, 16); /* values, which the phase ignores */
    expect_fail(RING, msg, says);
    msg.object = hop(0, 1, 0, 8); /* half a partial */
    expect_fail(RING, msg, says);
    msg.object = NULL;
    expect_fail(RING, msg, says);
    msg.partition = 0; /* of another worker */
    msg.object = hop(0, 3, 0, 16);
    expect_fail(RING, msg, says);
    msg.partition = 3;
    msg.object = hop(0, 1, 0, 16);
    expect_fail(SUMS, msg, says); /* not a ring */
}

Test(role_worker, a_dispatch_that_comes_twice_or_empty_fails_the_run)
{
    toy_roles r;
    open_roles(&r, 5, 1, 1, 0);
    toy_roles_deliver(&r, dispatch_msg(&r, 0, STI_PHASE_OPEN));
    cr_assert_eq(r.n_fails, 0);
    toy_roles_deliver(&r, dispatch_msg(&r, 0, STI_PHASE_OPEN));
    cr_assert_eq(r.n_fails, 1);
    cr_assert_not_null(strstr(r.text, "dispatched twice"));
    toy_roles_close(&r);
    open_roles(&r, 5, 1, 1, 0);
    toy_roles_deliver(&r,
                      (sti_msg){.kind = STI_MSG_DISPATCH, .to = STI_WORKER_0});
    cr_assert_eq(r.n_fails, 1);
    toy_roles_close(&r);
}

/* Delivers the first piece of a round, then a bad one. */
static void expect_bad_piece(uint32_t slice, uint32_t n, sti_object *object,
                             const char *says)
{
    toy_roles r;
    cr_assert_eq(toy_roles_open(&r, &in_pieces), STRADS_OK);
    sti_msg msg = {.kind = STI_MSG_DISPATCH,
                   .to = STI_WORKER_0,
                   .partition = 2,
                   .object = bytes(8)};
    toy_roles_deliver(&r, msg);
    cr_assert_eq(r.n_fails, 0);
    msg.slice = (uint16_t)slice;
    msg.partition = n;
    msg.object = object;
    toy_roles_deliver(&r, msg);
    cr_assert_eq(r.n_fails, 1);
    cr_assert_not_null(strstr(r.text, says), "%s", r.text);
    toy_roles_close(&r);
}

Test(role_worker, pieces_that_do_not_fit_fail_the_run)
{
    const char *twice = "dispatched twice";
    expect_bad_piece(0, 2, bytes(8), twice);
    expect_bad_piece(2, 2, bytes(8), twice);
    expect_bad_piece(1, 3, bytes(8), twice);
    expect_bad_piece(1, 2, NULL, twice);
    expect_bad_piece(1, 2, bytes(8), "ends too early");
    const uint32_t numbers[] = {1, 17, UINT32_MAX};
    for (uint32_t k = 0; k < 3; k++) {
        toy_roles r;
        cr_assert_eq(toy_roles_open(&r, &in_pieces), STRADS_OK);
        toy_roles_deliver(&r, (sti_msg){.kind = STI_MSG_DISPATCH,
                                        .to = STI_WORKER_0,
                                        .partition = numbers[k],
                                        .object = bytes(8)});
        cr_assert_eq(r.n_fails, 1, "%u pieces", numbers[k]);
        toy_roles_close(&r);
    }
}

Test(role_worker, messages_for_other_roles_are_dropped)
{
    toy_roles r;
    open_roles(&r, 5, 1, 1, 0);
    const sti_msg_kind kinds[] = {STI_MSG_ASK, STI_MSG_CHOICE, STI_MSG_FAIL,
                                  (sti_msg_kind)99};
    for (uint32_t k = 0; k < 4; k++)
        toy_roles_deliver(&r, (sti_msg){.kind = kinds[k],
                                        .to = STI_WORKER_0,
                                        .object = bytes(8)});
    cr_assert_eq(r.n_got, 0);
    toy_roles_close(&r);
}
