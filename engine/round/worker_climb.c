/* Partials on their way up, whole by the tree over partitions (tree.h) or slice
 * by slice (slices.h). Children are taken in in their order, whatever order
 * they come in, so the shape of the sum, and with it every bit, depends on the
 * number of partitions alone. */
#include "engine/round/worker_state.h"

#include <stdlib.h>

static const char unexpected[] =
    "a node sent a partial that nobody waits for: it runs another version or "
    "is broken";

/* ---- places ------------------------------------------------------------ */

/* The climbs of a seat and room for their children, in one allocation. */
static bool make_climbs(const sti_worker *w, const sti_slices *slices,
                        struct sti_seat *seat, uint32_t k)
{
    size_t children = 0;
    for (uint32_t i = 0; i < slices->n; i++)
        children += sti_slices_place(slices, i, w->first + k).n_children;
    seat->climb =
        calloc(1, sizeof *seat->climb * slices->n + sizeof(sti_msg) * children);
    if (!seat->climb)
        return false;
    sti_msg *child = (sti_msg *)(void *)(seat->climb + slices->n);
    for (uint32_t i = 0; i < slices->n; i++) {
        seat->climb[i].place = sti_slices_place(slices, i, w->first + k);
        seat->climb[i].child = child;
        child += seat->climb[i].place.n_children;
    }
    return true;
}

bool sti_worker_make_climbs(sti_worker *w, struct sti_slot *s, sti_effects *out)
{
    s->slices = sti_slices_of(w->run, s->dispatch);
    for (uint32_t k = 0; k < w->n; k++) {
        struct sti_seat *seat = &s->seats[k];
        seat->ready = UINT64_MAX >> (64 - s->slices.n);
        if (s->slices.n == 1) {
            seat->climb = &seat->whole;
        } else if (!make_climbs(w, &s->slices, seat, k)) {
            sti_worker_fail(w, STRADS_ENOMEM, "no memory for a round's slices",
                            out);
            return false;
        }
    }
    return true;
}

void sti_worker_drop_climbs(struct sti_seat *seat, uint32_t n_slices)
{
    for (uint32_t i = 0; seat->climb && i < n_slices; i++) {
        struct sti_climb *climb = &seat->climb[i];
        for (uint32_t c = 0; c < climb->place.n_children; c++) {
            sti_object_drop(climb->child[c].object);
            climb->child[c] = (sti_msg){0};
        }
        climb->merged = 0;
        climb->sent = false;
    }
    if (seat->climb != &seat->whole)
        free(seat->climb);
    seat->climb = NULL;
}

/* ---- up ---------------------------------------------------------------- */

/* After CLOSE there is nothing left to do for one whose partials are sent. */
static void end_if_closed(const sti_worker *w, const struct sti_slot *s,
                          sti_effects *out)
{
    if (s->dispatch->phase == STI_PHASE_CLOSE && sti_worker_is_over(w, s))
        sti_effect_end(out, STRADS_OK);
}

/* What is sent of a seat's partial; NULL without an error: nothing. */
static strads_err pick(const struct sti_slot *s, const struct sti_seat *seat,
                       uint32_t slice, sti_object **out)
{
    const sti_slices *slices = &s->slices;
    *out = NULL;
    if (sti_worker_is_internal(s->dispatch))
        return STRADS_OK;
    if (slices->n == 1) {
        *out = sti_object_keep(seat->partial);
        return STRADS_OK;
    }
    const size_t begin = sti_slices_begin(slices, slice);
    sti_buffer *part;
    strads_err err =
        sti_buffer_over(&seat->partial->head, seat->partial->bytes + begin,
                        sti_slices_begin(slices, slice + 1) - begin, &part);
    if (!err)
        *out = &part->head;
    return err;
}

static void send_up(sti_worker *w, struct sti_slot *s, uint32_t k,
                    uint32_t slice, sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    const sti_place *place = &seat->climb[slice].place;
    const bool root = place->parent == w->first + k;
    sti_object *object;
    if (pick(s, seat, slice, &object)) {
        sti_worker_fail(w, STRADS_ENOMEM, strads_error_text(), out);
        return;
    }
    seat->climb[slice].sent = true;
    seat->n_sent++;
    sti_effect_send(out,
                    (sti_msg){.kind = STI_MSG_PARTIAL,
                              .from = STI_WORKER_0 + w->index,
                              .to = root ? STI_COORDINATOR
                                         : sti_worker_host(w, place->parent),
                              .partition = w->first + k,
                              .slice = (uint16_t)slice,
                              .round = s->seq,
                              .busy_ns = seat->busy_ns,
                              .object = object});
    end_if_closed(w, s, out);
}

