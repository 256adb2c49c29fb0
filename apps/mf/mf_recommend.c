/* Top lists, folding in of new users, and ranking quality. */
#include "mf_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <strads/recommend.h>

struct strads_recommender {
    strads_mf_factors model; /* only its numbers are used, not its arrays */
    uint32_t items, stride;
    float *q;         /* [items x stride] factors */
    float *bias;      /* [items] */
    uint32_t *number; /* [items] 0, 1, 2, ... */
    float *score;     /* [items] */
    float *gram;      /* [stride x stride]; implicit feedback only */
    float *p;         /* [stride] */
    mf_row_solver solver;
    /* For lists of many users; NULL before the first. */
    uint32_t padded;  /* items, up to a multiple of MF_SCAN */
    float *tiles;     /* the items' factors, as mf_equations wants a matrix */
    float *list_bias; /* [padded]; -infinity: not listed */
    float *rows;      /* [USERS x stride] */
    float *scores;    /* [GROUP x PANEL] */
};

/* ---- allocation -------------------------------------------------------- */

static bool allocate_recommender(strads_recommender *r)
{
    const size_t square = (size_t)r->stride * r->stride;

    r->q = mf_floats((uint64_t)r->items * r->stride);
    r->bias = mf_floats(r->items);
    r->score = mf_floats(r->items);
    r->number = malloc(sizeof(*r->number) * r->items);
    r->p = mf_floats(r->stride);
    r->list_bias = mf_floats(r->padded);
    if (r->model.implicit)
        r->gram = mf_floats(square);
    return r->q && r->bias && r->score && r->number && r->p && r->list_bias &&
           mf_row_solver_open(&r->solver, r->stride) &&
           (r->gram || !r->model.implicit);
}

static void take_items(strads_recommender *r, const strads_mf_factors *model)
{
    const size_t width = model->rank + 1;

    for (uint32_t i = 0; i < r->items; i++) {
        r->number[i] = i;
        r->bias[i] = model->item[i * width];
        memcpy(r->q + (size_t)i * r->stride, model->item + i * width + 1,
               sizeof(float) * model->rank);
    }
    strads_recommender_hide(r, 0, NULL);
    if (r->gram)
        mf_gram(&r->solver, r->q, r->items, r->stride, r->gram);
}

strads_err strads_recommender_new(const strads_mf_factors *model,
                                  strads_recommender **out)
{
    if (model->rank > MF_WIDTH_MAX || model->items == 0 ||
        model->items > UINT32_MAX - MF_SCAN)
        return strads_fail(STRADS_EINVAL,
                           "a model of rank %u with %llu items: nothing can be "
                           "recommended from it",
                           model->rank, (unsigned long long)model->items);
    strads_recommender *r = calloc(1, sizeof(*r));
    if (r) {
        r->model = *model;
        r->items = (uint32_t)model->items;
        r->stride = mf_stride(model->rank ? model->rank : 1);
        r->padded = (r->items + MF_SCAN - 1) / MF_SCAN * MF_SCAN;
    }
    if (!r || !allocate_recommender(r)) {
        strads_recommender_free(r);
        return mf_no_memory("a recommender's items",
                            4 * model->items * mf_stride(model->rank));
    }
    take_items(r, model);
    *out = r;
    return STRADS_OK;
}

void strads_recommender_free(strads_recommender *r)
{
    if (!r)
        return;
    mf_row_solver_close(&r->solver);
    free(r->q);
    free(r->bias);
    free(r->number);
    free(r->score);
    free(r->gram);
    free(r->p);
    free(r->tiles);
    free(r->list_bias);
    free(r->rows);
    free(r->scores);
    free(r);
}

/* ---- folding in -------------------------------------------------------- */

/* Ratings of items that the model has, in the layout of the equations. */
typedef struct ratings {
    uint32_t n;
    uint32_t *item;
    float *target, *weight;
} ratings;

static void keep_known(const strads_recommender *r, uint32_t n,
                       const uint32_t *item, const float *rating, ratings *out)
{
    for (uint32_t k = 0; k < n; k++) {
        if (item[k] >= r->items)
            continue;
        out->item[out->n] = item[k];
        out->target[out->n++] = rating[k];
    }
}

