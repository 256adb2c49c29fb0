/* Ranking losses for implicit feedback, over pairs of an item i that a user had
 * and another item j that it did not have; x = p'(q_i - q_j):
 *
 *     bpr    ln(1 + exp(-x))          (Rendle et al. 2009)
 *     warp   w max(0, 1 - x), w = H(rank) / H(items - 1), with H(n) = 1 + 1/2 +
 *            .. + 1/n               (Weston, Bengio and Usunier 2011)
 *
 * plus lambda / 2 (|p|^2 + |q_i|^2 + |q_j|^2). A sweep takes each rating once,
 * in the cells of mf_sgd.c, and draws j from the items of the same block. BPR
 * draws one; WARP draws until one has x < 1, and estimates the rank of i by the
 * number of draws. A pair does not leave a partition, so blocks are as few as
 * the partitions allow. */
#include "mf_parts.h"

#include <math.h>
#include <string.h>

/* Draws for one rating: to find an item that the user did not have, and for
 * WARP, to find one with x < 1. */
enum { DRAWS_BPR = 32, DRAWS_WARP = 50 };

/* ---- a pair -------------------------------------------------------------- */

double mf_pair_margin(const mf_pair *pair)
{
    return (double)mf_dot(pair->p, pair->had, pair->stride) -
           (double)mf_dot(pair->p, pair->other, pair->stride);
}

static void descend_pair(const mf_pair *pair, double slope)
{
    const float by = (float)(pair->size * slope);
    const float keep = (float)(1 - pair->size * pair->lambda);
    float *p = pair->p, *had = pair->had, *other = pair->other;

    for (uint32_t k = 0; k < pair->stride; k++) {
        const float was = p[k], up = had[k], down = other[k];
        p[k] = keep * was + by * (up - down);
        had[k] = keep * up + by * was;
        other[k] = keep * down - by * was;
    }
}

double mf_pair_bpr(const mf_pair *pair, double x)
{
    const double e = exp(-fabs(x)); /* does not overflow */

    descend_pair(pair, (x > 0 ? e : 1) / (1 + e));
    return log1p(e) + (x > 0 ? 0 : -x);
}

double mf_pair_warp(const mf_pair *pair, double x, double weight)
{
    if (!(x < 1))
        return 0;
    descend_pair(pair, weight);
    return weight * (1 - x);
}

/* ---- a user's items ------------------------------------------------------ */

static bool had_item(const mf_pairs *r, uint64_t u, uint32_t item)
{
    uint64_t low = r->start[u], high = r->start[u + 1];

    while (low < high) {
        const uint64_t mid = low + (high - low) / 2;
        if (r->item[mid] == item)
            return true;
        if (r->item[mid] < item)
            low = mid + 1;
        else
            high = mid;
    }
    return false;
}

strads_err mf_pairs_open(mf_pairs *r, const strads_sparse *x)
{
    const uint64_t first = x->start[0], n = x->start[x->lines] - first;

    r->start = malloc(sizeof(*r->start) * (x->lines + 1));
    r->item = malloc(sizeof(*r->item) * (n + 1));
    if (!r->start || !r->item)
        return mf_no_memory("users' items", 4 * n + 8 * x->lines);
    for (uint64_t u = 0; u <= x->lines; u++)
        r->start[u] = x->start[u] - first;
    memcpy(r->item, x->index + first, sizeof(*r->item) * n);
    return STRADS_OK;
}

void mf_pairs_free(mf_pairs *r)
{
    free(r->start);
    free(r->item);
    *r = (mf_pairs){0};
}

/* ---- a sweep ------------------------------------------------------------- */

/* A block's items at a partition, and the draws of this visit. */
typedef struct visit {
    const mf_local *l;
    const strads_block *block;
    float *q;
    double harmonic; /* H(items - 1) */
    uint64_t draws;
} visit;

/* Draws an item of the block that user u did not have into pair->other. False:
 * the draw had one that it did. */
static bool draw_other(visit *v, uint64_t u, mf_pair *pair)
{
    const uint32_t k =
        (uint32_t)((mf_next_bits(&v->draws) >> 32) * v->block->n >> 32);

    pair->other = v->q + (size_t)k * pair->stride;
    return !had_item(&v->l->pairs, u, strads_block_param(v->block, k));
}

static double visit_bpr(visit *v, uint64_t u, mf_pair *pair)
{
    for (uint32_t draw = 0; draw < DRAWS_BPR; draw++)
        if (draw_other(v, u, pair))
            return mf_pair_bpr(pair, mf_pair_margin(pair));
    return 0;
}

/* ln n + 1 / 2n is H(n) less a constant, to 1 / 12 n^2. */
static double harmonic(uint32_t n)
{
    static const double EULER = .57721566490153286;
    enum { EXACT = 20 };
    double sum = 0;

    for (uint32_t k = 1; k <= n && n <= EXACT; k++)
        sum += 1. / k;
    return n > EXACT ? log(n) + EULER + 1 / (2. * n) : sum;
}

static double visit_warp(visit *v, uint64_t u, mf_pair *pair)
{
    uint32_t others = 0;

    for (uint32_t draw = 0; draw < DRAWS_WARP; draw++) {
        if (!draw_other(v, u, pair))
            continue;
        others++;
        const double x = mf_pair_margin(pair);
        if (x < 1)
            return mf_pair_warp(pair, x,
                                harmonic((v->l->items - 1) / others) /
                                    v->harmonic);
    }
    return 0;
}

double mf_pairs_sweep(mf_local *l, const strads_task *task)
{
    const uint64_t b = task->block.id;
    const uint32_t *cell = l->cell + b * (l->micros + 1);
    const uint64_t at = (uint64_t)task->share->partition << 32 | task->round;
    const bool warp = strcmp(l->options.loss, "warp") == 0;
    visit v = {.l = l,
               .block = &l->cut->block[b],
               .q = ((mf_items *)task->object)->q,
               .harmonic = harmonic(l->items > 2 ? l->items - 1 : 1),
               .draws = strads_random_bits(task->seed, MF_DRAW_OTHER, at, b)};
    mf_pair pair = {.stride = l->stride,
                    .size = mf_step_schedule_step(&l->steps),
                    .lambda = l->steps.lambda};
    double loss = 0;

    for (uint32_t k = 0; k < l->micros; k++) {
        const uint32_t m = l->order[k];
        for (uint32_t e = cell[m]; e < cell[m + 1]; e++) {
            const mf_rating *r = &l->rating[l->first[b] + e];
            const uint64_t u = ((uint64_t)m << l->micro) + r->user;
            if (!(r->value > 0))
                continue;
            pair.p = l->p + u * l->stride;
            pair.had = v.q + (size_t)r->item * l->stride;
            loss += warp ? visit_warp(&v, u, &pair) : visit_bpr(&v, u, &pair);
        }
    }
    return loss;
}
