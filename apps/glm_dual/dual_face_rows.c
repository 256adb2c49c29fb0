/* A face's rows: what a partition does at a step of conjugate gradients, and
 * all steps at once where one does them for all. The maths is in dual_face.c. */
#include <stdlib.h>
#include <string.h>

#include "dual_face.h"

/* The rows between their bounds, whose entries lie side by side: each step
 * walks through all of them, and they are few and far apart in the shares. */
struct dual_face {
    uint64_t n;
    dual_sample **sample; /* [room] */
    uint32_t *group;      /* [room] */
    data_column *row;     /* [room] */
    double *pull;         /* [room] how steeply D rises, */
    double *course;       /* [room] and where b goes: p */
    uint64_t room;
    uint32_t *index; /* [entries] */
    double *value;
    uint64_t entries;
    uint64_t columns; /* so many have entries, where they are numbered anew: */
    uint32_t *column; /* [columns] which these are, */
    uint32_t *number; /* [all columns] and their numbers */
    double *w, *rise; /* [columns + 1] of one partition that goes all steps */
    dual_heading heading;
};

/* A column that has no number. */
#define NONE UINT32_MAX

void dual_face_free(dual_face *face)
{
    if (!face)
        return;
    free(face->sample);
    free(face->group);
    free(face->row);
    free(face->pull);
    free(face->course);
    free(face->index);
    free(face->value);
    free(face->column);
    free(face->number);
    free(face->w);
    free(face->rise);
    free(face->heading.v);
    free(face);
}

/* ---- gathering --------------------------------------------------------- */

static bool reserve_rows(dual_face *face, uint64_t rows)
{
    if (rows <= face->room)
        return true;
    free(face->sample);
    free(face->group);
    free(face->row);
    free(face->pull);
    free(face->course);
    face->room = 0;
    face->sample = malloc(rows * sizeof(*face->sample));
    face->group = malloc(rows * sizeof(*face->group));
    face->row = malloc(rows * sizeof(*face->row));
    face->pull = malloc(rows * sizeof(*face->pull));
    face->course = malloc(rows * sizeof(*face->course));
    if (!face->sample || !face->group || !face->row || !face->pull ||
        !face->course)
        return false;
    face->room = rows;
    return true;
}

static bool reserve_entries(dual_face *face, uint64_t entries)
{
    if (entries <= face->entries)
        return true;
    free(face->index);
    free(face->value);
    face->entries = 0;
    face->index = malloc(entries * sizeof(*face->index));
    face->value = malloc(entries * sizeof(*face->value));
    if (!face->index || !face->value)
        return false;
    face->entries = entries;
    return true;
}

static bool reserve_columns(dual_face *face, uint64_t columns)
{
    if (face->column)
        return true;
    face->column = malloc((columns + 1) * sizeof(*face->column));
    face->number = malloc((columns + 1) * sizeof(*face->number));
    face->w = malloc((columns + 1) * sizeof(*face->w));
    face->rise = malloc((columns + 1) * sizeof(*face->rise));
    return face->column && face->number && face->w && face->rise;
}

static strads_err reserve(dual_local *local, uint64_t rows, uint64_t entries)
{
    if (!local->face)
        local->face = calloc(1, sizeof(*local->face));
    if (local->face && reserve_rows(local->face, rows + 1) &&
        reserve_entries(local->face, entries + 1) &&
        reserve_columns(local->face, local->columns))
        return STRADS_OK;
    return strads_fail(STRADS_ENOMEM, "no memory for %llu entries of %llu rows",
                       (unsigned long long)entries, (unsigned long long)rows);
}

/* All columns by their own numbers, or none yet. */
static void number_columns(dual_face *face, uint64_t columns, bool anew)
{
    face->columns = anew ? 0 : columns;
    for (uint64_t j = 0; j < columns; j++) {
        face->number[j] = anew ? NONE : (uint32_t)j;
        face->column[j] = (uint32_t)j;
    }
}

/* Columns as they come, so that those of many entries are near each other. */
static uint32_t number_of(dual_face *face, uint32_t j)
{
    if (face->number[j] == NONE) {
        face->column[face->columns] = j;
        face->number[j] = (uint32_t)face->columns++;
    }
    return face->number[j];
}