static void weigh_ratings(const strads_recommender *r, ratings *x)
{
    for (uint32_t k = 0; k < x->n; k++) {
        const float rating = x->target[k] > 0 ? x->target[k] : 0;
        x->weight[k] = (float)r->model.alpha * rating;
        x->target[k] = rating > 0 ? 1 + x->weight[k] : 0;
    }
}

/* Subtracts mean and biases; returns the user's bias. */
static float take_out(const strads_recommender *r, ratings *x)
{
    static const double usual = 5;
    const double damping = r->model.damping > 0 ? r->model.damping : usual;
    double sum = 0;

    const float mean = (float)(r->model.mean + r->model.lift);
    const float raised = (float)r->model.raise;

    for (uint32_t k = 0; k < x->n; k++) {
        x->target[k] -= mean + r->bias[x->item[k]];
        sum += (double)x->target[k];
    }
    if (r->model.no_biases)
        return 0;
    const float bias = (float)(sum / (x->n + damping));
    for (uint32_t k = 0; k < x->n; k++)
        x->target[k] -= bias - raised;
    return bias;
}

static void fold(strads_recommender *r, ratings *x, float *row)
{
    const bool implicit = r->model.implicit;
    const uint32_t n = implicit || r->model.unweighted ? 1 : x->n;
    const mf_ridge ridge = {.penalty = r->model.penalty * n,
                            .gram = r->gram,
                            .nonnegative = r->model.nonnegative,
                            .whole = true};
    const mf_line line = {.factor = r->q,
                          .stride = r->stride,
                          .n = x->n,
                          .index = x->item,
                          .target = x->target,
                          .weight = implicit ? x->weight : NULL};

    if (implicit)
        weigh_ratings(r, x);
    else
        row[0] = take_out(r, x);
    memset(r->p, 0, sizeof(*r->p) * r->stride);
    mf_row_solver_clear(&r->solver);
    r->solver.equations->gather(&line, 0, r->stride, r->solver.matrix,
                                r->solver.side);
    (void)mf_settle(&r->solver, &ridge, r->solver.matrix, r->solver.side, r->p);
    memcpy(row + 1, r->p, sizeof(*row) * r->model.rank);
}

strads_err strads_recommender_fold(strads_recommender *r, uint32_t n,
                                   const uint32_t *item, const float *rating,
                                   float *row)
{
    ratings x = {.item = malloc(sizeof(*x.item) * (n + (size_t)1)),
                 .target = malloc(sizeof(*x.target) * (n + (size_t)1)),
                 .weight = malloc(sizeof(*x.weight) * (n + (size_t)1))};
    const bool there = x.item && x.target && x.weight;

    memset(row, 0, sizeof(*row) * (r->model.rank + 1));
    if (there)
        keep_known(r, n, item, rating, &x);
    if (x.n > 0)
        fold(r, &x, row);
    free(x.item);
    free(x.target);
    free(x.weight);
    return there ? STRADS_OK : mf_no_memory("a user's ratings", 12ULL * n);
}

/* ---- top lists --------------------------------------------------------- */

static bool is_better(strads_scored a, strads_scored b)
{
    return a.score > b.score || (a.score == b.score && a.item < b.item);
}

/* out[n] is a heap with the worst item at the root. */
static void sink(strads_scored *out, uint32_t n, uint32_t at)
{
    for (uint32_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_better(out[child], out[child + 1]))
            child++;
        if (!is_better(out[at], out[child]))
            return;
        const strads_scored kept = out[at];
        out[at] = out[child];
        out[child] = kept;
    }
}

static int by_score(const void *a, const void *b)
{
    return is_better(*(const strads_scored *)b, *(const strads_scored *)a) -
           is_better(*(const strads_scored *)a, *(const strads_scored *)b);
}

static uint32_t top_of(const float *score, uint32_t items, uint64_t n_seen,
                       const uint32_t *seen, uint32_t top, strads_scored *out)
{
    uint32_t n = 0;
    uint64_t at = 0;

    for (uint32_t i = 0; i < items && top > 0; i++) {
        const strads_scored x = {.item = i, .score = score[i]};
        while (at < n_seen && seen[at] < i)
            at++;
        if (at < n_seen && seen[at] == i)
            continue;
        if (n < top) {
            out[n++] = x;
            for (uint32_t k = n == top ? n / 2 : 0; k-- > 0;)
                sink(out, n, k);
        } else if (is_better(x, out[0])) {
            out[0] = x;
            sink(out, n, 0);
        }
    }
    qsort(out, n, sizeof(*out), by_score);
    return n;
}

