/* The uniform policy: blocks of random parameters, cut once and drawn at
 * random, each as often as any other, whatever they depend on. This is what
 * Shotgun does (Bradley, Kyrola, Bickson, Guestrin, ICML 2011), and what the
 * priority policy is measured against. It rests after as many parameters as
 * there are. */
#include "schedulers/sweep.h"

/* How often a block may be drawn in vain, for each block wanted. */
enum { TRIES = 16 };

static strads_err uniform_open(const strads_policy_setup *setup, void **state)
{
    sti_sweep *s;
    strads_err err = sti_sweep_open(setup, true, &s);
    if (!err)
        *state = s;
    return err;
}

static void uniform_close(void *state)
{
    sti_sweep_close(state);
}

static void uniform_prioritise(void *state, uint32_t n, const uint32_t *param,
                               const double *priority)
{
    (void)state, (void)n, (void)param, (void)priority;
}

static strads_err uniform_choose(void *state,
                                 const strads_choice_request *request,
                                 strads_choice *choice)
{
    sti_sweep *s = state;
    strads_err err = sti_sweep_begin(s, request, choice);
    if (err || choice->kind != STRADS_CHOOSE_BLOCKS)
        return err;
    uint64_t tries = (uint64_t)TRIES * request->want;
    for (uint64_t k = 0; k < tries && choice->n < request->want; k++) {
        uint64_t bits = strads_random_bits(s->setup.seed, STI_PURPOSE_UNIFORM,
                                           request->draw, k);
        sti_sweep_add(s, request, sti_policy_below(bits, s->blocks), choice);
    }
    sti_sweep_end(s, choice);
    return STRADS_OK;
}

const strads_policy sti_policy_uniform = {
    .size = sizeof(strads_policy),
    .name = "uniform",
    .summary = "random blocks, all equally often, unchecked",
    .unchecked = true,
    .open = uniform_open,
    .close = uniform_close,
    .prioritise = uniform_prioritise,
    .choose = uniform_choose,
};
