/* Blocks are runs of an order of all parameters: start[b] .. start[b + 1] - 1.
 * A block has the work that a round asks for, or as many parameters as a block
 * may have. They are cut anew, under new ids, only between two sweeps (nothing
 * is in flight then) and only when the work asked for has changed twofold. */
#include "schedulers/sweep.h"

#include <stdlib.h>

static strads_err no_memory(const sti_sweep *s)
{
    return strads_fail(STRADS_ENOMEM,
                       "no memory to cut %llu parameters into blocks",
                       (unsigned long long)s->setup.parameters);
}

static void shuffle_order(sti_sweep *s, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        s->order[i] = i;
    for (uint32_t i = n; i-- > 1;) {
        uint64_t bits =
            strads_random_bits(s->setup.seed, STI_PURPOSE_SHUFFLE, 0, i);
        uint32_t k = sti_policy_below(bits, i + 1);
        uint32_t swap = s->order[i];
        s->order[i] = s->order[k];
        s->order[k] = swap;
    }
}

strads_err sti_sweep_open(const strads_policy_setup *setup, bool shuffle,
                          sti_sweep **out)
{
    if (setup->parameters >= UINT32_MAX)
        return strads_fail(STRADS_ELIMIT,
                           "%llu parameters are more than one scheduler can "
                           "hold (4294967294): cut them into several",
                           (unsigned long long)setup->parameters);
    sti_sweep *s = calloc(1, sizeof *s);
    if (!s)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    s->setup = *setup;
    s->total = sti_policy_total(setup);
    s->first_id = STRADS_POLICY_BLOCK_IDS + 1;
    uint32_t n = (uint32_t)setup->parameters;
    if (shuffle && n) {
        s->order = malloc(n * sizeof *s->order);
        if (!s->order) {
            strads_err err = no_memory(s);
            sti_sweep_close(s);
            return err;
        }
        shuffle_order(s, n);
    }
    *out = s;
    return STRADS_OK;
}

void sti_sweep_close(sti_sweep *s)
{
    if (!s)
        return;
    free(s->order);
    free(s->start);
    free(s->out);
    free(s);
}

/* Lays cuts through the order; with `start` NULL it only counts the blocks. */
static uint32_t lay_cuts(const sti_sweep *s, double work, uint32_t *start)
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

static bool still_fits(const sti_sweep *s, double work)
{
    return s->blocks && work < 2 * s->work && s->work < 2 * work;
}

static strads_err cut(sti_sweep *s, double work)
{
    uint32_t blocks = lay_cuts(s, work, NULL);
    uint32_t *start = malloc((blocks + (size_t)1) * sizeof *start);
    if (!start)
        return no_memory(s);
    lay_cuts(s, work, start);
    free(s->start);
    s->start = start;
    s->first_id += s->blocks;
    s->blocks = blocks;
    s->work = work;
    return STRADS_OK;
}

/* Whether a block that this policy did not choose is in flight: it may hold
 * any parameter. */
static bool foreign_in_flight(const strads_choice_request *request)
{
    for (uint32_t k = 0; k < request->n_in_flight; k++)
        if (request->in_flight[k].id < STRADS_POLICY_BLOCK_IDS &&
            request->in_flight[k].n)
            return true;
    return false;
}

static strads_err make_room(sti_sweep *s, uint32_t want)
{
    if (want <= s->out_size)
        return STRADS_OK;
    strads_block *out = realloc(s->out, want * sizeof *out);
    if (!out)
        return no_memory(s);
    s->out = out;
    s->out_size = want;
    return STRADS_OK;
}

strads_err sti_sweep_begin(sti_sweep *s, const strads_choice_request *request,
                           strads_choice *choice)
{
    *choice = (strads_choice){.kind = STRADS_CHOOSE_WAIT};
    if (foreign_in_flight(request))
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
        strads_err err = cut(s, work);
        if (err)
            return err;
    }
    choice->kind = STRADS_CHOOSE_BLOCKS;
    return make_room(s, request->want);
}

static bool has(const strads_block *blocks, uint32_t n, uint64_t id)
{
    for (uint32_t k = 0; k < n; k++)
        if (blocks[k].id == id)
            return true;
    return false;
}

bool sti_sweep_add(sti_sweep *s, const strads_choice_request *request,
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

void sti_sweep_end(sti_sweep *s, strads_choice *choice)
{
    choice->blocks = s->out;
    if (!choice->n)
        choice->kind = STRADS_CHOOSE_WAIT;
}
