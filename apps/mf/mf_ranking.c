/* How good an order of items is: NDCG and recall of the first few (binary
 * gains: Jarvelin and Kekalainen 2002), beside the order by popularity. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mf_parts.h"
#include "mf_recommend.h"

/* One user's rows of train and test; empty beyond their ends. */
typedef struct line {
    uint64_t n;
    const uint32_t *item;
    uint64_t first; /* entry in the data */
} line;

static line line_of(const strads_sparse *x, uint64_t user)
{
    if (user >= x->lines)
        return (line){0};
    const uint64_t first = x->start[user];
    return (line){.n = x->start[user + 1] - first,
                  .item = x->index + first,
                  .first = first};
}

/* Marks the user's relevant items; returns how many. Both lines ascend. */
static uint32_t mark(const strads_sparse *test, line wanted, line seen,
                     double relevant, uint32_t items, bool *is_relevant)
{
    uint32_t n = 0;
    uint64_t at = 0;

    for (uint64_t k = 0; k < wanted.n; k++) {
        const uint32_t i = wanted.item[k];
        while (at < seen.n && seen.item[at] < i)
            at++;
        if (i >= items || (at < seen.n && seen.item[at] == i))
            continue;
        const uint64_t e = wanted.first + k;
        const double r = test->f64 ? test->f64[e] : (double)test->f32[e];
        is_relevant[i] = r >= relevant;
        n += is_relevant[i];
    }
    return n;
}

static void unmark(line wanted, uint32_t items, bool *is_relevant)
{
    for (uint64_t k = 0; k < wanted.n; k++)
        if (wanted.item[k] < items)
            is_relevant[wanted.item[k]] = false;
}

static void add(strads_ranking *r, const strads_scored *list, uint32_t n,
                uint32_t top, uint32_t relevant, const bool *is_relevant)
{
    double gain = 0, best = 0, hits = 0;

    for (uint32_t k = 0; k < n; k++) {
        if (!is_relevant[list[k].item])
            continue;
        gain += 1 / log2(2 + k);
        hits++;
    }
    for (uint32_t k = 0; k < top && k < relevant; k++)
        best += 1 / log2(2 + k);
    r->users++;
    r->ndcg += gain / best;
    r->recall += hits / relevant;
}

static void divide(strads_ranking *r)
{
    r->ndcg /= (double)r->users;
    r->recall /= (double)r->users;
}

strads_err strads_recommender_judge(strads_recommender *r,
                                    const strads_mf_factors *model,
                                    const strads_sparse *train,
                                    const strads_sparse *test, double relevant,
                                    uint32_t top, strads_ranking *ranking,
                                    strads_ranking *popular)
{
    float *count = calloc(r->items, sizeof(*count));
    bool *is_relevant = calloc(r->items, sizeof(*is_relevant));
    strads_scored *list = malloc(sizeof(*list) * (top + (size_t)1));
    strads_ranking ours = {0}, theirs = {0};
    strads_err err = STRADS_OK;

    if (top == 0)
        err = strads_fail(STRADS_EINVAL, "a ranking of the top 0 is none");
    if (err)
        goto end;
    if (!count || !is_relevant || !list) {
        err = mf_no_memory("items' ranks", 16ULL * r->items);
        goto end;
    }
    for (uint64_t e = 0; e < train->nnz; e++)
        if (train->index[e] < r->items)
            count[train->index[e]]++;
    for (uint64_t u = 0; u < model->users && u < test->lines; u++) {
        const line wanted = line_of(test, u), seen = line_of(train, u);
        const uint32_t n =
            mark(test, wanted, seen, relevant, r->items, is_relevant);
        if (n > 0) {
            uint32_t m =
                strads_recommender_top(r, model->user + u * (model->rank + 1),
                                       seen.n, seen.item, top, list);
            add(&ours, list, m, top, n, is_relevant);
            m = mf_top(count, r->items, seen.n, seen.item, top, list);
            add(&theirs, list, m, top, n, is_relevant);
        }
        unmark(wanted, r->items, is_relevant);
    }
    divide(&ours);
    divide(&theirs);
    *ranking = ours;
    *popular = theirs;
end:
    free(count);
    free(is_relevant);
    free(list);
    return err;
}
