/* The priority policy: STRADS' dynamic schedule. Parameters are drawn by the
 * size of their changes and checked for dependencies on each other and on
 * blocks in flight. Dependent parameters are put into one block instead of
 * being dropped (Kim et al., EuroSys 2016, sections 3 and 4, schedule single
 * parameters and drop dependent ones).
 *
 * A parameter is free, in the batch, or held (in a block in flight). The
 * sampler shows the free ones only. Blocks stay in the table until they are
 * mostly inactive or have become too small; see batch.c. A choice costs O(log
 * J) for each block and each parameter without a block that changes between
 * these three states, one look-up for each pair of blocks that it compares
 * again, and n^2 once for a pool of n parameters that is packed into blocks.
 * New priorities cost O(log J) each, or O(1) and O(log J) for their block. */
#include <stdlib.h>
#include <string.h>

#include "schedulers/batch.h"
#include "schedulers/dependency.h"
#include "schedulers/packing.h"
#include "schedulers/policies.h"

enum { SKIPS = 4 };

typedef struct priority {
    strads_policy_setup setup;
    double total; /* weight of all parameters */
    sti_sampler sampler;
    sti_block_table table;
    sti_dependency dependency;
    sti_batch batch;
    double remaining; /* sum of all priorities when the last batch was opened */
    bool stale;       /* all priorities were set since the batch was drawn */
    uint32_t due;     /* an entry that was skipped too often, or none */
    sti_numbers held; /* entries in flight */
    sti_numbers chosen; /* entries, while choosing */
    strads_block *out;
    uint32_t out_size;
} priority;

static sti_batch_source source(priority *p)
{
    return (sti_batch_source){&p->setup, &p->sampler, &p->table,
                              0,         p->due,      p->total};
}

static void priority_close(void *state)
{
    priority *p = state;
    if (!p)
        return;
    sti_sampler_close(&p->sampler);
    sti_block_table_close(&p->table);
    sti_dependency_close(&p->dependency);
    sti_batch_free(&p->batch);
    free(p->held.at);
    free(p->chosen.at);
    free(p->out);
    free(p);
}

static strads_err priority_open(const strads_policy_setup *setup, void **state)
{
    if (setup->parameters >= UINT32_MAX - 1)
        return strads_fail(STRADS_ELIMIT,
                           "%llu parameters are more than one scheduler can "
                           "hold (4294967293): cut them into several",
                           (unsigned long long)setup->parameters);
    if (!setup->parameters || !setup->block_max)
        return strads_fail(STRADS_EINVAL,
                           "the priority policy needs at least one parameter "
                           "and blocks of at least one");
    priority *p = calloc(1, sizeof *p);
    if (!p)
        return strads_fail(STRADS_ENOMEM, "no memory for a policy");
    p->setup = *setup;
    p->total = sti_policy_total(setup);
    p->due = STI_BLOCK_NONE;
    p->dependency.threshold = setup->threshold;
    uint32_t n = (uint32_t)setup->parameters;
    strads_err err = sti_block_table_open(n, &p->table);
    if (!err)
        err = sti_sampler_open(n, &p->table, &p->sampler);
    if (err) {
        priority_close(p);
        return err;
    }
    *state = p;
    return STRADS_OK;
}

static void priority_prioritise(void *state, uint32_t n, const uint32_t *param,
                                const double *value)
{
    priority *p = state;
    /* All parameters may also form a block, so n = J is a scan only if no
     * block can be that large. */
    bool all = n >= p->setup.parameters && n > p->setup.block_max;
    sti_sampler_set(&p->sampler, n, param, value, all);
    p->stale = p->stale || all;
}

/* ---- blocks in flight ---------------------------------------------------- */

static bool is_in_flight(const strads_choice_request *r, uint64_t id)
{
    for (uint32_t k = 0; k < r->n_in_flight; k++)
        if (r->in_flight[k].id == id)
            return true;
    return false;
}

/* Blocks that are no longer in flight may be drawn again. */
static void release_committed(priority *p, const strads_choice_request *r)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < p->held.n; k++) {
        uint32_t e = p->held.at[k];
        const sti_block_entry *entry = &p->table.entry[e];
        if (is_in_flight(r, entry->block.id)) {
            p->held.at[kept++] = e;
            continue;
        }
        sti_sampler_show(&p->sampler, entry->param[0]);
    }
    p->held.n = kept;
}

