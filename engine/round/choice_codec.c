/* The questions' lists, one after the other. Nothing that was read is kept: it
 * is copied out of the payload, for a policy holds on to none of it. */
#include "engine/round/choice_codec.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/round/block_codec.h"

/* ---- ASK --------------------------------------------------------------- */

static void put_ask(sti_writer *w, const sti_ask *ask)
{
    sti_write_u64(w, ask->epoch);
    sti_write_f64(w, ask->work);
    sti_write_u32(w, ask->hands);
    sti_put_blocks(w, ask->n_in_flight, ask->in_flight);
    sti_write_u32(w, ask->n_moved);
    for (uint32_t k = 0; k < ask->n_moved; k++) {
        const sti_moved *moved = ask->moved[k];
        sti_write_f64(w, moved->rest);
        sti_write_u32s(w, moved->param, moved->n);
        sti_write_f64s(w, moved->priority, moved->n);
    }
    for (const sti_found *f = ask->found; f; f = f->next) {
        sti_put_blocks(w, 2, f->pair);
        sti_write_f64s(w, f->value, (uint64_t)f->pair[0].n * f->pair[1].n);
    }
    sti_put_blocks(w, 0, NULL);
}

/* `n` is how many parameters the scheduler has. */
static strads_err get_moved(sti_reader *r, uint32_t n, sti_moved *moved)
{
    uint64_t n_param, n_priority;
    moved->rest = sti_read_f64(r);
    const uint32_t *param = sti_read_u32s(r, &n_param);
    const double *priority = sti_read_f64s(r, &n_priority);
    if (r->err)
        return r->err;
    if (n_param != n_priority || n_param > UINT32_MAX || isnan(moved->rest))
        return sti_refuse("priorities of another number than parameters");
    for (uint64_t k = 0; k < n_param; k++)
        if (param[k] >= n || !(priority[k] >= 0) || isinf(priority[k]))
            return sti_refuse("a priority that is none");
    return sti_moved_add(moved, (uint32_t)n_param, param, priority);
}

static strads_err get_all_moved(sti_reader *r, uint32_t n, sti_ask *ask)
{
    uint32_t lists = sti_read_u32(r);
    strads_err err = r->err;
    for (uint32_t k = 0; k < lists && !err; k++) {
        sti_moved *moved;
        err = sti_moved_new(&moved);
        if (err)
            return err;
        err = get_moved(r, n, moved);
        strads_err failed = sti_ask_add_moved(ask, moved);
        err = err ? err : failed;
    }
    return err;
}

static strads_err keep_found(sti_ask *ask, const strads_block *pair,
                             const double *value, uint64_t n)
{
    sti_buffer *values;
    if (n != (uint64_t)pair[0].n * pair[1].n)
        return sti_refuse("a probe of another size than its blocks");
    strads_err err = sti_buffer_new(sizeof *value * n, &values);
    if (err)
        return err;
    memcpy(values->bytes, value, sizeof *value * n);
    return sti_ask_add_found(ask, pair, values,
                             (const double *)(void *)values->bytes);
}

/* Pairs of blocks with their values, up to an empty list. */
static strads_err get_found(const sti_run *run, sti_reader *r, sti_ask *ask)
{
    for (;;) {
        uint32_t n_blocks;
        uint64_t n_values;
        strads_block *pair;
        strads_err err = sti_get_blocks(run, r, &n_blocks, &pair);
        if (err)
            return err;
        if (n_blocks == 2) {
            const double *value = sti_read_f64s(r, &n_values);
            err = r->err ? r->err : keep_found(ask, pair, value, n_values);
        } else if (n_blocks) {
            err = sti_refuse("a probe of another number of blocks than two");
        }
        free(pair);
        if (err || n_blocks == 0)
            return err;
    }
}

static strads_err read_ask(const sti_run *run, sti_reader *r, uint32_t number,
                           sti_ask *ask)
{
    uint32_t parameters =
        sti_run_range(run, number + 1) - sti_run_range(run, number);
    strads_block *flying;
    ask->epoch = sti_read_u64(r);
    ask->work = sti_read_f64(r);
    ask->hands = sti_read_u32(r);
    strads_err err = sti_get_blocks(run, r, &ask->n_in_flight, &flying);
    if (err)
        return err;
    err = sti_blocks_copy(ask->n_in_flight, flying, &ask->in_flight);
    free(flying);
    if (!err)
        err = get_all_moved(r, parameters, ask);
    if (!err)
        err = get_found(run, r, ask);
    return err ? err : sti_reader_end(r, "an ASK");
}

static strads_err get_ask(const sti_run *run, sti_reader *r, sti_msg *msg)
{
    uint32_t number = msg->to - STI_SCHEDULER_0;
    sti_ask *ask;
    if (number >= run->schedulers)
        return sti_refuse("a question for a scheduler that is not there");
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

static void put_choice(sti_writer *w, const sti_choice *choice)
{
    sti_write_u32(w, choice->kind);
    sti_write_f64(w, choice->mass);
    sti_put_blocks(w, choice->n, choice->blocks);
}

/* Blocks of a scheduler's own: no other one has their ids or parameters. */
static strads_err check_own(const sti_run *run, uint32_t number, uint32_t n,
                            const strads_block *blocks)
{
    for (uint32_t k = 0; k < n; k++) {
        if (sti_run_chooser(run, blocks[k].id) != number || blocks[k].n == 0)
            return sti_refuse("a block that its scheduler cannot have made");
        for (uint32_t l = 0; l < blocks[k].n; l++)
            if (sti_run_scheduler(run, strads_block_param(&blocks[k], l)) !=
                number)
                return sti_refuse("a parameter that is another scheduler's");
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
               : sti_refuse("a choice of no known kind");
}

static strads_err read_choice(const sti_run *run, sti_reader *r,
                              uint32_t number, sti_choice *choice)
{
    strads_block *blocks;
    choice->kind = (strads_choice_kind)sti_read_u32(r);
    choice->mass = sti_read_f64(r);
    strads_err err = sti_get_blocks(run, r, &choice->n, &blocks);
    if (err)
        return err;
    err = check_kind(choice);
    if (!err && !(choice->mass >= 0 && choice->mass <= DBL_MAX))
        err = sti_refuse("a mass that is none");
    if (!err && choice->kind == STRADS_CHOOSE_PROBE &&
        run->probe_phase == run->n_phases)
        err = sti_refuse("a probe where there is none");
    if (!err)
        err = check_own(run, number, choice->n, blocks);
    if (!err)
        err = sti_blocks_copy(choice->n, blocks, &choice->blocks);
    free(blocks);
    return err ? err : sti_reader_end(r, "a CHOICE");
}

static strads_err get_choice(const sti_run *run, sti_reader *r, sti_msg *msg)
{
    sti_choice *choice;
    msg->from = STI_SCHEDULER_0 + msg->partition;
    if (msg->partition >= run->schedulers)
        return sti_refuse("a choice of a scheduler that is not there");
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

/* ---- both -------------------------------------------------------------- */

void sti_choice_encode(const sti_msg *msg, sti_writer *w)
{
    if (msg->kind == STI_MSG_ASK)
        put_ask(w, (const sti_ask *)msg->object);
    else
        put_choice(w, (const sti_choice *)msg->object);
}

strads_err sti_choice_decode(const sti_run *run, sti_reader *r, sti_msg *msg)
{
    return msg->kind == STI_MSG_ASK ? get_ask(run, r, msg)
                                    : get_choice(run, r, msg);
}
