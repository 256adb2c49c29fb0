/* Fits by columns: the computations of a partition. */
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "columns_parts.h"

/* ---- margins ------------------------------------------------------------- */

/* The classes of all rows, which each partition has. */
static strads_err class_labels(const glm_problem *problem,
                               const strads_share *share, uint64_t n,
                               linear_classes *out)
{
    linear_survey *labels = malloc(linear_survey_size(1));
    if (!labels)
        return strads_fail(STRADS_ENOMEM, "no memory for labels");
    linear_survey_begin(labels, 1);
    for (uint64_t i = 0; i < n; i++)
        linear_survey_add(labels, share->label[i], 1);
    const strads_err err =
        glm_classes_of(problem, share->label_names, labels, 1, out);
    free(labels);
    return err;
}

strads_err columns_targets(const glm_problem *problem,
                           const strads_share *share, double *y, char **text)
{
    const uint64_t n = share->rows.end - share->rows.begin;
    double least = 0;
    uint64_t not_positive = 0;
    if (!share->label)
        return strads_fail(STRADS_EINVAL, "the data has no labels to fit");
    for (uint64_t i = 0; i < n; i++) {
        y[i] = share->label[i];
        least = fmin(least, y[i]);
        not_positive += !(y[i] > 0);
    }
    if (problem->loss->labels == GLM_POSITIVE && not_positive > 0)
        return strads_fail(STRADS_EINVAL,
                           "the loss %s needs labels above 0; labels at or "
                           "below it: %" PRIu64,
                           problem->options.loss, not_positive);
    if (problem->loss->labels == GLM_COUNTS && least < 0)
        return strads_fail(STRADS_EINVAL,
                           "the loss %s needs labels from 0 up, and a label is "
                           "%g",
                           problem->options.loss, least);
    if (problem->loss->labels != GLM_CLASSES)
        return STRADS_OK;
    linear_classes classes;
    strads_err err = class_labels(problem, share, n, &classes);
    if (err)
        return err;
    const double positive = classes.label[linear_classes_positive(&classes, 0)];
    for (uint64_t i = 0; i < n; i++)
        y[i] = share->label[i] == positive ? 1 : -1;
    if (text)
        err = linear_classes_write(&classes, share->label_names, text);
    linear_classes_free(&classes);
    return err;
}

double columns_intercept(const glm_problem *problem, const double *y,
                         const double *c, const double *margin, uint64_t n,
                         double b, double *z, double *r, double *h,
                         double *loss)
{
    enum { STEPS = 50 };
    const glm_rows rows = {n, y, c, z};
    double b_before = b, slope_before = 0;
    for (int step = 0;; step++) {
        for (uint64_t i = 0; i < n; i++)
            z[i] = margin[i] + b;
        *loss = problem->loss->evaluate(&rows, problem->p, r, h);
        if (!problem->options.intercept || step == STEPS)
            return b;
        double slope = 0, curve = 0, size = 0;
        for (uint64_t i = 0; i < n; i++) {
            slope += r[i];
            curve += h[i];
            size += fabs(r[i]);
        }
        if (!(curve > 0) || fabs(slope) <= 1e-15 * size)
            return b;
        /* Where h bounds f'' from above, Newton's steps are too short: a secant
         * knows better. */
        const double secant =
            step > 0 ? (slope_before - slope) / (b - b_before) : 0;
        if (problem->loss->majorises && secant > 0 && secant < curve)
            curve = secant;
        const double next = b + slope / curve;
        if (next == b)
            return b;
        b_before = b;
        slope_before = slope;
        b = next;
    }
}

/* Makes z, r and h those of the margins; returns b. With an intercept and a
 * squared loss, the mean of r that rounding leaves goes as well. */
