/* What is dispatched next, and the clocks of training.
 *
 * A sweep is one phase or several; `next` says which one is due, and is moved
 * on by what comes back (mf.c, mf_rows_turns.c). Only one dispatch is in
 * flight: who asks meanwhile waits. */
#include <string.h>
#include <time.h>

#include "mf_parts.h"

enum mf_phase mf_sweep_of(const mf_state *s)
{
    if (mf_by_rows(&s->options))
        return MF_MEET;
    return mf_by_ranks(&s->options) ? MF_RANK : MF_EPOCH;
}

static bool sweep_begins(const mf_state *s)
{
    return s->next == mf_sweep_of(s) && s->sent == 0 && s->slab == 0;
}

/* ---- clocks ------------------------------------------------------------ */

static double now(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void preparation_begins(mf_state *s)
{
    s->cpu_from = now(CLOCK_PROCESS_CPUTIME_ID);
}

void mf_preparation_ends(mf_state *s)
{
    s->preparation = now(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_from;
}

void mf_lap_begins(mf_state *s)
{
    if (sweep_begins(s))
        s->sweep_seconds = 0;
    s->wall_from = now(CLOCK_MONOTONIC);
    s->cpu_from = now(CLOCK_PROCESS_CPUTIME_ID);
}

void mf_lap_ends(mf_state *s)
{
    const double wall = now(CLOCK_MONOTONIC) - s->wall_from;

    s->sweep_seconds += wall;
    s->seconds += wall;
    s->cpu_seconds += now(CLOCK_PROCESS_CPUTIME_ID) - s->cpu_from;
}

/* ---- what comes next --------------------------------------------------- */

static strads_err dispatch_none(strads_turn *turn, const mf_state *s,
                                enum mf_phase phase)
{
    const strads_block none = {.id = s->blocks};

    return strads_turn_dispatch(turn, phase, 1, &none);
}

static strads_err dispatch_lap(strads_turn *turn, mf_state *s,
                               enum mf_phase phase)
{
    s->added = 0;
    memset(s->test, 0, sizeof(s->test));
    mf_lap_begins(s);
    return strads_turn_dispatch(turn, phase, s->blocks, s->cut->block);
}

/* The factors' directions are found in the first sweeps. Partitions that begin
 * with blocks of their own find different ones, the more of these they see
 * before they meet each other's, and lose them again: so a partition is sent
 * one block at a time there. */
static strads_err dispatch_epoch(strads_turn *turn, mf_state *s)
{
    enum { EARLY_SWEEPS = 2 };
    const uint32_t from = s->sent, left = s->blocks - from;
    const uint32_t most =
        s->course.done < EARLY_SWEEPS ? s->partitions : s->blocks;

    if (from == 0) {
        s->added = 0;
        memset(s->sum, 0, sizeof(s->sum[0]) * MF_HELD_N);
    }
    mf_lap_begins(s);
    s->sent += left < most ? left : most;
    return strads_turn_dispatch(turn, MF_EPOCH, s->sent - from,
                                s->cut->block + from);
}

static strads_err dispatch_users(strads_turn *turn, mf_state *s)
{
    const strads_block piece = {.id = s->blocks + s->piece++};

    return strads_turn_dispatch(turn, MF_USERS, 1, &piece);
}

strads_err mf_schedule(strads_turn *turn)
{
    mf_state *s = turn->state;

    if (turn->in_flight)
        return strads_turn_wait(turn);
    if (turn->ends && sweep_begins(s))
        s->next = MF_ITEMS;
    if (turn->ends && s->course.done == 0)
        return strads_turn_stop(turn);
    switch (s->next) {
    case MF_COUNT:
        preparation_begins(s);
        return dispatch_none(turn, s, MF_COUNT);
    case MF_SURVEY:
    case MF_BIAS:
    case MF_BUILD:
    case MF_REPORT:
        return dispatch_none(turn, s, s->next);
    case MF_EPOCH:
        return dispatch_epoch(turn, s);
    case MF_RANK:
        mf_lap_begins(s);
        return dispatch_none(turn, s, MF_RANK);
    case MF_TEST:
    case MF_FILL:
    case MF_ITEMS:
        return dispatch_lap(turn, s, s->next);
    case MF_SPREAD:
    case MF_SOLVE:
    case MF_MEET:
        return mf_rows_dispatch(turn, s);
    case MF_USERS:
        break;
    }
    return s->piece < s->pieces ? dispatch_users(turn, s)
                                : strads_turn_stop(turn);
}
