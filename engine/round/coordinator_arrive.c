/* Partials that arrive: whole, in slices, or one of each head of the tree. A
 * flight has arrived when all of them are here. */
#include "engine/round/coordinator_state.h"
#include "engine/round/slices.h"

#include <stdlib.h>

static strads_err nobody_waits(const sti_msg *msg)
{
    return strads_fail(STRADS_EPEER,
                       "a node sent a result of round %llu, which nobody waits "
                       "for",
                       (unsigned long long)msg->round);
}

/* Which part of a dispatch's partial a message brings, of several that are to
 * come; UINT32_MAX: none. */
static uint32_t part_of(const sti_coordinator *c, const sti_slices *slices,
                        const sti_msg *msg)
{
    const uint32_t p = msg->partition;
    if (p >= c->run->partitions || msg->slice >= slices->n)
        return UINT32_MAX;
    const sti_place place = sti_slices_place(slices, msg->slice, p);
    if (place.parent != p)
        return UINT32_MAX;
    return slices->n > 1 ? msg->slice : place.rank;
}

static strads_err make_parts(sti_flight *f, uint32_t n)
{
    f->slices = calloc(n, sizeof(sti_buffer *));
    f->came = calloc(n, sizeof *f->came);
    f->n_slices = n;
    return f->slices && f->came ? STRADS_OK : sti_coord_no_memory();
}

static strads_err put_part(const sti_coordinator *c, sti_flight *f,
                           const sti_slices *slices, uint32_t n,
                           const sti_msg *msg)
{
    const uint32_t part = part_of(c, slices, msg);
    if (part >= n || (f->came && f->came[part]))
        return nobody_waits(msg);
    strads_err err = f->came ? STRADS_OK : make_parts(f, n);
    if (err)
        return err;
    f->came[part] = true;
    f->slices[part] = (sti_buffer *)msg->object;
    return STRADS_OK;
}

/* A partial, or a part of it, which `f` takes over. */
static strads_err put_partial(const sti_coordinator *c, sti_flight *f,
                              const sti_msg *msg)
{
    const sti_slices slices = sti_slices_of(c->run, f->dispatch);
    const uint32_t n = slices.n > 1 ? slices.n : c->heads;
    strads_err err = STRADS_OK;
    if (n > 1)
        err = put_part(c, f, &slices, n, msg);
    else if (msg->slice > 0)
        err = nobody_waits(msg);
    else
        f->partial = (sti_buffer *)msg->object;
    if (err)
        return err;
    f->arrived = ++f->n_came == n;
    if (msg->busy_ns > f->busy_ns)
        f->busy_ns = msg->busy_ns;
    return STRADS_OK;
}

void sti_coord_take_partial(sti_coordinator *c, const sti_msg *msg,
                            sti_effects *out)
{
    sti_flight *f = sti_coord_flight(c, msg->round);
    strads_err err = STRADS_OK;
    if (!f->used || f->arrived || f->dispatch->seq != msg->round ||
        (f->dispatch->phase < c->run->n_phases && !msg->object))
        err = nobody_waits(msg);
    if (!err)
        err = put_partial(c, f, msg);
    if (err) {
        sti_object_drop(msg->object);
        sti_coord_end(c, err, out);
        return;
    }
    if (!f->arrived)
        return;
    f->alone_ns =
        c->now - (c->last_arrival > f->sent_at ? c->last_arrival : f->sent_at);
    c->last_arrival = c->now;
}