static double evaluate_rows(columns_local *l, const double *margin, double from)
{
    double loss, sum = 0, square = 0;
    const double b = columns_intercept(&l->problem, l->y, l->c, margin, l->rows,
                                       from, l->z, l->r, l->h, &loss);
    for (uint64_t i = 0; columns_centre(&l->problem) && i < l->rows; i++)
        sum += l->r[i];
    l->unit = 0;
    for (uint64_t i = 0; i < l->rows; i++) {
        l->r[i] -= sum / (double)l->rows;
        square += l->r[i] * l->r[i];
        l->unit = fmax(l->unit, fabs(l->r[i]));
    }
    for (uint64_t i = 0; i < l->rows; i++)
        l->narrow[i] = l->unit > 0 ? (float)(l->r[i] / l->unit) : 0;
    l->norm = sqrt(square);
    return b;
}

static void refresh_rows(columns_local *l)
{
    if (!l->fresh)
        l->b = evaluate_rows(l, l->margin, l->b);
    l->fresh = true;
}

strads_err columns_refresh(strads_task *task, const strads_change *change,
                           uint32_t n)
{
    columns_local *l = task->local;
    for (; n > 0; n--, change++)
        for (uint32_t k = 0; k < change->n; k++) {
            const uint32_t param = change->param[k];
            if (param < l->columns)
                continue;
            if (param - l->columns < l->rows)
                l->margin[param - l->columns] += change->change[k];
            else
                l->b += change->change[k];
            l->fresh = false;
        }
    return STRADS_OK;
}

/* ---- kept columns -------------------------------------------------------- */

static void free_kept(columns_kept *k)
{
    free(k->id);
    free(k->start);
    free(k->row);
    free(k->value);
    free(k->sorted);
    free(k->origin);
    *k = (columns_kept){0};
}

static bool grow(void **array, size_t size, uint64_t n)
{
    void *more = realloc(*array, size * n);
    if (more)
        *array = more;
    return more != NULL;
}

static strads_err lack_room(const columns_kept *k)
{
    return strads_fail(
        STRADS_ENOMEM,
        "no memory for more than %u columns that may be "
        "nonzero: allow more (--memory), or give a larger lambda",
        k->n);
}

enum { ENTRY_BYTES = sizeof(uint32_t) + sizeof(double) };

/* Makes room for n entries behind the last ones. */
static strads_err reserve_entries(columns_kept *k, uint64_t n)
{
    const uint64_t need = k->nnz + n, most = k->limit / ENTRY_BYTES;
    if (need <= k->room)
        return STRADS_OK;
    const uint64_t more = 2 * need + 4096 < most ? 2 * need + 4096 : most;
    if (need > most || !grow((void **)&k->row, sizeof *k->row, more) ||
        !grow((void **)&k->value, sizeof *k->value, more))
        return lack_room(k);
    k->room = more;
    return STRADS_OK;
}

/* Makes room for one more column of n entries. */
static strads_err reserve_column(columns_kept *k, uint64_t n)
{
    if (k->n == k->capacity) {
        const uint32_t more = k->capacity ? 2 * k->capacity : 1024;
        if (!grow((void **)&k->id, sizeof *k->id, more) ||
            !grow((void **)&k->start, sizeof *k->start, more + 1) ||
            !grow((void **)&k->sorted, sizeof *k->sorted, more) ||
            !grow((void **)&k->origin, sizeof *k->origin, more))
            return lack_room(k);
        k->start[0] = 0;
        k->capacity = more;
    }
    return reserve_entries(k, n);
}

/* Ends a column of n entries, which were written behind the others. */
static void keep_column(columns_kept *k, uint32_t id, uint64_t n, double origin)
{
    k->origin[k->n] = origin;
    k->id[k->n++] = id;
    k->nnz += n;
    k->start[k->n] = k->nnz;
}

static double kept_dot(const columns_kept *k, uint32_t at, const double *v)
{
    double sum = 0;
    for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++)
        sum += k->value[e] * v[k->row[e]];
    return sum;
}

/* Sorts the places of all columns by their ids. A scan adds columns in
 * ascending order, so a merge of two runs would do; the sort is as short. */
