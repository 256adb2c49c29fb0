/* Pairs of items, for the loss bpr. A row has the columns c of a context, those
 * before `context`, and a of an item. With b the item of another row, and sums
 * q over each of them,
 *
 *     x = y(c, a) - y(c, b) = w_a'a - w_b'b + (pairs within a) - (within b)
 *                             + q_c'(q_a - q_b)
 *
 * so the weights of a context, and w_0, have no effect. A step lowers ln(1 +
 * exp(-x)), Rendle et al., UAI 2009. b is drawn from the items of the same
 * partition, each with equal chance. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fm_parts.h"

#include "strads/policy.h"

/* Draws until one has an item that the context did not have. */
enum { DRAWS = 32, PAIR_STREAM = 0x6670 };

/* ---- equal parts of rows ------------------------------------------------- */

/* The entries of row i with columns from `from` to `to` - 1. */
static fm_sum find_entries(const strads_sparse *x, uint64_t i, uint32_t from,
                           uint32_t to)
{
    fm_sum part = {.first = x->start[i], .end = x->start[i + 1]};
    while (part.first < part.end && x->index[part.first] < from)
        part.first++;
    while (part.end > part.first && x->index[part.end - 1] >= to)
        part.end--;
    return part;
}

static uint64_t hash_part(const strads_sparse *x, const fm_sum *part)
{
    uint64_t hash = part->end - part->first;
    for (uint64_t e = part->first; e < part->end; e++) {
        const double a = strads_sparse_value(x, e);
        uint64_t bits;
        memcpy(&bits, &a, sizeof bits);
        hash = (hash ^ x->index[e]) * UINT64_C(0x9e3779b97f4a7c15);
        hash = (hash ^ hash >> 29 ^ bits) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return hash;
}

static bool is_same_part(const strads_sparse *x, const fm_sum *a,
                         const fm_sum *b)
{
    bool same = a->end - a->first == b->end - b->first;
    for (uint64_t e = 0; same && e < a->end - a->first; e++)
        same = x->index[a->first + e] == x->index[b->first + e] &&
               strads_sparse_value(x, a->first + e) ==
                   strads_sparse_value(x, b->first + e);
    return same;
}

/* Numbers rows: equal entries in these columns give equal numbers, from 0 on.
 * first[number] is the first row of each; both have room for all rows. */
static strads_err number_parts(const strads_sparse *x, uint32_t from,
                               uint32_t to, uint32_t *number, uint32_t *first,
                               uint32_t *count)
{
    uint64_t size = 4;
    uint32_t found = 0;
    while (size < 2 * x->lines)
        size *= 2;
    uint32_t *slot = calloc(size, sizeof *slot); /* number + 1 */
    if (!slot)
        return strads_fail(STRADS_ENOMEM, "no memory to number %llu rows",
                           (unsigned long long)x->lines);
    for (uint32_t i = 0; i < x->lines; i++) {
        const fm_sum part = find_entries(x, i, from, to);
        uint64_t at = hash_part(x, &part) & (size - 1);
        for (; slot[at]; at = (at + 1) & (size - 1)) {
            const fm_sum other = find_entries(x, first[slot[at] - 1], from, to);
            if (is_same_part(x, &part, &other))
                break;
        }
        if (!slot[at]) {
            first[found] = i;
            slot[at] = ++found;
        }
        number[i] = slot[at] - 1;
    }
    free(slot);
    *count = found;
    return STRADS_OK;
}

/* ---- what a context had -------------------------------------------------- */

static int compare_items(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static strads_err list_had(fm_sgd *s, const double *y, uint32_t users)
{
    const uint64_t n = s->rows.lines;
    s->start = calloc((size_t)users + 2, sizeof *s->start);
    s->had = calloc(n + 1, sizeof *s->had);
    if (!s->start || !s->had)
        return strads_fail(STRADS_ENOMEM, "no memory for the items of rows");
    for (uint64_t i = 0; i < n; i++)
        s->start[s->user[i] + 2] += y[i] > 0;
    for (uint64_t u = 0; u < users; u++)
        s->start[u + 2] += s->start[u + 1];
    for (uint64_t i = 0; i < n; i++)
        if (y[i] > 0)
            s->had[s->start[s->user[i] + 1]++] = s->item[i];
    for (uint64_t u = 0; u < users; u++)
        qsort(s->had + s->start[u], s->start[u + 1] - s->start[u],
              sizeof *s->had, compare_items);
    return STRADS_OK;
}

strads_err fm_pairs_open(fm_sgd *s, const double *y)
{
    const uint64_t n = s->rows.lines;
    uint32_t users, *first = calloc(n + 1, sizeof *first);
    s->user = calloc(n + 1, sizeof *s->user);
    s->item = calloc(n + 1, sizeof *s->item);
    s->row_of = calloc(n + 1, sizeof *s->row_of);
    strads_err err =
        first && s->user && s->item && s->row_of
            ? STRADS_OK
            : strads_fail(STRADS_ENOMEM, "no memory for the items of rows");
    if (!err)
        err = number_parts(&s->rows, 0, s->context, s->user, first, &users);
    if (!err)
        err = number_parts(&s->rows, s->context, UINT32_MAX, s->item, s->row_of,
                           &s->items);
    if (!err)
        err = list_had(s, y, users);
    free(first);
    return err;
}

bool fm_pairs_draw(const fm_sgd *s, uint64_t i, uint64_t seed, uint64_t row,
                   uint64_t draw, uint64_t *other)
{
    const uint32_t *had = s->had + s->start[s->user[i]];
    const size_t n = s->start[s->user[i] + 1] - s->start[s->user[i]];
    for (uint64_t k = 0; k < DRAWS; k++) {
        const uint64_t bits =
            strads_random_bits(seed, PAIR_STREAM, row, draw * DRAWS + k);
        const uint32_t item = (uint32_t)((bits >> 32) * s->items >> 32);
        if (bsearch(&item, had, n, sizeof *had, compare_items))
            continue;
        *other = s->row_of[item];
        return true;
    }
    return false;
}

/* ---- a pair -------------------------------------------------------------- */

double fm_pairs_margin(fm_sgd *s, uint64_t i, uint64_t other)
{
    const uint64_t row[3] = {i, i, other};
    for (int k = 0; k < 3; k++) {
        const fm_sum part =
            k == 0 ? find_entries(&s->rows, i, 0, s->context)
                   : find_entries(&s->rows, row[k], s->context, UINT32_MAX);
        s->sum[k].first = part.first;
        s->sum[k].end = part.end;
        fm_sgd_add_up(s, &s->sum[k]);
    }
    const fm_sum *c = &s->sum[0], *a = &s->sum[1], *b = &s->sum[2];
    double x = a->linear - b->linear + (a->square - b->square) / 2;
    for (uint32_t f = 0; f < s->rank; f++) {
        s->pull[0][f] = a->q[f] - b->q[f];
        s->pull[1][f] = c->q[f] + a->q[f];
        s->pull[2][f] = c->q[f] + b->q[f];
        x += c->q[f] * s->pull[0][f];
    }
    return x;
}

void fm_pairs_step(fm_sgd *s, uint64_t i, uint64_t other, double step)
{
    const double x = fm_pairs_margin(s, i, other), slope = -1 / (1 + exp(x));
    double power = s->sum[1].scale + s->sum[2].scale;
    for (int k = 0; k < 3; k++)
        for (uint32_t f = 0; f < s->rank; f++)
            power += s->sum[k].scale * s->pull[k][f] * s->pull[k][f];
    const double by = step * power > 1 ? 1 / power : step;
    for (int k = 0; k < 3; k++)
        fm_sgd_move(s, &s->sum[k], s->pull[k], k == 0, by,
                    k == 2 ? -slope : slope);
}

/* ---- the order of rows --------------------------------------------------- */

typedef struct ranked {
    double score;
    uint32_t group;
    bool had;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->score < y->score ? -1 : x->score > y->score;
}

/* Adds the pairs of one context, whose rows ascend by score. */
static void add_context(const ranked *r, uint64_t n, double *pairs,
                        double *ordered)
{
    double had = 0, below = 0;
    for (uint64_t i = 0, end; i < n; i = end) {
        double equal[2] = {0}; /* rows of this score */
        for (end = i; end < n && r[end].score == r[i].score; end++)
            equal[r[end].had]++;
        *ordered += equal[1] * (below + equal[0] / 2);
        below += equal[0];
        had += equal[1];
    }
    *pairs += had * below;
}

strads_err strads_fm_order(const strads_sparse *rows, uint32_t context,
                           const double *label, const double *score,
                           double *pairs, double *ordered)
{
    const uint64_t n = rows->lines;
    uint32_t *group = calloc(n + 1, sizeof *group), groups;
    uint32_t *first = calloc(n + 1, sizeof *first);
    ranked *r = calloc(n + 1, sizeof *r);
    strads_err err =
        group && first && r
            ? number_parts(rows, 0, context, group, first, &groups)
            : strads_fail(STRADS_ENOMEM, "no memory for the order of rows");
    if (!err) {
        for (uint64_t i = 0; i < n; i++)
            r[i] = (ranked){score[i], group[i], label[i] > 0};
        qsort(r, n, sizeof *r, compare_ranked);
        *pairs = *ordered = 0;
        for (uint64_t i = 0, end; i < n; i = end) {
            for (end = i + 1; end < n && r[end].group == r[i].group;)
                end++;
            add_context(r + i, end - i, pairs, ordered);
        }
    }
    free(group);
    free(first);
    free(r);
    return err;
}
