/* What the coordinator does while whole rows are solved for: a sweep is a lap
 * of `meet` for each slab of factors, one of `spread`, and `solve`. Before the
 * first sweep users are solved for once, from the items' first factors. */
#include <math.h>

#include "mf_parts.h"

/* Equations of a block of items that travels, and how many such blocks of each
 * partition are out at once: what a lap may take of memory, beyond factors. */
enum { EQUATIONS_BYTES = 2 << 20, BLOCKS_OUT = 4 };

uint64_t mf_rows_blocks(const strads_mf_options *o, uint64_t items,
                        uint32_t partitions)
{
    const uint64_t slab = mf_slab(o);
    const uint64_t bytes = items * slab * (slab + 1) * sizeof(float);

    return partitions > 1 ? (bytes + EQUATIONS_BYTES - 1) / EQUATIONS_BYTES : 1;
}

static strads_err dispatch_meet(strads_turn *turn, mf_state *s)
{
    const uint32_t from = s->sent, left = s->blocks - from;
    const uint32_t most =
        s->partitions > 1 ? BLOCKS_OUT * s->partitions : s->blocks;

    s->sent += left < most ? left : most;
    return strads_turn_dispatch(turn, MF_MEET, s->sent - from,
                                s->cut->block + from);
}

strads_err mf_rows_dispatch(strads_turn *turn, mf_state *s)
{
    const strads_block none = {.id = s->blocks};

    mf_lap_begins(s);
    switch (s->next) {
    case MF_MEET:
        return dispatch_meet(turn, s);
    case MF_SPREAD:
        return strads_turn_dispatch(turn, MF_SPREAD, s->blocks, s->cut->block);
    default:
        return strads_turn_dispatch(turn, MF_SOLVE, 1, &none);
    }
}

strads_err mf_met(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->sent)
        return STRADS_OK;
    mf_lap_ends(s);
    if (s->sent < s->blocks)
        return STRADS_OK;
    s->added = s->sent = 0;
    s->slab =
        (s->slab + 1) % (mf_stride(s->options.rank) / mf_slab(&s->options));
    s->next = s->slab ? MF_MEET : MF_SPREAD;
    return STRADS_OK;
}

strads_err mf_spread_done(strads_commit *commit)
{
    mf_state *s = commit->state;

    if (++s->added < s->blocks)
        return STRADS_OK;
    mf_lap_ends(s);
    s->added = 0;
    s->next = MF_SOLVE;
    return STRADS_OK;
}

strads_err mf_solved(strads_commit *commit)
{
    mf_state *s = commit->state;
    const double *sum = commit->partial;

    mf_lap_ends(s);
    s->next = MF_MEET;
    if (!s->began) {
        s->began = true;
        return STRADS_OK;
    }
    if (!isfinite(sum[MF_LOSS]))
        return strads_fail(STRADS_ELIMIT,
                           "the factors' equations have no finite solution: "
                           "the ratings, or alpha, are too large");
    s->objective = s->scale.sd * s->scale.sd * (sum[MF_LOSS] + sum[MF_PENALTY]);
    mf_course_follow(&s->course, sum[MF_LOSS] / s->scale.n,
                     sum[MF_HELD_LOSS] / s->sum[MF_HELD_N]);
    s->next = s->options.test ? MF_TEST : MF_REPORT;
    return STRADS_OK;
}