static strads_err sort_kept(columns_kept *k)
{
    struct pair {
        uint32_t id, at;
    } *pair = malloc((k->n + 1) * sizeof *pair);
    if (!pair)
        return strads_fail(STRADS_ENOMEM, "no memory to sort %u columns", k->n);
    for (uint32_t at = 0; at < k->n; at++)
        pair[at] = (struct pair){k->id[at], at};
    qsort(pair, k->n, sizeof *pair, columns_compare);
    for (uint32_t at = 0; at < k->n; at++)
        k->sorted[at] = pair[at].at;
    free(pair);
    return STRADS_OK;
}

/* The place of a column among the first `sorted` ones; UINT32_MAX: none. */
static uint32_t find_kept(const columns_kept *k, uint32_t sorted, uint32_t id)
{
    uint32_t low = 0, high = sorted;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (k->id[k->sorted[middle]] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sorted && k->id[k->sorted[low]] == id ? k->sorted[low]
                                                       : UINT32_MAX;
}

/* ---- a pass over all columns --------------------------------------------- */

/* A pass over all columns. It gives those with slopes that may reach the
 * threshold to `take`: their entries lie behind the last ones of `kept`. */
typedef struct column_pass {
    columns_local *local;
    double threshold; /* columns surely below it are skipped */
    strads_err (*take)(struct column_pass *pass, uint32_t id, uint64_t n);
    columns_scanned *head;
    columns_found *found;
    double l1;
    uint32_t known; /* columns that were kept before the pass */
    /* Of COLUMNS_MARGINS: the columns to fetch, ascending. */
    const uint32_t *wanted;
    uint32_t n_wanted, next_wanted;
} column_pass;

/* The error of a product in f32 of n entries of at most `most`, as
 * strads_pack_reader_dots bounds it. Values that small would be lost in f32. */
static double narrow_error(const column_pass *pass, double n, double most)
{
    return most < 0x1p-60
               ? (double)INFINITY
               : 0x1p-23 * (n / 8 + 18) * most * sqrt(n) * pass->local->norm;
}

static void drop_flat(column_pass *pass);

/* Makes room for a column behind the kept ones. A scan gives up the flattest of
 * its new columns for it. */
static strads_err make_room(column_pass *pass, uint64_t n)
{
    strads_err err;
    while ((err = reserve_column(&pass->local->kept, n)) == STRADS_ENOMEM &&
           pass->head && pass->head->n > 1)
        drop_flat(pass);
    return err;
}

static bool is_wanted(column_pass *pass, uint32_t id)
{
    while (pass->next_wanted < pass->n_wanted &&
           pass->wanted[pass->next_wanted] < id)
        pass->next_wanted++;
    return pass->next_wanted < pass->n_wanted &&
           pass->wanted[pass->next_wanted] == id;
}

/* Takes the column that was collected piece by piece. */
static strads_err end_pending(column_pass *pass)
{
    columns_local *l = pass->local;
    columns_kept *p = &l->pending;
    if (p->n == 0)
        return STRADS_OK;
    const uint32_t id = p->id[0];
    p->n = 0;
    if (pass->wanted && !is_wanted(pass, id))
        return STRADS_OK;
    strads_err err = make_room(pass, p->nnz);
    if (err)
        return err;
    if (p->nnz > 0) {
        memcpy(l->kept.row + l->kept.nnz, p->row, p->nnz * sizeof *p->row);
        memcpy(l->kept.value + l->kept.nnz, p->value,
               p->nnz * sizeof *p->value);
    }
    return pass->take(pass, id, p->nnz);
}

/* Adds the chunk's column k to the pending one. */
static strads_err add_pending(columns_local *l, const strads_pack_chunk *chunk,
                              uint32_t k)
{
    columns_kept *p = &l->pending;
    const uint64_t n = chunk->start[k + 1] - chunk->start[k];
    const bool begins = p->n == 0;
    if (begins)
        p->nnz = 0;
    strads_err err = begins ? reserve_column(p, n) : reserve_entries(p, n);
    if (err)
        return err;
    if (begins)
        p->id[p->n++] = (uint32_t)(chunk->first + k);
    err = strads_pack_reader_column(l->reader, k, p->row + p->nnz,
                                    p->value + p->nnz);
    p->nnz += n;
    return err;
}

/* Takes the chunk's column k: unpacks it behind the kept ones. */
static strads_err take_packed(column_pass *pass, const strads_pack_chunk *chunk,
                              uint32_t k)
{
    columns_local *l = pass->local;
    const uint64_t n = chunk->start[k + 1] - chunk->start[k];
    strads_err err = make_room(pass, n);
    if (!err)
        err = strads_pack_reader_column(l->reader, k, l->kept.row + l->kept.nnz,
                                        l->kept.value + l->kept.nnz);
    return err ? err : pass->take(pass, (uint32_t)(chunk->first + k), n);
}

/* All columns of a chunk but the last one, which may continue. */
static strads_err pass_chunk(column_pass *pass, const strads_pack_chunk *chunk)
{
    columns_local *l = pass->local;
    const uint32_t n = chunk->cols - 1;
    strads_err err = STRADS_OK;
    if (pass->wanted) {
        for (uint32_t k = 0; k < n && !err; k++)
            if (is_wanted(pass, (uint32_t)(chunk->first + k)))
                err = take_packed(pass, chunk, k);
        return err;
    }
    if (l->dots < chunk->cols) {
        if (!grow((void **)&l->dot, sizeof *l->dot, chunk->cols))
            return strads_fail(STRADS_ENOMEM, "no memory for a chunk");
        l->dots = chunk->cols;
    }
    err = strads_pack_reader_dots(l->reader, l->narrow, l->dot);
    uint64_t longest = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t m = chunk->start[k + 1] - chunk->start[k];
        longest = m > longest ? m : longest;
    }
    const double error = narrow_error(pass, (double)longest, chunk->most);
    for (uint32_t k = 0; k < n && !err; k++) {
        /* A product that overflows f32, or is no number, decides nothing. */
        const double size = fabs((double)l->dot[k]) * l->unit;
        if (size + error < pass->threshold)
            continue;
        const double m = (double)(chunk->start[k + 1] - chunk->start[k]);
        if (!(size + narrow_error(pass, m, chunk->most) < pass->threshold))
            err = take_packed(pass, chunk, k);
    }
    return err;
}