/* Predicts the ratings of all items into r->score. */
static void score_items(strads_recommender *r, const float *row)
{
    const mf_line all = {.factor = r->q,
                         .stride = r->stride,
                         .n = r->items,
                         .index = r->number};
    const float base = (float)r->model.mean + row[0];

    memcpy(r->p, row + 1, sizeof(*row) * r->model.rank);
    memset(r->p + r->model.rank, 0, sizeof(*row) * (r->stride - r->model.rank));
    for (uint32_t i = 0; i < r->items; i++)
        r->score[i] = -(base + r->bias[i]);
    r->solver.equations->subtract(&all, 0, r->stride, r->p, r->score);
    for (uint32_t i = 0; i < r->items; i++)
        r->score[i] = -r->score[i];
}

uint32_t strads_recommender_top(strads_recommender *r, const float *row,
                                uint64_t n_seen, const uint32_t *seen,
                                uint32_t top, strads_scored *out)
{
    score_items(r, row);
    return top_of(r->score, r->items, n_seen, seen, top, out);
}

/* ---- many lists ---------------------------------------------------------- */

/* Items are scored in panels: their factors stay in the second-level cache
 * while the users of a chunk pass. A group's scores of a panel stay in it until
 * they are scanned. */
enum { GROUP = 16, USERS = 64, PANEL = 16 * MF_SCAN };

void strads_recommender_hide(strads_recommender *r, uint64_t n,
                             const uint32_t *item)
{
    memcpy(r->list_bias, r->bias, sizeof(*r->bias) * r->items);
    for (uint32_t i = r->items; i < r->padded; i++)
        r->list_bias[i] = -INFINITY;
    for (uint64_t k = 0; k < n; k++)
        if (item[k] < r->items)
            r->list_bias[item[k]] = -INFINITY;
}

static bool open_tiles(strads_recommender *r)
{
    if (r->tiles)
        return true;
    r->rows = mf_floats((uint64_t)USERS * r->stride);
    r->scores = mf_floats((uint64_t)GROUP * PANEL);
    float *tiles = mf_large_floats((uint64_t)r->padded * r->stride);
    if (!r->rows || !r->scores || !tiles) {
        free(r->rows);
        free(r->scores);
        free(tiles);
        r->rows = r->scores = NULL;
        return false;
    }
    for (uint32_t i = 0; i < r->items; i++) {
        float *to = tiles + (size_t)(i / MF_TILE) * MF_TILE * r->stride;
        for (uint32_t k = 0; k < r->stride; k++)
            to[(size_t)k * MF_TILE + i % MF_TILE] =
                r->q[(size_t)i * r->stride + k];
    }
    r->tiles = tiles;
    return true;
}

/* A user's list while it is computed: a heap as in top_of. */
typedef struct listing {
    uint64_t at, end; /* seen items of the panels to come */
    float base;
    uint32_t n, top;
    strads_scored *out;
} listing;

static void put_listed(listing *l, strads_scored x)
{
    if (l->n < l->top) {
        l->out[l->n++] = x;
        for (uint32_t k = l->n == l->top ? l->n / 2 : 0; k-- > 0;)
            sink(l->out, l->n, k);
    } else {
        l->out[0] = x;
        sink(l->out, l->n, 0);
    }
}

/* Takes the scores of items first .. first + n - 1. Equal scores come in the
 * order of items, so only higher ones replace the worst of a full list. */
static void list_panel(const strads_recommender *r, listing *l,
                       const uint32_t *seen, uint32_t first, uint32_t n,
                       float *score)
{
    const float *bias = r->list_bias + first;

    for (; l->at < l->end && seen[l->at] < first + n; l->at++)
        if (seen[l->at] >= first)
            score[seen[l->at] - first] = -INFINITY;
    for (uint32_t k = 0; k < n; k += MF_SCAN) {
        float bound = l->n < l->top ? -INFINITY : l->out[0].score;
        k = r->solver.equations->scan(k, n, score, bias, bound);
        for (uint32_t j = k; j < n && j < k + MF_SCAN; j++) {
            const float x = score[j] + bias[j];
            if (!(x > bound))
                continue;
            put_listed(l, (strads_scored){.item = first + j, .score = x});
            bound = l->n < l->top ? -INFINITY : l->out[0].score;
        }
    }
}

