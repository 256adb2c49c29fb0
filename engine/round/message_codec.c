/* A table of message kinds, each with a put and a get that mirror each other.
 * Numbers from a peer are checked against the run's sizes before they are used
 * as indices. */
#include "engine/round/message_codec.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/loop_message.h"
#include "engine/round/ring_plan.h"
#include "engine/store/message.h"

/* Fails with STRADS_EPEER and the wording common to all rejected messages. */
static strads_err reject_message(const char *what)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a message with %s: it runs another version "
                       "or other options",
                       what);
}

/* ---- blocks -------------------------------------------------------------- */

static void put_block(sti_writer *w, const strads_block *block)
{
    sti_write_u64(w, block->id);
    sti_write_u32(w, block->n);
    sti_write_u32(w, block->first);
    sti_write_u32(w, block->owner);
    sti_write_u32(w, block->param != NULL);
    if (block->param)
        sti_write_u32s(w, block->param, block->n);
}

static void write_blocks(sti_writer *w, uint32_t n, const strads_block *blocks)
{
    sti_write_u32(w, n);
    for (uint32_t k = 0; k < n; k++)
        put_block(w, &blocks[k]);
}

static strads_err check_block_range(const sti_run *run,
                                    const strads_block *block)
{
    uint64_t parameters = run->shape.parameters;
    if (block->owner >= run->partitions)
        return reject_message("a block of an unknown partition");
    if (!block->param && (uint64_t)block->first + block->n > parameters)
        return reject_message("a block of unknown parameters");
    for (uint32_t k = 0; block->param && k < block->n; k++)
        if (block->param[k] >= parameters)
            return reject_message("an unknown parameter");
    return STRADS_OK;
}

/* Reads a block and checks its parameters and partition; its list stays in the
 * payload. */
static strads_err get_block(const sti_run *run, sti_reader *r,
                            strads_block *block)
{
    *block = (strads_block){.id = sti_read_u64(r)};
    block->n = sti_read_u32(r);
    block->first = sti_read_u32(r);
    block->owner = sti_read_u32(r);
    if (sti_read_u32(r)) {
        uint64_t count;
        block->param = sti_read_u32s(r, &count);
        if (!r->err && count != block->n)
            return reject_message(
                "a block of another size than its parameters");
    }
    return r->err ? r->err : check_block_range(run, block);
}

/* Reads an array that the caller frees. The payload bounds its size, so a
 * forged count cannot cause a large allocation. */
static strads_err get_blocks(const sti_run *run, sti_reader *r, uint32_t *n,
                             strads_block **out)
{
    enum { LEAST = 24 };
    *n = sti_read_u32(r);
    if (r->err)
        return r->err;
    if (*n > (r->size - r->at) / LEAST)
        return reject_message("more blocks than it holds");
    strads_block *blocks = malloc(sizeof *blocks * (*n + 1));
    if (!blocks)
        return strads_fail(STRADS_ENOMEM, "no memory for a dispatch");
    strads_err err = STRADS_OK;
    for (uint32_t k = 0; k < *n && !err; k++)
        err = get_block(run, r, &blocks[k]);
    if (err)
        free(blocks);
    else
        *out = blocks;
    return err;
}

/* ---- ASK: everything is copied, because a request outlives its payload --- */

static void put_ask(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    const sti_ask *ask = (const sti_ask *)msg->object;
    sti_write_f64(w, ask->work);
    sti_write_u32(w, ask->max_partitions);
    write_blocks(w, ask->n_in_flight, ask->in_flight);
    sti_write_u32(w, ask->n_priorities);
    for (uint32_t k = 0; k < ask->n_priorities; k++) {
        const sti_priorities *priorities = ask->priorities[k];
        sti_write_f64(w, priorities->rest);
        sti_write_u32s(w, priorities->param, priorities->n);
        sti_write_f64s(w, priorities->priority, priorities->n);
    }
    for (const sti_found *f = ask->found; f; f = f->next) {
        write_blocks(w, 2, f->pair);
        sti_write_f64s(w, f->value, (uint64_t)f->pair[0].n * f->pair[1].n);
    }
    write_blocks(w, 0, NULL);
}