static strads_err pass_pack(column_pass *pass)
{
    columns_local *l = pass->local;
    strads_pack_chunk chunk;
    strads_err err;
    l->pending.n = 0;
    while (!(err = strads_pack_reader_next(l->reader, &chunk)) &&
           chunk.cols > 0) {
        if (!chunk.continues)
            err = end_pending(pass);
        if (!err && !chunk.continues)
            err = pass_chunk(pass, &chunk);
        if (!err)
            err = add_pending(l, &chunk, chunk.cols - 1);
        if (err)
            return err;
    }
    return err ? err : end_pending(pass);
}

/* Whether a column in memory may reach the threshold, for all its rounding. */
static bool may_reach(const column_pass *pass, const strads_sparse *x,
                      uint64_t k)
{
    const columns_local *l = pass->local;
    double dot = 0, square = 0;
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++) {
        const double value = strads_sparse_value(x, e);
        dot += value * l->r[x->index[e]];
        square += value * value;
    }
    return !(fabs(dot) + DBL_EPSILON * sqrt(square) * l->norm <
             pass->threshold);
}

static strads_err pass_memory(column_pass *pass, const strads_share *share)
{
    columns_local *l = pass->local;
    const strads_sparse *x = &share->by_col;
    for (uint64_t k = 0; k < x->lines; k++) {
        const uint32_t id = (uint32_t)(share->cols.begin + k);
        const uint64_t first = x->start[k], n = x->start[k + 1] - first;
        if (pass->wanted ? !is_wanted(pass, id) : !may_reach(pass, x, k))
            continue;
        strads_err err = make_room(pass, n);
        if (err)
            return err;
        for (uint64_t e = 0; e < n; e++) {
            l->kept.row[l->kept.nnz + e] = x->index[first + e];
            l->kept.value[l->kept.nnz + e] = strads_sparse_value(x, first + e);
        }
        err = pass->take(pass, id, n);
        if (err)
            return err;
    }
    return STRADS_OK;
}