static void take_in(sti_worker *w, struct sti_slot *s, uint32_t k,
                    uint32_t slice, sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    struct sti_climb *climb = &seat->climb[slice];
    const sti_msg *child = &climb->child[climb->merged];
    if (child->busy_ns > seat->busy_ns)
        seat->busy_ns = child->busy_ns;
    if (!child->object != sti_worker_is_internal(s->dispatch)) {
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
        return;
    }
    if (!child->object) {
        climb->merged++;
        return;
    }
    seat->job.from = (sti_buffer *)child->object;
    seat->job.slice = slice;
    sti_worker_compute(w, s, k, STI_CALL_MERGE, out);
}

void sti_worker_merged(struct sti_seat *seat)
{
    struct sti_climb *climb = &seat->climb[seat->job.slice];
    sti_object_drop(climb->child[climb->merged].object);
    climb->child[climb->merged].object = NULL;
    climb->merged++;
}

/* One step of a slice, if there is one. */
static bool climb_on(sti_worker *w, struct sti_slot *s, uint32_t k,
                     uint32_t slice, sti_effects *out)
{
    const struct sti_climb *climb = &s->seats[k].climb[slice];
    if (climb->sent)
        return false;
    if (climb->merged == climb->place.n_children) {
        send_up(w, s, k, slice, out);
        return true;
    }
    if (climb->child[climb->merged].kind == 0)
        return false;
    take_in(w, s, k, slice, out);
    return true;
}

void sti_worker_climb(sti_worker *w, struct sti_slot *s, uint32_t k,
                      sti_effects *out)
{
    struct sti_seat *seat = &s->seats[k];
    while (seat->ready && seat->worked && !seat->busy && !w->failed) {
        const uint32_t turn = (uint32_t)__builtin_ctzll(seat->ready);
        const uint32_t slice = sti_slices_turn(&s->slices, w->first + k, turn);
        if (!climb_on(w, s, k, slice, out))
            seat->ready &= ~(UINT64_C(1) << turn);
    }
}

/* ---- what comes -------------------------------------------------------- */

/* Leaves a partial where its parent is; that partition's seat, or UINT32_MAX
 * for one that nobody waits for. */
static uint32_t seat_partial(sti_worker *w, struct sti_slot *s,
                             const sti_msg *msg)
{
    const uint32_t partitions = w->run->partitions;
    if (msg->slice >= s->slices.n || msg->partition >= partitions)
        return UINT32_MAX;
    const sti_place from =
        sti_slices_place(&s->slices, msg->slice, msg->partition);
    const uint32_t parent = from.parent;
    if (parent == msg->partition || parent < w->first ||
        parent >= w->first + w->n)
        return UINT32_MAX;
    struct sti_seat *seat = &s->seats[parent - w->first];
    struct sti_climb *climb = &seat->climb[msg->slice];
    if (climb->child[from.rank].kind)
        return UINT32_MAX;
    climb->child[from.rank] = *msg;
    seat->ready |= UINT64_C(1)
                   << sti_slices_when(&s->slices, parent, msg->slice);
    return parent - w->first;
}

static void take_one(sti_worker *w, struct sti_slot *s, const sti_msg *msg,
                     sti_effects *out)
{
    const uint32_t k = seat_partial(w, s, msg);
    if (k == UINT32_MAX) {
        sti_object_drop(msg->object);
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
        return;
    }
    sti_worker_climb(w, s, k, out);
}

/* Keeps what came before its dispatch; no more than could. */
static bool keep_ahead(const sti_worker *w, struct sti_slot *s,
                       const sti_msg *msg)
{
    if (s->n_ahead >= w->most_ahead)
        return false;
    if (s->n_ahead == s->room_ahead) {
        uint32_t room = s->room_ahead ? 2 * s->room_ahead : 8;
        sti_msg *ahead = realloc(s->ahead, sizeof *ahead * room);
        if (!ahead)
            return false;
        s->ahead = ahead;
        s->room_ahead = room;
    }
    s->ahead[s->n_ahead++] = *msg;
    return true;
}

void sti_worker_take_partial(sti_worker *w, const sti_msg *msg,
                             sti_effects *out)
{
    struct sti_slot *s = sti_worker_slot(w, msg->round);
    if (s && s->taken_up) {
        take_one(w, s, msg, out);
    } else if (!s || !keep_ahead(w, s, msg)) {
        sti_object_drop(msg->object);
        sti_worker_fail(w, STRADS_EPEER, unexpected, out);
    }
}

void sti_worker_seat_ahead(sti_worker *w, struct sti_slot *s, sti_effects *out)
{
    for (uint32_t k = 0; k < s->n_ahead; k++)
        take_one(w, s, &s->ahead[k], out);
    s->n_ahead = 0;
}