/* Reads a list of priorities for a scheduler of n parameters. */
static strads_err get_priorities(sti_reader *r, uint32_t n, sti_ask *ask)
{
    uint64_t n_param, n_priority;
    const double rest = sti_read_f64(r);
    const uint32_t *param = sti_read_u32s(r, &n_param);
    const double *priority = sti_read_f64s(r, &n_priority);
    if (r->err)
        return r->err;
    if (n_param != n_priority || n_param > UINT32_MAX || isnan(rest))
        return reject_message("priorities of another number than parameters");
    for (uint64_t k = 0; k < n_param; k++)
        if (param[k] >= n || !(priority[k] >= 0) || isinf(priority[k]))
            return reject_message("an invalid priority");
    sti_priorities *priorities;
    strads_err err = sti_priorities_new(&priorities);
    if (err)
        return err;
    priorities->rest = rest;
    err = sti_priorities_add(priorities, (uint32_t)n_param, param, priority);
    const strads_err failed = sti_ask_add_priorities(ask, priorities);
    return err ? err : failed;
}

/* Reads probe results: pairs of blocks with their values, up to an empty
 * list. */
static strads_err get_found(const sti_run *run, sti_reader *r, sti_ask *ask)
{
    for (;;) {
        uint32_t n_blocks;
        uint64_t n;
        strads_block *pair;
        sti_buffer *values;
        strads_err err = get_blocks(run, r, &n_blocks, &pair);
        if (err || n_blocks == 0) {
            if (!err)
                free(pair);
            return err;
        }
        const double *value = sti_read_f64s(r, &n);
        err = r->err;
        if (!err && (n_blocks != 2 || n != (uint64_t)pair[0].n * pair[1].n))
            err = reject_message("a probe of another size than its blocks");
        if (!err)
            err = sti_buffer_new(sizeof *value * n, &values);
        if (!err) {
            memcpy(values->bytes, value, sizeof *value * n);
            err = sti_ask_add_found(ask, pair, values,
                                    (const double *)(void *)values->bytes);
        }
        free(pair);
        if (err)
            return err;
    }
}

static strads_err read_ask(const sti_run *run, sti_reader *r, uint32_t number,
                           sti_ask *ask)
{
    const uint32_t parameters =
        sti_run_range(run, number + 1) - sti_run_range(run, number);
    strads_block *flying;
    ask->work = sti_read_f64(r);
    ask->max_partitions = sti_read_u32(r);
    strads_err err = get_blocks(run, r, &ask->n_in_flight, &flying);
    if (err)
        return err;
    err = sti_blocks_copy(ask->n_in_flight, flying, &ask->in_flight);
    free(flying);
    const uint32_t lists = sti_read_u32(r);
    for (uint32_t k = 0; k < lists && !err; k++)
        err = r->err ? r->err : get_priorities(r, parameters, ask);
    if (!err)
        err = get_found(run, r, ask);
    return err ? err : sti_reader_end(r, "an ASK");
}

static strads_err get_ask(const sti_run *run, sti_reader *r,
                          sti_object *backing, sti_msg *msg)
{
    (void)backing;
    const uint32_t number = msg->to - STI_SCHEDULER_0;
    sti_ask *ask;
    if (number >= run->schedulers)
        return reject_message("a request to an unknown scheduler");
    strads_err err = sti_ask_new(&ask);
    if (err)
        return err;
    err = read_ask(run, r, number, ask);
    if (err)
        sti_object_drop(ask);
    else
        msg->object = &ask->head;
    return err;
}

/* ---- CHOICE ------------------------------------------------------------ */

static void put_choice(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    const sti_choice *choice = (const sti_choice *)msg->object;
    sti_write_u32(w, choice->kind);
    sti_write_f64(w, choice->remaining);
    write_blocks(w, choice->n, choice->blocks);
}

/* Checks that blocks are the scheduler's own, by ids and parameters. */
static strads_err check_own(const sti_run *run, uint32_t number, uint32_t n,
                            const strads_block *blocks)
{
    for (uint32_t k = 0; k < n; k++) {
        if (sti_run_scheduler_of(run, blocks[k].id) != number ||
            blocks[k].n == 0)
            return reject_message("a block that is not its scheduler's");
        for (uint32_t l = 0; l < blocks[k].n; l++)
            if (sti_run_scheduler(run, strads_block_param(&blocks[k], l)) !=
                number)
                return reject_message(
                    "a parameter that is another scheduler's");
    }
    return STRADS_OK;
}

