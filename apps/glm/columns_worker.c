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
                           const strads_share *share, double *y, double *weight,
                           char **text)
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
    for (uint64_t i = 0; i < n && !columns_balances(problem); i++)
        weight[i] *= linear_classes_weight(&classes, share->label[i]);
    if (text)
        err = linear_classes_write(&classes, share->label_names, text);
    linear_classes_free(&classes);
    return err;
}

void columns_centre(const glm_problem *problem, const double *c, double weight,
                    uint64_t n, double *r)
{
    double sum = 0;
    if (!problem->options.intercept || !problem->loss->constant)
        return;
    for (uint64_t i = 0; i < n; i++)
        sum += r[i];
    for (uint64_t i = 0; i < n; i++)
        r[i] -= c[i] * (sum / weight);
}

double columns_intercept(const glm_problem *problem, const columns_rows *rows,
                         double b, double *z, double *r, double *h,
                         double *loss)
{
    enum { STEPS = 50 };
    const uint64_t n = rows->n;
    const glm_rows at = {n, rows->y, rows->c, z};
    double b_before = b, slope_before = 0;
    for (int step = 0;; step++) {
        for (uint64_t i = 0; i < n; i++)
            z[i] = rows->margin[i] + rows->offset[i] + b;
        *loss = problem->loss->evaluate(&at, problem->p, r, h);
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

/* Makes z, r and h those of the margins; returns b. */
static double evaluate_rows(columns_local *l, const double *margin, double from)
{
    double loss;
    const columns_rows rows = {l->rows, l->y, l->c, l->offset, margin};
    const double b =
        columns_intercept(&l->problem, &rows, from, l->z, l->r, l->h, &loss);
    columns_centre(&l->problem, l->c, l->weight_sum, l->rows, l->r);
    return b;
}

static void set_fold(columns_local *l, uint32_t fold)
{
    if (fold == l->fold)
        return;
    l->weight_sum = columns_weigh(&l->weigh, fold, l->c);
    l->fold = fold;
    l->fresh = false;
}

/* Makes z, r and h those of the last commit, with the weights of a fold. */
static void refresh_rows(columns_local *l, uint32_t fold)
{
    set_fold(l, fold);
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

/* ---- solutions that wait for their scan ---------------------------------- */

static void free_views(columns_local *l)
{
    for (uint32_t v = 0; v < COLUMNS_VIEWS_MAX; v++) {
        free(l->view[v].r);
        free(l->view[v].narrow);
        free(l->view[v].c);
        free(l->view[v].free);
    }
}

/* Copies r to the view, which keeps its arrays; narrow is r / unit, so that
 * products in f32 neither overflow nor get lost. Deviations need the weights of
 * the solution's fold. */
static strads_err set_view(columns_local *l, columns_view *v, double l1,
                           double l2)
{
    enum { SLACK = 16 };
    const bool folds = l->problem.options.standardize && l->fold_of.n > 0;
    double square = 0;
    if (folds && !v->c)
        v->c = calloc(l->rows + 1, sizeof *v->c);
    if (l->n_free > 0 && !v->free)
        v->free = calloc(l->n_free, sizeof *v->free);
    if (!v->r)
        v->r = calloc(l->rows + 1, sizeof *v->r);
    if (!v->narrow)
        v->narrow = calloc(l->rows + SLACK, sizeof *v->narrow);
    if (!v->r || !v->narrow || (folds && !v->c) || (l->n_free > 0 && !v->free))
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)l->rows);
    memcpy(v->r, l->r, l->rows * sizeof *v->r);
    if (folds)
        memcpy(v->c, l->c, l->rows * sizeof *v->c);
    v->weight_sum = l->weight_sum;
    v->l1 = l1;
    v->l2 = l2;
    v->unit = 0;
    for (uint64_t i = 0; i < l->rows; i++) {
        square += v->r[i] * v->r[i];
        v->unit = fmax(v->unit, fabs(v->r[i]));
    }
    for (uint64_t i = 0; i < l->rows; i++)
        v->narrow[i] = v->unit > 0 ? (float)(v->r[i] / v->unit) : 0;
    v->norm = sqrt(square);
    return STRADS_OK;
}

size_t columns_partial_keep(const strads_task *task)
{
    (void)task;
    return 0;
}

strads_err columns_update_keep(strads_task *task)
{
    columns_local *l = task->local;
    columns_view *v = &l->view[l->views++];
    refresh_rows(l, (uint32_t)task->total[COLUMNS_FOLD]);
    const strads_err err =
        set_view(l, v, task->total[COLUMNS_L1], task->total[COLUMNS_L2]);
    uint32_t own = 0;
    for (uint32_t k = 0; k < task->block.n && own < l->n_free && !err; k++)
        if (strads_block_param(&task->block, k) == l->free[own])
            v->free[own++] = task->value[k];
    return err;
}

/* ---- penalties of columns ----------------------------------------------- */

static double factor_of(const columns_local *l, uint64_t id)
{
    return l->factor ? l->factor[id - l->first] : 1;
}

/* A lower bound of a column's scale, 0 if none is known: such a column is
 * unpacked. */
static double floor_of(const columns_local *l, uint64_t id)
{
    return l->floor                         ? (double)l->floor[id - l->first]
           : l->problem.options.standardize ? 0
                                            : factor_of(l, id);
}

/* ---- a pass over all columns --------------------------------------------- */

/* A pass over all columns. It gives those with slopes that may reach a view's
 * bound to `take`: their entries lie behind the last ones of `kept`. */
typedef struct column_pass {
    columns_local *local;
    const volatile bool *stop; /* as in strads_task */
    strads_err (*take)(struct column_pass *pass, uint32_t id, uint64_t n);
    columns_scanned *head;
    columns_found *found;
    uint32_t known; /* columns that were kept before the pass */
    double least;   /* of a found column, in units of its view's `keep` */
    bool drops;     /* the flattest of the found columns, to make room */
    /* Of COLUMNS_MARGINS: the columns to fetch, ascending. */
    const uint32_t *wanted;
    uint32_t n_wanted, next_wanted;
    bool stopped; /* before the last column */
} column_pass;

static bool stops(column_pass *pass)
{
    pass->stopped =
        pass->stopped ||
        (pass->stop && __atomic_load_n(pass->stop, __ATOMIC_RELAXED));
    return pass->stopped;
}

/* The error of a product in f32 of n entries of at most `most`, as
 * strads_pack_reader_dots bounds it. Values that small would be lost in f32. */
static double narrow_error(const columns_view *v, double n, double most)
{
    return most < 0x1p-60 ? (double)INFINITY
                          : 0x1p-23 * (n / 8 + 18) * most * sqrt(n) * v->norm;
}

static void drop_flat(column_pass *pass);

/* Makes room for a column behind the kept ones. A scan for candidates gives up
 * the flattest of its new columns for it. */
static strads_err make_room(column_pass *pass, uint64_t n)
{
    strads_err err;
    while ((err = columns_kept_begin(&pass->local->kept, n)) == STRADS_ENOMEM &&
           pass->drops && pass->head->n > 1)
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
    strads_err err =
        begins ? columns_kept_begin(p, n) : columns_kept_reserve(p, n);
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

/* Marks the chunk's columns that may reach the view's bound. */
static strads_err mark_chunk(columns_local *l, const strads_pack_chunk *chunk,
                             const columns_view *v)
{
    const strads_err err =
        strads_pack_reader_dots(l->reader, v->narrow, l->dot);
    uint64_t longest = 0;
    for (uint32_t k = 0; k < chunk->cols; k++) {
        const uint64_t m = chunk->start[k + 1] - chunk->start[k];
        longest = m > longest ? m : longest;
    }
    const double error = narrow_error(v, (double)longest, chunk->most);
    for (uint32_t k = 0; k < chunk->cols && !err; k++) {
        /* A product that overflows f32, or is no number, decides nothing. */
        const double size =
            columns_size(&l->problem, (double)l->dot[k]) * v->unit;
        const double least = floor_of(l, chunk->first + k);
        const double look = v->look * least;
        if (least > 0 && size + error < look)
            continue;
        const double m = (double)(chunk->start[k + 1] - chunk->start[k]);
        if (!(least > 0 && size + narrow_error(v, m, chunk->most) < look))
            l->mark[k] = true;
    }
    return err;
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
        if (!columns_grow((void **)&l->dot, sizeof *l->dot, chunk->cols) ||
            !columns_grow((void **)&l->mark, sizeof *l->mark, chunk->cols))
            return strads_fail(STRADS_ENOMEM, "no memory for a chunk");
        l->dots = chunk->cols;
    }
    memset(l->mark, 0, chunk->cols * sizeof *l->mark);
    for (uint32_t v = 0; v < l->views && !err; v++)
        err = mark_chunk(l, chunk, &l->view[v]);
    for (uint32_t k = 0; k < n && !err; k++)
        if (l->mark[k])
            err = take_packed(pass, chunk, k);
    return err;
}

static strads_err pass_pack(column_pass *pass)
{
    columns_local *l = pass->local;
    strads_pack_chunk chunk;
    strads_err err = STRADS_OK;
    l->pending.n = 0;
    while (!stops(pass) &&
           !(err = strads_pack_reader_next(l->reader, &chunk)) &&
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
    return err || pass->stopped ? err : end_pending(pass);
}

/* Whether a column in memory may reach a view's bound, for all its rounding. */
static bool may_reach(const columns_local *l, const strads_sparse *x,
                      uint64_t k)
{
    const double least = floor_of(l, l->first + k);
    double square = 0;
    for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++) {
        const double value = strads_sparse_value(x, e);
        square += value * value;
    }
    for (uint32_t v = 0; v < l->views; v++) {
        const columns_view *view = &l->view[v];
        double dot = 0;
        for (uint64_t e = x->start[k]; e < x->start[k + 1]; e++)
            dot += strads_sparse_value(x, e) * view->r[x->index[e]];
        if (!(least > 0 && columns_size(&l->problem, dot) +
                                   DBL_EPSILON * sqrt(square) * view->norm <
                               view->look * least))
            return true;
    }
    return false;
}

static strads_err pass_memory(column_pass *pass, const strads_share *share)
{
    columns_local *l = pass->local;
    const strads_sparse *x = &share->by_col;
    for (uint64_t k = 0; k < x->lines && !stops(pass); k++) {
        const uint32_t id = (uint32_t)(share->cols.begin + k);
        const uint64_t first = x->start[k], n = x->start[k + 1] - first;
        if (pass->wanted ? !is_wanted(pass, id) : !may_reach(l, x, k))
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
    return sizeof(columns_scanned) + COLUMNS_VIEWS_MAX * sizeof(columns_seen) +
           (size_t)most * sizeof(columns_found);
}

/* With an intercept, b makes up for a column's origin. So a column behind the
 * kept ones without omitted zeros loses its mean, which may be large beside its
 * deviation. Returns it. The first value goes first: a constant column is then
 * exactly 0. */
static double shift_column(columns_local *l, uint64_t n)
{
    double *value = l->kept.value + l->kept.nnz, mean = 0;
    if (!l->problem.options.intercept || n != l->rows || n == 0)
        return 0;
    const double first = value[0];
    for (uint64_t e = 0; e < n; e++)
        mean += (value[e] - first) / (double)n;
    for (uint64_t e = 0; e < n; e++)
        value[e] = (value[e] - first) - mean;
    return first + mean;
}

/* The slope of the n entries behind the kept ones, off by its rounding error in
 * the direction in which it is. */
static double slope_of_taken(const columns_local *l, const columns_view *v,
                             uint64_t n, double error)
{
    const columns_entries x = columns_kept_taken(&l->kept, n);
    double slope = 0;
    for (uint64_t e = 0; e < n; e++)
        slope += x.value[e] * v->r[x.row[e]];
    return slope + copysign(error, slope);
}

static columns_scale scale_of_taken(columns_local *l, const columns_view *v,
                                    uint32_t id, uint64_t n)
{
    const columns_entries x = columns_kept_taken(&l->kept, n);
    const columns_scale own =
        columns_scale_of(l, factor_of(l, id), &x, v->c ? v->c : l->c,
                         v->weight_sum);
    if (l->floor)
        l->floor[id - l->first] = columns_floor(own);
    return own;
}

/* A free column is kept from the first pass on. */
static strads_err take_free(column_pass *pass, uint32_t id, uint64_t n,
                            double origin)
{
    columns_local *l = pass->local;
    columns_scanned *head = pass->head;
    if (columns_kept_find(&l->kept, pass->known, id) != UINT32_MAX)
        return STRADS_OK;
    if (head->n == COLUMNS_FOUND_MAX)
        return strads_fail(STRADS_ELIMIT,
                           "more than %d columns of a partition have the "
                           "penalty factor 0: give more partitions",
                           COLUMNS_FOUND_MAX);
    if (!columns_grow((void **)&l->free, sizeof *l->free, l->n_free + 1))
        return strads_fail(STRADS_ENOMEM, "no memory for free columns");
    l->free[l->n_free++] = id;
    columns_kept_end(&l->kept, id, n, origin, 0);
    pass->found[head->n++] = (columns_found){.column = id};
    return STRADS_OK;
}

/* Only the largest slope is asked for: what reaches it moves the bound. */
static strads_err take_largest(column_pass *pass, uint32_t id, uint64_t n)
{
    columns_local *l = pass->local;
    columns_view *v = l->view;
    const double origin = shift_column(l, n);
    const columns_scale own = scale_of_taken(l, v, id, n);
    if (own.l1 == 0)
        return take_free(pass, id, n, origin);
    const double size =
        columns_size(&l->problem, slope_of_taken(l, v, n, 0)) / own.l1;
    v->look = v->seen.forced = fmax(v->seen.forced, size);
    return STRADS_OK;
}

static int compare_slopes(const void *a, const void *b)
{
    const double x = ((const columns_found *)a)->size;
    const double y = ((const columns_found *)b)->size;
    return (x < y) - (x > y);
}

/* Columns below these bounds are skipped: those that the scan would not keep
 * and that do not count for the gap. */
static void set_bounds(column_pass *pass)
{
    columns_local *l = pass->local;
    for (uint32_t v = 0; v < l->views; v++)
        l->view[v].look = fmin(pass->least * l->view[v].keep, l->view[v].l1);
}

/* Keeps the half of the new columns with the steepest slopes. */
static void drop_flat(column_pass *pass)
{
    columns_kept *k = &pass->local->kept;
    columns_found *found = pass->found;
    const uint32_t before = (uint32_t)pass->head->n, half = before / 2;
    qsort(found, before, sizeof *found, compare_slopes);
    pass->least = found[half].size;
    set_bounds(pass);
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
        k->factor[to] = k->factor[at];
        nnz += n;
        k->start[++to] = nnz;
    }
    k->n = to;
    k->nnz = nnz;
    pass->head->n = half;
}

/* The coefficient of a free column at a view. */
static double free_coefficient(const columns_local *l, const columns_view *v,
                               uint32_t id)
{
    const uint32_t *at =
        bsearch(&id, l->free, l->n_free, sizeof *l->free, columns_compare);
    return at ? v->free[at - l->free] : 0;
}

static strads_err take_candidate(column_pass *pass, uint32_t id, uint64_t n)
{
    columns_local *l = pass->local;
    columns_scanned *head = pass->head;
    const double origin = shift_column(l, n);
    double square = 0, steepest = 0;
    for (uint64_t e = l->kept.nnz; e < l->kept.nnz + n; e++)
        square += l->kept.value[e] * l->kept.value[e];
    for (uint32_t k = 0; k < l->views; k++) {
        columns_view *v = &l->view[k];
        const columns_scale own = scale_of_taken(l, v, id, n);
        const double slope =
            slope_of_taken(l, v, n, DBL_EPSILON * sqrt(square) * v->norm);
        const double w = own.l1 == 0 ? free_coefficient(l, v, id) : 0;
        const glm_term t = columns_term(&l->problem, own, v->l1, v->l2, w);
        columns_see(&l->problem, &t, slope, &v->seen);
        if (own.l1 > 0)
            steepest = fmax(steepest, columns_size(&l->problem, slope) /
                                          (v->keep * own.l1));
    }
    if (steepest < pass->least ||
        columns_kept_find(&l->kept, pass->known, id) != UINT32_MAX)
        return STRADS_OK;
    columns_kept_end(&l->kept, id, n, origin, factor_of(l, id));
    pass->found[head->n++] = (columns_found){.column = id, .size = steepest};
    if (head->n == COLUMNS_FOUND_MAX)
        drop_flat(pass);
    return STRADS_OK;
}

/* Prepares the views: of the last one a scan keeps more columns, those of the
 * lambdas that come next. A scan for the largest slope is of w = 0, unless the
 * free columns are solved. */
static strads_err prepare_views(columns_local *l, bool largest,
                                double threshold)
{
    strads_err err = STRADS_OK;
    if (largest && l->views == 0) {
        l->views = 1;
        refresh_rows(l, 0);
        (void)evaluate_rows(l, l->none, 0);
        l->fresh = false;
        err = set_view(l, l->view, 0, 0);
    }
    for (uint32_t k = 0; k < l->views; k++) {
        columns_view *v = &l->view[k];
        /* Columns near their bound may yet move. */
        v->keep = fmax(v->l1 * (1 - 1e-6), DBL_MIN);
        if (k + 1 == l->views)
            v->keep = fmin(v->keep, threshold);
        v->look = v->keep;
        v->seen = (columns_seen){0};
    }
    return err;
}

strads_err columns_update_scan(strads_task *task)
{
    columns_local *l = task->local;
    columns_scanned *head = (columns_scanned *)(void *)task->partial;
    const bool largest = task->block.id == COLUMNS_LARGEST_ID;
    strads_err err = prepare_views(l, largest, task->total[COLUMNS_THRESHOLD]);
    columns_seen *seen = (columns_seen *)(void *)(head + 1);
    column_pass pass = {.local = l,
                        .stop = task->stop,
                        .take = largest ? take_largest : take_candidate,
                        .head = head,
                        .found = (columns_found *)(void *)(seen + l->views),
                        .known = l->kept.n,
                        .least = 1,
                        .drops = !largest};
    *head = (columns_scanned){.views = l->views};
    if (!err)
        err = pass_columns(&pass, task->share);
    if (!err)
        err = columns_kept_sort(&l->kept);
    head->stopped = pass.stopped;
    for (uint32_t v = 0; v < l->views; v++)
        seen[v] = l->view[v].seen;
    task->partial_bytes = sizeof *head + l->views * sizeof *seen +
                          (size_t)head->n * sizeof(columns_found);
    if (!pass.stopped)
        l->views = 0;
    return err;
}

/* ---- columns of a block -------------------------------------------------- */

size_t columns_partial_block(const strads_task *task)
{
    return COLUMNS_NUMBERS + (size_t)task->shape->rows +
           2 * (size_t)task->block.n;
}

static strads_err take_wanted(column_pass *pass, uint32_t id, uint64_t n)
{
    columns_local *l = pass->local;
    columns_kept_end(&l->kept, id, n, shift_column(l, n), factor_of(l, id));
    return STRADS_OK;
}

/* Reads those of the block's columns, which ascend, that this partition lacks,
 * as after a resume; all but some if the user stops the run. place[n] is
 * overwritten. */
static strads_err fetch_block(strads_task *task, uint32_t *place, bool *stopped)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    uint32_t missing = 0;
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t id = strads_block_param(&task->block, k);
        if (columns_kept_find(&l->kept, l->kept.n, id) == UINT32_MAX)
            place[missing++] = id;
    }
    if (missing == 0)
        return STRADS_OK;
    column_pass pass = {.local = l,
                        .stop = task->stop,
                        .take = take_wanted,
                        .known = l->kept.n,
                        .wanted = place,
                        .n_wanted = missing};
    const uint32_t before = l->kept.n;
    strads_err err = pass_columns(&pass, task->share);
    if (!err)
        err = columns_kept_sort(&l->kept);
    *stopped = pass.stopped;
    if (!err && !pass.stopped && l->kept.n != before + missing)
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
        place[k].at = columns_kept_find(&holder->kept, holder->kept.n, id);
        if (place[k].at == UINT32_MAX)
            return strads_fail(STRADS_EPROGRAM,
                               "column %u of a block was not unpacked", id);
    }
    return STRADS_OK;
}