static strads_err pass_columns(column_pass *pass, const strads_share *share)
{
    return pass->local->reader ? pass_pack(pass) : pass_memory(pass, share);
}

/* ---- a scan -------------------------------------------------------------- */

size_t columns_partial_scan(const strads_task *task)
{
    const uint64_t columns = task->shape->cols;
    const uint64_t most =
        columns < COLUMNS_FOUND_MAX ? columns : COLUMNS_FOUND_MAX;
    return sizeof(columns_scanned) + (size_t)most * sizeof(columns_found);
}

/* A column behind the kept ones. */
typedef struct new_column {
    double origin; /* subtracted from its values */
    double slope, error;
} new_column;

/* Computes the slope of the n entries behind the kept ones, and a bound of its
 * rounding. With an intercept, b makes up for a column's origin. So a column
 * without omitted zeros loses its mean, which may be large beside its
 * deviation. */
static new_column meet_column(columns_local *l, uint64_t n)
{
    const columns_kept *k = &l->kept;
    double *value = k->value + k->nnz;
    const uint32_t *row = k->row + k->nnz;
    new_column c = {0};
    if (l->problem.options.intercept && n == l->rows)
        for (uint64_t e = 0; e < n; e++)
            c.origin += value[e] / (double)n;
    double square = 0;
    for (uint64_t e = 0; e < n; e++) {
        value[e] -= c.origin;
        c.slope += value[e] * l->r[row[e]];
        square += value[e] * value[e];
    }
    c.error = DBL_EPSILON * sqrt(square) * l->norm;
    return c;
}

/* Only the largest slope is asked for: what reaches it moves the threshold. */
static strads_err take_largest(column_pass *pass, uint32_t id, uint64_t n)
{
    const double slope = fabs(meet_column(pass->local, n).slope);
    (void)id;
    pass->head->largest = fmax(pass->head->largest, slope);
    pass->threshold = pass->head->largest;
    return STRADS_OK;
}

static int compare_slopes(const void *a, const void *b)
{
    const double x = fabs(((const columns_found *)a)->slope);
    const double y = fabs(((const columns_found *)b)->slope);
    return (x < y) - (x > y);
}

/* Keeps the half of the new columns with the steepest slopes. */
static void drop_flat(column_pass *pass)
{
    columns_kept *k = &pass->local->kept;
    columns_found *found = pass->found;
    const uint32_t before = (uint32_t)pass->head->n, half = before / 2;
    qsort(found, before, sizeof *found, compare_slopes);
    pass->threshold = fabs(found[half].slope);
    pass->head->threshold = pass->threshold;
    qsort(found, half, sizeof *found, columns_compare);
    uint32_t to = pass->known, next = 0;
    uint64_t nnz = k->start[to];
    for (uint32_t at = pass->known; at < k->n; at++) {
        const uint64_t first = k->start[at], n = k->start[at + 1] - first;
        if (next == half || found[next].column != k->id[at])
            continue;
        next++;
        memmove(k->row + nnz, k->row + first, n * sizeof *k->row);
        memmove(k->value + nnz, k->value + first, n * sizeof *k->value);
        k->id[to] = k->id[at];
        k->origin[to] = k->origin[at];
        nnz += n;
        k->start[++to] = nnz;
    }
    k->n = to;
    k->nnz = nnz;
    pass->head->n = half;
}

static strads_err take_candidate(column_pass *pass, uint32_t id, uint64_t n)
{
    columns_local *l = pass->local;
    const new_column c = meet_column(l, n);
    columns_scanned *head = pass->head;
    const double size = fabs(c.slope) + c.error;
    const double over = fmax(size - pass->l1, 0);
    head->largest = fmax(head->largest, size);
    head->beyond += over * over;
    if (size < pass->threshold ||
        find_kept(&l->kept, pass->known, id) != UINT32_MAX)
        return STRADS_OK;
    keep_column(&l->kept, id, n, c.origin);
    pass->found[head->n++] = (columns_found){.column = id, .slope = c.slope};
    if (head->n == COLUMNS_FOUND_MAX)
        drop_flat(pass);
    return STRADS_OK;
}

