/* The cyclic policy: parameters in their order, block after block, whatever
 * they depend on. It rests after each sweep. */
#include <stdlib.h>

#include "schedulers/sweep.h"

typedef struct cyclic {
    sti_sweep *sweep;
    uint32_t next; /* block */
} cyclic;

static strads_err cyclic_open(const strads_policy_setup *setup, void **state)
{
    cyclic *c = calloc(1, sizeof *c);
    if (!c)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    strads_err err = sti_sweep_open(setup, false, &c->sweep);
    if (err) {
        free(c);
        return err;
    }
    *state = c;
    return STRADS_OK;
}

static void cyclic_close(void *state)
{
    cyclic *c = state;
    if (c)
        sti_sweep_close(c->sweep);
    free(c);
}

static void cyclic_prioritise(void *state, uint32_t n, const uint32_t *param,
                              const double *priority)
{
    (void)state, (void)n, (void)param, (void)priority;
}

static strads_err cyclic_choose(void *state,
                                const strads_choice_request *request,
                                strads_choice *choice)
{
    cyclic *c = state;
    strads_err err = sti_sweep_begin(c->sweep, request, choice);
    if (err || choice->kind != STRADS_CHOOSE_BLOCKS)
        return err;
    if (!c->sweep->sent)
        c->next = 0;
    while (choice->n < request->want && c->next < c->sweep->blocks &&
           sti_sweep_add(c->sweep, request, c->next, choice))
        c->next++;
    sti_sweep_end(c->sweep, choice);
    return STRADS_OK;
}

const strads_policy sti_policy_cyclic = {
    .size = sizeof(strads_policy),
    .name = "cyclic",
    .summary = "all parameters in their order, unchecked",
    .unchecked = true,
    .open = cyclic_open,
    .close = cyclic_close,
    .prioritise = cyclic_prioritise,
    .choose = cyclic_choose,
};
