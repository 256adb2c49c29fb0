/* A tree with eight children a node, one cache line each, level by level in
 * arrays. Each node holds the sum of its children, always added up afresh in
 * the same order: sums depend on the weights alone, not on how they came to
 * be, so they never drift, and are 0 exactly when all that is shown weighs 0.
 *
 * A hidden leaf is stored negated (-0.0 for weight 0) and counts as 0. */
#include "schedulers/sumtree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAN = STI_SUMTREE_FAN }; /* 1 << 3 */

static size_t groups(size_t n)
{
    return (n + FAN - 1) / FAN;
}

static double shown(double weight)
{
    return weight > 0 ? weight : 0;
}

/* Four children, by the tree of additions that both uses below agree on. */
static double add_four(const double *child)
{
    return (shown(child[0]) + shown(child[1])) +
           (shown(child[2]) + shown(child[3]));
}

/* The sum of the children of node `up`, which are on level `l`. */
static double add_up(sti_sumtree *t, uint32_t l, size_t up)
{
    const double *child = t->level[l] + up * FAN;
    t->steps++;
    return add_four(child) + add_four(child + 4);
}

void sti_sumtree_rebuild(sti_sumtree *t)
{
    size_t n = t->n;
    for (uint32_t l = 0; l + 1 < t->levels; l++) {
        n = groups(n);
        for (size_t up = 0; up < n; up++)
            t->level[l + 1][up] = add_up(t, l, up);
    }
    t->sum = add_up(t, t->levels - 1, 0);
}

strads_err sti_sumtree_open(uint32_t n, double weight, sti_sumtree *t)
{
    memset(t, 0, sizeof *t);
    t->n = n;
    size_t size = n;
    do {
        size = groups(size);
        void *level = aligned_alloc(64, size * FAN * sizeof(double));
        if (!level) {
            sti_sumtree_close(t);
            return strads_fail(STRADS_ENOMEM,
                               "no memory for the priorities of %u parameters",
                               n);
        }
        memset(level, 0, size * FAN * sizeof(double));
        t->level[t->levels++] = level;
    } while (size > 1);
    for (uint32_t i = 0; i < n; i++)
        t->level[0][i] = weight;
    sti_sumtree_rebuild(t);
    return STRADS_OK;
}

void sti_sumtree_close(sti_sumtree *t)
{
    for (uint32_t l = 0; l < t->levels; l++)
        free(t->level[l]);
    memset(t, 0, sizeof *t);
}

void sti_sumtree_put(sti_sumtree *t, uint32_t i, double weight)
{
    t->level[0][i] = copysign(weight, t->level[0][i]);
}

void sti_sumtree_hide(sti_sumtree *t, uint32_t i)
{
    t->level[0][i] = -fabs(t->level[0][i]);
}

void sti_sumtree_show(sti_sumtree *t, uint32_t i)
{
    t->level[0][i] = fabs(t->level[0][i]);
}

void sti_sumtree_settle(sti_sumtree *t, uint32_t n, const uint32_t *item)
{
    if ((uint64_t)n * t->levels >= groups(t->n)) {
        sti_sumtree_rebuild(t);
        return;
    }
    /* Level by level, so that a node that many items share is added up once
     * (or seldom, when they come in no order). */
    for (uint32_t l = 0, shift = 3; l + 1 < t->levels; l++, shift += 3) {
        uint32_t last = UINT32_MAX;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t up = item[k] >> shift;
            if (up != last)
                t->level[l + 1][up] = add_up(t, l, up);
            last = up;
        }
    }
    t->sum = add_up(t, t->levels - 1, 0);
}

double sti_sumtree_weight(const sti_sumtree *t, uint32_t i)
{
    return fabs(t->level[0][i]);
}

bool sti_sumtree_hidden(const sti_sumtree *t, uint32_t i)
{
    return signbit(t->level[0][i]);
}

/* Which of a node's children `place` is in; what comes before it is taken off.
 * Three halvings without a branch: which way they go cannot be predicted. */
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

/* The last child that weighs anything. */
static size_t last_child(const double *child)
{
    size_t at = FAN - 1;
    while (at > 0 && !(child[at] > 0))
        at--;
    return at;
}

uint32_t sti_sumtree_find(sti_sumtree *t, double place)
{
    size_t node = 0;
    for (uint32_t l = t->levels; l-- > 0;) {
        const double *child = t->level[l] + node * FAN;
        size_t at = find_child(child, &place);
        /* Rounding may leave `place` at the very end of what there is. */
        if (!(child[at] > 0)) {
            at = last_child(child);
            place = child[at];
        }
        node = node * FAN + at;
        t->steps++;
    }
    return (uint32_t)node;
}
