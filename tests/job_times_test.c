/* What a message is expected to cost its worker, from jobs that were noted. */
#include <criterion/criterion.h>

#include "engine/exec/job_times.h"

enum { TRAIN, SHUFFLE, N_PHASES };
enum { ENTRIES = 2000000, GUESS_NS = ENTRIES / 2 };

static void note(sti_job_times *times, sti_call call, uint32_t phase,
                 uint64_t elapsed_ns)
{
    sti_job_times_note(times, &(sti_job){.call = call,
                                         .phase = phase,
                                         .elapsed_ns = elapsed_ns});
}

static uint64_t expect_round(const sti_job_times *times, uint32_t phase)
{
    sti_dispatch dispatch = {.phase = phase};
    const sti_msg msg = {.kind = STI_MSG_DISPATCH, .object = &dispatch.head};
    return sti_job_times_expect(times, &msg, 1);
}

Test(job_times, a_round_of_a_phase_that_was_not_yet_is_a_pass_over_the_data)
{
    sti_job_times times;
    cr_assert_eq(sti_job_times_init(&times, N_PHASES, ENTRIES), STRADS_OK);
    note(&times, STI_CALL_WORK, TRAIN, 3000);
    cr_expect_eq(expect_round(&times, TRAIN), 3000);
    cr_expect_eq(expect_round(&times, SHUFFLE), GUESS_NS);
    sti_job_times_free(&times);
}

Test(job_times, a_round_on_a_ring_costs_a_block_however_short_its_start_is)
{
    sti_job_times times;
    cr_assert_eq(sti_job_times_init(&times, N_PHASES, ENTRIES), STRADS_OK);
    for (int lap = 0; lap < 8; lap++) {
        note(&times, STI_CALL_WORK, TRAIN, 2000);
        note(&times, STI_CALL_WORK, SHUFFLE, 700);
        note(&times, STI_CALL_HOP, TRAIN, 4000000);
    }
    const sti_msg hop = {.kind = STI_MSG_HOP};
    cr_expect_eq(expect_round(&times, TRAIN), 4002000);
    cr_expect_eq(expect_round(&times, SHUFFLE), 700);
    cr_expect_eq(sti_job_times_expect(&times, &hop, 1), 4000000);
    sti_job_times_free(&times);
}

Test(job_times, what_is_for_no_worker_is_not_to_be_left_to_another)
{
    sti_job_times times;
    cr_assert_eq(sti_job_times_init(&times, N_PHASES, ENTRIES), STRADS_OK);
    const sti_msg pushed = {.kind = STI_MSG_PUSH};
    cr_expect_eq(sti_job_times_expect(&times, &pushed, 1), UINT64_MAX);
    sti_job_times_free(&times);
}