static strads_err check_kind(const sti_choice *choice)
{
    uint32_t n = choice->n;
    bool good = choice->kind == STRADS_CHOOSE_BLOCKS  ? n > 0
                : choice->kind == STRADS_CHOOSE_PROBE ? n == 2
                                                      : n == 0;
    return good && (uint32_t)choice->kind <= STRADS_CHOOSE_REST
               ? STRADS_OK
               : reject_message("a choice of no known kind");
}

static strads_err read_choice(const sti_run *run, sti_reader *r,
                              uint32_t number, sti_choice *choice)
{
    strads_block *blocks;
    choice->kind = (strads_choice_kind)sti_read_u32(r);
    choice->remaining = sti_read_f64(r);
    strads_err err = get_blocks(run, r, &choice->n, &blocks);
    if (err)
        return err;
    err = check_kind(choice);
    if (!err && !(choice->remaining >= 0 && choice->remaining <= DBL_MAX))
        err = reject_message("an invalid remaining priority");
    if (!err && choice->kind == STRADS_CHOOSE_PROBE &&
        run->probe_phase == run->n_phases)
        err = reject_message("a probe although the program has none");
    if (!err)
        err = check_own(run, number, choice->n, blocks);
    if (!err)
        err = sti_blocks_copy(choice->n, blocks, &choice->blocks);
    free(blocks);
    return err ? err : sti_reader_end(r, "a CHOICE");
}

/* Sets msg->from; the caller checks that the sending node hosts the
 * scheduler. */
static strads_err get_choice(const sti_run *run, sti_reader *r,
                             sti_object *backing, sti_msg *msg)
{
    (void)backing;
    sti_choice *choice;
    msg->from = STI_SCHEDULER_0 + msg->partition;
    if (msg->partition >= run->schedulers)
        return reject_message("a choice of an unknown scheduler");
    strads_err err = sti_choice_new(&choice);
    if (err)
        return err;
    err = read_choice(run, r, msg->partition, choice);
    if (err)
        sti_object_drop(choice);
    else
        msg->object = &choice->head;
    return err;
}

/* ---- PARTIAL, and pieces of a DISPATCH: bytes that stay in the payload --- */

static void put_bytes(sti_writer *w, const sti_buffer *bytes)
{
    sti_write_u32(w, bytes != NULL);
    if (bytes)
        sti_write_bytes(w, bytes->bytes, bytes->size);
}

static void put_partial(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    put_bytes(w, (const sti_buffer *)msg->object);
}

static strads_err get_partial(const sti_run *run, sti_reader *r,
                              sti_object *backing, sti_msg *msg)
{
    (void)run;
    uint64_t size = 0;
    const bool there = sti_read_u32(r) != 0;
    const void *bytes = there ? sti_read_bytes(r, &size) : NULL;
    strads_err err = sti_reader_end(r, "a PARTIAL");
    if (err || !there)
        return err;
    sti_buffer *partial;
    err = sti_buffer_over(backing, (void *)(uintptr_t)bytes, size, &partial);
    if (!err)
        msg->object = &partial->head;
    return err;
}

/* ---- DISPATCH ---------------------------------------------------------- */

static void put_update(sti_writer *w, const sti_update *update, uint32_t width)
{
    sti_write_u32(w, update->kind);
    if (update->kind == STI_UPDATE_CHANGE) {
        sti_write_u64(w, update->change.version);
        sti_write_u32s(w, update->change.param, update->change.n);
        sti_write_f64s(w, update->change.change,
                       (uint64_t)update->change.n * width);
    } else {
        sti_write_u32(w, update->phase);
        put_block(w, &update->block);
        sti_write_bytes(w, update->partial->bytes, update->partial->size);
    }
}

static strads_err get_change(const sti_run *run, sti_reader *r,
                             sti_update **out)
{
    uint64_t version = sti_read_u64(r);
    uint64_t n, numbers;
    const uint32_t *param = sti_read_u32s(r, &n);
    const double *change = sti_read_f64s(r, &numbers);
    if (r->err)
        return r->err;
    if (n > UINT32_MAX || numbers != n * run->shape.width)
        return reject_message("a change of another size than its parameters");
    for (uint64_t k = 0; k < n; k++)
        if (param[k] >= run->shape.parameters)
            return reject_message("a change of an unknown parameter");
    strads_err err =
        sti_update_change(version, (uint32_t)n, run->shape.width, out);
    if (err)
        return err;
    memcpy((void *)(uintptr_t)(*out)->change.param, param, sizeof *param * n);
    memcpy((void *)(uintptr_t)(*out)->change.change, change,
           sizeof *change * numbers);
    return STRADS_OK;
}