static bool is_held(const priority *p, uint64_t id)
{
    for (uint32_t k = 0; k < p->held.n; k++)
        if (p->table.entry[p->held.at[k]].block.id == id)
            return true;
    return false;
}

/* A block in flight that this policy did not choose may hold any parameter,
 * so this policy chooses no block beside it. */
static bool has_foreign_flight(const priority *p,
                               const strads_choice_request *r)
{
    for (uint32_t k = 0; k < r->n_in_flight; k++)
        if (r->in_flight[k].n && !is_held(p, r->in_flight[k].id))
            return true;
    return false;
}

/* ---- from pool to blocks ------------------------------------------------ */

/* Makes a block of the pool's members in bin `which`. */
static strads_err make_block(priority *p, const uint32_t *bin, uint32_t which,
                             bool whole)
{
    sti_batch *b = &p->batch;
    uint32_t *member = malloc(b->pool.n * sizeof *member);
    if (!member)
        return strads_fail(STRADS_ENOMEM, "no memory for a block");
    uint32_t n = 0, entry = 0;
    for (uint32_t k = 0; k < b->pool.n; k++)
        if (bin[k] == which)
            member[n++] = b->pool.at[k];
    uint64_t id = whole ? b->pool_id : sti_block_table_id(&p->table);
    strads_err err =
        sti_block_table_add(&p->table, id, n, member, p->setup.weight, &entry);
    if (!err) {
        sti_sampler_join(&p->sampler, entry);
        err = sti_numbers_push(&b->block, entry);
    }
    free(member);
    return err;
}

/* Moves the blocks made last, from `first` on, to the front. */
static void move_to_front(sti_numbers *blocks, uint32_t first)
{
    for (uint32_t k = first; k < blocks->n; k++) {
        uint32_t e = blocks->at[k];
        memmove(blocks->at + k - first + 1, blocks->at + k - first,
                first * sizeof *blocks->at);
        blocks->at[k - first] = e;
    }
}

typedef struct pool_work {
    double *weight;    /* [n] of the pool's parameters */
    float *dependency; /* [n x n], or NULL: no check */
    float *busy;       /* [n] strongest dependency on blocks in flight */
    uint32_t *bin;     /* [n] */
} pool_work;

/* Packs the pool into bins. Parameters that depend on blocks in flight share
 * bins only with each other, so that they do not delay the others. */
static strads_err pack_bins(priority *p, double work, const pool_work *w,
                            uint32_t *bins)
{
    sti_packing packing = {
        .n = p->batch.pool.n,
        .weight = w->weight,
        .dependency = w->dependency,
        .busy = w->busy,
        .threshold = p->setup.threshold,
        .work = work,
        .block_max = p->setup.block_max,
    };
    if (!w->dependency && work >= p->total && packing.n <= packing.block_max) {
        memset(w->bin, 0, packing.n * sizeof *w->bin);
        *bins = 1;
        return STRADS_OK;
    }
    return sti_packing_run(&packing, w->bin, bins);
}

static strads_err compare_pool(priority *p, const pool_work *w)
{
    const strads_choice_request *r = p->dependency.request;
    const sti_batch *b = &p->batch;
    strads_block pool = {.id = b->pool_id, .n = b->pool.n, .param = b->pool.at};
    strads_err err =
        sti_dependency_within(&p->dependency, &pool, w->dependency);
    for (uint32_t k = 0; k < r->n_in_flight; k++)
        if (!err && !p->dependency.missing)
            err = sti_dependency_across(&p->dependency, &pool, &r->in_flight[k],
                                        w->busy);
    return err;
}

static strads_err blocks_from_bins(priority *p, const uint32_t *bin,
                                   uint32_t bins)
{
    sti_batch *b = &p->batch;
    uint32_t first = b->block.n;
    for (uint32_t k = 0; k < bins; k++) {
        strads_err err = make_block(p, bin, k, bins == 1);
        if (err)
            return err;
    }
    if (b->pool_first)
        move_to_front(&b->block, first);
    b->pool.n = 0;
    b->pool_weight = 0;
    return STRADS_OK;
}