strads_err columns_update_scan(strads_task *task)
{
    columns_local *l = task->local;
    columns_scanned *head = (columns_scanned *)(void *)task->partial;
    const double threshold = task->total[COLUMNS_THRESHOLD];
    column_pass pass = {.local = l,
                        .threshold = threshold,
                        .take = threshold > 0 ? take_candidate : take_largest,
                        .head = head,
                        .found = (columns_found *)(void *)(head + 1),
                        .l1 = task->total[COLUMNS_L1],
                        .known = l->kept.n};
    if (threshold > 0) {
        refresh_rows(l);
    } else {
        (void)evaluate_rows(l, l->none, 0);
        l->fresh = false;
    }
    *head = (columns_scanned){.threshold = threshold};
    strads_err err = pass_columns(&pass, task->share);
    if (!err)
        err = sort_kept(&l->kept);
    task->partial_bytes =
        sizeof *head + (size_t)head->n * sizeof(columns_found);
    return err;
}

/* ---- columns of a block -------------------------------------------------- */

size_t columns_partial_block(const strads_task *task)
{
    return COLUMNS_NUMBERS + (size_t)task->shape->rows;
}

static strads_err take_wanted(column_pass *pass, uint32_t id, uint64_t n)
{
    keep_column(&pass->local->kept, id, n, meet_column(pass->local, n).origin);
    return STRADS_OK;
}

/* Reads those of the block's columns, which ascend, that this partition lacks,
 * as after a resume. place[n] is overwritten. */
static strads_err fetch_block(strads_task *task, uint32_t *place)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    uint32_t missing = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = strads_block_param(&task->block, k);
        if (find_kept(&l->kept, l->kept.n, id) == UINT32_MAX)
            place[missing++] = id;
    }
    if (missing == 0)
        return STRADS_OK;
    column_pass pass = {.local = l,
                        .take = take_wanted,
                        .known = l->kept.n,
                        .wanted = place,
                        .n_wanted = missing};
    const uint32_t before = l->kept.n;
    strads_err err = pass_columns(&pass, task->share);
    if (!err)
        err = sort_kept(&l->kept);
    if (!err && l->kept.n != before + missing)
        err = strads_fail(STRADS_EFORMAT,
                          "%u columns of a block are not in this partition",
                          missing - (l->kept.n - before));
    return err;
}

/* An unpacked column of this partition or of a peer. */
typedef struct column_place {
    const columns_kept *kept;
    uint32_t at;
} column_place;

/* Finds the block's columns, which ascend as partitions do. */
static strads_err place_block(const strads_task *task, column_place *place)
{
    uint32_t peer = 0;
    for (uint32_t k = 0; k < task->block.n; k++) {
        const uint32_t id = strads_block_param(&task->block, k);
        while (peer + 1 < task->n_peers &&
               id >= task->peer[peer].share->cols.end)
            peer++;
        const columns_local *holder = task->peer[peer].local;
        place[k].kept = &holder->kept;
        place[k].at = find_kept(&holder->kept, holder->kept.n, id);
        if (place[k].at == UINT32_MAX)
            return strads_fail(STRADS_EPROGRAM,
                               "column %u of a block was not unpacked", id);
    }
    return STRADS_OK;
}

static void add_column(const columns_kept *k, uint32_t at, double a, double *v)
{
    for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++)
        v[k->row[e]] += a * k->value[e];
}

/* X w of the block's columns, less their origins. */
strads_err columns_update_margins(strads_task *task)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    double *out = task->partial;
    uint32_t *place = malloc((n + 1) * sizeof *place);
    strads_err err = place
                         ? fetch_block(task, place)
                         : strads_fail(STRADS_ENOMEM, "no memory for a block");
    for (uint32_t k = 0; k < n && !err; k++) {
        const uint32_t at =
            find_kept(&l->kept, l->kept.n, strads_block_param(&task->block, k));
        add_column(&l->kept, at, task->value[k], out + COLUMNS_NUMBERS);
        out[COLUMNS_ORIGINS] += l->kept.origin[at] * task->value[k];
    }
    free(place);
    return err;
}