static strads_err get_result(const sti_run *run, sti_reader *r,
                             sti_update **out)
{
    uint32_t phase = sti_read_u32(r);
    strads_block block;
    strads_err err = get_block(run, r, &block);
    if (err)
        return err;
    uint64_t size;
    const void *bytes = sti_read_bytes(r, &size);
    if (r->err)
        return r->err;
    if (phase >= run->n_phases && phase != STI_PHASE_PACK)
        return reject_message("a result of an unknown phase");
    sti_buffer *partial;
    err = sti_buffer_new(size, &partial);
    if (err)
        return err;
    memcpy(partial->bytes, bytes, size);
    err = sti_update_result(phase, &block, partial, out);
    sti_object_drop(partial);
    return err;
}

static strads_err get_update(const sti_run *run, sti_reader *r,
                             sti_update **out)
{
    uint32_t kind = sti_read_u32(r);
    if (r->err)
        return r->err;
    if (kind == STI_UPDATE_CHANGE)
        return get_change(run, r, out);
    if (kind == STI_UPDATE_RESULT)
        return get_result(run, r, out);
    return reject_message("updates of an unknown kind");
}

static void put_dispatch(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    const sti_dispatch *d = (const sti_dispatch *)msg->object;
    if (msg->partition) { /* a piece of one */
        put_partial(msg, w, rest);
        return;
    }
    sti_write_u64(w, d->round);
    sti_write_u32(w, d->phase);
    sti_write_u32(w, d->width);
    sti_write_u64(w, d->known);
    sti_write_u64(w, d->settled);
    sti_write_f64s(w, d->totals, d->n_totals);
    write_blocks(w, d->n_blocks, d->blocks);
    write_blocks(w, d->has_against, &d->against);
    write_blocks(w, d->n_in_flight, d->in_flight);
    sti_write_f64s(w, d->values, d->values ? d->value_at[d->n_blocks] : 0);
    uint64_t *at = sti_write_array(w, d->n_blocks + 1, sizeof *at);
    for (uint32_t k = 0; at && k <= d->n_blocks; k++)
        at[k] = d->partial_at[k];
    sti_write_u32(w, d->n_updates);
    for (uint32_t k = 0; k < d->n_updates; k++)
        put_update(w, d->updates[k], d->width);
}

/* The lists of a dispatch while it is decoded. */
typedef struct draft {
    sti_dispatch_parts parts;
    strads_block *blocks, *against, *in_flight;
    uint32_t n_against;
    const double *totals, *values;
    uint64_t n_totals, n_numbers;
    const uint64_t *partial_at;
    sti_update **updates;
} draft;

static void free_draft(draft *t)
{
    for (uint32_t k = 0; k < t->parts.n_updates; k++)
        sti_object_drop(t->updates[k]);
    free(t->updates);
    free(t->blocks);
    free(t->against);
    free(t->in_flight);
}

static strads_err read_update(const sti_run *run, sti_reader *r, draft *t)
{
    uint32_t n = sti_read_u32(r);
    if (r->err)
        return r->err;
    if (n > (r->size - r->at) / sizeof(uint32_t))
        return reject_message("more updates than it holds");
    t->updates = malloc(sizeof(sti_update *) * (n + 1));
    if (!t->updates)
        return strads_fail(STRADS_ENOMEM, "no memory for a dispatch's updates");
    strads_err err = STRADS_OK;
    while (t->parts.n_updates < n && !err) {
        err = get_update(run, r, &t->updates[t->parts.n_updates]);
        t->parts.n_updates += !err;
    }
    return err;
}

/* The space that this node itself would reserve for a block's partial. */
static uint64_t expected_bytes(const sti_run *run, const sti_dispatch_parts *p,
                               uint32_t k)
{
    if (p->phase >= run->n_phases)
        return 0;
    size_t bytes =
        sti_phase_partial_bytes(run, p->phase, &p->blocks[k], p->against);
    return (bytes + 7) & ~(uint64_t)7;
}

/* Checks that partials have the sizes that this node computes, and that values
 * are there for all blocks or none. */