static strads_err pack_pool(priority *p)
{
    const sti_batch *b = &p->batch;
    size_t n = b->pool.n;
    uint32_t bins = 0;
    strads_err err = STRADS_OK;
    pool_work w = {
        .weight = malloc(n * sizeof *w.weight),
        .bin = malloc(n * sizeof *w.bin),
        .dependency = b->checked ? malloc(n * n * sizeof *w.dependency) : NULL,
        .busy = b->checked ? calloc(n, sizeof *w.busy) : NULL,
    };
    if (!w.weight || !w.bin || (b->checked && (!w.dependency || !w.busy))) {
        err = strads_fail(STRADS_ENOMEM, "no memory to pack %zu parameters", n);
        goto done;
    }
    for (size_t k = 0; k < n; k++)
        w.weight[k] = (double)p->setup.weight[b->pool.at[k]];
    if (b->checked)
        err = compare_pool(p, &w);
    if (err || p->dependency.missing)
        goto done;
    err = pack_bins(p, p->dependency.request->work, &w, &bins);
    if (!err)
        err = blocks_from_bins(p, w.bin, bins);
done:
    free(w.weight);
    free(w.bin);
    free(w.dependency);
    free(w.busy);
    return err;
}

/* ---- from blocks to the choice ------------------------------------------ */

static bool needs_check(const priority *p, const strads_choice_request *r)
{
    return p->setup.probes && r->dependency && p->setup.threshold < 1 &&
           (r->want > 1 || r->n_in_flight > 0);
}

/* True if entry e may be dispatched beside the blocks in flight and the
 * chosen ones. */
static strads_err is_independent(priority *p, uint32_t e, bool *independent)
{
    const strads_choice_request *r = p->dependency.request;
    const strads_block *block = &p->table.entry[e].block;
    uint32_t others = r->n_in_flight + p->chosen.n;
    *independent = true;
    for (uint32_t k = 0; k < others && *independent; k++) {
        const strads_block *other =
            k < r->n_in_flight
                ? &r->in_flight[k]
                : &p->table.entry[p->chosen.at[k - r->n_in_flight]].block;
        bool depend = false;
        strads_err err =
            sti_dependency_check(&p->dependency, block, other, &depend);
        if (err)
            return err;
        *independent = !depend;
    }
    return STRADS_OK;
}

/* A block that depends on blocks in flight lets others go first. That could
 * last forever, because others are always in flight. So after some skips it is
 * due. */
static void pass_by(priority *p, uint32_t e)
{
    if (++p->table.entry[e].skipped >= SKIPS && p->due == STI_BLOCK_NONE)
        p->due = e;
}

/* True if no block may be chosen until the due block fits beside those in
 * flight. */
static strads_err wait_for_due(priority *p, bool *wait)
{
    bool independent = true;
    *wait = false;
    if (p->due == STI_BLOCK_NONE)
        return STRADS_OK;
    uint32_t leader = p->table.entry[p->due].param[0];
    if (!(sti_sampler_weight(&p->sampler, leader) > 0)) {
        p->due = STI_BLOCK_NONE;
        return STRADS_OK;
    }
    p->chosen.n = 0;
    strads_err err = STRADS_OK;
    if (needs_check(p, p->dependency.request))
        err = is_independent(p, p->due, &independent);
    *wait = !independent;
    return err;
}

/* Chooses from the batch's blocks, in order. */
static strads_err select_blocks(priority *p)
{
    const strads_choice_request *r = p->dependency.request;
    const sti_batch *b = &p->batch;
    bool check = needs_check(p, r);
    p->chosen.n = 0;
    for (uint32_t k = 0; k < b->block.n && p->chosen.n < r->want; k++) {
        bool independent = true;
        strads_err err = STRADS_OK;
        if (check)
            err = is_independent(p, b->block.at[k], &independent);
        if (!err && independent)
            err = sti_numbers_push(&p->chosen, b->block.at[k]);
        if (err || p->dependency.missing)
            return err;
        if (!independent)
            pass_by(p, b->block.at[k]);
    }
    return STRADS_OK;
}