/* A row's entries to where `at` is; what they are there. */
static data_column pack_row(dual_face *face, const data_column *row,
                            uint64_t at)
{
    uint32_t *index = face->index + at;
    double *value = face->value + at;

    for (uint64_t k = 0; k < row->n && row->index; k++)
        index[k] = number_of(face, row->index[k]);
    for (uint64_t k = 0; k < row->n; k++)
        value[k] = row->f64 ? row->f64[k] : (double)row->f32[k];
    return (data_column){.n = row->n,
                         .index = row->index ? index : NULL,
                         .f64 = value};
}

/* What there is between bounds. */
typedef struct extent {
    uint64_t rows, entries;
    bool full; /* some rows are, and know no columns but all */
} extent;

/* The first row between its bounds from *i on; false: there is none. */
static bool find_row(const strads_peer *of, uint64_t *i, data_column *row)
{
    const dual_local *local = of->local;

    while (*i < local->rows && !dual_is_inside(&local->sample[*i], local->flat))
        ++*i;
    if (*i == local->rows)
        return false;
    *row = dual_row_of(dual_share(local, of->share), *i);
    return true;
}

static void count(const strads_peer *of, extent *all)
{
    data_column row;

    for (uint64_t i = 0; find_row(of, &i, &row); i++) {
        all->rows++;
        all->entries += row.n;
        all->full = all->full || !row.index;
    }
}

static uint64_t add_rows(dual_face *face, const strads_peer *of, uint64_t size,
                         uint64_t at)
{
    const dual_local *local = of->local;
    data_column row;

    for (uint64_t i = 0; find_row(of, &i, &row); i++) {
        face->sample[face->n] = &local->sample[i];
        face->group[face->n] = (uint32_t)(local->first_group + i / size);
        face->pull[face->n] = face->course[face->n] = 0;
        face->row[face->n++] = pack_row(face, &row, at);
        at += row.n;
    }
    return at;
}

/* The rows of n partitions; columns are numbered anew where that is possible
 * and asked for. */
static strads_err gather_face(const strads_task *task, const strads_peer *of,
                              uint32_t n, bool anew)
{
    dual_local *local = task->local;
    const uint64_t size = dual_group_rows(task->shape->rows);
    extent all = {.rows = 0};
    uint64_t at = 0;

    for (uint32_t k = 0; k < n; k++)
        count(&of[k], &all);
    const strads_err err = reserve(local, all.rows, all.entries);
    if (err)
        return err;
    local->face->n = 0;
    number_columns(local->face, local->columns, anew && !all.full);
    for (uint32_t k = 0; k < n; k++)
        at = add_rows(local->face, &of[k], size, at);
    return STRADS_OK;
}

/* ---- a step ------------------------------------------------------------ */

/* z of a row, and w += a x, in the face's columns. */
static double dot(const dual_local *local, const data_column *row,
                  const double *w)
{
    return local->kernels->dot(row, w) + local->bias * w[local->face->columns] +
           local->level;
}

static void add(const dual_local *local, const data_column *row, double a,
                double *w)
{
    local->kernels->add(row, a, w);
    w[local->face->columns] += a * local->bias;
}

/* Moves b by `by`, but not out of the face; false: it has come to its end. */
static bool move(dual_sample *x, double flat, double by, double *owed)
{
    const double low = flat > 0 && x->b > 0 ? 0 : x->low;
    const double high = flat > 0 && x->b < 0 ? 0 : x->high;
    const double to = x->b + by;

    x->b = dual_smaller(dual_larger(to, low), high);
    *owed = x->b - to;
    return dual_is_inside(x, flat);
}

static uint64_t count_groups(const dual_face *face)
{
    uint64_t n = 0;

    for (uint64_t k = 0; k < face->n; k++)
        n += k == 0 || face->group[k] != face->group[k - 1];
    return n;
}

/* The step that has been decided on. Rows that come to a bound leave the face,
 * and w and v what they have too much of them. */
static void follow(const dual_local *local, double alpha, double beta,
                   double *w, double *v, double *sums)
{
    dual_face *face = local->face;
    uint64_t n = 0;

    sums[FACE_MOVED] += (double)count_groups(face);
    for (uint64_t k = 0; k < face->n; k++) {
        const double p = face->pull[k] + beta * face->course[k];
        double owed;
        if (move(face->sample[k], local->flat, alpha * p, &owed)) {
            face->sample[n] = face->sample[k];
            face->group[n] = face->group[k];
            face->row[n] = face->row[k];
            face->pull[n] = face->pull[k];
            face->course[n++] = p;
            continue;
        }
        add(local, &face->row[k], owed, w);
        add(local, &face->row[k], -p, v);
    }
    sums[FACE_HITS] = (double)(face->n - n);
    face->n = n;
}

