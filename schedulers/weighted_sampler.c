/* A tree of sums for the weights of items, and a list for the floor.
 *
 * The tree has eight children per node, one cache line each, stored level by
 * level in arrays. A node's sum is always computed from its children in the
 * same order. So sums depend on the weights alone, never drift, and are 0
 * exactly if all shown items weigh 0. A hidden item is stored negated (-0.0 for
 * weight 0) and counts as 0. Changes are recorded, and sums are updated when
 * they are needed.
 *
 * The floor is the same for all its parameters, so one of them is drawn from
 * the list in O(1), and a change of the mean costs nothing. The list only grows
 * until all priorities are set. A hidden parameter stays in it; if it is drawn,
 * the draw is rejected, which keeps the probabilities of the others correct. */
#include "schedulers/weighted_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAN = STI_SAMPLER_FAN }; /* 1 << 3 */

static const double FLOOR = 0.01;
static const double LARGEST = 0x1p900; /* sums of priorities stay finite */

/* ---- the tree ----------------------------------------------------------- */

static size_t group_count(size_t n)
{
    return (n + FAN - 1) / FAN;
}

static double shown(double weight)
{
    return weight > 0 ? weight : 0;
}

/* Adds four children, in the order of additions that both uses below share. */
static double add_four(const double *child)
{
    return (shown(child[0]) + shown(child[1])) +
           (shown(child[2]) + shown(child[3]));
}

/* The sum of the children of node `up`; the children are on level `l`. */
static double add_children(const sti_sampler *s, uint32_t l, size_t up)
{
    const double *child = s->level[l] + up * FAN;
    return add_four(child) + add_four(child + 4);
}

static void rebuild(sti_sampler *s)
{
    size_t n = s->n;
    for (uint32_t l = 0; l + 1 < s->levels; l++) {
        n = group_count(n);
        for (size_t up = 0; up < n; up++)
            s->level[l + 1][up] = add_children(s, l, up);
    }
}

/* Goes level by level, so that a node with several changed items is added up
 * once (or rarely more often, if the items are not in order). */
static void update_sums(sti_sampler *s)
{
    for (uint32_t l = 0, shift = 3; l + 1 < s->levels; l++, shift += 3) {
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < s->n_change; k++) {
            uint32_t up = s->change[k] >> shift;
            if (up != last)
                s->level[l + 1][up] = add_children(s, l, up);
            last = up;
        }
    }
}

/* Finds the child of a node that contains `place`, and subtracts the sums
 * before it. Three branch-free halvings, because the direction is
 * unpredictable. */
static size_t find_child(const double *child, double *place)
{
    double half = add_four(child);
    size_t at = *place >= half ? 4 : 0;
    *place -= at ? half : 0;
    double pair = shown(child[at]) + shown(child[at + 1]);
    size_t step = *place >= pair ? 2 : 0;
    *place -= step ? pair : 0;
    at += step;
    double one = shown(child[at]);
    step = *place >= one ? 1 : 0;
    *place -= step ? one : 0;
    return at + step;
}

/* The item at `place` in [0, sum) of the concatenated weights. */
static uint32_t find_item(const sti_sampler *s, double place)
{
    size_t node = 0;
    for (uint32_t l = s->levels; l-- > 0;) {
        const double *child = s->level[l] + node * FAN;
        size_t at = find_child(child, &place);
        /* Rounding may put `place` behind the last positive weight. */
        if (!(child[at] > 0)) {
            for (at = FAN - 1; at > 0 && !(child[at] > 0);)
                at--;
            place = child[at];
        }
        node = node * FAN + at;
    }
    return (uint32_t)node;
}

/* ---- changes ------------------------------------------------------------ */

/* Records that sums must follow an item. Beyond a share of all items, or
 * without memory, the list overflows and all sums are recomputed. */
static void note_item(sti_sampler *s, uint32_t item)
{
    const uint32_t first = 512, share = 8;
    uint32_t size = s->change_size;
    if (s->n_change == size && (size < first || size < s->n / share)) {
        size = size ? 2 * size : first;
        uint32_t *change = realloc(s->change, size * sizeof *change);
        if (change) {
            s->change = change;
            s->change_size = size;
        }
    }
    if (s->n_change < s->change_size)
        s->change[s->n_change] = item;
    s->n_change += s->n_change <= s->change_size;
}

static void put_weight(sti_sampler *s, uint32_t i, double weight)
{
    s->level[0][i] = copysign(weight, s->level[0][i]);
}

/* A block's weight is always summed over all its members, so it is 0 exactly
 * if all of them are inactive. */
static void weigh_block(sti_sampler *s, sti_block_entry *entry)
{
    double sum = 0, active = 0;
    for (uint32_t k = 0; k < entry->block.n; k++) {
        double priority = s->priority[entry->param[k]];
        sum += priority;
        active += priority > 0 ? (double)entry->member_weight[k] : 0;
    }
    entry->active = active;
    entry->changed = false;
    put_weight(s, entry->param[0], sum);
}

/* Updates blocks and sums for all recorded changes. */
static void settle_sums(sti_sampler *s)
{
    sti_block_table *table = s->table;
    const bool all = s->n_change > s->change_size;
    if (!s->n_change)
        return;
    for (uint32_t e = 0; all && e < table->n; e++)
        if (table->entry[e].changed)
            weigh_block(s, &table->entry[e]);
    for (uint32_t k = 0; !all && k < s->n_change; k++) {
        uint32_t e = table->of[s->change[k]];
        if (e != STI_BLOCK_NONE && table->entry[e].changed)
            weigh_block(s, &table->entry[e]);
    }
    if (all || (uint64_t)s->n_change * s->levels >= group_count(s->n))
        rebuild(s);
    else
        update_sums(s);
    s->sum = add_children(s, s->levels - 1, 0);
    s->n_change = 0;
}