static strads_err check_places(const sti_run *run, const draft *t,
                               uint64_t n_places)
{
    const sti_dispatch_parts *p = &t->parts;
    if (n_places != (uint64_t)p->n_blocks + 1 || t->partial_at[0] != 0)
        return reject_message("partials of another number than blocks");
    uint64_t numbers = 0;
    for (uint32_t k = 0; k < p->n_blocks; k++) {
        uint64_t size = t->partial_at[k + 1] - t->partial_at[k];
        if (size != expected_bytes(run, p, k))
            return reject_message("partials of other sizes than its phase has");
        numbers += (uint64_t)p->blocks[k].n * run->shape.width;
    }
    bool values = sti_phase_takes_values(run, p->phase);
    if (t->n_numbers != (values ? numbers : 0))
        return reject_message("values of another number than parameters");
    return STRADS_OK;
}

/* Checks totals, and that a RING's blocks are in the plan; sets their
 * owners. */
static strads_err check_ring(const sti_run *run, draft *t)
{
    const sti_dispatch_parts *p = &t->parts;
    bool ring =
        p->phase < run->n_phases && run->phases[p->phase].to == STRADS_TO_RING;
    if (p->settled > p->seq || p->seq - p->settled > run->depth)
        return reject_message("totals of a round that is not in flight");
    if (t->n_totals != (p->phase < run->n_phases ? run->shape.totals : 0))
        return reject_message("totals of another number than the program's");
    return ring && sti_ring_settle(run, p->n_blocks, t->blocks)
               ? reject_message("a block that is not in the plan")
               : STRADS_OK;
}

static strads_err read_draft(const sti_run *run, sti_reader *r, draft *t)
{
    t->parts.round = sti_read_u64(r);
    t->parts.phase = sti_read_u32(r);
    uint32_t width = sti_read_u32(r);
    t->parts.known = sti_read_u64(r);
    t->parts.settled = sti_read_u64(r);
    t->totals = sti_read_f64s(r, &t->n_totals);
    if (!r->err && width != run->shape.width)
        return reject_message("parameters of another width");
    bool internal = t->parts.phase >= STI_PHASE_PACK;
    if (!r->err && t->parts.phase >= run->n_phases && !internal)
        return reject_message("an unknown phase");
    strads_err err = get_blocks(run, r, &t->parts.n_blocks, &t->blocks);
    t->parts.blocks = t->blocks;
    if (!err)
        err = get_blocks(run, r, &t->n_against, &t->against);
    if (!err)
        err = get_blocks(run, r, &t->parts.n_in_flight, &t->in_flight);
    if (err)
        return err;
    uint64_t n_places;
    t->parts.against = t->n_against ? t->against : NULL;
    t->parts.in_flight = t->in_flight;
    t->values = sti_read_f64s(r, &t->n_numbers);
    t->partial_at = sti_read_u64s(r, &n_places);
    err = r->err ? r->err : check_places(run, t, n_places);
    if (!err)
        err = check_ring(run, t);
    if (!err)
        err = read_update(run, r, t);
    t->parts.updates = t->updates;
    return err ? err : sti_reader_end(r, "a DISPATCH");
}

static strads_err make_dispatch(const sti_run *run, const draft *t,
                                sti_dispatch **out)
{
    strads_err err = sti_dispatch_new(&t->parts, out);
    if (err)
        return err;
    sti_dispatch *d = *out;
    if (t->n_numbers)
        memcpy(d->values, t->values, sizeof(double) * t->n_numbers);
    if (t->n_totals)
        memcpy(d->totals, t->totals, sizeof(double) * t->n_totals);
    bool values = sti_phase_takes_values(run, d->phase);
    for (uint32_t k = 0; k < d->n_blocks; k++) {
        size_t numbers = values ? (size_t)d->blocks[k].n * run->shape.width : 0;
        d->value_at[k + 1] = d->value_at[k] + numbers;
        d->partial_at[k + 1] = t->partial_at[k + 1];
    }
    return STRADS_OK;
}

static strads_err get_dispatch(const sti_run *run, sti_reader *r,
                               sti_object *backing, sti_msg *msg)
{
    if (msg->partition) /* a piece of one */
        return get_partial(run, r, backing, msg);
    draft t = {.parts.seq = msg->round, .parts.width = run->shape.width};
    sti_dispatch *dispatch = NULL;
    strads_err err = read_draft(run, r, &t);
    t.parts.n_values = t.n_numbers;
    t.parts.n_totals = (uint32_t)t.n_totals;
    if (!err)
        err = make_dispatch(run, &t, &dispatch);
    free_draft(&t);
    if (!err)
        msg->object = &dispatch->head;
    return err;
}

