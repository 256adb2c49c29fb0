/* The counted things that jobs make and messages carry: hops of a RING,
 * priorities, questions and choices, wishes for a probe. */
#include "engine/role/job.h"

#include <stdlib.h>
#include <string.h>

static void hop_destroy(sti_object *object)
{
    sti_hop *hop = (sti_hop *)object;
    if (hop->object && hop->payload && hop->payload->close)
        hop->payload->close(hop->object);
    sti_object_drop(hop->partial);
    sti_object_drop(hop->packed);
    free(hop);
}

strads_err sti_hop_new(uint32_t index, size_t n_values, size_t partial_bytes,
                       sti_hop **out)
{
    sti_hop *hop = malloc(sizeof *hop + sizeof(double) * n_values);
    if (!hop)
        return strads_fail(STRADS_ENOMEM, "no memory for a travelling block");
    *hop = (sti_hop){.index = index, .n_values = n_values};
    sti_object_init(&hop->head, hop_destroy);
    hop->values = (double *)(hop + 1);
    strads_err err = sti_buffer_new(partial_bytes, &hop->partial);
    if (err) {
        sti_object_drop(hop);
        return err;
    }
    memset(hop->partial->bytes, 0, partial_bytes);
    *out = hop;
    return STRADS_OK;
}

static void moved_destroy(sti_object *object)
{
    sti_moved *moved = (sti_moved *)object;
    free(moved->param);
    free(moved->priority);
    free(moved);
}

strads_err sti_moved_new(sti_moved **out)
{
    sti_moved *moved = calloc(1, sizeof *moved);
    if (!moved)
        return strads_fail(STRADS_ENOMEM, "no memory for priorities");
    sti_object_init(&moved->head, moved_destroy);
    moved->rest = -1;
    *out = moved;
    return STRADS_OK;
}

static strads_err moved_grow(sti_moved *moved, size_t need)
{
    size_t room = moved->room + moved->room / 2;
    if (room < need)
        room = need;
    uint32_t *param = realloc(moved->param, sizeof *param * room);
    if (param)
        moved->param = param;
    double *priority = realloc(moved->priority, sizeof *priority * room);
    if (priority)
        moved->priority = priority;
    if (!param || !priority)
        return strads_fail(STRADS_ENOMEM, "no memory for %zu priorities", room);
    moved->room = room;
    return STRADS_OK;
}

strads_err sti_moved_add(sti_moved *moved, uint32_t n, const uint32_t *param,
                         const double *priority)
{
    if (moved->n + n > moved->room) {
        strads_err err = moved_grow(moved, moved->n + n);
        if (err)
            return err;
    }
    memcpy(moved->param + moved->n, param, sizeof *param * n);
    memcpy(moved->priority + moved->n, priority, sizeof *priority * n);
    moved->n += n;
    return STRADS_OK;
}

void sti_wishes_free(sti_wish *first)
{
    while (first) {
        sti_wish *wish = first;
        first = wish->next;
        free(wish->pair);
        free(wish);
    }
}

static void choice_destroy(sti_object *object)
{
    sti_choice *choice = (sti_choice *)object;
    free(choice->blocks);
    free(choice);
}

strads_err sti_choice_new(sti_choice **out)
{
    sti_choice *choice = calloc(1, sizeof *choice);
    if (!choice)
        return strads_fail(STRADS_ENOMEM, "no memory for a choice");
    sti_object_init(&choice->head, choice_destroy);
    *out = choice;
    return STRADS_OK;
}

static void ask_destroy(sti_object *object)
{
    sti_ask *ask = (sti_ask *)object;
    for (uint32_t k = 0; k < ask->n_moved; k++)
        sti_object_drop(ask->moved[k]);
    free(ask->moved);
    free(ask->in_flight);
    free(ask);
}

strads_err sti_ask_new(sti_ask **out)
{
    sti_ask *ask = calloc(1, sizeof *ask);
    if (!ask)
        return strads_fail(STRADS_ENOMEM, "no memory for a question");
    sti_object_init(&ask->head, ask_destroy);
    *out = ask;
    return STRADS_OK;
}

strads_err sti_ask_add_moved(sti_ask *ask, sti_moved *moved)
{
    if (ask->n_moved == ask->room_moved) {
        uint32_t room = ask->room_moved ? 2 * ask->room_moved : 4;
        sti_moved **list = realloc(ask->moved, sizeof(sti_moved *) * room);
        if (!list) {
            sti_object_drop(moved);
            return strads_fail(STRADS_ENOMEM, "no memory for priorities");
        }
        ask->moved = list;
        ask->room_moved = room;
    }
    ask->moved[ask->n_moved++] = moved;
    return STRADS_OK;
}