/* ---- the sampler -------------------------------------------------------- */

strads_err sti_sampler_open(uint32_t n, sti_block_table *table, sti_sampler *s)
{
    bool complete = true;
    memset(s, 0, sizeof *s);
    s->n = n;
    s->table = table;
    s->priority = malloc(n * sizeof *s->priority);
    s->has_floor = malloc(n * sizeof *s->has_floor);
    s->floor = malloc(n * sizeof *s->floor);
    for (size_t size = n; complete && (size > 1 || !s->levels);) {
        size = group_count(size);
        double *level = aligned_alloc(64, size * FAN * sizeof *level);
        complete = level;
        if (level)
            memset(level, 0, size * FAN * sizeof *level);
        s->level[s->levels++] = level;
    }
    if (!complete || !s->priority || !s->has_floor || !s->floor) {
        sti_sampler_close(s);
        return strads_fail(STRADS_ENOMEM, "no memory to schedule %u parameters",
                           n);
    }
    for (uint32_t i = 0; i < n; i++) {
        s->level[0][i] = s->priority[i] = 1;
        s->has_floor[i] = true;
        s->floor[i] = i;
    }
    s->n_floor = s->positive = n;
    rebuild(s);
    s->sum = add_children(s, s->levels - 1, 0);
    return STRADS_OK;
}

void sti_sampler_close(sti_sampler *s)
{
    for (uint32_t l = 0; l < s->levels; l++)
        free(s->level[l]);
    free(s->priority);
    free(s->has_floor);
    free(s->floor);
    free(s->change);
    memset(s, 0, sizeof *s);
}

static void set_one(sti_sampler *s, uint32_t i, double priority)
{
    double clean = priority > 0 ? fmin(priority, LARGEST) : 0;
    s->positive -= s->priority[i] > 0;
    s->positive += clean > 0;
    s->priority[i] = clean;
    if (clean > 0 && !s->has_floor[i]) {
        s->has_floor[i] = true;
        s->floor[s->n_floor++] = i;
    }
    uint32_t e = s->table->of[i];
    if (e == STI_BLOCK_NONE) {
        put_weight(s, i, clean);
        note_item(s, i);
    } else if (!s->table->entry[e].changed) {
        s->table->entry[e].changed = true;
        note_item(s, s->table->entry[e].param[0]);
    }
}

void sti_sampler_set(sti_sampler *s, uint32_t n, const uint32_t *param,
                     const double *priority, bool all)
{
    for (uint32_t k = 0; k < n; k++)
        set_one(s, param[k], priority[k]);
    if (!all)
        return;
    s->n_floor = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        s->has_floor[i] = s->priority[i] > 0;
        if (s->has_floor[i])
            s->floor[s->n_floor++] = i;
    }
}

bool sti_sampler_is_hidden(const sti_sampler *s, uint32_t item)
{
    return signbit(s->level[0][item]);
}

void sti_sampler_hide(sti_sampler *s, uint32_t item)
{
    if (sti_sampler_is_hidden(s, item))
        return;
    s->level[0][item] = -s->level[0][item];
    note_item(s, item);
}

void sti_sampler_show(sti_sampler *s, uint32_t item)
{
    if (!sti_sampler_is_hidden(s, item))
        return;
    s->level[0][item] = -s->level[0][item];
    note_item(s, item);
}

void sti_sampler_join(sti_sampler *s, uint32_t e)
{
    sti_block_entry *entry = &s->table->entry[e];
    weigh_block(s, entry);
    /* All members are hidden or weigh 0, so no sum changes. */
    for (uint32_t k = 1; k < entry->block.n; k++)
        s->level[0][entry->param[k]] = 0;
}

void sti_sampler_split(sti_sampler *s, uint32_t e)
{
    const sti_block_entry *entry = &s->table->entry[e];
    for (uint32_t k = 0; k < entry->block.n; k++) {
        uint32_t i = entry->param[k];
        s->level[0][i] = s->priority[i];
        note_item(s, i);
    }
}

double sti_sampler_sum(sti_sampler *s)
{
    settle_sums(s);
    return s->sum;
}

double sti_sampler_weight(sti_sampler *s, uint32_t item)
{
    settle_sums(s);
    return fabs(s->level[0][item]);
}

double sti_sampler_floor(sti_sampler *s, double hidden)
{
    return s->positive ? FLOOR * (sti_sampler_sum(s) + hidden) / s->positive
                       : 0;
}

uint32_t sti_sampler_draw(sti_sampler *s, double floor, double unit)
{
    double sum = sti_sampler_sum(s);
    if (!(sum > 0))
        return STI_DRAW_NONE;
    double place = unit * (sum + floor * s->n_floor);
    if (place < sum)
        return find_item(s, place);
    uint32_t k = (uint32_t)((place - sum) / floor);
    uint32_t i = s->floor[k < s->n_floor ? k : s->n_floor - 1];
    return sti_sampler_is_hidden(s, sti_sampler_item(s, i)) ? STI_DRAW_AGAIN
                                                            : i;
}