static void list_chunk(strads_recommender *r, const strads_top_users *u,
                       uint32_t users, listing *list)
{
    for (uint32_t first = 0; first < r->padded; first += PANEL) {
        const uint32_t left = r->padded - first;
        const uint32_t n = left < PANEL ? left : PANEL;
        for (uint32_t from = 0; from < users; from += GROUP) {
            const uint32_t some = users - from < GROUP ? users - from : GROUP;
            r->solver.equations->multiply(r->stride, n,
                                          r->tiles + (size_t)first * r->stride,
                                          some,
                                          r->rows + (size_t)from * r->stride,
                                          r->scores);
            for (uint32_t k = 0; k < some; k++)
                list_panel(r, &list[from + k], u->seen, first, n,
                           r->scores + (size_t)k * n);
        }
    }
}

strads_err strads_recommender_top_many(strads_recommender *r,
                                       const strads_top_users *u, uint32_t top,
                                       strads_scored *out, uint32_t *found)
{
    const size_t width = (size_t)r->model.rank + 1;
    listing list[USERS];

    if (u->size != sizeof(*u) || top == 0)
        return strads_fail(STRADS_EINVAL,
                           "lists of %u items, with users of %zu bytes; "
                           "expected at least 1 item, and %zu bytes",
                           top, u->size, sizeof(*u));
    if (!open_tiles(r))
        return mf_no_memory("the items' factors", 4ULL * r->padded * r->stride);
    for (uint64_t from = 0; from < u->n; from += USERS) {
        const uint32_t n =
            u->n - from < USERS ? (uint32_t)(u->n - from) : USERS;
        for (uint32_t k = 0; k < n; k++) {
            const float *row = u->row + (from + k) * width;
            memcpy(r->rows + (size_t)k * r->stride, row + 1,
                   sizeof(*row) * r->model.rank);
            list[k] = (listing){.base = (float)r->model.mean + row[0],
                                .at = u->start ? u->start[from + k] : 0,
                                .end = u->start ? u->end[from + k] : 0,
                                .top = top,
                                .out = out + (from + k) * top};
        }
        list_chunk(r, u, n, list);
        for (uint32_t k = 0; k < n; k++) {
            qsort(list[k].out, list[k].n, sizeof(*out), by_score);
            for (uint32_t j = 0; j < list[k].n; j++)
                list[k].out[j].score += list[k].base;
            found[from + k] = list[k].n;
        }
    }
    return STRADS_OK;
}

/* ---- ranking quality ----------------------------------------------------- */

/* The measures of strads_ranking, for the model and for popularity. */

/* One user's rows of train and test; empty beyond the end. */
typedef struct line {
    uint64_t n;
    const uint32_t *item;
    uint64_t first; /* first entry in the data */
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

/* Marks the user's relevant items and returns their number. Both lines are in
 * ascending order. */
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

/* What is known of the items while users are ranked. */
typedef struct judgement {
    uint32_t items, top;
    float *count;      /* [items] ratings in train */
    bool *is_relevant; /* [items] to the current user */
    float *wanted;     /* [items] scores of its relevant items, ascending */
    strads_scored *list;
} judgement;

/* Sums over users, and the items that were listed. */
typedef struct ranking_sums {
    strads_ranking sum;
    uint64_t with_others; /* users with an AUC */
    bool *is_listed;      /* [items] */
} ranking_sums;

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Returns the number of sorted values below x; or up to x, if `equal`. */
static uint32_t count_below(const float *sorted, uint32_t n, float x,
                            bool equal)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (sorted[mid] < x || (equal && sorted[mid] <= x))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void add_auc(ranking_sums *r, const judgement *j, line seen,
                    const float *score)
{
    double ordered = 0;
    uint64_t at = 0, others = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->items; i++)
        if (j->is_relevant[i])
            j->wanted[n++] = score[i];
    qsort(j->wanted, n, sizeof(*j->wanted), by_value);
    for (uint32_t i = 0; i < j->items; i++) {
        while (at < seen.n && seen.item[at] < i)
            at++;
        if (j->is_relevant[i] || (at < seen.n && seen.item[at] == i))
            continue;
        others++;
        ordered += n - .5 * count_below(j->wanted, n, score[i], false) -
                   .5 * count_below(j->wanted, n, score[i], true);
    }
    if (others == 0)
        return;
    r->with_others++;
    r->sum.auc += ordered / ((double)n * (double)others);
}