/* ---- a block's solution -------------------------------------------------- */

/* Coordinate descent on the quadratic model at the margins,
 *
 *     sum -r_i v_i + h_i v_i^2 / 2 + penalty,   v = X d + shift,
 *
 * where the shift, the change of b, has its best value throughout: with
 * left_i = r_i - h_i (X d)_i, it is sum left / sum h, and the slope of column j
 * is x_j'left - shift x_j'h. */
typedef struct descent {
    const columns_local *local;
    const column_place *place; /* [n] */
    uint32_t n;
    double l1, l2;
    double *w;            /* [n] */
    double *curve, *tilt; /* [n] x'H x less the shift's part, x'h */
    double *left;         /* [rows] */
    double sum_left, sum_h;
    uint64_t updates;
} descent;

static void begin_descent(descent *d)
{
    const columns_local *l = d->local;
    const bool shifts = l->problem.options.intercept;
    memcpy(d->left, l->r, l->rows * sizeof *d->left);
    for (uint64_t i = 0; shifts && i < l->rows; i++) {
        d->sum_left += l->r[i];
        d->sum_h += l->h[i];
    }
    for (uint32_t j = 0; j < d->n; j++) {
        const columns_kept *k = d->place[j].kept;
        const uint32_t at = d->place[j].at;
        double square = 0, tilt = 0;
        for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++) {
            const double hx = l->h[k->row[e]] * k->value[e];
            square += hx * k->value[e];
            tilt += hx;
        }
        d->tilt[j] = shifts ? tilt : 0;
        d->curve[j] = shifts && d->sum_h > 0
                          ? fmax(square - tilt * tilt / d->sum_h, 0)
                          : square;
    }
}

static double shift_of(const descent *d)
{
    return d->sum_h > 0 ? d->sum_left / d->sum_h : 0;
}

static double slope_of(const descent *d, uint32_t j)
{
    return kept_dot(d->place[j].kept, d->place[j].at, d->left) -
           shift_of(d) * d->tilt[j];
}

/* Minimises along column j; returns the gain, a (change)^2. */
static double descend_column(descent *d, uint32_t j)
{
    const columns_local *l = d->local;
    const columns_kept *k = d->place[j].kept;
    const uint32_t at = d->place[j].at;
    const double a = d->curve[j], slope = slope_of(d, j);
    const double to = columns_step(a * d->w[j] + slope, a, d->l1, d->l2);
    const double move = to - d->w[j];
    if (move == 0)
        return 0;
    d->w[j] = to;
    d->updates++;
    for (uint64_t e = k->start[at]; e < k->start[at + 1]; e++) {
        const uint32_t i = k->row[e];
        d->left[i] -= move * l->h[i] * k->value[e];
    }
    d->sum_left -= move * d->tilt[j];
    return a * move * move;
}

/* Sweeps over all columns, and over the nonzero ones in between, until a sweep
 * of all gains a thousandth of the first. */
static void descend(descent *d)
{
    enum { SWEEPS = 8, INNER = 24 };
    double first = 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double gain = 0;
        for (uint32_t j = 0; j < d->n; j++)
            gain += descend_column(d, j);
        first = sweep == 0 ? gain : first;
        if (gain <= 1e-3 * first || gain == 0)
            return;
        for (int inner = 0; inner < INNER; inner++) {
            double more = 0;
            for (uint32_t j = 0; j < d->n; j++)
                if (d->w[j] != 0)
                    more += descend_column(d, j);
            if (more <= .05 * gain)
                break;
        }
    }
}

static void describe_start(const descent *d, double *out)
{
    for (uint32_t j = 0; j < d->n; j++) {
        const double slope = slope_of(d, j);
        const double over = fmax(fabs(slope) - d->l1, 0);
        out[COLUMNS_LARGEST] = fmax(out[COLUMNS_LARGEST], fabs(slope));
        out[COLUMNS_BEYOND] += over * over;
    }
}