/* X w of the block's columns, less their origins; and their penalty, on the
 * rows of all folds. Coefficients of another model may exceed the bounds. */
strads_err columns_update_margins(strads_task *task)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    double *out = task->partial;
    uint32_t *place = malloc((n + 1) * sizeof *place);
    bool stopped = false;
    strads_err err = place
                         ? fetch_block(task, place, &stopped)
                         : strads_fail(STRADS_ENOMEM, "no memory for a block");
    out[COLUMNS_STOPPED] = stopped;
    set_fold(l, 0);
    for (uint32_t k = 0; k < n && !err && !stopped; k++) {
        const uint32_t at =
            columns_kept_find(&l->kept, l->kept.n,
                              strads_block_param(&task->block, k));
        const columns_entries x = columns_kept_entries(&l->kept, at);
        const columns_scale own =
            columns_scale_of(l, l->kept.factor[at], &x, l->c, l->weight_sum);
        const double w = fmin(fmax(task->value[k], l->problem.options.lower),
                              l->problem.options.upper);
        task->value[k] = w;
        columns_kept_add(&l->kept, at, w, out + COLUMNS_NUMBERS);
        out[COLUMNS_ORIGINS] += l->kept.origin[at] * w;
        out[COLUMNS_L1_BEFORE] += own.l1 * fabs(w);
        out[COLUMNS_SQUARE_BEFORE] += own.l2 * w * w;
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
    const volatile bool *stop; /* as in strads_task */
    const column_place *place; /* [n] */
    uint32_t n;
    double l1, l2;
    columns_scale *own;   /* [n] */
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
        const columns_entries x = columns_kept_entries(k, at);
        d->own[j] = columns_scale_of(l, k->factor[at], &x, l->c, l->weight_sum);
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
    return columns_kept_dot(d->place[j].kept, d->place[j].at, d->left) -
           shift_of(d) * d->tilt[j];
}

