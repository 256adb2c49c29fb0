/* Checkpoints of data-parallel loops. All partitions stop at the start of one
 * clock, when all their pushes are in the tables, and continue once the tables
 * are copied.
 *
 * Invariants:
 *
 * - The chosen clock is one that no partition has reached yet.
 * - A partition that reaches it waits until the checkpoint is made or
 *   abandoned.
 * - A checkpoint is abandoned if the run ends, if a partition has ended or if a
 *   partition packs nothing. If a
 *   step of a program takes several clocks, the program packs nothing in the
 *   middle of the step, because it could not resume there. The following
 *   clocks are then tried at once, up to DECLINES_MAX times. */
#include <inttypes.h>
#include <stdlib.h>

#include "engine/base/monotonic_clock.h"
#include "engine/round/checkpoint.h"
#include "engine/round/partials.h"
#include "engine/round/job.h"
#include "engine/run/loops.h"
#include "engine/sim/sim_loop.h"
#include "engine/store/session.h"

/* ---- choosing the clock ------------------------------------------------- */

/* Least common multiple. Tables with exact snapshots have them at some clocks
 * only, and a checkpoint copies the snapshot's rows. */
static uint64_t multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

void sti_loop_checkpoints_open(sti_loops *all, uint64_t last)
{
    const sti_run *run = &all->setup->run;
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    const strads_table_spec *spec;
    checkpoint->keeps = true;
    checkpoint->step = 1;
    for (uint32_t t = 0; (spec = strads_store_spec(run->store, t)); t++)
        if (spec->snapshot_every)
            checkpoint->step = multiple(checkpoint->step, spec->snapshot_every);
    checkpoint->final =
        last ? last / checkpoint->step * checkpoint->step : UINT64_MAX;
    checkpoint->over = checkpoint->final <= all->start;
    checkpoint->at = checkpoint->over ? UINT64_MAX : checkpoint->final;
    checkpoint->agreed = true;
    if (run->checkpoints && run->checkpoints->every_ns)
        checkpoint->due_ns = sti_loops_now(all) + run->checkpoints->every_ns;
}

uint64_t sti_loop_checkpoint_ask_locked(sti_loops *all)
{
    uint64_t most = 0;
    for (uint32_t k = 0; k < all->count; k++)
        if (all->loop[k].reach > most)
            most = all->loop[k].reach;
    sti_loop_checkpoint_choose_locked(all, most + 1);
    all->checkpoint.agreed = false;
    return most + 1;
}

void sti_loop_checkpoint_choose_locked(sti_loops *all, uint64_t least)
{
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    const uint64_t at =
        (least + checkpoint->step - 1) / checkpoint->step * checkpoint->step;
    checkpoint->at = at < checkpoint->final ? at : checkpoint->final;
    checkpoint->agreed = true;
    checkpoint->under_way = true;
    sti_loops_moved_locked(all);
}

bool sti_loop_checkpoint_is_due_locked(const sti_loops *all)
{
    const sti_loop_checkpoint *checkpoint = &all->checkpoint;
    return checkpoint->keeps && !checkpoint->under_way && !checkpoint->over &&
           !all->ends && !all->failed &&
           (checkpoint->ends ||
            (checkpoint->due_ns && sti_loops_now(all) >= checkpoint->due_ns));
}

/* ---- end of a checkpoint ------------------------------------------------ */

enum { DECLINES_MAX = 64 }; /* consecutive clocks that are tried */

void sti_loop_checkpoint_release_locked(sti_loops *all)
{
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    const uint64_t was = checkpoint->at;
    const sti_checkpoints *checkpoints = all->setup->run.checkpoints;
    sti_object_drop(checkpoint->parts);
    checkpoint->parts = NULL;
    checkpoint->arrived = 0;
    checkpoint->declines = checkpoint->declined ? checkpoint->declines + 1 : 0;
    checkpoint->declined = false;
    checkpoint->under_way = false;
    checkpoint->over = checkpoint->over || was >= checkpoint->final ||
                       all->running < all->count;
    checkpoint->at = checkpoint->over ? UINT64_MAX : checkpoint->final;
    checkpoint->agreed = true;
    const bool again = !checkpoint->over && checkpoint->declines % DECLINES_MAX;
    if (checkpoints && checkpoints->every_ns)
        checkpoint->due_ns =
            sti_loops_now(all) + (again ? 0 : checkpoints->every_ns);
    if (checkpoint->ends && !again)
        sti_loops_end_locked(all, checkpoint->end);
    checkpoint->ends = checkpoint->ends && again;
    sti_loops_moved_locked(all);
}

bool sti_loop_checkpoint_end_locked(sti_loops *all, strads_end end)
{
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    if (!checkpoint->keeps || checkpoint->over || all->ends)
        return false;
    if (!checkpoint->ends)
        checkpoint->end = end;
    checkpoint->ends = true;
    return true;
}