static strads_err solve_block(strads_task *task, column_place *place,
                              double *numbers)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    double *out = task->partial, *margin = out + COLUMNS_NUMBERS;
    strads_err err = place_block(task, place);
    if (err)
        return err;
    refresh_rows(l);
    descent d = {.local = l,
                 .place = place,
                 .n = n,
                 .l1 = task->total[COLUMNS_L1],
                 .l2 = task->total[COLUMNS_L2],
                 .w = numbers,
                 .curve = numbers + n,
                 .tilt = numbers + 2 * (size_t)n,
                 .left = l->left};
    memcpy(d.w, task->value, n * sizeof *d.w);
    begin_descent(&d);
    describe_start(&d, out);
    descend(&d);
    for (uint32_t j = 0; j < n; j++) {
        const double move = d.w[j] - task->value[j];
        out[COLUMNS_L1_CHANGE] += fabs(d.w[j]) - fabs(task->value[j]);
        out[COLUMNS_CROSS] += task->value[j] * move;
        out[COLUMNS_MOVED] += move * move;
        out[COLUMNS_ORIGINS] += place[j].kept->origin[place[j].at] * move;
        if (move != 0)
            add_column(place[j].kept, place[j].at, move, margin);
        task->value[j] = d.w[j];
    }
    out[COLUMNS_UPDATES] = (double)d.updates;
    return STRADS_OK;
}

strads_err columns_update_solve(strads_task *task)
{
    const size_t n = task->block.n;
    column_place *place = malloc((n + 1) * sizeof *place);
    double *numbers = malloc((3 * n + 1) * sizeof *numbers);
    const strads_err err =
        place && numbers
            ? solve_block(task, place, numbers)
            : strads_fail(STRADS_ENOMEM, "no memory for a block of %zu columns",
                          n);
    free(place);
    free(numbers);
    return err;
}

/* ---- opening and closing ------------------------------------------------- */

void columns_close(void *local)
{
    columns_local *l = local;
    if (!l)
        return;
    strads_pack_reader_close(l->reader);
    free_kept(&l->kept);
    free_kept(&l->pending);
    free(l->dot);
    free(l->narrow);
    free(l->y); /* the other arrays of rows are parts of it */
    free(l);
}

static strads_err open_columns(columns_local *l, const strads_task *task)
{
    enum { ARRAYS = 8, SLACK = 16 };
    const strads_share *share = task->share;
    const uint64_t n = share->rows.end - share->rows.begin;
    l->rows = n;
    l->columns = task->shape->cols;
    if (share->weight)
        return strads_fail(STRADS_EINVAL,
                           "a fit by columns gives all rows the same weight: "
                           "leave --cut or the weights out");
    l->y = calloc(n * ARRAYS + 1, sizeof *l->y);
    l->narrow = calloc(n + SLACK, sizeof *l->narrow);
    if (!l->y || !l->narrow)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)n);
    double **const array[ARRAYS - 1] = {&l->c, &l->margin, &l->z,   &l->r,
                                        &l->h, &l->left,   &l->none};
    for (int k = 0; k + 1 < ARRAYS; k++)
        *array[k] = l->y + (uint64_t)(k + 1) * n;
    for (uint64_t i = 0; i < n; i++)
        l->c[i] = 1;
    const uint64_t spare = task->shape->spare_bytes;
    l->kept.limit = l->pending.limit = spare / task->shape->partitions;
    strads_err err = columns_targets(&l->problem, share, l->y, NULL);
    if (!err && share->pack)
        err = strads_pack_reader_open(share->pack, share->cols.begin,
                                      share->cols.end, share->pack_exceeds,
                                      &l->reader);
    return err;
}

strads_err columns_open(const glm_problem *problem, const strads_task *task,
                        void **local)
{
    columns_local *l = calloc(1, sizeof *l);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory for a partition");
    l->problem = *problem;
    const strads_err err = open_columns(l, task);
    if (err)
        columns_close(l);
    else
        *local = l;
    return err;
}