/* Minimises along column j; returns the gain, a (change)^2. */
static double descend_column(descent *d, uint32_t j)
{
    const columns_local *l = d->local;
    const columns_kept *k = d->place[j].kept;
    const uint32_t at = d->place[j].at;
    const double a = d->curve[j], slope = slope_of(d, j);
    const double to = columns_step(&l->problem, a * d->w[j] + slope, a,
                                   d->l1 * d->own[j].l1, d->l2 * d->own[j].l2);
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
        if (gain <= 1e-3 * first || gain == 0 ||
            (d->stop && __atomic_load_n(d->stop, __ATOMIC_RELAXED)))
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
    const glm_problem *problem = &d->local->problem;
    columns_seen seen = {0};
    for (uint32_t j = 0; j < d->n; j++) {
        const glm_term t =
            columns_term(problem, d->own[j], d->l1, d->l2, d->w[j]);
        columns_see(problem, &t, slope_of(d, j), &seen);
        out[COLUMNS_L1_BEFORE] += d->own[j].l1 * fabs(d->w[j]);
        out[COLUMNS_SQUARE_BEFORE] += d->own[j].l2 * d->w[j] * d->w[j];
    }
    out[COLUMNS_TIGHT] = seen.tight;
    out[COLUMNS_FORCED] = seen.forced;
    out[COLUMNS_BOUNDED] = seen.bounded;
    out[COLUMNS_FREE] = seen.free;
}

