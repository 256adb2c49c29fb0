/* Makes one data set of the rows of all nodes, by allreduces through node 0:
 * first sizes and partition bounds, then the counts per column (and per row, if
 * the program needs them), then the checksum. Entries and labels stay on their
 * node.
 *
 * Rows are numbered in node order. Each node splits its own rows into its
 * partitions, so that no partition has rows of two nodes. Counts travel in
 * slices, which bounds the memory that node 0 needs for them. */
#include "engine/run/data_part.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/sized.h"
#include "engine/data/memory.h"
#include "engine/data/whole.h"

enum { SLICE = 1 << 22 }; /* counts per exchange */

/* What each node contributes. */
typedef struct facts {
    uint64_t rows, cols, nnz;
    uint64_t labels; /* 1: the part has labels */
    uint64_t names;  /* hash of the column names */
    uint64_t called; /* hash of the label names; 0: labels are numbers */
} facts;

enum { FACTS = sizeof(facts) / sizeof(uint64_t) };

typedef struct agreement {
    const sti_spread *spread;
    uint32_t node;
    facts mine;
    uint64_t *first;  /* [nodes + 1] first row of each node; node 0 collects
                       * sizes here */
    uint64_t *bounds; /* [partitions + 1] */
    uint64_t nnz;
    /* The exchange in progress: a slice of counts[0 .. end). This node
     * contributes the entries within `own`. */
    uint32_t *counts;
    strads_range slice, own;
    uint64_t *sums; /* [2] */
} agreement;

static uint32_t partitions_of(const agreement *a)
{
    return a->spread->first[a->spread->nodes];
}

static strads_err too_short(uint32_t node)
{
    return strads_fail(
        STRADS_EPEER,
        "node %u described its part in another format: it runs another version",
        node);
}

/* ---- sizes and partition bounds ----------------------------------------- */

static void give_facts(void *arg, sti_writer *w)
{
    const agreement *a = arg;
    const uint32_t *first = a->spread->first + a->node;
    sti_write_u64s(w, (const uint64_t *)&a->mine, FACTS);
    sti_write_u64s(w, a->bounds + first[0], first[1] - first[0] + 1);
}

static strads_err check_facts(const agreement *a, uint32_t node,
                              const facts *theirs)
{
    const facts *mine = &a->mine;
    if (theirs->cols != mine->cols)
        return strads_fail(STRADS_EMISMATCH,
                           "the part of node %u has %llu columns, that of node "
                           "0 has %llu: give all parts the same columns",
                           node, (unsigned long long)theirs->cols,
                           (unsigned long long)mine->cols);
    if (theirs->names != mine->names)
        return strads_fail(STRADS_EMISMATCH,
                           "the columns of node %u's part have other names "
                           "than those of node 0, or another order: give all "
                           "parts the same columns",
                           node);
    if (theirs->labels != mine->labels)
        return strads_fail(STRADS_EMISMATCH,
                           "the part of node %u has %s labels, that of node 0 "
                           "has %s: give them to all, or to none",
                           node, theirs->labels ? "its" : "no",
                           mine->labels ? "its" : "none");
    if (theirs->called != mine->called)
        return strads_fail(STRADS_EMISMATCH,
                           "labels of node %u have other names than those of "
                           "node 0: give all parts the same names",
                           node);
    return STRADS_OK;
}

static strads_err take_facts(void *arg, uint32_t node, sti_reader *r)
{
    agreement *a = arg;
    const uint32_t *first = a->spread->first + node;
    uint64_t n, m;
    const facts *theirs = (const facts *)sti_read_u64s(r, &n);
    const uint64_t *bounds = sti_read_u64s(r, &m);
    if (r->err || n != FACTS || m != (uint64_t)first[1] - first[0] + 1 ||
        theirs->rows > STI_MOST_LINES || bounds[0] != 0 ||
        bounds[m - 1] != theirs->rows)
        return too_short(node);
    for (uint64_t p = 0; p + 1 < m; p++)
        if (bounds[p] > bounds[p + 1])
            return too_short(node);
    const strads_err err = check_facts(a, node, theirs);
    if (err)
        return err;
    a->first[node] = theirs->rows;
    a->nnz += theirs->nnz;
    /* The last bound is the next node's first bound, still 0 here. */
    memcpy(a->bounds + first[0], bounds, (m - 1) * sizeof *bounds);
    return STRADS_OK;
}

