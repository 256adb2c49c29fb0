/* A tree for the priorities and a list for the floor: the floor is the same
 * for all that it is for, so one of them is drawn from the list in O(1), and a
 * change of the mean costs nothing.
 *
 * place[i] is where i stands in the list, RESTING when the floor is not for
 * it, or AWAY when it is, but i is hidden. */
#include "schedulers/urn.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t RESTING = UINT32_MAX;
static const uint32_t AWAY = UINT32_MAX - 1;
static const double FLOOR = 0.01;

strads_err sti_urn_open(uint32_t n, sti_urn *urn)
{
    memset(urn, 0, sizeof *urn);
    strads_err err = sti_sumtree_open(n, 1.0, &urn->tree);
    if (err)
        return err;
    urn->floor = malloc(n * sizeof *urn->floor);
    urn->place = malloc(n * sizeof *urn->place);
    if (!urn->floor || !urn->place) {
        sti_urn_close(urn);
        return strads_fail(STRADS_ENOMEM, "no memory to schedule %u parameters",
                           n);
    }
    for (uint32_t i = 0; i < n; i++)
        urn->floor[i] = urn->place[i] = i;
    urn->n_floor = urn->positive = n;
    return STRADS_OK;
}

void sti_urn_close(sti_urn *urn)
{
    sti_sumtree_close(&urn->tree);
    free(urn->floor);
    free(urn->place);
    memset(urn, 0, sizeof *urn);
}

static void list_add(sti_urn *urn, uint32_t i)
{
    urn->place[i] = urn->n_floor;
    urn->floor[urn->n_floor++] = i;
}

static void list_remove(sti_urn *urn, uint32_t i)
{
    uint32_t last = urn->floor[--urn->n_floor];
    urn->floor[urn->place[i]] = last;
    urn->place[last] = urn->place[i];
}

/* Counts and lists afresh, from the priorities. */
static void recount(sti_urn *urn)
{
    urn->n_floor = urn->positive = 0;
    for (uint32_t i = 0; i < urn->tree.n; i++) {
        bool moves = sti_urn_priority(urn, i) > 0;
        bool shown = !sti_urn_hidden(urn, i);
        urn->place[i] = moves ? AWAY : RESTING;
        if (moves && shown)
            list_add(urn, i);
        urn->positive += moves && shown;
    }
}

/* Returns whether i is shown: then the sums must follow. */
static bool put(sti_urn *urn, uint32_t i, double priority)
{
    bool moved = sti_urn_priority(urn, i) > 0;
    sti_sumtree_put(&urn->tree, i, priority);
    bool moves = sti_urn_priority(urn, i) > 0;
    bool shown = !sti_urn_hidden(urn, i);
    if (shown) {
        urn->positive -= moved;
        urn->positive += moves;
    }
    if (moves && urn->place[i] == RESTING) {
        urn->place[i] = AWAY;
        if (shown)
            list_add(urn, i);
    }
    return shown;
}

void sti_urn_set(sti_urn *urn, uint32_t n, const uint32_t *param,
                 const double *priority, bool all)
{
    bool counts = false;
    for (uint32_t k = 0; k < n; k++)
        counts |= put(urn, param[k], priority[k]);
    if (counts)
        sti_sumtree_settle(&urn->tree, n, param);
    if (all)
        recount(urn);
}

static void hide(sti_urn *urn, uint32_t i)
{
    urn->positive -= sti_urn_priority(urn, i) > 0;
    if (urn->place[i] != RESTING) {
        list_remove(urn, i);
        urn->place[i] = AWAY;
    }
    sti_sumtree_hide(&urn->tree, i);
}

static void show(sti_urn *urn, uint32_t i)
{
    sti_sumtree_show(&urn->tree, i);
    urn->positive += sti_urn_priority(urn, i) > 0;
    if (urn->place[i] == AWAY)
        list_add(urn, i);
}

void sti_urn_hide(sti_urn *urn, uint32_t n, const uint32_t *param)
{
    for (uint32_t k = 0; k < n; k++)
        if (!sti_urn_hidden(urn, param[k]))
            hide(urn, param[k]);
    sti_sumtree_settle(&urn->tree, n, param);
}

void sti_urn_show(sti_urn *urn, uint32_t n, const uint32_t *param)
{
    for (uint32_t k = 0; k < n; k++)
        if (sti_urn_hidden(urn, param[k]))
            show(urn, param[k]);
    sti_sumtree_settle(&urn->tree, n, param);
}

uint32_t sti_urn_draw(sti_urn *urn, double unit)
{
    double sum = sti_urn_sum(urn);
    if (!(sum > 0) || urn->positive == 0)
        return STI_URN_NONE;
    double floor = FLOOR * sum / urn->positive;
    double place = unit * (sum + floor * urn->n_floor);
    if (place < sum)
        return sti_sumtree_find(&urn->tree, place);
    uint32_t k = (uint32_t)((place - sum) / floor);
    return urn->floor[k < urn->n_floor ? k : urn->n_floor - 1];
}