/* Adds a user with relevant items, by the scores of all items. */
static void add_user_ranking(ranking_sums *r, const judgement *j, line seen,
                             const float *score, uint32_t relevant)
{
    const uint32_t n =
        top_of(score, j->items, seen.n, seen.item, j->top, j->list);
    const uint32_t most = j->top < relevant ? j->top : relevant;
    double gain = 0, best = 0, hits = 0, precisions = 0, first = 0, rated = 0;

    for (uint32_t k = 0; k < n; k++) {
        const uint32_t i = j->list[k].item;
        r->is_listed[i] = true;
        rated += (double)j->count[i];
        if (!j->is_relevant[i])
            continue;
        gain += 1 / log2(2 + k);
        hits++;
        precisions += hits / (k + 1);
        if (first == 0)
            first = 1. / (k + 1);
    }
    for (uint32_t k = 0; k < most; k++)
        best += 1 / log2(2 + k);
    r->sum.users++;
    r->sum.ndcg += gain / best;
    r->sum.recall += hits / relevant;
    r->sum.precision += hits / j->top;
    r->sum.map += precisions / most;
    r->sum.mrr += first;
    r->sum.exposure += n ? rated / n : 0;
    add_auc(r, j, seen, score);
}

static strads_ranking find_means(const ranking_sums *r, uint32_t items)
{
    strads_ranking mean = r->sum;
    const double users = (double)mean.users;
    uint32_t listed = 0;

    for (uint32_t i = 0; i < items; i++)
        listed += r->is_listed[i];
    mean.ndcg /= users;
    mean.recall /= users;
    mean.precision /= users;
    mean.map /= users;
    mean.mrr /= users;
    mean.exposure /= users;
    mean.auc /= (double)r->with_others;
    mean.coverage = mean.users ? (double)listed / items : NAN;
    return mean;
}

static void judge_users(strads_recommender *r, const judgement *j,
                        const strads_mf_factors *model,
                        const strads_sparse *train, const strads_sparse *test,
                        double relevant, ranking_sums *ours,
                        ranking_sums *theirs)
{
    for (uint64_t u = 0; u < model->users && u < test->lines; u++) {
        const line wanted = line_of(test, u), seen = line_of(train, u);
        const uint32_t n =
            mark(test, wanted, seen, relevant, r->items, j->is_relevant);
        if (n > 0) {
            score_items(r, model->user + u * (model->rank + 1));
            add_user_ranking(ours, j, seen, r->score, n);
            add_user_ranking(theirs, j, seen, j->count, n);
        }
        unmark(wanted, r->items, j->is_relevant);
    }
}

strads_err strads_recommender_judge(strads_recommender *r,
                                    const strads_mf_factors *model,
                                    const strads_sparse *train,
                                    const strads_sparse *test, double relevant,
                                    uint32_t top, strads_ranking *ranking,
                                    strads_ranking *popular)
{
    if (top == 0)
        return strads_fail(STRADS_EINVAL, "a ranking needs at least 1 item");
    const judgement j = {.items = r->items,
                         .top = top,
                         .count = calloc(r->items, sizeof(*j.count)),
                         .is_relevant =
                             calloc(r->items, sizeof(*j.is_relevant)),
                         .wanted = malloc(sizeof(*j.wanted) * r->items),
                         .list = malloc(sizeof(*j.list) * (top + (size_t)1))};
    ranking_sums ours = {.is_listed = calloc(r->items, sizeof(bool))};
    ranking_sums theirs = {.is_listed = calloc(r->items, sizeof(bool))};
    const bool there = j.count && j.is_relevant && j.wanted && j.list &&
                       ours.is_listed && theirs.is_listed;

    for (uint64_t e = 0; there && e < train->nnz; e++)
        if (train->index[e] < r->items)
            j.count[train->index[e]]++;
    if (there) {
        judge_users(r, &j, model, train, test, relevant, &ours, &theirs);
        *ranking = find_means(&ours, r->items);
        *popular = find_means(&theirs, r->items);
    }
    free(j.count);
    free(j.is_relevant);
    free(j.wanted);
    free(j.list);
    free(ours.is_listed);
    free(theirs.is_listed);
    return there ? STRADS_OK : mf_no_memory("items' ranks", 16ULL * r->items);
}