/* ---- RING_STEP, FAIL ----------------------------------------------------- */

static void put_ring_step(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    const sti_ring_step *step = (const sti_ring_step *)msg->object;
    sti_write_u32(w, step->index);
    sti_write_u32(w, step->number);
    sti_write_bytes(w, step->partial->bytes, step->partial->size);
    sti_write_f64s(w, step->values, step->n_values);
    put_bytes(w, step->packed);
}

static strads_err get_ring_step(const sti_run *run, sti_reader *r,
                                sti_object *backing, sti_msg *msg)
{
    (void)backing;
    const uint32_t index = sti_read_u32(r);
    const uint32_t number = sti_read_u32(r);
    uint64_t n_partial, n_values, n_packed = 0;
    const void *partial = sti_read_bytes(r, &n_partial);
    const double *values = sti_read_f64s(r, &n_values);
    const void *packed = sti_read_u32(r) ? sti_read_bytes(r, &n_packed) : NULL;
    strads_err err = sti_reader_end(r, "a RING_STEP");
    if (err)
        return err;
    if (number > run->partitions || (packed && !run->program->payload))
        return reject_message("a ring block that has come too far");
    sti_ring_step *step;
    err = sti_ring_step_new(index, n_values, n_partial, &step);
    if (err)
        return err;
    step->number = number;
    memcpy(step->partial->bytes, partial, n_partial);
    memcpy(step->values, values, sizeof *values * n_values);
    if (packed)
        err = sti_buffer_new(n_packed, &step->packed);
    if (packed && !err)
        memcpy(step->packed->bytes, packed, n_packed);
    if (err)
        sti_object_drop(step);
    else
        msg->object = &step->head;
    return err;
}

static void put_failure(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    const sti_failure *failure = (const sti_failure *)msg->object;
    sti_write_u32(w, failure ? failure->err : STRADS_ENOMEM);
    sti_write_string(w, failure ? failure->text : "out of memory");
}

static strads_err get_failure(const sti_run *run, sti_reader *r,
                              sti_object *backing, sti_msg *msg)
{
    (void)run, (void)backing;
    uint32_t code = sti_read_u32(r);
    const char *text = sti_read_string(r);
    strads_err err = sti_reader_end(r, "a FAIL");
    if (err)
        return err;
    if (code == STRADS_OK || code > STRADS_EREGROUP)
        code = STRADS_EPEER;
    msg->object = sti_failure_object((strads_err)code, text);
    return STRADS_OK;
}

/* ---- LOOP --------------------------------------------------------------- */

enum { STOP = 1, COUNTED = 2, CHECKPOINTS = 4 };

static void note_destroy(sti_object *object)
{
    sti_object_drop(((sti_loop_note *)object)->parts);
    free(object);
}

strads_err sti_loop_note_new(const sti_loop_note *note, sti_loop_note **out)
{
    sti_loop_note *copy = malloc(sizeof *copy);
    if (!copy)
        return strads_fail(STRADS_ENOMEM, "no memory for a message");
    *copy = *note;
    if (copy->parts)
        sti_object_keep(copy->parts);
    sti_object_init(&copy->head, note_destroy);
    *out = copy;
    return STRADS_OK;
}

static void put_loop(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    (void)rest;
    const sti_loop_note *note = (const sti_loop_note *)msg->object;
    sti_write_u32(w, note->word);
    sti_write_u32(w, (note->report.stop ? STOP : 0) |
                         (note->counted ? COUNTED : 0) |
                         (note->checkpoints ? CHECKPOINTS : 0));
    sti_write_u64(w, note->report.nonzeros);
    sti_write_f64(w, note->report.objective);
    sti_write_f64(w, note->report.gap);
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        sti_write_f64(w, note->report.measure[k]);
    sti_write_f64(w, note->times.computing);
    sti_write_f64(w, note->times.waiting);
    sti_write_f64(w, note->times.network);
    sti_write_u64(w, note->clock);
    sti_write_u64(w, note->last);
    sti_write_bytes(w, note->parts ? note->parts->bytes : NULL,
                    note->parts ? note->parts->size : 0);
}