/* Moves the chosen blocks from the batch to those in flight. */
static strads_err dispatch_chosen(priority *p, strads_choice *choice)
{
    if (p->chosen.n > p->out_size) {
        strads_block *out = realloc(p->out, p->chosen.n * sizeof *out);
        if (!out)
            return strads_fail(STRADS_ENOMEM, "no memory for %u blocks",
                               p->chosen.n);
        p->out = out;
        p->out_size = p->chosen.n;
    }
    sti_numbers *left = &p->batch.block;
    for (uint32_t k = 0, c = 0, n = left->n; k < n; k++) {
        if (k == 0)
            left->n = 0;
        uint32_t e = left->at[k];
        if (c == p->chosen.n || p->chosen.at[c] != e) {
            left->at[left->n++] = e;
            continue;
        }
        strads_err err = sti_numbers_push(&p->held, e);
        if (err)
            return err;
        p->table.entry[e].skipped = 0;
        if (e == p->due)
            p->due = STI_BLOCK_NONE;
        p->out[c++] = p->table.entry[e].block;
    }
    *choice = (strads_choice){.kind = STRADS_CHOOSE_BLOCKS,
                              .n = p->chosen.n,
                              .blocks = p->out};
    return STRADS_OK;
}

/* The weight of the blocks in flight, which the sampler hides. */
static double held_weight(priority *p)
{
    double sum = 0;
    for (uint32_t k = 0; k < p->held.n; k++)
        sum += sti_sampler_weight(&p->sampler,
                                  p->table.entry[p->held.at[k]].param[0]);
    return sum;
}

static strads_err draw_batch(priority *p, const strads_choice_request *r)
{
    sti_batch_source from = source(p);
    from.floor = sti_sampler_floor(&p->sampler, held_weight(p));
    sti_dependency_discard_asked(&p->dependency);
    p->stale = false;
    return sti_batch_draw(&p->batch, &from, r, needs_check(p, r));
}

/* Opens a batch, unless there is nothing to draw or to wait for. */
static strads_err open_batch(priority *p, const strads_choice_request *r)
{
    bool wait = false;
    if (sti_sampler_sum(&p->sampler) <= r->rest || !r->want)
        return STRADS_OK;
    strads_err err = wait_for_due(p, &wait);
    if (err || wait || p->dependency.missing)
        return err;
    return draw_batch(p, r);
}

static strads_err choose_free(priority *p, const strads_choice_request *r,
                              strads_choice *choice)
{
    sti_batch_source to = source(p);
    strads_err err = STRADS_OK;
    if (p->batch.open && p->stale)
        sti_batch_return(&p->batch, &to);
    p->chosen.n = 0;
    if (!p->batch.open)
        err = open_batch(p, r);
    if (!err && p->batch.pool.n)
        err = pack_pool(p);
    if (!err && p->batch.open && !p->dependency.missing)
        err = select_blocks(p);
    *choice = (strads_choice){.kind = r->n_in_flight ? STRADS_CHOOSE_WAIT
                                                     : STRADS_CHOOSE_REST};
    if (!err && p->dependency.missing) {
        *choice = (strads_choice){.kind = STRADS_CHOOSE_PROBE,
                                  .block = p->dependency.ask,
                                  .against = p->dependency.about};
        return STRADS_OK;
    }
    if (!err && p->chosen.n)
        err = dispatch_chosen(p, choice);
    sti_batch_return(&p->batch, &to);
    return err;
}

static strads_err priority_choose(void *state,
                                  const strads_choice_request *asked,
                                  strads_choice *choice)
{
    priority *p = state;
    strads_err err = STRADS_OK;
    strads_choice_request request = *asked;
    request.work = sti_policy_work(asked, p->total);
    sti_dependency_begin(&p->dependency, &request);
    release_committed(p, &request);
    if (!p->batch.open) /* which hides its items */
        p->remaining = sti_sampler_sum(&p->sampler) + held_weight(p);
    if (has_foreign_flight(p, &request))
        *choice = (strads_choice){.kind = STRADS_CHOOSE_WAIT};
    else
        err = choose_free(p, &request, choice);
    choice->remaining = p->remaining;
    return err;
}

const strads_policy sti_policy_priority = {
    .size = sizeof(strads_policy),
    .name = "priority",
    .summary = "what moves most first, dependent parameters never at once",
    .open = priority_open,
    .close = priority_close,
    .prioritise = priority_prioritise,
    .choose = priority_choose,
};
