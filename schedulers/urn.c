/* A tree for the weights of items and a list for the floor: the floor is the
 * same for all that it is for, so one of them is drawn from the list in O(1),
 * and a change of the mean costs nothing. The list only grows until all
 * priorities are set; who is hidden stays in it and is drawn in vain, which
 * leaves the chances of the others as they should be.
 *
 * A block's weight is always added up afresh over its members, so it is 0
 * exactly when all of them rest. */
#include "schedulers/urn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FLOOR = 0.01;
static const double HUGE_PRIORITY = 0x1p900; /* sums of them stay finite */

strads_err sti_urn_open(uint32_t n, sti_blockbook *book, sti_urn *urn)
{
    memset(urn, 0, sizeof *urn);
    strads_err err = sti_sumtree_open(n, 1.0, &urn->tree);
    if (err)
        return err;
    urn->book = book;
    urn->priority = malloc(n * sizeof *urn->priority);
    urn->touched = malloc(n * sizeof *urn->touched);
    urn->floor = malloc(n * sizeof *urn->floor);
    if (!urn->priority || !urn->touched || !urn->floor) {
        sti_urn_close(urn);
        return strads_fail(STRADS_ENOMEM, "no memory to schedule %u parameters",
                           n);
    }
    for (uint32_t i = 0; i < n; i++) {
        urn->priority[i] = 1;
        urn->touched[i] = true;
        urn->floor[i] = i;
    }
    urn->n_floor = urn->positive = n;
    return STRADS_OK;
}

void sti_urn_close(sti_urn *urn)
{
    sti_sumtree_close(&urn->tree);
    free(urn->priority);
    free(urn->touched);
    free(urn->floor);
    free(urn->change);
    memset(urn, 0, sizeof *urn);
}

/* Beyond a share of all items, and when there is no memory, all is summed. */
static void widen(sti_urn *urn)
{
    const uint32_t first = 512, share = 8;
    uint32_t room = urn->room_change ? 2 * urn->room_change : first;
    if (urn->room_change >= first && urn->room_change >= urn->tree.n / share)
        return;
    uint32_t *change = realloc(urn->change, room * sizeof *change);
    if (!change)
        return;
    urn->change = change;
    urn->room_change = room;
}

/* Notes that the sums are to follow an item; the list may overflow. */
static void note(sti_urn *urn, uint32_t item)
{
    if (urn->n_change == urn->room_change)
        widen(urn);
    if (urn->n_change < urn->room_change)
        urn->change[urn->n_change] = item;
    urn->n_change++;
}

static void put(sti_urn *urn, uint32_t i, double priority)
{
    double clean = priority > 0 ? fmin(priority, HUGE_PRIORITY) : 0;
    urn->positive -= urn->priority[i] > 0;
    urn->positive += clean > 0;
    urn->priority[i] = clean;
    if (clean > 0 && !urn->touched[i]) {
        urn->touched[i] = true;
        urn->floor[urn->n_floor++] = i;
    }
    uint32_t e = urn->book->of[i];
    if (e == STI_BLOCK_NONE) {
        sti_sumtree_put(&urn->tree, i, clean);
        note(urn, i);
    } else if (!urn->book->entry[e].changed) {
        urn->book->entry[e].changed = true;
        note(urn, urn->book->entry[e].param[0]);
    }
}

/* Adds a block up. */
static void weigh(sti_urn *urn, sti_blockbook_entry *entry)
{
    double sum = 0, live = 0;
    for (uint32_t k = 0; k < entry->block.n; k++) {
        double priority = urn->priority[entry->param[k]];
        sum += priority;
        live += priority > 0 ? (double)entry->member_weight[k] : 0;
    }
    entry->live = live;
    entry->changed = false;
    sti_sumtree_put(&urn->tree, entry->param[0], sum);
}