/* What the coordinator needs of the block's change. */
static void describe_change(const descent *d, const double *from, double *out)
{
    double *margin = out + COLUMNS_NUMBERS;
    double *scale = margin + d->local->rows;
    for (uint32_t j = 0; j < d->n; j++) {
        const columns_scale *own = &d->own[j];
        const column_place *at = &d->place[j];
        const double move = d->w[j] - from[j];
        scale[j] = own->l1;
        scale[d->n + j] = own->l2;
        out[COLUMNS_L1_CHANGE] += own->l1 * (fabs(d->w[j]) - fabs(from[j]));
        out[COLUMNS_CROSS] += own->l2 * from[j] * move;
        out[COLUMNS_MOVED] += own->l2 * move * move;
        out[COLUMNS_ORIGINS] += at->kept->origin[at->at] * move;
        if (move != 0)
            columns_kept_add(at->kept, at->at, move, margin);
    }
    out[COLUMNS_UPDATES] = (double)d->updates;
}

static strads_err solve_block(strads_task *task, column_place *place,
                              columns_scale *own, double *numbers)
{
    columns_local *l = task->local;
    const uint32_t n = task->block.n;
    strads_err err = place_block(task, place);
    if (err)
        return err;
    refresh_rows(l, (uint32_t)task->total[COLUMNS_FOLD]);
    descent d = {.local = l,
                 .stop = task->stop,
                 .place = place,
                 .n = n,
                 .l1 = task->total[COLUMNS_L1],
                 .l2 = task->total[COLUMNS_L2],
                 .own = own,
                 .w = numbers,
                 .curve = numbers + n,
                 .tilt = numbers + 2 * (size_t)n,
                 .left = l->left};
    memcpy(d.w, task->value, n * sizeof *d.w);
    begin_descent(&d);
    describe_start(&d, task->partial);
    descend(&d);
    describe_change(&d, task->value, task->partial);
    memcpy(task->value, d.w, n * sizeof *d.w);
    return STRADS_OK;
}

