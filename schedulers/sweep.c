/* The cyclic and the uniform policy: all parameters are cut into blocks
 * once, and dispatched whatever their dependencies.
 *
 * Cyclic takes the blocks in order. Uniform cuts a random order and draws
 * blocks at random with equal probability, as Shotgun does (Bradley, Kyrola,
 * Bickson, Guestrin, ICML 2011); it is the baseline for the priority policy.
 * Both are idle after as many parameters as there are.
 *
 * Blocks are runs of an order of all parameters: start[b] .. start[b + 1] - 1.
 * A block has the work that a round requests, or as many parameters as a block
 * may have. Blocks are cut again, under new ids, only between two sweeps (when
 * no block is in flight) and only if the requested work has changed by a factor
 * of two. */
#include <stdlib.h>
#include <string.h>

#include "schedulers/policies.h"

/* Unsuccessful draws of uniform for each wanted block. */
enum { TRIES = 16 };

typedef struct sweep {
    strads_policy_setup setup;
    double total;      /* weight */
    uint32_t *order;   /* [J], or NULL: 0, 1, 2, ... */
    uint32_t *start;   /* [blocks + 1] where in the order each one begins */
    uint32_t blocks;   /* 0: no blocks yet */
    uint32_t next;     /* of cyclic: the next block */
    uint64_t first_id; /* of block 0 */
    double work;       /* requested work when blocks were cut */
    uint64_t sent;     /* parameters dispatched since the policy was last
                        * idle */
    strads_block *out; /* [out_size] chosen blocks */
    uint32_t out_size;
} sweep;

/* Maps 64 random bits to a number in 0 .. n - 1. */
static uint32_t draw_below(uint64_t bits, uint32_t n)
{
    return (uint32_t)((bits >> 32) * n >> 32);
}

static strads_err no_sweep_memory(const sweep *s)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to cut %llu parameters into blocks",
                       (unsigned long long)s->setup.parameters);
}

static void shuffle_order(sweep *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        s->order[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        uint64_t bits =
            strads_random_bits(s->setup.seed, STI_PURPOSE_SHUFFLE, 0, i);
        uint32_t k = draw_below(bits, i + 1);
        uint32_t swap = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swap;
    }
}

static void sweep_close(void *state)
{
    sweep *s = state;
    if (!s)
        return;
    free(s->order);
    free(s->start);
    free(s->out);
    free(s);
}

static strads_err sweep_open(const strads_policy_setup *setup, bool shuffle,
                             void **state)
{
    if (setup->parameters >= UINT32_MAX)
        return strads_fail(STRADS_ELIMIT,
                           "%llu parameters are more than one scheduler can "
                           "hold (4294967294): cut them into several",
                           (unsigned long long)setup->parameters);
    sweep *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    s->setup = *setup;
    s->total = sti_policy_total(setup);
    s->first_id = STRADS_POLICY_BLOCK_IDS + 1;
    uint32_t n = (uint32_t)setup->parameters;
    if (shuffle && n) {
        s->order = malloc(n * sizeof *s->order);
        if (!s->order) {
            strads_err err = no_sweep_memory(s);
            sweep_close(s);
            return err;
        }
        shuffle_order(s, n);
    }
    *state = s;
    return STRADS_OK;
}

/* Cuts the order into blocks; if `start` is NULL it only counts them. */
static uint32_t lay_cuts(const sweep *s, double work, uint32_t *start)
{
    uint32_t n = (uint32_t)s->setup.parameters;
    uint32_t blocks = 0, members = 0;
    double weight = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!members++ && start)
            start[blocks] = i;
        weight += (double)s->setup.weight[s->order ? s->order[i] : i];
        if (weight >= work || members == s->setup.block_max || i + 1 == n) {
            blocks++;
            members = 0;
            weight = 0;
        }
    }
    if (start)
        start[blocks] = n;
    return blocks;
}

static bool still_fits(const sweep *s, double work)
{
    return s->blocks && work < 2 * s->work && s->work < 2 * work;
}

static strads_err cut_blocks(sweep *s, double work)
{
    uint32_t blocks = lay_cuts(s, work, NULL);
    uint32_t *start = malloc((blocks + (size_t)1) * sizeof *start);
    if (!start)
        return no_sweep_memory(s);
    lay_cuts(s, work, start);
    free(s->start);
    s->start = start;
    s->first_id += s->blocks;
    s->blocks = blocks;
    s->work = work;
    return STRADS_OK;
}

/* True if a block that this policy did not choose is in flight: it may hold
 * any parameter. */
static bool has_foreign_block(const strads_choice_request *request)
{
    for (uint32_t k = 0; k < request->n_in_flight; k++)
        if (request->in_flight[k].id < STRADS_POLICY_BLOCK_IDS &&
            request->in_flight[k].n)
            return true;
    return false;
}