/* Replaces sizes by their prefix sums. */
static strads_err number_rows(void *arg)
{
    agreement *a = arg;
    const sti_spread *s = a->spread;
    uint64_t rows = 0;
    for (uint32_t n = 0; n < s->nodes; n++) {
        const uint64_t more = a->first[n];
        for (uint32_t p = s->first[n]; p < s->first[n + 1]; p++)
            a->bounds[p] += rows;
        a->first[n] = rows;
        rows += more;
    }
    a->first[s->nodes] = a->bounds[partitions_of(a)] = rows;
    if (rows == 0)
        return strads_fail(STRADS_EINVAL,
                           "none of %u parts has a row: expected at least one",
                           s->nodes);
    return rows <= STI_MOST_LINES
               ? STRADS_OK
               : strads_fail(STRADS_ELIMIT,
                             "%llu rows on %u nodes, at most %llu fit",
                             (unsigned long long)rows, s->nodes,
                             (unsigned long long)STI_MOST_LINES);
}

static void write_facts(void *arg, sti_writer *w)
{
    const agreement *a = arg;
    sti_write_u64(w, a->nnz);
    sti_write_u64s(w, a->first, (uint64_t)a->spread->nodes + 1);
    sti_write_u64s(w, a->bounds, (uint64_t)partitions_of(a) + 1);
}

static strads_err hear_facts(void *arg, sti_reader *r)
{
    agreement *a = arg;
    uint64_t n, m;
    a->nnz = sti_read_u64(r);
    const uint64_t *first = sti_read_u64s(r, &n);
    const uint64_t *bounds = sti_read_u64s(r, &m);
    if (r->err || n != (uint64_t)a->spread->nodes + 1 ||
        m != (uint64_t)partitions_of(a) + 1)
        return too_short(0);
    if (first[a->node + 1] - first[a->node] != a->mine.rows)
        return too_short(0);
    memcpy(a->first, first, n * sizeof *first);
    memcpy(a->bounds, bounds, m * sizeof *bounds);
    return STRADS_OK;
}

/* ---- counts -------------------------------------------------------------- */

static strads_range overlap(const agreement *a)
{
    strads_range r = a->slice;
    r.begin = r.begin > a->own.begin ? r.begin : a->own.begin;
    r.end = r.end < a->own.end ? r.end : a->own.end;
    r.end = r.end > r.begin ? r.end : r.begin;
    return r;
}

static void give_counts(void *arg, sti_writer *w)
{
    const agreement *a = arg;
    const strads_range r = overlap(a);
    sti_write_u64(w, r.begin);
    sti_write_u32s(w, a->counts + r.begin, r.end - r.begin);
}

static strads_err take_counts(void *arg, uint32_t node, sti_reader *r)
{
    agreement *a = arg;
    uint64_t n;
    const uint64_t first = sti_read_u64(r);
    const uint32_t *more = sti_read_u32s(r, &n);
    if (r->err || (n > 0 && (first < a->slice.begin || first > a->slice.end ||
                             n > a->slice.end - first)))
        return too_short(node);
    for (uint64_t k = 0; k < n; k++)
        a->counts[first + k] += more[k];
    return STRADS_OK;
}

static void write_counts(void *arg, sti_writer *w)
{
    const agreement *a = arg;
    sti_write_u32s(w, a->counts + a->slice.begin,
                   a->slice.end - a->slice.begin);
}

static strads_err hear_counts(void *arg, sti_reader *r)
{
    agreement *a = arg;
    uint64_t n;
    const uint32_t *all = sti_read_u32s(r, &n);
    if (r->err || n != a->slice.end - a->slice.begin)
        return too_short(0);
    memcpy(a->counts + a->slice.begin, all, n * sizeof *all);
    return STRADS_OK;
}

/* Replaces counts[n] of each node by their sum over all nodes. */
static strads_err add_counts(agreement *a, uint32_t *counts, uint64_t n,
                             strads_range own)
{
    const sti_exchange step = {.what = "counts of a part",
                               .give = give_counts,
                               .take = take_counts,
                               .tell = write_counts,
                               .hear = hear_counts,
                               .arg = a};
    strads_err err = STRADS_OK;
    a->counts = counts;
    a->own = own;
    for (uint64_t at = 0; at < n && !err; at += SLICE) {
        a->slice = (strads_range){at, n - at > SLICE ? at + SLICE : n};
        err = sti_mesh_agree(a->spread->mesh, &step);
    }
    return err;
}

/* ---- counts of the whole data set --------------------------------------- */

