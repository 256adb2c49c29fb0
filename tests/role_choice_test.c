/* A CHOICE is encoded and decoded without change; one that no scheduler can
 * make is rejected. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/round/message_codec.h"
#include "tests/expect.h"

/* Two schedulers with four parameters each; no phase probes. */
static const sti_run run = {.shape = {.parameters = 8, .width = 1},
                            .schedulers = 2,
                            .partitions = 1,
                            .n_phases = 1,
                            .probe_phase = 1};

static const uint32_t members[] = {4, 7};
static const strads_block second = {.id = STRADS_POLICY_BLOCK_IDS +
                                          STI_RANGE_IDS + 3,
                                    .n = 2,
                                    .param = members};

/* Encodes and decodes a choice of scheduler 1 with one block. The caller drops
 * the result. */
static strads_err send(double remaining, const strads_block *block,
                       sti_msg *got)
{
    sti_choice *choice;
    sti_writer w = {0};
    sti_buffer *copy;
    cr_assert_eq(sti_choice_new(&choice), STRADS_OK);
    choice->kind = STRADS_CHOOSE_BLOCKS;
    choice->remaining = remaining;
    choice->n = 1;
    cr_assert_eq(sti_blocks_copy(1, block, &choice->blocks), STRADS_OK);
    const sti_msg msg = {.kind = STI_MSG_CHOICE,
                         .partition = 1,
                         .object = &choice->head};
    cr_assert_eq(sti_msg_encode(&msg, &w, NULL), STRADS_OK);
    cr_assert_eq(sti_buffer_new(w.size, &copy), STRADS_OK);
    memcpy(copy->bytes, w.bytes, w.size);
    *got = (sti_msg){.kind = STI_MSG_CHOICE, .partition = 1};
    strads_err err =
        sti_msg_decode(&run, copy->bytes, w.size, &copy->head, got);
    sti_object_drop(copy);
    sti_object_drop(choice);
    sti_writer_free(&w);
    return err;
}

Test(role_choice, a_choice_arrives_with_its_blocks_and_its_mass)
{
    sti_msg got;
    expect_ok(send(2.5, &second, &got));
    const sti_choice *choice = (const sti_choice *)got.object;
    cr_expect_eq(choice->remaining, 2.5);
    cr_expect_eq(choice->kind, STRADS_CHOOSE_BLOCKS);
    cr_assert_eq(choice->n, 1);
    cr_expect_eq(choice->blocks->id, second.id);
    cr_expect_eq(choice->blocks->n, 2);
    cr_expect_eq(strads_block_param(choice->blocks, 1), 7);
    sti_object_drop(got.object);
}

Test(role_choice, a_mass_that_is_none_is_refused)
{
    const double none[] = {-1, NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
        sti_msg got;
        cr_expect_eq(send(none[k], &second, &got), STRADS_EPEER, "%g", none[k]);
        expect_says("remaining");
    }
}

/* A block of another scheduler, or a joint block, is rejected. */
Test(role_choice, a_block_of_anothers_is_refused)
{
    sti_msg got;
    strads_block block = second;
    block.id -= STI_RANGE_IDS;
    cr_expect_eq(send(1, &block, &got), STRADS_EPEER);
    block.id += 2 * STI_RANGE_IDS;
    cr_expect_eq(send(1, &block, &got), STRADS_EPEER);
    const uint32_t foreign[] = {3, 4};
    block = second;
    block.param = foreign;
    cr_expect_eq(send(1, &block, &got), STRADS_EPEER);
}