static strads_err reserve_out(sweep *s, uint32_t want)
{
    if (want <= s->out_size)
        return STRADS_OK;
    strads_block *out = realloc(s->out, want * sizeof *out);
    if (!out)
        return no_sweep_memory(s);
    s->out = out;
    s->out_size = want;
    return STRADS_OK;
}

/* Prepares a choice: cuts blocks if needed, and reserves `out`. If a block
 * may be chosen, choice->kind is STRADS_CHOOSE_BLOCKS with n = 0; otherwise the
 * choice is complete. */
static strads_err begin_choice(sweep *s, const strads_choice_request *request,
                               strads_choice *choice)
{
    *choice = (strads_choice){.kind = STRADS_CHOOSE_WAIT};
    if (has_foreign_block(request))
        return STRADS_OK;
    if (s->sent >= s->setup.parameters) {
        if (request->n_in_flight)
            return STRADS_OK;
        s->sent = 0;
        choice->kind = STRADS_CHOOSE_REST;
        return STRADS_OK;
    }
    double work = sti_policy_work(request, s->total);
    if (!s->sent && !still_fits(s, work)) {
        strads_err err = cut_blocks(s, work);
        if (err)
            return err;
    }
    choice->kind = STRADS_CHOOSE_BLOCKS;
    return reserve_out(s, request->want);
}

static bool has(const strads_block *blocks, uint32_t n, uint64_t id)
{
    for (uint32_t k = 0; k < n; k++)
        if (blocks[k].id == id)
            return true;
    return false;
}

/* Adds block b to the choice, unless it is already chosen or in flight. */
static bool add_block(sweep *s, const strads_choice_request *request,
                      uint32_t b, strads_choice *choice)
{
    uint64_t id = s->first_id + b;
    if (has(s->out, choice->n, id) ||
        has(request->in_flight, request->n_in_flight, id))
        return false;
    uint32_t first = s->start[b];
    s->out[choice->n++] = (strads_block){
        .id = id,
        .n = s->start[b + 1] - first,
        .first = s->order ? s->order[first] : first,
        .param = s->order ? s->order + first : NULL,
    };
    s->sent += s->start[b + 1] - first;
    return true;
}

static void finish_choice(sweep *s, strads_choice *choice)
{
    choice->blocks = s->out;
    if (!choice->n)
        choice->kind = STRADS_CHOOSE_WAIT;
}

static void ignore_priorities(void *state, uint32_t n, const uint32_t *param,
                              const double *priority)
{
    (void)state, (void)n, (void)param, (void)priority;
}

static strads_err cyclic_open(const strads_policy_setup *setup, void **state)
{
    return sweep_open(setup, false, state);
}

static strads_err uniform_open(const strads_policy_setup *setup, void **state)
{
    return sweep_open(setup, true, state);
}

static strads_err cyclic_choose(void *state,
                                const strads_choice_request *request,
                                strads_choice *choice)
{
    sweep *s = state;
    strads_err err = begin_choice(s, request, choice);
    if (err || choice->kind != STRADS_CHOOSE_BLOCKS)
        return err;
    if (!s->sent)
        s->next = 0;
    while (choice->n < request->want && s->next < s->blocks &&
           add_block(s, request, s->next, choice))
        s->next++;
    finish_choice(s, choice);
    return STRADS_OK;
}

static strads_err uniform_choose(void *state,
                                 const strads_choice_request *request,
                                 strads_choice *choice)
{
    sweep *s = state;
    strads_err err = begin_choice(s, request, choice);
    if (err || choice->kind != STRADS_CHOOSE_BLOCKS)
        return err;
    uint64_t tries = (uint64_t)TRIES * request->want;
    for (uint64_t k = 0; k < tries && choice->n < request->want; k++) {
        uint64_t bits = strads_random_bits(s->setup.seed, STI_PURPOSE_UNIFORM,
                                           request->draw, k);
        add_block(s, request, draw_below(bits, s->blocks), choice);
    }
    finish_choice(s, choice);
    return STRADS_OK;
}

static const strads_policy policy_cyclic = {
    .size = sizeof(strads_policy),
    .name = "cyclic",
    .summary = "all parameters in their order, unchecked",
    .unchecked = true,
    .open = cyclic_open,
    .close = sweep_close,
    .prioritise = ignore_priorities,
    .choose = cyclic_choose,
};

static const strads_policy policy_uniform = {
    .size = sizeof(strads_policy),
    .name = "uniform",
    .summary = "random blocks, all equally often, unchecked",
    .unchecked = true,
    .open = uniform_open,
    .close = sweep_close,
    .prioritise = ignore_priorities,
    .choose = uniform_choose,
};

static const strads_policy *const policies[] = {
    &sti_policy_priority,
    &policy_uniform,
    &policy_cyclic,
    NULL,
};

const strads_policy *const *strads_policies(void)
{
    return policies;
}

const strads_policy *strads_policy_find(const char *name)
{
    for (const strads_policy *const *p = policies; name && *p; p++)
        if (!strcmp((*p)->name, name))
            return *p;
    return NULL;
}