static strads_err widen_rows(agreement *a, sti_counts *counts, strads_range own)
{
    const uint64_t rows = a->first[a->spread->nodes];
    uint32_t *wide = sti_big_alloc(rows * sizeof *wide);
    if (!wide)
        return strads_fail(STRADS_ENOMEM,
                           "no memory for the counts of %llu "
                           "rows",
                           (unsigned long long)rows);
    if (counts->rows > 0)
        memcpy(wide + own.begin, counts->row_nnz, counts->rows * sizeof *wide);
    sti_big_free(counts->row_nnz, counts->rows * sizeof *wide);
    counts->row_nnz = wide;
    counts->rows = rows;
    counts->nnz = a->nnz;
    return STRADS_OK;
}

static strads_err count_whole(void *arg, const strads_data_options *options,
                              bool has_labels, sti_counts *counts,
                              strads_range *own, uint64_t **bounds)
{
    agreement *a = arg;
    const uint32_t *first = a->spread->first + a->node;
    const sti_exchange step = {.what = "the sizes of a part",
                               .give = give_facts,
                               .take = take_facts,
                               .settle = number_rows,
                               .tell = write_facts,
                               .hear = hear_facts,
                               .arg = a};
    a->mine.rows = counts->rows;
    a->mine.cols = counts->cols;
    a->mine.nnz = a->nnz = counts->nnz;
    a->mine.labels = has_labels;
    a->mine.names = sti_digest_names(options->col_names);
    a->mine.called =
        sti_digest_names(options->named_labels ? options->label_names : NULL);
    const uint32_t columns =
        options->split == STRADS_SPLIT_GRID ? options->grid_cols : 1;
    if (columns > 1)
        return strads_fail(STRADS_EINVAL,
                           "parts are split by rows only: leave the ranges of "
                           "columns at 1, found %u",
                           columns);
    if (first[1] == first[0] && counts->rows > 0)
        return strads_fail(STRADS_EINVAL,
                           "node %u has no workers, and %llu rows: give them "
                           "to nodes that have",
                           a->node, (unsigned long long)counts->rows);
    sti_partition_cut(counts->row_nnz, counts->rows, first[1] - first[0],
                      a->bounds + first[0]);
    a->first[a->node] = counts->rows;
    strads_err err = sti_mesh_agree(a->spread->mesh, &step);
    if (err)
        return err;
    *own = (strads_range){a->first[a->node], a->first[a->node + 1]};
    err = widen_rows(a, counts, *own);
    if (!err)
        err = add_counts(a, counts->col_nnz, counts->cols,
                         (strads_range){0, counts->cols});
    if (!err && options->layout & STRADS_LAYOUT_ROWS)
        err = add_counts(a, counts->row_nnz, counts->rows, *own);
    if (err)
        return err;
    *bounds = a->bounds;
    a->bounds = NULL;
    return STRADS_OK;
}

/* ---- the checksum -------------------------------------------------------- */

static void write_sums(void *arg, sti_writer *w)
{
    const agreement *a = arg;
    sti_write_u64s(w, a->sums, 2);
}

static strads_err take_sums(void *arg, uint32_t node, sti_reader *r)
{
    agreement *a = arg;
    uint64_t n;
    const uint64_t *more = sti_read_u64s(r, &n);
    if (r->err || n != 2)
        return too_short(node);
    a->sums[0] += more[0];
    a->sums[1] += more[1];
    return STRADS_OK;
}

static strads_err hear_sums(void *arg, sti_reader *r)
{
    agreement *a = arg;
    a->sums[0] = a->sums[1] = 0;
    return take_sums(a, 0, r);
}

static strads_err add_sums(void *arg, uint64_t sums[2])
{
    agreement *a = arg;
    const sti_exchange step = {.what = "the checksum of a part",
                               .give = write_sums,
                               .take = take_sums,
                               .tell = write_sums,
                               .hear = hear_sums,
                               .arg = a};
    a->sums = sums;
    return sti_mesh_agree(a->spread->mesh, &step);
}

strads_err sti_data_part(const sti_spread *spread, const strads_arrays *part,
                         const strads_data_options *options, strads_data **out)
{
    strads_arrays arrays;
    agreement a = {.spread = spread, .node = sti_mesh_node(spread->mesh)};
    const sti_whole whole = {.count = count_whole, .add = add_sums, .arg = &a};
    strads_err err =
        sti_sized_copy(&arrays, sizeof arrays, part, "strads_arrays");
    if (err)
        return err;
    a.first = calloc((size_t)spread->nodes + 1, sizeof *a.first);
    a.bounds = calloc((size_t)partitions_of(&a) + 1, sizeof *a.bounds);
    err = a.first && a.bounds
              ? sti_data_from_part(&arrays, &whole, options, out)
              : strads_fail(STRADS_ENOMEM, "no memory for a part of the data");
    free(a.first);
    free(a.bounds);
    return err;
}