strads_err columns_update_solve(strads_task *task)
{
    const size_t n = task->block.n;
    column_place *place = malloc((n + 1) * sizeof *place);
    double *numbers = malloc((3 * n + 1) * sizeof *numbers);
    columns_scale *own = malloc((n + 1) * sizeof *own);
    const strads_err err =
        place && numbers && own
            ? solve_block(task, place, own, numbers)
            : strads_fail(STRADS_ENOMEM, "no memory for a block of %zu columns",
                          n);
    free(place);
    free(numbers);
    free(own);
    return err;
}

/* ---- opening and closing ------------------------------------------------- */

void columns_close(void *local)
{
    columns_local *l = local;
    if (!l)
        return;
    strads_pack_reader_close(l->reader);
    columns_kept_free(&l->kept);
    columns_kept_free(&l->pending);
    free_views(l);
    glm_folds_free(&l->fold_of);
    free(l->dot);
    free(l->mark);
    free(l->factor);
    free(l->floor);
    free(l->free);
    free(l->y); /* the other arrays of rows are parts of it */
    free(l);
}

/* The weights of rows, and the folds of a cross-validation. */
static strads_err open_rows(columns_local *l, const columns_plan *plan,
                            const strads_task *task)
{
    const glm_folds_plan folds = {.folds = plan->folds,
                                  .file = plan->fold_file,
                                  .rows = l->rows,
                                  .classes = plan->problem.loss->labels ==
                                             GLM_CLASSES};
    const strads_glm_options *o = &plan->problem.options;
    strads_err err =
        linear_read_weights((linear_weights){o->weights, o->row_weight},
                            task->share, l->rows, l->weight);
    if (!err)
        err = glm_read_offsets(o, &task->share->rows, l->rows, l->offset);
    if (!err)
        err = columns_targets(&l->problem, task->share, l->y, l->weight, NULL);
    if (!err && columns_validates(plan))
        err = glm_folds_new(&folds, &l->fold_of);
    if (!err && columns_validates(plan))
        err = glm_folds_deal(&l->fold_of, l->y, task->seed);
    if (err)
        return err;
    l->weigh = (columns_weights){l->rows, l->weight, l->y, l->fold_of.of,
                                 columns_balances(&l->problem)};
    l->weight_sum = columns_weigh(&l->weigh, 0, l->c);
    l->unit = columns_unit(&l->problem, l->rows, l->y, l->offset);
    return STRADS_OK;
}