/* How steeply D rises in a b between its bounds. */
static double pull_of(const dual_sample *x, double flat, double z)
{
    return x->target - z - copysign(flat, x->b) - x->ridge * x->b;
}

/* How D rises at a w, in all b, and s of it. */
static void look(const dual_local *local, const double *w, double *rise,
                 double *sums)
{
    const dual_face *face = local->face;

    for (uint64_t k = 0; k < face->n; k++) {
        const dual_sample *x = face->sample[k];
        const data_column *row = &face->row[k];
        const double z = dot(local, row, w);
        const double pull = pull_of(x, local->flat, z);
        sums[FACE_SQUARE] += pull * pull;
        sums[FACE_BEFORE] += pull * face->pull[k];
        sums[FACE_ALONG] += pull * face->course[k];
        sums[FACE_GAP] += dual_gap_at(x, local->flat, x->b, z);
        face->pull[k] = pull;
        add(local, row, pull, rise);
    }
}

/* ---- a round of one step ----------------------------------------------- */

static strads_err step(strads_task *task)
{
    dual_local *local = task->local;
    const strads_peer self = {.share = task->share, .local = local};
    const size_t n = local->columns + 1;
    double *sums = task->partial + FACE_VECTORS * n;

    local->level = task->total[DUAL_LEVEL];
    if (task->total[DUAL_STRIDE] > 0) {
        follow(local, task->total[DUAL_STRIDE], task->total[DUAL_TURN],
               task->partial + FACE_OWED * n, task->partial + FACE_GONE * n,
               sums);
    } else {
        const strads_err err = gather_face(task, &self, 1, false);
        if (err)
            return err;
    }
    look(local, local->base, task->partial + FACE_RISE * n, sums);
    return STRADS_OK;
}

/* ---- a round of all steps ---------------------------------------------- */

/* Where w stands, in the face's columns. */
static void take_w(dual_local *local)
{
    dual_face *face = local->face;

    for (uint64_t k = 0; k < face->columns; k++)
        face->w[k] = local->w[face->column[k]];
    face->w[face->columns] = local->w[local->columns];
}

/* Where it has come to: s times as far from where it was, as after a pass. */
static void give_w(dual_local *local, double s)
{
    const dual_face *face = local->face;

    for (uint64_t k = 0; k <= face->columns; k++) {
        double *w =
            &local->w[k < face->columns ? face->column[k] : local->columns];
        *w += s * (face->w[k] - *w);
    }
}

static strads_err begin_steps(strads_task *task)
{
    dual_local *local = task->local;
    const strads_err err = gather_face(task, task->peer, task->n_peers, true);

    if (err)
        return err;
    dual_begin_w(task);
    local->level = task->total[DUAL_LEVEL];
    take_w(local);
    return dual_heading_begin(&local->face->heading, local->columns);
}

static strads_err go_all_steps(strads_task *task)
{
    dual_local *local = task->local;
    const strads_err err = begin_steps(task);
    bool goes_on = !err;

    while (goes_on) {
        dual_face *face = local->face;
        dual_heading *heading = &face->heading;
        const uint64_t n = face->columns + 1;
        double sums[FACE_SUMS] = {0};
        const dual_face_step found = {.rise = face->rise, .sums = sums};
        if (heading->steps > 0) {
            local->kernels->add_dense(n, heading->alpha, heading->v, face->w);
            follow(local, heading->alpha, heading->beta, face->w, heading->v,
                   sums);
        }
        memset(face->rise, 0, n * sizeof(double));
        look(local, face->w, face->rise, sums);
        task->partial[FACE_MOVED] += sums[FACE_MOVED];
        goes_on = dual_heading_next(heading, face->columns, &found,
                                    task->total[DUAL_ENOUGH]);
    }
    if (!err)
        give_w(local, task->total[DUAL_SAFETY]);
    return err;
}

size_t dual_partial_face(const strads_task *task)
{
    return task->block.n > 0
               ? FACE_VECTORS * ((size_t)task->shape->cols + 1) + FACE_SUMS
               : FACE_SUMS;
}

strads_err dual_update_face(strads_task *task)
{
    if (task->block.n > 0)
        return step(task);
    return task->share->partition == task->first_peer ? go_all_steps(task)
                                                      : STRADS_OK;
}