static strads_err get_loop(const sti_run *run, sti_reader *r,
                           sti_object *backing, sti_msg *msg)
{
    (void)run;
    uint64_t size = 0;
    /* separate statements, because the order of reads matters */
    uint32_t word = sti_read_u32(r);
    uint32_t flags = sti_read_u32(r);
    sti_loop_note note = {.report.nonzeros = sti_read_u64(r)};
    note.report.objective = sti_read_f64(r);
    note.report.gap = sti_read_f64(r);
    for (size_t k = 0; k < STRADS_MEASURES; k++)
        note.report.measure[k] = sti_read_f64(r);
    note.times.computing = sti_read_f64(r);
    note.times.waiting = sti_read_f64(r);
    note.times.network = sti_read_f64(r);
    note.clock = sti_read_u64(r);
    note.last = sti_read_u64(r);
    const void *parts = sti_read_bytes(r, &size);
    strads_err err = sti_reader_end(r, "a LOOP");
    if (err)
        return err;
    if (word < STI_LOOP_GO || word > STI_LOOP_CHECKPOINT_GO)
        return strads_fail(STRADS_EPEER,
                           "a node sent an unknown message of a loop: it runs "
                           "another version");
    note.word = (sti_loop_word)word;
    note.report.stop = flags & STOP;
    note.counted = flags & COUNTED;
    note.checkpoints = flags & CHECKPOINTS;
    if (size)
        err = sti_buffer_over(backing, (void *)(uintptr_t)parts, size,
                              &note.parts);
    sti_loop_note *copy = NULL;
    if (!err)
        err = sti_loop_note_new(&note, &copy);
    sti_object_drop(note.parts);
    if (!err)
        msg->object = &copy->head;
    return err;
}

/* ---- the table ---------------------------------------------------------- */

static strads_err get_stored(const sti_run *run, sti_reader *r,
                             sti_object *backing, sti_msg *msg)
{
    (void)run;
    return sti_store_decode(r, backing, msg);
}

typedef struct message_kind {
    void (*put)(const sti_msg *msg, sti_writer *w, sti_part *rest);
    strads_err (*get)(const sti_run *run, sti_reader *r, sti_object *backing,
                      sti_msg *msg);
} message_kind;

static const message_kind kinds[] = {
    [STI_MSG_DISPATCH] = {put_dispatch, get_dispatch},
    [STI_MSG_PARTIAL] = {put_partial, get_partial},
    [STI_MSG_RING_STEP] = {put_ring_step, get_ring_step},
    [STI_MSG_ASK] = {put_ask, get_ask},
    [STI_MSG_CHOICE] = {put_choice, get_choice},
    [STI_MSG_FAIL] = {put_failure, get_failure},
    [STI_MSG_PUSH] = {sti_store_encode, get_stored},
    [STI_MSG_ACK] = {sti_store_encode, get_stored},
    [STI_MSG_ASK_ROWS] = {sti_store_encode, get_stored},
    [STI_MSG_ROWS] = {sti_store_encode, get_stored},
    [STI_MSG_LOOP] = {put_loop, get_loop},
    [STI_MSG_PEER_VECTOR] = {sti_store_encode, get_stored},
};

/* NULL: there is no such kind. */
static const message_kind *kind_of(uint32_t kind)
{
    const uint32_t n = sizeof kinds / sizeof *kinds;
    return kind < n && kinds[kind].put ? &kinds[kind] : NULL;
}

strads_err sti_msg_encode(const sti_msg *msg, sti_writer *w, sti_part *rest)
{
    const message_kind *kind = kind_of((uint32_t)msg->kind);
    if (rest)
        *rest = (sti_part){0};
    if (!kind)
        return strads_fail(STRADS_ESTATE, "a message of unknown kind %d",
                           (int)msg->kind);
    kind->put(msg, w, rest);
    return w->err;
}

strads_err sti_msg_decode(const sti_run *run, void *bytes, uint64_t size,
                          sti_object *backing, sti_msg *msg)
{
    const message_kind *kind = kind_of((uint32_t)msg->kind);
    sti_reader r;
    sti_reader_init(&r, bytes, size);
    msg->object = NULL;
    return kind ? kind->get(run, &r, backing, msg)
                : reject_message("an unknown kind");
}