static strads_err open_columns(columns_local *l, const columns_plan *plan,
                               const strads_task *task)
{
    enum { ARRAYS = 10 };
    const strads_share *share = task->share;
    const uint64_t n = share->rows.end - share->rows.begin;
    l->rows = n;
    l->columns = task->shape->cols;
    l->y = calloc(n * ARRAYS + 1, sizeof *l->y);
    if (!l->y)
        return strads_fail(STRADS_ENOMEM, "no memory for %llu rows",
                           (unsigned long long)n);
    double **const array[ARRAYS - 1] = {&l->weight, &l->c,    &l->margin,
                                        &l->z,      &l->r,    &l->h,
                                        &l->left,   &l->none, &l->offset};
    for (int k = 0; k + 1 < ARRAYS; k++)
        *array[k] = l->y + (uint64_t)(k + 1) * n;
    const uint64_t spare = task->shape->spare_bytes;
    l->kept.limit = l->pending.limit = spare / task->shape->partitions;
    strads_err err = open_rows(l, plan, task);
    l->first = share->cols.begin;
    if (!err)
        err = columns_read_factors(&l->problem, &share->cols, l->columns,
                                   &l->factor);
    if (!err && columns_keeps_floors(plan)) {
        const uint64_t own = share->cols.end - share->cols.begin;
        l->floor = calloc(own + 1, sizeof *l->floor);
        if (!l->floor)
            err = strads_fail(STRADS_ENOMEM,
                              "no memory for the scales of %" PRIu64 " columns",
                              own);
    }
    if (!err && share->pack)
        err = strads_pack_reader_open(share->pack, share->cols.begin,
                                      share->cols.end, share->pack_exceeds,
                                      &l->reader);
    return err;
}

strads_err columns_open(const columns_plan *plan, const strads_task *task,
                        void **local)
{
    columns_local *l = calloc(1, sizeof *l);
    if (!l)
        return strads_fail(STRADS_ENOMEM, "no memory for a partition");
    l->problem = plan->problem;
    const strads_err err = open_columns(l, plan, task);
    if (err)
        columns_close(l);
    else
        *local = l;
    return err;
}
