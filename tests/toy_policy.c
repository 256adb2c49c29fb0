/* State of the policy: the position of its sweep, and the next block's id. */
#include "tests/toy_policy.h"

#include <stdlib.h>

typedef struct toy_sweep {
    strads_policy_setup setup;
    uint32_t next, blocks_room;
    uint64_t next_id;
    strads_block *blocks;
} toy_sweep;

static strads_err toy_open(const strads_policy_setup *setup, void **state)
{
    toy_sweep *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    s->setup = *setup;
    s->next_id = STRADS_POLICY_BLOCK_IDS;
    *state = s;
    return STRADS_OK;
}

static void toy_close(void *state)
{
    toy_sweep *s = state;
    free(s->blocks);
    free(s);
}

static void toy_prioritise(void *state, uint32_t n, const uint32_t *param,
                           const double *priority)
{
    (void)state, (void)n, (void)param, (void)priority;
}

static strads_err toy_choose(void *state, const strads_choice_request *request,
                             strads_choice *choice)
{
    toy_sweep *s = state;
    uint32_t J = (uint32_t)s->setup.parameters;
    *choice = (strads_choice){.kind = STRADS_CHOOSE_REST};
    if (s->next == J) {
        s->next = 0;
        return STRADS_OK;
    }
    strads_block *blocks =
        realloc(s->blocks, sizeof *blocks * (request->want + 1));
    if (!blocks)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    s->blocks = blocks;
    while (choice->n < request->want && s->next < J) {
        uint32_t n = J - s->next;
        if (n > s->setup.block_max)
            n = s->setup.block_max;
        blocks[choice->n++] =
            (strads_block){.id = s->next_id++, .n = n, .first = s->next};
        s->next += n;
    }
    choice->kind = STRADS_CHOOSE_BLOCKS;
    choice->blocks = blocks;
    return STRADS_OK;
}

const strads_policy toy_sweep_policy = {
    .size = sizeof(strads_policy),
    .name = "toy-sweep",
    .summary = "all parameters in their order",
    .open = toy_open,
    .close = toy_close,
    .prioritise = toy_prioritise,
    .choose = toy_choose,
};