strads_err sti_loop_checkpoint_make(const sti_loops *all,
                                    const sti_buffer *parts, uint64_t clock)
{
    const sti_run *run = &all->setup->run;
    const sti_checkpoint_position at = {.next = clock,
                                        .progress = all->progress};
    sti_buffer *state = NULL, *bytes = NULL;
    strads_err err =
        run->program->pack_state
            ? sti_checkpoint_pack(run->program->pack_state, run->state, &state)
            : STRADS_OK;
    if (!err)
        (void)sti_checkpoint_write(run, &at, state, parts, &bytes);
    sti_object_drop(state);
    if (!err)
        run->checkpoints->take(run->checkpoints->arg, bytes);
    return err;
}

/* ---- one partition ------------------------------------------------------ */

/* Called with the lock held. Releases it meanwhile, so that partitions pack in
 * parallel. */
static strads_err pack_locked(sti_loop *l)
{
    sti_loops *all = l->all;
    sti_buffer *own = NULL, **parts = &all->checkpoint.parts;
    bool empty = false;
    pthread_mutex_unlock(&all->lock);
    strads_err err = sti_buffer_new(0, &own);
    if (!err)
        err = sti_checkpoint_append_partition(&all->setup->run, l->partition,
                                              own, &empty);
    pthread_mutex_lock(&all->lock);
    all->checkpoint.declined = all->checkpoint.declined || empty;
    if (!err && !*parts)
        err = sti_buffer_new(0, parts);
    if (!err)
        err = sti_checkpoint_join(*parts, own);
    sti_object_drop(own);
    all->checkpoint.arrived++;
    sti_loops_moved_locked(all);
    return err;
}

/* Copies the simulated shards, once all pushes have arrived, into a temporary
 * store and makes the checkpoint from it. */
static strads_err make_simulated(const sti_loops *all, uint64_t clock)
{
    sti_run *run = &all->setup->run;
    strads_store *before = run->store;
    uint32_t n = 0;
    while (strads_store_spec(before, n))
        n++;
    strads_err err = sti_sim_loop_settle(all->sim);
    if (!err)
        err = sti_job_make_tables(run);
    if (err)
        return err;
    err = sti_sim_loop_tables(all->sim, n, run->store);
    if (!err)
        err = sti_loop_checkpoint_make(all, all->checkpoint.parts, clock);
    strads_store_free(run->store);
    run->store = before;
    return err;
}

/* In one process the last partition to arrive makes the checkpoint. */
static strads_err make_alone_locked(sti_loop *l)
{
    sti_loops *all = l->all;
    const uint64_t clock = all->checkpoint.at;
    all->progress.round = clock;
    sti_loops_sum_locked(all);
    const bool declined = all->checkpoint.declined;
    pthread_mutex_unlock(&all->lock);
    strads_err err = STRADS_OK;
    if (!declined)
        err = all->sim
                  ? make_simulated(all, clock)
                  : sti_loop_checkpoint_make(all, all->checkpoint.parts, clock);
    pthread_mutex_lock(&all->lock);
    sti_loop_checkpoint_release_locked(all);
    return err;
}

bool sti_loop_boundary(void *arg, uint64_t *clock)
{
    sti_loop *l = arg;
    sti_loops *all = l->all;
    const uint64_t now = strads_session_now(l->session);
    pthread_mutex_lock(&all->lock);
    if (!all->nodes && sti_loop_checkpoint_is_due_locked(all))
        sti_loop_checkpoint_choose_locked(all,
                                          sti_loop_checkpoint_ask_locked(all));
    const bool stops = !all->ends && !l->told && now < all->checkpoint.at &&
                       all->checkpoint.at <= *clock;
    if (stops)
        *clock = all->checkpoint.at;
    l->reach = *clock;
    pthread_mutex_unlock(&all->lock);
    return stops;
}

strads_err sti_loop_arrive(void *arg)
{
    sti_loop *l = arg;
    sti_loops *all = l->all;
    sti_loop_checkpoint *checkpoint = &all->checkpoint;
    const uint64_t now = strads_session_now(l->session);
    bool packed = false;
    strads_err err = STRADS_OK;
    pthread_mutex_lock(&all->lock);
    while (!err && checkpoint->at == now && !all->ends && !all->failed) {
        if (!all->nodes && all->running < all->count) {
            sti_loop_checkpoint_release_locked(all);
        } else if (checkpoint->agreed && !packed) {
            err = pack_locked(l);
            packed = true;
            if (!err && !all->nodes && checkpoint->arrived == all->count)
                err = make_alone_locked(l);
        } else if (all->sim) {
            pthread_mutex_unlock(&all->lock);
            err = sti_sim_loop_pause(all->sim, l->partition);
            pthread_mutex_lock(&all->lock);
        } else {
            pthread_cond_wait(&all->moved, &all->lock);
        }
    }
    pthread_mutex_unlock(&all->lock);
    return err;
}