/* Brings the tree up to date with all that was noted. */
static void follow(sti_urn *urn)
{
    sti_blockbook *book = urn->book;
    if (urn->n_change > urn->room_change) {
        for (uint32_t e = 0; e < book->n; e++)
            if (book->entry[e].changed)
                weigh(urn, &book->entry[e]);
        sti_sumtree_rebuild(&urn->tree);
    } else {
        uint32_t counts = 0;
        for (uint32_t k = 0; k < urn->n_change; k++) {
            uint32_t item = urn->change[k];
            uint32_t e = book->of[item];
            if (e != STI_BLOCK_NONE && book->entry[e].changed)
                weigh(urn, &book->entry[e]);
            if (!sti_sumtree_hidden(&urn->tree, item))
                urn->change[counts++] = item;
        }
        if (counts)
            sti_sumtree_settle(&urn->tree, counts, urn->change);
    }
    urn->n_change = 0;
}

/* The floor is for what moves now, and for nothing else. */
static void restart_floor(sti_urn *urn)
{
    urn->n_floor = 0;
    for (uint32_t i = 0; i < urn->tree.n; i++) {
        urn->touched[i] = urn->priority[i] > 0;
        if (urn->touched[i])
            urn->floor[urn->n_floor++] = i;
    }
}

void sti_urn_set(sti_urn *urn, uint32_t n, const uint32_t *param,
                 const double *priority, bool all)
{
    for (uint32_t k = 0; k < n; k++)
        put(urn, param[k], priority[k]);
    follow(urn);
    if (all)
        restart_floor(urn);
}

void sti_urn_hide(sti_urn *urn, uint32_t item)
{
    if (sti_sumtree_hidden(&urn->tree, item))
        return;
    sti_sumtree_hide(&urn->tree, item);
    if (urn->loose)
        note(urn, item);
    else
        sti_sumtree_settle(&urn->tree, 1, &item);
}

void sti_urn_show(sti_urn *urn, uint32_t item)
{
    if (!sti_sumtree_hidden(&urn->tree, item))
        return;
    sti_sumtree_show(&urn->tree, item);
    if (urn->loose)
        note(urn, item);
    else
        sti_sumtree_settle(&urn->tree, 1, &item);
}

void sti_urn_loosen(sti_urn *urn)
{
    urn->loose = true;
}

void sti_urn_tighten(sti_urn *urn)
{
    urn->loose = false;
    if (urn->n_change > urn->room_change)
        sti_sumtree_rebuild(&urn->tree);
    else if (urn->n_change)
        sti_sumtree_settle(&urn->tree, urn->n_change, urn->change);
    urn->n_change = 0;
}

void sti_urn_join(sti_urn *urn, uint32_t e)
{
    sti_blockbook_entry *entry = &urn->book->entry[e];
    weigh(urn, entry);
    /* All are hidden or weigh nothing: no sum changes. */
    for (uint32_t k = 1; k < entry->block.n; k++) {
        sti_sumtree_put(&urn->tree, entry->param[k], 0);
        sti_sumtree_show(&urn->tree, entry->param[k]);
    }
}

void sti_urn_part(sti_urn *urn, uint32_t e)
{
    const sti_blockbook_entry *entry = &urn->book->entry[e];
    for (uint32_t k = 0; k < entry->block.n; k++) {
        uint32_t i = entry->param[k];
        sti_sumtree_put(&urn->tree, i, urn->priority[i]);
        sti_sumtree_show(&urn->tree, i);
        if (urn->loose)
            note(urn, i);
    }
    if (!urn->loose)
        sti_sumtree_settle(&urn->tree, entry->block.n, entry->param);
}

double sti_urn_floor(const sti_urn *urn, double hidden)
{
    return urn->positive ? FLOOR * (sti_urn_sum(urn) + hidden) / urn->positive
                         : 0;
}

uint32_t sti_urn_draw(sti_urn *urn, double floor, double unit)
{
    double sum = sti_urn_sum(urn);
    if (!(sum > 0))
        return STI_URN_NONE;
    double place = unit * (sum + floor * urn->n_floor);
    if (place < sum)
        return sti_sumtree_find(&urn->tree, place);
    uint32_t k = (uint32_t)((place - sum) / floor);
    uint32_t i = urn->floor[k < urn->n_floor ? k : urn->n_floor - 1];
    return sti_sumtree_hidden(&urn->tree, sti_urn_item(urn, i)) ? STI_URN_AGAIN
                                                                : i;
}
