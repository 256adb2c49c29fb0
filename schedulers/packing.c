/* Two steps. Groups: dependencies above the threshold are edges, processed
 * from the strongest to the weakest. The two groups of an edge are joined if
 * the bounds allow it (Kruskal's algorithm, bounded). Bins: groups are
 * assigned, from the heaviest to the lightest, to the lightest bin with space
 * (longest processing time first), so the final loads of bins of free groups
 * differ by at most one group's weight.
 *
 * Ties are broken by the position in the input: the same input gives the same
 * blocks. */
#include "schedulers/packing.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { STRENGTHS = 256 }; /* number of steps that distinguish edges */

typedef struct edge {
    uint32_t a, b;
} edge;

typedef struct group {
    double weight;
    uint32_t n;
    uint32_t root; /* the member that represents it */
    bool busy;
} group;

typedef struct bin_load {
    double weight;
    uint32_t n;
    bool busy;
} bin_load;

typedef struct work {
    uint32_t *parent; /* [n] union-find */
    group *group;     /* [n] by root at first, then a list of groups */
    bin_load *load;   /* [n] */
    edge *edges;      /* [n_edges] strongest first */
    uint32_t n_edges;
} work;

static uint32_t find_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static uint32_t strength(const sti_packing *p, uint32_t a, uint32_t b)
{
    double t = fmin((double)p->dependency[(size_t)a * p->n + b], 1);
    return (uint32_t)(t * (STRENGTHS - 1));
}

static bool binds(const sti_packing *p, uint32_t a, uint32_t b)
{
    return (double)p->dependency[(size_t)a * p->n + b] > p->threshold;
}

/* Lists the edges by counting sort, the strongest first. */
static strads_err list_edges(const sti_packing *p, work *w)
{
    uint32_t start[STRENGTHS] = {0};
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = a + 1; b < p->n; b++)
            if (binds(p, a, b)) {
                start[strength(p, a, b)]++;
                w->n_edges++;
            }
    if (!w->n_edges)
        return STRADS_OK;
    w->edges = malloc(w->n_edges * sizeof *w->edges);
    if (!w->edges)
        return strads_fail(STRADS_ENOMEM, "no memory to pack %u parameters",
                           p->n);
    uint32_t at = 0;
    for (uint32_t s = STRENGTHS; s-- > 0;) {
        uint32_t count = start[s];
        start[s] = at;
        at += count;
    }
    for (uint32_t a = 0; a < p->n; a++)
        for (uint32_t b = a + 1; b < p->n; b++)
            if (binds(p, a, b))
                w->edges[start[strength(p, a, b)]++] = (edge){a, b};
    return STRADS_OK;
}

static void join_edges(const sti_packing *p, work *w)
{
    for (uint32_t t = 0; t < w->n_edges; t++) {
        uint32_t a = find_root(w->parent, w->edges[t].a);
        uint32_t b = find_root(w->parent, w->edges[t].b);
        if (a == b)
            continue;
        group *into = &w->group[a], *from = &w->group[b];
        if (into->busy != from->busy || into->n + from->n > p->block_max ||
            into->weight + from->weight > 2 * p->work)
            continue;
        into->n += from->n;
        into->weight += from->weight;
        from->n = 0;
        w->parent[b] = a;
    }
}

static int compare_group_weights(const void *x, const void *y)
{
    const group *a = x, *b = y;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return a->root < b->root ? -1 : a->root > b->root;
}

/* The lightest bin of the group's kind with space for it, or a new bin. */
static uint32_t choose_bin(const sti_packing *p, const work *w, const group *g,
                           uint32_t bins)
{
    uint32_t best = bins;
    for (uint32_t k = 0; k < bins; k++)
        if (w->load[k].busy == g->busy && w->load[k].n + g->n <= p->block_max &&
            (best == bins || w->load[k].weight < w->load[best].weight))
            best = k;
    return best;
}

/* Opens bins for groups of one kind, as many as their work and number
 * require, but at most one per group. */
static uint32_t open_bins(const sti_packing *p, work *w, uint32_t groups,
                          bool busy, uint32_t bins)
{
    double sum = 0;
    uint32_t members = 0, found = 0;
    for (uint32_t g = 0; g < groups; g++)
        if (w->group[g].busy == busy) {
            sum += w->group[g].weight;
            members += w->group[g].n;
            found++;
        }
    if (!found)
        return bins;
    double by_work = floor(sum / p->work);
    double by_count = ceil((double)members / p->block_max);
    double wanted = fmin(fmax(fmax(by_work, by_count), 1), found);
    for (uint32_t k = 0; k < (uint32_t)wanted; k++)
        w->load[bins++].busy = busy;
    return bins;
}

static uint32_t fill_bins(const sti_packing *p, work *w, uint32_t *bin)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (w->group[i].n)
            w->group[groups++] = w->group[i];
    qsort(w->group, groups, sizeof *w->group, compare_group_weights);
    uint32_t bins = open_bins(p, w, groups, false, 0);
    bins = open_bins(p, w, groups, true, bins);
    for (uint32_t g = 0; g < groups; g++) {
        const group *next = &w->group[g];
        uint32_t k = choose_bin(p, w, next, bins);
        bins += k == bins;
        w->load[k].busy = next->busy;
        w->load[k].n += next->n;
        w->load[k].weight += next->weight;
        bin[next->root] = k;
    }
    for (uint32_t i = 0; i < p->n; i++)
        bin[i] = bin[find_root(w->parent, i)];
    return bins;
}

static bool is_busy(const sti_packing *p, uint32_t i)
{
    return p->busy && (double)p->busy[i] > p->threshold;
}

strads_err sti_packing_run(const sti_packing *p, uint32_t *bin, uint32_t *bins)
{
    strads_err err = STRADS_OK;
    work w = {
        .parent = malloc(p->n * sizeof *w.parent),
        .group = malloc(p->n * sizeof *w.group),
        .load = calloc(p->n, sizeof *w.load),
    };
    if (!w.parent || !w.group || !w.load) {
        err =
            strads_fail(STRADS_ENOMEM, "no memory to pack %u parameters", p->n);
        goto done;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        w.parent[i] = i;
        w.group[i] = (group){.weight = p->weight[i],
                             .n = 1,
                             .root = i,
                             .busy = is_busy(p, i)};
    }
    if (p->dependency) {
        err = list_edges(p, &w);
        if (err)
            goto done;
        join_edges(p, &w);
    }
    *bins = fill_bins(p, &w, bin);
done:
    free(w.parent);
    free(w.group);
    free(w.load);
    free(w.edges);
    return err;
}
